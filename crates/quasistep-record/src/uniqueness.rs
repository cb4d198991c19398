//! Uniqueness of a step's solution, as stored in a recording.

use serde::{Deserialize, Serialize};

/// Uniqueness of the solution of a step with exact Coulomb friction, if the run checked it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uniqueness {
    /// Uniqueness of the next configuration, at the normal forces found.
    pub motion: MotionUniqueness,
    /// Uniqueness of the contact forces, at the motion found.
    pub forces: ForceUniqueness,
    /// Both in words: the motion, then after `; ` the forces.
    pub text: String,
}

/// Uniqueness of the next configuration as a solution of Trinkle05 (29) for the given normal
/// forces. Other normal forces may still give other motions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MotionUniqueness {
    /// The next configuration is unique.
    Unique,
    /// Moving slightly further along a direction gives another solution.
    Free {
        /// Indices of the bodies that move; 0 is the world.
        bodies: Vec<usize>,
        /// Names of the dofs that move, with their shares of the motion.
        direction: Vec<(String, f64)>,
    },
    /// Undecided, because numbers are too close to a threshold.
    Unknown,
}

/// Uniqueness of the contact forces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ForceUniqueness {
    /// The contact forces are unique.
    Unique,
    /// Some forces can be distributed differently.
    Shared {
        /// Contacts whose forces are not unique.
        contacts: Vec<SharedForce>,
        /// Joints whose limit forces are not unique.
        joints: Vec<String>,
        /// Sums of forces that are still unique.
        sums: Vec<DeterminedSum>,
    },
    /// Undecided, because numbers are too close to a threshold.
    Unknown,
}

/// A contact whose force is not unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedForce {
    /// Index of the contact in the step.
    pub contact: usize,
    /// True if its normal force is unique and only friction is not.
    pub normal_is_unique: bool,
}

/// A unique sum of forces on a body by several contacts whose individual forces are not unique.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeterminedSum {
    /// Index of the body.
    pub body: usize,
    /// Indices of the contacts in the step.
    pub contacts: Vec<usize>,
    /// World axes along which the sum is unique, for example `xz`.
    pub axes: String,
}

impl std::fmt::Display for Uniqueness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Uniqueness {
    /// The words about the motion, and about the forces.
    pub fn texts(&self) -> [&str; 2] {
        self.text.split_once("; ").map_or([&self.text, ""], |(motion, forces)| [motion, forces])
    }

    /// Checks that indices are valid and numbers are finite.
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
