//! Errors of a control problem.

/// A problem that cannot be set up, or a start state that does not fit it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ProblemError {
    /// A vector or matrix has the wrong number of entries.
    Length {
        /// Name of the vector or matrix.
        what: &'static str,
        /// Number of entries found.
        got: usize,
        /// Number of entries required.
        want: usize,
    },
    /// A number is NaN or infinite where it must not be.
    NotFinite {
        /// Name of the vector or matrix.
        what: &'static str,
        /// Index of the entry, row-major.
        index: usize,
        /// Value found.
        value: f64,
    },
    /// A lower bound exceeds its upper bound.
    Crossed {
        /// Name of the bounds.
        what: &'static str,
        /// Index of the entry.
        index: usize,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
    },
    /// The horizon has no step.
    NoHorizon,
    /// The number of models is neither 1 nor the horizon's length, or models differ in size.
    Models {
        /// Number of models.
        got: usize,
        /// Length of the horizon.
        horizon: usize,
    },
    /// A cost matrix is not symmetric positive semidefinite.
    Cost {
        /// `Q`, `Q_f` or `R`.
        what: &'static str,
    },
    /// A penalty is not a positive number.
    Weight {
        /// Name of the bounds.
        what: &'static str,
        /// The penalty.
        value: f64,
    },
    /// Big-M needs a bound on an impulse, but no bound follows from the problem.
    NoBigM {
        /// Step of the horizon, from 1.
        step: usize,
        /// Entry of `gamma`.
        gamma: usize,
    },
}

impl ProblemError {
    pub(crate) fn check_numbers(
        what: &'static str,
        values: &[f64],
        want: usize,
    ) -> Result<(), Self> {
        if values.len() != want {
            return Err(Self::Length { what, got: values.len(), want });
        }
        match values.iter().position(|v| !v.is_finite()) {
            Some(index) => Err(Self::NotFinite { what, index, value: values[index] }),
            None => Ok(()),
        }
    }
}

impl std::fmt::Display for ProblemError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Length { what, got, want } => {
                write!(f, "`{what}` has {got} entries; it must have {want}")
            }
            Self::NotFinite { what, index, value } => {
                write!(f, "entry {index} of `{what}` is {value}; it must be finite")
            }
            Self::Crossed { what, index, lower, upper } => {
                write!(
                    f,
                    "entry {index} of the {what} bounds: lower {lower} is above upper {upper}"
                )
            }
            Self::NoHorizon => f.write_str("`horizon` is 0; it must be at least 1"),
            Self::Models { got, horizon } => write!(
                f,
                "there are {got} models for a horizon of {horizon}; give one, or one of the same size for every step"
            ),
            Self::Cost { what } => {
                write!(f, "`{what}` must be symmetric and have no negative curvature")
            }
            Self::Weight { what, value } => {
                write!(f, "the weight of soft {what} bounds is {value}; it must be > 0")
            }
            Self::NoBigM { step, gamma } => write!(
                f,
                "nothing bounds entry {gamma} of gamma at step {step}; set `bounds.impulse`, or export complementarity as SOS1"
            ),
        }
    }
}

impl std::error::Error for ProblemError {}
