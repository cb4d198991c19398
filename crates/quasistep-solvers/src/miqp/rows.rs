//! The problem as the nodes read it: unit rows, packed over the lanes they span, and a factor of the cost.

#![allow(non_snake_case)]
// P, L and J are the letters of the literature
// a kernel's parts must be compiled with its instructions, so they must be inside it
#![allow(clippy::inline_always)]

use super::problem::{Miqp, Side};
use crate::active_factors::kernels::product;
use crate::active_factors::padded;
use crate::budget::Budget;
use crate::cone::kernels::{Isa, kernel, lanes};
use crate::cone::program::LANES;
use crate::kernels::{dot, zeros};
use crate::qp::Reason;

/// A pivot of the cost below this share of its diagonal entry carries no curvature to rely on.
const NO_CURVATURE: f64 = 1e-9;

/// Curvature given to such a variable, as a share of its diagonal entry.
const PROXIMAL: f64 = 1e-7;

/// Rows whose vectors are the same but for their sense stand near one another: bounds of one quantity from both sides.
const NEAR: usize = 32;

/// Violation of a unit row, as a share of its level, taken for zero.
pub(crate) const FEASIBLE: f64 = 1e-12;

/// Rows of length one. Vectors of variables are as long as whole lanes, zeros at the end.
#[derive(Debug, Default)]
pub(crate) struct UnitRows {
    /// What rows that differ in sense and level alone share, whole lanes of each.
    values: Vec<f64>,
    spans: Vec<Span>,
    rows: Vec<UnitRow>,
    pub b: Vec<f64>,
    /// Length of each row before scaling; 1 for a row of zeros.
    pub length: Vec<f64>,
    row: Vec<f64>,
}

/// Whole lanes `from..from + len` of a vector, zero elsewhere, and where they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    from: u32,
    len: u32,
    at: u32,
}

impl Span {
    #[inline(always)]
    fn here(self) -> std::ops::Range<usize> {
        self.from as usize..(self.from + self.len) as usize
    }

    #[inline(always)]
    fn stored(self) -> std::ops::Range<usize> {
        self.at as usize..(self.at + self.len) as usize
    }
}

/// All that a scan reads of a row besides its vector's numbers: side by side in memory.
#[derive(Clone, Copy, Debug)]
struct UnitRow {
    span: Span,
    vector: u32,
    /// +1 or −1.
    sense: f64,
    b: f64,
}

/// A row that is on a forbidden side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Violated {
    pub row: usize,
    /// +1 where it is wanted at least at its level, −1 at most.
    pub sign: f64,
    /// How far it is from its level in that sense, < 0.
    pub slack: f64,
}

impl UnitRows {
    fn build(&mut self, p: &Miqp<'_>) {
        self.values.clear();
        self.spans.clear();
        self.rows.clear();
        self.b.clear();
        self.length.clear();
        zeros(&mut self.row, padded(p.n));
        for (i, &b) in p.b.iter().enumerate() {
            let (columns, _) = p.A.row(i);
            let least = columns.iter().min().map_or(0, |&c| c as usize);
            let most = columns.iter().max().map_or(0, |&c| c as usize + 1);
            p.A.add_to(i, 1.0, &mut self.row);
            let used = least.min(most)..most;
            let length = dot(&self.row[used.clone()], &self.row[used.clone()]).sqrt();
            let length = if length > 0.0 && length.is_finite() { length } else { 1.0 };
            let first = self.row[used.clone()].iter().find(|v| **v != 0.0);
            let sense = if first.is_some_and(|v| *v < 0.0) { -1.0 } else { 1.0 };
            for v in &mut self.row[used.clone()] {
                *v = sense * *v / length;
            }
            let from = used.start / LANES * LANES;
            let vector = self.vector(from, padded(used.end) - from);
            self.row[used].fill(0.0);
            let b = b / length;
            self.rows.push(UnitRow { span: self.spans[vector], vector: vector as u32, sense, b });
            self.length.push(length);
            self.b.push(b);
        }
    }

    /// Number of the vector in `row`, or of the one like it.
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

    /// Where a row's vector begins, its lanes, and its sense.
    #[inline(always)]
    pub fn row(&self, i: usize) -> (usize, &[f64], f64) {
        let UnitRow { span, sense, .. } = self.rows[i];
        (span.from as usize, &self.values[span.stored()], sense)
    }
}

kernel! {
    /// The row of `list` that is furthest on a side that `sides` forbid, among those not passed over; violations up to
    /// `least` and the rounding of a level are none.
    worst(rows: &UnitRows, sides: &[Side], list: &[u32], passed: &[bool], x: &[f64], least: f64) -> Option<Violated> {
        let mut worst = -least;
        let mut pick = None;
        let (mut last, mut along) = (u32::MAX, 0.0);
        for &row in list {
            let i = row as usize;
            if passed[i] {
                continue;
            }
            let UnitRow { span, vector, sense, b } = rows.rows[i];
            // the two sides of one quantity follow one another
            if vector != last {
                last = vector;
                along = product::<S>(lanes(&rows.values[span.stored()]), lanes(&x[span.here()]));
            }
            let s = sense * along - b;
            let (sign, slack) = match sides[i] {
                Side::AtLeast => (1.0, s),
                Side::AtMost => (-1.0, -s),
                _ => (if s < 0.0 { 1.0 } else { -1.0 }, -s.abs()),
            };
            if slack < worst && slack < -least - FEASIBLE * b.abs() {
                worst = slack;
                pick = Some(Violated { row: i, sign, slack });
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
    /// `1/2 xᵀPx + cᵀx`; columns of `P` are `stride` apart.
    cost(P: &[f64], stride: usize, c: &[f64], x: &[f64]) -> f64 {
        let mut sum = 0.0;
        for ((x_i, c_i), P_i) in x.iter().zip(c).zip(P.chunks_exact(stride.max(1))) {
            sum += x_i * (0.5 * product::<S>(lanes(P_i), lanes(x)) + c_i);
        }
        sum
    }
}

/// Unit rows, and the cost `1/2 xᵀ(P + Δ)x + (c − Δ x̂)ᵀx` with `Δ = diag(delta) ≥ 0`.
#[derive(Debug)]
pub(crate) struct Data {
    pub isa: Isa,
    pub n: usize,
    pub m: usize,
    pub rows: UnitRows,
    /// Without Δ; rows as long as whole lanes.
    P: Vec<f64>,
    pub c: Vec<f64>,
    pub delta: Vec<f64>,
    /// Some entry of `delta` is not zero: the cost alone does not place every variable.
    pub singular: bool,
    /// `P + Δ = L Lᵀ`, `n × n`.
    pub L: Vec<f64>,
    /// All zeros: the factor is dense.
    pub first: Vec<u32>,
    pub budget: Budget,
}

impl Default for Data {
    fn default() -> Self {
        Self {
            isa: Isa::detect(),
            n: 0,
            m: 0,
            rows: UnitRows::default(),
            P: Vec::new(),
            c: Vec::new(),
            delta: Vec::new(),
            singular: false,
            L: Vec::new(),
            first: Vec::new(),
            budget: Budget::default(),
        }
    }
}

impl Data {
    /// # Errors
    ///
    /// [`Reason::NotConvex`] where `P` has a direction of negative curvature.
    /// Multiply-adds of one pivot: a direction, a change of the factors, and a look at all rows.
    pub fn pivot_work(&self) -> u64 {
        (2 * self.n * (2 * self.n + self.m)) as u64
    }

    pub fn build(&mut self, p: &Miqp<'_>) -> Result<(), Reason> {
        let n = p.n;
        let stride = padded(n);
        (self.n, self.m) = (n, p.A.len());
        self.rows.build(p);
        zeros(&mut self.P, n * stride);
        for i in 0..n {
            self.P[i * stride..i * stride + n].copy_from_slice(&p.P[i * n..(i + 1) * n]);
        }
        zeros(&mut self.c, stride);
        self.c[..n].copy_from_slice(p.c);
        self.L.clear();
        self.L.extend_from_slice(p.P);
        self.factor()
    }

    fn factor(&mut self) -> Result<(), Reason> {
        let n = self.n;
        zeros(&mut self.delta, n);
        self.singular = false;
        let mean = (0..n).map(|i| self.L[i * n + i].abs()).sum::<f64>() / n.max(1) as f64;
        for i in 0..n {
            let (done, rest) = self.L.split_at_mut(i * n);
            let row = &mut rest[..=i];
            let own = row[i].abs();
            let mut pivot = row[i];
            for j in 0..i {
                let L_j = &done[j * n..=j * n + j];
                let v = (row[j] - dot(&row[..j], &L_j[..j])) / L_j[j];
                row[j] = v;
                pivot -= v * v;
            }
            if pivot <= NO_CURVATURE * own {
                if pivot < -NO_CURVATURE * own.max(mean) || !pivot.is_finite() {
                    return Err(Reason::NotConvex);
                }
                let size = [own, mean, 1.0].into_iter().find(|s| *s > 0.0).unwrap_or(1.0);
                self.delta[i] = PROXIMAL * size;
                self.singular = true;
                pivot = pivot.max(0.0) + self.delta[i];
            }
            row[i] = pivot.sqrt();
        }
        self.first.clear();
        self.first.resize(n, 0);
        Ok(())
    }

    /// `a_i·x − b_i` of the scaled row.
    pub fn slack(&self, i: usize, x: &[f64]) -> f64 {
        let (from, a, sense) = self.rows.row(i);
        sense * dot(a, &x[from..from + a.len()]) - self.rows.b[i]
    }

    /// The same for all rows.
    pub fn slacks(&self, x: &[f64], out: &mut Vec<f64>) {
        slacks(self.isa, &self.rows, x, out);
    }

    /// `1/2 xᵀPx + cᵀx`, without the proximal term.
    pub fn cost(&self, x: &[f64]) -> f64 {
        cost(self.isa, &self.P, padded(self.n), &self.c, x)
    }
}
