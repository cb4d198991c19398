//! Scenes that the package carries, for environments of its own.

use pyo3::prelude::*;

const SCENES: [(&str, &str); 4] = [
    ("ball_in_hand", include_str!("../../../scenes/ball_in_hand.yml")),
    ("door", include_str!("../../../scenes/door.yml")),
    ("planar_hand", include_str!("../../../scenes/planar_hand.yml")),
    ("push_to_pose", include_str!("../../../scenes/push_to_pose.yml")),
];

/// Text of a scene that the package carries; `None` if it has no such scene.
#[pyfunction]
pub fn packaged_scene(name: &str) -> Option<&'static str> {
    SCENES.iter().find(|(own, _)| *own == name).map(|(_, text)| *text)
}
