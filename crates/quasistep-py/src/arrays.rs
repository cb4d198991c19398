//! Conversion of numpy arrays.

use numpy::{AllowTypeChange, PyArrayLikeDyn, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use quasistep_math::Pose;

/// An array argument: anything that numpy converts to real numbers.
pub struct Array<'py>(PyArrayLikeDyn<'py, f64, AllowTypeChange>);

impl<'a, 'py> FromPyObject<'a, 'py> for Array<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        // refuse complex arrays: numpy would drop the imaginary parts
        let py = object.py();
        if py.import("numpy")?.call_method1("iscomplexobj", (object,))?.is_truthy()? {
            return Err(PyTypeError::new_err("complex numbers were seen; give real ones"));
        }
        Ok(Self(object.extract()?))
    }
}

/// Result of `__reduce__` for pickle: a constructor and its argument.
pub type Reduced<'py, T> = (Bound<'py, PyAny>, (T,));

/// Entries of an argument that must be one vector.
pub fn vector(what: &str, array: &Array<'_>) -> PyResult<Vec<f64>> {
    let shape = array.0.shape();
    if let [_] = shape {
        return Ok(flat(array));
    }
    let shape = PyTuple::new(array.0.py(), shape)?.repr()?;
    Err(PyValueError::new_err(format!("`{what}` has shape {shape}; it must be one vector")))
}

/// All entries, the last index fastest.
pub fn flat(Array(array): &Array<'_>) -> Vec<f64> {
    match array.as_slice() {
        Ok(slice) => slice.to_vec(),
        Err(_) => array.as_array().iter().copied().collect(),
    }
}

/// A pose as quaternion w, x, y, z and position (m).
pub fn pose(X: &Pose) -> [f64; 7] {
    let (q, p) = (X.rotation, X.translation);
    [q.w, q.x, q.y, q.z, p.x, p.y, p.z]
}
