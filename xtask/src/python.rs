//! The Python package, as a user gets it: a wheel in a fresh environment, then its tests.

use crate::robots;
use crate::task::{Failure, command, root};
use std::path::{Path, PathBuf};

/// A wheel is no larger, in bytes.
const LARGEST_WHEEL: u64 = 15_000_000;

/// Builds the wheel, installs it with what its tests need, checks its types, runs its tests.
pub fn test() -> Result<(), Failure> {
    robots::fetch()?;
    let python = install("test")?;
    let types = ["-m", "mypy.stubtest", "quasistep", "--mypy-config-file", "pyproject.toml"];
    command(&python, &["-m", "mypy"]).run("types of the Python package")?;
    command(&python, &types).run("stubs of the Python package")?;
    command(&python, &["-m", "pytest"]).run("tests of the Python package")
}

/// The sweep of ten thousand rollouts on a local Ray cluster, with workers that are killed.
pub fn ray() -> Result<(), Failure> {
    let python = install("test,ray")?;
    command(&python, &["-m", "pytest", "-m", "ray"]).run("sweep on a Ray cluster")
}

/// Steps as functions of PyTorch. Its wheel from PyPI brings gigabytes of CUDA libraries: no part of `ci`.
pub fn torch() -> Result<(), Failure> {
    let python = install("test,torch")?;
    command(&python, &["-m", "pytest", "-m", "torch"]).run("steps as functions of PyTorch")
}

/// An environment under target/ with a fresh wheel in it and these extras; its interpreter.
fn install(extras: &str) -> Result<String, Failure> {
    let folder = root().join("target/python");
    let python = environment()?;
    let wheels = folder.join("wheels");
    let _ = std::fs::remove_dir_all(&wheels);
    let to = wheels.display().to_string();
    command(&python, &["-m", "pip", "wheel", "-q", "--no-deps", "-w", &to, "."]).run("wheel")?;
    let wheel = only_file(&wheels)?;
    let size = std::fs::metadata(&wheel).map_err(|e| Failure::new(e.to_string()))?.len();
    println!("   {}: {:.1} MB", wheel.display(), size as f64 * 1e-6);
    if size > LARGEST_WHEEL {
        return Err(Failure::new(format!("the wheel has {size} bytes; {LARGEST_WHEEL} at most")));
    }
    // dependencies first: the wheel alone is put in anew, for its version may be the same
    let with_extras = format!("{}[{extras}]", wheel.display());
    let pip = ["-m", "pip", "install", "-q"];
    command(&python, &[&pip[..], &[&with_extras]].concat()).run("dependencies of the tests")?;
    let again = ["--no-deps", "--force-reinstall", &wheel.display().to_string()];
    command(&python, &[&pip[..], &again].concat()).run("installation")?;
    Ok(python)
}

/// The interpreter of an environment under target/, made where it is missing.
pub fn environment() -> Result<String, Failure> {
    let folder = root().join("target/python/env");
    let python = folder.join("bin/python").display().to_string();
    if !Path::new(&python).is_file() {
        command("python3", &["-m", "venv", &folder.display().to_string()])
            .run("environment for the Python package")?;
    }
    Ok(python)
}

fn only_file(folder: &Path) -> Result<PathBuf, Failure> {
    let files = std::fs::read_dir(folder).map_err(|e| Failure::new(e.to_string()))?;
    let mut files: Vec<PathBuf> = files.filter_map(|entry| Some(entry.ok()?.path())).collect();
    match files.pop() {
        Some(file) if files.is_empty() => Ok(file),
        _ => Err(Failure::new(format!("{}: one wheel was expected", folder.display()))),
    }
}
