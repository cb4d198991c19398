//! Triangle meshes with colours and textures, from the bytes of `.stl`, `.obj`, `.dae`, `.gltf`, `.glb`, `.ply` and
//! `.msh` files.
//!
//! This crate opens no files. Referenced files (buffers, materials, textures) are requested from
//! the caller by their relative path; the caller decides which may be opened.
//!
//! Vertices of a [`Mesh`] are in m if the format defines a unit. z is up:
//!
//! | format | unit | up |
//! |---|---|---|
//! | `.stl`, `.obj`, `.ply`, `.msh` | the file's numbers | as they are |
//! | `.dae` | `<unit meter>` is applied | as they are; `<up_axis>` is not applied |
//! | `.gltf`, `.glb` | m (glTF 2.0, 3.4) | y in the file becomes z: `(x, y, z) → (x, −z, y)` |
//!
//! These are the conventions of robot files. RViz and Coal ignore the `up_axis` of COLLADA: they
//! apply the scene's transforms without the rotation that Assimp adds at the root. Drake rotates
//! glTF's y up to z up.
//!
//! Time and memory are bounded by the file sizes, not by counts in headers. A scene graph that
//! repeats its geometry is limited to [`MAX_TRIANGLES`].
#![allow(non_snake_case)] // transforms between frames: X, R

mod collada;
mod fault;
mod frame;
mod gltf;
mod height_map;
mod image;
mod lines;
mod msh;
mod obj;
mod open;
pub mod ply;
mod polygon;
mod scalar;
mod stl;
pub mod xml;

pub use fault::{Fault, Place};
pub use height_map::HeightMap;
pub use image::Image;
pub use lines::{Lines, words};
pub use open::{Open, Textures};
pub use scalar::{Scalar, number, shown};

use open::Opener;
use quasistep_math::Vec3;
use std::ops::Range;

/// Most triangles of a mesh. A scan usually has a few hundred thousand; this many take 360 MB.
pub const MAX_TRIANGLES: usize = 5_000_000;
/// Most nodes of a scene graph that are visited.
const MAX_NODES: usize = 100_000;
const MAX_DEPTH: usize = 200;

/// File extensions that [`read`] supports.
pub const ENDINGS: [&str; 7] = ["stl", "obj", "dae", "gltf", "glb", "ply", "msh"];

/// Triangles over shared vertices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Vertices, all finite; in m if the format defines a unit.
    pub vertices: Vec<Vec3>,
    /// Indices of the corners of each triangle in `vertices`, counter-clockwise seen from outside
    /// if the file is oriented; at least one triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Objects and groups named by the file, in file order; one group if it names none.
    pub groups: Vec<Group>,
    /// Consecutive ranges of triangles with the same appearance; together they cover all triangles.
    pub parts: Vec<Part>,
    /// Texture coordinates of each vertex, u to the right and v down, from 0 to 1 across the image;
    /// empty if no part has a texture.
    pub uv: Vec<[f32; 2]>,
    /// Colour of each vertex, red, green, blue in sRGB; empty if the file has none.
    pub colors: Vec<[u8; 3]>,
    /// Texture images.
    pub images: Vec<Image>,
    /// Notes about parts of the appearance that could not be read, one sentence each.
    pub notes: Vec<String>,
}

/// A named range of triangles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Name of the group; may be empty.
    pub name: String,
    /// Range of its triangles.
    pub triangles: Range<usize>,
}

/// A range of triangles with the same appearance.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Range of its triangles.
    pub triangles: Range<usize>,
    /// Red, green, blue (sRGB) and opacity, from 0 to 1, if the file gives a colour. For a textured
    /// part it is the mean colour of the texture.
    pub color: Option<[f32; 4]>,
    /// Index of its texture in [`Mesh::images`].
    pub image: Option<usize>,
}

/// Parts of a mesh that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// The geometry only; materials and textures are not opened.
    Shape,
    /// The geometry and the appearance.
    Looks,
}

/// Reads a mesh. `ending` is the file extension, in any case, and determines the format. Polygons
/// are divided into triangles, and transforms of a scene graph are applied. `textures` caches
/// images between meshes.
///
/// # Errors
///
/// An unknown extension; bytes that are not of this format; buffers that cannot be opened; no
/// triangle; a coordinate that is not finite. Materials and textures that cannot be read are
/// reported in [`Mesh::notes`].
pub fn read<'a>(
    ending: &str,
    bytes: &[u8],
    want: Want,
    open: Open<'a>,
    textures: &'a mut Textures,
) -> Result<Mesh, Fault> {
    let ending = ending.to_ascii_lowercase();
    if !ENDINGS.contains(&ending.as_str()) {
        let valid = ENDINGS.map(|e| format!(".{e}")).join(", ");
        return Err(Fault::whole(format!(
            "ending '.{ending}' is no mesh format; valid are {valid}"
        )));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Fault::whole("is empty; a mesh is needed"));
    }
    let mut open = Opener::new(open, textures);
    let mut mesh = match ending.as_str() {
        "stl" => stl::read(bytes)?,
        "obj" => obj::read(bytes, want, &mut open)?,
        "dae" => collada::read(bytes, want, &mut open)?,
        "ply" => ply::read_mesh(bytes, want)?,
        "msh" => msh::read(bytes)?,
        _ => gltf::read(bytes, want, &mut open)?,
    };
    mesh.finish()?;
    Ok(mesh)
}

impl Mesh {
    /// Adds a triangle.
    fn push(&mut self, triangle: [u32; 3]) -> Result<(), Fault> {
        if self.triangles.len() == MAX_TRIANGLES {
            return Err(Fault::whole(format!(
                "has more than {MAX_TRIANGLES} triangles; that many are read"
            )));
        }
        self.triangles.push(triangle);
        Ok(())
    }

    /// Adds the triangles since `start` as a group.
    fn end_group(&mut self, start: usize, name: &str) {
        if self.triangles.len() > start {
            self.groups
                .push(Group { name: name.to_owned(), triangles: start..self.triangles.len() });
        }
    }

    /// Ends a part: sets the appearance of the triangles since the last part.
    fn end_part(&mut self, color: Option<[f32; 4]>, image: Option<usize>) {
        let start = self.parts.last().map_or(0, |part| part.triangles.end);
        let end = self.triangles.len();
        if end == start {
            return;
        }
        // viewers without textures show the mean colour
        let color = image.map_or(color, |i| {
            let [red, green, blue] = self.images[i].mean_color;
            Some([red, green, blue, color.map_or(1.0, |c| c[3])])
        });
        match self.parts.last_mut() {
            Some(last) if last.color == color && last.image == image => last.triangles.end = end,
            _ => self.parts.push(Part { triangles: start..end, color, image }),
        }
    }

    /// Fills in defaults for the whole mesh, and checks it.
    fn finish(&mut self) -> Result<(), Fault> {
        self.end_part(None, None);
        if self.triangles.is_empty() {
            return Err(Fault::whole("has no triangle; a mesh needs at least one"));
        }
        if let Some(i) = self.vertices.iter().position(|vertex| !vertex.is_finite()) {
            let [x, y, z] = self.vertices[i].to_array();
            return Err(Fault::whole(format!(
                "vertex {} is ({x}, {y}, {z}); all must be finite",
                i + 1
            )));
        }
        let count = self.vertices.len();
        if let Some(corner) = self.triangles.as_flattened().iter().find(|&&i| i as usize >= count) {
            return Err(Fault::whole(format!(
                "a triangle names vertex {corner} (from 0) of {count}"
            )));
        }
        if self.groups.is_empty() {
            self.end_group(0, "");
        }
        if self.parts.iter().all(|part| part.image.is_none()) {
            self.uv.clear();
        }
        for place in self.uv.as_flattened_mut().iter_mut().filter(|u| !u.is_finite()) {
            *place = 0.0;
        }
        Ok(())
    }
}
