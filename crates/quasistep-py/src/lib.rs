//! The Python module `quasistep._core`: conversion of types and arrays, no mathematics.
//!
//! The package in `python/quasistep` is its only user. All computation happens in the other crates.
#![allow(non_snake_case)] // monogram notation: X_WB, p_B, force_W
#![allow(clippy::needless_pass_by_value)] // Python passes owned values
#![allow(clippy::doc_link_with_quotes)] // examples in docstrings index by name
#![allow(missing_docs)] // docstrings are written in the Python package, in numpydoc format

use pyo3::prelude::*;
use std::ffi::OsString;

mod arrays;
mod batch;
mod closed_loop;
mod control;
mod derivatives;
mod error;
mod instances;
mod kinematics;
mod live;
mod loads;
mod motion;
mod packaged;
mod params;
mod paths;
mod plan;
mod records;
mod report;
mod rollout;
mod run;
mod statics;
mod system;

/// Runs the command `quasistep` with these arguments, of which the first is its name; returns its
/// exit code.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| quasistep_cli::execute(arguments))
}

/// How to read what the message of an exception of this class means, if there is an entry for it.
#[pyfunction]
#[pyo3(signature = (message, class_, /))]
fn help(message: &str, class_: &str) -> Option<String> {
    quasistep_cli::help(message, class_)
}

#[pymodule(gil_used = false)]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<control::Mpc>()?;
    m.add_class::<derivatives::Changes>()?;
    m.add_class::<derivatives::Derivatives>()?;
    m.add_class::<instances::Instances>()?;
    m.add_class::<live::Live>()?;
    m.add_class::<params::StepParams>()?;
    m.add_class::<report::StepReport>()?;
    m.add_class::<report::WarmStart>()?;
    m.add_class::<run::Recording>()?;
    m.add_class::<system::System>()?;
    m.add_function(wrap_pyfunction!(command, m)?)?;
    m.add_function(wrap_pyfunction!(help, m)?)?;
    m.add_function(wrap_pyfunction!(live::live, m)?)?;
    m.add_function(wrap_pyfunction!(run::run, m)?)?;
    m.add_function(wrap_pyfunction!(motion::mcap_motion, m)?)?;
    m.add_function(wrap_pyfunction!(motion::compare, m)?)?;
    m.add_function(wrap_pyfunction!(batch::batch, m)?)?;
    m.add_function(wrap_pyfunction!(closed_loop::control_run, m)?)?;
    m.add_function(wrap_pyfunction!(closed_loop::linearise, m)?)?;
    m.add_function(wrap_pyfunction!(closed_loop::prediction, m)?)?;
    m.add_function(wrap_pyfunction!(closed_loop::task, m)?)?;
    m.add_function(wrap_pyfunction!(control::coulomb_contacts, m)?)?;
    m.add_function(wrap_pyfunction!(derivatives::differentiate_batch, m)?)?;
    m.add_function(wrap_pyfunction!(kinematics::command_at, m)?)?;
    m.add_function(wrap_pyfunction!(kinematics::coordinate_matrix, m)?)?;
    m.add_function(wrap_pyfunction!(kinematics::difference, m)?)?;
    m.add_function(wrap_pyfunction!(kinematics::difference_jacobians, m)?)?;
    m.add_function(wrap_pyfunction!(kinematics::follow, m)?)?;
    m.add_function(wrap_pyfunction!(kinematics::frame_jacobian, m)?)?;
    m.add_function(wrap_pyfunction!(kinematics::frame_pose, m)?)?;
    m.add_function(wrap_pyfunction!(kinematics::frame_velocity, m)?)?;
    m.add_function(wrap_pyfunction!(kinematics::frame_yaw, m)?)?;
    m.add_function(wrap_pyfunction!(kinematics::gravity_force, m)?)?;
    m.add_function(wrap_pyfunction!(kinematics::integrate, m)?)?;
    m.add_function(wrap_pyfunction!(kinematics::integrate_jacobians, m)?)?;
    m.add_function(wrap_pyfunction!(kinematics::inverse_kinematics, m)?)?;
    m.add_function(wrap_pyfunction!(kinematics::mass_matrix, m)?)?;
    m.add_function(wrap_pyfunction!(kinematics::quaternion_of_matrix, m)?)?;
    m.add_function(wrap_pyfunction!(kinematics::quaternion_of_rpy, m)?)?;
    m.add_function(wrap_pyfunction!(packaged::packaged_scene, m)?)?;
    m.add_function(wrap_pyfunction!(plan::plan, m)?)?;
    m.add_class::<plan::PyRoadmap>()?;
    m.add_function(wrap_pyfunction!(plan::goal_errors, m)?)?;
    m.add_function(wrap_pyfunction!(plan::plan_scene, m)?)?;
    m.add_function(wrap_pyfunction!(plan::plan_section, m)?)?;
    m.add_function(wrap_pyfunction!(paths::grasps, m)?)?;
    m.add_function(wrap_pyfunction!(paths::joint_path, m)?)?;
    m.add_function(wrap_pyfunction!(rollout::rollout_gradients, m)?)?;
    m.add_function(wrap_pyfunction!(rollout::rollouts, m)?)?;
    m.add_function(wrap_pyfunction!(statics::settle, m)?)?;
    m.add_function(wrap_pyfunction!(statics::largest_wrench, m)?)?;
    let py = m.py();
    m.add("CONTACT", records::dtype(py, records::Of::Step)?)?;
    m.add("HAS_PAGE", quasistep_view::has_page())?;
    m.add("SLIP_SPEED_THRESHOLD", quasistep::SLIP_SPEED_THRESHOLD)?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))
}
