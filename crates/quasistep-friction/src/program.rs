//! Friction program: a cost in blocks, and contacts with Coulomb friction.

use crate::contact::{Contact, Shape};
use crate::products::{add_rows, rows_times, terms_of_rows, whole_rows_times};
use crate::tolerances::friction::NONE;
use quasistep_cone::inside::ConeData;
use quasistep_cone::{Cone, ConeMut, ConeProgram};
use quasistep_linalg::simd::Isa;
use quasistep_linalg::{Reason, Saturation};

/// Balance of forces under contacts with exact Coulomb friction.
///
/// Find `x` and a force `lambda_i = (lambda_n, lambda_t)` for every contact with
///
/// ```text
/// P x + c + Σ_l ∇huber_l(x) = Σ_i J_iᵀ lambda_i                     balance
/// u_i = J_i x − b_i = (u_n, u_t)
/// 0 ≤ lambda_n ⊥ u_n ≥ 0                                            nothing pulls, nothing pushes apart
/// lambda_t ∈ argmax { −lᵀ u_t : l ∈ lambda_n F_i }                  largest dissipation
/// ```
///
/// `P = blkdiag(P_1, …)` has positive semidefinite blocks and may be zero. `x` is the concatenation
/// of the blocks, `u` and `lambda` are those of the contacts, normal row first. `F_i` is the set of
/// friction forces at a normal force of 1: see [`Friction`]. Prescribed motion is part of the
/// offset `b`.
///
/// The program is rebuilt for every solve in the memory of the last one. It holds the data of a
/// [`ConeProgram`].
///
/// [`relaxation`](Self::relaxation) is Anitescu's convex relaxation. It is exact for sticking
/// contacts. Its sliding contacts separate at the rate `boundary_layer`.
#[derive(Clone, Debug, Default)]
pub struct FrictionProgram {
    pub(crate) cones: ConeProgram,
    pub(crate) contacts: Vec<Contact>,
    /// Number of rows of all contacts.
    pub(crate) rows: usize,
    /// Vertices of the friction sets, `tangents` entries each, one contact after another.
    pub(crate) vertices: Vec<f64>,
    /// Units of the tangential rows, one contact after another.
    pub(crate) units: Vec<f64>,
    pub(crate) negative: bool,
    edges: Vec<f64>,
}

/// Friction set `F`: the friction forces at a normal force of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Friction<'a> {
    /// No friction: a single normal row. A bound of a variable is such a contact.
    None,
    /// The ellipsoid `Σ_r (l_r / mu_r)² ≤ 1`, with one entry for every tangential row. `[mu, mu]`
    /// is a disc; `[mu, mu, mu_spin]` includes torsional friction. A single entry gives a segment,
    /// like a diamond or a box. Trinkle05 (4).
    Round(&'a [f64]),
    /// Pyramid: the convex hull of 0 and `mu d_j`, for any number of directions `d_j` that
    /// positively span the tangent plane. Trinkle05 (13) and Pang21 (1).
    Diamond {
        /// Coefficient of friction.
        mu: f64,
        /// Directions `d_j`, row-major with `tangents` columns.
        directions: &'a [f64],
        /// Number of tangential rows.
        tangents: usize,
    },
    /// The box `|l_r| ≤ mu_r`. Trinkle05 (33). The diamond with directions along the rows is a
    /// different set: the convex hull of the midpoints of the box's sides.
    Box(&'a [f64]),
}

impl FrictionProgram {
    /// A program without variables and contacts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all contacts and Huber terms, and starts with blocks of these sizes and zero cost.
    ///
    /// Every block that a contact acts on needs at least one variable; otherwise the solve ends
    /// with [`Reason::Dimensions`].
    pub fn reset(&mut self, dims: impl IntoIterator<Item = usize>) {
        self.cones.reset(dims);
        self.contacts.clear();
        self.vertices.clear();
        self.units.clear();
        self.rows = 0;
        self.negative = false;
    }

    /// Row `row` of the cost of a block, one entry per variable of the block. Both triangles must
    /// be written.
    pub fn P(&mut self, block: usize, row: usize) -> &mut [f64] {
        self.cones.P(block, row)
    }

    /// Linear cost of a block, one entry per variable: the negative of the known forces on it.
    pub fn c(&mut self, block: usize) -> &mut [f64] {
        self.cones.c(block)
    }

    /// Adds a Huber term. Its index counts the variables of all blocks.
    pub fn push_saturation(&mut self, saturation: Saturation) {
        self.cones.push_saturation(saturation);
    }

    /// Adds a contact over distinct `blocks`.
    ///
    /// Row 0 of its Jacobian and offset is the normal one, the others are tangential. More than 8
    /// rows end the solve with [`Reason::Dimensions`].
    ///
    /// # Panics
    ///
    /// If the length of `directions` does not fit `tangents`, or a block does not exist.
    pub fn push_contact(&mut self, friction: Friction<'_>, blocks: &[u32]) -> ConeMut<'_> {
        let (units_at, vertices_at) = (self.units.len() as u32, self.vertices.len() as u32);
        self.edges.clear();
        let (tangents, count) = match friction {
            Friction::None => (0, Some(0)),
            Friction::Round(&[mu]) => {
                // in one dimension a ball is a segment
                self.negative |= mu < 0.0;
                self.edges.extend([mu, -mu]);
                (1, Some(2))
            }
            Friction::Round(mu) => {
                self.negative |= mu.iter().any(|mu| *mu < 0.0);
                self.units.extend_from_slice(mu);
                (mu.len(), None)
            }
            Friction::Diamond { mu, directions, tangents } => {
                assert!(
                    tangents > 0 && directions.len().is_multiple_of(tangents),
                    "directions must have `tangents` columns"
                );
                self.negative |= mu < 0.0;
                self.edges.extend(directions.iter().map(|d| mu * d));
                (tangents, Some(directions.len() / tangents))
            }
            Friction::Box(mu) => {
                self.negative |= mu.iter().any(|mu| *mu < 0.0);
                let corners = 1_usize << mu.len().min(8);
                for corner in 0..corners {
                    let sign = |r: usize| if corner >> r & 1 == 0 { 1.0 } else { -1.0 };
                    self.edges.extend(mu.iter().enumerate().map(|(r, mu)| sign(r) * mu));
                }
                (mu.len(), Some(corners))
            }
        };
        let k = tangents + 1;
        let first = self.rows as u32;
        let shape = if let Some(count) = count {
            for r in 0..tangents {
                let column = self.edges.iter().skip(r).step_by(tangents);
                self.units.push(column.fold(0.0, |m, v| v.abs().max(m)));
            }
            self.push_vertices(tangents, units_at as usize);
            let count = if count > 0 && tangents > 0 {
                (self.vertices.len() - vertices_at as usize) / tangents
            } else {
                1
            };
            Shape::Polytope(count as u32)
        } else {
            Shape::Round
        };
        self.rows += k;
        self.contacts.push(Contact { shape, k: k as u32, first, units_at, vertices_at });
        let Self { cones, edges, .. } = self;
        match friction {
            Friction::Round(mu) if mu.len() > 1 && k <= 8 => {
                let mut E = [1.0; 8];
                E[1..k].copy_from_slice(mu);
                cones.push_cone(Cone::Round(&E[..k]), k, blocks)
            }
            _ => {
                // edges of the cone are rows (1, edge); without friction they coincide
                let flat = edges.iter().all(|e| *e == 0.0);
                let count = if flat || tangents == 0 { 1 } else { edges.len() / tangents };
                edges.resize(count * tangents, 0.0);
                edges.resize(count * k, 0.0);
                for j in (0..count).rev() {
                    edges.copy_within(j * tangents..(j + 1) * tangents, j * k + 1);
                    edges[j * k] = 1.0;
                }
                cones.push_cone(Cone::Edges(edges), k, blocks)
            }
        }
    }

    /// Mutable Huber term `k`.
    pub fn saturation_mut(&mut self, k: usize) -> &mut Saturation {
        self.cones.saturation_mut(k)
    }

    /// Mutable view of the Jacobian and offset of a contact.
    pub fn contact_mut(&mut self, contact: usize) -> ConeMut<'_> {
        self.cones.cone_mut(contact)
    }

    /// Appends the vertices of a polytope, in the units of its rows. The vertex 0 is omitted unless
    /// it is the only one.
    fn push_vertices(&mut self, tangents: usize, units_at: usize) {
        let at = self.vertices.len();
        let units = &self.units[units_at..];
        if units.iter().all(|unit| *unit == 0.0) {
            self.vertices.resize(at + tangents, 0.0);
            return;
        }
        for edge in self.edges.chunks_exact(tangents) {
            for (e, unit) in edge.iter().zip(units) {
                self.vertices.push(if *unit == 0.0 { 0.0 } else { e / unit });
            }
        }
        if !balanced(&self.vertices[at..], tangents) {
            self.vertices.resize(self.vertices.len() + tangents, 0.0);
        }
    }

    /// Anitescu's convex relaxation: the same blocks, and contacts as cones `u_n ≥ max_{l ∈ F} −lᵀ
    /// u_t`.
    pub fn relaxation(&self) -> &ConeProgram {
        &self.cones
    }

    /// Number of variables.
    pub fn n(&self) -> usize {
        self.cones.n
    }

    /// Number of rows: the length of `u` and `lambda`.
    pub fn n_rows(&self) -> usize {
        self.rows
    }

    /// Number of contacts.
    pub fn n_contacts(&self) -> usize {
        self.contacts.len()
    }

    /// Range of a contact's entries in `u` and `lambda`.
    pub fn rows_of(&self, contact: usize) -> std::ops::Range<usize> {
        self.contacts[contact].rows()
    }

    /// Units of the tangential rows of a contact: the largest friction force along each row.
    pub(crate) fn units_of(&self, contact: &Contact) -> &[f64] {
        &self.units[contact.units_at as usize..][..contact.tangents()]
    }

    /// Vertices of a contact's friction set, over the units of its rows.
    pub(crate) fn vertices_of(&self, contact: &Contact) -> &[f64] {
        match contact.shape {
            Shape::Round => &[],
            Shape::Polytope(count) => {
                &self.vertices[contact.vertices_at as usize..]
                    [..count as usize * contact.tangents()]
            }
        }
    }

    /// Cone of a contact in the relaxation.
    pub(crate) fn cone_of(&self, contact: usize) -> &ConeData {
        &self.cones.cones[contact]
    }

    /// Nonzero parts of row `row` of a contact's Jacobian: for each block its first variable and
    /// entries.
    pub(crate) fn row(&self, contact: usize, row: usize) -> impl Iterator<Item = (usize, &[f64])> {
        let cone = &self.cones.cones[contact];
        let J = &self.cones.J[cone.J_at as usize + row * cone.width as usize..];
        self.cones.sides_of(cone).iter().map(move |side| {
            let block = &self.cones.blocks[side.block as usize];
            (block.first as usize, &J[side.column as usize..][..block.dim as usize])
        })
    }

    /// Offset of a contact's row.
    pub(crate) fn b(&self, contact: usize, row: usize) -> f64 {
        self.cones.b[self.cones.cones[contact].b_at as usize + row]
    }

    /// `u = J x − b`.
    pub(crate) fn rates(&self, x: &[f64], u: &mut [f64]) {
        rows_times(Isa::detect(), &self.cones, &self.contacts, x, u);
    }

    /// Sums of the magnitudes of the terms of `u = J x − b`.
    pub(crate) fn rate_terms(&self, x: &[f64], terms: &mut [f64]) {
        terms_of_rows(Isa::detect(), &self.cones, &self.contacts, x, terms);
    }

    /// `u = J x`. For contacts that are not `whole` only the normal row is computed; their other
    /// entries are set to 0.
    pub(crate) fn whole_changes(&self, x: &[f64], whole: &[bool], u: &mut [f64]) {
        whole_rows_times(Isa::detect(), &self.cones, &self.contacts, whole, x, u);
    }

    /// `g += s Jᵀ lambda`.
    pub(crate) fn add_forces(&self, s: f64, lambda: &[f64], g: &mut [f64]) {
        add_rows(Isa::detect(), &self.cones, &self.contacts, s, lambda, g);
    }

    /// `g = P x + c + ∇huber`.
    pub(crate) fn gradient(&self, x: &[f64], g: &mut [f64]) {
        for (k, block) in self.cones.blocks.iter().enumerate() {
            let (first, at) = (block.first as usize, block.at as usize);
            let x = &x[first..first + block.dim as usize];
            for i in 0..block.dim as usize {
                g[first + i] = self.cones.c[at + i] + dot_short(self.cones.P_row(k, i), x);
            }
        }
        for spring in &self.cones.saturations {
            g[spring.index as usize] += spring.gradient(x[spring.index as usize]);
        }
    }

    /// Checks sizes and finiteness, but not whether `P` is semidefinite.
    pub(crate) fn check(&self) -> Result<(), Reason> {
        self.cones.check_sizes()?;
        self.cones.check_numbers()?;
        if self.negative {
            return Err(Reason::NegativeFriction);
        }
        Ok(())
    }
}

/// Inner product of a short row with the first entries of `x`.
#[inline]
pub(crate) fn dot_short(row: &[f64], x: &[f64]) -> f64 {
    row.iter().zip(x).map(|(a, b)| a * b).sum()
}

/// Whether the convex hull of the vertices contains 0, as it does if the directions positively span
/// the tangent plane.
fn balanced(vertices: &[f64], tangents: usize) -> bool {
    let mut hull = crate::polytope::Hull::default();
    let mut point = [0.0; 8];
    if !vertices.iter().all(|v| v.is_finite()) || tangents > 7 {
        return true;
    }
    // their mean is in the hull, and it is 0 for evenly spread directions
    let sum = |t: usize| vertices.iter().skip(t).step_by(tangents).sum::<f64>();
    if (0..tangents).all(|t| sum(t).abs() <= NONE) {
        return true;
    }
    hull.project(vertices, tangents, 1.0, &[0.0; 7][..tangents], &mut point[..tangents]);
    point[..tangents].iter().all(|v| v.abs() <= NONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::row_terms;

    #[test]
    fn rates_and_forces_of_blocks_of_all_sizes_are_those_of_the_rows() {
        let dims = [6_usize, 7, 1, 3, 9];
        let mut p = FrictionProgram::new();
        p.reset(dims);
        let mut state = 1_u32;
        let mut next = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 8) / f64::from(1 << 23) - 1.0
        };
        let mu = [0.5, 0.4, 0.1];
        let frictions = [
            Friction::None,
            Friction::Round(&mu[..2]),
            Friction::Round(&mu),
            Friction::Box(&mu[..2]),
        ];
        for (i, blocks) in
            [&[0_u32][..], &[1, 0], &[4, 3], &[2, 4, 1], &[3], &[]].iter().enumerate()
        {
            let mut contact = p.push_contact(frictions[i % 4], blocks);
            let k = contact.b().len();
            contact.b().iter_mut().for_each(|b| *b = next());
            for side in 0..blocks.len() {
                for r in 0..k {
                    contact.J(side, r).iter_mut().for_each(|J| *J = next());
                }
            }
        }
        let x: Vec<f64> = (0..p.n()).map(|_| next()).collect();
        let lambda: Vec<f64> = (0..p.rows).map(|_| next()).collect();
        let (mut u, mut du, mut g) = (vec![0.0; p.rows], vec![0.0; p.rows], x.clone());
        p.rates(&x, &mut u);
        let whole: Vec<bool> = (0..p.contacts.len()).map(|i| i % 5 != 1).collect();
        p.whole_changes(&x, &whole, &mut du);
        let mut terms = u.clone();
        p.rate_terms(&x, &mut terms);
        p.add_forces(-2.0, &lambda, &mut g);
        let mut expected = x.clone();
        for (i, contact) in p.contacts.iter().enumerate() {
            for (r, at) in contact.rows().enumerate() {
                let along: f64 = p.row(i, r).map(|(first, J)| dot_short(J, &x[first..])).sum();
                let change = if whole[i] || r == 0 { along } else { 0.0 };
                assert!((du[at] - change).abs() < 1e-14);
                assert!((terms[at] - row_terms(&p, i, r, &x)).abs() < 1e-14);
                assert!((u[at] - (along - p.b(i, r))).abs() < 1e-14);
                for (first, J) in p.row(i, r) {
                    for (g, J) in expected[first..].iter_mut().zip(J) {
                        *g -= 2.0 * lambda[at] * J;
                    }
                }
            }
        }
        for (g, expected) in g.iter().zip(&expected) {
            assert!((g - expected).abs() < 1e-14);
        }
    }
}
