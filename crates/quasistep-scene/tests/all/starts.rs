//! Starts of whole models: postures of their files, and poses of frames.

use crate::common::{Folder, everywhere, frames, place};
use quasistep_record::Frame;
use quasistep_scene::{Scene, SceneError, first_scene_of_model};

/// An arm of two links in a plane, each 1 m long at scale 1, on a turning base; and a finger.
fn arm(scale: f64) -> String {
    let link = |name: &str| {
        let half = 0.5 * scale;
        let moment = scale * scale;
        format!(
            r#"<link name="{name}"><inertial><origin xyz="{half} 0 0"/><mass value="1"/>
              <inertia ixx="{moment}" ixy="0" ixz="0" iyy="{moment}" iyz="0" izz="{moment}"/></inertial>
              <collision><origin xyz="{half} 0 0"/><geometry><box size="{scale} {w} {w}"/></geometry></collision></link>"#,
            w = 0.1 * scale
        )
    };
    let joint = |name: &str, parent: &str, child: &str, x: f64, axis: &str| {
        format!(
            r#"<joint name="{name}" type="revolute"><origin xyz="{x} 0 0"/><parent link="{parent}"/><child link="{child}"/>
              <axis xyz="{axis}"/><limit lower="-3" upper="3" effort="0" velocity="1"/></joint>"#,
        )
    };
    [
        "<robot name=\"arm\"><link name=\"base\"/><link name=\"column\"/><link name=\"hand\"/>".into(),
        link("upper"),
        link("lower"),
        joint("turn", "base", "column", 0.0, "0 0 1"),
        joint("shoulder", "column", "upper", 0.0, "0 1 0"),
        joint("elbow", "upper", "lower", scale, "0 1 0"),
        format!(
            "<joint name=\"weld\" type=\"fixed\"><origin xyz=\"{scale} 0 0\"/><parent link=\"lower\"/><child link=\"hand\"/></joint>"
        ),
        "</robot>".into(),
    ]
    .concat()
}

const SRDF: &str = r#"<robot name="arm">
  <group_state name="home" group="arm">
    <joint name="shoulder" value="-1.2"/><joint name="elbow" value="0.5"/>
  </group_state>
  <group_state name="home" group="base"><joint name="turn" value="0.25"/></group_state>
  <group_state name="high" group="arm"><joint name="shoulder" value="-1.5"/><joint name="rail" value="1"/></group_state>
  <disable_collisions link1="base" link2="lower"/>
</robot>"#;

fn folder(scale: f64) -> Folder {
    let folder = Folder::new("starts");
    folder.file("arm.urdf", &arm(scale)).file("arm.srdf", SRDF);
    folder
}

fn scene(folder: &Folder, of_arm: &str, rest: &str) -> Result<Scene, SceneError> {
    let text = format!(
        "models:\n  arm:\n    urdf: arm.urdf\n    gravity: false\n    joints: {{\"*\": {{stiffness: 100}}}}\n    {of_arm}\n{rest}"
    );
    Scene::parse(&text, "scene.yml", "scene", &folder.0, &[])
}

fn error(folder: &Folder, of_arm: &str) -> String {
    scene(folder, of_arm, "").expect_err("a mistake").to_string()
}

#[test]
fn a_robot_starts_in_a_posture_of_its_srdf_file() {
    let folder = folder(1.0);
    let read = |start: &str| scene(&folder, start, "").unwrap_or_else(|e| panic!("{e}"));
    let home = read("start: {posture: home}");
    // all groups have their part of a posture
    assert_eq!(home.start.q, [0.25, -1.2, 0.5]);
    assert!(home.warnings.iter().any(|w| w.contains("`rail`: in group_state")));
    // later postures go over earlier ones
    assert_eq!(read("start: {posture: [home, high]}").start.q, [0.25, -1.5, 0.5]);
    // the file is where the scene says, too
    std::fs::rename(folder.0.join("arm.srdf"), folder.0.join("other.srdf")).unwrap();
    assert_eq!(read("srdf: other.srdf\n    start: {posture: home}").start.q, home.start.q);
    let missing = error(&folder, "start: {posture: home}");
    assert!(missing.starts_with("scene.yml:6: models.arm.start.posture: "), "{missing}");
    assert!(missing.contains("no `arm.srdf` beside") && missing.contains("`srdf`"), "{missing}");
    // or in a folder of this name
    std::fs::create_dir_all(folder.0.join("srdf")).unwrap();
    std::fs::rename(folder.0.join("other.srdf"), folder.0.join("srdf/arm.srdf")).unwrap();
    assert_eq!(read("start: {posture: home}").start.q, home.start.q);
}

/// A posture says less of a joint than the scene does.
#[test]
fn starts_of_joints_go_over_a_posture() {
    let folder = folder(1.0);
    let text =
        "models:\n  arm: {urdf: arm.urdf, start: {posture: home}, joints: {elbow: {start: 1}}}\n";
    let scene = Scene::parse(text, "scene.yml", "scene", &folder.0, &[]).unwrap();
    assert_eq!(scene.start.q, [0.25, -1.2, 1.0]);
    let free = "models:\n  arm: {urdf: arm.urdf, joint: free, pose: {xyz: [0, 0, 2]}, start: {posture: home}}\n";
    let scene = Scene::parse(free, "scene.yml", "scene", &folder.0, &[]).unwrap();
    assert_eq!(scene.start.q, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.25, -1.2, 0.5]);
}

#[test]
fn mistakes_in_a_posture_say_what_there_is() {
    let folder = folder(1.0);
    let unknown = error(&folder, "start: {posture: hone}");
    assert_eq!(
        unknown,
        "scene.yml:6: models.arm.start.posture: unknown posture `hone`; did you mean `home`? valid: `high` or `home`"
    );
    let alone = error(&folder, "start: {posture: home, pose: {xyz: [0, 0, 1]}}");
    assert!(alone.contains("start.pose: it was seen without a `frame`"), "{alone}");
    let value = SRDF.replace("-1.2", "up");
    folder.file("arm.srdf", &value);
    let value = error(&folder, "start: {posture: home}");
    assert!(value.contains("arm.srdf:3") && value.contains("value: `up` was seen"), "{value}");
    let inline =
        "models:\n  ball: {mass: 1, shape: {sphere: {radius: 1}}, start: {posture: home}}\n";
    let inline =
        Scene::parse(inline, "scene.yml", "scene", &folder.0, &[]).unwrap_err().to_string();
    assert!(inline.contains("start.posture: a posture was seen at a model without"), "{inline}");
}

/// `start: {posture: NAME}` and `keyframe: NAME` are one thing for MJCF.
#[test]
fn keyframes_are_postures() {
    let folder = Folder::new("keyframes");
    folder.file(
        "m.xml",
        r#"<mujoco><worldbody><body><joint name="x" type="slide" axis="1 0 0"/><geom size="0.1"/></body></worldbody>
           <actuator><position joint="x" kp="10"/></actuator>
           <keyframe><key name="a" qpos="0.1" ctrl="0.1"/><key name="b" qpos="0.3" ctrl="0.3"/></keyframe></mujoco>"#,
    );
    let read = |key: &str| {
        let text = format!("models:\n  m: {{mjcf: m.xml, {key}}}\n");
        Scene::parse(&text, "scene.yml", "scene", &folder.0, &[])
    };
    let [posture, keyframe] = ["start: {posture: b}", "keyframe: b"].map(|k| read(k).unwrap());
    assert_eq!(posture.start.q, [0.3]);
    assert_eq!(posture.start, keyframe.start);
    let unknown = read("start: {posture: c}").unwrap_err().to_string();
    assert!(
        unknown.contains("unknown keyframe `c`") && unknown.contains("`a` or `b`"),
        "{unknown}"
    );
    let both = read("keyframe: a, start: {posture: b}").unwrap_err().to_string();
    assert!(both.contains("give one of them"), "{both}");
}

fn pose_of(scene: &Scene, body: &str) -> ([f64; 3], [f64; 3]) {
    let model = scene.system.model();
    let mut kin = model.create_kinematics();
    model.kinematics(&scene.start.q, &mut kin);
    let X = kin.X_WB[model.body_by_name(body).unwrap()];
    (X.translation.to_array(), X.rotation.to_rpy())
}

/// The hand starts where the scene says, and stays there: its springs pull to the start.
#[test]
fn a_hand_starts_at_its_pose() {
    for scale in [1.0, 1e3, 1e-3] {
        let folder = folder(scale);
        let [x, y, z] = [1.1 * scale, 0.3 * scale, 0.4 * scale];
        let start = format!(
            "start: {{frame: hand, pose: {{xyz: [{x}, {y}, {z}]}}, orientation: free, posture: home}}"
        );
        // the mark is placed by the box of the link that inverse kinematics has moved
        let mark = format!(
            "  mark: {{joint: fixed, pose: {{xyz: [0, 0, arm.lower.max_z]}}, shape: {{sphere: {{radius: {}}}}}}}\n",
            1e-3 * scale
        );
        let scene = scene(&folder, &start, &mark).unwrap_or_else(|e| panic!("{e}"));
        let (hand, _) = pose_of(&scene, "arm/hand");
        let off = |p: [f64; 3]| {
            p.iter().zip([x, y, z]).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt() / scale
        };
        assert!(off(hand) < 1e-5, "{scale}: {hand:?}");
        let lower = scene.system.geoms().iter().find(|g| g.name.contains("lower")).unwrap();
        let model = scene.system.model();
        let mut kin = model.create_kinematics();
        model.kinematics(&scene.start.q, &mut kin);
        let top = lower.shape.aabb(&(kin.X_WB[lower.body] * lower.X_BG)).max.z;
        let (mark, _) = pose_of(&scene, "mark/mark");
        assert!((mark[2] - top).abs() < 1e-12 * scale, "{}: {top}", mark[2]);
        for changes in everywhere() {
            let changes = changes.map(|(k, v)| (k.to_owned(), v.to_owned()));
            let changed = scene.with_changes(&changes).unwrap();
            let changed = changed.with_changes(&[("step.duration".into(), "0.2".into())]).unwrap();
            let all = frames(&changed);
            let end = place(&changed, &all[all.len() - 1], "arm/hand");
            assert!(off(end) < 1e-5, "{scale}, {changes:?}: {end:?}");
        }
    }
}

/// Parts of the pose that the scene leaves out stay, and so does what names none of its joints.
#[test]
fn parts_of_a_pose_stay() {
    let folder = folder(1.0);
    let home = scene(&folder, "start: {posture: home}", "").unwrap();
    let (p, rpy) = pose_of(&home, "arm/hand");
    let same = scene(&folder, "start: {posture: home, frame: arm/hand, pose: {}}", "").unwrap();
    let (q, turned) = pose_of(&same, "arm/hand");
    for (a, b) in p.iter().chain(&rpy).zip(q.iter().chain(&turned)) {
        assert!((a - b).abs() < 1e-6, "{p:?} {rpy:?}: {q:?} {turned:?}");
    }
    // `at` is a place on the body
    let at = "start: {posture: home, frame: lower, at: {xyz: [1, 0, 0]}, pose: {xyz: [1.2, 0, 0.2]}, orientation: free}";
    let at = scene(&folder, at, "").unwrap();
    let (p, _) = pose_of(&at, "arm/hand");
    assert!((p[0] - 1.2).abs() < 1e-5 && p[1].abs() < 1e-5 && (p[2] - 0.2).abs() < 1e-5, "{p:?}");
}

/// Both arms of two robots, and copies of one, start by poses of their own.
#[test]
fn each_robot_starts_at_its_own_pose() {
    let folder = folder(1.0);
    let text = "models:\n  arm:\n    urdf: arm.urdf\n    repeat: {count: 2}\n    pose: {xyz: [\"3*i\", 0, 0]}\n    \
                joints: {\"*\": {stiffness: 100}}\n    \
                start: {posture: home, frame: hand, pose: {xyz: [\"3*i + 1\", 0.2, 0.5]}, orientation: free}\n";
    let scene =
        Scene::parse(text, "scene.yml", "scene", &folder.0, &[]).unwrap_or_else(|e| panic!("{e}"));
    for (k, x) in [(0, 1.0), (1, 4.0)] {
        let (p, _) = pose_of(&scene, &format!("arm_{k}/hand"));
        assert!((p[0] - x).abs() < 1e-5 && (p[1] - 0.2).abs() < 1e-5, "{p:?}");
    }
}

#[test]
fn a_pose_out_of_reach_names_the_nearest_one() {
    let folder = folder(1.0);
    let far = error(&folder, "start: {frame: hand, pose: {xyz: [3, 0, 0]}, orientation: free}");
    assert!(
        far.starts_with("scene.yml:6: models.arm.start.pose: `arm/hand` does not reach"),
        "{far}"
    );
    assert!(far.contains("the nearest pose reached is {xyz: [2, 0, 0]}"), "{far}");
    let unknown = error(&folder, "start: {frame: hnad, pose: {}}");
    assert!(unknown.starts_with("scene.yml:6: models.arm.start.frame: unknown body"), "{unknown}");
    let base = error(&folder, "start: {frame: base, pose: {}}");
    assert!(base.contains("start.frame: ") && base.contains("no driven joint"), "{base}");
    let text = "models:\n  arm:\n    urdf: arm.urdf\n    start: {frame: hand, pose: {}}\n";
    let passive = Scene::parse(text, "scene.yml", "scene", &folder.0, &[]).unwrap_err().to_string();
    assert!(passive.contains("no driven joint"), "{passive}");
}

/// The outline has poses as scenes take them.
#[test]
fn the_outline_has_poses_to_start_from() {
    let folder = folder(1.0);
    let scene = scene(&folder, "start: {posture: home}", "").unwrap();
    let outline = scene.outline();
    let hand = outline.lines().find(|line| line.trim().starts_with("arm/hand: ")).unwrap();
    let (_, pose) = hand.split_once(" at ").unwrap();
    // links of 1 m at 1.2 and 0.7 rad above the horizon, turned by 0.25 rad
    assert_eq!(pose, "{xyz: [1.092, 0.2789, 1.576], rpy: [0, -0.7, 0.25]}");
    let again = format!("start: {{posture: home, frame: hand, pose: {pose}, orientation: free}}");
    let again = crate::starts::scene(&folder, &again, "").unwrap_or_else(|e| panic!("{e}"));
    for (a, b) in again.start.q.iter().zip(&scene.start.q) {
        assert!((a - b).abs() < 2e-3, "{:?}", again.start.q);
    }
    // small robots have as many digits
    let small = crate::starts::folder(1e-3);
    let small = crate::starts::scene(&small, "start: {posture: home}", "").unwrap().outline();
    assert!(small.contains("at {xyz: [0.001092, 0.0002789, 0.001576], rpy"), "{small}");
}

/// The first scene of a robot starts in a posture of its SRDF file, stands on a floor that only the
/// base may touch, and has a box that stays where it stands.
#[test]
fn a_first_scene_of_a_robot_runs() {
    for scale in [1.0, 1e3, 1e-3] {
        let folder = folder(scale);
        let write = || {
            let text = first_scene_of_model(&folder.0.join("arm.urdf"), &folder.0).unwrap();
            let scene = Scene::parse(&text, "arm.yml", "arm", &folder.0, &[]);
            (text.clone(), scene.unwrap_or_else(|e| panic!("{e}\n{text}")))
        };
        let (text, scene) = write();
        assert_eq!(scene.start.q[..3], [0.25, -1.2, 0.5]);
        assert_eq!(scene.facts.len(), 1);
        let nearest = &scene.pairs_at_start().unwrap()[0];
        assert!(nearest.distance.abs() < 1e-9 * scale, "{nearest:?}");
        for changes in everywhere() {
            let changes = changes.map(|(k, v)| (k.to_owned(), v.to_owned()));
            let short = [("step.duration".into(), "0.2".into())];
            let changed = scene.with_changes(&changes).unwrap().with_changes(&short).unwrap();
            let all = frames(&changed);
            let before = pose_of(&scene, "box/box").0;
            let after = place(&changed, &all[all.len() - 1], "box/box");
            for (a, b) in before.iter().zip(after) {
                assert!((a - b).abs() < 1e-4 * scale, "{changes:?}: {before:?} {after:?}");
            }
        }
        // the command of a frame, without the marks of a comment, in place of the joint's
        let (head, commands) = text.split_once("commands:\n").unwrap();
        let (_, frame) = commands.split_once("  # - frame").unwrap();
        let frame = format!("{head}commands:\n  - frame{}", frame.replace("  # ", "  "));
        let frame = frame.split("facts:").next().unwrap();
        let scene = Scene::parse(frame, "arm.yml", "arm", &folder.0, &[]);
        let scene = scene.unwrap_or_else(|e| panic!("{e}\n{frame}"));
        // after one second it is elsewhere; after two it is back, but for what the springs lag behind
        // a motion of 6 × 0.16 m/s²: dampers and drag have about 8 N·m·s/rad, springs 100 N·m/rad
        let all = frames(&scene);
        let before = pose_of(&scene, "arm/hand").0;
        let off = |frame: &Frame| {
            let now = place(&scene, frame, "arm/hand");
            now.iter().zip(before).map(|(a, b)| (a - b).abs() / scale).fold(0.0, f64::max)
        };
        let [there, back] = [all.len() / 2, all.len() - 1].map(|k| off(&all[k]));
        assert!(there > 0.1 && back < 7e-3, "{there} {back}");
        // without postures joints start off their limits, a tenth of their range
        std::fs::remove_file(folder.0.join("arm.srdf")).unwrap();
        let limits = arm(scale).replacen("lower=\"-3\" upper=\"3\"", "lower=\"-4\" upper=\"0\"", 1);
        folder.file("arm.urdf", &limits);
        let (text, scene) = write();
        assert_eq!(scene.start.q[..3], [-0.4, 0.0, 0.0], "{text}");
    }
}

/// The file by itself has neither box nor posture.
#[test]
fn a_robot_by_itself_is_no_more_than_that() {
    let folder = folder(1.0);
    let scene = Scene::load(folder.0.join("arm.urdf")).unwrap();
    assert_eq!((scene.start.q.as_slice(), scene.facts.len()), ([0.0; 3].as_slice(), 0));
    assert!(scene.system.model().body_by_name("box/box").is_none());
}
