//! Triangle meshes from OBJ and STL files.

use crate::error::SceneError;
use quasistep_math::Vec3;
use std::path::Path;

/// Triangles of a file, in the file's units.
#[derive(Clone, Debug)]
pub(crate) struct Mesh {
    pub vertices: Vec<Vec3>,
    pub triangles: Vec<[u32; 3]>,
}

/// Reads `.obj` or `.stl`.
pub(crate) fn read(path: &Path) -> Result<Mesh, SceneError> {
    let name = path.display().to_string();
    let fail = |message: String| Err(SceneError::new(&name, None, "", message));
    if !path.is_file() {
        return fail("the mesh file does not exist".into());
    }
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    let mesh = match ending.as_str() {
        "obj" => obj(path),
        "stl" => stl(path),
        other => {
            return fail(format!(
                "the ending `.{other}` was seen; meshes are read from .obj and .stl"
            ));
        }
    };
    let mesh = match mesh {
        Ok(mesh) => mesh,
        Err(why) => return fail(format!("not readable as .{ending}: {why}")),
    };
    if mesh.vertices.is_empty() || mesh.triangles.is_empty() {
        return fail("the mesh is empty; it must have triangles".into());
    }
    if let Some(k) = mesh.vertices.iter().position(|v| !v.is_finite()) {
        return fail(format!(
            "vertex {k} is {:?}; every coordinate must be finite",
            mesh.vertices[k]
        ));
    }
    Ok(mesh)
}

fn obj(path: &Path) -> Result<Mesh, String> {
    let options = tobj::LoadOptions { triangulate: true, ..Default::default() };
    let (models, _) = tobj::load_obj(path, &options).map_err(|e| e.to_string())?;
    let mut mesh = Mesh { vertices: Vec::new(), triangles: Vec::new() };
    for model in models {
        let base = mesh.vertices.len() as u32;
        mesh.vertices
            .extend(model.mesh.positions.chunks_exact(3).map(|p| vec3([p[0], p[1], p[2]])));
        mesh.triangles.extend(
            model.mesh.indices.chunks_exact(3).map(|t| [t[0] + base, t[1] + base, t[2] + base]),
        );
    }
    Ok(mesh)
}

fn stl(path: &Path) -> Result<Mesh, String> {
    let mut file = std::fs::File::open(path).map_err(|e| e.to_string())?;
    let stl = stl_io::read_stl(&mut file).map_err(|e| e.to_string())?;
    let vertices = stl.vertices.iter().map(|v| vec3([v[0], v[1], v[2]])).collect();
    let triangles = stl.faces.iter().map(|f| f.vertices.map(|i| i as u32)).collect();
    Ok(Mesh { vertices, triangles })
}

fn vec3(p: [f32; 3]) -> Vec3 {
    Vec3::new(f64::from(p[0]), f64::from(p[1]), f64::from(p[2]))
}
