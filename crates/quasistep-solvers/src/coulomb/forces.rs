//! Whether the forces are the only ones at the motion found, and which sums of them are.
//!
//! At a fixed motion Coulomb's law leaves each contact a convex cone `C_i` of forces: nothing where it is open, a
//! ray where it slips, the whole friction cone where it sticks. All forces in these cones with the same resultant
//! will do. They are unique exactly if no `delta ≠ 0` has
//!
//! ```text
//! Σ_i J_iᵀ delta_i = 0,      delta_i ∈ C_i + R lambda_i        the directions in which C_i may be left
//! ```
//!
//! Two fingers that hold a body with one joint between them share their friction in any split: `delta` takes from
//! one and gives to the other, and only the sum is determined.

use crate::coulomb::law::{speed_scale, support};
use crate::coulomb::program::{FrictionProgram, Shape};
use crate::coulomb::solution::CoulombSolution;
use crate::coulomb::uniqueness::{Uniqueness, general_position};
use crate::{Outcome, Qp, Settings, Status};

/// Gap, slip, or force that is none, as a share of the largest.
const NONE: f64 = 1e-9;
/// Part of a projection that is new, as a share of the vector's length.
const NEW: f64 = 1e-6;
/// Curvature of generators that depend on one another, over that of the others.
const RIDGE: f64 = 1e-9;
/// Rest of a row of length one that others say but for rounding.
const DEPENDENT: f64 = 1e-10;
/// Projections that may fail.
const FAILURES: u32 = 16;
/// Directions of a round cone that touches without force.
const SIDES: usize = 16;

/// Whether contact forces are unique at their motion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forces {
    /// Orthonormal combinations of forces, in the rows of the program, that can be exchanged without anyone
    /// noticing: none if the forces are unique.
    pub exchanges: Vec<Vec<f64>>,
    /// False if numbers were too close to call.
    pub known: bool,
}

impl Forces {
    /// Whether the forces are the only ones.
    pub fn unique(&self) -> bool {
        self.known && self.exchanges.is_empty()
    }

    /// Whether `Σ_k weights_k lambda_k`, in the rows of the program, is the same for all forces that will do.
    pub fn determines(&self, weights: &[f64]) -> bool {
        let size = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
        self.known
            && self.exchanges.iter().all(|exchange| {
                let along: f64 = exchange.iter().zip(weights).map(|(a, b)| a * b).sum();
                along.abs() <= 1e-6 * size
            })
    }

    /// Contacts of `program` whose forces take part in an exchange, ascending.
    pub fn contacts(&self, program: &FrictionProgram) -> Vec<u32> {
        let takes_part = |i: &usize| {
            let rows = program.rows_of(*i);
            self.exchanges.iter().any(|e| e[rows.clone()].iter().any(|v| v.abs() > 1e-6))
        };
        (0..program.n_contacts()).filter(takes_part).map(|i| i as u32).collect()
    }
}

/// A direction in which a contact's force may change: entries in its rows, and whether backwards too.
struct Generator {
    contact: usize,
    entries: [f64; 8],
    both_ways: bool,
}

impl Uniqueness {
    /// Whether the forces of `solution`, a solved answer of `p`, are the only ones at its motion.
    pub fn forces(&mut self, p: &FrictionProgram, solution: &CoulombSolution) -> Forces {
        let s = solution;
        if s.lambda.len() != p.rows || s.x.len() != p.n() || s.outcome != Outcome::Solved {
            return Forces::default();
        }
        let generators = generators(p, s);
        let count = generators.len();
        let mut forces = Forces { exchanges: Vec::new(), known: true };
        if count == 0 {
            return forces;
        }
        // min |G y − r|²  s.t.  Jᵀ G y = 0, y ≥ 0 where it is one-sided
        let dot = |a: &Generator, b: &Generator| -> f64 {
            if a.contact == b.contact {
                a.entries.iter().zip(&b.entries).map(|(a, b)| a * b).sum()
            } else {
                0.0
            }
        };
        let mut P = vec![0.0; count * count];
        for (i, a) in generators.iter().enumerate() {
            for (j, b) in generators.iter().enumerate() {
                P[i * count + j] = dot(a, b);
            }
        }
        // generators of one contact depend on one another: a little curvature keeps the program well posed, and turns
        // a projection by its share
        for i in 0..count {
            P[i * count + i] += RIDGE * (1.0 + P[i * count + i]);
        }
        // y = N w is in balance for any w
        let kernel = in_balance(p, &generators);
        let free = kernel.len();
        if free == 0 {
            return forces;
        }
        let mut kernel_P = vec![0.0; free * free];
        for (i, a) in kernel.iter().enumerate() {
            for (j, b) in kernel.iter().enumerate() {
                let row = |k: usize| product(&P[k * count..(k + 1) * count], b);
                kernel_P[i * free + j] = (0..count).map(|k| a[k] * row(k)).sum();
            }
        }
        self.sign_rows(&generators, &kernel);
        self.b.clear();
        self.b.resize(self.rows.len(), 0.0);
        let (mut r, mut c) = (Vec::new(), vec![0.0; count]);
        let mut kernel_c = vec![0.0; free];
        let (mut silent, mut failures) = (0, 0);
        let mut trial = 0;
        while silent < 4 && forces.exchanges.len() < p.rows {
            general_position(p.rows, trial, &mut r);
            trial += 1;
            for exchange in &forces.exchanges {
                let along: f64 = exchange.iter().zip(&r).map(|(a, b)| a * b).sum();
                r.iter_mut().zip(exchange).for_each(|(r, e)| *r -= along * e);
            }
            let size = r.iter().map(|r| r * r).sum::<f64>().sqrt();
            for (c, g) in c.iter_mut().zip(&generators) {
                let rows = p.rows_of(g.contact);
                *c = -g.entries.iter().zip(&r[rows]).map(|(g, r)| g * r).sum::<f64>();
            }
            for (to, v) in kernel_c.iter_mut().zip(&kernel) {
                *to = product(v, &c);
            }
            let (P, c) = (&kernel_P, &kernel_c);
            let qp = Qp { n: free, P, c, A: &self.rows, b: &self.b, saturations: &[] };
            self.solver.solve(&qp, &[], &Settings::default(), &mut self.answer);
            if self.answer.status != Status::Solved {
                // another vector will do as well
                failures += 1;
                if failures < FAILURES {
                    continue;
                }
                forces.known = false;
                return forces;
            }
            let mut change = vec![0.0; p.rows];
            for (k, g) in generators.iter().enumerate() {
                let y: f64 = self.answer.x.iter().zip(&kernel).map(|(w, v)| w * v[k]).sum();
                for (at, e) in p.rows_of(g.contact).zip(&g.entries) {
                    change[at] += y * e;
                }
            }
            // what is new of it
            for exchange in &forces.exchanges {
                let along: f64 = exchange.iter().zip(&change).map(|(a, b)| a * b).sum();
                change.iter_mut().zip(exchange).for_each(|(v, e)| *v -= along * e);
            }
            let length = change.iter().map(|v| v * v).sum::<f64>().sqrt();
            if length > NEW * size {
                for v in &mut change {
                    *v /= length;
                }
                forces.exchanges.push(change);
                silent = 0;
            } else {
                silent += 1;
            }
        }
        forces
    }

    /// Rows of `y ≥ 0` where a generator goes one way only.
    fn sign_rows(&mut self, generators: &[Generator], kernel: &[Vec<f64>]) {
        self.rows.clear();
        for (j, _) in generators.iter().enumerate().filter(|(_, g)| !g.both_ways) {
            self.begin();
            for (i, v) in kernel.iter().enumerate() {
                // entries of rounding's size would pass for a way to resist
                if v[j].abs() > 1e-12 {
                    self.columns.push(i as u32);
                    self.values.push(v[j]);
                }
            }
            self.push(false);
        }
    }
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Takes off `new` its parts along an orthonormal `basis`, and returns the length of what is left.
fn orthogonalise(new: &mut [f64], basis: &[Vec<f64>]) -> f64 {
    // twice is enough
    for _ in 0..2 {
        for old in basis {
            let along = product(old, new);
            new.iter_mut().zip(old).for_each(|(v, old)| *v -= along * old);
        }
    }
    product(new, new).sqrt()
}

/// Orthonormal basis of the `y` with `Jᵀ G y = 0`.
fn in_balance(p: &FrictionProgram, generators: &[Generator]) -> Vec<Vec<f64>> {
    let (n, count) = (p.n(), generators.len());
    let mut table = vec![0.0; n * count];
    for (j, g) in generators.iter().enumerate() {
        for (r, e) in g.entries.iter().enumerate().take(p.contacts[g.contact].k as usize) {
            for (first, J) in p.row(g.contact, r) {
                for (k, J) in J.iter().enumerate() {
                    table[(first + k) * count + j] += e * J;
                }
            }
        }
    }
    // what two rows say twice but for rounding is said once
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for row in table.chunks_exact(count) {
        let length = product(row, row).sqrt();
        if length == 0.0 {
            continue;
        }
        let mut new: Vec<f64> = row.iter().map(|v| v / length).collect();
        let rest = orthogonalise(&mut new, &basis);
        if rest > DEPENDENT {
            for v in &mut new {
                *v /= rest;
            }
            basis.push(new);
        }
    }
    let rank = basis.len();
    while basis.len() < count {
        // the unit vector that is furthest from all so far
        let left = |j: usize| 1.0 - basis.iter().map(|v| v[j] * v[j]).sum::<f64>();
        let furthest = (0..count).fold(0, |m, j| if left(j) > left(m) { j } else { m });
        let mut new = vec![0.0; count];
        new[furthest] = 1.0;
        let rest = orthogonalise(&mut new, &basis);
        for v in &mut new {
            *v /= rest;
        }
        basis.push(new);
    }
    basis.split_off(rank)
}

/// Generators of the directions in which the force of each contact may change.
fn generators(p: &FrictionProgram, s: &CoulombSolution) -> Vec<Generator> {
    let force = p.contacts.iter().fold(0.0_f64, |m, c| m.max(s.lambda[c.first as usize]));
    let speed = speed_scale(p, &s.x);
    let mut list = Vec::new();
    for (i, contact) in p.contacts.iter().enumerate() {
        let rows = contact.rows();
        let (lambda, u) = (&s.lambda[rows.clone()], &s.u[rows]);
        if u[0] > NONE * speed {
            continue;
        }
        let d = contact.tangents();
        let units = p.units_of(contact);
        let pushes = lambda[0] > NONE * force;
        let mut push = |entries: &[f64], both_ways: bool| {
            let mut all = [0.0; 8];
            all[..entries.len()].copy_from_slice(entries);
            list.push(Generator { contact: i, entries: all, both_ways });
        };
        if pushes {
            let along: Vec<f64> = lambda.iter().map(|l| l / lambda[0]).collect();
            push(&along, true);
        }
        if d == 0 || units.iter().all(|unit| *unit == 0.0) {
            if !pushes {
                push(&[1.0], false);
            }
            continue;
        }
        let mu = units.iter().fold(0.0_f64, |m, v| m.max(*v));
        let h = support(p, contact, &u[1..]);
        let mut edge = vec![1.0; d + 1];
        match contact.shape {
            Shape::Polytope(_) => {
                for v in p.vertices_of(contact).chunks_exact(d) {
                    let against: f64 = (0..d).map(|t| -v[t] * units[t] * u[t + 1]).sum();
                    if against >= h - NONE * speed * mu {
                        for t in 0..d {
                            edge[t + 1] = v[t] * units[t];
                        }
                        push(&edge, false);
                    }
                }
            }
            Shape::Round if h > NONE * speed * mu => {
                // along the slip, which has no choice
                for t in 0..d {
                    edge[t + 1] = -units[t] * units[t] * u[t + 1] / h;
                }
                push(&edge, pushes);
            }
            Shape::Round if pushes => {
                let share = (0..d)
                    .filter(|t| units[*t] > 0.0)
                    .map(|t| (lambda[t + 1] / units[t] / lambda[0]).powi(2))
                    .sum::<f64>()
                    .sqrt();
                // inside any change will do; at the limit, all but outwards
                for t in (0..d).filter(|t| units[*t] > 0.0) {
                    let mut change = vec![0.0; d + 1];
                    change[t + 1] = units[t];
                    if share >= 1.0 - NONE {
                        let e = lambda[t + 1] / units[t] / lambda[0] / share;
                        for r in 0..d {
                            change[r + 1] -= e * lambda[r + 1] / lambda[0] / share;
                        }
                    }
                    push(&change, true);
                }
                if share >= 1.0 - NONE {
                    push(&[1.0], false);
                }
            }
            Shape::Round => {
                for j in 0..SIDES {
                    let angle = std::f64::consts::TAU * j as f64 / SIDES as f64;
                    let (sin, cos) = angle.sin_cos();
                    edge[1..].fill(0.0);
                    edge[1] = cos * units[0];
                    if d > 1 {
                        edge[2] = sin * units[1];
                    }
                    push(&edge, false);
                }
            }
        }
    }
    list
}
