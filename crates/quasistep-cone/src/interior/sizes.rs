//! Reference sizes of an island, and residuals as shares of them.

use super::Interior;
use super::work::Work;
use crate::kernels;
use crate::program::ConeProgram;
use crate::structure::Panel;
use quasistep_linalg::kernels::larger;
use quasistep_linalg::simd::LANES;

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

    /// Whether each product, row and variable of an island is within `share` of its forces and
    /// speeds, by the iteration's own residuals. The check of the solution applies the same
    /// criterion to recomputed residuals.
    pub(super) fn each_within(
        &self,
        work: &Work<'_>,
        share: f64,
        [force, speed, scale]: [f64; 3],
    ) -> bool {
        let [mut fast, mut outside, mut product] = [[0.0; LANES]; 3];
        for batch in work.batches {
            let (at, m) = (batch.at as usize, batch.shape.m as usize);
            let z = &self.z_in[at..][..m];
            let s = &self.s_in[at..][..m];
            let gap = &self.gap[at..][..m];
            let mut largest = [0.0; LANES];
            // for round cones
            let [mut dot, mut first, mut squares] = [[0.0; LANES]; 3];
            for (j, ((z, s), gap)) in z.iter().zip(s).zip(gap).enumerate() {
                for l in 0..LANES {
                    // `A x − b`, without the row's compliance
                    let u = s[l] + gap[l];
                    largest[l] = larger(largest[l], u.abs());
                    if batch.shape.round {
                        dot[l] += z[l] * u;
                        if j == 0 {
                            first[l] = u;
                        } else {
                            squares[l] += u * u;
                        }
                    } else {
                        product[l] = larger(product[l], (z[l] * u).abs());
                        outside[l] = larger(outside[l], -u);
                    }
                }
            }
            // padding has no speed
            for l in 0..batch.count as usize {
                fast[l] = larger(fast[l], largest[l]);
                product[l] = larger(product[l], dot[l].abs());
                outside[l] = larger(outside[l], squares[l].sqrt() - first[l]);
            }
        }
        let [fast, outside, product] =
            [fast, outside, product].map(|v| v.into_iter().fold(0.0, larger));
        let speed = larger(speed, fast);
        if !(outside <= share * speed && product <= share * force * speed) {
            return false;
        }
        let (mut own_force, mut own_pull) = (0.0_f64, 0.0_f64);
        for panel in work.panels {
            let block = &work.p.blocks[panel.block as usize];
            for i in 0..block.dim {
                let cost = work.p.P[(block.P_at + i * (block.stride + 1)) as usize];
                let root = if cost > 0.0 { cost } else { scale }.sqrt();
                let at = (block.at + i) as usize;
                own_force = larger(own_force, work.p.c[at].abs() / root);
                own_pull = larger(own_pull, self.pull[at].abs() / root);
            }
        }
        for (spring, data) in self.springs.iter().zip(&work.p.saturations) {
            if work.has(spring.panel) {
                own_force = larger(own_force, data.gradient(0.0).abs() / scale.sqrt());
            }
        }
        own_pull <= share * own_force
    }
}
