//! The main loop. Start reading here: `System::take_stages` lists the stages of one time step, and
//! `System::solve_rows` the stages of its program.

use crate::adhesion;
use crate::cartesian;
use crate::error::StepError;
use crate::formulation::FrictionLaw;
use crate::formulation::Where;
use crate::formulation::problem::Posed;
use crate::load::Drive;
use crate::params::{Integration, StepParams};
use crate::report::StepReport;
use crate::state::{State, StepInput};
use crate::sweep::{DISTANCE_WORK, Finding};
use crate::system::{Role, System};
use crate::timer::Stage;
use crate::workspace::{Pressing, StartFrom, Workspace};

/// Largest number of solves at one configuration. The loads of the first solve determine the centre
/// of friction of areas for the second. A further solve would change the centre by less, by a
/// factor of friction times the height of the tipping load over the body's width.
const MOST_SOLVES: usize = 2;
/// Impacts that gain energy are repeated with restitution scaled by 1/2, 1/4 and 1/8. Below this
/// scale it is set to zero: each further halving costs a solve, for at most a sixty-fourth of the
/// energy.
const LEAST_REBOUND: f64 = 0.2;

/// A step to be taken, with the friction law of its program.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub state: &'a State,
    pub input: &'a Drive<'a>,
    pub params: &'a StepParams,
    pub law: FrictionLaw,
    /// Whether the program is solved here; if not, the caller solves it.
    pub solves: bool,
}

impl System {
    /// Moves `state` one time step towards `q_cmd`, the position command at the *end* of the step.
    ///
    /// `q_cmd` has [`n_cmd`](Self::n_cmd) entries in m, rad or unit quaternions. The returned
    /// report is stored in `work` until the next step.
    ///
    /// # Errors
    ///
    /// See [`StepError`]. On error `state` is unchanged.
    pub fn step<'w>(
        &self,
        state: &mut State,
        q_cmd: &[f64],
        params: &StepParams,
        work: &'w mut Workspace,
    ) -> Result<&'w StepReport, StepError> {
        self.advance(state, &Drive { q_cmd, v_cmd: &[], wrenches: &[], tau: &[] }, params, work)
    }

    /// Variant of [`step`](Self::step) with command rates, wrenches and generalised forces.
    ///
    /// # Errors
    ///
    /// See [`StepError`]. On error `state` is unchanged.
    pub fn step_with<'w>(
        &self,
        state: &mut State,
        input: &StepInput,
        params: &StepParams,
        work: &'w mut Workspace,
    ) -> Result<&'w StepReport, StepError> {
        let StepInput { q_cmd, v_cmd, wrenches, tau } = input;
        self.advance(state, &Drive { q_cmd, v_cmd, wrenches, tau }, params, work)
    }

    pub(crate) fn advance<'w>(
        &self,
        state: &mut State,
        input: &Drive<'_>,
        params: &StepParams,
        work: &'w mut Workspace,
    ) -> Result<&'w StepReport, StepError> {
        if self.is_open() {
            let set = self.set_switches(state, input, work)?;
            set.advance(state, input, params, work)?;
            state.attached.clone_from(work.attached());
            self.report_missed(input.q_cmd, work);
            return Ok(&work.report);
        }
        match work.rest.take_if(|_| work.warm.last_step.is_some()) {
            None => self.advance_all(state, input, params, work)?,
            Some(mut rest) => {
                let result = self.advance_awake(state, input, params, work, &mut rest);
                work.rest = Some(rest);
                result?;
            }
        }
        Ok(&work.report)
    }

    /// Moves all bodies one time step.
    pub(crate) fn advance_all(
        &self,
        state: &mut State,
        input: &Drive<'_>,
        params: &StepParams,
        work: &mut Workspace,
    ) -> Result<(), StepError> {
        params.check()?;
        self.check_mass_scale(params)?;
        self.check(state, input)?;
        work.timer.reset();
        work.report.fallback = None;
        work.report.uniqueness = None;
        work.report.time_step = params.time_step;
        work.report.choice = None;
        work.work_left = params.work_limit;
        work.warm.scale_to(params.time_step);
        self.take_substeps(state, input, params, work).map_err(|why| match why {
            // the work of all programs of the step
            StepError::Undecided { convex, pivots, limited: true, .. } => {
                let work = params.work_limit - work.work_left;
                StepError::Undecided { convex, pivots, work, limited: true }
            }
            other => other,
        })?;

        // `state` is unchanged up to here
        std::mem::swap(&mut state.q, &mut work.q_next);
        state.v.clear();
        if params.formulation.carries_velocity() {
            state.v.extend_from_slice(&work.report.v);
        }
        state.time = end_of_step(state.time, params.time_step);
        work.report.time = state.time;
        std::mem::swap(&mut work.scan, &mut work.scan_next);
        work.remember(params);
        if params.uniqueness {
            let (answer, spent) = self.ask_uniqueness(work);
            work.report.uniqueness = answer;
            work.work_left -= spent;
        }
        work.report.work = params.work_limit - work.work_left;
        work.timer.stop();
        work.report.stage_ns = work.timer.spent_ns;
        Ok(())
    }

    /// Computes one motion from `state`, with rows for near pairs and for `work.meetings`, by the
    /// formulation or a fallback. The solution is in `work`. Returns the violations along the
    /// motion.
    pub(crate) fn take_motion(
        &self,
        state: &State,
        input: &Drive<'_>,
        params: &StepParams,
        work: &mut Workspace,
    ) -> Result<Finding, StepError> {
        let law = params.formulation.friction;
        let request = Request { state, input, params, law, solves: true };
        work.report.fallback = None;
        self.take_stages(&request, StartFrom::LastStep, work)
            .or_else(|why| match why {
                // a warm start close to the solution may reach fewer digits than a cold start
                StepError::NotSolved { .. } => self.take_stages(&request, StartFrom::Nothing, work),
                _ => Err(why),
            })
            .or_else(|why| self.stand_in(state, input, params, why, work))
    }

    /// Runs all stages once.
    pub(crate) fn take_stages(
        &self,
        request: &Request<'_>,
        start: StartFrom,
        work: &mut Workspace,
    ) -> Result<Finding, StepError> {
        let &Request { state, input, params, .. } = request;
        let (h, margin) = (params.time_step, params.contact_margin);
        // 1 kinematics, 2 distance: usually known from the end of the step before
        work.scan.update(self, &state.q, margin, &mut work.timer)?;
        work.scan.join(&work.meetings);
        self.solve(request, Where::Start, start, work)?; // 3 to 6
        if params.integration == Integration::Midpoint {
            work.q_next.resize(state.q.len(), 0.0);
            self.model.integrate(&state.q, &work.report.v, 0.5 * h, &mut work.q_next);
            work.scan_mid.update(self, &work.q_next, margin, &mut work.timer)?;
            work.scan_mid.join(&work.meetings);
            // from the loads at the start of the step
            self.solve(request, Where::Middle, StartFrom::LastSolve, work)?;
        }
        work.timer.enter(Stage::Integrate); // 7
        let v = self.followed(&work.report.v, params, &mut work.followed);
        self.integrate(&state.q, v, input.q_cmd, h, &mut work.q_next)?;
        work.scan_next.update(self, &work.q_next, margin, &mut work.timer)?;
        let distances = DISTANCE_WORK * work.scan_next.n_candidates as u64;
        work.work_left = work.work_left.saturating_sub(distances);
        work.timer.enter(Stage::Report); // 8
        self.certify(work, params)?;
        self.check_motion(params, work)
    }

    /// Stages 3 to 6 with the Jacobians at one configuration of the step. The solution is in the
    /// report.
    pub(crate) fn solve(
        &self,
        request: &Request<'_>,
        place: Where,
        start: StartFrom,
        work: &mut Workspace,
    ) -> Result<(), StepError> {
        let &Request { state, input, params, .. } = request;
        work.timer.enter(Stage::Contact); // 3
        self.update_contacts(params, place, work);
        work.timer.enter(Stage::Assemble);
        let kin = if place == Where::Start { &work.scan.kin } else { &work.scan_mid.kin };
        work.load.update(self, state, input, params, kin)?;
        let at = (state.q.as_slice(), &work.scan.kin, kin);
        work.load.reduction.update(self, at, &work.load.v_known, params)?;
        let found = (place == Where::Middle).then_some(work.report.v.as_slice());
        let commands = [input.q_cmd, input.v_cmd];
        let commands = commands.map(|all| &all[..all.len().saturating_sub(self.n_behind())]);
        let (commands, kins) = ((commands[0], commands[1]), (&work.scan.kin, kin));
        let springs = &mut work.load.cartesian;
        cartesian::springs_at(&self.springs, &self.model, commands, params, kins, found, springs)?;
        work.report.n_candidates = work.scan.n_candidates;
        self.solve_opened(params, place, work, |work| {
            work.contacts.rebound = 1.0;
            self.solve_rows(request, place, start, work)?;
            if !request.solves {
                return Ok(());
            }
            let follows = matches!(work.pressing, Pressing::Found)
                && (place == Where::Middle || params.integration == Integration::Euler);
            for _ in 1..MOST_SOLVES {
                if !(follows && work.contacts.follow_loads(&work.report.contacts)) {
                    break;
                }
                self.solve_rows(request, place, StartFrom::LastSolve, work)?;
            }
            // if simultaneous impacts would gain energy, restitution is reduced
            while work.contacts.gain_energy(&work.report, &work.load.v_start) {
                work.contacts.rebound = if work.contacts.rebound > LEAST_REBOUND {
                    0.5 * work.contacts.rebound
                } else {
                    0.0
                };
                self.solve_rows(request, place, StartFrom::LastSolve, work)?;
            }
            Ok(())
        })
    }

    /// Stages 4 to 6 with the current contact rows.
    fn solve_rows(
        &self,
        request: &Request<'_>,
        place: Where,
        start: StartFrom,
        work: &mut Workspace,
    ) -> Result<(), StepError> {
        let &Request { state, params, law, solves, .. } = request;
        if start == StartFrom::LastSolve {
            work.remember_solve(params);
        }
        let Workspace {
            scan, scan_mid, load, contacts, problem, convex, coulomb, work_left, ..
        } = work;
        let kin = if place == Where::Start { &scan.kin } else { &scan_mid.kin };
        if !self.pads.is_empty() {
            contacts.find_pulls(self);
            load.pull_with(contacts);
        }
        let posed = Posed { system: self, q: &state.q, load, contacts, kin, params };
        let known = work.warm.rows(start);
        work.timer.enter(Stage::Assemble); // 4
        problem.assemble(&posed, law);
        if !solves {
            return Ok(());
        }
        work.timer.enter(Stage::Solve); // 5
        match law {
            FrictionLaw::Convex => convex.solve(problem, &posed, known, work_left)?,
            FrictionLaw::Exact => coulomb.solve(problem, &posed, known, work_left)?,
        }
        work.timer.enter(Stage::Recover); // 6
        match law {
            FrictionLaw::Convex => convex.recover(problem, &posed, &mut work.report),
            FrictionLaw::Exact => coulomb.recover(problem, &posed, &mut work.report),
        }
        Ok(())
    }

    /// Checks the motion of the last solve for overlaps and for forces across gaps.
    pub(crate) fn check_motion(
        &self,
        params: &StepParams,
        work: &mut Workspace,
    ) -> Result<Finding, StepError> {
        let Workspace { sweep, scan, scan_next, load, report, followed, work_left, .. } = work;
        sweep.press(&report.contacts);
        let v = self.followed(&report.v, params, followed);
        let found = sweep.look(self, scan, scan_next, v, params, work_left);
        let limit = params.work_limit;
        let Some(mut found) = found else {
            return Err(StepError::Undecided { convex: 1, pivots: 0, work: limit, limited: true });
        };
        if found.first.is_none() {
            found.first = sweep.open_force(self, scan_next, report, params);
        }
        let place = |share: f64, q: &mut Vec<f64>| sweep.place(self, scan.q(), share, q);
        let tear = self.tear(&load.reduction, report, place);
        found.first =
            found.first.into_iter().chain(tear).min_by(|a, b| a.clear.total_cmp(&b.clear));
        Ok(found)
    }

    /// Builds the contact rows at one configuration of the step.
    pub(crate) fn update_contacts(&self, params: &StepParams, place: Where, work: &mut Workspace) {
        let (cone, axes) = (params.formulation.cone, params.tangents);
        match place {
            Where::Start => {
                work.contacts.update(self, &work.scan, cone, axes);
                if let Pressing::By(contacts) = &work.pressing {
                    work.contacts.follow_loads(contacts);
                }
            }
            Where::Middle => {
                work.contacts.update(self, &work.scan_mid, cone, axes);
                let half = 0.5 * params.time_step;
                work.contacts.rewind(&work.scan, &work.report.v, half);
                work.contacts.expect_loads(&work.report.contacts);
            }
        }
    }

    pub(crate) fn check(&self, state: &State, input: &Drive<'_>) -> Result<(), StepError> {
        let length = |what, got, want| {
            if got == want { Ok(()) } else { Err(StepError::Length { what, got, want }) }
        };
        length("q", state.q.len(), self.model.n_q())?;
        if !state.v.is_empty() {
            length("v", state.v.len(), self.model.n_v())?;
        }
        if !state.attached.is_empty() {
            length("attached", state.attached.len(), self.switches.len())?;
        }
        length("q_cmd", input.q_cmd.len(), self.n_cmd())?;
        if !input.v_cmd.is_empty() {
            length("v_cmd", input.v_cmd.len(), self.n_cmd_v())?;
        }
        if !input.tau.is_empty() {
            length("tau", input.tau.len(), self.model.n_v())?;
        }
        self.model
            .check_q(&state.q)
            .map_err(|e| StepError::Value { what: "state q".into(), why: e.to_string() })?;
        if !state.time.is_finite() {
            let why = format!("{} was seen; it must be a finite number of s", state.time);
            return Err(StepError::Value { what: "time t".into(), why });
        }
        let lists = [
            ("state v", &state.v[..]),
            ("q_cmd", input.q_cmd),
            ("v_cmd", input.v_cmd),
            ("tau", input.tau),
        ];
        for (what, values) in lists {
            if let Some(k) = values.iter().position(|x| !x.is_finite()) {
                let why = format!("entry {k} is {}; it must be a finite number", values[k]);
                return Err(StepError::Value { what: what.into(), why });
            }
        }
        let far = |(k, x): (usize, &f64)| (x.abs() >= self.farthest_commands()[k]).then_some(k);
        if let Some(k) = input.q_cmd.iter().enumerate().find_map(far) {
            let (name, x) = (&self.command_names()[k], input.q_cmd[k]);
            let most = self.farthest_commands()[k];
            let why = format!(
                "entry {k}, `{name}`, is {x:e}, so far that digits are lost; its size must be below {most:.1e} m or rad"
            );
            return Err(StepError::Value { what: "q_cmd".into(), why });
        }
        adhesion::check_shares(&self.pads, self.shares(input.q_cmd))?;
        for wrench in input.wrenches {
            if wrench.body >= self.model.n_bodies() {
                return Err(StepError::Value {
                    what: "wrench".into(),
                    why: format!("body {} of {}", wrench.body, self.model.n_bodies()),
                });
            }
            let finite =
                [wrench.p_B, wrench.force_W, wrench.torque_W].iter().all(|x| x.is_finite());
            if !finite {
                let what = format!("wrench on `{}`", self.model.body(wrench.body).name);
                let why = "its point, force and torque must be finite numbers".into();
                return Err(StepError::Value { what, why });
            }
        }
        Ok(())
    }

    /// `q_next = q ⊕ h v`. Prescribed joints are set exactly to their command.
    pub(crate) fn integrate(
        &self,
        q: &[f64],
        v: &[f64],
        q_cmd: &[f64],
        h: f64,
        q_next: &mut Vec<f64>,
    ) -> Result<(), StepError> {
        q_next.resize(q.len(), 0.0);
        self.model.integrate(q, v, h, q_next);
        let mut at = 0;
        for &body in self.commanded() {
            let range = self.model.body(body).q.clone();
            let n = range.len();
            if self.roles[body] == Role::Prescribed {
                let target = &mut q_next[range];
                // keep the quaternion's sign from step to step: q and −q are one rotation
                let turns = n >= 4;
                let dot: f64 =
                    target[..4.min(n)].iter().zip(&q_cmd[at..]).map(|(a, b)| a * b).sum();
                target.copy_from_slice(&q_cmd[at..at + n]);
                if turns {
                    let norm = target[..4].iter().map(|c| c * c).sum::<f64>().sqrt();
                    let scale = if dot < 0.0 { -1.0 / norm } else { 1.0 / norm };
                    target[..4].iter_mut().for_each(|c| *c *= scale);
                }
            }
            at += n;
        }
        if q_next.iter().any(|x| !x.is_finite()) {
            return Err(StepError::NotSolved {
                iterations: 0,
                why: "the next configuration is not finite".into(),
            });
        }
        Ok(())
    }
}

/// `t + h`, rounded to the grid `k h` if `t` lies on it, so that runs do not accumulate rounding.
/// It is the exact end time of a step from `t`: commands sampled at this time are bit-identical for
/// all callers.
pub fn end_of_step(t: f64, h: f64) -> f64 {
    let k = (t / h).round();
    if (t / h - k).abs() < 1e-6 { (k + 1.0) * h } else { t + h }
}
