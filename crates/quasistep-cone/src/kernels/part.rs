//! Assembly of an unsymmetric matrix from the derivatives of cones.

use crate::program::MAX_ROWS;
use crate::structure::Target;
use quasistep_linalg::blocks::lu::Lu;
use quasistep_linalg::blocks::wide::{One, Two, Vector};
use quasistep_linalg::simd::{LANES, Simd, kernel};

kernel! {
    /// `H += Jᵀ G J` of one cone with `k` rows, at the targets of its group. Padding columns of a
    /// block receive zeros.
    add_part(
        targets: &[Target],
        k: usize,
        G: &[[f64; MAX_ROWS]; MAX_ROWS],
        J: &[f64],
        lu: &mut Lu,
    ) {
        let Lu { U, L, .. } = lu;
        match k {
            1 => add_rows::<S, Two<S>, 1>(targets, G, J, U, L),
            2 => add_rows::<S, Two<S>, 2>(targets, G, J, U, L),
            3 => add_rows::<S, Two<S>, 3>(targets, G, J, U, L),
            4 => add_rows::<S, Two<S>, 4>(targets, G, J, U, L),
            5 => add_rows::<S, Two<S>, 5>(targets, G, J, U, L),
            6 => add_rows::<S, Two<S>, 6>(targets, G, J, U, L),
            7 => add_rows::<S, Two<S>, 7>(targets, G, J, U, L),
            _ => add_rows::<S, Two<S>, 8>(targets, G, J, U, L),
        }
    }
}

#[inline(always)]
fn add_rows<S: Simd, W: Vector, const K: usize>(
    targets: &[Target],
    G: &[[f64; MAX_ROWS]; MAX_ROWS],
    J: &[f64],
    U: &mut [f64],
    L: &mut [f64],
) {
    let width = J.len() / K;
    for target in targets {
        let (dim, stride) = (target.dim as usize, target.width as usize);
        let place = target.at as usize..target.at as usize + dim * stride;
        let (rows, columns) = (&J[target.row as usize..], &J[target.column as usize..]);
        // a diagonal block is stored in `U` only
        let L = (target.row != target.column).then(|| &mut L[place.clone()]);
        let U = &mut U[place];
        let side = Side { rows, width, dim, stride };
        if stride == 2 * LANES {
            add_columns::<W, K>(G, side, columns, U, L);
            continue;
        }
        let mut L = L;
        for c in (0..stride).step_by(LANES) {
            let (U, L) = (&mut U[c..], L.as_mut().map(|L| &mut L[c..]));
            add_columns::<One<S>, K>(G, side, &columns[c..], U, L);
        }
    }
}

/// Columns of `J` that give the `dim` rows of a block with rows of length `stride`.
#[derive(Clone, Copy)]
struct Side<'a> {
    rows: &'a [f64],
    width: usize,
    dim: usize,
    stride: usize,
}

/// `U += Jᵀ G J` and `L += Jᵀ Gᵀ J`, for the columns of one vector.
#[inline(always)]
fn add_columns<T: Vector, const K: usize>(
    G: &[[f64; MAX_ROWS]; MAX_ROWS],
    side: Side<'_>,
    columns: &[f64],
    U: &mut [f64],
    L: Option<&mut [f64]>,
) {
    let mut J = [T::zero(); K];
    for s in 0..K {
        J[s] = T::load(&columns[s * side.width..]);
    }
    add_products::<T, K>(|r, s| G[r][s], &J, side, U);
    if let Some(L) = L {
        add_products::<T, K>(|r, s| G[s][r], &J, side, L);
    }
}

#[inline(always)]
fn add_products<T: Vector, const K: usize>(
    G: impl Fn(usize, usize) -> f64,
    J: &[T::V; K],
    Side { rows, width, dim, stride }: Side<'_>,
    H: &mut [f64],
) {
    let mut lanes = [T::zero(); K];
    for s in 0..K {
        for r in 0..K {
            lanes[r] = T::fma(T::splat(G(r, s)), J[s], lanes[r]);
        }
    }
    for (r, H) in H.chunks_mut(stride).take(dim).enumerate() {
        let mut sum = T::load(H);
        for s in 0..K {
            sum = T::fma(T::splat(rows[s * width + r]), lanes[s], sum);
        }
        T::store(sum, H);
    }
}
