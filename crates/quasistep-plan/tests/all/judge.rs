//! The judge refuses what is not so.

use crate::{moved, pusher, start, task};
use quasistep_plan::{
    Limits, LocalSettings, Plan, PlanEnd, Planner, Refusal, Task, check_plan, plan,
};
use std::ops::ControlFlow;

/// A plan that holds, and what becomes of it when it is tampered with.
#[test]
fn a_plan_is_refused_for_what_is_wrong_with_it() {
    let scene = pusher();
    let (state, before) = start(&scene);
    let system = &scene.system;
    let task = task(system, vec![moved(system, &state.q, "box/box", (0.04, 0.0, 0.0))]);
    let planner = Planner::Local(LocalSettings {
        region: 0.02,
        kappa: vec![1e-1, 1e-2, 1e-3],
        ..LocalSettings::default()
    });
    let look = &mut |_: &_| ControlFlow::Continue(());
    let made =
        plan(system, &scene.params, (&state, &before), &task, &planner, &Limits::default(), look)
            .unwrap();
    assert_eq!(made.status, PlanEnd::Reached, "{:?}", made.errors.last());
    let check = |plan: &Plan, task: &Task| {
        check_plan(system, &scene.params, &state, &plan.claim(task, &before))
    };
    let verdict = check(&made, &task);
    assert!(verdict.holds(), "{verdict:?}");
    assert!(verdict.errors[0] <= 0.05 && verdict.errors[1] <= 0.005, "{verdict:?}");
    // where the box is by its own coordinates
    let end = &made.q[made.q.len() - state.q.len()..];
    assert!((end[2] - state.q[2] - 0.04).hypot(end[3] - state.q[3]) <= 0.005, "{end:?}");

    let first = |plan: &Plan, task: &Task| check(plan, task).refusals.first().cloned();
    // states that the commands do not lead to: the box is set in place
    let mut other = made.clone();
    let n = other.q.len();
    other.q[n - state.q.len() + 2] += 1e-3;
    assert!(matches!(first(&other, &task), Some(Refusal::States { .. })));
    // states that are no numbers
    let mut other = made.clone();
    other.q[n - 1] = f64::NAN;
    assert!(matches!(first(&other, &task), Some(Refusal::States { by, .. }) if by.is_nan()));
    // commands that go less far
    let mut other = made.clone();
    other.commands.iter_mut().for_each(|u| *u *= 0.8);
    assert!(!check(&other, &task).holds());
    // bounds and rates
    let mut narrow = task.clone();
    narrow.commands[0] = [-0.2, -0.08];
    assert!(
        matches!(first(&made, &narrow), Some(Refusal::Bound { step: _, name, .. }) if name == "finger.x")
    );
    let mut slow = task.clone();
    slow.rates[0] = 0.01;
    assert!(matches!(first(&made, &slow), Some(Refusal::Rate { .. })));
    // a goal that is not claimed, and one that is claimed too early
    let mut other = made.clone();
    other.reached.clear();
    assert_eq!(first(&other, &task), Some(Refusal::Missed { goal: 0, share: f64::INFINITY }));
    other.reached = vec![0];
    assert!(
        matches!(first(&other, &task), Some(Refusal::Missed { goal: 0, share }) if share > 7.0)
    );
    // lists that do not fit
    let mut other = made.clone();
    other.q.pop();
    assert!(matches!(first(&other, &task), Some(Refusal::Lengths(_))));
}
