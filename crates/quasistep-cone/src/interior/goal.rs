//! Stopping criteria of the interior point.

/// Stopping criteria: the iteration ends when either is satisfied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    /// Complementarity gap: the mean product, as a share of force times speed. Primal residuals
    /// must also be within this share of the speed, residuals of stationarity within this share of
    /// the force.
    pub mean: f64,
    /// Bound of every single product, row and variable, as shares of force times speed, speed and
    /// force, and of every variable relative to its own cost. 0 disables this criterion.
    pub each: f64,
}

impl Goal {
    /// Criterion on the complementarity gap alone.
    pub fn mean(mean: f64) -> Self {
        Self { mean, each: 0.0 }
    }
}
