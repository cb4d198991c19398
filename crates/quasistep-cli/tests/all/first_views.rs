//! The first view of the page of every scene.

use crate::common::{Folder, ends, quasistep, root};
use quasistep_record::Recording;
use quasistep_view::first_view;

/// Frames of a run at which one looks at it.
const LOOKS: usize = 15;

/// Scenes in which bodies hide a contact from every direction, with the least share of looks at
/// which one is seen.
const HIDDEN: [(&str, f64); 5] = [
    // a ball of 5 mm goes around a box of 40 mm: from no side is it always in front
    ("pusher_slider_eight", 0.7),
    // three fingertips let go and grasp again, on all sides of the pen
    ("pen", 0.9),
    // a ball in a bowl, then a push on the other side of the table
    ("sheets", 0.8),
    // in its first steps the finger goes farther than the box is wide
    ("tunnel", 0.8),
    // fingers hold a scan, which has holes and lobes
    ("million_points", 0.8),
];

/// Runs every scene, and looks at it from its first view: at all times one sees a place where bodies
/// press on one another, with both bodies beside it; of the hand and what it holds, if it holds
/// anything.
#[test]
fn the_first_view_shows_what_touches_from_start_to_end() {
    let mut scenes: Vec<String> = std::fs::read_dir(root().join("scenes"))
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter_map(|file| file.strip_suffix(".yml").map(str::to_owned))
        .collect();
    scenes.sort_unstable();
    assert!(scenes.len() > 30, "{scenes:?}");
    let out = Folder::new("first-views");
    let mut faults = Vec::new();
    for scene in scenes {
        let file = format!("scenes/{scene}.yml");
        let text = std::fs::read_to_string(root().join(&file)).unwrap();
        let has = |section: &str| text.lines().any(|line| line.starts_with(section));
        let verb = if has("mpc:") {
            "mpc"
        } else if has("plan:") {
            "plan"
        } else {
            "run"
        };
        ends(&quasistep(&[verb, &file, "-o", out.text(), "--quiet", "--no-page"]), 0);
        let recording = Recording::read(&out.0.join("recording.qsr")).unwrap();
        let view = first_view(&recording);
        let last = recording.frames.len() - 1;
        let mut frames: Vec<usize> = (1..=LOOKS).map(|k| (k * last).div_ceil(LOOKS)).collect();
        frames.dedup();
        let looks: Vec<(usize, usize)> = frames
            .into_iter()
            .map(|k| view.sees(&recording, k))
            .filter(|(pairs, _)| *pairs > 0)
            .collect();
        let seen = looks.iter().filter(|(_, seen)| *seen > 0).count();
        let share = seen as f64 / looks.len().max(1) as f64;
        let least = HIDDEN.iter().find(|(name, _)| *name == scene).map_or(1.0, |(_, least)| *least);
        if !looks.is_empty() && share < least {
            faults.push(format!("{scene}: {seen} of {} looks", looks.len()));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
