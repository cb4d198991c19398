//! Second-order cone `s_0 ≥ ‖(s_1, …)‖`: projection, its derivative, and the Nesterov–Todd scaling.

// inlined into kernels, and to be specialised for the number of rows
#![allow(clippy::inline_always)]

/// Evaluates an expression with the number of rows as a constant for the common numbers: cones
/// without and with spin.
macro_rules! by_rows {
    ($m:expr, $rows:ident, $body:expr) => {
        match $m {
            3 => {
                let $rows: usize = 3;
                $body
            }
            4 => {
                let $rows: usize = 4;
                $body
            }
            $rows => $body,
        }
    };
}
pub(crate) use by_rows;

/// Writes the projection of `t` onto the cone to `p`.
#[inline(always)]
pub(crate) fn project(t: &[f64], p: &mut [f64]) {
    let norm = t[1..].iter().map(|v| v * v).sum::<f64>().sqrt();
    if norm <= t[0] {
        p.copy_from_slice(t);
    } else if norm <= -t[0] {
        p.fill(0.0);
    } else {
        let half = 0.5 * (t[0] + norm);
        p[0] = half;
        for (p, t) in p[1..].iter_mut().zip(&t[1..]) {
            *p = half * (t / norm);
        }
    }
}

/// Writes the derivative of [`project`] at `t` to `D`, `k` rows with stride `stride`; returns its
/// trace over `k`.
///
/// With `n = t_1/‖t_1‖` and `a = t_0/‖t_1‖` it is `1/2 [[1, nᵀ], [n, (1 + a) I − a n nᵀ]]` between
/// the cone and its polar. It is `I` inside the cone and `0` inside the polar.
#[inline(always)]
pub(crate) fn project_derivative(t: &[f64], stride: usize, D: &mut [f64]) -> f64 {
    let k = t.len();
    let norm = t[1..].iter().map(|v| v * v).sum::<f64>().sqrt();
    D.fill(0.0);
    if norm <= t[0] {
        for i in 0..k {
            D[i * stride + i] = 1.0;
        }
        return 1.0;
    }
    if norm <= -t[0] {
        return 0.0;
    }
    let a = t[0] / norm;
    D[0] = 0.5;
    let mut trace = 0.5;
    for i in 1..k {
        let n_i = t[i] / norm;
        D[i] = 0.5 * n_i;
        D[i * stride] = 0.5 * n_i;
        for j in 1..k {
            let n_j = t[j] / norm;
            D[i * stride + j] = -0.5 * a * n_i * n_j;
        }
        D[i * stride + i] += 0.5 * (1.0 + a);
        trace += D[i * stride + i];
    }
    trace / k as f64
}

/// `rᵀ D r` with the derivative `D` of [`project`] at `t`.
#[inline(always)]
pub(crate) fn derivative_form(t: &[f64], r: &[f64]) -> f64 {
    let norm = t[1..].iter().map(|v| v * v).sum::<f64>().sqrt();
    let size: f64 = r[1..].iter().map(|v| v * v).sum();
    if norm <= t[0] {
        return r[0] * r[0] + size;
    }
    if norm <= -t[0] {
        return 0.0;
    }
    let a = t[0] / norm;
    let along = t[1..].iter().zip(&r[1..]).map(|(t, r)| t * r).sum::<f64>() / norm;
    0.5 * (r[0] * r[0] + 2.0 * r[0] * along + (1.0 + a) * size - a * along * along)
}

/// Euclidean norm.
#[inline(always)]
pub fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Inverse of the longest `alpha` for which `v + alpha dv` stays in the cone; negative if no
/// positive `alpha` leaves it.
pub(crate) fn blocked(v: &[f64], dv: &[f64]) -> f64 {
    // transform `v` to the identity element: `alpha` reaches the boundary where the least
    // eigenvalue of `alpha dv` is −1
    let size = norm(&v[1..]);
    let res = ((v[0] - size) * (v[0] + size)).sqrt();
    if !(res > 0.0) {
        return f64::INFINITY;
    }
    let along: f64 =
        (v[0] * dv[0] - v[1..].iter().zip(&dv[1..]).map(|(a, b)| a * b).sum::<f64>()) / res;
    let lift = (along + dv[0]) / (v[0] / res + 1.0) / res;
    let across =
        v[1..].iter().zip(&dv[1..]).map(|(a, b)| (b - lift * a).powi(2)).sum::<f64>().sqrt();
    (across - along) / res
}

/// Nesterov–Todd scaling of a pair inside the cone: `W z = W⁻¹ s`.
///
/// With `s = a s̄`, `z = b z̄` of unit determinant and `w = (s̄ + J z̄) / |…|`: `W = √(a/b) [[w_0,
/// w_1ᵀ], [w_1, I + w_1 w_1ᵀ / (1 + w_0)]]`.
#[derive(Debug)]
pub(crate) struct Scaling {
    m: usize,
    w: [f64; MAX],
    eta: f64,
    /// `W z`.
    lambda: [f64; MAX],
}

pub(crate) use crate::program::MAX_ROWS as MAX;

impl Scaling {
    pub fn new(s: &[f64], z: &[f64]) -> Self {
        let m = s.len();
        let det = |v: &[f64]| {
            let n = norm(&v[1..]);
            ((v[0] - n) * (v[0] + n)).max(f64::MIN_POSITIVE).sqrt()
        };
        let (a, b) = (det(s), det(z));
        let dot: f64 = s.iter().zip(z).map(|(s, z)| s * z).sum();
        let gamma = (0.5 * (1.0 + dot / (a * b))).sqrt();
        let mut w = [0.0; MAX];
        w[0] = 0.5 * (s[0] / a + z[0] / b) / gamma;
        for i in 1..m {
            w[i] = 0.5 * (s[i] / a - z[i] / b) / gamma;
        }
        let mut scaling = Self { m, w, eta: (a / b).sqrt(), lambda: [0.0; MAX] };
        scaling.lambda = scaling.times(z, 1.0, scaling.eta);
        scaling
    }

    /// `factor · W̄ v` with `sign = 1`, `factor · W̄⁻¹ v` with `sign = −1`.
    fn times(&self, v: &[f64], sign: f64, factor: f64) -> [f64; MAX] {
        let mut out = [0.0; MAX];
        let along: f64 = (1..self.m).map(|i| self.w[i] * v[i]).sum();
        out[0] = factor * (self.w[0] * v[0] + sign * along);
        let lift = sign * v[0] + along / (1.0 + self.w[0]);
        for i in 1..self.m {
            out[i] = factor * (v[i] + lift * self.w[i]);
        }
        out
    }

    /// `W⁻² = (2 v vᵀ − J) / eta²`, `v = (w_0, −w_1)`.
    pub fn write_D(&self, stride: usize, D: &mut [f64]) {
        let scale = 1.0 / (self.eta * self.eta);
        D.fill(0.0);
        for i in 0..self.m {
            let a = if i == 0 { self.w[0] } else { -self.w[i] };
            for j in 0..self.m {
                let b = if j == 0 { self.w[0] } else { -self.w[j] };
                D[i * stride + j] = scale * 2.0 * a * b;
            }
            D[i * stride + i] += if i == 0 { -scale } else { scale };
        }
    }

    /// `t = W⁻¹ (lambda \ (W⁻¹ ds ∘ W dz − mu e))`.
    pub fn corrector(&self, ds: &[f64], dz: &[f64], mu: f64, t: &mut [f64]) {
        let a = self.times(ds, -1.0, 1.0 / self.eta);
        let b = self.times(dz, 1.0, self.eta);
        let m = self.m;
        let mut product = [0.0; MAX];
        product[0] = (0..m).map(|i| a[i] * b[i]).sum::<f64>() - mu;
        for i in 1..m {
            product[i] = a[0] * b[i] + b[0] * a[i];
        }
        let l = &self.lambda;
        let size = norm(&l[1..m]);
        let det = ((l[0] - size) * (l[0] + size)).max(f64::MIN_POSITIVE);
        let along: f64 = (1..m).map(|i| l[i] * product[i]).sum();
        let mut quotient = [0.0; MAX];
        quotient[0] = (l[0] * product[0] - along) / det;
        for i in 1..m {
            quotient[i] = (product[i] - quotient[0] * l[i]) / l[0];
        }
        t.copy_from_slice(&self.times(&quotient, -1.0, 1.0 / self.eta)[..m]);
    }
}

/// `z − rho s` of a nearly complementary pair. Of the two, the one that is relatively negligible
/// counts as zero.
pub(crate) fn complement(z: &[f64], s: &[f64], scale: f64, rho: f64, t: &mut [f64]) {
    let (nz, ns) = (norm(&z[1..]), norm(&s[1..]));
    if z[0] - nz > scale * (s[0] + ns) {
        t.copy_from_slice(z);
    } else if scale * (s[0] - ns) > z[0] + nz {
        t.iter_mut().zip(s).for_each(|(t, s)| *t = -s);
    } else {
        t.iter_mut().zip(z).zip(s).for_each(|((t, z), s)| *t = z - rho * s);
    }
}
