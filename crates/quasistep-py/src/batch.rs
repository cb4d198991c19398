//! Batches of samples on all cores.

use crate::arrays::{Array, flat};
use crate::error;
use crate::params::StepParams;
use crate::records::{self, Of};
use crate::report::{StepReport, WarmStart};
use crate::run::Watch;
use crate::system::{System, WrenchArgument};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quasistep::{BatchInput, BatchKeep};

/// Rolls out `n` samples of `n_steps` steps: configurations, flat, and the rest by name.
#[pyfunction]
#[pyo3(signature = (system, q, u, v, n, n_steps, t, h, wrenches, params, warm, threads, every_step, report, progress))]
#[allow(clippy::too_many_arguments)] // the Python front's one call
pub fn batch<'py>(
    py: Python<'py>,
    system: &System,
    q: Array<'py>,
    u: Array<'py>,
    v: Option<Array<'py>>,
    n: usize,
    n_steps: usize,
    t: f64,
    h: Option<f64>,
    wrenches: Option<Vec<WrenchArgument>>,
    params: Option<&StepParams>,
    warm: Option<Vec<WarmStart>>,
    threads: Option<usize>,
    every_step: bool,
    report: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyDict>)> {
    let params = system.params_with(params, h);
    let world = &system.scene.system;
    let own = system.wrenches(wrenches)?;
    let wrenches: Vec<Vec<_>> = (1..=n_steps)
        .map(|k| {
            let mut all = Vec::new();
            system.scene.sample_wrenches(t + k as f64 * params.time_step, &mut all);
            all.extend_from_slice(&own);
            all
        })
        .collect();
    let (q, u, v) = (flat(&q), flat(&u), v.map(|v| flat(&v)).unwrap_or_default());
    let warm: Vec<_> = warm.unwrap_or_default().into_iter().map(|w| w.keys).collect();
    let input = BatchInput {
        n_samples: n,
        n_steps,
        time: t,
        q: &q,
        v: &[],
        q_cmd: &u,
        v_cmd: &v,
        wrenches: &wrenches,
        warm: &warm,
    };
    let keep = BatchKeep { report, warm: report };
    let threads = threads.unwrap_or_else(|| {
        std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
    });
    let rows = if every_step { n_steps } else { 1 };
    let mut q_out = vec![0.0; n * rows * world.model().n_q()];
    let mut watch = Watch::new(progress, n);
    let outcomes = py
        .detach(|| {
            let mut look = |done| watch.look(done);
            let look: Option<&mut dyn FnMut(usize) -> _> = Some(&mut look);
            world.step_batch(&input, &params, keep, threads, &mut q_out, look)
        })
        .map_err(|e| error::step(&e))?;
    if let Some(error) = watch.error {
        return Err(error);
    }
    let rest = PyDict::new(py);
    let taken: Vec<i64> = outcomes.iter().map(|o| o.n_steps as i64).collect();
    rest.set_item("n_steps", PyArray1::from_vec(py, taken))?;
    let errors = PyDict::new(py);
    let mut reports = Vec::new();
    let mut contacts = Vec::new();
    for (i, outcome) in outcomes.iter().enumerate() {
        if let Some(e) = &outcome.error {
            errors.set_item(i, error::sample(e))?;
        }
        if !report {
            continue;
        }
        let last = outcome.report.as_deref();
        for contact in last.iter().flat_map(|r| &r.contacts) {
            contacts.extend_from_slice(&(i as i64).to_le_bytes());
            records::push(&mut contacts, contact);
        }
        reports.push(last.map(|r| StepReport::new(r, Some(&outcome.warm))));
    }
    rest.set_item("errors", errors)?;
    rest.set_item("reports", reports)?;
    rest.set_item("contacts", records::array(py, contacts, Of::Batch)?)?;
    Ok((PyArray1::from_vec(py, q_out), rest))
}
