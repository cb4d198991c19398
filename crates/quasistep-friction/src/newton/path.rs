//! Memory of the homotopy, and the rank-one changes of its factorisation.

#![allow(clippy::inline_always)] // parts of a kernel must be compiled with its instruction set

use super::breakpoints::Reach;
use super::regions::Regions;
use crate::program::FrictionProgram;
use quasistep_linalg::simd::kernel;

/// Memory of the homotopy.
#[derive(Debug, Default)]
pub(super) struct Homotopy {
    pub regions: Regions,
    /// Whether the linear pieces of all contacts are tabulated.
    pub known: bool,
    /// Linear piece of every contact, and whether the contact is closed. For an open contact only
    /// an upper bound of the augmented normal force is stored.
    pub at: Vec<u16>,
    pub closed: Vec<bool>,
    pub reaches: Vec<Reach>,
    /// Size of the direction in every block, in units `D`.
    pub sizes: Vec<f64>,
    /// Terms `e` and `r` of the homotopy, and the derivative of stationarity with respect to its
    /// parameter `t`.
    pub e: Vec<f64>,
    pub r: Vec<f64>,
    pub by_share: Vec<f64>,
    /// Direction for a unit decrease of the parameter; the next field is the direction of the
    /// augmented forces.
    pub y: Vec<f64>,
    pub da: Vec<f64>,
    /// Rank-one changes `p qᵀ` of the matrix since its factorisation: `h = H⁻¹ p` with the matrix
    /// before each change, the entries of `q`, and the factors.
    pub h: Vec<f64>,
    pub q: Vec<f64>,
    pub changes: Vec<Change>,
    /// Relative penalty of the current factorisation and changes, if they belong to the pieces in
    /// `at`; `None` if they are outdated.
    pub kept: Option<f64>,
}

kernel! {
    /// Applies rank-one changes to a solution, one after another: `v ← v − over (q · v) h`.
    take_off(p: &FrictionProgram, changes: &[Change], q: &[f64], h: &[f64], v: &mut [f64]) {
        for (change, h) in changes.iter().zip(h.chunks_exact(v.len())) {
            let share = change.over * along(p, change.contact, &q[change.first..], v);
            for (v, h) in v.iter_mut().zip(h) {
                *v = S::fma1(-share, *h, *v);
            }
        }
    }
}

/// Rank-one change of an inverse, `H⁻¹ ← H⁻¹ − over h qᵀ H⁻¹`. The nonzero entries of `q` are those
/// in the blocks of `contact`, stored from index `first` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub contact: usize,
    pub first: usize,
    pub over: f64,
}

/// `qᵀ v`, where `q` is nonzero only in the blocks of a contact.
#[inline(always)]
pub(crate) fn along(p: &FrictionProgram, contact: usize, q: &[f64], v: &[f64]) -> f64 {
    let mut at = 0;
    let mut sum = 0.0;
    for side in p.cones.sides_of(p.cone_of(contact)) {
        let block = &p.cones.blocks[side.block as usize];
        let dim = block.dim as usize;
        let v = &v[block.first as usize..][..dim];
        sum += q[at..at + dim].iter().zip(v).map(|(q, v)| q * v).sum::<f64>();
        at += dim;
    }
    sum
}
