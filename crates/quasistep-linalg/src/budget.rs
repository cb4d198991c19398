//! Counter of the work of a solve, with a limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Multiply-adds of a large factorisation that take as long as one of a pivot of a tableau.
pub const TABLEAU: u64 = 2;
/// The same for a dense factorisation without vector instructions.
pub const DENSE: u64 = 4;

/// Counter of multiply-adds of a solve, with a limit. Clones share one counter, on any thread.
///
/// The unit is a multiply-add of a large factorisation with vector instructions, about 0.1 ns. Each
/// factorisation, triangular solve and product with the rows adds a number computed from matrix
/// sizes, so many times that it follows the time. Clocks are not used, so a solve ends at the same place on every machine. The sum
/// does not depend on the order of its terms, so neither does the decision whether it exceeds the
/// limit.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Counters>);

#[derive(Debug)]
struct Counters {
    spent: AtomicU64,
    limit: AtomicU64,
}

impl Default for Budget {
    /// A counter without limit.
    fn default() -> Self {
        Self(Arc::new(Counters { spent: AtomicU64::new(0), limit: AtomicU64::new(u64::MAX) }))
    }
}

impl Budget {
    /// Resets the counter to zero and sets a limit.
    pub fn start(&self, limit: u64) {
        self.0.spent.store(0, Ordering::Relaxed);
        self.0.limit.store(limit, Ordering::Relaxed);
    }

    /// Adds work; returns false if the sum exceeds the limit.
    #[inline]
    pub fn spend(&self, work: u64) -> bool {
        // 2^64 multiply-adds take more than a century, so the sum cannot overflow
        let before = self.0.spent.fetch_add(work, Ordering::Relaxed);
        before.saturating_add(work) <= self.0.limit.load(Ordering::Relaxed)
    }

    /// Adds so much work that the sum exceeds the limit.
    pub fn exhaust(&self) {
        self.spend(self.left().saturating_add(1));
    }

    /// Whether the sum of all work exceeds the limit.
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.0.spent.load(Ordering::Relaxed) > self.0.limit.load(Ordering::Relaxed)
    }

    /// Work so far, capped at the limit.
    #[inline]
    pub fn spent(&self) -> u64 {
        self.0.spent.load(Ordering::Relaxed).min(self.0.limit.load(Ordering::Relaxed))
    }

    /// Work that is left until the limit.
    #[inline]
    pub fn left(&self) -> u64 {
        self.0.limit.load(Ordering::Relaxed) - self.spent()
    }
}
