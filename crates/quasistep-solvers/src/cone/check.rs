//! Whether an answer holds, row by row and variable by variable, against the terms of each.
//!
//! Rows and variables of one problem may have any units: an error says nothing beside a number of
//! another row, unless all rows have one unit.

use crate::cone::kernels::{self, Allowed, Extremes, Isa, Sizes};
use crate::cone::program::{ConeData, ConeProgram};
use crate::cone::structure::{Group, Island, Structure};
use std::cell::Cell;

/// Slack that a row may have where it should be zero or more, as a share of its terms.
const ROW: f64 = 1e-8;
/// The same, where all rows have one unit, as a share of the fastest contact around: rows of a patch
/// contradict one another by so much. Less for an answer that was found in other units than the caller's, if those
/// are uneven.
pub(crate) const TOUCHING: f64 = 1e-8;
pub(crate) const TOUCHING_UNEVEN: f64 = 1e-9;
/// What of it is rounding.
const ROUNDING: f64 = 1e-12;
/// Ratio of the largest and the least row of the Jacobians above which rows count as of many units.
const ONE_UNIT: f64 = 1e3;
/// Slack where all is at rest, as a share of the speed that the forces would give to the lighter side, and
/// to the heaviest body of the island. Round cones have fewer digits near their tip.
const REST: f64 = 1e-16;
const REST_ROUND: f64 = 1e-14;
const REST_OF_ALL: f64 = 2e-12;
/// Speed of other contacts, over that slack, above which they move, and the share of it that it may be then.
const MOVES: f64 = 1e3;
const AT_SPEED: f64 = 1e-5;
/// The same in the caller's unit, where there is no cost at all and so no speed to compare with.
const REST_WITHOUT_COST: f64 = 1e-18;
/// Largest multipliers, over the forces of cost and springs, that are believed.
const SQUEEZE: f64 = 1e5;
/// The same above which they are no answer.
const WITHOUT_END: f64 = 1e10;
/// Imbalance of a variable, as a share of its terms; of the largest force around where all rows have one
/// unit; and of it in any case.
const BALANCE: f64 = 3e-9;
const BALANCE_ONE_UNIT: f64 = 1e-9;
const BALANCE_ROUNDING: f64 = 1e-13;

/// Share of what a row may be off that is believed from sums in another order.
const SURE: f64 = 0.999;

/// Multiplier that is nothing, as a share of the largest force around.
const IDLE: f64 = 1e-8;
/// Product of slack and multiplier that is nothing, as a share of that force and the fastest contact.
const PRODUCT: f64 = 1e-14;

/// A point in padded layout: `x`, `u = A x − b`, multipliers, `g = P x + c + ∇huber − Aᵀ z`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point<'a> {
    pub x: &'a [f64],
    pub u: &'a [f64],
    pub z: &'a [f64],
    pub g: &'a [f64],
}

/// What errors on an island are compared with.
struct Around<'a> {
    /// Slack that is rounding of the speeds of the island's contacts, and the largest of these; 0 if its
    /// rows have many units.
    slack: f64,
    speed: f64,
    /// Largest speed of a contact in units of its [`row_size`], once it was asked for.
    fastest: Cell<Option<f64>>,
    /// Slack as a share of it.
    touching: f64,
    groups: &'a [Group],
    /// Most that a row may have at rest.
    most_at_rest: f64,
    /// Largest diagonal entry of the cost.
    scale: f64,
    /// Largest force of cost and springs, and that or the largest multiplier.
    force: f64,
    all_forces: f64,
    one_unit: bool,
}

/// True only if [`holds`] is, for an island of pyramids whose extremes these are: what most answers pass,
/// without a look at every row, or with a quick one.
#[allow(clippy::too_many_arguments)] // plain data
pub(crate) fn clearly_holds(
    isa: Isa,
    p: &ConeProgram,
    s: &Structure,
    island: &Island,
    point: Point<'_>,
    e: &Extremes,
    touching: f64,
    sizes: &mut Sizes,
) -> bool {
    let one_unit = e.longest <= ONE_UNIT * e.shortest;
    let share = if one_unit { BALANCE_ONE_UNIT } else { BALANCE_ROUNDING };
    let speed = if one_unit { e.offset.max(e.speed) } else { 0.0 };
    let slack = ROUNDING * speed;
    let sane = e.finite
        && e.pull <= 0.0
        && e.push <= WITHOUT_END * e.force
        && e.imbalance <= share * e.force;
    if !sane || e.outside <= slack && e.held <= slack {
        return sane;
    }
    let panels = &s.panels[island.first_panel as usize..island.last_panel as usize];
    let groups = &s.groups[island.first_group as usize..island.last_group as usize];
    let mut scale = 0.0_f64;
    for panel in panels {
        let block = &p.blocks[panel.block as usize];
        for i in 0..block.dim as usize {
            scale = scale.max(p.P[block.P_at as usize + i * (block.stride as usize + 1)]);
        }
    }
    // other sums than those of `row_holds`: a little less is sure to be no more
    let allowed = Allowed { of_terms: SURE * ROW, of_speed: SURE * touching, speed };
    kernels::rows_hold(isa, p, groups, panels, scale, allowed, point.x, point.z, point.u, sizes)
}

/// Largest magnitude; NaN is left out.
fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m, v| m.max(v.abs()))
}

/// True if the point is optimal to the digits that its terms have; slacks of `nothing` in the caller's
/// unit are none.
pub(crate) fn holds(
    p: &ConeProgram,
    s: &Structure,
    point: Point<'_>,
    touching: f64,
    nothing: f64,
) -> bool {
    // rows of no variable hold or do not
    let alone = s.islands.last().map_or(0, |island| island.last_group as usize);
    let alone_around = Around {
        slack: nothing,
        speed: 0.0,
        fastest: Cell::new(Some(0.0)),
        touching,
        groups: &[],
        most_at_rest: 0.0,
        scale: 1.0,
        force: 0.0,
        all_forces: 0.0,
        one_unit: true,
    };
    let all_alone = s.groups[alone..].iter().all(|group| {
        let cones = &p.cones[group.first_cone as usize..group.last_cone as usize];
        cones.iter().all(|cone| row_holds(p, cone, point, &alone_around))
    });
    if !all_alone {
        return false;
    }
    let mut heaviest = 0.0_f64;
    for block in &p.blocks {
        for i in 0..block.dim as usize {
            heaviest = heaviest.max(p.P[block.P_at as usize + i * (block.stride as usize + 1)]);
        }
    }
    s.islands.iter().all(|island| {
        let mut around = survey(p, s, island, point);
        // of an island without any cost, by the heaviest body of all
        let scale = if around.scale > 0.0 { around.scale } else { heaviest };
        let at_rest = REST_OF_ALL * around.force / scale;
        around.touching = touching;
        around.slack = around.slack.max(nothing);
        around.most_at_rest = if at_rest.is_finite() { at_rest } else { REST_WITHOUT_COST };
        let panels = &s.panels[island.first_panel as usize..island.last_panel as usize];
        let groups = &s.groups[island.first_group as usize..island.last_group as usize];
        let share = if around.one_unit { BALANCE_ONE_UNIT } else { BALANCE_ROUNDING };
        let rows_hold = groups.iter().all(|group| {
            let cones = &p.cones[group.first_cone as usize..group.last_cone as usize];
            cones.iter().all(|cone| row_holds(p, cone, point, &around))
        });
        rows_hold
            && panels.iter().all(|panel| {
                (panel.x_at..panel.x_at + panel.dim).all(|i| {
                    let g = point.g[i as usize].abs();
                    // written so that NaN fails
                    g <= share * around.all_forces
                        || g <= BALANCE * around.all_forces
                            && g <= BALANCE * force_terms(p, s, island, panel.block, i, point)
                })
            })
    })
}

fn survey<'a>(p: &ConeProgram, s: &'a Structure, island: &Island, point: Point<'_>) -> Around<'a> {
    let (mut force, mut scale) = (0.0_f64, 0.0_f64);
    for panel in &s.panels[island.first_panel as usize..island.last_panel as usize] {
        let block = &p.blocks[panel.block as usize];
        let at = block.at as usize..(block.at + block.dim) as usize;
        let x = &point.x[at.clone()];
        force = force.max(largest(&p.c[at]));
        for (i, x) in x.iter().enumerate() {
            let diagonal = p.P[block.P_at as usize + i * (block.stride as usize + 1)];
            force = force.max((diagonal * x).abs());
            scale = scale.max(diagonal);
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
    let (mut push, mut offset, mut speed) = (0.0_f64, 0.0_f64, 0.0_f64);
    let (mut longest, mut shortest) = (0.0_f64, f64::INFINITY);
    for group in &s.groups[island.first_group as usize..island.last_group as usize] {
        for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
            let rows = cone.at as usize..(cone.at + cone.m) as usize;
            push = push.max(largest(&point.z[rows.clone()]));
            speed = speed.max(largest(&point.u[rows]));
            offset = offset.max(largest(&p.b[cone.b_at as usize..(cone.b_at + cone.k) as usize]));
            // the first row is the one along the normal
            let first = largest(&p.J[cone.J_at as usize..][..cone.width as usize]);
            longest = longest.max(first);
            shortest = if first > 0.0 { shortest.min(first) } else { shortest };
        }
    }
    let one_unit = longest <= ONE_UNIT * shortest;
    Around {
        slack: if one_unit { ROUNDING * offset.max(speed) } else { 0.0 },
        speed: if one_unit { offset.max(speed) } else { 0.0 },
        fastest: Cell::new(None),
        touching: 0.0,
        groups: &s.groups[island.first_group as usize..island.last_group as usize],
        most_at_rest: 0.0,
        scale,
        force,
        // multipliers without end are the mark of rows that cannot hold: nothing is small beside them
        all_forces: force.max(push.min(SQUEEZE * force)),
        one_unit,
    }
}

fn row_holds(p: &ConeProgram, cone: &ConeData, point: Point<'_>, around: &Around<'_>) -> bool {
    let rows = cone.at as usize..(cone.at + cone.m) as usize;
    let (u, z) = (&point.u[rows.clone()], &point.z[rows]);
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let force = around.all_forces;
    let (outside, product, push) = if cone.round {
        let dot: f64 = u.iter().zip(z).map(|(u, z)| u * z).sum();
        if norm(&z[1..]) > z[0] * (1.0 + 1e-9) + 1e-12 * force {
            return false;
        }
        (norm(&u[1..]) - u[0], dot.abs(), z[0])
    } else {
        let (mut outside, mut product, mut push) = (f64::NEG_INFINITY, 0.0_f64, 0.0_f64);
        for (u, z) in u.iter().zip(z) {
            // written so that NaN fails
            if !(*z >= 0.0 && u.is_finite()) {
                return false;
            }
            outside = outside.max(-u);
            product = product.max((u * z).abs());
            push = push.max(*z);
        }
        (outside, product, push)
    };
    // nothing balances to a digit beside multipliers without end
    if around.one_unit && push > WITHOUT_END * around.force {
        return false;
    }
    // a multiplier that is nothing may have any slack
    let idle = push <= IDLE * force;
    let fits = |slack: f64| outside <= slack && (idle || product <= slack * push);
    if fits(around.slack) {
        return true;
    }
    let slack = ROW * terms(p, cone, point.x);
    if fits(slack) {
        return true;
    }
    // by the speeds of other contacts, each in the unit of what it moves
    let fastest = around.fastest.get().unwrap_or_else(|| fastest(p, point, around));
    around.fastest.set(Some(fastest));
    let speed = fastest * row_size(p, cone, around.scale);
    let rest = if cone.round { REST_ROUND } else { REST } * natural(p, cone, around);
    let rest = rest.min(around.most_at_rest);
    // what forces would give is rounding only where nothing moves much faster
    let rest = if speed <= MOVES * rest { rest } else { rest.min(AT_SPEED * speed) };
    let speed = around.speed.min(speed);
    let slack = slack + rest;
    fits(slack) || fits(slack + around.touching * speed)
        // slack and multiplier may both be nearly nothing
        || outside <= slack && product <= PRODUCT * force * speed
}

/// Largest speed of the island's contacts in units of their size.
fn fastest(p: &ConeProgram, point: Point<'_>, around: &Around<'_>) -> f64 {
    let mut fastest = 0.0_f64;
    for group in around.groups {
        for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
            let u = largest(&point.u[cone.at as usize..(cone.at + cone.m) as usize]);
            let b = largest(&p.b[cone.b_at as usize..(cone.b_at + cone.k) as usize]);
            let size = row_size(p, cone, around.scale);
            fastest = if size > 0.0 { fastest.max(u.max(b) / size) } else { fastest };
        }
    }
    fastest
}

/// Ratio of the largest and the least size of a contact's Jacobian, every variable measured by its cost.
pub(crate) fn spread(p: &ConeProgram) -> f64 {
    let mut scale = 0.0_f64;
    for block in &p.blocks {
        for i in 0..block.dim as usize {
            scale = scale.max(p.P[block.P_at as usize + i * (block.stride as usize + 1)]);
        }
    }
    let (mut largest, mut least) = (0.0_f64, f64::INFINITY);
    for cone in &p.cones {
        let size = row_size(p, cone, scale);
        if size > 0.0 {
            (largest, least) = (largest.max(size), least.min(size));
        }
    }
    largest / least
}

/// Size of a cone's Jacobian where every variable is measured by its own cost, `scale` if it has none.
pub(crate) fn row_size(p: &ConeProgram, cone: &ConeData, scale: f64) -> f64 {
    let (k, width) = (cone.k as usize, cone.width as usize);
    let mut size = 0.0_f64;
    for side in p.sides_of(cone) {
        let block = &p.blocks[side.block as usize];
        let (dim, stride) = (block.dim as usize, block.stride as usize);
        for i in 0..dim {
            let own = p.P[block.P_at as usize + i * (stride + 1)];
            let cost = if own > 0.0 { own } else { scale };
            let J = |r: usize| p.J[cone.J_at as usize + r * width + side.column as usize + i];
            let longest = (0..k).fold(0.0, |m: f64, r| m.max(J(r).abs()));
            size = size.max(longest * longest / cost);
        }
    }
    size.sqrt()
}

/// What a cone's rows are differences of: offsets, and Jacobians times speeds.
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
            sum += J.iter().zip(x).map(|(J, x)| (J * x).abs()).sum::<f64>();
        }
        terms = terms.max(largest(&p.E[cone.E_at as usize + r * stride..][..stride]) * sum);
    }
    terms
}

/// Speed of a cone's rows that a force would give to the lighter side.
fn natural(p: &ConeProgram, cone: &ConeData, around: &Around<'_>) -> f64 {
    let (k, width) = (cone.k as usize, cone.width as usize);
    let mut speed = 0.0_f64;
    for side in p.sides_of(cone) {
        let block = &p.blocks[side.block as usize];
        let (dim, stride) = (block.dim as usize, block.stride as usize);
        let diagonal = (0..dim).map(|i| p.P[block.P_at as usize + i * (stride + 1)]);
        let lightest = diagonal.filter(|d| *d > 0.0).fold(around.scale, f64::min);
        for r in 0..k {
            let J = &p.J[cone.J_at as usize + r * width + side.column as usize..][..dim];
            // without any cost on the island there is no such speed: the most that may be
            let natural = largest(J) * around.all_forces / lightest;
            speed = speed.max(if natural.is_nan() { 0.0 } else { natural });
        }
    }
    speed
}

/// Sum of the magnitudes of a variable's forces.
fn force_terms(
    p: &ConeProgram,
    s: &Structure,
    island: &Island,
    block: u32,
    i: u32,
    point: Point<'_>,
) -> f64 {
    let data = &p.blocks[block as usize];
    let own = (i - data.at) as usize;
    let row = &p.P[data.P_at as usize + own * data.stride as usize..][..data.dim as usize];
    let x = &point.x[data.at as usize..];
    let mut sum = p.c[i as usize].abs();
    sum += row.iter().zip(x).map(|(a, b)| (a * b).abs()).sum::<f64>();
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
                let E = &p.E[cone.E_at as usize + r * cone.stride_z as usize..];
                let z = &point.z[cone.at as usize..(cone.at + cone.stride_z) as usize];
                let f: f64 = z.iter().zip(E).map(|(z, e)| (e * z).abs()).sum();
                let at = (cone.J_at + side.column) as usize + own + r * cone.width as usize;
                sum += f * p.J[at].abs();
            }
        }
    }
    sum
}
