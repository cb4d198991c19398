//! Dense and sparse inner loops over contiguous memory. Their results are reproducible bit by bit.

#![allow(non_snake_case)] // L and M follow matrix notation

/// `Σ a_k b_k` with four partial sums, so that the compiler may use vector registers.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a4, a_rest) = a.as_chunks::<4>();
    let (b4, b_rest) = b.as_chunks::<4>();
    let mut lanes = [0.0_f64; 4];
    for (x, y) in a4.iter().zip(b4) {
        for k in 0..4 {
            lanes[k] += x[k] * y[k];
        }
    }
    let mut sum = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
    for (x, y) in a_rest.iter().zip(b_rest) {
        sum += x * y;
    }
    sum
}

/// `y += s a`.
#[inline]
pub fn axpy(s: f64, a: &[f64], y: &mut [f64]) {
    for (y, a) in y.iter_mut().zip(a) {
        *y += s * a;
    }
}

/// `Σ values_k x[columns_k]`.
#[inline]
pub fn sparse_dot(columns: &[u32], values: &[f64], x: &[f64]) -> f64 {
    let (mut even, mut odd) = (0.0, 0.0);
    let (c2, c_rest) = columns.as_chunks::<2>();
    let (v2, v_rest) = values.as_chunks::<2>();
    for (c, v) in c2.iter().zip(v2) {
        even += v[0] * x[c[0] as usize];
        odd += v[1] * x[c[1] as usize];
    }
    for (c, v) in c_rest.iter().zip(v_rest) {
        even += v * x[*c as usize];
    }
    even + odd
}

/// The larger of two numbers, or `a` if `b` is NaN. It compiles to one instruction, `f64::max` to
/// three.
#[inline]
pub fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// Largest magnitude of the entries; 0 of an empty slice.
#[inline]
pub fn max_abs(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m, v| m.max(v.abs()))
}

/// Sets `v` to `n` zeros and keeps its memory.
#[inline]
pub fn zeros(v: &mut Vec<f64>, n: usize) {
    v.clear();
    v.resize(n, 0.0);
}

/// Cholesky factorisation `M = L Lᵀ` within the envelope of a symmetric matrix.
///
/// `M` is `n × n` row-major. Only the entries `M[i][first[i]..=i]` are read; `L` overwrites them.
/// Outside this envelope both are zero. `accept` receives each pivot and returns the value to use.
/// If it returns `None`, the function returns that pivot's index, with the factorisation
/// incomplete.
pub fn cholesky(
    M: &mut [f64],
    n: usize,
    first: &[u32],
    mut accept: impl FnMut(usize, f64) -> Option<f64>,
) -> Result<(), usize> {
    for i in 0..n {
        let (done, rest) = M.split_at_mut(i * n);
        let row = &mut rest[..=i];
        let from = first[i] as usize;
        let mut pivot = row[i];
        for j in from..i {
            let start = from.max(first[j] as usize);
            let L_j = &done[j * n..=j * n + j];
            let v = (row[j] - dot(&row[start..j], &L_j[start..j])) / L_j[j];
            row[j] = v;
            pivot -= v * v;
        }
        row[i] = accept(i, pivot).ok_or(i)?.sqrt();
    }
    Ok(())
}

/// `x ← L⁻¹ x` with the factor of [`cholesky`]; `x` has length `n`.
pub fn solve_lower(L: &[f64], n: usize, first: &[u32], x: &mut [f64]) {
    for i in 0..n {
        let from = first[i] as usize;
        let row = &L[i * n..=i * n + i];
        x[i] = (x[i] - dot(&row[from..i], &x[from..i])) / row[i];
    }
}

/// `x ← L⁻ᵀ x` with the factor of [`cholesky`]. Entries of `x` above `last` are assumed to be zero.
pub fn solve_lower_transposed(L: &[f64], n: usize, first: &[u32], last: usize, x: &mut [f64]) {
    for i in (0..=last).rev() {
        if x[i] == 0.0 {
            continue;
        }
        let from = first[i] as usize;
        let row = &L[i * n..=i * n + i];
        let v = x[i] / row[i];
        x[i] = v;
        axpy(-v, &row[from..i], &mut x[from..i]);
    }
}
