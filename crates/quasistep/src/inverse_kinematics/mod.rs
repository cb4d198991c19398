//! Inverse kinematics: joints that bring a frame to a pose, within their limits, clear of obstacles, near a posture.
//!
//! ```text
//! find q:   X_WF(q) = X_target,   q_lower ≤ q ≤ q_upper,   phi_i(q) ≥ avoid        near q0
//! ```
//!
//! | file      | holds                                                                                   |
//! |-----------|-----------------------------------------------------------------------------------------|
//! | this one  | what is asked and answered, attempts from several seeds, the final check                 |
//! | `task`    | distance of a frame to its target, and its derivative                                    |
//! | `search`  | one attempt: damped least squares as quadratic programs, then the posture               |
//! | `path`    | many targets, each from the last                                                         |

mod path;
mod search;
mod task;

pub use path::Follower;
pub use task::{FrameTarget, Orientation};

use crate::error::StepError;
use crate::system::{Role, System};
use quasistep_math::Vec3;
use quasistep_model::Frame;
use search::Search;
use std::fmt;

/// How a frame is brought to its target. Plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct IkSettings {
    /// Bodies whose joints may move. Default `None`: every driven joint between the world and the frame. Passive
    /// joints never move.
    pub joints: Option<Vec<usize>>,
    /// Bounds of dofs beside the model's limits, in m or rad: the tighter of both holds. Default none.
    pub limits: Vec<(usize, [f64; 2])>,
    /// Pairs that may touch, and of which a joint moves one body against the other, stay at least this far apart, in
    /// m, ≥ 0. Default `None`: distances are not looked at.
    pub avoid: Option<f64>,
    /// The frame's origin ends at most so far from its target, in m, > 0. Default `None`: a micrometre, or a
    /// millionth of the length of the moving chain if that is less.
    pub position_tolerance: Option<f64>,
    /// Its axes end at most so far from theirs, in rad, > 0. Default 1e-6.
    pub rotation_tolerance: f64,
    /// Most starts of the search, ≥ 1: `q0`, then configurations spread evenly within the limits, always the same
    /// ones. Default 100.
    pub attempts: u32,
}

impl Default for IkSettings {
    fn default() -> Self {
        Self {
            joints: None,
            limits: Vec::new(),
            avoid: None,
            position_tolerance: None,
            rotation_tolerance: 1e-6,
            attempts: 100,
        }
    }
}

/// A configuration at which a frame is at its target.
#[derive(Clone, Debug, PartialEq)]
pub struct IkAnswer {
    /// The configuration; entries of joints that may not move are those of `q0`.
    pub q: Vec<f64>,
    /// Distance of the frame's origin to its target, in m.
    pub position_error: f64,
    /// Angle of its axes to theirs, in rad.
    pub rotation_error: f64,
    /// Starts of the search, 1 if `q0` led there.
    pub attempts: u32,
}

/// Two bodies that come as near as they may, or nearer.
#[derive(Clone, Debug, PartialEq)]
pub struct TooNear {
    /// Body A, `model/link`.
    pub a: String,
    /// Body B, `model/link`.
    pub b: String,
    /// Their distance, in m; negative is an overlap.
    pub distance: f64,
    /// The distance that they must keep, in m.
    pub avoid: f64,
}

/// A target that was not reached, and the nearest that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct NotReached {
    /// Body of the frame, `model/link`.
    pub frame: String,
    /// The target.
    pub target: FrameTarget,
    /// Index of the target on its path, and their number.
    pub point: Option<(usize, usize)>,
    /// The configuration found nearest to it, within limits.
    pub q: Vec<f64>,
    /// Distance of the frame's origin to its target there, in m.
    pub position_error: f64,
    /// Angle of its axes to theirs there, in rad.
    pub rotation_error: f64,
    /// Joints that are at a limit there.
    pub at_limit: Vec<String>,
    /// True if no motion of the joints brings it nearer there, limits aside: the arm is stretched, or folded.
    pub singular: bool,
    /// The pair that is as near as `avoid` there, or nearer.
    pub too_near: Option<TooNear>,
    /// The joint that would have to jump for the path to go on, and how far, in m or rad.
    pub jump: Option<(String, f64)>,
}

/// There is no answer of inverse kinematics.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum IkError {
    /// Caller's mistake: an argument does not fit this system.
    #[error(transparent)]
    Argument(StepError),
    /// The target was not reached.
    #[error("{0}")]
    NotReached(Box<NotReached>),
}

fn argument(what: &str, why: String) -> IkError {
    IkError::Argument(StepError::Value { what: what.into(), why })
}

impl fmt::Display for NotReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` does not reach {}", self.frame, self.target)?;
        if let Some((index, n)) = self.point {
            write!(f, ", point {index} of {n} (counted from 0)")?;
        }
        if let Some((joint, by)) = &self.jump {
            return write!(f, " without a jump: `{joint}` would have to move by {by:.3} at once");
        }
        let (p, r) = (self.position_error, self.rotation_error);
        write!(f, ": the nearest found is {p:.3e} m and {r:.3e} rad off")?;
        if !self.at_limit.is_empty() {
            write!(f, ", with {} at the limit", crate::error::quoted(&self.at_limit))?;
        }
        if self.singular {
            write!(f, ", where no motion of the joints brings it nearer (stretched or singular)")?;
        }
        if let Some(TooNear { a, b, distance, avoid }) = &self.too_near {
            write!(f, "; `{a}` and `{b}` are {distance:.3e} m apart there, `avoid` is {avoid} m")?;
        }
        Ok(())
    }
}

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

impl IkSettings {
    fn check(&self, system: &System, frame: &Frame, q0: &[f64]) -> Result<(), IkError> {
        let model = system.model();
        let (got, want) = (q0.len(), model.n_q());
        if got != want {
            return Err(IkError::Argument(StepError::Length { what: "q0", got, want }));
        }
        model.check_q(q0).map_err(|e| argument("q0", e.to_string()))?;
        if frame.body >= model.n_bodies() {
            let why = format!("body {} of {}", frame.body, model.n_bodies());
            return Err(argument("frame", why));
        }
        for (what, value) in [
            ("position_tolerance", self.position_tolerance.unwrap_or(1.0)),
            ("rotation_tolerance", self.rotation_tolerance),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(argument(what, format!("it is {value}; it must be > 0")));
            }
        }
        if self.attempts == 0 {
            return Err(argument("attempts", "it is 0; it must be ≥ 1".into()));
        }
        if let Some(avoid) = self.avoid
            && !(avoid >= 0.0 && avoid.is_finite())
        {
            return Err(argument("avoid", format!("it is {avoid}; it must be ≥ 0 m")));
        }
        for &(dof, [lower, upper]) in &self.limits {
            if dof >= model.n_v() || lower.is_nan() || upper.is_nan() || lower > upper {
                let why = format!("[{lower}, {upper}] of dof {dof}; the lower limit comes first");
                return Err(argument("limits", why));
            }
        }
        for &body in self.joints.iter().flatten() {
            let driven = body < model.n_bodies() && system.roles()[body] != Role::Passive;
            if !driven {
                let names: Vec<String> =
                    system.commanded().iter().map(|&b| model.body(b).joint_name.clone()).collect();
                let seen = model.bodies().get(body).map_or("–", |b| b.joint_name.as_str());
                let why =
                    format!("`{seen}` is not driven; driven are {}", crate::error::quoted(&names));
                return Err(argument("joints", why));
            }
        }
        Ok(())
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
                self.settle(target, &mut q);
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
    fn not_reached(
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

impl fmt::Display for FrameTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |x: f64| if x.abs() < 1e6 { format!("{x:.4}") } else { format!("{x:.4e}") };
        let three = |v: Vec3| format!("[{}, {}, {}]", number(v.x), number(v.y), number(v.z));
        let place = self.position.map(|p| format!("{} m", three(p)));
        let axes = match self.orientation {
            Orientation::Free => None,
            Orientation::Fixed(q) => {
                Some(format!("the quaternion [{:.4}, {:.4}, {:.4}, {:.4}]", q.w, q.x, q.y, q.z))
            }
            Orientation::Axis { axis_F, direction_W } => {
                Some(format!("its axis {} along {}", three(axis_F), three(direction_W)))
            }
        };
        f.write_str(&place.into_iter().chain(axes).collect::<Vec<_>>().join(" with "))
    }
}
