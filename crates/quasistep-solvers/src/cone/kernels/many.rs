//! Many right-hand sides at once, stored row-major with `columns` entries (whole lanes) for each
//! row of the matrix.

use super::lu::Lu;
use super::wide::{One, Two, Vector};
use super::{Simd, kernel, lanes, lanes_mut};
use crate::cone::program::{ConeProgram, LANES};
use crate::cone::structure::Structure;
use std::ops::Range;

/// Small matrix with entry `(i, r)` at `data[i down + r across]`.
#[derive(Clone, Copy)]
pub(crate) struct Small<'a> {
    pub data: &'a [f64],
    pub down: usize,
    pub across: usize,
    pub rows: usize,
    pub count: usize,
}

/// Layout of many right-hand sides: their number, and for each block its first row.
#[derive(Clone, Copy)]
pub(crate) struct Many<'a> {
    pub columns: usize,
    pub row_of: &'a [u32],
}

/// Factor `H = Uᵀ U` and the inverses of its diagonal blocks.
#[derive(Clone, Copy)]
pub(crate) struct Factor<'a> {
    pub H: &'a [f64],
    pub inverses: &'a [f64],
}

/// Some cones, and the first row of each in matrices over their rows.
#[derive(Clone, Copy)]
pub(crate) struct Active<'a> {
    pub cones: &'a [u32],
    pub at: &'a [u32],
}

/// Matrices `R`, `F` and `bend` of each cone in turn. If `rho` is zero, all `R` and `F` must be
/// zero; if `bends` is false, all `bend`.
#[derive(Clone, Copy)]
pub(crate) struct FaceMatrices<'a> {
    pub of: &'a [f64],
    pub rho: f64,
    pub bends: bool,
}

/// Matrices over the rows of some cones that [`press_many`] changes.
#[derive(Debug, Default)]
pub(crate) struct PressedRows {
    pub u: Vec<f64>,
    pub off: Vec<f64>,
    pub gap: Vec<f64>,
    pub zeta: Vec<f64>,
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
fn add_times<S: Simd>(A: Small<'_>, sign: f64, X: &[f64], Y: &mut [f64], columns: usize) {
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
        s: &Structure,
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
    /// `X ← H⁻¹ X` from the factor of [`factor_lu`](super::factor_lu), over some panels.
    solve_lu_many(
        s: &Structure,
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
    /// `U += J X` of some cones.
    add_rows_many(
        p: &ConeProgram,
        active: Active<'_>,
        many: Many<'_>,
        X: &[f64],
        U: &mut [f64],
    ) {
        let (Active { cones, at }, Many { columns, row_of }) = (active, many);
        for (cone, at) in cones.iter().zip(at) {
            let cone = &p.cones[*cone as usize];
            let (k, width) = (cone.k as usize, cone.width as usize);
            let U = &mut U[*at as usize * columns..][..k * columns];
            for side in p.sides_of(cone) {
                let count = p.blocks[side.block as usize].dim as usize;
                let data = &p.J[(cone.J_at + side.column) as usize..];
                let from = row_of[side.block as usize] as usize * columns;
                let A = Small { data, down: width, across: 1, rows: k, count };
                add_times::<S>(A, 1.0, &X[from..], U, columns);
            }
        }
    }
}

kernel! {
    /// `X += Jᵀ T` of some cones.
    add_forces_many(
        p: &ConeProgram,
        active: Active<'_>,
        many: Many<'_>,
        T: &[f64],
        X: &mut [f64],
    ) {
        let (Active { cones, at }, Many { columns, row_of }) = (active, many);
        for (cone, at) in cones.iter().zip(at) {
            let cone = &p.cones[*cone as usize];
            let (k, width) = (cone.k as usize, cone.width as usize);
            let T = &T[*at as usize * columns..][..k * columns];
            for side in p.sides_of(cone) {
                let rows = p.blocks[side.block as usize].dim as usize;
                let data = &p.J[(cone.J_at + side.column) as usize..];
                let to = row_of[side.block as usize] as usize * columns;
                let A = Small { data, down: 1, across: width, rows, count: k };
                add_times::<S>(A, 1.0, T, &mut X[to..], columns);
            }
        }
    }
}

kernel! {
    /// One multiplier update on the rows of some cones: `off += u`, `gap += R u`, `zeta −= rho
    /// gap`, `t = Fᵀ (zeta − rho gap) − bend off`.
    ///
    /// `u` is overwritten.
    press_many(
        p: &ConeProgram,
        active: Active<'_>,
        faces: FaceMatrices<'_>,
        columns: usize,
        rows: &mut PressedRows,
        t: &mut [f64],
    ) {
        let Active { cones, at } = active;
        let FaceMatrices { of: mut faces, rho, bends } = faces;
        let PressedRows { u, off, gap, zeta } = rows;
        let minus = S::splat(-rho);
        for (cone, at) in cones.iter().zip(at) {
            let k = p.cones[*cone as usize].k as usize;
            let (R, rest) = faces.split_at(k * k);
            let (F, rest) = rest.split_at(k * k);
            let (bend, rest) = rest.split_at(k * k);
            faces = rest;
            let own = *at as usize * columns..(*at as usize + k) * columns;
            let (u, t) = (&mut u[own.clone()], &mut t[own.clone()]);
            t.fill(0.0);
            if bends {
                let off = &mut off[own.clone()];
                for (off, u) in lanes_mut(off).iter_mut().zip(lanes(u)) {
                    S::store(S::add(S::load(off), S::load(u)), off);
                }
                let A = Small { data: bend, down: k, across: 1, rows: k, count: k };
                add_times::<S>(A, -1.0, off, t, columns);
            }
            if rho > 0.0 {
                let (gap, zeta) = (&mut gap[own.clone()], &mut zeta[own]);
                let A = Small { data: R, down: k, across: 1, rows: k, count: k };
                add_times::<S>(A, 1.0, u, gap, columns);
                for ((z, u), gap) in lanes_mut(zeta).iter_mut().zip(lanes_mut(u)).zip(lanes(gap)) {
                    let gap = S::load(gap);
                    let new = S::fma(minus, gap, S::load(z));
                    S::store(new, z);
                    S::store(S::fma(minus, gap, new), u);
                }
                let A = Small { data: F, down: 1, across: k, rows: k, count: k };
                add_times::<S>(A, 1.0, u, t, columns);
            }
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
