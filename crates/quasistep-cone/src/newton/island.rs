//! Start of the iteration on an island, and projection of slacks to multipliers.

use super::work::Work;
use super::{Newton, Start};
use crate::kernels::{self, lanes, lanes_mut};
use crate::second_order;
use crate::tolerances::ROUNDING;
use crate::tolerances::newton_of_cones::{SHIFT, TURN};
use quasistep_linalg::simd::{LANES, padded};

impl Newton {
    /// Largest diagonal entry of the cost. Sets the weight of the proximal term: positive if some
    /// diagonal entry is zero or negligible relative to the largest.
    pub(super) fn scale(&mut self, work: &Work<'_>) -> f64 {
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
        let scale = if largest > 0.0 { largest } else { 1.0 };
        self.shift = if least <= ROUNDING * largest { SHIFT * scale } else { 0.0 };
        scale
    }

    /// Sets `w`, `D` and the starting point.
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
            Start::Predicted { x, active } => {
                self.start_at(work, x);
                for span in work.spans() {
                    self.w[span.clone()].copy_from_slice(&active[span]);
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

    /// Copies a point, computes its slacks, and finds the Huber terms at their limits.
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

    /// `lambda = D (z − rho u)`: the projection linearised, exact at the point where the derivative
    /// `D` was evaluated.
    pub(super) fn lambda_linear(&mut self, work: &Work<'_>, rho: f64) {
        if !work.round {
            for span in work.spans() {
                let [w, z, u] = [&self.w, &self.z, &self.u].map(|v| &v[span.clone()]);
                for (((lambda, w), z), u) in self.lambda[span].iter_mut().zip(w).zip(z).zip(u) {
                    *lambda = w * (z - rho * u);
                }
            }
            return;
        }
        for cone in work.cones() {
            let (at, m, stride) = (cone.at as usize, cone.m as usize, cone.stride_z as usize);
            if cone.round {
                let D = &self.D[cone.E_at as usize..][..m * stride];
                let [z, u] = [&self.z, &self.u].map(|v| &v[at..at + m]);
                let lambda = &mut self.lambda[at..at + m];
                second_order::by_rows!(m, m, {
                    for i in 0..m {
                        let row = &D[i * padded(m)..][..m];
                        lambda[i] = (0..m).map(|j| row[j] * (z[j] - rho * u[j])).sum();
                    }
                });
            } else {
                for i in at..at + stride {
                    self.lambda[i] = self.w[i] * (self.z[i] - rho * self.u[i]);
                }
            }
        }
    }

    /// `lambda = Π(z − rho u)` and the derivative of the projection. Returns true if the active set
    /// changed: an edge changed sides, a round cone's derivative changed, or a Huber term reached
    /// or left its limit.
    pub(super) fn project(&mut self, work: &Work<'_>, rho: f64) -> bool {
        let mut changed = false;
        self.turned = 0.0;
        if !work.round {
            for span in work.spans() {
                let [z, u] = [&self.z, &self.u].map(|v| &v[span.clone()]);
                let (lambda, w) = (&mut self.lambda[span.clone()], &mut self.w[span]);
                let mut turned = [0.0; LANES];
                let all = lanes(z).iter().zip(lanes(u)).zip(lanes_mut(lambda)).zip(lanes_mut(w));
                for (((z, u), lambda), w) in all {
                    for l in 0..LANES {
                        let t = z[l] - rho * u[l];
                        let active = if t > 0.0 { 1.0 } else { 0.0 };
                        lambda[l] = if t > 0.0 { t } else { 0.0 };
                        turned[l] += (w[l] - active) * (w[l] - active);
                        w[l] = active;
                    }
                }
                self.turned += turned.iter().sum::<f64>();
            }
        }
        changed |= self.turned > 0.0;
        for cone in work.cones().filter(|_| work.round) {
            let (at, m, stride) = (cone.at as usize, cone.m as usize, cone.stride_z as usize);
            if cone.round {
                let D = &mut self.D[cone.E_at as usize..][..m * stride];
                let corner = D[0];
                let old = self.w[at];
                let [z, u] = [&self.z, &self.u].map(|v| &v[at..at + m]);
                let lambda = &mut self.lambda[at..at + m];
                self.w[at] = second_order::by_rows!(m, m, {
                    let mut t = [0.0; kernels::MAX_ROUND];
                    let t = &mut t[..m];
                    for i in 0..m {
                        t[i] = z[i] - rho * u[i];
                    }
                    second_order::project(t, &mut lambda[..m]);
                    second_order::project_derivative(t, padded(m), &mut D[..m * padded(m)])
                });
                if corner != D[0] {
                    self.turned += m as f64;
                }
                let same = corner == D[0] && (D[0] != 0.5 || (old - self.w[at]).abs() <= TURN);
                changed |= !same;
            } else {
                let z = &self.z[at..at + stride];
                let u = &self.u[at..at + stride];
                let lambda = &mut self.lambda[at..at + stride];
                let w = &mut self.w[at..at + stride];
                for i in 0..stride {
                    let t = z[i] - rho * u[i];
                    let active = if t > 0.0 { 1.0 } else { 0.0 };
                    lambda[i] = t.max(0.0);
                    if w[i] != active {
                        self.turned += 1.0;
                        changed = true;
                    }
                    w[i] = active;
                }
            }
        }
        for (k, spring) in work.p.saturations.iter().enumerate() {
            if work.has(self.spring_panel[k]) {
                let force = spring.stiffness * (self.x[self.spring_at[k] as usize] - spring.target);
                let limited = force.abs() > spring.limit;
                changed |= limited != self.limited[k];
                self.limited[k] = limited;
            }
        }
        changed
    }
}
