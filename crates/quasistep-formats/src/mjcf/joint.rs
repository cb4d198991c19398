//! `<joint>` and `<freejoint>`: joints between a body and its parent.

use super::read::Read;
use super::spec::Spec;
use super::told::{CONES, CURVED, SPRINGS, Told};
use super::tree::Place;
use crate::error::SceneError;
use quasistep_math::{Pose, Vec3};

/// Shortest axis that has a direction, as in MuJoCo.
const LEAST_LENGTH: f64 = 1e-14;

/// `type` of a joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Free,
    Ball,
    Slide,
    Hinge,
}

impl Kind {
    /// Number of coordinates in `qpos`.
    pub fn n_q(self) -> usize {
        match self {
            Self::Free => 7,
            Self::Ball => 4,
            Self::Slide | Self::Hinge => 1,
        }
    }

    /// Number of dofs.
    pub fn n_v(self) -> usize {
        match self {
            Self::Free => 6,
            Self::Ball => 3,
            Self::Slide | Self::Hinge => 1,
        }
    }

    /// True if the joint has one coordinate.
    pub fn is_single(self) -> bool {
        self.n_q() == 1
    }
}

/// A joint of a body.
#[derive(Clone, Debug)]
pub(super) struct Joint {
    /// Name, unique among the joints.
    pub name: String,
    pub place: Place,
    pub kind: Kind,
    /// Anchor point (m) and axis in the body frame.
    pub pos: Vec3,
    pub axis: Vec3,
    /// Position limits, in m or rad.
    pub range: Option<[f64; 2]>,
    /// Coordinate in the reference configuration of the file, in m or rad.
    pub reference: f64,
    /// Stiffness in N/m or N·m/rad, ≥ 0, and rest position in m or rad.
    pub spring: (f64, f64),
    /// Damping, in N·s/m or N·m·s/rad.
    pub damping: f64,
    /// Dry friction, in N or N·m.
    pub friction: f64,
    /// Rotor inertia, in kg or kg·m².
    pub armature: f64,
    /// Time constant, in s, and damping ratio, from which stiffness and damping are computed.
    pub spring_damper: Option<[f64; 2]>,
    /// Lower and upper limit of actuator force, in N or N·m.
    pub effort: Option<[f64; 2]>,
}

impl Joint {
    /// Reads a joint with the given name. `X_BS` is the pose of the enclosing frame in the body.
    pub fn read(
        at: &Read<'_>,
        name: String,
        spec: &Spec,
        X_BS: Pose,
        told: &mut Told,
    ) -> Result<Self, SceneError> {
        let words = [
            ("free", Kind::Free),
            ("ball", Kind::Ball),
            ("slide", Kind::Slide),
            ("hinge", Kind::Hinge),
        ];
        let kind = match at.own.tag.as_str() {
            "freejoint" => Kind::Free,
            _ => at.word("type", &words)?.unwrap_or(Kind::Hinge),
        };
        let mut joint = Self {
            name,
            place: at.own.place.clone(),
            kind,
            pos: Vec3::ZERO,
            axis: Vec3::Z,
            range: None,
            reference: 0.0,
            spring: (0.0, 0.0),
            damping: 0.0,
            friction: 0.0,
            armature: 0.0,
            spring_damper: None,
            effort: None,
        };
        if at.own.tag == "freejoint" {
            return Ok(joint);
        }
        let automatic = spec.compiler.automatic_limits;
        if kind != Kind::Free {
            joint.pos = X_BS.transform_point(Vec3::from(at.partly("pos", [0.0; 3])?));
        }
        if kind.is_single() {
            let axis = X_BS.rotation.rotate(Vec3::from(at.partly("axis", [0.0, 0.0, 1.0])?));
            if axis.norm() < LEAST_LENGTH {
                return Err(at.error("axis: an axis without a direction was seen"));
            }
            joint.axis = axis / axis.norm();
            let range = at.range("range", "limited", automatic)?;
            joint.range = range.map(|r| r.map(|x| joint.coordinate(x, spec)));
            if let Some([low, high]) = joint.range.filter(|[low, high]| low >= high) {
                return Err(at.error(format!(
                    "range {low} to {high} was seen; its first number must be the smaller one"
                )));
            }
            joint.reference = joint.coordinate(at.number("ref")?.unwrap_or(0.0), spec);
            joint.effort = at.range("actuatorfrcrange", "actuatorfrclimited", automatic)?;
        } else if kind == Kind::Ball && at.range("range", "limited", automatic)?.is_some() {
            told.group(CONES, &joint.place, &joint.name);
        }
        joint.read_resistance(at, spec, told)?;
        Ok(joint)
    }

    /// Reads spring, damping, friction and armature.
    fn read_resistance(
        &mut self,
        at: &Read<'_>,
        spec: &Spec,
        told: &mut Told,
    ) -> Result<(), SceneError> {
        let mut constant = |name: &str| -> Result<f64, SceneError> {
            let [first, second, third] = at.partly(name, [0.0; 3])?;
            if second != 0.0 || third != 0.0 {
                told.group(CURVED, &self.place, &self.name);
            }
            Ok(first)
        };
        let stiffness = constant("stiffness")?;
        self.damping = constant("damping")?;
        self.friction = at.number("frictionloss")?.unwrap_or(0.0);
        self.armature = at.number("armature")?.unwrap_or(0.0);
        for (name, value) in [
            ("stiffness", stiffness),
            ("damping", self.damping),
            ("frictionloss", self.friction),
            ("armature", self.armature),
        ] {
            if value < 0.0 {
                return Err(at.error(format!("{name} {value} was seen; it must be ≥ 0")));
            }
        }
        if self.kind.is_single() {
            self.spring =
                (stiffness, self.coordinate(at.number("springref")?.unwrap_or(0.0), spec));
        } else if stiffness > 0.0 {
            told.group(SPRINGS, &self.place, &self.name);
        }
        self.spring_damper = at.numbers("springdamper")?.filter(|values| *values != [0.0; 2]);
        if self.spring_damper.is_some_and(|values| values.iter().any(|x| *x <= 0.0)) {
            return Err(at.error("springdamper: both numbers must be > 0"));
        }
        if self.spring_damper.is_some() && !self.kind.is_single() {
            told.group(SPRINGS, &self.place, &self.name);
        }
        Ok(())
    }

    /// Converts a coordinate of the file to m or rad.
    fn coordinate(&self, x: f64, spec: &Spec) -> f64 {
        if self.kind == Kind::Hinge { spec.compiler.angle(x) } else { x }
    }

    /// Coordinate at which its spring exerts no force, in m or rad.
    pub fn slack(&self) -> f64 {
        self.spring.1
    }
}
