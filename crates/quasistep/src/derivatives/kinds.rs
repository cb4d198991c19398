//! Which derivative of a step, where it has none in every direction, and why there is none at all.

use crate::error::StepError;
use quasistep_solvers::{Kinks, SensitivityError};

/// Which derivative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Of the step itself, on its true active set. At a kink, where the step has no derivative in all directions,
    /// it is that of the side that [`StepKinks`] names.
    Exact,
    /// Of the relaxed step, whose contacts push before they touch: its own `q_next` and the derivative of that.
    Smooth {
        /// `λᵀ s = kappa` of every contact and every joint limit, whatever the shape of its cone and the
        /// number of its edges, in J, > 0: a force of `kappa` N at a distance of one metre that closes in a
        /// straight line.
        kappa: f64,
    },
}

/// Where a step has no derivative in every direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepKinks {
    /// Rows of the program that touch without pushing, and limited springs that just reach their limits.
    pub program: Kinks,
    /// Contact points with a force whose features change with the smallest motion of their bodies.
    pub features: u32,
    /// Corners of patches that stand exactly on an edge of the other face, or of two level faces neither of which lies
    /// on the other; of the relaxed step only: in the other one the forces of a patch at rest act alike from either
    /// place. Chosen: the corner goes with its body, the normal with body A.
    pub edges: u32,
    /// Pairs with a point cloud of which the smallest motion may choose other points; of the relaxed step only, where
    /// each of them has a force. Chosen: the points stay.
    pub choices: u32,
    /// Overlaps that just reach the speed at which recovery is bounded. Chosen: it is bounded.
    pub recovery: u32,
    /// Points at the contact margin, which the smallest motion takes in or out; of the relaxed step only, as they
    /// have no force in the other.
    pub margin: u32,
}

impl StepKinks {
    /// True if the step has no derivative in some direction.
    pub fn any(&self) -> bool {
        let of_geometry = self.features + self.edges + self.choices + self.margin;
        !self.only_of_geometry() || of_geometry > 0
    }

    /// Counts those of another motion of the same step, too.
    pub(super) fn add(&mut self, other: &Self) {
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

    /// True if no kink is but of where bodies are: derivatives by all but the configuration are as good as anywhere.
    pub fn only_of_geometry(&self) -> bool {
        !self.program.any() && self.recovery == 0
    }
}

/// Why there is no derivative.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DerivativeError {
    /// The step itself was not solved.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The program of the step has no derivative.
    #[error("no derivative of this step: {0}")]
    Program(#[from] SensitivityError),
    /// The step is not a quasi-static one that starts and ends as [`Integration::Euler`](crate::Integration::Euler) does.
    #[error("no derivative of such a step: `{what}` is {seen}; it must be {rule}")]
    Formulation {
        /// Which parameter.
        what: &'static str,
        /// What it is.
        seen: &'static str,
        /// What it must be.
        rule: &'static str,
    },
    /// Something stood in for the step that has no derivatives.
    #[error(
        "no derivative of the step that stands in, `{name}`, where exact friction has no answer: {why}"
    )]
    Fallback {
        /// What stands in.
        name: &'static str,
        /// Why exact friction has no answer.
        why: StepError,
    },
    /// A pair on a foundation joins the step along its motion: its points there have no derivative.
    #[error(
        "no derivative of this step: `{0}` and `{1}`, which are on a foundation, meet along its motion; take a smaller step, \
         or a contact_margin that has the pair from the start"
    )]
    Foundation(String, String),
    /// A drive is at its effort limit under constraints: what moves along the constraints then has no stiffness of its own.
    #[error(
        "no derivative of this step: the drive of `{0}`, which constraints couple, is at its effort limit"
    )]
    Limited(String),
    /// A vector has the wrong length.
    #[error("`{what}` has {got} entries; it must have {want}")]
    Length {
        /// Which vector.
        what: &'static str,
        /// Its length.
        got: usize,
        /// The length it must have, or 0 for none.
        want: usize,
    },
    /// A number of the system at which friction or compliance of a pair begins, or becomes another law.
    #[error("no derivative by a number at which friction or compliance of a pair begins")]
    Begins,
    /// Nothing was differentiated yet, or the last step could not be.
    #[error("no step was differentiated")]
    NotPrepared,
}
