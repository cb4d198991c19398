//! Uniqueness and existence: Proposition 1 of Trinkle05, and programs without a solution.

use crate::common::Samples;
use crate::common::friction::{Recipe, friction_problem};
use quasistep_friction::{
    CoulombSettings, CoulombSolution, CoulombSolver, Friction, FrictionProgram, Motion, Outcome,
    Refutation, Uniqueness,
};

const WEIGHT: f64 = 9.81;

fn solve(p: &FrictionProgram) -> CoulombSolution {
    let mut out = CoulombSolution::default();
    CoulombSolver::new().solve(p, None, &CoulombSettings::default(), &mut out);
    out
}

/// A particle on a floor under a force. With `fence`, there is a fence at `x ≥ fence` that moves
/// along y at 1 m/s.
fn particle(
    friction: Friction<'_>,
    fence: Option<(Friction<'_>, f64)>,
    force: [f64; 3],
) -> FrictionProgram {
    let mut p = FrictionProgram::new();
    p.reset([3]);
    for (c, f) in p.c(0).iter_mut().zip(force) {
        *c = -f;
    }
    let mut floor = p.push_contact(friction, &[0]);
    floor.J(0, 0)[2] = 1.0;
    if friction != Friction::None {
        floor.J(0, 1)[0] = 1.0;
        floor.J(0, 2)[1] = 1.0;
    }
    if let Some((friction, at)) = fence {
        let mut fence = p.push_contact(friction, &[0]);
        fence.J(0, 0)[0] = 1.0;
        fence.b()[0] = at;
        if friction != Friction::None {
            fence.J(0, 1)[1] = 1.0;
            fence.b()[1] = 1.0;
        }
    }
    p
}

/// Cost of Trinkle05 (29) for a particle on the floor, whose normal force is its weight: work of the
/// force and of friction.
fn work(friction: Friction<'_>, force: [f64; 3], x: &[f64]) -> f64 {
    let slip = match friction {
        Friction::Round(_) => x[0].hypot(x[1]),
        Friction::Diamond { .. } => x[0].abs().max(x[1].abs()),
        _ => x[0].abs() + x[1].abs(),
    };
    0.5 * WEIGHT * slip - force.iter().zip(x).map(|(f, x)| f * x).sum::<f64>()
}

const ROUND: Friction<'_> = Friction::Round(&[0.5, 0.5]);
const DIAMOND: Friction<'_> = Friction::Diamond {
    mu: 0.5,
    directions: &[1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, -1.0],
    tangents: 2,
};
const BOX: Friction<'_> = Friction::Box(&[0.5, 0.5]);

#[test]
fn without_friction_the_particle_may_go_anywhere_that_nothing_blocks() {
    let p = particle(Friction::None, Some((Friction::None, 0.2)), [0.0, 0.0, -WEIGHT]);
    let out = solve(&p);
    let Motion::Free { direction: d } = Uniqueness::new().motion(&p, &out) else {
        panic!("it is free")
    };
    assert!(d[2].abs() < 1e-9 && d[0] >= -1e-9 && d[0].abs().max(d[1].abs()) == 1.0, "{d:?}");
}

#[test]
fn friction_makes_the_motion_unique() {
    for friction in [ROUND, DIAMOND, BOX] {
        let p = particle(friction, None, [0.0, 0.0, -WEIGHT]);
        assert_eq!(Uniqueness::new().motion(&p, &solve(&p)), Motion::Unique, "{friction:?}");
        let pushed = Some((Friction::Round(&[0.2]), 0.1));
        let p = particle(friction, pushed, [0.0, 0.0, -WEIGHT]);
        let unique = Uniqueness::new().motion(&p, &solve(&p));
        assert_eq!(unique, Motion::Unique, "{friction:?}");
    }
}

#[test]
fn all_of_its_friction_used_up_the_particle_may_start_to_slide() {
    // satisfies Trinkle05 (32), which omits the work of friction; but the cost with this work, (29),
    // is constant for x ≥ 0
    for friction in [ROUND, DIAMOND, BOX] {
        let p = particle(friction, None, [0.5 * WEIGHT, 0.0, -WEIGHT]);
        let out = solve(&p);
        assert_eq!(out.outcome, Outcome::Solved, "{friction:?}");
        let Motion::Free { direction: d } = Uniqueness::new().motion(&p, &out) else {
            panic!("{friction:?}: it may slide")
        };
        assert!((d[0] - 1.0).abs() < 1e-9 && d[2].abs() < 1e-9, "{friction:?}: {d:?}");
        // round cones and the diamond's corner leave only x undetermined; a side of the box also a
        // half-plane of y
        if friction == ROUND {
            assert!(d[1].abs() < 1e-9, "{d:?}");
        }
        // the cost is constant along the direction, at the same normal forces
        let at = |s: f64| {
            let x: Vec<f64> = out.x.iter().zip(&d).map(|(x, d)| x + s * d).collect();
            work(friction, [0.5 * WEIGHT, 0.0, -WEIGHT], &x)
        };
        assert!((at(0.0) - at(0.7)).abs() < 1e-12, "{friction:?}");
        // with a slightly smaller load the particle stays
        let p = particle(friction, None, [0.499 * WEIGHT, 0.0, -WEIGHT]);
        assert_eq!(Uniqueness::new().motion(&p, &solve(&p)), Motion::Unique, "{friction:?}");
    }
}

#[test]
fn a_corner_of_a_diamond_leaves_the_slip_its_direction() {
    // pushed by a fence without friction: the direction of slip is any within the normal cone of a
    // corner, and unique for the round cone
    let fence = Some((Friction::None, 0.1));
    let p = particle(DIAMOND, fence, [0.0, 0.0, -WEIGHT]);
    assert!(matches!(Uniqueness::new().motion(&p, &solve(&p)), Motion::Free { .. }));
    let p = particle(ROUND, fence, [0.0, 0.0, -WEIGHT]);
    assert_eq!(Uniqueness::new().motion(&p, &solve(&p)), Motion::Unique);
}

#[test]
fn diamond_and_box_are_different_models() {
    // along the diagonal the friction limit of the box is √2 times that of the disc, that of the
    // diamond 1/√2
    let push = |friction, share: f64| {
        let f = share * 0.5 * WEIGHT / 2f64.sqrt();
        solve(&particle(friction, None, [f, f, -WEIGHT])).outcome
    };
    for (friction, limit) in [(DIAMOND, 0.5f64.sqrt()), (ROUND, 1.0), (BOX, 2f64.sqrt())] {
        assert_eq!(push(friction, 0.999 * limit), Outcome::Solved, "{friction:?}");
        assert_eq!(push(friction, 1.001 * limit), Outcome::Unsolvable, "{friction:?}");
    }
}

#[test]
fn a_fence_that_rubs_takes_its_share_of_the_force() {
    // friction of the floor, 0.5 of the weight, balances the fence's normal force and its friction
    for mu in [0.5, 0.9, 1.5] {
        let rubs = [mu];
        let p = particle(ROUND, Some((Friction::Round(&rubs), 0.01)), [0.0, 0.0, -WEIGHT]);
        let out = solve(&p);
        let exact = 0.5 * WEIGHT / (1.0 + mu * mu).sqrt();
        assert!((out.lambda[3] - exact).abs() < 1e-9, "mu {mu}: {}", out.lambda[3]);
    }
}

#[test]
fn what_has_no_answer_says_why() {
    // pushed past a wall: the gaps of both are inconsistent
    let mut p = particle(ROUND, Some((Friction::Round(&[0.5]), 0.2)), [0.0, 0.0, -WEIGHT]);
    let mut wall = p.push_contact(Friction::Round(&[0.3]), &[0]);
    wall.J(0, 0)[0] = -1.0;
    wall.J(0, 1)[1] = 1.0;
    wall.b()[0] = -0.1;
    let out = solve(&p);
    let Some(Refutation::Crushed { weights }) = &out.refutation else { panic!("{out:?}") };
    assert!(weights[0].abs() < 1e-9 && (weights[1] - weights[2]).abs() < 1e-9, "{weights:?}");
    assert!(out.refutation.expect("a proof").holds(&p));
    for friction in [ROUND, DIAMOND] {
        // pulled upwards, or sideways by more than the friction limit
        for force in [[0.0, 0.0, 1.0], [0.6 * WEIGHT, 0.0, -WEIGHT]] {
            let p = particle(friction, None, force);
            let out = solve(&p);
            assert_eq!(out.outcome, Outcome::Unsolvable, "{friction:?} {force:?}");
            let refutation = out.refutation.expect("a proof");
            assert!(refutation.holds(&p));
            let Refutation::Unsupported { direction } = refutation else {
                panic!("{refutation:?}")
            };
            let along: f64 = direction.iter().zip(force).map(|(d, f)| d * f).sum();
            assert!(along > 0.0, "{direction:?}");
        }
    }
}

#[test]
fn a_rod_that_slides_into_its_own_friction_jams() {
    // tip of a leaning rod on a conveyor: slip closes the gap faster than normal force opens it.
    // u_n = x is the height of the tip, and friction acts on x with the sign opposite to the normal
    // force.
    let mut p = FrictionProgram::new();
    p.reset([1]);
    p.c(0)[0] = 1.0;
    let friction = Friction::Diamond { mu: 2.0, directions: &[1.0, -1.0], tangents: 1 };
    let mut tip = p.push_contact(friction, &[0]);
    tip.J(0, 0)[0] = 1.0;
    tip.J(0, 1)[0] = 1.0;
    tip.b().copy_from_slice(&[0.1, -1.0]);
    let out = solve(&p);
    assert_eq!(out.outcome, Outcome::Unsolvable, "{out:?}");
    let refutation = out.refutation.expect("a proof");
    assert!(refutation.holds(&p));
    let Refutation::Jammed { contacts, proof } = refutation else { panic!("{refutation:?}") };
    assert_eq!(contacts, [0]);
    assert!(!proof.cases.is_empty());
}

#[test]
fn numbers_that_are_none_give_up() {
    for bad in [f64::NAN, f64::INFINITY] {
        let mut p = particle(ROUND, None, [0.0, 0.0, -WEIGHT]);
        p.c(0)[1] = bad;
        let out = solve(&p);
        assert_eq!(out.outcome, Outcome::GaveUp);
        assert!(out.reason.is_some() && out.x.iter().all(|x| *x == 0.0));
        let p = particle(Friction::Round(&[bad, 0.5]), None, [0.0, 0.0, -WEIGHT]);
        assert_eq!(solve(&p).outcome, Outcome::GaveUp);
    }
    let p = particle(Friction::Round(&[-0.5, 0.5]), None, [0.0, 0.0, -WEIGHT]);
    let reason = solve(&p).reason.expect("a reason");
    assert_eq!(reason.to_string(), "a coefficient of friction is negative");
    let empty = FrictionProgram::new();
    assert_eq!(solve(&empty).outcome, Outcome::Solved);
}

#[test]
fn answers_scale_with_their_units() {
    // forces and lengths in units up to a million times larger or smaller: the same solution in
    // other units
    let mut s = Samples::new(500);
    let mut checked = 0;
    for k in 0..200 {
        let sample = friction_problem(&mut s, &Recipe { massless: 0.3, ..Recipe::PLANAR });
        let out = solve(&sample.program);
        if out.outcome != Outcome::Solved
            || Uniqueness::new().motion(&sample.program, &out) != Motion::Unique
        {
            continue;
        }
        for (force, length) in [(1e6, 1e-6), (1e-6, 1e-6), (1e-6, 1e6), (1e6, 1e6)] {
            let scaled = sample.in_units(force, length);
            let other = solve(&scaled.program);
            assert_eq!(other.outcome, Outcome::Solved, "sample {k}, {force:e}, {length:e}");
            let check = scaled.check(&other, 1e-9);
            assert_eq!(check, Ok(()), "sample {k}, {force:e}, {length:e}");
        }
        checked += 1;
    }
    assert!(checked > 50, "{checked}");
}
