//! `view.html`: the recording and the viewer's program in one file.
#![allow(non_snake_case)] // frames in monogram notation

use crate::ViewError;
use crate::bounds::{bounds, moving};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quasistep_math::Pose;
use quasistep_record::{
    DrawnGeometry, Finish, ForceUniqueness, MotionUniqueness, Paint, Recording,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// The viewer's program, three.js with its licence in it; empty if it could not be built.
const BUNDLE: &str = include_str!(concat!(env!("OUT_DIR"), "/viewer.js"));
/// Why it could not be built.
const PROBLEM: &str = include_str!(concat!(env!("OUT_DIR"), "/viewer-problem.txt"));

/// Whether this build has the viewer's program in it.
pub fn has_page() -> bool {
    !BUNDLE.is_empty()
}

/// Writes a page that replays the recording: one file, opens from disk, needs no network.
///
/// # Errors
///
/// [`ViewError::NoBundle`] if this build has no viewer, [`ViewError::Recording`] if the recording
/// is inconsistent, [`ViewError::Io`] if the file cannot be written.
pub fn write_page(recording: &Recording, path: &Path) -> Result<(), ViewError> {
    std::fs::write(path, page(recording)?).map_err(|e| ViewError::io(path, e))
}

/// The text of the page that [`write_page`] writes.
///
/// # Errors
///
/// As [`write_page`], without the file.
pub fn page(recording: &Recording) -> Result<String, ViewError> {
    if !has_page() {
        return Err(ViewError::NoBundle(PROBLEM));
    }
    recording.check().map_err(ViewError::Recording)?;
    let data = data(recording).to_string();
    let title = if recording.title.is_empty() { &recording.scene } else { &recording.title };
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n</head>\n<body>\n\
         <noscript>This page replays a simulation and needs JavaScript.</noscript>\n\
         <script type=\"application/json\" id=\"recording\">{}</script>\n\
         <script>{}</script>\n</body>\n</html>\n",
        escape_html(title),
        escape_json(&data),
        escape_script(BUNDLE)
    ))
}

/// The recording for the page: names as JSON, numbers as base64 of little-endian arrays.
fn data(r: &Recording) -> Value {
    let moves = moving(r);
    let fit = bounds(r);
    let mut pool = Pool::default();
    let shapes: Vec<Value> = r
        .shapes
        .iter()
        .map(|s| {
            json!({
                "body": s.body, "name": s.name, "pose": pose(&s.X_BG), "color": s.color,
                "role": s.role, "geometry": pool.place(geometry(&s.geometry)),
                "paint": s.paint.as_ref().map(|paint| pool.paint(paint)),
            })
        })
        .collect();
    // poses of moving bodies frame by frame; the others once
    let moving_bodies: Vec<usize> = (0..r.bodies.len()).filter(|&b| moves[b]).collect();
    let still = |b: usize| r.frames.first().map_or(Pose::IDENTITY, |f| f.X_WB[b]);
    let start: Vec<[f64; 7]> = (0..r.bodies.len()).map(|b| pose(&still(b))).collect();
    let poses = r.frames.iter().flat_map(|f| moving_bodies.iter().map(|&b| pose(&f.X_WB[b])));
    let poses: Vec<f64> = poses.flatten().collect();
    let contacts = || r.frames.iter().flat_map(|f| &f.contacts);
    let q: Vec<f64> = r.continuous_q().concat();
    let q_cmd: Vec<f64> = r.frames.iter().flat_map(|f| f.q_cmd.clone()).collect();
    let effort: Vec<f64> = r.frames.iter().flat_map(|f| f.effort.clone()).collect();
    let vectors: Vec<f64> = contacts()
        .flat_map(|c| [c.p_W, c.n_AB_W, c.force_W])
        .flat_map(quasistep_math::Vec3::to_array)
        .collect();
    let scalars: Vec<f64> =
        contacts().flat_map(|c| [c.phi, c.phi_next, c.normal_force, c.spin, c.mu]).collect();
    let indices: Vec<u32> =
        contacts().flat_map(|c| [c.a as u32, c.b as u32, c.mode as u32]).collect();
    let finish = match &r.finish {
        Finish::Done => Value::Null,
        Finish::Stopped { reason } => json!(reason),
    };
    json!({
        "scene": r.scene, "title": r.title, "time_step": r.time_step, "stopped": finish,
        "bodies": r.bodies, "coordinates": r.coordinates, "commands": r.commands,
        "fit": {
            "center": fit.center.to_array(), "half": fit.half.to_array(), "radius": fit.radius,
        },
        "shapes": shapes, "pool": pool.list,
        "n_frames": r.frames.len(),
        "t": doubles(r.frames.iter().map(|f| f.t)),
        "moving": moving_bodies, "start": start, "poses": floats(poses),
        "q": doubles(q), "q_cmd": doubles(q_cmd), "effort": doubles(effort),
        "n_contacts": r.frames.iter().map(|f| f.contacts.len()).collect::<Vec<_>>(),
        "contact_vectors": floats(vectors), "contact_scalars": doubles(scalars),
        "contact_indices": base64(indices.iter().flat_map(|v| v.to_le_bytes())),
        "uniqueness": uniqueness(r),
    })
}

/// What the steps say of uniqueness, each answer once and its number for every frame; null if none says anything.
fn uniqueness(r: &Recording) -> Value {
    let mut answers = Vec::new();
    let mut said = Vec::new();
    let steps: Vec<Option<usize>> = r
        .frames
        .iter()
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

/// What several shapes may share, stored once: geometries, and addresses of pictures.
#[derive(Default)]
struct Pool {
    known: BTreeMap<String, usize>,
    list: Vec<Value>,
}

impl Pool {
    /// Index of a value.
    fn place(&mut self, value: Value) -> Value {
        let list = &mut self.list;
        let index = *self.known.entry(value.to_string()).or_insert_with(|| {
            list.push(value);
            list.len() - 1
        });
        json!(index)
    }

    fn paint(&mut self, paint: &Paint) -> Value {
        match paint {
            Paint::Vertices(colors) => {
                json!({ "colors": base64(colors.as_flattened().iter().copied()) })
            }
            Paint::Texture { uv, image } => {
                let data = format!("data:{};base64,{}", image.mime, STANDARD.encode(&image.bytes));
                let image = self.place(json!(data));
                json!({ "uv": base64(uv.as_flattened().iter().flat_map(|v| v.to_le_bytes())), "image": image })
            }
        }
    }
}

fn geometry(g: &DrawnGeometry) -> Value {
    match g {
        DrawnGeometry::Sphere { radius } => json!({ "kind": "sphere", "radius": radius }),
        DrawnGeometry::Box { half } => json!({ "kind": "box", "half": half }),
        DrawnGeometry::Capsule { radius, half_length } => {
            json!({ "kind": "capsule", "radius": radius, "half_length": half_length })
        }
        DrawnGeometry::Cylinder { radius, half_length } => {
            json!({ "kind": "cylinder", "radius": radius, "half_length": half_length })
        }
        DrawnGeometry::HalfSpace => json!({ "kind": "half_space" }),
        DrawnGeometry::Mesh { vertices, triangles } => json!({
            "kind": "mesh",
            "vertices": floats(vertices.as_flattened().iter().copied()),
            "triangles": base64(triangles.as_flattened().iter().flat_map(|i| i.to_le_bytes())),
        }),
        DrawnGeometry::Points { points, normals, width } => json!({
            "kind": "points",
            "points": base64(points.as_flattened().iter().flat_map(|v| v.to_le_bytes())),
            // a light needs no more than seven bits of a direction
            "normals": base64(normals.as_flattened().iter().map(|v| (v * 127.0).round() as i8 as u8)),
            "width": width,
        }),
        _ => json!({ "kind": "unknown" }),
    }
}

fn pose(X: &Pose) -> [f64; 7] {
    let (q, p) = (X.rotation, X.translation);
    [q.w, q.x, q.y, q.z, p.x, p.y, p.z]
}

fn floats(values: impl IntoIterator<Item = f64>) -> String {
    base64(values.into_iter().flat_map(|v| (v as f32).to_le_bytes()))
}

fn doubles(values: impl IntoIterator<Item = f64>) -> String {
    base64(values.into_iter().flat_map(f64::to_le_bytes))
}

fn base64(bytes: impl IntoIterator<Item = u8>) -> String {
    STANDARD.encode(bytes.into_iter().collect::<Vec<u8>>())
}

/// JSON inside a script element: no name can close the element or open a comment.
fn escape_json(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// A program inside a script element: `</script` only ever stands in its strings.
fn escape_script(program: &str) -> String {
    program.replace("</script", "<\\/script").replace("<!--", "<\\!--")
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
