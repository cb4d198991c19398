//! Checks ARCHITECTURE.md against the workspace: layers, entry points and paths.

use crate::task::{Failure, metadata, root};
use std::collections::BTreeMap;

/// Layer of each published crate, which may depend on lower layers only.
const FLOORS: [(&str, u32); 17] = [
    ("quasistep-linalg", 0),
    ("quasistep-math", 0),
    ("quasistep-cone", 1),
    ("quasistep-geometry", 1),
    ("quasistep-mesh", 1),
    ("quasistep-model", 1),
    ("quasistep-qp", 1),
    ("quasistep-record", 1),
    ("quasistep-formats", 2),
    ("quasistep-friction", 2),
    ("quasistep", 3),
    ("quasistep-scene", 4),
    ("quasistep-view", 4),
    ("quasistep-control", 4),
    ("quasistep-plan", 4),
    ("quasistep-live", 5),
    ("quasistep-reproduce", 5),
];
/// Crates of the top layers, which may depend on all others. The Python package has the command, too.
const ROOF: [(&str, u32); 2] = [("quasistep-cli", 6), ("quasistep-py", 7)];
/// Development crates, on which no published crate may depend.
const SHED: [&str; 5] = ["testkit", "counting", "fuzz", "xtask", "benches"];
/// The viewer draws recordings. It must not depend on the simulator, directly or indirectly.
const VIEW_MUST_NOT_REACH: &str = "quasistep";

pub fn check() -> Result<(), Failure> {
    doors()?;
    files()?;
    paths("ARCHITECTURE.md")?;
    paths("docs/glossary.md")
}

fn doors() -> Result<(), Failure> {
    let metadata = metadata(&["--no-deps"])?;
    let floors: BTreeMap<&str, u32> = FLOORS.into_iter().chain(ROOF).collect();
    let mut complaints = Vec::new();
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    for package in &packages {
        let name = package["name"].as_str().unwrap_or_default();
        if SHED.contains(&name) {
            continue;
        }
        let Some(&floor) = floors.get(name) else {
            complaints
                .push(format!("`{name}` stands on no floor; add it to xtask and ARCHITECTURE.md"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            // tests may depend on oracles and shared scenes
            if dependency["kind"].as_str() == Some("dev") {
                continue;
            }
            let on = dependency["name"].as_str().unwrap_or_default();
            if SHED.contains(&on) {
                complaints.push(format!("`{name}` depends on `{on}` of the shed"));
            } else if floors.get(on).is_some_and(|&below| below >= floor) {
                complaints
                    .push(format!("`{name}` (floor {floor}) depends on `{on}`, not below it"));
            }
            if name == "quasistep-view" && on == VIEW_MUST_NOT_REACH {
                complaints.push("`quasistep-view` links the simulator".into());
            }
        }
    }
    if complaints.is_empty() { Ok(()) } else { Err(Failure::new(complaints.join("\n"))) }
}

/// Scene readers open files through one function, so that a scene can be read from memory.
fn files() -> Result<(), Failure> {
    let door = root().join("crates/quasistep-formats/src/files.rs");
    let rooms = ["quasistep-formats", "quasistep-scene"];
    let mut folders = rooms.map(|room| root().join("crates").join(room).join("src")).to_vec();
    let mut complaints = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|e| Failure::new(e.to_string()))?;
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).map_err(|e| Failure::new(e.to_string()))?;
            let opens = ["fs::read", "File::open", ".is_file()", ".exists()"];
            for (number, line) in text.lines().enumerate() {
                let own = path == door || line.trim_start().starts_with("//");
                if !own && opens.iter().any(|call| line.contains(call)) && !line.contains("files::")
                {
                    let place = format!("{}:{}", path.display(), number + 1);
                    complaints
                        .push(format!("{place}: open files by `files::read` and `files::is_file`"));
                }
            }
        }
    }
    if complaints.is_empty() { Ok(()) } else { Err(Failure::new(complaints.join("\n"))) }
}

/// Checks that every path in backticks on a page exists.
fn paths(page: &str) -> Result<(), Failure> {
    let root = root();
    let text = std::fs::read_to_string(root.join(page))
        .map_err(|e| Failure::new(format!("{page}: {e}")))?;
    let mut seen = 0;
    let mut missing = Vec::new();
    for (number, line) in text.lines().enumerate() {
        // odd pieces between backticks are code
        for piece in line.split('`').skip(1).step_by(2) {
            let is_path = piece.contains('/')
                && !piece.contains(|c: char| c.is_whitespace() || "<>*(){}=".contains(c))
                && !piece.starts_with("http");
            if is_path {
                seen += 1;
                if !root.join(piece).exists() {
                    missing.push(format!("{page}:{}: `{piece}` does not exist", number + 1));
                }
            }
        }
    }
    if seen == 0 {
        return Err(Failure::new(format!("{page} names no path: is it the right file?")));
    }
    if missing.is_empty() { Ok(()) } else { Err(Failure::new(missing.join("\n"))) }
}
