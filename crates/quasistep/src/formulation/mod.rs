//! Friction laws. [`problem`] assembles a program of either law (stage 4). [`anitescu`] or
//! [`coulomb`] solves it (stage 5). [`recover`] writes the solution to the report (stage 6).

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

/// Formulation of a step: friction law, cone shape, and kind of motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formulation {
    /// Law of friction.
    pub friction: FrictionLaw,
    /// Shape of the friction cones.
    pub cone: Cone,
    /// Velocity at the start of a step, and inertia.
    pub motion: Motion,
}

/// Friction law of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrictionLaw {
    /// Coulomb's law without relaxation: sliding contacts do not float. With pyramids these are the
    /// complementarity problems of Trinkle05 (Model-DLC) and Pang21 (1), with impedances Pang21
    /// (6). With round cones it is Trinkle05 (Model-DQC). With [`Inertia::None`](crate::Inertia) a
    /// step may have no solution, or several.
    #[default]
    Exact,
    /// Anitescu's convex relaxation of Coulomb's law as a quadratic program, Pang21 (10). It is
    /// exact in sticking. A sliding body floats at the height `h mu |v_t|`.
    Convex,
}

/// Velocity at the start of a step, and inertia.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Motion {
    /// Every step starts from rest. Springs, loads and contacts balance against the drag of
    /// [`StepParams::relaxation`](crate::StepParams::relaxation).
    #[default]
    QuasiStatic,
    /// Every dof has mass, and [`State::v`](crate::State::v) carries the velocity from step to
    /// step. With exact friction this is MpcNote (1) to (5).
    /// [`Surface::restitution`](crate::Surface::restitution) applies to impacts. Needs small steps.
    /// If bodies overlap such that a step has no solution, the step of Anitescu and Potra is the
    /// fallback, and the report says so.
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

    /// True if a step starts with the velocity at the end of the last step, false if it starts from
    /// rest.
    pub fn carries_velocity(self) -> bool {
        self.motion == Motion::Dynamic
    }
}

impl FrictionLaw {
    /// Name in scene files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Convex => "convex",
        }
    }
}

impl Motion {
    /// Name in scene files.
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
    /// tangent: Trinkle05 (13). A contact that can move in one plane only has two edges in that
    /// plane for any number, unless [`TangentAxes`](crate::TangentAxes) requires all edges.
    Pyramid(u32),
    /// The pyramid around the square `|lambda_t,k| ≤ mu lambda_n` along the two tangents: Trinkle05
    /// (33). It differs from [`Pyramid`](Self::Pyramid) with four edges, whose square has its
    /// corners at the midpoints of this square's sides.
    Box,
    /// The round cone, an isotropic second-order cone: `lambda_n mu ≥ ‖lambda_t‖`.
    Round,
}

impl Cone {
    /// Number of edges; `None` for a round cone.
    pub(crate) fn edges(self) -> Option<u32> {
        match self {
            Self::Pyramid(edges) => Some(edges),
            Self::Box => Some(4),
            Self::Round => None,
        }
    }
}

/// Name in scene files: `round`, `box`, or the number of edges.
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
    /// The configuration at the start of the step.
    Start,
    /// The configuration at the middle of the step.
    Middle,
}
