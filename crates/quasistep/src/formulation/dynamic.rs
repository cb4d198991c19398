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
//! `M` and the Jacobians are those of `q`. Springs and dampers are implicit, so stiff ones stay stable;
//! velocity-product forces `C v` (Coriolis, gyroscopic) are explicit, as in the paper. Prescribed joints
//! move as told and push on their trees through `M`. A dof that moves no mass is quasi-static: its row is
//! that of Pang21 (6).
//!
//! | here    | MpcNote | meaning                                | unit |
//! |---------|---------|----------------------------------------|------|
//! | `v`     | q̇_k    | velocity at the start of the step      | m/s  |
//! | `v⁺`    | q̇_k+1  | velocity at its end and during it      | m/s  |
//! | `tau`   | u − ∇V  | applied force and gravity              | N    |
//!
//! With `M` positive definite, nothing prescribed and no overlap a solution always exists (Anitescu and
//! Potra 1997). Overlaps that are to be recovered (`phi < 0` in (3)) may contradict one another. Their
//! step without `phi/h` then stands in: an overlap only must not get deeper. Here a gap keeps its
//! `phi/h ≥ 0`, which leaves their proof as it is.

use crate::error::StepError;
use crate::formulation::{Cone, Where, coulomb};
use crate::params::{Fallback, StepParams};
use crate::system::System;
use crate::workspace::Workspace;
use quasistep_model::PositionLimit;

/// Stages 4 to 6. What stood in is in the report.
pub(crate) fn solve(
    system: &System,
    q: &[f64],
    cone: Cone,
    params: &StepParams,
    work: &mut Workspace,
) -> Result<(), StepError> {
    let why = match coulomb::solve(system, q, Where::Start, cone, params, work) {
        Err(why) if why.is_about_friction() => why,
        other => return other,
    };
    // without an overlap to be recovered it is the same step
    let eased = without_recovery(params);
    if !overlaps(system, q, work)
        || coulomb::solve(system, q, Where::Start, cone, &eased, work).is_err()
    {
        return Err(why);
    }
    work.report.fallback = Some((Fallback::AnitescuPotra, why));
    Ok(())
}

/// True if some gap row demands that something moves apart.
fn overlaps(system: &System, q: &[f64], work: &Workspace) -> bool {
    let beyond = |limit: &PositionLimit| {
        let q = q[limit.q_index as usize];
        q < limit.lower || q > limit.upper
    };
    work.contacts.rows.iter().any(|row| row.near.point.phi < 0.0)
        || system.model.limits().iter().any(beyond)
}

/// The parameters of the step of Anitescu and Potra: `max(phi/h, 0)` in every gap row.
pub(crate) fn without_recovery(params: &StepParams) -> StepParams {
    StepParams { max_recovery_speed: 0.0, ..params.clone() }
}
