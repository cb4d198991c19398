//! What a scene file can define, and the resulting system.

use quasistep::{Actuator, DampingOn, Patch, Role, StepInput};
use quasistep_scene::Scene;
use std::path::{Path, PathBuf};

fn parse(text: &str) -> Scene {
    match Scene::parse(text, "scene.yml", "scene", Path::new("."), &[]) {
        Ok(scene) => scene,
        Err(error) => panic!("{error}"),
    }
}

fn shipped(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenes").join(name)
}

#[test]
fn joints_become_bodies_and_coordinates() {
    let scene = parse(
        "models:
  table: {joint: fixed, shape: {half_space: {}}}
  hand:
    bodies:
      palm: {joint: [{slide: x, axis: [1, 0, 0], stiffness: 10}, {hinge: turn, axis: [0, 0, 1], role: prescribed}]}
      finger: {parent: palm, joint: [{hinge: bend, axis: [0, 1, 0], start: 0.3, limits: [0, 1]}]}
  puck: {joint: planar, pose: {xyz: [0, 0, 0.02]}, start: [1, 2, 0.5], mass: 1, shape: {cylinder: {radius: 0.05, length: 0.04}}}
  free: {pose: {xyz: [3, 0, 1], rpy: [0, 0, 1.5707963267948966]}, density: 1000, shape: {box: {size: [1, 1, 1]}}}
",
    );
    let model = scene.system.model();
    assert_eq!(
        model.coordinate_names(),
        [
            "hand.x",
            "hand.turn",
            "hand.bend",
            "puck.x",
            "puck.y",
            "puck.theta",
            "free.qw",
            "free.qx",
            "free.qy",
            "free.qz",
            "free.x",
            "free.y",
            "free.z"
        ]
    );
    assert_eq!(scene.start.q[2..6], [0.3, 1.0, 2.0, 0.5]);
    assert_eq!(scene.start.q[10..], [3.0, 0.0, 1.0]);
    assert!((scene.start.q[9] - 0.5f64.sqrt()).abs() < 1e-15, "{:?}", scene.start.q);
    assert_eq!(scene.system.n_cmd(), 2);
    let body = model.body_by_name("free/free").unwrap();
    assert!((model.body(body).inertia.mass - 1000.0).abs() < 1e-9);
    assert_eq!(model.limits().len(), 1);
}

#[test]
fn later_joint_patterns_override_earlier_ones() {
    let scene = parse(
        "models:
  arm:
    bodies:
      a: {joint: [{hinge: j1, axis: [0, 0, 1]}]}
      b: {parent: a, joint: [{hinge: j2, axis: [0, 0, 1]}]}
    joints:
      \"*\": {stiffness: 100, damping: 3}
      j2: {stiffness: 50, damping_on: command_error, effort_limit: 7}
",
    );
    let roles = scene.system.roles();
    let expected = |k: f64, on: DampingOn, limit: f64| {
        Role::Actuated(Actuator {
            stiffness: vec![k],
            damping: vec![3.0],
            damping_on: on,
            effort_limit: vec![limit],
        })
    };
    assert_eq!(roles[1], expected(100.0, DampingOn::Velocity, f64::INFINITY));
    assert_eq!(roles[2], expected(50.0, DampingOn::CommandError, 7.0));
}

#[test]
fn commands_and_wrenches_are_functions_of_time() {
    let scene = parse(
        "models:
  f: {joint: [{slide: x, axis: [1, 0, 0], stiffness: 10}, {slide: z, axis: [0, 0, 1], stiffness: 10, start: 0.4}]}
  stone: {mass: 1, shape: {sphere: {radius: 0.1}}}
commands:
  - {joint: f.x, expr: \"0.1*t^2\"}
wrenches:
  - {body: stone, at: [0, 0, 0.1], force: [\"2*t\", 0, 1]}
",
    );
    let mut input = StepInput::default();
    scene.sample(2.0, &mut input);
    // a joint without a command stays at its start
    assert_eq!(input.q_cmd, [0.4, 0.4]);
    assert!((input.v_cmd[0] - 0.4).abs() < 1e-15);
    assert_eq!(input.wrenches[0].force_W.to_array(), [4.0, 0.0, 1.0]);
    assert_eq!(input.wrenches[0].p_B.to_array(), [0.0, 0.0, 0.1]);
}

#[test]
fn friction_follows_rule_and_exceptions() {
    let scene = parse(
        "models:
  a: {friction: 0.5, mass: 1, shape: {sphere: {radius: 0.1}}}
  b: {friction: 1, mass: 1, shape: {sphere: {radius: 0.1}}}
  c: {mass: 1, shapes: [{sphere: {radius: 0.1}, friction: 0.2}]}
friction: {rule: harmonic_mean, default: 0.7, pairs: [{a: a/*, b: c/*, mu: 0.9}]}
collisions: {exclude: [[b/*, c/*]]}
",
    );
    let system = &scene.system;
    assert!((system.friction(0, 1).mu - 2.0 / 3.0).abs() < 1e-15);
    assert_eq!(system.friction(0, 2).mu, 0.9);
    assert!(system.may_touch(0, 1) && !system.may_touch(1, 2));
}

/// A surface gives some friction values and inherits the rest. For torsional and rolling friction
/// the larger value of a pair counts.
#[test]
fn friction_against_turning_is_inherited_and_overridden() {
    let scene = parse(
        "models:
  a: {friction: {mu: 0.5, mu_spin: 0.01}, mass: 1, shape: {sphere: {radius: 0.1}}}
  b: {mass: 1, shapes: [{sphere: {radius: 0.1}, friction: 0.2}]}
  c: {friction: {patch_radius: 0.03}, mass: 1, shape: {sphere: {radius: 0.1}}}
friction:
  rule: minimum
  default: {mu: 0.8, mu_roll: 0.002}
  pairs: [{a: a, b: c, mu_spin: 0.004}, {a: b, b: c, mu: 0.6}]
",
    );
    let pair = |a: usize, b: usize| {
        let f = scene.system.friction(a, b);
        [f.mu, f.mu_spin, f.mu_roll]
    };
    assert_eq!(pair(0, 1), [0.2, 0.01, 0.002]);
    assert_eq!(pair(0, 2), [0.5, 0.004, 0.002]);
    // 2/3 mu times the radius of the patch
    assert_eq!(pair(1, 2), [0.6, 2.0 / 3.0 * 0.6 * 0.03, 0.002]);
}

/// Other contact values: the larger restitution of a pair counts, and compliances add up.
#[test]
fn surfaces_give_way_bounce_and_rub_on_corners() {
    let scene = parse(
        "models:
  a: {friction: {mu: 0.5, spin_radius: 0.02, restitution: 0.2}, mass: 1, shape: {sphere: {radius: 0.1}}}
  b: {friction: {mu: 0.5, compliance: 1.0e-6, patch: corners, foundation: 3.0e+7}, mass: 1, shape: {sphere: {radius: 0.1}}}
  c: {friction: {mu: 0.5, compliance: 2.0e-6, restitution: 0.6, foundation: 6.0e+7}, mass: 1, shape: {sphere: {radius: 0.1}}}
friction:
  pairs: [{a: a, b: c, compliance: 0, restitution: 0.1, foundation: 1.0e+8}]
",
    );
    let pair = |a: usize, b: usize| scene.system.friction(a, b);
    let (ab, bc, ac) = (pair(0, 1), pair(1, 2), pair(0, 2));
    assert!((ab.mu_spin - 0.5 * 0.02).abs() < 1e-15);
    assert_eq!((ab.restitution, ab.compliance, ab.patch), (0.2, 1e-6, Patch::Corners));
    assert!((bc.compliance - 3e-6).abs() < 1e-20 && bc.restitution == 0.6);
    // in series, because one is above the other
    assert!((bc.foundation - 2e7).abs() < 1e-6);
    assert_eq!((ab.foundation, ac.foundation), (3e7, 1e8));
    assert_eq!((ac.restitution, ac.compliance, ac.patch), (0.1, 0.0, Patch::Area));
}

/// Soft pads (1e-5 m/N) between pyramids that slide over their edges. The tolerance of rows is
/// relative to nearby speeds, and a joint limit half a turn away is not such a speed. Otherwise
/// steps from 2.9 s on have errors of 4e-9 m.
#[test]
fn far_joint_limits_do_not_make_contacts_less_exact() {
    let pads = "{patch: corners, compliance: 0.00001}";
    let changes = [("friction.default", pads), ("step.integration", "midpoint")];
    let scene = testkit::scene("iiwa_stacking", &changes);
    let mut state = scene.start.clone();
    let mut work = scene.system.create_workspace();
    let mut input = StepInput::default();
    for _ in 0..40 {
        let end = quasistep::end_of_step(state.time, scene.params.time_step);
        scene.sample_for(&scene.params, end, &mut input);
        let report = scene.system.step_with(&mut state, &input, &scene.params, &mut work).unwrap();
        assert!(report.certificate.penetration < 1e-9);
    }
}

/// Planned knots of the arm in Pang21 Fig. 1, compared with rows of a recorded 100 Hz command from
/// another spline program (a clamped cubic as in SciPy).
#[test]
fn replayed_spline_agrees_with_a_recorded_command() {
    let scene = Scene::load(shipped("iiwa_stacking.yml")).unwrap();
    let mut input = StepInput::default();
    for line in include_str!("../data/command_samples.csv").lines().skip(1) {
        let row: Vec<f64> = line.split(',').map(|c| c.parse().unwrap()).collect();
        scene.sample(row[0], &mut input);
        for (k, (got, want)) in input.q_cmd.iter().zip(&row[1..]).enumerate() {
            assert!((got - want).abs() < 1e-9, "t = {}, joint {k}: {got} against {want}", row[0]);
        }
    }
}

#[test]
fn a_robot_keeps_limits_mimics_meshes_and_friction() {
    let folder = std::env::temp_dir().join(format!("quasistep-robot-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("meshes")).unwrap();
    let tetrahedron = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";
    std::fs::write(folder.join("meshes/t.obj"), tetrahedron).unwrap();
    std::fs::write(
        folder.join("r.urdf"),
        r#"<robot name="r" xmlns:drake="http://drake.mit.edu">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"/>
  <link name="left">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
    <visual><geometry><mesh filename="package://hand/meshes/t.obj" scale="2 2 2"/></geometry><material name="red"/></visual>
    <collision><geometry><mesh filename="meshes/t.obj"/></geometry>
      <drake:proximity_properties><drake:mu_dynamic value="0.8"/></drake:proximity_properties></collision>
  </link>
  <link name="right"/>
  <joint name="grip" type="prismatic"><parent link="base"/><child link="left"/><axis xyz="0 1 0"/><limit lower="0" upper="0.04" effort="20" velocity="1"/></joint>
  <joint name="follow" type="prismatic"><parent link="base"/><child link="right"/><axis xyz="0 1 0"/><limit lower="-0.04" upper="0" effort="20" velocity="1"/><mimic joint="grip" multiplier="-1"/></joint>
</robot>"#,
    )
    .unwrap();
    let text =
        "models:\n  hand: {urdf: r.urdf, packages: {hand: .}, joints: {grip: {stiffness: 100}}}\n";
    let scene = Scene::parse(text, "scene.yml", "scene", &folder, &[]);
    std::fs::remove_dir_all(&folder).unwrap();
    let scene = scene.unwrap_or_else(|e| panic!("{e}"));
    let model = scene.system.model();
    assert_eq!(model.coordinate_names(), ["hand.grip"]);
    let limits = model.limits();
    assert_eq!((limits[0].lower, limits[0].upper), (0.0, 0.04));
    assert_eq!(scene.system.geoms()[0].surface.mu, 0.8);
    let Role::Actuated(actuator) = &scene.system.roles()[2] else {
        panic!("{:?}", scene.system.roles())
    };
    assert_eq!(actuator.effort_limit, [20.0]);
    assert_eq!(scene.drawing[0].color, [1.0, 0.0, 0.0, 1.0]);
}

/// Trinkle05 uses the rate of a prescribed motion at the start of the step; damping uses the
/// command rate at its end.
#[test]
fn rates_are_taken_where_they_are_used() {
    let text = "models:
  a: {joint: [{slide: x, axis: [1, 0, 0], role: prescribed}, {slide: y, axis: [0, 1, 0], stiffness: 1}]}
commands: [{joints: [a.x, a.y], expr: \"t^2\"}]
step: {size: 0.5, prescribed_rate: RATE}
";
    let rates = |word: &str| {
        let scene = parse(&text.replace("RATE", word));
        let mut input = StepInput::default();
        scene.sample(2.0, &mut input);
        assert_eq!(input.q_cmd, [4.0, 4.0]);
        input.v_cmd
    };
    assert_eq!(rates("secant"), [4.0, 4.0]);
    assert_eq!(rates("derivative"), [3.0, 4.0]);
}
