//! Tests the Python package as users get it: a wheel in a fresh environment.

use crate::task::{Failure, PYTHON, Program, command, root};
use crate::{release, robots};
use std::path::{Path, PathBuf};

/// MuJoCo without its viewers.
const MUJOCO: &str = "mujoco-core==4.0.1";

/// Tests the Python package, and builds all that this needs: `cargo xtask python`.
pub fn test() -> Result<(), Failure> {
    test_beside(&[])
}

/// Builds the wheel, installs it with the tests' dependencies, checks its types, runs its tests. The
/// comparison with MuJoCo needs an example, which is taken from `built` if it is there.
pub fn test_beside(built: &[Program]) -> Result<(), Failure> {
    robots::fetch()?;
    let (python, wheel) = install("test")?;
    let types = ["-m", "mypy.stubtest", "quasistep", "--mypy-config-file", "pyproject.toml"];
    command(&python, &["-m", "mypy"]).run("types of the Python package")?;
    command(&python, &types).run("stubs of the Python package")?;
    command(&python, &["-m", "pytest"]).run("tests of the Python package")?;
    mujoco(&python, built)?;
    command(&python, &["-B", "validation/short.py"]).run("every command of validation/run")?;
    release::try_wheel(&wheel)
}

/// Compares our MJCF reader, in the example that describes files, with MuJoCo's own on the files
/// that scenes use. Needs ten megabytes and fifteen seconds.
fn mujoco(python: &str, built: &[Program]) -> Result<(), Failure> {
    command(python, &["-m", "pip", "install", "-q", MUJOCO]).run("installation of MuJoCo")?;
    let mut judge = vec![
        "-B",
        "validation/mjcf_files.py",
        "--packages",
        "--also",
        "target/robots/share/gymnasium_robotics",
    ];
    let is_reader = |p: &&Program| p.is_named("describe") && p.is_of("crates/quasistep-formats");
    let reader = built.iter().find(is_reader).map(|program| program.path.display().to_string());
    // otherwise it is built for this
    if let Some(reader) = &reader {
        judge.extend(["--describe", reader]);
    }
    command(python, &judge).run("MJCF files against MuJoCo")
}

/// Runs a sweep of ten thousand rollouts on a local Ray cluster whose workers are killed at random.
pub fn ray() -> Result<(), Failure> {
    let (python, _) = install("test,ray")?;
    command(&python, &["-m", "pytest", "-m", "ray"]).run("sweep on a Ray cluster")
}

/// Tests steps as PyTorch functions. It is not part of `ci`, because the PyPI wheel needs gigabytes
/// of CUDA libraries.
pub fn torch() -> Result<(), Failure> {
    let (python, _) = install("test,torch")?;
    command(&python, &["-m", "pytest", "-m", "torch"]).run("steps as functions of PyTorch")
}

/// The interpreter of an environment that has the package; existing installations are reused.
pub fn with_package() -> Result<String, Failure> {
    let python = environment()?;
    if command(&python, &["-c", "import quasistep"]).output().is_err() {
        install("test")?;
    }
    Ok(python)
}

/// Kills runs, batches and sweeps, `count` times each.
pub fn kills(count: u64) -> Result<(), Failure> {
    let python = with_package()?;
    command(&python, &["-m", "pytest", "python/tests/test_kills.py"])
        .env("QUASISTEP_KILLS", count.to_string())
        .run("kills at random moments")
}

/// Installs a fresh wheel with these extras in an environment under target/; returns its
/// interpreter and the wheel.
pub fn install(extras: &str) -> Result<(String, PathBuf), Failure> {
    let (python, wheel) = (environment()?, release::wheel()?);
    // dependencies first; the wheel is reinstalled separately, because its version may be unchanged
    let with_extras = format!("{}[{extras}]", wheel.display());
    let pip = ["-m", "pip", "install", "-q"];
    command(&python, &[&pip[..], &[&with_extras]].concat()).run("dependencies of the tests")?;
    let again = ["--no-deps", "--force-reinstall", &wheel.display().to_string()];
    command(&python, &[&pip[..], &again].concat()).run("installation")?;
    Ok((python, wheel))
}

/// The interpreter of an environment under target/, created if it does not exist.
pub fn environment() -> Result<String, Failure> {
    let folder = root().join("target/python/env");
    let python = program(&folder, "python");
    if !Path::new(&python).is_file() {
        command(PYTHON, &["-m", "venv", &folder.display().to_string()])
            .run("environment for the Python package")?;
    }
    Ok(python)
}

/// A program of an environment.
pub fn program(environment: &Path, name: &str) -> String {
    let within = if cfg!(windows) { format!("Scripts/{name}.exe") } else { format!("bin/{name}") };
    environment.join(within).display().to_string()
}
