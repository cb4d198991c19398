//! Stage 6: writes the solution as velocities and physical impulses to the report. Formulations
//! share this code.

use crate::contact::{ContactRow, ContactRows};
use crate::formulation::edges::WAYS;
use crate::formulation::problem::{Posed, Problem, limit_unit};
use crate::formulation::program::Program;
use crate::formulation::rubbing::push_of_friction;
use crate::load::Load;
use crate::report::{
    ContactMode, ContactReport, JointForce, SLIP_SPEED_THRESHOLD, SPIN_RATE_THRESHOLD, StepReport,
};
use crate::row::RowKey;
use crate::system::System;
use quasistep_math::Vec3;

/// Share of the largest impulse below which a contact counts as unloaded. The solvers return exact
/// zeros, but their smallest nonzero impulses have only this accuracy.
const LOADED: f64 = 1e-12;

/// A solver's solution in the rows of a [`Problem`](crate::formulation::problem::Problem), with the
/// problem's data.
pub(crate) struct Answer<'a> {
    posed: Posed<'a>,
    system: &'a System,
    program: &'a Program,
    load: &'a Load,
    contacts: &'a ContactRows,
    /// Time step, in s.
    h: f64,
    /// Relative accuracy of the solution, as a share of the largest forces and speeds; 0 for full
    /// accuracy.
    accuracy: f64,
    /// Rates of the variables, in m/s or rad/s.
    x: &'a [f64],
    /// Multipliers, in N·s or N·m·s, the force of a unit of each, and their keys.
    z: &'a [f64],
    pushes: &'a [[f64; WAYS]],
    keys: &'a [RowKey],
    /// Forces of the last multipliers, those of supports.
    of_supports: &'a [[f64; 3]],
}

impl<'a> Answer<'a> {
    /// The solution `x`, `z` of an assembled problem.
    pub fn new(
        problem: &'a Problem,
        posed: &Posed<'a>,
        accuracy: f64,
        x: &'a [f64],
        z: &'a [f64],
    ) -> Self {
        let Posed { system, load, contacts, params, .. } = *posed;
        let Problem { program, pushes, keys, supports: of_supports, .. } = problem;
        let (posed, h) = (*posed, params.time_step);
        Self {
            posed,
            system,
            program,
            load,
            contacts,
            h,
            accuracy,
            x,
            z,
            pushes,
            keys,
            of_supports,
        }
    }
    /// Fills velocities, contacts and limits of the report. `layer` returns the speed at which the
    /// convex step lifts a contact, in m/s, for its index and rates.
    pub fn write(&self, report: &mut StepReport, layer: impl Fn(usize, [f64; WAYS]) -> f64) {
        let Self { system, load, contacts, h, accuracy, .. } = *self;
        report.v.clear();
        report.v.extend(system.variable_of_dof.iter().zip(&load.v_known).map(
            |(variable, known)| match variable {
                Some(index) => self.x[*index as usize],
                None => *known,
            },
        ));
        load.reduction.complete(&mut report.v);
        let largest = self.z.iter().fold(0.0_f64, |m, z| m.max(*z));
        let least = LOADED.max(accuracy) * largest;
        report.contacts.clear();
        for (k, row) in contacts.rows.iter().enumerate() {
            // lambda_n = Σ beta_j, lambda_t = mu Σ beta_j d_j; of a round cone z_n and mu z_t
            let mut lambda = [0.0; WAYS];
            for r in self.program.rows_of(k) {
                for (sum, push) in lambda.iter_mut().zip(self.pushes[r]) {
                    *sum += self.z[r] * push;
                }
            }
            let [v_n, v_t1, v_t2] = contacts.velocity(row, &report.v);
            let [w_n, w_r1, w_r2] = contacts.angular_velocity(row, &report.v);
            let rates = [v_n, v_t1, v_t2, w_n, w_r1, w_r2];
            let loaded = lambda[0] > least;
            let layer = if loaded { h * layer(k, rates) } else { 0.0 };
            report.contacts.push(ContactReport {
                boundary_layer: layer,
                rebound: if loaded { self.posed.rebound_speed(row) } else { 0.0 },
                ..contact(system, row, lambda, rates, loaded, h)
            });
        }
        contacts.report_pulls(&load.pulls, &mut report.contacts);
        report.limits.clear();
        report.joint_friction.clear();
        report.supports.clear();
        let of_supports = self.keys.len() - self.of_supports.len();
        for (k, (key, z)) in self.keys.iter().zip(self.z).enumerate() {
            let (limit, sign) = match key {
                RowKey::LowerLimit { limit } => (*limit, 1.0),
                RowKey::UpperLimit { limit } => (*limit, -1.0),
                RowKey::Contact { .. } => continue,
                RowKey::JointFriction { dof, edge } => {
                    let force = push_of_friction(*edge) * z / h;
                    // rows of one joint are consecutive
                    match report.joint_friction.last_mut() {
                        Some(last) if last.dof == *dof => last.force += force,
                        _ => report.joint_friction.push(JointForce { dof: *dof, force }),
                    }
                    continue;
                }
                RowKey::Support { body, .. } => {
                    let push = self.of_supports[k - of_supports];
                    report.push_support(*body, push.map(|push| push * z / h));
                    continue;
                }
            };
            if *z > least {
                let limit = &system.model.limits()[limit as usize];
                let q = self.posed.q[limit.q_index as usize];
                let gap = if sign > 0.0 { q - limit.lower } else { limit.upper - q };
                let force = sign * limit_unit(gap, self.posed.params) * z / h;
                report.limits.push(JointForce { dof: limit.dof, force });
            }
        }
        for (&body, bound) in system.planes.iter().zip(&load.planes) {
            let load = bound / system.mu_of_support(body);
            if let Some(support) = report.supports.iter_mut().find(|s| s.body as usize == body) {
                support.load = load;
            }
        }
        for k in 0..report.supports.len() {
            report.add_support(system.model.body(report.supports[k].body as usize).v.start, k);
        }
        report.n_rows = self.keys.len();
        report.n_active = self.z.iter().filter(|z| **z > accuracy * largest).count();
    }
}

/// Report of one contact for its impulses, in N·s and N·m·s, and rates, in m/s and rad/s.
fn contact(
    system: &System,
    row: &ContactRow,
    lambda: [f64; WAYS],
    [v_n, v_t1, v_t2, spin_rate, ..]: [f64; WAYS],
    loaded: bool,
    h: f64,
) -> ContactReport {
    let (near, point) = (&row.near, &row.near.point);
    let [lambda_n, lambda_t1, lambda_t2, lambda_spin, lambda_r1, lambda_r2] = lambda;
    let [d1, d2] = row.lever;
    let [dual1, dual2] = row.duals();
    let slip_of_centre = dual1 * v_t1 + dual2 * v_t2;
    let lever_W = row.at_place(row.lever);
    let slip_W = slip_of_centre - point.n_AB_W.cross(lever_W) * spin_rate;
    let spins = row.friction.mu_spin > 0.0 && spin_rate.abs() > SPIN_RATE_THRESHOLD;
    let mode = if !loaded {
        ContactMode::Separate
    } else if slip_of_centre.norm() > SLIP_SPEED_THRESHOLD || spins {
        ContactMode::Slide
    } else {
        ContactMode::Stick
    };
    ContactReport {
        geom_a: near.geom_a,
        geom_b: near.geom_b,
        body_a: system.geoms[near.geom_a as usize].body as u32,
        body_b: system.geoms[near.geom_b as usize].body as u32,
        feature: point.feature,
        p_W: near.p_W(),
        p_WC: [point.p_WCa, point.p_WCb],
        n_AB_W: point.n_AB_W,
        phi: point.phi,
        phi_next: point.phi + h * v_n,
        friction: row.friction,
        normal_force: lambda_n / h,
        pull: 0.0,
        friction_force_W: (row.t1 * lambda_t1 + row.t2 * lambda_t2) * (1.0 / h),
        spin_torque: (lambda_spin + d1 * lambda_t2 - d2 * lambda_t1) / h,
        lever_W,
        roll_torque_W: row
            .turning
            .map_or(Vec3::ZERO, |t| (t.r1 * lambda_r1 + t.r2 * lambda_r2) * (1.0 / h)),
        slip_W,
        spin_rate,
        boundary_layer: 0.0,
        artificial: false,
        rebound: 0.0,
        mode,
    }
}
