//! Files that grow during a run: recording, tables, and a summary of its progress.

use crate::failure::Failure;
use quasistep_record::{
    ContactsCsv, Digits, Finish, Frame, Recording, RecordingWriter, SensorsCsv, StatesCsv,
    write_whole,
};
use quasistep_scene::Scene;
use serde_json::json;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Interval between flushes. A killed run loses at most this time and its current block of frames.
const BETWEEN_FLUSHES: Duration = Duration::from_secs(1);

type Out = BufWriter<File>;

/// Writes frames as they are computed.
pub struct Stream {
    place: PathBuf,
    recording: RecordingWriter<Out>,
    tables: Option<(StatesCsv<Out>, ContactsCsv<Out>)>,
    /// Table of readings, of a scene with sensors.
    sensors: Option<SensorsCsv<Out>>,
    /// Every `every`-th frame is kept.
    every: usize,
    /// Number of frames received.
    n_frames: usize,
    /// The newest frame, if it is not kept.
    last: Option<Frame>,
    flushed: Instant,
    scene: String,
    title: String,
}

impl Stream {
    /// Opens the files of a run in a folder; `head` is its recording without frames.
    pub fn start(
        place: &Path,
        scene: &Scene,
        head: &Recording,
        every: usize,
        with_tables: bool,
    ) -> Result<Self, Failure> {
        let create = |name: &str| {
            let path = place.join(name);
            File::create(&path).map(BufWriter::new).map_err(|e| unwritable(&path, &e))
        };
        let of_file = |name: &str, e: &io::Error| unwritable(&place.join(name), e);
        let recording = RecordingWriter::new(create("recording.qsr")?, head, Digits::Single)
            .map_err(|e| of_file("recording.qsr", &e))?;
        let tables = if with_tables {
            let states = StatesCsv::new(create("states.csv")?, &head.coordinates, &head.dofs)
                .map_err(|e| of_file("states.csv", &e))?;
            let out = create("contacts.csv")?;
            let contacts = ContactsCsv::new(out, &head.bodies, &head.collision_shapes)
                .map_err(|e| of_file("contacts.csv", &e))?;
            Some((states, contacts))
        } else {
            None
        };
        let sensors = if with_tables && !head.sensors.is_empty() {
            let table = SensorsCsv::new(create("sensors.csv")?, &head.sensors);
            Some(table.map_err(|e| of_file("sensors.csv", &e))?)
        } else {
            None
        };
        let stream = Self {
            place: place.to_owned(),
            recording,
            tables,
            sensors,
            every,
            n_frames: 0,
            last: None,
            flushed: Instant::now(),
            scene: scene.name.clone(),
            title: scene.title.clone(),
        };
        stream.tell_progress(scene.start.time)?;
        Ok(stream)
    }

    /// Adds the next frame.
    pub fn push(&mut self, frame: Frame) -> Result<(), Failure> {
        let t = frame.t;
        let is_kept = self.n_frames.is_multiple_of(self.every);
        self.n_frames += 1;
        if is_kept {
            self.last = None;
            self.write(frame)?;
        } else {
            self.last = Some(frame);
        }
        if self.flushed.elapsed() >= BETWEEN_FLUSHES {
            self.recording.flush().map_err(|e| self.unwritable("recording.qsr", &e))?;
            self.tell_progress(t)?;
            self.flushed = Instant::now();
        }
        Ok(())
    }

    fn write(&mut self, frame: Frame) -> Result<(), Failure> {
        let written = match &mut self.tables {
            Some((states, contacts)) => states
                .append(&frame)
                .map_err(|e| ("states.csv", e))
                .and_then(|()| contacts.append(&frame).map_err(|e| ("contacts.csv", e))),
            None => Ok(()),
        };
        let sensors = self.sensors.as_mut().map_or(Ok(()), |table| table.append(&frame));
        written
            .and_then(|()| sensors.map_err(|e| ("sensors.csv", e)))
            .and_then(|()| self.recording.append(frame).map_err(|e| ("recording.qsr", e)))
            .map_err(|(name, e)| self.unwritable(name, &e))
    }

    /// Completes and closes the files.
    pub fn finish(mut self, finish: &Finish) -> Result<(), Failure> {
        if let Some(frame) = self.last.take() {
            self.write(frame)?;
        }
        let place = self.place;
        self.recording
            .finish(finish)
            .map(drop)
            .map_err(|e| unwritable(&place.join("recording.qsr"), &e))
    }

    /// Writes `summary.json` of an unfinished run. Its recording is written up to the time `t` (s).
    fn tell_progress(&self, t: f64) -> Result<(), Failure> {
        let summary = json!({
            "scene": self.scene,
            "title": self.title,
            "quasistep": env!("CARGO_PKG_VERSION"),
            "finished": false,
            "stopped": format!("the run goes on, or was killed; its files are written at least up to t = {t} s"),
            "end_s": t,
            "steps": self.n_frames.saturating_sub(1),
        });
        write_text(&self.place.join("summary.json"), &format!("{summary:#}\n"))
    }

    fn unwritable(&self, name: &str, e: &io::Error) -> Failure {
        unwritable(&self.place.join(name), e)
    }
}

/// Writes a small file.
pub fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    write_whole(path, |out| out.write_all(text.as_bytes())).map_err(|e| unwritable(path, &e))
}

fn unwritable(path: &Path, e: &io::Error) -> Failure {
    Failure::files(format!("{}: {e}", path.display()))
}
