//! Families of hard numbers: units far apart, random numbers, empty problems.

use super::super::{Contact, HardProblem, Random};
use super::geometry::{Motion, UP};
use super::world::World;
use quasistep_cone::Saturation;

pub(super) fn cross_scales(p: &mut HardProblem, random: &mut Random) {
    let decades = random.pick(&[1.0, 3.0, 6.0]);
    let by_block = random.chance(0.5);
    let mut factor = vec![1.0; p.n()];
    for (block, first) in p.firsts().into_iter().enumerate() {
        let common = random.decade(-decades, decades);
        for i in first..first + p.dims[block] {
            factor[i] = if by_block { common } else { random.decade(-decades, decades) };
        }
    }
    let cost = random.decade(-decades, decades);
    // rescale variables: x = factor x'
    for (block, first) in p.firsts().into_iter().enumerate() {
        let dim = p.dims[block];
        for i in 0..dim {
            for j in 0..dim {
                p.P[block][i * dim + j] *= factor[first + i] * factor[first + j] * cost;
            }
        }
        // rounding of the product above may be unsymmetric
        for i in 0..dim {
            for j in 0..i {
                p.P[block][i * dim + j] = p.P[block][j * dim + i];
            }
        }
    }
    for i in 0..p.n() {
        p.c[i] *= factor[i] * cost;
        p.unit[i] /= factor[i];
    }
    for spring in &mut p.springs {
        let f = factor[spring.index as usize];
        spring.stiffness *= f * f * cost;
        spring.target /= f;
        spring.limit *= f * cost;
    }
    p.cost_unit *= cost;
    let firsts = p.firsts();
    for contact in &mut p.contacts {
        let k = contact.b.len();
        let row: Vec<f64> = (0..k).map(|_| random.decade(-decades, decades)).collect();
        let whole = random.decade(-decades, decades);
        for (side, block) in contact.blocks.iter().enumerate() {
            let (dim, first) = (p.dims[*block as usize], firsts[*block as usize]);
            for r in 0..k {
                for i in 0..dim {
                    contact.J[side][r * dim + i] *= factor[first + i] * row[r];
                }
            }
        }
        for r in 0..k {
            contact.b[r] *= row[r];
        }
        for (at, E) in contact.E.iter_mut().enumerate() {
            *E *= whole / row[at % k];
        }
        contact.unit *= whole;
    }
}

pub(super) fn mess(w: &mut World<'_>) {
    let blocks = w.random.count(1, 6);
    for _ in 0..blocks {
        let dim = w.random.pick(&[1, 1, 2, 3, 4, 6, 9]);
        let rank = w.random.count(0, dim + 2);
        let scale = w.random.decade(-2.0, 2.0);
        let G = w.random.vector(rank * dim);
        let mut P = vec![0.0; dim * dim];
        for i in 0..dim {
            for j in 0..=i {
                let sum: f64 = (0..rank).map(|k| G[k * dim + i] * G[k * dim + j]).sum();
                P[i * dim + j] = scale * sum;
                P[j * dim + i] = scale * sum;
            }
        }
        let c = if w.random.chance(0.5) {
            // a vector in the range of the cost
            let y = w.random.vector(rank);
            (0..dim)
                .map(|i| scale * (0..rank).map(|k| y[k] * G[k * dim + i]).sum::<f64>())
                .collect()
        } else {
            w.random.vector(dim)
        };
        w.push(Motion::Slider { axis: UP }, P, c, vec![1.0; dim]);
    }
    let feasible = w.random.chance(0.7);
    let n = w.p.n();
    let x0 = w.random.vector(n);
    let rounds = w.random.chance(0.4);
    for _ in 0..w.random.below(2 * n + 2) {
        let a = w.random.below(blocks);
        let b = w.random.below(blocks);
        let chosen = if a == b { vec![a as u32] } else { vec![a as u32, b as u32] };
        let k = w.random.count(1, 4);
        let whole = w.random.chance(0.5);
        let entry =
            |r: &mut Random| if whole { f64::from(r.below(3) as u32) - 1.0 } else { r.signed() };
        let J: Vec<Vec<f64>> = chosen
            .iter()
            .map(|b| (0..k * w.p.dims[*b as usize]).map(|_| entry(w.random)).collect())
            .collect();
        let round = rounds && k > 1 && w.random.chance(0.5);
        let E: Vec<f64> = if round {
            std::iter::once(1.0).chain((1..k).map(|_| w.random.between(0.0, 1.5))).collect()
        } else {
            let m = w.random.count(1, 6);
            (0..m * k).map(|_| entry(w.random)).collect()
        };
        let mut offset = w.random.vector(k);
        if feasible {
            // x0 satisfies the cone, strictly or with slack zero
            for r in 0..k {
                offset[r] = 0.0;
                for (side, b) in chosen.iter().enumerate() {
                    let (dim, first) = (w.p.dims[*b as usize], w.first(*b as usize));
                    for i in 0..dim {
                        offset[r] += J[side][r * dim + i] * x0[first + i];
                    }
                }
            }
            if w.random.chance(0.5) && (round || k == 1) {
                let room = w.random.uniform();
                offset[0] -= room * E[0].signum();
            }
        }
        w.p.contacts.push(Contact { round, blocks: chosen, J, b: offset, E, unit: 1.0 });
    }
}

pub(super) fn corners(w: &mut World<'_>) {
    let kind = w.random.below(12);
    if kind == 0 {
        // a problem without variables
        return;
    }
    let blocks = w.random.count(1, 3);
    for _ in 0..blocks {
        let dim = w.random.pick(&[1, 1, 2, 3]);
        let mut P = vec![0.0; dim * dim];
        for i in 0..dim {
            P[i * dim + i] = f64::from(w.random.below(3) as u32);
        }
        let c = (0..dim).map(|_| f64::from(w.random.below(3) as u32) - 1.0).collect();
        w.push(Motion::Slider { axis: UP }, P, c, vec![1.0; dim]);
    }
    let n = w.p.n();
    for i in 0..n {
        if w.random.chance(0.2) {
            let [stiffness, limit] = [0, 0].map(|_: u32| f64::from(w.random.below(3) as u32));
            let target = w.random.signed();
            w.p.springs.push(Saturation { index: i as u32, stiffness, target, limit });
        }
    }
    for _ in 0..w.random.below(5) {
        let block = w.random.below(blocks);
        let dim = w.p.dims[block];
        let k = w.random.count(1, 3);
        let round = w.random.chance(0.3);
        let small = |r: &mut Random| f64::from(r.below(3) as u32) - 1.0;
        let (blocks, J) = if w.random.chance(0.1) {
            // a cone without blocks: constant slacks
            (Vec::new(), Vec::new())
        } else {
            (vec![block as u32], vec![(0..k * dim).map(|_| small(w.random)).collect()])
        };
        let b = (0..k).map(|_| small(w.random)).collect();
        let E = if round {
            (0..k).map(|_| 0.5 * f64::from(w.random.below(3) as u32)).collect()
        } else {
            (0..k * w.random.count(1, 3)).map(|_| small(w.random)).collect()
        };
        w.p.contacts.push(Contact { round, blocks, J, b, E, unit: 1.0 });
    }
}
