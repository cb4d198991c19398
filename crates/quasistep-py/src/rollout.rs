//! Rollouts with the matrices of their steps, and gradients through them.

use crate::arrays::{Array, flat};
use crate::derivatives::{Changes, all_cores, kinks, mode};
use crate::error;
use crate::loads::{Loads, LoadsArgument};
use crate::params::StepParams;
use crate::records::{self, Of};
use crate::system::System;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quasistep::{BatchInput, RunDerivatives, RunMatrices, RunMode, RunOutcome};

/// Rolls out `n` samples of `n_steps` steps, with the matrices of every step if `matrices` is true.
/// Returns all results by name; arrays are flat.
#[pyfunction]
#[pyo3(signature = (system, q, velocity, u, v, n, n_steps, t, h, loads, params, kappa, changes, matrices, contacts, threads))]
#[allow(clippy::too_many_arguments)] // all arguments of the Python function
pub fn rollouts<'py>(
    py: Python<'py>,
    system: &System,
    q: Array<'py>,
    velocity: Option<Array<'py>>,
    u: Array<'py>,
    v: Option<Array<'py>>,
    n: usize,
    n_steps: usize,
    t: f64,
    h: Option<f64>,
    loads: LoadsArgument<'py>,
    params: Option<&StepParams>,
    kappa: Option<f64>,
    changes: Option<&Changes>,
    matrices: bool,
    contacts: bool,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let params = system.params_with(params, h);
    let world = &system.scene.system;
    let (loads, ends) = (Loads::new(system, loads)?, (t, params.time_step));
    let wrenches = loads.wrenches(&system.scene, loads.samples(n, n_steps), n_steps, ends);
    let tau = loads.torques(&system.scene, None, n_steps, ends);
    let of = |array: Option<Array<'py>>| array.map(|array| flat(&array)).unwrap_or_default();
    let (q, u, v, velocity) = (flat(&q), flat(&u), of(v), of(velocity));
    let input = BatchInput {
        n_samples: n,
        n_steps,
        time: t,
        q: &q,
        v: &velocity,
        q_cmd: &u,
        v_cmd: &v,
        wrenches: &wrenches,
        tau: &tau,
        ..BatchInput::default()
    };
    let changes = changes.map_or(&[][..], |changes| &changes.inner);
    let (rows, n_x) = (n * n_steps, world.state_size(&params));
    let n_q = world.model().n_q();
    let (mut q, mut by) = (vec![0.0; rows * n_q], vec![0.0; rows * changes.len() * n_q]);
    let kept = if matrices { rows } else { 0 };
    let (mut by_x, mut by_u) =
        (vec![0.0; kept * n_x * n_x], vec![0.0; kept * n_x * world.n_cmd_v()]);
    let mut by_parameters = vec![0.0; kept * changes.len() * n_x];
    let outcomes = py
        .detach(|| {
            let matrices = matrices.then(|| RunMatrices {
                by_x: &mut by_x,
                by_q_cmd: &mut by_u,
                by_parameters: &mut by_parameters,
            });
            let out = RunDerivatives { q: &mut q, by: &mut by, matrices };
            let mode = RunMode { mode: mode(kappa), contacts, impulses: false };
            world.run_derivatives(
                &input,
                changes,
                &params,
                mode,
                threads.unwrap_or_else(all_cores),
                out,
            )
        })
        .map_err(|e| error::derivative(&e))?;
    let data = PyDict::new(py);
    for (name, array) in
        [("q", q), ("by", by), ("by_x", by_x), ("by_u", by_u), ("by_parameters", by_parameters)]
    {
        data.set_item(name, PyArray1::from_vec(py, array))?;
    }
    data.set_item("n_x", n_x)?;
    set_outcomes(&data, &outcomes, contacts)?;
    Ok(data)
}

/// Sets what the runs say of themselves. The row of an overlap is step, geoms and distance; the step
/// is −1 if there is none.
fn set_outcomes(data: &Bound<'_, PyDict>, outcomes: &[RunOutcome], contacts: bool) -> PyResult<()> {
    let py = data.py();
    let steps: Vec<i64> = outcomes.iter().map(|run| run.n_steps as i64).collect();
    let counts: Vec<i64> =
        outcomes.iter().flat_map(|run| kinks(&run.kinks).map(i64::from)).collect();
    data.set_item("n_steps", PyArray1::from_vec(py, steps))?;
    data.set_item("kinks", PyArray1::from_vec(py, counts))?;
    let overlaps: Vec<(i64, u32, u32, f64)> = outcomes
        .iter()
        .map(|run| {
            run.overlap.map_or((-1, 0, 0, f64::NAN), |found| {
                (found.step as i64, found.geoms[0], found.geoms[1], found.phi)
            })
        })
        .collect();
    data.set_item("overlaps", overlaps)?;
    let errors = PyDict::new(py);
    for (i, run) in outcomes.iter().enumerate() {
        if let Some(e) = &run.error {
            errors.set_item(i, error::derivative(e))?;
        }
    }
    data.set_item("errors", errors)?;
    if contacts {
        let mut bytes = Vec::new();
        for (i, run) in outcomes.iter().enumerate() {
            for (k, contacts) in run.contacts.iter().enumerate() {
                for contact in contacts {
                    bytes.extend_from_slice(&(i as i64).to_le_bytes());
                    bytes.extend_from_slice(&(k as i64).to_le_bytes());
                    records::push(&mut bytes, contact);
                }
            }
        }
        data.set_item("contacts", records::array(py, bytes, Of::Rollouts)?)?;
    }
    Ok(())
}

/// Gradients of weighted sums of the states of all runs: with respect to their starts, their
/// commands and the parameters, flat.
#[pyfunction]
pub fn rollout_gradients<'py>(
    py: Python<'py>,
    by_x: Array<'py>,
    by_u: Array<'py>,
    by_parameters: Array<'py>,
    weights: Array<'py>,
    n: usize,
    n_x: usize,
) -> [Bound<'py, PyArray1<f64>>; 3] {
    let (mut by_x, mut by_u) = (flat(&by_x), flat(&by_u));
    let (mut by_parameters, weights) = (flat(&by_parameters), flat(&weights));
    let mut out = [Vec::new(), Vec::new(), Vec::new()];
    let part = |all: usize, k: usize| k * (all / n)..(k + 1) * (all / n);
    for k in 0..n {
        let of_x = part(by_x.len(), k);
        let of_u = part(by_u.len(), k);
        let of_p = part(by_parameters.len(), k);
        let run = RunMatrices {
            by_x: &mut by_x[of_x],
            by_q_cmd: &mut by_u[of_u],
            by_parameters: &mut by_parameters[of_p],
        };
        let gradient = run.gradient(&weights[part(weights.len(), k)], n_x);
        out[0].extend(gradient.x);
        out[1].extend(gradient.q_cmd);
        out[2].extend(gradient.parameters);
    }
    out.map(|all| PyArray1::from_vec(py, all))
}
