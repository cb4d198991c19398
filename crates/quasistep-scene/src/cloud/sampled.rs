//! `sample:` of a cloud: points spread over shapes or a mesh, instead of a file.

use super::gather::{FilePoints, MOST_POINTS};
use crate::document::At;
use crate::shapes::{pieces, read_mesh};
use quasistep_formats::SceneError;
use quasistep_geometry::{Samples, sample_surface, sample_triangles};
use std::path::Path;

/// Most points that a scene may sample: the limit for files.
const MOST: u64 = MOST_POINTS as u64;

/// Reads `sample: {points: n, shapes: [...]}` or `sample: {points: n, mesh: {file, scale}}`.
pub(super) fn read(at: &At<'_>, dir: &Path) -> Result<FilePoints, SceneError> {
    let map = at.map(&["points", "shapes", "mesh"])?;
    let count = map.need("points")?.whole(1, MOST)? as usize;
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
