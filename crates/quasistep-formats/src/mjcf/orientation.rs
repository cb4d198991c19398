//! Poses in MJCF: a position, and an orientation in one of five forms.

use super::read::Read;
use super::spec::Compiler;
use crate::error::SceneError;
use quasistep_math::{Mat3, Pose, Quat, Vec3};

/// Shortest vector that has a direction, as in MuJoCo.
const LEAST_LENGTH: f64 = 1e-14;
/// Forms of orientation that override `quat`.
const OTHERS: [&str; 4] = ["axisangle", "xyaxes", "zaxis", "euler"];

/// Reads `pos` and the orientation of an element.
pub(super) fn pose(at: &Read<'_>, compiler: &Compiler) -> Result<Pose, SceneError> {
    let translation = Vec3::from(at.partly("pos", [0.0; 3])?);
    Ok(Pose::new(rotation(at, compiler)?, translation))
}

/// Reads the orientation of an element.
pub(super) fn rotation(at: &Read<'_>, compiler: &Compiler) -> Result<Quat, SceneError> {
    for layer in at.layers() {
        let given = OTHERS.iter().chain(&["quat"]).filter(|name| layer.attribute(name).is_some());
        if given.count() > 1 {
            return Err(layer.error("more than one orientation was seen; give one of quat, axisangle, xyaxes, zaxis and euler"));
        }
    }
    let other =
        at.layers().rev().find_map(|l| OTHERS.into_iter().find(|name| l.attribute(name).is_some()));
    let direction = |v: [f64; 3], name: &str| {
        let v = Vec3::from(v);
        if v.norm() > LEAST_LENGTH {
            Ok(v / v.norm())
        } else {
            Err(at.error(format!("{name}: an axis without a direction was seen")))
        }
    };
    match other {
        Some("axisangle") => {
            let [x, y, z, angle] = at.numbers("axisangle")?.unwrap_or_default();
            Ok(Quat::from_axis_angle(direction([x, y, z], "axisangle")?, compiler.angle(angle)))
        }
        Some("xyaxes") => {
            let [a, b, c, d, e, f] = at.numbers("xyaxes")?.unwrap_or_default();
            let x = direction([a, b, c], "xyaxes")?;
            let y = Vec3::new(d, e, f);
            let y = direction((y - x * x.dot(y)).to_array(), "xyaxes")?;
            Ok(Quat::from_matrix(&Mat3::from_columns([x, y, x.cross(y)])))
        }
        Some("zaxis") => {
            Ok(turn_z_to(direction(at.numbers("zaxis")?.unwrap_or_default(), "zaxis")?))
        }
        Some(_) => Ok(euler(
            at.numbers::<3>("euler")?.unwrap_or_default().map(|a| compiler.angle(a)),
            compiler,
        )),
        None => match at.numbers::<4>("quat")? {
            None => Ok(Quat::IDENTITY),
            Some(q) => Quat::try_normalize(q).ok_or_else(|| {
                at.error("quat: no rotation has the quaternion 0 0 0 0; give w x y z")
            }),
        },
    }
}

/// Rotation of Euler angles (rad) about the axes set by the compiler: lower case for body-fixed
/// axes, capitals for fixed axes.
pub(super) fn euler(angles: [f64; 3], compiler: &Compiler) -> Quat {
    let mut rotation = Quat::IDENTITY;
    for (axis, angle) in compiler.euler_axes.into_iter().zip(angles) {
        let direction = match axis.to_ascii_lowercase() {
            b'x' => Vec3::X,
            b'y' => Vec3::Y,
            _ => Vec3::Z,
        };
        let turn = Quat::from_axis_angle(direction, angle);
        rotation = if axis.is_ascii_lowercase() { rotation * turn } else { turn * rotation };
    }
    rotation
}

/// The smallest rotation that takes z to a unit vector; a half turn about x for −z.
pub(super) fn turn_z_to(z: Vec3) -> Quat {
    let axis = Vec3::Z.cross(z);
    let sine = axis.norm();
    let axis = if sine < 1e-10 { Vec3::X } else { axis / sine };
    Quat::from_axis_angle(axis, sine.atan2(z.z))
}
