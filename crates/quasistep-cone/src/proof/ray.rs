//! Rays: directions along which the cost decreases without bound.

use super::{ITERATIONS, Prover, add_cones, outside, scale_cones, variables};
use crate::kernels::{self, Isa};
use crate::newton::{End, Start};
use crate::program::{Cone, ConeData, ConeProgram, MAX_ROWS};
use crate::structure::{Island, Structure};
use crate::tolerances::newton_of_cones::PENALTY;
use crate::tolerances::{CLEAR, PROOF, STIFF_LIMIT};
use quasistep_linalg::kernels::max_abs;
use quasistep_linalg::{Saturation, Solution};

impl Prover {
    /// Searches for a ray and writes it to the solution; returns false if it finds none. The ray is
    /// zero on islands without one.
    pub(super) fn unbounded(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        out: &mut Solution,
    ) -> bool {
        if !self.project(isa, p) {
            return false;
        }
        let mut proven = false;
        for island in &s.islands {
            if self.falls(isa, p, s, island) {
                proven = true;
            } else {
                for at in variables(p, s, island) {
                    self.x[at].fill(0.0);
                }
            }
        }
        if !proven {
            return false;
        }
        let size = max_abs(&self.x);
        out.ray.clear();
        for block in &p.blocks {
            let x = &self.x[block.at as usize..(block.at + block.dim) as usize];
            out.ray.extend(x.iter().map(|x| x / size));
        }
        true
    }

    /// Writes to `x` the projection of `−c` onto the recession cone, every variable in its unit. It
    /// is zero on islands where the projection fails. Returns false if `c` is zero.
    fn project(&mut self, isa: Isa, p: &ConeProgram) -> bool {
        let Self { program: q, edges, sides, unit, .. } = self;
        let mut force = p.c.iter().zip(&*unit).fold(0.0, |m: f64, (c, u)| m.max((c * u).abs()));
        if force == 0.0 {
            return false;
        }
        // a Huber term without limit bounds the cost quadratically: its variable is zero in a ray
        let springs = || p.saturations.iter().filter(|s| s.stiffness > 0.0 && s.limit > 0.0);
        for spring in springs().filter(|s| s.limit.is_finite()) {
            force = force.max(spring.limit * unit[p.padded_index(spring.index)]);
        }
        q.reset(p.blocks.iter().map(|b| b.dim as usize));
        for (k, block) in p.blocks.iter().enumerate() {
            for i in 0..block.dim as usize {
                let at = block.at as usize + i;
                q.P(k, i)[i] = 1.0;
                q.c(k)[i] = p.c[at] * unit[at] / force;
            }
        }
        for spring in springs() {
            q.push_saturation(Saturation {
                index: spring.index,
                stiffness: STIFF_LIMIT,
                target: 0.0,
                limit: spring.limit * unit[p.padded_index(spring.index)] / force,
            });
        }
        add_costs(p, unit, q, edges);
        let first = q.cones.len();
        add_cones(p, q, edges, sides, false);
        scale_cones(q, first, unit, &self.units.row);
        let Self { program, structure, newton, x, .. } = self;
        structure.update(program);
        newton.prepare(program, structure);
        x.clear();
        x.resize(unit.len(), 0.0);
        for island in &structure.islands {
            newton.clear(structure, island);
            let start = Start::Cold;
            let end = newton.solve(isa, program, structure, island, start, PENALTY, ITERATIONS);
            if end == End::Solved {
                for i in variables(program, structure, island).flatten() {
                    x[i] = newton.x[i] * unit[i];
                }
            }
        }
        true
    }

    /// Whether the island's part of `x` is a ray: the cost decreases, with zero curvature, and no
    /// row blocks. Entries that are rounding are set to zero.
    fn falls(&mut self, isa: Isa, p: &ConeProgram, s: &Structure, island: &Island) -> bool {
        let Self { x, u, unit, .. } = self;
        // largest entry in the caller's units and in units of the cones
        let (mut size, mut natural) = (0.0_f64, 0.0_f64);
        for i in variables(p, s, island).flatten() {
            size = size.max(x[i].abs());
            natural = natural.max(x[i].abs() / unit[i]);
        }
        if !(size > 0.0) {
            return false;
        }
        for i in variables(p, s, island).flatten() {
            if x[i].abs() <= PROOF * natural * unit[i] {
                x[i] = 0.0;
            }
        }
        let (mut slope, mut terms) = (0.0, 0.0);
        for i in variables(p, s, island).flatten() {
            slope += p.c[i] * x[i];
            terms += (p.c[i] * x[i]).abs();
        }
        for spring in p.saturations.iter().filter(|spring| spring.stiffness > 0.0) {
            let block = p.block_of(spring.index);
            if !(island.first_panel..island.last_panel).contains(&s.panel_of_block[block]) {
                continue;
            }
            let at = p.padded_index(spring.index);
            let d = x[at].abs();
            if spring.limit.is_finite() {
                slope += spring.limit * d;
                terms += spring.limit * d;
            } else if d > PROOF * size.min(natural * unit[at]) {
                return false;
            }
        }
        if !(slope < -CLEAR * terms) {
            return false;
        }
        let panels = &s.panels[island.first_panel as usize..island.last_panel as usize];
        for panel in panels {
            let block = &p.blocks[panel.block as usize];
            for i in 0..block.dim as usize {
                let at = block.P_at as usize + i * block.stride as usize;
                let row = &p.P[at..][..block.dim as usize];
                let value: f64 = row.iter().zip(&x[block.at as usize..]).map(|(a, b)| a * b).sum();
                let unit = &unit[block.at as usize..];
                let around = row.iter().zip(unit).fold(0.0, |m: f64, (a, u)| m.max((a * u).abs()));
                if value.abs() > PROOF * (max_abs(row) * size).min(around * natural) {
                    return false;
                }
            }
        }
        let groups = &s.groups[island.first_group as usize..island.last_group as usize];
        u.resize(p.m_padded, 0.0);
        kernels::rates(isa, p, groups, x, u);
        groups.iter().flat_map(|g| g.first_cone as usize..g.last_cone as usize).all(|k| {
            let cone = &p.cones[k];
            let out = outside(cone.round, &u[cone.at as usize..][..cone.m as usize]);
            out <= PROOF * terms_of(p, cone, |i| x[i])
        })
    }
}

/// Largest sum of the magnitudes of a slack's terms over the rows of a cone.
fn terms_of(p: &ConeProgram, cone: &ConeData, x: impl Fn(usize) -> f64) -> f64 {
    let terms = (0..cone.k as usize).map(|r| {
        let J = &p.J[cone.J_at as usize + r * cone.width as usize..];
        let E = &p.E[cone.E_at as usize + r * cone.stride_z as usize..];
        let row = p.sides_of(cone).iter().map(|side| {
            let block = &p.blocks[side.block as usize];
            let x = (block.at as usize..(block.at + block.dim) as usize).map(&x);
            x.zip(&J[side.column as usize..]).map(|(x, J)| (x * J).abs()).sum::<f64>()
        });
        max_abs(&E[..cone.stride_z as usize]) * row.sum::<f64>()
    });
    terms.fold(0.0, f64::max)
}

/// Adds rows that require `P d = 0`, with `d` in units.
fn add_costs(p: &ConeProgram, unit: &[f64], q: &mut ConeProgram, edges: &mut Vec<f64>) {
    for (k, block) in p.blocks.iter().enumerate() {
        let (dim, stride) = (block.dim as usize, block.stride as usize);
        let P = &p.P[block.P_at as usize..][..dim * stride];
        let unit = &unit[block.at as usize..][..dim];
        let entry = |i: usize, j: usize| unit[i] * P[i * stride + j] * unit[j];
        let entries = (0..dim).flat_map(|i| (0..dim).map(move |j| entry(i, j)));
        let largest = entries.fold(0.0, |m: f64, v| m.max(v.abs()));
        if largest == 0.0 {
            continue;
        }
        for first in (0..dim).step_by(MAX_ROWS) {
            let rows = MAX_ROWS.min(dim - first);
            edges.clear();
            for sign in [1.0, -1.0] {
                for i in 0..rows {
                    edges.extend((0..rows).map(|j| if i == j { sign } else { 0.0 }));
                }
            }
            let mut cone = q.push_cone(Cone::Edges(edges), rows, &[k as u32]);
            for i in 0..rows {
                let row = cone.J(0, i).iter_mut().enumerate();
                row.for_each(|(j, to)| *to = entry(first + i, j) / largest);
            }
        }
    }
}
