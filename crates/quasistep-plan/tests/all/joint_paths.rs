//! Paths of joints between two configurations.

use crate::body;
use quasistep::{State, StepParams};
use quasistep_plan::{GraspSampler, GraspSettings, JointPath, PathError, PathSettings, joint_path};
use quasistep_scene::Scene;
use std::ops::ControlFlow;
use std::path::Path;

/// A finger, a box of 12 cm that rubs on its support, and a wall of 1 mm that ends 2 cm above the
/// box; all lengths times `scale`.
fn fingertip(scale: f64, law: &str, more: &str) -> Scene {
    let motion = match law {
        "convex" => "friction: convex",
        "exact" => "friction: exact",
        "mass" => "inertia: mass",
        _ => "motion: dynamic",
    };
    let [s, wall, thin, k, mass] =
        [0.06 * scale, 0.4 * scale, 0.001 * scale, 400.0 * scale, 0.5 * scale.powi(3)];
    let text = format!(
        "
format: 1
title: A finger goes around a box
gravity: [0, 0, {g}]
step: {{size: 0.05, duration: 1, contact_margin: {margin}, max_overlap: {overlap}, {motion}}}
friction: {{default: 0.4}}
models:
  finger:
    gravity: false
    joint:
      - {{slide: x, axis: [1, 0, 0], stiffness: {k}, damping: {d}, start: {x}}}
      - {{slide: y, axis: [0, 1, 0], stiffness: {k}, damping: {d}}}
    mass: {mass}
    shape: {{sphere: {{radius: {r}}}}}
  box:
    joint: planar
    mass: {mass}
    support: {{friction: 0.3, spin_radius: {s}, load: weight}}
    shape: {{box: {{size: [{b}, {b}, {b}]}}}}
  wall:
    joint: fixed
    pose: {{xyz: [0, {y}, 0]}}
    shape: {{box: {{size: [{thin}, {wall}, {wall}]}}}}
{more}
",
        g = -9.81 * scale,
        margin = 0.02 * scale,
        overlap = 1e-4 * scale,
        // a dynamic finger is damped critically; the others lag by 1 ms, 0.7 mm at most
        d = if law == "dynamic" { 28.0 } else { 0.4 } * scale.powi(3),
        k = k * scale.powi(2),
        x = -0.075 * scale,
        r = 0.015 * scale,
        b = 0.12 * scale,
        y = 0.28 * scale,
    );
    Scene::parse(&text, "finger.yml", "finger", Path::new("."), &[]).unwrap()
}

fn settings(scene: &Scene, margin: f64) -> PathSettings {
    let n = scene.system.n_cmd();
    PathSettings {
        margin,
        bounds: vec![[f64::NEG_INFINITY, f64::INFINITY]; n],
        rates: vec![f64::INFINITY; n],
        samples: 2000,
        seed: 0,
    }
}

fn find(scene: &Scene, goal: &[f64], settings: &PathSettings) -> Result<JointPath, PathError> {
    let q = &scene.start.q;
    search(scene, (q, &scene.system.command_at(q)), goal, settings)
}

fn search(
    scene: &Scene,
    start: (&[f64], &[f64]),
    goal: &[f64],
    settings: &PathSettings,
) -> Result<JointPath, PathError> {
    let look = &mut |_| ControlFlow::Continue(());
    joint_path(&scene.system, &scene.params, start, goal, settings, look)
}

/// A finger that touches one face of a box goes around it to the other. A person sees it leave the
/// box, pass below, where no wall is, 5 mm or more away from everything, and touch again; the box
/// stays where it is. In all laws, at several step sizes, and a thousand times larger and smaller.
#[test]
fn a_finger_goes_around_a_box_to_its_other_face() {
    for (scale, law) in [
        (1.0, "convex"),
        (1.0, "exact"),
        (1.0, "mass"),
        (1.0, "dynamic"),
        (1e3, "exact"),
        (1e-3, "exact"),
    ] {
        let mut scene = fingertip(scale, law, "");
        let mut goal = scene.start.q.clone();
        goal[0] = 0.075 * scale;
        for h in [0.1, 0.02] {
            scene.params = StepParams { time_step: h, ..scene.params.clone() };
            let margin = 0.005 * scale;
            let mut settings = settings(&scene, margin);
            settings.rates = vec![0.5 * scale; 2];
            let path = find(&scene, &goal, &settings).unwrap();
            assert!(path.holds(), "{scale} {law} {h}: {:?} {:?}", path.off, path.failed);
            // convex friction lifts what slides by mu times its motion in a step, a margin at most
            let most = if law == "convex" { 0.4 } else { 0.2 } * margin;
            assert!(path.off <= most || law == "dynamic", "{scale} {law} {h} {}", path.off);
            let still = path.moved.iter().all(|m| m.distance < 1e-3 * scale && m.angle < 0.01);
            assert!(still, "{scale} {law} {h} {:?}", path.moved);
            let mut lowest = 0.0_f64;
            // 500 places on each piece: far from the ends the margin, near them what the rule says
            let (n_q, system) = (goal.len(), &scene.system);
            let corners: Vec<&[f64]> = path.corners.chunks_exact(n_q).collect();
            assert_eq!((corners[0], *corners.last().unwrap()), (&scene.start.q[..], &goal[..]));
            for k in 0..(corners.len() - 1) * 500 {
                let [a, b] = [corners[k / 500], corners[k / 500 + 1]];
                let share = (k % 500) as f64 / 500.0;
                let q: Vec<f64> = a.iter().zip(b).map(|(a, b)| a + share * (b - a)).collect();
                let from = |end: &[f64]| (q[0] - end[0]).hypot(q[1] - end[1]);
                let way = from(corners[0]).min(from(&goal));
                let needed = (0.1 * way).min(margin) - 0.05 * margin;
                for ([a, b], phi) in system.near_pairs(&q, 2.0 * margin).unwrap() {
                    let finger = body(system, "finger/finger");
                    assert!(a != finger && b != finger || phi >= needed, "{phi} {needed} {way}");
                }
                lowest = lowest.min(q[1]);
            }
            assert!(lowest < -0.07 * scale, "{lowest}");
            // rates
            let before = system.command_at(&scene.start.q);
            let all: Vec<f64> = before.iter().chain(&path.commands).copied().collect();
            for (k, u) in all.iter().enumerate().skip(2) {
                assert!((u - all[k - 2]).abs() <= 0.5 * scale * h * (1.0 + 1e-6));
            }
        }
    }
}

/// Equal seeds give equal bits; another seed gives another path.
#[test]
fn a_seed_has_one_path() {
    let scene = fingertip(1.0, "exact", "");
    let mut goal = scene.start.q.clone();
    goal[0] = 0.075;
    let of = |seed: u64| find(&scene, &goal, &PathSettings { seed, ..settings(&scene, 0.005) });
    assert_eq!(of(1), of(1));
    assert_ne!(of(1).unwrap().corners, of(2).unwrap().corners);
}

/// Two fingers let go of a box and take it at other places. A person sees both leave the box before
/// they go around it; the box, which nothing holds down, is hardly moved.
#[test]
fn fingers_take_a_box_at_other_places() {
    let scene = testkit::scene("planar_hand", &[]);
    let (system, model) = (&scene.system, scene.system.model());
    let [left, right, held] =
        ["left/left", "right/right", "box/box"].map(|name| body(system, name));
    let grasp = GraspSettings {
        touches: vec![[left, held], [right, held]],
        moves: (0..4).map(|dof| (dof, [-0.12, 0.12])).collect(),
        distance: 1e-5,
        clearance: 0.004,
        reach: 0.5,
    };
    let mut sampler = GraspSampler::new(system, grasp, 3);
    let mut q = sampler.sample(&scene.start.q, 100).unwrap().unwrap();
    for seed in 0..10 {
        let goal = sampler.sample(&q, 100).unwrap().unwrap();
        let settings = PathSettings { seed, ..settings(&scene, 0.003) };
        let before = system.command_at(&q);
        let path = search(&scene, (&q, &before), &goal, &settings).unwrap();
        assert!(path.holds(), "{seed} {} {:?}", path.off, path.failed);
        assert!(path.moved.iter().all(|moved| moved.body == held), "{:?}", path.moved);
        assert!(path.moved.iter().all(|m| m.distance < 1e-3 && m.angle < 0.02), "{:?}", path.moved);
        let end = &path.q[path.q.len() - model.n_q()..];
        assert!((0..4).all(|k| (end[k] - goal[k]).abs() < 1e-4), "{end:?} {goal:?}");
        q = goal;
    }
}

/// Two pads let go of a body that they hold in the air: it falls, and the path says by how much. A
/// drive so weak that its finger sags leaves the path, and the path says in which step.
#[test]
fn what_the_simulation_does_is_told() {
    for inertia in ["convex", "dynamic"] {
        let mut changes = testkit::law(inertia).to_vec();
        changes.push(("step.inertia", "mass"));
        let scene = testkit::scene("pinch", &changes);
        let held = body(&scene.system, "held/held");
        let mut goal = scene.start.q.clone();
        (goal[0], goal[1]) = (-0.05, 0.05);
        let mut settings = settings(&scene, 0.005);
        settings.rates = vec![0.05; 2];
        let start = State::at_rest(0.0, scene.start.q.clone());
        let before = [-0.028, 0.028];
        let path = search(&scene, (&start.q, &before), &goal, &settings).unwrap();
        assert!(path.holds(), "{} {:?}", path.off, path.failed);
        let [moved] = &path.moved[..] else { panic!("{:?}", path.moved) };
        assert!(moved.body == held && moved.distance > 0.05, "{moved:?}");
    }
    // 0.5 kg on 40 N/m: 12 cm
    let weak =
        [("gravity", "[0, -9.81, 0]"), ("models.finger.mass", "0.5"), ("models.box.mass", "0.001")];
    let scene = testkit::scene("planar_pusher", &weak);
    let mut goal = scene.start.q.clone();
    goal[0] = -0.2;
    let path = find(&scene, &goal, &settings(&scene, 0.005)).unwrap();
    assert!(
        !path.holds() && path.left.is_some() && (path.off - 0.5 * 9.81 / 400.0).abs() < 1e-4,
        "{} {:?}",
        path.off,
        path.left
    );
}

/// Two arms of two links around a ball, in the plane and without gravity.
const ARMS: &str = "
format: 1
title: Two arms around a ball
gravity: [0, 0, 0]
step: {size: 0.05, duration: 1, contact_margin: 0.1}
friction: {default: 0.5}
models:
  left:
    pose: {xyz: [-0.1, 0, 0]}
    joint: [{hinge: z, axis: [0, 0, 1], stiffness: 100, start: 2, limits: [-1, 3]}]
    shape: {capsule: {radius: 0.02, length: 0.16}, pose: {xyz: [0.1, 0, 0], rpy: [0, 1.5707963, 0]}}
  left_fore:
    parent: left/left
    pose: {xyz: [0.2, 0, 0]}
    joint: [{hinge: z, axis: [0, 0, 1], stiffness: 100, start: -1, limits: [-2, 2]}]
    shape: {capsule: {radius: 0.02, length: 0.16}, pose: {xyz: [0.1, 0, 0], rpy: [0, 1.5707963, 0]}}
  right:
    pose: {xyz: [0.1, 0, 0]}
    joint: [{hinge: z, axis: [0, 0, 1], stiffness: 100, start: 1.1, limits: [0.2, 4]}]
    shape: {capsule: {radius: 0.02, length: 0.16}, pose: {xyz: [0.1, 0, 0], rpy: [0, 1.5707963, 0]}}
  right_fore:
    parent: right/right
    pose: {xyz: [0.2, 0, 0]}
    joint: [{hinge: z, axis: [0, 0, 1], stiffness: 100, start: 1, limits: [-2, 2]}]
    shape: {capsule: {radius: 0.02, length: 0.16}, pose: {xyz: [0.1, 0, 0], rpy: [0, 1.5707963, 0]}}
  ball:
    pose: {xyz: [0, 0.2, 0]}
    joint: planar
    mass: 0.5
    shape: {sphere: {radius: 0.08}}
";

/// Arms that hold a ball between any two of their links let go of it and take it with others, one
/// grasp after another. A person sees the ball stay where it is, to half a centimetre.
#[test]
fn arms_take_a_ball_with_other_links() {
    let scene = Scene::parse(ARMS, "arms.yml", "arms", Path::new("."), &[]).unwrap();
    let (system, ball) = (&scene.system, body(&scene.system, "ball/ball"));
    let links = [["left/left", "left_fore/left_fore"], ["right/right", "right_fore/right_fore"]];
    let grasp = |k: usize| {
        let touches = [links[0][k % 2], links[1][k / 2 % 2]].map(|link| [body(system, link), ball]);
        let settings = GraspSettings {
            touches: touches.to_vec(),
            moves: GraspSettings::of_commanded(system),
            distance: 1e-4,
            clearance: 0.006,
            reach: 1.0,
        };
        let mut sampler = GraspSampler::new(system, settings, k as u64);
        sampler.sample(&scene.start.q, 100).unwrap().expect("a grasp")
    };
    let grasps: Vec<Vec<f64>> = (0..17).map(grasp).collect();
    for (k, ends) in grasps.windows(2).enumerate() {
        let mut settings = settings(&scene, 0.005);
        settings.rates = vec![1.0; 4];
        let start = (&ends[0][..], &system.command_at(&ends[0])[..]);
        let path = search(&scene, start, &ends[1], &settings).unwrap();
        assert!(path.holds(), "{k} {} {:?}", path.off, path.failed);
        assert!(
            path.moved.iter().all(|m| m.body == ball && m.distance < 0.005),
            "{:?}",
            path.moved
        );
    }
}

/// What makes no sense is told by name, and what has no path says why.
#[test]
fn mistakes_have_names() {
    let scene = fingertip(1.0, "exact", "");
    let system = &scene.system;
    let good = settings(&scene, 0.005);
    let mut goal = scene.start.q.clone();
    goal[0] = 0.075;
    let why = |goal: &[f64], settings: &PathSettings| {
        find(&scene, goal, settings).map(|path| path.corners).unwrap_err().to_string()
    };
    let zero = PathSettings { margin: 0.0, ..good.clone() };
    assert_eq!(why(&goal, &zero), "margin is 0; it must be > 0 m");
    let bounded = PathSettings { bounds: vec![[-1.0, 0.0], [-1.0, 1.0]], ..good.clone() };
    assert_eq!(why(&goal, &bounded), "`finger.x` is 0.075 at the goal, outside of -1 to 0");
    let mut shifted = goal.clone();
    shifted[2] = 0.01;
    let text = why(&shifted, &good);
    assert!(text.starts_with("`box.x` is 0 at the start and 0.01 at the goal"), "{text}");
    let mut inside = goal.clone();
    inside[0] = 0.05;
    let text = why(&inside, &good);
    assert!(text.starts_with("`finger/finger` and `box/box` overlap by 0.0"), "{text}");
    let mut far = goal.clone();
    far[0] = 1e200;
    assert!(why(&far, &good).starts_with("`finger.x` is 1000000"));
    assert_eq!(why(&goal[1..], &good), "goal has 4 entries; it must have 5");
    let look = &mut |_| ControlFlow::Break(());
    let start = (&scene.start.q[..], &[-0.075, 0.0][..]);
    let stopped = joint_path(system, &scene.params, start, &goal, &good, look);
    assert_eq!(stopped, Err(PathError::Stopped));
    // the way below the box is closed by bounds, the one above by the wall
    let closed = PathSettings { bounds: vec![[-1.0, 1.0], [-0.02, 0.2]], ..good.clone() };
    let text = why(&goal, &PathSettings { samples: 100, ..closed });
    assert_eq!(text, "no path was found with 100 random configurations");
    assert_eq!(system.n_cmd(), 2);
}

/// An arm of seven joints turns by its first joint to the other side of cubes that are stacked there.
/// A person sees it lift its fingers over them; the cubes stay, and the arm follows to 2 mm.
#[test]
fn an_arm_passes_over_cubes() {
    let scene = testkit::scene("iiwa_stacking", &[]);
    let (system, [mut from, mut to]) = (&scene.system, [(); 2].map(|()| scene.start.q.clone()));
    for (k, name) in system.model().coordinate_names().iter().enumerate() {
        let ways = match name.as_str() {
            "arm.iiwa_joint_1" => [-0.6, 0.6],
            "arm.iiwa_joint_2" => [0.2, 0.2],
            _ => [0.0, 0.0],
        };
        (from[k], to[k]) = (from[k] + ways[0], to[k] + ways[1]);
    }
    let before = system.command_at(&from);
    let settings = settings(&scene, 0.01);
    let path = search(&scene, (&from, &before), &to, &settings).unwrap();
    assert!(path.holds() && path.off < 2e-3, "{} {:?}", path.off, path.failed);
    assert!(path.corners.len() > 2 * from.len());
    assert_eq!(path.moved, Vec::new());
    let end = &path.q[path.q.len() - to.len()..];
    assert!(end.iter().zip(&to).all(|(a, b)| (a - b).abs() < 1e-3), "{end:?}");
}
