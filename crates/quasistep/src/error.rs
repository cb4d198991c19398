use quasistep_model::ModelError;
use std::fmt;

/// A system cannot be built from this definition.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SystemError {
    /// The kinematic model was refused.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A part of the definition is missing, out of range or of the wrong length.
    #[error("{what}: {seen}; {rule}")]
    Definition {
        /// Name of the part.
        what: String,
        /// Value found.
        seen: String,
        /// Values that are valid.
        rule: String,
    },
}

/// A step parameter has an invalid value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("step parameter `{name}` is {seen}; it must be {rule}")]
pub struct ParamError {
    /// Name of the field of [`StepParams`](crate::StepParams).
    pub name: &'static str,
    /// Value seen.
    pub seen: String,
    /// Values that are valid.
    pub rule: String,
}

/// A pair of bodies and the depth of their overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct PairDepth {
    /// Body A, `model/link`.
    pub a: String,
    /// Body B, `model/link`.
    pub b: String,
    /// Depth of the overlap, in m; zero or negative where the pair only touches or is apart.
    pub depth: f64,
}

/// A step was not taken. The state is unchanged.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StepError {
    /// Caller's mistake: fix the parameters.
    Params(ParamError),
    /// Caller's mistake: a vector does not fit this system.
    Length {
        /// Name of the vector.
        what: &'static str,
        /// Length found.
        got: usize,
        /// Length required.
        want: usize,
    },
    /// Caller's mistake: a number is NaN, infinite or no valid configuration.
    Value {
        /// Name of the number.
        what: String,
        /// Reason why the number is invalid.
        why: String,
    },
    /// Not an error of the caller: without inertia, nothing balances the load on these bodies.
    Unsupported {
        /// Names of the bodies whose motion is unbounded.
        bodies: Vec<String>,
        /// Names of the dofs along which they move, each with its component of the motion.
        direction: Vec<(String, f64)>,
    },
    /// Not an error of the caller: no motion satisfies these contacts and limits together.
    Infeasible {
        /// The conflicting pairs, deepest first.
        pairs: Vec<PairDepth>,
        /// Joints whose limits are part of the conflict.
        joints: Vec<String>,
        /// True if gap rows alone are infeasible, so that something is crushed. False with the
        /// convex step, whose friction cones are part of the conflict.
        crushed: bool,
    },
    /// Not an error of the caller, only with exact Coulomb friction: gap rows and force balance can
    /// each be satisfied, but not together. Every combination of open, sticking and sliding
    /// contacts is refuted.
    Jammed {
        /// The pairs involved, deepest first.
        pairs: Vec<PairDepth>,
        /// Joints whose limits are involved.
        joints: Vec<String>,
    },
    /// The solver found neither a solution nor a proof that there is none. Possible with exact
    /// Coulomb friction, or if the step's work limit is reached.
    Undecided {
        /// Number of convex programs solved.
        convex: u32,
        /// Number of pivots of Lemke's method.
        pivots: u32,
        /// Work spent on the undecided program, in multiply-adds.
        work: u64,
        /// True if the solver stopped because of
        /// [`StepParams::work_limit`](crate::StepParams::work_limit).
        limited: bool,
    },
    /// Not an error of the caller: the constraints cannot be satisfied.
    Constraints {
        /// Names of the constraints involved.
        names: Vec<String>,
        /// Reason, as text.
        why: String,
    },
    /// The step's linear rows would let a pair overlap, or push it apart across a gap, and substeps
    /// are disabled or do not help.
    Overlap {
        /// The pair. A negative depth is the gap across which it would be pushed.
        pair: PairDepth,
        /// Time from the start of the step, in s.
        time: f64,
        /// Largest step that would be valid, in s; 0 if none is known.
        size: f64,
        /// Substeps taken; 0 if they are disabled.
        substeps: u32,
    },
    /// The solver stopped early, or its solution did not pass the certificate.
    NotSolved {
        /// Pivots and iterations used.
        iterations: u32,
        /// Name and size of the residual that failed.
        why: String,
    },
}

impl StepError {
    /// True if the step was well posed and no solution exists or was found. Another formulation may
    /// have one.
    pub(crate) fn is_about_friction(&self) -> bool {
        !matches!(
            self,
            Self::Params(_) | Self::Length { .. } | Self::Value { .. } | Self::Constraints { .. }
        )
    }
}

impl StepError {
    /// True if a shorter step may have a solution.
    pub(crate) fn may_help_to_shorten(&self) -> bool {
        self.is_about_friction()
    }

    /// True if the step was proven to have no solution.
    pub(crate) fn is_proof(&self) -> bool {
        matches!(self, Self::Unsupported { .. } | Self::Infeasible { .. } | Self::Jammed { .. })
    }
}

impl From<ParamError> for StepError {
    fn from(error: ParamError) -> Self {
        Self::Params(error)
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Params(error) => error.fmt(f),
            Self::Length { what, got, want } => {
                write!(f, "`{what}` has {got} entries; this system has {want}")
            }
            Self::Value { what, why } => write!(f, "{what}: {why}"),
            Self::Unsupported { bodies, direction } => {
                write!(
                    f,
                    "unsupported: nothing balances the load on {}, which pulls it away along {}; support \
                     it, fix it, or give it inertia with `step.inertia: mass`",
                    quoted(bodies),
                    shares(direction)
                )
            }
            Self::Infeasible { pairs, joints, crushed } => {
                if *crushed {
                    write!(f, "crushed: no motion keeps these pairs from overlapping:")?;
                } else {
                    write!(f, "no motion satisfies these contacts together:")?;
                }
                list(f, pairs, joints)?;
                write!(
                    f,
                    "; move the bodies apart, slow the prescribed motion, or drive it by stiffness{}",
                    // the convex relaxation cannot slide at constant height
                    if *crushed { "" } else { ", or take `step.friction: exact`" }
                )
            }
            Self::Jammed { pairs, joints } => {
                write!(f, "jammed: no motion has contact forces with exact Coulomb friction:")?;
                list(f, pairs, joints)?;
                write!(
                    f,
                    "; drive joints by stiffness instead of prescribing them, or let something stand in \
                     with `step.fallback`"
                )
            }
            Self::Undecided { convex, pivots, work, limited } => {
                let work = *work as f64;
                let tried =
                    format!("{convex} convex programs, {pivots} pivots, {work:.1e} multiply-adds");
                undecided(f, &tried, *limited)
            }
            Self::Constraints { names, why } => {
                write!(
                    f,
                    "constraint{} {}: {why}",
                    if names.len() > 1 { "s" } else { "" },
                    quoted(names)
                )
            }
            Self::Overlap { pair, time, size, substeps } => {
                overlap(f, pair, *time, *size, *substeps)
            }
            Self::NotSolved { iterations, why } => {
                write!(f, "contact problem not solved after {iterations} iterations ({why})")
            }
        }
    }
}

/// A step without a solution and without a proof, after the work in `tried`.
fn undecided(f: &mut fmt::Formatter<'_>, tried: &str, limited: bool) -> fmt::Result {
    if limited {
        write!(
            f,
            "undecided: the work of the step ended before there was a solution or a proof that \
             there is none ({tried}); allow more with `step.work_limit`"
        )?;
    } else {
        write!(
            f,
            "undecided: neither a solution with exact Coulomb friction nor a proof that there \
             is none was found ({tried})"
        )?;
    }
    f.write_str(", or let something stand in with `step.fallback`")
}

/// A pair that would overlap at a time (s) of the step; `size` is the step size (s) that helps, if
/// any.
fn overlap(
    f: &mut fmt::Formatter<'_>,
    pair: &PairDepth,
    time: f64,
    size: f64,
    substeps: u32,
) -> fmt::Result {
    let PairDepth { a, b, depth } = pair;
    if *depth >= 0.0 {
        write!(f, "`{a}` and `{b}` would overlap {depth:.2e} m deep")?;
    } else {
        write!(f, "`{a}` and `{b}` would push each other over a gap of {:.2e} m", -depth)?;
    }
    write!(f, " {time:.3e} s into the step; ")?;
    match (size > 0.0, substeps) {
        (true, 0) => write!(f, "take steps of {size:.2e} s or less, or allow `step.substeps`"),
        (true, n) => write!(
            f,
            "{n} substeps are not enough: take steps of {size:.2e} s or less, or allow a larger \
             `step.max_overlap`"
        ),
        (false, 0) => {
            write!(f, "no smaller step helps: allow `step.substeps` or a larger `step.max_overlap`")
        }
        (false, _) => write!(f, "no smaller step helps: allow a larger `step.max_overlap`"),
    }
}

/// Pairs with their depths, and joints at their limits.
fn list(f: &mut fmt::Formatter<'_>, pairs: &[PairDepth], joints: &[String]) -> fmt::Result {
    let in_words = |pair: &PairDepth| {
        // overlaps below a nanometre are reported as touching
        let how = if pair.depth.abs() < 1e-9 {
            "touch".to_owned()
        } else if pair.depth > 0.0 {
            format!("overlap {:.3e} m deep", pair.depth)
        } else {
            format!("are {:.3e} m apart", -pair.depth)
        };
        format!("`{}` and `{}` {how}", pair.a, pair.b)
    };
    write!(f, " {}", few(pairs, in_words, ", "))?;
    if joints.is_empty() { Ok(()) } else { write!(f, "; with the limits of {}", quoted(joints)) }
}

/// Lists dofs with their components of a motion.
pub(crate) fn shares(direction: &[(String, f64)]) -> String {
    few(direction, |(name, d)| format!("{name} {d:+.2}"), ", ")
}

pub(crate) fn quoted(names: &[String]) -> String {
    few(names, |n| format!("`{n}`"), ", ")
}

/// Largest number of names in an error message. Further names are counted.
const NAMED: usize = 8;

/// Text with the first few entries of `all`. The error's fields hold the full list.
pub(crate) fn few<T>(all: &[T], words: impl Fn(&T) -> String, between: &str) -> String {
    // one further name is written out, since the count would take as much room
    let count = if all.len() > NAMED + 1 { NAMED } else { all.len() };
    let named = all[..count].iter().map(words).collect::<Vec<_>>().join(between);
    if count < all.len() { format!("{named} and {} more", all.len() - count) } else { named }
}

impl std::error::Error for StepError {}
