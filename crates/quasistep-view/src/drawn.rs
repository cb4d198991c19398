//! Drawn shapes of a page: geometry, meshes, dots and images, reduced to the space available.
#![allow(non_snake_case)] // frames in monogram notation

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quasistep_math::Pose;
use quasistep_record::{DrawnGeometry, DrawnShape, Paint, Recording};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Drawn shapes of a page, and notes about what was left out.
pub struct Drawn {
    pub shapes: Vec<Value>,
    pub pool: Pool,
    /// Size of shapes and pool as text, in bytes.
    pub bytes: usize,
    pub left_out: Vec<String>,
}

/// Level of detail of the drawn shapes.
struct Detail {
    /// One of this many dots of a cloud is drawn.
    dots: usize,
    /// True if textures are included.
    pictures: bool,
    /// Largest number of triangles of a mesh that is drawn.
    triangles: usize,
}

impl Drawn {
    /// The drawn shapes within `most` bytes. If necessary, detail is reduced in this order: fewer
    /// dots, no textures, without the largest meshes.
    pub fn within(r: &Recording, most: usize) -> Self {
        /// Smallest number of dots to which a cloud is reduced.
        const FEWEST_DOTS: usize = 20_000;
        let dots = r.shapes.iter().map(|s| n_dots(&s.geometry)).max().unwrap_or(0);
        let mut detail = Detail { dots: 1, pictures: true, triangles: usize::MAX };
        loop {
            let drawn = Self::with(r, &detail);
            if drawn.bytes <= most {
                return drawn;
            }
            let drawn_triangles = r
                .shapes
                .iter()
                .map(|s| n_triangles(&s.geometry))
                .filter(|n| *n <= detail.triangles);
            if dots / (2 * detail.dots) >= FEWEST_DOTS {
                detail.dots *= 2;
            } else if detail.pictures {
                detail.pictures = false;
            } else if let Some(largest) = drawn_triangles.max().filter(|n| *n > 0) {
                detail.triangles = largest - 1;
            } else {
                return drawn;
            }
        }
    }

    fn with(r: &Recording, detail: &Detail) -> Self {
        let mut pool = Pool::default();
        let is_drawn = |s: &&DrawnShape| n_triangles(&s.geometry) <= detail.triangles;
        let shape = |s: &DrawnShape| {
            let paint = s.paint.as_ref().filter(|_| detail.pictures);
            json!({
                "body": s.body, "name": s.name, "pose": pose(&s.X_BG), "color": s.color,
                "role": s.role, "geometry": pool.place(geometry(&s.geometry, detail.dots)),
                "paint": paint.map(|paint| pool.paint(paint)),
            })
        };
        let shapes: Vec<Value> = r.shapes.iter().filter(is_drawn).map(shape).collect();
        let bytes = shapes.iter().chain(&pool.list).map(|v| v.to_string().len() + 1).sum();
        let mut left_out = Vec::new();
        if detail.dots > 1 {
            left_out.push(format!("the page draws one dot out of {}", detail.dots));
        }
        if !detail.pictures && r.shapes.iter().any(|s| s.paint.is_some()) {
            left_out.push("the page draws meshes in one colour each".to_owned());
        }
        let missing = r.shapes.len() - shapes.len();
        if missing > 0 {
            left_out.push(format!(
                "the page leaves out {missing} meshes of more than {} triangles",
                detail.triangles
            ));
        }
        Self { shapes, pool, bytes, left_out }
    }
}

fn n_dots(g: &DrawnGeometry) -> usize {
    if let DrawnGeometry::Points { points, .. } = g { points.len() } else { 0 }
}

fn n_triangles(g: &DrawnGeometry) -> usize {
    if let DrawnGeometry::Mesh { triangles, .. } = g { triangles.len() } else { 0 }
}

/// Values shared by several shapes and stored once: geometries, and image data URIs.
#[derive(Default)]
pub struct Pool {
    known: BTreeMap<String, usize>,
    pub list: Vec<Value>,
}

impl Pool {
    /// Index of a value, which is added if it is new.
    fn place(&mut self, value: Value) -> Value {
        let list = &mut self.list;
        let index = *self.known.entry(value.to_string()).or_insert_with(|| {
            list.push(value);
            list.len() - 1
        });
        json!(index)
    }

    fn paint(&mut self, paint: &Paint) -> Value {
        match paint {
            Paint::Vertices(colors) => {
                json!({ "colors": base64(colors.as_flattened().iter().copied()) })
            }
            Paint::Texture { uv, image } => {
                let data = format!("data:{};base64,{}", image.mime, STANDARD.encode(&image.bytes));
                let image = self.place(json!(data));
                json!({ "uv": base64(uv.as_flattened().iter().flat_map(|v| v.to_le_bytes())), "image": image })
            }
        }
    }
}

/// JSON of a geometry. Of a cloud, one of `one_of` dots is kept and the width of dots is increased
/// to cover the same area.
fn geometry(g: &DrawnGeometry, one_of: usize) -> Value {
    match g {
        DrawnGeometry::Sphere { radius } => json!({ "kind": "sphere", "radius": radius }),
        DrawnGeometry::Box { half } => json!({ "kind": "box", "half": half }),
        DrawnGeometry::Capsule { radius, half_length } => {
            json!({ "kind": "capsule", "radius": radius, "half_length": half_length })
        }
        DrawnGeometry::Cylinder { radius, half_length } => {
            json!({ "kind": "cylinder", "radius": radius, "half_length": half_length })
        }
        DrawnGeometry::Ellipsoid { radii } => json!({ "kind": "ellipsoid", "radii": radii }),
        DrawnGeometry::HalfSpace => json!({ "kind": "half_space" }),
        DrawnGeometry::Mesh { vertices, triangles } => json!({
            "kind": "mesh",
            "vertices": floats(vertices.as_flattened().iter().copied()),
            "triangles": base64(triangles.as_flattened().iter().flat_map(|i| i.to_le_bytes())),
        }),
        DrawnGeometry::Points { points, normals, width } => {
            let points = points.iter().step_by(one_of).flatten();
            let normals = normals.iter().step_by(one_of).flatten();
            json!({
                "kind": "points",
                "points": base64(points.flat_map(|v| v.to_le_bytes())),
                // seven bits per component are enough for lighting
                "normals": base64(normals.map(|v| (v * 127.0).round() as i8 as u8)),
                "width": width * (one_of as f64).sqrt(),
            })
        }
        _ => json!({ "kind": "unknown" }),
    }
}

pub fn pose(X: &Pose) -> [f64; 7] {
    let (q, p) = (X.rotation, X.translation);
    [q.w, q.x, q.y, q.z, p.x, p.y, p.z]
}

fn floats(values: impl IntoIterator<Item = f64>) -> String {
    base64(values.into_iter().flat_map(|v| (v as f32).to_le_bytes()))
}

fn base64(bytes: impl IntoIterator<Item = u8>) -> String {
    STANDARD.encode(bytes.into_iter().collect::<Vec<u8>>())
}
