//! From a set of pushing rows to the answer: `x`, and the multipliers of smallest norm.
//!
//! With the rows of the set in `B = C Q`, `Q Qᵀ = diag(nu)` and `C` of full column rank:
//!
//! ```text
//! y = y_0 + Qᵀ omega,     C diag(nu) omega = b − B y_0       in least squares where rows contradict
//! Bᵀ z = y − y_0   ⇔   Cᵀ z = omega,     z = C (CᵀC)⁻¹ omega      the smallest such z
//! ```
//!
//! Pivoting by the longest remainder keeps `|C_ik| ≤ 1`, so that `CᵀC` is well conditioned whatever the
//! rank of the rows, and its inverse comes without pivoting.

use super::gram::{apply, gram, invert};
use super::{
    LANES, NO_MULTIPLIER, ROUNDING, ROUNDING_OF_FREE, Row, Small, TOUCHING, add, dot, grow,
    largest, vector, vector_mut,
};
use crate::cone::kernels::{Isa, Lane, Simd, lanes, lanes_mut};
use crate::cone::program::ConeProgram;
use crate::cone::structure::Structure;
use crate::kernels;
use crate::qp::HandOver;

/// Squared remainder of a row, as a share of the row's own, below which the row depends on others.
const DEPENDENT: f64 = 1e-12;
/// Rounds of refinement where digits are lost, and slack that is nothing then, as a share of the speeds
/// without rows.
const REFINEMENTS: u32 = 2;
const NOTHING: f64 = 1e-24;

/// Memory of [`Small::rounds`].
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Remainders of the rows not yet in the span of `Q`, their squares, those of the rows, and which
    /// rows they are.
    remainders: Vec<Lane>,
    squares: Vec<f64>,
    whole: Vec<f64>,
    left: Vec<u32>,
    Q: Vec<Lane>,
    nu: Vec<f64>,
    /// By rows, as wide as `Q` may have rows.
    C: Vec<Lane>,
    /// `CᵀC`, then its inverse.
    M: Vec<Lane>,
    /// Lanes of its rows.
    width: usize,
    z: Vec<f64>,
    /// The direction whose products with the whitened rows are the multipliers, and `L⁻ᵀ` of it.
    direction: Vec<Lane>,
    along: Vec<f64>,
    pub candidates: Vec<Row>,
}

impl Scratch {
    pub fn reserve(&mut self, rows: usize, lanes: usize) {
        // a whole group of rows more than there are, for what is left over
        let (n, room) = (lanes * LANES, (rows + LANES).next_multiple_of(LANES));
        let none = [0.0; LANES];
        grow(&mut self.remainders, room * lanes, none);
        grow(&mut self.C, room * lanes, none);
        for v in [&mut self.squares, &mut self.whole, &mut self.z] {
            grow(v, room, 0.0);
        }
        grow(&mut self.left, room, 0);
        self.candidates.clear();
        self.candidates.reserve(rows);
        grow(&mut self.Q, n * lanes, none);
        grow(&mut self.M, n * lanes, none);
        grow(&mut self.direction, lanes, none);
        for v in [&mut self.nu, &mut self.along] {
            grow(v, n, 0.0);
        }
    }
}

impl Small {
    /// Solves on the set at hand, lets rows change sides, and again, until none does.
    #[inline(always)]
    pub(super) fn rounds<S: Simd, const C: usize>(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        y0: &[Lane; C],
        most: u32,
    ) -> Result<(), HandOver> {
        let mut made = 0;
        for _ in 0..most {
            self.iterations += 1;
            for i in made..self.rows.len() {
                self.make_row::<S, C>(p, self.rows[i], i);
            }
            let rank = self.decompose::<S, C>();
            let mut y = self.solve_on_set::<S, C>(y0, rank);
            let (pulls, push) = self.spread_multipliers();
            self.evaluate::<S, C>(isa, p, s, &y);
            let mut size = self.size::<S>();
            // slow beside the speeds without rows: a small difference, whose digits are in the slacks
            let mut left = REFINEMENTS;
            while left > 0 && ROUNDING_OF_FREE * self.free > ROUNDING * size {
                left -= 1;
                self.refine(rank, y.as_flattened_mut());
                self.evaluate::<S, C>(isa, p, s, &y);
                size = self.size::<S>();
            }
            // written so that NaN fails
            if !(self.extremes.iter().all(|e| e.finite) && size.is_finite()) {
                return Err(HandOver::Numbers);
            }
            let joined = self.find_joining::<S, C>(p, rank, size, push);
            if pulls == 0 && joined == 0 {
                let held = self.extremes.iter().fold(0.0_f64, |m, e| m.max(e.held));
                if held > (TOUCHING * size).max(NOTHING * self.free) {
                    return Err(HandOver::Contradiction);
                }
                return if self.springs_hold(p) { Ok(()) } else { Err(HandOver::Saturated) };
            }
            made = self.change_set::<C>(pulls);
        }
        Err(HandOver::Rounds)
    }

    /// Takes what slack the rows of the set have out of `y`.
    fn refine(&self, rank: usize, y: &mut [f64]) {
        const MOST: usize = LANES * super::MOST_LANES;
        let n = y.len();
        let Scratch { Q, nu, C: coefficients, M, width, .. } = &self.support;
        let (mut right, mut omega) = ([0.0; MOST], [0.0; MOST]);
        for (row, c) in self.rows.iter().zip(coefficients.as_flattened().chunks_exact(n)) {
            kernels::axpy(-self.u[row.at as usize], &c[..rank], &mut right[..rank]);
        }
        let rows = M.as_flattened().chunks_exact(width * LANES);
        for ((row, omega), nu) in rows.zip(&mut omega[..rank]).zip(nu) {
            *omega = kernels::dot(&row[..rank], &right[..rank]) / nu;
        }
        for (q, omega) in Q.as_flattened().chunks_exact(n).zip(&omega[..rank]) {
            kernels::axpy(*omega, q, y);
        }
    }

    /// Speeds that slacks are compared with: of the data and of the answer.
    #[inline(always)]
    fn size<S: Simd>(&self) -> f64 {
        let size = largest::<S>(&self.x);
        self.extremes.iter().fold(size, |m, e| m.max(e.offset))
    }

    fn springs_hold(&self, p: &ConeProgram) -> bool {
        p.saturations.iter().all(|spring| {
            let stretch = self.x[p.padded_index(spring.index)] - spring.target;
            spring.stiffness * stretch.abs() <= spring.limit
        })
    }

    /// `B = C Q` by Gram and Schmidt's method, the longest remainder first; returns the rank.
    #[inline(always)]
    fn decompose<S: Simd, const C: usize>(&mut self) -> usize {
        let count = self.rows.len();
        let Scratch { remainders, squares, whole, left, Q, nu, C: coefficients, .. } =
            &mut self.support;
        remainders[..count * C].copy_from_slice(&self.B[..count * C]);
        coefficients[..count * C].fill([0.0; LANES]);
        for i in 0..count {
            let row = vector::<C>(remainders, i);
            squares[i] = dot::<S, C>(row, row);
            whole[i] = squares[i];
            left[i] = i as u32;
        }
        let coefficients = coefficients.as_flattened_mut();
        let n = C * LANES;
        let (mut open, mut rank) = (count, 0);
        while rank < n && open > 0 {
            let mut longest = 0;
            for i in 1..open {
                longest = if squares[i] > squares[longest] { i } else { longest };
            }
            let q = *vector::<C>(remainders, longest);
            let square = dot::<S, C>(&q, &q);
            if !(square > 0.0) {
                break;
            }
            coefficients[left[longest] as usize * n + rank] = 1.0;
            *vector_mut::<C>(Q, rank) = q;
            nu[rank] = square;
            open -= 1;
            *vector_mut::<C>(remainders, longest) = *vector::<C>(remainders, open);
            (squares[longest], whole[longest]) = (squares[open], whole[open]);
            left[longest] = left[open];
            // four at a time; what is beyond the last is of no use, and does no harm
            left[open..open + LANES].fill(count as u32);
            let share = S::splat(1.0 / square);
            let four = remainders.chunks_exact_mut(C * LANES);
            let four = four.zip(lanes_mut(squares)).zip(left.as_chunks::<LANES>().0);
            for ((rows, squares), left) in four.take(open.div_ceil(LANES)) {
                let mut dots = [S::zero(); LANES];
                for l in 0..LANES {
                    for c in 0..C {
                        dots[l] = S::fma(S::load(&rows[l * C + c]), S::load(&q[c]), dots[l]);
                    }
                }
                let products = S::sums(dots);
                let shares = S::mul(products, share);
                let minus = S::mul(S::splat(-1.0), shares);
                S::store(S::fma(minus, products, S::load(squares)), squares);
                let flat = S::to_array(shares);
                let taken = S::to_array(minus);
                for l in 0..LANES {
                    coefficients[left[l] as usize * n + rank] = flat[l];
                    add::<S, C>(taken[l], &q, vector_mut::<C>(rows, l));
                }
            }
            rank += 1;
            // rows in the span are done
            let mut i = 0;
            while i < open {
                if squares[i] > DEPENDENT * whole[i] {
                    i += 1;
                    continue;
                }
                open -= 1;
                *vector_mut::<C>(remainders, i) = *vector::<C>(remainders, open);
                (squares[i], whole[i]) = (squares[open], whole[open]);
                left[i] = left[open];
            }
        }
        rank
    }

    /// Returns `y`; the multipliers are in `self.support.z`.
    #[inline(always)]
    fn solve_on_set<S: Simd, const C: usize>(&mut self, y0: &[Lane; C], rank: usize) -> [Lane; C] {
        // every width is code of its own: only those that are common
        match rank.div_ceil(LANES) {
            ..=2 if C == 4 => self.solve_with_rank::<S, C, 2>(y0, rank),
            3 if C == 4 => self.solve_with_rank::<S, C, 3>(y0, rank),
            ..=4 if C == 8 => self.solve_with_rank::<S, C, 4>(y0, rank),
            _ => self.solve_with_rank::<S, C, C>(y0, rank),
        }
    }

    /// The same with the lanes of the rank as a constant `W`.
    #[inline(always)]
    fn solve_with_rank<S: Simd, const C: usize, const W: usize>(
        &mut self,
        y0: &[Lane; C],
        rank: usize,
    ) -> [Lane; C] {
        let count = self.rows.len();
        let Scratch { Q, nu, C: coefficients, M, width, z, direction: along, .. } =
            &mut self.support;
        *width = W;
        // Cᵀ (b − B y0)
        let mut right = [S::zero(); W];
        for i in 0..count {
            let slack = S::splat(self.b[i] - dot::<S, C>(vector::<C>(&self.B, i), y0));
            let row = &coefficients[i * C..][..W.min(C)];
            for c in 0..W.min(C) {
                right[c] = S::fma(slack, S::load(&row[c]), right[c]);
            }
        }
        let mut right_flat = [[0.0; LANES]; W];
        for c in 0..W {
            S::store(right[c], &mut right_flat[c]);
        }
        gram::<S, C, W>(coefficients, count, rank, M);
        invert::<S, W>(M, rank);
        let mut omega = apply::<S, W>(M, rank, &right_flat);
        for (omega, nu) in omega.as_flattened_mut().iter_mut().zip(&nu[..rank]) {
            *omega /= nu;
        }
        let eta = apply::<S, W>(M, rank, &omega);
        let (groups, _) = z.as_chunks_mut::<LANES>();
        for (k, z) in groups.iter_mut().enumerate().take(count.div_ceil(LANES)) {
            let rows = &coefficients[k * LANES * C..][..LANES * C];
            let mut dots = [S::zero(); LANES];
            for l in 0..LANES {
                for c in 0..W.min(C) {
                    dots[l] = S::fma(S::load(&rows[l * C + c]), S::load(&eta[c]), dots[l]);
                }
            }
            S::store(S::sums(dots), z);
        }
        let mut y = [S::zero(); C];
        let mut direction = [S::zero(); C];
        for c in 0..C {
            y[c] = S::load(&y0[c]);
        }
        let (omega, eta) = (omega.as_flattened(), eta.as_flattened());
        for k in 0..rank {
            let q = vector::<C>(Q, k);
            let (step, share) = (S::splat(omega[k]), S::splat(eta[k] / nu[k]));
            for c in 0..C {
                let q = S::load(&q[c]);
                y[c] = S::fma(step, q, y[c]);
                direction[c] = S::fma(share, q, direction[c]);
            }
        }
        let mut flat = [[0.0; LANES]; C];
        for c in 0..C {
            S::store(y[c], &mut flat[c]);
            S::store(direction[c], &mut along[c]);
        }
        flat
    }

    /// Puts the multipliers in place, zero where they pull; returns how many pull, and the largest.
    fn spread_multipliers(&mut self) -> (usize, f64) {
        self.z.fill(0.0);
        let z = &mut self.support.z[..self.rows.len()];
        let push = z.iter().fold(0.0_f64, |m, z| m.max(z.abs()));
        let mut pulls = 0;
        for (row, z) in self.rows.iter().zip(z) {
            if *z < -NO_MULTIPLIER * push {
                pulls += 1;
            } else {
                *z = z.max(0.0);
                self.z[row.at as usize] = *z;
            }
        }
        (pulls, push)
    }

    /// Finds the rows that join the set; returns how many. Those that contradict the set by rounding join if
    /// that makes the multipliers smaller, like rows that touch.
    #[inline(always)]
    fn find_joining<S: Simd, const C: usize>(
        &mut self,
        p: &ConeProgram,
        rank: usize,
        size: f64,
        push: f64,
    ) -> usize {
        self.support.candidates.clear();
        let least = (TOUCHING * size).max(NOTHING * self.free);
        let rounding = (ROUNDING * size).max(ROUNDING_OF_FREE * self.free);
        let touching = least.max(rounding);
        let far = S::splat(-1e300);
        let limit = S::splat(touching);
        let minus = S::splat(-1.0);
        let (mut cone, mut known) = (0, false);
        for (l, (u, w)) in lanes(&self.u).iter().zip(lanes(&self.w)).enumerate() {
            let left = S::fma(S::load(w), far, S::fma(minus, S::load(u), limit));
            let mut bits = S::positive_bits(left);
            while bits != 0 {
                let at = (l * LANES) as u32 + bits.trailing_zeros();
                bits &= bits - 1;
                while p.cones[cone].at + p.cones[cone].stride_z <= at {
                    cone += 1;
                }
                let row = Row { cone: cone as u32, edge: at - p.cones[cone].at, at };
                if !known {
                    let Self { whitening, support, .. } = self;
                    whitening.back_all::<S>(p, &support.direction, &mut support.along);
                    known = true;
                }
                let slack = self.u[at as usize];
                let joins = slack < -least || {
                    let pushes = self.product_along(p, row) > NO_MULTIPLIER * push;
                    if slack.abs() <= rounding || self.depends(p, row, C, rank) {
                        pushes
                    } else {
                        slack < 0.0
                    }
                };
                if joins {
                    self.support.candidates.push(row);
                }
            }
        }
        self.support.candidates.len()
    }

    /// Product of a row with the direction whose products with the set are its multipliers.
    fn product_along(&self, p: &ConeProgram, row: Row) -> f64 {
        let cone = &p.cones[row.cone as usize];
        let mut product = 0.0;
        for r in 0..cone.k as usize {
            let mut sum = 0.0;
            for side in p.sides_of(cone) {
                let block = &p.blocks[side.block as usize];
                let at = cone.J_at as usize + r * cone.width as usize + side.column as usize;
                let J = &p.J[at..at + block.stride as usize];
                sum += kernels::dot(J, &self.support.along[block.at as usize..][..J.len()]);
            }
            product +=
                sum * p.E[cone.E_at as usize + (r as u32 * cone.stride_z + row.edge) as usize];
        }
        product
    }

    /// Whether a row is in the span of the set.
    fn depends(&self, p: &ConeProgram, row: Row, lanes: usize, rank: usize) -> bool {
        let n = lanes * LANES;
        let mut rest = [0.0; LANES * super::MOST_LANES];
        self.whitening.row(p, row, &mut rest);
        let rest = &mut rest[..n];
        let whole = kernels::dot(rest, rest);
        for (q, nu) in self.support.Q.as_flattened().chunks_exact(n).zip(&self.support.nu[..rank]) {
            let share = kernels::dot(rest, q) / nu;
            kernels::axpy(-share, q, rest);
        }
        kernels::dot(rest, rest) <= DEPENDENT * whole
    }

    /// Pulling rows leave, candidates join; returns how many rows are made already.
    #[inline(always)]
    fn change_set<const C: usize>(&mut self, pulls: usize) -> usize {
        let mut kept = self.rows.len();
        if pulls > 0 {
            let push = self.support.z[..kept].iter().fold(0.0_f64, |m, z| m.max(z.abs()));
            kept = 0;
            for i in 0..self.rows.len() {
                let row = self.rows[i];
                if self.support.z[i] < -NO_MULTIPLIER * push {
                    self.w[row.at as usize] = 0.0;
                    continue;
                }
                self.rows[kept] = row;
                self.b[kept] = self.b[i];
                *vector_mut::<C>(&mut self.B, kept) = *vector::<C>(&self.B, i);
                kept += 1;
            }
            self.rows.truncate(kept);
        }
        for row in &self.support.candidates {
            self.rows.push(*row);
            self.w[row.at as usize] = 1.0;
        }
        kept
    }
}
