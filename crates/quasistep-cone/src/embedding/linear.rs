//! Linear system of a step, solved by a Cholesky factorisation of `P + Aᵀ W⁻² A` and iterative
//! refinement.

use super::State;
use super::cones::{Rows, Scaling};
use super::form::{Form, add_transposed, times};
use super::twice::{ONE, Twice, ZERO, dot_with};
use crate::tolerances::embedding::{LEAST_PIVOT, SHIFT};
use quasistep_linalg::simd::kernel;

const REFINEMENTS: usize = 2;

/// Solution of the linear system: `x` and `z`.
#[derive(Clone, Default)]
pub(super) struct Pair {
    pub x: Vec<Twice>,
    pub z: Vec<Twice>,
}

impl State {
    /// Cholesky factorisation `L Lᵀ = P + Aᵀ W⁻² A`; zeros are not stored.
    pub fn factor(&mut self, form: &Form) {
        let n = form.n();
        let L = &mut self.L;
        L.fill(ZERO);
        for (i, row) in form.P.iter().enumerate() {
            for (j, v) in row.iter().filter(|(j, _)| *j as usize <= i) {
                L[i * n + *j as usize] += *v;
            }
            L[i * n + i] += Twice::new(SHIFT);
        }
        factor(self.isa, form, &self.scalings, L);
    }

    /// Solves `P x − Aᵀ z = right_x`, `A x + W² z = right_z`.
    pub fn solve(&self, form: &Form, right_x: &[Twice], right_z: &[Twice]) -> Pair {
        let mut pair = self.solve_once(form, right_x, right_z);
        for _ in 0..REFINEMENTS {
            let (mut left_x, mut left_z) = (right_x.to_vec(), right_z.to_vec());
            let mut Px = vec![ZERO; form.n()];
            times(self.isa, &form.P, &pair.x, &mut Px);
            let minus_z: Vec<Twice> = pair.z.iter().map(|z| -*z).collect();
            add_transposed(self.isa, &form.A, &minus_z, &mut Px);
            let mut Ax = vec![ZERO; left_z.len()];
            times(self.isa, &form.A, &pair.x, &mut Ax);
            left_x.iter_mut().zip(&Px).for_each(|(l, v)| *l -= *v);
            for (rows, scaling) in form.cones.iter().zip(&self.scalings) {
                let at = rows.first..rows.last;
                let (mut once, mut squared) = (vec![ZERO; at.len()], vec![ZERO; at.len()]);
                scaling.apply(rows, &pair.z[at.clone()], false, &mut once);
                scaling.apply(rows, &once, false, &mut squared);
                for (i, v) in at.zip(squared) {
                    left_z[i] = left_z[i] - Ax[i] - v;
                }
            }
            let more = self.solve_once(form, &left_x, &left_z);
            pair.x.iter_mut().zip(more.x).for_each(|(v, m)| *v += m);
            pair.z.iter_mut().zip(more.z).for_each(|(v, m)| *v += m);
        }
        pair
    }

    fn solve_once(&self, form: &Form, right_x: &[Twice], right_z: &[Twice]) -> Pair {
        // x = H⁻¹ (right_x + Aᵀ W⁻² right_z),  z = W⁻² (right_z − A x)
        let mut x = right_x.to_vec();
        let mut weighed = vec![ZERO; right_z.len()];
        weigh(self.isa, &form.cones, &self.scalings, right_z, &mut weighed);
        add_transposed(self.isa, &form.A, &weighed, &mut x);
        substitute(self.isa, &self.L, &mut x);
        let mut rest = vec![ZERO; right_z.len()];
        times(self.isa, &form.A, &x, &mut rest);
        for (rest, right) in rest.iter_mut().zip(right_z) {
            *rest = *right - *rest;
        }
        let mut z = weighed;
        weigh(self.isa, &form.cones, &self.scalings, &rest, &mut z);
        Pair { x, z }
    }
}

kernel! {
    /// `W⁻² v`, where `to` has the length of `v`.
    weigh(cones: &[Rows], scalings: &[Scaling], v: &[Twice], to: &mut [Twice]) {
        let mut once = Vec::new();
        for (rows, scaling) in cones.iter().zip(scalings) {
            let at = rows.first..rows.last;
            once.clear();
            once.resize(at.len(), ZERO);
            scaling.apply_with::<S>(rows, &v[at.clone()], true, &mut once);
            scaling.apply_with::<S>(rows, &once, true, &mut to[at]);
        }
    }
}

kernel! {
    /// Adds `Aᵀ W⁻² A` to the lower triangle `L` and factorises it in place.
    factor(form: &Form, scalings: &[Scaling], L: &mut [Twice]) {
        let n = form.n();
        for (rows, scaling) in form.cones.iter().zip(scalings) {
            for a in rows.first..rows.last {
                for b in rows.first..rows.last {
                    let share = scaling.inverse_square(rows, a - rows.first, b - rows.first);
                    for (i, v) in &form.A[a] {
                        let v = share.times::<S>(*v);
                        for (j, w) in form.A[b].iter().filter(|(j, _)| j <= i) {
                            L[*i as usize * n + *j as usize] += v.times::<S>(*w);
                        }
                    }
                }
            }
        }
        let mut below = Vec::with_capacity(n);
        for k in 0..n {
            let diagonal = L[k * n + k];
            let mut pivot = diagonal;
            for j in 0..k {
                let l = L[k * n + j];
                if l != ZERO {
                    pivot -= l.times::<S>(l);
                }
            }
            let least = Twice::new(LEAST_PIVOT) * diagonal;
            let pivot = if pivot > least { pivot } else { least }.sqrt();
            let inverse = ONE / pivot;
            L[k * n + k] = pivot;
            below.clear();
            below.extend((0..k).filter(|j| L[k * n + j] != ZERO));
            for i in k + 1..n {
                let (upper, lower) = L.split_at_mut(i * n);
                let (row, own) = (&upper[k * n..], &mut lower[..n]);
                let mut sum = own[k];
                for j in &below {
                    if own[*j] != ZERO {
                        sum -= own[*j].times::<S>(row[*j]);
                    }
                }
                if sum != ZERO {
                    own[k] = sum.times::<S>(inverse);
                }
            }
        }
    }
}

kernel! {
    /// Solves `L Lᵀ x = x` in place.
    substitute(L: &[Twice], x: &mut [Twice]) {
        let n = x.len();
        for i in 0..n {
            let sum = dot_with::<S>(&L[i * n..i * n + i], &x[..i]);
            x[i] = (x[i] - sum) / L[i * n + i];
        }
        for i in (0..n).rev() {
            let v = x[i] / L[i * n + i];
            x[i] = v;
            for j in 0..i {
                let l = L[i * n + j];
                if l != ZERO {
                    x[j] -= l.times::<S>(v);
                }
            }
        }
    }
}
