//! Driver for cone programs: the order of methods, and the check of their solutions.

mod accept;
mod active_set;
mod attempts;
mod near;

use crate::budget::Budget;
use crate::cone::check::Memory;
use crate::cone::interior::Interior;
use crate::cone::islands::Islands;
use crate::cone::kernels::Isa;
use crate::cone::newton::Newton;
use crate::cone::program::ConeProgram;
use crate::cone::proof::Prover;
use crate::cone::scaled::Scaled;
use crate::cone::sizes::Sizes;
use crate::cone::small::Small;
use crate::cone::structure::Structure;
use crate::tolerances::units::EVEN;
use crate::{
    DenseProgram, Method, Methods, QpSolver, Reason, Residuals, Settings, Solution, Status,
};

/// Largest number of Newton iterations on an island from a cold start.
const COLD_ITERATIONS: u32 = 150;
/// Largest number of Newton iterations on an island from a cold start where an interior point can
/// follow that ends near a solution.
const FIRST_ITERATIONS: u32 = 40;
/// Number of variables up to which Newton's method is also tried from a cold start, and the dense
/// solver before the interior point in units of the cones.
const FEW: usize = 100;
/// Number of variables up to which the dense solver is tried after all sparse methods gave up.
const MANY: usize = 1000;
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
    small: Small,
    checking: Memory,
    sizes: Sizes,
    newton: Newton,
    interior: Interior,
    islands: Islands,
    scaled: Scaled,
    prover: Prover,
    dense: QpSolver,
    answer: Solution,
    kept: Solution,
    flat: DenseProgram,
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
            small: Small::default(),
            checking: Memory::default(),
            sizes: Sizes::default(),
            newton: Newton::default(),
            interior: Interior::default(),
            islands: Islands::default(),
            scaled: Scaled::default(),
            prover: Prover::default(),
            dense: QpSolver::new(),
            answer: Solution::default(),
            kept: Solution::default(),
            flat: DenseProgram::default(),
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

    /// Tries one method after another until one finds a solution or a certificate.
    fn find(
        &mut self,
        program: &ConeProgram,
        warm: Option<WarmStart<'_>>,
        settings: &Settings,
        out: &mut Solution,
    ) {
        reset(program, out);
        let may = |engine| settings.methods.contains(engine);
        let rest = if settings.rest > 0.0 { settings.rest } else { 0.0 };
        let dense_first = is_for_dense(program);
        // the dense solver follows: before it, accept nothing by the caller's absolute tolerance
        self.rest = if dense_first { 0.0 } else { rest };
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
        if may(Methods::ACTIVE_SET) && Small::fits(program, &self.structure) {
            match self.active_set(program, warm, out) {
                Ok(()) => return,
                Err(why) => out.handed_over = Some(why),
            }
        }
        // a solution found above implies that all numbers are finite
        if let Err(reason) = program.check_numbers() {
            out.reason = Some(reason);
            return;
        }
        let accuracy = if settings.accuracy > 0.0 { settings.accuracy } else { 0.0 };
        // with few variables an exact solve is as fast as an approximate one, and faster from a
        // warm start
        let few = program.n <= if warm.is_some() { FEW } else { FEW_FOR_EXACT };
        let approximate = accuracy > 0.0 && !few && may(Methods::INTERIOR_POINT);
        if approximate && self.approximate(program, accuracy, settings.methods, out) {
            return;
        }
        self.newton.prepare(program, &self.structure);
        // without round cones and with a cost for every variable the interior point is fast where
        // Newton's method is slow
        let brief = dense_first && program.has_all_costs();
        let most = (brief && warm.is_none()).then_some(FIRST_ITERATIONS);
        let found = may(Methods::NEWTON)
            && self.newton(program, warm, most, out)
            && self.accept(program, out);
        if found {
            out.dual_is_smallest_norm = true;
            return;
        }
        // for cones with even units the interior point ends near Newton's first minimiser
        let even = may(Methods::INTERIOR_POINT)
            && self.sizes.spread(self.isa, program, &self.structure) <= EVEN
            && self.interior_even(program, settings, out);
        if even {
            let solved = out.status == Status::Solved;
            if !solved || out.dual_is_smallest_norm || !dense_first {
                return;
            }
            // the multipliers kept are not the smallest-norm ones; the dense solver's are
            std::mem::swap(&mut self.kept, out);
            reset(program, out);
            let dense = may(Methods::DENSE) && self.fall_back(program, settings, out);
            if !(dense && out.status == Status::Solved) {
                std::mem::swap(&mut self.kept, out);
            }
            return;
        }
        let again = may(Methods::NEWTON) && program.n <= FEW && (warm.is_some() || brief);
        if again && self.newton(program, None, None, out) && self.accept(program, out) {
            out.method = if warm.is_some() { Method::RestartedNewton } else { Method::ColdNewton };
            out.dual_is_smallest_norm = true;
            return;
        }
        if dense_first && may(Methods::DENSE) && self.fall_back(program, settings, out) {
            return;
        }
        self.rest = rest;
        if may(Methods::SCALED_INTERIOR_POINT) && self.interior(program, out) {
            return;
        }
        if self.budget.is_spent() {
            return;
        }
        let best = out.residuals;
        reset(program, out);
        out.method = Method::Fallback;
        out.iterations = self.newton.iterations;
        if may(Methods::PROOF) && self.prover.prove(self.isa, program, &self.structure, out) {
            return;
        }
        let dense_last = !dense_first && program.n <= MANY && has_no_round_cone(program);
        if dense_last && may(Methods::DENSE) && self.fall_back(program, settings, out) {
            return;
        }
        if may(Methods::EMBEDDING) && self.embedding(program, out) {
            return;
        }
        reset(program, out);
        out.reason = Some(Reason::Accuracy);
        out.method = Method::Fallback;
        (out.iterations, out.residuals) = (self.newton.iterations, best);
    }
}

/// Whether a program has few variables and no round cone. The dense solver is then fast, and has a
/// certificate for every outcome.
fn is_for_dense(program: &ConeProgram) -> bool {
    program.n <= FEW && has_no_round_cone(program)
}

fn has_no_round_cone(program: &ConeProgram) -> bool {
    program.cones.iter().all(|c| !c.round)
}

fn reset(program: &ConeProgram, out: &mut Solution) {
    out.status = Status::GaveUp;
    out.reason = None;
    for (v, n) in [(&mut out.x, program.n), (&mut out.z, program.m), (&mut out.s, program.m)] {
        v.clear();
        v.resize(n, 0.0);
    }
    out.handed_over = None;
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
