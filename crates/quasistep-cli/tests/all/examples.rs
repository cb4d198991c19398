//! `quasistep examples`.

use crate::common::{Folder, ends, quasistep, root};
use std::path::Path;

#[test]
fn the_command_carries_the_scenes_of_the_documentation() {
    let out = Folder::new("examples");
    let dir = Path::new(out.text()).join("scenes");
    let to = dir.to_str().unwrap();
    let (said, errors) = ends(&quasistep(&["examples", to]), 0);
    assert!(errors.is_empty() && said.contains("scenes and their models into"), "{said}{errors}");
    // with their robots, meshes and clouds
    for name in ["planar_push", "four_bar_gripper", "bunny_grasp", "sheets"] {
        let scene = dir.join(format!("{name}.yml"));
        let ours = std::fs::read(root().join(format!("scenes/{name}.yml"))).unwrap();
        assert_eq!(std::fs::read(&scene).unwrap(), ours);
        ends(&quasistep(&["-q", "check", scene.to_str().unwrap()]), 0);
    }
    // twice is no mistake; a file of one's own is left as it is
    ends(&quasistep(&["-q", "examples", to]), 0);
    std::fs::write(dir.join("pinch.yml"), "mine").unwrap();
    let (_, errors) = ends(&quasistep(&["examples", to]), 2);
    assert!(errors.contains("pinch.yml: this file is there with other content"), "{errors}");
    assert_eq!(std::fs::read_to_string(dir.join("pinch.yml")).unwrap(), "mine");
}

#[test]
fn a_scene_that_is_not_there_leads_to_them() {
    let (_, errors) = ends(&quasistep(&["run", "scenes/planar_pish.yml"]), 2);
    assert!(errors.contains("`quasistep examples` writes the scenes"), "{errors}");
}
