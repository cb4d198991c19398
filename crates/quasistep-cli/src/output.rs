//! The files of a run: recording, tables, plots and page.

use crate::failure::Failure;
use crate::say;
use crate::stream::Stream;
use crate::wait::Wait;
use clap::Args;
use quasistep_math::shown;
use quasistep_record::{
    ContactsCsv, Finish, Frame, Recording, RecordingReader, SensorsCsv, StatesCsv,
    write_contacts_csv, write_sensors_csv, write_states_csv, write_whole,
};
use quasistep_scene::Scene;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// What a run leaves behind.
#[derive(Args)]
pub struct Output {
    /// Write the tables states.csv and contacts.csv too, and sensors.csv of a scene with sensors
    #[arg(long)]
    csv: bool,
    /// Keep every N-th step and the last one in all files but summary.json
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// Write no 3-D page
    #[arg(long)]
    no_page: bool,
    /// Write the run for Foxglove too, as an MCAP file
    #[arg(long, value_name = "FILE")]
    mcap: Option<PathBuf>,
    /// Write the commands of the joints for a robot's controller too, as a JointTrajectory in JSON or YAML
    #[arg(long, value_name = "FILE")]
    trajectory: Option<PathBuf>,
    /// Open the page in the browser
    #[arg(long, conflicts_with = "no_page")]
    open: bool,
}

/// Memory limit for the frames from which plots and pages are made, in bytes: 2000 frames of a pile
/// with 900 contacts.
const MEMORY_OF_PICTURES: usize = 512_000_000;

impl Output {
    /// Opens the files that grow during a run.
    pub fn stream(&self, place: &Path, scene: &Scene, head: &Recording) -> Result<Stream, Failure> {
        Stream::start(place, scene, head, self.every as usize, self.csv)
    }

    /// Writes plots and page from the recording in `place`, whose final folder is `dir`. Returns
    /// true if there is a page.
    pub fn draw(&self, place: &Path, dir: &Path, quiet: bool) -> Result<bool, Failure> {
        let recording = read_for_pictures(&place.join("recording.qsr"), quiet)?;
        write_plots(place, &recording, quiet)?;
        self.write_mcap(place)?;
        self.page(place, &recording, dir, quiet)
    }

    /// Writes the recording in `place` as an MCAP file, if that was asked for.
    fn write_mcap(&self, place: &Path) -> Result<(), Failure> {
        let Some(file) = &self.mcap else { return Ok(()) };
        quasistep_view::convert_to_mcap(&place.join("recording.qsr"), file).map_err(Failure::files)
    }

    /// Writes the commands of a run as a joint trajectory, if that was asked for.
    pub fn write_trajectory(&self, dir: &Path, scene: &Scene) -> Result<(), Failure> {
        let Some(file) = &self.trajectory else { return Ok(()) };
        let refused = |why: String| Failure::usage(format!("{}: {why}", file.display()));
        let recording = Recording::read(&dir.join("recording.qsr")).map_err(Failure::usage)?;
        let trajectory = scene.trajectory(&recording, None).map_err(refused)?;
        if !trajectory.left_out.is_empty() {
            let names = trajectory.left_out.join(", ");
            tell!("warning: {}: left out, for no joint has them: {names}", file.display());
        }
        trajectory.write(file).map_err(|e| Failure::files(format!("{}: {e}", file.display())))
    }

    /// Writes the recording, the tables if requested, the plots and the page into `place`. Returns true if there is a
    /// page.
    pub fn write(
        &self,
        place: &Path,
        recording: &Recording,
        dir: &Path,
        quiet: bool,
    ) -> Result<bool, Failure> {
        let thinned = (self.every > 1).then(|| recording.thinned(self.every as usize));
        let recording = thinned.as_ref().unwrap_or(recording);
        recording.write(&place.join("recording.qsr")).map_err(Failure::files)?;
        if self.csv {
            write_states_csv(recording, &place.join("states.csv")).map_err(Failure::files)?;
            write_contacts_csv(recording, &place.join("contacts.csv")).map_err(Failure::files)?;
            if !recording.sensors.is_empty() {
                write_sensors_csv(recording, &place.join("sensors.csv")).map_err(Failure::files)?;
            }
        }
        write_plots(place, recording, quiet)?;
        self.write_mcap(place)?;
        self.page(place, recording, dir, quiet)
    }

    fn page(
        &self,
        place: &Path,
        recording: &Recording,
        dir: &Path,
        quiet: bool,
    ) -> Result<bool, Failure> {
        if self.no_page {
            return Ok(false);
        }
        // a build without npm has no page; the run itself is complete
        if !quasistep_view::has_page() {
            let dir = dir.display();
            say::warnings(&[format!(
                "no page was written: install npm, build again, then `quasistep view {dir}`"
            )]);
            return Ok(false);
        }
        write_page(recording, &place.join("view.html"), quiet)?;
        Ok(true)
    }

    /// True if the page is to be opened.
    pub fn opens(&self) -> bool {
        self.open
    }

    /// Prints where the files are, and opens the page if requested.
    pub fn tell(&self, dir: &Path, page: Option<&Path>, quiet: bool) {
        tell_files(dir, page, quiet);
        if let Some(page) = page.filter(|_| self.open) {
            open(page);
        }
    }
}

/// Prints where the files are.
pub fn tell_files(dir: &Path, page: Option<&Path>, quiet: bool) {
    if quiet {
    } else if let Some(page) = page {
        say!("files in {}; open the picture:", dir.display());
        say!("{}", page.display());
    } else {
        say!("files in {}", dir.display());
    }
}

/// Opens a page in the browser, or prints its path if there is none.
pub fn open(page: &Path) {
    let page = std::path::absolute(page).unwrap_or_else(|_| page.to_owned());
    open_page(&page.display().to_string());
}

/// Opens what is at a path or an address in the browser, or prints it if there is none.
pub fn open_page(page: &str) {
    if let Err(e) = open::that_detached(page) {
        tell!("warning: no program that opens {page} was found: {e}");
    }
}

/// Reads a recording for plots and pages. Of a very long one it reads every second, fourth, … frame
/// and prints a note. It also prints where a recording was cut off.
pub fn read_for_pictures(path: &Path, quiet: bool) -> Result<Recording, Failure> {
    let reading = Wait::new("reading recording.qsr", quiet);
    let read = Recording::read_within(path, MEMORY_OF_PICTURES);
    drop(reading);
    let (recording, every) = read.map_err(Failure::usage)?;
    if every > 1 && !quiet {
        say!("  pictures are drawn from one frame out of {every}; recording.qsr has all");
    }
    Ok(recording)
}

/// Prints how a recording ended, if it ended early.
pub fn tell_end(recording: &Recording) {
    if let Finish::Stopped { reason } = &recording.finish {
        let end = recording.frames.last().map_or(0.0, |frame| frame.t);
        say!("  the run ended early, at t = {end} s: {}", shown(reason));
    }
}

/// Writes `states.csv`, `contacts.csv` and, of a run with sensors, `sensors.csv` of the recording at
/// `path` into `dir`, frame by frame in bounded memory.
pub fn write_tables(dir: &Path, path: &Path, quiet: bool) -> Result<(), Failure> {
    let _wait = Wait::new("writing the tables", quiet);
    write_table(dir, path, "states.csv", |out, head| {
        let mut table = StatesCsv::new(out, &head.coordinates, &head.dofs)?;
        Ok(Box::new(move |frame: &Frame| table.append(frame)))
    })?;
    write_table(dir, path, "contacts.csv", |out, head| {
        let mut table = ContactsCsv::new(out, &head.bodies, &head.collision_shapes)?;
        Ok(Box::new(move |frame: &Frame| table.append(frame)))
    })?;
    let reader = RecordingReader::open(path).map_err(Failure::files)?;
    if reader.head().sensors.is_empty() {
        return Ok(());
    }
    write_table(dir, path, "sensors.csv", |out, head| {
        let mut table = SensorsCsv::new(out, &head.sensors)?;
        Ok(Box::new(move |frame: &Frame| table.append(frame)))
    })
}

/// Appends a frame to a table.
type Append<'a> = Box<dyn FnMut(&Frame) -> io::Result<()> + 'a>;

/// Writes one table of the recording at `path` into `dir`.
fn write_table(
    dir: &Path,
    path: &Path,
    name: &str,
    begin: impl for<'a> FnOnce(&'a mut BufWriter<File>, &Recording) -> io::Result<Append<'a>>,
) -> Result<(), Failure> {
    let place = dir.join(name);
    let write = |out: &mut BufWriter<File>| {
        let mut reader = RecordingReader::open(path).map_err(io::Error::other)?;
        let mut append = begin(out, reader.head())?;
        while let Some(frames) = reader.next_frames().map_err(io::Error::other)? {
            frames.iter().try_for_each(&mut append)?;
        }
        Ok(())
    };
    write_whole(&place, write).map_err(|e| Failure::files(format!("{}: {e}", place.display())))
}

/// Writes the folder `plots/` into `dir`.
pub fn write_plots(dir: &Path, recording: &Recording, quiet: bool) -> Result<(), Failure> {
    let _wait = Wait::new("drawing the plots", quiet);
    quasistep_view::write_plots(recording, &dir.join("plots")).map_err(Failure::files)?;
    Ok(())
}

/// Writes a page, and prints which parts it has no room for.
pub fn write_page(recording: &Recording, page: &Path, quiet: bool) -> Result<(), Failure> {
    let left_out = {
        let _wait = Wait::new("writing the page", quiet);
        quasistep_view::write_page(recording, page).map_err(Failure::files)?
    };
    if !left_out.is_empty() && !quiet {
        say!("  {}, to stay within 20 MB; recording.qsr has all", left_out.join("; "));
    }
    Ok(())
}
