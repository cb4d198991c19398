//! Rollouts of commands by the step itself, and their costs.

use crate::goal::Goal;
use crate::random::Random;
use crate::task::Task;
use quasistep::{BatchInput, BatchKeep, State, StepParams, System, WarmStart};

/// Share of the deviations that every second sample has.
const FINE: f64 = 0.2;

/// What all rollouts of a planner share.
#[derive(Clone, Copy, Debug)]
pub struct World<'a> {
    pub system: &'a System,
    pub params: &'a StepParams,
    pub task: &'a Task,
    pub threads: usize,
}

/// A state from which commands are rolled out.
#[derive(Clone, Debug)]
pub struct From {
    pub state: State,
    pub warm: WarmStart,
    /// Command before the first.
    pub before: Vec<f64>,
}

impl World<'_> {
    /// Costs of several sequences of commands, each of `steps` rows; infinite if a step has no
    /// answer. `effort` is the unit of changes of commands, in m or rad.
    pub fn costs(
        &self,
        from: &From,
        goal: &Goal,
        u: &[f64],
        steps: usize,
        effort: f64,
    ) -> Vec<f64> {
        let (system, n_u) = (self.system, self.system.n_cmd());
        let n = u.len() / (steps * n_u);
        let n_q = system.model().n_q();
        let warm = vec![from.warm.clone(); n];
        let input = BatchInput {
            n_samples: n,
            n_steps: steps,
            time: from.state.time,
            q: &from.state.q,
            v: &from.state.v,
            q_cmd: u,
            warm: &warm,
            ..BatchInput::default()
        };
        let mut q = vec![0.0; n * steps * n_q];
        let outcomes = system.step_batch(
            &input,
            self.params,
            BatchKeep::default(),
            self.threads,
            &mut q,
            None,
        );
        let Ok(outcomes) = outcomes else { return vec![f64::INFINITY; n] };
        let cost = |sample: usize| {
            if outcomes[sample].error.is_some() {
                return f64::INFINITY;
            }
            let rows = &q[sample * steps * n_q..(sample + 1) * steps * n_q];
            let leaves = |q: &[f64]| self.task.states.iter().any(|bound| bound.excess(q) > 0.0);
            if rows.chunks_exact(n_q).any(leaves) {
                return f64::INFINITY;
            }
            let of_states: f64 = rows
                .chunks_exact(n_q)
                .enumerate()
                .map(|(k, q)| if k + 1 == steps { self.task.at_end } else { 1.0 } * goal.cost(system, q))
                .sum();
            let own = &u[sample * steps * n_u..(sample + 1) * steps * n_u];
            let before = from.before.iter().chain(own);
            let changes: f64 =
                own.iter().zip(before).map(|(u, last)| ((u - last) / effort).powi(2)).sum();
            of_states + 0.5 * self.task.effort * changes
        };
        (0..n).map(cost).collect()
    }
}

/// Draws samples of commands about `u`; the first is `u` itself. Changes from step to step are
/// independent, with the given deviations, so that commands wander. Every second sample has a part of
/// them, which places a body exactly.
pub fn draw(
    world: &World<'_>,
    from: &From,
    u: &[f64],
    (samples, deviations): (usize, &[f64]),
    random: &mut Random,
) -> Vec<f64> {
    let n_u = world.system.n_cmd();
    let mut all = u.to_vec();
    for sample in 1..samples {
        let size = if sample % 2 == 0 { FINE } else { 1.0 };
        let first = all.len();
        let mut sum = vec![0.0; n_u];
        for (i, u) in u.iter().enumerate() {
            sum[i % n_u] += size * deviations[i] * random.normal();
            all.push(u + sum[i % n_u]);
        }
        within(world, from, &mut all[first..]);
    }
    all
}

/// Brings commands within their bounds and rates, step by step.
pub fn within(world: &World<'_>, from: &From, u: &mut [f64]) {
    let (n_u, h) = (world.system.n_cmd(), world.params.time_step);
    for i in 0..u.len() {
        let last = if i < n_u { from.before[i] } else { u[i - n_u] };
        let most = world.task.rates[i % n_u] * h;
        let [lower, upper] = world.task.commands[i % n_u];
        // bounds come last, unless the command before is outside of them
        u[i] = u[i].clamp(last - most, last + most).clamp(lower.min(last), upper.max(last));
    }
}

/// Index and value of the least cost.
pub fn least(costs: &[f64]) -> (usize, f64) {
    let all = costs.iter().copied().enumerate();
    all.fold((0, f64::INFINITY), |best, (k, cost)| if cost < best.1 { (k, cost) } else { best })
}
