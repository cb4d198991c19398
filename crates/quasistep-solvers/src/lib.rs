//! Convex quadratic programs, and contacts with exact friction, solved to the last digits and with proofs.
//!
//! ```text
//! min  1/2 xᵀ P x + cᵀ x + Σ_k huber_k(x)     s.t.   s = A x − b ≥ 0
//! ```
//!
//! | symbol    | shape   | meaning                                                             |
//! |-----------|---------|---------------------------------------------------------------------|
//! | `P`       | `n × n` | symmetric, positive *semi*definite: may be singular, or zero          |
//! | `c`       | `n`     | linear cost                                                           |
//! | `A`, `b`  | `m × n` | sparse [`Rows`] and their least values; any degeneracy is allowed     |
//! | `huber_k` | –       | a spring whose force is limited: [`Saturation`]                       |
//! | `x`       | `n`     | minimiser                                                             |
//! | `z`       | `m`     | multipliers ≥ 0: `P x + c + ∇huber = Aᵀ z`, `z_i s_i = 0`             |
//!
//! ```
//! use quasistep_solvers::{Qp, QpSolver, Rows, Settings, Solution, Status};
//!
//! // a weight of 2 N above a floor at x = 0, without mass: min 2 x  s.t.  x ≥ 0
//! let mut floor = Rows::new();
//! floor.push(&[0], &[1.0]);
//! let qp = Qp { n: 1, P: &[0.0], c: &[2.0], A: &floor, b: &[0.0], saturations: &[] };
//! let mut solution = Solution::default();
//! QpSolver::new().solve(&qp, &[], &Settings::default(), &mut solution);
//! assert_eq!(solution.status, Status::Solved);
//! assert!(solution.x[0].abs() < 1e-15 && (solution.z[0] - 2.0).abs() < 1e-15);
//! ```
//!
//! # What is promised
//!
//! - **A status for every input.** [`Status::Unbounded`] comes with a ray, [`Status::Infeasible`]
//!   with a Farkas certificate, [`Status::GaveUp`] with a [`Reason`]. No number makes it panic.
//! - **`x` where it is unique** is refined on its active set with the problem's own data. Where
//!   it is not unique (a flat direction of the cost that no active row stops) it is the point
//!   nearest to 0 in scaled variables: those in which the diagonal of `P`, springs included, is 1,
//!   and in which a variable without curvature is measured by its largest coefficient in `A`. Only
//!   the variables of singular diagonal blocks of `P` count in that distance, and it is least up
//!   to about 1e-5 of its size.
//! - **Rows hold** to about 1e-13 of their terms. Only rows that contradict each other by less
//!   than about 1e-8 of the variables' size, so that holding them would need huge
//!   multipliers, count as data with that error: one of them stays violated by it. Every answer
//!   is checked against the caller's own numbers, row by row and variable by variable, each by its
//!   own terms, before it is called solved.
//! - **`z` of the smallest Euclidean norm**, in the caller's units, among all optimal
//!   multipliers: unique, alike for like rows, and independent of the warm start. Where a solver ends
//!   without it, [`Solution::dual_is_smallest_norm`] says so.
//! - **Determinism**: the same input and warm start give the same bits; `x` and `z` do not
//!   depend on the warm start beyond rounding.
//!
//! # Which entry
//!
//! | problem                                             | call                             |
//! |-----------------------------------------------------|----------------------------------|
//! | contacts: cost in blocks, cones over small Jacobians | [`ConeProgram`], [`ConeSolver`]  |
//! | QP with a dense cost                                | [`Qp`], [`QpSolver`]             |
//! | QP or second-order cone program of sparse data      | [`Socp`], [`SocpSolver`]         |
//! | QP with disjunctions: complementarity, modes        | [`Miqp`], [`MiqpSolver`]         |
//! | contacts with exact Coulomb friction                | [`FrictionProgram`], [`CoulombSolver`] |
//! | mixed linear complementarity problem                | [`Lcp`], [`LcpSolver`]           |
//!
//! # How
//!
//! - [`QpSolver`] is Goldfarb and Idnani's dual active set (`active_set`) within a proximal point method; start
//!   reading in `dense/mod.rs`. It has a certificate for every ending.
//! - [`ConeSolver`] tries in this order, and [`Solution::method`] says which gave the answer; start reading in
//!   `cone/solver`:
//!   1. up to about 32 variables, with a definite cost and without second-order cones, an active set: the
//!      rows that push in a similar problem, mostly right at once (`cone/small`), else the dual active set from a
//!      cold start; [`Solution::handed_over`] says why it left a program to the others;
//!   2. a semismooth Newton method on the augmented Lagrangian, from the active set of a similar
//!      problem if there is one (`cone/newton`), and an exact finish on the active set found;
//!   3. a Mehrotra interior point with Nesterov and Todd's scaling for second-order cones
//!      (`cone/interior`), finished by a crossover or by Newton's method; at once for cold programs of more
//!      than a hundred variables. Where fewer digits suffice, [`Settings::accuracy`], its own end is the answer, and
//!      it comes first;
//!   4. up to a hundred variables, without second-order cones, the dense solver; then the interior point in units of
//!      the contacts;
//!   5. a proof that there is no answer: a ray or a Farkas certificate (`cone/proof.rs`); where a variable
//!      has no cost of its own, as soon as the interior point gets stuck;
//!   6. a homogeneous embedding in numbers of twice the digits, some milliseconds slow, for what is too
//!      ill-conditioned for the others (`cone/embedding`).
//!
//!   All but the first share one block-sparse factor in an order of minimum degree, kept while the graph of blocks
//!   and cones is (`cone/structure.rs`), and kernels with explicit SIMD, chosen at run time
//!   (`cone/kernels`); the interior point sweeps over cones of like shape four at a time (`cone/batches.rs`).
//!   Parts of the program that no cone connects are solved apart.
//!
//! - [`MiqpSolver`] is a branch and bound on modes; start reading in `miqp/search.rs`. Its nodes are
//!   dual active sets that start from the parent's factors, its lower bound holds whenever
//!   it stops, and it needs no big-M.
//!
//! A cone has at most eight rows.
//!
//! # Exact friction
//!
//! A [`FrictionProgram`] is a cone program whose contacts obey Coulomb's law instead of its convex relaxation.
//! It may have no solution, or many: [`CoulombSolver`] ends with an answer that is checked contact
//! by contact, with a [`Refutation`], or undecided, at the latest where its work is spent; [`Uniqueness`] tells whether
//! another motion or other forces are answers too. Start reading in `coulomb/solver.rs`, and for pyramids in `lcp/solver.rs`.
//!
//! This crate knows nothing of shapes, bodies or time steps.
#![allow(non_snake_case)] // P, A, E, J, H, U are the letters of the literature

mod active_set;
mod budget;
mod cone;
mod coulomb;
mod dense;
mod kernels;
mod lcp;
mod methods;
mod miqp;
mod qp;
mod rows;
mod socp;
mod tolerances;

pub use active_set::Side;
pub use cone::program::{Cone, ConeMut, ConeProgram};
pub use cone::sensitivity::{ChangeAt, Kinks, Relaxed, Responses, Sensitivity, SensitivityError};
pub use cone::solver::{ConeSolver, WarmStart};
pub use coulomb::forces::Forces;
pub use coulomb::program::{Friction, FrictionProgram};
pub use coulomb::solution::CoulombWarm;
pub use coulomb::solution::{
    CoulombMethod, CoulombMethods, CoulombResiduals, CoulombSolution, JamCase, JamPart, Mode,
    Outcome, Refutation,
};
pub use coulomb::solver::{CoulombSettings, CoulombSolver};
pub use coulomb::uniqueness::{Motion, Uniqueness};
pub use coulomb::work::LeastWork;
pub use dense::{DenseProgram, QpSolver};
pub use lcp::problem::{Lcp, LcpMethod, LcpOutcome, LcpResiduals, LcpSolution};
pub use lcp::proof::{Case, PairSide, Proof};
pub use lcp::solver::LcpSolver;
pub use methods::Methods;
pub use miqp::{
    Choices, Hooks, Miqp, MiqpLimit, MiqpSettings, MiqpSolution, MiqpSolver, MiqpStatus, Propose,
};
pub use qp::{HandOver, Method, Qp, Reason, Residuals, Saturation, Settings, Solution, Status};
pub use rows::Rows;
pub use socp::{RowCone, Socp, SocpSolver};
