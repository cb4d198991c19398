//! The driver: scaling, proximal iteration, refinement, checks.

use crate::active_set::{ActiveSet, Outcome};
use crate::dense::{dot, largest};
use crate::problem::{Qp, Solution, Status};
use crate::scaling::Scaled;
use crate::smallest_norm::SmallestNorm;

/// Tolerances of a [`QpSolver`], on the scaled problem (unit rows, unit diagonal of `P`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// A row violated by more than this must enter the working set. Default 1e-11: above rounding
    /// of a row's inner product, far below anything physical.
    pub row_tolerance: f64,
    /// Weight `rho` of the proximal term `rho/2 |x − x_k|²` where `P` is singular. Default 1e-6:
    /// large enough for a well-conditioned factor, small enough to converge in a few rounds.
    pub proximal_weight: f64,
    /// Rounds of the proximal iteration before giving up. Default 200.
    pub proximal_rounds: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { row_tolerance: 1e-11, proximal_weight: 1e-6, proximal_rounds: 200 }
    }
}

/// Rounds of refinement on the final working set: each gains about ten digits, the first two suffice.
const REFINEMENTS: usize = 3;
/// A solved problem may be off by this, relative to the terms that are added up.
const ACCEPT: f64 = 1e-8;
/// A ray must keep rows and cost curvature to this, for a unit direction.
const RAY: f64 = 1e-7;

/// A dense dual active set solver and its memory; holds no meaning between calls.
///
/// The same problem and warm list give the same bits; any warm list gives the same answer to
/// rounding.
#[derive(Debug, Default)]
pub struct QpSolver {
    scaled: Scaled,
    set: ActiveSet,
    H: Vec<f64>,
    g: Vec<f64>,
    previous: Vec<f64>,
    direction: Vec<f64>,
    r_d: Vec<f64>,
    r_p: Vec<f64>,
    at_limit: Vec<bool>,
    gradient: Vec<f64>,
    norm: SmallestNorm,
}

impl QpSolver {
    /// A solver without memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Solves `qp` into `out`, starting from the rows in `warm` that are thought to be active.
    ///
    /// Where `x` is not unique (a flat direction of the cost) the answer is the one that the
    /// proximal iteration from zero tends to, nearly the smallest in scaled variables.
    pub fn solve(&mut self, qp: &Qp<'_>, warm: &[u32], settings: &Settings, out: &mut Solution) {
        out.reset(qp);
        if !qp.is_sound() {
            return;
        }
        self.attempt(qp, warm, settings, out);
        if out.status == Status::GaveUp && !warm.is_empty() {
            // a poor warm start may have led astray
            let pivots = out.iterations;
            out.reset(qp);
            self.attempt(qp, &[], settings, out);
            out.iterations += pivots;
        }
    }

    /// One solve; springs beyond their limit get extra columns until none is left, which is exact:
    /// where no spring is beyond its limit, the quadratic and the Huber cost have the same optimum.
    fn attempt(&mut self, qp: &Qp<'_>, warm: &[u32], settings: &Settings, out: &mut Solution) {
        self.at_limit.clear();
        self.at_limit.resize(qp.saturations.len(), false);
        loop {
            self.scaled.update(qp, &self.at_limit);
            out.status = self.solve_scaled(qp, warm, settings, out);
            if out.status != Status::Solved {
                return;
            }
            let mut more = false;
            for (s, limited) in qp.saturations.iter().zip(&mut self.at_limit) {
                let force = s.stiffness * (out.x[s.index as usize] - s.target);
                if !*limited && force.abs() > s.limit * (1.0 + 1e-12) {
                    *limited = true;
                    more = true;
                }
            }
            if !more {
                break;
            }
        }
        for (s, side) in qp.saturations.iter().zip(&mut out.saturated) {
            let force = s.stiffness * (out.x[s.index as usize] - s.target);
            if force.abs() >= s.limit {
                *side = if force > 0.0 { 1 } else { -1 };
            }
        }
        qp.gradient(&out.x, &mut self.gradient);
        out.dual_is_smallest_norm = self.norm.replace(qp, &out.x, &self.gradient, &mut out.z);
        out.residuals = qp.residuals(&out.x, &out.z, &mut self.gradient);
        if !self.is_acceptable(qp, out) {
            out.status = Status::GaveUp;
        }
    }

    /// Residuals against the size of the terms that they are differences of.
    fn is_acceptable(&self, qp: &Qp<'_>, out: &Solution) -> bool {
        let n = qp.n;
        for i in 0..qp.b.len() {
            let (columns, values) = qp.A.row(i);
            let terms: f64 =
                columns.iter().zip(values).map(|(&c, v)| (v * out.x[c as usize]).abs()).sum();
            let size = terms + qp.b[i].abs() + 1.0 / self.scaled.row_scale[i];
            // written so that NaN fails
            if !(qp.A.dot(i, &out.x) - qp.b[i] >= -ACCEPT * size) {
                return false;
            }
        }
        let mut size = largest(qp.c).max(largest(&out.z));
        for i in 0..n {
            let row = &qp.P[i * n..(i + 1) * n];
            size = size.max(row.iter().zip(&out.x).map(|(p, x)| (p * x).abs()).sum());
        }
        for s in qp.saturations {
            size = size.max(s.limit.min(s.stiffness * s.target.abs()));
        }
        out.residuals.stationarity <= ACCEPT * size && out.residuals.dual <= 0.0
    }

    fn solve_scaled(
        &mut self,
        qp: &Qp<'_>,
        warm: &[u32],
        settings: &Settings,
        out: &mut Solution,
    ) -> Status {
        let Self { scaled, set, H, g, previous, .. } = self;
        let n = scaled.n;
        // a factor of P itself if P is definite, else with the proximal term
        let mut rho = 0.0;
        H.clear();
        H.extend_from_slice(&scaled.P);
        if !set.factor(n, H, scaled.b.len()) {
            rho = settings.proximal_weight;
            H.clear();
            H.extend_from_slice(&scaled.P);
            for i in 0..n {
                H[i * n + i] += rho;
            }
            if !set.factor(n, H, scaled.b.len()) {
                return Status::GaveUp;
            }
        }
        set.warm(&scaled.A, warm);
        previous.clear();
        previous.resize(n, 0.0);
        let mut last_step = f64::INFINITY;
        let mut converged = rho == 0.0;
        for round in 0..settings.proximal_rounds {
            g.clear();
            g.extend(scaled.c.iter().zip(previous.iter()).map(|(c, x)| c - rho * x));
            let outcome = set.solve(&scaled.A, g, &scaled.b, settings.row_tolerance);
            out.iterations = set.pivots;
            match outcome {
                Outcome::Solved => {}
                Outcome::Infeasible { row } => {
                    contradiction(scaled, set, row, &mut out.certificate, qp.b.len());
                    return Status::Infeasible;
                }
                Outcome::GaveUp => return Status::GaveUp,
            }
            if converged {
                break;
            }
            let step =
                set.x.iter().zip(previous.iter()).fold(0.0_f64, |m, (x, p)| m.max((x - p).abs()));
            if step <= 1e-13 * (1.0 + largest(&set.x)) {
                converged = true;
                break;
            }
            // a step that does not shrink points along a ray
            if round >= 2 && step > 1.0 && step >= 0.5 * last_step {
                self.direction.clear();
                self.direction
                    .extend(set.x.iter().zip(previous.iter()).map(|(x, p)| (x - p) / step));
                if is_ray(scaled, &self.direction) {
                    let d = self.direction.iter().zip(&scaled.scale).take(qp.n);
                    out.ray.extend(d.map(|(d, s)| d * s));
                    return Status::Unbounded;
                }
            }
            last_step = step;
            previous.copy_from_slice(&set.x);
        }
        if !converged {
            return Status::GaveUp;
        }
        for _ in 0..REFINEMENTS {
            self.refine();
        }
        let Self { scaled, set, .. } = self;
        for (x, (y, s)) in out.x.iter_mut().zip(set.x.iter().zip(&scaled.scale)) {
            *x = y * s;
        }
        for (&row, u) in set.working.iter().zip(&set.u) {
            if let Some(z) = out.z.get_mut(row as usize) {
                *z = (u * scaled.row_scale[row as usize]).max(0.0);
            }
        }
        Status::Solved
    }

    /// One correction of `x` and `u` for the working set as equalities, without the proximal term.
    fn refine(&mut self) {
        let Self { scaled, set, r_d, r_p, .. } = self;
        let n = scaled.n;
        r_d.clear();
        r_d.extend((0..n).map(|i| -scaled.c[i] - dot(&scaled.P[i * n..(i + 1) * n], &set.x)));
        r_p.clear();
        for (&row, &u) in set.working.iter().zip(&set.u) {
            let row = row as usize;
            scaled.A.add_to(row, u, r_d);
            r_p.push(scaled.b[row] - scaled.A.dot(row, &set.x));
        }
        set.correct(r_d, r_p);
    }
}

/// Multipliers of the original rows that prove a contradiction; empty columns of springs drop out.
fn contradiction(scaled: &Scaled, set: &ActiveSet, row: u32, out: &mut Vec<f64>, m: usize) {
    out.clear();
    out.resize(m, 0.0);
    let mut put = |row: u32, y: f64| {
        if let Some(entry) = out.get_mut(row as usize) {
            *entry = (y * scaled.row_scale[row as usize]).max(0.0);
        }
    };
    put(row, 1.0);
    for (&working, r) in set.working.iter().zip(set.contradiction()) {
        put(working, -r);
    }
}

/// True if the cost falls along `d` without curvature and no row is in the way.
fn is_ray(scaled: &Scaled, d: &[f64]) -> bool {
    let n = scaled.n;
    let flat = (0..n).all(|i| dot(&scaled.P[i * n..(i + 1) * n], d).abs() <= RAY);
    let free = (0..scaled.b.len()).all(|i| scaled.A.dot(i, d) >= -RAY);
    flat && free && dot(&scaled.c, d) < 0.0
}
