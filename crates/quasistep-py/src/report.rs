//! `StepReport` and `WarmStart`: results of a step as plain data that can be pickled.

use crate::arrays::Reduced;
use crate::records::{self, Of};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use quasistep::{
    Attached, ForceUniqueness, MotionUniqueness, RowKey, Sensor, Stage, StepMethod, Uniqueness,
    WarmRow,
};
use quasistep_record::{Frame, Recording};
use std::sync::Arc;

/// Results of a step: forces, contacts, certificate, timing.
///
/// Immutable plain data. Arrays are created on access.
///
/// Examples
/// --------
/// >>> system = qs.load("scenes/pinch.yml")
/// >>> q1, report = system.step(system.q0)
/// >>> round(float(report.contacts["fn"].sum()), 3)   # two pads press with 3 N each
/// 6.0
/// >>> report.certificate.force_balance < 1e-7
/// True
#[pyclass(frozen, module = "quasistep._core")]
pub struct StepReport {
    data: Data,
    bodies: Bodies,
}

/// Where the names of bodies are.
#[derive(Clone)]
enum Bodies {
    /// In the system that took the step.
    Of(Arc<quasistep::System>),
    /// In a report that was pickled.
    Named(Vec<String>),
}

impl Bodies {
    fn names(&self) -> Vec<String> {
        match self {
            Self::Of(system) => system.model().bodies().iter().map(|b| b.name.clone()).collect(),
            Self::Named(names) => names.clone(),
        }
    }
}

/// All data of a report, in types that Python can pickle.
#[derive(Clone, IntoPyObject, FromPyObject)]
#[pyo3(from_item_all)]
struct Data {
    time: f64,
    size: f64,
    choice: Option<(f64, u32, bool)>,
    v: Vec<f64>,
    effort: Vec<f64>,
    sensors: Vec<Reading>,
    contacts: Vec<u8>,
    constraints: Vec<u8>,
    limits: Vec<(u32, f64)>,
    joint_friction: Vec<(u32, f64)>,
    supports: Vec<(u32, f64, [f64; 3])>,
    saturated: Vec<u32>,
    certificate: [f64; 8],
    counts: [usize; 7],
    method: String,
    smallest_norm: bool,
    fallback: Option<(String, String)>,
    stage_ns: [u64; Stage::COUNT],
    warm: Option<WarmWords>,
    uniqueness: Option<UniquenessWords>,
    attached: Vec<[f64; Attached::N]>,
}

/// Name of a sensor, extents of the array of its readings, and these.
type Reading = (String, Vec<usize>, Vec<f64>);

/// A warm start in types that Python can pickle: rows with key, impulse and rate, size of the step
/// that left them, and size of the next step.
type WarmWords = (Vec<([u32; 5], f64, f64)>, Option<f64>, Option<f64>);

/// Arguments of the constructor of `quasistep.Uniqueness`, in order.
#[derive(Clone, IntoPyObject, FromPyObject)]
pub struct UniquenessWords(
    String,
    Vec<String>,
    Vec<(String, f64)>,
    String,
    Vec<(usize, String, String, bool)>,
    Vec<String>,
    Vec<(String, Vec<usize>, String)>,
    String,
);

impl StepReport {
    pub fn new(
        report: &quasistep::StepReport,
        warm: Option<&quasistep::WarmStart>,
        system: &Arc<quasistep::System>,
    ) -> Self {
        let mut contacts = Vec::with_capacity(records::SIZE * report.contacts.len());
        for contact in &report.contacts {
            records::push(&mut contacts, contact);
        }
        let mut constraints = Vec::new();
        for constraint in &report.constraints {
            records::push_constraint(&mut constraints, constraint);
        }
        let data = Data {
            time: report.time,
            size: report.time_step,
            choice: report.choice.map(|c| (c.error, c.rejected, c.resolved)),
            v: report.v.clone(),
            effort: report.effort.clone(),
            sensors: Vec::new(),
            contacts,
            constraints,
            limits: report.limits.iter().map(|l| (l.dof, l.force)).collect(),
            joint_friction: report.joint_friction.iter().map(|f| (f.dof, f.force)).collect(),
            supports: report.supports.iter().map(|s| (s.body, s.load, s.force)).collect(),
            saturated: report.saturated.clone(),
            certificate: records::certificate(&report.certificate),
            counts: [
                report.n_rows,
                report.n_active,
                report.n_candidates,
                report.iterations as usize,
                report.substeps as usize,
                report.n_joined,
                report.work as usize,
            ],
            method: match report.method {
                StepMethod::Convex(method) => format!("{method:?}"),
                StepMethod::Coulomb(method) => format!("{method:?}"),
            },
            smallest_norm: report.smallest_norm,
            fallback: (report.fallback.as_ref())
                .map(|(fallback, why)| (fallback.name().to_owned(), why.to_string())),
            stage_ns: report.stage_ns,
            warm: warm.map(warm_to_words),
            uniqueness: None,
            attached: Vec::new(),
        };
        Self { data, bodies: Bodies::Of(Arc::clone(system)) }
    }

    /// Adds the readings of sensors in this step, one sensor after another.
    pub fn with_readings(mut self, sensors: &[Sensor], mut readings: &[f64]) -> Self {
        for sensor in sensors {
            let shape = sensor.shape();
            let (own, rest) = readings.split_at(shape.iter().product());
            self.data.sensors.push((sensor.name.clone(), shape, own.to_vec()));
            readings = rest;
        }
        self
    }

    /// Adds what the switched constraints hold after the step.
    pub fn with_attached(mut self, attached: &[Option<Attached>]) -> Self {
        self.data.attached = attached.iter().copied().map(Attached::to_numbers).collect();
        self
    }

    /// Adds the uniqueness of this step of `system`.
    pub fn with_uniqueness(
        mut self,
        found: Option<&Uniqueness>,
        report: &quasistep::StepReport,
        system: &quasistep::System,
    ) -> Self {
        let name = |body: usize| system.model().body(body).name.clone();
        let pair = |contact: usize| {
            let contact = &report.contacts[contact];
            [contact.body_a as usize, contact.body_b as usize]
        };
        self.data.uniqueness = found.map(|found| UniquenessWords::new(found, name, pair));
        self
    }
}

#[pymethods]
impl StepReport {
    /// Time at the end of the step, in s.
    #[getter]
    fn time(&self) -> f64 {
        self.data.time
    }

    /// Size of the step, in s.
    #[getter]
    fn size(&self) -> f64 {
        self.data.size
    }

    /// How a tolerance chose the size, in the report of the second of two steps: error in m, number of
    /// sizes rejected before, and whether the error is within the tolerance. ``None`` otherwise.
    #[getter]
    fn choice(&self) -> Option<(f64, u32, bool)> {
        self.data.choice
    }

    /// Generalised velocity during the step, shape (n_v,), in m/s or rad/s.
    #[getter]
    fn v<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.data.v)
    }

    /// Drive force on each commanded dof, shape (n_u_v,), in N or N·m: spring and damper of an
    /// actuated joint, or the force that a prescribed motion requires. Then, for each frame with
    /// Cartesian stiffness, torque and force at its origin, in the world. Then the pull of each pad
    /// that acts. Names are in ``system.efforts``.
    #[getter]
    fn effort<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.data.effort)
    }

    /// Readings of the scene's sensors in this step, by name. Force-torque sensors: shape (6,), fx,
    /// fy, fz in N and tx, ty, tz in N·m, along the axes of the sensor's frame. Pressure arrays:
    /// shape (n, m), in Pa or N as the scene says, entry [i, j] at taxel i along x and j along y.
    /// Proximity: shape (), in m. Empty in batches, statics and derivatives.
    #[getter]
    fn sensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let sensors = PyDict::new(py);
        for (name, shape, readings) in &self.data.sensors {
            let array = PyArray1::from_slice(py, readings).reshape(shape.clone())?;
            sensors.set_item(name, array)?;
        }
        Ok(sensors)
    }

    /// Contact points within the margin: a structured array of dtype :data:`quasistep.CONTACT`.
    #[getter]
    fn contacts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        records::array(py, self.data.contacts.clone(), Of::Step)
    }

    /// Contacts of a body, or of two bodies, whichever of them is A.
    ///
    /// Parameters
    /// ----------
    /// a, b : str
    ///     Bodies, ``model/link``, models of one body, or patterns in which ``*`` stands for any text.
    ///
    /// Returns
    /// -------
    /// ndarray
    ///     Rows of :attr:`contacts`.
    ///
    /// Raises
    /// ------
    /// KeyError
    ///     There is no such body; the sentence names near ones.
    ///
    /// Examples
    /// --------
    /// >>> system = qs.load("scenes/pinch.yml")
    /// >>> _, report = system.step(system.q0)
    /// >>> len(report.contacts_of("held")), len(report.contacts_of("left", "held"))
    /// (8, 4)
    #[pyo3(signature = (a, b="*"))]
    fn contacts_of<'py>(&self, py: Python<'py>, a: &str, b: &str) -> PyResult<Bound<'py, PyAny>> {
        let names = PyTuple::new(py, self.bodies.names())?;
        let bodies = py.import("quasistep.names")?.getattr("BodyNames")?.call1((names,))?;
        let between = py.import("quasistep.run")?.getattr("between")?;
        between.call1((self.contacts(py)?, bodies, a, b))
    }

    /// Closed loops and couplings in the order of ``system.constraints``: a structured array. ``f``
    /// (N) and ``torque`` (N·m) act on body b at ``p`` (m), in the world. ``multiplier`` belongs to
    /// a coupling: the force on joint i is c_i times it, in N or N·m. ``error`` (m) and ``angle``
    /// (rad) are those after the step; all are 0 where ``on`` is 0, of a constraint that is switched off. ``dependent`` is the number of rows that other rows imply;
    /// they carry no force.
    #[getter]
    fn constraints<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        records::constraints(py, self.data.constraints.clone())
    }

    /// What each switched constraint holds after the step, shape (n_switches, 8), in the order of
    /// their commands at the end of ``system.names.commands``: 1 and the pose of the held frame in
    /// body b (unit quaternion w, x, y, z, position in m), or 1 and the sum of a coupling; zeros while it
    /// is off. The next step takes it: ``system.step(..., attached=report.attached)``.
    #[getter]
    fn attached<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = &self.data.attached;
        let flat = PyArray1::from_slice(py, rows.as_flattened());
        flat.call_method1("reshape", (rows.len(), Attached::N))
    }

    /// Position limits with a force: pairs of dof and force, in N or N·m.
    #[getter]
    fn limits(&self) -> Vec<(u32, f64)> {
        self.data.limits.clone()
    }

    /// Dry friction of each dof that has some, including that of supports: pairs of dof and force,
    /// in N or N·m.
    #[getter]
    fn joint_friction(&self) -> Vec<(u32, f64)> {
        self.data.joint_friction.clone()
    }

    /// Friction of the support surfaces of planar joints. For each joint: its body, the load in N,
    /// and on the body the force along x and y (N) and the torque about z (N·m) of the joint's
    /// frame.
    #[getter]
    fn supports(&self) -> Vec<(u32, f64, [f64; 3])> {
        self.data.supports.clone()
    }

    /// Actuated dofs whose spring force is at its effort limit.
    #[getter]
    fn saturated(&self) -> Vec<u32> {
        self.data.saturated.clone()
    }

    /// Residuals of the step, a :class:`quasistep.Certificate`.
    #[getter]
    fn certificate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let class = py.import("quasistep._records")?.getattr("Certificate")?;
        class.call1(PyTuple::new(py, self.data.certificate)?)
    }

    /// Wall time of each stage, in µs.
    #[getter]
    fn timing<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let timing = PyDict::new(py);
        for (stage, ns) in Stage::ALL.iter().zip(self.data.stage_ns) {
            timing.set_item(stage.name(), ns as f64 * 1e-3)?;
        }
        Ok(timing)
    }

    /// Number of rows of the step's program.
    #[getter]
    fn n_rows(&self) -> usize {
        self.data.counts[0]
    }

    /// Number of rows with an impulse.
    #[getter]
    fn n_active(&self) -> usize {
        self.data.counts[1]
    }

    /// Number of shape pairs whose exact distance was computed.
    #[getter]
    fn n_candidates(&self) -> usize {
        self.data.counts[2]
    }

    /// Number of substeps, 1 for an undivided step. Velocity, forces and contacts are those of the
    /// last substep.
    #[getter]
    fn substeps(&self) -> usize {
        self.data.counts[4]
    }

    /// Number of pairs beyond the contact margin that were added because the step's motion brought
    /// them together.
    #[getter]
    fn n_joined(&self) -> usize {
        self.data.counts[5]
    }

    /// Number of solver iterations.
    #[getter]
    fn iterations(&self) -> usize {
        self.data.counts[3]
    }

    /// Work of the solvers in all programs of the step, in multiply-adds. It is counted from
    /// problem sizes, so it does not depend on the machine.
    #[getter]
    fn work(&self) -> usize {
        self.data.counts[6]
    }

    /// Name of the algorithm that found the solution.
    #[getter]
    fn method(&self) -> &str {
        &self.data.method
    }

    /// True if the impulses have the smallest norm among all that satisfy the force balance.
    #[getter]
    fn smallest_norm(&self) -> bool {
        self.data.smallest_norm
    }

    /// Fallback that was used, and why the step with exact Coulomb friction has no solution;
    /// ``None`` if no fallback was needed.
    #[getter]
    fn fallback(&self) -> Option<(String, String)> {
        self.data.fallback.clone()
    }

    /// Whether the solution is unique, a :class:`quasistep.Uniqueness`. ``None`` unless ``step``
    /// was called with ``uniqueness=True`` and took the step with exact Coulomb friction.
    #[getter]
    fn uniqueness<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.data.uniqueness.clone().map(|words| words.make(py)).transpose()
    }

    /// Warm start for the next step; ``None`` in a batch that did not request it.
    #[getter]
    fn warm_start(&self) -> Option<WarmStart> {
        self.data.warm.as_ref().map(words_to_warm)
    }

    fn __repr__(&self) -> String {
        let n = self.data.contacts.len() / records::SIZE;
        format!(
            "StepReport(t = {} s, {n} contacts, forces balance to {:.1e} N)",
            self.data.time, self.data.certificate[0]
        )
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py, Bound<'py, PyAny>>> {
        let Self { data, bodies } = slf.get();
        let all = (data.clone(), bodies.names()).into_pyobject(slf.py())?.into_any();
        Ok((slf.get_type().getattr("_from_data")?, (all,)))
    }

    #[staticmethod]
    fn _from_data(data: (Data, Vec<String>)) -> Self {
        let (data, names) = data;
        Self { data, bodies: Bodies::Named(names) }
    }
}

/// Warm start: rows of a step with their impulses and rates, from which the next step's solver may
/// start; and the next size, if a tolerance chooses sizes.
///
/// It is an explicit argument, so that a step is a pure function of its arguments. With and without
/// a warm start the results agree to the solver's tolerance.
///
/// Examples
/// --------
/// >>> system = qs.load("scenes/pinch.yml")
/// >>> q1, report = system.step(system.q0)
/// >>> q2, _ = system.step(q1, t=0.1, warm=report.warm_start)
/// >>> cold, _ = system.step(q1, t=0.1)
/// >>> bool(abs(q2 - cold).max() < 1e-9)
/// True
#[pyclass(frozen, module = "quasistep._core", from_py_object)]
#[derive(Clone)]
pub struct WarmStart {
    pub inner: quasistep::WarmStart,
}

#[pymethods]
impl WarmStart {
    fn __len__(&self) -> usize {
        self.inner.rows.len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner
    }

    fn __repr__(&self) -> String {
        format!("WarmStart({} rows)", self.__len__())
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py, WarmWords>> {
        let words = warm_to_words(&slf.get().inner);
        Ok((slf.get_type().getattr("_from_data")?, (words,)))
    }

    #[staticmethod]
    fn _from_data(words: WarmWords) -> Self {
        words_to_warm(&words)
    }
}

fn warm_to_words(warm: &quasistep::WarmStart) -> WarmWords {
    let rows = warm.rows.iter().map(|r| (key_to_words(&r.key), r.impulse, r.rate));
    (rows.collect(), warm.time_step, warm.next_size)
}

fn words_to_warm((rows, time_step, next_size): &WarmWords) -> WarmStart {
    let rows = rows.iter().filter_map(|(key, impulse, rate)| {
        Some(WarmRow { key: words_to_key(key)?, impulse: *impulse, rate: *rate })
    });
    let (rows, time_step, next_size) = (rows.collect(), *time_step, *next_size);
    WarmStart { inner: quasistep::WarmStart { rows, time_step, next_size } }
}

impl UniquenessWords {
    /// Converts the uniqueness `found` of a step, with names of bodies and the two bodies of a
    /// contact.
    fn new(
        found: &Uniqueness,
        name: impl Fn(usize) -> String,
        pair: impl Fn(usize) -> [usize; 2],
    ) -> Self {
        let (motion, bodies, direction) = match &found.motion {
            MotionUniqueness::Unique => ("unique", Vec::new(), Vec::new()),
            MotionUniqueness::Free { bodies, direction } => {
                ("free", bodies.iter().map(|b| name(*b)).collect(), direction.clone())
            }
            MotionUniqueness::Unknown => ("unknown", Vec::new(), Vec::new()),
        };
        let (forces, contacts, joints, sums) = match &found.forces {
            ForceUniqueness::Unique => ("unique", Vec::new(), Vec::new(), Vec::new()),
            ForceUniqueness::Shared { contacts, joints, sums } => {
                let contact = |c: &quasistep::SharedForce| {
                    let [a, b] = pair(c.contact).map(&name);
                    (c.contact, a, b, c.normal_is_unique)
                };
                let sum = |s: &quasistep::DeterminedSum| {
                    (name(s.body), s.contacts.clone(), s.axes.clone())
                };
                let contacts = contacts.iter().map(contact).collect();
                ("shared", contacts, joints.clone(), sums.iter().map(sum).collect())
            }
            ForceUniqueness::Unknown => ("unknown", Vec::new(), Vec::new(), Vec::new()),
        };
        let (motion, forces, text) = (motion.to_owned(), forces.to_owned(), found.text.clone());
        Self(motion, bodies, direction, forces, contacts, joints, sums, text)
    }

    /// Creates the `quasistep.Uniqueness` object.
    fn make(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let make = py.import("quasistep._records")?.getattr("Uniqueness")?.getattr("_of")?;
        make.call1(self.into_pyobject(py)?.cast::<PyTuple>()?.clone())
    }
}

/// Uniqueness of a recorded step, as a `quasistep.Uniqueness` object.
pub fn recorded_uniqueness<'py>(
    py: Python<'py>,
    recording: &Recording,
    frame: &Frame,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(found) = &frame.uniqueness else { return Ok(None) };
    let name = |body: usize| recording.bodies[body].clone();
    let pair = |contact: usize| [frame.contacts[contact].a, frame.contacts[contact].b];
    UniquenessWords::new(found, name, pair).make(py).map(Some)
}

fn key_to_words(key: &RowKey) -> [u32; 5] {
    match *key {
        RowKey::Contact { geom_a, geom_b, feature, edge } => [0, geom_a, geom_b, feature, edge],
        RowKey::LowerLimit { limit } => [1, limit, 0, 0, 0],
        RowKey::UpperLimit { limit } => [2, limit, 0, 0, 0],
        RowKey::JointFriction { dof, edge } => [3, dof, edge, 0, 0],
        RowKey::Support { body, edge } => [4, body, edge, 0, 0],
    }
}

fn words_to_key(words: &[u32; 5]) -> Option<RowKey> {
    let [kind, a, b, feature, edge] = *words;
    match kind {
        0 => Some(RowKey::Contact { geom_a: a, geom_b: b, feature, edge }),
        1 => Some(RowKey::LowerLimit { limit: a }),
        2 => Some(RowKey::UpperLimit { limit: a }),
        3 => Some(RowKey::JointFriction { dof: a, edge: b }),
        4 => Some(RowKey::Support { body: a, edge: b }),
        _ => None,
    }
}
