//! The problem, the answer and its residuals.

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
/// Units are the caller's: with costs in `J` and `x_i` in `u_i`, `P_ij` is in `J/(u_i u_j)` and
/// `z_i` in `J` per unit of row `i`.
#[derive(Clone, Copy, Debug)]
pub struct Qp<'a> {
    /// Number of variables `n`; may be 0.
    pub n: usize,
    /// `n × n` row-major, symmetric, positive semidefinite; may be zero.
    pub P: &'a [f64],
    /// Length `n`.
    pub c: &'a [f64],
    /// Rows of the constraints; columns below `n`.
    pub A: &'a Rows,
    /// Length `A.len()`.
    pub b: &'a [f64],
    /// Huber costs, in addition to `P`; several may act on one variable.
    pub saturations: &'a [Saturation],
}

/// A spring on one variable whose force never exceeds `limit`: a Huber cost.
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
    /// The variable.
    pub index: u32,
    /// Stiffness `k ≥ 0`, cost per squared unit of the variable.
    pub stiffness: f64,
    /// Where the spring is at rest, in the variable's unit.
    pub target: f64,
    /// Largest force, ≥ 0, cost per unit of the variable; `INFINITY` for a plain spring.
    pub limit: f64,
}

impl Saturation {
    /// Derivative of the cost at `x`: minus the spring's force on the variable.
    pub fn gradient(&self, x: f64) -> f64 {
        (self.stiffness * (x - self.target)).min(self.limit).max(-self.limit)
    }

    /// The cost at `x`, zero at the target.
    pub fn cost(&self, x: f64) -> f64 {
        let e = x - self.target;
        if self.stiffness * e.abs() <= self.limit {
            0.5 * self.stiffness * e * e
        } else {
            self.limit * (e.abs() - 0.5 * self.limit / self.stiffness)
        }
    }
}

/// How a solve ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// `x` and `z` are optimal to the residuals reported.
    Solved,
    /// The cost falls without end along [`Solution::ray`].
    Unbounded,
    /// No `x` satisfies all rows, as [`Solution::certificate`] proves.
    Infeasible,
    /// No answer; [`Solution::reason`] says why.
    #[default]
    GaveUp,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Lengths of the data disagree, a column or a saturation names a variable ≥ `n`, or a contact a block without any.
    Dimensions,
    /// A NaN or an infinity in the data (only [`Saturation::limit`] may be infinite).
    NotFinite,
    /// `P` is not symmetric to 1e-9 of its diagonal.
    NotSymmetric,
    /// `P` has a direction of negative curvature, or a saturation a negative stiffness or limit.
    NotConvex,
    /// The limit of pivots was reached.
    Pivots,
    /// [`Settings::work_limit`] was reached.
    Work,
    /// A coefficient of friction below zero.
    NegativeFriction,
    /// The best point found fails the checks on [`Solution::residuals`] by the original data.
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

/// Answer of a solve. Reuse one value: its memory is kept.
#[derive(Clone, Debug, Default)]
pub struct Solution {
    /// How it ended.
    pub status: Status,
    /// Why the solve gave up, if it did.
    pub reason: Option<Reason>,
    /// The minimiser, length `n`; where it is not unique, the one described in the crate's page.
    /// Zero unless solved.
    pub x: Vec<f64>,
    /// Multipliers of the rows, ≥ 0, one per row. Of all optimal ones those of the smallest
    /// Euclidean norm (see [`dual_is_smallest_norm`](Self::dual_is_smallest_norm)). Zero unless
    /// solved.
    pub z: Vec<f64>,
    /// Slacks of the rows, `A x − b`, one per row; for cone programs `E (J x − b)`.
    pub s: Vec<f64>,
    /// If unbounded, a direction `d` of length `n` with `P d = 0`, `A d ≥ 0` and
    /// `cᵀd + Σ limit_k |d_k| < 0`, largest entry 1; else empty.
    pub ray: Vec<f64>,
    /// If infeasible, multipliers `y ≥ 0` of the rows with `Aᵀy = 0` and `bᵀy > 0`, largest
    /// entry 1; else empty.
    pub certificate: Vec<f64>,
    /// Residuals of `x` and `z` by the original data; zero unless solved.
    pub residuals: Residuals,
    /// Iterations or pivots of all methods, proximal rounds and re-solves for saturations included.
    pub iterations: u32,
    /// Multiply-adds of factorisations, triangular solves and products with the rows, counted from their
    /// sizes: the same number on every machine, at most [`Settings::work_limit`].
    pub work: u64,
    /// Per saturation: 1 where the variable is so far above its target that the spring carries
    /// its limit (force `−limit`), −1 where it is below (force `+limit`), 0 between.
    pub saturated: Vec<i8>,
    /// False if the projection onto the smallest norm could not be verified to 1e-11; `z` are
    /// then the multipliers of an independent working set, optimal but not unique.
    pub dual_is_smallest_norm: bool,
    /// Independent rows that hold `x` in place, ascending: the best warm start of a similar
    /// problem.
    pub working: Vec<u32>,
    /// The algorithm behind the answer.
    pub method: Method,
    /// Why the active set for small programs, if it was tried, left this one to others.
    pub handed_over: Option<HandOver>,
}

/// The algorithm behind an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// The dense dual active set: a plain [`Qp`].
    #[default]
    ActiveSet,
    /// The active set for small cone programs, from the rows that push in a similar problem.
    WarmActiveSet,
    /// The active set for small cone programs, from a cold start.
    ColdActiveSet,
    /// Newton's method, from the active set of a similar problem.
    WarmNewton,
    /// Newton's method from the unconstrained minimiser, without a warm start.
    ColdNewton,
    /// Newton's method from the unconstrained minimiser, after the warm start failed.
    RestartedNewton,
    /// The interior point, finished by a crossover or Newton's method where that converged.
    InteriorPoint,
    /// The dense dual active set, or a certificate that there is no answer, after the methods for contacts
    /// failed.
    Fallback,
    /// The homogeneous embedding in numbers of twice the digits, or a certificate from it, after all others failed.
    Embedding,
}

impl Method {
    /// Whether the methods for contacts failed.
    pub fn is_fallback(self) -> bool {
        matches!(self, Self::Fallback | Self::Embedding)
    }
}

/// Why the active set for small cone programs left one to another method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOver {
    /// The cost is not definite.
    Singular,
    /// A number is not finite, or the answer is a small difference of large ones.
    Numbers,
    /// Too many pivots.
    Pivots,
    /// Rows cycle between active and inactive.
    Rounds,
    /// Rows contradict one another by more than rounding.
    Contradiction,
    /// A spring reached its limit.
    Saturated,
    /// The answer did not hold against the program's own numbers.
    Check,
}

/// Worst errors of a solution, each the largest over its entries, in the caller's units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Residuals {
    /// `|P x + c + ∇huber − Aᵀ z|`.
    pub stationarity: f64,
    /// Violation of `A x ≥ b`, ≥ 0.
    pub primal: f64,
    /// Most negative multiplier, as a positive number.
    pub dual: f64,
    /// `|z_i (A x − b)_i|`.
    pub complementarity: f64,
}

/// Settings of the solvers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Most work of one solve, in multiply-adds as [`Solution::work`] counts them. A solve that needs more
    /// ends with [`Reason::Work`]. Default 5e10, some seconds on one core: a cold start of the largest recorded
    /// pile (200 boxes, round cones) takes 6e8.
    pub work_limit: u64,
    /// Absolute primal tolerance: violation of a row that counts as zero, in the unit that all rows of the program share;
    /// 0 (the default) if they share none. Used by [`ConeSolver`](crate::ConeSolver): where all speeds and
    /// costs are zero, there is nothing to compare a violation with.
    pub rest: f64,
    /// Most threads for islands, blocks that no cone ties to other blocks: 0 (the default) and 1 solve one
    /// after another. Used by [`ConeSolver`](crate::ConeSolver) where the interior point is, for islands of
    /// 100 cones and more; the bits of the answer do not depend on it. A solve on several threads
    /// allocates.
    pub threads: u32,
    /// Relative KKT tolerance of an approximate answer, on every island: stationarity and dual residuals as a share of
    /// its largest force, primal ones as a share of its largest speed, products as a share of both; its speed is at
    /// least that force over its largest curvature. Stationarity also holds with every force over the
    /// root of its variable's own curvature, whatever the units of variables. 0 (the default) asks for all
    /// digits, on the exact active set and with the smallest-norm multipliers. Used by
    /// [`ConeSolver`](crate::ConeSolver) for more than 32 variables, or 100 with a warm start: its
    /// interior point ends near the middle of the set of answers, which is faster and a poor warm start. Where
    /// rows are degenerate, speeds have far fewer correct digits than the balance. If the interior point does not reach the
    /// tolerance, an exact answer is found instead.
    pub accuracy: f64,
    /// Engines that [`ConeSolver`](crate::ConeSolver) may use; all of them by default.
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
    /// Value of the whole cost at `x`, Huber terms included.
    pub fn cost(&self, x: &[f64]) -> f64 {
        let mut total = 0.0;
        for i in 0..self.n {
            total += x[i] * (0.5 * dot(&self.P[i * self.n..(i + 1) * self.n], x) + self.c[i]);
        }
        total + self.saturations.iter().map(|s| s.cost(x[s.index as usize])).sum::<f64>()
    }

    /// Writes `P x + c + ∇huber` to `g`, length `n`.
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

    /// Residuals of any pair `(x, z)`; `g` is scratch and holds `P x + c + ∇huber − Aᵀz` after.
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

    /// Checks the data, except whether `P` is semidefinite.
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
                // compared on the scale of the diagonal: |P_ij| ≤ √(P_ii P_jj) in a convex cost
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
