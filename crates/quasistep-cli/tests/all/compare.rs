//! `quasistep compare`, and the commands of runs for robots.

use crate::common::{Folder, ends, quasistep};
use std::path::Path;

#[test]
fn a_run_is_compared_with_its_scene_and_with_another() {
    let out = Folder::new("compare");
    let scene = "scenes/planar_push.yml";
    ends(&quasistep(&["-q", "run", scene, "-o", out.text(), "--no-page"]), 0);
    let (said, errors) = ends(&quasistep(&["compare", scene, out.text()]), 0);
    assert!(errors.is_empty(), "{errors}");
    assert!(said.contains("80 steps of") && said.contains("with its own commands"), "{said}");
    assert!(said.contains("from each recorded state: off by at most 0 m"), "{said}");
    assert!(said.contains("from the start on: off by at most 0 m"), "{said}");

    let heavy = ["compare", scene, out.text(), "--set", "models.box.mass=1.6"];
    let (said, errors) = ends(&quasistep(&heavy), 1);
    assert!(said.contains("from the start on: off by at most"), "{said}");
    assert!(errors.contains("differs by") && errors.contains("more than 0.000001"), "{errors}");
    ends(&quasistep(&[&heavy[..], &["--within", "0.1"]].concat()), 0);

    let (_, errors) = ends(&quasistep(&["compare", "scenes/pinch.yml", out.text()]), 2);
    assert!(errors.contains("its coordinates are finger.x"), "{errors}");
    let (_, errors) = ends(&quasistep(&["compare", scene, out.text(), "--within", "0"]), 2);
    assert!(errors.contains("--within: 0 was seen; it must be > 0"), "{errors}");
}

#[test]
fn commands_are_written_for_a_robot() {
    let out = Folder::new("trajectory");
    let [json, yaml] = ["push.json", "push.yaml"].map(|name| Path::new(out.text()).join(name));
    for file in [&json, &yaml] {
        let file = file.to_str().unwrap();
        let run = Path::new(out.text()).join("run");
        let command =
            ["-q", "run", "scenes/planar_push.yml", "-o", run.to_str().unwrap(), "--no-page"];
        ends(&quasistep(&[&command[..], &["--trajectory", file]].concat()), 0);
    }
    let read: serde_json::Value = serde_json::from_str(&out.read("push.json")).unwrap();
    assert_eq!(read["joint_trajectory"]["joint_names"], serde_json::json!(["x", "y"]));
    assert_eq!(read["joint_trajectory"]["points"].as_array().unwrap().len(), 80);
    assert_eq!(read["stiffness"], serde_json::json!([800.0, 800.0]));
    assert!(out.read("push.yaml").contains("joint_names: [\"x\",\"y\"]"));

    let run = Path::new(out.text()).join("fall");
    let none = ["run", "scenes/fall.yml", "-o", run.to_str().unwrap(), "--no-page", "--trajectory"];
    let (_, errors) = ends(&quasistep(&[&none[..], &[json.to_str().unwrap()]].concat()), 2);
    assert!(errors.contains("no joint has a command; commands are: none"), "{errors}");
    assert!(run.join("recording.qsr").is_file(), "the run is kept");
}
