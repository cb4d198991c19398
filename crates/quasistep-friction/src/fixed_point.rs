//! Iteration towards a fixed point `s = F(s)` of a map that may not contract.
//!
//! The first steps are `F(s) − s` times a factor that adapts: larger where the iterates drift
//! slowly, smaller where they oscillate. If they do not converge, the fixed point may repel them.
//! The following steps are those of Anderson acceleration, the secant method for many unknowns (D.
//! G. Anderson, "Iterative procedures for nonlinear integral equations", Journal of the ACM 12
//! (1965) 547–560).

use crate::tolerances::friction::{FASTEST, SECANTS_ALIKE, SLOWEST};

/// Number of plain steps before Anderson acceleration; the next constant is its number of secants.
const PLAIN: u32 = 12;
const MEMORY: usize = 5;

/// Memory of the iteration.
#[derive(Debug, Default)]
pub(crate) struct FixedPoint {
    /// Residual `F(s) − s` at the current point, written by the caller.
    pub change: Vec<f64>,
    /// Factor of a plain step.
    factor: f64,
    steps: u32,
    last: Vec<f64>,
    last_change: Vec<f64>,
    /// Ring buffer of differences of successive points, and of their residuals.
    points: Vec<f64>,
    changes: Vec<f64>,
    /// Orthogonalised differences of residuals, and the component of the current residual
    /// orthogonal to them.
    axes: Vec<f64>,
    rest: Vec<f64>,
}

impl FixedPoint {
    /// Resets the iteration for `n` unknowns.
    pub fn start(&mut self, n: usize) {
        self.change.clear();
        self.change.resize(n, 0.0);
        (self.factor, self.steps) = (1.0, 0);
        for ring in [&mut self.points, &mut self.changes] {
            ring.clear();
            ring.resize(MEMORY * n, 0.0);
        }
        self.axes.reserve(MEMORY * n);
        self.rest.reserve(n);
    }

    /// Moves `s`, whose residual is in `change`, to the next point. Its entries are clipped at
    /// zero.
    pub fn step(&mut self, s: &mut [f64]) {
        let n = s.len();
        if self.steps > 0 {
            let at = (self.steps as usize - 1) % MEMORY * n;
            let (mut along, mut now, mut before) = (0.0, 0.0, 0.0);
            for i in 0..n {
                along += self.last_change[i] * self.change[i];
                now += self.change[i].powi(2);
                before += self.last_change[i].powi(2);
                self.points[at + i] = s[i] - self.last[i];
                self.changes[at + i] = self.change[i] - self.last_change[i];
            }
            if now > 0.25 * before {
                self.factor *= if along < 0.0 { 0.5 } else { 1.5 };
                self.factor = self.factor.clamp(SLOWEST, FASTEST);
            }
        }
        self.last.clear();
        self.last.extend_from_slice(s);
        self.last_change.clone_from(&self.change);
        let secants = self.steps > PLAIN;
        self.steps += 1;
        let shares = if secants { self.shares(n) } else { [0.0; MEMORY] };
        let factor = if secants { 1.0 } else { self.factor };
        for i in 0..n {
            let back = shares
                .iter()
                .enumerate()
                .map(|(k, share)| share * (self.points[k * n + i] + self.changes[k * n + i]));
            s[i] = (s[i] + factor * self.change[i] - back.sum::<f64>()).max(0.0);
        }
    }

    /// Coefficients of the combination of residual differences nearest to the current residual, by
    /// Gram–Schmidt from the newest difference on. Differences that depend linearly on newer ones
    /// are left out.
    fn shares(&mut self, n: usize) -> [f64; MEMORY] {
        let newest = (self.steps as usize - 2) % MEMORY;
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let less = |part: f64, b: &[f64], a: &mut [f64]| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a -= part * b);
        };
        let Self { change, changes, axes, rest, .. } = self;
        axes.clear();
        rest.clone_from(change);
        // coefficients of each orthogonalised difference in the original ones
        let mut combinations = [[0.0; MEMORY]; MEMORY];
        let (mut found, mut shares) = (0, [0.0; MEMORY]);
        for age in 0..MEMORY {
            let k = (newest + MEMORY - age) % MEMORY;
            axes.truncate(found * n);
            axes.extend_from_slice(&changes[k * n..(k + 1) * n]);
            let (others, axis) = axes.split_at_mut(found * n);
            let size = dot(axis, axis);
            let mut of = [0.0; MEMORY];
            of[k] = 1.0;
            for (j, combination) in combinations[..found].iter().enumerate() {
                let other = &others[j * n..(j + 1) * n];
                let part = dot(axis, other) / dot(other, other);
                less(part, other, axis);
                less(part, combination, &mut of);
            }
            let square = dot(axis, axis);
            if square <= SECANTS_ALIKE * size || size == 0.0 {
                continue;
            }
            let part = dot(rest, axis) / square;
            less(part, axis, rest);
            less(-part, &of, &mut shares);
            combinations[found] = of;
            found += 1;
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::{FixedPoint, PLAIN};

    /// Anderson acceleration converges for a linear map with eigenvalues −3 and 1.5, whose fixed
    /// point repels plain steps.
    #[test]
    fn secants_lead_to_a_point_that_plain_steps_leave() {
        let image = |s: &[f64]| [1.0 - 3.0 * (s[0] - 1.0), 2.0 + 1.5 * (s[1] - 2.0)];
        let mut path = FixedPoint::default();
        let mut s = [1.1, 2.1];
        path.start(2);
        for _ in 0..PLAIN + 8 {
            let to = image(&s);
            for i in 0..2 {
                path.change[i] = to[i] - s[i];
            }
            path.step(&mut s);
        }
        assert!((s[0] - 1.0).abs() < 1e-9 && (s[1] - 2.0).abs() < 1e-9, "{s:?}");
    }
}
