//! Factorisations of `P' + rho Aᵀ N Mᵀ A` and of its transpose, for derivatives with exact
//! friction.

use crate::cone::aligned::Aligned;
use crate::cone::kernels::{self, Isa};
use crate::cone::structure::Structure;
use std::ops::Range;

/// Forward (derivatives of changes) or backward (gradients, with the transpose of `Pi`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Forward,
    Backward,
}

/// One factorisation: blocks on and right of the diagonal, blocks below it, and inverses of the
/// diagonal blocks.
#[derive(Debug, Default)]
pub(super) struct Lu {
    pub U: Aligned,
    pub L: Aligned,
    pub inverses: Aligned,
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
        let Lu { U, L, inverses } = self.lu(way);
        kernels::solve_lu(isa, s, U, L, inverses, &mut scratch, x);
        self.scratch = scratch;
    }

    /// `X ← H⁻ᵀ X` over some panels, with the arguments of [`solve_many`](kernels::solve_many).
    pub fn solve_many(
        &self,
        isa: Isa,
        s: &Structure,
        panels: Range<usize>,
        row_of: &[u32],
        columns: usize,
        X: &mut [f64],
        own: &mut [f64],
    ) {
        let Lu { U, L, inverses } = self.lu(Way::Backward);
        let (first, last) = (panels.start, panels.end);
        kernels::solve_lu_many(isa, s, first, last, U, L, inverses, row_of, columns, X, own);
    }
}
