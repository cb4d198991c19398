//! Closed loop of scene and controller: measure, plan, move, repeat. Start reading in
//! [`ClosedLoop::step`].

#![allow(non_snake_case)] // letters of MpcNote

use crate::along_plan::{Key, View, align, key};
use crate::error::ProblemError;
use crate::mpc::{Mpc, MpcSettings};
use crate::plan::Plan;
use crate::prediction::{
    ContactEntries, Dynamics, Prediction, PredictionError, PredictionSettings, geometric_stiffness,
    predict,
};
use crate::problem::{Bounds, Cost, Problem};
use quasistep::{
    Formulation, Integration, LinearContact, Linearisation, State, StepError, StepInput,
    StepParams, StepReport, System, Workspace,
};
use quasistep_math::Vec3;

/// Control task of a scene. The scene itself is moved by its simulator: by the dynamic step if the
/// plan is dynamic, otherwise as its parameters specify.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Model of the step with which plans predict.
    pub dynamics: Dynamics,
    /// Number of steps of a plan, ≥ 1.
    pub horizon: usize,
    /// Duration of a planned step, in s. The simulator divides it into one or more steps.
    pub time_step: f64,
    /// Only contact points nearer than this are part of a plan, in m.
    pub margin: f64,
    /// If true, the impulses of the last plan predict the change of lever arms, see
    /// [`geometric_stiffness`].
    pub moving_levers: bool,
    /// If true, every step of a plan has a system of its own, linearised at the state that the last
    /// plan predicts. Otherwise all steps share one system, linearised at the present state.
    pub along_plan: bool,
    /// Number of friction directions of contacts that can slide in two dimensions.
    pub directions: usize,
    /// Velocity at the start, one entry per dof, in m/s or rad/s.
    pub v_start: Vec<f64>,
    /// Cost of a plan. States are positions, then velocities of all dofs. A goal of several states
    /// is a trajectory from the start of the loop on; each plan uses the part that lies ahead.
    pub cost: Cost,
    /// Constraints of a plan.
    pub bounds: Bounds,
    /// Settings of the search for plans.
    pub settings: MpcSettings,
}

/// A scene, its task, and its present state.
#[derive(Debug)]
pub struct ClosedLoop<'a> {
    system: &'a System,
    params: StepParams,
    task: Task,
    state: State,
    /// Velocities over the last planned step, `n_v`.
    v: Vec<f64>,
    /// The controller, created at the first step.
    mpc: Option<Mpc>,
    last: Option<Plan>,
    /// Number of steps taken.
    taken: usize,
    /// Contacts near the state at which the last plan was made, or near the start.
    near: Vec<LinearContact>,
    /// Impulses of the last plan for the coming steps, along normal and tangents, in N·s.
    planned: Vec<Vec<(Key, [f64; 3])>>,
    q_cmd: Vec<f64>,
    work: Workspace,
}

/// One step of the loop.
#[derive(Clone, Debug)]
pub struct LoopStep {
    /// State at which the plan begins: positions, then velocities.
    pub x: Vec<f64>,
    /// The plan; its first input was applied.
    pub plan: Plan,
    /// Contacts in the first step of the plan.
    pub contacts: Vec<LoopContact>,
    /// Entries of `gamma` of each contact.
    pub entries: Vec<ContactEntries>,
    /// Soft bounds that the plan violates, and by how much, with names of the scene.
    pub gave_way: Vec<String>,
    /// State after the step: positions, then velocities.
    pub x_next: Vec<f64>,
    /// Steps of the simulator.
    pub moved: Vec<Moved>,
}

impl LoopStep {
    /// Prediction error: the dof whose position after the step differs most from the one that the plan
    /// predicted, and the difference, in m or rad.
    pub fn prediction_error(&self) -> (usize, f64) {
        let n = self.x.len() / 2;
        let pairs = self.plan.states[1][..n].iter().zip(&self.x_next).enumerate();
        let errors = pairs.map(|(dof, (planned, is))| (dof, (planned - is).abs()));
        errors.fold((0, 0.0), |worst, own| if own.1 > worst.1 { own } else { worst })
    }
}

/// One step of the simulator.
#[derive(Clone, Debug)]
pub struct Moved {
    /// State at the end of the step.
    pub state: State,
    /// Input of the step.
    pub input: StepInput,
    /// Report of the step.
    pub report: StepReport,
}

/// A contact in the first step of a plan.
#[derive(Clone, Debug)]
pub struct LoopContact {
    /// The contact point and its shapes.
    pub at: LinearContact,
    /// Signed distance at the end of the step, in m.
    pub phi_next: f64,
    /// Normal impulse, in N·s.
    pub normal: f64,
    /// Tangential impulses along the friction directions, in N·s.
    pub tangents: Vec<f64>,
    /// Slip speed `lambda`, in m/s.
    pub slip: f64,
    /// Impulse on body B, in N·s.
    pub impulse_W: Vec3,
}

/// Error that prevents a loop from starting or continuing.
#[derive(Clone, Debug, PartialEq)]
pub enum LoopError {
    /// The scene has no prediction model.
    Prediction(PredictionError),
    /// The task does not fit the scene.
    Problem(ProblemError),
    /// The duration of a planned step is not a multiple of the simulator's step.
    Steps {
        /// Duration of a planned step, in s.
        plan: f64,
        /// Duration of a simulator step, in s.
        step: f64,
    },
    /// No plan satisfies all bounds; the text names the conflicting constraints.
    NoPlan(String),
    /// A simulator step failed, or numbers are not a valid configuration.
    Step(StepError),
}

impl std::fmt::Display for LoopError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Prediction(e) => e.fmt(f),
            Self::Problem(e) => e.fmt(f),
            Self::Steps { plan, step } => write!(
                f,
                "a planned step of {plan} s is no multiple of the simulator's {step} s; choose them so that it is"
            ),
            Self::NoPlan(why) => write!(f, "there is no plan: {why}"),
            Self::Step(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for LoopError {}

impl From<PredictionError> for LoopError {
    fn from(e: PredictionError) -> Self {
        Self::Prediction(e)
    }
}

impl From<ProblemError> for LoopError {
    fn from(e: ProblemError) -> Self {
        Self::Problem(e)
    }
}

impl From<StepError> for LoopError {
    fn from(e: StepError) -> Self {
        Self::Step(e)
    }
}

impl<'a> ClosedLoop<'a> {
    /// Creates the loop at the start of a scene.
    ///
    /// # Errors
    ///
    /// The first part of the task that does not fit the scene.
    pub fn new(
        system: &'a System,
        start: State,
        params: StepParams,
        task: Task,
    ) -> Result<Self, LoopError> {
        let n_v = system.model().n_v();
        ProblemError::check_numbers("time_step", &[task.time_step], 1)?;
        ProblemError::check_numbers("v_start", &task.v_start, n_v)?;
        task.dynamics.driven(system)?;
        let (mut params, mut state) = (params, start);
        if task.dynamics.carries_velocity() {
            // the simulator must use at least the contacts of the plan
            params.contact_margin = params.contact_margin.max(task.margin);
            params.formulation = Formulation::dynamic(params.formulation.cone);
            params.integration = Integration::Euler;
            state.v.clone_from(&task.v_start);
        }
        let mut this = Self {
            system,
            params,
            v: task.v_start.clone(),
            q_cmd: system
                .commanded()
                .iter()
                .flat_map(|&b| &state.q[system.model().body(b).q.clone()])
                .copied()
                .collect(),
            task,
            state,
            mpc: None,
            last: None,
            taken: 0,
            near: Vec::new(),
            planned: Vec::new(),
            work: system.create_workspace(),
        };
        this.substeps()?;
        let (seen, predictions) = this.look()?;
        this.problem(systems(&predictions)).check()?;
        this.near = seen.contacts;
        Ok(this)
    }

    /// Present state of the scene.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Present state as the plan's vector: positions, then velocities.
    pub fn x(&self) -> Vec<f64> {
        self.state.q.iter().chain(&self.v).copied().collect()
    }

    /// Step parameters of the simulator.
    pub fn params(&self) -> &StepParams {
        &self.params
    }

    /// Plans from the present state and moves the scene by one planned step. If `stop` returns
    /// true, the search ends early.
    ///
    /// # Errors
    ///
    /// See [`LoopError`]. The scene is then unchanged, or at the last step that the simulator
    /// completed.
    pub fn step(&mut self, stop: &mut dyn FnMut() -> bool) -> Result<LoopStep, LoopError> {
        let (seen, mut predictions) = self.look()?;
        let models = systems(&predictions);
        let prediction = predictions.swap_remove(0);
        let mut mpc = self.mpc.take().map_or_else(
            || Mpc::new(self.problem(models.clone()), self.task.settings),
            |mut mpc| mpc.set_models(models.clone()).map(|()| mpc),
        )?;
        mpc.set_goal(self.goal())?;
        self.near.clone_from(&seen.contacts);
        let x = self.x();
        let plan = mpc.plan_until(&x, self.last.as_ref(), stop)?;
        self.mpc = Some(mpc);
        if !plan.is_usable() {
            return Err(LoopError::NoPlan(self.why_none(&plan)));
        }
        let contacts = self.contacts(&seen, &prediction, &plan);
        let gave_way = self.in_words(&plan.relaxed);
        let moved = self.simulate(&plan.inputs[0])?;
        self.planned = planned(&seen, &prediction, &plan);
        self.last = Some(plan.clone());
        self.taken += 1;
        let entries = prediction.entries;
        Ok(LoopStep { x, x_next: self.x(), plan, contacts, entries, gave_way, moved })
    }

    /// Linearises the scene at its present state and builds its prediction: one system for all
    /// steps of a plan, or one per step.
    pub(crate) fn look(&self) -> Result<(Linearisation, Vec<Prediction>), LoopError> {
        let mut views = vec![self.view(&self.state.q)?];
        if let Some(last) = self.last.as_ref().filter(|_| self.task.along_plan) {
            let n = self.v.len();
            // the last plan began one step earlier; its end state is repeated for the last step
            let ahead = last.states.iter().skip(2).chain(last.states.last());
            for x in ahead.take(self.task.horizon - 1) {
                views.push(self.view(&x[..n])?);
            }
            align(&mut views);
        }
        let settings = PredictionSettings {
            time_step: self.task.time_step,
            max_recovery_speed: self.params.max_recovery_speed,
            directions: self.task.directions,
        };
        let mut predictions = Vec::with_capacity(views.len());
        for (k, View { at, q }) in views.iter().enumerate() {
            let stiffness = self.stiffness(at, q, k)?;
            let dynamics = &self.task.dynamics;
            let held = &self.q_cmd;
            let rates = self.rates(k);
            let how = (&rates[..], &settings);
            predictions.push(predict(self.system, at, q, held, &stiffness, dynamics, how)?);
        }
        Ok((views.swap_remove(0).at, predictions))
    }

    /// Velocities of step `k` in the last plan, or the goal's velocities without a plan.
    fn rates(&self, k: usize) -> Vec<f64> {
        let n = self.v.len();
        let at = |states: &[Vec<f64>], k: usize| states[k.min(states.len() - 1)][n..].to_vec();
        match &self.last {
            Some(last) => at(&last.states, k + 2),
            None => at(&self.goal(), k + 1),
        }
    }

    fn view(&self, q: &[f64]) -> Result<View, LoopError> {
        let mut at = self.system.linearise(q, self.params.gravity, self.task.margin)?;
        if matches!(self.task.dynamics, Dynamics::QuasiDynamic) {
            let params = StepParams { time_step: self.task.time_step, ..self.params.clone() };
            self.system.scale_passive_mass(&params, &mut at.mass);
        }
        Ok(View { at, q: q.to_vec() })
    }

    /// Geometric stiffness of the last plan's impulses for step `k`; empty if not enabled.
    fn stiffness(&self, seen: &Linearisation, q: &[f64], k: usize) -> Result<Vec<f64>, LoopError> {
        let Some(planned) = self.planned.get(k).filter(|_| self.task.moving_levers) else {
            return Ok(Vec::new());
        };
        let planned_at = |c: &LinearContact| {
            planned.iter().find(|(k, _)| *k == key(c)).map_or([0.0; 3], |(_, impulse)| *impulse)
        };
        let impulses: Vec<[f64; 3]> = seen.contacts.iter().map(planned_at).collect();
        Ok(geometric_stiffness(self.system, seen, q, &impulses, self.task.margin)?)
    }

    pub(crate) fn problem(&self, models: Vec<crate::Lcs>) -> Problem {
        Problem {
            horizon: self.task.horizon,
            models,
            cost: Cost { goal: self.goal(), ..self.task.cost.clone() },
            bounds: self.task.bounds.clone(),
        }
    }

    /// Goal states from the present step on.
    fn goal(&self) -> Vec<Vec<f64>> {
        let goal = &self.task.cost.goal;
        let from = self.taken.min(goal.len().saturating_sub(1));
        goal[from..].iter().take(self.task.horizon + 1).cloned().collect()
    }

    pub(crate) fn system(&self) -> &System {
        self.system
    }

    pub(crate) fn settings(&self) -> MpcSettings {
        self.task.settings
    }

    pub(crate) fn last_plan(&self) -> Option<&Plan> {
        self.last.as_ref()
    }

    /// Dofs that carry an input; empty if the scene has no prediction model.
    pub(crate) fn driven(&self) -> Vec<usize> {
        self.task.dynamics.driven(self.system).unwrap_or_default()
    }

    /// Contacts near the state at which the last plan was made.
    pub(crate) fn near(&self) -> &[LinearContact] {
        &self.near
    }

    /// Number of simulator steps in a planned step.
    fn substeps(&self) -> Result<usize, LoopError> {
        let (plan, step) = (self.task.time_step, self.params.time_step);
        let ratio = plan / step;
        let n = ratio.round();
        // both durations are decimal numbers: allow for rounding of their ratio
        if n >= 1.0 && (ratio - n).abs() < 1e-9 * n {
            Ok(n as usize)
        } else {
            Err(LoopError::Steps { plan, step })
        }
    }

    /// Moves the scene by one planned step. Input forces are constant; commands move linearly over
    /// the simulator's steps to their new value.
    fn simulate(&mut self, input: &[f64]) -> Result<Vec<Moved>, LoopError> {
        let n = self.substeps()?;
        let driven = self.task.dynamics.driven(self.system)?;
        let forced = self.task.dynamics.carries_velocity();
        let (from, mut to, mut tau) = (self.q_cmd.clone(), self.q_cmd.clone(), Vec::new());
        if forced {
            tau.resize(self.v.len(), 0.0);
            driven.iter().zip(input).for_each(|(&dof, u)| tau[dof] = *u);
        } else {
            to = driven.iter().zip(input).map(|(&dof, u)| self.state.q[dof] + u).collect();
        }
        let before = self.state.q.clone();
        let mut moved = Vec::with_capacity(n);
        for k in 1..=n {
            let share = k as f64 / n as f64;
            let input = StepInput {
                q_cmd: from.iter().zip(&to).map(|(a, b)| a + share * (b - a)).collect(),
                tau: tau.clone(),
                ..StepInput::default()
            };
            let report =
                self.system.step_with(&mut self.state, &input, &self.params, &mut self.work)?;
            moved.push(Moved { state: self.state.clone(), report: report.clone(), input });
        }
        self.q_cmd = to;
        if forced {
            self.v.clone_from(&self.state.v);
        } else {
            for (v, (q, old)) in self.v.iter_mut().zip(self.state.q.iter().zip(&before)) {
                *v = (q - old) / self.task.time_step;
            }
        }
        Ok(moved)
    }

    fn contacts(
        &self,
        seen: &Linearisation,
        prediction: &Prediction,
        plan: &Plan,
    ) -> Vec<LoopContact> {
        let (gamma, q_next) = (&plan.impulses[0], &plan.states[1]);
        let each = seen.contacts.iter().zip(&prediction.entries).map(|(at, entry)| {
            let tangents: Vec<f64> = entry.tangents.iter().map(|&i| gamma[i]).collect();
            let mut impulse_W = at.n_AB_W * gamma[entry.normal];
            for (beta, d) in tangents.iter().zip(&entry.directions) {
                for (t, d) in at.tangents_W.iter().zip(d) {
                    impulse_W += *t * (d * beta);
                }
            }
            let motion = q_next.iter().zip(&self.state.q).map(|(b, a)| b - a);
            let closing: f64 = motion.zip(&at.J_n).map(|(dq, J)| J * dq).sum();
            LoopContact {
                at: at.clone(),
                phi_next: at.phi + closing,
                normal: gamma[entry.normal],
                tangents,
                slip: entry.slip.map_or(0.0, |i| gamma[i]),
                impulse_W,
            }
        });
        each.collect()
    }
}

fn systems(predictions: &[Prediction]) -> Vec<crate::Lcs> {
    predictions.iter().map(|p| p.lcs.clone()).collect()
}

/// Impulses of a plan for the steps of the next plan, which begins one step later.
fn planned(
    seen: &Linearisation,
    prediction: &Prediction,
    plan: &Plan,
) -> Vec<Vec<(Key, [f64; 3])>> {
    let ahead = plan.impulses.iter().skip(1).chain(plan.impulses.last());
    let step = |gamma: &Vec<f64>| {
        let each = seen.contacts.iter().zip(&prediction.entries).map(|(c, entry)| {
            let mut impulse = [gamma[entry.normal], 0.0, 0.0];
            for (&column, d) in entry.tangents.iter().zip(&entry.directions) {
                impulse[1] += gamma[column] * d[0];
                impulse[2] += gamma[column] * d[1];
            }
            (key(c), impulse)
        });
        each.collect()
    };
    ahead.map(step).collect()
}
