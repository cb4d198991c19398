//! `<actuator>`: drives of joints and tendons.
//!
//! MuJoCo's force is `gear (gain u + bias · (1, gear q, gear q̇))`. With a constant gain and a
//! spring as bias, this is a spring of stiffness `gear² k` towards the position
//! `(gain u + bias_0) / (gear k)`, with a damper. Without a spring, the force
//! `gear (gain u + bias_0)` of the control at the start becomes a torque. A gain on velocity
//! becomes a damper. An actuator of a body pulls contacts with `gain u`: a pad.

use super::read::Read;
use super::sections::{Names, What};
use super::spec::Class;
use super::told::{FORCES, NO_JOINT, NO_PULL, SCALED, SPEEDS, Told, UNEVEN};
use super::tree::Element;
use super::world::Scope;
use crate::error::SceneError;

/// The joint or tendon on which an actuator acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Body index, and index among its joints.
    Joint([usize; 2]),
    /// Index of a tendon.
    Tendon(usize),
}

/// Effect of an actuator on the coordinate of its target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Servo {
    /// Stiffness, in N/m or N·m/rad; 0 for a pure damper.
    pub stiffness: f64,
    pub damping: Damping,
    /// Target position of the spring at the start, in m or rad.
    pub target: f64,
    /// Force at the start in addition to spring and damper, in N or N·m.
    pub force: f64,
    /// Largest force of the spring, in N or N·m.
    pub effort: Option<f64>,
    /// Added rotor inertia, in kg or kg·m².
    pub armature: f64,
}

/// Damping: a constant in N·s/m or N·m·s/rad, or a fraction of critical damping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Damping {
    Constant(f64),
    Ratio(f64),
}

/// An actuator of a body, which pulls what touches its geoms.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pull {
    pub name: String,
    /// Index of the body.
    pub body: usize,
    /// Largest pull, in N.
    pub most: f64,
    /// Share of it at the start.
    pub share: f64,
}

/// A supported actuator of a joint or tendon.
#[derive(Clone, Debug)]
pub(super) struct Actuator {
    pub target: Target,
    pub servo: Servo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    /// No gain or bias.
    None,
    Fixed,
    Affine,
    Other,
}

/// Gain and bias parameters in MuJoCo's form.
#[derive(Clone, Copy, Debug)]
struct State<'e> {
    /// Tag of the element that set them: a shortcut such as `motor`, or `general`.
    tag: &'e str,
    gain: Law,
    bias: Law,
    gains: [f64; 3],
    biases: [f64; 3],
    share_of_range: f64,
}

/// Parameters of an actuator without any attributes.
const PLAIN: State<'_> = State {
    tag: GENERAL,
    gain: Law::Fixed,
    bias: Law::None,
    gains: [1.0, 0.0, 0.0],
    biases: [0.0; 3],
    share_of_range: 0.0,
};
const GENERAL: &str = "general";

impl<'e> State<'e> {
    /// Applies a layer of defaults, or the element itself, to this state. `outer` holds the states
    /// of the enclosing classes, outermost first.
    ///
    /// A shortcut continues from the nearest state that was set by the same shortcut or by
    /// `general`. So a `<motor>` in a class does not discard the `kp` of `<position>` in the
    /// enclosing class.
    fn then(self, layer: &'e Element, outer: &[Self]) -> Result<Self, SceneError> {
        let tag = layer.tag.as_str();
        let fits = |state: &&Self| tag == GENERAL || state.tag == tag || state.tag == GENERAL;
        let mut s = *outer.iter().chain([&self]).rev().find(fits).unwrap_or(&PLAIN);
        let at = Read::plain(layer);
        let law = |name: &str, own: Law| match at.attribute(name).map(str::trim) {
            None => own,
            Some("none") => Law::None,
            Some("fixed") => Law::Fixed,
            Some("affine") => Law::Affine,
            Some(_) => Law::Other,
        };
        (s.gain, s.bias) = (law("gaintype", s.gain), law("biastype", s.bias));
        let first = |name: &str, own: [f64; 3]| -> Result<[f64; 3], SceneError> {
            let given = at.partly(name, [f64::NAN; 10])?;
            Ok(std::array::from_fn(|k| if given[k].is_nan() { own[k] } else { given[k] }))
        };
        s.gains = first("gainprm", s.gains)?;
        s.biases = first("biasprm", s.biases)?;
        if tag != GENERAL {
            s.tag = tag;
        }
        let (kv, ratio) = (at.number("kv")?, at.number("dampratio")?);
        if kv.is_some() && ratio.is_some() {
            return Err(layer.error("kv and dampratio were seen; give one of them"));
        }
        if let Some(x) = kv.or(ratio).filter(|x| *x < 0.0) {
            return Err(layer.error(format!("kv or dampratio {x} was seen; it must be ≥ 0")));
        }
        match tag {
            "motor" => {
                (s.gain, s.gains) = (Law::Fixed, PLAIN.gains);
                (s.bias, s.biases) = (Law::None, PLAIN.biases);
            }
            "position" | "intvelocity" => {
                let kp = at.number("kp")?.unwrap_or(s.gains[0]);
                let damping = kv.map(|kv| -kv).or(ratio).unwrap_or(s.biases[2]);
                (s.gain, s.gains) = (Law::Fixed, [kp, 0.0, 0.0]);
                (s.bias, s.biases) = (Law::Affine, [0.0, -kp, damping]);
                s.share_of_range = at.number("inheritrange")?.unwrap_or(s.share_of_range);
            }
            "velocity" => {
                let kv = kv.unwrap_or(s.gains[0]);
                (s.gain, s.gains) = (Law::Fixed, [kv, 0.0, 0.0]);
                (s.bias, s.biases) = (Law::Affine, [0.0, 0.0, -kv]);
            }
            "damper" => {
                let kv = kv.unwrap_or(-s.gains[2]);
                (s.gain, s.gains) = (Law::Affine, [0.0, 0.0, -kv]);
                (s.bias, s.biases) = (Law::None, PLAIN.biases);
            }
            "adhesion" => {
                let gain = at.number("gain")?.unwrap_or(s.gains[0]);
                (s.gain, s.gains) = (Law::Fixed, [gain, 0.0, 0.0]);
                (s.bias, s.biases) = (Law::None, PLAIN.biases);
            }
            GENERAL => {}
            _ => (s.gain, s.bias) = (Law::Other, Law::Other),
        }
        Ok(s)
    }

    /// State of an element with the defaults of its class.
    fn of(at: &Read<'e>, class: &Class) -> Result<Self, SceneError> {
        let mut levels = vec![PLAIN];
        let ends = class.actuators_from.iter().skip(1).copied().chain([at.defaults.len()]);
        for (start, end) in class.actuators_from.iter().copied().zip(ends) {
            let mut state = levels[levels.len() - 1];
            for layer in &at.defaults[start.min(end)..end] {
                state = state.then(layer, &levels)?;
            }
            levels.push(state);
        }
        levels[levels.len() - 1].then(at.own, &levels)
    }
}

/// Reads the actuators that have an effect, in file order. `controls` are the control values at the
/// start.
pub(super) fn read(
    names: &Names<'_, '_>,
    controls: &[f64],
    told: &mut Told,
) -> Result<Vec<Actuator>, SceneError> {
    let mut actuators = Vec::new();
    for (k, (element, scope)) in names.elements("actuator")?.into_iter().enumerate() {
        let control = controls.get(k).copied();
        if element.attribute("body").is_none() {
            actuators.extend(one(element, scope, names, control, told)?);
        }
    }
    Ok(actuators)
}

/// Reads the actuators of bodies, in file order.
pub(super) fn pulls(
    names: &Names<'_, '_>,
    controls: &[f64],
    told: &mut Told,
) -> Result<Vec<Pull>, SceneError> {
    let mut pulls = Vec::new();
    for (k, (element, scope)) in names.elements("actuator")?.into_iter().enumerate() {
        if element.attribute("body").is_some() {
            let u = controls.get(k).copied().unwrap_or(0.0);
            pulls.extend(pull(element, scope, names, u, told)?);
        }
    }
    Ok(pulls)
}

/// MuJoCo's force is `gain u`, with the control clamped to `ctrlrange` and the force to
/// `forcerange`.
fn pull(
    element: &Element,
    scope: &Scope,
    names: &Names<'_, '_>,
    u: f64,
    told: &mut Told,
) -> Result<Option<Pull>, SceneError> {
    let spec = &names.world.specs[scope.spec];
    let at = spec.behind(element, spec.main())?;
    let state = State::of(&at, spec.class_of(element, spec.main())?)?;
    let target = names.find(element, "body", What::Body, scope)?;
    let name = element.attribute("name").unwrap_or(&target).to_owned();
    let automatic = spec.compiler.automatic_limits;
    // without a range, the control of the start is the largest
    let controls = at.range("ctrlrange", "ctrllimited", automatic)?.unwrap_or([0.0, u]);
    let forces = at.range("forcerange", "forcelimited", automatic)?;
    let [low, high] = forces.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
    let force = |u: f64| (state.gains[0] * u).max(low).min(high);
    let most = force(controls[1]);
    let share = force(u.max(controls[0]).min(controls[1])) / most;
    let pulls = state.gain == Law::Fixed && state.bias == Law::None;
    if !(pulls && most > 0.0 && share >= 0.0) {
        told.group(NO_PULL, &element.place, &name);
        return Ok(None);
    }
    Ok(Some(Pull { name, body: names.world.body_of[&target], most, share }))
}

fn one(
    element: &Element,
    scope: &Scope,
    names: &Names<'_, '_>,
    control: Option<f64>,
    told: &mut Told,
) -> Result<Option<Actuator>, SceneError> {
    let spec = &names.world.specs[scope.spec];
    let at = spec.behind(element, spec.main())?;
    let state = State::of(&at, spec.class_of(element, spec.main())?)?;
    let shown =
        element.attribute("name").or(element.attribute("joint")).or(element.attribute("tendon"));
    let shown = shown.unwrap_or("without a name").to_owned();
    let Some(target) = target(element, scope, names)? else {
        told.group(NO_JOINT, &element.place, &shown);
        return Ok(None);
    };
    let [gear, ..] = at.partly("gear", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])?;
    let automatic = spec.compiler.automatic_limits;
    let mut u = control.unwrap_or(0.0);
    let limits = at.range("ctrlrange", "ctrllimited", automatic)?;
    let limits = limits.or_else(|| inherited(&target, state.share_of_range, names));
    if let Some([low, high]) = limits {
        u = u.max(low).min(high);
    }
    let range = at.range("forcerange", "forcelimited", automatic)?;
    let armature = at.number("armature")?.unwrap_or(0.0);
    let square = gear * gear;
    let [offset, slope, speed] = if state.bias == Law::None { PLAIN.biases } else { state.biases };
    let plain = Servo {
        stiffness: 0.0,
        damping: Damping::Constant(0.0),
        target: 0.0,
        force: 0.0,
        effort: None,
        armature,
    };
    let force = state.gains[0] * u + offset;
    let integrates =
        at.attribute("dyntype").is_some_and(|d| !["none", "filter", "filterexact"].contains(&d));
    let servo = match (state.gain, state.bias) {
        // a damper whose coefficient is proportional to the control
        (Law::Affine, Law::None) if state.gains[..2] == [0.0; 2] && state.gains[2] <= 0.0 => {
            let damping = Damping::Constant((-state.gains[2] * u).max(0.0) * square);
            Servo { damping, ..plain }
        }
        (Law::Fixed, Law::None | Law::Affine) if slope == 0.0 && speed == 0.0 && !integrates => {
            let [low, high] = range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
            Servo { force: gear * force.max(low).min(high), ..plain }
        }
        (Law::Fixed, Law::Affine) if slope == 0.0 && speed < 0.0 => {
            told.group(SPEEDS, &element.place, &shown);
            let damping = Damping::Constant(-speed * square);
            Servo { force: gear * force, damping, ..plain }
        }
        (Law::Fixed, Law::Affine) if slope < 0.0 && gear != 0.0 => {
            let k = -slope;
            let effort = range.map(|[low, high]| {
                if low != -high {
                    told.group(UNEVEN, &element.place, &shown);
                }
                gear.abs() * low.abs().min(high.abs())
            });
            if state.gains[0] != k || gear != 1.0 {
                told.group(SCALED, &element.place, &shown);
            }
            let damping = if speed > 0.0 && state.gains[0] == k {
                Damping::Ratio(speed)
            } else {
                Damping::Constant((-speed).max(0.0) * square)
            };
            Servo { stiffness: k * square, damping, target: force / (gear * k), effort, ..plain }
        }
        _ => {
            told.group(FORCES, &element.place, &shown);
            return Ok(None);
        }
    };
    Ok(Some(Actuator { target, servo }))
}

/// Control range derived from the range of a joint (`inheritrange`).
fn inherited(target: &Target, share: f64, names: &Names<'_, '_>) -> Option<[f64; 2]> {
    let Target::Joint([body, k]) = target else { return None };
    let [low, high] = names.world.bodies[*body].joints[*k].range.filter(|_| share > 0.0)?;
    let (mean, half) = (0.5 * (low + high), 0.5 * share * (high - low));
    Some([mean - half, mean + half])
}

/// The hinge, slide or tendon on which an actuator acts; `None` for other transmissions.
fn target(
    element: &Element,
    scope: &Scope,
    names: &Names<'_, '_>,
) -> Result<Option<Target>, SceneError> {
    for attribute in ["joint", "jointinparent"] {
        if element.attribute(attribute).is_some() {
            let name = names.find(element, attribute, What::Joint, scope)?;
            let [body, k] = names.world.joint_of[&name];
            let single = names.world.bodies[body].joints[k].kind.is_single();
            return Ok(single.then_some(Target::Joint([body, k])));
        }
    }
    if element.attribute("tendon").is_some() {
        let name = names.find(element, "tendon", What::Tendon, scope)?;
        return Ok(Some(Target::Tendon(names.tendons[&name])));
    }
    Ok(None)
}
