//! Starting point of the interior point.

use super::{Interior, Work};
use crate::batches::span;
use crate::program::MAX_ROWS;
use crate::tolerances::REFINEMENTS;
use crate::tolerances::interior::{INSIDE, PUSH, ROOM, SHIFT, SOFT, SOFT_ROUND};
use crate::{kernels, second_order};
use quasistep_linalg::simd::LANES;

impl Interior {
    /// Computes the starting point: a least-squares solution, shifted into the cones.
    pub(super) fn start(&mut self, work: &Work<'_>, scale: f64) -> bool {
        self.weigh(work, scale);
        if !self.least_squares(work, scale) {
            return false;
        }
        let reach = self.push_inside(work);
        self.release_springs(work, reach);
        if work.batches.is_empty() && !self.springs.iter().any(|s| work.has(s.panel) && s.limited())
        {
            self.refine(work, reach);
        }
        true
    }

    /// Iterative refinement: removes the residual caused by the regularisation of the matrix.
    /// Without rows, `x` is then the minimiser to all digits.
    fn refine(&mut self, work: &Work<'_>, reach: f64) {
        let (first, last) = work.range;
        for _ in 0..REFINEMENTS {
            self.start_direction(work);
            kernels::solve(work.isa, work.s, first, last, &self.H, &self.W, &mut self.dx);
            for panel in work.panels {
                let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
                self.x[at.clone()].iter_mut().zip(&self.dx[at]).for_each(|(x, dx)| *x += dx);
            }
            self.release_springs(work, reach);
        }
    }

    /// Sets the weights of the rows in the least squares: a share of the curvature of the cost
    /// along the cone's rows.
    fn weigh(&mut self, work: &Work<'_>, scale: f64) {
        self.sizes.measure(work.isa, work.p, work.panels, work.groups, scale);
        for batch in work.batches {
            let m = batch.shape.m as usize;
            let soft = if batch.shape.round { SOFT_ROUND } else { SOFT };
            let mut weights = [scale; LANES];
            for (weight, cone) in weights.iter_mut().zip(&batch.cones[..batch.count as usize]) {
                let size = self.sizes.of[*cone as usize];
                *weight = if size > 0.0 { soft / (size * size) } else { scale };
            }
            self.w[batch.at as usize..][..m].fill(weights);
            if batch.shape.round {
                let D = &mut self.D[batch.D_at as usize..][..m * m];
                D.fill([0.0; LANES]);
                for i in 0..m {
                    D[i * (m + 1)] = weights;
                }
            }
        }
    }

    /// Minimises the cost plus the weighted squares of the gaps into `x`, with Huber terms as
    /// quadratic terms; writes the gaps to `gap`. Returns false if the factorisation fails.
    fn least_squares(&mut self, work: &Work<'_>, scale: f64) -> bool {
        let p = work.p;
        for spring in self.springs.iter_mut().filter(|s| work.has(s.panel)) {
            // as a quadratic term
            (spring.over, spring.under, spring.force) = (0.0, 0.0, 0.0);
        }
        for panel in work.panels {
            self.x[panel.x_at as usize..(panel.x_at + panel.dim) as usize].fill(0.0);
        }
        let G = &mut self.products.G;
        kernels::batch_matrices(work.isa, work.rows, &self.w, &self.D, G);
        if !self.factor(work, SHIFT * scale) {
            return false;
        }
        self.slacks(work);
        let rows = span(work.batches);
        let (w, gap) = (&self.w[rows.clone()], &self.gap[rows.clone()]);
        let t = self.t[rows.clone()].as_flattened_mut();
        for ((t, w), gap) in t.iter_mut().zip(w.as_flattened()).zip(gap.as_flattened()) {
            *t = w * gap;
        }
        for panel in work.panels {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.x[at.clone()].iter_mut().zip(&p.c[at]).for_each(|(x, c)| *x = -c);
        }
        for spring in self.springs.iter().filter(|s| work.has(s.panel)) {
            self.x[spring.at as usize] += spring.stiffness * spring.target;
        }
        kernels::batch_forces(work.isa, work.rows, &self.t, &mut self.x);
        let (first, last) = work.range;
        kernels::solve(work.isa, work.s, first, last, &self.H, &self.W, &mut self.x);
        self.slacks(work);
        true
    }

    /// `s = A x − b` and `z = −w s`, each shifted into the cones. Returns the size of the gaps.
    fn push_inside(&mut self, work: &Work<'_>) -> f64 {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        self.each_cone(work, |u, round| {
            if round {
                let norm = second_order::norm(&u[1..]);
                (least, most) = (least.min(u[0] - norm), most.max(u[0] + norm));
            } else {
                (least, most) = u.iter().fold((least, most), |(l, m), u| (l.min(*u), m.max(*u)));
            }
        });
        if least > most {
            // the island has no cones
            (least, most) = (1.0, -1.0);
        }
        let reach = least.abs().max(most.abs()).max(Self::speed(work)).max(f64::MIN_POSITIVE);
        let mut up = (-ROOM * least).max(INSIDE * reach);
        let mut down = (PUSH * most).max(INSIDE * reach);
        let (mut dot, mut sum_s, mut sum_z) = (0.0, 0.0, 0.0);
        self.each_cone(work, |u, round| {
            for (i, u) in u.iter().enumerate() {
                let e = if round && i > 0 { 0.0 } else { 1.0 };
                let (s, z) = (u + e * up, -u + e * down);
                dot += s * z;
                sum_s += e * s;
                sum_z += e * z;
            }
        });
        if sum_s > 0.0 && sum_z > 0.0 {
            up += 0.5 * dot / sum_z;
            down += 0.5 * dot / sum_s;
        }
        self.largest_gap = 0.0;
        for batch in work.batches {
            for j in 0..batch.shape.m as usize {
                let at = batch.at as usize + j;
                let e = if batch.shape.round && j > 0 { 0.0 } else { 1.0 };
                for l in 0..LANES {
                    if l >= batch.count as usize {
                        // padding has a positive slack and multiplier zero
                        (self.s_in[at][l], self.z_in[at][l]) = (e, 0.0);
                        self.gap[at][l] = 0.0;
                        continue;
                    }
                    let u = self.gap[at][l];
                    let (s, z) = (u + e * up, self.w[at][l] * (-u + e * down));
                    let yielded = if batch.shape.round { 0.0 } else { self.compliance * z };
                    (self.s_in[at][l], self.z_in[at][l]) = (s, z);
                    self.gap[at][l] = u - s + yielded;
                    self.largest_gap = self.largest_gap.max(self.gap[at][l].abs());
                }
            }
        }
        reach
    }

    /// Starts Huber terms with zero force and positive distances to both bounds, and computes the
    /// residual of stationarity.
    fn release_springs(&mut self, work: &Work<'_>, reach: f64) {
        let p = work.p;
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
        kernels::batch_forces(work.isa, work.rows, &self.z_in, &mut self.pull);
    }

    /// `gap = A x − b`.
    fn slacks(&mut self, work: &Work<'_>) {
        let Self { x, gap, .. } = self;
        kernels::batch_rows(work.isa, work.rows, x, gap);
    }

    /// Calls `f` with the entries of `gap` of every round cone, and with each edge alone; its
    /// second argument is true for a round cone.
    fn each_cone(&self, work: &Work<'_>, mut f: impl FnMut(&[f64], bool)) {
        for batch in work.batches {
            let gap = &self.gap[batch.at as usize..][..batch.shape.m as usize];
            for l in 0..batch.count as usize {
                if batch.shape.round {
                    let mut u = [0.0; MAX_ROWS];
                    for (u, gap) in u.iter_mut().zip(gap) {
                        *u = gap[l];
                    }
                    f(&u[..gap.len()], true);
                } else {
                    for gap in gap {
                        f(&[gap[l]], false);
                    }
                }
            }
        }
    }
}
