//! Unmodified files from which cases are derived.

use quasistep_scene::Scene;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Files by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Small shipped scenes that need no other files.
const SCENES: [&str; 14] = [
    "ball_in_hand",
    "box_pivot",
    "door",
    "fence_particle",
    "four_bar_gripper",
    "gripper_2d",
    "pinch",
    "planar_hand",
    "planar_push",
    "planar_pusher",
    "point_robot",
    "sphere_spin",
    "tunnel",
    "pebble",
];

/// Formats that have seeds: the folders of `fuzz/seeds`, and those generated here.
pub fn formats() -> Vec<String> {
    let mut formats: Vec<String> = folder_names(&folder());
    formats.extend(["scene".into(), "recording".into()]);
    formats
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("seeds")
}

fn folder_names(of: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(of).expect("fuzz/seeds stands in the checkout");
    let mut names: Vec<String> =
        entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

/// The file that has the format itself; others only refer to it.
pub fn own_file(format: &str, files: &Files) -> String {
    let others = |name: &&String| format == "scene" || name.as_str() != "scene.yml";
    let named = |name: &&String| name.starts_with("main.") || format == "scene";
    let found = files.keys().filter(others).find(named).or_else(|| files.keys().find(others));
    found.or(files.keys().next()).cloned().unwrap_or_default()
}

/// Seeds of a format; each is the set of files of one case.
///
/// # Panics
///
/// If a seed cannot be read.
pub fn seeds_of(format: &str) -> &'static [Files] {
    static SEEDS: OnceLock<BTreeMap<String, Vec<Files>>> = OnceLock::new();
    let seeds = SEEDS.get_or_init(|| {
        let mut seeds: BTreeMap<String, Vec<Files>> =
            folder_names(&folder()).into_iter().map(|f| (f.clone(), vec![of_folder(&f)])).collect();
        seeds.insert("scene".into(), scenes());
        seeds.insert("recording".into(), vec![Files::from([("run.qsr".into(), recording())])]);
        seeds
    });
    seeds.get(format).map(Vec::as_slice).unwrap_or_default()
}

fn of_folder(format: &str) -> Files {
    let folder = folder().join(format);
    let read = |name: String| {
        let bytes = std::fs::read(folder.join(&name)).expect("a seed can be read");
        (name, bytes)
    };
    folder_names(&folder).into_iter().map(read).collect()
}

/// Shipped scenes, and the examples of the format's documentation.
fn scenes() -> Vec<Files> {
    let mut all = Vec::new();
    for name in SCENES {
        let text = std::fs::read(testkit::scene_path(name)).expect("a shipped scene");
        all.push(Files::from([("scene.yml".to_owned(), text)]));
    }
    for (_, page) in testkit::scene_format_pages() {
        for example in page.split("```").skip(1).step_by(2) {
            if let Some(text) = example.strip_prefix("yaml") {
                all.push(Files::from([("scene.yml".to_owned(), text.as_bytes().to_vec())]));
            }
        }
    }
    all
}

/// A short run of a small scene.
fn recording() -> Vec<u8> {
    let changes = [("step.duration".to_owned(), "0.1".to_owned())];
    let scene = Scene::load_with(&testkit::scene_path("pinch"), &changes).expect("a shipped scene");
    let run = scene.run(None, &mut |_| ControlFlow::Continue(()));
    run.recording.to_bytes().expect("numbers of a run are finite")
}
