//! Writes the program of a plan, with its quadratic objective, as a file for commercial and
//! academic solvers: LP or MPS.
//!
//! Nothing is condensed or eliminated: states, inputs and all of `gamma` are variables, as in
//! MpcNote (11), so that the file shows the problem of the note. Only pairs that cannot act within
//! the horizon are left out.

#![allow(non_snake_case)] // letters of MpcNote

mod lp;
mod mps;
mod soft;

use crate::error::ProblemError;
use crate::lcs::{Reduced, Unit};
use crate::mpc::Mpc;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::problem::Relax;
use crate::reach::{StepReach, combine, contribution};

/// Form in which complementarity is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integers {
    /// Special ordered sets of type 1: of a row and its `gamma`, at most one is nonzero.
    Sos1,
    /// MpcNote (11): one binary per pair. Each M is computed separately from the hard bounds by
    /// interval arithmetic.
    BigM,
    /// Indicator constraints: a binary per pair selects which of the two is 0. No bound is needed.
    Indicator,
}

/// File formats with a quadratic objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// [`Mpc::export_lp`].
    Lp,
    /// [`Mpc::export_mps`].
    Mps,
}

/// A complementarity pair of the file.
struct Pair {
    gamma: usize,
    /// Upper bounds of `gamma` and of its row over all plans that may be optimal.
    most: [f64; 2],
}

impl Mpc {
    /// Writes the problem from `x0` in LP format, as [`plan`](Self::plan) solves it. A search first
    /// finds whether a plan satisfies all soft bounds. If so, the file has them as hard bounds.
    /// Otherwise it has a variable with a price for each violation.
    ///
    /// Variables are `x1_0` (state 0 at step 1), `u0_0`, `g1_3` (entry 3 of `gamma` at the end of
    /// the first step), `w1_3` (its row) and `z1_3` (its binary). `one` is fixed to 1 and carries
    /// the constant of the cost. `sxl1_0` is the violation of the lower soft bound of `x1_0`,
    /// `sxu1_0` that of the upper one; `su…` and `sr…` are those of inputs and their changes.
    /// `warm` is the plan of the last step, which bounds on changes of inputs need.
    ///
    /// # Errors
    ///
    /// `x0` does not fit the problem, or for [`Integers::BigM`] an impulse has no bound
    /// ([`ProblemError::NoBigM`]).
    pub fn export_lp(
        &mut self,
        x0: &[f64],
        warm: Option<&Plan>,
        integers: Integers,
    ) -> Result<String, ProblemError> {
        Ok(self.export(x0, warm, integers)?.to_lp())
    }

    /// Writes the problem of [`export_lp`](Self::export_lp) in free MPS format, with the section
    /// `QUADOBJ`, and `SOS` or `INDICATORS` where needed.
    ///
    /// # Errors
    ///
    /// See [`export_lp`](Self::export_lp).
    pub fn export_mps(
        &mut self,
        x0: &[f64],
        warm: Option<&Plan>,
        integers: Integers,
    ) -> Result<String, ProblemError> {
        Ok(self.export(x0, warm, integers)?.to_mps())
    }

    fn export(
        &mut self,
        x0: &[f64],
        warm: Option<&Plan>,
        integers: Integers,
    ) -> Result<Program, ProblemError> {
        ProblemError::check_numbers("x0", x0, self.problem().n_x())?;
        let warm = warm.filter(|w| self.fits(w));
        let last = warm.and_then(|w| w.inputs.first()).map(Vec::as_slice);
        let relax = self.needed_relaxation(x0, warm);
        let (problem, reduced, reach) = self.reached(x0, last, relax);
        let mut pairs = Vec::new();
        for k in 0..problem.horizon {
            let at = problem.place(k);
            pairs.push(step_pairs(problem, &reduced[at], &reach.steps[k], k, integers)?);
        }
        let mut writer = Writer::new(problem, x0, pairs, integers, relax);
        writer.write_cost();
        for k in 0..problem.horizon {
            writer.write_step(k);
            writer.write_rates(k, last);
            writer.write_soft_bounds(k);
        }
        Ok(writer.program)
    }
}

/// Complementarity pairs of one step that can act.
fn step_pairs(
    problem: &Problem,
    r: &Reduced,
    reach: &StepReach,
    k: usize,
    integers: Integers,
) -> Result<Vec<Pair>, ProblemError> {
    let n = problem.n_x();
    // interval of a reduced row
    let row = |i: usize| {
        let mut sum = combine(&r.D[i * n..(i + 1) * n], &reach.x);
        for (unit, most) in r.units.iter().zip(&reach.impulse) {
            let pushed = contribution(unit, &r.E[i * r.n_r..(i + 1) * r.n_r], *most);
            sum = (sum.0 + pushed.0, sum.1 + pushed.1);
        }
        (sum.0 + r.a[i], sum.1 + r.a[i])
    };
    let mut pairs = Vec::new();
    for (index, unit) in r.units.iter().enumerate() {
        if !reach.possible(index) {
            continue;
        }
        let most = reach.impulse[index];
        match *unit {
            Unit::Pair { row: i, gamma, .. } => {
                pairs.push(Pair { gamma, most: [most, row(i).1.max(0.0)] });
            }
            Unit::Contact { row: i, contact, .. } => {
                // lambda need not exceed |v_t|, and its rows need not exceed twice that
                let v_t = row(i + 1);
                let speed = v_t.0.abs().max(v_t.1.abs());
                let friction = contact.mu * most;
                for (gamma, most) in [
                    (contact.normal, [most, row(i).1.max(0.0)]),
                    (contact.tangents[0], [friction, 2.0 * speed]),
                    (contact.tangents[1], [friction, 2.0 * speed]),
                    (contact.slip, [speed, friction]),
                ] {
                    pairs.push(Pair { gamma, most });
                }
            }
        }
    }
    pairs.sort_unstable_by_key(|p| p.gamma);
    let open = pairs.iter().find(|p| p.most.iter().any(|m| !m.is_finite()));
    match open {
        Some(p) if integers == Integers::BigM => {
            Err(ProblemError::NoBigM { step: k + 1, gamma: p.gamma })
        }
        _ => Ok(pairs),
    }
}

/// A variable of the file.
struct Column {
    name: String,
    lower: f64,
    upper: f64,
    binary: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sense {
    AtLeast,
    AtMost,
    Equal,
}

/// A constraint of the file. Terms are columns and their coefficients.
struct Row {
    name: String,
    terms: Vec<(usize, f64)>,
    sense: Sense,
    level: f64,
    /// Indicator: the row holds only if this binary has this value.
    only_if: Option<(usize, bool)>,
}

/// The program, as both formats write it.
#[derive(Default)]
struct Program {
    columns: Vec<Column>,
    rows: Vec<Row>,
    linear: Vec<(usize, f64)>,
    /// Coefficients of products of two columns `i ≥ j`.
    quadratic: Vec<(usize, usize, f64)>,
    /// Special ordered sets of type 1.
    sets: Vec<(String, [usize; 2])>,
    /// True if some bounds may be violated at a price.
    relaxed: bool,
}

impl Program {
    /// Title in the head of the file.
    fn title(&self) -> &'static str {
        if self.relaxed {
            "contact-implicit MPC, MpcNote (10); no plan keeps all soft bounds: a violation s costs weight (s + s^2)"
        } else {
            "contact-implicit MPC, MpcNote (10)"
        }
    }
}

/// Index of the first column of each group of a step.
#[derive(Clone, Copy)]
struct Places {
    u: usize,
    x: usize,
    /// Columns of the pairs, one pair after another: `g`, `w`, and `z` if it exists.
    pairs: usize,
}

struct Writer<'a> {
    problem: &'a Problem,
    x0: &'a [f64],
    pairs: Vec<Vec<Pair>>,
    integers: Integers,
    relax: Relax,
    places: Vec<Places>,
    program: Program,
}

/// Index of the column that is fixed to 1.
const ONE: usize = 0;

impl<'a> Writer<'a> {
    fn new(
        problem: &'a Problem,
        x0: &'a [f64],
        pairs: Vec<Vec<Pair>>,
        integers: Integers,
        relax: Relax,
    ) -> Self {
        let mut columns =
            vec![Column { name: "one".into(), lower: 1.0, upper: 1.0, binary: false }];
        let mut places = Vec::new();
        let bounds = &problem.bounds;
        for (k, pairs) in pairs.iter().enumerate() {
            let u = columns.len();
            let mut push = |name: String, lower: f64, upper: f64, binary: bool| {
                columns.push(Column { name, lower, upper, binary });
            };
            let (n_u, n_x) = (problem.n_u(), problem.n_x());
            for (letter, k, n, limits) in
                [('u', k, n_u, &bounds.input), ('x', k + 1, n_x, &bounds.state)]
            {
                let soft = relax.weight(limits).is_some();
                for i in 0..n {
                    let (lower, upper) = if soft {
                        (f64::NEG_INFINITY, f64::INFINITY)
                    } else {
                        (limits.lower(i), limits.upper(i))
                    };
                    push(format!("{letter}{k}_{i}"), lower, upper, false);
                }
            }
            for Pair { gamma, most } in pairs {
                // redundant bounds: solvers exploit bounds of members of ordered sets
                push(format!("g{}_{gamma}", k + 1), 0.0, most[0], false);
                push(format!("w{}_{gamma}", k + 1), 0.0, most[1], false);
                if integers != Integers::Sos1 {
                    push(format!("z{}_{gamma}", k + 1), 0.0, 1.0, true);
                }
            }
            places.push(Places { u, x: u + n_u, pairs: u + n_u + n_x });
        }
        let program = Program { columns, relaxed: relax != Relax::Nothing, ..Program::default() };
        Self { problem, x0, pairs, integers, relax, places, program }
    }

    /// Columns `g`, `w` and `z` of a pair; `z` is valid only if the form has binaries.
    fn pair(&self, k: usize, index: usize) -> [usize; 3] {
        let width = if self.integers == Integers::Sos1 { 2 } else { 3 };
        let first = self.places[k].pairs + width * index;
        [first, first + 1, first + 2]
    }

    fn write_cost(&mut self) {
        let p = self.problem;
        let n = p.n_x();
        let mut constant = 0.0;
        for k in 0..=p.horizon {
            let (Q, goal) = (if k == p.horizon { &p.cost.Q_f } else { &p.cost.Q }, p.goal(k));
            for i in 0..n {
                let pull: f64 = (0..n).map(|j| Q[i * n + j] * goal[j]).sum();
                constant += goal[i] * pull;
                if k == 0 {
                    let at_start: f64 = (0..n).map(|j| Q[i * n + j] * self.x0[j]).sum();
                    constant += self.x0[i] * (at_start - 2.0 * pull);
                } else if pull != 0.0 {
                    self.program.linear.push((self.places[k - 1].x + i, -2.0 * pull));
                }
            }
            if k > 0 {
                self.write_square(Q, n, self.places[k - 1].x);
            }
            if k < p.horizon {
                self.write_square(&p.cost.R, p.n_u(), self.places[k].u);
            }
        }
        self.program.linear.push((ONE, constant));
    }

    /// Adds `vᵀ M v` for `n` consecutive columns.
    fn write_square(&mut self, M: &[f64], n: usize, first: usize) {
        for i in 0..n {
            for j in 0..=i {
                let both = if i == j { M[i * n + i] } else { M[i * n + j] + M[j * n + i] };
                if both != 0.0 {
                    self.program.quadratic.push((first + i, first + j, both));
                }
            }
        }
    }

    fn push_row(&mut self, name: String, terms: Vec<(usize, f64)>, sense: Sense, level: f64) {
        let terms = terms.into_iter().filter(|(_, value)| *value != 0.0).collect();
        self.program.rows.push(Row { name, terms, sense, level, only_if: None });
    }

    /// Writes the dynamics of step `k`, the rows of its pairs, and the complementarity conditions.
    fn write_step(&mut self, k: usize) {
        let p = self.problem;
        let (n, m, g) = (p.n_x(), p.n_u(), p.models[0].n_gamma);
        let lcs = &p.models[p.place(k)];
        let after = k + 1;
        let Places { u, x, .. } = self.places[k];
        let gammas: Vec<usize> = self.pairs[k].iter().map(|pair| pair.gamma).collect();
        for i in 0..n {
            let mut level = lcs.f[i];
            let mut terms = vec![(x + i, 1.0)];
            for j in 0..n {
                let a = lcs.A[i * n + j];
                match k.checked_sub(1) {
                    None => level += a * self.x0[j],
                    Some(before) => terms.push((self.places[before].x + j, -a)),
                }
            }
            terms.extend((0..m).map(|j| (u + j, -lcs.B[i * m + j])));
            let pushes = gammas.iter().enumerate();
            terms.extend(pushes.map(|(at, j)| (self.pair(k, at)[0], -lcs.C[i * g + j])));
            self.push_row(format!("d{after}_{i}"), terms, Sense::Equal, level);
        }
        for (at, &i) in gammas.iter().enumerate() {
            let [g_i, w_i, z_i] = self.pair(k, at);
            let mut terms = vec![(w_i, 1.0)];
            terms.extend((0..n).map(|j| (x + j, -lcs.D[i * n + j])));
            let pushes = gammas.iter().enumerate();
            terms.extend(pushes.map(|(at, j)| (self.pair(k, at)[0], -lcs.E[i * g + j])));
            self.push_row(format!("c{after}_{i}"), terms, Sense::Equal, lcs.a[i]);
            let [most_g, most_w] = self.pairs[k][at].most;
            match self.integers {
                Integers::Sos1 => {
                    self.program.sets.push((format!("s{after}_{i}"), [g_i, w_i]));
                }
                Integers::BigM => {
                    let (g_row, w_row) = (format!("mg{after}_{i}"), format!("mw{after}_{i}"));
                    self.push_row(g_row, vec![(g_i, 1.0), (z_i, -most_g)], Sense::AtMost, 0.0);
                    self.push_row(w_row, vec![(w_i, 1.0), (z_i, most_w)], Sense::AtMost, most_w);
                }
                Integers::Indicator => {
                    for (name, column, value) in [("ig", g_i, false), ("iw", w_i, true)] {
                        self.program.rows.push(Row {
                            name: format!("{name}{after}_{i}"),
                            terms: vec![(column, 1.0)],
                            sense: Sense::AtMost,
                            level: 0.0,
                            only_if: Some((z_i, value)),
                        });
                    }
                }
            }
        }
    }

    fn write_rates(&mut self, k: usize, last: Option<&[f64]>) {
        let problem = self.problem;
        let rate = &problem.bounds.input_rate;
        for j in 0..self.problem.n_u() {
            for (name, sense, level) in
                [("rl", Sense::AtLeast, rate.lower(j)), ("ru", Sense::AtMost, rate.upper(j))]
            {
                if !level.is_finite() || (k == 0 && last.is_none()) {
                    continue;
                }
                let mut terms = vec![(self.places[k].u + j, 1.0)];
                terms.extend(self.slack(rate, format!("s{name}{k}_{j}"), sense));
                let mut level = level;
                match k.checked_sub(1) {
                    Some(before) => terms.push((self.places[before].u + j, -1.0)),
                    None => level += last.map_or(0.0, |u| u[j]),
                }
                self.push_row(format!("{name}{k}_{j}"), terms, sense, level);
            }
        }
    }
}
