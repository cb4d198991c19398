//! Control problem: cost and constraints of a plan.

#![allow(non_snake_case)] // Q and R are the letters of MpcNote

use crate::error::ProblemError;
use crate::lcs::Lcs;

/// A contact-implicit control problem over a horizon: MpcNote (10), (11) and (19).
///
/// ```text
/// min  (x_N − x_d)ᵀ Q_f (x_N − x_d) + Σ_{k=0}^{N−1} (x_k − x_d)ᵀ Q (x_k − x_d) + u_kᵀ R u_k
/// s.t. x_{k+1}, gamma_{k+1} satisfy the model of step k, and the bounds hold
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Number of steps `N`, ≥ 1.
    pub horizon: usize,
    /// One model for all steps, or one for each step.
    pub models: Vec<Lcs>,
    /// Cost to be minimised.
    pub cost: Cost,
    /// Bounds on states, inputs and impulses.
    pub bounds: Bounds,
}

/// Quadratic cost; without factors of one half.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// Weight of the states `0 … N − 1`: `n_x × n_x` row-major, symmetric positive semidefinite.
    pub Q: Vec<f64>,
    /// Weight of the last state, with the shape of `Q`.
    pub Q_f: Vec<f64>,
    /// Weight of the inputs: `n_u × n_u`, symmetric positive semidefinite.
    pub R: Vec<f64>,
    /// Goal states `x_d`: one for all steps, or `N + 1` for the states `0 … N` (MpcNote (19)). If a
    /// trajectory is shorter, its last state is repeated.
    pub goal: Vec<Vec<f64>>,
}

/// Bounds on the states `1 … N`, on inputs and on changes of inputs. The start state is checked
/// against the bounds of the state as well.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// Bounds on states.
    pub state: Limits,
    /// Bounds on inputs.
    pub input: Limits,
    /// Bounds on `u_k − u_{k−1}`. For `k = 0` the previous input is the one applied last, if known.
    pub input_rate: Limits,
    /// Upper bound of every normal impulse, and of every entry of `gamma` that belongs to no
    /// contact, > 0. Default none. There is no physical bound: wedged bodies may press with any
    /// force.
    pub impulse: Option<f64>,
}

/// Bounds per entry; empty for none, infinite entries for no bound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Lower bounds.
    pub lower: Vec<f64>,
    /// Upper bounds.
    pub upper: Vec<f64>,
    /// Treatment of infeasible bounds.
    pub hardness: Hardness,
}

/// Treatment of infeasible bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Hardness {
    /// If the bounds are infeasible there is no plan, and the conflict is reported.
    #[default]
    Hard,
    /// The bounds are kept if possible. If no plan satisfies them all, each violation `s` costs
    /// `weight (s + s²)`, and the plan lists the violations.
    Soft {
        /// Cost per unit, > 0.
        weight: f64,
    },
}

impl Limits {
    /// Hard bounds `|value_i| ≤ size_i`.
    pub fn symmetric(size: &[f64]) -> Self {
        Self {
            lower: size.iter().map(|v| -v).collect(),
            upper: size.to_vec(),
            hardness: Hardness::Hard,
        }
    }

    /// Makes these bounds soft, with the given price per unit of violation.
    pub fn soft(self, weight: f64) -> Self {
        Self { hardness: Hardness::Soft { weight }, ..self }
    }

    pub(crate) fn is_soft(&self) -> bool {
        matches!(self.hardness, Hardness::Soft { .. })
    }

    pub(crate) fn lower(&self, i: usize) -> f64 {
        self.lower.get(i).copied().unwrap_or(f64::NEG_INFINITY)
    }

    pub(crate) fn upper(&self, i: usize) -> f64 {
        self.upper.get(i).copied().unwrap_or(f64::INFINITY)
    }

    fn check(&self, what: &'static str, n: usize) -> Result<(), ProblemError> {
        for side in [&self.lower, &self.upper] {
            if !side.is_empty() && side.len() != n {
                return Err(ProblemError::Length { what, got: side.len(), want: n });
            }
            if let Some(index) = side.iter().position(|v| v.is_nan()) {
                return Err(ProblemError::NotFinite { what, index, value: f64::NAN });
            }
        }
        for index in 0..n {
            let (lower, upper) = (self.lower(index), self.upper(index));
            let reachable = lower <= upper && lower < f64::INFINITY && upper > f64::NEG_INFINITY;
            if !reachable {
                return Err(ProblemError::Crossed { what, index, lower, upper });
            }
        }
        match self.hardness {
            Hardness::Soft { weight } if !(weight > 0.0 && weight.is_finite()) => {
                Err(ProblemError::Weight { what, value: weight })
            }
            _ => Ok(()),
        }
    }
}

impl Problem {
    /// Number of states.
    pub fn n_x(&self) -> usize {
        self.models.first().map_or(0, |m| m.n_x)
    }

    /// Number of inputs.
    pub fn n_u(&self) -> usize {
        self.models.first().map_or(0, |m| m.n_u)
    }

    /// Index of the model of step `k`, from 0.
    pub(crate) fn place(&self, k: usize) -> usize {
        if self.models.len() == 1 { 0 } else { k }
    }

    /// Goal state at step `k`, from 0.
    pub(crate) fn goal(&self, k: usize) -> &[f64] {
        &self.cost.goal[k.min(self.cost.goal.len() - 1)]
    }

    /// Checks the problem.
    ///
    /// # Errors
    ///
    /// The first part that is invalid.
    pub fn check(&self) -> Result<(), ProblemError> {
        if self.horizon == 0 {
            return Err(ProblemError::NoHorizon);
        }
        let sizes = |m: &Lcs| (m.n_x, m.n_u, m.n_gamma);
        let (got, horizon) = (self.models.len(), self.horizon);
        let alike = self.models.windows(2).all(|pair| sizes(&pair[0]) == sizes(&pair[1]));
        if !(got == 1 || got == horizon) || !alike {
            return Err(ProblemError::Models { got, horizon });
        }
        self.models.iter().try_for_each(Lcs::check)?;
        let (n_x, n_u) = (self.n_x(), self.n_u());
        for (what, values, n) in
            [("Q", &self.cost.Q, n_x), ("Q_f", &self.cost.Q_f, n_x), ("R", &self.cost.R, n_u)]
        {
            ProblemError::check_numbers(what, values, n * n)?;
            if !is_semidefinite(values, n) {
                return Err(ProblemError::Cost { what });
            }
        }
        self.check_goal(&self.cost.goal)?;
        self.bounds.state.check("state", n_x)?;
        self.bounds.input.check("input", n_u)?;
        self.bounds.input_rate.check("input rate", n_u)?;
        match self.bounds.impulse {
            Some(value) if !(value > 0.0 && value.is_finite()) => {
                Err(ProblemError::NotFinite { what: "bounds.impulse", index: 0, value })
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn check_goal(&self, goal: &[Vec<f64>]) -> Result<(), ProblemError> {
        if goal.is_empty() {
            return Err(ProblemError::Length { what: "goal", got: 0, want: 1 });
        }
        goal.iter().try_for_each(|x| ProblemError::check_numbers("goal", x, self.n_x()))
    }
}

/// True if a matrix is symmetric and has a Cholesky factorisation up to rounding.
fn is_semidefinite(M: &[f64], n: usize) -> bool {
    let size = M.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let noise = 1e-10 * size;
    if (0..n).any(|i| (0..i).any(|j| (M[i * n + j] - M[j * n + i]).abs() > noise)) {
        return false;
    }
    let mut S = M.to_vec();
    for k in 0..n {
        let pivot = S[k * n + k];
        if pivot < -noise {
            return false;
        }
        if pivot <= noise {
            // a variable without curvature must not be coupled to others
            if (k + 1..n).any(|i| S[i * n + k].abs() > noise.max(1e-5 * size)) {
                return false;
            }
            continue;
        }
        for i in k + 1..n {
            let factor = S[i * n + k] / pivot;
            for j in k + 1..n {
                S[i * n + j] -= factor * S[k * n + j];
            }
        }
    }
    true
}

/// Price of violating a hard bound in the search for the cause of infeasibility.
const EXPLAINING: f64 = 1e4;

/// Bounds that may be violated at a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relax {
    Nothing,
    Soft,
    All,
}

impl Relax {
    /// Price per unit of violation, if these bounds are relaxed.
    pub fn weight(self, limits: &Limits) -> Option<f64> {
        match (self, limits.hardness) {
            (Self::Nothing, _) | (Self::Soft, Hardness::Hard) => None,
            (_, Hardness::Soft { weight }) => Some(weight),
            (Self::All, Hardness::Hard) => Some(EXPLAINING),
        }
    }
}
