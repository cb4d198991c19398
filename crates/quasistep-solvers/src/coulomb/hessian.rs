//! The matrix of a Newton step: curvature of the cost, and what contacts add to it.

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
        let cone = p.cone_of(i);
        let J = &p.cones.J[cone.J_at as usize..];
        let width = cone.width as usize;
        let sides = p.cones.sides_of(cone);
        for row_side in sides {
            let rows = &p.cones.blocks[row_side.block as usize];
            let to = block_place[row_side.block as usize] as usize;
            for r in 0..rows.dim as usize {
                // row r of Jᵀ part
                let mut left = [0.0; MOST + 1];
                for s in 0..k {
                    let J = unit(s) * J[s * width + row_side.column as usize + r];
                    if J != 0.0 {
                        for (left, m) in left.iter_mut().zip(&matrix[s * k..(s + 1) * k]) {
                            *left += J * m;
                        }
                    }
                }
                for column_side in sides {
                    let columns = &p.cones.blocks[column_side.block as usize];
                    let from = block_place[column_side.block as usize] as usize;
                    let H = &mut H[(to + r) * n + from..][..columns.dim as usize];
                    for s in 0..k {
                        let f = left[s] * rho[usize::from(s > 0)] * unit(s);
                        if f != 0.0 {
                            let J = &J[s * width + column_side.column as usize..];
                            for (H, J) in H.iter_mut().zip(J) {
                                *H += f * J;
                            }
                        }
                    }
                }
            }
        }
    }
    factor.scale(D, hold);
}
