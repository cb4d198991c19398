//! The columns of `recording.json`, described in the crate documentation.

use crate::data::pose_to_array;
use crate::{
    Contact, ContactKey, DrawnGeometry, DrawnShape, Finish, Frame, Image, Mode, Paint, RecordError,
    Recording, ShapeRole, Uniqueness,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quasistep_math::{Pose, Quat, Vec3};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

const FORMAT: &str = "quasistep recording";

/// Version of `recording.json` that this crate writes. It reads this one and those before.
pub const VERSION: u64 = 6;

/// Read first: a file of another version may look different everywhere else.
#[derive(Deserialize)]
struct Header {
    format: String,
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File1 {
    format: String,
    version: u64,
    scene: String,
    title: String,
    time_step: f64,
    finish: Finish,
    bodies: Vec<String>,
    coordinates: Vec<String>,
    /// Empty if no velocity is carried, and in files before version 3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dofs: Vec<String>,
    commands: Vec<String>,
    /// Empty in files before version 6.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    collision_shapes: Vec<String>,
    /// Pictures that shapes are painted with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    images: Vec<Image1>,
    shapes: Vec<Shape1>,
    frames: Frames1,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Image1 {
    mime: String,
    /// Base64 of the file.
    data: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Paint1 {
    Vertices(Vec<[u8; 3]>),
    Texture {
        uv: Vec<[f32; 2]>,
        /// Index of `images`.
        image: usize,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape1 {
    body: usize,
    name: String,
    pose: [f64; 7],
    geometry: DrawnGeometry,
    color: [f32; 4],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paint: Option<Paint1>,
    role: ShapeRole,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Frames1 {
    t: Vec<f64>,
    poses: Vec<f64>,
    q: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    v: Vec<f64>,
    q_cmd: Vec<f64>,
    effort: Vec<f64>,
    n_contacts: Vec<usize>,
    contacts: Contacts1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uniqueness: Option<Answers1>,
}

/// What was said of uniqueness, each time it changed, and which of it of every step.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answers1 {
    answers: Vec<Uniqueness>,
    steps: Vec<Option<usize>>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contacts1 {
    a: Vec<usize>,
    b: Vec<usize>,
    p: Vec<f64>,
    n: Vec<f64>,
    phi: Vec<f64>,
    phi_next: Vec<f64>,
    normal_force: Vec<f64>,
    force: Vec<f64>,
    spin: Vec<f64>,
    /// Empty if no contact has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    roll: Vec<f64>,
    mode: Vec<u8>,
    mu: Vec<f64>,
    /// Shapes of A and B and their features, all three of every contact or of none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shape_a: Vec<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shape_b: Vec<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    feature: Vec<u32>,
}

impl Recording {
    /// Writes `recording.json` at `path`.
    ///
    /// # Errors
    ///
    /// [`RecordError::Inconsistent`] before anything is written, [`RecordError::Io`] otherwise.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        self.check().map_err(|e| RecordError::inconsistent(path, e))?;
        let file = File::create(path).map_err(|e| RecordError::io(path, e))?;
        let mut out = BufWriter::new(file);
        serde_json::to_writer(&mut out, &to_columns(self))
            .map_err(|e| RecordError::io(path, e.into()))?;
        out.write_all(b"\n").and_then(|()| out.flush()).map_err(|e| RecordError::io(path, e))
    }

    /// Reads a `recording.json`.
    ///
    /// # Errors
    ///
    /// Every variant of [`RecordError`]; each names the file and what was seen.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        let bytes = std::fs::read(path).map_err(|e| RecordError::io(path, e))?;
        Self::from_json(&bytes, path)
    }

    /// The text of a `recording.json`.
    ///
    /// # Errors
    ///
    /// What does not fit in this recording.
    pub fn to_json(&self) -> Result<String, String> {
        self.check()?;
        serde_json::to_string(&to_columns(self)).map_err(|e| e.to_string())
    }

    /// Reads the text of a `recording.json`; `path` is named in complaints.
    ///
    /// # Errors
    ///
    /// As [`Recording::read`].
    pub fn from_json(bytes: &[u8], path: &Path) -> Result<Self, RecordError> {
        let header: Header =
            serde_json::from_slice(bytes).map_err(|e| RecordError::malformed(path, &e))?;
        if header.format != FORMAT {
            let problem = format!("`format` is `{}`; expected `{FORMAT}`", header.format);
            return Err(RecordError::malformed(path, &problem));
        }
        // version 2 added a kind of geometry, version 3 velocities, version 4 uniqueness, version 5 paints, version 6 keys of
        // contacts; none changed anything
        if !(1..=VERSION).contains(&header.version) {
            let (got, want) = (header.version, VERSION);
            return Err(RecordError::Version { file: path.to_owned(), got, want });
        }
        let columns: File1 =
            serde_json::from_slice(bytes).map_err(|e| RecordError::malformed(path, &e))?;
        let recording = from_columns(columns).map_err(|e| RecordError::inconsistent(path, e))?;
        recording.check().map_err(|e| RecordError::inconsistent(path, e))?;
        Ok(recording)
    }
}

fn to_columns(r: &Recording) -> File1 {
    let mut frames = Frames1::default();
    let contacts = || r.frames.iter().flat_map(|f| &f.contacts);
    let rolls = contacts().any(|c| c.roll_W != Vec3::ZERO);
    let keyed = contacts().all(|c| c.key.is_some());
    for frame in &r.frames {
        frames.t.push(frame.t);
        frames.poses.extend(frame.X_WB.iter().flat_map(pose_to_array));
        frames.q.extend(&frame.q);
        frames.v.extend(&frame.v);
        frames.q_cmd.extend(&frame.q_cmd);
        frames.effort.extend(&frame.effort);
        frames.n_contacts.push(frame.contacts.len());
        let columns = &mut frames.contacts;
        for c in &frame.contacts {
            columns.a.push(c.a);
            columns.b.push(c.b);
            columns.p.extend(c.p_W.to_array());
            columns.n.extend(c.n_AB_W.to_array());
            columns.phi.push(c.phi);
            columns.phi_next.push(c.phi_next);
            columns.normal_force.push(c.normal_force);
            columns.force.extend(c.force_W.to_array());
            columns.spin.push(c.spin);
            if rolls {
                columns.roll.extend(c.roll_W.to_array());
            }
            columns.mode.push(c.mode as u8);
            columns.mu.push(c.mu);
            if let (Some(key), true) = (c.key, keyed) {
                columns.shape_a.push(key.shape_a);
                columns.shape_b.push(key.shape_b);
                columns.feature.push(key.feature);
            }
        }
    }
    frames.uniqueness = answers(&r.frames);
    let mut images: Vec<Arc<Image>> = Vec::new();
    let mut paint = |paint: &Paint| match paint {
        Paint::Vertices(colors) => Paint1::Vertices(colors.clone()),
        Paint::Texture { uv, image } => {
            let known = images.iter().position(|known| known == image);
            let index = known.unwrap_or_else(|| {
                images.push(image.clone());
                images.len() - 1
            });
            Paint1::Texture { uv: uv.clone(), image: index }
        }
    };
    let shapes = r
        .shapes
        .iter()
        .map(|s| Shape1 {
            body: s.body,
            name: s.name.clone(),
            pose: pose_to_array(&s.X_BG),
            geometry: s.geometry.clone(),
            color: s.color,
            paint: s.paint.as_ref().map(&mut paint),
            role: s.role,
        })
        .collect();
    File1 {
        format: FORMAT.to_owned(),
        version: VERSION,
        scene: r.scene.clone(),
        title: r.title.clone(),
        time_step: r.time_step,
        finish: r.finish.clone(),
        bodies: r.bodies.clone(),
        coordinates: r.coordinates.clone(),
        dofs: r.dofs.clone(),
        commands: r.commands.clone(),
        collision_shapes: r.collision_shapes.clone(),
        images: images
            .iter()
            .map(|image| Image1 { mime: image.mime.clone(), data: STANDARD.encode(&image.bytes) })
            .collect(),
        shapes,
        frames,
    }
}

/// What frames say of uniqueness; nothing if none says anything.
fn answers(frames: &[Frame]) -> Option<Answers1> {
    let mut all = Answers1::default();
    for frame in frames.iter().skip(1) {
        if let Some(answer) = &frame.uniqueness
            && all.answers.last() != Some(answer)
        {
            all.answers.push(answer.clone());
        }
        all.steps.push(frame.uniqueness.as_ref().map(|_| all.answers.len() - 1));
    }
    (!all.answers.is_empty()).then_some(all)
}

fn from_columns(f: File1) -> Result<Recording, String> {
    let c = &f.frames;
    let n = c.t.len();
    let n_cmd = f.commands.len();
    let n_contacts = c.n_contacts.iter().try_fold(0_usize, |sum, k| sum.checked_add(*k));
    let n_contacts = n_contacts.ok_or("the numbers of contacts overflow")?;
    let per = |count: usize, each: usize| count.saturating_mul(each);
    let k = &c.contacts;
    for (name, got, want) in [
        ("poses", c.poses.len(), per(n, per(f.bodies.len(), 7))),
        ("q", c.q.len(), per(n, f.coordinates.len())),
        ("v", c.v.len(), per(n, f.dofs.len())),
        ("q_cmd", c.q_cmd.len(), per(n.saturating_sub(1), n_cmd)),
        ("effort", c.effort.len(), per(n.saturating_sub(1), n_cmd)),
        ("n_contacts", c.n_contacts.len(), n),
        ("contacts.a", k.a.len(), n_contacts),
        ("contacts.b", k.b.len(), n_contacts),
        ("contacts.p", k.p.len(), per(n_contacts, 3)),
        ("contacts.n", k.n.len(), per(n_contacts, 3)),
        ("contacts.phi", k.phi.len(), n_contacts),
        ("contacts.phi_next", k.phi_next.len(), n_contacts),
        ("contacts.normal_force", k.normal_force.len(), n_contacts),
        ("contacts.force", k.force.len(), per(n_contacts, 3)),
        ("contacts.spin", k.spin.len(), n_contacts),
        ("contacts.roll", k.roll.len(), if k.roll.is_empty() { 0 } else { per(n_contacts, 3) }),
        ("contacts.mode", k.mode.len(), n_contacts),
        ("contacts.mu", k.mu.len(), n_contacts),
        ("contacts.shape_a", k.shape_a.len(), if k.shape_a.is_empty() { 0 } else { n_contacts }),
        ("contacts.shape_b", k.shape_b.len(), k.shape_a.len()),
        ("contacts.feature", k.feature.len(), k.shape_a.len()),
    ] {
        if got != want {
            return Err(format!("column `{name}` has {got} entries; expected {want}"));
        }
    }
    if let Some(said) = &c.uniqueness {
        let (got, want) = (said.steps.len(), n.saturating_sub(1));
        if got != want {
            return Err(format!("column `uniqueness.steps` has {got} entries; expected {want}"));
        }
        let answers = said.answers.len();
        if let Some(k) = said.steps.iter().flatten().find(|k| **k >= answers) {
            return Err(format!("`uniqueness.steps` speaks of answer {k} of {answers}"));
        }
    }
    // frame i >= 1 owns entry i - 1
    let said = |i: usize| {
        let said = c.uniqueness.as_ref()?;
        (*said.steps.get(i.checked_sub(1)?)?).map(|k| said.answers[k].clone())
    };
    let n_b = f.bodies.len();
    let (n_q, n_v) = (f.coordinates.len(), f.dofs.len());
    let mut frames = Vec::with_capacity(n);
    let mut first = 0;
    for i in 0..n {
        // commands start with the first step: frame i >= 1 owns row i - 1
        let row = if i == 0 { 0..0 } else { (i - 1) * n_cmd..i * n_cmd };
        let mut contacts = Vec::with_capacity(c.n_contacts[i]);
        for j in first..first + c.n_contacts[i] {
            let mode = *Mode::ALL
                .get(usize::from(k.mode[j]))
                .ok_or_else(|| format!("contact mode {}; valid are 0, 1, 2", k.mode[j]))?;
            contacts.push(Contact {
                a: k.a[j],
                b: k.b[j],
                p_W: vector(&k.p, j),
                n_AB_W: vector(&k.n, j),
                phi: k.phi[j],
                phi_next: k.phi_next[j],
                normal_force: k.normal_force[j],
                force_W: vector(&k.force, j),
                spin: k.spin[j],
                roll_W: if k.roll.is_empty() { Vec3::ZERO } else { vector(&k.roll, j) },
                mode,
                mu: k.mu[j],
                key: k.shape_a.get(j).map(|&shape_a| ContactKey {
                    shape_a,
                    shape_b: k.shape_b[j],
                    feature: k.feature[j],
                }),
            });
        }
        first += c.n_contacts[i];
        let (poses, _) = c.poses[7 * n_b * i..7 * n_b * (i + 1)].as_chunks::<7>();
        frames.push(Frame {
            t: c.t[i],
            X_WB: poses.iter().map(array_to_pose).collect(),
            q: c.q[n_q * i..n_q * (i + 1)].to_vec(),
            v: c.v[n_v * i..n_v * (i + 1)].to_vec(),
            q_cmd: c.q_cmd[row.clone()].to_vec(),
            effort: c.effort[row].to_vec(),
            contacts,
            uniqueness: said(i),
        });
    }
    let images: Vec<Arc<Image>> = f
        .images
        .into_iter()
        .enumerate()
        .map(|(k, Image1 { mime, data })| match STANDARD.decode(data) {
            Ok(bytes) => Ok(Arc::new(Image { mime, bytes })),
            Err(e) => Err(format!("image {k} is no base64: {e}")),
        })
        .collect::<Result<_, _>>()?;
    let paint = |paint: Paint1| match paint {
        Paint1::Vertices(colors) => Ok(Paint::Vertices(colors)),
        Paint1::Texture { uv, image } => match images.get(image) {
            Some(image) => Ok(Paint::Texture { uv, image: image.clone() }),
            None => Err(format!("a shape is painted with image {image} of {}", images.len())),
        },
    };
    let shape = |s: Shape1| {
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
        scene: f.scene,
        title: f.title,
        time_step: f.time_step,
        bodies: f.bodies,
        collision_shapes: f.collision_shapes,
        shapes: f.shapes.into_iter().map(shape).collect::<Result<_, String>>()?,
        coordinates: f.coordinates,
        dofs: f.dofs,
        commands: f.commands,
        frames,
        finish: f.finish,
    })
}

fn vector(column: &[f64], i: usize) -> Vec3 {
    Vec3::new(column[3 * i], column[3 * i + 1], column[3 * i + 2])
}

fn array_to_pose(a: &[f64; 7]) -> Pose {
    Pose::new(Quat::new(a[0], a[1], a[2], a[3]), Vec3::new(a[4], a[5], a[6]))
}
