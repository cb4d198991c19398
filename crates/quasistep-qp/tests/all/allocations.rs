//! A solve of a size already seen allocates nothing.

use crate::common::{Samples, contact_problem};
use quasistep_qp::{QpSolver, Settings, Solution, Status};

#[test]
fn warm_solves_allocate_nothing() {
    for massless in [0.0, 0.3] {
        let mut s = Samples::new(51);
        let others: Vec<_> =
            (0..20).map(|_| contact_problem(&mut s, 4, 12, massless, 1.0)).collect();
        let mut solver = QpSolver::new();
        let mut out = Solution::default();
        let settings = Settings::default();
        // the largest problem comes first; with too few contacts it might be unbounded
        let large = (0..50)
            .map(|_| contact_problem(&mut s, 8, 60, massless, 1.0))
            .find(|p| p.solve().status == Status::Solved)
            .expect("one of fifty is held in place");
        solver.solve(&large.qp(), &[], &settings, &mut out);
        let warm = out.working.clone();
        let first = out.x.clone();
        let mut solved = 0;
        let before = counting::calls();
        solver.solve(&large.qp(), &warm, &settings, &mut out);
        let mut calls = counting::calls() - before;
        assert_eq!(out.status, Status::Solved);
        for (a, b) in out.x.iter().zip(&first) {
            assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()));
        }
        for problem in &others {
            let before = counting::calls();
            solver.solve(&problem.qp(), &[], &settings, &mut out);
            // the search for a ray has its own memory, which grows at the first use
            if out.status == Status::Solved {
                calls += counting::calls() - before;
                solved += 1;
            }
        }
        assert!(solved >= 5, "{solved}");
        assert_eq!(calls, 0);
    }
}
