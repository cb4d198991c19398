//! Lists the shipped scenes for `quasistep examples`: those of the repository, or, in a published crate, the copy beside
//! this file (from `cargo xtask bundle`).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = [own.join("../../scenes"), own.join("scenes")];
    let mut files = Vec::new();
    if let Some(place) = places.iter().find(|place| place.is_dir()) {
        println!("cargo:rerun-if-changed={}", place.display());
        collect(place, &mut files);
        files.sort();
    }
    let mut list = String::from("&[");
    for file in &files {
        let name = places.iter().find_map(|place| file.strip_prefix(place).ok());
        let parts: Vec<_> = name.into_iter().flatten().map(|part| part.to_string_lossy()).collect();
        let _ = writeln!(
            list,
            "({:?}, include_bytes!({:?})),",
            parts.join("/"),
            file.display().to_string()
        );
    }
    list.push(']');
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    std::fs::write(out.join("scenes.rs"), list).expect("OUT_DIR can be written");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
