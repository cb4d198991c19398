//! Seeded contact programs with dependent rows, as functions of parameters that preserve the
//! dependence.

use super::Samples;
use quasistep_cone::{Cone, ConeProgram, ConeSolver, Saturation, Settings, Solution, Status};

/// Parameters of a program; each may be varied independently.
#[derive(Clone, Debug)]
pub struct Patches {
    pub round: bool,
    pub dims: Vec<usize>,
    /// Square roots `R` of the blocks of the cost, `dim × dim` each.
    pub roots: Vec<Vec<f64>>,
    pub c: Vec<Vec<f64>>,
    pub touching: Vec<Patch>,
    pub saturations: Vec<Saturation>,
}

/// Contact points of one rigid block on another, or on the ground. Their rates are those of a rigid
/// body, `T (M v − beta)`.
#[derive(Clone, Debug)]
pub struct Patch {
    pub sides: Vec<u32>,
    /// `6 × dim` for each side.
    pub M: Vec<Vec<f64>>,
    pub beta: [f64; 6],
    pub mu: f64,
    pub points: Vec<[f64; 2]>,
}

impl Patches {
    pub fn sample(s: &mut Samples, round: bool) -> Self {
        let bodies = 1 + s.below(3);
        let dims: Vec<usize> = (0..bodies).map(|_| 6 + s.below(3)).collect();
        let matrix = |s: &mut Samples, rows: usize, columns: usize| -> Vec<f64> {
            (0..rows * columns).map(|_| s.signed()).collect()
        };
        let roots = dims
            .iter()
            .map(|&d| {
                let mut root = matrix(s, d, d);
                for i in 0..d {
                    root[i * d + i] += 1.5;
                }
                root
            })
            .collect();
        let c = dims.iter().map(|&d| matrix(s, 1, d)).collect();
        let mut patches = Vec::new();
        for a in 0..bodies as u32 {
            for other in 0..=s.below(2) {
                let sides = if other == 1 && a > 0 { vec![a, a - 1] } else { vec![a] };
                let M = sides.iter().map(|b| matrix(s, 6, dims[*b as usize])).collect();
                let mut beta = [0.0; 6];
                if s.uniform() < 0.6 {
                    for b in &mut beta {
                        *b = 0.3 * s.signed();
                    }
                }
                let points = match s.below(3) {
                    0 => vec![[0.3, 0.1]],
                    1 => vec![[0.5, 0.2], [-0.4, 0.2]],
                    _ => vec![[0.5, 0.5], [0.5, -0.5], [-0.5, -0.5], [-0.5, 0.5]],
                };
                patches.push(Patch { sides, M, beta, mu: 0.2 + 0.6 * s.uniform(), points });
            }
        }
        let n: usize = dims.iter().sum();
        let saturations = (0..s.below(3))
            .map(|_| Saturation {
                index: s.below(n) as u32,
                stiffness: 1.0 + s.uniform(),
                target: s.signed(),
                limit: 0.1 + s.uniform(),
            })
            .collect();
        Self { round, dims, roots, c, touching: patches, saturations }
    }

    /// This program with all parameters moved by `h` times a random direction drawn from `seed`.
    pub fn moved(&self, seed: u64, h: f64) -> Self {
        let mut s = Samples::new(seed);
        let mut to = self.clone();
        let mut add = |v: &mut f64| *v += h * s.signed();
        to.roots.iter_mut().flatten().for_each(&mut add);
        to.c.iter_mut().flatten().for_each(&mut add);
        for patch in &mut to.touching {
            patch.M.iter_mut().flatten().for_each(&mut add);
            patch.beta.iter_mut().for_each(&mut add);
            add(&mut patch.mu);
        }
        for spring in &mut to.saturations {
            add(&mut spring.stiffness);
            add(&mut spring.target);
            add(&mut spring.limit);
        }
        to
    }

    pub fn program(&self) -> ConeProgram {
        let mut program = ConeProgram::new();
        program.reset(self.dims.iter().copied());
        for (b, (root, &d)) in self.roots.iter().zip(&self.dims).enumerate() {
            for i in 0..d {
                for j in 0..d {
                    program.P(b, i)[j] = (0..d).map(|k| root[k * d + i] * root[k * d + j]).sum();
                }
            }
            program.c(b).copy_from_slice(&self.c[b]);
        }
        for patch in &self.touching {
            for [x, y] in &patch.points {
                // velocity of a point along z, x, y from (omega, v)
                let T = [
                    [*y, -x, 0.0, 0.0, 0.0, 1.0],
                    [0.0, 0.0, -y, 1.0, 0.0, 0.0],
                    [0.0, 0.0, *x, 0.0, 1.0, 0.0],
                ];
                let mu = patch.mu;
                let E = [1.0, mu, 0.0, 1.0, 0.0, mu, 1.0, -mu, 0.0, 1.0, 0.0, -mu];
                let cone = if self.round { Cone::Round(&[1.0, mu, mu]) } else { Cone::Edges(&E) };
                let mut cone = program.push_cone(cone, 3, &patch.sides);
                for (r, T) in T.iter().enumerate() {
                    cone.b()[r] = T.iter().zip(&patch.beta).map(|(t, b)| t * b).sum();
                    for (side, M) in patch.M.iter().enumerate() {
                        let d = M.len() / 6;
                        for (j, J) in cone.J(side, r).iter_mut().enumerate() {
                            *J = (0..6).map(|k| T[k] * M[k * d + j]).sum();
                        }
                    }
                }
            }
        }
        for spring in &self.saturations {
            program.push_saturation(*spring);
        }
        program
    }
}

/// Calls `f` with corresponding entries of the data of three programs with equal layout.
pub fn each_entry(
    to: &mut ConeProgram,
    [a, b]: [&ConeProgram; 2],
    mut f: impl FnMut(&mut f64, f64, f64),
) {
    for block in 0..a.n_blocks() {
        for i in 0..a.c_of(block).len() {
            let rows = (a.P_row(block, i), b.P_row(block, i));
            for (j, t) in to.P(block, i).iter_mut().enumerate() {
                f(t, rows.0[j], rows.1[j]);
            }
            f(&mut to.c(block)[i], a.c_of(block)[i], b.c_of(block)[i]);
        }
    }
    for cone in 0..a.n_cones() {
        for r in 0..a.b_of(cone).len() {
            for side in 0..a.blocks_of(cone).count() {
                let rows = (a.J_row(cone, side, r), b.J_row(cone, side, r));
                for (j, t) in to.cone_mut(cone).J(side, r).iter_mut().enumerate() {
                    f(t, rows.0[j], rows.1[j]);
                }
            }
            f(&mut to.cone_mut(cone).b()[r], a.b_of(cone)[r], b.b_of(cone)[r]);
            for edge in 0..a.rows_of(cone).len() {
                let entries = (a.E_entry(cone, edge, r), b.E_entry(cone, edge, r));
                f(to.E_mut(cone, edge, r), entries.0, entries.1);
            }
        }
    }
    for k in 0..a.saturations().len() {
        let (x, y) = (a.saturations()[k], b.saturations()[k]);
        let t = to.saturation_mut(k);
        f(&mut t.stiffness, x.stiffness, y.stiffness);
        f(&mut t.target, x.target, y.target);
        f(&mut t.limit, x.limit, y.limit);
    }
}

/// Inner product of the data of two programs.
pub fn dot(a: &ConeProgram, b: &ConeProgram) -> f64 {
    let mut sum = 0.0;
    each_entry(&mut a.clone(), [a, b], |_, a, b| sum += a * b);
    sum
}

/// Largest `t` for which a point exists where every slack of a pyramid is at least `t`, capped at a
/// thousand. It is 0 if no point is strictly feasible. Round cones are replaced by inscribed
/// pyramids with edges along the axes.
pub fn room(p: &ConeProgram) -> f64 {
    let mut wide = ConeProgram::new();
    wide.reset((0..p.n_blocks()).map(|b| p.c_of(b).len()).chain([1]));
    let t = p.n_blocks();
    for b in 0..t {
        for i in 0..p.c_of(b).len() {
            wide.P(b, i)[i] = 1e-6;
        }
    }
    wide.P(t, 0)[0] = 1e-3;
    wide.c(t)[0] = -1.0;
    for cone in 0..p.n_cones() {
        let (m, k) = (p.rows_of(cone).len(), p.b_of(cone).len());
        let mut E: Vec<f64> = (0..m * k).map(|i| p.E_entry(cone, i / k, i % k)).collect();
        if m == k && m == 3 {
            let s = std::f64::consts::SQRT_2;
            let [mu, nu] = [E[4] * s, E[8] * s];
            E = vec![1.0, mu, 0.0, 1.0, -mu, 0.0, 1.0, 0.0, nu, 1.0, 0.0, -nu];
        }
        let mut blocks: Vec<u32> = p.blocks_of(cone).map(|b| b as u32).collect();
        let sides = blocks.len();
        blocks.push(t as u32);
        let mut to = wide.push_cone(Cone::Edges(&E), k, &blocks);
        for r in 0..k {
            for side in 0..sides {
                to.J(side, r).copy_from_slice(p.J_row(cone, side, r));
            }
            to.b()[r] = p.b_of(cone)[r];
        }
        to.J(sides, 0)[0] = -1.0;
    }
    let mut out = Solution::default();
    ConeSolver::new().solve(&wide, None, &Settings::default(), &mut out);
    assert_eq!(out.status, Status::Solved);
    out.x[p.n()]
}
