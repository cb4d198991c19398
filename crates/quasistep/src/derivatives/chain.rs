//! The chain rule from the inputs of a step to its outputs, stage by stage. Forward mode maps a
//! change of the inputs to a change of the outputs. Reverse mode maps weights on the outputs to a
//! gradient with respect to the inputs.
//!
//! Each stage is a function `change_of_…` and its transpose `gradient_of_…`, in one file. They
//! exchange data in [`Scratch`]: changes in forward mode, weights on these changes in reverse mode.
//!
//! [`Scratch`]: super::prepared::Scratch

use super::change::{InputChange, OutputChange, or_zero, reset};
use super::kinds::DerivativeError;
use super::prepared::Derivatives;
use crate::system::System;
use quasistep_cone::ChangeAt;
use quasistep_model::{SpatialForce, Twist};

impl Derivatives {
    /// Jacobian-vector product: the change of the outputs for a small `change` of the inputs.
    /// Impulses are computed only if `impulses` is true.
    ///
    /// Returns the largest rate, in m/s, by which the change pulls dependent rows apart, including
    /// rows that touch without an impulse. It is rounding unless the active set changes in this
    /// direction, that is, unless the step has a kink. `system` must be the system that was
    /// differentiated.
    ///
    /// # Errors
    ///
    /// A vector has the wrong length, or no step was differentiated.
    pub fn jvp(
        &mut self,
        system: &System,
        change: &InputChange,
        impulses: bool,
        out: &mut OutputChange,
    ) -> Result<f64, DerivativeError> {
        self.check_ready()?;
        let set = self.set_system();
        let system = set.as_deref().unwrap_or(system);
        change.check(system, self.contacts.len())?;
        if self.parts.is_empty() {
            return self.own_jvp(system, change, impulses, out);
        }
        self.jvp_of(system, &|part| Ok(part.of_own_contacts(change)), impulses, out)
    }

    /// Variant of [`jvp`](Self::jvp) for a single motion and its own inputs.
    pub(super) fn own_jvp(
        &mut self,
        system: &System,
        change: &InputChange,
        impulses: bool,
        out: &mut OutputChange,
    ) -> Result<f64, DerivativeError> {
        if impulses {
            self.find_w(system)?;
        }
        self.change_of_areas(system, change)?;
        self.change_of_places(system, change);
        self.change_of_command(system, change);
        self.change_of_twists(system, change.time_step, impulses);
        self.change_of_start(system, change);
        self.change_of_contacts(change, impulses);
        self.change_of_limits(change.time_step);
        self.change_of_constraints(system, impulses);
        self.change_of_loads(system, change);
        self.change_of_tau(change);
        self.change_of_inertia(system, change);
        self.change_of_damping(system, change.time_step);
        self.change_of_springs(change);
        self.change_of_supports(system, change);
        self.change_of_followers(system);
        self.change_of_variables(system, change);
        let apart = self.change_of_solution()?;
        self.change_of_velocity(system, change.time_step, out);
        self.change_of_impulses(impulses, out);
        Ok(apart)
    }

    /// Vector-Jacobian product: the gradient of `Σ weights · outputs` with respect to all inputs.
    /// Every vector of `out` has its full length. The cost is that of one product for any number of
    /// inputs.
    ///
    /// # Errors
    ///
    /// A vector has the wrong length, or no step was differentiated.
    pub fn vjp(
        &mut self,
        system: &System,
        weights: &OutputChange,
        out: &mut InputChange,
    ) -> Result<(), DerivativeError> {
        self.check_ready()?;
        let set = self.set_system();
        let system = set.as_deref().unwrap_or(system);
        weights.check(system, self.contacts.len())?;
        if self.parts.is_empty() {
            return self.own_vjp(system, weights, &[], out);
        }
        out.reset(system, self.contacts.len());
        self.vjp_of_parts(system, weights, out)
    }

    /// Variant of [`vjp`](Self::vjp) for a single motion and its own inputs. It also accepts
    /// weights on configurations along the motion, each with the share of the motion done by then.
    pub(super) fn own_vjp(
        &mut self,
        system: &System,
        weights: &OutputChange,
        places: &[(f64, Vec<f64>)],
        out: &mut InputChange,
    ) -> Result<(), DerivativeError> {
        let impulses = weights.weighs_impulses();
        if impulses {
            self.find_w(system)?;
        }
        out.reset(system, self.contacts.len());
        self.start_gradient(system);
        self.gradient_of_velocity(system, weights, places, out);
        self.gradient_of_impulses(weights);
        self.gradient_of_solution(impulses)?;
        self.gradient_of_variables(system, out);
        self.gradient_of_supports(system, out);
        self.gradient_of_damping(system, out);
        self.gradient_of_tau(out);
        self.gradient_of_springs(out);
        self.gradient_of_limits(out);
        self.gradient_of_inertia(system, out);
        self.gradient_of_loads(system, out);
        self.gradient_of_start(system, out);
        self.gradient_of_constraints(system, out);
        self.gradient_of_contacts(weights, out);
        self.gradient_of_turned_constraints(impulses);
        self.gradient_of_start_motion(system, out);
        self.gradient_of_twists(system, impulses);
        self.gradient_of_command(system, out);
        self.gradient_of_places(system, out);
        self.gradient_of_areas(system, out)
    }

    fn check_ready(&self) -> Result<(), DerivativeError> {
        if self.ready { Ok(()) } else { Err(DerivativeError::NotPrepared) }
    }

    /// Zeroes the weights to which several stages add.
    fn start_gradient(&mut self, system: &System) {
        let (n_v, n_bodies) = (system.model.n_v(), system.model.n_bodies());
        let s = &mut self.scratch;
        for over_dofs in [&mut s.a, &mut s.b, &mut s.c, &mut s.d, &mut s.known] {
            reset(over_dofs, n_v, 0.0);
        }
        for on_bodies in [&mut s.dF, &mut s.dF2, &mut s.to_W] {
            reset(on_bodies, n_bodies, SpatialForce::ZERO);
        }
        reset(&mut s.moves, n_bodies, Twist::ZERO);
    }

    /// Computes the motions of dofs (`a`) and bodies (`moves`), and zeroes the forces on bodies
    /// (`dF`).
    fn change_of_places(&mut self, system: &System, change: &InputChange) {
        let (n_v, n_bodies) = (system.model.n_v(), system.model.n_bodies());
        let Self { scratch: s, work, .. } = self;
        or_zero(&change.q, n_v, &mut s.a);
        reset(&mut s.moves, n_bodies, Twist::ZERO);
        system.model.twists(&work.scan.kin, &s.a, &mut s.moves);
        reset(&mut s.dF, n_bodies, SpatialForce::ZERO);
    }

    fn gradient_of_places(&mut self, system: &System, out: &mut InputChange) {
        let Self { scratch: s, work, .. } = self;
        system.model.gather(&mut s.dF);
        system.model.add_generalised(&work.scan.kin, &s.dF, &mut s.a);
        out.q.copy_from_slice(&s.a);
    }

    /// Change of the program's solution (`dx`, `dz`) for changes of its rows (`rows`), forces on
    /// its variables (`forces`), and the rotation of its rows (`turn`).
    fn change_of_solution(&mut self) -> Result<f64, DerivativeError> {
        let Self { scratch: s, sensitivity, x, z, .. } = self;
        reset(&mut s.dx, x.len(), 0.0);
        reset(&mut s.dz, z.len(), 0.0);
        let change_at = ChangeAt { rows: &s.rows, forces: &s.forces, turn: &s.turn };
        Ok(sensitivity.forward_at(&change_at, &mut s.dx, &mut s.dz)?)
    }

    fn gradient_of_solution(&mut self, impulses: bool) -> Result<(), DerivativeError> {
        let Self { scratch: s, sensitivity, x, z, .. } = self;
        reset(&mut s.rows, z.len(), 0.0);
        reset(&mut s.forces, x.len(), 0.0);
        reset(&mut s.turn, if impulses { z.len() } else { 0 }, 0.0);
        sensitivity.adjoint_at(&s.dx, &s.dz, &mut s.rows, &mut s.forces, &mut s.turn)?;
        Ok(())
    }

    /// Computes, once per step, the twists of the rates that generate the least-norm multipliers.
    pub(super) fn find_w(&mut self, system: &System) -> Result<(), DerivativeError> {
        if self.has_w {
            return Ok(());
        }
        let n_v = system.model.n_v();
        let Self { scratch: s, .. } = self;
        reset(&mut s.dx, self.x.len(), 0.0);
        self.sensitivity.least_norm_rates(&mut s.dx)?;
        reset(&mut self.w, n_v, 0.0);
        for (w, variable) in self.w.iter_mut().zip(&system.variable_of_dof) {
            if let Some(variable) = variable {
                *w = s.dx[*variable as usize];
            }
        }
        self.work.load.reduction.follow(&mut self.w);
        reset(&mut self.W, system.model.n_bodies(), Twist::ZERO);
        system.model.twists(&self.work.scan.kin, &self.w, &mut self.W);
        self.has_w = true;
        Ok(())
    }
}
