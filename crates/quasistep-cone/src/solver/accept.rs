//! Conversion of a method's last iterate to a checked solution.

use super::{COLD_ITERATIONS, ConeSolver, FEW, reset};
use crate::check::{self, Point};
use crate::kernels;
use crate::newton::{self, Effort, Newton, Start};
use crate::program::ConeProgram;
use crate::tolerances::newton_of_cones::PENALTY;
use quasistep_linalg::kernels::max_abs;
use quasistep_linalg::{Residuals, Solution, Status};

impl ConeSolver {
    /// Unscales a solution of the scaled program and checks it by [`accept`](Self::accept).
    pub(super) fn accept_scaled(&mut self, program: &ConeProgram, out: &mut Solution) -> bool {
        let (x, z) = self.newton.answer_mut();
        self.scaled.unscale(x, z);
        self.accept(program, out)
    }

    /// Replaces a solution by the one with the smallest-norm multipliers, if Newton's method finds
    /// it. Returns whether `out` is a solution; before the call it may be close to one.
    pub(super) fn take_smallest_norm(&mut self, program: &ConeProgram, out: &mut Solution) -> bool {
        let (method, solved) = (out.method, out.status == Status::Solved);
        std::mem::swap(&mut self.answer, out);
        let mut found = false;
        // from the solution; with few variables, where it is cheap, also from a cold start
        for warm in [true, false] {
            if found || !warm && program.n > FEW {
                break;
            }
            reset(program, out);
            let Self { isa, structure, newton, answer, .. } = self;
            let iterations = newton.iterations;
            newton.prepare(program, structure);
            newton.iterations = iterations;
            newton.effort = Effort::Insist;
            found = structure.islands.iter().all(|island| {
                newton.clear(structure, island);
                let Solution { z, s, .. } = &*answer;
                let start = if warm { Start::Warm { z, s } } else { Start::Cold };
                newton.solve(*isa, program, structure, island, start, PENALTY, COLD_ITERATIONS)
                    == newton::End::Solved
            }) && self.accept(program, out);
            self.newton.effort = Effort::Normal;
        }
        if found {
            out.dual_is_smallest_norm = true;
        } else {
            std::mem::swap(&mut self.answer, out);
        }
        out.method = method;
        found || solved
    }

    /// Writes the solution in Newton's memory to `out`; returns whether it passes the check.
    pub(super) fn accept(&mut self, program: &ConeProgram, out: &mut Solution) -> bool {
        let clear = self.write(program, out);
        let Self { newton, g, structure, rest, checking, .. } = self;
        let point = Point { x: &newton.x, u: &newton.u, z: newton.multipliers(), g };
        let holds = clear || check::holds(program, structure, point, *rest, checking);
        out.status = if holds { Status::Solved } else { Status::GaveUp };
        out.iterations = newton.iterations;
        holds
    }

    /// Writes solution and residuals, computed from the program itself; returns whether the quick
    /// check accepts them.
    fn write(&mut self, program: &ConeProgram, out: &mut Solution) -> bool {
        let Self { isa, structure, newton, g, springs, .. } = self;
        for block in &program.blocks {
            let (to, from) = (block.first as usize, block.at as usize);
            let dim = block.dim as usize;
            out.x[to..to + dim].copy_from_slice(&newton.x[from..from + dim]);
        }
        g.clear();
        g.resize(program.n_padded, 0.0);
        springs.clear();
        springs.resize(if program.saturations.is_empty() { 0 } else { program.n_padded }, 0.0);
        for (k, spring) in program.saturations.iter().enumerate() {
            let at = newton.spring_at(k);
            springs[at] += spring.gradient(newton.x[at]);
            out.saturated[k] = newton.saturated(k, spring);
        }
        let all = structure
            .islands
            .last()
            .is_some_and(|i| i.last_group as usize == structure.groups.len());
        let mut clear = all && structure.islands.iter().all(|island| !island.round);
        if clear {
            out.residuals = Residuals::default();
            let Newton { x, u, .. } = newton;
            let z = newton.lambda.as_slice();
            for island in &structure.islands {
                let groups =
                    &structure.groups[island.first_group as usize..island.last_group as usize];
                let panels =
                    &structure.panels[island.first_panel as usize..island.last_panel as usize];
                let e = kernels::kkt_norms(*isa, program, groups, panels, springs, x, z, u, g);
                let point = Point { x, u, z, g };
                clear &= check::clearly_holds(*isa, program, structure, island, point, &e);
                let r = &mut out.residuals;
                r.stationarity = r.stationarity.max(e.stationarity);
                r.primal = r.primal.max(e.primal);
                r.dual = r.dual.max(e.dual);
                r.complementarity = r.complementarity.max(e.complementarity);
            }
        } else {
            kernels::slacks(*isa, program, &structure.groups, &newton.x, &mut newton.u);
            kernels::cost_times(*isa, program, &structure.panels, &newton.x, g);
            for (g, c) in g.iter_mut().zip(&program.c) {
                *g += c;
            }
            for (g, force) in g.iter_mut().zip(springs.iter()) {
                *g += force;
            }
            kernels::subtract_forces(*isa, program, &structure.groups, newton.multipliers(), g);
        }
        kernels::unpad(*isa, program, newton.multipliers(), &mut out.z);
        kernels::unpad(*isa, program, &newton.u, &mut out.s);
        if !clear {
            out.residuals = program.cone_residuals(&out.z, &out.s);
            out.residuals.stationarity = max_abs(g);
        }
        clear
    }
}
