//! Small random control problems through contact, for comparison with an enumeration of all modes
//! and with other solvers.

#![allow(non_snake_case)] // notation of MpcNote

use quasistep_control::{Bounds, Cost, Lcs, Limits, Problem};

/// Seeded pseudorandom numbers.
#[derive(Clone, Debug)]
pub struct Stream(u64);

impl Stream {
    /// Starts the sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1))
    }

    /// Uniform in `[0, 1)`.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `[−1, 1)`.
    pub fn signed(&mut self) -> f64 {
        2.0 * self.uniform() - 1.0
    }

    /// Uniform among `0 … n − 1`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }
}

/// A control problem and an initial state within its bounds.
#[derive(Clone, Debug)]
pub struct RandomProblem {
    /// The control problem.
    pub problem: Problem,
    /// Initial state of the plan.
    pub x0: Vec<f64>,
}

/// Draws the problem of a seed: a point mass among frictional walls, or random complementarity
/// pairs.
pub fn random_problem(seed: u64) -> RandomProblem {
    let mut s = Stream::new(seed);
    if s.uniform() < 0.5 { among_walls(&mut s) } else { abstract_pairs(&mut s) }
}

/// Draws a problem with two walls and four to six steps, which has millions of contact modes.
pub fn larger_problem(seed: u64) -> RandomProblem {
    let mut s = Stream::new(seed);
    let mut sample = among(&mut s, 2);
    sample.problem.horizon = 4 + s.below(3);
    sample
}

/// Draws a problem with an initial state within a tenth of the state bounds. Bounds of states and
/// of changes of inputs are soft, because many cannot be satisfied.
pub fn soft_problem(seed: u64) -> RandomProblem {
    let mut sample = random_problem(seed);
    let bounds = &mut sample.problem.bounds;
    let ends = [&mut bounds.state.lower, &mut bounds.state.upper];
    ends.into_iter().flatten().for_each(|end| *end *= 0.1);
    bounds.state = bounds.state.clone().soft(10.0);
    bounds.input_rate = bounds.input_rate.clone().soft(2.0);
    sample
}

fn identity(n: usize, value: f64) -> Vec<f64> {
    (0..n * n).map(|at| if at / n == at % n { value } else { 0.0 }).collect()
}

/// Point mass of 1 kg on two joints, with one or two walls near it: MpcNote (6) to (9).
fn among_walls(s: &mut Stream) -> RandomProblem {
    let walls = 1 + s.below(2);
    among(s, walls)
}

fn among(s: &mut Stream, walls: usize) -> RandomProblem {
    let (h, n_x, n_u) = (0.2, 4, 2);
    let n_gamma = 4 * walls;
    let mut lcs = Lcs {
        n_x,
        n_u,
        n_gamma,
        A: identity(n_x, 1.0),
        B: vec![0.0; n_x * n_u],
        C: vec![0.0; n_x * n_gamma],
        D: vec![0.0; n_gamma * n_x],
        E: vec![0.0; n_gamma * n_gamma],
        f: vec![0.0; n_x],
        a: vec![0.0; n_gamma],
    };
    let x0 = vec![0.0, 0.0, 0.4 * s.signed(), 0.4 * s.signed()];
    let gravity = if s.uniform() < 0.3 { -0.5 } else { 0.0 };
    lcs.f[1] = h * h * gravity;
    lcs.f[3] = h * gravity;
    let angle = std::f64::consts::TAU * s.uniform();
    for i in 0..walls {
        let turn = angle + i as f64 * (1.5 + s.uniform());
        let normal = [turn.cos(), turn.sin()];
        let tangent = [-normal[1], normal[0]];
        let [c, plus, minus, slip] = [4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3];
        for axis in 0..2 {
            for (j, d) in [(c, normal[axis]), (plus, tangent[axis]), (minus, -tangent[axis])] {
                lcs.C[axis * n_gamma + j] = h * d;
                lcs.C[(axis + 2) * n_gamma + j] = d;
            }
            lcs.D[c * n_x + axis] = normal[axis];
            lcs.D[plus * n_x + axis + 2] = tangent[axis];
            lcs.D[minus * n_x + axis + 2] = -tangent[axis];
        }
        // touching with probability 0.2
        lcs.a[c] = if s.uniform() < 0.2 { 0.0 } else { 0.2 * s.uniform() };
        lcs.E[plus * n_gamma + slip] = 1.0;
        lcs.E[minus * n_gamma + slip] = 1.0;
        lcs.E[slip * n_gamma + c] = 0.1 + s.uniform();
        lcs.E[slip * n_gamma + plus] = -1.0;
        lcs.E[slip * n_gamma + minus] = -1.0;
    }
    for axis in 0..2 {
        lcs.A[axis * n_x + axis + 2] = h;
        lcs.B[axis * n_u + axis] = h * h;
        lcs.B[(axis + 2) * n_u + axis] = h;
    }
    let rates = s.uniform() < 0.3;
    let problem = Problem {
        horizon: 1 + s.below(3),
        models: vec![lcs],
        cost: Cost {
            Q: identity(n_x, 1.0),
            Q_f: identity(n_x, 1.0 + 9.0 * s.uniform()),
            R: identity(n_u, 0.01 + s.uniform()),
            goal: vec![vec![2.0 * s.signed(), 2.0 * s.signed(), 0.0, 0.0]],
        },
        bounds: Bounds {
            state: Limits::symmetric(&[3.0, 3.0, 1.0, 1.0]),
            input: Limits::symmetric(&[2.0, 2.0]),
            input_rate: if rates { Limits::symmetric(&[1.0, 1.0]) } else { Limits::default() },
            impulse: Some(3.0),
        },
    };
    RandomProblem { problem, x0 }
}

/// Dense random matrices. `gamma` mostly acts on its own rows with a positive definite matrix,
/// otherwise not at all, so that some problems have no solution.
fn abstract_pairs(s: &mut Stream) -> RandomProblem {
    let (n_x, n_u, n_gamma) = (1 + s.below(3), 1 + s.below(2), 1 + s.below(3));
    let horizon = 1 + s.below(3);
    let models = (0..horizon)
        .map(|_| {
            let mut dense =
                |n: usize, size: f64| (0..n).map(|_| size * s.signed()).collect::<Vec<f64>>();
            let A = dense(n_x * n_x, 1.0);
            let B = dense(n_x * n_u, 1.0);
            let C = dense(n_x * n_gamma, 1.0);
            let D = dense(n_gamma * n_x, 1.0);
            let root = dense(n_gamma * n_gamma, 1.0);
            let (f, a) = (dense(n_x, 0.3), dense(n_gamma, 0.5));
            let definite = if s.uniform() < 0.8 { 1.0 } else { 0.0 };
            let E = (0..n_gamma * n_gamma)
                .map(|at| {
                    let (i, j) = (at / n_gamma, at % n_gamma);
                    let inner = (0..n_gamma).map(|k| root[i * n_gamma + k] * root[j * n_gamma + k]);
                    definite * (inner.sum::<f64>() + if i == j { 0.5 } else { 0.0 })
                })
                .collect();
            Lcs { n_x, n_u, n_gamma, A, B, C, D, E, f, a }
        })
        .collect();
    let x0: Vec<f64> = (0..n_x).map(|_| s.signed()).collect();
    let goal = (0..=horizon).map(|_| (0..n_x).map(|_| 2.0 * s.signed()).collect()).collect();
    let problem = Problem {
        horizon,
        models,
        cost: Cost {
            Q: identity(n_x, 1.0),
            Q_f: identity(n_x, 2.0),
            R: identity(n_u, 0.1 + s.uniform()),
            goal,
        },
        bounds: Bounds {
            state: Limits::symmetric(&vec![2.0; n_x]),
            input: Limits::symmetric(&vec![1.0; n_u]),
            input_rate: Limits::default(),
            impulse: Some(4.0),
        },
    };
    RandomProblem { problem, x0 }
}
