//! What a figure is: a name, the files it leaves, and numbers beside their published ones.

use quasistep::StepError;
use quasistep_record::write_whole;
use quasistep_scene::SceneError;
use quasistep_view::ViewError;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A figure or table that can be regenerated.
pub struct Figure {
    /// Name on the command line.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    pub(crate) make: fn(&Context<'_>) -> Result<FigureResult, ReproduceError>,
}

/// Where a figure writes and how it measures time.
pub struct Context<'a> {
    /// Folder of the results.
    pub out: &'a Path,
    /// CPU time of this thread, in ns.
    pub clock: fn() -> u64,
}

/// What a figure left behind.
#[derive(Clone, Debug, Default)]
pub struct FigureResult {
    /// Files written.
    pub files: Vec<PathBuf>,
    /// Numbers.
    pub rows: Vec<Row>,
}

/// A published number and ours.
#[derive(Clone, Debug)]
pub struct Row {
    /// What is measured, with its unit.
    pub what: String,
    /// Value printed in the paper, or recorded from another engine; `None` where there is none.
    pub published: Option<f64>,
    /// Ours.
    pub ours: f64,
    /// Where the published number is printed, and why ours may differ.
    pub note: String,
}

impl Row {
    /// A number with its published counterpart.
    pub fn new(
        what: impl Into<String>,
        published: impl Into<Option<f64>>,
        ours: f64,
        note: impl Into<String>,
    ) -> Self {
        Self { what: what.into(), published: published.into(), ours, note: note.into() }
    }
}

/// A figure could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// The scene was not found or not valid.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// A step was not taken.
    #[error("{scene}: {error}")]
    Step {
        /// Name of the scene.
        scene: String,
        /// Why.
        error: StepError,
    },
    /// A closed loop could not go on.
    #[error(transparent)]
    Loop(#[from] quasistep_control::LoopError),
    /// A picture could not be drawn or written.
    #[error(transparent)]
    View(#[from] ViewError),
    /// A file could not be written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The recording lacks something that the figure shows.
    #[error("the recording has no {0}")]
    Missing(String),
}

impl Figure {
    /// Regenerates the figure into `out`, which is made if it is missing; `clock` is the CPU time of
    /// this thread in ns. The numbers are also written to `<name>.csv`.
    ///
    /// # Errors
    ///
    /// See [`ReproduceError`].
    pub fn regenerate(
        &self,
        out: &Path,
        clock: fn() -> u64,
    ) -> Result<FigureResult, ReproduceError> {
        std::fs::create_dir_all(out)
            .map_err(|error| ReproduceError::Io { path: out.to_path_buf(), error })?;
        let context = Context { out, clock };
        let mut result = (self.make)(&context)?;
        if !result.rows.is_empty() {
            let file = context.write(&format!("{}_numbers.csv", self.name), &result.csv())?;
            result.files.push(file);
        }
        Ok(result)
    }
}

impl Context<'_> {
    /// Writes a text file into the folder; its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, ReproduceError> {
        self.write_bytes(name, text.as_bytes())
    }

    /// Writes a file into the folder; its path.
    pub(crate) fn write_bytes(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, ReproduceError> {
        let path = self.out.join(name);
        write_whole(&path, |out| out.write_all(bytes))
            .map_err(|error| ReproduceError::Io { path: path.clone(), error })?;
        Ok(path)
    }
}

impl FigureResult {
    /// The numbers as lines for people.
    pub fn table(&self) -> String {
        let mut text = String::new();
        if self.rows.is_empty() {
            return text;
        }
        let width = self.rows.iter().map(|r| r.what.chars().count()).max().unwrap_or(0);
        let _ = writeln!(
            text,
            "  {:<width$} {:>12} {:>12} {:>12}",
            "", "published", "ours", "difference"
        );
        for row in &self.rows {
            let published = row.published.map_or("–".into(), number);
            let difference = row.published.map_or("–".into(), |p| number(row.ours - p));
            let _ = writeln!(
                text,
                "  {:<width$} {published:>12} {:>12} {difference:>12}  {}",
                row.what,
                number(row.ours),
                row.note
            );
        }
        text
    }

    fn csv(&self) -> String {
        let mut text = String::from("what,published,ours,difference,note\n");
        for row in &self.rows {
            let quoted = |s: &str| format!("\"{}\"", s.replace('"', "\"\""));
            let (published, difference) = row
                .published
                .map_or_else(Default::default, |p| (p.to_string(), (row.ours - p).to_string()));
            let _ = writeln!(
                text,
                "{},{published},{},{difference},{}",
                quoted(&row.what),
                row.ours,
                quoted(&row.note)
            );
        }
        text
    }
}

/// Four significant digits, without a tail of zeros.
fn number(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    let digits = (3 - x.abs().log10().floor() as i32).clamp(0, 12) as usize;
    if x.abs() < 1e-4 || x.abs() >= 1e6 {
        return format!("{x:.2e}");
    }
    let text = format!("{x:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Columns of numbers as CSV text; all columns are as long as the first.
pub(crate) fn columns_csv(columns: &[(&str, Vec<f64>)]) -> String {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let mut text = names.join(",");
    text.push('\n');
    for k in 0..columns.first().map_or(0, |(_, c)| c.len()) {
        let cells: Vec<String> = columns.iter().map(|(_, c)| c[k].to_string()).collect();
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    text
}
