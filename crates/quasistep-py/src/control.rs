//! Contact-implicit planning: conversion of problems and plans to plain Python data.

use crate::arrays::{Array, flat};
use crate::error;
use crate::run::LOOK_NS;
use crate::system::wall_ns;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quasistep_control::{
    Bounds, Cost, Hardness, Integers, Lcs, Limits, MpcSettings, PlanStatus, Problem, Search,
};
use std::sync::{Mutex, PoisonError};

/// A controller: a problem, and memory kept between searches.
#[pyclass(frozen, module = "quasistep._core")]
pub struct Mpc {
    inner: Mutex<quasistep_control::Mpc>,
    goal: Vec<Vec<f64>>,
}

/// Lower bounds, upper bounds, and the price of violating them.
type LimitsArgument<'py> = (Array<'py>, Array<'py>, Option<f64>);

/// Inputs and modes of an earlier plan.
type Warm = (Vec<Vec<f64>>, Vec<Vec<u8>>);

#[pymethods]
impl Mpc {
    #[new]
    #[pyo3(signature = (horizon, models, Q, Q_f, R, goal, state, input, input_rate, impulse, gap, max_nodes, local))]
    #[allow(clippy::too_many_arguments)] // all arguments of the Python class
    fn new(
        horizon: usize,
        models: Vec<Vec<Array<'_>>>,
        Q: Array<'_>,
        Q_f: Array<'_>,
        R: Array<'_>,
        goal: Vec<Vec<f64>>,
        state: LimitsArgument<'_>,
        input: LimitsArgument<'_>,
        input_rate: LimitsArgument<'_>,
        impulse: Option<f64>,
        gap: f64,
        max_nodes: u64,
        local: bool,
    ) -> PyResult<Self> {
        let own_goal = goal.clone();
        let problem = Problem {
            horizon,
            models: models.iter().map(|parts| lcs(parts)).collect(),
            cost: Cost { Q: flat(&Q), Q_f: flat(&Q_f), R: flat(&R), goal },
            bounds: Bounds {
                state: limits(&state),
                input: limits(&input),
                input_rate: limits(&input_rate),
                impulse,
            },
        };
        let search = if local { Search::Local } else { Search::Global };
        let settings = MpcSettings { absolute_gap: gap, max_nodes, search };
        let inner =
            quasistep_control::Mpc::new(problem, settings).map_err(|e| error::problem(&e))?;
        Ok(Self { inner: Mutex::new(inner), goal: own_goal })
    }

    /// Plans from `x0` within at most `seconds` of wall time. Returns the plan as a dictionary.
    #[pyo3(signature = (x0, warm, seconds, goal))]
    fn plan<'py>(
        &self,
        py: Python<'py>,
        x0: Array<'py>,
        warm: Option<Warm>,
        seconds: Option<f64>,
        goal: Option<Vec<Vec<f64>>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (x0, warm) = (flat(&x0), warm.map(plan_from));
        let began = wall_ns();
        let (mut looked, mut interrupt) = (began, None);
        let planned = py.detach(|| {
            let mut stop = || {
                let now = wall_ns();
                if now - looked > LOOK_NS {
                    looked = now;
                    interrupt = Python::attach(|py| {
                        // a closure, since a method path does not satisfy the lifetime of `py`
                        #[allow(clippy::redundant_closure_for_method_calls)]
                        py.check_signals()
                    })
                    .err();
                }
                interrupt.is_some() || seconds.is_some_and(|s| (now - began) as f64 * 1e-9 > s)
            };
            let mut mpc = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            mpc.set_goal(goal.unwrap_or_else(|| self.goal.clone()))?;
            mpc.plan_until(&x0, warm.as_ref(), &mut stop)
        });
        match interrupt {
            Some(interrupt) => Err(interrupt),
            None => plan(py, &planned.map_err(|e| error::problem(&e))?),
        }
    }

    /// Text of a file with the problem from `x0`, for other solvers.
    #[pyo3(signature = (x0, warm, mps, integers))]
    fn export(
        &self,
        x0: Array<'_>,
        warm: Option<Warm>,
        mps: bool,
        integers: &str,
    ) -> PyResult<String> {
        let integers = match integers {
            "big_m" => Integers::BigM,
            "indicator" => Integers::Indicator,
            _ => Integers::Sos1,
        };
        let (x0, warm) = (flat(&x0), warm.map(plan_from));
        let mut mpc = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let text = if mps {
            mpc.export_mps(&x0, warm.as_ref(), integers)
        } else {
            mpc.export_lp(&x0, warm.as_ref(), integers)
        };
        text.map_err(|e| error::problem(&e))
    }
}

/// Coulomb contacts of a system: entries of `gamma` (normal, two tangents, slip) and friction
/// coefficient.
#[pyfunction]
pub fn coulomb_contacts(parts: Vec<Array<'_>>) -> PyResult<Vec<([usize; 4], f64)>> {
    let lcs = lcs(&parts);
    lcs.check().map_err(|e| error::problem(&e))?;
    let entries = |c: &quasistep_control::CoulombContact| {
        ([c.normal, c.tangents[0], c.tangents[1], c.slip], c.mu)
    };
    Ok(lcs.contacts().iter().map(entries).collect())
}

/// System from `A, B, C, D, E, f, a`. Sizes follow from `f`, `B` and `a`.
fn lcs(parts: &[Array<'_>]) -> Lcs {
    let mut parts = parts.iter().map(flat);
    let mut next = || parts.next().unwrap_or_default();
    let [A, B, C, D, E, f, a] = std::array::from_fn(|_| next());
    let (n_x, n_gamma) = (f.len(), a.len());
    Lcs { n_x, n_u: B.len() / n_x.max(1), n_gamma, A, B, C, D, E, f, a }
}

fn limits((lower, upper, weight): &LimitsArgument<'_>) -> Limits {
    let hardness = weight.map_or(Hardness::Hard, |weight| Hardness::Soft { weight });
    Limits { lower: flat(lower), upper: flat(upper), hardness }
}

fn plan_from((inputs, modes): Warm) -> quasistep_control::Plan {
    quasistep_control::Plan { inputs, modes, ..Default::default() }
}

/// All fields of a plan as a dictionary with flat tables.
pub fn plan<'py>(py: Python<'py>, plan: &quasistep_control::Plan) -> PyResult<Bound<'py, PyDict>> {
    let data = PyDict::new(py);
    let (status, why) = match &plan.status {
        PlanStatus::Optimal => ("optimal", String::new()),
        PlanStatus::Feasible(limit) => ("feasible", format!("{limit:?}")),
        PlanStatus::Infeasible => ("infeasible", String::new()),
        PlanStatus::Unknown(limit) => ("unknown", format!("{limit:?}")),
        PlanStatus::Failed(reason) => ("failed", format!("{reason:?}")),
    };
    data.set_item("status", status)?;
    data.set_item("why", why)?;
    for (name, rows) in
        [("states", &plan.states), ("inputs", &plan.inputs), ("impulses", &plan.impulses)]
    {
        data.set_item(name, PyArray1::from_vec(py, rows.concat()))?;
    }
    data.set_item("units", &plan.modes)?;
    for (name, value) in [
        ("cost", plan.cost),
        ("bound", plan.bound),
        ("gap", plan.gap()),
        ("root", plan.root),
        ("first", plan.first),
    ] {
        data.set_item(name, value)?;
    }
    for (name, value) in [("nodes", plan.nodes), ("qps", plan.qps), ("pivots", plan.pivots)] {
        data.set_item(name, value)?;
    }
    let relaxed = plan.relaxed.iter().map(|r| (r.at.to_string(), r.amount));
    data.set_item("relaxed", relaxed.collect::<Vec<_>>())?;
    let conflict = plan.conflict.iter().map(ToString::to_string);
    data.set_item("conflict", conflict.collect::<Vec<_>>())?;
    Ok(data)
}
