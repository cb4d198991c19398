//! Change of the rows and forces of constraints as their bodies move, and its transpose.
//!
//! ```text
//! δv = N δw + T r,      r = −δ(G v + ρ g/h) at fixed v,      c = Nᵀ (f − P T r),      rows + J T r
//! ```
//!
//! Dependent dofs are eliminated as in the step. Their own part `T r` changes rows and forces of
//! the program as known motion does; the remainder goes through the sensitivity of the reduced
//! program. `P` and `J` belong to the program before the elimination. `f` contains the changes of
//! the constraint forces `μ`, which act at B's point.

use crate::constraint::Reduction;
use crate::held::Held;
use quasistep_cone::ConeProgram;
use quasistep_math::Vec3;
use quasistep_model::{SpatialForce, Twist, left_jacobian_inverse};

/// A constraint between two frames or between joints, at the solution.
#[derive(Clone, Debug)]
pub(super) struct ConstraintAt {
    /// First of its rows.
    pub first: usize,
    n_rows: usize,
    /// Bodies A and B; the world twice for a coupling.
    pub bodies: [usize; 2],
    /// Origins of both frames, in W, in m.
    pub p: [Vec3; 2],
    /// Errors of translation and rotation, in m and rad.
    pub error: [Vec3; 2],
    /// Share of the errors that is recovered, and the speed of bounded recovery.
    recovery: [f64; 2],
    /// True if the error stays zero as the start moves.
    found: bool,
    /// Impulse on B at its point, in N·s and N·m·s.
    pub force: Vec3,
    pub torque: Vec3,
    /// Terms of a coupling.
    terms: Vec<(usize, f64)>,
}

/// Recovery of one error vector.
#[derive(Clone, Copy)]
struct Recovery {
    error: Vec3,
    share: f64,
    h: f64,
}

impl Recovery {
    /// Change of `share error / h`.
    fn change(&self, d: Vec3, dh: f64) -> Vec3 {
        let Self { error, share, h } = *self;
        if share < 1.0 {
            // bounded recovery has a constant speed
            let along = error * (error.dot(d) / error.norm_squared());
            return (d - along) * (share / h);
        }
        d * (1.0 / h) - error * (dh / (h * h))
    }

    /// Transpose of [`change`](Self::change): gradients with respect to the error and to `h`.
    fn gradient(&self, by: Vec3) -> (Vec3, f64) {
        let Self { error, share, h } = *self;
        if share < 1.0 {
            let along = error * (error.dot(by) / error.norm_squared());
            return ((by - along) * (share / h), 0.0);
        }
        (by * (1.0 / h), -error.dot(by) / (h * h))
    }
}

impl ConstraintAt {
    pub fn new(held: &Held, reduction: &Reduction, k: usize, mu: &[f64], found: bool) -> Self {
        let e = &reduction.errors[k];
        let error = [Vec3::new(e[0], e[1], e[2]), Vec3::new(e[3], e[4], e[5])];
        let vec = |at: usize| Vec3::new(mu[at], mu[at + 1], mu[at + 2]);
        let (frames, p_B) = (held.frames(), reduction.places[k]);
        Self {
            first: held.rows.start,
            n_rows: held.rows.len(),
            bodies: frames.map_or([0; 2], |frames| frames.map(|frame| frame.body)),
            p: [p_B - error[0], p_B],
            error,
            recovery: reduction.recovery[k],
            found,
            force: if frames.is_some() { vec(held.rows.start) } else { Vec3::ZERO },
            torque: if held.turns() { vec(held.rows.start + 3) } else { Vec3::ZERO },
            terms: held.terms().collect(),
        }
    }

    fn recoveries(&self, h: f64) -> [Recovery; 2] {
        // an error that stays zero has nothing to recover
        let h = if self.found { f64::INFINITY } else { h };
        [0, 1].map(|k| Recovery { error: self.error[k], share: self.recovery[k], h })
    }

    /// Writes three translation rows and, if there is room, three rotation rows.
    fn write(&self, shift: Vec3, turn: Vec3, rows: &mut [f64]) {
        let all = [shift.to_array(), turn.to_array()].concat();
        rows[self.first..][..self.n_rows].copy_from_slice(&all[..self.n_rows]);
    }

    fn read(&self, rows: &[f64]) -> [Vec3; 2] {
        let at = |k: usize| if k < self.n_rows { rows[self.first + k] } else { 0.0 };
        [Vec3::new(at(0), at(1), at(2)), Vec3::new(at(3), at(4), at(5))]
    }
}

/// Changes on which [`rate_changes`] depends.
pub(super) struct Moves<'a> {
    /// Change of `q` over dofs, and the corresponding twists of bodies.
    pub dq: &'a [f64],
    pub bodies: &'a [Twist],
    /// Twists of bodies, and their changes at fixed unknown rates.
    pub V: &'a [Twist],
    pub dV: &'a [Twist],
    /// Changes of known rates over dofs.
    pub known: &'a [f64],
}

/// `r = −δ(G v + ρ g/h)`; without `recovery`, `−δG v`.
pub(super) fn rate_changes(
    constraints: &[ConstraintAt],
    m: &Moves<'_>,
    recovery: Option<(f64, f64)>,
    r: &mut Vec<f64>,
) {
    r.clear();
    r.resize(constraints.last().map_or(0, |c| c.first + c.n_rows), 0.0);
    for c in constraints {
        let [a, b] = c.bodies;
        let (mut shift, mut turn) = (Vec3::ZERO, Vec3::ZERO);
        let (mut d_shift, mut d_turn) = (Vec3::ZERO, Vec3::ZERO);
        if c.terms.is_empty() {
            let minus = |x: &[Twist]| x[b] + x[a] * -1.0;
            let (V, dV, dp) = (minus(m.V), minus(m.dV), m.bodies[b].at(c.p[1]));
            shift = dV.at(c.p[1]) + V.w_W.cross(dp);
            turn = dV.w_W;
            d_shift = dp - m.bodies[a].at(c.p[0]);
            let E = left_jacobian_inverse(c.error[1]);
            d_turn = E * m.bodies[b].w_W - E.transpose() * m.bodies[a].w_W;
        } else if recovery.is_some() {
            let sum = |of: &[f64]| c.terms.iter().map(|(dof, f)| f * of[*dof]).sum::<f64>();
            (shift.x, d_shift.x) = (sum(m.known), sum(m.dq));
        }
        if let Some((h, dh)) = recovery {
            let [of_shift, of_turn] = c.recoveries(h);
            shift += of_shift.change(d_shift, dh);
            turn += of_turn.change(d_turn, dh);
        }
        c.write(shift * -1.0, turn * -1.0, r);
    }
}

/// Gradients to which [`gradient_of_rate_changes`] adds.
pub(super) struct Weights<'a> {
    /// Gradients with respect to the motion of bodies, and directly to `q`.
    pub motion: &'a mut [SpatialForce],
    pub dq: &'a mut [f64],
    /// Gradient with respect to changes of twists.
    pub twist: &'a mut [SpatialForce],
    /// Gradients with respect to known rates over dofs, and to the time step.
    pub known: &'a mut [f64],
    pub time_step: &'a mut f64,
}

/// Transpose of [`rate_changes`], for weights `by` on `r`.
pub(super) fn gradient_of_rate_changes(
    constraints: &[ConstraintAt],
    V: &[Twist],
    recovery: Option<f64>,
    by: &[f64],
    to: &mut Weights<'_>,
) {
    for c in constraints {
        let [a, b] = c.bodies;
        let [shift, turn] = c.read(by).map(|by| by * -1.0);
        let (mut by_shift, mut by_turn) = (Vec3::ZERO, Vec3::ZERO);
        if let Some(h) = recovery {
            let [of_shift, of_turn] = c.recoveries(h);
            let (of_dh, of_dh_turn);
            (by_shift, of_dh) = of_shift.gradient(shift);
            (by_turn, of_dh_turn) = of_turn.gradient(turn);
            *to.time_step += of_dh + of_dh_turn;
        }
        if c.terms.is_empty() {
            let by_twist = SpatialForce::at(c.p[1], shift, turn);
            to.twist[b] += by_twist;
            to.twist[a] += by_twist * -1.0;
            let spin = V[b].w_W - V[a].w_W;
            let E = left_jacobian_inverse(c.error[1]);
            to.motion[b] +=
                SpatialForce::at(c.p[1], shift.cross(spin) + by_shift, E.transpose() * by_turn);
            to.motion[a] += SpatialForce::at(c.p[0], by_shift, E * by_turn) * -1.0;
        } else if recovery.is_some() {
            for (dof, f) in &c.terms {
                to.known[*dof] += f * shift.x;
                to.dq[*dof] += f * by_shift.x;
            }
        }
    }
}

/// Adds the change of constraint impulses on bodies as the bodies move.
pub(super) fn add_force_changes(
    constraints: &[ConstraintAt],
    moves: &[Twist],
    dF: &mut [SpatialForce],
) {
    for c in constraints.iter().filter(|c| c.terms.is_empty()) {
        let [a, b] = c.bodies;
        let moment = moves[b].at(c.p[1]).cross(c.force);
        dF[b].m_Wo_W += moment;
        dF[a].m_Wo_W += moment * -1.0;
    }
}

/// Transpose of [`add_force_changes`], for weights `y` on impulses of bodies.
/// bodies.
pub(super) fn gradient_of_force_changes(
    constraints: &[ConstraintAt],
    y: &[Twist],
    motion: &mut [SpatialForce],
) {
    for c in constraints.iter().filter(|c| c.terms.is_empty()) {
        let [a, b] = c.bodies;
        let by = c.force.cross(y[b].w_W - y[a].w_W);
        motion[b] += SpatialForce::at(c.p[1], by, Vec3::ZERO);
    }
}

/// `rows += E J y` for rates `y` of dependent dofs, over dofs. `whole` is the program before the
/// elimination.
pub(super) fn add_rows(whole: &ConeProgram, reduction: &Reduction, y: &[f64], rows: &mut [f64]) {
    each_entry(whole, reduction, |row, dof, entry| rows[row] += entry * y[dof]);
}

/// Transpose of [`add_rows`]: `y += Jᵀ Eᵀ rows` for dependent dofs.
pub(super) fn add_forces(whole: &ConeProgram, reduction: &Reduction, rows: &[f64], y: &mut [f64]) {
    each_entry(whole, reduction, |row, dof, entry| y[dof] += entry * rows[row]);
}

/// Calls `each` with row of `z`, dof and entry of `E J` for all dependent dofs.
fn each_entry(whole: &ConeProgram, reduction: &Reduction, mut each: impl FnMut(usize, usize, f64)) {
    for cone in 0..whole.n_cones() {
        let rows = whole.rows_of(cone);
        for (side, block) in whole.blocks_of(cone).enumerate() {
            for follower in reduction.in_block(block) {
                for way in 0..whole.b_of(cone).len() {
                    let J = whole.J_row(cone, side, way)[follower.at];
                    if J == 0.0 {
                        continue;
                    }
                    for (edge, row) in rows.clone().enumerate() {
                        let E = whole.E_entry(cone, edge, way);
                        if E != 0.0 {
                            each(row, follower.dof, E * J);
                        }
                    }
                }
            }
        }
    }
}
