//! Distance and contact points of a shape of many pieces, a height field or a sheet, and another
//! shape.
//!
//! Each piece within reach, a piece or a triangle, is measured as a polytope. A normal `n` at the
//! point `p` of a piece is one of the whole shape only if every piece that contains `p` is behind the
//! plane there:
//!
//! ```text
//! n · (q − p) ≤ 0      for all corners q of all pieces that contain p
//! ```
//!
//! Any other normal is that of an edge or a side inside the shape. The piece's points are then those
//! of the other shape over its open face, along the normal of that face; beside that face it has
//! none, since a neighbouring piece has them. Points with equal normals become one patch, so that a
//! flat surface of many pieces has the contact points of one face.

use crate::broad_phase::Aabb;
use crate::distance::{ContactPoint, Distance, flip_point};
use crate::motion::map::ContactMotion;
use crate::motion::motion_alone;
use crate::narrow_phase::NarrowPhase;
use crate::patch::{FLAT, is_flat};
use crate::pieces::{Ground, Pieces};
use crate::shape::{Pair, Shape};
use quasistep_math::{Pose, Vec3};
use std::sync::Arc;

/// Contact points are equal if their coordinates (m) and normals differ by less.
const EQUAL: f64 = 1e-9;
/// An overlap deeper than that of all contact points by more than this has a point of its own, in m;
/// of large pieces it is this share of what counts as one point.
const DEEPER: f64 = 1e-8;
const DEEPER_SHARE: f64 = 1e-2;
/// Normals that agree to this many parts of one belong to one patch.
const PARTS: f64 = 1e8;
/// As many parts number other normals, which turn.
const COARSE: f64 = 30.0;
/// Largest number of points along one normal.
const MOST_POINTS: usize = 32;

/// A shape of many pieces at a pose, and the other shape.
type GroundPair<'a, G> = Pair<'a, G, Shape>;

/// Contact points of one piece.
struct Found {
    /// Distance of the piece, in m.
    phi: f64,
    /// True if the points are those over an open face.
    over_face: bool,
}

impl NarrowPhase {
    /// Signed distance of a shape of many pieces and another shape.
    pub(crate) fn ground_distance<G: Pieces>(&mut self, pair: &GroundPair<'_, G>) -> Distance {
        let &Pair { a: field, X_WA, b: other, X_WB } = pair;
        let around = Around::new(other, &(X_WA.inverse() * *X_WB));
        let (p_WCa, p_WCb) = (X_WA.translation, X_WB.translation);
        let mut best = Distance { phi: f64::INFINITY, p_WCa, p_WCb, n_AB_W: Vec3::Z };
        if other.has_pieces() {
            return best;
        }
        let mut piece = self.take_piece::<G>();
        field.search(&mut |block| Some(around.gap(block)), &mut |at| {
            self.set(&mut piece, field, at);
            let d = self.signed_distance(&piece, X_WA, other, X_WB);
            if d.phi < best.phi {
                best = d;
            }
            Some(best.phi)
        });
        self.keep_piece::<G>(piece);
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

    /// Appends the contact points of a shape of many pieces and another shape that are nearer than
    /// `margin` (m).
    pub(crate) fn ground_patch<G: Pieces>(
        &mut self,
        pair: &GroundPair<'_, G>,
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) {
        let &Pair { a: field, X_WA, b: other, X_WB } = pair;
        if other.has_pieces() {
            return;
        }
        let around = Around::new(other, &(X_WA.inverse() * *X_WB));
        let (mut piece, unit) = (self.take_piece::<G>(), 1e-3 * field.near());
        self.ground.points.clear();
        // the deepest contact point, and the deepest piece without points
        let (mut deepest, mut hidden) = (f64::INFINITY, None);
        let mut wanted = |block: &Aabb| around.is_near(block, margin).then_some(0.0);
        field.search(&mut wanted, &mut |at| {
            let found = self.piece_points(&mut piece, pair, at, margin)?;
            let Ground { of_piece, points, .. } = &mut self.ground;
            let least = of_piece.iter().map(|p| p.phi).fold(f64::INFINITY, f64::min);
            deepest = least.min(deepest);
            if least > found.phi && hidden.is_none_or(|(phi, _)| found.phi < phi) {
                hidden = Some((found.phi, at));
            }
            let id = if found.over_face { 0 } else { field.number(at) };
            // the normal of a face turns with its shape; others may turn in each step
            let (frame, fine) = if found.over_face { (X_WA, 1e-3 * PARTS) } else { (X_WB, COARSE) };
            points.extend(of_piece.iter().map(|p| {
                let parts = |n: Vec3, parts: f64| n.to_array().map(|x| (x * parts).round() as i64);
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
            None
        });
        if let Some((phi, at)) = hidden
            && phi < deepest.min(0.0) - deeper(field)
        {
            self.add_deep(&mut piece, pair, at, margin);
        }
        self.keep_piece::<G>(piece);
        self.join_patches(margin, out);
    }

    /// Appends the points found that are nearer than `margin` (m) to `out`. Those in one plane, or with
    /// equal normals, are one patch. Farther points take part, so that no point on a border between
    /// two pieces is taken for a corner.
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

    /// Fills the contact points of one piece; those over an open face may be farther than `margin`
    /// (m). `None` if all are.
    fn piece_points<G: Pieces>(
        &mut self,
        piece: &mut Shape,
        pair: &GroundPair<'_, G>,
        at: G::Piece,
        margin: f64,
    ) -> Option<Found> {
        let &Pair { a: field, X_WA, b: other, X_WB } = pair;
        let mut points = std::mem::take(&mut self.ground.of_piece);
        points.clear();
        // how far the other shape is in front of a face of this piece, in m
        let separation = |n: Vec3| {
            let n_W = X_WA.rotation.rotate(n);
            let lowest = other.support(X_WB.rotation.inverse().rotate(-n_W));
            let corner_W = X_WA.transform_point(field.corner(at));
            lowest.map_or(f64::NEG_INFINITY, |p| (X_WB.transform_point(p) - corner_W).dot(n_W))
        };
        let is_beyond = field.open_faces(at).take(G::GUARDS).any(|n| separation(n) >= margin);
        if !is_beyond {
            self.set(piece, field, at);
            self.contact_patch(piece, X_WA, other, X_WB, margin, &mut points);
        }
        let found = points.iter().min_by(|x, y| x.phi.total_cmp(&y.phi)).copied().map(|nearest| {
            let n = X_WA.rotation.inverse().rotate(nearest.n_AB_W);
            let p = X_WA.inverse_transform_point(nearest.p_WCa);
            let same = field.open_faces(at).find(|face| face.dot(n) >= FLAT);
            let is_open = same.is_some() || field.permits(p, n);
            let face = same.or_else(|| (!is_open).then(|| field.face_towards(at, n, separation)));
            let Some(face) = face else { return Found { phi: nearest.phi, over_face: false } };
            let start = points.len();
            let out = X_WA.rotation.rotate(face);
            self.contact_patch_over(piece, X_WA, other, X_WB, out, f64::INFINITY, &mut points);
            // the corner that is nearest need not be one of the face that is over the ground
            let least = points[start..].iter().map(|p| p.phi).fold(f64::INFINITY, f64::min);
            let over_face = !is_open || least <= nearest.phi + deeper(field);
            if over_face {
                points.drain(..start);
            } else {
                points.truncate(start);
            }
            Found { phi: nearest.phi, over_face }
        });
        self.ground.of_piece = points;
        found
    }

    /// Adds the points of a shape that is so deep that no piece has its contact, along the normal of
    /// one piece.
    fn add_deep<G: Pieces>(
        &mut self,
        piece: &mut Shape,
        pair: &GroundPair<'_, G>,
        at: G::Piece,
        margin: f64,
    ) {
        let &Pair { a: field, X_WA, b: other, X_WB } = pair;
        self.set(piece, field, at);
        let way = field.open_faces(at).next().map_or(Vec3::Z, |n| X_WA.rotation.rotate(n));
        let mut points = Vec::new();
        self.contact_patch_along(piece, X_WA, other, X_WB, &[way], margin, &mut points);
        self.ground.points.extend(points.iter().map(|p| ([i64::MAX; 4], *p)));
    }

    /// Appends the derivatives of contact points of a shape of many pieces and another shape. `flipped`
    /// is true if the former is the caller's B.
    pub(crate) fn ground_motions<G: Pieces>(
        &mut self,
        pair: &GroundPair<'_, G>,
        flipped: bool,
        margin: f64,
        points: &[ContactPoint],
        out: &mut Vec<ContactMotion>,
    ) {
        let &Pair { a: field, X_WA, .. } = pair;
        let mut piece = self.take_piece::<G>();
        for given in points {
            let point = if flipped { flip_point(*given) } else { *given };
            let p = X_WA.inverse_transform_point(point.p_WCa);
            let mut around = Vec::new();
            let depth = (-point.phi).max(0.0);
            field.for_each_at(p, field.near() + depth, &mut |at| around.push(at));
            let motion = around
                .into_iter()
                .find_map(|at| self.motion_over(&mut piece, pair, at, margin, &point));
            let motion = motion.unwrap_or_else(|| motion_alone(pair, &point));
            out.push(if flipped { motion.exchanged(given) } else { motion });
        }
        self.keep_piece::<G>(piece);
    }

    /// Derivatives of a contact point, if it is one of this piece.
    fn motion_over<G: Pieces>(
        &mut self,
        piece: &mut Shape,
        pair: &GroundPair<'_, G>,
        at: G::Piece,
        margin: f64,
        point: &ContactPoint,
    ) -> Option<ContactMotion> {
        let &Pair { X_WA, b: other, X_WB, .. } = pair;
        let found = self.piece_points(piece, pair, at, margin)?;
        let is_equal = |p: &&ContactPoint| {
            let apart = (p.p_WCa - point.p_WCa).max_abs().max((p.p_WCb - point.p_WCb).max_abs());
            apart.max((p.n_AB_W - point.n_AB_W).max_abs()) <= EQUAL
        };
        let point = [*self.ground.of_piece.iter().find(is_equal)?];
        let mut motion = Vec::new();
        if found.over_face {
            self.contact_motions_along(piece, X_WA, other, X_WB, &point, &mut motion);
        } else {
            self.contact_motions(piece, X_WA, other, X_WB, margin, &point, &mut motion);
        }
        motion.pop()
    }

    fn take_piece<G: Pieces>(&mut self) -> Shape {
        let new = || Arc::new(G::new_piece());
        Shape::Polytope(self.ground.pieces[G::SLOT].take().unwrap_or_else(new))
    }

    fn keep_piece<G: Pieces>(&mut self, piece: Shape) {
        if let Shape::Polytope(hull) = piece {
            self.ground.pieces[G::SLOT] = Some(hull);
        }
    }

    /// Moves the piece to its place.
    fn set<G: Pieces>(&mut self, piece: &mut Shape, field: &G, at: G::Piece) {
        // the cores share the piece, which could not be changed then
        self.a.clear();
        self.b.clear();
        if let Shape::Polytope(hull) = piece {
            field.set(Arc::make_mut(hull), at);
        }
    }
}

/// Where the other shape is, in the frame of the pieces.
struct Around {
    aabb: Aabb,
    /// Normal and offset (m) of a half-space, which has no box.
    plane: Option<(Vec3, f64)>,
}

impl Around {
    fn new(other: &Shape, X: &Pose) -> Self {
        let n = X.rotation.rotate(Vec3::Z);
        let plane = matches!(other, Shape::HalfSpace).then(|| (n, n.dot(X.translation)));
        Self { aabb: other.aabb(X), plane }
    }

    /// Height of a box over the plane, in m.
    fn height(block: &Aabb, (n, offset): (Vec3, f64)) -> f64 {
        let low = |k: usize| n[k] * if n[k] > 0.0 { block.min[k] } else { block.max[k] };
        low(0) + low(1) + low(2) - offset
    }

    /// Distance of a box, in m.
    fn gap(&self, block: &Aabb) -> f64 {
        let Self { aabb, plane } = self;
        match plane {
            Some(plane) => Self::height(block, *plane).max(0.0),
            None => (block.min - aabb.max).max(aabb.min - block.max).max(Vec3::ZERO).norm(),
        }
    }

    /// True if a box may be nearer than `margin` (m).
    fn is_near(&self, block: &Aabb, margin: f64) -> bool {
        match self.plane {
            Some(plane) => Self::height(block, plane) <= margin,
            None => block.near(&self.aabb, margin),
        }
    }
}

/// See [`DEEPER`].
fn deeper<G: Pieces>(field: &G) -> f64 {
    DEEPER.max(DEEPER_SHARE * field.near())
}

/// A number of 16 bits that depends on all of `values`.
fn mixed(values: &[i64]) -> u32 {
    let mix = |seed: u64, x: &i64| {
        let x = (seed ^ *x as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^ x >> 29
    };
    (values.iter().fold(0, mix) >> 24) as u32 & 0xffff
}
