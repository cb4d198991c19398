//! Writes `states.csv`, `contacts.csv` and `sensors.csv`, row by row.

use crate::query::{continue_quaternions, quaternion_starts};
use crate::{ContactKey, Frame, RecordError, RecordedSensor, Recording, write_whole};
use quasistep_math::shown;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// First line of `contacts.csv`.
pub const CONTACTS_HEADER: &str = "t,a,b,px,py,pz,nx,ny,nz,phi,phi_next,fn,fx,fy,fz,spin,mode,shape_a,shape_b,feature,rollx,rolly,rollz,mu";

/// Writes `states.csv` frame by frame. Columns are `t` in s, then one per coordinate, then one per
/// dof with the prefix `v.` if the recording has velocities.
///
/// The sign of quaternions is continued from row to row. Every row is flushed, so that an
/// interrupted run leaves all rows written so far.
pub struct StatesCsv<W: Write> {
    out: W,
    n_q: usize,
    n_v: usize,
    starts: Vec<usize>,
    previous: Vec<f64>,
}

impl<W: Write> StatesCsv<W> {
    /// Writes the header.
    ///
    /// # Errors
    ///
    /// Errors of the writer.
    pub fn new(mut out: W, coordinates: &[String], dofs: &[String]) -> io::Result<Self> {
        let mut line = String::from("t");
        let rates = dofs.iter().map(|name| field(&format!("v.{name}")));
        for name in coordinates.iter().map(|name| field(name)).chain(rates) {
            line.push(',');
            line.push_str(&name);
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
        out.flush()?;
        let starts = quaternion_starts(coordinates);
        let (n_q, n_v) = (coordinates.len(), dofs.len());
        Ok(Self { out, n_q, n_v, starts, previous: Vec::new() })
    }

    /// Appends the row of a frame.
    ///
    /// # Errors
    ///
    /// Errors of the writer; `InvalidInput` if the frame has a wrong number of coordinates or
    /// rates.
    pub fn append(&mut self, frame: &Frame) -> io::Result<()> {
        for (what, got, want) in
            [("coordinates", frame.q.len(), self.n_q), ("rates", frame.v.len(), self.n_v)]
        {
            if got != want {
                let problem = format!("a frame of {got} {what} in a table of {want}");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
            }
        }
        let mut q = frame.q.clone();
        if !self.previous.is_empty() {
            continue_quaternions(&self.starts, &self.previous, &mut q);
        }
        let mut line = number(clean_time(frame.t));
        for v in q.iter().chain(&frame.v) {
            line.push(',');
            line.push_str(&number(*v));
        }
        line.push('\n');
        self.previous = q;
        self.out.write_all(line.as_bytes())?;
        self.out.flush()
    }
}

/// Writes `contacts.csv` frame by frame: one row for each contact of the step that ends at the
/// frame.
pub struct ContactsCsv<W: Write> {
    out: W,
    bodies: Vec<String>,
    shapes: Vec<String>,
}

impl<W: Write> ContactsCsv<W> {
    /// Writes the header [`CONTACTS_HEADER`]. `bodies` are the names for indices `a` and `b` of
    /// contacts; `shapes` are those for indices in their keys.
    ///
    /// # Errors
    ///
    /// Errors of the writer.
    pub fn new(mut out: W, bodies: &[String], shapes: &[String]) -> io::Result<Self> {
        out.write_all(CONTACTS_HEADER.as_bytes())?;
        out.write_all(b"\n")?;
        out.flush()?;
        let [bodies, shapes] =
            [bodies, shapes].map(|names| names.iter().map(|name| field(name)).collect());
        Ok(Self { out, bodies, shapes })
    }

    /// Appends the contacts of a frame.
    ///
    /// # Errors
    ///
    /// Errors of the writer; `InvalidInput` if a contact has an invalid body or shape index.
    pub fn append(&mut self, frame: &Frame) -> io::Result<()> {
        let t = number(clean_time(frame.t));
        let mut lines = String::new();
        for c in &frame.contacts {
            let (Some(a), Some(b)) = (self.bodies.get(c.a), self.bodies.get(c.b)) else {
                let (a, b, n) = (c.a, c.b, self.bodies.len());
                let problem = format!("a contact between bodies {a} and {b} of {n}");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
            };
            let _ = write!(lines, "{t},{a},{b}"); // writing to a String cannot fail
            let (p, n, f) = (c.p_W, c.n_AB_W, c.force_W);
            for v in [
                p.x,
                p.y,
                p.z,
                n.x,
                n.y,
                n.z,
                c.phi,
                c.phi_next,
                c.normal_force,
                f.x,
                f.y,
                f.z,
                c.spin,
            ] {
                lines.push(',');
                lines.push_str(&number(v));
            }
            lines.push(',');
            lines.push_str(c.mode.name());
            let ContactKey { shape_a, shape_b, feature } = c.key;
            let (Some(a), Some(b)) = (self.shapes.get(shape_a), self.shapes.get(shape_b)) else {
                let n = self.shapes.len();
                let problem = format!("a contact between shapes {shape_a} and {shape_b} of {n}");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
            };
            let _ = write!(lines, ",{a},{b},{feature}");
            for v in c.roll_W.to_array().into_iter().chain([c.mu]) {
                lines.push(',');
                lines.push_str(&number(v));
            }
            lines.push('\n');
        }
        self.out.write_all(lines.as_bytes())?;
        self.out.flush()
    }
}

/// Writes `sensors.csv` frame by frame: one row for each step, at the time of its end.
pub struct SensorsCsv<W: Write> {
    out: W,
    n: usize,
}

impl<W: Write> SensorsCsv<W> {
    /// Writes the header: `t`, then the [columns](RecordedSensor::columns) of each sensor.
    ///
    /// # Errors
    ///
    /// Errors of the writer.
    pub fn new(mut out: W, sensors: &[RecordedSensor]) -> io::Result<Self> {
        let names: Vec<String> = sensors.iter().flat_map(RecordedSensor::columns).collect();
        let fields = names.iter().fold(String::from("t"), |line, name| line + "," + &field(name));
        out.write_all(fields.as_bytes())?;
        out.write_all(b"\n")?;
        out.flush()?;
        Ok(Self { out, n: names.len() })
    }

    /// Appends the row of a frame; none for the first frame of a run, which ends no step.
    ///
    /// # Errors
    ///
    /// Errors of the writer; `InvalidInput` if the frame has a wrong number of readings.
    pub fn append(&mut self, frame: &Frame) -> io::Result<()> {
        let got = frame.sensors.len();
        if got == 0 {
            return Ok(());
        }
        if got != self.n {
            let problem = format!("a frame of {got} readings in a table of {}", self.n);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let mut line = number(clean_time(frame.t));
        for value in &frame.sensors {
            line.push(',');
            line.push_str(&number(*value));
        }
        line.push('\n');
        self.out.write_all(line.as_bytes())?;
        self.out.flush()
    }
}

/// Writes `states.csv` of a recording.
///
/// # Errors
///
/// [`RecordError::Io`] with the file's name.
pub fn write_states_csv(recording: &Recording, path: &Path) -> Result<(), RecordError> {
    let write = |out: &mut BufWriter<File>| {
        let mut table = StatesCsv::new(out, &recording.coordinates, &recording.dofs)?;
        recording.frames.iter().try_for_each(|f| table.append(f))
    };
    write_whole(path, write).map_err(|e| RecordError::io(path, e))
}

/// Writes `contacts.csv` of a recording.
///
/// # Errors
///
/// [`RecordError::Io`] with the file's name.
pub fn write_contacts_csv(recording: &Recording, path: &Path) -> Result<(), RecordError> {
    let write = |out: &mut BufWriter<File>| {
        let mut table = ContactsCsv::new(out, &recording.bodies, &recording.collision_shapes)?;
        recording.frames.iter().try_for_each(|f| table.append(f))
    };
    write_whole(path, write).map_err(|e| RecordError::io(path, e))
}

/// Writes `sensors.csv` of a recording.
///
/// # Errors
///
/// [`RecordError::Io`] with the file's name.
pub fn write_sensors_csv(recording: &Recording, path: &Path) -> Result<(), RecordError> {
    let write = |out: &mut BufWriter<File>| {
        let mut table = SensorsCsv::new(out, &recording.sensors)?;
        recording.frames.iter().try_for_each(|f| table.append(f))
    };
    write_whole(path, write).map_err(|e| RecordError::io(path, e))
}

/// Rounds k h to 12 significant digits: 0.30000000000000004 becomes 0.3.
fn clean_time(t: f64) -> f64 {
    format!("{t:.11e}").parse().unwrap_or(t)
}

/// The shortest decimal that reads back to the same bits, with an exponent for very large or small
/// numbers.
fn number(v: f64) -> String {
    let size = v.abs();
    if v == 0.0 || (1e-5..1e16).contains(&size) { format!("{v}") } else { format!("{v:e}") }
}

/// A name as a CSV field in one line, quoted if RFC 4180 requires it.
fn field(name: &str) -> String {
    let name = shown(name);
    if name.contains([',', '"']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.into_owned()
    }
}
