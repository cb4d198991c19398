//! Scenes that the package carries, for environments of its own.

use pyo3::prelude::*;

/// Text of a shipped scene; `None` if there is no such scene.
#[pyfunction]
pub fn packaged_scene(name: &str) -> Option<&'static str> {
    quasistep_cli::shipped_scene(name)
}
