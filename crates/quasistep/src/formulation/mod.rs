//! Friction laws. Stages 4 to 6 are alike: [`problem`] assembles a program of either law, [`anitescu`] or [`coulomb`] has
//! it solved, [`recover`] turns the answer into the report.

pub(crate) mod anitescu;
pub(crate) mod blame;
pub(crate) mod coulomb;
pub(crate) mod dynamic;
pub(crate) mod edges;
pub(crate) mod problem;
pub(crate) mod program;
pub(crate) mod recover;
pub(crate) mod rubbing;

use std::fmt;

/// Which problem a step solves: law of friction, shape of its cones, and what resists motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formulation {
    /// Law of friction.
    pub friction: FrictionLaw,
    /// Shape of the friction cones.
    pub cone: Cone,
    /// What a step starts with.
    pub motion: Motion,
}

/// Law of friction of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrictionLaw {
    /// Coulomb's law as it is: what slides does not float. With pyramids the complementarity problems Trinkle05 (Model-DLC) and
    /// Pang21 (1), with impedances Pang21 (6); with round cones Trinkle05 (Model-DQC). With [`Inertia::None`](crate::Inertia) a
    /// step may have no solution, or many.
    #[default]
    Exact,
    /// Anitescu's convex relaxation of it as a quadratic program, Pang21 (10). Exact in sticking; a sliding body floats
    /// `h mu |v_t|` high.
    Convex,
}

/// What a step starts with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Motion {
    /// Every step starts from rest: force balance of springs, loads and contacts, against the drag of
    /// [`StepParams::relaxation`](crate::StepParams::relaxation).
    #[default]
    QuasiStatic,
    /// Mass of every dof, velocity carried over in [`State::v`](crate::State::v); with exact friction MpcNote (1) to (5).
    /// Impacts give back what [`Surface::restitution`](crate::Surface::restitution) says. Needs small steps. If bodies overlap
    /// such that a step has no solution, the step of Anitescu and Potra stands in, and the report says so.
    Dynamic,
}

impl Formulation {
    /// Quasi-static steps with exact friction.
    pub const fn exact(cone: Cone) -> Self {
        Self { friction: FrictionLaw::Exact, cone, motion: Motion::QuasiStatic }
    }

    /// Quasi-static steps with convex friction.
    pub const fn convex(cone: Cone) -> Self {
        Self { friction: FrictionLaw::Convex, cone, motion: Motion::QuasiStatic }
    }

    /// Dynamic steps with exact friction.
    pub const fn dynamic(cone: Cone) -> Self {
        Self { friction: FrictionLaw::Exact, cone, motion: Motion::Dynamic }
    }

    /// True if a step begins with the velocity at the end of the one before, false if it begins at rest.
    pub fn carries_velocity(self) -> bool {
        self.motion == Motion::Dynamic
    }
}

impl FrictionLaw {
    /// Its word in scene files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Convex => "convex",
        }
    }
}

impl Motion {
    /// Its word in scene files.
    pub fn name(self) -> &'static str {
        match self {
            Self::QuasiStatic => "quasi_static",
            Self::Dynamic => "dynamic",
        }
    }
}

/// Shape of a friction cone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cone {
    /// Inscribed pyramid with this even number of edges, ≥ 2, the first along the contact's first
    /// tangent: Trinkle05 (13). A contact that can move in one plane only has its two edges in that
    /// plane, whatever the number, unless [`TangentAxes`](crate::TangentAxes) says otherwise.
    Pyramid(u32),
    /// The pyramid around the square `|lambda_t,k| ≤ mu lambda_n` along the two tangents: Trinkle05 (33),
    /// another model than [`Pyramid`](Self::Pyramid) with four edges, which is the square between the middles of its sides.
    Box,
    /// The round cone itself, a second-order cone: `lambda_n mu ≥ ‖lambda_t‖`, alike in all
    /// directions.
    Round,
}

impl Cone {
    /// Number of its edges; none of a round one.
    pub(crate) fn edges(self) -> Option<u32> {
        match self {
            Self::Pyramid(edges) => Some(edges),
            Self::Box => Some(4),
            Self::Round => None,
        }
    }
}

/// `round`, `box`, or the number of edges: its word in scene files.
impl fmt::Display for Cone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pyramid(edges) => edges.fmt(f),
            Self::Box => f.write_str("box"),
            Self::Round => f.write_str("round"),
        }
    }
}

/// Configuration whose Jacobians a solve uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// That of the start of the step.
    Start,
    /// That of its middle.
    Middle,
}
