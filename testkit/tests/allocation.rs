//! A warm step takes no memory: once the workspace has grown, nothing is allocated.
#![allow(missing_docs)]
#![allow(unsafe_code)] // an allocator is unsafe by its trait; this one counts and hands on

use quasistep::StepInput;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use testkit::{SCENES, scene};

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_warm_step_allocates_nothing() {
    for (name, integration) in SCENES.into_iter().flat_map(|s| [(s, "euler"), (s, "midpoint")]) {
        let scene = scene(name, &[("step.integration", integration)]);
        let (system, params) = (&scene.system, &scene.params);
        let mut work = system.create_workspace();
        let mut input = StepInput::default();
        // the first run grows the memory, the second must not
        let mut allocations = 0;
        for _ in 0..2 {
            let mut state = scene.start.clone();
            allocations = 0;
            for k in 1..=scene.n_steps() {
                scene.sample(k as f64 * params.time_step, &mut input);
                let before = COUNT.get();
                let step = system.step_with(&mut state, &input, params, &mut work);
                allocations += COUNT.get() - before;
                assert!(step.is_ok(), "{name}: {:?}", step.err());
            }
        }
        assert_eq!(allocations, 0, "{name}: allocations in {} warm steps", scene.n_steps());
    }
}
