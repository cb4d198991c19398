//! Small dense kernels on row-major and column-major slices.

/// Inner product.
#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// `y += s a`.
#[inline]
pub(crate) fn axpy(s: f64, a: &[f64], y: &mut [f64]) {
    for (y, a) in y.iter_mut().zip(a) {
        *y += s * a;
    }
}

/// Largest absolute entry; NaN does not count.
pub(crate) fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |m, x| m.max(x.abs()))
}

/// Cholesky factor of a symmetric row-major `n × n` matrix, in its lower triangle; false, with the
/// matrix half overwritten, if a pivot falls to `floor` of its diagonal entry or below.
pub(crate) fn cholesky(M: &mut [f64], n: usize, floor: f64) -> bool {
    for j in 0..n {
        let (above, rest) = M.split_at_mut(j * n + n);
        let row_j = &above[j * n..];
        let pivot = row_j[j] - dot(&row_j[..j], &row_j[..j]);
        // written so that NaN fails
        if !(pivot > floor * row_j[j].abs()) {
            return false;
        }
        let root = pivot.sqrt();
        for i in j + 1..n {
            let row_i = &mut rest[(i - j - 1) * n..(i - j) * n];
            row_i[j] = (row_i[j] - dot(&row_i[..j], &above[j * n..j * n + j])) / root;
        }
        M[j * n + j] = root;
    }
    true
}

/// Solves `L Lᵀ x = x` in place with the factor of [`cholesky`].
pub(crate) fn cholesky_solve(L: &[f64], n: usize, x: &mut [f64]) {
    for i in 0..n {
        let known = dot(&L[i * n..i * n + i], &x[..i]);
        x[i] = (x[i] - known) / L[i * n + i];
    }
    for i in (0..n).rev() {
        x[i] /= L[i * n + i];
        let value = x[i];
        axpy(-value, &L[i * n..i * n + i], &mut x[..i]);
    }
}

/// Turns columns `j` and `j + 1` of a column-major matrix with `n` rows.
#[inline]
pub(crate) fn rotate_columns(M: &mut [f64], n: usize, j: usize, c: f64, s: f64) {
    let (left, right) = M.split_at_mut((j + 1) * n);
    for (x, y) in left[j * n..].iter_mut().zip(&mut right[..n]) {
        let (p, q) = (*x, *y);
        *x = c * p + s * q;
        *y = c * q - s * p;
    }
}
