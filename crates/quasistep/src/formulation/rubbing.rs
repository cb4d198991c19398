//! Friction of joints: dry friction of a dof, and friction of the surface on which a planar joint
//! moves. It is modelled as a contact along the joint that a known force presses, with a variable
//! `t` of its own:
//!
//! ```text
//! dry friction:  min … + h tau_f t,   t + v ≥ 0,  t − v ≥ 0
//! support:       min … + h mu N t,    t ≥ ‖(v_x, v_y, r w)‖        Goyal: the limit surface, an ellipsoid
//! ```
//!
//! The balance of `t` fixes the sum of its multipliers, `beta_+ + beta_− = h tau_f`. Their
//! difference is the impulse on the joint. In the convex law `t = |v|`, with exact friction `t =
//! 0`. Both give the friction of largest dissipation, and both laws agree since the load is known.
//!
//! The ellipsoid stays round for any cones of contacts. At the corner of a polyhedral limit
//! surface, a push through the centre would leave the direction of motion undetermined.

use crate::formulation::program::Program;
use crate::load::Load;
use crate::row::RowKey;
use crate::system::System;
use quasistep_cone as solvers;

/// Offset of `edge` in the keys of rows along a contact's tangents. Their multipliers may have
/// either sign.
pub(crate) const TANGENT: u32 = 1 << 31;

/// True for rows along the tangents of a contact, or along the rates of a joint with friction.
pub(crate) fn is_tangent(key: &RowKey) -> bool {
    let (RowKey::Contact { edge, .. }
    | RowKey::JointFriction { edge, .. }
    | RowKey::Support { edge, .. }) = key
    else {
        return false;
    };
    *edge >= TANGENT
}

/// `edge` of the row with the pressing force of a joint's friction, if multipliers are forces.
const PRESS: u32 = 2;

/// Force on the joint of a unit multiplier of a row of dry friction; 0 for the pressing row.
pub(crate) fn push_of_friction(edge: u32) -> f64 {
    match edge {
        1 => -1.0,
        PRESS => 0.0,
        _ => 1.0,
    }
}

/// Power per newton of load that a support dissipates at the given rates of its joint, in m/s.
pub(crate) fn speed_on_support(radius: f64, [x, y, w]: [f64; 3]) -> f64 {
    x.hypot(y).hypot(radius * w)
}

/// Friction force that the given force and torque require of a support, in N; infinite for a torque
/// on a support of radius zero.
pub(crate) fn needed_of_support(radius: f64, [x, y, m]: [f64; 3]) -> f64 {
    x.hypot(y).hypot(if m == 0.0 { 0.0 } else { m / radius })
}

/// Writes the rows of all joint friction. `pushes` receives the force of each support multiplier
/// along the rates of its joint.
pub(crate) struct Rubbing<'a> {
    pub program: &'a mut Program,
    pub keys: &'a mut Vec<RowKey>,
    pub pushes: &'a mut Vec<[f64; 3]>,
}

impl Rubbing<'_> {
    pub fn push(&mut self, system: &System, load: &Load, h: f64) {
        let mut own = system.block_dims.len() as u32;
        for &dof in &system.friction_dofs {
            if self.press(own, h * load.friction[dof]) {
                self.push_dry(system, dof, own);
            }
            own += 1;
        }
        self.pushes.clear();
        for (&body, bound) in system.planes.iter().zip(&load.planes) {
            let moves = !system.is_prescribed(system.model.body(body).v.start);
            if self.press(own, if moves { h * bound } else { 0.0 }) {
                self.push_support(system, body, own);
            }
            own += 1;
        }
    }

    /// Writes the cost of an extra variable. Returns false if the load is zero; the variable then
    /// has a cost that keeps it at 0.
    fn press(&mut self, own: u32, impulse: f64) -> bool {
        let presses = impulse > 0.0;
        if presses {
            self.program.c(own as usize)[0] = impulse;
        } else {
            self.program.P(own as usize, 0)[0] = 1.0;
        }
        presses
    }

    fn push_dry(&mut self, system: &System, dof: usize, own: u32) {
        let Some(variable) = system.variable_of_dof[dof] else { return };
        let (block, at) = system.block_of_variable[variable as usize];
        let edges = solvers::Cone::Edges(&[1.0, 1.0, 1.0, -1.0]);
        let mut entry = self.program.push(edges, 2, &[block, own]);
        entry.J(0, 1)[at as usize] = 1.0;
        entry.J(1, 0)[0] = 1.0;
        let edges = if self.program.has_forces() { [PRESS, TANGENT] } else { [0, 1] };
        let dof = dof as u32;
        self.keys.extend(edges.map(|edge| RowKey::JointFriction { dof, edge }));
    }

    fn push_support(&mut self, system: &System, body: usize, own: u32) {
        let radius = system.spin_radius(body);
        // the pressing row, and one row for each resisted rate
        let k = if radius > 0.0 { 4 } else { 3 };
        let scales = [1.0, 1.0, radius];
        let places = system.places_of(body);
        let round = solvers::Cone::Round(&[1.0; 4][..k]);
        let mut entry = self.program.push(round, k, &[places[0].0, own]);
        entry.J(1, 0)[0] = 1.0;
        self.pushes.push([0.0; 3]);
        for (r, (scale, place)) in scales.into_iter().zip(places).take(k - 1).enumerate() {
            entry.J(0, r + 1)[place.1 as usize] = scale;
            let mut push = [0.0; 3];
            push[r] = scale;
            self.pushes.push(push);
        }
        let body = body as u32;
        self.keys.extend((0..k as u32).map(|j| {
            let edge = if j > 0 { TANGENT + j } else { 0 };
            RowKey::Support { body, edge }
        }));
    }
}
