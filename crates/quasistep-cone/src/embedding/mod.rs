//! Homogeneous embedding in double-double arithmetic: the last resort for programs that are too
//! ill-conditioned for the other methods.
//!
//! ```text
//! P x + c tau − Aᵀ z = 0,   A x − b tau = s ∈ K,   −cᵀ x + bᵀ z − xᵀ P x / tau = kappa ≥ 0
//! ```
//!
//! This system has a solution for every program. One with `tau > 0` gives a solution of the
//! program. One with `kappa > 0` gives Farkas multipliers (`bᵀ z > 0`) or a ray (`cᵀ x < 0`). An
//! interior point method solves it, with Nesterov–Todd scaling and Mehrotra's predictor-corrector
//! (Goulart and Chen, Clarabel, arXiv:2405.12762).
//!
//! With 32 digits, entries that differ by a factor of 10^12 cost no accuracy in `f64`. The method
//! is slow, some milliseconds for a few blocks. Its solution is checked like any other.

mod cones;
mod form;
mod linear;
mod twice;

use crate::program::ConeProgram;
use crate::structure::Structure;
use crate::tolerances::embedding::{IDLE, PROVEN, SOLVED};
use crate::tolerances::interior::{SHORTEST, STEP};
use crate::tolerances::{CLEAR, MODERATE, NO_FORCE, NO_MULTIPLIER, PROOF};
use crate::units::Units;
use cones::{Scaling, longest_step, product, quotient};
use form::{Form, add_transposed, times};
use quasistep_linalg::budget::Budget;
use quasistep_linalg::simd::Isa;
use twice::{ONE, Twice, ZERO, dot};

/// Largest number of variables, including those of Huber terms.
const MOST_VARIABLES: usize = 250;
const ITERATIONS: u32 = 120;

/// Result of the embedding, in padded layout.
#[derive(Debug)]
pub(crate) enum End {
    /// The best iterate; no certificate was found.
    Point {
        x: Vec<f64>,
        z: Vec<f64>,
    },
    Ray(Vec<f64>),
    Multipliers(Vec<f64>),
}

/// Solves the embedding of a program. `None` if it is too large, or if no iterate is usable.
pub(crate) fn solve(
    p: &ConeProgram,
    s: &Structure,
    iterations: &mut u32,
    budget: &Budget,
) -> Option<End> {
    if p.n + 2 * p.saturations.len() > MOST_VARIABLES || p.n == 0 {
        return None;
    }
    let form = Form::new(p, s, &mut Units::default());
    let mut state = State::new(&form);
    let work = form.work();
    for _ in 0..ITERATIONS {
        if !budget.spend(work) {
            return None;
        }
        *iterations += 1;
        match state.termination(&form) {
            Termination::Open if state.step(&form) => {}
            // the last iterate may be accurate enough
            Termination::Solved | Termination::Open => break,
            Termination::Unbounded => {
                // check the rounded vector, because the caller receives it
                round(&mut state.x);
                let mut ray = Vec::new();
                form.write_x(&state.x, ONE, &mut ray, p.n_padded);
                return is_ray(&form, &state.x, PROOF).then_some(End::Ray(largest_one(ray)?));
            }
            Termination::Infeasible => {
                round(&mut state.z);
                let mut y = Vec::new();
                form.write_z(p, &state.z, ONE, &mut y);
                let proven =
                    contradicts(&form, &state.z, PROOF) || contradicts_to_rounding(&form, &state.z);
                return proven.then_some(End::Multipliers(largest_one(y)?));
            }
        }
    }
    let (mut x, mut z) = (Vec::new(), Vec::new());
    form.write_x(&state.x, state.tau, &mut x, p.n_padded);
    state.drop_idle(&form);
    form.write_z(p, &state.z, state.tau, &mut z);
    x.iter().chain(&z).all(|v| v.is_finite()).then_some(End::Point { x, z })
}

/// Scales to a largest entry of 1; `None` if that is impossible.
fn largest_one(mut v: Vec<f64>) -> Option<Vec<f64>> {
    let largest = quasistep_linalg::kernels::max_abs(&v);
    for v in &mut v {
        *v /= largest;
    }
    (largest > 0.0 && largest.is_finite()).then_some(v)
}

enum Termination {
    Open,
    Solved,
    Unbounded,
    Infeasible,
}

/// Iterate, and scratch memory of a step.
struct State {
    isa: Isa,
    x: Vec<Twice>,
    s: Vec<Twice>,
    z: Vec<Twice>,
    tau: Twice,
    kappa: Twice,
    /// Residuals of the first two equations.
    rx: Vec<Twice>,
    rz: Vec<Twice>,
    Px: Vec<Twice>,
    scalings: Vec<Scaling>,
    /// Rows of the lower Cholesky factor of `P + Aᵀ W⁻² A`.
    L: Vec<Twice>,
    lambda: Vec<Twice>,
    degree: f64,
    nowhere: u32,
}

fn largest(v: &[Twice]) -> f64 {
    v.iter().fold(0.0, |m: f64, v| m.max(v.round().abs()))
}

impl State {
    fn new(form: &Form) -> Self {
        let (n, m) = (form.n(), form.b.len());
        let mut unit = vec![ONE; m];
        for rows in form.cones.iter().filter(|rows| rows.round) {
            unit[rows.first + 1..rows.last].fill(ZERO);
        }
        Self {
            isa: Isa::detect(),
            x: vec![ZERO; n],
            s: unit.clone(),
            z: unit,
            tau: ONE,
            kappa: ONE,
            rx: vec![ZERO; n],
            rz: vec![ZERO; m],
            Px: vec![ZERO; n],
            scalings: vec![Scaling::default(); form.cones.len()],
            L: vec![ZERO; n * n],
            lambda: vec![ZERO; m],
            degree: form.cones.len() as f64,
            nowhere: 0,
        }
    }

    /// Termination test: computes the residuals, and checks whether the iterate is a solution or a
    /// certificate.
    fn termination(&mut self, form: &Form) -> Termination {
        let isa = self.isa;
        let Self { x, s, z, tau, rx, rz, Px, .. } = self;
        times(isa, &form.P, x, Px);
        let mut Az = vec![ZERO; x.len()];
        add_transposed(isa, &form.A, z, &mut Az);
        for i in 0..x.len() {
            rx[i] = Px[i] + form.c[i] * *tau - Az[i];
        }
        times(isa, &form.A, x, rz);
        for i in 0..s.len() {
            rz[i] = rz[i] - form.b[i] * *tau - s[i];
        }
        // reference sizes of forces and speeds
        let scale = tau.round();
        let (force, speed) = (scale + largest(&Az), scale + largest(x));
        if largest(rx) <= SOLVED * force
            && largest(rz) <= SOLVED * speed
            && dot(s, z).round() <= SOLVED * scale * scale
        {
            return Termination::Solved;
        }
        if contradicts(form, z, PROVEN) {
            return Termination::Infeasible;
        }
        if is_ray(form, x, PROVEN) {
            return Termination::Unbounded;
        }
        Termination::Open
    }

    /// One step of the interior point; returns false if it is too short.
    fn step(&mut self, form: &Form) -> bool {
        for (rows, scaling) in form.cones.iter().zip(&mut self.scalings) {
            let at = rows.first..rows.last;
            if !scaling.update(rows, &self.s[at.clone()], &self.z[at.clone()]) {
                return false;
            }
            scaling.apply(rows, &self.z[at.clone()], false, &mut self.lambda[at]);
        }
        self.factor(form);
        let (n, m) = (form.n(), form.b.len());
        let minus_c: Vec<Twice> = form.c.iter().map(|c| -*c).collect();
        // K (x, z) = (P x − Aᵀ z, A x + W² z)
        let by_tau = self.solve(form, &minus_c, &form.b);
        let xi: Vec<Twice> = self.Px.iter().map(|v| *v / self.tau).collect();
        let gradient: Vec<Twice> =
            form.c.iter().zip(&xi).map(|(c, xi)| *c + xi.scaled(2.0)).collect();
        let bend = dot(&self.x, &xi) / self.tau;
        let ratio = self.kappa / self.tau;
        let below = dot(&gradient, &by_tau.x) - dot(&form.b, &by_tau.z) - bend - ratio;
        let r_tau = self.kappa + dot(&form.c, &self.x) - dot(&form.b, &self.z) + dot(&self.x, &xi);
        let mu = (dot(&self.s, &self.z) + self.kappa * self.tau) / Twice::new(self.degree + 1.0);

        let mut ds = vec![ZERO; m];
        let mut dz = vec![ZERO; m];
        let mut dx = vec![ZERO; n];
        let (mut d_tau, mut d_kappa) = (ZERO, ZERO);
        let mut sigma = ZERO;
        let mut length = 0.0;
        for corrects in [false, true] {
            let eta = ONE - sigma;
            // W (lambda \ d), and the component of tau
            let mut target = vec![ZERO; m];
            let mut target_tau = self.kappa * self.tau;
            if corrects {
                self.complementarity(form, &ds, &dz, sigma * mu, &mut target);
                target_tau = target_tau + d_kappa * d_tau - sigma * mu;
            } else {
                target.copy_from_slice(&self.s);
            }
            let right_x: Vec<Twice> = self.rx.iter().map(|r| -(eta * *r)).collect();
            let right_z: Vec<Twice> =
                self.rz.iter().zip(&target).map(|(r, t)| -(eta * *r) - *t).collect();
            let own = self.solve(form, &right_x, &right_z);
            let above = -(eta * r_tau) + target_tau / self.tau - dot(&gradient, &own.x)
                + dot(&form.b, &own.z);
            d_tau = above / below;
            d_kappa = -(target_tau + self.kappa * d_tau) / self.tau;
            for i in 0..n {
                dx[i] = own.x[i] + d_tau * by_tau.x[i];
            }
            for i in 0..m {
                dz[i] = own.z[i] + d_tau * by_tau.z[i];
            }
            // from the second equation, because W² dz would cancel
            times(self.isa, &form.A, &dx, &mut ds);
            for i in 0..m {
                ds[i] = ds[i] - form.b[i] * d_tau + eta * self.rz[i];
            }
            length = self.longest(form, &ds, &dz, d_tau, d_kappa);
            if !corrects {
                let left = ONE - Twice::new(length.min(1.0));
                sigma = left * left * left;
            }
        }
        let length = Twice::new((STEP * length).min(1.0));
        if !(length.round() > 0.0) {
            return false;
        }
        self.nowhere = if length.round() < SHORTEST { self.nowhere + 1 } else { 0 };
        for (v, d) in [(&mut self.x, &dx), (&mut self.s, &ds), (&mut self.z, &dz)] {
            for (v, d) in v.iter_mut().zip(d) {
                *v += length * *d;
            }
        }
        self.tau += length * d_tau;
        self.kappa += length * d_kappa;
        self.renormalise();
        self.nowhere < 3 && self.tau > ZERO && self.kappa > ZERO
    }

    /// Right-hand side of complementarity: `W (lambda \ (lambda ∘ lambda + (W⁻¹ ds) ∘ (W dz) −
    /// sigma mu e))`.
    fn complementarity(
        &self,
        form: &Form,
        ds: &[Twice],
        dz: &[Twice],
        centre: Twice,
        to: &mut [Twice],
    ) {
        for (rows, scaling) in form.cones.iter().zip(&self.scalings) {
            let at = rows.first..rows.last;
            let k = at.len();
            let [mut a, mut b, mut c, mut d] = [(); 4].map(|()| vec![ZERO; k]);
            scaling.apply(rows, &ds[at.clone()], true, &mut a);
            scaling.apply(rows, &dz[at.clone()], false, &mut b);
            product(rows, &a, &b, &mut c);
            let lambda = &self.lambda[at.clone()];
            product(rows, lambda, lambda, &mut d);
            for i in 0..k {
                d[i] += c[i];
                if i == 0 || !rows.round {
                    d[i] -= centre;
                }
            }
            quotient(rows, lambda, &d, &mut a);
            scaling.apply(rows, &a, false, &mut to[at]);
        }
    }

    fn longest(
        &self,
        form: &Form,
        ds: &[Twice],
        dz: &[Twice],
        d_tau: Twice,
        d_kappa: Twice,
    ) -> f64 {
        let mut length = 1.0 / STEP;
        for rows in &form.cones {
            let at = rows.first..rows.last;
            for (v, d) in [(&self.s, ds), (&self.z, dz)] {
                length = length.min(longest_step(rows, &v[at.clone()], &d[at.clone()]));
            }
        }
        for (v, d) in [(self.tau, d_tau), (self.kappa, d_kappa)] {
            if d < ZERO {
                length = length.min((-v / d).round());
            }
        }
        length
    }

    /// Scales the iterate by a power of two to keep its numbers near 1. The embedding is
    /// homogeneous, so this changes nothing else.
    fn renormalise(&mut self) {
        let size = largest(&self.x).max(largest(&self.z)).max(largest(&self.s));
        let size = size.max(self.tau.round()).max(self.kappa.round());
        if size > 0.0 && size.is_finite() && !(MODERATE.recip()..MODERATE).contains(&size) {
            let by = 2.0_f64.powi(-(size.log2().floor() as i32));
            for v in [&mut self.x, &mut self.s, &mut self.z] {
                for v in v.iter_mut() {
                    *v = v.scaled(by);
                }
            }
            self.tau = self.tau.scaled(by);
            self.kappa = self.kappa.scaled(by);
        }
    }

    /// Sets multipliers to zero that are rounding relative to the forces and small relative to
    /// their slack.
    fn drop_idle(&mut self, form: &Form) {
        let force = largest(&self.z);
        for rows in &form.cones {
            let at = rows.first..rows.last;
            let [s, z] = [&self.s, &self.z].map(|v| largest(&v[at.clone()]));
            if z <= NO_MULTIPLIER * force && z < IDLE * s {
                self.z[at].fill(ZERO);
            }
        }
    }
}

/// Rounds every number to `f64`.
fn round(v: &mut [Twice]) {
    for v in v {
        *v = Twice::new(v.round());
    }
}

/// Whether `z` proves that no `x` of reasonable size is feasible: `zᵀ (A x − b) < 0`.
fn contradicts(form: &Form, z: &[Twice], share: f64) -> bool {
    let push = dot(&form.b, z).round();
    if !(push > 0.0) {
        return false;
    }
    let mut force = vec![ZERO; form.n()];
    add_transposed(Isa::detect(), &form.A, z, &mut force);
    let (left, size) = (force.iter().map(|v| v.round().abs()).sum::<f64>(), largest(z));
    let outside = form.cones.iter().map(|rows| cones::outside(rows, &z[rows.first..rows.last]));
    left <= share * push && outside.fold(0.0, f64::max) <= NO_FORCE * size
}

/// Whether the resultant of rounded multipliers is rounding of its terms, and their value is not.
fn contradicts_to_rounding(form: &Form, z: &[Twice]) -> bool {
    let mut force = vec![ZERO; form.n()];
    add_transposed(Isa::detect(), &form.A, z, &mut force);
    let left = force.iter().map(|v| v.round().abs()).sum::<f64>();
    let size = |v: &Twice| v.round().abs();
    let of_row = |row: &form::Row| row.iter().map(|(_, v)| size(v)).sum::<f64>();
    let terms = form.A.iter().zip(z).map(|(row, z)| of_row(row) * size(z)).sum::<f64>();
    let value = form.b.iter().zip(z).map(|(b, z)| size(b) * size(z)).sum::<f64>();
    left <= f64::EPSILON * terms && dot(&form.b, z).round() > CLEAR * value
}

/// Whether the cost decreases without bound along `x`.
fn is_ray(form: &Form, x: &[Twice], share: f64) -> bool {
    let slope = -dot(&form.c, x).round();
    let (size, n) = (largest(x), form.n());
    if !(slope > CLEAR * largest(&form.c) * size) {
        return false;
    }
    let mut bend = vec![ZERO; n];
    times(Isa::detect(), &form.P, x, &mut bend);
    let mut s = vec![ZERO; form.b.len()];
    times(Isa::detect(), &form.A, x, &mut s);
    // zero relative to the decrease of the cost, and relative to the row's terms
    let terms = |row: &form::Row| row.iter().map(|(_, v)| v.round().abs()).sum::<f64>();
    let allowed = |terms: f64| share * slope.min(terms * size);
    (0..n).all(|i| bend[i].round().abs() <= allowed(terms(&form.P[i])))
        && form.cones.iter().all(|rows| {
            let at = rows.first..rows.last;
            let terms = form.A[at.clone()].iter().map(terms).fold(0.0, f64::max);
            cones::outside(rows, &s[at]) <= allowed(terms)
        })
}
