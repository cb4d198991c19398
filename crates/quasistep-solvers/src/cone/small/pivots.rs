//! A dual active set from nothing: Goldfarb and Idnani's method on whitened rows.
//!
//! Beside the rows `a_k` of the working set, which are independent, their dual basis `d_k` in the same span is
//! kept: `a_i·d_k = 1` where `i = k`, else 0. The row that enters, `a`, has coordinates `r_k = a·d_k` and
//! the remainder `a − Σ r_k a_k`, which is the way to go; its square `nu` says whether it depends on the set.
//! Rows come and go by one product and one sum per vector, without roots or rotations.

use super::{
    LANES, ROUNDING_OF_FREE, Row, Small, TOUCHING, add, dot, grow, largest, row_at, vector,
    vector_mut, whitened_row,
};
use crate::cone::kernels::{Isa, Lane, Simd, lanes, lanes_mut, least_slack};
use crate::cone::program::ConeProgram;
use crate::cone::structure::Structure;
use crate::kernels;
use crate::qp::HandOver;

/// Pivots beyond two for every variable after which another method is quicker.
const MOST_PIVOTS: u32 = 25;
/// Squared remainder, as a share of the row's own, below which the row depends on the set.
const DEPENDENT: f64 = 1e-10;
/// The same below which the remainder is made anew: it is a small difference.
const SMALL_DIFFERENCE: f64 = 1e-2;
/// Slack, as a share of the speeds of the data, that is rounding.
const ROUNDING: f64 = 1e-13;

/// Slack of dependent rows that may be rounding, as a share of the speeds without rows: what touches is found
/// later, with more digits.
const PASSED: f64 = 1e-13;

/// Memory of [`Small::pivots`].
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    duals: Vec<Lane>,
    /// Multipliers of the working set, and coordinates of the row that enters.
    push: Vec<f64>,
    r: Vec<f64>,
}

impl Scratch {
    pub fn reserve(&mut self, lanes: usize) {
        let n = lanes * LANES;
        grow(&mut self.duals, (n + LANES) * lanes, [0.0; LANES]);
        for v in [&mut self.push, &mut self.r] {
            grow(v, n + LANES, 0.0);
        }
    }
}

impl Small {
    /// Pivots from the minimiser without rows, and from an empty set. At the end the set is that of all rows
    /// that touch; returns how many of them are made.
    #[inline(always)]
    pub(super) fn pivots<S: Simd, const C: usize>(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        y0: &[Lane; C],
    ) -> Result<usize, HandOver> {
        self.support.candidates.clear();
        let most = 2 * p.n as u32 + MOST_PIVOTS;
        let mut pivots = 0;
        let mut y = *y0;
        let offset = largest::<S>(&p.b);
        loop {
            self.whitening.back_all::<S>(p, &y, &mut self.x);
            let (mut slack, at) = least_slack(isa, p, &s.groups, &self.x, &self.w, &mut self.u);
            let size = offset.max(largest::<S>(&self.x));
            let row = row_at(p, at as u32);
            if !size.is_finite() {
                return Err(HandOver::Numbers);
            }
            // written so that NaN ends it
            if !(slack < -(ROUNDING * size).max(ROUNDING_OF_FREE * self.free)) {
                break;
            }
            let mut a = [[0.0; LANES]; C];
            let offset = whitened_row::<S, C>(&self.whitening, p, row, &mut a);
            let mut force = 0.0;
            loop {
                pivots += 1;
                self.iterations += 1;
                if pivots > most {
                    return Err(HandOver::Pivots);
                }
                let (way, nu, whole) = self.way::<S, C>(&a);
                let depends = nu <= DEPENDENT * whole;
                if depends && slack >= -(TOUCHING * size).max(PASSED * self.free) {
                    // rows that contradict one another by rounding all touch
                    self.w[row.at as usize] = 1.0;
                    self.support.candidates.push(row);
                    break;
                }
                let (blocking, first) = self.first_to_let_go::<S>();
                let whole_step = if depends { f64::INFINITY } else { -slack / nu };
                let step = whole_step.min(first);
                if step.is_infinite() {
                    return Err(HandOver::Contradiction);
                }
                let count = self.rows.len();
                let minus = S::splat(-step);
                let fours = lanes_mut(&mut self.pivoting.push).iter_mut();
                for (push, r) in fours.zip(lanes(&self.pivoting.r)).take(count.div_ceil(LANES)) {
                    let left = S::fma(minus, S::load(r), S::load(push));
                    S::store(S::max(left, S::zero()), push);
                }
                force += step;
                if !depends {
                    add::<S, C>(step, &way, &mut y);
                    slack += step * nu;
                }
                if whole_step <= first {
                    self.enter::<S, C>(row, offset, force, &a, &way, nu);
                    break;
                }
                self.leave::<S, C>(blocking);
            }
        }
        // the set of the rounds: all that touch, those too that contradict the set by rounding
        let size = offset.max(largest::<S>(&self.x));
        let working = self.rows.len();
        for (k, cone) in p.cones.iter().enumerate() {
            for edge in 0..cone.m {
                let at = cone.at + edge;
                let slack = self.u[at as usize];
                if self.w[at as usize] != 0.0 || slack > (TOUCHING * size).max(PASSED * self.free) {
                    continue;
                }
                let row = Row { cone: k as u32, edge, at };
                if slack <= (super::ROUNDING * size).max(ROUNDING_OF_FREE * self.free)
                    || self.depends_on(p, row, working, C)
                {
                    self.support.candidates.push(row);
                }
            }
        }
        for i in 0..self.support.candidates.len() {
            let row = self.support.candidates[i];
            self.push(row.cone as usize, row.edge, row.at);
        }
        Ok(working)
    }

    /// Whether a row depends on the working set.
    fn depends_on(&self, p: &ConeProgram, row: Row, working: usize, lanes: usize) -> bool {
        let n = lanes * LANES;
        let mut rest = [0.0; LANES * super::MOST_LANES];
        self.whitening.row(p, row, &mut rest);
        let rest = &mut rest[..n];
        let whole = kernels::dot(rest, rest);
        let duals = self.pivoting.duals.as_flattened().chunks_exact(n);
        for (dual, a) in duals.zip(self.B.as_flattened().chunks_exact(n)).take(working) {
            let r = kernels::dot(rest, dual);
            kernels::axpy(-r, a, rest);
        }
        kernels::dot(rest, rest) <= DEPENDENT * whole
    }

    /// The remainder of a row, its square and the row's; the coordinates are in `self.pivoting.r`.
    #[inline(always)]
    fn way<S: Simd, const C: usize>(&mut self, a: &[Lane; C]) -> ([Lane; C], f64, f64) {
        let whole = dot::<S, C>(a, a);
        let mut way = *a;
        let q = self.rows.len();
        let Scratch { duals, r, .. } = &mut self.pivoting;
        let mut rest = [S::zero(); C];
        for c in 0..C {
            rest[c] = S::load(&a[c]);
        }
        let four = duals.chunks_exact(LANES * C).zip(lanes_mut(r));
        for (duals, r) in four.take(q.div_ceil(LANES)) {
            let mut dots = [S::zero(); LANES];
            for l in 0..LANES {
                for c in 0..C {
                    dots[l] = S::fma(S::load(&duals[l * C + c]), S::load(&a[c]), dots[l]);
                }
            }
            S::store(S::sums(dots), r);
        }
        // what is beyond the set is left over from others
        r[q..q.next_multiple_of(LANES)].fill(0.0);
        for (row, r) in self.B.chunks_exact(C).zip(&r[..q]) {
            let r = S::splat(-r);
            for c in 0..C {
                rest[c] = S::fma(r, S::load(&row[c]), rest[c]);
            }
        }
        for c in 0..C {
            S::store(rest[c], &mut way[c]);
        }
        let mut nu = dot::<S, C>(&way, &way);
        if nu <= SMALL_DIFFERENCE * whole {
            let rest = way;
            for k in 0..q {
                let more = dot::<S, C>(&rest, vector::<C>(duals, k));
                r[k] += more;
                add::<S, C>(-more, vector::<C>(&self.B, k), &mut way);
            }
            nu = dot::<S, C>(&way, &way);
        }
        (way, nu, whole)
    }

    /// The row of the set whose force ends first, and after how long a step.
    #[inline(always)]
    fn first_to_let_go<S: Simd>(&self) -> (usize, f64) {
        let Scratch { push, r, .. } = &self.pivoting;
        let count = self.rows.len();
        let fours = count.div_ceil(LANES);
        let (push, r) = (&lanes(push)[..fours], &lanes(r)[..fours]);
        let mut most = S::zero();
        for r in r {
            most = S::max(S::abs(S::load(r)), most);
        }
        let least = S::mul(S::splat(-1e-12), S::largest(most));
        let never = S::splat(f64::INFINITY);
        let (mut first, mut at) = (never, S::zero());
        let mut own = S::load(&[0.0, 1.0, 2.0, 3.0]);
        for (push, r) in push.iter().zip(r) {
            let r = S::load(r);
            let ends = S::div(S::load(push), r);
            let ends = S::select(S::add(r, least), ends, never);
            let sooner = S::sub(first, ends);
            at = S::select(sooner, own, at);
            first = S::select(sooner, ends, first);
            own = S::add(own, S::splat(LANES as f64));
        }
        let (ends, rows) = (S::to_array(first), S::to_array(at));
        let (mut blocking, mut first) = (0.0, f64::INFINITY);
        for l in 0..LANES {
            if ends[l] < first {
                (blocking, first) = (rows[l], ends[l]);
            }
        }
        (blocking as usize, first)
    }

    #[inline(always)]
    fn enter<S: Simd, const C: usize>(
        &mut self,
        row: Row,
        offset: f64,
        force: f64,
        a: &[Lane; C],
        way: &[Lane; C],
        nu: f64,
    ) {
        let q = self.rows.len();
        let Scratch { duals, push, r } = &mut self.pivoting;
        let mut dual = [[0.0; LANES]; C];
        add::<S, C>(1.0 / nu, way, &mut dual);
        for k in 0..q {
            add::<S, C>(-r[k], &dual, vector_mut::<C>(duals, k));
        }
        *vector_mut::<C>(duals, q) = dual;
        *vector_mut::<C>(&mut self.B, q) = *a;
        self.b[q] = offset;
        push[q] = force;
        self.rows.push(row);
        self.w[row.at as usize] = 1.0;
    }

    #[inline(always)]
    fn leave<S: Simd, const C: usize>(&mut self, k: usize) {
        let last = self.rows.len() - 1;
        let Scratch { duals, push, .. } = &mut self.pivoting;
        let dual = *vector::<C>(duals, k);
        let share = 1.0 / dot::<S, C>(&dual, &dual);
        *vector_mut::<C>(duals, k) = *vector::<C>(duals, last);
        *vector_mut::<C>(&mut self.B, k) = *vector::<C>(&self.B, last);
        self.b[k] = self.b[last];
        push[k] = push[last];
        self.w[self.rows[k].at as usize] = 0.0;
        self.rows.swap_remove(k);
        for i in 0..last {
            let other = vector_mut::<C>(duals, i);
            let along = dot::<S, C>(other, &dual);
            add::<S, C>(-along * share, &dual, other);
        }
    }
}
