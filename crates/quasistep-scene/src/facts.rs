//! Facts that a scene states of its own run, each with its source, and their check.

use crate::document::At;
use crate::names::{body_index, find_body, fits_body};
use quasistep::System;
use quasistep_formats::{SceneError, list, unknown};
use quasistep_math::{Pose, Vec3};
use quasistep_record::{Contact, Frame, Mode, Recording};

/// Something that must hold in a run of the scene as shipped.
#[derive(Clone, Debug)]
pub struct Fact {
    /// Where the number comes from.
    pub source: String,
    what: What,
    value: f64,
    tolerance: f64,
}

#[derive(Clone, Debug)]
enum What {
    Coordinate { t: f64, name: String },
    Effort { t: f64, name: String },
    NormalForce { t: f64, pair: [String; 2] },
    FrictionForce { t: f64, pair: [String; 2] },
    SpinTorque { t: f64, pair: [String; 2] },
    Mode { t: f64, pair: [String; 2], mode: Mode },
    Gap { t: f64, pair: [String; 2] },
    Drift { from: f64, to: f64, body: String },
    Turn { from: f64, to: f64, body: String },
    Height { t: f64, body: String },
    Tilt { t: f64, body: String },
    Count(Count),
}

#[derive(Clone, Copy, Debug)]
enum Count {
    Dofs,
    Bodies,
    Steps,
    Contacts,
}

/// Whether a fact holds.
#[derive(Clone, Debug)]
pub struct FactResult {
    /// True if it does.
    pub ok: bool,
    /// What was seen in the run; NaN if it could not be measured.
    pub seen: f64,
    /// The fact in words, with both numbers and the source.
    pub text: String,
}

const KINDS: [&str; 12] = [
    "coordinate",
    "effort",
    "normal_force",
    "friction_force",
    "spin_torque",
    "mode",
    "gap",
    "drift",
    "turn",
    "height",
    "tilt",
    "count",
];

impl Fact {
    pub(crate) fn read(at: &At<'_>, system: &System) -> Result<Self, SceneError> {
        let mut keys = vec!["at", "from", "to", "value", "tolerance", "source"];
        keys.extend(KINDS);
        let map = at.map(&keys)?;
        let given: Vec<&str> = map.keys().filter(|k| KINDS.contains(k)).collect();
        let [kind] = given.as_slice() else {
            return Err(at.error(format!("a fact speaks of one of {}", list(&KINDS))));
        };
        let model = system.model();
        let bodies: Vec<&str> = model.bodies().iter().map(|b| b.name.as_str()).collect();
        let coordinates = model.coordinate_names();
        let subject = map.need(kind)?;
        let time = |key: &str| map.need(key)?.non_negative("s");
        let named = |what: &str, valid: &[&str]| -> Result<String, SceneError> {
            let name = subject.text()?;
            if valid.contains(&name) {
                return Ok(name.to_owned());
            }
            Err(subject.error(unknown(what, name, valid)))
        };
        let body = || body_index(subject, model).map(|index| bodies[index].to_owned());
        let coordinate =
            || named("coordinate", &coordinates.iter().map(String::as_str).collect::<Vec<_>>());
        let pair = || pair(subject, &bodies);
        let what = match *kind {
            "coordinate" => What::Coordinate { t: time("at")?, name: coordinate()? },
            "effort" => {
                // of a frame's spring what stands behind its name in commands
                let mut names = system.command_names();
                names.extend(coordinates.iter().cloned());
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                What::Effort { t: time("at")?, name: named("coordinate", &names)? }
            }
            "normal_force" => What::NormalForce { t: time("at")?, pair: pair()? },
            "friction_force" => What::FrictionForce { t: time("at")?, pair: pair()? },
            "spin_torque" => What::SpinTorque { t: time("at")?, pair: pair()? },
            "gap" => What::Gap { t: time("at")?, pair: pair()? },
            "mode" => {
                let words =
                    [("separate", Mode::Separate), ("stick", Mode::Stick), ("slide", Mode::Slide)];
                What::Mode { t: time("at")?, pair: pair()?, mode: map.need("value")?.word(&words)? }
            }
            "drift" => What::Drift { from: time("from")?, to: time("to")?, body: body()? },
            "turn" => What::Turn { from: time("from")?, to: time("to")?, body: body()? },
            "height" => What::Height { t: time("at")?, body: body()? },
            "tilt" => What::Tilt { t: time("at")?, body: body()? },
            _ => What::Count(subject.word(&[
                ("dofs", Count::Dofs),
                ("bodies", Count::Bodies),
                ("steps", Count::Steps),
                ("contacts", Count::Contacts),
            ])?),
        };
        let tolerance = || map.need("tolerance")?.non_negative("the value's unit");
        let (value, tolerance) = match what {
            What::Mode { .. } => (0.0, 0.0),
            What::Count(Count::Contacts) => (map.need("value")?.number("")?, tolerance()?),
            What::Count(_) => (map.need("value")?.number("")?, 0.0),
            _ => (map.need("value")?.number("m, rad, N or N·m")?, tolerance()?),
        };
        Ok(Self { source: map.need("source")?.text()?.to_owned(), what, value, tolerance })
    }

    /// Holds this fact against a finished run of the scene, whose system this is.
    pub fn check(&self, recording: &Recording, system: &System) -> FactResult {
        let (text, seen) = match &self.what {
            What::Mode { t, pair, mode } => {
                let seen = at(recording, *t).and_then(|f| {
                    contacts(recording, f, pair).map(|c| c.mode).max_by_key(|m| *m as u8)
                });
                let ok = seen == Some(*mode);
                let seen_word = seen.map_or("no contact", Mode::name);
                let text = format!(
                    "at {t} s, {} and {}: {seen_word}, stated {} ({})",
                    pair[0],
                    pair[1],
                    mode.name(),
                    self.source
                );
                return FactResult { ok, seen: f64::NAN, text };
            }
            What::Coordinate { t, name } => (
                format!("{name} at {t} s"),
                at(recording, *t).and_then(|f| recording.coordinate(name).map(|i| f.q[i])),
            ),
            What::Effort { t, name } => (
                format!("drive force of {name} at {t} s"),
                at(recording, *t).and_then(|f| f.effort.get(recording.command(name)?).copied()),
            ),
            What::FrictionForce { t, pair } => (
                format!("friction force of {} and {} at {t} s", pair[0], pair[1]),
                at(recording, *t).map(|f| {
                    contacts(recording, f, pair)
                        .map(|c| (c.force_W - c.n_AB_W * c.normal_force) * side(recording, c, pair))
                        .fold(Vec3::ZERO, |sum, force| sum + force)
                        .norm()
                }),
            ),
            What::NormalForce { t, pair } => (
                format!("normal force of {} and {} at {t} s", pair[0], pair[1]),
                at(recording, *t)
                    .map(|f| contacts(recording, f, pair).map(|c| c.normal_force).sum()),
            ),
            What::SpinTorque { t, pair } => (
                format!("spin torque of {} and {} at {t} s", pair[0], pair[1]),
                at(recording, *t).map(|f| contacts(recording, f, pair).map(|c| c.spin.abs()).sum()),
            ),
            What::Gap { t, pair } => (
                format!("gap of {} and {} at {t} s", pair[0], pair[1]),
                at(recording, *t).and_then(|f| {
                    contacts(recording, f, pair).map(|c| c.phi_next).min_by(f64::total_cmp)
                }),
            ),
            What::Drift { from, to, body } => (
                format!("drift of {body} from {from} s to {to} s"),
                drift(recording, *from, *to, body),
            ),
            What::Turn { from, to, body } => (
                format!("turn of {body} from {from} s to {to} s"),
                turn(recording, *from, *to, body),
            ),
            What::Height { t, body } => (
                format!("height of {body} at {t} s"),
                at(recording, *t)
                    .and_then(|f| recording.body(body).map(|b| f.X_WB[b].translation.z)),
            ),
            What::Tilt { t, body } => (
                format!("angle that {body} has turned by {t} s"),
                at(recording, *t).and_then(|f| {
                    let b = recording.body(body)?;
                    Some(angle(&recording.frames.first()?.X_WB[b], &f.X_WB[b]))
                }),
            ),
            What::Count(count) => {
                let model = system.model();
                let steps = recording.frames.len().saturating_sub(1);
                let seen = match count {
                    Count::Dofs => model.n_v() as f64,
                    Count::Bodies => (model.n_bodies() - 1) as f64,
                    Count::Steps => steps as f64,
                    Count::Contacts => {
                        let points: usize = recording.frames.iter().map(|f| f.contacts.len()).sum();
                        points as f64 / steps as f64
                    }
                };
                (format!("number of {count:?}").to_lowercase(), Some(seen))
            }
        };
        let seen = seen.unwrap_or(f64::NAN);
        let ok = (seen - self.value).abs() <= self.tolerance;
        let text =
            format!("{text}: {seen}, stated {} ± {} ({})", self.value, self.tolerance, self.source);
        FactResult { ok, seen, text }
    }
}

/// Two bodies, or patterns that fit some.
fn pair(at: &At<'_>, bodies: &[&str]) -> Result<[String; 2], SceneError> {
    let names = at.list()?;
    let [a, b] = names.as_slice() else {
        return Err(at.error(format!("{} names were seen; give two bodies", names.len())));
    };
    let name = |at: &At<'_>| -> Result<String, SceneError> {
        let pattern = at.text()?;
        if let Some(body) = find_body(pattern, bodies.iter().copied()) {
            return Ok(body.to_owned());
        }
        if bodies.iter().any(|body| fits_body(pattern, body)) {
            return Ok(pattern.to_owned());
        }
        Err(at.error(unknown("body", pattern, bodies)))
    };
    Ok([name(a)?, name(b)?])
}

/// The frame at a time, to a thousandth of a step.
fn at(recording: &Recording, t: f64) -> Option<&Frame> {
    recording.frames.iter().find(|f| (f.t - t).abs() <= 1e-3 * recording.time_step)
}

/// Contacts between two bodies, which may be patterns.
fn contacts<'a>(
    recording: &'a Recording,
    frame: &'a Frame,
    pair: &'a [String; 2],
) -> impl Iterator<Item = &'a Contact> {
    frame.contacts.iter().filter(move |c| side(recording, c, pair) != 0.0)
}

/// +1 if the contact's bodies A and B are the pair in this order, −1 in the other, 0 if they are not.
fn side(recording: &Recording, c: &Contact, pair: &[String; 2]) -> f64 {
    let (a, b) = (recording.bodies[c.a].as_str(), recording.bodies[c.b].as_str());
    if fits_body(&pair[0], a) && fits_body(&pair[1], b) {
        1.0
    } else if fits_body(&pair[0], b) && fits_body(&pair[1], a) {
        -1.0
    } else {
        0.0
    }
}

/// Angle between two orientations, in rad.
fn angle(a: &Pose, b: &Pose) -> f64 {
    (a.rotation.inverse() * b.rotation).to_rotation_vector().norm()
}

/// Greatest angle of a body from how it lies at `from`, in rad.
fn turn(recording: &Recording, from: f64, to: f64, body: &str) -> Option<f64> {
    let b = recording.body(body)?;
    let slack = 1e-3 * recording.time_step;
    let inside = recording.frames.iter().filter(|f| f.t >= from - slack && f.t <= to + slack);
    let poses: Vec<_> = inside.map(|f| f.X_WB[b]).collect();
    let first = poses.first()?;
    Some(poses.iter().map(|X| angle(first, X)).fold(0.0, f64::max))
}

/// Greatest distance of a body from where it is at `from`, in m.
fn drift(recording: &Recording, from: f64, to: f64, body: &str) -> Option<f64> {
    let b = recording.body(body)?;
    let slack = 1e-3 * recording.time_step;
    let inside = recording.frames.iter().filter(|f| f.t >= from - slack && f.t <= to + slack);
    let positions: Vec<_> = inside.map(|f| f.X_WB[b].translation).collect();
    let first = *positions.first()?;
    Some(positions.iter().map(|p| (*p - first).norm()).fold(0.0, f64::max))
}
