//! Drawn meshes: one shape for each group of triangles with the same appearance.

use quasistep_formats::SceneError;
use quasistep_formats::mesh::{self, Mesh, Recipe, Textures, Want};
use quasistep_math::Vec3;
use quasistep_mesh::Part;
use quasistep_record::{DrawnGeometry, DrawnShape, Image, Paint};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Corners are rounded to multiples of 1/STEPS m. This is finer than any screen and needs a third
/// of the digits in a recording.
const STEPS: f64 = 1e7;

/// Appearance of a mesh.
#[derive(Serialize, Deserialize)]
pub(crate) struct Looks {
    parts: Vec<Look>,
    /// MIME type and bytes of texture images.
    images: Vec<(String, Vec<u8>)>,
    /// Notes about parts of the appearance that are not drawn, one sentence each.
    pub notes: Vec<String>,
}

/// Notes about appearance that is not drawn, by kind: a sentence about the first mesh, and all
/// meshes of this kind.
#[derive(Default)]
pub(crate) struct Notes(BTreeMap<String, (String, BTreeSet<PathBuf>)>);

impl Notes {
    /// Adds the notes of a mesh.
    pub fn add(&mut self, path: &Path, notes: &[String]) {
        for note in notes {
            let kind = note.split(':').next().unwrap_or_default();
            let first = || (format!("{}: {note}", path.display()), BTreeSet::new());
            let (_, meshes) = self.0.entry(kind.to_owned()).or_insert_with(first);
            meshes.insert(path.to_owned());
        }
    }

    /// One sentence for each kind.
    pub fn into_warnings(self) -> impl Iterator<Item = String> {
        self.0.into_values().map(|(first, meshes)| match meshes.len() - 1 {
            0 => first,
            1 => format!("{first}; and so with another mesh"),
            n => format!("{first}; and so with {n} more meshes"),
        })
    }
}

/// Triangles with the same appearance.
#[derive(Serialize, Deserialize)]
struct Look {
    vertices: Vec<[f64; 3]>,
    triangles: Vec<[u32; 3]>,
    uv: Vec<[f32; 2]>,
    colors: Vec<[u8; 3]>,
    /// Red, green, blue and opacity, if the file gives a colour.
    color: Option<[f32; 4]>,
    image: Option<usize>,
}

impl Looks {
    /// Reads the appearance of a mesh file, scaled by `scale`.
    ///
    /// # Errors
    ///
    /// As [`mesh::read`].
    pub fn read(path: &Path, scale: [f64; 3], textures: &mut Textures) -> Result<Self, SceneError> {
        let options = scale.map(f64::to_le_bytes).concat();
        let recipe = Recipe { what: "looks", options: &options, want: Want::Looks, costly: false };
        mesh::made(path, &recipe, textures, |mesh| Ok(Self::of(mesh, scale)))
    }

    fn of(mesh: Mesh, scale: [f64; 3]) -> Self {
        // merge parts with the same appearance
        let mut looks: Vec<(&Part, Vec<[u32; 3]>)> = Vec::new();
        for part in &mesh.parts {
            let triangles = &mesh.triangles[part.triangles.clone()];
            let alike = |(p, _): &&mut (&Part, _)| p.color == part.color && p.image == part.image;
            match looks.iter_mut().find(alike) {
                Some((_, all)) => all.extend(triangles),
                None => looks.push((part, triangles.to_vec())),
            }
        }
        let look = |(part, triangles): (&Part, Vec<[u32; 3]>)| {
            // merge corners with the same position and texture coordinates: files repeat them for
            // different normals
            let mut known = BTreeMap::new();
            let (mut vertices, mut uv, mut colors) = (Vec::new(), Vec::new(), Vec::new());
            let mut corner = |i: u32| {
                let p = mesh.vertices[i as usize].component_mul(Vec3::from(scale));
                let p = p.to_array().map(|x| (x * STEPS).round() / STEPS + 0.0);
                let place = part.image.map(|_| mesh.uv[i as usize]);
                let color = mesh.colors.get(i as usize).copied();
                let key = (p.map(f64::to_bits), place.map(|uv| uv.map(f32::to_bits)), color);
                *known.entry(key).or_insert_with(|| {
                    vertices.push(p);
                    uv.extend(place);
                    colors.extend(color);
                    vertices.len() as u32 - 1
                })
            };
            let triangles: Vec<[u32; 3]> = triangles
                .iter()
                .map(|triangle| triangle.map(&mut corner))
                .filter(|[a, b, c]| a != b && b != c && c != a)
                .collect();
            let color = if colors.is_empty() { part.color } else { Some(mean_color(&colors)) };
            Look { vertices, triangles, uv, colors, color, image: part.image }
        };
        let parts = looks.into_iter().map(look).collect();
        let images = mesh.images.into_iter().map(|i| (i.mime.to_owned(), i.bytes)).collect();
        Self { parts, images, notes: mesh.notes }
    }

    /// Drawn shapes with the pose, body and role of `shape`. Its name and colour apply to parts
    /// that have none. As in RViz, a colour of the mesh takes precedence over one of the robot's
    /// file.
    pub fn shapes(self, shape: &DrawnShape) -> Vec<DrawnShape> {
        let images = self.images.into_iter().map(|(mime, bytes)| Arc::new(Image { mime, bytes }));
        let images: Vec<Arc<Image>> = images.collect();
        let several = self.parts.len() > 1;
        let drawn = |(k, look): (usize, Look)| {
            let Look { vertices, triangles, uv, colors, color, image } = look;
            let paint = match image.and_then(|image| images.get(image)) {
                Some(image) => Some(Paint::Texture { uv, image: image.clone() }),
                None if !colors.is_empty() => Some(Paint::Vertices(colors)),
                None => None,
            };
            let suffix = if several { format!("/{k}") } else { String::new() };
            DrawnShape {
                name: format!("{}{suffix}", shape.name),
                geometry: DrawnGeometry::Mesh { vertices, triangles },
                color: color.unwrap_or(shape.color),
                paint,
                ..*shape
            }
        };
        self.parts.into_iter().enumerate().map(drawn).collect()
    }
}

fn mean_color(colors: &[[u8; 3]]) -> [f32; 4] {
    let mean = |i: usize| {
        let sum: u64 = colors.iter().map(|c| u64::from(c[i])).sum();
        (sum as f64 / (255 * colors.len().max(1)) as f64) as f32
    };
    [mean(0), mean(1), mean(2), 1.0]
}
