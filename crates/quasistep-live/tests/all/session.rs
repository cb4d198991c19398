//! The session without sockets: what a person sees who pulls at bodies and moves sliders.

use quasistep_live::{Message, Session};
use quasistep_math::Vec3;
use quasistep_scene::Scene;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Free fall, in m/s².
const G: f64 = 9.81;
/// Friction, mass (kg) and edge (m) of the box.
const MU: f64 = 0.5;
const MASS: f64 = 2.0;
const EDGE: f64 = 0.2;
/// Stretch at which a pull carries the weight of a body, as a share of its size.
const STRETCH: f64 = 0.25;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn scene(text: &str) -> Scene {
    Scene::parse(text, "", "test", Path::new("."), &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// A box on a floor, larger by `scale`.
pub fn box_on_floor(scale: f64, step: &str) -> String {
    let (edge, half) = (EDGE * scale, 0.5 * EDGE * scale);
    format!(
        "format: 1\nstep: {{{step}}}\nmodels:\n  \
         box:\n    joint: free\n    mass: {MASS}\n    pose: {{xyz: [0, 0, {half}]}}\n    \
         shape: {{box: {{size: [{edge}, {edge}, {edge}]}}}}\n  \
         ground: {{joint: fixed, shape: {{half_space: {{}}}}}}\nfriction: {{default: {MU}}}\n"
    )
}

/// Laws of friction and motion, with their keys of `step`.
const LAWS: [&str; 5] = [
    "friction: exact",
    "friction: convex",
    "friction: exact, inertia: none",
    "motion: dynamic",
    "motion: dynamic, friction: convex",
];

fn pull(session: &mut Session, body: usize, p_B: Vec3, by: Vec3) {
    let to_W = session.frame().X_WB[body].transform_point(p_B) + by;
    session.apply(&Message::Pull { body, p_B, to_W }).unwrap();
}

fn steps(session: &mut Session, n: usize) {
    for _ in 0..n {
        assert!(session.advance(), "{:?}", session.error());
    }
}

/// Steps until the box rests.
fn settle(session: &mut Session, scale: f64, h: f64) {
    steps(session, (20.0 * scale.max(scale.sqrt()) / h).ceil().min(6000.0) as usize);
}

/// Each law, with steps of several sizes, and lengths a thousand times as large and as small.
fn in_all_laws(judge: impl Fn(&mut Session, f64, f64, &str)) {
    for scale in [1.0, 1000.0, 0.001_f64] {
        for law in LAWS {
            let sizes: &[f64] = if scale == 1.0 { &[0.004, 0.02, 0.1] } else { &[0.02] };
            for size in sizes {
                let h = size * scale.sqrt();
                // drag grows with its time, which is 1 s for bodies of a decimetre
                let relaxation = scale.sqrt();
                let overlap = 1e-3 * scale;
                let text = format!(
                    "size: {h}, {law}, relaxation: {relaxation}, contact_margin: {}, max_overlap: {overlap}",
                    0.02 * scale
                );
                let mut session = Session::new(scene(&box_on_floor(scale, &text)));
                judge(&mut session, scale, h, &format!("{law}, steps of {h} s, scale {scale}"));
            }
        }
    }
}

/// A box that a spring pulls along the floor does not move until the spring pulls with mu N. Pulled
/// further, it slides until the spring pulls with mu N again.
#[test]
fn a_pulled_box_slides_at_mu_n_and_not_before() {
    in_all_laws(|session, scale, h, what| {
        let slips_at = MU * STRETCH * EDGE * scale;
        let p_B = Vec3::new(0.5 * EDGE, 0.0, -0.5 * EDGE) * scale;
        pull(session, 1, p_B, Vec3::X * (0.96 * slips_at));
        steps(session, 100);
        let x = session.frame().X_WB[1].translation.x;
        assert!(x.abs() < 1e-6 * slips_at, "{what}: it moved by {x} m");
        let force = session.pull().unwrap().force_W;
        let expected = 0.96 * MU * MASS * G;
        assert!((force.x - expected).abs() < 1e-5 * expected, "{what}: {force:?}");

        pull(session, 1, p_B, Vec3::X * (1.2 * slips_at));
        settle(session, scale.sqrt(), h);
        let x = session.frame().X_WB[1].translation.x;
        let force = session.pull().unwrap().force_W;
        let is_dynamic = what.contains("dynamic");
        let (most, limit) = (MU * MASS * G, 0.2 * slips_at);
        // with momentum it comes to rest beyond the place where the forces balance
        let (low, high) =
            if is_dynamic { (0.999 * limit, 2.0 * limit) } else { (0.999 * limit, 1.001 * limit) };
        assert!(x > low && x < high, "{what}: it slid by {x} m, not {limit}");
        assert!(force.x < 1.0005 * most && force.x > 0.75 * most, "{what}: {force:?}");
        assert!(is_dynamic || force.x > 0.999 * most, "{what}: {force:?}");
    });
}

/// A spring lifts a box when it pulls with the box's weight, and not before.
#[test]
fn a_spring_lifts_a_box_at_its_weight() {
    in_all_laws(|session, scale, h, what| {
        let (weight, lifts_at) = (MASS * G, STRETCH * EDGE * scale);
        let p_B = Vec3::Z * (0.5 * EDGE * scale);
        pull(session, 1, p_B, Vec3::Z * (0.9 * lifts_at));
        steps(session, 100);
        let z = session.frame().X_WB[1].translation.z - 0.5 * EDGE * scale;
        assert!(z.abs() < 1e-4 * lifts_at, "{what}: it rose by {z} m");
        let held: f64 = session.frame().contacts.iter().map(|c| c.normal_force).sum();
        assert!((held - 0.1 * weight).abs() < 1e-3 * weight, "{what}: the floor carries {held} N");

        pull(session, 1, p_B, Vec3::Z * (1.3 * lifts_at));
        settle(session, scale.sqrt(), h);
        let z = session.frame().X_WB[1].translation.z - 0.5 * EDGE * scale;
        assert!((z - 0.3 * lifts_at).abs() < 1e-3 * lifts_at, "{what}: it rose by {z} m");
        let force = session.pull().unwrap().force_W;
        assert!((force - Vec3::Z * weight).norm() < 1e-3 * weight, "{what}: {force:?}");
        // let go, it falls
        session.apply(&Message::Release).unwrap();
        if what.contains("inertia: none") {
            return;
        }
        steps(session, 3);
        let fallen = z + 0.5 * EDGE * scale - session.frame().X_WB[1].translation.z;
        assert!(fallen > 0.01 * h * h, "{what}: it fell by {fallen} m");
    });
}

/// A lift with a spring of 500 N/m and a load of 2 kg on it, and a slide that carries nothing.
pub const LIFT: &str = "format: 1
step: {size: 0.02}
models:
  lift:
    bodies:
      car: {joint: [{slide: up, axis: [0, 0, 1], stiffness: 500, start: 0.5, limits: [0, 1]}], mass: 2, shape: {box: {size: [0.2, 0.2, 0.1]}}}
      arm: {parent: car, joint: [{slide: out, axis: [1, 0, 0], stiffness: 300, limits: [-0.1, 0.2]}], shape: {box: {size: [0.5, 0.05, 0.05]}, color: [0.85, 0.35, 0.27]}}
  ground: {joint: fixed, shape: {half_space: {}}, pose: {xyz: [0, 0, -1]}}
";

/// A slider's command is reached, but for what the load stretches the spring.
#[test]
fn a_slider_is_reached_within_the_deflection_of_its_spring() {
    for law in LAWS {
        for h in ["0.005", "0.02", "0.1"] {
            let mut session =
                Session::new(scene(&LIFT.replace("size: 0.02}", &format!("size: {h}, {law}}}"))));
            let names: Vec<&str> = session.controls().iter().map(|c| c.name.as_str()).collect();
            assert_eq!(names, ["lift.up", "lift.out"]);
            assert_eq!([session.controls()[0].lower, session.controls()[0].upper], [0.0, 1.0]);
            for (control, value) in [(0, Some(0.8)), (1, Some(0.15))] {
                session.apply(&Message::Command { control, value }).unwrap();
            }
            let size: f64 = h.parse().unwrap();
            let before = session.frame().q[0];
            steps(&mut session, 1);
            // the command goes the whole way in a second
            assert!(session.frame().q_cmd[0] - before < 0.5 * size + 1.01 * size, "{law}");
            if law.contains("dynamic") {
                // without a damper it swings for ever
                continue;
            }
            steps(&mut session, (3.0 / size) as usize);
            let sag = 2.0 * G / 500.0;
            let q = &session.frame().q;
            assert!((q[0] - (0.8 - sag)).abs() < 1e-9, "{law}, {h}: {q:?}");
            assert!((q[1] - 0.15).abs() < 1e-9, "{law}, {h}: {q:?}");
            // given back, the scene's command holds again
            session.apply(&Message::Command { control: 0, value: None }).unwrap();
            steps(&mut session, (3.0 / size) as usize);
            assert!((session.frame().q[0] - (0.5 - sag)).abs() < 1e-9, "{law}, {h}");
        }
    }
}

#[test]
fn values_beyond_their_range_are_refused() {
    let mut session = Session::new(scene(LIFT));
    let mut refused = |message| session.apply(&message).unwrap_err();
    let command = |control, value| Message::Command { control, value: Some(value) };
    assert_eq!(refused(command(0, 1.5)), "`lift.up`: 1.5 was given; give 0 to 1 m");
    assert_eq!(refused(command(0, f64::NAN)), "`lift.up`: NaN was given; give 0 to 1 m");
    assert_eq!(refused(command(7, 0.0)), "command 7 was given; this scene has 2, counted from 0");
    assert_eq!(
        refused(Message::Pace(0.0)),
        "speed: 0 was given; give a number above 0, up to 1000"
    );
    let pull = |body| Message::Pull { body, p_B: Vec3::ZERO, to_W: Vec3::Z };
    assert_eq!(refused(pull(0)), "body 0 was pulled; give one from 1 to 3");
    assert_eq!(refused(pull(9)), "body 9 was pulled; give one from 1 to 3");
    assert_eq!(refused(pull(3)), "`ground/ground` cannot be pulled: it is fixed to the world");
    for (text, why) in [
        ("?", "a message is no JSON"),
        ("{\"do\":\"jump\"}", "`jump` was asked; give play, pause"),
        (
            "{\"do\":\"pull\",\"body\":1,\"at\":[0,0],\"to\":[0,0,0]}",
            "`at`: [0,0] was seen; give three numbers",
        ),
        ("{\"do\":\"pace\",\"value\":\"fast\"}", "`value`: \"fast\" was seen; give a number"),
    ] {
        let said = Message::read(text).unwrap_err();
        assert!(said.starts_with(why), "{said}");
    }
}

/// After a reset the run has the bits of a new one, which are those of `quasistep run`.
#[test]
fn a_reset_gives_the_same_bits() {
    let file = root().join("scenes/planar_push.yml");
    let load = || Scene::load(&file).unwrap();
    let scene = load();
    let mut expected = Vec::new();
    scene.run(None, &mut |step| {
        expected.push(step.state.q.clone());
        if expected.len() < 30 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let mut session = Session::new(load());
    let run = |session: &mut Session| -> Vec<Vec<f64>> {
        (0..30)
            .map(|_| {
                steps(session, 1);
                session.state().q.clone()
            })
            .collect()
    };
    assert_eq!(run(&mut session), expected);
    let start = scene.frame(&scene.start, None);
    let body = (1..start.X_WB.len()).find(|b| session.frame().X_WB[*b] != start.X_WB[*b]).unwrap();
    pull(&mut session, body, Vec3::ZERO, Vec3::Y * 0.05);
    let value = Some(session.controls()[0].upper);
    session.apply(&Message::Command { control: 0, value }).unwrap();
    steps(&mut session, 10);
    session.apply(&Message::Reset).unwrap();
    assert!(session.pull().is_none() && session.state().time == 0.0);
    assert_eq!(run(&mut session), expected);
}

fn set(session: &mut Session, key: &str, value: &str) -> Result<(), String> {
    session.apply(&Message::Set { key: key.into(), value: value.into() })
}

/// A wrong value says what would be valid, and the run goes on as if nobody had asked.
#[test]
fn a_bad_parameter_changes_nothing() {
    let text = box_on_floor(1.0, "size: 0.01");
    let (mut asked, mut other) = (Session::new(scene(&text)), Session::new(scene(&text)));
    for session in [&mut asked, &mut other] {
        pull(session, 1, Vec3::ZERO, Vec3::new(0.04, 0.01, 0.0));
        steps(session, 5);
    }
    for (key, value, why) in [
        ("step.size", "-1", "step.size: -1 was seen; it must be > 0 s"),
        ("step.size", "fast", "step.size"),
        ("friction.default", "-0.1", "friction.default"),
        ("models.box.mass", "x", "models.box.mass"),
        ("models.bax.mass", "1", "models.bax"),
        ("step.sise", "0.1", "size"),
        ("", "1", "the path has an empty part"),
    ] {
        let said = set(&mut asked, key, value).unwrap_err();
        assert!(said.contains(why) && !said.contains("--set"), "{key}: {said}");
    }
    for session in [&mut asked, &mut other] {
        steps(session, 20);
    }
    assert_eq!(asked.frame(), other.frame());
    assert_eq!(asked.settings(), other.settings());
}

/// A parameter holds from the next step on, and the run goes on where it is.
#[test]
fn a_parameter_holds_from_the_next_step_on() {
    let mut session = Session::new(scene(&box_on_floor(1.0, "size: 0.01")));
    let settings = session.settings();
    assert_eq!(settings[0]["key"], "step.size");
    assert_eq!(settings[1], serde_json::json!({ "key": "friction.default", "value": "0.5" }));
    assert_eq!(settings[2], serde_json::json!({ "key": "models.box.mass", "value": "2" }));
    let p_B = Vec3::new(0.1, 0.0, -0.1);
    pull(&mut session, 1, p_B, Vec3::X * 0.03);
    steps(&mut session, 200);
    let x = session.frame().X_WB[1].translation.x;
    assert!((x - 0.005).abs() < 1e-5, "it slides by what the spring is stretched beyond mu N: {x}");
    set(&mut session, "step.size", "0.05").unwrap();
    set(&mut session, "friction.default", "0.2").unwrap();
    let t = session.state().time;
    assert_eq!(session.frame().X_WB[1].translation.x, x);
    pull(&mut session, 1, p_B, Vec3::X * (0.03 - x));
    steps(&mut session, 100);
    assert!((session.state().time - t - 5.0).abs() < 1e-9);
    // mu N holds 10 mm of stretch
    let x = session.frame().X_WB[1].translation.x;
    assert!((x - 0.02).abs() < 1e-4, "{x}");
    set(&mut session, "models.box.mass", "3").unwrap();
    let normal = |session: &Session| -> f64 {
        session.frame().contacts.iter().map(|c| c.normal_force).sum()
    };
    steps(&mut session, 1);
    assert!((normal(&session) - 3.0 * G).abs() < 1e-6);
    let page = session.page_version();
    set(&mut session, "models.box.shape.box.size", "[0.2, 0.2, 0.19]").unwrap();
    assert!(session.page_version() > page, "the page draws the new shape");
}

/// What has no answer pauses the run and keeps its state; another input has one.
#[test]
fn a_step_without_an_answer_pauses_the_run() {
    let text = box_on_floor(1.0, "size: 0.01, inertia: none").replace("[0, 0, 0.1]", "[0, 0, 0.5]");
    let mut session = Session::new(scene(&text));
    session.apply(&Message::Play).unwrap();
    assert!(!session.advance());
    assert!(!session.is_playing() && session.error().is_some() && session.state().time == 0.0);
    pull(&mut session, 1, Vec3::Z * 0.1, Vec3::Z * 0.1);
    assert_eq!(session.error(), None);
    session.apply(&Message::Play).unwrap();
    assert!(session.advance() && session.is_playing());
    session.apply(&Message::Release).unwrap();
    assert!(!session.advance());
    session.apply(&Message::Reset).unwrap();
    assert_eq!(session.error(), None);
}

/// Every scene can be pulled: frames have the columns of their recording, with pads, switches, sensors and
/// other springs, and every number of a scene can be set to what it is.
#[test]
fn every_scene_can_be_pulled_and_set() {
    let mut n = 0;
    for name in ["suction", "tool_change", "sensors", "gripper_2d", "pinch", "conveyor", "door"] {
        let scene = Scene::load(root().join(format!("scenes/{name}.yml"))).unwrap();
        let mut session = Session::new(scene);
        let head = session.head();
        let movable: Vec<usize> = (1..session.frame().X_WB.len())
            .filter(|body| {
                let message = Message::Pull { body: *body, p_B: Vec3::ZERO, to_W: Vec3::ZERO };
                let can = session.apply(&message).is_ok();
                session.apply(&Message::Release).unwrap();
                can
            })
            .collect();
        for body in [movable[0], *movable.last().unwrap()] {
            session.apply(&Message::Reset).unwrap();
            pull(&mut session, body, Vec3::ZERO, Vec3::Z * 1e-3);
            steps(&mut session, 2);
            let frame = session.frame();
            assert_eq!(frame.q_cmd.len(), head.commands.len(), "{name}");
            assert_eq!(frame.effort.len(), head.commands.len(), "{name}");
            let mut recording = session.head();
            recording.frames.push(session.scene().frame(&session.scene().start, None));
            recording.frames.push(frame.clone());
            recording.check().unwrap_or_else(|e| panic!("{name}: {e}"));
            n += 1;
        }
        assert!(session.controls().len() <= head.commands.len(), "{name}");
        for setting in session.scene().settings() {
            set(&mut session, &setting.key, &setting.value)
                .unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        assert_eq!(session.page_version(), 0, "{name}");
    }
    assert_eq!(n, 14);
}

/// Poses: joints stand where sliders put them, and overlaps are told.
#[test]
fn poses_follow_their_sliders() {
    let text = "format: 1
models:
  arm:
    bodies:
      upper: {joint: [{hinge: shoulder, axis: [0, 0, 1], limits: [-2, 2]}], shape: {box: {size: [0.2, 0.1, 0.1]}}}
      lower: {parent: upper, joint: [{hinge: elbow, axis: [0, 0, 1]}], pose: {xyz: [1, 0, 0]}, shape: {box: {size: [0.2, 0.1, 0.1]}}}
  post: {joint: fixed, pose: {xyz: [0, 1, 0]}, shape: {box: {size: [0.1, 0.1, 0.1]}}}
";
    let mut session = Session::of_poses(scene(text));
    let command = |control, value| Message::Command { control, value: Some(value) };
    assert_eq!(session.overlaps(), []);
    session.apply(&command(0, std::f64::consts::FRAC_PI_2)).unwrap();
    let p = session.frame().X_WB[2].translation;
    assert!((p - Vec3::Y).norm() < 1e-12, "{p:?}");
    assert_eq!(session.overlaps().len(), 1);
    let (a, b, depth) = session.overlaps()[0];
    assert!([a, b] == [2, 3] && depth > 0.05, "{a} {b} {depth}");
    assert!(session.apply(&command(0, 2.5)).is_err());
    assert!(session.apply(&Message::Play).is_err());
    session.apply(&Message::Reset).unwrap();
    assert_eq!(session.state().q, [0.0, 0.0]);
}
