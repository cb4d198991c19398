//! Reachable sets over the horizon as intervals, step by step.
//!
//! A contact whose gap stays open for all inputs has no impulse in any plan, so its variables and
//! choices are left out. The computation starts with all impulses permitted, removes those that
//! cannot act, and bounds the remaining ones again. It uses only hard bounds.

#![allow(non_snake_case)] // letters of MpcNote

use crate::lcs::{Lcs, Reduced, Unit};
use crate::problem::{Limits, Problem, Relax};

/// Number of passes over one step.
const PASSES: usize = 12;

/// Smallest gap, on a scale of 1, at which a contact counts as unreachable.
const MARGIN: f64 = 1e-9;

/// Matrix products of one model, shared by all steps.
#[derive(Clone, Debug, Default)]
struct Products {
    /// The products `D A`, `D B`, `D f + a`.
    DA: Vec<f64>,
    DB: Vec<f64>,
    d: Vec<f64>,
    /// For state `i`: another state `j > i` and `s`, such that row `i` of `C` is `s` times row `j`.
    /// Then `x_i − s x_j` does not depend on impulses.
    partner: Vec<Option<(usize, f64)>>,
}

impl Products {
    fn of(lcs: &Lcs, r: &Reduced) -> Self {
        let (n, m, g) = (lcs.n_x, lcs.n_u, r.n_r);
        let times = |M: &[f64], columns: usize| -> Vec<f64> {
            (0..g * columns)
                .map(|at| {
                    let (i, j) = (at / columns, at % columns);
                    (0..n).map(|k| r.D[i * n + k] * M[k * columns + j]).sum()
                })
                .collect()
        };
        let d = (0..g)
            .map(|i| r.a[i] + (0..n).map(|k| r.D[i * n + k] * lcs.f[k]).sum::<f64>())
            .collect();
        let partner = (0..n)
            .map(|i| {
                let row = |i: usize| &r.C[i * g..(i + 1) * g];
                (i + 1..n).find_map(|j| {
                    let at = row(j).iter().position(|v| *v != 0.0)?;
                    let s = row(i)[at] / row(j)[at];
                    let alike = row(i)
                        .iter()
                        .zip(row(j))
                        .all(|(a, b)| (a - s * b).abs() <= 1e-14 * (a.abs() + (s * b).abs()));
                    alike.then_some((j, s))
                })
            })
            .collect();
        Self { DA: times(&lcs.A, n), DB: times(&lcs.B, m), d, partner }
    }
}

/// Intervals of one step.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepReach {
    /// State at the end of the step, within its bounds.
    pub x: Vec<(f64, f64)>,
    /// State at the end of the step without the bounds on this entry.
    pub x_unbounded: Vec<(f64, f64)>,
    /// Inputs of the step.
    pub u: Vec<(f64, f64)>,
    /// Largest `c` or `gamma_i` of each unit; 0 if it cannot act.
    pub impulse: Vec<f64>,
}

impl StepReach {
    pub fn possible(&self, unit: usize) -> bool {
        self.impulse[unit] > 0.0
    }
}

/// Reachable intervals over a horizon, with scratch memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    products: Vec<Products>,
    pub steps: Vec<StepReach>,
}

impl Reach {
    pub fn new(problem: &Problem, reduced: &[Reduced]) -> Self {
        let products = problem.models.iter().zip(reduced).map(|(m, r)| Products::of(m, r));
        Self { products: products.collect(), steps: Vec::new() }
    }

    /// Propagates intervals from `x0`, using the bounds that `relax` keeps hard.
    pub fn propagate(
        &mut self,
        problem: &Problem,
        reduced: &[Reduced],
        x0: &[f64],
        last_input: Option<&[f64]>,
        relax: Relax,
    ) {
        let bounds = &problem.bounds;
        let in_force = |limits: &Limits| relax.weight(limits).is_none();
        let (state, input) = (in_force(&bounds.state), in_force(&bounds.input));
        let rate = in_force(&bounds.input_rate);
        self.steps.resize(problem.horizon, StepReach::default());
        let mut x: Vec<(f64, f64)> = x0.iter().map(|v| (*v, *v)).collect();
        let free = (f64::NEG_INFINITY, f64::INFINITY);
        let mut u: Option<Vec<(f64, f64)>> =
            last_input.map(|u| u.iter().map(|v| (*v, *v)).collect());
        for k in 0..problem.horizon {
            let at = problem.place(k);
            let (lcs, r, products) = (&problem.models[at], &reduced[at], &self.products[at]);
            let now: Vec<(f64, f64)> = (0..lcs.n_u)
                .map(|j| {
                    let own = (bounds.input.lower(j), bounds.input.upper(j));
                    let own = if input { own } else { free };
                    match &u {
                        Some(u) if rate => intersect(
                            own,
                            add(u[j], (bounds.input_rate.lower(j), bounds.input_rate.upper(j))),
                        ),
                        _ => own,
                    }
                })
                .collect();
            let step = &mut self.steps[k];
            step.u.clone_from(&now);
            u = Some(now);
            propagate_step(problem, lcs, r, products, &x, state, step);
            x.clone_from(&step.x);
        }
    }
}

fn propagate_step(
    problem: &Problem,
    lcs: &Lcs,
    r: &Reduced,
    products: &Products,
    x: &[(f64, f64)],
    bounded: bool,
    step: &mut StepReach,
) {
    let (n, m, g) = (lcs.n_x, lcs.n_u, r.n_r);
    let state = &problem.bounds.state;
    let u = &step.u;
    step.impulse.clear();
    step.impulse.resize(r.units.len(), problem.bounds.impulse.unwrap_or(f64::INFINITY));
    let free: Vec<(f64, f64)> = (0..n)
        .map(|i| {
            let moved =
                add(combine(&lcs.A[i * n..(i + 1) * n], x), combine(&lcs.B[i * m..(i + 1) * m], u));
            add(moved, (lcs.f[i], lcs.f[i]))
        })
        .collect();
    let row_free: Vec<f64> = (0..g)
        .map(|i| {
            let from_x = combine(&products.DA[i * n..(i + 1) * n], x);
            let from_u = combine(&products.DB[i * m..(i + 1) * m], u);
            from_x.0 + from_u.0 + products.d[i]
        })
        .collect();
    step.x.clear();
    step.x.resize(n, (0.0, 0.0));
    step.x_unbounded.clone_from(&step.x);
    for _ in 0..PASSES {
        for i in (0..n).rev() {
            let mut reach = free[i];
            for (unit, most) in r.units.iter().zip(&step.impulse) {
                reach = add(reach, contribution(unit, &r.C[i * g..(i + 1) * g], *most));
            }
            if let Some((j, s)) = products.partner[i] {
                let A: Vec<f64> = (0..n).map(|k| lcs.A[i * n + k] - s * lcs.A[j * n + k]).collect();
                let B: Vec<f64> = (0..m).map(|k| lcs.B[i * m + k] - s * lcs.B[j * m + k]).collect();
                let f = lcs.f[i] - s * lcs.f[j];
                let through = add(add(combine(&A, x), combine(&B, u)), (f, f));
                reach = intersect(reach, add(through, combine(&[s], &step.x[j..=j])));
            }
            step.x_unbounded[i] = reach;
            let own = if bounded {
                (state.lower(i), state.upper(i))
            } else {
                (f64::NEG_INFINITY, f64::INFINITY)
            };
            step.x[i] = intersect(reach, own);
        }
        let mut changed = false;
        for (k, unit) in r.units.iter().enumerate() {
            if step.impulse[k] == 0.0 {
                continue;
            }
            let row = unit.row();
            let (mut by_state, mut by_free) =
                (combine(&r.D[row * n..(row + 1) * n], &step.x).0 + r.a[row], row_free[row]);
            let mut without_own = by_free;
            for (other, unit) in r.units.iter().enumerate() {
                let most = step.impulse[other];
                by_state += contribution(unit, &r.E[row * g..(row + 1) * g], most).0;
                let pushed = contribution(unit, &r.F[row * g..(row + 1) * g], most).0;
                by_free += pushed;
                if other != k {
                    without_own += pushed;
                }
            }
            let own = least_coefficient(unit, &r.F[row * g..(row + 1) * g]);
            let most = if by_state.max(by_free) > MARGIN {
                0.0
            } else if own > 0.0 && without_own > f64::NEG_INFINITY {
                // an impulse acts only until the gap is closed
                step.impulse[k].min((-without_own).max(MARGIN) / own)
            } else {
                step.impulse[k]
            };
            if most < step.impulse[k] * (1.0 - 1e-6) {
                step.impulse[k] = most;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

/// Smallest effect of a unit normal impulse on a row, for any friction within the cone.
fn least_coefficient(unit: &Unit, row: &[f64]) -> f64 {
    match unit {
        Unit::Contact { variable, contact, .. } => {
            row[*variable] - contact.mu * row[variable + 1].abs()
        }
        Unit::Pair { variable, .. } => row[*variable],
    }
}

fn largest_coefficient(unit: &Unit, row: &[f64]) -> f64 {
    match unit {
        Unit::Contact { variable, contact, .. } => {
            row[*variable] + contact.mu * row[variable + 1].abs()
        }
        Unit::Pair { variable, .. } => row[*variable],
    }
}

/// Interval of a unit's contribution to a row, for impulses from 0 to `most`.
pub(crate) fn contribution(unit: &Unit, row: &[f64], most: f64) -> (f64, f64) {
    let (least, largest) = (least_coefficient(unit, row), largest_coefficient(unit, row));
    (times(least.min(0.0), most), times(largest.max(0.0), most))
}

/// Product in which 0 times infinity is 0.
fn times(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

fn add(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0 + b.0, a.1 + b.1)
}

/// Intersection of two intervals; the first one if rounding makes it empty.
fn intersect(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let both = (a.0.max(b.0), a.1.min(b.1));
    if both.0 <= both.1 { both } else { a }
}

/// Interval of `row · x`.
pub(crate) fn combine(row: &[f64], x: &[(f64, f64)]) -> (f64, f64) {
    row.iter().zip(x).fold((0.0, 0.0), |sum, (a, x)| {
        let ends = (times(*a, x.0), times(*a, x.1));
        add(sum, (ends.0.min(ends.1), ends.0.max(ends.1)))
    })
}
