//! Gondzio's multiple centrality corrections, which lengthen steps with one factorisation.

use super::work::Work;
use super::{Interior, longest};
use crate::kernels::{self, Centred, Iterate, Step};
use crate::structure::Panel;
use crate::tolerances::interior::{GONDZIO_ADD, GONDZIO_ENOUGH, GONDZIO_GAIN, GONDZIO_PRODUCTS};

/// Largest number of corrections of a step, each with the least number of factor entries of the
/// island. Solves are cheap only relative to a large factorisation.
const CORRECTIONS: [(u32, u32); 2] = [(40_000, 3), (8_000, 2)];

impl Interior {
    /// Computes the corrector direction, and adds Gondzio corrections while they allow a longer
    /// step. `aim` is the target of the products. Returns the longest step inside the cones.
    pub(super) fn gondzio_correction(&mut self, work: &Work<'_>, aim: f64) -> f64 {
        let mut far = longest(&self.direction(work));
        let size = work.panels.iter().map(Panel::len).sum::<u32>();
        let most = CORRECTIONS.iter().find(|(from, _)| size >= *from).map_or(0, |(_, most)| *most);
        for _ in 0..if work.round { 0 } else { most } {
            if far >= GONDZIO_ENOUGH {
                break;
            }
            let ahead = (far + GONDZIO_ADD).min(1.0);
            self.last_dx.copy_from_slice(&self.dx);
            self.start_direction(work);
            let Self { s_in: s, z_in: z, gap, ds, dz, t, dx, compliance, .. } = self;
            let at = Iterate { compliance: *compliance, s, z, gap };
            let [low, high] = GONDZIO_PRODUCTS.map(|share| share * aim);
            let aim = Centred { alpha: ahead, low, high };
            kernels::batch_gondzio(work.isa, work.rows, aim, at, Step { ds, dz }, t, dx);
            std::mem::swap(&mut self.ds, &mut self.last_ds);
            std::mem::swap(&mut self.dz, &mut self.last_dz);
            for spring in &mut self.springs {
                spring.last_change = spring.change;
            }
            let next = longest(&self.direction(work));
            // the condition is true for NaN, which is returned
            if !(next >= far) {
                std::mem::swap(&mut self.dx, &mut self.last_dx);
                std::mem::swap(&mut self.ds, &mut self.last_ds);
                std::mem::swap(&mut self.dz, &mut self.last_dz);
                for spring in &mut self.springs {
                    spring.change = spring.last_change;
                }
                break;
            }
            let enough = next >= far + GONDZIO_GAIN * (ahead - far);
            far = next;
            if !enough {
                break;
            }
        }
        far
    }
}
