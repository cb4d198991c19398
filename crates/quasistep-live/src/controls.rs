//! Controls of a page: one for each number that is commanded, or that says how a robot stands.

use quasistep::System;
use quasistep_scene::Scene;
use serde_json::{Value, json};
use std::f64::consts::PI;

/// A number that a slider of the page sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Control {
    /// Name of the coordinate, pad or switch.
    pub name: String,
    /// `m`, `rad`, or empty for a share or a switch.
    pub unit: &'static str,
    /// Least value.
    pub lower: f64,
    /// Largest value.
    pub upper: f64,
    /// Index in `q_cmd`; in `q` where nothing is stepped.
    pub(crate) at_q: usize,
    /// Index in `v_cmd`.
    pub(crate) at_v: usize,
    /// Largest rate at which a command follows its slider, in units per s of simulated time.
    pub(crate) rate: f64,
}

impl Control {
    /// Checks a value.
    ///
    /// # Errors
    ///
    /// What was seen, and what would be valid.
    pub(crate) fn check(&self, value: f64) -> Result<(), String> {
        let Self { name, unit, lower, upper, .. } = self;
        if (*lower..=*upper).contains(&value) {
            return Ok(());
        }
        Err(format!("`{name}`: {value} was given; give {lower} to {upper} {unit}")
            .trim_end()
            .into())
    }

    /// The control as the page's program reads it.
    pub(crate) fn told(&self) -> Value {
        json!({ "name": self.name, "unit": self.unit, "lower": self.lower, "upper": self.upper })
    }
}

/// Controls of all commanded numbers but quaternions, in the order of the recording's commands.
/// `reach` (m) is how far positions without limits go from `q_cmd`, the commands at the start.
pub(crate) fn of_commands(scene: &Scene, q_cmd: &[f64], reach: f64) -> Vec<Control> {
    let system = &scene.system;
    let names = system.command_names();
    let (mut at_q, mut at_v) = (0, 0);
    let mut all = Vec::new();
    let joints = system.commanded().iter().map(|&body| {
        let joint = system.model().body(body);
        (joint.q.clone(), joint.v.len())
    });
    let frames = system.springs().map(|_| (0..7, 6));
    let n_joints = system.commanded().len();
    for (k, (q, n_v)) in joints.chain(frames).enumerate() {
        let skip = if q.len() == n_v { (0, 0) } else { (4, 3) };
        for i in skip.0..q.len() {
            let (own_q, own_v) = (at_q + i, at_v + i - skip.0 + skip.1);
            let (unit, limits) = if k < n_joints {
                of_coordinate(system, q.start + i, q_cmd[own_q], reach)
            } else {
                ("m", [q_cmd[own_q] - reach, q_cmd[own_q] + reach])
            };
            let [lower, upper] = limits;
            let rate = upper - lower;
            all.push(Control {
                name: names[own_q].clone(),
                unit,
                lower,
                upper,
                at_q: own_q,
                at_v: own_v,
                rate,
            });
        }
        (at_q, at_v) = (at_q + q.len(), at_v + n_v);
    }
    // pads and switches
    for k in at_q..names.len() {
        let at_v = at_v + k - at_q;
        let rate = f64::INFINITY;
        all.push(Control {
            name: names[k].clone(),
            unit: "",
            lower: 0.0,
            upper: 1.0,
            at_q: k,
            at_v,
            rate,
        });
    }
    all
}

/// Controls of all coordinates but quaternions.
pub(crate) fn of_coordinates(scene: &Scene, q: &[f64], reach: f64) -> Vec<Control> {
    let system = &scene.system;
    let names = system.model().coordinate_names();
    let of_body = |range: std::ops::Range<usize>, n_v: usize| {
        let skip = if range.len() == n_v { 0 } else { 4 };
        range.skip(skip)
    };
    let bodies = system.model().bodies().iter();
    bodies
        .flat_map(|body| of_body(body.q.clone(), body.v.len()))
        .map(|i| {
            let (unit, [lower, upper]) = of_coordinate(system, i, q[i], reach);
            Control {
                name: names[i].clone(),
                unit,
                lower,
                upper,
                at_q: i,
                at_v: 0,
                rate: f64::INFINITY,
            }
        })
        .collect()
}

/// Unit and range of a coordinate that is `now` at the start.
fn of_coordinate(system: &System, i: usize, now: f64, reach: f64) -> (&'static str, [f64; 2]) {
    let unit = system.model().coordinate_units()[i];
    let away = if unit == "rad" { PI } else { reach };
    let (mut lower, mut upper) = (now - away, now + away);
    for limit in system.model().limits().iter().filter(|l| l.q_index as usize == i) {
        if limit.lower.is_finite() {
            lower = limit.lower;
        }
        if limit.upper.is_finite() {
            upper = limit.upper;
        }
    }
    // a start outside the limits stays possible
    (unit, [lower.min(now), upper.max(now)])
}
