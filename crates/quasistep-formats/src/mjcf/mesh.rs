//! Mesh assets: where MuJoCo puts their vertices, what they weigh, which primitive shapes fit them.

use super::geom::Kind;
use super::read::Read;
use super::solid::Primitive;
use super::spec::Spec;
use crate::description::Geometry;
use crate::error::SceneError;
use crate::mesh;
use quasistep_geometry::{Polytope, Shape};
use quasistep_math::{Mat3, Pose, Quat, Vec3};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Volumes and areas below this are none, as in MuJoCo, in m³ and m².
const LEAST_EXTENT: f64 = 1e-15;

/// What the mass of a mesh is spread over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spread {
    /// Its convex hull.
    Hull,
    /// The sum of the tetrahedra from its faces to its middle, all counted as positive.
    Absolute,
    /// What its faces enclose.
    Enclosed,
    /// Its faces.
    Surface,
}

/// Where vertices come from.
#[derive(Clone, Debug)]
enum Source {
    File(PathBuf),
    /// Vertices and corners of faces, as the model gives them.
    Inline(Vec<Vec3>, Vec<[u32; 3]>),
    /// A surface that MuJoCo makes itself.
    Builtin(String),
}

/// A mesh asset.
#[derive(Clone, Debug)]
pub(super) struct MeshAsset {
    source: Source,
    spread: Spread,
    scale: [f64; 3],
    /// The frame in the file that becomes the origin of the asset.
    reference: Pose,
    properties: OnceCell<Properties>,
}

/// Mass properties of a mesh at 1 kg/m³ or 1 kg/m², and the box around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Properties {
    /// In m³, or m² of a surface.
    pub extent: f64,
    /// Centre and principal axes in the asset's frame, the largest moment about x.
    pub X_MC: Pose,
    /// Principal moments, per kg, in m².
    pub moments: [f64; 3],
    /// Corners of the box along the principal axes, from the centre of mass, in m.
    corners: [Vec3; 2],
}

impl MeshAsset {
    /// Reads a `<mesh>`: its name and what it is.
    pub fn read(
        at: &Read<'_>,
        spec: &Spec,
        may_open: &dyn Fn(&Path) -> Result<(), String>,
    ) -> Result<(String, Self), SceneError> {
        let words = [
            ("convex", Spread::Hull),
            ("legacy", Spread::Absolute),
            ("exact", Spread::Enclosed),
            ("shell", Spread::Surface),
        ];
        let spread = at.word("inertia", &words)?.unwrap_or(Spread::Absolute);
        let scale = at.partly("scale", [1.0; 3])?;
        if scale.contains(&0.0) {
            return Err(at.error("scale: 0 was seen; each must be other than 0"));
        }
        let quat = at.partly("refquat", [1.0, 0.0, 0.0, 0.0])?;
        let rotation =
            Quat::try_normalize(quat).ok_or_else(|| at.error("refquat: no rotation is 0 0 0 0"))?;
        let reference = Pose::new(rotation, Vec3::from(at.partly("refpos", [0.0; 3])?));
        let file = at.own.attribute("file").map(str::trim).filter(|file| !file.is_empty());
        let source = match (file, at.own.attribute("builtin")) {
            (Some(file), _) => {
                let path = spec.asset_file(at.own, file);
                may_open(&path).map_err(|why| at.error(why))?;
                Source::File(path)
            }
            (None, Some(name)) if name != "none" => Source::Builtin(name.to_owned()),
            _ => inline(at)?,
        };
        let name = if let Some(name) = at.own.attribute("name").filter(|name| !name.is_empty()) {
            name.to_owned()
        } else {
            let file = file.ok_or_else(|| at.error("a mesh without name and file was seen"))?;
            let last = file.rsplit(['/', '\\']).next().unwrap_or(file);
            last.rsplit_once('.').map_or(last, |(stem, _)| stem).to_owned()
        };
        Ok((name, Self { source, spread, scale, reference, properties: OnceCell::new() }))
    }

    /// What touches and is drawn, and its pose in the asset's frame.
    pub fn geometry(&self) -> Result<(Geometry, Pose), String> {
        let Source::File(path) = &self.source else {
            return Ok((Geometry::Points(self.vertices()?.0), Pose::IDENTITY));
        };
        let [x, y, z] = self.scale;
        let even = x == y && y == z;
        if self.reference.rotation != Quat::IDENTITY && !even {
            // a scale along turned axes
            return Ok((Geometry::Points(self.vertices()?.0), Pose::IDENTITY));
        }
        // scale · Rᵀ (p − refpos), where both maps commute
        let back = self.reference.rotation.inverse();
        let at = back.rotate(self.reference.translation * -1.0);
        let at = Vec3::new(at.x * x, at.y * y, at.z * z);
        Ok((Geometry::Mesh { path: path.clone(), scale: self.scale }, Pose::new(back, at)))
    }

    /// Vertices in the asset's frame, in m, and the faces that count for mass.
    fn vertices(&self) -> Result<(Vec<Vec3>, Vec<[u32; 3]>), String> {
        let (vertices, mut faces) = match &self.source {
            Source::Builtin(name) => {
                return Err(format!(
                    "the builtin mesh `{name}` is not made here; give a file or vertices"
                ));
            }
            Source::Inline(vertices, faces) => (vertices.clone(), faces.clone()),
            Source::File(path) => {
                let mesh = mesh::read(path).map_err(|e| e.to_string())?;
                // MuJoCo takes the faces of the first object or group of a file
                let first =
                    mesh.groups.first().map_or(0..mesh.triangles.len(), |g| g.triangles.clone());
                (mesh.vertices, mesh.triangles[first].to_vec())
            }
        };
        if self.scale.iter().product::<f64>() < 0.0 {
            for face in &mut faces {
                face.swap(1, 2);
            }
        }
        let place = |p: Vec3| {
            // vertices have single precision
            let p = Vec3::new(f64::from(p.x as f32), f64::from(p.y as f32), f64::from(p.z as f32));
            let p = self.reference.inverse_transform_point(p);
            Vec3::new(p.x * self.scale[0], p.y * self.scale[1], p.z * self.scale[2])
        };
        Ok((vertices.into_iter().map(place).collect(), faces))
    }

    /// Mass properties, worked out once.
    pub fn properties(&self) -> Result<Properties, String> {
        if let Some(known) = self.properties.get() {
            return Ok(*known);
        }
        let (vertices, faces) = self.vertices()?;
        let found = properties(&vertices, &faces, self.spread)?;
        Ok(*self.properties.get_or_init(|| found))
    }

    /// The primitive shape that stands in for the mesh, and its pose in the asset's frame.
    pub fn fit(&self, kind: Kind, to_box: bool, factor: f64) -> Result<(Primitive, Pose), String> {
        let Properties { extent: _, X_MC, moments: [x, y, z], corners: [low, high] } =
            self.properties()?;
        let (half, centre) = if to_box {
            let centre = (low + high) * 0.5;
            ((high - centre).to_array(), centre)
        } else {
            // the box of the same moments
            let side = |m: f64| (1.5 * m).max(0.0).sqrt();
            ([side(y + z - x), side(x + z - y), side(x + y - z)], Vec3::ZERO)
        };
        let [a, b, c] = half;
        let round = if to_box { a.max(b) } else { 0.5 * (a + b) };
        let primitive = match kind {
            Kind::Sphere if to_box => Primitive::Sphere { radius: factor * round.max(c) },
            Kind::Sphere => Primitive::Sphere { radius: factor * (a + b + c) / 3.0 },
            Kind::Capsule => {
                let half = if to_box { c - round } else { (c - 0.5 * round).max(0.0) };
                Primitive::Capsule { radius: factor * round, half: factor * half }
            }
            Kind::Cylinder => Primitive::Cylinder { radius: factor * round, half: factor * c },
            Kind::Ellipsoid => Primitive::Ellipsoid { radii: half.map(|h| factor * h) },
            Kind::Box => Primitive::Box { half: half.map(|h| factor * h) },
            _ => {
                return Err(
                    "only a sphere, capsule, cylinder, ellipsoid or box is fitted to a mesh".into(),
                );
            }
        };
        Ok((primitive, X_MC * Pose::from_translation(centre)))
    }
}

/// Vertices and faces that stand in the model.
fn inline(at: &Read<'_>) -> Result<Source, SceneError> {
    let Some(numbers) = at.all_numbers("vertex")? else {
        return Err(at.error("neither `file` nor `vertex` was seen; give one of them"));
    };
    if numbers.len() % 3 != 0 || numbers.len() < 12 {
        return Err(at.error(format!(
            "vertex has {} numbers; it must be three for each of 4 and more",
            numbers.len()
        )));
    }
    let vertices: Vec<Vec3> =
        numbers.chunks_exact(3).map(|p| Vec3::new(p[0], p[1], p[2])).collect();
    let corners = at.all_numbers("face")?.unwrap_or_default();
    let valid = |i: &f64| *i >= 0.0 && i.fract() == 0.0 && *i < vertices.len() as f64;
    if corners.len() % 3 != 0 || !corners.iter().all(valid) {
        return Err(at.error(format!(
            "face: each face has three corners, numbers from 0 to {}",
            vertices.len() - 1
        )));
    }
    let faces = corners.chunks_exact(3).map(|f| [f[0] as u32, f[1] as u32, f[2] as u32]).collect();
    Ok(Source::Inline(vertices, faces))
}

/// Mass properties of triangles at 1 kg/m³, or of their surface at 1 kg/m².
fn properties(vertices: &[Vec3], faces: &[[u32; 3]], spread: Spread) -> Result<Properties, String> {
    let (extent, centre, inertia) = if spread == Spread::Hull || faces.is_empty() {
        let hull = Polytope::from_points(vertices).map_err(|e| format!("its convex hull: {e}"))?;
        let solid = Shape::Polytope(Arc::new(hull)).mass_properties(1.0);
        let solid = solid.ok_or("its convex hull has no volume")?;
        (solid.mass, solid.com, solid.inertia)
    } else {
        let corners: Vec<[Vec3; 3]> =
            faces.iter().map(|face| face.map(|i| vertices[i as usize])).collect();
        of_faces(&corners, spread)?
    };
    if !(extent > LEAST_EXTENT && extent.is_finite()) {
        return Err(format!(
            "its volume or area is {extent:e}; give inertia=\"shell\" to a mesh that encloses none"
        ));
    }
    let (moments, [_, middle, large]) = inertia.symmetric_eigen();
    let [least, _, most] = moments;
    // as far off as MuJoCo allows
    if least <= 0.0 || least + moments[1] < most * (1.0 - 1e-6) - 1e-9 {
        return Err(format!(
            "no rigid body has its principal moments {moments:?}; give another `inertia`"
        ));
    }
    let axes = Mat3::from_columns([large, middle, large.cross(middle)]);
    let X_MC = Pose::new(Quat::from_matrix(&axes), centre);
    let seen = vertices.iter().map(|p| X_MC.inverse_transform_point(*p));
    let limits = [f64::INFINITY, f64::NEG_INFINITY].map(|x| Vec3::new(x, x, x));
    let corners = seen.fold(limits, |[low, high], p| {
        let each =
            |f: fn(f64, f64) -> f64, a: Vec3| Vec3::new(f(a.x, p.x), f(a.y, p.y), f(a.z, p.z));
        [each(f64::min, low), each(f64::max, high)]
    });
    let moments = [moments[2], moments[1], moments[0]].map(|m| m / extent);
    Ok(Properties { extent, X_MC, moments, corners })
}

/// Volume or area, centre and inertia about it.
fn of_faces(corners: &[[Vec3; 3]], spread: Spread) -> Result<(f64, Vec3, Mat3), String> {
    // twice the area times the normal, and the middle
    let face = |[a, b, c]: &[Vec3; 3]| ((*b - *a).cross(*c - *a), (*a + *b + *c) / 3.0);
    let (mut area, mut middle) = (0.0, Vec3::ZERO);
    for (normal, centre) in corners.iter().map(face) {
        area += 0.5 * normal.norm();
        middle += centre * (0.5 * normal.norm());
    }
    if area < LEAST_EXTENT {
        return Err(format!("its area is {area:e} m²"));
    }
    middle = middle / area;
    let weight = |normal: Vec3, centre: Vec3| match spread {
        Spread::Surface => 0.5 * normal.norm(),
        Spread::Absolute => (centre.dot(normal) / 6.0).abs(),
        Spread::Enclosed | Spread::Hull => centre.dot(normal) / 6.0,
    };
    let mut com = middle;
    if spread != Spread::Surface {
        let (mut volume, mut moment) = (0.0, Vec3::ZERO);
        for (normal, centre) in corners.iter().map(face) {
            let part = weight(normal, centre - middle);
            volume += part;
            moment += (centre * 0.75 + middle * 0.25) * part;
        }
        if volume < LEAST_EXTENT {
            return Err(format!(
                "its volume is {volume:e} m³; turn its faces outwards or give inertia=\"shell\""
            ));
        }
        com = moment / volume;
    }
    let (mut extent, mut second) = (0.0, Mat3::ZERO);
    for corner in corners {
        let centred = corner.map(|p| p - com);
        let (normal, centre) = face(&centred);
        let part = weight(normal, centre);
        let [a, b, c] = centred;
        let sum = a + b + c;
        // of a triangle, ∫ x xᵀ dA; of the tetrahedron to the centre, ∫ x xᵀ dV
        let share = part / if spread == Spread::Surface { 12.0 } else { 20.0 };
        extent += part;
        second = second
            + (Mat3::outer(sum, sum) + Mat3::outer(a, a) + Mat3::outer(b, b) + Mat3::outer(c, c))
                * share;
    }
    Ok((extent, com, Mat3::IDENTITY * second.trace() + second * -1.0))
}
