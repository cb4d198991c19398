//! URDF robots in a scene.

use quasistep::Role;
use quasistep_math::Vec3;
use quasistep_record::ShapeRole;
use quasistep_scene::{Scene, SceneError};
use std::path::PathBuf;

/// A separate folder for each test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("quasistep-robots-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn scene(&self, urdf: &str, scene: &str) -> Result<Scene, SceneError> {
        std::fs::write(self.0.join("r.urdf"), urdf).unwrap();
        Scene::parse(scene, "scene.yml", "scene", &self.0, &[])
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Three joints, one of them fixed and one a mimic joint, all with damping in the file.
const ARM: &str = r#"<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0.1 0 0" rpy="0 0 1.5707963267948966"/><mass value="2"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial>
    <collision><origin xyz="0.2 0 0"/><geometry><box size="0.4 0.1 0.1"/></geometry></collision>
  </link>
  <link name="plate"/>
  <link name="hand"/>
  <joint name="shoulder" type="revolute">
    <origin xyz="0 0 0.5" rpy="0 0 0"/><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="30" velocity="1"/><dynamics damping="0.5"/>
  </joint>
  <joint name="weld" type="fixed"><parent link="upper"/><child link="plate"/></joint>
  <joint name="wrist" type="continuous">
    <parent link="plate"/><child link="hand"/><axis xyz="0 0 1"/><mimic joint="shoulder" multiplier="2"/>
  </joint>
</robot>"#;

/// Links without shapes that are fixed or end a chain are named frames of recordings, and so is a frame that a spring
/// pulls at a place of its own.
#[test]
fn recordings_have_the_named_frames() {
    let folder = Folder::new("frames");
    let spring =
        "{frame: upper, name: tool, at: {xyz: [0.4, 0, 0]}, stiffness: [1, 1, 1, 1, 1, 1]}";
    let text = format!("models:\n  arm: {{urdf: r.urdf, cartesian_stiffness: [{spring}]}}\n");
    let scene = folder.scene(ARM, &text).unwrap_or_else(|e| panic!("{e}"));
    let recording = scene.empty_recording(&scene.params);
    let frames: Vec<_> = recording.named_frames.iter().map(|f| (&f.name[..], f.body)).collect();
    assert_eq!(frames, [("arm/base", 1), ("arm/plate", 3), ("arm/hand", 4), ("arm/tool", 2)]);
    assert_eq!(recording.named_frames[3].X_BF.translation, Vec3::new(0.4, 0.0, 0.0));
}

#[test]
fn a_star_drives_every_joint_that_can_be_driven() {
    let folder = Folder::new("star");
    let text = "models:\n  arm: {urdf: r.urdf, joints: {\"*\": {stiffness: 100, start: 0.5}}}\n";
    let scene = folder.scene(ARM, text).unwrap_or_else(|e| panic!("{e}"));
    let model = scene.system.model();
    assert_eq!(model.coordinate_names(), ["arm.shoulder"]);
    assert_eq!(scene.start.q, [0.5]);
    let driven = scene.system.roles().iter().filter(|r| **r != Role::Passive).count();
    assert_eq!(driven, 1);
    let shoulder = model.joint_by_name("arm.shoulder").unwrap();
    let Role::Actuated(drive) = &scene.system.roles()[shoulder] else { panic!("no drive") };
    assert_eq!(drive.effort_limit, [30.0]);
    let upper = model.body(shoulder);
    assert_eq!(upper.limits, Some([-1.0, 2.0]));
    // the inertia's axes are rotated by 90° about z: x and y are exchanged
    let moments = upper.inertia.inertia.rows;
    assert!((moments[0].x - 0.02).abs() < 1e-15 && (moments[1].y - 0.01).abs() < 1e-15);
    assert_eq!(upper.inertia.com, Vec3::new(0.1, 0.0, 0.0));
    // damping in the file is reported, not silently used
    let warnings = scene.warnings.join("; ");
    assert!(warnings.contains("r.urdf:10") && warnings.contains("`damping`"), "{warnings}");
}

#[test]
fn limits_of_the_file_can_be_replaced_or_dropped() {
    let folder = Folder::new("limits");
    let drive = |settings: &str| {
        let text = format!(
            "models:\n  arm: {{urdf: r.urdf, joints: {{shoulder: {{stiffness: 1, {settings}}}}}}}\n"
        );
        let scene = folder.scene(ARM, &text).unwrap_or_else(|e| panic!("{e}"));
        let shoulder = scene.system.model().joint_by_name("arm.shoulder").unwrap();
        let Role::Actuated(drive) = scene.system.roles()[shoulder].clone() else { panic!() };
        (drive.effort_limit[0], scene.system.model().body(shoulder).limits)
    };
    assert_eq!(drive("effort_limit: none, limits: none"), (f64::INFINITY, None));
    assert_eq!(drive("effort_limit: 5, limits: [0, 1]"), (5.0, Some([0.0, 1.0])));
}

#[test]
fn the_root_stands_where_the_scene_says() {
    let folder = Folder::new("root");
    let root = |keys: &str| {
        folder.scene(ARM, &format!("models:\n  arm: {{urdf: r.urdf, {keys}}}\n")).unwrap()
    };
    let fixed = root("pose: {xyz: [1, 2, 3]}");
    let model = fixed.system.model();
    let mut kin = model.create_kinematics();
    model.kinematics(&fixed.start.q, &mut kin);
    let upper = model.body_by_name("arm/upper").unwrap();
    assert_eq!(kin.X_WB[upper].translation, Vec3::new(1.0, 2.0, 3.5));
    let free = root("joint: free, pose: {xyz: [1, 2, 3]}");
    assert_eq!(free.start.q, [1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.0]);
    assert_eq!(free.system.model().coordinate_names()[4], "arm.x");
    let planar = root("joint: planar, start: [1, 2, 0.5]");
    assert_eq!(planar.start.q, [1.0, 2.0, 0.5, 0.0]);
}

#[test]
fn a_robot_stands_on_another() {
    let folder = Folder::new("parent");
    let text = "models:\n  a: {urdf: r.urdf}\n  b: {urdf: r.urdf, parent: a/hand}\n";
    let scene = folder.scene(ARM, text).unwrap();
    let model = scene.system.model();
    let (hand, base) =
        (model.body_by_name("a/hand").unwrap(), model.body_by_name("b/base").unwrap());
    assert_eq!(model.body(base).parent, hand);
    let text = "models:\n  b: {urdf: r.urdf, parent: a/hnd}\n  a: {urdf: r.urdf}\n";
    let error = folder.scene(ARM, text).unwrap_err().to_string();
    assert!(error.starts_with("scene.yml:2: models.b.parent: unknown body `a/hnd`"), "{error}");
}

/// Some files use Drake's tags without declaring their prefix, and meshes that only renderers read.
#[test]
fn tags_and_meshes_of_other_programs_are_tolerated() {
    let folder = Folder::new("drake");
    std::fs::write(folder.0.join("look.dae"), "<COLLADA/>").unwrap();
    let urdf = r#"<robot name="r">
  <link name="pad">
    <visual><geometry><mesh filename="look.dae"/></geometry></visual>
    <collision><geometry><capsule radius="0.1" length="0.4"/></geometry>
      <drake:proximity_properties><drake:mu_static value="0.7"/></drake:proximity_properties>
    </collision>
  </link>
  <transmission name="t"/>
</robot>"#;
    let scene = folder.scene(urdf, "models:\n  r: {urdf: r.urdf}\n").unwrap();
    assert_eq!(scene.system.geoms()[0].surface.mu, 0.7);
    // without a visual the collision shape is drawn
    assert_eq!(scene.drawing.len(), 1);
    assert_eq!(scene.drawing[0].role, ShapeRole::Both);
    assert!(scene.warnings.iter().any(|w| w.contains("look.dae")), "{:?}", scene.warnings);
}

#[test]
fn mistakes_in_a_robot_name_file_and_line() {
    let folder = Folder::new("mistakes");
    let file = folder.0.join("r.urdf").display().to_string();
    let wrong = |from: &str, to: &str, line: usize, words: &[&str]| {
        assert!(ARM.contains(from), "{from}");
        let urdf = ARM.replacen(from, to, 1);
        let error = folder.scene(&urdf, "models:\n  r: {urdf: r.urdf}\n").unwrap_err().to_string();
        assert!(error.starts_with(&format!("{file}:{line}: ")), "{error}");
        for word in words {
            assert!(error.contains(word), "`{error}` does not say `{word}`");
        }
        assert_eq!(error.lines().count(), 1, "{error}");
    };
    wrong("mimic joint=\"shoulder\"", "mimic joint=\"sholder\"", 16, &["did you mean `shoulder`"]);
    wrong("mimic joint=\"shoulder\"", "mimic joint=\"wrist\"", 16, &["`wrist` leads back"]);
    wrong("lower=\"-1\"", "lower=\"3\"", 12, &["lower 3", "upper 2"]);
    wrong("upper=\"2\"", "upper=\"2 rad\"", 12, &["`rad` is no finite number"]);
    wrong("effort=\"30\"", "effort=\"nan\"", 12, &["`nan` is no finite number"]);
    wrong("<axis xyz=\"0 1 0\"/>", "<axis xyz=\"0 0 0\"/>", 11, &["direction"]);
    wrong("size=\"0.4 0.1 0.1\"", "size=\"0.4 0.1\"", 6, &["2 numbers", "must have 3"]);
    wrong("size=\"0.4 0.1 0.1\"", "size=\"0.4 -1 0.1\"", 6, &["≥ 0"]);
    wrong(
        "<box size=\"0.4 0.1 0.1\"/>",
        "<mesh filename=\"no.stl\"/>",
        6,
        &["no.stl", "not exist"],
    );
    wrong("<child link=\"upper\"/>", "<child link=\"uper\"/>", 11, &["did you mean `upper`"]);
    wrong("<mass value=\"2\"/>", "", 4, &["<mass> is missing"]);
}

/// `limits: none` for all joints frees followers too: their limits in the file would still hold their
/// leader. Without a word of the scene they do.
#[test]
fn followers_lose_their_limits_with_all_joints() {
    let folder = Folder::new("followers");
    let link = |name: &str| {
        format!(
            "<link name='{name}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>"
        )
    };
    let joint = |name: &str, child: &str, upper: f64, more: &str| {
        format!(
            "<joint name='{name}' type='prismatic'><parent link='a'/><child link='{child}'/><axis xyz='1 0 0'/>
             <limit lower='0' upper='{upper}' effort='0' velocity='1'/>{more}</joint>"
        )
    };
    let text = [
        "<robot name='r'>".to_owned(),
        link("a") + &link("b") + &link("c"),
        joint("lead", "b", 0.5, ""),
        joint("follow", "c", 0.1, "<mimic joint='lead'/>"),
        "</robot>".to_owned(),
    ];
    std::fs::write(folder.0.join("r.urdf"), text.concat()).unwrap();
    let read = |joints: &str| {
        let text = format!("models: {{r: {{urdf: r.urdf, joints: {{{joints}}}}}}}\n");
        Scene::parse(&text, "scene.yml", "scene", &folder.0, &[]).unwrap()
    };
    let limits = |scene: &Scene| -> Vec<[f64; 2]> {
        scene.system.model().limits().iter().map(|l| [l.lower, l.upper]).collect()
    };
    let kept = read("");
    assert!(limits(&kept).iter().any(|l| l[1] == 0.1), "{:?}", limits(&kept));
    let none = read("\"*\": {stiffness: 10, limits: none}");
    assert!(
        limits(&none).iter().all(|l| *l == [f64::NEG_INFINITY, f64::INFINITY]),
        "{:?}",
        limits(&none)
    );
    let leader = read("lead: {limits: none}");
    assert!(limits(&leader).iter().any(|l| l[1] == 0.1), "{:?}", limits(&leader));
    // an effort of 0 is told once, for the joint that can be driven
    let told: Vec<&String> = kept.warnings.iter().filter(|w| w.contains("effort=\"0\"")).collect();
    assert!(
        told.len() == 1 && told[0].contains("`lead`") && !told[0].contains("`follow`"),
        "{told:?}"
    );
}

/// A mimic joint cannot have a drive of its own, because it has no dof.
#[test]
fn a_mimic_joint_is_driven_by_its_leader_only() {
    let folder = Folder::new("mimic");
    let text = "models:\n  arm:\n    urdf: r.urdf\n    joints:\n      wrist: {stiffness: 5}\n";
    let error = folder.scene(ARM, text).unwrap_err().to_string();
    assert!(error.starts_with("scene.yml:5: models.arm.joints.wrist: "), "{error}");
    assert!(error.contains("mimics another joint"), "{error}");
}

/// `<dynamics>` applies to passive joints; for driven joints the scene defines resistance.
#[test]
fn dynamics_of_the_file_hold_where_nothing_drives() {
    let folder = Folder::new("dynamics");
    let urdf = ARM.replace("damping=\"0.5\"", "damping=\"0.5\" friction=\"0.25\"").replace(
        "multiplier=\"2\"/>",
        "multiplier=\"2\"/><dynamics damping=\"1\" friction=\"3\"/>",
    );
    let resisting = |joints: &str| {
        let text = format!("models:\n  arm: {{urdf: r.urdf, joints: {joints}}}\n");
        let scene = folder.scene(&urdf, &text).unwrap_or_else(|e| panic!("{e}"));
        let model = scene.system.model();
        (model.damping().to_vec(), model.friction().to_vec())
    };
    // the wrist turns twice as fast
    assert_eq!(resisting("{}"), (vec![4.5], vec![6.25]));
    assert_eq!(resisting("{wrist: {damping: 0, friction: 1}}"), (vec![0.5], vec![2.25]));
    assert_eq!(resisting("{shoulder: {damping: 2, friction: 0}}"), (vec![6.0], vec![6.0]));
    assert_eq!(resisting("{\"*\": {stiffness: 9, damping: 7}}"), (vec![0.0], vec![0.0]));
    let driven = "{\"*\": {stiffness: 9, friction: 0.5}, wrist: {friction: 1}}";
    assert_eq!(resisting(driven), (vec![0.0], vec![2.5]));

    let text = "models:\n  arm: {urdf: r.urdf, joints: {weld: {friction: 1}}}\n";
    let why = folder.scene(&urdf, text).err().unwrap().to_string();
    assert!(why.contains("friction was seen on a fixed joint"), "{why}");
    let text = "models:\n  arm: {urdf: r.urdf, joints: {shoulder: {friction: -1}}}\n";
    let why = folder.scene(&urdf, text).err().unwrap().to_string();
    assert!(why.contains("friction") && why.contains("-1"), "{why}");
    let text = "models:\n  arm: {urdf: r.urdf, joints: {shoulder: {friction: [1, 2]}}}\n";
    let why = folder.scene(&urdf, text).err().unwrap().to_string();
    assert!(why.contains("2 values of friction were seen"), "{why}");
}

/// An L-shaped mesh of two boxes, and a box.
const ANGLE: &str = "v 0 0 0\nv 3 0 0\nv 3 0 1\nv 1 0 1\nv 1 0 4\nv 0 0 4\n\
                     v 0 1 0\nv 3 1 0\nv 3 1 1\nv 1 1 1\nv 1 1 4\nv 0 1 4\n\
                     f 1 2 3 4\nf 1 4 5 6\nf 10 9 8 7\nf 12 11 10 7\n\
                     f 2 1 7 8\nf 3 2 8 9\nf 4 3 9 10\nf 5 4 10 11\nf 6 5 11 12\nf 1 6 12 7\n";

fn meshes(folder: &Folder, collision_mesh: &str) -> Result<Scene, SceneError> {
    std::fs::write(folder.0.join("angle.obj"), ANGLE).unwrap();
    let open = ANGLE.replace("f 1 6 12 7\n", "");
    std::fs::write(folder.0.join("open.obj"), open).unwrap();
    let mesh = |name: &str, file: &str| {
        format!(
            "<link name=\"{name}\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" \
             ixz=\"0\" iyz=\"0\"/></inertial><collision><geometry><mesh filename=\"{file}\" scale=\"0.1 0.1 0.1\"/>\
             </geometry></collision></link>"
        )
    };
    let joint = |name: &str, child: &str| {
        format!(
            "<joint name=\"{name}\" type=\"prismatic\"><parent link=\"base\"/><child link=\"{child}\"/><axis xyz=\"1 0 \
             0\"/><limit lower=\"-1\" upper=\"1\" effort=\"1\" velocity=\"1\"/></joint>"
        )
    };
    let robot = format!(
        "<robot name=\"r\"><link name=\"base\"/>{}{}{}{}</robot>",
        mesh("left_hook", "angle.obj"),
        mesh("right_hook", "open.obj"),
        joint("left", "left_hook"),
        joint("right", "right_hook")
    );
    let text = format!(
        "models:\n  arm:\n    urdf: r.urdf\n    joints: {{\"*\": {{stiffness: 9}}}}\n{collision_mesh}"
    );
    folder.scene(&robot, &text)
}

fn shapes_of(scene: &Scene, body: &str) -> usize {
    let model = scene.system.model();
    scene.system.geoms().iter().filter(|g| model.body(g.body).name == body).count()
}

/// The last pattern that matches a link determines how its meshes become convex; a pattern without
/// match is reported.
#[test]
fn collision_meshes_become_parts_by_pattern() {
    let folder = Folder::new("collision-mesh");
    for (key, left, right) in [
        ("", 1, 1),
        ("    collision_mesh: hull\n", 1, 1),
        ("    collision_mesh: split\n", 2, 2),
        ("    collision_mesh: {parts: split, tolerance: 0.001}\n", 2, 2),
        ("    collision_mesh: {\"*\": split, right_*: hull}\n", 2, 1),
        ("    collision_mesh: {left_hook: {parts: split, tolerance: 0.5}, right_*: split}\n", 1, 2),
    ] {
        let scene = meshes(&folder, key).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(shapes_of(&scene, "arm/left_hook"), left, "{key}");
        // the region behind its hole counts as outside, and needs more parts
        assert_eq!(shapes_of(&scene, "arm/right_hook").min(2), right, "{key}");
        assert!(scene.warnings.is_empty(), "{:?}", scene.warnings);
    }
    let split = meshes(&folder, "    collision_mesh: split\n").unwrap();
    let note = |body: &str| {
        let own = split.notes.iter().find(|note| note.starts_with(body));
        own.unwrap_or_else(|| panic!("{:?}", split.notes)).clone()
    };
    let left = note("arm/left_hook: ");
    assert!(
        left.contains("angle.obj is 2 convex parts, which stand out of the mesh by at most"),
        "{left}"
    );
    assert!(!left.contains("open"), "{left}");
    // the surface has a hole, but inside and outside are still distinguished
    assert!(
        note("arm/right_hook: ").contains("its surface is open at 4 edges"),
        "{:?}",
        split.notes
    );
    // the mass is that of the robot's file
    assert_eq!(split.system.model().body(2).inertia.mass, 1.0);

    let scene =
        meshes(&folder, "    collision_mesh:\n      \"*hand\": split\n      base: hull\n").unwrap();
    assert_eq!(scene.warnings.len(), 2);
    for (k, pattern) in ["*hand", "base"].iter().enumerate() {
        let start = format!("scene.yml:{}: collision_mesh: `{pattern}` fits no link", k + 6);
        assert!(scene.warnings[k].starts_with(&start), "{:?}", scene.warnings);
        assert!(scene.warnings[k].contains("`left_hook`, `right_hook`"));
    }
}

#[test]
fn mistakes_in_collision_mesh_say_what_is_valid() {
    let folder = Folder::new("collision-mesh-mistakes");
    for (value, place, words) in [
        ("boxes", "", &["boxes", "hull", "groups", "split"][..]),
        ("{}", "", &["empty", "split"]),
        ("{left_hook: boxes}", ".left_hook", &["boxes", "hull"]),
        ("{left_hook: {tolerance: 0.1}}", ".left_hook.tolerance", &["parts: split"]),
        ("{left_hook: {parts: split, tolerance: 0}}", ".left_hook.tolerance", &["> 0 m"]),
        ("{left_hook: {parts: split, tol: 0}}", ".left_hook.tol", &["tol", "tolerance"]),
        ("{left_hook: {simplify: -1}}", ".left_hook.simplify", &["≥ 0 m"]),
        ("{tolerance: 0.1}", ".tolerance", &["parts: split"]),
        ("[split]", "", &["a list of 1", "give a text"]),
    ] {
        let error = match meshes(&folder, &format!("    collision_mesh: {value}\n")) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{value}"),
        };
        assert!(
            error.starts_with(&format!("scene.yml:5: models.arm.collision_mesh{place}: ")),
            "{error}"
        );
        for word in words {
            assert!(error.contains(word), "`{word}` in: {error}");
        }
    }
}
