//! Reader of `.stl`, text or binary.

use crate::{Fault, Mesh};
use quasistep_math::Vec3;
use std::io::Cursor;

/// Bytes before the triangles of a binary file.
const HEADER: usize = 84;
const TRIANGLE: u64 = 50;

pub(crate) fn read(bytes: &[u8]) -> Result<Mesh, Fault> {
    let mut bytes = bytes.to_vec();
    // Some binary files begin with `solid`, the first word of a text file. So the length decides: a
    // binary file has 84 + 50 bytes per triangle.
    if let Some(&[a, b, c, d]) = bytes.get(HEADER - 4..HEADER) {
        let count = u64::from(u32::from_le_bytes([a, b, c, d]));
        let promised = HEADER as u64 + TRIANGLE * count;
        if bytes.len() as u64 == promised {
            bytes[..80].fill(0);
        } else if !bytes.starts_with(b"solid") && (bytes.len() as u64) < promised {
            return Err(Fault::byte(
                80,
                format!(
                    "the header promises {count} triangles, {promised} bytes in all; there are {}",
                    bytes.len()
                ),
            ));
        }
    }
    let stl = stl_io::read_stl(&mut Cursor::new(bytes))
        .map_err(|error| Fault::whole(format!("not an .stl file: {error}")))?;
    let mut mesh = Mesh {
        vertices: stl.vertices.iter().map(|v| Vec3::from(v.0.map(f64::from))).collect(),
        ..Mesh::default()
    };
    for face in &stl.faces {
        mesh.push(face.vertices.map(|corner| corner as u32))?;
    }
    Ok(mesh)
}
