//! A run as a moving picture, drawn in software.

use super::{Camera, StillOptions, pixels};
use crate::ViewError;
use color_quant::NeuQuant;
use gif::{DisposalMethod, Encoder, Frame, Repeat};
use quasistep_record::{Recording, write_whole};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

/// Time that a picture is shown, in hundredths of a second.
const DELAY: u16 = 8;
/// Most pictures: 30 s.
const MOST_PICTURES: usize = 375;
/// Pictures from which the colours are chosen.
const SAMPLES: usize = 6;
/// Index of the colour that leaves a pixel as it was.
const SAME: u8 = 255;

/// What [`write_gif`] wrote.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Video {
    /// Number of pictures.
    pub n_pictures: usize,
    /// Simulated time over the time that it is shown for; above 1 for runs of more than 30 s.
    pub speed: f64,
}

/// Writes a run as a GIF that repeats, in `size` px: 12.5 pictures a second, in real time if it
/// lasts up to 30 s, and faster otherwise.
///
/// # Errors
///
/// As for [`still`](super::still()), and [`ViewError::Io`] if the file cannot be written.
pub fn write_gif(
    recording: &Recording,
    camera: &Camera,
    size: [u32; 2],
    options: &StillOptions,
    path: &Path,
) -> Result<Video, ViewError> {
    let Some(last) = recording.frames.len().checked_sub(1) else {
        return Err(ViewError::Frame { got: 0, n_frames: 0 });
    };
    let [width, height] = size.map(|side| u16::try_from(side).unwrap_or(u16::MAX));
    let (begin, end) = (recording.frames[0].t, recording.frames[last].t);
    let apart = f64::from(DELAY) / 100.0;
    let speed = ((end - begin) / (apart * MOST_PICTURES as f64)).max(1.0);
    let n_pictures = ((end - begin) / (apart * speed)).ceil() as usize + 1;
    // the last frame at or before a time; a little later, so that rounding skips none
    let frame_at =
        |t: f64| recording.frames.partition_point(|f| f.t <= t + 1e-9 * apart).saturating_sub(1);
    let frames: Vec<usize> =
        (0..n_pictures).map(|k| frame_at(begin + k as f64 * apart * speed)).collect();
    let draw = |frame: usize| pixels(recording, frame, camera, size, options);
    let mut samples = Vec::new();
    for k in 0..SAMPLES.min(n_pictures) {
        let rgb = draw(frames[k * (n_pictures - 1) / (SAMPLES - 1).max(1)])?;
        samples.extend(rgb.chunks_exact(3).flat_map(|c| [c[0], c[1], c[2], 255]));
    }
    let mut colors = Colors::new(&samples);
    write_whole(path, |out| {
        let mut encoder =
            Encoder::new(out, width, height, &colors.palette).map_err(std::io::Error::other)?;
        encoder.set_repeat(Repeat::Infinite).map_err(std::io::Error::other)?;
        let mut shown: Vec<u8> = Vec::new();
        let mut drawn = None;
        for frame in &frames {
            let mut indices = match drawn {
                Some(before) if before == *frame => shown.clone(),
                _ => colors.indices(&draw(*frame).map_err(std::io::Error::other)?),
            };
            drawn = Some(*frame);
            let next = indices.clone();
            for (index, before) in indices.iter_mut().zip(&shown) {
                if *index == *before {
                    *index = SAME;
                }
            }
            shown = next;
            let picture = Frame {
                delay: DELAY,
                dispose: DisposalMethod::Keep,
                transparent: Some(SAME),
                width,
                height,
                buffer: Cow::Owned(indices),
                ..Frame::default()
            };
            encoder.write_frame(&picture).map_err(std::io::Error::other)?;
        }
        Ok(())
    })
    .map_err(|e| ViewError::io(path, e))?;
    Ok(Video { n_pictures, speed })
}

/// The colours of all pictures.
struct Colors {
    chosen: NeuQuant,
    palette: Vec<u8>,
    known: BTreeMap<[u8; 3], u8>,
}

impl Colors {
    fn new(rgba: &[u8]) -> Self {
        let chosen = NeuQuant::new(10, usize::from(SAME), rgba);
        let mut palette = chosen.color_map_rgb();
        palette.extend([0; 3]);
        Self { chosen, palette, known: BTreeMap::new() }
    }

    fn indices(&mut self, rgb: &[u8]) -> Vec<u8> {
        rgb.chunks_exact(3)
            .map(|c| {
                let color = [c[0], c[1], c[2]];
                let find = || self.chosen.index_of(&[c[0], c[1], c[2], 255]) as u8;
                *self.known.entry(color).or_insert_with(find)
            })
            .collect()
    }
}
