//! Programs with exact Coulomb friction, which are not convex, and linear complementarity problems.
//!
//! ```text
//! P x + c + ∇huber(x) = Σ_i J_iᵀ lambda_i,      u_i = J_i x − b_i
//! 0 ≤ lambda_n ⊥ u_n ≥ 0,      lambda_t ∈ lambda_n F_i,      −u_t normal to lambda_n F_i at lambda_t
//! ```
//!
//! | symbol      | shape        | meaning                                                          |
//! |-------------|--------------|------------------------------------------------------------------|
//! | `P`, `c`    | `n × n`, `n` | cost in blocks, as of a cone program                             |
//! | `J_i`, `b_i` | `k × n`, `k` | a contact's rows, over one or two blocks: normal, then tangents  |
//! | `F_i`       | –            | friction per normal force: a disc, a diamond or a box ([`Friction`]) |
//! | `lambda`    | `Σ k`        | contact forces                                                   |
//! | `u`         | `Σ k`        | rates of the contacts                                            |
//!
//! ```
//! use quasistep_friction::{CoulombSolution, CoulombSolver, Friction, FrictionProgram, Outcome};
//!
//! // a block of 2 kg slides on a floor: 3 N·s sideways, a load of 4 N·s, friction 0.5
//! let mut program = FrictionProgram::new();
//! program.reset([2]);
//! (program.P(0, 0)[0], program.P(0, 1)[1]) = (2.0, 2.0);
//! program.c(0).copy_from_slice(&[-3.0, 4.0]);
//! let mut floor = program.push_contact(Friction::Round(&[0.5]), &[0]);
//! (floor.J(0, 0)[1], floor.J(0, 1)[0]) = (1.0, 1.0);
//! let mut solution = CoulombSolution::default();
//! CoulombSolver::new().solve(&program, None, &Default::default(), &mut solution);
//! assert_eq!(solution.outcome, Outcome::Solved);
//! // it slides at (3 − 0.5 · 4) / 2 and does not lift, as its convex relaxation would
//! assert!((solution.x[0] - 0.5).abs() < 1e-9 && solution.x[1].abs() < 1e-12);
//! ```
//!
//! Such a program may have no solution, or many.
//!
//! # Which entry
//!
//! | question                                          | call                                   | where to begin to read |
//! |---------------------------------------------------|----------------------------------------|------------------------|
//! | contacts with exact friction                      | [`FrictionProgram`], [`CoulombSolver`] | `solver.rs`            |
//! | is another motion a solution, are other forces?   | [`Uniqueness`]                         | `uniqueness.rs`, `forces.rs` |
//! | how does the solution change with the data?       | [`CoulombSensitivity`]                 | `sensitivity.rs`       |
//! | mixed linear complementarity problem              | [`Lcp`], [`LcpSolver`]                 | `lcp/solver.rs`        |
//!
//! # Methods of [`CoulombSolver`]
//!
//! | method                                              | for                                          | where                    |
//! |-----------------------------------------------------|----------------------------------------------|--------------------------|
//! | Newton from the forces of a similar solution        | nearly every step of a simulation            | `newton.rs`              |
//! | convex relaxation, and its proofs                   | programs without a solution; a start         | `relaxation.rs`          |
//! | De Saxcé's fixed point over convex programs         | slips that change the modes                  | `fixed_point.rs`         |
//! | continuation in the penalty, with a homotopy        | stacks and heaps                             | `newton/continuation.rs`, `newton/homotopy.rs` |
//! | Lemke's method, and a search through cases          | pyramids; proof that contacts jam            | `pyramid.rs`, `lcp`      |
//! | a search through arcs of slip                       | round cones; proof that contacts jam         | `jam.rs`                 |
//!
//! # What is promised
//!
//! [`CoulombSolver`] ends with a solution that is checked contact by contact (`law.rs`), with a
//! certificate that there is none ([`Refutation`]), or undecided, at the latest when its work limit
//! ([`CoulombSettings::work_limit`]) is reached. Work is counted from sizes, so a solve ends at the
//! same place on every machine. Equal inputs and warm starts give equal bits. No numerical value
//! causes a panic.
//!
//! This crate knows nothing of shapes, bodies or time steps.
#![allow(non_snake_case)] // P, J, D, H are the letters of the literature

mod contact;
mod factor;
mod fixed_point;
mod forces;
mod hessian;
mod islands;
mod jam;
mod law;
mod lcp;
mod newton;
mod polytope;
mod products;
mod program;
mod pyramid;
mod relaxation;
mod sensitivity;
mod solution;
mod solver;
mod tolerances;
mod uniqueness;

pub use forces::Forces;
pub use lcp::problem::Lcp;
pub use lcp::proof::{Case, PairSide, Proof};
pub use lcp::solution::{LcpMethod, LcpOutcome, LcpResiduals, LcpSolution};
pub use lcp::solver::LcpSolver;
pub use program::{Friction, FrictionProgram};
pub use quasistep_linalg::{Reason, Saturation};
pub use sensitivity::CoulombSensitivity;
pub use solution::{
    CoulombMethod, CoulombMethods, CoulombResiduals, CoulombSolution, CoulombWarm, JamCase,
    JamPart, Mode, Outcome, Refutation,
};
pub use solver::{CoulombSettings, CoulombSolver};
pub use uniqueness::{Motion, Uniqueness};
