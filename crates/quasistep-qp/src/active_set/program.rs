//! Program of the active set: rows scaled to unit length and stored over the lanes that they span,
//! and a factorisation of the cost.

#![allow(non_snake_case)]
// P, L and J follow the literature; parts of a kernel must be inlined into it, because only the
// kernel is compiled with its instruction set
#![allow(clippy::inline_always)]

use super::factors::padded;
use super::kernels::{product, products};
use crate::tolerances::{ROW_ROUNDING, ROW_ROUNDING_OF_POINT};
use quasistep_linalg::Rows;
use quasistep_linalg::budget::Budget;
use quasistep_linalg::kernels::{axpy, cholesky, dot, zeros};
use quasistep_linalg::simd::LANES;
use quasistep_linalg::simd::{Isa, Lane, Simd, kernel, lanes};
use std::ops::Range;

/// Number of preceding rows among which an equal or opposite row is searched for. Lower and upper
/// bounds of one quantity are mostly close to each other.
const NEAR: usize = 32;

/// Type of a linear constraint on a row.
///
/// Types form a lattice: [`Equal`](Self::Equal) combines `AtLeast` and `AtMost`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Side {
    /// No constraint.
    #[default]
    Free = 0,
    /// `a·x ≥ b`.
    AtLeast = 1,
    /// `a·x ≤ b`.
    AtMost = 2,
    /// `a·x = b`.
    Equal = 3,
}

impl Side {
    fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Free,
            1 => Self::AtLeast,
            2 => Self::AtMost,
            _ => Self::Equal,
        }
    }

    /// Conjunction: both constraints together.
    pub fn and(self, other: Self) -> Self {
        Self::from_bits(self as u8 | other as u8)
    }

    /// The constraints that both types imply.
    pub(crate) fn common(self, other: Self) -> Self {
        Self::from_bits(self as u8 & other as u8)
    }

    pub(crate) fn below_forbidden(self) -> bool {
        self as u8 & 1 != 0
    }

    pub(crate) fn above_forbidden(self) -> bool {
        self as u8 & 2 != 0
    }

    /// Violation of a constraint with slack `s = a·x − b`, ≥ 0.
    pub(crate) fn violation(self, s: f64) -> f64 {
        match self {
            Self::Free => 0.0,
            Self::AtLeast => (-s).max(0.0),
            Self::AtMost => s.max(0.0),
            Self::Equal => s.abs(),
        }
    }
}
/// Rows scaled to length one. Vectors over the variables are padded with zeros to whole lanes.
#[derive(Debug, Default)]
pub(crate) struct UnitRows {
    /// Row vectors, in whole lanes. Rows that differ in sign and level only share one vector.
    values: Vec<f64>,
    spans: Vec<Span>,
    rows: Vec<UnitRow>,
    pub b: Vec<f64>,
    /// Length of each row before scaling; 1 for a row of zeros.
    pub length: Vec<f64>,
    row: Vec<f64>,
}

/// A vector that is zero outside the whole lanes `from..from + len`, and its index in `values`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    from: u32,
    len: u32,
    at: u32,
}

impl Span {
    #[inline(always)]
    fn here(self) -> Range<usize> {
        self.from as usize..(self.from + self.len) as usize
    }

    #[inline(always)]
    fn stored(self) -> Range<usize> {
        self.at as usize..(self.at + self.len) as usize
    }
}

/// The scalars of a row that pricing reads, stored together.
#[derive(Clone, Copy, Debug)]
struct UnitRow {
    span: Span,
    vector: u32,
    /// +1 or −1, the sign of the shared vector.
    sense: f64,
    b: f64,
}

/// A violated row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Violated {
    pub row: usize,
    /// +1 for a violated `≥`, −1 for `≤`.
    pub sign: f64,
    /// Slack with that sign, < 0.
    pub slack: f64,
}

impl UnitRows {
    fn clear(&mut self, n: usize) {
        self.values.clear();
        self.spans.clear();
        self.rows.clear();
        self.b.clear();
        self.length.clear();
        zeros(&mut self.row, padded(n));
    }

    /// Appends the row `Σ values_k scale(columns_k) x[columns_k]` with level `b`. Both are divided
    /// by the row's length.
    pub fn push(&mut self, columns: &[u32], values: &[f64], scale: impl Fn(usize) -> f64, b: f64) {
        let least = columns.iter().min().map_or(0, |&c| c as usize);
        let most = columns.iter().max().map_or(0, |&c| c as usize + 1);
        for (&c, v) in columns.iter().zip(values) {
            self.row[c as usize] += v * scale(c as usize);
        }
        self.push_row(least..most, b);
    }

    fn push_unit(&mut self, vector: usize, sense: f64, length: f64, b: f64) {
        let b = b / length;
        self.rows.push(UnitRow { span: self.spans[vector], vector: vector as u32, sense, b });
        self.length.push(length);
        self.b.push(b);
    }

    /// Appends the row in the scratch `row`, which is zero outside `used`.
    fn push_row(&mut self, used: Range<usize>, b: f64) {
        let length = dot(&self.row[used.clone()], &self.row[used.clone()]).sqrt();
        let length = if length > 0.0 && length.is_finite() { length } else { 1.0 };
        let first = self.row[used.clone()].iter().find(|v| **v != 0.0);
        let sense = if first.is_some_and(|v| *v < 0.0) { -1.0 } else { 1.0 };
        let scale = sense / length;
        self.row[used.clone()].iter_mut().for_each(|v| *v *= scale);
        let from = used.start / LANES * LANES;
        let vector = self.vector(from, padded(used.end) - from);
        self.row[used].fill(0.0);
        self.push_unit(vector, sense, length, b);
    }

    /// Index of the vector in the scratch `row`: that of an equal or opposite stored vector if
    /// there is one, else a new one.
    fn vector(&mut self, from: usize, len: usize) -> usize {
        let row = &self.row[from..from + len];
        let at = self.values.len() as u32;
        let span = Span { from: from as u32, len: len as u32, at };
        let alike =
            |s: &Span| s.from == span.from && s.len == span.len && self.values[s.stored()] == *row;
        let known = self.spans.iter().rev().take(NEAR).position(alike);
        if let Some(back) = known {
            return self.spans.len() - 1 - back;
        }
        self.spans.push(span);
        self.values.extend_from_slice(row);
        self.spans.len() - 1
    }

    /// Sum of the magnitudes of a slack's terms, `|b_i| + Σ_j |a_ij x_j|`, the reference size of
    /// its rounding.
    #[inline(always)]
    pub fn terms(&self, i: usize, x: &[f64]) -> f64 {
        let UnitRow { span, b, .. } = self.rows[i];
        let a = &self.values[span.stored()];
        b.abs() + a.iter().zip(&x[span.here()]).map(|(a, x)| (a * x).abs()).sum::<f64>()
    }

    /// Slacks of up to four rows; missing ones are zero.
    #[inline(always)]
    fn four_slacks<S: Simd>(&self, four: &[u32], x: &[f64]) -> Lane {
        let row = |i: u32| &self.rows[i as usize];
        let vector = |row: &UnitRow| lanes(&self.values[row.span.stored()]);
        let mut out = [0.0; LANES];
        if let &[a, b, c, d] = four {
            let four = [row(a), row(b), row(c), row(d)];
            let UnitRow { span, .. } = four[0];
            if four.iter().all(|row| (row.span.from, row.span.len) == (span.from, span.len)) {
                let along = products::<S>(four.map(vector), lanes(&x[span.here()]));
                let (sense, b) = (four.map(|row| row.sense), four.map(|row| -row.b));
                S::store(S::fma(along, S::load(&sense), S::load(&b)), &mut out);
                return out;
            }
        }
        // lower and upper bounds of one quantity are mostly consecutive
        let (mut last, mut along) = (u32::MAX, 0.0);
        for (out, i) in out.iter_mut().zip(four) {
            let UnitRow { span, vector: own, sense, b } = *row(*i);
            if own != last {
                (last, along) = (own, product::<S>(vector(row(*i)), lanes(&x[span.here()])));
            }
            *out = sense * along - b;
        }
        out
    }

    /// Index of the first entry of a row's vector, the vector in whole lanes, and its sign.
    #[inline(always)]
    pub fn row(&self, i: usize) -> (usize, &[f64], f64) {
        let UnitRow { span, sense, .. } = self.rows[i];
        (span.from as usize, &self.values[span.stored()], sense)
    }
}

/// A point, and the size of its entries.
#[derive(Clone, Copy)]
pub(super) struct Point<'a> {
    pub x: &'a [f64],
    pub size: f64,
}

kernel! {
    /// Pricing: the most violated row of `list` that is not skipped. Violations up to the rounding
    /// of a slack's terms, or of `size`, count as zero.
    worst(
        rows: &UnitRows,
        sides: &[Side],
        list: &[u32],
        passed: &[bool],
        point: Point<'_>,
        rounding: f64,
    ) -> Option<Violated> {
        let Point { x, size } = point;
        let least = rounding * ROW_ROUNDING_OF_POINT * size;
        let mut worst = -least;
        let mut pick = None;
        for four in list.chunks(LANES) {
            for (&row, s) in four.iter().zip(rows.four_slacks::<S>(four, x)) {
                let i = row as usize;
                let (sign, slack) = match sides[i] {
                    Side::AtLeast => (1.0, s),
                    Side::AtMost => (-1.0, -s),
                    _ => (if s < 0.0 { 1.0 } else { -1.0 }, -s.abs()),
                };
                // first the test that few rows pass
                if slack < worst
                    && !passed[i]
                    && slack < -least - rounding * ROW_ROUNDING * rows.terms(i, x)
                {
                    worst = slack;
                    pick = Some(Violated { row: i, sign, slack });
                }
            }
        }
        pick
    }
}

kernel! {
    /// Slacks of all rows.
    slacks(rows: &UnitRows, x: &[f64], out: &mut Vec<f64>) {
        out.clear();
        let (mut last, mut along) = (u32::MAX, 0.0);
        for &UnitRow { span, vector, sense, b } in &rows.rows {
            if vector != last {
                last = vector;
                along = product::<S>(lanes(&rows.values[span.stored()]), lanes(&x[span.here()]));
            }
            out.push(sense * along - b);
        }
    }
}

kernel! {
    /// `1/2 xᵀPx + cᵀx`; columns of `P` are `stride` entries apart.
    cost(P: &[f64], stride: usize, c: &[f64], x: &[f64]) -> f64 {
        let mut sum = 0.0;
        for ((x_i, c_i), P_i) in x.iter().zip(c).zip(P.chunks_exact(stride.max(1))) {
            sum += x_i * (0.5 * product::<S>(lanes(P_i), lanes(x)) + c_i);
        }
        sum
    }
}

/// Unit rows, and the cost `1/2 xᵀ(P + Δ)x + (c − Δ x̂)ᵀx` with `Δ = diag(delta) ≥ 0`.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub isa: Isa,
    pub n: usize,
    pub rows: UnitRows,
    /// Cost without Δ; rows are padded to whole lanes.
    P: Vec<f64>,
    pub c: Vec<f64>,
    pub delta: Vec<f64>,
    /// Whether some entry of `delta` is nonzero: the cost alone is then singular.
    pub singular: bool,
    /// `P + Δ = L Lᵀ`, `n × n`.
    pub L: Vec<f64>,
    /// Column of the first nonzero entry of each row of `P`, up to its diagonal.
    pub first: Vec<u32>,
    pub budget: Budget,
}

impl Program {
    /// Resets to a program of `n` variables without cost or rows.
    pub fn clear(&mut self, n: usize) {
        self.n = n;
        self.rows.clear(n);
        zeros(&mut self.P, n * padded(n));
        zeros(&mut self.c, padded(n));
        zeros(&mut self.delta, n);
        self.singular = false;
    }

    /// Appends rows; see [`UnitRows::push`].
    pub fn push_rows(&mut self, A: &Rows, b: &[f64], scale: impl Fn(usize) -> f64) {
        for (i, &b) in b.iter().enumerate() {
            let (columns, values) = A.row(i);
            self.rows.push(columns, values, &scale, b);
        }
    }

    /// Number of rows.
    pub fn m(&self) -> usize {
        self.rows.b.len()
    }

    /// Row `i` of `P`, padded to whole lanes.
    pub fn P(&self, i: usize) -> &[f64] {
        &self.P[i * padded(self.n)..][..padded(self.n)]
    }

    pub fn P_mut(&mut self, i: usize) -> &mut [f64] {
        let stride = padded(self.n);
        &mut self.P[i * stride..][..stride]
    }

    /// Factorises `P + Δ`.
    ///
    /// `lift` receives a variable, its diagonal entry and its pivot. The number that it returns is
    /// added to both; `None` ends the factorisation.
    ///
    /// # Errors
    ///
    /// The variable whose pivot `lift` rejects.
    pub fn factor(
        &mut self,
        mut lift: impl FnMut(usize, f64, f64) -> Option<f64>,
    ) -> Result<(), usize> {
        let n = self.n;
        self.budget.spend((n * n * (n + 1)) as u64 / 2);
        self.L.clear();
        self.first.clear();
        for i in 0..n {
            let row = &self.P[i * padded(n)..][..n];
            self.first.push(row[..i].iter().position(|v| *v != 0.0).unwrap_or(i) as u32);
            self.L.extend_from_slice(row);
            self.L[i * n + i] += self.delta[i];
        }
        let (delta, P, stride) = (&mut self.delta, &self.P, padded(n));
        cholesky(&mut self.L, n, &self.first, |i, pivot| {
            let more = lift(i, P[i * stride + i], pivot)?;
            delta[i] += more;
            Some(pivot + more)
        })?;
        self.singular = self.delta.iter().any(|d| *d > 0.0);
        Ok(())
    }

    /// Limit of pivots of a solve. More pivots indicate cycling by rounding.
    pub fn most_pivots(&self) -> u64 {
        500 + 50 * (self.n + self.m()) as u64
    }

    /// Multiply-adds of pricing all rows.
    pub fn pricing_work(&self) -> u64 {
        self.rows.values.len() as u64
    }

    /// Multiply-adds of one pivot: a direction and an update of the factors.
    pub fn pivot_work(&self) -> u64 {
        4 * (self.n * self.n) as u64
    }

    /// Slack `a_i·x − b_i` of a unit row.
    pub fn slack(&self, i: usize, x: &[f64]) -> f64 {
        let (from, a, sense) = self.rows.row(i);
        sense * dot(a, &x[from..from + a.len()]) - self.rows.b[i]
    }

    /// `y += factor a_i`, with `y` padded to whole lanes.
    pub fn add_row(&self, i: usize, factor: f64, y: &mut [f64]) {
        let (from, a, sense) = self.rows.row(i);
        axpy(sense * factor, a, &mut y[from..from + a.len()]);
    }

    /// Rounding error of a row's slack: a share of its terms and of the point's size.
    pub fn rounding(&self, i: usize, x: &[f64], size: f64) -> f64 {
        ROW_ROUNDING * self.rows.terms(i, x) + ROW_ROUNDING_OF_POINT * size
    }

    /// Slacks of all unit rows.
    pub fn slacks(&self, x: &[f64], out: &mut Vec<f64>) {
        slacks(self.isa, &self.rows, x, out);
    }

    /// `1/2 xᵀPx + cᵀx`, without the proximal term.
    pub fn cost(&self, x: &[f64]) -> f64 {
        cost(self.isa, &self.P, padded(self.n), &self.c, x)
    }
}

/// Outcome of a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// `x` is the minimiser.
    Solved,
    /// The cost exceeded the cutoff. [`ActiveSet::lower`](super::ActiveSet::lower) is a valid lower
    /// bound.
    Cut,
    /// A row is inconsistent with the working set; `r` holds the Farkas certificate.
    Infeasible { row: u32 },
    /// The limit of pivots or work was reached. Only [`ActiveSet::lower`](super::ActiveSet::lower)
    /// from before the call is valid.
    Pivots,
}

/// How a solve starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// From the current factors, after dropping rows whose multiplier has the wrong sign.
    Anew,
    /// From the solution of a program with a subset of the constraints: `x` and `u` belong to the
    /// factors, and all working rows keep their side.
    Child,
    /// Like [`Child`](Self::Child), but the point is not recomputed at the end. Suffices for a
    /// lower bound, or if the caller computes the point from the working set.
    Trial,
}

/// Limits and tolerances of a solve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Squared sine of the angle of a row to the span of the working set, in the metric of the
    /// cost, below which it counts as dependent. Rounding causes about 1e-28, inaccurate data about
    /// 1e-18.
    pub dependent: f64,
    /// The solve ends when the dual cost exceeds this value.
    pub cutoff: f64,
    /// Radius around `x` within which certificates and bounds must hold, in the unit of the
    /// variables.
    pub reach: f64,
    pub max_pivots: u64,
}
