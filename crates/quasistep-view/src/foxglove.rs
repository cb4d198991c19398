//! Writes a recording as an MCAP file for Foxglove: JSON messages with Foxglove's schemas.
//!
//! | topic | schema | content |
//! |---|---|---|
//! | `/tf` | `foxglove.FrameTransforms` | pose of every body in `world`, each frame |
//! | `/scene` | `foxglove.SceneUpdate` | drawn shapes, fixed to their bodies, once |
//! | `/contacts` | `foxglove.SceneUpdate` | an arrow for each contact force on body B, each frame: 1 cm/N, at most 0.3 of the distance of the farthest body |
//! | `/joint_states` | `foxglove.JointStates` | all coordinates by name (m, rad, quaternions), with rates and drive forces where they have the same name |
//! | `/joint_commands` | `foxglove.JointStates` | commands of the step that ends at the frame |
//! | `/sensors/NAME` | `quasistep.Reading` | unit, shape and values of a sensor |
//!
//! Times are those of the run, from 0 on, in ns. Point clouds are left out; a half-space is a plate.
#![allow(non_snake_case)] // frames in monogram notation

use crate::ViewError;
use mcap::McapError;
use mcap::records::MessageHeader;
use quasistep_math::{Pose, Quat, Vec3};
use quasistep_record::{
    Contact, DrawnGeometry, DrawnShape, Frame, Paint, RecordError, Recording, RecordingReader,
    ShapeRole, write_whole,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Seek, Write};
use std::path::Path;

/// Edge of the plate that stands for a half-space, and its thickness, in m.
const PLATE: [f64; 2] = [20.0, 0.01];
/// Length of a force's arrow, in m/N, its largest length and its thickness as shares of the distance
/// of the farthest body from the origin, and the least such distance, in m.
const PER_NEWTON: f64 = 0.01;
const LONGEST: f64 = 0.3;
const THICK: f64 = 0.01;
const LEAST_SIZE: f64 = 0.01;
/// Schema of joint states and commands.
pub const JOINT_STATES: &str = "foxglove.JointStates";
/// Primitives of a scene entity, all lists.
const PRIMITIVES: [&str; 8] =
    ["arrows", "cubes", "spheres", "cylinders", "lines", "triangles", "texts", "models"];

/// Writes an MCAP file of a `recording.qsr`, frame by frame in bounded memory.
///
/// # Errors
///
/// [`ViewError::Mcap`] if the recording cannot be read; [`ViewError::Io`] if the file cannot be
/// written.
pub fn convert_to_mcap(recording: &Path, file: &Path) -> Result<(), ViewError> {
    let unread = |e: RecordError| ViewError::Mcap {
        file: file.to_owned(),
        problem: format!("nothing was written: {e}"),
    };
    let mut reader = RecordingReader::open(recording).map_err(unread)?;
    let head = reader.head().clone();
    let mut refused = None;
    let written = write(file, &head, &mut || {
        reader.next_frames().map_err(|e| {
            let text = e.to_string();
            refused = Some(unread(e));
            io::Error::other(text)
        })
    });
    refused.map_or(written, Err)
}

/// Writes an MCAP file of a recording in memory.
///
/// # Errors
///
/// [`ViewError::Io`] if the file cannot be written.
pub fn write_mcap(recording: &Recording, file: &Path) -> Result<(), ViewError> {
    let mut frames = recording.frames.iter();
    write(file, recording, &mut || Ok(frames.next().map(|frame| vec![frame.clone()])))
}

/// Frames of a recording, in order.
type NextFrames<'a> = &'a mut dyn FnMut() -> io::Result<Option<Vec<Frame>>>;

fn write(file: &Path, head: &Recording, next: NextFrames<'_>) -> Result<(), ViewError> {
    let written = write_whole(file, |out| {
        let mut writer = Writer::new(out, head).map_err(io::Error::other)?;
        while let Some(frames) = next()? {
            for frame in &frames {
                writer.append(head, frame).map_err(io::Error::other)?;
            }
        }
        writer.out.finish().map(drop).map_err(io::Error::other)
    });
    written.map_err(|e| ViewError::io(file, e))
}

/// Writes the messages of frames.
struct Writer<W: Write + Seek> {
    out: mcap::Writer<W>,
    /// Channels by topic, with the number of messages so far.
    channels: BTreeMap<String, (u16, u32)>,
    n_frames: usize,
}

impl<W: Write + Seek> Writer<W> {
    fn new(out: W, head: &Recording) -> Result<Self, McapError> {
        let mut out = mcap::WriteOptions::new().compression(None).create(out)?;
        let mut channels = BTreeMap::new();
        let mut open = |topics: &[&str], name: &str, properties: Value| {
            let text = schema(name, properties).to_string();
            let schema = out.add_schema(name, "jsonschema", text.as_bytes())?;
            for topic in topics {
                let channel = out.add_channel(schema, topic, "json", &BTreeMap::new())?;
                channels.insert((*topic).to_owned(), (channel, 0));
            }
            Ok::<_, McapError>(())
        };
        open(&["/tf"], "foxglove.FrameTransforms", transforms_schema())?;
        open(&["/scene", "/contacts"], "foxglove.SceneUpdate", scene_schema())?;
        let joints = ["/joint_states", "/joint_commands"];
        open(&joints, JOINT_STATES, joints_schema())?;
        if !head.sensors.is_empty() {
            let topics: Vec<String> = head.sensors.iter().map(|s| topic_of(&s.name)).collect();
            let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
            open(&topics, "quasistep.Reading", reading_schema())?;
        }
        Ok(Self { out, channels, n_frames: 0 })
    }

    /// Appends the messages of a frame.
    fn append(&mut self, head: &Recording, frame: &Frame) -> Result<(), McapError> {
        let t = frame.t;
        if self.n_frames == 0 {
            let shapes = head.shapes.iter().enumerate();
            let entities: Vec<Value> =
                shapes.filter_map(|(k, shape)| drawn(head, k, shape, t)).collect();
            self.send("/scene", t, &json!({"deletions": [], "entities": entities}))?;
        }
        self.n_frames += 1;
        let transform = |(name, X): (&String, &Pose)| {
            json!({
                "timestamp": time(t), "parent_frame_id": "world", "child_frame_id": name,
                "translation": vector(X.translation), "rotation": quaternion(X.rotation),
            })
        };
        let transforms: Vec<Value> =
            head.bodies.iter().zip(&frame.X_WB).skip(1).map(transform).collect();
        self.send("/tf", t, &json!({"transforms": transforms}))?;
        self.send("/joint_states", t, &joint_states(head, frame))?;
        if !frame.q_cmd.is_empty() {
            let told = head.commands.iter().zip(&frame.q_cmd);
            let joints: Vec<Value> =
                told.map(|(name, x)| json!({"name": name, "position": x})).collect();
            self.send("/joint_commands", t, &json!({"timestamp": time(t), "joints": joints}))?;
        }
        self.send("/contacts", t, &contacts(frame))?;
        let mut readings = &frame.sensors[..];
        for sensor in &head.sensors {
            let Some((own, rest)) = readings.split_at_checked(sensor.len()) else { break };
            let message = json!({
                "timestamp": time(t), "unit": sensor.unit, "shape": sensor.shape, "values": own,
            });
            self.send(&topic_of(&sensor.name), t, &message)?;
            readings = rest;
        }
        Ok(())
    }

    fn send(&mut self, topic: &str, t: f64, message: &Value) -> Result<(), McapError> {
        let Some((channel_id, n)) = self.channels.get_mut(topic) else { return Ok(()) };
        let (channel_id, sequence, log_time) = (*channel_id, *n, nanoseconds(t));
        *n += 1;
        let header = MessageHeader { channel_id, sequence, log_time, publish_time: log_time };
        self.out.write_to_known_channel(&header, message.to_string().as_bytes())
    }
}

fn joint_states(head: &Recording, frame: &Frame) -> Value {
    let joint = |(name, x): (&String, &f64)| {
        let mut joint = json!({"name": name, "position": x});
        let rate = head.dofs.iter().position(|dof| dof == name);
        if let Some(v) = rate.and_then(|i| frame.v.get(i)) {
            joint["velocity"] = json!(v);
        }
        if let Some(effort) = head.command(name).and_then(|i| frame.effort.get(i)) {
            joint["effort"] = json!(effort);
        }
        joint
    };
    let joints: Vec<Value> = head.coordinates.iter().zip(&frame.q).map(joint).collect();
    json!({"timestamp": time(frame.t), "joints": joints})
}

/// A drawn shape as an entity; `None` for collision shapes of bodies with visuals, and clouds.
fn drawn(head: &Recording, k: usize, shape: &DrawnShape, t: f64) -> Option<Value> {
    if shape.role == ShapeRole::Collision {
        return None;
    }
    let body = &head.bodies[shape.body];
    let mut entity = entity(&format!("{body}/{}/{k}", shape.name), body, t);
    entity["frame_locked"] = json!(true);
    for (list, primitive) in primitives(shape)? {
        entity[list].as_array_mut()?.push(primitive);
    }
    Some(entity)
}

fn topic_of(sensor: &str) -> String {
    format!("/sensors/{sensor}")
}

fn nanoseconds(t: f64) -> u64 {
    (t.max(0.0) * 1e9).round() as u64
}

fn time(t: f64) -> Value {
    let n = nanoseconds(t);
    json!({"sec": n / 1_000_000_000, "nsec": n % 1_000_000_000})
}

fn vector(v: Vec3) -> Value {
    json!({"x": v.x, "y": v.y, "z": v.z})
}

fn quaternion(q: Quat) -> Value {
    json!({"x": q.x, "y": q.y, "z": q.z, "w": q.w})
}

fn pose(X: &Pose) -> Value {
    json!({"position": vector(X.translation), "orientation": quaternion(X.rotation)})
}

fn color(c: [f32; 4]) -> Value {
    json!({"r": c[0], "g": c[1], "b": c[2], "a": c[3]})
}

/// An entity without primitives.
fn entity(id: &str, frame_id: &str, t: f64) -> Value {
    let mut entity = json!({
        "timestamp": time(t), "frame_id": frame_id, "id": id,
        "lifetime": {"sec": 0, "nsec": 0}, "frame_locked": false, "metadata": [],
    });
    for list in PRIMITIVES {
        entity[list] = json!([]);
    }
    entity
}

/// Primitives of a shape, each with the list it belongs to; `None` for a point cloud.
fn primitives(shape: &DrawnShape) -> Option<Vec<(&'static str, Value)>> {
    let at = |p: Vec3| shape.X_BG * Pose::from_translation(p);
    let of = |list: &'static str, X: &Pose, size: [f64; 3]| {
        let mut primitive = json!({
            "pose": pose(X), "size": vector(Vec3::from(size)), "color": color(shape.color),
        });
        if list == "cylinders" {
            primitive["bottom_scale"] = json!(1.0);
            primitive["top_scale"] = json!(1.0);
        }
        (list, primitive)
    };
    let X = &shape.X_BG;
    Some(match &shape.geometry {
        DrawnGeometry::Sphere { radius } => vec![of("spheres", X, [2.0 * radius; 3])],
        DrawnGeometry::Ellipsoid { radii } => vec![of("spheres", X, radii.map(|r| 2.0 * r))],
        DrawnGeometry::Box { half } => vec![of("cubes", X, half.map(|h| 2.0 * h))],
        DrawnGeometry::Cylinder { radius, half_length } => {
            vec![of("cylinders", X, [2.0 * radius, 2.0 * radius, 2.0 * half_length])]
        }
        DrawnGeometry::Capsule { radius, half_length } => {
            let [width, end] = [2.0 * radius, *half_length];
            vec![
                of("cylinders", X, [width, width, 2.0 * half_length]),
                of("spheres", &at(Vec3::Z * end), [width; 3]),
                of("spheres", &at(Vec3::Z * -end), [width; 3]),
            ]
        }
        DrawnGeometry::HalfSpace => {
            let [edge, thickness] = PLATE;
            vec![of("cubes", &at(Vec3::Z * (-0.5 * thickness)), [edge, edge, thickness])]
        }
        DrawnGeometry::Mesh { vertices, triangles } => {
            let colors: Vec<Value> = match &shape.paint {
                Some(Paint::Vertices(colors)) => {
                    let part = |c: u8| f32::from(c) / 255.0;
                    colors
                        .iter()
                        .map(|[r, g, b]| color([part(*r), part(*g), part(*b), 1.0]))
                        .collect()
                }
                _ => Vec::new(),
            };
            let points: Vec<Value> = vertices.iter().map(|p| vector(Vec3::from(*p))).collect();
            vec![(
                "triangles",
                json!({
                    "pose": pose(X), "points": points, "color": color(shape.color), "colors": colors,
                    "indices": triangles.as_flattened(),
                }),
            )]
        }
        _ => return None,
    })
}

/// The contact forces of a frame as arrows.
fn contacts(frame: &Frame) -> Value {
    let place = |X: &Pose| X.translation - frame.X_WB[0].translation;
    let size = frame.X_WB.iter().fold(LEAST_SIZE, |most, X| most.max(place(X).norm()));
    let arrow = |c: &Contact| {
        let along = c.force_W.try_normalize()?;
        let length = (PER_NEWTON * c.force_W.norm()).min(LONGEST * size);
        let width = THICK * size;
        Some(json!({
            "pose": pose(&Pose::new(from_x_to(along), c.p_W)),
            "shaft_length": 0.8 * length, "shaft_diameter": width,
            "head_length": 0.2 * length, "head_diameter": 2.0 * width,
            "color": color([0.10, 0.61, 0.38, 1.0]),
        }))
    };
    let mut entity = entity("contacts", "world", frame.t);
    entity["arrows"] = frame.contacts.iter().filter_map(arrow).collect();
    json!({"deletions": [], "entities": [entity]})
}

/// The shortest rotation that takes the x axis to a unit vector.
fn from_x_to(d: Vec3) -> Quat {
    let across = Vec3::X.cross(d);
    match across.try_normalize() {
        Some(axis) => Quat::from_axis_angle(axis, f64::atan2(across.norm(), d.x)),
        None if d.x < 0.0 => Quat::from_axis_angle(Vec3::Z, std::f64::consts::PI),
        None => Quat::IDENTITY,
    }
}

fn schema(title: &str, properties: Value) -> Value {
    let mut schema = object(properties);
    schema["title"] = json!(title);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema
}

fn object(properties: Value) -> Value {
    let mut schema = json!({"type": "object"});
    schema["properties"] = properties;
    schema
}

fn array(items: Value) -> Value {
    let mut schema = json!({"type": "array"});
    schema["items"] = items;
    schema
}

fn number() -> Value {
    json!({"type": "number"})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn time_schema() -> Value {
    let whole = || json!({"type": "integer", "minimum": 0});
    object(json!({"sec": whole(), "nsec": whole()}))
}

fn vector_schema() -> Value {
    object(json!({"x": number(), "y": number(), "z": number()}))
}

fn quaternion_schema() -> Value {
    object(json!({"x": number(), "y": number(), "z": number(), "w": number()}))
}

fn transforms_schema() -> Value {
    let transform = object(json!({
        "timestamp": time_schema(), "parent_frame_id": text(), "child_frame_id": text(),
        "translation": vector_schema(), "rotation": quaternion_schema(),
    }));
    json!({"transforms": array(transform)})
}

fn joints_schema() -> Value {
    let joint = object(json!({
        "name": text(), "position": number(), "velocity": number(), "effort": number(),
    }));
    json!({"timestamp": time_schema(), "joints": array(joint)})
}

fn reading_schema() -> Value {
    let whole = json!({"type": "integer", "minimum": 1});
    json!({
        "timestamp": time_schema(), "unit": text(), "shape": array(whole), "values": array(number()),
    })
}

fn scene_schema() -> Value {
    let color = || object(json!({"r": number(), "g": number(), "b": number(), "a": number()}));
    let pose = || object(json!({"position": vector_schema(), "orientation": quaternion_schema()}));
    let solid = || json!({"pose": pose(), "size": vector_schema(), "color": color()});
    let mut cylinder = solid();
    cylinder["bottom_scale"] = number();
    cylinder["top_scale"] = number();
    let arrow = json!({
        "pose": pose(), "shaft_length": number(), "shaft_diameter": number(),
        "head_length": number(), "head_diameter": number(), "color": color(),
    });
    let whole = json!({"type": "integer", "minimum": 0});
    let triangles = json!({
        "pose": pose(), "points": array(vector_schema()), "color": color(), "colors": array(color()),
        "indices": array(whole),
    });
    let mut entity = json!({
        "timestamp": time_schema(), "frame_id": text(), "id": text(), "lifetime": time_schema(),
        "frame_locked": {"type": "boolean"},
        "metadata": array(object(json!({"key": text(), "value": text()}))),
    });
    for list in PRIMITIVES {
        entity[list] = array(json!({"type": "object"}));
    }
    for (list, item) in [
        ("arrows", arrow),
        ("cubes", solid()),
        ("spheres", solid()),
        ("cylinders", cylinder),
        ("triangles", triangles),
    ] {
        entity[list] = array(object(item));
    }
    let deletion = object(json!({"timestamp": time_schema(), "type": number(), "id": text()}));
    json!({"deletions": array(deletion), "entities": array(object(entity))})
}
