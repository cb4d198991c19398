//! Results of bodies at rest, and the bodies that move as a system of their own: see `rest.rs`.

use crate::certificate::Certificate;
use crate::load::Drive;
use crate::params::StepParams;
use crate::part::Places;
use crate::report::{BodyDrag, ContactReport, JointForce, LastSubstep, StepReport, SupportForce};
use crate::row::RowKey;
use crate::scan::Scan;
use crate::state::{State, StepInput, WarmRow, Wrench};
use crate::system::{Geom, System};
use quasistep_geometry::Aabb;

/// What a workspace knows of rest.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// Parameters and input of the last step; `None` before the first.
    pub last: Option<(StepParams, StepInput)>,
    /// State and warm start before the last step, of the bodies that it moved.
    pub before: Before,
    /// Configuration after the last step.
    pub q: Vec<f64>,
    pub v: Vec<f64>,
    /// Tree of each body, named by its outermost body.
    pub tree: Vec<usize>,
    /// Trees with a dof.
    pub trees: Vec<usize>,
    /// Island of each resting tree, named by one of its trees.
    pub island: Vec<usize>,
    /// Number of steps since the bodies were last divided.
    pub since: usize,
    /// Factor on the number of steps until bodies are divided again. It doubles each time that a
    /// division has not paid.
    pub patience: usize,
    /// True if rows are compared after the next step.
    pub watches: bool,
    pub part: Option<Box<Part>>,
}

#[derive(Debug, Default)]
pub(crate) struct Before {
    pub q: Vec<f64>,
    pub v: Vec<f64>,
    pub rows: Vec<WarmRow>,
}

/// The bodies that do not rest. Their memory is [`Workspace::awake`](crate::Workspace).
#[derive(Debug)]
pub(crate) struct Part {
    pub system: System,
    pub places: Places,
    /// Tree of each body, as named in the whole system.
    pub tree: Vec<usize>,
    pub state: State,
    pub input: StepInput,
    pub resting: Resting,
    /// Index in the report of the whole system of each contact of the part.
    pub contacts: Vec<usize>,
}

/// Results of resting bodies, and where these are.
#[derive(Debug, Default)]
pub(crate) struct Resting {
    /// For each body, whether it rests.
    pub bodies: Vec<bool>,
    /// Where they and the bodies without a dof are in the whole system.
    pub places: Places,
    pub rows: Vec<WarmRow>,
    pub contacts: Vec<ContactReport>,
    pub limits: Vec<JointForce>,
    pub joint_friction: Vec<JointForce>,
    pub supports: Vec<SupportForce>,
    pub saturated: Vec<u32>,
    pub drags: Vec<BodyDrag>,
    pub certificate: Certificate,
    /// Boxes of the geoms with their trees, ascending by their least x. Each comes with the largest
    /// x of those up to it, in m.
    pub boxes: Vec<(Aabb, usize, f64)>,
}

impl Rest {
    /// The rows of the next step's warm start of all bodies, given those of bodies that move; `None` if
    /// none rests.
    pub fn rows(&self, own: &[WarmRow]) -> Option<Vec<WarmRow>> {
        Some(self.part.as_ref()?.rows_of_all(own))
    }

    /// Wakes all bodies, whose warm start is replaced.
    pub fn forget(&mut self) {
        (self.part, self.since, self.watches) = (None, 0, false);
    }
}

impl Before {
    /// Marks trees whose configuration or velocity the step has changed as not still.
    pub fn mark_moved(&self, system: &System, after: &State, tree: &[usize], still: &mut [bool]) {
        for (body, tree) in system.model.bodies().iter().zip(tree) {
            let same = |a: &[f64], b: &[f64], range: &std::ops::Range<usize>| {
                a.len() == b.len() && a.get(range.clone()) == b.get(range.clone())
            };
            if !(same(&self.q, &after.q, &body.q)
                && (after.v.is_empty() && self.v.is_empty() || same(&self.v, &after.v, &body.v)))
            {
                still[*tree] = false;
            }
        }
    }

    /// Marks trees whose warm start the step has changed as not still.
    pub fn mark_loaded(
        &self,
        system: &System,
        rows: &[WarmRow],
        tree: &[usize],
        still: &mut [bool],
    ) {
        let (mut old, mut new) = (self.rows.iter().peekable(), rows.iter().peekable());
        loop {
            let key = match (old.peek(), new.peek()) {
                (None, None) => break,
                (Some(row), None) | (None, Some(row)) => row.key,
                (Some(a), Some(b)) => a.key.min(b.key),
            };
            let [a, b] = [old.next_if(|row| row.key == key), new.next_if(|row| row.key == key)];
            if a != b {
                for body in bodies_of(system, key) {
                    still[tree[body]] = false;
                }
            }
        }
    }
}

/// Bodies on which a row acts.
fn bodies_of(system: &System, key: RowKey) -> [usize; 2] {
    match key {
        RowKey::Contact { geom_a, geom_b, .. } => {
            [geom_a, geom_b].map(|geom| system.geoms[geom as usize].body)
        }
        RowKey::LowerLimit { limit } | RowKey::UpperLimit { limit } => {
            [system.model.limits()[limit as usize].body; 2]
        }
        RowKey::JointFriction { dof, .. } => [system.body_of_dof[dof as usize]; 2],
        RowKey::Support { body, .. } => [body as usize; 2],
    }
}

/// Joins trees that touch or are near one another to islands, each named by its first tree. Trees
/// of an island are still only if all of them are. Trees without a dof join nothing. What touches one
/// that has a pad is not still, since it shares the pull with all others that touch the pad.
pub(crate) fn islands(
    system: &System,
    near: impl Iterator<Item = [u32; 2]>,
    tree: &[usize],
    still: &mut [bool],
    count: usize,
) -> Vec<usize> {
    let mut moves = vec![false; count];
    for (body, tree) in system.model.bodies().iter().zip(tree) {
        moves[*tree] |= !body.v.is_empty();
    }
    let mut island: Vec<usize> = (0..count).collect();
    let root = |island: &[usize], mut at: usize| {
        while island[at] != at {
            at = island[at];
        }
        at
    };
    for geoms in near {
        let [a, b] = geoms.map(|geom| tree[system.geoms[geom as usize].body]);
        if moves[a] && moves[b] {
            let [a, b] = [root(&island, a), root(&island, b)];
            island[a.max(b)] = a.min(b);
        } else if system.pads.iter().any(|pad| geoms.iter().any(|geom| pad.has(*geom))) {
            still[a] = false;
            still[b] = false;
        }
    }
    for k in 0..count {
        island[k] = island[island[k]];
    }
    let mut whole = vec![true; count];
    for k in (0..count).filter(|k| moves[*k]) {
        whole[island[k]] &= still[k];
    }
    for k in 0..count {
        still[k] &= whole[island[k]];
    }
    island
}

impl Resting {
    /// Results of a step of the resting bodies, which are a part of the whole system. `bodies` marks
    /// them.
    pub fn new(
        part: Part,
        scan: &Scan,
        report: &StepReport,
        rows: &[WarmRow],
        bodies: Vec<bool>,
    ) -> Self {
        let Part { system, places, tree, .. } = part;
        let moving = |(_, geom): &(usize, &Geom)| bodies[places.bodies[geom.body]];
        let geoms = system.geoms.iter().enumerate().filter(moving);
        let mut boxes: Vec<_> =
            geoms.map(|(k, geom)| (scan.aabb(k), tree[geom.body], f64::NEG_INFINITY)).collect();
        boxes.sort_by(|(a, ..), (b, ..)| a.min.x.total_cmp(&b.min.x));
        let mut reach = f64::NEG_INFINITY;
        for (aabb, _, up_to) in &mut boxes {
            reach = reach.max(aabb.max.x);
            *up_to = reach;
        }
        Self {
            rows: rows.iter().map(|row| WarmRow { key: places.key(row.key), ..*row }).collect(),
            contacts: report.contacts.iter().map(|c| places.contact(c)).collect(),
            limits: report.limits.iter().map(|f| places.force(f)).collect(),
            joint_friction: report.joint_friction.iter().map(|f| places.force(f)).collect(),
            supports: report.supports.iter().map(|s| places.support(s)).collect(),
            saturated: report.saturated.iter().map(|dof| places.dof(*dof)).collect(),
            drags: report.drags.iter().map(|drag| places.drag(drag)).collect(),
            certificate: report.certificate,
            boxes,
            places,
            bodies,
        }
    }

    /// Adds the trees with a geom within `margin` (m) of a box.
    fn near(&self, aabb: &Aabb, margin: f64, out: &mut Vec<usize>) {
        let end = self.boxes.partition_point(|(own, ..)| own.min.x <= aabb.max.x + margin);
        for (own, tree, reach) in self.boxes[..end].iter().rev() {
            if *reach < aabb.min.x - margin {
                break;
            }
            if own.near(aabb, margin) {
                out.push(*tree);
            }
        }
    }
}

/// Entries of `all` at the given places.
fn take(to: &mut Vec<f64>, all: &[f64], places: &[usize]) {
    to.clear();
    if !all.is_empty() {
        to.extend(places.iter().map(|k| all[*k]));
    }
}

/// Writes entries to the given places of `all`.
pub(crate) fn put(all: &mut [f64], own: &[f64], places: &[usize]) {
    for (k, x) in places.iter().zip(own) {
        all[*k] = *x;
    }
}

impl Part {
    /// The part `system` of a whole system in which `tree` names the tree of each body.
    pub fn new(system: System, places: Places, tree: &[usize], resting: Resting) -> Self {
        Self {
            tree: places.bodies.iter().map(|body| tree[*body]).collect(),
            system,
            places,
            state: State::default(),
            input: StepInput::default(),
            resting,
            contacts: Vec::new(),
        }
    }

    /// Takes state and input of the part's bodies.
    pub fn gather(&mut self, state: &State, input: &Drive<'_>) {
        let Self { places, state: own, input: to, .. } = self;
        own.time = state.time;
        take(&mut own.q, &state.q, &places.q);
        take(&mut own.v, &state.v, &places.v);
        take(&mut to.q_cmd, input.q_cmd, &places.q_cmd);
        take(&mut to.v_cmd, input.v_cmd, &places.v_cmd);
        take(&mut to.tau, input.tau, &places.v);
        let place = |body: usize| places.bodies.binary_search(&body).ok();
        to.wrenches.clear();
        to.wrenches.extend(
            input
                .wrenches
                .iter()
                .filter_map(|w| Some(Wrench { body: place(w.body)?, ..w.clone() })),
        );
    }

    /// Trees at rest that are within `margin` (m) of the boxes around the motion of each geom.
    pub fn touched(&self, covered: &[Aabb], margin: f64) -> Vec<usize> {
        let mut trees = Vec::new();
        for (aabb, geom) in covered.iter().zip(&self.system.geoms) {
            if !self.system.model.path(geom.body).is_empty() {
                self.resting.near(aabb, margin, &mut trees);
            }
        }
        trees
    }

    /// Warm-start rows of all bodies, given those of the part.
    pub fn rows_of_all(&self, rows: &[WarmRow]) -> Vec<WarmRow> {
        let own = rows.iter().map(|row| WarmRow { key: self.places.key(row.key), ..*row });
        let mut all: Vec<WarmRow> = self.resting.rows.iter().copied().chain(own).collect();
        all.sort_by_key(|row| row.key);
        all
    }

    /// Writes the state and the report of the part into those of the whole system.
    pub fn scatter(&mut self, own: &StepReport, state: &mut State, report: &mut StepReport) {
        let Self { places, resting, state: from, .. } = self;
        // what rests has kept its place and its velocity
        report.last_substep = own.last_substep.as_ref().map(|part| {
            let (mut q, mut v) = (state.q.clone(), state.v.clone());
            put(&mut q, &part.q, &places.q);
            put(&mut v, &part.v, &places.v);
            LastSubstep { size: part.size, q, v }
        });
        state.time = from.time;
        put(&mut state.q, &from.q, &places.q);
        put(&mut state.v, &from.v, &places.v);
        put(&mut report.v, &own.v, &places.v);
        put(&mut report.effort, &own.effort, &places.v_cmd);
        for (k, constraint) in places.constraints.iter().zip(&own.constraints) {
            report.constraints[*k] = *constraint;
        }
        let key = |f: &JointForce| f.dof;
        let limits = own.limits.iter().map(|f| places.force(f));
        merge(&mut report.limits, &resting.limits, limits, key);
        let friction = own.joint_friction.iter().map(|f| places.force(f));
        merge(&mut report.joint_friction, &resting.joint_friction, friction, key);
        let supports = own.supports.iter().map(|s| places.support(s));
        merge(&mut report.supports, &resting.supports, supports, |s| s.body);
        let saturated = own.saturated.iter().map(|dof| places.dof(*dof));
        merge(&mut report.saturated, &resting.saturated, saturated, |dof| *dof);
        let drags = own.drags.iter().map(|drag| places.drag(drag));
        merge(&mut report.drags, &resting.drags, drags, |drag| drag.body);
        report.certificate = own.certificate.or_worse(&resting.certificate);
        (report.time, report.time_step) = (own.time, own.time_step);
        report.choice = own.choice;
        (report.substeps, report.n_joined) = (own.substeps, own.n_joined);
        (report.n_rows, report.n_active) = (own.n_rows, own.n_active);
        (report.n_candidates, report.iterations) = (own.n_candidates, own.iterations);
        (report.work, report.method) = (own.work, own.method);
        report.fallback.clone_from(&own.fallback);
        report.uniqueness = None;
        (report.smallest_norm, report.stage_ns) = (own.smallest_norm, own.stage_ns);
        self.scatter_contacts(&own.contacts, report);
    }

    /// Contacts are written in place where they are those of the step before.
    fn scatter_contacts(&mut self, own: &[ContactReport], report: &mut StepReport) {
        let Self { places, resting, contacts, .. } = self;
        let pair = |c: &ContactReport| (c.geom_a, c.geom_b, c.feature);
        let all = &mut report.contacts;
        let known = |(k, c): (&usize, &ContactReport)| {
            let [a, b] = [c.geom_a, c.geom_b].map(|k| places.geoms[k as usize] as u32);
            all.get(*k).is_some_and(|known| pair(known) == (a, b, c.feature))
        };
        let same = contacts.len() == own.len()
            && all.len() == own.len() + resting.contacts.len()
            && contacts.iter().zip(own).all(known);
        if same {
            for (k, c) in contacts.iter().zip(own) {
                all[*k] = places.contact(c);
            }
            return;
        }
        merge(all, &resting.contacts, own.iter().map(|c| places.contact(c)), pair);
        let rests = |c: &ContactReport| {
            [c.body_a, c.body_b].iter().any(|body| resting.bodies[*body as usize])
        };
        contacts.clear();
        contacts.extend(all.iter().enumerate().filter(|(_, c)| !rests(c)).map(|(k, _)| k));
    }
}

/// Merges two lists that are ascending by a key.
fn merge<T: Clone, K: Ord>(
    all: &mut Vec<T>,
    resting: &[T],
    own: impl Iterator<Item = T>,
    key: impl Fn(&T) -> K,
) {
    all.clear();
    let mut resting = resting.iter();
    let mut next = resting.next();
    for own in own {
        while let Some(rests) = next.filter(|rests| key(rests) < key(&own)) {
            all.push(rests.clone());
            next = resting.next();
        }
        all.push(own);
    }
    all.extend(next.into_iter().chain(resting).cloned());
}
