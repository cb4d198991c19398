//! Where an island's iteration starts.

use super::work::Work;
use super::{Newton, Start};
use crate::cone::{kernels, second_order};

impl Newton {
    /// Largest diagonal entry of the cost, and whether a diagonal entry is nothing beside it.
    pub(super) fn scale(&self, work: &Work<'_>) -> (f64, bool) {
        let (mut largest, mut least) = (0.0_f64, f64::INFINITY);
        for panel in work.panels {
            let block = &work.p.blocks[panel.block as usize];
            for i in 0..block.dim as usize {
                let mut d = work.p.P[block.P_at as usize + i * (block.stride as usize + 1)];
                for (k, spring) in work.p.saturations.iter().enumerate() {
                    if self.spring_at[k] as usize == block.at as usize + i {
                        d += spring.stiffness;
                    }
                }
                largest = largest.max(d);
                least = least.min(d);
            }
        }
        if largest > 0.0 { (largest, least <= 1e-12 * largest) } else { (1.0, true) }
    }

    /// Fills `w`, `D` and the point to start from.
    pub(super) fn start(&mut self, work: &Work<'_>, start: Start<'_>, scale: f64, rho: f64) {
        match start {
            Start::Inside { x, z, s } => {
                self.start_at(work, x);
                for cone in work.cones() {
                    let (at, m) = (cone.at as usize, cone.m as usize);
                    let (z, s) = (&z[at..at + m], &s[at..at + m]);
                    if cone.round {
                        let t = &mut self.lambda[at..at + m];
                        second_order::complement(z, s, scale, rho, t);
                        let stride = cone.stride_z as usize;
                        let D = &mut self.D[cone.E_at as usize..][..m * stride];
                        self.w[at] = second_order::project_derivative(t, stride, D);
                    } else {
                        for i in 0..m {
                            self.w[at + i] = if z[i] > scale * s[i] { 1.0 } else { 0.0 };
                        }
                    }
                }
            }
            Start::Carried { x, rows } => {
                self.start_at(work, x);
                for span in work.spans() {
                    self.w[span.clone()].copy_from_slice(&rows[span]);
                }
            }
            Start::Warm { z, s } => {
                for cone in work.cones() {
                    let (at, from, m) = (cone.at as usize, cone.first as usize, cone.m as usize);
                    let (z, s) = (&z[from..from + m], &s[from..from + m]);
                    if cone.round {
                        let t = &mut self.lambda[at..at + m];
                        for i in 0..m {
                            t[i] = z[i] - rho * s[i];
                        }
                        let stride = cone.stride_z as usize;
                        let D = &mut self.D[cone.E_at as usize..][..m * stride];
                        self.w[at] = second_order::project_derivative(t, stride, D);
                    } else {
                        for i in 0..m {
                            self.w[at + i] = if z[i] > 0.0 { 1.0 } else { 0.0 };
                        }
                    }
                }
                self.slacks_at_zero(work);
            }
            Start::Cold => {
                kernels::slacks(work.isa, work.p, work.groups, &self.x, &mut self.u);
                self.project(work, rho);
            }
        }
    }

    /// A point with its slacks, and which of the springs are at their limits.
    fn start_at(&mut self, work: &Work<'_>, x: &[f64]) {
        for panel in work.panels {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.x[at.clone()].copy_from_slice(&x[at]);
        }
        for (k, spring) in work.p.saturations.iter().enumerate() {
            if work.has(self.spring_panel[k]) {
                let stretch = self.x[self.spring_at[k] as usize] - spring.target;
                self.limited[k] = spring.stiffness * stretch.abs() > spring.limit;
            }
        }
        kernels::slacks(work.isa, work.p, work.groups, &self.x, &mut self.u);
    }

    /// `u = −E b`.
    fn slacks_at_zero(&mut self, work: &Work<'_>) {
        for cone in work.cones() {
            let (at, stride) = (cone.at as usize, cone.stride_z as usize);
            let u = &mut self.u[at..at + stride];
            u.fill(0.0);
            let b = &work.p.b[cone.b_at as usize..][..cone.k as usize];
            for (r, b) in b.iter().enumerate().filter(|(_, b)| **b != 0.0) {
                let E = &work.p.E[cone.E_at as usize + r * stride..][..stride];
                for (u, E) in u.iter_mut().zip(E) {
                    *u -= b * E;
                }
            }
        }
    }
}
