//! Huber terms of a cost.

/// Huber term: a spring on one variable whose force never exceeds `limit`.
///
/// With `e = x[index] − target`:
///
/// ```text
/// huber(e) = 1/2 k e²               where k |e| ≤ limit
///          = limit |e| − limit²/2k  elsewhere
/// ```
///
/// The spring's force on the variable is `−d huber/dx = −clamp(k e, −limit, limit)`: it pulls
/// towards `target`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    /// Index of the variable, below `n`.
    pub index: u32,
    /// Stiffness `k ≥ 0`, cost per squared unit of the variable.
    pub stiffness: f64,
    /// Minimiser of the term, in the variable's unit.
    pub target: f64,
    /// Largest force, ≥ 0, in cost per unit of the variable. `INFINITY` gives a quadratic term.
    pub limit: f64,
}

impl Saturation {
    /// Derivative of the term at the value `x` of its variable: minus the spring's force on the
    /// variable.
    #[inline]
    pub fn gradient(&self, x: f64) -> f64 {
        (self.stiffness * (x - self.target)).min(self.limit).max(-self.limit)
    }

    /// Value of the term at the value `x` of its variable; zero at the target.
    #[inline]
    pub fn cost(&self, x: f64) -> f64 {
        let e = x - self.target;
        if self.stiffness * e.abs() <= self.limit {
            0.5 * self.stiffness * e * e
        } else {
            self.limit * (e.abs() - 0.5 * self.limit / self.stiffness)
        }
    }
}
