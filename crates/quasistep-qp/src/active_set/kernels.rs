//! Inner loops of the active sets, on SIMD lanes. Columns begin at multiples of `stride`, a
//! multiple of the lane width, and are padded with zeros, so that no loop has a remainder. The last
//! functions compute `CᵀC` of few columns and its inverse.

#![allow(non_snake_case)]
// J, M and R follow the literature; parts of a kernel must be inlined into it, because only the
// kernel is compiled with its instruction set
#![allow(clippy::inline_always)]

use quasistep_linalg::simd::LANES;
use quasistep_linalg::simd::{Lane, Simd, kernel, lanes, lanes_mut};

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
