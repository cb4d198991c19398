//! Derivatives of many steps on all cores. Threads and errors work as for [batches of
//! steps](crate::BatchInput).

use crate::batch::{own_list, own_part, spread};
use crate::derivatives::{
    ContactImpulses, DerivativeError, Derivatives, InputChange, Mode, OutputChange, StateRows,
    StepKinks,
};
use crate::error::StepError;
use crate::params::StepParams;
use crate::state::{Attached, State, StepInput, Wrench};
use crate::system::System;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Steps to differentiate: flat arrays, the last index runs fastest.
#[derive(Clone, Copy, Debug)]
pub struct DifferentiateBatch<'a> {
    /// Number of samples N.
    pub n_samples: usize,
    /// Time at which all samples start, in s.
    pub time: f64,
    /// Configurations, `N × n_q`; or one for all samples, `n_q`.
    pub q: &'a [f64],
    /// Start velocities, `N × n_v`; or one for all samples, `n_v`; or empty for rest. Read only by
    /// formulations that carry velocity.
    pub v: &'a [f64],
    /// What the switched constraints hold, for each sample; or one list for all; or empty for nothing:
    /// see [`State::attached`].
    pub attached: &'a [Vec<Option<Attached>>],
    /// Commands at the end of the step, `N × n_cmd`; or one for all samples, `n_cmd`.
    pub q_cmd: &'a [f64],
    /// Rates of the commands, with `n_cmd_v` columns; or empty for zero.
    pub v_cmd: &'a [f64],
    /// External wrenches, N lists; or one list for all samples; or empty for none.
    pub wrenches: &'a [Vec<Wrench>],
    /// Generalised force on every dof, [`StepInput::tau`], `N × n_v`; or `n_v` for all samples; or
    /// empty for none.
    pub tau: &'a [f64],
    /// Kind of derivative.
    pub mode: Mode,
    /// Weights on the tangent vector of `q_next`, `N × n_v`. If given, gradients of the weighted
    /// sum are written instead of Jacobians.
    pub weights: Option<&'a [f64]>,
    /// Weights on the velocity after the step, `N × n_v`; or empty.
    pub v_weights: &'a [f64],
}

/// Output arrays, `N` rows each. The row of a sample that failed is NaN.
#[derive(Debug)]
pub struct BatchDerivatives<'a> {
    /// Next configurations, `N × n_q`.
    pub q_next: &'a mut [f64],
    /// `∂q_next/∂q`, `N × n_v × n_v`; with weights, the gradient with respect to `q`, `N × n_v`.
    pub by_q: &'a mut [f64],
    /// `∂q_next/∂q_cmd`, `N × n_v × n_cmd_v`; with weights, the gradient with respect to `q_cmd`,
    /// `N × n_cmd_v`.
    pub by_q_cmd: &'a mut [f64],
    /// Outputs of formulations that carry velocity; `None` if not wanted.
    pub velocities: Option<BatchVelocities<'a>>,
    /// Impulses of the contacts of each sample, N of them, with Jacobians, with weights as well; `None`
    /// if not wanted. A sample that failed has no contacts.
    pub impulses: Option<&'a mut [ContactImpulses]>,
}

/// Outputs of formulations that carry velocity, `N` rows each.
#[derive(Debug)]
pub struct BatchVelocities<'a> {
    /// Velocities after the step, `N × n_v`.
    pub v_next: &'a mut [f64],
    /// `∂q_next/∂v`, `N × n_v × n_v`; with weights, the gradient with respect to the start
    /// velocity, `N × n_v`.
    pub by_v: &'a mut [f64],
    /// `∂v_next/∂q`, `N × n_v × n_v`; empty with weights.
    pub v_by_q: &'a mut [f64],
    /// `∂v_next/∂v`, `N × n_v × n_v`; empty with weights.
    pub v_by_v: &'a mut [f64],
    /// `∂v_next/∂q_cmd`, `N × n_v × n_cmd_v`; empty with weights.
    pub v_by_q_cmd: &'a mut [f64],
}

/// Result of one sample: the kinks of its step (points without a two-sided derivative), or an
/// error.
pub type DerivativeOutcome = Result<StepKinks, DerivativeError>;

/// Output slices of one sample.
struct Row<'a> {
    index: usize,
    q_next: &'a mut [f64],
    by_q: &'a mut [f64],
    by_q_cmd: &'a mut [f64],
    velocities: Option<BatchVelocities<'a>>,
    impulses: Option<&'a mut ContactImpulses>,
}

/// Returns a function that hands out successive rows of `width` entries of an array.
pub(crate) fn split<'a>(all: &'a mut [f64], width: usize) -> impl FnMut() -> &'a mut [f64] {
    let mut rest = all;
    move || {
        let (row, tail) = std::mem::take(&mut rest).split_at_mut(width);
        rest = tail;
        row
    }
}

impl System {
    /// Differentiates one step of every sample on `n_threads` threads and returns the outcome of
    /// each.
    ///
    /// A sample that was skipped because the observer stopped the batch has the error
    /// [`DerivativeError::NotPrepared`].
    ///
    /// # Errors
    ///
    /// [`StepError::Params`] and [`StepError::Length`], before any sample is stepped.
    pub fn differentiate_batch(
        &self,
        input: &DifferentiateBatch<'_>,
        params: &StepParams,
        n_threads: usize,
        out: BatchDerivatives<'_>,
        observer: Option<&mut dyn FnMut(usize) -> ControlFlow<()>>,
    ) -> Result<Vec<DerivativeOutcome>, StepError> {
        params.check()?;
        let n = input.n_samples;
        let (n_q, n_v, n_rate) = (self.model.n_q(), self.model.n_v(), self.n_cmd_v());
        let rows = if input.weights.is_some() { 1 } else { n_v };
        // number of rows of velocity derivatives per sample; none with weights
        let own = if input.weights.is_some() { 0 } else { n_v };
        self.check_lengths(input, &out)?;
        let BatchDerivatives { q_next, by_q, by_q_cmd, mut velocities, impulses } = out;
        let mut outcomes = vec![Err(DerivativeError::NotPrepared); n];
        for all in [&mut *q_next, &mut *by_q, &mut *by_q_cmd] {
            all.fill(f64::NAN);
        }
        if let Some(BatchVelocities { v_next, by_v, v_by_q, v_by_v, v_by_q_cmd }) = &mut velocities
        {
            for all in [v_next, by_v, v_by_q, v_by_v, v_by_q_cmd] {
                all.fill(f64::NAN);
            }
        }
        let mut q_next = split(q_next, n_q);
        let mut by_q = split(by_q, rows * n_v);
        let mut by_q_cmd = split(by_q_cmd, rows * n_rate);
        let mut of_v = velocities.map(|v| {
            let square = own * n_v;
            let (mut v_next, mut by_v) = (split(v.v_next, n_v), split(v.by_v, rows * n_v));
            let (mut v_by_q, mut v_by_v) = (split(v.v_by_q, square), split(v.v_by_v, square));
            let mut v_by_q_cmd = split(v.v_by_q_cmd, own * n_rate);
            move || BatchVelocities {
                v_next: v_next(),
                by_v: by_v(),
                v_by_q: v_by_q(),
                v_by_v: v_by_v(),
                v_by_q_cmd: v_by_q_cmd(),
            }
        });
        let mut impulses = impulses.map(|all| {
            all.fill(ContactImpulses::default());
            all.iter_mut()
        });
        let jobs: Vec<(Row<'_>, &mut DerivativeOutcome)> = outcomes
            .iter_mut()
            .enumerate()
            .map(|(index, outcome)| {
                let velocities = of_v.as_mut().map(|next| next());
                let impulses = impulses.as_mut().and_then(Iterator::next);
                let (q_next, by_q, by_q_cmd) = (q_next(), by_q(), by_q_cmd());
                (Row { index, q_next, by_q, by_q_cmd, velocities, impulses }, outcome)
            })
            .collect();
        spread(jobs, n_threads, observer, || {
            let mut memory: Option<Derivatives> = None;
            move |(row, outcome): (Row<'_>, &mut DerivativeOutcome), stopped: bool| {
                if stopped {
                    return;
                }
                let mut own = memory.take().unwrap_or_else(|| self.create_derivatives());
                own.start_cold();
                // a panic loses its memory: the next sample gets new memory
                let done = catch_unwind(AssertUnwindSafe(|| {
                    *outcome = self.differentiate_sample(input, params, &mut own, row);
                    own
                }));
                memory = done.ok();
            }
        });
        Ok(outcomes)
    }

    /// Checks the length of every array.
    fn check_lengths(
        &self,
        input: &DifferentiateBatch<'_>,
        out: &BatchDerivatives<'_>,
    ) -> Result<(), StepError> {
        let n = input.n_samples;
        let (n_q, n_v, n_cmd, n_rate) =
            (self.model.n_q(), self.model.n_v(), self.n_cmd(), self.n_cmd_v());
        let rows = if input.weights.is_some() { 1 } else { n_v };
        for (what, got, wants) in [
            ("q", input.q.len(), [n * n_q, n_q]),
            ("q_cmd", input.q_cmd.len(), [n * n_cmd, n_cmd]),
            ("v_cmd", input.v_cmd.len(), [n * n_rate, 0]),
            ("weights", input.weights.map_or(n * n_v, <[f64]>::len), [n * n_v; 2]),
            ("v_weights", input.v_weights.len(), [n * n_v, 0]),
            ("q_next", out.q_next.len(), [n * n_q; 2]),
            ("by_q", out.by_q.len(), [n * rows * n_v; 2]),
            ("by_q_cmd", out.by_q_cmd.len(), [n * rows * n_rate; 2]),
        ] {
            check(what, got, &wants)?;
        }
        check("v", input.v.len(), &[n * n_v, n_v, 0])?;
        check("tau", input.tau.len(), &[n * n_v, n_v, 0])?;
        check("wrenches", input.wrenches.len(), &[n, 1, 0])?;
        check("attached", input.attached.len(), &[n, 1, 0])?;
        if let Some(impulses) = &out.impulses {
            check("impulses", impulses.len(), &[n])?;
        }
        let own = if input.weights.is_some() { 0 } else { n_v };
        if let Some(v) = &out.velocities {
            for (what, got, want) in [
                ("v_next", v.v_next.len(), n * n_v),
                ("by_v", v.by_v.len(), n * rows * n_v),
                ("v_by_q", v.v_by_q.len(), n * own * n_v),
                ("v_by_v", v.v_by_v.len(), n * own * n_v),
                ("v_by_q_cmd", v.v_by_q_cmd.len(), n * own * n_rate),
            ] {
                check(what, got, &[want])?;
            }
        }
        Ok(())
    }

    fn differentiate_sample(
        &self,
        input: &DifferentiateBatch<'_>,
        params: &StepParams,
        own: &mut Derivatives,
        row: Row<'_>,
    ) -> DerivativeOutcome {
        let Row { index, q_next, by_q, by_q_cmd, velocities, impulses } = row;
        let part = |all: &[f64], each: usize| own_part(all, index, each).to_vec();
        let n_v = self.model.n_v();
        let mut state = State::at_rest(input.time, part(input.q, self.model.n_q()));
        state.v = part(input.v, n_v);
        state.attached = own_list(input.attached, index).to_vec();
        let step = StepInput {
            q_cmd: part(input.q_cmd, self.n_cmd()),
            v_cmd: part(input.v_cmd, self.n_cmd_v()),
            wrenches: own_list(input.wrenches, index).to_vec(),
            tau: part(input.tau, n_v),
        };
        let kinks = self.differentiate(&state, &step, params, input.mode, own)?;
        own.keep_for_impulses(impulses.is_some());
        match (input.weights, velocities) {
            (None, None) => own.jacobian(self, by_q, by_q_cmd)?,
            (None, Some(v)) => {
                let of_q = StateRows { by_q, by_v: v.by_v, by_q_cmd };
                let of_v = StateRows { by_q: v.v_by_q, by_v: v.v_by_v, by_q_cmd: v.v_by_q_cmd };
                own.state_jacobian(self, of_q, of_v)?;
                v.v_next.copy_from_slice(&own.report().v);
            }
            (Some(weights), velocities) => {
                let own_weights = |all: &[f64]| own_part(all, index, n_v).to_vec();
                let weights = OutputChange {
                    q_next: own_weights(weights),
                    v: own_weights(input.v_weights),
                    ..OutputChange::default()
                };
                let mut gradient = InputChange::default();
                own.vjp(self, &weights, &mut gradient)?;
                by_q.copy_from_slice(&gradient.q);
                by_q_cmd.copy_from_slice(&gradient.q_cmd);
                if let Some(v) = velocities {
                    v.by_v.copy_from_slice(&gradient.v);
                    v.v_next.copy_from_slice(&own.report().v);
                }
            }
        }
        if let Some(impulses) = impulses {
            own.contact_impulses(self, impulses)?;
        }
        q_next.copy_from_slice(own.q_next());
        Ok(kinks)
    }
}

fn check(what: &'static str, got: usize, wants: &[usize]) -> Result<(), StepError> {
    if wants.contains(&got) { Ok(()) } else { Err(StepError::Length { what, got, want: wants[0] }) }
}
