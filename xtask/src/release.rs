//! Builds, tries and publishes all files of a release: the viewer page, wheels, the source
//! distribution, archives of the command, crates.

use crate::cost::measured;
use crate::python;
use crate::task::{Failure, NPM, PYTHON, Step, cargo, command, metadata, root};
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
    let at = |arguments: &[&str]| command(NPM, arguments).inside(&viewer);
    at(&["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).run("packages of the page")?;
    at(&["run", "build"]).run("page")?;
    let bundle = root().join("crates/quasistep-view/viewer.js");
    let fail = |e: std::io::Error| Failure::new(format!("{}: {e}", bundle.display()));
    let built = std::fs::read(viewer.join("dist/viewer.js")).map_err(fail)?;
    // crates that contain the page are compiled again when this file is written
    if !std::fs::read(&bundle).is_ok_and(|present| present == built) {
        std::fs::write(&bundle, built).map_err(fail)?;
    }
    copy_scenes()?;
    Ok(bundle)
}

/// Copies the scenes to where the crate of the command includes them.
fn copy_scenes() -> Result<(), Failure> {
    let to = root().join("crates/quasistep-cli/scenes");
    let fail = |e: std::io::Error| Failure::new(format!("{}: {e}", to.display()));
    if to.exists() {
        std::fs::remove_dir_all(&to).map_err(fail)?;
    }
    copy_folder(&root().join("scenes"), &to).map_err(fail)
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let (path, place) = entry.map(|entry| (entry.path(), to.join(entry.file_name())))?;
        if path.is_dir() {
            copy_folder(&path, &place)?;
        } else {
            std::fs::copy(&path, &place)?;
        }
    }
    Ok(())
}

/// Folder of the files for PyPI.
const FOR_PYPI: &str = "target/release-files/python";
/// Folder of the archives of the command.
const FOR_PAGE: &str = "target/release-files/command";

/// Builds all files of a release for this system, and tries them. On Linux these are for both
/// architectures, or for the targets in the arguments. With `--publish` they are uploaded, by the
/// accounts that the clients of this machine are logged in to.
pub fn release(arguments: &[String]) -> Result<(), Failure> {
    let (options, targets): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| argument.starts_with('-'));
    let publish = match options.as_slice() {
        [] => false,
        [option] if *option == "--publish" => true,
        _ => return Err(Failure::new(format!("{options:?} was seen; the option is --publish"))),
    };
    if publish {
        has_address()?;
    }
    let [pypi, page] = [FOR_PYPI, FOR_PAGE].map(empty);
    let (pypi, page, bundle) = (pypi?, page?, bundle()?);
    let to = pypi.display().to_string();
    maturin(&["sdist", "-o", &to])?.run("source distribution")?;
    let targets: Vec<&str> = match targets.as_slice() {
        [] if cfg!(target_os = "linux") => LINUX.to_vec(),
        some => some.iter().map(|target| target.as_str()).collect(),
    };
    let host = host()?;
    let targets = if targets.is_empty() { vec![host.as_str()] } else { targets };
    for target in targets {
        if let Err(error) = command("rustup", &["target", "add", target]).output() {
            eprintln!("warning: {error}; {target} must be installed already");
        }
        build_wheel(target, &bundle, &pypi)?;
        let archive = build_archive(target, &bundle, &page)?;
        if target == host {
            try_wheel(&wheel_of(&pypi)?)?;
            try_archive(&archive, target)?;
        }
    }
    cargo(&["publish", "--workspace", "--dry-run", "--locked", "--allow-dirty"]).run("crates")?;
    println!();
    for file in files(&pypi)?.into_iter().chain(files(&page)?) {
        println!("{}: {:.1} MB", file.display(), size(&file)? as f64 * 1e-6);
    }
    if publish { upload(&pypi) } else { Ok(()) }
}

/// Error if the crates do not say where their sources are.
fn has_address() -> Result<(), Failure> {
    let metadata = metadata(&["--no-deps"])?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let mut addresses = packages.filter_map(|package| package["repository"].as_str());
    if addresses.any(str::is_empty) {
        return Err(Failure::new(
            "Cargo.toml: `repository` of [workspace.package] is empty; give the address of the sources",
        ));
    }
    Ok(())
}

fn upload(pypi: &Path) -> Result<(), Failure> {
    let python = python::environment()?;
    command(&python, &["-m", "pip", "install", "-q", "twine"]).output()?;
    let files: Vec<String> = files(pypi)?.iter().map(|file| file.display().to_string()).collect();
    let mut arguments = vec!["-m", "twine", "upload", "--skip-existing"];
    arguments.extend(files.iter().map(String::as_str));
    command(&python, &arguments).run("upload to PyPI")?;
    cargo(&["publish", "--workspace", "--locked", "--allow-dirty"]).run("upload of the crates")
}

/// Builds the command for a target, and puts it with README and licences into an archive.
fn build_archive(target: &str, bundle: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    // as a wheel's, its program links against an old glibc
    let is_linux = target.contains("linux");
    let (build, glibc) = if is_linux { ("zigbuild", ".2.17") } else { ("build", "") };
    let triple = format!("{target}{glibc}");
    // a folder of its own: maturin's settings would compile all that the wheel has once more
    let built = root().join("target/release-command");
    let to = built.display().to_string();
    let arguments = [build, "--release", "--locked", "-p", "quasistep-cli", "--target", &triple];
    let arguments = [&arguments[..], &["--target-dir", &to]].concat();
    with_tools(cargo(&arguments))?
        .env("QUASISTEP_VIEWER_BUNDLE", bundle)
        .run(&format!("command for {target}"))?;
    let name = format!("quasistep-{}-{target}", env!("CARGO_PKG_VERSION"));
    let program = if target.contains("windows") { "quasistep.exe" } else { "quasistep" };
    let parts = empty("target/release-parts")?;
    let inside = parts.join(&name);
    copy_file(&built.join(target).join("release").join(program), &inside.join(program))?;
    for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        copy_file(&root().join(file), &inside.join(file))?;
    }
    let archive = folder.join(format!("{name}.tar.gz"));
    command("tar", &["-czf", &archive.display().to_string(), &name]).inside(&parts).output()?;
    Ok(archive)
}

/// Unpacks the command and runs its first scene.
fn try_archive(archive: &Path, target: &str) -> Result<(), Failure> {
    let folder = empty("target/release-parts/tried")?;
    command("tar", &["-xzf", &archive.display().to_string()]).inside(&folder).output()?;
    let program = format!("quasistep-{}-{target}/quasistep", env!("CARGO_PKG_VERSION"));
    first_run(&folder.join(program).display().to_string(), &folder, Path::new(""))
}

/// Writes a first scene with this program and runs it, with nothing on the path but `path`.
fn first_run(program: &str, folder: &Path, path: &Path) -> Result<(), Failure> {
    let run =
        |arguments: &[&str]| command(program, arguments).env("PATH", path).inside(folder).output();
    run(&["new"])?;
    let said = run(&["run", "scene.yml", "--strict"])?;
    if said.contains("facts: 2 of 2 hold") && folder.join("out/scene/view.html").is_file() {
        return Ok(());
    }
    Err(Failure::new(format!("{program}: its first scene has no page, or another end: {said}")))
}

/// The triple of this machine.
fn host() -> Result<String, Failure> {
    let said = command("rustc", &["-vV"]).output()?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure::new("rustc -vV names no host"))
}

/// The wheel of this machine in a folder.
fn wheel_of(folder: &Path) -> Result<PathBuf, Failure> {
    let is_wheel = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "whl");
    let all: Vec<PathBuf> = files(folder)?.into_iter().filter(is_wheel).collect();
    // Linux has one for each architecture
    let own = |file: &&PathBuf| {
        all.len() == 1
            || file.to_string_lossy().ends_with(&format!("{}.whl", std::env::consts::ARCH))
    };
    let found = all.iter().find(own).cloned();
    found.ok_or_else(|| Failure::new(format!("{}: it has no wheel", folder.display())))
}

/// Builds a wheel for this machine in a separate folder, once in a run of this program; returns its
/// path.
pub fn wheel() -> Result<PathBuf, Failure> {
    static WHEEL: OnceLock<PathBuf> = OnceLock::new();
    if let Some(wheel) = WHEEL.get() {
        return Ok(wheel.clone());
    }
    let folder = empty("target/python/wheels")?;
    build_wheel(&host()?, &bundle()?, &folder)?;
    let wheel = wheel_of(&folder)?;
    Ok(WHEEL.get_or_init(|| wheel).clone())
}

/// Installs the wheel without a compiler, and runs the README's Python example.
pub fn try_wheel(wheel: &Path) -> Result<(), Failure> {
    measured("the wheel in a fresh environment, without a compiler", || fresh_wheel(wheel))
}

fn fresh_wheel(wheel: &Path) -> Result<(), Failure> {
    let folder = empty("target/python/fresh")?;
    let start = Instant::now();
    let environment = folder.join("env");
    command(PYTHON, &["-m", "venv", &environment.display().to_string()]).output()?;
    let python = python::program(&environment, "python");
    // only the environment itself is on the path: no compiler, no npm
    let path = Path::new(&python).parent().map(Path::to_path_buf).unwrap_or_default();
    let bare = |arguments: &[&str]| command(&python, arguments).env("PATH", &path);
    bare(&["-m", "pip", "install", "-q", &wheel.display().to_string()]).output()?;
    let example = folder.join("example.py");
    std::fs::write(&example, readme_example()?)
        .map_err(|e| Failure::new(format!("{}: {e}", example.display())))?;
    let scenes = folder.join("scenes");
    copy_file(&root().join("scenes/pinch.yml"), &scenes.join("pinch.yml"))?;
    bare(&[&example.display().to_string()]).inside(&folder).output()?;
    first_run(&python::program(&environment, "quasistep"), &folder, &path)?;
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

/// The Python code block of the README.
fn readme_example() -> Result<String, Failure> {
    let text = std::fs::read_to_string(root().join("README.md"))
        .map_err(|e| Failure::new(format!("README.md: {e}")))?;
    let block = text.split("```python\n").nth(1).and_then(|rest| rest.split("```").next());
    block.map(str::to_owned).ok_or_else(|| Failure::new("README.md has no block of Python"))
}

/// Builds a wheel for a target.
fn build_wheel(target: &str, bundle: &Path, folder: &Path) -> Result<(), Failure> {
    let to = folder.display().to_string();
    let mut arguments = vec!["build", "--release", "--locked", "-o", &to];
    // for this machine, reuse the artefacts of `cargo build --release`
    if target != host()? {
        arguments.extend(["--target", target]);
    }
    if target.contains("linux") {
        // zig links against an old glibc, for both architectures
        arguments.push("--zig");
    }
    maturin(&arguments)?
        .env("QUASISTEP_VIEWER_BUNDLE", bundle)
        .run(&format!("wheel for {target}"))?;
    for file in files(folder)? {
        let size = size(&file)?;
        if size > LARGEST_WHEEL {
            let file = file.display();
            return Err(Failure::new(format!("{file} has {size} bytes; {LARGEST_WHEEL} at most")));
        }
    }
    Ok(())
}

/// A step that runs `maturin`, with the tools that it needs.
fn maturin(arguments: &[&str]) -> Result<Step, Failure> {
    let mut all = vec!["-m", "maturin"];
    all.extend(arguments);
    with_tools(command(&python::environment()?, &all))
}

/// A step with the tools of the environment under target/ on its path: maturin, zig as a linker, and
/// cargo's command for it.
fn with_tools(step: Step) -> Result<Step, Failure> {
    let python = python::environment()?;
    let tools = ["-m", "pip", "install", "-q", "maturin>=1.16,<2", "ziglang", "cargo-zigbuild"];
    command(&python, &tools).output()?;
    let folder = Path::new(&python).parent().map(Path::to_path_buf).unwrap_or_default();
    let mut path = vec![folder];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let path = std::env::join_paths(path).map_err(|e| Failure::new(e.to_string()))?;
    Ok(step.env("PATH", path))
}

fn copy_file(from: &Path, to: &Path) -> Result<(), Failure> {
    let fail = |e: std::io::Error| Failure::new(format!("{}: {e}", from.display()));
    std::fs::create_dir_all(to.parent().unwrap_or(Path::new("."))).map_err(fail)?;
    std::fs::copy(from, to).map_err(fail)?;
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
