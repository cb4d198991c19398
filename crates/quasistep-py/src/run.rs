//! Runs and their recordings.

use crate::arrays::{Array, Reduced, flat, pose, vector};
use crate::error;
use crate::params::StepParams;
use crate::records::{self, Of};
use crate::report::{self, WarmStart};
use crate::system::{System, Wrenches, wall_ns};
use numpy::PyArray1;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use quasistep::{Attached, State, StepReport};
use quasistep_record::{
    Finish, RecordError, RunFolder, write_contacts_csv, write_sensors_csv, write_states_csv,
};
use quasistep_scene::{RunOptions, RunStep};
use quasistep_view::{Camera, StillOptions, Video, ViewError, still, write_gif};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Interval, in ns, at which Python signals are checked and progress is reported.
pub const LOOK_NS: u64 = 50_000_000;

/// One nanosecond, in s.
const NANO: f64 = 1e-9;

/// Arrays of a run that its recording does not contain.
#[derive(Default)]
struct Columns {
    u: Vec<f64>,
    v: Vec<f64>,
    effort: Vec<f64>,
    certificate: Vec<f64>,
    stage_ns: Vec<u64>,
    size: Vec<f64>,
    error: Vec<f64>,
    rejected: usize,
    unresolved: Vec<f64>,
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
        self.size.push(report.time_step);
        self.error.push(report.choice.map_or(f64::NAN, |choice| choice.error));
        self.rejected += report.choice.map_or(0, |choice| choice.rejected as usize);
        if report.choice.is_some_and(|choice| !choice.resolved) {
            self.unresolved.push(report.time);
        }
        for contact in &report.contacts {
            self.contacts.extend_from_slice(&report.time.to_le_bytes());
            self.contacts.extend_from_slice(&(step.index as i64).to_le_bytes());
            records::push(&mut self.contacts, contact);
        }
    }
}

/// Reports progress to Python and checks for interrupts, at intervals.
pub struct Watch {
    last: u64,
    progress: Option<Py<PyAny>>,
    total: usize,
    /// Unit of `total` that Python is told, if it is not one.
    unit: Option<f64>,
    pub error: Option<PyErr>,
}

impl Watch {
    pub fn new(progress: Option<Py<PyAny>>, total: usize) -> Self {
        Self { last: wall_ns(), progress, total, unit: None, error: None }
    }

    /// A watch over simulated time, in s.
    fn over_time(progress: Option<Py<PyAny>>, duration: f64) -> Self {
        let unit = Some(NANO);
        Self { unit, ..Self::new(progress, (duration / NANO).round() as usize) }
    }

    pub fn look(&mut self, done: usize) -> ControlFlow<()> {
        let now = wall_ns();
        if now - self.last < LOOK_NS && done < self.total {
            return ControlFlow::Continue(());
        }
        self.last = now;
        let told = Python::attach(|py| {
            py.check_signals()?;
            let Some(progress) = &self.progress else { return Ok(None) };
            let told = match self.unit {
                None => progress.call1(py, (done, self.total)),
                Some(unit) => progress.call1(py, (done as f64 * unit, self.total as f64 * unit)),
            };
            told.map(Some)
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

/// Runs a scene. Returns its recording, its arrays by name, and the error that ended it, if any.
#[pyfunction]
#[pyo3(signature = (system, q0, v0, t0, warm, attached, n_steps, duration, u, v, tau, h, every, wrenches, params, most_steps, progress))]
#[allow(clippy::too_many_arguments, clippy::type_complexity)] // all arguments and results of the Python function
pub fn run<'py>(
    py: Python<'py>,
    system: &System,
    q0: Array<'py>,
    v0: Option<Array<'py>>,
    t0: f64,
    warm: Option<&WarmStart>,
    attached: Option<Array<'py>>,
    n_steps: Option<usize>,
    duration: Option<f64>,
    u: Option<Array<'py>>,
    v: Option<Array<'py>>,
    tau: Option<Array<'py>>,
    h: Option<f64>,
    every: Option<f64>,
    wrenches: Option<Wrenches>,
    params: Option<&StepParams>,
    most_steps: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Recording, Bound<'py, PyDict>, Option<PyErr>)> {
    let params = system.params_with(params, h);
    let wrenches = system.wrenches(wrenches)?;
    let table = u.map(|u| (flat(&u), v.map(|v| flat(&v)).unwrap_or_default()));
    let tau = tau.map(|tau| flat(&tau));
    let options = RunOptions {
        start: Some(State {
            time: t0,
            q: vector("q0", &q0)?,
            v: v0.map_or_else(|| Ok(system.scene.start.v.clone()), |v| vector("v0", &v))?,
            attached: system.attached(attached)?.pop().unwrap_or_default(),
        }),
        warm: warm.map(|warm| &warm.inner),
        params: Some(params),
        n_steps,
        duration,
        every,
        commands: table.as_ref().map(|(u, v)| (u.as_slice(), v.as_slice())),
        tau: tau.as_deref(),
        wrenches: &wrenches,
    };
    if options.start.as_ref().is_some_and(|s| s.q.len() != system.scene.system.model().n_q()) {
        let (got, want) = (flat(&q0).len(), system.scene.system.model().n_q());
        return Err(error::length("q0", got, want));
    }
    let mut columns = Columns::default();
    let scene = &system.scene;
    let n = match options.params.as_ref().and_then(|params| params.sizes.as_ref()) {
        Some(sizes) => ((scene.end_with(&options, t0) - t0) / sizes.max) as usize,
        None => scene.n_steps_with(&options),
    };
    if n > most_steps {
        return Err(PyValueError::new_err(format!(
            "{n} steps or more were asked for; a run takes at most {most_steps} (`most_steps`)"
        )));
    }
    let by_tolerance = options.params.as_ref().is_some_and(|params| params.sizes.is_some());
    let mut watch = if by_tolerance {
        Watch::over_time(progress, scene.end_with(&options, t0) - t0)
    } else {
        Watch::new(progress, scene.n_steps_with(&options))
    };
    let mut outcome = py.detach(|| {
        system.scene.run_with(&options, Some(wall_ns), &mut |step| {
            columns.push(step);
            let done = (step.state.time - t0) / NANO;
            watch.look(if by_tolerance { done.round() as usize } else { step.index })
        })
    });
    if watch.error.is_some() {
        outcome.recording.finish = Finish::Stopped { reason: "the run was interrupted".into() };
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
    doubles("sensors", frames.iter().flat_map(|f| f.sensors.iter().copied()).collect())?;
    doubles("u", columns.u)?;
    doubles("v", columns.v)?;
    doubles("effort", columns.effort)?;
    doubles("certificate", columns.certificate)?;
    doubles("h", columns.size)?;
    doubles("error", columns.error)?;
    doubles("unresolved", columns.unresolved)?;
    arrays.set_item("rejected", columns.rejected)?;
    arrays.set_item("stage_ns", PyArray1::from_vec(py, columns.stage_ns))?;
    arrays.set_item("contacts", records::array(py, columns.contacts, Of::Run)?)?;
    let attached = outcome.state.attached.iter().copied().flat_map(Attached::to_numbers);
    doubles("attached", attached.collect())?;
    doubles("velocity", outcome.state.v)?;
    arrays.set_item("warm", WarmStart { inner: outcome.warm })?;
    Ok((Recording { inner: outcome.recording }, arrays, watch.error.or(stopped)))
}

/// All data from which plots and pages of a run are made: plain, versioned, readable without the simulator.
#[pyclass(frozen, module = "quasistep._core")]
pub struct Recording {
    inner: quasistep_record::Recording,
}

impl Recording {
    pub fn new(inner: quasistep_record::Recording) -> Self {
        Self { inner }
    }

    pub const fn inner(&self) -> &quasistep_record::Recording {
        &self.inner
    }
}

#[pymethods]
impl Recording {
    /// The recording as bytes, without loss of digits.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.inner.to_bytes()).map_err(PyValueError::new_err)?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let read = || quasistep_record::Recording::from_bytes(bytes, Path::new("recording"));
        let inner = py.detach(read).map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok(Self { inner })
    }

    /// Reads a file `recording.qsr`.
    #[classmethod]
    fn read(_class: &Bound<'_, PyType>, py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = py.detach(|| quasistep_record::Recording::read(&path));
        let inner = read.map_err(|e| match e {
            RecordError::Io { .. } => PyOSError::new_err(e.to_string()),
            _ => PyValueError::new_err(e.to_string()),
        })?;
        Ok(Self { inner })
    }

    /// Scene, names and end of the run, from the head of the recording's file.
    fn head<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let r = &self.inner;
        let head = PyDict::new(py);
        head.set_item("scene", &r.scene)?;
        head.set_item("title", &r.title)?;
        head.set_item("h", r.time_step)?;
        head.set_item("bodies", &r.bodies)?;
        head.set_item("shapes", &r.collision_shapes)?;
        head.set_item("coordinates", &r.coordinates)?;
        head.set_item("dofs", &r.dofs)?;
        head.set_item("commands", &r.commands)?;
        let sensors = r.sensors.iter().map(|s| (&s.name, &s.unit, &s.shape));
        head.set_item("sensors", sensors.collect::<Vec<_>>())?;
        let stopped = match &r.finish {
            Finish::Done => None,
            Finish::Stopped { reason } => Some(reason),
        };
        head.set_item("stopped", stopped)?;
        Ok(head)
    }

    /// Flat arrays of the frames by name; contacts as records.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let frames = &self.inner.frames;
        let arrays = PyDict::new(py);
        let doubles =
            |name, values: Vec<f64>| arrays.set_item(name, PyArray1::from_vec(py, values));
        doubles("t", frames.iter().map(|f| f.t).collect())?;
        doubles("q", frames.iter().flat_map(|f| f.q.iter().copied()).collect())?;
        doubles("v", frames.iter().flat_map(|f| f.v.iter().copied()).collect())?;
        doubles("poses", frames.iter().flat_map(|f| f.X_WB.iter().flat_map(pose)).collect())?;
        doubles("u", frames.iter().flat_map(|f| f.q_cmd.iter().copied()).collect())?;
        doubles("effort", frames.iter().flat_map(|f| f.effort.iter().copied()).collect())?;
        doubles("sensors", frames.iter().flat_map(|f| f.sensors.iter().copied()).collect())?;
        let mut bytes = Vec::new();
        for (index, frame) in frames.iter().enumerate() {
            for contact in &frame.contacts {
                bytes.extend_from_slice(&frame.t.to_le_bytes());
                bytes.extend_from_slice(&(index as i64).to_le_bytes());
                records::push_recorded(&mut bytes, contact);
            }
        }
        arrays.set_item("contacts", records::array(py, bytes, Of::Recording)?)?;
        Ok(arrays)
    }

    /// Drawn shapes as JSON: a list with body, pose, color and geometry.
    fn drawn(&self) -> PyResult<String> {
        self.inner.drawn_json().map_err(PyValueError::new_err)
    }

    /// Uniqueness of each step's solution, if the run computed it: one entry per step.
    #[getter]
    fn uniqueness<'py>(&self, py: Python<'py>) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let frames = self.inner.frames.iter().skip(1);
        frames.map(|frame| report::recorded_uniqueness(py, &self.inner, frame)).collect()
    }

    /// The self-contained 3-D page, as HTML text.
    fn page(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| quasistep_view::page(&self.inner))
            .map(|page| page.html)
            .map_err(|e| PyOSError::new_err(e.to_string()))
    }

    /// Writes an MCAP file for Foxglove.
    fn mcap(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| quasistep_view::write_mcap(&self.inner, &path))
            .map_err(|e| PyOSError::new_err(e.to_string()))
    }

    /// Commands as a joint trajectory: `names`, `left_out`, `stiffness`, arrays `t`, `positions`, `velocities`, `efforts`
    /// row by row, `json` and `yaml`.
    fn trajectory<'py>(
        &self,
        py: Python<'py>,
        system: &System,
        model: Option<&str>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let found = system.scene.trajectory(&self.inner, model).map_err(PyValueError::new_err)?;
        let data = PyDict::new(py);
        data.set_item("json", found.to_json())?;
        data.set_item("yaml", found.to_yaml())?;
        data.set_item("names", found.joint_names)?;
        data.set_item("left_out", found.left_out)?;
        data.set_item("stiffness", found.stiffness)?;
        data.set_item("t", found.times)?;
        data.set_item("positions", found.positions)?;
        data.set_item("velocities", found.velocities)?;
        data.set_item("efforts", found.efforts)?;
        Ok(data)
    }

    /// A still image of one frame, as the bytes of a PNG file.
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

    /// Writes a moving picture of the run; along `direction`, or from the page's first view.
    fn video(
        &self,
        py: Python<'_>,
        path: PathBuf,
        direction: Option<[f64; 3]>,
        size: Option<[u32; 2]>,
    ) -> PyResult<()> {
        let size = size.unwrap_or(Video::SIZE);
        let aspect = f64::from(size[0]) / f64::from(size[1].max(1));
        let draw = || {
            let camera = match direction {
                Some(direction) => Camera::fit(&self.inner, direction.into(), aspect),
                None => Camera::first(&self.inner, aspect),
            };
            write_gif(&self.inner, &camera, size, &StillOptions::default(), &path)
        };
        py.detach(draw).map(drop).map_err(|e| match e {
            ViewError::Io { .. } => PyOSError::new_err(e.to_string()),
            _ => PyValueError::new_err(e.to_string()),
        })
    }

    /// Writes the files of a run into a folder, and returns their paths.
    fn save(
        &self,
        py: Python<'_>,
        dir: PathBuf,
        csv: bool,
        every: usize,
        page: bool,
    ) -> PyResult<Vec<PathBuf>> {
        let write = || {
            let folder = RunFolder::open(&dir).map_err(|e| e.to_string())?;
            let made = folder.place();
            let thinned = (every > 1).then(|| self.inner.thinned(every));
            let recording = thinned.as_ref().unwrap_or(&self.inner);
            let place = made.join("recording.qsr");
            recording.write(&place).map_err(|e| e.to_string())?;
            let mut files = vec![place];
            if csv {
                let [states, contacts] = ["states.csv", "contacts.csv"].map(|f| made.join(f));
                write_states_csv(recording, &states).map_err(|e| e.to_string())?;
                write_contacts_csv(recording, &contacts).map_err(|e| e.to_string())?;
                files.extend([states, contacts]);
                if !recording.sensors.is_empty() {
                    let place = made.join("sensors.csv");
                    write_sensors_csv(recording, &place).map_err(|e| e.to_string())?;
                    files.push(place);
                }
            }
            if page && quasistep_view::has_page() {
                let place = made.join("view.html");
                quasistep_view::write_page(recording, &place).map_err(|e| e.to_string())?;
                files.push(place);
            }
            let plots = quasistep_view::write_plots(recording, &made.join("plots"));
            files.extend(plots.map_err(|e| e.to_string())?);
            folder.publish().map_err(|e| e.to_string())?;
            let moved =
                |file: &PathBuf| file.strip_prefix(&made).map_or(file.clone(), |f| dir.join(f));
            Ok(files.iter().map(moved).collect())
        };
        py.detach(write).map_err(|e: String| PyOSError::new_err(e))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py, Bound<'py, PyBytes>>> {
        Ok((slf.get_type().getattr("from_bytes")?, (slf.get().to_bytes(slf.py())?,)))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
}
