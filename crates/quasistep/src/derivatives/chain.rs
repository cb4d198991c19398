//! The chain from the inputs of a step to its outputs, stage by stage: forward as a change of the inputs → a change of the
//! outputs, backward as weights on the outputs → a gradient with respect to the inputs.
//!
//! Each stage is a function `change_of_…` and its transpose `gradient_of_…`, which stand in one file. [`Scratch`] has what
//! they hand to one another: changes on the way there, weights on these changes on the way back.
//!
//! [`Scratch`]: super::prepared::Scratch

use super::change::{InputChange, OutputChange, or_zero, reset};
use super::kinds::DerivativeError;
use super::prepared::Derivatives;
use crate::system::System;
use quasistep_model::{SpatialForce, Twist};
use quasistep_solvers::ChangeAt;

impl Derivatives {
    /// What a small `change` of the inputs does to the outputs: the product of the derivative's matrix and
    /// `change`. Impulses are left out, and cheaper, if `impulses` is false.
    ///
    /// Returns how far the change pulls rows apart that depend on one another, those that touch without pushing among them,
    /// in m/s: rounding unless other rows push after it, so that the step has a kink in this direction. `system` is the one that was differentiated.
    ///
    /// # Errors
    ///
    /// A vector of the wrong length, or nothing was differentiated.
    pub fn jvp(
        &mut self,
        system: &System,
        change: &InputChange,
        impulses: bool,
        out: &mut OutputChange,
    ) -> Result<f64, DerivativeError> {
        self.check_ready()?;
        change.check(system, self.contacts.len())?;
        if self.parts.is_empty() {
            return self.own_jvp(system, change, impulses, out);
        }
        self.jvp_of(system, &|part| Ok(part.of_own_contacts(change)), impulses, out)
    }

    /// [`jvp`](Self::jvp) of one motion, by its own inputs.
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

    /// Gradient of `Σ weights · outputs` with respect to all inputs, every vector of `out` at its full length: the
    /// transpose of [`jvp`](Self::jvp), at the price of one product, whatever the number of inputs.
    ///
    /// # Errors
    ///
    /// A vector of the wrong length, or nothing was differentiated.
    pub fn vjp(
        &mut self,
        system: &System,
        weights: &OutputChange,
        out: &mut InputChange,
    ) -> Result<(), DerivativeError> {
        self.check_ready()?;
        weights.check(system, self.contacts.len())?;
        if self.parts.is_empty() {
            return self.own_vjp(system, weights, &[], out);
        }
        out.reset(system, self.contacts.len());
        self.vjp_of_parts(system, weights, out)
    }

    /// [`vjp`](Self::vjp) of one motion, by its own inputs; also for weights on configurations along it, each with how far it is
    /// done there.
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

    /// No weights yet on what several stages add to.
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

    /// Motion of dofs (`a`) and of bodies (`moves`), and no force on any yet (`dF`).
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

    /// From rows of the program (`rows`), forces on its variables (`forces`) and how its rows turn (`turn`) to its solution
    /// (`dx`, `dz`).
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

    /// Twists of the rates that multipliers of least norm are made of, once for a step.
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
