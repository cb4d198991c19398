//! The robot of MpcNote's Figure 1, as hand-written matrices.
//!
//! A disc of radius 0.6 m and mass 1 kg moves on two prismatic joints, with steps of 0.1 s,
//! friction 0.8 and no gravity. The state is `(x, y, ẋ, ẏ)` in m and m/s, inputs are in N. `gamma =
//! [c (3), beta (6), lambda (3)]`, in N·s and m/s, belongs to three surfaces:
//!
//! | # | surface          | normal        | first tangent |
//! |---|------------------|---------------|---------------|
//! | 1 | `x − y ≥ √2 r`   | `(1, −1)/√2`  | `(1, 1)/√2`   |
//! | 2 | `y ≥ −5 + r`     | `(0, 1)`      | `(1, 0)`      |
//! | 3 | `x ≤ 5 − r`      | `(−1, 0)`     | `(0, 1)`      |
//!
//! MpcNote (9) prints `−f_i(q_k)`; the correct term is `alpha = f(q_k) − J q_k`.

#![allow(non_snake_case)] // letters of MpcNote

use crate::lcs::Lcs;
use crate::problem::{Bounds, Cost, Limits, Problem};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// Start state of the figures, at rest.
pub const START: [f64; 4] = [-2.0, -4.0, 0.0, 0.0];

/// Goal state of the figures. The floor makes it unreachable.
pub const GOAL: [f64; 4] = [3.0, -5.0, 0.0, 0.0];

/// Time step, in s.
pub const TIME_STEP: f64 = 0.1;

/// The system of MpcNote (6) to (9).
pub fn lcs() -> Lcs {
    let (h, mu, radius) = (TIME_STEP, 0.8, 0.6);
    let half = FRAC_1_SQRT_2;
    let normals = [[half, -half], [0.0, 1.0], [-1.0, 0.0]];
    let tangents = [[half, half], [1.0, 0.0], [0.0, 1.0]];
    // gap = normal · q + alpha
    let alpha = [-radius, 5.0 - radius, 5.0 - radius];
    debug_assert!((SQRT_2 * half - 1.0).abs() < 1e-15);
    let (n_x, n_u, n_gamma) = (4, 2, 12);
    let mut lcs = Lcs::zeros(n_x, n_u, n_gamma);
    for axis in 0..2 {
        let (q, v) = (axis, axis + 2);
        // v⁺ = v + h u + impulses, q⁺ = q + h v⁺; the mass is 1
        lcs.A[q * n_x + q] = 1.0;
        lcs.A[q * n_x + v] = h;
        lcs.A[v * n_x + v] = 1.0;
        lcs.B[q * n_u + axis] = h * h;
        lcs.B[v * n_u + axis] = h;
        for i in 0..3 {
            for (j, d) in [
                (i, normals[i][axis]),
                (3 + 2 * i, tangents[i][axis]),
                (4 + 2 * i, -tangents[i][axis]),
            ] {
                lcs.C[q * n_gamma + j] = h * d;
                lcs.C[v * n_gamma + j] = d;
            }
            lcs.D[i * n_x + q] = normals[i][axis];
            lcs.D[(3 + 2 * i) * n_x + v] = tangents[i][axis];
            lcs.D[(4 + 2 * i) * n_x + v] = -tangents[i][axis];
        }
    }
    for i in 0..3 {
        let (plus, minus, slip) = (3 + 2 * i, 4 + 2 * i, 9 + i);
        lcs.a[i] = alpha[i];
        lcs.E[plus * n_gamma + slip] = 1.0;
        lcs.E[minus * n_gamma + slip] = 1.0;
        lcs.E[slip * n_gamma + i] = mu;
        lcs.E[slip * n_gamma + plus] = -1.0;
        lcs.E[slip * n_gamma + minus] = -1.0;
    }
    lcs
}

/// The problem of the figures: `Q = Q_f = I`, `R = 10 I`, `|u| ≤ 1`, `|v| ≤ 1`, `|q| ≤ 5`.
pub fn problem(horizon: usize) -> Problem {
    let diagonal = |n: usize, value: f64| {
        (0..n * n).map(|at| if at / n == at % n { value } else { 0.0 }).collect::<Vec<_>>()
    };
    Problem {
        horizon,
        models: vec![lcs()],
        cost: Cost {
            Q: diagonal(4, 1.0),
            Q_f: diagonal(4, 1.0),
            R: diagonal(2, 10.0),
            goal: vec![GOAL.to_vec()],
        },
        bounds: Bounds {
            state: Limits::symmetric(&[5.0, 5.0, 1.0, 1.0]),
            input: Limits::symmetric(&[1.0, 1.0]),
            ..Bounds::default()
        },
    }
}
