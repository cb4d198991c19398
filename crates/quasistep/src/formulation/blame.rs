//! Names the bodies, pairs and joints in the solvers' proofs that a step has no solution.

use crate::constraint::Reduction;
use crate::contact::ContactRows;
use crate::error::{PairDepth, StepError};
use crate::row::RowKey;
use crate::system::System;

/// Error that names the bodies moved by the ray of an unbounded program.
pub(crate) fn unsupported(system: &System, reduction: &Reduction, ray: &[f64]) -> StepError {
    let (bodies, direction) = movers(system, reduction, ray);
    StepError::Unsupported { bodies: names_of(system, &bodies), direction }
}

/// Names of bodies.
pub(crate) fn names_of(system: &System, bodies: &[usize]) -> Vec<String> {
    bodies.iter().map(|&body| system.model.body(body).name.clone()).collect()
}

/// Bodies that a direction of the variables moves, and its dofs by name with their components.
pub(crate) fn movers(
    system: &System,
    reduction: &Reduction,
    ray: &[f64],
) -> (Vec<usize>, Vec<(String, f64)>) {
    let names = system.dof_names();
    let of_dof = |variable: &Option<u32>| variable.map_or(0.0, |v| ray[v as usize]);
    let mut rates: Vec<f64> = system.variable_of_dof.iter().map(of_dof).collect();
    reduction.follow(&mut rates);
    let largest = rates.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
    let mut bodies: Vec<usize> = Vec::new();
    let mut direction = Vec::new();
    for (dof, rate) in rates.iter().enumerate() {
        let share = rate / largest;
        // a component of a tenth separates the moving dofs from those that are dragged along
        if share.abs() >= 0.1 {
            direction.push((names[dof].clone(), share));
            let body = first_with_shape(system, system.body_of_dof[dof]);
            if !bodies.contains(&body) {
                bodies.push(body);
            }
        }
    }
    (bodies, direction)
}

/// The body itself, or the first of its descendants with a shape. Chains of joints have
/// intermediate bodies whose names mean nothing to the user.
fn first_with_shape(system: &System, body: usize) -> usize {
    let model = &system.model;
    let has_shape = |b: usize| system.geoms.iter().any(|geom| geom.body == b);
    let carried = |mut b: usize| {
        // a parent precedes its children
        while b > body {
            b = model.body(b).parent;
        }
        b == body
    };
    (body..model.n_bodies()).find(|&b| has_shape(b) && carried(b)).unwrap_or(body)
}

/// Error that names the infeasible rows. `weights` are their multipliers in the proof; `crushed`
/// means that friction takes no part in it.
pub(crate) fn infeasible(
    system: &System,
    contacts: &ContactRows,
    keys: &[RowKey],
    weights: &[f64],
    crushed: bool,
) -> StepError {
    let (pairs, joints) = blamed(system, contacts, keys, weights);
    StepError::Infeasible { pairs, joints, crushed }
}

/// Pairs of bodies, deepest first, and joints at their limits, whose rows have a weight in the
/// proof.
pub(crate) fn blamed(
    system: &System,
    contacts: &ContactRows,
    keys: &[RowKey],
    weights: &[f64],
) -> (Vec<PairDepth>, Vec<String>) {
    let largest = weights.iter().fold(0.0_f64, |m, y| m.max(*y));
    let mut pairs: Vec<PairDepth> = Vec::new();
    let mut joints: Vec<String> = Vec::new();
    let mut name_joint = |dof: usize| {
        let name = system.model.body(system.body_of_dof[dof]).joint_name.clone();
        if !joints.contains(&name) {
            joints.push(name);
        }
    };
    for (key, y) in keys.iter().zip(weights) {
        // rows with less than a thousandth of the largest weight are not named
        if *y <= 1e-3 * largest {
            continue;
        }
        match key {
            RowKey::Contact { geom_a, geom_b, feature, .. } => {
                let name =
                    |geom: u32| system.model.body(system.geoms[geom as usize].body).name.clone();
                let depth = contacts
                    .rows
                    .iter()
                    .find(|r| {
                        (r.near.geom_a, r.near.geom_b, r.near.point.feature)
                            == (*geom_a, *geom_b, *feature)
                    })
                    .map_or(0.0, |r| -r.near.point.phi);
                let (a, b) = (name(*geom_a), name(*geom_b));
                match pairs.iter_mut().find(|p| p.a == a && p.b == b) {
                    Some(pair) => pair.depth = pair.depth.max(depth),
                    None => pairs.push(PairDepth { a, b, depth }),
                }
            }
            RowKey::LowerLimit { limit } | RowKey::UpperLimit { limit } => {
                name_joint(system.model.limits()[*limit as usize].dof as usize);
            }
            RowKey::JointFriction { dof, .. } => name_joint(*dof as usize),
            RowKey::Support { body, .. } => name_joint(system.model.body(*body as usize).v.start),
        }
    }
    pairs.sort_by(|x, y| y.depth.total_cmp(&x.depth));
    (pairs, joints)
}
