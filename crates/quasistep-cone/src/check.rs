//! Check of a solution: KKT residuals row by row and variable by variable. Each is compared with
//! its own terms and with the forces and speeds of its island.
//!
//! Rows and variables of one program may have different units. So residuals of two rows are
//! comparable only in units of the island's cones ([`Units`]).

use crate::kernels::{self, Allowed, Isa, KktNorms, may_cancel};
use crate::program::{ConeData, ConeProgram, MAX_ROWS};
use crate::structure::{Group, Island, Panel, Structure};
use crate::tolerances::check::{
    AT_REST_WITHOUT_COST, BALANCE, BALANCE_ROUNDING, CANCELLED, CONE, FORCE_RATIO, IDLE,
    ISLAND_WITHOUT_COST, PRODUCT, QUICK_ALIKE, QUICK_BALANCE, QUICK_SHARE, QUICK_SPEED,
    QUICK_SPREAD, QUICK_TOUCHING, QUICK_TOUCHING_ALIKE, ROW, TOUCHING, TOUCHING_UNEVEN,
};
use crate::tolerances::newton_of_cones::{NOISE_AT_REST, TOUCHING_AT_REST};
use crate::tolerances::units::EVEN;
use crate::tolerances::{DIVERGED, ROUNDING};
use crate::units::{self, Units};

/// A point in padded layout: `x`, slacks `u = A x − b`, multipliers, and stationarity residual `g =
/// P x + c + ∇huber − Aᵀ z`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point<'a> {
    pub x: &'a [f64],
    pub u: &'a [f64],
    pub z: &'a [f64],
    pub g: &'a [f64],
}

/// Scratch memory of [`holds`]. The vectors are sums over terms of stationarity, one entry for each
/// padded variable.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    units: Units,
    /// `|c_i| + Σ_j |P_ij x_j| + |∇huber_i|`.
    own: Vec<f64>,
    /// `Σ |J_ri f_r|` over the cones' forces `f = Eᵀ z`.
    pushes: Vec<f64>,
    /// `|c_i| + |Σ_j P_ij x_j| + |∇huber_i|`.
    felt: Vec<f64>,
}

/// Reference sizes of an island, in units of its cones.
#[derive(Clone, Copy, Debug, Default)]
struct Around {
    speed: f64,
    force: f64,
    touching: f64,
    /// Violation that counts as zero where all speeds are zero.
    at_rest: f64,
    /// Violation that counts as zero, in the caller's unit.
    nothing: f64,
    /// Multiplier above which rows count as inconsistent.
    without_end: f64,
}

/// Quick sufficient test for [`holds`], from the KKT residual norms `e` of an island of pyramids.
/// Most solutions pass it, often without a sweep over the rows.
pub(crate) fn clearly_holds(
    isa: Isa,
    p: &ConeProgram,
    s: &Structure,
    island: &Island,
    point: Point<'_>,
    e: &KktNorms,
) -> bool {
    let speed = e.offset.max(e.speed);
    let slack = ROUNDING * speed;
    let sane = e.finite
        && e.longest <= QUICK_SPREAD * e.shortest
        && e.dual <= 0.0
        && e.push <= FORCE_RATIO * e.force
        && e.stationarity <= QUICK_BALANCE * e.force;
    let groups = &s.groups[island.first_group as usize..island.last_group as usize];
    let panels = &s.panels[island.first_panel as usize..island.last_panel as usize];
    // the reference force of a variable without cones is its own, not that of the island
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
    if e.primal <= slack && e.held <= slack {
        return true;
    }
    let hold = |by_size: f64| {
        // `row_holds` adds in another order: allow slightly less than it does
        let allowed = Allowed { of_terms: QUICK_SHARE * ROW, by_size, anyway: slack };
        kernels::rows_hold(isa, p, groups, allowed, point.x, point.z, point.u)
    };
    if e.longest > 0.0 {
        let clearly = QUICK_TOUCHING * speed * e.shortest / e.longest;
        let closely = QUICK_TOUCHING_ALIKE * e.offset;
        hold(clearly / e.longest)
            || closely > clearly
                && kernels::thinnest(p, groups) >= QUICK_ALIKE * e.longest
                && hold(closely / e.longest)
    } else {
        hold(0.0)
    }
}

/// Whether some cone's Jacobian has an entry above `least` for variable `i` of a block.
fn is_touched(p: &ConeProgram, groups: &[Group], block: u32, i: usize, least: f64) -> bool {
    groups.iter().any(|group| {
        // all cones of a group act on the same blocks
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

/// Largest magnitude of the entries; NaN is ignored.
fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m, v| m.max(v.abs()))
}

/// Whether the point is optimal up to rounding of its terms. Violations up to `nothing`, in the
/// caller's unit, count as zero.
pub(crate) fn holds(
    p: &ConeProgram,
    s: &Structure,
    point: Point<'_>,
    nothing: f64,
    memory: &mut Memory,
) -> bool {
    // rows without variables have constant slacks
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
                    // the condition is false for NaN
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
    /// Allocates memory for a program.
    pub fn reserve(&mut self, p: &ConeProgram) {
        self.units.reserve(p);
        for v in [&mut self.own, &mut self.pushes, &mut self.felt] {
            v.reserve(p.n_padded.saturating_sub(v.len()));
        }
    }

    /// Units of an island's variables that equilibrate its cones; zero for variables without cones.
    pub fn units_of(&mut self, p: &ConeProgram, s: &Structure, island: &Island) -> &[f64] {
        self.units.fill(p, s, island);
        &self.units.variable
    }

    /// Fills `own`, `pushes` and `felt`.
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

    /// Whether the stationarity residual `g` of variable `i`, which no cone touches, is acceptable.
    /// It is compared with the variable's own forces and with those on its block, each over the
    /// root of its curvature. It also passes if it is rounding of the latter.
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
        // a variable without curvature is compared with its own forces only
        let balanced =
            g <= BALANCE * self.own[i] && (!(own > 0.0) || g <= BALANCE * FORCE_RATIO * around);
        balanced || g <= BALANCE_ROUNDING * around
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
        let force = force.min(FORCE_RATIO * whole);
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
        // the reference curvature of an island without cost is the largest of the program
        let rest = if stiff > 0.0 {
            0.0
        } else if heaviest > 0.0 {
            ISLAND_WITHOUT_COST * raw_force / heaviest
        } else {
            AT_REST_WITHOUT_COST
        };
        let even = longest <= EVEN * shortest;
        let at_rest =
            if even { TOUCHING_AT_REST * natural.min(shortest) } else { NOISE_AT_REST * natural };
        Around {
            speed,
            at_rest,
            // diverging multipliers must not make every residual relatively small
            force: force.max(all.max(push).min(FORCE_RATIO * force)),
            touching: if even { TOUCHING } else { TOUCHING_UNEVEN },
            nothing: nothing.max(rest),
            without_end: if even { DIVERGED * force } else { f64::INFINITY },
        }
    }
}

/// Whether slacks and multipliers of a cone are feasible and complementary. `unit` is the factor of
/// the cone's rows, 0 for rows of zeros.
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
    // in the caller's units; rows of zeros have no unit
    let force = around.force * unit;
    let [speed, at_rest] =
        [around.speed, around.at_rest].map(|v| if unit > 0.0 { v / unit } else { 0.0 });
    let fits = |error: &Error, slack: f64, idle: bool| {
        error.outside <= slack && (idle || error.product <= slack * error.push)
    };
    let near = |error: &Error, own: f64, terms: f64| {
        // if the multiplier counts as zero, the slack may have any value
        let idle = error.push * own <= IDLE * force;
        let slack = around.nothing + at_rest * own + ROW * terms;
        fits(error, slack, idle)
            || fits(error, slack + around.touching * speed * own, idle)
            // both slack and multiplier may be small
            || error.outside <= slack && error.product <= PRODUCT * around.force * around.speed
    };
    let mut all = Error { outside: f64::NEG_INFINITY, ..Error::default() };
    if cone.round {
        // the condition is true for NaN, which fails the check
        if !(norm(&z[1..]) <= z[0] * (1.0 + CONE) + ROUNDING * force) {
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
    // diverging multipliers indicate inconsistent rows
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
        // a cancelling edge is allowed rounding: its own, and that which the quick check allows
        let rounding = ROUNDING / ROW * (terms_of_edge + QUICK_SPEED * speed);
        let terms = (terms_of_edge * left).max(if left < 1.0 { rounding } else { 0.0 });
        near(&Error { outside: -u, product: (u * z).abs(), push: *z }, own * left, terms)
    })
}

/// Ratio of the largest entry of edge `j` of `E J` to the largest sum of magnitudes of its terms; 1
/// unless terms cancel.
///
/// Example: an edge orthogonal to the only direction in which its block can move has an `E J` near
/// zero, although `E` and `J` are not. A violation that is small relative to `E` and `J` is then
/// large relative to `E J`.
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
    if left < CANCELLED * all { left / all } else { 1.0 }
}

/// KKT residuals of a row or a cone (violation, complementarity product), and the multiplier.
#[derive(Default)]
struct Error {
    outside: f64,
    product: f64,
    push: f64,
}

/// Sizes of the terms of a cone's slacks: for every row of its Jacobian the largest entry, and
/// `|b_r| + Σ |J_ri x_i|`.
struct Terms {
    entry: [f64; MAX_ROWS],
    sum: [f64; MAX_ROWS],
    /// Largest size of an edge; see [`of_edge`](Self::of_edge).
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

    /// Size of edge `j`, an upper bound of its largest `|E_rj J_ri|`; and its largest term `|E_rj|
    /// (|b_r| + Σ |J_ri x_i|)`.
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
