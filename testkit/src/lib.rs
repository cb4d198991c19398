//! Scenes, oracles and measures shared by the tests and benches of quasistep.

#![allow(non_snake_case)] // P, A, J, E are the letters of the literature

pub mod clarabel_oracle;
pub mod dense_program;
pub mod everyday;
pub mod hard_problems;
pub mod random_lcs;
pub mod random_worlds;
pub mod still_worlds;
pub mod symmetry;
pub mod worlds;

use quasistep_scene::Scene;
use std::path::PathBuf;

/// Names of the shipped scenes that run on their own, by their file name without ending.
pub const SCENES: [&str; 19] = [
    "gripper_2d",
    "four_bar_gripper",
    "iiwa_stacking",
    "planar_push",
    "pusher_slider",
    "ball_in_hand",
    "box_pivot",
    "pinch",
    "door",
    "pile",
    "sphere_spin",
    "bunny_grasp",
    "mug_handle",
    "million_points",
    "pebble",
    "fence_particle",
    "robots/drawer",
    "robots/panda_push",
    "robots/peg_in_hole",
];

/// Names of the scenes under control by `quasistep mpc`. Their commands are plans, so they cannot
/// run without the controller.
pub const CONTROLLED_SCENES: [&str; 4] =
    ["point_robot", "planar_hand", "planar_pusher", "pusher_slider_eight"];

/// Names of scenes whose facts are tested as shipped and which no other suite runs. Steps with
/// substeps have no derivative as a single program; scenes of hands and of two arms run too long.
pub const FACTS_ONLY: [&str; 28] = [
    "fall",
    "grain",
    "nets",
    "lift",
    "slope",
    "conveyor",
    "push_to_pose",
    "push_around",
    "turn_disc",
    "two_planar_arms",
    "tip_plate",
    "open_door",
    "pen",
    "peg_search",
    "suction",
    "tool_change",
    "sensors",
    "sheets",
    "terrain",
    "tunnel",
    "bin_picking",
    "robots/allegro_ball",
    "robots/allegro_cube",
    "robots/allegro_turn",
    "robots/panda_obstacles",
    "robots/panda_plan",
    "robots/shadow_ball",
    "robots/two_arms",
];

/// Root of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Pages of the scene format, with their paths in the repository, sorted.
///
/// # Panics
///
/// If a page cannot be read.
pub fn scene_format_pages() -> Vec<(String, String)> {
    let folder = root().join("docs/scene");
    let files = std::fs::read_dir(folder).expect("the folder of the pages");
    let names = files.map(|entry| entry.expect("a page").file_name());
    let mut pages: Vec<String> =
        names.map(|name| format!("docs/scene/{}", name.display())).collect();
    pages.push("docs/scene-format.md".into());
    pages.sort();
    let read = |page: &String| std::fs::read_to_string(root().join(page)).expect("a page");
    pages.iter().map(|page| (page.clone(), read(page))).collect()
}

/// Names of all scene files, sorted. Those of public robots have the prefix `robots/`.
///
/// # Panics
///
/// If a folder cannot be read.
pub fn scene_files() -> Vec<String> {
    let mut names = Vec::new();
    for (folder, prefix) in [("scenes", ""), ("scenes/robots", "robots/")] {
        let entries = std::fs::read_dir(root().join(folder)).expect("the checkout has this folder");
        let files = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.extend(
            files.filter_map(|f| f.strip_suffix(".yml").map(|name| format!("{prefix}{name}"))),
        );
    }
    names.sort_unstable();
    names
}

/// Path of a shipped scene.
///
/// # Panics
///
/// If it is one of `scenes/robots` and the robots have not been fetched.
pub fn scene_path(name: &str) -> PathBuf {
    if name.starts_with("robots/") {
        // this file is written last, when all robots are complete
        let stamp = root().join("target/robots/version");
        assert!(stamp.is_file(), "{name} needs public robots: run `cargo xtask robots` once");
    }
    root().join("scenes").join(format!("{name}.yml"))
}

/// Loads a shipped scene with changes as by `--set`.
///
/// # Panics
///
/// If the scene cannot be loaded.
pub fn scene(name: &str, changes: &[(&str, &str)]) -> Scene {
    let changes: Vec<(String, String)> =
        changes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    match Scene::load_with(&scene_path(name), &changes) {
        Ok(scene) => scene,
        Err(error) => panic!("{error}"),
    }
}

/// Keys and values of a scene that select a formulation: `convex` or `exact` friction in
/// quasi-static steps, or `dynamic` steps.
pub fn law(word: &str) -> [(&'static str, &'static str); 2] {
    let (friction, motion) = match word {
        "convex" => ("convex", "quasi_static"),
        "exact" => ("exact", "quasi_static"),
        "dynamic" => ("exact", "dynamic"),
        other => panic!("`{other}` is no law"),
    };
    [("step.friction", friction), ("step.motion", motion)]
}
