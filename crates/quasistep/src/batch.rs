//! Many samples at once, on all cores.
//!
//! A sample is a start configuration and its own commands; it starts cold, or from its own warm
//! start. Samples share nothing but the system, so the results have the same bits for any number of
//! threads and any way of splitting them. One that cannot be stepped is marked and leaves the others
//! alone. Memory is one [`Workspace`] a thread beside the caller's own arrays.
//!
//! Threads live as long as the call: a process may fork between two batches.

use crate::error::StepError;
use crate::params::StepParams;
use crate::report::StepReport;
use crate::state::{State, StepInput, WarmStart, Wrench};
use crate::system::System;
use crate::workspace::Workspace;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// What every sample of a batch starts from and is told; flat arrays, the last index runs fastest.
#[derive(Clone, Debug, Default)]
pub struct BatchInput<'a> {
    /// Number of samples N.
    pub n_samples: usize,
    /// Number of steps T of each sample.
    pub n_steps: usize,
    /// Time at which all start, in s.
    pub time: f64,
    /// Start configurations, `N × n_q`; or `n_q`, the same one for all.
    pub q: &'a [f64],
    /// Start velocities, `N × n_v`; or `n_v`, the same one for all; or empty: rest. Read where velocity is
    /// carried over.
    pub v: &'a [f64],
    /// Commands at the ends of the steps, `N × T × n_cmd`; or `T × n_cmd`, the same ones for all.
    pub q_cmd: &'a [f64],
    /// Their rates with `n_cmd_v` columns, shaped like `q_cmd`; or empty for zero.
    pub v_cmd: &'a [f64],
    /// External wrenches of each step, the same ones for all samples: T lists; or empty for none.
    pub wrenches: &'a [Vec<Wrench>],
    /// Generalised forces of each step, [`StepInput::tau`], in N or N·m, the same ones for all samples: `T × n_v`; or empty
    /// for none.
    pub tau: &'a [f64],
    /// What each sample's first step starts from, N of them; or empty: all start cold.
    pub warm: &'a [WarmStart],
}

/// What is kept of every sample, beside its configurations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchKeep {
    /// The report of its last step.
    pub report: bool,
    /// What its next step would start from.
    pub warm: bool,
}

/// What differs from sample to sample, where more than configurations and commands do.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The sample's own system, with coordinates and commands as those of the batch.
    pub system: Arc<System>,
    /// How its steps are taken.
    pub params: StepParams,
    /// External wrenches of each step: T lists; or empty for none.
    pub wrenches: Vec<Vec<Wrench>>,
    /// Generalised forces of each step, in N or N·m: `T × n_v`; or empty for none.
    pub tau: Vec<f64>,
}

/// Makes the variant of a sample, by its number; on any thread, once for each sample.
pub type MakeVariant<'a> = &'a (dyn Fn(usize) -> Result<Variant, SampleError> + Sync);

/// How one sample went.
#[derive(Clone, Debug, Default)]
pub struct SampleOutcome {
    /// Steps taken: all of them, if there is no error.
    pub n_steps: usize,
    /// Why the next one was not taken.
    pub error: Option<SampleError>,
    /// Report of the last step that was taken, if asked for.
    pub report: Option<Box<StepReport>>,
    /// What the next one would start from, if asked for.
    pub warm: WarmStart,
    /// Velocity after it; empty where none is carried over.
    pub v: Vec<f64>,
}

/// A sample ended early.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SampleError {
    /// A step was not taken.
    #[error(transparent)]
    Step(#[from] StepError),
    /// A mistake in this program, caught so that the other samples live.
    #[error("internal error: {0}; please report it")]
    Internal(String),
    /// The sample's own system could not be made, or has other coordinates than the batch.
    #[error("{0}")]
    Variant(String),
    /// The observer ended the batch before this sample was begun.
    #[error("the batch was stopped before this sample")]
    Stopped,
}

/// A sample in the queue: its number and where its results go.
struct Job<'a> {
    index: usize,
    q: &'a mut [f64],
    outcome: &'a mut SampleOutcome,
}

/// How often the observer is asked, if there is one.
const LOOK: Duration = Duration::from_millis(50);

impl System {
    /// Rolls out all samples of `input` on `n_threads` threads and returns how each went.
    ///
    /// `q_out` receives the configurations after every step, `N × T × n_q`, or after the last one
    /// taken, `N × n_q`, as its length says. Rows of steps that were not taken are NaN. `observer`
    /// is asked on the calling thread, some times a second and at the end, with the number of
    /// finished samples; once it breaks no further sample is begun.
    ///
    /// # Errors
    ///
    /// [`StepError::Params`] and [`StepError::Length`] before anything is stepped. What happens to
    /// a sample is in its outcome.
    pub fn step_batch(
        &self,
        input: &BatchInput<'_>,
        params: &StepParams,
        keep: BatchKeep,
        n_threads: usize,
        q_out: &mut [f64],
        observer: Option<&mut dyn FnMut(usize) -> ControlFlow<()>>,
    ) -> Result<Vec<SampleOutcome>, StepError> {
        params.check()?;
        self.run_batch(input, &Worlds::Same(params), keep, n_threads, q_out, observer)
    }

    /// As [`step_batch`](Self::step_batch), every sample in a system of its own that `make` makes when its turn
    /// comes: one is in memory on each thread. This system says how many coordinates and commands they
    /// have. A sample whose system cannot be made is marked. `input.wrenches` are not read.
    ///
    /// # Errors
    ///
    /// As [`step_batch`](Self::step_batch).
    pub fn step_varied_batch(
        &self,
        input: &BatchInput<'_>,
        make: MakeVariant<'_>,
        keep: BatchKeep,
        n_threads: usize,
        q_out: &mut [f64],
        observer: Option<&mut dyn FnMut(usize) -> ControlFlow<()>>,
    ) -> Result<Vec<SampleOutcome>, StepError> {
        self.run_batch(input, &Worlds::Own(make), keep, n_threads, q_out, observer)
    }

    fn run_batch(
        &self,
        input: &BatchInput<'_>,
        worlds: &Worlds<'_>,
        keep: BatchKeep,
        n_threads: usize,
        q_out: &mut [f64],
        observer: Option<&mut dyn FnMut(usize) -> ControlFlow<()>>,
    ) -> Result<Vec<SampleOutcome>, StepError> {
        self.check_batch(input, q_out.len())?;
        let n = input.n_samples;
        let mut outcomes = vec![SampleOutcome::default(); n];
        if n == 0 {
            return Ok(outcomes);
        }
        q_out.fill(f64::NAN);
        let width = q_out.len() / n;
        // a system without coordinates has empty rows
        let mut rows: Vec<&mut [f64]> = if width == 0 {
            (0..n).map(|_| <&mut [f64]>::default()).collect()
        } else {
            q_out.chunks_mut(width).collect()
        };
        let jobs: Vec<Job<'_>> = (rows.drain(..).zip(&mut outcomes).enumerate())
            .map(|(index, (q, outcome))| Job { index, q, outcome })
            .collect();
        spread(jobs, n_threads, observer, || {
            let mut sampler = Sampler { system: self, input, worlds, keep, work: None };
            move |job: Job<'_>, stopped: bool| {
                if stopped {
                    job.outcome.error = Some(SampleError::Stopped);
                } else {
                    sampler.run(job);
                }
            }
        });
        Ok(outcomes)
    }

    pub(crate) fn check_batch(
        &self,
        input: &BatchInput<'_>,
        q_out: usize,
    ) -> Result<(), StepError> {
        let BatchInput { n_samples: n, n_steps, q, v, q_cmd, v_cmd, wrenches, tau, warm, .. } =
            *input;
        let n_q = self.model.n_q();
        let one_of = |what, got: usize, wants: &[usize]| {
            if wants.contains(&got) {
                Ok(())
            } else {
                Err(StepError::Length { what, got, want: wants[0] })
            }
        };
        let (cmd, rate) = (n_steps * self.n_cmd(), n_steps * self.n_cmd_v());
        one_of("q", q.len(), &[n * n_q, n_q])?;
        let n_v = self.model.n_v();
        one_of("v", v.len(), &[n * n_v, n_v, 0])?;
        one_of("q_cmd", q_cmd.len(), &[n * cmd, cmd])?;
        one_of("v_cmd", v_cmd.len(), &[n * rate, rate, 0])?;
        one_of("wrenches", wrenches.len(), &[n_steps, 0])?;
        one_of("tau", tau.len(), &[n_steps * self.model.n_v(), 0])?;
        one_of("warm", warm.len(), &[n, 0])?;
        one_of("q_out", q_out, &[n * n_steps * n_q, n * n_q])
    }
}

/// Works `jobs` off on `n_threads` threads, each with a worker of its own, which is told whether the observer has
/// ended the batch.
///
/// `observer` is asked on the calling thread, some times a second and at the end, with the number of finished jobs.
pub(crate) fn spread<J: Send, W: FnMut(J, bool)>(
    jobs: Vec<J>,
    n_threads: usize,
    observer: Option<&mut dyn FnMut(usize) -> ControlFlow<()>>,
    worker: impl Fn() -> W + Sync,
) {
    let n = jobs.len();
    if n == 0 {
        return;
    }
    let queue = Mutex::new(jobs.into_iter());
    let (done, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let run = || {
        let mut work = worker();
        loop {
            // the lock is held for the queue alone, no job can poison it
            let job = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(job) = job else { break };
            work(job, stop.load(Ordering::Relaxed));
            done.fetch_add(1, Ordering::Relaxed);
        }
    };
    let n_threads = n_threads.clamp(1, n);
    match observer {
        None => thread::scope(|scope| {
            for _ in 1..n_threads {
                scope.spawn(run);
            }
            run();
        }),
        Some(observer) => {
            let (left, caller) = (AtomicUsize::new(n_threads), thread::current());
            thread::scope(|scope| {
                for _ in 0..n_threads {
                    scope.spawn(|| {
                        run();
                        left.fetch_sub(1, Ordering::Release);
                        caller.unpark();
                    });
                }
                let mut told = 0;
                while left.load(Ordering::Acquire) > 0 || told < n {
                    if left.load(Ordering::Acquire) > 0 {
                        thread::park_timeout(LOOK);
                    }
                    told = done.load(Ordering::Relaxed);
                    if observer(told).is_break() {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    }
}

/// What one thread keeps from sample to sample.
struct Sampler<'a> {
    system: &'a System,
    input: &'a BatchInput<'a>,
    worlds: &'a Worlds<'a>,
    keep: BatchKeep,
    /// Of the system that all samples share.
    work: Option<Workspace>,
}

/// Where samples live.
enum Worlds<'a> {
    Same(&'a StepParams),
    Own(MakeVariant<'a>),
}

impl Sampler<'_> {
    fn run(&mut self, job: Job<'_>) {
        let Job { index, q, outcome } = job;
        let work = self.work.take();
        // a panic takes its workspace with it: the next sample gets a new one
        let result = catch_unwind(AssertUnwindSafe(|| match self.worlds {
            Worlds::Same(params) => {
                let mut work = work.unwrap_or_else(|| self.system.create_workspace());
                let (wrenches, tau) = (self.input.wrenches, self.input.tau);
                let world = World { system: self.system, params, wrenches, tau };
                self.rollout(index, &world, &mut work, q, outcome);
                Some(work)
            }
            Worlds::Own(make) => {
                match make(index).and_then(|own| self.check_variant(own)) {
                    Err(error) => outcome.error = Some(error),
                    Ok(Variant { system, params, wrenches, tau }) => {
                        let (params, wrenches) = (&params, wrenches.as_slice());
                        let world = World { system: &system, params, wrenches, tau: &tau };
                        self.rollout(index, &world, &mut system.create_workspace(), q, outcome);
                    }
                }
                None
            }
        }));
        match result {
            Ok(work) => self.work = work,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                let text = text.unwrap_or("panic").to_owned();
                outcome.error = Some(SampleError::Internal(text));
            }
        }
    }

    /// The variant, if its vectors have the lengths of the batch's.
    fn check_variant(&self, own: Variant) -> Result<Variant, SampleError> {
        let sizes = |s: &System| [s.model.n_q(), s.model.n_v(), s.n_cmd(), s.n_cmd_v()];
        let (got, want) = (sizes(&own.system), sizes(self.system));
        if got == want {
            return Ok(own);
        }
        Err(SampleError::Variant(format!(
            "this sample's system has {} coordinates and {} commands; the batch has {} and {}",
            got[0], got[2], want[0], want[2]
        )))
    }

    fn rollout(
        &self,
        index: usize,
        world: &World<'_>,
        work: &mut Workspace,
        q_out: &mut [f64],
        outcome: &mut SampleOutcome,
    ) {
        let (input, keep) = (self.input, self.keep);
        let World { system, params, wrenches, tau } = *world;
        let n_steps = input.n_steps;
        let (n_q, n_cmd, n_rate) = (system.model.n_q(), system.n_cmd(), system.n_cmd_v());
        let mut state = State {
            time: input.time,
            q: own_part(input.q, index, n_q).to_vec(),
            v: own_part(input.v, index, system.model.n_v()).to_vec(),
        };
        work.start_from(input.warm.get(index));
        let q_cmd = own_part(input.q_cmd, index, n_steps * n_cmd);
        let v_cmd = own_part(input.v_cmd, index, n_steps * n_rate);
        let mut step = StepInput::default();
        let all = q_out.len() == n_steps * n_q;
        for k in 0..n_steps {
            step.q_cmd.clear();
            step.q_cmd.extend_from_slice(&q_cmd[k * n_cmd..(k + 1) * n_cmd]);
            step.v_cmd.clear();
            if !v_cmd.is_empty() {
                step.v_cmd.extend_from_slice(&v_cmd[k * n_rate..(k + 1) * n_rate]);
            }
            if let Some(wrenches) = wrenches.get(k) {
                step.wrenches.clone_from(wrenches);
            }
            let n_v = system.model.n_v();
            step.tau.clear();
            step.tau.extend(tau.get(k * n_v..(k + 1) * n_v).into_iter().flatten());
            if let Err(error) = system.step_with(&mut state, &step, params, work) {
                outcome.error = Some(error.into());
                break;
            }
            outcome.n_steps = k + 1;
            let row = if all { k * n_q } else { 0 };
            q_out[row..row + n_q].copy_from_slice(&state.q);
        }
        // a configuration that is no end of a rollout must not pass for one
        if outcome.error.is_some() && !all {
            q_out.fill(f64::NAN);
        }
        if keep.report && outcome.n_steps > 0 {
            outcome.report = Some(Box::new(work.report.clone()));
        }
        outcome.v = state.v;
        if keep.warm {
            outcome.warm = work.warm_start();
        }
    }
}

/// Where one sample lives.
struct World<'a> {
    system: &'a System,
    params: &'a StepParams,
    wrenches: &'a [Vec<Wrench>],
    tau: &'a [f64],
}

/// The part of a sample in an array that holds one part for each, one for all, or nothing.
pub(crate) fn own_part(all: &[f64], index: usize, each: usize) -> &[f64] {
    if all.len() <= each { all } else { &all[index * each..(index + 1) * each] }
}
