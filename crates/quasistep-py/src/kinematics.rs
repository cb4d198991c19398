//! Poses, Jacobians and velocities of frames, mass matrix and load, at many configurations.

use crate::arrays::{Array, flat, pose};
use crate::error;
use crate::system::{NameOrIndex, System};
use numpy::PyArray1;
use pyo3::prelude::*;
use quasistep::StepError;
use quasistep_math::{Pose, Vec3};
use quasistep_model::{Frame, Kinematics, Model};

/// Body, then xyz (m) and rpy (rad) of the frame in it.
pub type FrameArgument = (NameOrIndex, [f64; 3], [f64; 3]);

impl System {
    pub fn frame(&self, (body, xyz, rpy): FrameArgument) -> PyResult<Frame> {
        let value = |why: String| error::step(&StepError::Value { what: "frame".into(), why });
        if let Some(x) = xyz.iter().chain(&rpy).find(|x| !x.is_finite()) {
            return Err(value(format!("an offset of {x}; it must be finite")));
        }
        Ok(Frame { body: self.body(&body, "frame")?, X_BF: Pose::from_xyz_rpy(xyz, rpy) })
    }

    /// What `at` writes for each row of `q`, one after the other.
    fn for_each_q<'py>(
        &self,
        py: Python<'py>,
        q: &Array<'py>,
        mut at: impl FnMut(&Model, &Kinematics, usize, &mut Vec<f64>),
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (model, q) = (self.scene.system.model(), flat(q));
        let mut kin = model.create_kinematics();
        let mut out = Vec::new();
        for (row, q) in q.chunks_exact(model.n_q().max(1)).enumerate() {
            model.check_q(q).map_err(|e| {
                error::step(&StepError::Value { what: "q".into(), why: e.to_string() })
            })?;
            model.kinematics(q, &mut kin);
            at(model, &kin, row, &mut out);
        }
        Ok(PyArray1::from_vec(py, out))
    }
}

/// Poses of a frame, 7 numbers for each row of `q`.
#[pyfunction]
pub fn frame_pose<'py>(
    py: Python<'py>,
    system: &System,
    frame: FrameArgument,
    q: Array<'py>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let frame = system.frame(frame)?;
    system.for_each_q(py, &q, |model, kin, _, out| {
        out.extend(pose(&model.frame_pose(kin, &frame)));
    })
}

/// Jacobians at a point of a frame, 6 rows for each row of `q`.
#[pyfunction]
pub fn frame_jacobian<'py>(
    py: Python<'py>,
    system: &System,
    frame: FrameArgument,
    q: Array<'py>,
    point: [f64; 3],
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let frame = system.frame(frame)?.at(point.into());
    let mut J = vec![0.0; 6 * system.scene.system.model().n_v()];
    system.for_each_q(py, &q, |model, kin, _, out| {
        model.frame_jacobian(kin, &frame, &mut J);
        out.extend(&J);
    })
}

/// Velocities of a point of a frame, 6 numbers for each row of `q` and of `v`.
#[pyfunction]
pub fn frame_velocity<'py>(
    py: Python<'py>,
    system: &System,
    frame: FrameArgument,
    q: Array<'py>,
    v: Array<'py>,
    point: [f64; 3],
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let frame = system.frame(frame)?.at(point.into());
    let (v, n_v) = (flat(&v), system.scene.system.model().n_v());
    system.for_each_q(py, &q, |model, kin, row, out| {
        let [w, u] = model.frame_velocity(kin, &frame, &v[row * n_v..(row + 1) * n_v]);
        out.extend([w, u].map(Vec3::to_array).as_flattened());
    })
}

/// Mass matrices, `n_v × n_v` for each row of `q`.
#[pyfunction]
pub fn mass_matrix<'py>(
    py: Python<'py>,
    system: &System,
    q: Array<'py>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let n_v = system.scene.system.model().n_v();
    let mut mass = vec![0.0; n_v * n_v];
    system.for_each_q(py, &q, |model, kin, _, out| {
        model.mass_matrix(kin, &mut mass);
        out.extend(&mass);
    })
}

/// Generalised forces of gravity, `n_v` for each row of `q`.
#[pyfunction]
#[pyo3(signature = (system, q, gravity))]
pub fn gravity_force<'py>(
    py: Python<'py>,
    system: &System,
    q: Array<'py>,
    gravity: Option<[f64; 3]>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let g = gravity.unwrap_or(system.scene.params.gravity).into();
    system.for_each_q(py, &q, |model, kin, _, out| {
        let from = out.len();
        out.resize(from + model.n_v(), 0.0);
        model.gravity_force(kin, g, &mut out[from..]);
    })
}
