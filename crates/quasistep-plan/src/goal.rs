//! Goals: poses of frames and values of joints, with tolerances.
//!
//! ```text
//! e_rot = log(R_WF R_WGᵀ)        e_pos = p_WF − p_WG        e_joint = q − value
//! ```
//!
//! The error of a rotation is a rotation vector in W. Its Jacobian by the dofs is that of the
//! logarithm times the angular velocity of the frame.

use crate::approach::slides;
use quasistep::System;
use quasistep_math::{Pose, Quat};
use quasistep_model::{Frame, Kinematics, left_jacobian_inverse};

/// What is to be reached at one time: all targets together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Goal {
    /// Targets.
    pub targets: Vec<Target>,
}

/// Something that is to be at a place, within a tolerance.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Pose of a frame.
    Pose(PoseTarget),
    /// Value of a joint with one dof.
    Joint(JointTarget),
}

/// Pose that a frame is to have.
#[derive(Clone, Debug, PartialEq)]
pub struct PoseTarget {
    /// The frame F.
    pub frame: Frame,
    /// Its pose at the goal, in W.
    pub X_WG: Pose,
    /// Components of the error that count, in W: rotation about x, y, z, then position along x, y, z.
    pub counts: [bool; 6],
    /// Permitted angle, in rad, > 0.
    pub angle: f64,
    /// Permitted distance, in m, > 0.
    pub distance: f64,
}

/// Value that a joint is to have.
#[derive(Clone, Debug, PartialEq)]
pub struct JointTarget {
    /// Index of the coordinate and of the dof.
    pub coordinate: usize,
    /// Index of the dof.
    pub dof: usize,
    /// Value at the goal, in m or rad.
    pub value: f64,
    /// Permitted error, in m or rad, > 0.
    pub tolerance: f64,
}

/// Distance of a configuration from a goal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GoalError {
    /// Largest angle of a pose from its target, in rad.
    pub angle: f64,
    /// Largest distance of a pose from its target, in m.
    pub distance: f64,
    /// Largest error of a joint, in m or rad.
    pub joint: f64,
    /// Largest of all errors, each as a share of its tolerance. The goal is reached from 1 on
    /// downwards.
    pub share: f64,
}

impl Goal {
    /// Number of entries of the error.
    pub(crate) fn size(&self) -> usize {
        let of = |target: &Target| match target {
            Target::Pose(pose) => pose.counts.iter().filter(|counts| **counts).count(),
            Target::Joint(_) => 1,
        };
        self.targets.iter().map(of).sum()
    }

    /// Error of a configuration.
    pub fn error(&self, system: &System, q: &[f64]) -> GoalError {
        let mut worst = GoalError::default();
        for target in &self.targets {
            match target {
                Target::Pose(target) => {
                    let e = target
                        .error(&(system.model().pose(q, target.frame.body) * target.frame.X_BF));
                    let norm = |e: &[f64]| e.iter().map(|e| e * e).sum::<f64>().sqrt();
                    let (angle, distance) = (norm(&e[..3]), norm(&e[3..]));
                    worst.angle = worst.angle.max(angle);
                    worst.distance = worst.distance.max(distance);
                    worst.share =
                        worst.share.max(angle / target.angle).max(distance / target.distance);
                }
                Target::Joint(target) => {
                    let error = (q[target.coordinate] - target.value).abs();
                    worst.joint = worst.joint.max(error);
                    worst.share = worst.share.max(error / target.tolerance);
                }
            }
        }
        worst
    }

    /// A goal on the straight way from a configuration to this one, at a share of it.
    pub(crate) fn on_the_way(&self, system: &System, q: &[f64], share: f64) -> Self {
        let of = |target: &Target| match target {
            Target::Pose(target) => {
                let X_WF = system.model().pose(q, target.frame.body) * target.frame.X_BF;
                let turn = (target.X_WG.rotation * X_WF.rotation.inverse()).to_rotation_vector();
                let way = target.X_WG.translation - X_WF.translation;
                let X_WG = Pose {
                    rotation: Quat::from_rotation_vector(turn * share) * X_WF.rotation,
                    translation: X_WF.translation + way * share,
                };
                Target::Pose(PoseTarget { X_WG, ..target.clone() })
            }
            Target::Joint(target) => {
                let at = q[target.coordinate];
                let value = at + share * (target.value - at);
                Target::Joint(JointTarget { value, ..target.clone() })
            }
        };
        Self { targets: self.targets.iter().map(of).collect() }
    }

    /// How far points of bodies have to move to the goal, at most, in m. `reaches` are the largest
    /// distances of each body's points from its origin.
    pub(crate) fn way(&self, system: &System, q: &[f64], reaches: &[f64]) -> f64 {
        let of = |target: &Target| match target {
            Target::Pose(target) => {
                let X_WF = system.model().pose(q, target.frame.body) * target.frame.X_BF;
                let e = target.error(&X_WF);
                let norm = |e: &[f64]| e.iter().map(|e| e * e).sum::<f64>().sqrt();
                let Frame { body, X_BF } = target.frame;
                norm(&e[..3]) * (reaches[body] + X_BF.translation.norm()) + norm(&e[3..])
            }
            Target::Joint(target) => {
                let bodies = system.model().bodies();
                let own = bodies.iter().position(|body| body.q.contains(&target.coordinate));
                let reach = own.map_or(1.0, |body| match bodies[body].joint {
                    joint if slides(joint, target.dof - bodies[body].v.start) => 1.0,
                    _ => reaches[body],
                });
                (q[target.coordinate] - target.value).abs() * reach
            }
        };
        self.targets.iter().map(of).sum()
    }

    /// Half of the sum of squared errors, each as a share of its tolerance.
    pub(crate) fn cost(&self, system: &System, q: &[f64]) -> f64 {
        let of = |target: &Target| match target {
            Target::Pose(target) => {
                let X_WF = system.model().pose(q, target.frame.body) * target.frame.X_BF;
                let e = target.error(&X_WF);
                (0..6).map(|i| (e[i] / target.scale(i)).powi(2)).sum::<f64>()
            }
            Target::Joint(target) => {
                ((q[target.coordinate] - target.value) / target.tolerance).powi(2)
            }
        };
        0.5 * self.targets.iter().map(of).sum::<f64>()
    }

    /// Errors as shares of their tolerances, and their Jacobian by the dofs, `size × n_v`.
    pub(crate) fn linearise(
        &self,
        system: &System,
        (q, kin): (&[f64], &Kinematics),
        e: &mut Vec<f64>,
        J: &mut Vec<f64>,
    ) {
        let n_v = system.model().n_v();
        e.clear();
        J.clear();
        let mut of_frame = vec![0.0; 6 * n_v];
        for target in &self.targets {
            match target {
                Target::Pose(target) => {
                    let error = target.error(&system.model().frame_pose(kin, &target.frame));
                    system.model().frame_jacobian(kin, &target.frame, &mut of_frame);
                    through_logarithm(&error, n_v, &mut of_frame);
                    for i in (0..6).filter(|i| target.counts[*i]) {
                        let scale = 1.0 / target.scale(i);
                        e.push(error[i] * scale);
                        J.extend(of_frame[i * n_v..(i + 1) * n_v].iter().map(|J| J * scale));
                    }
                }
                Target::Joint(target) => {
                    e.push((q[target.coordinate] - target.value) / target.tolerance);
                    let at = J.len();
                    J.resize(at + n_v, 0.0);
                    J[at + target.dof] = 1.0 / target.tolerance;
                }
            }
        }
    }
}

impl PoseTarget {
    /// Error of a pose: rotation vector (rad) and position (m) in W; zero where it does not count.
    fn error(&self, X_WF: &Pose) -> [f64; 6] {
        let turn = (X_WF.rotation * self.X_WG.rotation.inverse()).to_rotation_vector();
        let way = X_WF.translation - self.X_WG.translation;
        let mut e = [turn.x, turn.y, turn.z, way.x, way.y, way.z];
        for (e, counts) in e.iter_mut().zip(self.counts) {
            *e *= f64::from(u8::from(counts));
        }
        e
    }

    fn scale(&self, i: usize) -> f64 {
        if i < 3 { self.angle } else { self.distance }
    }
}

/// Turns the rows of angular velocity into those of the error of the rotation.
fn through_logarithm(error: &[f64; 6], n_v: usize, J: &mut [f64]) {
    let by_w = left_jacobian_inverse([error[0], error[1], error[2]].into());
    for dof in 0..n_v {
        let w = [0, 1, 2].map(|i| J[i * n_v + dof]);
        for i in 0..3 {
            J[i * n_v + dof] = (0..3).map(|k| by_w.rows[i][k] * w[k]).sum();
        }
    }
}
