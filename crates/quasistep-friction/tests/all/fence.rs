//! The fence and the particle of Trinkle05 section 5, with matrices written by hand.
//!
//! A particle of 1 kg lies on a floor. A fence pushes it along x and moves along y, and there is a
//! wall at x = 1. The unknown is the displacement in the step, in m, so that forces are in N.

use quasistep_friction::{
    CoulombMethod, CoulombMethods, CoulombSettings, CoulombSolution, CoulombSolver, Friction,
    FrictionProgram, Lcp, LcpOutcome, LcpSolution, LcpSolver, Outcome,
};

const H: f64 = 0.01;
const WEIGHT: f64 = 9.81;

/// Friction set of the floor.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Floor {
    Round,
    Diamond(usize),
    Box,
}

#[derive(Clone, Copy, Debug)]
struct Scene {
    floor: Floor,
    mu_fence: f64,
    mu_floor: f64,
}

/// Program of the step from `q` at time `t`, with fence and wall linearised as in the paper.
fn program(scene: &Scene, q: &[f64; 3], t: f64, p: &mut FrictionProgram) {
    let Scene { floor, mu_fence, mu_floor } = *scene;
    p.reset([3]);
    p.c(0)[2] = WEIGHT;
    let ends = [1.0, -1.0];
    let rubs = |mu: f64| match floor {
        Floor::Round => None,
        _ => Some(Friction::Diamond { mu, directions: &ends, tangents: 1 }),
    };
    // wall: gap 1 − x, slip along y
    let mut wall = p.push_contact(rubs(0.3).unwrap_or(Friction::Round(&[0.3])), &[0]);
    wall.J(0, 0)[0] = -1.0;
    wall.J(0, 1)[1] = 1.0;
    wall.b()[0] = q[0] - 1.0;
    // fence: gap x − x_f(t) − h dx_f/dt, slip along y relative to a fence that moves at 1 m/s
    let mu = [mu_fence];
    let mut fence = p.push_contact(rubs(mu_fence).unwrap_or(Friction::Round(&mu)), &[0]);
    fence.J(0, 0)[0] = 1.0;
    fence.J(0, 1)[1] = 1.0;
    fence.b().copy_from_slice(&[0.5 + 0.4 * t.sin() + H * 0.4 * t.cos() - q[0], H]);
    let mu = [mu_floor; 2];
    let directions: Vec<f64> = match floor {
        Floor::Diamond(n) => (0..n)
            .flat_map(|j| {
                let (s, c) = (std::f64::consts::TAU * j as f64 / n as f64).sin_cos();
                [c, s]
            })
            .collect(),
        _ => Vec::new(),
    };
    let friction = match floor {
        Floor::Round => Friction::Round(&mu),
        Floor::Box => Friction::Box(&mu),
        Floor::Diamond(_) => {
            Friction::Diamond { mu: mu_floor, directions: &directions, tangents: 2 }
        }
    };
    let mut ground = p.push_contact(friction, &[0]);
    ground.J(0, 0)[2] = 1.0;
    ground.J(0, 1)[0] = 1.0;
    ground.J(0, 2)[1] = 1.0;
    ground.b()[0] = -q[2];
}

fn worst(s: &CoulombSolution) -> f64 {
    let r = &s.residuals;
    r.balance.max(r.overlap).max(r.cone).max(r.complementarity).max(r.dissipation)
}

/// Runs 700 steps; calls `check` with the index and solution of each.
fn run(
    scene: &Scene,
    settings: &CoulombSettings,
    mut check: impl FnMut(usize, &[f64; 3], &CoulombSolution),
) {
    let (mut solver, mut out) = (CoulombSolver::new(), CoulombSolution::default());
    let mut p = FrictionProgram::new();
    let mut q = [0.6, 0.0, 0.0];
    for k in 0..700 {
        program(scene, &q, k as f64 * H, &mut p);
        solver.solve(&p, None, settings, &mut out);
        assert_eq!(out.outcome, Outcome::Solved, "{scene:?}, step {k}");
        assert!(worst(&out) <= 1e-12, "{scene:?}, step {k}: {:?}", out.residuals);
        for (q, dq) in q.iter_mut().zip(&out.x) {
            *q += dq;
        }
        check(k, &q, &out);
    }
}

/// Parses a reference file. Columns: count, position, normal forces, friction.
fn reference(text: &str) -> Vec<[f64; 10]> {
    let mut steps = Vec::new();
    for line in text.lines() {
        let mut numbers = line.split(' ').map(|v| v.parse::<f64>().expect("a number"));
        let count = numbers.next().expect("a count") as usize;
        let step: Vec<f64> = numbers.collect();
        steps.extend(std::iter::repeat_n(<[f64; 10]>::try_from(step).expect("ten numbers"), count));
    }
    steps
}

fn agrees(floor: Floor, mu_fence: f64, text: &str, tolerance: f64) {
    let scene = Scene { floor, mu_fence, mu_floor: 0.5 };
    let steps = reference(text);
    assert_eq!(steps.len(), 700);
    for methods in [CoulombMethods::ALL, CoulombMethods::LEMKE] {
        let settings = CoulombSettings { methods, ..CoulombSettings::default() };
        let lemke = methods == CoulombMethods::LEMKE;
        // round cones have no linear complementarity problem
        if lemke && floor == Floor::Round {
            continue;
        }
        // without friction on the fence the direction of slip is only unique up to the normal cone
        // of a corner
        if mu_fence == 0.0 && lemke {
            continue;
        }
        run(&scene, &settings, |k, q, s| {
            let expected = &steps[k];
            let l = &s.lambda;
            let found = [q[0], q[1], q[2], l[0], l[2], l[4], l[1], l[3], l[5], l[6]];
            for (j, (a, b)) in found.iter().zip(expected).enumerate() {
                assert!((a - b).abs() <= tolerance, "step {k}, number {j}: {a} is not {b}");
            }
        });
    }
}

#[test]
fn diamond_of_four_agrees_with_the_reference() {
    agrees(Floor::Diamond(4), 0.0, include_str!("../data/fence_DLC4_mu2_0.0_mu3_0.5.txt"), 1e-9);
    agrees(Floor::Diamond(4), 0.5, include_str!("../data/fence_DLC4_mu2_0.5_mu3_0.5.txt"), 1e-9);
}

#[test]
fn diamond_of_eight_agrees_with_the_reference() {
    agrees(Floor::Diamond(8), 0.0, include_str!("../data/fence_DLC8_mu2_0.0_mu3_0.5.txt"), 1e-9);
    agrees(Floor::Diamond(8), 0.5, include_str!("../data/fence_DLC8_mu2_0.5_mu3_0.5.txt"), 1e-9);
}

#[test]
fn round_cone_agrees_with_the_reference() {
    agrees(Floor::Round, 0.0, include_str!("../data/fence_DQC_mu2_0.0_mu3_0.5.txt"), 1e-8);
    agrees(Floor::Round, 0.5, include_str!("../data/fence_DQC_mu2_0.5_mu3_0.5.txt"), 1e-8);
}

/// x at which the linearised fence leaves the particle.
const X_END: f64 = 0.90001987;

#[test]
fn round_cone_follows_its_closed_form() {
    for mu_fence in [0.0, 0.2, 0.5, 0.9, 1.5, 3.0] {
        let mu_floor = if mu_fence == 3.0 { 0.3 } else { 0.5 };
        let scene = Scene { floor: Floor::Round, mu_fence, mu_floor };
        let mut end = [0.0; 2];
        run(&scene, &CoulombSettings::default(), |k, q, s| {
            let (dx, dy) = (s.x[0], s.x[1]);
            if dx > 1e-9 {
                let expected = (mu_fence * dx).min(H);
                assert!((dy - expected).abs() < 1e-9, "mu {mu_fence}, step {k}: {dy} {expected}");
                if mu_fence * dx < H {
                    let force = mu_floor * WEIGHT / (1.0 + mu_fence * mu_fence).sqrt();
                    assert!((s.lambda[2] - force).abs() < 1e-8, "mu {mu_fence}, step {k}");
                }
            } else {
                assert!(dx.abs() < 1e-12 && dy.abs() < 1e-12, "mu {mu_fence}, step {k}");
            }
            end = [q[0], q[1]];
        });
        let y_end = if mu_fence == 3.0 { 0.8709050419 } else { mu_fence * (end[0] - 0.6) };
        assert!((end[0] - X_END).abs() < 5e-9 && (end[1] - y_end).abs() < 1e-9, "{end:?}");
    }
}

#[test]
fn diamonds_move_along_the_normals_of_their_sides() {
    // directions, friction of the fence, final position of the particle
    let cases = [
        (4, 0.0, 0.0),
        (4, 0.2, 0.3000199),
        (4, 0.5, 0.3000199),
        (4, 0.9, 0.3000199),
        (8, 0.0, 0.0),
        (8, 0.2, 0.1242723),
        (8, 0.5, 0.1242723),
        (8, 0.9, 0.1242723),
        (8, 1.5, 0.7243120),
    ];
    for (n, mu_fence, y_end) in cases {
        let scene = Scene { floor: Floor::Diamond(n), mu_fence, mu_floor: 0.5 };
        let mut end = [0.0; 2];
        run(&scene, &CoulombSettings::default(), |_, q, _| end = [q[0], q[1]]);
        assert!((end[0] - X_END).abs() < 5e-9 && (end[1] - y_end).abs() < 5e-8, "{n} {end:?}");
    }
}

#[test]
fn without_friction_on_the_fence_every_cone_moves_straight() {
    for floor in [Floor::Round, Floor::Diamond(4), Floor::Box] {
        let scene = Scene { floor, mu_fence: 0.0, mu_floor: 0.5 };
        run(&scene, &CoulombSettings::default(), |k, _, s| {
            assert!(s.x[1].abs() < 1e-12, "{floor:?}, step {k}: {}", s.x[1]);
        });
    }
}

#[test]
fn newton_needs_no_help_and_lemke_few_pivots() {
    let scene = Scene { floor: Floor::Diamond(4), mu_fence: 0.5, mu_floor: 0.5 };
    let mut newton = 0;
    run(&scene, &CoulombSettings::default(), |_, _, s| {
        newton += u32::from(s.method <= CoulombMethod::Newton);
    });
    assert!(newton >= 680, "{newton} of 700");
    // 3 free variables, 3 normals, 2 + 2 + 4 directions, 3 slip multipliers
    let methods = CoulombMethods::LEMKE;
    let settings = CoulombSettings { methods, ..CoulombSettings::default() };
    run(&scene, &settings, |k, _, s| {
        assert_eq!(s.method, CoulombMethod::Lemke);
        assert!(s.longest <= 3 * 17, "step {k}: {} pivots", s.pivots);
    });
}

#[test]
fn the_complementarity_problem_alone_is_solved_without_a_hint() {
    let scene = Scene { floor: Floor::Diamond(8), mu_fence: 0.5, mu_floor: 0.5 };
    let (mut p, mut lcp) = (FrictionProgram::new(), Lcp::new());
    let (mut solver, mut out) = (LcpSolver::new(), LcpSolution::default());
    let mut q = [0.6, 0.0, 0.0];
    let mut pivots = 0;
    for k in 0..700 {
        program(&scene, &q, f64::from(k) * H, &mut p);
        assert!(p.lcp(&mut lcp));
        solver.solve(&lcp, &[], &mut out);
        assert_eq!(out.outcome, LcpOutcome::Solved, "step {k}");
        let r = out.residuals;
        assert!(r.equations.max(r.sign).max(r.complementarity) <= 1e-12, "step {k}: {r:?}");
        for (q, dq) in q.iter_mut().zip(&out.x) {
            *q += dq;
        }
        pivots = pivots.max(out.longest);
    }
    assert!(pivots <= 3 * lcp.n_free() as u32 + 3 * lcp.n_pairs() as u32, "{pivots}");
    assert!((q[1] - 0.1242723).abs() < 5e-8, "{q:?}");
}
