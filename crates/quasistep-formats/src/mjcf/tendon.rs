//! `<tendon>`: linear combinations of joint coordinates. Spatial tendons are not supported where
//! they have an effect.

use super::read::Read;
use super::sections::{Names, What};
use super::told::{CURVED, SPATIAL, Told};
use super::tree::{Element, Place};
use super::world::Scope;
use crate::error::SceneError;

/// A fixed tendon: `length = Σ c q`.
#[derive(Clone, Debug)]
pub(super) struct Tendon {
    pub name: String,
    pub place: Place,
    /// Body index, index among its joints, and coefficient. Empty for a spatial tendon.
    pub terms: Vec<([usize; 2], f64)>,
    pub range: Option<[f64; 2]>,
    /// Stiffness, in N/m or N·m/rad, and rest length, in m or rad.
    pub spring: (f64, f64),
    pub damping: f64,
    pub friction: f64,
    pub armature: f64,
}

impl Tendon {
    /// True if it has an effect without an actuator.
    pub fn acts(&self) -> bool {
        let resists = self.damping > 0.0 || self.friction > 0.0 || self.armature > 0.0;
        self.range.is_some() || self.spring.0 > 0.0 || resists
    }
}

/// Reads all tendons and adds their names to `names`.
pub(super) fn read(names: &mut Names<'_, '_>, told: &mut Told) -> Result<Vec<Tendon>, SceneError> {
    let mut tendons: Vec<Tendon> = Vec::new();
    for (element, scope) in names.elements("tendon")? {
        let tendon = one(element, scope, names, tendons.len(), told)?;
        if names.tendons.insert(tendon.name.clone(), tendons.len()).is_some() {
            return Err(element.error("a second tendon of this name was seen; names must differ"));
        }
        tendons.push(tendon);
    }
    Ok(tendons)
}

fn one(
    element: &Element,
    scope: &Scope,
    names: &Names<'_, '_>,
    index: usize,
    told: &mut Told,
) -> Result<Tendon, SceneError> {
    let spec = &names.world.specs[scope.spec];
    let at = spec.behind(element, spec.main())?;
    let name = match element.attribute("name").filter(|name| !name.is_empty()) {
        Some(name) => scope.name(name),
        None => format!("tendon_{index}"),
    };
    let mut constant = |name: &str, tendon: &str| -> Result<f64, SceneError> {
        let [first, second, third] = at.partly(name, [0.0; 3])?;
        if second != 0.0 || third != 0.0 {
            told.group(CURVED, &element.place, tendon);
        }
        Ok(first)
    };
    let (stiffness, damping) = (constant("stiffness", &name)?, constant("damping", &name)?);
    let mut tendon = Tendon {
        place: element.place.clone(),
        terms: Vec::new(),
        range: at.range("range", "limited", spec.compiler.automatic_limits)?,
        spring: (stiffness, 0.0),
        damping,
        friction: at.number("frictionloss")?.unwrap_or(0.0),
        armature: at.number("armature")?.unwrap_or(0.0),
        name,
    };
    if let Some([low, high]) = tendon.range.filter(|[low, high]| low >= high) {
        return Err(at.error(format!(
            "range {low} to {high} was seen; its first number must be the smaller one"
        )));
    }
    if element.tag != "fixed" {
        if tendon.acts() {
            return Err(at.error(
                "a spatial tendon with a range, stiffness, damping, friction or armature was seen; only tendons of fixed type act here",
            ));
        }
        told.group(SPATIAL, &element.place, &tendon.name);
        return Ok(tendon);
    }
    for term in element.children("joint") {
        let joint = names.world.joint_of[&names.find(term, "joint", What::Joint, scope)?];
        let [body, k] = joint;
        if !names.world.bodies[body].joints[k].kind.is_single() {
            return Err(
                term.error("a joint with more than one coordinate was seen; give a hinge or slide")
            );
        }
        let factor = Read::plain(term).number("coef")?;
        tendon
            .terms
            .push((joint, factor.ok_or_else(|| term.error("the attribute `coef` is missing"))?));
    }
    if tendon.terms.is_empty() {
        return Err(at.error("a tendon without joints was seen; give at least one"));
    }
    let slack =
        tendon.terms.iter().map(|([body, k], c)| c * names.world.bodies[*body].joints[*k].slack());
    let slack: f64 = slack.sum();
    let [low, high] = at.partly("springlength", [-1.0, f64::NAN])?;
    let high = if high.is_nan() { low } else { high };
    if tendon.spring.0 > 0.0 && low != high {
        return Err(at.error(
            "a springlength of two numbers was seen; a spring has one length where it is slack",
        ));
    }
    tendon.spring.1 = if low == -1.0 { slack } else { low };
    Ok(tendon)
}
