//! Applied forces, springs and commands of a step. All formulations share them.

use crate::cartesian::Pull;
use crate::constraint::Reduction;
use crate::contact::ContactRows;
use crate::error::StepError;
use crate::params::{PrescribedRate, StepParams};
use crate::state::{State, Wrench};
use crate::system::{Role, System};
use quasistep_model::{BodyMotion, JointKind, Kinematics};

/// Borrowed [`StepInput`](crate::StepInput).
pub(crate) struct Drive<'a> {
    pub q_cmd: &'a [f64],
    pub v_cmd: &'a [f64],
    pub wrenches: &'a [Wrench],
    pub tau: &'a [f64],
}

/// Loads and drives of one step, over all dofs. All formulations share them.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// Applied generalised force `tau`, in N or N·m: gravity, external forces, and the pulls of pads
    /// at the current contact rows. Where velocity is carried from step to step it includes Coriolis and gyroscopic forces.
    pub tau: Vec<f64>,
    /// Pull of each pad, in N.
    pub pulls: Vec<f64>,
    /// `tau` without the pulls, in a system with pads.
    tau_unpulled: Vec<f64>,
    /// `q_cmd ⊖ q` on commanded dofs, in m or rad. For actuated dofs the command is taken at the
    /// time at which the spring is evaluated.
    pub dq_cmd: Vec<f64>,
    /// Point of the step at which an actuated dof's spring is evaluated, 1 at its end.
    pub spring_at: Vec<f64>,
    /// Rate of the command on commanded dofs, in m/s or rad/s.
    pub v_cmd: Vec<f64>,
    /// Known rates of prescribed dofs, in m/s or rad/s; zero elsewhere.
    pub v_known: Vec<f64>,
    /// Velocity at the start of the step, in m/s or rad/s; zero where it is not carried over.
    pub v_start: Vec<f64>,
    /// Largest dry friction of each dof, in N or N·m, including that of slides on supports.
    pub friction: Vec<f64>,
    /// Largest friction on the support of each planar joint with a support, in N.
    pub planes: Vec<f64>,
    /// Cartesian springs between frames and their commanded poses.
    pub cartesian: Vec<Pull>,
    /// Elimination of dependent variables by the constraints.
    pub reduction: Reduction,
    /// Target configuration: commanded joints at their command, all others unchanged.
    pub q_target: Vec<f64>,
    motions: Vec<BodyMotion>,
}

impl Load {
    pub fn update(
        &mut self,
        system: &System,
        state: &State,
        input: &Drive<'_>,
        params: &StepParams,
        kin: &Kinematics,
    ) -> Result<(), StepError> {
        let model = &system.model;
        for vector in [
            &mut self.tau,
            &mut self.dq_cmd,
            &mut self.spring_at,
            &mut self.v_cmd,
            &mut self.v_known,
            &mut self.v_start,
        ] {
            vector.clear();
            vector.resize(model.n_v(), 0.0);
        }
        model.gravity_force(kin, params.gravity.into(), &mut self.tau);
        self.tau.iter_mut().zip(input.tau).for_each(|(sum, tau)| *sum += tau);
        if params.formulation.carries_velocity() && !state.v.is_empty() {
            self.v_start.copy_from_slice(&state.v);
            model.velocity_force(kin, &self.v_start, &mut self.motions, &mut self.tau);
        }
        self.friction.clear();
        self.friction.extend_from_slice(model.friction());
        self.planes.clear();
        for (index, body) in model.bodies().iter().enumerate() {
            let mu = system.mu_of_support(index);
            if mu == 0.0 {
                continue;
            }
            let bound = mu * model.support_load(kin, index, params.gravity.into()).load;
            match body.joint {
                JointKind::Planar => self.planes.push(bound),
                _ => self.friction[body.v.start] += bound,
            }
        }
        for wrench in input.wrenches {
            let p_W = kin.X_WB[wrench.body].transform_point(wrench.p_B);
            model.add_wrench(kin, wrench.body, p_W, wrench.force_W, wrench.torque_W, &mut self.tau);
        }

        self.set_pulls(system, input.q_cmd);

        self.q_target.clear();
        self.q_target.extend_from_slice(&state.q);
        let (mut at_q, mut at_v) = (0, 0);
        for &body in system.commanded() {
            let joint = model.body(body);
            let n = joint.q.len();
            self.q_target[joint.q.clone()].copy_from_slice(&input.q_cmd[at_q..at_q + n]);
            at_q += n;
            let m = joint.v.len();
            if !input.v_cmd.is_empty() {
                self.v_cmd[joint.v.clone()].copy_from_slice(&input.v_cmd[at_v..at_v + m]);
            }
            at_v += m;
        }
        model
            .check_q(&self.q_target)
            .map_err(|e| StepError::Value { what: "q_cmd".into(), why: e.to_string() })?;
        model.difference(&state.q, &self.q_target, &mut self.dq_cmd);
        for &body in system.commanded() {
            if let Role::Actuated(actuator) = &system.roles[body] {
                let h = params.time_step;
                for (k, dof) in model.body(body).v.clone().enumerate() {
                    let (K, D) = (actuator.stiffness[k], actuator.damping[k]);
                    let at = params.integration.spring_at(K, D + model.damping()[dof], h);
                    self.spring_at[dof] = at;
                    self.dq_cmd[dof] -= (1.0 - at) * h * self.v_cmd[dof];
                }
                continue;
            }
            check_prescribed_limit(system, body, &self.q_target)?;
            for dof in model.body(body).v.clone() {
                self.v_known[dof] = match params.prescribed_rate {
                    PrescribedRate::Secant => self.dq_cmd[dof] / params.time_step,
                    PrescribedRate::Derivative => self.v_cmd[dof],
                };
            }
        }
        Ok(())
    }

    fn set_pulls(&mut self, system: &System, q_cmd: &[f64]) {
        let pads = system.pads.iter().zip(system.shares(q_cmd));
        self.pulls.clear();
        self.pulls.extend(pads.map(|(pad, share)| share * pad.pull));
        self.tau_unpulled.clear();
        if !self.pulls.is_empty() {
            self.tau_unpulled.extend_from_slice(&self.tau);
        }
    }

    /// Puts the pulls of pads at the given contact rows into `tau`.
    pub fn pull_with(&mut self, contacts: &ContactRows) {
        self.tau.copy_from_slice(&self.tau_unpulled);
        contacts.add_pulls(&self.pulls, &mut self.tau);
    }
}

/// Returns an error if the command of a prescribed joint is beyond the joint's limits.
fn check_prescribed_limit(system: &System, body: usize, q: &[f64]) -> Result<(), StepError> {
    let range = system.model.body(body).q.clone();
    for limit in system.model.limits().iter().filter(|l| range.contains(&(l.q_index as usize))) {
        let command = q[limit.q_index as usize];
        if command < limit.lower || command > limit.upper {
            return Err(StepError::Value {
                what: format!(
                    "command of prescribed joint `{}`",
                    system.model.body(body).joint_name
                ),
                why: format!(
                    "{command} is outside its limits; it must be in [{}, {}]",
                    limit.lower, limit.upper
                ),
            });
        }
    }
    Ok(())
}
