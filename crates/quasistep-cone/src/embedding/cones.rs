//! Cones and their Nesterov–Todd scalings: `W z = W⁻¹ s = lambda`.

use super::twice::{ONE, Twice, ZERO, dot, dot_with};
use quasistep_linalg::simd::{Portable, Simd};

/// Rows `first..last` of one cone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub round: bool,
    pub first: usize,
    pub last: usize,
}

/// Nesterov–Todd scaling of one cone. For a second-order cone `W² = eta² (2 w wᵀ − J)`, `J =
/// diag(1, −1, …)`.
#[derive(Clone, Debug, Default)]
pub(super) struct Scaling {
    /// `w` of a second-order cone; the diagonal of `W` of plain rows.
    pub w: Vec<Twice>,
    pub eta: Twice,
    /// `1 / eta`, `1 / eta²` and `1 / (1 + w_0)` of a second-order cone.
    inverse: [Twice; 3],
    /// The diagonals of `W⁻¹` and `W⁻²` of plain rows.
    inverses: Vec<[Twice; 2]>,
}

/// `a_0 b_0 − a_1ᵀ b_1`.
fn hyperbolic(a: &[Twice], b: &[Twice]) -> Twice {
    a[0] * b[0] - dot(&a[1..], &b[1..])
}

impl Scaling {
    /// Computes the scaling of `s` and `z`; returns false if one of them is not inside the cone.
    pub fn update(&mut self, rows: &Rows, s: &[Twice], z: &[Twice]) -> bool {
        self.w.clear();
        if !rows.round {
            self.w.extend(s.iter().zip(z).map(|(s, z)| (*s / *z).sqrt()));
            self.inverses.clear();
            self.inverses.extend(self.w.iter().map(|w| [ONE / *w, ONE / (*w * *w)]));
            return s.iter().chain(z).all(|v| *v > ZERO);
        }
        let (det_s, det_z) = (hyperbolic(s, s), hyperbolic(z, z));
        if !(det_s > ZERO && det_z > ZERO && s[0] > ZERO && z[0] > ZERO) {
            return false;
        }
        let (root_s, root_z) = (det_s.sqrt(), det_z.sqrt());
        let gamma = ((ONE + dot(s, z) / (root_s * root_z)).scaled(0.5)).sqrt().scaled(2.0);
        for (i, (s, z)) in s.iter().zip(z).enumerate() {
            let z = *z / root_z;
            let z = if i == 0 { z } else { -z };
            self.w.push((*s / root_s + z) / gamma);
        }
        self.eta = (root_s / root_z).sqrt();
        self.inverse = [self.eta, self.eta * self.eta, ONE + self.w[0]].map(|v| ONE / v);
        true
    }

    /// `W v`, or `W⁻¹ v` if `inverse`.
    pub fn apply(&self, rows: &Rows, v: &[Twice], inverse: bool, to: &mut [Twice]) {
        self.apply_with::<Portable>(rows, v, inverse, to);
    }

    /// [`apply`](Self::apply) within a kernel.
    // only the kernel is compiled with its instruction set
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub fn apply_with<S: Simd>(&self, rows: &Rows, v: &[Twice], inverse: bool, to: &mut [Twice]) {
        let w = &self.w;
        if !rows.round {
            for (i, to) in to.iter_mut().enumerate() {
                *to = v[i].times::<S>(if inverse { self.inverses[i][0] } else { w[i] });
            }
            return;
        }
        let along = dot_with::<S>(&w[1..], &v[1..]);
        let along = if inverse { -along } else { along };
        let first = if inverse { -v[0] } else { v[0] };
        let plain = if inverse { -along } else { along };
        let share = first + plain.times::<S>(self.inverse[2]);
        let eta = if inverse { self.inverse[0] } else { self.eta };
        to[0] = eta.times::<S>(w[0].times::<S>(v[0]) + along);
        for i in 1..to.len() {
            to[i] = eta.times::<S>(v[i] + share.times::<S>(w[i]));
        }
    }

    /// Entry `(i, j)` of `W⁻²`.
    pub fn inverse_square(&self, rows: &Rows, i: usize, j: usize) -> Twice {
        if !rows.round {
            return if i == j { self.inverses[i][1] } else { ZERO };
        }
        let turn = |i: usize| if i == 0 { self.w[i] } else { -self.w[i] };
        let mut entry = (turn(i) * turn(j)).scaled(2.0);
        if i == j {
            entry -= if i == 0 { ONE } else { -ONE };
        }
        entry * self.inverse[1]
    }
}

/// Violation of a cone by a point, ≥ 0.
pub(super) fn outside(rows: &Rows, v: &[Twice]) -> f64 {
    if rows.round {
        (dot(&v[1..], &v[1..]).sqrt() - v[0]).round().max(0.0)
    } else {
        v.iter().fold(0.0, |m, v| m.max(-v.round()))
    }
}

/// Jordan product `a ∘ b`.
pub(super) fn product(rows: &Rows, a: &[Twice], b: &[Twice], to: &mut [Twice]) {
    if rows.round {
        to[0] = dot(a, b);
        for i in 1..a.len() {
            to[i] = a[0] * b[i] + b[0] * a[i];
        }
    } else {
        for i in 0..a.len() {
            to[i] = a[i] * b[i];
        }
    }
}

/// The `v` with `a ∘ v = d`, for the Jordan product.
pub(super) fn quotient(rows: &Rows, a: &[Twice], d: &[Twice], to: &mut [Twice]) {
    if rows.round {
        let first = hyperbolic(a, d) / hyperbolic(a, a);
        to[0] = first;
        for i in 1..a.len() {
            to[i] = (d[i] - first * a[i]) / a[0];
        }
    } else {
        for i in 0..a.len() {
            to[i] = d[i] / a[i];
        }
    }
}

/// Longest step for which `v + step d` stays in the cone.
pub(super) fn longest_step(rows: &Rows, v: &[Twice], d: &[Twice]) -> f64 {
    if !rows.round {
        let steps = v.iter().zip(d).filter(|(_, d)| **d < ZERO).map(|(v, d)| (-*v / *d).round());
        return steps.fold(f64::INFINITY, f64::min);
    }
    // the boundary is at a root of a step² + b step + c
    let (a, b, c) = (hyperbolic(d, d), hyperbolic(v, d).scaled(2.0), hyperbolic(v, v));
    let root = b * b - (a * c).scaled(4.0);
    if root < ZERO {
        return f64::INFINITY;
    }
    let below = root.sqrt() - b;
    if below > ZERO { (c.scaled(2.0) / below).round() } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `W z = W⁻¹ s`, and `inverse_square` returns the entries of `W⁻²`.
    #[test]
    fn both_sides_scale_to_one_point() {
        let numbers = |v: [f64; 3]| v.map(Twice::new);
        let (s, z) = (numbers([3.0, 1.0, -2.0]), numbers([2.0, 1.5, 1.0]));
        for round in [true, false] {
            let rows = Rows { round, first: 0, last: 3 };
            let s = if round { s } else { s.map(Twice::abs) };
            let mut scaling = Scaling::default();
            assert!(scaling.update(&rows, &s, &z));
            let [mut a, mut b, mut twice] = [[ZERO; 3]; 3];
            scaling.apply(&rows, &z, false, &mut a);
            scaling.apply(&rows, &s, true, &mut b);
            scaling.apply(&rows, &b, true, &mut twice);
            for i in 0..3 {
                assert!((a[i] - b[i]).round().abs() < 1e-28, "{round} {i}");
                let squared = (0..3)
                    .map(|j| scaling.inverse_square(&rows, i, j) * s[j])
                    .fold(ZERO, |sum, v| sum + v);
                assert!((squared - twice[i]).round().abs() < 1e-28, "{round} {i}");
            }
        }
    }

    /// The longest step ends on the boundary.
    #[test]
    fn longest_steps_end_on_the_border() {
        let rows = Rows { round: true, first: 0, last: 3 };
        let v = [3.0, 1.0, -2.0].map(Twice::new);
        let d = [-1.0, 0.5, 0.25].map(Twice::new);
        let step = Twice::new(longest_step(&rows, &v, &d));
        let end: Vec<Twice> = v.iter().zip(&d).map(|(v, d)| *v + step * *d).collect();
        assert!(hyperbolic(&end, &end).round().abs() < 1e-14 && end[0] > ZERO);
    }
}
