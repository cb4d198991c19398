//! Triangle meshes from Wavefront `.obj` and `.stl` (text or binary) files.

use crate::error::SceneError;
use quasistep_math::Vec3;
use std::io::Cursor;
use std::ops::Range;
use std::path::Path;

/// Triangles over shared vertices, in the frame and the unit of the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mesh {
    /// Corner points, all finite.
    pub vertices: Vec<Vec3>,
    /// Corners of each triangle as indices of `vertices`, in the file's order of turning; at
    /// least one triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Objects and groups of an `.obj`, in the file's order; all of it if it names none.
    pub groups: Vec<Group>,
}

/// A named range of triangles.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    pub name: String,
    pub triangles: Range<usize>,
}

/// Reads a mesh; the ending of the name, in any case, tells the format. Polygons of an `.obj` are
/// cut into triangles; materials, normals and textures are left aside.
///
/// # Errors
/// Another ending, a file that is missing or cannot be read in its format, no triangle, or a
/// coordinate that is not finite.
pub(crate) fn read(path: &Path) -> Result<Mesh, SceneError> {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if ending != "obj" && ending != "stl" {
        let message = format!("ending '.{ending}' is no mesh format; valid are .obj and .stl");
        return Err(in_file(path, message));
    }
    let bytes = std::fs::read(path)
        .map_err(|error| in_file(path, format!("does not exist or cannot be read: {error}")))?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(in_file(path, "is empty; a mesh is needed"));
    }
    let mesh = if ending == "obj" { parse_obj(&bytes) } else { parse_stl(bytes) };
    let mesh = mesh
        .and_then(|mesh| check(&mesh).map(|()| mesh))
        .map_err(|message| in_file(path, message))?;
    Ok(mesh)
}

/// True if the file's ending is one that [`read`] knows.
pub(crate) fn is_readable(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("obj") || e.eq_ignore_ascii_case("stl"))
}

fn in_file(path: &Path, message: impl Into<String>) -> SceneError {
    SceneError::new(&path.display().to_string(), None, "", message)
}

fn parse_obj(bytes: &[u8]) -> Result<Mesh, String> {
    let options = tobj::LoadOptions {
        triangulate: true,
        ignore_points: true,
        ignore_lines: true,
        ..tobj::LoadOptions::default()
    };
    // material files are not opened: the error stays in the part of the answer not used
    let no_materials = |_: &Path| Err(tobj::LoadError::OpenFileFailed);
    let shape = shape_lines(&String::from_utf8_lossy(bytes));
    let (models, _) = tobj::load_obj_buf(&mut Cursor::new(shape), &options, no_materials)
        .map_err(|error| format!("not an .obj file: {error}"))?;
    let mut mesh = Mesh { vertices: Vec::new(), triangles: Vec::new(), groups: Vec::new() };
    for model in &models {
        let start = mesh.triangles.len();
        let first = mesh.vertices.len() as u32;
        for p in model.mesh.positions.chunks_exact(3) {
            mesh.vertices.push(Vec3::new(p[0], p[1], p[2]));
        }
        for corner in model.mesh.indices.chunks_exact(3) {
            mesh.triangles.push([first + corner[0], first + corner[1], first + corner[2]]);
        }
        if mesh.triangles.len() > start {
            let triangles = start..mesh.triangles.len();
            mesh.groups.push(Group { name: model.name.clone(), triangles });
        }
    }
    Ok(mesh)
}

/// The positions, faces and groups of an `.obj`, without normals, textures, colours and materials:
/// the parser panics on some faults of those (an index of a texture before the first), and a shape
/// does not need them. Lines that continue after a backslash are joined, which it does not do.
fn shape_lines(text: &str) -> String {
    let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut shape = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let words: Vec<&str> = match words.next() {
            Some("v") => std::iter::once("v").chain(words.take(3)).collect(),
            Some("f") => std::iter::once("f")
                .chain(words.map(|corner| corner.split('/').next().unwrap_or_default()))
                .collect(),
            Some(group @ ("o" | "g")) => std::iter::once(group).chain(words).collect(),
            _ => continue,
        };
        shape.push_str(&words.join(" "));
        shape.push('\n');
    }
    shape
}

fn parse_stl(mut bytes: Vec<u8>) -> Result<Mesh, String> {
    // Some programs begin the free 80 bytes of a binary file with the word that tells a text
    // file. The length decides: it is 84 + 50 per triangle.
    if let Some(&[a, b, c, d]) = bytes.get(80..84) {
        let count = u64::from(u32::from_le_bytes([a, b, c, d]));
        if bytes.len() as u64 == 84 + 50 * count {
            bytes[..80].fill(0);
        }
    }
    let stl = stl_io::read_stl(&mut Cursor::new(bytes))
        .map_err(|error| format!("not an .stl file: {error}"))?;
    let vertices = stl.vertices.iter().map(|v| {
        let [x, y, z] = v.0.map(f64::from);
        Vec3::new(x, y, z)
    });
    let triangles = stl.faces.iter().map(|face| face.vertices.map(|corner| corner as u32));
    let triangles: Vec<_> = triangles.collect();
    let groups = vec![Group { name: String::new(), triangles: 0..triangles.len() }];
    Ok(Mesh { vertices: vertices.collect(), triangles, groups })
}

fn check(mesh: &Mesh) -> Result<(), String> {
    if mesh.triangles.is_empty() {
        return Err("has no triangle; a mesh needs at least one".to_owned());
    }
    if let Some(i) = mesh.vertices.iter().position(|vertex| !vertex.is_finite()) {
        let [x, y, z] = mesh.vertices[i].to_array();
        return Err(format!("vertex {} is ({x}, {y}, {z}); all must be finite", i + 1));
    }
    let count = mesh.vertices.len();
    if mesh.triangles.iter().flatten().any(|&corner| corner as usize >= count) {
        return Err(format!("a triangle names a vertex beyond the {count} there are"));
    }
    Ok(())
}
