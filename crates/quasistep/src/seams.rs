//! End of stage 2: seams, where shapes continue one another.
//!
//! Consider a shape `S` that slides over a floor of two slabs, from `Y` towards `X`. The nearest
//! face of `X` may be a side face, which would be interior if the slabs were one body. A contact
//! row keeps `S` out of everything behind its plane. If the plane of `Y`'s contact has all of `X`
//! behind it, and the plane of `X`'s contact does not have all of `Y` behind it, then `Y`'s plane
//! is the one that the union permits. The contact of `X` then uses `Y`'s normal `n`:
//!
//! ```text
//! h_X(n) ≤ h_Y(n),     h_Y(m) > h_X(m)          h(d) = max d·p over the shape;   m: normal of X's contact
//! ```
//!
//! The contact points are those of `S` above the face of `X` with normal `n`; beside that face
//! there are none. If `X` has no such face, it keeps those of its own points that are outside `Y`,
//! since a normal of a union is a normal of every shape that contains the point. A part that
//! protrudes from `Y`'s plane, such as a wall or a curb, keeps its contact. If a step nevertheless
//! moves a shape behind the plane, the check along its motion finds it ([`crate::sweep`]).
//!
//! If `S` overlaps both shapes, an edge of `X` at the seam may press into a face of `S`. Its normal
//! is forbidden if `Y` contains the point and is not behind the plane. The contact then uses the
//! most similar normal of a face of `X` through that point that has `Y` behind it.
//!
//! `X` and `Y` may be of bodies that move together or, as two planks on the ground or a drawer in a
//! table, of bodies that move on their own. The latter must be next to one another and near `S`,
//! and `X` must have a face with normal `n`.

use crate::system::System;
use quasistep_geometry::{Aabb, NarrowPhase, Shape};
use quasistep_math::{Pose, Vec3};

/// A protrusion below this share of two shapes' size counts as level. Angles are often written with
/// four decimals, such as 1.5708 for a quarter turn, which is off by 4e-6 rad; meshes are stored in
/// single precision, which rounds by 6e-8.
const LEVEL: f64 = 1e-5;
/// A protrusion above this share of the thickness of what slides over it is an obstacle, however
/// large the two shapes are.
const OBSTACLE: f64 = 1e-3;
/// Cosine of the angle between normals above which they are treated as equal.
const SAME_NORMAL: f64 = 1.0 - 1e-10;
/// Largest gap between shapes that move on their own and continue one another, as a share of the
/// thickness of the shape that slides over it.
const NEXT: f64 = 0.05;
/// Largest distance of that shape from both, as a share of its thickness.
const NEAR: f64 = 0.25;
/// Normals of a half-space that differ by less are treated as equal.
const SAME_PLANE: f64 = 1e-12;

/// A pair of near geoms, described from one side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    /// The geom on this side.
    pub own: u32,
    /// The other geom, its witness point, and its outward normal there.
    pub other: u32,
    pub p_W: Vec3,
    pub n_W: Vec3,
    /// Distance of the pair, in m.
    pub phi: f64,
}

impl Side {
    /// Indices of the pair, ascending.
    pub fn pair(&self) -> (u32, u32) {
        (self.own.min(self.other), self.own.max(self.other))
    }
}

/// A contact whose normal a neighbouring shape forbids, the neighbour's contact, and the normal that
/// both permit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub side: Side,
    pub by: Side,
    pub n_W: Vec3,
}

/// Finds the pairs of `sides` whose contacts neighbouring shapes override, ascending, each once. A
/// contact that is itself overridden does not pass its normal on. Of several normals the most
/// similar one is taken. `marked` receives the pairs that would be overridden.
pub(crate) fn find_cuts(
    world: &Placed<'_>,
    narrow: &mut NarrowPhase,
    sides: &mut [Side],
    marked: &mut Vec<(u32, u32)>,
    cuts: &mut Vec<Cut>,
) {
    marked.clear();
    cuts.clear();
    sides.sort_unstable_by_key(|s| (s.own, s.other));
    for near in sides.chunk_by(|x, y| x.own == y.own) {
        for x in near {
            cuts.extend(near.iter().filter_map(|y| {
                let n_W = if world.cuts_off(narrow, x, y) {
                    Some(y.n_W)
                } else {
                    world.normal_of_both(narrow, x, y)
                };
                n_W.map(|n_W| Cut { side: *x, by: *y, n_W })
            }));
        }
    }
    if cuts.is_empty() {
        return;
    }
    marked.extend(cuts.iter().map(|cut| cut.side.pair()));
    marked.sort_unstable();
    cuts.retain(|cut| cut.n_W != cut.by.n_W || marked.binary_search(&cut.by.pair()).is_err());
    let turn = |cut: &Cut| -cut.side.n_W.dot(cut.n_W);
    cuts.sort_unstable_by(|x, y| {
        x.side.pair().cmp(&y.side.pair()).then(turn(x).total_cmp(&turn(y)))
    });
    cuts.dedup_by_key(|cut| cut.side.pair());
}

/// All geoms at one configuration.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    pub system: &'a System,
    pub X_WG: &'a [Pose],
    /// Axis-aligned bounding boxes, in W.
    pub boxes: &'a [Aabb],
}

impl Placed<'_> {
    /// True if `x`'s shape is behind the plane of `y`'s contact and continues `y`'s shape, which is
    /// not behind the plane of `x`'s contact.
    fn cuts_off(&self, narrow: &mut NarrowPhase, x: &Side, y: &Side) -> bool {
        let [X, Y] = [x, y].map(|s| s.other as usize);
        // cheap test with the witness points decides most cases
        let level = self.level(x.own as usize, X, Y);
        if x.n_W.dot(y.n_W) >= SAME_NORMAL || (x.p_W - y.p_W).dot(y.n_W) > level {
            return false;
        }
        let together = self.move_together(X, Y);
        let thickness = self.system.sizes[x.own as usize].thickness;
        let most = NEXT * thickness;
        let may_continue = |X: usize| {
            x.phi.max(y.phi) <= NEAR * thickness
                && self.boxes[X].near(&self.boxes[Y], most)
                && self.has_face(X, y.n_W)
        };
        if !(together || may_continue(X)) {
            return false;
        }
        self.reach(narrow, X, y.n_W) <= self.reach(narrow, Y, y.n_W) + level
            && self.reach(narrow, Y, x.n_W) > self.reach(narrow, X, x.n_W) + level
            && (together || self.distance(narrow, X, Y) <= most)
    }

    /// If both pairs overlap and `y`'s shape contains `x`'s contact point but is not behind the
    /// plane of `x`'s contact: the most similar normal of a face of `x`'s shape through that point
    /// that has both shapes behind it.
    fn normal_of_both(&self, narrow: &mut NarrowPhase, x: &Side, y: &Side) -> Option<Vec3> {
        if x.other == y.other || x.phi.max(y.phi) >= 0.0 {
            return None;
        }
        let [X, Y] = [x, y].map(|s| s.other as usize);
        let level = self.level(x.own as usize, X, Y);
        if x.phi.max(y.phi) >= -level {
            return None;
        }
        let next = self.move_together(X, Y);
        if !next
            || self.reach(narrow, Y, x.n_W) <= x.p_W.dot(x.n_W) + level
            || !self.holds(narrow, x.own, [y.other, x.other], x.p_W)
        {
            return None;
        }
        let mut found: Option<Vec3> = None;
        self.system.geoms[X].shape.for_each_face(|n_G| {
            let n = self.X_WG[X].rotation.rotate(n_G);
            let similar = |other: Vec3| other.dot(x.n_W);
            if similar(n) > found.map_or(0.0, similar) {
                let h = self.reach(narrow, X, n);
                let is_on_it = h <= x.p_W.dot(n) + level;
                if is_on_it && self.reach(narrow, Y, n) <= h + level {
                    found = Some(n);
                }
            }
        });
        found
    }

    /// True if fixed joints connect the bodies of two geoms.
    fn move_together(&self, a: usize, b: usize) -> bool {
        let group = |geom: usize| self.system.moves_with[geom];
        group(a).is_some() && group(a) == group(b)
    }

    fn reach(&self, narrow: &mut NarrowPhase, geom: usize, n: Vec3) -> f64 {
        reach(narrow, &self.system.geoms[geom].shape, &self.X_WG[geom], n)
    }

    /// True if a geom has a flat face with this outward normal.
    fn has_face(&self, geom: usize, n_W: Vec3) -> bool {
        let n_G = self.X_WG[geom].rotation.inverse().rotate(n_W);
        self.system.geoms[geom].shape.face_along(n_G).is_some()
    }

    fn distance(&self, narrow: &mut NarrowPhase, a: usize, b: usize) -> f64 {
        let [A, B] = [a, b].map(|geom| &self.system.geoms[geom].shape);
        narrow.signed_distance(A, &self.X_WG[a], B, &self.X_WG[b]).phi
    }

    /// True if a geom contains a point of another geom of the same body, up to rounding. `own` is
    /// the geom that touches the other one.
    pub fn holds(
        &self,
        narrow: &mut NarrowPhase,
        own: u32,
        [geom, of]: [u32; 2],
        p_W: Vec3,
    ) -> bool {
        let [own, geom, of] = [own, geom, of].map(|geom| geom as usize);
        let ball = Shape::Sphere { radius: self.level(own, geom, of) };
        let (shape, at) = (&self.system.geoms[geom].shape, Pose::from_translation(p_W));
        narrow.signed_distance(shape, &self.X_WG[geom], &ball, &at).phi <= 0.0
    }

    /// Largest protrusion of one geom from another that `own` slides over as if they were level, in
    /// m.
    fn level(&self, own: usize, a: usize, b: usize) -> f64 {
        let [own, a, b] = [own, a, b].map(|geom| &self.system.sizes[geom]);
        (LEVEL * (a.extent + b.extent)).min(OBSTACLE * own.thickness)
    }
}

/// Support function of a shape along the unit vector `n`, relative to the world's origin, in m.
pub(crate) fn reach(narrow: &mut NarrowPhase, shape: &Shape, X_WG: &Pose, n: Vec3) -> f64 {
    match narrow.support(shape, X_WG.rotation.inverse().rotate(n)) {
        Some(p) => X_WG.transform_point(p).dot(n),
        None if (X_WG.rotation.rotate(Vec3::Z) - n).max_abs() <= SAME_PLANE => {
            X_WG.translation.dot(n)
        }
        None => f64::INFINITY,
    }
}
