//! Residuals of a step, and their tolerances.

/// Residuals of one step, computed from the physical forces and the geometry, not from the solver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Certificate {
    /// Largest unbalanced force on a translational dof, in N.
    pub force_balance: f64,
    /// Largest unbalanced torque on a rotational dof, in N·m.
    pub torque_balance: f64,
    /// Largest linearised overlap after the step, in m; 0 if every row holds. An overlap that a
    /// bounded recovery is allowed to leave is subtracted.
    pub penetration: f64,
    /// Smallest true signed distance of any pair after the step, in m. Negative is an overlap; it
    /// is the contact margin if nothing is near. It differs from the linearised gap by the
    /// curvature of the motion. All pairs that the motion may bring together are checked against
    /// [`StepParams::max_overlap`](crate::StepParams::max_overlap), at the end of the step and on
    /// the way.
    pub true_distance: f64,
    /// Largest violation of a friction cone, in N: `‖(f_t/mu, spin/mu_spin, roll/mu_roll)‖ − f_n`,
    /// or a tensile normal force. It includes the excess of a joint's dry friction over its bound,
    /// in N or N·m.
    pub cone_violation: f64,
    /// Largest |impulse × gap speed| of a row, in J. With exact Coulomb friction it includes the
    /// difference between the frictional dissipation and its maximum. The dry friction of joints is
    /// included in every formulation.
    pub complementarity: f64,
    /// Largest error of an independent constraint row at the end of the linearised step, in m or
    /// rad. The error with the curvature of the motion is in
    /// [`ConstraintReport::error`](crate::ConstraintReport::error).
    pub constraint: f64,
    /// Largest force in the step, in N or N·m. Residuals are compared with it.
    pub force_scale: f64,
}

impl Certificate {
    /// Tolerance on balance and cone residuals, relative to the largest force. The solver works to
    /// 1e-10 and a step sums some hundred terms.
    pub const RELATIVE_TOLERANCE: f64 = 1e-7;
    /// Rounding of a force that cancels with another, relative to that force, divided by
    /// [`RELATIVE_TOLERANCE`](Self::RELATIVE_TOLERANCE). The factor is 128 ε since a solve sums
    /// some hundred terms. If it is ten times smaller, free doors of 1e6 kg are refused. If it is
    /// ten times larger, errors of 1e-13 of such a force pass.
    pub(crate) const ROUNDING: f64 = 128.0 * f64::EPSILON / Self::RELATIVE_TOLERANCE;
    /// Tolerance on a linearised overlap or a constraint error, in m or rad.
    pub const PENETRATION_TOLERANCE: f64 = 1e-9;

    /// The worse of two residuals, each.
    pub(crate) fn or_worse(&self, other: &Self) -> Self {
        let worse = |of: fn(&Self) -> f64| of(self).max(of(other));
        Self {
            force_balance: worse(|c| c.force_balance),
            torque_balance: worse(|c| c.torque_balance),
            penetration: worse(|c| c.penetration),
            true_distance: self.true_distance.min(other.true_distance),
            cone_violation: worse(|c| c.cone_violation),
            complementarity: worse(|c| c.complementarity),
            constraint: worse(|c| c.constraint),
            force_scale: worse(|c| c.force_scale),
        }
    }

    /// Description of the first violated tolerance; `None` if the step is certified.
    pub fn complaint(&self) -> Option<String> {
        // forces below 1 N are compared with 1 N: lengths of 1 m have rounding errors of 1e-16 m
        let scale = self.force_scale.max(1.0);
        let tolerance = Self::RELATIVE_TOLERANCE * scale;
        let checks = [
            ("force balance", self.force_balance, tolerance, "N"),
            ("torque balance", self.torque_balance, tolerance, "N·m"),
            ("friction cone", self.cone_violation, tolerance, "N"),
            ("penetration", self.penetration, Self::PENETRATION_TOLERANCE, "m"),
            ("constraint", self.constraint, Self::PENETRATION_TOLERANCE, "m or rad"),
            ("complementarity", self.complementarity, tolerance, "J"),
        ];
        checks
            .into_iter()
            // written so that NaN counts as a violation
            .find(|(_, value, limit, _)| !(value <= limit))
            .map(|(name, value, _, unit)| format!("{name} off by {value:.1e} {unit}"))
    }
}
