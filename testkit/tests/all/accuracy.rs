//! Contributions to the difference between the cube-stacking arm and its ground truth: the table of
//! `docs/accuracy.md`. `cargo test -p testkit accuracy:: -- --nocapture` prints it.

use quasistep_reproduce::measure::{Trajectory, integral_error};
use quasistep_reproduce::reference::red_cube;
use quasistep_scene::Scene;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use testkit::scene_path;

/// The scene with the collision geometry of the ground truth: a core that is 0.5 mm smaller on all
/// sides, and the box's corners as points. A box on another sinks by these 0.5 mm.
fn corner_points(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let Some(rest) = line.trim().strip_prefix("shape: {box: {size: [") else {
            out.push_str(line);
            out.push('\n');
            continue;
        };
        let edge: f64 = rest.split(',').next().unwrap().parse().unwrap();
        let (core, half) = (edge - 0.001, 0.5 * edge);
        out.push_str("    shapes:\n");
        writeln!(out, "      - {{name: core, box: {{size: [{core}, {core}, {core}]}}}}").unwrap();
        for k in 0..8 {
            let [x, y, z] = [1, 2, 4].map(|bit| if k & bit == 0 { -half } else { half });
            writeln!(
                out,
                "      - {{name: c{k}, sphere: {{radius: 1e-7}}, pose: {{xyz: [{x}, {y}, {z}]}}}}"
            )
            .unwrap();
        }
    }
    out
}

/// Integral errors of a run: total, of the position in m·s, and of the quaternion in s.
fn errors(text: &str, changes: &[(&str, &str)]) -> [f64; 3] {
    let changes: Vec<(String, String)> =
        changes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let path = scene_path("iiwa_stacking");
    let dir = path.parent().unwrap();
    let scene = Scene::parse(text, "iiwa_stacking.yml", "iiwa_stacking", dir, &changes)
        .unwrap_or_else(|e| panic!("{e}"));
    let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
    assert!(outcome.stopped.is_none(), "{changes:?}: {:?}", outcome.stopped);
    let ours = Trajectory::of_body(&outcome.recording, "red_cube/red_cube").unwrap();
    let truth = Trajectory::of_table(&red_cube());
    let part = |range: std::ops::Range<usize>| {
        // the error of one part is computed with the other part replaced by the ground truth
        let mut mixed = ours.clone();
        mixed.t.clone_from(&truth.t);
        mixed.q7 = truth
            .t
            .iter()
            .zip(&truth.q7)
            .map(|(t, want)| {
                let got = ours.at(*t);
                let dot: f64 = (0..4).map(|i| got[i] * want[i]).sum();
                std::array::from_fn(|i| {
                    let sign = if i < 4 && dot < 0.0 { -1.0 } else { 1.0 };
                    if range.contains(&i) { sign * got[i] } else { want[i] }
                })
            })
            .collect();
        integral_error(&mixed, &truth)
    };
    [integral_error(&ours, &truth), part(4..7), part(0..4)]
}

#[test]
fn shares_of_the_error() {
    let patches = std::fs::read_to_string(scene_path("iiwa_stacking")).unwrap();
    let corners = corner_points(&patches);
    let steps = ["0.4", "0.2", "0.1", "0.05", "0.02"];
    let mut err7 = std::collections::BTreeMap::new();
    println!("| integration | inertia | geometry | h | err7 | position | rotation |");
    println!("|---|---|---|---|---|---|---|");
    for (geometry, text) in [("patches", &patches), ("corners", &corners)] {
        for integration in ["euler", "midpoint"] {
            if (geometry, integration) == ("corners", "euler") {
                continue;
            }
            for inertia in ["mass", "none"] {
                for h in steps {
                    let [whole, position, rotation] = errors(
                        text,
                        &[
                            ("step.size", h),
                            ("step.integration", integration),
                            ("step.inertia", inertia),
                            ("step.relaxation", "step"),
                        ],
                    );
                    println!(
                        "| {integration} | {inertia} | {geometry} | {h} | {whole:.4} | {position:.4} | {rotation:.4} |"
                    );
                    err7.insert((integration, inertia, geometry, h), [whole, position, rotation]);
                }
            }
        }
    }
    let [whole, position, rotation] = [0, 1, 2].map(|k| {
        move |key| -> f64 {
            let all: &[f64; 3] = key;
            all[k]
        }
    });
    let at = |i, m, g, h| &err7[&(i, m, g, h)];
    // second order removes the larger contribution, and large steps no longer matter
    for h in ["0.4", "0.2", "0.1"] {
        let (first, second) =
            (at("euler", "mass", "patches", h), at("midpoint", "mass", "patches", h));
        assert!(whole(second) < 0.45 * whole(first), "h = {h}: {first:?} {second:?}");
    }
    // most of the remaining position error is due to the geometry of the ground truth …
    let (ours, theirs) =
        (at("midpoint", "none", "patches", "0.1"), at("midpoint", "none", "corners", "0.1"));
    assert!(position(theirs) < 0.6 * position(ours), "{ours:?} {theirs:?}");
    // … except for the drag M/h of bodies that start each step from rest
    let (rest, none) =
        (at("midpoint", "mass", "corners", "0.02"), at("midpoint", "none", "corners", "0.02"));
    assert!(position(none) < 0.7 * position(rest), "{rest:?} {none:?}");
    // … which is almost zero with a relaxation time of a second
    let changes =
        [("step.size", "0.02"), ("step.integration", "midpoint"), ("step.relaxation", "1")];
    let relaxed = errors(&corners, &changes);
    assert!(relaxed[1] < 1.02 * position(none), "{relaxed:?} {none:?}");
    assert!(rotation(at("midpoint", "mass", "patches", "0.1")) < 0.02);
    // pads and cubes with a compliance of one or two micrometres per newton have forces at all
    // contact points
    for (geometry, text, inertia, compliance, most) in [
        ("patches", &patches, "mass", "1e-6", 0.028),
        ("corners", &corners, "mass", "1e-6", 0.0195),
        ("corners", &corners, "none", "2e-6", 0.0195),
    ] {
        let gives = format!("{{patch: corners, compliance: {compliance}}}");
        let [whole, position, rotation] = errors(
            text,
            &[
                ("step.size", "0.1"),
                ("step.integration", "midpoint"),
                ("step.inertia", inertia),
                ("friction.default", &gives),
            ],
        );
        println!(
            "| midpoint, compliance {compliance} m/N | {inertia} | {geometry} | 0.1 | {whole:.4} | {position:.4} | {rotation:.4} |"
        );
        assert!(whole < most, "{geometry}: {whole}");
    }
}
