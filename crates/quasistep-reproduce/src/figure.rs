//! Description and results of a figure: its name, its files, and its numbers beside the published
//! ones.

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
    /// Title of the figure.
    pub title: &'static str,
    pub(crate) make: fn(&Context<'_>) -> Result<FigureResult, ReproduceError>,
}

/// Output folder and clock of a figure.
pub struct Context<'a> {
    /// Output folder.
    pub out: &'a Path,
    /// CPU time of this thread, in ns.
    pub clock: fn() -> u64,
}

/// Results of a figure.
#[derive(Clone, Debug, Default)]
pub struct FigureResult {
    /// Files written.
    pub files: Vec<PathBuf>,
    /// Numbers beside published ones.
    pub rows: Vec<Row>,
}

/// A published number and our result.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name of the quantity, with its unit.
    pub what: String,
    /// Value printed in the paper, or recorded from another engine; `None` without one.
    pub published: Option<f64>,
    /// Our result.
    pub ours: f64,
    /// Source of the published number, and reasons why ours may differ.
    pub note: String,
}

impl Row {
    /// Creates a row with a published number.
    pub fn new(
        what: impl Into<String>,
        published: impl Into<Option<f64>>,
        ours: f64,
        note: impl Into<String>,
    ) -> Self {
        Self { what: what.into(), published: published.into(), ours, note: note.into() }
    }
}

/// Error in the making of a figure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// The scene was not found or not valid.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// A step failed.
    #[error("{scene}: {error}")]
    Step {
        /// Name of the scene.
        scene: String,
        /// Error of the step.
        error: StepError,
    },
    /// A closed loop failed.
    #[error(transparent)]
    Loop(#[from] quasistep_control::LoopError),
    /// A picture could not be drawn or written.
    #[error(transparent)]
    View(#[from] ViewError),
    /// A file could not be written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// The recording does not contain something that the figure needs.
    #[error("the recording has no {0}")]
    Missing(String),
}

impl Figure {
    /// Regenerates the figure into the folder `out`, which is created if missing.
    ///
    /// `clock` returns the CPU time of this thread in ns. The numbers are also written to
    /// `<name>.csv`.
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
    /// Writes a text file into the folder and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, ReproduceError> {
        self.write_bytes(name, text.as_bytes())
    }

    /// Writes a binary file into the folder and returns its path.
    pub(crate) fn write_bytes(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, ReproduceError> {
        let path = self.out.join(name);
        write_whole(&path, |out| out.write_all(bytes))
            .map_err(|error| ReproduceError::Io { path: path.clone(), error })?;
        Ok(path)
    }
}

impl FigureResult {
    /// The numbers as a table for the terminal.
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

/// Formats a number with four significant digits, without trailing zeros.
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
