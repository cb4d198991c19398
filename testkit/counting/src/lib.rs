//! An allocator that counts, for tests that a warm call takes no memory.
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: counting::Counting = counting::Counting;
//!
//! let before = counting::calls();
//! let list = vec![1, 2, 3];
//! assert_eq!((counting::calls() - before, list.len()), (1, 3));
//! ```
// `GlobalAlloc` is an unsafe trait; this crate is its only user
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator with a counter of calls for each thread. Use it as the
/// `#[global_allocator]` of a test; otherwise [`calls`] stays 0.
pub struct Counting;

thread_local! {
    // one counter per thread, because the test runner allocates concurrently
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // a thread that is ending has no counter any more, and no test to count for
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every call is passed on to the system's allocator unchanged
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Number of allocations that this thread has made so far.
pub fn calls() -> usize {
    CALLS.get()
}
