//! `view.html`: the recording and the viewer's program in one file.
#![allow(non_snake_case)] // frames in monogram notation

use crate::ViewError;
use crate::bounds::{bounds, moving};
use crate::drawn::{Drawn, pose};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quasistep_math::{Pose, Vec3};
use quasistep_record::{
    Contact, Digits, Finish, ForceUniqueness, Frame, MotionUniqueness, Packer, Recording, compress,
    write_whole,
};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;

/// The viewer's program, three.js with its licence in it; empty if it could not be built.
const BUNDLE: &str = include_str!(concat!(env!("OUT_DIR"), "/viewer.js"));
/// Its SHA-256, in base64.
const HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/viewer-hash.txt"));
/// Why it could not be built.
const PROBLEM: &str = include_str!(concat!(env!("OUT_DIR"), "/viewer-problem.txt"));

/// What a page may do: run its own program, whose hash follows, and draw the textures in it. It fetches nothing, and a name
/// that got past the escapes would run nothing.
const POLICY: &str = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none';";

/// Whether this build has the viewer's program in it.
pub fn has_page() -> bool {
    !BUNDLE.is_empty()
}

/// Most bytes of a page: more takes a browser seconds to open, and mail does not carry it.
pub const MOST_BYTES: usize = 20_000_000;
/// Most bytes of what is drawn, of the [`MOST_BYTES`]: the rest is for what moves.
const MOST_BYTES_DRAWN: usize = 10_000_000;
/// Frames of the sample that tells how many bytes a frame takes.
const SAMPLED_FRAMES: usize = 100;

/// A page that replays a recording.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its text.
    pub html: String,
    /// What of the recording is not in it, so that it stays within [`MOST_BYTES`]; empty if all is.
    pub left_out: Vec<String>,
}

/// Writes a page that replays the recording: one file, opens from disk, needs no network. Returns what was left out
/// of it.
///
/// # Errors
///
/// [`ViewError::NoBundle`] if this build has no viewer, [`ViewError::Recording`] if the recording
/// is inconsistent, [`ViewError::Io`] if the file cannot be written.
pub fn write_page(recording: &Recording, path: &Path) -> Result<Vec<String>, ViewError> {
    let page = page(recording)?;
    write_whole(path, |out| out.write_all(page.html.as_bytes()))
        .map_err(|e| ViewError::io(path, e))?;
    Ok(page.left_out)
}

/// The page that [`write_page`] writes.
///
/// # Errors
///
/// As [`write_page`], without the file.
pub fn page(recording: &Recording) -> Result<Page, ViewError> {
    if !has_page() {
        return Err(ViewError::NoBundle(PROBLEM));
    }
    recording.check().map_err(ViewError::Recording)?;
    let drawn = Drawn::within(recording, MOST_BYTES_DRAWN);
    let room = MOST_BYTES.saturating_sub(BUNDLE.len() + drawn.bytes);
    let (frames, every) = frames_within(recording, room)?;
    let mut left_out = drawn.left_out.clone();
    if every > 1 {
        left_out.push(format!("the page shows every {} step", ordinal(every)));
    }
    let data = data(recording, &drawn, &frames, &left_out.join("; "));
    let title = if recording.title.is_empty() { &recording.scene } else { &recording.title };
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY} script-src 'sha256-{HASH}'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n</head>\n<body>\n\
         <noscript>This page replays a simulation and needs JavaScript.</noscript>\n\
         <script type=\"application/json\" id=\"recording\">{}</script>\n\
         <script type=\"module\">{}</script>\n</body>\n</html>\n",
        escape_html(title),
        escape_json(&data.to_string()),
        BUNDLE
    );
    Ok(Page { html, left_out })
}

/// All of the recording that the page needs: names as JSON, numbers as base64.
fn data(r: &Recording, drawn: &Drawn, frames: &Value, thinned: &str) -> Value {
    let fit = bounds(r);
    let still = |b: usize| r.frames.first().map_or(Pose::IDENTITY, |f| f.X_WB[b]);
    let start: Vec<[f64; 7]> = (0..r.bodies.len()).map(|b| pose(&still(b))).collect();
    let finish = match &r.finish {
        Finish::Done => Value::Null,
        Finish::Stopped { reason } => json!(reason),
    };
    json!({
        "scene": r.scene, "title": r.title, "time_step": r.time_step, "stopped": finish,
        "thinned": thinned,
        "bodies": r.bodies, "coordinates": r.coordinates, "commands": r.commands,
        "fit": {
            "center": fit.center.to_array(), "half": fit.half.to_array(), "radius": fit.radius,
        },
        "shapes": drawn.shapes, "pool": drawn.pool.list,
        "moving": moving_bodies(r), "start": start, "frames": frames,
    })
}

/// Bodies whose poses stand in every frame; the others stand still.
fn moving_bodies(r: &Recording) -> Vec<usize> {
    let moves = moving(r);
    (0..r.bodies.len()).filter(|&b| moves[b]).collect()
}

/// As many frames as `room` bytes hold, evenly spread, and one out of how many they are.
fn frames_within(r: &Recording, room: usize) -> Result<(Value, usize), ViewError> {
    let mut every = r.frames.len().div_ceil(SAMPLED_FRAMES).max(1);
    let size = |frames: &Value| frames.to_string().len();
    let sample = frames(r, every)?;
    if every == 1 && size(&sample) <= room {
        return Ok((sample, 1));
    }
    // the sample's size is that of one out of `every` frames
    every = (every * size(&sample)).div_ceil(room.max(1)).clamp(1, r.frames.len().max(1));
    loop {
        let kept = frames(r, every)?;
        if size(&kept) <= room || every >= r.frames.len() {
            return Ok((kept, every));
        }
        every += every.div_ceil(10);
    }
}

/// Every n-th frame as columns, each compressed: what the page's program reads in `Run.read`.
fn frames(r: &Recording, every: usize) -> Result<Value, ViewError> {
    let moving = moving_bodies(r);
    // names of quaternions keep their sign from frame to frame
    let q = r.continuous_q();
    let kept: Vec<usize> = r.every(every).collect();
    let frames = || kept.iter().map(|&k| &r.frames[k]);
    let contacts = || frames().flat_map(|f| &f.contacts);
    let mut out = serde_json::Map::new();
    let mut column = |name: &str, fill: &dyn Fn(&mut Packer)| {
        let mut packer = Packer::default();
        fill(&mut packer);
        let packed = compress(&packer.into_bytes())?;
        out.insert(name.into(), STANDARD.encode(packed).into());
        Ok::<_, std::io::Error>(())
    };
    let single = Digits::Single;
    let poses = || frames().flat_map(|f| moving.iter().flat_map(|&b| pose(&f.X_WB[b])));
    let mut all = || {
        column("t", &|c| c.doubles(frames().map(|f| f.t)))?;
        column("q", &|c| c.doubles(kept.iter().flat_map(|&k| q[k].iter().copied())))?;
        column("qCmd", &|c| c.doubles(frames().flat_map(|f| f.q_cmd.iter().copied())))?;
        column("effort", &|c| c.doubles(frames().flat_map(|f| f.effort.iter().copied())))?;
        column("poses", &|c| c.reals(single, poses()))?;
        column("nContacts", &|c| c.words(frames().map(|f| f.contacts.len())))?;
        column("a", &|c| c.words(contacts().map(|c| c.a)))?;
        column("b", &|c| c.words(contacts().map(|c| c.b)))?;
        column("mode", &|c| c.words(contacts().map(|c| c.mode as usize)))?;
        let mut vectors = |name: &str, of: fn(&Contact) -> Vec3| {
            column(name, &|c| c.reals(single, contacts().flat_map(|c| of(c).to_array())))
        };
        vectors("p", |c| c.p_W)?;
        vectors("n", |c| c.n_AB_W)?;
        vectors("force", |c| c.force_W)?;
        let mut numbers = |name: &str, of: fn(&Contact) -> f64| {
            column(name, &|c| c.reals(single, contacts().map(of)))
        };
        numbers("phi", |c| c.phi)?;
        numbers("phiNext", |c| c.phi_next)?;
        numbers("normalForce", |c| c.normal_force)?;
        numbers("spin", |c| c.spin)?;
        numbers("mu", |c| c.mu)?;
        Ok::<_, std::io::Error>(())
    };
    all().map_err(|e| ViewError::Recording(e.to_string()))?;
    out.insert("nFrames".into(), kept.len().into());
    out.insert("uniqueness".into(), uniqueness(frames()));
    Ok(out.into())
}

fn ordinal(n: usize) -> String {
    let suffix = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{suffix}")
}

/// What the steps say of uniqueness, each answer once and its number for every frame; null if none says anything.
fn uniqueness<'a>(frames: impl Iterator<Item = &'a Frame>) -> Value {
    let mut answers = Vec::new();
    let mut said = Vec::new();
    let steps: Vec<Option<usize>> = frames
        .map(|frame| {
            let answer = frame.uniqueness.as_ref()?;
            if said.last() != Some(&answer) {
                said.push(answer);
                let contacts = match &answer.forces {
                    ForceUniqueness::Shared { contacts, .. } => contacts.as_slice(),
                    _ => &[],
                };
                answers.push(json!({
                    "text": answer.text,
                    "only": answer.motion == MotionUniqueness::Unique
                        && answer.forces == ForceUniqueness::Unique,
                    "shared": contacts.iter().map(|c| c.contact).collect::<Vec<_>>(),
                    "normal_is_unique": contacts.iter().map(|c| c.normal_is_unique).collect::<Vec<_>>(),
                }));
            }
            Some(said.len() - 1)
        })
        .collect();
    if answers.is_empty() { Value::Null } else { json!({ "answers": answers, "steps": steps }) }
}

/// JSON inside a script element: no name can close the element or open a comment.
fn escape_json(json: &str) -> String {
    json.replace('<', "\\u003c")
}

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_script_element() {
        assert_eq!(
            escape_json("{\"a\":\"</script><!--\"}"),
            "{\"a\":\"\\u003c/script>\\u003c!--\"}"
        );
    }
}
