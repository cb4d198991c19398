//! Piecewise linear homotopy from the solution at one penalty parameter to that at the next one,
//! from breakpoint to breakpoint.
//!
//! For another penalty parameter or other multipliers, the old solution has augmented forces that
//! differ by `e`, and a residual of stationarity `r`. The homotopy reduces both to zero:
//!
//! ```text
//! P x + c + delta (x − x_c) − Jᵀ Pi(lambda_c − rho (J x − b) + t e) = t r,      t = 1 … 0
//! ```
//!
//! The old solution solves it at `t = 1`. The solutions form a piecewise linear path. At the end of
//! a piece a single contact changes its mode, and the matrix changes by rank one. So a breakpoint
//! needs a solve with the old factors, but no new factorisation. The path turns back where the
//! determinant changes its sign, and it is followed there too. In this way it passes breakpoints
//! between which Newton's method cycles. (J. Katzenelson, "An algorithm for solving nonlinear
//! resistor networks", Bell System Technical Journal 44 (1965) 1605–1620.)

use super::breakpoints::{Along, Bounds, End, Reach, next_closed, next_open};
use super::path::{Change, Homotopy, along, take_off};
use super::regions::{OPEN, ROWS};
use super::{FrictionProgram, Newton, PROXIMAL, Part, dot_short, hessian};
use crate::tolerances::newton_of_friction::{HOMOTOPY_FARTHEST, HOMOTOPY_NEARER};
use quasistep_linalg::simd::Isa;

/// Largest number of consecutive breakpoints without a new least parameter `t`.
const PATIENCE: u32 = 60;
/// Largest number of breakpoints, each a rank-one change, before a new factorisation.
const KEPT: usize = 64;

impl Newton {
    /// Follows the path from the solution for other multipliers or another penalty to the solution
    /// for the current ones. Returns false if the path does not end there.
    ///
    /// On entry `a` holds the augmented forces of the old solution; tangential entries of open
    /// contacts are not read. `rated` is true if the rates are already computed. Every
    /// factorisation counts as a step.
    pub(super) fn follow(&mut self, p: &FrictionProgram, rated: bool) -> bool {
        if !rated {
            p.rates(&self.x, &mut self.u);
        }
        self.set_out(p);
        let (mut share, mut sign) = (1.0, 1.0);
        let (mut count, mut least, mut least_at) = (0, 1.0, 0);
        let mut gone = 0.0;
        self.homotopy.da.clear();
        self.homotopy.da.resize(p.rows, 0.0);
        if self.homotopy.kept == Some(self.penalty) {
            self.steps += 1;
            self.head(p);
        } else if !self.renew(p) {
            return false;
        }
        loop {
            let changes = self.homotopy.changes.len() * self.x.len();
            if !self.work.spend(self.cost.solve + self.cost.rows + changes as u64) {
                return false;
            }
            let rest = if sign > 0.0 { share } else { f64::INFINITY };
            let End { length, contact, exit } = self.next(p, gone, rest, share, sign);
            if !length.is_finite() {
                return false;
            }
            quasistep_linalg::kernels::axpy(sign * length, &self.homotopy.y, &mut self.x);
            if length == rest {
                return self.x.iter().all(|x| x.is_finite());
            }
            gone = length;
            share -= sign * length;
            count += 1;
            self.breakpoints += 1;
            if share < HOMOTOPY_NEARER * least {
                (least, least_at) = (share, count);
            }
            if count > least_at + PATIENCE || share > HOMOTOPY_FARTHEST {
                return false;
            }
            self.arrive(p, contact, length, share);
            if self.cross(p, contact, exit) {
                sign = -sign;
            }
            if self.homotopy.changes.len() >= KEPT && !self.renew(p) {
                return false;
            }
        }
    }

    /// Finds the pieces of the current augmented forces, and the terms `e` and `r`.
    fn set_out(&mut self, p: &FrictionProgram) {
        let Self { homotopy, a, x, x_c, D, z_c, u, weight, unit, penalty, lambda, .. } = self;
        homotopy.closed.clear();
        homotopy.e.clear();
        let now = z_c.iter().zip(weight.iter()).zip(u.iter());
        homotopy.e.extend(
            a.iter().zip(now).map(|(a, ((z_c, weight), u))| a - z_c + *penalty * weight * u),
        );
        for (i, contact) in p.contacts.iter().enumerate() {
            let (k, rows) = (contact.k as usize, contact.rows());
            let region = homotopy.regions.find(i, &a[rows.clone()], homotopy.at[i]);
            if region != homotopy.at[i] {
                homotopy.at[i] = region;
                homotopy.kept = None;
            }
            homotopy.closed.push(region != OPEN);
            homotopy.reaches[i].set_out(*penalty * weight[rows.start], homotopy.e[rows.start]);
            let matrix = &homotopy.regions.region(i, region).matrix;
            for (r, at) in rows.clone().enumerate() {
                lambda[at] = unit[at] * dot_short(&matrix[r * k..(r + 1) * k], &a[rows.clone()]);
            }
        }
        homotopy.r.clear();
        homotopy.r.resize(x.len(), 0.0);
        p.gradient(x, &mut homotopy.r);
        p.add_forces(-1.0, lambda, &mut homotopy.r);
        for j in 0..x.len() {
            homotopy.r[j] += PROXIMAL * (x[j] - x_c[j]) / (D[j] * D[j]);
        }
    }

    /// Factorises the matrix of the current pieces, and computes the direction.
    fn renew(&mut self, p: &FrictionProgram) -> bool {
        self.work.spend(self.cost.factor + self.cost.solve);
        let Self { homotopy, factor, saturated, stiffness, penalty, .. } = self;
        homotopy.kept = None;
        hessian::assemble(p, factor, PROXIMAL, saturated, |i| {
            let k = p.contacts[i].k as usize;
            let region = homotopy.at[i];
            let rho = stiffness[i].map(|stiffness| *penalty * stiffness);
            let matrix = &homotopy.regions.region(i, region).matrix[..k * k];
            (region != OPEN).then_some(Part { matrix, rho })
        });
        self.steps += 1;
        if !factor.factor() {
            return false;
        }
        homotopy.changes.clear();
        homotopy.h.clear();
        homotopy.q.clear();
        homotopy.kept = Some(*penalty);
        self.factored.clear();
        self.head(p);
        true
    }

    /// Computes the direction from the factorisation and the rank-one changes since.
    fn head(&mut self, p: &FrictionProgram) {
        let Self { homotopy, factor, D, lambda, unit, .. } = self;
        for (i, contact) in p.contacts.iter().enumerate() {
            let (k, rows) = (contact.k as usize, contact.rows());
            let matrix = &homotopy.regions.region(i, homotopy.at[i]).matrix;
            for (r, at) in rows.clone().enumerate() {
                let e = &homotopy.e[rows.clone()];
                lambda[at] = unit[at] * dot_short(&matrix[r * k..(r + 1) * k], e);
            }
        }
        homotopy.by_share.clear();
        homotopy.by_share.extend(homotopy.r.iter().map(|r| -r));
        p.add_forces(-1.0, lambda, &mut homotopy.by_share);
        homotopy.y.clear();
        let scaled = homotopy.by_share.iter().zip(D.iter()).map(|(b, D)| b * D);
        homotopy.y.extend(scaled);
        factor.solve(&p.cones, &mut homotopy.y);
        for (y, D) in homotopy.y.iter_mut().zip(D.iter()) {
            *y *= D;
        }
        take_off(Isa::detect(), p, &homotopy.changes, &homotopy.q, &homotopy.h, &mut homotopy.y);
    }

    /// Finds the end of the next piece, at most `rest` away. Augmented forces on entry are those at
    /// the start of the last piece, whose length is `gone`.
    fn next(&mut self, p: &FrictionProgram, gone: f64, rest: f64, share: f64, sign: f64) -> End {
        let Self { homotopy, a, x, z_c, weight, penalty, D, .. } = self;
        let Homotopy { regions, at, closed, reaches, sizes, e, y, da, .. } = homotopy;
        let isa = Isa::detect();
        let penalty = *penalty;
        let along = Along { regions, x, y, z_c, penalty, weight, e, gone, share, sign };
        let mut end = End { length: rest, contact: usize::MAX, exit: 0 };
        next_closed(isa, p, &along, at, a, da, &mut end);
        sizes.clear();
        for block in &p.cones.blocks {
            let place = block.first as usize..(block.first + block.dim) as usize;
            let squares = y[place.clone()].iter().zip(&D[place]).map(|(y, D)| (y / D).powi(2));
            sizes.push(squares.sum::<f64>().sqrt());
        }
        next_open(isa, p, &along, Bounds { closed, reaches, sizes }, a, da, &mut end);
        end
    }

    /// Computes the augmented forces of a contact at the end of a piece of length `length`.
    fn arrive(&mut self, p: &FrictionProgram, contact: usize, length: f64, share: f64) {
        let Self { homotopy, a, x, z_c, weight, penalty, .. } = self;
        for at in p.contacts[contact].rows() {
            a[at] += length * homotopy.da[at];
            homotopy.da[at] = 0.0;
        }
        if homotopy.at[contact] != OPEN {
            return;
        }
        for (r, at) in p.contacts[contact].rows().enumerate().skip(1) {
            let rate = p.row(contact, r).map(|(first, J)| dot_short(J, &x[first..])).sum::<f64>()
                - p.b(contact, r);
            a[at] = z_c[at] - *penalty * weight[at] * rate + share * homotopy.e[at];
        }
    }

    /// Moves a contact to the piece behind a plane; returns whether the path turns back there.
    fn cross(&mut self, p: &FrictionProgram, contact: usize, exit: usize) -> bool {
        let Self { homotopy, factor, D, a, weight, unit, penalty, .. } = self;
        let Homotopy { regions, at, closed, e, y, h, q, changes, .. } = homotopy;
        let data = &p.contacts[contact];
        let (k, rows, n) = (data.k as usize, data.rows(), y.len());
        let plane = regions.exit(exit);
        let to = regions.across(contact, at[contact], plane.to, &a[rows.clone()]);
        let old = regions.region(contact, at[contact]).matrix;
        let new = regions.region(contact, to).matrix;
        at[contact] = to;
        closed[contact] = to != OPEN;
        // new − old = w gᵀ
        let g = &plane.g[..k];
        let over = dot_short(g, g).recip();
        let mut w = [0.0; ROWS];
        for (r, w) in w[..k].iter_mut().enumerate() {
            *w = over * (0..k).map(|s| (new[r * k + s] - old[r * k + s]) * g[s]).sum::<f64>();
        }
        // p = Jᵀ w,  q = Jᵀ g
        let (h_at, q_at) = (h.len(), q.len());
        h.resize(h_at + n, 0.0);
        for r in 0..k {
            let row = rows.start + r;
            let (w, g) = (unit[row] * w[r], weight[row] * g[r]);
            let mut to = q_at;
            for (first, J) in p.row(contact, r) {
                if r == 0 {
                    q.resize(to + J.len(), 0.0);
                }
                for (j, J) in J.iter().enumerate() {
                    h[h_at + first + j] += w * D[first + j] * J;
                    q[to + j] += g * J;
                }
                to += J.len();
            }
        }
        let (before, own) = h.split_at_mut(h_at);
        factor.solve(&p.cones, own);
        for (h, D) in own.iter_mut().zip(D.iter()) {
            *h *= D;
        }
        take_off(Isa::detect(), p, changes, q, before, own);
        let q_new = &q[q_at..];
        let pivot = 1.0 + *penalty * along(p, contact, q_new, own);
        let over = *penalty / pivot;
        let by_share = dot_short(g, &e[rows]);
        quasistep_linalg::kernels::axpy(-by_share, own, y);
        let rest = over * along(p, contact, q_new, y);
        quasistep_linalg::kernels::axpy(-rest, own, y);
        changes.push(Change { contact, first: q_at, over });
        pivot < 0.0
    }
}

impl Homotopy {
    /// Tabulates the pieces of all contacts if possible, and stores the units `D` of the variables.
    pub fn prepare(&mut self, p: &FrictionProgram, D: &[f64]) {
        self.kept = None;
        self.known = p.n() > 0 && p.cones.saturations.is_empty() && self.regions.update(p);
        if !self.known {
            return;
        }
        // reserve memory that only some solves need
        let (n, rows, contacts) = (p.n(), p.rows, p.contacts.len());
        let width = p.cones.cones.iter().fold(0, |m, cone| m.max(cone.width)) as usize;
        for (v, len) in [
            (&mut self.e, rows),
            (&mut self.da, rows),
            (&mut self.r, n),
            (&mut self.by_share, n),
            (&mut self.y, n),
            (&mut self.h, KEPT * n),
            (&mut self.q, KEPT * width),
        ] {
            v.clear();
            v.reserve(len);
        }
        self.at.clear();
        self.at.resize(contacts, OPEN);
        self.closed.clear();
        self.closed.reserve(contacts);
        self.sizes.clear();
        self.sizes.reserve(p.cones.blocks.len());
        self.reaches.clear();
        self.reaches.extend((0..contacts).map(|i| Reach::new(p, i, D)));
        self.changes.clear();
        self.changes.reserve(KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Friction;
    use crate::solution::CoulombMethods;
    use quasistep_linalg::budget::Budget;

    /// A pushed block on two contacts, and a second block on top of it. The first slides, the
    /// second sticks.
    fn program() -> FrictionProgram {
        let mut p = FrictionProgram::new();
        p.reset([2, 2]);
        for (block, push) in [(0, 1.0), (1, 1.4)] {
            p.P(block, 0)[0] = 1.0;
            p.P(block, 1)[1] = 1.0;
            p.c(block).copy_from_slice(&[-push, 2.0]);
        }
        for (k, blocks) in [&[0][..], &[0], &[1, 0], &[1, 0]].into_iter().enumerate() {
            let friction = Friction::Diamond { mu: 0.3, directions: &[1.0, -1.0], tangents: 1 };
            let mut contact = p.push_contact(friction, blocks);
            for (side, sign) in [1.0, -1.0].into_iter().enumerate().take(blocks.len()) {
                contact.J(side, 0)[1] = sign;
                contact.J(side, 1)[0] = sign;
            }
            contact.b()[0] = -1e-3 * (k % 2) as f64;
        }
        p
    }

    #[test]
    fn a_line_ends_at_the_answer_with_harder_contacts() {
        let p = program();
        let mut newton = Newton::default();
        newton.prepare(&p, CoulombMethods::ALL, &Budget::default());
        assert!(newton.homotopy.known);
        newton.begin(&vec![0.0; p.rows]);
        newton.penalty = 1.0;
        newton.augment(&p);
        assert!(newton.equation(&p, 1e-12, true).is_some());
        for _ in 0..6 {
            newton.update_multipliers();
            newton.penalty *= 20.0;
            assert!(newton.follow(&p, false));
            newton.augment(&p);
            let before = newton.steps;
            assert!(newton.equation(&p, 1e-12, true).is_some());
            assert_eq!(newton.steps, before, "Newton's method has nothing left to do");
        }
        // breakpoints: sliding starts, and the higher contacts open
        assert!(newton.breakpoints >= 2, "{}", newton.breakpoints);
        newton.update_multipliers();
        assert!((newton.z[0] - 4.0).abs() < 1e-6 && newton.z[2].abs() < 1e-6);
    }
}
