//! Relaxed program: log barriers in place of the cones, so that contact forces are positive at
//! positive distances.
//!
//! ```text
//! min  1/2 xᵀPx + cᵀx + Σ huber(x) − Σ_k barrier_k(s_k),    s = E (J x − b)
//! ```
//!
//! | cone                    | `barrier(s)`                        | `z`                          |
//! |-------------------------|-------------------------------------|------------------------------|
//! | pyramid of `n_d` edges  | `(kappa/n_d) Σ_j log s_j`           | `z_j s_j = kappa/n_d`        |
//! | round                   | `(kappa/2) log(s_0² − ‖s_1‖²)`      | `z = kappa (s_0, −s_1)/(s_0² − ‖s_1‖²)` |
//! | a single row            | `kappa log s`                       | `z s = kappa`                |
//!
//! `z_kᵀ s_k = kappa` for every cone, whatever its shape and number of edges. `kappa` has the unit
//! of the cost: J for impulses and speeds, J s for impulses and displacements. A log barrier of
//! weight `1/t` on each of `n_d` edges corresponds to `kappa = n_d/t`; one of weight `1/t` on
//! `log(s_0² − ‖s_1‖²)` to `kappa = 2/t`. Huber terms are not relaxed.
//!
//! **Error bound.** With `n` cones, `x` the exact solution, `x_k` the relaxed one and `z_k` its
//! multipliers:
//!
//! ```text
//! ‖x_k − x‖_P² ≤ kappa n          so also  1/2 ‖x_k − x‖_P² ≤ kappa n
//! ```
//!
//! Proof: `z_k` is in the cones, and `x_k` minimises `L = f − z_kᵀ s(·)`, whose curvature is at
//! least `P`. So `f(x) ≥ f(x) − z_kᵀ s(x) ≥ L(x_k) + 1/2 ‖x − x_k‖_P² = f(x_k) − kappa n + 1/2 ‖x −
//! x_k‖_P²`. Since `x_k` satisfies all cones, `f(x_k) ≥ f(x) + 1/2 ‖x − x_k‖_P²`. The sum of both
//! inequalities is the bound. It holds for any `P`, and with Huber terms.
//!
//! The method is Newton's on `P x + c + ∇huber = Aᵀ z`, `s = A x − E b`, `s ∘ z = kappa/n_d e`,
//! with the Nesterov–Todd scaling for round cones.

use super::active::Kinks;
use super::linear::{Faces, largest};
use super::relaxed::{Barrier, Memory, Relaxed, RelaxedStart};
use super::unsymmetric::Way;
use super::{Sensitivity, SensitivityError};
use crate::kernels::{self, Groups, Iterate, Scaled, Step};
use crate::program::{ConeData, ConeProgram};
use crate::second_order::{self, norm};
use crate::tolerances::interior::SHORTEST;
use crate::tolerances::{
    BARRIER_FALL, BARRIER_GOOD, BARRIER_LONG, BARRIER_PRODUCT, BARRIER_REACHED, BARRIER_SHORTEST,
    BARRIER_STARTS, BARRIER_STEP, NATURAL_FORCE,
};

/// Largest number of iterations from one start.
const ITERATIONS: u32 = 150;
/// Largest number of iterations without progress, after which rounding dominates.
const STALLED: u32 = 4;
/// Number of steps from the convex law to Coulomb's. With 10 steps one of 60 random programs has no
/// solution; more steps cost time alone.
const SHARES: u32 = 20;

impl Sensitivity {
    /// Solves the relaxed program into `out`, and prepares its derivative: that of `x(kappa)` and
    /// `z(kappa)` of the relaxed program itself. It does not approximate the derivative of
    /// [`exact`](Self::exact).
    ///
    /// Of the [`Kinks`] only those of Huber terms can occur, because the barriers are
    /// smooth.
    ///
    /// # Errors
    ///
    /// [`Dimensions`](SensitivityError::Dimensions). [`NotUnique`](SensitivityError::NotUnique).
    /// [`NotInside`](SensitivityError::NotInside) if no `x` inside all cones was found, for example
    /// where two rows leave no room between them. It is also returned if Newton's method does not
    /// reach a residual of 1e-12, which Huber terms and round cones may cause.
    pub fn smooth(
        &mut self,
        program: &ConeProgram,
        Barrier { kappa, coulomb }: Barrier,
        start: Option<RelaxedStart<'_>>,
        out: &mut Relaxed,
    ) -> Result<Kinks, SensitivityError> {
        self.ready = false;
        let fits = start.is_none_or(|RelaxedStart { x, z, s }| {
            (x.is_empty() || x.len() == program.n)
                && [z, s].iter().all(|rows| rows.len() == program.m)
        });
        let proper = kappa > 0.0 && kappa.is_finite() && program.check_sizes().is_ok();
        if !(fits && proper) || program.check_numbers().is_err() {
            return Err(SensitivityError::Dimensions);
        }
        self.take(program);
        self.active.sliding.clear();
        self.active.held.clear();
        self.active.faces.reset(program);
        self.active.faces.widens = if coulomb { 1.0 } else { 0.0 };
        self.prepare_relaxed();
        let mut end = Err(SensitivityError::NotInside);
        out.iterations = 0;
        for (over, warm) in BARRIER_STARTS.iter().flat_map(|over| [(over, true), (over, false)]) {
            if warm && start.is_none() {
                continue;
            }
            self.start(kappa * over, start.filter(|_| warm));
            end = self.path(kappa, *over, out);
            if end != Err(SensitivityError::NotInside) {
                break;
            }
        }
        if coulomb && end == Err(SensitivityError::NotInside) {
            end = self.lead(kappa, out);
        }
        end?;
        for (v, n) in [(&mut out.x, program.n), (&mut out.z, program.m), (&mut out.s, program.m)] {
            v.clear();
            v.resize(n, 0.0);
        }
        self.p.unpad_x(&self.x, &mut out.x);
        kernels::unpad(self.linear.isa, &self.p, &self.z, &mut out.z);
        kernels::unpad(self.linear.isa, &self.p, &self.s, &mut out.s);
        // factorise at the solution itself
        let Self { p, linear, active, x, .. } = self;
        let springs = linear.set_springs(p, x, |k, force| force > p.saturations[k].limit);
        active.kinks = Kinks { springs, ..Kinks::default() };
        self.weigh();
        self.find_widening();
        if !self.linear.factor(&self.p, &self.active.faces) {
            return Err(SensitivityError::NotUnique);
        }
        self.ready = true;
        Ok(self.active.kinks)
    }

    fn prepare_relaxed(&mut self) {
        let Self { p, relaxed: m, .. } = self;
        for v in [&mut m.live, &mut m.gap, &mut m.dz, &mut m.t] {
            v.clear();
            v.resize(p.m_padded, 0.0);
        }
        m.pull.clear();
        m.pull.resize(p.n_padded, 0.0);
        for cone in &p.cones {
            let share = if cone.round { 1.0 } else { 1.0 / f64::from(cone.m) };
            m.live[cone.at as usize..(cone.at + cone.m) as usize].fill(share);
        }
    }

    /// Computes a point near a solution with all complementarity products equal to their targets.
    fn start(&mut self, kappa: f64, known: Option<RelaxedStart<'_>>) {
        let Self { p, linear, x, z, s, relaxed, .. } = self;
        for v in [&mut *x, &mut *z] {
            v.fill(0.0);
        }
        linear.set_springs(p, x, |_, _| false);
        s.fill(1.0);
        if let Some(known) = known {
            if !known.x.is_empty() {
                p.pad_x(known.x, x);
            }
            p.pad_z(known.z, z);
            p.pad_z(known.s, s);
        } else {
            linear.slacks(p, x, s);
        }
        let scale = linear.scale(p);
        for cone in &p.cones {
            let rows = cone.at as usize..(cone.at + cone.m) as usize;
            let (z, s) = (&mut z[rows.clone()], &mut s[rows.clone()]);
            let size = size_of(p, cone);
            let stiffness = if size > 0.0 { scale / size } else { scale };
            // keep s − z/stiffness, and solve s z = kappa
            let part = |d: f64, product: f64| {
                let root = (d * d + 4.0 * product / stiffness).sqrt();
                // this form avoids cancellation
                if d > 0.0 { 0.5 * (d + root) } else { 2.0 * product / stiffness / (root - d) }
            };
            for (s, z) in s.iter_mut().zip(&*z) {
                *s -= z / stiffness;
            }
            if cone.round {
                let n = norm(&s[1..]);
                let (low, high) = (part(s[0] - n, kappa), part(s[0] + n, kappa));
                let along = if n > 0.0 { 0.5 * (high - low) / n } else { 0.0 };
                let (a, b) = (0.5 * kappa * (1.0 / low + 1.0 / high), kappa / (low * high));
                (s[0], z[0]) = (0.5 * (low + high), a);
                for (s, z) in s[1..].iter_mut().zip(&mut z[1..]) {
                    *s *= along;
                    *z = -b * *s;
                }
            } else {
                for ((s, z), live) in s.iter_mut().zip(z).zip(&relaxed.live[rows]) {
                    *s = part(*s, kappa * live);
                    *z = kappa * live / *s;
                }
            }
        }
        // padding is a divisor
        for cone in &p.cones {
            s[(cone.at + cone.m) as usize..(cone.at + cone.stride_z) as usize].fill(1.0);
            z[(cone.at + cone.m) as usize..(cone.at + cone.stride_z) as usize].fill(0.0);
        }
    }

    /// Leads the solution from the convex law to Coulomb's, in equal shares of the slip.
    fn lead(&mut self, kappa: f64, out: &mut Relaxed) -> Result<(), SensitivityError> {
        self.active.faces.widens = 0.0;
        let mut end = Err(SensitivityError::NotInside);
        for over in BARRIER_STARTS {
            self.start(kappa * over, None);
            end = self.path(kappa, over, out);
            if end != Err(SensitivityError::NotInside) {
                break;
            }
        }
        for k in 1..=SHARES {
            end?;
            self.active.faces.widens = f64::from(k) / f64::from(SHARES);
            end = self.path(kappa, 1.0, out);
        }
        end
    }

    /// Newton's method from the current point, while the parameter decreases from `over kappa` to
    /// `kappa`.
    fn path(&mut self, kappa: f64, over: f64, out: &mut Relaxed) -> Result<(), SensitivityError> {
        let mut over = over;
        let (mut best, mut since) = (f64::INFINITY, 0);
        for _ in 0..ITERATIONS {
            let error = self.errors(kappa);
            if error < best {
                (best, since) = (error, 0);
                for (to, from) in self.relaxed.best.iter_mut().zip([&self.x, &self.z, &self.s]) {
                    to.clone_from(from);
                }
            } else {
                since += 1;
            }
            if best <= BARRIER_REACHED || best <= BARRIER_GOOD && since >= STALLED {
                break;
            }
            if !error.is_finite() {
                return Err(SensitivityError::NotInside);
            }
            self.weigh();
            if !self.linear.factor(&self.p, &self.active.faces) {
                return Err(SensitivityError::NotUnique);
            }
            out.iterations += 1;
            let alpha = self.newton_step(kappa * over);
            if !(alpha > BARRIER_SHORTEST) {
                return Err(SensitivityError::NotInside);
            }
            if alpha > BARRIER_LONG {
                over = (over * BARRIER_FALL).max(1.0);
            }
        }
        out.error = best;
        if !(best <= BARRIER_GOOD) {
            return Err(SensitivityError::NotInside);
        }
        for (from, to) in self.relaxed.best.iter().zip([&mut self.x, &mut self.z, &mut self.s]) {
            to.copy_from_slice(from);
        }
        Ok(())
    }

    /// Computes the residuals of stationarity and slacks at the point. Returns the largest, as a
    /// share of its terms.
    fn errors(&mut self, kappa: f64) -> f64 {
        let Self { p, linear, active, x, z, s, g, relaxed, .. } = self;
        let Memory { live, gap, pull, .. } = relaxed;
        linear.cost_times(p, x, pull);
        let mut force = largest(pull).max(largest(&p.c));
        pull.iter_mut().zip(&p.c).for_each(|(pull, c)| *pull += c);
        linear.set_springs(p, x, |k, force| force > p.saturations[k].limit);
        for (spring, (at, _)) in p.saturations.iter().zip(&linear.springs) {
            let own = spring.gradient(x[*at]);
            force = force.max(own.abs());
            pull[*at] += own;
        }
        g.iter_mut().zip(&*z).for_each(|(g, z)| *g = -z);
        linear.add_forces(p, g, pull);
        linear.slacks(p, x, gap);
        if active.faces.widens > 0.0 {
            active.faces.find_widening(p, s, gap);
        }
        let mut speed = largest(gap);
        let mut off = 0.0_f64;
        for cone in &p.cones {
            let m = cone.m as usize;
            let at = cone.at as usize;
            let (z, s) = (&z[at..at + m], &s[at..at + m]);
            if cone.round {
                let dot: f64 = z.iter().zip(s).map(|(z, s)| z * s).sum();
                let mut worst = (dot - kappa).abs();
                for i in 1..m {
                    worst = worst.max((s[0] * z[i] + z[0] * s[i]).abs());
                }
                // rounding of the terms, which cancel near the boundary
                off = off.max(worst / kappa.max(BARRIER_PRODUCT * s[0] * z[0]));
            } else {
                for ((z, s), live) in z.iter().zip(s).zip(&live[at..]) {
                    off = off.max((z * s / (kappa * live) - 1.0).abs());
                }
            }
            let k = cone.k as usize;
            speed = speed.max(largest(s)).max(largest(&p.b[cone.b_at as usize..][..k]));
            gap[at + m..at + cone.stride_z as usize].fill(0.0);
            for (gap, s) in gap[at..at + m].iter_mut().zip(s) {
                *gap -= s;
            }
        }
        force = force.max(largest(z) * NATURAL_FORCE);
        let share = |v: f64, of: f64| if v == 0.0 { 0.0 } else { v / of };
        let sum = x.iter().chain(&*z).map(|v| v * 0.0).sum::<f64>();
        share(largest(pull), force).max(share(largest(gap), speed)).max(off) + sum
    }

    /// Computes the weights: `z/s` on edges, the Nesterov–Todd scaling on round cones. They equal
    /// the barrier's Hessian where `s ∘ z = kappa e`.
    fn weigh(&mut self) {
        let Self { p, linear, active, z, s, relaxed, .. } = self;
        let Faces { curve, curve_round, .. } = &mut active.faces;
        let cones = Groups { p, groups: &linear.structure.groups };
        let at = Iterate { compliance: 0.0, s, z, gap: &relaxed.gap };
        kernels::weights(linear.isa, cones, at, curve, curve_round);
    }

    /// The widening of gaps at the solution itself.
    fn find_widening(&mut self) {
        let Self { p, active, s, g, .. } = self;
        if active.faces.widens > 0.0 {
            active.faces.find_widening(p, s, g);
        }
    }

    /// One step towards `s ∘ z = mu e`; returns its length.
    fn newton_step(&mut self, mu: f64) -> f64 {
        let Self { p, linear, active, x, z, s, ds, f, relaxed, .. } = self;
        let Memory { live, gap, dz, t, pull, .. } = relaxed;
        let Faces { curve: w, curve_round: D, .. } = &active.faces;
        let isa = linear.isa;
        for v in [&mut *ds, &mut *dz] {
            v.fill(0.0);
        }
        p.cones.iter().for_each(|cone| active.faces.widen(cone, gap));
        let cones = Groups { p, groups: &linear.structure.groups };
        let scaled = Scaled { at: Iterate { compliance: 0.0, s, z, gap }, w, D };
        kernels::corrector(isa, cones, mu, live, scaled, Step { ds, dz }, t);
        f.iter_mut().zip(&*pull).for_each(|(f, pull)| *f = -pull);
        kernels::subtract_forces(isa, p, cones.groups, t, f);
        linear.invert(Way::Forward, f);
        let cones = Groups { p, groups: &linear.structure.groups };
        let scaled = Scaled { at: Iterate { compliance: 0.0, s, z, gap }, w, D };
        let blocked = if active.faces.widens > 0.0 {
            linear.rows(p, f, ds);
            directions(p, &active.faces, [s, z, gap, t], ds, dz)
        } else {
            kernels::directions(isa, cones, f, scaled, t, ds, dz)
        };
        let alpha = (BARRIER_STEP / blocked.max(SHORTEST)).min(1.0);
        x.iter_mut().zip(&*f).for_each(|(x, d)| *x += alpha * d);
        kernels::advance(isa, cones, alpha, Step { ds, dz }, s, z, gap);
        alpha
    }
}

/// [`kernels::directions`] where gaps are wider: `dz = −t − C G A dx` and `ds = gap + G A dx`, from `ds = A
/// dx`. Returns the inverse of the longest step inside the cones.
fn directions(
    p: &ConeProgram,
    faces: &Faces,
    [s, z, gap, t]: [&[f64]; 4],
    ds: &mut [f64],
    dz: &mut [f64],
) -> f64 {
    let mut blocked = -1.0_f64;
    for cone in &p.cones {
        let own = cone.at as usize..(cone.at + cone.m) as usize;
        faces.widen(cone, ds);
        dz[own.clone()].copy_from_slice(&ds[own.clone()]);
        faces.bend(cone, dz);
        for i in own.clone() {
            dz[i] = -t[i] - dz[i];
            ds[i] += gap[i];
        }
        for (v, dv) in [(s, &*ds), (z, &*dz)] {
            let (v, dv) = (&v[own.clone()], &dv[own.clone()]);
            blocked = blocked.max(if cone.round {
                second_order::blocked(v, dv)
            } else {
                v.iter().zip(dv).fold(-1.0, |most: f64, (v, dv)| most.max(-dv / v))
            });
        }
    }
    blocked
}

/// Upper bound of the largest squared row of `E J`.
fn size_of(p: &ConeProgram, cone: &ConeData) -> f64 {
    let (k, width, stride) = (cone.k as usize, cone.width as usize, cone.stride_z as usize);
    (0..k).fold(0.0, |size: f64, r| {
        let e = largest(&p.E[cone.E_at as usize + r * stride..][..stride]);
        let J = &p.J[cone.J_at as usize + r * width..][..width];
        size.max(e * e * J.iter().map(|J| J * J).sum::<f64>())
    })
}
