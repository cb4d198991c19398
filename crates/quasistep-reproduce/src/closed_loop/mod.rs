//! Runs the closed loop of a scene from its `mpc` section and writes its files. The crates for
//! scenes and for control do not depend on one another; this module connects them. The figures of
//! MpcNote and `quasistep mpc` run this loop.

#![allow(non_snake_case)] // letters of MpcNote

mod plots;
mod table;

pub(crate) use plots::step_axis;
pub use quasistep_control::{FileFormat, Integers};

use quasistep_control::{
    Bounds, ClosedLoop, Cost, Dynamics, Hardness, Limits, LoopContact, LoopError, LoopStep,
    MpcSettings, Outlook, PlanStatus, Search, Task,
};
use quasistep_record::{Finish, Recording};
use quasistep_scene::{ControlModel, ControlSection, Scene};
use std::ops::ControlFlow;

/// Results of a closed loop that has ended.
#[derive(Clone, Debug)]
pub struct LoopRun {
    /// All steps, from step 0.
    pub steps: Vec<LoopStep>,
    /// CPU time of each step, in ns, for measuring, planning and moving.
    pub cpu_ns: Vec<u64>,
    /// Positions and velocities after the last step.
    pub x_end: Vec<f64>,
    /// Recording of the scene's motion.
    pub recording: Recording,
    /// Error that ended the loop early.
    pub stopped: Option<LoopError>,
    /// Names of the dofs, in the order of the state.
    pub dofs: Vec<String>,
    /// Names of the driven dofs, in the order of the inputs.
    pub inputs: Vec<String>,
    /// Names of the bodies of each contact in `mpc.csv`.
    pub contacts: Vec<[String; 2]>,
    /// Goal state; for a trajectory, its last state.
    pub goal: Vec<f64>,
    /// Goal states from the start on; the last one is repeated.
    pub trajectory: Vec<Vec<f64>>,
    /// True for entries of the state whose distance from the goal has a cost.
    pub weighed: Vec<bool>,
    /// Duration of a step, in s.
    pub time_step: f64,
    slots: table::Slots,
}

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
        slots: table::Slots::default(),
    };
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
            let frame = scene.frame(&moved.state, Some((&moved.report, &moved.input)));
            run.recording.frames.push(frame);
        }
        let flow = observer(&step);
        run.steps.push(step);
        if flow.is_break() {
            break;
        }
    }
    run.x_end = control.x();
    run.slots = table::Slots::of(&run.steps);
    let geoms = scene.system.geoms();
    let body = |geom: usize| scene.system.model().body(geoms[geom].body).name.clone();
    run.contacts = run.slots.pairs().map(|(a, b)| [body(a), body(b)]).collect();
    Ok(run)
}

impl LoopRun {
    /// Number of steps with a plan that is proven optimal.
    pub fn proven(&self) -> usize {
        self.steps.iter().filter(|s| s.plan.status == PlanStatus::Optimal).count()
    }

    /// Costs of the plans, the first at step 0.
    pub fn costs(&self) -> Vec<f64> {
        self.steps.iter().map(|s| s.plan.cost).collect()
    }

    /// Largest optimality gap of all plans.
    pub fn worst_gap(&self) -> f64 {
        self.steps.iter().fold(0.0, |m, s| m.max(s.plan.gap()))
    }

    /// Largest prediction error of a planned first step, in m or rad.
    pub fn worst_prediction_error(&self) -> f64 {
        self.steps.iter().fold(0.0, |m, s| m.max(s.prediction_error()))
    }

    /// Median and largest number of nodes of a search.
    pub fn nodes(&self) -> (u64, u64) {
        let mut nodes: Vec<u64> = self.steps.iter().map(|s| s.plan.nodes).collect();
        nodes.sort_unstable();
        (at_share(&nodes, 0.5), nodes.last().copied().unwrap_or(0))
    }

    /// Median and 99th percentile of the CPU time of a step, in ms.
    pub fn cpu_ms(&self) -> (f64, f64) {
        let mut ns = self.cpu_ns.clone();
        ns.sort_unstable();
        (at_share(&ns, 0.5) as f64 * 1e-6, at_share(&ns, 0.99) as f64 * 1e-6)
    }

    /// Normal impulses of contact `contact` of `mpc.csv`, from 0, one per step, in N·s.
    pub fn normal_impulses(&self, contact: usize) -> Vec<f64> {
        self.slots.column(&self.steps, contact, |c| c.normal)
    }

    /// Friction impulses of a contact, one per step, in N·s: signed along the tangent of a planar
    /// contact, otherwise magnitudes.
    pub fn friction_impulses(&self, contact: usize) -> Vec<f64> {
        self.slots.column(&self.steps, contact, friction)
    }
}

/// Quantile of a sorted list; 0 for an empty list.
fn at_share(sorted: &[u64], share: f64) -> u64 {
    let place = (share * sorted.len() as f64) as usize;
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0)
}

fn friction(contact: &LoopContact) -> f64 {
    match contact.tangents[..] {
        [] => 0.0,
        [plus, minus] => plus - minus,
        _ => (contact.impulse_W - contact.at.n_AB_W * contact.normal).norm(),
    }
}

fn diagonal(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    let mut matrix = vec![0.0; n * n];
    for (i, value) in values.iter().enumerate() {
        matrix[i * n + i] = *value;
    }
    matrix
}
