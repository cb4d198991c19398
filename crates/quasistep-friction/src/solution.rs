//! Sets of methods, solutions with residuals, and certificates that there is no solution.

use crate::lcp::proof::Proof;
use quasistep_cone::WarmStart;
use quasistep_linalg::Reason;

/// Warm start: forces and rates of a similar program, in the rows of this one.
///
/// A new contact gets `lambda = 0` and `u = (1, 0, …)`, so that it starts open.
#[derive(Clone, Copy, Debug)]
pub struct CoulombWarm<'a> {
    /// Contact forces, one entry per row.
    pub lambda: &'a [f64],
    /// Rates `J x − b`, one entry per row.
    pub u: &'a [f64],
    /// Multipliers and slacks of a similar relaxation. They are used if the relaxation is solved.
    pub relaxed: Option<WarmStart<'a>>,
}

/// Outcome of a solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Balance, gaps and Coulomb's law hold up to [`CoulombSolution::residuals`].
    Solved,
    /// There is no solution; [`CoulombSolution::refutation`] proves it.
    Unsolvable,
    /// Neither a solution nor a certificate that there is none was found.
    Undecided,
    /// The data are invalid; [`CoulombSolution::reason`] gives the cause.
    #[default]
    GaveUp,
}

/// Mode of a contact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Zero force.
    #[default]
    Open,
    /// Positive normal force and zero slip.
    Stick,
    /// Force on the boundary of the friction cone, and nonzero slip.
    Slip,
}

/// Algorithm that found a solution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CoulombMethod {
    /// Newton's method, started from the solution of a similar program.
    #[default]
    WarmNewton,
    /// Newton's method, started from the convex relaxation or from a convex program with wider
    /// gaps. Also the relaxation's own solution where it satisfies Coulomb's law.
    Newton,
    /// De Saxcé's fixed-point iteration: a convex program whose gaps are widened by its own slips.
    FixedPoint,
    /// Penalty continuation with Newton's method.
    Continuation,
    /// The convex relaxation is infeasible or unbounded, which proves that the program has no
    /// solution.
    Relaxation,
    /// Lemke's method.
    Lemke,
    /// Branch and bound on the modes of the contacts, for a solution or a certificate.
    Cases,
}

/// A set of methods of [`CoulombSolver`](crate::CoulombSolver). The convex relaxation with its
/// certificates, and the check of every solution, are always used.
///
/// ```
/// use quasistep_friction::CoulombMethods;
///
/// let all_but_lemke = CoulombMethods::ALL.without(CoulombMethods::LEMKE);
/// assert!(all_but_lemke.has(CoulombMethods::NEWTON) && !all_but_lemke.has(CoulombMethods::LEMKE));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoulombMethods(u8);

impl CoulombMethods {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// Newton's method on Coulomb's law, from a similar solution and from the relaxation.
    pub const NEWTON: Self = Self(1);
    /// Penalty continuation with Newton's method, from small to large penalty parameters.
    pub const CONTINUATION: Self = Self(1 << 1);
    /// Lemke's method, for pyramids.
    pub const LEMKE: Self = Self(1 << 2);
    /// Branch and bound on the modes of the contacts, for a solution or a certificate.
    pub const CASES: Self = Self(1 << 3);
    /// Homotopies between consecutive solutions of the continuation. No effect without
    /// [`CONTINUATION`](Self::CONTINUATION).
    pub const HOMOTOPY: Self = Self(1 << 4);
    /// De Saxcé's fixed-point iteration over convex programs, from the relaxation on.
    pub const FIXED_POINT: Self = Self(1 << 5);
    /// All methods.
    pub const ALL: Self = Self((1 << 6) - 1);

    /// Whether all of `others` are in the set.
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// The union of the set and `others`.
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

/// Residuals of a solution by the program's own data, in the caller's units. Each is the largest
/// over its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CoulombResiduals {
    /// Largest `|P x + c + ∇huber − Jᵀ lambda|`.
    pub balance: f64,
    /// Largest `−u_n`, ≥ 0.
    pub overlap: f64,
    /// Largest distance of `lambda_t` from `lambda_n F`, or `−lambda_n`.
    pub cone: f64,
    /// Largest `|lambda_n u_n|`.
    pub complementarity: f64,
    /// Largest `lambda_tᵀ u_t + lambda_n h(u_t)`: by how much the dissipation falls short of the
    /// maximum.
    pub dissipation: f64,
}

/// Result of a solve. Reuse one value for several solves: its memory is kept.
#[derive(Clone, Debug, Default)]
pub struct CoulombSolution {
    /// Outcome of the solve.
    pub outcome: Outcome,
    /// Reason for [`Outcome::GaveUp`]; or [`Reason::Work`] if the work limit left the program
    /// undecided.
    pub reason: Option<Reason>,
    /// Motion, length `n`. Zero unless solved. If it is not unique, one near 0; see
    /// [`Uniqueness`](crate::Uniqueness).
    pub x: Vec<f64>,
    /// Contact forces, one contact after another, normal entry first. Zero unless solved.
    pub lambda: Vec<f64>,
    /// Rates `J x − b`, in the layout of `lambda`. Zero unless solved.
    pub u: Vec<f64>,
    /// Modes, one per contact.
    pub modes: Vec<Mode>,
    /// For each contact `h(u_t) = max { −lᵀ u_t : l ∈ F }`, which is `mu |u_t|` for a disc. It is
    /// the rate at which the contact would separate in the convex relaxation. 0 where there is no
    /// force.
    pub boundary_layer: Vec<f64>,
    /// Residuals of the solution; zero unless solved.
    pub residuals: CoulombResiduals,
    /// Algorithm that found the solution.
    pub method: CoulombMethod,
    /// Number of Newton iterations.
    pub newton: u32,
    /// Number of convex programs solved.
    pub convex: u32,
    /// Multiply-adds of factorisations, triangular solves, pivots and products with the rows. They
    /// are counted from matrix sizes, so they are the same on every machine. At most
    /// [`CoulombSettings::work_limit`](crate::CoulombSettings::work_limit).
    pub work: u64,
    /// Number of pivots of Lemke's method in all attempts.
    pub pivots: u32,
    /// Largest number of pivots of one attempt of Lemke's method: at most three times the number of
    /// rows of the complementarity problem.
    pub longest: u32,
    /// Certificate that there is no solution, if unsolvable.
    pub refutation: Option<Refutation>,
}

/// Certificate that no forces and motion satisfy the program, checked against its data.
#[derive(Clone, Debug, PartialEq)]
pub enum Refutation {
    /// The gaps alone are inconsistent. The certificate is a vector of Farkas multipliers `y ≥ 0`,
    /// one per contact, with `Σ_i y_i J_n,i = 0` and `Σ_i y_i b_n,i > 0`, scaled to a largest entry
    /// of 1. The gaps of the contacts with `y_i > 0` cannot all be nonnegative.
    Crushed {
        /// The Farkas multipliers `y`.
        weights: Vec<f64>,
    },
    /// Stationarity alone is inconsistent. The certificate is a direction `d` of length `n`, scaled
    /// to a largest entry of 1. It satisfies `P d = 0` and is zero for variables of Huber terms
    /// without limit. No force of the friction cones has negative power along it: `dᵀ J_iᵀ lambda ≥
    /// 0`. The known forces have more power along it than the Huber terms can resist: `cᵀ d + Σ
    /// limit_k |d_k| < 0`.
    Unsupported {
        /// The direction `d`.
        direction: Vec<f64>,
    },
    /// Gaps and stationarity can each be satisfied, but not together. All friction sets are
    /// polytopes. Every combination of contact modes is refuted.
    Jammed {
        /// One certificate for each case, over the pairs of the linear complementarity problem that
        /// [`FrictionProgram::lcp`](crate::FrictionProgram::lcp) writes.
        proof: Proof,
        /// Indices of the contacts that appear in some case, ascending.
        contacts: Vec<u32>,
    },
    /// Gaps and stationarity can each be satisfied, but not together. Some contacts are round.
    /// Every combination of contact modes is refuted, with slip directions divided into arcs.
    JammedRound {
        /// One certificate for each case.
        cases: Vec<JamCase>,
        /// Indices of the contacts that some case splits, ascending.
        contacts: Vec<u32>,
    },
}

/// Restriction of a contact in a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JamPart {
    /// No restriction.
    Any,
    /// Zero force.
    Open,
    /// Zero normal rate.
    Closed,
    /// Zero normal rate and zero slip.
    Stick,
    /// Slip in a direction between these two angles (rad), with friction at its limit. Angles are
    /// measured in the tangential rows divided by their coefficients of friction.
    Slip(f64, f64),
}

/// An infeasible case.
#[derive(Clone, Debug, PartialEq)]
pub struct JamCase {
    /// The splits that define the case: pairs of a contact and its part.
    pub parts: Vec<(u32, JamPart)>,
    /// Farkas multipliers of the rows of the case's linear program: stationarity of each variable,
    /// then the rates that each contact's part restricts.
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
