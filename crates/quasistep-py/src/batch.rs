//! Batches of samples on all cores.

use crate::arrays::{Array, flat};
use crate::error;
use crate::loads::{Loads, LoadsArgument};
use crate::params::StepParams;
use crate::records::{self, Of};
use crate::report::{StepReport, WarmStart};
use crate::run::Watch;
use crate::system::System;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quasistep::{BatchInput, BatchKeep, SampleError, SampleOutcome, Variant};
use quasistep_scene::{Scene, SceneError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Rolls out `n` samples of `n_steps` steps. Returns the configurations, flat, and all other
/// results by name.
#[pyfunction]
#[pyo3(signature = (system, q, velocity, attached, u, v, n, n_steps, t, h, every, loads, params, warm, vary, threads, every_step, report, progress))]
#[allow(clippy::too_many_arguments)] // all arguments of the Python function
pub fn batch<'py>(
    py: Python<'py>,
    system: &System,
    q: Array<'py>,
    velocity: Option<Array<'py>>,
    attached: Option<Array<'py>>,
    u: Array<'py>,
    v: Option<Array<'py>>,
    n: usize,
    n_steps: usize,
    t: f64,
    h: Option<f64>,
    every: Option<f64>,
    loads: LoadsArgument<'py>,
    params: Option<&StepParams>,
    warm: Option<Vec<WarmStart>>,
    vary: Option<Vec<Vec<(String, String)>>>,
    threads: Option<usize>,
    every_step: bool,
    report: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyDict>)> {
    let given = params.is_some();
    let params = in_rows(system.params_with(params, h), h, every);
    let given_loads = Loads::new(system, loads)?;
    let loads = |scene: &Scene, params: &quasistep::StepParams, sample: Option<usize>| {
        let h = every.filter(|_| params.sizes.is_some()).unwrap_or(params.time_step);
        let samples = sample.map_or(given_loads.samples(n, n_steps), |i| i..i + 1);
        let wrenches = given_loads.wrenches(scene, samples, n_steps, (t, h));
        (wrenches, given_loads.torques(scene, sample, n_steps, (t, h)))
    };
    let world = &system.scene.system;
    // each varied sample makes its own
    let shared = vary.is_none().then(|| loads(&system.scene, &params, None));
    let (wrenches, tau) = shared.unwrap_or_default();
    let (q, u, v) = (flat(&q), flat(&u), v.map(|v| flat(&v)).unwrap_or_default());
    let velocity = velocity.map(|v| flat(&v)).unwrap_or_default();
    let warm: Vec<_> = warm.unwrap_or_default().into_iter().map(|w| w.inner).collect();
    let attached = system.attached(attached)?;
    let input = BatchInput {
        attached: &attached,
        n_samples: n,
        n_steps,
        time: t,
        q: &q,
        v: &velocity,
        q_cmd: &u,
        v_cmd: &v,
        wrenches: &wrenches,
        tau: &tau,
        warm: &warm,
        every,
    };
    let keep = BatchKeep { report, warm: report };
    let threads = threads.unwrap_or_else(|| {
        std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
    });
    let rows = if every_step { n_steps } else { 1 };
    let mut q_out = vec![0.0; n * rows * world.model().n_q()];
    let mut watch = Watch::new(progress, n);
    let scene_errors = Mutex::new(BTreeMap::new());
    let outcomes = py
        .detach(|| {
            let mut look = |done| watch.look(done);
            let look: Option<&mut dyn FnMut(usize) -> _> = Some(&mut look);
            let Some(vary) = &vary else {
                return world.step_batch(&input, &params, keep, threads, &mut q_out, look);
            };
            let make = |i: usize| {
                let made = system.scene.with_changes(&vary[i]);
                let scene = made.map_err(|e| {
                    let text = e.to_string();
                    lock(&scene_errors).insert(i, e);
                    SampleError::Variant(text)
                })?;
                // given params apply to all samples; otherwise each scene has its own
                let own_params = if given { params.clone() } else { scene.params.clone() };
                let params = in_rows(own_params, h, every);
                let (wrenches, tau) = loads(&scene, &params, Some(i));
                Ok(Variant { system: scene.system, params, wrenches, tau })
            };
            world.step_varied_batch(&input, &make, keep, threads, &mut q_out, look)
        })
        .map_err(|e| error::step(&e))?;
    if let Some(error) = watch.error {
        return Err(error);
    }
    let rest = PyDict::new(py);
    set_counts(&rest, &outcomes)?;
    let errors = PyDict::new(py);
    for (i, outcome) in outcomes.iter().enumerate() {
        if let Some(e) = &outcome.error {
            let own = lock(&scene_errors).remove(&i);
            errors.set_item(i, own.map_or_else(|| error::sample(e), |e| error::scene(&e)))?;
        }
    }
    rest.set_item("errors", errors)?;
    set_reports(&rest, if report { &outcomes } else { &[] }, world)?;
    Ok((PyArray1::from_vec(py, q_out), rest))
}

/// Sets the report of each sample's last step, and the contacts of these steps.
fn set_reports(
    rest: &Bound<'_, PyDict>,
    outcomes: &[SampleOutcome],
    world: &Arc<quasistep::System>,
) -> PyResult<()> {
    let mut reports = Vec::new();
    let mut contacts = Vec::new();
    for (i, outcome) in outcomes.iter().enumerate() {
        let last = outcome.report.as_deref();
        for contact in last.iter().flat_map(|r| &r.contacts) {
            contacts.extend_from_slice(&(i as i64).to_le_bytes());
            records::push(&mut contacts, contact);
        }
        let told = last.map(|r| StepReport::new(r, Some(&outcome.warm), world));
        reports.push(told.map(|told| told.with_attached(&outcome.attached)));
    }
    rest.set_item("reports", reports)?;
    rest.set_item("contacts", records::array(rest.py(), contacts, Of::Batch)?)
}

/// Sets how many steps each sample took, and how many sizes of a tolerance it rejected.
fn set_counts(rest: &Bound<'_, PyDict>, outcomes: &[SampleOutcome]) -> PyResult<()> {
    let set = |name: &str, count: &dyn Fn(&SampleOutcome) -> usize| {
        let counts = outcomes.iter().map(|outcome| count(outcome) as i64).collect();
        rest.set_item(name, PyArray1::<i64>::from_vec(rest.py(), counts))
    };
    set("n_steps", &|o| o.n_steps)?;
    set("sized_steps", &|o| o.by_tolerance[0])?;
    set("rejected", &|o| o.by_tolerance[1])?;
    set("unresolved", &|o| o.by_tolerance[2])
}

/// Parameters of samples: steps of `h`, if it is given; else steps that choose their size, in rows
/// that are `every` seconds apart. Without that time each row is one step.
fn in_rows(
    params: quasistep::StepParams,
    h: Option<f64>,
    every: Option<f64>,
) -> quasistep::StepParams {
    let sizes = params.sizes.filter(|_| every.is_some() && h.is_none());
    quasistep::StepParams { time_step: h.unwrap_or(params.time_step), sizes, ..params }
}

fn lock(
    errors: &Mutex<BTreeMap<usize, SceneError>>,
) -> std::sync::MutexGuard<'_, BTreeMap<usize, SceneError>> {
    errors.lock().unwrap_or_else(PoisonError::into_inner)
}
