//! MJCF files in a scene, and by themselves.
#![allow(missing_docs)]

mod common;

use common::{Folder, expect};
use quasistep::Role;
use quasistep_scene::Scene;
use std::ops::ControlFlow;

/// A slide that carries 2 kg on a servo, above a floor, with a lamp that touches nothing.
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

/// A servo gives way by `m g / kp`; dry friction of the file holds up to its size; the file's own drive, damper and range are kept.
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
    // between 0.2 − (20 ± 0.5) / 1000 friction holds it anywhere
    let z = last(&scene)[0];
    assert!((0.2 - 0.0205 - 1e-6..=0.2 - 0.0195 + 1e-6).contains(&z), "{z}");
}

/// Masks of shapes hold in the scene, and what touches nothing is no shape of it.
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

/// A file by itself is a scene: its gravity, its step, its start, and what is loose falls by its mass.
#[test]
fn a_file_by_itself_is_a_scene() {
    let folder = Folder::new("mjcf-alone");
    folder.file("m.xml", LIFT);
    let scene = Scene::load(folder.0.join("m.xml")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scene.params.gravity, [0.0, 0.0, -10.0]);
    assert_eq!(scene.params.time_step, 0.01);
    let q = last(&scene);
    assert!((q[0] + 0.12).abs() < 0.001, "{q:?}");
    // no mask lets the ball touch the floor
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
