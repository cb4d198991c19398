//! The search from several starts, and along a path.

use super::answer::{IkAnswer, IkError, IkSettings, NotReached};
use super::path::Follower;
use super::search::Search;
use super::target::FrameTarget;
use crate::system::System;
use quasistep_model::Frame;

impl System {
    /// Finds joint coordinates that bring `frame` to `target`, as near as possible to `q0`.
    ///
    /// The search uses damped least squares (Levenberg–Marquardt) with limits and distances as rows
    /// of a quadratic program, from `q0` and then from other starts. Redundant freedom is used to
    /// approach the posture `q0`. The result is checked again: limits hold exactly, and distances
    /// are those of the exact geometry.
    ///
    /// # Errors
    ///
    /// An argument that does not fit this system, or a target that is not reached, with the nearest
    /// configuration found.
    pub fn inverse_kinematics(
        &self,
        frame: &Frame,
        target: &FrameTarget,
        q0: &[f64],
        settings: &IkSettings,
    ) -> Result<IkAnswer, IkError> {
        Search::new(self, frame, q0, settings)?.solve(target)
    }

    /// Configurations that move `frame` along `targets`.
    ///
    /// The first result is at the first target. From each target to the next it adds `steps` evenly
    /// spaced points on the straight line, with rotation about one axis; the last of them is the
    /// target itself. The first configuration is found by
    /// [`inverse_kinematics`](Self::inverse_kinematics). Each other one continues from the last, as
    /// near to the posture `q0` as the path permits.
    ///
    /// # Errors
    ///
    /// The errors of [`inverse_kinematics`](Self::inverse_kinematics), with the first point that is
    /// not reached.
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
    /// Solution from `q0`, or else from other starts.
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

    /// Describes what prevents the target from being reached at `q`.
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
            n_dofs: self.n_dofs(),
            jump,
        }))
    }
}
