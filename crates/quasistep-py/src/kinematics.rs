//! Configurations and their tangent space; poses, Jacobians and velocities of frames, mass matrices and
//! loads; each at many configurations.

use crate::arrays::{Array, flat, pose};
use crate::error;
use crate::system::{NameOrIndex, System};
use numpy::PyArray1;
use pyo3::prelude::*;
use quasistep::{FrameTarget, IkError, IkSettings, Orientation, StepError};
use quasistep_math::{Mat3, Pose, Quat, Vec3};
use quasistep_model::{Frame, Kinematics, Model};

/// A frame: its body, then xyz (m) and rpy (rad) of the frame in the body.
pub type FrameArgument = (NameOrIndex, [f64; 3], [f64; 3]);

impl System {
    pub fn frame(&self, (body, xyz, rpy): FrameArgument) -> PyResult<Frame> {
        let value = |why: String| error::step(&StepError::Value { what: "frame".into(), why });
        if let Some(x) = xyz.iter().chain(&rpy).find(|x| !x.is_finite()) {
            return Err(value(format!("an offset of {x}; it must be finite")));
        }
        Ok(Frame { body: self.body(&body, "frame")?, X_BF: Pose::from_xyz_rpy(xyz, rpy) })
    }

    /// Collects the numbers that `at` writes for each row of `q`, one row after the other.
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
            check_q(model, "q", q)?;
            model.kinematics(q, &mut kin);
            at(model, &kin, row, &mut out);
        }
        Ok(PyArray1::from_vec(py, out))
    }
}

/// An error if `q` is not a configuration. `what` names the argument.
fn check_q(model: &Model, what: &str, q: &[f64]) -> PyResult<()> {
    model
        .check_q(q)
        .map_err(|e| error::step(&StepError::Value { what: what.into(), why: e.to_string() }))
}

/// A pair of Jacobians, flat.
type Jacobians<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Two Jacobians, `n_v × n_v`, for each of `n` samples: `at` writes those of sample `k`.
fn jacobians(
    py: Python<'_>,
    (n, n_v): (usize, usize),
    mut at: impl FnMut(usize, &mut [f64], &mut [f64]) -> PyResult<()>,
) -> PyResult<Jacobians<'_>> {
    let size = n_v * n_v;
    let [mut first, mut second] = [0, 1].map(|_| vec![0.0; n * size]);
    for k in 0..n {
        let own = k * size..(k + 1) * size;
        at(k, &mut first[own.clone()], &mut second[own])?;
    }
    Ok((PyArray1::from_vec(py, first), PyArray1::from_vec(py, second)))
}

/// Configurations `q ⊕ v h`, for each row of `q` and of `v`.
#[pyfunction]
pub fn integrate<'py>(
    py: Python<'py>,
    system: &System,
    q: Array<'py>,
    v: Array<'py>,
    h: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (model, q, v) = (system.scene.system.model(), flat(&q), flat(&v));
    let (n_q, n_v) = (model.n_q(), model.n_v());
    error::finite("h", &[h])?;
    let mut out = vec![0.0; q.len()];
    let rows = q.chunks_exact(n_q.max(1)).zip(v.chunks_exact(n_v.max(1)));
    for ((q, v), out) in rows.zip(out.chunks_exact_mut(n_q.max(1))) {
        check_q(model, "q", q)?;
        error::finite("v", v)?;
        model.integrate(q, v, h, out);
    }
    Ok(PyArray1::from_vec(py, out))
}

/// Jacobians of `q ⊕ v h` by `q` and by `v h`, for each row of `v`.
#[pyfunction]
pub fn integrate_jacobians<'py>(
    py: Python<'py>,
    system: &System,
    v: Array<'py>,
    h: f64,
) -> PyResult<Jacobians<'py>> {
    let (model, v) = (system.scene.system.model(), flat(&v));
    let n_v = model.n_v();
    error::finite("h", &[h])?;
    jacobians(py, (v.len() / n_v.max(1), n_v), |k, by_q, by_hv| {
        let v = &v[k * n_v..(k + 1) * n_v];
        error::finite("v", v)?;
        model.integrate_jacobians(v, h, by_q, by_hv);
        Ok(())
    })
}

/// Tangent vectors `q1 ⊖ q0`, for each row of `q0` and of `q1`.
#[pyfunction]
pub fn difference<'py>(
    py: Python<'py>,
    system: &System,
    q0: Array<'py>,
    q1: Array<'py>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (model, q0, q1) = (system.scene.system.model(), flat(&q0), flat(&q1));
    let (n_q, n_v) = (model.n_q().max(1), model.n_v().max(1));
    let mut out = vec![0.0; q0.len() / n_q * n_v];
    let rows = q0.chunks_exact(n_q).zip(q1.chunks_exact(n_q));
    for ((q0, q1), out) in rows.zip(out.chunks_exact_mut(n_v)) {
        check_q(model, "q0", q0)?;
        check_q(model, "q1", q1)?;
        model.difference(q0, q1, out);
    }
    Ok(PyArray1::from_vec(py, out))
}

/// Jacobians of `q1 ⊖ q0` by `q0` and by `q1`, for each row of both.
#[pyfunction]
pub fn difference_jacobians<'py>(
    py: Python<'py>,
    system: &System,
    q0: Array<'py>,
    q1: Array<'py>,
) -> PyResult<Jacobians<'py>> {
    let (model, q0, q1) = (system.scene.system.model(), flat(&q0), flat(&q1));
    let (n_q, n_v) = (model.n_q(), model.n_v());
    jacobians(py, (q0.len() / n_q.max(1), n_v), |k, by_q0, by_q1| {
        let [q0, q1] = [&q0, &q1].map(|q| &q[k * n_q..(k + 1) * n_q]);
        check_q(model, "q0", q0)?;
        check_q(model, "q1", q1)?;
        model.difference_jacobians(q0, q1, by_q0, by_q1);
        Ok(())
    })
}

/// Derivatives of the coordinates with respect to the tangent vector, `n_q × n_v` for each row of
/// `q`.
#[pyfunction]
pub fn coordinate_matrix<'py>(
    py: Python<'py>,
    system: &System,
    q: Array<'py>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (model, q) = (system.scene.system.model(), flat(&q));
    let (n_q, n_v) = (model.n_q(), model.n_v());
    let (mut dq, mut column) = (vec![0.0; n_v], vec![0.0; n_q]);
    let mut all = vec![0.0; q.len() * n_v];
    let rows = q.chunks_exact(n_q.max(1)).zip(all.chunks_exact_mut((n_q * n_v).max(1)));
    for (q, matrix) in rows {
        check_q(model, "q", q)?;
        for dof in 0..n_v {
            dq[dof] = 1.0;
            model.coordinate_change(q, &dq, &mut column);
            dq[dof] = 0.0;
            for (row, entry) in column.iter().enumerate() {
                matrix[row * n_v + dof] = *entry;
            }
        }
    }
    Ok(PyArray1::from_vec(py, all))
}

/// Commands without error at `q`: `n_u` numbers for each row of `q`.
#[pyfunction]
pub fn command_at<'py>(
    py: Python<'py>,
    system: &System,
    q: Array<'py>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let own = &system.scene.system;
    let (rows, mut row) = (flat(&q), 0);
    system.for_each_q(py, &q, |model, _, _, out| {
        out.extend(own.command_at(&rows[row..]));
        row += model.n_q();
    })
}

/// Poses of a frame, 7 numbers (unit quaternion w, x, y, z and position in m) for each row of `q`.
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

/// Jacobians at a point of a frame, `6 × n_v` for each row of `q`.
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

/// Yaws of a frame about a unit vector in W, and their gradients: `1 + n_v` numbers for each row of
/// `q`.
#[pyfunction]
pub fn frame_yaw<'py>(
    py: Python<'py>,
    system: &System,
    frame: FrameArgument,
    q: Array<'py>,
    axis: [f64; 3],
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (frame, axis_W) = (system.frame(frame)?, axis.into());
    let mut gradient = vec![0.0; system.scene.system.model().n_v()];
    system.for_each_q(py, &q, |model, kin, _, out| {
        out.push(model.frame_yaw(kin, &frame, axis_W, &mut gradient));
        out.extend(&gradient);
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

/// A target: position, quaternion, or an axis of the frame with its direction in the world.
type TargetArgument = (Option<[f64; 3]>, Option<[f64; 4]>, Option<([f64; 3], [f64; 3])>);

/// Settings: dofs that may move, bounds of dofs, smallest distance, tolerances (m, rad), attempts.
type SettingsArgument =
    (Option<Vec<usize>>, Vec<(usize, [f64; 2])>, Option<f64>, Option<f64>, f64, u32);

fn target((position, quaternion, axis): TargetArgument) -> FrameTarget {
    let orientation = match (quaternion, axis) {
        (Some([w, x, y, z]), _) => Orientation::Fixed(Quat::new(w, x, y, z)),
        (None, Some((axis, direction))) => {
            Orientation::Axis { axis_F: axis.into(), direction_W: direction.into() }
        }
        (None, None) => Orientation::Free,
    };
    FrameTarget { position: position.map(Into::into), orientation }
}

fn settings(system: &System, given: SettingsArgument) -> IkSettings {
    let (dofs, limits, avoid, position_tolerance, rotation_tolerance, attempts) = given;
    let model = system.scene.system.model();
    let joints = dofs.map(|dofs| {
        let owns = |body: &usize| dofs.iter().any(|dof| model.body(*body).v.contains(dof));
        (1..model.n_bodies()).filter(owns).collect()
    });
    IkSettings { joints, limits, avoid, position_tolerance, rotation_tolerance, attempts }
}

/// Solves inverse kinematics. Returns the configuration, its errors (m, rad) and the number of
/// attempts.
#[pyfunction]
pub fn inverse_kinematics<'py>(
    py: Python<'py>,
    system: &System,
    frame: FrameArgument,
    pose: TargetArgument,
    q0: Array<'py>,
    given: SettingsArgument,
) -> PyResult<(Bound<'py, PyArray1<f64>>, f64, f64, u32)> {
    let (frame, target, q0) = (system.frame(frame)?, target(pose), flat(&q0));
    let settings = settings(system, given);
    let world = &system.scene.system;
    let found = py.detach(|| world.inverse_kinematics(&frame, &target, &q0, &settings));
    let found = found.map_err(|e: IkError| error::kinematics(&e))?;
    let q = PyArray1::from_vec(py, found.q);
    Ok((q, found.position_error, found.rotation_error, found.attempts))
}

/// Configurations that lead a frame along targets, one after the other.
#[pyfunction]
pub fn follow<'py>(
    py: Python<'py>,
    system: &System,
    frame: FrameArgument,
    poses: Vec<TargetArgument>,
    steps: usize,
    q0: Array<'py>,
    given: SettingsArgument,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (frame, q0) = (system.frame(frame)?, flat(&q0));
    let targets: Vec<FrameTarget> = poses.into_iter().map(target).collect();
    let settings = settings(system, given);
    let world = &system.scene.system;
    let path = py.detach(|| world.follow(&frame, &targets, steps, &q0, &settings));
    let path = path.map_err(|e| error::kinematics(&e))?;
    Ok(PyArray1::from_vec(py, path.concat()))
}

/// Unit quaternion w, x, y, z of roll, pitch and yaw (rad).
#[pyfunction]
pub fn quaternion_of_rpy(rpy: [f64; 3]) -> [f64; 4] {
    Quat::from_rpy(rpy).to_array()
}

/// Unit quaternion w, x, y, z of a rotation matrix. The matrix must be a rotation to 1e-6.
#[pyfunction]
pub fn quaternion_of_matrix(matrix: Array<'_>) -> PyResult<[f64; 4]> {
    let m = flat(&matrix);
    let rows = [0, 3, 6].map(|k| Vec3::new(m[k], m[k + 1], m[k + 2]));
    let R = Mat3 { rows };
    let q = Quat::from_matrix(&R);
    let off = (q.to_matrix().rows.into_iter().zip(rows)).map(|(a, b)| (a - b).max_abs());
    // written so that NaN is refused
    if !off.fold(0.0, f64::max).le(&1e-6) || m.iter().any(|x| !x.is_finite()) {
        let why = "its upper left 3 × 3 entries are no rotation".to_owned();
        return Err(error::step(&StepError::Value { what: "pose".into(), why }));
    }
    Ok(q.to_array())
}
