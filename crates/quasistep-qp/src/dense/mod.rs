//! Dense quadratic programs: the dual active set with warm starts, and a certificate for every
//! outcome.

mod form;
mod proximal;
mod smallest_norm;

use crate::Qp;
use crate::active_set::{Limits, Program};
use crate::tolerances::{
    BALANCED_AT_LAST, FEASIBLE, FEASIBLE_AT_LAST, NO_FORCE, NODE_DEPENDENT, REACH, ROUNDING,
    SET_DEPENDENT, TOUCHING, TOUCHING_OF_POINT,
};
use form::Column;
use proximal::{End, Proximal};
use quasistep_linalg::kernels::{max_abs, zeros};
use quasistep_linalg::{Method, Reason, Residuals, Settings, Solution, Status};
use smallest_norm::SmallestNorm;

/// Parameters of one attempt.
struct Attempt {
    /// Whether to start from the caller's working set.
    warm: bool,
    /// See [`Limits::dependent`].
    dependent: f64,
    /// Acceptable residual of stationarity, as a share of the largest force in scaled units.
    balanced: f64,
    /// Acceptable violation, as a share of the largest variable and of the row's level in scaled
    /// units.
    feasible: f64,
}

/// Attempts in order. Nearly dependent rows cost digits, so each later attempt admits fewer of them
/// to the working set. The last attempt accepts larger residuals.
const ATTEMPTS: [Attempt; 4] = [
    Attempt { warm: true, dependent: NODE_DEPENDENT, balanced: ROUNDING, feasible: FEASIBLE },
    Attempt { warm: false, dependent: NODE_DEPENDENT, balanced: ROUNDING, feasible: FEASIBLE },
    Attempt {
        warm: false,
        dependent: SET_DEPENDENT,
        balanced: 10.0 * ROUNDING,
        feasible: FEASIBLE,
    },
    Attempt {
        warm: false,
        dependent: NODE_DEPENDENT,
        balanced: BALANCED_AT_LAST,
        feasible: FEASIBLE_AT_LAST,
    },
];

/// Solver for [`Qp`]. It keeps its memory between calls; the contents do not affect results.
#[derive(Debug, Default)]
pub struct QpSolver {
    columns: Vec<Column>,
    program: Program,
    /// Units of the variables.
    V: Vec<f64>,
    proximal: Proximal,
    smallest_norm: SmallestNorm,
    warm: Vec<u32>,
    g: Vec<f64>,
}

impl QpSolver {
    /// A solver without allocated memory; it grows with the largest problem.
    pub fn new() -> Self {
        Self::default()
    }

    /// Solves `qp` and writes the result to `out`.
    ///
    /// `warm` lists rows that are expected to be active, for example [`Solution::working`] or the
    /// rows with `z > 0` of a similar problem. Rows that do not exist or depend on earlier ones are
    /// skipped. `warm` affects the time, and `x` and `z` only by rounding.
    ///
    /// Nothing is allocated once a problem of this size has been solved. Every input yields a
    /// [`Status`]; invalid data end in [`Status::GaveUp`] with a [`Reason`].
    pub fn solve(&mut self, qp: &Qp<'_>, warm: &[u32], settings: &Settings, out: &mut Solution) {
        reset(qp, out);
        self.program.budget.start(settings.work_limit);
        self.smallest_norm.budget.clone_from(&self.program.budget);
        if let Err(reason) = qp.check() {
            return give_up(reason, out);
        }
        let mut spent = 0;
        let mut reason = Reason::Accuracy;
        for attempt in ATTEMPTS {
            let rows = if attempt.warm { warm } else { &[] };
            if attempt.warm && warm.is_empty() {
                continue;
            }
            let result = self.attempt(qp, rows, &attempt, out);
            out.iterations += spent;
            out.work = self.program.budget.spent();
            match result {
                Ok(()) => return,
                Err(why) => {
                    spent = out.iterations;
                    reset(qp, out);
                    reason = why;
                    if self.program.budget.is_spent() {
                        reason = Reason::Work;
                    }
                    if matches!(reason, Reason::NotConvex | Reason::Work) {
                        break;
                    }
                }
            }
        }
        out.iterations = spent;
        out.work = self.program.budget.spent();
        give_up(reason, out);
    }

    fn attempt(
        &mut self,
        qp: &Qp<'_>,
        warm: &[u32],
        attempt: &Attempt,
        out: &mut Solution,
    ) -> Result<(), Reason> {
        let m = qp.b.len();
        self.columns.clear();
        self.warm.clear();
        self.warm.reserve(m + qp.n);
        self.warm.extend(warm.iter().filter(|&&i| (i as usize) < m));
        loop {
            form::build(qp, &self.columns, &mut self.program, &mut self.V)?;
            let limits = Limits {
                dependent: attempt.dependent,
                cutoff: f64::INFINITY,
                reach: REACH * max_abs(&self.program.rows.b),
                max_pivots: self.program.most_pivots(),
            };
            let end = self.proximal.solve(&mut self.program, &self.warm, &limits);
            out.iterations += self.proximal.set.pivots as u32 + self.proximal.rounds;
            match end {
                End::Solved => {}
                End::Unbounded => return self.write_ray(qp, out),
                End::Infeasible => {
                    self.write_certificate(m, out);
                    return Ok(());
                }
                End::GaveUp(reason) => return Err(reason),
            }
            for i in 0..qp.n {
                out.x[i] = self.proximal.set.x[i] * self.V[i];
            }
            if !self.add_columns(qp, &out.x) {
                break;
            }
            self.warm.clear();
            self.warm.extend_from_slice(&self.proximal.set.working);
        }
        if self.falls_freely(qp, out) {
            return Ok(());
        }
        self.write_multipliers(qp, out);
        self.take_smallest_norm(qp, out);
        for (side, s) in out.saturated.iter_mut().zip(qp.saturations) {
            let e = out.x[s.index as usize] - s.target;
            if s.stiffness > 0.0 && s.stiffness * e.abs() >= s.limit && e != 0.0 {
                *side = if e > 0.0 { 1 } else { -1 };
            }
        }
        if self.verify(qp, attempt, out).is_err() {
            if !out.dual_is_smallest_norm {
                return Err(Reason::Accuracy);
            }
            // the projection may satisfy its own tolerance but not that of stationarity
            self.write_multipliers(qp, out);
            self.verify(qp, attempt, out)?;
        }
        out.status = Status::Solved;
        Ok(())
    }

    /// Adds a slack column for every side of a Huber term whose force exceeds its limit beyond
    /// rounding; returns whether there was one.
    fn add_columns(&mut self, qp: &Qp<'_>, x: &[f64]) -> bool {
        let before = self.columns.len();
        for (k, s) in qp.saturations.iter().enumerate() {
            let force = s.stiffness * (x[s.index as usize] - s.target);
            let side = force.signum();
            let known = self.columns[..before].iter().any(|c| c.saturation == k && c.side == side);
            if force.abs() > s.limit * (1.0 + ROUNDING) && !known {
                self.columns.push(Column { saturation: k, side });
            }
        }
        self.columns.len() > before
    }

    /// Writes the multipliers of the working set to `out`.
    fn write_multipliers(&mut self, qp: &Qp<'_>, out: &mut Solution) {
        let set = &self.proximal.set;
        // residual of the proximal term where no force acts
        let dust = NO_FORCE * max_abs(&set.u).max(self.proximal.rho() * max_abs(&set.x));
        out.dual_is_smallest_norm = false;
        out.z.fill(0.0);
        out.working.clear();
        for (&i, u) in set.working.iter().zip(&set.u) {
            let i = i as usize;
            if i < qp.b.len() {
                out.z[i] = if *u > dust { u / self.program.rows.length[i] } else { 0.0 };
                out.working.push(i as u32);
            }
        }
        out.working.sort_unstable();
    }

    /// Replaces the multipliers by those of smallest norm over all rows with zero slack.
    fn take_smallest_norm(&mut self, qp: &Qp<'_>, out: &mut Solution) {
        let (p, x) = (&self.program, &self.proximal.set.x);
        let size = max_abs(x);
        let touching = &mut self.smallest_norm.rows;
        touching.clear();
        touching.reserve(qp.b.len());
        for i in 0..qp.b.len() {
            if out.z[i] > 0.0
                || p.slack(i, x) <= TOUCHING * p.rows.terms(i, x) + TOUCHING_OF_POINT * size
            {
                touching.push(i as u32);
            }
        }
        out.dual_is_smallest_norm = self.smallest_norm.project(qp.n, qp.A, &mut out.z);
    }

    fn write_ray(&mut self, qp: &Qp<'_>, out: &mut Solution) -> Result<(), Reason> {
        let d = &self.proximal.ray;
        out.ray.extend(d[..qp.n].iter().zip(&self.V).map(|(d, v)| d * v));
        let largest = max_abs(&out.ray);
        out.ray.iter_mut().for_each(|d| *d /= largest);
        let mut slope = quasistep_linalg::kernels::dot(qp.c, &out.ray);
        for s in qp.saturations {
            let d = out.ray[s.index as usize].abs();
            if s.stiffness > 0.0 && d > 0.0 && s.limit.is_finite() {
                slope += s.limit * d;
            }
        }
        if slope < 0.0 {
            out.status = Status::Unbounded;
            Ok(())
        } else {
            Err(Reason::Accuracy)
        }
    }

    /// Whether a variable with a linear cost has no curvature, row or Huber term. Its axis is then
    /// a ray, written to `out`. The general test may miss it if this linear cost is rounding
    /// relative to the forces on other variables.
    fn falls_freely(&mut self, qp: &Qp<'_>, out: &mut Solution) -> bool {
        let n = qp.n;
        let falls = |i: usize| qp.c[i] != 0.0 && qp.P[i * n..(i + 1) * n].iter().all(|v| *v == 0.0);
        if !(0..n).any(|i| qp.P[i * (n + 1)] == 0.0 && falls(i)) {
            return false;
        }
        let touched = &mut self.g;
        zeros(touched, n);
        for row in 0..qp.b.len() {
            let (columns, values) = qp.A.row(row);
            columns.iter().zip(values).for_each(|(&c, a)| touched[c as usize] += a.abs());
        }
        for spring in qp.saturations {
            touched[spring.index as usize] += spring.stiffness;
        }
        let Some(free) = (0..n).find(|&i| touched[i] == 0.0 && falls(i)) else { return false };
        out.status = Status::Unbounded;
        out.x.fill(0.0);
        out.ray.resize(n, 0.0);
        out.ray[free] = -qp.c[free].signum();
        true
    }

    fn write_certificate(&mut self, m: usize, out: &mut Solution) {
        let scaled = &self.proximal.certificate[..m];
        out.certificate.extend(scaled.iter().zip(&self.program.rows.length).map(|(y, r)| y / r));
        let largest = max_abs(&out.certificate);
        out.certificate.iter_mut().for_each(|y| *y /= largest);
        out.x.fill(0.0);
        out.status = Status::Infeasible;
    }

    /// Checks the solution against the caller's data, in scaled units.
    fn verify(&mut self, qp: &Qp<'_>, attempt: &Attempt, out: &mut Solution) -> Result<(), Reason> {
        out.residuals = qp.residuals(&out.x, &out.z, &mut self.g);
        for (i, s) in out.s.iter_mut().enumerate() {
            *s = qp.A.dot(i, &out.x) - qp.b[i];
        }
        let (p, x) = (&self.program, &self.proximal.set.x);
        let size = max_abs(x);
        // multipliers are no reference size: those of an ill-conditioned working set are huge
        let mut forces = max_abs(&p.c).max(self.proximal.rho() * size);
        for i in 0..p.n {
            let terms: f64 = p.P(i).iter().zip(x).map(|(P, x)| (P * x).abs()).sum();
            forces = forces.max(terms);
        }
        let balanced =
            self.g.iter().zip(&self.V).all(|(g, v)| (g * v).abs() <= attempt.balanced * forces);
        let feasible = out.s.iter().enumerate().all(|(i, slack)| {
            slack / p.rows.length[i] >= -attempt.feasible * (size + p.rows.b[i].abs())
        });
        let finite = out.x.iter().chain(&out.z).all(|v| v.is_finite());
        if balanced && feasible && finite { Ok(()) } else { Err(Reason::Accuracy) }
    }
}

/// Resets `out` to zeros in the sizes of `qp`.
fn reset(qp: &Qp<'_>, out: &mut Solution) {
    zeros(&mut out.x, qp.n);
    zeros(&mut out.z, qp.b.len());
    zeros(&mut out.s, qp.b.len());
    out.method = Method::ActiveSet;
    out.ray.clear();
    out.certificate.clear();
    out.working.clear();
    out.working.reserve(qp.n + 2 * qp.saturations.len());
    out.saturated.clear();
    out.saturated.resize(qp.saturations.len(), 0);
    out.residuals = Residuals::default();
    out.reason = None;
    out.dual_is_smallest_norm = false;
    out.iterations = 0;
    out.work = 0;
    out.status = Status::GaveUp;
}

fn give_up(reason: Reason, out: &mut Solution) {
    out.status = Status::GaveUp;
    out.reason = Some(reason);
}
