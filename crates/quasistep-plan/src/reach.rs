//! Goals that nothing can reach, found before a search.

use crate::approach::{chain, leader};
use crate::clearance::touching_bodies;
use crate::goal::{Goal, PoseTarget, Target};
use crate::task_error::TaskError;
use quasistep::{StepError, StepParams, System};
use quasistep_math::{Pose, Vec3};
use quasistep_model::{JointKind, Model, WORLD};

/// Checks that what is commanded can move the bodies of all targets, that joints have room for their
/// values, and that poses are outside of bodies that never move.
pub fn check_targets(
    system: &System,
    params: &StepParams,
    goals: &[Goal],
) -> Result<(), TaskError> {
    let movable = movable(system);
    for (goal, target, of) in goals.iter().enumerate().flat_map(|(goal, of)| {
        of.targets.iter().enumerate().map(move |(target, of)| (goal, target, of))
    }) {
        let at = [goal, target];
        let body = match of {
            Target::Pose(pose) => pose.frame.body,
            Target::Joint(joint) => owner(system.model(), joint.coordinate),
        };
        if !movable[body] {
            let body = system.model().body(body).name.clone();
            return Err(TaskError::Unmoved { at, body });
        }
        match of {
            Target::Joint(joint) => {
                let limits = system.model().limits().iter();
                let beyond = limits
                    .filter(|limit| limit.q_index as usize == joint.coordinate)
                    .find(|limit| {
                        joint.value < limit.lower - joint.tolerance
                            || joint.value > limit.upper + joint.tolerance
                    });
                if let Some(limit) = beyond {
                    let name = system.model().coordinate_names().swap_remove(joint.coordinate);
                    let (value, lower, upper) = (joint.value, limit.lower, limit.upper);
                    return Err(TaskError::Limit { at, name, value, lower, upper });
                }
            }
            Target::Pose(pose) if pose.counts == [true; 6] => {
                check_pose(system, params, at, pose)?;
            }
            Target::Pose(_) => {}
        }
    }
    Ok(())
}

fn owner(model: &Model, coordinate: usize) -> usize {
    model.bodies().iter().position(|body| body.q.contains(&coordinate)).unwrap_or(WORLD)
}

/// For each body, whether anything that is commanded can move it: its own joints, or what moves and
/// may touch it or holds it.
fn movable(system: &System) -> Vec<bool> {
    let model = system.model();
    let n = model.n_bodies();
    let joints = |body: usize| {
        chain(model, body)
            .map(|k| leader(model, k))
            .filter(|k| !model.body(*k).v.is_empty())
            .collect::<Vec<_>>()
    };
    let joints: Vec<Vec<usize>> = (0..n).map(joints).collect();
    // joints that move
    let mut moves: Vec<bool> = (0..n).map(|body| system.commanded().contains(&body)).collect();
    let moved = |moves: &[bool], body: usize| joints[body].iter().any(|joint| moves[*joint]);
    let mut pairs: Vec<[usize; 2]> = touching_bodies(system).into_iter().collect();
    for constraint in system.constraints() {
        let bodies = constraint.bodies();
        pairs.extend(bodies.windows(2).map(|pair| [pair[0], pair[1]]));
    }
    loop {
        let mut is_done = true;
        for [a, b] in pairs.iter().flat_map(|[a, b]| [[*a, *b], [*b, *a]]) {
            if moved(&moves, a) {
                for joint in &joints[b] {
                    is_done &= moves[*joint];
                    moves[*joint] = true;
                }
            }
        }
        if is_done {
            return (0..n).map(|body| moved(&moves, body)).collect();
        }
    }
}

/// Checks that a body can have a pose on its own: by its joint, and outside of bodies that never
/// move.
fn check_pose(
    system: &System,
    params: &StepParams,
    at: [usize; 2],
    target: &PoseTarget,
) -> Result<(), TaskError> {
    let model = system.model();
    let body = model.body(target.frame.body);
    let is_fixed = |k: usize| chain(model, k).all(|k| model.body(leader(model, k)).v.is_empty());
    if !matches!(body.joint, JointKind::Free | JointKind::Planar) || !is_fixed(body.parent) {
        return Ok(());
    }
    let mut q = model.neutral_q();
    let X_FB = (model.pose(&q, body.parent) * body.X_PF).inverse()
        * (target.X_WG * target.frame.X_BF.inverse());
    let (turn, p) = (X_FB.rotation, X_FB.translation);
    let own = &mut q[body.q.clone()];
    if body.joint == JointKind::Planar {
        let x = turn.rotate(Vec3::X);
        own.copy_from_slice(&[p.x, p.y, x.y.atan2(x.x)]);
    } else {
        own[..4].copy_from_slice(&turn.to_array());
        own[4..].copy_from_slice(&p.to_array());
    }
    let name = || body.name.clone();
    let X_WF = model.pose(&q, target.frame.body) * target.frame.X_BF;
    let [angle, distance] = apart(&X_WF, &target.X_WG);
    if angle > target.angle || distance > target.distance {
        return Err(TaskError::OutOfPlane { at, body: name(), angle, distance });
    }
    // within its tolerance the body may be so much further out
    let carried = |k: usize| chain(model, k).find(|k| !model.body(*k).v.is_empty());
    let reaches =
        system.geoms().iter().filter(|geom| carried(geom.body) == Some(target.frame.body));
    let reaches = reaches.map(|g| {
        let X_WG = model.pose(&q, g.body) * g.X_BG;
        (X_WG.translation - X_WF.translation).norm() + g.shape.reach()
    });
    let room = target.distance + target.angle * reaches.fold(0.0, f64::max) + params.max_overlap;
    let near = system.near_pairs(&q, 0.0).map_err(|why: StepError| TaskError::Distances(why))?;
    for ([a, b], phi) in near {
        for (own, other) in [(a, b), (b, a)] {
            let is_own = carried(own) == Some(target.frame.body);
            if is_own && is_fixed(other) && -phi > room {
                let other = model.body(other).name.clone();
                return Err(TaskError::Within { at, body: name(), other, by: -phi });
            }
        }
    }
    Ok(())
}

/// Angle (rad) and distance (m) between two poses.
fn apart(a: &Pose, b: &Pose) -> [f64; 2] {
    let turn = (a.rotation * b.rotation.inverse()).to_rotation_vector();
    [turn.norm(), (a.translation - b.translation).norm()]
}
