//! Approximate solutions, to the accuracy that the caller asks for.

use super::attempts::may_prove_early;
use super::{Case, ConeSolver};
use crate::check;
use crate::interior::{Goal, Interior};
use crate::kernels::lanes;
use crate::newton::Newton;
use crate::program::ConeProgram;
use crate::structure::{Island, Panel, Structure};
use crate::tolerances::ROUNDING;
use crate::tolerances::interior::{LOST, PRODUCT_FIRST, PRODUCT_NEXT, WITHIN};
use crate::tolerances::units::EVEN;
use crate::{kernels, second_order};
use quasistep_linalg::kernels::{larger, max_abs};
use quasistep_linalg::simd::LANES;
use quasistep_linalg::{Method, Methods, Solution, Status};

/// Largest number of times that the interior point continues after its last iterate failed the
/// check.
const TIMES: u32 = 3;

impl ConeSolver {
    /// Accepts the interior point's last iterate as the solution, or a certificate where it
    /// stalled. Returns false if the iterate fails the check and there is no certificate.
    pub(super) fn approximate(&mut self, case: &Case<'_>, out: &mut Solution) -> bool {
        let (program, accuracy) = (case.program, case.settings.accuracy);
        let Self { isa, structure, sizes, interior, .. } = self;
        if !(sizes.spread(*isa, program, structure) <= EVEN) {
            return false;
        }
        // rows without variables are left to the other methods, whether feasible or not
        if structure.islands.last().is_none_or(|i| i.last_group as usize != structure.groups.len())
        {
            return false;
        }
        interior.prepare(program, structure);
        let mut target = PRODUCT_FIRST * accuracy;
        for island in &structure.islands {
            let goal = Goal { mean: target, each: WITHIN * accuracy };
            interior.solve(*isa, program, structure, island, goal, 0.0);
        }
        let may_prove = case.settings.methods.contains(Methods::PROOF) && may_prove_early(program);
        if self.interior.off > LOST && may_prove {
            self.newton.iterations = self.interior.iterations;
            if self.prove_early(program, out) {
                return true;
            }
        }
        for time in 0..=TIMES {
            self.read_interior(program, out);
            let mut near = true;
            target *= PRODUCT_NEXT;
            for i in 0..self.structure.islands.len() {
                let Self { isa, structure, interior, newton, g, net, checking, .. } = self;
                let island = &structure.islands[i];
                let forces = Forces { residual: g, net };
                if is_accurate(program, structure, island, interior, newton, forces, accuracy)
                    && is_accurate_in_units(program, structure, island, forces, accuracy, checking)
                {
                    continue;
                }
                near = false;
                if time < TIMES {
                    interior.go_on(*isa, program, structure, island, Goal::mean(target), 0.0);
                }
            }
            if near {
                out.status = Status::Solved;
                out.method = Method::InteriorPoint;
                out.iterations = self.interior.iterations;
                return true;
            }
        }
        // forget the iterate that was refused
        self.newton.prepare(program, &self.structure);
        false
    }

    /// Copies the interior point's last iterate, and computes slacks, stationarity and residuals
    /// from the program itself.
    fn read_interior(&mut self, program: &ConeProgram, out: &mut Solution) {
        let Self { isa, structure, newton, interior, g, net, springs, .. } = self;
        newton.prepare(program, structure);
        newton.adopt(program, &interior.x, &interior.z);
        g.clear();
        g.resize(program.n_padded, 0.0);
        springs.clear();
        for block in &program.blocks {
            let (to, from) = (block.first as usize, block.at as usize);
            let dim = block.dim as usize;
            out.x[to..to + dim].copy_from_slice(&newton.x[from..from + dim]);
        }
        let Structure { groups, panels, .. } = structure;
        kernels::slacks(*isa, program, groups, &newton.x, &mut newton.u);
        kernels::cost_times(*isa, program, panels, &newton.x, g);
        for (g, c) in g.iter_mut().zip(&program.c) {
            *g += c;
        }
        for (k, spring) in program.saturations.iter().enumerate() {
            let at = newton.spring_at(k);
            g[at] += spring.gradient(newton.x[at]);
            out.saturated[k] = newton.saturated(k, spring);
        }
        net.clone_from(g);
        kernels::subtract_forces(*isa, program, groups, newton.multipliers(), g);
        kernels::unpad(*isa, program, newton.multipliers(), &mut out.z);
        kernels::unpad(*isa, program, &newton.u, &mut out.s);
        out.residuals = program.cone_residuals(&out.z, &out.s);
        out.residuals.stationarity = max_abs(g);
    }
}

/// Stationarity residual, and the gradient of cost and Huber terms that the multipliers balance, in
/// padded layout.
///
/// The residual is compared with this gradient and not with the data: a Huber term far from its
/// target has a large force in the data, but not at the solution.
#[derive(Clone, Copy)]
struct Forces<'a> {
    residual: &'a [f64],
    net: &'a [f64],
}

/// Whether the KKT residuals of an island are within `accuracy`, relative to its forces and speeds.
fn is_accurate(
    program: &ConeProgram,
    s: &Structure,
    island: &Island,
    interior: &Interior,
    newton: &Newton,
    Forces { residual, net }: Forces<'_>,
    accuracy: f64,
) -> bool {
    let z = newton.multipliers();
    let panels = &s.panels[island.first_panel as usize..island.last_panel as usize];
    let variables = || panels.iter().flat_map(|p| p.x_at as usize..(p.x_at + p.dim) as usize);
    let scale = interior.scale(program, panels);
    let (mut force, mut most, mut imbalance, mut sum) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0);
    // the largest force and residual, each over the root of its variable's curvature, do not depend
    // on units
    let (mut own_force, mut own_most, mut own_imbalance) = (0.0_f64, 0.0_f64, 0.0_f64);
    for panel in panels {
        let block = &program.blocks[panel.block as usize];
        for i in 0..block.dim {
            let cost = program.P[(block.P_at + i * (block.stride + 1)) as usize];
            let root = if cost > 0.0 { cost } else { scale }.sqrt();
            let at = (block.at + i) as usize;
            let (c, net) = (program.c[at].abs(), net[at].abs());
            (force, most, imbalance) =
                (force.max(c), most.max(net), imbalance.max(residual[at].abs()));
            (own_force, own_most) = (own_force.max(c / root), own_most.max(net / root));
            own_imbalance = own_imbalance.max(residual[at].abs() / root);
            sum += residual[at];
        }
    }
    for (k, spring) in program.saturations.iter().enumerate() {
        if variables().any(|i| i == newton.spring_at(k)) {
            force = force.max(spring.gradient(0.0).abs());
            own_force = own_force.max(spring.gradient(0.0).abs() / scale.sqrt());
        }
    }
    // the reference speed is at least the natural one, capped at 1 in the caller's units because
    // the natural speed is too large where curvature is nearly zero
    let mut speed = (force / scale).min(1.0);
    // one maximum per lane, so that no operation waits for the last
    let [mut fast, mut outside, mut pull, mut product] = [[0.0; LANES]; 4];
    for group in &s.groups[island.first_group as usize..island.last_group as usize] {
        for cone in &program.cones[group.first_cone as usize..group.last_cone as usize] {
            for b in &program.b[cone.b_at as usize..][..cone.k as usize] {
                speed = speed.max(b.abs());
            }
            let rows = cone.at as usize..(cone.at + cone.stride_z) as usize;
            let (z, u) = (&z[rows.clone()], &newton.u[rows]);
            if cone.round {
                let (z, u) = (&z[..cone.m as usize], &u[..cone.m as usize]);
                speed = u.iter().fold(speed, |m, u| larger(m, u.abs()));
                outside[0] = larger(outside[0], second_order::norm(&u[1..]) - u[0]);
                pull[0] = larger(pull[0], second_order::norm(&z[1..]) - z[0]);
                let dot: f64 = z.iter().zip(u).map(|(z, u)| z * u).sum();
                product[0] = larger(product[0], dot.abs());
                continue;
            }
            // padding contributes zero
            for (z, u) in lanes(z).iter().zip(lanes(u)) {
                for l in 0..LANES {
                    fast[l] = larger(fast[l], u[l].abs());
                    outside[l] = larger(outside[l], -u[l]);
                    pull[l] = larger(pull[l], -z[l]);
                    product[l] = larger(product[l], (z[l] * u[l]).abs());
                }
            }
        }
    }
    let [fast, outside, pull, product] =
        [fast, outside, pull, product].map(|v| v.into_iter().fold(0.0, larger));
    speed = larger(speed, fast);
    // the sum is finite only if all numbers are
    sum.is_finite()
        && imbalance <= accuracy * most + ROUNDING * force
        && own_imbalance <= accuracy * own_most + ROUNDING * own_force
        && outside <= accuracy * speed
        && pull <= accuracy * force
        && product <= accuracy * force * speed
}

/// Whether stationarity is also within `accuracy` with variables in units of the cones. Needed
/// where some variable has no cost.
fn is_accurate_in_units(
    program: &ConeProgram,
    s: &Structure,
    island: &Island,
    Forces { residual, net }: Forces<'_>,
    accuracy: f64,
    checking: &mut check::Memory,
) -> bool {
    let panels = &s.panels[island.first_panel as usize..island.last_panel as usize];
    let has_cost = |panel: &Panel| {
        let block = &program.blocks[panel.block as usize];
        (0..block.dim).all(|i| program.P[(block.P_at + i * (block.stride + 1)) as usize] > 0.0)
    };
    if panels.iter().all(has_cost) {
        return true;
    }
    let units = checking.units_of(program, s, island);
    let (mut force, mut most, mut imbalance) = (0.0_f64, 0.0_f64, 0.0_f64);
    for panel in panels {
        for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
            force = force.max(units[i] * program.c[i].abs());
            most = most.max(units[i] * net[i].abs());
            imbalance = imbalance.max(units[i] * residual[i].abs());
        }
    }
    imbalance <= accuracy * most + ROUNDING * force
}
