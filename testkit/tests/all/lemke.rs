//! Lemke's method on the complementarity problems of shipped scenes: no attempt cycles or reaches
//! the limit of `3 (n_v + rows)` pivots.

use quasistep::StepInput;
use quasistep_friction::{
    CoulombMethods, CoulombSettings, CoulombSolution, CoulombSolver, Lcp, LcpOutcome, LcpSolution,
    LcpSolver, Outcome,
};
use testkit::scene;

/// Duration in s for which each scene is tested. The scene of fifty boxes is left out.
const SCENES: [(&str, &str); 12] = [
    ("fence_particle", "2"),
    ("gripper_2d", ""),
    ("planar_push", ""),
    ("planar_hand", "1"),
    ("box_pivot", ""),
    ("pinch", ""),
    ("door", ""),
    ("sphere_spin", ""),
    ("ball_in_hand", "2"),
    ("bunny_grasp", "6"),
    ("mug_handle", ""),
    ("iiwa_stacking", "4"),
];
/// Number of steps of each scene that are also solved by Lemke's method.
const STEPS: usize = 12;
/// Largest number of rows; the dense tableau of larger problems takes too long for a test.
const ROWS: usize = 500;

#[test]
fn no_attempt_comes_to_the_bound_of_its_pivots() {
    let (mut cold, mut answer, mut lcp) = (LcpSolver::new(), LcpSolution::default(), Lcp::new());
    // excludes branch and bound, which is not Lemke's method
    cold.budget = Some(1);
    let (mut warm, mut solution) = (CoulombSolver::new(), CoulombSolution::default());
    let settings = CoulombSettings { methods: CoulombMethods::LEMKE, ..CoulombSettings::default() };
    let (mut seen, mut cold_solved, mut warm_solved) = (0, 0, 0);
    for (name, seconds) in SCENES {
        let mut changes = vec![("step.friction", "exact"), ("step.cone", "4")];
        if !seconds.is_empty() {
            changes.push(("step.duration", seconds));
        }
        let scene = scene(name, &changes);
        let mut work = scene.system.create_workspace();
        let (mut state, mut input) = (scene.start.clone(), StepInput::default());
        let every = scene.n_steps().div_ceil(STEPS);
        // largest fraction of the limit, and pivots, from a cold start and from the relaxation
        let (mut share, mut pivots, mut steps) = ([0.0_f64; 2], [0; 2], 0);
        for index in 1..=scene.n_steps() {
            scene.sample(index as f64 * scene.params.time_step, &mut input);
            scene.system.step_with(&mut state, &input, &scene.params, &mut work).expect(name);
            if index % every != 0 {
                continue;
            }
            let (program, _) = work.last_friction().expect(name);
            assert!(program.lcp(&mut lcp), "{name}");
            let rows = lcp.n_free() + lcp.n_pairs();
            if rows > ROWS || lcp.n_pairs() == 0 {
                continue;
            }
            let bound = 3.0 * rows as f64;
            cold.solve(&lcp, &[], &mut answer);
            warm.solve(program, None, &settings, &mut solution);
            let longest = [answer.longest, solution.longest].map(f64::from);
            for k in 0..2 {
                share[k] = share[k].max(longest[k] / bound);
                assert!(longest[k] < bound, "{name}, step {index}: {longest:?} of {bound}");
            }
            pivots[0] += answer.pivots;
            pivots[1] += solution.pivots;
            cold_solved += usize::from(answer.outcome == LcpOutcome::Solved);
            warm_solved += usize::from(solution.outcome == Outcome::Solved);
            // the step has a solution
            assert_ne!(answer.outcome, LcpOutcome::Unsolvable, "{name}, step {index}");
            assert_ne!(solution.outcome, Outcome::Unsolvable, "{name}, step {index}");
            steps += 1;
        }
        seen += steps;
        eprintln!("{name}: {steps} steps, share of the bound {share:.3?}, pivots {pivots:?}");
    }
    eprintln!(
        "{seen} problems, {cold_solved} solved from nothing, {warm_solved} from the relaxation"
    );
    assert!(seen >= 80, "{seen}");
    // the method may end on a ray, but rarely does
    assert!(10 * cold_solved >= 9 * seen && 10 * warm_solved >= 9 * seen);
}
