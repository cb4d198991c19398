//! Facts that a scene states about its own run, each with its source; and their checks.

use crate::document::At;
use crate::names::{body_index, find_body, fits_body};
use crate::sensors::recorded;
use quasistep::{Sensor, System};
use quasistep_formats::{SceneError, list, unknown};
use quasistep_math::{Pose, Vec3};
use quasistep_record::{Contact, Frame, Mode, Recording, SensorKind};

/// A statement that must hold in a run of the unchanged scene.
#[derive(Clone, Debug)]
pub struct Fact {
    /// Source of the number.
    pub source: String,
    what: What,
    value: f64,
    tolerance: f64,
}

#[derive(Clone, Debug)]
enum What {
    Coordinate { t: f64, name: String },
    Effort { t: f64, name: String },
    Reading { t: f64, sensor: String, column: Option<usize> },
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

/// Result of checking a fact.
#[derive(Clone, Debug)]
pub struct FactResult {
    /// True if the fact holds.
    pub ok: bool,
    /// Value measured in the run; NaN if it could not be measured.
    pub seen: f64,
    /// The fact in words, with expected and measured value and the source.
    pub text: String,
}

const KINDS: [&str; 13] = [
    "coordinate",
    "effort",
    "sensor",
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
    pub(crate) fn read(
        at: &At<'_>,
        system: &System,
        sensors: &[Sensor],
    ) -> Result<Self, SceneError> {
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
                // for a frame's spring, the part of its command name after the frame
                let mut names = system.command_names();
                names.extend(coordinates.iter().cloned());
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                What::Effort { t: time("at")?, name: named("coordinate", &names)? }
            }
            "sensor" => reading(time("at")?, subject, sensors)?,
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

    /// Times that the fact speaks of, in s.
    pub(crate) fn times(&self) -> impl Iterator<Item = f64> {
        let span = match self.what {
            What::Drift { from, to, .. } | What::Turn { from, to, .. } => [Some(from), Some(to)],
            _ => [self.what.time(), None],
        };
        span.into_iter().flatten()
    }

    /// Checks this fact against a finished run of the scene with this system.
    pub fn check(&self, recording: &Recording, system: &System) -> FactResult {
        let mut watch = FactWatch::new(self);
        recording.frames.iter().for_each(|frame| watch.see(recording, frame));
        watch.result(system)
    }
}

/// Checks a fact during its run. Frames must be passed in order; only the needed data are kept.
#[derive(Clone, Debug)]
pub struct FactWatch<'a> {
    fact: &'a Fact,
    n_frames: usize,
    n_contacts: usize,
    /// Pose of the body concerned at the start of the run.
    first: Option<Pose>,
    seen: Option<f64>,
    mode: Option<Mode>,
}

impl<'a> FactWatch<'a> {
    /// A watch that has seen no frame.
    pub fn new(fact: &'a Fact) -> Self {
        Self { fact, n_frames: 0, n_contacts: 0, first: None, seen: None, mode: None }
    }

    /// Processes the next frame of a run. `head` is its recording; frames in it are not used.
    pub fn see(&mut self, head: &Recording, frame: &Frame) {
        let slack = 1e-3 * head.time_step;
        let is_first = self.n_frames == 0;
        self.n_frames += 1;
        self.n_contacts += frame.contacts.len();
        let pose = |body: &String| head.body(body).map(|b| frame.X_WB[b]);
        match &self.fact.what {
            What::Drift { from, to, body } | What::Turn { from, to, body } => {
                if frame.t < from - slack || frame.t > to + slack {
                    return;
                }
                let Some(X) = pose(body) else { return };
                let first = *self.first.get_or_insert(X);
                let now = if matches!(self.fact.what, What::Drift { .. }) {
                    (X.translation - first.translation).norm()
                } else {
                    angle(&first, &X)
                };
                self.seen = Some(self.seen.map_or(now, |most| most.max(now)));
            }
            What::Tilt { body, .. } if is_first => self.first = pose(body),
            _ => {}
        }
        if let Some(t) = self.fact.what.time()
            && (frame.t - t).abs() <= slack
            && self.seen.is_none()
            && self.mode.is_none()
        {
            self.mode = self.fact.what.mode(head, frame);
            self.seen = self.fact.what.measure(head, frame, self.first.as_ref());
        }
    }

    /// Checks the fact against the frames seen.
    pub fn result(&self, system: &System) -> FactResult {
        let Fact { source, what, value, tolerance } = self.fact;
        if let What::Mode { t, pair: [a, b], mode } = what {
            let seen = self.mode.map_or("no contact", Mode::name);
            let stated = mode.name();
            let text = format!("at {t} s, {a} and {b}: {seen}, stated {stated} ({source})");
            return FactResult { ok: self.mode == Some(*mode), seen: f64::NAN, text };
        }
        let seen = match what {
            What::Count(count) => {
                let steps = self.n_frames.saturating_sub(1) as f64;
                match count {
                    Count::Dofs => system.model().n_v() as f64,
                    Count::Bodies => (system.model().n_bodies() - 1) as f64,
                    Count::Steps => steps,
                    Count::Contacts => self.n_contacts as f64 / steps,
                }
            }
            _ => self.seen.unwrap_or(f64::NAN),
        };
        let ok = (seen - value).abs() <= *tolerance;
        let text = format!("{}: {seen}, stated {value} ± {tolerance} ({source})", what.words());
        FactResult { ok, seen, text }
    }
}

impl What {
    /// The time of the measurement, in s; `None` if it uses the whole run.
    fn time(&self) -> Option<f64> {
        match self {
            Self::Coordinate { t, .. }
            | Self::Effort { t, .. }
            | Self::Reading { t, .. }
            | Self::NormalForce { t, .. }
            | Self::FrictionForce { t, .. }
            | Self::SpinTorque { t, .. }
            | Self::Mode { t, .. }
            | Self::Gap { t, .. }
            | Self::Height { t, .. }
            | Self::Tilt { t, .. } => Some(*t),
            Self::Drift { .. } | Self::Turn { .. } | Self::Count(_) => None,
        }
    }

    /// Description of the measured quantity.
    fn words(&self) -> String {
        let of =
            |what: &str, [a, b]: &[String; 2], t: &f64| format!("{what} of {a} and {b} at {t} s");
        match self {
            Self::Coordinate { t, name } => format!("{name} at {t} s"),
            Self::Effort { t, name } => format!("drive force of {name} at {t} s"),
            Self::Reading { t, sensor, column: None } => format!("sum of {sensor} at {t} s"),
            Self::Reading { t, sensor, column: Some(k) } => {
                format!("reading {k} of {sensor} at {t} s")
            }
            Self::FrictionForce { t, pair } => of("friction force", pair, t),
            Self::NormalForce { t, pair } => of("normal force", pair, t),
            Self::SpinTorque { t, pair } => of("spin torque", pair, t),
            Self::Mode { t, pair, .. } => of("mode", pair, t),
            Self::Gap { t, pair } => of("gap", pair, t),
            Self::Drift { from, to, body } => format!("drift of {body} from {from} s to {to} s"),
            Self::Turn { from, to, body } => format!("turn of {body} from {from} s to {to} s"),
            Self::Height { t, body } => format!("height of {body} at {t} s"),
            Self::Tilt { t, body } => format!("angle that {body} has turned by {t} s"),
            Self::Count(count) => format!("number of {count:?}").to_lowercase(),
        }
    }

    fn mode(&self, head: &Recording, frame: &Frame) -> Option<Mode> {
        let Self::Mode { pair, .. } = self else { return None };
        contacts(head, frame, pair).map(|c| c.mode).max_by_key(|m| *m as u8)
    }

    /// The measured quantity in a frame; `first` is the pose of the body at the start of the run.
    fn measure(&self, head: &Recording, frame: &Frame, first: Option<&Pose>) -> Option<f64> {
        match self {
            Self::Coordinate { name, .. } => head.coordinate(name).map(|i| frame.q[i]),
            Self::Effort { name, .. } => frame.effort.get(head.command(name)?).copied(),
            Self::Reading { sensor, column, .. } => {
                let (_, range) = head.sensor(sensor)?;
                let readings = frame.sensors.get(range)?;
                column.map_or_else(|| Some(readings.iter().sum()), |k| readings.get(k).copied())
            }
            Self::FrictionForce { pair, .. } => {
                let sum = contacts(head, frame, pair)
                    .map(|c| (c.force_W - c.n_AB_W * c.normal_force) * side(head, c, pair))
                    .fold(Vec3::ZERO, |sum, force| sum + force);
                Some(sum.norm())
            }
            Self::NormalForce { pair, .. } => {
                Some(contacts(head, frame, pair).map(|c| c.normal_force).sum())
            }
            Self::SpinTorque { pair, .. } => {
                Some(contacts(head, frame, pair).map(|c| c.spin.abs()).sum())
            }
            Self::Gap { pair, .. } => {
                contacts(head, frame, pair).map(|c| c.phi_next).min_by(f64::total_cmp)
            }
            Self::Height { body, .. } => head.body(body).map(|b| frame.X_WB[b].translation.z),
            Self::Tilt { body, .. } => Some(angle(first?, &frame.X_WB[head.body(body)?])),
            Self::Mode { .. } | Self::Drift { .. } | Self::Turn { .. } | Self::Count(_) => None,
        }
    }
}

/// A fact about a column of `sensors.csv`, or about the sum of a pressure array.
fn reading(t: f64, at: &At<'_>, sensors: &[Sensor]) -> Result<What, SceneError> {
    let name = at.text()?;
    let mut valid = Vec::new();
    for sensor in sensors.iter().map(recorded) {
        let columns = sensor.columns();
        if let Some(column) = columns.iter().position(|column| column == name) {
            return Ok(What::Reading { t, sensor: sensor.name, column: Some(column) });
        }
        if sensor.kind == SensorKind::Pressure {
            if sensor.name == name {
                return Ok(What::Reading { t, sensor: sensor.name, column: None });
            }
            valid.push(sensor.name);
        } else {
            valid.extend(columns);
        }
    }
    let valid: Vec<&str> = valid.iter().map(String::as_str).collect();
    Err(at.error(unknown("reading", name, &valid)))
}

/// Two body names or patterns.
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

/// Contacts between two bodies, which may be patterns.
fn contacts<'a>(
    recording: &'a Recording,
    frame: &'a Frame,
    pair: &'a [String; 2],
) -> impl Iterator<Item = &'a Contact> {
    frame.contacts.iter().filter(move |c| side(recording, c, pair) != 0.0)
}

/// +1 if bodies A and B of the contact match the pair in this order, −1 in reverse order, 0
/// otherwise.
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
