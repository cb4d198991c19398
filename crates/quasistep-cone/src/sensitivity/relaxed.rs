//! Solution of a relaxed program, and the memory of its solver.

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
