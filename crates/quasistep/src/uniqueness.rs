//! Uniqueness of a step's solution. Computed after a step with exact Coulomb friction if
//! [`StepParams::uniqueness`](crate::StepParams::uniqueness) is set, or on request.
//!
//! Two properties are checked. The first is whether the next configuration is unique for the given
//! normal forces: Proposition 1 of Trinkle05 for its (29), with the cost of friction that the
//! paper's (32) leaves out. The second is whether the contact forces are unique for the given
//! motion: the rows of contacts that may push in several ways must have full rank.

use crate::error::{few, quoted, shares};
use crate::formulation::blame;
use crate::report::StepMethod;
use crate::system::System;
use crate::workspace::Workspace;
use quasistep_friction::{Forces, Motion, Outcome, Uniqueness as Check};
use quasistep_math::Vec3;
use quasistep_record::{DeterminedSum, ForceUniqueness, MotionUniqueness, SharedForce, Uniqueness};

impl System {
    /// Checks whether the last step of `work` has a unique solution. `None` unless that was a step
    /// of this system with exact Coulomb friction and without a fallback.
    ///
    /// Costs some dense quadratic programs of the size of the step.
    pub fn uniqueness(&self, work: &Workspace) -> Option<Uniqueness> {
        if let Some(set) = work.set.as_ref().filter(|_| self.is_open()) {
            return set.system.uniqueness(work);
        }
        self.ask_uniqueness(work).0
    }

    /// Result and work of the check. The work is at most half of what the step has left.
    pub(crate) fn ask_uniqueness(&self, work: &Workspace) -> (Option<Uniqueness>, u64) {
        let (program, solution) = (&work.problem.program.friction, &work.coulomb.solution);
        let asked = matches!(work.report.method, StepMethod::Coulomb(_))
            && work.report.fallback.is_none()
            && solution.outcome == Outcome::Solved
            && program.n() == work.problem.n_variables(self);
        if !asked {
            return (None, 0);
        }
        let mut check = Check::new();
        check.limit_work(work.work_left / 2);
        let motion = match check.motion(program, solution) {
            Motion::Unique => MotionUniqueness::Unique,
            Motion::Unknown => MotionUniqueness::Unknown,
            Motion::Free { direction } => {
                let (bodies, direction) = blame::movers(self, &work.load.reduction, &direction);
                MotionUniqueness::Free { bodies, direction }
            }
        };
        let forces = self.shared_forces(work, &check.forces(program, solution));
        let text =
            format!("{}; {}", self.motion_in_words(&motion), self.forces_in_words(work, &forces));
        (Some(Uniqueness { motion, forces, text }), check.work())
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
        let bodies_of = |k: usize| self.bodies_of_contact(work, k);
        // coefficients of a contact's multipliers in its force on B along an axis
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
            SharedForce { contact: k, normal_is_unique: determined(&weights) }
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
            let mut axes = String::new();
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
                sums.push(DeterminedSum { body, contacts: on, axes });
            }
        }
        ForceUniqueness::Shared { contacts: shared.collect(), joints, sums }
    }

    fn bodies_of_contact(&self, work: &Workspace, contact: usize) -> [usize; 2] {
        let near = &work.contacts.rows[contact].near;
        [near.geom_a, near.geom_b].map(|geom| self.geoms[geom as usize].body)
    }

    fn motion_in_words(&self, motion: &MotionUniqueness) -> String {
        match motion {
            MotionUniqueness::Unique => "the motion is the only one at its normal forces".into(),
            MotionUniqueness::Unknown => {
                "whether the motion is the only one is too close to call".into()
            }
            MotionUniqueness::Free { bodies, direction } => format!(
                "the motion is not the only one: {} may as well move along {}",
                quoted(&blame::names_of(self, bodies)),
                shares(direction)
            ),
        }
    }

    fn forces_in_words(&self, work: &Workspace, forces: &ForceUniqueness) -> String {
        let (contacts, joints, sums) = match forces {
            ForceUniqueness::Unique => return "the contact forces are the only ones".into(),
            ForceUniqueness::Unknown => {
                return "whether the contact forces are the only ones is too close to call".into();
            }
            ForceUniqueness::Shared { contacts, joints, sums } => (contacts, joints, sums),
        };
        let name = |body: usize| &self.model.body(body).name;
        // each pair of bodies is named once
        let mut named: Vec<String> = Vec::new();
        for c in contacts {
            let what = if c.normal_is_unique { "friction" } else { "force" };
            let [a, b] = self.bodies_of_contact(work, c.contact).map(name);
            let text = format!("{what} between `{a}` and `{b}`");
            if !named.contains(&text) {
                named.push(text);
            }
        }
        if !joints.is_empty() {
            named.push(format!("force of the limits of {}", quoted(joints)));
        }
        let split = few(&named, String::clone, ", ");
        let mut text =
            format!("the contact forces are not the only ones: {split} may be split otherwise");
        if !sums.is_empty() {
            let in_words = |sum: &DeterminedSum| {
                let axes: Vec<String> = sum.axes.chars().map(String::from).collect();
                let (body, axes) = (name(sum.body), axes.join(", "));
                format!("their sum on `{body}` is determined along {axes}")
            };
            text += "; ";
            text += &few(sums, in_words, "; ");
        }
        text
    }
}
