//! Switched constraints: what a step attaches and releases.
//!
//! Commands say which constraints are on, the [state](State::attached) what they hold. A step with
//! set switches is one of a copy of the system: constraints that are on hold what they found, with
//! the pairs of shapes that cannot touch meanwhile, and the others are left out. The copy stays in
//! the workspace until a switch changes. No stage of a step therefore knows of switches.

use crate::error::StepError;
use crate::held::{Constraint, ConstraintKind, Held, Holds, Switch};
use crate::load::Drive;
use crate::state::{Attached, State};
use crate::system::{SetSwitches, System, closed, links};
use crate::workspace::{SetSystem, Workspace};
use quasistep_geometry::NarrowPhase;
use quasistep_model::Kinematics;
use std::sync::Arc;

/// Commands above this are on.
const ON: f64 = 0.5;

impl System {
    /// True if the system has switches that each step sets.
    pub(crate) fn is_open(&self) -> bool {
        self.set.is_none() && !self.switches.is_empty()
    }

    /// Whether each switch is on at the command of a step.
    fn are_on<'a>(&self, q_cmd: &'a [f64]) -> impl Iterator<Item = bool> + use<'a> {
        q_cmd[q_cmd.len() - self.switches.len()..].iter().map(|told| *told > ON)
    }

    /// The copy of this system for a step from `state`. It and what its constraints hold are in
    /// `work`.
    pub(crate) fn set_switches(
        &self,
        state: &State,
        input: &Drive<'_>,
        work: &mut Workspace,
    ) -> Result<Arc<Self>, StepError> {
        self.check(state, input)?;
        let holds = |k: usize| state.attached.get(k).is_some_and(Option::is_some);
        let stays = self.are_on(input.q_cmd).enumerate().all(|(k, told)| told == holds(k));
        let known = |set: &SetSystem| stays && set.attached == state.attached;
        if !work.set.as_ref().is_some_and(known) {
            let attached = self.attach(state, input.q_cmd);
            if work.set.as_ref().is_none_or(|set| set.attached != attached) {
                let system = Arc::new(self.with_attached(&attached));
                work.set = Some(SetSystem { attached, system });
                work.change_system();
            }
        }
        Ok(Arc::clone(&work.set.as_ref().expect("it is set above").system))
    }

    /// Marks constraints that were told to attach and found nothing.
    pub(crate) fn report_missed(&self, q_cmd: &[f64], work: &mut Workspace) {
        for (k, (index, on)) in self.switches.iter().zip(self.are_on(q_cmd)).enumerate() {
            work.report.constraints[*index].missed = on && work.attached()[k].is_none();
        }
    }

    /// What each switched constraint holds in a step from `state` under `q_cmd`.
    ///
    /// # Panics
    ///
    /// If the state or the command is shorter than the system's.
    pub fn attach(&self, state: &State, q_cmd: &[f64]) -> Vec<Option<Attached>> {
        let mut kin = None;
        let mut attach = |k: usize| {
            let kin = kin.get_or_insert_with(|| {
                let mut kin = self.model.create_kinematics();
                self.model.kinematics(&state.q, &mut kin);
                kin
            });
            self.found(&self.constraints[self.switches[k]], kin, &state.q)
        };
        let known = |k: usize| state.attached.get(k).copied().flatten();
        let told = self.are_on(q_cmd).enumerate();
        told.map(|(k, on)| if on { known(k).or_else(|| attach(k)) } else { None }).collect()
    }

    /// Constraints of the copy with `attached` that hold what they find at the start of a step from
    /// `state`.
    pub(crate) fn found_at_start(
        &self,
        state: &State,
        attached: &[Option<Attached>],
    ) -> Vec<usize> {
        let mut copied = 0;
        let mut found = Vec::new();
        for (k, held) in self.constraints.iter().enumerate() {
            if let Ok(switch) = self.switches.binary_search(&k) {
                if attached[switch].is_none() {
                    continue;
                }
                let holds = held.given.switch.map(|switch| switch.holds);
                let known = state.attached.get(switch).is_some_and(Option::is_some);
                if holds == Some(Holds::Found) && !known {
                    found.push(copied);
                }
            }
            copied += 1;
        }
        found
    }

    /// What a constraint holds that is switched on at `q`; `None` if its bodies are too far apart.
    fn found(&self, held: &Held, kin: &Kinematics, q: &[f64]) -> Option<Attached> {
        let Constraint { kind, switch, .. } = &held.given;
        let Switch { holds, within } = (*switch)?;
        if within.is_finite() && !(self.distance_between(held, kin)? <= within) {
            return None;
        }
        Some(match (kind, holds) {
            (ConstraintKind::Connect { a, b } | ConstraintKind::Weld { a, b }, Holds::Found) => {
                let X_WA = self.model.frame_pose(kin, a);
                Attached::Frame(kin.X_WB[b.body].inverse() * X_WA)
            }
            (ConstraintKind::Connect { b, .. } | ConstraintKind::Weld { b, .. }, Holds::Given) => {
                Attached::Frame(b.X_BF)
            }
            // mimic joints are expressed by their leaders, and so is the offset
            (ConstraintKind::Coupling { offset, .. }, Holds::Found) => {
                Attached::Sum(held.error(&self.model, kin, q)[0] + offset)
            }
            (ConstraintKind::Coupling { offset, .. }, Holds::Given) => Attached::Sum(*offset),
        })
    }

    /// Least signed distance between the shapes of the bodies that a constraint holds, in m; `None`
    /// if one of them has no shape.
    fn distance_between(&self, held: &Held, kin: &Kinematics) -> Option<f64> {
        let [a, b] = held.frames()?.map(|frame| frame.body);
        let of = |body: usize| self.geoms.iter().filter(move |geom| geom.body == body);
        let mut narrow = NarrowPhase::new();
        let mut least: Option<f64> = None;
        for (a, b) in of(a).flat_map(|a| of(b).map(move |b| (a, b))) {
            let [X_WA, X_WB] = [a, b].map(|geom| kin.X_WB[geom.body] * geom.X_BG);
            let phi = narrow.signed_distance(&a.shape, &X_WA, &b.shape, &X_WB).phi;
            least = Some(least.map_or(phi, |least| least.min(phi)));
        }
        least
    }

    /// The copy of this system whose switched constraints hold `attached`, one entry per switch.
    pub fn with_attached(&self, attached: &[Option<Attached>]) -> Self {
        let mut set = SetSwitches { at: Vec::new(), n: self.constraints.len() };
        let mut constraints: Vec<Held> = Vec::new();
        let mut switched = Vec::new();
        for (k, held) in self.constraints.iter().enumerate() {
            let mut given = held.given.clone();
            if let Ok(switch) = self.switches.binary_search(&k) {
                let Some(what) = attached.get(switch).and_then(Option::as_ref) else { continue };
                given.kind = given.kind.holding(what);
                switched.push(constraints.len());
            }
            let row = constraints.last().map_or(0, |last| last.rows.end);
            constraints.push(Held::new(given, &self.model, row).expect("this system has it"));
            set.at.push(k);
        }
        let link = links(&self.model, &self.instances);
        let closed = closed(switched.iter().map(|k| &constraints[*k]), &link);
        let mut copy = self.clone();
        let n = self.geoms.len();
        for (i, a) in self.geoms.iter().enumerate() {
            for (j, b) in self.geoms.iter().enumerate().skip(i + 1) {
                let [a, b] = [a, b].map(|geom| link[geom.body]);
                copy.may_touch[i * n + j] &= !closed.contains(&[a.min(b), a.max(b)]);
            }
        }
        (copy.constraints, copy.set) = (constraints, Some(set));
        copy.lay_out();
        copy
    }
}
