//! Where friction of areas acts, as the loads change that it follows.
//!
//! A step with areas is two programs: the loads of the first, under uniform pressure, tell where friction acts in the second.
//! With `g` the centres and spin radii,
//!
//! ```text
//! (x, z)(θ) = second(θ, g(λ_n)),     λ_n = first(θ)
//! ```
//!
//! so that derivatives are those of the second and, through `g`, those of the first one's normal impulses.

use super::{DerivativeError, Derivatives, InputChange, OutputChange};
use crate::contact::ContactRows;
use crate::friction::Friction;
use crate::system::System;
use std::ops::Range;

/// Share of an area's size by which its centre is moved for the derivative of its spin radius.
const SMALL: f64 = 1e-6;

/// The first program and what the second has of its loads.
#[derive(Debug)]
pub(super) struct Pressure {
    first: Box<Derivatives>,
    areas: Vec<AreaAnswer>,
}

#[derive(Debug)]
struct AreaAnswer {
    points: Range<usize>,
    /// Changes of the centre along the tangents, in m, and of `mu_spin`, in m, for the normal impulse of each point.
    by_load: Vec<[f64; 3]>,
}

impl Pressure {
    /// `contacts` as the second program has them; those areas that follow the loads of the first.
    pub fn new(first: Box<Derivatives>, contacts: &ContactRows) -> Self {
        let h = first.time_step;
        let loads: Vec<f64> = first.report().contacts.iter().map(|c| h * c.normal_force).collect();
        let answer = |number: usize| {
            let points = contacts.areas[number].points.clone();
            let mut by_load = vec![[0.0; 3]; points.len()];
            let area = &contacts.areas[number];
            if area.follows {
                let (outline, at) = (contacts.outline(&points), area.centre.at);
                let sum: f64 = loads[points.clone()].iter().sum();
                let Friction { mu, spin_is_given, .. } = contacts.rows[points.start].friction;
                let step = SMALL * outline.size;
                let slope = [0, 1].map(|k| {
                    let radius = |sign: f64| {
                        let mut at = at;
                        at[k] += sign * step;
                        outline.pressed_at(at).spin_radius
                    };
                    let follows = if spin_is_given { 0.0 } else { mu };
                    follows * (radius(1.0) - radius(-1.0)) / (2.0 * step)
                });
                for (by, k) in by_load.iter_mut().zip(points.clone()) {
                    let place = contacts.place(points.start, k);
                    let [x, y] = [0, 1].map(|axis| (place[axis] - at[axis]) / sum);
                    *by = [x, y, slope[0] * x + slope[1] * y];
                }
            }
            AreaAnswer { points, by_load }
        };
        let areas = (0..contacts.areas.len()).map(answer).collect();
        Self { first, areas }
    }

    /// How centres and `mu_spin` of all areas change with the inputs.
    pub fn changes(
        &mut self,
        system: &System,
        change: &InputChange,
        to: &mut Vec<[f64; 3]>,
    ) -> Result<(), DerivativeError> {
        let mut out = OutputChange::default();
        self.first.jvp(system, change, true, &mut out)?;
        to.clear();
        to.extend(self.areas.iter().map(|area| {
            let loads = area.points.clone().map(|k| out.normal[k]);
            loads.zip(&area.by_load).fold([0.0; 3], |sum, (load, by)| {
                [0, 1, 2].map(|k| sum[k] + load * by[k])
            })
        }));
        Ok(())
    }

    /// The transpose, for weights on centres and `mu_spin`: added to `to`.
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
        self.first.vjp(system, &weights, &mut own)?;
        for (to, own) in [
            (&mut to.q, &own.q),
            (&mut to.q_cmd, &own.q_cmd),
            (&mut to.v_cmd, &own.v_cmd),
            (&mut to.wrench, &own.wrench),
            (&mut to.tau, &own.tau),
            (&mut to.friction, &own.friction),
            (&mut to.stiffness, &own.stiffness),
            (&mut to.damping, &own.damping),
            (&mut to.mass, &own.mass),
        ] {
            to.iter_mut().zip(own).for_each(|(to, own)| *to += own);
        }
        to.time_step += own.time_step;
        Ok(())
    }

    /// The memory of the first program, to be used again.
    pub fn into_first(self) -> Box<Derivatives> {
        self.first
    }
}

impl Derivatives {
    /// `∂q_next/∂q` and `∂q_next/∂q_cmd` column by column.
    pub(super) fn jacobian_by_columns(
        &mut self,
        system: &System,
        by_q: &mut [f64],
        by_q_cmd: &mut [f64],
    ) -> Result<(), DerivativeError> {
        let (n_v, n_cmd) = (system.model.n_v(), system.n_cmd_v());
        let mut out = OutputChange::default();
        for (matrix, n, of_command) in [(by_q, n_v, false), (by_q_cmd, n_cmd, true)] {
            for column in 0..n {
                let mut unit = vec![0.0; n];
                unit[column] = 1.0;
                let mut change = InputChange::default();
                *(if of_command { &mut change.q_cmd } else { &mut change.q }) = unit;
                self.jvp(system, &change, false, &mut out)?;
                for (row, value) in out.q_next.iter().enumerate() {
                    matrix[row * n + column] = *value;
                }
            }
        }
        Ok(())
    }
}
