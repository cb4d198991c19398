//! Batched kernels agree with the kernels for single cones.

use super::step::*;
use super::*;
use crate::batches::{Batches, spread};
use crate::kernels::{self, Groups, Isa, Iterate, Scaled, Step};
use crate::program::Cone;
use crate::second_order;
use crate::structure::Structure;

fn wave(seed: f64, i: usize) -> f64 {
    (seed + 1.7 * i as f64).sin()
}

/// Cones of all shapes over blocks of 6, 6, 9, 2 and 13 variables. Some shapes occur once, some six
/// times.
fn program() -> ConeProgram {
    let mut p = ConeProgram::new();
    p.reset([6, 6, 9, 2, 13]);
    let sides: [&[u32]; 9] =
        [&[0, 1], &[0], &[1, 2], &[2, 0], &[0, 3], &[3, 1], &[4, 1], &[0, 1, 2], &[4]];
    let mut seed = 0.3;
    for copy in 0..6 {
        for (n, sides) in sides.iter().enumerate() {
            for (round, k, m) in [
                (false, 3, 4),
                (false, 4, 6),
                (false, 1, 1),
                (true, 3, 3),
                (true, 4, 4),
                (true, 6, 6),
            ] {
                if (n + k + m) % 3 == copy % 3 {
                    continue;
                }
                seed += 0.61;
                let E: Vec<f64> = (0..if round { m } else { k * m })
                    .map(|i| if i % k == 0 { 1.0 } else { wave(seed, i) })
                    .collect();
                let cone = if round { Cone::Round(&E) } else { Cone::Edges(&E) };
                let mut cone = p.push_cone(cone, k, sides);
                for side in 0..sides.len() {
                    for r in 0..k {
                        for (i, J) in cone.J(side, r).iter_mut().enumerate() {
                            *J = wave(seed + 3.1 * side as f64, 17 * r + i);
                        }
                    }
                }
                for (i, b) in cone.b().iter_mut().enumerate() {
                    *b = wave(seed, 5 + i);
                }
            }
        }
    }
    p
}

/// A pseudorandom number for every entry of `z`, in both layouts; inside the cones if `inside`.
fn point(p: &ConeProgram, batches: &[Batch], seed: f64, inside: bool) -> (Vec<f64>, Vec<Lane>) {
    // positive slack in the padding
    let mut flat = vec![if inside { 1.0 } else { 0.0 }; p.m_padded];
    for (c, cone) in p.cones.iter().enumerate() {
        let own = &mut flat[cone.at as usize..][..cone.m as usize];
        own.iter_mut().enumerate().for_each(|(i, v)| *v = wave(seed + c as f64, i));
        if inside && cone.round {
            own[0] = 0.1 + second_order::norm(&own[1..]);
        } else if inside {
            for v in own.iter_mut() {
                *v = 0.1 + v.abs();
            }
        }
    }
    let end = batches.last().map_or(0, |b| b.at + b.shape.m) as usize;
    let mut lanes = vec![[if inside { 1.0 } else { 0.0 }; LANES]; end];
    for batch in batches {
        for j in 0..batch.shape.m as usize {
            for l in 0..batch.count as usize {
                let cone = &p.cones[batch.cones[l] as usize];
                lanes[batch.at as usize + j][l] = flat[cone.at as usize + j];
            }
            for l in batch.count as usize..LANES {
                lanes[batch.at as usize + j][l] = f64::from(u8::from(inside && j == 0));
            }
        }
    }
    (flat, lanes)
}

/// Sets the multipliers of padding to zero.
fn without_force(batches: &[Batch], v: &mut [Lane]) {
    for batch in batches {
        for entry in &mut v[batch.at as usize..][..batch.shape.m as usize] {
            entry[batch.count as usize..].fill(0.0);
        }
    }
}

#[track_caller]
fn assert_near(p: &ConeProgram, batches: &[Batch], got: &[Lane], expected: &[f64]) {
    let mut flat = vec![0.0; p.m_padded];
    spread(p, batches, got, &mut flat);
    for cone in &p.cones {
        for i in cone.at as usize..(cone.at + cone.m) as usize {
            let (a, b) = (flat[i], expected[i]);
            assert!((a - b).abs() <= 1e-11 * (1.0 + b.abs()), "{cone:?} {i}: {a} {b}");
        }
    }
}

/// Right-hand side of the predictor, cone by cone.
fn towards_answer(p: &ConeProgram, w: &[f64], D: &[f64], [s, z, gap]: [&[f64]; 3]) -> Vec<f64> {
    let mut t = vec![0.0; p.m_padded];
    for cone in &p.cones {
        let (at, m, stride) = (cone.at as usize, cone.m as usize, cone.stride_z as usize);
        for i in 0..m {
            t[at + i] = if cone.round {
                let D = &D[cone.E_at as usize + i * stride..][..m];
                z[at + i] + D.iter().zip(&gap[at..]).map(|(d, g)| d * g).sum::<f64>()
            } else {
                w[at + i] * (s[at + i] + gap[at + i])
            };
        }
    }
    t
}

/// A point inside the cones in both layouts: cone by cone, and in batches.
struct Both {
    p: ConeProgram,
    structure: Structure,
    all: Batches,
    x: Vec<f64>,
    flat: [Vec<f64>; 3],
    lanes: [Vec<Lane>; 3],
}

const COMPLIANCE: f64 = 0.03;

impl Both {
    fn new() -> Self {
        let (p, mut structure, mut all) = (program(), Structure::default(), Batches::default());
        structure.update(&p);
        assert_eq!(structure.islands.len(), 1);
        all.fill(&p, &structure);
        let batches = all.of(&structure.islands[0]);
        assert_eq!(batches.iter().map(|b| b.count as usize).sum::<usize>(), p.cones.len());
        let (s, s_in) = point(&p, batches, 0.9, true);
        let (mut z, mut z_in) = point(&p, batches, 2.3, true);
        without_force(batches, &mut z_in);
        for cone in &p.cones {
            z[(cone.at + cone.m) as usize..(cone.at + cone.stride_z) as usize].fill(0.0);
        }
        let (gap, gap_in) = point(&p, batches, 3.1, false);
        let mut x = vec![0.0; p.n_padded];
        for block in &p.blocks {
            for i in block.at as usize..(block.at + block.dim) as usize {
                x[i] = wave(0.4, i);
            }
        }
        Self { p, structure, all, x, flat: [s, z, gap], lanes: [s_in, z_in, gap_in] }
    }

    fn rows(&self) -> Rows<'_> {
        let Self { p, all, .. } = self;
        Rows { p, batches: all.of(&self.structure.islands[0]), E: &all.E, b: &all.b }
    }

    fn cones(&self) -> Groups<'_> {
        Groups { p: &self.p, groups: &self.structure.groups }
    }

    /// The iterate cone by cone, and in batches.
    fn iterates(&self) -> (Iterate<'_, f64>, Iterate<'_, Lane>) {
        let ([s, z, gap], [s_in, z_in, gap_in]) = (&self.flat, &self.lanes);
        let flat = Iterate { compliance: COMPLIANCE, s, z, gap };
        (flat, Iterate { compliance: COMPLIANCE, s: s_in, z: z_in, gap: gap_in })
    }

    #[track_caller]
    fn assert_near(&self, got: &[Lane], expected: &[f64]) {
        assert_near(&self.p, self.rows().batches, got, expected);
    }

    fn zeros(&self) -> (Vec<f64>, Vec<Lane>) {
        (vec![0.0; self.p.m_padded], vec![[0.0; LANES]; self.all.rows])
    }

    /// Compares the matrix that the batches' `G` give in the blocks of the factor.
    fn assert_matrices(&self, isa: Isa, G: Vec<f64>, w: &[f64], D: &[f64]) {
        let Self { p, structure: Structure { groups, targets, H_len, .. }, .. } = self;
        let mut H = [vec![0.0; *H_len], vec![0.0; *H_len]];
        let mut products = kernels::Products { G, ..kernels::Products::default() };
        kernels::add_products(isa, p, groups, targets, &mut products, &mut H[0]);
        let mut products = kernels::Products::default();
        let weights = kernels::Weights { rho: 1.0, w, D };
        kernels::add_cones(isa, p, groups, targets, weights, &mut products, &mut H[1]);
        let largest = H[1].iter().fold(0.0_f64, |m, h| m.max(h.abs()));
        assert!(H[0].iter().zip(&H[1]).all(|(a, b)| (a - b).abs() <= 1e-12 * largest));
    }

    /// Compares directions and correctors from a scaled iterate and its right-hand side.
    fn assert_steps(
        &self,
        isa: Isa,
        scaled: Scaled<'_, f64>,
        scaled_in: Scaled<'_, Lane>,
        t: &mut [f64],
        t_in: &mut [Lane],
    ) {
        let Self { p, x, .. } = self;
        let (cones, rows) = (self.cones(), self.rows());
        let ((mut ds, mut ds_in), (mut dz, mut dz_in)) = (self.zeros(), self.zeros());
        let blocked = kernels::directions(isa, cones, x, scaled, t, &mut ds, &mut dz);
        let reach = batch_directions(isa, rows, x, scaled_in, t_in, &mut ds_in, &mut dz_in);
        self.assert_near(&ds_in, &ds);
        self.assert_near(&dz_in, &dz);
        assert!((reach.blocked - blocked).abs() <= 1e-9 * blocked.abs());
        let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let Iterate { s, z, .. } = scaled.at;
        let (cross, square) = (sum(s, &dz) + sum(z, &ds), sum(&ds, &dz));
        assert!((reach.cross - cross).abs() <= 1e-9 * cross.abs());
        assert!((reach.square - square).abs() <= 1e-9 * square.abs());

        let mut live = vec![0.0; p.m_padded];
        for cone in &p.cones {
            live[cone.at as usize..][..cone.m as usize].fill(1.0);
        }
        let (step, step_in) = (Step { ds: &ds, dz: &dz }, Step { ds: &ds_in, dz: &dz_in });
        kernels::corrector(isa, cones, 0.2, &live, scaled, step, t);
        batch_corrector(isa, rows, 0.2, scaled_in, step_in, t_in, &mut x.clone());
        self.assert_near(t_in, t);
        let [mut s_in, mut z_in, mut gap_in] = self.lanes.clone();
        let left = batch_advance(isa, 0.1, &ds_in, &dz_in, &mut s_in, &mut z_in, &mut gap_in);
        let next =
            |v: &[f64], d: &[f64]| v.iter().zip(d).map(|(v, d)| v + 0.1 * d).collect::<Vec<_>>();
        let expected = sum(&next(s, &ds), &next(z, &dz));
        assert!((left - expected).abs() <= 1e-9 * expected.abs());
    }
}

#[test]
fn batches_are_as_cone_by_cone() {
    let both = Both::new();
    let Both { p, structure, all, x, .. } = &both;
    let (cones, rows, (at, at_in)) = (both.cones(), both.rows(), both.iterates());
    for isa in [Isa::PORTABLE, Isa::detect()] {
        let (mut u, mut u_in) = both.zeros();
        kernels::slacks(isa, p, &structure.groups, x, &mut u);
        batch_rows(isa, rows, x, &mut u_in);
        both.assert_near(&u_in, &u);

        let (mut w, mut D) = (vec![1.0; p.m_padded], vec![0.0; p.E.len()]);
        kernels::weights(isa, cones, at, &mut w, &mut D);
        let mut t = towards_answer(p, &w, &D, [at.s, at.z, at.gap]);
        let mut g = x.clone();
        kernels::subtract_forces(isa, p, &structure.groups, &t, &mut g);
        let (mut w_in, mut t_in) = (both.zeros().1, both.zeros().1);
        let mut D_in = vec![[0.0; LANES]; all.D_len];
        let (mut G, mut g_in) = (vec![0.0; G_at(p.b.len() as u32)], x.clone());
        let out = Predicted { w: &mut w_in, D: &mut D_in, t: &mut t_in, G: &mut G };
        batch_predictor(isa, rows, at_in, out, &mut g_in);
        both.assert_near(&t_in, &t);
        assert!(g.iter().zip(&g_in).all(|(a, b)| (a - b).abs() <= 1e-10 * (1.0 + a.abs())));
        let mut again = vec![0.0; G.len()];
        batch_matrices(isa, rows, &w_in, &D_in, &mut again);
        assert!(G.iter().zip(&again).all(|(a, b)| (a - b).abs() <= 1e-12 * (1.0 + a.abs())));

        both.assert_matrices(isa, G, &w, &D);
        let scaled_in = Scaled { at: at_in, w: &w_in, D: &D_in };
        both.assert_steps(isa, Scaled { at, w: &w, D: &D }, scaled_in, &mut t, &mut t_in);
    }
}
