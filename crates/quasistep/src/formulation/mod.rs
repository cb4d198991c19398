//! Friction laws: each formulation is one file that assembles a step problem and recovers impulses.

pub(crate) mod anitescu;

use std::fmt;

/// Friction law of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Formulation {
    /// Anitescu's convex friction as a quadratic program, Pang21 (10). Exact in sticking; a sliding
    /// body floats `h mu |v_t|` high.
    Anitescu {
        /// Shape of the friction cone.
        cone: Cone,
    },
}

/// Shape of a friction cone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cone {
    /// Inscribed pyramid with this even number of edges, ≥ 2, the first along the contact's first
    /// tangent. A contact that can move in one plane only has its two edges in that plane, whatever
    /// the number.
    Pyramid(u32),
    /// The round cone itself, a second-order cone: `lambda_n mu ≥ ‖lambda_t‖`, alike in all
    /// directions.
    Round,
}

impl Formulation {
    /// Its word in scene files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Anitescu { .. } => "anitescu",
        }
    }

    /// Shape of its friction cone.
    pub fn cone(&self) -> Cone {
        match self {
            Self::Anitescu { cone } => *cone,
        }
    }
}

/// `round`, or the number of edges: its word in scene files.
impl fmt::Display for Cone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pyramid(edges) => edges.fmt(f),
            Self::Round => f.write_str("round"),
        }
    }
}
