//! The dynamic step of Stewart and Trinkle: mass, velocities carried over, inelastic contact with exact
//! Coulomb friction.
//!
//! ```text
//! M (v⁺ − v) = h (K_a (Δq_cmd − h v⁺_a) − D_a v⁺_a + tau − C v) + J_nᵀ lambda_n + J_tᵀ lambda_t       MpcNote (1)
//! q⁺ = q ⊕ h v⁺                                                                                      (2)
//! 0 ≤ lambda_n ⊥ max(phi/h, −max_recovery_speed) + J_n v⁺ ≥ 0                                        (3)
//! lambda_t ∈ argmax { −lᵀ J_t v⁺ : l ∈ lambda_n F }                                                  (4), (5)
//! ```
//!
//! `M` and the Jacobians are evaluated at `q`. Springs and dampers are implicit, so stiff ones stay
//! stable. Velocity-product forces `C v` (Coriolis, gyroscopic) are explicit, as in the paper.
//! Prescribed joints follow their commands and act on their trees through `M`. A massless dof is
//! quasi-static: its row is that of Pang21 (6).
//!
//! | here    | MpcNote | meaning                                | unit |
//! |---------|---------|----------------------------------------|------|
//! | `v`     | q̇_k    | velocity at the start of the step      | m/s  |
//! | `v⁺`    | q̇_k+1  | velocity at its end and during it      | m/s  |
//! | `tau`   | u − ∇V  | applied force and gravity              | N    |
//!
//! With `M` positive definite, no prescribed motion and no overlap, a solution always exists
//! (Anitescu and Potra 1997). The recovery of overlaps (`phi < 0` in (3)) may be infeasible. The
//! fallback is then the step of Anitescu and Potra without `phi/h`, in which an overlap only must
//! not get deeper. Here open gaps keep their term `phi/h ≥ 0`, which leaves the existence proof
//! valid.

use crate::contact::ContactRows;
use crate::params::StepParams;
use crate::system::System;
use quasistep_model::PositionLimit;

/// True if some gap row requires a separation.
pub(crate) fn overlaps(system: &System, q: &[f64], contacts: &ContactRows) -> bool {
    let beyond = |limit: &PositionLimit| {
        let q = q[limit.q_index as usize];
        q < limit.lower || q > limit.upper
    };
    contacts.rows.iter().any(|row| row.near.point.phi < 0.0)
        || system.model.limits().iter().any(beyond)
}

/// Parameters of the step of Anitescu and Potra: `max(phi/h, 0)` in every gap row.
pub(crate) fn without_recovery(params: &StepParams) -> StepParams {
    StepParams { max_recovery_speed: 0.0, ..params.clone() }
}
