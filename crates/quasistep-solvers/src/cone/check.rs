//! Whether an answer holds, row by row and variable by variable, against the terms of each and against
//! the forces and speeds around.
//!
//! Rows and variables of one problem may have any units: an error says nothing beside a number of
//! another row, unless both are in units of the island's contacts ([`Units`]).

use crate::cone::kernels::{self, Allowed, Extremes, Isa};
use crate::cone::program::{ConeData, ConeProgram, LANES, MAX_ROWS};
use crate::cone::structure::{Group, Island, Panel, Structure};
use crate::cone::units::{self, Units};

/// Slack that a row may have where it should be zero or more, as a share of its terms.
const ROW: f64 = 1e-8;
/// The same as a share of the speeds around, in units of the contacts: rows of a patch contradict one
/// another by so much. Less where the caller's rows come in many units: those of the contacts are then
/// known only roughly.
const TOUCHING: f64 = 1e-8;
const TOUCHING_UNEVEN: f64 = 1e-9;
/// What of it is rounding.
const ROUNDING: f64 = 1e-12;
/// Largest slack of an island over the speeds around, both of which the two looks measure differently.
const QUICK: f64 = 10.0;
/// Share of its terms' sizes that is left of an edge whose rows of the Jacobian cancel, below which it is
/// measured by what is left.
pub(crate) const THIN: f64 = 0.1;
/// Ratio of the largest and the least row above which the quick look does not trust its units.
const ONE_UNIT: f64 = 1e3;
/// Slack where nothing moves, as a share of the speed that the forces of cost and springs would give to the
/// heaviest body; where the caller's rows are alike, that is believed up to one of its units.
const AT_REST: f64 = 5e-13;
const AT_REST_UNEVEN: f64 = 1e-16;
/// Slack where there is no cost at all and so no speed to compare with: as a share of the speed that the
/// forces would give to the heaviest body of all, and in the caller's unit.
const REST_OF_ALL: f64 = 2e-12;
const REST_WITHOUT_COST: f64 = 1e-18;
/// Largest forces of contacts, over those of cost and springs, that errors are compared with; and largest
/// parts of the cost's own forces over what is left of them: along a direction that the cost hardly resists
/// the parts grow without end, and beside them no force would count.
const SQUEEZE: f64 = 1e5;
/// The same above which multipliers are no answer: they are the mark of rows that cannot hold.
const WITHOUT_END: f64 = 1e10;
/// Imbalance of a variable, as a share of the forces around in units of the contacts; of its own terms where
/// no contact touches it.
const BALANCE: f64 = 3e-9;
/// Imbalance of a variable that no contact touches and that has hardly any force of its own, as a share of the
/// forces on its block.
const IMBALANCE_OF_REST: f64 = 1e-14;
/// Imbalance in the caller's units and slack, as a share of the speeds, that are no question where those of
/// the contacts need not be found: rows and variables there are within [`ONE_UNIT`] of one another.
const CLEARLY_BALANCED: f64 = 1e-11;
const CLEARLY_TOUCHING: f64 = 5e-10;
/// The same where every contact's normal moves all bodies that it touches nearly alike, this much at least
/// of the most, as a share of the offsets: units are then no question at all.
const CLOSELY_TOUCHING: f64 = 4e-9;
const CLOSE: f64 = 0.5;
/// Ratio of the rows' units above which the problem counts as uneven.
const EVEN: f64 = 30.0;
/// Share of what a row may be off that is believed from sums in another order.
const SURE: f64 = 0.999;
/// Multiplier that is nothing, as a share of the largest force around.
const IDLE: f64 = 1e-8;
/// Product of slack and multiplier that is nothing, as a share of that force and the speeds around.
const PRODUCT: f64 = 1e-14;

/// A point in padded layout: `x`, `u = A x − b`, multipliers, `g = P x + c + ∇huber − Aᵀ z`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point<'a> {
    pub x: &'a [f64],
    pub u: &'a [f64],
    pub z: &'a [f64],
    pub g: &'a [f64],
}

/// Memory of [`holds`].
#[derive(Debug, Default)]
pub(crate) struct Memory {
    units: Units,
    /// Sums of the magnitudes of every variable's forces: cost and springs, contacts.
    own: Vec<f64>,
    pushes: Vec<f64>,
    /// The same of cost and springs, the product of curvature and speeds as one force.
    felt: Vec<f64>,
}

/// What errors on an island are compared with, in units of its contacts.
#[derive(Clone, Copy, Debug, Default)]
struct Around {
    speed: f64,
    force: f64,
    touching: f64,
    /// Slack where nothing moves.
    at_rest: f64,
    /// Slack that is nothing in the caller's unit.
    nothing: f64,
    /// Multiplier that is no answer.
    without_end: f64,
}

/// True only if [`holds`] is, for an island of pyramids whose extremes these are: what most answers pass,
/// without a look at every row, or with a quick one.
pub(crate) fn clearly_holds(
    isa: Isa,
    p: &ConeProgram,
    s: &Structure,
    island: &Island,
    point: Point<'_>,
    e: &Extremes,
) -> bool {
    let speed = e.offset.max(e.speed);
    let slack = ROUNDING * speed;
    let sane = e.finite
        && e.longest <= ONE_UNIT * e.shortest
        && e.pull <= 0.0
        && e.push <= SQUEEZE * e.force
        && e.imbalance <= CLEARLY_BALANCED * e.force;
    let groups = &s.groups[island.first_group as usize..island.last_group as usize];
    let panels = &s.panels[island.first_panel as usize..island.last_panel as usize];
    // what no contact touches balances beside its own forces, not beside those of the island
    let balanced = |panel: &Panel| {
        (0..panel.dim).all(|i| {
            let at = (panel.x_at + i) as usize;
            point.g[at].abs() <= BALANCE * p.c[at].abs()
                || is_touched(p, groups, panel.block, i as usize, ROUNDING * e.longest)
        })
    };
    if !(sane && panels.iter().all(balanced)) {
        return false;
    }
    if e.outside <= slack && e.held <= slack {
        return true;
    }
    let hold = |by_size: f64| {
        // other sums than those of `row_holds`: a little less is sure to be no more
        let allowed = Allowed { of_terms: SURE * ROW, by_size, anyway: slack };
        kernels::rows_hold(isa, p, groups, allowed, point.x, point.z, point.u)
    };
    if e.longest > 0.0 {
        let clearly = CLEARLY_TOUCHING * speed * e.shortest / e.longest;
        let closely = CLOSELY_TOUCHING * e.offset;
        hold(clearly / e.longest)
            || closely > clearly
                && kernels::thinnest(p, groups) >= CLOSE * e.longest
                && hold(closely / e.longest)
    } else {
        hold(0.0)
    }
}

/// Whether a contact moves variable `i` of a block by more than `least`.
fn is_touched(p: &ConeProgram, groups: &[Group], block: u32, i: usize, least: f64) -> bool {
    groups.iter().any(|group| {
        // all cones of a group are over the same blocks
        let cones = &p.cones[group.first_cone as usize..group.last_cone as usize];
        let Some(side) = p.sides_of(&cones[0]).iter().find(|side| side.block == block) else {
            return false;
        };
        cones.iter().any(|cone| {
            (0..cone.k as usize).any(|r| {
                let at = cone.J_at as usize + r * cone.width as usize + side.column as usize + i;
                units::edge(p, cone, r, cone.stride_z as usize) * p.J[at].abs() > least
            })
        })
    })
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
    nothing: f64,
    memory: &mut Memory,
) -> bool {
    // rows of no variable hold or do not
    let alone = s.islands.last().map_or(0, |island| island.last_group as usize);
    let around = Around { nothing, without_end: f64::INFINITY, ..Around::default() };
    let all_alone = s.groups[alone..].iter().all(|group| {
        let cones = &p.cones[group.first_cone as usize..group.last_cone as usize];
        cones.iter().all(|cone| row_holds(p, cone, point, &around, 0.0))
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
    memory.sum_forces(p, point);
    s.islands.iter().all(|island| {
        memory.units.fill(p, s, island);
        let around = memory.survey(p, s, island, point, nothing, heaviest);
        let groups = &s.groups[island.first_group as usize..island.last_group as usize];
        let rows_hold = groups.iter().all(|group| {
            let (first, last) = (group.first_cone as usize, group.last_cone as usize);
            let units = &memory.units.row[first..last];
            let mut cones = p.cones[first..last].iter().zip(units);
            cones.all(|(cone, unit)| row_holds(p, cone, point, &around, *unit))
        });
        let panels = &s.panels[island.first_panel as usize..island.last_panel as usize];
        rows_hold
            && panels.iter().all(|panel| {
                let mut variables = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
                variables.all(|i| {
                    let (g, unit) = (point.g[i].abs(), memory.units.variable[i]);
                    // written so that NaN fails
                    if unit > 0.0 {
                        g * unit <= BALANCE * around.force
                    } else {
                        memory.is_balanced(p, panel, i, g)
                    }
                })
            })
    })
}

impl Memory {
    /// Makes room for a program.
    pub fn reserve(&mut self, p: &ConeProgram) {
        self.units.reserve(p);
        for v in [&mut self.own, &mut self.pushes, &mut self.felt] {
            v.reserve(p.n_padded.saturating_sub(v.len()));
        }
    }

    /// Units of the variables of an island, in which its contacts are alike; zero of those that none touches.
    pub fn units_of(&mut self, p: &ConeProgram, s: &Structure, island: &Island) -> &[f64] {
        self.units.fill(p, s, island);
        &self.units.variable
    }

    /// Sums of the magnitudes of all variables' forces.
    fn sum_forces(&mut self, p: &ConeProgram, point: Point<'_>) {
        let Self { own, pushes, felt, .. } = self;
        for v in [&mut *own, &mut *felt] {
            v.clear();
            v.extend(p.c.iter().map(|c| c.abs()));
        }
        pushes.clear();
        pushes.resize(p.n_padded, 0.0);
        for block in &p.blocks {
            let (dim, stride, at) = (block.dim as usize, block.stride as usize, block.at as usize);
            let x = &point.x[at..at + dim];
            for i in 0..dim {
                let row = &p.P[block.P_at as usize + i * stride..][..dim];
                let (mut sum, mut parts) = (0.0, 0.0);
                for (a, b) in row.iter().zip(x) {
                    sum += a * b;
                    parts += (a * b).abs();
                }
                own[at + i] += parts;
                felt[at + i] += sum.abs();
            }
        }
        for spring in &p.saturations {
            let at = p.padded_index(spring.index);
            let force = spring.gradient(point.x[at]).abs();
            own[at] += force;
            felt[at] += force;
        }
        for cone in &p.cones {
            let (width, stride) = (cone.width as usize, cone.stride_z as usize);
            let z = &point.z[cone.at as usize..][..stride];
            if z.iter().all(|z| *z == 0.0) {
                continue;
            }
            for r in 0..cone.k as usize {
                let E = &p.E[cone.E_at as usize + r * stride..][..stride];
                let force: f64 = z.iter().zip(E).map(|(z, e)| (e * z).abs()).sum();
                let J = &p.J[cone.J_at as usize + r * width..][..width];
                for (columns, variables) in units::sides(p, cone) {
                    for (push, J) in pushes[variables].iter_mut().zip(&J[columns]) {
                        *push += force * J.abs();
                    }
                }
            }
        }
    }

    /// Whether `g` on variable `i`, which no contact touches, is little beside its own forces, and beside those on
    /// its block, each measured by its own curvature; or rounding of those, where it has hardly any of its own.
    fn is_balanced(&self, p: &ConeProgram, panel: &Panel, i: usize, g: f64) -> bool {
        let block = &p.blocks[panel.block as usize];
        let root = |at: usize| {
            let own = at - block.at as usize;
            p.P[block.P_at as usize + own * (block.stride as usize + 1)].sqrt()
        };
        let own = root(i);
        let mut felt = 0.0_f64;
        for j in block.at as usize..(block.at + block.dim) as usize {
            let root = root(j);
            if root > 0.0 {
                felt = felt.max(self.felt[j] / root);
            }
        }
        let around = felt * own;
        // without curvature of its own it is compared with its own forces alone
        let balanced =
            g <= BALANCE * self.own[i] && (!(own > 0.0) || g <= BALANCE * SQUEEZE * around);
        balanced || g <= IMBALANCE_OF_REST * around
    }

    fn survey(
        &self,
        p: &ConeProgram,
        s: &Structure,
        island: &Island,
        point: Point<'_>,
        nothing: f64,
        heaviest: f64,
    ) -> Around {
        let Self { units, own, pushes, felt } = self;
        let (mut force, mut all, mut stiff, mut speed) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64);
        let (mut raw_force, mut whole) = (0.0_f64, 0.0_f64);
        for panel in &s.panels[island.first_panel as usize..island.last_panel as usize] {
            let block = &p.blocks[panel.block as usize];
            for own_i in 0..block.dim as usize {
                let i = block.at as usize + own_i;
                let unit = units.variable[i];
                raw_force = raw_force.max(own[i]);
                if unit > 0.0 {
                    let diagonal = p.P[block.P_at as usize + own_i * (block.stride as usize + 1)];
                    force = force.max(unit * own[i]);
                    whole = whole.max(unit * felt[i]);
                    all = all.max(unit * pushes[i]);
                    stiff = stiff.max(unit * unit * diagonal);
                    speed = speed.max(point.x[i].abs() / unit);
                }
            }
        }
        let force = force.min(SQUEEZE * whole);
        for spring in &p.saturations {
            let block = p.block_of(spring.index);
            if (island.first_panel..island.last_panel).contains(&s.panel_of_block[block]) {
                let unit = units.variable[p.padded_index(spring.index)];
                stiff = stiff.max(unit * unit * spring.stiffness);
            }
        }
        let (mut longest, mut shortest) = (0.0_f64, f64::INFINITY);
        let mut push = 0.0_f64;
        for group in &s.groups[island.first_group as usize..island.last_group as usize] {
            for k in group.first_cone as usize..group.last_cone as usize {
                let (cone, unit) = (&p.cones[k], units.row[k]);
                if unit == 0.0 {
                    continue;
                }
                (longest, shortest) = (longest.max(unit), shortest.min(unit));
                for r in 0..cone.k as usize {
                    let b = p.b[cone.b_at as usize + r].abs();
                    if b > 0.0 {
                        let edge = units::edge(p, cone, r, cone.stride_z as usize);
                        speed = speed.max(unit * edge * b);
                    }
                }
                push = push.max(largest(&point.z[cone.at as usize..][..cone.m as usize]) / unit);
            }
        }
        let natural = if stiff > 0.0 { force / stiff } else { 0.0 };
        // of an island without any cost, by the heaviest body of all
        let rest = if stiff > 0.0 {
            0.0
        } else if heaviest > 0.0 {
            REST_OF_ALL * raw_force / heaviest
        } else {
            REST_WITHOUT_COST
        };
        let even = longest <= EVEN * shortest;
        let at_rest = if even { AT_REST * natural.min(shortest) } else { AT_REST_UNEVEN * natural };
        Around {
            speed,
            at_rest,
            // multipliers without end: nothing is small beside them
            force: force.max(all.max(push).min(SQUEEZE * force)),
            touching: if even { TOUCHING } else { TOUCHING_UNEVEN },
            nothing: nothing.max(rest),
            without_end: if even { WITHOUT_END * force } else { f64::INFINITY },
        }
    }
}

/// Whether a cone and its multipliers hold; `unit` is that of its rows.
fn row_holds(
    p: &ConeProgram,
    cone: &ConeData,
    point: Point<'_>,
    around: &Around,
    unit: f64,
) -> bool {
    let rows = cone.at as usize..(cone.at + cone.m) as usize;
    let (u, z) = (&point.u[rows.clone()], &point.z[rows]);
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    // in the caller's units; of rows of zeros there is none
    let force = around.force * unit;
    let [speed, at_rest] =
        [around.speed, around.at_rest].map(|v| if unit > 0.0 { v / unit } else { 0.0 });
    let fits = |error: &Error, slack: f64, idle: bool| {
        error.outside <= slack && (idle || error.product <= slack * error.push)
    };
    let near = |error: &Error, own: f64, terms: f64| {
        // a multiplier that is nothing may have any slack
        let idle = error.push * own <= IDLE * force;
        let slack = around.nothing + at_rest * own + ROW * terms;
        fits(error, slack, idle)
            || fits(error, slack + around.touching * speed * own, idle)
            // slack and multiplier may both be nearly nothing
            || error.outside <= slack && error.product <= PRODUCT * around.force * around.speed
    };
    let mut all = Error { outside: f64::NEG_INFINITY, ..Error::default() };
    if cone.round {
        // written so that NaN fails
        if !(norm(&z[1..]) <= z[0] * (1.0 + 1e-9) + 1e-12 * force) {
            return false;
        }
        let dot: f64 = u.iter().zip(z).map(|(u, z)| u * z).sum();
        all = Error { outside: norm(&u[1..]) - u[0], product: dot.abs(), push: z[0] };
    } else {
        for (u, z) in u.iter().zip(z) {
            if !(*z >= 0.0 && u.is_finite()) {
                return false;
            }
            all.outside = all.outside.max(-u);
            all.product = all.product.max((u * z).abs());
            all.push = all.push.max(*z);
        }
    }
    // nothing balances to a digit beside multipliers without end
    if unit > 0.0 && all.push > around.without_end * unit {
        return false;
    }
    if fits(&all, around.nothing.max(ROUNDING * speed), all.push <= IDLE * force) {
        return true;
    }
    let terms = Terms::new(p, cone, point.x);
    if cone.round {
        let most = (0..cone.m as usize).map(|j| terms.of_edge(p, cone, j)[1]).fold(0.0, f64::max);
        return near(&all, 1.0, most);
    }
    u.iter().zip(z).enumerate().all(|(j, (u, z))| {
        let [size, terms_of_edge] = terms.of_edge(p, cone, j);
        let own = if terms.size > 0.0 { size / terms.size } else { 0.0 };
        let left = left_of_edge(p, cone, j);
        // of one that is nothing at all, rounding: its own, and what the quick look takes for that
        let rounding = ROUNDING / ROW * (terms_of_edge + QUICK * speed);
        let terms = (terms_of_edge * left).max(if left < 1.0 { rounding } else { 0.0 });
        near(&Error { outside: -u, product: (u * z).abs(), push: *z }, own * left, terms)
    })
}

/// Whether a cone touches so few variables that the rows of its Jacobian can cancel in all of them.
pub(crate) fn may_cancel(p: &ConeProgram, cone: &ConeData) -> bool {
    let dims = p.sides_of(cone).iter().map(|side| p.blocks[side.block as usize].dim as usize);
    cone.k > 1 && dims.sum::<usize>() <= LANES
}

/// Share of an edge's terms that is left where they cancel; one unless that is little.
///
/// On a slider whose way an edge is normal to, `E J` is next to nothing though `E` and `J` are not: what
/// is little beside them moves the slider far.
fn left_of_edge(p: &ConeProgram, cone: &ConeData, j: usize) -> f64 {
    if !may_cancel(p, cone) {
        return 1.0;
    }
    let (mut left, mut all) = (0.0_f64, 0.0_f64);
    for (column, _) in units::columns(p, cone) {
        let (mut sum, mut parts) = (0.0_f64, 0.0_f64);
        for r in 0..cone.k as usize {
            let E = p.E[cone.E_at as usize + r * cone.stride_z as usize + j];
            let part = E * p.J[cone.J_at as usize + r * cone.width as usize + column];
            sum += part;
            parts += part.abs();
        }
        left = left.max(sum.abs());
        all = all.max(parts);
    }
    if left < THIN * all { left / all } else { 1.0 }
}

/// What a row or a cone is off: by how much it is outside, its product, and the multiplier.
#[derive(Default)]
struct Error {
    outside: f64,
    product: f64,
    push: f64,
}

/// What the slacks of a cone are made of: for every row of its Jacobian the largest entry, and the sum of
/// the magnitudes of offset and Jacobian times speeds.
struct Terms {
    entry: [f64; MAX_ROWS],
    sum: [f64; MAX_ROWS],
    /// Size of its largest edge.
    size: f64,
}

impl Terms {
    fn new(p: &ConeProgram, cone: &ConeData, x: &[f64]) -> Self {
        let (k, width) = (cone.k as usize, cone.width as usize);
        let mut terms = Self { entry: [0.0; MAX_ROWS], sum: [0.0; MAX_ROWS], size: 0.0 };
        for r in 0..k {
            let (mut entry, mut sum) = (0.0_f64, p.b[cone.b_at as usize + r].abs());
            let J = &p.J[cone.J_at as usize + r * width..][..width];
            for (columns, variables) in units::sides(p, cone) {
                for (J, x) in J[columns].iter().zip(&x[variables]) {
                    entry = entry.max(J.abs());
                    sum += (J * x).abs();
                }
            }
            (terms.entry[r], terms.sum[r]) = (entry, sum);
        }
        for j in 0..cone.m as usize {
            terms.size = terms.size.max(terms.of_edge(p, cone, j)[0]);
        }
        terms
    }

    /// Of edge `j` its size, that is its largest entry times one of the Jacobian, and its largest term.
    fn of_edge(&self, p: &ConeProgram, cone: &ConeData, j: usize) -> [f64; 2] {
        let (mut size, mut terms) = (0.0_f64, 0.0_f64);
        for r in 0..cone.k as usize {
            let E = p.E[cone.E_at as usize + r * cone.stride_z as usize + j].abs();
            size = size.max(E * self.entry[r]);
            terms = terms.max(E * self.sum[r]);
        }
        [size, terms]
    }
}
