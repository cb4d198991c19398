//! Position of a reader in a scene file, with the rules for numbers: expressions of a copy index,
//! or of bounding boxes.

use crate::expr::Expr;
use crate::extents::{Extents, names_a_side};
use crate::replica::{Place, Replica};
pub(crate) use quasistep_formats::yaml::Node;
use quasistep_formats::{SceneError, yaml};
use quasistep_math::{Pose, Quat};

/// A position in a scene file.
pub(crate) type At<'a> = yaml::At<'a, Numbers<'a>>;
/// A mapping in a scene file.
pub(crate) type Map<'a> = yaml::Map<'a, Numbers<'a>>;

/// Names that numbers may use at a position in a scene file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers<'a> {
    /// The copy of a repeated model that is being read; expressions may use its index.
    pub replica: Option<&'a Replica>,
    /// Bounding boxes of the bodies defined above; expressions may use their sides.
    pub extents: Option<&'a Extents>,
}

impl yaml::Context for Numbers<'_> {
    fn value(&self, text: &str, key: &str) -> Option<Result<f64, String>> {
        let expr = match (self.replica, self.extents) {
            (Some(replica), extents) => Expr::parse(text, &Place { replica, key, extents }),
            (None, Some(extents)) if names_a_side(text) => Expr::parse(text, extents),
            (None, _) => return None,
        };
        Some(expr.map(|expr| expr.at(0.0).0))
    }

    fn label(&self) -> Option<&str> {
        self.replica.map(|replica| replica.name.as_str())
    }
}

/// The position `at`, for one copy of a repeated model.
pub(crate) fn of_replica<'b>(at: &At<'b>, replica: &'b Replica) -> At<'b> {
    at.within(Numbers { replica: Some(replica), ..*at.context() })
}

/// The position `at`, where numbers may use bounding boxes of bodies.
pub(crate) fn with_extents<'b>(at: &At<'b>, extents: &'b Extents) -> At<'b> {
    at.within(Numbers { extents: Some(extents), ..*at.context() })
}

/// True for a copy other than the first, so that warnings common to all copies are given once.
pub(crate) fn is_later_replica(at: &At<'_>) -> bool {
    at.context().replica.is_some_and(|replica| replica.index > 0)
}

/// The rotation of a quaternion `[w, x, y, z]` whose length is 1 up to rounding to three digits, as
/// people type it.
pub(crate) fn rounded_rotation(q: [f64; 4]) -> Option<Quat> {
    let norm = q.iter().map(|c| c * c).sum::<f64>().sqrt();
    if (norm - 1.0).abs() <= 1e-3 { Quat::try_normalize(q) } else { None }
}

/// Reads `{xyz: [x, y, z], rpy: [r, p, y]}` or `{xyz, quat: [w, x, y, z]}`; all keys are optional.
pub(crate) fn pose(at: &At<'_>) -> Result<Pose, SceneError> {
    let map = at.map(&["xyz", "rpy", "quat"])?;
    let translation = map.get("xyz").map(|a| a.array::<3>("m")).transpose()?.unwrap_or_default();
    let rotation = match (map.get("rpy"), map.get("quat")) {
        (Some(_), Some(_)) => return Err(at.error("`rpy` and `quat` were seen; give one of them")),
        (Some(rpy), None) => Quat::from_rpy(rpy.array("rad")?),
        (None, Some(quat)) => {
            let q: [f64; 4] = quat.array("w, x, y, z")?;
            rounded_rotation(q).ok_or_else(|| {
                let norm = q.iter().map(|c| c * c).sum::<f64>().sqrt();
                quat.error(format!("a quaternion of length {norm} was seen; it must be 1"))
            })?
        }
        (None, None) => Quat::IDENTITY,
    };
    Ok(Pose::new(rotation, translation.into()))
}

/// A pose as scenes have it, in m and rad, to five digits of its largest length and to a tenth of a
/// milliradian.
pub(crate) fn pose_in_words(X: &Pose) -> String {
    // adding 0 makes a rounded -0 a 0
    let round = |x: f64, step: f64| short((x / step).round() * step) + 0.0;
    let three = |v: [f64; 3], step: f64| {
        let [x, y, z] = v.map(|x| round(x, step));
        format!("[{x}, {y}, {z}]")
    };
    let largest = X.translation.max_abs();
    let step = if largest > 0.0 { 10_f64.powf(largest.log10().floor() - 4.0) } else { 1.0 };
    let (xyz, rpy) = (three(X.translation.to_array(), step), X.rotation.to_rpy());
    if rpy.iter().all(|angle| round(*angle, 1e-4) == 0.0) {
        return format!("{{xyz: {xyz}}}");
    }
    format!("{{xyz: {xyz}, rpy: {}}}", three(rpy, 1e-4))
}

/// Rounds to four significant digits.
pub(crate) fn short(x: f64) -> f64 {
    format!("{x:.3e}").parse().unwrap_or(x)
}
