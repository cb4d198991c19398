//! Next breakpoint of the homotopy, from the augmented forces of contacts along its direction.
//!
//! In large programs most contacts are open, and few of them are near closing. A bound from the
//! motion of the contact's blocks shows for most of them that they stay open, and nothing else is
//! computed.

#![allow(clippy::inline_always)] // parts of a kernel must be compiled with its instruction set

use super::regions::{OPEN, ROWS, Regions};
use crate::products::times;
use crate::program::{FrictionProgram, dot_short};
use quasistep_linalg::simd::kernel;

/// End of a linear piece of the path: its length, the contact whose mode changes there, and the
/// number of the plane that it crosses. The contact is `usize::MAX` if the path ends there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub length: f64,
    pub contact: usize,
    pub exit: usize,
}

/// Data of the augmented forces along the path.
pub(crate) struct Along<'a> {
    pub regions: &'a Regions,
    /// Variables at the start of the piece, and their direction.
    pub x: &'a [f64],
    pub y: &'a [f64],
    /// Multipliers.
    pub z_c: &'a [f64],
    pub penalty: f64,
    /// Weights of the rates for a relative penalty of 1, and the term `e` of the homotopy.
    pub weight: &'a [f64],
    pub e: &'a [f64],
    /// Length of the last piece, by which augmented forces are advanced first.
    pub gone: f64,
    /// Homotopy parameter `t`; the next field is 1 if it decreases along the path, −1 if it
    /// increases.
    pub share: f64,
    pub sign: f64,
}

/// Bounds of the motions of open contacts, and the size of the direction in each block.
#[derive(Clone, Copy)]
pub(crate) struct Bounds<'a> {
    pub closed: &'a [bool],
    pub reaches: &'a [Reach],
    pub sizes: &'a [f64],
}

/// Upper bound of the change of a contact's normal rate: the sum over its blocks of a factor times
/// the size of the direction in the block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reach {
    factors: [f64; 2],
    /// Factors of the bound of the augmented normal force, and of its term `e` of the homotopy.
    bounds: [f64; 2],
    e: f64,
    blocks: [u32; 2],
    row: u32,
}

kernel! {
    /// Advances the augmented forces of closed contacts to the breakpoint and computes their next
    /// directions. Returns the first contact that leaves its linear piece before `end`.
    next_closed(
        p: &FrictionProgram,
        along: &Along<'_>,
        at: &[u16],
        a: &mut [f64],
        da: &mut [f64],
        end: &mut End,
    ) {
        for (i, ((contact, cone), at)) in p.contacts.iter().zip(&p.cones.cones).zip(at).enumerate() {
            if *at == OPEN {
                continue;
            }
            let rows = contact.rows();
            let (a, da) = (&mut a[rows.clone()], &mut da[rows.clone()]);
            let mut du = [0.0; ROWS];
            match a.len() {
                3 => times::<S, 3, false>(&p.cones, cone, 0, along.y, &mut du),
                k => {
                    for r in 0..k {
                        times::<S, 1, false>(&p.cones, cone, r, along.y, &mut du[r..]);
                    }
                }
            }
            let others = along.weight[rows.clone()].iter().zip(&along.e[rows]).zip(&du);
            for ((a, da), ((weight, e), du)) in a.iter_mut().zip(da.iter_mut()).zip(others) {
                *a += along.gone * *da;
                *da = -along.sign * (along.penalty * weight * du + e);
            }
            if let Some((length, exit)) = along.regions.leave::<S>(i, *at, a, da, end.length) {
                *end = End { length, contact: i, exit };
            }
        }
    }
}

kernel! {
    /// Finds the first open contact that closes before `end`. The bounds of [`Reach`] exclude most
    /// contacts.
    next_open(
        p: &FrictionProgram,
        along: &Along<'_>,
        bounds: Bounds<'_>,
        a: &mut [f64],
        da: &mut [f64],
        end: &mut End,
    ) {
        let Bounds { closed, reaches, sizes } = bounds;
        for (i, (reach, closed)) in reaches.iter().zip(closed).enumerate() {
            if *closed {
                continue;
            }
            let at = reach.row as usize;
            let [first, second] = reach.blocks.map(|block| sizes[block as usize]);
            let bound = reach.bounds[0] * first + reach.bounds[1] * second;
            let room = a[at] + along.gone * da[at];
            let slope = bound - along.sign * reach.e;
            a[at] = room;
            da[at] = slope;
            if room < 0.0 && room + slope * end.length < 0.0 {
                continue;
            }
            let (e, rho) = (reach.e, along.penalty * along.weight[at]);
            let (mut u, mut du) = (-p.b(i, 0), 0.0);
            for (first, J) in p.row(i, 0) {
                u += dot_short(J, &along.x[first..]);
                du += dot_short(J, &along.y[first..]);
            }
            a[at] = (along.z_c[at] - rho * u + along.share * e).min(0.0);
            da[at] = -along.sign * (rho * du + e);
            if da[at] > 0.0 && -a[at] < da[at] * end.length {
                *end = End { length: -a[at] / da[at], contact: i, exit: along.regions.closing(i) };
            }
        }
    }
}

impl Reach {
    /// Computes the bound of a contact, for directions in units `D` of the variables.
    pub fn new(p: &FrictionProgram, contact: usize, D: &[f64]) -> Self {
        let mut reach = Self { row: p.contacts[contact].first, ..Self::default() };
        let sides = p.cones.sides_of(p.cone_of(contact));
        for (k, ((first, J), side)) in p.row(contact, 0).zip(sides).enumerate() {
            let squares = J.iter().zip(&D[first..]).map(|(J, D)| (J * D).powi(2));
            if k < 2 {
                reach.factors[k] = squares.sum::<f64>().sqrt();
                reach.blocks[k] = side.block;
            } else {
                reach.factors[0] = f64::INFINITY;
            }
        }
        reach
    }

    /// Sets the penalty parameter of the contact's normal row and its term `e` of the homotopy.
    pub fn set_out(&mut self, rho: f64, e: f64) {
        self.bounds = self.factors.map(|factor| rho * factor);
        self.e = e;
    }
}
