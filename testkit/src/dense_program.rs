//! Dense form of a cone program, for oracles and for tests that evaluate a program's own rows.
//!
//! The tests of the solvers include this file, too: it imports the crates of the solvers only.

use quasistep_cone::{ConeProgram, Saturation, Settings, Solution};
use quasistep_qp::{Qp, QpSolver, Rows};

/// Dense program that owns its data, made from a cone program without round cones.
#[derive(Clone, Debug, Default)]
pub struct DenseProgram {
    n: usize,
    P: Vec<f64>,
    c: Vec<f64>,
    A: Rows,
    b: Vec<f64>,
    saturations: Vec<Saturation>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl DenseProgram {
    /// Borrows the program as a [`Qp`] for a solver.
    pub fn qp(&self) -> Qp<'_> {
        Qp {
            n: self.n,
            P: &self.P,
            c: &self.c,
            A: &self.A,
            b: &self.b,
            saturations: &self.saturations,
        }
    }

    /// Sets `self` to the dense form of `p`. Round cones become plain rows
    /// `E (J x − b)`.
    pub fn fill(&mut self, p: &ConeProgram) {
        let n = p.n();
        self.n = n;
        self.P.clear();
        self.P.resize(n * n, 0.0);
        self.c.clear();
        for block in &p.blocks {
            let (dim, stride, first) =
                (block.dim as usize, block.stride as usize, block.first as usize);
            for i in 0..dim {
                let row = &p.P[block.P_at as usize + i * stride..][..dim];
                self.P[(first + i) * n + first..][..dim].copy_from_slice(row);
            }
            self.c.extend_from_slice(&p.c[block.at as usize..][..dim]);
        }
        self.A.clear();
        self.b.clear();
        for cone in &p.cones {
            let (k, stride_z) = (cone.k as usize, cone.stride_z as usize);
            for j in 0..cone.m as usize {
                self.columns.clear();
                self.values.clear();
                let edge = |r: usize| p.E[cone.E_at as usize + r * stride_z + j];
                for side in p.sides_of(cone) {
                    let block = &p.blocks[side.block as usize];
                    for i in 0..block.dim {
                        let at = cone.J_at + side.column + i;
                        let value: f64 = (0..k)
                            .map(|r| edge(r) * p.J[at as usize + r * cone.width as usize])
                            .sum();
                        if value != 0.0 {
                            self.columns.push(block.first + i);
                            self.values.push(value);
                        }
                    }
                }
                self.A.push(&self.columns, &self.values);
                self.b.push((0..k).map(|r| edge(r) * p.b[cone.b_at as usize + r]).sum());
            }
        }
        self.saturations.clear();
        self.saturations.extend_from_slice(&p.saturations);
    }

    /// The solution of [`QpSolver`] for a cone program without round cones.
    pub fn solve(p: &ConeProgram) -> Solution {
        let (mut dense, mut out) = (Self::default(), Solution::default());
        dense.fill(p);
        QpSolver::new().solve(&dense.qp(), &[], &Settings::default(), &mut out);
        out
    }
}
