//! Statics: rest configurations and the largest wrench that is held.

use crate::arrays::{Array, vector};
use crate::error;
use crate::params::StepParams;
use crate::report::StepReport;
use crate::system::{System, WrenchArgument, Wrenches};
use numpy::PyArray1;
use pyo3::prelude::*;
use quasistep::{RestRule, State};

/// Steps the system to rest under a constant command.
#[pyfunction]
#[pyo3(signature = (system, q, u, t, h, wrenches, params, speed, max_steps))]
#[allow(clippy::too_many_arguments)] // all arguments of the Python function
pub fn settle<'py>(
    py: Python<'py>,
    system: &System,
    q: Array<'py>,
    u: Option<Array<'py>>,
    t: f64,
    h: Option<f64>,
    wrenches: Option<Wrenches>,
    params: Option<&StepParams>,
    speed: f64,
    max_steps: usize,
) -> PyResult<(Bound<'py, PyArray1<f64>>, StepReport)> {
    let params = system.params_with(params, h);
    let input = system.input(t, u, None, wrenches, &params)?;
    let mut state = State::at_rest(t, vector("q0", &q)?);
    let mut work = system.workspace(None);
    let rule = RestRule { speed, max_steps, ..RestRule::default() };
    let settled = py.detach(|| {
        let world = &system.scene.system;
        world.settle(&mut state, &input, &params, &rule, &mut work).cloned()
    });
    system.keep(work);
    let report = settled.map_err(|e| error::statics(&e))?;
    let told = StepReport::new(&report, None, &system.scene.system);
    Ok((PyArray1::from_vec(py, state.q), told))
}

/// Largest multiple of a wrench that is held. Returns the held and the lost factor, the
/// configuration, and the number of trials.
#[pyfunction]
#[pyo3(signature = (system, q, u, t, h, wrench, wrenches, most, tolerance, params, rule))]
#[allow(clippy::too_many_arguments)] // all arguments of the Python function
pub fn largest_wrench<'py>(
    py: Python<'py>,
    system: &System,
    q: Array<'py>,
    u: Option<Array<'py>>,
    t: f64,
    h: Option<f64>,
    wrench: WrenchArgument,
    wrenches: Option<Wrenches>,
    most: f64,
    tolerance: f64,
    params: Option<&StepParams>,
    rule: (f64, usize, f64),
) -> PyResult<(f64, f64, Bound<'py, PyArray1<f64>>, usize)> {
    let params = system.params_with(params, h);
    let input = system.input(t, u, None, wrenches, &params)?;
    let state = State::at_rest(t, vector("q0", &q)?);
    let (speed, max_steps, slip) = rule;
    let rule = RestRule { speed, max_steps, slip };
    let mut work = system.workspace(None);
    let asked = system.wrenches(Some(wrench.into()))?;
    let answer = py.detach(|| {
        let (world, wrench) = (&system.scene.system, &asked[0]);
        world.largest_wrench(&state, &input, wrench, most, tolerance, &params, &rule, &mut work)
    });
    system.keep(work);
    let held = answer.map_err(|e| error::statics(&e))?;
    Ok((held.held, held.lost, PyArray1::from_vec(py, held.q), held.trials))
}
