//! Memory of a step: buffers, warm start and stopwatch. Its contents do not affect results beyond
//! the solver's tolerance.

use crate::contact::{Columns, ContactRows};
use crate::drag::Drag;
use crate::float::Floats;
use crate::formulation::anitescu::ConvexWork;
use crate::formulation::coulomb::CoulombWork;
use crate::formulation::problem::Problem;
use crate::load::Load;
use crate::params::StepParams;
use crate::report::{ContactReport, StepMethod, StepReport};
use crate::resting::Rest;
use crate::scan::{Meeting, Scan};
use crate::state::{Attached, Checkpoint, WarmRow, WarmStart};
use crate::sweep::Sweep;
use crate::system::System;
use crate::taken::SizeWork;
use crate::timer::Timer;
use crate::trace::Trace;
use quasistep_cone::{ConeProgram, Solution};
use quasistep_friction::{CoulombSolution, FrictionProgram, Outcome};
use quasistep_math::Pose;
use std::sync::Arc;

/// Point at which the friction of areas acts.
#[derive(Debug, Default)]
pub(crate) enum Pressing {
    /// At the centre of pressure that a first solve finds. Steps use this variant.
    #[default]
    Found,
    /// At the centroid, as under uniform pressure.
    Even,
    /// At the centre of pressure of the given loads.
    By(Vec<ContactReport>),
}

/// Where the solver of a program starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartFrom {
    /// A cold start.
    Nothing,
    /// The solution of the step before, if there is one.
    LastStep,
    /// The last solution in the same step.
    LastSolve,
}

/// Rows of solutions from which solvers may start.
#[derive(Debug)]
pub(crate) struct Known {
    /// Rows of the last step, ascending by key; `None` if the warm start is off.
    pub last_step: Option<Vec<WarmRow>>,
    /// Size of the step that left these rows, in s.
    pub time_step: Option<f64>,
    /// Size of the next step, in s, if a tolerance chose that of the last one.
    pub next_size: Option<f64>,
    /// Rows of the last solve in the same step.
    last_solve: Vec<WarmRow>,
}

impl Known {
    /// Scales impulses of the last step to one of `h` seconds, at equal forces. Where forces are not
    /// unique the solution depends on them.
    pub fn scale_to(&mut self, h: f64) {
        if let Some(last) = self.time_step.replace(h)
            && last != h
        {
            let rows = self.last_step.iter_mut().flatten();
            rows.for_each(|row| row.impulse *= h / last);
        }
    }

    /// Rows from which a solver starts; `None` for a cold start.
    pub fn rows(&self, start: StartFrom) -> Option<&[WarmRow]> {
        match start {
            StartFrom::Nothing => None,
            StartFrom::LastStep => self.last_step.as_deref().filter(|rows| !rows.is_empty()),
            StartFrom::LastSolve => Some(&self.last_solve),
        }
    }
}

/// Reusable memory of [`System::step`]. A fresh workspace gives the same solution to the solver's
/// tolerance, and the same bits if the warm start is off or restored.
#[derive(Debug)]
pub struct Workspace {
    /// Scans of the states at the start and at the end of the step.
    pub(crate) scan: Scan,
    pub(crate) scan_next: Scan,
    /// Scan at the middle of the step, for [`Integration::Midpoint`](crate::Integration::Midpoint).
    pub(crate) scan_mid: Scan,
    pub(crate) contacts: ContactRows,
    pub(crate) load: Load,
    pub(crate) problem: Problem,
    pub(crate) convex: ConvexWork,
    pub(crate) coulomb: CoulombWork,
    pub(crate) report: StepReport,
    pub(crate) warm: Known,
    pub(crate) pressing: Pressing,
    /// Memory of steps by tolerance, made when first needed.
    pub(crate) sizes: Option<SizeWork>,
    pub(crate) q_next: Vec<f64>,
    pub(crate) sweep: Sweep,
    /// Rates by which the configuration is integrated, if they differ from the step's velocity.
    pub(crate) followed: Vec<f64>,
    /// Displacements of all substeps of the last step except the last substep.
    pub(crate) parts: Vec<Vec<f64>>,
    /// Pairs that were added to the program of the step.
    pub(crate) meetings: Vec<Meeting>,
    /// All motions of the step, if their record is enabled.
    pub(crate) trace: Option<Trace>,
    /// Sum of forces on every dof.
    pub(crate) balance: Vec<f64>,
    pub(crate) drag: Drag,
    pub(crate) floats: Floats,
    /// Memory of the search for overlaps that no motion can open.
    pub(crate) columns: Columns,
    /// Multiply-adds that solvers and distances may still use in the current step.
    pub(crate) work_left: u64,
    pub(crate) timer: Timer,
    /// Memory of bodies at rest, if bodies may rest.
    pub(crate) rest: Option<Box<Rest>>,
    /// Memory of the bodies that move, if others rest.
    pub(crate) awake: Option<Box<Workspace>>,
    /// Copy of the system with springs in place of prescribed motion, made when first needed.
    pub(crate) compliant: Option<Box<Compliant>>,
    /// Copy of the system with its switches set, in a system with switches.
    pub(crate) set: Option<SetSystem>,
}

impl System {
    /// Creates memory for steps of this system. Use one per thread.
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
            warm: Known {
                last_step: Some(Vec::new()),
                time_step: None,
                next_size: None,
                last_solve: Vec::new(),
            },
            pressing: Pressing::default(),
            sizes: None,
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
            rest: None,
            awake: None,
            compliant: None,
            set: None,
        }
    }
}

impl Workspace {
    /// Forgets the substeps of the last step.
    pub(crate) fn start_parts(&mut self, time_step: f64) {
        self.report.n_joined = 0;
        self.report.substeps = 1;
        self.report.last_substep = None;
        self.parts.clear();
        if let Some(trace) = &mut self.trace {
            *trace = Trace { left: time_step, ..Trace::default() };
        }
    }

    /// Turns the warm start on (the default) or off, and clears it.
    pub fn set_warm_start(&mut self, on: bool) {
        self.rest.iter_mut().for_each(|rest| rest.forget());
        self.warm.last_step = on.then(Vec::new);
        (self.warm.time_step, self.warm.next_size) = (None, None);
    }

    /// Sets the largest number of threads for groups of bodies that do not touch one another; the
    /// default is 1. Several threads pay off if at least two groups have 100 contacts or more.
    /// Results have the same bits for any number. For many small samples use [`System::step_batch`]
    /// instead.
    pub fn set_solver_threads(&mut self, threads: u32) {
        self.convex.settings.threads = threads;
    }

    /// Lets bodies rest, or not (the default). A step then leaves out bodies whose result would have
    /// the bits of the last one: those at rest cost nothing until something comes near them.
    ///
    /// State, report, certificate and warm start are those of all bodies. Counts and times in
    /// the report are those of the moving bodies. While bodies rest, programs, [`motion`](Self::motion)
    /// and [`poses_at`](Self::poses_at) are not those of the last step, so derivatives of it need a
    /// workspace without rest. Bodies do not rest while the warm start is off.
    pub fn set_rest(&mut self, on: bool) {
        match (on, self.rest.take()) {
            (true, known) => self.rest = Some(known.unwrap_or_default()),
            (false, Some(mut rest)) => rest.wake(self),
            (false, None) => {}
        }
    }

    /// What the switched constraints held in the last step.
    pub(crate) fn attached(&self) -> &Vec<Option<Attached>> {
        const NONE: &Vec<Option<Attached>> = &Vec::new();
        self.set.as_ref().map_or(NONE, |set| &set.attached)
    }

    /// Makes the memory fit another system with the same model: nothing of the last step is kept but
    /// its warm start.
    pub(crate) fn change_system(&mut self) {
        if let Some(mut rest) = self.rest.take() {
            rest.wake(self);
            self.rest = Some(Box::default());
        }
        (self.awake, self.compliant) = (None, None);
        for scan in [&mut self.scan, &mut self.scan_next, &mut self.scan_mid] {
            scan.forget();
        }
    }

    /// Rows of the next step's warm start, of the bodies that move if others rest.
    pub(crate) fn awake_rows(&self) -> &[WarmRow] {
        self.awake.as_ref().and_then(|awake| awake.warm.last_step.as_deref()).unwrap_or_default()
    }

    /// A checkpoint of the state and of the next step's warm start.
    pub fn checkpoint(&self, state: &crate::State) -> Checkpoint {
        Checkpoint { state: state.clone(), warm: self.warm_start() }
    }

    /// Restores the warm start of a checkpoint. The caller restores its state.
    pub fn resume(&mut self, checkpoint: &Checkpoint) {
        self.start_from(Some(&checkpoint.warm));
    }

    /// Warm start of the next step.
    pub fn warm_start(&self) -> WarmStart {
        let at_rest = self.rest.as_ref().and_then(|rest| rest.rows(self.awake_rows()));
        let rows = at_rest.or_else(|| self.warm.last_step.clone()).unwrap_or_default();
        let Known { time_step, next_size, .. } = self.warm;
        WarmStart { rows, time_step, next_size }
    }

    /// Sets the warm start of the next step; `None` for a cold start.
    pub fn start_from(&mut self, warm: Option<&WarmStart>) {
        self.rest.iter_mut().for_each(|rest| rest.forget());
        let rows = self.warm.last_step.get_or_insert_default();
        rows.clear();
        self.warm.time_step = warm.and_then(|warm| warm.time_step);
        self.warm.next_size = warm.and_then(|warm| warm.next_size);
        if let Some(warm) = warm {
            rows.extend_from_slice(&warm.rows);
        }
    }

    /// Stores the solution as warm start of the next step.
    pub(crate) fn remember(&mut self, params: &StepParams) {
        let Self { problem, convex, coulomb, report, warm, .. } = self;
        if let Some(rows) = &mut warm.last_step {
            keep(problem, convex, coulomb, report.method, params, rows);
        }
    }

    /// Stores the solution as warm start of the next solve in the same step.
    pub(crate) fn remember_solve(&mut self, params: &StepParams) {
        let Self { problem, convex, coulomb, report, warm, .. } = self;
        keep(problem, convex, coulomb, report.method, params, &mut warm.last_solve);
    }

    /// Sets the clock that measures the stages, in ns from any origin. Without one, durations are
    /// zero.
    pub fn set_clock(&mut self, clock: Option<fn() -> u64>) {
        self.timer.clock = clock;
    }

    /// Motion of the last step: for each substep a displacement `δ` in the tangent space (length
    /// `n_v`, in m and rad). The substep went along `q ⊕ s δ`, s from 0 to 1, from the end of the
    /// substep before.
    pub fn motion(&self) -> impl Iterator<Item = &[f64]> {
        self.parts.iter().map(Vec::as_slice).chain([self.sweep.delta()])
    }

    /// Report of the last step.
    pub fn last_report(&self) -> &StepReport {
        &self.report
    }

    /// Poses of all bodies at `q`, if the last step ended at `q`; they are already computed.
    pub fn poses_at(&self, q: &[f64]) -> Option<&[Pose]> {
        self.scan.poses_at(q)
    }

    /// Convex program of the last step, if it solved one: a step with exact friction has
    /// [`last_friction`](Self::last_friction) instead.
    pub fn last_problem(&self) -> &ConeProgram {
        &self.problem.program.convex
    }

    /// Program with exact Coulomb friction of the last step, and its solution; `None` if the step
    /// did not solve one.
    pub fn last_friction(&self) -> Option<(&FrictionProgram, &CoulombSolution)> {
        let solution = &self.coulomb.solution;
        let solved = matches!(self.report.method, StepMethod::Coulomb(_))
            && self.report.fallback.is_none()
            && solution.outcome == Outcome::Solved;
        solved.then_some((&self.problem.program.friction, solution))
    }

    /// Solution of [`last_problem`](Self::last_problem).
    pub fn last_solution(&self) -> &Solution {
        &self.convex.solution
    }
}

/// Stores the rows of the last solution.
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

/// Copy of a system in which switched constraints that are on hold what they hold, and the others
/// are left out.
#[derive(Clone, Debug)]
pub(crate) struct SetSystem {
    pub attached: Vec<Option<Attached>>,
    pub system: Arc<System>,
}

/// Copy of a system with springs in place of prescribed motion.
#[derive(Debug)]
pub(crate) struct Compliant {
    /// Stiffness of the springs that replace prescribed motion, in N/m and N·m/rad.
    pub stiffness: f64,
    pub system: System,
}
