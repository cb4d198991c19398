//! A cube that slides on its face. Along the bisector of two edges of a pyramid, two of its
//! friction forces tie.

use quasistep_friction::{
    CoulombSettings, CoulombSolution, CoulombSolver, CoulombWarm, Friction, FrictionProgram,
    Outcome,
};

/// Half the edge of the cube (m), its mass (kg), the time step (s), friction, gravity (m/s²).
const HALF: f64 = 0.05;
const MASS: f64 = 0.37;
const H: f64 = 1.0 / 148.0;
const MU: f64 = 0.175;
const GRAVITY: f64 = 9.81;
const DIAMOND: [f64; 8] = [1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, -1.0];

/// Program of a step from velocity `v`: angular velocity, then that of the centre.
fn step(v: &[f64; 6], friction: Friction<'_>, p: &mut FrictionProgram) {
    p.reset([6]);
    let inertia = MASS * (2.0 * HALF).powi(2) / 6.0;
    for i in 0..6 {
        let mass = if i < 3 { inertia } else { MASS };
        p.P(0, i)[i] = mass;
        p.c(0)[i] = -mass * v[i];
    }
    p.c(0)[5] += MASS * GRAVITY * H;
    for corner in 0..4 {
        let sign = |side: usize| if corner >> side & 1 == 0 { HALF } else { -HALF };
        let at = [sign(0), sign(1), -HALF];
        let mut contact = p.push_contact(friction, &[0]);
        for (r, axis) in [2, 0, 1].into_iter().enumerate() {
            let mut e = [0.0; 3];
            e[axis] = 1.0;
            let row = contact.J(0, r);
            row[3..].copy_from_slice(&e);
            for i in 0..3 {
                let (j, k) = ((i + 1) % 3, (i + 2) % 3);
                row[i] = at[j] * e[k] - at[k] * e[j];
            }
        }
    }
}

/// Sixty steps of a slide from a velocity in direction `degrees` with a spin. Returns the largest
/// number of iterations of a step, with a convex program counted as ten, and the final speed.
fn slide(degrees: f64, spin: f64, friction: Friction<'_>) -> (u32, f64) {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let mut v = [0.0, 0.0, spin, 0.5 * cos, 0.5 * sin, 0.0];
    let (mut solver, mut out) = (CoulombSolver::new(), CoulombSolution::default());
    let mut p = FrictionProgram::new();
    let (mut lambda, mut u) = (Vec::new(), Vec::new());
    let mut most = 0;
    for k in 0..60 {
        step(&v, friction, &mut p);
        let warm = (k > 0).then_some(CoulombWarm { lambda: &lambda, u: &u, relaxed: None });
        solver.solve(&p, warm, &CoulombSettings::default(), &mut out);
        assert_eq!(out.outcome, Outcome::Solved, "{degrees}, {spin}, step {k}");
        most = most.max(out.newton + 10 * out.convex);
        v.copy_from_slice(&out.x);
        lambda.clone_from(&out.lambda);
        u.clone_from(&out.u);
    }
    (most, v[3].hypot(v[4]))
}

#[test]
fn a_slide_along_a_bisector_is_as_cheap_as_any() {
    let diamond = Friction::Diamond { mu: MU, directions: &DIAMOND, tangents: 2 };
    for degrees in [10.0, 40.0, 44.0, 44.999, 45.0, 45.000001, 46.0, 50.0, 80.0] {
        for spin in [0.0, 1e-3, 0.3] {
            let (most, speed) = slide(degrees, spin, diamond);
            eprintln!(
                "{degrees}°, {spin} rad/s: at most {most} iterations a step, {speed:.1e} m/s left"
            );
            assert!(most <= 60, "{degrees}°, {spin} rad/s: {most} iterations");
        }
    }
}
