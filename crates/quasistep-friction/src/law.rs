//! Check of Coulomb's law, contact by contact, from the program's own data.

use crate::contact::{Contact, Shape};
use crate::polytope::{Hull, MOST};
use crate::program::FrictionProgram;
use crate::solution::{CoulombResiduals, CoulombSolution, Mode, Outcome};
use crate::tolerances::DIVERGED;
use crate::tolerances::friction::{CONTRADICTION, LARGEST, PROPORTION, REST, RESTS, ROWS, TERMS};

/// Scratch memory of the checks.
#[derive(Debug, Default)]
pub(crate) struct Law {
    hull: Hull,
    /// Rate that counts as zero, [`CoulombSettings::rest`](crate::CoulombSettings::rest).
    pub rest_speed: f64,
    g: Vec<f64>,
    terms: Vec<f64>,
    /// For each variable the sum of the magnitudes of its terms of stationarity, without contact
    /// forces.
    own: Vec<f64>,
    /// For each row the sum of the magnitudes of the terms of its rate.
    rates: Vec<f64>,
    /// Largest entry of every column of the Jacobians, and the curvature of every variable.
    columns: Vec<f64>,
    curvature: Vec<f64>,
    /// For each variable its terms of stationarity over its curvature. A share of this motion is
    /// rounding.
    rest: Vec<f64>,
}

/// Part of the solution that still changes from one multiplier update to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Drift {
    Nothing,
    /// Forces of linearly dependent contacts whose offsets are inconsistent by rounding.
    Forces,
    /// Motion in the null space of the cost, against forces that are rounding.
    Motion,
    /// Inconsistent rows that no multiplier update improves, where the caller gives a rate that
    /// counts as zero.
    Rows,
}

/// Reference sizes for the errors of a solution.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sizes {
    /// Largest force of a contact; the next field is the largest term of a rate.
    pub force: f64,
    pub speed: f64,
    /// Largest force that the data suggest. Where all contact forces vanish, they are compared with
    /// its rounding.
    pub known: f64,
    /// Normal force beyond which the solution counts as diverging.
    pub most: f64,
    /// Normal rate that counts as zero: [`CoulombSettings::rest`](crate::CoulombSettings::rest), or
    /// less if the data suggest a speed. If all blocks are blocked there is no larger rate to
    /// compare with.
    pub still: f64,
    /// Largest rate that the data suggest, from offsets or from known forces over the curvature.
    pub free: f64,
    /// Largest `terms / √curvature` of a variable: the size of displacements in the norm of the
    /// cost, to which rounding is relative.
    pub load: f64,
}

/// Support function of the friction set at `−u_t`: `h(u_t) = max { −lᵀ u_t : l ∈ F }`.
pub(crate) fn support(p: &FrictionProgram, contact: &Contact, u_t: &[f64]) -> f64 {
    let units = p.units_of(contact);
    match contact.shape {
        Shape::Round => u_t.iter().zip(units).map(|(u, m)| (u * m).powi(2)).sum::<f64>().sqrt(),
        Shape::Polytope(_) if u_t.is_empty() => 0.0,
        Shape::Polytope(_) => p
            .vertices_of(contact)
            .chunks_exact(u_t.len())
            .map(|v| -v.iter().zip(u_t).zip(units).map(|((v, u), m)| v * u * m).sum::<f64>())
            .fold(f64::NEG_INFINITY, f64::max),
    }
}

/// Reference size of `h(u_t)`: the largest `|u_r|` times its unit over the tangential rows.
fn slip_size(p: &FrictionProgram, contact: &Contact, u_t: &[f64]) -> f64 {
    u_t.iter().zip(p.units_of(contact)).fold(0.0, |m, (u, unit)| m.max((u * unit).abs()))
}

impl FrictionProgram {
    /// Residuals of a motion `x` (length `n`) and forces `lambda` (in the rows of the program).
    /// `None` if a length does not fit or a number is not finite.
    pub fn residuals(&self, x: &[f64], lambda: &[f64]) -> Option<CoulombResiduals> {
        let finite = x.iter().chain(lambda).all(|v| v.is_finite());
        if x.len() != self.n() || lambda.len() != self.rows || !finite || self.check().is_err() {
            return None;
        }
        let mut out = CoulombSolution::default();
        out.reset(self.n(), self.rows, self.contacts.len());
        out.x.copy_from_slice(x);
        out.lambda.copy_from_slice(lambda);
        let mut law = Law::default();
        law.prepare(self);
        law.examine(self, Drift::Nothing, false, &mut out);
        Some(out.residuals)
    }
}

impl Law {
    /// Computes what depends on the program only.
    pub fn prepare(&mut self, p: &FrictionProgram) {
        for v in [&mut self.columns, &mut self.curvature] {
            v.clear();
            v.resize(p.n(), 0.0);
        }
        for (k, block) in p.cones.blocks.iter().enumerate() {
            for i in 0..block.dim as usize {
                self.curvature[block.first as usize + i] = p.cones.P_row(k, i)[i];
            }
        }
        for spring in &p.cones.saturations {
            self.curvature[spring.index as usize] += spring.stiffness;
        }
        for (i, contact) in p.contacts.iter().enumerate() {
            for r in 0..contact.k as usize {
                for (first, J) in p.row(i, r) {
                    for (column, J) in self.columns[first..].iter_mut().zip(J) {
                        *column = column.max(J.abs());
                    }
                }
            }
        }
    }

    /// Accepts a point and its forces as the solution if Coulomb's law holds; returns whether it
    /// does.
    ///
    /// The residual of the part that `drifts` may be as large as [`CONTRADICTION`] instead of
    /// [`LARGEST`]. If the law does not hold, the numbers in `out` are undefined.
    pub fn accept(
        &mut self,
        p: &FrictionProgram,
        x: &[f64],
        lambda: &[f64],
        drifts: Drift,
        out: &mut CoulombSolution,
    ) -> bool {
        if drifts == Drift::Rows && !(self.rest_speed > 0.0) {
            return false;
        }
        out.x.copy_from_slice(x);
        out.lambda.copy_from_slice(lambda);
        let holds = self.examine(p, drifts, true, out);
        if holds {
            out.outcome = Outcome::Solved;
        }
        holds
    }

    /// Whether `out.x` and `out.lambda` solve the prepared program. Writes rates, modes and
    /// residuals to `out`. With `stop` it returns at the first violation.
    fn examine(
        &mut self,
        p: &FrictionProgram,
        drifts: Drift,
        stop: bool,
        out: &mut CoulombSolution,
    ) -> bool {
        let CoulombSolution { x, lambda, u, modes, boundary_layer, residuals, .. } = out;
        let (x, lambda) = (&*x, &*lambda);
        if !x.iter().chain(lambda.iter()).all(|v| v.is_finite()) {
            return false;
        }
        p.rates(x, u);
        self.rates.resize(p.rows, 0.0);
        p.rate_terms(x, &mut self.rates);
        let [of_rates, of_forces] = match drifts {
            Drift::Nothing => [LARGEST, LARGEST],
            Drift::Forces => [CONTRADICTION, LARGEST],
            Drift::Motion => [LARGEST, CONTRADICTION],
            Drift::Rows => [ROWS, CONTRADICTION],
        };
        let mut holds = true;
        let mut r = CoulombResiduals::default();
        // stationarity, variable by variable
        self.balance(p, x, lambda);
        let sizes = self.sizes(p, lambda);
        let rest = self.rest_speed;
        let (speed, still, most) = match drifts {
            // the tolerance of convex programs, but no more than the error that the caller accepts
            Drift::Rows => (sizes.speed.max(sizes.free), rest, RESTS * rest),
            _ => (sizes.speed, sizes.still, f64::INFINITY),
        };
        let variables = self.g.iter().zip(&self.terms).zip(&self.columns).zip(&self.curvature);
        for (((g, terms), column), curvature) in variables {
            r.balance = r.balance.max(g.abs());
            let largest = column * sizes.force + curvature.sqrt() * sizes.load;
            let noise = REST * column * sizes.known;
            holds &= g.abs() <= TERMS * terms + of_forces * largest + noise;
        }
        self.at_rest(p, sizes.force);
        for (i, contact) in p.contacts.iter().enumerate() {
            if stop && !holds {
                return false;
            }
            let at = contact.first as usize;
            let (lambda_n, u_n) = (lambda[at], u[at]);
            let floor = (of_rates * speed).min(most).max(still) + self.rest(p, i);
            let slack = TERMS * self.rates[at] + floor;
            let idle = TERMS * sizes.force;
            r.overlap = r.overlap.max(-u_n);
            r.complementarity = r.complementarity.max((lambda_n * u_n).abs());
            holds &= lambda_n <= sizes.most;
            holds &= u_n >= -slack && lambda_n >= -idle && (u_n <= slack || lambda_n <= idle);
            let tangents = contact.tangents();
            if tangents == 0 {
                r.cone = r.cone.max(-lambda_n);
                modes[i] = if lambda_n > idle { Mode::Stick } else { Mode::Open };
                continue;
            }
            let (lambda_t, u_t) = (&lambda[at + 1..][..tangents], &u[at + 1..at + 1 + tangents]);
            let outside = self.outside(p, contact, lambda_n.max(0.0), lambda_t);
            r.cone = r.cone.max(outside).max(-lambda_n);
            holds &= outside <= (TERMS * lambda_n).max(idle);
            let h = support(p, contact, u_t);
            let lost = lambda_n * h + dot(lambda_t, u_t);
            r.dissipation = r.dissipation.max(lost.abs());
            // slips that are rounding dissipate nothing
            let units = p.units_of(contact);
            let terms = (0..tangents)
                .map(|t| TERMS * units[t] * self.rates[at + 1 + t])
                .fold(floor, f64::max);
            holds &= lost.abs() <= (terms + TERMS * h.abs()) * lambda_n.max(0.0) + idle * h.abs();
            let slips = slip_size(p, contact, u_t) > terms.max(slack);
            modes[i] = match lambda_n > idle {
                false => Mode::Open,
                true if slips => Mode::Slip,
                true => Mode::Stick,
            };
            boundary_layer[i] = if modes[i] == Mode::Slip { h } else { 0.0 };
        }
        *residuals = r;
        holds
    }

    /// Largest force of a contact and largest term of a rate, capped at a multiple of the sizes
    /// that the data suggest, so that a diverging solution does not make its own errors relatively
    /// small.
    fn sizes(&self, p: &FrictionProgram, lambda: &[f64]) -> Sizes {
        let mut sizes = Sizes { most: f64::INFINITY, ..Sizes::default() };
        sizes.load = self
            .own
            .iter()
            .zip(&self.curvature)
            .filter(|(_, curvature)| **curvature > 0.0)
            .fold(0.0, |most, (own, curvature)| most.max(own / curvature.sqrt()));
        let mut offset = 0.0_f64;
        for (i, contact) in p.contacts.iter().enumerate() {
            sizes.force = sizes.force.max(lambda[contact.first as usize].abs());
            sizes.speed =
                sizes.speed.max(speed_of(p, i, |r| self.rates[contact.first as usize + r]));
            offset = (0..contact.k as usize).fold(offset, |m, r| m.max(p.b(i, r).abs()));
        }
        // rates that known forces cause over the curvature, and forces that known rates require
        let (mut speed, mut force) = (offset, 0.0_f64);
        for (k, block) in p.cones.blocks.iter().enumerate() {
            for i in 0..block.dim as usize {
                let c = p.cones.c[block.at as usize + i].abs();
                let curvature = p.cones.P_row(k, i)[i];
                let column = self.columns[block.first as usize + i];
                if column > 0.0 {
                    force = force.max((c + curvature * offset / column) / column);
                    if curvature > 0.0 {
                        speed = speed.max(column * c / curvature);
                    }
                }
            }
        }
        for spring in &p.cones.saturations {
            let column = self.columns[spring.index as usize];
            speed = speed.max(column * spring.target.abs());
            if column > 0.0 {
                let pull = spring.stiffness * (spring.target.abs() + offset / column);
                force = force.max(pull.min(spring.limit) / column);
            }
        }
        if force > 0.0 {
            sizes.force = sizes.force.min(PROPORTION * force);
            sizes.known = force;
            sizes.most = DIVERGED * force;
        }
        sizes.free = speed;
        if speed > 0.0 {
            sizes.speed = sizes.speed.min(PROPORTION * speed);
        }
        sizes.still = if speed > self.rest_speed {
            self.rest_speed.min(REST * speed)
        } else {
            self.rest_speed
        };
        sizes
    }

    /// Computes `rest`: terms of stationarity over the curvature of each variable that has
    /// curvature.
    fn at_rest(&mut self, p: &FrictionProgram, force: f64) {
        let count = p.contacts.len() as f64;
        self.rest.clear();
        self.rest.extend((0..p.n()).map(|j| {
            // diverging forces must not increase the rounding
            let most = self.own[j] + count * self.columns[j] * force;
            let curvature = self.curvature[j];
            if curvature > 0.0 { self.terms[j].min(most) / curvature } else { 0.0 }
        }));
    }

    /// Normal rate of a contact that is rounding where all rates are zero.
    fn rest(&self, p: &FrictionProgram, contact: usize) -> f64 {
        let along = |(first, J): (usize, &[f64])| {
            // a variable that the contact does not touch may have an infinite entry
            let terms = J.iter().zip(&self.rest[first..]).filter(|(J, _)| **J != 0.0);
            terms.map(|(J, rest)| J.abs() * rest).sum::<f64>()
        };
        let rate = p.row(contact, 0).map(along).sum::<f64>();
        if rate.is_finite() { REST * rate } else { 0.0 }
    }

    /// Writes `P x + c + ∇huber − Jᵀ lambda` to `g`, and the sums of its terms' magnitudes.
    fn balance(&mut self, p: &FrictionProgram, x: &[f64], lambda: &[f64]) {
        let n = p.n();
        for v in [&mut self.g, &mut self.terms] {
            v.clear();
            v.resize(n, 0.0);
        }
        p.gradient(x, &mut self.g);
        p.add_forces(-1.0, lambda, &mut self.g);
        for (k, block) in p.cones.blocks.iter().enumerate() {
            let (first, at) = (block.first as usize, block.at as usize);
            for i in 0..block.dim as usize {
                let row = p.cones.P_row(k, i).iter().zip(&x[first..]);
                self.terms[first + i] =
                    p.cones.c[at + i].abs() + row.map(|(a, b)| (a * b).abs()).sum::<f64>();
            }
        }
        for spring in &p.cones.saturations {
            let at = spring.index as usize;
            self.terms[at] += (spring.stiffness * (x[at].abs() + spring.target.abs()))
                .min(spring.gradient(x[at]).abs() + spring.stiffness * spring.target.abs());
        }
        self.own.clone_from(&self.terms);
        for (i, contact) in p.contacts.iter().enumerate() {
            for (r, at) in contact.rows().enumerate() {
                if lambda[at] == 0.0 {
                    continue;
                }
                for (first, J) in p.row(i, r) {
                    for (term, J) in self.terms[first..].iter_mut().zip(J) {
                        *term += (lambda[at] * J).abs();
                    }
                }
            }
        }
    }

    /// Distance of a friction force from its friction set, in the unit of the row with the largest
    /// friction.
    fn outside(&mut self, p: &FrictionProgram, contact: &Contact, n: f64, t: &[f64]) -> f64 {
        let units = p.units_of(contact);
        let d = t.len();
        let mut scaled = [0.0; MOST];
        let (mut largest, mut free) = (0.0_f64, 0.0_f64);
        for k in 0..d {
            if units[k] > 0.0 {
                scaled[k] = t[k] / units[k];
                largest = largest.max(units[k]);
            } else {
                free = free.max(t[k].abs());
            }
        }
        if largest == 0.0 {
            return free;
        }
        let distance = match contact.shape {
            Shape::Round => (dot(&scaled, &scaled).sqrt() - n).max(0.0),
            Shape::Polytope(_) => {
                let mut point = [0.0; MOST];
                let scaled = &scaled[..d];
                self.hull.project(p.vertices_of(contact), d, n, scaled, &mut point[..d]);
                point.iter().zip(scaled).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
            }
        };
        free.max(distance * largest)
    }
}

/// Sum of the magnitudes of the terms of the rate `u` in a row.
pub(crate) fn row_terms(p: &FrictionProgram, contact: usize, row: usize, x: &[f64]) -> f64 {
    let terms = |(first, J): (usize, &[f64])| {
        J.iter().zip(&x[first..]).map(|(a, b)| (a * b).abs()).sum::<f64>()
    };
    p.row(contact, row).map(terms).sum::<f64>() + p.b(contact, row).abs()
}

/// Largest of the `terms` over the rows of a contact, in the unit of the normal row.
pub(crate) fn speed_of(p: &FrictionProgram, contact: usize, terms: impl Fn(usize) -> f64) -> f64 {
    let units = p.units_of(&p.contacts[contact]);
    let mu = units.iter().fold(0.0_f64, |m, unit| m.max(*unit));
    // a spin times the ratio of torsional to tangential friction is a speed
    (0..units.len())
        .filter(|t| units[*t] > 0.0)
        .map(|t| units[t] / mu * terms(t + 1))
        .fold(terms(0), f64::max)
}

/// Reference speed of the contacts: the largest at `x`, or where the cost alone would move each
/// variable. A variable without curvature moves as far as the farthest other variable. The second
/// part prevents rounding of `x` from counting as slip.
pub(crate) fn speed_scale(p: &FrictionProgram, x: &[f64]) -> f64 {
    let n = p.n();
    let mut unit = vec![0.0; n];
    let (mut c, mut g) = (vec![0.0; n], vec![0.0; n]);
    p.gradient(&unit, &mut c);
    let (mut free, mut costless) = (vec![0.0; n], Vec::new());
    for j in 0..n {
        unit[j] = 1.0;
        p.gradient(&unit, &mut g);
        unit[j] = 0.0;
        let own = g[j] - c[j];
        if own > 0.0 {
            free[j] = c[j] / own;
        } else {
            costless.push(j);
        }
    }
    let fastest = x.iter().chain(&free).fold(0.0_f64, |most, x| most.max(x.abs()));
    for j in costless {
        free[j] = fastest;
    }
    let each = |x: &[f64]| {
        let speed = |i| speed_of(p, i, |r| row_terms(p, i, r, x));
        (0..p.contacts.len()).map(speed).fold(0.0, f64::max)
    };
    f64::max(each(x), each(&free))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
