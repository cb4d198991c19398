//! Reductions over cones and panels.

use crate::program::ConeProgram;
use crate::structure::{Group, Panel};
use quasistep_linalg::simd::LANES;
use quasistep_linalg::simd::{kernel, lanes, lanes_mut};

kernel! {
    /// For each cone, the largest entry of its Jacobian after scaling column `i` by the root of
    /// entry `i` of `inverse`.
    row_sizes(p: &ConeProgram, groups: &[Group], inverse: &[f64], sizes: &mut [f64]) {
        let all = lanes(inverse);
        for group in groups {
            let own = group.first_cone as usize..group.last_cone as usize;
            for (cone, size) in p.cones[own.clone()].iter().zip(&mut sizes[own]) {
                let (k, width) = (cone.k as usize, cone.width as usize / LANES);
                let J = &lanes(&p.J[cone.J_at as usize..])[..k * width];
                let mut largest = S::zero();
                for side in p.sides_of(cone) {
                    let block = &p.blocks[side.block as usize];
                    let (n, column) = (block.stride as usize / LANES, side.column as usize / LANES);
                    let inverse = &all[block.at as usize / LANES..][..n];
                    for c in 0..n {
                        let mut longest = S::zero();
                        for r in 0..k {
                            longest = S::max(S::abs(S::load(&J[r * width + column + c])), longest);
                        }
                        let square = S::mul(S::mul(longest, longest), S::load(&inverse[c]));
                        largest = S::max(square, largest);
                    }
                }
                *size = S::first(S::largest(largest)).sqrt();
            }
        }
    }
}

kernel! {
    /// Largest magnitude of the entries of `v` on some panels.
    largest(panels: &[Panel], v: &[f64]) -> f64 {
        let mut most = S::zero();
        for panel in panels {
            for v in lanes(&v[panel.x_at as usize..][..panel.stride() as usize]) {
                most = S::max(S::abs(S::load(v)), most);
            }
        }
        S::first(S::largest(most))
    }
}

kernel! {
    /// `x += alpha dx` and `pull ← (1 − alpha) pull − alpha shift dx` on some panels; returns the largest
    /// magnitudes of both.
    advance_variables(
        panels: &[Panel],
        alpha: f64,
        shift: f64,
        dx: &[f64],
        x: &mut [f64],
        pull: &mut [f64],
    ) -> [f64; 2] {
        let (left, less) = (S::splat(1.0 - alpha), S::splat(-alpha * shift));
        let alpha = S::splat(alpha);
        let (mut most_x, mut most_pull) = (S::zero(), S::zero());
        for panel in panels {
            let own = panel.x_at as usize..panel.x_at as usize + panel.stride() as usize;
            let (x, pull) = (lanes_mut(&mut x[own.clone()]), lanes_mut(&mut pull[own.clone()]));
            for ((x, pull), dx) in x.iter_mut().zip(pull).zip(lanes(&dx[own])) {
                let dx = S::load(dx);
                let next_x = S::fma(alpha, dx, S::load(x));
                let next_pull = S::fma(less, dx, S::mul(left, S::load(pull)));
                most_x = S::max(S::abs(next_x), most_x);
                most_pull = S::max(S::abs(next_pull), most_pull);
                S::store(next_x, x);
                S::store(next_pull, pull);
            }
        }
        [S::first(S::largest(most_x)), S::first(S::largest(most_pull))]
    }
}

kernel! {
    /// Whether all numbers on some panels are finite.
    all_finite(panels: &[Panel], v: &[f64]) -> bool {
        let mut nothing = S::zero();
        for panel in panels {
            for v in lanes(&v[panel.x_at as usize..][..panel.stride() as usize]) {
                nothing = S::fma(S::load(v), S::zero(), nothing);
            }
        }
        S::sum(nothing) == 0.0
    }
}
