//! The same plan as a file for commercial and academic solvers: LP format with a quadratic objective.
//!
//! Nothing is condensed or reduced here: states, inputs and all of `gamma` stay variables, as in
//! MpcNote (11), so that whoever reads the file sees the note's problem. Only pairs that reachability
//! rules out are missing.

#![allow(non_snake_case)] // letters of MpcNote

use crate::error::ProblemError;
use crate::horizon::Relax;
use crate::lcs::{Reduced, Unit};
use crate::mpc::Mpc;
use crate::plan::Plan;
use crate::problem::{Limits, Problem};
use crate::reach::{StepReach, combine, contribution};
use std::fmt::Write as _;

/// How complementarity is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integers {
    /// Special ordered sets of type 1: of a row and its `gamma` one is 0.
    Sos1,
    /// MpcNote (11): a binary per pair. Each M is its own, found from the hard bounds by intervals.
    BigM,
}

/// Most terms on a line: readers of the format stop at 255 characters.
const TERMS: usize = 6;

/// One complementarity pair of the file.
struct Pair {
    gamma: usize,
    /// Largest `gamma` and row that any plan worth having needs.
    most: [f64; 2],
}

impl Mpc {
    /// The problem from `x0` in LP format, soft bounds as hard ones.
    ///
    /// Variables are `x1_0` (state 0 at step 1), `u0_0`, `g1_3` (entry 3 of `gamma` at the end of
    /// the first step), `w1_3` (its row) and `z1_3`; `one` is 1 and carries the constant of the cost.
    /// `warm` is the plan of the step before, for bounds on changes of inputs.
    ///
    /// # Errors
    ///
    /// `x0` does not fit; or for [`Integers::BigM`] an impulse that nothing bounds
    /// ([`ProblemError::NoBigM`]).
    pub fn export_lp(
        &mut self,
        x0: &[f64],
        warm: Option<&Plan>,
        integers: Integers,
    ) -> Result<String, ProblemError> {
        ProblemError::check_numbers("x0", x0, self.problem().n_x())?;
        let last = warm.and_then(|w| w.inputs.first()).map(Vec::as_slice);
        let last = last.filter(|u| u.len() == self.problem().n_u());
        let (problem, reduced, reach) = self.reached(x0, last, Relax::Nothing);
        let mut pairs = Vec::new();
        for k in 0..problem.horizon {
            let at = problem.place(k);
            pairs.push(step_pairs(problem, &reduced[at], &reach.steps[k], k, integers)?);
        }
        let mut file = File { problem, x0, text: String::new(), terms: 0, first: true };
        file.write_cost();
        file.write_rows(&pairs, last, integers);
        file.write_bounds(&pairs);
        file.write_integers(&pairs, integers);
        Ok(file.text)
    }
}

/// Pairs of one step that can act.
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
                // lambda need not exceed |v_t|, nor its rows twice that
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

struct File<'a> {
    problem: &'a Problem,
    x0: &'a [f64],
    text: String,
    /// Terms on this line.
    terms: usize,
    /// No term of the expression yet.
    first: bool,
}

impl File<'_> {
    fn put(&mut self, words: std::fmt::Arguments<'_>) {
        // writing to a String cannot fail
        let _ = self.text.write_fmt(words);
    }

    /// ` + 2.5 name`, on a new line now and then.
    fn term(&mut self, value: f64, name: std::fmt::Arguments<'_>) {
        if value == 0.0 {
            return;
        }
        if self.terms == TERMS {
            self.text.push_str("\n ");
            self.terms = 0;
        }
        self.terms += 1;
        // some readers take no plus in front
        let sign = match (value < 0.0, std::mem::take(&mut self.first)) {
            (true, _) => " -",
            (false, true) => "",
            (false, false) => " +",
        };
        self.put(format_args!("{sign} {} {name}", value.abs()));
    }

    fn start(&mut self) {
        self.terms = 0;
        self.first = true;
    }

    fn end(&mut self, sense: &str, level: f64) {
        self.put(format_args!(" {sense} {level}\n"));
        self.start();
    }

    fn write_cost(&mut self) {
        let p = self.problem;
        let (n, m, N) = (p.n_x(), p.n_u(), p.horizon);
        self.text.push_str("\\ contact-implicit MPC, MpcNote (10)\nMinimize\n cost:");
        let mut constant = 0.0;
        for k in 0..=N {
            let (Q, goal) = (if k == N { &p.cost.Q_f } else { &p.cost.Q }, p.goal(k));
            for i in 0..n {
                let pull: f64 = (0..n).map(|j| Q[i * n + j] * goal[j]).sum();
                constant += goal[i] * pull;
                if k > 0 {
                    self.term(-2.0 * pull, format_args!("x{k}_{i}"));
                } else {
                    let at_start: f64 = (0..n).map(|j| Q[i * n + j] * self.x0[j]).sum();
                    constant += self.x0[i] * (at_start - 2.0 * pull);
                }
            }
        }
        self.term(constant, format_args!("one"));
        self.text.push_str(" + [");
        self.first = true;
        for k in 1..=N {
            let Q = if k == N { &p.cost.Q_f } else { &p.cost.Q };
            self.square(Q, n, 'x', k);
        }
        for k in 0..N {
            self.square(&p.cost.R, m, 'u', k);
        }
        self.text.push_str(" ] / 2\nSubject To\n");
        self.start();
    }

    /// Twice `xᵀ M x`: the format halves what stands in brackets.
    fn square(&mut self, M: &[f64], n: usize, letter: char, k: usize) {
        for i in 0..n {
            self.term(2.0 * M[i * n + i], format_args!("{letter}{k}_{i}^2"));
            for j in 0..i {
                let both = 2.0 * (M[i * n + j] + M[j * n + i]);
                self.term(both, format_args!("{letter}{k}_{i} * {letter}{k}_{j}"));
            }
        }
    }

    fn write_rows(&mut self, pairs: &[Vec<Pair>], last: Option<&[f64]>, integers: Integers) {
        let p = self.problem;
        let (n, m, g) = (p.n_x(), p.n_u(), p.models[0].n_gamma);
        for k in 0..p.horizon {
            let lcs = &p.models[p.place(k)];
            let after = k + 1;
            for i in 0..n {
                self.put(format_args!(" d{after}_{i}:"));
                self.term(1.0, format_args!("x{after}_{i}"));
                let mut level = lcs.f[i];
                for j in 0..n {
                    let a = lcs.A[i * n + j];
                    if k == 0 {
                        level += a * self.x0[j];
                    } else {
                        self.term(-a, format_args!("x{k}_{j}"));
                    }
                }
                for j in 0..m {
                    self.term(-lcs.B[i * m + j], format_args!("u{k}_{j}"));
                }
                for pair in &pairs[k] {
                    self.term(-lcs.C[i * g + pair.gamma], format_args!("g{after}_{}", pair.gamma));
                }
                self.end("=", level);
            }
            for pair in &pairs[k] {
                let i = pair.gamma;
                self.put(format_args!(" c{after}_{i}:"));
                self.term(1.0, format_args!("w{after}_{i}"));
                for j in 0..n {
                    self.term(-lcs.D[i * n + j], format_args!("x{after}_{j}"));
                }
                for other in &pairs[k] {
                    self.term(
                        -lcs.E[i * g + other.gamma],
                        format_args!("g{after}_{}", other.gamma),
                    );
                }
                self.end("=", lcs.a[i]);
                if integers == Integers::BigM {
                    self.put(format_args!(" mg{after}_{i}:"));
                    self.term(1.0, format_args!("g{after}_{i}"));
                    self.term(-pair.most[0], format_args!("z{after}_{i}"));
                    self.end("<=", 0.0);
                    self.put(format_args!(" mw{after}_{i}:"));
                    self.term(1.0, format_args!("w{after}_{i}"));
                    self.term(pair.most[1], format_args!("z{after}_{i}"));
                    self.end("<=", pair.most[1]);
                }
            }
            self.write_rates(k, last);
        }
    }

    fn write_rates(&mut self, k: usize, last: Option<&[f64]>) {
        let rate = &self.problem.bounds.input_rate;
        for j in 0..self.problem.n_u() {
            for (name, sense, level) in [("rl", ">=", rate.lower(j)), ("ru", "<=", rate.upper(j))] {
                let before = last.map_or(0.0, |u| u[j]);
                if !level.is_finite() || (k == 0 && last.is_none()) {
                    continue;
                }
                self.put(format_args!(" {name}{k}_{j}:"));
                self.term(1.0, format_args!("u{k}_{j}"));
                if k > 0 {
                    self.term(-1.0, format_args!("u{}_{j}", k - 1));
                    self.end(sense, level);
                } else {
                    self.end(sense, level + before);
                }
            }
        }
    }

    fn write_bounds(&mut self, pairs: &[Vec<Pair>]) {
        let p = self.problem;
        self.text.push_str("Bounds\n one = 1\n");
        for k in 0..p.horizon {
            for i in 0..p.n_u() {
                self.write_range(&p.bounds.input, i, 'u', k);
            }
            for i in 0..p.n_x() {
                self.write_range(&p.bounds.state, i, 'x', k + 1);
            }
            pairs[k].iter().for_each(|pair| self.write_implied(k + 1, pair));
        }
    }

    /// Bounds that hold anyway: readers make more of ordered sets whose members have them.
    fn write_implied(&mut self, k: usize, pair: &Pair) {
        for (letter, most) in [('g', pair.most[0]), ('w', pair.most[1])] {
            if most.is_finite() {
                self.put(format_args!(" 0 <= {letter}{k}_{} <= {most}\n", pair.gamma));
            }
        }
    }

    fn write_range(&mut self, limits: &Limits, i: usize, letter: char, k: usize) {
        let (lower, upper) = (limits.lower(i), limits.upper(i));
        if lower.is_finite() {
            self.put(format_args!(" {letter}{k}_{i} >= {lower}\n"));
        } else {
            self.put(format_args!(" {letter}{k}_{i} >= -inf\n"));
        }
        if upper.is_finite() {
            self.put(format_args!(" {letter}{k}_{i} <= {upper}\n"));
        }
    }

    fn write_integers(&mut self, pairs: &[Vec<Pair>], integers: Integers) {
        let all =
            pairs.iter().enumerate().flat_map(|(k, p)| p.iter().map(move |p| (k + 1, p.gamma)));
        let names: Vec<(usize, usize)> = all.collect();
        if !names.is_empty() {
            self.text.push_str(match integers {
                Integers::BigM => "Binaries\n",
                Integers::Sos1 => "SOS\n",
            });
        }
        for (k, i) in names {
            match integers {
                Integers::BigM => self.put(format_args!(" z{k}_{i}\n")),
                Integers::Sos1 => {
                    self.put(format_args!(" s{k}_{i}: S1:: g{k}_{i}:1 w{k}_{i}:2\n"));
                }
            }
        }
        self.text.push_str("End\n");
    }
}
