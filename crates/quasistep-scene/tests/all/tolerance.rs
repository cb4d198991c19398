//! Robot files with common flaws: what is accepted, and the warnings.

use crate::common::Folder;
use quasistep::Role;
use quasistep_math::{Mat3, Vec3};
use quasistep_model::BodyInertia;
use quasistep_scene::Scene;
use std::path::Path;

fn scene_in(folder: &Path, keys: &str) -> Scene {
    let text = format!("models: {{r: {{urdf: r.urdf{keys}}}}}\n");
    Scene::parse(&text, "scene.yml", "scene", folder, &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// Loads a robot with these elements and checks its only warning.
#[track_caller]
fn warned(name: &str, elements: &str, words: &[&str]) -> Scene {
    let folder = Folder::new(name);
    folder.file("r.urdf", &format!("<robot name=\"r\">\n{elements}\n</robot>\n"));
    let scene = scene_in(&folder.0, "");
    let [warning] = scene.warnings.as_slice() else { panic!("{:?}", scene.warnings) };
    for word in words {
        assert!(warning.contains(word), "`{warning}` does not say `{word}`");
    }
    assert!(warning.contains("r.urdf"), "{warning}");
    scene
}

fn inertial(mass: f64, moments: [f64; 3]) -> String {
    let [x, y, z] = moments;
    format!(
        "<inertial><mass value=\"{mass}\"/><inertia ixx=\"{x}\" iyy=\"{y}\" izz=\"{z}\"/></inertial>"
    )
}

const BALL: &str = "<collision><geometry><sphere radius=\"0.1\"/></geometry></collision>";

#[test]
fn links_of_mass_0_are_frames_told_in_one_line() {
    let links = format!(
        "<link name=\"a\">{0}</link>\n<link name=\"b\">{0}</link>\n\
         <joint name=\"j\" type=\"fixed\"><parent link=\"a\"/><child link=\"b\"/></joint>",
        inertial(0.0, [1.0, 1.0, 1.0])
    );
    let scene = warned("frames", &links, &[":2:", "`a`, `b`", "frames"]);
    assert_eq!(scene.system.model().body(1).inertia.mass, 0.0);
}

#[test]
fn an_impossible_inertia_becomes_the_nearest_possible() {
    let link = format!("<link name=\"a\">{}</link>", inertial(2.0, [1.0, 1.0, 5.0]));
    let scene = warned("thin", &link, &[":2:", "`a`", "5.0", "nearest"]);
    // a flat plate: the inertia with I_z = I_x + I_y nearest to (1, 1, 5)
    let rows = scene.system.model().body(1).inertia.inertia.rows;
    assert!((rows[0].x - 2.0).abs() < 1e-12 && (rows[2].z - 4.0).abs() < 1e-12, "{rows:?}");
    let folder = Folder::new("refused");
    folder.file("r.urdf", &format!("<robot name=\"r\">\n{link}\n</robot>\n"));
    let text = "models: {r: {urdf: r.urdf, repair: error}}\n";
    let error = Scene::parse(text, "scene.yml", "scene", &folder.0, &[]).unwrap_err().to_string();
    assert!(error.contains("r.urdf:2: ") && error.contains("repair"), "{error}");
}

/// No other possible inertia on a fine grid is nearer, for any axes.
#[test]
fn repairs_are_nearest_of_all() {
    let turn = quasistep_math::Quat::from_axis_angle(Vec3::new(0.6, 0.0, 0.8), 0.7).to_matrix();
    for moments in
        [[1.0, 1.0, 5.0], [-1.0, 1.0, 1.0], [-2.0, -1.0, 3.0], [-1.0; 3], [0.0, 0.0, 1.0]]
    {
        let [x, y, z] = moments;
        let inertia = turn * Mat3::symmetric([x, y, z, 0.0, 0.0, 0.0]) * turn.transpose();
        let given = BodyInertia { mass: 1.0, com: Vec3::ZERO, inertia };
        let repaired = given.nearest_possible();
        repaired.check().unwrap();
        let distance = |other: &Mat3| -> f64 {
            (0..3).map(|i| (other.rows[i] - inertia.rows[i]).norm_squared()).sum()
        };
        let least = distance(&repaired.inertia);
        assert!(least > 0.0);
        // small changes along the six basis directions of symmetric matrices, and pairs of them
        for k in 0..36 {
            for size in [1e-3, -1e-3] {
                let mut entries = [0.0; 6];
                entries[k / 6] += size;
                entries[k % 6] += if k % 2 == 0 { size } else { -size };
                let moved = repaired.inertia + Mat3::symmetric(entries);
                let other = BodyInertia { inertia: moved, ..given };
                let [a, b, c] = moved.symmetric_eigen().0;
                let is_possible = a >= 0.0 && a + b >= c && other.check().is_ok();
                assert!(!is_possible || distance(&moved) >= least - 1e-12, "{moments:?} {k}");
            }
        }
    }
}

#[test]
fn shapes_without_extent_and_lost_pictures_are_left_out() {
    let point = "<collision><geometry><sphere radius=\"0\"/></geometry></collision>";
    let scene = warned(
        "point",
        &format!("<link name=\"a\">{}{point}</link>", inertial(1.0, [1.0; 3])),
        &[":2:", "shapes of size 0"],
    );
    assert!(scene.system.geoms().is_empty());
    let lost = "<visual><geometry><mesh filename=\"package://gone/a.stl\"/></geometry></visual>";
    let link = format!("<link name=\"a\">{}{lost}{lost}</link>", inertial(1.0, [1.0; 3]));
    warned("lost", &link, &["`a`", "not found", "not drawn"]);
    let empty = "<visual><geometry/></visual>";
    let link = format!("<link name=\"a\">{}{empty}</link>", inertial(1.0, [1.0; 3]));
    warned("empty", &link, &["empty", "not drawn"]);
}

#[test]
fn joints_that_mimic_in_odd_ways_are_read() {
    let links = "<link name=\"a\"/><link name=\"b\"/><link name=\"c\"/>";
    let hinge = |name: &str, child: &str, more: &str| {
        format!(
            "<joint name=\"{name}\" type=\"revolute\"><parent link=\"a\"/><child link=\"{child}\"/>\
             <limit lower=\"0\" upper=\"{}\" effort=\"1\" velocity=\"1\"/>{more}</joint>",
            if more.is_empty() { "1" } else { "0" }
        )
    };
    // limits of 0 to 0 on the follower would lock its leader
    let elements =
        format!("{links}\n{}\n{}", hinge("j", "b", ""), hinge("k", "c", "<mimic joint=\"j\"/>"));
    let scene = warned("follower", &elements, &[":4:", "`k`", "limits", "dropped"]);
    let limits = scene.system.model().limits();
    assert_eq!((limits[0].lower, limits[0].upper), (0.0, 1.0));
    let fixed = "<joint name=\"f\" type=\"fixed\"><parent link=\"a\"/><child link=\"c\"/><mimic joint=\"j\"/></joint>";
    let elements = format!("{links}\n{}\n{fixed}", hinge("j", "b", ""));
    warned("fixed", &elements, &[":4:", "`f`", "stays fixed"]);
}

#[test]
fn the_world_may_be_a_parent_without_being_a_link() {
    let elements = "<link name=\"a\"/>\n<joint name=\"j\" type=\"fixed\"><origin xyz=\"0 0 1\"/>\
                    <parent link=\"world\"/><child link=\"a\"/></joint>";
    let scene = warned("world", elements, &[":3:", "`world`", "added"]);
    assert!(scene.system.model().body_by_name("r/a").is_some());
}

#[test]
fn what_nothing_reads_is_named_once() {
    let elements = "<link name=\"a\"/><gazebo/><gazebo reference=\"a\"/>\n<transmission name=\"t\"/>\n\
                    <drake:joint_actuator/><!-- <xacro:macro/> -->";
    warned(
        "extensions",
        elements,
        &["not read: <gazebo> (2), <joint_actuator> (1), <transmission> (1)"],
    );
}

#[test]
fn a_xacro_file_without_the_program_says_how_to_get_it() {
    let folder = Folder::new("xacro");
    folder.file(
        "r.urdf",
        "<robot name=\"r\" xmlns:xacro=\"http://x\"><xacro:include filename=\"r.urdf\"/></robot>",
    );
    let text = "models: {r: {urdf: r.urdf}}\n";
    let result = Scene::parse(text, "scene.yml", "scene", &folder.0, &[]);
    // if the program exists: a file that includes itself
    let error = result.unwrap_err().to_string();
    assert!(error.contains("r.urdf: ") && error.contains("xacro"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn packages_are_found_around_the_robot() {
    let folder = Folder::new("packages");
    let triangle = "solid t\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n\
                    endloop\nendfacet\nendsolid\n";
    let robot = |address: &str| {
        format!(
            "<robot name=\"r\"><link name=\"a\"><visual><geometry><mesh filename=\"{address}\"/></geometry>\
             </visual></link></robot>"
        )
    };
    for dir in ["arm/urdf", "arm/meshes", "other"] {
        std::fs::create_dir_all(folder.0.join(dir)).unwrap();
    }
    folder.file("arm/meshes/m.stl", triangle);
    folder.file("arm/package.xml", "<package><name>arm_description</name></package>");
    folder.file("other/m.stl", triangle);
    for address in [
        "package://arm/meshes/m.stl",
        "package://arm_description/meshes/m.stl",
        "package://other/m.stl",
        "package:///meshes/m.stl",
        "../meshes/m.stl",
    ] {
        folder.file("arm/urdf/r.urdf", &robot(address));
        let text = "models: {r: {urdf: \"package://arm/urdf/r.urdf\"}}\n";
        let scene = Scene::parse(text, "scene.yml", "scene", &folder.0, &[]);
        let scene = scene.unwrap_or_else(|e| panic!("{address}: {e}"));
        assert!(
            scene.warnings.is_empty() && scene.drawing.len() == 1,
            "{address}: {:?}",
            scene.warnings
        );
    }
}

/// A long chain of links in a file of 2 MB is read in bounded time, also in a debug build.
#[test]
fn ten_thousand_links_are_read() {
    use std::fmt::Write as _;
    let mut text = String::from("<robot name=\"r\"><link name=\"l0\"/>\n");
    for i in 1..10_000 {
        let parent = i - 1;
        let _ = writeln!(
            text,
            "<link name=\"l{i}\">{BALL}</link><joint name=\"j{i}\" type=\"fixed\">\
             <parent link=\"l{parent}\"/><child link=\"l{i}\"/></joint>"
        );
    }
    text.push_str("</robot>");
    let folder = Folder::new("chain");
    folder.file("r.urdf", &text);
    let scene = scene_in(&folder.0, "");
    assert_eq!(scene.system.model().n_bodies(), 10_001);
    assert_eq!(scene.warnings.len(), 1, "{:?}", scene.warnings);
}

/// The scene made for a robot file: missing values follow from the joints.
#[test]
fn a_robot_file_makes_a_scene_that_runs() {
    let folder = Folder::new("alone");
    let link = |name: &str, z: f64| {
        format!(
            "<link name=\"{name}\">{}<collision><origin xyz=\"0 0 {z}\"/><geometry><sphere radius=\"0.1\"/></geometry></collision></link>",
            inertial(1.0, [1.0; 3])
        )
    };
    let joint = |name: &str, kind: &str, parent: &str, child: &str, limit: &str| {
        format!(
            "<joint name=\"{name}\" type=\"{kind}\"><parent link=\"{parent}\"/><child link=\"{child}\"/><limit {limit}/></joint>"
        )
    };
    let robot = [
        "<robot name=\"r\">".to_owned(),
        link("a", 0.0),
        link("b", -0.5),
        link("c", -1.0),
        joint(
            "on",
            "revolute",
            "a",
            "b",
            "lower=\"0.2\" upper=\"0.4\" effort=\"20\" velocity=\"1\"",
        ),
        joint("k", "prismatic", "b", "c", "lower=\"0\" upper=\"0.1\" effort=\"0\" velocity=\"1\""),
        "</robot>".to_owned(),
    ];
    folder.file("two words.urdf", &robot.join("\n"));
    let scene = Scene::load(folder.0.join("two words.urdf")).unwrap_or_else(|e| panic!("{e}"));
    assert!(scene.source().is_model());
    let Role::Actuated(on) = &scene.system.roles()[2] else { panic!("no drive") };
    assert_eq!((on.stiffness[0], on.effort_limit[0]), (200.0, 20.0));
    assert_eq!(scene.start.q, [0.3, 0.0]);
    let first = scene.first_step().unwrap();
    assert!(first.pairs.iter().all(|pair| pair.distance >= 0.0), "{:?}", first.pairs);
    let outline = scene.outline();
    assert!(
        outline.contains("b: revolute joint, from 0.2 to 0.4 rad, spring 200 N·m/rad"),
        "{outline}"
    );
    // an object is free on the floor
    folder.file("ball.urdf", &format!("<robot name=\"ball\">{}</robot>", link("ball", 0.0)));
    let scene = Scene::load(folder.0.join("ball.urdf")).unwrap();
    assert_eq!((scene.system.model().n_v(), scene.start.q[6]), (6, 0.1));
}

/// A leg beside its hip swings down: the floor is below its path. A wheel turns just above its
/// floor. A joint locked by its limits is not commanded.
#[test]
fn the_floor_of_a_robot_file_is_below_its_command() {
    let folder = Folder::new("floor");
    let foot = "<collision><origin xyz=\"0 -1 0\"/><geometry><sphere radius=\"0.1\"/></geometry></collision>";
    let robot = format!(
        "<robot name=\"leg\"><link name=\"a\"/><link name=\"b\"/><link name=\"c\">{}{foot}</link>\n\
         <joint name=\"held\" type=\"revolute\"><parent link=\"a\"/><child link=\"b\"/>\
         <limit lower=\"0\" upper=\"0\" effort=\"9\" velocity=\"1\"/></joint>\n\
         <joint name=\"hip\" type=\"continuous\"><parent link=\"b\"/><child link=\"c\"/></joint></robot>",
        inertial(1.0, [1.0; 3])
    );
    folder.file("leg.urdf", &robot);
    let mut scene = Scene::load(folder.0.join("leg.urdf")).unwrap_or_else(|e| panic!("{e}"));
    let says_so = |w: &String| w.contains("leg.urdf:2: joint `held`") && w.contains("cannot move");
    assert_eq!(scene.warnings.iter().filter(|w| says_so(w)).count(), 1, "{:?}", scene.warnings);
    scene.duration = 1.0;
    let run = scene.run(None, &mut |_| std::ops::ControlFlow::Continue(()));
    let q = &run.recording.frames.last().unwrap().q;
    // the damper has a time constant of 0.05 s and lags behind the command
    assert!(q[0] == 0.0 && (q[1] - 0.3).abs() < 0.01, "{q:?}");
    let rim = "<collision><origin rpy=\"0 1.5707963267948966 0\"/><geometry><cylinder radius=\"0.3\" length=\"0.1\"/></geometry></collision>";
    folder.file("wheel.urdf", &robot.replace(foot, rim));
    let mut scene = Scene::load(folder.0.join("wheel.urdf")).unwrap_or_else(|e| panic!("{e}"));
    scene.duration = 1.0;
    let run = scene.run(None, &mut |_| std::ops::ControlFlow::Continue(()));
    let q = &run.recording.frames.last().unwrap().q;
    assert!((q[1] - 0.3).abs() < 0.01, "{q:?}");
}

#[test]
fn links_that_overlap_at_the_start_never_touch_unless_asked() {
    let folder = Folder::new("overlap");
    // three links in a row on hinges; the first and the last overlap; the base stands on a table
    let robot = format!(
        "<robot name=\"r\"><link name=\"base\">{BALL}</link><link name=\"a\">{BALL}</link>\n\
         <link name=\"b\">{BALL}</link><link name=\"c\">{BALL}</link>\n\
         <joint name=\"i\" type=\"continuous\"><parent link=\"base\"/><child link=\"a\"/></joint>\n\
         <joint name=\"j\" type=\"continuous\"><parent link=\"a\"/><child link=\"b\"/></joint>\n\
         <joint name=\"k\" type=\"continuous\"><origin xyz=\"0.5 0 0\"/><parent link=\"b\"/><child link=\"c\"/></joint>\n\
         </robot>"
    );
    folder.file("r.urdf", &robot);
    folder.file("r.srdf", "<robot name=\"r\"><disable_collisions link1=\"base\" link2=\"c\" reason=\"Never\"/></robot>");
    let pairs = |keys: &str| {
        let scene = scene_in(&folder.0, keys);
        (scene.system.n_pairs(), scene.notes.join("; "))
    };
    // of the six pairs three are neighbours, and the base overlaps link b
    assert_eq!(pairs(", self_collision: all").0, 3);
    let (n, notes) = pairs("");
    assert!(n == 2 && notes.contains("base–b"), "{n} {notes}");
    assert_eq!(pairs(", self_collision: none").0, 0);
    assert_eq!(pairs(", srdf: r.srdf").0, 1);
}

/// Files with false counts, with paths outside, or of huge size give a scene or a one-line error,
/// quickly.
#[test]
fn hostile_meshes_of_a_robot_are_one_sentence() {
    let folder = Folder::new("hostile");
    let mut stl = vec![0; 80];
    stl.extend(1_000_000_000_u32.to_le_bytes());
    stl.extend([0; 500]);
    std::fs::write(folder.0.join("billion.stl"), stl).unwrap();
    folder.file(
        "entity.dae",
        "<!DOCTYPE x [<!ENTITY f SYSTEM \"file:///etc/passwd\">]><COLLADA>&f;</COLLADA>",
    );
    let gltf = |uri: &str| {
        format!(
            "{{\"asset\": {{\"version\": \"2.0\"}}, \"scenes\": [{{\"nodes\": [0]}}], \"nodes\": [{{\"mesh\": 0}}], \
             \"meshes\": [{{\"primitives\": [{{\"attributes\": {{\"POSITION\": 0}}}}]}}], \"accessors\": \
             [{{\"bufferView\": 0, \"componentType\": 5126, \"count\": 3, \"type\": \"VEC3\", \"min\": [0, 0, 0], \
             \"max\": [1, 1, 1]}}], \"bufferViews\": [{{\"buffer\": 0, \"byteLength\": 36}}], \"buffers\": \
             [{{\"uri\": \"{uri}\", \"byteLength\": 36}}]}}"
        )
    };
    folder.file("up.gltf", &gltf("../../../../etc/passwd"));
    folder.file("root.gltf", &gltf("/etc/passwd"));
    for (mesh, words) in [
        ("billion.stl", "promises 1000000000 triangles"),
        ("entity.dae", "DTD"),
        ("up.gltf", "outside of the mesh's package"),
        ("root.gltf", "no path relative to the mesh"),
    ] {
        for tag in ["collision", "visual"] {
            let robot = format!(
                "<robot name=\"r\"><link name=\"a\"><{tag}><geometry><mesh filename=\"{mesh}\"/></geometry></{tag}>\
                 </link></robot>"
            );
            folder.file("r.urdf", &robot);
            let text = "models: {r: {urdf: r.urdf}}\n";
            let said = match Scene::parse(text, "scene.yml", "scene", &folder.0, &[]) {
                Err(error) if tag == "collision" => error.to_string(),
                Ok(scene) if tag == "visual" => scene.warnings.join("; "),
                other => panic!("{mesh} {tag}: {other:?}"),
            };
            assert!(said.contains(mesh) && said.contains(words), "{tag}: {said}");
        }
    }
}

/// Ten thousand links: a scene if few of them move, an error if there are more dofs than a step
/// supports.
#[test]
fn a_robot_of_ten_thousand_links_is_read_or_refused() {
    use std::fmt::Write as _;
    let folder = Folder::new("ten-thousand");
    let robot = |moving: usize| {
        let mut robot = String::from("<robot name=\"r\"><link name=\"l0\"/>");
        for k in 1..10_000 {
            let (parent, kind) = ((k - 1) / 2, if k <= moving { "continuous" } else { "fixed" });
            let _ = write!(
                robot,
                "<link name=\"l{k}\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" \
                 iyz=\"0\"/></inertial></link><joint name=\"j{k}\" type=\"{kind}\"><parent link=\"l{parent}\"/><child \
                 link=\"l{k}\"/><axis xyz=\"0 0 1\"/></joint>"
            );
        }
        robot + "</robot>"
    };
    let start = std::time::Instant::now();
    folder.file("r.urdf", &robot(1_500));
    let scene = Scene::load(folder.0.join("r.urdf")).unwrap();
    assert_eq!(scene.system.model().n_v(), 1_500);
    folder.file("r.urdf", &robot(9_999));
    let error = Scene::load(folder.0.join("r.urdf")).unwrap_err().to_string();
    assert!(
        error.contains("9999 dofs") && error.contains("`r/l0`") && error.contains("2000"),
        "{error}"
    );
    // takes some seconds on an idle machine
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}
