//! The step that is differentiated, and what its derivatives need of it.

use super::contact::{self, ContactAt};
use super::pressure::{self, Pressure};
use super::{DerivativeError, Derivatives, LimitAt, Mode, SpringAt, StepKinks};
use crate::cartesian::Six;
use crate::formulation::problem::{Law, Posed, limit_unit};
use crate::formulation::{Formulation, Where, anitescu};
use crate::foundation;
use crate::load::Drive;
use crate::params::{Inertia, Integration, PrescribedRate, StepParams};
use crate::row::RowKey;
use crate::state::{State, StepInput};
use crate::system::{DampingOn, Role, System};
use crate::workspace::{Pressing, Workspace};
use quasistep_math::Vec3;
use quasistep_model::{SpatialForce, Twist};

/// Distance to a bound, as a share of the larger of two, that counts as on it.
const TIE: f64 = 1e-9;

impl System {
    /// Takes the step from `state` without moving it, and prepares its derivatives in `out`.
    ///
    /// A pure function of its arguments, to the solver's tolerance. What comes out of the step is in `out` too:
    /// [`q_next`](Derivatives::q_next) and a [`report`](Derivatives::report) without certificate.
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
        out.ready = false;
        params.check_differentiable()?;
        let StepInput { q_cmd, v_cmd, wrenches, tau } = input;
        let drive = Drive { q_cmd, v_cmd, wrenches, tau };
        params.check().map_err(crate::StepError::from)?;
        self.check_mass_scale(params)?;
        self.check(state, &drive)?;
        // on the exact set of loaded contacts, whatever a step may be off by
        let exact = StepParams { accuracy: 0.0, ..params.clone() };
        out.spare = out.pressure.take().map(Pressure::into_first).or(out.spare.take());
        out.work.pressing = Pressing::Even;
        self.program(state, &drive, &exact, mode, out)?;
        let loads = out.work.report.contacts.clone();
        if out.work.contacts.would_follow(&loads) {
            let mut first = out.spare.take().unwrap_or_else(|| Box::new(self.create_derivatives()));
            out.collect(self, input, params, mode);
            std::mem::swap(out, &mut *first);
            out.work.warm.clone_from(&first.work.warm);
            out.work.pressing = Pressing::By(loads);
            self.program(state, &drive, &exact, mode, out)?;
            // points that touch without pushing may share the load to one side, which moves the centre
            let of_first = first.kinks.program;
            out.kinks.program.rows += of_first.rows + of_first.held;
            out.kinks.program.round += of_first.round;
            out.kinks.program.springs += of_first.springs;
            out.pressure = Some(Pressure::new(first, &out.work.contacts));
        }
        if let Some(dof) = self.limited_in_a_loop(params.time_step, &out.work) {
            return Err(DerivativeError::Limited(self.dof_names().swap_remove(dof)));
        }
        if mode == Mode::Exact {
            let work = &mut out.work;
            work.scan_next.update(self, &work.q_next, params.contact_margin, &mut work.timer);
            if let Some(breach) = self.hold_against_shapes(params, work).first {
                let h = params.time_step;
                return Err(DerivativeError::Substeps(self.overlap(&breach, 0.0, h)));
            }
        }
        out.collect(self, input, params, mode);
        Ok(out.kinks)
    }

    /// A dof under constraints whose spring wants more than its effort limit at the end of the step.
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

    /// One program of the step with its sensitivity and its answer.
    fn program(
        &self,
        state: &State,
        input: &Drive<'_>,
        params: &StepParams,
        mode: Mode,
        out: &mut Derivatives,
    ) -> Result<(), DerivativeError> {
        out.ready = false;
        let work = &mut out.work;
        work.timer.reset();
        work.work_left = params.work_limit;
        work.scan.update(self, &state.q, params.contact_margin, &mut work.timer);
        self.solve(state, input, params, Law::Convex, Where::Start, true, work)?;
        work.remember(params);
        out.kinks = StepKinks::default();
        out.bound = 0.0;
        match mode {
            Mode::Exact => {
                let solution = &work.convex.solution;
                out.kinks.program =
                    out.sensitivity.exact(&work.problem.program.convex, solution)?;
                out.x.clone_from(&solution.x);
                out.z.clone_from(&solution.z);
            }
            Mode::Smooth { kappa } => {
                let (program, start) = (&work.problem.program.convex, Some(&work.convex.solution));
                out.kinks.program =
                    out.sensitivity.smooth(program, kappa, start, &mut out.relaxed)?;
                out.x.clone_from(&out.relaxed.x);
                out.z.clone_from(&out.relaxed.z);
                out.bound = kappa * program.n_cones() as f64;
                let Workspace { problem, load, contacts, report, scan, .. } = &mut *work;
                let (q, kin) = (&state.q[..], &scan.kin);
                let posed = Posed { system: self, q, load, contacts, kin, params, rebound: 0.0 };
                anitescu::write(problem, &posed, 0.0, &out.x, &out.z, report);
            }
        }
        let h = params.time_step;
        let v = self.followed(&work.report.v, params, &mut work.followed);
        self.integrate(&state.q, v, input.q_cmd, h, &mut work.q_next)?;
        out.q.clone_from(&state.q);
        out.time_step = h;
        out.q_target.clone_from(&work.load.q_target);
        Ok(())
    }
}

impl StepParams {
    /// That steps taken so have derivatives.
    ///
    /// # Errors
    ///
    /// [`DerivativeError::Formulation`].
    pub fn check_differentiable(&self) -> Result<(), DerivativeError> {
        let (what, seen, rule) = match (self.integration, self.formulation) {
            (Integration::Euler, Formulation::Anitescu { .. }) => return Ok(()),
            (Integration::Midpoint, _) => ("integration", "midpoint", "euler"),
            (_, other) => ("formulation", other.name(), "anitescu"),
        };
        Err(DerivativeError::Formulation { what, seen, rule })
    }
}

impl Derivatives {
    /// Everything that derivatives need of the step just solved.
    fn collect(&mut self, system: &System, input: &StepInput, params: &StepParams, mode: Mode) {
        let (model, h) = (&system.model, params.time_step);
        let n_bodies = model.n_bodies();
        let work = &mut self.work;
        let v = &work.report.v;
        self.V.resize(n_bodies, Twist::ZERO);
        model.twists(&work.scan.kin, v, &mut self.V);
        self.constants.rotations = params.rotations;
        self.constants.followed.clear();
        let followed = system.followed(v, params, &mut work.followed);
        self.constants.followed.extend_from_slice(followed);
        self.has_w = false;

        work.scan.motions(system, &mut self.motions);
        let p_WCb: Vec<Vec3> = work.contacts.rows.iter().map(|row| row.near.point.p_WCb).collect();
        let (beds, points) = (&work.contacts.beds, &work.scan.points);
        let grown = foundation::to_rows(beds, &p_WCb, points, &mut self.motions);
        if mode != Mode::Exact {
            self.kinks.choices = work.scan.tied_choices(system);
        }
        let kin = &work.scan.kin;
        self.constants.gravity = params.gravity;
        self.constants.secant = params.prescribed_rate == PrescribedRate::Secant;
        self.forces.clear();
        self.forces.resize(n_bodies, SpatialForce::ZERO);
        let weight = quasistep_math::Vec3::from(params.gravity);
        for (body, force) in model.bodies().iter().zip(&mut self.forces) {
            if body.gravity {
                force.f_W = weight * body.inertia.mass;
            }
        }
        for (force, p) in self.forces.iter_mut().zip(&kin.p_WBcm) {
            force.m_Wo_W = p.cross(force.f_W);
        }
        self.constants.wrenches.clear();
        for wrench in &input.wrenches {
            let p_W = kin.X_WB[wrench.body].transform_point(wrench.p_B);
            self.constants.wrenches.push((wrench.body, p_W, wrench.force_W));
            self.forces[wrench.body] += SpatialForce::at(p_W, wrench.force_W, wrench.torque_W);
        }
        for spring in &work.load.cartesian {
            let V = self.V[spring.body];
            let V_F = Six(V.w_W, V.at(spring.p_WF));
            self.forces[spring.body] += spring.on_body(V_F, h);
        }
        self.constants.tau.clone_from(&input.tau);
        self.per_h.clone_from(&self.forces);
        self.forces.iter_mut().for_each(|f| *f = *f * h);

        let bounded = |gap: f64| gap / h <= -params.max_recovery_speed * (1.0 - TIE);
        let tie = |gap: f64| (gap / h / params.max_recovery_speed + 1.0).abs() <= TIE;
        self.contacts.clear();
        let largest = self.z.iter().fold(0.0_f64, |m, z| m.max(z.abs()));
        let first = self.pressure.as_ref().map(Pressure::first);
        let by_place = pressure::all_by_place(&work.contacts, first);
        let mut centres = Vec::new();
        for (k, (row, motion)) in work.contacts.rows.iter().zip(&self.motions).enumerate() {
            let near = &row.near;
            let bodies = [near.geom_a, near.geom_b].map(|geom| system.geoms[geom as usize].body);
            let centre = row.area.map(|area| {
                let points = work.contacts.areas[area as usize].points.clone();
                if k == points.start {
                    let rows = &work.contacts.rows[points.clone()];
                    let by_place = &by_place[area as usize];
                    centres = contact::centres(rows, &self.motions[points.clone()], by_place);
                }
                centres[k - points.start]
            });
            let mut contact = ContactAt::new(row, bodies, motion, centre);
            contact.grow = grown.get(k).copied().unwrap_or_default();
            contact.rows = work.problem.program.convex.rows_of(k);
            contact.rates = contact.rates(bodies.map(|b| self.V[b]));
            let phi = near.point.phi;
            contact.rates[0] += row.gap_offset(params);
            let gives = row.friction.compliance > 0.0;
            if gives || !bounded(phi) {
                (contact.per_phi, contact.per_h) = (1.0 / h, -phi / (h * h));
            }
            for r in contact.rows.clone() {
                for (sum, push) in contact.lambda.iter_mut().zip(work.problem.pushes[r]) {
                    *sum += self.z[r] * push;
                }
            }
            let loaded = contact.lambda[0] > TIE * largest;
            self.kinks.features += u32::from(motion.kink && loaded);
            let smooth = mode != Mode::Exact;
            self.kinks.edges += u32::from(motion.on_edge && smooth);
            self.kinks.recovery += u32::from(!gives && tie(phi));
            let margin = params.contact_margin;
            let at_margin = margin.is_finite() && (phi - margin).abs() <= TIE * margin;
            self.kinks.margin += u32::from(at_margin && smooth);
            let (f, m) = contact.force(&contact.lambda);
            let [on_a, on_b] = contact.on_bodies(f, m);
            self.forces[bodies[0]] += on_a;
            self.forces[bodies[1]] += on_b;
            self.contacts.push(contact);
        }
        self.collect_constraints(system, params.max_recovery_speed);
        self.gathered.clone_from(&self.forces);
        model.gather(&mut self.gathered);

        let work = &self.work;
        let v = &work.report.v;
        self.limits.clear();
        for (row, key) in work.problem.keys.iter().enumerate() {
            let (index, sign) = match key {
                RowKey::LowerLimit { limit } => (*limit, 1.0),
                RowKey::UpperLimit { limit } => (*limit, -1.0),
                RowKey::Contact { .. } | RowKey::JointFriction { .. } => continue,
            };
            let limit = &model.limits()[index as usize];
            let q = self.q[limit.q_index as usize];
            let gap = if sign > 0.0 { q - limit.lower } else { limit.upper - q };
            let (mut per_gap, mut per_h) = (1.0 / h, -gap / (h * h));
            if bounded(gap) {
                (per_gap, per_h) = (0.0, 0.0);
            }
            self.kinks.recovery += u32::from(tie(gap));
            let unit = limit_unit(gap, params);
            let (sign, per_h) = (unit * sign, unit * per_h);
            self.limits.push(LimitAt { row, dof: limit.dof as usize, sign, per_gap, per_h });
        }

        self.inertia = params.inertia == Inertia::Mass;
        if self.inertia {
            self.v_passive.clear();
            self.v_passive.extend(
                v.iter().enumerate().map(|(dof, v)| if system.is_passive(dof) { *v } else { 0.0 }),
            );
            self.V_passive.resize(n_bodies, Twist::ZERO);
            let kin = &work.scan.kin;
            model.twists(kin, &self.v_passive, &mut self.V_passive);
            self.momenta.resize(n_bodies, SpatialForce::ZERO);
            model.momenta(kin, &self.V_passive, &mut self.momenta);
            self.collect_mass_scales(system);
        }
        self.collect_springs(system, h, mode);
        self.ready = true;
    }

    fn collect_springs(&mut self, system: &System, h: f64, mode: Mode) {
        let (load, v) = (&self.work.load, &self.work.report.v);
        self.springs.clear();
        let mut saturation = 0;
        let solution = &self.work.convex.solution;
        // limited springs are pushed in the order of the dofs
        let mut limited_of = |limited: bool| {
            saturation += 1;
            match mode {
                Mode::Exact => solution.saturated[saturation - 1] != 0,
                Mode::Smooth { .. } => limited,
            }
        };
        for (dof, cmd) in self.matrices.trees.cmd_of_dof.iter().enumerate() {
            let Some(cmd) = *cmd else { continue };
            let body = system.body_of_dof[dof];
            let k = dof - system.model.body(body).v.start;
            let Role::Actuated(actuator) = &system.roles[body] else { continue };
            let (K, D, limit) =
                (actuator.stiffness[k], actuator.damping[k], actuator.effort_limit[k]);
            let stretch = load.dq_cmd[dof] - h * v[dof];
            let on_error = actuator.damping_on == DampingOn::CommandError;
            let mut spring = SpringAt {
                dof,
                cmd,
                stiffness: K,
                damping: D,
                stretch,
                rate: if on_error { load.v_cmd[dof] } else { 0.0 } - v[dof],
                on_error,
                limits: limit.is_finite() && K > 0.0,
                limited: None,
            };
            if spring.limits && limited_of((K * stretch).abs() > limit) {
                spring.limited = Some(limit.copysign(stretch));
            }
            self.springs.push(spring);
        }
    }
}
