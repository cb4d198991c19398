//! Reader of MuJoCo's `.msh`: four counts (vertices, normals, texture coordinates, faces), then the
//! numbers, all of four bytes, little endian (MuJoCo's XML reference, asset/mesh/file).

use crate::{Fault, Mesh};
use quasistep_math::Vec3;

/// Size of the counts, in bytes.
const HEADER: usize = 16;

pub(crate) fn read(bytes: &[u8]) -> Result<Mesh, Fault> {
    let words: Vec<[u8; 4]> =
        bytes.chunks_exact(4).map(|word| [word[0], word[1], word[2], word[3]]).collect();
    let Some((&[vertices, normals, places, faces], _)) = words.split_first_chunk::<4>() else {
        return Err(Fault::whole(format!(
            "has {} bytes; a .msh file has {HEADER} and more",
            bytes.len()
        )));
    };
    let [n_vertices, n_normals, n_places, n_faces] =
        [vertices, normals, places, faces].map(|word| u64::from(u32::from_le_bytes(word)));
    // counts below 2³² cannot overflow this sum
    let promised = 4 * (4 + 3 * n_vertices + 3 * n_normals + 2 * n_places + 3 * n_faces);
    if promised != bytes.len() as u64 {
        return Err(Fault::byte(
            0,
            format!(
                "the counts promise {n_vertices} vertices and {n_faces} faces, {promised} bytes in all; there are {}",
                bytes.len()
            ),
        ));
    }
    let (points, rest) = words[4..].split_at(3 * n_vertices as usize);
    let corners = &rest[(3 * n_normals + 2 * n_places) as usize..];
    let number = |word: &[u8; 4]| f64::from(f32::from_le_bytes(*word));
    let mut mesh = Mesh {
        vertices: points
            .chunks_exact(3)
            .map(|p| Vec3::new(number(&p[0]), number(&p[1]), number(&p[2])))
            .collect(),
        ..Mesh::default()
    };
    for face in corners.chunks_exact(3) {
        mesh.push([face[0], face[1], face[2]].map(u32::from_le_bytes))?;
    }
    Ok(mesh)
}
