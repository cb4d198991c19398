//! `System`: an immutable scene with its queries.

use crate::arrays::{Array, flat, vector};
use crate::error;
use crate::params::StepParams;
use crate::report::{StepReport, WarmStart};
use numpy::PyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use quasistep::{Attached, ConstraintKind, SensedStep, State, StepInput, Workspace, Wrench};
use quasistep_scene::{Scene, SceneSource};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// A system that can be stepped, and the scene that drives it.
#[pyclass(frozen, subclass, module = "quasistep._core")]
pub struct System {
    pub scene: Scene,
    /// Unused workspaces, kept for reuse. They do not affect results: every step starts cold or
    /// from its own warm start.
    idle: Mutex<Vec<Workspace>>,
}

/// An external force and torque, as Python passes it.
pub struct WrenchArgument {
    body: NameOrIndex,
    force: [f64; 3],
    torque: [f64; 3],
    at: [f64; 3],
}

impl<'a, 'py> FromPyObject<'a, 'py> for WrenchArgument {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let seen = || object.repr().map_or_else(|_| "something".into(), |text| text.to_string());
        let Ok(body) = object.getattr("body") else {
            let text =
                format!("{} is no wrench; give quasistep.Wrench(body, force, torque, at)", seen());
            return Err(PyTypeError::new_err(text));
        };
        let Ok(body) = body.extract() else {
            let text = format!("`body` of {} is neither a name nor an index", seen());
            return Err(PyTypeError::new_err(text));
        };
        let three = |field: &str| {
            object.getattr(field)?.extract::<[f64; 3]>().map_err(|_| {
                PyValueError::new_err(format!("`{field}` of {} must be three numbers", seen()))
            })
        };
        Ok(Self { body, force: three("force")?, torque: three("torque")?, at: three("at")? })
    }
}

/// External wrenches: a sequence, or a single one.
pub struct Wrenches(Vec<WrenchArgument>);

impl<'a, 'py> FromPyObject<'a, 'py> for Wrenches {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.hasattr("body")? {
            return Ok(Self(vec![object.extract()?]));
        }
        let all = object.try_iter()?.map(|item| item?.extract()).collect::<PyResult<_>>()?;
        Ok(Self(all))
    }
}

impl From<WrenchArgument> for Wrenches {
    fn from(one: WrenchArgument) -> Self {
        Self(vec![one])
    }
}

#[derive(FromPyObject)]
pub enum NameOrIndex {
    Name(String),
    Index(usize),
}

/// Parts of a [`SceneSource`], in types that Python can pickle. Paths are texts: Python's own would make `.` of
/// an empty one, and leave out `./`.
type Source = (
    String,
    String,
    String,
    OsString,
    Vec<(String, String)>,
    Option<Vec<(OsString, Option<Vec<u8>>)>>,
);

impl System {
    fn new(scene: Scene) -> Self {
        Self { scene, idle: Mutex::new(Vec::new()) }
    }

    /// A workspace with the given warm start and a clock.
    pub fn workspace(&self, warm: Option<&WarmStart>) -> Workspace {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut work = idle.unwrap_or_else(|| {
            let mut work = self.scene.system.create_workspace();
            work.set_clock(Some(wall_ns));
            work
        });
        work.start_from(warm.map(|w| &w.inner));
        work
    }

    /// Stores a workspace for reuse.
    pub fn keep(&self, work: Workspace) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(work);
    }

    pub fn params_with(
        &self,
        params: Option<&StepParams>,
        h: Option<f64>,
    ) -> quasistep::StepParams {
        let mut params = params.map_or_else(|| self.scene.params.clone(), |p| p.inner.clone());
        if let Some(h) = h {
            (params.time_step, params.sizes) = (h, None);
        }
        params
    }

    /// Input of the step that ends at `t`: the scene's commands, or `u` and `v`, with the scene's
    /// torques and wrenches.
    pub fn input(
        &self,
        t: f64,
        u: Option<Array<'_>>,
        v: Option<Array<'_>>,
        wrenches: Option<Wrenches>,
        params: &quasistep::StepParams,
    ) -> PyResult<StepInput> {
        let mut input = StepInput::default();
        match u {
            None => self.scene.sample_for(params, t, &mut input),
            Some(u) => {
                input.q_cmd = vector("u", &u)?;
                self.scene.sample_torques(t, &mut input.tau);
                self.scene.sample_wrenches(t, &mut input.wrenches);
            }
        }
        if let Some(v) = v {
            input.v_cmd = vector("v", &v)?;
        }
        input.wrenches.extend(self.wrenches(wrenches)?);
        Ok(input)
    }

    /// Index of a body. `what` names the argument for error messages.
    pub fn body(&self, body: &NameOrIndex, what: &str) -> PyResult<usize> {
        let n = self.scene.system.model().n_bodies();
        match body {
            NameOrIndex::Name(name) => self.scene.body_by_name(name).map_err(|e| error::scene(&e)),
            NameOrIndex::Index(body) if *body < n => Ok(*body),
            NameOrIndex::Index(body) => Err(error::step(&quasistep::StepError::Value {
                what: what.into(),
                why: format!("body {body} of {n}"),
            })),
        }
    }

    pub fn wrenches(&self, given: Option<Wrenches>) -> PyResult<Vec<Wrench>> {
        let one = |w: WrenchArgument| {
            let body = self.body(&w.body, "wrench")?;
            let [p_B, force_W, torque_W] = [w.at, w.force, w.torque].map(Into::into);
            Ok(Wrench { body, p_B, force_W, torque_W })
        };
        given.into_iter().flat_map(|all| all.0).map(one).collect()
    }
}

#[pymethods]
impl System {
    #[new]
    #[pyo3(signature = (text, file, name, dir, changes, files=None))]
    fn from_source(
        text: String,
        file: String,
        name: String,
        dir: OsString,
        changes: Vec<(String, String)>,
        files: Option<Vec<(OsString, Option<Vec<u8>>)>>,
    ) -> PyResult<Self> {
        let dir = PathBuf::from(dir);
        let share = |(path, bytes): (OsString, Option<Vec<u8>>)| {
            (PathBuf::from(path), bytes.map(Arc::from))
        };
        let files = files.map(|files| files.into_iter().map(share).collect());
        let source = SceneSource { text, file, name, dir, changes, files };
        Scene::from_source(&source).map(Self::new).map_err(|e| error::scene(&e))
    }

    #[classmethod]
    fn _load<'py>(
        class: &Bound<'py, PyType>,
        path: PathBuf,
        changes: Vec<(String, String)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let source = SceneSource::read(&path, &changes).map_err(|e| error::scene(&e))?;
        class.call1(parts(source))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, Source) {
        (slf.get_type(), source(&slf.get().scene))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn _with_changes<'py>(
        slf: &Bound<'py, Self>,
        changes: Vec<(String, String)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let scene = slf.get().scene.with_changes(&changes).map_err(|e| error::scene(&e))?;
        slf.get_type().call1(source(&scene))
    }

    /// Name of the scene.
    #[getter]
    fn name(&self) -> &str {
        &self.scene.name
    }

    /// Title of the scene.
    #[getter]
    fn title(&self) -> &str {
        &self.scene.title
    }

    /// Warnings: valid but unusual parts of the scene.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.scene.warnings.clone()
    }

    /// Step parameters of the scene.
    #[getter]
    fn params(&self) -> StepParams {
        StepParams { inner: self.scene.params.clone() }
    }

    /// Time step of the scene, in s; the largest if its ``step.tolerance`` chooses sizes.
    #[getter]
    fn h(&self) -> f64 {
        self.scene.params.time_step
    }

    /// Time between outputs of a scene whose steps choose their size, in s: its ``output.every``.
    #[getter]
    fn every(&self) -> Option<f64> {
        self.scene.every
    }

    /// Largest displacement of a point of the bodies' surfaces between steps and steps of half their
    /// size, in m: the scene's ``step.tolerance``; ``None`` if its steps have one size.
    #[getter]
    fn tolerance(&self) -> Option<f64> {
        self.scene.params.sizes.map(|sizes| sizes.tolerance)
    }

    /// Simulated time of the scene, in s.
    #[getter]
    fn duration(&self) -> f64 {
        self.scene.duration
    }

    /// Number of coordinates: length of q.
    #[getter]
    fn n_q(&self) -> usize {
        self.scene.system.model().n_q()
    }

    /// Number of dofs: length of v.
    #[getter]
    fn n_v(&self) -> usize {
        self.scene.system.model().n_v()
    }

    /// Number of commands: length of u.
    #[getter]
    fn n_u(&self) -> usize {
        self.scene.system.n_cmd()
    }

    /// Number of command rates and of drive forces: length of the rates of u.
    #[getter]
    fn n_u_v(&self) -> usize {
        self.scene.system.n_cmd_v()
    }

    /// Start configuration, shape (n_q,): m, rad and unit quaternions (w, x, y, z).
    #[getter]
    fn q0<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.scene.start.q)
    }

    /// Start velocity, shape (n_v,), in m/s and rad/s; zero unless the scene is stepped with
    /// momentum.
    #[getter]
    fn v0<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let mut v = self.scene.start.v.clone();
        v.resize(self.scene.system.model().n_v(), 0.0);
        PyArray1::from_vec(py, v)
    }

    /// Names by kind, in order, for the Python package.
    fn _names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (system, model) = (&self.scene.system, self.scene.system.model());
        let (q, v) = (model.coordinate_names(), model.dof_names());
        let commanded = || system.commanded().iter().map(|&body| model.body(body));
        let u: Vec<usize> = commanded().flat_map(|b| b.q.clone()).collect();
        let u_v: Vec<usize> = commanded().flat_map(|b| b.v.clone()).collect();
        let names = PyDict::new(py);
        names.set_item("commands", system.command_names())?;
        names.set_item("efforts", system.effort_names())?;
        let sensors: Vec<&str> = self.scene.sensors.iter().map(|s| s.name.as_str()).collect();
        names.set_item("sensors", sensors)?;
        let constraints: Vec<&str> = system.constraints().map(|c| c.name.as_str()).collect();
        names.set_item("constraints", constraints)?;
        names.set_item("u_in_q", u)?;
        names.set_item("u_in_v", u_v)?;
        names.set_item("coordinates", q)?;
        names.set_item("dofs", v)?;
        names.set_item("bodies", model.bodies().iter().map(|b| &b.name).collect::<Vec<_>>())?;
        names.set_item("shapes", system.geoms().iter().map(|g| &g.name).collect::<Vec<_>>())?;
        Ok(names)
    }

    /// The scene's own commands for the step that ends at time t.
    ///
    /// Parameters
    /// ----------
    /// t : float
    ///     End of the step, in s.
    ///
    /// Returns
    /// -------
    /// u : ndarray, shape (n_u,)
    ///     Position commands, in m, rad and unit quaternions.
    /// v : ndarray, shape (n_u_v,)
    ///     Their rates, in m/s and rad/s.
    ///
    /// Examples
    /// --------
    /// >>> system = qs.load("scenes/planar_push.yml")
    /// >>> u, v = system.command(2.0)
    /// >>> u, v          # x = -0.11 + 0.05 t, y = 0.02
    /// (array([-0.01,  0.02]), array([0.05, 0.  ]))
    #[pyo3(signature = (t))]
    #[allow(clippy::type_complexity)] // unpacked at once by the caller
    fn command<'py>(
        &self,
        py: Python<'py>,
        t: f64,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        error::finite("t", &[t])?;
        let mut input = StepInput::default();
        self.scene.sample(t, &mut input);
        Ok((PyArray1::from_vec(py, input.q_cmd), PyArray1::from_vec(py, input.v_cmd)))
    }

    /// Poses of all bodies at a configuration.
    ///
    /// Parameters
    /// ----------
    /// q : array_like, shape (n_q,)
    ///     Configuration.
    ///
    /// Returns
    /// -------
    /// ndarray, shape (n_bodies, 7)
    ///     Per body, the world first: unit quaternion w, x, y, z and position x, y, z in m, of the
    ///     body's frame in the world.
    ///
    /// Examples
    /// --------
    /// >>> system = qs.load("scenes/planar_push.yml")
    /// >>> system.poses(system.q0)[system.bodies.index("box/box"), 4:]
    /// array([0.  , 0.  , 0.03])
    fn poses<'py>(&self, py: Python<'py>, q: Array<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (model, q) = (self.scene.system.model(), flat(&q));
        model.check_q(&q).map_err(|e| {
            error::step(&quasistep::StepError::Value { what: "q".into(), why: e.to_string() })
        })?;
        let mut kin = model.create_kinematics();
        model.kinematics(&q, &mut kin);
        let poses: Vec<f64> = kin.X_WB.iter().flat_map(crate::arrays::pose).collect();
        PyArray1::from_vec(py, poses).call_method1("reshape", (model.n_bodies(), 7))
    }

    /// Takes one step. A pure function of its arguments.
    ///
    /// Robots follow ``u`` through their joint springs. Passive objects follow from force balance
    /// with contact and friction, one convex program (Pang21 (10), Tracy (13)):
    ///
    /// .. math:: \min_v \tfrac12 v^T P v - p^T v
    ///    \quad\text{s.t.}\quad \phi_i/h + (J_n + \mu\, d_j J_t)\, v \ge 0,
    ///    \qquad q_\text{next} = q \oplus h v
    ///
    /// Parameters
    /// ----------
    /// q : array_like, shape (n_q,)
    ///     Configuration: m, rad and unit quaternions (w, x, y, z).
    /// u : array_like, shape (n_u,), optional
    ///     Position command at the end of the step, the share of each pad's pull, 0 to 1, and
    ///     for each switched constraint a number above 0.5 if it is on; the scene's own command by
    ///     default.
    /// h : float, optional
    ///     Time step, in s; of ``params`` by default.
    /// t : float, optional
    ///     Time at the start of the step, in s: for the scene's own commands and wrenches.
    /// v : array_like, shape (n_u_v,), optional
    ///     Rates of the commands, in m/s or rad/s; zero for a given ``u``.
    /// wrenches : sequence of Wrench, optional
    ///     External forces, in addition to the scene's.
    /// params : StepParams, optional
    ///     Parameters of the step; the scene's own by default.
    /// warm : WarmStart, optional
    ///     Warm start of the solver, for speed.
    /// velocity : array_like, shape (n_v,), optional
    ///     Velocity at the start, in m/s and rad/s, of a formulation that carries velocity
    ///     (``dynamic``); rest by default. ``report.v`` is the one at the end.
    /// tau : array_like, shape (n_v,), optional
    ///     External generalised force on every dof, in N or N·m, as of force-controlled motors;
    ///     the scene's own torque commands by default.
    /// attached : array_like, shape (n_switches, 8), optional
    ///     What switched constraints hold at the start, ``report.attached`` of the step before; nothing
    ///     by default. One that ``u`` switches on and that holds nothing attaches at ``q``.
    /// uniqueness : bool
    ///     Also check whether the solution with exact Coulomb friction is unique: ``report.uniqueness``.
    ///
    /// Returns
    /// -------
    /// q_next : ndarray, shape (n_q,)
    ///     Configuration at the end of the step.
    /// report : StepReport
    ///     Contacts, forces, certificate.
    ///
    /// Raises
    /// ------
    /// StepError
    ///     The step was not taken; the message gives the reason.
    ///
    /// Examples
    /// --------
    /// >>> system = qs.load("scenes/pinch.yml")
    /// >>> q1, report = system.step(system.q0, [-0.028, 0.028], h=0.1)
    /// >>> report.effort.round(6)                # 1500 N/m times 2 mm
    /// array([ 3., -3.])
    #[pyo3(signature = (q, u=None, *, h=None, t=0.0, v=None, wrenches=None, params=None, warm=None, velocity=None, tau=None, attached=None, uniqueness=false))]
    #[allow(clippy::too_many_arguments)] // keywords of a Python function
    fn step<'py>(
        &self,
        py: Python<'py>,
        q: Array<'py>,
        u: Option<Array<'py>>,
        h: Option<f64>,
        t: f64,
        v: Option<Array<'py>>,
        wrenches: Option<Wrenches>,
        params: Option<&StepParams>,
        warm: Option<&WarmStart>,
        velocity: Option<Array<'py>>,
        tau: Option<Array<'py>>,
        attached: Option<Array<'py>>,
        uniqueness: bool,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, StepReport)> {
        let params = self.params_with(params, h);
        let mut input =
            self.input(quasistep::end_of_step(t, params.time_step), u, v, wrenches, &params)?;
        if let Some(tau) = tau {
            input.tau = vector("tau", &tau)?;
        }
        let v = velocity.map_or(Ok(Vec::new()), |v| vector("velocity", &v))?;
        let attached = self.attached(attached)?.pop().unwrap_or_default();
        let mut state = State { time: t, q: vector("q", &q)?, v, attached };
        let mut work = self.workspace(warm);
        let world = &self.scene.system;
        let start = (!self.scene.sensors.is_empty()).then(|| state.clone());
        let taken = py.detach(|| {
            let report = world.step_with(&mut state, &input, &params, &mut work)?.clone();
            let asked = uniqueness && report.uniqueness.is_none();
            let found = if asked { world.uniqueness(&work) } else { report.uniqueness.clone() };
            Ok((report, found))
        });
        let warm = work.warm_start();
        self.keep(work);
        let (report, found) = taken.map_err(|e| error::step(&e))?;
        let mut told = StepReport::new(&report, Some(&warm), world);
        told = told.with_uniqueness(found.as_ref(), &report, world);
        told = told.with_attached(&state.attached);
        if let Some(start) = &start {
            let (end, wrenches, params) = (&state, &input.wrenches[..], &params);
            let step = SensedStep { start, end, wrenches, report: &report, params };
            told = told.with_readings(&self.scene.sensors, &self.scene.read_sensors(&step));
        }
        Ok((PyArray1::from_vec(py, state.q), told))
    }

    /// Text that ``quasistep check`` prints.
    fn _check(&self, py: Python<'_>) -> PyResult<(String, String)> {
        let first = py.detach(|| self.scene.first_step()).map_err(|e| {
            error::step_as(&e, &format!("{}: the first step cannot be taken: {e}", self.scene.name))
        })?;
        Ok((self.scene.contents().to_string(), first.in_words(&self.scene)))
    }
}

impl System {
    /// What the switched constraints of each state hold, from `n × n_switches × 8` numbers.
    pub fn attached(&self, given: Option<Array<'_>>) -> PyResult<Vec<Vec<Option<Attached>>>> {
        let Some(given) = given else { return Ok(Vec::new()) };
        let kinds: Vec<bool> = (self.scene.system.switched())
            .map(|c| matches!(c.kind, ConstraintKind::Coupling { .. }))
            .collect();
        let (all, each) = (flat(&given), Attached::N * kinds.len());
        if all.is_empty() {
            return Ok(Vec::new());
        }
        if each == 0 || all.len() % each != 0 {
            return Err(error::length("attached", all.len(), each));
        }
        let read = |(numbers, is_coupling): (&[f64], &bool)| {
            let own = <&[f64; Attached::N]>::try_from(numbers).ok();
            let own = own.and_then(|own| Attached::from_numbers(own, *is_coupling));
            own.ok_or_else(|| {
                PyValueError::new_err(format!(
                    "`attached` has {numbers:?}; it must be 1 and a pose (unit quaternion w, x, y, z, position in m), 1 and a \
                     sum, or zeros for nothing"
                ))
            })
        };
        let one = |row: &[f64]| row.chunks(Attached::N).zip(&kinds).map(read).collect();
        all.chunks(each).map(one).collect()
    }
}

/// Source of a scene, for pickling and for subclasses.
fn source(scene: &Scene) -> Source {
    parts(scene.source().clone())
}

fn parts(source: SceneSource) -> Source {
    let SceneSource { text, file, name, dir, changes, files } = source;
    let own = |(path, bytes): (PathBuf, Option<Arc<[u8]>>)| {
        (path.into_os_string(), bytes.map(|b| b.to_vec()))
    };
    (
        text,
        file,
        name,
        dir.into_os_string(),
        changes,
        files.map(|files| files.into_iter().map(own).collect()),
    )
}

/// Wall time since the first call, in ns.
pub fn wall_ns() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
