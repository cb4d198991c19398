//! Constraints of one step: the dependent dofs, and their elimination from a program.
//!
//! ```text
//! v = v_0 + N v_I,      P ← Nᵀ P N,      c ← Nᵀ (c + P v_0),      J ← J N,      b ← b − J v_0
//! ```
//!
//! A dependent dof keeps its place in the program, with a cost of its own and no force. Its value
//! in the solution is 0 and is not read. Blocks and their sizes thus remain those of the system.

use super::eliminate::Elimination;
use super::rows::{MOST_ROWS, recovered, size};
use crate::error::StepError;
use crate::formulation::program::Program;
use crate::held::{CLOSED, Group};
use crate::params::StepParams;
use crate::report::{ConstraintReport, StepReport};
use crate::scan::Scan;
use crate::sweep::{Breach, Broken};
use crate::system::{Role, System};
use quasistep_cone::Saturation;
use quasistep_math::Vec3;
use quasistep_model::Kinematics;

/// A row counts as dependent if elimination leaves at most this share of its largest entry.
const ROUNDING: f64 = 1e-9;

/// Tolerance on dependent rows for a constraint error, in multiples of the error over the longest
/// lever arm. Such an error rotates rows that are dependent at zero error, and around a linkage
/// several rotations add up.
const ERRORS: f64 = 10.0;

/// Upper bound of the tolerance on dependent rows, as a share of a row's largest entry. With ten times
/// this bound nets of bodies lose rows that hold them, so that errors grow from step to step.
const MOST_LOST: f64 = 0.01;

/// Largest error that a motion may cause at a constraint, as a share of the longest lever arm of its
/// group, for bodies that are small compared with `max_overlap`. With 0.1 a net of 0.3 mm pitch is
/// told to take smaller steps; with 1 it tears by more than its pitch.
const MOST_TORN: f64 = 0.3;

/// Halvings in the search for the place at which a motion tears a constraint.
const TEAR_HALVINGS: usize = 10;

/// A sum of terms of opposite sign has no correct digit below this share of them.
const CANCELLED: f64 = 1e-12;

/// Preference for eliminating a dof with a drive or friction, relative to 1 for a free dof. If the
/// dof stays, its cost stays in one place.
const DRIVEN: f64 = 0.05;

/// Preference for eliminating a dof whose drive saturates. It may depend on one other dof only, so
/// that its force limit becomes one on that dof.
const LIMITED: f64 = 1e-3;

/// Constraints of one step. Empty for a system without constraints.
#[derive(Debug, Default)]
pub(crate) struct Reduction {
    elimination: Elimination,
    /// Dependent dofs, ascending by block.
    pub followers: Vec<Follower>,
    /// Terms of the dependent dofs, one dof after another.
    terms: Vec<Term>,
    /// Entries of `G`, including those of known dofs: row, dof, entry.
    pub entries: Vec<(u32, u32, f64)>,
    /// Right-hand sides of the rows: required rates.
    pub wanted: Vec<f64>,
    /// Share of its error that each constraint recovers: translation and rotation.
    pub recovery: Vec<[f64; 2]>,
    /// Points at which forces of frames act, in W.
    pub places: Vec<Vec3>,
    /// Largest error that each constraint may have at the end of the step, in m.
    allowed: Vec<f64>,
    /// Errors at the start of the step.
    pub errors: Vec<[f64; MOST_ROWS]>,
    /// `T`: dependent dof, row and entry. Rates of dependent dofs are `T r` for rates `r` of the
    /// rows.
    shares: Vec<(u32, u32, f64)>,
    /// True if errors of rows contradict one another. All of these rows then give way, by the least
    /// change of their rates.
    pub torn: bool,
    /// True for rows that other rows imply.
    pub dependent: Vec<bool>,
    /// Scratch: one number per row.
    by_row: Vec<f64>,
}

/// A dependent dof.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Follower {
    pub dof: usize,
    /// Variable of the dof, the variable's block, and the position in the block.
    pub variable: u32,
    pub block: usize,
    pub at: usize,
    /// Rate of the dof if all independent dofs rest, in m/s or rad/s.
    base: f64,
    first: usize,
    last: usize,
}

/// A term of a dependent dof: independent dof, its variable, its position in the block, and the
/// factor.
#[derive(Clone, Copy, Debug)]
struct Term {
    dof: usize,
    variable: u32,
    at: usize,
    factor: f64,
}

/// How far the rows of a group are from rows at zero error.
#[derive(Clone, Copy, Debug)]
struct Spread {
    /// Longest lever arm, in m; 0 without one.
    lever: f64,
    /// Largest error, in rad or over the lever arm.
    turned: f64,
}

impl Reduction {
    /// True if no dof is dependent.
    pub fn is_empty(&self) -> bool {
        self.followers.is_empty()
    }

    /// Computes the constraints of a step that begins at `q`. `start` has the kinematics at `q`,
    /// `kin` those of the rows.
    ///
    /// # Errors
    ///
    /// Rows that no motion satisfies, or that couple two limited drives to one motion.
    pub fn update(
        &mut self,
        system: &System,
        (q, start, kin): (&[f64], &Kinematics, &Kinematics),
        v_known: &[f64],
        params: &StepParams,
    ) -> Result<(), StepError> {
        self.followers.clear();
        self.terms.clear();
        self.entries.clear();
        self.wanted.clear();
        self.recovery.clear();
        self.errors.clear();
        self.allowed.clear();
        self.places.clear();
        self.shares.clear();
        self.dependent.clear();
        self.torn = false;
        if system.constraints.is_empty() {
            return Ok(());
        }
        let (h, most) = (params.time_step, params.max_recovery_speed);
        for held in &system.constraints {
            let error = held.error(&system.model, start, q);
            let recovery = size(&error).map(|size| recovered(size, h, most));
            let share = |row: usize| recovery[usize::from(row >= 3)];
            self.wanted.extend((0..held.rows.len()).map(|row| -share(row) * error[row] / h));
            self.recovery.push(recovery);
            self.errors.push(error);
            self.allowed.push(f64::INFINITY);
            self.places.push(held.place(&system.model, kin));
            held.entries(&system.model, kin, |row, dof, entry| {
                self.entries.push(((held.rows.start + row) as u32, dof as u32, entry));
            });
        }
        self.dependent.resize(self.wanted.len(), false);
        for group in &system.constraint_groups {
            self.solve(system, group, v_known, params)?;
        }
        // sort by block; an unstable sort, since a stable one would allocate
        self.followers.sort_unstable_by_key(|f| (f.block, f.first, f.last, f.dof));
        Ok(())
    }

    /// Finds the dependent dofs of a group of constraints.
    fn solve(
        &mut self,
        system: &System,
        group: &Group,
        v_known: &[f64],
        params: &StepParams,
    ) -> Result<(), StepError> {
        let (rows, h) = (&group.rows, params.time_step);
        let e = &mut self.elimination;
        e.reset(rows.len(), group.dofs.len());
        for (local, row) in rows.iter().enumerate() {
            *e.r(local) = self.wanted[*row];
        }
        // known motion of each row in the step, and the longest lever arm, in m
        let (known, mut lever) = (&mut self.by_row, 0.0_f64);
        known.clear();
        known.resize(rows.len(), 0.0);
        for &(row, dof, entry) in &self.entries {
            let (row, dof) = (row as usize, dof as usize);
            let Ok(local) = rows.binary_search(&row) else { continue };
            if let Ok(column) = group.dofs.binary_search(&dof) {
                *e.G(local, column) += entry;
            } else {
                *e.r(local) -= entry * v_known[dof];
                known[local] += (entry * v_known[dof] * h).abs();
            }
            if system.is_shift(row) && system.is_turn(dof) {
                lever = lever.max(entry.abs());
            }
        }
        let mut turned = 0.0_f64;
        for k in &group.constraints {
            let [shift, turn] = size(&self.errors[*k]);
            if lever > 0.0 && system.constraints[*k].frames().is_some() {
                turned = turned.max(shift / lever).max(turn);
                if params.max_overlap < f64::INFINITY {
                    self.allowed[*k] = shift.max(params.max_overlap.min(MOST_TORN * lever));
                }
            }
        }
        let uncertain = (ROUNDING + ERRORS * turned).min(MOST_LOST);
        let preference = |column: usize| {
            let dof = group.dofs[column];
            let body = system.body_of_dof[dof];
            if system.saturates(dof) {
                LIMITED
            } else if system.roles[body] != Role::Passive || system.rubs(dof) {
                DRIVEN
            } else {
                1.0
            }
        };
        // rates of rotation count as speeds at the longest lever arm
        let turns = |column: usize| lever > 0.0 && system.is_turn(group.dofs[column]);
        e.solve(uncertain, |column| if turns(column) { 1.0 / lever } else { 1.0 }, preference);
        self.agree(system, group, params, Spread { lever, turned })?;
        self.push_followers(system, group)
    }

    /// Finds the dependent rows of a group, and lets all rows give way where errors contradict one
    /// another.
    fn agree(
        &mut self,
        system: &System,
        group: &Group,
        params: &StepParams,
        Spread { lever, turned }: Spread,
    ) -> Result<(), StepError> {
        let Self { elimination: e, by_row: known, wanted, errors, dependent, .. } = self;
        let (rows, h) = (&group.rows, params.time_step);
        let mut torn = false;
        let bound = if params.max_overlap < f64::INFINITY { params.max_overlap } else { 0.0 };
        let unit_of = |row: usize| if lever > 0.0 && system.is_shift(row) { lever } else { 1.0 };
        for local in (0..rows.len()).filter(|local| !e.is_kept(*local)) {
            dependent[rows[local]] = true;
            // rows that agree at zero error may differ by squares of errors and of known motion
            let unit = unit_of(rows[local]);
            let known: f64 = e.T(local).iter().zip(&*known).map(|(t, k)| (t * k).abs()).sum();
            let square = CLOSED.max(ERRORS * unit * ((known / unit).powi(2) + turned * turned));
            let off = h * e.Tr(local).abs();
            if off <= square {
                continue;
            }
            // around loops errors may contradict one another; motion that is prescribed may not
            let sum = |of: &dyn Fn(usize) -> f64| -> f64 {
                e.T(local).iter().zip(rows).map(|(t, row)| t * of(*row)).sum()
            };
            let prescribed = h * (e.Tr(local) - sum(&|row| wanted[row])).abs();
            let error = sum(&|row| errors[system.index_of(row)][system.place_of(row)]).abs();
            let most = bound * if lever > 0.0 { unit / lever } else { 1.0 };
            // written so that NaN fails
            if !(prescribed <= square && error <= most) {
                let part = e.T(local).iter().zip(rows).filter(|(t, _)| t.abs() > 1e-3);
                return Err(system.contradiction(part.map(|(_, row)| *row), off));
            }
            torn = true;
        }
        if torn {
            let change = e.least_change(|local| unit_of(rows[local]));
            for (row, change) in rows.iter().zip(&change) {
                wanted[*row] += change;
            }
            e.add_to_r(&change);
        }
        self.torn |= torn;
        Ok(())
    }

    /// Adds the dependent dofs of a group.
    fn push_followers(&mut self, system: &System, group: &Group) -> Result<(), StepError> {
        let (e, rows) = (&self.elimination, &group.rows);
        for &(row, column) in &e.pivots {
            let place = |dof: usize| {
                let variable = system.variable_of_dof[dof].unwrap_or_default();
                let (block, at) = system.block_of_variable[variable as usize];
                (variable, block as usize, at as usize)
            };
            let first = self.terms.len();
            for (other, &dof) in group.dofs.iter().enumerate() {
                let factor = -e.A(row, other);
                if !e.is_solved(other) && factor != 0.0 {
                    let (variable, _, at) = place(dof);
                    self.terms.push(Term { dof, variable, at, factor });
                }
            }
            let dof = group.dofs[column];
            let (variable, block, at) = place(dof);
            if self.terms.len() > first + 1 && system.saturates(dof) {
                return Err(system.over_driven(rows[row]));
            }
            for (local, t) in e.T(row).iter().enumerate().filter(|(_, t)| **t != 0.0) {
                self.shares.push((dof as u32, rows[local] as u32, *t));
            }
            let (base, last) = (e.Tr(row), self.terms.len());
            self.followers.push(Follower { dof, variable, block, at, base, first, last });
        }
        Ok(())
    }

    fn terms_of(&self, follower: &Follower) -> &[Term] {
        &self.terms[follower.first..follower.last]
    }

    /// Dependent dofs with a variable in a block.
    pub fn in_block(&self, block: usize) -> &[Follower] {
        let first = self.followers.partition_point(|f| f.block < block);
        let last = self.followers.partition_point(|f| f.block <= block);
        &self.followers[first..last]
    }

    /// Writes the rates of dependent dofs to `v`, length `n_v`, which contains all other rates.
    pub fn complete(&self, v: &mut [f64]) {
        for follower in &self.followers {
            v[follower.dof] = follower.base + self.along(follower, v);
        }
    }

    /// Completes a direction: writes the homogeneous part of the dependent dofs' rates to `v`.
    pub fn follow(&self, v: &mut [f64]) {
        for follower in &self.followers {
            v[follower.dof] = self.along(follower, v);
        }
    }

    fn along(&self, follower: &Follower, v: &[f64]) -> f64 {
        self.terms_of(follower).iter().map(|term| term.factor * v[term.dof]).sum()
    }

    /// Transpose of [`follow`](Self::follow): moves forces from dependent dofs to the independent
    /// dofs.
    pub fn gather(&self, forces: &mut [f64]) {
        for follower in &self.followers {
            let force = std::mem::take(&mut forces[follower.dof]);
            for term in self.terms_of(follower) {
                forces[term.dof] += term.factor * force;
            }
        }
    }

    /// Adds to `v` the rates of dependent dofs for `rates` of the rows.
    pub fn add_rates(&self, rates: &[f64], v: &mut [f64]) {
        for &(dof, row, t) in &self.shares {
            v[dof as usize] += t * rates[row as usize];
        }
    }

    /// Transpose of [`add_rates`](Self::add_rates): writes the row multipliers that balance
    /// `forces` on dependent dofs, length `n_v`; 0 for dependent rows.
    pub fn multipliers(&self, forces: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.resize(self.wanted.len(), 0.0);
        for &(dof, row, t) in &self.shares {
            out[row as usize] += t * forces[dof as usize];
        }
    }

    /// Adds `Gᵀ lambda` to `forces`, length `n_v`.
    pub fn add_forces(&self, lambda: &[f64], forces: &mut [f64]) {
        for &(row, dof, entry) in &self.entries {
            forces[dof as usize] += entry * lambda[row as usize];
        }
    }

    /// Replaces dependent dofs in a contact's columns by the independent ones.
    pub fn put<const K: usize>(&self, columns: &mut Vec<(usize, [f64; K])>) {
        for follower in &self.followers {
            let Some(k) = columns.iter().position(|(dof, _)| *dof == follower.dof) else {
                continue;
            };
            let (_, column) = columns.swap_remove(k);
            for term in self.terms_of(follower) {
                let at =
                    columns.iter().position(|(dof, _)| *dof == term.dof).unwrap_or_else(|| {
                        columns.push((term.dof, [0.0; K]));
                        columns.len() - 1
                    });
                for (sum, part) in columns[at].1.iter_mut().zip(column) {
                    let part = term.factor * part;
                    *sum = kept(*sum + part, sum.abs() + part.abs());
                }
            }
        }
    }

    /// Rate of a dependent dof if all independent dofs rest; 0 for other dofs.
    pub fn base(&self, dof: usize) -> f64 {
        self.followers.iter().find(|f| f.dof == dof).map_or(0.0, |f| f.base)
    }

    /// Eliminates the dependent dofs from a program.
    pub fn reduce(&self, program: &mut Program) {
        let mut block = None;
        for follower in &self.followers {
            if block != Some(follower.block) {
                block = Some(follower.block);
                self.reduce_cost(program, follower.block);
            }
        }
        for spring in 0..program.n_saturations() {
            let spring = program.saturation_mut(spring);
            let follows = |f: &&Follower| f.variable == spring.index;
            // a dof without terms has a known rate
            if let Some(follower) = self.followers.iter().find(follows)
                && let [term] = self.terms_of(follower)
            {
                *spring = Saturation {
                    index: term.variable,
                    stiffness: spring.stiffness * term.factor * term.factor,
                    target: (spring.target - follower.base) / term.factor,
                    limit: spring.limit * term.factor.abs(),
                };
            }
        }
        for cone in 0..program.n_cones() {
            for side in 0..program.n_sides(cone) {
                let own = self.in_block(program.block_of(cone, side));
                if own.is_empty() {
                    continue;
                }
                let mut entry = program.cone_mut(cone);
                for row in 0..entry.b().len() {
                    let mut moved = 0.0;
                    let J = entry.J(side, row);
                    for follower in own {
                        let by = std::mem::take(&mut J[follower.at]);
                        if by == 0.0 {
                            continue;
                        }
                        moved += by * follower.base;
                        for term in self.terms_of(follower) {
                            let (own, part) = (J[term.at], by * term.factor);
                            J[term.at] = kept(own + part, own.abs() + part.abs());
                        }
                    }
                    entry.b()[row] -= moved;
                }
            }
        }
    }

    fn reduce_cost(&self, program: &mut Program, block: usize) {
        let own = self.in_block(block);
        let n = program.c(block).len();
        // first P v_0, then P N
        for row in 0..n {
            let P = program.P(block, row);
            let mut moved = 0.0;
            for follower in own {
                let by = std::mem::take(&mut P[follower.at]);
                moved += by * follower.base;
                for term in self.terms_of(follower) {
                    P[term.at] += by * term.factor;
                }
            }
            program.c(block)[row] += moved;
        }
        // then Nᵀ P N and Nᵀ c
        for follower in own {
            let c = std::mem::take(&mut program.c(block)[follower.at]);
            for term in self.terms_of(follower) {
                program.c(block)[term.at] += term.factor * c;
                for column in 0..n {
                    let entry = program.P(block, follower.at)[column];
                    program.P(block, term.at)[column] += term.factor * entry;
                }
            }
            program.P(block, follower.at).fill(0.0);
        }
        // make it exactly symmetric, and give the unused dependent variable a cost
        let mut unit = 0.0_f64;
        for i in 0..n {
            for j in 0..i {
                let entry = program.P(block, i)[j];
                program.P(block, j)[i] = entry;
            }
            unit = unit.max(program.P(block, i)[i]);
        }
        let unit = if unit > 0.0 { unit } else { 1.0 };
        for follower in own {
            program.P(block, follower.at)[follower.at] = unit;
        }
    }
}

/// Returns a sum, or 0 if only rounding is left of its terms.
fn kept(sum: f64, size: f64) -> f64 {
    if sum.abs() <= CANCELLED * size { 0.0 } else { sum }
}

impl Reduction {
    /// Largest residual of an independent row at rates `v` over a step of `h`, in m or rad.
    pub fn residual(&mut self, v: &[f64], h: f64) -> f64 {
        let rates = &mut self.by_row;
        rates.clear();
        rates.extend(self.wanted.iter().map(|rate| -rate));
        for &(row, dof, entry) in &self.entries {
            rates[row as usize] += entry * v[dof as usize];
        }
        let independent = rates.iter().zip(&self.dependent).filter(|(_, dependent)| !**dependent);
        // written so that NaN counts as largest
        independent
            .fold(0.0, |most, (r, _)| if (h * r).abs() <= most { most } else { (h * r).abs() })
    }
}

impl System {
    /// The first constraint that a motion tears apart. `place` writes the configuration at a share of
    /// the motion.
    pub(crate) fn tear(
        &self,
        reduction: &Reduction,
        report: &StepReport,
        place: impl Fn(f64, &mut Vec<f64>),
    ) -> Option<Breach> {
        let constraints = report.constraints.iter().zip(&reduction.allowed);
        // written so that NaN is a tear
        let torn =
            |(constraint, allowed): (&ConstraintReport, &f64)| !(constraint.error <= *allowed);
        let first = constraints.clone().position(torn)?;
        let (mut kin, mut q) = (self.model.create_kinematics(), Vec::new());
        let (mut what, mut phi) = (first, -report.constraints[first].error);
        let mut holds = |share: f64| {
            place(share, &mut q);
            self.model.kinematics(&q, &mut kin);
            for (k, (held, allowed)) in self.constraints.iter().zip(&reduction.allowed).enumerate()
            {
                let error = size(&held.error(&self.model, &kin, &q))[0];
                if !(error <= *allowed) {
                    (what, phi) = (k, -error);
                    return false;
                }
            }
            true
        };
        let (mut clear, mut broken) = (0.0, 1.0);
        for _ in 0..TEAR_HALVINGS {
            let middle = 0.5 * (clear + broken);
            *(if holds(middle) { &mut clear } else { &mut broken }) = middle;
        }
        Some(Breach { what: Broken::Constraint(what), clear, broken, phi })
    }

    /// Reports constraint forces and errors at the end of the step. The forces balance the
    /// dependent dofs and are added to the `balance` of all dofs.
    pub(crate) fn report_constraints(
        &self,
        reduction: &mut Reduction,
        end: &Scan,
        balance: &mut [f64],
        report: &mut StepReport,
    ) {
        report.constraints.clear();
        if self.constraints.is_empty() {
            if let Some(set) = &self.set {
                set.spread(&mut report.constraints);
            }
            return;
        }
        let mut lambda = std::mem::take(&mut reduction.by_row);
        reduction.multipliers(balance, &mut lambda);
        for lambda in &mut lambda {
            *lambda = -*lambda;
        }
        reduction.add_forces(&lambda, balance);
        for (held, p_W) in self.constraints.iter().zip(&reduction.places) {
            let own = &lambda[held.rows.clone()];
            let vec = |at: usize| Vec3::new(own[at], own[at + 1], own[at + 2]);
            let [error, angle] = size(&held.error(&self.model, &end.kin, end.q()));
            let dependent = reduction.dependent[held.rows.clone()].iter();
            let dependent = dependent.filter(|dependent| **dependent).count() as u32;
            let frames = held.frames().is_some();
            report.constraints.push(ConstraintReport {
                on: true,
                missed: false,
                p_W: *p_W,
                force_W: if frames { vec(0) } else { Vec3::ZERO },
                torque_W: if held.turns() { vec(3) } else { Vec3::ZERO },
                multiplier: if frames { 0.0 } else { own[0] },
                error,
                angle,
                dependent,
            });
        }
        reduction.by_row = lambda;
        if let Some(set) = &self.set {
            set.spread(&mut report.constraints);
        }
    }
}
