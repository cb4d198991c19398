//! Responses of the variables of an island.

use super::responses::Responses;
use super::{Sensitivity, SensitivityError};
use quasistep_linalg::simd::padded;
use std::ops::Range;

impl Sensitivity {
    /// Number of islands. An island is a set of blocks that no cone connects to other blocks.
    pub fn n_islands(&self) -> usize {
        self.linear.structure.islands.len()
    }

    /// Blocks of an island. Its variables are numbered in the order of these blocks.
    pub fn blocks_of_island(&self, island: usize) -> impl Iterator<Item = usize> {
        let s = &self.linear.structure;
        let island = &s.islands[island];
        let panels = &s.panels[island.first_panel as usize..island.last_panel as usize];
        panels.iter().map(|panel| panel.block as usize)
    }

    /// Whether a cone is inactive, so that its rows have no effect on any variable.
    pub fn is_idle(&self, cone: usize) -> bool {
        self.active.faces.is_idle(&self.p, cone)
    }

    /// Computes the derivatives of `variables` of an island with respect to every force and every
    /// row: all products of [`adjoint_at`](Self::adjoint_at) at once.
    ///
    /// `variables` is a range of the numbering of [`blocks_of_island`](Self::blocks_of_island).
    /// Each variable gives one column; padding columns are zero.
    ///
    /// # Errors
    ///
    /// [`NotPrepared`](SensitivityError::NotPrepared); [`Dimensions`](SensitivityError::Dimensions)
    /// if the island or the variables do not exist.
    pub fn respond(
        &mut self,
        island: usize,
        variables: Range<usize>,
        out: &mut Responses,
    ) -> Result<(), SensitivityError> {
        if !self.ready {
            return Err(SensitivityError::NotPrepared);
        }
        if island >= self.n_islands() {
            return Err(SensitivityError::Dimensions);
        }
        let Self { p, linear, active, .. } = self;
        linear.turn_around(p, &active.faces);
        out.columns = padded(variables.len());
        out.lay_out(p, linear, island, active);
        if variables.end * out.columns > out.x.len() {
            return Err(SensitivityError::Dimensions);
        }
        out.rounds(p, linear, island, &variables);
        Ok(())
    }
}
