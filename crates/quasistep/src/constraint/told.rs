//! Look-up of constraint rows, and errors for constraints that cannot hold.

use crate::error::{StepError, quoted};
use crate::held::Held;
use crate::system::{Role, System};
use quasistep_model::JointKind;

impl System {
    /// The constraint that a row belongs to.
    pub(crate) fn constraint_of(&self, row: usize) -> &Held {
        &self.constraints[self.index_of(row)]
    }

    /// Index of the constraint that a row belongs to.
    pub(crate) fn index_of(&self, row: usize) -> usize {
        self.constraints.partition_point(|held| held.rows.end <= row)
    }

    /// Position of a row among those of its constraint.
    pub(crate) fn place_of(&self, row: usize) -> usize {
        row - self.constraint_of(row).rows.start
    }

    /// True if a row constrains a translation between two points.
    pub(crate) fn is_shift(&self, row: usize) -> bool {
        let held = self.constraint_of(row);
        held.frames().is_some() && row < held.rows.start + 3
    }

    /// True for a dof with unit rad.
    pub(crate) fn is_turn(&self, dof: usize) -> bool {
        let body = self.model.body(self.body_of_dof[dof]);
        let first = dof - body.v.start;
        match body.joint {
            JointKind::Prismatic { .. } | JointKind::Fixed => false,
            JointKind::Planar => first == 2,
            JointKind::Free => first < 3,
            JointKind::Revolute { .. } | JointKind::Continuous { .. } | JointKind::Ball => true,
        }
    }

    /// True for a dof whose drive has a force limit.
    pub(crate) fn saturates(&self, dof: usize) -> bool {
        let body = self.body_of_dof[dof];
        let Role::Actuated(actuator) = &self.roles[body] else { return false };
        let k = dof - self.model.body(body).v.start;
        actuator.effort_limit[k].is_finite() && actuator.stiffness[k] > 0.0
    }

    /// Error for rows that contradict one another by `off`, in m or rad.
    pub(crate) fn contradiction(&self, rows: impl Iterator<Item = usize>, off: f64) -> StepError {
        let mut names: Vec<String> = Vec::new();
        for row in rows {
            let name = &self.constraint_of(row).given.name;
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        let why = format!(
            "no motion satisfies {} and what is prescribed: off by {off:.1e} (m or rad)",
            if names.len() > 1 { "all of them" } else { "it" }
        );
        StepError::Constraints { names, why }
    }

    /// Error for a row that makes a drive with a force limit depend on several other dofs.
    pub(crate) fn over_driven(&self, row: usize) -> StepError {
        let held = self.constraint_of(row);
        let mut kin = self.model.create_kinematics();
        self.model.kinematics(&self.model.neutral_q(), &mut kin);
        let mut joints: Vec<String> = Vec::new();
        for dof in held.dofs(&self.model, &kin) {
            let body = self.body_of_dof[dof];
            let name = &self.model.body(body).joint_name;
            if self.saturates(dof) && !joints.contains(name) {
                joints.push(name.clone());
            }
        }
        let why = format!(
            "drives with an effort limit, {}, follow several others by it; leave one of them without a limit, or passive",
            quoted(&joints)
        );
        StepError::Constraints { names: vec![held.given.name.clone()], why }
    }
}
