//! Plans of both planners.

use crate::{moved, pusher, start, task};
use quasistep_plan::{
    Average, Goal, Limits, LocalSettings, Plan, PlanEnd, Planner, Refusal, SamplingSettings,
    StateBound, Task, TaskError, check_plan, plan,
};
use std::ops::ControlFlow;

fn planners() -> [Planner; 3] {
    let local =
        LocalSettings { region: 0.02, kappa: vec![1e-1, 1e-2, 1e-3], ..LocalSettings::default() };
    let sampling = SamplingSettings { deviation: 0.02, ..SamplingSettings::default() };
    let entropy = SamplingSettings { average: Average::CrossEntropy(0.1), ..sampling.clone() };
    [Planner::Local(local), Planner::Sampling(sampling), Planner::Sampling(entropy)]
}

/// Each planner pushes the box 5 cm ahead and turns it a little, then further; the judge agrees. A
/// person would see the finger go to the box and push it. The bits are the same for any number of
/// threads.
#[test]
fn planners_push_a_box_to_two_goals_in_turn() {
    let scene = pusher();
    let (state, before) = start(&scene);
    let system = &scene.system;
    let goals = [(0.05, 0.0, -0.1), (0.09, 0.0, -0.2)];
    let goals: Vec<Goal> =
        goals.map(|way| moved(system, &state.q, "box/box", way)).into_iter().collect();
    let task = task(system, goals);
    for planner in planners() {
        let made = |threads: usize| {
            let limits = Limits { threads, ..Limits::default() };
            let mut seen = 0;
            let look = &mut |progress: &quasistep_plan::Progress| {
                assert!(progress.attempt > 0 || progress.steps == seen);
                seen += 1;
                ControlFlow::Continue(())
            };
            plan(system, &scene.params, (&state, &before), &task, &planner, &limits, look).unwrap()
        };
        let ours = made(1);
        assert_eq!(ours.status, PlanEnd::Reached, "{planner:?} {:?}", ours.errors.last());
        assert_eq!(ours, made(3));
        let verdict = check_plan(system, &scene.params, &state, &ours.claim(&task, &before));
        assert!(verdict.holds(), "{planner:?} {verdict:?}");
    }
}

/// A goal that nothing can reach: the search ends by itself, says so, and returns the nearest plan.
/// A caller that stops gets the best so far.
#[test]
fn a_goal_out_of_reach_ends_with_the_nearest_plan() {
    let scene = pusher();
    let (state, before) = start(&scene);
    let system = &scene.system;
    let mut task = task(system, vec![moved(system, &state.q, "box/box", (0.3, 0.0, 0.0))]);
    task.commands[0] = [-0.2, 0.0];
    let [planner, ..] = planners();
    let limits = Limits { patience: 5, attempts: 2, ..Limits::default() };
    let search = |most: usize| {
        let look = &mut |progress: &quasistep_plan::Progress| {
            if progress.steps < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        plan(system, &scene.params, (&state, &before), &task, &planner, &limits, look).unwrap()
    };
    let ours = search(usize::MAX);
    assert_eq!(ours.status, PlanEnd::Stalled);
    let last = ours.errors.last().unwrap();
    assert!(ours.errors.iter().all(|error| error.share >= last.share - 1e-12));
    assert!(last.distance < 0.29 && last.distance > 0.15, "{last:?}");
    let n_q = state.q.len();
    assert_eq!(ours.q.len() / n_q, ours.commands.len() / system.n_cmd() + 1);
    let short = search(2);
    assert_eq!(short.status, PlanEnd::Stopped);
    assert!(short.commands.len() <= 2 * system.n_cmd());
}

/// Tasks that make no sense are told before the search.
#[test]
fn tasks_are_checked_first() {
    let scene = pusher();
    let (state, before) = start(&scene);
    let system = &scene.system;
    let good = task(system, vec![moved(system, &state.q, "box/box", (0.05, 0.0, 0.0))]);
    let [planner, ..] = planners();
    let of = |task: &Task| {
        let look = &mut |_: &_| ControlFlow::Continue(());
        let limits = Limits { steps: 1, ..Limits::default() };
        plan(system, &scene.params, (&state, &before), task, &planner, &limits, look)
            .map(drop)
            .map_err(|e| e.to_string())
    };
    assert_eq!(of(&good), Ok(()));
    let mut bad = good.clone();
    let quasistep_plan::Target::Pose(pose) = &mut bad.goals[0].targets[0] else { panic!() };
    pose.angle = 0.0;
    assert_eq!(of(&bad).unwrap_err(), "angle of goal 0 is 0; it must be > 0");
    let mut bad = good.clone();
    bad.commands[0] = [0.0, 1.0];
    let why = of(&bad).unwrap_err();
    assert_eq!(why, "command `finger.x` starts at -0.12, outside of its bounds 0 to 1");
    let mut bad = good.clone();
    let quasistep_plan::Target::Pose(pose) = &mut bad.goals[0].targets[0] else { panic!() };
    pose.X_WG.translation.x = f64::NAN;
    assert_eq!(of(&bad).unwrap_err(), "a value of goal 0 is NaN; it must be finite");
    let bad = Task { goals: Vec::new(), ..good.clone() };
    assert_eq!(of(&bad).unwrap_err(), TaskError::Empty(0).to_string());
    let bad = Task { rates: vec![1.0], ..good };
    assert_eq!(of(&bad).unwrap_err(), "rates has 1 entries; this system has 2 commands");
}

/// Pads and switches are no joints: planners do not command them.
#[test]
fn pads_and_switches_are_not_planned() {
    for name in ["suction", "tool_change"] {
        let scene = testkit::scene(name, &[]);
        let (system, (_, before)) = (&scene.system, start(&scene));
        let task = task(system, vec![Goal::default()]);
        let why = task.check(system, &before, &scene.params).unwrap_err().to_string();
        assert!(why.contains("this system commands rotations, poses of frames, pads or switches"));
    }
}

/// Goals that nothing can reach are told by name before the search; those that a tolerance reaches
/// are not.
#[test]
fn goals_that_nothing_reaches_are_told_first() {
    let more: [(&str, &str); 4] = [
        (
            "models.wall",
            "{joint: fixed, pose: {xyz: [0.2, 0, 0]}, shape: {box: {size: [0.04, 0.4, 0.1]}}}",
        ),
        (
            "models.apart",
            "{joint: planar, mass: 1, pose: {xyz: [0, 1, 0]}, shape: {sphere: {radius: 0.05}}}",
        ),
        (
            "models.door",
            "{joint: [{hinge: z, axis: [0, 0, 1], limits: [0, 1.5]}], mass: 1, pose: {xyz: [0, -1, 0]}, shape: {box: {size: [0.2, 0.02, 0.2]}}}",
        ),
        ("collisions", "{exclude: [[apart/*, \"*\"]]}"),
    ];
    let scene = testkit::scene("planar_pusher", &more);
    let (state, before) = start(&scene);
    let (system, n) = (&scene.system, scene.system.n_cmd());
    let why = |goal: Goal| {
        let task = quasistep_plan::Task { rates: vec![0.5; n], ..task(system, vec![goal]) };
        let error = task.check(system, &before, &scene.params).err();
        (error.as_ref().and_then(TaskError::target), error.map(|e| e.to_string()))
    };
    let of = |name: &str, way: (f64, f64, f64)| moved(system, &state.q, name, way);
    let (at, said) = why(of("apart/apart", (0.1, 0.0, 0.0)));
    let nothing = "goal 0: nothing moves `apart/apart`: none of its joints is commanded, and nothing that moves may touch it";
    assert_eq!((at, said.as_deref()), (Some([0, 0]), Some(nothing)));
    let (_, said) = why(of("wall/wall", (0.0, 0.0, 0.0)));
    assert!(said.unwrap().contains("nothing moves `wall/wall`"));
    // the box is 0.12 m wide and the wall 0.04 m: at 0.2 they share a middle
    let (_, said) = why(of("box/box", (0.2, 0.0, 0.0)));
    let said = said.unwrap();
    assert!(said.starts_with("goal 0: at this pose `box/box` is 0.07"), "{said}");
    assert!(said.ends_with("m deep in `wall/wall`, which never moves"), "{said}");
    // 4 mm deep, which the tolerance of 5 mm allows
    assert_eq!(why(of("box/box", (0.124, 0.0, 0.0))), (None, None));
    // turned by an eighth, its corner is 2.5 cm deep
    let (_, said) = why(of("box/box", (0.124, 0.0, 0.785)));
    assert!(said.unwrap().contains("deep in `wall/wall`"));
    let mut lifted = of("box/box", (0.1, 0.0, 0.0));
    let quasistep_plan::Target::Pose(pose) = &mut lifted.targets[0] else { panic!() };
    pose.X_WG.translation.z += 0.03;
    let (_, said) = why(lifted.clone());
    let said = said.unwrap();
    assert!(
        said.starts_with("goal 0: `box/box` moves in a plane, and this pose is 0 rad and 0.03"),
        "{said}"
    );
    let quasistep_plan::Target::Pose(pose) = &mut lifted.targets[0] else { panic!() };
    pose.counts[5] = false;
    assert_eq!(why(lifted), (None, None));
    let names = system.model().coordinate_names();
    let coordinate = names.iter().position(|name| name == "door.z").unwrap();
    let dof = system.dof_names().iter().position(|name| name == "door.z").unwrap();
    for (value, is_told) in [(1.0, false), (1.505, false), (2.0, true)] {
        let joint = quasistep_plan::JointTarget { coordinate, dof, value, tolerance: 0.01 };
        let (_, said) = why(Goal { targets: vec![quasistep_plan::Target::Joint(joint)] });
        let limits = "goal 0: `door.z` cannot be 2: its limits are 0 to 1.5";
        assert_eq!(said.as_deref(), is_told.then_some(limits));
    }
}

/// A horizon of a single step is the shortest that planners take.
#[test]
fn a_horizon_may_be_one_step() {
    let scene = pusher();
    let (state, before) = start(&scene);
    let system = &scene.system;
    let target =
        quasistep_plan::JointTarget { coordinate: 1, dof: 1, value: 0.08, tolerance: 0.005 };
    let goal = Goal { targets: vec![quasistep_plan::Target::Joint(target)] };
    let task = task(system, vec![goal]);
    for mut planner in planners() {
        match &mut planner {
            Planner::Local(settings) => settings.horizon = 1,
            Planner::Sampling(settings) => settings.horizon = 1,
        }
        let look = &mut |_: &_| ControlFlow::Continue(());
        let limits = Limits::default();
        let start = (&state, &before[..]);
        let ours = plan(system, &scene.params, start, &task, &planner, &limits, look).unwrap();
        assert_eq!(ours.status, PlanEnd::Reached, "{planner:?}");
    }
}

/// A turn that takes pushes on two sides: one attempt stalls, later ones go on from where it is.
/// Bounds of a coordinate of the box are kept on the way. A search that is out of time says so.
#[test]
fn attempts_follow_one_that_stalls_and_keep_bounds_of_coordinates() {
    let scene = pusher();
    let (state, before) = start(&scene);
    let system = &scene.system;
    let mut task = task(system, vec![moved(system, &state.q, "box/box", (0.05, 0.02, 0.6))]);
    let [planner, ..] = planners();
    let search = |task: &Task, limits: Limits| {
        let look = &mut |_: &_| ControlFlow::Continue(());
        plan(system, &scene.params, (&state, &before), task, &planner, &limits, look).unwrap()
    };
    let limits = Limits { patience: 5, attempts: 1, ..Limits::default() };
    let once = search(&task, limits);
    assert_eq!(once.status, PlanEnd::Stalled);
    let limits = Limits { attempts: 60, ..limits };
    let free = search(&task, limits);
    assert_eq!(free.status, PlanEnd::Reached);
    assert_eq!(search(&task, Limits { time: 1e-6, ..limits }).status, PlanEnd::Time);

    let [y, dof] = [3, 3];
    let least = |plan: &Plan| plan.q.chunks_exact(state.q.len()).map(|q| q[y]).fold(0.0, f64::min);
    assert!(least(&free) < -0.002, "{}", least(&free));
    task.states = vec![StateBound { coordinate: y, dof, within: [-0.001, 0.025] }];
    let bounded = search(&task, limits);
    assert_eq!(bounded.status, PlanEnd::Reached);
    assert!(least(&bounded) >= -0.001, "{}", least(&bounded));
    let check = |plan: &Plan| {
        check_plan(system, &scene.params, &state, &plan.claim(&task, &before)).refusals
    };
    assert_eq!(check(&bounded), []);
    assert!(matches!(check(&free)[0], Refusal::State { ref name, .. } if name == "box.y"));

    task.states[0].within = [0.01, 0.025];
    let look = &mut |_: &_| ControlFlow::Continue(());
    let why = plan(system, &scene.params, (&state, &before), &task, &planner, &limits, look);
    assert_eq!(
        why.unwrap_err().to_string(),
        "`box.y` at the start is 0; it must be within its bounds"
    );
}

/// The contact trust region binds: programs with it lead elsewhere. The plan holds as well.
#[test]
fn a_region_of_contacts_changes_the_plan() {
    let scene = pusher();
    let (state, before) = start(&scene);
    let system = &scene.system;
    let task = task(system, vec![moved(system, &state.q, "box/box", (0.05, 0.0, -0.1))]);
    let search = |contact_region: bool| {
        let [Planner::Local(settings), ..] = planners() else { panic!() };
        let planner = Planner::Local(LocalSettings { contact_region, ..settings });
        let look = &mut |_: &_| ControlFlow::Continue(());
        let limits = Limits::default();
        let start = (&state, &before[..]);
        let plan = plan(system, &scene.params, start, &task, &planner, &limits, look).unwrap();
        assert_eq!(plan.status, PlanEnd::Reached, "{contact_region}");
        plan
    };
    let (free, bound) = (search(false), search(true));
    assert!(check_plan(system, &scene.params, &state, &bound.claim(&task, &before)).holds());
    assert_ne!(free.commands, bound.commands);
}
