//! Seams between flush bodies or parts do not affect motion or forces of a body that slides or
//! rolls over them (mujoco#1040, CoACD#44, mujoco#436). Curbs, walls and gaps do.

use quasistep::{StepError, StepInput};
use quasistep_math::Vec3;
use quasistep_model::WORLD;
use quasistep_scene::Scene;
use std::path::Path;

/// Friction law, inertia and cone of a run.
type Way = [&'static str; 3];

const ROUND: [Way; 5] = [
    ["convex", "none", "round"],
    ["convex", "mass", "round"],
    ["exact", "none", "round"],
    ["exact", "mass", "round"],
    ["dynamic", "mass", "round"],
];
const PYRAMIDS: [Way; 3] =
    [["convex", "none", "4"], ["exact", "mass", "4"], ["dynamic", "mass", "4"]];

/// Motion of the body called `box` and the forces on it.
struct Run {
    /// Position of its centre at the start and at the end, in m.
    start: Vec3,
    end: Vec3,
    /// Forces of the pusher on it, and forces of all springs, in N, for every step.
    pushes: Vec<f64>,
    efforts: Vec<Vec<f64>>,
    error: Option<StepError>,
}

impl Run {
    /// Distance travelled, in m.
    fn travel(&self) -> f64 {
        (self.end - self.start).norm()
    }
}

fn run(file: &str, [law, inertia, cone]: Way, step: Option<f64>) -> Run {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/seams/{file}.yml"));
    let [friction, motion] = testkit::law(law).map(|(key, value)| (key, value.to_owned()));
    let mut changes = vec![friction, motion, ("step.cone", cone.to_owned())];
    changes.extend(step.map(|h| ("step.size", h.to_string())));
    if law != "dynamic" {
        changes.push(("step.inertia", inertia.to_owned()));
    }
    let changes: Vec<(String, String)> =
        changes.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let scene = Scene::load_with(&path, &changes).unwrap_or_else(|e| panic!("{e}"));
    let (system, model) = (&scene.system, scene.system.model());
    let body = |name: &str| {
        (0..model.n_bodies()).find(|&b| model.body(b).name == name).unwrap_or(WORLD) as u32
    };
    let pair = [body("box/box"), body("pusher/pusher")];
    let place = |q: &[f64]| {
        let mut kin = model.create_kinematics();
        model.kinematics(q, &mut kin);
        kin.X_WB[pair[0] as usize].translation
    };
    let (mut state, mut work) = (scene.start.clone(), system.create_workspace());
    let start = place(&state.q);
    let (mut pushes, mut efforts, mut error) = (Vec::new(), Vec::new(), None);
    let mut input = StepInput::default();
    for k in 1..=scene.n_steps() {
        scene.sample(k as f64 * scene.params.time_step, &mut input);
        match system.step_with(&mut state, &input, &scene.params, &mut work) {
            Ok(report) => {
                let pushed = report
                    .contacts
                    .iter()
                    .filter(|c| [c.body_a, c.body_b] == pair || [c.body_b, c.body_a] == pair);
                pushes.push(pushed.map(|c| c.normal_force).sum());
                efforts.push(report.effort.clone());
            }
            Err(why) => {
                error = Some(why);
                break;
            }
        }
    }
    Run { start, end: place(&state.q), pushes, efforts, error }
}

fn is_near(seen: f64, right: f64) -> bool {
    (seen - right).abs() <= 0.01 * right.abs()
}

/// Checks a box of 1 kg that is pushed at 0.15 m/s on a floor of friction 0.4; lengths are
/// multiplied by `scale`. The spring of 2000 N/m is compressed until its force is `mu m g`; then
/// the box slides with that force. With inertia between steps, the force of the relaxation time of
/// 1 s is added.
fn check_pushed(file: &str, way: Way, step: Option<f64>, scale: f64) {
    let run = run(file, way, step);
    let what = format!("{file} {way:?} {step:?}");
    assert!(run.error.is_none(), "{what}: {:?}", run.error);
    let travel = run.travel();
    assert!(is_near(travel, 0.44804 * scale), "{what}: it went {travel} m");
    let drag = if way[1] == "mass" && way[0] != "dynamic" { 0.15 * scale } else { 0.0 };
    // dynamic steps oscillate while the spring is loaded
    let settled = run.pushes.len() / 2;
    for push in &run.pushes[settled..] {
        assert!(is_near(*push, 0.4 * 9.81 + drag), "{what}: a push of {push} N");
    }
}

#[test]
fn a_box_passes_seams_as_if_there_were_none() {
    let files = [
        "one_slab",
        "slabs",
        "on_the_seam",
        "overlapping",
        "tile_in_plane",
        "one_body",
        "mesh",
        "tiles",
        "at_an_angle",
        "narrow",
        "small_gap",
        "can",
        "pieces_on_tiles",
        "tilted",
        "planks",
        "planks_gap",
        "drawer",
        "quarter_turns",
        "two_files",
    ];
    for file in files {
        for way in ROUND {
            check_pushed(file, way, None, 1.0);
        }
    }
}

#[test]
fn whatever_the_step() {
    for file in ["slabs", "tile_in_plane", "mesh", "tiles", "at_an_angle", "planks", "drawer"] {
        for way in ROUND {
            check_pushed(file, way, Some(0.2), 1.0);
            if ["slabs", "mesh", "planks"].contains(&file) {
                check_pushed(file, way, Some(0.005), 1.0);
            }
        }
    }
}

/// A round pusher turns a box with pyramidal friction, on any floor.
#[test]
fn with_pyramids_too() {
    for file in ["slabs_flat_pusher", "tiles_flat_pusher"] {
        for way in PYRAMIDS {
            check_pushed(file, way, None, 1.0);
            check_pushed(file, way, Some(0.2), 1.0);
        }
    }
}

/// In the larger world the box moves for 3000 s. The convex law lifts it by more than
/// `contact_margin` there.
#[test]
fn in_large_and_small_worlds_too() {
    for way in ROUND {
        check_pushed("small", way, None, 0.001);
        if way[0] != "convex" {
            let run = run("large", way, None);
            assert!(is_near(run.travel(), 448.04), "{way:?}: {} m", run.travel());
            let push = run.pushes[run.pushes.len() - 1];
            let drag = if way[1] == "mass" && way[0] == "exact" { 0.15 } else { 0.0 };
            assert!(is_near(push, 0.4 * 9.81 + drag), "{way:?}: {push} N");
        }
    }
}

/// Checks that two runs differ by at most 1 % of their largest force, and of the distance
/// travelled, in every step.
fn check_alike(file: &str, one: &str, way: Way, step: f64) {
    let (seam, whole) = (run(file, way, Some(step)), run(one, way, Some(step)));
    let what = format!("{file} {way:?} {step}");
    assert!(seam.error.is_none() && whole.error.is_none(), "{what}: {:?}", seam.error);
    assert!(
        (seam.end - whole.end).norm() <= 0.01 * whole.travel(),
        "{what}: {:?} {:?}",
        seam.end,
        whole.end
    );
    let most = whole.efforts.iter().flatten().fold(0.0_f64, |m, f| m.max(f.abs()));
    let efforts = seam.efforts.iter().flatten().zip(whole.efforts.iter().flatten());
    for (seen, right) in efforts {
        assert!((seen - right).abs() <= 0.01 * most + 1e-9, "{what}: {seen} N, not {right} N");
    }
}

#[test]
fn balls_cylinders_and_capsules_roll_over_seams() {
    for file in ["ball", "cylinder", "capsule"] {
        for way in ROUND.into_iter().chain(PYRAMIDS) {
            for step in [0.02, 0.2] {
                check_alike(file, &format!("{file}_one_slab"), way, step);
            }
        }
    }
}

#[test]
fn a_fingertip_does_not_feel_that_a_part_is_of_two_pieces() {
    for file in ["finger", "finger_edge", "finger_corner", "finger_capsule"] {
        let one = format!("{file}_one_piece");
        for way in ROUND.into_iter().chain(PYRAMIDS) {
            for step in [0.004, 0.02, 0.1] {
                check_alike(file, &one, way, step);
            }
        }
    }
}

/// A finger that gives way: its edge overlaps the part, where the seam is another edge that presses
/// into the finger. A pad presses with the area over each piece.
#[test]
fn a_soft_fingertip_does_not_feel_it_either() {
    for file in ["soft_edge", "pad"] {
        for way in ROUND {
            let steps: &[f64] = if way[0] == "dynamic" { &[0.1] } else { &[0.004, 0.02, 0.1] };
            for step in steps {
                check_alike(file, &format!("{file}_one_piece"), way, *step);
            }
        }
    }
}

/// The box is pressed against the wall while it slides along it.
#[test]
fn a_box_slides_along_a_wall_of_blocks_as_along_one() {
    for way in ROUND {
        for step in [0.005, 0.02, 0.2] {
            check_alike("along_a_wall", "along_a_wall_one_block", way, step);
        }
    }
}

/// A slab that is 1 mm lower: the box goes on and ends up on it.
#[test]
fn a_step_down_is_no_obstacle() {
    for way in [ROUND[1], ROUND[3]] {
        for step in [0.005, 0.02, 0.2] {
            let run = run("step_down", way, Some(step));
            assert!(is_near(run.end.x, 0.248), "{way:?} {step}: {:?}", run.end);
            let most = run.pushes.iter().copied().fold(0.0, f64::max);
            assert!(most < 1.05 * 0.4 * 9.81 + 0.15, "{way:?} {step}: {most} N");
        }
    }
}

/// A slab that is 1 mm higher. Without inertia the box tips over its edge; with inertia it climbs.
#[test]
fn a_curb_stops_a_box() {
    let tips = run("curb", ["exact", "none", "round"], None);
    assert!(matches!(tips.error, Some(StepError::Unsupported { .. })), "{:?}", tips.error);
    assert!(tips.end.x < -0.09, "{:?}", tips.end);
    for file in ["curb", "curb_of_planks", "curb_of_a_large_floor"] {
        for step in [0.005, 0.02, 0.2] {
            let climbs = run(file, ["exact", "mass", "round"], Some(step));
            let most = climbs.pushes.iter().copied().fold(0.0, f64::max);
            assert!(most > 8.0, "{file} {step}: {most} N");
        }
    }
}

/// The wall is at x = 0. In 3 s the spring of 2000 N/m is compressed by 0.35 m.
#[test]
fn a_wall_on_a_floor_stops_a_box() {
    for way in ROUND.into_iter().chain(PYRAMIDS) {
        let run = run("wall", way, None);
        assert!((run.end.x + 0.1).abs() < 1e-4, "{way:?}: {:?}", run.end);
        let push = run.pushes[run.pushes.len() - 1];
        assert!(is_near(push, 700.0), "{way:?}: {push} N");
    }
}

/// The box's centre passes the edge before its front has crossed the gap of 15 cm.
#[test]
fn a_box_tips_into_a_wide_gap() {
    for way in [ROUND[0], ROUND[2]] {
        let run = run("wide_gap", way, None);
        assert!(
            matches!(run.error, Some(StepError::Unsupported { .. })),
            "{way:?}: {:?}",
            run.error
        );
        assert!(run.end.x.abs() < 0.01, "{way:?}: {:?}", run.end);
    }
}
