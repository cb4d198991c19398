//! Rows and forces of cones for many right-hand sides at once.

use crate::program::ConeProgram;
use quasistep_linalg::blocks::many::{Many, Small, add_times};
use quasistep_linalg::simd::{kernel, lanes, lanes_mut};

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
