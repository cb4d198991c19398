//! Solution of a relaxed program, and the memory of its solver.

use quasistep_linalg::Solution;

/// How a program is relaxed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Barrier {
    /// `z_kᵀ s_k` of every cone, > 0, in the unit of the cost.
    pub kappa: f64,
    /// Whether the law is Coulomb's, in place of the convex one: gaps are wider by the slip.
    pub coulomb: bool,
}

/// Solution of a relaxed program. Reuse one value: its memory is kept.
#[derive(Clone, Debug, Default)]
pub struct Relaxed {
    /// Minimiser, length `n`.
    pub x: Vec<f64>,
    /// Multipliers, length `m`, inside the cones.
    pub z: Vec<f64>,
    /// Slacks, length `m`, inside the cones.
    pub s: Vec<f64>,
    /// Number of Newton steps.
    pub iterations: u32,
    /// Largest residual of an equation, as a share of its terms.
    pub error: f64,
}

/// A point from which the relaxed program is solved: the solution of a similar program, relaxed or
/// not.
#[derive(Clone, Copy, Debug)]
pub struct RelaxedStart<'a> {
    /// Minimiser, length `n`; or empty for zero.
    pub x: &'a [f64],
    /// Multipliers, length `m`.
    pub z: &'a [f64],
    /// Slacks, length `m`.
    pub s: &'a [f64],
}

impl<'a> RelaxedStart<'a> {
    /// The solution of a program.
    pub fn of(solution: &'a Solution) -> Self {
        let Solution { x, z, s, .. } = solution;
        Self { x, z, s }
    }
}

/// Scratch memory, over padded `x` and `z`.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub live: Vec<f64>,
    pub gap: Vec<f64>,
    pub dz: Vec<f64>,
    pub t: Vec<f64>,
    pub pull: Vec<f64>,
    pub best: [Vec<f64>; 3],
}
