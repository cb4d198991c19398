//! Sampling planners: commands drawn at random, rolled out by the step itself, and averaged by
//! their costs.
//!
//! Model-predictive path integral control (MPPI; Williams et al. 2017) weights all samples by
//! `exp(−cost/temperature)`. The cross-entropy method (CEM) fits mean and deviation to the best.

use crate::goal::Goal;
use crate::random::Random;
use crate::rollout::{From, World, draw, least, within};

/// Settings of the sampling planners.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingSettings {
    /// Which average is taken.
    pub average: Average,
    /// Number of steps of the horizon, ≥ 1.
    pub horizon: usize,
    /// Number of samples, ≥ 2.
    pub samples: usize,
    /// Number of rounds of an improvement, ≥ 1.
    pub rounds: usize,
    /// Deviation of the change of a command from step to step, in m or rad, > 0.
    pub deviation: f64,
    /// Seed of the samples.
    pub seed: u64,
}

/// How samples become commands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Average {
    /// Weights `exp(−(cost − least)/temperature)`; the temperature is this share of the spread of
    /// the better half of the costs.
    PathIntegral(f64),
    /// Mean and deviation of this share of the samples, the best ones.
    CrossEntropy(f64),
}

impl Default for SamplingSettings {
    fn default() -> Self {
        let average = Average::PathIntegral(0.1);
        Self { average, horizon: 12, samples: 96, rounds: 2, deviation: 0.01, seed: 0 }
    }
}

/// Memory of a sampling planner.
#[derive(Debug)]
pub struct Sampling {
    settings: SamplingSettings,
    random: Random,
    /// Deviations of the changes of every command in every step.
    deviations: Vec<f64>,
}

impl Sampling {
    pub fn new(settings: SamplingSettings) -> Self {
        Self { random: Random::new(settings.seed), settings, deviations: Vec::new() }
    }

    /// Improves the commands `u` of the next steps. Returns their cost.
    pub fn improve(&mut self, world: &World<'_>, from: &From, goal: &Goal, u: &mut [f64]) -> f64 {
        let SamplingSettings { average, horizon, samples, rounds, deviation, .. } = self.settings;
        self.deviations.clear();
        self.deviations.resize(u.len(), deviation);
        let mut best = f64::INFINITY;
        for _ in 0..rounds {
            let drawn = (samples, &self.deviations[..]);
            let tries = draw(world, from, u, drawn, &mut self.random);
            let costs = world.costs(from, goal, &tries, horizon, deviation);
            let (at, least) = least(&costs);
            let n = u.len();
            let mut mean = match average {
                Average::PathIntegral(share) => path_integral(&costs, &tries, n, share),
                Average::CrossEntropy(share) => self.cross_entropy(&costs, &tries, n, share),
            };
            within(world, from, &mut mean);
            let of_mean = world.costs(from, goal, &mean, horizon, deviation)[0];
            if of_mean <= least {
                best = of_mean;
                u.copy_from_slice(&mean);
            } else if least.is_finite() {
                best = least;
                u.copy_from_slice(&tries[at * n..(at + 1) * n]);
            }
        }
        best
    }

    fn cross_entropy(&mut self, costs: &[f64], tries: &[f64], n: usize, share: f64) -> Vec<f64> {
        let mut order: Vec<usize> = (0..costs.len()).collect();
        order.sort_by(|a, b| costs[*a].total_cmp(&costs[*b]));
        let kept = ((share * costs.len() as f64).ceil() as usize).clamp(2, costs.len());
        let best = order[..kept].iter().map(|k| &tries[k * n..(k + 1) * n]);
        let mean: Vec<f64> =
            (0..n).map(|i| best.clone().map(|u| u[i]).sum::<f64>() / kept as f64).collect();
        for (i, deviation) in self.deviations.iter_mut().enumerate() {
            let spread = best.clone().map(|u| (u[i] - mean[i]).powi(2)).sum::<f64>() / kept as f64;
            // of the change in one step
            let fresh = spread.sqrt().min(self.settings.deviation);
            *deviation = fresh.max(0.1 * self.settings.deviation);
        }
        mean
    }
}

fn path_integral(costs: &[f64], tries: &[f64], n: usize, share: f64) -> Vec<f64> {
    let mut sorted: Vec<f64> = costs.iter().copied().filter(|cost| cost.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let (Some(least), Some(middle)) = (sorted.first(), sorted.get(sorted.len() / 2)) else {
        return tries[..n].to_vec();
    };
    let temperature = share * (middle - least);
    let weight = |cost: f64| match cost - least {
        0.0 => 1.0,
        more if temperature > 0.0 && more.is_finite() => (-more / temperature).exp(),
        _ => 0.0,
    };
    let weights: Vec<f64> = costs.iter().map(|cost| weight(*cost)).collect();
    let sum: f64 = weights.iter().sum();
    let mut mean = vec![0.0; n];
    for (weight, u) in weights.iter().zip(tries.chunks_exact(n)) {
        mean.iter_mut().zip(u).for_each(|(mean, u)| *mean += weight / sum * u);
    }
    mean
}
