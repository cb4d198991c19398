//! Scale of passive mass, `P_u = ε M_u`, from the relaxation time or from the stiffness of the
//! springs.
//!
//! ```text
//! ε = h/τ        with a relaxation time τ; τ = h is Tracy (13)
//! ε = h² min K / (s max_k M_kk)
//! ```
//!
//! The second form holds for each kinematic tree. `K > 0` is the stiffness over all actuated dofs,
//! `k` runs over the passive dofs of the tree, and `s` is [`StepParams::passive_mass_scale`]. The
//! largest entry of `M_u` is then `1/s` times the smallest entry of `h² K`.

use crate::error::StepError;
use crate::params::{Inertia, StepParams};
use crate::system::{Role, System};
use quasistep_model::WORLD;

/// `ε` of one tree, and the dof that determines it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MassScale {
    /// Scale factor `ε`; 1 for a tree without passive mass.
    pub factor: f64,
    /// Passive dof with the largest diagonal entry of the mass matrix, and that entry, in kg or
    /// kg·m²; 0 without passive mass.
    pub dof: usize,
    pub largest: f64,
}

/// Scales of all blocks of variables; memory is reused.
#[derive(Debug, Default)]
pub(crate) struct MassScales {
    /// One scale per block; empty if one factor scales all mass.
    pub of_block: Vec<MassScale>,
    /// The common factor, if `of_block` is empty.
    pub uniform: f64,
    diagonal: Vec<f64>,
}

impl MassScales {
    /// `ε` of a body's tree.
    pub fn of_body(&self, system: &System, body: usize) -> f64 {
        if self.of_block.is_empty() {
            return self.uniform;
        }
        // find the nearest joint with a dof
        let mut at = body;
        while at != WORLD && system.model.body(at).v.is_empty() {
            at = system.model.body(at).parent;
        }
        let block = (at != WORLD).then(|| system.block_of_dof(system.model.body(at).v.start));
        block.flatten().map_or(1.0, |block| self.of_block[block].factor)
    }

    /// Scales the entries (row, column, value over dofs) of a step's mass matrix in place.
    pub fn apply(&mut self, system: &System, params: &StepParams, entries: &mut [(u32, u32, f64)]) {
        self.of_block.clear();
        let softest = params.passive_mass_scale.zip(system.softest_spring());
        let Some((scale, (softest, _))) = softest else {
            self.uniform = params.relaxation.mass_factor(params.time_step);
            for (.., entry) in entries.iter_mut() {
                *entry *= self.uniform;
            }
            return;
        };
        self.diagonal.clear();
        self.diagonal.resize(system.model.n_v(), 0.0);
        for &(i, j, entry) in entries.iter() {
            if i == j {
                self.diagonal[i as usize] += entry;
            }
        }
        let none = MassScale { factor: 1.0, dof: 0, largest: 0.0 };
        self.of_block.resize(system.block_dims.len(), none);
        for (dof, &entry) in self.diagonal.iter().enumerate() {
            let Some(block) = system.block_of_dof(dof) else { continue };
            let of = &mut self.of_block[block];
            if entry > of.largest {
                (of.dof, of.largest) = (dof, entry);
            }
        }
        let h = params.time_step;
        for of in self.of_block.iter_mut().filter(|of| of.largest > 0.0) {
            of.factor = h * h * softest / (scale * of.largest);
        }
        for (i, _, entry) in entries {
            // entries belong to passive dofs, which have a variable
            if let Some(block) = system.block_of_dof(*i as usize) {
                *entry *= self.of_block[block].factor;
            }
        }
    }
}

impl System {
    /// Smallest stiffness > 0 of an actuated dof, in N/m or N·m/rad, and its dof.
    pub(crate) fn softest_spring(&self) -> Option<(f64, usize)> {
        let mut softest: Option<(f64, usize)> = None;
        for (body, role) in self.roles.iter().enumerate() {
            let Role::Actuated(actuator) = role else { continue };
            for (&K, dof) in actuator.stiffness.iter().zip(self.model.body(body).v.clone()) {
                if K > 0.0 && softest.is_none_or(|(least, _)| K < least) {
                    softest = Some((K, dof));
                }
            }
        }
        softest
    }

    /// Index of the block of variables to which a dof belongs; `None` if the dof is prescribed.
    pub(crate) fn block_of_dof(&self, dof: usize) -> Option<usize> {
        self.variable_of_dof[dof]
            .map(|variable| self.block_of_variable[variable as usize].0 as usize)
    }

    /// Scales the passive entries of a mass matrix, `n_v × n_v`, row-major, as a step with `params`
    /// and [`Inertia::Mass`] does.
    ///
    /// # Panics
    ///
    /// If `mass` does not have `n_v²` entries.
    pub fn scale_passive_mass(&self, params: &StepParams, mass: &mut [f64]) {
        let n_v = self.model.n_v();
        assert_eq!(mass.len(), n_v * n_v, "entries of a mass matrix with n_v = {n_v}");
        let passive: Vec<usize> = (0..n_v).filter(|&dof| self.is_passive(dof)).collect();
        let places = || passive.iter().flat_map(|&i| passive.iter().map(move |&j| (i, j)));
        let mut entries: Vec<_> =
            places().map(|(i, j)| (i as u32, j as u32, mass[i * n_v + j])).collect();
        MassScales::default().apply(self, params, &mut entries);
        for ((i, j), (_, _, entry)) in places().zip(entries) {
            mass[i * n_v + j] = entry;
        }
    }

    /// Checks that a scale of mass has a spring to which it can refer.
    pub(crate) fn check_mass_scale(&self, params: &StepParams) -> Result<(), StepError> {
        let scaled = params.passive_mass_scale.is_some() && params.inertia == Inertia::Mass;
        if scaled && !params.formulation.carries_velocity() && self.softest_spring().is_none() {
            return Err(StepError::Value {
                what: "passive_mass_scale".into(),
                why: "no joint has a stiffness, which mass is scaled by; it must be none here"
                    .into(),
            });
        }
        Ok(())
    }
}
