//! Convex quadratic programs, and programs with exact Coulomb friction, solved to rounding accuracy
//! and with certificates.
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
//!   with a Farkas certificate, [`Status::GaveUp`] with a [`Reason`]. No numerical value causes a
//!   panic.
//! - **A unique `x`** is refined on its active set with the problem's own data. If `x` is not
//!   unique (the cost is flat along a direction that no active row blocks), the result is the
//!   minimiser nearest to 0 in scaled variables, up to about 1e-5 of its norm. A variable with
//!   curvature is scaled so that its diagonal entry of `P`, Huber terms included, is 1; one without
//!   curvature by its largest coefficient in `A`. Only variables of singular diagonal blocks of `P`
//!   count in the norm.
//! - **Rows hold** to about 1e-13 of their terms. The exception are rows that are inconsistent by
//!   less than about 1e-8 of the variables' size, so that satisfying them would need huge
//!   multipliers. Such an inconsistency counts as an error of the data, and one of these rows stays
//!   violated by it. Every solution is checked against the caller's own data before it is reported
//!   as solved: each row and each variable is compared with its own terms.
//! - **`z` of smallest Euclidean norm** among all optimal multipliers, in the caller's units. It is
//!   unique, equal for equal rows, and independent of the warm start. If a solver ends without it,
//!   [`Solution::dual_is_smallest_norm`] is false.
//! - **Determinism**: equal inputs and warm starts give equal bits. `x` and `z` depend on the warm
//!   start by rounding only.
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
//! - [`QpSolver`] is Goldfarb and Idnani's dual active set method (`active_set`) within a proximal
//!   point method; start reading in `dense/mod.rs`. It has a certificate for every outcome.
//! - [`ConeSolver`] tries the following methods in order; [`Solution::method`] names the one that
//!   found the solution. Start reading in `cone/solver`.
//!   1. An active set for up to about 32 variables, with a positive definite cost and without
//!      second-order cones (`cone/small`). It starts from the active rows of a similar problem,
//!      which are mostly right, or else from the dual active set with a cold start.
//!      [`Solution::handed_over`] gives the reason if it leaves a program to the others.
//!   2. A semismooth Newton method on the augmented Lagrangian (`cone/newton`), from the active set
//!      of a similar problem if there is one, then an exact solve on the active set found.
//!   3. A Mehrotra interior point method with the Nesterov–Todd scaling for second-order cones
//!      (`cone/interior`), finished by a crossover or by Newton's method. It comes first for cold
//!      programs of more than a hundred variables. If fewer digits suffice
//!      ([`Settings::accuracy`]), it comes first too, and its last iterate is the solution.
//!   4. The dense solver, up to a hundred variables and without second-order cones; then the
//!      interior point method in units of the cones.
//!   5. A certificate that there is no solution: a ray or a Farkas certificate (`cone/proof.rs`).
//!      If a variable has no cost of its own, this comes as soon as the interior point method
//!      stalls.
//!   6. A homogeneous embedding in double-double arithmetic (`cone/embedding`), for programs that
//!      are too ill-conditioned for the others. It takes some milliseconds.
//!
//!   All methods but the first share one block-sparse factorisation. Its minimum-degree order is
//!   kept while the graph of blocks and cones does not change (`cone/structure.rs`). Kernels use
//!   explicit SIMD, chosen at run time (`cone/kernels`). The interior point method sweeps over
//!   batches of four cones of equal shape (`cone/batches.rs`). Islands, parts of the program that
//!   no cone connects, are solved separately.
//!
//! - [`MiqpSolver`] is a branch and bound on modes; start reading in `miqp/search.rs`. Its nodes
//!   are dual active sets that start from the parent's factors. Its lower bound is valid whenever
//!   it stops. It needs no big-M.
//!
//! A cone has at most eight rows.
//!
//! # Exact friction
//!
//! A [`FrictionProgram`] is a cone program whose contacts obey Coulomb's law instead of its convex
//! relaxation. It may have no solution, or many. [`CoulombSolver`] ends with a solution that is
//! checked contact by contact, with a certificate that there is none ([`Refutation`]), or
//! undecided, at the latest when its work limit is reached. [`Uniqueness`] determines whether
//! another motion or other forces are solutions too. Start reading in `coulomb/solver.rs`, and for
//! pyramids in `lcp/solver.rs`.
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
pub use lcp::problem::Lcp;
pub use lcp::proof::{Case, PairSide, Proof};
pub use lcp::solution::{LcpMethod, LcpOutcome, LcpResiduals, LcpSolution};
pub use lcp::solver::LcpSolver;
pub use methods::Methods;
pub use miqp::{
    Choices, Hooks, Miqp, MiqpLimit, MiqpSettings, MiqpSolution, MiqpSolver, MiqpStatus, Propose,
};
pub use qp::{HandOver, Method, Qp, Reason, Residuals, Saturation, Settings, Solution, Status};
pub use rows::Rows;
pub use socp::{RowCone, Socp, SocpSolver};
