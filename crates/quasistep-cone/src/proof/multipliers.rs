//! Farkas certificates: multipliers that prove rows inconsistent.

use super::{ITERATIONS, Prover, add_cones, outside, scale_cones};
use crate::kernels::{self, Isa};
use crate::program::ConeProgram;
use crate::structure::Structure;
use crate::tolerances::{CLEAR, NO_FORCE, PROOF};
use quasistep_linalg::Solution;
use quasistep_linalg::kernels::max_abs;

impl Prover {
    /// Searches for Farkas multipliers and writes them to the solution; returns false if it finds
    /// none.
    pub(super) fn infeasible(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        out: &mut Solution,
    ) -> bool {
        let Self { program: q, edges, sides, units, unit, structure, newton, y, g, terms, .. } =
            self;
        q.reset(p.blocks.iter().map(|b| b.dim as usize));
        add_cones(p, q, edges, sides, true);
        scale_cones(q, 0, unit, &units.row);
        structure.update(q);
        newton.prepare(q, structure);
        for island in &structure.islands {
            newton.clear(structure, island);
            newton.least_violation(isa, q, structure, island, ITERATIONS);
        }
        // the violations are the Farkas multipliers
        let largest = max_abs(newton.multipliers());
        if !(largest > 0.0) {
            return false;
        }
        y.clear();
        y.extend(
            newton
                .multipliers()
                .iter()
                .map(|y| if y.abs() > NO_FORCE * largest { *y } else { 0.0 }),
        );
        for (cone, row) in p.cones.iter().zip(&units.row) {
            let row = if *row > 0.0 { *row } else { 1.0 };
            y[cone.at as usize..][..cone.m as usize].iter_mut().for_each(|y| *y *= row);
        }
        let largest = max_abs(y);
        for y in y.iter_mut() {
            *y /= largest;
        }
        let (mut value, mut sum) = (0.0, 0.0);
        terms.clear();
        terms.resize(p.n_padded, 0.0);
        for cone in &p.cones {
            let y = &y[cone.at as usize..][..cone.m as usize];
            if outside(cone.round, y) > PROOF * max_abs(y) {
                return false;
            }
            for r in 0..cone.k as usize {
                let E = &p.E[cone.E_at as usize + r * cone.stride_z as usize..];
                let (force, size) = y.iter().zip(E).fold((0.0, 0.0), |(force, size), (y, e)| {
                    (force + e * y, size + (e * y).abs())
                });
                let b = p.b[cone.b_at as usize + r];
                value += b * force;
                // terms that cancel up to rounding are no evidence
                sum += b.abs() * size;
                for side in p.sides_of(cone) {
                    let block = &p.blocks[side.block as usize];
                    let at = cone.J_at as usize + r * cone.width as usize + side.column as usize;
                    for i in 0..block.dim as usize {
                        terms[block.at as usize + i] += size * p.J[at + i].abs();
                    }
                }
            }
        }
        if !(value > CLEAR * sum) {
            return false;
        }
        g.clear();
        g.resize(p.n_padded, 0.0);
        kernels::add_forces(isa, p, &s.groups, y, g);
        if g.iter().zip(terms.iter()).any(|(g, t)| g.abs() > PROOF * t) {
            return false;
        }
        out.certificate.clear();
        for cone in &p.cones {
            out.certificate.extend_from_slice(&y[cone.at as usize..][..cone.m as usize]);
        }
        true
    }
}
