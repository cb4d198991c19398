//! MJCF files in a scene, and loaded directly.

use crate::common::{Folder, expect};
use quasistep::{Motion, Role};
use quasistep_model::JointKind;
use quasistep_record::{BodyRole, ShapeRole};
use quasistep_scene::{Scene, first_scene_of_model};
use std::ops::ControlFlow;

/// A slide with a servo that carries 2 kg above a floor, and a lamp without collisions.
const LIFT: &str = "<mujoco>
  <option timestep='0.01' gravity='0 0 -10'/>
  <worldbody>
    <geom name='floor' type='plane' size='1 1 1'/>
    <body name='lift' pos='0 0 1'>
      <joint name='z' type='slide' axis='0 0 1' damping='3' frictionloss='0.5' range='-0.5 0.5'/>
      <geom name='load' type='box' size='0.1 0.1 0.1' mass='2'/>
      <geom name='lamp' pos='0 0 0.3' size='0.05' contype='0' conaffinity='0' mass='0'/>
    </body>
    <body name='ball' pos='1 0 0.1'><freejoint/><geom name='ball' size='0.1' contype='2' conaffinity='2'/></body>
  </worldbody>
  <actuator><position joint='z' kp='1000' kv='20' forcerange='-40 40'/></actuator>
  <keyframe><key name='low' qpos='-0.1 1 0 0.1 1 0 0 0' ctrl='-0.1'/><key name='high' qpos='0.2 1 0 0.1 1 0 0 0' ctrl='0.2'/></keyframe>
</mujoco>";

fn last(scene: &Scene) -> Vec<f64> {
    let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
    assert!(outcome.stopped.is_none(), "{:?}", outcome.stopped);
    outcome.state.q
}

/// A servo deflects by `m g / kp`, and dry friction of the file resists. Drive, damping and range
/// of the file are kept.
#[test]
fn a_servo_carries_its_load_as_the_file_says() {
    let folder = Folder::new("mjcf-servo");
    folder.file("m.xml", LIFT);
    let text = "gravity: [0, 0, -10]\nstep: {size: 0.01, duration: 3, inertia: mass}\n\
                models: {m: {mjcf: m.xml, keyframe: high}}\n";
    let scene = Scene::parse(text, "scene.yml", "scene", &folder.0, &[]).unwrap();
    let model = scene.system.model();
    assert_eq!(scene.start.q[..1], [0.2]);
    let z = model.joint_by_name("m.z").unwrap();
    let Role::Actuated(drive) = &scene.system.roles()[z] else { panic!("no drive") };
    assert_eq!((drive.stiffness[0], drive.damping[0], drive.effort_limit[0]), (1000.0, 20.0, 40.0));
    assert_eq!((model.damping()[0], model.friction()[0]), (3.0, 0.5));
    // friction can hold it anywhere between 0.2 − (20 ± 0.5) / 1000
    let z = last(&scene)[0];
    assert!((0.2 - 0.0205 - 1e-6..=0.2 - 0.0195 + 1e-6).contains(&z), "{z}");
}

/// Collision masks apply in the scene; shapes that can collide with nothing are left out.
#[test]
fn masks_hold() {
    let folder = Folder::new("mjcf-masks");
    folder.file("m.xml", LIFT);
    let text = "models: {m: {mjcf: m.xml}}\n";
    let scene = Scene::parse(text, "scene.yml", "scene", &folder.0, &[]).unwrap();
    let system = &scene.system;
    assert_eq!(system.geoms().len(), 3);
    let [floor, load, ball] = ["world", "lift", "ball"].map(|name| {
        let body = system.model().body_by_name(&format!("m/{name}")).unwrap();
        system.geoms().iter().position(|g| g.body == body).unwrap()
    });
    assert!(system.may_touch(floor, load));
    assert!(!system.may_touch(floor, ball) && !system.may_touch(load, ball));
}

/// A file loaded directly is a scene with its own gravity, time step and start; loose bodies fall.
#[test]
fn a_file_by_itself_is_a_scene() {
    let folder = Folder::new("mjcf-alone");
    folder.file("m.xml", LIFT);
    let scene = Scene::load(folder.0.join("m.xml")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scene.params.gravity, [0.0, 0.0, -10.0]);
    assert_eq!(scene.params.time_step, 0.01);
    let q = last(&scene);
    assert!((q[0] + 0.12).abs() < 0.001, "{q:?}");
    // the masks do not let the ball touch the floor
    assert!(q.last().unwrap().is_finite() && q[7] < 0.0, "{q:?}");
}

#[test]
fn keys_of_other_formats_are_mistakes() {
    let folder = Folder::new("mjcf-keys");
    folder.file("m.xml", LIFT).file("r.urdf", "<robot name='r'><link name='l'/></robot>");
    for (text, words) in [
        ("models: {r: {urdf: r.urdf, keyframe: home}}\n", "it is for `mjcf`"),
        ("models: {m: {mjcf: m.xml, keyframe: hihg}}\n", "did you mean `high`?"),
    ] {
        let result = Scene::parse(text, "scene.yml", "scene", &folder.0, &[]);
        expect(result, "", &[words]);
    }
}

/// Scene of a file loaded directly, with time step `h` and changes.
fn alone(name: &str, text: &str, h: f64, changes: &[(&str, &str)]) -> Scene {
    let folder = Folder::new(name);
    folder.file("m.xml", &format!("<mujoco><option timestep='{h}'/>{text}</mujoco>"));
    let changes: Vec<_> = changes.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    Scene::load_with(&folder.0.join("m.xml"), &changes).unwrap_or_else(|e| panic!("{e}"))
}

/// MuJoCo's `gravcomp` carries a share of the weight, here half of it: 10 q = 0.5 × 9.81 × 0.2 cos q.
/// More than all of it lifts the body.
#[test]
fn a_share_of_the_weight_is_compensated() {
    for (share, wanted) in [("0.5", 0.0976328), ("0", 0.1925724), ("1", 0.0), ("1.5", -0.0976328)] {
        let text = format!(
            "<worldbody><body name='arm' pos='0 0 1' gravcomp='{share}'><joint name='j' axis='0 1 0' damping='1'/>
             <geom type='box' size='0.2 0.01 0.01' pos='0.2 0 0' mass='1'/></body></worldbody>
             <actuator><position name='a' joint='j' kp='10'/></actuator>"
        );
        let scene = alone("mjcf-gravcomp", &text, 0.1, &[("step.duration", "20")]);
        assert!(scene.warnings.is_empty(), "{:?}", scene.warnings);
        let q = last(&scene)[0];
        assert!((q - wanted).abs() < 1e-6, "{share}: {q}");
    }
}

/// A body on a free joint stays free: where speeds are commanded, and where a scene drives all
/// joints.
#[test]
fn free_bodies_stay_free() {
    let speed = format!("{BODY}<actuator><velocity joint='hip' kv='3'/></actuator>");
    let robot = speed.replace("<geom type='plane' size='5 5 1'/>", "");
    for text in [&speed, &robot] {
        let scene = alone("mjcf-speed", text, 0.01, &[]);
        let model = scene.system.model();
        let torso = model.bodies().iter().find(|body| body.name == "m/torso").unwrap();
        assert_eq!((torso.joint, torso.gravity), (JointKind::Free, 1.0));
    }
    let folder = Folder::new("mjcf-free");
    folder.file("m.xml", &format!("<mujoco>{BODY}</mujoco>"));
    let text = "models: {m: {mjcf: m.xml, joints: {\"*\": {stiffness: 100}}}}\n";
    let scene = Scene::parse(text, "scene.yml", "scene", &folder.0, &[]).unwrap();
    let role =
        |joint: &str| &scene.system.roles()[scene.system.model().joint_by_name(joint).unwrap()];
    assert!(matches!(role("m.hip"), Role::Actuated(_)));
    let free = scene.system.model().bodies().iter().position(|b| b.joint == JointKind::Free);
    assert_eq!(scene.system.roles()[free.unwrap()], Role::Passive);
}

/// Rows of `q` at the ends of steps.
fn path(scene: &Scene) -> Vec<Vec<f64>> {
    let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
    assert!(outcome.stopped.is_none(), "{:?}", outcome.stopped);
    outcome.recording.frames.into_iter().map(|frame| frame.q).collect()
}

const PENDULUM: &str = "<worldbody><body pos='0 0 2'><joint name='q' axis='0 1 0'/>
    <inertial pos='0 0 -1' mass='1' diaginertia='1e-9 1e-9 1e-9'/>
    <geom type='capsule' size='0.01' fromto='0 0 0 0 0 -1'/></body></worldbody>
  <keyframe><key qpos='0.05'/></keyframe>";

/// A pendulum of 1 m has a period of `2 π √(l/g)` = 2.006 s; semi-implicit steps change it by
/// `(ω h)²/24`.
#[test]
fn a_pendulum_swings() {
    for h in [0.005, 0.02, 0.1] {
        let scene = alone("mjcf-pendulum", PENDULUM, h, &[]);
        assert_eq!(scene.params.formulation.motion, Motion::Dynamic);
        let told = scene.motion_told.as_ref().unwrap();
        for word in
            ["motion: dynamic", "nothing in the file drives it", "joints swing", "step.motion"]
        {
            assert!(told.contains(word) && scene.contents().to_string().contains(told), "{told}");
        }
        let q = path(&scene);
        // half a period lies between two zero crossings
        let passes: Vec<f64> = (1..q.len())
            .filter(|&k| q[k - 1][0] * q[k][0] <= 0.0)
            .map(|k| (k as f64 - 1.0 + q[k - 1][0] / (q[k - 1][0] - q[k][0])) * h)
            .collect();
        let omega = 9.81_f64.sqrt();
        let wanted = std::f64::consts::PI / omega;
        let shift = (omega * h).powi(2) / 24.0 + 1e-3;
        let half = passes[1] - passes[0];
        assert!((half / wanted - 1.0).abs() < shift, "{h}: {half}, {wanted}");
        let least = q.iter().fold(0.0_f64, |least, q| least.min(q[0]));
        assert!((-0.0515..=-0.0485).contains(&least), "{h}: {least}");
    }
    // a setting by the user takes precedence
    let told = alone("mjcf-pendulum-told", PENDULUM, 0.01, &[("step.motion", "quasi_static")]);
    assert_eq!((told.params.formulation.motion, &told.motion_told), (Motion::QuasiStatic, &None));
    let own = "models: {m: {mjcf: m.xml}}\n";
    let folder = Folder::new("mjcf-pendulum-own");
    folder.file("m.xml", &format!("<mujoco>{PENDULUM}</mujoco>"));
    let own = Scene::parse(own, "scene.yml", "scene", &folder.0, &[]).unwrap();
    assert_eq!(own.params.formulation.motion, Motion::QuasiStatic);
}

/// In a file of several bodies, what floats is free, what drives move is driven and what stays is fixed. What has no colour
/// in the file has one of its own. Drives without commands are told.
#[test]
fn a_robot_is_told_from_what_lies_beside_it() {
    let text = "<worldbody><geom type='plane' size='1 1 1'/>
        <body name='arm' pos='0 0 1'><joint name='j' axis='0 1 0'/><geom type='capsule' size='.03' fromto='0 0 0 .4 0 0'/>
          <body name='flap' pos='.4 0 0'><joint axis='0 1 0'/><geom size='.03'/></body></body>
        <body name='ball' pos='.3 -.2 .05'><freejoint/><geom size='.05'/></body>
        <body name='red' pos='1 0 .05'><freejoint/><geom size='.05' rgba='1 0 0 1'/></body></worldbody>
      <actuator><position joint='j' kp='100'/></actuator>";
    let scene = alone("mjcf-beside", text, 0.01, &[]);
    let recording = scene.empty_recording(&scene.params);
    let role = |link: &str| {
        let at = recording.bodies.iter().position(|body| body.ends_with(&format!("/{link}")));
        recording.roles[at.unwrap_or_else(|| panic!("no {link}: {:?}", recording.bodies))]
    };
    assert_eq!(["arm", "flap"].map(role), [BodyRole::Driven; 2]);
    assert_eq!(["ball", "red"].map(role), [BodyRole::Free; 2]);
    assert_eq!((role("world"), recording.roles[0]), (BodyRole::Fixed, BodyRole::Fixed));
    let looks = scene.drawing.iter().filter(|shape| shape.role == ShapeRole::Visual);
    let colors: Vec<[f32; 4]> = looks.map(|shape| shape.color).collect();
    assert_eq!(colors.len(), 5);
    assert_eq!(colors[4], [1.0, 0.0, 0.0, 1.0]);
    let bright = |color: &[f32; 4]| color[..3].iter().sum::<f32>() / 3.0 > 0.5;
    assert!(colors[..4].iter().all(bright), "{colors:?}");
    let told = scene.commands_told.unwrap();
    assert!(told.starts_with("no commands: its drive holds where the file starts it"), "{told}");
    let commands = ("commands", "[{joint: m.j, expr: 0.1*t}]");
    assert_eq!(alone("mjcf-beside-told", text, 0.01, &[commands]).commands_told, None);
}

/// A motor with gear 10 and control 0.5 pushes the cart with 5 N; a torque command replaces it.
#[test]
fn a_cart_is_driven_by_its_motor() {
    let text = "<worldbody><body pos='0 0 1'><joint name='x' type='slide' axis='1 0 0'/><geom size='0.1' mass='2'/>
        <body><joint name='pole' axis='0 1 0'/><geom type='capsule' size='0.01' fromto='0 0 0 0 0 -0.5' mass='1e-6'/></body>
        </body></worldbody>
      <actuator><motor joint='x' gear='10'/></actuator>
      <keyframe><key ctrl='0.5'/></keyframe>";
    for h in [0.005, 0.02, 0.1] {
        let scene = alone("mjcf-cart", text, h, &[("step.duration", "1")]);
        assert_eq!(scene.params.formulation.motion, Motion::Dynamic);
        assert!(scene.motion_told.as_ref().unwrap().contains("1 motor alone"));
        let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
        assert!((outcome.state.v[0] - 2.5).abs() < 1e-4, "{h}: {:?}", outcome.state.v);
        let told = [("step.duration", "1"), ("commands", "[{joint: m.x, torque: -1}]")];
        let told = alone("mjcf-cart-told", text, h, &told);
        let outcome = told.run(None, &mut |_| ControlFlow::Continue(()));
        assert!((outcome.state.v[0] + 0.5).abs() < 1e-4, "{h}: {:?}", outcome.state.v);
    }
}

const BODY: &str = "<worldbody><geom type='plane' size='5 5 1'/>
    <body name='torso' pos='0 0 1'><freejoint/><geom type='capsule' size='0.1' fromto='0 0 -0.2 0 0 0.2'/>
      <body pos='0 0.1 -0.3'><joint name='hip' axis='0 1 0' range='-90 90' damping='1'/>
        <geom type='capsule' size='0.05' fromto='0 0 0 0 0 -0.3'/></body></body></worldbody>";

/// A body with motors only falls freely by `g t²/2` and comes to rest on the floor.
#[test]
fn a_body_on_motors_falls() {
    let text =
        format!("{BODY}<actuator><motor joint='hip' gear='50' ctrlrange='-1 1'/></actuator>");
    for h in [0.005, 0.02] {
        let scene = alone("mjcf-humanoid", &text, h, &[]);
        let told = scene.motion_told.as_ref().unwrap();
        assert!(
            told.contains("1 motor alone, which pushes with nothing") && told.contains("`torque`"),
            "{told}"
        );
        let q = path(&scene);
        let n = (0.2 / h) as usize;
        let fallen = 1.0 - q[n][6];
        assert!((fallen - 0.5 * 9.81 * 0.04).abs() < 9.81 * 0.2 * h, "{h}: {fallen}");
        assert!((0.09..0.3).contains(&q.last().unwrap()[6]), "{h}: {:?}", q.last());
    }
    let scene = alone("mjcf-nothing", BODY, 0.005, &[]);
    let told = scene.motion_told.as_ref().unwrap();
    assert!(told.contains("free bodies fall and settle, joints swing"), "{told}");
}

/// A robot with servos and the objects around it stay quasi-static.
#[test]
fn a_hand_with_servos_stays_quasi_static() {
    let text = "<worldbody><geom type='plane' size='5 5 1'/>
        <body pos='0 0 0.3'><joint name='finger' axis='0 1 0'/><geom type='capsule' size='0.01' fromto='0 0 0 0.1 0 0'/>
          <body pos='0.1 0 0'><joint name='tip' axis='0 1 0' damping='0.1'/><geom type='capsule' size='0.01' fromto='0 0 0 0.05 0 0'/></body></body>
        <body pos='0.3 0 0.03'><freejoint/><geom size='0.03'/></body></worldbody>
      <actuator><position joint='finger' kp='10'/><motor joint='tip'/></actuator>";
    let scene = alone("mjcf-hand", text, 0.01, &[]);
    assert_eq!((scene.params.formulation.motion, &scene.motion_told), (Motion::QuasiStatic, &None));
}

/// A keyframe with velocity: `qvel` of a free joint is linear velocity in world axes, then angular
/// velocity in body axes.
#[test]
fn a_thrown_body_flies_its_parabola() {
    let text = "<worldbody><body name='b' pos='0 0 5'><freejoint/><geom size='0.1' mass='1'/></body></worldbody>
      <keyframe><key qpos='0 0 5 0.70710678118654757 0.70710678118654757 0 0' qvel='3 0 2 0 0 1.5'/></keyframe>";
    for h in [0.005, 0.02, 0.1] {
        let scene = alone("mjcf-thrown", text, h, &[("step.duration", "1")]);
        // z of the body is −y of the world
        let wanted = [0.0, -1.5, 0.0, 3.0, 0.0, 2.0];
        assert!(
            scene.start.v.iter().zip(wanted).all(|(v, w)| (v - w).abs() < 1e-12),
            "{:?}",
            scene.start.v
        );
        let q = path(&scene).pop().unwrap();
        let (x, z) = (q[4], q[6]);
        assert!(
            (x - 3.0).abs() < 1e-9 && (z - (5.0 + 2.0 - 0.5 * 9.81)).abs() < 0.5 * 9.81 * h + 1e-9,
            "{h}: {x}, {z}"
        );
    }
}

/// A file whose only body has a slide, with and without a servo, is a scene of its own; nothing of it
/// is placed by lines that nobody wrote.
#[test]
fn a_body_on_a_slide_is_enough() {
    let body = r#"<worldbody><body name="a" pos="0 0 1"><joint name="x" type="slide" axis="1 0 0" damping="1"/>
        <geom size="0.1"/></body></worldbody>"#;
    for servo in ["", r#"<actuator><position joint="x" kp="10"/></actuator>"#] {
        let folder = Folder::new("mjcf-slide");
        folder.file("one.xml", &format!("<mujoco>{body}{servo}</mujoco>"));
        let path = folder.0.join("one.xml");
        let scene = Scene::load(&path).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(scene.system.model().coordinate_names(), ["one.x"]);
        let text = first_scene_of_model(&path, &folder.0).unwrap();
        let again = Scene::parse(&text, "one.yml", "one", &folder.0, &[]).unwrap();
        assert_eq!(again.start, scene.start);
        assert_eq!(last(&again), last(&scene));
    }
}
