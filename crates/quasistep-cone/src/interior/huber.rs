//! Huber terms in the interior point.

/// Huber term as a quadratic term with two bounds: `force = k (x − target − over + under)`, `−limit
/// ≤ force ≤ limit`, `over (limit − force) = under (limit + force) = 0`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HuberTerm {
    /// Padded index of the variable, and index of its diagonal entry in `H`.
    pub at: u32,
    pub H_at: u32,
    pub panel: u32,
    pub stiffness: f64,
    pub limit: f64,
    pub target: f64,
    pub force: f64,
    pub over: f64,
    pub under: f64,
    /// Right-hand sides of the two complementarity equations.
    pub t: [f64; 2],
    pub change: [f64; 3],
    pub last_change: [f64; 3],
}

impl HuberTerm {
    pub fn limited(&self) -> bool {
        self.limit.is_finite() && self.stiffness > 0.0
    }

    /// `limit − force` and `limit + force`, the multipliers of `over` and `under`.
    pub fn margins(&self) -> [f64; 2] {
        [self.limit - self.force, self.limit + self.force]
    }

    /// Curvature of the term with its two bounds eliminated.
    pub fn stiffness(&self) -> f64 {
        if !self.limited() {
            return self.stiffness;
        }
        let [a, b] = self.margins();
        1.0 / (1.0 / self.stiffness + self.over / a + self.under / b)
    }

    /// Force of the term at `dx = 0` with its two bounds eliminated.
    pub fn offset(&self) -> f64 {
        if !self.limited() {
            return 0.0;
        }
        let [a, b] = self.margins();
        self.stiffness() * (self.t[0] / a - self.t[1] / b)
    }

    /// Changes of force, `over` and `under` for a change `dx` of the variable.
    pub fn changes(&self, dx: f64) -> [f64; 3] {
        if !self.limited() {
            return [self.stiffness * dx, 0.0, 0.0];
        }
        let [a, b] = self.margins();
        let force = self.stiffness() * dx + self.offset();
        [force, (self.over * force - self.t[0]) / a, (-self.under * force - self.t[1]) / b]
    }
}
