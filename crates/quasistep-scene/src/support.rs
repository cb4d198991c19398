//! `support`: friction of the surface on which a planar joint or a slide moves.

use crate::document::At;
use quasistep_formats::SceneError;
use quasistep_model::{JointKind, Support, SupportLoad};

/// A support as given, before the joint's kind is known.
#[derive(Clone, Debug)]
pub(crate) struct SupportGiven {
    friction: f64,
    load: SupportLoad,
    spin_radius: Option<f64>,
    /// Places of the support and of its `spin_radius`, for errors.
    place: SceneError,
    place_of_radius: SceneError,
}

impl SupportGiven {
    pub fn read(at: &At<'_>) -> Result<Self, SceneError> {
        let map = at.map(&["friction", "load", "spin_radius"])?;
        let load = match map.get("load") {
            None => SupportLoad::Weight,
            Some(at) if at.text() == Ok("weight") => SupportLoad::Weight,
            Some(at) => SupportLoad::Newtons(at.non_negative("N, or `weight`")?),
        };
        let radius = map.get("spin_radius");
        Ok(Self {
            friction: map.need("friction")?.non_negative("")?,
            load,
            spin_radius: radius.map(|at| at.non_negative("m")).transpose()?,
            place: at.error(""),
            place_of_radius: radius.unwrap_or(at).error(""),
        })
    }

    /// Reads the support of a body with `n` joints.
    pub fn of_one(at: &At<'_>, n: usize) -> Result<Self, SceneError> {
        if n > 1 {
            return Err(at.error(format!(
                "a support was seen on a body with {n} joints; give it in the list, to the slide that rubs"
            )));
        }
        Self::read(at)
    }

    /// The support of a joint of this kind; `follows` is true for a mimic joint.
    pub fn fit(&self, kind: &JointKind, follows: bool) -> Result<Support, SceneError> {
        let Self { friction, load, spin_radius, .. } = *self;
        let told = |place: &SceneError, message: String| SceneError { message, ..place.clone() };
        match (kind, spin_radius) {
            _ if follows => Err(told(
                &self.place,
                "a support was seen on a joint that mimics another; give that one a `friction`".into(),
            )),
            (JointKind::Planar, Some(spin_radius)) => Ok(Support { friction, load, spin_radius }),
            (JointKind::Planar, None) => Err(told(
                &self.place,
                "`spin_radius` is missing; a planar joint needs it, in m, ≥ 0: 2/3 of the radius of a disc under even pressure, 0.38 of the side of a square"
                    .into(),
            )),
            (JointKind::Prismatic { .. }, None) => Ok(Support { friction, load, spin_radius: 0.0 }),
            (JointKind::Prismatic { .. }, Some(radius)) => Err(told(
                &self.place_of_radius,
                format!("{radius} was seen on a slide, which does not turn; leave it out"),
            )),
            _ => Err(told(
                &self.place,
                format!("a support was seen on a {} joint; planar joints and slides have one", kind.word()),
            )),
        }
    }
}
