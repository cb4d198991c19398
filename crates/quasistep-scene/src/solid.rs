//! The solid inside a closed mesh: volume, centre, inertia, inside and outside.

use crate::mesh::Mesh;
use quasistep_geometry::MassProperties;
use quasistep_math::{Mat3, Vec3};
use std::collections::BTreeMap;

/// A closed surface: every edge belongs to two triangles that turn the same way.
#[derive(Clone, Debug)]
pub(crate) struct Solid {
    triangles: Vec<[Vec3; 3]>,
    pub mass_properties: MassProperties,
}

/// Coordinates as bits: a key for points that are the same number for number.
pub(crate) type Key = [u64; 3];

pub(crate) fn key(p: Vec3) -> Key {
    // 0.0 and -0.0 are one place
    p.to_array().map(|x| (x + 0.0).to_bits())
}

impl Solid {
    /// The inside of a mesh whose corners are in m; triangles may all turn inwards.
    ///
    /// # Errors
    /// An edge that is not between two triangles of opposite sense, or no volume.
    pub fn new(mesh: &Mesh) -> Result<Self, String> {
        let corner = |i: u32| mesh.vertices[i as usize];
        let mut triangles: Vec<[Vec3; 3]> = mesh
            .triangles
            .iter()
            .map(|t| t.map(corner))
            .filter(|[a, b, c]| key(*a) != key(*b) && key(*b) != key(*c) && key(*c) != key(*a))
            .collect();
        let mut open: BTreeMap<(Key, Key), i32> = BTreeMap::new();
        for [a, b, c] in &triangles {
            for (p, q) in [(a, b), (b, c), (c, a)] {
                let (p, q) = (key(*p), key(*q));
                *open.entry((p.min(q), p.max(q))).or_default() += if p < q { 1 } else { -1 };
            }
        }
        if let Some(((p, q), _)) = open.iter().find(|(_, sum)| **sum != 0) {
            let at = |k: &Key| k.map(f64::from_bits);
            return Err(format!(
                "the mesh is not closed: the edge from {:?} to {:?} m does not lie between two \
                 triangles; its mass and inertia would have no meaning",
                at(p),
                at(q)
            ));
        }
        let mut properties = mass_properties(&triangles);
        if properties.mass < 0.0 {
            for t in &mut triangles {
                t.swap(1, 2);
            }
            properties = mass_properties(&triangles);
        }
        if !(properties.mass > 0.0) {
            return Err(format!("the mesh encloses {} m³; it must be > 0", properties.mass));
        }
        Ok(Self { triangles, mass_properties: properties })
    }

    /// Corners of each triangle, counter-clockwise from outside.
    pub fn triangles(&self) -> &[[Vec3; 3]] {
        &self.triangles
    }

    /// How far a point is from the solid, in m; zero inside, or if it is no farther than `enough`.
    pub fn distance_beyond(&self, enough: f64, p: Vec3) -> f64 {
        let from_p = |t: &[Vec3; 3]| t.map(|corner| corner - p);
        let mut nearest = f64::INFINITY;
        for t in &self.triangles {
            let [a, b, c] = from_p(t);
            nearest = nearest.min(nearest_to_origin(a, b, c).norm());
            if nearest <= enough {
                return 0.0;
            }
        }
        // solid angle of a triangle, Van Oosterom and Strackee (1983)
        let mut angle = 0.0;
        for t in &self.triangles {
            let [a, b, c] = from_p(t);
            let (la, lb, lc) = (a.norm(), b.norm(), c.norm());
            let below = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
            angle += 2.0 * a.dot(b.cross(c)).atan2(below);
        }
        // seen from inside the surface covers the whole sphere
        if angle > std::f64::consts::TAU { 0.0 } else { nearest }
    }
}

/// Mass properties at 1 kg/m³, by the divergence theorem: signed tetrahedra to one point.
fn mass_properties(triangles: &[[Vec3; 3]]) -> MassProperties {
    let o = triangles.first().map_or(Vec3::ZERO, |t| t[0]);
    let (mut volume, mut moment, mut second) = (0.0, Vec3::ZERO, Mat3::ZERO);
    for t in triangles {
        let [a, b, c] = t.map(|p| p - o);
        let v = a.dot(b.cross(c)) / 6.0;
        let s = a + b + c;
        volume += v;
        moment += s * (0.25 * v);
        // ∫ x xᵀ over a tetrahedron with a corner at the origin
        let sum = Mat3::outer(s, s) + Mat3::outer(a, a) + Mat3::outer(b, b) + Mat3::outer(c, c);
        second = second + sum * (v / 20.0);
    }
    let com = moment / volume;
    let central = second + Mat3::outer(com, com) * -volume;
    let inertia = Mat3::IDENTITY * central.trace() + central * -1.0;
    MassProperties { mass: volume, com: o + com, inertia }
}

/// The point of a triangle nearest to the origin.
fn nearest_to_origin(a: Vec3, b: Vec3, c: Vec3) -> Vec3 {
    let normal = (b - a).cross(c - a);
    let size = normal.norm_squared();
    let foot = normal * (if size > 0.0 { a.dot(normal) / size } else { 0.0 });
    let on_left = |u: Vec3, w: Vec3| normal.dot((w - u).cross(foot - u)) >= 0.0;
    if size > 0.0 && on_left(a, b) && on_left(b, c) && on_left(c, a) {
        return foot;
    }
    let on_edge = |u: Vec3, w: Vec3| {
        let d = w - u;
        let length = d.norm_squared();
        let t = if length > 0.0 { (-u.dot(d) / length).clamp(0.0, 1.0) } else { 0.0 };
        u + d * t
    };
    [on_edge(a, b), on_edge(b, c), on_edge(c, a)]
        .into_iter()
        .fold(a, |best, p| if p.norm_squared() < best.norm_squared() { p } else { best })
}
