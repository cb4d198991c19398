//! Reference sizes of an island.

use super::Interior;
use super::work::Work;
use crate::cone::kernels;
use crate::cone::program::ConeProgram;
use crate::cone::structure::Panel;

impl Interior {
    /// Barrier degree: 1 for an edge or a round cone, 2 for a Huber term.
    pub(super) fn degree(&self, work: &Work<'_>) -> f64 {
        let cones: u32 = work.cones().map(|c| if c.round { 1 } else { c.m }).sum();
        let springs = self.springs.iter().filter(|s| work.has(s.panel) && s.limited()).count();
        (f64::from(cones) + 2.0 * springs as f64).max(1.0)
    }

    /// Largest diagonal entry of the cost on an island's panels, Huber terms included; 1 if all are
    /// zero.
    pub fn scale(&self, p: &ConeProgram, panels: &[Panel]) -> f64 {
        let mut largest = 0.0_f64;
        for panel in panels {
            let block = &p.blocks[panel.block as usize];
            for i in 0..block.dim {
                let at = block.at + i;
                let springs = self.springs.iter().filter(|s| s.at == at).map(|s| s.stiffness);
                let diagonal = block.P_at + i * (block.stride + 1);
                largest = largest.max(p.P[diagonal as usize] + springs.sum::<f64>());
            }
        }
        if largest > 0.0 { largest } else { 1.0 }
    }

    /// Largest entry of the linear cost, Huber terms included.
    pub(super) fn force(&self, work: &Work<'_>) -> f64 {
        let mut force = kernels::largest(work.isa, work.panels, &work.p.c);
        for (spring, data) in self.springs.iter().zip(&work.p.saturations) {
            if work.has(spring.panel) {
                force = force.max(data.gradient(0.0).abs());
            }
        }
        if force > 0.0 { force } else { 1.0 }
    }

    /// Largest offset of a row.
    pub(super) fn speed(work: &Work<'_>) -> f64 {
        let offsets =
            work.cones().flat_map(|c| &work.p.b[c.b_at as usize..(c.b_at + c.k) as usize]);
        offsets.fold(0.0, |m, b| m.max(b.abs()))
    }
}
