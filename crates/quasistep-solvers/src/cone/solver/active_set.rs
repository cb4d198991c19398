//! Call of the active set for small programs, and conversion of its solution to the caller's
//! layout.

use super::{ConeSolver, WarmStart};
use crate::cone::check::{self, Point};
use crate::cone::kernels;
use crate::cone::program::ConeProgram;
use crate::cone::small::Small;
use crate::{HandOver, Method, Residuals, Solution, Status};

impl ConeSolver {
    /// Runs the active set for small programs; returns whether it solved the program.
    pub(super) fn active_set(
        &mut self,
        program: &ConeProgram,
        warm: Option<WarmStart<'_>>,
        out: &mut Solution,
    ) -> Result<(), HandOver> {
        let Self { isa, structure, small, checking, budget, .. } = self;
        let end = small.solve(*isa, program, structure, warm.map(|w| w.z));
        let product = program.n_padded * (program.m_padded + program.n_padded);
        budget.spend(u64::from(small.iterations + 1) * product as u64);
        end?;
        let Small { x, u, z, g, .. } = &*small;
        let point = Point { x, u, z, g };
        let mut islands = structure.islands.iter().zip(&small.kkt_norms);
        let clear = islands
            .all(|(island, e)| check::clearly_holds(*isa, program, structure, island, point, e));
        let mut holds = || check::holds(program, structure, point, 0.0, checking);
        debug_assert!(!clear || holds(), "the quick look accepts what the whole check refuses");
        let holds = clear || holds();
        if !holds {
            return Err(HandOver::Check);
        }
        for block in &program.blocks {
            let (to, from) = (block.first as usize, block.at as usize);
            let dim = block.dim as usize;
            out.x[to..to + dim].copy_from_slice(&x[from..from + dim]);
        }
        kernels::unpad(*isa, program, z, &mut out.z);
        kernels::unpad(*isa, program, u, &mut out.s);
        out.residuals = Residuals::default();
        for e in &small.kkt_norms {
            let r = &mut out.residuals;
            r.stationarity = r.stationarity.max(e.stationarity);
            r.primal = r.primal.max(e.primal);
            r.complementarity = r.complementarity.max(e.complementarity);
        }
        out.status = Status::Solved;
        out.iterations = small.iterations;
        out.method = if warm.is_some() { Method::WarmActiveSet } else { Method::ColdActiveSet };
        out.dual_is_smallest_norm = true;
        Ok(())
    }
}
