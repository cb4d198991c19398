//! Plans that take new grasps.

use crate::{body, moved, pusher, start, task};
use quasistep_plan::{
    GraspSettings, Limits, LocalSettings, Plan, PlanEnd, Planner, Task, check_plan, plan,
};
use quasistep_scene::Scene;
use std::ops::ControlFlow;

/// The box is turned by 2.6 rad and drawn back, towards the finger; the finger may go around it.
fn around(scene: &Scene) -> Task {
    let system = &scene.system;
    let goal = moved(system, &scene.start.q, "box/box", (-0.08, 0.06, 2.6));
    let touches = vec![[body(system, "finger/finger"), body(system, "box/box")]];
    let moves = GraspSettings::of_commanded(system);
    let moves = moves.into_iter().map(|(dof, _)| (dof, [-0.5, 0.5])).collect();
    let grasp = GraspSettings { touches, moves, distance: 1e-3, clearance: 5e-3, reach: 1.0 };
    Task { grasps: vec![grasp], ..task(system, vec![goal]) }
}

fn planned(scene: &Scene, task: &Task, (attempts, threads): (usize, usize)) -> Plan {
    let (state, before) = start(scene);
    let planner = Planner::Local(LocalSettings { region: 0.02, ..LocalSettings::default() });
    let limits = Limits { steps: 400, patience: 8, attempts, threads, ..Limits::default() };
    let look = &mut |_: &_| ControlFlow::Continue(());
    let start = (&state, &before[..]);
    plan(&scene.system, &scene.params, start, task, &planner, &limits, look).unwrap()
}

/// A person would see the finger push at one side, lift off, go around at a distance, and push at another
/// one, until the box lies where it should. Without new grasps the finger stays where it pushes and
/// gets stuck. The bits are the same for any number of threads.
#[test]
fn a_finger_goes_around_a_box() {
    let scene = pusher();
    let around = around(&scene);
    let alone = Task { grasps: Vec::new(), ..around.clone() };
    assert_ne!(planned(&scene, &alone, (5, 1)).status, PlanEnd::Reached);
    let ours = planned(&scene, &around, (100, 1));
    assert_eq!(ours.status, PlanEnd::Reached, "{:?}", ours.errors.last());
    assert_eq!(ours, planned(&scene, &around, (100, 3)));
    let (state, before) = start(&scene);
    let verdict = check_plan(&scene.system, &scene.params, &state, &ours.claim(&around, &before));
    assert!(verdict.holds(), "{verdict:?}");
    // it was on two sides of the box at least, whatever the box turned by
    let bodies = ["finger/finger", "box/box"].map(|name| body(&scene.system, name));
    let sides = ours.q.chunks_exact(state.q.len()).filter_map(|q| {
        let [finger, held] = bodies.map(|body| scene.system.model().pose(q, body));
        let at = held.inverse_transform_point(finger.translation);
        // the finger's radius and the half of the box
        let touches = at.x.abs().max(at.y.abs()) < 0.0765;
        touches.then_some((
            at.x.abs() > at.y.abs(),
            if at.x.abs() > at.y.abs() { at.x } else { at.y } > 0.0,
        ))
    });
    let sides: std::collections::BTreeSet<_> = sides.collect();
    assert!(sides.len() > 1, "{sides:?}");
}

/// Grasps that make no sense are told before the search.
#[test]
fn grasps_of_tasks_are_checked_first() {
    let scene = pusher();
    let (system, (_, before)) = (&scene.system, start(&scene));
    let mut around = around(&scene);
    let why = |task: &Task| task.check(system, &before, &scene.params).unwrap_err().to_string();
    around.grasps[0].clearance = 0.0;
    assert_eq!(why(&around), "grasp 0: clearance is 0; it must be > 0 m");
    around.grasps[0].clearance = 5e-3;
    around.grasps[0].touches.clear();
    assert_eq!(why(&around), "grasp 0: no pair of bodies is to touch; give at least one");
}
