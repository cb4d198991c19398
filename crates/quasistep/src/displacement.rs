//! How far the surfaces of the bodies are apart between two sets of poses.

use crate::system::System;
use quasistep_geometry::Aabb;
use quasistep_math::{Pose, Vec3};

impl System {
    /// Largest displacement of a point between two sets of body poses, in m. Points are the corners
    /// of a box around the shapes of a body, and the origin and the centre of mass of a body without
    /// finite shapes.
    ///
    /// The displacement `X_a p − X_b p` is affine in `p`, so its norm is largest at a corner: no
    /// point of a surface is displaced by more.
    pub fn displacement(&self, a: &[Pose], b: &[Pose]) -> f64 {
        let bodies = self.corners.iter().zip(a.iter().zip(b));
        let moved = bodies.filter(|(_, (a, b))| a != b);
        let shifts = moved.flat_map(|(points, (a, b))| {
            points.iter().map(|&p| (a.transform_point(p) - b.transform_point(p)).norm())
        });
        shifts.fold(0.0, f64::max)
    }

    /// The points of [`displacement`](Self::displacement), of each body in its frame, in m.
    pub(crate) fn find_corners(&self) -> Vec<Vec<Vec3>> {
        let mut boxes: Vec<Option<Aabb>> = vec![None; self.model.n_bodies()];
        for geom in &self.geoms {
            let own = geom.shape.aabb(&geom.X_BG);
            if own.min.is_finite() && own.max.is_finite() {
                let all = boxes[geom.body].get_or_insert(own);
                *all = Aabb { min: all.min.min(own.min), max: all.max.max(own.max) };
            }
        }
        let corners = boxes.iter().zip(self.model.bodies()).map(|(of, body)| match of {
            None => vec![Vec3::ZERO, body.inertia.com],
            Some(Aabb { min, max }) => {
                let xs = [min.x, max.x].into_iter();
                let edges = xs.flat_map(|x| [(x, min.y), (x, max.y)]);
                edges.flat_map(|(x, y)| [min.z, max.z].map(|z| Vec3::new(x, y, z))).collect()
            }
        });
        corners.collect()
    }
}
