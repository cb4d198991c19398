//! Inner loops of the active sets, on SIMD lanes. Columns begin at multiples of `stride`, a
//! multiple of the lane width, and are padded with zeros, so that no loop has a remainder. The last
//! functions compute `CᵀC` of few columns and its inverse.

#![allow(non_snake_case)]
// J, M and R follow the literature; parts of a kernel must be inlined into it, because only the
// kernel is compiled with its instruction set
#![allow(clippy::inline_always)]

use crate::cone::blocks::simd::{Lane, Simd, kernel, lanes, lanes_mut};
use crate::cone::program::LANES;
use crate::tolerances::GRAM_SINGULAR;

kernel! {
    /// `out_j = a · M_j[from..]` for the first columns `j`, as many as `out` has entries. `from`
    /// and the length of `a` are multiples of the lane width.
    columns_times(M: &[f64], stride: usize, from: usize, a: &[f64], out: &mut [f64]) {
        let column = |j: usize| lanes(&M[j * stride + from..][..a.len()]);
        let a = lanes(a);
        let (fours, rest) = out.as_chunks_mut::<LANES>();
        let done = fours.len() * LANES;
        for (k, out) in fours.iter_mut().enumerate() {
            let j = k * LANES;
            S::store(products::<S>([column(j), column(j + 1), column(j + 2), column(j + 3)], a), out);
        }
        for (k, out) in rest.iter_mut().enumerate() {
            *out = product::<S>(a, column(done + k));
        }
    }
}

kernel! {
    /// `out += Σ_j s_j M_j`, over the columns from `first` on.
    add_columns(M: &[f64], stride: usize, first: usize, s: &[f64], out: &mut [f64]) {
        let column = |j: usize| lanes(&M[(first + j) * stride..][..stride]);
        let out = lanes_mut(out);
        let (fours, rest) = s.as_chunks::<LANES>();
        for (k, s) in fours.iter().enumerate() {
            if *s == [0.0; LANES] {
                continue;
            }
            let j = k * LANES;
            let (c0, c1, c2, c3) = (column(j), column(j + 1), column(j + 2), column(j + 3));
            let [s0, s1, s2, s3] = [S::splat(s[0]), S::splat(s[1]), S::splat(s[2]), S::splat(s[3])];
            for ((((y, c0), c1), c2), c3) in out.iter_mut().zip(c0).zip(c1).zip(c2).zip(c3) {
                // two independent sums, because each addition waits for the last one
                let even = S::fma(s2, S::load(c2), S::fma(s0, S::load(c0), S::load(y)));
                let odd = S::fma(s3, S::load(c3), S::mul(s1, S::load(c1)));
                S::store(S::add(even, odd), y);
            }
        }
        for (k, s) in rest.iter().enumerate() {
            let s = S::splat(*s);
            for (y, c) in out.iter_mut().zip(column(fours.len() * LANES + k)) {
                S::store(S::fma(s, S::load(c), S::load(y)), y);
            }
        }
    }
}

kernel! {
    /// `M_j += s_j v` for the columns from `first` on.
    add_to_columns(M: &mut [f64], stride: usize, first: usize, s: &[f64], factor: f64, v: &[f64]) {
        for (column, s) in M[first * stride..].chunks_exact_mut(stride).zip(s) {
            if *s != 0.0 {
                let s = S::splat(factor * s);
                for (y, v) in lanes_mut(column).iter_mut().zip(lanes(v)) {
                    S::store(S::fma(s, S::load(v), S::load(y)), y);
                }
            }
        }
    }
}

kernel! {
    /// Givens rotation of two columns: `(a, b) ← (c a + s b, c b − s a)`.
    rotate(a: &mut [f64], b: &mut [f64], c: f64, s: f64) {
        let (c, s, minus) = (S::splat(c), S::splat(s), S::splat(-s));
        for (x, y) in lanes_mut(a).iter_mut().zip(lanes_mut(b)) {
            let (p, q) = (S::load(x), S::load(y));
            S::store(S::fma(c, p, S::mul(s, q)), x);
            S::store(S::fma(c, q, S::mul(minus, p)), y);
        }
    }
}

kernel! {
    /// `r ← R⁻¹ r`, with `R` upper triangular and stored by columns.
    solve_upper(R: &[f64], stride: usize, r: &mut [f64]) {
        for block in (0..r.len().div_ceil(LANES)).rev() {
            let (from, to) = (block * LANES, r.len().min((block + 1) * LANES));
            let mut values = [0.0; LANES];
            for k in (from..to).rev() {
                // the division does not depend on the earlier entries
                let value = r[k] * (1.0 / R[k * stride + k]);
                r[k] = value;
                values[k - from] = value;
                for i in from..k {
                    r[i] -= value * R[k * stride + i];
                }
            }
            // the part of the block's columns above the block
            let above = &mut r[..from];
            if to - from == LANES {
                let column = |k: usize| lanes(&R[k * stride..][..from]);
                let (c0, c1) = (column(from), column(from + 1));
                let (c2, c3) = (column(from + 2), column(from + 3));
                let [v0, v1, v2, v3] = values;
                let [s0, s1, s2, s3] = [S::splat(-v0), S::splat(-v1), S::splat(-v2), S::splat(-v3)];
                for ((((y, c0), c1), c2), c3) in lanes_mut(above).iter_mut().zip(c0).zip(c1).zip(c2).zip(c3) {
                    let even = S::fma(s2, S::load(c2), S::fma(s0, S::load(c0), S::load(y)));
                    let odd = S::fma(s3, S::load(c3), S::mul(s1, S::load(c1)));
                    S::store(S::add(even, odd), y);
                }
            } else {
                for k in from..to {
                    let s = S::splat(-values[k - from]);
                    for (y, c) in lanes_mut(above).iter_mut().zip(lanes(&R[k * stride..][..from])) {
                        S::store(S::fma(s, S::load(c), S::load(y)), y);
                    }
                }
            }
        }
    }
}

kernel! {
    /// `w ← R⁻ᵀ w`.
    solve_upper_transposed(R: &[f64], stride: usize, w: &mut [f64]) {
        for from in (0..w.len()).step_by(LANES) {
            let to = w.len().min(from + LANES);
            for k in from..to {
                let column = &R[k * stride..];
                let mut sum = w[k] - product::<S>(lanes(&w[..from]), lanes(&column[..from]));
                for i in from..k {
                    sum -= column[i] * w[i];
                }
                w[k] = sum * (1.0 / column[k]);
            }
        }
    }
}

/// Inner product of two vectors of equal numbers of lanes.
#[inline(always)]
pub(crate) fn product<S: Simd>(a: &[Lane], b: &[Lane]) -> f64 {
    let (mut even, mut odd) = (S::zero(), S::zero());
    let (a2, a_rest) = a.as_chunks::<2>();
    let (b2, b_rest) = b.as_chunks::<2>();
    for ([a0, a1], [b0, b1]) in a2.iter().zip(b2) {
        even = S::fma(S::load(a0), S::load(b0), even);
        odd = S::fma(S::load(a1), S::load(b1), odd);
    }
    for (a, b) in a_rest.iter().zip(b_rest) {
        even = S::fma(S::load(a), S::load(b), even);
    }
    S::sum(S::add(even, odd))
}

/// Inner products of four columns with another one, all of equal length.
#[inline(always)]
pub(crate) fn products<S: Simd>([a, b, c, d]: [&[Lane]; LANES], other: &[Lane]) -> S::V {
    let mut dots = [S::zero(); LANES];
    for ((((a, b), c), d), v) in a.iter().zip(b).zip(c).zip(d).zip(other) {
        let v = S::load(v);
        dots[0] = S::fma(S::load(a), v, dots[0]);
        dots[1] = S::fma(S::load(b), v, dots[1]);
        dots[2] = S::fma(S::load(c), v, dots[2]);
        dots[3] = S::fma(S::load(d), v, dots[3]);
    }
    S::sums(dots)
}

/// Splits four columns of equal length that are contiguous in memory.
#[inline(always)]
pub(crate) fn quarters(four: &[Lane]) -> [&[Lane]; LANES] {
    let (first, last) = four.split_at(four.len() / 2);
    let ((a, b), (c, d)) = (first.split_at(first.len() / 2), last.split_at(last.len() / 2));
    [a, b, c, d]
}

/// `M = CᵀC` with rows of `W` lanes, from the columns of `C` with `n` lanes each.
#[inline(always)]
pub(crate) fn gram<S: Simd, const W: usize>(
    columns: &[Lane],
    n: usize,
    rank: usize,
    M: &mut [Lane],
) {
    for (k, row) in M.chunks_exact_mut(W).take(rank).enumerate() {
        let own = &columns[k * n..][..n];
        for (w, out) in row.iter_mut().enumerate() {
            let four = &columns[w * LANES * n..][..LANES * n];
            S::store(products::<S>(quarters(four), own), out);
        }
    }
}

/// `M ← M⁻¹` of a positive definite matrix, by Gauss–Jordan elimination. If a pivot counts as zero,
/// its row and column become zero, which excludes that row of `Q`.
#[inline(always)]
pub(crate) fn invert<S: Simd, const W: usize>(M: &mut [Lane], rank: usize) {
    let M = &mut M[..rank * W];
    for lane in 0..W {
        for at in 0..LANES.min(rank.saturating_sub(lane * LANES)) {
            let k = lane * LANES + at;
            let pivot = M[k * W + lane][at];
            let singular = pivot <= GRAM_SINGULAR;
            let inverse = if singular { 0.0 } else { 1.0 / pivot };
            let mut unit = [0.0; LANES];
            unit[at] = 1.0;
            let unit = S::load(&unit);
            let scale = S::splat(inverse);
            let mut row = [S::zero(); W];
            for c in 0..W {
                row[c] = S::mul(scale, S::load(&M[k * W + c]));
            }
            // column k of the other rows becomes minus itself over the pivot; subtracting one more
            // in this lane does that
            let old = row[lane];
            let one = S::splat(if singular { 1.0 } else { inverse });
            row[lane] = S::fma(one, unit, old);
            for other in M.chunks_exact_mut(W) {
                let factor = S::splat(-other[lane][at]);
                for c in 0..W {
                    S::store(S::fma(factor, row[c], S::load(&other[c])), &mut other[c]);
                }
            }
            let corner = S::splat(if singular { 0.0 } else { inverse - 1.0 });
            row[lane] = S::fma(corner, unit, old);
            for c in 0..W {
                S::store(row[c], &mut M[k * W + c]);
            }
        }
    }
}

/// `M v`.
#[inline(always)]
pub(crate) fn apply<S: Simd, const W: usize>(M: &[Lane], rank: usize, v: &[Lane; W]) -> [Lane; W] {
    let mut out = [S::zero(); W];
    for (M, v) in M.chunks_exact(W).zip(&v.as_flattened()[..rank]) {
        let s = S::splat(*v);
        for c in 0..W {
            out[c] = S::fma(s, S::load(&M[c]), out[c]);
        }
    }
    let mut flat = [[0.0; LANES]; W];
    for c in 0..W {
        S::store(out[c], &mut flat[c]);
    }
    flat
}

/// Pivot search: the largest squared length so far in each lane, and its row.
pub(crate) struct Longest<S: Simd> {
    square: S::V,
    row: S::V,
    next: S::V,
}

impl<S: Simd> Longest<S> {
    #[inline(always)]
    pub fn new() -> Self {
        Self { square: S::zero(), row: S::zero(), next: S::load(&[0.0, 1.0, 2.0, 3.0]) }
    }

    /// Updates the search with the next four rows.
    #[inline(always)]
    pub fn take(&mut self, squares: S::V) {
        let more = S::sub(squares, self.square);
        self.row = S::select(more, self.next, self.row);
        self.square = S::max(squares, self.square);
        self.next = S::add(self.next, S::splat(LANES as f64));
    }

    /// Index of the longest row; `None` if all lengths are zero.
    #[inline(always)]
    pub fn row(&self) -> Option<usize> {
        let (squares, rows) = (S::to_array(self.square), S::to_array(self.row));
        let (mut square, mut row) = (0.0, 0.0);
        for l in 0..LANES {
            if squares[l] > square {
                (square, row) = (squares[l], rows[l]);
            }
        }
        (square > 0.0).then_some(row as usize)
    }
}

/// Products of four rows with a vector.
#[inline(always)]
pub(crate) fn products_of_rows<S: Simd, const C: usize>(rows: &[[Lane; C]], q: &[S::V; C]) -> S::V {
    let mut dots = [S::zero(); LANES];
    for l in 0..LANES {
        for c in 0..C {
            dots[l] = S::fma(S::load(&rows[l][c]), q[c], dots[l]);
        }
    }
    S::sums(dots)
}

#[inline(always)]
pub(crate) fn square_of<S: Simd, const C: usize>(q: &[S::V; C]) -> f64 {
    let mut square = S::zero();
    for c in 0..C {
        square = S::fma(q[c], q[c], square);
    }
    S::sum(square)
}

#[inline(always)]
pub(crate) fn load<S: Simd, const C: usize>(v: &[Lane; C]) -> [S::V; C] {
    let mut out = [S::zero(); C];
    for c in 0..C {
        out[c] = S::load(&v[c]);
    }
    out
}
