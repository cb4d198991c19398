//! Stage 3: near points × body Jacobians → contact rows.
//!
//! ```text
//! v_i = J_i v,   J_i = [n t1 t2]ᵀ (J_Cb − J_Ca),   relative velocity of B against A at the contact
//! ```
//!
//! Rows are stored over all dofs; prescribed dofs move to the constant side when a formulation
//! assembles its problem (the ∂ψ/∂t terms of Trinkle05).

use crate::scan::{NearPoint, Scan};
use crate::system::System;
use quasistep_math::Vec3;

/// Share of the tangent Jacobian's squared norm below which a direction counts as motionless.
/// Rounding leaves about 1e-32; a real lever arm of a micrometre gives 1e-12.
const PLANAR_TOLERANCE: f64 = 1e-20;

/// How many tangent directions a contact can move along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tangents {
    /// None: motion along the normal only.
    None,
    /// Along `t1` only.
    Line,
    /// Along `t1` and `t2`.
    Plane,
}

/// One contact point with its Jacobian rows.
#[derive(Clone, Debug)]
pub(crate) struct ContactRow {
    pub near: NearPoint,
    pub t1: Vec3,
    pub t2: Vec3,
    pub tangents: Tangents,
    pub mu: f64,
    /// Range of this contact's columns in [`ContactRows`].
    pub first: u32,
    pub last: u32,
}

/// All contact rows of a step, as sparse columns `(dof, [J_n, J_t1, J_t2])`.
#[derive(Debug, Default)]
pub(crate) struct ContactRows {
    pub rows: Vec<ContactRow>,
    pub dofs: Vec<u32>,
    /// Entries are in m/s per unit rate of the dof.
    pub columns: Vec<[f64; 3]>,
    /// Scratch: position of a dof's column in the contact at hand, or `u32::MAX`.
    slot: Vec<u32>,
}

impl ContactRows {
    /// Dofs and columns of one contact.
    pub fn columns_of(&self, row: &ContactRow) -> impl Iterator<Item = (usize, &[f64; 3])> {
        let range = row.first as usize..row.last as usize;
        self.dofs[range.clone()].iter().map(|&d| d as usize).zip(&self.columns[range])
    }

    /// `J v` of one contact: relative velocity along `n`, `t1`, `t2`, in m/s.
    pub fn velocity(&self, row: &ContactRow, v: &[f64]) -> [f64; 3] {
        let mut out = [0.0; 3];
        for (dof, column) in self.columns_of(row) {
            for k in 0..3 {
                out[k] += column[k] * v[dof];
            }
        }
        out
    }

    /// Rebuilds all rows from the near points of `scan`.
    pub fn update(&mut self, system: &System, scan: &Scan) {
        self.rows.clear();
        self.dofs.clear();
        self.columns.clear();
        self.slot.clear();
        self.slot.resize(system.model.n_v(), u32::MAX);
        for near in &scan.points {
            let first = self.dofs.len();
            let n = near.point.n_AB_W;
            let a = system.geoms[near.geom_a as usize].body;
            let b = system.geoms[near.geom_b as usize].body;
            let mut t1 = n.any_orthogonal();
            let mut t2 = n.cross(t1);
            self.push_columns(system, scan, a, near.point.p_WCa, -1.0, [n, t1, t2], first);
            self.push_columns(system, scan, b, near.point.p_WCb, 1.0, [n, t1, t2], first);
            for k in first..self.dofs.len() {
                self.slot[self.dofs[k] as usize] = u32::MAX;
            }
            let tangents = align_tangents(&mut self.columns[first..], &mut t1, &mut t2);
            self.rows.push(ContactRow {
                near: near.clone(),
                t1,
                t2,
                tangents,
                mu: system.friction(near.geom_a as usize, near.geom_b as usize),
                first: first as u32,
                last: self.dofs.len() as u32,
            });
        }
    }

    /// Takes the distances of rows built in the middle of a step back to its start: those of
    /// `start` where it has the same point, else back along the motion `v` of half a step.
    pub fn rewind(&mut self, start: &Scan, v: &[f64], half: f64) {
        let key = |p: &NearPoint| (p.geom_a, p.geom_b, p.point.feature);
        for k in 0..self.rows.len() {
            let near = &self.rows[k].near;
            let known = start.points.binary_search_by_key(&key(near), key);
            self.rows[k].near.point.phi = match known {
                Ok(i) => start.points[i].point.phi,
                Err(_) => near.point.phi - half * self.velocity(&self.rows[k], v)[0],
            };
        }
    }

    #[allow(clippy::too_many_arguments)] // one call site above, twice, for A and B
    fn push_columns(
        &mut self,
        system: &System,
        scan: &Scan,
        body: usize,
        p_WC: Vec3,
        sign: f64,
        basis: [Vec3; 3],
        first: usize,
    ) {
        for &index in system.model.path(body) {
            let column = &scan.kin.columns[index as usize];
            let velocity = (column.v_Wo_W + column.w_W.cross(p_WC)) * sign;
            let entry = basis.map(|axis| axis.dot(velocity));
            let slot = &mut self.slot[column.dof as usize];
            if *slot == u32::MAX {
                *slot = (self.dofs.len() - first) as u32;
                self.dofs.push(column.dof);
                self.columns.push(entry);
            } else {
                // both bodies hang on this dof: their velocities subtract
                let sum = &mut self.columns[first + *slot as usize];
                for k in 0..3 {
                    sum[k] += entry[k];
                }
            }
        }
    }
}

/// Turns the tangents of a contact that moves in one plane so that `t1` lies in that plane.
fn align_tangents(columns: &mut [[f64; 3]], t1: &mut Vec3, t2: &mut Vec3) -> Tangents {
    // Gram matrix of the two tangent rows
    let (mut g11, mut g12, mut g22) = (0.0, 0.0, 0.0);
    let mut normal = 0.0;
    for c in columns.iter() {
        normal += c[0] * c[0];
        g11 += c[1] * c[1];
        g12 += c[1] * c[2];
        g22 += c[2] * c[2];
    }
    let trace = g11 + g22;
    if trace <= PLANAR_TOLERANCE * normal {
        return Tangents::None;
    }
    // the direction that moves, if there is only one, is the larger column of the Gram matrix
    let (mut c, mut s) = if g11 >= g22 { (g11, g12) } else { (g12, g22) };
    let norm = c.hypot(s);
    c /= norm;
    s /= norm;
    // motion across it, summed directly: a determinant would lose it in rounding
    let across: f64 = columns.iter().map(|k| (c * k[2] - s * k[1]).powi(2)).sum();
    if across > PLANAR_TOLERANCE * trace {
        return Tangents::Plane;
    }
    let direction = *t1 * c + *t2 * s;
    // one sense for good: the largest component is positive
    let largest =
        (0..3).fold(0, |m, k| if direction[k].abs() > direction[m].abs() + 1e-9 { k } else { m });
    if direction[largest] < 0.0 {
        (c, s) = (-c, -s);
    }
    let (old1, old2) = (*t1, *t2);
    *t1 = old1 * c + old2 * s;
    *t2 = old2 * c - old1 * s;
    for column in columns {
        let [_, x, y] = *column;
        column[1] = c * x + s * y;
        column[2] = 0.0;
    }
    Tangents::Line
}
