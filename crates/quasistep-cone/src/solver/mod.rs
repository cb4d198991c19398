//! Driver for cone programs: the order of methods, and the check of their solutions.

mod accept;
mod attempts;
mod near;

use crate::check::Memory;
use crate::interior::Interior;
use crate::islands::Islands;
use crate::kernels::Isa;
use crate::newton::Newton;
use crate::program::ConeProgram;
use crate::proof::Prover;
use crate::scaled::Scaled;
use crate::sizes::Sizes;
use crate::structure::Structure;
use quasistep_linalg::budget::Budget;
use quasistep_linalg::{Method, Methods, Reason, Residuals, Settings, Solution, Status};

/// Largest number of Newton iterations on an island from a cold start.
const COLD_ITERATIONS: u32 = 150;
/// Largest number of Newton iterations on an island from a cold start where an interior point can
/// follow that ends near a solution.
const FIRST_ITERATIONS: u32 = 40;
/// Number of variables up to which Newton's method is also tried from a cold start.
const FEW: usize = 100;
/// Number of variables up to which an exact solve from a cold start is as fast as an approximate
/// one.
const FEW_FOR_EXACT: usize = 32;

/// Warm start: multipliers and slacks of a similar program, in the layout of this program's `z`.
///
/// A new row gets `z = 0` and `s = 1`, so that it starts inactive.
#[derive(Clone, Copy, Debug)]
pub struct WarmStart<'a> {
    /// Multipliers, length `m`.
    pub z: &'a [f64],
    /// Slacks, length `m`.
    pub s: &'a [f64],
}

/// Solver for [`ConeProgram`]s. It keeps its memory between calls; the contents do not affect
/// results.
///
/// Deterministic: equal programs and warm starts give equal bits on the same kind of machine.
/// Another warm start changes the solution by rounding only.
#[derive(Debug)]
pub struct ConeSolver {
    isa: Isa,
    structure: Structure,
    checking: Memory,
    sizes: Sizes,
    newton: Newton,
    interior: Interior,
    islands: Islands,
    scaled: Scaled,
    prover: Prover,
    answer: Solution,
    g: Vec<f64>,
    /// Gradient of cost and Huber terms at the interior point's last iterate.
    net: Vec<f64>,
    /// Forces of the Huber terms; empty without Huber terms.
    springs: Vec<f64>,
    /// Violation that counts as zero, from [`Settings::rest`].
    rest: f64,
    budget: Budget,
}

impl Default for ConeSolver {
    fn default() -> Self {
        Self::new()
    }
}

impl ConeSolver {
    /// A solver without allocated memory.
    pub fn new() -> Self {
        let mut solver = Self {
            isa: Isa::detect(),
            structure: Structure::default(),
            checking: Memory::default(),
            sizes: Sizes::default(),
            newton: Newton::default(),
            interior: Interior::default(),
            islands: Islands::default(),
            scaled: Scaled::default(),
            prover: Prover::default(),
            answer: Solution::default(),
            g: Vec::new(),
            net: Vec::new(),
            springs: Vec::new(),
            rest: 0.0,
            budget: Budget::default(),
        };
        solver.newton.budget = solver.budget.clone();
        solver.interior.budget = solver.budget.clone();
        solver.islands.budget = solver.budget.clone();
        solver.prover.share(&solver.budget);
        solver
    }

    /// Solves `program` and writes the result to `out`. `warm` is a warm start.
    ///
    /// Every input yields a [`Status`]. Invalid data end in [`Status::GaveUp`] with a [`Reason`].
    pub fn solve(
        &mut self,
        program: &ConeProgram,
        warm: Option<WarmStart<'_>>,
        settings: &Settings,
        out: &mut Solution,
    ) {
        self.budget.start(settings.work_limit);
        self.find(program, warm, settings, out);
        if self.budget.is_spent() {
            // the work limit was exceeded: discard even a complete solution, because its existence
            // would depend on the order of threads
            reset(program, out);
            out.reason = Some(Reason::Work);
        }
        out.work = self.budget.spent();
    }

    /// Tries the engines of [`ENGINES`], then those of [`LAST_RESORTS`], until one finds a solution
    /// or a certificate.
    fn find(
        &mut self,
        program: &ConeProgram,
        warm: Option<WarmStart<'_>>,
        settings: &Settings,
        out: &mut Solution,
    ) {
        reset(program, out);
        if let Err(reason) = program.check_sizes() {
            out.reason = Some(reason);
            return;
        }
        let warm = warm.filter(|w| w.z.len() == program.m && w.s.len() == program.m);
        // stop before the list of a factor's products is built: it is as long as the factor's work
        if !self.structure.update_within(program, self.budget.left()) {
            self.budget.exhaust();
            return;
        }
        self.checking.reserve(program);
        if let Err(reason) = program.check_numbers() {
            out.reason = Some(reason);
            return;
        }
        let case = Case::new(program, warm, settings);
        self.rest = settings.rest.max(0.0);
        // the interior point uses this memory, too
        self.newton.prepare(program, &self.structure);
        if self.is_answered(ENGINES, &case, out) || self.budget.is_spent() {
            return;
        }
        let best = out.residuals;
        reset(program, out);
        out.method = Method::Proof;
        out.iterations = self.newton.iterations;
        if self.is_answered(LAST_RESORTS, &case, out) {
            return;
        }
        reset(program, out);
        out.reason = Some(Reason::Accuracy);
        out.method = Method::Proof;
        (out.iterations, out.residuals) = (self.newton.iterations, best);
    }

    /// Runs the engines that apply, in order; returns whether one has a solution or a certificate.
    fn is_answered(&mut self, engines: &[Engine], case: &Case<'_>, out: &mut Solution) -> bool {
        engines.iter().any(|engine| {
            case.settings.methods.contains(engine.method)
                && (engine.applies)(case)
                && (engine.run)(self, case, out)
        })
    }
}

/// A row of the table of engines.
struct Engine {
    method: Methods,
    /// Whether the engine is tried on a program.
    applies: fn(&Case<'_>) -> bool,
    /// Returns whether the engine found a solution or a certificate, which is in the last argument.
    run: fn(&mut ConeSolver, &Case<'_>, &mut Solution) -> bool,
}

/// Engines in the order in which they are tried. Their budgets of iterations are in `attempts.rs`.
#[rustfmt::skip]
const ENGINES: &[Engine] = &[
    Engine { method: Methods::INTERIOR_POINT, applies: |case| case.may_be_approximate(), run: ConeSolver::approximate },
    Engine { method: Methods::NEWTON, applies: |_| true, run: ConeSolver::first_newton },
    Engine { method: Methods::INTERIOR_POINT, applies: |_| true, run: ConeSolver::interior_even },
    Engine { method: Methods::NEWTON, applies: |case| case.brief, run: ConeSolver::cold_newton },
    Engine { method: Methods::SCALED_INTERIOR_POINT, applies: |_| true, run: ConeSolver::interior },
    Engine { method: Methods::NEWTON, applies: |case| case.program.n <= FEW && !case.brief, run: ConeSolver::cold_newton },
];

/// Engines for programs without a solution, and for those that are too ill-conditioned for the
/// others.
#[rustfmt::skip]
const LAST_RESORTS: &[Engine] = &[
    Engine { method: Methods::PROOF, applies: |_| true, run: ConeSolver::prove },
    Engine { method: Methods::EMBEDDING, applies: |_| true, run: ConeSolver::embedding },
];

/// A program to solve, with what decides which engines are tried.
struct Case<'a> {
    program: &'a ConeProgram,
    warm: Option<WarmStart<'a>>,
    settings: &'a Settings,
    /// Whether the interior point is fast where Newton's method is slow: few variables, no round
    /// cone, and a cost for every variable.
    brief: bool,
}

impl<'a> Case<'a> {
    fn new(program: &'a ConeProgram, warm: Option<WarmStart<'a>>, settings: &'a Settings) -> Self {
        let few_edges = program.n <= FEW && program.cones.iter().all(|c| !c.round);
        Self { program, warm, settings, brief: few_edges && program.has_all_costs() }
    }

    /// Whether the caller asks for fewer digits. With few variables an exact solve is as fast, and
    /// faster from a warm start.
    fn may_be_approximate(&self) -> bool {
        let few = if self.warm.is_some() { FEW } else { FEW_FOR_EXACT };
        self.settings.accuracy > 0.0 && self.program.n > few
    }
}

fn reset(program: &ConeProgram, out: &mut Solution) {
    out.status = Status::GaveUp;
    out.reason = None;
    for (v, n) in [(&mut out.x, program.n), (&mut out.z, program.m), (&mut out.s, program.m)] {
        v.clear();
        v.resize(n, 0.0);
    }
    out.ray.clear();
    out.certificate.clear();
    out.working.clear();
    out.residuals = Residuals::default();
    out.iterations = 0;
    out.work = 0;
    out.saturated.clear();
    out.saturated.resize(program.saturations.len(), 0);
    out.dual_is_smallest_norm = false;
}
