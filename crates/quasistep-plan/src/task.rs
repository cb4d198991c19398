//! Tasks: goals in turn, bounds on commands, costs.

use crate::goal::{Goal, Target};
use crate::grasp::{GraspError, GraspSettings};
use crate::reach::check_targets;
use quasistep::{StepParams, System};

pub use crate::task_error::TaskError;

/// What is to be done, and within which bounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// Goals, reached one after another.
    pub goals: Vec<Goal>,
    /// Bounds of every command, `n_cmd` of them, in m or rad; infinite ones are none.
    pub commands: Vec<[f64; 2]>,
    /// Largest rate of every command, in m/s or rad/s, > 0, may be infinite.
    pub rates: Vec<f64>,
    /// Bounds of coordinates, at the ends of all steps.
    pub states: Vec<StateBound>,
    /// Grasps that may be taken on the way, one of them at a time. Paths to them keep their clearance,
    /// which must be > 0. Without any, links go where the planner pushes them.
    pub grasps: Vec<GraspSettings>,
    /// Cost of a change of a command by the largest region of a planner (m or rad) in a step. The
    /// cost of an error at its tolerance is 1/2.
    pub effort: f64,
    /// Weight of the error at the end of a horizon, if that of the other states is 1, > 0.
    pub at_end: f64,
}

/// Bounds of a coordinate of a joint without quaternion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StateBound {
    /// Index of the coordinate.
    pub coordinate: usize,
    /// Index of its dof.
    pub dof: usize,
    /// Least and largest value, in m or rad.
    pub within: [f64; 2],
}

impl StateBound {
    /// How far a configuration is beyond the bounds, in m or rad; ≤ 0 within them.
    pub fn excess(&self, q: &[f64]) -> f64 {
        let (value, [lower, upper]) = (q[self.coordinate], self.within);
        (lower - value).max(value - upper)
    }
}

impl Task {
    /// Checks the task against a system and the command at the start.
    ///
    /// # Errors
    ///
    /// See [`TaskError`].
    pub fn check(
        &self,
        system: &System,
        start: &[f64],
        params: &StepParams,
    ) -> Result<(), TaskError> {
        let n = system.n_cmd();
        if n != system.n_cmd_v() || !system.pads().is_empty() || system.switched().len() > 0 {
            return Err(TaskError::Commands(
                "planners command joints with one dof and planar joints; this system commands rotations, poses of frames, pads or switches",
            ));
        }
        if n == 0 {
            return Err(TaskError::Commands("nothing in this system is commanded"));
        }
        if params.sizes.is_some() {
            return Err(TaskError::Commands(
                "planners take steps of one size; leave `tolerance` out",
            ));
        }
        if self.goals.is_empty() {
            return Err(TaskError::Empty(0));
        }
        for (k, goal) in self.goals.iter().enumerate() {
            if goal.size() == 0 {
                return Err(TaskError::Empty(k));
            }
            for target in &goal.targets {
                let tolerances = match target {
                    Target::Pose(pose) => vec![("angle", pose.angle), ("distance", pose.distance)],
                    Target::Joint(joint) => vec![("tolerance", joint.tolerance)],
                };
                for (what, value) in tolerances {
                    positive(format!("{what} of goal {k}"), value)?;
                }
                let place = match target {
                    Target::Pose(pose) => pose.X_WG.translation.to_array().to_vec(),
                    Target::Joint(joint) => vec![joint.value],
                };
                if let Some(value) = place.into_iter().find(|value| !value.is_finite()) {
                    let (what, rule) = (format!("a value of goal {k}"), "finite");
                    return Err(TaskError::Number { what, value, rule });
                }
            }
        }
        for (what, got) in
            [("commands", self.commands.len()), ("rates", self.rates.len()), ("start", start.len())]
        {
            if got != n {
                return Err(TaskError::Length { what, got, want: n });
            }
        }
        self.rates.iter().try_for_each(|&rate| positive("a rate".to_owned(), rate))?;
        positive("effort".to_owned(), self.effort)?;
        positive("at_end".to_owned(), self.at_end)?;
        for (k, (&value, &[lower, upper])) in start.iter().zip(&self.commands).enumerate() {
            let slack = 1e-9 * (1.0 + value.abs());
            if !(lower - slack <= value && value <= upper + slack) {
                let name = system.command_names().swap_remove(k);
                return Err(TaskError::Start { index: k, name, value, lower, upper });
            }
        }
        for (index, grasp) in self.grasps.iter().enumerate() {
            let value = grasp.clearance;
            let rule = "> 0 m";
            let is_clear = (value > 0.0).then_some(());
            let is_clear = is_clear.ok_or(GraspError::Number { what: "clearance", value, rule });
            grasp.check(system).and(is_clear).map_err(|why| TaskError::Grasp { index, why })?;
        }
        check_targets(system, params, &self.goals)
    }
}

fn positive(what: String, value: f64) -> Result<(), TaskError> {
    if value > 0.0 { Ok(()) } else { Err(TaskError::Number { what, value, rule: "> 0" }) }
}
