//! Answers to a given accuracy, where not all digits are asked for.

use super::{ConeSolver, EVEN};
use crate::cone::program::ConeProgram;
use crate::cone::structure::Structure;
use crate::cone::{check, kernels};
use crate::kernels::max_abs;
use crate::{Method, Solution, Status};

/// Mean product at which the interior point is asked whether it is near enough, as a share of the accuracy, and
/// that for every time that it is not.
const PRODUCT: f64 = 0.3;
const CLOSER: f64 = 0.1;
const TIMES: u32 = 3;

impl ConeSolver {
    /// The interior point's own end; false if it is not near enough.
    pub(super) fn nearly(
        &mut self,
        program: &ConeProgram,
        accuracy: f64,
        out: &mut Solution,
    ) -> bool {
        if !(check::spread(program) <= EVEN) {
            return false;
        }
        let Self { isa, structure, interior, .. } = self;
        interior.prepare(program, structure);
        let mut target = PRODUCT * accuracy;
        for island in &structure.islands {
            interior.solve(*isa, program, structure, island, target, 0.0);
        }
        for time in 0..=TIMES {
            self.read_interior(program, out);
            if self.is_near(program, accuracy, out) {
                out.status = Status::Solved;
                out.method = Method::InteriorPoint;
                out.iterations = self.interior.iterations;
                return true;
            }
            if time == TIMES {
                break;
            }
            target *= CLOSER;
            let Self { isa, structure, interior, .. } = self;
            for island in &structure.islands {
                interior.go_on(*isa, program, structure, island, target, 0.0);
            }
        }
        false
    }

    /// Takes the point of the interior point, with slacks, imbalance and residuals of the program's own.
    fn read_interior(&mut self, program: &ConeProgram, out: &mut Solution) {
        let Self { isa, structure, newton, interior, g, springs, .. } = self;
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
        kernels::subtract_forces(*isa, program, groups, newton.multipliers(), g);
        program.unpad(newton.multipliers(), &mut out.z);
        program.unpad(&newton.u, &mut out.s);
        out.residuals = program.cone_residuals(&out.z, &out.s);
        out.residuals.stationarity = max_abs(g);
    }

    /// Whether residuals are small beside the forces and speeds around.
    fn is_near(&self, program: &ConeProgram, accuracy: f64, out: &Solution) -> bool {
        let springs = program.saturations.iter().map(|s| s.gradient(0.0).abs());
        let force = springs.fold(max_abs(&program.c), f64::max);
        let speed = max_abs(&program.b).max(max_abs(&out.s));
        let r = &out.residuals;
        // written so that NaN fails
        r.stationarity <= accuracy * force
            && r.primal <= accuracy * speed
            && r.dual <= accuracy * force
            && r.complementarity <= accuracy * force * speed
    }
}
