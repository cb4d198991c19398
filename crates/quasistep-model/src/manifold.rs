//! Integration and differences on the manifold of configurations.
//!
//! ```text
//! R_next = exp(h w_F) R        p_next = p + h v_F        and plain sums for all other coordinates
//! ```

use crate::kinematics::unit;
use crate::{JointKind, Model};
use quasistep_math::{Quat, Vec3};

impl Model {
    /// `out = q ⊕ h v`: integrates constant rates `v` (length `n_v`) over the time `h`, in s.
    ///
    /// Rotations use the exponential map. The sign of a unit quaternion is chosen so that its inner
    /// product with that of `q` is ≥ 0; coordinates of a trajectory are therefore continuous.
    /// Angles are not wrapped.
    ///
    /// # Panics
    ///
    /// If `q` or `out` are shorter than `n_q`, or `v` is shorter than `n_v`.
    pub fn integrate(&self, q: &[f64], v: &[f64], h: f64, out: &mut [f64]) {
        for body in self.bodies.iter().filter(|body| !body.q.is_empty()) {
            let (from, to, rate) =
                (&q[body.q.clone()], &mut out[body.q.clone()], &v[body.v.clone()]);
            let mut euclidean = 0;
            if body.joint.has_quaternion() {
                let turned = turn(from, Vec3::new(rate[0], rate[1], rate[2]) * h);
                to[..4].copy_from_slice(&turned.to_array());
                euclidean = 4;
            }
            // a quaternion has one coordinate more than rates
            let shift = from.len() - rate.len();
            for k in euclidean..from.len() {
                to[k] = from[k] + h * rate[k - shift];
            }
        }
    }

    /// `out = q1 ⊖ q0` (length `n_v`): the rates that lead from `q0` to `q1` in unit time,
    /// `integrate(q0, out, 1) = q1` up to the sign of quaternions.
    ///
    /// Rotations use the shorter way, at most π. Differences of angles of one-dof and planar joints
    /// are not wrapped.
    ///
    /// # Panics
    ///
    /// If `q0` or `q1` are shorter than `n_q`, or `out` is shorter than `n_v`.
    pub fn difference(&self, q0: &[f64], q1: &[f64], out: &mut [f64]) {
        for body in self.bodies.iter().filter(|body| !body.q.is_empty()) {
            let (a, b) = (&q0[body.q.clone()], &q1[body.q.clone()]);
            let rate = &mut out[body.v.clone()];
            match body.joint {
                JointKind::Ball | JointKind::Free => {
                    let w_F = (unit(b) * unit(a).inverse()).to_rotation_vector();
                    rate[..3].copy_from_slice(&w_F.to_array());
                    for k in 3..rate.len() {
                        rate[k] = b[k + 1] - a[k + 1];
                    }
                }
                _ => {
                    for k in 0..rate.len() {
                        rate[k] = b[k] - a[k];
                    }
                }
            }
        }
    }
}

/// The quaternion `q` rotated by a rotation vector in F, normalised, with the sign nearer to `q`.
fn turn(q: &[f64], rotation_vector: Vec3) -> Quat {
    let before = unit(q);
    let raw = (Quat::from_rotation_vector(rotation_vector) * before).to_array();
    let after = unit(&raw);
    let inner = before.w * after.w + before.x * after.x + before.y * after.y + before.z * after.z;
    if inner < 0.0 { Quat::new(-after.w, -after.x, -after.y, -after.z) } else { after }
}
