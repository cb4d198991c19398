//! Steps towards a fixed point `s = F(s)` of a map that may not contract.
//!
//! The first steps are longer where they creep and shorter where they turn back. Where they do not converge, the point may be one
//! that steps lead away from: then those of Anderson's acceleration lead to it, the secant method for many unknowns
//! (D. G. Anderson, "Iterative procedures for nonlinear integral equations", Journal of the ACM 12 (1965) 547–560).

use crate::tolerances::friction::{FASTEST, SECANTS_ALIKE, SLOWEST};

/// Steps before those of Anderson's acceleration, and how many differences of steps that uses.
const PLAIN: u32 = 12;
const MEMORY: usize = 5;

/// Memory of the steps.
#[derive(Debug, Default)]
pub(crate) struct FixedPoint {
    /// `F(s) − s` at the present point; the caller writes it.
    pub change: Vec<f64>,
    /// Factor of a plain step.
    factor: f64,
    steps: u32,
    last: Vec<f64>,
    last_change: Vec<f64>,
    /// Differences of the last points, and of the changes there, one after another in a ring.
    points: Vec<f64>,
    changes: Vec<f64>,
    /// Orthogonal differences of changes, one after another, and what of the present change they do not have.
    axes: Vec<f64>,
    rest: Vec<f64>,
}

impl FixedPoint {
    /// Forgets all steps; the unknowns are `n`.
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

    /// Moves from `s`, where `change` is known, to the next point, whose entries are not negative.
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

    /// The combination of the differences of changes that is nearest to the present change: Gram–Schmidt, from the newest on.
    /// Differences that depend on newer ones take no part.
    fn shares(&mut self, n: usize) -> [f64; MEMORY] {
        let newest = (self.steps as usize - 2) % MEMORY;
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let less = |part: f64, b: &[f64], a: &mut [f64]| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a -= part * b);
        };
        let Self { change, changes, axes, rest, .. } = self;
        axes.clear();
        rest.clone_from(change);
        // what combination of differences each axis is
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

    /// A linear map with eigenvalues −3 and 1.5: every plain step leads away from its fixed point.
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
