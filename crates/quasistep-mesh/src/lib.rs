//! Triangle meshes with colours and textures, from the bytes of `.stl`, `.obj`, `.dae`, `.gltf`, `.glb`, `.ply` and
//! `.msh` files.
//!
//! Bytes in, triangles out: this room opens no file. What a file refers to (buffers, materials, textures) it
//! asks for by the relative path that the file gives; the caller says which of them may be opened.
//!
//! A [`Mesh`] is in m where the format has a unit, with z up:
//!
//! | format | unit | up |
//! |---|---|---|
//! | `.stl`, `.obj`, `.ply`, `.msh` | the file's numbers | as they are |
//! | `.dae` | `<unit meter>` is applied | as they are; `<up_axis>` is not applied |
//! | `.gltf`, `.glb` | m (glTF 2.0, 3.4) | y in the file becomes z: `(x, y, z) → (x, −z, y)` |
//!
//! These are the conventions of robot files. RViz and Coal apply the transforms of a COLLADA scene without the turn
//! to y that Assimp adds at the root, and so do not see `up_axis`; files of either kind exist for one and the same link.
//! Drake turns glTF's y up into z up.
//!
//! Time and memory grow with the sizes of the files, not with what their headers promise; a scene graph that
//! repeats its geometry is cut off at [`MAX_TRIANGLES`].
#![allow(non_snake_case)] // maps between frames: X, R

mod collada;
mod fault;
mod frame;
mod gltf;
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
pub use image::Image;
pub use lines::{Lines, words};
pub use open::{Open, Textures};
pub use scalar::{Scalar, number, shown};

use open::Opener;
use quasistep_math::Vec3;
use std::ops::Range;

/// Triangles that a mesh may have: a few hundred thousand are usual for a scan; these take 360 MB.
pub const MAX_TRIANGLES: usize = 5_000_000;
/// Nodes of a scene graph that are visited, and how deep they may be nested.
const MAX_NODES: usize = 100_000;
const MAX_DEPTH: usize = 200;

/// Endings of the names of files that [`read`] knows.
pub const ENDINGS: [&str; 7] = ["stl", "obj", "dae", "gltf", "glb", "ply", "msh"];

/// Triangles over shared vertices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Corner points, all finite.
    pub vertices: Vec<Vec3>,
    /// Corners of each triangle as indices of `vertices`, counter-clockwise from outside if the file says so; at
    /// least one triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Objects and groups that the file names, in its order; all of it if it names none.
    pub groups: Vec<Group>,
    /// Runs of triangles that look alike; together all of them, in order.
    pub parts: Vec<Part>,
    /// Place of each vertex on its texture, u to the right and v down, 0 to 1 across the picture; empty if
    /// no part has a texture.
    pub uv: Vec<[f32; 2]>,
    /// Red, green, blue of each vertex, sRGB; empty if the file has none.
    pub colors: Vec<[u8; 3]>,
    /// Textures.
    pub images: Vec<Image>,
    /// What of the looks could not be read, in a sentence each.
    pub notes: Vec<String>,
}

/// A named range of triangles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name; may be empty.
    pub name: String,
    /// Its triangles.
    pub triangles: Range<usize>,
}

/// A range of triangles that look alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its triangles.
    pub triangles: Range<usize>,
    /// Red, green, blue, opacity, sRGB, 0 to 1, if the file gives a colour; of a textured part the mean of its texture.
    pub color: Option<[f32; 4]>,
    /// Texture, index of [`Mesh::images`].
    pub image: Option<usize>,
}

/// What a mesh is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Its shape alone: no material and no texture is opened.
    Shape,
    /// Its looks too.
    Looks,
}

/// Reads a mesh; `ending` of the file's name, in any case, tells the format. Polygons are cut into triangles;
/// transforms of a scene graph are applied. `textures` remembers pictures from one mesh to the next.
///
/// # Errors
///
/// Another ending, bytes that are not of that format, buffers that cannot be opened, no triangle, or a coordinate that
/// is not finite. Materials and textures that cannot be read are [`Mesh::notes`].
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

    /// Says how the triangles since the last part look.
    fn end_part(&mut self, color: Option<[f32; 4]>, image: Option<usize>) {
        let start = self.parts.last().map_or(0, |part| part.triangles.end);
        let end = self.triangles.len();
        if end == start {
            return;
        }
        // the mean of a texture is what those see who cannot draw it
        let color = image.map_or(color, |i| {
            let [red, green, blue] = self.images[i].mean_color;
            Some([red, green, blue, color.map_or(1.0, |c| c[3])])
        });
        match self.parts.last_mut() {
            Some(last) if last.color == color && last.image == image => last.triangles.end = end,
            _ => self.parts.push(Part { triangles: start..end, color, image }),
        }
    }

    /// Fills in what holds for the whole, and checks it.
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
