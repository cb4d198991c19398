//! Impulses of all contacts along their own directions, with their friction cones and their
//! derivatives with respect to configuration and command.
//!
//! ```text
//! λ = Σ_r z_r e_r,     δz = −C δs,     δs_r = e_r · δr,     δr = J δv + S δq         (relaxed step)
//! δλ = −H (J ∂v/∂q + S) δq − H J ∂v/∂u δu,     H = Σ_rs C_rs e_r e_sᵀ
//! ```
//!
//! `e_r` is the force of a unit of the multiplier `z_r` along the six directions of the contact, `r`
//! are the rates in these directions, `J` and `S` their changes with the velocity and with the
//! configuration (`second.rs`), and `C` is the Hessian of the barrier. All other steps use one product
//! for each column.
//!
//! The six numbers are components in a frame that moves with the contact. A turn of the normal or of
//! the tangents alone does not change them, so that a linearised friction cone is a cone of their
//! linearisation.

use super::change::reset;
use super::contact::{ContactAt, FrameWeights};
use super::kinds::DerivativeError;
use super::memory::{IDLE, Memory};
use super::prepared::Derivatives;
use super::pressure::write_column;
use super::trees::Trees;
use crate::formulation::edges::WAYS;
use crate::report::ContactReport;
use crate::system::System;
use quasistep_math::Vec3;
use quasistep_model::{Kinematics, SpatialForce, Twist};

/// Impulses of the contacts of a step with their derivatives: flat arrays over C contacts, the last
/// index runs fastest. Order and number of contacts are those of the report.
///
/// A contact has six directions: the normal from A to B, two tangents, the normal and two axes
/// across it for torques. It transmits nothing along directions whose coefficient in `cones` is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactImpulses {
    /// The contacts, with pair, feature, point, normal and force.
    pub contacts: Vec<ContactReport>,
    /// Impulses on B along the directions, C × 6, in N·s and N·m·s: those with which the surfaces
    /// press one another, without the pull of pads. Friction of an area acts at its centre.
    pub impulses: Vec<f64>,
    /// Friction coefficients along each direction but the first, C × 5: mu, mu, mu_spin, mu_roll,
    /// mu_roll, the last three in m. With the impulses `λ` and the coefficients `c`
    /// of directions that resist, a round cone is `√(Σ (λ_k/c_k)²) ≤ λ_0`. Pyramids of the step lie
    /// within it and touch it at their edges; those of [`Cone::Box`](crate::Cone::Box) are `|λ_k| ≤
    /// c_k λ_0` for each tangent. The mu_spin of an area changes with its load; the Jacobians are those
    /// of the impulses, beside it.
    pub cones: Vec<f64>,
    /// Directions in W, C × 5 × 3: normal, tangents, and axes of rolling. They are not unit vectors
    /// where friction depends on the direction.
    pub axes: Vec<f64>,
    /// `∂impulses/∂q`, C × 6 × `n_v`, in the tangent space.
    pub by_q: Vec<f64>,
    /// `∂impulses/∂q_cmd`, C × 6 × `n_cmd_v`, in the tangent space.
    pub by_q_cmd: Vec<f64>,
}

impl ContactAt {
    /// Friction coefficient along each direction but the normal; 0 along directions without rows.
    fn cone(&self) -> [f64; WAYS - 1] {
        let [mu, mu_spin, mu_roll] = self.mu;
        let mut cone = [0.0; WAYS - 1];
        for way in self.ways[..self.n_ways].iter().map(|way| *way as usize).filter(|way| *way > 0) {
            cone[way - 1] = [mu, mu, mu_spin, mu_roll, mu_roll][way - 1];
        }
        cone
    }

    /// The dofs that move a body of the contact, with the rates of all six directions per unit of
    /// their velocity. A dof that moves both bodies comes twice.
    fn jacobian(
        &self,
        trees: &Trees,
        kin: &Kinematics,
    ) -> impl Iterator<Item = (usize, [f64; WAYS])> {
        [0, 1].into_iter().flat_map(move |side| {
            trees.path(self.bodies[side]).iter().map(move |c| {
                let column = &kin.columns[*c as usize];
                let mut V = [Twist::ZERO; 2];
                V[side] = column.twist();
                (column.dof as usize, self.rates(V))
            })
        })
    }

    /// The dofs with the change of the impulse about the normal with the spin radius of the area.
    fn spun(&self, trees: &Trees, kin: &Kinematics) -> impl Iterator<Item = (usize, f64)> {
        let (mut frame, mut by) = (FrameWeights::default(), [SpatialForce::ZERO; 2]);
        frame.spin = self.lambda[3];
        let sides = if self.area.is_some() { 0..2 } else { 0..0 };
        self.frame_gradient(&frame, by.each_mut());
        sides.flat_map(move |side| {
            trees.path(self.bodies[side]).iter().map(move |c| {
                let column = &kin.columns[*c as usize];
                (column.dof as usize, column.twist().dot(&by[side]))
            })
        })
    }

    /// The dofs with the changes of the rates of all six directions at constant velocity, from the
    /// rows `S` that begin at `at`.
    fn turned(&self, memory: &Memory, at: usize) -> impl Iterator<Item = (usize, [f64; WAYS])> {
        let widths = self.bodies.map(|body| memory.trees.places_of(body).len());
        let sides = if at == IDLE { 0..0 } else { 0..2 };
        sides.flat_map(move |side| {
            let first = at + self.n_ways * widths[0] * side;
            let places = memory.trees.places_of(self.bodies[side]);
            places.enumerate().map(move |(column, place)| {
                let mut rates = [0.0; WAYS];
                for r in 0..self.n_ways {
                    let entry = memory.second.S[first + r * widths[side] + column];
                    rates[self.ways[r] as usize] = entry / self.scales[r];
                }
                (memory.trees.dof_at[place], rates)
            })
        })
    }
}

impl Derivatives {
    /// Computes the impulses of all contacts along their own directions, and their derivatives with
    /// respect to configuration and command.
    ///
    /// # Errors
    ///
    /// No step was differentiated.
    pub fn contact_impulses(
        &mut self,
        system: &System,
        out: &mut ContactImpulses,
    ) -> Result<(), DerivativeError> {
        let set = self.set_system();
        let system = set.as_deref().unwrap_or(system);
        if !self.ready {
            return Err(DerivativeError::NotPrepared);
        }
        let (n_v, n_cmd, n) = (system.model.n_v(), system.n_cmd_v(), WAYS * self.contacts.len());
        out.contacts.clone_from(&self.work.report.contacts);
        out.impulses.clear();
        out.cones.clear();
        out.axes.clear();
        for contact in &self.contacts {
            out.impulses.extend(contact.lambda);
            out.cones.extend(contact.cone());
            let [n, t1, t2, _, r1, r2] = contact.axes().map(Vec3::to_array);
            out.axes.extend([n, t1, t2, r1, r2].as_flattened());
        }
        reset(&mut out.by_q, n * n_v, 0.0);
        reset(&mut out.by_q_cmd, n * n_cmd, 0.0);
        if self.contacts.is_empty() {
            return Ok(());
        }
        let gives = self.contacts.iter().any(|contact| contact.compliance > 0.0);
        let prescribed = system.variable_of_dof.contains(&None);
        // the bound of an exact step is zero
        if self.bound > 0.0 && !gives && !prescribed && self.is_one_block(system) {
            self.impulses_by_matrices(system, out)
        } else {
            self.impulses_by_products(system, out)
        }
    }

    /// Computes the derivatives of a relaxed step from those of its velocity.
    fn impulses_by_matrices(
        &mut self,
        system: &System,
        out: &mut ContactImpulses,
    ) -> Result<(), DerivativeError> {
        let (n_v, n_cmd) = (system.model.n_v(), system.n_cmd_v());
        if !self.matrices.has_rates {
            let (mut by_q, mut by_u) = (vec![0.0; n_v * n_v], vec![0.0; n_v * n_cmd]);
            let kept = std::mem::replace(&mut self.matrices.keeps, true);
            let done = self.fill(system, &mut by_q, &mut by_u, None);
            self.keep_for_impulses(kept);
            done?;
        }
        let H = self.curvature()?;
        let (memory, kin) = (&self.matrices, &self.work.scan.kin);
        let add = |to: &mut [f64], by: f64, from: &[f64]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += by * from);
        };
        let (n, all) = (n_v + n_cmd, &memory.rates);
        let mut rates = vec![0.0; WAYS * n];
        for (k, (contact, H)) in self.contacts.iter().zip(H.chunks_exact(WAYS)).enumerate() {
            let ways = contact.ways[..contact.n_ways].iter().map(|way| *way as usize);
            rates.fill(0.0);
            for (dof, by) in contact.jacobian(&memory.trees, kin) {
                for way in ways.clone() {
                    add(&mut rates[way * n..(way + 1) * n], by[way], &all[dof * n..(dof + 1) * n]);
                }
            }
            for (dof, by) in contact.turned(memory, memory.second.S_at[k]) {
                for way in ways.clone() {
                    rates[way * n + dof] += by[way];
                }
            }
            for (way, other) in ways.clone().flat_map(|way| ways.clone().map(move |w| (way, w))) {
                let (by_q, by_u) = rates[other * n..(other + 1) * n].split_at(n_v);
                let (row, by) = (WAYS * k + way, -H[way][other]);
                add(&mut out.by_q[row * n_v..(row + 1) * n_v], by, by_q);
                add(&mut out.by_q_cmd[row * n_cmd..(row + 1) * n_cmd], by, by_u);
            }
            for (dof, by) in contact.spun(&memory.trees, kin) {
                out.by_q[(WAYS * k + 3) * n_v + dof] += by;
            }
        }
        Ok(())
    }

    /// `H` of every contact, six rows each.
    fn curvature(&mut self) -> Result<Vec<[f64; WAYS]>, DerivativeError> {
        let Self { sensitivity, contacts, work, z, .. } = self;
        let pushes = &work.problem.pushes;
        let mut H = vec![[0.0; WAYS]; WAYS * contacts.len()];
        let mut rows = vec![0.0; z.len()];
        for way in 0..WAYS {
            rows.fill(0.0);
            for r in contacts.iter().flat_map(|contact| contact.rows.clone()) {
                rows[r] = pushes[r][way];
            }
            sensitivity.curve(&mut rows)?;
            for (contact, H) in contacts.iter().zip(H.chunks_exact_mut(WAYS)) {
                for r in contact.rows.clone() {
                    H.iter_mut().zip(pushes[r]).for_each(|(H, push)| H[way] += push * rows[r]);
                }
            }
        }
        Ok(H)
    }

    /// Computes the derivatives column by column, unless the matrices of the step kept them.
    fn impulses_by_products(
        &mut self,
        system: &System,
        out: &mut ContactImpulses,
    ) -> Result<(), DerivativeError> {
        if self.matrices.has_components {
            let [by_q, by_q_cmd] = &self.matrices.components;
            out.by_q.clone_from(by_q);
            out.by_q_cmd.clone_from(by_q_cmd);
            return Ok(());
        }
        self.for_each_column(system, true, |of_command, column, n, product| {
            let matrix = if of_command { &mut out.by_q_cmd } else { &mut out.by_q };
            write_column(matrix, column, n, &product.components);
        })
    }
}
