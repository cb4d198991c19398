//! Stage 8: the certificate, computed only from physical forces and geometry.

use crate::certificate::Certificate;
use crate::error::StepError;
use crate::formulation::Cone;
use crate::formulation::rubbing::{needed_of_support, speed_on_support};
use crate::load::Load;
use crate::params::StepParams;
use crate::report::{JointForce, StepMethod, StepReport, SupportForce};
use crate::system::{DampingOn, Role, System};
use crate::workspace::Workspace;

/// Sum of the forces on every dof, in N or N·m, and the largest force in it.
struct Balance<'a> {
    on_dofs: &'a mut [f64],
    largest: f64,
}

impl Balance<'_> {
    /// Adds a force on one dof.
    fn add(&mut self, dof: usize, force: f64) {
        self.on_dofs[dof] += force;
        self.see(force);
    }

    /// Raises the force scale to the size of a force that is in the sum.
    fn see(&mut self, force: f64) {
        self.largest = self.largest.max(force.abs());
    }
}

/// Sets `worst` to the larger of `worst` and `residual`; NaN counts as largest.
fn raise(worst: &mut f64, residual: f64) {
    if !(residual <= *worst) {
        *worst = residual;
    }
}

impl System {
    /// Fills effort and certificate of the report.
    ///
    /// Every residual is recomputed from reported quantities: contact forces through the contact
    /// Jacobians, springs and dampers from `v`, weight and wrenches from the load. Returns an error
    /// if the step is not certified.
    pub(crate) fn certify(
        &self,
        work: &mut Workspace,
        params: &StepParams,
    ) -> Result<(), StepError> {
        let h = params.time_step;
        let mut certificate = Certificate::default();
        let mut sum = std::mem::take(&mut work.balance);
        sum.clear();
        sum.extend_from_slice(&work.load.tau);
        let largest = sum.iter().fold(0.0_f64, |m, t| m.max(t.abs()));
        let mut balance = Balance { on_dofs: &mut sum, largest };

        certify_contacts(work, params, &mut balance, &mut certificate);
        let Workspace {
            report,
            load,
            contacts,
            problem,
            convex,
            coulomb,
            scan,
            scan_next,
            drag,
            floats,
            ..
        } = &mut *work;
        self.add_limits_and_damping(report, &mut balance);
        let undissipated =
            self.certify_joint_friction((load, h), report, &mut balance, &mut certificate);
        // a formulation without mass in its cost subtracts nothing here
        let momentum = problem.subtract_inertia(load, &report.v, h, balance.on_dofs);
        balance.see(Certificate::ROUNDING * momentum);
        add_springs_of_frames(load, report, h, &mut balance);
        drag.measure(self, &scan.kin, problem, params, report);
        floats.mark(self, params, report);
        self.add_drives(load, report, h, &mut balance);
        certificate.constraint = load.reduction.residual(&report.v, h);
        self.report_constraints(&mut load.reduction, scan_next, balance.on_dofs, report);
        for constraint in &report.constraints {
            balance.see(constraint.largest_force());
        }
        self.add_prescribed(report, &mut balance);
        for spring in &load.cartesian {
            let w = spring.wrench(spring.velocity(&report.v), h);
            report.effort.extend(w.to_array());
        }
        report.effort.extend(contacts.acting(&load.pulls));
        for k in &self.switches {
            report.effort.push(report.constraints[*k].size());
        }

        for (dof, unbalanced) in balance.on_dofs.iter().enumerate() {
            let worst = if self.is_turn(dof) {
                &mut certificate.torque_balance
            } else {
                &mut certificate.force_balance
            };
            raise(worst, unbalanced.abs());
        }
        let of_program = if matches!(report.method, StepMethod::Coulomb(_)) {
            let residuals = &coulomb.solution.residuals;
            residuals.complementarity.max(residuals.dissipation.abs())
        } else {
            convex.solution.residuals.complementarity
        };
        certificate.complementarity = of_program.max(undissipated);
        certificate.true_distance = scan_next.smallest_distance();
        certificate.force_scale = balance.largest;
        report.certificate = certificate;
        work.balance = sum;
        match certificate.complaint() {
            None => Ok(()),
            Some(why) => Err(StepError::NotSolved { iterations: work.report.iterations, why }),
        }
    }

    fn add_limits_and_damping(&self, report: &StepReport, balance: &mut Balance<'_>) {
        for limit in &report.limits {
            balance.add(limit.dof as usize, limit.force);
        }
        for (dof, damping) in self.model.damping().iter().enumerate() {
            balance.on_dofs[dof] -= damping * report.v[dof];
        }
    }

    /// Checks that joint friction is within its bounds. Returns how far its dissipation is below
    /// the maximum, in J.
    fn certify_joint_friction(
        &self,
        (load, h): (&Load, f64),
        report: &mut StepReport,
        balance: &mut Balance<'_>,
        certificate: &mut Certificate,
    ) -> f64 {
        self.add_known_friction(load, report);
        for friction in &report.joint_friction {
            balance.add(friction.dof as usize, friction.force);
        }
        let mut undissipated = 0.0_f64;
        let mut lost = |dof: usize, bound: f64, speed: f64, power: f64| {
            if self.variable_of_dof[dof].is_some() {
                undissipated = undissipated.max((h * (bound * speed + power)).abs());
            }
        };
        for friction in &report.joint_friction {
            let dof = friction.dof as usize;
            let body = self.body_of_dof[dof];
            let of_support = report.supports.iter().find(|s| s.body as usize == body);
            let k = dof - self.model.body(body).v.start;
            let force = friction.force - of_support.map_or(0.0, |support| support.force[k]);
            let (bound, v) = (load.friction[dof], report.v[dof]);
            raise(&mut certificate.cone_violation, force.abs() - bound);
            lost(dof, bound, v.abs(), force * v);
        }
        for support in &report.supports {
            let body = support.body as usize;
            let (first, radius) = (self.model.body(body).v.start, self.spin_radius(body));
            let bound = self.mu_of_support(body) * support.load;
            let v = [0, 1, 2].map(|k| report.v[first + k]);
            let needed = needed_of_support(radius, support.force);
            raise(&mut certificate.cone_violation, needed - bound);
            let power = support.force.iter().zip(v).map(|(f, v)| f * v).sum();
            lost(first, bound, speed_on_support(radius, v), power);
        }
        undissipated
    }

    /// Adds friction of prescribed joints. They have no rows; where they move, their friction is
    /// known.
    fn add_known_friction(&self, load: &Load, report: &mut StepReport) {
        for (dof, _) in self.commanded_dofs().filter(|(dof, _)| self.is_prescribed(*dof)) {
            let (bound, v) = (load.friction[dof], report.v[dof]);
            if bound > 0.0 {
                let force = if v == 0.0 { 0.0 } else { -bound.copysign(v) };
                report.joint_friction.push(JointForce { dof: dof as u32, force });
            }
        }
        report.joint_friction.sort_unstable_by_key(|f| f.dof);
        for (&body, bound) in self.planes.iter().zip(&load.planes) {
            let (first, r) = (self.model.body(body).v.start, self.spin_radius(body));
            if *bound > 0.0 && self.is_prescribed(first) {
                let [x, y, w] = [0, 1, 2].map(|k| report.v[first + k]);
                let speed = speed_on_support(r, [x, y, w]);
                let per = if speed == 0.0 { 0.0 } else { -bound / speed };
                let force = [x * per, y * per, r * r * w * per];
                let load = bound / self.mu_of_support(body);
                report.supports.push(SupportForce { body: body as u32, load, force });
                report.add_support(first, report.supports.len() - 1);
            }
        }
        report.supports.sort_unstable_by_key(|s| s.body);
    }

    /// Adds efforts of drives. Efforts of prescribed dofs follow once constraint forces are known.
    fn add_drives(&self, load: &Load, report: &mut StepReport, h: f64, balance: &mut Balance<'_>) {
        report.effort.clear();
        report.saturated.clear();
        for (dof, _) in self.commanded_dofs() {
            let body = self.body_of_dof[dof];
            let Role::Actuated(actuator) = &self.roles[body] else {
                report.effort.push(0.0);
                continue;
            };
            let k = dof - self.model.body(body).v.start;
            let limit = actuator.effort_limit[k];
            let stretch = load.dq_cmd[dof] - load.spring_at[dof] * h * report.v[dof];
            let wanted = actuator.stiffness[k] * stretch;
            // rounding of a small difference of two long distances must not count as a residual
            let distances =
                load.dq_cmd[dof].abs() + (load.spring_at[dof] * h * report.v[dof]).abs();
            balance.see(Certificate::ROUNDING * actuator.stiffness[k] * distances);
            let spring = wanted.clamp(-limit, limit);
            if wanted.abs() > limit {
                report.saturated.push(dof as u32);
            }
            let rate = match actuator.damping_on {
                DampingOn::Velocity => -report.v[dof],
                DampingOn::CommandError => load.v_cmd[dof] - report.v[dof],
            };
            let effort = spring + actuator.damping[k] * rate;
            balance.add(dof, effort);
            report.effort.push(effort);
        }
    }

    /// Adds the efforts of prescribed dofs, which balance all other forces.
    fn add_prescribed(&self, report: &mut StepReport, balance: &mut Balance<'_>) {
        for (dof, cmd) in self.commanded_dofs().filter(|(dof, _)| self.is_prescribed(*dof)) {
            let effort = -balance.on_dofs[dof];
            balance.add(dof, effort);
            report.effort[cmd] = effort;
        }
    }
}

fn add_springs_of_frames(load: &Load, report: &StepReport, h: f64, balance: &mut Balance<'_>) {
    for spring in &load.cartesian {
        let w = spring.wrench(spring.velocity(&report.v), h);
        spring.generalised(w, |dof, force| balance.on_dofs[dof] += force);
        w.to_array().iter().for_each(|f| balance.see(*f));
    }
}

/// Checks contact forces against their cones and gaps against the promise of their rows.
fn certify_contacts(
    work: &Workspace,
    params: &StepParams,
    balance: &mut Balance<'_>,
    certificate: &mut Certificate,
) {
    let (contacts, h) = (&work.contacts, params.time_step);
    for (row, contact) in contacts.rows.iter().zip(&work.report.contacts) {
        let f = contact.force_W();
        let [f_1, f_2] = row.parts(f);
        let along = [contact.normal_force, f_1, f_2];
        for (dof, column) in contacts.columns_of(row) {
            balance.on_dofs[dof] +=
                column[0] * along[0] + column[1] * along[1] + column[2] * along[2];
        }
        if let Some(turning) = &row.turning {
            let roll = contact.roll_torque_W;
            let spin = contact.spin_torque_about_centre();
            let about = [spin, roll.dot(turning.r1), roll.dot(turning.r2)];
            for (dof, column) in contacts.turns_of(row, turning) {
                balance.on_dofs[dof] +=
                    column[0] * about[0] + column[1] * about[1] + column[2] * about[2];
            }
        }
        balance.see(contact.normal_force);

        // the box bounds friction along each tangent separately
        let sliding = match (params.formulation.cone, &row.anisotropy) {
            (Cone::Round | Cone::Pyramid(_), None) => contact.friction_force_W.norm(),
            // uses friction alone: a rounding part of the normal force along the tangents would
            // violate `mu = 0`
            (cone, _) => {
                let [f_1, f_2] = row.parts(contact.friction_force_W);
                if cone == Cone::Box { f_1.abs().max(f_2.abs()) } else { f_1.hypot(f_2) }
            }
        };
        let lacking = contact.normal_force_needed(sliding) - contact.normal_force;
        raise(&mut certificate.cone_violation, lacking);
        raise(&mut certificate.cone_violation, -contact.normal_force);
        // the row guarantees phi + h v_n ≥ 0 less compliance; with an overlap, the bounded recovery
        // instead
        let gives = row.friction.compliance * contact.normal_force;
        let promised = contact.phi - h * row.gap_offset(params) - gives;
        certificate.penetration = certificate.penetration.max(promised - contact.phi_next);
    }
}
