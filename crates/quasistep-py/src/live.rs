//! Runs that go on, at an address in the browser.

use crate::arrays::{Array, vector};
use crate::error;
use crate::report::WarmStart;
use crate::system::System;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use quasistep::State;
use quasistep_live::Session;
use std::sync::{Mutex, PoisonError};

/// A run that goes on in a thread of its own.
#[pyclass(frozen, module = "quasistep._core")]
pub struct Live {
    inner: Mutex<quasistep_live::Live>,
}

#[pymethods]
impl Live {
    #[getter]
    fn address(&self) -> String {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).address().to_owned()
    }

    #[getter]
    fn is_open(&self) -> bool {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).is_open()
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.inner.lock().unwrap_or_else(PoisonError::into_inner).close());
    }
}

/// Serves a run of a scene from a state.
#[pyfunction]
#[pyo3(signature = (system, q0, v0, t0, warm, attached))]
pub fn live<'py>(
    py: Python<'py>,
    system: &System,
    q0: Array<'py>,
    v0: Option<Array<'py>>,
    t0: f64,
    warm: Option<&WarmStart>,
    attached: Option<Array<'py>>,
) -> PyResult<Live> {
    let scene = system.scene.clone();
    let start = State {
        time: t0,
        q: vector("q0", &q0)?,
        v: v0.map_or_else(|| Ok(scene.start.v.clone()), |v| vector("v0", &v))?,
        attached: system.attached(attached)?.pop().unwrap_or_default(),
    };
    let model = scene.system.model();
    for (what, got, want) in
        [("q0", start.q.len(), model.n_q()), ("v0", start.v.len(), model.n_v())]
    {
        // no velocity stands for rest
        if got != want && (what == "q0" || got > 0) {
            return Err(error::length(what, got, want));
        }
    }
    let warm = warm.map(|warm| warm.inner.clone());
    let open = || {
        let session = Session::from_state(scene, start, warm);
        quasistep_live::Live::open_with(session, |message| quasistep_cli::help(message, ""))
    };
    let live = py.detach(open).map_err(|e| PyOSError::new_err(e.to_string()))?;
    Ok(Live { inner: Mutex::new(live) })
}
