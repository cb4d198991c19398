//! Quadratic program, solution, settings and residuals.

#![allow(non_snake_case)] // P and A are the letters of quadratic programming

use crate::kernels::dot;
use crate::tolerances::SYMMETRIC;
use crate::{Methods, Rows};

/// A convex quadratic program, borrowed from its owner.
///
/// ```text
/// min  1/2 xᵀ P x + cᵀ x + Σ_k huber_k(x)     s.t.   s = A x − b ≥ 0,     dual z ≥ 0
/// P x + c + Σ_k ∇huber_k = Aᵀ z               z_i s_i = 0
/// ```
///
/// Units are the caller's. With costs in `J` and `x_i` in `u_i`, `P_ij` is in `J/(u_i u_j)`, and
/// `z_i` in `J` per unit of row `i`.
#[derive(Clone, Copy, Debug)]
pub struct Qp<'a> {
    /// Number of variables `n`; may be 0.
    pub n: usize,
    /// `n × n` row-major, symmetric, positive semidefinite; may be zero.
    pub P: &'a [f64],
    /// Linear cost, length `n`.
    pub c: &'a [f64],
    /// Matrix of the constraint rows; its columns are below `n`.
    pub A: &'a Rows,
    /// Lower bounds of the rows `A x`, length `A.len()`.
    pub b: &'a [f64],
    /// Huber terms, added to `P`. Several may act on one variable.
    pub saturations: &'a [Saturation],
}

/// Huber term: a spring on one variable whose force never exceeds `limit`.
///
/// With `e = x[index] − target`:
///
/// ```text
/// huber(e) = 1/2 k e²               where k |e| ≤ limit
///          = limit |e| − limit²/2k  elsewhere
/// ```
///
/// The spring's force on the variable is `−d huber/dx = −clamp(k e, −limit, limit)`: it pulls
/// towards `target`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    /// Index of the variable, below `n`.
    pub index: u32,
    /// Stiffness `k ≥ 0`, cost per squared unit of the variable.
    pub stiffness: f64,
    /// Minimiser of the term, in the variable's unit.
    pub target: f64,
    /// Largest force, ≥ 0, in cost per unit of the variable. `INFINITY` gives a quadratic term.
    pub limit: f64,
}

impl Saturation {
    /// Derivative of the term at the value `x` of its variable: minus the spring's force on the
    /// variable.
    pub fn gradient(&self, x: f64) -> f64 {
        (self.stiffness * (x - self.target)).min(self.limit).max(-self.limit)
    }

    /// Value of the term at the value `x` of its variable; zero at the target.
    pub fn cost(&self, x: f64) -> f64 {
        let e = x - self.target;
        if self.stiffness * e.abs() <= self.limit {
            0.5 * self.stiffness * e * e
        } else {
            self.limit * (e.abs() - 0.5 * self.limit / self.stiffness)
        }
    }
}

/// Outcome of a solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// `x` and `z` are optimal up to [`Solution::residuals`].
    Solved,
    /// The cost decreases without bound along [`Solution::ray`].
    Unbounded,
    /// No `x` satisfies all rows; [`Solution::certificate`] proves it.
    Infeasible,
    /// No solution and no certificate was found; [`Solution::reason`] gives the cause.
    #[default]
    GaveUp,
}

/// Reason why a solve gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Lengths of the data disagree, a column or a saturation refers to a variable ≥ `n`, or a cone
    /// refers to a block without variables.
    Dimensions,
    /// A NaN or an infinity in the data (only [`Saturation::limit`] may be infinite).
    NotFinite,
    /// `P` is not symmetric: `|P_ij − P_ji|` exceeds 1e-9 `√(P_ii P_jj)`.
    NotSymmetric,
    /// `P` has a direction of negative curvature, or a saturation has a negative stiffness or
    /// limit.
    NotConvex,
    /// The limit of pivots was reached.
    Pivots,
    /// [`Settings::work_limit`] was reached.
    Work,
    /// A coefficient of friction is negative.
    NegativeFriction,
    /// The best point found fails the check of [`Solution::residuals`], computed from the original
    /// data.
    Accuracy,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Dimensions => "lengths or indices of the problem disagree",
            Self::NotFinite => "a number in the problem is not finite",
            Self::NotSymmetric => "the cost is not symmetric",
            Self::NotConvex => "the cost is not convex",
            Self::Pivots => "the limit of pivots was reached",
            Self::Work => "the limit of work was reached",
            Self::NegativeFriction => "a coefficient of friction is negative",
            Self::Accuracy => "the best point found leaves forces or gaps out of balance",
        })
    }
}

/// Result of a solve. Reuse one value for several solves: its memory is kept.
#[derive(Clone, Debug, Default)]
pub struct Solution {
    /// Outcome of the solve.
    pub status: Status,
    /// Reason for [`Status::GaveUp`]; else `None`.
    pub reason: Option<Reason>,
    /// Minimiser, length `n`. The crate's documentation defines which one, if it is not unique.
    /// Zero unless solved.
    pub x: Vec<f64>,
    /// Multipliers of the rows, ≥ 0, one per row. Zero unless solved.
    ///
    /// Among all optimal multipliers they have the smallest Euclidean norm, if
    /// [`dual_is_smallest_norm`](Self::dual_is_smallest_norm) is true.
    pub z: Vec<f64>,
    /// Slacks of the rows, one per row: `A x − b`, or `E (J x − b)` of a cone program.
    pub s: Vec<f64>,
    /// If unbounded, a direction `d` of length `n` with `P d = 0`, `A d ≥ 0` and `cᵀd + Σ limit_k
    /// |d_k| < 0`, scaled to a largest entry of 1; else empty.
    pub ray: Vec<f64>,
    /// If infeasible, multipliers `y ≥ 0` of the rows with `Aᵀy = 0` and `bᵀy > 0`, scaled to a
    /// largest entry of 1; else empty.
    pub certificate: Vec<f64>,
    /// KKT residuals of `x` and `z`, computed from the original data; zero unless solved.
    pub residuals: Residuals,
    /// Number of iterations or pivots of all methods. Proximal rounds and repeated solves for
    /// saturations count too.
    pub iterations: u32,
    /// Multiply-adds of factorisations, triangular solves and products with the rows. They are
    /// counted from matrix sizes, so they are the same on every machine. At most
    /// [`Settings::work_limit`].
    pub work: u64,
    /// State of each Huber term. It is 1 if the variable is so far above its target that the force
    /// is `−limit`, −1 if it is so far below that the force is `+limit`, else 0.
    pub saturated: Vec<i8>,
    /// Whether the projection of `z` onto the smallest norm was verified to 1e-11. If not, `z` are
    /// optimal multipliers of a linearly independent working set, which are not unique.
    pub dual_is_smallest_norm: bool,
    /// Working set: indices of linearly independent active rows, ascending. It is the best warm
    /// start of a similar problem.
    pub working: Vec<u32>,
    /// Algorithm that found the solution.
    pub method: Method,
    /// Reason why the active set for small programs did not solve this one; `None` if it did or was
    /// not tried.
    pub handed_over: Option<HandOver>,
}

/// Algorithm that found a solution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Dense dual active set, for a [`Qp`].
    #[default]
    ActiveSet,
    /// Active set for small cone programs, started from the working set of a similar problem.
    WarmActiveSet,
    /// Active set for small cone programs, from a cold start.
    ColdActiveSet,
    /// Semismooth Newton method, started from the active set of a similar problem.
    WarmNewton,
    /// Semismooth Newton method, started from the unconstrained minimiser.
    ColdNewton,
    /// Semismooth Newton method, started from the unconstrained minimiser after the warm start
    /// failed.
    RestartedNewton,
    /// Interior point method, finished by a crossover or by Newton's method where that converged.
    InteriorPoint,
    /// Dense dual active set, or a certificate of infeasibility or unboundedness, after the sparse
    /// methods failed.
    Fallback,
    /// Homogeneous embedding in double-double arithmetic, or a certificate from it, after all other
    /// methods failed.
    Embedding,
}

impl Method {
    /// Whether all sparse methods failed before this one.
    pub fn is_fallback(self) -> bool {
        matches!(self, Self::Fallback | Self::Embedding)
    }
}

/// Reason why the active set for small cone programs left a program to another method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOver {
    /// The cost is not positive definite.
    Singular,
    /// A number is not finite, or the solution suffers from cancellation.
    Numbers,
    /// The limit of pivots was reached.
    Pivots,
    /// Rows cycle between active and inactive.
    Rounds,
    /// Rows are inconsistent by more than rounding.
    Contradiction,
    /// A Huber term reached its limit.
    Saturated,
    /// The solution failed the check against the program's own data.
    Check,
}

/// KKT residuals of a solution in the caller's units; each is the largest over its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Residuals {
    /// Largest `|P x + c + ∇huber − Aᵀ z|` over the variables.
    pub stationarity: f64,
    /// Largest violation of `A x ≥ b`, ≥ 0.
    pub primal: f64,
    /// Largest violation of `z ≥ 0`, ≥ 0.
    pub dual: f64,
    /// Largest `|z_i (A x − b)_i|`.
    pub complementarity: f64,
}

/// Settings of the solvers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Limit of work of one solve, in multiply-adds as counted by [`Solution::work`]. A solve that
    /// needs more ends with [`Reason::Work`].
    ///
    /// The default 5e10 takes some seconds on one core. For comparison, a cold start of the largest
    /// recorded program (200 boxes, round cones) takes 6e8.
    pub work_limit: u64,
    /// Absolute primal tolerance: violation of a row that counts as zero, in the unit that all rows
    /// of the program share. Keep 0 (the default) if they do not share one.
    ///
    /// [`ConeSolver`](crate::ConeSolver) uses it where all speeds and costs are zero, so that there
    /// is no reference size for a violation.
    pub rest: f64,
    /// Largest number of threads; 0 (the default) and 1 mean no parallelism.
    ///
    /// [`ConeSolver`](crate::ConeSolver) uses them for the interior point on islands of 100 cones
    /// and more. An island is a set of blocks that no cone connects to other blocks. Results do not
    /// depend on the number of threads. A solve on several threads allocates.
    pub threads: u32,
    /// Relative KKT tolerance of an approximate solution. 0 (the default) asks for an exact active
    /// set, all digits and the smallest-norm multipliers.
    ///
    /// On every island, stationarity and dual residuals are shares of its largest force, primal
    /// residuals of its largest speed, and complementarity products of both. The speed is at least
    /// that force over the largest curvature. Stationarity also holds with every force divided by
    /// the root of its variable's curvature, so it does not depend on the units of variables.
    ///
    /// [`ConeSolver`](crate::ConeSolver) uses it for more than 32 variables, or 100 with a warm
    /// start. It then returns the interior point's last iterate, near the analytic centre of the
    /// solution set. This is faster, but the iterate is a poor warm start. Where rows are
    /// degenerate, speeds have far fewer correct digits than the balance of forces. If the interior
    /// point does not reach the tolerance, an exact solution is computed instead.
    pub accuracy: f64,
    /// Algorithms that [`ConeSolver`](crate::ConeSolver) may use; all of them by default.
    pub methods: Methods,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            work_limit: 50_000_000_000,
            rest: 0.0,
            threads: 0,
            accuracy: 0.0,
            methods: Methods::ALL,
        }
    }
}

impl Qp<'_> {
    /// Value of the cost at `x`, Huber terms included.
    pub fn cost(&self, x: &[f64]) -> f64 {
        let mut total = 0.0;
        for i in 0..self.n {
            total += x[i] * (0.5 * dot(&self.P[i * self.n..(i + 1) * self.n], x) + self.c[i]);
        }
        total + self.saturations.iter().map(|s| s.cost(x[s.index as usize])).sum::<f64>()
    }

    /// Writes the gradient `P x + c + ∇huber` at `x` to `g`; both have length `n`.
    pub fn gradient(&self, x: &[f64], g: &mut Vec<f64>) {
        g.clear();
        g.extend_from_slice(self.c);
        for i in 0..self.n {
            g[i] += dot(&self.P[i * self.n..(i + 1) * self.n], x);
        }
        for s in self.saturations {
            g[s.index as usize] += s.gradient(x[s.index as usize]);
        }
    }

    /// KKT residuals of any pair `x` (length `n`) and `z` (one per row). On return `g` holds `P x +
    /// c + ∇huber − Aᵀz`.
    pub fn residuals(&self, x: &[f64], z: &[f64], g: &mut Vec<f64>) -> Residuals {
        self.gradient(x, g);
        let mut r = Residuals::default();
        for i in 0..self.b.len() {
            let s = self.A.dot(i, x) - self.b[i];
            r.primal = r.primal.max(-s);
            r.dual = r.dual.max(-z[i]);
            r.complementarity = r.complementarity.max((s * z[i]).abs());
            if z[i] != 0.0 {
                self.A.add_to(i, -z[i], g);
            }
        }
        r.stationarity = crate::kernels::max_abs(g);
        r
    }

    /// Checks sizes, finiteness and symmetry, but not whether `P` is semidefinite.
    pub(crate) fn check(&self) -> Result<(), Reason> {
        let n = self.n;
        let fits = n.checked_mul(n) == Some(self.P.len())
            && self.c.len() == n
            && self.A.len() == self.b.len()
            && self.A.fits(n)
            && self.saturations.iter().all(|s| (s.index as usize) < n);
        if !fits {
            return Err(Reason::Dimensions);
        }
        let finite = |v: &[f64]| v.iter().all(|v| v.is_finite());
        let springs = self
            .saturations
            .iter()
            .all(|s| s.stiffness.is_finite() && s.target.is_finite() && !s.limit.is_nan());
        if !(finite(self.P) && finite(self.c) && finite(self.b) && self.A.is_finite() && springs) {
            return Err(Reason::NotFinite);
        }
        if self.saturations.iter().any(|s| s.stiffness < 0.0 || s.limit < 0.0) {
            return Err(Reason::NotConvex);
        }
        for i in 0..n {
            if self.P[i * n + i] < 0.0 {
                return Err(Reason::NotConvex);
            }
            for j in 0..i {
                let (a, b) = (self.P[i * n + j], self.P[j * n + i]);
                // relative to the diagonal, because |P_ij| ≤ √(P_ii P_jj) in a convex cost
                if a != b {
                    let scale = self.P[i * n + i].sqrt() * self.P[j * n + j].sqrt();
                    if (a - b).abs() > SYMMETRIC * scale {
                        return Err(Reason::NotSymmetric);
                    }
                }
            }
        }
        Ok(())
    }
}
