//! Bodies and connections in any order and direction, from which the trees of a [`Description`] are
//! built.
//!
//! A file may name either end of a joint first, connect a body by several joints, and place a joint
//! anywhere on both bodies. So each connection has its pose in both bodies. Trees grow from the
//! world first and then from the remaining bodies. A connection that would close a loop becomes a
//! constraint.

use crate::description::{Constraint, Description, Joint, Link, NamedFrame, Tree};
use crate::error::{SceneError, unknown};
use crate::filters::{self, Group, MOST_PAIRS};
use crate::findings::Findings;
use crate::spot::Spot;
use crate::urdf::check_mimics;
use quasistep_math::{Pose, Vec3};
use quasistep_model::JointKind;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Name of a model's own frame.
pub(crate) const MODEL_FRAME: &str = "__model__";

/// Poses closer than this are equal, in m and rad: rounding of chains of about 100 poses, a few
/// metres long.
const SAME: f64 = 1e-12;

/// A body. Without a connection it is free and starts at `X_WB`.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub link: Link,
    pub spot: Spot,
    pub X_WB: Pose,
}

/// A joint between two bodies; `None` is the world.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub spot: Spot,
    pub parent: Option<usize>,
    pub child: Option<usize>,
    /// Pose of the joint frame F in the parent.
    pub X_PF: Pose,
    /// Pose in the child of the frame M that coincides with F at q = 0.
    pub X_CM: Pose,
    /// Joint data; parent, child and origin are filled in later.
    pub joint: Joint,
}

/// A loop closure: two bodies, and a frame or point in each.
#[derive(Clone, Debug)]
pub(crate) struct Closure {
    pub name: String,
    pub bodies: [Option<usize>; 2],
    pub points: [Vec3; 2],
}

/// A linear equation of joint coordinates by joint name: `Σ factor × q = offset`.
#[derive(Clone, Debug)]
pub(crate) struct Sum {
    pub spot: Spot,
    pub terms: Vec<(String, f64)>,
    pub offset: f64,
}

/// Contents of files before they are ordered into trees.
#[derive(Clone, Debug)]
pub(crate) struct Mechanism {
    /// The main file.
    file: String,
    pub bodies: Vec<Body>,
    pub connections: Vec<Connection>,
    /// Names of model instances.
    pub groups: Vec<String>,
    /// Named frames: the body of each, and the frame's pose in it.
    pub frames: BTreeMap<String, (Option<usize>, Pose)>,
    pub filters: Vec<Group>,
    /// Pairs of bodies without collisions.
    pub apart: BTreeSet<[usize; 2]>,
    pub closures: Vec<Closure>,
    pub sums: Vec<Sum>,
    pub gravity: Option<[f64; 3]>,
    pub warnings: Vec<String>,
}

impl Mechanism {
    pub fn new(file: &Path) -> Self {
        Self {
            file: file.display().to_string(),
            bodies: Vec::new(),
            connections: Vec::new(),
            groups: Vec::new(),
            frames: BTreeMap::new(),
            filters: Vec::new(),
            apart: BTreeSet::new(),
            closures: Vec::new(),
            sums: Vec::new(),
            gravity: None,
            warnings: Vec::new(),
        }
    }

    /// Excludes collisions of two bodies.
    pub fn set_apart(&mut self, a: usize, b: usize, spot: &Spot) -> Result<(), SceneError> {
        if a != b {
            self.apart.insert([a.min(b), a.max(b)]);
        }
        if self.apart.len() > MOST_PAIRS {
            return Err(spot.error(format!("more than {MOST_PAIRS} pairs of links never touch")));
        }
        Ok(())
    }

    /// Builds the trees.
    ///
    /// # Errors
    ///
    /// Duplicate names; filters and mimic joints with unknown names.
    pub fn into_description(self) -> Result<Description, SceneError> {
        check_names(&self)?;
        let Forest { edges, loops } = Forest::new(&self.bodies, &self.connections);
        let Self { file, bodies, connections, groups, filters, mut apart, sums, .. } = self;
        apart.extend(filters::apart(&filters)?);
        let mut grown = Grown::new(bodies.iter().map(|body| body.link.clone()).collect());
        for edge in edges {
            grown.hang(edge, &bodies, &connections);
        }
        let mut constraints = Vec::new();
        for closure in self.closures {
            let Closure { name, bodies, points } = closure;
            constraints.push(Constraint::Connect { name, links: bodies, points });
        }
        let counted: BTreeSet<&str> =
            sums.iter().flat_map(|sum| &sum.terms).map(|(name, _)| name.as_str()).collect();
        for k in loops {
            let connection = &connections[k];
            let counts = counted.contains(connection.joint.name.as_str());
            constraints.extend(grown.close(connection, counts));
            if let (Some(a), Some(b)) = (connection.parent, connection.child) {
                apart.insert([a.min(b), a.max(b)]);
            }
        }
        let Grown { links, mut joints, link_names, .. } = grown;
        // the other names are those of links and models
        let is_own = |name: &str| !name.ends_with(MODEL_FRAME) && !link_names.contains(name);
        let frames = self.frames.into_iter().filter(|(name, _)| is_own(name));
        let frames = frames.map(|(name, (link, pose))| NamedFrame { name, link, pose }).collect();
        for sum in &sums {
            constraints.push(coupling(sum, &joints)?);
        }
        let mut findings = Findings::new(&file);
        check_mimics(&mut joints, &mut findings)?;
        let tree = Tree::new(links.len(), &joints).map_err(|lost| {
            SceneError::new(&file, None, &links[lost].name, "it is part of a loop of joints")
        })?;
        let mut warnings = self.warnings;
        warnings.extend(findings.into_warnings());
        Ok(Description {
            links,
            joints,
            tree,
            groups,
            never_touch: apart.into_iter().collect(),
            constraints,
            frames,
            gravity: self.gravity,
            warnings,
            ..Description::default()
        })
    }
}

/// Error if two bodies or two connections have the same name.
fn check_names(of: &Mechanism) -> Result<(), SceneError> {
    let mut seen = BTreeSet::new();
    for body in &of.bodies {
        if !seen.insert(body.link.name.as_str()) {
            return Err(body.spot.error(format!("a second link `{}` was seen", body.link.name)));
        }
    }
    let mut seen = BTreeSet::new();
    for connection in &of.connections {
        let name = connection.joint.name.as_str();
        if !seen.insert(name) {
            return Err(connection.spot.error(format!("a second joint `{name}` was seen")));
        }
    }
    if of.bodies.is_empty() {
        return Err(SceneError::new(&of.file, None, "", "no link was seen; there must be one"));
    }
    Ok(())
}

/// Connection of a body towards the root of its tree: `None` for a root, else the index of the
/// connection. `true` means that the body is the connection's parent, so the joint is reversed.
#[derive(Clone, Copy, Debug)]
struct Edge {
    body: usize,
    /// Index of the connection, and whether the body is its parent.
    by: Option<(usize, bool)>,
}

/// Bodies from the roots outwards, and the connections that are not part of a tree.
struct Forest {
    edges: Vec<Edge>,
    loops: Vec<usize>,
}

impl Forest {
    fn new(bodies: &[Body], connections: &[Connection]) -> Self {
        // for each body, and last for the world: its connections, and whether it is the child
        let world = bodies.len();
        let mut ends: Vec<Vec<(usize, bool)>> = vec![Vec::new(); bodies.len() + 1];
        let mut is_child = vec![false; bodies.len()];
        for (k, connection) in connections.iter().enumerate() {
            ends[connection.parent.unwrap_or(world)].push((k, false));
            ends[connection.child.unwrap_or(world)].push((k, true));
            if let Some(child) = connection.child {
                is_child[child] = true;
            }
        }
        let mut forest = Self { edges: Vec::new(), loops: Vec::new() };
        let mut reached = vec![false; bodies.len() + 1];
        let mut used = vec![false; connections.len()];
        forest.grow(world, &ends, connections, &mut reached, &mut used);
        // prefer as roots bodies that are no joint's child
        let free = (0..bodies.len()).filter(|&b| !is_child[b]).chain(0..bodies.len());
        for body in free {
            if !reached[body] {
                forest.edges.push(Edge { body, by: None });
                forest.grow(body, &ends, connections, &mut reached, &mut used);
            }
        }
        forest.loops = (0..connections.len()).filter(|&k| !used[k]).collect();
        forest
    }

    fn grow(
        &mut self,
        root: usize,
        ends: &[Vec<(usize, bool)>],
        connections: &[Connection],
        reached: &mut [bool],
        used: &mut [bool],
    ) {
        let world = ends.len() - 1;
        reached[root] = true;
        let mut queue = vec![root];
        let mut next = 0;
        while let Some(&at) = queue.get(next) {
            next += 1;
            for &(k, at_child) in &ends[at] {
                let Connection { parent, child, .. } = &connections[k];
                let other = (if at_child { parent } else { child }).unwrap_or(world);
                if reached[other] {
                    continue;
                }
                reached[other] = true;
                used[k] = true;
                queue.push(other);
                self.edges.push(Edge { body: other, by: Some((k, at_child)) });
            }
        }
    }
}

/// Links and joints built so far.
struct Grown {
    links: Vec<Link>,
    joints: Vec<Joint>,
    link_names: BTreeSet<String>,
    joint_names: BTreeSet<String>,
}

impl Grown {
    fn new(links: Vec<Link>) -> Self {
        let link_names = links.iter().map(|link| link.name.clone()).collect();
        Self { links, joints: Vec::new(), link_names, joint_names: BTreeSet::new() }
    }

    /// A name that is not in use, derived from `name`; marks it as used.
    fn fresh(taken: &mut BTreeSet<String>, name: &str) -> String {
        let mut name = name.to_owned();
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        name
    }

    fn hang(&mut self, edge: Edge, bodies: &[Body], connections: &[Connection]) {
        let Edge { body, by } = edge;
        let Some((k, turned)) = by else {
            let Body { link, spot, X_WB } = &bodies[body];
            let name = Self::fresh(&mut self.joint_names, &link.name);
            let mut joint = Joint::new(name, JointKind::Free, None, body, *X_WB);
            joint.line = spot.line;
            self.joints.push(joint);
            return;
        };
        let Connection { parent, child, X_PF, X_CM, joint, .. } = &connections[k];
        let (inner, X_PF, X_CM) = if turned { (child, X_CM, X_PF) } else { (parent, X_PF, X_CM) };
        let kind = if turned { turn(joint.kind) } else { joint.kind };
        let name = Self::fresh(&mut self.joint_names, &joint.name);
        let joint = Joint { name, parent: *inner, child: body, kind, ..joint.clone() };
        if let Some((kind, origin)) = at_body(kind, X_PF, X_CM) {
            self.joints.push(Joint { kind, origin, ..joint });
            return;
        }
        // insert a massless link at the joint, with the body fixed to it at an offset
        let name = Self::fresh(&mut self.link_names, &joint.name);
        let (line, group) = (joint.line, bodies[body].link.group);
        let between = self.links.len();
        self.links.push(Link { name: name.clone(), line, group, ..Link::default() });
        self.joints.push(Joint { child: between, origin: *X_PF, ..joint });
        let name = Self::fresh(&mut self.joint_names, &format!("{name}_offset"));
        let mut rest = Joint::new(name, JointKind::Fixed, Some(between), body, X_CM.inverse());
        rest.line = line;
        self.joints.push(rest);
    }
}

/// The joint with parent and child exchanged; for one dof the axis changes sign.
fn turn(kind: JointKind) -> JointKind {
    match kind {
        JointKind::Revolute { axis } => JointKind::Revolute { axis: -axis },
        JointKind::Continuous { axis } => JointKind::Continuous { axis: -axis },
        JointKind::Prismatic { axis } => JointKind::Prismatic { axis: -axis },
        // for several dofs the coordinates keep their meaning with the bodies exchanged
        JointKind::Fixed | JointKind::Planar | JointKind::Ball | JointKind::Free => kind,
    }
}

/// The equivalent joint whose frame coincides with the child's body frame: its kind, and its pose
/// in the parent. `None` if there is no such joint.
fn at_body(kind: JointKind, X_PF: &Pose, X_CM: &Pose) -> Option<(JointKind, Pose)> {
    let off = X_CM.translation;
    let is_same = off.norm() < SAME && X_CM.rotation.to_rotation_vector().norm() < SAME;
    if is_same {
        return Some((kind, *X_PF));
    }
    let origin = *X_PF * X_CM.inverse();
    let in_body = |axis: Vec3| X_CM.rotation.rotate(axis);
    // for a hinge, the body's origin must lie on the axis
    let on_axis = |axis: Vec3| {
        let axis = in_body(axis).try_normalize().unwrap_or(Vec3::Z);
        (off - axis * axis.dot(off)).norm() < SAME
    };
    match kind {
        JointKind::Fixed => Some((kind, origin)),
        JointKind::Prismatic { axis } => {
            Some((JointKind::Prismatic { axis: in_body(axis) }, origin))
        }
        JointKind::Revolute { axis } if on_axis(axis) => {
            Some((JointKind::Revolute { axis: in_body(axis) }, origin))
        }
        JointKind::Continuous { axis } if on_axis(axis) => {
            Some((JointKind::Continuous { axis: in_body(axis) }, origin))
        }
        _ => None,
    }
}

impl Grown {
    /// The constraints that replace a loop-closing connection. One whose coordinate `counts` stays a
    /// joint.
    fn close(&mut self, connection: &Connection, counts: bool) -> Vec<Constraint> {
        let Connection { parent, child, X_PF, X_CM, joint, spot } = connection;
        let links = [*parent, *child];
        let name = &joint.name;
        let connect = |name: String, p: Vec3| Constraint::Connect {
            name,
            links,
            points: [X_PF.transform_point(p), X_CM.transform_point(p)],
        };
        match joint.kind {
            JointKind::Fixed => {
                vec![Constraint::Weld { name: name.clone(), links, poses: [*X_PF, *X_CM] }]
            }
            JointKind::Ball => vec![connect(name.clone(), Vec3::ZERO)],
            // a hinge becomes two point constraints on its axis; one of the six rows is redundant and
            // is removed later
            JointKind::Revolute { axis } | JointKind::Continuous { axis } if !counts => vec![
                connect(name.clone(), Vec3::ZERO),
                connect(
                    format!("{name}_axis"),
                    axis.try_normalize().unwrap_or(Vec3::Z) * AXIS_POINT,
                ),
            ],
            JointKind::Free => Vec::new(),
            // the joint stays, with a massless link that is welded to the child
            _ => {
                let end = self.links.len();
                let link = Self::fresh(&mut self.link_names, name);
                let group = parent.or(*child).map_or(0, |beside| self.links[beside].group);
                self.links.push(Link { name: link, line: spot.line, group, ..Link::default() });
                let own = Self::fresh(&mut self.joint_names, name);
                let origin = *X_PF;
                self.joints.push(Joint {
                    name: own,
                    parent: *parent,
                    child: end,
                    origin,
                    ..joint.clone()
                });
                let poses = [Pose::IDENTITY, *X_CM];
                vec![Constraint::Weld { name: name.clone(), links: [Some(end), *child], poses }]
            }
        }
    }
}

/// Distance of the second point along the axis of a loop-closing hinge, in m: about the width of a
/// robot link.
const AXIS_POINT: f64 = 0.1;

fn coupling(sum: &Sum, joints: &[Joint]) -> Result<Constraint, SceneError> {
    let index: BTreeMap<&str, usize> =
        joints.iter().enumerate().map(|(k, joint)| (joint.name.as_str(), k)).collect();
    let mut terms = Vec::new();
    for (name, factor) in &sum.terms {
        let Some(&k) = index.get(name.as_str()) else {
            let names: Vec<&str> = index.keys().copied().collect();
            return Err(sum.spot.error(unknown("joint", name, &names)));
        };
        if joints[k].kind.n_v() != 1 {
            return Err(sum
                .spot
                .error(format!("`{name}` has {} dofs; it must have one", joints[k].kind.n_v())));
        }
        terms.push((k, *factor));
    }
    Ok(Constraint::Coupling { name: sum.spot.key.to_string(), terms, offset: sum.offset })
}
