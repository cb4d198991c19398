//! `StepParams`: parameters of a step, with the keys of the scene grammar.

use crate::arrays::Reduced;
use crate::error;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use quasistep_scene::{read_step_words, step_words};

/// Parameters of a step: the keys of ``step`` in a scene file (except its duration), and ``gravity``.
///
/// Immutable; ``replace`` returns a changed copy. Keys, values and error messages are those of scene files.
///
/// Parameters
/// ----------
/// **words
///     ``size`` (s), or in its place ``tolerance`` (m), ``min_size`` and ``max_size`` (s); ``friction`` (``"exact"`` or ``"convex"``), ``motion`` (``"quasi_static"`` or
///     ``"dynamic"``), ``cone`` (an even number of edges, or ``"round"``),
///     ``inertia`` (``"none"`` or ``"mass"``), ``relaxation`` (s, or ``"step"``), ``passive_mass_scale`` (a pure number, or ``"none"``),
///     ``tangents`` (``"motion"`` or ``"normal"``), ``rotations`` (``"exponential"`` or ``"linear"``), ``contact_margin`` (m), ``max_overlap`` (m) and
///     ``max_recovery_speed`` (m/s), these three up to ``float("inf")``, ``prescribed_rate``, ``integration``, ``accuracy`` (0 to 1e-7), ``work_limit`` (multiply-adds, up to ``float("inf")``), ``gravity`` (m/s², shape (3,)).
///
/// Raises
/// ------
/// SceneError
///     A value is not valid; the message names its key.
///
/// Examples
/// --------
/// >>> params = qs.StepParams(size=0.05, cone="round", inertia="mass")
/// >>> params["size"], params["cone"]
/// (0.05, 'round')
/// >>> params.replace(cone=8)["cone"]
/// 8
#[pyclass(frozen, module = "quasistep._core")]
pub struct StepParams {
    pub inner: quasistep::StepParams,
}

#[pymethods]
impl StepParams {
    #[new]
    #[pyo3(signature = (**words))]
    fn new(words: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let base = Self { inner: quasistep::StepParams::default() };
        base.replace(words)
    }

    /// A copy in which the given values are replaced.
    ///
    /// Parameters
    /// ----------
    /// **words
    ///     Keys and values of :class:`StepParams`.
    ///
    /// Examples
    /// --------
    /// >>> qs.StepParams().replace(size=0.1)["size"]
    /// 0.1
    #[pyo3(signature = (**words))]
    fn replace(&self, words: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let changes = words.map(changes).transpose()?.unwrap_or_default();
        let inner = read_step_words(&self.inner, &changes).map_err(|e| error::scene(&e))?;
        Ok(Self { inner })
    }

    /// All keys and their values, as a dictionary.
    ///
    /// Examples
    /// --------
    /// >>> qs.StepParams(inertia="mass").asdict()["inertia"]
    /// 'mass'
    fn asdict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let values = PyDict::new(py);
        let loads = py.import("json")?.getattr("loads")?;
        for (key, word) in step_words(&self.inner) {
            // numbers and lists are JSON; names are plain text
            if word == ".inf" {
                values.set_item(key, f64::INFINITY)?;
                continue;
            }
            match loads.call1((&word,)) {
                Ok(value) => values.set_item(key, value)?,
                Err(_) => values.set_item(key, word)?,
            }
        }
        Ok(values)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        self.asdict(py)?.as_any().get_item(key)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        step_words(&self.inner).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let words = step_words(&self.inner);
        let words: Vec<_> = words.iter().map(|(key, word)| format!("{key}: {word}")).collect();
        format!("StepParams({})", words.join(", "))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<Reduced<'py, Vec<(&'static str, String)>>> {
        let rebuild = slf.get_type().getattr("_from_words")?;
        Ok((rebuild, (step_words(&slf.get().inner),)))
    }

    #[classmethod]
    fn _from_words(_class: &Bound<'_, PyType>, words: Vec<(String, String)>) -> PyResult<Self> {
        let base = quasistep::StepParams::default();
        let inner = read_step_words(&base, &words).map_err(|e| error::scene(&e))?;
        Ok(Self { inner })
    }
}

/// Converts keyword arguments to `(key, YAML value)`. Values are written as JSON, which is valid
/// YAML.
fn changes(words: &Bound<'_, PyDict>) -> PyResult<Vec<(String, String)>> {
    let to_yaml = words.py().import("quasistep._yaml")?.getattr("to_json")?;
    words
        .iter()
        .map(|(key, value)| Ok((key.extract()?, to_yaml.call1((value,))?.extract()?)))
        .collect()
}
