//! Convex relaxation of exact friction, with forces and rates scaled to moderate size.
//!
//! Coulomb's law is `lambda ∈ K ⊥ (u_n + h(u_t), u_t) ∈ K*` (G. De Saxcé and Z.-Q. Feng, "The
//! bipotential method", Mathematical and Computer Modelling 28 (1998) 225–245). The relaxation
//! omits `h(u_t)`, so its sliding contacts separate at the rate `h(u_t)`. Where the cones are
//! inconsistent but the gaps are not, gaps widened by `h(u_t)` are feasible.
//!
//! With `h(u_t)` replaced by numbers `s`, one per contact, Coulomb's law becomes the optimality
//! condition of a convex program with gaps wider by `s`. If its solution satisfies `h(u_t) = s`, it
//! solves the exact law: a fixed point of `s ↦ h(u_t(s))`. A fixed point exists if the cost is
//! positive definite and zero rates satisfy the gaps (V. Acary, F. Cadoux, C. Lemaréchal and J.
//! Malick, "A formulation of the linear discrete Coulomb friction problem via convex optimization",
//! ZAMM 91 (2011) 155–175). The first program, with `s = 0`, is the relaxation.

use crate::fixed_point::FixedPoint;
use crate::law;
use crate::program::FrictionProgram;
use crate::solution::CoulombWarm;
use crate::tolerances::MODERATE;
use quasistep_cone::{Cone, ConeProgram, ConeSolver, WarmStart};
use quasistep_linalg::budget::Budget;
use quasistep_linalg::{Reason, Settings, Solution, Status};

/// Units in which forces and rates of a program are of moderate size. They are 1 if the caller's
/// already are, else powers of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    pub force: f64,
    pub length: f64,
}

impl Default for Units {
    fn default() -> Self {
        Self { force: 1.0, length: 1.0 }
    }
}

impl Units {
    /// Computes the units of a program.
    pub fn of(p: &FrictionProgram) -> Self {
        let largest = |v: &[f64]| v.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let (c, b, P) = (largest(&p.cones.c), largest(&p.cones.b), largest(&p.cones.P));
        // if one size is zero, it follows from the other and the stiffness
        let length = if b > 0.0 || P == 0.0 { b } else { c / P };
        let force = if c > 0.0 { c } else { P * length };
        let unit = |size: f64| {
            let moderate = size == 0.0 || (1.0 / MODERATE..=MODERATE).contains(&size);
            if moderate || !size.is_finite() { 1.0 } else { size.log2().round().exp2() }
        };
        Self { force: unit(force), length: unit(length) }
    }
}

/// Adds the work of an inner solve to the budget. If the inner solve ended with [`Reason::Work`],
/// the whole budget is spent.
pub(crate) fn spend(budget: &Budget, work: u64, reason: Option<Reason>) {
    budget.spend(work + u64::from(reason == Some(Reason::Work)));
}

/// Relaxation solver and its memory.
#[derive(Debug, Default)]
pub(crate) struct Relaxation {
    units: Units,
    solver: ConeSolver,
    program: ConeProgram,
    pub answer: Solution,
    z: Vec<f64>,
    s: Vec<f64>,
    /// De Saxcé's corrections: the amount by which the gap of each contact is widened.
    wider: Vec<f64>,
    path: FixedPoint,
    /// Forces and rates of the solution, in the rows of the friction program.
    pub lambda: Vec<f64>,
    pub u: Vec<f64>,
    /// Scratch: blocks of one contact.
    blocks: Vec<u32>,
    /// Number of convex programs solved.
    pub solved: u32,
    budget: Budget,
    /// Violation that counts as zero, [`Settings::rest`], in units of the program.
    rest: f64,
}

impl Relaxation {
    /// Solves the relaxation, warm-started from the multipliers and slacks of a similar one if
    /// given. If asked for, gaps are widened by the slips of a similar solution.
    pub fn start(
        &mut self,
        p: &FrictionProgram,
        similar: Option<CoulombWarm<'_>>,
        slips: bool,
        rest: f64,
        budget: &Budget,
    ) {
        self.budget = budget.clone();
        self.units = Units::of(p);
        self.rest = rest / self.units.length;
        self.solved = 0;
        for v in [&mut self.lambda, &mut self.u] {
            v.clear();
            v.resize(p.rows, 0.0);
        }
        let Units { force, length } = self.units;
        let relaxed = similar.and_then(|similar| similar.relaxed);
        for (to, from, unit) in [
            (&mut self.z, relaxed.map(|relaxed| relaxed.z), force),
            (&mut self.s, relaxed.map(|relaxed| relaxed.s), length),
        ] {
            to.clear();
            to.extend(from.unwrap_or_default().iter().map(|v| v / unit));
        }
        self.wider.clear();
        self.wider.resize(p.contacts.len(), 0.0);
        self.path.start(p.contacts.len());
        if let Some(similar) = similar.filter(|_| slips) {
            for ((wider, contact), u) in
                self.wider.iter_mut().zip(&p.contacts).zip(slips_of(p, similar.u))
            {
                if similar.lambda[contact.first as usize] > 0.0 {
                    *wider = law::support(p, contact, u).max(0.0);
                }
            }
        }
        self.solve(p);
    }

    /// Solves the relaxation with gaps widened by `h(u_t)` at the point of
    /// [`normals`](Self::normals), which makes it feasible.
    pub fn widen(&mut self, p: &FrictionProgram) {
        p.rates(&self.answer.x, &mut self.u);
        for ((wider, contact), u) in
            self.wider.iter_mut().zip(&p.contacts).zip(slips_of(p, &self.u))
        {
            *wider = law::support(p, contact, u).max(0.0);
        }
        self.solve(p);
    }

    /// Whether the last program was the relaxation without widened gaps.
    pub fn is_plain(&self) -> bool {
        self.wider.iter().all(|wider| *wider == 0.0)
    }

    /// Distance of the solution from the fixed point, relative to the fastest slip. Also prepares
    /// the next [`step`](Self::step).
    pub fn compare(&mut self, p: &FrictionProgram) -> f64 {
        p.rates(&self.answer.x, &mut self.u);
        let (mut off, mut fastest) = (0.0_f64, 0.0_f64);
        let slips = p.contacts.iter().zip(slips_of(p, &self.u));
        for ((wider, change), (contact, u)) in
            self.wider.iter().zip(&mut self.path.change).zip(slips)
        {
            let h = law::support(p, contact, u).max(0.0);
            *change = h - wider;
            off = off.max(change.abs());
            fastest = fastest.max(h);
        }
        self.read(p);
        if off > 0.0 { off / fastest.max(off) } else { 0.0 }
    }

    /// Solves the next convex program of the fixed-point iteration, warm-started from the last
    /// solution.
    pub fn step(&mut self, p: &FrictionProgram) {
        self.path.step(&mut self.wider);
        let Units { force, length } = self.units;
        for (to, from, unit) in
            [(&mut self.z, &self.answer.z, force), (&mut self.s, &self.answer.s, length)]
        {
            to.clear();
            to.extend(from.iter().map(|v| v / unit));
        }
        self.solve(p);
    }

    fn solve(&mut self, p: &FrictionProgram) {
        let Units { force, length } = self.units;
        let other = !self.is_plain() || force != 1.0 || length != 1.0;
        if other {
            let q = &mut self.program;
            q.copy(&p.cones);
            for (wider, cone) in self.wider.iter().zip(&p.cones.cones) {
                q.b[cone.b_at as usize] -= wider;
            }
            q.P.iter_mut().for_each(|v| *v *= length / force);
            q.c.iter_mut().for_each(|v| *v /= force);
            q.b.iter_mut().for_each(|v| *v /= length);
            for spring in &mut q.saturations {
                spring.stiffness *= length / force;
                spring.target /= length;
                spring.limit /= force;
            }
        }
        let program = if other { &self.program } else { &p.cones };
        let warm = (self.z.len() == program.m).then_some(WarmStart { z: &self.z, s: &self.s });
        let settings =
            Settings { work_limit: self.budget.left(), rest: self.rest, ..Settings::default() };
        self.solver.solve(program, warm, &settings, &mut self.answer);
        spend(&self.budget, self.answer.work, self.answer.reason);
        self.solved += 1;
        if self.answer.status == Status::Solved {
            self.answer.x.iter_mut().for_each(|x| *x *= length);
            self.answer.z.iter_mut().for_each(|z| *z *= force);
            self.answer.s.iter_mut().for_each(|s| *s *= length);
            self.read(p);
        }
    }

    /// Reads forces and rates of the solution. For contacts with a force, the remaining boundary
    /// layer is subtracted from the rates, so that sliding contacts count as closed.
    fn read(&mut self, p: &FrictionProgram) {
        p.rates(&self.answer.x, &mut self.u);
        for (i, contact) in p.contacts.iter().enumerate() {
            let cone = p.cone_of(i);
            let z = &self.answer.z[cone.first as usize..(cone.first + cone.m) as usize];
            for (r, at) in contact.rows().enumerate() {
                let E = &p.cones.E[cone.E_at as usize + r * cone.stride_z as usize..];
                self.lambda[at] = z.iter().zip(E).map(|(z, E)| z * E).sum();
            }
            let at = contact.first as usize;
            let h = law::support(p, contact, &self.u[contact.rows()][1..]);
            let closed = self.lambda[at] > 0.0;
            self.u[at] = if closed { 0.0 } else { (self.u[at] + self.wider[i] - h).max(0.0) };
        }
    }

    /// Solves for the gaps alone: writes the feasible `x` of smallest scaled norm to `answer.x`, or
    /// Farkas multipliers. Returns whether there is a feasible `x`.
    pub fn normals(&mut self, p: &FrictionProgram) -> bool {
        let Self { program: q, blocks, z, .. } = self;
        z.clear();
        q.reset(p.cones.blocks.iter().map(|b| b.dim as usize));
        for (i, _) in p.contacts.iter().enumerate() {
            let cone = p.cone_of(i);
            let sides = p.cones.sides_of(cone);
            blocks.clear();
            blocks.extend(sides.iter().map(|side| side.block));
            let J = &p.cones.J[cone.J_at as usize..];
            let mut row = q.push_cone(Cone::Edges(&[1.0]), 1, blocks);
            row.b()[0] = p.b(i, 0) / self.units.length;
            for (s, side) in sides.iter().enumerate() {
                let to = row.J(s, 0);
                let dim = to.len();
                to.copy_from_slice(&J[side.column as usize..][..dim]);
            }
        }
        let settings =
            Settings { work_limit: self.budget.left(), rest: self.rest, ..Settings::default() };
        self.solver.solve(q, None, &settings, &mut self.answer);
        spend(&self.budget, self.answer.work, self.answer.reason);
        self.solved += 1;
        self.answer.x.iter_mut().for_each(|x| *x *= self.units.length);
        self.answer.status == Status::Solved
    }
}

/// Tangential rates of every contact.
fn slips_of<'a>(p: &'a FrictionProgram, u: &'a [f64]) -> impl Iterator<Item = &'a [f64]> {
    p.contacts.iter().map(|contact| &u[contact.rows()][1..])
}
