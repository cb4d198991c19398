//! The local planner: quadratic programs along relaxed rollouts, with a line search on the step
//! itself.

use crate::goal::Goal;
use crate::horizon::{Along, Horizon, Within};
use crate::random::Random;
use crate::rollout::{From, World, draw, least};
use quasistep::{BatchInput, Mode, RunDerivatives, RunMatrices, RunMode};
use quasistep_model::Kinematics;

/// Settings of the local planner.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalSettings {
    /// Number of steps of the horizon, ≥ 1.
    pub horizon: usize,
    /// `kappa` of each program of an improvement, in J, > 0: [`Mode::Smooth`].
    pub kappa: Vec<f64>,
    /// Largest change of a command by one program, in m or rad, > 0.
    pub region: f64,
    /// Whether programs also keep the linearised impulses of contacts within what the relaxed step
    /// allows: the contact trust region (Suh et al. 2025).
    pub contact_region: bool,
    /// Whether shares of a change are tried on the step itself, and the best is taken.
    pub line_search: bool,
    /// Number of random changes that are tried on the step itself where no program finds a better
    /// one.
    pub samples: usize,
    /// Seed of the random changes.
    pub seed: u64,
}

impl Default for LocalSettings {
    fn default() -> Self {
        Self {
            horizon: 10,
            kappa: vec![1e-2, 1e-3, 1e-4],
            region: 0.1,
            contact_region: false,
            line_search: true,
            samples: 32,
            seed: 0,
        }
    }
}

/// Share by which programs must lower the cost; if not, random changes are tried.
const PROGRESS: f64 = 0.01;

/// Shares of a change that the line search tries.
const SHARES: [f64; 4] = [1.0, 0.5, 0.25, 0.1];

/// Memory of the local planner.
#[derive(Debug)]
pub struct Local {
    settings: LocalSettings,
    horizon: Horizon,
    random: Random,
    kin: Kinematics,
    q: Vec<f64>,
    by_q: Vec<f64>,
    by_u: Vec<f64>,
    errors: Vec<(Vec<f64>, Vec<f64>)>,
}

impl Local {
    pub fn new(world: &World<'_>, settings: LocalSettings) -> Self {
        let kin = world.system.model().create_kinematics();
        let (q, by_q, by_u, errors) = <(Vec<f64>, Vec<f64>, Vec<f64>, Vec<_>)>::default();
        let random = Random::new(settings.seed);
        Self { settings, random, horizon: Horizon::default(), kin, q, by_q, by_u, errors }
    }

    /// Improves the commands `u` of the next steps. Returns their cost.
    pub fn improve(&mut self, world: &World<'_>, from: &From, goal: &Goal, u: &mut [f64]) -> f64 {
        let (steps, region) = (self.settings.horizon, self.settings.region);
        let first = world.costs(from, goal, u, steps, region)[0];
        let mut best = first;
        for k in 0..self.settings.kappa.len() {
            let kappa = self.settings.kappa[k];
            let Some(changes) = self.program(world, from, goal, u, kappa) else { continue };
            let shares = if self.settings.line_search { &SHARES[..] } else { &SHARES[..1] };
            let tries: Vec<f64> = shares
                .iter()
                .flat_map(|share| u.iter().zip(&changes).map(move |(u, du)| u + share * du))
                .collect();
            let costs = world.costs(from, goal, &tries, steps, region);
            let (at, cost) = least(&costs);
            if cost < best || !self.settings.line_search && cost.is_finite() {
                best = cost;
                let n = u.len();
                u.copy_from_slice(&tries[at * n..(at + 1) * n]);
            }
        }
        if self.settings.samples > 0 && !(best < first * (1.0 - PROGRESS)) {
            let deviations = vec![region / (steps as f64).sqrt(); u.len()];
            let tries =
                draw(world, from, u, (self.settings.samples, &deviations), &mut self.random);
            let costs = world.costs(from, goal, &tries, steps, region);
            let (at, cost) = least(&costs);
            if cost < best {
                best = cost;
                let n = u.len();
                u.copy_from_slice(&tries[at * n..(at + 1) * n]);
            }
        }
        best
    }

    /// Changes of the commands by one program along their relaxed rollout.
    fn program(
        &mut self,
        world: &World<'_>,
        from: &From,
        goal: &Goal,
        u: &[f64],
        kappa: f64,
    ) -> Option<Vec<f64>> {
        let (system, steps) = (world.system, self.settings.horizon);
        let (n_q, n_v, n_u) = (system.model().n_q(), system.model().n_v(), system.n_cmd());
        let Self { q, by_q, by_u, errors, kin, horizon, settings, .. } = self;
        for (all, size) in [(&mut *q, n_q), (&mut *by_q, n_v * n_v), (&mut *by_u, n_v * n_u)] {
            all.clear();
            all.resize(steps * size, 0.0);
        }
        let input = BatchInput {
            n_samples: 1,
            n_steps: steps,
            time: from.state.time,
            q: &from.state.q,
            q_cmd: u,
            ..BatchInput::default()
        };
        let matrices = Some(RunMatrices { by_x: by_q, by_q_cmd: by_u, by_parameters: &mut [] });
        let out = RunDerivatives { q, by: &mut [], matrices };
        let impulses = settings.contact_region;
        let mode = RunMode { mode: Mode::Smooth { kappa }, contacts: false, impulses };
        let outcomes = system.run_derivatives(&input, &[], world.params, mode, 1, out).ok()?;
        if outcomes[0].error.is_some() {
            return None;
        }
        errors.resize(steps, Default::default());
        for (q, (e, J)) in q.chunks_exact(n_q).zip(&mut *errors) {
            system.model().kinematics(q, kin);
            goal.linearise(system, (q, kin), e, J);
        }
        let along = Along { n_v, by_q, by_u, errors, q, impulses: &outcomes[0].impulses };
        let (task, before, h) = (world.task, &from.before[..], world.params.time_step);
        let within = Within { task, u, before, h, region: settings.region };
        horizon.solve(&along, &within).map(<[f64]>::to_vec)
    }
}
