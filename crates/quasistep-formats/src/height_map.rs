//! Height fields from files.

use crate::files;
use quasistep_geometry::HeightField;
pub use quasistep_mesh::HeightMap;
use std::path::Path;
use std::sync::Arc;

/// Reads a height map from a PNG image.
///
/// # Errors
///
/// A message that names the file, which is missing or no grey PNG image.
pub fn read(path: &Path) -> Result<HeightMap, String> {
    let bytes = bytes(path)?;
    HeightMap::from_png(&bytes).map_err(|why| format!("{} {why}", path.display()))
}

/// The bytes of a file.
pub(crate) fn bytes(path: &Path) -> Result<Arc<[u8]>, String> {
    files::read(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => files::no_file(path),
        _ => format!("{}: {e}", path.display()),
    })
}

/// A height field of a map whose white is `height` (m) above its black. `size` is its extent along x
/// and y, and `base` the thickness of the ground below its lowest point, in m.
///
/// # Errors
///
/// See [`HeightField::new`].
pub fn field(
    map: HeightMap,
    size: [f64; 2],
    height: f64,
    base: f64,
) -> Result<HeightField, String> {
    let heights = map.heights.into_iter().map(|z| z * height).collect();
    HeightField::new(map.n, size, heights, base).map_err(|e| e.to_string())
}
