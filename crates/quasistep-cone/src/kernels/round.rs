//! Second-order cones of up to four rows, four cones at a time: the operations of [`second_order`]
//! with one cone in each lane.
//!
//! [`second_order`]: crate::second_order

use super::views::{Iterate, Scaled, Step};
use crate::program::ConeData;
use quasistep_linalg::simd::LANES;
use quasistep_linalg::simd::{Lane, Simd, lanes, lanes_mut};

/// Lane masks by the number of a cone's rows: 1 for rows, 0 for padding.
const ROWS: [Lane; LANES + 1] =
    [[0.0; LANES], [1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0], [1.0; LANES]];

/// Entries of a cone in `v`, padding set to zero.
#[inline(always)]
pub(super) fn rows<S: Simd>(cone: &ConeData, v: &[f64]) -> S::V {
    S::mul(S::load(&ROWS[cone.m as usize]), S::load(&lanes(&v[cone.at as usize..])[0]))
}

/// Whether a cone is round with at most four rows.
#[inline(always)]
pub(super) fn is_narrow(cone: &ConeData) -> bool {
    cone.round && cone.stride_z as usize == LANES
}

/// Four cones. If there are fewer, the first is repeated, and its results are written several
/// times.
#[derive(Clone, Copy)]
pub(super) struct Four<'a> {
    cones: [&'a ConeData; LANES],
    count: usize,
}

impl<'a> Four<'a> {
    #[inline(always)]
    pub fn new(first: &'a ConeData) -> Self {
        Self { cones: [first; LANES], count: 0 }
    }

    /// Adds a cone; returns true when there are four.
    #[inline(always)]
    pub fn push(&mut self, cone: &'a ConeData) -> bool {
        self.cones[self.count..].fill(cone);
        self.count += 1;
        self.count == LANES
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline(always)]
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Row `i` of every cone as vector `i`; zero for cones with fewer rows.
    #[inline(always)]
    fn load<S: Simd>(&self, v: &[f64]) -> [S::V; LANES] {
        let mut out = [S::zero(); LANES];
        for i in 0..LANES {
            out[i] = rows::<S>(self.cones[i], v);
        }
        S::transpose(out)
    }
}

/// `D v` of one cone.
#[inline(always)]
pub(super) fn times_D<S: Simd>(cone: &ConeData, D: &[f64], v: S::V) -> S::V {
    let D = &lanes(&D[cone.E_at as usize..])[..cone.m as usize];
    let mut dots = [S::zero(); LANES];
    for (dot, row) in dots.iter_mut().zip(D) {
        *dot = S::mul(S::load(row), v);
    }
    S::sums(dots)
}

/// Inner product `v_1 · u_1`, which excludes the first rows.
#[inline(always)]
fn dot_tail<S: Simd>(v: &[S::V; LANES], u: &[S::V; LANES]) -> S::V {
    S::fma(v[3], u[3], S::fma(v[2], u[2], S::mul(v[1], u[1])))
}

/// `v_0² − ‖v_1‖²`.
#[inline(always)]
fn determinant<S: Simd>(v: &[S::V; LANES]) -> S::V {
    let size = S::sqrt(dot_tail::<S>(v, v));
    S::mul(S::sub(v[0], size), S::add(v[0], size))
}

/// Nesterov–Todd scaling: `w` and `eta`.
pub(super) struct Scaling<S: Simd> {
    w: [S::V; LANES],
    eta: S::V,
}

impl<S: Simd> Scaling<S> {
    #[inline(always)]
    pub fn new(s: &[S::V; LANES], z: &[S::V; LANES]) -> Self {
        let least = S::splat(f64::MIN_POSITIVE);
        let a = S::sqrt(S::max(determinant::<S>(s), least));
        let b = S::sqrt(S::max(determinant::<S>(z), least));
        let (half, one) = (S::splat(0.5), S::splat(1.0));
        let dot = S::fma(s[0], z[0], dot_tail::<S>(s, z));
        let share = S::div(dot, S::mul(a, b));
        let gamma = S::sqrt(S::mul(half, S::add(one, share)));
        let (of_s, of_z) =
            (S::div(half, S::mul(a, gamma)), S::div(S::splat(-0.5), S::mul(b, gamma)));
        let mut w = [S::zero(); LANES];
        w[0] = S::sub(S::mul(of_s, s[0]), S::mul(of_z, z[0]));
        for i in 1..LANES {
            w[i] = S::fma(of_s, s[i], S::mul(of_z, z[i]));
        }
        Self { w, eta: S::sqrt(S::div(a, b)) }
    }

    /// `factor W̄ v` with `sign = 1`, `factor W̄⁻¹ v` with `sign = −1`.
    #[inline(always)]
    fn times(&self, v: &[S::V; LANES], sign: f64, factor: S::V) -> [S::V; LANES] {
        let (w, sign) = (&self.w, S::splat(sign));
        let along = dot_tail::<S>(w, v);
        let mut out = [S::zero(); LANES];
        out[0] = S::mul(factor, S::fma(sign, along, S::mul(w[0], v[0])));
        let lift = S::fma(sign, v[0], S::div(along, S::add(S::splat(1.0), w[0])));
        for i in 1..LANES {
            out[i] = S::mul(factor, S::fma(lift, w[i], v[i]));
        }
        out
    }
}

/// Row `i` of `W⁻² = (2 v vᵀ − J) / eta²`, `v = (w_0, −w_1)`.
#[inline(always)]
fn row_of_D<S: Simd>(scaling: &Scaling<S>, i: usize) -> [S::V; LANES] {
    let Scaling { w, eta } = scaling;
    let scale = S::div(S::splat(1.0), S::mul(*eta, *eta));
    let minus = S::splat(-1.0);
    let mut v = [S::zero(); LANES];
    for i in 0..LANES {
        v[i] = if i == 0 { w[0] } else { S::mul(minus, w[i]) };
    }
    let factor = S::mul(S::add(scale, scale), v[i]);
    let mut row = [S::zero(); LANES];
    for j in 0..LANES {
        row[j] = S::mul(factor, v[j]);
    }
    row[i] = if i == 0 { S::sub(row[i], scale) } else { S::add(row[i], scale) };
    row
}

/// `D = W⁻²` of four cones of `m` rows, entry by entry.
#[inline(always)]
pub(super) fn scale<S: Simd>(m: usize, s: &[S::V; LANES], z: &[S::V; LANES], D: &mut [Lane]) {
    let scaling = Scaling::<S>::new(s, z);
    for i in 0..m {
        let row = row_of_D::<S>(&scaling, i);
        for j in 0..m {
            S::store(row[j], &mut D[i * m + j]);
        }
    }
}

/// `D = W⁻²` of four cones.
#[inline(always)]
pub(super) fn write_D<S: Simd>(four: &Four<'_>, s: &[f64], z: &[f64], D: &mut [f64]) {
    let scaling = Scaling::<S>::new(&four.load::<S>(s), &four.load::<S>(z));
    for i in 0..LANES {
        let rows = S::transpose(row_of_D::<S>(&scaling, i));
        for (cone, row) in four.cones.iter().zip(rows) {
            if i < cone.m as usize {
                let D = lanes_mut(&mut D[cone.E_at as usize..]);
                S::store(row, &mut D[i]);
                // padding
                D[i][cone.m as usize..].fill(0.0);
            }
        }
    }
}

impl<S: Simd> Scaling<S> {
    /// `W⁻¹ (lambda \ (W⁻¹ ds ∘ W dz − mu e))` of four cones.
    #[inline(always)]
    pub fn corrector(
        &self,
        mu: f64,
        z: &[S::V; LANES],
        ds: &[S::V; LANES],
        dz: &[S::V; LANES],
    ) -> [S::V; LANES] {
        let eta = self.eta;
        let back = S::div(S::splat(1.0), eta);
        let l = self.times(z, 1.0, eta);
        let a = self.times(ds, -1.0, back);
        let b = self.times(dz, 1.0, eta);
        let mut product = [S::zero(); LANES];
        product[0] = S::add(S::fma(a[0], b[0], dot_tail::<S>(&a, &b)), S::splat(-mu));
        for i in 1..LANES {
            product[i] = S::fma(a[0], b[i], S::mul(b[0], a[i]));
        }
        let det = S::max(determinant::<S>(&l), S::splat(f64::MIN_POSITIVE));
        let along = dot_tail::<S>(&l, &product);
        let mut quotient = [S::zero(); LANES];
        quotient[0] = S::div(S::sub(S::mul(l[0], product[0]), along), det);
        for i in 1..LANES {
            quotient[i] = S::div(S::sub(product[i], S::mul(quotient[0], l[i])), l[0]);
        }
        self.times(&quotient, -1.0, back)
    }
}

/// `t = z + W⁻¹ (lambda \ (W⁻¹ ds ∘ W dz − mu e)) + W⁻² gap` of four cones.
#[inline(always)]
pub(super) fn correct<S: Simd>(
    four: &Four<'_>,
    mu: f64,
    Scaled { at: Iterate { s, z, gap, .. }, D, .. }: Scaled<'_, f64>,
    Step { ds, dz }: Step<'_, f64>,
    t: &mut [f64],
) {
    let z_in = four.load::<S>(z);
    let scaling = Scaling::<S>::new(&four.load::<S>(s), &z_in);
    let products = scaling.corrector(mu, &z_in, &four.load::<S>(ds), &four.load::<S>(dz));
    let sums = S::transpose(products);
    for (cone, sum) in four.cones.iter().zip(sums) {
        let at = cone.at as usize;
        let more = times_D::<S>(cone, D, rows::<S>(cone, gap));
        let sum = S::add(S::add(sum, rows::<S>(cone, z)), more);
        S::store(sum, &mut lanes_mut(&mut t[at..])[0]);
    }
}

/// [`blocked`] for four cones with their rows in padded vectors `v` and `dv`.
#[inline(always)]
pub(super) fn blocked_by<S: Simd>(four: &Four<'_>, v: &[f64], dv: &[f64]) -> S::V {
    blocked::<S>(&four.load::<S>(v), &four.load::<S>(dv))
}

/// Inverse of the longest `alpha` for which `v + alpha dv` stays in each of four cones; negative if
/// no positive `alpha` leaves it.
#[inline(always)]
pub(super) fn blocked<S: Simd>(v: &[S::V; LANES], dv: &[S::V; LANES]) -> S::V {
    let det = determinant::<S>(v);
    let res = S::sqrt(det);
    let along = S::div(S::sub(S::mul(v[0], dv[0]), dot_tail::<S>(v, dv)), res);
    let lift = S::div(S::add(along, dv[0]), S::add(v[0], res));
    let mut across = [S::zero(); LANES];
    for i in 1..LANES {
        across[i] = S::sub(dv[i], S::mul(lift, v[i]));
    }
    let across = S::sqrt(dot_tail::<S>(&across, &across));
    // a `v` outside the cone allows no step
    S::select(det, S::div(S::sub(across, along), res), S::splat(f64::INFINITY))
}

#[cfg(test)]
mod tests {
    use crate::kernels::{Groups, Isa, Iterate, Scaled, Step, corrector, directions, weights};
    use crate::program::{Cone, ConeProgram};
    use crate::second_order;
    use crate::structure::Structure;

    /// Pseudorandom points, inside the cones if `inside`.
    fn points(p: &ConeProgram, seed: f64, inside: bool) -> Vec<f64> {
        // values in the padding must not matter
        let mut out = vec![if inside { 1.0 } else { -3.0 }; p.m_padded];
        for (c, cone) in p.cones.iter().enumerate() {
            let own = &mut out[cone.at as usize..][..cone.m as usize];
            for (i, v) in own.iter_mut().enumerate() {
                *v = (seed * (1.0 + c as f64) + 1.7 * i as f64).sin();
            }
            if inside {
                own[0] = second_order::norm(&own[1..]) + 1e-3 + own[0].abs();
            }
        }
        out
    }

    /// Seven cones of one to five rows on one block. The last has too many rows for a batch of
    /// four.
    fn program() -> ConeProgram {
        let mut p = ConeProgram::new();
        p.reset([6]);
        for (c, rows) in [3, 3, 4, 3, 1, 2, 5].into_iter().enumerate() {
            let mut cone = p.push_cone(Cone::Round(&[1.0, 0.5, 0.7, 0.2, 0.4][..rows]), rows, &[0]);
            for r in 0..rows {
                for (i, J) in cone.J(0, r).iter_mut().enumerate() {
                    *J = (0.3 + c as f64 + 2.1 * r as f64 + 5.3 * i as f64).cos();
                }
            }
        }
        p
    }

    #[test]
    fn four_cones_are_as_each_of_them() {
        let p = program();
        let mut structure = Structure::default();
        structure.update(&p);
        let (s, z) = (points(&p, 0.9, true), points(&p, 2.3, true));
        let (gap, far) = (points(&p, 3.1, false), points(&p, 4.7, false));
        let dx = [0.3, -0.2, 0.5, 0.1, -0.7, 0.4, 0.0, 0.0];
        for isa in [Isa::PORTABLE, Isa::detect()] {
            let (mut w, mut D) = (vec![1.0; p.m_padded], vec![7.0; p.E.len()]);
            let cones = Groups { p: &p, groups: &structure.groups };
            let at = Iterate { compliance: 0.0, s: &s, z: &z, gap: &gap };
            weights(isa, cones, at, &mut w, &mut D);
            let scaled = Scaled { at, w: &w, D: &D };
            let first = points(&p, 5.9, false);
            let (mut ds, mut dz) = (vec![0.0; p.m_padded], vec![0.0; p.m_padded]);
            let blocked = directions(isa, cones, &dx, scaled, &first, &mut ds, &mut dz);
            let (mut t, live) = (vec![0.0; p.m_padded], vec![1.0; p.m_padded]);
            corrector(isa, cones, 0.3, &live, scaled, Step { ds: &far, dz: &gap }, &mut t);
            let mut most = -1.0_f64;
            for cone in &p.cones {
                let own = cone.at as usize..(cone.at + cone.m) as usize;
                let (stride, m) = (cone.stride_z as usize, cone.m as usize);
                let [s, z, gap, far] = [&s, &z, &gap, &far].map(|v| &v[own.clone()]);
                let scaling = second_order::Scaling::new(s, z);
                let mut expected = vec![0.0; m * stride];
                scaling.write_D(stride, &mut expected);
                let D = &D[cone.E_at as usize..][..m * stride];
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-11 * (1.0 + a.abs().max(b.abs()));
                assert!(D.iter().zip(&expected).all(|(a, b)| near(*a, *b)), "{D:?} {expected:?}");
                // dense products with the Jacobian, then the kernels' results
                let mut products = vec![0.0; m];
                scaling.corrector(far, gap, 0.3, &mut products);
                for i in 0..m {
                    let J = &p.J[cone.J_at as usize + 8 * i..][..8];
                    let row = J.iter().zip(&dx).map(|(J, x)| J * x).sum::<f64>();
                    let rate = p.E[cone.E_at as usize + i * stride + i] * row;
                    let at = cone.at as usize + i;
                    assert!(near(ds[at], rate + gap[i]));
                    let D_gap = (0..m).map(|j| expected[i * stride + j] * gap[j]).sum::<f64>();
                    assert!(near(t[at], products[i] + z[i] + D_gap));
                    let D_ds = (0..m)
                        .map(|j| expected[i * stride + j] * (ds[cone.at as usize + j] - gap[j]));
                    assert!(near(dz[at], -first[at] - D_ds.sum::<f64>()));
                }
                most = most.max(second_order::blocked(s, &ds[own.clone()]));
                most = most.max(second_order::blocked(z, &dz[own.clone()]));
            }
            assert!((blocked - most).abs() <= 1e-10 * most.abs(), "{blocked} and {most}");
        }
    }
}
