//! Drake's loop-closing constraints.

use super::reader::Reader;
use super::value::{array, child, drake, extended, text};
use crate::error::SceneError;
use crate::findings::Kind as Finding;
use crate::spot::Spot;
use crate::xml::Xml;
use quasistep_math::Vec3;

/// A loop-closing constraint between links or joints by name.
#[derive(Clone, Debug)]
pub(super) struct Closure {
    pub spot: Spot,
    pub kind: Kind,
}

/// Kind of constraint.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// A point of one link coincides with a point of another, in m.
    Point { links: [String; 2], points: [Vec3; 2] },
    /// Coupling `Σ factor × q = offset`.
    Sum { terms: Vec<(String, f64)>, offset: f64 },
}

/// A tendon that may go slack, or is elastic.
const LOOSE_TENDON: Finding = (
    "model",
    "<drake:tendon_constraint> with a range or a stiffness is not read: its force is missing",
);

/// Reads the constraints of a model.
pub(super) fn read(
    model: &Xml<'_, '_>,
    reader: &mut Reader<'_, '_>,
) -> Result<Vec<Closure>, SceneError> {
    let mut all = Vec::new();
    for at in drake(model, "ball_constraint") {
        let part = |tag: &str| {
            let tag = format!("ball_constraint_{tag}");
            child(&at, &tag).ok_or_else(|| at.error(format!("<drake:{tag}> is missing")))
        };
        let link = |tag: &str| text(&part(tag)?).map(str::to_owned);
        let point = |tag: &str| array::<3>(&part(tag)?).map(Vec3::from);
        let kind = Kind::Point {
            links: [link("body_A")?, link("body_B")?],
            points: [point("p_AP")?, point("p_BQ")?],
        };
        all.push(Closure { spot: at.spot(), kind });
    }
    for at in drake(model, "tendon_constraint") {
        if let Some(kind) = tendon(&at)? {
            all.push(Closure { spot: at.spot(), kind });
        } else {
            let name = model.attribute("name").unwrap_or_default();
            reader.findings.group(LOOSE_TENDON, at.line(), name);
        }
    }
    Ok(all)
}

/// A rigid tendon of fixed length: `lower ≤ Σ a q + offset ≤ upper` with equal bounds and no
/// compliance. `None` for other tendons.
fn tendon(at: &Xml<'_, '_>) -> Result<Option<Kind>, SceneError> {
    let of = |tag: &str, usual: f64| {
        child(at, &format!("tendon_constraint_{tag}")).map_or(Ok(usual), |at| extended(&at))
    };
    let [lower, upper] = [of("lower_limit", f64::NEG_INFINITY)?, of("upper_limit", f64::INFINITY)?];
    if lower != upper || of("stiffness", f64::INFINITY)?.is_finite() {
        return Ok(None);
    }
    let mut terms = Vec::new();
    for joint in at.children("tendon_constraint_joint") {
        terms.push((joint.text("name")?.to_owned(), joint.number("a")?));
    }
    Ok(Some(Kind::Sum { terms, offset: lower - of("offset", 0.0)? }))
}
