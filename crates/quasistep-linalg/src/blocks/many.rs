//! Many right-hand sides at once, stored row-major with `columns` entries (whole lanes) for each
//! row of the matrix.

use super::layout::Layout;
use super::lu::Lu;
use super::wide::{One, Two, Vector};
use crate::simd::{LANES, Simd, kernel, lanes, lanes_mut};
use std::ops::Range;

/// Small matrix with entry `(i, r)` at `data[i down + r across]`.
#[derive(Clone, Copy)]
pub struct Small<'a> {
    /// Entries.
    pub data: &'a [f64],
    /// Distance of two rows in `data`.
    pub down: usize,
    /// Distance of two columns in `data`.
    pub across: usize,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub count: usize,
}

/// Layout of many right-hand sides: their number, and for each block its first row.
#[derive(Clone, Copy)]
pub struct Many<'a> {
    /// Number of right-hand sides, a multiple of the lanes.
    pub columns: usize,
    /// First row of each block.
    pub row_of: &'a [u32],
}

/// Factor `H = Uᵀ U` and the inverses of its diagonal blocks.
#[derive(Clone, Copy)]
pub struct Factor<'a> {
    /// Blocks of the upper factor.
    pub H: &'a [f64],
    /// Inverses of the diagonal blocks.
    pub inverses: &'a [f64],
}

/// `Y[i] += sign Σ_r A[i][r] X[r]` for `I` rows and one vector of columns from `at` on.
#[inline(always)]
fn tile<T: Vector, const I: usize>(
    A: Small<'_>,
    first: usize,
    sign: f64,
    X: &[f64],
    Y: &mut [f64],
    columns: usize,
    at: usize,
) {
    let mut acc = [T::zero(); I];
    let X = &X[..A.count * columns];
    for (r, x) in X.chunks_exact(columns).enumerate() {
        let x = T::load(&x[at..]);
        for i in 0..I {
            let a = T::splat(A.data[(first + i) * A.down + r * A.across]);
            acc[i] = T::fma(a, x, acc[i]);
        }
    }
    let sign = T::splat(sign);
    for i in 0..I {
        let y = &mut Y[(first + i) * columns + at..];
        T::store(T::fma(sign, acc[i], T::load(y)), y);
    }
}

/// `Y += sign A X`.
#[inline(always)]
pub fn add_times<S: Simd>(A: Small<'_>, sign: f64, X: &[f64], Y: &mut [f64], columns: usize) {
    let mut i = 0;
    while i < A.rows {
        // few shapes only, because each is compiled for every kernel and instruction set
        let rows = match A.rows - i {
            6.. => 6,
            3.. => 3,
            _ => 1,
        };
        let mut c = 0;
        while c < columns {
            let left = columns - c;
            match (rows, left > LANES) {
                (6, true) => tile::<Two<S>, 6>(A, i, sign, X, Y, columns, c),
                (6, false) => tile::<One<S>, 6>(A, i, sign, X, Y, columns, c),
                (3, true) => tile::<Two<S>, 3>(A, i, sign, X, Y, columns, c),
                (3, false) => tile::<One<S>, 3>(A, i, sign, X, Y, columns, c),
                (_, true) => tile::<Two<S>, 1>(A, i, sign, X, Y, columns, c),
                (_, false) => tile::<One<S>, 1>(A, i, sign, X, Y, columns, c),
            }
            c += if left > LANES { 2 * LANES } else { LANES };
        }
        i += rows;
    }
}

kernel! {
    /// `Y += sign A X`.
    add_product_many(A: Small<'_>, sign: f64, X: &[f64], Y: &mut [f64], columns: usize) {
        add_times::<S>(A, sign, X, Y, columns);
    }
}

kernel! {
    /// `X ← H⁻¹ X` over some panels. `own` is scratch for the rows of one block.
    solve_many(
        s: Layout<'_>,
        panels: Range<usize>,
        factor: Factor<'_>,
        many: Many<'_>,
        X: &mut [f64],
        own: &mut [f64],
    ) {
        let (Factor { H, inverses }, Many { columns, row_of }) = (factor, many);
        for panel in &s.panels[panels.clone()] {
            let (dim, stride) = (panel.dim as usize, panel.stride() as usize);
            let inverse = &inverses[panel.W_at as usize..][..dim * stride];
            let own = &mut own[..dim * columns];
            let at = row_of[panel.block as usize] as usize * columns;
            own.fill(0.0);
            let A = Small { data: inverse, down: stride, across: 1, rows: dim, count: dim };
            add_times::<S>(A, 1.0, &X[at..], own, columns);
            X[at..at + dim * columns].copy_from_slice(own);
            for column in &s.columns[panel.first_column as usize..panel.last_column as usize] {
                let other = s.panels[column.panel as usize];
                let to = row_of[other.block as usize] as usize * columns;
                let (data, across) = (&H[column.at as usize..], column.stride as usize);
                let A = Small { data, down: 1, across, rows: other.dim as usize, count: dim };
                add_times::<S>(A, -1.0, own, &mut X[to..], columns);
            }
        }
        for panel in s.panels[panels].iter().rev() {
            let (dim, stride) = (panel.dim as usize, panel.stride() as usize);
            let inverse = &inverses[panel.W_at as usize..][..dim * stride];
            let own = &mut own[..dim * columns];
            let at = row_of[panel.block as usize] as usize * columns;
            own.copy_from_slice(&X[at..at + dim * columns]);
            for column in &s.columns[panel.first_column as usize..panel.last_column as usize] {
                let other = s.panels[column.panel as usize];
                let from = row_of[other.block as usize] as usize * columns;
                let (data, down) = (&H[column.at as usize..], column.stride as usize);
                let A = Small { data, down, across: 1, rows: dim, count: other.dim as usize };
                add_times::<S>(A, -1.0, &X[from..], own, columns);
            }
            let X = &mut X[at..at + dim * columns];
            X.fill(0.0);
            let A = Small { data: inverse, down: 1, across: stride, rows: dim, count: dim };
            add_times::<S>(A, 1.0, own, X, columns);
        }
    }
}

kernel! {
    /// `X ← H⁻¹ X` from the factor of [`factor_lu`](super::lu::factor_lu), over some panels.
    solve_lu_many(
        s: Layout<'_>,
        panels: Range<usize>,
        lu: &Lu,
        many: Many<'_>,
        X: &mut [f64],
        own: &mut [f64],
    ) {
        let (Lu { U, L, inverses }, Many { columns, row_of }) = (lu, many);
        let place = |block: u32| row_of[block as usize] as usize * columns;
        for panel in &s.panels[panels.clone()] {
            let dim = panel.dim as usize;
            let own = &mut own[..dim * columns];
            own.copy_from_slice(&X[place(panel.block)..][..dim * columns]);
            for column in &s.columns[panel.first_column as usize..panel.last_column as usize] {
                let other = s.panels[column.panel as usize];
                let (data, across) = (&L[column.at as usize..], column.stride as usize);
                let A = Small { data, down: 1, across, rows: other.dim as usize, count: dim };
                add_times::<S>(A, -1.0, own, &mut X[place(other.block)..], columns);
            }
        }
        for panel in s.panels[panels].iter().rev() {
            let (dim, stride) = (panel.dim as usize, panel.stride() as usize);
            let inverse = &inverses[panel.W_at as usize..][..dim * stride];
            let own = &mut own[..dim * columns];
            let at = place(panel.block);
            own.copy_from_slice(&X[at..at + dim * columns]);
            for column in &s.columns[panel.first_column as usize..panel.last_column as usize] {
                let other = s.panels[column.panel as usize];
                let (data, down) = (&U[column.at as usize..], column.stride as usize);
                let A = Small { data, down, across: 1, rows: dim, count: other.dim as usize };
                add_times::<S>(A, -1.0, &X[place(other.block)..], own, columns);
            }
            let X = &mut X[at..at + dim * columns];
            X.fill(0.0);
            let A = Small { data: inverse, down: stride, across: 1, rows: dim, count: dim };
            add_times::<S>(A, 1.0, own, X, columns);
        }
    }
}

kernel! {
    /// `most ← max(most, |X|)` column by column. A NaN is kept.
    largest_many(X: &[f64], columns: usize, most: &mut [f64]) {
        for row in X.chunks_exact(columns) {
            for (most, x) in lanes_mut(most).iter_mut().zip(lanes(row)) {
                let (m, x) = (S::load(most), S::load(x));
                // zero, or NaN where either number is NaN or infinite
                let nan = S::fma(x, S::zero(), S::mul(m, S::zero()));
                S::store(S::add(S::max(m, S::abs(x)), nan), most);
            }
        }
    }
}
