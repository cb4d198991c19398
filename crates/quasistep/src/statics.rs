//! Statics: rest configurations of a system, and the largest wrench that it can hold.
//!
//! At rest `v = 0`, and the step's equations become `0 = K_a (q_cmd − q) + tau + Jᵀ lambda / h`,
//! with forces inside their friction cones and only at closed gaps (Pang21 (9)). This is
//! equilibrium with Coulomb friction for any step size, inertia and formulation. Rest is therefore
//! found by stepping.

use crate::error::{ParamError, StepError};
use crate::params::StepParams;
use crate::report::StepReport;
use crate::state::{Checkpoint, State, StepInput, Wrench};
use crate::system::System;
use crate::workspace::Workspace;
use quasistep_math::{Pose, Vec3};

/// Criterion for rest, and the largest number of steps to reach it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RestRule {
    /// Largest dof speed at rest, in m/s or rad/s, > 0. Default 1e-8: far above the solver's
    /// residual on a sticking contact (1e-10), far below any motion of interest.
    pub speed: f64,
    /// Largest number of steps, ≥ 1. Default 1000.
    pub max_steps: usize,
    /// Of [`System::largest_wrench`]: how far the points at which others carry the loaded body may slip on it, as a
    /// share of its size, > 0, may be infinite. Default 0.05: springs that give way and bodies that roll move these points
    /// by less. At 1 a body that fell by its own size and lies on the floor counts as held.
    pub slip: f64,
}

impl Default for RestRule {
    fn default() -> Self {
        Self { speed: 1e-8, max_steps: 1000, slip: 0.05 }
    }
}

impl RestRule {
    fn check(&self) -> Result<(), ParamError> {
        if !(self.speed > 0.0 && self.speed.is_finite()) {
            let (seen, rule) = (format!("{}", self.speed), "> 0 m/s".into());
            return Err(ParamError { name: "rest_speed", seen, rule });
        }
        if !(self.slip > 0.0) {
            let (seen, rule) = (format!("{}", self.slip), "> 0".into());
            return Err(ParamError { name: "slip", seen, rule });
        }
        if self.max_steps == 0 {
            return Err(ParamError { name: "max_steps", seen: "0".into(), rule: "≥ 1".into() });
        }
        Ok(())
    }
}

/// Error of a statics query.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StaticsError {
    /// A step failed before the system came to rest.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The system still moves: it falls, slides or turns away, or needs more steps.
    #[error(
        "no rest after {steps} steps: `{dof}` still moves at {speed:.1e} (m/s or rad/s); support it, \
         or allow more or longer steps"
    )]
    NotAtRest {
        /// Steps taken.
        steps: usize,
        /// Name of the fastest dof.
        dof: String,
        /// Speed of the fastest dof, in m/s or rad/s.
        speed: f64,
    },
}

impl From<ParamError> for StaticsError {
    fn from(error: ParamError) -> Self {
        Self::Step(error.into())
    }
}

/// Result of [`System::largest_wrench`], as factors on the given wrench.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldWrench {
    /// Largest factor found under which the system comes to rest.
    pub held: f64,
    /// Smallest factor found under which the system does not come to rest, or the body slips; infinite if `held` is the largest factor
    /// allowed.
    pub lost: f64,
    /// Configuration at rest under `held`.
    pub q: Vec<f64>,
    /// Number of loads tried.
    pub trials: usize,
}

impl System {
    /// Steps under constant input until all dofs are at rest.
    ///
    /// `state` is then at rest, with its time unchanged. The report holds the joint efforts and
    /// contact forces of the equilibrium.
    ///
    /// # Errors
    ///
    /// See [`StaticsError`]. On error `state` is unchanged.
    pub fn settle<'w>(
        &self,
        state: &mut State,
        input: &StepInput,
        params: &StepParams,
        rule: &RestRule,
        work: &'w mut Workspace,
    ) -> Result<&'w StepReport, StaticsError> {
        rule.check()?;
        let mut moving = state.clone();
        for _ in 0..rule.max_steps {
            // with carried velocity a turning point is slow too, so require low speed before and
            // after the step
            let began_slow = moving.v.iter().all(|v| v.abs() <= rule.speed);
            self.step_with(&mut moving, input, params, work)?;
            if began_slow && fastest(work).1 <= rule.speed {
                state.q = moving.q;
                state.attached = moving.attached;
                state.v.clear();
                return Ok(&work.report);
            }
        }
        let (dof, speed) = fastest(work);
        let dof = self.dof_names().swap_remove(dof);
        Err(StaticsError::NotAtRest { steps: rule.max_steps, dof, speed })
    }

    /// Largest multiple of `wrench`, up to `most`, that the system holds under constant input, to
    /// the relative tolerance `tolerance`.
    ///
    /// A load is held if the system comes to rest under it, starting from its rest configuration
    /// without `wrench`, and if the points at which others carry the body have not slipped further than
    /// `rule.slip`: what slides out of a grasp and comes to rest elsewhere was not held. Robot joints deflect as their springs permit. `wrench` adds to the
    /// wrenches of `input`. The factor is found by bisection.
    ///
    /// # Errors
    ///
    /// See [`StaticsError`]: invalid parameters, or no rest even without the wrench.
    #[expect(
        clippy::too_many_arguments,
        reason = "a load, its bound and its precision beside those of a step"
    )]
    pub fn largest_wrench(
        &self,
        state: &State,
        input: &StepInput,
        wrench: &Wrench,
        most: f64,
        tolerance: f64,
        params: &StepParams,
        rule: &RestRule,
        work: &mut Workspace,
    ) -> Result<HeldWrench, StaticsError> {
        for (name, value) in [("most", most), ("tolerance", tolerance)] {
            if !(value > 0.0 && value.is_finite()) {
                let (seen, rule) = (format!("{value}"), "> 0".into());
                return Err(ParamError { name, seen, rule }.into());
            }
        }
        let mut loaded = input.clone();
        loaded.wrenches.push(Wrench { force_W: wrench.force_W * 0.0, ..wrench.clone() });
        let mut rest_under = |factor: f64, from: &State, grip: &Grip| {
            if let Some(last) = loaded.wrenches.last_mut() {
                last.force_W = wrench.force_W * factor;
                last.torque_W = wrench.torque_W * factor;
            }
            let mut state = from.clone();
            // every trial starts cold, so that its result depends only on its load
            work.resume(&Checkpoint::default());
            let report = self.settle(&mut state, &loaded, params, rule, work)?;
            let carried = self.grip(&state.q, report, wrench.body);
            let is_held = grip.slip(self, &state.q) <= rule.slip * self.size(wrench.body);
            Ok::<_, StaticsError>((state, carried, is_held))
        };
        let (base, grip, _) = rest_under(0.0, state, &Grip::default())?;
        let (mut held, mut lost, mut trials) = (0.0, most, 2);
        let mut at_rest = base.clone();
        if let Ok((state, _, true)) = rest_under(most, &base, &grip) {
            return Ok(HeldWrench { held: most, lost: f64::INFINITY, q: state.q, trials });
        }
        // the last condition ends the bisection at the resolution of floating point
        while lost - held > tolerance * lost && lost > most * f64::EPSILON {
            let middle = 0.5 * (held + lost);
            trials += 1;
            match rest_under(middle, &base, &grip) {
                Ok((state, _, true)) => (held, at_rest) = (middle, state),
                _ => lost = middle,
            }
        }
        Ok(HeldWrench { held, lost, q: at_rest.q, trials })
    }

    /// Largest distance of a point of a body's shapes from its origin, in m; not always the smallest bound.
    fn size(&self, body: usize) -> f64 {
        let own = self.geoms().iter().filter(|geom| geom.body == body);
        own.map(|geom| geom.X_BG.translation.norm() + geom.shape.reach()).fold(0.0, f64::max)
    }

    /// The contacts that carry a body.
    fn grip(&self, q: &[f64], report: &StepReport, body: usize) -> Grip {
        let X_WB = self.poses(q);
        let contacts = report.contacts.iter().filter(|contact| {
            let loads = contact.normal_force > 0.0;
            loads && [contact.body_a, contact.body_b].contains(&(body as u32))
        });
        let points = contacts.map(|contact| {
            let bodies = [contact.body_a as usize, contact.body_b as usize];
            (bodies, bodies.map(|body| X_WB[body].inverse_transform_point(contact.p_W)))
        });
        Grip { points: points.collect() }
    }

    fn poses(&self, q: &[f64]) -> Vec<Pose> {
        let mut X_WB = vec![Pose::IDENTITY; self.model.n_bodies()];
        self.model.poses(q, &mut X_WB);
        X_WB
    }
}

/// Where contacts carry a body: two bodies, and the point of contact in the frame of each.
#[derive(Default)]
struct Grip {
    points: Vec<([usize; 2], [Vec3; 2])>,
}

impl Grip {
    /// How far the two points of a contact have moved apart, at most, in m.
    fn slip(&self, system: &System, q: &[f64]) -> f64 {
        let X_WB = system.poses(q);
        let apart = |(bodies, points): &([usize; 2], [Vec3; 2])| {
            let [a, b] = [0, 1].map(|k| X_WB[bodies[k]].transform_point(points[k]));
            (b - a).norm()
        };
        self.points.iter().map(apart).fold(0.0, f64::max)
    }
}

/// The fastest dof of the last step, and its speed in m/s or rad/s.
fn fastest(work: &Workspace) -> (usize, f64) {
    let speeds = work.report.v.iter().map(|v| v.abs()).enumerate();
    speeds.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
}
