//! Memory of the Jacobian matrices.

use super::trees::Trees;
use crate::system::System;
use quasistep_cone::Responses;
use quasistep_model::Twist;

/// Index of a contact without effect.
pub(super) const IDLE: usize = usize::MAX;

/// Products of a joint column with the motion at the start: `S × V_c`, `S × A_c − (S × V_c) × V_c`
/// and `S × (C + V_c)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartColumn {
    pub by_V: Twist,
    pub by_A: Twist,
    pub rate: Twist,
}

/// `F` and `S` of one step.
#[derive(Debug, Default)]
pub(super) struct Second {
    /// Forces `F`: per block and tree, a matrix with one row per variable and `n` columns for the
    /// tree, block after block.
    pub F: Vec<f64>,
    pub F_at: Vec<usize>,
    /// Derivatives with respect to the velocity at the start, shaped like `F`; empty for steps from
    /// rest.
    pub F_v: Vec<f64>,
    /// True per block and tree if the matrix is nonzero.
    pub touched: Vec<bool>,
    /// Rows `S`: per contact a matrix `ways × n` for the tree of A, then one for the tree of B.
    pub S: Vec<f64>,
    /// Derivatives with respect to the rates of prescribed dofs, shaped like `S`. Empty without
    /// prescribed dofs, or if their rates do not depend on `q`.
    pub known: Vec<f64>,
    pub S_at: Vec<usize>,
    /// Derivatives with respect to the velocity at the start, shaped like `S`.
    pub S_v: Vec<f64>,
    /// Cross product `S_c × V_c` per column.
    pub crossed: Vec<Twist>,
    pub crossed_inert: Vec<Twist>,
    pub crossed_start: Vec<StartColumn>,
}

/// Buffers of the matrices; memory is reused.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub trees: Trees,
    pub second: Second,
    pub responses: Responses,
    /// Gradients with respect to `q` and to `Δq_cmd`: a row per place, a column per current
    /// variable. The gradients with respect to `Δq_cmd` have six further rows for the command of
    /// each Cartesian spring.
    pub by_q: Vec<f64>,
    pub by_change: Vec<f64>,
    /// Gradients with respect to the velocity at the start.
    pub by_v: Vec<f64>,
    /// Blocks of the current island.
    pub blocks: Vec<usize>,
    /// Dofs of the current variables.
    pub dofs: Vec<usize>,
    /// Jacobian of all velocities with respect to `q` and the command, `n_v × (n_v + n_cmd_v)`, if it is
    /// kept, and whether it is that of the current step.
    pub rates: Vec<f64>,
    pub has_rates: bool,
    /// Jacobians of the impulses along the contacts' directions with respect to `q` and the command, if
    /// they are kept from products, and whether they are those of the current step.
    pub components: [Vec<f64>; 2],
    pub has_components: bool,
    /// True if matrices of a step keep what its impulses need.
    pub keeps: bool,
}

impl Memory {
    pub fn new(system: &System) -> Self {
        Self { trees: Trees::new(system), ..Self::default() }
    }
}
