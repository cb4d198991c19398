//! A search of a size and depth already seen allocates nothing.

use quasistep_qp::{
    Choices, Hooks, Miqp, MiqpSettings, MiqpSolution, MiqpSolver, MiqpStatus, Rows, Side,
};

#[test]
fn a_repeated_search_allocates_nothing() {
    let n = 16;
    let P: Vec<f64> = (0..n * n).map(|at| if at / n == at % n { 1.5 } else { 0.3 }).collect();
    let c: Vec<f64> = (0..n).map(|i| -1.0 - 0.01 * i as f64).collect();
    let (mut rows, mut choices) = (Rows::new(), Choices::new());
    (0..n as u32).for_each(|i| rows.push(&[i], &[1.0]));
    (0..n as u32 / 2).for_each(|k| choices.push_pair(2 * k, 2 * k + 1));
    let (b, sides) = (vec![0.0; n], vec![Side::AtLeast; n]);
    let miqp = Miqp { n, P: &P, c: &c, A: &rows, b: &b, sides: &sides, choices: &choices };
    let settings = MiqpSettings { probing: false, ..MiqpSettings::default() };
    let (mut solver, mut out) = (MiqpSolver::new(), MiqpSolution::default());
    for round in 0..3 {
        let before = counting::calls();
        solver.solve(&miqp, &settings, &mut Hooks::default(), &mut out);
        let calls = counting::calls() - before;
        assert_eq!(out.status, MiqpStatus::Optimal);
        assert!(out.nodes > 1);
        if round > 0 {
            assert_eq!(calls, 0, "round {round}");
        }
    }
}
