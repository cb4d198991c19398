//! `quasistep examples`: the shipped scenes, which the command contains.

use crate::failure::Failure;
use std::path::Path;

/// Paths in the folder of scenes, and bytes.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/scenes.rs"));

/// Text of a shipped scene, by its name without ending; `None` if there is no such scene.
pub fn shipped_scene(name: &str) -> Option<&'static str> {
    let (_, bytes) = FILES.iter().find(|(file, _)| file.strip_suffix(".yml") == Some(name))?;
    std::str::from_utf8(bytes).ok()
}

/// Writes all shipped scenes and their models into a folder.
pub fn examples(dir: &Path, quiet: bool) -> Result<(), Failure> {
    if FILES.is_empty() {
        return Err(Failure::usage(
            "this build has no scenes; they are in the folder `scenes` of the source",
        ));
    }
    let differs = |(name, bytes): &&(&str, &[u8])| {
        let file = dir.join(name);
        file.exists() && !std::fs::read(&file).is_ok_and(|own| own == *bytes)
    };
    if let Some((name, _)) = FILES.iter().find(differs) {
        return Err(Failure::usage(format!(
            "{}: this file is there with other content, and was left as it is; nothing was written: give another folder, as in `quasistep examples my/scenes`",
            dir.join(name).display()
        )));
    }
    for (name, bytes) in FILES {
        let file = dir.join(name);
        // those that are there are the same
        if file.exists() {
            continue;
        }
        let folder = file.parent().unwrap_or(dir);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, bytes));
        written.map_err(|e| Failure::files(format!("{}: {e}", file.display())))?;
    }
    if !quiet {
        let scenes = FILES.iter().filter(|(name, _)| !name.contains('/')).count();
        say!("wrote {scenes} scenes and their models into {}; run one:", dir.display());
        say!("quasistep run {}", dir.join("planar_push.yml").display());
    }
    Ok(())
}
