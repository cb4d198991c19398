//! Batched kernels agree with the kernels for single cones.

use super::step::*;
use super::*;
use crate::cone::batches::{Batches, spread};
use crate::cone::kernels::{self, Isa};
use crate::cone::program::Cone;
use crate::cone::second_order;
use crate::cone::structure::Structure;

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

#[test]
fn batches_are_as_cone_by_cone() {
    let p = program();
    let mut structure = Structure::default();
    structure.update(&p);
    assert_eq!(structure.islands.len(), 1);
    let mut all = Batches::default();
    all.fill(&p, &structure);
    let batches = all.of(&structure.islands[0]);
    assert_eq!(batches.iter().map(|b| b.count as usize).sum::<usize>(), p.cones.len());
    let groups = &structure.groups;
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
    let compliance = 0.03;
    for isa in [Isa::Portable, Isa::detect()] {
        let (mut u, mut w, mut D) =
            (vec![0.0; p.m_padded], vec![1.0; p.m_padded], vec![0.0; p.E.len()]);
        kernels::slacks(isa, &p, groups, &x, &mut u);
        let mut u_in = vec![[0.0; LANES]; all.rows];
        batch_rows(isa, &p, batches, &all.E, &all.b, &x, &mut u_in);
        assert_near(&p, batches, &u_in, &u);

        // predictor
        kernels::weights(isa, &p, groups, compliance, &s, &z, &mut w, &mut D);
        let mut t = towards_answer(&p, &w, &D, [&s, &z, &gap]);
        let mut g = x.clone();
        kernels::subtract_forces(isa, &p, groups, &t, &mut g);
        let mut w_in = vec![[0.0; LANES]; all.rows];
        let mut D_in = vec![[0.0; LANES]; all.D_len];
        let mut t_in = vec![[0.0; LANES]; all.rows];
        let mut G = vec![0.0; G_at(p.b.len() as u32)];
        let mut g_in = x.clone();
        batch_predictor(
            isa, &p, batches, &all.E, compliance, &s_in, &z_in, &gap_in, &mut w_in, &mut D_in,
            &mut t_in, &mut G, &mut g_in,
        );
        assert_near(&p, batches, &t_in, &t);
        assert!(g.iter().zip(&g_in).all(|(a, b)| (a - b).abs() <= 1e-10 * (1.0 + a.abs())));
        let mut again = vec![0.0; G.len()];
        batch_matrices(isa, &p, batches, &all.E, &w_in, &D_in, &mut again);
        assert!(G.iter().zip(&again).all(|(a, b)| (a - b).abs() <= 1e-12 * (1.0 + a.abs())));

        // the matrix, in the blocks of the factor
        let mut H = [vec![0.0; structure.H_len], vec![0.0; structure.H_len]];
        let (mut JS, mut GJ) = (Vec::new(), Vec::new());
        let targets = &structure.targets;
        kernels::add_products(isa, &p, groups, targets, &G, &mut JS, &mut GJ, &mut H[0]);
        let mut products = kernels::Products::default();
        kernels::add_cones(isa, &p, groups, targets, 1.0, &w, &D, &mut products, &mut H[1]);
        let largest = H[1].iter().fold(0.0_f64, |m, h| m.max(h.abs()));
        assert!(H[0].iter().zip(&H[1]).all(|(a, b)| (a - b).abs() <= 1e-12 * largest));

        // direction
        let (mut ds, mut dz) = (vec![0.0; p.m_padded], vec![0.0; p.m_padded]);
        let blocked = kernels::directions(
            isa, &p, groups, compliance, &x, &s, &z, &gap, &t, &w, &D, &mut ds, &mut dz,
        );
        let (mut ds_in, mut dz_in) = (vec![[0.0; LANES]; all.rows], vec![[0.0; LANES]; all.rows]);
        let reach = batch_directions(
            isa, &p, batches, &all.E, compliance, &x, &s_in, &z_in, &gap_in, &t_in, &w_in, &D_in,
            &mut ds_in, &mut dz_in,
        );
        assert_near(&p, batches, &ds_in, &ds);
        assert_near(&p, batches, &dz_in, &dz);
        assert!((reach.blocked - blocked).abs() <= 1e-9 * blocked.abs());
        let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (cross, square) = (sum(&s, &dz) + sum(&z, &ds), sum(&ds, &dz));
        assert!((reach.cross - cross).abs() <= 1e-9 * cross.abs());
        assert!((reach.square - square).abs() <= 1e-9 * square.abs());

        // corrector
        let mut live = vec![0.0; p.m_padded];
        for cone in &p.cones {
            live[cone.at as usize..][..cone.m as usize].fill(1.0);
        }
        kernels::corrector(
            isa, &p, groups, compliance, 0.2, &s, &z, &gap, &w, &D, &live, &ds, &dz, &mut t,
        );
        batch_corrector(
            isa, &p, batches, &all.E, compliance, 0.2, &s_in, &z_in, &gap_in, &w_in, &D_in, &ds_in,
            &dz_in, &mut t_in, &mut g_in,
        );
        assert_near(&p, batches, &t_in, &t);
        let left = batch_advance(
            isa,
            0.1,
            &ds_in,
            &dz_in,
            &mut s_in.clone(),
            &mut z_in.clone(),
            &mut gap_in.clone(),
        );
        let next =
            |v: &[f64], d: &[f64]| v.iter().zip(d).map(|(v, d)| v + 0.1 * d).collect::<Vec<_>>();
        let expected = sum(&next(&s, &ds), &next(&z, &dz));
        assert!((left - expected).abs() <= 1e-9 * expected.abs());
    }
}
