//! Rest: bodies whose next step would repeat the last one bit by bit are left out of it.
//!
//! A step of bodies that touch is a function of their poses, velocities, commands and loads, of the
//! parameters and of the warm start. If a step leaves all of these as they were, to the bit, so does
//! the next one. There is no threshold. Bodies that touch or are near one another rest together or
//! not at all. They wake as soon as their inputs change, or the motion of another body may bring it
//! within the contact margin.
//!
//! The other bodies are a [part](crate::part) of the system, with a workspace of its own. Their
//! results are written into the report of the whole system, which keeps those of resting bodies.

use crate::certificate::Certificate;
use crate::error::StepError;
use crate::load::Drive;
use crate::params::StepParams;
use crate::part::Places;
use crate::report::{BodyDrag, ContactReport, JointForce, StepReport, SupportForce};
use crate::row::RowKey;
use crate::state::{State, StepInput, WarmRow, Wrench};
use crate::system::{System, trees};
use crate::workspace::Workspace;
use quasistep_geometry::Aabb;

/// What a workspace knows of rest.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// Parameters and input of the last step; `None` before the first.
    last: Option<(StepParams, StepInput)>,
    /// State and warm start before the last step, of the bodies that it moved.
    before: Before,
    /// Configuration after the last step.
    q: Vec<f64>,
    v: Vec<f64>,
    /// Tree of each body, named by its outermost body.
    tree: Vec<usize>,
    /// Trees with a dof.
    trees: Vec<usize>,
    /// Island of each resting tree, named by one of its trees.
    island: Vec<usize>,
    /// Number of steps since the bodies were last divided.
    since: usize,
    /// Factor on the number of steps until bodies are divided again. It doubles each time that a
    /// division has not paid.
    patience: usize,
    /// True if rows are compared after the next step.
    watches: bool,
    part: Option<Box<Part>>,
}

#[derive(Debug, Default)]
struct Before {
    q: Vec<f64>,
    v: Vec<f64>,
    rows: Vec<WarmRow>,
}

/// The bodies that do not rest.
#[derive(Debug)]
struct Part {
    system: System,
    places: Places,
    /// Tree of each body, as named in the whole system.
    tree: Vec<usize>,
    state: State,
    input: StepInput,
    work: Workspace,
    resting: Resting,
    /// Index in the report of the whole system of each contact of the part.
    contacts: Vec<usize>,
}

/// Results of resting bodies, and where these are.
#[derive(Debug, Default)]
struct Resting {
    /// For each body, whether it rests.
    bodies: Vec<bool>,
    /// Entries of `q`, `v`, `q_cmd` and `v_cmd`.
    q: Vec<usize>,
    v: Vec<usize>,
    q_cmd: Vec<usize>,
    v_cmd: Vec<usize>,
    rows: Vec<WarmRow>,
    contacts: Vec<ContactReport>,
    limits: Vec<JointForce>,
    joint_friction: Vec<JointForce>,
    supports: Vec<SupportForce>,
    saturated: Vec<u32>,
    drags: Vec<BodyDrag>,
    certificate: Certificate,
    /// Boxes of the geoms with their trees, ascending by their least x. Each comes with the largest
    /// x of those up to it, in m.
    boxes: Vec<(Aabb, usize, f64)>,
}

impl System {
    /// Variant of [`advance_all`](Self::advance_all) in which bodies may rest.
    pub(crate) fn advance_awake(
        &self,
        state: &mut State,
        input: &Drive<'_>,
        params: &StepParams,
        work: &mut Workspace,
        rest: &mut Rest,
    ) -> Result<(), StepError> {
        if !rest.part.as_ref().is_none_or(|part| rest.stays(part, state, input, params)) {
            rest.wake(work);
        }
        while let Some(part) = &mut rest.part {
            part.gather(state, input);
            rest.before.keep(&part.state, &part.work, rest.watches, params);
            let rows = part.work.warm.last_step.clone().unwrap_or_default();
            part.work.sweep.covered.get_or_insert_default().clear();
            let Part { system, state: own, input: given, work: own_work, .. } = &mut **part;
            if system.advance_all(own, &given.drive(), params, own_work).is_err() {
                // the whole system has the same error, or a way out
                rest.wake(work);
                break;
            }
            let touched = part.touched(params.contact_margin);
            if touched.is_empty() {
                part.scatter(state, &mut work.report);
                rest.look(self, state, input, params, work);
                return Ok(());
            }
            let resting = rest.trees.iter().filter(|tree| part.resting.bodies[**tree]).count();
            let paid = rest.since * resting >= rest.trees.len();
            rest.patience = if paid { 1 } else { rest.patience.saturating_mul(2) };
            let woken: Vec<usize> = touched.iter().map(|tree| rest.island[*tree]).collect();
            let rests = part.resting.bodies.iter().zip(&rest.tree);
            let rests = rests.map(|(rests, tree)| *rests && !woken.contains(&rest.island[*tree]));
            let (rests, rows) = (rests.collect(), part.rows_of_all(&rows));
            rest.divide(self, rests, &rows, state, work);
        }
        rest.before.keep(state, work, rest.watches, params);
        self.advance_all(state, input, params, work)?;
        rest.look(self, state, input, params, work);
        Ok(())
    }
}

impl StepInput {
    pub(crate) fn drive(&self) -> Drive<'_> {
        let Self { q_cmd, v_cmd, wrenches, tau } = self;
        Drive { q_cmd, v_cmd, wrenches, tau }
    }
}

impl Before {
    /// Stores state and rows before a step. Rows of a step of another size will be scaled, so they
    /// do not count as equal to those of any other.
    fn keep(&mut self, state: &State, work: &Workspace, rows: bool, params: &StepParams) {
        self.q.clone_from(&state.q);
        self.v.clone_from(&state.v);
        self.rows.clear();
        if rows && work.warm.time_step == Some(params.time_step) {
            self.rows.extend(work.warm.last_step.iter().flatten());
        }
    }
}

impl Rest {
    /// The rows of the next step's warm start, those of resting bodies among them; `None` if none
    /// rests.
    pub fn rows(&self) -> Option<Vec<WarmRow>> {
        let part = self.part.as_ref()?;
        Some(part.rows_of_all(part.work.warm.last_step.as_deref().unwrap_or_default()))
    }

    /// Wakes all bodies.
    pub fn wake(&mut self, work: &mut Workspace) {
        if let Some(rows) = self.rows() {
            work.warm.last_step = Some(rows);
        }
        self.forget();
    }

    /// Wakes all bodies, whose warm start is replaced.
    pub fn forget(&mut self) {
        (self.part, self.since, self.watches) = (None, 0, false);
    }

    /// Whether the resting bodies have the inputs of their last step.
    fn stays(&self, part: &Part, state: &State, input: &Drive<'_>, params: &StepParams) -> bool {
        let Some((last_params, last)) = &self.last else { return false };
        let resting = &part.resting;
        let same = |a: &[f64], b: &[f64], at: &[usize]| {
            a == b || a.len() == b.len() && at.iter().all(|k| a.get(*k) == b.get(*k))
        };
        let loads = |wrenches: &[Wrench]| -> Vec<Wrench> {
            let on = |w: &&Wrench| resting.bodies.get(w.body).is_none_or(|rests| *rests);
            wrenches.iter().filter(on).cloned().collect()
        };
        params == last_params
            && same(&state.q, &self.q, &resting.q)
            && same(&state.v, &self.v, &resting.v)
            && same(input.q_cmd, &last.q_cmd, &resting.q_cmd)
            && same(input.v_cmd, &last.v_cmd, &resting.v_cmd)
            && same(input.tau, &last.tau, &resting.v)
            && loads(input.wrenches) == loads(&last.wrenches)
    }

    /// Looks after a step for bodies that may rest.
    fn look(
        &mut self,
        system: &System,
        state: &State,
        input: &Drive<'_>,
        params: &StepParams,
        work: &mut Workspace,
    ) {
        if self.tree.is_empty() {
            self.tree = trees(&system.model, &system.constraints);
            let moves = |body: &usize| !system.model.body(*body).v.is_empty();
            self.trees = (1..self.tree.len()).filter(moves).map(|b| self.tree[b]).collect();
            self.trees.sort_unstable();
            self.trees.dedup();
            self.island = (0..self.tree.len()).collect();
            self.patience = 1;
        }
        self.remember(state, input, params);
        self.since += 1;
        let mut still = vec![false; self.tree.len()];
        for tree in &self.trees {
            still[*tree] = self.part.as_ref().is_none_or(|part| !part.resting.bodies[*tree]);
        }
        let (own, of_part) = match &self.part {
            Some(part) => ((&part.system, &part.state, &part.work), Some(&part.tree)),
            None => ((system, state, &*work), None),
        };
        let tree = of_part.unwrap_or(&self.tree);
        self.before.mark_moved(own.0, own.1, tree, &mut still);
        // a division costs as much as a step of all, and saves that of those that rest
        let most = self.trees.len().saturating_mul(self.patience);
        let pays = |still: &[bool]| self.since * still.iter().filter(|s| **s).count() >= most;
        if !pays(&still) || params.uniqueness {
            self.watches = false;
            return;
        }
        if !self.watches {
            self.watches = true;
            return;
        }
        self.before.mark_loaded(own.0, own.2, tree, &mut still);
        let islands = islands(own.0, own.2, tree, &mut still, self.tree.len());
        if !pays(&still) {
            (self.since, self.watches) = (0, false);
            return;
        }
        for tree in self.trees.iter().filter(|tree| still[**tree]) {
            self.island[*tree] = islands[*tree];
        }
        let rests = (0..self.tree.len()).map(|body| {
            still[self.tree[body]] || self.part.as_ref().is_some_and(|p| p.resting.bodies[body])
        });
        let rests = rests.collect();
        let rows = self.rows().or_else(|| work.warm.last_step.clone()).unwrap_or_default();
        self.divide(system, rests, &rows, state, work);
    }

    /// Stores what the bodies at rest are compared with before the next step.
    fn remember(&mut self, state: &State, input: &Drive<'_>, params: &StepParams) {
        match &self.part {
            Some(part) => {
                for (own, all) in [
                    (&part.places.q, (&state.q, &mut self.q)),
                    (&part.places.v, (&state.v, &mut self.v)),
                ] {
                    if !all.0.is_empty() {
                        own.iter().for_each(|k| all.1[*k] = all.0[*k]);
                    }
                }
            }
            None => {
                self.q.clone_from(&state.q);
                self.v.clone_from(&state.v);
            }
        }
        let (known, own) = self.last.get_or_insert_with(|| (params.clone(), StepInput::default()));
        if known != params {
            known.clone_from(params);
        }
        for (to, from) in [
            (&mut own.q_cmd, input.q_cmd),
            (&mut own.v_cmd, input.v_cmd),
            (&mut own.tau, input.tau),
        ] {
            to.clear();
            to.extend_from_slice(from);
        }
        own.wrenches.clear();
        own.wrenches.extend_from_slice(input.wrenches);
    }

    /// Divides the bodies into those that rest and a part that moves. `rows` are those of the next
    /// step's warm start.
    fn divide(
        &mut self,
        system: &System,
        rests: Vec<bool>,
        rows: &[WarmRow],
        state: &State,
        work: &mut Workspace,
    ) {
        let time_step = self.part.as_ref().map_or(work.warm.time_step, |p| p.work.warm.time_step);
        (self.since, self.watches) = (0, false);
        if !rests.contains(&true) {
            (work.warm.last_step, work.warm.time_step) = (Some(rows.to_vec()), time_step);
            self.part = None;
            return;
        }
        let keeps: Vec<bool> = rests.iter().map(|rests| !rests).collect();
        let (own, places) = system.part(&keeps);
        let mut own_work = own.create_workspace();
        own_work.timer.clock = work.timer.clock;
        own_work.convex.settings.threads = work.convex.settings.threads;
        let own_rows = rows
            .iter()
            .filter_map(|row| Some(WarmRow { key: places.key_in_part(row.key)?, ..*row }));
        own_work.warm.last_step = Some(own_rows.collect());
        own_work.warm.time_step = time_step;
        // a copy of the whole system has the rows when all wake
        work.warm.time_step = time_step;
        let resting = Resting::new(system, rests, rows, state, &work.report, &self.tree);
        self.part = Some(Box::new(Part {
            tree: places.bodies.iter().map(|body| self.tree[*body]).collect(),
            system: own,
            places,
            state: State::default(),
            input: StepInput::default(),
            work: own_work,
            resting,
            contacts: Vec::new(),
        }));
    }
}

impl Before {
    /// Marks trees whose configuration or velocity the step has changed as not still.
    fn mark_moved(&self, system: &System, after: &State, tree: &[usize], still: &mut [bool]) {
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
    fn mark_loaded(&self, system: &System, work: &Workspace, tree: &[usize], still: &mut [bool]) {
        let (mut old, mut new) =
            (self.rows.iter().peekable(), work.warm.last_step.iter().flatten().peekable());
        loop {
            let key = match (old.peek(), new.peek()) {
                (None, None) => break,
                (Some(row), None) | (None, Some(row)) => row.key,
                (Some(a), Some(b)) => a.key.min(b.key),
            };
            let [a, b] = [old.next_if(|row| row.key == key), new.next_if(|row| row.key == key)];
            if a != b {
                bodies_of(system, key).into_iter().for_each(|body| still[tree[body]] = false);
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
/// of an island are still only if all of them are. Trees without a dof join nothing.
fn islands(
    system: &System,
    work: &Workspace,
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
    let near = work.scan.distances().map(|((a, b), _)| [a, b]);
    for geoms in near.chain(work.report.contacts.iter().map(|c| [c.geom_a, c.geom_b])) {
        let [a, b] = geoms.map(|geom| tree[system.geoms[geom as usize].body]);
        if moves[a] && moves[b] {
            let [a, b] = [root(&island, a), root(&island, b)];
            island[a.max(b)] = a.min(b);
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
    fn new(
        system: &System,
        bodies: Vec<bool>,
        rows: &[WarmRow],
        state: &State,
        report: &StepReport,
        tree: &[usize],
    ) -> Self {
        let rests = |body: &usize| bodies[*body];
        let of = |body: u32| bodies[body as usize];
        let of_dof = |dof: u32| bodies[system.body_of_dof[dof as usize]];
        let own = (0..bodies.len()).filter(rests).map(|body| system.model.body(body));
        let (mut q_cmd, mut v_cmd) = (Vec::new(), Vec::new());
        let (mut at_q, mut at_v) = (0, 0);
        let joints = system.commanded().iter().map(|b| (*b, system.model.body(*b)));
        let joints = joints.map(|(b, joint)| (bodies[b], joint.q.len(), joint.v.len()));
        let frames = system.springs.iter().map(|s| (bodies[s.given.frame.body], 7, 6));
        for (rests, n_q, n_v) in joints.chain(frames) {
            if rests {
                q_cmd.extend(at_q..at_q + n_q);
                v_cmd.extend(at_v..at_v + n_v);
            }
            (at_q, at_v) = (at_q + n_q, at_v + n_v);
        }
        let contacts = report.contacts.iter().filter(|c| of(c.body_a) || of(c.body_b));
        let limits = report.limits.iter().filter(|f| of_dof(f.dof));
        let joint_friction = report.joint_friction.iter().filter(|f| of_dof(f.dof));
        let acts = |row: &&WarmRow| bodies_of(system, row.key).iter().any(rests);
        let mut resting = Self {
            q: own.clone().flat_map(|body| body.q.clone()).collect(),
            v: own.flat_map(|body| body.v.clone()).collect(),
            q_cmd,
            v_cmd,
            rows: rows.iter().filter(acts).copied().collect(),
            contacts: contacts.cloned().collect(),
            limits: limits.copied().collect(),
            joint_friction: joint_friction.copied().collect(),
            supports: report.supports.iter().filter(|s| of(s.body)).copied().collect(),
            saturated: report.saturated.iter().filter(|dof| of_dof(**dof)).copied().collect(),
            drags: report.drags.iter().filter(|drag| of(drag.body)).copied().collect(),
            certificate: report.certificate,
            boxes: Vec::new(),
            bodies,
        };
        resting.find_boxes(system, state, tree);
        resting
    }

    fn find_boxes(&mut self, system: &System, state: &State, tree: &[usize]) {
        let mut kin = system.model.create_kinematics();
        system.model.kinematics(&state.q, &mut kin);
        for geom in system.geoms.iter().filter(|geom| self.bodies[geom.body]) {
            let aabb = geom.shape.aabb(&(kin.X_WB[geom.body] * geom.X_BG));
            self.boxes.push((aabb, tree[geom.body], f64::NEG_INFINITY));
        }
        self.boxes.sort_by(|(a, ..), (b, ..)| a.min.x.total_cmp(&b.min.x));
        let mut reach = f64::NEG_INFINITY;
        for (aabb, _, up_to) in &mut self.boxes {
            reach = reach.max(aabb.max.x);
            *up_to = reach;
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
fn put(all: &mut [f64], own: &[f64], places: &[usize]) {
    places.iter().zip(own).for_each(|(k, x)| all[*k] = *x);
}

impl Part {
    /// Takes state and input of the part's bodies.
    fn gather(&mut self, state: &State, input: &Drive<'_>) {
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

    /// Trees at rest that a motion of the last step may have brought within `margin` (m).
    fn touched(&self, margin: f64) -> Vec<usize> {
        let mut trees = Vec::new();
        for (aabb, geom) in self.work.sweep.covered.iter().flatten().zip(&self.system.geoms) {
            if !self.system.model.path(geom.body).is_empty() {
                self.resting.near(aabb, margin, &mut trees);
            }
        }
        trees
    }

    /// Warm-start rows of all bodies, given those of the part.
    fn rows_of_all(&self, rows: &[WarmRow]) -> Vec<WarmRow> {
        let own = rows.iter().map(|row| WarmRow { key: self.places.key(row.key), ..*row });
        let mut all: Vec<WarmRow> = self.resting.rows.iter().copied().chain(own).collect();
        all.sort_by_key(|row| row.key);
        all
    }

    /// Writes the state and the report of the part into those of the whole system.
    fn scatter(&mut self, state: &mut State, report: &mut StepReport) {
        let Self { places, resting, state: from, work, .. } = self;
        state.time = from.time;
        put(&mut state.q, &from.q, &places.q);
        put(&mut state.v, &from.v, &places.v);
        let own = &work.report;
        put(&mut report.v, &own.v, &places.v);
        put(&mut report.effort, &own.effort, &places.v_cmd);
        for (k, constraint) in places.constraints.iter().zip(&own.constraints) {
            report.constraints[*k] = *constraint;
        }
        let dof = |f: &JointForce| JointForce { dof: places.v[f.dof as usize] as u32, ..*f };
        let body = |body: u32| places.bodies[body as usize] as u32;
        let key = |f: &JointForce| f.dof;
        merge(&mut report.limits, &resting.limits, own.limits.iter().map(dof), key);
        let friction = own.joint_friction.iter().map(dof);
        merge(&mut report.joint_friction, &resting.joint_friction, friction, key);
        let supports = own.supports.iter().map(|s| SupportForce { body: body(s.body), ..*s });
        merge(&mut report.supports, &resting.supports, supports, |s| s.body);
        let saturated = own.saturated.iter().map(|dof| places.v[*dof as usize] as u32);
        merge(&mut report.saturated, &resting.saturated, saturated, |dof| *dof);
        let drags = own.drags.iter().map(|drag| BodyDrag { body: body(drag.body), ..*drag });
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
        self.scatter_contacts(report);
    }

    /// Contacts are written in place where they are those of the step before.
    fn scatter_contacts(&mut self, report: &mut StepReport) {
        let Self { places, resting, work, contacts, .. } = self;
        let own = &work.report.contacts;
        let pair = |c: &ContactReport| (c.geom_a, c.geom_b, c.feature);
        let in_whole = |c: &ContactReport| {
            let [geom_a, geom_b] = [c.geom_a, c.geom_b].map(|k| places.geoms[k as usize] as u32);
            let [body_a, body_b] = [c.body_a, c.body_b].map(|k| places.bodies[k as usize] as u32);
            ContactReport { geom_a, geom_b, body_a, body_b, ..c.clone() }
        };
        let all = &mut report.contacts;
        let known = |(k, c): (&usize, &ContactReport)| {
            let [a, b] = [c.geom_a, c.geom_b].map(|k| places.geoms[k as usize] as u32);
            all.get(*k).is_some_and(|known| pair(known) == (a, b, c.feature))
        };
        let same = contacts.len() == own.len()
            && all.len() == own.len() + resting.contacts.len()
            && contacts.iter().zip(own).all(known);
        if same {
            contacts.iter().zip(own).for_each(|(k, c)| all[*k] = in_whole(c));
            return;
        }
        merge(all, &resting.contacts, own.iter().map(in_whole), pair);
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
