//! Derivatives of a step: of the next configuration, the velocity and the impulses, with respect to
//! all inputs.
//!
//! ```text
//! P v − h (K Δq_cmd + tau) = Σ J_iᵀ λ_i,     s_i = max(phi_i/h, −max_recovery_speed) + J_i v,     q_next = q ⊕ h v
//! ```
//!
//! The program of a step is differentiated on its active set, or relaxed ([`Mode`]). Its data are
//! differentiated in closed form: distances, normals, witness points and tangents move with the
//! bodies ([`quasistep_geometry::ContactMotion`]), joint axes with the joints inboard of them
//! ([`quasistep_model::Twist`]), and gravity, wrenches and inertia likewise.
//!
//! Rotations are differentiated in the tangent space: a change `dq` of `q` is `q ⊕ dq`, of length
//! `n_v`. [`quasistep_model::Model::coordinate_change`] and
//! [`tangent_gradient`](quasistep_model::Model::tangent_gradient) convert to quaternion
//! coordinates. Equations are in `docs/derivatives.md`.

mod chain;
mod change;
mod command;
mod constraint;
mod constraints;
mod contact;
mod contacts;
mod impulses;
mod inertia;
mod joined;
mod joints;
mod kinds;
mod loads;
mod matrix;
mod memory;
mod outputs;
mod parts;
mod prepared;
mod pressure;
mod scale;
mod second;
mod start;
mod step;
mod supports;
mod trees;
mod variables;

pub use change::{InputChange, OutputChange};
pub use impulses::ContactImpulses;
pub use kinds::{DerivativeError, Mode, StepKinks};
pub use matrix::StateRows;
pub use prepared::Derivatives;
pub use quasistep_cone::Kinks;
