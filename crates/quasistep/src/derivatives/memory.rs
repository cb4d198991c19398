//! Memory of the matrices of derivatives.

use super::trees::Trees;
use crate::system::System;
use quasistep_model::Twist;
use quasistep_solvers::Responses;

/// A contact that does nothing.
pub(super) const IDLE: usize = usize::MAX;

/// What a column has of the motion at the start: `S × V_c`, `S × A_c − (S × V_c) × V_c` and `S × (C + V_c)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartColumn {
    pub by_V: Twist,
    pub by_A: Twist,
    pub rate: Twist,
}

/// `F` and `S` of one step.
#[derive(Debug, Default)]
pub(super) struct Second {
    /// Per block and tree, `dim × n` of the tree, block after block.
    pub F: Vec<f64>,
    pub F_at: Vec<usize>,
    /// By the velocity at the start, shaped like `F`; empty of steps from rest.
    pub F_v: Vec<f64>,
    /// Per block and tree, whether anything is there.
    pub touched: Vec<bool>,
    /// Per contact `ways × n` of the tree of A, then that of B.
    pub S: Vec<f64>,
    /// Of rates of prescribed dofs, likewise; empty if there are none, or the rates do not follow from `q`.
    pub known: Vec<f64>,
    pub S_at: Vec<usize>,
    /// By the velocity at the start, shaped like `S`.
    pub S_v: Vec<f64>,
    /// Per column `V_c`'s cross product `S_c × V_c`.
    pub crossed: Vec<Twist>,
    pub crossed_inert: Vec<Twist>,
    pub crossed_start: Vec<StartColumn>,
}

/// What matrices are made of; keeps its memory.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub trees: Trees,
    pub second: Second,
    pub responses: Responses,
    /// Gradients by `q` and by `Δq_cmd`: a row for each place, a column for each variable at hand. Behind those by `Δq_cmd`
    /// six rows for the command of each spring of a frame.
    pub by_q: Vec<f64>,
    pub by_change: Vec<f64>,
    /// By the velocity at the start.
    pub by_v: Vec<f64>,
    /// Blocks of the island at hand.
    pub blocks: Vec<usize>,
    /// Dofs of the variables at hand.
    pub dofs: Vec<usize>,
}

impl Memory {
    pub fn new(system: &System) -> Self {
        Self { trees: Trees::new(system), ..Self::default() }
    }
}
