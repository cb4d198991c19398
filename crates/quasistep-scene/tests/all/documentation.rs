//! The pages of the scene format: their examples are valid scenes, and every key is on one of them.

use quasistep_scene::Scene;
use std::path::PathBuf;

const ROBOT: &str = r#"<robot name="r">
  <link name="base"/>
  <link name="column"/>
  <link name="upper"/>
  <link name="lower"/>
  <link name="hand"/>
  <joint name="lift" type="prismatic"><parent link="base"/><child link="column"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="1" effort="50" velocity="1"/></joint>
  <joint name="shoulder" type="continuous"><parent link="column"/><child link="upper"/><axis xyz="0 0 1"/></joint>
  <joint name="elbow" type="revolute"><origin xyz="0.25 0 0"/><parent link="upper"/><child link="lower"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="5" velocity="1"/></joint>
  <joint name="flange" type="fixed"><origin xyz="0.25 0 0"/><parent link="lower"/><child link="hand"/></joint>
</robot>"#;

const SCENE: &str = r#"<mujoco><worldbody><geom type="plane" size="1 1 1"/>
  <body name="finger" pos="0 0 1"><joint name="finger_1" damping="1"/><geom size="0.1"/></body></worldbody>
  <keyframe><key name="home" qpos="0.5"/></keyframe></mujoco>"#;

/// The fenced YAML examples of a page, with their first lines.
fn examples(page: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (k, line) in page.lines().enumerate() {
        match (&mut open, line) {
            (None, "```yaml") => open = Some((k + 2, String::new())),
            (Some(_), "```") => found.extend(open.take()),
            (Some((_, text)), line) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, _) => {}
        }
    }
    found
}

#[test]
fn every_example_of_the_pages_is_a_scene() {
    let folder = std::env::temp_dir().join(format!("quasistep-page-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("robot.urdf"), ROBOT).unwrap();
    std::fs::write(folder.join("scene.xml"), SCENE).unwrap();
    let stone = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";
    std::fs::write(folder.join("stone.obj"), stone).unwrap();
    let scan: Vec<[f32; 3]> =
        (0..64).map(|k| [k % 4, k / 4 % 4, k / 16].map(|i| i as f32)).collect();
    let lines: Vec<String> = scan.iter().map(|[x, y, z]| format!("{x} {y} {z}\n")).collect();
    let lines = lines.concat();
    let head = "ply\nformat ascii 1.0\nelement vertex 64\nproperty float x\nproperty float y\n\
                property float z\nend_header\n";
    std::fs::write(folder.join("scan.ply"), format!("{head}{lines}")).unwrap();
    std::fs::write(folder.join("tray.csv"), lines).unwrap();
    let mut array = b"\x93NUMPY\x01\x00\x3b\x00".to_vec();
    array.extend(b"{'descr': '<f4', 'fortran_order': False, 'shape': (64, 3)}\n");
    array.extend(scan.as_flattened().iter().flat_map(|x| x.to_le_bytes()));
    std::fs::write(folder.join("mug.npy"), array).unwrap();
    std::fs::write(folder.join("bracket.obj"), stone).unwrap();
    let pit = &stone[..stone.find("f 2 3 4").unwrap()];
    std::fs::write(folder.join("bowl.obj"), format!("{pit}f 1 4 3\n")).unwrap();
    std::fs::write(
        folder.join("knots.csv"),
        "time,q1,q2,part\n0,0,0,0\n1,1,1,0\n1,1,1,1\n2,0,0,1\n",
    )
    .unwrap();
    let mut read = Vec::new();
    for (page, text) in testkit::scene_format_pages() {
        for (line, example) in examples(&text) {
            let scene = Scene::parse(&example, "example", "example", &folder, &[]);
            read.push((format!("{page}:{line}"), scene));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(read.len(), 36);
    for (place, scene) in read {
        if let Err(error) = scene {
            panic!("example at {place}: {error}");
        }
    }
}

/// Every key that the reader accepts is documented on a page.
#[test]
fn every_key_is_documented() {
    let pages: Vec<String> =
        testkit::scene_format_pages().into_iter().map(|(_, text)| text).collect();
    let pages = pages.concat();
    let words: Vec<&str> = pages.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let folder = PathBuf::from(".");
    // an unknown key in each place makes the reader list the valid ones
    for text in [
        "zzz: 0\n",
        "models: {}\nstep: {zzz: 0}\n",
        "models: {}\noutput: {zzz: 0}\n",
        "models: {a: {zzz: 0}}\n",
        "models: {a: {urdf: x, zzz: 0}}\n",
        "models: {a: {bodies: {b: {zzz: 0}}}}\n",
        "models: {a: {repeat: {zzz: 0}}}\n",
        "models: {a: {repeat: {grid: [1, 1, 1]}, mass: zzz}}\n",
        "models: {a: {shape: {zzz: 0}}}\n",
        "models: {a: {cloud: {zzz: 0}}}\n",
        "models: {a: {cloud: {file: a.ply, unit: zzz}}}\n",
        "models: {a: {cloud: {file: a.ply, choice: zzz}}}\n",
        "models: {a: {cloud: {file: a.ply, outliers: {zzz: 0}}}}\n",
        "models: {a: {cloud: {file: a.ply, fit: {zzz: 0}}}}\n",
        "models: {a: {cloud: {file: a.ply, inertia_from: zzz}}}\n",
        "models: {a: {joint: [{zzz: 0}]}}\n",
        "models: {a: {joints: {\"*\": {zzz: 0}}}}\n",
        "models: {}\nfriction: {zzz: 0}\n",
        "models: {}\nfriction: {rule: zzz}\n",
        "models: {}\ncollisions: {zzz: 0}\n",
        "models: {}\ncommands: [{zzz: 0}]\n",
        "models: {}\nwrenches: [{zzz: 0}]\n",
        "models: {}\nmpc: {zzz: 0}\n",
        "models: {}\nmpc: {model: zzz}\n",
        "models: {f: {joint: [{slide: x, axis: [1, 0, 0]}], mass: 1}}\nmpc: {model: dynamic, inputs: [f.x], horizon: 1, steps: 1, goal: 0, weights: {zzz: 0}}\n",
        "models: {f: {joint: [{slide: x, axis: [1, 0, 0]}], mass: 1}}\nmpc: {model: dynamic, inputs: [f.x], horizon: 1, steps: 1, goal: 0, weights: {}, bounds: {zzz: 0}}\n",
        "models: {}\nplan: {zzz: 0}\n",
        "models: {}\nplan: {goals: [{zzz: 0}]}\n",
        "models: {}\nplan: {goals: [{frame: world, pose: {}, counts: [zzz]}]}\n",
        "models: {}\nfacts: [{zzz: 0}]\n",
        "models: {}\nfacts: [{count: zzz}]\n",
        "models: {f: {joint: [{slide: x, axis: [1, 0, 0], stiffness: 1}]}}\ncommands: [{joint: f.x, expr: zzz}]\n",
    ] {
        let error = Scene::parse(text, "s.yml", "s", &folder, &[]).expect_err(text).message;
        let valid = error.split_once("valid: ").unwrap_or_else(|| panic!("{error}")).1;
        // an error in a copy ends with the copy's name
        let valid = valid.split(" (in `").next().unwrap_or(valid);
        for key in valid.split('`').skip(1).step_by(2).filter(|key| *key != "zzz") {
            assert!(words.contains(&key), "`{key}` is on no page");
        }
    }
}
