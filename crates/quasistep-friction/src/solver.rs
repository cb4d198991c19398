//! Driver for friction programs: the order of methods, their starting points, and the check of
//! their solutions.

use crate::contact::Contact;
use crate::islands::Islands;
use crate::jam::{self, Found, Search};
use crate::law::{Drift, Law};
use crate::lcp::problem::Lcp;
use crate::lcp::proof::Proof;
use crate::lcp::solution::{LcpOutcome, LcpSolution};
use crate::lcp::solver::LcpSolver;
use crate::newton::{Newton, Start};
use crate::program::FrictionProgram;
use crate::pyramid;
use crate::relaxation::{self, Relaxation, Units};
use crate::solution::{
    CoulombMethod, CoulombMethods, CoulombSolution, CoulombWarm, Outcome, Refutation,
};
use crate::tolerances::friction::NEARER;
use quasistep_linalg::budget::Budget;
use quasistep_linalg::{Method, Reason, Settings, Status};

/// Largest number of convex programs of the fixed-point iteration; then largest number of them
/// between two starts of Newton's method.
const CONVEX_PROGRAMS: u32 = 40;
const MOST_WAITING: u32 = 8;
/// Largest number of consecutive convex programs of the fixed-point iteration that only the
/// embedding solves and that do not come nearer to Coulomb's law. Each costs a hundred others.
const MOST_EMBEDDED: u32 = 3;
/// Largest number of rows of the complementarity problem for Lemke's method. Its dense tableau then
/// takes 32 MB.
const MOST_ROWS: usize = 2000;
/// Largest number of pairs for which branch and bound is tried, because the number of cases grows
/// exponentially.
const FEW_PAIRS: usize = 60;

/// Settings of [`CoulombSolver`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoulombSettings {
    /// Methods that may be tried; all of them by default.
    pub methods: CoulombMethods,
    /// Limit of work of one solve, in multiply-adds as counted by [`CoulombSolution::work`]. A
    /// solve that needs more ends undecided, with [`Reason::Work`]. The default is that of
    /// [`Settings`].
    pub work_limit: u64,
    /// Limit of linear programs in branch and bound. Default 600.
    pub cases: u32,
    /// Normal rate of a contact that counts as zero, in the unit that all normal rows share. Keep 0
    /// (the default) if they do not share one.
    ///
    /// It is used where the data suggest no larger rate, because all known rates are zero and no
    /// variable has a cost.
    pub rest: f64,
}

impl Default for CoulombSettings {
    fn default() -> Self {
        let work_limit = Settings::default().work_limit;
        Self { methods: CoulombMethods::ALL, work_limit, cases: 600, rest: 0.0 }
    }
}

/// Solver for [`FrictionProgram`]s. It keeps its memory between calls; the contents do not affect
/// results.
///
/// It tries the following steps in order, until one decides or the work limit is reached. Every
/// solution is checked against Coulomb's law, contact by contact, from the program's own data.
///
/// Islands, which share no contact, are solved one by one. If one is not solved, the whole program
/// is.
///
/// 1. Rest with the forces of a similar solution, if there is one and Coulomb's law holds. Else
///    Newton's method on Coulomb's law from the similar solution. If it does not converge, a penalty continuation from small to large penalty parameters.
/// 2. The convex relaxation of Anitescu, with wider gaps if its cones are inconsistent but the gaps
///    are not. If it has no solution, its certificate shows that the program has none: unbalanced
///    known forces, or inconsistent gaps. Otherwise De Saxcé's fixed-point iteration: convex
///    programs whose gaps are widened by the slips of the last one, warm-started from it. Newton's
///    method starts from programs whose residual is much smaller than at its last start. If this
///    fails, the iteration is repeated from gaps widened by the slips of a similar solution.
/// 3. The penalty continuation from the forces of the last convex program.
/// 4. For pyramids, Lemke's method from the contacts that are active in the relaxation.
/// 5. Branch and bound on the modes of the contacts: a solution, or a certificate that there is
///    none. For round contacts, arcs of slip directions are bisected.
///
/// ```
/// use quasistep_friction::{CoulombSolution, CoulombSolver, Friction, FrictionProgram, Outcome};
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
    methods: CoulombMethods,
    budget: Budget,
    islands: Islands,
    law: Law,
    newton: Newton,
    relaxation: Relaxation,
    lcp: Lcp,
    /// Index of the first pair of each contact in the complementarity problem.
    firsts: Vec<u32>,
    lemke: LcpSolver,
    answer: LcpSolution,
    active: Vec<u32>,
    /// Forces of a solution of the complementarity problem, in the rows of the program.
    forces: Vec<f64>,
    /// Zeros: the motion at rest.
    rest: Vec<f64>,
}

impl FrictionProgram {
    /// Writes the program as a mixed linear complementarity problem, Trinkle05 (24). Returns false,
    /// with nothing written, if a contact is round.
    ///
    /// The free variables are `x`. The pairs are `lambda_n`, one `beta_j = lambda_f,j / mu` per
    /// direction and `mu sigma` for every contact, then two for every Huber term with a finite
    /// limit.
    pub fn lcp(&self, lcp: &mut Lcp) -> bool {
        let polyhedral = pyramid::is_polyhedral(self);
        if polyhedral {
            pyramid::write(self, Units::default(), lcp, &mut Vec::new());
        }
        polyhedral
    }
}

impl CoulombSolver {
    /// A solver without allocated memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Solves `program` and writes the result to `out`. `warm` is a warm start. Every input yields
    /// an [`Outcome`].
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
        self.methods = settings.methods;
        self.budget.start(settings.work_limit);
        let similar = warm.filter(|warm| fits(p, warm));
        let islands = self.islands.find(p);
        if !(islands > 1 && self.solve_islands(p, similar, islands, settings, out)) {
            self.solve_whole(p, similar, settings, out);
        }
        out.work = self.budget.spent();
    }

    /// Solves each island by itself; returns whether all are solved. A certificate is that of the
    /// whole program, and is left to [`solve_whole`](Self::solve_whole).
    fn solve_islands(
        &mut self,
        p: &FrictionProgram,
        similar: Option<CoulombWarm<'_>>,
        count: usize,
        settings: &CoulombSettings,
        out: &mut CoulombSolution,
    ) -> bool {
        let warm = similar.map(|warm| [warm.lambda, warm.u]);
        let mut islands = std::mem::take(&mut self.islands);
        let solved = (0..count).all(|island| {
            islands.fill(p, island, warm);
            let Islands { program, lambda, u, answer, .. } = &mut islands;
            let similar = warm.map(|_| CoulombWarm { lambda, u, relaxed: None });
            answer.reset(program.n(), program.rows, program.contacts.len());
            self.solve_whole(program, similar, settings, answer);
            islands.merge(p, island, out)
        });
        self.islands = islands;
        if solved {
            out.outcome = Outcome::Solved;
        } else {
            out.reset(p.n(), p.rows, p.contacts.len());
        }
        solved
    }

    /// Tries the methods in their order until one decides.
    fn solve_whole(
        &mut self,
        p: &FrictionProgram,
        similar: Option<CoulombWarm<'_>>,
        settings: &CoulombSettings,
        out: &mut CoulombSolution,
    ) {
        self.law.prepare(p);
        self.law.rest_speed = settings.rest;
        let decided = similar.is_some_and(|similar| self.stays(p, similar, out))
            || self.newton.prepare(p, self.methods, &self.budget)
                && (similar.is_some_and(|similar| self.start_at_similar(p, similar, out))
                    || self.relax(p, similar, false, settings.rest, out)
                    || self.fixed_point(p, out)
                    || similar.is_some()
                        && (self.relax(p, similar, true, settings.rest, out)
                            || self.fixed_point(p, out))
                    || self.continuation(p, out)
                    || self.lemke(p, settings.cases, out)
                    || self.search(p, settings.cases, out));
        if !decided {
            give_up(p, out);
            out.reason = self.budget.is_spent().then_some(Reason::Work);
        }
    }

    /// Whether the forces of a similar solution solve the program at rest. Bodies at rest thus keep
    /// their forces to the last bit.
    fn stays(
        &mut self,
        p: &FrictionProgram,
        similar: CoulombWarm<'_>,
        out: &mut CoulombSolution,
    ) -> bool {
        // what slid in the similar solution hardly rests in this one
        let slides = |contact: &Contact| {
            similar.u[contact.rows()].iter().skip(1).any(|u| u.abs() > self.law.rest_speed)
        };
        if p.contacts.iter().any(slides) {
            return false;
        }
        self.rest.clear();
        self.rest.resize(p.n(), 0.0);
        self.budget.spend(2 * p.relaxation().J.len() as u64);
        out.method = CoulombMethod::WarmNewton;
        self.methods.has(CoulombMethods::NEWTON)
            && self.law.accept(p, &self.rest, similar.lambda, Drift::Nothing, out)
    }

    /// Newton's method from a similar solution; returns whether it found a solution.
    fn start_at_similar(
        &mut self,
        p: &FrictionProgram,
        similar: CoulombWarm<'_>,
        out: &mut CoulombSolution,
    ) -> bool {
        let Self { newton, law, .. } = self;
        let CoulombWarm { lambda, u, .. } = similar;
        out.method = CoulombMethod::WarmNewton;
        newton.find(p, Start { lambda, u }, law, out) || {
            out.method = CoulombMethod::Continuation;
            newton.continue_from(p, lambda, law, out)
        }
    }

    /// Solves the relaxation, with gaps widened by the slips of a similar solution if asked for.
    /// Returns whether it proved that there is no solution.
    fn relax(
        &mut self,
        p: &FrictionProgram,
        similar: Option<CoulombWarm<'_>>,
        slips: bool,
        rest: f64,
        out: &mut CoulombSolution,
    ) -> bool {
        let Self { relaxation, budget, .. } = self;
        out.method = CoulombMethod::Relaxation;
        relaxation.start(p, similar, slips, rest, budget);
        let mut crushed = false;
        // the cones may be inconsistent although the gaps are not
        if relaxation.answer.status == Status::Infeasible {
            crushed = !relaxation.normals(p) && relaxation.answer.status == Status::Infeasible;
            if relaxation.answer.status == Status::Solved {
                relaxation.widen(p);
            }
        }
        out.convex = relaxation.solved;
        let answer = &relaxation.answer;
        match answer.status {
            Status::Infeasible if crushed => {
                refute(p, Refutation::Crushed { weights: answer.certificate.clone() }, out)
            }
            Status::Unbounded => {
                refute(p, Refutation::Unsupported { direction: answer.ray.clone() }, out)
            }
            _ => false,
        }
    }

    /// De Saxcé's fixed-point iteration from the relaxation on. Newton's method starts from
    /// programs whose residual is much smaller than at its last start. From the first program, the
    /// penalty continuation is tried too. Returns whether a solution was found.
    fn fixed_point(&mut self, p: &FrictionProgram, out: &mut CoulombSolution) -> bool {
        let Self { newton, law, relaxation, methods, .. } = self;
        let most = if methods.has(CoulombMethods::FIXED_POINT) { CONVEX_PROGRAMS } else { 1 };
        let mut tried = f64::INFINITY;
        let (mut found, mut embedded) = (false, 0);
        for k in 0..most {
            if relaxation.answer.status != Status::Solved {
                break;
            }
            let off = relaxation.compare(p);
            let stays = relaxation.answer.method == Method::Embedding && off >= NEARER * tried;
            embedded = if stays { embedded + 1 } else { 0 };
            let Relaxation { answer, lambda, u, .. } = &*relaxation;
            out.method = CoulombMethod::Newton;
            if off < NEARER * tried || k % MOST_WAITING == 0 {
                tried = off;
                found = newton.find(p, Start { lambda, u }, law, out);
            }
            // the solution of the convex program itself
            if !found && (most > 1 || methods.has(CoulombMethods::NEWTON)) {
                let first = relaxation.is_plain();
                out.method = if first { CoulombMethod::Newton } else { CoulombMethod::FixedPoint };
                found = law.accept(p, &answer.x, lambda, Drift::Nothing, out)
                    || law.accept(p, &answer.x, lambda, Drift::Rows, out);
            }
            if !found && k == 0 {
                out.method = CoulombMethod::Continuation;
                found = newton.continue_from(p, lambda, law, out);
            }
            if found || k + 1 == most || embedded == MOST_EMBEDDED {
                break;
            }
            relaxation.step(p);
        }
        out.convex = relaxation.solved;
        found
    }

    /// Penalty continuation from the forces of the last convex program; returns whether it found a
    /// solution.
    fn continuation(&mut self, p: &FrictionProgram, out: &mut CoulombSolution) -> bool {
        let Self { newton, law, relaxation, .. } = self;
        out.method = CoulombMethod::Continuation;
        newton.continue_from(p, &relaxation.lambda, law, out)
    }

    /// Lemke's method for pyramids, then branch and bound with at most `cases` linear programs.
    /// Returns whether the program is decided.
    fn lemke(&mut self, p: &FrictionProgram, cases: u32, out: &mut CoulombSolution) -> bool {
        let wanted = self.methods.has(CoulombMethods::LEMKE) && pyramid::is_polyhedral(p);
        if !wanted || pyramid::size(p, &mut self.firsts) > MOST_ROWS {
            return false;
        }
        let Self { budget, law, relaxation, lcp, firsts, lemke, answer, active, forces, .. } = self;
        let units = Units::of(p);
        pyramid::write(p, units, lcp, firsts);
        active.clear();
        if relaxation.answer.status == Status::Solved {
            let Relaxation { answer, lambda, u, .. } = relaxation;
            pyramid::active_pairs(p, firsts, &answer.x, lambda, u, active);
        }
        let search = self.methods.has(CoulombMethods::CASES) && lcp.n_pairs() <= FEW_PAIRS;
        lemke.budget = Some(if search { cases.max(1) } else { 1 });
        lemke.work_limit = Some(budget.left());
        lemke.solve(lcp, active, answer);
        relaxation::spend(budget, answer.work, answer.reason);
        out.pivots += answer.pivots;
        out.longest = out.longest.max(answer.longest);
        out.method = match answer.outcome {
            LcpOutcome::Solved if answer.cases <= 1 => CoulombMethod::Lemke,
            _ => CoulombMethod::Cases,
        };
        match answer.outcome {
            LcpOutcome::Solved => {
                forces.resize(p.rows, 0.0);
                pyramid::forces(p, firsts, &answer.z, forces);
                for force in forces.iter_mut() {
                    *force *= units.force;
                }
                answer.x.iter_mut().for_each(|x| *x *= units.length);
                law.accept(p, &answer.x, forces, Drift::Nothing, out)
            }
            LcpOutcome::Unsolvable => {
                let mut proof = answer.proof.take().unwrap_or_default();
                for case in &mut proof.cases {
                    pyramid::rows_in_units(p, units, firsts, &mut case.y);
                }
                let contacts = self.blamed(&proof);
                refute(p, Refutation::Jammed { proof, contacts }, out)
            }
            LcpOutcome::Undecided | LcpOutcome::GaveUp => false,
        }
    }

    /// Branch and bound on the modes where some contacts are round, with at most `programs` linear
    /// programs. Returns whether the program is decided.
    fn search(&mut self, p: &FrictionProgram, programs: u32, out: &mut CoulombSolution) -> bool {
        let Self { budget, law, newton, .. } = self;
        if !self.methods.has(CoulombMethods::CASES) || pyramid::is_polyhedral(p) {
            return false;
        }
        let Some(mut search) = Search::new(p, programs, budget) else { return false };
        out.method = CoulombMethod::Cases;
        match search.run(&mut |lambda, u| newton.find(p, Start { lambda, u }, law, out)) {
            Found::Point => true,
            Found::Nothing(cases) => {
                let contacts = jam::blamed(&cases);
                refute(p, Refutation::JammedRound { cases, contacts }, out)
            }
            Found::Open => false,
        }
    }

    /// Indices of the contacts that appear in a certificate.
    fn blamed(&self, proof: &Proof) -> Vec<u32> {
        let free = self.lcp.n_free();
        let mut contacts: Vec<u32> = proof
            .cases
            .iter()
            .flat_map(|case| case.y.iter().enumerate().skip(free))
            .filter(|(_, y)| **y != 0.0)
            .filter_map(|(i, _)| pyramid::contact_of(&self.firsts, (i - free) as u32))
            .collect();
        contacts.sort_unstable();
        contacts.dedup();
        contacts
    }
}

/// Checks a certificate and accepts it if it holds; returns whether it does.
fn refute(p: &FrictionProgram, refutation: Refutation, out: &mut CoulombSolution) -> bool {
    let holds = refutation.holds(p);
    if holds {
        give_up(p, out);
        out.outcome = Outcome::Unsolvable;
        out.refutation = Some(refutation);
    }
    holds
}

/// Ends undecided: resets the numerical results and keeps the counts.
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
