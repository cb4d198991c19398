//! Runs the closed loop of a scene from its `mpc` section and writes its files. The crates for
//! scenes and for control do not depend on one another; this module connects them. The figures of
//! MpcNote and `quasistep mpc` run this loop.

#![allow(non_snake_case)] // letters of MpcNote

mod plots;
mod results;
mod table;

pub(crate) use plots::step_axis;
use quasistep::SensedStep;
pub use quasistep_control::{FileFormat, Integers};
pub use results::LoopRun;

use quasistep_control::{
    Bounds, ClosedLoop, Cost, Dynamics, Hardness, Limits, LoopError, LoopStep, MpcSettings,
    Outlook, Search, Task,
};
use quasistep_record::{Finish, GoalPose};
use quasistep_scene::{ControlModel, ControlSection, Scene};
use results::Slots;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The control task that a section describes.
pub fn task(section: &ControlSection) -> Task {
    let both = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().chain(b).copied().collect() };
    let w = &section.weights;
    let limits = |pairs: &[&[[f64; 2]]], soft: Option<f64>| Limits {
        lower: pairs.iter().flat_map(|p| p.iter()).map(|[low, _]| *low).collect(),
        upper: pairs.iter().flat_map(|p| p.iter()).map(|[_, high]| *high).collect(),
        hardness: soft.map_or(Hardness::Hard, |weight| Hardness::Soft { weight }),
    };
    Task {
        dynamics: match &section.model {
            ControlModel::Dynamic(driven) => Dynamics::Dynamic { driven: driven.clone() },
            ControlModel::QuasiDynamic => Dynamics::QuasiDynamic,
        },
        horizon: section.horizon,
        time_step: section.time_step,
        margin: section.contact_margin,
        moving_levers: section.moving_levers,
        along_plan: section.along_plan,
        directions: section.friction_directions,
        v_start: section.start_velocity.clone(),
        cost: Cost {
            Q: diagonal(&both(&w.position, &w.velocity)),
            Q_f: diagonal(&both(&w.final_position, &w.final_velocity)),
            R: diagonal(&w.input),
            goal: if section.trajectory.is_empty() {
                vec![both(&section.goal, &section.goal_velocity)]
            } else {
                section.trajectory.clone()
            },
        },
        bounds: Bounds {
            state: limits(&[&section.position, &section.velocity], section.soft),
            input: limits(&[&section.input], section.soft_input),
            input_rate: limits(&[&section.input_rate], section.soft_input_rate),
            impulse: None,
        },
        settings: MpcSettings {
            absolute_gap: section.gap,
            max_nodes: section.max_nodes,
            search: if section.local { Search::Local } else { Search::Global },
        },
    }
}

/// Preview of a scene's first plan.
///
/// # Errors
///
/// The loop cannot start.
pub fn outlook(scene: &Scene, section: &ControlSection) -> Result<Outlook, LoopError> {
    let (start, params) = (scene.start.clone(), scene.params.clone());
    ClosedLoop::new(&scene.system, start, params, task(section))?.outlook()
}

/// Writes the problem of a scene's first plan as a file for other solvers.
///
/// # Errors
///
/// The loop cannot start, or big-M is requested and an impulse has no bound.
pub fn export(
    scene: &Scene,
    section: &ControlSection,
    format: FileFormat,
    integers: Integers,
) -> Result<String, LoopError> {
    let (start, params) = (scene.start.clone(), scene.params.clone());
    ClosedLoop::new(&scene.system, start, params, task(section))?.export(format, integers)
}

/// Runs the closed loop of a scene. `clock` returns the CPU time of this thread in ns. `observer`
/// is called after every step and may end the loop.
///
/// # Errors
///
/// The loop cannot start. A later error is in [`LoopRun::stopped`].
pub fn run(
    scene: &Scene,
    section: &ControlSection,
    clock: fn() -> u64,
    observer: &mut dyn FnMut(&LoopStep) -> ControlFlow<()>,
) -> Result<LoopRun, LoopError> {
    let task = task(section);
    let dof_names = scene.system.dof_names();
    let inputs = task.dynamics.driven(&scene.system)?;
    let trajectory = task.cost.goal.clone();
    let goal = [&section.goal[..], &section.goal_velocity].concat();
    let (n, cost) = (goal.len(), &task.cost);
    let weighed = (0..n).map(|i| cost.Q[i * n + i] + cost.Q_f[i * n + i] > 0.0).collect();
    let mut control =
        ClosedLoop::new(&scene.system, scene.start.clone(), scene.params.clone(), task)?;
    let mut recording = scene.empty_recording(control.params());
    recording.frames.push(scene.frame(control.state(), None));
    let mut run = LoopRun {
        steps: Vec::with_capacity(section.steps),
        cpu_ns: Vec::with_capacity(section.steps),
        x_end: Vec::new(),
        recording,
        stopped: None,
        inputs: inputs.iter().map(|&dof| dof_names[dof].clone()).collect(),
        dofs: dof_names,
        contacts: Vec::new(),
        goal,
        trajectory,
        weighed,
        time_step: section.time_step,
        slots: Slots::default(),
    };
    let mut before = control.state().clone();
    for _ in 0..section.steps {
        let began = clock();
        let mut late = || {
            let spent = clock().saturating_sub(began) as f64 * 1e-9;
            section.time_limit.is_some_and(|most| spent > most)
        };
        let step = match control.step(&mut late) {
            Ok(step) => step,
            Err(error) => {
                run.recording.finish = Finish::Stopped { reason: error.to_string() };
                run.stopped = Some(error);
                break;
            }
        };
        run.cpu_ns.push(clock().saturating_sub(began));
        for moved in &step.moved {
            let mut frame = scene.frame(&moved.state, Some((&moved.report, &moved.input)));
            let sensed = SensedStep {
                start: &before,
                end: &moved.state,
                wrenches: &moved.input.wrenches,
                report: &moved.report,
                params: control.params(),
            };
            frame.sensors = scene.read_sensors(&sensed);
            run.recording.frames.push(frame);
            before.clone_from(&moved.state);
        }
        let flow = observer(&step);
        run.steps.push(step);
        if flow.is_break() {
            break;
        }
    }
    run.x_end = control.x();
    run.slots = Slots::of(&run.steps);
    let geoms = scene.system.geoms();
    let body = |geom: usize| scene.system.model().body(geoms[geom].body).name.clone();
    run.contacts = run.slots.pairs().map(|(a, b)| [body(a), body(b)]).collect();
    run.recording.curves = run.curves();
    run.recording.goals = goal_poses(scene, &run);
    Ok(run)
}

/// Poses at the goal of the drawn bodies that it is about.
fn goal_poses(scene: &Scene, run: &LoopRun) -> Vec<GoalPose> {
    let model = scene.system.model();
    // the state begins with the positions
    let positions = run.goal.iter().zip(&run.weighed).zip(&scene.start.q);
    let q: Vec<f64> = positions.map(|((goal, told), q)| if *told { *goal } else { *q }).collect();
    let mut kin = model.create_kinematics();
    model.kinematics(&q, &mut kin);
    let is_told = |index: &u32| run.weighed[kin.columns[*index as usize].dof as usize];
    let drawn: BTreeSet<usize> = scene.drawing.iter().map(|shape| shape.body).collect();
    let bodies = drawn.into_iter().filter(|body| model.path(*body).iter().any(is_told));
    bodies.map(|body| GoalPose { body, X_WB: kin.X_WB[body] }).collect()
}

fn diagonal(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    let mut matrix = vec![0.0; n * n];
    for (i, value) in values.iter().enumerate() {
        matrix[i * n + i] = *value;
    }
    matrix
}
