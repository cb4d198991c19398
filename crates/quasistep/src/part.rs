//! The system of some bodies of another system.

use crate::adhesion::AdhesionPad;
use crate::held::{Constraint, ConstraintKind, Held};
use crate::report::{BodyDrag, ContactReport, JointForce, SupportForce};
use crate::row::RowKey;
use crate::state::WarmRow;
use crate::system::{Geom, SetSwitches, System};
use quasistep_model::{Frame, Model};

/// For each index in a part, the index in the whole system. All lists are ascending.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub bodies: Vec<usize>,
    pub geoms: Vec<usize>,
    /// Entries of `q` and `v`.
    pub q: Vec<usize>,
    pub v: Vec<usize>,
    /// Entries of `q_cmd` and `v_cmd`.
    pub q_cmd: Vec<usize>,
    pub v_cmd: Vec<usize>,
    pub constraints: Vec<usize>,
    /// Position limits of the model.
    pub limits: Vec<usize>,
}

impl Places {
    /// Identity in the whole system of a row of the part.
    pub fn key(&self, key: RowKey) -> RowKey {
        let at = |list: &[usize], k: u32| list[k as usize] as u32;
        match key {
            RowKey::Contact { geom_a, geom_b, feature, edge } => RowKey::Contact {
                geom_a: at(&self.geoms, geom_a),
                geom_b: at(&self.geoms, geom_b),
                feature,
                edge,
            },
            RowKey::LowerLimit { limit } => RowKey::LowerLimit { limit: at(&self.limits, limit) },
            RowKey::UpperLimit { limit } => RowKey::UpperLimit { limit: at(&self.limits, limit) },
            RowKey::JointFriction { dof, edge } => {
                RowKey::JointFriction { dof: at(&self.v, dof), edge }
            }
            RowKey::Support { body, edge } => {
                RowKey::Support { body: at(&self.bodies, body), edge }
            }
        }
    }

    /// Index in the whole system of a dof of the part.
    pub fn dof(&self, dof: u32) -> u32 {
        self.v[dof as usize] as u32
    }

    fn body(&self, body: u32) -> u32 {
        self.bodies[body as usize] as u32
    }

    /// A contact of the part, with the indices of the whole system.
    pub fn contact(&self, c: &ContactReport) -> ContactReport {
        let [geom_a, geom_b] = [c.geom_a, c.geom_b].map(|geom| self.geoms[geom as usize] as u32);
        let [body_a, body_b] = [c.body_a, c.body_b].map(|body| self.body(body));
        ContactReport { geom_a, geom_b, body_a, body_b, ..c.clone() }
    }

    /// A force on a joint of the part, with its dof in the whole system.
    pub fn force(&self, force: &JointForce) -> JointForce {
        JointForce { dof: self.dof(force.dof), ..*force }
    }

    /// A support's force in the part, with its body in the whole system.
    pub fn support(&self, support: &SupportForce) -> SupportForce {
        SupportForce { body: self.body(support.body), ..*support }
    }

    /// The drag of a body of the part, with its index in the whole system.
    pub fn drag(&self, drag: &BodyDrag) -> BodyDrag {
        BodyDrag { body: self.body(drag.body), ..*drag }
    }

    /// Warm-start rows of the part among those of the whole system.
    pub fn rows(&self, rows: &[WarmRow]) -> Vec<WarmRow> {
        let own = |row: &WarmRow| Some(WarmRow { key: self.key_in_part(row.key)?, ..*row });
        rows.iter().filter_map(own).collect()
    }

    /// Identity in the part of a row of the whole system, if the part has it.
    pub fn key_in_part(&self, key: RowKey) -> Option<RowKey> {
        let at = |list: &[usize], k: u32| Some(list.binary_search(&(k as usize)).ok()? as u32);
        Some(match key {
            RowKey::Contact { geom_a, geom_b, feature, edge } => RowKey::Contact {
                geom_a: at(&self.geoms, geom_a)?,
                geom_b: at(&self.geoms, geom_b)?,
                feature,
                edge,
            },
            RowKey::LowerLimit { limit } => RowKey::LowerLimit { limit: at(&self.limits, limit)? },
            RowKey::UpperLimit { limit } => RowKey::UpperLimit { limit: at(&self.limits, limit)? },
            RowKey::JointFriction { dof, edge } => {
                RowKey::JointFriction { dof: at(&self.v, dof)?, edge }
            }
            RowKey::Support { body, edge } => {
                RowKey::Support { body: at(&self.bodies, body)?, edge }
            }
        })
    }
}

/// Indices at which `keeps` is true.
fn kept(keeps: impl Iterator<Item = bool>) -> Vec<usize> {
    keeps.enumerate().filter_map(|(k, keeps)| keeps.then_some(k)).collect()
}

impl System {
    /// The system of the bodies that `keeps` marks, and where its parts are in this one. The bodies
    /// include the world and, with one body, all that joints and constraints connect with it.
    pub(crate) fn part(&self, keeps: &[bool]) -> (Self, Places) {
        let at = |k: usize| self.set.as_ref().map_or(k, |set| set.at[k]);
        let model = self.model.part(keeps);
        let bodies = kept(keeps.iter().copied());
        let own = |body: usize| bodies.binary_search(&body).ok();
        let geoms = kept(self.geoms.iter().map(|geom| keeps[geom.body]));
        let springs = kept(self.springs.iter().map(|spring| keeps[spring.given.frame.body]));
        let constraints =
            kept(self.constraints.iter().map(|held| held.bodies().iter().all(|b| keeps[*b])));

        let mut places = Places {
            q: bodies.iter().flat_map(|b| self.model.body(*b).q.clone()).collect(),
            v: bodies.iter().flat_map(|b| self.model.body(*b).v.clone()).collect(),
            limits: kept(self.model.limits().iter().map(|limit| keeps[limit.body])),
            ..Places::default()
        };
        let (mut at_q, mut at_v) = (0, 0);
        let joints = self.commanded().iter().map(|b| (*b, self.model.body(*b)));
        let joints = joints.map(|(b, joint)| (keeps[b], joint.q.len(), joint.v.len()));
        let frames = self.springs.iter().map(|spring| (keeps[spring.given.frame.body], 7, 6));
        let stay = |pad: &AdhesionPad| pad.geoms.iter().any(|geom| keeps[self.geoms[*geom].body]);
        let pads = self.pads.iter().map(|pad| (stay(pad), 1, 1));
        let here = |k: &usize| constraints.iter().position(|own| at(*own) == *k);
        let switches = self.switches.iter().map(|k| (here(k).is_some(), 1, 1));
        for (stays, n_q, n_v) in joints.chain(frames).chain(pads).chain(switches) {
            if stays {
                places.q_cmd.extend(at_q..at_q + n_q);
                places.v_cmd.extend(at_v..at_v + n_v);
            }
            (at_q, at_v) = (at_q + n_q, at_v + n_v);
        }

        let n = self.geoms.len();
        let pairs = geoms.iter().flat_map(|a| geoms.iter().map(move |b| (*a, *b)));
        let mut part = Self {
            geoms: geoms.iter().map(|geom| of_part(&self.geoms[*geom], own)).collect(),
            sizes: geoms.iter().map(|geom| self.sizes[*geom]).collect(),
            roles: bodies.iter().map(|body| self.roles[*body].clone()).collect(),
            instances: bodies.iter().map(|body| self.instances[*body]).collect(),
            friction: self.friction.part(&geoms),
            may_touch: pairs.map(|(a, b)| self.may_touch[a * n + b]).collect(),
            moves_with: geoms
                .iter()
                .map(|geom| self.moves_with[*geom].and_then(|body| own(body as usize)))
                .map(|body| body.map(|body| body as u32))
                .collect(),
            commanded: self.commanded.iter().filter_map(|body| own(*body)).collect(),
            springs: springs
                .iter()
                .map(|k| {
                    self.springs[*k].on(own(self.springs[*k].given.frame.body).expect("it stays"))
                })
                .collect(),
            constraints: constraints_of(self, &constraints, own, &model),
            constraint_groups: Vec::new(),
            pads: self
                .pads
                .iter()
                .filter(|pad| stay(pad))
                .map(|pad| of_geoms(pad, &geoms))
                .collect(),
            switches: self.switches.iter().filter_map(here).collect(),
            set: self.set.as_ref().map(|_| SetSwitches::all(constraints.len())),
            n_cmd: places.q_cmd.len(),
            n_cmd_v: places.v_cmd.len(),
            variable_of_dof: Vec::new(),
            body_of_dof: places
                .v
                .iter()
                .map(|dof| own(self.body_of_dof[*dof]).expect("its dofs stay with a body"))
                .collect(),
            block_dims: Vec::new(),
            block_of_variable: Vec::new(),
            farthest: places.q_cmd.iter().map(|k| self.farthest[*k]).collect(),
            corners: bodies.iter().map(|body| self.corners[*body].clone()).collect(),
            friction_dofs: Vec::new(),
            planes: Vec::new(),
            model,
        };
        (places.bodies, places.geoms) = (bodies, geoms);
        places.constraints = constraints.into_iter().map(at).collect();
        part.lay_out();
        (part, places)
    }
}

fn of_part(geom: &Geom, own: impl Fn(usize) -> Option<usize>) -> Geom {
    Geom { body: own(geom.body).expect("a shape stays with its body"), ..geom.clone() }
}

/// A pad in terms of the shapes of a part.
fn of_geoms(pad: &AdhesionPad, geoms: &[usize]) -> AdhesionPad {
    let own = pad.geoms.iter().filter_map(|geom| geoms.binary_search(geom).ok());
    AdhesionPad { geoms: own.collect(), ..pad.clone() }
}

/// The constraints of a part, in terms of its bodies.
fn constraints_of(
    system: &System,
    list: &[usize],
    own: impl Fn(usize) -> Option<usize>,
    model: &Model,
) -> Vec<Held> {
    let own = |body: usize| own(body).expect("the bodies of a constraint stay together");
    let frame = |frame: &Frame| Frame { body: own(frame.body), ..*frame };
    let mut all: Vec<Held> = Vec::with_capacity(list.len());
    for k in list {
        let Constraint { name, kind, switch } = &system.constraints[*k].given;
        let kind = match kind {
            ConstraintKind::Connect { a, b } => {
                ConstraintKind::Connect { a: frame(a), b: frame(b) }
            }
            ConstraintKind::Weld { a, b } => ConstraintKind::Weld { a: frame(a), b: frame(b) },
            ConstraintKind::Coupling { terms, offset } => ConstraintKind::Coupling {
                terms: terms.iter().map(|(body, c)| (own(*body), *c)).collect(),
                offset: *offset,
            },
        };
        let first = all.last().map_or(0, |last| last.rows.end);
        let held =
            Held::new(Constraint { name: name.clone(), kind, switch: *switch }, model, first);
        all.push(held.expect("the whole system has this constraint"));
    }
    all
}
