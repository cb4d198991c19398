//! Scenes, oracles and measures shared by the tests and benches of quasistep.

pub mod clarabel_oracle;
pub mod hard_problems;
pub mod random_lcs;
pub mod random_worlds;

use quasistep_scene::Scene;
use std::path::PathBuf;

/// Names of the shipped scenes that run on their own, by their file name without ending.
pub const SCENES: [&str; 13] = [
    "gripper_2d",
    "iiwa_stacking",
    "planar_push",
    "ball_in_hand",
    "box_pivot",
    "pinch",
    "door",
    "pile",
    "sphere_spin",
    "bunny_grasp",
    "mug_handle",
    "million_points",
    "fence_particle",
];

/// Names of the scenes that are controlled, by `quasistep mpc`: their commands are plans, so they have no
/// run of their own.
pub const CONTROLLED_SCENES: [&str; 3] = ["point_robot", "planar_hand", "planar_pusher"];

/// Names of the scenes whose motion leaves the rows of their steps: they take substeps.
pub const SWEPT_SCENES: [&str; 1] = ["tunnel"];

/// Root of the checkout.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Path of a shipped scene.
pub fn scene_path(name: &str) -> PathBuf {
    root().join("scenes").join(format!("{name}.yml"))
}

/// A shipped scene, with `--set`-style changes.
///
/// # Panics
///
/// If the scene cannot be loaded: a shipped scene must.
pub fn scene(name: &str, changes: &[(&str, &str)]) -> Scene {
    let changes: Vec<(String, String)> =
        changes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    match Scene::load_with(&scene_path(name), &changes) {
        Ok(scene) => scene,
        Err(error) => panic!("{error}"),
    }
}
