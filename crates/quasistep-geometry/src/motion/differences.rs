//! Derivatives of contact points by finite differences of the patch, for pairs without a closed
//! form. Fourth order; accurate to about 1e-8 for radii of curvature of a centimetre or more.

use super::map::{ContactMotion, MotionMap};
use crate::distance::ContactPoint;
use crate::narrow_phase::NarrowPhase;
use crate::shape::Shape;
use quasistep_math::{Mat3, Pose, Quat, Vec3};

/// Step of the differences: rotation in rad, translation in m.
const STEP: f64 = 2e-5;

/// Finite-difference version of [`NarrowPhase::contact_motions`].
pub(super) fn contact_motions(
    narrow: &mut NarrowPhase,
    [a, b]: [&Shape; 2],
    [X_WA, X_WB]: [&Pose; 2],
    margin: f64,
    points: &[ContactPoint],
    out: &mut Vec<ContactMotion>,
) {
    let start = out.len();
    let mut moved: Vec<ContactPoint> = Vec::new();
    for point in points {
        let mut columns = [[Vec3::ZERO; 3]; 6];
        let mut phi = [0.0; 6];
        let mut kink = false;
        for k in 0..6 {
            let axis = Vec3::AXES[k % 3];
            for (step, weight) in [(1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)] {
                let motion = axis * (step * STEP);
                let X = if k < 3 {
                    let R = Quat::from_rotation_vector(motion);
                    let p = point.p_WCb;
                    Pose::new(R * X_WB.rotation, p + R.rotate(X_WB.translation - p))
                } else {
                    Pose::new(X_WB.rotation, X_WB.translation + motion)
                };
                moved.clear();
                narrow.contact_patch(a, X_WA, b, &X, margin, &mut moved);
                let Some(near) = moved.iter().find(|p| p.feature == point.feature) else {
                    kink = true;
                    continue;
                };
                let weight = weight / (12.0 * STEP);
                phi[k] += (near.phi - point.phi) * weight;
                columns[k][0] += (near.n_AB_W - point.n_AB_W) * weight;
                columns[k][1] += (near.p_WCa - point.p_WCa) * weight;
                columns[k][2] += (near.p_WCb - point.p_WCb) * weight;
            }
        }
        let map = |i: usize| {
            let c = columns.map(|c| c[i]);
            MotionMap {
                turn: Mat3::from_columns([c[0], c[1], c[2]]),
                shift: Mat3::from_columns([c[3], c[4], c[5]]),
            }
        };
        out.push(ContactMotion {
            phi_turn: Vec3::new(phi[0], phi[1], phi[2]),
            phi_shift: Vec3::new(phi[3], phi[4], phi[5]),
            n: map(0),
            a: map(1),
            b: map(2),
            kink,
            on_edge: false,
            by_differences: true,
        });
    }
    debug_assert_eq!(out.len() - start, points.len());
}
