//! Comparison with Clarabel, an independent interior point solver, on the steps of every scene.

use clarabel::solver::SolverStatus;
use quasistep::{Cone, Formulation, FrictionLaw, StepInput};
use testkit::dense_program::DenseProgram;
use testkit::{SCENES, clarabel_oracle, scene};

/// Number of steps checked in each scene, spread over its run. Clarabel takes at least 6 ms per
/// step.
const CHECKED_STEPS: usize = 25;

#[test]
fn clarabel_finds_the_same_velocities_on_every_scene() {
    // a support's ellipsoid is a round cone, whatever the cones of contacts
    for name in SCENES.into_iter().filter(|name| *name != "pusher_slider") {
        let mut scene = scene(name, &[]);
        let formulation = scene.params.formulation;
        if formulation.friction == FrictionLaw::Exact || formulation.cone == Cone::Round {
            // without a program, or with round cones: use the convex step on pyramids instead
            scene.params.formulation = Formulation::convex(Cone::Pyramid(4));
        }
        let (system, params) = (&scene.system, &scene.params);
        let mut work = system.create_workspace();
        let mut state = scene.start.clone();
        let mut input = StepInput::default();
        let mut dense = DenseProgram::default();
        let stride = (scene.n_steps() / CHECKED_STEPS).max(1);
        let mut checked = 0;
        for k in 0..scene.n_steps() {
            scene.sample(state.time + params.time_step, &mut input);
            if let Err(error) = system.step_with(&mut state, &input, params, &mut work) {
                panic!("{name}, step {k}: {error}");
            }
            if k % stride != 0 {
                continue;
            }
            dense.fill(work.last_problem());
            let problem = dense.qp();
            let ours = &work.last_solution().x;
            let oracle = clarabel_oracle::solve(&problem);
            assert_eq!(oracle.status, SolverStatus::Solved, "{name}, step {k}");
            // the optimal cost is unique even if the velocity is not; an interior point with
            // tolerance 1e-12 has an error of about 1e-8 of the largest energy (more with a larger
            // tolerance), and rows violated by up to 1e-10 m/s cost their impulses
            let solution = work.last_solution();
            let impulses: f64 = solution.z.iter().sum();
            let scale = clarabel_oracle::energy_scale(&problem, ours) + 1e-2 * impulses;
            let (mine, its) = (clarabel_oracle::cost(&problem, ours), oracle.cost);
            let near = 1e4 * oracle.tolerance * scale;
            // a violation of inconsistent rows lowers the cost by at most impulses times violation:
            // f(x) ≥ f* − Σ z* max(0, −s)
            let saved: f64 =
                solution.z.iter().zip(&solution.s).map(|(z, s)| z * (-s).max(0.0)).sum();
            assert!(
                mine - its <= near && its - mine <= near + saved,
                "{name}, step {k}: cost {mine:e} against Clarabel's {its:e}, scale {scale:e}, saved {saved:e}"
            );
            checked += 1;
        }
        assert!(checked >= CHECKED_STEPS.min(scene.n_steps()), "{name}: {checked} steps checked");
    }
}
