//! Recorded motions: what MCAP files say, and how far steps are from them.

use crate::arrays::{Array, flat, pose};
use crate::run::{Recording, Watch};
use crate::system::System;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quasistep_scene::Course;
use quasistep_view::{McapMotion, ViewError, read_mcap};
use std::path::PathBuf;

/// What an MCAP file says of motions: `positions` and `commands`, by name lists of times (ns) and values; `poses`, by
/// name lists of times, parents and poses; `fixed`, by name parent and pose.
#[pyfunction]
pub fn mcap_motion(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let read = py.detach(|| read_mcap(&path)).map_err(|e| match e {
        ViewError::Io { .. } => PyOSError::new_err(e.to_string()),
        _ => PyValueError::new_err(e.to_string()),
    })?;
    let McapMotion { positions, commands, poses, fixed } = read;
    let all = PyDict::new(py);
    for (what, series) in [("positions", positions), ("commands", commands)] {
        let own = PyDict::new(py);
        for (name, series) in series {
            let (times, values): (Vec<i64>, Vec<f64>) = series.into_iter().unzip();
            own.set_item(name, (times, values))?;
        }
        all.set_item(what, own)?;
    }
    let own = PyDict::new(py);
    for (name, series) in poses {
        let times: Vec<i64> = series.iter().map(|at| at.0).collect();
        let parents: Vec<&str> = series.iter().map(|at| at.1.as_str()).collect();
        let numbers: Vec<[f64; 7]> = series.iter().map(|at| pose(&at.2)).collect();
        own.set_item(name, (times, parents, numbers))?;
    }
    all.set_item("poses", own)?;
    let own = PyDict::new(py);
    for (name, (parent, at)) in fixed {
        own.set_item(name, (parent, pose(&at)))?;
    }
    all.set_item("fixed", own)?;
    Ok(all)
}

/// Compares a recording, or rows of times, configurations, velocities and commands, with the step: `steps` and
/// `replay`, row by row, and `stopped`.
#[pyfunction]
pub fn compare<'py>(
    py: Python<'py>,
    system: &System,
    recording: Option<&Recording>,
    rows: Option<(Array<'py>, Array<'py>, Option<Array<'py>>, Array<'py>)>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut watch = Watch::new(None, 0);
    let mut look = |row: usize| watch.look(row);
    let scene = &system.scene;
    let compared = match (recording, rows) {
        (Some(recording), _) => py.detach(|| scene.compare_recording(recording.inner(), &mut look)),
        (None, Some((times, q, v, u))) => {
            let (times, q, u) = (flat(&times), flat(&q), flat(&u));
            let v = v.as_ref().map(flat).unwrap_or_default();
            let course = Course { times: &times, q: &q, v: &v, commands: Some(&u) };
            Ok(py.detach(|| scene.compare(&course, &mut look)))
        }
        _ => Err("give a recording or rows".into()),
    };
    if let Some(error) = watch.error {
        return Err(error);
    }
    let compared = compared.map_err(PyValueError::new_err)?;
    let data = PyDict::new(py);
    data.set_item("steps", compared.steps)?;
    data.set_item("replay", compared.replay)?;
    let words = |(t, why): (f64, quasistep::StepError)| format!("the step after t = {t} s: {why}");
    data.set_item("stopped", compared.stopped.map(words))?;
    Ok(data)
}
