//! Uniqueness of forces, and of sums of forces, at the motion of a solution.
//!
//! At a fixed motion Coulomb's law restricts the force of each contact to a convex cone `C_i`: zero
//! if it is open, a ray if it slips, the friction cone if it sticks. All forces in these cones with
//! the same resultant are solutions. They are unique exactly if no `delta ≠ 0` satisfies
//!
//! ```text
//! Σ_i J_iᵀ delta_i = 0,      delta_i ∈ C_i + R lambda_i        the cone of feasible directions at lambda_i
//! ```
//!
//! Example: two fingers on one joint hold a block and can share its friction in any ratio. `delta`
//! moves force from one finger to the other, and only the sum is unique.

use crate::Outcome;
use crate::contact::Shape;
use crate::law::{speed_scale, support};
use crate::program::FrictionProgram;
use crate::solution::CoulombSolution;
use crate::tolerances::friction::{DEPENDENT, NONE, SHARE, ZERO_EXCHANGE};
use crate::uniqueness::{FAILURES, Uniqueness, general_position};
use quasistep_linalg::kernels::{axpy, dot};

/// Number of generators that approximate a round cone with zero force.
const SIDES: usize = 16;

/// Whether contact forces are unique for the motion of a solution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forces {
    /// Orthonormal basis of the changes of forces, in the rows of the program, that leave the
    /// balance unchanged. Empty if the forces are unique.
    pub exchanges: Vec<Vec<f64>>,
    /// False if rounding made the result uncertain.
    pub known: bool,
}

impl Forces {
    /// Whether the forces are unique.
    pub fn unique(&self) -> bool {
        self.known && self.exchanges.is_empty()
    }

    /// Whether `Σ_k weights_k lambda_k`, with one weight per row of the program, is equal for all
    /// solutions.
    pub fn determines(&self, weights: &[f64]) -> bool {
        let size = dot(weights, weights).sqrt();
        // most weights are zero
        let some: Vec<_> = weights.iter().enumerate().filter(|(_, w)| **w != 0.0).collect();
        let along = |e: &[f64]| -> f64 { some.iter().map(|(k, w)| *w * e[*k]).sum() };
        self.known && self.exchanges.iter().all(|e| along(e).abs() <= ZERO_EXCHANGE * size)
    }

    /// Indices of the contacts of `program` whose forces are not unique, ascending.
    pub fn contacts(&self, program: &FrictionProgram) -> Vec<u32> {
        let takes_part = |i: &usize| {
            let rows = program.rows_of(*i);
            self.exchanges.iter().any(|e| e[rows.clone()].iter().any(|v| v.abs() > ZERO_EXCHANGE))
        };
        (0..program.n_contacts()).filter(takes_part).map(|i| i as u32).collect()
    }
}

/// Feasible direction of change of a contact's force: its entries in the contact's rows, and
/// whether the opposite direction is feasible too.
struct Generator {
    contact: usize,
    entries: [f64; 8],
    both_ways: bool,
}

impl Uniqueness {
    /// Determines whether the forces of `solution`, a solved solution of `p`, are unique for its
    /// motion.
    pub fn forces(&mut self, p: &FrictionProgram, solution: &CoulombSolution) -> Forces {
        let s = solution;
        if s.lambda.len() != p.rows || s.x.len() != p.n() || s.outcome != Outcome::Solved {
            return Forces::default();
        }
        let mut generators = generators(p, s);
        if !self.exchanged(p, &mut generators) {
            return Forces::default();
        }
        let spans = spans(&generators);
        // cost of a full orthonormal basis
        let count = spans.len() as u64;
        if !self.work.spend(2 * count * count * count) {
            return Forces::default();
        }
        let exchange = |y: Vec<f64>| {
            let mut exchange = vec![0.0; p.rows];
            for (y, g) in y.iter().zip(&spans) {
                for (to, e) in exchange[p.rows_of(g.contact)].iter_mut().zip(&g.entries) {
                    *to += y * e;
                }
            }
            exchange
        };
        let exchanges = in_balance(p, &spans).into_iter().map(exchange).collect();
        Forces { exchanges, known: true }
    }

    /// Keeps those `generators` that have a positive coefficient in some change of forces with zero
    /// resultant. Returns false if rounding made this uncertain.
    ///
    /// By Farkas' lemma a one-way generator has none exactly if some motion `d` has positive power
    /// along it and negative power along no generator. The `d` that minimises `|d − Σ_j Jᵀ g_j|²`
    /// subject to this is zero only if there is none.
    fn exchanged(&mut self, p: &FrictionProgram, generators: &mut Vec<Generator>) -> bool {
        let n = p.n();
        self.units(p);
        let mut works = Vec::new();
        let mut weights = Vec::new();
        let mut failures = 0;
        loop {
            let one_way = generators.iter().filter(|g| !g.both_ways).count();
            if one_way == 0 {
                return true;
            }
            // any positive weights will do; general ones avoid coincidences
            general_position(generators.len(), 2 * failures, &mut weights);
            self.rows.clear();
            self.c.clear();
            self.c.resize(n, 0.0);
            works.clear();
            for (g, weight) in generators.iter().zip(&weights) {
                let work = self.effect(p, g);
                self.begin();
                self.columns.extend(0..n as u32);
                self.columns.retain(|i| work[*i as usize] != 0.0);
                self.values.extend(self.columns.iter().map(|i| work[*i as usize]));
                self.push(g.both_ways);
                if !g.both_ways {
                    axpy(-(1.5 + weight), &work, &mut self.c);
                }
                works.push(work);
            }
            if !self.project() {
                failures += 1;
                if failures == FAILURES || self.work.is_spent() {
                    return false;
                }
                continue;
            }
            let d = &self.answer.x;
            if dot(d, d).sqrt() <= ZERO_EXCHANGE * (one_way as f64).sqrt() {
                return true;
            }
            let along: Vec<f64> = works.iter().map(|work| dot(work, d)).collect();
            let most = along.iter().zip(generators.iter()).filter(|(_, g)| !g.both_ways);
            let most = most.fold(0.0_f64, |m, (along, _)| m.max(*along));
            if !(most > 0.0) {
                // the motion is rounding
                return false;
            }
            let mut along = along.iter();
            // generators with little power are left to the next motion
            generators.retain(|g| {
                let along = along.next().is_some_and(|along| *along >= SHARE * most);
                g.both_ways || !along
            });
        }
    }

    /// Generalised force of a generator, scaled to length one; zero if it cancels up to rounding.
    fn effect(&self, p: &FrictionProgram, g: &Generator) -> Vec<f64> {
        let (mut work, mut terms) = (vec![0.0; p.n()], vec![0.0; p.n()]);
        for (r, e) in g.entries.iter().enumerate().take(p.contacts[g.contact].k as usize) {
            for (first, J) in p.row(g.contact, r) {
                for (i, J) in (first..).zip(J) {
                    let term = e * J * self.unit[i];
                    work[i] += term;
                    terms[i] += term.abs();
                }
            }
        }
        let length = dot(&work, &work).sqrt();
        if length <= DEPENDENT * dot(&terms, &terms).sqrt() {
            work.fill(0.0);
            return work;
        }
        divide(&mut work, length);
        work
    }
}

fn divide(v: &mut [f64], by: f64) {
    for v in v {
        *v /= by;
    }
}

/// Orthogonalises `new` against an orthonormal `basis`, and returns the remaining length.
fn orthogonalise(new: &mut [f64], basis: &[Vec<f64>]) -> f64 {
    // twice is enough (Kahan)
    for _ in 0..2 {
        for old in basis {
            axpy(-dot(old, new), old, new);
        }
    }
    dot(new, new).sqrt()
}

/// Orthonormal basis of the span of each contact's generators.
fn spans(generators: &[Generator]) -> Vec<Generator> {
    let mut spans = Vec::new();
    for of_one in generators.chunk_by(|a, b| a.contact == b.contact) {
        let mut basis: Vec<Vec<f64>> = Vec::new();
        for g in of_one {
            let mut new = g.entries.to_vec();
            let length = dot(&new, &new).sqrt();
            let rest = orthogonalise(&mut new, &basis);
            if rest > DEPENDENT * length {
                divide(&mut new, rest);
                basis.push(new);
            }
        }
        spans.extend(basis.iter().map(|entries| Generator {
            contact: of_one[0].contact,
            entries: std::array::from_fn(|r| entries[r]),
            both_ways: true,
        }));
    }
    spans
}

/// Orthonormal basis of the `y` with `Jᵀ G y = 0`.
fn in_balance(p: &FrictionProgram, generators: &[Generator]) -> Vec<Vec<f64>> {
    let (n, count) = (p.n(), generators.len());
    if count == 0 {
        return Vec::new();
    }
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
    // drop rows that depend linearly on others up to rounding
    let mut basis: Vec<Vec<f64>> = Vec::new();
    // squared distance of each unit vector from the span of the basis
    let mut off = vec![1.0; count];
    let take = |new: &[f64], off: &mut [f64]| {
        off.iter_mut().zip(new).for_each(|(off, v)| *off -= v * v);
    };
    for row in table.chunks_exact(count) {
        let length = dot(row, row).sqrt();
        if length == 0.0 {
            continue;
        }
        let mut new: Vec<f64> = row.iter().map(|v| v / length).collect();
        let rest = orthogonalise(&mut new, &basis);
        if rest > DEPENDENT {
            divide(&mut new, rest);
            take(&new, &mut off);
            basis.push(new);
        }
    }
    let rank = basis.len();
    while basis.len() < count {
        // the unit vector farthest from the span of the basis
        let furthest = (0..count).fold(0, |m, j| if off[j] > off[m] { j } else { m });
        let mut new = vec![0.0; count];
        new[furthest] = 1.0;
        let rest = orthogonalise(&mut new, &basis);
        divide(&mut new, rest);
        take(&new, &mut off);
        basis.push(new);
    }
    basis.split_off(rank)
}

/// Generators of the feasible changes of each contact's force.
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
                // slipping: along the one force that the slip allows
                for t in 0..d {
                    edge[t + 1] = -units[t] * units[t] * u[t + 1] / h;
                }
                push(&edge, pushes);
            }
            Shape::Round if pushes => inside_cone(lambda, units, push),
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

/// Changes of a force that pushes without slip on a round cone. Inside the cone any change is
/// feasible; on the boundary, all but outward ones.
fn inside_cone(lambda: &[f64], units: &[f64], mut push: impl FnMut(&[f64], bool)) {
    let sliding = || (0..units.len()).filter(|t| units[*t] > 0.0);
    let share = sliding().map(|t| (lambda[t + 1] / units[t] / lambda[0]).powi(2));
    let share = share.sum::<f64>().sqrt();
    for t in sliding() {
        let mut change = vec![0.0; units.len() + 1];
        change[t + 1] = units[t];
        if share >= 1.0 - NONE {
            let e = lambda[t + 1] / units[t] / lambda[0] / share;
            for (change, lambda_t) in change[1..].iter_mut().zip(&lambda[1..]) {
                *change -= e * lambda_t / lambda[0] / share;
            }
        }
        push(&change, true);
    }
    if share >= 1.0 - NONE {
        push(&[1.0], false);
    }
}
