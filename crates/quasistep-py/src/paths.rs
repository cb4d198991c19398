//! Grasps at random, and paths of joints.

use crate::arrays::{Array, flat, vector};
use crate::error;
use crate::params::StepParams;
use crate::run::Watch;
use crate::system::{NameOrIndex, System};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quasistep_plan::{GraspSampler, GraspSettings, PathError, PathSettings};

/// Names of links and of the bodies that they touch, ranges of joints by coordinate, and distance,
/// clearance and reach in m.
pub type Grasps = (Vec<[NameOrIndex; 2]>, Option<Vec<(String, [f64; 2])>>, (f64, f64, f64));

impl System {
    /// Settings of grasps, checked.
    pub fn grasp_settings(&self, (touches, ranges, lengths): Grasps) -> PyResult<GraspSettings> {
        let (world, (distance, clearance, reach)) = (&self.scene.system, lengths);
        let body = |pair: &[NameOrIndex; 2], k: usize| self.body(&pair[k], ["links", "bodies"][k]);
        let touches: PyResult<Vec<[usize; 2]>> =
            touches.iter().map(|pair| Ok([body(pair, 0)?, body(pair, 1)?])).collect();
        let moves = match ranges {
            None => GraspSettings::of_commanded(world),
            Some(given) => {
                let of = |(name, range): (String, _)| Ok((self.coordinate(&name)?.1, range));
                given.into_iter().map(of).collect::<PyResult<_>>()?
            }
        };
        let settings = GraspSettings { touches: touches?, moves, distance, clearance, reach };
        settings.check(world).map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok(settings)
    }
}

/// Draws grasps. Returns configurations, one after the other; fewer if one was not found.
#[pyfunction]
pub fn grasps<'py>(
    py: Python<'py>,
    system: &System,
    q: Array<'py>,
    given: Grasps,
    counts: (usize, usize),
    seed: u64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let world = &system.scene.system;
    let (count, tries) = counts;
    let settings = system.grasp_settings(given)?;
    let q = vector("q0", &q)?;
    let mut watch = Watch::new(None, count.saturating_mul(tries));
    let drawn = py.detach(|| {
        let mut sampler = GraspSampler::new(world, settings, seed);
        let (mut all, mut tried) = (Vec::new(), 0);
        for _ in 0..count {
            let mut found = None;
            for _ in 0..tries {
                tried += 1;
                if watch.look(tried).is_break() {
                    return Ok(all);
                }
                found = sampler.sample(&q, 1)?;
                if found.is_some() {
                    break;
                }
            }
            let Some(grasp) = found else { break };
            all.extend(grasp);
        }
        Ok(all)
    });
    if let Some(error) = watch.error {
        return Err(error);
    }
    Ok(PyArray1::from_vec(py, drawn.map_err(|e| error::step(&e))?))
}

/// Searches for a path of joints, and runs it. Returns all results by name; arrays are flat.
#[pyfunction]
#[pyo3(signature = (system, q, u, goal, bounds, settings, h, params, progress))]
#[allow(clippy::too_many_arguments)] // all arguments of the Python function
pub fn joint_path<'py>(
    py: Python<'py>,
    system: &System,
    q: Array<'py>,
    u: Array<'py>,
    goal: Array<'py>,
    bounds: (Array<'py>, Array<'py>, Array<'py>),
    settings: (f64, usize, u64),
    h: Option<f64>,
    params: Option<&StepParams>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let params = system.params_with(params, h);
    let world = &system.scene.system;
    let (q, u, goal) = (vector("q0", &q)?, vector("u0", &u)?, vector("q_goal", &goal)?);
    let ((lower, upper, rates), (margin, samples, seed)) = (bounds, settings);
    let bounds = flat(&lower).into_iter().zip(flat(&upper)).map(<[f64; 2]>::from).collect();
    let settings = PathSettings { margin, bounds, rates: flat(&rates), samples, seed };
    let mut watch = Watch::new(progress, samples);
    let found = py.detach(|| {
        let mut look = |tried: usize| watch.look(tried);
        quasistep_plan::joint_path(world, &params, (&q, &u), &goal, &settings, &mut look)
    });
    if let Some(error) = watch.error {
        return Err(error);
    }
    let path = found.map_err(|e| match &e {
        PathError::Step(why) => error::step(why),
        PathError::None { .. } => error::no_plan(&e.to_string()),
        _ => PyValueError::new_err(e.to_string()),
    })?;
    let data = PyDict::new(py);
    data.set_item("holds", path.holds())?;
    data.set_item("corners", PyArray1::from_vec(py, path.corners))?;
    data.set_item("u", PyArray1::from_vec(py, path.commands))?;
    data.set_item("q", PyArray1::from_vec(py, path.q))?;
    data.set_item("h", path.time_step)?;
    data.set_item("off", path.off)?;
    data.set_item("left", path.left)?;
    data.set_item("failed", path.failed.map(|why| why.to_string()))?;
    let moved = PyDict::new(py);
    for one in path.moved {
        moved.set_item(&world.model().body(one.body).name, (one.distance, one.angle))?;
    }
    data.set_item("moved", moved)?;
    Ok(data)
}
