//! Temporary files for tests, and poses of their links.

use quasistep_formats::description::Description;
use quasistep_formats::{Format, Options, SceneError, files, read};
use quasistep_math::{Pose, Vec3};
use quasistep_model::JointKind;
use std::path::Path;

/// Reads the first of these files (name, text); the others are written beside it.
pub fn read_files(texts: &[(&str, &str)]) -> Result<Description, SceneError> {
    let all = texts
        .iter()
        .map(|(name, text)| (Path::new("pkg").join(name), Some(text.as_bytes().into())))
        .collect();
    let path = Path::new("pkg").join(texts[0].0);
    // the format of a YAML file follows from its keys
    let format = match texts[0].0 {
        "system.yml" => Format::QSys,
        _ => Format::of(&path).expect("the ending tells the format"),
    };
    files::within(all, false, || read(format, &path, &Options::default())).0
}

/// Description of a model with this content.
pub fn model(content: &str) -> Result<Description, SceneError> {
    read_files(&[("m.sdf", &format!("<sdf version='1.9'><model name='m'>{content}</model></sdf>"))])
}

/// Error message of a model with this content.
pub fn complaint(content: &str) -> String {
    match model(content) {
        Ok(_) => panic!("read, not refused: {content}"),
        Err(error) => error.to_string(),
    }
}

/// World poses of the links for positions `q` of the one-dof joints, in their order; free joints
/// stay at their start.
pub fn poses(of: &Description, q: &[f64]) -> Vec<Pose> {
    let mut q = q.iter();
    let moves: Vec<Pose> = of
        .joints
        .iter()
        .map(|joint| match joint.kind {
            JointKind::Revolute { axis } | JointKind::Continuous { axis } => {
                let axis = axis.try_normalize().unwrap();
                let angle = q.next().copied().unwrap_or(0.0);
                Pose::new(quasistep_math::Quat::from_axis_angle(axis, angle), Vec3::ZERO)
            }
            JointKind::Prismatic { axis } => {
                let axis = axis.try_normalize().unwrap();
                Pose::from_translation(axis * q.next().copied().unwrap_or(0.0))
            }
            _ => Pose::IDENTITY,
        })
        .collect();
    let mut all = vec![Pose::IDENTITY; of.links.len()];
    for &link in &of.tree.order {
        let joint = of.tree.joint_of[link].expect("every link hangs on a joint");
        let parent = of.joints[joint].parent.map_or(Pose::IDENTITY, |parent| all[parent]);
        all[link] = parent * of.joints[joint].origin * moves[joint];
    }
    all
}

/// Index of a link.
pub fn link(of: &Description, name: &str) -> usize {
    let names: Vec<&str> = of.links.iter().map(|link| link.name.as_str()).collect();
    names.iter().position(|own| *own == name).unwrap_or_else(|| panic!("no {name} in {names:?}"))
}

/// Pose of a link with joints at `q`.
pub fn pose(of: &Description, name: &str, q: &[f64]) -> Pose {
    poses(of, q)[link(of, name)]
}

/// Asserts that two poses agree to 1e-12, the rounding of a few products.
pub fn assert_same(seen: Pose, xyz: [f64; 3], rpy: [f64; 3]) {
    let off = seen.inverse() * Pose::from_xyz_rpy(xyz, rpy);
    let far = off.translation.norm() + off.rotation.to_rotation_vector().norm();
    assert!(far < 1e-12, "{seen:?} is not at {xyz:?} with {rpy:?}");
}
