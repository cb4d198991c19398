//! The whole horizon as one quadratic program with discrete modes, condensed to inputs and
//! impulses.
//!
//! ```text
//! y = (u_0, r_0, u_1, r_1, …)        x_k = G_k y + xbar_k
//! ```
//!
//! Variables are in order of time, so that `G_k` and every row at step `k` end early. `r_k` holds
//! `(c, t)` of the contacts and `gamma_i` of the pairs that can act in step `k`.

#![allow(non_snake_case)] // letters of MpcNote

use crate::constraint::{AtStep, Constraint};
use crate::lcs::{Reduced, Unit};
use crate::problem::{Problem, Relax};
use crate::reach::Reach;
use quasistep_qp::{Choices, Miqp, Rows, Side};

/// Indices of a contact's modes in its choice. Even modes have `v_t ≥ 0` and `t ≤ 0`.
pub(crate) const OPEN: [u8; 2] = [0, 1];
pub(crate) const STICK: [u8; 2] = [2, 3];
pub(crate) const SLIP: [u8; 2] = [4, 5];

/// Order of branching, as masks of modes: first the sign of friction, then contact, then stick or
/// slip. The open mode belongs to both halves of the first split: the friction of an open contact
/// is 0 for either sign of the speed.
const SPLITS: [u32; 3] = [0b01_0101, 0b00_0011, 0b00_1100];

/// Modes of a plain complementarity pair.
pub(crate) const IMPULSE_ZERO: u8 = 0;
pub(crate) const ROW_ZERO: u8 = 1;

/// Start of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start<'a> {
    pub x: &'a [f64],
    /// Input that was applied last.
    pub last_input: Option<&'a [f64]>,
}

/// A contact or pair that can act, and its position in the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Active {
    pub step: usize,
    /// Index in `Reduced::units`.
    pub unit: usize,
    pub variable: usize,
}

/// The condensed program, and the maps back to states and impulses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Horizon {
    pub n: usize,
    pub steps: usize,
    n_x: usize,
    pub P: Vec<f64>,
    pub c: Vec<f64>,
    /// Cost at `y = 0`, including the constant cost of the start.
    pub constant: f64,
    rows: Rows,
    b: Vec<f64>,
    sides: Vec<Side>,
    choices: Choices,
    /// Constraint to which each row belongs.
    pub tags: Vec<AtStep>,
    /// Index of the first input of each step.
    pub inputs: Vec<usize>,
    pub active: Vec<Active>,
    /// Violation variables, each with its soft bound.
    pub slacks: Vec<(usize, AtStep)>,
    /// Number of columns that affect the states up to state `k`.
    width: Vec<usize>,
    /// Matrices `G_k`, `(N + 1) × n_x × n`.
    G: Vec<f64>,
    /// Offsets `xbar_k`, `(N + 1) × n_x`.
    xbar: Vec<f64>,
    columns: Vec<u32>,
    values: Vec<f64>,
    QG: Vec<f64>,
}

impl Horizon {
    pub fn miqp(&self) -> Miqp<'_> {
        Miqp {
            n: self.n,
            P: &self.P,
            c: &self.c,
            A: &self.rows,
            b: &self.b,
            sides: &self.sides,
            choices: &self.choices,
        }
    }

    /// Computes state `k` at `y`.
    pub fn state(&self, k: usize, y: &[f64], x: &mut Vec<f64>) {
        x.clear();
        for i in 0..self.n_x {
            let row = &self.G[(k * self.n_x + i) * self.n..][..self.width[k]];
            let moved: f64 = row.iter().zip(y).map(|(g, y)| g * y).sum();
            x.push(self.xbar[k * self.n_x + i] + moved);
        }
    }

    /// Builds the program for the first `steps` steps.
    pub fn build(
        &mut self,
        problem: &Problem,
        reduced: &[Reduced],
        reach: &Reach,
        start: Start<'_>,
        relax: Relax,
        steps: usize,
    ) {
        self.steps = steps;
        self.n_x = problem.n_x();
        self.lay_out(problem, reduced, reach, relax);
        self.predict(problem, reduced, start.x);
        self.write_cost(problem, relax);
        self.rows.clear();
        self.b.clear();
        self.sides.clear();
        self.tags.clear();
        self.choices.clear();
        for k in 0..steps {
            self.push_inputs(problem, k, start.last_input);
            self.push_units(problem, reduced, k);
            self.push_states(problem, reach, k, relax);
        }
    }

    /// Numbers the variables in order of time.
    fn lay_out(&mut self, problem: &Problem, reduced: &[Reduced], reach: &Reach, relax: Relax) {
        let (n_x, n_u) = (problem.n_x(), problem.n_u());
        let bounds = &problem.bounds;
        self.inputs.clear();
        self.active.clear();
        self.slacks.clear();
        self.width.clear();
        self.width.push(0);
        let mut n = 0;
        for k in 0..self.steps {
            self.inputs.push(n);
            n += n_u;
            for (unit, item) in reduced[problem.place(k)].units.iter().enumerate() {
                if reach.steps[k].possible(unit) {
                    self.active.push(Active { step: k, unit, variable: n });
                    n += item.len();
                }
            }
            self.width.push(n);
            // violations come last, since states do not depend on them
            let mut slack = |step: usize, constraint: Constraint| {
                self.slacks.push((n, AtStep { step, constraint }));
                n += 1;
            };
            for (limits, size, step, names) in [
                (&bounds.input, n_u, k, [Constraint::InputLower, Constraint::InputUpper]),
                (&bounds.input_rate, n_u, k, [Constraint::RateLower, Constraint::RateUpper]),
                (&bounds.state, n_x, k + 1, [Constraint::StateLower, Constraint::StateUpper]),
            ] {
                if relax.weight(limits).is_some() {
                    for i in 0..size {
                        if limits.lower(i).is_finite() {
                            slack(step, names[0](i));
                        }
                        if limits.upper(i).is_finite() {
                            slack(step, names[1](i));
                        }
                    }
                }
            }
        }
        self.n = n;
    }

    /// Computes `G` and `xbar`.
    fn predict(&mut self, problem: &Problem, reduced: &[Reduced], x0: &[f64]) {
        let (n, n_x, n_u) = (self.n, self.n_x, problem.n_u());
        self.G.clear();
        self.G.resize((self.steps + 1) * n_x * n, 0.0);
        self.xbar.clear();
        self.xbar.extend_from_slice(x0);
        let mut active = 0;
        for k in 0..self.steps {
            let at = problem.place(k);
            let (lcs, r) = (&problem.models[at], &reduced[at]);
            let width = self.width[k];
            let (before, after) = self.G.split_at_mut((k + 1) * n_x * n);
            let before = &before[k * n_x * n..];
            let first = active;
            while self.active.get(active).is_some_and(|a| a.step == k) {
                active += 1;
            }
            for i in 0..n_x {
                let row = &mut after[i * n..(i + 1) * n];
                let mut xbar = lcs.f[i];
                for j in 0..n_x {
                    let a = lcs.A[i * n_x + j];
                    if a != 0.0 {
                        xbar += a * self.xbar[k * n_x + j];
                        for (g, old) in row[..width].iter_mut().zip(&before[j * n..]) {
                            *g += a * old;
                        }
                    }
                }
                row[self.inputs[k]..self.inputs[k] + n_u]
                    .copy_from_slice(&lcs.B[i * n_u..(i + 1) * n_u]);
                for a in &self.active[first..active] {
                    let unit = &r.units[a.unit];
                    let from = i * r.n_r + unit.variable();
                    row[a.variable..a.variable + unit.len()]
                        .copy_from_slice(&r.C[from..from + unit.len()]);
                }
                self.xbar.push(xbar);
            }
        }
    }

    fn write_cost(&mut self, problem: &Problem, relax: Relax) {
        let (n, n_x, n_u) = (self.n, self.n_x, problem.n_u());
        let cost = &problem.cost;
        self.P.clear();
        self.P.resize(n * n, 0.0);
        self.c.clear();
        self.c.resize(n, 0.0);
        self.constant = 0.0;
        for k in 0..=self.steps {
            let Q = if k == self.steps { &cost.Q_f } else { &cost.Q };
            let width = self.width[k];
            self.QG.clear();
            self.QG.resize(n_x * width, 0.0);
            for i in 0..n_x {
                let mut pull = 0.0;
                for j in 0..n_x {
                    let q = Q[i * n_x + j];
                    if q != 0.0 {
                        pull += q * (self.xbar[k * n_x + j] - problem.goal(k)[j]);
                        let row = &self.G[(k * n_x + j) * n..];
                        for (to, g) in self.QG[i * width..(i + 1) * width].iter_mut().zip(row) {
                            *to += q * g;
                        }
                    }
                }
                self.constant += (self.xbar[k * n_x + i] - problem.goal(k)[i]) * pull;
                let row = &self.G[(k * n_x + i) * n..][..width];
                for (a, g) in row.iter().enumerate() {
                    if *g != 0.0 {
                        self.c[a] += 2.0 * g * pull;
                        let QG = &self.QG[i * width..i * width + width];
                        // the lower triangle is extended to the full rows of G
                        for (p, q) in self.P[a * n..a * n + width].iter_mut().zip(QG) {
                            *p += 2.0 * g * q;
                        }
                    }
                }
            }
        }
        for k in 0..self.steps {
            for i in 0..n_u {
                for j in 0..n_u {
                    let at = (self.inputs[k] + i) * n + self.inputs[k] + j;
                    self.P[at] += 2.0 * cost.R[i * n_u + j];
                }
            }
        }
        for i in 0..n {
            for j in 0..i {
                let mean = 0.5 * (self.P[i * n + j] + self.P[j * n + i]);
                self.P[i * n + j] = mean;
                self.P[j * n + i] = mean;
            }
        }
        let bounds = &problem.bounds;
        for &(variable, at) in &self.slacks {
            use Constraint as Is;
            let limits = match at.constraint {
                Is::InputLower(_) | Is::InputUpper(_) => &bounds.input,
                Is::RateLower(_) | Is::RateUpper(_) => &bounds.input_rate,
                _ => &bounds.state,
            };
            let weight = relax.weight(limits).unwrap_or(0.0);
            self.c[variable] = weight;
            self.P[variable * n + variable] = 2.0 * weight;
        }
    }

    /// Appends a row from `columns` and `values`.
    fn push_row(&mut self, level: f64, side: Side, step: usize, constraint: Constraint) -> u32 {
        self.rows.push(&self.columns, &self.values);
        self.b.push(level);
        self.sides.push(side);
        self.tags.push(AtStep { step, constraint });
        self.b.len() as u32 - 1
    }

    /// Appends a row with few entries, with a violation variable if the bound is relaxed.
    fn push_bound(
        &mut self,
        entries: &[(usize, f64)],
        level: f64,
        side: Side,
        step: usize,
        constraint: Constraint,
    ) -> u32 {
        self.columns.clear();
        self.values.clear();
        for &(column, value) in entries {
            self.columns.push(column as u32);
            self.values.push(value);
        }
        self.join_slack(side, step, constraint);
        self.push_row(level, side, step, constraint)
    }

    fn join_slack(&mut self, side: Side, step: usize, constraint: Constraint) {
        let at = AtStep { step, constraint };
        if let Some(&(variable, _)) = self.slacks.iter().find(|s| s.1 == at) {
            self.columns.push(variable as u32);
            self.values.push(if side == Side::AtLeast { 1.0 } else { -1.0 });
        }
    }

    fn push_inputs(&mut self, problem: &Problem, k: usize, last_input: Option<&[f64]>) {
        let (input, rate) = (&problem.bounds.input, &problem.bounds.input_rate);
        for j in 0..problem.n_u() {
            let now = self.inputs[k] + j;
            for (level, side, name) in [
                (input.lower(j), Side::AtLeast, Constraint::InputLower(j)),
                (input.upper(j), Side::AtMost, Constraint::InputUpper(j)),
            ] {
                if level.is_finite() {
                    self.push_bound(&[(now, 1.0)], level, side, k, name);
                }
            }
            for (level, side, name) in [
                (rate.lower(j), Side::AtLeast, Constraint::RateLower(j)),
                (rate.upper(j), Side::AtMost, Constraint::RateUpper(j)),
            ] {
                if !level.is_finite() {
                    continue;
                }
                if k > 0 {
                    let before = self.inputs[k - 1] + j;
                    self.push_bound(&[(before, -1.0), (now, 1.0)], level, side, k, name);
                } else if let Some(last) = last_input {
                    self.push_bound(&[(now, 1.0)], level + last[j], side, k, name);
                }
            }
        }
        for s in 0..self.slacks.len() {
            let (variable, AtStep { step, constraint }) = self.slacks[s];
            // a violation belongs to the step whose inputs can cause it
            let own = match constraint {
                Constraint::StateLower(_) | Constraint::StateUpper(_) => step == k + 1,
                _ => step == k,
            };
            if own {
                self.columns.clear();
                self.columns.push(variable as u32);
                self.values.clear();
                self.values.push(1.0);
                self.push_row(0.0, Side::AtLeast, step, constraint);
            }
        }
    }

    /// Writes row `i` of the reduced system at step `k`, over `y`; returns its right-hand side.
    fn write_reduced_row(&mut self, r: &Reduced, k: usize, i: usize) -> f64 {
        let (n, n_x) = (self.n, self.n_x);
        let width = self.width[k + 1];
        self.columns.clear();
        self.columns.extend(0..width as u32);
        self.values.clear();
        self.values.resize(width, 0.0);
        let mut level = -r.a[i];
        for j in 0..n_x {
            let d = r.D[i * n_x + j];
            if d != 0.0 {
                level -= d * self.xbar[(k + 1) * n_x + j];
                let row = &self.G[((k + 1) * n_x + j) * n..];
                for (v, g) in self.values.iter_mut().zip(row) {
                    *v += d * g;
                }
            }
        }
        for a in self.active.iter().filter(|a| a.step == k) {
            let unit = &r.units[a.unit];
            for part in 0..unit.len() {
                self.values[a.variable + part] += r.E[i * r.n_r + unit.variable() + part];
            }
        }
        level
    }

    fn push_units(&mut self, problem: &Problem, reduced: &[Reduced], k: usize) {
        let r = &reduced[problem.place(k)];
        let limit = problem.bounds.impulse;
        for at in 0..self.active.len() {
            let Active { step, unit, variable } = self.active[at];
            if step != k {
                continue;
            }
            match r.units[unit] {
                Unit::Contact { row, contact, .. } => {
                    let (i, mu) = (contact.normal, contact.mu);
                    let (gap_at, rubs) = (Constraint::Contact(i), Constraint::Friction(i));
                    let level = self.write_reduced_row(r, k, row);
                    let gap = self.push_row(level, Side::AtLeast, k + 1, gap_at);
                    let level = self.write_reduced_row(r, k, row + 1);
                    let speed = self.push_row(level, Side::Free, k + 1, rubs);
                    let (c, t) = (variable, variable + 1);
                    let least = Side::AtLeast;
                    let normal = self.push_bound(&[(c, 1.0)], 0.0, least, k + 1, gap_at);
                    let force = self.push_bound(&[(t, 1.0)], 0.0, Side::Free, k + 1, rubs);
                    let back = self.push_bound(&[(c, mu), (t, 1.0)], 0.0, least, k + 1, rubs);
                    let forth = self.push_bound(&[(c, mu), (t, -1.0)], 0.0, least, k + 1, rubs);
                    self.push_contact([gap, speed, normal, force, back, forth]);
                    if let Some(limit) = limit {
                        let name = Constraint::Impulse(i);
                        self.push_bound(&[(c, 1.0)], limit, Side::AtMost, k + 1, name);
                    }
                }
                Unit::Pair { row, gamma, .. } => {
                    let name = Constraint::Contact(gamma);
                    let level = self.write_reduced_row(r, k, row);
                    let open = self.push_row(level, Side::AtLeast, k + 1, name);
                    let least = Side::AtLeast;
                    let acts = self.push_bound(&[(variable, 1.0)], 0.0, least, k + 1, name);
                    self.choices.push_pair(acts, open);
                    if let Some(limit) = limit {
                        let name = Constraint::Impulse(gamma);
                        self.push_bound(&[(variable, 1.0)], limit, Side::AtMost, k + 1, name);
                    }
                }
            }
        }
    }

    /// Appends the modes of a contact, in the order of [`OPEN`], [`STICK`] and [`SLIP`].
    fn push_contact(&mut self, [gap, speed, normal, force, back, forth]: [u32; 6]) {
        use Side::{AtLeast, AtMost, Equal};
        self.choices.push(
            &[
                &[(normal, Equal), (force, Equal), (speed, AtLeast)],
                &[(normal, Equal), (force, Equal), (speed, AtMost)],
                &[(gap, Equal), (speed, Equal), (force, AtMost)],
                &[(gap, Equal), (speed, Equal), (force, AtLeast)],
                // slipping forwards, friction has its full size backwards: t = −mu c
                &[(gap, Equal), (speed, AtLeast), (back, Equal), (force, AtMost)],
                &[(gap, Equal), (speed, AtMost), (forth, Equal), (force, AtLeast)],
            ],
            &SPLITS,
        );
    }

    /// Appends the bounds of state `k + 1` that the state can reach.
    fn push_states(&mut self, problem: &Problem, reach: &Reach, k: usize, relax: Relax) {
        let (n, n_x) = (self.n, self.n_x);
        let limits = &problem.bounds.state;
        let relaxed = relax.weight(limits).is_some();
        for i in 0..n_x {
            let (least, most) = reach.steps[k].x_unbounded[i];
            for (level, side, name, needed) in [
                (
                    limits.lower(i),
                    Side::AtLeast,
                    Constraint::StateLower(i),
                    least < limits.lower(i),
                ),
                (limits.upper(i), Side::AtMost, Constraint::StateUpper(i), most > limits.upper(i)),
            ] {
                if level.is_finite() && (needed || relaxed) {
                    let width = self.width[k + 1];
                    self.columns.clear();
                    self.columns.extend(0..width as u32);
                    self.values.clear();
                    let row = &self.G[((k + 1) * n_x + i) * n..][..width];
                    self.values.extend_from_slice(row);
                    self.join_slack(side, k + 1, name);
                    let level = level - self.xbar[(k + 1) * n_x + i];
                    self.push_row(level, side, k + 1, name);
                }
            }
        }
    }
}
