//! Convex programs on the way to exact friction: the relaxation with its gaps shifted.
//!
//! Coulomb's law is `lambda ∈ K ⊥ (u_n + h(u_t), u_t) ∈ K*` (G. De Saxcé and Z.-Q. Feng, "The bipotential
//! method", Mathematical and Computer Modelling 28 (1998) 225–245): with `gamma = h(u_t)` it is the law of
//! the convex relaxation whose gaps are wider by `gamma`. The fixed point `gamma → program → h(u_t)` needs
//! no other solver (F. Cadoux, "Analyse convexe et optimisation pour la dynamique non-régulière", thesis,
//! Grenoble 2009). A pushed body of Trinkle05 section 5 makes it contract by `mu²/(1 + mu²)` for any mu,
//! where the fixed point over `lambda_n` of (29) has slope `−mu²`: it needs no damping there. Contacts
//! that drive one another may still make it creep or swing, so its steps are watched and scaled.

use crate::budget::Budget;
use crate::coulomb::law;
use crate::coulomb::program::FrictionProgram;
use crate::coulomb::units::Units;
use crate::{Cone, ConeProgram, ConeSolver, Reason, Settings, Solution, WarmStart};

/// Bounds of the share of a step.
const LEAST_SHARE: f64 = 0.05;
const MOST_SHARE: f64 = 10.0;
/// Change of the shifts that is none, as a share of the largest.
const STILL: f64 = 1e-13;

/// Memory of the fixed point.
#[derive(Debug, Default)]
pub(crate) struct Shift {
    units: Units,
    solver: ConeSolver,
    program: ConeProgram,
    pub answer: Solution,
    z: Vec<f64>,
    s: Vec<f64>,
    gamma: Vec<f64>,
    /// `h(u_t) − gamma` of the last step, and the share of it that was taken.
    missing: Vec<f64>,
    share: f64,
    /// Forces and rates of the last answer, in the rows of the friction program.
    pub lambda: Vec<f64>,
    pub u: Vec<f64>,
    normals: ConeProgram,
    /// Convex programs solved.
    pub solved: u32,
    budget: Budget,
}

/// Counts the work of a solve within this one. Where that ended for want of work nothing is left.
pub(crate) fn spend(budget: &Budget, work: u64, reason: Option<Reason>) {
    budget.spend(work + u64::from(reason == Some(Reason::Work)));
}

impl Shift {
    /// No shift: the relaxation.
    pub fn start(&mut self, p: &FrictionProgram, budget: &Budget) {
        self.budget = budget.clone();
        self.units = Units::of(p);
        for v in [&mut self.gamma, &mut self.missing] {
            v.clear();
            v.resize(p.contacts.len(), 0.0);
        }
        self.share = 1.0;
        for v in [&mut self.lambda, &mut self.u] {
            v.clear();
            v.resize(p.rows, 0.0);
        }
        self.solved = 0;
        self.z.clear();
    }

    /// Solves the program shifted by `gamma`, from the last answer.
    pub fn solve(&mut self, p: &FrictionProgram) {
        let shifted = self.gamma.iter().any(|g| *g != 0.0);
        let Units { force, length } = self.units;
        let scaled = force != 1.0 || length != 1.0;
        if shifted || scaled {
            self.program.copy(&p.cones);
            for (k, gamma) in self.gamma.iter().enumerate() {
                let at = self.program.cones[k].b_at as usize;
                self.program.b[at] -= gamma;
            }
        }
        if scaled {
            let q = &mut self.program;
            q.P.iter_mut().for_each(|v| *v *= length / force);
            q.c.iter_mut().for_each(|v| *v /= force);
            q.b.iter_mut().for_each(|v| *v /= length);
            for spring in &mut q.saturations {
                spring.stiffness *= length / force;
                spring.target /= length;
                spring.limit /= force;
            }
        }
        let program = if shifted || scaled { &self.program } else { &p.cones };
        let warm = (self.z.len() == program.m).then_some(WarmStart { z: &self.z, s: &self.s });
        let settings = Settings { work_limit: self.budget.left(), ..Settings::default() };
        self.solver.solve(program, warm, &settings, &mut self.answer);
        spend(&self.budget, self.answer.work, self.answer.reason);
        self.solved += 1;
        if self.answer.status == crate::Status::Solved {
            self.z.clone_from(&self.answer.z);
            self.s.clone_from(&self.answer.s);
            self.answer.x.iter_mut().for_each(|x| *x *= length);
            self.answer.z.iter_mut().for_each(|z| *z *= force);
            self.read(p);
        }
    }

    /// Warm start of the first program: multipliers and slacks of a similar relaxation.
    pub fn warm(&mut self, z: &[f64], s: &[f64]) {
        self.z.clear();
        self.z.extend(z.iter().map(|z| z / self.units.force));
        self.s.clear();
        self.s.extend(s.iter().map(|s| s / self.units.length));
    }

    /// Forces and rates of the answer.
    fn read(&mut self, p: &FrictionProgram) {
        p.rates(&self.answer.x, &mut self.u);
        for (i, contact) in p.contacts.iter().enumerate() {
            let cone = p.cone_of(i);
            let z = &self.answer.z[cone.first as usize..(cone.first + cone.m) as usize];
            for (r, at) in contact.rows().enumerate() {
                let E = &p.cones.E[cone.E_at as usize + r * cone.stride_z as usize..];
                self.lambda[at] = z.iter().zip(E).map(|(z, E)| z * E).sum();
            }
        }
    }

    /// A step of the fixed point: `gamma` goes towards `h(u_t)` at the last answer, by the share that the last
    /// two steps suggest. True if there is nowhere to go.
    ///
    /// The share is that of B. M. Irons and R. C. Tuck, "A version of the Aitken accelerator for computer
    /// iteration", International Journal for Numerical Methods in Engineering 1 (1969) 275–277: more than
    /// one where steps shrink slowly, less where they swing.
    pub fn update(&mut self, p: &FrictionProgram) -> bool {
        let (mut change, mut largest) = (0.0_f64, 0.0_f64);
        let (mut product, mut square) = (0.0, 0.0);
        for (i, contact) in p.contacts.iter().enumerate() {
            let at = contact.first as usize;
            let h = law::support(p, contact, &self.u[at + 1..at + contact.k as usize]);
            let r = h - self.gamma[i];
            change = change.max(r.abs());
            largest = largest.max(h);
            let turn = r - self.missing[i];
            product += self.missing[i] * turn;
            square += turn * turn;
            self.missing[i] = r;
        }
        if square > 0.0 && product < 0.0 {
            self.share = (-self.share * product / square).clamp(LEAST_SHARE, MOST_SHARE);
        } else {
            self.share = 1.0;
        }
        for (gamma, r) in self.gamma.iter_mut().zip(&self.missing) {
            *gamma = (*gamma + self.share * r).max(0.0);
        }
        change <= STILL * largest
    }

    /// Rates as Newton's method wants them: normal ones without the boundary layer of the relaxation, so
    /// that sliding contacts count as closed.
    pub fn close(&mut self, p: &FrictionProgram) {
        for contact in &p.contacts {
            let at = contact.first as usize;
            let h = law::support(p, contact, &self.u[at + 1..at + contact.k as usize]);
            let closed = self.lambda[at] > 0.0;
            self.u[at] = if closed { 0.0 } else { (self.u[at] - h).max(0.0) };
        }
    }

    /// The gaps alone: the point nearest to the last answer's in scaled variables that satisfies them, or
    /// weights that prove there is none. True if there is a point, in `answer.x`.
    pub fn normals(&mut self, p: &FrictionProgram) -> bool {
        let q = &mut self.normals;
        q.reset(p.cones.blocks.iter().map(|b| b.dim as usize));
        for (i, _) in p.contacts.iter().enumerate() {
            let cone = p.cone_of(i);
            let sides = p.cones.sides_of(cone);
            let blocks: Vec<u32> = sides.iter().map(|side| side.block).collect();
            let J = &p.cones.J[cone.J_at as usize..];
            let mut row = q.push_cone(Cone::Edges(&[1.0]), 1, &blocks);
            row.b()[0] = p.b(i, 0) / self.units.length;
            for (s, side) in sides.iter().enumerate() {
                let to = row.J(s, 0);
                let dim = to.len();
                to.copy_from_slice(&J[side.column as usize..][..dim]);
            }
        }
        let settings = Settings { work_limit: self.budget.left(), ..Settings::default() };
        self.solver.solve(&self.normals, None, &settings, &mut self.answer);
        spend(&self.budget, self.answer.work, self.answer.reason);
        self.solved += 1;
        self.answer.x.iter_mut().for_each(|x| *x *= self.units.length);
        self.answer.status == crate::Status::Solved
    }

    /// Shifts under which the relaxation has a point: `h(u_t)` at the last answer's `x`.
    pub fn widen(&mut self, p: &FrictionProgram) {
        p.rates(&self.answer.x, &mut self.u);
        self.update(p);
        self.z.clear();
    }
}
