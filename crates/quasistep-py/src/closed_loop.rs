//! Control of a scene: its task, its prediction model, and its closed loop.

use crate::arrays::{Array, flat, pose};
use crate::control;
use crate::error;
use crate::run::{Recording, Watch};
use crate::system::{System, wall_ns};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quasistep_control::{
    ContactEntries, Dynamics, Hardness, Limits, LoopError, PredictionSettings, Search, Task,
    predict,
};
use quasistep_reproduce::closed_loop;
use quasistep_scene::{ControlSection, SceneError};

/// The `mpc` section of the scene; an error without one.
fn section(system: &System) -> PyResult<&ControlSection> {
    system.scene.control.as_ref().ok_or_else(|| {
        let file = &system.scene.source().file;
        error::scene(&SceneError {
            file: file.clone(),
            line: None,
            key: "mpc".into(),
            message: "no `mpc` section was seen; add one, as in scenes/point_robot.yml".into(),
            others: Vec::new(),
        })
    })
}

/// Control task of the scene's `mpc` section, as a dictionary.
#[pyfunction]
pub fn task<'py>(py: Python<'py>, system: &System) -> PyResult<Bound<'py, PyDict>> {
    let section = section(system)?;
    let task: Task = closed_loop::task(section);
    let words = PyDict::new(py);
    let doubles =
        |name: &str, values: &[f64]| words.set_item(name, PyArray1::from_slice(py, values));
    let driven = task.dynamics.driven(&system.scene.system);
    words.set_item("inputs", driven.map_err(|e| error::control(&e.into()))?)?;
    let dynamic = matches!(task.dynamics, Dynamics::Dynamic { .. });
    words.set_item("model", if dynamic { "dynamic" } else { "quasi_dynamic" })?;
    words.set_item("horizon", task.horizon)?;
    words.set_item("time_step", task.time_step)?;
    words.set_item("margin", task.margin)?;
    words.set_item("directions", task.directions)?;
    words.set_item("gap", task.settings.absolute_gap)?;
    words.set_item("max_nodes", task.settings.max_nodes)?;
    words.set_item("local", task.settings.search == Search::Local)?;
    words.set_item("steps", section.steps)?;
    doubles("v_start", &task.v_start)?;
    for (name, matrix) in [("Q", &task.cost.Q), ("Q_f", &task.cost.Q_f), ("R", &task.cost.R)] {
        doubles(name, matrix)?;
    }
    words.set_item("goal", &task.cost.goal)?;
    for (name, limits) in [
        ("state", &task.bounds.state),
        ("input", &task.bounds.input),
        ("input_rate", &task.bounds.input_rate),
    ] {
        let Limits { lower, upper, hardness } = limits;
        let soft = match hardness {
            Hardness::Hard => None,
            Hardness::Soft { weight } => Some(*weight),
        };
        words.set_item(name, (lower.clone(), upper.clone(), soft))?;
    }
    Ok(words)
}

/// Linear complementarity system of a step about `q`. `inputs` lists the driven dofs of a dynamic
/// step; `None` for a quasi-dynamic one.
#[pyfunction]
#[pyo3(signature = (system, q, inputs, h, margin, directions))]
pub fn prediction<'py>(
    py: Python<'py>,
    system: &System,
    q: Array<'py>,
    inputs: Option<Vec<usize>>,
    h: f64,
    margin: f64,
    directions: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let (world, params, q) = (&system.scene.system, &system.scene.params, flat(&q));
    let dynamics = inputs.map_or(Dynamics::QuasiDynamic, |driven| Dynamics::Dynamic { driven });
    let seen = world.linearise(&q, params.gravity, margin).map_err(|e| error::step(&e))?;
    let max_recovery_speed = params.max_recovery_speed;
    let settings = PredictionSettings { time_step: h, max_recovery_speed, directions };
    let driven = dynamics.driven(world).map_err(|e| error::control(&e.into()))?;
    // springs of a dynamic step are at rest at `q`
    let held: Vec<f64> = world
        .commanded()
        .iter()
        .flat_map(|&b| &q[world.model().body(b).q.clone()])
        .copied()
        .collect();
    let found = predict(world, &seen, &q, &held, &[], &dynamics, (&[], &settings))
        .map_err(|e| error::control(&e.into()))?;
    let data = PyDict::new(py);
    let lcs = &found.lcs;
    for (name, values) in [
        ("A", &lcs.A),
        ("B", &lcs.B),
        ("C", &lcs.C),
        ("D", &lcs.D),
        ("E", &lcs.E),
        ("f", &lcs.f),
        ("a", &lcs.a),
    ] {
        data.set_item(name, PyArray1::from_slice(py, values))?;
    }
    data.set_item("inputs", driven)?;
    data.set_item("contacts", entries(seen.contacts.iter(), &found.entries))?;
    Ok(data)
}

/// For each contact its two shapes and its entries of `gamma`: normal, tangents, slip.
type Entries = Vec<(usize, usize, usize, Vec<usize>, Option<usize>)>;

fn entries<'a>(
    contacts: impl Iterator<Item = &'a quasistep::LinearContact>,
    entries: &[ContactEntries],
) -> Entries {
    contacts
        .zip(entries)
        .map(|(c, e)| (c.geom_a, c.geom_b, e.normal, e.tangents.clone(), e.slip))
        .collect()
}

/// Distances, contact Jacobians, mass and load at `q`, as a dictionary with flat tables.
#[pyfunction]
pub fn linearise<'py>(
    py: Python<'py>,
    system: &System,
    q: Array<'py>,
    margin: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let (world, params) = (&system.scene.system, &system.scene.params);
    let seen = world.linearise(&flat(&q), params.gravity, margin).map_err(|e| error::step(&e))?;
    let data = PyDict::new(py);
    let doubles =
        |name: &str, values: Vec<f64>| data.set_item(name, PyArray1::from_vec(py, values));
    let each = |read: &dyn Fn(&quasistep::LinearContact) -> Vec<f64>| -> Vec<f64> {
        seen.contacts.iter().flat_map(read).collect()
    };
    doubles("n", each(&|c| c.n_AB_W.to_array().to_vec()))?;
    doubles("p", each(&|c| c.p_W.to_array().to_vec()))?;
    doubles("phi", each(&|c| vec![c.phi]))?;
    doubles("mu", each(&|c| vec![c.mu]))?;
    doubles("J_n", each(&|c| c.J_n.clone()))?;
    // a direction without slip is a row of zeros
    let two = |rows: Vec<f64>, width: usize| {
        let mut rows = rows;
        rows.resize(2 * width, 0.0);
        rows
    };
    doubles("J_t", each(&|c| two(c.J_t.concat(), seen.n_v)))?;
    let tangents = |c: &quasistep::LinearContact| {
        two(c.tangents_W.iter().flat_map(|t| t.to_array()).collect(), 3)
    };
    doubles("t", each(&tangents))?;
    let geoms = |read: &dyn Fn(&quasistep::LinearContact) -> usize| {
        PyArray1::from_vec(py, seen.contacts.iter().map(|c| read(c) as i64).collect())
    };
    data.set_item("shape_a", geoms(&|c| c.geom_a))?;
    data.set_item("shape_b", geoms(&|c| c.geom_b))?;
    data.set_item("feature", geoms(&|c| c.feature as usize))?;
    doubles("mass", seen.mass.clone())?;
    doubles("gravity_force", seen.gravity_force.clone())?;
    Ok(data)
}

/// Runs the closed loop of the scene. Returns its recording, its numbers as a dictionary, and the
/// error that ended it.
#[pyfunction]
#[allow(clippy::type_complexity)] // all results of the Python function
pub fn control_run<'py>(
    py: Python<'py>,
    system: &System,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Recording, Bound<'py, PyDict>, Option<PyErr>)> {
    let section = section(system)?;
    let scene = &system.scene;
    let mut watch = Watch::new(progress, section.steps);
    let mut done = 0;
    let outcome = py.detach(|| {
        closed_loop::run(scene, section, wall_ns, &mut |_| {
            done += 1;
            watch.look(done)
        })
    });
    if let Some(error) = watch.error {
        return Err(error);
    }
    let run = outcome.map_err(|e| {
        // a section that cannot be planned is an error of the scene, not of a step
        let sentence = format!("{}: mpc: {e}", section.place);
        error::control_as(&e, &sentence)
    })?;
    let stopped = run.stopped.as_ref().map(|e: &LoopError| {
        let (name, at) = (&scene.name, run.steps.len());
        error::control_as(e, &format!("{name}: step {at} was not taken: {e}"))
    });
    let data = PyDict::new(py);
    let frames = &run.recording.frames;
    let doubles = |name, values: Vec<f64>| data.set_item(name, PyArray1::from_vec(py, values));
    doubles("t", frames.iter().map(|f| f.t).collect())?;
    doubles("q", frames.iter().flat_map(|f| f.q.iter().copied()).collect())?;
    doubles("poses", frames.iter().flat_map(|f| f.X_WB.iter().flat_map(pose)).collect())?;
    let states = run.steps.iter().flat_map(|s| s.x.iter());
    doubles("x", states.chain(&run.x_end).copied().collect())?;
    doubles("prediction_error", run.steps.iter().map(|step| step.prediction_error().1).collect())?;
    doubles("wall_s", run.cpu_ns.iter().map(|ns| *ns as f64 * 1e-9).collect())?;
    let plans: PyResult<Vec<_>> = run.steps.iter().map(|s| control::plan(py, &s.plan)).collect();
    data.set_item("plans", plans?)?;
    let contacts: Vec<Entries> =
        run.steps.iter().map(|s| entries(s.contacts.iter().map(|c| &c.at), &s.entries)).collect();
    data.set_item("contacts", contacts)?;
    data.set_item("inputs", &run.inputs)?;
    data.set_item("dofs", &run.dofs)?;
    data.set_item("goal", &run.goal)?;
    data.set_item("trajectory", &run.trajectory)?;
    data.set_item("time_step", run.time_step)?;
    data.set_item("columns", run.columns())?;
    data.set_item("csv", run.csv())?;
    let figures = run.figures(&scene.title);
    let figures: Vec<_> = figures.iter().map(|(name, f)| (*name, f.to_svg())).collect();
    data.set_item("figures", figures)?;
    Ok((Recording::new(run.recording), data, stopped))
}
