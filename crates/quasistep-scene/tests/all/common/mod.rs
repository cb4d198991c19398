//! Helpers for tests of scenes given as text, and of their errors.

pub mod differences;

use quasistep_record::Frame;
use quasistep_scene::{Scene, SceneError};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

pub fn parse_with(text: &str, changes: &[(&str, &str)]) -> Result<Scene, SceneError> {
    let changes: Vec<(String, String)> =
        changes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Scene::parse(text, "scene.yml", "scene", Path::new("."), &changes)
}

/// Every law, kind of motion and step size, as changes of a scene.
pub fn everywhere() -> Vec<[(&'static str, &'static str); 3]> {
    let mut all = Vec::new();
    for law in ["exact", "convex"] {
        for motion in ["quasi_static", "dynamic"] {
            for size in ["0.1", "0.01", "0.001"] {
                all.push([("step.friction", law), ("step.motion", motion), ("step.size", size)]);
            }
        }
    }
    all
}

#[track_caller]
pub fn parse(text: &str, changes: &[(&str, &str)]) -> Scene {
    parse_with(text, changes).unwrap_or_else(|e| panic!("{changes:?}: {e}\n{text}"))
}

/// All frames of a run that goes on to its end.
#[track_caller]
pub fn frames(scene: &Scene) -> Vec<Frame> {
    let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
    assert_eq!(outcome.stopped, None);
    outcome.recording.frames
}

/// Position of a body's origin, in m.
pub fn place(scene: &Scene, frame: &Frame, body: &str) -> [f64; 3] {
    let index = scene.system.model().body_by_name(body).expect("the body exists");
    frame.X_WB[index].translation.to_array()
}

#[track_caller]
pub fn read(text: &str) -> Scene {
    parse_with(text, &[]).unwrap_or_else(|e| panic!("{e}"))
}

#[track_caller]
pub fn expect(result: Result<Scene, SceneError>, place: &str, words: &[&str]) {
    let error = result.expect_err("a mistake").to_string();
    assert!(error.starts_with(place), "`{error}` does not start with `{place}`");
    for word in words {
        assert!(error.contains(word), "`{error}` does not say `{word}`");
    }
    assert_eq!(error.lines().count(), 1, "{error}");
}

/// Checks the error of a scene: it must name this place and contain all of these words.
#[track_caller]
pub fn complaint(text: &str, place: &str, words: &[&str]) {
    expect(parse_with(text, &[]), place, words);
}

/// A separate folder for a test, removed when dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    /// No other test has the same folder, whatever the name.
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let k = COUNT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("quasistep-{name}-{}-{k}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn file(&self, name: &str, text: &str) -> &Self {
        std::fs::write(self.0.join(name), text).unwrap();
        self
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
