//! The second-order cone `s_0 ≥ ‖(s_1, …)‖`: projection and its derivative.

/// Projects `t` onto the cone into `p`.
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

/// Derivative of [`project`] at `t` into `D`, `k` rows of `stride`; returns its trace over `k`.
///
/// With `n = t_1/‖t_1‖` and `a = t_0/‖t_1‖`: `1/2 [[1, nᵀ], [n, (1 + a) I − a n nᵀ]]` between the
/// cone and its polar, `I` and `0` within them.
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
