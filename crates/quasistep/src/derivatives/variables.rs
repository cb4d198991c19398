//! Conversion between forces on dofs and forces on the program's variables: variables of dofs,
//! pressing variables of joint friction, and variables of compliant contacts.

use super::change::{InputChange, reset};
use super::prepared::Derivatives;
use crate::system::System;

impl Derivatives {
    /// Forces on variables (`forces`) for forces on dofs (`d`).
    pub(super) fn change_of_variables(&mut self, system: &System, change: &InputChange) {
        let (h, dh) = (self.time_step, change.time_step);
        let s = &mut self.scratch;
        reset(&mut s.forces, self.x.len(), 0.0);
        for (variable, d) in system.variable_of_dof.iter().zip(&s.d) {
            if let Some(variable) = variable {
                s.forces[*variable as usize] = *d;
            }
        }
        self.change_of_pressing(system, change);
        let Self { scratch: s, work, .. } = self;
        // a compliant contact balances h² s/compliance with its impulse; the unit of s is
        // √compliance/h
        let first = system.block_of_variable.len() + system.n_rubbing();
        for (d, &k) in s.forces[first..].iter_mut().zip(&work.problem.compliant_contacts) {
            let contact = &self.contacts[k as usize];
            let given = change.compliance.get(k as usize).copied().unwrap_or(0.0);
            let by = given - contact.compliance * s.frames[k as usize].grow;
            let unit = contact.compliance.sqrt() / h;
            *d = unit * contact.lambda[0] * (by / contact.compliance - 2.0 * dh / h);
        }
    }

    /// Transpose, for weights on forces on variables (`forces`): weights on forces on dofs (`d`)
    /// and on the areas of foundation points (`grow`).
    pub(super) fn gradient_of_variables(&mut self, system: &System, out: &mut InputChange) {
        let h = self.time_step;
        let Self { scratch: s, work, .. } = self;
        for (d, variable) in s.d.iter_mut().zip(&system.variable_of_dof) {
            *d = variable.map_or(0.0, |variable| s.forces[variable as usize]);
        }
        work.load.reduction.follow(&mut s.d);
        self.gradient_of_pressing(system, out);
        let Self { scratch: s, work, .. } = self;
        reset(&mut s.grow, self.contacts.len(), 0.0);
        let first = system.block_of_variable.len() + system.n_rubbing();
        for (by, &k) in s.forces[first..].iter().zip(&work.problem.compliant_contacts) {
            let contact = &self.contacts[k as usize];
            let by = by * contact.compliance.sqrt() / h;
            s.grow[k as usize] = -by * contact.lambda[0];
            out.compliance[k as usize] = by * contact.lambda[0] / contact.compliance;
            out.time_step -= by * 2.0 * contact.lambda[0] / h;
        }
    }
}
