//! A path around the corners of Coulomb's law: every product that the law wants to vanish is `kappa` instead.
//!
//! ```text
//! lambda_n u_n = kappa
//! polytope:  beta_j (e_jᵀ u_t + gamma) = kappa/m,   gamma (lambda_n − Σ_j beta_j) = kappa/m
//! round:     (lambda_n, lambda_t) ∘ (gamma, u_t) = (kappa, 0)
//! ```
//!
//! with the product of second-order cones. Open, sticking and slipping contacts turn into one another
//! smoothly, so that Newton's method has no modes to toggle between; `kappa` then goes down. On the path
//! `gamma = u_n/2 + sqrt(u_n²/4 + |u_t|²)` for a disc: friction is smoothed at slips of the size of the gap's rate.
//! The equations are those of interior point methods, but Coulomb's law has no convex program behind it, and
//! nothing says that the path arrives: it is a globaliser, which as a rule ends close enough for Newton's
//! method on the law itself. Per contact all but `x` is eliminated, so that a step costs one factor of the
//! blocks.

mod eliminate;
mod follow;

use crate::coulomb::factor::Factor;
use crate::coulomb::hessian::{self, Part};
use crate::coulomb::polytope::MOST;
use crate::coulomb::program::{Contact, FrictionProgram, Shape, dot_short};
use crate::coulomb::pyramid::directions;

/// Share of the way to the boundary that a step may go.
const BOUNDARY: f64 = 0.99;
/// Most steps in all, and for one `kappa`.
const STEPS: u32 = 300;
const WINDING: u32 = 900;
const PATIENCE: u32 = 7;
/// Share of a step below which the path was left too far.
const SHORT: f64 = 0.02;
/// Products this close to `kappa`, as a share of it, are near the path.
const NEAR: f64 = 0.7;
/// The same where the path turns, beside which other parts of it may run.
const CLOSE: f64 = 0.1;
/// Steps downwards in a row after which the path has turned, and the share by which `kappa` goes down next.
const DOWN: u32 = 3;
const GENTLE: f64 = 0.3;
/// Shares by which `kappa` goes down, at most and at least.
const STEEPEST: f64 = 0.01;
const FLAT: f64 = 0.97;
/// Curvature that holds every variable, in scaled variables.
const HOLD: f64 = 1e-8;

/// Memory of the path.
#[derive(Debug, Default)]
pub(crate) struct Central {
    pub x: Vec<f64>,
    /// Forces over the units of their rows.
    zeta: Vec<f64>,
    /// Rates times the units of their rows.
    u: Vec<f64>,
    /// Rates of gaps, with a residual against `u` that goes to zero.
    s: Vec<f64>,
    gamma: Vec<f64>,
    beta: Vec<f64>,
    dx: Vec<f64>,
    dzeta: Vec<f64>,
    du: Vec<f64>,
    ds: Vec<f64>,
    dgamma: Vec<f64>,
    dbeta: Vec<f64>,
    /// Derivative of everything by the logarithm of `kappa`, both directions in logarithms, and the one come along.
    along: Vec<f64>,
    d_log: Vec<f64>,
    t_log: Vec<f64>,
    /// Direction along the path, of length one.
    heading: Vec<f64>,
    orientation: i32,
    saturated: Vec<i8>,
    /// Per contact `−d zeta/d u`, `k × k`, and the rest of `d zeta`.
    matrix: Vec<f64>,
    rest: Vec<f64>,
    matrix_at: Vec<usize>,
    beta_at: Vec<usize>,
    /// In the caller's units: forces, and rates of which those of closed contacts are zero.
    pub lambda: Vec<f64>,
    pub rates: Vec<f64>,
    pub kappa: f64,
    /// Share by which `kappa` goes down.
    share: f64,
    saved: Vec<f64>,
    steps: u32,
}

fn rubs(p: &FrictionProgram, contact: &Contact) -> bool {
    p.units_of(contact).iter().any(|unit| *unit > 0.0)
}

impl Central {
    /// Starts from a point and forces, which need not belong together, and so large a `share` of the largest more.
    pub fn start(&mut self, p: &FrictionProgram, x: &[f64], lambda: &[f64], share: f64) -> bool {
        let (n, rows, contacts) = (p.n(), p.rows, p.contacts.len());
        for (v, n) in [
            (&mut self.x, n),
            (&mut self.dx, n),
            (&mut self.zeta, rows),
            (&mut self.dzeta, rows),
            (&mut self.u, rows),
            (&mut self.du, rows),
            (&mut self.rest, rows),
            (&mut self.lambda, rows),
            (&mut self.rates, rows),
            (&mut self.s, contacts),
            (&mut self.ds, contacts),
            (&mut self.gamma, contacts),
            (&mut self.dgamma, contacts),
        ] {
            v.clear();
            v.resize(n, 0.0);
        }
        self.matrix_at.clear();
        self.beta_at.clear();
        let (mut size, mut count) = (0, 0);
        for contact in &p.contacts {
            self.matrix_at.push(size);
            self.beta_at.push(count);
            size += (contact.k * contact.k) as usize;
            if contact.shape != Shape::Round && rubs(p, contact) {
                count += directions(p, contact).count();
            }
        }
        self.beta_at.push(count);
        self.matrix.clear();
        self.matrix.resize(size, 0.0);
        for v in [&mut self.beta, &mut self.dbeta] {
            v.clear();
            v.resize(count, 0.0);
        }
        self.saturated.clear();
        self.saturated.resize(p.cones.saturations.len(), 0);
        self.steps = 0;
        self.x.copy_from_slice(x);
        self.rate(p);
        let force = p.contacts.iter().fold(0.0_f64, |m, c| m.max(lambda[c.first as usize]));
        let speed = self.u.iter().fold(0.0_f64, |m, u| m.max(u.abs()));
        if !(force > 0.0 && speed > 0.0) {
            return false;
        }
        for (i, contact) in p.contacts.iter().enumerate() {
            let at = contact.first as usize;
            self.zeta[at] = lambda[at].max(0.0) + share * force;
            self.s[i] = self.u[at].max(0.0) + share * speed;
            self.enter(p, i, contact);
        }
        self.kappa = self.mean(p);
        self.share = 1.0 / STEEPEST.recip().sqrt();
        self.saved.clear();
        self.orientation = 1;
        true
    }

    /// Friction on the path at the normal force, the gap's rate and the slip of a contact.
    fn enter(&mut self, p: &FrictionProgram, i: usize, contact: &Contact) {
        if !rubs(p, contact) {
            return;
        }
        let at = contact.first as usize;
        let d = contact.tangents();
        let (n, s) = (self.zeta[at], self.s[i]);
        let w = &self.u[at + 1..at + 1 + d];
        if contact.shape == Shape::Round {
            let slip: f64 = w.iter().map(|w| w * w).sum();
            let gamma = 0.5 * s + (0.25 * s * s + slip).sqrt();
            self.gamma[i] = gamma;
            for t in 0..d {
                self.zeta[at + 1 + t] = -n * self.u[at + 1 + t] / gamma;
            }
            return;
        }
        let h = directions(p, contact).map(|v| -dot_short(v, w)).fold(0.0, f64::max);
        let gamma = h + s;
        let sum = directions(p, contact).map(|v| (dot_short(v, w) + gamma).recip()).sum::<f64>();
        let share = n / (sum + gamma.recip());
        self.gamma[i] = gamma;
        for (j, v) in directions(p, contact).enumerate() {
            self.beta[self.beta_at[i] + j] = share / (dot_short(v, w) + gamma);
        }
        self.sum(p, i, contact);
    }

    /// Friction as the sum of its parts along the vertices.
    fn sum(&mut self, p: &FrictionProgram, i: usize, contact: &Contact) {
        let (at, d) = (contact.first as usize, contact.tangents());
        self.zeta[at + 1..at + 1 + d].fill(0.0);
        for (j, v) in directions(p, contact).enumerate() {
            for t in 0..d {
                self.zeta[at + 1 + t] += self.beta[self.beta_at[i] + j] * v[t];
            }
        }
    }

    fn rate(&mut self, p: &FrictionProgram) {
        p.rates(&self.x, &mut self.u);
        for contact in &p.contacts {
            let at = contact.first as usize + 1;
            for (u, unit) in self.u[at..].iter_mut().zip(p.units_of(contact)) {
                *u *= unit;
            }
        }
    }

    /// Mean product of a contact's normal force and rate.
    fn mean(&self, p: &FrictionProgram) -> f64 {
        let product = |(c, s): (&Contact, &f64)| self.zeta[c.first as usize] * s;
        p.contacts.iter().zip(&self.s).map(product).sum::<f64>() / p.contacts.len().max(1) as f64
    }

    /// Newton's direction towards the point of the path at `kappa`.
    fn step(&mut self, p: &FrictionProgram, D: &[f64], factor: &mut Factor, kappa: f64) -> bool {
        for (k, spring) in p.cones.saturations.iter().enumerate() {
            let force = spring.stiffness * (self.x[spring.index as usize] - spring.target);
            self.saturated[k] = i8::from(force > spring.limit) - i8::from(force < -spring.limit);
        }
        self.eliminate_all(p, kappa);
        let Self { matrix, matrix_at, saturated, .. } = self;
        hessian::assemble(p, factor, HOLD, saturated, |i| {
            let k = p.contacts[i].k as usize;
            Some(Part { matrix: &matrix[matrix_at[i]..][..k * k], rho: [1.0; 2] })
        });
        factor.factor() && self.direct(p, D, factor, kappa)
    }

    /// The direction, after the elimination and with its factor.
    fn direct(&mut self, p: &FrictionProgram, D: &[f64], factor: &mut Factor, kappa: f64) -> bool {
        // the balance, and what the elimination left
        self.scale(p, false);
        p.gradient(&self.x, &mut self.dx);
        p.add_forces(-1.0, &self.lambda, &mut self.dx);
        self.scale(p, true);
        p.add_forces(-1.0, &self.lambda, &mut self.dx);
        for (dx, D) in self.dx.iter_mut().zip(D) {
            *dx *= -D;
        }
        factor.solve(&p.cones, &mut self.dx);
        for (dx, D) in self.dx.iter_mut().zip(D) {
            *dx *= D;
        }
        for (i, contact) in p.contacts.iter().enumerate() {
            self.substitute(p, i, contact, kappa);
        }
        self.dx.iter().all(|dx| dx.is_finite())
    }

    /// Direction towards the path, as [`step`](Self::step), and its derivative by the logarithm of `kappa`, into
    /// `along`; their parts in logarithms of what is positive into `d_log` and `t_log`.
    fn tangent(&mut self, p: &FrictionProgram, D: &[f64], factor: &mut Factor, kappa: f64) -> bool {
        if !self.step(p, D, factor, 2.0 * kappa) {
            return false;
        }
        self.along.clear();
        for v in [&self.dx, &self.dzeta, &self.ds, &self.dgamma, &self.dbeta, &self.du] {
            self.along.extend_from_slice(v);
        }
        self.eliminate_all(p, kappa);
        if !self.direct(p, D, factor, kappa) {
            return false;
        }
        let mut at = 0;
        for v in [&self.dx, &self.dzeta, &self.ds, &self.dgamma, &self.dbeta, &self.du] {
            for (a, d) in self.along[at..].iter_mut().zip(v) {
                *a -= d;
            }
            at += v.len();
        }
        self.d_log.clear();
        self.t_log.clear();
        let (n, rows, contacts) = (self.x.len(), self.zeta.len(), self.s.len());
        for (i, contact) in p.contacts.iter().enumerate() {
            let k = contact.first as usize;
            let mut push = |value: f64, d: f64, t: f64| {
                self.d_log.push(d / value);
                self.t_log.push(t / value);
            };
            push(self.zeta[k], self.dzeta[k], self.along[n + k]);
            push(self.s[i], self.ds[i], self.along[n + rows + i]);
            if rubs(p, contact) {
                push(self.gamma[i], self.dgamma[i], self.along[n + rows + contacts + i]);
                for j in self.beta_at[i]..self.beta_at[i + 1] {
                    push(self.beta[j], self.dbeta[j], self.along[n + rows + 2 * contacts + j]);
                }
            }
        }
        self.d_log.push(0.0);
        self.t_log.push(1.0);
        true
    }

    /// Adds a share of the tangent to the direction.
    fn bend(&mut self, share: f64) {
        let mut at = 0;
        for v in [
            &mut self.dx,
            &mut self.dzeta,
            &mut self.ds,
            &mut self.dgamma,
            &mut self.dbeta,
            &mut self.du,
        ] {
            for (d, a) in v.iter_mut().zip(&self.along[at..]) {
                *d += share * a;
            }
            at += v.len();
        }
    }

    /// Forces of the rows in the caller's units into `lambda`: those of the point, or what the elimination left.
    fn scale(&mut self, p: &FrictionProgram, rest: bool) {
        let from = if rest { &self.rest } else { &self.zeta };
        for contact in &p.contacts {
            for (r, at) in contact.rows().enumerate() {
                let unit = if r == 0 { 1.0 } else { p.units_of(contact)[r - 1] };
                self.lambda[at] = unit * from[at];
            }
        }
    }

    /// Longest share of the direction that stays inside.
    fn length(&self, p: &FrictionProgram) -> f64 {
        let mut length = 1.0_f64;
        let mut keep = |value: f64, change: f64| {
            if change < 0.0 {
                length = length.min(-BOUNDARY * value / change);
            }
        };
        for (i, contact) in p.contacts.iter().enumerate() {
            let (k, at) = (contact.k as usize, contact.first as usize);
            keep(self.zeta[at], self.dzeta[at]);
            keep(self.s[i], self.ds[i]);
            if !rubs(p, contact) {
                continue;
            }
            keep(self.gamma[i], self.dgamma[i]);
            let (w, dw) = (&self.u[at + 1..at + k], &self.du[at + 1..at + k]);
            if contact.shape == Shape::Round {
                let (f, df) = (&self.zeta[at + 1..at + k], &self.dzeta[at + 1..at + k]);
                for (a, da, b, db) in
                    [(self.zeta[at], self.dzeta[at], f, df), (self.gamma[i], self.dgamma[i], w, dw)]
                {
                    keep(1.0, -to_boundary(a, da, b, db).recip());
                }
                continue;
            }
            let (mut spare, mut dspare) = (self.zeta[at], self.dzeta[at]);
            for (j, v) in directions(p, contact).enumerate() {
                let (beta, dbeta) =
                    (self.beta[self.beta_at[i] + j], self.dbeta[self.beta_at[i] + j]);
                spare -= beta;
                dspare -= dbeta;
                keep(beta, dbeta);
                keep(dot_short(v, w) + self.gamma[i], dot_short(v, dw) + self.dgamma[i]);
            }
            keep(spare, dspare);
        }
        length
    }

    fn go(&mut self, p: &FrictionProgram, length: f64) {
        for (v, d) in [
            (&mut self.x, &self.dx),
            (&mut self.zeta, &self.dzeta),
            (&mut self.s, &self.ds),
            (&mut self.gamma, &self.dgamma),
            (&mut self.beta, &self.dbeta),
        ] {
            crate::kernels::axpy(length, d, v);
        }
        self.rate(p);
    }

    /// Forces and rates in the caller's units, gaps that close closed.
    pub fn publish(&mut self, p: &FrictionProgram) {
        self.scale(p, false);
        p.rates(&self.x, &mut self.rates);
        let force = p.contacts.iter().fold(0.0_f64, |m, c| m.max(self.zeta[c.first as usize]));
        let speed = self.u.iter().fold(0.0_f64, |m, u| m.max(u.abs()));
        for (i, contact) in p.contacts.iter().enumerate() {
            let at = contact.first as usize;
            if self.zeta[at] * speed > self.s[i] * force {
                self.rates[at] = 0.0;
            } else {
                self.lambda[contact.rows()].fill(0.0);
            }
        }
    }
}

/// Largest share of the way along `(da, db)` to the boundary of `a ≥ |b|`; infinite if there is none.
fn to_boundary(a: f64, da: f64, b: &[f64], db: &[f64]) -> f64 {
    let size = b.iter().map(|b| b * b).sum::<f64>().sqrt();
    // (a − |b|)(a + |b|) loses nothing where both are close
    let c = (a - size) * (a + size);
    let half = a * da - dot_short(b, db);
    let square = da * da - dot_short(db, db);
    // c + 2 half t + square t² = 0
    let root = half * half - square * c;
    if root < 0.0 {
        return f64::INFINITY;
    }
    let q = -(half + half.signum() * root.sqrt());
    let roots = [q / square, c / q];
    roots.into_iter().filter(|t| *t > 0.0).fold(f64::INFINITY, f64::min)
}
