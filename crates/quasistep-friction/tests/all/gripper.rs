//! The planar gripper of Pang21 Fig. 2a, with matrices written by hand.
//!
//! Two fingers at x_l and x_r share a height y. A sphere of radius 0.1 at (x_c, y_c) lies on the
//! floor. The unknown is the displacement of (x_c, y_c, x_l, x_r, y) in the step.

use quasistep_friction::{
    CoulombMethods, CoulombSettings, CoulombSolution, CoulombSolver, Friction, FrictionProgram,
    Motion, Outcome, Refutation, Uniqueness,
};

const H: f64 = 0.01;
const WEIGHT: f64 = 10.0;
const STIFFNESS: f64 = 1000.0;
const MU: f64 = 0.5;
const RADIUS: f64 = 0.1;

/// Program with two blocks, the sphere and the fingers, which are driven by springs: Pang21 (6).
fn impedance(q: &[f64; 5], command: &[f64; 3], mass: f64) -> FrictionProgram {
    let mut p = FrictionProgram::new();
    p.reset([2, 3]);
    p.c(0)[1] = WEIGHT;
    for i in 0..2 {
        p.P(0, i)[i] = mass / (H * H);
    }
    for i in 0..3 {
        p.P(1, i)[i] = STIFFNESS;
        p.c(1)[i] = -STIFFNESS * (command[i] - q[2 + i]);
    }
    let directions = [1.0, -1.0];
    let friction = Friction::Diamond { mu: MU, directions: &directions, tangents: 1 };
    for (finger, side, gap) in [(0, 1.0, q[0] - q[2] - RADIUS), (1, -1.0, q[3] - q[0] - RADIUS)] {
        let mut contact = p.push_contact(friction, &[0, 1]);
        contact.J(0, 0)[0] = side;
        contact.J(1, 0)[finger] = -side;
        contact.J(0, 1)[1] = 1.0;
        contact.J(1, 1)[2] = -1.0;
        contact.b()[0] = -gap;
    }
    let mut floor = p.push_contact(friction, &[0]);
    floor.J(0, 0)[1] = 1.0;
    floor.J(0, 1)[0] = 1.0;
    floor.b()[0] = RADIUS - q[1];
    p
}

fn agrees(text: &str, mass: f64, settings: &CoulombSettings) {
    let (mut solver, mut out) = (CoulombSolver::new(), CoulombSolution::default());
    let mut q = [0.0, RADIUS, -0.106, 0.106, 0.0];
    for (k, line) in text.lines().enumerate() {
        let v: Vec<f64> = line.split(' ').map(|v| v.parse().expect("a number")).collect();
        let p = impedance(&q, &[v[0], v[1], v[2]], mass);
        solver.solve(&p, None, settings, &mut out);
        assert_eq!(out.outcome, Outcome::Solved, "step {k}");
        for (q, dq) in q.iter_mut().zip(&out.x) {
            *q += dq;
        }
        for i in 0..5 {
            assert!((q[i] - v[3 + i]).abs() < 1e-9, "step {k}: {q:?} is not {:?}", &v[3..8]);
        }
        let l = &out.lambda;
        let forces = [l[0], l[2], l[4], l[1] + l[3], l[5]];
        for i in 0..5 {
            assert!((forces[i] - v[8 + i]).abs() < 1e-6, "step {k}: {forces:?} {:?}", &v[8..]);
        }
    }
}

#[test]
fn impedances_agree_with_the_reference() {
    for methods in [CoulombMethods::ALL, CoulombMethods::LEMKE] {
        let settings = CoulombSettings { methods, ..CoulombSettings::default() };
        agrees(include_str!("../data/gripper_peer_knots_mu0kg.txt"), 0.0, &settings);
        agrees(include_str!("../data/gripper_peer_knots_mu1kg.txt"), 1.0, &settings);
        agrees(include_str!("../data/gripper_stop_at_0.24_mu0kg.txt"), 0.0, &settings);
        agrees(include_str!("../data/gripper_stop_at_0.24_mu1kg.txt"), 1.0, &settings);
    }
}

/// Program with prescribed fingers, Pang21 (1). Its only block is the sphere; the gaps to the
/// fingers at the end of the step are given, and they rise by `rise`.
fn prescribed(gap: f64, rise: f64) -> FrictionProgram {
    let mut p = FrictionProgram::new();
    p.reset([2]);
    p.c(0)[1] = WEIGHT;
    let directions = [1.0, -1.0];
    let friction = Friction::Diamond { mu: MU, directions: &directions, tangents: 1 };
    for side in [1.0, -1.0] {
        let mut contact = p.push_contact(friction, &[0]);
        contact.J(0, 0)[0] = side;
        contact.J(0, 1)[1] = 1.0;
        contact.b().copy_from_slice(&[-gap, rise]);
    }
    let mut floor = p.push_contact(friction, &[0]);
    floor.J(0, 0)[1] = 1.0;
    floor.J(0, 1)[0] = 1.0;
    p
}

fn solve(p: &FrictionProgram) -> CoulombSolution {
    let mut out = CoulombSolution::default();
    CoulombSolver::new().solve(p, None, &CoulombSettings::default(), &mut out);
    out
}

#[test]
fn a_prescribed_grasp_crushes() {
    let p = prescribed(-0.005, 0.0);
    let out = solve(&p);
    assert_eq!(out.outcome, Outcome::Unsolvable);
    let refutation = out.refutation.expect("a proof");
    assert!(refutation.holds(&p));
    // both fingers have positive weights, the floor has none
    let Refutation::Crushed { weights } = refutation else { panic!("{refutation:?}") };
    assert!((weights[0] - weights[1]).abs() < 1e-9 && weights[2].abs() < 1e-9, "{weights:?}");
    // with spring-driven fingers the solution is unique
    let q = [0.0, RADIUS, -0.1, 0.1, 0.0];
    let p = impedance(&q, &[-0.095, 0.095, 0.0], 0.0);
    let out = solve(&p);
    assert_eq!(out.outcome, Outcome::Solved);
    assert!((out.lambda[0] - 5.0).abs() < 1e-9 && (out.lambda[2] - 5.0).abs() < 1e-9);
    assert_eq!(Uniqueness::new().motion(&p, &out), Motion::Unique);
}

#[test]
fn a_graze_has_many_answers_with_prescribed_fingers_and_one_with_impedances() {
    let p = prescribed(0.0, 0.002);
    let out = solve(&p);
    assert_eq!(out.outcome, Outcome::Solved);
    // any squeezing force is a solution: the sphere may stay on the floor or rise with the fingers
    let forces = Uniqueness::new().forces(&p, &out);
    assert!(forces.known && !forces.unique());
    let mut squeeze = vec![0.0; p.n_rows()];
    squeeze[0] = 1.0;
    assert!(!forces.determines(&squeeze));
    let q = [0.0, RADIUS, -0.1, 0.1, 0.0];
    let p = impedance(&q, &[-0.1, 0.1, 0.002], 0.0);
    let out = solve(&p);
    assert!((out.x[4] - 0.002).abs() < 1e-12 && out.x[1].abs() < 1e-12, "{:?}", out.x);
    assert!(Uniqueness::new().forces(&p, &out).unique());
}

#[test]
fn fingers_on_one_joint_share_their_friction_in_any_split() {
    // squeezed and lifted a little: both contacts stick
    let q = [0.0, RADIUS, -0.1, 0.1, 0.0];
    let p = impedance(&q, &[-0.07, 0.07, 0.015], 0.0);
    let out = solve(&p);
    assert_eq!(out.outcome, Outcome::Solved);
    assert!(out.x[1] > 1e-3, "it rises: {:?}", out.x);
    let forces = Uniqueness::new().forces(&p, &out);
    assert!(forces.known);
    assert_eq!(forces.exchanges.len(), 1, "{forces:?}");
    assert_eq!(forces.contacts(&p), [0, 1]);
    let weights = |of: &[(usize, f64)]| {
        let mut w = vec![0.0; p.n_rows()];
        for (at, v) in of {
            w[*at] = *v;
        }
        w
    };
    assert!(forces.determines(&weights(&[(0, 1.0)])));
    assert!(forces.determines(&weights(&[(2, 1.0)])));
    assert!(forces.determines(&weights(&[(1, 1.0), (3, 1.0)])));
    assert!(!forces.determines(&weights(&[(1, 1.0)])));
    assert_eq!(Uniqueness::new().motion(&p, &out), Motion::Unique);
}
