//! Arrays in and out.

use numpy::{AllowTypeChange, PyArrayLikeDyn};
use pyo3::prelude::*;
use quasistep_math::Pose;

/// Anything that numpy reads as numbers.
pub type Array<'py> = PyArrayLikeDyn<'py, f64, AllowTypeChange>;

/// What `__reduce__` gives to pickle: how to make an object again, and from what.
pub type Reduced<'py, T> = (Bound<'py, PyAny>, (T,));

/// Its numbers, the last index fastest.
pub fn flat(array: &Array<'_>) -> Vec<f64> {
    match array.as_slice() {
        Ok(slice) => slice.to_vec(),
        Err(_) => array.as_array().iter().copied().collect(),
    }
}

/// Quaternion w, x, y, z and position.
pub fn pose(X: &Pose) -> [f64; 7] {
    let (q, p) = (X.rotation, X.translation);
    [q.w, q.x, q.y, q.z, p.x, p.y, p.z]
}
