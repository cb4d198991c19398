//! Frames on bodies: Jacobians compared with differences of poses, on trees with every kind of
//! joint.

use crate::common::{Samples, everything, random_q};
use quasistep_math::Vec3;
use quasistep_model::Frame;

/// Step of central differences; their error is `H²`, plus rounding divided by `H`.
const H: f64 = 1e-5;

#[test]
fn a_jacobian_is_the_derivative_of_the_pose_and_a_velocity_is_jacobian_times_rates() {
    let s = &mut Samples(11);
    for seed in 0..10 {
        let model = everything(seed);
        let q = random_q(&model, s);
        let v = s.vector(model.n_v());
        let n_v = model.n_v();
        let [mut kin, mut ahead, mut behind] = std::array::from_fn(|_| model.create_kinematics());
        let mut moved = q.clone();
        model.kinematics(&q, &mut kin);
        model.integrate(&q, &v, H, &mut moved);
        model.kinematics(&moved, &mut ahead);
        model.integrate(&q, &v, -H, &mut moved);
        model.kinematics(&moved, &mut behind);
        for body in 0..model.n_bodies() {
            let frame = Frame { body, X_BF: s.pose() }.at(s.vec3());
            let mut J = vec![0.0; 6 * n_v];
            model.frame_jacobian(&kin, &frame, &mut J);
            let product: Vec<f64> = J
                .chunks_exact(n_v)
                .map(|row| row.iter().zip(&v).map(|(a, b)| a * b).sum())
                .collect();
            let [w, u] = model.frame_velocity(&kin, &frame, &v);
            let [a, b] = [&ahead, &behind].map(|k| model.frame_pose(k, &frame));
            let w_diff = (a.rotation * b.rotation.inverse()).to_rotation_vector() * (0.5 / H);
            let u_diff = (a.translation - b.translation) * (0.5 / H);
            let scale = 1.0 + w.norm() + u.norm();
            for (k, (velocity, difference)) in [(w, w_diff), (u, u_diff)].into_iter().enumerate() {
                let of_J = Vec3::new(product[3 * k], product[3 * k + 1], product[3 * k + 2]);
                assert!((of_J - velocity).norm() < 1e-12 * scale, "tree {seed}, body {body}");
                assert!((velocity - difference).norm() < 1e-7 * scale, "tree {seed}, body {body}");
            }
        }
    }
}
