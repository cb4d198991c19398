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

use crate::error::StepError;
use crate::load::Drive;
use crate::params::StepParams;
use crate::resting::{Before, Part, Rest, Resting, islands, put};
use crate::state::{State, StepInput, WarmRow, Wrench};
use crate::system::{System, trees};
use crate::workspace::Workspace;

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
            let Some(awake) = &mut work.awake else { break };
            rest.before.keep(&part.state, awake, rest.watches, params);
            let rows = awake.warm.last_step.clone().unwrap_or_default();
            awake.sweep.covered.get_or_insert_default().clear();
            let Part { system, state: own, input: given, .. } = &mut **part;
            if system.advance_all(own, &given.drive(), params, awake).is_err() {
                // the whole system has the same error, or a way out
                rest.wake(work);
                break;
            }
            let covered = awake.sweep.covered.as_deref().unwrap_or_default();
            let touched = part.touched(covered, params.contact_margin);
            if touched.is_empty() {
                part.scatter(&awake.report, state, &mut work.report);
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
    /// Wakes all bodies.
    pub fn wake(&mut self, work: &mut Workspace) {
        if let Some(rows) = self.rows(work.awake_rows()) {
            work.warm.last_step = Some(rows);
        }
        self.forget();
    }

    /// Whether the resting bodies have the inputs of their last step.
    fn stays(&self, part: &Part, state: &State, input: &Drive<'_>, params: &StepParams) -> bool {
        let Some((last_params, last)) = &self.last else { return false };
        let (resting, at) = (&part.resting, &part.resting.places);
        let same = |a: &[f64], b: &[f64], at: &[usize]| {
            a == b || a.len() == b.len() && at.iter().all(|k| a.get(*k) == b.get(*k))
        };
        let loads = |wrenches: &[Wrench]| -> Vec<Wrench> {
            let on = |w: &&Wrench| resting.bodies.get(w.body).is_none_or(|rests| *rests);
            wrenches.iter().filter(on).cloned().collect()
        };
        params == last_params
            && same(&state.q, &self.q, &at.q)
            && same(&state.v, &self.v, &at.v)
            && same(input.q_cmd, &last.q_cmd, &at.q_cmd)
            && same(input.v_cmd, &last.v_cmd, &at.v_cmd)
            && same(input.tau, &last.tau, &at.v)
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
            Some(part) => ((&part.system, &part.state), Some(&part.tree)),
            None => ((system, state), None),
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
        let of = work.awake.as_deref().filter(|_| self.part.is_some()).unwrap_or(work);
        let rows = of.warm.last_step.as_deref().unwrap_or_default();
        self.before.mark_loaded(own.0, rows, tree, &mut still);
        let near = of.scan.distances().map(|((a, b), _)| [a, b]);
        let near = near.chain(of.report.contacts.iter().map(|c| [c.geom_a, c.geom_b]));
        let islands = islands(own.0, near, tree, &mut still, self.tree.len());
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
        let rows = self.rows(work.awake_rows());
        let rows = rows.or_else(|| work.warm.last_step.clone()).unwrap_or_default();
        self.divide(system, rests, &rows, state, work);
    }

    /// Stores what the bodies at rest are compared with before the next step.
    fn remember(&mut self, state: &State, input: &Drive<'_>, params: &StepParams) {
        if let Some(part) = &self.part {
            put(&mut self.q, &part.state.q, &part.places.q);
            put(&mut self.v, &part.state.v, &part.places.v);
        } else {
            self.q.clone_from(&state.q);
            self.v.clone_from(&state.v);
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

    /// The step of the bodies at rest by themselves. `None` if it does not repeat their state and their
    /// rows to the bit.
    fn repeat(
        &self,
        system: &System,
        rests: Vec<bool>,
        rows: &[WarmRow],
        state: &State,
        time_step: Option<f64>,
    ) -> Option<Resting> {
        let (params, input) = self.last.as_ref()?;
        let is_fixed = |tree: &usize| self.trees.binary_search(tree).is_err();
        let keeps = rests.iter().zip(&self.tree).map(|(rests, tree)| *rests || is_fixed(tree));
        let (own, places) = system.part(&keeps.collect::<Vec<bool>>());
        let mut work = own.create_workspace();
        let rows = places.rows(rows);
        work.warm.last_step = Some(rows.clone());
        work.warm.time_step = time_step;
        let mut part = Part::new(own, places, &self.tree, Resting::default());
        part.gather(state, &input.drive());
        let before = part.state.clone();
        let Part { system, state, input, .. } = &mut part;
        system.advance_all(state, &input.drive(), params, &mut work).ok()?;
        let same = (&state.q, &state.v) == (&before.q, &before.v)
            && work.warm.last_step.as_ref() == Some(&rows);
        same.then(|| Resting::new(part, &work.scan, &work.report, &rows, rests))
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
        let time_step = work
            .awake
            .as_ref()
            .filter(|_| self.part.is_some())
            .map_or(work.warm.time_step, |awake| awake.warm.time_step);
        (self.since, self.watches) = (0, false);
        let some = rests.contains(&true);
        let resting = some.then(|| self.repeat(system, rests, rows, state, time_step)).flatten();
        let Some(resting) = resting else {
            (work.warm.last_step, work.warm.time_step) = (Some(rows.to_vec()), time_step);
            self.part = None;
            if some {
                self.patience = self.patience.saturating_mul(2);
            }
            return;
        };
        let keeps: Vec<bool> = resting.bodies.iter().map(|rests| !rests).collect();
        let (own, places) = system.part(&keeps);
        let mut own_work = own.create_workspace();
        own_work.timer.clock = work.timer.clock;
        own_work.convex.settings.threads = work.convex.settings.threads;
        own_work.warm.last_step = Some(places.rows(rows));
        own_work.warm.time_step = time_step;
        // a copy of the whole system has the rows when all wake
        work.warm.time_step = time_step;
        work.awake = Some(Box::new(own_work));
        self.part = Some(Box::new(Part::new(own, places, &self.tree, resting)));
    }
}
