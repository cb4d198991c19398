//! Derivatives of integration and differences on the manifold, and of quaternion coordinates.
//!
//! ```text
//! (exp(δ) R) ⊕ h (w + δw) = exp(Exp(h w) δ + h Jl(h w) δw) exp(h w) R
//! log(exp(δ1) R1 (exp(δ0) R0)⁻¹) = φ + Jl(φ)⁻¹ δ1 − Jl(−φ)⁻¹ δ0,      φ = log(R1 R0⁻¹)
//! ```
//!
//! `Jl` is the left Jacobian of the exponential map. All coordinates except rotations add up as
//! vectors.

use crate::Model;
use crate::kinematics::unit;
use quasistep_math::{Mat3, Quat, Vec3};

/// Squared angle (rad²) below which a series replaces the closed form, which would cancel; the next
/// term is 3e-15 there.
const SMALL: f64 = 1e-2;

/// `Jl(φ) = I + (1 − cos θ)/θ² [φ] + (θ − sin θ)/θ³ [φ]²`, `θ = |φ|`.
fn left_jacobian(phi: Vec3) -> Mat3 {
    let theta2 = phi.norm_squared();
    let (a, b) = if theta2 < SMALL {
        let t = theta2;
        (
            0.5 - t / 24.0 * (1.0 - t / 30.0 * (1.0 - t / 56.0)),
            1.0 / 6.0 - t / 120.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0)),
        )
    } else {
        let theta = theta2.sqrt();
        let half = (0.5 * theta).sin();
        (2.0 * half * half / theta2, (theta - theta.sin()) / (theta2 * theta))
    };
    series(phi, a, b)
}

/// Inverse left Jacobian `Jl(φ)⁻¹ = I − [φ]/2 + (1/θ² − (1 + cos θ)/(2 θ sin θ)) [φ]²`, `θ = |φ|`.
/// For small rotations δ0, δ1 of R0 and R1, the change of `φ = log(R1 R0⁻¹)` is
/// `Jl(φ)⁻¹ δ1 − Jl(−φ)⁻¹ δ0`. `Jl(−φ)⁻¹` is the transpose.
pub fn left_jacobian_inverse(phi: Vec3) -> Mat3 {
    let theta2 = phi.norm_squared();
    let b = if theta2 < SMALL {
        1.0 / 12.0 + theta2 / 720.0 * (1.0 + theta2 / 42.0 * (1.0 + theta2 / 40.0))
    } else {
        let theta = theta2.sqrt();
        // (1 + cos θ)/sin θ = cot(θ/2)
        1.0 / theta2 - 0.5 / (theta * (0.5 * theta).tan())
    };
    series(phi, -0.5, b)
}

/// The matrix `I + a [φ] + b [φ]²`.
fn series(phi: Vec3, a: f64, b: f64) -> Mat3 {
    let cross = Mat3 {
        rows: [
            Vec3::new(0.0, -phi.z, phi.y),
            Vec3::new(phi.z, 0.0, -phi.x),
            Vec3::new(-phi.y, phi.x, 0.0),
        ],
    };
    Mat3::IDENTITY + cross * a + cross * cross * b
}

fn vec3(v: &[f64]) -> Vec3 {
    Vec3::new(v[0], v[1], v[2])
}

fn write(v: Vec3, to: &mut [f64]) {
    to[..3].copy_from_slice(&v.to_array());
}

impl Model {
    /// For a joint with a quaternion, two 3 × 3 matrices that map rotations in `dq` and in `hdv` to
    /// the rotation of `q ⊕ h v`. `None` for other joints, whose changes are sums.
    ///
    /// # Panics
    ///
    /// If `v` is shorter than `n_v`.
    pub fn turns_of_integral(&self, body: usize, v: &[f64], h: f64) -> Option<[Mat3; 2]> {
        let body = &self.bodies[body];
        body.joint.has_quaternion().then(|| {
            let phi = vec3(&v[body.v.clone()]) * h;
            [Quat::from_rotation_vector(phi).to_matrix(), left_jacobian(phi)]
        })
    }

    /// For a joint with a quaternion, two 3 × 3 matrices that map rotations in `dq0` and in `dq1`
    /// to the change of `q1 ⊖ q0`. `None` for other joints.
    ///
    /// # Panics
    ///
    /// If a slice is too short.
    pub fn turns_of_difference(&self, body: usize, q0: &[f64], q1: &[f64]) -> Option<[Mat3; 2]> {
        let body = &self.bodies[body];
        body.joint.has_quaternion().then(|| {
            let phi = difference_of(&q0[body.q.clone()], &q1[body.q.clone()]);
            [left_jacobian_inverse(-phi) * -1.0, left_jacobian_inverse(phi)]
        })
    }

    /// Derivative of `q ⊕ h v` in tangent coordinates, for changes `dq` of `q` and `hdv` of `h v`;
    /// all of length `n_v`.
    ///
    /// # Panics
    ///
    /// If a slice is shorter than `n_v`.
    pub fn integrate_change(&self, v: &[f64], h: f64, dq: &[f64], hdv: &[f64], out: &mut [f64]) {
        for body in self.bodies.iter().filter(|body| !body.v.is_empty()) {
            let r = body.v.clone();
            for k in r.clone() {
                out[k] = dq[k] + hdv[k];
            }
            if body.joint.has_quaternion() {
                let phi = vec3(&v[r.clone()]) * h;
                let turned = Quat::from_rotation_vector(phi).rotate(vec3(&dq[r.clone()]));
                write(turned + left_jacobian(phi) * vec3(&hdv[r.clone()]), &mut out[r]);
            }
        }
    }

    /// Transpose of [`integrate_change`](Self::integrate_change): gradients of `weightsᵀ out` with
    /// respect to `dq` and `hdv`.
    ///
    /// # Panics
    ///
    /// If a slice is shorter than `n_v`.
    pub fn integrate_gradient(
        &self,
        v: &[f64],
        h: f64,
        weights: &[f64],
        dq: &mut [f64],
        hdv: &mut [f64],
    ) {
        for body in self.bodies.iter().filter(|body| !body.v.is_empty()) {
            let r = body.v.clone();
            dq[r.clone()].copy_from_slice(&weights[r.clone()]);
            hdv[r.clone()].copy_from_slice(&weights[r.clone()]);
            if body.joint.has_quaternion() {
                let (phi, weight) = (vec3(&v[r.clone()]) * h, vec3(&weights[r.clone()]));
                write(Quat::from_rotation_vector(-phi).rotate(weight), &mut dq[r.clone()]);
                write(left_jacobian(phi).transpose() * weight, &mut hdv[r]);
            }
        }
    }

    /// Derivative of `q1 ⊖ q0` for changes `dq0` and `dq1` in tangent coordinates; all of length
    /// `n_v`.
    ///
    /// # Panics
    ///
    /// If a slice is too short.
    pub fn difference_change(
        &self,
        q0: &[f64],
        q1: &[f64],
        dq0: &[f64],
        dq1: &[f64],
        out: &mut [f64],
    ) {
        for body in self.bodies.iter().filter(|body| !body.v.is_empty()) {
            let r = body.v.clone();
            for k in r.clone() {
                out[k] = dq1[k] - dq0[k];
            }
            if body.joint.has_quaternion() {
                let phi = difference_of(&q0[body.q.clone()], &q1[body.q.clone()]);
                let ahead = left_jacobian_inverse(phi) * vec3(&dq1[r.clone()]);
                let behind = left_jacobian_inverse(-phi) * vec3(&dq0[r.clone()]);
                write(ahead - behind, &mut out[r]);
            }
        }
    }

    /// Transpose of [`difference_change`](Self::difference_change): gradients of `weightsᵀ out`
    /// with respect to `dq0` and `dq1`.
    ///
    /// # Panics
    ///
    /// If a slice is too short.
    pub fn difference_gradient(
        &self,
        q0: &[f64],
        q1: &[f64],
        weights: &[f64],
        dq0: &mut [f64],
        dq1: &mut [f64],
    ) {
        for body in self.bodies.iter().filter(|body| !body.v.is_empty()) {
            let r = body.v.clone();
            for k in r.clone() {
                (dq0[k], dq1[k]) = (-weights[k], weights[k]);
            }
            if body.joint.has_quaternion() {
                let phi = difference_of(&q0[body.q.clone()], &q1[body.q.clone()]);
                let weight = vec3(&weights[r.clone()]);
                write(-(left_jacobian_inverse(-phi).transpose() * weight), &mut dq0[r.clone()]);
                write(left_jacobian_inverse(phi).transpose() * weight, &mut dq1[r]);
            }
        }
    }

    /// Jacobians of `q ⊕ h v` in tangent coordinates, by `q` and by `h v`: `n_v × n_v` each,
    /// row-major, one block for each joint on the diagonal.
    ///
    /// # Panics
    ///
    /// If `v` is shorter than `n_v`, or an output does not have `n_v²` entries.
    pub fn integrate_jacobians(&self, v: &[f64], h: f64, by_q: &mut [f64], by_hv: &mut [f64]) {
        self.fill_blocks(by_q, 1.0, |body| self.turns_of_integral(body, v, h).map(|t| t[0]));
        self.fill_blocks(by_hv, 1.0, |body| self.turns_of_integral(body, v, h).map(|t| t[1]));
    }

    /// Jacobians of `q1 ⊖ q0` in tangent coordinates, by `q0` and by `q1`: `n_v × n_v` each,
    /// row-major, one block for each joint on the diagonal.
    ///
    /// # Panics
    ///
    /// If a configuration is shorter than `n_q`, or an output does not have `n_v²` entries.
    pub fn difference_jacobians(
        &self,
        q0: &[f64],
        q1: &[f64],
        by_q0: &mut [f64],
        by_q1: &mut [f64],
    ) {
        self.fill_blocks(by_q0, -1.0, |body| self.turns_of_difference(body, q0, q1).map(|t| t[0]));
        self.fill_blocks(by_q1, 1.0, |body| self.turns_of_difference(body, q0, q1).map(|t| t[1]));
    }

    /// Writes a matrix with `sum` on the diagonal of coordinates that add up, and with the block of
    /// `turn` at each rotation.
    fn fill_blocks(&self, out: &mut [f64], sum: f64, turn: impl Fn(usize) -> Option<Mat3>) {
        let n_v = self.n_v();
        assert_eq!(out.len(), n_v * n_v, "entries of a Jacobian with n_v = {n_v}");
        out.fill(0.0);
        for k in 0..n_v {
            out[k * n_v + k] = sum;
        }
        for (index, body) in self.bodies.iter().enumerate().filter(|(_, body)| !body.v.is_empty()) {
            let Some(block) = turn(index) else { continue };
            for (k, row) in block.rows.iter().enumerate() {
                let start = (body.v.start + k) * n_v + body.v.start;
                write(*row, &mut out[start..]);
            }
        }
    }

    /// Change of the coordinates `q` (length `n_q`) for a tangent vector `dq` (length `n_v`): the
    /// matrix `G` of `q̇ = G v`. For quaternions, `q̇ = 1/2 (0, δ) q`.
    ///
    /// # Panics
    ///
    /// If a slice is too short.
    pub fn coordinate_change(&self, q: &[f64], dq: &[f64], out: &mut [f64]) {
        for body in self.bodies.iter().filter(|body| !body.v.is_empty()) {
            let (from, to) = (&dq[body.v.clone()], &mut out[body.q.clone()]);
            if body.joint.has_quaternion() {
                let d = Quat::new(0.0, 0.5 * from[0], 0.5 * from[1], 0.5 * from[2]);
                to[..4].copy_from_slice(&(d * unit(&q[body.q.clone()])).to_array());
                to[4..].copy_from_slice(&from[3..]);
            } else {
                to.copy_from_slice(from);
            }
        }
    }

    /// Transpose of [`coordinate_change`](Self::coordinate_change): converts a gradient by
    /// coordinates (length `n_q`) to one in tangent coordinates (length `n_v`).
    ///
    /// # Panics
    ///
    /// If a slice is too short.
    pub fn tangent_gradient(&self, q: &[f64], by_q: &[f64], out: &mut [f64]) {
        for body in self.bodies.iter().filter(|body| !body.v.is_empty()) {
            let (from, to) = (&by_q[body.q.clone()], &mut out[body.v.clone()]);
            if body.joint.has_quaternion() {
                let r = unit(&q[body.q.clone()]);
                for k in 0..3 {
                    let axis = Vec3::AXES[k] * 0.5;
                    let d = (Quat::new(0.0, axis.x, axis.y, axis.z) * r).to_array();
                    to[k] = d.iter().zip(from).map(|(d, g)| d * g).sum();
                }
                to[3..].copy_from_slice(&from[4..]);
            } else {
                to.copy_from_slice(from);
            }
        }
    }
}

/// The rotation vector `log(R1 R0⁻¹)`.
fn difference_of(q0: &[f64], q1: &[f64]) -> Vec3 {
    (unit(q1) * unit(q0).inverse()).to_rotation_vector()
}
