//! Every mistake is reported on one line with file, line, key, value seen and valid values.

use crate::common::{Folder, complaint, expect};
use quasistep_scene::{Scene, SceneError};
use std::path::Path;

fn parse(text: &str) -> Result<Scene, SceneError> {
    parse_in(text, Path::new("."))
}

fn parse_in(text: &str, dir: &Path) -> Result<Scene, SceneError> {
    Scene::parse(text, "scene.yml", "scene", dir, &[])
}

const BALL: &str = "models:\n  ball: {shape: {sphere: {radius: 0.1}}, mass: 1}\n";

#[test]
fn a_sound_scene_is_read() {
    let scene = parse(BALL).unwrap();
    assert_eq!(scene.system.model().n_v(), 6);
}

#[test]
fn unknown_key() {
    complaint(
        "modles:\n  a: {}\n",
        "scene.yml:1: modles:",
        &["unknown key `modles`", "did you mean `models`"],
    );
    complaint(
        "models:\n  a:\n    mass: 1\n    shapee: {sphere: {radius: 1}}\n",
        "scene.yml:4: models.a.shapee:",
        &["did you mean `shape`"],
    );
    complaint(
        &format!("{BALL}step: {{sise: 0.1}}\n"),
        "scene.yml:3: step.sise:",
        &["did you mean `size`"],
    );
}

/// Words of other tools lead to ours.
#[test]
fn words_of_other_tools() {
    for (text, word) in [
        ("shape: {plane: {}}", "half_space"),
        ("shape: {cube: {size: [1, 1, 1]}}", "box"),
        ("weight: 1", "mass"),
        ("position: [0, 0, 1]", "pose"),
        ("pose: {position: [0, 0, 1]}", "xyz"),
        ("joint: [{prismatic: x, axis: [1, 0, 0]}]", "slide"),
    ] {
        let scene = format!("models:\n  a:\n    {text}\n");
        complaint(&scene, "scene.yml:3: models.a.", &[&format!("did you mean `{word}`")]);
    }
    complaint(
        "models:\n  a:\n    joint: revolute\n",
        "scene.yml:3: models.a.joint:",
        &["`revolute` was seen", "{hinge: x, axis: [1, 0, 0]}"],
    );
}

#[test]
fn wrong_unit() {
    complaint(
        "models:\n  a: {shape: {sphere: {radius: 5 cm}}, mass: 1}\n",
        "scene.yml:2: models.a.shape.sphere.radius:",
        &["`5 cm`", "plain number in m"],
    );
    complaint(
        "models:\n  a: {shape: {ellipsoid: {radii: [1, 0, 1]}}, mass: 1}\n",
        "scene.yml:2: models.a.shape.ellipsoid.radii:",
        &["[1.0, 0.0, 1.0]", "> 0 m"],
    );
    complaint(
        "models:\n  a:\n    mass: 1\n    joint: [{hinge: h, axis: [0, 0, 1], start: 90deg}]\n",
        "scene.yml:4: models.a.joint.0.start:",
        &["`90deg`", "rad"],
    );
}

#[test]
fn numbers_that_are_none() {
    for bad in ["nan", ".nan", ".inf", "-.inf", "inf"] {
        let text = format!("{BALL}step: {{size: {bad}}}\n");
        complaint(&text, "scene.yml:3: step.size:", &[bad, "finite"]);
    }
    complaint(&format!("{BALL}step: {{size: 0}}\n"), "scene.yml:3: step.size:", &["> 0"]);
    for (bad, seen) in [("1e-3", "1e-3 was seen"), ("-0.5", "-0.5 was seen")] {
        complaint(
            &format!("{BALL}step: {{accuracy: {bad}}}\n"),
            "scene.yml:3: step.accuracy:",
            &[seen, "must be"],
        );
    }
    complaint(
        &format!("{BALL}gravity: [0, 0]\n"),
        "scene.yml:3: gravity:",
        &["2 numbers", "3 numbers"],
    );
}

#[test]
fn yaml_that_is_none() {
    complaint("models: [\n", "scene.yml:", &["not valid YAML"]);
    complaint("", "scene.yml:1:", &["empty"]);
    complaint("models:\n  a: {mass: 1}\n  a: {mass: 2}\n", "scene.yml:3: a:", &["twice"]);
}

#[test]
fn missing_files() {
    let error = Scene::load("no/such/scene.yml").err().unwrap().to_string();
    assert!(error.starts_with("no/such/scene.yml: "), "{error}");
    complaint(
        "models:\n  r: {urdf: gone.urdf}\n",
        "scene.yml:2: models.r.urdf:",
        &["gone.urdf", "does not exist"],
    );
    complaint(
        "models:\n  m:\n    mass: 1\n    shape: {mesh: {file: gone.obj}}\n",
        "scene.yml:4: models.m.shape.mesh.file:",
        &["gone.obj", "does not exist"],
    );
    complaint(
        "models:\n  f: {joint: [{slide: x, axis: [1, 0, 0], stiffness: 1}]}\ncommands:\n  - {joint: f.x, csv: {file: gone.csv, columns: [a]}}\n",
        "scene.yml:4: commands.0.csv.file:",
        &["gone.csv", "not readable"],
    );
}

#[test]
fn impossible_masses() {
    for mass in ["0", "-1"] {
        let text = format!("models:\n  a: {{mass: {mass}, shape: {{sphere: {{radius: 1}}}}}}\n");
        complaint(&text, "scene.yml:2: models.a.mass:", &[mass, "> 0 kg"]);
    }
    complaint(
        "models:\n  a: {mass: 1, inertia: [1, 1, 5], shape: {sphere: {radius: 1}}}\n",
        "scene.yml:2: models.a.inertia:",
        &["5"],
    );
    complaint(
        "models:\n  a: {density: 1000, mass: 1, shape: {sphere: {radius: 1}}}\n",
        "scene.yml:2: models.a.density:",
        &["one of them"],
    );
}

#[test]
fn commands_that_do_not_fit() {
    let head = "models:\n  f: {joint: [{slide: x, axis: [1, 0, 0], stiffness: 1}]}\ncommands:\n";
    let wrong = |command: &str, key: &str, words: &[&str]| {
        complaint(
            &format!("{head}  - {command}\n"),
            &format!("scene.yml:4: commands.0{key}:"),
            words,
        );
    };
    wrong("{joint: f.y, constant: 0}", ".joint", &["unknown joint `f.y`", "f.x"]);
    wrong("{joint: f.x, constant: [0, 1]}", ".constant", &["2 values", "1 joints"]);
    wrong(
        "{joint: f.x, linear: {t: [0, 1], values: [0]}}",
        ".linear.values",
        &["1 values", "2 times"],
    );
    wrong("{joint: f.x, linear: {t: [0, 0], values: [0, 1]}}", ".linear.values", &["ascend"]);
    wrong("{joint: f.x, expr: \"sin(t\"}", ".expr", &["column 6", "`)`"]);
    wrong("{joint: f.x, expr: \"sine(t)\"}", ".expr", &["did you mean `sin`"]);
    wrong("{joint: f.x}", "", &["one of"]);
    complaint(
        "models:\n  f: {mass: 1, joint: [{slide: x, axis: [1, 0, 0]}]}\ncommands:\n  - {joint: f.x, constant: 0}\n",
        "scene.yml:4: commands.0.joint:",
        &["f.x", "actuated and prescribed"],
    );
}

#[test]
fn joints_that_do_not_fit() {
    complaint(
        "models:\n  f:\n    joint: [{slide: x, axis: [1, 0, 0]}]\n    joints: {y: {stiffness: 1}}\n",
        "scene.yml:4: models.f.joints.y:",
        &["unknown joint `y`", "`x`"],
    );
    complaint(
        "models:\n  f: {joint: [{slide: x, axis: [1, 0, 0], role: actuated}]}\n",
        "scene.yml:2: models.f.joint.0:",
        &["stiffness"],
    );
    complaint(
        "models:\n  f: {joint: [{slide: x, axis: [1, 0, 0], stiffness: -3}]}\n",
        "scene.yml:2: models.f.joint.0.stiffness:",
        &["-3", "> 0"],
    );
    complaint(
        "models:\n  f: {joint: [{slide: x, axis: [0, 0, 0]}]}\n",
        "scene.yml:2: models.f.joint.0.axis:",
        &["direction"],
    );
    complaint(
        "models:\n  f: {parent: arm/hand, mass: 1}\n",
        "scene.yml:2: models.f.parent:",
        &["unknown body `arm/hand`"],
    );
}

#[test]
fn meshes_that_are_no_solids() {
    let folder = Folder::new("meshes");
    folder
        .file("empty.obj", "# nothing\n")
        .file("flat.obj", "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n")
        .file("line.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nv 3 0 0\nf 1 2 3\nf 1 3 4\n")
        .file("nan.obj", "v 0 0 nan\nv 1 0 0\nv 1 1 0\nf 1 2 3\n")
        .file("box.step", "ply\n")
        .file("flat.stl", "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 1 0\nendloop\nendfacet\nendsolid a\n");
    for (file, word) in [
        ("empty.obj", "empty"),
        ("flat.obj, parts: hull", "flat"),
        ("flat.obj, parts: split", "encloses 0 m³"),
        ("line.obj", "no triangle has an area"),
        ("nan.obj", "nan.obj"),
        ("box.step", ".stl, .obj, .dae"),
        ("flat.stl, parts: hull", "at least 4"),
    ] {
        let text = format!("models:\n  m: {{mass: 1, shape: {{mesh: {{file: {file}}}}}}}\n");
        expect(parse_in(&text, &folder.0), "scene.yml:2: models.m.shape.mesh.file:", &[word]);
    }
}

#[test]
fn overrides_that_do_not_fit() {
    let set = |key: &str, value: &str| {
        Scene::parse(BALL, "scene.yml", "scene", Path::new("."), &[(key.into(), value.into())])
    };
    assert_eq!(set("step.size", "0.05").unwrap().params.time_step, 0.05);
    expect(set("step.sise", "0.05"), "--set step.sise:", &["did you mean `size`"]);
    expect(set("step.size", "fast"), "--set step.size:", &["`fast`", "number in s"]);
    expect(set("models.ball.mass.kg", "1"), "--set models.ball.mass.kg:", &["after the value `1`"]);
    expect(set("step..size", "1"), "--set step..size:", &["empty part"]);
}

const LINK: &str = "<link name=\"a\"/><link name=\"b\"/><link name=\"c\"/>";

/// A robot with these elements, loaded in a scene.
fn robot(name: &str, elements: &str) -> (Folder, Result<Scene, SceneError>) {
    let folder = Folder::new(name);
    folder.file("r.urdf", &format!("<robot name=\"r\">\n{elements}\n</robot>\n"));
    let scene = parse_in("models:\n  r: {urdf: r.urdf}\n", &folder.0);
    (folder, scene)
}

#[track_caller]
fn robot_complaint(name: &str, elements: &str, line: usize, words: &[&str]) {
    let (folder, scene) = robot(name, elements);
    let place = format!("{}:{line}: ", folder.0.join("r.urdf").display());
    expect(scene, &place, words);
}

fn joint(name: &str, parent: &str, child: &str) -> String {
    format!(
        "<joint name=\"{name}\" type=\"fixed\"><parent link=\"{parent}\"/><child link=\"{child}\"/></joint>\n"
    )
}

#[test]
fn robots_with_loops_or_loose_links() {
    let two_parents =
        format!("{LINK}\n{}{}{}", joint("j", "a", "b"), joint("k", "a", "c"), joint("l", "c", "b"));
    robot_complaint("two-parents", &two_parents, 5, &["joint `l`", "loop", "`b`", "`j`"]);
    let ring =
        format!("{LINK}\n{}{}{}", joint("j", "a", "b"), joint("k", "b", "c"), joint("l", "c", "a"));
    robot_complaint("ring", &ring, 1, &["loop"]);
    let loose = format!("{LINK}\n{}", joint("j", "a", "b"));
    robot_complaint("loose", &loose, 1, &["`a`", "`c`", "one root"]);
    let unknown = format!("{LINK}\n{}", joint("j", "a", "d"));
    robot_complaint("unknown-link", &unknown, 3, &["unknown link `d`"]);
    robot_complaint("twice", "<link name=\"a\"/>\n<link name=\"a\"/>", 3, &["second link"]);
}

#[test]
fn robots_with_impossible_masses() {
    let inertial = |mass: &str, inertia: &str| {
        format!(
            "<link name=\"a\">\n<inertial>\n<mass value=\"{mass}\"/>\n<inertia {inertia}/>\n</inertial></link>"
        )
    };
    let sphere = "ixx=\"1\" iyy=\"1\" izz=\"1\"";
    robot_complaint("negative-mass", &inertial("-2", sphere), 4, &["-2", "≥ 0"]);
    robot_complaint("nan-mass", &inertial("nan", sphere), 4, &["nan"]);
    robot_complaint("nan", &inertial("1", "ixx=\"inf\" iyy=\"1\" izz=\"1\""), 5, &["inf"]);
}

#[test]
fn robots_that_are_none() {
    let folder = Folder::new("no-robot");
    folder.file("r.urdf", "<robot name=\"r\"><link name=\"a\"></robot>");
    expect(
        parse_in("models:\n  r: {urdf: r.urdf}\n", &folder.0),
        &format!("{}:1: ", folder.0.join("r.urdf").display()),
        &["not valid XML"],
    );
    robot_complaint(
        "geometry",
        "<link name=\"a\"><collision><geometry>\n<cone/></geometry></collision></link>",
        3,
        &["unknown geometry `cone`"],
    );
    robot_complaint(
        "package",
        "<link name=\"a\"><collision><geometry>\n<mesh filename=\"package://p/m.stl\"/></geometry></collision></link>",
        3,
        &["packages: {p: folder}"],
    );
    robot_complaint(
        "joint-type",
        &format!("{LINK}\n<joint name=\"j\" type=\"screw\"/>"),
        3,
        &["unknown joint type `screw`", "revolute"],
    );
}

#[test]
fn supports() {
    let puck = |support: &str| {
        format!("models:\n  puck:\n    joint: planar\n    mass: 1\n    support: {support}\n")
    };
    let key = "scene.yml:5: models.puck.support";
    for (support, place, words) in [
        ("{friction: -0.3, spin_radius: 0.03}", ".friction:", ["-0.3", "≥ 0"]),
        ("{friction: 0.3, load: -2, spin_radius: 0.03}", ".load:", ["-2", "≥ 0 N, or `weight`"]),
        ("{friction: 0.3, load: heavy, spin_radius: 0.03}", ".load:", ["heavy", "weight"]),
        ("{friction: 0.3, spin_radius: -0.03}", ".spin_radius:", ["-0.03", "≥ 0 m"]),
        ("{friction: .nan, spin_radius: 0.03}", ".friction:", ["nan", "finite"]),
        ("{friction: 0.3}", ":", ["`spin_radius` is missing", "in m"]),
        ("{spin_radius: 0.03}", ":", ["`friction` is missing", ""]),
        ("{friction: 0.3, spin: 0.03}", ".spin:", ["unknown key", "spin_radius"]),
        ("0.3", ":", ["0.3", ""]),
    ] {
        complaint(&puck(support), &format!("{key}{place}"), &words);
    }
    let jointed = |joint: &str| format!("models:\n  cart:\n    mass: 1\n    joint: {joint}\n");
    let rubs = "support: {friction: 0.3, spin_radius: 0.1}";
    complaint(
        &jointed(&format!("[{{slide: x, axis: [1, 0, 0], {rubs}}}]")),
        "scene.yml:4: models.cart.joint.0.support.spin_radius:",
        &["0.1", "slide", "leave it out"],
    );
    complaint(
        &jointed(&format!("[{{hinge: x, axis: [1, 0, 0], {rubs}}}]")),
        "scene.yml:4: models.cart.joint.0.support:",
        &["revolute", "planar joints and slides"],
    );
    let two =
        "[{slide: x, axis: [1, 0, 0]}, {slide: y, axis: [0, 1, 0]}]\n    support: {friction: 0.3}";
    complaint(&jointed(two), "scene.yml:5: models.cart.support:", &["2 joints", "in the list"]);
    // a free body cannot have a support
    complaint(
        "models:\n  ball: {mass: 1, support: {friction: 0.3}}\n",
        "scene.yml:2: models.ball.support:",
        &["free"],
    );
}
