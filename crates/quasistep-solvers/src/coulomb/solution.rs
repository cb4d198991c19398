//! The methods, their answer with residuals, and the proof where there is none.

use crate::lcp::proof::Proof;
use crate::{Reason, WarmStart};

/// Forces and rates of a similar program, in the rows of this one.
///
/// A contact of which nothing is known gets `lambda = 0` and `u = (1, 0, …)`: it starts open.
#[derive(Clone, Copy, Debug)]
pub struct CoulombWarm<'a> {
    /// Contact forces.
    pub lambda: &'a [f64],
    /// Rates `J x − b`.
    pub u: &'a [f64],
    /// Multipliers and slacks of a similar relaxation, used if the relaxation is solved.
    pub relaxed: Option<WarmStart<'a>>,
}

/// How a solve ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Balance, gaps and Coulomb's law hold to the residuals reported.
    Solved,
    /// There is no answer, as [`CoulombSolution::refutation`] proves.
    Unsolvable,
    /// Neither an answer nor a proof that there is none was found.
    Undecided,
    /// The data are not valid; [`CoulombSolution::reason`] says why.
    #[default]
    GaveUp,
}

/// Mode of a contact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No force.
    #[default]
    Open,
    /// A force, and no slip.
    Stick,
    /// A force on the boundary of the friction cone, and slip.
    Slip,
}

/// The algorithm behind an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CoulombMethod {
    /// Newton's method from the answer of a similar program.
    #[default]
    WarmNewton,
    /// Newton's method from the convex relaxation, or from a convex program with wider gaps; or the relaxation's own answer, where the law holds for it.
    Newton,
    /// De Saxcé's fixed point: a convex program whose gaps are wider by its own slips.
    FixedPoint,
    /// Penalty continuation of Newton's method.
    Continuation,
    /// The convex relaxation has no answer, which proves that the program has none.
    Relaxation,
    /// Lemke's method.
    Lemke,
    /// Branch and bound on the modes of the contacts, for an answer or a proof.
    Cases,
}

/// A set of methods of [`CoulombSolver`](crate::CoulombSolver). The convex relaxation
/// with its proofs, and the check of every answer, belong to all of them.
///
/// ```
/// use quasistep_solvers::CoulombMethods;
///
/// let all_but_lemke = CoulombMethods::ALL.without(CoulombMethods::LEMKE);
/// assert!(all_but_lemke.has(CoulombMethods::NEWTON) && !all_but_lemke.has(CoulombMethods::LEMKE));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoulombMethods(u8);

impl CoulombMethods {
    /// No method.
    pub const NONE: Self = Self(0);
    /// Newton's method on the law, from a similar answer and from the relaxation.
    pub const NEWTON: Self = Self(1);
    /// Penalty continuation of Newton's method, from soft contacts to hard ones.
    pub const CONTINUATION: Self = Self(1 << 1);
    /// Lemke's method, for pyramids.
    pub const LEMKE: Self = Self(1 << 2);
    /// Branch and bound on the modes of the contacts: an answer or a proof.
    pub const CASES: Self = Self(1 << 3);
    /// Homotopies from one answer of the continuation to the next; without [`CONTINUATION`](Self::CONTINUATION) of no effect.
    pub const HOMOTOPY: Self = Self(1 << 4);
    /// Convex programs from the relaxation to De Saxcé's fixed point.
    pub const FIXED_POINT: Self = Self(1 << 5);
    /// All methods.
    pub const ALL: Self = Self((1 << 6) - 1);

    /// Whether all of `others` are in the set.
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// The set with `others`.
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// The set without `others`.
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }
}

impl Default for CoulombMethods {
    fn default() -> Self {
        Self::ALL
    }
}

/// Worst errors of a solution by the program's own data, each the largest over its entries, in the
/// caller's units: 0 is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CoulombResiduals {
    /// `|P x + c + ∇huber − Jᵀ lambda|`.
    pub balance: f64,
    /// `−u_n`.
    pub overlap: f64,
    /// Distance of `lambda_t` from `lambda_n F`, and `−lambda_n`.
    pub cone: f64,
    /// `|lambda_n u_n|`.
    pub complementarity: f64,
    /// Gap of friction to the largest dissipation, `lambda_tᵀ u_t + lambda_n h(u_t)`.
    pub dissipation: f64,
}

/// Answer of a solve. Reuse one value: its memory is kept.
#[derive(Clone, Debug, Default)]
pub struct CoulombSolution {
    /// How it ended.
    pub outcome: Outcome,
    /// Why the solve gave up, or [`Reason::Work`] if the limit of work left the
    /// program undecided.
    pub reason: Option<Reason>,
    /// Length `n`. Zero unless solved. Where it is not unique, one near 0; see
    /// [`Uniqueness`](crate::Uniqueness).
    pub x: Vec<f64>,
    /// Contact forces, normal one first, contact by contact. Zero unless solved.
    pub lambda: Vec<f64>,
    /// `J x − b`, in the layout of `lambda`. Zero unless solved.
    pub u: Vec<f64>,
    /// Modes, one per contact.
    pub modes: Vec<Mode>,
    /// Per contact `h(u_t) = max { −lᵀ u_t : l ∈ F }`, which is `mu |u_t|` for a disc: how far
    /// the sliding body would float in the convex relaxation; 0 where there is no force.
    pub boundary_layer: Vec<f64>,
    /// Residuals of the answer; zero unless solved.
    pub residuals: CoulombResiduals,
    /// The algorithm behind the answer.
    pub method: CoulombMethod,
    /// Iterations of Newton's method.
    pub newton: u32,
    /// Convex programs solved.
    pub convex: u32,
    /// Multiply-adds of factorisations, triangular solves, pivots and products with the rows, counted from their
    /// sizes: the same number on every machine. At most [`CoulombSettings::work_limit`](crate::CoulombSettings::work_limit).
    pub work: u64,
    /// Pivots of Lemke's method in all attempts.
    pub pivots: u32,
    /// Most pivots of one attempt of Lemke's method: at most three times the number of rows of the complementarity problem.
    pub longest: u32,
    /// The proof, if unsolvable.
    pub refutation: Option<Refutation>,
}

/// Proof that no forces and motion satisfy the program, checked from its data.
#[derive(Clone, Debug, PartialEq)]
pub enum Refutation {
    /// The gaps alone are inconsistent: Farkas multipliers ≥ 0, one per contact, largest entry 1, with
    /// `Σ_i y_i J_n,i = 0` and `Σ_i y_i b_n,i > 0`. Contacts of positive weight crush what is
    /// between them.
    Crushed {
        /// The weights `y`.
        weights: Vec<f64>,
    },
    /// The balance alone is inconsistent: a direction `d` of length `n`, largest entry 1, that
    /// meets no spring and along which no contact can resist, `dᵀ J_iᵀ lambda ≥ 0` for all
    /// forces within the friction cone, while the known forces push along it: `cᵀ d < 0`.
    Unsupported {
        /// The direction `d`.
        direction: Vec<f64>,
    },
    /// Gaps and forces can each be met, but not together: every way in which the contacts of pyramids may be open,
    /// stick or slip is refuted.
    Jammed {
        /// One refutation for each case, by the pairs of the linear complementarity problem that
        /// [`FrictionProgram::lcp`](crate::FrictionProgram::lcp) writes.
        proof: Proof,
        /// Contacts that appear in some case, ascending.
        contacts: Vec<u32>,
    },
    /// Gaps and forces can each be met, but not together: every way in which contacts, some of them round, may be open,
    /// stick or slip, direction by direction, is refuted.
    JammedRound {
        /// One refutation for each case.
        cases: Vec<JamCase>,
        /// Contacts that some case splits, ascending.
        contacts: Vec<u32>,
    },
}

/// Restriction of a contact in a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JamPart {
    /// Anything.
    Any,
    /// No force.
    Open,
    /// No gap.
    Closed,
    /// Neither gap nor slip.
    Stick,
    /// Slip in a direction between these two angles of its tangential rows over their friction, in rad, against
    /// the whole of the friction.
    Slip(f64, f64),
}

/// One refuted case.
#[derive(Clone, Debug, PartialEq)]
pub struct JamCase {
    /// The splits that lead to it: a contact and its part.
    pub parts: Vec<(u32, JamPart)>,
    /// Farkas multipliers of the rows of its linear program: balance of each variable, then the rates that each contact's part
    /// restricts.
    pub y: Vec<f64>,
}

impl CoulombSolution {
    pub(crate) fn reset(&mut self, n: usize, rows: usize, contacts: usize) {
        self.outcome = Outcome::GaveUp;
        self.reason = None;
        for (v, n) in [
            (&mut self.x, n),
            (&mut self.lambda, rows),
            (&mut self.u, rows),
            (&mut self.boundary_layer, contacts),
        ] {
            v.clear();
            v.resize(n, 0.0);
        }
        self.modes.clear();
        self.modes.resize(contacts, Mode::Open);
        self.residuals = CoulombResiduals::default();
        self.method = CoulombMethod::default();
        (self.newton, self.convex, self.work) = (0, 0, 0);
        (self.pivots, self.longest) = (0, 0);
        self.refutation = None;
    }
}
