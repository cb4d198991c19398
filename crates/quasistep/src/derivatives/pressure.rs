//! Derivatives of the centres of friction of areas with respect to loads.
//!
//! A step with areas solves two programs. The loads of the first, under uniform pressure, determine
//! the centres of friction in the second. With the centres and spin radii `g`,
//!
//! ```text
//! (x, z)(θ) = second(θ, g(λ_n)),     λ_n = first(θ)
//! ```
//!
//! so the derivatives are those of the second program plus, through `g`, those of the first
//! program's normal impulses.

use super::change::{InputChange, OutputChange};
use super::kinds::DerivativeError;
use super::prepared::{AreaAnswer, Derivatives, Pressure};
use crate::area::{Area, Centre};
use crate::contact::{AreaAt, ContactRows};
use crate::formulation::edges::WAYS;
use crate::system::System;

/// Step of the central differences, relative to the area's size. It is near the cube root of the
/// rounding error, 6e-6, for which rounding and curvature leave the smallest error, about 1e-10.
const SMALL: f64 = 1e-6;

/// Derivatives of an area's centre along the tangents (m) and of the logarithm of its spin radius,
/// by central differences of `at`, whose argument is −1 or 1 times the step.
fn differences(step: f64, at: impl Fn(f64) -> Centre) -> [f64; 3] {
    let (more, less) = (at(1.0), at(-1.0));
    let slope = |a: f64, b: f64| (a - b) / (2.0 * step);
    let [x, y] = [0, 1].map(|k| slope(more.at[k], less.at[k]));
    [x, y, slope(more.spin_radius.ln(), less.spin_radius.ln())]
}

/// `∂(c, ln ρ)/∂x` of an area with respect to the positions of its points along the tangents, for
/// given shares of its load, or under uniform pressure.
fn by_place(contacts: &ContactRows, area: &AreaAt, loads: Option<&[f64]>) -> Vec<[[f64; 2]; 3]> {
    let points = area.points.clone();
    let places: Vec<_> = points.clone().map(|k| contacts.place(points.start, k)).collect();
    let step = SMALL * contacts.outline(&points).size;
    let given = contacts.rows[points.start].friction.spin_is_given;
    let slope = |k: usize, axis: usize| {
        let mut slope = differences(step, |sign| {
            let mut places = places.clone();
            places[k][axis] += sign * step;
            let outline = Area::around(places.iter().copied());
            let Some(loads) = loads else { return outline.uniform() };
            let sum: f64 = loads.iter().sum();
            let mean =
                |axis: usize| places.iter().zip(loads).map(|(p, l)| p[axis] * l).sum::<f64>();
            outline.pressed_at([mean(0) / sum, mean(1) / sum])
        });
        if given {
            slope[2] = 0.0;
        }
        slope
    };
    (0..places.len())
        .map(|k| {
            let [x, y] = [slope(k, 0), slope(k, 1)];
            [0, 1, 2].map(|row| [x[row], y[row]])
        })
        .collect()
}

/// `∂(c, ln ρ)/∂x` of all areas. Areas that depend on loads use the normal forces of `first`.
pub(super) fn all_by_place(
    contacts: &ContactRows,
    first: Option<&Derivatives>,
) -> Vec<Vec<[[f64; 2]; 3]>> {
    let of_first = first.map(|first| first.report().contacts.iter().map(|c| c.normal_force));
    let loads: Option<Vec<f64>> = of_first.map(Iterator::collect);
    let own = |area: &AreaAt| {
        let loads = loads.as_ref().filter(|_| area.follows).map(|l| &l[area.points.clone()]);
        by_place(contacts, area, loads)
    };
    contacts.areas.iter().map(own).collect()
}

impl Pressure {
    /// Dependence on the loads of `first`. `contacts` are the rows of the second program.
    pub fn new(first: Box<Derivatives>, contacts: &ContactRows) -> Self {
        let h = first.time_step;
        let loads: Vec<f64> = first.report().contacts.iter().map(|c| h * c.normal_force).collect();
        let answer = |area: &AreaAt| {
            let points = area.points.clone();
            let mut by_load = vec![[0.0; 3]; points.len()];
            if area.follows {
                let (outline, at) = (contacts.outline(&points), area.centre.at);
                let sum: f64 = loads[points.clone()].iter().sum();
                let step = SMALL * outline.size;
                let slope = [0, 1].map(|axis| {
                    let moved = |sign: f64| {
                        let mut at = at;
                        at[axis] += sign * step;
                        outline.pressed_at(at)
                    };
                    differences(step, moved)[2]
                });
                let given = contacts.rows[points.start].friction.spin_is_given;
                for (by, k) in by_load.iter_mut().zip(points.clone()) {
                    let place = contacts.place(points.start, k);
                    let [x, y] = [0, 1].map(|axis| (place[axis] - at[axis]) / sum);
                    *by = [x, y, if given { 0.0 } else { slope[0] * x + slope[1] * y }];
                }
            }
            AreaAnswer { points, by_load }
        };
        let areas = contacts.areas.iter().map(answer).collect();
        Self { first, areas }
    }

    /// Changes of the centres and spin radii of all areas with the inputs.
    pub fn changes(
        &mut self,
        system: &System,
        change: &InputChange,
        to: &mut Vec<[f64; 3]>,
    ) -> Result<(), DerivativeError> {
        let mut out = OutputChange::default();
        self.first.own_jvp(system, change, true, &mut out)?;
        to.clear();
        to.extend(self.areas.iter().map(|area| {
            let loads = area.points.clone().map(|k| out.normal[k]);
            loads
                .zip(&area.by_load)
                .fold([0.0; 3], |sum, (load, by)| [0, 1, 2].map(|k| sum[k] + load * by[k]))
        }));
        Ok(())
    }

    /// Transpose of [`changes`](Self::changes), for weights on centres and spin radii: adds to
    /// `to`.
    pub fn add_gradient(
        &mut self,
        system: &System,
        weights: &[[f64; 3]],
        to: &mut InputChange,
    ) -> Result<(), DerivativeError> {
        let mut normal = vec![0.0; self.first.n_contacts()];
        for (area, weights) in self.areas.iter().zip(weights) {
            for (k, by) in area.points.clone().zip(&area.by_load) {
                normal[k] = by.iter().zip(weights).map(|(by, w)| by * w).sum();
            }
        }
        let weights = OutputChange { normal, ..OutputChange::default() };
        let mut own = InputChange::default();
        self.first.own_vjp(system, &weights, &[], &mut own)?;
        to.add(system, self.first.n_contacts(), &own);
        Ok(())
    }

    /// The first program.
    pub fn first(&self) -> &Derivatives {
        &self.first
    }

    /// Returns the first program for reuse of its memory.
    pub fn into_first(self) -> Box<Derivatives> {
        self.first
    }
}

impl Derivatives {
    /// Changes of the centres and spin radii of areas (`areas`); empty if no area depends on its
    /// loads.
    pub(super) fn change_of_areas(
        &mut self,
        system: &System,
        change: &InputChange,
    ) -> Result<(), DerivativeError> {
        let Self { scratch: s, pressure, .. } = self;
        s.areas.clear();
        match pressure {
            Some(pressure) => {
                pressure.first.scratch.places.clone_from(&s.places);
                pressure.changes(system, change, &mut s.areas)
            }
            None => Ok(()),
        }
    }

    /// Transpose, for weights on the centres and spin radii of areas (`areas`).
    pub(super) fn gradient_of_areas(
        &mut self,
        system: &System,
        out: &mut InputChange,
    ) -> Result<(), DerivativeError> {
        let Some(pressure) = &mut self.pressure else { return Ok(()) };
        pressure.add_gradient(system, &self.scratch.areas, out)?;
        let of_first = &pressure.first.scratch.to_places;
        for (to, from) in self.scratch.to_places.iter_mut().zip(of_first) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += *from);
        }
        Ok(())
    }

    /// Computes `∂q_next/∂q` and `∂q_next/∂q_cmd` column by column.
    pub(super) fn jacobian_by_columns(
        &mut self,
        system: &System,
        by_q: &mut [f64],
        by_q_cmd: &mut [f64],
    ) -> Result<(), DerivativeError> {
        let impulses = self.matrices.keeps;
        let n_rows = if impulses { WAYS * self.contacts.len() } else { 0 };
        let mut kept = [by_q.len(), by_q_cmd.len()].map(|size| {
            // as many columns, one row for each component of an impulse
            vec![0.0; size / system.model.n_v().max(1) * n_rows]
        });
        self.for_each_column(system, impulses, |of_command, column, n, product| {
            let matrix = if of_command { &mut *by_q_cmd } else { &mut *by_q };
            write_column(matrix, column, n, &product.q_next);
            write_column(&mut kept[usize::from(of_command)], column, n, &product.components);
        })?;
        (self.matrices.components, self.matrices.has_components) = (kept, impulses);
        Ok(())
    }

    /// Calls `each` with the product of every column of the Jacobians by `q` and by the command: whether
    /// it is one of the command, its index, and the number of these columns.
    pub(super) fn for_each_column(
        &mut self,
        system: &System,
        impulses: bool,
        mut each: impl FnMut(bool, usize, usize, &OutputChange),
    ) -> Result<(), DerivativeError> {
        let mut out = OutputChange::default();
        for (n, of_command) in [(system.model.n_v(), false), (system.n_cmd_v(), true)] {
            for column in 0..n {
                let mut unit = vec![0.0; n];
                unit[column] = 1.0;
                let mut change = InputChange::default();
                *(if of_command { &mut change.q_cmd } else { &mut change.q }) = unit;
                self.jvp(system, &change, impulses, &mut out)?;
                each(of_command, column, n, &out);
            }
        }
        Ok(())
    }
}

/// Writes a column of a matrix with `n` columns.
pub(super) fn write_column(matrix: &mut [f64], column: usize, n: usize, values: &[f64]) {
    for (row, value) in matrix.chunks_exact_mut(n).zip(values) {
        row[column] = *value;
    }
}
