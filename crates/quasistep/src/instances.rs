//! Many systems at once that go on from step to step, as environments for learning do.
//!
//! An [`Instance`] keeps its state and its memory between steps, and instances may have systems of
//! their own. They share nothing that changes, so results have the same bits for any number of threads.

use crate::batch::{SampleError, spread};
use crate::error::StepError;
use crate::params::StepParams;
use crate::report::StepReport;
use crate::state::{State, StepInput};
use crate::system::System;
use crate::workspace::Workspace;
use quasistep_math::Vec3;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A system, its state, and the memory of its steps.
#[derive(Debug)]
pub struct Instance {
    system: Arc<System>,
    params: StepParams,
    state: State,
    work: Workspace,
    /// Whether a step was taken since the start.
    taken: bool,
}

impl Instance {
    /// An instance that starts in `state`.
    pub fn new(system: Arc<System>, params: StepParams, state: State) -> Self {
        let work = workspace(&system);
        Self { system, params, state, work, taken: false }
    }

    /// Starts again in `state`, from a cold start of the solver.
    pub fn restart(&mut self, state: State) {
        self.work.start_from(None);
        (self.state, self.taken) = (state, false);
    }

    /// Takes a step. If it fails, the state remains that of the step before.
    ///
    /// # Errors
    ///
    /// Those of [`System::step`]; a panic inside this crate (a bug) is caught.
    pub fn step(&mut self, input: &StepInput) -> Result<(), SampleError> {
        let Self { system, params, state, work, .. } = self;
        let step = AssertUnwindSafe(|| system.step_with(state, input, params, work).map(drop));
        match catch_unwind(step) {
            Ok(result) => result?,
            Err(panic) => {
                self.work = workspace(&self.system);
                return Err(SampleError::of_panic(&*panic));
            }
        }
        self.taken = true;
        Ok(())
    }

    /// Current state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The system.
    pub fn system(&self) -> &Arc<System> {
        &self.system
    }

    /// Parameters of the steps.
    pub fn params(&self) -> &StepParams {
        &self.params
    }

    /// Report of the last step; `None` at the start.
    pub fn report(&self) -> Option<&StepReport> {
        self.taken.then(|| self.work.last_report())
    }

    /// Sum of the contact forces of body `a` on body `b` in the last step, in N; zero at the start.
    pub fn force_between(&self, a: usize, b: usize) -> Vec3 {
        let contacts = self.report().map_or(&[][..], |report| &report.contacts);
        contacts.iter().fold(Vec3::ZERO, |sum, contact| {
            match (contact.body_a as usize, contact.body_b as usize) {
                pair if pair == (a, b) => sum + contact.net_force_W(),
                pair if pair == (b, a) => sum - contact.net_force_W(),
                _ => sum,
            }
        })
    }

    /// Depth of the deepest overlap in the current state, in m; 0 if nothing overlaps.
    ///
    /// # Errors
    ///
    /// The configuration is not valid.
    pub fn overlap(&self) -> Result<f64, StepError> {
        let near = self.system.near_pairs(&self.state.q, self.params.contact_margin)?;
        Ok(near.into_iter().fold(0.0, |deepest, (_, distance)| deepest.max(-distance)))
    }
}

/// Calls `work` with each of `items`, on `n_threads` threads.
pub fn on_threads<T: Send>(items: Vec<T>, n_threads: usize, work: impl Fn(T) + Sync) {
    spread(items, n_threads, None, || |item, _| work(item));
}

/// Number of dofs from which bodies may rest. With fewer, watching them costs more than it saves:
/// a third of the time of a step of two bodies.
const REST_FROM: usize = 24;

fn workspace(system: &System) -> Workspace {
    let mut work = system.create_workspace();
    work.set_rest(system.model().n_v() >= REST_FROM);
    work
}
