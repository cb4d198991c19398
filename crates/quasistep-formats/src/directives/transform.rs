//! Poses as Drake writes them in YAML.

use crate::error::{SceneError, unknown};
use crate::yaml::At;
use quasistep_math::{Pose, Quat, Vec3};

/// Valid tags of rotations.
const ROTATIONS: [&str; 4] = ["Rpy", "AngleAxis", "Quaternion", "Identity"];

/// A pose, and the name of the frame in which it is given, if any.
pub(super) struct Transform {
    pub base_frame: Option<String>,
    pub pose: Pose,
}

/// Reads `{base_frame, translation, rotation}`, lengths in m.
pub(super) fn read(at: &At<'_>) -> Result<Transform, SceneError> {
    let map = at.map(&["base_frame", "translation", "rotation"])?;
    let base_frame = map.get("base_frame").map(|at| at.text().map(str::to_owned)).transpose()?;
    let translation = map.get("translation").map(vector).transpose()?.unwrap_or_default();
    let rotation = map.get("rotation").map(rotation).transpose()?.unwrap_or_default();
    Ok(Transform { base_frame, pose: Pose::new(rotation, Vec3::from(translation)) })
}

fn rotation(at: &At<'_>) -> Result<Quat, SceneError> {
    match at.tag() {
        Some("Rpy") => {
            let map = at.map(&["deg"])?;
            Ok(Quat::from_rpy(vector::<3>(map.need("deg")?)?.map(f64::to_radians)))
        }
        Some("AngleAxis") => {
            let map = at.map(&["angle_deg", "axis"])?;
            let [angle] = vector::<1>(map.need("angle_deg")?)?;
            let axis_at = map.need("axis")?;
            let axis = Vec3::from(vector::<3>(axis_at)?);
            let axis = axis
                .try_normalize()
                .ok_or_else(|| axis_at.error("[0, 0, 0] was seen; it must have a direction"))?;
            Ok(Quat::from_axis_angle(axis, angle.to_radians()))
        }
        Some("Quaternion") => {
            let map = at.map(&["wxyz"])?;
            let wxyz_at = map.need("wxyz")?;
            Quat::try_normalize(vector::<4>(wxyz_at)?)
                .ok_or_else(|| wxyz_at.error("a quaternion of length 0 was seen"))
        }
        Some("Identity") => Ok(Quat::IDENTITY),
        None if !at.is_map() || at.entries()?.is_empty() => Ok(Quat::IDENTITY),
        None => {
            Err(at.error("a rotation without its kind was seen; write `!Rpy {deg: [0, 0, 90]}`"))
        }
        Some("Uniform") => Err(at.error(RANDOM)),
        Some(other) => Err(at.error(unknown("rotation", other, &ROTATIONS))),
    }
}

const RANDOM: &str = "a random value was seen; give numbers";

/// Exactly `N` finite numbers, also as `!Deterministic {value: …}`. A single number may stand
/// without brackets.
pub(super) fn vector<const N: usize>(at: &At<'_>) -> Result<[f64; N], SceneError> {
    match at.tag() {
        Some("Deterministic" | "DeterministicVector") => {
            let map = at.map(&["value"])?;
            vector(&map.need("value")?.clone())
        }
        Some(tag) if at.is_map() => Err(at.error(format!("`!{tag}`: {RANDOM}"))),
        _ if N == 1 && !at.is_list() => Ok([at.number("")?; N]),
        _ => at.array(""),
    }
}
