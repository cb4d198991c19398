use crate::rows::Rows;

/// A convex quadratic program; see the crate's page for the letters.
#[derive(Clone, Copy, Debug)]
pub struct Qp<'a> {
    /// Number of variables.
    pub n: usize,
    /// Cost, row-major `n × n`, symmetric positive semidefinite; may be singular or zero.
    pub P: &'a [f64],
    /// Linear cost, length `n`.
    pub c: &'a [f64],
    /// Rows `A`, `m × n`.
    pub A: &'a Rows,
    /// Least value of each row, length `m`.
    pub b: &'a [f64],
    /// Huber costs on single variables, added to `P` and `c`; at most one per variable.
    pub saturations: &'a [Saturation],
}

/// A spring on one variable whose force saturates: a Huber cost.
///
/// ```text
/// 1/2 k (x − target)²                   where k |x − target| ≤ limit
/// limit |x − target| − limit²/(2 k)     beyond
/// ```
///
/// The force on the variable is `−clamp(k (x − target), −limit, limit)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    /// Index of the variable.
    pub index: u32,
    /// `k`, > 0.
    pub stiffness: f64,
    /// Where the spring is at rest.
    pub target: f64,
    /// Largest force, ≥ 0.
    pub limit: f64,
}

/// How a solve ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// `x` and `z` are optimal.
    Solved,
    /// The cost falls without end along [`Solution::ray`].
    Unbounded,
    /// The rows contradict one another: [`Solution::certificate`] proves it.
    Infeasible,
    /// Neither was reached: a number was not finite, or the limit of pivots was. `x` is the last
    /// point and must not be used as an answer.
    #[default]
    GaveUp,
}

/// How well an answer fits, computed from the original problem.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Residuals {
    /// Largest entry of `|P x + c + ∇huber − Aᵀ z|`.
    pub stationarity: f64,
    /// Largest violation of `A x ≥ b`.
    pub primal: f64,
    /// Largest violation of `z ≥ 0`.
    pub dual: f64,
    /// Largest `|z_i s_i|`.
    pub complementarity: f64,
}

/// The answer to a [`Qp`], and memory for the next one.
#[derive(Clone, Debug, Default)]
pub struct Solution {
    /// How the solve ended.
    pub status: Status,
    /// Primal answer, length `n`.
    pub x: Vec<f64>,
    /// Dual answer, length `m`: the smallest-norm one if [`dual_is_smallest_norm`](Self::dual_is_smallest_norm).
    pub z: Vec<f64>,
    /// If unbounded: `d` with `P d = 0`, `A d ≥ 0` and falling cost, length `n`; else empty.
    pub ray: Vec<f64>,
    /// If infeasible: `y ≥ 0` with `Aᵀ y = 0` and `bᵀ y > 0`, length `m`; else empty.
    pub certificate: Vec<f64>,
    /// Residuals of `x` and `z`.
    pub residuals: Residuals,
    /// Pivots of the active set.
    pub iterations: u32,
    /// For each saturation: −1 or 1 if its spring is at its limit (the sign of `x − target`), else 0.
    pub saturated: Vec<i8>,
    /// True if `z` is the smallest-norm dual; false if that search did not verify and `z` is the
    /// working set's.
    pub dual_is_smallest_norm: bool,
}

impl Solution {
    /// Empties everything and takes the lengths of a problem.
    pub(crate) fn reset(&mut self, qp: &Qp<'_>) {
        self.status = Status::GaveUp;
        self.x.clear();
        self.x.resize(qp.n, 0.0);
        self.z.clear();
        self.z.resize(qp.b.len(), 0.0);
        self.ray.clear();
        self.certificate.clear();
        self.residuals = Residuals::default();
        self.iterations = 0;
        self.saturated.clear();
        self.saturated.resize(qp.saturations.len(), 0);
        self.dual_is_smallest_norm = false;
    }
}

impl Qp<'_> {
    /// True if all lengths fit, every index exists and every number is finite.
    pub(crate) fn is_sound(&self) -> bool {
        let (n, m) = (self.n, self.b.len());
        self.P.len() == n * n
            && self.c.len() == n
            && self.A.len() == m
            && self.P.iter().chain(self.c).chain(self.b).all(|v| v.is_finite())
            && (0..m).all(|i| {
                let (columns, values) = self.A.row(i);
                columns.iter().all(|&c| (c as usize) < n) && values.iter().all(|v| v.is_finite())
            })
            && self.saturations.iter().all(|s| {
                (s.index as usize) < n
                    && s.stiffness > 0.0
                    && s.stiffness.is_finite()
                    && s.target.is_finite()
                    && s.limit >= 0.0
                    && s.limit.is_finite()
            })
    }

    /// `P x + c + ∇huber` into `g`.
    pub(crate) fn gradient(&self, x: &[f64], g: &mut Vec<f64>) {
        let n = self.n;
        g.clear();
        g.extend((0..n).map(|i| self.c[i] + crate::dense::dot(&self.P[i * n..(i + 1) * n], x)));
        for s in self.saturations {
            let i = s.index as usize;
            g[i] += (s.stiffness * (x[i] - s.target)).clamp(-s.limit, s.limit);
        }
    }

    /// Residuals of an answer; `g` is scratch.
    pub(crate) fn residuals(&self, x: &[f64], z: &[f64], g: &mut Vec<f64>) -> Residuals {
        self.gradient(x, g);
        let mut r = Residuals::default();
        for (i, &z) in z.iter().enumerate() {
            let s = self.A.dot(i, x) - self.b[i];
            r.primal = r.primal.max(-s);
            r.dual = r.dual.max(-z);
            r.complementarity = r.complementarity.max((s * z).abs());
            self.A.add_to(i, -z, g);
        }
        r.stationarity = g.iter().fold(0.0, |m, x| m.max(x.abs()));
        r
    }
}
