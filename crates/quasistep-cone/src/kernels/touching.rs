//! Quick test of rows whose violation exceeds rounding: whether it is within a share of the row's
//! terms.

use super::kkt_norms::largest;
use crate::program::{ConeData, ConeProgram, MAX_ROWS};
use crate::structure::Group;
use crate::tolerances::check::CANCELLED;
use crate::units::columns;
use quasistep_linalg::simd::LANES;
use quasistep_linalg::simd::{Simd, kernel, lanes};

/// Least over the blocks of all cones of the largest entry in the first row of the Jacobian, rows
/// of zeros excluded.
pub(crate) fn thinnest(p: &ConeProgram, groups: &[Group]) -> f64 {
    let mut least = f64::INFINITY;
    for group in groups {
        for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
            let J = &p.J[cone.J_at as usize..][..cone.width as usize];
            for side in p.sides_of(cone) {
                let stride = p.blocks[side.block as usize].stride as usize;
                let J = lanes(&J[side.column as usize..][..stride]);
                let mut most = [0.0_f64; LANES];
                for J in J {
                    for (most, J) in most.iter_mut().zip(J) {
                        *most = if J.abs() > *most { J.abs() } else { *most };
                    }
                }
                let most = most[0].max(most[1]).max(most[2].max(most[3]));
                least = if most > 0.0 { least.min(most) } else { least };
            }
        }
    }
    least
}

/// Acceptable violation of a row: `anyway`, or the share `of_terms` of its terms plus `by_size`
/// times its largest entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    pub of_terms: f64,
    pub by_size: f64,
    /// Acceptable violation of every row, in its own unit.
    pub anyway: f64,
}

/// Whether a cone touches so few variables that the terms of `E J` can cancel in all of them.
pub(crate) fn may_cancel(p: &ConeProgram, cone: &ConeData) -> bool {
    let dims = p.sides_of(cone).iter().map(|side| p.blocks[side.block as usize].dim as usize);
    cone.k > 1 && dims.sum::<usize>() <= LANES
}

/// Positive in the lanes of the `j`th four edges of a cone if their terms in `E J` cancel.
#[inline(always)]
fn cancelled<S: Simd>(p: &ConeProgram, cone: &ConeData, j: usize) -> S::V {
    let (mut left, mut all) = (S::zero(), S::zero());
    for (column, _) in columns(p, cone) {
        let (mut sum, mut parts) = (S::zero(), S::zero());
        for r in 0..cone.k as usize {
            let E = S::load(&lanes(&p.E[cone.E_at as usize + r * cone.stride_z as usize..])[j]);
            let J = p.J[cone.J_at as usize + r * cone.width as usize + column];
            sum = S::fma(E, S::splat(J), sum);
            parts = S::fma(S::abs(E), S::splat(J.abs()), parts);
        }
        left = S::max(left, S::abs(sum));
        all = S::max(all, parts);
    }
    // slightly more than counts as cancelling in the full check
    S::sub(S::mul(S::splat(1.001 * CANCELLED), all), left)
}

kernel! {
    /// Whether all slacks `u` of an island's rows are at least minus the allowance, and slacks with
    /// a positive multiplier at most the allowance.
    rows_hold(
        p: &ConeProgram,
        groups: &[Group],
        allowed: Allowed,
        x: &[f64],
        z: &[f64],
        u: &[f64],
    ) -> bool {
        let minus = S::splat(-1.0);
        let mut beyond = S::zero();
        let by_size = S::splat(allowed.by_size);
        let anyway = S::splat(allowed.anyway);
        for group in groups {
            for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
                let (k, width) = (cone.k as usize, cone.width as usize);
                let per = cone.stride_z as usize / LANES;
                let u = &lanes(&u[cone.at as usize..])[..per];
                let z = &lanes(&z[cone.at as usize..])[..per];
                let mut most = S::zero();
                for (u, z) in u.iter().zip(z) {
                    let slack = S::load(u);
                    let held = S::where_positive(S::load(z), slack);
                    most = S::max(most, S::max(S::mul(minus, slack), held));
                }
                if S::positive_bits(S::sub(most, anyway)) == 0 {
                    continue;
                }
                let E = &lanes(&p.E[cone.E_at as usize..])[..k * per];
                let few = may_cancel(p, cone);
                let mut longest = S::zero();
                for J in lanes(&p.J[cone.J_at as usize..][..width]) {
                    longest = S::max(S::abs(S::load(J)), longest);
                }
                // the first row of J alone allows less than all of its rows
                let least = S::mul(by_size, S::largest(longest));
                let mut close = S::zero();
                for j in 0..per {
                    let slack = S::load(&u[j]);
                    let held = S::where_positive(S::load(&z[j]), slack);
                    let off = S::max(S::mul(minus, slack), held);
                    let E = S::abs(S::load(&E[j]));
                    close = S::max(close, S::fma(S::mul(minus, least), E, off));
                }
                if !few && S::positive_bits(close) == 0 {
                    continue;
                }
                let (mut sums, mut entries) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
                for r in 0..k {
                    let (mut acc, mut most) = (S::zero(), S::zero());
                    for side in p.sides_of(cone) {
                        let block = &p.blocks[side.block as usize];
                        let (at, stride) = (r * width + side.column as usize, block.stride as usize);
                        let J = &p.J[cone.J_at as usize + at..][..stride];
                        for (J, x) in lanes(J).iter().zip(lanes(&x[block.at as usize..])) {
                            let J = S::abs(S::load(J));
                            acc = S::fma(J, S::abs(S::load(x)), acc);
                            most = S::max(most, J);
                        }
                    }
                    entries[r] = largest::<S>(most);
                    sums[r] = allowed.of_terms * (S::sum(acc) + p.b[cone.b_at as usize + r].abs());
                }
                // the size of tangential rows does not increase the allowance
                for r in 1..k {
                    entries[r] = entries[r].min(entries[0]);
                }
                for j in 0..per {
                    let (mut terms, mut own) = (S::zero(), S::zero());
                    for r in 0..k {
                        let E = S::abs(S::load(&E[r * per + j]));
                        terms = S::max(terms, S::mul(S::splat(sums[r]), E));
                        own = S::max(own, S::mul(S::splat(entries[r]), E));
                    }
                    let slack = S::load(&u[j]);
                    let held = S::where_positive(S::load(&z[j]), slack);
                    let off = S::max(S::mul(minus, slack), held);
                    beyond = S::max(beyond, S::fma(minus, S::fma(by_size, own, terms), off));
                    if few && S::positive_bits(S::sub(off, anyway)) != 0 {
                        // a cancelling edge is left to the full check
                        beyond = S::max(beyond, cancelled::<S>(p, cone, j));
                    }
                }
            }
        }
        S::positive_bits(beyond) == 0
    }
}
