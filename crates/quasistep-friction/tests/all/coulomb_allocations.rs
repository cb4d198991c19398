//! A warm solve with exact friction, of a size already seen, allocates nothing.

use quasistep_friction::{
    CoulombMethod, CoulombSettings, CoulombSolution, CoulombSolver, CoulombWarm, Friction,
    FrictionProgram, Outcome,
};

/// Particles in a row on a floor, each pulled along x by a spring and along y by the moving floor.
fn program(round: bool, pull: f64, p: &mut FrictionProgram) {
    let directions = [1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, -1.0];
    p.reset([3; 5]);
    for k in 0..5 {
        p.P(k, 0)[0] = 100.0;
        p.P(k, 1)[1] = 50.0;
        p.c(k).copy_from_slice(&[-pull * (1.0 + k as f64), 0.0, 10.0]);
        let friction = if round {
            Friction::Round(&[0.5, 0.5])
        } else {
            Friction::Diamond { mu: 0.5, directions: &directions, tangents: 2 }
        };
        let mut floor = p.push_contact(friction, &[k as u32]);
        floor.J(0, 0)[2] = 1.0;
        floor.J(0, 1)[0] = 1.0;
        floor.J(0, 2)[1] = 1.0;
        floor.b()[2] = 0.01;
        if k > 0 {
            // contact with the previous particle
            let mut side = p.push_contact(Friction::None, &[k as u32, k as u32 - 1]);
            side.J(0, 0)[0] = 1.0;
            side.J(1, 0)[0] = -1.0;
            side.b()[0] = -0.01;
        }
    }
}

#[test]
fn warm_solves_allocate_nothing() {
    for round in [false, true] {
        let (mut solver, mut out) = (CoulombSolver::new(), CoulombSolution::default());
        let mut p = FrictionProgram::new();
        let (mut lambda, mut u) = (Vec::new(), Vec::new());
        let settings = CoulombSettings::default();
        let mut warm_solves = 0;
        for k in 0..40 {
            let before = counting::calls();
            program(round, 1.0 + 0.05 * f64::from(k), &mut p);
            let warm = (!lambda.is_empty()).then_some(CoulombWarm {
                lambda: &lambda,
                u: &u,
                relaxed: None,
            });
            solver.solve(&p, warm, &settings, &mut out);
            let calls = counting::calls() - before;
            assert_eq!(out.outcome, Outcome::Solved, "round {round}, step {k}");
            if k > 1 && out.method == CoulombMethod::WarmNewton {
                assert_eq!(calls, 0, "round {round}, step {k}");
                warm_solves += 1;
            }
            lambda.clone_from(&out.lambda);
            u.clone_from(&out.u);
        }
        assert!(warm_solves >= 30, "round {round}: {warm_solves} of 40");
    }
}
