//! Matrix and direction of a Newton step.

use super::{FrictionProgram, MOST, Newton, PROXIMAL, Part, dot_short, hessian};

impl Newton {
    /// Replaces the augmented forces of the start by those of `x`, and adds the linearised
    /// difference to `g`.
    pub(super) fn add_inconsistency(&mut self, p: &FrictionProgram) {
        p.rates(&self.x, &mut self.u);
        for (i, contact) in p.contacts.iter().enumerate() {
            let k = contact.k as usize;
            let mut change = [0.0; MOST + 1];
            for (r, at) in contact.rows().enumerate() {
                let a = self.z_c[at] - self.penalty * self.weight[at] * self.u[at];
                change[r] = a - self.a[at];
                self.a[at] = a;
            }
            let dz = &self.dz[self.dz_at[i]..][..k * k];
            for r in 0..k {
                let force = self.unit[contact.first as usize + r]
                    * dot_short(&dz[r * k..(r + 1) * k], &change);
                if force != 0.0 {
                    for (first, J) in p.row(i, r) {
                        for (g, J) in self.g[first..].iter_mut().zip(J) {
                            *g -= force * J;
                        }
                    }
                }
            }
        }
    }

    /// `H = P + springs + delta + Jᵀ rho Pi' J` in scaled variables.
    pub(super) fn assemble(&mut self, p: &FrictionProgram) {
        let Self { factor, saturated, dz, dz_at, modes, stiffness, penalty, .. } = self;
        hessian::assemble(p, factor, PROXIMAL, saturated, |i| {
            let k = p.contacts[i].k as usize;
            let rho = stiffness[i].map(|stiffness| *penalty * stiffness);
            (modes[i] != 0).then(|| Part { matrix: &dz[dz_at[i]..][..k * k], rho })
        });
    }

    /// Writes Newton's direction to `dx`, and that of the augmented forces to `da`. For contacts
    /// without force only the normal entry is computed, which determines whether they close.
    pub(super) fn direct(&mut self, p: &FrictionProgram) {
        self.work.spend(self.cost.solve + self.cost.rows);
        for ((dx, g), D) in self.dx.iter_mut().zip(&self.g).zip(&self.D) {
            *dx = -g * D;
        }
        self.factor.solve(&p.cones, &mut self.dx);
        for (dx, D) in self.dx.iter_mut().zip(&self.D) {
            *dx *= D;
        }
        self.whole.clear();
        self.whole.extend(self.modes[..p.contacts.len()].iter().map(|mode| *mode != 0));
        p.whole_changes(&self.dx, &self.whole, &mut self.da);
        for (da, weight) in self.da.iter_mut().zip(&self.weight) {
            *da *= -self.penalty * weight;
        }
    }

    /// Moves by a fraction of the direction.
    pub(super) fn advance(&mut self, share: f64) {
        quasistep_linalg::kernels::axpy(share, &self.dx, &mut self.x);
        quasistep_linalg::kernels::axpy(share, &self.da, &mut self.a);
    }
}
