//! Mixed-integer quadratic programs with disjunctions of rows, solved by branch and bound without
//! big-M. Start reading in `search.rs`.

mod branch;
mod incumbent;
mod problem;
mod search;
mod solution;
mod state;

pub use problem::{Choices, Miqp};
pub use solution::{Hooks, MiqpLimit, MiqpSettings, MiqpSolution, MiqpStatus, Propose};

use quasistep_linalg::kernels::zeros;
use state::Search;

/// Branch and bound for [`Miqp`]. It keeps its memory between calls; the contents do not affect
/// results.
///
/// ```
/// use quasistep_qp::{Choices, Hooks, Miqp, MiqpSettings, MiqpSolution, MiqpSolver, MiqpStatus, Rows, Side};
///
/// // the point nearest to (2, 1) with x, y ≥ 0 and x y = 0
/// let (mut rows, mut choices) = (Rows::new(), Choices::new());
/// rows.push(&[0], &[1.0]);
/// rows.push(&[1], &[1.0]);
/// choices.push_pair(0, 1);
/// let miqp = Miqp {
///     n: 2, P: &[1.0, 0.0, 0.0, 1.0], c: &[-2.0, -1.0], A: &rows, b: &[0.0, 0.0],
///     sides: &[Side::AtLeast; 2], choices: &choices,
/// };
/// let mut solution = MiqpSolution::default();
/// MiqpSolver::new().solve(&miqp, &MiqpSettings::default(), &mut Hooks::default(), &mut solution);
/// assert_eq!(solution.status, MiqpStatus::Optimal);
/// assert_eq!((solution.x[0], solution.modes[0]), (2.0, 1));
/// ```
#[derive(Debug, Default)]
pub struct MiqpSolver {
    search: Search,
}

impl MiqpSolver {
    /// A solver without allocated memory; it grows with the largest problem.
    pub fn new() -> Self {
        Self::default()
    }

    /// Searches for the optimum of `miqp` and writes the result to `out`.
    ///
    /// Every input yields a status; invalid data end in [`MiqpStatus::Failed`]. Nothing is
    /// allocated once a problem of this size and depth has been solved.
    pub fn solve(
        &mut self,
        miqp: &Miqp<'_>,
        settings: &MiqpSettings,
        hooks: &mut Hooks<'_>,
        out: &mut MiqpSolution,
    ) {
        let (mut x, mut modes) = (std::mem::take(&mut out.x), std::mem::take(&mut out.modes));
        let mut conflict = std::mem::take(&mut out.conflict);
        zeros(&mut x, miqp.n);
        modes.clear();
        conflict.clear();
        *out = MiqpSolution { x, modes, conflict, ..MiqpSolution::default() };
        if let Err(reason) = miqp.check().and_then(|()| self.search.prepare(miqp)) {
            out.status = MiqpStatus::Failed(reason);
            return;
        }
        self.search.settings = *settings;
        out.status = self.search.run(miqp, hooks, out);
    }
}
