//! Drake's model directives: poses and names of models.

use crate::common::{assert_same, link, pose, read_files};
use quasistep_formats::SceneError;
use quasistep_formats::description::Description;
use quasistep_math::Vec3;
use quasistep_model::JointKind;
use std::f64::consts::FRAC_PI_2;

const ARM: &str = "<sdf version='1.9'><model name='arm'><pose>5 5 5 0 0 0</pose><link name='base'/>
    <link name='hand'><pose>0 0 1 0 0 0</pose></link><frame name='tip' attached_to='hand'><pose>0 0 0.5 0 0 0</pose></frame>
    <joint name='j' type='revolute'><parent>base</parent><child>hand</child><axis><xyz>0 1 0</xyz></axis></joint>
    </model></sdf>";
const BALL: &str = "<robot name='ball'><link name='ball'><inertial><mass value='1'/>
    <inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link></robot>";

fn close(p: Vec3, want: [f64; 3]) {
    assert!((p - Vec3::from(want)).norm() < 1e-12, "{p:?} is not {want:?}");
}

fn directives(text: &str, more: &[(&str, &str)]) -> Result<Description, SceneError> {
    let mut files =
        vec![("all.dmd.yaml", text), ("arm.sdf", ARM), ("ball.urdf", BALL), ("sub.dmd.yaml", SUB)];
    files.extend(more);
    read_files(&files)
}

/// An arm that holds a ball, welded to the parent's frame if that exists.
const SUB: &str = "directives:
- add_model: {name: arm, file: package://pkg/arm.sdf}
- add_frame:
    name: grip
    X_PF: {base_frame: arm::tip, translation: [0, 0, 0.1], rotation: !Rpy {deg: [0, 0, 90]}}
- add_model: {name: ball, file: package://pkg/ball.urdf}
- add_weld: {parent: arm::grip, child: ball::ball, X_PC: {translation: [1, 0, 0]}}
- add_collision_filter_group:
    name: held
    members: [arm::hand, ball::ball]
    ignored_collision_filter_groups: [held]
";

/// Frames, welds and namespaces. A weld places the child, whatever the pose in its file.
#[test]
fn models_are_welded_in_namespaces() {
    let text = "directives:
- add_model_instance: {name: left}
- add_frame:
    name: table
    X_PF: {base_frame: world, translation: [0, 2, 0]}
- add_directives: {file: package://pkg/sub.dmd.yaml, model_namespace: left}
- add_weld: {parent: table, child: left::arm::base}
- add_directives: {file: package://pkg/sub.dmd.yaml}
- add_weld: {parent: world, child: arm::base}
";
    let read = directives(text, &[]).unwrap();
    assert_same(pose(&read, "left::arm::base", &[]), [0.0, 2.0, 0.0], [0.0; 3]);
    assert_same(pose(&read, "left::arm::hand", &[]), [0.0, 2.0, 1.0], [0.0; 3]);
    // the ball is 1 m along the grip's x, which is y of the hand
    assert_same(pose(&read, "left::ball::ball", &[]), [0.0, 3.0, 1.6], [0.0, 0.0, FRAC_PI_2]);
    assert_same(pose(&read, "ball::ball", &[]), [0.0, 1.0, 1.6], [0.0, 0.0, FRAC_PI_2]);
    assert_eq!(read.never_touch.len(), 2, "one pair in each namespace");
    assert!(read.joints.iter().any(|joint| joint.name == "left::arm::j"));
    // frames of both kinds of files, without the names of links and models
    let frames: Vec<&str> = read.frames.iter().map(|frame| frame.name.as_str()).collect();
    let each = ["arm::grip", "arm::tip", "left::arm::grip", "left::arm::tip", "table"];
    assert_eq!(frames, each);
    let [grip, .., table] = &read.frames[..] else { panic!("{frames:?}") };
    assert_eq!(read.links[grip.link.unwrap()].name, "arm::hand");
    close(grip.pose.translation, [0.0, 0.0, 0.6]);
    assert_eq!(table.link, None);
    close(table.pose.translation, [0.0, 2.0, 0.0]);
}

/// Joints start at `default_joint_positions`, free bodies at `default_free_body_pose`.
#[test]
fn starts_are_those_of_the_file() {
    let text = "directives:
- add_model:
    name: arm
    file: package://pkg/arm.sdf
    default_joint_positions: {j: [0.25]}
- add_weld: {parent: world, child: arm::base}
- add_model:
    name: ball
    file: package://pkg/ball.urdf
    default_free_body_pose:
      ball: {translation: [1, 2, 3], rotation: !AngleAxis {angle_deg: 90, axis: [0, 0, 2]}}
- add_model:
    name: held
    file: package://pkg/ball.urdf
    default_free_body_pose: {'': {base_frame: arm::tip, translation: [0, 0, 0.5]}}
";
    let read = directives(text, &[]).unwrap();
    let joint = |name: &str| read.joints.iter().find(|joint| joint.name == name).unwrap();
    assert_eq!(joint("arm::j").start, Some(vec![0.25]));
    assert_same(pose(&read, "ball::ball", &[]), [1.0, 2.0, 3.0], [0.0, 0.0, FRAC_PI_2]);
    let held = joint("held::ball");
    assert_eq!((held.kind, held.parent), (JointKind::Free, Some(link(&read, "arm::hand"))));
    assert_eq!(held.start, Some(vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5]));
    assert_eq!(held.origin.translation.to_array(), [0.0, 0.0, 0.5]);
}

/// A model that is not welded is free and starts where its file places it.
#[test]
fn what_nothing_holds_is_free() {
    let read =
        directives("directives: [add_model: {name: a, file: package://pkg/arm.sdf}]", &[]).unwrap();
    let joint = read.tree.joint_of[link(&read, "a::base")].unwrap();
    assert_eq!(read.joints[joint].kind, JointKind::Free);
    assert_same(pose(&read, "a::base", &[]), [5.0, 5.0, 5.0], [0.0; 3]);
}

/// Every error names file, line, key, and valid values.
#[test]
fn mistakes_name_their_line() {
    let cases = [
        ("- add_modle: {name: a}", "did you mean `add_model`?"),
        ("- add_model: {name: a, file: package://pkg/arm.sfd}", "was not found"),
        ("- add_model: {name: a}", "`file` is missing"),
        (
            "- add_weld: {parent: world, child: arm::bse}",
            "unknown frame `arm::bse`; did you mean `arm::base`?",
        ),
        ("- add_model: {name: arm, file: package://pkg/arm.sdf}", "a second model instance `arm`"),
        ("- add_directives: {file: package://pkg/all.dmd.yaml}", "includes itself"),
        (
            "- add_directives: {file: package://pkg/sub.dmd.yaml, model_namespace: none}",
            "add_model_instance",
        ),
        ("- add_frame: {name: f, X_PF: {translation: [0, 0, 0]}}", "`base_frame` is missing"),
        ("- add_frame: {name: f, X_PF: {base_frame: world, rotation: {deg: [0, 0, 1]}}}", "!Rpy"),
        (
            "- add_frame: {name: f, X_PF: {base_frame: world, rotation: !Uniform {}}}",
            "a random value",
        ),
        ("- add_weld: {parent: arm::hand, child: arm::tip}", "are on one link"),
        (
            "- add_model: {name: b, file: package://pkg/arm.sdf, default_joint_positions: {k: 0}}",
            "unknown joint `k`; did you mean `j`?",
        ),
        (
            "- add_collision_filter_group: {name: g, members: [arm::hnd]}",
            "did you mean `arm::hand`?",
        ),
        ("- add_model: {name: b, file: package://pkg/../arm.sdf}", "leads out of its package"),
    ];
    for (line, message) in cases {
        let text = format!(
            "directives:\n- add_model: {{name: arm, file: package://pkg/arm.sdf}}\n{line}\n"
        );
        let said = directives(&text, &[]).map(|_| ()).unwrap_err().to_string();
        assert!(
            said.contains("all.dmd.yaml:3: directives.1") && said.contains(message),
            "{said} is said of {line}"
        );
    }
}
