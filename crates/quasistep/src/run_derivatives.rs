//! Derivatives of runs with respect to parameters of the system: forward sensitivities, step by
//! step.
//!
//! ```text
//! dq_0 = 0,     dq_{k+1} = ∂q_next/∂q dq_k + ∂q_next/∂θ dθ
//! ```
//!
//! Where velocity is carried from step to step, it is part of the state, and `dv_k` is propagated
//! with `dq_k`.
//!
//! A parameter of a scene can be any number. Its effect on the system is measured from two systems,
//! built with a slightly smaller and a slightly larger value. Their difference gives changes of
//! mass, stiffness, friction, …, which are inputs of [`Derivatives::jvp`].

use crate::batch::{BatchInput, own_list, own_part, spread};
use crate::derivatives::{DerivativeError, Derivatives, InputChange, Mode, OutputChange};
use crate::error::StepError;
use crate::friction::Friction;
use crate::params::StepParams;
use crate::state::{State, StepInput};
use crate::system::{Geom, Role, System};
use crate::workspace::Workspace;
use quasistep_model::{Body, BodyInertia, Support, SupportLoad};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Change of a system with a parameter, for the quantities that steps can be differentiated by.
/// Made by [`System::change_between`].
#[derive(Clone, Debug)]
pub struct SystemChange {
    /// Changes of masses, centres of mass, inertias, stiffness and damping, per unit of the
    /// parameter.
    input: InputChange,
    less: Arc<System>,
    more: Arc<System>,
    per: f64,
}

/// Results of runs: configurations `N × T × n_q`, and their derivatives with respect to each of P
/// parameters, in coordinates, `N × T × P × n_q`. If a run ends early, its remaining rows are NaN.
#[derive(Debug)]
pub struct RunDerivatives<'a> {
    /// Configurations after each step, `N × T × n_q`.
    pub q: &'a mut [f64],
    /// Derivatives of the configurations, `N × T × P × n_q`.
    pub by: &'a mut [f64],
}

/// A run in the queue: its index and its output slices.
struct Job<'a> {
    index: usize,
    q: &'a mut [f64],
    by: &'a mut [f64],
    outcome: &'a mut Result<(), DerivativeError>,
}

impl System {
    /// Change of this system per unit of a parameter. The parameter is smaller by `by / 2` in
    /// `less`, and larger by `by / 2` in `more`. `None` if the two systems differ in a quantity
    /// that steps cannot be differentiated by.
    pub fn change_between(
        &self,
        less: &Arc<Self>,
        more: &Arc<Self>,
        by: f64,
    ) -> Option<SystemChange> {
        let per = 1.0 / by;
        let n_bodies = self.model.n_bodies();
        if [less, more].iter().any(|other| !self.is_like(other)) {
            return None;
        }
        let mut input = InputChange { com: vec![0.0; 3 * n_bodies], ..InputChange::default() };
        for body in 0..n_bodies {
            let of = |system: &Self| system.model.body(body).inertia;
            let (base, a, b) = (of(self), of(less), of(more));
            let dm = b.mass - a.mass;
            if dm != 0.0 && base.mass == 0.0 {
                return None;
            }
            input.mass.push(dm * per);
            // the inertia's growth with the mass is counted by the mass
            let grown = if base.mass > 0.0 { dm / base.mass } else { 0.0 };
            let dI = |i: usize, j: usize| {
                let at = |of: &BodyInertia| of.inertia.rows[i][j];
                (at(&b) - at(&a) - grown * at(&base)) * per
            };
            let places = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
            input.inertia.extend(places.map(|(i, j)| dI(i, j)));
            let dp = (b.com - a.com) * per;
            input.com[3 * body..3 * body + 3].copy_from_slice(&dp.to_array());
        }
        for body in 0..n_bodies {
            let of = |system: &Self| {
                let support = system.model.body(body).resistance.support?;
                let load = if let SupportLoad::Newtons(load) = support.load { load } else { 0.0 };
                Some([support.friction, load, support.spin_radius])
            };
            let (at, a, b) = (of(self), of(less), of(more));
            let [at, a, b] = [at, a, b].map(Option::unwrap_or_default);
            let d = [0, 1, 2].map(|k| (b[k] - a[k]) * per);
            // a coefficient of zero has no row
            if d[0] != 0.0 && at[0] == 0.0 || d[2] != 0.0 && at[2] == 0.0 {
                return None;
            }
            input.support.extend(d);
        }
        input.stiffness = vec![0.0; self.n_cmd_v()];
        input.damping = vec![0.0; self.n_cmd_v()];
        let mut at = 0;
        for &body in self.commanded() {
            for k in 0..self.model.body(body).v.len() {
                let of = |system: &Self| match &system.roles[body] {
                    Role::Actuated(a) => [a.stiffness[k], a.damping[k]],
                    _ => [0.0; 2],
                };
                let (a, b) = (of(less), of(more));
                input.stiffness[at] = (b[0] - a[0]) * per;
                input.damping[at] = (b[1] - a[1]) * per;
                at += 1;
            }
        }
        Some(SystemChange { input, less: Arc::clone(less), more: Arc::clone(more), per })
    }

    /// True if the other system differs only in numbers that steps can be differentiated by.
    fn is_like(&self, other: &Self) -> bool {
        let body = |a: &Body, b: &Body| {
            let mut a = a.clone();
            a.inertia = b.inertia;
            let weighs = |s: Support| s.load == SupportLoad::Weight;
            let [of_a, of_b] = [&a, b].map(|body| body.resistance.support.map(weighs));
            a.resistance.support = b.resistance.support;
            a == *b && of_a == of_b
        };
        let geom = |a: &Geom, b: &Geom| a.body == b.body && a.X_BG == b.X_BG && a.shape == b.shape;
        let role = |a: &Role, b: &Role| match (a, b) {
            (Role::Actuated(a), Role::Actuated(b)) => {
                a.damping_on == b.damping_on && a.effort_limit == b.effort_limit
            }
            _ => a == b,
        };
        let (model, theirs) = (&self.model, &other.model);
        model.n_bodies() == theirs.n_bodies()
            && model.bodies().iter().zip(theirs.bodies()).all(|(a, b)| body(a, b))
            && model.limits() == theirs.limits()
            && self.geoms.len() == other.geoms.len()
            && self.geoms.iter().zip(&other.geoms).all(|(a, b)| geom(a, b))
            && self.roles.iter().zip(&other.roles).all(|(a, b)| role(a, b))
            && self.may_touch == other.may_touch
            && self.springs().eq(other.springs())
            && self.pads == other.pads
    }

    /// Runs all samples of `input` and their derivatives with respect to the parameters of
    /// `changes`, on `n_threads` threads. Returns the outcome of each run. A run ends at a step
    /// that has no derivatives. Warm starts are not read.
    ///
    /// # Errors
    ///
    /// [`DerivativeError::Formulation`] and invalid lengths, before any sample is stepped.
    pub fn run_derivatives(
        &self,
        input: &BatchInput<'_>,
        changes: &[SystemChange],
        params: &StepParams,
        n_threads: usize,
        out: RunDerivatives<'_>,
    ) -> Result<Vec<Result<(), DerivativeError>>, DerivativeError> {
        let RunDerivatives { q, by } = out;
        params.check_differentiable()?;
        self.check_surfaces()?;
        params.check().map_err(StepError::from)?;
        self.check_batch(input, q.len())?;
        let (n, rows) = (input.n_samples, input.n_samples * input.n_steps);
        let n_q = self.model.n_q();
        for (what, got, want) in
            [("q", q.len(), rows * n_q), ("by", by.len(), rows * changes.len() * n_q)]
        {
            if got != want {
                return Err(DerivativeError::Length { what, got, want });
            }
        }
        q.fill(f64::NAN);
        by.fill(f64::NAN);
        let mut outcomes = vec![Ok(()); n];
        // without parameters or coordinates, rows are empty
        let mut q = q.chunks_mut((q.len() / n.max(1)).max(1));
        let mut by = by.chunks_mut((by.len() / n.max(1)).max(1));
        let jobs = outcomes.iter_mut().enumerate().map(|(index, outcome)| {
            let (q, by) = (q.next().unwrap_or_default(), by.next().unwrap_or_default());
            Job { index, q, by, outcome }
        });
        spread(jobs.collect(), n_threads, None, || {
            |job: Job<'_>, _: bool| {
                let Job { index, q, by, outcome } = job;
                // a panic ends one run, not all
                let run = AssertUnwindSafe(|| {
                    self.differentiate_run(input, changes, params, index, q, by)
                });
                *outcome = catch_unwind(run).unwrap_or(Err(DerivativeError::NotPrepared));
            }
        });
        Ok(outcomes)
    }

    fn differentiate_run(
        &self,
        input: &BatchInput<'_>,
        changes: &[SystemChange],
        params: &StepParams,
        index: usize,
        q: &mut [f64],
        by: &mut [f64],
    ) -> Result<(), DerivativeError> {
        let (n_q, n_v) = (self.model.n_q(), self.model.n_v());
        let (n_cmd, n_rate) = (self.n_cmd(), self.n_cmd_v());
        let q_cmd = own_part(input.q_cmd, index, input.n_steps * n_cmd);
        let v_cmd = own_part(input.v_cmd, index, input.n_steps * n_rate);
        let wrenches = own_part(input.wrenches, index, input.n_steps);
        let tau = own_part(input.tau, index, input.n_steps * n_v);
        let mut state = State::at_rest(input.time, own_part(input.q, index, n_q).to_vec());
        state.attached = own_list(input.attached, index).to_vec();
        let carried = params.formulation.carries_velocity();
        if carried {
            state.v = own_part(input.v, index, n_v).to_vec();
        }
        let mut run = Propagated {
            system: self,
            changes,
            derivatives: self.create_derivatives(),
            dx: vec![(vec![0.0; n_v], Vec::new()); changes.len()],
            out: OutputChange::default(),
        };
        let mut work = params.sizes.map(|_| self.create_workspace());
        for k in 0..input.n_steps {
            let part = |all: &[f64], n: usize| all.get(k * n..(k + 1) * n).unwrap_or(&[]).to_vec();
            let row = StepInput {
                q_cmd: part(q_cmd, n_cmd),
                v_cmd: part(v_cmd, n_rate),
                wrenches: wrenches.get(k).cloned().unwrap_or_default(),
                tau: part(tau, n_v),
            };
            match &mut work {
                None => {
                    run.push(&mut state, &row, params)?;
                    state.time = crate::step::end_of_step(state.time, params.time_step);
                }
                Some(work) => {
                    self.cover_row_with(&mut run, &mut state, &row, (input.every, params), work)?;
                }
            }
            for (p, (dq, _)) in run.dx.iter().enumerate() {
                let row = (k * changes.len() + p) * n_q;
                self.model.coordinate_change(&state.q, dq, &mut by[row..row + n_q]);
            }
            q[k * n_q..(k + 1) * n_q].copy_from_slice(&state.q);
        }
        Ok(())
    }

    /// Covers a row in steps by tolerance, and differentiates each at the size that was taken.
    fn cover_row_with(
        &self,
        run: &mut Propagated<'_>,
        state: &mut State,
        row: &StepInput,
        (every, params): (Option<f64>, &StepParams),
        work: &mut Workspace,
    ) -> Result<(), DerivativeError> {
        let mut from = state.clone();
        self.cover_row(state, row, every, params, work, &mut |pair, end| {
            for step in pair {
                let own = StepParams { time_step: step.report.time_step, ..params.clone() };
                run.push(&mut from, &step.input, &own)?;
                from.time = step.state.time;
            }
            end.clone_from(&from);
            Ok(())
        })
    }
}

/// A run that is differentiated: the change of its state with each parameter.
struct Propagated<'a> {
    system: &'a System,
    changes: &'a [SystemChange],
    derivatives: Derivatives,
    /// Changes of `q`, on the tangent space, and of `v`.
    dx: Vec<(Vec<f64>, Vec<f64>)>,
    out: OutputChange,
}

impl Propagated<'_> {
    /// Takes a step from `state`, and its derivatives; the time stays.
    fn push(
        &mut self,
        state: &mut State,
        input: &StepInput,
        params: &StepParams,
    ) -> Result<(), DerivativeError> {
        let Self { system, changes, derivatives, dx, out } = self;
        let carried = params.formulation.carries_velocity();
        system.differentiate(state, input, params, Mode::Exact, derivatives)?;
        // what is found at a start that does not move does not move either
        if dx.iter().any(|(dq, _)| dq.iter().any(|d| *d != 0.0)) {
            derivatives.check_found(
                "within the run, and holds what it finds there; begin the run where it attaches, or give it frames",
            )?;
        }
        state.attached = derivatives.attached().to_vec();
        state.q.copy_from_slice(derivatives.q_next());
        if carried {
            state.v.clone_from(&derivatives.report().v);
        }
        for (change, (dq, dv)) in changes.iter().zip(dx) {
            // each substep has contacts of its own
            let of = |part: &Derivatives| change.of_step(system, part, (dq.clone(), dv.clone()));
            derivatives.jvp_of(system, &of, false, out)?;
            dq.clone_from(&out.q_next);
            if carried {
                dv.clone_from(&out.v);
            }
        }
        Ok(())
    }
}

impl SystemChange {
    /// Change of a step's inputs per unit of the parameter, with the change of its start state.
    fn of_step(
        &self,
        system: &System,
        derivatives: &Derivatives,
        (q, v): (Vec<f64>, Vec<f64>),
    ) -> Result<InputChange, DerivativeError> {
        let mut change = InputChange { q, v, ..self.input.clone() };
        for contact in &derivatives.report().contacts {
            let pair = (contact.geom_a as usize, contact.geom_b as usize);
            let of = |system: &System| system.friction(pair.0, pair.1);
            let (base, less, more) = (of(system), of(&self.less), of(&self.more));
            let numbers = |f: &Friction| [f.mu, f.mu_spin, f.mu_roll, f.compliance, f.foundation];
            let (at, a, b) = (numbers(&base), numbers(&less), numbers(&more));
            let d = [0, 1, 2, 3, 4].map(|k| (b[k] - a[k]) * self.per);
            // a coefficient of zero has no row, and a change of the patch law has no derivative
            let begins = (0..5).any(|k| at[k] == 0.0 && d[k] != 0.0);
            let law = |f: &Friction| (f.patch, f.spin_is_given, f.axes);
            let other = |f: &Friction| law(f) != law(&base);
            if begins || other(&less) || other(&more) {
                return Err(DerivativeError::Begins);
            }
            change.friction.extend(&d[..3]);
            // compliance of a foundation point depends on its area, that of other contacts on the
            // pair
            let own = contact.friction.compliance;
            let of_bed = at[4] > 0.0 && own != at[3];
            change.compliance.push(if of_bed { -own * d[4] / at[4] } else { d[3] });
        }
        Ok(change)
    }
}
