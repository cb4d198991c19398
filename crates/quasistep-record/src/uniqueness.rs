//! Whether the answer of a step was the only one: what the step says, and what a recording keeps.

use serde::{Deserialize, Serialize};

/// What else could have come out of a step with exact Coulomb friction, where the run asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uniqueness {
    /// Of the next configuration, at the normal forces found.
    pub motion: MotionUniqueness,
    /// Of the contact forces, at the motion found.
    pub forces: ForceUniqueness,
    /// Both in words, first the motion, then after `; ` the forces.
    pub text: String,
}

/// Whether the next configuration is the only one for Trinkle05 (29) at its normal forces. Other normal forces may belong to
/// other motions even so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MotionUniqueness {
    /// It is.
    Unique,
    /// A little further along the direction is as good.
    Free {
        /// Bodies that it moves, by index: 0 is the world.
        bodies: Vec<usize>,
        /// Names of the dofs along which they move, with their share of the motion.
        direction: Vec<(String, f64)>,
    },
    /// Numbers were too close to call.
    Unknown,
}

/// Whether the contact forces are the only ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ForceUniqueness {
    /// They are.
    Unique,
    /// Some may be split in another way.
    Shared {
        /// Contacts that take part.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedForce {
    /// Index into the contacts of the step.
    pub contact: usize,
    /// True if its normal force is the only one, and friction is what may differ.
    pub normal_is_unique: bool,
}

/// The sum of forces on a body by several contacts, where it is the only one and each of them is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeterminedSum {
    /// The body, by index.
    pub body: usize,
    /// Contacts, by index into those of the step.
    pub contacts: Vec<usize>,
    /// Axes of the world along which the sum is determined, as `xz`.
    pub axes: String,
}

impl std::fmt::Display for Uniqueness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Uniqueness {
    /// What is said of the motion, and of the forces.
    pub fn texts(&self) -> [&str; 2] {
        self.text.split_once("; ").map_or([&self.text, ""], |(motion, forces)| [motion, forces])
    }

    /// Checks that indices fit and numbers are finite.
    pub(crate) fn check(&self, n_bodies: usize, n_contacts: usize) -> Result<(), String> {
        if let MotionUniqueness::Free { bodies, direction } = &self.motion {
            below("body", bodies, n_bodies)?;
            if let Some((name, v)) = direction.iter().find(|(_, v)| !v.is_finite()) {
                return Err(format!("uniqueness: the share of `{name}` is {v}; it must be finite"));
            }
        }
        if let ForceUniqueness::Shared { contacts, sums, .. } = &self.forces {
            let shared: Vec<usize> = contacts.iter().map(|c| c.contact).collect();
            below("contact", &shared, n_contacts)?;
            for sum in sums {
                below("body", &[sum.body], n_bodies)?;
                below("contact", &sum.contacts, n_contacts)?;
            }
        }
        Ok(())
    }
}

fn below(what: &str, indices: &[usize], count: usize) -> Result<(), String> {
    match indices.iter().find(|i| **i >= count) {
        Some(i) => Err(format!("uniqueness speaks of {what} {i} of {count}")),
        None => Ok(()),
    }
}
