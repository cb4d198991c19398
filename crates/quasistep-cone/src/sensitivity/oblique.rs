//! Derivatives where a face has other directions of forces than of rates, as with exact friction:
//! `Pi = N Mᵀ`.
//!
//! A crate that builds on cone programs finds the faces; see [`Sensitivity::oblique`].

use super::active::{Active, Kinks};
use super::linear::{Faces, Linear, largest};
use super::prepared::Prepared;
use super::unsymmetric::{Factors, Way};
use super::{Sensitivity, SensitivityError};
use crate::kernels::{self, MAX_ROUND};
use crate::program::{ConeData, ConeProgram, MAX_ROWS};
use crate::tolerances::{DERIVATIVE_PIVOT, LOADS_MOVE};
use quasistep_linalg::simd::LANES;

impl Sensitivity {
    /// Forgets the solution that was prepared last.
    pub fn forget(&mut self) {
        self.ready = false;
    }

    /// Prepares the derivative of a solution `x` of a law on the rows of `program`. `find` marks
    /// the faces on which slacks stay 0, with [`Faces::exact`], and writes the multipliers.
    ///
    /// For crates that build on cone programs. If `z` is not unique, `dz` is a consistent change,
    /// but not the smallest.
    ///
    /// # Errors
    ///
    /// [`NotUnique`](SensitivityError::NotUnique), also where the linear system is singular.
    /// [`Dimensions`](SensitivityError::Dimensions) if `x` belongs to another program.
    pub fn oblique(
        &mut self,
        program: &ConeProgram,
        point: &[f64],
        find: impl FnOnce(Prepared<'_>),
    ) -> Result<Kinks, SensitivityError> {
        self.ready = false;
        if point.len() != program.n || program.check_sizes().is_err() {
            return Err(SensitivityError::Dimensions);
        }
        self.take(program);
        // these multipliers satisfy no least-norm condition
        self.has_w = true;
        let Self { p, linear, active, x, z, s, f, g, dx, zeta, .. } = self;
        p.pad_x(point, x);
        linear.slacks(p, x, s);
        find(Prepared { p, linear, active, x, z, s, g, w: dx });
        if !linear.factor(p, &active.faces) {
            return Err(SensitivityError::NotUnique);
        }
        active.find_held(p, linear, f, g);
        if active.faces.any {
            active.kinks.loads = active.loads_that_move(p, linear, [f, g, dx, zeta]);
        }
        self.ready = true;
        Ok(self.active.kinks)
    }

    /// Multipliers of the prepared solution, length `m`.
    ///
    /// # Errors
    ///
    /// [`Dimensions`](SensitivityError::Dimensions),
    /// [`NotPrepared`](SensitivityError::NotPrepared).
    pub fn multipliers(&self, out: &mut [f64]) -> Result<(), SensitivityError> {
        self.check(self.p.n, out.len(), None)?;
        kernels::unpad(self.linear.isa, &self.p, &self.z, out);
        Ok(())
    }

    /// Whether a Huber term is at its limit at the prepared solution.
    pub fn is_limited(&self, spring: usize) -> bool {
        self.linear.springs[spring].1 == 0.0 && self.p.saturations[spring].stiffness > 0.0
    }
}

impl Faces {
    /// `v ← Pi v` for one cone, or `v ← Piᵀ v`, depending on `way`.
    pub(super) fn project_exact(&self, cone: &ConeData, way: Way, v: &mut [f64]) {
        let (at, m, stride) = (cone.at as usize, cone.m as usize, cone.stride_z as usize);
        let v = &mut v[at..at + m];
        if cone.round {
            let entry = |i: usize, j: usize| self.pi_round[cone.E_at as usize + i * stride + j];
            let mut out = [0.0; MAX_ROUND];
            for (i, out) in out[..m].iter_mut().enumerate() {
                *out = match way {
                    Way::Forward => (0..m).map(|j| entry(i, j) * v[j]).sum(),
                    Way::Backward => (0..m).map(|j| entry(j, i) * v[j]).sum(),
                };
            }
            v.copy_from_slice(&out[..m]);
            return;
        }
        let pi = &self.pi[at..at + m];
        let count: f64 = pi.iter().sum();
        if count == m as f64 {
            return;
        }
        let on_face: f64 = v.iter().zip(pi).map(|(v, pi)| v * pi).sum();
        let mean = if count > 0.0 { on_face / count } else { 0.0 };
        let (own, others) = match way {
            Way::Forward => (v.iter().sum::<f64>() / m as f64, 0.0),
            Way::Backward => (0.0, on_face / m as f64),
        };
        for (v, pi) in v.iter_mut().zip(pi) {
            *v = pi * (*v - mean + own) + others;
        }
    }

    /// Sets `R` and `F` of a round cone; see [`push_in_rows`](Self::push_in_rows).
    pub(super) fn push_round(&self, p: &ConeProgram, cone: &ConeData, way: Way, to: &mut Vec<f64>) {
        let (k, stride, E_at) = (cone.k as usize, cone.stride_z as usize, cone.E_at as usize);
        let E = |r: usize| p.E[E_at + r * stride + r];
        let first = to.len();
        to.resize(first + 2 * k * k, 0.0);
        let (R, F) = to[first..].split_at_mut(k * k);
        if self.pi_round[E_at + stride + 1] == 0.0 {
            R[0] = E(0);
            for (i, F) in F[..k].iter_mut().enumerate() {
                *F = self.pi_round[E_at + i * stride] * E(i);
            }
            if way == Way::Backward {
                R.swap_with_slice(F);
            }
        } else {
            for i in 0..k {
                (R[i * k + i], F[i * k + i]) = (E(i), E(i));
            }
        }
    }

    /// Mean of the edges of a face, as a row of `E`; zero if friction is convex.
    pub(super) fn mean_edge(&self, p: &ConeProgram, cone: &ConeData) -> [f64; MAX_ROWS] {
        let (at, m, stride) = (cone.at as usize, cone.m as usize, cone.stride_z as usize);
        let mut mean = [0.0; MAX_ROWS];
        if self.exact {
            let pi = &self.pi[at..at + m];
            let count: f64 = pi.iter().sum();
            for (r, mean) in mean[..cone.k as usize].iter_mut().enumerate() {
                let E = &p.E[cone.E_at as usize + r * stride..];
                *mean = E.iter().zip(pi).map(|(e, pi)| e * pi).sum::<f64>() / count;
            }
        }
        mean
    }

    /// Sets the first rows of `R` and `F` of a pyramid: the normal rate, and a force along the mean
    /// edge of the face.
    pub(super) fn push_means(
        &self,
        cone: &ConeData,
        way: Way,
        mean: &[f64; MAX_ROWS],
        to: &mut [f64],
    ) {
        let (k, at, m) = (cone.k as usize, cone.at as usize, cone.m as usize);
        let root = self.pi[at..at + m].iter().sum::<f64>().sqrt();
        let (R, F) = to.split_at_mut(k * k);
        let (normal, along) = if way == Way::Forward { (R, F) } else { (F, R) };
        normal[..k].fill(0.0);
        normal[0] = root;
        along[..k].iter_mut().zip(mean).for_each(|(along, mean)| *along = root * mean);
    }
}

impl Linear {
    /// Factorises the matrix or its transpose; returns false if it is singular.
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
                kernels::add_part(*isa, targets, k, &G, J, lu);
            }
        }
        kernels::factor_lu(*isa, s.layout(), lu, scratch).is_some()
            && lu.inverses.iter().all(|entry| entry.abs() <= largest)
    }

    /// Prepares gradients: factorises the transpose, once for each solution.
    pub(super) fn turn_around(&mut self, p: &ConeProgram, faces: &Faces) {
        if self.factors.exact && !self.factors.has_backward {
            // regular, because the matrix itself is
            self.factor_exact(p, faces, Way::Backward);
        }
    }
}

impl Active {
    /// Number of blocks that move when loads are redistributed among contacts without changing the
    /// balance. They are found by random loads, which contact forces balance without motion if `x`
    /// is unique.
    fn loads_that_move(
        &self,
        p: &ConeProgram,
        linear: &mut Linear,
        [f, g, dx, zeta]: [&mut Vec<f64>; 4],
    ) -> u32 {
        let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
        g.fill(0.0);
        for (index, cone) in p.cones.iter().enumerate() {
            if self.faces.is_idle(p, index) {
                continue;
            }
            for v in &mut g[cone.at as usize..(cone.at + cone.m) as usize] {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                *v = (seed >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
            }
        }
        self.faces.project(p, Way::Forward, g);
        f.fill(0.0);
        linear.add_forces(p, g, f);
        dx.fill(0.0);
        let least = LOADS_MOVE * largest(f) / linear.scale(p);
        linear.solve(p, &self.faces, Way::Forward, f, dx, zeta);
        let moves = |at: usize, dim: usize| largest(&dx[at..at + dim]) > least;
        p.blocks.iter().filter(|b| moves(b.at as usize, b.dim as usize)).count() as u32
    }
}
