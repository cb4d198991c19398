//! Uniqueness of the motion: Proposition 1 of Trinkle05, with the friction that its (32) omits.
//!
//! At fixed `lambda_n` the motion minimises a convex function, (29). It is not unique exactly if
//! some `d ≠ 0` is feasible to first order and does not increase the cost:
//!
//! ```text
//! J_n d ≥ 0 on touching contacts,    P d = 0,    (P x + c)ᵀ d + Σ_i lambda_n,i h_i'(u_t; J_t d) ≤ 0,
//! ```
//!
//! with the directional derivative `h'`. Because `P x + c = Jᵀ lambda`, the last line is a sum of
//! nonnegative terms, one for each contact. Each must be zero, which gives linear conditions:
//!
//! | contact                          | condition on `d`                                              |
//! |----------------------------------|---------------------------------------------------------------|
//! | zero gap and force               | `J_n d ≥ 0`                                                   |
//! | positive force                   | `J_n d = 0`                                                   |
//! | and friction, polytope           | `(lambda_n e_j − lambda_t)ᵀ J_t d ≥ 0` for all `e_j` opposite to `u_t` |
//! | and sticking, round, inside      | `J_t d = 0`                                                   |
//! | and sticking, round, at its limit | `J_t d` against `lambda_t`                                   |
//! | and slipping, round              | `J_t d` along `u_t`                                           |
//!
//! A cone contains a nonzero point exactly if the projection of a vector in general position, or of
//! its negative, is nonzero. So two small quadratic programs decide. The paper's (32) lacks the row
//! of round contacts that stick at their limit: a block held by friction at its limit may start to
//! slide.

use crate::contact::Shape;
use crate::program::FrictionProgram;
use crate::relaxation;
use crate::solution::CoulombSolution;
use crate::tolerances::friction::{INSIDE, NONE, ZERO_MOTION};
use quasistep_linalg::budget::Budget;
use quasistep_linalg::{Rows, Settings, Solution, Status};
use quasistep_qp::{Qp, QpSolver};

/// Number of vectors that, with their negatives, must have a projection of zero.
const SILENT: usize = 2;
/// Largest number of programs that may fail.
pub(crate) const FAILURES: usize = 16;

/// Test of uniqueness of a solution's motion and forces, and its memory.
///
/// ```
/// use quasistep_friction::{CoulombSolution, CoulombSolver, Friction, FrictionProgram, Motion, Uniqueness};
///
/// // a particle of 10 N on a floor with friction 0.5, pushed by 5 N: just enough
/// let mut p = FrictionProgram::new();
/// p.reset([2]);
/// p.c(0).copy_from_slice(&[-5.0, 10.0]);
/// let mut floor = p.push_contact(Friction::Round(&[0.5]), &[0]);
/// floor.J(0, 0)[1] = 1.0;
/// floor.J(0, 1)[0] = 1.0;
/// let mut out = CoulombSolution::default();
/// CoulombSolver::new().solve(&p, None, &Default::default(), &mut out);
/// // it may stay, or slide with the push
/// let Motion::Free { direction } = Uniqueness::new().motion(&p, &out) else { panic!() };
/// assert!((direction[0] - 1.0).abs() < 1e-9 && direction[1].abs() < 1e-9);
/// ```
#[derive(Debug, Default)]
pub struct Uniqueness {
    solver: QpSolver,
    pub(crate) answer: Solution,
    pub(crate) rows: Rows,
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Vec<f64>,
    b: Vec<f64>,
    P: Vec<f64>,
    pub(crate) c: Vec<f64>,
    pub(crate) unit: Vec<f64>,
    pub(crate) work: Budget,
}

/// Whether the motion is unique at its normal forces.
#[derive(Clone, Debug, PartialEq)]
pub enum Motion {
    /// No other motion has the same normal forces.
    Unique,
    /// The motion `x + s d` has the same normal forces for small `s > 0`.
    Free {
        /// Direction `d`, length `n`, scaled to a largest entry of 1.
        direction: Vec<f64>,
    },
    /// The solution is not solved, or rounding made the result uncertain.
    Unknown,
}

impl Uniqueness {
    /// A check without allocated memory and without a limit of work.
    pub fn new() -> Self {
        Self::default()
    }

    /// Resets the count of work to zero and sets its limit, in multiply-adds as counted by
    /// [`Solution::work`](quasistep_linalg::Solution::work). A check that needs more than `limit` ends
    /// undecided.
    pub fn limit_work(&mut self, limit: u64) {
        self.work.start(limit);
    }

    /// Work since the last call of [`limit_work`](Self::limit_work), in multiply-adds.
    pub fn work(&self) -> u64 {
        self.work.spent()
    }

    /// Determines whether the motion of `solution`, a solved solution of `p`, is unique at its
    /// normal forces.
    pub fn motion(&mut self, p: &FrictionProgram, solution: &CoulombSolution) -> Motion {
        let n = p.n();
        if solution.x.len() != n || solution.outcome != crate::Outcome::Solved {
            return Motion::Unknown;
        }
        self.units(p);
        self.collect(p, solution);
        let (mut silent, mut failures) = (0, 0);
        for vector in 0.. {
            // project the vector in general position and its negative
            let mut solved = true;
            for trial in [2 * vector, 2 * vector + 1] {
                general_position(n, trial, &mut self.c);
                solved &= self.project();
                if !solved {
                    break;
                }
                let size = self.c.iter().map(|c| c * c).sum::<f64>().sqrt();
                let length = self.answer.x.iter().map(|d| d * d).sum::<f64>().sqrt();
                if length > ZERO_MOTION * size {
                    return Motion::Free { direction: self.direction() };
                }
            }
            // try another vector
            if solved {
                silent += 1;
            } else {
                failures += 1;
            }
            if failures == FAILURES || self.work.is_spent() {
                return Motion::Unknown;
            }
            if silent == SILENT {
                break;
            }
        }
        Motion::Unique
    }

    /// Projects `−c` onto the cone of motions that satisfy the conditions, in units of the
    /// variables. Returns false if rounding made the result uncertain.
    pub(crate) fn project(&mut self) -> bool {
        let n = self.c.len();
        self.P.clear();
        self.P.resize(n * n, 0.0);
        self.P.iter_mut().step_by(n + 1).for_each(|diagonal| *diagonal = 1.0);
        self.b.clear();
        self.b.resize(self.rows.len(), 0.0);
        let qp = Qp { n, P: &self.P, c: &self.c, A: &self.rows, b: &self.b, saturations: &[] };
        let settings = Settings { work_limit: self.work.left(), ..Settings::default() };
        self.solver.solve(&qp, &[], &settings, &mut self.answer);
        relaxation::spend(&self.work, self.answer.work, self.answer.reason);
        self.answer.status == Status::Solved
    }

    /// The projection in the caller's units, scaled to a largest entry of 1.
    fn direction(&self) -> Vec<f64> {
        let scaled = self.answer.x.iter().zip(&self.unit).map(|(d, unit)| d * unit);
        let mut direction: Vec<f64> = scaled.collect();
        let largest = direction.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
        for d in &mut direction {
            *d /= largest;
        }
        direction
    }

    /// Computes units in which every variable's column has size 1.
    pub(crate) fn units(&mut self, p: &FrictionProgram) {
        self.unit.clear();
        self.unit.resize(p.n(), 0.0);
        for (i, contact) in p.contacts.iter().enumerate() {
            for r in 0..contact.k as usize {
                for (first, J) in p.row(i, r) {
                    for (unit, J) in self.unit[first..].iter_mut().zip(J) {
                        *unit = unit.max(J.abs());
                    }
                }
            }
        }
        for unit in &mut self.unit {
            *unit = if *unit > 0.0 { unit.recip() } else { 1.0 };
        }
    }

    /// Collects the conditions of the module's table as rows `A d ≥ 0`.
    fn collect(&mut self, p: &FrictionProgram, s: &CoulombSolution) {
        self.rows.clear();
        for (k, block) in p.cones.blocks.iter().enumerate() {
            let first = block.first as usize;
            for i in 0..block.dim as usize {
                let row = p.cones.P_row(k, i);
                let size = row.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
                if size > 0.0 {
                    self.begin();
                    self.add(first, row, size.recip());
                    self.push(true);
                }
            }
        }
        for spring in &p.cones.saturations {
            let i = spring.index as usize;
            // beyond its limit a Huber term has no curvature
            let force = spring.stiffness * (s.x[i] - spring.target).abs();
            if spring.stiffness > 0.0 && force <= spring.limit * (1.0 + NONE) {
                self.begin();
                self.add(i, &[1.0], self.unit[i].recip());
                self.push(true);
            }
        }
        let force = p.contacts.iter().fold(0.0_f64, |m, c| m.max(s.lambda[c.first as usize]));
        let speed = crate::law::speed_scale(p, &s.x);
        for (i, contact) in p.contacts.iter().enumerate() {
            let rows = contact.rows();
            let (lambda, u) = (&s.lambda[rows.clone()], &s.u[rows]);
            if u[0] > NONE * speed {
                continue;
            }
            let pushes = lambda[0] > NONE * force;
            self.begin();
            self.add_row(p, i, 0, 1.0);
            self.push(pushes);
            if pushes && contact.tangents() > 0 {
                self.friction(p, i, lambda, u, NONE * speed);
            }
        }
    }

    /// Adds the condition of a contact with friction and a positive normal force.
    fn friction(&mut self, p: &FrictionProgram, i: usize, lambda: &[f64], u: &[f64], slow: f64) {
        let contact = &p.contacts[i];
        let d = contact.tangents();
        let units = p.units_of(contact);
        if units.iter().all(|unit| *unit == 0.0) {
            return;
        }
        if let Shape::Polytope(_) = contact.shape {
            let h = crate::law::support(p, contact, &u[1..]);
            let mu = units.iter().fold(0.0_f64, |m, v| m.max(*v));
            for v in p.vertices_of(contact).chunks_exact(d) {
                let along: f64 = (0..d).map(|t| -v[t] * units[t] * u[t + 1]).sum();
                if along < h - slow * mu {
                    continue;
                }
                self.begin();
                for t in 0..d {
                    let f = v[t] * units[t] - lambda[t + 1] / lambda[0];
                    self.add_row(p, i, t + 1, f / mu);
                }
                self.push(false);
            }
            return;
        }
        // in units of the rows the friction set is a ball
        let mut e = [0.0; 8];
        let slip = (0..d).map(|t| (units[t] * u[t + 1]).powi(2)).sum::<f64>().sqrt();
        let slips = slip > slow * units.iter().fold(0.0_f64, |m, v| m.max(*v));
        let mut share = 0.0_f64;
        for t in 0..d {
            e[t] = if units[t] > 0.0 { -lambda[t + 1] / units[t] / lambda[0] } else { 0.0 };
            share += e[t] * e[t];
        }
        share = share.sqrt();
        let limit = share >= 1.0 - NONE;
        for t in 0..d {
            if units[t] == 0.0 {
                continue;
            }
            self.begin();
            self.add_row(p, i, t + 1, 1.0);
            if slips || limit {
                // orthogonal to e
                for r in 0..d {
                    self.add_row(p, i, r + 1, -e[t] * e[r] * units[r] / units[t] / share / share);
                }
            }
            self.push(true);
        }
        if limit && !slips {
            self.begin();
            for t in 0..d {
                self.add_row(p, i, t + 1, e[t] * units[t]);
            }
            self.push(false);
        }
    }

    pub(crate) fn begin(&mut self) {
        self.columns.clear();
        self.values.clear();
    }

    /// Adds `f` times `row`, which starts at variable `first`, to the row under construction.
    pub(crate) fn add(&mut self, first: usize, row: &[f64], f: f64) {
        for (k, v) in row.iter().enumerate() {
            if *v != 0.0 && f != 0.0 {
                self.columns.push((first + k) as u32);
                self.values.push(f * v * self.unit[first + k]);
            }
        }
    }

    fn add_row(&mut self, p: &FrictionProgram, contact: usize, row: usize, f: f64) {
        for (first, J) in p.row(contact, row) {
            self.add(first, J, f);
        }
    }

    /// Completes the row under construction as `≥ 0` or, if `equal`, `= 0`. A row that is rounding
    /// is dropped.
    pub(crate) fn push(&mut self, equal: bool) {
        if !self.values.iter().any(|v| v.abs() > INSIDE) {
            return;
        }
        self.rows.push(&self.columns, &self.values);
        if equal {
            self.values.iter_mut().for_each(|v| *v = -*v);
            self.rows.push(&self.columns, &self.values);
        }
    }
}

/// Writes a fixed vector in general position; for odd trials the negative of the previous one.
pub(crate) fn general_position(n: usize, trial: usize, to: &mut Vec<f64>) {
    let sign = if trial.is_multiple_of(2) { 1.0 } else { -1.0 };
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(1 + trial as u64 / 2);
    to.clear();
    for _ in 0..n {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        to.push(sign * ((seed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0));
    }
}
