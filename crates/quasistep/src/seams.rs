//! End of stage 2: seams, where shapes that move as one continue one another.
//!
//! A shape `S` that slides over a floor of two slabs, on `Y` towards `X`, is nearest to a side of `X`: were they one body, that
//! side would be inside it. A contact has one normal, and the plane across it keeps `S` off all that is behind it. So where
//! the plane of `Y`'s contact has all of `X` behind it, and the plane of `X`'s contact has not all of `Y`, the first is the one
//! that the union of both allows, and `X` has its contact along `Y`'s normal `n`:
//!
//! ```text
//! h_X(n) ≤ h_Y(n),     h_Y(m) > h_X(m)          h(d) = max d·p over the shape;   m: normal of X's contact
//! ```
//!
//! The points of that contact are those of `S` over the face of `X` that looks along `n`; beside the face there are none. An
//! `X` without such a face keeps the points of its own that `Y` does not hold: normals of a union are those of all shapes that hold a
//! point. What stands out of `Y`'s plane, as a wall or a curb does, keeps its contact, and what a step moves behind
//! the plane all the same is found along its motion ([`crate::sweep`]).

use crate::system::System;
use quasistep_geometry::{NarrowPhase, Shape};
use quasistep_math::{Pose, Vec3};

/// What stands out by less than this share of two shapes' size is level with them: ten times what single precision, in which
/// most meshes are stored, leaves of their coordinates.
const LEVEL: f64 = 1e-6;
/// Cosine of the angle above which normals are one.
const SAME_NORMAL: f64 = 1.0 - 1e-10;
/// Normals of a half-space that differ by less are one.
const SAME_PLANE: f64 = 1e-12;

/// A pair of geoms that are near, seen from one of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    /// The geom that it is seen from, and those that the other one moves with.
    pub own: u32,
    pub group: u32,
    /// The other geom, its nearest point, and the normal out of it there.
    pub other: u32,
    pub p_W: Vec3,
    pub n_W: Vec3,
}

impl Side {
    /// The pair, ascending.
    pub fn pair(&self) -> (u32, u32) {
        (self.own.min(self.other), self.own.max(self.other))
    }
}

/// A contact whose normal a neighbour does not allow, and the neighbour's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub side: Side,
    pub by: Side,
}

/// Finds the pairs of `sides` whose contacts neighbours cut, ascending by pair, each once. What is cut itself cuts nothing.
/// Leaves in `marked` the pairs that would be cut if it did.
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

/// True if the plane of `y`'s contact holds for `x`'s shape too, and the plane of `x`'s contact not for `y`'s.
fn cuts_off(system: &System, X_WG: &[Pose], narrow: &mut NarrowPhase, x: &Side, y: &Side) -> bool {
    let [X, Y] = [x, y].map(|s| s.other as usize);
    // most are told apart by the points at hand
    let level = level(system, X, Y);
    if x.n_W.dot(y.n_W) >= SAME_NORMAL || (x.p_W - y.p_W).dot(y.n_W) > level {
        return false;
    }
    let mut reach = |geom: usize, n: Vec3| reach(narrow, &system.geoms[geom].shape, &X_WG[geom], n);
    reach(X, y.n_W) <= reach(Y, y.n_W) + level && reach(Y, x.n_W) > reach(X, x.n_W) + level
}

/// True if a geom holds a point, which a geom of the same body has, or is as near to it as rounding is.
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

/// How much rounding may have one geom stand out of another, in m.
fn level(system: &System, a: usize, b: usize) -> f64 {
    let size = |geom: usize| {
        let size = system.geoms[geom].shape.reach();
        if size.is_finite() { size } else { 0.0 }
    };
    LEVEL * (size(a) + size(b))
}

/// How far a shape reaches along the unit vector `n`, from the world's origin, in m.
pub(crate) fn reach(narrow: &mut NarrowPhase, shape: &Shape, X_WG: &Pose, n: Vec3) -> f64 {
    match narrow.support(shape, X_WG.rotation.inverse().rotate(n)) {
        Some(p) => X_WG.transform_point(p).dot(n),
        None if (X_WG.rotation.rotate(Vec3::Z) - n).max_abs() <= SAME_PLANE => {
            X_WG.translation.dot(n)
        }
        None => f64::INFINITY,
    }
}
