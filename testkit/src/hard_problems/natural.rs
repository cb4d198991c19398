//! A problem in natural units, and verification of its solutions.

use super::HardProblem;
use quasistep_cone::{Saturation, Solution, Status};

/// Acceptable violation of a cone along a ray, and of `Aᵀ y = 0` for a certificate, as a share of
/// the terms.
const RAY: f64 = 1e-8;
/// A certificate must exclude every `x` in a box of this many natural speeds.
const BOX: f64 = 1e4;

/// Lower limit of the reference force, in natural units.
const NO_FORCE: f64 = 1e-12;
/// Lower limit of the reference force for problems without force, where only rounding of the
/// iterates remains.
const NO_FORCE_AT_ALL: f64 = 1e-6;
/// Limit of the ratio of curvature and speed terms to the force in the reference size. Along
/// directions of small curvature these terms cancel, and every error is small relative to them.
const PARTS: f64 = 1e5;
/// Reference speed of problems without mass.
const SPEED: f64 = 1e-2;

/// Consecutive rows of one cone.
#[derive(Clone, Copy, Debug)]
pub struct Cones {
    /// Whether it is a second-order cone; otherwise plain rows.
    pub round: bool,
    /// Index of its first row.
    pub first: usize,
    /// Index after its last row.
    pub last: usize,
    /// Index of its island; `usize::MAX` if it has no block.
    pub island: usize,
}

/// The program `min 1/2 xᵀPx + cᵀx + springs, A x − b ∈ K`, with variables, rows and cost in
/// natural units.
#[derive(Clone, Debug, Default)]
pub struct Natural {
    /// Number of variables.
    pub n: usize,
    /// Rows of the cost: columns and values.
    pub P: Vec<Vec<(usize, f64)>>,
    /// Linear cost.
    pub c: Vec<f64>,
    /// Rows of `E J`: columns and values.
    pub A: Vec<Vec<(usize, f64)>>,
    /// Offsets `E b`.
    pub b: Vec<f64>,
    /// Cones over the rows.
    pub cones: Vec<Cones>,
    /// Huber terms.
    pub springs: Vec<Saturation>,
    /// Index of the island of every variable.
    pub island: Vec<usize>,
    /// Diagonal of the inverse of the cost; infinite in blocks that are not positive definite.
    pub ease: Vec<f64>,
    unit: Vec<f64>,
    row_unit: Vec<f64>,
    cost_unit: f64,
}

/// Result of a verification.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Proof {
    /// Largest error, relative to its reference size.
    pub residual: f64,
}

fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    // NaN counts as infinite
    values
        .into_iter()
        .fold(0.0, |m: f64, v| if v.is_nan() { f64::INFINITY } else { m.max(v.abs()) })
}

fn times(row: &[(usize, f64)], x: &[f64]) -> f64 {
    row.iter().map(|(j, v)| v * x[*j]).sum()
}

/// Violation of a cone by a point.
fn outside(round: bool, s: &[f64]) -> f64 {
    if round {
        (s[1..].iter().map(|v| v * v).sum::<f64>().sqrt() - s[0]).max(0.0)
    } else {
        s.iter().fold(0.0, |m, v| if v.is_nan() { f64::INFINITY } else { m.max(-v) })
    }
}

impl Natural {
    /// Converts a problem to natural units.
    pub fn new(p: &HardProblem) -> Self {
        let (n, firsts) = (p.n(), p.firsts());
        let mut natural = Self { n, unit: p.unit.clone(), ..Self::default() };
        natural.cost_unit = p.cost_unit;
        natural.c = (0..n).map(|i| p.c[i] * p.unit[i] / p.cost_unit).collect();
        for (block, first) in firsts.iter().enumerate() {
            let dim = p.dims[block];
            let entry = |i: usize, j: usize| {
                p.P[block][i * dim + j] * p.unit[first + i] * p.unit[first + j] / p.cost_unit
            };
            natural.ease.extend(inverse_diagonal(dim, &entry));
            for i in 0..dim {
                natural.P.push((0..dim).map(|j| (first + j, entry(i, j))).collect());
            }
        }
        let mut root: Vec<usize> = (0..p.dims.len()).collect();
        for contact in &p.contacts {
            for side in 1..contact.blocks.len() {
                let [a, b] = [0, side].map(|s| find(&root, contact.blocks[s] as usize));
                root[a] = b;
            }
        }
        for (block, dim) in p.dims.iter().enumerate() {
            let island = find(&root, block);
            natural.island.extend(std::iter::repeat_n(island, *dim));
        }
        for contact in &p.contacts {
            let k = contact.b.len();
            let m = if contact.round { k } else { contact.E.len() / k };
            let first = natural.A.len();
            for j in 0..m {
                let edge = |r: usize| {
                    let diagonal = f64::from(u8::from(r == j)) * contact.E[j];
                    if contact.round { diagonal } else { contact.E[j * k + r] }
                };
                let mut row = Vec::new();
                for (side, block) in contact.blocks.iter().enumerate() {
                    let (dim, at) = (p.dims[*block as usize], firsts[*block as usize]);
                    for i in 0..dim {
                        let value: f64 =
                            (0..k).map(|r| edge(r) * contact.J[side][r * dim + i]).sum();
                        row.push((at + i, value * p.unit[at + i] / contact.unit));
                    }
                }
                natural.A.push(row);
                let offset: f64 = (0..k).map(|r| edge(r) * contact.b[r]).sum();
                natural.b.push(offset / contact.unit);
                natural.row_unit.push(contact.unit);
            }
            let island = contact.blocks.first().map_or(usize::MAX, |b| find(&root, *b as usize));
            natural.cones.push(Cones { round: contact.round, first, last: first + m, island });
        }
        for spring in &p.springs {
            let unit = p.unit[spring.index as usize];
            natural.springs.push(Saturation {
                index: spring.index,
                stiffness: spring.stiffness * unit * unit / p.cost_unit,
                target: spring.target / unit,
                limit: spring.limit * unit / p.cost_unit,
            });
        }
        natural
    }

    /// Converts a point to natural units.
    pub fn x(&self, x: &[f64]) -> Vec<f64> {
        x.iter().zip(&self.unit).map(|(x, u)| x / u).collect()
    }

    /// Converts multipliers to natural units.
    pub fn z(&self, z: &[f64]) -> Vec<f64> {
        z.iter().zip(&self.row_unit).map(|(z, u)| z * u / self.cost_unit).collect()
    }

    /// Slacks of all rows at `x`.
    pub fn slacks(&self, x: &[f64]) -> Vec<f64> {
        self.A.iter().zip(&self.b).map(|(row, b)| times(row, x) - b).collect()
    }

    /// Cost at `x`, and the sum of its terms' magnitudes.
    pub fn cost(&self, x: &[f64]) -> [f64; 2] {
        let [mut cost, mut terms] = [0.0; 2];
        for i in 0..self.n {
            let quadratic = 0.5 * x[i] * times(&self.P[i], x);
            let linear = self.c[i] * x[i];
            cost += quadratic + linear;
            terms += quadratic.abs() + linear.abs();
        }
        for spring in &self.springs {
            let energy = spring.cost(x[spring.index as usize]);
            cost += energy;
            terms += energy;
        }
        [cost, terms]
    }

    /// Stationarity residual `P x + c + ∇springs − Aᵀ z`, and the sum of the magnitudes of the
    /// terms of every entry.
    pub fn imbalance(&self, x: &[f64], z: &[f64]) -> [Vec<f64>; 2] {
        let mut g = self.c.clone();
        let mut terms: Vec<f64> = self.c.iter().map(|c| c.abs()).collect();
        for i in 0..self.n {
            for (j, v) in &self.P[i] {
                g[i] += v * x[*j];
                terms[i] += (v * x[*j]).abs();
            }
        }
        for spring in &self.springs {
            let i = spring.index as usize;
            let force = spring.gradient(x[i]);
            g[i] += force;
            // within its limit the force is the difference of two terms
            let difference = spring.stiffness * (x[i].abs() + spring.target.abs());
            terms[i] += if force.abs() < spring.limit { difference } else { force.abs() };
        }
        for (row, z) in self.A.iter().zip(z) {
            for (j, v) in row {
                g[*j] -= v * z;
                terms[*j] += (v * z).abs();
            }
        }
        [g, terms]
    }

    /// Violation of every cone by the slacks `s`.
    pub fn violations(&self, s: &[f64]) -> Vec<f64> {
        self.cones.iter().map(|c| outside(c.round, &s[c.first..c.last])).collect()
    }

    /// Verifies a solution, ray or certificate given in the caller's units.
    ///
    /// # Errors
    ///
    /// The condition that fails.
    pub fn prove(&self, answer: &Solution) -> Result<Proof, String> {
        match answer.status {
            Status::Solved => {
                let (x, z) = (self.x(&answer.x), self.z(&answer.z));
                self.prove_springs(&x, &answer.saturated)?;
                let s: Vec<f64> =
                    answer.s.iter().zip(&self.row_unit).map(|(s, unit)| s / unit).collect();
                self.prove_optimal(&x, &z, Some(&s))
            }
            Status::Unbounded => self.prove_unbounded(&self.x(&answer.ray)),
            Status::Infeasible => self.prove_infeasible(&self.z(&answer.certificate)),
            Status::GaveUp => Err(format!("{:?}", answer.reason)),
        }
    }

    fn prove_springs(&self, x: &[f64], saturated: &[i8]) -> Result<(), String> {
        for (spring, side) in self.springs.iter().zip(saturated) {
            let stretch = spring.stiffness * (x[spring.index as usize] - spring.target);
            let rounding = 1e-8 * (spring.limit + spring.stiffness * spring.target.abs()) + 1e-12;
            let fits = match side {
                0 => stretch.abs() <= spring.limit + rounding,
                side => stretch * f64::from(*side) >= spring.limit - rounding,
            };
            if !fits {
                return Err(format!("a spring at {stretch:e} of {:e} says {side}", spring.limit));
            }
        }
        Ok(())
    }

    /// Reference force and speed of each island.
    pub(super) fn scales(&self, x: &[f64], terms: &[f64]) -> [Vec<f64>; 2] {
        let islands = self.island.iter().map(|i| i + 1).max().unwrap_or(0);
        let (mut force, mut speed) = (vec![0.0_f64; islands], vec![0.0_f64; islands]);
        let (mut stiff, mut loaded) = (vec![0.0_f64; islands], vec![false; islands]);
        let mut felt = vec![0.0_f64; islands];
        for i in 0..self.n {
            let k = self.island[i];
            force[k] = force[k].max(terms[i]);
            let parts: f64 = self.P[i].iter().map(|(j, v)| (v * x[*j]).abs()).sum();
            // the other terms (cost, Huber terms and contacts), up to rounding
            let others = (terms[i] - (1.0 + 1e-12) * parts).max(0.0);
            felt[k] = felt[k].max(times(&self.P[i], x).abs().max(self.c[i].abs()).max(others));
            loaded[k] |= self.c[i] != 0.0;
            speed[k] = speed[k].max(x[i].abs());
            stiff[k] = stiff[k].max(largest(self.P[i].iter().map(|(_, v)| *v)));
        }
        for spring in &self.springs {
            let k = self.island[spring.index as usize];
            stiff[k] = stiff[k].max(spring.stiffness);
            loaded[k] |= spring.stiffness * spring.limit * spring.target.abs() > 0.0;
            speed[k] = speed[k].max(spring.target.abs());
        }
        for cone in self.cones.iter().filter(|c| c.island != usize::MAX) {
            let offset = largest(self.b[cone.first..cone.last].iter().copied());
            speed[cone.island] = speed[cone.island].max(offset);
        }
        for k in 0..islands {
            force[k] = force[k].min(PARTS * felt[k]);
            // forces over the mass; without forces, a share of the natural unit
            force[k] = force[k].max(if loaded[k] { NO_FORCE } else { NO_FORCE_AT_ALL });
            let natural = if stiff[k] > 0.0 { force[k] / stiff[k] } else { SPEED };
            speed[k] = speed[k].max(natural.min(1.0));
        }
        [force, speed]
    }

    /// Verifies stationarity, cones and complementarity, in natural units.
    ///
    /// # Errors
    ///
    /// The condition that fails.
    pub fn prove_optimal(
        &self,
        x: &[f64],
        z: &[f64],
        claimed: Option<&[f64]>,
    ) -> Result<Proof, String> {
        let [g, terms] = self.imbalance(x, z);
        let [force, speed] = self.scales(x, &terms);
        let mut worst = (0.0, String::new());
        let mut see = |error: f64, scale: f64, what: &dyn Fn() -> String| {
            let share = if error == 0.0 { 0.0 } else { error / scale };
            // the condition is true for NaN, the worst residual
            if !(share <= worst.0) {
                worst = (if share.is_nan() { f64::INFINITY } else { share }, what());
            }
        };
        for i in 0..self.n {
            let f = force[self.island[i]];
            see(g[i].abs(), f, &|| format!("variable {i} is off balance by {:e} of {f:e}", g[i]));
        }
        let s = self.slacks(x);
        for (k, cone) in self.cones.iter().enumerate() {
            let rows = cone.first..cone.last;
            let (s, z) = (&s[rows.clone()], &z[rows.clone()]);
            let [f, v] = match cone.island {
                usize::MAX => [1.0, largest(self.b[rows.clone()].iter().copied()).max(SPEED)],
                island => [force[island], speed[island]],
            };
            let [out, pull] = [s, z].map(|v| outside(cone.round, v));
            see(out, v, &|| format!("cone {k} is violated by {out:e} of {v:e}"));
            see(pull, f, &|| format!("cone {k} pulls {pull:e} of {f:e}"));
            let work: f64 = if cone.round {
                s.iter().zip(z).map(|(s, z)| s * z).sum()
            } else {
                largest(s.iter().zip(z).map(|(s, z)| s * z))
            };
            see(work.abs(), f * v, &|| format!("cone {k} pushes apart: {work:e} of {:e}", f * v));
            if let Some(claimed) = claimed {
                let off = largest(s.iter().zip(&claimed[rows]).map(|(a, b)| a - b));
                see(off, v, &|| format!("slacks of cone {k} are off by {off:e} of {v:e}"));
            }
        }
        if worst.0 <= super::WORST_RESIDUAL {
            Ok(Proof { residual: worst.0 })
        } else {
            Err(worst.1)
        }
    }

    /// Verifies a direction along which the cost decreases without bound, in natural units.
    ///
    /// # Errors
    ///
    /// The condition that fails.
    pub fn prove_unbounded(&self, d: &[f64]) -> Result<Proof, String> {
        if d.len() != self.n {
            return Err("no ray".into());
        }
        let size = largest(d.iter().copied());
        let mut residual = 0.0_f64;
        let (mut fall, mut terms) = (0.0, 0.0);
        for (c, d) in self.c.iter().zip(d) {
            fall += c * d;
            terms += (c * d).abs();
        }
        for spring in self.springs.iter().filter(|s| s.stiffness > 0.0) {
            let along = d[spring.index as usize].abs();
            if spring.limit.is_finite() {
                fall += spring.limit * along;
                terms += spring.limit * along;
            } else if !(along <= RAY * size) {
                return Err(format!("a spring without limit stops the ray: {along:e} of {size:e}"));
            }
        }
        if !(fall < -1e-9 * terms && size.is_finite()) {
            return Err(format!("the cost does not fall: {fall:e} of {terms:e}"));
        }
        for i in 0..self.n {
            let bend = times(&self.P[i], d).abs();
            let stiff: f64 = self.P[i].iter().map(|(_, v)| v.abs()).sum::<f64>() * size;
            if bend > 0.0 {
                residual = residual.max(bend / stiff);
            }
            if !(bend <= RAY * stiff) {
                return Err(format!("the ray bends at {i}: {bend:e} of {stiff:e}"));
            }
        }
        for (k, cone) in self.cones.iter().enumerate() {
            let along: Vec<f64> =
                self.A[cone.first..cone.last].iter().map(|row| times(row, d)).collect();
            let terms = size
                * self.A[cone.first..cone.last]
                    .iter()
                    .map(|row| row.iter().map(|(_, v)| v.abs()).sum::<f64>())
                    .fold(0.0, f64::max);
            let out = outside(cone.round, &along);
            if out > 0.0 {
                residual = residual.max(out / terms);
            }
            if !(out <= RAY * terms) {
                return Err(format!("cone {k} stops the ray: {out:e} of {terms:e}"));
            }
        }
        Ok(Proof { residual })
    }

    /// Verifies Farkas multipliers, in natural units: every `x` in a large box violates their
    /// combination of rows.
    ///
    /// # Errors
    ///
    /// The condition that fails.
    pub fn prove_infeasible(&self, y: &[f64]) -> Result<Proof, String> {
        if y.len() != self.b.len() {
            return Err("no certificate".into());
        }
        let mut force = vec![0.0; self.n];
        let (mut push, mut pull) = (0.0, 0.0_f64);
        for (i, (row, y)) in self.A.iter().zip(y).enumerate() {
            push += self.b[i] * y;
            for (j, v) in row {
                force[*j] += v * y;
            }
        }
        for cone in &self.cones {
            pull = pull.max(outside(cone.round, &y[cone.first..cone.last]));
        }
        let size = largest(y.iter().copied());
        if !(pull <= 1e-12 * size && size.is_finite()) {
            return Err(format!("the certificate pulls: {pull:e} of {size:e}"));
        }
        // yᵀ(A x − b) ≥ 0 needs Σ |force_i| |x_i| ≥ bᵀy
        let total: f64 = force.iter().map(|f| f.abs()).sum();
        let speed = largest(self.b.iter().copied());
        if !(push > 0.0 && push >= BOX * speed * total) {
            return Err(format!("the rows do not contradict: {push:e} against {total:e}"));
        }
        Ok(Proof { residual: if total > 0.0 { speed * total / push } else { 0.0 } })
    }
}

fn find(root: &[usize], mut block: usize) -> usize {
    while root[block] != block {
        block = root[block];
    }
    block
}

/// Diagonal of the inverse, by a Cholesky factorisation with pivots well above rounding; infinite
/// if that fails.
fn inverse_diagonal(dim: usize, entry: &dyn Fn(usize, usize) -> f64) -> Vec<f64> {
    let mut L = vec![0.0; dim * dim];
    // the inverse of L
    let mut M = vec![0.0; dim * dim];
    let mut diagonal = vec![0.0; dim];
    for i in 0..dim {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| L[i * dim + k] * L[j * dim + k]).sum();
            let rest = entry(i, j) - sum;
            if i == j {
                if !(rest > 1e-6 * entry(i, i)) {
                    return vec![f64::INFINITY; dim];
                }
                L[i * dim + i] = rest.sqrt();
            } else {
                L[i * dim + j] = rest / L[j * dim + j];
            }
        }
        for j in 0..=i {
            let unit = if i == j { 1.0 } else { 0.0 };
            let sum: f64 = (j..i).map(|k| L[i * dim + k] * M[k * dim + j]).sum();
            M[i * dim + j] = (unit - sum) / L[i * dim + i];
            diagonal[j] += M[i * dim + j] * M[i * dim + j];
        }
    }
    diagonal
}
