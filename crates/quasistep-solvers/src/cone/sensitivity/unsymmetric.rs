//! The factors of `P' + rho Aᵀ N Mᵀ A` and of its transpose, for derivatives with exact friction.

use super::linear::{Faces, Linear, Way};
use crate::cone::aligned::Aligned;
use crate::cone::kernels::{self, Isa};
use crate::cone::program::{ConeProgram, LANES, MAX_ROWS};
use crate::cone::structure::Structure;
use crate::tolerances::DERIVATIVE_PIVOT;
use std::ops::Range;

/// One factor: blocks on the diagonal and right of it, those below, and inverses of those on it.
#[derive(Debug, Default)]
struct Lu {
    U: Aligned,
    L: Aligned,
    inverses: Aligned,
}

/// Both factors, and their scratch.
#[derive(Debug, Default)]
pub(super) struct Factors {
    /// Whether the last program is one with exact friction.
    pub exact: bool,
    forward: Lu,
    backward: Lu,
    /// Whether `backward` is that of the present answer.
    has_backward: bool,
    in_rows: Vec<f64>,
    scratch: Vec<f64>,
}

impl Linear {
    /// Factors the matrix or its transpose; false if it is not regular.
    pub(super) fn factor_exact(&mut self, p: &ConeProgram, faces: &Faces, way: Way) -> bool {
        let largest = 1.0 / (DERIVATIVE_PIVOT * self.scale(p));
        let Self { isa, structure: s, springs, rho, factors, .. } = self;
        factors.exact = true;
        factors.has_backward = way == Way::Backward;
        let widest = p.blocks.iter().map(|b| b.stride as usize).max().unwrap_or_default();
        factors.scratch.resize(widest * LANES, 0.0);
        let Factors { forward, backward, in_rows, scratch, .. } = factors;
        let lu = if way == Way::Forward { forward } else { backward };
        for (v, n) in [(&mut lu.U, s.H_len), (&mut lu.L, s.H_len), (&mut lu.inverses, s.W_len)] {
            v.resize(n);
            v.fill(0.0);
        }
        for panel in &s.panels {
            let block = &p.blocks[panel.block as usize];
            let len = (block.dim * block.stride) as usize;
            lu.U[panel.at as usize..][..len].copy_from_slice(&p.P[block.P_at as usize..][..len]);
        }
        for (at, stiffness) in springs {
            let block = p.blocks.partition_point(|b| b.at as usize <= *at) - 1;
            let panel = &s.panels[s.panel_of_block[block] as usize];
            let i = *at - p.blocks[block].at as usize;
            lu.U[panel.at as usize + i * (panel.stride() as usize + 1)] += *stiffness;
        }
        for group in &s.groups {
            let targets = &s.targets[group.first_target as usize..group.last_target as usize];
            for index in group.first_cone as usize..group.last_cone as usize {
                if faces.is_idle(p, index) {
                    continue;
                }
                let cone = &p.cones[index];
                let k = cone.k as usize;
                in_rows.clear();
                faces.push_in_rows(p, index, way, in_rows);
                let [R, F, bend] = [0, 1, 2].map(|part| &in_rows[part * k * k..(part + 1) * k * k]);
                let mut G = [[0.0; MAX_ROWS]; MAX_ROWS];
                for a in 0..k {
                    for b in 0..k {
                        let sum: f64 = (0..k).map(|i| F[i * k + a] * R[i * k + b]).sum();
                        G[a][b] = *rho * sum + bend[a * k + b];
                    }
                }
                let J = &p.J[cone.J_at as usize..][..k * cone.width as usize];
                kernels::add_part(*isa, targets, k, &G, J, &mut lu.U, &mut lu.L);
            }
        }
        kernels::factor_lu(*isa, s, &mut lu.U, &mut lu.L, &mut lu.inverses, scratch).is_some()
            && lu.inverses.iter().all(|entry| entry.abs() <= largest)
    }

    /// Prepares gradients: factors the transpose, once for an answer.
    pub(super) fn turn_around(&mut self, p: &ConeProgram, faces: &Faces) {
        if self.factors.exact && !self.factors.has_backward {
            // as regular as the matrix itself, whose factor is there
            self.factor_exact(p, faces, Way::Backward);
        }
    }
}

impl Factors {
    fn lu(&self, way: Way) -> &Lu {
        if way == Way::Forward { &self.forward } else { &self.backward }
    }

    /// `x ← H⁻¹ x`, or that with the transpose.
    pub fn solve(&mut self, isa: Isa, s: &Structure, way: Way, x: &mut [f64]) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let Lu { U, L, inverses } = self.lu(way);
        kernels::solve_lu(isa, s, U, L, inverses, &mut scratch, x);
        self.scratch = scratch;
    }

    /// `X ← H⁻ᵀ X` over some panels, with the arguments of [`solve_many`](kernels::solve_many).
    pub fn solve_many(
        &self,
        isa: Isa,
        s: &Structure,
        panels: Range<usize>,
        row_of: &[u32],
        columns: usize,
        X: &mut [f64],
        own: &mut [f64],
    ) {
        let Lu { U, L, inverses } = self.lu(Way::Backward);
        let (first, last) = (panels.start, panels.end);
        kernels::solve_lu_many(isa, s, first, last, U, L, inverses, row_of, columns, X, own);
    }
}
