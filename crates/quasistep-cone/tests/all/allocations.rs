//! A solve of a size already seen allocates nothing.

use crate::common::{Cones, Samples, contact_problem};
use quasistep_cone::{ConeSolver, Method, Settings, Solution, WarmStart};

#[test]
fn small_cone_programs_allocate_nothing() {
    let mut s = Samples::new(52);
    let programs: Vec<_> = (0..20)
        .map(|k| contact_problem(&mut s, 2, if k == 0 { 16 } else { 8 }, 0.0, 1.0).cone_program())
        .collect();
    let (mut solver, mut out) = (ConeSolver::new(), Solution::default());
    let zeros = vec![0.0; programs[0].m()];
    let mut solved = 0;
    for program in &programs {
        // the first solve analyses the program's structure, the second allocates memory to compare
        // structures
        for _ in 0..2 {
            solver.solve(program, None, &Settings::default(), &mut out);
        }
        let z = out.z.clone();
        for z in [&z, &zeros[..z.len()]] {
            let before = counting::calls();
            solver.solve(program, Some(WarmStart { z, s: z }), &Settings::default(), &mut out);
            let calls = counting::calls() - before;
            if out.method == Method::WarmNewton {
                assert_eq!(calls, 0);
                solved += 1;
            }
        }
    }
    assert!(solved >= 30, "{solved}");
}
