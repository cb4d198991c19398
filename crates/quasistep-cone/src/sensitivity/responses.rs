//! Responses of some variables to every force and every row: many adjoint products at once.
//!
//! Let `δf` be that of a [`ChangeAt`](super::ChangeAt), and `δu` a change of `J x − b`. The change
//! of variable `v` is `x_vᵀ δf + z_vᵀ δu`. The columns `x_v` solve the equations of `linear.rs` for
//! the unit vectors `e_v`:
//!
//! ```text
//! P' x − Aᵀ zeta = e_v,     Pi A x = 0,     z = Eᵀ (zeta − C A x)
//! ```
//!
//! Islands do not affect one another, so `x` and `z` hold the rows of one island and the columns of
//! its variables. All computations use the rows of `J`, three for a contact, instead of those of `A
//! = E J`. With matrices `R` and `F` with as many rows as `J`, `Fᵀ R = Eᵀ Piᵀ E`, and `bend = Eᵀ C
//! E`, a multiplier update is
//!
//! ```text
//! x += r,   gap += R J r,   zeta −= rho gap,   r ← H⁻ᵀ (e_v − P x + Jᵀ (Fᵀ (zeta − rho gap) − bend J x))
//! ```
//!
//! This is `Linear::solve` with rotated rows. `R` equals `F` unless friction is exact. The product
//! `Eᵀ Pi E` itself cannot be used: its rounding errors for sliding motions are not in the range of
//! the rows, and they would be multiplied by `rho`.

use super::linear::{Linear, ROUNDS, Rounds};
use super::unsymmetric::Way;
use crate::kernels::{self, Active, FaceMatrices, Factor, Many, PressedRows, Small};
use crate::program::ConeProgram;
use crate::tolerances::{DERIVATIVE_SETTLED, DERIVATIVE_STEADY};
use std::ops::Range;

/// Derivatives of some variables of an island with respect to its forces and rows. Filled by
/// [`Sensitivity::respond`](super::Sensitivity::respond). Reuse one value: its memory is kept.
#[derive(Debug, Default)]
pub struct Responses {
    isa: kernels::Isa,
    /// Number of columns, padded.
    pub(super) columns: usize,
    /// For each block its first row in `x`, or [`NONE`] if it is on another island.
    row_of_block: Vec<u32>,
    /// For each cone its first row in `z`, or [`NONE`] if it is inactive.
    row_of_cone: Vec<u32>,
    /// Active cones, and their first rows in `z`.
    cones: Vec<u32>,
    at: Vec<u32>,
    /// `R`, `F` and `bend` of each active cone, and whether any `bend` is nonzero.
    faces: Vec<f64>,
    bends: bool,
    pub(super) x: Vec<f64>,
    z: Vec<f64>,
    r: Vec<f64>,
    rows: PressedRows,
    own: Vec<f64>,
    /// For each column the largest entries of `x` and `zeta`, and their largest changes.
    sizes: [Vec<f64>; 4],
}

const NONE: u32 = u32::MAX;

impl Responses {
    /// Length of a row of responses: the number of variables, padded.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Derivatives of the variables with respect to the force on entry `i` of a block, length
    /// [`columns`](Self::columns). `None` if the block is on another island.
    pub fn x(&self, block: usize, i: usize) -> Option<&[f64]> {
        let row = self.row_of_block[block];
        (row != NONE).then(|| &self.x[(row as usize + i) * self.columns..][..self.columns])
    }

    /// Derivatives of the variables with respect to row `r` of `J x − b` of a cone, length
    /// [`columns`](Self::columns). `None` if they are zero.
    pub fn z(&self, cone: usize, r: usize) -> Option<&[f64]> {
        let row = self.row_of_cone[cone];
        (row != NONE).then(|| &self.z[(row as usize + r) * self.columns..][..self.columns])
    }

    /// Whether a cone is on the island and active.
    pub fn has_rows(&self, cone: usize) -> bool {
        self.row_of_cone[cone] != NONE
    }

    /// `to += Aᵀ x` with the rows of `x` of a block of the island. `A` is row-major with `dim`
    /// rows; its number of columns is the number of rows of `to`.
    pub fn add_by_forces(&self, block: usize, dim: usize, A: &[f64], to: &mut [f64]) {
        let from = self.row_of_block[block] as usize * self.columns;
        self.add(A, dim, &self.x[from..], to);
    }

    /// `to += Aᵀ z` with the rows of `z` of a cone. `A` is row-major with `k` rows; its number of
    /// columns is the number of rows of `to`.
    pub fn add_by_rows(&self, cone: usize, k: usize, A: &[f64], to: &mut [f64]) {
        if self.row_of_cone[cone] != NONE {
            let from = self.row_of_cone[cone] as usize * self.columns;
            self.add(A, k, &self.z[from..], to);
        }
    }

    fn add(&self, A: &[f64], count: usize, from: &[f64], to: &mut [f64]) {
        let Some(rows) = to.len().checked_div(self.columns) else { return };
        let A = Small { data: A, down: 1, across: rows, rows, count };
        kernels::add_product_many(self.isa, A, 1.0, from, to, self.columns);
    }

    /// Assigns rows to the blocks and cones of an island, and computes the matrices of its cones.
    pub(super) fn lay_out(
        &mut self,
        p: &ConeProgram,
        linear: &Linear,
        island: usize,
        of: &super::active::Active,
    ) {
        let s = &linear.structure;
        let island = &s.islands[island];
        self.row_of_block.clear();
        self.row_of_block.resize(p.blocks.len(), NONE);
        let mut row = 0;
        let mut widest = 0;
        for panel in &s.panels[island.first_panel as usize..island.last_panel as usize] {
            self.row_of_block[panel.block as usize] = row;
            row += panel.dim;
            widest = widest.max(panel.dim as usize);
        }
        let C = self.columns;
        self.row_of_cone.clear();
        self.row_of_cone.resize(p.cones.len(), NONE);
        for v in [&mut self.cones, &mut self.at] {
            v.clear();
        }
        self.faces.clear();
        self.bends = linear.rho == 0.0 || !of.sliding.is_empty();
        let mut z_row = 0;
        for group in &s.groups[island.first_group as usize..island.last_group as usize] {
            for index in group.first_cone..group.last_cone {
                if of.faces.is_idle(p, index as usize) {
                    continue;
                }
                self.row_of_cone[index as usize] = z_row;
                self.cones.push(index);
                self.at.push(z_row);
                z_row += p.cones[index as usize].k;
                of.faces.push_in_rows(p, index as usize, Way::Backward, &mut self.faces);
            }
        }
        for (v, n) in [
            (&mut self.x, row as usize),
            (&mut self.r, row as usize),
            (&mut self.own, widest),
            (&mut self.z, z_row as usize),
            (&mut self.rows.u, z_row as usize),
            (&mut self.rows.off, z_row as usize),
            (&mut self.rows.gap, z_row as usize),
            (&mut self.rows.zeta, z_row as usize),
        ] {
            v.clear();
            v.resize(n * C, 0.0);
        }
        for v in &mut self.sizes {
            v.clear();
            v.resize(C, 0.0);
        }
    }

    /// Sets the right-hand sides to unit vectors of some variables of the island.
    fn set_unit(&mut self, variables: &Range<usize>) {
        self.r.fill(0.0);
        // rows are the island's variables in their order
        for (column, row) in variables.clone().enumerate() {
            self.r[row * self.columns + column] = 1.0;
        }
    }

    /// Computes the responses of some variables by multiplier updates.
    pub(super) fn rounds(
        &mut self,
        p: &ConeProgram,
        linear: &Linear,
        island: usize,
        variables: &Range<usize>,
    ) {
        if self.columns == 0 {
            return;
        }
        let island = &linear.structure.islands[island];
        let panels = island.first_panel as usize..island.last_panel as usize;
        // a variable fixed by active rows hardly moves: compare with the response of the cost alone
        let least = 1.0 / linear.scale(p);
        self.sizes[0].fill(least);
        self.set_unit(variables);
        let mut watch = Rounds::new();
        let mut last = f64::INFINITY;
        for _ in 0..ROUNDS {
            let Some(change) = self.update(p, linear, panels.clone(), &mut watch) else { break };
            // once the slowest direction dominates, all updates converge linearly with one factor
            if change <= DERIVATIVE_SETTLED
                || change <= DERIVATIVE_STEADY && change * (change / last) <= DERIVATIVE_SETTLED
            {
                break;
            }
            last = change;
            self.set_unit(variables);
            self.add_residual(p, linear, panels.clone());
        }
        self.finish(p, linear);
    }

    /// One multiplier update from the right-hand sides in `r`. Returns the change of `x` and `zeta`
    /// as a share of their sizes, or `None` if the updates no longer converge.
    fn update(
        &mut self,
        p: &ConeProgram,
        linear: &Linear,
        panels: Range<usize>,
        watch: &mut Rounds,
    ) -> Option<f64> {
        let Self { row_of_block, cones, at, faces, bends, x, z, r, rows, own, .. } = self;
        let (isa, s, columns) = (linear.isa, linear.structure.layout(), self.columns);
        let many = Many { columns, row_of: row_of_block };
        if linear.factors.exact {
            kernels::solve_lu_many(isa, s, panels, &linear.factors.backward, many, r, own);
        } else {
            let factor = Factor { H: &linear.H, inverses: &linear.W };
            kernels::solve_many(isa, s, panels, factor, many, r, own);
        }
        let [size_x, change_x, size_z, change_z] = &mut self.sizes;
        change_x.fill(0.0);
        kernels::largest_many(isa, r, columns, change_x);
        let change = share(change_x, size_x);
        if watch.stalled(change, 1.0) {
            return None;
        }
        x.iter_mut().zip(&*r).for_each(|(x, r)| *x += r);
        kernels::largest_many(isa, x, columns, size_x);
        rows.u.fill(0.0);
        let active = Active { cones, at };
        kernels::add_rows_many(isa, p, active, many, r, &mut rows.u);
        let faces = FaceMatrices { of: faces, rho: linear.rho, bends: *bends };
        kernels::press_many(isa, p, active, faces, columns, rows, z);
        if !(linear.rho > 0.0) {
            return Some(change);
        }
        change_z.fill(0.0);
        kernels::largest_many(isa, &rows.gap, columns, change_z);
        for change in change_z.iter_mut() {
            *change *= linear.rho;
        }
        size_z.fill(0.0);
        kernels::largest_many(isa, &rows.zeta, columns, size_z);
        Some(change.max(share(change_z, size_z)))
    }

    /// `r −= P x − Jᵀ z`, Huber terms included.
    fn add_residual(&mut self, p: &ConeProgram, linear: &Linear, panels: Range<usize>) {
        let Self { row_of_block: row_of, cones, at, x, z, r, columns: C, .. } = self;
        let (isa, C) = (linear.isa, *C);
        for panel in &linear.structure.panels[panels] {
            let block = &p.blocks[panel.block as usize];
            let (dim, stride) = (block.dim as usize, block.stride as usize);
            let own = row_of[panel.block as usize] as usize * C;
            let data = &p.P[block.P_at as usize..];
            let A = Small { data, down: stride, across: 1, rows: dim, count: dim };
            kernels::add_product_many(isa, A, -1.0, &x[own..], &mut r[own..], C);
        }
        for (spring, stiffness) in &linear.springs {
            let block = p.blocks.partition_point(|b| b.at as usize <= *spring) - 1;
            if row_of[block] != NONE {
                let row = row_of[block] as usize + spring - p.blocks[block].at as usize;
                let own = row * C..(row + 1) * C;
                r[own.clone()].iter_mut().zip(&x[own]).for_each(|(r, x)| *r -= stiffness * x);
            }
        }
        let many = Many { columns: C, row_of };
        kernels::add_forces_many(isa, p, Active { cones, at }, many, z, r);
    }

    /// Computes the final responses of the rows, `z = Fᵀ zeta − bend off`, without the penalty
    /// term.
    fn finish(&mut self, p: &ConeProgram, linear: &Linear) {
        let C = self.columns;
        let mut faces = &self.faces[..];
        for (cone, at) in self.cones.iter().zip(&self.at) {
            let k = p.cones[*cone as usize].k as usize;
            let (F, bend) = (&faces[k * k..2 * k * k], &faces[2 * k * k..3 * k * k]);
            faces = &faces[3 * k * k..];
            let own = *at as usize * C..(*at as usize + k) * C;
            let z = &mut self.z[own.clone()];
            z.fill(0.0);
            let A = Small { data: F, down: 1, across: k, rows: k, count: k };
            kernels::add_product_many(linear.isa, A, 1.0, &self.rows.zeta[own.clone()], z, C);
            let A = Small { data: bend, down: k, across: 1, rows: k, count: k };
            kernels::add_product_many(linear.isa, A, -1.0, &self.rows.off[own], z, C);
        }
    }
}

/// Largest ratio of a change to its size. A NaN is kept.
fn share(change: &[f64], size: &[f64]) -> f64 {
    change.iter().zip(size).fold(0.0, |most, (change, size)| {
        let share = if *change == 0.0 { 0.0 } else { change / size };
        if share > most || share.is_nan() { share } else { most }
    })
}
