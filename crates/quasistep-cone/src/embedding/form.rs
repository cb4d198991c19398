//! The program as sparse matrices in units of its cones, in double-double arithmetic.
//!
//! ```text
//! min 1/2 xᵀ P x + cᵀ x,   A x − s = b,   s ∈ K
//! ```
//!
//! A Huber term adds two variables `e⁺, e⁻ ≥ 0`, the distances beyond its limits: `1/2 k (x −
//! target − e⁺ + e⁻)² + limit (e⁺ + e⁻)`. All units are powers of two, so that scaling does not
//! round.

use super::cones::Rows;
use super::twice::{Twice, ZERO};
use crate::program::ConeProgram;
use crate::structure::Structure;
use crate::tolerances::embedding::LOOSE;
use crate::units::{Units, columns};
use quasistep_linalg::simd::kernel;

/// Multiply-adds of `f64` that one multiply-add in double-double arithmetic costs: in a dense
/// factorisation, where most entries are zero, and in a product with sparse rows.
const TWICE: u64 = 8;
const TWICE_SPARSE: u64 = 80;

/// Sparse row: pairs of column and value.
pub(super) type Row = Vec<(u32, Twice)>;

#[derive(Debug, Default)]
pub(super) struct Form {
    /// Rows of the cost, diagonal included.
    pub P: Vec<Row>,
    pub c: Vec<Twice>,
    pub A: Vec<Row>,
    pub b: Vec<Twice>,
    pub cones: Vec<Rows>,
    /// Index of every variable in a padded `x`; the variables of the program come first.
    place: Vec<usize>,
    /// Unit of every variable, of every row, and of the cost.
    unit: Vec<f64>,
    row: Vec<f64>,
    cost: f64,
}

kernel! {
    /// `to = M x`.
    times(M: &[Row], x: &[Twice], to: &mut [Twice]) {
        for (row, to) in M.iter().zip(to) {
            *to = row.iter().fold(ZERO, |sum, (j, v)| sum + v.times::<S>(x[*j as usize]));
        }
    }
}

kernel! {
    /// `to += Mᵀ z`.
    add_transposed(M: &[Row], z: &[Twice], to: &mut [Twice]) {
        for (row, z) in M.iter().zip(z) {
            for (j, v) in row {
                to[*j as usize] += v.times::<S>(*z);
            }
        }
    }
}

/// Largest power of two that is at most `v`.
fn power(v: f64) -> f64 {
    if v > 0.0 && v.is_finite() { 2.0_f64.powi(v.log2().floor() as i32) } else { 1.0 }
}

impl Form {
    /// Converts a program; `units` is scratch.
    pub fn new(p: &ConeProgram, s: &Structure, units: &mut Units) -> Self {
        let mut form = Self::default();
        // in elimination order, for little fill
        let mut column = vec![0_u32; p.n_padded];
        for island in &s.islands {
            units.fill(p, s, island);
            form.add_variables(p, s, island, units, &mut column);
        }
        form.add_cost(p, &column);
        form.add_cones(p, units, &column);
        form.add_springs(p, &column);
        form.scale();
        form
    }

    pub fn n(&self) -> usize {
        self.c.len()
    }

    /// Work of a step, in multiply-adds of `f64`: the factorisation, nine solves with it, and the
    /// products of the rows.
    pub fn work(&self) -> u64 {
        let n = self.n() as u64;
        let entries: u64 = self.A.iter().map(|row| row.len() as u64).sum();
        let of_cone = |rows: &Rows| {
            let own: u64 = self.A[rows.first..rows.last].iter().map(|row| row.len() as u64).sum();
            own * own / 2
        };
        TWICE * (n * n * n / 6 + self.cones.iter().map(of_cone).sum::<u64>())
            + TWICE_SPARSE * 9 * (n * n + 4 * entries)
    }

    fn add_variables(
        &mut self,
        p: &ConeProgram,
        s: &Structure,
        island: &crate::structure::Island,
        units: &Units,
        column: &mut [u32],
    ) {
        let panels = &s.panels[island.first_panel as usize..island.last_panel as usize];
        let mut stiff = 0.0_f64;
        for panel in panels {
            let block = &p.blocks[panel.block as usize];
            for i in 0..block.dim as usize {
                let unit = units.variable[block.at as usize + i];
                let diagonal = p.P[block.P_at as usize + i * (block.stride as usize + 1)];
                stiff = stiff.max(unit * unit * diagonal);
            }
        }
        for panel in panels {
            let block = &p.blocks[panel.block as usize];
            for i in 0..block.dim as usize {
                let at = block.at as usize + i;
                // the unit of a variable without cones follows from its curvature
                let diagonal = p.P[block.P_at as usize + i * (block.stride as usize + 1)];
                let alike = (if stiff > 0.0 { stiff } else { 1.0 } / diagonal).sqrt();
                let unit = if units.variable[at] > 0.0 { units.variable[at] } else { alike };
                column[at] = self.place.len() as u32;
                self.place.push(at);
                self.unit.push(power(unit));
            }
        }
    }

    fn add_cost(&mut self, p: &ConeProgram, column: &[u32]) {
        self.P.resize(self.place.len(), Row::new());
        self.c =
            self.place.iter().zip(&self.unit).map(|(at, u)| Twice::new(p.c[*at] * u)).collect();
        for block in &p.blocks {
            let (dim, at) = (block.dim as usize, block.at as usize);
            for i in 0..dim {
                let row = &p.P[block.P_at as usize + i * block.stride as usize..][..dim];
                let own = column[at + i] as usize;
                for (j, value) in row.iter().enumerate() {
                    let other = column[at + j];
                    let value = value * self.unit[own] * self.unit[other as usize];
                    if value != 0.0 || i == j {
                        self.P[own].push((other, Twice::new(value)));
                    }
                }
            }
        }
    }

    fn add_cones(&mut self, p: &ConeProgram, units: &Units, column: &[u32]) {
        for (at, cone) in p.cones.iter().enumerate() {
            let (k, width, stride) = (cone.k as usize, cone.width as usize, cone.stride_z as usize);
            let unit = if cone.first_side == cone.last_side { 0.0 } else { units.row[at] };
            let unit = power(if unit > 0.0 { unit } else { 1.0 });
            let first = self.A.len();
            for j in 0..cone.m as usize {
                let E = |r: usize| p.E[cone.E_at as usize + r * stride + j];
                let sum = |value: &dyn Fn(usize) -> f64| {
                    let parts = (0..k).filter(|r| E(*r) != 0.0);
                    let terms = parts.map(|r| Twice::new(E(r)) * Twice::new(value(r)));
                    terms.fold(ZERO, |sum, term| sum + term)
                };
                let mut row = Row::new();
                for (at, i) in columns(p, cone) {
                    let own = column[i];
                    let value = sum(&|r| p.J[cone.J_at as usize + r * width + at]);
                    if value != ZERO {
                        row.push((own, value.scaled(unit * self.unit[own as usize])));
                    }
                }
                self.A.push(row);
                let b = sum(&|r| p.b[cone.b_at as usize + r]).scaled(unit);
                let loose = if cone.round && j > 0 { 0.0 } else { LOOSE };
                self.b.push(b - Twice::new(loose * b.round().abs()));
                self.row.push(unit);
            }
            let last = self.A.len();
            if cone.round {
                self.cones.push(Rows { round: true, first, last });
            } else {
                self.cones.extend((first..last).map(|i| Rows {
                    round: false,
                    first: i,
                    last: i + 1,
                }));
            }
        }
    }

    fn add_springs(&mut self, p: &ConeProgram, column: &[u32]) {
        for spring in p.saturations.iter().filter(|s| s.stiffness > 0.0 && s.limit > 0.0) {
            let own = column[p.padded_index(spring.index)] as usize;
            let unit = self.unit[own];
            let k = Twice::new(spring.stiffness * unit * unit);
            let force = k * Twice::new(spring.target / unit);
            let diagonal = self.P[own].iter_mut().find(|(j, _)| *j as usize == own);
            if let Some((_, value)) = diagonal {
                *value += k;
            }
            self.c[own] -= force;
            if spring.limit.is_infinite() {
                continue;
            }
            let limit = Twice::new(spring.limit * unit);
            let at = self.P.len() as u32;
            for (new, sign) in [(at, -1.0), (at + 1, 1.0)] {
                self.P[own].push((new, k.scaled(sign)));
                self.P.push(vec![(own as u32, k.scaled(sign)), (new, k), (2 * at + 1 - new, -k)]);
                self.c.push(limit - force.scaled(sign));
                self.unit.push(unit);
                let first = self.A.len();
                self.A.push(vec![(new, Twice::new(1.0))]);
                self.b.push(ZERO);
                self.row.push(1.0);
                self.cones.push(Rows { round: false, first, last: first + 1 });
            }
        }
    }

    /// Scales the largest offset and the largest force to 1.
    fn scale(&mut self) {
        let largest =
            |v: &mut dyn Iterator<Item = Twice>| v.fold(0.0_f64, |m, v| m.max(v.round().abs()));
        let force = largest(&mut self.c.iter().copied());
        let stiff = largest(&mut self.P.iter().flatten().map(|(_, v)| *v));
        let offset = largest(&mut self.b.iter().copied());
        let speed = power(if offset > 0.0 { offset } else { force / stiff });
        let cost = (force * speed).max(stiff * speed * speed);
        let cost = power(1.0 / cost);
        for row in &mut self.P {
            for (_, v) in row {
                *v = v.scaled(speed * speed * cost);
            }
        }
        self.c.iter_mut().for_each(|c| *c = c.scaled(speed * cost));
        self.b.iter_mut().for_each(|b| *b = b.scaled(1.0 / speed));
        self.unit.iter_mut().for_each(|u| *u *= speed);
        // `z` of the program is `z` of this form times this factor
        self.row.iter_mut().for_each(|r| *r /= speed * cost);
        self.cost = cost;
    }

    /// Writes `x / tau` in the program's units, in padded layout.
    pub fn write_x(&self, x: &[Twice], tau: Twice, to: &mut Vec<f64>, n_padded: usize) {
        to.clear();
        to.resize(n_padded, 0.0);
        for ((at, unit), x) in self.place.iter().zip(&self.unit).zip(x) {
            to[*at] = (*x / tau).scaled(*unit).round();
        }
    }

    /// Writes `z / tau` in the program's units, in padded layout.
    pub fn write_z(&self, p: &ConeProgram, z: &[Twice], tau: Twice, to: &mut Vec<f64>) {
        to.clear();
        to.resize(p.m_padded, 0.0);
        for cone in &p.cones {
            for j in 0..cone.m as usize {
                let from = cone.first as usize + j;
                to[cone.at as usize + j] = (z[from] / tau).scaled(self.row[from]).round();
            }
        }
    }
}
