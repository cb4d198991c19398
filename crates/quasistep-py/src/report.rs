//! `StepReport` and `WarmStart`: what a step says about itself, as plain data that travels.

use crate::arrays::Reduced;
use crate::records::{self, Of};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use quasistep::{RowKey, Stage};

/// What a step computed: forces, contacts, certificate, timing.
///
/// Immutable plain data. Arrays are made when they are asked for.
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
}

/// Everything in a report, in types that Python pickles.
#[derive(Clone, IntoPyObject, FromPyObject)]
#[pyo3(from_item_all)]
struct Data {
    time: f64,
    v: Vec<f64>,
    effort: Vec<f64>,
    contacts: Vec<u8>,
    limits: Vec<(u32, f64)>,
    saturated: Vec<u32>,
    certificate: [f64; 7],
    counts: [usize; 4],
    method: String,
    smallest_norm: bool,
    stage_ns: [u64; Stage::COUNT],
    warm: Option<Vec<[u32; 5]>>,
}

impl StepReport {
    pub fn new(report: &quasistep::StepReport, warm: Option<&[RowKey]>) -> Self {
        let mut contacts = Vec::with_capacity(records::SIZE * report.contacts.len());
        for contact in &report.contacts {
            records::push(&mut contacts, contact);
        }
        let data = Data {
            time: report.time,
            v: report.v.clone(),
            effort: report.effort.clone(),
            contacts,
            limits: report.limits.iter().map(|l| (l.dof, l.force)).collect(),
            saturated: report.saturated.clone(),
            certificate: records::certificate(&report.certificate),
            counts: [
                report.n_rows,
                report.n_active,
                report.n_candidates,
                report.iterations as usize,
            ],
            method: format!("{:?}", report.method),
            smallest_norm: report.smallest_norm,
            stage_ns: report.stage_ns,
            warm: warm.map(|keys| keys.iter().map(key_to_words).collect()),
        };
        Self { data }
    }
}

#[pymethods]
impl StepReport {
    /// Time at the end of the step, in s.
    #[getter]
    fn time(&self) -> f64 {
        self.data.time
    }

    /// Generalised velocity during the step, shape (n_v,), in m/s or rad/s.
    #[getter]
    fn v<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.data.v)
    }

    /// Drive force on each commanded dof, shape (n_u_v,), in N or N·m: spring and damper of an
    /// actuated joint, or the force that a prescribed motion needs.
    #[getter]
    fn effort<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.data.effort)
    }

    /// Contact points within the margin: a structured array of dtype :data:`quasistep.CONTACT`.
    #[getter]
    fn contacts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        records::array(py, self.data.contacts.clone(), Of::Step)
    }

    /// Position limits that push: pairs of dof and force, in N or N·m.
    #[getter]
    fn limits(&self) -> Vec<(u32, f64)> {
        self.data.limits.clone()
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

    /// Rows of the step problem.
    #[getter]
    fn n_rows(&self) -> usize {
        self.data.counts[0]
    }

    /// Rows with an impulse.
    #[getter]
    fn n_active(&self) -> usize {
        self.data.counts[1]
    }

    /// Pairs of shapes that reached the exact distance.
    #[getter]
    fn n_candidates(&self) -> usize {
        self.data.counts[2]
    }

    /// Iterations of the solver.
    #[getter]
    fn iterations(&self) -> usize {
        self.data.counts[3]
    }

    /// The algorithm that gave the answer.
    #[getter]
    fn method(&self) -> &str {
        &self.data.method
    }

    /// True if the impulses are the smallest-norm ones among all that balance the same forces.
    #[getter]
    fn smallest_norm(&self) -> bool {
        self.data.smallest_norm
    }

    /// What the next step may start from; ``None`` in a batch that was not asked for it.
    #[getter]
    fn warm_start(&self) -> Option<WarmStart> {
        let keys = self.data.warm.as_ref()?;
        Some(WarmStart { keys: keys.iter().filter_map(words_to_key).collect() })
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
        let data = slf.get().data.clone().into_pyobject(slf.py())?.into_any();
        Ok((slf.get_type().getattr("_from_data")?, (data,)))
    }

    #[staticmethod]
    fn _from_data(data: Data) -> Self {
        Self { data }
    }
}

/// Rows that were active in a step: the next one may start from them, for speed.
///
/// Explicit, so that a step stays a pure function of its arguments. A step gives the same answer
/// with and without it, to the solver's tolerance.
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
    pub keys: Vec<RowKey>,
}

#[pymethods]
impl WarmStart {
    fn __len__(&self) -> usize {
        self.keys.len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.keys == other.keys
    }

    fn __repr__(&self) -> String {
        format!("WarmStart({} rows)", self.keys.len())
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py, Vec<[u32; 5]>>> {
        let words = slf.get().keys.iter().map(key_to_words).collect();
        Ok((slf.get_type().getattr("_from_data")?, (words,)))
    }

    #[staticmethod]
    fn _from_data(words: Vec<[u32; 5]>) -> Self {
        Self { keys: words.iter().filter_map(words_to_key).collect() }
    }
}

fn key_to_words(key: &RowKey) -> [u32; 5] {
    match *key {
        RowKey::Contact { geom_a, geom_b, feature, edge } => [0, geom_a, geom_b, feature, edge],
        RowKey::LowerLimit { limit } => [1, limit, 0, 0, 0],
        RowKey::UpperLimit { limit } => [2, limit, 0, 0, 0],
    }
}

fn words_to_key(words: &[u32; 5]) -> Option<RowKey> {
    let [kind, a, b, feature, edge] = *words;
    match kind {
        0 => Some(RowKey::Contact { geom_a: a, geom_b: b, feature, edge }),
        1 => Some(RowKey::LowerLimit { limit: a }),
        2 => Some(RowKey::UpperLimit { limit: a }),
        _ => None,
    }
}
