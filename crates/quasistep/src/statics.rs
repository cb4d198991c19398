//! Statics: where a system comes to rest, and the largest wrench that it holds.
//!
//! At rest `v = 0`, and a step says `0 = K_a (q_cmd − q) + tau + Jᵀ lambda / h` with forces inside
//! their friction cones and at closed gaps alone (Pang21 (9)): equilibrium with Coulomb friction,
//! whatever the step size, the inertia and the formulation. So rest is found by stepping.

use crate::error::{ParamError, StepError};
use crate::params::StepParams;
use crate::report::StepReport;
use crate::state::{Checkpoint, State, StepInput, Wrench};
use crate::system::System;
use crate::workspace::Workspace;

/// When a system counts as at rest, and how long it may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RestRule {
    /// No dof moves faster, in m/s or rad/s, > 0. Default 1e-8: far above what the solver leaves on
    /// a sticking contact (1e-10), far below any motion of interest.
    pub speed: f64,
    /// Steps that it may take, ≥ 1. Default 1000.
    pub max_steps: usize,
}

impl Default for RestRule {
    fn default() -> Self {
        Self { speed: 1e-8, max_steps: 1000 }
    }
}

impl RestRule {
    fn check(&self) -> Result<(), ParamError> {
        if !(self.speed > 0.0 && self.speed.is_finite()) {
            let (seen, rule) = (format!("{}", self.speed), "> 0 m/s".into());
            return Err(ParamError { name: "rest_speed", seen, rule });
        }
        if self.max_steps == 0 {
            return Err(ParamError { name: "max_steps", seen: "0".into(), rule: "≥ 1".into() });
        }
        Ok(())
    }
}

/// A static question has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StaticsError {
    /// A step on the way was not taken.
    #[error(transparent)]
    Step(#[from] StepError),
    /// It still moves: it falls, slides or turns away, or needs more steps.
    #[error(
        "no rest after {steps} steps: `{dof}` still moves at {speed:.1e} (m/s or rad/s); support it, \
         or allow more or longer steps"
    )]
    NotAtRest {
        /// Steps taken.
        steps: usize,
        /// Name of the fastest dof.
        dof: String,
        /// Its speed, in m/s or rad/s.
        speed: f64,
    },
}

impl From<ParamError> for StaticsError {
    fn from(error: ParamError) -> Self {
        Self::Step(error.into())
    }
}

/// Answer of [`System::largest_wrench`], as factors on the wrench that was asked about.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldWrench {
    /// The system rests under this much of the wrench.
    pub held: f64,
    /// It does not rest under this much; infinite if `held` is the largest that was to be tried.
    pub lost: f64,
    /// Configuration at rest under `held`.
    pub q: Vec<f64>,
    /// Loads that were tried.
    pub trials: usize,
}

impl System {
    /// Steps under constant input until nothing moves; `state` is then at rest, and the report holds
    /// the joint efforts and contact forces of the equilibrium. Its time does not pass.
    ///
    /// # Errors
    ///
    /// See [`StaticsError`]. On error `state` is untouched.
    pub fn settle<'w>(
        &self,
        state: &mut State,
        input: &StepInput,
        params: &StepParams,
        rule: &RestRule,
        work: &'w mut Workspace,
    ) -> Result<&'w StepReport, StaticsError> {
        rule.check()?;
        let mut moving = state.clone();
        for _ in 0..rule.max_steps {
            // where velocity is carried over, a turning point is slow as well: slow before and after is rest
            let began_slow = moving.v.iter().all(|v| v.abs() <= rule.speed);
            self.step_with(&mut moving, input, params, work)?;
            if began_slow && fastest(work).1 <= rule.speed {
                state.q = moving.q;
                state.v.clear();
                return Ok(&work.report);
            }
        }
        let (dof, speed) = fastest(work);
        let dof = self.dof_names().swap_remove(dof);
        Err(StaticsError::NotAtRest { steps: rule.max_steps, dof, speed })
    }

    /// The largest multiple of `wrench`, up to `most`, that the system holds under constant input: it
    /// comes to rest under it from its rest without it. To a relative `tolerance`, by bisection.
    ///
    /// Robots yield as their springs do; what their grasp holds after that counts. The wrench is
    /// added to those of `input`.
    ///
    /// # Errors
    ///
    /// See [`StaticsError`]: parameters out of range, or no rest even without the wrench.
    #[expect(
        clippy::too_many_arguments,
        reason = "a load, its bound and its precision beside those of a step"
    )]
    pub fn largest_wrench(
        &self,
        state: &State,
        input: &StepInput,
        wrench: &Wrench,
        most: f64,
        tolerance: f64,
        params: &StepParams,
        rule: &RestRule,
        work: &mut Workspace,
    ) -> Result<HeldWrench, StaticsError> {
        for (name, value) in [("most", most), ("tolerance", tolerance)] {
            if !(value > 0.0 && value.is_finite()) {
                let (seen, rule) = (format!("{value}"), "> 0".into());
                return Err(ParamError { name, seen, rule }.into());
            }
        }
        let mut loaded = input.clone();
        loaded.wrenches.push(Wrench { force_W: wrench.force_W * 0.0, ..wrench.clone() });
        let last = loaded.wrenches.len() - 1;
        let mut trials = 0;
        let mut rest_under = |factor: f64, from: &State| -> Result<State, StaticsError> {
            trials += 1;
            loaded.wrenches[last].force_W = wrench.force_W * factor;
            loaded.wrenches[last].torque_W = wrench.torque_W * factor;
            let mut state = from.clone();
            // every trial starts cold: its answer is that of its load alone
            work.resume(&Checkpoint::default());
            self.settle(&mut state, &loaded, params, rule, work).map(|_| state)
        };
        let base = rest_under(0.0, state)?;
        let (mut held, mut lost) = (0.0, most);
        let mut at_rest = base.clone();
        if let Ok(state) = rest_under(most, &base) {
            return Ok(HeldWrench { held: most, lost: f64::INFINITY, q: state.q, trials });
        }
        // the last clause ends it where the floats do
        while lost - held > tolerance * lost && lost > most * f64::EPSILON {
            let middle = 0.5 * (held + lost);
            match rest_under(middle, &base) {
                Ok(state) => (held, at_rest) = (middle, state),
                Err(_) => lost = middle,
            }
        }
        Ok(HeldWrench { held, lost, q: at_rest.q, trials })
    }
}

/// The fastest dof of the last step, and its speed.
fn fastest(work: &Workspace) -> (usize, f64) {
    let speeds = work.report.v.iter().map(|v| v.abs()).enumerate();
    speeds.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
}
