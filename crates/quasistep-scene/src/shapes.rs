//! Shapes in a scene file: collision geometry and drawn geometry.

use crate::cloud::{self, CloudReport, FilePoints, Loaded, MOST_POINTS, Spread};
use crate::collision_mesh::Shaping;
use crate::document::{At, Map, pose};
use crate::friction::Given;
use quasistep_formats::SceneError;
use quasistep_formats::height_map;
use quasistep_formats::mesh::{self, Mesh};
use quasistep_geometry::{
    HeightField, MassProperties, Polytope, Samples, Shape, sample_surface, sample_triangles,
};
use quasistep_math::{Pose, Vec3};
use quasistep_record::DrawnGeometry;
use std::path::Path;
use std::sync::Arc;

/// One shape of a body.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub name: Option<String>,
    pub shape: Shape,
    pub drawn: DrawnGeometry,
    pub X_BG: Pose,
    pub friction: Given,
    pub color: Option<[f32; 4]>,
    pub collides: bool,
    pub visible: bool,
    /// Contribution of the shape to the mass of its body.
    pub weight: Weight,
    /// Report on its file, if it is a point cloud.
    pub cloud: Option<CloudReport>,
    /// True if it is from a file whose unit the scene takes for a metre.
    pub unscaled: bool,
}

/// Source of a shape's mass, for a body with a density.
#[derive(Clone, Debug)]
pub(crate) enum Weight {
    /// The shape's volume, if it collides.
    OfShape,
    /// The point cloud, if it collides.
    OfCloud(Spread),
    /// Given mass properties, at 1 kg/m³.
    Given(MassProperties),
    /// The area of a sheet, at 1 kg/m², if it collides.
    OfArea(MassProperties),
    /// None: the mass is counted with another piece.
    Nothing,
}

const KEYS: [&str; 16] = [
    "sphere",
    "box",
    "capsule",
    "cylinder",
    "ellipsoid",
    "half_space",
    "height_field",
    "mesh",
    "points",
    "cloud",
    "pose",
    "friction",
    "color",
    "name",
    "collision",
    "visual",
];
const KINDS: [&str; 10] = [
    "sphere",
    "box",
    "capsule",
    "cylinder",
    "ellipsoid",
    "half_space",
    "height_field",
    "mesh",
    "points",
    "cloud",
];

/// Reads one shape, which may become several pieces. Paths are relative to `dir`. Remarks for the
/// user are added to `notes`.
pub(crate) fn pieces(
    at: &At<'_>,
    dir: &Path,
    notes: &mut Vec<String>,
) -> Result<Vec<Piece>, SceneError> {
    let map = at.map(&KEYS)?;
    let given: Vec<&str> = map.keys().filter(|k| KINDS.contains(k)).collect();
    let [kind] = given.as_slice() else {
        let seen = if given.is_empty() { "no kind".into() } else { given.join(" and ") };
        return Err(at.error(format!(
            "{seen} was seen; a shape has one of {}",
            quasistep_formats::list(&KINDS)
        )));
    };
    let value = map.need(kind)?;
    let shape = match *kind {
        "sphere" => {
            let radius = value.map(&["radius"])?.need("radius")?.positive("m")?;
            Shape::Sphere { radius }
        }
        "box" => {
            let size = value.map(&["size"])?.need("size")?.clone();
            let edges: [f64; 3] = size.array("m")?;
            if edges.iter().any(|e| *e <= 0.0) {
                return Err(size.error(format!("{edges:?} was seen; every edge must be > 0 m")));
            }
            Shape::Box { half: edges.map(|e| 0.5 * e) }
        }
        "capsule" | "cylinder" => {
            let map = value.map(&["radius", "length"])?;
            let radius = map.need("radius")?.positive("m")?;
            let half_length = 0.5 * map.need("length")?.positive("m")?;
            if *kind == "capsule" {
                Shape::Capsule { radius, half_length }
            } else {
                Shape::Cylinder { radius, half_length }
            }
        }
        "ellipsoid" => {
            let at = value.map(&["radii"])?.need("radii")?.clone();
            let radii: [f64; 3] = at.array("m")?;
            if radii.iter().any(|r| *r <= 0.0) {
                return Err(at.error(format!("{radii:?} was seen; every radius must be > 0 m")));
            }
            Shape::Ellipsoid { radii }
        }
        "half_space" => {
            value.map(&[])?;
            Shape::HalfSpace
        }
        "height_field" => Shape::HeightField(Arc::new(height_field(value, dir)?)),
        "mesh" => {
            let keys = value.map(&["file", "scale", "parts", "tolerance", "simplify"])?;
            let shaping = Shaping::read(&keys)?.or_sheet();
            let file = keys.need("file")?;
            let (path, scale) = (dir.join(file.text()?), scale(&keys)?);
            let at_file = |e: SceneError| file.error(e.to_string());
            let unscaled = keys.get("scale").is_none();
            let convex = shaping.convex(&path, scale, true, &at_file)?;
            notes.extend(convex.notes(&shaping, &file.place(), file.text()?));
            if shaping.has_parts() {
                let mass = convex.mass_properties().map_err(|e| file.error(e))?;
                let mut parts =
                    split(&map, &read_mesh(&keys, dir)?, convex.shapes().collect(), mass)?;
                for part in &mut parts {
                    part.unscaled = unscaled;
                }
                return Ok(parts);
            }
            let hull = convex.shapes().next().ok_or_else(|| file.error("no hull was made"))?;
            return Ok(vec![Piece { unscaled, ..piece(&map, hull)? }]);
        }
        "cloud" => {
            // common keys are read from the shape, the others from the cloud
            let Piece { shape, drawn, weight, cloud, unscaled, .. } = cloud_piece(value, dir)?;
            let piece = piece(&map, shape)?;
            return Ok(vec![Piece { drawn, weight, cloud, unscaled, ..piece }]);
        }
        _ => {
            let points: Result<Vec<Vec3>, SceneError> =
                value.list()?.iter().map(|p| Ok(Vec3::from(p.array::<3>("m")?))).collect();
            hull(&points?, value)?
        }
    };
    Ok(vec![piece(&map, shape)?])
}

/// A piece with the keys common to all kinds of shapes.
fn piece(map: &Map<'_>, shape: Shape) -> Result<Piece, SceneError> {
    let flag = |key: &str| map.get(key).map_or(Ok(true), At::boolean);
    Ok(Piece {
        name: map.get("name").map(At::text).transpose()?.map(str::to_owned),
        drawn: drawn(&shape),
        weight: match &shape {
            Shape::Sheet(sheet) => Weight::OfArea(sheet.area_properties()),
            _ => Weight::OfShape,
        },
        shape,
        X_BG: map.get("pose").map(pose).transpose()?.unwrap_or_default(),
        friction: map.get("friction").map(Given::read).transpose()?.unwrap_or_default(),
        color: map.get("color").map(color).transpose()?,
        collides: flag("collision")?,
        visible: flag("visual")?,
        cloud: None,
        unscaled: false,
    })
}

/// Reads a cloud that is the only shape of a body.
pub(crate) fn cloud_piece(at: &At<'_>, dir: &Path) -> Result<Piece, SceneError> {
    let Loaded { cloud, drawn, spread, report } = cloud::read(at, dir, sample)?;
    Ok(Piece {
        name: None,
        shape: Shape::Cloud(cloud),
        drawn,
        X_BG: Pose::IDENTITY,
        friction: Given::default(),
        color: None,
        collides: true,
        visible: true,
        weight: Weight::OfCloud(spread),
        unscaled: report.scale == 1.0,
        cloud: Some(report),
    })
}

/// Points of a cloud spread over shapes or a mesh: `{points: n, shapes: [...]}` or `{points: n, mesh:
/// {file, scale}}`.
fn sample(at: &At<'_>, dir: &Path) -> Result<FilePoints, SceneError> {
    let map = at.map(&["points", "shapes", "mesh"])?;
    let count = map.need("points")?.whole(1, MOST_POINTS as u64)? as usize;
    let samples = match (map.get("shapes"), map.get("mesh")) {
        (Some(shapes), None) => {
            let mut parts = Vec::new();
            for shape in shapes.list()? {
                let pieces = pieces(&shape, dir, &mut Vec::new())?;
                let solid = pieces.into_iter().filter(|piece| piece.collides);
                parts.extend(solid.map(|piece| (piece.shape, piece.X_BG)));
            }
            sample_surface(&parts, count).map_err(|e| shapes.error(e.to_string()))?
        }
        (None, Some(from)) => {
            let mesh = read_mesh(&from.map(&["file", "scale"])?, dir)?;
            sample_triangles(&mesh.vertices, &mesh.triangles, count)
                .map_err(|e| from.error(e.to_string()))?
        }
        _ => return Err(at.error("give one of `shapes` and `mesh` to spread points over")),
    };
    let Samples { points, normals } = samples;
    Ok(FilePoints {
        rows: (0..points.len() as u32).collect(),
        n_read: points.len(),
        n_invalid: 0,
        normals: Some(normals),
        points,
    })
}

/// Reads a mesh file; vertices in m.
pub(crate) fn read_mesh(map: &Map<'_>, dir: &Path) -> Result<Mesh, SceneError> {
    let file = map.need("file")?;
    let scale = scale(map)?;
    let mut mesh = mesh::read(&dir.join(file.text()?)).map_err(|e| file.error(e.to_string()))?;
    for vertex in &mut mesh.vertices {
        *vertex = vertex.component_mul(scale.into());
    }
    Ok(mesh)
}

/// Length of the file's unit along x, y and z, in m.
fn scale(map: &Map<'_>) -> Result<[f64; 3], SceneError> {
    match map.get("scale") {
        None => Ok([1.0; 3]),
        Some(at) if at.is_list() => at.array("m per unit of the file"),
        Some(at) => Ok([at.number("m per unit of the file")?; 3]),
    }
}

/// Pieces of a mesh in parts: the mesh for drawing and mass, and convex parts for collisions.
fn split(
    map: &Map<'_>,
    mesh: &Mesh,
    hulls: Vec<Shape>,
    mass: MassProperties,
) -> Result<Vec<Piece>, SceneError> {
    let Some(first) = hulls.first() else { return Ok(Vec::new()) };
    let whole = piece(map, first.clone())?;
    let mut pieces = vec![Piece {
        drawn: DrawnGeometry::Mesh {
            vertices: mesh.vertices.iter().map(|v| v.to_array()).collect(),
            triangles: mesh.triangles.clone(),
        },
        collides: false,
        weight: if whole.collides { Weight::Given(mass) } else { Weight::Nothing },
        ..whole.clone()
    }];
    for (k, hull) in hulls.into_iter().enumerate().filter(|_| whole.collides) {
        pieces.push(Piece {
            name: whole.name.as_ref().map(|name| format!("{name}/{k}")),
            drawn: drawn(&hull),
            shape: hull,
            visible: false,
            weight: Weight::Nothing,
            ..whole.clone()
        });
    }
    Ok(pieces)
}

/// Thickness of the ground of a height field below its lowest point if none is given, in m.
const BASE: f64 = 1.0;

/// Reads a height field: `{heights, size, base}` or `{image, height, size, base}`.
fn height_field(at: &At<'_>, dir: &Path) -> Result<HeightField, SceneError> {
    let map = at.map(&["heights", "image", "height", "size", "base"])?;
    let sizes = map.need("size")?;
    let size: [f64; 2] = sizes.array("m")?;
    if size.iter().any(|s| *s <= 0.0) {
        return Err(sizes.error(format!("{size:?} was seen; both must be > 0 m")));
    }
    let base = map.get("base").map_or(Ok(BASE), |at| at.positive("m"))?;
    match (map.get("heights"), map.get("image")) {
        (Some(heights), None) => {
            if let Some(height) = map.get("height") {
                return Err(height.error("height is for an image; `heights` are in m"));
            }
            let n = rows(heights)?;
            let rows: Result<Vec<Vec<f64>>, SceneError> =
                heights.list()?.iter().map(|row| row.numbers("m")).collect();
            // the first row is at the largest y
            let values = rows?.into_iter().rev().flatten().collect();
            HeightField::new(n, size, values, base).map_err(|e| heights.error(e.to_string()))
        }
        (None, Some(image)) => {
            let path = dir.join(image.text()?);
            let height = map.need("height")?.positive("m")?;
            let pixels = height_map::read(&path).map_err(|why| image.error(why))?;
            height_map::field(pixels, size, height, base).map_err(|why| image.error(why))
        }
        _ => Err(at.error("give one of `heights`, rows of numbers in m, and `image`, a PNG file")),
    }
}

/// Numbers of columns and rows of a table.
fn rows(at: &At<'_>) -> Result<[usize; 2], SceneError> {
    let rows = at.list()?;
    let mut columns = None;
    for (k, row) in rows.iter().enumerate() {
        let n = row.list()?.len();
        if *columns.get_or_insert(n) != n {
            let first = columns.unwrap_or(n);
            return Err(row.error(format!("row {k} has {n} heights; the first row has {first}")));
        }
    }
    Ok([columns.unwrap_or(0), rows.len()])
}

/// The convex hull of points (m) as a shape.
pub(crate) fn hull(points: &[Vec3], at: &At<'_>) -> Result<Shape, SceneError> {
    match Polytope::from_points(points) {
        Ok(polytope) => Ok(Shape::Polytope(Arc::new(polytope))),
        Err(e) => Err(at.error(e.to_string())),
    }
}

/// Most points along a side of a height field that are drawn.
const MOST_DRAWN: usize = 200;

/// Drawn geometry of a collision shape.
pub(crate) fn drawn(shape: &Shape) -> DrawnGeometry {
    match shape {
        Shape::Sphere { radius } => DrawnGeometry::Sphere { radius: *radius },
        Shape::Box { half } => DrawnGeometry::Box { half: *half },
        Shape::Capsule { radius, half_length } => {
            DrawnGeometry::Capsule { radius: *radius, half_length: *half_length }
        }
        Shape::Cylinder { radius, half_length } => {
            DrawnGeometry::Cylinder { radius: *radius, half_length: *half_length }
        }
        Shape::Ellipsoid { radii } => DrawnGeometry::Ellipsoid { radii: *radii },
        Shape::Polytope(polytope) => DrawnGeometry::Mesh {
            vertices: polytope.vertices().iter().map(|v| v.to_array()).collect(),
            triangles: fans(polytope),
        },
        Shape::HeightField(field) => {
            let (vertices, triangles) = field.mesh(MOST_DRAWN);
            let vertices = vertices.iter().map(|v| v.to_array()).collect();
            DrawnGeometry::Mesh { vertices, triangles }
        }
        Shape::Sheet(sheet) => DrawnGeometry::Mesh {
            vertices: sheet.vertices().iter().map(|v| v.to_array()).collect(),
            triangles: sheet.triangles().to_vec(),
        },
        _ => DrawnGeometry::HalfSpace,
    }
}

/// Triangles of all faces, counter-clockwise seen from outside.
fn fans(polytope: &Polytope) -> Vec<[u32; 3]> {
    let mut triangles = Vec::new();
    for face in polytope.faces() {
        let corners = face.vertices();
        for k in 1..corners.len().saturating_sub(1) {
            triangles.push([corners[0], corners[k], corners[k + 1]]);
        }
    }
    triangles
}

/// `[r, g, b]` or `[r, g, b, a]`, each from 0 to 1.
pub(crate) fn color(at: &At<'_>) -> Result<[f32; 4], SceneError> {
    let values = at.numbers("0 to 1")?;
    let valid = matches!(values.len(), 3 | 4) && values.iter().all(|c| (0.0..=1.0).contains(c));
    if !valid {
        return Err(at.error(format!(
            "{values:?} was seen; give [red, green, blue] or [red, green, blue, opacity], each 0 to 1"
        )));
    }
    Ok(std::array::from_fn(|i| values.get(i).map_or(1.0, |c| *c as f32)))
}
