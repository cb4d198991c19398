//! External commands of tasks, and their failures.

use crate::cost::measured;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// The program of Python, outside of an environment.
pub const PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };
/// The program of npm.
pub const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };

/// Error message of a task.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A command that runs in the root of the repository.
pub struct Step(Command);

/// Whether [`cargo`] compiles without preparing for the next change.
static ONCE: AtomicBool = AtomicBool::new(false);

/// Makes [`cargo`] compile without preparing for the next change, which takes a sixth less time.
pub fn compile_once() {
    ONCE.store(true, Ordering::Relaxed);
}

/// `cargo` with these arguments.
pub fn cargo(arguments: &[&str]) -> Step {
    let step = command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()), arguments);
    if ONCE.load(Ordering::Relaxed) { step.env("CARGO_INCREMENTAL", "0") } else { step }
}

/// Any program with these arguments.
pub fn command(program: &str, arguments: &[&str]) -> Step {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    Step(command)
}

impl Step {
    pub fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(key, value);
        self
    }

    /// Sets the working directory, which is the repository's root by default.
    pub fn inside(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    /// Runs the command as a step of its own, with its output shown.
    pub fn run(self, title: &str) -> Result<(), Failure> {
        measured(title, || self.show(title))
    }

    /// Runs the command as a part of the step `title`, with its output shown.
    pub fn show(mut self, title: &str) -> Result<(), Failure> {
        let status = self.0.status().map_err(|e| self.cannot_start(&e))?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::new(format!("{title} failed ({status}): {:?}", self.0)))
    }

    /// Runs the command and returns what it prints on standard output.
    pub fn output(mut self) -> Result<String, Failure> {
        let output = self.0.stderr(Stdio::inherit()).output().map_err(|e| self.cannot_start(&e))?;
        if !output.status.success() {
            return Err(Failure::new(format!("{:?} failed ({})", self.0, output.status)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn cannot_start(&self, error: &std::io::Error) -> Failure {
        Failure::new(format!("cannot start {}: {error}", self.0.get_program().display()))
    }
}

/// Root of the repository.
pub fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map_or(manifest.clone(), PathBuf::from)
}

/// Whether a program of this name is on the path.
pub fn on_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).is_file()))
}

/// A program that `cargo test --workspace` builds.
pub struct Program {
    pub path: PathBuf,
    /// Folder of its package, where its tests expect to run.
    pub folder: PathBuf,
    /// Whether it is a test binary.
    pub tests: bool,
}

impl Program {
    /// Whether its package is in this folder of the repository.
    pub fn is_of(&self, folder: &str) -> bool {
        self.folder == root().join(folder)
    }

    /// Whether its file has this name.
    pub fn is_named(&self, name: &str) -> bool {
        self.path.file_stem().is_some_and(|stem| stem == name)
    }

    /// The program with these arguments.
    pub fn step(&self, arguments: &[&str]) -> Step {
        command(&self.path.display().to_string(), arguments)
    }
}

/// Programs of `cargo test --workspace`, built if they are not. A package on its own has other
/// features of its dependencies, which would be compiled once more.
pub fn programs() -> Result<Vec<Program>, Failure> {
    let build = ["test", "--workspace", "--locked", "--no-run", "--message-format", "json"];
    let mut all = Vec::new();
    for line in cargo(&build).output()?.lines() {
        let message: serde_json::Value = serde_json::from_str(line)
            .map_err(|e| Failure::new(format!("messages of cargo: {e}")))?;
        let text = |value: &serde_json::Value| value.as_str().map(PathBuf::from);
        let folder = text(&message["manifest_path"])
            .and_then(|manifest| manifest.parent().map(Path::to_path_buf));
        if let (Some(path), Some(folder)) = (text(&message["executable"]), folder) {
            let tests = message["profile"]["test"].as_bool().unwrap_or_default();
            all.push(Program { path, folder, tests });
        }
    }
    Ok(all)
}

/// `cargo metadata` of the workspace.
pub fn metadata(arguments: &[&str]) -> Result<serde_json::Value, Failure> {
    let mut all = vec!["metadata", "--format-version", "1", "--locked"];
    all.extend(arguments);
    let text = cargo(&all).output()?;
    serde_json::from_str(&text).map_err(|e| Failure::new(format!("cargo metadata: {e}")))
}
