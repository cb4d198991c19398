//! Runs and their recordings.

use crate::arrays::{Array, Reduced, flat, pose};
use crate::error;
use crate::params::StepParams;
use crate::records::{self, Of};
use crate::report;
use crate::system::{System, WrenchArgument, wall_ns};
use numpy::PyArray1;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use quasistep::{State, StepReport};
use quasistep_record::{write_contacts_csv, write_states_csv};
use quasistep_scene::{RunOptions, RunStep};
use quasistep_view::{Camera, StillOptions, still};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Python is asked for signals and told of progress this often, in ns.
pub const LOOK_NS: u64 = 50_000_000;

/// Arrays of a run that a recording does not keep.
#[derive(Default)]
struct Columns {
    u: Vec<f64>,
    v: Vec<f64>,
    effort: Vec<f64>,
    certificate: Vec<f64>,
    stage_ns: Vec<u64>,
    contacts: Vec<u8>,
}

impl Columns {
    fn push(&mut self, step: &RunStep<'_>) {
        let report: &StepReport = step.report;
        self.u.extend(&step.input.q_cmd);
        self.v.extend(&report.v);
        self.effort.extend(&report.effort);
        self.certificate.extend(records::certificate(&report.certificate));
        self.stage_ns.extend(report.stage_ns);
        for contact in &report.contacts {
            self.contacts.extend_from_slice(&report.time.to_le_bytes());
            self.contacts.extend_from_slice(&(step.index as i64).to_le_bytes());
            records::push(&mut self.contacts, contact);
        }
    }
}

/// Tells Python of progress and lets it interrupt, now and then.
pub struct Watch {
    last: u64,
    progress: Option<Py<PyAny>>,
    total: usize,
    pub error: Option<PyErr>,
}

impl Watch {
    pub fn new(progress: Option<Py<PyAny>>, total: usize) -> Self {
        Self { last: wall_ns(), progress, total, error: None }
    }

    pub fn look(&mut self, done: usize) -> ControlFlow<()> {
        let now = wall_ns();
        if now - self.last < LOOK_NS && done < self.total {
            return ControlFlow::Continue(());
        }
        self.last = now;
        let told = Python::attach(|py| {
            py.check_signals()?;
            self.progress.as_ref().map(|p| p.call1(py, (done, self.total))).transpose()
        });
        match told {
            Ok(_) => ControlFlow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// A run: its recording, its arrays by name, and the error that ended it, if one did.
#[pyfunction]
#[pyo3(signature = (system, q0, v0, t0, n_steps, duration, u, v, h, wrenches, params, progress))]
#[allow(clippy::too_many_arguments, clippy::type_complexity)] // the Python front's one call
pub fn run<'py>(
    py: Python<'py>,
    system: &System,
    q0: Array<'py>,
    v0: Option<Array<'py>>,
    t0: f64,
    n_steps: Option<usize>,
    duration: Option<f64>,
    u: Option<Array<'py>>,
    v: Option<Array<'py>>,
    h: Option<f64>,
    wrenches: Option<Vec<WrenchArgument>>,
    params: Option<&StepParams>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Recording, Bound<'py, PyDict>, Option<PyErr>)> {
    let params = system.params_with(params, h);
    let wrenches = system.wrenches(wrenches)?;
    let table = u.map(|u| (flat(&u), v.map(|v| flat(&v)).unwrap_or_default()));
    let options = RunOptions {
        start: Some(State {
            time: t0,
            q: flat(&q0),
            v: v0.map_or_else(|| system.scene.start.v.clone(), |v| flat(&v)),
        }),
        params: Some(params),
        n_steps,
        duration,
        commands: table.as_ref().map(|(u, v)| (u.as_slice(), v.as_slice())),
        wrenches: &wrenches,
    };
    if options.start.as_ref().is_some_and(|s| s.q.len() != system.scene.system.model().n_q()) {
        let (got, want) = (flat(&q0).len(), system.scene.system.model().n_q());
        return Err(error::length("q0", got, want));
    }
    let mut columns = Columns::default();
    let mut watch = Watch::new(progress, system.scene.n_steps_with(&options));
    let outcome = py.detach(|| {
        system.scene.run_with(&options, Some(wall_ns), &mut |step| {
            columns.push(step);
            watch.look(step.index)
        })
    });
    if let Some(error) = watch.error {
        return Err(error);
    }
    let stopped = outcome.stopped.map(|e| {
        let at = outcome.state.time;
        let name = &system.scene.name;
        error::step_as(&e, &format!("{name}: the step after t = {at} s was not taken: {e}"))
    });
    let arrays = PyDict::new(py);
    let frames = &outcome.recording.frames;
    let doubles = |name, values: Vec<f64>| arrays.set_item(name, PyArray1::from_vec(py, values));
    doubles("t", frames.iter().map(|f| f.t).collect())?;
    doubles("q", frames.iter().flat_map(|f| f.q.iter().copied()).collect())?;
    doubles("poses", frames.iter().flat_map(|f| f.X_WB.iter().flat_map(pose)).collect())?;
    doubles("u", columns.u)?;
    doubles("v", columns.v)?;
    doubles("effort", columns.effort)?;
    doubles("certificate", columns.certificate)?;
    arrays.set_item("stage_ns", PyArray1::from_vec(py, columns.stage_ns))?;
    arrays.set_item("contacts", records::array(py, columns.contacts, Of::Run)?)?;
    Ok((Recording { inner: outcome.recording }, arrays, stopped))
}

/// Everything that pictures of a run need: plain data, versioned, readable without the simulator.
#[pyclass(frozen, module = "quasistep._core")]
pub struct Recording {
    inner: quasistep_record::Recording,
}

impl Recording {
    pub fn new(inner: quasistep_record::Recording) -> Self {
        Self { inner }
    }
}

#[pymethods]
impl Recording {
    /// The text of its file, recording.json.
    fn to_json(&self) -> PyResult<String> {
        self.inner.to_json().map_err(PyValueError::new_err)
    }

    #[classmethod]
    fn from_json(_class: &Bound<'_, PyType>, text: &str) -> PyResult<Self> {
        let read = quasistep_record::Recording::from_json(text.as_bytes(), Path::new("recording"));
        let inner = read.map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok(Self { inner })
    }

    /// Whether each step's answer was the only one, where the run asked: one entry per step.
    #[getter]
    fn uniqueness<'py>(&self, py: Python<'py>) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let frames = self.inner.frames.iter().skip(1);
        frames.map(|frame| report::recorded_uniqueness(py, &self.inner, frame)).collect()
    }

    /// The self-contained 3-D page, as text.
    fn page(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| quasistep_view::page(&self.inner))
            .map_err(|e| PyOSError::new_err(e.to_string()))
    }

    /// A still of one frame, as the bytes of a PNG.
    fn still(
        &self,
        py: Python<'_>,
        frame: usize,
        direction: [f64; 3],
        width: u32,
        height: u32,
    ) -> PyResult<Vec<u8>> {
        let aspect = f64::from(width) / f64::from(height.max(1));
        let draw = || {
            let camera = Camera::fit(&self.inner, direction.into(), aspect);
            still(&self.inner, frame, &camera, width, height, &StillOptions::default())
        };
        py.detach(draw).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// Writes the files of a run into a folder, and returns their paths.
    fn save(&self, py: Python<'_>, dir: PathBuf) -> PyResult<Vec<PathBuf>> {
        let write = || {
            std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
            let [recording, states, contacts, page] =
                ["recording.json", "states.csv", "contacts.csv", "view.html"].map(|f| dir.join(f));
            self.inner.write(&recording).map_err(|e| e.to_string())?;
            write_states_csv(&self.inner, &states).map_err(|e| e.to_string())?;
            write_contacts_csv(&self.inner, &contacts).map_err(|e| e.to_string())?;
            let plots = quasistep_view::write_plots(&self.inner, &dir.join("plots"));
            let mut files = vec![recording, states, contacts];
            if quasistep_view::has_page() {
                quasistep_view::write_page(&self.inner, &page).map_err(|e| e.to_string())?;
                files.push(page);
            }
            files.extend(plots.map_err(|e| e.to_string())?);
            Ok(files)
        };
        py.detach(write).map_err(|e: String| PyOSError::new_err(e))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py, String>> {
        Ok((slf.get_type().getattr("from_json")?, (slf.get().to_json()?,)))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
}
