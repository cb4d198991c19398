//! Plans to goals, and their check.

use crate::arrays::{Array, flat, pose, vector};
use crate::derivatives::all_cores;
use crate::kinematics::FrameArgument;
use crate::params::StepParams;
use crate::paths::Grasps;
use crate::run::Watch;
use crate::system::System;
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use quasistep::State;
use quasistep_math::{Pose, Quat};
use quasistep_plan::{
    Average, Goal, JointTarget, Limits, LocalSettings, Plan, PlanEnd, Planner, PoseTarget, Roadmap,
    SamplingSettings, StateBound, Target, Task, Verdict, check_plan,
};
use quasistep_reproduce::planned;
use quasistep_scene::PlanTarget;
use std::sync::{Mutex, PoisonError};

/// A target: a frame, its pose, and the components that count; or a coordinate and its value. Then
/// the tolerances.
#[derive(FromPyObject)]
pub enum TargetArgument {
    /// Frame, pose (w, x, y, z, then m), components, angle (rad), distance (m).
    Pose(FrameArgument, [f64; 7], [bool; 6], f64, f64),
    /// Name of a coordinate, value, tolerance (m or rad).
    Joint(String, f64, f64),
}

impl System {
    /// Coordinate and dof of a joint without a quaternion, by the coordinate's name.
    pub fn coordinate(&self, name: &str) -> PyResult<(usize, usize)> {
        let model = self.scene.system.model();
        let coordinate = model.coordinate_names().iter().position(|own| own == name);
        let found = coordinate.and_then(|coordinate| {
            let body = model.bodies().iter().find(|body| body.q.contains(&coordinate))?;
            let dof = body.v.start + coordinate - body.q.start;
            (body.q.len() == body.v.len()).then_some((coordinate, dof))
        });
        found.ok_or_else(|| {
            PyValueError::new_err(format!(
                "no joint coordinate `{name}`; see system.coordinates (those of quaternions are none of joints)"
            ))
        })
    }

    fn target(&self, given: TargetArgument) -> PyResult<Target> {
        match given {
            TargetArgument::Pose(frame, pose, counts, angle, distance) => {
                let [w, x, y, z, px, py, pz] = pose;
                let rotation = Quat::try_normalize([w, x, y, z]).ok_or_else(|| {
                    PyValueError::new_err(format!(
                        "the goal's quaternion is {:?}; it has no direction",
                        &pose[..4]
                    ))
                })?;
                let X_WG = Pose { rotation, translation: [px, py, pz].into() };
                let frame = self.frame(frame)?;
                Ok(Target::Pose(PoseTarget { frame, X_WG, counts, angle, distance }))
            }
            TargetArgument::Joint(name, value, tolerance) => {
                let (coordinate, dof) = self.coordinate(&name)?;
                Ok(Target::Joint(JointTarget { coordinate, dof, value, tolerance }))
            }
        }
    }

    fn goals(&self, given: Vec<Vec<TargetArgument>>) -> PyResult<Vec<Goal>> {
        let goal = |targets: Vec<TargetArgument>| {
            let targets = targets.into_iter().map(|target| self.target(target));
            Ok(Goal { targets: targets.collect::<PyResult<_>>()? })
        };
        given.into_iter().map(goal).collect()
    }
}

/// Goals, bounds and rates of the scene's `plan` section, as Python passes them; `None` without one.
#[pyfunction]
pub fn plan_section<'py>(py: Python<'py>, system: &System) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(section) = &system.scene.plan else { return Ok(None) };
    let names = system.scene.system.model().coordinate_names();
    let told = |target: &PlanTarget| match target {
        PlanTarget::Pose { frame, X_WG, counts, angle, distance } => {
            let (X_BF, X_WG) = (pose(&frame.X_BF), pose(X_WG));
            Ok((frame.body, X_BF, X_WG, *counts, *angle, *distance).into_pyobject(py)?.into_any())
        }
        PlanTarget::Joint { coordinate, value, tolerance, .. } => {
            Ok((&names[*coordinate], *value, *tolerance).into_pyobject(py)?.into_any())
        }
    };
    let goals = section.goals.iter();
    let goals = goals.map(|goal| goal.iter().map(told).collect::<PyResult<Vec<_>>>());
    let data = PyDict::new(py);
    data.set_item("goals", goals.collect::<PyResult<Vec<_>>>()?)?;
    data.set_item("bounds", PyArray1::from_iter(py, section.bounds.iter().copied().flatten()))?;
    data.set_item("rates", PyArray1::from_slice(py, &section.rates))?;
    Ok(Some(data))
}

/// Errors of a configuration at a goal: angle (rad), distance (m), joint (m or rad), and the largest as
/// a share of its tolerance.
#[pyfunction]
pub fn goal_errors(system: &System, goal: Vec<TargetArgument>, q: Array<'_>) -> PyResult<[f64; 4]> {
    let targets = goal.into_iter().map(|target| system.target(target));
    let goal = Goal { targets: targets.collect::<PyResult<_>>()? };
    let (system, q) = (&system.scene.system, vector("q", &q)?);
    system.model().check_q(&q).map_err(|why| PyValueError::new_err(format!("q: {why}")))?;
    let error = goal.error(system, &q);
    Ok([error.angle, error.distance, error.joint, error.share])
}

/// Bounds (lower, upper), rates, effort and weight at the end of the horizon.
type Costs<'py> = (Array<'py>, Array<'py>, Array<'py>, f64, f64);
/// Bounds of coordinates by name.
type States = Vec<(String, [f64; 2])>;

fn task(
    system: &System,
    goals: Vec<Goal>,
    (lower, upper, rates, effort, at_end): Costs<'_>,
    (states, grasps): (States, Vec<Grasps>),
) -> PyResult<Task> {
    let commands = flat(&lower).into_iter().zip(flat(&upper)).map(<[f64; 2]>::from).collect();
    let bound = |(name, within): (String, [f64; 2])| {
        let (coordinate, dof) = system.coordinate(&name)?;
        Ok(StateBound { coordinate, dof, within })
    };
    let states = states.into_iter().map(bound).collect::<PyResult<_>>()?;
    let grasps = grasps.into_iter().map(|one| system.grasp_settings(one));
    let grasps = grasps.collect::<PyResult<_>>()?;
    Ok(Task { goals, commands, rates: flat(&rates), states, grasps, effort, at_end })
}

/// Settings of a planner: name, horizon, kappa, region and whether it is of contacts too, samples,
/// rounds, share, seed.
type Settings = (String, usize, Vec<f64>, (f64, bool), usize, usize, f64, u64);

fn planner(
    (name, horizon, kappa, (region, contact_region), samples, rounds, share, seed): Settings,
) -> Planner {
    let sampling = |average| {
        Planner::Sampling(SamplingSettings {
            average,
            horizon,
            samples,
            rounds,
            deviation: region,
            seed,
        })
    };
    match name.as_str() {
        "mppi" => sampling(Average::PathIntegral(share)),
        "cem" => sampling(Average::CrossEntropy(share)),
        _ => Planner::Local(LocalSettings {
            horizon,
            kappa,
            region,
            contact_region,
            line_search: true,
            samples,
            seed,
        }),
    }
}

/// What searches from one start found.
#[pyclass(frozen, name = "Roadmap", module = "quasistep._core")]
pub struct PyRoadmap {
    inner: Mutex<Roadmap>,
}

#[pymethods]
impl PyRoadmap {
    #[new]
    fn new(q: Array<'_>, u: Array<'_>, h: f64) -> PyResult<Self> {
        let inner = Roadmap::new(&vector("q0", &q)?, &vector("u0", &u)?, h);
        Ok(Self { inner: Mutex::new(inner) })
    }

    #[classmethod]
    fn from_arrays(
        _cls: &Bound<'_, PyType>,
        parents: Vec<usize>,
        q: Array<'_>,
        u: Array<'_>,
        widths: (usize, usize),
        h: f64,
    ) -> PyResult<Self> {
        let inner = Roadmap::from_arrays(parents, flat(&q), flat(&u), widths, h);
        inner.map(|inner| Self { inner: Mutex::new(inner) }).map_err(PyValueError::new_err)
    }

    /// Parents, configurations and commands of all nodes, and the time step.
    #[allow(clippy::type_complexity)] // a tuple for Python
    fn arrays(&self) -> (Vec<usize>, Vec<f64>, Vec<f64>, f64) {
        let own = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (parents, q, u) = own.arrays();
        (parents.to_vec(), q.to_vec(), u.to_vec(), own.time_step())
    }

    fn __len__(&self) -> usize {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// Searches for a plan, and checks it. Returns all results by name; arrays are flat.
#[pyfunction]
#[pyo3(signature = (system, start, goals, costs, within, settings, limits, h, params, progress))]
#[allow(clippy::too_many_arguments)] // all arguments of the Python function
pub fn plan<'py>(
    py: Python<'py>,
    system: &System,
    start: (Array<'py>, Array<'py>, Option<Py<PyRoadmap>>),
    goals: Vec<Vec<TargetArgument>>,
    costs: Costs<'py>,
    within: (States, Vec<Grasps>),
    settings: Settings,
    limits: (usize, usize, usize, usize, f64, Option<usize>),
    h: Option<f64>,
    params: Option<&StepParams>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (q, u, roadmap) = start;
    let params = system.params_with(params, h);
    let world = &system.scene.system;
    let task = task(system, system.goals(goals)?, costs, within)?;
    let (state, before) = (State::at_rest(0.0, vector("q0", &q)?), vector("u0", &u)?);
    let (steps, patience, attempts, shortcuts, time, threads) = limits;
    let threads = threads.unwrap_or_else(all_cores);
    let limits =
        Limits { steps, patience, attempts, shortcuts, time, threads, ..Limits::default() };
    let mut watch = Watch::new(progress, attempts * steps);
    let made = py.detach(|| {
        let mut look = |progress: &quasistep_plan::Progress| {
            watch.look(progress.attempt * steps + progress.steps)
        };
        let planner = planner(settings);
        if let Some(roadmap) = &roadmap {
            let mut own = roadmap.get().inner.lock().unwrap_or_else(PoisonError::into_inner);
            return own.plan(world, &params, &task, &planner, &limits, &mut look);
        }
        let start = (&state, &before[..]);
        quasistep_plan::plan(world, &params, start, &task, &planner, &limits, &mut look)
    });
    if let Some(error) = watch.error {
        return Err(error);
    }
    let made = made.map_err(|e| PyValueError::new_err(e.to_string()))?;
    let verdict = py.detach(|| check_plan(world, &params, &state, &made.claim(&task, &before)));
    results(py, made, &verdict)
}

/// Searches for a plan of the scene's section `plan`, and checks it: from a state and the command there, to the
/// goals after the first `reached`. Returns the same, and the command at the start.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // all arguments of the Python function
pub fn plan_scene<'py>(
    py: Python<'py>,
    system: &System,
    q: Option<Array<'py>>,
    u: Option<Array<'py>>,
    reached: usize,
    seed: Option<u64>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyArray1<f64>>)> {
    let scene = &system.scene;
    let Some(section) = &scene.plan else {
        return Err(PyValueError::new_err(
            "the scene has no section `plan`; give `plan: {goals: …}`, or call `plan` with goals",
        ));
    };
    let mut section = section.clone();
    if reached >= section.goals.len() {
        let n = section.goals.len();
        let why = format!("reached is {reached}; the scene has {n} goals, give 0 to {}", n - 1);
        return Err(PyValueError::new_err(why));
    }
    section.goals.drain(..reached);
    section.places.drain(..reached);
    section.seed = seed.unwrap_or(section.seed);
    let section = &section;
    let state = match q {
        Some(q) => State::at_rest(0.0, vector("q0", &q)?),
        None => scene.start.clone(),
    };
    let before = match u {
        Some(u) => vector("u0", &u)?,
        None => planned::command_at_start(scene),
    };
    let threads = threads.unwrap_or_else(all_cores);
    let mut watch = Watch::new(progress, section.attempts * section.steps);
    let made = py.detach(|| {
        planned::search(scene, section, (&state, &before), threads, &mut |progress| {
            watch.look(progress.attempt * section.steps + progress.steps)
        })
    });
    if let Some(error) = watch.error {
        return Err(error);
    }
    let (made, verdict) = made.map_err(|e| PyValueError::new_err(planned::placed(section, &e)))?;
    let before = PyArray1::from_vec(py, before);
    Ok((results(py, made, &verdict)?, before))
}

/// All results of a search by name; arrays are flat.
fn results<'py>(py: Python<'py>, made: Plan, verdict: &Verdict) -> PyResult<Bound<'py, PyDict>> {
    let data = PyDict::new(py);
    let end = match &made.status {
        PlanEnd::Reached => "reached".to_owned(),
        PlanEnd::Stalled => "stalled".to_owned(),
        PlanEnd::Steps => "steps".to_owned(),
        PlanEnd::Time => "time".to_owned(),
        PlanEnd::Stopped => "stopped".to_owned(),
        PlanEnd::Failed(why) => format!("failed: {why}"),
        other => format!("{other:?}"),
    };
    data.set_item("status", end)?;
    let refusals: Vec<String> = verdict.refusals.iter().map(ToString::to_string).collect();
    data.set_item("refusals", refusals)?;
    data.set_item("reached", made.reached)?;
    let errors = made.errors.iter().flat_map(|e| [e.angle, e.distance, e.joint, e.share]);
    data.set_item("errors", PyArray1::from_vec(py, errors.collect()))?;
    data.set_item("u", PyArray1::from_vec(py, made.commands))?;
    data.set_item("q", PyArray1::from_vec(py, made.q))?;
    data.set_item("h", made.time_step)?;
    Ok(data)
}
