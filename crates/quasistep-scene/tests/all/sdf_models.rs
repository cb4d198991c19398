//! SDFormat models and Drake directives in a scene: base, pose and gravity.

use crate::common::{Folder, expect};
use quasistep_model::JointKind;
use quasistep_scene::{Scene, SceneError};

const ARM: &str = "<sdf version='1.9'><model name='arm'><pose>0 0 1 0 0 0</pose>
    <link name='base'><inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link>
    <link name='hand'><pose>0 0 0.5 0 0 0</pose><inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link>
    <joint name='j' type='revolute'><parent>base</parent><child>hand</child><axis><xyz>0 1 0</xyz></axis></joint>
    </model></sdf>";
const CELL: &str = "directives:
- add_model: {name: left, file: package://here/arm.sdf, default_joint_positions: {j: [0.25]}}
- add_weld: {parent: world, child: left::base, X_PC: {translation: [0, 1, 0]}}
- add_model: {name: right, file: package://here/arm.sdf}
";

fn scene(name: &str, model: &str) -> Result<Scene, SceneError> {
    let folder = Folder::new(name);
    folder.file("arm.sdf", ARM).file("cell.dmd.yaml", CELL);
    let text = format!("models:\n  m: {{{model}}}\n");
    Scene::parse(&text, "scene.yml", "scene", &folder.0, &[])
}

/// Height of a body at the start, in m.
fn height(scene: &Scene, body: &str) -> f64 {
    let model = scene.system.model();
    let mut kin = model.create_kinematics();
    model.kinematics(&scene.start.q, &mut kin);
    let index = model.bodies().iter().position(|b| b.name == body).expect(body);
    kin.X_WB[index].translation.z
}

fn root(scene: &Scene) -> JointKind {
    scene.system.model().body(1).joint
}

/// A link not connected to the world is free at the pose of its file; the scene may weld it there.
#[test]
fn a_model_stands_as_its_file_or_the_scene_says() {
    let free = scene("sdf-free", "sdf: arm.sdf, pose: {xyz: [0, 0, 3]}").unwrap();
    assert_eq!(root(&free), JointKind::Free);
    assert_eq!(height(&free, "m/hand"), 4.5);
    let fixed = scene("sdf-fixed", "sdf: arm.sdf, joint: fixed, pose: {xyz: [0, 0, 3]}").unwrap();
    assert_eq!(root(&fixed), JointKind::Fixed);
    assert_eq!(height(&fixed, "m/hand"), 4.5);
    assert_eq!(fixed.system.model().coordinate_names(), ["m.j"]);
}

/// If a file has several models, the scene cannot give a joint for all of them: an error.
#[test]
fn a_joint_of_several_models_is_a_mistake() {
    let cell = "directives: cell.dmd.yaml, packages: {here: .}";
    let read = scene("sdf-cell", cell).unwrap();
    assert_eq!(height(&read, "m/left::hand"), 0.5);
    assert_eq!(height(&read, "m/right::hand"), 1.5);
    let q = read.system.model().coordinate_names().iter().position(|name| *name == "m.left::j");
    assert_eq!(read.start.q[q.unwrap()], 0.25);
    let told = format!("{cell}, joint: fixed");
    expect(scene("sdf-told", &told), "scene.yml:2: models.m.joint", &["2 bodies of the file"]);
}

/// Patterns select which links of a file feel gravity; the last match counts, and a pattern without
/// match is an error.
#[test]
fn some_links_of_a_file_may_be_weightless() {
    let cell = "directives: cell.dmd.yaml, packages: {here: .}";
    let some = format!("{cell}, gravity: {{\"*\": false, \"right::*\": true, \"*::base\": false}}");
    let read = scene("sdf-gravity", &some).unwrap();
    let heavy: Vec<&str> = read.system.model().bodies()[1..]
        .iter()
        .filter(|body| body.gravity)
        .map(|body| body.name.as_str())
        .collect();
    assert_eq!(heavy, ["m/right::hand"]);
    let none = format!("{cell}, gravity: {{\"midle::*\": false}}");
    expect(scene("sdf-none", &none), "scene.yml:2: models.m.gravity", &["unknown link"]);
}
