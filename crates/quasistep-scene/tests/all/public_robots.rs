//! Every robot file of the wheel `example-robot-data`, which `cargo xtask robots` downloads.

use quasistep_scene::{RunOptions, Scene};
use std::ops::ControlFlow::Continue;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Number of robot files in wheel 6.0.0.
const FILES: usize = 69;

/// Files with mistakes: a part of the error, and why it is right.
const WRONG: [(&str, &str, &str); 2] = [
    (
        "alex_description/urdf/alex_psyonic_hands.urdf",
        "1037: joint `Left_index_q2` mimic: unknown joint `index_q1`",
        "the leader that <mimic> names is not there: its own is called `Left_index_q1`",
    ),
    (
        "ur_description/urdf/ur3.urdf",
        "no <link> was seen",
        "a robot without links; Pinocchio refuses it too",
    ),
];

/// Loads a robot file directly, takes the first step of its scene, and its first steps with exact
/// friction.
fn try_out(path: &Path) -> Result<(), String> {
    let scene = Scene::load_with(path, &[]).map_err(|e| e.to_string())?;
    let first = scene.first_step().map_err(|e| format!("the first step cannot be taken: {e}"))?;
    if let Some(complaint) = first.report.certificate.complaint() {
        return Err(format!("the first step has no certificate: {complaint}"));
    }
    let exact = [("step.friction".to_owned(), "exact".to_owned())];
    let exact = Scene::load_with(path, &exact).map_err(|e| e.to_string())?;
    let options = RunOptions { n_steps: Some(20), ..RunOptions::default() };
    if let Some(error) = exact.run_with(&options, None, &mut |_| Continue(())).stopped {
        return Err(format!("with exact friction: {error}"));
    }
    match scene.warnings.iter().find(|w| w.lines().count() != 1 || !w.contains(": ")) {
        Some(warning) => Err(format!("a warning that is no line with a place: {warning:?}")),
        None => Ok(()),
    }
}

#[test]
fn every_robot_of_the_wheel_is_read_and_takes_a_step() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let robots = root.join("target/robots/share/example-robot-data/robots");
    let mut files = Vec::new();
    collect(&robots, &mut files);
    assert_eq!(
        files.len(),
        FILES,
        "robot files in {}; `cargo xtask robots` fetches them",
        robots.display()
    );
    files.sort();
    let next = Mutex::new(files.into_iter());
    let failures = Mutex::new(Vec::new());
    let work = || {
        loop {
            let Some(path) = next.lock().unwrap().next() else { break };
            let name = path.strip_prefix(&robots).unwrap().display().to_string();
            let wrong = WRONG.iter().find(|(file, ..)| *file == name);
            let failure = match (try_out(&path), wrong) {
                (Ok(()), None) => continue,
                (Err(error), Some((_, expected, _))) if error.contains(expected) => continue,
                (Err(error), _) => error,
                (Ok(()), Some((_, _, why))) => format!("is read, though {why}"),
            };
            failures.lock().unwrap().push(format!("{name}: {failure}"));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Robot files in a folder and its subfolders.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "urdf") {
            files.push(path);
        }
    }
}
