//! Derivatives of runs: the matrices of every step, and sensitivities with respect to parameters of
//! the system, step by step.
//!
//! ```text
//! dx_0 = 0,     dx_{k+1} = A_k dx_k + B_k du_k + C_k dθ
//! ```
//!
//! `x` is the configuration on its tangent space. Where velocity is carried from step to step, `x`
//! has the velocity behind it. Steps are the scene's own, or relaxed ones ([`Mode::Smooth`]).
//! Relaxed contacts push before they touch. Their gaps are linearised and their pairs are those
//! within the margin, so a large step may end inside a body: [`RunOutcome::overlap`] tells.

use crate::batch::{BatchInput, own_list, own_part, spread};
use crate::batch_derivatives::split;
use crate::derivatives::{
    ContactImpulses, DerivativeError, Derivatives, Mode, OutputChange, StateRows, StepKinks,
};
use crate::error::StepError;
use crate::params::StepParams;
use crate::report::ContactReport;
use crate::state::{State, StepInput};
use crate::sweep::{Breach, Broken};
use crate::system::System;
use crate::system_change::SystemChange;
use crate::workspace::Workspace;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Results of N runs of T steps with respect to P parameters: flat arrays, the last index runs
/// fastest. If a run ends early, its remaining rows are NaN.
#[derive(Debug)]
pub struct RunDerivatives<'a> {
    /// Configurations after each step, `N × T × n_q`.
    pub q: &'a mut [f64],
    /// Derivatives of the configurations with respect to the parameters, in coordinates, `N × T × P
    /// × n_q`.
    pub by: &'a mut [f64],
    /// Matrices of every step, if wanted.
    pub matrices: Option<RunMatrices<'a>>,
}

/// Matrices of every step. A state has `n_x` entries: `n_v` of the configuration on its tangent
/// space, and `n_v` of the velocity if the motion carries it ([`System::state_size`]).
#[derive(Debug)]
pub struct RunMatrices<'a> {
    /// `∂x_{k+1}/∂x_k`, `N × T × n_x × n_x`.
    pub by_x: &'a mut [f64],
    /// `∂x_{k+1}/∂q_cmd` on the tangent space of the commands, `N × T × n_x × n_cmd_v`.
    pub by_q_cmd: &'a mut [f64],
    /// `∂x_{k+1}/∂θ`, a row for each parameter, `N × T × P × n_x`.
    pub by_parameters: &'a mut [f64],
}

/// How runs are differentiated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunMode {
    /// Kind of step.
    pub mode: Mode,
    /// Whether the contacts of every step are kept in [`RunOutcome::contacts`].
    pub contacts: bool,
    /// Whether the impulses of every step with their derivatives are kept in
    /// [`RunOutcome::impulses`]; they need matrices.
    pub impulses: bool,
}

impl From<Mode> for RunMode {
    fn from(mode: Mode) -> Self {
        Self { mode, contacts: false, impulses: false }
    }
}

/// Outcome of one run.
#[derive(Clone, Debug, Default)]
pub struct RunOutcome {
    /// Number of steps taken; equal to T if there is no error.
    pub n_steps: usize,
    /// Kinks of all steps.
    pub kinks: StepKinks,
    /// First place where relaxed steps bring two bodies into one another.
    pub overlap: Option<RunOverlap>,
    /// Contacts of every step, with their impulses, if wanted.
    pub contacts: Vec<Vec<ContactReport>>,
    /// Impulses of every step with their derivatives, if wanted.
    pub impulses: Vec<ContactImpulses>,
    /// Error of the step that has no derivatives; none is taken after it.
    pub error: Option<DerivativeError>,
}

/// Place of a run at which two shapes overlap by more than
/// [`max_overlap`](StepParams::max_overlap).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunOverlap {
    /// Index of the step.
    pub step: usize,
    /// Share of the step's motion at which the overlap was seen, from 0 to 1.
    pub share: f64,
    /// Geoms that overlap.
    pub geoms: [u32; 2],
    /// Their signed distance there, in m, < 0.
    pub phi: f64,
}

/// Returns a function that hands out the parts of `n` runs.
fn rows_of<'a>(all: &'a mut [f64], n: usize) -> impl FnMut() -> &'a mut [f64] {
    let width = all.len() / n.max(1);
    split(all, width)
}

impl RunOverlap {
    fn of(found: &Breach, step: usize) -> Option<Self> {
        let Broken::Pair(a, b) = found.what else { return None };
        Some(Self { step, share: found.broken, geoms: [a, b], phi: found.phi })
    }
}

/// A run in the queue: its index and its output slices.
struct Job<'a> {
    index: usize,
    q: &'a mut [f64],
    by: &'a mut [f64],
    matrices: Option<RunMatrices<'a>>,
    outcome: &'a mut RunOutcome,
}

impl System {
    /// Number of entries of a state's change: `n_v`, or `2 n_v` if the motion carries velocity.
    pub fn state_size(&self, params: &StepParams) -> usize {
        if params.formulation.carries_velocity() { 2 * self.model.n_v() } else { self.model.n_v() }
    }

    /// Runs all samples of `input`, with the matrices of every step and derivatives with respect to
    /// the parameters of `changes`, on `n_threads` threads. Returns the outcome of each run. A run
    /// ends at a step that has no derivatives. Warm starts are not read: each run starts cold, and
    /// every later step starts from the one before.
    ///
    /// # Errors
    ///
    /// [`DerivativeError::Formulation`] and invalid lengths, before any sample is stepped.
    pub fn run_derivatives(
        &self,
        input: &BatchInput<'_>,
        changes: &[SystemChange],
        params: &StepParams,
        mode: RunMode,
        n_threads: usize,
        out: RunDerivatives<'_>,
    ) -> Result<Vec<RunOutcome>, DerivativeError> {
        params.check_differentiable()?;
        self.check_surfaces()?;
        params.check().map_err(StepError::from)?;
        self.check_batch(input, out.q.len())?;
        self.check_runs(input, changes.len(), params, mode.mode, &out)?;
        let RunDerivatives { q, by, mut matrices } = out;
        let n = input.n_samples;
        for all in [&mut *q, &mut *by] {
            all.fill(f64::NAN);
        }
        if let Some(RunMatrices { by_x, by_q_cmd, by_parameters }) = &mut matrices {
            for all in [by_x, by_q_cmd, by_parameters] {
                all.fill(f64::NAN);
            }
        }
        let mut outcomes = vec![RunOutcome::default(); n];
        let (mut q, mut by) = (rows_of(q, n), rows_of(by, n));
        let mut matrices =
            matrices.map(|m| [m.by_x, m.by_q_cmd, m.by_parameters].map(|all| rows_of(all, n)));
        let jobs = outcomes.iter_mut().enumerate().map(|(index, outcome)| {
            let matrices = matrices.as_mut().map(|[by_x, by_q_cmd, by_parameters]| {
                let (by_x, by_q_cmd) = (by_x(), by_q_cmd());
                RunMatrices { by_x, by_q_cmd, by_parameters: by_parameters() }
            });
            Job { index, q: q(), by: by(), matrices, outcome }
        });
        spread(jobs.collect(), n_threads, None, || {
            |job: Job<'_>, _: bool| {
                let Job { index, q, by, matrices, outcome } = job;
                // a panic ends one run, not all
                let run = AssertUnwindSafe(|| {
                    let out = RunDerivatives { q, by, matrices };
                    self.differentiate_run(input, changes, params, (mode, index), out, outcome)
                });
                let done = catch_unwind(run).unwrap_or(Err(DerivativeError::NotPrepared));
                outcome.error = done.err();
            }
        });
        Ok(outcomes)
    }

    /// Checks the lengths of the outputs, and that the step has the wanted ones.
    fn check_runs(
        &self,
        input: &BatchInput<'_>,
        n_parameters: usize,
        params: &StepParams,
        mode: Mode,
        out: &RunDerivatives<'_>,
    ) -> Result<(), DerivativeError> {
        let rows = input.n_samples * input.n_steps;
        let (n_q, n_x) = (self.model.n_q(), self.state_size(params));
        let length = |what, got, want| {
            if got == want { Ok(()) } else { Err(DerivativeError::Length { what, got, want }) }
        };
        length("q", out.q.len(), rows * n_q)?;
        length("by", out.by.len(), rows * n_parameters * n_q)?;
        if let Some(matrices) = &out.matrices {
            length("by_x", matrices.by_x.len(), rows * n_x * n_x)?;
            length("by_q_cmd", matrices.by_q_cmd.len(), rows * n_x * self.n_cmd_v())?;
            length("by_parameters", matrices.by_parameters.len(), rows * n_parameters * n_x)?;
        }
        if params.sizes.is_some() && (out.matrices.is_some() || mode != Mode::Exact) {
            let (what, seen, rule) =
                ("tolerance", "given", "left out: matrices and relaxed steps have one size");
            return Err(DerivativeError::Formulation { what, seen, rule });
        }
        Ok(())
    }

    fn differentiate_run(
        &self,
        input: &BatchInput<'_>,
        changes: &[SystemChange],
        params: &StepParams,
        (mode, index): (RunMode, usize),
        mut out: RunDerivatives<'_>,
        outcome: &mut RunOutcome,
    ) -> Result<(), DerivativeError> {
        let (n_q, n_v) = (self.model.n_q(), self.model.n_v());
        let (n_cmd, n_rate) = (self.n_cmd(), self.n_cmd_v());
        let q_cmd = own_part(input.q_cmd, index, input.n_steps * n_cmd);
        let v_cmd = own_part(input.v_cmd, index, input.n_steps * n_rate);
        let wrenches = own_part(input.wrenches, index, input.n_steps);
        let tau = own_part(input.tau, index, input.n_steps * n_v);
        let mut state = State::at_rest(input.time, own_part(input.q, index, n_q).to_vec());
        state.attached = own_list(input.attached, index).to_vec();
        let n_x = self.state_size(params);
        if n_x > n_v {
            state.v = own_part(input.v, index, n_v).to_vec();
        }
        let mut run = Propagated {
            system: self,
            changes,
            mode,
            derivatives: self.create_derivatives(),
            dx: vec![(vec![0.0; n_v], Vec::new()); changes.len()],
            change: OutputChange::default(),
            blocks: Default::default(),
            outcome,
        };
        let mut work = params.sizes.map(|_| self.create_workspace());
        for k in 0..input.n_steps {
            let part = |all: &[f64], n: usize| all.get(k * n..(k + 1) * n).unwrap_or(&[]).to_vec();
            let row = StepInput {
                q_cmd: part(q_cmd, n_cmd),
                v_cmd: part(v_cmd, n_rate),
                wrenches: wrenches.get(k).cloned().unwrap_or_default(),
                tau: part(tau, n_v),
            };
            let n_p = changes.len();
            match &mut work {
                None => {
                    let of_step = out.matrices.as_mut().map(|all| RunMatrices {
                        by_x: &mut all.by_x[k * n_x * n_x..(k + 1) * n_x * n_x],
                        by_q_cmd: &mut all.by_q_cmd[k * n_x * n_rate..(k + 1) * n_x * n_rate],
                        by_parameters: &mut all.by_parameters[k * n_p * n_x..(k + 1) * n_p * n_x],
                    });
                    run.push(&mut state, &row, params, of_step)?;
                    state.time = crate::step::end_of_step(state.time, params.time_step);
                }
                Some(work) => {
                    self.cover_row_with(&mut run, &mut state, &row, (input.every, params), work)?;
                }
            }
            for (p, (dq, _)) in run.dx.iter().enumerate() {
                let row = (k * n_p + p) * n_q;
                self.model.coordinate_change(&state.q, dq, &mut out.by[row..row + n_q]);
            }
            out.q[k * n_q..(k + 1) * n_q].copy_from_slice(&state.q);
            run.outcome.n_steps = k + 1;
        }
        Ok(())
    }

    /// Covers a row in steps by tolerance, and differentiates each at the size that was taken.
    fn cover_row_with(
        &self,
        run: &mut Propagated<'_>,
        state: &mut State,
        row: &StepInput,
        (every, params): (Option<f64>, &StepParams),
        work: &mut Workspace,
    ) -> Result<(), DerivativeError> {
        let mut from = state.clone();
        self.cover_row(state, row, every, params, work, &mut |pair, end| {
            for step in pair {
                let own = StepParams { time_step: step.report.time_step, ..params.clone() };
                run.push(&mut from, &step.input, &own, None)?;
                from.time = step.state.time;
            }
            end.clone_from(&from);
            Ok(())
        })
    }
}

/// A run that is differentiated: the change of its state with each parameter.
struct Propagated<'a> {
    system: &'a System,
    changes: &'a [SystemChange],
    mode: RunMode,
    derivatives: Derivatives,
    /// Changes of `q`, on the tangent space, and of `v`.
    dx: Vec<(Vec<f64>, Vec<f64>)>,
    change: OutputChange,
    /// Blocks of the matrices of a motion that carries velocity: of `q_next` and `v_next`, each by
    /// `q`, `v` and the command.
    blocks: [Vec<f64>; 6],
    outcome: &'a mut RunOutcome,
}

impl Propagated<'_> {
    /// Takes a step from `state`, and its derivatives; the time stays.
    fn push(
        &mut self,
        state: &mut State,
        input: &StepInput,
        params: &StepParams,
        matrices: Option<RunMatrices<'_>>,
    ) -> Result<(), DerivativeError> {
        let carried = params.formulation.carries_velocity();
        let Self { system, derivatives, outcome, mode, .. } = self;
        let kinks = system.differentiate(state, input, params, mode.mode, derivatives)?;
        outcome.kinks.add(&kinks);
        // what is found at a start that does not move does not move either
        if self.dx.iter().any(|(dq, _)| dq.iter().any(|d| *d != 0.0)) {
            derivatives.check_found(
                "within the run, and holds what it finds there; begin the run where it attaches, or give it frames",
            )?;
        }
        if mode.contacts {
            outcome.contacts.push(derivatives.report().contacts.clone());
        }
        if mode.mode != Mode::Exact && outcome.overlap.is_none() {
            let step = outcome.n_steps;
            let found = derivatives.overlap_along(system, params)?;
            outcome.overlap = found.and_then(|found| RunOverlap::of(&found, step));
        }
        state.attached = derivatives.attached().to_vec();
        state.q.copy_from_slice(derivatives.q_next());
        if carried {
            state.v.clone_from(&derivatives.report().v);
        }
        match matrices {
            Some(matrices) => {
                self.derivatives.keep_for_impulses(self.mode.impulses);
                self.fill(carried, matrices)?;
                if self.mode.impulses {
                    let mut impulses = ContactImpulses::default();
                    self.derivatives.contact_impulses(self.system, &mut impulses)?;
                    self.outcome.impulses.push(impulses);
                }
            }
            None => self.propagate(carried)?,
        }
        self.derivatives.advance();
        Ok(())
    }

    /// Changes of the state after the step, by products.
    fn propagate(&mut self, carried: bool) -> Result<(), DerivativeError> {
        let Self { system, changes, derivatives, dx, change: out, .. } = self;
        for (change, (dq, dv)) in changes.iter().zip(dx) {
            // each substep has contacts of its own
            let of = |part: &Derivatives| change.of_step(system, part, (dq.clone(), dv.clone()));
            derivatives.jvp_of(system, &of, false, out)?;
            dq.clone_from(&out.q_next);
            if carried {
                dv.clone_from(&out.v);
            }
        }
        Ok(())
    }

    /// Matrices of the step, and with them the changes of the state after it.
    fn fill(&mut self, carried: bool, to: RunMatrices<'_>) -> Result<(), DerivativeError> {
        let Self { system, changes, derivatives, dx, change: out, blocks, .. } = self;
        let (n_v, n_rate) = (system.model.n_v(), system.n_cmd_v());
        let RunMatrices { by_x, by_q_cmd, by_parameters } = to;
        if carried {
            for (k, block) in blocks.iter_mut().enumerate() {
                block.resize(n_v * if k % 3 == 2 { n_rate } else { n_v }, 0.0);
            }
            let [q_by_q, q_by_v, q_by_u, v_by_q, v_by_v, v_by_u] = blocks;
            let of_q = StateRows { by_q: q_by_q, by_v: q_by_v, by_q_cmd: q_by_u };
            let of_v = StateRows { by_q: v_by_q, by_v: v_by_v, by_q_cmd: v_by_u };
            derivatives.state_jacobian(system, of_q, of_v)?;
            let parts = [(q_by_q, q_by_v, q_by_u), (v_by_q, v_by_v, v_by_u)];
            for (half, (by_q, by_v, by_u)) in parts.into_iter().enumerate() {
                for i in 0..n_v {
                    let row = half * n_v + i;
                    let to = &mut by_x[row * 2 * n_v..(row + 1) * 2 * n_v];
                    to[..n_v].copy_from_slice(&by_q[i * n_v..(i + 1) * n_v]);
                    to[n_v..].copy_from_slice(&by_v[i * n_v..(i + 1) * n_v]);
                    by_q_cmd[row * n_rate..(row + 1) * n_rate]
                        .copy_from_slice(&by_u[i * n_rate..(i + 1) * n_rate]);
                }
            }
        } else {
            derivatives.jacobian(system, by_x, by_q_cmd)?;
        }
        let n_x = if carried { 2 * n_v } else { n_v };
        for ((change, (dq, dv)), by) in
            changes.iter().zip(dx).zip(by_parameters.chunks_exact_mut(n_x))
        {
            let of = |part: &Derivatives| change.of_step(system, part, (Vec::new(), Vec::new()));
            derivatives.jvp_of(system, &of, false, out)?;
            by[..n_v].copy_from_slice(&out.q_next);
            if carried {
                by[n_v..].copy_from_slice(&out.v);
                dv.resize(n_v, 0.0);
            }
            let before: Vec<f64> = dq.iter().chain(&*dv).copied().collect();
            for (i, entry) in dq.iter_mut().chain(dv.iter_mut()).enumerate() {
                let row = &by_x[i * n_x..(i + 1) * n_x];
                *entry = by[i] + row.iter().zip(&before).map(|(a, dx)| a * dx).sum::<f64>();
            }
        }
        Ok(())
    }
}

/// Gradient of `Σ_k w_k · x_{k+1}` of one run, for weights `w` on the states after its steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunGradient {
    /// With respect to the state at the start, length `n_x`.
    pub x: Vec<f64>,
    /// With respect to the command of every step, `T × n_cmd_v`.
    pub q_cmd: Vec<f64>,
    /// With respect to the parameters, length P.
    pub parameters: Vec<f64>,
}

impl RunMatrices<'_> {
    /// Gradient of the weighted sum of the states of one run: `λ_k = w_k + A_{k+1}ᵀ λ_{k+1}`.
    /// `weights` has `T × n_x` entries, `self` the matrices of this run alone.
    pub fn gradient(&self, weights: &[f64], n_x: usize) -> RunGradient {
        let steps = weights.len() / n_x.max(1);
        let width = |all: &[f64]| all.len() / steps.max(1);
        let (n_rate, n_p) = (width(self.by_q_cmd) / n_x, width(self.by_parameters) / n_x);
        let mut out = RunGradient {
            x: vec![0.0; n_x],
            q_cmd: vec![0.0; steps * n_rate],
            parameters: vec![0.0; n_p],
        };
        for k in (0..steps).rev() {
            let lambda: Vec<f64> =
                out.x.iter().zip(&weights[k * n_x..]).map(|(later, w)| later + w).collect();
            out.x.fill(0.0);
            for (i, l) in lambda.iter().enumerate() {
                let row = k * n_x + i;
                let add = |to: &mut [f64], from: &[f64]| {
                    to.iter_mut().zip(from).for_each(|(to, from)| *to += l * from);
                };
                add(&mut out.x, &self.by_x[row * n_x..(row + 1) * n_x]);
                let own = &self.by_q_cmd[row * n_rate..(row + 1) * n_rate];
                add(&mut out.q_cmd[k * n_rate..(k + 1) * n_rate], own);
            }
            let rows = self.by_parameters[k * n_p * n_x..(k + 1) * n_p * n_x].chunks_exact(n_x);
            for (to, by) in out.parameters.iter_mut().zip(rows) {
                *to += by.iter().zip(&lambda).map(|(by, l)| by * l).sum::<f64>();
            }
        }
        out
    }
}
