//! The solid enclosed by a mesh: volume, centre of mass, inertia, and inside test.

use crate::surface_tree::SurfaceTree;
use quasistep_formats::mesh::Mesh;
use quasistep_geometry::MassProperties;
use quasistep_math::{Mat3, Vec3};

/// A solid given by its surface.
#[derive(Clone, Debug)]
pub(crate) struct Solid {
    pub surface: SurfaceTree,
    mass_properties: MassProperties,
    /// Number of edges that are not shared by two consistently oriented triangles, and the ends of
    /// the first one.
    open: (usize, [[f64; 3]; 2]),
}

/// Bits of the coordinates, as a key for identical points.
pub(crate) type Key = [u64; 3];

pub(crate) fn key(p: Vec3) -> Key {
    // 0.0 and -0.0 are the same position
    p.to_array().map(|x| (x + 0.0).to_bits())
}

impl Solid {
    /// The solid of a mesh with vertices in m. All triangles may be oriented inwards. If the
    /// surface has holes, a point counts as inside if the surface covers more than half of its
    /// view.
    ///
    /// # Errors
    ///
    /// If it has no volume.
    pub fn new(mesh: &Mesh) -> Result<Self, String> {
        let corner = |i: u32| mesh.vertices[i as usize];
        let mut triangles: Vec<[Vec3; 3]> = mesh
            .triangles
            .iter()
            .map(|t| t.map(corner))
            .filter(|[a, b, c]| key(*a) != key(*b) && key(*b) != key(*c) && key(*c) != key(*a))
            .collect();
        let mut sides: Vec<(Key, Key, i32)> = Vec::with_capacity(3 * triangles.len());
        for [a, b, c] in &triangles {
            for (p, q) in [(a, b), (b, c), (c, a)] {
                let (p, q) = (key(*p), key(*q));
                sides.push((p.min(q), p.max(q), if p < q { 1 } else { -1 }));
            }
        }
        sides.sort_unstable();
        let mut open = (0, [[0.0; 3]; 2]);
        for edge in sides.chunk_by(|s, t| (s.0, s.1) == (t.0, t.1)) {
            if edge.iter().map(|(_, _, sense)| sense).sum::<i32>() != 0 {
                open.0 += 1;
                if open.0 == 1 {
                    open.1 = [edge[0].0, edge[0].1].map(|k| k.map(f64::from_bits));
                }
            }
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
        Ok(Self { surface: SurfaceTree::new(&triangles), mass_properties: properties, open })
    }

    /// Number of edges that are not shared by two consistently oriented triangles.
    pub fn n_open(&self) -> usize {
        self.open.0
    }

    /// Mass properties at 1 kg/m³.
    ///
    /// # Errors
    ///
    /// If the surface is not closed.
    pub fn mass_properties(&self) -> Result<MassProperties, String> {
        let (n, [p, q]) = self.open;
        if n == 0 {
            return Ok(self.mass_properties);
        }
        Err(format!(
            "the mesh is not closed: the edge from {p:?} to {q:?} m does not lie between two triangles; its mass and \
             inertia would have no meaning"
        ))
    }
}

/// Mass properties at 1 kg/m³, by the divergence theorem: a sum of signed tetrahedra.
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
