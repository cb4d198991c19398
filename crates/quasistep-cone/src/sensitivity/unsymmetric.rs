//! Factorisations of `P' + rho Aᵀ N Mᵀ A` and of its transpose, for derivatives with exact
//! friction.

use crate::kernels::{self, Isa, Lu};
use crate::structure::Structure;

/// Forward (derivatives of changes) or backward (gradients, with the transpose of `Pi`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From changes of the data to those of the solution.
    Forward,
    /// From the solution's gradient to that of the data.
    Backward,
}

/// Both factorisations, and their scratch memory.
#[derive(Debug, Default)]
pub(super) struct Factors {
    /// Whether the last program has exact friction.
    pub exact: bool,
    pub forward: Lu,
    pub backward: Lu,
    /// Whether `backward` belongs to the current solution.
    pub has_backward: bool,
    pub in_rows: Vec<f64>,
    pub scratch: Vec<f64>,
}

impl Factors {
    fn lu(&self, way: Way) -> &Lu {
        if way == Way::Forward { &self.forward } else { &self.backward }
    }

    /// `x ← H⁻¹ x`, or with the transpose, depending on `way`.
    pub fn solve(&mut self, isa: Isa, s: &Structure, way: Way, x: &mut [f64]) {
        let mut scratch = std::mem::take(&mut self.scratch);
        kernels::solve_lu(isa, s.layout(), self.lu(way), &mut scratch, x);
        self.scratch = scratch;
    }
}
