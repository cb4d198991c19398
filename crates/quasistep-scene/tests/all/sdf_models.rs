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

/// A model alone in its file, with this content of the model.
fn alone(name: &str, content: &str) -> Scene {
    let folder = Folder::new(name);
    folder.file("m.sdf", &format!("<sdf version='1.6'><model name='m'>{content}</model></sdf>"));
    Scene::load(folder.0.join("m.sdf")).unwrap_or_else(|e| panic!("{e}"))
}

/// A file in which nothing can move is a scene as it is, and says so; what it stands on is the
/// file's.
#[test]
fn what_cannot_move_is_a_scene_too() {
    let link = "<link name='l'><pose>0 0 2 0 0 0</pose><collision name='c'><geometry><box/></geometry></collision></link>";
    for (name, content, n) in [
        ("static", format!("<static>true</static>{link}"), 0),
        (
            "welded",
            format!(
                "{link}<joint name='w' type='fixed'><parent>world</parent><child>l</child></joint>"
            ),
            0,
        ),
        (
            "hung",
            format!(
                "{link}<joint name='w' type='ball'><parent>world</parent><child>l</child></joint>"
            ),
            3,
        ),
        ("nested", format!("<static>1</static><model name='n'>{link}</model>"), 0),
    ] {
        let scene = alone(&format!("sdf-{name}"), &content);
        assert_eq!(scene.system.model().n_v(), n, "{name}");
        let body = if name == "nested" { "m/n::l" } else { "m/l" };
        assert_eq!(height(&scene, body), 2.0, "{name}");
        assert!(scene.first_step().is_ok(), "{name}");
        let told =
            scene.motion_told.as_ref().is_some_and(|told| told.contains("nothing in it can move"));
        assert_eq!(told, n == 0, "{name}");
    }
    // an arm on a base that the file welds keeps its springs of the scene
    let arm = ARM.replace(
        "</model>",
        "<joint name='w' type='fixed'><parent>world</parent><child>base</child></joint></model>",
    );
    let folder = Folder::new("sdf-welded-arm");
    folder.file("arm.sdf", &arm);
    let scene = Scene::load(folder.0.join("arm.sdf")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scene.system.model().coordinate_names(), ["arm.j"]);
}

/// Mistakes that show only in the scene around a file are told of the file: no one has seen the lines
/// of that scene.
#[test]
fn mistakes_of_a_file_name_no_line_of_its_scene() {
    let folder = Folder::new("sdf-mistake");
    folder.file("m.sdf", &format!("<sdf version='1.6'><model name='m'><link name='l'/>{}</model></sdf>",
        "<link name='k'/><joint name='j' type='revolute'><parent>l</parent><child>k</child><axis><xyz>0 0 1</xyz></axis></joint>"));
    let path = folder.0.join("m.sdf");
    let changes = |key: &str, value: &str| [(key.to_owned(), value.to_owned())];
    let place = format!("{}: ", path.display());
    let start = Scene::load_with(&path, &changes("models.m.joints.j.start", "[1, 2]"));
    expect(start, &format!("{place}joints.j: "), &["2 start values"]);
    // a mesh without area is found when the scene makes it a shape
    folder.file("flat.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n");
    folder.file(
        "m.sdf",
        "<sdf version='1.6'><model name='m'><link name='l'><collision name='c'><geometry><mesh><uri>flat.obj</uri></mesh></geometry></collision></link></model></sdf>",
    );
    let mesh = folder.0.join("flat.obj");
    expect(Scene::load(&path), &format!("{}: ", mesh.display()), &[]);
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
        .filter(|body| body.gravity == 1.0)
        .map(|body| body.name.as_str())
        .collect();
    assert_eq!(heavy, ["m/right::hand"]);
    let none = format!("{cell}, gravity: {{\"midle::*\": false}}");
    expect(scene("sdf-none", &none), "scene.yml:2: models.m.gravity", &["unknown link"]);
}
