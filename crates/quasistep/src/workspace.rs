//! Memory of a step: no meaning, only capacity, a warm start and a stopwatch.

use crate::contact::{Columns, ContactRows};
use crate::drag::Drag;
use crate::float::Floats;
use crate::formulation::anitescu::ConvexWork;
use crate::formulation::coulomb::CoulombWork;
use crate::formulation::problem::Problem;
use crate::load::Load;
use crate::params::StepParams;
use crate::report::{ContactReport, StepMethod, StepReport};
use crate::scan::{Meeting, Scan};
use crate::state::WarmRow;
use crate::state::{Checkpoint, WarmStart};
use crate::sweep::Sweep;
use crate::system::System;
use crate::timer::Timer;
use crate::trace::Trace;
use quasistep_math::Pose;
use quasistep_solvers::{ConeProgram, CoulombSolution, FrictionProgram, Outcome, Solution};

/// Where friction of areas acts.
#[derive(Debug, Default)]
pub(crate) enum Pressing {
    /// At the centre of the loads that a first solve finds: the step.
    #[default]
    Found,
    /// At that of uniform pressure.
    Even,
    /// At that of these loads.
    By(Vec<ContactReport>),
}

/// Reusable memory of [`System::step`]. Holds no meaning: a fresh workspace gives the same answer
/// to the solver's tolerance, and the same bits when the warm start is off or restored.
#[derive(Debug)]
pub struct Workspace {
    /// Scan of the state at the start of the step, and of the one at its end.
    pub(crate) scan: Scan,
    pub(crate) scan_next: Scan,
    /// Scan of the middle of the step, [`Integration::Midpoint`](crate::Integration::Midpoint).
    pub(crate) scan_mid: Scan,
    pub(crate) contacts: ContactRows,
    pub(crate) load: Load,
    pub(crate) problem: Problem,
    pub(crate) convex: ConvexWork,
    pub(crate) coulomb: CoulombWork,
    pub(crate) report: StepReport,
    /// Rows of the step before, ascending by key; `None` if the warm start is off.
    pub(crate) warm: Option<Vec<WarmRow>>,
    /// Rows of the solve before in the same step.
    pub(crate) again: Vec<WarmRow>,
    pub(crate) pressing: Pressing,
    /// Share of the restitution of impacts that the solve at hand has.
    pub(crate) rebound: f64,
    pub(crate) q_next: Vec<f64>,
    pub(crate) sweep: Sweep,
    /// Rates that the configuration follows where these are not those of the step.
    pub(crate) followed: Vec<f64>,
    /// Displacements of the substeps of the last step but the last one.
    pub(crate) parts: Vec<Vec<f64>>,
    /// Pairs that joined the program of the step.
    pub(crate) meetings: Vec<Meeting>,
    /// All motions of the step, where they are asked for.
    pub(crate) trace: Option<Trace>,
    /// Sum of forces on every dof.
    pub(crate) balance: Vec<f64>,
    pub(crate) drag: Drag,
    pub(crate) floats: Floats,
    /// Memory of the search for overlaps that no motion opens.
    pub(crate) columns: Columns,
    /// Multiply-adds that solvers and distances along the motion may still take in the step at hand.
    pub(crate) work_left: u64,
    pub(crate) timer: Timer,
    /// Springs in place of prescribed motion, once they were needed.
    pub(crate) compliant: Option<Box<Compliant>>,
}

impl System {
    /// Memory for stepping this system. One per thread.
    pub fn create_workspace(&self) -> Workspace {
        Workspace {
            scan: Scan::new(self),
            scan_next: Scan::new(self),
            scan_mid: Scan::new(self),
            contacts: ContactRows::default(),
            load: Load::default(),
            problem: Problem::default(),
            convex: ConvexWork::default(),
            coulomb: CoulombWork::default(),
            report: StepReport::default(),
            warm: Some(Vec::new()),
            again: Vec::new(),
            pressing: Pressing::default(),
            rebound: 1.0,
            q_next: Vec::new(),
            sweep: Sweep::default(),
            followed: Vec::new(),
            parts: Vec::new(),
            meetings: Vec::new(),
            trace: None,
            balance: Vec::new(),
            drag: Drag::default(),
            floats: Floats::default(),
            columns: Vec::new(),
            work_left: 0,
            timer: Timer::default(),
            compliant: None,
        }
    }
}

impl Workspace {
    /// Turns the warm start on (the default) or off, and forgets what it knew.
    pub fn set_warm_start(&mut self, on: bool) {
        self.warm = on.then(Vec::new);
    }

    /// Most threads for groups of bodies that do not touch one another, 1 by default. It pays where at least
    /// two of them have 100 contacts and more; results have the same bits for any number. For many small
    /// samples use [`System::step_batch`] instead.
    pub fn set_solver_threads(&mut self, threads: u32) {
        self.convex.settings.threads = threads;
    }

    /// The state together with what this workspace would start its next step from.
    pub fn checkpoint(&self, state: &crate::State) -> Checkpoint {
        Checkpoint { state: state.clone(), rows: self.warm.clone().unwrap_or_default() }
    }

    /// Takes up the warm start of a checkpoint; the caller takes up its state.
    pub fn resume(&mut self, checkpoint: &Checkpoint) {
        self.warm = Some(checkpoint.rows.clone());
    }

    /// What the next step starts from.
    pub fn warm_start(&self) -> WarmStart {
        WarmStart { rows: self.warm.clone().unwrap_or_default() }
    }

    /// Makes the next step start from these rows, or cold.
    pub fn start_from(&mut self, warm: Option<&WarmStart>) {
        let rows = self.warm.get_or_insert_default();
        rows.clear();
        if let Some(warm) = warm {
            rows.extend_from_slice(&warm.rows);
        }
    }

    /// Keeps what the next step starts from.
    pub(crate) fn remember(&mut self, params: &StepParams) {
        let Self { problem, convex, coulomb, report, warm: Some(warm), .. } = self else { return };
        keep(problem, convex, coulomb, report.method, params, warm);
    }

    /// Keeps what the next solve of the same step starts from.
    pub(crate) fn remember_solve(&mut self, params: &StepParams) {
        let Self { problem, convex, coulomb, report, again, .. } = self;
        keep(problem, convex, coulomb, report.method, params, again);
    }

    /// Measures stages with this clock, in ns from any origin; the engine owns none.
    pub fn set_clock(&mut self, clock: Option<fn() -> u64>) {
        self.timer.clock = clock;
    }

    /// The motion of the last step, a displacement `δ` on the tangent space (length `n_v`, in m and rad) for each substep: it
    /// went along `q ⊕ s δ`, s from 0 to 1, from where the one before ended.
    pub fn motion(&self) -> impl Iterator<Item = &[f64]> {
        self.parts.iter().map(Vec::as_slice).chain([self.sweep.delta()])
    }

    /// What the last step said.
    pub fn last_report(&self) -> &StepReport {
        &self.report
    }

    /// Poses of all bodies at `q`, if that is where the last step ended: already computed by it.
    pub fn poses_at(&self, q: &[f64]) -> Option<&[Pose]> {
        self.scan.poses_at(q)
    }

    /// The convex problem that the last step solved.
    pub fn last_problem(&self) -> &ConeProgram {
        &self.problem.program.convex
    }

    /// The program with exact Coulomb friction that the last step solved, and its answer; `None` if it did not.
    pub fn last_friction(&self) -> Option<(&FrictionProgram, &CoulombSolution)> {
        let solution = &self.coulomb.solution;
        let solved = matches!(self.report.method, StepMethod::Coulomb(_))
            && self.report.fallback.is_none()
            && solution.outcome == Outcome::Solved;
        solved.then_some((&self.problem.program.friction, solution))
    }

    /// The solver's answer to [`last_problem`](Self::last_problem).
    pub fn last_solution(&self) -> &Solution {
        &self.convex.solution
    }
}

/// Keeps the rows of the last answer.
fn keep(
    problem: &Problem,
    convex: &ConvexWork,
    coulomb: &CoulombWork,
    method: StepMethod,
    params: &StepParams,
    rows: &mut Vec<WarmRow>,
) {
    match method {
        StepMethod::Coulomb(_) if coulomb.solution.outcome == Outcome::Solved => {
            problem.keep(&coulomb.solution.lambda, &coulomb.solution.u, 0.0, rows);
        }
        StepMethod::Coulomb(_) => rows.clear(),
        StepMethod::Convex(_) => {
            problem.keep(&convex.solution.z, &convex.solution.s, params.accuracy, rows);
        }
    }
}

/// A system with springs in place of the prescribed motion of another one, which else is the same.
#[derive(Debug)]
pub(crate) struct Compliant {
    /// In N/m and N·m/rad.
    pub stiffness: f64,
    pub system: System,
}
