//! `<hfield>`: height fields, normalised and placed as MuJoCo does.

use super::read::Read;
use crate::error::SceneError;
use crate::height_map;
use quasistep_geometry::HeightField;
use quasistep_mesh::HeightMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads a `<hfield>`; returns its name and the field. `find` returns the path of a file.
pub(super) fn read(
    at: &Read<'_>,
    find: impl Fn(&str) -> Result<PathBuf, SceneError>,
) -> Result<(String, Arc<HeightField>), SceneError> {
    let file = at.own.attribute("file").map(str::trim).filter(|file| !file.is_empty());
    let map = match file {
        Some(file) => of_file(&find(file)?).map_err(|why| at.error(why))?,
        None => inline(at)?,
    };
    let name = match (at.own.attribute("name").filter(|name| !name.is_empty()), file) {
        (Some(name), _) => name.to_owned(),
        (None, Some(file)) => {
            let last = file.rsplit(['/', '\\']).next().unwrap_or(file);
            last.rsplit_once('.').map_or(last, |(stem, _)| stem).to_owned()
        }
        (None, None) => return Err(at.error("a height field without name and file was seen")),
    };
    let size =
        at.numbers::<4>("size")?.ok_or_else(|| at.error("size is missing; give 4 numbers"))?;
    if let Some(s) = size.iter().find(|s| !(**s > 0.0)) {
        return Err(at.error(format!("size {s} was seen; each of 4 sizes must be > 0 m")));
    }
    // the lowest height is 0 and the highest 1, whatever the file says
    let least = map.heights.iter().copied().fold(f64::INFINITY, f64::min);
    let most = map.heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let share = if most > least { 1.0 / (most - least) } else { 0.0 };
    let heights = map.heights.iter().map(|z| (z - least) * share).collect();
    let [x, y, z, base] = size;
    let map = HeightMap { heights, ..map };
    let field = height_map::field(map, [2.0 * x, 2.0 * y], z, base);
    Ok((name, Arc::new(field.map_err(|why| at.error(why))?)))
}

/// `nrow`, `ncol` and `elevation`, whose first row is at the largest y.
fn inline(at: &Read<'_>) -> Result<HeightMap, SceneError> {
    let count = |name: &str| match at.whole(name)? {
        Some(n @ 2..=0xffff) => Ok(n as usize),
        seen => Err(at.error(format!(
            "{name} is {}; without a file it must be a whole number from 2 to 65535",
            seen.map_or("missing".to_owned(), |n| n.to_string())
        ))),
    };
    let n = [count("ncol")?, count("nrow")?];
    let rows = at.all_numbers("elevation")?.unwrap_or_else(|| vec![0.0; n[0] * n[1]]);
    if rows.len() != n[0] * n[1] {
        return Err(at.error(format!(
            "elevation has {} numbers; nrow times ncol are {}",
            rows.len(),
            n[0] * n[1]
        )));
    }
    let heights = rows.chunks_exact(n[0]).rev().flatten().copied().collect();
    Ok(HeightMap { n, heights })
}

/// A PNG image, or MuJoCo's own format: numbers of rows and columns as whole numbers of 32 bits, then
/// the heights as numbers of 32 bits, the row at the smallest y first.
fn of_file(path: &Path) -> Result<HeightMap, String> {
    let bytes = height_map::bytes(path)?;
    if bytes.starts_with(b"\x89PNG") {
        return HeightMap::from_png(&bytes).map_err(|why| format!("{} {why}", path.display()));
    }
    let word = |k: usize| bytes.get(4 * k..4 * k + 4).and_then(|b| <[u8; 4]>::try_from(b).ok());
    let sizes = [word(0), word(1)].map(|b| b.map_or(0, i32::from_le_bytes));
    let n = [sizes[1], sizes[0]].map(|n| usize::try_from(n).unwrap_or(0));
    let count = n[0].saturating_mul(n[1]);
    if count == 0 || bytes.len() != count.saturating_mul(4).saturating_add(8) {
        return Err(format!(
            "{} is no PNG picture, and no table of heights: it has {} bytes and says {} rows and {} columns",
            path.display(),
            bytes.len(),
            sizes[0],
            sizes[1]
        ));
    }
    let height = |k: usize| word(k + 2).map_or(f64::NAN, |b| f64::from(f32::from_le_bytes(b)));
    Ok(HeightMap { n, heights: (0..count).map(height).collect() })
}
