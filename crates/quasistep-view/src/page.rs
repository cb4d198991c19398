//! Writes `view.html`: the recording and the viewer program in one file.
#![allow(non_snake_case)] // frames in monogram notation

use crate::ViewError;
use crate::bounds::{Bounds, bounds, moving};
use crate::drawn::{Drawn, pose};
use crate::first_view::first_view;
use crate::receiver::{Receivers, roles};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quasistep_math::{Pose, Vec3};
use quasistep_record::{
    Contact, Curve, Digits, Finish, ForceUniqueness, Frame, GoalPose, Mode, MotionUniqueness,
    NamedFrame, Packer, Recording, compress, write_whole,
};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;

/// The viewer program, including three.js with its licence; empty if it could not be built.
const BUNDLE: &str = include_str!(concat!(env!("OUT_DIR"), "/viewer.js"));
/// SHA-256 hash of the viewer program, in base64.
const HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/viewer-hash.txt"));
/// Reason why the viewer program could not be built.
const PROBLEM: &str = include_str!(concat!(env!("OUT_DIR"), "/viewer-problem.txt"));

/// Content security policy of a page: it may run its own program, whose hash is appended, and show
/// embedded textures. It may not load anything else, so injected code would not run.
const POLICY: &str = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none';";

/// True if this build contains the viewer program.
pub fn has_page() -> bool {
    !BUNDLE.is_empty()
}

/// Largest page, in bytes. Larger ones take seconds to open in a browser and cannot be sent by
/// mail.
pub const MOST_BYTES: usize = 20_000_000;
/// Largest part of [`MOST_BYTES`] for drawn shapes; the rest is for frames.
const MOST_BYTES_DRAWN: usize = 10_000_000;
/// Largest size of the drawn shapes of a page that nobody sends by mail.
const MOST_BYTES_LIVE: usize = 100_000_000;
/// Number of frames from which the size of a frame is estimated.
const SAMPLED_FRAMES: usize = 100;

/// A page that replays a recording.
#[derive(Clone, Debug)]
pub struct Page {
    /// Text of the HTML page.
    pub html: String,
    /// Notes about what was left out to stay within [`MOST_BYTES`]; empty if everything is
    /// included.
    pub left_out: Vec<String>,
}

/// Writes a page that replays the recording: a single file that opens from disk without network.
/// Returns notes about what was left out.
///
/// # Errors
///
/// [`ViewError::NoBundle`] if this build has no viewer; [`ViewError::Recording`] if the recording
/// is inconsistent; [`ViewError::Io`] if the file cannot be written.
pub fn write_page(recording: &Recording, path: &Path) -> Result<Vec<String>, ViewError> {
    let page = page(recording)?;
    write_whole(path, |out| out.write_all(page.html.as_bytes()))
        .map_err(|e| ViewError::io(path, e))?;
    Ok(page.left_out)
}

/// Makes the page that [`write_page`] writes.
///
/// # Errors
///
/// As for [`write_page`], except file errors.
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
    let notes: Vec<String> = float_note(recording).into_iter().chain(left_out.clone()).collect();
    let data = data(recording, &drawn, &frames, &notes.join("; "));
    let html = html(recording, &data, &[]);
    Ok(Page { html, left_out })
}

/// The page of [`live_page`](crate::live_page).
pub(crate) fn live_page_with(
    head: &Recording,
    live: &Value,
    sockets: &[String],
) -> Result<String, ViewError> {
    if !has_page() {
        return Err(ViewError::NoBundle(PROBLEM));
    }
    head.check().map_err(ViewError::Recording)?;
    let drawn = Drawn::within(head, MOST_BYTES_LIVE);
    let moving: Vec<usize> = (0..head.bodies.len()).collect();
    let frames = frames(head, 1, &moving)?;
    let mut data = data(head, &drawn, &frames, &drawn.left_out.join("; "));
    data["moving"] = json!(moving);
    data["live"] = live.clone();
    Ok(html(head, &data, sockets))
}

/// The text of a page, which may connect to `sockets`.
fn html(recording: &Recording, data: &Value, sockets: &[String]) -> String {
    let title = if recording.title.is_empty() { &recording.scene } else { &recording.title };
    let connects = if sockets.is_empty() {
        String::new()
    } else {
        format!(" connect-src {};", sockets.join(" "))
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}{connects} script-src 'sha256-{HASH}'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n</head>\n<body>\n\
         <noscript>This page replays a simulation and needs JavaScript.</noscript>\n\
         <script type=\"application/json\" id=\"recording\">{}</script>\n\
         <script type=\"module\">{}</script>\n</body>\n</html>\n",
        escape_html(title),
        escape_json(&data.to_string()),
        BUNDLE
    )
}

/// The largest gap, in m, across which a sliding contact pushes, with its bodies and the end of its step, if it is more than
/// rounding. Convex friction lifts what slides by h mu v.
fn float_note(r: &Recording) -> Option<String> {
    /// Largest gap without a note, in m.
    const NO_GAP: f64 = 1e-6;
    let sliding = |c: &&Contact| c.mode == Mode::Slide && c.normal_force > 0.0;
    let (t, c) = r
        .frames
        .iter()
        .flat_map(|f| f.contacts.iter().filter(sliding).map(move |c| (f.t, c)))
        .filter(|(_, c)| c.phi_next > NO_GAP)
        .max_by(|(_, a), (_, b)| a.phi_next.total_cmp(&b.phi_next))?;
    let (a, b) = (&r.bodies[c.a], &r.bodies[c.b]);
    let gap = c.phi_next;
    Some(format!("contacts push across gaps of up to {gap:.1e} m: `{a}`, `{b}` at {t:.4} s"))
}

/// The data of the recording for the page: names as JSON, numbers as base64. `notes` are shown in the page's header.
fn data(r: &Recording, drawn: &Drawn, frames: &Value, notes: &str) -> Value {
    let fit = bounds(r);
    let first = first_view(r);
    let still = |b: usize| r.frames.first().map_or(Pose::IDENTITY, |f| f.X_WB[b]);
    let start: Vec<[f64; 7]> = (0..r.bodies.len()).map(|b| pose(&still(b))).collect();
    let finish = match &r.finish {
        Finish::Done => Value::Null,
        Finish::Stopped { reason } => json!(reason),
    };
    let mut data = json!({
        "scene": r.scene, "title": r.title, "time_step": r.time_step, "stopped": finish,
        "thinned": notes,
        "bodies": r.bodies, "coordinates": r.coordinates, "commands": r.commands,
        "fit": around(&fit), "first": around(&first.bounds),
        "direction": first.direction.to_array(),
        "roles": roles(r).iter().map(|role| *role as usize).collect::<Vec<_>>(),
        "onFirst": Receivers::new(r).on_first().collect::<Vec<_>>(), "units": r.units,
        "shapes": drawn.shapes, "pool": drawn.pool.list,
        "moving": moving_bodies(r), "start": start, "frames": frames,
    });
    if !r.named_frames.is_empty() {
        let of = |f: &NamedFrame| json!({ "name": f.name, "body": f.body, "pose": pose(&f.X_BF) });
        data["namedFrames"] = r.named_frames.iter().map(of).collect();
    }
    if !r.goals.is_empty() {
        let of = |goal: &GoalPose| json!({ "body": goal.body, "pose": pose(&goal.X_WB) });
        data["goals"] = r.goals.iter().map(of).collect();
    }
    if !r.curves.is_empty() {
        let of = |c: &Curve| json!({ "title": c.title, "name": c.name, "t": c.times, "values": c.values, "beside": c.beside });
        data["curves"] = r.curves.iter().map(of).collect();
    }
    if !r.sensors.is_empty() {
        data["sensors"] = json!(r.sensors);
    }
    data
}

fn around(b: &Bounds) -> Value {
    json!({ "center": b.center.to_array(), "half": b.half.to_array(), "radius": b.radius })
}

/// Indices of the bodies whose poses are stored in every frame; the others are fixed.
fn moving_bodies(r: &Recording) -> Vec<usize> {
    let moves = moving(r);
    (0..r.bodies.len()).filter(|&b| moves[b]).collect()
}

/// As many evenly spaced frames as fit into `room` bytes, as JSON. Also returns n if every n-th
/// frame is included.
fn frames_within(r: &Recording, room: usize) -> Result<(Value, usize), ViewError> {
    let mut every = r.frames.len().div_ceil(SAMPLED_FRAMES).max(1);
    let size = |frames: &Value| frames.to_string().len();
    let moving = moving_bodies(r);
    let sample = frames(r, every, &moving)?;
    if every == 1 && size(&sample) <= room {
        return Ok((sample, 1));
    }
    // the sample was taken as one of `every` frames
    every = (every * size(&sample)).div_ceil(room.max(1)).clamp(1, r.frames.len().max(1));
    loop {
        let kept = frames(r, every, &moving)?;
        if size(&kept) <= room || every >= r.frames.len() {
            return Ok((kept, every));
        }
        every += every.div_ceil(10);
    }
}

/// Every n-th frame as compressed columns, with the poses of these bodies, in the format that the
/// page's program reads in `Run.read`.
fn frames(r: &Recording, every: usize, moving: &[usize]) -> Result<Value, ViewError> {
    // the sign of quaternions is continued from frame to frame
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
        if !r.sensors.is_empty() {
            let readings = || frames().flat_map(|f| f.sensors.iter().copied());
            column("sensors", &|c| c.reals(single, readings()))?;
        }
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

/// Uniqueness answers of the steps: the different answers, and the index of each frame's answer;
/// null if there are none.
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

/// Escapes JSON for a script element, so that no name can end the element or begin a comment.
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
