//! The model-predictive controller. Start reading in [`Mpc::plan_until`].

#![allow(non_snake_case)] // letters of MpcNote

use crate::constraint::{AtStep, Constraint, Relaxed};
use crate::error::ProblemError;
use crate::horizon::{Horizon, Start};
use crate::lcs::{Lcs, Reduced, Unit};
use crate::plan::{Plan, PlanStatus};
use crate::problem::Problem;
use crate::problem::Relax;
use crate::reach::Reach;
use crate::rollout::{Rollout, dot};
use quasistep_qp::{Hooks, MiqpSettings, MiqpSolution, MiqpSolver, MiqpStatus};

/// A start state that violates its bounds by less than this, relative to the bound, counts as
/// feasible.
const INSIDE: f64 = 1e-7;

/// Violations below this count as rounding.
const RELAXED: f64 = 1e-9;

/// Settings of the search for plans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MpcSettings {
    /// A plan counts as optimal if its cost exceeds the lower bound by at most this, in units of
    /// the cost. Default 1e-9.
    pub absolute_gap: f64,
    /// Largest number of nodes; 0 (the default) for no limit.
    pub max_nodes: u64,
    /// Extent of the search. Default [`Search::Global`].
    pub search: Search,
}

/// Extent of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// Searches until the plan is proven optimal, or a limit is reached.
    #[default]
    Global,
    /// Local search: modes from a rollout, the best plan for these modes, repeated while the cost
    /// falls. For systems too large to certify. The lower bound is that of the relaxation.
    Local,
}

impl Default for MpcSettings {
    fn default() -> Self {
        Self { absolute_gap: 1e-9, max_nodes: 0, search: Search::Global }
    }
}

/// A model-predictive controller: a problem, and memory for its searches.
#[derive(Debug)]
pub struct Mpc {
    problem: Problem,
    pub(crate) settings: MpcSettings,
    reduced: Vec<Reduced>,
    reach: Reach,
    horizon: Horizon,
    rollout: Rollout,
    solver: MiqpSolver,
    solution: MiqpSolution,
}

impl Mpc {
    /// Creates a controller for a problem.
    ///
    /// # Errors
    ///
    /// The first invalid part of the problem.
    pub fn new(problem: Problem, settings: MpcSettings) -> Result<Self, ProblemError> {
        problem.check()?;
        let reduced: Vec<Reduced> = problem.models.iter().map(Reduced::of).collect();
        let reach = Reach::new(&problem, &reduced);
        Ok(Self {
            problem,
            settings,
            reduced,
            reach,
            horizon: Horizon::default(),
            rollout: Rollout::default(),
            solver: MiqpSolver::new(),
            solution: MiqpSolution::default(),
        })
    }

    /// The control problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Replaces the goal states: one state, or `N + 1` states of a trajectory from the present time
    /// on.
    ///
    /// # Errors
    ///
    /// A length is wrong, or a number is not finite. The goal is then unchanged.
    pub fn set_goal(&mut self, goal: Vec<Vec<f64>>) -> Result<(), ProblemError> {
        self.problem.check_goal(&goal)?;
        self.problem.cost.goal = goal;
        Ok(())
    }

    /// Replaces the models: one, or one for every step of the horizon. Earlier plans remain valid
    /// warm starts if the new models have the same contacts.
    ///
    /// # Errors
    ///
    /// The first model that does not fit. The models are then unchanged.
    pub fn set_models(&mut self, models: Vec<Lcs>) -> Result<(), ProblemError> {
        let old = std::mem::replace(&mut self.problem.models, models);
        if let Err(error) = self.problem.check() {
            self.problem.models = old;
            return Err(error);
        }
        self.reduced = self.problem.models.iter().map(Reduced::of).collect();
        self.reach = Reach::new(&self.problem, &self.reduced);
        Ok(())
    }

    /// Plans from the state `x0`.
    ///
    /// `warm` is the plan of the last step. The search starts from it, and its first input is the
    /// one applied last, which bounds on changes of inputs need.
    ///
    /// # Errors
    ///
    /// `x0` has a wrong length or a number that is not finite. An infeasible problem is not an
    /// error; see [`Plan::status`].
    pub fn plan(&mut self, x0: &[f64], warm: Option<&Plan>) -> Result<Plan, ProblemError> {
        self.plan_until(x0, warm, &mut || false)
    }

    /// Variant of [`plan`](Self::plan) that ends when `stop` returns true, with the best plan so
    /// far and its gap.
    ///
    /// `stop` is called between quadratic programs. It may read a clock, which this crate does not.
    ///
    /// # Errors
    ///
    /// See [`plan`](Self::plan).
    pub fn plan_until(
        &mut self,
        x0: &[f64],
        warm: Option<&Plan>,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Plan, ProblemError> {
        ProblemError::check_numbers("x0", x0, self.problem.n_x())?;
        let warm = warm.filter(|w| self.fits(w));
        let outside = self.start_outside(x0);
        if !outside.is_empty() && !self.problem.bounds.state.is_soft() {
            let mut plan = Plan::empty();
            plan.conflict = outside.iter().map(|r| r.at).collect();
            return Ok(plan);
        }
        let mut plan = self.search(x0, warm, Relax::Nothing, stop);
        if plan.status == PlanStatus::Infeasible {
            if self.has_soft_bounds() {
                plan = self.search(x0, warm, Relax::Soft, stop);
            }
            if plan.status == PlanStatus::Infeasible {
                self.explain(x0, warm, &mut plan);
            }
        }
        plan.relaxed.splice(0..0, outside);
        Ok(plan)
    }

    /// Plans, applies the first input to the model itself, and plans again from the resulting
    /// state.
    ///
    /// Returns `steps` plans. If a plan is not usable, the list ends with it.
    ///
    /// # Errors
    ///
    /// See [`plan`](Self::plan).
    pub fn receding_horizon(
        &mut self,
        x0: &[f64],
        steps: usize,
    ) -> Result<Vec<Plan>, ProblemError> {
        let mut plans: Vec<Plan> = Vec::with_capacity(steps);
        let mut x = x0.to_vec();
        while plans.len() < steps {
            let plan = self.plan(&x, plans.last())?;
            let next = plan.states.get(1).cloned();
            plans.push(plan);
            match next {
                Some(next) => x = next,
                None => break,
            }
        }
        Ok(plans)
    }

    /// Contacts and pairs that can act within the horizon from `x0`, by their entry of `gamma` (for
    /// a contact, the normal impulse). All others are left out of the search.
    ///
    /// # Errors
    ///
    /// See [`plan`](Self::plan).
    pub fn reachable(&mut self, x0: &[f64]) -> Result<Vec<AtStep>, ProblemError> {
        ProblemError::check_numbers("x0", x0, self.problem.n_x())?;
        let (problem, reduced, reach) = self.reached(x0, None, Relax::Nothing);
        let mut found = Vec::new();
        for (k, step) in reach.steps.iter().enumerate() {
            for (index, unit) in reduced[problem.place(k)].units.iter().enumerate() {
                if step.possible(index) {
                    let constraint = Constraint::Contact(match *unit {
                        Unit::Contact { contact, .. } => contact.normal,
                        Unit::Pair { gamma, .. } => gamma,
                    });
                    found.push(AtStep { step: k + 1, constraint });
                }
            }
        }
        Ok(found)
    }

    /// Number of variables and of discrete choices in the program from `x0`, without contacts that
    /// cannot act.
    ///
    /// # Errors
    ///
    /// See [`plan`](Self::plan).
    pub fn size(&mut self, x0: &[f64]) -> Result<(usize, usize), ProblemError> {
        ProblemError::check_numbers("x0", x0, self.problem.n_x())?;
        self.build(x0, None, Relax::Nothing, self.problem.horizon);
        Ok((self.horizon.n, self.horizon.active.len()))
    }

    /// Bounds of the state that `x0` violates, with the sizes of the violations. If a hard bound is
    /// violated there is no plan.
    ///
    /// # Errors
    ///
    /// See [`plan`](Self::plan).
    pub fn outside(&self, x0: &[f64]) -> Result<Vec<Relaxed>, ProblemError> {
        ProblemError::check_numbers("x0", x0, self.problem.n_x())?;
        Ok(self.start_outside(x0))
    }

    /// Runs one search: reach, program, warm starts, branch and bound, recovery of the plan.
    pub(crate) fn search(
        &mut self,
        x0: &[f64],
        warm: Option<&Plan>,
        relax: Relax,
        stop: &mut dyn FnMut() -> bool,
    ) -> Plan {
        self.build(x0, warm, relax, self.problem.horizon);
        let (shifted, rolled) = self.starts(x0, warm);
        let starts: Vec<&[u8]> =
            [&shifted, &rolled].into_iter().flatten().map(Vec::as_slice).collect();
        let local = self.settings.search == Search::Local;
        let settings = MiqpSettings {
            absolute_gap: self.settings.absolute_gap,
            max_nodes: if local { 1 } else { self.settings.max_nodes },
            probing: !local,
            ..MiqpSettings::default()
        };
        let (problem, reduced, horizon) = (&self.problem, &self.reduced, &self.horizon);
        let rollout = &mut self.rollout;
        let mut propose = |y: &[f64], modes: &mut [u8]| {
            let inputs = |k: usize, j: usize| y[horizon.inputs[k] + j];
            rollout.modes(problem, reduced, horizon, x0, inputs, modes)
        };
        let mut hooks = Hooks { starts: &starts, stop: Some(stop), propose: Some(&mut propose) };
        self.solver.solve(&horizon.miqp(), &settings, &mut hooks, &mut self.solution);
        self.recover(x0)
    }

    fn build(&mut self, x0: &[f64], warm: Option<&Plan>, relax: Relax, steps: usize) {
        let last = warm.and_then(|w| w.inputs.first()).map(Vec::as_slice);
        self.reach.propagate(&self.problem, &self.reduced, x0, last, relax);
        let start = Start { x: x0, last_input: last };
        self.horizon.build(&self.problem, &self.reduced, &self.reach, start, relax, steps);
    }

    /// Computes the reach from `x0`.
    pub(crate) fn reached(
        &mut self,
        x0: &[f64],
        last_input: Option<&[f64]>,
        relax: Relax,
    ) -> (&Problem, &[Reduced], &Reach) {
        self.reach.propagate(&self.problem, &self.reduced, x0, last_input, relax);
        (&self.problem, &self.reduced, &self.reach)
    }

    /// Warm-start modes: those of the last plan shifted by one step, and those of a rollout of its
    /// inputs from `x0`.
    fn starts(&mut self, x0: &[f64], warm: Option<&Plan>) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let Some(warm) = warm else { return (None, None) };
        let last = warm.inputs.len() - 1;
        let active = &self.horizon.active;
        let shifted = active.iter().map(|a| warm.modes[(a.step + 1).min(last)][a.unit]).collect();
        let mut rolled = vec![0; active.len()];
        let inputs = |k: usize, j: usize| warm.inputs[(k + 1).min(last)][j];
        let ok = self.rollout.modes(
            &self.problem,
            &self.reduced,
            &self.horizon,
            x0,
            inputs,
            &mut rolled,
        );
        (Some(shifted), ok.then_some(rolled))
    }

    /// True if a plan has the dimensions of this problem.
    pub(crate) fn fits(&self, warm: &Plan) -> bool {
        let units = |k: usize| self.reduced[self.problem.place(k)].units.len();
        warm.is_usable()
            && warm.inputs.len() == self.problem.horizon
            && warm.inputs.iter().all(|u| u.len() == self.problem.n_u())
            && warm.modes.len() == self.problem.horizon
            && warm.modes.iter().enumerate().all(|(k, m)| m.len() == units(k))
    }

    pub(crate) fn has_soft_bounds(&self) -> bool {
        let bounds = &self.problem.bounds;
        bounds.state.is_soft() || bounds.input.is_soft() || bounds.input_rate.is_soft()
    }

    /// Bounds of the state that the start violates.
    fn start_outside(&self, x0: &[f64]) -> Vec<Relaxed> {
        let limits = &self.problem.bounds.state;
        let mut outside = Vec::new();
        for (i, &x) in x0.iter().enumerate() {
            for (amount, level, constraint) in [
                (limits.lower(i) - x, limits.lower(i), Constraint::StateLower(i)),
                (x - limits.upper(i), limits.upper(i), Constraint::StateUpper(i)),
            ] {
                if amount > INSIDE * level.abs().max(1.0) {
                    outside.push(Relaxed { at: AtStep { step: 0, constraint }, amount });
                }
            }
        }
        outside
    }

    /// Converts the solution to a plan.
    fn recover(&mut self, x0: &[f64]) -> Plan {
        let (solution, horizon) = (&self.solution, &self.horizon);
        let mut plan = Plan::empty();
        plan.status = match solution.status {
            MiqpStatus::Optimal => PlanStatus::Optimal,
            MiqpStatus::Feasible(limit) => PlanStatus::Feasible(limit),
            MiqpStatus::Infeasible => PlanStatus::Infeasible,
            MiqpStatus::Unknown(limit) => PlanStatus::Unknown(limit),
            MiqpStatus::Failed(reason) => PlanStatus::Failed(reason),
        };
        plan.nodes = solution.nodes;
        plan.qps = solution.qps;
        plan.pivots = solution.pivots;
        plan.size = (horizon.n, horizon.active.len());
        plan.cost = solution.cost + horizon.constant;
        plan.bound = solution.bound + horizon.constant;
        plan.root = solution.root + horizon.constant;
        plan.first = solution.first + horizon.constant;
        plan.conflict = self.named(&solution.conflict);
        if !solution.cost.is_finite() {
            return plan;
        }
        let y = &solution.x;
        let n_u = self.problem.n_u();
        plan.states.push(x0.to_vec());
        let mut x = Vec::new();
        let mut first = 0;
        for k in 0..horizon.steps {
            horizon.state(k + 1, y, &mut x);
            plan.states.push(x.clone());
            plan.inputs.push(y[horizon.inputs[k]..horizon.inputs[k] + n_u].to_vec());
            let r = &self.reduced[self.problem.place(k)];
            let mut reduced = vec![0.0; r.n_r];
            let mut modes = vec![0; r.units.len()];
            while let Some(a) = horizon.active.get(first).filter(|a| a.step == k) {
                let unit = &r.units[a.unit];
                reduced[unit.variable()..unit.variable() + unit.len()]
                    .copy_from_slice(&y[a.variable..a.variable + unit.len()]);
                modes[a.unit] = solution.modes[first];
                first += 1;
            }
            plan.impulses.push(self.gamma(k, &x, &reduced));
            plan.modes.push(modes);
        }
        for &(variable, at) in &horizon.slacks {
            if y[variable] > RELAXED {
                plan.relaxed.push(Relaxed { at, amount: y[variable] });
            }
        }
        plan
    }

    /// The full `gamma` at step `k`: `beta±` are the positive and negative parts of `t`, `lambda =
    /// |v_t|`.
    fn gamma(&self, k: usize, x: &[f64], reduced: &[f64]) -> Vec<f64> {
        let at = self.problem.place(k);
        let r = &self.reduced[at];
        let mut gamma = vec![0.0; self.problem.models[at].n_gamma];
        for unit in &r.units {
            match *unit {
                Unit::Contact { variable, row, contact } => {
                    let t = reduced[variable + 1];
                    let D = &r.D[(row + 1) * x.len()..(row + 2) * x.len()];
                    let E = &r.E[(row + 1) * r.n_r..(row + 2) * r.n_r];
                    let v_t = r.a[row + 1] + dot(D, x) + dot(E, reduced);
                    gamma[contact.normal] = reduced[variable];
                    gamma[contact.tangents[0]] = t.max(0.0);
                    gamma[contact.tangents[1]] = (-t).max(0.0);
                    gamma[contact.slip] = v_t.abs();
                }
                Unit::Pair { variable, gamma: i, .. } => gamma[i] = reduced[variable],
            }
        }
        gamma
    }

    /// Constraints of rows, each once, in order of time.
    fn named(&self, rows: &[u32]) -> Vec<AtStep> {
        let mut names: Vec<AtStep> = rows.iter().map(|&i| self.horizon.tags[i as usize]).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Explains why there is no plan: which bounds must be relaxed or, if relaxing bounds does not
    /// suffice, from which step on the contacts have no solution.
    fn explain(&mut self, x0: &[f64], warm: Option<&Plan>, plan: &mut Plan) {
        if self.solution.root_infeasible {
            return;
        }
        let settings = MiqpSettings { absolute_gap: 1e-6, ..MiqpSettings::default() };
        for steps in 1..=self.problem.horizon {
            self.build(x0, warm, Relax::All, steps);
            let horizon = &self.horizon;
            self.solver.solve(
                &horizon.miqp(),
                &settings,
                &mut Hooks::default(),
                &mut self.solution,
            );
            let give_way: Vec<AtStep> = match self.solution.status {
                MiqpStatus::Infeasible => self.named(&self.solution.conflict),
                MiqpStatus::Optimal => horizon
                    .slacks
                    .iter()
                    .filter(|(variable, _)| self.solution.x[*variable] > 1e-6)
                    .map(|(_, at)| *at)
                    .collect(),
                _ => continue,
            };
            if !give_way.is_empty() {
                plan.conflict = give_way;
                return;
            }
        }
    }
}
