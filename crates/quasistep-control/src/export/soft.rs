//! Soft bounds in a file: a violation is a variable in the bound's row and in the cost.

use super::{Column, Sense, Writer};
use crate::mpc::{Mpc, MpcSettings, Search};
use crate::plan::{Plan, PlanStatus};
use crate::problem::Limits;
use crate::problem::Relax;

impl Mpc {
    /// Relaxation that [`plan`](Self::plan) uses from `x0`: the soft bounds if they are proven
    /// infeasible, otherwise none.
    pub(super) fn needed_relaxation(&mut self, x0: &[f64], warm: Option<&Plan>) -> Relax {
        if !self.has_soft_bounds() {
            return Relax::Nothing;
        }
        // with a gap this large, the first plan ends the search
        let any = MpcSettings { absolute_gap: f64::MAX, search: Search::Global, ..self.settings };
        let own = std::mem::replace(&mut self.settings, any);
        let plan = self.search(x0, warm, Relax::Nothing, &mut || false);
        self.settings = own;
        if plan.status == PlanStatus::Infeasible { Relax::Soft } else { Relax::Nothing }
    }
}

impl Writer<'_> {
    /// Writes rows of the soft bounds on the input of step `k` and on the state after it.
    pub(super) fn write_soft_bounds(&mut self, k: usize) {
        let problem = self.problem;
        let (bounds, places) = (&problem.bounds, self.places[k]);
        for (letter, step, limits, first, n) in [
            ('u', k, &bounds.input, places.u, problem.n_u()),
            ('x', k + 1, &bounds.state, places.x, problem.n_x()),
        ] {
            for i in 0..n {
                for (side, sense, level) in
                    [('l', Sense::AtLeast, limits.lower(i)), ('u', Sense::AtMost, limits.upper(i))]
                {
                    if !level.is_finite() {
                        continue;
                    }
                    let name = format!("{letter}{side}{step}_{i}");
                    // hard bounds are bounds of their column
                    if let Some(slack) = self.slack(limits, format!("s{name}"), sense) {
                        self.push_row(name, vec![(first + i, 1.0), slack], sense, level);
                    }
                }
            }
        }
    }

    /// Adds a column for the violation of a bound, with its price, and returns its term in the
    /// bound's row; `None` if `limits` are hard.
    pub(super) fn slack(
        &mut self,
        limits: &Limits,
        name: String,
        sense: Sense,
    ) -> Option<(usize, f64)> {
        let weight = self.relax.weight(limits)?;
        let column = self.program.columns.len();
        self.program.columns.push(Column { name, lower: 0.0, upper: f64::INFINITY, binary: false });
        self.program.linear.push((column, weight));
        self.program.quadratic.push((column, column, weight));
        Some((column, if sense == Sense::AtLeast { 1.0 } else { -1.0 }))
    }
}
