//! Work of a solve, and its limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Multiply-adds that a solve has taken and may take. Clones count together, on any thread.
///
/// Counts come from sizes, once for each factorisation, triangular solve or product with the rows, and
/// never from clocks: a solve ends at the same place on every machine. A sum has one value in any order,
/// so whether it exceeds the limit does not depend on the threads either.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<Counters>);

#[derive(Debug)]
struct Counters {
    spent: AtomicU64,
    limit: AtomicU64,
}

impl Default for Budget {
    /// Without limit.
    fn default() -> Self {
        Self(Arc::new(Counters { spent: AtomicU64::new(0), limit: AtomicU64::new(u64::MAX) }))
    }
}

impl Budget {
    /// Starts again from zero, with a limit.
    pub fn start(&self, limit: u64) {
        self.0.spent.store(0, Ordering::Relaxed);
        self.0.limit.store(limit, Ordering::Relaxed);
    }

    /// Adds work; false if the sum exceeds the limit.
    pub fn spend(&self, work: u64) -> bool {
        // 2^64 multiply-adds take a century: no sum wraps
        let before = self.0.spent.fetch_add(work, Ordering::Relaxed);
        before.saturating_add(work) <= self.0.limit.load(Ordering::Relaxed)
    }

    /// Spends more than is left.
    pub fn exhaust(&self) {
        self.spend(self.left().saturating_add(1));
    }

    /// Whether the sum of all work exceeds the limit.
    pub fn is_spent(&self) -> bool {
        self.0.spent.load(Ordering::Relaxed) > self.0.limit.load(Ordering::Relaxed)
    }

    /// Work so far, at most the limit.
    pub fn spent(&self) -> u64 {
        self.0.spent.load(Ordering::Relaxed).min(self.0.limit.load(Ordering::Relaxed))
    }

    /// Work that is left until the limit.
    pub fn left(&self) -> u64 {
        self.0.limit.load(Ordering::Relaxed) - self.spent()
    }
}
