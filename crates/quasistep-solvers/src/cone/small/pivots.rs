//! From nothing to a set: the dual active set on whitened rows, in which the cost is the unit matrix.

use super::{ROUNDING_OF_FREE, Row, Small, TOUCHING, largest};
use crate::active_set::{ActiveSet, Begin, End, Limits, Program, Side};
use crate::cone::kernels::{Isa, Lane, Simd, lanes, slacks};
use crate::cone::program::ConeProgram;
use crate::cone::structure::Structure;
use crate::kernels::max_abs;
use crate::qp::HandOver;
use crate::tolerances::{COLD_PIVOTS, CONTACT_DEPENDENT, PASSED};

/// Memory of [`Small::pivots`].
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    program: Program,
    set: ActiveSet,
    sides: Vec<Side>,
}

impl Small {
    /// Pivots from the minimiser without rows, and from an empty set. At the end the set is that of all rows
    /// that touch.
    #[inline(always)]
    pub(super) fn pivots<S: Simd, const C: usize>(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        y0: &[Lane; C],
    ) -> Result<(), HandOver> {
        self.whiten_all::<S, C>(p, y0);
        let Scratch { program, set, sides } = &mut self.pivoting;
        set.start(program);
        set.pivots = 0;
        sides.clear();
        sides.resize(program.m(), Side::AtLeast);
        let limits = Limits {
            dependent: CONTACT_DEPENDENT,
            cutoff: f64::INFINITY,
            reach: 10.0 * max_abs(&program.rows.b),
            max_pivots: 2 * p.n as u64 + COLD_PIVOTS,
        };
        let end = set.solve(program, sides, Begin::Anew, &limits);
        self.iterations += set.pivots as u32;
        match end {
            End::Solved | End::Cut => {}
            End::Infeasible { .. } => return Err(HandOver::Contradiction),
            End::Pivots => return Err(HandOver::Pivots),
        }
        self.whitening.back_all::<S>(p, lanes(&set.x), &mut self.x);
        slacks(isa, p, &s.groups, &self.x, &mut self.u);
        let size = largest::<S>(&p.b).max(largest::<S>(&self.x));
        if !size.is_finite() {
            return Err(HandOver::Numbers);
        }
        self.take_touching(p, size);
        Ok(())
    }

    /// Writes the rows of all cones as a program with unit cost.
    #[inline(always)]
    fn whiten_all<S: Simd, const C: usize>(&mut self, p: &ConeProgram, y0: &[Lane; C]) {
        for (k, cone) in p.cones.iter().enumerate() {
            for edge in 0..cone.m {
                self.rows.push(Row { cone: k as u32, edge, at: cone.at + edge });
            }
        }
        self.make_rows::<S, C>(p, 0);
        let program = &mut self.pivoting.program;
        program.clear(p.n_padded);
        for (i, y) in y0.as_flattened()[..p.n_padded].iter().enumerate() {
            program.P_mut(i)[i] = 1.0;
            program.c[i] = -y;
        }
        let rows = self.B.as_chunks::<C>().0;
        for (row, b) in rows.iter().zip(&self.b).take(self.rows.len()) {
            program.rows.push_dense(&row.as_flattened()[..p.n_padded], *b);
        }
        program.factor(|_, _, _| Some(0.0)).expect("the unit matrix is definite");
        self.rows.clear();
    }

    /// Makes the set that of the working rows, and of all that touch: those too that contradict these by rounding.
    fn take_touching(&mut self, p: &ConeProgram, size: f64) {
        let touching = (TOUCHING * size).max(PASSED * self.free);
        let rounding = (super::ROUNDING * size).max(ROUNDING_OF_FREE * self.free);
        let Scratch { program, set, .. } = &mut self.pivoting;
        let mut i = 0;
        for (k, cone) in p.cones.iter().enumerate() {
            for edge in 0..cone.m {
                let at = cone.at + edge;
                let slack = self.u[at as usize];
                let depends = |set: &mut ActiveSet| set.depends(program, i, CONTACT_DEPENDENT);
                if set.has_taken(i) || slack <= rounding || slack <= touching && depends(set) {
                    self.rows.push(Row { cone: k as u32, edge, at });
                    self.w[at as usize] = 1.0;
                }
                i += 1;
            }
        }
    }
}
