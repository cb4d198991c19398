//! Sizes of the cones' Jacobians, in units in which the diagonal of the cost is 1.

use crate::kernels::{self, Isa};
use crate::program::ConeProgram;
use crate::structure::{Group, Panel, Structure};

#[derive(Debug, Default)]
pub(crate) struct Sizes {
    /// Inverse of every variable's diagonal cost entry.
    inverse: Vec<f64>,
    /// For each cone, its largest `|J_ri| / √P_ii`.
    pub of: Vec<f64>,
}

impl Sizes {
    /// Measures the cones of some groups over some panels. For variables without cost, `scale`
    /// replaces the diagonal entry.
    pub fn measure(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        panels: &[Panel],
        groups: &[Group],
        scale: f64,
    ) {
        self.inverse.resize(p.n_padded, 0.0);
        self.of.resize(p.cones.len(), 0.0);
        for panel in panels {
            let block = &p.blocks[panel.block as usize];
            let (dim, stride) = (block.dim as usize, block.stride as usize);
            let P = &p.P[block.P_at as usize..][..dim * stride];
            let own = &mut self.inverse[block.at as usize..][..stride];
            own[dim..].fill(0.0);
            for (inverse, cost) in own[..dim].iter_mut().zip(P.iter().step_by(stride + 1)) {
                *inverse = 1.0 / if *cost > 0.0 { *cost } else { scale };
            }
        }
        kernels::row_sizes(isa, p, groups, &self.inverse, &mut self.of);
    }

    /// Ratio of the largest to the least size of a cone, rows of zeros excluded.
    pub fn spread(&mut self, isa: Isa, p: &ConeProgram, s: &Structure) -> f64 {
        let mut scale = 0.0_f64;
        for block in &p.blocks {
            for i in 0..block.dim as usize {
                scale = scale.max(p.P[block.P_at as usize + i * (block.stride as usize + 1)]);
            }
        }
        self.measure(isa, p, &s.panels, &s.groups, scale);
        let (mut largest, mut least) = (0.0_f64, f64::INFINITY);
        for size in self.of.iter().filter(|size| **size > 0.0) {
            (largest, least) = (largest.max(*size), least.min(*size));
        }
        largest / least
    }
}
