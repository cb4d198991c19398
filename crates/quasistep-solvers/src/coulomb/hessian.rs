//! The matrix of a Newton step: curvature of the cost, and what contacts add to it.

use crate::cone::kernels::{Isa, kernel, lanes, lanes_mut};
use crate::cone::program::{ConeProgram, LANES, Side};
use crate::coulomb::factor::Factor;
use crate::coulomb::polytope::MOST;
use crate::coulomb::program::FrictionProgram;

/// How the force of a contact falls with its rates: `matrix diag(rho_n, rho_t, …)`, both in the units of its rows.
pub(crate) struct Part<'a> {
    /// `k × k`.
    pub matrix: &'a [f64],
    /// Of the normal and of tangential columns.
    pub rho: [f64; 2],
}

/// `H = D (P + springs + Jᵀ part J) D + hold` into `factor`; springs count that are not `saturated`, contacts
/// that have a part.
pub(crate) fn assemble<'a>(
    p: &FrictionProgram,
    factor: &mut Factor,
    D: &[f64],
    hold: f64,
    saturated: &[i8],
    part: impl Fn(usize) -> Option<Part<'a>>,
) {
    factor.clear();
    let isa = Isa::detect();
    let Factor { H, n, place, block_place, .. } = &mut *factor;
    let n = *n;
    for (b, block) in p.cones.blocks.iter().enumerate() {
        let at = block_place[b] as usize;
        for i in 0..block.dim as usize {
            H[(at + i) * n + at..][..block.dim as usize].copy_from_slice(p.cones.P_row(b, i));
        }
    }
    for (spring, saturated) in p.cones.saturations.iter().zip(saturated) {
        if *saturated == 0 {
            let at = place[spring.index as usize] as usize;
            H[at * n + at] += spring.stiffness;
        }
    }
    for (i, contact) in p.contacts.iter().enumerate() {
        let Some(Part { matrix, rho }) = part(i) else { continue };
        let k = contact.k as usize;
        let units = p.units_of(contact);
        let unit = |r: usize| if r == 0 { 1.0 } else { units[r - 1] };
        // in the caller's units
        let mut G = [[0.0; MOST + 1]; MOST + 1];
        for (r, G) in G[..k].iter_mut().enumerate() {
            for (s, G) in G[..k].iter_mut().enumerate() {
                *G = unit(r) * matrix[r * k + s] * rho[usize::from(s > 0)] * unit(s);
            }
        }
        let cone = p.cone_of(i);
        let J = &p.cones.J[cone.J_at as usize..][..k * cone.width as usize];
        add_contact(isa, &p.cones, p.cones.sides_of(cone), k, &G, J, block_place, n, H);
    }
    factor.scale(D, hold);
}

kernel! {
    /// `H += Jᵀ G J` of one contact, block by block; what is beyond a block's columns gets zeros.
    add_contact(
        p: &ConeProgram,
        sides: &[Side],
        k: usize,
        G: &[[f64; MOST + 1]; MOST + 1],
        J: &[f64],
        place: &[u32],
        n: usize,
        H: &mut [f64],
    ) {
        let width = J.len() / k;
        for column_side in sides {
            let columns = &p.blocks[column_side.block as usize];
            let from = place[column_side.block as usize] as usize;
            for c in 0..columns.stride as usize / LANES {
                // a lane of the columns of G J
                let mut lane = [S::zero(); MOST + 1];
                for s in 0..k {
                    let J = S::load(&lanes(&J[s * width + column_side.column as usize..])[c]);
                    for (r, lane) in lane[..k].iter_mut().enumerate() {
                        *lane = S::fma(S::splat(G[r][s]), J, *lane);
                    }
                }
                for row_side in sides {
                    let rows = &p.blocks[row_side.block as usize];
                    let to = place[row_side.block as usize] as usize;
                    for r in 0..rows.dim as usize {
                        let H = &mut H[(to + r) * n + from + c * LANES..][..LANES];
                        let H = &mut lanes_mut(H)[0];
                        let mut sum = S::load(H);
                        for (s, lane) in lane[..k].iter().enumerate() {
                            let J = J[s * width + row_side.column as usize + r];
                            sum = S::fma(S::splat(J), *lane, sum);
                        }
                        S::store(sum, H);
                    }
                }
            }
        }
    }
}
