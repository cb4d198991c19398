//! End of stage 2: seams, where shapes that move together continue one another.
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

use crate::system::System;
use quasistep_geometry::{NarrowPhase, Shape};
use quasistep_math::{Pose, Vec3};

/// A protrusion below this share of two shapes' size counts as level. It is ten times the rounding
/// of single precision, in which most meshes are stored.
const LEVEL: f64 = 1e-6;
/// Cosine of the angle between normals above which they are treated as equal.
const SAME_NORMAL: f64 = 1.0 - 1e-10;
/// Normals of a half-space that differ by less are treated as equal.
const SAME_PLANE: f64 = 1e-12;

/// A pair of near geoms, described from one side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    /// The geom on this side, and the group of geoms that the other one moves with.
    pub own: u32,
    pub group: u32,
    /// The other geom, its witness point, and its outward normal there.
    pub other: u32,
    pub p_W: Vec3,
    pub n_W: Vec3,
}

impl Side {
    /// Indices of the pair, ascending.
    pub fn pair(&self) -> (u32, u32) {
        (self.own.min(self.other), self.own.max(self.other))
    }
}

/// A contact whose normal a neighbouring shape forbids, and the neighbour's contact.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub side: Side,
    pub by: Side,
}

/// Finds the pairs of `sides` whose contacts neighbouring shapes override, ascending, each once. A
/// contact that is itself overridden does not override others. `marked` receives the pairs that it
/// would override.
pub(crate) fn find_cuts(
    system: &System,
    X_WG: &[Pose],
    narrow: &mut NarrowPhase,
    sides: &mut [Side],
    marked: &mut Vec<(u32, u32)>,
    cuts: &mut Vec<Cut>,
) {
    marked.clear();
    cuts.clear();
    sides.sort_unstable_by_key(|s| (s.own, s.group, s.other));
    let of_one = || sides.chunk_by(|x, y| (x.own, x.group) == (y.own, y.group));
    let mut cuts_off = |x: &Side, y: &Side| cuts_off(system, X_WG, narrow, x, y);
    for near in of_one() {
        let is_cut = |x: &&Side| near.iter().any(|y| cuts_off(x, y));
        marked.extend(near.iter().filter(is_cut).map(Side::pair));
    }
    if marked.is_empty() {
        return;
    }
    marked.sort_unstable();
    let is_marked = |s: &Side| marked.binary_search(&s.pair()).is_ok();
    for near in of_one() {
        for x in near.iter().filter(|x| is_marked(x)) {
            let by = near.iter().find(|y| !is_marked(y) && cuts_off(x, y));
            cuts.extend(by.map(|by| Cut { side: *x, by: *by }));
        }
    }
    cuts.sort_unstable_by_key(|cut| (cut.side.pair(), cut.side.own));
    cuts.dedup_by_key(|cut| cut.side.pair());
}

/// True if `x`'s shape is behind the plane of `y`'s contact, while `y`'s shape is not behind the
/// plane of `x`'s contact.
fn cuts_off(system: &System, X_WG: &[Pose], narrow: &mut NarrowPhase, x: &Side, y: &Side) -> bool {
    let [X, Y] = [x, y].map(|s| s.other as usize);
    // cheap test with the witness points decides most cases
    let level = level(system, X, Y);
    if x.n_W.dot(y.n_W) >= SAME_NORMAL || (x.p_W - y.p_W).dot(y.n_W) > level {
        return false;
    }
    let mut reach = |geom: usize, n: Vec3| reach(narrow, &system.geoms[geom].shape, &X_WG[geom], n);
    reach(X, y.n_W) <= reach(Y, y.n_W) + level && reach(Y, x.n_W) > reach(X, x.n_W) + level
}

/// True if a geom contains a point of another geom of the same body, up to rounding.
pub(crate) fn holds(
    system: &System,
    X_WG: &[Pose],
    narrow: &mut NarrowPhase,
    [geom, of]: [u32; 2],
    p_W: Vec3,
) -> bool {
    let (geom, of) = (geom as usize, of as usize);
    let ball = Shape::Sphere { radius: level(system, geom, of) };
    let at = Pose::from_translation(p_W);
    narrow.signed_distance(&system.geoms[geom].shape, &X_WG[geom], &ball, &at).phi <= 0.0
}

/// Bound on how far rounding lets one geom protrude from another, in m.
fn level(system: &System, a: usize, b: usize) -> f64 {
    let size = |geom: usize| {
        let size = system.geoms[geom].shape.reach();
        if size.is_finite() { size } else { 0.0 }
    };
    LEVEL * (size(a) + size(b))
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
