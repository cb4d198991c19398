//! Writes `recording.qsr`: blocks, and the columns in them. The format is described in the crate
//! documentation; [`crate::reader`] reads it.

use crate::columns::{Digits, Packer, Unpacker, compress};
use crate::contacts::{pack_contacts, unpack_contacts};
use crate::data::pose_to_array;
use crate::{
    BodyRole, Curve, DrawnGeometry, DrawnShape, Finish, Frame, GoalPose, Image, NamedFrame, Paint,
    RecordError, RecordedSensor, Recording, ShapeRole, Uniqueness, write_whole,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quasistep_math::{Pose, Quat, Vec3};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

/// First bytes of the file.
pub(crate) const MAGIC: &[u8; 8] = b"quasirec";
/// Version of `recording.qsr` that this crate writes.
pub const VERSION: u32 = 9;
/// Oldest version that this crate reads. Version 8 has no roles, named frames, goals and curves, version 7 no sensors either.
pub(crate) const OLDEST_VERSION: u32 = 7;

/// Kinds of blocks, as bytes in the file.
pub(crate) const HEAD: u8 = b'H';
pub(crate) const FRAMES: u8 = b'F';
pub(crate) const EXACT_FRAMES: u8 = b'D';
pub(crate) const END: u8 = b'E';

/// Frames per block: enough for good compression, and few enough to lose if a run is killed.
const FRAMES_OF_BLOCK: usize = 100;
/// Number of contacts after which a block ends early; about 10 MB before compression.
const CONTACTS_OF_BLOCK: usize = 100_000;
/// Largest block before compression, in bytes: enough for a frame of two million contacts, or
/// meshes of five million triangles. Decoded frames take up to six times as much memory.
pub(crate) const MOST_BYTES: u64 = 1 << 28;
/// Most names in one list, for example of bodies.
const MOST_NAMES: usize = 1 << 20;

/// The head block: everything except the frames and the end.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Head {
    scene: String,
    title: String,
    time_step: f64,
    #[serde(deserialize_with = "names")]
    bodies: Vec<String>,
    #[serde(default, deserialize_with = "names", skip_serializing_if = "Vec::is_empty")]
    roles: Vec<BodyRole>,
    #[serde(deserialize_with = "names")]
    coordinates: Vec<String>,
    #[serde(default, deserialize_with = "names", skip_serializing_if = "Vec::is_empty")]
    units: Vec<String>,
    #[serde(deserialize_with = "names")]
    dofs: Vec<String>,
    #[serde(deserialize_with = "names")]
    commands: Vec<String>,
    #[serde(default, deserialize_with = "names", skip_serializing_if = "Vec::is_empty")]
    sensors: Vec<RecordedSensor>,
    #[serde(deserialize_with = "names")]
    collision_shapes: Vec<String>,
    /// Images used by shapes.
    images: Vec<HeadImage>,
    shapes: Vec<HeadShape>,
    #[serde(default, deserialize_with = "names", skip_serializing_if = "Vec::is_empty")]
    named_frames: Vec<HeadFrame>,
    #[serde(default, deserialize_with = "names", skip_serializing_if = "Vec::is_empty")]
    goals: Vec<HeadGoal>,
    #[serde(default, deserialize_with = "names", skip_serializing_if = "Vec::is_empty")]
    curves: Vec<Curve>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadFrame {
    name: String,
    body: usize,
    pose: [f64; 7],
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadGoal {
    body: usize,
    pose: [f64; 7],
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadImage {
    mime: String,
    /// The image file in base64.
    data: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum HeadPaint {
    Vertices(Vec<[u8; 3]>),
    Texture {
        uv: Vec<[f32; 2]>,
        /// Index in `images`.
        image: usize,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadShape {
    body: usize,
    name: String,
    pose: [f64; 7],
    geometry: DrawnGeometry,
    color: [f32; 4],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paint: Option<HeadPaint>,
    role: ShapeRole,
}

/// Uniqueness answers of a block: the different answers, and the index of each frame's answer.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answers {
    #[serde(deserialize_with = "of_block")]
    answers: Vec<Uniqueness>,
    #[serde(deserialize_with = "of_block")]
    frames: Vec<Option<usize>>,
}

fn names<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    at_most(from, MOST_NAMES)
}

fn of_block<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    at_most(from, FRAMES_OF_BLOCK)
}

/// Deserialises a list with at most this many entries, because short text could expand to much
/// memory.
fn at_most<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
    most: usize,
) -> Result<Vec<T>, D::Error> {
    struct AtMost<T>(usize, PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for AtMost<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {}", self.0)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
            let mut list = Vec::new();
            while let Some(item) = items.next_element()? {
                if list.len() == self.0 {
                    return Err(A::Error::invalid_length(list.len() + 1, &self));
                }
                list.push(item);
            }
            Ok(list)
        }
    }
    from.deserialize_seq(AtMost(most, PhantomData))
}

/// Writes a recording frame by frame. An interrupted file can be read up to its last whole block.
pub struct RecordingWriter<W: Write> {
    out: W,
    digits: Digits,
    /// The recording without frames, against which frames are checked.
    head: Recording,
    /// Frames not yet written.
    waiting: Vec<Frame>,
    written: usize,
}

impl<W: Write> RecordingWriter<W> {
    /// Writes the head. Frames of `recording` are ignored.
    ///
    /// # Errors
    ///
    /// Errors of the writer; `InvalidInput` if the recording is inconsistent.
    pub fn new(mut out: W, recording: &Recording, digits: Digits) -> io::Result<Self> {
        let head = recording.without_frames();
        head.check().map_err(invalid)?;
        out.write_all(MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        write_block(&mut out, HEAD, &serde_json::to_vec(&to_head(&head))?)?;
        Ok(Self { out, digits, head, waiting: Vec::new(), written: 0 })
    }

    /// Appends a frame.
    ///
    /// # Errors
    ///
    /// Errors of the writer; `InvalidInput` if the frame does not match the head or contains
    /// numbers that are not finite.
    pub fn append(&mut self, frame: Frame) -> io::Result<()> {
        let k = self.written + self.waiting.len();
        self.head.check_frame(k, &frame).map_err(|e| invalid(format!("frame {k}: {e}")))?;
        self.waiting.push(frame);
        let contacts: usize = self.waiting.iter().map(|f| f.contacts.len()).sum();
        if self.waiting.len() < FRAMES_OF_BLOCK && contacts < CONTACTS_OF_BLOCK {
            return Ok(());
        }
        self.flush()
    }

    /// Writes all frames appended so far.
    ///
    /// # Errors
    ///
    /// Errors of the writer.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let kind = match self.digits {
            Digits::All => EXACT_FRAMES,
            Digits::Single => FRAMES,
        };
        write_block(&mut self.out, kind, &pack(&self.waiting, self.digits)?)?;
        self.written += self.waiting.len();
        self.waiting.clear();
        self.out.flush()
    }

    /// Writes how the run ended, and returns the writer.
    ///
    /// # Errors
    ///
    /// Errors of the writer.
    pub fn finish(mut self, finish: &Finish) -> io::Result<W> {
        self.flush()?;
        write_block(&mut self.out, END, &serde_json::to_vec(finish)?)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

impl Recording {
    /// Writes `recording.qsr` to `path`, with contacts in single precision.
    ///
    /// # Errors
    ///
    /// [`RecordError::Inconsistent`], before anything is written; [`RecordError::Io`] otherwise.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        self.check().map_err(|e| RecordError::inconsistent(path, e))?;
        write_whole(path, |out| self.write_to(out, Digits::Single).map(drop))
            .map_err(|e| RecordError::io(path, e))
    }

    /// The bytes of a `recording.qsr` with contacts in double precision.
    ///
    /// # Errors
    ///
    /// A message that names an inconsistent part.
    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        self.write_to(Vec::new(), Digits::All).map_err(|e| e.to_string())
    }

    fn write_to<W: Write>(&self, out: W, digits: Digits) -> io::Result<W> {
        let mut writer = RecordingWriter::new(out, self, digits)?;
        self.frames.iter().try_for_each(|frame| writer.append(frame.clone()))?;
        writer.finish(&self.finish)
    }

    /// The drawn shapes as JSON: the list `shapes` of the file's head, without images.
    ///
    /// # Errors
    ///
    /// A message that names an inconsistent part.
    pub fn drawn_json(&self) -> Result<String, String> {
        self.check()?;
        let shapes = to_head(&self.without_frames()).shapes;
        serde_json::to_string(&shapes).map_err(|e| e.to_string())
    }

    /// This recording without its frames.
    pub(crate) fn without_frames(&self) -> Self {
        Self {
            scene: self.scene.clone(),
            title: self.title.clone(),
            time_step: self.time_step,
            bodies: self.bodies.clone(),
            roles: self.roles.clone(),
            collision_shapes: self.collision_shapes.clone(),
            shapes: self.shapes.clone(),
            named_frames: self.named_frames.clone(),
            goals: self.goals.clone(),
            curves: self.curves.clone(),
            coordinates: self.coordinates.clone(),
            units: self.units.clone(),
            dofs: self.dofs.clone(),
            commands: self.commands.clone(),
            sensors: self.sensors.clone(),
            frames: Vec::new(),
            finish: self.finish.clone(),
        }
    }
}

fn invalid(problem: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

/// Writes the block's kind, its length before and after compression, and the compressed bytes.
fn write_block(out: &mut impl Write, kind: u8, bytes: &[u8]) -> io::Result<()> {
    // refuse it here, because readers would refuse it
    if bytes.len() as u64 > MOST_BYTES {
        let what = if kind == HEAD { "what is drawn takes" } else { "a frame takes" };
        return Err(invalid(format!(
            "{what} {} bytes; at most {MOST_BYTES} are recorded",
            bytes.len()
        )));
    }
    let packed = compress(bytes)?;
    out.write_all(&[kind])?;
    for length in [bytes.len(), packed.len()] {
        out.write_all(&(length as u64).to_le_bytes())?;
    }
    out.write_all(&packed)
}

/// Encodes a block of frames: number of frames, columns of frames, columns of contacts, uniqueness
/// answers.
fn pack(frames: &[Frame], digits: Digits) -> io::Result<Vec<u8>> {
    let mut out = Packer::default();
    out.words(std::iter::once(frames.len()));
    out.doubles(frames.iter().map(|f| f.t));
    out.doubles(frames.iter().flat_map(|f| f.X_WB.iter().flat_map(pose_to_array)));
    out.doubles(frames.iter().flat_map(|f| f.q.iter().copied()));
    out.doubles(frames.iter().flat_map(|f| f.v.iter().copied()));
    out.doubles(frames.iter().flat_map(|f| f.q_cmd.iter().copied()));
    out.doubles(frames.iter().flat_map(|f| f.effort.iter().copied()));
    out.doubles(frames.iter().flat_map(|f| f.sensors.iter().copied()));
    pack_contacts(frames, digits, &mut out);
    if frames.iter().any(|f| f.uniqueness.is_some()) {
        let mut said = Answers::default();
        for frame in frames {
            if let Some(answer) = &frame.uniqueness
                && said.answers.last() != Some(answer)
            {
                said.answers.push(answer.clone());
            }
            said.frames.push(frame.uniqueness.as_ref().map(|_| said.answers.len() - 1));
        }
        serde_json::to_writer(out.text(), &said)?;
    }
    Ok(out.into_bytes())
}

/// Decodes the frames of a block of a file of some version; `is_first` is true if the block contains
/// frame 0.
pub(crate) fn unpack(
    bytes: &[u8],
    digits: Digits,
    (known, version): (&Recording, u32),
    is_first: bool,
) -> Result<Vec<Frame>, String> {
    let mut from = Unpacker::new(bytes);
    let n = from.words(1)?[0];
    if n > FRAMES_OF_BLOCK {
        return Err(format!("{n} frames; at most {FRAMES_OF_BLOCK} are read"));
    }
    // frame 0 does not end a step
    let n_steps = if is_first { n.saturating_sub(1) } else { n };
    let per = |count: usize, each: usize| count.saturating_mul(each);
    let (n_b, n_q) = (known.bodies.len(), known.coordinates.len());
    let (n_v, n_cmd) = (known.dofs.len(), known.commands.len());
    let t = from.doubles(n)?;
    let poses = from.doubles(per(n, per(n_b, 7)))?;
    let q = from.doubles(per(n, n_q))?;
    let v = from.doubles(per(n, n_v))?;
    let q_cmd = from.doubles(per(n_steps, n_cmd))?;
    let effort = from.doubles(per(n_steps, n_cmd))?;
    let n_read = known.n_readings();
    let sensors = from.doubles(per(n_steps, n_read))?;
    let mut contacts = unpack_contacts(&mut from, digits, n, version)?.into_iter();
    let said = answers(from.rest())?;
    let answer = |i: usize| match said.frames.get(i).copied().flatten() {
        Some(k) => said
            .answers
            .get(k)
            .cloned()
            .map(Some)
            .ok_or_else(|| format!("frame {i} speaks of answer {k} of {}", said.answers.len())),
        None => Ok(None),
    };
    let mut frames = Vec::with_capacity(n);
    for i in 0..n {
        let step = (i + n_steps).checked_sub(n);
        let row = |width: usize| step.map_or(0..0, |k| k * width..(k + 1) * width);
        let (poses, _) = poses[7 * n_b * i..7 * n_b * (i + 1)].as_chunks::<7>();
        frames.push(Frame {
            t: t[i],
            X_WB: poses.iter().map(array_to_pose).collect(),
            q: q[n_q * i..n_q * (i + 1)].to_vec(),
            v: v[n_v * i..n_v * (i + 1)].to_vec(),
            q_cmd: q_cmd[row(n_cmd)].to_vec(),
            effort: effort[row(n_cmd)].to_vec(),
            sensors: sensors[row(n_read)].to_vec(),
            contacts: contacts.next().unwrap_or_default(),
            uniqueness: answer(i)?,
        });
    }
    Ok(frames)
}

/// Reads the answers about uniqueness. Each is stored once and copied to all of its frames; the
/// copies' memory is bounded.
fn answers(text: &[u8]) -> Result<Answers, String> {
    let said: Answers = match text {
        [] => Answers::default(),
        text => serde_json::from_slice(text).map_err(|e| format!("uniqueness: {e}"))?,
    };
    let sizes: Result<Vec<usize>, _> =
        said.answers.iter().map(|a| serde_json::to_string(a).map(|text| text.len())).collect();
    let sizes = sizes.map_err(|e| format!("uniqueness: {e}"))?;
    let copied: usize = said.frames.iter().flatten().filter_map(|k| sizes.get(*k)).sum();
    if copied as u64 > MOST_BYTES {
        return Err(format!(
            "uniqueness: {copied} bytes for all frames; at most {MOST_BYTES} are read"
        ));
    }
    Ok(said)
}

fn to_head(r: &Recording) -> Head {
    let mut images: Vec<Arc<Image>> = Vec::new();
    let mut paint = |paint: &Paint| match paint {
        Paint::Vertices(colors) => HeadPaint::Vertices(colors.clone()),
        Paint::Texture { uv, image } => {
            let known = images.iter().position(|known| known == image);
            let index = known.unwrap_or_else(|| {
                images.push(image.clone());
                images.len() - 1
            });
            HeadPaint::Texture { uv: uv.clone(), image: index }
        }
    };
    let shapes = r
        .shapes
        .iter()
        .map(|s| HeadShape {
            body: s.body,
            name: s.name.clone(),
            pose: pose_to_array(&s.X_BG),
            geometry: s.geometry.clone(),
            color: s.color,
            paint: s.paint.as_ref().map(&mut paint),
            role: s.role,
        })
        .collect();
    Head {
        scene: r.scene.clone(),
        title: r.title.clone(),
        time_step: r.time_step,
        bodies: r.bodies.clone(),
        roles: r.roles.clone(),
        coordinates: r.coordinates.clone(),
        units: r.units.clone(),
        dofs: r.dofs.clone(),
        commands: r.commands.clone(),
        sensors: r.sensors.clone(),
        collision_shapes: r.collision_shapes.clone(),
        images: images
            .iter()
            .map(|i| HeadImage { mime: i.mime.clone(), data: STANDARD.encode(&i.bytes) })
            .collect(),
        shapes,
        named_frames: r
            .named_frames
            .iter()
            .map(|f| HeadFrame { name: f.name.clone(), body: f.body, pose: pose_to_array(&f.X_BF) })
            .collect(),
        goals: r
            .goals
            .iter()
            .map(|goal| HeadGoal { body: goal.body, pose: pose_to_array(&goal.X_WB) })
            .collect(),
        curves: r.curves.clone(),
    }
}

/// The recording of a head, without frames, marked as cut off.
pub(crate) fn from_head(head: Head) -> Result<Recording, String> {
    let images: Vec<Arc<Image>> = head
        .images
        .into_iter()
        .enumerate()
        .map(|(k, HeadImage { mime, data })| match STANDARD.decode(data) {
            Ok(bytes) => Ok(Arc::new(Image { mime, bytes })),
            Err(e) => Err(format!("image {k} is no base64: {e}")),
        })
        .collect::<Result<_, _>>()?;
    let paint = |paint: HeadPaint| match paint {
        HeadPaint::Vertices(colors) => Ok(Paint::Vertices(colors)),
        HeadPaint::Texture { uv, image } => match images.get(image) {
            Some(image) => Ok(Paint::Texture { uv, image: image.clone() }),
            None => Err(format!("a shape is painted with image {image} of {}", images.len())),
        },
    };
    let shape = |s: HeadShape| {
        Ok(DrawnShape {
            body: s.body,
            name: s.name,
            X_BG: array_to_pose(&s.pose),
            geometry: s.geometry,
            color: s.color,
            paint: s.paint.map(paint).transpose()?,
            role: s.role,
        })
    };
    Ok(Recording {
        scene: head.scene,
        title: head.title,
        time_step: head.time_step,
        bodies: head.bodies,
        roles: head.roles,
        collision_shapes: head.collision_shapes,
        shapes: head.shapes.into_iter().map(shape).collect::<Result<_, String>>()?,
        named_frames: head
            .named_frames
            .into_iter()
            .map(|f| NamedFrame { name: f.name, body: f.body, X_BF: array_to_pose(&f.pose) })
            .collect(),
        goals: head
            .goals
            .iter()
            .map(|goal| GoalPose { body: goal.body, X_WB: array_to_pose(&goal.pose) })
            .collect(),
        curves: head.curves,
        coordinates: head.coordinates,
        units: head.units,
        dofs: head.dofs,
        commands: head.commands,
        sensors: head.sensors,
        frames: Vec::new(),
        finish: Finish::Stopped { reason: "the recording is cut off here".into() },
    })
}

fn array_to_pose(a: &[f64; 7]) -> Pose {
    Pose::new(Quat::new(a[0], a[1], a[2], a[3]), Vec3::new(a[4], a[5], a[6]))
}
