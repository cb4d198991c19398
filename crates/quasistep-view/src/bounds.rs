//! View bounds for cameras: the moving bodies and those near them.
#![allow(non_snake_case)] // frames in monogram notation

use crate::receiver::roles;
use quasistep_math::{Pose, Vec3};
use quasistep_record::{BodyRole, DrawnGeometry, DrawnShape, Recording};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::f64::consts::PI;

/// Axis-aligned box around the interesting part of a scene, in the world frame, in m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Centre of the box.
    pub center: Vec3,
    /// Half of each edge, in m.
    pub half: Vec3,
    /// Radius of the enclosing ball, in m, > 0.
    pub radius: f64,
}

impl Bounds {
    fn around(seen: Extent) -> Self {
        if seen.is_empty() || seen.diagonal() <= 0.0 {
            let center = if seen.is_empty() { Vec3::ZERO } else { seen.min };
            return Self { center, half: Vec3::new(0.6, 0.6, 0.6), radius: 1.0 };
        }
        Self {
            center: (seen.min + seen.max) * 0.5,
            half: (seen.max - seen.min) * 0.5,
            radius: 0.5 * seen.diagonal(),
        }
    }

    /// Distance (m) of the eye from the centre at which the whole box just fits into the picture.
    /// `axes` are the camera's right, up and forward directions; `tangents` are those of the
    /// horizontal and vertical half angle of view.
    pub(crate) fn distance(&self, axes: [Vec3; 3], tangents: [f64; 2]) -> f64 {
        let [right, up, forward] = axes;
        let mut distance = 0.0_f64;
        for corner in 0..8 {
            let sign = |bit: i32| if corner >> bit & 1 == 1 { 1.0 } else { -1.0 };
            let o = self.half.component_mul(Vec3::new(sign(0), sign(1), sign(2)));
            // |o·right| <= tangent (distance + o·forward), and likewise for up
            let wide = o.dot(right).abs() / tangents[0] - o.dot(forward);
            let high = o.dot(up).abs() / tangents[1] - o.dot(forward);
            distance = distance.max(wide).max(high);
        }
        distance
    }
}

/// An axis-aligned box that grows by adding points.
#[derive(Clone, Copy)]
struct Extent {
    min: Vec3,
    max: Vec3,
}

impl Extent {
    const EMPTY: Self = Self {
        min: Vec3::new(f64::INFINITY, f64::INFINITY, f64::INFINITY),
        max: Vec3::new(f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY),
    };

    fn is_empty(&self) -> bool {
        self.min.x > self.max.x
    }

    fn union(self, o: Self) -> Self {
        Self { min: self.min.min(o.min), max: self.max.max(o.max) }
    }

    fn diagonal(&self) -> f64 {
        (self.max - self.min).norm()
    }
}

/// For each body, true if it ever leaves its start pose by more than rounding.
pub(crate) fn moving(r: &Recording) -> Vec<bool> {
    let Some(first) = r.frames.first() else { return vec![false; r.bodies.len()] };
    (0..r.bodies.len())
        .map(|b| {
            let (q0, p0) = (first.X_WB[b].rotation.to_array(), first.X_WB[b].translation);
            r.frames.iter().any(|f| {
                let X = f.X_WB[b];
                let q = X.rotation.to_array();
                let dot: f64 = (0..4).map(|i| q[i] * q0[i]).sum();
                (X.translation - p0).max_abs() > 1e-9 || 1.0 - dot.abs() > 1e-15
            })
        })
        .collect()
}

/// For each body, true if its model has coordinates, so that it may move, even if it rests in this
/// run. The scenery of a model file is left out.
fn movable(r: &Recording) -> Vec<bool> {
    let models: BTreeSet<&str> =
        r.coordinates.iter().filter_map(|c| c.split_once('.')).map(|(model, _)| model).collect();
    let of = |body: &String| {
        let names = body.split_once('/');
        names.is_some_and(|(model, link)| models.contains(model) && link != "world")
    };
    r.bodies.iter().map(of).collect()
}

/// Box around all movable bodies over the whole run, and around fixed bodies near them.
///
/// Half-spaces are ignored. A fixed body is included if it enlarges the picture by at most one
/// half, so that a huge floor does not make the rest small. Bodies at their goals are included.
pub fn bounds(r: &Recording) -> Bounds {
    let (moves, movable) = (moving(r), movable(r));
    let mut seen = Extent::EMPTY;
    for shape in r.shapes.iter().filter(|s| moves[s.body] || movable[s.body]) {
        let shape = outermost(shape);
        for frame in r.frames.iter().take(if moves[shape.body] { usize::MAX } else { 1 }) {
            seen = seen.union(extent(&shape, &frame.X_WB[shape.body]));
        }
    }
    for goal in &r.goals {
        for shape in r.shapes.iter().filter(|s| s.body == goal.body) {
            seen = seen.union(extent(shape, &goal.X_WB));
        }
    }
    if let Some(frame) = r.frames.first() {
        let mut standing: Vec<Extent> = r
            .shapes
            .iter()
            .filter(|s| !moves[s.body] && !movable[s.body])
            .map(|s| extent(s, &frame.X_WB[s.body]))
            .filter(|e| !e.is_empty())
            .collect();
        standing.sort_by(|a, b| a.diagonal().total_cmp(&b.diagonal()));
        for e in standing {
            let both = seen.union(e);
            if seen.is_empty() || both.diagonal() <= 1.5 * seen.diagonal() {
                seen = both;
            }
        }
    }
    Bounds::around(seen)
}

/// Box around the bodies that act, over the whole run: free ones that move or that a driven body
/// touches, the driven bodies that touch them, and goals; then around all that [`bounds`] is around, body by body,
/// as long as the picture does not grow to more than half as much again, for robots to two and a half times as much.
pub(crate) fn bounds_of_action(r: &Recording) -> Bounds {
    /// Most growth for bodies that do not act, and for those that are driven.
    const GROWTH: [f64; 2] = [1.5, 2.5];
    let (moves, roles) = (moving(r), roles(r));
    let mut acts: Vec<bool> =
        roles.iter().zip(&moves).map(|(role, moves)| *role == BodyRole::Free && *moves).collect();
    for c in r.frames.iter().flat_map(|f| &f.contacts).filter(|c| c.normal_force > 0.0) {
        for (own, other) in [(c.a, c.b), (c.b, c.a)] {
            acts[own] |= roles[own] == BodyRole::Free && roles[other] == BodyRole::Driven;
            acts[own] |= roles[own] == BodyRole::Driven && roles[other] == BodyRole::Free;
        }
    }
    for goal in &r.goals {
        acts[goal.body] = true;
    }
    let all = bounds(r);
    if !acts.contains(&true) {
        return all;
    }
    let mut parts = vec![Extent::EMPTY; r.bodies.len()];
    for shape in &r.shapes {
        let shape = outermost(shape);
        let part = &mut parts[shape.body];
        for frame in r.frames.iter().take(if moves[shape.body] { usize::MAX } else { 1 }) {
            *part = part.union(extent(&shape, &frame.X_WB[shape.body]));
        }
        for goal in r.goals.iter().filter(|goal| goal.body == shape.body) {
            *part = part.union(extent(&shape, &goal.X_WB));
        }
    }
    let own = |body: usize| parts[body];
    let core = (0..acts.len()).filter(|b| acts[*b]).map(own).fold(Extent::EMPTY, Extent::union);
    let others = (1..acts.len()).filter(|b| !acts[*b]).map(|b| (own(b), roles[b]));
    let mut others: Vec<(Extent, BodyRole)> = others.filter(|(e, _)| !e.is_empty()).collect();
    others.sort_by(|(a, _), (b, _)| a.union(core).diagonal().total_cmp(&b.union(core).diagonal()));
    let mut seen = core;
    for (other, role) in others {
        let both = seen.union(other);
        let most = GROWTH[usize::from(role == BodyRole::Driven)];
        if both.diagonal() <= most * core.diagonal() {
            seen = both;
        }
    }
    let around = Bounds::around(seen);
    // nothing of it lies outside of what the whole picture shows
    if around.radius < all.radius { around } else { all }
}

/// Number of directions in [`outermost`]; the box is too small by at most 1 %.
const DIRECTIONS: usize = 400;

/// Replaces a cloud by its support points in many directions, so that its box can be computed
/// quickly at every frame.
fn outermost(shape: &DrawnShape) -> Cow<'_, DrawnShape> {
    let DrawnGeometry::Points { points, width, .. } = &shape.geometry else {
        return Cow::Borrowed(shape);
    };
    if points.len() <= DIRECTIONS {
        return Cow::Borrowed(shape);
    }
    let outer = (0..DIRECTIONS).map(|k| {
        // directions on a golden-angle spiral over the sphere, at equal steps in height
        let z = 1.0 - (2 * k + 1) as f64 / DIRECTIONS as f64;
        let (s, c) = (k as f64 * PI * (3.0 - 5.0_f64.sqrt())).sin_cos();
        let across = (1.0 - z * z).sqrt();
        let d = [across * c, across * s, z].map(|x| x as f32);
        let along = |p: &[f32; 3]| p[0] * d[0] + p[1] * d[1] + p[2] * d[2];
        let start = (along(&points[0]), points[0]);
        let far = points.iter().fold(start, |far, p| {
            let reach = along(p);
            if reach > far.0 { (reach, *p) } else { far }
        });
        far.1
    });
    let geometry =
        DrawnGeometry::Points { points: outer.collect(), normals: Vec::new(), width: *width };
    Cow::Owned(DrawnShape { geometry, name: shape.name.clone(), paint: None, ..*shape })
}

/// Axis-aligned box around a shape in world coordinates; empty for a half-space.
fn extent(shape: &DrawnShape, X_WB: &Pose) -> Extent {
    let X_WG = *X_WB * shape.X_BG;
    let R = X_WG.rotation.to_matrix();
    let around = |half: Vec3| {
        let reach = Vec3::new(
            R.rows[0].abs().dot(half),
            R.rows[1].abs().dot(half),
            R.rows[2].abs().dot(half),
        );
        Extent { min: X_WG.translation - reach, max: X_WG.translation + reach }
    };
    match &shape.geometry {
        DrawnGeometry::Sphere { radius } => {
            let reach = Vec3::new(*radius, *radius, *radius);
            Extent { min: X_WG.translation - reach, max: X_WG.translation + reach }
        }
        DrawnGeometry::Box { half } => around((*half).into()),
        DrawnGeometry::Capsule { radius, half_length } => {
            around(Vec3::new(*radius, *radius, radius + half_length))
        }
        DrawnGeometry::Cylinder { radius, half_length } => {
            around(Vec3::new(*radius, *radius, *half_length))
        }
        DrawnGeometry::Ellipsoid { radii } => {
            let row = |k: usize| R.rows[k].component_mul((*radii).into()).norm();
            let reach = Vec3::new(row(0), row(1), row(2));
            Extent { min: X_WG.translation - reach, max: X_WG.translation + reach }
        }
        DrawnGeometry::Mesh { vertices, .. } => vertices.iter().fold(Extent::EMPTY, |e, v| {
            let p = X_WG.transform_point((*v).into());
            e.union(Extent { min: p, max: p })
        }),
        DrawnGeometry::Points { points, width, .. } => {
            let reach = Vec3::new(*width, *width, *width) * 0.5;
            points.iter().fold(Extent::EMPTY, |e, p| {
                let p = X_WG.transform_point(Vec3::from(p.map(f64::from)));
                e.union(Extent { min: p - reach, max: p + reach })
            })
        }
        // half-spaces, and geometry unknown to this version
        _ => Extent::EMPTY,
    }
}
