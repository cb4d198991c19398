//! The `mpc` section of a scene: the control task as plain data.

use crate::curve::{Curve, Grid};
use crate::curves::{curves, expression};
use crate::document::{At, Map};
use quasistep::System;
use quasistep_formats::{SceneError, unknown};

/// Control task of a scene. Lists have one entry per dof of the scene, or per input.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlSection {
    /// Place of the section, `file:line`, for errors.
    pub place: String,
    /// Prediction model.
    pub model: ControlModel,
    /// Number of steps of a plan.
    pub horizon: usize,
    /// Duration of a step of a plan, in s.
    pub time_step: f64,
    /// Number of steps of the closed loop.
    pub steps: usize,
    /// Goal positions, one per dof, in m or rad. For a trajectory, those at its end.
    pub goal: Vec<f64>,
    /// Goal velocities, one per dof, in m/s or rad/s. For a trajectory, those at its end.
    pub goal_velocity: Vec<f64>,
    /// Goal trajectory: positions then velocities, at the start and after every step up to the end
    /// of the last plan. Empty if the goal is constant.
    pub trajectory: Vec<Vec<f64>>,
    /// Start velocities, one per dof, in m/s or rad/s.
    pub start_velocity: Vec<f64>,
    /// Weights of squared deviations from the goal, and of squared inputs.
    pub weights: ControlWeights,
    /// Lower and upper bound of positions, one pair per dof, in m or rad; infinite if unbounded.
    pub position: Vec<[f64; 2]>,
    /// Lower and upper bound of velocities, one pair per dof, in m/s or rad/s; infinite if
    /// unbounded.
    pub velocity: Vec<[f64; 2]>,
    /// Lower and upper bound of inputs, one pair per input.
    pub input: Vec<[f64; 2]>,
    /// Lower and upper bound of the change of inputs per step, one pair per input.
    pub input_rate: Vec<[f64; 2]>,
    /// Penalty weight of violated position and velocity bounds; `None` for hard bounds.
    pub soft: Option<f64>,
    /// Penalty weight of violated input bounds; `None` for hard bounds.
    pub soft_input: Option<f64>,
    /// Penalty weight of violated bounds on input changes; `None` for hard bounds.
    pub soft_input_rate: Option<f64>,
    /// Distance below which contact points are part of the plan, in m.
    pub contact_margin: f64,
    /// Number of friction directions of a contact with two sliding dimensions.
    pub friction_directions: usize,
    /// If true, the change of lever arms is predicted with the contact impulses of the last plan.
    pub moving_levers: bool,
    /// Optimality gap at which a plan is accepted.
    pub gap: f64,
    /// Largest number of nodes of a search; 0 for no limit.
    pub max_nodes: u64,
    /// Largest CPU time of a search, in s; `None` for no limit.
    pub time_limit: Option<f64>,
    /// If true, only the contact modes found first are improved.
    pub local: bool,
    /// If true, each step of a plan is linearised at the state that the last plan predicts for it.
    pub along_plan: bool,
}

/// Prediction model of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlModel {
    /// Forces on these dofs (indices) accelerate masses.
    Dynamic(Vec<usize>),
    /// Commanded positions of actuated joints, without momentum.
    QuasiDynamic,
}

impl ControlModel {
    /// Name of the model in scene files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Dynamic(_) => "dynamic",
            Self::QuasiDynamic => "quasi_dynamic",
        }
    }
}

/// Diagonals of the cost matrices.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlWeights {
    /// Weights of positions, one per dof.
    pub position: Vec<f64>,
    /// Weights of velocities, one per dof.
    pub velocity: Vec<f64>,
    /// Weights of positions at the end of the plan, one per dof.
    pub final_position: Vec<f64>,
    /// Weights of velocities at the end of the plan, one per dof.
    pub final_velocity: Vec<f64>,
    /// Weights of inputs, one per input.
    pub input: Vec<f64>,
}

const KEYS: [&str; 18] = [
    "model",
    "inputs",
    "horizon",
    "time_step",
    "steps",
    "goal",
    "goal_velocity",
    "start_velocity",
    "weights",
    "bounds",
    "contact_margin",
    "friction_directions",
    "lever_arms",
    "gap",
    "max_nodes",
    "time_limit",
    "search",
    "linearise",
];
const WEIGHTS: [&str; 5] = ["position", "velocity", "final_position", "final_velocity", "input"];
const BOUNDS: [&str; 5] = ["position", "velocity", "input", "input_rate", "soft"];
const SOFT: [&str; 3] = ["state", "input", "input_rate"];
/// Keys of a moving goal other than an expression of `t`.
const CURVES: [&str; 2] = ["linear", "cubic"];

/// Default contact margin, in m: larger than any scene, so that every pair is part of the plan.
const EVERYWHERE: f64 = 1e3;

impl ControlSection {
    pub(crate) fn read(
        at: &At<'_>,
        system: &System,
        q: &[f64],
        time_step: f64,
    ) -> Result<Self, SceneError> {
        let map = at.map(&KEYS)?;
        let dofs = system.dof_names();
        let dynamic = map.need("model")?.word(&[("dynamic", true), ("quasi_dynamic", false)])?;
        let (model, inputs) = if dynamic {
            let driven = driven(map.need("inputs")?, &dofs)?;
            let names = driven.iter().map(|&dof| dofs[dof].clone()).collect();
            (ControlModel::Dynamic(driven), names)
        } else {
            if let Some(inputs) = map.get("inputs") {
                return Err(inputs.error(
                    "the inputs of a quasi_dynamic model are the commands of all actuated joints; leave `inputs` out",
                ));
            }
            let driven = system.commanded().iter().flat_map(|&b| system.model().body(b).v.clone());
            (ControlModel::QuasiDynamic, driven.map(|dof| dofs[dof].clone()).collect::<Vec<_>>())
        };
        let whole = |key: &str, most: u64| map.need(key).and_then(|at| at.whole(1, most));
        let per_dof = |key: &str, default: &[f64], unit: &str| {
            map.get(key).map_or(Ok(default.to_vec()), |at| by_name(at, &dofs, default, unit))
        };
        let zero = vec![0.0; dofs.len()];
        // default goal of dofs: their start positions
        let here = if q.len() == dofs.len() { q.to_vec() } else { zero.clone() };
        let bounds = match map.get("bounds") {
            None => None,
            Some(at) => Some(at.map(&BOUNDS)?),
        };
        let limits = |key: &str, names: &[String], unit: &str| {
            bounds
                .as_ref()
                .and_then(|map| map.get(key))
                .map_or(Ok(vec![FREE; names.len()]), |at| limits(at, names, unit))
        };
        let (force, rate) = if dynamic { ("N", "N") } else { ("m", "m") };
        let soft = Soft::read(bounds.as_ref().and_then(|map| map.get("soft")))?;
        let positive = |key: &str, unit: &str, default: f64| {
            map.get(key).map_or(Ok(default), |at| at.positive(unit))
        };
        let (horizon, steps) =
            (whole("horizon", 1000)? as usize, whole("steps", 1_000_000)? as usize);
        let time_step = positive("time_step", "s", time_step)?;
        let grid = Grid { h: time_step, n: steps + horizon };
        let curves = goals(map.need("goal")?, &dofs, &here, &grid)?;
        let velocity = map.get("goal_velocity");
        let velocity = velocity.map(|at| by_name(at, &dofs, &zero, "m/s")).transpose()?;
        let (goal, goal_velocity, trajectory) = sample(&curves, velocity.as_deref(), &grid);
        Ok(Self {
            place: at.place(),
            horizon,
            time_step,
            steps,
            goal,
            goal_velocity,
            trajectory,
            start_velocity: per_dof("start_velocity", &zero, "m/s")?,
            weights: ControlWeights::read(&map.need("weights")?.map(&WEIGHTS)?, &dofs, &inputs)?,
            position: limits("position", &dofs, "m")?,
            velocity: limits("velocity", &dofs, "m/s")?,
            input: limits("input", &inputs, force)?,
            input_rate: limits("input_rate", &inputs, rate)?,
            soft: soft.state,
            soft_input: soft.input,
            soft_input_rate: soft.input_rate,
            contact_margin: positive("contact_margin", "m", EVERYWHERE)?,
            friction_directions: friction_directions(map.get("friction_directions"))?,
            moving_levers: map
                .get("lever_arms")
                .map_or(Ok(false), |at| at.word(&[("fixed", false), ("moving", true)]))?,
            gap: positive("gap", "", 1e-9)?,
            max_nodes: map.get("max_nodes").map_or(Ok(0), |at| at.whole(0, u64::MAX >> 12))?,
            time_limit: map.get("time_limit").map(|at| at.positive("s")).transpose()?,
            along_plan: map
                .get("linearise")
                .map_or(Ok(false), |at| at.word(&[("here", false), ("along_plan", true)]))?,
            local: map
                .get("search")
                .map_or(Ok(false), |at| at.word(&[("global", false), ("local", true)]))?,
            model,
        })
    }
}

/// Penalty weights of violated bounds.
struct Soft {
    state: Option<f64>,
    input: Option<f64>,
    input_rate: Option<f64>,
}

impl Soft {
    /// Reads the weights; a single number applies to the state bounds.
    fn read(at: Option<&At<'_>>) -> Result<Self, SceneError> {
        let Some(at) = at else { return Ok(Self { state: None, input: None, input_rate: None }) };
        if !at.is_map() {
            return Ok(Self { state: Some(at.positive("")?), input: None, input_rate: None });
        }
        let map = at.map(&SOFT)?;
        let price = |key: &str| map.get(key).map(|at| at.positive("")).transpose();
        Ok(Self {
            state: price("state")?,
            input: price("input")?,
            input_rate: price("input_rate")?,
        })
    }
}

/// Goal positions over time: for each dof a number, an expression of `t`, or knots.
fn goals(
    at: &At<'_>,
    dofs: &[String],
    here: &[f64],
    grid: &Grid,
) -> Result<Vec<Curve>, SceneError> {
    let one = |at: &At<'_>| -> Result<Curve, SceneError> {
        if !at.is_map() {
            return if at.reads_as_number() {
                Ok(Curve::Constant(at.number("m")?))
            } else {
                expression(at, grid)
            };
        }
        let map = at.map(&CURVES)?;
        let given: Vec<&str> = map.keys().collect();
        let [kind] = given[..] else {
            return Err(at.error(format!(
                "{} kinds of curve were seen; give `linear` or `cubic`",
                given.len()
            )));
        };
        let mut curves =
            curves(kind, map.need(kind)?, 1, std::path::Path::new(""), grid, "m or rad")?;
        Ok(curves.remove(0))
    };
    if at.is_map() {
        let mut wanted: Vec<Curve> = here.iter().map(|q| Curve::Constant(*q)).collect();
        for (name, value) in at.entries()? {
            wanted[place_of(name, dofs, &value)?] = one(&value)?;
        }
        return Ok(wanted);
    }
    if !at.is_list() {
        return Ok(vec![one(at)?; dofs.len()]);
    }
    let items = at.list()?;
    wanted(at, items.len(), dofs)?;
    items.iter().map(one).collect()
}

/// Positions and velocities at the end, and over time if the goal moves. Velocities that are not
/// given are the rates of the positions.
fn sample(
    curves: &[Curve],
    velocity: Option<&[f64]>,
    grid: &Grid,
) -> (Vec<f64>, Vec<f64>, Vec<Vec<f64>>) {
    let at = |t: f64| -> Vec<f64> {
        let (position, rate): (Vec<f64>, Vec<f64>) = curves.iter().map(|c| c.at(t)).unzip();
        let rate = velocity.map_or(rate, <[f64]>::to_vec);
        [position, rate].concat()
    };
    let moves = curves.iter().any(|c| !matches!(c, Curve::Constant(_)));
    let trajectory: Vec<Vec<f64>> =
        if moves { (0..=grid.n).map(|k| at(k as f64 * grid.h)).collect() } else { Vec::new() };
    let mut goal = at(grid.n as f64 * grid.h);
    let rates = goal.split_off(curves.len());
    (goal, rates, trajectory)
}

impl ControlWeights {
    fn read(map: &Map<'_>, dofs: &[String], inputs: &[String]) -> Result<Self, SceneError> {
        let read = |key: &str, names: &[String], default: &[f64]| -> Result<Vec<f64>, SceneError> {
            let Some(at) = map.get(key) else { return Ok(default.to_vec()) };
            let values = by_name(at, names, &vec![0.0; names.len()], "")?;
            match values.iter().find(|w| **w < 0.0) {
                Some(w) => Err(at.error(format!("{w} was seen; weights must be ≥ 0"))),
                None => Ok(values),
            }
        };
        let zero = vec![0.0; dofs.len()];
        let position = read("position", dofs, &zero)?;
        let velocity = read("velocity", dofs, &zero)?;
        Ok(Self {
            final_position: read("final_position", dofs, &position)?,
            final_velocity: read("final_velocity", dofs, &velocity)?,
            input: read("input", inputs, &vec![0.0; inputs.len()])?,
            position,
            velocity,
        })
    }
}

const FREE: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

/// Indices of dofs given by name.
fn driven(at: &At<'_>, dofs: &[String]) -> Result<Vec<usize>, SceneError> {
    let items = at.list()?;
    if items.is_empty() {
        return Err(at.error("no input was seen; name at least one dof"));
    }
    let mut found = Vec::new();
    for item in items {
        let dof = place_of(item.text()?, dofs, &item)?;
        if found.contains(&dof) {
            return Err(item.error(format!("`{}` was seen twice; name it once", dofs[dof])));
        }
        found.push(dof);
    }
    Ok(found)
}

fn place_of(name: &str, names: &[String], at: &At<'_>) -> Result<usize, SceneError> {
    names.iter().position(|n| n == name).ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        at.error(unknown("dof", name, &names))
    })
}

/// Values for all names: one number, a list, or a mapping in which missing names get the default.
fn by_name(
    at: &At<'_>,
    names: &[String],
    default: &[f64],
    unit: &str,
) -> Result<Vec<f64>, SceneError> {
    if at.is_map() {
        let mut values = default.to_vec();
        for (name, value) in at.entries()? {
            values[place_of(name, names, &value)?] = value.number(unit)?;
        }
        return Ok(values);
    }
    if !at.is_list() {
        return Ok(vec![at.number(unit)?; names.len()]);
    }
    let values = at.numbers(unit)?;
    wanted(at, values.len(), names)?;
    Ok(values)
}

/// Bounds for all names: one for all, a list, or a mapping in which missing names are unbounded.
fn limits(at: &At<'_>, names: &[String], unit: &str) -> Result<Vec<[f64; 2]>, SceneError> {
    if at.is_map() {
        let mut values = vec![FREE; names.len()];
        for (name, value) in at.entries()? {
            values[place_of(name, names, &value)?] = limit(&value, unit)?;
        }
        return Ok(values);
    }
    if !at.is_list() {
        return Ok(vec![limit(at, unit)?; names.len()]);
    }
    let items = at.list()?;
    wanted(at, items.len(), names)?;
    items.iter().map(|item| limit(item, unit)).collect()
}

/// One bound: `b` for −b to b, or `[low, high]`.
fn limit(at: &At<'_>, unit: &str) -> Result<[f64; 2], SceneError> {
    if matches!(at.text(), Ok("none")) {
        return Ok(FREE);
    }
    if !at.is_list() {
        let size = at.non_negative(unit)?;
        return Ok([-size, size]);
    }
    let [low, high] = at.array::<2>(unit)?;
    if low > high {
        return Err(at.error(format!("[{low}, {high}] was seen; give [low, high]")));
    }
    Ok([low, high])
}

fn wanted(at: &At<'_>, seen: usize, names: &[String]) -> Result<(), SceneError> {
    if seen == names.len() {
        return Ok(());
    }
    let of: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    let n = names.len();
    Err(at.error(format!("{seen} values were seen; give one, or {n}: for {}", of.join(", "))))
}

fn friction_directions(at: Option<&At<'_>>) -> Result<usize, SceneError> {
    let Some(at) = at else { return Ok(4) };
    let n = at.whole(2, 64)?;
    if n % 2 == 1 {
        return Err(at.error(format!("{n} was seen; give an even number")));
    }
    Ok(n as usize)
}
