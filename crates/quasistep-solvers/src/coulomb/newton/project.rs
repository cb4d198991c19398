//! One step: forces as projections of augmented ones, how they turn with them, and the direction that follows.

use super::{CURVED, FrictionProgram, MOST, Newton, PROXIMAL, Part, Shape, assemble, dot_short};

impl Newton {
    /// `z = Pi(a)`, its derivative, and the modes.
    pub(super) fn project(&mut self, p: &FrictionProgram) {
        for (i, contact) in p.contacts.iter().enumerate() {
            let (k, d) = (contact.k as usize, contact.tangents());
            let rows = contact.rows();
            let open = !(self.a[rows.start] > 0.0);
            if open && self.modes[i] == 0 {
                // it was open before: its force and derivative are zero
                continue;
            }
            if !open && !self.whole[i] {
                for (r, at) in rows.clone().enumerate().skip(1) {
                    let along = |(first, J): (usize, &[f64])| dot_short(J, &self.x[first..]);
                    let rate = p.row(i, r).map(along).sum::<f64>() - p.b(i, r);
                    self.a[at] = self.z_c[at] - self.penalty * self.weight[at] * rate;
                }
            }
            let (a, z) = (&self.a[rows.clone()], &mut self.z[rows]);
            let dz = &mut self.dz[self.dz_at[i]..][..k * k];
            dz.fill(0.0);
            let r = a[0];
            if open {
                z.fill(0.0);
                self.modes[i] = 0;
                continue;
            }
            z[0] = r;
            dz[0] = 1.0;
            self.modes[i] = 1;
            if d == 0 {
                continue;
            }
            let (_, w) = a.split_at(1);
            match contact.shape {
                Shape::Round => {
                    let size = w.iter().map(|w| w * w).sum::<f64>().sqrt();
                    if size <= r {
                        z[1..].copy_from_slice(w);
                        for t in 1..k {
                            dz[t * k + t] = 1.0;
                        }
                        self.modes[i] = 2;
                        continue;
                    }
                    self.modes[i] = CURVED;
                    let share = r / size;
                    for t in 0..d {
                        let e = w[t] / size;
                        z[t + 1] = r * e;
                        dz[(t + 1) * k] = e;
                        for s in 0..d {
                            dz[(t + 1) * k + s + 1] =
                                share * (f64::from(u8::from(t == s)) - e * w[s] / size);
                        }
                    }
                }
                Shape::Polytope(_) => {
                    let vertices = p.vertices_of(contact);
                    let mut point = [0.0; MOST];
                    self.hull.project(vertices, d, r, w, &mut point[..d]);
                    let hull = &self.hull;
                    if hull.dim == d {
                        z[1..].copy_from_slice(w);
                        for t in 1..k {
                            dz[t * k + t] = 1.0;
                        }
                        self.modes[i] = 2;
                        continue;
                    }
                    z[1..].copy_from_slice(&point[..d]);
                    let face = &hull.corral[..hull.size];
                    // one letter per face, as long as there are letters
                    let letters = face.iter().all(|j| *j < 28);
                    let word = face.iter().fold(3, |m, j| m | 1 << (2 + j % 28));
                    self.modes[i] = if letters { word } else { CURVED };
                    // any vertex of the face, without its part along the face, moves with the radius
                    let mut along = [0.0; MOST];
                    along[..d].copy_from_slice(&vertices[face[0] * d..][..d]);
                    for q in &hull.basis[..hull.dim] {
                        let part = dot_short(&q[..d], &along);
                        for (v, q) in along.iter_mut().zip(q) {
                            *v -= part * q;
                        }
                        for t in 0..d {
                            for s in 0..d {
                                dz[(t + 1) * k + s + 1] += q[t] * q[s];
                            }
                        }
                    }
                    for t in 0..d {
                        dz[(t + 1) * k] = along[t];
                    }
                }
            }
        }
    }

    /// Subtracts from `g` what the derivative says of the difference between the augmented forces of
    /// `x` and those started from, which it replaces by the former.
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
        assemble(p, factor, PROXIMAL, saturated, |i| {
            let k = p.contacts[i].k as usize;
            let rho = stiffness[i].map(|stiffness| *penalty * stiffness);
            (modes[i] != 0).then(|| Part { matrix: &dz[dz_at[i]..][..k * k], rho })
        });
    }

    /// Newton's direction into `dx`, and that of the augmented forces into `da`: of contacts without force the normal
    /// ones, which is all that it takes to see who closes.
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

    /// Goes a share of the direction.
    pub(super) fn advance(&mut self, share: f64) {
        crate::kernels::axpy(share, &self.dx, &mut self.x);
        crate::kernels::axpy(share, &self.da, &mut self.a);
    }
}
