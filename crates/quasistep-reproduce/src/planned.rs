//! Plans of a scene from its `plan` section: the search, the check, and what becomes of both. The
//! crates for scenes and for plans do not depend on one another; this module connects them.

#![allow(non_snake_case)] // monogram notation: X_WG

use quasistep::{State, StepInput, StepParams, System};
use quasistep_plan::{
    Average, Goal, GraspSettings, JointTarget, Limits, LocalSettings, Planner, PoseTarget,
    SamplingSettings, StateBound, Target, Task, check_plan_in,
};
pub use quasistep_plan::{Plan, PlanEnd, Progress, Refusal, TaskError, Verdict};
use quasistep_record::{Curve, GoalPose, Recording};
use quasistep_scene::{PlanGrasp, PlanSection, PlanTarget, PlannerKind, RunOptions, Scene};
use quasistep_view::plot::{Axis, Figure, Line, Panel, Series};
use std::fmt::Write as _;
use std::ops::ControlFlow;

/// A plan of a scene and the verdict on it.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// The plan.
    pub plan: Plan,
    /// What the check found.
    pub verdict: Verdict,
    /// Recording of the replay, in steps of a tenth.
    pub recording: Recording,
    /// Names of the commands.
    pub commands: Vec<String>,
}

/// Number of steps in which a step of a plan is taken, and replayed.
const DIVISIONS: usize = 10;
/// Largest number of curves in a panel; more would not be readable.
const PER_PANEL: usize = 10;

/// The task that a section describes.
pub fn task(system: &System, section: &PlanSection) -> Task {
    let target = |target: &PlanTarget| match *target {
        PlanTarget::Pose { frame, X_WG, counts, angle, distance } => {
            Target::Pose(PoseTarget { frame, X_WG, counts, angle, distance })
        }
        PlanTarget::Joint { coordinate, dof, value, tolerance } => {
            Target::Joint(JointTarget { coordinate, dof, value, tolerance })
        }
    };
    let grasp = |own: &PlanGrasp| GraspSettings {
        touches: own.touches.clone(),
        moves: own.ranges.clone().unwrap_or_else(|| GraspSettings::of_commanded(system)),
        distance: own.distance,
        clearance: own.clearance,
        reach: own.reach,
    };
    let bound = |&(coordinate, dof, within): &_| StateBound { coordinate, dof, within };
    let goal = |targets: &Vec<PlanTarget>| Goal { targets: targets.iter().map(target).collect() };
    Task {
        grasps: section.grasps.iter().map(grasp).collect(),
        goals: section.goals.iter().map(goal).collect(),
        commands: section.bounds.clone(),
        rates: section.rates.clone(),
        states: section.states.iter().map(bound).collect(),
        effort: section.effort,
        at_end: section.at_end,
    }
}

/// Poses that bodies are to have at the goals of a section.
fn goal_poses(section: &PlanSection) -> Vec<GoalPose> {
    let pose = |target: &PlanTarget| match *target {
        PlanTarget::Pose { frame, X_WG, .. } => {
            Some(GoalPose { body: frame.body, X_WB: X_WG * frame.X_BF.inverse() })
        }
        PlanTarget::Joint { .. } => None,
    };
    section.goals.iter().flatten().filter_map(pose).collect()
}

/// Checks that the goals and the bounds of a scene make sense.
///
/// # Errors
///
/// The task makes no sense, [`TaskError`].
pub fn check_task(scene: &Scene, section: &PlanSection) -> Result<(), TaskError> {
    task(&scene.system, section).check(&scene.system, &command_at_start(scene), &scene.params)
}

/// An error of a task with its place in the scene, `file:line: key`.
pub fn placed(section: &PlanSection, error: &TaskError) -> String {
    let own = match (error, error.target()) {
        (_, Some([goal, target])) => section.places[goal][target].as_str(),
        (TaskError::Grasp { index, .. }, None) => section.grasps[*index].place.as_str(),
        (TaskError::Start { index, .. }, None) => section.places_of_bounds[*index].as_str(),
        _ => "",
    };
    let place = if own.is_empty() { format!("{}: plan", section.place) } else { own.to_owned() };
    format!("{place}: {error}")
}

/// Command at the start of a plan: the scene's own at time 0.
pub fn command_at_start(scene: &Scene) -> Vec<f64> {
    let mut input = StepInput::default();
    scene.sample(0.0, &mut input);
    input.q_cmd
}

fn planner(section: &PlanSection) -> Planner {
    let &PlanSection { horizon, region, contact_region, samples, rounds, share, seed, .. } =
        section;
    let sampling = |average| {
        let deviation = region;
        Planner::Sampling(SamplingSettings { average, horizon, samples, rounds, deviation, seed })
    };
    match section.planner {
        PlannerKind::Local => {
            let kappa = section.kappa.clone();
            let line_search = true;
            Planner::Local(LocalSettings {
                horizon,
                kappa,
                region,
                contact_region,
                line_search,
                samples,
                seed,
            })
        }
        PlannerKind::PathIntegral => sampling(Average::PathIntegral(share)),
        PlannerKind::CrossEntropy => sampling(Average::CrossEntropy(share)),
    }
}

/// Searches for a plan of a scene, checks and records it. `observer` is called after every step and may
/// end the search.
///
/// # Errors
///
/// The task makes no sense, [`TaskError`].
pub fn run(
    scene: &Scene,
    section: &PlanSection,
    threads: usize,
    observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<PlannedRun, TaskError> {
    let start = (&scene.start, &command_at_start(scene)[..]);
    let (plan, verdict) = search(scene, section, start, threads, observer)?;
    let mut recording = replay(scene, &plan);
    recording.goals = goal_poses(section);
    recording.curves = vec![distance_curve(&plan)];
    Ok(PlannedRun { plan, verdict, recording, commands: scene.system.command_names() })
}

/// Searches for a plan of a scene from a state and the command there, and checks it.
///
/// # Errors
///
/// The task makes no sense, [`TaskError`].
pub fn search(
    scene: &Scene,
    section: &PlanSection,
    (start, before): (&State, &[f64]),
    threads: usize,
    observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<(Plan, Verdict), TaskError> {
    let &PlanSection { steps, patience, attempts, shortcuts, time, .. } = section;
    let limits =
        Limits { steps, patience, attempts, shortcuts, time, divisions: DIVISIONS, threads };
    let (task, start) = (task(&scene.system, section), State { time: 0.0, ..start.clone() });
    let plan = quasistep_plan::plan(
        &scene.system,
        &scene.params,
        (&start, before),
        &task,
        &planner(section),
        &limits,
        observer,
    )?;
    let verdict = check_in(DIVISIONS, scene, section, (&start, before), &plan);
    Ok((plan, verdict))
}

/// Checks a plan of a scene.
pub fn check(scene: &Scene, section: &PlanSection, plan: &Plan) -> Verdict {
    check_in(DIVISIONS, scene, section, (&scene.start, &command_at_start(scene)), plan)
}

/// What a plan of a scene reaches in steps of half the size in which it is checked.
pub fn check_finer(scene: &Scene, section: &PlanSection, plan: &Plan) -> Verdict {
    check_in(2 * DIVISIONS, scene, section, (&scene.start, &command_at_start(scene)), plan)
}

fn check_in(
    divisions: usize,
    scene: &Scene,
    section: &PlanSection,
    (start, before): (&State, &[f64]),
    plan: &Plan,
) -> Verdict {
    let task = task(&scene.system, section);
    let params = StepParams { time_step: plan.time_step, ..scene.params.clone() };
    let claim = plan.claim(&task, before);
    check_plan_in(divisions, &scene.system, &params, start, &claim)
}

/// Times after the steps of a plan, from the start on, in s.
fn times(plan: &Plan) -> Vec<f64> {
    (0..plan.errors.len()).map(|k| k as f64 * plan.time_step).collect()
}

/// The largest error over its tolerance.
fn distance_curve(plan: &Plan) -> Curve {
    let values: Vec<f64> = plan.errors.iter().map(|e| e.share).collect();
    Curve {
        title: "Distance to the goal, in tolerances".into(),
        name: "largest error".into(),
        times: times(plan),
        beside: Some(("tolerance".into(), vec![1.0; values.len()])),
        values,
    }
}

/// Recording of the commands of a plan in steps of a tenth.
fn replay(scene: &Scene, plan: &Plan) -> Recording {
    let n_u = scene.system.n_cmd();
    let mut last = command_at_start(scene);
    let mut table = Vec::with_capacity(DIVISIONS * plan.commands.len());
    for u in plan.commands.chunks_exact(n_u.max(1)) {
        for k in 1..=DIVISIONS {
            let share = k as f64 / DIVISIONS as f64;
            table.extend(last.iter().zip(u).map(|(last, u)| last + share * (u - last)));
        }
        last.copy_from_slice(u);
    }
    let time_step = plan.time_step / DIVISIONS as f64;
    let params = StepParams { time_step, ..scene.params.clone() };
    if table.is_empty() {
        let mut recording = scene.empty_recording(&params);
        recording.frames.push(scene.frame(&scene.start, None));
        return recording;
    }
    let options = RunOptions {
        params: Some(params),
        n_steps: Some(table.len() / n_u),
        commands: Some((&table, &[])),
        ..RunOptions::default()
    };
    scene.run_with(&options, None, &mut |_| ControlFlow::Continue(())).recording
}

impl PlannedRun {
    /// True if all goals are reached and the check holds nothing against it.
    pub fn is_solved(&self) -> bool {
        self.plan.status == PlanEnd::Reached && self.verdict.holds()
    }

    /// Table `plan.csv`: time (s), commands, errors at the end of every step.
    pub fn csv(&self) -> String {
        let mut text = format!("t,{},angle,distance,joint,share\n", self.commands.join(","));
        let n_u = self.commands.len();
        let rows = self.plan.commands.chunks_exact(n_u).zip(&self.plan.errors[1..]);
        for ((u, error), t) in rows.zip(&times(&self.plan)[1..]) {
            let u: Vec<String> = u.iter().map(ToString::to_string).collect();
            let e = error;
            let errors = [e.angle, e.distance, e.joint, e.share].map(|e| e.to_string());
            // writing to a string does not fail
            let _ = writeln!(text, "{t},{},{}", u.join(","), errors.join(","));
        }
        text
    }

    /// All plots by file name: `goal.svg`, `commands.svg`.
    pub fn figures(&self, title: &str) -> Vec<(&'static str, Figure)> {
        let t = times(&self.plan);
        let axis = || Axis::linear("t (s)");
        let of = |pick: &dyn Fn(&quasistep_plan::GoalError) -> f64| -> Vec<f64> {
            self.plan.errors.iter().map(pick).collect()
        };
        // a logarithmic axis needs positive numbers
        let shares = of(&|e| e.share.max(1e-6));
        let bound = vec![1.0; t.len()];
        let mut goal = Figure::new(format!("{title}: distance to the goal")).panel(
            Panel::new(axis(), Axis::log("largest error over its tolerance"))
                .series(Series::new("error", &t, &shares))
                .series(Series::new("tolerance", &t, &bound).line(Line::Dashed)),
        );
        let parts: [(&str, Vec<f64>); 3] = [
            ("angle (rad)", of(&|e| e.angle)),
            ("distance (m)", of(&|e| e.distance)),
            ("joint (m, rad)", of(&|e| e.joint)),
        ];
        for (name, values) in parts.iter().filter(|(_, values)| values.iter().any(|v| *v > 0.0)) {
            let panel = Panel::new(axis(), Axis::linear(*name)).height(220.0);
            goal = goal.panel(panel.series(Series::new("", &t, values)));
        }
        let mut panel = Panel::new(axis(), Axis::linear("command (m, rad)"));
        let n_u = self.commands.len();
        for (k, name) in self.commands.iter().enumerate().take(PER_PANEL) {
            let values: Vec<f64> =
                self.plan.commands.iter().skip(k).step_by(n_u).copied().collect();
            panel = panel.series(Series::new(name.as_str(), &t[1..], &values));
        }
        vec![
            ("goal.svg", goal),
            ("commands.svg", Figure::new(format!("{title}: commands")).panel(panel)),
        ]
    }
}
