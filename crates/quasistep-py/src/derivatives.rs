//! Derivatives of single steps, of batches and of runs.

use crate::arrays::{self, Array, flat};
use crate::error;
use crate::loads::{Loads, LoadsArgument};
use crate::params::StepParams;
use crate::records::{self, Of};
use crate::report::StepReport;
use crate::run::Watch;
use crate::system::{System, Wrenches};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use quasistep::{
    BatchDerivatives, BatchInput, BatchVelocities, ContactImpulses, DerivativeOutcome,
    DifferentiateBatch, InputChange, Kinks, Mode, OutputChange, RunDerivatives, RunOutcome, State,
    StateRows, StepKinks, SystemChange,
};
use quasistep_scene::Scene;
use std::sync::{Arc, Mutex, PoisonError};

/// A step and its derivatives.
#[pyclass(frozen, module = "quasistep._core")]
pub struct Derivatives {
    system: Arc<quasistep::System>,
    inner: Mutex<quasistep::Derivatives>,
}

pub(crate) fn mode(kappa: Option<f64>) -> Mode {
    kappa.map_or(Mode::Exact, |kappa| Mode::Smooth { kappa })
}

/// Number of kinds of kinks.
const KINKS: usize = 10;

/// Counts of [`StepKinks`], in the order of `quasistep.Kinks`.
pub(crate) fn kinks(k: &StepKinks) -> [u32; KINKS] {
    let Kinks { rows, round, springs, held, loads } = k.program;
    [rows, round, springs, k.features, k.edges, k.recovery, k.margin, k.choices, held, loads]
}

#[pymethods]
impl Derivatives {
    #[new]
    #[pyo3(signature = (system, q, velocity, attached, u, h, t, v, wrenches, params, kappa, tau))]
    #[allow(clippy::too_many_arguments)] // all arguments of the Python class
    fn new(
        py: Python<'_>,
        system: &System,
        q: Array<'_>,
        velocity: Option<Array<'_>>,
        attached: Option<Array<'_>>,
        u: Option<Array<'_>>,
        h: Option<f64>,
        t: f64,
        v: Option<Array<'_>>,
        wrenches: Option<Wrenches>,
        params: Option<&StepParams>,
        kappa: Option<f64>,
        tau: Option<Array<'_>>,
    ) -> PyResult<Self> {
        let params = system.params_with(params, h);
        let mut input =
            system.input(quasistep::end_of_step(t, params.time_step), u, v, wrenches, &params)?;
        if let Some(tau) = tau {
            input.tau = arrays::vector("tau", &tau)?;
        }
        let start = velocity.map_or(Ok(Vec::new()), |v| arrays::vector("velocity", &v))?;
        let attached = system.attached(attached)?.pop().unwrap_or_default();
        let state = State { time: t, q: arrays::vector("q", &q)?, v: start, attached };
        let world = Arc::clone(&system.scene.system);
        let inner = py.detach(|| {
            let mut inner = world.create_derivatives();
            world.differentiate(&state, &input, &params, mode(kappa), &mut inner)?;
            Ok(inner)
        });
        let inner = Mutex::new(inner.map_err(|e| error::derivative(&e))?);
        Ok(Self { system: world, inner })
    }

    /// Next configuration, report, kinks, and smoothing bound.
    #[allow(clippy::type_complexity)] // unpacked at once by the Python package
    fn step<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<f64>>, StepReport, [u32; KINKS], f64) {
        let d = self.lock();
        let report = StepReport::new(d.report(), None, &self.system);
        let report = report.with_attached(d.attached());
        (PyArray1::from_slice(py, d.q_next()), report, kinks(&d.kinks()), d.smoothing_bound())
    }

    /// Jacobian-vector product for a change of the inputs, given and returned as dictionaries.
    fn jvp<'py>(
        &self,
        py: Python<'py>,
        change: &Bound<'py, PyDict>,
        impulses: bool,
    ) -> PyResult<(Bound<'py, PyDict>, f64)> {
        let n_contacts = self.lock().n_contacts();
        let vector = |name: &str| vector(change, name);
        let input = InputChange {
            q: vector("q")?,
            v: vector("velocity")?,
            q_cmd: vector("u")?,
            v_cmd: vector("u_rate")?,
            wrench: vector("wrench")?,
            tau: vector("tau")?,
            friction: friction(&vector, n_contacts)?,
            stiffness: vector("stiffness")?,
            damping: vector("damping")?,
            mass: vector("mass")?,
            com: vector("com")?,
            inertia: vector("inertia")?,
            compliance: vector("compliance")?,
            support: vector("support")?,
            time_step: vector("h")?.first().copied().unwrap_or(0.0),
            relaxation: vector("relaxation")?.first().copied().unwrap_or(0.0),
        };
        let mut out = OutputChange::default();
        let apart = py
            .detach(|| self.lock().jvp(&self.system, &input, impulses, &mut out))
            .map_err(|e| error::derivative(&e))?;
        let data = PyDict::new(py);
        data.set_item("q_next", PyArray1::from_vec(py, out.q_next))?;
        data.set_item("v", PyArray1::from_vec(py, out.v))?;
        if impulses {
            data.set_item("normal", PyArray1::from_vec(py, out.normal))?;
            data.set_item("impulse", PyArray1::from_vec(py, out.impulse))?;
            data.set_item("components", PyArray1::from_vec(py, out.components))?;
        }
        Ok((data, apart))
    }

    /// Vector-Jacobian product: gradient of weighted outputs with respect to all inputs, as
    /// dictionaries.
    fn vjp<'py>(
        &self,
        py: Python<'py>,
        weights: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let vector = |name: &str| vector(weights, name);
        let weights = OutputChange {
            q_next: vector("q_next")?,
            v: vector("v")?,
            normal: vector("normal")?,
            impulse: vector("impulse")?,
            components: vector("components")?,
        };
        let mut g = InputChange::default();
        py.detach(|| self.lock().vjp(&self.system, &weights, &mut g))
            .map_err(|e| error::derivative(&e))?;
        let data = PyDict::new(py);
        let set =
            |name: &str, values: Vec<f64>| data.set_item(name, PyArray1::from_vec(py, values));
        for (k, name) in FRICTION.iter().enumerate() {
            set(name, g.friction.iter().skip(k).step_by(3).copied().collect())?;
        }
        set("q", g.q)?;
        set("velocity", g.v)?;
        set("u", g.q_cmd)?;
        set("u_rate", g.v_cmd)?;
        set("wrench", g.wrench)?;
        set("tau", g.tau)?;
        set("stiffness", g.stiffness)?;
        set("damping", g.damping)?;
        set("mass", g.mass)?;
        set("com", g.com)?;
        set("inertia", g.inertia)?;
        set("compliance", g.compliance)?;
        set("support", g.support)?;
        set("h", vec![g.time_step])?;
        set("relaxation", vec![g.relaxation])?;
        Ok(data)
    }

    /// Jacobians `∂q_next/∂q`, `n_v × n_v`, and `∂q_next/∂u`, `n_v × n_u_v`, flat.
    #[allow(clippy::type_complexity)] // two arrays
    fn matrices<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let n_v = self.system.model().n_v();
        let mut by_q = vec![0.0; n_v * n_v];
        let mut by_u = vec![0.0; n_v * self.system.n_cmd_v()];
        py.detach(|| self.lock().jacobian(&self.system, &mut by_q, &mut by_u))
            .map_err(|e| error::derivative(&e))?;
        Ok((PyArray1::from_vec(py, by_q), PyArray1::from_vec(py, by_u)))
    }

    /// Jacobians of `q_next` and of the velocity with respect to `q`, the start velocity and `u`,
    /// flat, as a dictionary.
    fn state_matrices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (n_v, n_u) = (self.system.model().n_v(), self.system.n_cmd_v());
        let mut all = [[n_v, n_v, n_u]; 2].map(|of| of.map(|columns| vec![0.0; n_v * columns]));
        let [of_q, of_v] = all.each_mut().map(|rows| {
            let [by_q, by_v, by_q_cmd] = rows;
            StateRows { by_q, by_v, by_q_cmd }
        });
        py.detach(|| self.lock().state_jacobian(&self.system, of_q, of_v))
            .map_err(|e| error::derivative(&e))?;
        let data = PyDict::new(py);
        for (of, rows) in ["q_next", "v"].into_iter().zip(all) {
            for (wrt, matrix) in ["q", "velocity", "u"].into_iter().zip(rows) {
                data.set_item((of, wrt), PyArray1::from_vec(py, matrix))?;
            }
        }
        Ok(data)
    }
}

impl Derivatives {
    fn lock(&self) -> std::sync::MutexGuard<'_, quasistep::Derivatives> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names of the velocity outputs of a batch.
const VELOCITIES: [&str; 5] = ["v_next", "by_v", "v_by_q", "v_by_v", "v_by_u"];
/// Names of the three friction coefficients of a contact.
const FRICTION: [&str; 3] = ["mu", "mu_spin", "mu_roll"];

/// The vector with the given name; empty if missing.
fn vector(from: &Bound<'_, PyDict>, name: &str) -> PyResult<Vec<f64>> {
    let Some(values) = from.get_item(name)? else { return Ok(Vec::new()) };
    Ok(flat(&values.extract::<Array<'_>>()?))
}

/// The three friction coefficients of each contact, contact by contact; empty if none is given.
fn friction(vector: &dyn Fn(&str) -> PyResult<Vec<f64>>, n_contacts: usize) -> PyResult<Vec<f64>> {
    let mut all = Vec::new();
    for (k, name) in FRICTION.iter().enumerate() {
        let values = vector(name)?;
        if values.is_empty() {
            continue;
        }
        if values.len() != n_contacts {
            return Err(error::length(name, values.len(), n_contacts));
        }
        all.resize(3 * n_contacts, 0.0);
        for (contact, value) in values.into_iter().enumerate() {
            all[3 * contact + k] = value;
        }
    }
    Ok(all)
}

/// Differentiates many steps: Jacobians or, with weights, gradients; flat, all other results by
/// name.
#[pyfunction]
#[pyo3(signature = (system, q, velocity, attached, u, v, n, t, h, loads, params, kappa, weights, v_weights, impulses, threads, progress))]
#[allow(clippy::too_many_arguments)] // all arguments of the Python function
pub fn differentiate_batch<'py>(
    py: Python<'py>,
    system: &System,
    q: Array<'py>,
    velocity: Option<Array<'py>>,
    attached: Option<Array<'py>>,
    u: Array<'py>,
    v: Option<Array<'py>>,
    n: usize,
    t: f64,
    h: Option<f64>,
    loads: LoadsArgument<'py>,
    params: Option<&StepParams>,
    kappa: Option<f64>,
    weights: Option<Array<'py>>,
    v_weights: Option<Array<'py>>,
    impulses: bool,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let params = system.params_with(params, h);
    let world = &system.scene.system;
    let loads = Loads::new(system, loads)?;
    let end = quasistep::end_of_step(t, params.time_step);
    let (wrenches, tau) = loads.of_step(&system.scene, n, end);
    let (q, u, v) = (flat(&q), flat(&u), v.map(|v| flat(&v)).unwrap_or_default());
    let carried = params.formulation.carries_velocity() || velocity.is_some();
    let start = velocity.map(|v| flat(&v)).unwrap_or_default();
    let attached = system.attached(attached)?;
    let weights = weights.map(|w| flat(&w));
    let v_weights = v_weights.map(|w| flat(&w)).unwrap_or_default();
    let input = DifferentiateBatch {
        n_samples: n,
        time: t,
        q: &q,
        v: &start,
        attached: &attached,
        q_cmd: &u,
        v_cmd: &v,
        wrenches: &wrenches,
        tau: &tau,
        mode: mode(kappa),
        weights: weights.as_deref(),
        v_weights: &v_weights,
    };
    let threads = threads.unwrap_or_else(all_cores);
    let (n_q, n_v, n_u) = (world.model().n_q(), world.model().n_v(), world.n_cmd_v());
    let rows = if weights.is_some() { 1 } else { n_v };
    let mut q_next = vec![0.0; n * n_q];
    let mut by_q = vec![0.0; n * rows * n_v];
    let mut by_u = vec![0.0; n * rows * n_u];
    let own = if weights.is_some() { 0 } else { n_v };
    let mut of_v =
        [n_v, rows * n_v, own * n_v, own * n_v, own * n_u].map(|width| vec![0.0; n * width]);
    let mut of_contacts = vec![ContactImpulses::default(); if impulses { n } else { 0 }];
    let mut watch = Watch::new(progress, n);
    let outcomes = py
        .detach(|| {
            let [v_next, by_v, v_by_q, v_by_v, v_by_q_cmd] =
                of_v.each_mut().map(|all| &mut all[..]);
            let velocities =
                carried.then_some(BatchVelocities { v_next, by_v, v_by_q, v_by_v, v_by_q_cmd });
            let (q_next, by_q, by_q_cmd) = (&mut q_next[..], &mut by_q[..], &mut by_u[..]);
            let impulses = impulses.then_some(&mut of_contacts[..]);
            let out = BatchDerivatives { q_next, by_q, by_q_cmd, velocities, impulses };
            let mut look = |done| watch.look(done);
            let look: Option<&mut dyn FnMut(usize) -> _> = Some(&mut look);
            world.differentiate_batch(&input, &params, threads, out, look)
        })
        .map_err(|e| error::step(&e))?;
    if let Some(error) = watch.error {
        return Err(error);
    }
    let data = PyDict::new(py);
    data.set_item("q_next", PyArray1::from_vec(py, q_next))?;
    data.set_item("by_q", PyArray1::from_vec(py, by_q))?;
    data.set_item("by_u", PyArray1::from_vec(py, by_u))?;
    if carried {
        for (name, all) in VELOCITIES.into_iter().zip(of_v) {
            data.set_item(name, PyArray1::from_vec(py, all))?;
        }
    }
    set_outcomes(&data, &outcomes)?;
    if impulses {
        data.set_item("contacts", contacts(py, &of_contacts)?)?;
    }
    Ok(data)
}

/// Sets the kinks of each sample, and the errors of those that have none.
fn set_outcomes(data: &Bound<'_, PyDict>, outcomes: &[DerivativeOutcome]) -> PyResult<()> {
    let errors = PyDict::new(data.py());
    let mut counts = Vec::with_capacity(KINKS * outcomes.len());
    for (i, outcome) in outcomes.iter().enumerate() {
        match outcome {
            Ok(found) => counts.extend(kinks(found).map(i64::from)),
            Err(e) => {
                counts.extend([0; KINKS]);
                errors.set_item(i, error::derivative(e))?;
            }
        }
    }
    data.set_item("kinks", PyArray1::from_vec(data.py(), counts))?;
    data.set_item("errors", errors)
}

/// Contacts of all samples, one after the other: number of contacts before each sample, records,
/// impulses, cones, axes, and derivatives by `q` and by `u`, flat.
fn contacts<'py>(py: Python<'py>, all: &[ContactImpulses]) -> PyResult<Bound<'py, PyTuple>> {
    let (mut records, mut starts, mut count) = (Vec::new(), vec![0], 0);
    for (i, own) in all.iter().enumerate() {
        for contact in &own.contacts {
            records.extend_from_slice(&(i as i64).to_le_bytes());
            records::push(&mut records, contact);
        }
        count += own.contacts.len() as i64;
        starts.push(count);
    }
    let joined = |of: fn(&ContactImpulses) -> &Vec<f64>| {
        PyArray1::from_vec(py, all.iter().flat_map(of).copied().collect())
    };
    (
        PyArray1::from_vec(py, starts),
        records::array(py, records, Of::Batch)?,
        joined(|own| &own.impulses),
        joined(|own| &own.cones),
        joined(|own| &own.axes),
        joined(|own| &own.by_q),
        joined(|own| &own.by_q_cmd),
    )
        .into_pyobject(py)
}

/// Changes of a system with parameters of its scene.
#[pyclass(frozen, module = "quasistep._core")]
pub struct Changes {
    pub(crate) inner: Vec<SystemChange>,
    /// Indices of the parameters by which steps can be differentiated.
    known: Vec<usize>,
}

#[pymethods]
impl Changes {
    /// Builds the changes from two systems per parameter, whose values differ by `by`. `n_steps` is
    /// the number of steps of the longest run.
    #[new]
    fn new(
        py: Python<'_>,
        system: &System,
        less: Vec<Vec<(String, String)>>,
        more: Vec<Vec<(String, String)>>,
        by: Vec<f64>,
        n_steps: usize,
    ) -> PyResult<Self> {
        let base = &system.scene;
        let loads = |scene: &Scene| {
            let (none, ends) = (Loads::default(), (0.0, row_time(base)));
            (none.wrenches(scene, 0..1, n_steps, ends), none.torques(scene, None, n_steps, ends))
        };
        let own = loads(base);
        py.detach(|| {
            let (mut inner, mut known) = (Vec::new(), Vec::new());
            if base.params.check_differentiable().is_err() {
                return Ok(Self { inner, known });
            }
            for (k, (changes, by)) in less.iter().zip(&more).zip(by).enumerate() {
                let make = |changes| base.with_changes(changes).map_err(|e| error::scene(&e));
                let (less, more) = (make(changes.0)?, make(changes.1)?);
                let alike = |scene: &Scene| scene.params == base.params && loads(scene) == own;
                if !(alike(&less) && alike(&more)) {
                    continue;
                }
                if let Some(change) = base.system.change_between(&less.system, &more.system, by) {
                    inner.push(change);
                    known.push(k);
                }
            }
            Ok(Self { inner, known })
        })
    }

    #[getter]
    fn known(&self) -> Vec<usize> {
        self.known.clone()
    }

    /// Configurations of `n` runs, their derivatives with respect to the known parameters in
    /// coordinates, flat, and the runs without derivatives.
    #[allow(clippy::type_complexity, clippy::too_many_arguments)] // all arguments and results of the Python function
    fn of_runs<'py>(
        &self,
        py: Python<'py>,
        system: &System,
        q: Array<'py>,
        velocity: Option<Array<'py>>,
        u: Array<'py>,
        n: usize,
        n_steps: usize,
        threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Vec<usize>)> {
        let Scene { system: world, params, .. } = &system.scene;
        let (q0, u) = (flat(&q), flat(&u));
        let v0 = velocity.map(|v| flat(&v)).unwrap_or_default();
        let (none, ends) = (Loads::default(), (0.0, row_time(&system.scene)));
        let wrenches = none.wrenches(&system.scene, 0..1, n_steps, ends);
        let tau = none.torques(&system.scene, None, n_steps, ends);
        let input = BatchInput {
            every: system.scene.every,
            n_samples: n,
            n_steps,
            q: &q0,
            v: &v0,
            q_cmd: &u,
            wrenches: &wrenches,
            tau: &tau,
            ..BatchInput::default()
        };
        let n_q = n * n_steps * world.model().n_q();
        let (mut q, mut by) = (vec![0.0; n_q], vec![0.0; n_q * self.inner.len()]);
        let threads = threads.unwrap_or_else(all_cores);
        let outcomes = py
            .detach(|| {
                let out = RunDerivatives { q: &mut q, by: &mut by, matrices: None };
                let mode = Mode::Exact.into();
                world.run_derivatives(&input, &self.inner, params, mode, threads, out)
            })
            .map_err(|e| error::derivative(&e))?;
        let lost = |(k, outcome): (usize, RunOutcome)| outcome.error.is_some().then_some(k);
        let lost = outcomes.into_iter().enumerate().filter_map(lost).collect();
        Ok((PyArray1::from_vec(py, q), PyArray1::from_vec(py, by), lost))
    }
}

/// Time between rows of the scene's runs, in s: its outputs, if steps choose their size.
fn row_time(scene: &Scene) -> f64 {
    scene.every.filter(|_| scene.params.sizes.is_some()).unwrap_or(scene.params.time_step)
}

pub(crate) fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
}
