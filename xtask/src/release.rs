//! Builds and checks release artefacts: the viewer page, wheels, the source distribution, crates.

use crate::cost::measured;
use crate::python;
use crate::task::{Failure, cargo, command, root};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Largest size of a wheel, in bytes.
const LARGEST_WHEEL: u64 = 15_000_000;
/// Time limit from an empty environment to the first page.
const FIRST_PAGE: Duration = Duration::from_mins(1);
/// Targets of wheels on Linux, with the oldest glibc that Rust's standard library supports.
const LINUX: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// Builds the viewer and copies it to where packages include it; returns its path.
pub fn bundle() -> Result<PathBuf, Failure> {
    let viewer = root().join("viewer");
    let at = |arguments: &[&str]| command("npm", arguments).inside(&viewer);
    at(&["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).run("packages of the page")?;
    at(&["run", "build"]).run("page")?;
    let bundle = root().join("crates/quasistep-view/viewer.js");
    let fail = |e: std::io::Error| Failure::new(format!("{}: {e}", bundle.display()));
    let built = std::fs::read(viewer.join("dist/viewer.js")).map_err(fail)?;
    // crates that contain the page are compiled again when this file is written
    if !std::fs::read(&bundle).is_ok_and(|present| present == built) {
        std::fs::write(&bundle, built).map_err(fail)?;
    }
    Ok(bundle)
}

/// Builds the source distribution and wheels for this system. On Linux these are for both
/// architectures, or for the given targets.
pub fn wheels(targets: &[String]) -> Result<(), Failure> {
    let folder = empty("target/wheels")?;
    let bundle = bundle()?;
    let to = folder.display().to_string();
    maturin(&["sdist", "-o", &to])?.run("source distribution")?;
    let targets: Vec<Option<&str>> = match targets {
        [] if cfg!(target_os = "linux") => LINUX.map(Some).to_vec(),
        [] => vec![None],
        some => some.iter().map(|t| Some(t.as_str())).collect(),
    };
    for target in targets {
        build_wheel(target, &bundle, &folder)?;
    }
    for file in files(&folder)? {
        let size = size(&file)?;
        println!("   {}: {:.1} MB", file.display(), size as f64 * 1e-6);
        if size > LARGEST_WHEEL {
            return Err(Failure::new(format!("it has {size} bytes; {LARGEST_WHEEL} at most")));
        }
    }
    Ok(())
}

/// Builds a wheel for this machine in a separate folder, once in a run of this program; returns its
/// path.
pub fn wheel() -> Result<PathBuf, Failure> {
    static WHEEL: OnceLock<PathBuf> = OnceLock::new();
    if let Some(wheel) = WHEEL.get() {
        return Ok(wheel.clone());
    }
    let folder = empty("target/python/wheels")?;
    let linux = LINUX.into_iter().find(|target| target.starts_with(std::env::consts::ARCH));
    build_wheel(linux.filter(|_| cfg!(target_os = "linux")), &bundle()?, &folder)?;
    let mut wheels = files(&folder)?;
    match wheels.pop() {
        Some(wheel) if wheels.is_empty() && size(&wheel)? <= LARGEST_WHEEL => {
            Ok(WHEEL.get_or_init(|| wheel).clone())
        }
        _ => Err(Failure::new(format!(
            "{}: one wheel of at most {LARGEST_WHEEL} bytes was expected",
            folder.display()
        ))),
    }
}

/// Installs the wheel without a compiler, and runs the README's Python example.
pub fn try_wheel(wheel: &Path) -> Result<(), Failure> {
    measured("the wheel in a fresh environment, without a compiler", || fresh_wheel(wheel))
}

fn fresh_wheel(wheel: &Path) -> Result<(), Failure> {
    let folder = empty("target/python/fresh")?;
    let start = Instant::now();
    let environment = folder.join("env");
    command("python3", &["-m", "venv", &environment.display().to_string()]).output()?;
    let python = environment.join("bin/python").display().to_string();
    // only the environment itself is on the path: no compiler, no npm
    let bare =
        |arguments: &[&str]| command(&python, arguments).env("PATH", environment.join("bin"));
    bare(&["-m", "pip", "install", "-q", &wheel.display().to_string()]).output()?;
    let example = folder.join("example.py");
    std::fs::write(&example, readme_example()?)
        .map_err(|e| Failure::new(format!("{}: {e}", example.display())))?;
    let scenes = folder.join("scenes");
    copy_file("scenes/pinch.yml", &scenes.join("pinch.yml"))?;
    bare(&[&example.display().to_string()]).inside(&folder).output()?;
    let taken = start.elapsed();
    println!("   first page after {:.1} s", taken.as_secs_f64());
    if !folder.join("pinch.html").is_file() {
        return Err(Failure::new("the README's Python example wrote no pinch.html"));
    }
    if taken > FIRST_PAGE {
        return Err(Failure::new(format!("it took {taken:?}; {FIRST_PAGE:?} at most")));
    }
    Ok(())
}

/// Checks that every public crate can be published: files, dependencies and metadata.
pub fn publish() -> Result<(), Failure> {
    bundle()?;
    cargo(&["publish", "--workspace", "--dry-run", "--locked", "--allow-dirty"]).run("crates")
}

/// The Python code block of the README.
fn readme_example() -> Result<String, Failure> {
    let text = std::fs::read_to_string(root().join("README.md"))
        .map_err(|e| Failure::new(format!("README.md: {e}")))?;
    let block = text.split("```python\n").nth(1).and_then(|rest| rest.split("```").next());
    block.map(str::to_owned).ok_or_else(|| Failure::new("README.md has no block of Python"))
}

fn build_wheel(target: Option<&str>, bundle: &Path, folder: &Path) -> Result<(), Failure> {
    let to = folder.display().to_string();
    let mut arguments = vec!["build", "--release", "--locked", "-o", &to];
    if let Some(target) = target {
        if let Err(error) = command("rustup", &["target", "add", target]).output() {
            eprintln!("warning: {error}; {target} must be installed already");
        }
        // for this machine, reuse the artefacts of `cargo build --release`
        if !target.starts_with(std::env::consts::ARCH) {
            arguments.extend(["--target", target]);
        }
        // zig links against an old glibc, for both architectures
        arguments.push("--zig");
    }
    maturin(&arguments)?
        .env("QUASISTEP_VIEWER_BUNDLE", bundle)
        .run(&format!("wheel for {}", target.unwrap_or("this machine")))
}

/// A step that runs `maturin` from the environment under target/, which contains the linker.
fn maturin(arguments: &[&str]) -> Result<crate::task::Step, Failure> {
    let python = python::environment()?;
    let tools = ["-m", "pip", "install", "-q", "maturin>=1.16,<2", "ziglang"];
    command(&python, &tools).output()?;
    let folder = Path::new(&python).parent().map(Path::to_path_buf).unwrap_or_default();
    let mut path = vec![folder];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let path = std::env::join_paths(path).map_err(|e| Failure::new(e.to_string()))?;
    let mut all = vec!["-m", "maturin"];
    all.extend(arguments);
    Ok(command(&python, &all).env("PATH", path))
}

fn copy_file(from: &str, to: &Path) -> Result<(), Failure> {
    let fail = |e: std::io::Error| Failure::new(format!("{}: {e}", to.display()));
    std::fs::create_dir_all(to.parent().unwrap_or(Path::new("."))).map_err(fail)?;
    std::fs::copy(root().join(from), to).map_err(fail)?;
    Ok(())
}

/// Empties a folder of the repository and returns its path.
fn empty(folder: &str) -> Result<PathBuf, Failure> {
    let folder = root().join(folder);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)
        .map_err(|e| Failure::new(format!("{}: {e}", folder.display())))?;
    Ok(folder)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let files = std::fs::read_dir(folder).map_err(|e| Failure::new(e.to_string()))?;
    Ok(files.filter_map(|entry| Some(entry.ok()?.path())).collect())
}

fn size(file: &Path) -> Result<u64, Failure> {
    Ok(std::fs::metadata(file).map_err(|e| Failure::new(e.to_string()))?.len())
}
