//! Stage 8: the certificate, from physical forces and geometry alone.

use crate::certificate::Certificate;
use crate::error::StepError;
use crate::formulation::Cone;
use crate::params::StepParams;
use crate::report::{JointForce, StepMethod};
use crate::system::{DampingOn, Role, System};
use crate::workspace::Workspace;

impl System {
    /// Fills effort and certificate of the report, and refuses a step that is not certified.
    ///
    /// Every residual is rebuilt from reported quantities: contact forces through the contact
    /// Jacobians, springs and dampers from `v`, weight and wrenches from the load.
    pub(crate) fn certify(
        &self,
        work: &mut Workspace,
        params: &StepParams,
    ) -> Result<(), StepError> {
        let h = params.time_step;
        let Workspace {
            report, load, contacts, problem, convex, coulomb, scan_next, balance, ..
        } = work;
        let exact = matches!(report.method, StepMethod::Coulomb(_));
        let mut certificate = Certificate::default();

        // sum of all forces on every dof, in N or N·m
        balance.clear();
        balance.extend_from_slice(&load.tau);
        let mut scale = balance.iter().fold(0.0_f64, |m, t| m.max(t.abs()));
        for (row, contact) in contacts.rows.iter().zip(&report.contacts) {
            let f = contact.force_W();
            let along = [contact.normal_force, f.dot(row.t1), f.dot(row.t2)];
            for (dof, column) in contacts.columns_of(row) {
                balance[dof] += column[0] * along[0] + column[1] * along[1] + column[2] * along[2];
            }
            if let Some(turning) = &row.turning {
                let roll = contact.roll_torque_W;
                let spin = contact.spin_torque_about_centre();
                let about = [spin, roll.dot(turning.r1), roll.dot(turning.r2)];
                for (dof, column) in contacts.turns_of(row, turning) {
                    balance[dof] +=
                        column[0] * about[0] + column[1] * about[1] + column[2] * about[2];
                }
            }
            scale = scale.max(contact.normal_force.abs());

            // the box holds along each tangent on its own
            let sliding = match params.formulation.cone() {
                Cone::Box => along[1].abs().max(along[2].abs()),
                _ => contact.friction_force_W.norm(),
            };
            let lacking = contact.normal_force_needed(sliding) - contact.normal_force;
            for excess in [lacking, -contact.normal_force] {
                // written so that NaN wins
                if !(excess <= certificate.cone_violation) {
                    certificate.cone_violation = excess;
                }
            }
            // the row promises phi + h v_n ≥ 0, or for an overlap the bounded recovery, less what gives way
            let gives = row.friction.compliance * contact.normal_force;
            let promised = contact.phi - h * row.gap_offset(params) - gives;
            certificate.penetration = certificate.penetration.max(promised - contact.phi_next);
        }
        for limit in &report.limits {
            balance[limit.dof as usize] += limit.force;
            scale = scale.max(limit.force.abs());
        }
        for (dof, damping) in self.model.damping().iter().enumerate() {
            balance[dof] -= damping * report.v[dof];
        }
        // a prescribed joint has no row: where it moves its friction is known
        let prescribed = self.commanded().iter().filter(|&&b| self.roles[b] == Role::Prescribed);
        for dof in prescribed.flat_map(|&body| self.model.body(body).v.clone()) {
            let (bound, v) = (self.model.friction()[dof], report.v[dof]);
            if bound > 0.0 {
                let force = if v == 0.0 { 0.0 } else { -bound.copysign(v) };
                report.joint_friction.push(JointForce { dof: dof as u32, force });
            }
        }
        report.joint_friction.sort_unstable_by_key(|f| f.dof);
        let mut undissipated = 0.0_f64;
        for friction in &report.joint_friction {
            let dof = friction.dof as usize;
            let (bound, v) = (self.model.friction()[dof], report.v[dof]);
            balance[dof] += friction.force;
            scale = scale.max(friction.force.abs());
            certificate.cone_violation =
                certificate.cone_violation.max(friction.force.abs() - bound);
            if self.variable_of_dof[dof].is_some() {
                undissipated = undissipated.max((h * (bound * v.abs() + friction.force * v)).abs());
            }
        }
        // without mass in the cost it subtracts nothing
        problem.subtract_inertia(load, &report.v, h, balance);

        for spring in &load.cartesian {
            let w = spring.wrench(spring.velocity(&report.v), h);
            spring.generalised(w, |dof, force| balance[dof] += force);
            scale = w.to_array().iter().fold(scale, |m, f| m.max(f.abs()));
        }

        report.effort.clear();
        report.saturated.clear();
        for &body in self.commanded() {
            for (k, dof) in self.model.body(body).v.clone().enumerate() {
                let Role::Actuated(actuator) = &self.roles[body] else {
                    // known once the forces of constraints are
                    report.effort.push(0.0);
                    continue;
                };
                let limit = actuator.effort_limit[k];
                let stretch = load.dq_cmd[dof] - load.spring_at[dof] * h * report.v[dof];
                let wanted = actuator.stiffness[k] * stretch;
                let spring = wanted.clamp(-limit, limit);
                if wanted.abs() > limit {
                    report.saturated.push(dof as u32);
                }
                let rate = match actuator.damping_on {
                    DampingOn::Velocity => -report.v[dof],
                    DampingOn::CommandError => load.v_cmd[dof] - report.v[dof],
                };
                let effort = spring + actuator.damping[k] * rate;
                balance[dof] += effort;
                scale = scale.max(effort.abs());
                report.effort.push(effort);
            }
        }
        certificate.constraint = load.reduction.residual(&report.v, h);
        self.report_constraints(load, scan_next, balance, report);
        for constraint in &report.constraints {
            scale = scale.max(constraint.largest_force());
        }
        // a prescribed motion takes whatever force it needs
        let mut cmd = 0;
        for &body in self.commanded() {
            for dof in self.model.body(body).v.clone() {
                if self.roles[body] == Role::Prescribed {
                    let effort = -balance[dof];
                    balance[dof] += effort;
                    scale = scale.max(effort.abs());
                    report.effort[cmd] = effort;
                }
                cmd += 1;
            }
        }

        for spring in &load.cartesian {
            let w = spring.wrench(spring.velocity(&report.v), h);
            report.effort.extend(w.to_array());
        }

        for (dof, unbalanced) in balance.iter().enumerate() {
            let worst = if self.is_turn(dof) {
                &mut certificate.torque_balance
            } else {
                &mut certificate.force_balance
            };
            // written so that NaN wins
            if !(unbalanced.abs() <= *worst) {
                *worst = unbalanced.abs();
            }
        }
        certificate.complementarity = if exact {
            let residuals = &coulomb.solution.residuals;
            residuals.complementarity.max(residuals.dissipation.abs())
        } else {
            convex.solution.residuals.complementarity
        }
        .max(undissipated);
        certificate.true_distance = scan_next.smallest_distance();
        certificate.force_scale = scale;
        report.certificate = certificate;
        match certificate.complaint() {
            None => Ok(()),
            Some(why) => Err(StepError::NotSolved { iterations: report.iterations, why }),
        }
    }
}
