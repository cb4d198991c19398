//! Certificates that a program has no solution: a ray along which the cost decreases without bound,
//! or Farkas multipliers of inconsistent rows.
//!
//! Each is the solution of an auxiliary program that is always solvable, over the same blocks and
//! cones in units of the cones. The certificate is then checked in the caller's units.
//!
//! - **Ray**: the projection of `−c` onto the cone of all `d` with `P d = 0`, `A d ∈ K`. With Huber
//!   terms, it minimises `1/2 |d|² + cᵀd + Σ limit |d_k|` over that cone. The cost decreases along
//!   `d` unless `d = 0`.
//! - **Multipliers**: the violation `y = Π_K(b − A x)` at the `x` that minimises `|Π_K(b − A x)|²`.
//!   Unless it is zero, `Aᵀ y = 0` and `bᵀ y > 0`: a Farkas certificate.

mod multipliers;
mod ray;

use crate::kernels::Isa;
use crate::newton::Newton;
use crate::program::{Cone, ConeProgram};
use crate::structure::{Island, Structure};
use crate::units::Units;
use quasistep_linalg::budget::Budget;
use quasistep_linalg::{Solution, Status};
use std::ops::Range;

const ITERATIONS: u32 = 300;

/// Scratch memory of the search for certificates; it is allocated by the first search.
#[derive(Debug, Default)]
pub(crate) struct Prover {
    program: ConeProgram,
    structure: Structure,
    newton: Newton,
    units: Units,
    unit: Vec<f64>,
    /// Scratch: edges and blocks of a cone that is added to `program`.
    edges: Vec<f64>,
    sides: Vec<u32>,
    x: Vec<f64>,
    y: Vec<f64>,
    u: Vec<f64>,
    g: Vec<f64>,
    terms: Vec<f64>,
}

impl Prover {
    /// Makes the search count its work in a budget shared with other engines.
    pub fn share(&mut self, budget: &Budget) {
        self.newton.budget = budget.clone();
    }

    /// Looks for a certificate and writes it and the status to `out`; returns false if it finds
    /// none. Infeasibility is tried first, unless `x = 0` is feasible. `s` is the structure of `p`.
    pub fn prove(&mut self, isa: Isa, p: &ConeProgram, s: &Structure, out: &mut Solution) -> bool {
        self.measure(p, s);
        if !rest_is_feasible(p) && self.infeasible(isa, p, s, out) {
            out.status = Status::Infeasible;
            return true;
        }
        if self.unbounded(isa, p, s, out) {
            out.status = Status::Unbounded;
            return true;
        }
        false
    }

    /// Computes the units of all variables. A variable with cones has their unit. The unit of a
    /// variable without cones follows from its curvature relative to variables with cones in its
    /// block, or else in its island.
    fn measure(&mut self, p: &ConeProgram, s: &Structure) {
        let Self { units, unit, .. } = self;
        unit.clear();
        unit.resize(p.n_padded, 1.0);
        // rows without variables belong to no island: clear what an earlier program wrote there
        units.row.fill(0.0);
        for island in &s.islands {
            units.fill(p, s, island);
            let touched = &units.variable;
            let all = || variables(p, s, island).flatten();
            let largest = all().fold(0.0_f64, |m, i| m.max(touched[i]));
            let rest = if largest > 0.0 { largest } else { 1.0 };
            for panel in &s.panels[island.first_panel as usize..island.last_panel as usize] {
                let block = &p.blocks[panel.block as usize];
                let own = |i: usize| touched[block.at as usize + i];
                let cost = |i: usize| p.P[block.P_at as usize + i * (block.stride as usize + 1)];
                let all = 0..block.dim as usize;
                let most = all.clone().fold(0.0_f64, |m, i| m.max(own(i) * own(i) * cost(i)));
                for i in all {
                    unit[block.at as usize + i] = if own(i) > 0.0 {
                        own(i)
                    } else if most > 0.0 && cost(i) > 0.0 {
                        (most / cost(i)).sqrt()
                    } else if cost(i) > 0.0 && largest == 0.0 {
                        cost(i).sqrt().recip()
                    } else {
                        rest
                    };
                }
            }
        }
    }
}

/// Whether `x = 0` satisfies all rows.
pub(crate) fn rest_is_feasible(p: &ConeProgram) -> bool {
    p.cones.iter().all(|cone| {
        let slack = |j: usize| -> f64 {
            let E = &p.E[cone.E_at as usize + j..];
            let b = &p.b[cone.b_at as usize..][..cone.k as usize];
            b.iter().zip(E.iter().step_by(cone.stride_z as usize)).map(|(b, e)| -e * b).sum()
        };
        let m = cone.m as usize;
        if cone.round {
            (1..m).map(|j| slack(j) * slack(j)).sum::<f64>().sqrt() <= slack(0)
        } else {
            (0..m).all(|j| slack(j) >= 0.0)
        }
    })
}

/// Violation of a cone by a point; negative inside the cone.
fn outside(round: bool, v: &[f64]) -> f64 {
    if round {
        v[1..].iter().map(|v| v * v).sum::<f64>().sqrt() - v[0]
    } else {
        v.iter().fold(f64::NEG_INFINITY, |m, v| m.max(-v))
    }
}

/// Copies all cones, with or without their offsets. `edges` and `blocks` are scratch.
fn add_cones(
    p: &ConeProgram,
    q: &mut ConeProgram,
    edges: &mut Vec<f64>,
    blocks: &mut Vec<u32>,
    with_b: bool,
) {
    for cone in &p.cones {
        let (k, m, stride) = (cone.k as usize, cone.m as usize, cone.stride_z as usize);
        let E_t = &p.E[cone.E_at as usize..][..k * stride];
        edges.clear();
        if cone.round {
            edges.extend((0..k).map(|i| E_t[i * stride + i]));
        } else {
            edges.extend((0..m).flat_map(|j| (0..k).map(move |r| E_t[r * stride + j])));
        }
        let kind = if cone.round { Cone::Round(edges) } else { Cone::Edges(edges) };
        blocks.clear();
        blocks.extend(p.sides_of(cone).iter().map(|s| s.block));
        let mut to = q.push_cone(kind, k, blocks);
        for (side, data) in p.sides_of(cone).iter().enumerate() {
            for r in 0..k {
                let at = cone.J_at as usize + r * cone.width as usize + data.column as usize;
                let row = to.J(side, r);
                let dim = row.len();
                row.copy_from_slice(&p.J[at..at + dim]);
            }
        }
        if with_b {
            to.b().copy_from_slice(&p.b[cone.b_at as usize..][..k]);
        }
    }
}

/// Scales the cones from index `first` on by the units of variables and rows.
fn scale_cones(q: &mut ConeProgram, first: usize, unit: &[f64], row: &[f64]) {
    let ConeProgram { cones, sides, blocks, J, b, .. } = q;
    for (cone, row) in cones[first..].iter().zip(row) {
        let row = if *row > 0.0 { *row } else { 1.0 };
        b[cone.b_at as usize..][..cone.k as usize].iter_mut().for_each(|b| *b *= row);
        for side in &sides[cone.first_side as usize..cone.last_side as usize] {
            let block = &blocks[side.block as usize];
            for r in 0..cone.k as usize {
                let at = cone.J_at as usize + r * cone.width as usize + side.column as usize;
                let unit = &unit[block.at as usize..];
                for (J, unit) in J[at..][..block.dim as usize].iter_mut().zip(unit) {
                    *J *= row * unit;
                }
            }
        }
    }
}

/// Padded indices of an island's variables, block by block.
fn variables(
    p: &ConeProgram,
    s: &Structure,
    island: &Island,
) -> impl Iterator<Item = Range<usize>> {
    s.panels[island.first_panel as usize..island.last_panel as usize].iter().map(|panel| {
        let block = &p.blocks[panel.block as usize];
        block.at as usize..(block.at + block.dim) as usize
    })
}
