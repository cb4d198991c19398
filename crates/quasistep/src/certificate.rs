//! Residuals of a step, and what is allowed of each.

/// Residuals of one step, computed from the physical forces and the geometry, not from the solver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Certificate {
    /// Largest unbalanced force on a translational dof, in N.
    pub force_balance: f64,
    /// Largest unbalanced torque on a rotational dof, in N·m.
    pub torque_balance: f64,
    /// Largest linearised overlap after the step beyond the one that a bounded recovery leaves, in
    /// m; 0 if every row holds.
    pub penetration: f64,
    /// Smallest true distance of any pair after the step, in m; negative is an overlap, the contact
    /// margin if nothing is near. Differs from the linearised gap by the curvature of the motion. All pairs that the motion
    /// may bring together were held against [`StepParams::max_overlap`](crate::StepParams::max_overlap), here and on the way.
    pub true_distance: f64,
    /// Largest normal force that a contact lacks for its friction, or pull of a normal force, in N:
    /// `‖(f_t/mu, spin/mu_spin, roll/mu_roll)‖ − f_n`; also what a joint's dry friction exceeds its bound by, in N or N·m.
    pub cone_violation: f64,
    /// Largest |impulse × gap speed| of a row, in J; with exact Coulomb friction also what friction falls
    /// short of the largest dissipation, and in every formulation what a joint's dry friction does.
    pub complementarity: f64,
    /// Largest distance of an independent row of a constraint from what it asks for at the end of the step, in m or rad;
    /// what the curvature of the motion adds is in [`ConstraintReport::error`](crate::ConstraintReport::error).
    pub constraint: f64,
    /// Largest force in the step, in N or N·m: the scale that residuals are judged against.
    pub force_scale: f64,
}

impl Certificate {
    /// Balance and cone residuals may be this share of the largest force: the solver works to
    /// 1e-10 and a step adds up some hundred terms.
    pub const RELATIVE_TOLERANCE: f64 = 1e-7;
    /// Rounding of a force that cancels with another, as a share of it, over [`RELATIVE_TOLERANCE`](Self::RELATIVE_TOLERANCE): 128 ε, for
    /// a solve adds up some hundred terms. Ten times smaller, free doors of 1e6 kg are refused; ten times larger, 1e-13 of such a
    /// force could be off.
    pub(crate) const ROUNDING: f64 = 128.0 * f64::EPSILON / Self::RELATIVE_TOLERANCE;
    /// Linearised overlap, or error of a constraint, that rounding may leave, in m or rad.
    pub const PENETRATION_TOLERANCE: f64 = 1e-9;

    /// What is wrong, in words; `None` if the step is certified.
    pub fn complaint(&self) -> Option<String> {
        // forces below 1 N are judged as if they were 1 N: rounding of a metre is 1e-16 m
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
            // NaN must complain as well
            .find(|(_, value, limit, _)| !(value <= limit))
            .map(|(name, value, _, unit)| format!("{name} off by {value:.1e} {unit}"))
    }
}
