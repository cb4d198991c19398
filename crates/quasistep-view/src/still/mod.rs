//! Renders one frame as a PNG in software: no GPU, no browser, the same bytes on every machine.
//!
//! Uses a z-buffer with sunlight, a shadow map and sky light, and four samples per pixel.
//! Half-spaces are drawn as planes with a grid that fades with distance.
#![allow(non_snake_case)] // frames in monogram notation

mod draw;
mod mesh;
mod raster;

use crate::ViewError;
use crate::bounds::bounds;
use quasistep_math::Vec3;
use quasistep_record::{DrawnShape, Recording, ShapeRole};

/// Camera of a still; world frame, m, rad.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Position of the eye, in m.
    pub eye: Vec3,
    /// The point shown in the middle of the picture, in m.
    pub target: Vec3,
    /// Up direction of the picture; made orthogonal to the line of sight.
    pub up: Vec3,
    /// Full vertical angle of view, in rad, > 0 and < π.
    pub fov_y: f64,
}

impl Camera {
    /// A camera that looks along `direction` at the moving bodies of a recording, from the distance
    /// at which all are visible. `aspect` is width over height. z is up, or y if looking along z.
    pub fn fit(recording: &Recording, direction: Vec3, aspect: f64) -> Self {
        let bounds = bounds(recording);
        let forward = direction.try_normalize().unwrap_or(Vec3::new(-0.5, 0.7, -0.45));
        let up = if forward.x.hypot(forward.y) < 1e-6 { Vec3::Y } else { Vec3::Z };
        let fov_y = 0.6_f64;
        let right = forward.cross(up).try_normalize().unwrap_or(Vec3::X);
        // leave 5 % of the picture free at each side
        let tangent = 0.9 * (0.5 * fov_y).tan();
        let axes = [right, right.cross(forward), forward];
        let distance = bounds.distance(axes, [tangent * aspect.max(1e-3), tangent]);
        Self { eye: bounds.center - forward * distance, target: bounds.center, up, fov_y }
    }

    /// A camera from the front, right and above, as the page's initial view.
    pub fn isometric(recording: &Recording, aspect: f64) -> Self {
        Self::fit(recording, Vec3::new(-0.55, 0.75, -0.42), aspect)
    }
}

/// Options of a still.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StillOptions {
    /// Draw contact points and force arrows.
    pub contacts: bool,
    /// Length of force arrows, in m/N; with `None` the largest force of the run is a quarter of the
    /// scene's radius long.
    pub force_scale: Option<f64>,
    /// Draw collision shapes instead of visual shapes.
    pub collision: bool,
}

impl Default for StillOptions {
    fn default() -> Self {
        Self { contacts: true, force_scale: None, collision: false }
    }
}

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
    let pixels = pixels(recording, frame, camera, [width, height], options)?;
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
            let picture = pixels(recording, frame, camera, [width, height], options)?;
            for (y, line) in picture.chunks_exact(3 * w).enumerate() {
                let at = (row * (h + GAP) + y) * full_w + column * (w + GAP);
                all[3 * at..][..3 * w].copy_from_slice(line);
            }
        }
    }
    encode(&all, whole[0], whole[1]).map_err(|e| ViewError::Png(e.to_string()))
}

fn pixels(
    recording: &Recording,
    frame: usize,
    camera: &Camera,
    [width, height]: [u32; 2],
    options: &StillOptions,
) -> Result<Vec<u8>, ViewError> {
    if !(1..=8192).contains(&width) || !(1..=8192).contains(&height) {
        return Err(ViewError::Size { width, height });
    }
    if frame >= recording.frames.len() {
        return Err(ViewError::Frame { got: frame, n_frames: recording.frames.len() });
    }
    recording.check().map_err(ViewError::Recording)?;
    Ok(draw::picture(recording, frame, camera, [width as usize, height as usize], options))
}

/// True if a shape is drawn. With `collision`, collision shapes are drawn instead of visual ones.
/// Bodies without visual shapes always show collision shapes.
fn is_drawn(r: &Recording, shape: &DrawnShape, collision: bool) -> bool {
    match shape.role {
        ShapeRole::Both => true,
        ShapeRole::Visual => !collision,
        ShapeRole::Collision => {
            let looks = |s: &DrawnShape| s.body == shape.body && s.role != ShapeRole::Collision;
            collision || !r.shapes.iter().any(looks)
        }
    }
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
