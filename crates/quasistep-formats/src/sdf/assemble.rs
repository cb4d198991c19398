//! Bodies and connections of a model or world whose frames are resolved.

use super::constraint;
use super::frames::{Frames, Scope};
use super::joint::{Axis, Joint, Kind};
use super::link::{Link, Shape};
use super::model::Model;
use super::value::{MODEL_FRAME, SCOPE, WORLD};
use crate::description::{self, Drive, MimicOf};
use crate::error::{SceneError, unknown};
use crate::filters::Group;
use crate::mechanism::{Body, Closure, Connection, Mechanism, Sum};
use crate::spot::Spot;
use quasistep_math::{Pose, Vec3};
use quasistep_model::JointKind;
use std::collections::{BTreeMap, BTreeSet};

/// Tolerance of right angles between axes, in rad.
const RIGHT: f64 = 1e-9;

/// Adds a model, or the models of a world, with `name` as prefix. With an empty name, names are
/// unchanged.
pub(super) fn add(into: &mut Mechanism, root: &Model, name: &str) -> Result<(), SceneError> {
    let frames = Frames::new(root)?;
    let (first_group, bodies) = (into.groups.len(), BTreeMap::new());
    let (prefixes, groups) = (Vec::new(), Vec::new());
    let mut assembler = Assembler { into, frames, bodies, first_group, prefixes, groups };
    assembler.name_scopes(name);
    for scope in 0..assembler.frames.scopes.len() {
        assembler.add_links(scope)?;
    }
    for scope in 0..assembler.frames.scopes.len() {
        assembler.add_frames(scope);
        assembler.add_joints(scope)?;
        assembler.add_filters(scope)?;
        assembler.add_closures(scope)?;
    }
    assembler.fix_static();
    Ok(())
}

struct Assembler<'t, 'm> {
    into: &'t mut Mechanism,
    frames: Frames<'m>,
    /// Body index by frame index of the link.
    bodies: BTreeMap<usize, usize>,
    /// Group index of the outermost scope.
    first_group: usize,
    /// Name prefix of each scope.
    prefixes: Vec<String>,
    /// Group index of each scope: that of the model around it, or its own if it stands in a world.
    groups: Vec<usize>,
}

impl<'m> Assembler<'_, 'm> {
    fn name_scopes(&mut self, name: &str) {
        let n = self.frames.scopes.len();
        self.prefixes = vec![String::new(); n];
        if !name.is_empty() {
            self.prefixes[0] = format!("{name}{SCOPE}");
        }
        self.groups = vec![self.first_group; n];
        let outer = &self.frames.scopes[0].model;
        let first = self.prefixes[0].strip_suffix(SCOPE).unwrap_or(&outer.name).to_owned();
        self.into.groups.push(first);
        for scope in 0..n {
            let Scope { model, models, .. } = &self.frames.scopes[scope];
            for &inner in models {
                let name =
                    format!("{}{}", self.prefixes[scope], self.frames.scopes[inner].model.name);
                self.groups[inner] = self.groups[scope];
                if model.is_world {
                    self.groups[inner] = self.into.groups.len();
                    self.into.groups.push(name.clone());
                }
                self.prefixes[inner] = name + SCOPE;
            }
        }
    }

    /// Adds the bodies of the links in a scope.
    fn add_links(&mut self, scope: usize) -> Result<(), SceneError> {
        let model = self.frames.scopes[scope].model;
        let prefix = self.prefixes[scope].clone();
        let group = self.groups[scope];
        let first = self.into.bodies.len();
        for (k, link) in model.links.iter().enumerate() {
            let frame = self.frames.scopes[scope].links[k];
            let body = self.into.bodies.len();
            self.bodies.insert(frame, body);
            let own = description::Link {
                name: format!("{prefix}{}", link.name),
                line: link.spot.line,
                group,
                inertial: link.inertial,
                compensated: link.compensated,
                visuals: self.parts(&link.visuals, frame, scope)?,
                collisions: self.parts(&link.collisions, frame, scope)?,
            };
            let X_WB = self.frames.X_W(frame);
            self.into.bodies.push(Body { link: own, spot: link.spot.clone(), X_WB });
        }
        // two links of a model do not collide if `self_collide` is false for both
        let collides = |link: &Link| link.self_collide.or(model.self_collide) != Some(false);
        let apart: Vec<usize> =
            (0..model.links.len()).filter(|&k| !collides(&model.links[k])).collect();
        for (k, &a) in apart.iter().enumerate() {
            for &b in &apart[k + 1..] {
                self.into.set_apart(first + a, first + b, &model.spot)?;
            }
        }
        Ok(())
    }

    fn parts(
        &self,
        shapes: &[Shape],
        link: usize,
        scope: usize,
    ) -> Result<Vec<description::Part>, SceneError> {
        let part = |shape: &Shape| {
            let mut part = shape.part.clone();
            if let Some(name) = &shape.relative_to {
                let frame = self.frames.find(scope, name, &shape.spot)?;
                part.origin = self.frames.pose(link, frame) * part.origin;
            }
            Ok(part)
        };
        shapes.iter().map(part).collect()
    }

    /// The body that carries a frame, and the frame's pose in it.
    fn on_body(&self, frame: usize) -> (Option<usize>, Pose) {
        match self.frames.link_of(frame) {
            Some(link) => (self.bodies.get(&link).copied(), self.frames.pose(link, frame)),
            None => (None, self.frames.X_W(frame)),
        }
    }

    /// Registers scoped names of frames for other files.
    fn add_frames(&mut self, scope: usize) {
        let at = &self.frames.scopes[scope];
        let prefix = &self.prefixes[scope];
        let links = at.links.iter().zip(at.model.links.iter().map(|l| l.name.as_str()));
        let frames = at.frames.iter().zip(at.model.frames.iter().map(|f| f.name.as_str()));
        let own = (&at.frame, MODEL_FRAME);
        let mut all = Vec::new();
        for (&frame, name) in links.chain(frames).chain([own]) {
            all.push((format!("{prefix}{name}"), self.on_body(frame)));
        }
        for (name, place) in all {
            self.into.frames.entry(name).or_insert(place);
        }
    }

    fn add_joints(&mut self, scope: usize) -> Result<(), SceneError> {
        let model: &'m Model = self.frames.scopes[scope].model;
        let names: BTreeSet<&str> = model.joints.iter().map(|joint| joint.name.as_str()).collect();
        for (k, joint) in model.joints.iter().enumerate() {
            let frame = self.frames.scopes[scope].joints[k];
            match &joint.kind {
                Kind::Gearbox { ratio, reference } => {
                    self.add_gearbox(scope, joint, frame, *ratio, reference)?;
                }
                _ => self.add_joint(scope, joint, frame, &names)?,
            }
        }
        Ok(())
    }

    fn add_joint(
        &mut self,
        scope: usize,
        joint: &Joint,
        frame: usize,
        names: &BTreeSet<&str>,
    ) -> Result<(), SceneError> {
        let spot = &joint.spot;
        let parent_frame = self.frames.find(scope, &joint.parent, spot)?;
        let child_frame = self.frames.find(scope, &joint.child, spot)?;
        let (parent, mut X_PF) = self.on_body(parent_frame);
        let (child, mut X_CM) = self.on_body(child_frame);
        if parent == child {
            return Err(spot.error("its parent and child are one link; they must differ"));
        }
        // Drake's planar joint gives its frames directly; other joints are defined by one joint
        // frame
        if joint.kind != Kind::Planar {
            let of = |end: usize| match self.frames.link_of(end) {
                Some(link) => self.frames.pose(link, frame),
                None => self.frames.X_W(frame),
            };
            (X_PF, X_CM) = (of(parent_frame), of(child_frame));
        }
        let name = format!("{}{}", self.prefixes[scope], joint.name);
        let connection =
            |joint| Connection { spot: spot.clone(), parent, child, X_PF, X_CM, joint };
        let plain = |kind| {
            let mut own = description::Joint::new(name.clone(), kind, None, 0, Pose::IDENTITY);
            own.line = spot.line;
            own
        };
        let own = match (&joint.kind, joint.axes.as_slice()) {
            (Kind::Fixed, _) => plain(JointKind::Fixed),
            (Kind::Free, _) => plain(JointKind::Free),
            (Kind::Planar, _) => plain(JointKind::Planar),
            (Kind::Ball, axes) => {
                let mut own = plain(JointKind::Ball);
                own.damping = axes.first().map_or(0.0, |axis| axis.damping);
                own
            }
            (Kind::Revolute | Kind::Prismatic, [axis]) => {
                let direction = self.direction(scope, frame, axis)?;
                let kind = kind(&joint.kind, axis, direction);
                let mut own = along(plain(kind), axis, joint);
                own.mimic = self.mimic(scope, joint, names)?;
                own
            }
            (Kind::TwoHinges, [first, second]) => {
                let ends = [("_axis", Kind::Revolute, first), ("_axis2", Kind::Revolute, second)];
                let whole = connection(plain(JointKind::Fixed));
                return self.add_two(scope, joint, frame, ends, &whole);
            }
            (Kind::Screw { lead }, [axis]) => {
                let slide = Axis {
                    limits: [f64::NEG_INFINITY, f64::INFINITY],
                    effort: None,
                    damping: 0.0,
                    friction: 0.0,
                    spring: None,
                    ..axis.clone()
                };
                let ends = [("", Kind::Revolute, axis), ("_slide", Kind::Prismatic, &slide)];
                let terms = vec![(format!("{name}_slide"), 1.0), (name.clone(), -lead)];
                self.into.sums.push(Sum { spot: spot.clone(), terms, offset: 0.0 });
                let whole = connection(plain(JointKind::Fixed));
                return self.add_two(scope, joint, frame, ends, &whole);
            }
            _ => return Err(spot.error("the number of its axes does not fit its type")),
        };
        self.into.connections.push(connection(own));
        Ok(())
    }

    /// Adds two joints of one dof each, with a massless link between them: a universal joint, or a
    /// screw. Each is told by the end of its name, its kind and its axis.
    fn add_two(
        &mut self,
        scope: usize,
        joint: &Joint,
        frame: usize,
        joints: [(&str, Kind, &Axis); 2],
        whole: &Connection,
    ) -> Result<(), SceneError> {
        let spot = &joint.spot;
        let directions = [
            self.direction(scope, frame, joints[0].2)?,
            self.direction(scope, frame, joints[1].2)?,
        ];
        if joint.kind == Kind::TwoHinges && directions[0].dot(directions[1]).abs() > RIGHT {
            return Err(spot.error("<axis> and <axis2> were seen; they must be at right angles"));
        }
        let between = self.into.bodies.len();
        let group = self.groups[scope];
        let link = description::Link {
            name: format!("{}{}", whole.joint.name, joints[0].0),
            line: spot.line,
            group,
            ..description::Link::default()
        };
        self.into.bodies.push(Body { link, spot: spot.clone(), X_WB: self.frames.X_W(frame) });
        let ends = [
            (whole.parent, Some(between), whole.X_PF, Pose::IDENTITY),
            (Some(between), whole.child, Pose::IDENTITY, whole.X_CM),
        ];
        for (((parent, child, X_PF, X_CM), (end, of, axis)), direction) in
            ends.into_iter().zip(joints).zip(directions)
        {
            let name = format!("{}{end}", whole.joint.name);
            let kind = kind(&of, axis, direction);
            let own = description::Joint { name, kind, ..whole.joint.clone() };
            let mut own = along(own, axis, joint);
            // what drives and resists a screw turns it
            if of == Kind::Prismatic {
                (own.drive, own.armature) = (None, 0.0);
            }
            self.into.connections.push(Connection {
                spot: spot.clone(),
                parent,
                child,
                X_PF,
                X_CM,
                joint: own,
            });
        }
        match (whole.parent, whole.child) {
            (Some(a), Some(b)) => self.into.set_apart(a, b, spot),
            _ => Ok(()),
        }
    }

    /// Direction of an axis in the joint frame.
    fn direction(&self, scope: usize, joint: usize, axis: &Axis) -> Result<Vec3, SceneError> {
        let Some(name) = &axis.expressed_in else { return Ok(axis.direction) };
        let frame = self.frames.find(scope, name, &axis.spot)?;
        Ok(self.frames.pose(joint, frame).rotation.rotate(axis.direction))
    }

    /// Mimic relation of a joint; `names` are the joints in the scope.
    fn mimic(
        &self,
        scope: usize,
        joint: &Joint,
        names: &BTreeSet<&str>,
    ) -> Result<Option<MimicOf>, SceneError> {
        let Some(mimic) = &joint.mimic else { return Ok(None) };
        let prefix = &self.prefixes[scope];
        // a scoped name refers to a joint of a nested model
        if !mimic.leader.contains(SCOPE) && !names.contains(mimic.leader.as_str()) {
            let names: Vec<&str> = names.iter().copied().collect();
            return Err(mimic.spot.error(unknown("joint", &mimic.leader, &names)));
        }
        Ok(Some(MimicOf {
            joint: format!("{prefix}{}", mimic.leader),
            line: mimic.spot.line,
            multiplier: mimic.multiplier,
            offset: mimic.offset,
        }))
    }

    /// Adds a gearbox: the angle from reference to child is −ratio times that from reference to
    /// parent.
    fn add_gearbox(
        &mut self,
        scope: usize,
        joint: &Joint,
        frame: usize,
        ratio: f64,
        reference: &str,
    ) -> Result<(), SceneError> {
        let spot = &joint.spot;
        let link = |name: &str| -> Result<Option<usize>, SceneError> {
            Ok(self.frames.link_of(self.frames.find(scope, name, spot)?))
        };
        let base = link(reference)?;
        let mut terms = Vec::new();
        for (name, axis, factor) in
            [(&joint.parent, &joint.axes[0], ratio), (&joint.child, &joint.axes[1], 1.0)]
        {
            let end = link(name)?;
            let direction =
                self.frames.X_W(frame).rotation.rotate(self.direction(scope, frame, axis)?);
            let (hinge, sign) = self.hinge_between(scope, base, end, direction, spot)?;
            terms.push((hinge, sign * factor));
        }
        self.into.sums.push(Sum { spot: spot.clone(), terms, offset: 0.0 });
        Ok(())
    }

    /// Name of the hinge between two links about this world direction, and the sign (+1 or −1) of
    /// its angle as a rotation from `from` to `to`.
    fn hinge_between(
        &self,
        scope: usize,
        from: Option<usize>,
        to: Option<usize>,
        direction: Vec3,
        spot: &Spot,
    ) -> Result<(String, f64), SceneError> {
        let at = &self.frames.scopes[scope];
        for (hinge, &frame) in at.model.joints.iter().zip(&at.joints) {
            if hinge.kind != Kind::Revolute {
                continue;
            }
            let end =
                |name: &str| self.frames.find(scope, name, spot).map(|f| self.frames.link_of(f));
            let ends = (end(&hinge.parent)?, end(&hinge.child)?);
            let forward = ends == (from, to);
            if !forward && ends != (to, from) {
                continue;
            }
            let own = self.direction(scope, frame, &hinge.axes[0])?;
            let along = self.frames.X_W(frame).rotation.rotate(own).dot(direction);
            if along.abs() > 1.0 - RIGHT {
                let sign = along.signum() * if forward { 1.0 } else { -1.0 };
                return Ok((format!("{}{}", self.prefixes[scope], hinge.name), sign));
            }
        }
        Err(spot.error(
            "<gearbox_reference_body> has no revolute joint about the axis to the parent or to the child; a gearbox couples two such joints",
        ))
    }

    fn add_filters(&mut self, scope: usize) -> Result<(), SceneError> {
        let model: &'m Model = self.frames.scopes[scope].model;
        let prefix = &self.prefixes[scope];
        let scoped = |names: &[(String, Spot)]| -> Vec<(String, Spot)> {
            names.iter().map(|(name, spot)| (format!("{prefix}{name}"), spot.clone())).collect()
        };
        for filter in &model.filters {
            let mut members = Vec::new();
            for (name, spot) in &filter.members {
                let frame = self.frames.find(scope, name, spot)?;
                match self.frames.link_of(frame).and_then(|link| self.bodies.get(&link)) {
                    Some(&body) => members.push(body),
                    None => return Err(spot.error(format!("`{name}` is no link"))),
                }
            }
            self.into.filters.push(Group {
                name: format!("{prefix}{}", filter.name),
                spot: filter.spot.clone(),
                members,
                member_groups: scoped(&filter.member_groups),
                ignored: scoped(&filter.ignored),
            });
        }
        for pair in &model.apart {
            let mut bodies = Vec::new();
            for name in pair.iter().filter(|name| *name != WORLD) {
                let frame = self.frames.find(scope, name, &model.spot)?;
                bodies.extend(self.frames.link_of(frame).and_then(|link| self.bodies.get(&link)));
            }
            if let [a, b] = *bodies {
                self.into.set_apart(a, b, &model.spot)?;
            }
        }
        Ok(())
    }

    fn add_closures(&mut self, scope: usize) -> Result<(), SceneError> {
        let model: &'m Model = self.frames.scopes[scope].model;
        for closure in &model.closures {
            match &closure.kind {
                constraint::Kind::Point { links, points } => {
                    let mut bodies = [None; 2];
                    let mut on_bodies = *points;
                    for k in 0..2 {
                        let frame = self.frames.find(scope, &links[k], &closure.spot)?;
                        let (body, X) = self.on_body(frame);
                        (bodies[k], on_bodies[k]) = (body, X.transform_point(points[k]));
                    }
                    let name = closure.spot.key.to_string();
                    self.into.closures.push(Closure { name, bodies, points: on_bodies });
                }
                constraint::Kind::Sum { terms, offset } => {
                    let prefix = &self.prefixes[scope];
                    let terms = terms.iter().map(|(name, a)| (format!("{prefix}{name}"), *a));
                    let (spot, offset) = (closure.spot.clone(), *offset);
                    self.into.sums.push(Sum { spot, terms: terms.collect(), offset });
                }
            }
        }
        Ok(())
    }

    /// Welds links of static models to the world and removes joints between them.
    fn fix_static(&mut self) {
        let mut is_static: Vec<bool> =
            self.frames.scopes.iter().map(|scope| scope.model.is_static).collect();
        for scope in 0..is_static.len() {
            for &inner in &self.frames.scopes[scope].models {
                is_static[inner] |= is_static[scope];
            }
        }
        let mut held = BTreeMap::new();
        for scope in (0..is_static.len()).filter(|&scope| is_static[scope]) {
            let at = &self.frames.scopes[scope];
            for (frame, link) in at.links.iter().zip(&at.model.links) {
                let name = format!("{}{}_static", self.prefixes[scope], link.name);
                held.extend(self.bodies.get(frame).map(|&body| (body, (name, &link.spot))));
            }
        }
        // a joint whose child is static cannot move it
        self.into.connections.retain(|c| {
            let stays = c.child.is_some_and(|child| held.contains_key(&child));
            if stays && c.joint.kind.n_v() > 0 {
                let text = "it is part of a static model: it does not move";
                self.into.warnings.push(c.spot.warning(text));
            }
            !stays
        });
        for (body, (name, spot)) in held {
            let mut joint =
                description::Joint::new(name, JointKind::Fixed, None, 0, Pose::IDENTITY);
            joint.line = spot.line;
            self.into.connections.push(Connection {
                spot: spot.clone(),
                parent: None,
                child: Some(body),
                X_PF: self.into.bodies[body].X_WB,
                X_CM: Pose::IDENTITY,
                joint,
            });
        }
    }
}

fn kind(of: &Kind, axis: &Axis, direction: Vec3) -> JointKind {
    let has_ends = axis.limits.iter().any(|end| end.is_finite());
    match of {
        Kind::Prismatic => JointKind::Prismatic { axis: direction },
        _ if has_ends => JointKind::Revolute { axis: direction },
        _ => JointKind::Continuous { axis: direction },
    }
}

/// A one-dof joint with the limits, drive and resistance of its axis.
fn along(joint: description::Joint, axis: &Axis, of: &Joint) -> description::Joint {
    let has_ends = axis.limits.iter().any(|end| end.is_finite());
    let spring = axis.spring.map(|[stiffness, rest]| Drive {
        stiffness,
        damping: 0.0,
        effort: None,
        target: Some(rest),
    });
    description::Joint {
        limits: has_ends.then_some(axis.limits),
        effort: axis.effort,
        damping: axis.damping,
        friction: axis.friction,
        armature: of.armature,
        drive: of.drive.or(spring),
        ..joint
    }
}
