//! Differentiation of a step: solves it and collects the data of its derivatives.

use super::kinds::{DerivativeError, Mode, StepKinks};
use super::prepared::{Derivatives, Link, Pressure};
use crate::error::StepError;
use crate::formulation::dynamic::{overlaps, without_recovery};
use crate::formulation::problem::Posed;
use crate::formulation::{FrictionLaw, Where, anitescu};
use crate::load::Drive;
use crate::params::{Fallback, Integration, StepParams};
use crate::state::{State, StepInput};
use crate::step::Request;
use crate::sweep::Breach;
use crate::system::{Role, System};
use crate::workspace::{Pressing, SetSystem, StartFrom, Workspace};
use quasistep_cone::{Barrier, RelaxedStart, WarmStart};
use quasistep_friction::CoulombSensitivity;
use quasistep_model::Twist;
use std::sync::Arc;

impl System {
    /// Computes the step from `state`, which is unchanged, and prepares its derivatives in `out`.
    ///
    /// The result depends only on the arguments, to the solver's tolerance. `out` also holds the
    /// step's [`q_next`](Derivatives::q_next) and a [`report`](Derivatives::report) without
    /// certificate.
    ///
    /// # Errors
    ///
    /// See [`DerivativeError`]; `out` then has no derivatives.
    pub fn differentiate(
        &self,
        state: &State,
        input: &StepInput,
        params: &StepParams,
        mode: Mode,
        out: &mut Derivatives,
    ) -> Result<StepKinks, DerivativeError> {
        if self.is_open() {
            return self.differentiate_set(state, input, params, mode, out);
        }
        out.ready = false;
        params.check_differentiable()?;
        self.check_surfaces()?;
        let StepInput { q_cmd, v_cmd, wrenches, tau } = input;
        let drive = Drive { q_cmd, v_cmd, wrenches, tau };
        params.check().map_err(crate::StepError::from)?;
        self.check_mass_scale(params)?;
        self.check(state, &drive)?;
        // derivatives need the exact active set, whatever accuracy the step has
        let exact = StepParams { accuracy: 0.0, ..params.clone() };
        out.pool.append(&mut out.parts);
        out.link = Link::whole();
        out.work.meetings.clear();
        out.places.clear();
        out.work.timer.reset();
        out.work.work_left = params.work_limit;
        self.differentiate_motion(state, &drive, &exact, mode, out)?;
        if mode == Mode::Exact {
            let work = &mut out.work;
            work.scan_next.update(self, &work.q_next, params.contact_margin, &mut work.timer)?;
            if self.check_motion(params, work)?.first.is_some() {
                out.check_found(
                    "at the start of this step, which is taken in substeps; take a smaller one",
                )?;
                self.differentiate_parts(state, &drive, &exact, out)?;
            }
        }
        out.ready = true;
        Ok(out.kinks)
    }

    /// Differentiates the step of the copy of this system with its switches set.
    fn differentiate_set(
        &self,
        state: &State,
        input: &StepInput,
        params: &StepParams,
        mode: Mode,
        out: &mut Derivatives,
    ) -> Result<StepKinks, DerivativeError> {
        out.ready = false;
        self.check(state, &input.drive())?;
        let attached = self.attach(state, &input.q_cmd);
        if out.set.as_ref().is_none_or(|set| set.attached != attached) {
            let system = Arc::new(self.with_attached(&attached));
            let warm = out.work.warm.last_step.is_some();
            *out = system.create_derivatives();
            out.set_warm_start(warm);
            out.set = Some(SetSystem { attached, system });
        }
        let Some(set) = out.set.clone() else { return Err(DerivativeError::NotPrepared) };
        out.found = self.found_at_start(state, &set.attached);
        set.system.differentiate(state, input, params, mode, out)
    }

    /// Derivatives of one motion, with rows for near pairs and for `work.meetings`.
    pub(super) fn differentiate_motion(
        &self,
        state: &State,
        input: &Drive<'_>,
        params: &StepParams,
        mode: Mode,
        out: &mut Derivatives,
    ) -> Result<(), DerivativeError> {
        out.spare = out.pressure.take().map(Pressure::into_first).or(out.spare.take());
        out.work.pressing = Pressing::Even;
        let used = self.program(state, input, params, mode, out)?;
        let loads = out.work.report.contacts.clone();
        if out.work.contacts.would_follow(&loads) {
            let mut first = out.spare.take().unwrap_or_else(|| Box::new(self.create_derivatives()));
            out.collect(self, input, &used, mode);
            std::mem::swap(out, &mut *first);
            std::mem::swap(&mut out.set, &mut first.set);
            out.found.clone_from(&first.found);
            out.work.warm.last_step.clone_from(&first.work.warm.last_step);
            out.work.meetings.clone_from(&first.work.meetings);
            out.places.clone_from(&first.places);
            out.work.work_left = first.work.work_left;
            std::mem::swap(&mut out.parts, &mut first.parts);
            out.work.pressing = Pressing::By(loads);
            self.program(state, input, params, mode, out)?;
            // weakly active points may shift the load to one side, which moves the centre of
            // friction
            let of_first = first.kinks.program;
            out.kinks.program.rows += of_first.rows + of_first.held;
            out.kinks.program.round += of_first.round;
            out.kinks.program.loads += of_first.loads;
            out.kinks.program.springs += of_first.springs;
            out.pressure = Some(Pressure::new(first, &out.work.contacts));
        }
        if out.work.load.reduction.torn {
            return Err(DerivativeError::Torn);
        }
        if let Some(dof) = self.limited_in_a_loop(params.time_step, &out.work) {
            return Err(DerivativeError::Limited(self.dof_names().swap_remove(dof)));
        }
        out.collect(self, input, &used, mode);
        Ok(())
    }

    /// A dof under constraints whose spring exceeds its effort limit at the end of the step.
    fn limited_in_a_loop(&self, h: f64, work: &Workspace) -> Option<usize> {
        let Workspace { load, report, .. } = work;
        let mut dofs = self.constraint_groups.iter().flat_map(|group| group.dofs.iter().copied());
        dofs.find(|&dof| {
            let body = self.body_of_dof[dof];
            let Role::Actuated(actuator) = &self.roles[body] else { return false };
            let k = dof - self.model.body(body).v.start;
            let stretch = load.dq_cmd[dof] - load.spring_at[dof] * h * report.v[dof];
            actuator.stiffness[k] * stretch.abs() >= actuator.effort_limit[k]
        })
    }

    /// Solves one program of the step and prepares its sensitivity. Returns the parameters with
    /// which it was solved.
    fn program(
        &self,
        state: &State,
        input: &Drive<'_>,
        params: &StepParams,
        mode: Mode,
        out: &mut Derivatives,
    ) -> Result<StepParams, DerivativeError> {
        out.ready = false;
        let work = &mut out.work;
        work.scan.update(self, &state.q, params.contact_margin, &mut work.timer)?;
        work.scan.join(&work.meetings);
        out.kinks = StepKinks::default();
        out.bound = 0.0;
        let used = match mode {
            Mode::Exact => self.differentiate_exact(state, input, params, out)?,
            Mode::Smooth { kappa } => self.relax(state, input, params, kappa, out)?,
        };
        let (params, work) = (&used, &mut out.work);
        let h = params.time_step;
        let v = self.followed(&work.report.v, params, &mut work.followed);
        self.integrate(&state.q, v, input.q_cmd, h, &mut work.q_next)?;
        out.q.clone_from(&state.q);
        out.time_step = h;
        out.q_target.clone_from(&work.load.q_target);
        Ok(used)
    }
}

impl System {
    /// Solves the step itself and prepares its sensitivity on the active set. Returns the
    /// parameters with which it was solved.
    fn differentiate_exact(
        &self,
        state: &State,
        input: &Drive<'_>,
        params: &StepParams,
        out: &mut Derivatives,
    ) -> Result<StepParams, DerivativeError> {
        let work = &mut out.work;
        let (law, used) = self.solve_to_differentiate(state, input, params, Mode::Exact, work)?;
        work.remember(&used);
        match law {
            FrictionLaw::Exact => {
                let program = &work.problem.program.friction;
                out.kinks.program = out.sensitivity.coulomb(program, &work.coulomb.solution)?;
                // differentiate the data of the program's cones
                let Workspace { problem, load, contacts, scan, .. } = &mut *work;
                let (q, kin) = (&state.q[..], &scan.kin);
                let posed = Posed { system: self, q, load, contacts, kin, params: &used };
                problem.assemble(&posed, FrictionLaw::Convex);
                out.x.clone_from(&work.coulomb.solution.x);
                out.z.clear();
                out.z.resize(work.problem.program.convex.m(), 0.0);
                out.sensitivity.multipliers(&mut out.z)?;
            }
            FrictionLaw::Convex => {
                let solution = &work.convex.solution;
                out.kinks.program =
                    out.sensitivity.exact(&work.problem.program.convex, solution)?;
                out.x.clone_from(&solution.x);
                out.z.clone_from(&solution.z);
            }
        }
        Ok(used)
    }

    /// Solves the relaxed step and prepares its sensitivity: from the last relaxed step of the run,
    /// or else from the exact solution. Returns the parameters with which it was solved.
    fn relax(
        &self,
        state: &State,
        input: &Drive<'_>,
        params: &StepParams,
        kappa: f64,
        out: &mut Derivatives,
    ) -> Result<StepParams, DerivativeError> {
        let mut used = params.clone();
        let coulomb = params.formulation.friction == FrictionLaw::Exact;
        let barrier = Barrier { kappa, coulomb };
        if !self.relax_again(state, input, params, barrier, out) {
            let work = &mut out.work;
            let mode = Mode::Smooth { kappa };
            used = self.solve_to_differentiate(state, input, params, mode, work)?.1;
            let program = &work.problem.program.convex;
            let start = Some(RelaxedStart::of(&work.convex.solution));
            out.kinks.program =
                out.sensitivity.smooth(program, barrier, start, &mut out.relaxed)?;
        }
        let Derivatives { work, relaxed, x, z, bound, .. } = out;
        x.clone_from(&relaxed.x);
        z.clone_from(&relaxed.z);
        let n = work.problem.program.convex.n_cones() as f64;
        *bound = if coulomb { f64::INFINITY } else { kappa * n };
        if let Some(rows) = &mut work.warm.last_step {
            work.problem.keep(z, &relaxed.s, 0.0, rows);
        }
        let Workspace { problem, load, contacts, report, scan, .. } = work;
        let (q, kin) = (&state.q[..], &scan.kin);
        let posed = Posed { system: self, q, load, contacts, kin, params: &used };
        anitescu::write(problem, &posed, 0.0, x, z, report);
        Ok(used)
    }

    /// Solves the relaxed step from the rows of the last one. False if there are none, or if that
    /// fails; overlaps that no motion opens are an example.
    fn relax_again(
        &self,
        state: &State,
        input: &Drive<'_>,
        params: &StepParams,
        barrier: Barrier,
        out: &mut Derivatives,
    ) -> bool {
        // the search for rebounds needs exact forces
        if params.formulation.carries_velocity()
            || out.work.warm.rows(StartFrom::LastStep).is_none()
        {
            return false;
        }
        let request = Request { state, input, params, law: FrictionLaw::Convex, solves: false };
        if self.solve(&request, Where::Start, StartFrom::LastStep, &mut out.work).is_err() {
            return false;
        }
        let Derivatives { work, sensitivity, relaxed, kinks, .. } = out;
        let rows = work.warm.rows(StartFrom::LastStep).unwrap_or_default();
        let WarmStart { z, s } = work.convex.start_from(&work.problem, rows);
        let program = &work.problem.program.convex;
        let start = RelaxedStart { x: &[], z, s };
        let Ok(found) = sensitivity.smooth(program, barrier, Some(start), relaxed) else {
            return false;
        };
        kinks.program = found;
        work.report.iterations = relaxed.iterations;
        work.report.fallback = None;
        true
    }
}

impl System {
    /// Solves the step for its derivatives, with its own law, or with a convex fallback. Relaxed
    /// contacts use the convex law.
    fn solve_to_differentiate(
        &self,
        state: &State,
        input: &Drive<'_>,
        params: &StepParams,
        mode: Mode,
        work: &mut Workspace,
    ) -> Result<(FrictionLaw, StepParams), DerivativeError> {
        let law =
            if mode == Mode::Exact { params.formulation.friction } else { FrictionLaw::Convex };
        work.report.fallback = None;
        let mut solve = |params: &StepParams, law, start| {
            let request = Request { state, input, params, law, solves: true };
            self.solve(&request, Where::Start, start, work)
                .map(|()| overlaps(self, &state.q, &work.contacts))
        };
        let mut solved = solve(params, law, StartFrom::LastStep);
        if law == FrictionLaw::Exact && matches!(solved, Err(StepError::NotSolved { .. })) {
            solved = solve(params, law, StartFrom::Nothing);
        }
        let why = match solved {
            Ok(_) => return Ok((law, params.clone())),
            Err(why) if law == FrictionLaw::Exact && why.is_about_friction() => why,
            Err(why) => return Err(why.into()),
        };
        // try fallbacks in the order of a step
        let eased = without_recovery(params);
        if params.formulation.carries_velocity()
            && solve(&eased, law, StartFrom::Nothing) == Ok(true)
        {
            work.report.fallback = Some((Fallback::WithoutRecovery, why));
            return Ok((law, eased));
        }
        match params.fallback {
            Fallback::None => Err(why.into()),
            Fallback::Undecided if why.is_proof() => Err(why.into()),
            fallback @ (Fallback::Undecided | Fallback::Convex) => {
                solve(params, FrictionLaw::Convex, StartFrom::Nothing)?;
                work.report.fallback = Some((fallback, why));
                Ok((FrictionLaw::Convex, params.clone()))
            }
            other => Err(DerivativeError::Fallback { name: other.name(), why }),
        }
    }
}

impl System {
    /// Checks that no joint moves a surface: the derivatives take rates of contacts for those of the
    /// bodies.
    pub(crate) fn check_surfaces(&self) -> Result<(), DerivativeError> {
        match self.model.bodies().iter().find(|body| body.surface) {
            Some(body) => Err(DerivativeError::Surface(body.name.clone())),
            None => Ok(()),
        }
    }
}

impl StepParams {
    /// Checks that steps with these parameters have derivatives.
    ///
    /// # Errors
    ///
    /// [`DerivativeError::Formulation`], which names the first parameter that does not permit them.
    pub fn check_differentiable(&self) -> Result<(), DerivativeError> {
        if self.integration == Integration::Euler {
            return Ok(());
        }
        let (what, seen, rule) = ("integration", "midpoint", "euler");
        Err(DerivativeError::Formulation { what, seen, rule })
    }
}

impl Derivatives {
    /// First pair of shapes that the motion of the relaxed step brings into one another, by more
    /// than the permitted overlap.
    pub(crate) fn overlap_along(
        &mut self,
        system: &System,
        params: &StepParams,
    ) -> Result<Option<Breach>, DerivativeError> {
        let set = self.set_system();
        let system = set.as_deref().unwrap_or(system);
        let Self { work, constants, .. } = self;
        let Workspace { sweep, scan, scan_next, q_next, timer, work_left, .. } = work;
        scan_next.update(system, q_next, params.contact_margin, timer)?;
        sweep.press(&[]);
        // without a bound, tell what the usual one would
        let usual = StepParams::default().max_overlap;
        let max_overlap = if params.max_overlap.is_finite() { params.max_overlap } else { usual };
        let params = StepParams { max_overlap, ..params.clone() };
        let found = sweep.look(system, scan, scan_next, &constants.followed, &params, work_left);
        let limit = params.work_limit;
        let undecided = StepError::Undecided { convex: 1, pivots: 0, work: limit, limited: true };
        Ok(found.ok_or(undecided)?.first)
    }

    /// Prepares for the step that begins where this one ends. Its derivatives are lost.
    pub(crate) fn advance(&mut self) {
        self.ready = false;
        std::mem::swap(&mut self.work.scan, &mut self.work.scan_next);
    }

    /// Collects all data that derivatives need from the step just solved.
    fn collect(&mut self, system: &System, input: &Drive<'_>, params: &StepParams, mode: Mode) {
        (self.matrices.has_rates, self.matrices.has_components) = (false, false);
        self.collect_velocity(system, params);
        self.collect_start(system, params);
        self.collect_loads(system, input, params);
        self.collect_contacts(system, params, mode);
        self.collect_constraints(system, params.max_recovery_speed);
        self.gathered.clone_from(&self.forces);
        system.model.gather(&mut self.gathered);
        self.collect_limits(system, params);
        self.collect_inertia(system, params);
        self.collect_springs(system, params.time_step);
        self.collect_supports(system, params);
        self.ready = true;
    }

    /// Twists of bodies at the velocity of the step, and the rates by which the configuration is
    /// integrated.
    fn collect_velocity(&mut self, system: &System, params: &StepParams) {
        let Self { work, constants, V, .. } = self;
        let v = &work.report.v;
        V.resize(system.model.n_bodies(), Twist::ZERO);
        system.model.twists(&work.scan.kin, v, V);
        constants.rotations = params.rotations;
        constants.followed.clear();
        constants.followed.extend_from_slice(system.followed(v, params, &mut work.followed));
        self.has_w = false;
    }
}
