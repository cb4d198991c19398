//! The driver: which algorithm, from where, and whether its answer holds.

mod cases;

use crate::coulomb::central::Central;
use crate::coulomb::law::Law;
use crate::coulomb::newton::{Newton, Start};
use crate::coulomb::program::FrictionProgram;
use crate::coulomb::pyramid;
use crate::coulomb::shift::Shift;
use crate::coulomb::solution::{CoulombMethod, CoulombSolution, Outcome, Refutation};
use crate::lcp::problem::{Lcp, LcpSolution};
use crate::lcp::solver::LcpSolver;
use crate::{Status, WarmStart};

/// Convex programs of the fixed point.
const ROUNDS: u32 = 100;
/// Those before Lemke's method, and those that Newton's method follows whether or not they have settled.
const FEW_ROUNDS: u32 = 4;
const POLISHED: u32 = 12;
/// Forces and rates at the start of a path, over the largest: one may be lost where another arrives.
const STARTS: [f64; 3] = [0.1, 1.0, 0.01];
/// Contacts above which small paces and the path come before places between the relaxation and the similar program,
/// and before the fixed point: among so many hardly any of those arrives.
const MANY_CONTACTS: usize = 100;
/// Shares of the path's first `kappa` from which Newton's method tries its luck.
const PATH: [f64; 4] = [1e-3, 1e-6, 1e-9, 1e-12];
/// Where Newton's method starts between the relaxation and the similar program, and beyond.
const PLACES: [f64; 8] = [0.0, 0.5, 0.25, 0.75, 0.9, 0.1, -1.0, 2.0];
/// Pairs up to which Lemke's method keeps its dense tableau, and up to which the search through cases is
/// worth its time where nothing else decided.
const MANY_PAIRS: usize = 2000;
const FEW_PAIRS: usize = 60;

/// Forces and rates of a similar program, in the rows of this one.
///
/// For a contact of which nothing is known give `lambda = 0` and `u = (1, 0, …)`: it starts open.
#[derive(Clone, Copy, Debug)]
pub struct CoulombWarm<'a> {
    /// Contact forces.
    pub lambda: &'a [f64],
    /// Rates `J x − b`.
    pub u: &'a [f64],
    /// Multipliers and slacks of a similar relaxation, should it come to that.
    pub relaxed: Option<WarmStart<'a>>,
}

/// Knobs of the solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoulombSettings {
    /// Whether Newton's method comes first. Without, pyramids go to Lemke's method at once.
    pub newton: bool,
    /// Linear programs that the search through the cases may solve, where nothing else decided; 0 leaves
    /// them undecided. Default 600.
    pub cases: u32,
}

impl Default for CoulombSettings {
    fn default() -> Self {
        Self { newton: true, cases: 600 }
    }
}

/// Solver for [`FrictionProgram`]s and its memory; holds no meaning between calls.
///
/// In this order, until one decides; every answer is checked against Coulomb's law, contact by contact,
/// from the program's own data:
///
/// 1. Newton's method on the law itself, from a similar answer if there is one; if that runs in circles, again
///    with contacts that start soft and harden in paces as small as it takes;
/// 2. the convex relaxation of Anitescu, and Newton's method from there, all ways; if it has no answer, the proof
///    that the program has none: known forces that no contact can meet, gaps that contradict;
/// 3. a few steps of the fixed point over convex programs with shifted gaps, Newton's method after each;
/// 4. paths along which the corners of the law are rounded off less and less, followed also where they turn back, and
///    Newton's method from places on them; among more than a hundred contacts this comes before 3;
/// 5. for pyramids Lemke's method, from the contacts active there; for round cones the same on pyramids around
///    them, which Newton's method rounds off; then more of the fixed point;
/// 6. for few contacts every case: a solution, or the proof that they are jammed; for round cones with sectors of
///    directions of slip, halved until each is decided.
///
/// ```
/// use quasistep_solvers::{CoulombSolution, CoulombSolver, Friction, FrictionProgram, Outcome};
///
/// // 10 N of weight on a floor that moves at 1 m/s with friction 0.5; a spring of 100 N/m holds it
/// let mut p = FrictionProgram::new();
/// p.reset([2]);
/// p.P(0, 0)[0] = 100.0;
/// p.c(0)[1] = 10.0;
/// let directions = [1.0, -1.0];
/// let mut floor = p.push_contact(
///     Friction::Diamond { mu: 0.5, directions: &directions, tangents: 1 },
///     &[0],
/// );
/// floor.J(0, 0)[1] = 1.0;
/// floor.J(0, 1)[0] = 1.0;
/// floor.b()[1] = 1.0;
/// let mut out = CoulombSolution::default();
/// CoulombSolver::new().solve(&p, None, &Default::default(), &mut out);
/// assert_eq!(out.outcome, Outcome::Solved);
/// // it slips, dragged by 5 N, and does not float
/// assert!((out.x[0] - 0.05).abs() < 1e-12 && out.x[1].abs() < 1e-12);
/// ```
#[derive(Debug, Default)]
pub struct CoulombSolver {
    law: Law,
    newton: Newton,
    shift: Shift,
    central: Central,
    lcp: Lcp,
    firsts: Vec<u32>,
    lemke: LcpSolver,
    answer: LcpSolution,
    active: Vec<u32>,
    /// Forces to start from.
    start: Vec<f64>,
    /// Pyramids around round cones, their solver and its answer.
    around: Option<Box<(FrictionProgram, CoulombSolver, CoulombSolution)>>,
}

impl FrictionProgram {
    /// Writes the program as a mixed linear complementarity problem, Trinkle05 (24): free variables `x`,
    /// pairs `lambda_n`, one `beta_j = lambda_f,j / mu` per direction and `mu sigma` per contact, then two
    /// per spring with a limit. False, with nothing written, if a contact is round.
    pub fn lcp(&self, lcp: &mut Lcp) -> bool {
        let polyhedral = pyramid::is_polyhedral(self);
        if polyhedral {
            pyramid::write(self, lcp, &mut Vec::new());
        }
        polyhedral
    }
}

impl CoulombSolver {
    /// A solver without memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Solves `program` into `out`. Every input gets an [`Outcome`].
    pub fn solve(
        &mut self,
        program: &FrictionProgram,
        warm: Option<CoulombWarm<'_>>,
        settings: &CoulombSettings,
        out: &mut CoulombSolution,
    ) {
        let p = program;
        out.reset(p.n(), p.rows, p.contacts.len());
        if let Err(reason) = p.check() {
            out.reason = Some(reason);
            return;
        }
        self.start.clear();
        self.start.resize(p.rows, 0.0);
        self.law.prepare(p);
        self.newton.prepare(p);
        let many = p.contacts.len() > MANY_CONTACTS;
        if settings.newton
            && let Some(w) = warm.filter(|w| fits(p, w))
        {
            let mut found = self.newton(p, Some(w), out);
            if !found {
                self.start.copy_from_slice(w.lambda);
                found = self.climb(p, out);
            }
            if found {
                out.method = CoulombMethod::WarmNewton;
                return;
            }
        }
        self.shift.start(p);
        if let Some(w) = warm.and_then(|w| w.relaxed) {
            self.shift.warm(w.z, w.s);
        }
        if self.relax(p, out) {
            return;
        }
        let related = self.shift.answer.status == Status::Solved;
        if related {
            self.shift.close(p);
            if settings.newton && self.newton(p, None, out) {
                out.method = CoulombMethod::Newton;
                return;
            }
        }
        if many && related && settings.newton {
            self.start.copy_from_slice(&self.shift.lambda);
            if self.climb(p, out) {
                out.method = CoulombMethod::Newton;
                return;
            }
            if STARTS.iter().any(|start| self.path(p, *start, out)) {
                out.method = CoulombMethod::Path;
                return;
            }
        }
        if related && settings.newton {
            // from the relaxation, then from places between it and the similar program
            let similar = warm.filter(|w| fits(p, w));
            let mut found = false;
            let places = if similar.is_some() { &PLACES[..] } else { &PLACES[..1] };
            for share in places {
                for (k, start) in self.start.iter_mut().enumerate() {
                    let before = similar.map_or(0.0, |w| w.lambda[k]);
                    *start = (1.0 - share) * self.shift.lambda[k] + share * before;
                }
                found = self.harden(p, out);
                if found {
                    break;
                }
            }
            if !found && !many {
                self.start.copy_from_slice(&self.shift.lambda);
                found = self.climb(p, out);
            }
            if found {
                out.method = CoulombMethod::Newton;
                return;
            }
        }
        if related && settings.newton && self.fixed_point(p, 0..FEW_ROUNDS, out) {
            return;
        }
        if !many
            && related
            && settings.newton
            && STARTS.iter().any(|start| self.path(p, *start, out))
        {
            out.method = CoulombMethod::Path;
            return;
        }
        let pyramids = pyramid::is_polyhedral(p);
        if pyramids {
            pyramid::write(p, &mut self.lcp, &mut self.firsts);
            if self.lcp.size() <= MANY_PAIRS && self.lemke(p, related, 1, out) {
                return;
            }
        }
        if !pyramids && self.circumscribe(p, out) {
            return;
        }
        if self.shift.answer.status == Status::Solved
            && self.fixed_point(p, FEW_ROUNDS..ROUNDS, out)
        {
            return;
        }
        if pyramids && settings.cases > 1 && self.lcp.n_pairs() <= FEW_PAIRS {
            self.lemke(p, related, settings.cases, out);
        }
        if !pyramids && settings.cases > 1 && self.sectors(p, settings.cases, out) {
            return;
        }
        if out.outcome == Outcome::GaveUp {
            give_up(p, out);
        }
    }

    /// Newton's method from `warm`, or from the last convex answer; true if its end is an answer.
    fn newton(
        &mut self,
        p: &FrictionProgram,
        warm: Option<CoulombWarm<'_>>,
        out: &mut CoulombSolution,
    ) -> bool {
        let Self { newton, shift, law, .. } = self;
        let start = match warm {
            Some(w) => Start { lambda: w.lambda, u: w.u },
            None => Start { lambda: &shift.lambda, u: &shift.u },
        };
        let mut holds = |x: &[f64], lambda: &[f64], drifts| accept(law, p, x, lambda, drifts, out);
        let found = newton.solve(p, start, &mut holds);
        out.newton = newton.steps;
        found
    }

    /// Newton's method from the forces in `start`, over softer contacts; true if its end is an answer.
    fn harden(&mut self, p: &FrictionProgram, out: &mut CoulombSolution) -> bool {
        let Self { newton, law, start, .. } = self;
        let mut holds = |x: &[f64], lambda: &[f64], drifts| accept(law, p, x, lambda, drifts, out);
        let found = newton.harden(p, start, None, &mut holds);
        out.newton = newton.steps;
        found
    }

    /// Newton's method from the forces in `start`, as [`harden`](Self::harden) but in smaller paces; true if its end is
    /// an answer.
    fn climb(&mut self, p: &FrictionProgram, out: &mut CoulombSolution) -> bool {
        let Self { newton, law, start, .. } = self;
        let mut holds = |x: &[f64], lambda: &[f64], drifts| accept(law, p, x, lambda, drifts, out);
        let found = newton.climb(p, start, &mut holds);
        out.newton = newton.steps;
        found
    }

    /// Down the path around the corners of the law, from the relaxation and so large a share of its largest force and
    /// rate more, and Newton's method from there; true if its end is an answer.
    fn path(&mut self, p: &FrictionProgram, start: f64, out: &mut CoulombSolution) -> bool {
        if !self.central.start(p, &self.shift.answer.x, &self.shift.lambda, start) {
            return false;
        }
        let first = self.central.kappa;
        for share in PATH {
            let Newton { factor, D, .. } = &mut self.newton;
            let there = self.central.follow(p, D, factor, share * first)
                || self.central.wind(p, D, factor, share * first);
            self.central.publish(p);
            let Self { newton, central, law, .. } = self;
            let start = Start { lambda: &central.lambda, u: &central.rates };
            let mut holds =
                |x: &[f64], lambda: &[f64], drifts| accept(law, p, x, lambda, drifts, out);
            let found = newton.solve(p, start, &mut holds)
                || newton.harden(p, &central.lambda, Some(&central.x), &mut holds);
            out.newton = newton.steps;
            if found || !there {
                return found;
            }
        }
        false
    }

    /// Solves the relaxation; true if it proved that there is no answer.
    fn relax(&mut self, p: &FrictionProgram, out: &mut CoulombSolution) -> bool {
        self.shift.solve(p);
        out.convex = self.shift.solved;
        match self.shift.answer.status {
            Status::Unbounded => {
                let direction = self.shift.answer.ray.clone();
                refute(p, Refutation::Unsupported { direction }, out)
            }
            Status::Infeasible => {
                // cones may contradict one another where gaps do not
                let feasible = self.shift.normals(p);
                out.convex = self.shift.solved;
                if !feasible && self.shift.answer.status == Status::Infeasible {
                    let weights = self.shift.answer.certificate.clone();
                    return refute(p, Refutation::Crushed { weights }, out);
                }
                if feasible {
                    self.shift.widen(p);
                    self.shift.solve(p);
                    out.convex = self.shift.solved;
                    if self.shift.answer.status == Status::Unbounded {
                        let direction = self.shift.answer.ray.clone();
                        return refute(p, Refutation::Unsupported { direction }, out);
                    }
                }
                false
            }
            Status::Solved | Status::GaveUp => false,
        }
    }

    /// Convex programs with shifted gaps, Newton's method after each; true if that found an answer.
    fn fixed_point(
        &mut self,
        p: &FrictionProgram,
        rounds: std::ops::Range<u32>,
        out: &mut CoulombSolution,
    ) -> bool {
        for round in rounds {
            p.rates(&self.shift.answer.x, &mut self.shift.u);
            let still = self.shift.update(p);
            self.shift.solve(p);
            out.convex = self.shift.solved;
            if self.shift.answer.status != Status::Solved {
                return false;
            }
            if still {
                // the answer itself, before its polish
                out.x.copy_from_slice(&self.shift.answer.x);
                out.lambda.copy_from_slice(&self.shift.lambda);
                if self.law.judge(p, false, out) {
                    (out.outcome, out.method) = (Outcome::Solved, CoulombMethod::FixedPoint);
                    return true;
                }
            }
            if round < POLISHED || round % 8 == 0 || still {
                self.shift.close(p);
                if self.newton(p, None, out) {
                    out.method = CoulombMethod::FixedPoint;
                    return true;
                }
            }
            if still {
                break;
            }
        }
        false
    }
}

/// Takes a point and its forces if the law holds, or almost where forces drift; true if it does.
fn accept(
    law: &mut Law,
    p: &FrictionProgram,
    x: &[f64],
    lambda: &[f64],
    drifts: bool,
    out: &mut CoulombSolution,
) -> bool {
    out.x.copy_from_slice(x);
    out.lambda.copy_from_slice(lambda);
    let holds = law.judge(p, drifts, out);
    if holds {
        out.outcome = Outcome::Solved;
    }
    holds
}

/// Takes a proof that holds; true if it does.
fn refute(p: &FrictionProgram, refutation: Refutation, out: &mut CoulombSolution) -> bool {
    let holds = refutation.holds(p);
    if holds {
        give_up(p, out);
        out.outcome = Outcome::Unsolvable;
        out.refutation = Some(refutation);
    }
    holds
}

/// An undecided end: numbers back to zero, counts kept.
fn give_up(p: &FrictionProgram, out: &mut CoulombSolution) {
    let CoulombSolution { newton, convex, pivots, longest, method, .. } = *out;
    out.reset(p.n(), p.rows, p.contacts.len());
    out.outcome = Outcome::Undecided;
    (out.newton, out.convex, out.method) = (newton, convex, method);
    (out.pivots, out.longest) = (pivots, longest);
}

fn fits(p: &FrictionProgram, w: &CoulombWarm<'_>) -> bool {
    let finite = |v: &[f64]| v.iter().all(|v| v.is_finite());
    w.lambda.len() == p.rows && w.u.len() == p.rows && finite(w.lambda) && finite(w.u)
}
