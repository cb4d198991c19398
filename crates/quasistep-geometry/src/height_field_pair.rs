//! Distance and contact points of a height field and another shape.
//!
//! Each prism of the field within reach is measured as a polytope. A normal `n` at the point `p` of
//! a prism is one of the whole ground only if every prism that contains `p` is behind the plane
//! there:
//!
//! ```text
//! n · (q − p) ≤ 0      for all corners q of all prisms that contain p
//! ```
//!
//! Any other normal is that of an edge or a side inside the ground. The prism's points are then those
//! of the other shape over its open face, along the normal of that face; beside that face it has
//! none, since a neighbouring prism has them. Points with equal normals become one patch, so that a
//! flat field of many cells has the contact points of one face.

use crate::broad_phase::Aabb;
use crate::distance::{ContactPoint, Distance, flip_point};
use crate::height_field::{Ground, HeightField, Prism};
use crate::motion::map::ContactMotion;
use crate::motion::motion_alone;
use crate::narrow_phase::NarrowPhase;
use crate::patch::{FLAT, is_flat};
use crate::polytope::Polytope;
use crate::shape::{Pair, Shape};
use quasistep_math::Vec3;
use std::sync::Arc;

/// Tolerance for rounding: of the sine of an angle, or of a length relative to an edge of a cell.
const SAME: f64 = 1e-7;
/// Contact points are equal if their coordinates (m) and normals differ by less.
const EQUAL: f64 = 1e-9;
/// An overlap deeper than that of all contact points by more than this has a point of its own, in m.
const DEEPER: f64 = 1e-8;
/// Normals that agree to this many parts of one belong to one patch.
const PARTS: f64 = 1e8;
/// As many parts number other normals, which turn.
const COARSE: f64 = 30.0;
/// Largest number of points along one normal.
const MOST_POINTS: usize = 32;

/// A height field at a pose, and the other shape.
type GroundPair<'a> = Pair<'a, HeightField, Shape>;

/// Contact points of one prism.
struct Found {
    /// Distance of the prism, in m.
    phi: f64,
    /// True if the points are those over an open face.
    over_face: bool,
}

impl NarrowPhase {
    /// Signed distance of a height field and another shape.
    pub(crate) fn ground_distance(&mut self, pair: &GroundPair<'_>) -> Distance {
        let &Pair { a: field, X_WA, b: other, X_WB } = pair;
        let around = other.aabb(&(X_WA.inverse() * *X_WB));
        let (p_WCa, p_WCb) = (X_WA.translation, X_WB.translation);
        let mut best = Distance { phi: f64::INFINITY, p_WCa, p_WCb, n_AB_W: Vec3::Z };
        if matches!(other, Shape::HeightField(_)) {
            return best;
        }
        let mut prism = self.take_prism();
        field.search(&mut |block| Some(gap(block, &around)), &mut |[i, j]| {
            for half in 0..2 {
                self.set(&mut prism, field, Prism { i, j, half });
                let d = self.signed_distance(&prism, X_WA, other, X_WB);
                if d.phi < best.phi {
                    best = d;
                }
            }
            Some(best.phi)
        });
        self.keep_prism(prism);
        if best.phi < 0.0 {
            let mut points = Vec::new();
            self.ground_patch(pair, 0.0, &mut points);
            let deepest = points.iter().min_by(|x, y| x.phi.total_cmp(&y.phi));
            if let Some(&ContactPoint { phi, p_WCa, p_WCb, n_AB_W, .. }) = deepest {
                return Distance { phi, p_WCa, p_WCb, n_AB_W };
            }
        }
        best
    }

    /// Appends the contact points of a height field and another shape that are nearer than `margin`
    /// (m).
    pub(crate) fn ground_patch(
        &mut self,
        pair: &GroundPair<'_>,
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) {
        let &Pair { a: field, X_WA, b: other, X_WB } = pair;
        if matches!(other, Shape::HeightField(_)) {
            return;
        }
        let around = other.aabb(&(X_WA.inverse() * *X_WB));
        let (mut prism, unit) = (self.take_prism(), 1e-3 * field.near());
        self.ground.points.clear();
        // the deepest contact point, and the deepest prism without points
        let (mut deepest, mut hidden) = (f64::INFINITY, None);
        let is_near = |block: &Aabb| block.near(&around, margin);
        field.search(&mut |block| is_near(block).then_some(0.0), &mut |[i, j]| {
            for half in 0..2 {
                let at = Prism { i, j, half };
                let Some(found) = self.prism_points(&mut prism, pair, at, margin) else { continue };
                let Ground { of_prism, points, .. } = &mut self.ground;
                let least = of_prism.iter().map(|p| p.phi).fold(f64::INFINITY, f64::min);
                deepest = least.min(deepest);
                if least > found.phi && hidden.is_none_or(|(phi, _)| found.phi < phi) {
                    hidden = Some((found.phi, at));
                }
                let id = if found.over_face { 0 } else { number(field, at) };
                // the normal of a face turns with its shape; others may turn in each step
                let (frame, fine) =
                    if found.over_face { (X_WA, 1e-3 * PARTS) } else { (X_WB, COARSE) };
                points.extend(of_prism.iter().map(|p| {
                    let parts =
                        |n: Vec3, parts: f64| n.to_array().map(|x| (x * parts).round() as i64);
                    let way = parts(frame.rotation.inverse().rotate(p.n_AB_W), fine);
                    let [group, own] = [mixed(&way), mixed(&[id, i64::from(p.feature)])];
                    let feature = group << 16 | own & 0xffff;
                    let [x, y, z] = parts(p.n_AB_W, PARTS);
                    let height = if found.over_face {
                        (p.p_WCa - X_WA.translation).dot(p.n_AB_W)
                    } else {
                        f64::NAN
                    };
                    let plane = (height / unit).round() as i64;
                    ([x, y, z, plane], ContactPoint { feature, ..*p })
                }));
            }
            None
        });
        if let Some((phi, at)) = hidden
            && phi < deepest.min(0.0) - DEEPER
        {
            self.add_deep(&mut prism, pair, at, margin);
        }
        self.keep_prism(prism);
        self.join_patches(margin, out);
    }

    /// Appends the points found that are nearer than `margin` (m) to `out`. Those in one plane, or with
    /// equal normals, are one patch. Farther points take part, so that no point on a border between
    /// two prisms is taken for a corner.
    fn join_patches(&mut self, margin: f64, out: &mut Vec<ContactPoint>) {
        let first = out.len();
        let points = &mut self.ground.points;
        points.sort_unstable_by_key(|(parts, p)| (*parts, p.feature));
        for patch in points.chunk_by(|x, y| x.0 == y.0) {
            let start = out.len();
            out.extend(patch.iter().map(|(_, point)| *point));
            let n = patch[0].1.n_AB_W;
            if is_flat(n, &out[start..]) {
                self.clipper.reduce_flat(n, start, out);
            } else {
                self.clipper.reduce(n, start, MOST_POINTS, out);
            }
            let mut kept = start;
            for k in start..out.len() {
                if out[k].phi < margin {
                    out.swap(kept, k);
                    kept += 1;
                }
            }
            out.truncate(kept);
        }
        let found = &mut out[first..];
        found.sort_unstable_by_key(|p| p.feature);
        for k in 1..found.len() {
            let least = found[k - 1].feature.saturating_add(1);
            found[k].feature = found[k].feature.max(least);
        }
    }

    /// Fills the contact points of one prism; those over an open face may be farther than `margin`
    /// (m). `None` if all are.
    fn prism_points(
        &mut self,
        prism: &mut Shape,
        pair: &GroundPair<'_>,
        at: Prism,
        margin: f64,
    ) -> Option<Found> {
        let &Pair { a: field, X_WA, b: other, X_WB } = pair;
        let mut points = std::mem::take(&mut self.ground.of_prism);
        points.clear();
        let top_W = field.open_faces(at).next().map(|n| X_WA.rotation.rotate(n));
        let is_beyond = top_W.is_some_and(|n| {
            let lowest = other.support(X_WB.rotation.inverse().rotate(-n));
            let corner_W = X_WA.transform_point(field.ground(at)[0]);
            lowest.is_some_and(|p| (X_WB.transform_point(p) - corner_W).dot(n) >= margin)
        });
        if !is_beyond {
            self.set(prism, field, at);
            self.contact_patch(prism, X_WA, other, X_WB, margin, &mut points);
        }
        let found = points.iter().min_by(|x, y| x.phi.total_cmp(&y.phi)).copied().map(|nearest| {
            let n = X_WA.rotation.inverse().rotate(nearest.n_AB_W);
            let p = X_WA.inverse_transform_point(nearest.p_WCa);
            let same = field.open_faces(at).find(|face| face.dot(n) >= FLAT);
            let is_open = same.is_some() || field.permits(p, n);
            let face = same.or_else(|| (!is_open).then(|| field.face_towards(at, n)));
            let Some(face) = face else { return Found { phi: nearest.phi, over_face: false } };
            let start = points.len();
            let out = X_WA.rotation.rotate(face);
            self.contact_patch_over(prism, X_WA, other, X_WB, out, f64::INFINITY, &mut points);
            // the corner that is nearest need not be one of the face that is over the ground
            let least = points[start..].iter().map(|p| p.phi).fold(f64::INFINITY, f64::min);
            let over_face = !is_open || least <= nearest.phi + DEEPER;
            if over_face {
                points.drain(..start);
            } else {
                points.truncate(start);
            }
            Found { phi: nearest.phi, over_face }
        });
        self.ground.of_prism = points;
        found
    }

    /// Adds the points of a shape that is so deep in the ground that no prism has its contact, along
    /// the normal of the ground of one prism.
    fn add_deep(&mut self, prism: &mut Shape, pair: &GroundPair<'_>, at: Prism, margin: f64) {
        let &Pair { a: field, X_WA, b: other, X_WB } = pair;
        self.set(prism, field, at);
        let way = field.open_faces(at).next().map_or(Vec3::Z, |n| X_WA.rotation.rotate(n));
        let mut points = Vec::new();
        self.contact_patch_along(prism, X_WA, other, X_WB, &[way], margin, &mut points);
        self.ground.points.extend(points.iter().map(|p| ([i64::MAX; 4], *p)));
    }

    /// Appends the derivatives of contact points of a height field and another shape. `flipped` is
    /// true if the height field is the caller's B.
    pub(crate) fn ground_motions(
        &mut self,
        pair: &GroundPair<'_>,
        flipped: bool,
        margin: f64,
        points: &[ContactPoint],
        out: &mut Vec<ContactMotion>,
    ) {
        let &Pair { a: field, X_WA, .. } = pair;
        let mut prism = self.take_prism();
        for given in points {
            let point = if flipped { flip_point(*given) } else { *given };
            let p = X_WA.inverse_transform_point(point.p_WCa);
            let mut around = Vec::new();
            let depth = (-point.phi).max(0.0);
            field.for_each_prism_at(p, field.near() + depth, |at| around.push(at));
            let motion = around
                .into_iter()
                .find_map(|at| self.motion_over(&mut prism, pair, at, margin, &point));
            let motion = motion.unwrap_or_else(|| motion_alone(pair, &point));
            out.push(if flipped { motion.exchanged(given) } else { motion });
        }
        self.keep_prism(prism);
    }

    /// Derivatives of a contact point, if it is one of this prism.
    fn motion_over(
        &mut self,
        prism: &mut Shape,
        pair: &GroundPair<'_>,
        at: Prism,
        margin: f64,
        point: &ContactPoint,
    ) -> Option<ContactMotion> {
        let &Pair { X_WA, b: other, X_WB, .. } = pair;
        let found = self.prism_points(prism, pair, at, margin)?;
        let is_equal = |p: &&ContactPoint| {
            let apart = (p.p_WCa - point.p_WCa).max_abs().max((p.p_WCb - point.p_WCb).max_abs());
            apart.max((p.n_AB_W - point.n_AB_W).max_abs()) <= EQUAL
        };
        let point = [*self.ground.of_prism.iter().find(is_equal)?];
        let mut motion = Vec::new();
        if found.over_face {
            self.contact_motions_along(prism, X_WA, other, X_WB, &point, &mut motion);
        } else {
            self.contact_motions(prism, X_WA, other, X_WB, margin, &point, &mut motion);
        }
        motion.pop()
    }

    fn take_prism(&mut self) -> Shape {
        let new = || Arc::new(Polytope::new_prism());
        Shape::Polytope(self.ground.prism.take().unwrap_or_else(new))
    }

    fn keep_prism(&mut self, prism: Shape) {
        if let Shape::Polytope(hull) = prism {
            self.ground.prism = Some(hull);
        }
    }

    /// Moves the prism to its place.
    fn set(&mut self, prism: &mut Shape, field: &HeightField, at: Prism) {
        // the cores share the prism, which could not be changed then
        self.a.clear();
        self.b.clear();
        if let Shape::Polytope(hull) = prism {
            Arc::make_mut(hull).set_prism(&field.ground(at), field.bottom());
        }
    }
}

impl HeightField {
    /// Points nearer than this coincide, in m.
    pub(crate) fn near(&self) -> f64 {
        let [x, y] = self.step();
        SAME * (x + y)
    }

    /// True if the whole ground is behind the plane with the normal `n` through its point `p`, near
    /// that point.
    fn permits(&self, p: Vec3, n: Vec3) -> bool {
        let (near, mut is_behind) = (self.near(), true);
        self.for_each_prism_at(p, near, |at| {
            for q in self.ground(at) {
                for q in [q, Vec3 { z: self.bottom(), ..q }] {
                    is_behind &= n.dot(q - p) <= SAME * (q - p).norm() + near;
                }
            }
        });
        is_behind
    }

    /// The open face of a prism that faces along `n` most. The ground comes before the bottom unless
    /// `n` points down.
    fn face_towards(&self, at: Prism, n: Vec3) -> Vec3 {
        let mut faces = self.open_faces(at);
        let ground = faces.next().unwrap_or(Vec3::Z);
        let is_wanted = |face: &Vec3| face.z == 0.0 || n.z < -0.5;
        faces.filter(is_wanted).fold(
            ground,
            |best, face| {
                if face.dot(n) > best.dot(n) { face } else { best }
            },
        )
    }
}

/// Distance of two boxes, in m.
fn gap(a: &Aabb, b: &Aabb) -> f64 {
    (a.min - b.max).max(b.min - a.max).max(Vec3::ZERO).norm()
}

/// Number of a prism.
fn number(field: &HeightField, Prism { i, j, half }: Prism) -> i64 {
    (2 * (j * field.n()[0] + i) + half + 1) as i64
}

/// A number of 16 bits that depends on all of `values`.
fn mixed(values: &[i64]) -> u32 {
    let mix = |seed: u64, x: &i64| {
        let x = (seed ^ *x as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^ x >> 29
    };
    (values.iter().fold(0, mix) >> 24) as u32 & 0xffff
}
