//! Scenes as MJCF files, checked with the MJCF reader.

use quasistep::{Role, System};
use quasistep_scene::Scene;
use std::path::Path;
use testkit::{scene, scene_files};

/// Writes a scene and reads it again. MuJoCo uses the larger of two friction coefficients.
fn there_and_back(scene: &Scene, folder: &Path) -> Scene {
    let name = scene.name.replace('/', "_");
    std::fs::write(folder.join(format!("{name}.xml")), scene.to_mjcf().text).unwrap();
    let text = format!("models: {{read: {{mjcf: {name}.xml}}}}\nfriction: {{rule: maximum}}\n");
    Scene::parse(&text, "read.yml", "read", folder, &[])
        .unwrap_or_else(|e| panic!("{}: {e}", scene.name))
}

/// Index of the file's body with this name in the scene.
fn body(system: &System, name: &str) -> usize {
    let bodies = system.model().bodies();
    let found = bodies.iter().position(|b| b.name.split_once('/').is_some_and(|(_, n)| n == name));
    found.unwrap_or_else(|| panic!("no body `{name}`"))
}

#[test]
fn the_reader_of_mjcf_finds_what_was_written() {
    let folder = std::env::temp_dir().join(format!("quasistep-to-mjcf-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut pairs = 0;
    for name in scene_files().into_iter().filter(|name| !name.contains("million")) {
        let ours = scene(&name, &[]);
        let read = there_and_back(&ours, &folder);
        let (a, b) = (&ours.system, &read.system);
        let (mut kin_a, mut kin_b) = (a.model().create_kinematics(), b.model().create_kinematics());
        a.model().kinematics(&ours.start.q, &mut kin_a);
        b.model().kinematics(&read.start.q, &mut kin_b);
        for index in 1..a.model().n_bodies() {
            let own = a.model().body(index);
            let other = body(b, &own.name);
            let (X, Y) = (kin_a.X_WB[index], kin_b.X_WB[other]);
            let apart = (X.translation - Y.translation).norm();
            let turned = (X.rotation.inverse() * Y.rotation).to_rotation_vector().norm();
            assert!(apart < 1e-9 && turned < 1e-9, "{name}: {}: {apart} m, {turned}", own.name);
            let (m, n) = (own.inertia.mass, b.model().body(other).inertia.mass);
            assert!((m - n).abs() <= 1e-9 * m.max(10.0), "{name}: {}: {m} and {n} kg", own.name);
        }
        let pulls = |s: &System| s.pads().iter().map(|pad| pad.pull).collect::<Vec<f64>>();
        assert_eq!(pulls(a), pulls(b), "{name}");
        let stiffness = |system: &System| -> f64 {
            let of = |role: &Role| match role {
                Role::Actuated(actuator) if actuator.stiffness.len() != 6 => {
                    actuator.stiffness.iter().sum()
                }
                _ => 0.0,
            };
            system.roles().iter().map(of).sum()
        };
        if ours.system.roles().iter().all(|role| *role != Role::Prescribed) {
            let (k, l) = (stiffness(a), stiffness(b));
            assert!((k - l).abs() <= 1e-9 * k, "{name}: {k} and {l} N/m");
        }
        // friction of each pair, by names of its shapes
        let index = |geom: &str| {
            b.geoms().iter().position(|g| g.name.ends_with(&format!("/{geom}")) || g.name == geom)
        };
        for i in 0..a.geoms().len().min(40) {
            for j in (i + 1..a.geoms().len().min(40)).filter(|&j| a.may_touch(i, j)) {
                let places = [i, j].map(|k| index(&a.geoms()[k].name));
                let [Some(i_b), Some(j_b)] = places else { continue };
                let (mu, nu) = (a.friction(i, j).mu, b.friction(i_b, j_b).mu);
                assert!(b.may_touch(i_b, j_b) && (mu - nu).abs() < 1e-12, "{name}: {mu} and {nu}");
                pairs += 1;
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    assert!(pairs > 500, "{pairs}");
}

#[test]
fn what_has_no_counterpart_is_told() {
    let lost = scene("bunny_grasp", &[]).to_mjcf().lost.join("\n");
    assert!(lost.contains("a point cloud: not written"), "{lost}");
    let lost = scene("door", &[]).to_mjcf().lost.join("\n");
    assert!(lost.contains("external wrenches") || lost.contains("without a mass"), "{lost}");
}

/// A box of 0.5 kg that rubs on a table with mu 0.3 takes 1.47 N along x or y, and 0.068 N·m to turn.
#[test]
fn a_support_becomes_friction_of_joints() {
    let written = scene("push_around", &[]).to_mjcf();
    let load = 0.3 * 0.5 * 9.81;
    for (joint, most) in [("x", load), ("y", load), ("theta", 0.046 * load)] {
        let line = written.text.lines().find(|line| line.contains(&format!("\"box.{joint}\"")));
        let line = line.unwrap();
        let told = line.split("frictionloss=\"").nth(1).and_then(|rest| rest.split('"').next());
        let told: f64 = told.unwrap_or_else(|| panic!("{line}")).parse().unwrap();
        assert!((told - most).abs() < 1e-12, "{line}");
    }
    let lost = written.lost.join("\n");
    assert!(lost.contains("rubs along x, y and about z each by itself"), "{lost}");
}

/// MuJoCo makes contacts of a link rigid whose centre of mass is on the axis of its joint. The corners
/// of the hull say where it is, for its frame is on the axis.
#[test]
fn massless_links_have_their_centres_at_their_shapes() {
    let hull = "models: {arm: {joint: [{hinge: z, axis: [0, 0, 1], stiffness: 10}], \
        shape: {points: [[0.1, 0, 0], [0.3, 0, 0], [0.2, 0.1, 0], [0.2, 0, 0.1]]}}}";
    let hull = Scene::parse(hull, "hull.yml", "hull", Path::new("."), &[]).unwrap();
    for (text, body, expected) in [
        (scene("turn_disc", &[]).to_mjcf().text, "arm_0/upper", [0.0, 0.035, 0.0]),
        (hull.to_mjcf().text, "arm/arm", [0.2, 0.05, 0.05]),
    ] {
        let link = text.split(&format!("<body name=\"{body}\"")).nth(1).unwrap();
        let place = link.split("<inertial pos=\"").nth(1).unwrap().split('"').next().unwrap();
        let place: Vec<f64> = place.split(' ').map(|x| x.parse().unwrap()).collect();
        assert!(place.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-9), "{place:?}");
    }
}
