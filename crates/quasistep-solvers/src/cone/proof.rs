//! Proofs that a program has no answer: a ray along which the cost falls without end, or multipliers
//! that no point can satisfy.
//!
//! Each comes from a program that always has an answer, over the same blocks and cones:
//!
//! - **ray**: the point of the cone of all `d` with `P d = 0`, `A d ∈ K` that is nearest to `−c`; with
//!   limited springs, which pull back with their limit, the one where `1/2 |d|² + cᵀd + Σ limit |d_k|`
//!   is least. Unless it is zero, the cost falls along it.
//! - **multipliers**: the `x` of least violation, `min |Π_K(b − A x)|²`. Unless nothing is violated, the
//!   violation `y` has `Aᵀ y = 0`, `bᵀ y > 0`: Farkas' proof.

use crate::cone::kernels::{self, Isa};
use crate::cone::newton::{End, Newton, PENALTY, Start};
use crate::cone::program::{Cone, ConeProgram, MAX_ROWS};
use crate::cone::structure::{Group, Structure};
use crate::kernels::max_abs;
use crate::{Saturation, Solution, Status};

/// Errors that a proof may have, as a share of its terms.
const PROVEN: f64 = 1e-9;
/// What it proves must be larger than this share of its terms.
const CLEAR: f64 = 1e-6;
/// Stiffness of the springs that stand for limits, in units of the largest force over speed one.
const STIFF: f64 = 1e4;
const ITERATIONS: u32 = 300;

/// Memory for proofs; grows when the first is asked for.
#[derive(Debug, Default)]
pub(crate) struct Prover {
    program: ConeProgram,
    structure: Structure,
    newton: Newton,
    x: Vec<f64>,
    g: Vec<f64>,
    terms: Vec<f64>,
}

impl Prover {
    /// Looks for either proof and writes it to `out`, with the status; false if there is none.
    pub fn prove(&mut self, isa: Isa, p: &ConeProgram, out: &mut Solution) -> bool {
        if self.unbounded(isa, p, out) {
            out.status = Status::Unbounded;
            return true;
        }
        if self.infeasible(isa, p, out) {
            out.status = Status::Infeasible;
            return true;
        }
        false
    }

    fn unbounded(&mut self, isa: Isa, p: &ConeProgram, out: &mut Solution) -> bool {
        let mut force = max_abs(&p.c);
        for spring in &p.saturations {
            if spring.limit.is_finite() {
                force = force.max(spring.limit);
            }
        }
        if max_abs(&p.c) == 0.0 {
            return false;
        }
        let q = &mut self.program;
        q.reset(p.blocks.iter().map(|b| b.dim as usize));
        for (k, block) in p.blocks.iter().enumerate() {
            for i in 0..block.dim as usize {
                q.P(k, i)[i] = 1.0;
                q.c(k)[i] = p.c[block.at as usize + i] / force;
            }
        }
        for spring in &p.saturations {
            // a spring without limit is part of the cost: its variable stays
            if spring.stiffness > 0.0 && spring.limit > 0.0 {
                q.push_saturation(Saturation {
                    index: spring.index,
                    stiffness: STIFF,
                    target: 0.0,
                    limit: spring.limit / force,
                });
            }
        }
        for (k, block) in p.blocks.iter().enumerate() {
            let (dim, stride) = (block.dim as usize, block.stride as usize);
            let P = &p.P[block.P_at as usize..][..dim * stride];
            let largest = max_abs(P);
            if largest == 0.0 {
                continue;
            }
            for first in (0..dim).step_by(MAX_ROWS) {
                let rows = MAX_ROWS.min(dim - first);
                let mut E = Vec::with_capacity(2 * rows * rows);
                for sign in [1.0, -1.0] {
                    for i in 0..rows {
                        E.extend((0..rows).map(|j| if i == j { sign } else { 0.0 }));
                    }
                }
                let mut cone = q.push_cone(Cone::Edges(&E), rows, &[k as u32]);
                for i in 0..rows {
                    let row = &P[(first + i) * stride..][..dim];
                    cone.J(0, i).iter_mut().zip(row).for_each(|(to, v)| *to = v / largest);
                }
            }
        }
        add_cones(p, q, false);
        let Self { program, structure, newton, .. } = self;
        structure.update(program);
        newton.prepare(program, structure);
        let found = structure.islands.iter().all(|island| {
            newton.clear(structure, island);
            newton.solve(isa, program, structure, island, Start::Cold, PENALTY, ITERATIONS)
                == End::Solved
        });
        if !found {
            return false;
        }
        // the ray, its largest entry 1
        let newton = &self.newton;
        self.x.clear();
        self.x.resize(p.n_padded, 0.0);
        self.x.copy_from_slice(&newton.x[..p.n_padded]);
        let size = max_abs(&self.x);
        if !(size > 0.0) {
            return false;
        }
        self.x.iter_mut().for_each(|x| *x /= size);
        let x = &self.x;
        let (mut slope, mut terms) = (0.0, 0.0);
        for (c, x) in p.c.iter().zip(x) {
            slope += c * x;
            terms += (c * x).abs();
        }
        for spring in &p.saturations {
            let block = p.block_of(spring.index);
            let d = x[(p.blocks[block].at + spring.index - p.blocks[block].first) as usize].abs();
            if spring.stiffness > 0.0 && d > 0.0 {
                if spring.limit.is_infinite() && d > PROVEN {
                    return false;
                }
                if spring.limit.is_finite() {
                    slope += spring.limit * d;
                    terms += spring.limit * d;
                }
            }
        }
        if !(slope < -CLEAR * terms) {
            return false;
        }
        for block in &p.blocks {
            for i in 0..block.dim as usize {
                let row =
                    &p.P[block.P_at as usize + i * block.stride as usize..][..block.dim as usize];
                let x = &x[block.at as usize..];
                let value: f64 = row.iter().zip(x).map(|(a, b)| a * b).sum();
                if value.abs() > PROVEN * max_abs(row) {
                    return false;
                }
            }
        }
        let mut u = vec![0.0; p.m_padded];
        kernels::rates(isa, p, &own_groups(p), x, &mut u);
        for cone in &p.cones {
            let u = &u[cone.at as usize..][..cone.m as usize];
            let terms = (0..cone.k as usize).map(|r| {
                let J = &p.J[cone.J_at as usize + r * cone.width as usize..];
                let E = &p.E[cone.E_at as usize + r * cone.stride_z as usize..];
                let row = p.sides_of(cone).iter().map(|side| {
                    let block = &p.blocks[side.block as usize];
                    let x = &x[block.at as usize..(block.at + block.dim) as usize];
                    let J = &J[side.column as usize..];
                    x.iter().zip(J).map(|(x, J)| (x * J).abs()).sum::<f64>()
                });
                max_abs(&E[..cone.stride_z as usize]) * row.sum::<f64>()
            });
            if outside(cone.round, u) > PROVEN * terms.fold(0.0, f64::max) {
                return false;
            }
        }
        out.ray.clear();
        for block in &p.blocks {
            out.ray.extend_from_slice(&x[block.at as usize..(block.at + block.dim) as usize]);
        }
        true
    }

    fn infeasible(&mut self, isa: Isa, p: &ConeProgram, out: &mut Solution) -> bool {
        let Self { program: q, structure, newton, g, terms, .. } = self;
        q.reset(p.blocks.iter().map(|b| b.dim as usize));
        add_cones(p, q, true);
        structure.update(q);
        newton.prepare(q, structure);
        for island in &structure.islands {
            newton.clear(structure, island);
            newton.least_violation(isa, q, structure, island, ITERATIONS);
        }
        // the violations are the multipliers
        let largest = max_abs(newton.multipliers());
        if !(largest > 0.0) {
            return false;
        }
        let y: Vec<f64> = newton.multipliers().iter().map(|y| y / largest).collect();
        let y: Vec<f64> = y.iter().map(|y| if y.abs() > 1e-14 { *y } else { 0.0 }).collect();
        let (mut value, mut sum) = (0.0, 0.0);
        for cone in &p.cones {
            for r in 0..cone.k as usize {
                let stride = cone.stride_z as usize;
                let E = &p.E[cone.E_at as usize + r * stride..][..stride];
                let force: f64 = E.iter().zip(&y[cone.at as usize..]).map(|(e, y)| e * y).sum();
                let b = p.b[cone.b_at as usize + r];
                value += b * force;
                sum += (b * force).abs();
            }
            let y = &y[cone.at as usize..][..cone.m as usize];
            if outside(cone.round, y) > PROVEN {
                return false;
            }
        }
        if !(value > CLEAR * sum) {
            return false;
        }
        g.clear();
        g.resize(p.n_padded, 0.0);
        kernels::add_forces(isa, q, &structure.groups, &y, g);
        terms.clear();
        terms.resize(p.n_padded, 0.0);
        for cone in &p.cones {
            for r in 0..cone.k as usize {
                let stride = cone.stride_z as usize;
                let E = &p.E[cone.E_at as usize + r * stride..][..stride];
                let force: f64 =
                    E.iter().zip(&y[cone.at as usize..]).map(|(e, y)| (e * y).abs()).sum();
                for side in p.sides_of(cone) {
                    let block = &p.blocks[side.block as usize];
                    let at = cone.J_at as usize + r * cone.width as usize + side.column as usize;
                    for i in 0..block.dim as usize {
                        terms[block.at as usize + i] += force * p.J[at + i].abs();
                    }
                }
            }
        }
        if g.iter().zip(terms.iter()).any(|(g, t)| g.abs() > PROVEN * t) {
            return false;
        }
        out.certificate.clear();
        for cone in &p.cones {
            out.certificate.extend_from_slice(&y[cone.at as usize..][..cone.m as usize]);
        }
        true
    }
}

/// Every cone as a group of its own.
fn own_groups(p: &ConeProgram) -> Vec<Group> {
    let group = |i| Group { first_cone: i, last_cone: i + 1, ..Group::default() };
    (0..p.cones.len() as u32).map(group).collect()
}

/// How far a point is outside its cone.
fn outside(round: bool, v: &[f64]) -> f64 {
    if round {
        v[1..].iter().map(|v| v * v).sum::<f64>().sqrt() - v[0]
    } else {
        v.iter().fold(f64::NEG_INFINITY, |m, v| m.max(-v))
    }
}

/// Copies all cones, with their offsets or without.
fn add_cones(p: &ConeProgram, q: &mut ConeProgram, with_b: bool) {
    let mut blocks = Vec::new();
    for cone in &p.cones {
        let (k, m, stride) = (cone.k as usize, cone.m as usize, cone.stride_z as usize);
        let E_t = &p.E[cone.E_at as usize..][..k * stride];
        let E: Vec<f64> = if cone.round {
            (0..k).map(|i| E_t[i * stride + i]).collect()
        } else {
            (0..m).flat_map(|j| (0..k).map(move |r| E_t[r * stride + j])).collect()
        };
        blocks.clear();
        blocks.extend(p.sides_of(cone).iter().map(|s| s.block));
        let kind = if cone.round { Cone::Round(&E) } else { Cone::Edges(&E) };
        let mut to = q.push_cone(kind, k, &blocks);
        for (side, data) in p.sides_of(cone).iter().enumerate() {
            for r in 0..k {
                let at = cone.J_at as usize + r * cone.width as usize + data.column as usize;
                let row = to.J(side, r);
                let dim = row.len();
                row.copy_from_slice(&p.J[at..at + dim]);
            }
        }
        if with_b {
            to.b().copy_from_slice(&p.b[cone.b_at as usize..][..k]);
        }
    }
}
