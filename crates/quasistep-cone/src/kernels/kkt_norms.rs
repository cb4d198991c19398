//! KKT residual norms of an island in one sweep, and the reference sizes that they are compared
//! with.

use super::cones::{sides_of, split};
use super::hessian::cost_of_panel;
use crate::program::{ConeData, ConeProgram};
use crate::structure::{Group, Panel};
use quasistep_linalg::simd::LANES;
use quasistep_linalg::simd::{Simd, axpy, kernel, lanes, lanes_mut};

/// KKT residual norms of an island of pyramids: largest magnitudes over its rows and variables, in the caller's units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KktNorms {
    /// Largest slack, `max |u|`.
    pub speed: f64,
    /// Primal residual, `max −u`.
    pub primal: f64,
    /// Largest slack of a row with a multiplier, `max |u|` where `z > 0`.
    pub held: f64,
    /// Largest multiplier, `max z`.
    pub push: f64,
    /// Dual residual, `max −z`.
    pub dual: f64,
    /// Complementarity residual, `max |z u|`.
    pub complementarity: f64,
    /// Largest offset, `max |b|`.
    pub offset: f64,
    /// Largest over all cones of the largest entry in the first row of `J`.
    pub longest: f64,
    /// Least over all cones of the largest entry in the first row of `J`, rows of zeros left out.
    pub shortest: f64,
    /// Residual of stationarity, `max |g|`.
    pub stationarity: f64,
    /// Largest linear cost, `max |c|`.
    pub force: f64,
    /// Whether all of `u`, `z` and `g` are finite.
    pub finite: bool,
}

/// Maxima of [`KktNorms`] in each lane.
struct Tally<S: Simd> {
    speed: S::V,
    primal: S::V,
    held: S::V,
    push: S::V,
    dual: S::V,
    complementarity: S::V,
    offset: S::V,
    /// Zero while all numbers are finite, then NaN.
    nothing: S::V,
    longest: S::V,
    /// Largest over the cones of the negated largest entry in the first row of `J`.
    shortest: S::V,
}

kernel! {
    /// `u = E (J x − b)` and `g = P x + c + springs − Jᵀ Eᵀ z` of an island without round cones, and their
    /// KKT norms. `springs` may be empty.
    #[allow(clippy::too_many_arguments)] // called once, after every solve, with vectors of several owners
    kkt_norms(
        p: &ConeProgram,
        groups: &[Group],
        panels: &[Panel],
        springs: &[f64],
        x: &[f64],
        z: &[f64],
        u: &mut [f64],
        g: &mut [f64],
    ) -> KktNorms {
        let none = S::zero();
        let mut t = Tally::<S> {
            speed: none,
            primal: none,
            held: none,
            push: none,
            dual: none,
            complementarity: none,
            offset: none,
            nothing: none,
            longest: none,
            shortest: S::splat(f64::NEG_INFINITY),
        };
        let mut force = none;
        for panel in panels {
            cost_of_panel::<S>(p, panel, x, g);
            let at = panel.x_at as usize;
            let stride = p.blocks[panel.block as usize].stride as usize;
            for (g, c) in lanes_mut(&mut g[at..at + stride]).iter_mut().zip(lanes(&p.c[at..at + stride])) {
                let c = S::load(c);
                force = S::max(force, S::abs(c));
                S::store(S::add(S::load(g), c), g);
            }
            if !springs.is_empty() {
                axpy::<S>(1.0, &springs[at..at + stride], &mut g[at..at + stride]);
            }
        }
        for group in groups {
            let cones = &p.cones[group.first_cone as usize..group.last_cone as usize];
            let per = cones[0].stride_z as usize / LANES;
            if !S::FAST {
                any::<S>(p, cones, x, z, u, g, &mut t);
                continue;
            }
            match (cones[0].k, cones[0].width as usize / LANES, per) {
                (1, 2, 1) => fixed::<S, 1, 2, 1>(p, cones, x, z, u, g, &mut t),
                (3, 1, 1) => fixed::<S, 3, 1, 1>(p, cones, x, z, u, g, &mut t),
                (3, 2, 1) => fixed::<S, 3, 2, 1>(p, cones, x, z, u, g, &mut t),
                (3, 2, 2) => fixed::<S, 3, 2, 2>(p, cones, x, z, u, g, &mut t),
                (3, 3, 1) => fixed::<S, 3, 3, 1>(p, cones, x, z, u, g, &mut t),
                (3, 4, 1) => fixed::<S, 3, 4, 1>(p, cones, x, z, u, g, &mut t),
                (3, 4, 2) => fixed::<S, 3, 4, 2>(p, cones, x, z, u, g, &mut t),
                (3, 5, 1) => fixed::<S, 3, 5, 1>(p, cones, x, z, u, g, &mut t),
                (4, 2, 2) => fixed::<S, 4, 2, 2>(p, cones, x, z, u, g, &mut t),
                (4, 4, 2) => fixed::<S, 4, 4, 2>(p, cones, x, z, u, g, &mut t),
                (4, 5, 2) => fixed::<S, 4, 5, 2>(p, cones, x, z, u, g, &mut t),
                _ => any::<S>(p, cones, x, z, u, g, &mut t),
            }
        }
        let mut stationarity = none;
        for panel in panels {
            let at = panel.x_at as usize;
            let stride = p.blocks[panel.block as usize].stride as usize;
            for g in lanes(&g[at..at + stride]) {
                let g = S::load(g);
                stationarity = S::max(stationarity, S::abs(g));
                t.nothing = S::fma(g, none, t.nothing);
            }
        }
        KktNorms {
            speed: largest::<S>(t.speed),
            primal: largest::<S>(t.primal),
            held: largest::<S>(t.held),
            push: largest::<S>(t.push),
            dual: largest::<S>(t.dual),
            complementarity: largest::<S>(t.complementarity),
            offset: largest::<S>(t.offset),
            longest: largest::<S>(t.longest),
            shortest: -largest::<S>(t.shortest),
            stationarity: largest::<S>(stationarity),
            force: largest::<S>(force),
            finite: S::sum(t.nothing) == 0.0,
        }
    }
}

#[inline(always)]
pub(super) fn largest<S: Simd>(v: S::V) -> f64 {
    let a = S::to_array(v);
    a[0].max(a[1]).max(a[2].max(a[3]))
}

/// Updates the maxima with the slacks of a lane of rows.
#[inline(always)]
fn take_slacks<S: Simd>(t: &mut Tally<S>, u: S::V, z: S::V) {
    t.speed = S::max(t.speed, S::abs(u));
    t.primal = S::max(t.primal, S::mul(S::splat(-1.0), u));
    t.nothing = S::fma(S::add(u, z), S::zero(), t.nothing);
}

/// Updates the maxima with the multipliers of a lane of rows. Lanes of zero multipliers may be
/// skipped.
#[inline(always)]
fn take_multipliers<S: Simd>(t: &mut Tally<S>, u: S::V, z: S::V) {
    t.held = S::max(t.held, S::where_positive(z, S::abs(u)));
    t.push = S::max(t.push, z);
    t.dual = S::max(t.dual, S::mul(S::splat(-1.0), z));
    t.complementarity = S::max(t.complementarity, S::abs(S::mul(z, u)));
}

/// Updates the maxima with the first row of a cone's Jacobian, whose largest entries in each lane
/// are `most`.
#[inline(always)]
fn take_length<S: Simd>(t: &mut Tally<S>, most: S::V) {
    let most = S::largest(most);
    t.longest = S::max(t.longest, most);
    let minus = S::mul(S::splat(-1.0), most);
    t.shortest = S::max(t.shortest, S::select(most, minus, S::splat(f64::NEG_INFINITY)));
}

/// Sweep over cones with `K` rows of `C` lanes, and `PER` lanes of edges.
#[inline(always)]
fn fixed<S: Simd, const K: usize, const C: usize, const PER: usize>(
    p: &ConeProgram,
    cones: &[ConeData],
    x: &[f64],
    z: &[f64],
    u: &mut [f64],
    g: &mut [f64],
    t: &mut Tally<S>,
) {
    let mut xs = [S::zero(); C];
    let mut c = 0;
    for side in sides_of(p, cones) {
        let block = &p.blocks[side.block as usize];
        for lane in lanes(&x[block.at as usize..][..block.stride as usize]) {
            xs[c] = S::load(lane);
            c += 1;
        }
    }
    let minus = S::splat(-1.0);
    // cones are contiguous in memory
    let first = &cones[0];
    let J = lanes(&p.J[first.J_at as usize..]).chunks_exact(K * C);
    let E = lanes(&p.E[first.E_at as usize..]).chunks_exact(K * PER);
    let b = lanes(&p.b[first.b_at as usize..]);
    let u = &mut lanes_mut(&mut u[first.at as usize..])[..cones.len() * PER];
    let z = lanes(&z[first.at as usize..]).chunks_exact(PER);
    let each = J.clone().zip(E.clone()).zip(b).zip(u.chunks_exact_mut(PER)).zip(z.clone());
    for ((((J, E), b), u), z) in each {
        let mut dots = [S::zero(); LANES];
        let mut most = S::zero();
        for c in 0..C {
            most = S::max(S::abs(S::load(&J[c])), most);
            for r in 0..K {
                dots[r] = S::fma(S::load(&J[r * C + c]), xs[c], dots[r]);
            }
        }
        take_length(t, most);
        let b = S::load(b);
        t.offset = S::max(t.offset, S::abs(b));
        let s = split::<S, K>(S::fma(minus, b, S::sums(dots)));
        for j in 0..PER {
            let mut own = S::zero();
            for r in 0..K {
                own = S::fma(s[r], S::load(&E[r * PER + j]), own);
            }
            S::store(own, &mut u[j]);
            take_slacks(t, own, S::load(&z[j]));
        }
    }
    // a separate loop, because few cones have nonzero multipliers and registers are scarce
    let mut out = [S::zero(); C];
    for (((J, E), u), z) in J.zip(E).zip(u.chunks_exact(PER)).zip(z) {
        let mut pushing = 0;
        for j in 0..PER {
            pushing |= S::positive_bits(S::abs(S::load(&z[j])));
        }
        if pushing == 0 {
            continue;
        }
        let mut forces = [S::zero(); LANES];
        for j in 0..PER {
            let push = S::load(&z[j]);
            take_multipliers(t, S::load(&u[j]), push);
            for r in 0..K {
                forces[r] = S::fma(S::load(&E[r * PER + j]), push, forces[r]);
            }
        }
        let f = split::<S, K>(S::mul(minus, S::sums(forces)));
        for r in 0..K {
            for c in 0..C {
                out[c] = S::fma(f[r], S::load(&J[r * C + c]), out[c]);
            }
        }
    }
    let mut c = 0;
    for side in sides_of(p, cones) {
        let block = &p.blocks[side.block as usize];
        for g in lanes_mut(&mut g[block.at as usize..][..block.stride as usize]) {
            S::store(S::add(S::load(g), out[c]), g);
            c += 1;
        }
    }
}

#[inline(always)]
fn any<S: Simd>(
    p: &ConeProgram,
    cones: &[ConeData],
    x: &[f64],
    z: &[f64],
    u: &mut [f64],
    g: &mut [f64],
    t: &mut Tally<S>,
) {
    super::cones::rows_any::<S>(p, cones, x, true, u);
    super::cones::forces_any::<S>(p, cones, -1.0, z, g);
    for cone in cones {
        let mut most = S::zero();
        for J in lanes(&p.J[cone.J_at as usize..][..cone.width as usize]) {
            most = S::max(S::abs(S::load(J)), most);
        }
        take_length(t, most);
        for b in lanes(&p.b[cone.b_at as usize..][..(cone.k as usize).next_multiple_of(LANES)]) {
            t.offset = S::max(t.offset, S::abs(S::load(b)));
        }
        let at = cone.at as usize..(cone.at + cone.stride_z) as usize;
        for (u, z) in lanes(&u[at.clone()]).iter().zip(lanes(&z[at])) {
            let (u, z) = (S::load(u), S::load(z));
            take_slacks(t, u, z);
            take_multipliers(t, u, z);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Isa, slacks, unpad};
    use crate::program::Cone;
    use crate::structure::Structure;

    /// Reproducible pseudorandom numbers in −1..1.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        }
    }

    /// Two blocks of 6 variables and one of 7, and cones of many shapes: rows, edges, numbers of
    /// blocks.
    fn program(numbers: &mut Numbers) -> ConeProgram {
        let mut p = ConeProgram::new();
        p.reset([6, 7, 6]);
        for (b, dim) in [6, 7, 6].into_iter().enumerate() {
            for i in 0..dim {
                p.P(b, i)[i] = 1.0 + 0.5 * numbers.next();
            }
            p.c(b).fill_with(|| numbers.next());
        }
        let shapes: [(usize, usize, &[u32]); 10] = [
            (3, 4, &[0]),
            (3, 4, &[0]),
            (3, 6, &[0]),
            (4, 6, &[0, 1]),
            (4, 6, &[0, 1]),
            (4, 8, &[1]),
            (3, 4, &[0, 2]),
            (3, 8, &[2, 1]),
            (5, 9, &[0, 1]),
            (1, 1, &[1]),
        ];
        for (k, edges, blocks) in shapes {
            let E: Vec<f64> = (0..k * edges).map(|_| numbers.next()).collect();
            let mut cone = p.push_cone(Cone::Edges(&E), k, blocks);
            cone.b().fill_with(|| numbers.next());
            for side in 0..blocks.len() {
                for r in 0..k {
                    cone.J(side, r).fill_with(|| numbers.next());
                }
            }
        }
        p
    }

    /// Specialised code agrees with the general code, and slacks agree with their definition.
    #[test]
    fn shapes_make_no_difference() {
        let mut numbers = Numbers(7);
        let p = program(&mut numbers);
        let mut s = Structure::default();
        s.update(&p);
        assert!(s.groups.len() >= 8, "cones of other edges are other groups");
        let island = s.islands[0];
        let groups = &s.groups[..island.last_group as usize];
        let panels = &s.panels[..island.last_panel as usize];
        let mut x = vec![0.0; p.n_padded];
        let mut z = vec![0.0; p.m_padded];
        for b in &p.blocks {
            x[b.at as usize..][..b.dim as usize].fill_with(|| numbers.next());
        }
        for cone in p.cones.iter().step_by(2) {
            z[cone.at as usize] = 1.0 + numbers.next();
        }
        let mut seen = Vec::new();
        for isa in [Isa::PORTABLE, Isa::detect()] {
            let (mut u, mut g) = (vec![0.0; p.m_padded], vec![0.0; p.n_padded]);
            let e = kkt_norms(isa, &p, groups, panels, &[], &x, &z, &mut u, &mut g);
            let mut flat = vec![0.0; p.m];
            unpad(isa, &p, &u, &mut flat);
            let rows = p.cones.iter().flat_map(|c| &u[c.at as usize..(c.at + c.m) as usize]);
            assert!(flat.iter().eq(rows));
            let mut again = vec![0.0; p.m_padded];
            slacks(isa, &p, groups, &x, &mut again);
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-14;
            assert!(u.iter().zip(&again).all(near), "ten products of numbers below one");
            let most = |v: &[f64]| v.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            assert_eq!(e.speed, most(&flat));
            assert_eq!(e.primal, most(&flat.iter().map(|u| u.min(0.0)).collect::<Vec<_>>()));
            assert_eq!((e.push, e.dual), (most(&z), 0.0));
            assert_eq!((e.stationarity, e.force), (most(&g), most(&p.c)));
            assert!(e.finite && e.held > 0.0 && e.complementarity > 0.0);
            let first_rows =
                p.cones.iter().map(|c| most(&p.J[c.J_at as usize..][..c.width as usize]));
            assert_eq!(e.longest, first_rows.clone().fold(0.0, f64::max));
            assert_eq!(e.shortest, first_rows.fold(f64::INFINITY, f64::min));
            seen.push((u, g));
        }
        for (one, other) in [(&seen[0].0, &seen[1].0), (&seen[0].1, &seen[1].1)] {
            for (a, b) in one.iter().zip(other) {
                assert!(
                    (a - b).abs() < 1e-14,
                    "{a} against {b}: ten products of numbers below one"
                );
            }
        }
    }

    /// A NaN is detected in every place, also among multipliers of inactive cones.
    #[test]
    fn what_is_no_number_is_seen() {
        let mut numbers = Numbers(8);
        let p = program(&mut numbers);
        let mut s = Structure::default();
        s.update(&p);
        let panels = &s.panels[..s.islands[0].last_panel as usize];
        for isa in [Isa::PORTABLE, Isa::detect()] {
            for cone in &p.cones {
                let (mut u, mut g) = (vec![0.0; p.m_padded], vec![0.0; p.n_padded]);
                let (x, mut z) = (vec![0.0; p.n_padded], vec![0.0; p.m_padded]);
                z[cone.at as usize] = f64::NAN;
                let e = kkt_norms(isa, &p, &s.groups, panels, &[], &x, &z, &mut u, &mut g);
                assert!(!e.finite);
            }
        }
    }
}
