//! Plans that take new grasps.

use crate::{body, moved, pusher, start, task};
use quasistep_plan::{
    GraspSettings, Limits, LocalSettings, Plan, PlanEnd, Planner, Roadmap, Task, check_plan, plan,
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
    let limits = Limits { steps: 400, patience: 8, attempts, threads, ..Limits::default() };
    planned_within(scene, task, &limits, 0)
}

fn planned_within(scene: &Scene, task: &Task, limits: &Limits, seed: u64) -> Plan {
    let (state, before) = start(scene);
    let planner = Planner::Local(LocalSettings { region: 0.02, seed, ..LocalSettings::default() });
    let look = &mut |_: &_| ControlFlow::Continue(());
    let start = (&state, &before[..]);
    plan(&scene.system, &scene.params, start, task, &planner, limits, look).unwrap()
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

/// A person would see the finger reach the same place with less wandering. The bits are the same for any number
/// of threads.
#[test]
fn shortcuts_leave_out_steps_that_lead_nowhere() {
    let scene = pusher();
    let around = around(&scene);
    let within = |shortcuts: usize, threads: usize, seed: u64| {
        let limits = Limits { steps: 400, patience: 8, attempts: 100, ..Limits::default() };
        let limits = Limits { shortcuts, threads, ..limits };
        planned_within(&scene, &around, &limits, seed)
    };
    let mut steps = [0, 0];
    for seed in 0..3 {
        let pair = [within(0, 1, seed), within(40, 1, seed)];
        for (sum, plan) in steps.iter_mut().zip(&pair) {
            assert_eq!(plan.status, PlanEnd::Reached);
            *sum += plan.commands.len() / 2;
        }
    }
    assert!(5 * steps[1] < 4 * steps[0], "{steps:?}");
    let short = within(40, 1, 1);
    assert_eq!(short, within(40, 3, 1));
    let (state, before) = start(&scene);
    let verdict = check_plan(&scene.system, &scene.params, &state, &short.claim(&around, &before));
    assert!(verdict.holds(), "{verdict:?}");
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

/// Once the way around the box is known, a place where the box was on the way is reached in one attempt. The same
/// without a roadmap is not.
#[test]
fn a_roadmap_answers_the_next_goal_from_what_it_knows() {
    let scene = pusher();
    let (system, params) = (&scene.system, &scene.params);
    let (state, before) = start(&scene);
    let far = around(&scene);
    let planner = Planner::Local(LocalSettings { region: 0.02, ..LocalSettings::default() });
    let ask = |roadmap: &mut Roadmap, task: &Task, attempts: usize, threads: usize| {
        let limits = Limits { steps: 400, patience: 8, attempts, threads, ..Limits::default() };
        let look = &mut |_: &_| ControlFlow::Continue(());
        roadmap.plan(system, params, task, &planner, &limits, look)
    };
    let made = |threads: usize| {
        let mut roadmap = Roadmap::new(&state.q, &before, params.time_step);
        let plan = ask(&mut roadmap, &far, 100, threads).unwrap();
        assert_eq!(plan.status, PlanEnd::Reached);
        (roadmap, plan)
    };
    let (mut roadmap, way) = made(1);
    assert_eq!(roadmap, made(3).0);
    let known = roadmap.len();
    assert!(known > 50, "{known}");

    let n_q = state.q.len();
    let rows = way.q.len() / n_q;
    let there = &way.q[(rows * 3 / 4) * n_q..][..n_q];
    let goal = moved(system, there, "box/box", (0.002, 0.0, 0.0));
    let near = Task { goals: vec![goal], ..far.clone() };
    let ours = ask(&mut roadmap, &near, 1, 1).unwrap();
    assert_eq!(ours.status, PlanEnd::Reached, "{:?}", ours.errors.last());
    let verdict = check_plan(system, params, &state, &ours.claim(&near, &before));
    assert!(verdict.holds(), "{verdict:?}");
    assert_ne!(planned(&scene, &near, (1, 1)).status, PlanEnd::Reached);
    // what was known is not stored again
    assert!((known..known + 100).contains(&roadmap.len()), "{known} {}", roadmap.len());

    let (parents, q, commands) = roadmap.arrays();
    let widths = (n_q, before.len());
    let again = |parents: Vec<usize>, widths| {
        Roadmap::from_arrays(parents, q.to_vec(), commands.to_vec(), widths, params.time_step)
    };
    assert_eq!(again(parents.to_vec(), widths).unwrap(), roadmap);
    let mut wrong = parents.to_vec();
    wrong[3] = 7;
    assert!(again(wrong, widths).unwrap_err().contains("node 3 stands behind node 7"));
    assert!(again(parents.to_vec(), (2, 2)).unwrap_err().contains("each node has 2 and 2"));

    let mut other = Roadmap::new(&state.q, &before, 2.0 * params.time_step);
    let why = ask(&mut other, &near, 1, 1).unwrap_err().to_string();
    assert!(why.contains("the time step of a plan on this roadmap"), "{why}");
}

/// A state of the roadmap is nearer to the goal than all others, but the finger is away from the box there. The next
/// attempt starts on another way.
#[test]
fn attempts_on_a_roadmap_start_on_several_ways() {
    let scene = pusher();
    let (system, params) = (&scene.system, &scene.params);
    let (state, before) = start(&scene);
    let ahead = |x: f64| task(system, vec![moved(system, &state.q, "box/box", (x, 0.0, 0.0))]);
    let planner = Planner::Local(LocalSettings { region: 0.02, ..LocalSettings::default() });
    let ask = |roadmap: &mut Roadmap, x: f64, attempts: usize| {
        let limits = Limits { steps: 100, patience: 8, attempts, ..Limits::default() };
        let look = &mut |_: &_| ControlFlow::Continue(());
        roadmap.plan(system, params, &ahead(x), &planner, &limits, look).unwrap().status
    };
    let mut known = Roadmap::new(&state.q, &before, params.time_step);
    assert_eq!(ask(&mut known, 0.05, 30), PlanEnd::Reached);
    let (parents, q, commands) = known.arrays();
    let (mut parents, mut q, mut commands) = (parents.to_vec(), q.to_vec(), commands.to_vec());
    let place =
        |name: &str| system.model().coordinate_names().iter().position(|own| own == name).unwrap();
    let mut away = state.q.clone();
    away[place("box.x")] += 0.07;
    away[place("finger.x")] -= 0.3;
    parents.push(0);
    q.extend(&away);
    commands.extend([before[0] - 0.3, before[1]]);
    let made = || {
        let (parents, q, commands) = (parents.clone(), q.clone(), commands.clone());
        let widths = (away.len(), before.len());
        Roadmap::from_arrays(parents, q, commands, widths, params.time_step).unwrap()
    };
    assert_ne!(ask(&mut made(), 0.1, 1), PlanEnd::Reached);
    assert_eq!(ask(&mut made(), 0.1, 2), PlanEnd::Reached);
}
