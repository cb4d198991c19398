//! Stopping criteria of the interior point.

use super::Interior;
use super::work::Work;
use crate::cone::program::LANES;
use crate::kernels::larger;

/// Stopping criteria: the iteration ends when either is satisfied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    /// Complementarity gap: the mean product, as a share of force times speed. Primal residuals
    /// must also be within this share of the speed, residuals of stationarity within this share of
    /// the force.
    pub mean: f64,
    /// Bound of every single product, row and variable, as shares of force times speed, speed and
    /// force, and of every variable relative to its own cost. 0 disables this criterion.
    pub each: f64,
}

impl Goal {
    /// Criterion on the complementarity gap alone.
    pub fn mean(mean: f64) -> Self {
        Self { mean, each: 0.0 }
    }
}

impl Interior {
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
