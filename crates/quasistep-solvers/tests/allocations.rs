//! A solve of a size already seen takes no memory.
#![allow(missing_docs)]
#![allow(non_snake_case)]
// counting calls needs a global allocator, and `GlobalAlloc` is an unsafe trait
#![allow(unsafe_code)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Samples, contact_problem};
use quasistep_solvers::{ConeSolver, Method, QpSolver, Settings, Solution, Status, WarmStart};

struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread's calls count: the harness has threads of its own.
    static COUNTS: Cell<bool> = const { Cell::new(false) };
}

fn count() {
    CALLS.fetch_add(usize::from(COUNTS.get()), Ordering::Relaxed);
}

// SAFETY: every call is passed on to the system's allocator unchanged
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// the only test of this file: others would allocate beside it
#[test]
fn warm_solves_allocate_nothing() {
    COUNTS.set(true);
    for massless in [0.0, 0.3] {
        let mut s = Samples::new(51);
        let others: Vec<_> =
            (0..20).map(|_| contact_problem(&mut s, 4, 12, massless, 1.0)).collect();
        let mut solver = QpSolver::new();
        let mut out = Solution::default();
        let settings = Settings::default();
        // the largest problem comes first; without enough contacts it might be unbounded
        let large = (0..50)
            .map(|_| contact_problem(&mut s, 8, 60, massless, 1.0))
            .find(|p| p.solve().status == Status::Solved)
            .expect("one of fifty is held in place");
        solver.solve(&large.qp(), &[], &settings, &mut out);
        let warm = out.working.clone();
        let first = out.x.clone();
        let mut solved = 0;
        let before = CALLS.load(Ordering::Relaxed);
        solver.solve(&large.qp(), &warm, &settings, &mut out);
        let mut calls = CALLS.load(Ordering::Relaxed) - before;
        assert_eq!(out.status, Status::Solved);
        for (a, b) in out.x.iter().zip(&first) {
            assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()));
        }
        for problem in &others {
            let before = CALLS.load(Ordering::Relaxed);
            solver.solve(&problem.qp(), &[], &settings, &mut out);
            // a ray is looked for in memory of its own
            if out.status == Status::Solved {
                calls += CALLS.load(Ordering::Relaxed) - before;
                solved += 1;
            }
        }
        assert!(solved >= 5, "{solved}");
        assert_eq!(calls, 0);
    }
    small_cone_programs_allocate_nothing();
}

fn small_cone_programs_allocate_nothing() {
    let mut s = Samples::new(52);
    let programs: Vec<_> = (0..20)
        .map(|k| contact_problem(&mut s, 2, if k == 0 { 16 } else { 8 }, 0.0, 1.0).cone_program())
        .collect();
    let (mut solver, mut out) = (ConeSolver::new(), Solution::default());
    let zeros = vec![0.0; programs[0].m()];
    let mut solved = 0;
    for program in &programs {
        // the first solve finds the structure of the program, the second has room to compare it
        for _ in 0..2 {
            solver.solve(program, None, &Settings::default(), &mut out);
        }
        let z = out.z.clone();
        for z in [&z, &zeros[..z.len()]] {
            let before = CALLS.load(Ordering::Relaxed);
            solver.solve(program, Some(WarmStart { z, s: z }), &Settings::default(), &mut out);
            let calls = CALLS.load(Ordering::Relaxed) - before;
            if out.method == Method::WarmActiveSet {
                assert_eq!(calls, 0);
                solved += 1;
            }
        }
    }
    assert!(solved >= 30, "{solved}");
}
