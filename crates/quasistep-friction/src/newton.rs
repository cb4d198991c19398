//! Newton's method on Coulomb's law, the fastest method for exact friction.
//!
//! Coulomb's law states that every contact force is the projection of its own augmented value:
//!
//! ```text
//! lambda = Pi(lambda − rho u)        Pi(a_n, a_t) = (r, nearest point of r F to a_t),  r = max(0, a_n)
//! ```
//!
//! (P. Alart and A. Curnier, "A mixed formulation for frictional contact problems prone to Newton
//! like solution methods", Computer Methods in Applied Mechanics and Engineering 92 (1991)
//! 353–375). If the multipliers on the right are fixed at an estimate `lambda_c`, stationarity is
//! an equation for `x` alone,
//!
//! ```text
//! P x + c + ∇huber + delta (x − x_c) = Jᵀ Pi(lambda_c − rho (J x − b)),
//! ```
//!
//! which is piecewise linear for pyramids and has the sparsity of the blocks. Newton's method
//! solves it in a few steps if the start has the right contact modes. Its forces are the next
//! multiplier estimate, as in every method of multipliers. An update leaves 1e-5 of the error, so
//! Coulomb's law holds after two or three. Dependent contacts and variables without curvature need
//! no special treatment.
//!
//! If friction makes the equation unsolvable, or the modes cycle, a continuation from small to
//! large penalty parameters ([`Newton::continue_from`]) mostly converges. Forces that drift from
//! update to update indicate dependent contacts with slightly inconsistent offsets.

mod breakpoints;
mod continuation;
mod finish;
mod homotopy;
mod path;
mod project;
mod regions;
mod step;

use crate::contact::Shape;
use crate::factor::Factor;
use crate::hessian::{self, Part};
use crate::law::{Drift, Law};
use crate::newton::path::Homotopy;
use crate::polytope::{Hull, MOST};
use crate::program::{FrictionProgram, dot_short};
use crate::solution::{CoulombMethods, CoulombSolution};
use crate::tolerances::PROXIMAL;
use crate::tolerances::newton_of_friction::{
    BY_CHANCE, CALM, FARTHEST, GROWTH, LARGEST_PENALTY, LITTLE, NOISE, PENALTY, PROGRESS, REACHED,
    ROUGH, ROUNDING, SETTLED, SHORTEST, SOLVED, STALLED,
};
use quasistep_linalg::budget::Budget;

/// Largest number of Newton steps in all, in addition to one per contact; then that of one
/// equation, and of multiplier updates.
const STEPS: u32 = 200;
const STEPS_PER_UPDATE: u32 = 20;
const UPDATES: u32 = 20;
/// Largest number of multiplier updates at the largest penalty, in addition to one for every four
/// contacts. Each extrapolation needs an update after it.
const STIFF_UPDATES: u32 = EXTRAPOLATIONS;
/// Largest number of extrapolations of drifting multipliers.
const EXTRAPOLATIONS: u32 = 40;
/// Largest number of consecutive steps without a new least residual.
const PATIENCE: u32 = 6;
/// Largest number of consecutive full steps without a new least residual with more than
/// [`MANY_CONTACTS`], where modes rarely converge by further steps.
const HASTE: u32 = 1;
const MANY_CONTACTS: usize = 100;
/// Mode of a contact whose derivative differs from point to point: a round contact that slips, or a
/// pyramid with too many directions to number its faces.
const CURVED: u32 = u32::MAX;

/// Newton solver and its memory.
#[derive(Debug, Default)]
pub(crate) struct Newton {
    pub factor: Factor,
    hull: Hull,
    /// Units of the variables.
    pub D: Vec<f64>,
    /// For each contact the penalty parameters of normal and tangential rows, for a relative
    /// penalty of 1.
    stiffness: Vec<[f64; 2]>,
    /// Units of the rows, and weights of the rates in augmented forces for a relative penalty of 1.
    unit: Vec<f64>,
    weight: Vec<f64>,
    /// Largest known force, in scaled variables.
    load: f64,
    /// Relative penalty: penalty parameter of a contact over the stiffness of the cost along its
    /// rows.
    penalty: f64,
    pub x: Vec<f64>,
    /// Contact forces in the caller's units.
    pub lambda: Vec<f64>,
    x_c: Vec<f64>,
    /// Augmented forces `a`, their projections `z`, and the multiplier estimates `z_c`; tangential
    /// entries are over their units.
    a: Vec<f64>,
    z: Vec<f64>,
    z_c: Vec<f64>,
    /// Derivatives of the projections, `k × k` each.
    dz: Vec<f64>,
    dz_at: Vec<usize>,
    /// Mode of each contact, which determines the derivative: 0 for no force, else the face of the
    /// friction set. Modes of Huber terms follow.
    modes: Vec<u32>,
    /// For each contact, whether `da` has all its rows or only the normal one.
    whole: Vec<bool>,
    lasting: Vec<u32>,
    factored: Vec<u32>,
    u: Vec<f64>,
    g: Vec<f64>,
    x_found: Vec<f64>,
    lambda_found: Vec<f64>,
    drift_found: Vec<f64>,
    a_found: Vec<f64>,
    /// Change of the forces in the last multiplier update.
    drift: Vec<f64>,
    dx: Vec<f64>,
    da: Vec<f64>,
    columns: Vec<f64>,
    saturated: Vec<i8>,
    homotopy: Homotopy,
    /// Squared residual at the end of the last equation, over that at its start.
    left: f64,
    pub steps: u32,
    /// Number of breakpoints of all homotopies.
    pub breakpoints: u32,
    /// Value of `steps` at which the current run ends.
    last_step: u32,
    methods: CoulombMethods,
    work: Budget,
    cost: Cost,
}

/// Multiply-adds of the parts of a Newton step.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    /// Assembly and factorisation of the matrix.
    factor: u64,
    /// One solve with the factorisation.
    solve: u64,
    /// One product of all rows, or of the cost, with a vector.
    rows: u64,
}

/// Starting point: forces and rates of a similar point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start<'a> {
    pub lambda: &'a [f64],
    pub u: &'a [f64],
}

impl Newton {
    /// Computes elimination order, units and penalty parameters, and selects Newton's variants
    /// among the `methods`. If the remaining work does not suffice for a factorisation, it spends
    /// it and returns false.
    pub fn prepare(&mut self, p: &FrictionProgram, methods: CoulombMethods, work: &Budget) -> bool {
        let (n, rows) = (p.n(), p.rows);
        self.steps = 0;
        self.methods = methods;
        self.work = work.clone();
        if !self.factor.analyse(&p.cones, work.left()) {
            work.exhaust();
            return false;
        }
        self.cost = self.factor.structure.islands.iter().map(|island| island.work).fold(
            Cost { rows: p.cones.P.len() as u64, ..Cost::default() },
            // LU has two triangular factors, but the analysis counts one
            |sum, work| Cost {
                factor: sum.factor + 2 * work.factor,
                solve: sum.solve + work.solve,
                rows: sum.rows + work.rows,
            },
        );
        for (v, n) in [
            (&mut self.D, n),
            (&mut self.columns, n),
            (&mut self.x, n),
            (&mut self.x_c, n),
            (&mut self.g, n),
            (&mut self.dx, n),
            (&mut self.x_found, n),
            (&mut self.lambda_found, rows),
            (&mut self.drift_found, rows),
            (&mut self.a_found, rows),
            (&mut self.da, rows),
            (&mut self.drift, rows),
            (&mut self.lambda, rows),
            (&mut self.a, rows),
            (&mut self.z, rows),
            (&mut self.z_c, rows),
            (&mut self.u, rows),
        ] {
            v.clear();
            v.resize(n, 0.0);
        }
        self.dz_at.clear();
        let mut at = 0;
        for contact in &p.contacts {
            self.dz_at.push(at);
            at += (contact.k * contact.k) as usize;
        }
        self.dz.clear();
        self.dz.resize(at, 0.0);
        self.modes.clear();
        self.modes.resize(p.contacts.len(), 0);
        // reserve memory that only some solves need
        self.modes.reserve(p.cones.saturations.len());
        self.factored.clear();
        self.factored.reserve(p.contacts.len() + p.cones.saturations.len());
        self.lasting.clear();
        self.lasting.reserve(p.contacts.len());
        self.whole.clear();
        self.whole.resize(p.contacts.len(), true);
        self.saturated.clear();
        self.saturated.resize(p.cones.saturations.len(), 0);
        self.units(p);
        self.factor.scale(&p.cones, &self.D);
        self.breakpoints = 0;
        self.homotopy.prepare(p, &self.D);
        self.homotopy.known &= methods.has(CoulombMethods::HOMOTOPY);
        true
    }

    /// Newton's method with full steps from given forces and rates, until `holds` accepts a point
    /// and its forces; returns whether it did.
    pub fn find(
        &mut self,
        p: &FrictionProgram,
        start: Start<'_>,
        law: &mut Law,
        out: &mut CoulombSolution,
    ) -> bool {
        let mut holds = |x: &[f64], lambda: &[f64], drifts| law.accept(p, x, lambda, drifts, out);
        let found = self.methods.has(CoulombMethods::NEWTON)
            && (self.solve(p, start, &mut holds) || self.stands(&mut holds));
        out.newton = self.steps;
        found
    }

    /// Penalty continuation from given forces, until `holds` accepts a point and its forces;
    /// returns whether it did.
    pub fn continue_from(
        &mut self,
        p: &FrictionProgram,
        lambda: &[f64],
        law: &mut Law,
        out: &mut CoulombSolution,
    ) -> bool {
        let mut holds = |x: &[f64], lambda: &[f64], drifts| law.accept(p, x, lambda, drifts, out);
        let found = self.methods.has(CoulombMethods::CONTINUATION)
            && (self.continuation(p, lambda, &mut holds) || self.stands(&mut holds));
        out.newton = self.steps;
        found
    }

    /// Whether the last point satisfies the tolerances of convex programs. Where rows are
    /// inconsistent, no multiplier update improves it.
    fn stands(&mut self, holds: &mut impl FnMut(&[f64], &[f64], Drift) -> bool) -> bool {
        self.publish();
        holds(&self.x, &self.lambda, Drift::Rows)
    }

    fn units(&mut self, p: &FrictionProgram) {
        // curvature of every variable
        for (k, block) in p.cones.blocks.iter().enumerate() {
            for i in 0..block.dim as usize {
                self.D[block.first as usize + i] = p.cones.P_row(k, i)[i].max(0.0);
            }
        }
        for spring in &p.cones.saturations {
            self.D[spring.index as usize] += spring.stiffness;
        }
        for (i, contact) in p.contacts.iter().enumerate() {
            for r in 0..contact.k as usize {
                let unit = if r == 0 { 1.0 } else { p.units_of(contact)[r - 1] };
                for (first, J) in p.row(i, r) {
                    for (column, J) in self.columns[first..].iter_mut().zip(J) {
                        *column = column.max((unit * J).abs());
                    }
                }
            }
        }
        // drop entries that are rounding
        for block in &p.cones.blocks {
            let columns = &mut self.columns[block.first as usize..][..block.dim as usize];
            let rounding =
                BY_CHANCE * columns.iter().fold(0.0_f64, |most, column| most.max(*column));
            for column in columns.iter_mut().filter(|column| **column <= rounding) {
                *column = 0.0;
            }
        }
        // a variable without curvature gets the largest mobility of the others
        let mut mobility = 0.0_f64;
        for (D, column) in self.D.iter_mut().zip(&self.columns) {
            if *D > 0.0 {
                *D = D.sqrt().recip();
                mobility = mobility.max(*D * column);
            }
        }
        let mobility = if mobility > 0.0 { mobility } else { 1.0 };
        for (D, column) in self.D.iter_mut().zip(&self.columns) {
            if *D == 0.0 {
                *D = if *column > 0.0 { mobility / column } else { 1.0 };
            }
        }
        self.stiffness.clear();
        for (i, contact) in p.contacts.iter().enumerate() {
            let row = |r: usize| -> f64 {
                p.row(i, r)
                    .flat_map(|(first, J)| J.iter().zip(&self.D[first..]))
                    .map(|(J, D)| (J * D).powi(2))
                    .sum()
            };
            let units = p.units_of(contact);
            let tangent = (0..contact.tangents())
                .map(|t| units[t] * units[t] * row(t + 1))
                .fold(0.0, f64::max);
            let stiffness = |mobility: f64| if mobility > 0.0 { mobility.recip() } else { 0.0 };
            self.stiffness.push([stiffness(row(0)), stiffness(tangent)]);
        }
        self.unit.clear();
        self.weight.clear();
        for (contact, stiffness) in p.contacts.iter().zip(&self.stiffness) {
            self.unit.push(1.0);
            self.unit.extend_from_slice(p.units_of(contact));
            self.weight.push(stiffness[0]);
            self.weight.extend(p.units_of(contact).iter().map(|unit| unit * stiffness[1]));
        }
        self.load = 0.0;
        for block in &p.cones.blocks {
            let c = &p.cones.c[block.at as usize..][..block.dim as usize];
            for (c, D) in c.iter().zip(&self.D[block.first as usize..]) {
                self.load = self.load.max((c * D).abs());
            }
        }
        for spring in &p.cones.saturations {
            let pull = (spring.stiffness * spring.target).abs().min(spring.limit);
            self.load = self.load.max(pull * self.D[spring.index as usize]);
        }
    }

    /// Newton's method with full steps from `start`, until `holds` accepts a point and its forces;
    /// returns whether it did. The last argument of `holds` is the part of the solution that
    /// drifts.
    fn solve(
        &mut self,
        p: &FrictionProgram,
        start: Start<'_>,
        holds: &mut impl FnMut(&[f64], &[f64], Drift) -> bool,
    ) -> bool {
        self.begin(start.lambda);
        self.penalty = PENALTY;
        self.augment_with(start.u);
        // the rates of the start may not belong to its x: correct the first step
        self.project(p);
        let (error, _) = self.imbalance(p);
        self.steps += 1;
        self.add_inconsistency(p);
        if !error.is_finite() || !self.refactor(p) {
            return false;
        }
        self.direct(p);
        self.advance(1.0);
        self.update(p, false, holds)
    }

    /// Starts at `x = 0` with given forces. If the motion is not unique, the solution is then near
    /// the smallest one.
    fn begin(&mut self, lambda: &[f64]) {
        self.x.fill(0.0);
        self.x_c.fill(0.0);
        self.homotopy.kept = None;
        self.last_step = self.steps + STEPS + self.stiffness.len() as u32;
        self.factored.clear();
        for ((z_c, lambda), unit) in self.z_c.iter_mut().zip(lambda).zip(&self.unit) {
            *z_c = if *unit > 0.0 { lambda / unit } else { 0.0 };
        }
    }

    /// Solves the equation for the current multiplier estimates, to a residual of `share` of its
    /// largest term. Returns whether the residual is at rounding level; `None` if the steps do not
    /// converge.
    fn equation(&mut self, p: &FrictionProgram, share: f64, search: bool) -> Option<bool> {
        self.project(p);
        let (error, size) = self.imbalance(p);
        let first = self.merit();
        let end = self.descend(p, share, search, error, size);
        self.left = self.merit() / first;
        end
    }

    /// Newton steps of [`equation`](Self::equation), from its residual `error` and its largest term
    /// `size`.
    fn descend(
        &mut self,
        p: &FrictionProgram,
        share: f64,
        search: bool,
        mut error: f64,
        mut size: f64,
    ) -> Option<bool> {
        let (mut last, mut least, mut failures) = (f64::INFINITY, f64::INFINITY, 0);
        let many = self.stiffness.len() > MANY_CONTACTS;
        let patience = if many && !search { HASTE } else { PATIENCE };
        for _ in 0..STEPS_PER_UPDATE {
            if !error.is_finite() || self.steps >= self.last_step || self.work.is_spent() {
                return None;
            }
            // a small residual that no longer decreases is rounding
            let stalls = error <= STALLED * size && error > 0.5 * last;
            if error <= share * size || stalls {
                return Some(stalls || error <= SOLVED * size);
            }
            failures = if error < PROGRESS * least { 0 } else { failures + 1 };
            if failures > patience {
                return None;
            }
            (last, least) = (error, least.min(error));
            self.steps += 1;
            if !self.refactor(p) {
                return None;
            }
            let before = self.merit();
            self.direct(p);
            self.advance(1.0);
            self.project(p);
            (error, size) = self.imbalance(p);
            let mut length = 1.0;
            while search && self.merit() > (1.0 - 0.1 * length) * before && length > SHORTEST {
                length *= 0.5;
                self.advance(-length);
                self.project(p);
                (error, size) = self.imbalance(p);
            }
            if length <= SHORTEST && error > STALLED * size {
                // no descent along Newton's direction: a nonsmooth local minimum of the merit
                // function
                return None;
            }
        }
        None
    }

    /// Factorises the Jacobian, unless it is unchanged since the last step. Returns false if it is
    /// singular.
    fn refactor(&mut self, p: &FrictionProgram) -> bool {
        if self.factor.done && self.factored == self.modes && !self.modes.contains(&CURVED) {
            return true;
        }
        self.homotopy.kept = None;
        if !self.work.spend(self.cost.factor) {
            return false;
        }
        self.assemble(p);
        self.factored.clone_from(&self.modes);
        self.factor.factor()
    }

    /// Computes rates and augmented forces for the current point and multiplier estimates.
    fn augment(&mut self, p: &FrictionProgram) {
        self.work.spend(self.cost.rows);
        p.rates(&self.x, &mut self.u);
        let u = std::mem::take(&mut self.u);
        self.augment_with(&u);
        self.u = u;
    }

    /// Computes augmented forces for rates `u` and the current multiplier estimates.
    fn augment_with(&mut self, u: &[f64]) {
        let Self { a, z_c, weight, penalty, .. } = self;
        self.whole.fill(true);
        for (((a, z_c), weight), u) in a.iter_mut().zip(z_c).zip(weight).zip(u) {
            *a = *z_c - *penalty * *weight * u;
        }
    }

    /// Merit function: squared residual in scaled variables.
    fn merit(&self) -> f64 {
        self.g.iter().zip(&self.D).map(|(g, D)| (g * D).powi(2)).sum()
    }

    /// Writes the residual of stationarity to `g`; returns its largest entry and its largest term,
    /// in scaled variables.
    fn imbalance(&mut self, p: &FrictionProgram) -> (f64, f64) {
        self.work.spend(self.cost.rows);
        let Self { x, g, D, x_c, z, lambda, unit, .. } = self;
        for ((lambda, unit), z) in lambda.iter_mut().zip(unit).zip(z.iter()) {
            *lambda = *unit * z;
        }
        p.gradient(x, g);
        let size = g.iter().zip(D.iter()).fold(self.load, |m, (g, D)| m.max((g * D).abs()));
        p.add_forces(-1.0, lambda, g);
        // rounding of cancelling forces must not move variables without curvature
        let force = z.iter().fold(0.0_f64, |m, z| m.max(z.abs()));
        for (g, column) in g.iter_mut().zip(&self.columns) {
            if g.abs() <= ROUNDING * column * force {
                *g = 0.0;
            }
        }
        let mut error = 0.0_f64;
        for j in 0..g.len() {
            g[j] += PROXIMAL * (x[j] - x_c[j]) / (D[j] * D[j]);
            error = error.max((g[j] * D[j]).abs());
        }
        for (k, spring) in p.cones.saturations.iter().enumerate() {
            let force = spring.stiffness * (x[spring.index as usize] - spring.target);
            self.saturated[k] = i8::from(force > spring.limit) - i8::from(force < -spring.limit);
        }
        // modes of Huber terms follow those of contacts
        self.modes.truncate(p.contacts.len());
        self.modes.extend(self.saturated.iter().map(|s| (i32::from(*s) + 1) as u32));
        (error, size)
    }
}
