//! Commands so far from the scene that the motion loses significant digits.

use crate::system::System;
use quasistep_model::{JointKind, WORLD};

/// At a coordinate of this many scene sizes, three significant digits remain for motion within the
/// scene.
const LOST_DIGITS: f64 = 1e12;

impl System {
    /// Bound on the magnitude of each entry of `q_cmd`, beyond which the motion loses significant
    /// digits.
    ///
    /// The bound is 1e12 times the size of the scene, in m, for translations, 1e12 rad for angles,
    /// and infinite for parts of quaternions, for pads and for switches. The size of the scene is that of its largest shape,
    /// without half-spaces, or of its longest link; 1 m without both.
    pub fn farthest_commands(&self) -> &[f64] {
        &self.farthest
    }

    pub(crate) fn find_farthest(&self) -> Vec<f64> {
        let links = self.model.bodies().iter();
        let links = links.filter(|body| body.parent != WORLD).map(|b| b.X_PF.translation.norm());
        let size = self.sizes.iter().map(|size| size.reach).chain(links).fold(0.0, f64::max);
        let size = if size > 0.0 { size } else { 1.0 };
        let of_joint = |&body: &usize| {
            let joint = &self.model.body(body).joint;
            (0..joint.n_q()).map(move |k| match joint {
                JointKind::Ball => f64::INFINITY,
                JointKind::Free if k < 4 => f64::INFINITY,
                JointKind::Prismatic { .. } | JointKind::Free => LOST_DIGITS * size,
                JointKind::Planar if k < 2 => LOST_DIGITS * size,
                _ => LOST_DIGITS,
            })
        };
        let mut farthest: Vec<f64> = self.commanded().iter().flat_map(of_joint).collect();
        for _ in &self.springs {
            farthest.extend([f64::INFINITY; 4].into_iter().chain([LOST_DIGITS * size; 3]));
        }
        farthest.extend(std::iter::repeat_n(f64::INFINITY, self.n_behind()));
        farthest
    }
}
