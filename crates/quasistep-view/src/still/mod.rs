//! Renders one frame as a PNG in software: no GPU, no browser, the same bytes on every machine.
//!
//! Uses a z-buffer with sunlight, a shadow map and sky light, and four samples per pixel.
//! Half-spaces are drawn as planes with a grid that fades with distance.
#![allow(non_snake_case)] // frames in monogram notation

mod draw;
mod mesh;
mod options;
mod raster;
mod video;

use crate::ViewError;
use draw::check_size;
pub use options::{Camera, StillOptions};
use quasistep_record::Recording;
pub use video::{Video, write_gif};

/// Renders frame `frame` of a recording; returns the bytes of a PNG.
///
/// Contact points are measured at the start of a step and drawn where their body has carried them
/// at its end.
///
/// # Errors
///
/// [`ViewError::Frame`], [`ViewError::Size`], or [`ViewError::Recording`] if the recording is
/// inconsistent.
pub fn still(
    recording: &Recording,
    frame: usize,
    camera: &Camera,
    width: u32,
    height: u32,
    options: &StillOptions,
) -> Result<Vec<u8>, ViewError> {
    let pixels = still_pixels(recording, frame, camera, [width, height], options)?;
    encode(&pixels, width, height).map_err(|e| ViewError::Png(e.to_string()))
}

/// Gap between the pictures of a strip, in px.
const GAP: usize = 4;

/// Renders strips of frames, one recording below the other, each picture `width` × `height` px;
/// returns the bytes of a PNG. Shorter strips are filled with white.
///
/// # Errors
///
/// As for [`still`]; [`ViewError::Size`] also if there is no picture, or if the total size is too
/// large.
pub fn strips(
    rows: &[(&Recording, &[usize])],
    camera: &Camera,
    width: u32,
    height: u32,
    options: &StillOptions,
) -> Result<Vec<u8>, ViewError> {
    let (w, h) = (width as usize, height as usize);
    let columns = rows.iter().map(|(_, frames)| frames.len()).max().unwrap_or(0);
    let [full_w, full_h] = [(columns, w), (rows.len(), h)]
        .map(|(count, size)| (count * (size + GAP)).saturating_sub(GAP));
    let whole = [full_w, full_h].map(|size| u32::try_from(size).unwrap_or(u32::MAX));
    if whole.iter().any(|size| !(1..=8192).contains(size)) {
        return Err(ViewError::Size { width: whole[0], height: whole[1] });
    }
    let mut all = vec![255; 3 * full_w * full_h];
    for (row, (recording, frames)) in rows.iter().enumerate() {
        for (column, &frame) in frames.iter().enumerate() {
            let picture = still_pixels(recording, frame, camera, [width, height], options)?;
            for (y, line) in picture.chunks_exact(3 * w).enumerate() {
                let at = (row * (h + GAP) + y) * full_w + column * (w + GAP);
                all[3 * at..][..3 * w].copy_from_slice(line);
            }
        }
    }
    encode(&all, whole[0], whole[1]).map_err(|e| ViewError::Png(e.to_string()))
}

/// Renders frame `frame` of a recording; returns its pixels, red, green and blue, row by row from the
/// top.
///
/// # Errors
///
/// As for [`still`].
pub fn still_pixels(
    recording: &Recording,
    frame: usize,
    camera: &Camera,
    [width, height]: [u32; 2],
    options: &StillOptions,
) -> Result<Vec<u8>, ViewError> {
    check_size([width, height])?;
    if frame >= recording.frames.len() {
        return Err(ViewError::Frame { got: frame, n_frames: recording.frames.len() });
    }
    recording.check().map_err(ViewError::Recording)?;
    let whole = draw::Whole::new(recording, options);
    Ok(draw::picture(&whole, frame, camera, [width as usize, height as usize]))
}

fn encode(rgb: &[u8], width: u32, height: u32) -> Result<Vec<u8>, png::EncodingError> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(rgb)?;
    writer.finish()?;
    Ok(out)
}
