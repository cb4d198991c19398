//! Matrix of a Newton step: curvature of the cost and of the contacts.

use crate::factor::Factor;
use crate::program::FrictionProgram;
use quasistep_cone::inside::MAX_ROWS;
use quasistep_cone::inside::add_part;
use quasistep_linalg::simd::Isa;

/// Negative derivative of a contact's force with respect to its rates: `matrix diag(rho_n, rho_t,
/// …)`, in the units of its rows.
pub(crate) struct Part<'a> {
    /// `k × k`.
    pub matrix: &'a [f64],
    /// Penalty parameters of the normal and of the tangential columns.
    pub rho: [f64; 2],
}

/// Writes `H = D (P + springs + Jᵀ part J) D + hold I` to `factor`, which provides the units `D`.
/// Only Huber terms that are not `saturated` and contacts that have a part contribute.
pub(crate) fn assemble<'a>(
    p: &FrictionProgram,
    factor: &mut Factor,
    hold: f64,
    saturated: &[i8],
    part: impl Fn(usize) -> Option<Part<'a>>,
) {
    factor.start(&p.cones, hold);
    let isa = Isa::detect();
    let Factor { structure, lu, J: all, D, .. } = &mut *factor;
    for (spring, saturated) in p.cones.saturations.iter().zip(saturated) {
        if *saturated == 0 {
            let at = Factor::diagonal(structure, &p.cones, spring.index);
            let D = D[spring.index as usize];
            lu.U[at] += spring.stiffness * D * D;
        }
    }
    for group in &structure.groups {
        let targets = &structure.targets[group.first_target as usize..group.last_target as usize];
        for i in group.first_cone as usize..group.last_cone as usize {
            let Some(Part { matrix, rho }) = part(i) else { continue };
            let contact = &p.contacts[i];
            let k = contact.k as usize;
            let units = p.units_of(contact);
            let unit = |r: usize| if r == 0 { 1.0 } else { units[r - 1] };
            // in the caller's units
            let mut G = [[0.0; MAX_ROWS]; MAX_ROWS];
            for (r, G) in G[..k].iter_mut().enumerate() {
                for (s, G) in G[..k].iter_mut().enumerate() {
                    *G = unit(r) * matrix[r * k + s] * rho[usize::from(s > 0)] * unit(s);
                }
            }
            let cone = p.cone_of(i);
            let J = &all[cone.J_at as usize..][..k * cone.width as usize];
            add_part(isa, targets, k, &G, J, lu);
        }
    }
}
