//! Signed distance and contact patches of one pair of shapes.

use crate::cloud::memory::CloudMemory;
use crate::core::Core;
use crate::core_pair::core_distance;
use crate::distance::{ContactPoint, Distance, TOUCH, flip_distance, flip_point, single};
use crate::ellipsoid::Ellipsoid;
use crate::gjk::{self, Stand};
use crate::line_patch::along_edges;
use crate::patch::Clipper;
use crate::pieces::Ground;
use crate::shape::{Pair, Shape};
use crate::tube::Tube;
use crate::{cylinder, cylinder_pair, ellipsoid_pair, half_space, hull_pair, round_patch};
use quasistep_math::{Pose, Vec3};

/// Signed distance of A and B, in m: > 0 apart, < 0 overlapping.
///
/// Two half-spaces are never in contact: `phi` is infinite.
pub fn signed_distance(a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose) -> Distance {
    NarrowPhase::new().signed_distance(a, X_WA, b, X_WB)
}

/// Appends the contact points of A and B with distances below `margin` (m): see
/// [`NarrowPhase::contact_patch`].
pub fn contact_patch(
    a: &Shape,
    X_WA: &Pose,
    b: &Shape,
    X_WB: &Pose,
    margin: f64,
    out: &mut Vec<ContactPoint>,
) {
    NarrowPhase::new().contact_patch(a, X_WA, b, X_WB, margin, out);
}

/// Scratch memory for queries; its contents do not affect results.
#[derive(Debug, Default)]
pub struct NarrowPhase {
    pub(crate) a: Core,
    pub(crate) b: Core,
    hulls: hull_pair::Memory,
    pub(crate) clipper: Clipper,
    pub(crate) ground: Ground,
    pub(crate) clouds: CloudMemory,
}

impl NarrowPhase {
    /// Empty memory; it grows with use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Support point as [`Shape::support`], without allocating for a cloud.
    pub fn support(&mut self, shape: &Shape, d: Vec3) -> Option<Vec3> {
        match shape {
            Shape::Cloud(cloud) => Some(cloud.support_with(d, &mut self.clouds.chooser)),
            _ => shape.support(d),
        }
    }

    /// Signed distance of two shapes in canonical order; see
    /// [`distance_within`](Self::distance_within).
    pub(crate) fn distance_in_order(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        enough: f64,
    ) -> Distance {
        match (a, b) {
            (Shape::Cloud(_), _) | (_, Shape::Cloud(_)) => self.clouds.distance(a, X_WA, b, X_WB),
            (Shape::HeightField(field), _) => {
                self.ground_distance(&Pair { a: &**field, X_WA, b, X_WB })
            }
            (Shape::Sheet(sheet), _) => self.ground_distance(&Pair { a: &**sheet, X_WA, b, X_WB }),
            (_, Shape::HeightField(_) | Shape::Sheet(_)) => {
                flip_distance(self.distance_in_order(b, X_WB, a, X_WA, enough))
            }
            (Shape::HalfSpace, Shape::HalfSpace) => Distance {
                phi: f64::INFINITY,
                p_WCa: X_WA.translation,
                p_WCb: X_WB.translation,
                n_AB_W: X_WA.rotation.rotate(Vec3::Z),
            },
            (Shape::HalfSpace, _) => half_space::distance(X_WA, b, X_WB),
            (_, Shape::HalfSpace) => flip_distance(half_space::distance(X_WB, a, X_WA)),
            (Shape::Ellipsoid { .. }, _) | (_, Shape::Ellipsoid { .. }) => {
                self.ellipsoid_distance(a, X_WA, b, X_WB, enough)
            }
            (Shape::Cylinder { .. }, _) | (_, Shape::Cylinder { .. }) => {
                self.cylinder_distance(a, X_WA, b, X_WB, enough)
            }
            _ => {
                let d = self.cores_distance(a, X_WA, b, X_WB, enough);
                d.unwrap_or_else(|d| d)
            }
        }
    }

    /// Contact patch of two shapes in canonical order; see [`contact_patch`](Self::contact_patch).
    pub(crate) fn patch_in_order(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) {
        let pair = Pair { a, X_WA, b, X_WB };
        match (a, b) {
            (Shape::Cloud(_), _) | (_, Shape::Cloud(_)) => {
                self.clouds.choose(&pair, None, margin, out);
            }
            (Shape::HeightField(field), _) => {
                self.ground_patch(&Pair { a: &**field, X_WA, b, X_WB }, margin, out);
            }
            (Shape::Sheet(sheet), _) => {
                self.ground_patch(&Pair { a: &**sheet, X_WA, b, X_WB }, margin, out);
            }
            (_, Shape::HeightField(_) | Shape::Sheet(_)) => {
                let start = out.len();
                self.patch_in_order(b, X_WB, a, X_WA, margin, out);
                for point in &mut out[start..] {
                    *point = flip_point(*point);
                }
            }
            (Shape::HalfSpace, Shape::HalfSpace) => {}
            (Shape::HalfSpace, _) => {
                half_space::patch(X_WA, b, X_WB, margin, &mut self.b, &mut self.clipper, out);
            }
            (_, Shape::HalfSpace) => {
                let start = out.len();
                half_space::patch(X_WB, a, X_WA, margin, &mut self.a, &mut self.clipper, out);
                for point in &mut out[start..] {
                    *point = flip_point(*point);
                }
            }
            _ => {
                let any = |is: fn(&Shape) -> bool| is(a) || is(b);
                let d = if any(|s| matches!(s, Shape::Ellipsoid { .. })) {
                    Ok(self.ellipsoid_distance(a, X_WA, b, X_WB, margin))
                } else if any(|s| matches!(s, Shape::Cylinder { .. })) {
                    Ok(self.cylinder_distance(a, X_WA, b, X_WB, margin))
                } else {
                    self.cores_distance(a, X_WA, b, X_WB, margin)
                };
                if let Ok(d) = d
                    && d.phi < margin
                {
                    self.patch_at(&pair, &d, margin, out);
                }
            }
        }
    }
}

/// Number of corners up to which a search over all features is as fast as the selective one.
const SMALL_HULL: usize = 16;

fn is_large(shape: &Shape) -> bool {
    matches!(shape, Shape::Polytope(hull) if hull.vertices().len() > SMALL_HULL)
}

/// Radius of the offset around the core of a shape, in m.
fn radius_around(shape: &Shape) -> f64 {
    match shape {
        Shape::Sphere { radius } | Shape::Capsule { radius, .. } => *radius,
        _ => 0.0,
    }
}

impl NarrowPhase {
    /// Signed distance of two shapes that have cores; fills the cores. May stop early at a lower
    /// bound that exceeds `enough` (m).
    fn cores_distance(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        enough: f64,
    ) -> Result<Distance, Distance> {
        let [radius_a, radius_b] = [a, b].map(radius_around);
        let reach = enough + radius_a + radius_b;
        let (mut stand, mut known) = (None, [None; 2]);
        let by_support = is_large(a) || is_large(b);
        if by_support {
            stand = gjk::stand((a, X_WA), (b, X_WB), reach, TOUCH, &mut known);
            if let Some(Stand::Beyond { separation, n_AB_W }) = stand {
                let p_WCa = X_WA.translation;
                let p_WCb = p_WCa + n_AB_W * separation;
                let core = Distance { phi: separation, p_WCa, p_WCb, n_AB_W };
                return Err(core.with_radii(radius_a, radius_b));
            }
        }
        let mut found = None;
        if by_support {
            self.a.place(a, X_WA, known[0]);
            self.b.place(b, X_WB, known[1]);
            found = hull_pair::distance(&self.a, &self.b, stand, reach, &mut self.hulls);
        }
        let core = found.unwrap_or_else(|| {
            self.a.fill(a, X_WA);
            self.b.fill(b, X_WB);
            core_distance(&self.a, &self.b, reach, &mut self.hulls.cores)
        });
        let d = core.with_radii(radius_a, radius_b);
        if core.phi < reach { Ok(d) } else { Err(d) }
    }

    /// Signed distance of two shapes, at least one of them a cylinder, neither a half-space. May
    /// stop early at a lower bound that exceeds `enough` (m).
    fn cylinder_distance(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        enough: f64,
    ) -> Distance {
        let (tube, other, X_WO, flipped) = match (Tube::new(a, X_WA), Tube::new(b, X_WB)) {
            (Some(a), Some(b)) => return cylinder_pair::distance(&a, &b, enough),
            (Some(tube), None) => (tube, b, X_WB, false),
            (None, Some(tube)) => (tube, a, X_WA, true),
            (None, None) => unreachable!("the caller matched a cylinder: {a:?}, {b:?}"),
        };
        let d = if let Shape::Sphere { radius } = *other {
            cylinder::point_distance(&tube, X_WO.translation).with_radii(0.0, radius)
        } else {
            self.b.fill(other, X_WO);
            let radius = self.b.radius;
            cylinder::distance(&tube, &self.b, enough + radius).with_radii(0.0, radius)
        };
        if flipped { flip_distance(d) } else { d }
    }

    /// Signed distance of two shapes, at least one of them an ellipsoid, neither a half-space. May
    /// stop early at a lower bound that exceeds `enough` (m).
    fn ellipsoid_distance(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        enough: f64,
    ) -> Distance {
        let Some(ellipsoid) = Ellipsoid::new(a, X_WA) else {
            return flip_distance(self.ellipsoid_distance(b, X_WB, a, X_WA, enough));
        };
        let radius = radius_around(b);
        let beyond =
            |enough: f64| match gjk::stand((a, X_WA), (b, X_WB), enough, 0.0, &mut [None; 2]) {
                Some(Stand::Beyond { n_AB_W, .. }) => Some(n_AB_W),
                Some(Stand::Apart { way, .. }) => way.try_normalize(),
                Some(Stand::Meet { .. }) | None => None,
            };
        if let Some(other) = Ellipsoid::new(b, X_WB) {
            return ellipsoid_pair::distance(&ellipsoid, &other, enough, || beyond(0.0));
        }
        if let Some(tube) = Tube::new(b, X_WB) {
            return ellipsoid_pair::tube_distance(&ellipsoid, &tube, enough, || beyond(0.0));
        }
        let enough = enough + radius;
        let hint = if is_large(b) { beyond(enough) } else { None };
        self.b.fill(b, X_WB);
        ellipsoid_pair::core_distance(&ellipsoid, &self.b, hint, enough).with_radii(0.0, radius)
    }

    /// Appends the points of either shape over the other's flat face with normal `n_AB_W`, nearer
    /// than `margin` (m). Appends nothing for balls and ellipsoids: where they are over the face,
    /// their nearest point already has that normal.
    pub(crate) fn patch_over_in_order(
        &mut self,
        pair: &Pair<'_>,
        n_AB_W: Vec3,
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) {
        let &Pair { a, X_WA, b, X_WB } = pair;
        // the distance is unknown here: the deepest point may be beside the face
        let phi = f64::INFINITY;
        let has_edges = |s: &Shape| {
            s.is_convex()
                && !matches!(s, Shape::Sphere { .. } | Shape::Ellipsoid { .. } | Shape::HalfSpace)
        };
        if !has_edges(a) || !has_edges(b) {
            return;
        }
        self.fill_cores(pair);
        let is_tube = |s: &Shape| matches!(s, Shape::Cylinder { .. });
        if is_tube(a) || is_tube(b) {
            let [p_WCa, p_WCb] = [X_WA, X_WB].map(|X| X.translation);
            let d = Distance { phi, p_WCa, p_WCb, n_AB_W };
            self.patch_at(pair, &d, margin, out);
        } else {
            self.clipper.patch(&self.a, &self.b, n_AB_W, phi, margin, out);
        }
    }

    /// Fills the cores of two shapes as [`patch_at`](Self::patch_at) expects them.
    pub(crate) fn fill_cores(&mut self, pair: &Pair<'_>) {
        let &Pair { a, X_WA, b, X_WB } = pair;
        let (core_b, X_WCore) =
            if matches!(b, Shape::Cylinder { .. }) { (a, X_WA) } else { (b, X_WB) };
        self.a.fill(a, X_WA);
        self.b.fill(core_b, X_WCore);
    }

    /// Appends the patch along the normal of a distance, nearer than `margin` (m). The cores of
    /// shapes other than cylinders must be filled: two as A's and B's, a single one as B's.
    pub(crate) fn patch_at(
        &mut self,
        pair: &Pair<'_>,
        d: &Distance,
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) {
        let &Pair { a, X_WA, b, X_WB } = pair;
        let is_smooth = |s: &Shape| matches!(s, Shape::Sphere { .. } | Shape::Ellipsoid { .. });
        if is_smooth(a) || is_smooth(b) {
            return out.push(single(d));
        }
        let start = out.len();
        match (Tube::new(a, X_WA), Tube::new(b, X_WB)) {
            (Some(a), Some(b)) => {
                round_patch::of_pair(&a, &b, d, margin, &mut self.clipper, out);
            }
            (Some(tube), None) => {
                round_patch::with_core(&tube, &self.b, d, margin, &mut self.clipper, out);
            }
            (None, Some(tube)) => {
                let d = flip_distance(*d);
                round_patch::with_core(&tube, &self.b, &d, margin, &mut self.clipper, out);
                for point in &mut out[start..] {
                    *point = flip_point(*point);
                }
            }
            (None, None) => {
                let (a, b) = (&self.a, &self.b);
                let found = self.clipper.patch(a, b, d.n_AB_W, d.phi, margin, out);
                if !found && !along_edges(a, b, d, margin, out) {
                    out.push(single(d));
                }
            }
        }
    }
}
