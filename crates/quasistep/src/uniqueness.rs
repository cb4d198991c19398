//! Whether a step's answer is the only one. Asked after a step with exact Coulomb friction, by
//! [`StepParams::uniqueness`](crate::StepParams::uniqueness) or by hand.
//!
//! Two questions. Is the next configuration the only one at these normal forces: Proposition 1 of Trinkle05 for
//! its (29), with the cost of friction that the paper's (32) leaves out? And are the contact forces the only
//! ones at this motion: do the rows of contacts that may push in several ways have full rank?

use crate::error::{few, quoted, shares};
use crate::formulation::blame;
use crate::report::StepMethod;
use crate::system::System;
use crate::workspace::Workspace;
use quasistep_math::Vec3;
use quasistep_solvers::{Forces, Motion, Outcome, Uniqueness as Check};
use std::fmt;

/// What else could have come out of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Uniqueness {
    /// Of the next configuration, at the normal forces found.
    pub motion: MotionUniqueness,
    /// Of the contact forces, at the motion found.
    pub forces: ForceUniqueness,
}

/// Whether the next configuration is the only one for Trinkle05 (29) at its normal forces. Other normal forces
/// may belong to other motions even so.
#[derive(Clone, Debug, PartialEq)]
pub enum MotionUniqueness {
    /// It is.
    Unique,
    /// A little further along the direction is as good.
    Free {
        /// Names of the bodies that it moves.
        bodies: Vec<String>,
        /// Names of the dofs along which they move, with their share of the motion.
        direction: Vec<(String, f64)>,
    },
    /// Numbers were too close to call.
    Unknown,
}

/// Whether the contact forces are the only ones.
#[derive(Clone, Debug, PartialEq)]
pub enum ForceUniqueness {
    /// They are.
    Unique,
    /// Some may be split in another way.
    Shared {
        /// Contacts that take part, in the order of the report.
        contacts: Vec<SharedForce>,
        /// Joints whose limits take part.
        joints: Vec<String>,
        /// What is determined all the same.
        sums: Vec<DeterminedSum>,
    },
    /// Numbers were too close to call.
    Unknown,
}

/// A contact whose force is not the only one.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedForce {
    /// Index in the report's contacts.
    pub contact: usize,
    /// Body A, `model/link`.
    pub a: String,
    /// Body B, `model/link`.
    pub b: String,
    /// True if its normal force is the only one, and friction is what may differ.
    pub normal_is_unique: bool,
}

/// The sum of forces on a body by several contacts: it is the only one where each of them is not.
#[derive(Clone, Debug, PartialEq)]
pub struct DeterminedSum {
    /// The body, `model/link`.
    pub body: String,
    /// Contacts, by index in the report.
    pub contacts: Vec<usize>,
    /// Axes of the world along which the sum is determined.
    pub axes: Vec<char>,
}

impl System {
    /// Whether the last step of `work` could have had another answer; `None` unless that was a step of this
    /// system with exact Coulomb friction that was taken without a fallback.
    ///
    /// Costs some dense quadratic programs of the size of the step.
    pub fn uniqueness(&self, work: &Workspace) -> Option<Uniqueness> {
        let (program, solution) = (&work.problem.program.friction, &work.coulomb.solution);
        let asked = matches!(work.report.method, StepMethod::Coulomb(_))
            && work.report.fallback.is_none()
            && solution.outcome == Outcome::Solved
            && program.n() == self.variable_of_dof.iter().flatten().count() + self.rubbing.len();
        if !asked {
            return None;
        }
        let mut check = Check::new();
        let motion = match check.motion(program, solution) {
            Motion::Unique => MotionUniqueness::Unique,
            Motion::Unknown => MotionUniqueness::Unknown,
            Motion::Free { direction } => {
                let (bodies, direction) = blame::movers(self, &direction);
                MotionUniqueness::Free { bodies, direction }
            }
        };
        let forces = check.forces(program, solution);
        Some(Uniqueness { motion, forces: self.shared_forces(work, &forces) })
    }

    fn shared_forces(&self, work: &Workspace, forces: &Forces) -> ForceUniqueness {
        let problem = &work.problem;
        let program = &problem.program.friction;
        if !forces.known {
            return ForceUniqueness::Unknown;
        }
        if forces.unique() {
            return ForceUniqueness::Unique;
        }
        let rows = &work.contacts.rows;
        let part: Vec<usize> = forces.contacts(program).into_iter().map(|i| i as usize).collect();
        let bodies_of = |k: usize| {
            let near = &rows[k].near;
            [near.geom_a, near.geom_b].map(|geom| self.geoms[geom as usize].body)
        };
        let name = |body: usize| self.model.body(body).name.clone();
        // weights of a contact's multipliers in its force on B along an axis
        let add = |weights: &mut [f64], k: usize, axis: Vec3, sign: f64| {
            let row = &rows[k];
            let along = [row.near.point.n_AB_W, row.t1, row.t2].map(|way| sign * axis.dot(way));
            for at in program.rows_of(k) {
                weights[at] += (0..3).map(|way| along[way] * problem.pushes[at][way]).sum::<f64>();
            }
        };
        let determined =
            |weights: &[f64]| weights.iter().all(|w| *w == 0.0) || forces.determines(weights);
        let contacts: Vec<usize> = part.iter().copied().filter(|k| *k < rows.len()).collect();
        let shared = contacts.iter().map(|&k| {
            let mut weights = vec![0.0; program.n_rows()];
            add(&mut weights, k, rows[k].near.point.n_AB_W, 1.0);
            let [a, b] = bodies_of(k).map(name);
            SharedForce { contact: k, a, b, normal_is_unique: determined(&weights) }
        });
        let keys = part.iter().filter(|k| **k >= rows.len());
        let keys: Vec<_> = keys.map(|k| problem.keys[program.rows_of(*k).start]).collect();
        let (_, joints) = blame::blamed(self, &work.contacts, &keys, &vec![1.0; keys.len()]);

        let mut sums = Vec::new();
        for body in 0..self.model.n_bodies() {
            let on: Vec<usize> =
                contacts.iter().copied().filter(|k| bodies_of(*k).contains(&body)).collect();
            if on.len() < 2 || self.model.path(body).is_empty() {
                continue;
            }
            let mut axes = Vec::new();
            for (axis, letter) in [(Vec3::X, 'x'), (Vec3::Y, 'y'), (Vec3::Z, 'z')] {
                let mut sum = vec![0.0; program.n_rows()];
                let mut each = true;
                for &k in &on {
                    let sign = if bodies_of(k)[1] == body { 1.0 } else { -1.0 };
                    add(&mut sum, k, axis, sign);
                    let mut one = vec![0.0; program.n_rows()];
                    add(&mut one, k, axis, sign);
                    each &= determined(&one);
                }
                if !each && determined(&sum) {
                    axes.push(letter);
                }
            }
            if !axes.is_empty() {
                sums.push(DeterminedSum { body: name(body), contacts: on, axes });
            }
        }
        ForceUniqueness::Shared { contacts: shared.collect(), joints, sums }
    }
}

impl fmt::Display for MotionUniqueness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unique => write!(f, "the motion is the only one at its normal forces"),
            Self::Unknown => write!(f, "whether the motion is the only one is too close to call"),
            Self::Free { bodies, direction } => write!(
                f,
                "the motion is not the only one: {} may as well move along {}",
                quoted(bodies),
                shares(direction)
            ),
        }
    }
}

impl fmt::Display for ForceUniqueness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (contacts, joints, sums) = match self {
            Self::Unique => return write!(f, "the contact forces are the only ones"),
            Self::Unknown => {
                return write!(
                    f,
                    "whether the contact forces are the only ones is too close to call"
                );
            }
            Self::Shared { contacts, joints, sums } => (contacts, joints, sums),
        };
        write!(f, "the contact forces are not the only ones: ")?;
        // points of one pair of bodies are named once
        let mut named: Vec<String> = Vec::new();
        for c in contacts {
            let what = if c.normal_is_unique { "friction" } else { "force" };
            let text = format!("{what} between `{}` and `{}`", c.a, c.b);
            if !named.contains(&text) {
                named.push(text);
            }
        }
        if !joints.is_empty() {
            named.push(format!("force of the limits of {}", quoted(joints)));
        }
        write!(f, "{} may be split otherwise", few(&named, String::clone, ", "))?;
        if sums.is_empty() {
            return Ok(());
        }
        let in_words = |sum: &DeterminedSum| {
            let axes: Vec<String> = sum.axes.iter().map(char::to_string).collect();
            format!("their sum on `{}` is determined along {}", sum.body, axes.join(", "))
        };
        write!(f, "; {}", few(sums, in_words, "; "))
    }
}

impl fmt::Display for Uniqueness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.motion, self.forces)
    }
}
