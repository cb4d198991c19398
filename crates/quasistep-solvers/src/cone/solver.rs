//! The driver for cone programs: which algorithm, why, and whether its answer holds.

use crate::cone::check::{self, Memory, Point};
use crate::cone::dense_form::DenseProgram;
use crate::cone::embedding::{self, End};
use crate::cone::interior::Interior;
use crate::cone::islands::{GIVE, Islands, Problem};
use crate::cone::kernels::{self, Isa};
use crate::cone::newton::{self, Newton, PENALTY, Start};
use crate::cone::program::ConeProgram;
use crate::cone::proof::Prover;
use crate::cone::scaled::Scaled;
use crate::cone::small::Small;
use crate::cone::structure::Structure;
use crate::kernels::max_abs;
use crate::{HandOver, Method, QpSolver, Reason, Residuals, Settings, Solution, Status};

/// Newton iterations after which an island has led nowhere: warm, then cold; fewer of a large one, where
/// the interior point comes next.
const WARM_ITERATIONS: u32 = 60;
const MANY_WARM_ITERATIONS: u32 = 15;
const COLD_ITERATIONS: u32 = 150;
/// Steps in a row that a warm one of a large island may crawl before the interior point comes.
const PATIENCE: u32 = 4;
/// The same of a cold one before an interior point that ends where Newton's method starts.
const FIRST_ITERATIONS: u32 = 40;
/// The same from an interior point in the caller's units, at a minimiser.
const EVEN_ITERATIONS: u32 = 15;
/// Variables up to which Newton's method starts anew and the dense solver comes before the interior
/// point, and up to which the dense solver comes at all.
const FEW: usize = 100;
const MANY: usize = 1500;
/// Where the interior point hands over to Newton's method, and where it ends when that led nowhere.
const NEAR: f64 = 1e-9;
const NEARER: f64 = 1e-13;
/// Spread of the contacts' units up to which rows of a patch may contradict one another as much as in the
/// caller's.
const EVEN: f64 = 30.0;
/// Slacks at the end of a polish, as shares of that of touching rows: one may be found where the other is
/// not, or not hold.
const POLISHED: [f64; 2] = [0.1, 0.4];
/// Multipliers and slacks of a similar problem, in the layout of this one's `z`.
///
/// For a row of which nothing is known give `z = 0` and `s = 1`: it starts idle.
#[derive(Clone, Copy, Debug)]
pub struct WarmStart<'a> {
    /// Multipliers.
    pub z: &'a [f64],
    /// Slacks.
    pub s: &'a [f64],
}

/// Solver for [`ConeProgram`]s and its memory; holds no meaning between calls.
///
/// The same program and warm start give the same bits on the same kind of machine; any warm start
/// gives the same answer to rounding.
#[derive(Debug)]
pub struct ConeSolver {
    isa: Isa,
    structure: Structure,
    small: Small,
    checking: Memory,
    newton: Newton,
    interior: Interior,
    islands: Islands,
    scaled: Scaled,
    prover: Prover,
    dense: QpSolver,
    answer: Solution,
    kept: Solution,
    near: Near,
    flat: DenseProgram,
    g: Vec<f64>,
    /// Forces of the springs; empty without springs.
    springs: Vec<f64>,
    /// Slack that is nothing to the caller, [`Settings::rest`].
    rest: f64,
}

/// A point inside the cones near the answer, in padded layout.
#[derive(Debug, Default)]
struct Near {
    x: Vec<f64>,
    z: Vec<f64>,
    s: Vec<f64>,
}

impl Near {
    fn copy(&mut self, from: &Interior) {
        self.x.clone_from(&from.x);
        self.z.clone_from(&from.z);
        self.s.clone_from(&from.s);
    }

    /// From the units of the scaled program to those of the caller's.
    fn unscale(&mut self, scaled: &Scaled) {
        scaled.unscale(&mut self.x, &mut self.z);
        scaled.unscale_slacks(&mut self.s);
    }
}

impl Default for ConeSolver {
    fn default() -> Self {
        Self::new()
    }
}

impl ConeSolver {
    /// A solver without memory yet.
    pub fn new() -> Self {
        Self {
            isa: Isa::detect(),
            structure: Structure::default(),
            small: Small::default(),
            checking: Memory::default(),
            newton: Newton::default(),
            interior: Interior::default(),
            islands: Islands::default(),
            scaled: Scaled::default(),
            prover: Prover::default(),
            dense: QpSolver::new(),
            answer: Solution::default(),
            kept: Solution::default(),
            near: Near::default(),
            flat: DenseProgram::default(),
            g: Vec::new(),
            springs: Vec::new(),
            rest: 0.0,
        }
    }

    /// Solves `program` into `out`.
    ///
    /// Every input gets a [`Status`]; bad numbers end in [`Status::GaveUp`] with a [`Reason`].
    pub fn solve(
        &mut self,
        program: &ConeProgram,
        warm: Option<WarmStart<'_>>,
        settings: &Settings,
        out: &mut Solution,
    ) {
        reset(program, out);
        let rest = if settings.rest > 0.0 { settings.rest } else { 0.0 };
        // few variables and rows only: the dense solver is quick, and has a proof for every ending
        let dense_first = program.n <= FEW && program.cones.iter().all(|c| !c.round);
        // its forces are the smallest ones too: no answer that is only nearly one comes before it
        self.rest = if dense_first { 0.0 } else { rest };
        if let Err(reason) = program.check_sizes() {
            out.reason = Some(reason);
            return;
        }
        let warm = warm.filter(|w| w.z.len() == program.m && w.s.len() == program.m);
        self.structure.update(program);
        self.checking.reserve(program);
        if Small::fits(program, &self.structure) {
            match self.active_set(program, warm, out) {
                Ok(()) => return,
                Err(why) => out.handed_over = Some(why),
            }
        }
        // an answer of the above is proof enough
        if let Err(reason) = program.check_numbers() {
            out.reason = Some(reason);
            return;
        }
        self.newton.prepare(program, &self.structure);
        // rows with a cost for every variable: the interior point finds what takes Newton's method long
        let brief = dense_first && program.has_all_costs();
        let most = if brief { FIRST_ITERATIONS } else { COLD_ITERATIONS };
        let found = self.newton(program, warm, most, out) && self.accept(program, out);
        if found {
            out.dual_is_smallest_norm = true;
            return;
        }
        // like contacts: an interior point that ends where Newton's method starts
        let even =
            check::spread(program) <= EVEN && self.interior_even(program, settings.threads, out);
        if even {
            if out.dual_is_smallest_norm || !dense_first {
                return;
            }
            // its multipliers are some: the dense solver's are the smallest
            std::mem::swap(&mut self.kept, out);
            reset(program, out);
            if !(self.fall_back(program, settings, out) && out.status == Status::Solved) {
                std::mem::swap(&mut self.kept, out);
            }
            return;
        }
        let again = program.n <= FEW && (warm.is_some() || brief);
        if again && self.newton(program, None, COLD_ITERATIONS, out) && self.accept(program, out) {
            out.method = if warm.is_some() { Method::RestartedNewton } else { Method::ColdNewton };
            out.dual_is_smallest_norm = true;
            return;
        }
        if dense_first && self.fall_back(program, settings, out) {
            return;
        }
        self.rest = rest;
        if self.interior(program, out) {
            return;
        }
        let best = out.residuals;
        reset(program, out);
        out.method = Method::Fallback;
        out.iterations = self.newton.iterations;
        if self.prover.prove(self.isa, program, out) {
            return;
        }
        let rows_only = program.cones.iter().all(|c| !c.round);
        let dense = rows_only && !dense_first && program.n <= MANY;
        if dense && self.fall_back(program, settings, out) {
            return;
        }
        reset(program, out);
        if self.embedding(program, out) {
            return;
        }
        reset(program, out);
        out.reason = Some(Reason::Accuracy);
        out.method = Method::Fallback;
        (out.iterations, out.residuals) = (self.newton.iterations, best);
    }

    /// The active set for small programs.
    fn active_set(
        &mut self,
        program: &ConeProgram,
        warm: Option<WarmStart<'_>>,
        out: &mut Solution,
    ) -> Result<(), HandOver> {
        let Self { isa, structure, small, checking, .. } = self;
        small.solve(*isa, program, structure, warm.map(|w| w.z))?;
        let Small { x, u, z, g, .. } = &*small;
        let point = Point { x, u, z, g };
        let mut islands = structure.islands.iter().zip(&small.extremes);
        let clear = islands
            .all(|(island, e)| check::clearly_holds(*isa, program, structure, island, point, e));
        let mut holds = || check::holds(program, structure, point, 0.0, checking);
        debug_assert!(!clear || holds(), "the quick look accepts what the whole check refuses");
        let holds = clear || holds();
        if !holds {
            return Err(HandOver::Check);
        }
        for block in &program.blocks {
            let (to, from) = (block.first as usize, block.at as usize);
            let dim = block.dim as usize;
            out.x[to..to + dim].copy_from_slice(&x[from..from + dim]);
        }
        program.unpad(z, &mut out.z);
        program.unpad(u, &mut out.s);
        out.residuals = Residuals::default();
        for e in &small.extremes {
            let r = &mut out.residuals;
            r.stationarity = r.stationarity.max(e.imbalance);
            r.primal = r.primal.max(e.outside);
            r.complementarity = r.complementarity.max(e.product);
        }
        out.status = Status::Solved;
        out.iterations = small.iterations;
        out.method = if warm.is_some() { Method::WarmActiveSet } else { Method::ColdActiveSet };
        out.dual_is_smallest_norm = true;
        Ok(())
    }

    /// Newton's method on every island; false if one led nowhere.
    fn newton(
        &mut self,
        program: &ConeProgram,
        warm: Option<WarmStart<'_>>,
        cold_iterations: u32,
        out: &mut Solution,
    ) -> bool {
        let Self { isa, structure, newton, .. } = self;
        out.method = if warm.is_some() { Method::WarmNewton } else { Method::ColdNewton };
        let many = program.n > FEW;
        for island in &structure.islands {
            let (start, iterations) = match warm {
                Some(w) if many => (Start::Warm { z: w.z, s: w.s }, MANY_WARM_ITERATIONS),
                Some(w) => (Start::Warm { z: w.z, s: w.s }, WARM_ITERATIONS),
                // the interior point takes some twenty iterations whatever it starts from
                None if many => return false,
                None => (Start::Cold, cold_iterations),
            };
            newton.clear(program, structure, island);
            newton.patience = if many { PATIENCE } else { u32::MAX };
            let end = newton.solve(*isa, program, structure, island, start, PENALTY, iterations);
            newton.patience = u32::MAX;
            if end != newton::End::Solved {
                return false;
            }
        }
        true
    }

    /// The interior point in units of the program's own, and Newton's method from where it ends: in the
    /// caller's units, in the program's own; if both lead nowhere, the interior point's own end.
    fn interior(&mut self, program: &ConeProgram, out: &mut Solution) -> bool {
        out.method = Method::InteriorPoint;
        let Self { isa, structure, newton, interior, scaled, .. } = self;
        scaled.fill(program, structure);
        let before = newton.iterations;
        interior.prepare(&scaled.program, structure);
        for island in &structure.islands {
            let give = if island.cones > 0 { GIVE } else { 0.0 };
            interior.solve(*isa, &scaled.program, structure, island, NEAR, give);
        }
        let iterations = before + interior.iterations;
        self.near.copy(&self.interior);
        self.near.unscale(&self.scaled);
        if self.newton_from_near(program, iterations, WARM_ITERATIONS) && self.accept(program, out)
        {
            out.dual_is_smallest_norm = true;
            return true;
        }
        self.near.copy(&self.interior);
        let scaled = std::mem::take(&mut self.scaled);
        let finished = self.newton_from_near(&scaled.program, iterations, WARM_ITERATIONS);
        self.scaled = scaled;
        if finished && self.accept_scaled(program, out) {
            return self.settle(program, out);
        }
        let Self { isa, structure, newton, interior, scaled, .. } = self;
        let p = &scaled.program;
        newton.prepare(p, structure);
        for island in &structure.islands {
            interior.solve(*isa, p, structure, island, NEARER, 0.0);
        }
        newton.iterations += before + interior.iterations;
        for share in POLISHED {
            let Self { isa, structure, newton, interior, scaled, .. } = self;
            let polished = structure.islands.iter().all(|island| {
                let Interior { x, z, .. } = interior;
                newton.polish(*isa, &scaled.program, structure, island, x, z, share)
            });
            if polished && self.accept_scaled(program, out) {
                return self.settle(program, out);
            }
        }
        self.newton.adopt(&self.scaled.program, &self.interior.x, &self.interior.z);
        self.accept_scaled(program, out) && self.settle(program, out)
    }

    /// The interior point in the caller's units, where all contacts have like ones. Its rows give way by as
    /// much as those of Newton's first minimiser: where it ends, that one is.
    fn interior_even(&mut self, program: &ConeProgram, threads: u32, out: &mut Solution) -> bool {
        out.method = Method::InteriorPoint;
        let Self { isa, structure, newton, interior, islands, .. } = self;
        let before = newton.iterations;
        let problem = Problem { isa: *isa, p: program, s: structure };
        let held = islands.hold(problem, threads, interior, newton);
        newton.iterations += before + interior.iterations;
        if held && self.accept(program, out) {
            out.dual_is_smallest_norm = true;
            return true;
        }
        let Self { interior, near, .. } = self;
        near.copy(interior);
        let iterations = before + interior.iterations;
        if self.newton_from_near(program, iterations, EVEN_ITERATIONS) && self.accept(program, out)
        {
            out.dual_is_smallest_norm = true;
            return true;
        }
        for share in POLISHED {
            let Self { isa, structure, newton, interior, .. } = self;
            let polished = structure.islands.iter().all(|island| {
                let Interior { x, z, .. } = interior;
                newton.polish(*isa, program, structure, island, x, z, share)
            });
            if polished && self.accept(program, out) {
                return self.settle(program, out);
            }
        }
        false
    }

    /// Newton's method from `near` on every island; false if one led nowhere.
    fn newton_from_near(&mut self, p: &ConeProgram, iterations: u32, most: u32) -> bool {
        let Self { isa, structure, newton, near, .. } = self;
        newton.prepare(p, structure);
        newton.iterations = iterations;
        structure.islands.iter().all(|island| {
            newton.clear(p, structure, island);
            let start = Start::Inside { x: &near.x, z: &near.z, s: &near.s };
            newton.solve(*isa, p, structure, island, start, PENALTY, most) == newton::End::Solved
        })
    }

    /// Like [`accept`](Self::accept), for an answer of the scaled program.
    fn accept_scaled(&mut self, program: &ConeProgram, out: &mut Solution) -> bool {
        let (x, z) = self.newton.answer_mut();
        self.scaled.unscale(x, z);
        self.accept(program, out)
    }

    /// From an answer to the one of the smallest multipliers, if Newton's method finds it; true.
    fn settle(&mut self, program: &ConeProgram, out: &mut Solution) -> bool {
        let method = out.method;
        std::mem::swap(&mut self.answer, out);
        let mut found = false;
        // from the answer, and where few variables make that cheap, from nothing
        for warm in [true, false] {
            if found || !warm && program.n > FEW {
                break;
            }
            reset(program, out);
            let Self { isa, structure, newton, answer, .. } = self;
            let iterations = newton.iterations;
            newton.prepare(program, structure);
            newton.iterations = iterations;
            found = structure.islands.iter().all(|island| {
                newton.clear(program, structure, island);
                let Solution { z, s, .. } = &*answer;
                let start = if warm { Start::Warm { z, s } } else { Start::Cold };
                newton.solve(*isa, program, structure, island, start, PENALTY, COLD_ITERATIONS)
                    == newton::End::Solved
            }) && self.accept(program, out);
        }
        if found {
            out.dual_is_smallest_norm = true;
        } else {
            std::mem::swap(&mut self.answer, out);
        }
        out.method = method;
        true
    }

    /// Writes the answer that Newton's memory holds; true if it is one.
    fn accept(&mut self, program: &ConeProgram, out: &mut Solution) -> bool {
        let clear = self.write(program, out);
        let Self { newton, g, structure, rest, checking, .. } = self;
        let point = Point { x: &newton.x, u: &newton.u, z: newton.multipliers(), g };
        let holds = clear || check::holds(program, structure, point, *rest, checking);
        out.status = if holds { Status::Solved } else { Status::GaveUp };
        out.iterations = newton.iterations;
        holds
    }

    /// Answer and residuals, from the program itself; true if a quick look shows that it holds.
    fn write(&mut self, program: &ConeProgram, out: &mut Solution) -> bool {
        let Self { isa, structure, newton, g, springs, .. } = self;
        for block in &program.blocks {
            let (to, from) = (block.first as usize, block.at as usize);
            let dim = block.dim as usize;
            out.x[to..to + dim].copy_from_slice(&newton.x[from..from + dim]);
        }
        g.clear();
        g.resize(program.n_padded, 0.0);
        springs.clear();
        springs.resize(if program.saturations.is_empty() { 0 } else { program.n_padded }, 0.0);
        for (k, spring) in program.saturations.iter().enumerate() {
            let at = newton.spring_at(k);
            springs[at] += spring.gradient(newton.x[at]);
            out.saturated[k] = newton.saturated(k, spring);
        }
        let all = structure
            .islands
            .last()
            .is_some_and(|i| i.last_group as usize == structure.groups.len());
        let mut clear = all && structure.islands.iter().all(|island| !island.round);
        if clear {
            out.residuals = Residuals::default();
            let Newton { x, u, .. } = newton;
            let z = newton.lambda.as_slice();
            for island in &structure.islands {
                let groups =
                    &structure.groups[island.first_group as usize..island.last_group as usize];
                let panels =
                    &structure.panels[island.first_panel as usize..island.last_panel as usize];
                let e = kernels::verdict(*isa, program, groups, panels, springs, x, z, u, g);
                let point = Point { x, u, z, g };
                clear &= check::clearly_holds(*isa, program, structure, island, point, &e);
                let r = &mut out.residuals;
                r.stationarity = r.stationarity.max(e.imbalance);
                r.primal = r.primal.max(e.outside);
                r.dual = r.dual.max(e.pull);
                r.complementarity = r.complementarity.max(e.product);
            }
        } else {
            kernels::slacks(*isa, program, &structure.groups, &newton.x, &mut newton.u);
            kernels::cost_times(*isa, program, &structure.panels, &newton.x, g);
            for (g, c) in g.iter_mut().zip(&program.c) {
                *g += c;
            }
            for (g, force) in g.iter_mut().zip(springs.iter()) {
                *g += force;
            }
            kernels::subtract_forces(*isa, program, &structure.groups, newton.multipliers(), g);
        }
        for cone in &program.cones {
            let (to, from) = (cone.first as usize, cone.at as usize);
            let m = cone.m as usize;
            out.z[to..to + m].copy_from_slice(&newton.multipliers()[from..from + m]);
            out.s[to..to + m].copy_from_slice(&newton.u[from..from + m]);
        }
        if !clear {
            out.residuals = program.cone_residuals(&out.z, &out.s);
            out.residuals.stationarity = max_abs(g);
        }
        clear
    }

    /// The embedding in numbers of twice the digits; false if its answer is none.
    fn embedding(&mut self, program: &ConeProgram, out: &mut Solution) -> bool {
        let end = embedding::solve(program, &self.structure, &mut self.newton.iterations);
        match end {
            None => return false,
            Some(End::Point { x, z }) => {
                self.newton.adopt(program, &x, &z);
                if !self.accept(program, out) {
                    return false;
                }
                out.method = Method::Embedding;
                return self.settle(program, out);
            }
            Some(End::Ray(x)) => {
                out.status = Status::Unbounded;
                for block in &program.blocks {
                    let at = block.at as usize;
                    out.ray.extend_from_slice(&x[at..at + block.dim as usize]);
                }
            }
            Some(End::Multipliers(y)) => {
                out.status = Status::Infeasible;
                for cone in &program.cones {
                    let at = cone.at as usize;
                    out.certificate.extend_from_slice(&y[at..at + cone.m as usize]);
                }
            }
        }
        out.method = Method::Embedding;
        out.iterations = self.newton.iterations;
        true
    }

    /// The dense solver, for programs without round cones; false if its answer is none.
    fn fall_back(
        &mut self,
        program: &ConeProgram,
        settings: &Settings,
        out: &mut Solution,
    ) -> bool {
        out.method = Method::Fallback;
        self.flat.fill(program);
        self.dense.solve(&self.flat.qp(), &[], settings, &mut self.answer);
        self.newton.iterations += self.answer.iterations;
        match self.answer.status {
            Status::GaveUp => return false,
            Status::Solved => {
                let Near { x, z, .. } = &mut self.near;
                x.clear();
                x.resize(program.n_padded, 0.0);
                z.clear();
                z.resize(program.m_padded, 0.0);
                for b in &program.blocks {
                    let (at, from) = (b.at as usize, b.first as usize);
                    x[at..at + b.dim as usize]
                        .copy_from_slice(&self.answer.x[from..from + b.dim as usize]);
                }
                for c in &program.cones {
                    let (at, from) = (c.at as usize, c.first as usize);
                    z[at..at + c.m as usize]
                        .copy_from_slice(&self.answer.z[from..from + c.m as usize]);
                }
                self.newton.adopt(program, &self.near.x, &self.near.z);
                if !self.accept(program, out) {
                    return false;
                }
                out.saturated.clone_from(&self.answer.saturated);
                out.dual_is_smallest_norm = self.answer.dual_is_smallest_norm;
                out.working.clone_from(&self.answer.working);
            }
            Status::Unbounded | Status::Infeasible => {
                reset(program, out);
                out.status = self.answer.status;
                out.ray.clone_from(&self.answer.ray);
                out.certificate.clone_from(&self.answer.certificate);
            }
        }
        out.method = Method::Fallback;
        out.iterations = self.newton.iterations;
        true
    }
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
    out.saturated.clear();
    out.saturated.resize(program.saturations.len(), 0);
    out.dual_is_smallest_norm = false;
}
