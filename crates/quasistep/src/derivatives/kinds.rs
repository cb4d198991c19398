//! Kinds of derivatives, kinks at which a step has no two-sided derivative, and errors.

use crate::error::StepError;
use quasistep_cone::{Kinks, SensitivityError};

/// Kind of derivative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Derivative of the step itself, on its active set. At a kink it is the one-sided derivative
    /// that [`StepKinks`] describes.
    Exact,
    /// Derivative of the relaxed step, whose contacts push before they touch. `q_next` is then that
    /// of the relaxed step. Its friction is exact or convex as in the formulation: with the exact law
    /// the normal impulse times the gap is `kappa`, whether or not surfaces slide.
    Smooth {
        /// Complementarity product `λᵀ s = kappa` of every contact and every joint limit, for any
        /// cone shape and number of edges, in J, > 0. A contact at a distance of one metre that
        /// closes in a straight line then has a force of `kappa` N.
        kappa: f64,
    },
}

/// Kinks of a step: places at which it has only one-sided derivatives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepKinks {
    /// Weakly active rows (touching without an impulse), and springs exactly at their force limit.
    pub program: Kinks,
    /// Loaded contact points whose features change with an infinitesimal motion of their bodies.
    pub features: u32,
    /// Corners of patches that lie exactly on an edge of the other face, or of two level faces that
    /// partly cover one another. Counted for the relaxed step only; in the exact step the forces of
    /// a resting patch have the same effect on either side. The derivative assumes that the corner
    /// moves with its own body and the normal with body A.
    pub edges: u32,
    /// Pairs with a point cloud whose choice of contact points may change under an infinitesimal
    /// motion. Counted for the relaxed step only, in which each point has a force. The derivative
    /// assumes that the choice stays.
    pub choices: u32,
    /// Overlaps exactly at the bound of the recovery speed. The derivative assumes that recovery is
    /// bounded.
    pub recovery: u32,
    /// Points exactly at the contact margin, which an infinitesimal motion adds or removes. Counted
    /// for the relaxed step only, since they have no force in the exact one.
    pub margin: u32,
}

impl StepKinks {
    /// True if the step has a kink.
    pub fn any(&self) -> bool {
        let of_geometry = self.features + self.edges + self.choices + self.margin;
        !self.only_of_geometry() || of_geometry > 0
    }

    /// Adds the kinks of another motion of the same step.
    pub(crate) fn add(&mut self, other: &Self) {
        let Kinks { rows, held, round, loads, springs } = other.program;
        self.program.rows += rows;
        self.program.held += held;
        self.program.round += round;
        self.program.loads += loads;
        self.program.springs += springs;
        self.features += other.features;
        self.edges += other.edges;
        self.choices += other.choices;
        self.recovery += other.recovery;
        self.margin += other.margin;
    }

    /// True if all kinks depend on the configuration only. Derivatives with respect to all other
    /// inputs are then two-sided.
    pub fn only_of_geometry(&self) -> bool {
        !self.program.any() && self.recovery == 0
    }
}

/// Reason why a step has no derivative.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DerivativeError {
    /// The step itself was not solved.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The program of the step cannot be differentiated.
    #[error("no derivative of this step: {0}")]
    Program(#[from] SensitivityError),
    /// The step's parameters do not permit derivatives: it must be an
    /// [`Integration::Euler`](crate::Integration::Euler) step.
    #[error("no derivative of such a step: `{what}` is {seen}; it must be {rule}")]
    Formulation {
        /// Name of the parameter.
        what: &'static str,
        /// Value of the parameter.
        seen: &'static str,
        /// Required value.
        rule: &'static str,
    },
    /// A joint moves the surface of a body and not its place.
    #[error("no derivative of this system: the joint of `{0}` moves its surface")]
    Surface(String),
    /// A fallback was taken that has no derivatives.
    #[error(
        "no derivative of the step that stands in, `{name}`, where exact friction has no answer: {why}"
    )]
    Fallback {
        /// Name of the fallback.
        name: &'static str,
        /// Reason why the exact step has no solution.
        why: StepError,
    },
    /// A pair on a foundation is added along the step's motion; its points have no derivative
    /// there.
    #[error(
        "no derivative of this step: `{0}` and `{1}`, which are on a foundation, meet along its motion; take a smaller step, \
         or a contact_margin that has the pair from the start"
    )]
    Foundation(String, String),
    /// A drive coupled by constraints is at its effort limit. Motion along the constraints then has
    /// no stiffness of its own.
    #[error(
        "no derivative of this step: the drive of `{0}`, which constraints couple, is at its effort limit"
    )]
    Limited(String),
    /// Constraints around loops contradict one another and are met in the mean.
    #[error(
        "no derivative of this step: constraints around loops contradict one another; take smaller steps before it"
    )]
    Torn,
    /// A constraint attaches in the step, and holds what it finds at the step's start.
    #[error("no derivative: constraint `{name}` attaches {what}")]
    Attaches {
        /// Name of the constraint.
        name: String,
        /// When, and what to do about it.
        what: &'static str,
    },
    /// A vector has the wrong length.
    #[error("`{what}` has {got} entries; it must have {want}")]
    Length {
        /// Name of the vector.
        what: &'static str,
        /// Length found.
        got: usize,
        /// Length required, or 0 if the vector must be empty.
        want: usize,
    },
    /// At this parameter value a pair's friction or compliance becomes nonzero, or its law changes.
    #[error(
        "no derivative by a number at which friction or compliance of a pair begins or its friction law changes"
    )]
    Begins,
    /// No step was differentiated, or the last attempt failed.
    #[error("no step was differentiated")]
    NotPrepared,
}
