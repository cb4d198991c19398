//! New grasps on the way to a goal: drawn at random, and reached on a path of the joints that keeps
//! clear of all bodies.

use crate::grasp::{GraspSampler, GraspSettings};
use crate::joint_path::{PathSettings, path_commands};
use crate::random::Random;
use crate::rollout::{From, World};
use quasistep::State;

/// Number of random configurations for a grasp.
const TRIES: usize = 10;
/// Number of random configurations for a path.
const SAMPLES: usize = 200;

/// A state from which a new grasp is sought.
pub struct Regrasp<'a> {
    world: World<'a>,
    from: From,
    settings: &'a GraspSettings,
    sampler: GraspSampler<'a>,
}

impl<'a> Regrasp<'a> {
    /// Draws one of the grasps that the task permits.
    pub fn new(world: World<'a>, from: From, random: &mut Random) -> Self {
        let all = &world.task.grasps;
        let settings = &all[(random.unit() * all.len() as f64) as usize];
        let sampler = GraspSampler::new(world.system, settings.clone(), random.next());
        Self { world, from, settings, sampler }
    }

    /// The state with the joints at a grasp; none if none is found.
    pub fn draw(&mut self) -> Option<From> {
        let system = self.world.system;
        let q = self.sampler.sample(&self.from.state.q, TRIES).ok()??;
        let warm = system.create_workspace().warm_start();
        let before = system.command_at(&q);
        Some(From { state: State::at_rest(self.from.state.time, q), warm, before })
    }

    /// Commands that lead the joints to a grasp, one row a step, each taken in so many smaller steps;
    /// none if no path is found.
    pub fn commands(&self, grasp: &From, divisions: usize, seed: u64) -> Option<Vec<f64>> {
        let World { system, params, task, .. } = self.world;
        let settings = PathSettings {
            margin: self.settings.clearance,
            bounds: task.commands.clone(),
            rates: task.rates.clone(),
            samples: SAMPLES,
            seed,
        };
        let start = (&self.from.state.q[..], &self.from.before[..]);
        path_commands(system, params, start, &grasp.state.q, &settings, divisions).ok()
    }
}
