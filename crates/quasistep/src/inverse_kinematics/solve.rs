//! The search from all its starts, and along a path.

use super::answer::{IkAnswer, IkError, IkSettings, NotReached};
use super::path::Follower;
use super::search::Search;
use super::target::FrameTarget;
use crate::system::System;
use quasistep_model::Frame;

impl System {
    /// Joints that bring `frame` to `target`: the configuration nearest to `q0` that the search finds.
    ///
    /// Damped least squares with limits and distances as rows of a quadratic program (Levenberg and Marquardt's
    /// method), from `q0` and then from other starts; of the joints' freedom that is left, the posture nearest to
    /// `q0`. What is returned is checked anew: limits hold exactly, distances are those of the exact geometry.
    ///
    /// # Errors
    ///
    /// An argument that does not fit, or a target that is not reached: then with the nearest configuration found.
    pub fn inverse_kinematics(
        &self,
        frame: &Frame,
        target: &FrameTarget,
        q0: &[f64],
        settings: &IkSettings,
    ) -> Result<IkAnswer, IkError> {
        Search::new(self, frame, q0, settings)?.solve(target)
    }

    /// Configurations that lead `frame` along `targets`: at the first one, then at `steps` places evenly spaced on the
    /// straight line (and the rotation about one axis) from each to the next, which is the last of them.
    ///
    /// The first is found by [`inverse_kinematics`](Self::inverse_kinematics), each other one continuously from the
    /// last, all as near to the posture `q0` as the path lets them.
    ///
    /// # Errors
    ///
    /// As [`inverse_kinematics`](Self::inverse_kinematics); the error names the first place that is not reached.
    pub fn follow(
        &self,
        frame: &Frame,
        targets: &[FrameTarget],
        steps: usize,
        q0: &[f64],
        settings: &IkSettings,
    ) -> Result<Vec<Vec<f64>>, IkError> {
        let mut follower = Follower::new(self, frame, q0, settings)?;
        let (steps, mut path) = (steps.max(1), Vec::new());
        let Some(first) = targets.first() else { return Ok(path) };
        let n = 1 + (targets.len() - 1) * steps;
        path.push(follower.start_at(first).map_err(|e| at_point(e, 0, n))?.to_vec());
        for target in &targets[1..] {
            let from = follower.pose();
            for k in 1..=steps {
                let place = target.between(&from, k as f64 / steps as f64);
                let q = follower.go_to(&place).map_err(|e| at_point(e, path.len(), n))?;
                path.push(q.to_vec());
            }
        }
        Ok(path)
    }
}

fn at_point(error: IkError, index: usize, n: usize) -> IkError {
    match error {
        IkError::NotReached(mut not) => {
            not.point = Some((index, n));
            IkError::NotReached(not)
        }
        other @ IkError::Argument(_) => other,
    }
}

impl Search<'_> {
    /// The answer from `q0`, or else from other starts.
    pub fn solve(&mut self, target: &FrameTarget) -> Result<IkAnswer, IkError> {
        target.check()?;
        self.measure(target);
        let mut nearest: Option<(f64, Vec<f64>)> = None;
        for attempt in 0..self.settings.attempts {
            let mut q = self.seed(attempt);
            let merit = self.approach(target, &mut q);
            if self.is_there(target, &q) {
                self.optimise_posture(target, &mut q);
                let [position_error, rotation_error] = self.errors(target, &q);
                let attempts = attempt + 1;
                return Ok(IkAnswer { q, position_error, rotation_error, attempts });
            }
            if nearest.as_ref().is_none_or(|(least, _)| merit < *least) {
                nearest = Some((merit, q));
            }
        }
        let q = nearest.map_or_else(|| self.q0.clone(), |(_, q)| q);
        Err(self.not_reached(target, q, None))
    }

    /// What stands in the way at `q`.
    pub(super) fn not_reached(
        &mut self,
        target: &FrameTarget,
        q: Vec<f64>,
        jump: Option<(String, f64)>,
    ) -> IkError {
        let [position_error, rotation_error] = self.errors(target, &q);
        let at_limit = self.at_limit(&q);
        let singular = self.is_singular(target, &q);
        let too_near = self.nearest(&q, 1e-4 * self.length);
        let frame = self.system.model().body(self.frame.body).name.clone();
        let (target, point) = (target.clone(), None);
        IkError::NotReached(Box::new(NotReached {
            frame,
            target,
            point,
            q,
            position_error,
            rotation_error,
            at_limit,
            singular,
            too_near,
            jump,
        }))
    }
}
