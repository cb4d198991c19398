//! Detection of contacts whose normal force is not determined.

use crate::scene::Scene;
use quasistep::{FrictionLaw, LinearContact, Role, StepError};
use quasistep_model::JointKind;
use std::collections::BTreeSet;

/// Joint motions below this share of the largest count as zero.
const NONE: f64 = 1e-9;
/// Distance below which bodies touch, in m.
const TOUCHING: f64 = 1e-6;

impl Scene {
    /// Contacts with friction at the start whose normal force is not determined, one sentence for
    /// each pair of bodies.
    ///
    /// No joint with a free rate moves these bodies along the contact normal. Examples are a planar
    /// joint on a floor and a drawer in its rails. Contact and joints can then share the load
    /// arbitrarily.
    ///
    /// # Errors
    ///
    /// If the start is not a valid configuration.
    pub fn blocked_contacts(&self) -> Result<Vec<String>, StepError> {
        let (system, params) = (&self.system, &self.params);
        let seen = system.linearise(&self.start.q, params.gravity, TOUCHING)?;
        let mut told = BTreeSet::new();
        let mut sentences = Vec::new();
        for contact in seen.contacts.iter().filter(|contact| contact.phi <= TOUCHING) {
            let joints = self.joints_across(contact);
            let bodies = [contact.geom_a, contact.geom_b].map(|geom| system.geoms()[geom].body);
            if !joints.is_empty() && told.insert(bodies) {
                sentences.push(self.blocked_sentence(bodies, &joints));
            }
        }
        Ok(sentences)
    }

    /// Indices of the joints with free rates that move the bodies of a contact with friction, if
    /// none of these joints moves them along the normal; otherwise empty.
    fn joints_across(&self, contact: &LinearContact) -> Vec<usize> {
        let model = self.system.model();
        let mut joints = Vec::new();
        if contact.mu == 0.0 {
            return joints;
        }
        for (index, body) in model.bodies().iter().enumerate() {
            if self.system.roles()[index] == Role::Prescribed {
                continue;
            }
            for dof in body.v.clone() {
                let along = contact.J_t.iter().fold(0.0_f64, |m, J| m.max(J[dof].abs()));
                if contact.J_n[dof].abs() > NONE * along {
                    return Vec::new();
                }
                if along > 0.0 && !joints.contains(&index) {
                    joints.push(index);
                }
            }
        }
        joints
    }

    fn blocked_sentence(&self, bodies: [usize; 2], joints: &[usize]) -> String {
        let model = self.system.model();
        let [a, b] = bodies.map(|body| model.body(body).name.as_str());
        let names: Vec<String> =
            joints.iter().map(|j| format!("`{}`", model.body(*j).joint_name)).collect();
        let names = names.join(", ");
        let glued = match self.params.formulation.friction {
            FrictionLaw::Convex => ", and convex friction holds against any force",
            FrictionLaw::Exact => "",
        };
        let support = joints.iter().map(|j| model.body(*j)).find_map(|body| match body.joint {
            JointKind::Planar => Some((&body.joint_name, ", spin_radius: 0.03")),
            JointKind::Prismatic { .. } => Some((&body.joint_name, "")),
            _ => None,
        });
        let rub = support.map_or(String::new(), |(joint, radius)| {
            format!(
                ", and if it is to rub `support: {{friction: 0.5, load: weight{radius}}}` on the joint `{joint}`"
            )
        });
        format!(
            "`{a}` and `{b}` touch where no joint moves them along the normal (joints {names}): nothing says how much load the contact carries{glued}; give \
             `collisions: {{exclude: [[{a}, {b}]]}}`{rub}"
        )
    }
}
