//! Projection of augmented forces onto the friction cones, and its derivative.

use super::{CURVED, FrictionProgram, Hull, MOST, Newton, Shape, dot_short};

impl Newton {
    /// Computes the projection `z = Pi(a)`, its derivative, and the modes.
    pub(super) fn project(&mut self, p: &FrictionProgram) {
        for (i, contact) in p.contacts.iter().enumerate() {
            let (k, d) = (contact.k as usize, contact.tangents());
            let rows = contact.rows();
            let open = !(self.a[rows.start] > 0.0);
            if open && self.modes[i] == 0 {
                // the contact was open before, so its force and derivative are already zero
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
            if self.homotopy.known {
                // pieces have positive numbers; try the last one first, which is mostly right
                let region = self.homotopy.regions.find(i, a, self.modes[i] as u16);
                dz.copy_from_slice(&self.homotopy.regions.region(i, region).matrix[..k * k]);
                for (z, row) in z.iter_mut().zip(dz.chunks_exact(k)) {
                    *z = dot_short(row, a);
                }
                self.modes[i] = region.into();
                continue;
            }
            z[0] = r;
            dz[0] = 1.0;
            self.modes[i] = match contact.shape {
                _ if d == 0 => 1,
                Shape::Round => onto_disc(r, &a[1..], z, dz),
                Shape::Polytope(_) => {
                    onto_polytope(&mut self.hull, p.vertices_of(contact), r, &a[1..], z, dz)
                }
            };
        }
    }
}

/// The tangential force `w` is within its bounds.
fn inside(w: &[f64], z: &mut [f64], dz: &mut [f64]) -> u32 {
    let k = z.len();
    z[1..].copy_from_slice(w);
    for t in 1..k {
        dz[t * k + t] = 1.0;
    }
    2
}

/// Projects `w` onto the disc of radius `r`; returns the mode.
fn onto_disc(r: f64, w: &[f64], z: &mut [f64], dz: &mut [f64]) -> u32 {
    let (k, d) = (z.len(), w.len());
    let size = w.iter().map(|w| w * w).sum::<f64>().sqrt();
    if size <= r {
        return inside(w, z, dz);
    }
    let share = r / size;
    for t in 0..d {
        let e = w[t] / size;
        z[t + 1] = r * e;
        dz[(t + 1) * k] = e;
        for s in 0..d {
            dz[(t + 1) * k + s + 1] = share * (f64::from(u8::from(t == s)) - e * w[s] / size);
        }
    }
    CURVED
}

/// Projects `w` onto `r` times the polytope of the vertices; returns the mode.
fn onto_polytope(
    hull: &mut Hull,
    vertices: &[f64],
    r: f64,
    w: &[f64],
    z: &mut [f64],
    dz: &mut [f64],
) -> u32 {
    let (k, d) = (z.len(), w.len());
    let mut point = [0.0; MOST];
    hull.project(vertices, d, r, w, &mut point[..d]);
    if hull.dim == d {
        return inside(w, z, dz);
    }
    z[1..].copy_from_slice(&point[..d]);
    let face = &hull.corral[..hull.size];
    // derivative with respect to the radius: a vertex of the face, orthogonalised against the face
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
    // one bit for each vertex of the face, if there are enough bits
    let letters = face.iter().all(|j| *j < 28);
    let word = face.iter().fold(3, |m, j| m | 1 << (2 + j % 28));
    if letters { word } else { CURVED }
}
