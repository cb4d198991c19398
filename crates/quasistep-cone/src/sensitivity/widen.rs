//! Relaxed programs of Coulomb's law: gaps that are wider by the slip.
//!
//! The relaxed convex law moves surfaces apart that slide: a gap `u_n` exceeds `‖u_t‖`, in units of the
//! cone. Coulomb's law has `s = a + h d`, `a = A x − E b`, in place of `s = a` (G. De Saxcé and Z.-Q.
//! Feng, "The bipotential method", Mathematical and Computer Modelling 28 (1998) 225–245). `d` is the
//! unit of the normal row. The relaxed step takes for `h` the work of friction over the normal impulse,
//! which is `‖u_t‖` where surfaces slide, and 0 where they stick:
//!
//! ```text
//! h = −λ_tᵀ u_t / λ_n,      so that  λ_n u_n = kappa,   with or without slip
//! ```
//!
//! | cone    | `h(s)`                                                  | slope `η = ∂h/∂s`                      |
//! |---------|---------------------------------------------------------|----------------------------------------|
//! | round   | `‖s_1‖² / s_0`                                          | `(−‖s_1‖²/s_0², 2 s_1/s_0)`            |
//! | pyramid | mean of the `m` slacks, minus their harmonic mean `a_n` | `1/m − a_n²/(m s_j²)`                  |
//! | one row | 0                                                       | 0                                      |
//!
//! `h` is smooth inside the cone. From `ds = da + d ηᵀ ds` follows `ds = G da` with `G = I + d ℓᵀ`, `ℓ =
//! η / (1 − ηᵀ d)`, where `1 ≤ 1 − ηᵀ d`. So `dz = −C G da`, and the matrix of Newton's method is `P + Aᵀ
//! C G A`, which is not symmetric. Where Newton's method fails, a share of `h` leads from the convex law
//! to Coulomb's.

use super::linear::Faces;
use super::unsymmetric::Way;
use crate::program::{ConeData, ConeProgram, MAX_ROWS};

/// `h` of a cone at slacks inside of it; writes its slope `η`, and returns both `h` and `ηᵀ d`.
fn slip(cone: &ConeData, s: &[f64], slope: &mut [f64]) -> [f64; 2] {
    if cone.round {
        let first = s[0];
        let share = s[1..].iter().map(|s| (s / first).powi(2)).sum::<f64>();
        slope[0] = -share;
        for (slope, s) in slope[1..].iter_mut().zip(&s[1..]) {
            *slope = 2.0 * s / first;
        }
        return [share * first, -share];
    }
    let m = f64::from(cone.m);
    let mean = s.iter().sum::<f64>() / m;
    let harmonic = m / s.iter().map(|s| 1.0 / s).sum::<f64>();
    for (slope, s) in slope.iter_mut().zip(s) {
        *slope = (1.0 - (harmonic / s).powi(2)) / m;
    }
    [mean - harmonic, slope.iter().sum()]
}

impl Faces {
    /// Computes the widening of all gaps at slacks `s`, and adds it to `gap`.
    pub(super) fn find_widening(&mut self, p: &ConeProgram, s: &[f64], gap: &mut [f64]) {
        self.wider.resize(p.m_padded, 0.0);
        for cone in &p.cones {
            let own = cone.at as usize..(cone.at + cone.m) as usize;
            let wider = &mut self.wider[own.clone()];
            let [h, along] = slip(cone, &s[own.clone()], wider).map(|of| self.widens * of);
            for wider in wider {
                *wider *= self.widens / (1.0 - along);
            }
            let raised = if cone.round { &mut gap[own][..1] } else { &mut gap[own] };
            for gap in raised {
                *gap += h;
            }
        }
    }

    /// `v ← G v` for one cone, if gaps are wider.
    pub(super) fn widen(&self, cone: &ConeData, v: &mut [f64]) {
        if self.widens == 0.0 {
            return;
        }
        let own = cone.at as usize..(cone.at + cone.m) as usize;
        let h: f64 = self.wider[own.clone()].iter().zip(&v[own.clone()]).map(|(w, v)| w * v).sum();
        let raised = if cone.round { &mut v[own][..1] } else { &mut v[own] };
        for v in raised {
            *v += h;
        }
    }

    /// `v ← Gᵀ v` for one cone, if gaps are wider.
    pub(super) fn widen_backward(&self, cone: &ConeData, v: &mut [f64]) {
        if self.widens == 0.0 {
            return;
        }
        let own = cone.at as usize..(cone.at + cone.m) as usize;
        let v = &mut v[own.clone()];
        let raised: f64 = if cone.round { v[0] } else { v.iter().sum() };
        v.iter_mut().zip(&self.wider[own]).for_each(|(v, w)| *v += raised * w);
    }

    /// `Eᵀ C E` becomes `Eᵀ C G E`, or its transpose, in the rows of `J` of one cone; `k × k`.
    pub(super) fn widen_in_rows(
        &self,
        p: &ConeProgram,
        cone: &ConeData,
        way: Way,
        bend: &mut [f64],
    ) {
        if self.widens == 0.0 || cone.m == 1 {
            return;
        }
        let (k, m, stride) = (cone.k as usize, cone.m as usize, cone.stride_z as usize);
        let (at, E_at) = (cone.at as usize, cone.E_at as usize);
        let E = |row: usize| &p.E[E_at + row * stride..][..m];
        let in_rows = |v: &dyn Fn(usize) -> f64| -> [f64; MAX_ROWS] {
            let row = |r: usize| E(r).iter().enumerate().map(|(j, e)| e * v(j)).sum();
            std::array::from_fn(|r| if r < k { row(r) } else { 0.0 })
        };
        // Eᵀ C d, and Eᵀ ℓ
        let bent = |j: usize| {
            if cone.round { self.curve_round[E_at + j * stride] } else { self.curve[at + j] }
        };
        let (force, slope) = (in_rows(&bent), in_rows(&|j| self.wider[at + j]));
        for (a, b) in (0..k).flat_map(|a| (0..k).map(move |b| (a, b))) {
            bend[a * k + b] += match way {
                Way::Forward => force[a] * slope[b],
                Way::Backward => slope[a] * force[b],
            };
        }
    }
}
