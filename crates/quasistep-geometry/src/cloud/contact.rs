//! Contact of a cloud with another shape: each selected point against the shape's surface.

use super::choice::Choice;
use super::field::{BallField, Motion, PlaneField};
use super::field_of_shape::{
    BOX, CAPSULE, CYLINDER, EllipsoidField, GroundField, MirrorField, PolytopeField, SheetField,
};
use super::memory::CloudMemory;
use super::points::PointCloud;
use crate::distance::{ContactPoint, Distance};
use crate::point::surface;
use crate::shape::{Pair, Shape};
use quasistep_linalg::simd::Isa;
use quasistep_math::{Pose, Vec3};

impl CloudMemory {
    /// Signed distance, witness points (m) and normal of two shapes, at least one of them a cloud.
    pub fn distance(&mut self, a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose) -> Distance {
        let mut points = std::mem::take(&mut self.points);
        points.clear();
        let pair = Pair { a, X_WA, b, X_WB };
        self.choose(&pair, Some(Choice::Nearest { k: 1 }), f64::INFINITY, &mut points);
        let d = points.first().map_or(
            // coordinates are NaN, or so large that their squares overflow
            Distance {
                phi: f64::INFINITY,
                p_WCa: X_WA.translation,
                p_WCb: X_WB.translation,
                n_AB_W: Vec3::Z,
            },
            |p| Distance { phi: p.phi, p_WCa: p.p_WCa, p_WCb: p.p_WCb, n_AB_W: p.n_AB_W },
        );
        self.points = points;
        d
    }

    /// Appends the contact points of two shapes, at least one of them a cloud, with distances below
    /// `margin` (m).
    ///
    /// `choice` overrides the cloud's own rule if it is `Some`.
    pub fn choose(
        &mut self,
        pair: &Pair<'_>,
        choice: Option<Choice>,
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) {
        let &Pair { a, X_WA, b, X_WB } = pair;
        match (a, b) {
            (Shape::Cloud(a), Shape::Cloud(b)) => {
                self.clouds(&Pair { a: &**a, X_WA, b: &**b, X_WB }, choice, margin, out);
            }
            (other, Shape::Cloud(cloud)) => {
                let choice = choice.unwrap_or(cloud.choice);
                let pair = Pair { a: other, X_WA, b: &**cloud, X_WB };
                self.shape(&pair, choice, margin, out);
            }
            (Shape::Cloud(cloud), other) => {
                let start = out.len();
                let choice = choice.unwrap_or(cloud.choice);
                let pair = Pair { a: other, X_WA: X_WB, b: &**cloud, X_WB: X_WA };
                self.shape(&pair, choice, margin, out);
                for p in &mut out[start..] {
                    *p = ContactPoint { p_WCa: p.p_WCb, p_WCb: p.p_WCa, n_AB_W: -p.n_AB_W, ..*p };
                }
            }
            _ => {}
        }
    }

    /// True if a motion of 1e-8 m or less may change which points are selected.
    pub fn choice_is_tied(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        margin: f64,
    ) -> bool {
        let mut points = std::mem::take(&mut self.points);
        points.clear();
        self.chooser.tied = Some(false);
        self.choose(&Pair { a, X_WA, b, X_WB }, None, margin, &mut points);
        self.points = points;
        self.chooser.tied.take() == Some(true)
    }

    /// Contact points of a shape A with a cloud B.
    fn shape(
        &mut self,
        pair: &Pair<'_, Shape, PointCloud>,
        choice: Choice,
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) {
        let &Pair { a: shape, X_WA, b: cloud, X_WB } = pair;
        let (tree, limit, isa) = (&cloud.tree, margin + cloud.radius, Isa::detect());
        let motion = Motion::new(X_WA, X_WB, tree.origin);
        let middle = motion.point(Vec3::ZERO);
        let far = middle.norm();
        let chooser = &mut self.chooser;
        match shape {
            Shape::HalfSpace => {
                let field = PlaneField::new(X_WA, X_WB, tree.origin);
                chooser.choose(isa, tree, &field, far, choice, limit);
            }
            Shape::Sphere { radius } => {
                let field = BallField { centre: motion.direction(-middle), radius: *radius };
                chooser.choose(isa, tree, &field, far, choice, limit);
            }
            Shape::Box { half } => {
                let field = MirrorField::<BOX> { shape, motion, size: *half };
                chooser.choose(isa, tree, &field, far, choice, limit);
            }
            Shape::Capsule { radius, half_length } => {
                let size = [*radius, 0.0, *half_length];
                let field = MirrorField::<CAPSULE> { shape, motion, size };
                chooser.choose(isa, tree, &field, far, choice, limit);
            }
            Shape::Cylinder { radius, half_length } => {
                let size = [*radius, 0.0, *half_length];
                let field = MirrorField::<CYLINDER> { shape, motion, size };
                chooser.choose(isa, tree, &field, far, choice, limit);
            }
            Shape::Ellipsoid { radii } => {
                let field = EllipsoidField { shape, motion, radii: *radii };
                chooser.choose(isa, tree, &field, far, choice, limit);
            }
            Shape::Polytope(polytope) => {
                let field = PolytopeField::new(shape, polytope, motion, &mut self.planes);
                chooser.choose(isa, tree, &field, far, choice, limit);
            }
            Shape::HeightField(_) => {
                let field = GroundField { shape, motion };
                chooser.choose(isa, tree, &field, far, choice, limit);
            }
            Shape::Sheet(sheet) => {
                let field = SheetField { sheet, motion, middle };
                chooser.choose(isa, tree, &field, far, choice, limit);
            }
            Shape::Cloud(_) => unreachable!("two clouds have their own function"),
        }
        for found in &chooser.found {
            let index = tree.index[found.slot as usize];
            let p_W = X_WB.transform_point(cloud.points[index as usize]);
            let p = X_WA.inverse_transform_point(p_W);
            let found = match shape {
                Shape::Sheet(sheet) => Some(sheet.surface(p, middle)),
                _ => surface(shape, p),
            };
            let Some(s) = found else { continue };
            let phi = s.distance - cloud.radius;
            // the tree search used other origins: rounding may put a point on either side of the
            // margin
            if phi < margin {
                let n_AB_W = X_WA.rotation.rotate(s.normal);
                out.push(ContactPoint {
                    phi,
                    p_WCa: p_W - n_AB_W * s.distance,
                    p_WCb: p_W - n_AB_W * cloud.radius,
                    n_AB_W,
                    feature: index,
                });
            }
        }
    }
}
