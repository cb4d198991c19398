//! Batches of four cones of equal shape. Corresponding numbers of four cones are interleaved, so
//! that a sweep over cones sums across SIMD lanes only in products with `J`.

use crate::program::{ConeData, ConeProgram};
use crate::structure::{Island, Structure};
use quasistep_linalg::simd::LANES;
use quasistep_linalg::simd::Lane;
use std::ops::Range;

/// Four cones with equal numbers of rows over blocks of equal sizes. If there are fewer than four,
/// the last lanes are padding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    pub shape: Shape,
    /// Indices of the cones; padding repeats the first.
    pub cones: [u32; LANES],
    pub count: u32,
    /// Index of the first of `m` entries in a vector over rows.
    pub at: u32,
    /// Index of the first entry of `E`: `k × m` entries of a pyramid, `m` of a round cone.
    pub E_at: u32,
    /// Index of the first of `k` offsets.
    pub b_at: u32,
    /// Index of the first of `m × m` entries of `W⁻²`, for round cones.
    pub D_at: u32,
    /// For each cone, the index of its Jacobian's first lane, and of the first lanes of its blocks
    /// in `x`.
    pub J: [u32; LANES],
    pub x: [[u32; 2]; LANES],
}

/// Common shape of the cones of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub round: bool,
    /// Number of rows of `J`, and of `E`.
    pub k: u32,
    pub m: u32,
    /// Numbers of lanes of the one or two blocks; `None` for cones with more blocks.
    pub sides: Option<[u32; 2]>,
}

impl Shape {
    fn of(p: &ConeProgram, cone: &ConeData) -> Self {
        let lanes = |block: u32| p.blocks[block as usize].stride / LANES as u32;
        let sides = match p.sides_of(cone) {
            [a] => Some([lanes(a.block), 0]),
            [a, b] => Some([lanes(a.block), lanes(b.block)]),
            _ => None,
        };
        Self { round: cone.round, k: cone.k, m: cone.m, sides }
    }
}

/// All batches of a program, sorted by island, with the data of their cones.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    all: Vec<Batch>,
    /// For each island, its first panel and the end of its batches.
    islands: Vec<(u32, u32)>,
    pub E: Vec<Lane>,
    pub b: Vec<Lane>,
    /// Number of lanes of a vector over rows, and of all `W⁻²`.
    pub rows: usize,
    pub D_len: usize,
    /// Indices of batches that may take more cones.
    open: Vec<u32>,
}

/// Lane masks by the number of cones in a batch: 1 in lanes of cones, 0 in lanes of padding.
pub(crate) const LIVE: [Lane; LANES + 1] =
    [[0.0; LANES], [1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0], [1.0; LANES]];

impl Batches {
    /// Distributes the cones of a program over batches.
    pub fn fill(&mut self, p: &ConeProgram, s: &Structure) {
        self.all.clear();
        self.islands.clear();
        for island in &s.islands {
            self.open.clear();
            for group in &s.groups[island.first_group as usize..island.last_group as usize] {
                for k in group.first_cone..group.last_cone {
                    self.push(p, k);
                }
            }
            self.islands.push((island.first_panel, self.all.len() as u32));
        }
        self.lay_out(p);
    }

    fn push(&mut self, p: &ConeProgram, k: u32) {
        let cone = &p.cones[k as usize];
        let shape = Shape::of(p, cone);
        let mut x = [0; 2];
        for (x, side) in x.iter_mut().zip(p.sides_of(cone)) {
            *x = p.blocks[side.block as usize].at / LANES as u32;
        }
        let J = cone.J_at / LANES as u32;
        let Self { all, open, .. } = self;
        if let Some(i) = open.iter().position(|b| all[*b as usize].shape == shape) {
            let batch = &mut all[open[i] as usize];
            let lane = batch.count as usize;
            (batch.cones[lane], batch.J[lane], batch.x[lane]) = (k, J, x);
            batch.count += 1;
            if batch.count as usize == LANES {
                open.swap_remove(i);
            }
            return;
        }
        open.push(all.len() as u32);
        all.push(Batch {
            shape,
            cones: [k; LANES],
            count: 1,
            at: 0,
            E_at: 0,
            b_at: 0,
            D_at: 0,
            J: [J; LANES],
            x: [x; LANES],
        });
    }

    fn lay_out(&mut self, p: &ConeProgram) {
        let Self { all, E, b, .. } = self;
        let (mut at, mut D_at) = (0, 0);
        E.clear();
        b.clear();
        for batch in all {
            let Shape { round, k, m, .. } = batch.shape;
            (batch.at, batch.E_at, batch.b_at, batch.D_at) =
                (at, E.len() as u32, b.len() as u32, D_at);
            at += m;
            let first = E.len();
            let (k, m) = (k as usize, m as usize);
            E.resize(first + if round { m } else { k * m }, [0.0; LANES]);
            let first_b = b.len();
            b.resize(first_b + k, [0.0; LANES]);
            if round {
                D_at += (m * m) as u32;
            }
            for lane in 0..batch.count as usize {
                let cone = &p.cones[batch.cones[lane] as usize];
                let stride = cone.stride_z as usize;
                let own = &p.E[cone.E_at as usize..][..k * stride];
                if round {
                    for i in 0..m {
                        E[first + i][lane] = own[i * stride + i];
                    }
                } else {
                    for r in 0..k {
                        for (to, e) in E[first + r * m..][..m].iter_mut().zip(&own[r * stride..]) {
                            to[lane] = *e;
                        }
                    }
                }
                for (to, b) in b[first_b..].iter_mut().zip(&p.b[cone.b_at as usize..][..k]) {
                    to[lane] = *b;
                }
            }
        }
        (self.rows, self.D_len) = (at as usize, D_at as usize);
    }

    /// The batches of an island.
    pub fn of(&self, island: &Island) -> &[Batch] {
        let i = self.islands.partition_point(|(first, _)| *first < island.first_panel);
        let Some((_, end)) = self.islands.get(i) else { return &[] };
        let start = if i == 0 { 0 } else { self.islands[i - 1].1 };
        &self.all[start as usize..*end as usize]
    }
}

/// Range of some consecutive batches in a vector over rows.
pub(crate) fn span(batches: &[Batch]) -> Range<usize> {
    match (batches.first(), batches.last()) {
        (Some(a), Some(b)) => a.at as usize..(b.at + b.shape.m) as usize,
        _ => 0..0,
    }
}

/// Copies the entries of some batches to a padded vector over the program's rows.
pub(crate) fn spread(p: &ConeProgram, batches: &[Batch], from: &[Lane], to: &mut [f64]) {
    for batch in batches {
        let from = &from[batch.at as usize..][..batch.shape.m as usize];
        for (lane, cone) in batch.cones[..batch.count as usize].iter().enumerate() {
            let to = &mut to[p.cones[*cone as usize].at as usize..][..from.len()];
            for (to, from) in to.iter_mut().zip(from) {
                *to = from[lane];
            }
        }
    }
}
