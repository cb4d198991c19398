//! Whether an answer holds, row by row and variable by variable, against the terms of each.
//!
//! Rows and variables of one problem may have any units: an error says nothing beside a number of
//! another row.

use crate::cone::program::{ConeData, ConeProgram};
use crate::cone::structure::Structure;

/// Slack that a row may have where it should be zero or more, as a share of its terms, or, where all
/// rows have one unit, of the largest terms around.
const ROW: f64 = 1e-8;
/// Ratio of the largest and the least row of the Jacobians above which rows count as of many units.
const ONE_UNIT: f64 = 1e3;
/// The same where all is at rest: as a share of the speed that the forces would give.
const REST: f64 = 1e-15;
/// Imbalance of a variable, as a share of its terms, and of the largest force around.
const BALANCE: f64 = 3e-9;
const BALANCE_AROUND: f64 = 1e-12;

/// A point in padded layout: `x`, `u = A x − b`, multipliers, `g = P x + c + ∇huber − Aᵀ z`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point<'a> {
    pub x: &'a [f64],
    pub u: &'a [f64],
    pub z: &'a [f64],
    pub g: &'a [f64],
}

fn largest(v: impl IntoIterator<Item = f64>) -> f64 {
    // NaN counts as infinite
    v.into_iter().fold(0.0, |m: f64, v| if v.is_nan() { f64::INFINITY } else { m.max(v.abs()) })
}

/// What a cone's rows are differences of: offsets, and Jacobians times speeds, block by block.
fn terms(p: &ConeProgram, cone: &ConeData, x: &[f64]) -> f64 {
    let (k, width, stride) = (cone.k as usize, cone.width as usize, cone.stride_z as usize);
    let mut terms = 0.0_f64;
    for r in 0..k {
        let mut sum = p.b[cone.b_at as usize + r].abs();
        for side in p.sides_of(cone) {
            let block = &p.blocks[side.block as usize];
            let at = cone.J_at as usize + r * width + side.column as usize;
            let J = &p.J[at..at + block.dim as usize];
            let x = &x[block.at as usize..(block.at + block.dim) as usize];
            sum += largest(J.iter().copied()) * largest(x.iter().copied());
        }
        let edge = largest(p.E[cone.E_at as usize + r * stride..][..stride].iter().copied());
        terms = terms.max(edge * sum);
    }
    terms
}

/// True if the point is optimal to the digits that its terms have.
pub(crate) fn holds(p: &ConeProgram, s: &Structure, point: Point<'_>) -> bool {
    s.islands.iter().all(|island| {
        let panels = &s.panels[island.first_panel as usize..island.last_panel as usize];
        let groups = &s.groups[island.first_group as usize..island.last_group as usize];
        let cones = || {
            groups.iter().flat_map(|g| &p.cones[g.first_cone as usize..g.last_cone as usize])
        };
        let (mut force, mut scale, mut size) = (0.0_f64, 0.0_f64, 0.0_f64);
        for panel in panels {
            let block = &p.blocks[panel.block as usize];
            let at = block.at as usize..(block.at + block.dim) as usize;
            force = force.max(largest(p.c[at.clone()].iter().copied()));
            size = size.max(largest(point.x[at].iter().copied()));
            for i in 0..block.dim as usize {
                scale = scale.max(p.P[block.P_at as usize + i * (block.stride as usize + 1)]);
            }
        }
        let (mut push, mut around) = (0.0_f64, 0.0_f64);
        let (mut longest, mut shortest) = (0.0_f64, f64::INFINITY);
        for cone in cones() {
            let rows = cone.at as usize..(cone.at + cone.m) as usize;
            push = push.max(largest(point.z[rows].iter().copied()));
            let offsets = &p.b[cone.b_at as usize..(cone.b_at + cone.k) as usize];
            around = around.max(largest(offsets.iter().copied()));
            // the first row is the one along the normal
            let first = largest(p.J[cone.J_at as usize..][..cone.width as usize].iter().copied());
            longest = longest.max(first);
            if first > 0.0 {
                shortest = shortest.min(first);
            }
        }
        for spring in &p.saturations {
            let block = p.blocks.partition_point(|b| b.first <= spring.index) - 1;
            let panel = s.panel_of_block[block];
            if (island.first_panel..island.last_panel).contains(&panel) {
                let at = p.blocks[block].at + spring.index - p.blocks[block].first;
                force = force.max(spring.gradient(point.x[at as usize]).abs());
                scale = scale.max(spring.stiffness);
            }
        }
        let all_forces = force.max(push);
        let rest = if scale > 0.0 { REST * all_forces / scale } else { 0.0 };
        let one_unit = longest <= ONE_UNIT * shortest;
        let speed = if one_unit { ROW * around.max(longest * size) } else { 0.0 };
        let rows_hold =
            cones().all(|cone| row_holds(p, cone, point, [speed, rest], all_forces));
            rows_hold
            && panels.iter().all(|panel| {
                (panel.x_at..panel.x_at + panel.dim).all(|i| {
                    let g = point.g[i as usize].abs();
                    // written so that NaN fails
                    g <= BALANCE_AROUND * all_forces
                        || g <= BALANCE * all_forces
                            && g <= BALANCE * force_terms(p, s, island, panel.block, i, point)
                })
            })
    })
}

fn row_holds(
    p: &ConeProgram,
    cone: &ConeData,
    point: Point<'_>,
    [speed, rest]: [f64; 2],
    force: f64,
) -> bool {
    let rows = cone.at as usize..(cone.at + cone.m) as usize;
    let (u, z) = (&point.u[rows.clone()], &point.z[rows]);
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let (outside, product, push) = if cone.round {
        let dot: f64 = u.iter().zip(z).map(|(u, z)| u * z).sum();
        if norm(&z[1..]) > z[0] * (1.0 + 1e-9) + 1e-12 * force {
            return false;
        }
        (norm(&u[1..]) - u[0], dot.abs(), z[0])
    } else {
        let outside = u.iter().fold(f64::NEG_INFINITY, |m, u| m.max(-u));
        let product = largest(u.iter().zip(z).map(|(u, z)| u * z));
        if z.iter().any(|z| *z < 0.0) {
            return false;
        }
        (outside, product, largest(z.iter().copied()))
    };
    let fits = |slack: f64| outside <= slack && product <= slack * push.max(1e-9 * force);
    fits(speed + rest) || fits(ROW * terms(p, cone, point.x) + rest)
}

/// Sum of the magnitudes of a variable's forces.
fn force_terms(
    p: &ConeProgram,
    s: &Structure,
    island: &crate::cone::structure::Island,
    block: u32,
    i: u32,
    point: Point<'_>,
) -> f64 {
    let data = &p.blocks[block as usize];
    let own = (i - data.at) as usize;
    let mut sum = p.c[i as usize].abs();
    let row = &p.P[data.P_at as usize + own * data.stride as usize..][..data.dim as usize];
    sum += row.iter().zip(&point.x[data.at as usize..]).map(|(a, b)| (a * b).abs()).sum::<f64>();
    for spring in &p.saturations {
        if spring.index == data.first + own as u32 {
            sum += spring.gradient(point.x[i as usize]).abs();
        }
    }
    for group in &s.groups[island.first_group as usize..island.last_group as usize] {
        for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
            let Some(side) = p.sides_of(cone).iter().find(|side| side.block == block) else {
                continue;
            };
            for r in 0..cone.k as usize {
                let stride = cone.stride_z as usize;
                let E = &p.E[cone.E_at as usize + r * stride..][..stride];
                let f: f64 = E.iter().zip(&point.z[cone.at as usize..]).map(|(e, z)| (e * z).abs()).sum();
                let at = cone.J_at + side.column + own as u32;
                sum += f * p.J[at as usize + r * cone.width as usize].abs();
            }
        }
    }
    sum
}
