//! The convex program that exact friction solves at its own normal forces: Trinkle05 (29) and (36).
//!
//! ```text
//! min  1/2 xᵀ P x + cᵀ x + ∇huber + Σ_i lambda_n,i h_i(u_t,i)      s.t.   u_n ≥ 0
//! ```
//!
//! `h` is the work of friction per normal force: `mu |u_t|` for a disc, (29); `mu (|u_1| + |u_2|)` for the
//! box, (36); `mu max_j −d_jᵀ u_t` for the diamond. Theorem 1: a solution of the friction program is optimal
//! here at its own `lambda_n`; an optimum whose multipliers of `u_n` are `lambda_n` solves the friction
//! program. Without `lambda_n` known the map from it to the multipliers is a fixed point that Trinkle05's
//! theorem names and that this crate does not need: a pushed body gives it the slope `−mu²`.

use crate::coulomb::law::support;
use crate::coulomb::program::{FrictionProgram, Shape};
use crate::{Cone, ConeProgram, ConeSolver, Settings, Solution, Status};

/// Solver of (29) and its memory.
#[derive(Debug, Default)]
pub struct LeastWork {
    program: ConeProgram,
    solver: ConeSolver,
    answer: Solution,
    /// Least cost up to a constant: `1/2 xᵀ P x + …` as above.
    pub cost: f64,
    /// The minimiser, length `n`.
    pub x: Vec<f64>,
    /// Forces in the rows of the program: normal ones are the multipliers of `u_n ≥ 0`, friction is that of the
    /// normal forces that were given.
    pub lambda: Vec<f64>,
}

impl LeastWork {
    /// A solver without memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Solves (29) for `p` at the normal forces `lambda_n`, one per contact, into `self`. Anything but
    /// [`Status::Solved`] leaves the last answer.
    pub fn solve(&mut self, p: &FrictionProgram, lambda_n: &[f64]) -> Status {
        if lambda_n.len() != p.contacts.len() || p.check().is_err() {
            return Status::GaveUp;
        }
        self.build(p, lambda_n);
        self.solver.solve(&self.program, None, &Settings::default(), &mut self.answer);
        if self.answer.status != Status::Solved {
            return self.answer.status;
        }
        self.x.clear();
        self.x.extend_from_slice(&self.answer.x[..p.n()]);
        self.read(p, lambda_n);
        self.cost = p.work(&self.x, lambda_n);
        Status::Solved
    }

    /// One more variable per contact that rubs, above its work: `tau ≥ lambda_n h(u_t)`. The force stands in the rows, so that
    /// a contact that hardly pushes has small rows, and a cost like that of all others.
    fn build(&mut self, p: &FrictionProgram, lambda_n: &[f64]) {
        let q = &mut self.program;
        let rubs = |i: usize| lambda_n[i] > 0.0 && p.contacts[i].tangents() > 0;
        let blocks = p.cones.blocks.len();
        let works = (0..p.contacts.len()).filter(|i| rubs(*i)).count();
        let dims = p.cones.blocks.iter().map(|b| b.dim as usize);
        q.reset(dims.chain(std::iter::repeat_n(1, works)));
        for (k, block) in p.cones.blocks.iter().enumerate() {
            let at = block.at as usize;
            for i in 0..block.dim as usize {
                q.P(k, i).copy_from_slice(p.cones.P_row(k, i));
            }
            q.c(k).copy_from_slice(&p.cones.c[at..at + block.dim as usize]);
        }
        for spring in &p.cones.saturations {
            q.push_saturation(*spring);
        }
        let (mut list, mut E) = (Vec::new(), Vec::new());
        let mut work = blocks;
        for (i, contact) in p.contacts.iter().enumerate() {
            let cone = p.cone_of(i);
            let sides = p.cones.sides_of(cone);
            let (width, k) = (cone.width as usize, contact.k as usize);
            list.clear();
            list.extend(sides.iter().map(|s| s.block));
            let J = |r: usize, column: u32| {
                &p.cones.J[cone.J_at as usize + r * width + column as usize..]
            };
            let mut normal = q.push_cone(Cone::Edges(&[1.0]), 1, &list);
            normal.b()[0] = p.b(i, 0);
            for (s, side) in sides.iter().enumerate() {
                let row = normal.J(s, 0);
                let dim = row.len();
                row.copy_from_slice(&J(0, side.column)[..dim]);
            }
            if !rubs(i) {
                continue;
            }
            q.c(work)[0] = 1.0;
            list.push(work as u32);
            work += 1;
            E.clear();
            let units = p.units_of(contact);
            let shape = match contact.shape {
                Shape::Round => {
                    E.push(1.0);
                    E.extend_from_slice(units);
                    Cone::Round(&E)
                }
                Shape::Polytope(_) => {
                    for v in p.vertices_of(contact).chunks_exact(k - 1) {
                        E.push(1.0);
                        E.extend(v.iter().zip(units).map(|(v, unit)| v * unit));
                    }
                    Cone::Edges(&E)
                }
            };
            let mut friction = q.push_cone(shape, k, &list);
            friction.J(sides.len(), 0)[0] = 1.0;
            for r in 1..k {
                friction.b()[r] = lambda_n[i] * p.b(i, r);
                for (s, side) in sides.iter().enumerate() {
                    let row = friction.J(s, r);
                    let dim = row.len();
                    let from = &J(r, side.column)[..dim];
                    row.iter_mut().zip(from).for_each(|(to, J)| *to = lambda_n[i] * J);
                }
            }
        }
    }

    fn read(&mut self, p: &FrictionProgram, lambda_n: &[f64]) {
        self.lambda.clear();
        self.lambda.resize(p.rows, 0.0);
        let mut at = 0;
        for (i, contact) in p.contacts.iter().enumerate() {
            let first = contact.first as usize;
            self.lambda[first] = self.answer.z[at];
            at += 1;
            if !(lambda_n[i] > 0.0 && contact.tangents() > 0) {
                continue;
            }
            let d = contact.tangents();
            let units = p.units_of(contact);
            match contact.shape {
                Shape::Round => {
                    for t in 0..d {
                        self.lambda[first + 1 + t] =
                            lambda_n[i] * units[t] * self.answer.z[at + 1 + t];
                    }
                    at += d + 1;
                }
                Shape::Polytope(_) => {
                    for v in p.vertices_of(contact).chunks_exact(d) {
                        for t in 0..d {
                            self.lambda[first + 1 + t] +=
                                lambda_n[i] * units[t] * v[t] * self.answer.z[at];
                        }
                        at += 1;
                    }
                }
            }
        }
    }
}

impl FrictionProgram {
    /// Cost of (29) at `x`: the work against known forces, springs, and friction at normal forces `lambda_n`, one
    /// per contact.
    pub fn work(&self, x: &[f64], lambda_n: &[f64]) -> f64 {
        let mut g = vec![0.0; self.n()];
        let mut u = vec![0.0; self.rows];
        // 1/2 xᵀ (P x + 2 c): gradient without springs, and c once more
        let mut cost = 0.0;
        for (k, block) in self.cones.blocks.iter().enumerate() {
            let (first, at) = (block.first as usize, block.at as usize);
            let x = &x[first..first + block.dim as usize];
            for i in 0..block.dim as usize {
                let Px: f64 = self.cones.P_row(k, i).iter().zip(x).map(|(a, b)| a * b).sum();
                g[first + i] = 0.5 * Px + self.cones.c[at + i];
            }
        }
        cost += g.iter().zip(x).map(|(g, x)| g * x).sum::<f64>();
        cost += self.cones.saturations.iter().map(|s| s.cost(x[s.index as usize])).sum::<f64>();
        self.rates(x, &mut u);
        for (contact, lambda_n) in self.contacts.iter().zip(lambda_n) {
            let rows = contact.rows();
            cost += lambda_n * support(self, contact, &u[rows.start + 1..rows.end]);
        }
        cost
    }
}
