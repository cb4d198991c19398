//! Laws of rotations and poses, checked on seeded samples.
#![allow(missing_docs)]

use quasistep_math::{Mat3, Pose, Quat, Vec3};

/// A small linear congruential generator: the same samples on every machine.
struct Samples(u64);

impl Samples {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    }
    fn vec3(&mut self) -> Vec3 {
        Vec3::new(self.next(), self.next(), self.next())
    }
}

#[test]
fn exponential_and_logarithm_are_inverse() {
    let mut s = Samples(1);
    for k in 0..1000 {
        // lengths from 1e-9 rad up to just below pi
        let v =
            s.vec3().try_normalize().unwrap() * (3.1 * 10f64.powf(-9.0 * f64::from(k) / 1000.0));
        let back = Quat::from_rotation_vector(v).to_rotation_vector();
        assert!((back - v).norm() <= 1e-12 * v.norm().max(1e-3), "{v:?} -> {back:?}");
    }
}

#[test]
fn matrix_and_quaternion_agree() {
    let mut s = Samples(2);
    for _ in 0..1000 {
        let q = Quat::from_rotation_vector(s.vec3() * 3.0);
        let v = s.vec3();
        assert!((q.rotate(v) - q.to_matrix() * v).norm() < 1e-14);
        let back = Quat::from_matrix(&q.to_matrix());
        assert!((back.rotate(v) - q.rotate(v)).norm() < 1e-14);
    }
}

#[test]
fn poses_compose_and_invert() {
    let mut s = Samples(3);
    for _ in 0..1000 {
        let a = Pose::new(Quat::from_rotation_vector(s.vec3()), s.vec3());
        let b = Pose::new(Quat::from_rotation_vector(s.vec3()), s.vec3());
        let p = s.vec3();
        assert!(
            ((a * b).transform_point(p) - a.transform_point(b.transform_point(p))).norm() < 1e-14
        );
        assert!((a.inverse().transform_point(a.transform_point(p)) - p).norm() < 1e-14);
        assert!((a.inverse_transform_point(a.transform_point(p)) - p).norm() < 1e-14);
    }
}

#[test]
fn roll_pitch_yaw_turns_about_fixed_axes() {
    let q = Quat::from_rpy([std::f64::consts::FRAC_PI_2, 0.0, std::f64::consts::FRAC_PI_2]);
    // roll takes y to z, which yaw leaves alone
    assert!((q.rotate(Vec3::Y) - Vec3::Z).norm() < 1e-15);
    // yaw takes x to y
    assert!((q.rotate(Vec3::X) - Vec3::Y).norm() < 1e-15);
}

/// Also where roll and yaw turn about one axis.
#[test]
fn roll_pitch_yaw_rebuild_a_rotation() {
    let right = std::f64::consts::FRAC_PI_2;
    for rpy in [
        [0.3, -1.2, 2.9],
        [-3.0, 1.5, -0.1],
        [3.0, 0.0, 3.0],
        [0.4, right, 0.9],
        [0.4, -right, 0.9],
        [0.0, 0.0, 0.0],
    ] {
        let q = Quat::from_rpy(rpy);
        let found = q.to_rpy();
        let off = (Quat::from_rpy(found) * q.inverse()).to_rotation_vector().norm();
        assert!(off < 1e-14 && found[1].abs() <= right, "{rpy:?}: {found:?}, {off} rad off");
    }
}

#[test]
fn eigenvectors_rebuild_a_symmetric_matrix() {
    let mut s = Samples(4);
    for _ in 0..200 {
        let m = Mat3::symmetric([s.next(), s.next(), s.next(), s.next(), s.next(), s.next()]);
        let (values, vectors) = m.symmetric_eigen();
        for k in 0..3 {
            assert!((m * vectors[k] - vectors[k] * values[k]).norm() < 1e-13);
        }
        assert!(values[0] <= values[1] && values[1] <= values[2]);
    }
}

#[test]
fn orthogonal_vector_is_orthogonal_and_steady() {
    let mut s = Samples(5);
    for _ in 0..1000 {
        let n = s.vec3().try_normalize().unwrap();
        let t = n.any_orthogonal();
        assert!(n.dot(t).abs() < 1e-15 && (t.norm() - 1.0).abs() < 1e-15);
    }
    for axis in Vec3::AXES {
        let steady = axis.any_orthogonal();
        for _ in 0..100 {
            let n = (axis + s.vec3() * 1e-6).try_normalize().unwrap();
            assert!((n.any_orthogonal() - steady).norm() < 1e-5);
        }
    }
}
