//! Converts MuJoCo's bodies to links, joints and drives.

use super::actuator::{Actuator, Damping, Pull, Servo, Target};
use super::joint::{Joint as Own, Kind};
use super::keyframe::Start;
use super::masses;
use super::read::Read;
use super::tendon::Tendon;
use super::told::{Told, WITH_DRIVES};
use super::tree::{Element, Place};
use super::world::{Body, Site, World};
use crate::description::{
    Constraint, Description, Drive, Drives, Joint, Link, NamedFrame, Pad, Part, Tree,
};
use crate::error::SceneError;
use quasistep_math::{Pose, Quat, Vec3};
use quasistep_model::JointKind;
use std::collections::BTreeSet;

/// MuJoCo's default gravity, in m/s².
const GRAVITY: [f64; 3] = [0.0, 0.0, -9.81];

/// Builder of a description.
pub(super) struct Builder<'w, 'a> {
    pub world: &'w World<'a>,
    pub out: Description,
    /// Link index of each body; `None` for a world without shapes.
    pub link_of: Vec<Option<usize>>,
    /// Index of the output joint for each joint of each body.
    pub joint_of: Vec<Vec<usize>>,
    /// World pose of each body in the reference configuration of the file.
    pub poses: Vec<Pose>,
    /// Names of links and joints in use.
    links: BTreeSet<String>,
    joints: BTreeSet<String>,
}

/// Sum of the springs and forces that act on one joint or tendon.
#[derive(Clone, Copy, Debug, Default)]
struct Acting {
    stiffness: f64,
    /// Σ k × target, in N or N·m.
    pull: f64,
    damping: f64,
    /// Force of motors, in N or N·m.
    force: f64,
    effort: Option<f64>,
    unlimited: bool,
    armature: f64,
}

impl Acting {
    fn add(&mut self, servo: &Servo, mass: f64) {
        self.stiffness += servo.stiffness;
        self.pull += servo.stiffness * servo.target;
        self.armature += servo.armature;
        self.force += servo.force;
        self.damping += match servo.damping {
            Damping::Constant(d) => d,
            Damping::Ratio(ratio) => 2.0 * ratio * (servo.stiffness * mass).sqrt(),
        };
        match servo.effort {
            _ if servo.stiffness == 0.0 => {}
            Some(effort) => self.effort = Some(self.effort.unwrap_or(0.0) + effort),
            None => self.unlimited = true,
        }
    }

    /// Sum of the effort limits, in N or N·m.
    fn effort(&self) -> Option<f64> {
        self.effort.filter(|_| !self.unlimited)
    }
}

/// Servos of joints, by body and joint index, and of tendons.
struct Servos {
    joints: Vec<Vec<Option<Acting>>>,
    tendons: Vec<Option<Acting>>,
}

fn servos(world: &World<'_>, actuators: &[Actuator], tendons: &[Tendon], poses: &[Pose]) -> Servos {
    let mut servos = Servos {
        joints: world.bodies.iter().map(|body| vec![None; body.joints.len()]).collect(),
        tendons: vec![None; tendons.len()],
    };
    let needs_mass = actuators.iter().any(|a| matches!(a.servo.damping, Damping::Ratio(_)));
    let felt = if needs_mass { masses::felt(world, poses) } else { Vec::new() };
    let mass_of = |[body, k]: [usize; 2]| felt.get(body).map_or(0.0, |own| own[k].held);
    for Actuator { target, servo } in actuators {
        let (acting, mass) = match *target {
            Target::Joint(joint @ [body, k]) => (&mut servos.joints[body][k], mass_of(joint)),
            Target::Tendon(k) => {
                let terms = tendons[k].terms.iter().filter(|(_, c)| *c != 0.0);
                (&mut servos.tendons[k], terms.map(|(joint, c)| mass_of(*joint) / (c * c)).sum())
            }
        };
        acting.get_or_insert_default().add(servo, mass);
    }
    servos
}

impl<'w, 'a> Builder<'w, 'a> {
    /// Converts bodies with their drives and tendons.
    pub fn new(
        world: &'w World<'a>,
        tendons: &[Tendon],
        actuators: &[Actuator],
        start: &Start,
        told: &mut Told,
    ) -> Result<Self, SceneError> {
        let mut builder = Self {
            world,
            out: Description::default(),
            link_of: Vec::new(),
            joint_of: Vec::new(),
            poses: masses::poses(world),
            links: BTreeSet::new(),
            joints: world.joint_of.keys().cloned().collect(),
        };
        builder.bodies(start);
        let servos = servos(world, actuators, tendons, &builder.poses);
        builder.drive(&servos, start, told);
        builder.tendons(tendons, &servos)?;
        Ok(builder)
    }

    /// Adds bodies that pull what touches them.
    pub fn pads(&mut self, pulls: Vec<Pull>) {
        let link_of = &self.link_of;
        self.out.pads.extend(pulls.into_iter().map(|Pull { name, body, most, share }| Pad {
            name,
            link: link_of[body].unwrap_or(0),
            pull: most,
            share,
        }));
    }

    /// The description, with number of drives, options and tree. All constraints are known.
    pub fn finish(mut self, actuators: &[Actuator]) -> Result<Description, SceneError> {
        self.out.drives = Some(self.drives(actuators));
        self.options()?;
        let frame = |(name, site): (&String, &Site)| NamedFrame {
            name: name.clone(),
            link: self.link_of[site.body],
            pose: site.X_BS,
        };
        self.out.frames = self.world.sites.iter().map(frame).collect();
        let Self { world, mut out, .. } = self;
        let root = &world.bodies[0].place;
        out.tree = Tree::new(out.links.len(), &out.joints).map_err(|link| {
            // cannot fail: every link is connected to an earlier one
            let why = "this link is part of a loop";
            SceneError::new(&root.file, None, &out.links[link].name, why)
        })?;
        Ok(out)
    }

    /// Number of drives. A mocap body tied to another body by an equality counts as a position
    /// drive.
    fn drives(&self, actuators: &[Actuator]) -> Drives {
        let holds = |actuator: &&Actuator| {
            let Servo { stiffness, damping, .. } = actuator.servo;
            stiffness > 0.0 || damping != Damping::Constant(0.0)
        };
        let positions = actuators.iter().filter(holds).count();
        let is_tied = |link: &usize| {
            self.out.constraints.iter().enumerate().any(|(k, constraint)| match constraint {
                Constraint::Connect { links, .. } | Constraint::Weld { links, .. } => {
                    links.contains(&Some(*link)) && !self.out.inactive.contains(&k)
                }
                Constraint::Coupling { .. } => false,
            })
        };
        let mocap = self.world.bodies.iter().zip(&self.link_of).filter(|(body, _)| body.mocap);
        let leads = mocap.filter_map(|(_, link)| *link).filter(is_tied).count();
        Drives { positions: positions + leads, forces: actuators.len() - positions }
    }

    /// A name that is not in use, derived from `wanted`.
    fn free(taken: &mut BTreeSet<String>, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut k = 1;
        while !taken.insert(name.clone()) {
            k += 1;
            name = format!("{wanted}_{k}");
        }
        name
    }

    /// Adds links and joints of all bodies.
    fn bodies(&mut self, start: &Start) {
        let world = self.world;
        self.links = world.bodies.iter().map(|body| body.name.clone()).collect();
        for (index, body) in world.bodies.iter().enumerate() {
            if index == 0 && body.geoms.is_empty() {
                self.link_of.push(None);
                self.joint_of.push(Vec::new());
                continue;
            }
            // the world, and each body attached directly to it, is a model of its own
            let group = match self.link_of.get(body.parent).copied().flatten() {
                Some(parent) if body.parent > 0 => self.out.links[parent].group,
                _ => {
                    self.out.groups.push(body.name.clone());
                    self.out.groups.len() - 1
                }
            };
            let parent = if body.parent == 0 { None } else { self.link_of[body.parent] };
            let coordinates = start.coordinates.as_ref().map(|q| q[index].as_slice());
            let place = start.mocap.get(index).copied().flatten().unwrap_or(body.X_PB);
            let velocities = start.velocities.as_ref().map(|v| v[index].as_slice());
            self.chain(body, place, (group, parent), [coordinates, velocities]);
        }
    }

    /// Adds the joints of a body as a chain, with the body at its end.
    fn chain(
        &mut self,
        body: &Body,
        // pose of the next joint frame, without its anchor offset
        mut X_PB: Pose,
        (group, mut parent): (usize, Option<usize>),
        [coordinates, velocities]: [Option<&[Vec<f64>]>; 2],
    ) {
        let mut own = Vec::new();
        let shown = |name: &str| Link {
            name: name.to_owned(),
            line: body.place.line,
            group,
            ..Link::default()
        };
        for (k, joint) in body.joints.iter().enumerate() {
            let is_last = k + 1 == body.joints.len() && joint.pos == Vec3::ZERO;
            let child = self.out.links.len();
            if is_last {
                self.out.links.push(shown(&body.name));
            } else {
                let name = Self::free(&mut self.links, &format!("{}_at_{}", body.name, joint.name));
                self.out.links.push(shown(&name));
            }
            let X_PF = X_PB * Pose::from_translation(joint.pos) * back_to_zero(joint);
            let q = coordinates.map(|q| q[k].clone());
            own.push(self.out.joints.len());
            let velocity = velocities.map(|v| velocity(joint.kind, &v[k], q.as_deref(), &X_PB));
            let new = described(joint, parent, child, X_PF, q);
            self.out.joints.push(Joint { velocity, ..new });
            parent = Some(child);
            X_PB = Pose::from_translation(joint.pos * -1.0);
            if is_last {
                self.joint_of.push(own);
                self.link_of.push(Some(child));
                self.fill(child, body);
                return;
            }
        }
        let child = self.out.links.len();
        self.out.links.push(shown(&body.name));
        let (kind, suffix) =
            if body.mocap { (JointKind::Free, "") } else { (JointKind::Fixed, "_fixed") };
        let name = Self::free(&mut self.joints, &format!("{}{suffix}", body.name));
        let joint = Joint::new(name, kind, parent, child, X_PB);
        let prescribed = body.mocap;
        self.out.joints.push(Joint { line: body.place.line, prescribed, ..joint });
        self.joint_of.push(own);
        self.link_of.push(Some(child));
        self.fill(child, body);
    }

    /// Adds inertia and shapes of a body to its link.
    fn fill(&mut self, link: usize, body: &Body) {
        let link = &mut self.out.links[link];
        let is_frame = body.inertia.mass == 0.0;
        link.inertial = (!is_frame).then_some(body.inertia);
        link.compensated = body.compensated;
        for geom in &body.geoms {
            let Some(geometry) = &geom.geometry else { continue };
            let part = Part {
                name: geom.name.clone(),
                color: geom.color,
                friction: geom.friction,
                masks: Some(geom.masks),
                ..Part::new(geom.X_BG, geometry.clone())
            };
            if geom.drawn && geom.color.is_none_or(|[.., alpha]| alpha > 0.0) {
                link.visuals.push(part.clone());
            }
            if geom.touches {
                link.collisions.push(part);
            }
        }
    }

    /// Sets drives and springs of joints.
    fn drive(&mut self, servos: &Servos, start: &Start, told: &mut Told) {
        for (body, of_body) in self
            .world
            .bodies
            .iter()
            .zip(&self.joint_of)
            .zip(&servos.joints)
            .map(|((b, j), s)| (b, j.iter().zip(s)))
        {
            for ((&index, acting), own) in of_body.zip(&body.joints) {
                let joint = &mut self.out.joints[index];
                let (stiffness, slack) = own.spring;
                let mut all = acting.unwrap_or_default();
                if acting.is_some_and(|a| a.stiffness > 0.0) && stiffness > 0.0 {
                    told.group(WITH_DRIVES, &own.place, &own.name);
                }
                joint.armature += all.armature;
                let [low, high] = own.effort.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
                joint.torque = all.force.max(low).min(high);
                let driven = all.stiffness > 0.0;
                if !driven {
                    joint.damping += all.damping;
                    all = Acting::default();
                }
                let k = all.stiffness + stiffness;
                if k > 0.0 {
                    // a keyframe without controls: the drive holds the start position
                    let held = start.is_key && start.controls.is_none() && stiffness == 0.0;
                    let target = (all.pull + stiffness * slack) / k;
                    let most = own.effort.map(|[low, high]| low.abs().min(high.abs()));
                    let effort = match (all.effort(), most) {
                        (Some(a), Some(b)) => Some(a.min(b)),
                        (a, b) => a.or(b),
                    };
                    joint.drive = Some(Drive {
                        stiffness: k,
                        damping: all.damping,
                        effort: effort.filter(|_| driven),
                        target: (!held).then_some(target),
                    });
                }
            }
        }
    }

    /// Adds tendons. A tendon that acts becomes a massless slide coupled to its joints. A tendon
    /// that only resists one joint becomes resistance of that joint.
    fn tendons(&mut self, tendons: &[Tendon], servos: &Servos) -> Result<(), SceneError> {
        for (tendon, acting) in tendons.iter().zip(&servos.tendons) {
            // a range that the joint limits already imply is left out
            let range =
                tendon.range.filter(|range| !self.reach(tendon).is_some_and(|r| within(r, *range)));
            let acts = Tendon { range, ..tendon.clone() }.acts();
            match (tendon.terms.as_slice(), acting) {
                ([], _) => {}
                (_, None) if !acts => {}
                (&[(joint, factor)], None) if tendon.spring.0 == 0.0 && factor != 0.0 => {
                    self.resist(tendon, range, joint, factor)?;
                }
                _ => self.slide(tendon, range, acting.unwrap_or_default()),
            }
        }
        Ok(())
    }

    /// Range of lengths of a tendon within the ranges of its joints, in m or rad.
    fn reach(&self, tendon: &Tendon) -> Option<[f64; 2]> {
        let mut reach = [0.0; 2];
        for ([body, k], factor) in &tendon.terms {
            let [low, high] = self.world.bodies[*body].joints[*k].range?;
            let (a, b) = (factor * low, factor * high);
            reach = [reach[0] + a.min(b), reach[1] + a.max(b)];
        }
        Some(reach)
    }

    /// Adds the resistance of a one-joint tendon to its joint.
    fn resist(
        &mut self,
        tendon: &Tendon,
        range: Option<[f64; 2]>,
        [body, k]: [usize; 2],
        factor: f64,
    ) -> Result<(), SceneError> {
        let joint = &mut self.out.joints[self.joint_of[body][k]];
        joint.damping += factor * factor * tendon.damping;
        joint.friction += factor.abs() * tendon.friction;
        joint.armature += factor * factor * tendon.armature;
        if let Some([a, b]) = range.map(|range| range.map(|length| length / factor)) {
            let [low, high] = joint.limits.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
            let limits = [low.max(a.min(b)), high.min(a.max(b))];
            if limits[0] > limits[1] {
                let Place { file, line } = &tendon.place;
                let why = format!("its range leaves the joint `{}` none", joint.name);
                return Err(SceneError::new(file, Some(*line), &tendon.name, why));
            }
            joint.limits = Some(limits);
            if let JointKind::Continuous { axis } = joint.kind {
                joint.kind = JointKind::Revolute { axis };
            }
        }
        Ok(())
    }

    fn slide(&mut self, tendon: &Tendon, range: Option<[f64; 2]>, acting: Acting) {
        let mut terms = self.terms(&tendon.terms, 1.0);
        // attach it to the parent of its first joint, so that coupled joints share a tree
        let beside = &self.out.joints[terms[0].0];
        let (parent, group) = (beside.parent, self.out.links[beside.child].group);
        let link = self.out.links.len();
        let name = Self::free(&mut self.links, &tendon.name);
        self.out.links.push(Link { name, line: tendon.place.line, group, ..Link::default() });
        let name = Self::free(&mut self.joints, &tendon.name);
        let k = acting.stiffness + tendon.spring.0;
        let drive = (k > 0.0).then(|| Drive {
            stiffness: k,
            damping: acting.damping,
            effort: acting.effort(),
            target: Some((acting.pull + tendon.spring.0 * tendon.spring.1) / k),
        });
        let lengths =
            terms.iter().map(|&(j, c)| c * self.out.joints[j].start.as_ref().map_or(0.0, |q| q[0]));
        let start = Some(vec![lengths.sum()]);
        let kind = JointKind::Prismatic { axis: Vec3::X };
        terms.push((self.out.joints.len(), -1.0));
        self.out.joints.push(Joint {
            line: tendon.place.line,
            limits: range,
            friction: tendon.friction,
            damping: tendon.damping + if drive.is_some() { 0.0 } else { acting.damping },
            armature: tendon.armature + acting.armature,
            drive,
            torque: acting.force,
            start,
            ..Joint::new(name.clone(), kind, parent, link, Pose::IDENTITY)
        });
        self.out.constraints.push(Constraint::Coupling { name, terms, offset: 0.0 });
    }

    /// Terms of a tendon with output joint indices; coefficients are multiplied by `factor`.
    pub fn terms(&self, terms: &[([usize; 2], f64)], factor: f64) -> Vec<(usize, f64)> {
        terms.iter().map(|([body, k], c)| (self.joint_of[*body][*k], c * factor)).collect()
    }

    /// Reads gravity and time step.
    fn options(&mut self) -> Result<(), SceneError> {
        let root: &Element = &self.world.specs[self.world.specs.len() - 1].root;
        let mut gravity = GRAVITY;
        for section in root.children("option") {
            let at = Read::plain(section);
            gravity = at.numbers("gravity")?.unwrap_or(gravity);
            if let Some(h) = at.number("timestep")? {
                if !(h > 0.0) {
                    return Err(at.error(format!("timestep {h} was seen; it must be > 0 s")));
                }
                self.out.time_step = Some(h);
            }
        }
        let disabled = root.disables("gravity");
        self.out.gravity = Some(if disabled { [0.0; 3] } else { gravity });
        Ok(())
    }
}

/// True if range `inner` lies within `outer`.
fn within(inner: [f64; 2], outer: [f64; 2]) -> bool {
    outer[0] <= inner[0] && inner[1] <= outer[1]
}

/// Transform to the joint frame at coordinate 0: the file's configuration has the coordinate at its
/// reference value.
fn back_to_zero(joint: &Own) -> Pose {
    match joint.kind {
        Kind::Hinge => Pose::new(Quat::from_axis_angle(joint.axis, -joint.reference), Vec3::ZERO),
        Kind::Slide => Pose::from_translation(joint.axis * -joint.reference),
        Kind::Ball | Kind::Free => Pose::IDENTITY,
    }
}

/// Converts joint velocities. MuJoCo expresses rotations of free and ball joints in the body's
/// axes, and lists the translation of a free joint first. `X` is the pose of a free body that no
/// keyframe places.
fn velocity(kind: Kind, v: &[f64], q: Option<&[f64]>, X: &Pose) -> Vec<f64> {
    let turn = |w: &[f64], rest: Quat| {
        let R = q.and_then(|q| Quat::try_normalize([q[0], q[1], q[2], q[3]])).unwrap_or(rest);
        R.rotate(Vec3::new(w[0], w[1], w[2])).to_array()
    };
    match kind {
        Kind::Free => [&turn(&v[3..], X.rotation)[..], &v[..3]].concat(),
        Kind::Ball => turn(v, Quat::IDENTITY).to_vec(),
        Kind::Slide | Kind::Hinge => v.to_vec(),
    }
}

fn described(
    own: &Own,
    parent: Option<usize>,
    child: usize,
    X_PF: Pose,
    q: Option<Vec<f64>>,
) -> Joint {
    let axis = own.axis;
    let kind = match (own.kind, own.range) {
        (Kind::Free, _) => JointKind::Free,
        (Kind::Ball, _) => JointKind::Ball,
        (Kind::Slide, _) => JointKind::Prismatic { axis },
        (Kind::Hinge, Some(_)) => JointKind::Revolute { axis },
        (Kind::Hinge, None) => JointKind::Continuous { axis },
    };
    // the coordinates of a free body are its world pose
    let X_PF = if own.kind == Kind::Free && q.is_some() { Pose::IDENTITY } else { X_PF };
    let start = match own.kind {
        Kind::Hinge | Kind::Slide => Some(q.unwrap_or_else(|| vec![own.reference])),
        Kind::Ball | Kind::Free => q,
    };
    Joint {
        line: own.place.line,
        limits: own.range,
        damping: own.damping,
        friction: own.friction,
        armature: own.armature,
        start,
        ..Joint::new(own.name.clone(), kind, parent, child, X_PF)
    }
}
