//! Where the interior point starts.

use super::{Interior, SHIFT, Work};
use crate::cone::check;
use crate::cone::kernels;
use crate::cone::second_order;

impl Interior {
    /// The point of least squares between cost and cones, pushed inside the cones.
    pub(super) fn start(&mut self, work: &Work<'_>, scale: f64) -> bool {
        let p = work.p;
        for cone in work.cones() {
            let at = cone.at as usize;
            let stride = cone.stride_z as usize;
            // forces of the size that stops what the contact moves
            let size = if work.round { 0.0 } else { check::row_size(p, cone, scale) };
            let scale = if size > 0.0 { 1.0 / (size * size) } else { scale };
            self.w[at..at + stride].fill(scale);
            if cone.round {
                let D = &mut self.D[cone.E_at as usize..][..cone.k as usize * stride];
                D.fill(0.0);
                for i in 0..cone.m as usize {
                    D[i * stride + i] = scale;
                }
            }
        }
        for spring in self.springs.iter_mut().filter(|s| work.has(s.panel)) {
            // as if without limit
            (spring.over, spring.under, spring.force) = (0.0, 0.0, 0.0);
        }
        for panel in work.panels {
            self.x[panel.x_at as usize..(panel.x_at + panel.dim) as usize].fill(0.0);
        }
        if !self.factor(work, SHIFT * scale) {
            return false;
        }
        kernels::slacks(work.isa, p, work.groups, &self.x, &mut self.gap);
        for cone in work.cones() {
            for i in cone.at as usize..(cone.at + cone.stride_z) as usize {
                self.t[i] = self.w[i] * self.gap[i];
            }
        }
        for panel in work.panels {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.x[at.clone()].iter_mut().zip(&p.c[at]).for_each(|(x, c)| *x = -c);
        }
        for spring in self.springs.iter().filter(|s| work.has(s.panel)) {
            self.x[spring.at as usize] += spring.stiffness * spring.target;
        }
        kernels::subtract_forces(work.isa, p, work.groups, &self.t, &mut self.x);
        let (first, last) = work.range;
        kernels::solve(work.isa, work.s, first, last, &self.H, &self.W, &mut self.x);
        kernels::slacks(work.isa, p, work.groups, &self.x, &mut self.gap);
        // s = A x − b and z = −w s, each moved into the cones
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for cone in work.cones() {
            let u = &self.gap[cone.at as usize..][..cone.m as usize];
            if cone.round {
                let norm = second_order::norm(&u[1..]);
                (least, most) = (least.min(u[0] - norm), most.max(u[0] + norm));
            } else {
                (least, most) = u.iter().fold((least, most), |(l, m), u| (l.min(*u), m.max(*u)));
            }
        }
        if least > most {
            // no cones
            (least, most) = (1.0, -1.0);
        }
        let reach = least.abs().max(most.abs()).max(Self::speed(work)).max(1e-300);
        let mut up = (-1.5 * least).max(1e-4 * reach);
        let mut down = (1.5 * most).max(1e-4 * reach);
        let (mut dot, mut sum_s, mut sum_z) = (0.0, 0.0, 0.0);
        for cone in work.cones() {
            for i in 0..cone.m as usize {
                let e = if cone.round && i > 0 { 0.0 } else { 1.0 };
                let u = self.gap[cone.at as usize + i];
                let (s, z) = (u + e * up, -u + e * down);
                dot += s * z;
                sum_s += e * s;
                sum_z += e * z;
            }
        }
        if sum_s > 0.0 && sum_z > 0.0 {
            up += 0.5 * dot / sum_z;
            down += 0.5 * dot / sum_s;
        }
        for cone in work.cones() {
            for i in 0..cone.stride_z as usize {
                let at = cone.at as usize + i;
                if i >= cone.m as usize {
                    (self.s[at], self.z[at], self.gap[at]) = (1.0, 0.0, 0.0);
                    continue;
                }
                let e = if cone.round && i > 0 { 0.0 } else { 1.0 };
                let u = self.gap[at];
                self.s[at] = u + e * up;
                self.z[at] = self.w[at] * (-u + e * down);
                self.gap[at] = u - self.s[at];
                if !cone.round {
                    self.gap[at] += self.give * self.z[at];
                }
                (self.ds[at], self.dz[at]) = (0.0, 0.0);
            }
        }
        // limited springs at rest, with room on both sides
        kernels::cost_times(work.isa, p, work.panels, &self.x, &mut self.pull);
        for panel in work.panels {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.pull[at.clone()].iter_mut().zip(&p.c[at]).for_each(|(pull, c)| *pull += c);
        }
        for spring in self.springs.iter_mut().filter(|s| work.has(s.panel)) {
            let stretch = self.x[spring.at as usize] - spring.target;
            if spring.limited() {
                let room = reach.max(spring.limit / spring.stiffness);
                spring.over = stretch.max(0.0) + room;
                spring.under = (-stretch).max(0.0) + room;
                spring.force = 0.0;
            } else {
                spring.force = spring.stiffness * stretch;
            }
            spring.change = [0.0; 3];
            self.pull[spring.at as usize] += spring.force;
        }
        kernels::subtract_forces(work.isa, p, work.groups, &self.z, &mut self.pull);
        true
    }
}
