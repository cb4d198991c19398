//! Memory of a step: no meaning, only capacity, a warm start and a stopwatch.

use crate::contact::ContactRows;
use crate::formulation::Formulation;
use crate::formulation::coulomb::CoulombWork;
use crate::formulation::problem::Problem;
use crate::load::Load;
use crate::params::{Fallback, StepParams};
use crate::report::{Stage, StepMethod, StepReport};
use crate::scan::Scan;
use crate::stand_in::Compliant;
use crate::state::{Checkpoint, WarmStart};
use crate::system::System;
use quasistep_math::Pose;
use quasistep_solvers::{
    ConeProgram, ConeSolver, CoulombSolution, FrictionProgram, Outcome, Settings, Solution,
};

/// Identity of one row of the step problem, the same from step to step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKey {
    /// Edge of a friction cone.
    Contact {
        /// Index of geom A.
        geom_a: u32,
        /// Index of geom B.
        geom_b: u32,
        /// Pair of features in contact, as named by the geometry.
        feature: u32,
        /// Edge of the cone.
        edge: u32,
    },
    /// Lower position limit of a dof.
    LowerLimit {
        /// Index of the limit in the model.
        limit: u32,
    },
    /// Upper position limit of a dof.
    UpperLimit {
        /// Index of the limit in the model.
        limit: u32,
    },
    /// Dry friction of a joint.
    JointFriction {
        /// Dof that it resists.
        dof: u32,
        /// Edge of its cone.
        edge: u32,
    },
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
    pub(crate) problem: Problem<ConeProgram>,
    pub(crate) solver: ConeSolver,
    pub(crate) settings: Settings,
    pub(crate) solution: Solution,
    pub(crate) coulomb: CoulombWork,
    pub(crate) report: StepReport,
    pub(crate) warm: Option<Vec<RowKey>>,
    /// Multipliers and slacks that the solver starts from.
    pub(crate) warm_z: Vec<f64>,
    pub(crate) warm_s: Vec<f64>,
    /// Rows that the first of two solves found active.
    pub(crate) warm_mid: Vec<RowKey>,
    pub(crate) q_next: Vec<f64>,
    /// Sum of forces on every dof.
    pub(crate) balance: Vec<f64>,
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
            solver: ConeSolver::new(),
            settings: Settings::default(),
            solution: Solution::default(),
            coulomb: CoulombWork::default(),
            report: StepReport::default(),
            warm: Some(Vec::new()),
            warm_z: Vec::new(),
            warm_s: Vec::new(),
            warm_mid: Vec::new(),
            q_next: Vec::new(),
            balance: Vec::new(),
            timer: Timer::default(),
            compliant: None,
        }
    }
}

impl Workspace {
    /// Turns the warm start on (the default) or off, and forgets what it knew.
    pub fn set_warm_start(&mut self, on: bool) {
        self.warm = on.then(Vec::new);
        self.coulomb.warm.clear();
    }

    /// Most threads for groups of bodies that do not touch one another, 1 by default. It pays where at least
    /// two of them have 100 contacts and more; results have the same bits for any number. For many small
    /// samples use [`System::step_batch`] instead.
    pub fn set_solver_threads(&mut self, threads: u32) {
        self.settings.threads = threads;
    }

    /// The state together with what this workspace would start its next step from.
    pub fn checkpoint(&self, state: &crate::State) -> Checkpoint {
        Checkpoint {
            state: state.clone(),
            active: self.warm.clone().unwrap_or_default(),
            rows: self.coulomb.warm.clone(),
        }
    }

    /// Takes up the warm start of a checkpoint; the caller takes up its state.
    pub fn resume(&mut self, checkpoint: &Checkpoint) {
        self.warm = Some(checkpoint.active.clone());
        self.coulomb.warm.clone_from(&checkpoint.rows);
    }

    /// What the next step starts from.
    pub fn warm_start(&self) -> WarmStart {
        WarmStart { active: self.warm.clone().unwrap_or_default(), rows: self.coulomb.warm.clone() }
    }

    /// Makes the next step start from these rows, or cold.
    pub fn start_from(&mut self, warm: Option<&WarmStart>) {
        let keys = self.warm.get_or_insert_default();
        keys.clear();
        self.coulomb.warm.clear();
        if let Some(warm) = warm {
            keys.extend_from_slice(&warm.active);
            self.coulomb.warm.extend_from_slice(&warm.rows);
        }
    }

    /// Keeps what the next step starts from.
    pub(crate) fn remember(&mut self, params: &StepParams) {
        let Some(warm) = &mut self.warm else { return };
        // after a fallback the convex program is the one that was solved
        let stand_in = self.report.fallback.as_ref().map(|(fallback, _)| *fallback);
        match (params.formulation, stand_in) {
            (Formulation::Coulomb { .. } | Formulation::Dynamic { .. }, None)
            | (_, Some(Fallback::AnitescuPotra)) => self.coulomb.remember(),
            _ => self.problem.active_keys(&self.solution.z, params.accuracy, warm),
        }
    }

    /// Measures stages with this clock, in ns from any origin; the engine owns none.
    pub fn set_clock(&mut self, clock: Option<fn() -> u64>) {
        self.timer.clock = clock;
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
        &self.problem.program
    }

    /// The program with exact Coulomb friction that the last step solved, and its answer; `None` if it did not.
    pub fn last_friction(&self) -> Option<(&FrictionProgram, &CoulombSolution)> {
        let CoulombWork { problem, solution, .. } = &self.coulomb;
        let solved = matches!(self.report.method, StepMethod::Coulomb(_))
            && self.report.fallback.is_none()
            && solution.outcome == Outcome::Solved;
        solved.then_some((&problem.program.program, solution))
    }

    /// The solver's answer to [`last_problem`](Self::last_problem).
    pub fn last_solution(&self) -> &Solution {
        &self.solution
    }
}

/// Stopwatch over the stages of a step.
#[derive(Debug, Default)]
pub(crate) struct Timer {
    clock: Option<fn() -> u64>,
    current: Option<Stage>,
    since: u64,
    pub spent_ns: [u64; Stage::COUNT],
}

impl Timer {
    pub fn reset(&mut self) {
        self.spent_ns = [0; Stage::COUNT];
        self.current = None;
    }

    /// Measures with the clock of another one.
    pub fn same_clock(&mut self, other: &Self) {
        self.clock = other.clock;
    }

    /// Ends the running stage and begins another.
    pub fn enter(&mut self, stage: Stage) {
        let Some(clock) = self.clock else { return };
        let now = clock();
        if let Some(running) = self.current {
            self.spent_ns[running as usize] += now.saturating_sub(self.since);
        }
        self.current = Some(stage);
        self.since = now;
    }

    /// Ends the running stage.
    pub fn stop(&mut self) {
        if let (Some(clock), Some(running)) = (self.clock, self.current.take()) {
            self.spent_ns[running as usize] += clock().saturating_sub(self.since);
        }
    }
}
