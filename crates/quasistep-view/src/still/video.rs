//! A run as a moving picture, drawn in software.

use super::draw::{Whole, check_size, picture};
use super::options::{Camera, StillOptions};
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

impl Video {
    /// Size of a picture if nothing else is asked for, in px.
    pub const SIZE: [u32; 2] = [640, 420];

    /// Checks the name of a file.
    ///
    /// # Errors
    ///
    /// [`ViewError::VideoName`] if it does not end in `.gif`.
    pub fn check_name(file: &Path) -> Result<(), ViewError> {
        if file.extension().is_some_and(|end| end.eq_ignore_ascii_case("gif")) {
            return Ok(());
        }
        Err(ViewError::VideoName { file: file.to_owned() })
    }
}

/// Writes a run as a GIF that repeats, in `size` px: 12.5 pictures a second, in real time if it
/// lasts up to 30 s, and faster otherwise.
///
/// # Errors
///
/// As for [`still`](super::still()) and [`Video::check_name`], and [`ViewError::Io`] if the file cannot be written.
pub fn write_gif(
    recording: &Recording,
    camera: &Camera,
    size: [u32; 2],
    options: &StillOptions,
    path: &Path,
) -> Result<Video, ViewError> {
    Video::check_name(path)?;
    let Some(last) = recording.frames.len().checked_sub(1) else {
        return Err(ViewError::Frame { got: 0, n_frames: 0 });
    };
    check_size(size)?;
    recording.check().map_err(ViewError::Recording)?;
    let [width, height] = size.map(|side| side as u16);
    let (begin, end) = (recording.frames[0].t, recording.frames[last].t);
    let apart = f64::from(DELAY) / 100.0;
    let speed = ((end - begin) / (apart * MOST_PICTURES as f64)).max(1.0);
    let n_pictures = ((end - begin) / (apart * speed) - 1e-9).ceil() as usize + 1;
    // the last frame at or before a time; a little later, so that rounding skips none
    let frame_at = |k: usize| {
        let t = begin + (k as f64 + 1e-6) * apart * speed;
        recording.frames.partition_point(|f| f.t <= t).saturating_sub(1)
    };
    let frames: Vec<usize> = (0..n_pictures).map(frame_at).collect();
    let whole = Whole::new(recording, options);
    let draw = |frame: usize| picture(&whole, frame, camera, size.map(|side| side as usize));
    let mut samples = Vec::new();
    for k in 0..SAMPLES.min(n_pictures) {
        let rgb = draw(frames[k * (n_pictures - 1) / (SAMPLES - 1)]);
        samples.extend(rgb.chunks_exact(3).flat_map(|c| [c[0], c[1], c[2], 255]));
    }
    let mut colors = Colors::new(&samples);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    write_whole(path, |out| {
        let failed = std::io::Error::other;
        let mut encoder = Encoder::new(out, width, height, &colors.palette).map_err(failed)?;
        encoder.set_repeat(Repeat::Infinite).map_err(failed)?;
        let mut shown: Vec<u8> = Vec::new();
        for part in frames.chunks(threads) {
            let drawn = std::thread::scope(|scope| {
                let started: Vec<_> =
                    part.iter().map(|frame| scope.spawn(|| draw(*frame))).collect();
                let ended = started.into_iter().map(|one| one.join().expect("a picture is drawn"));
                ended.collect::<Vec<_>>()
            });
            for rgb in drawn {
                let all = colors.indices(&rgb);
                let is_same = |k: usize| shown.get(k) == Some(&all[k]);
                let changed = (0..all.len()).map(|k| if is_same(k) { SAME } else { all[k] });
                let one = Frame {
                    delay: DELAY,
                    dispose: DisposalMethod::Keep,
                    transparent: Some(SAME),
                    width,
                    height,
                    buffer: Cow::Owned(changed.collect()),
                    ..Frame::default()
                };
                encoder.write_frame(&one).map_err(failed)?;
                shown = all;
            }
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
