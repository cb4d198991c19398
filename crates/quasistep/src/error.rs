use quasistep_model::ModelError;
use std::fmt;

/// A system cannot be built from this definition.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SystemError {
    /// The kinematic model was refused.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Something is missing, out of range or of the wrong length; the text says what.
    #[error("{what}: {seen}; {rule}")]
    Definition {
        /// The thing concerned, by name.
        what: String,
        /// What was seen.
        seen: String,
        /// What would be valid.
        rule: String,
    },
}

/// A step parameter breaks its rule.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("step parameter `{name}` is {seen}; it must be {rule}")]
pub struct ParamError {
    /// Field of [`StepParams`](crate::StepParams).
    pub name: &'static str,
    /// Value seen.
    pub seen: String,
    /// Values that are valid.
    pub rule: String,
}

/// A pair of bodies and how far they overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct PairDepth {
    /// Body A, `model/link`.
    pub a: String,
    /// Body B, `model/link`.
    pub b: String,
    /// Depth of the overlap, in m; zero or negative where the pair only touches or is apart.
    pub depth: f64,
}

/// A step was not taken. The state is exactly as it was before the call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StepError {
    /// Caller's mistake: fix the parameters.
    Params(ParamError),
    /// Caller's mistake: a vector does not fit this system.
    Length {
        /// Which vector.
        what: &'static str,
        /// Its length.
        got: usize,
        /// The length it must have.
        want: usize,
    },
    /// Caller's mistake: a number is NaN, infinite or no valid configuration.
    Value {
        /// Which number, by name.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// The world's answer: without inertia, nothing balances the load on these bodies.
    Unsupported {
        /// Names of the bodies that could move without end.
        bodies: Vec<String>,
        /// Names of the dofs along which they move, with their share of the motion.
        direction: Vec<(String, f64)>,
    },
    /// The world's answer: no motion satisfies these contacts and limits together.
    Infeasible {
        /// The pairs that exclude one another, deepest first.
        pairs: Vec<PairDepth>,
        /// Joints whose limits take part.
        joints: Vec<String>,
        /// True if gaps alone contradict one another: something is crushed. False with the convex step, whose
        /// friction cones take part.
        crushed: bool,
    },
    /// The world's answer, of exact Coulomb friction: gaps and forces can each be met, but not together;
    /// every way in which the contacts may be open, stick or slip is refuted.
    Jammed {
        /// The pairs that take part, deepest first.
        pairs: Vec<PairDepth>,
        /// Joints whose limits take part.
        joints: Vec<String>,
    },
    /// Neither a solution nor a proof that there is none was found: with exact Coulomb friction, or within the work that
    /// the step may take.
    Undecided {
        /// Convex programs solved.
        convex: u32,
        /// Pivots of Lemke's method.
        pivots: u32,
        /// Multiply-adds of the program that is undecided.
        work: u64,
        /// True if [`StepParams::work_limit`](crate::StepParams::work_limit) ended it.
        limited: bool,
    },
    /// The world's answer: constraints cannot be kept.
    Constraints {
        /// Names of the constraints that take part.
        names: Vec<String>,
        /// Why not, in words.
        why: String,
    },
    /// The step's rows do not keep a pair apart, or push where it does not touch, and the step may not be taken in
    /// substeps, or these do not help.
    Overlap {
        /// The pair; a negative depth is the gap over which it would push.
        pair: PairDepth,
        /// When, from the start of the step, in s.
        time: f64,
        /// Up to this time the motion is right, in s: a step of that size would do. 0 if none would.
        size: f64,
    },
    /// The solver stopped early, or its answer did not pass the certificate.
    NotSolved {
        /// Pivots and iterations used.
        iterations: u32,
        /// Which residual failed and by how much.
        why: String,
    },
}

impl StepError {
    /// True if the step was well posed and has no solution, or none was found: another formulation may
    /// have one.
    pub(crate) fn is_about_friction(&self) -> bool {
        !matches!(
            self,
            Self::Params(_) | Self::Length { .. } | Self::Value { .. } | Self::Constraints { .. }
        )
    }
}

impl StepError {
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
                    // the relaxation forbids to slide at one height
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
                let tried = format!(
                    "{convex} convex programs, {pivots} pivots, {:.1e} multiply-adds",
                    *work as f64
                );
                if *limited {
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
            Self::Constraints { names, why } => {
                write!(
                    f,
                    "constraint{} {}: {why}",
                    if names.len() > 1 { "s" } else { "" },
                    quoted(names)
                )
            }
            Self::Overlap { pair: PairDepth { a, b, depth }, time, size } => {
                if *depth >= 0.0 {
                    write!(f, "`{a}` and `{b}` would overlap {depth:.2e} m deep")?;
                } else {
                    write!(
                        f,
                        "`{a}` and `{b}` would push each other over a gap of {:.2e} m",
                        -depth
                    )?;
                }
                write!(f, " {time:.3e} s into the step; ")?;
                if *size > 0.0 {
                    write!(f, "take steps of {size:.2e} s or less, or allow `step.substeps`")
                } else {
                    write!(f, "no smaller step helps: allow a larger `step.max_overlap`")
                }
            }
            Self::NotSolved { iterations, why } => {
                write!(f, "contact problem not solved after {iterations} iterations ({why})")
            }
        }
    }
}

/// Pairs with their depths, and joints at their limits.
fn list(f: &mut fmt::Formatter<'_>, pairs: &[PairDepth], joints: &[String]) -> fmt::Result {
    let in_words = |pair: &PairDepth| {
        // a nanometre is rounding on any robot's scale
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

/// Dofs and their shares of a motion.
pub(crate) fn shares(direction: &[(String, f64)]) -> String {
    few(direction, |(name, d)| format!("{name} {d:+.2}"), ", ")
}

pub(crate) fn quoted(names: &[String]) -> String {
    few(names, |n| format!("`{n}`"), ", ")
}

/// Most that a sentence names; of more it says how many.
const NAMED: usize = 8;

/// The first few of `all` in words; the values have the rest.
pub(crate) fn few<T>(all: &[T], words: impl Fn(&T) -> String, between: &str) -> String {
    // one more costs no more room than to say that there is one
    let count = if all.len() > NAMED + 1 { NAMED } else { all.len() };
    let named = all[..count].iter().map(words).collect::<Vec<_>>().join(between);
    if count < all.len() { format!("{named} and {} more", all.len() - count) } else { named }
}

impl std::error::Error for StepError {}
