//! Many samples at once, on all cores.
//!
//! A sample is a start configuration and its own commands. It starts cold, or from its own warm
//! start. Samples share only the system, so results are bit-identical for any number of threads and
//! any partition into batches. A sample whose step fails is marked; other samples are not affected.
//! Memory is one [`Workspace`] per thread, beside the caller's arrays.
//!
//! Threads are joined before the call returns, so a process may fork between two batches.

use crate::error::StepError;
use crate::params::StepParams;
use crate::report::StepReport;
use crate::state::{Attached, State, StepInput, WarmStart, Wrench};
use crate::system::System;
use crate::taken::Taken;
use crate::workspace::Workspace;
use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Inputs of all samples of a batch: flat arrays, the last index runs fastest.
#[derive(Clone, Debug, Default)]
pub struct BatchInput<'a> {
    /// Number of samples N.
    pub n_samples: usize,
    /// Number of steps T of each sample.
    pub n_steps: usize,
    /// Time at which all samples start, in s.
    pub time: f64,
    /// Start configurations, `N × n_q`; or one configuration for all samples, `n_q`.
    pub q: &'a [f64],
    /// Start velocities, `N × n_v`; or one for all samples, `n_v`; or empty for rest. Read only by
    /// formulations that carry velocity from step to step.
    pub v: &'a [f64],
    /// Commands at the ends of the steps, `N × T × n_cmd`; or one sequence for all samples, `T ×
    /// n_cmd`.
    pub q_cmd: &'a [f64],
    /// Rates of the commands, shaped like `q_cmd` but with `n_cmd_v` columns; or empty for zero.
    pub v_cmd: &'a [f64],
    /// External wrenches of each step, `N × T` lists, sample by sample; or T lists for all samples; or
    /// empty for none.
    pub wrenches: &'a [Vec<Wrench>],
    /// Generalised forces of each step, [`StepInput::tau`], in N or N·m, `N × T × n_v`; or `T × n_v` for
    /// all samples; or empty for none.
    pub tau: &'a [f64],
    /// Warm start of each sample's first step, N of them; or empty for cold starts.
    pub warm: &'a [WarmStart],
    /// What the switched constraints of each sample hold at the start, N lists, or one list for all,
    /// or empty for nothing: see [`State::attached`]. A constraint that is on in the first step and
    /// holds nothing attaches there.
    pub attached: &'a [Vec<Option<Attached>>],
    /// Time between rows of commands, in s, > 0. Samples whose parameters have
    /// [`StepParams::sizes`] need it: a "step" of this batch is then the time of one row, which the
    /// sample covers in steps of its own sizes, see [`System::command_within`]. Others do not read
    /// it.
    pub every: Option<f64>,
}

/// Selects what is returned for every sample in addition to its configurations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchKeep {
    /// Return the report of the last step.
    pub report: bool,
    /// Return the warm start for the next step.
    pub warm: bool,
}

/// System, parameters and loads of one sample, where these differ between samples.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The sample's own system. Its coordinates and commands have the batch's dimensions.
    pub system: Arc<System>,
    /// Step parameters of the sample.
    pub params: StepParams,
    /// External wrenches of each step: T lists; or empty for none.
    pub wrenches: Vec<Vec<Wrench>>,
    /// Generalised forces of each step, in N or N·m: `T × n_v`; or empty for none.
    pub tau: Vec<f64>,
}

/// Function that builds the variant of a sample from its index. It is called once per sample, on
/// any thread.
pub type MakeVariant<'a> = &'a (dyn Fn(usize) -> Result<Variant, SampleError> + Sync);

/// Result of one sample.
#[derive(Clone, Debug, Default)]
pub struct SampleOutcome {
    /// Number of steps taken; equal to T if there is no error.
    pub n_steps: usize,
    /// Number of steps by tolerance, of rejected sizes, and of steps of the smallest size that exceed
    /// the tolerance.
    pub by_tolerance: [usize; 3],
    /// Error of the first step that failed.
    pub error: Option<SampleError>,
    /// Report of the last step that was taken, if requested.
    pub report: Option<Box<StepReport>>,
    /// Warm start for the next step, if requested.
    pub warm: WarmStart,
    /// Velocity after the last step, `n_v`; empty if the formulation does not carry velocity.
    pub v: Vec<f64>,
    /// What the switched constraints hold after the last step: [`State::attached`].
    pub attached: Vec<Option<Attached>>,
}

impl SampleOutcome {
    /// Counts two steps of a size of their own.
    fn count(&mut self, pair: &[Taken; 2]) {
        let choice = pair[1].report.choice;
        let [steps, rejected, unresolved] = &mut self.by_tolerance;
        *steps += 2;
        *rejected += choice.map_or(0, |choice| choice.rejected as usize);
        *unresolved += usize::from(choice.is_some_and(|choice| !choice.resolved));
    }
}

/// Reason why a sample ended early.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SampleError {
    /// A step failed.
    #[error(transparent)]
    Step(#[from] StepError),
    /// A panic inside this crate (a bug), caught so that the other samples continue.
    #[error("internal error: {0}; please report it")]
    Internal(String),
    /// The sample's own system could not be built, or its dimensions differ from the batch's.
    #[error("{0}")]
    Variant(String),
    /// The observer stopped the batch before this sample began.
    #[error("the batch was stopped before this sample")]
    Stopped,
}

impl SampleError {
    /// The error of a panic, with its message.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Self::Internal(text.unwrap_or("panic").to_owned())
    }
}

/// A sample in the queue: its index and its output slices.
struct Job<'a> {
    index: usize,
    q: &'a mut [f64],
    outcome: &'a mut SampleOutcome,
}

/// Interval between calls of the observer.
const LOOK: Duration = Duration::from_millis(50);

impl System {
    /// Rolls out all samples of `input` on `n_threads` threads and returns the outcome of each.
    ///
    /// `q_out` receives the configurations: after every step if its length is `N × T × n_q`, after
    /// the last step taken if it is `N × n_q`. Rows of steps that were not taken are NaN.
    /// `observer` is called on the calling thread, several times a second and at the end, with the
    /// number of finished samples. Once it returns `Break`, no further sample begins.
    ///
    /// # Errors
    ///
    /// [`StepError::Params`] and [`StepError::Length`], before any sample is stepped. Errors of a
    /// sample are in its outcome.
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

    /// Variant of [`step_batch`](Self::step_batch) in which each sample has a system of its own.
    ///
    /// `make` builds a sample's system just before the sample runs, so that each thread holds one
    /// at a time. `self` only defines the dimensions of coordinates and commands. A sample whose
    /// system cannot be built is marked. `input.wrenches` and `input.tau` are not read.
    ///
    /// # Errors
    ///
    /// The errors of [`step_batch`](Self::step_batch).
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
        // without coordinates, every row is an empty slice
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
        one_of("wrenches", wrenches.len(), &[n * n_steps, n_steps, 0])?;
        one_of("tau", tau.len(), &[n * n_steps * n_v, n_steps * n_v, 0])?;
        one_of("warm", warm.len(), &[n, 0])?;
        one_of("attached", input.attached.len(), &[n, 1, 0])?;
        one_of("q_out", q_out, &[n * n_steps * n_q, n * n_q])
    }
}

/// Processes `jobs` on `n_threads` threads. Each thread has its own worker, called with a job and a
/// flag that is true once the observer has stopped the batch.
///
/// `observer` is called on the calling thread, several times a second and at the end, with the
/// number of finished jobs.
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
            // the lock protects only the queue, so a panic in a job cannot poison it
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

/// State of one thread, kept from sample to sample.
struct Sampler<'a> {
    system: &'a System,
    input: &'a BatchInput<'a>,
    worlds: &'a Worlds<'a>,
    keep: BatchKeep,
    /// Workspace of the system that all samples share.
    work: Option<Workspace>,
}

/// Systems of the samples: one shared, or one per sample.
enum Worlds<'a> {
    Same(&'a StepParams),
    Own(MakeVariant<'a>),
}

impl Sampler<'_> {
    fn run(&mut self, job: Job<'_>) {
        let Job { index, q, outcome } = job;
        let work = self.work.take();
        // a panic loses its workspace: the next sample gets a new one
        let result = catch_unwind(AssertUnwindSafe(|| match self.worlds {
            Worlds::Same(params) => {
                let mut work = work.unwrap_or_else(|| self.system.create_workspace());
                let (n_steps, n_v) = (self.input.n_steps, self.system.model.n_v());
                let wrenches = own_part(self.input.wrenches, index, n_steps);
                let tau = own_part(self.input.tau, index, n_steps * n_v);
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
                outcome.error = Some(SampleError::of_panic(&*panic));
            }
        }
    }

    /// Returns the variant if its vectors have the lengths that the batch requires.
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
            attached: own_list(input.attached, index).to_vec(),
        };
        work.start_from(input.warm.get(index));
        work.set_rest(params.sizes.is_none());
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
            let result = if params.sizes.is_none() {
                system.step_with(&mut state, &step, params, work).map(drop)
            } else {
                let taken = &mut |pair: &[Taken; 2], _: &mut State| {
                    outcome.count(pair);
                    Ok(())
                };
                system.cover_row(&mut state, &step, input.every, params, work, taken)
            };
            if let Err(error) = result {
                outcome.error = Some(error.into());
                break;
            }
            outcome.n_steps = k + 1;
            let row = if all { k * n_q } else { 0 };
            q_out[row..row + n_q].copy_from_slice(&state.q);
        }
        // when only final configurations are returned, an incomplete rollout returns NaN
        if outcome.error.is_some() && !all {
            q_out.fill(f64::NAN);
        }
        if keep.report && outcome.n_steps > 0 {
            outcome.report = Some(Box::new(work.report.clone()));
        }
        (outcome.v, outcome.attached) = (state.v, state.attached);
        if keep.warm {
            outcome.warm = work.warm_start();
        }
    }
}

/// System, parameters and loads with which one sample runs.
struct World<'a> {
    system: &'a System,
    params: &'a StepParams,
    wrenches: &'a [Vec<Wrench>],
    tau: &'a [f64],
}

/// The list of sample `index` among one for each, one for all, or none.
pub(crate) fn own_list<T>(all: &[Vec<T>], index: usize) -> &[T] {
    all.get(if all.len() == 1 { 0 } else { index }).map_or(&[], Vec::as_slice)
}

/// The slice of sample `index` in an array with one part per sample, one part for all, or none.
pub(crate) fn own_part<T>(all: &[T], index: usize, each: usize) -> &[T] {
    if all.len() <= each { all } else { &all[index * each..(index + 1) * each] }
}
