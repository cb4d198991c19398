//! Solution on a working set: `x`, and the smallest-norm multipliers.
//!
//! With the rows of the working set in `B = C Q`, `Q Qᵀ = diag(nu)` and `C` of full column rank:
//!
//! ```text
//! y = y_0 + Qᵀ omega,     C diag(nu) omega = b − B y_0       in least squares where rows are inconsistent
//! Bᵀ z = y − y_0   ⇔   Cᵀ z = omega,     z = C (CᵀC)⁻¹ omega      the z of smallest norm
//! ```
//!
//! Pivoting by the longest remaining row keeps `|C_ik| ≤ 1`. So `CᵀC` is well conditioned for rows
//! of any rank, and it is inverted without pivoting.

use super::whiten::{Whitening, whitened_row};
use super::{LANES, Row, Small, dot, grow, largest, row_at};
use crate::active_set::kernels::{
    Longest, apply, gram, invert, load, products, products_of_rows, quarters, square_of,
};
use crate::cone::blocks::simd::{Isa, Lane, Simd, lanes};
use crate::cone::kernels::KktNorms;
use crate::cone::program::ConeProgram;
use crate::cone::structure::Structure;
use crate::kernels;
use crate::qp::HandOver;
use crate::tolerances::{
    CONTACT_TOUCHING, NO_MULTIPLIER, NO_SPEED, REFINEMENTS, SET_DEPENDENT, SMALL_DIFFERENCE,
    SPEED_ROUNDING, SPEED_ROUNDING_OF_FREE,
};

/// Scratch memory of [`Small::rounds`]. Rows of the working set are stored in groups of four,
/// padded with zeros.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Squared lengths of the rows' components orthogonal to the span of `Q`; zero for rows that
    /// depend on `Q`.
    squares: Vec<Lane>,
    /// Squared lengths below which a row counts as dependent on `Q`.
    least: Vec<Lane>,
    Q: Vec<Lane>,
    nu: Vec<f64>,
    /// Column-major, each column of `fours` lanes.
    C: Vec<Lane>,
    fours: usize,
    /// `(CᵀC)⁻¹`.
    M: Vec<Lane>,
    /// Number of lanes of a row of `M`.
    width: usize,
    /// Multipliers of the working set. Before the solve, the slacks at the unconstrained minimiser.
    z: Vec<Lane>,
    /// Coefficients, in the rows of `Q`, of the direction whose products with the whitened rows are
    /// the multipliers. Also `L⁻ᵀ` times that direction.
    shares: Vec<f64>,
    along: Vec<f64>,
    pub candidates: Vec<Row>,
    /// Multipliers of the least-squares point, and scratch for the list of all rows.
    kept: Vec<f64>,
    spare: Vec<Row>,
}

impl Scratch {
    pub fn reserve(&mut self, rows: usize, lanes: usize) {
        let (n, room) = (lanes * LANES, rows.next_multiple_of(LANES));
        let none = [0.0; LANES];
        grow(&mut self.C, room / LANES * n, none);
        for v in [&mut self.squares, &mut self.least, &mut self.z] {
            grow(v, room / LANES, none);
        }
        for v in [&mut self.candidates, &mut self.spare] {
            v.clear();
            v.reserve(rows);
        }
        self.kept.reserve(room.saturating_sub(self.kept.len()));
        grow(&mut self.Q, n * lanes, none);
        grow(&mut self.M, n * lanes, none);
        for v in [&mut self.nu, &mut self.along, &mut self.shares] {
            grow(v, n, 0.0);
        }
    }
}

impl Scratch {
    /// Computes the direction whose products with the rows of the working set are their
    /// multipliers.
    #[inline(always)]
    fn find_direction<S: Simd, const C: usize>(
        &mut self,
        whitening: &Whitening,
        p: &ConeProgram,
        rank: usize,
    ) {
        let mut direction = [[0.0; LANES]; C];
        for (q, share) in self.Q.as_chunks::<C>().0.iter().zip(&self.shares[..rank]) {
            kernels::axpy(*share, q.as_flattened(), direction.as_flattened_mut());
        }
        whitening.back_all::<S>(p, &direction, &mut self.along);
    }
}

impl Small {
    /// Solves on working sets until no row enters or leaves.
    #[inline(always)]
    pub(super) fn rounds<S: Simd, const C: usize>(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        y0: &[Lane; C],
        most: u32,
    ) -> Result<(), HandOver> {
        // number of rows of the working set that are already whitened
        let mut made = 0;
        for _ in 0..most {
            self.iterations += 1;
            self.make_rows::<S, C>(p, made);
            let rank = self.decompose::<S, C>();
            let mut y = self.solve_on_set::<S, C>(y0, rank);
            let (pulls, push) = self.spread_multipliers::<S>();
            self.evaluate::<S, C>(isa, p, s, &y);
            let mut size = self.size::<S>();
            // small relative to the speeds of the unconstrained minimiser: the result of a
            // cancellation, whose digits are in the slacks
            let mut left = REFINEMENTS;
            while left > 0 && SPEED_ROUNDING_OF_FREE * self.free > SPEED_ROUNDING * size {
                left -= 1;
                self.refine::<C>(rank, &mut y);
                self.evaluate::<S, C>(isa, p, s, &y);
                size = self.size::<S>();
            }
            // the condition is true for NaN
            if !(self.kkt_norms.iter().all(|e| e.finite) && size.is_finite()) {
                return Err(HandOver::Numbers);
            }
            let joined = self.find_joining::<S, C>(p, rank, size, push);
            if pulls == 0 && joined == 0 {
                let held = self.kkt_norms.iter().fold(0.0_f64, |m, e| m.max(e.held));
                if held > (CONTACT_TOUCHING * size).max(NO_SPEED * self.free) {
                    return Err(HandOver::Contradiction);
                }
                if held > (SPEED_ROUNDING * size).max(SPEED_ROUNDING_OF_FREE * self.free) {
                    self.make_rows_hold::<S, C>(isa, p, s, [y0, &y], rank, size);
                }
                return if self.springs_hold(p) { Ok(()) } else { Err(HandOver::Saturated) };
            }
            made = self.change_set::<C>(pulls);
        }
        Err(HandOver::Rounds)
    }

    /// Iterative refinement: removes the slacks of the working set from `y`.
    fn refine<const C: usize>(&self, rank: usize, y: &mut [Lane; C]) {
        const MOST: usize = LANES * super::MOST_LANES;
        let Scratch { Q, nu, C: coefficients, M, width, fours, .. } = &self.support;
        let (mut right, mut omega) = ([0.0; MOST], [0.0; MOST]);
        for (right, column) in
            right[..rank].iter_mut().zip(coefficients.chunks_exact((*fours).max(1)))
        {
            for (row, c) in self.rows.iter().zip(column.as_flattened()) {
                *right -= self.u[row.at as usize] * c;
            }
        }
        let rows = M.as_flattened().chunks_exact(width * LANES);
        for ((row, omega), nu) in rows.zip(&mut omega[..rank]).zip(nu) {
            *omega = kernels::dot(&row[..rank], &right[..rank]) / nu;
        }
        for (q, omega) in Q.as_chunks::<C>().0.iter().zip(&omega[..rank]) {
            kernels::axpy(*omega, q.as_flattened(), y.as_flattened_mut());
        }
    }

    /// Moves `x` to the exact minimiser where rows of the set are slightly inconsistent, so that
    /// least squares leave some of them violated. Multipliers remain the smallest-norm ones of the
    /// whole set. `x` does not change if there is no such point near it.
    #[inline(always)]
    fn make_rows_hold<S: Simd, const C: usize>(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        [y0, y]: [&[Lane; C]; 2],
        rank: usize,
        size: f64,
    ) {
        let mut kept = std::mem::take(&mut self.support.kept);
        kept.clone_from(&self.z);
        if !self.pivoting.solved {
            let mut set = std::mem::take(&mut self.rows);
            let index = |row: &Row| p.cones[row.cone as usize].first + row.edge;
            let pushing = set.iter().filter(|row| kept[row.at as usize] > 0.0).map(index);
            std::mem::swap(&mut self.rows, &mut self.support.spare);
            // if the dual active set fails, there is no point to move to
            let _ = self.pivot_from::<S, C>(p, y0, Some(pushing));
            std::mem::swap(&mut self.rows, &mut self.support.spare);
            std::mem::swap(&mut self.rows, &mut set);
        }
        let mut holds = false;
        if self.pivoting.solved {
            let point = lanes(&self.pivoting.set.x);
            let exact: [Lane; C] =
                std::array::from_fn(|c| point.get(c).copied().unwrap_or([0.0; LANES]));
            self.find_multipliers::<C>(rank, y0, &exact);
            if self.spread_multipliers::<S>().0 == 0 {
                self.evaluate::<S, C>(isa, p, s, &exact);
                let most = |norm: fn(&KktNorms) -> f64| {
                    self.kkt_norms.iter().map(norm).fold(0.0, f64::max)
                };
                let rounding = (SPEED_ROUNDING * size).max(SPEED_ROUNDING_OF_FREE * self.free);
                holds =
                    most(|e| e.held) <= CONTACT_TOUCHING * size && most(|e| e.primal) <= rounding;
            }
        }
        if !holds {
            self.z.copy_from_slice(&kept);
            self.evaluate::<S, C>(isa, p, s, y);
        }
        self.support.kept = kept;
    }

    /// Smallest-norm multipliers of the set with `Bᵀ z = y − y_0`.
    fn find_multipliers<const C: usize>(&mut self, rank: usize, y0: &[Lane; C], y: &[Lane; C]) {
        const MOST: usize = LANES * super::MOST_LANES;
        let Scratch { Q, nu, C: coefficients, M, width, fours, z, .. } = &mut self.support;
        let (mut omega, mut step) = ([0.0; MOST], *y);
        kernels::axpy(-1.0, y0.as_flattened(), step.as_flattened_mut());
        let rows = Q.as_chunks::<C>().0.iter().zip(&*nu);
        for ((q, nu), omega) in rows.zip(&mut omega[..rank]) {
            *omega = kernels::dot(q.as_flattened(), step.as_flattened()) / nu;
        }
        let z = z[..*fours].as_flattened_mut();
        z.fill(0.0);
        let rows = M.as_flattened().chunks_exact(*width * LANES);
        for (row, column) in rows.zip(coefficients.chunks_exact((*fours).max(1))).take(rank) {
            kernels::axpy(kernels::dot(&row[..rank], &omega[..rank]), column.as_flattened(), z);
        }
    }

    /// Reference speed of slacks: the largest variable or offset.
    #[inline(always)]
    fn size<S: Simd>(&self) -> f64 {
        let size = largest::<S>(&self.x);
        self.kkt_norms.iter().fold(size, |m, e| m.max(e.offset))
    }

    fn springs_hold(&self, p: &ConeProgram) -> bool {
        p.saturations.iter().all(|spring| {
            let stretch = self.x[p.padded_index(spring.index)] - spring.target;
            spring.stiffness * stretch.abs() <= spring.limit
        })
    }

    /// Factorises `B = C Q` by the Gram–Schmidt method, pivoting by the longest remaining row;
    /// returns the rank.
    #[inline(always)]
    fn decompose<S: Simd, const C: usize>(&mut self) -> usize {
        let count = self.rows.len();
        let fours = count.div_ceil(LANES);
        self.support.fours = fours;
        let Scratch { squares, least, Q, nu, C: coefficients, .. } = &mut self.support;
        let rows = &mut self.B.as_chunks_mut::<C>().0[..fours * LANES];
        rows[count..].fill([[0.0; LANES]; C]);
        let (rows, _) = rows.as_chunks::<LANES>();
        let (squares, least) = (&mut squares[..fours], &mut least[..fours]);
        let (Q, _) = Q.as_chunks_mut::<C>();
        let mut longest = Longest::<S>::new();
        let share = S::splat(SET_DEPENDENT);
        for ((rows, squares), least) in rows.iter().zip(squares.iter_mut()).zip(least.iter_mut()) {
            let mut dots = [S::zero(); LANES];
            for l in 0..LANES {
                for c in 0..C {
                    let v = S::load(&rows[l][c]);
                    dots[l] = S::fma(v, v, dots[l]);
                }
            }
            let whole = S::sums(dots);
            S::store(whole, squares);
            S::store(S::mul(share, whole), least);
            longest.take(whole);
        }
        let mut rank = 0;
        let minus = S::splat(-1.0);
        while rank < C * LANES
            && let Some(row) = longest.row()
        {
            let (four, lane) = (row / LANES, row % LANES);
            let (before, column) = coefficients.split_at_mut(rank * fours);
            let column = &mut column[..fours];
            let mut q = load::<S, C>(&rows[four][lane]);
            for (own, column) in Q.iter().zip(before.chunks_exact(fours)) {
                let share = S::splat(-column[four][lane]);
                for c in 0..C {
                    q[c] = S::fma(share, S::load(&own[c]), q[c]);
                }
            }
            let mut square = square_of::<S, C>(&q);
            if square * SET_DEPENDENT < SMALL_DIFFERENCE * least[four][lane] {
                let rest = q;
                for ((own, nu), column) in Q.iter().zip(&*nu).zip(before.chunks_exact_mut(fours)) {
                    let mut along = S::zero();
                    for c in 0..C {
                        along = S::fma(rest[c], S::load(&own[c]), along);
                    }
                    let more = S::sum(along) / nu;
                    column[four][lane] += more;
                    let more = S::splat(-more);
                    for c in 0..C {
                        q[c] = S::fma(more, S::load(&own[c]), q[c]);
                    }
                }
                square = square_of::<S, C>(&q);
            }
            if !(square > 0.0) {
                break;
            }
            for c in 0..C {
                S::store(q[c], &mut Q[rank][c]);
            }
            nu[rank] = square;
            rank += 1;
            let share = S::splat(1.0 / square);
            longest = Longest::new();
            let all = rows.iter().zip(squares.iter_mut()).zip(least.iter()).zip(column);
            for (((rows, squares), least), column) in all {
                let products = products_of_rows::<S, C>(rows, &q);
                let shares = S::mul(products, share);
                S::store(shares, column);
                let left = S::fma(S::mul(minus, shares), products, S::load(squares));
                let left = S::where_positive(S::sub(left, S::load(least)), left);
                S::store(left, squares);
                longest.take(left);
            }
        }
        rank
    }

    /// Solves on the working set and returns `y`. The multipliers are in `self.support.z`.
    #[inline(always)]
    fn solve_on_set<S: Simd, const C: usize>(&mut self, y0: &[Lane; C], rank: usize) -> [Lane; C] {
        // only common widths are compiled as constants
        match rank.div_ceil(LANES) {
            ..=2 if C == 4 => self.solve_with_rank::<S, C, 2>(y0, rank),
            3 if C == 4 => self.solve_with_rank::<S, C, 3>(y0, rank),
            ..=4 if C == 8 => self.solve_with_rank::<S, C, 4>(y0, rank),
            _ => self.solve_with_rank::<S, C, C>(y0, rank),
        }
    }

    /// [`solve_on_set`](Self::solve_on_set) with the number of lanes of the rank as a constant `W`.
    #[inline(always)]
    fn solve_with_rank<S: Simd, const C: usize, const W: usize>(
        &mut self,
        y0: &[Lane; C],
        rank: usize,
    ) -> [Lane; C] {
        let count = self.rows.len();
        let Scratch { Q, nu, C: columns, M, width, z, shares, fours, .. } = &mut self.support;
        let fours = *fours;
        *width = W;
        columns[rank * fours..W * LANES * fours].fill([0.0; LANES]);
        let columns = &columns[..W * LANES * fours];
        let z = &mut z[..fours];
        // b − B y0
        let start = load::<S, C>(y0);
        let (rows, rest) = self.B.as_chunks::<C>().0[..count].as_chunks::<LANES>();
        let (offsets, last) = self.b[..count].as_chunks::<LANES>();
        for ((rows, b), slack) in rows.iter().zip(offsets).zip(z.iter_mut()) {
            S::store(S::sub(S::load(b), products_of_rows::<S, C>(rows, &start)), slack);
        }
        if let Some(slacks) = z.get_mut(rows.len()) {
            *slacks = [0.0; LANES];
            for ((row, b), slack) in rest.iter().zip(last).zip(slacks) {
                *slack = b - dot::<S, C>(row, y0);
            }
        }
        let mut right = [[0.0; LANES]; W];
        for w in 0..W {
            let four = &columns[w * LANES * fours..][..LANES * fours];
            S::store(products::<S>(quarters(four), z), &mut right[w]);
        }
        gram::<S, W>(columns, fours, rank, M);
        invert::<S, W>(M, rank);
        let mut omega = apply::<S, W>(M, rank, &right);
        for (omega, nu) in omega.as_flattened_mut().iter_mut().zip(&nu[..rank]) {
            *omega /= nu;
        }
        let eta = apply::<S, W>(M, rank, &omega);
        let (omega, eta) = (omega.as_flattened(), eta.as_flattened());
        z.fill([0.0; LANES]);
        let mut y = start;
        let (Q, _) = Q.as_chunks::<C>();
        for (k, column) in columns.chunks_exact(fours.max(1)).take(rank).enumerate() {
            let own = S::splat(eta[k]);
            for (z, c) in z.iter_mut().zip(column) {
                S::store(S::fma(own, S::load(c), S::load(z)), z);
            }
            shares[k] = eta[k] / nu[k];
            let step = S::splat(omega[k]);
            for c in 0..C {
                y[c] = S::fma(step, S::load(&Q[k][c]), y[c]);
            }
        }
        let mut flat = [[0.0; LANES]; C];
        for c in 0..C {
            S::store(y[c], &mut flat[c]);
        }
        flat
    }

    /// Writes the multipliers to `z`, negative ones as zero. Returns the number of negative ones,
    /// and the largest.
    #[inline(always)]
    fn spread_multipliers<S: Simd>(&mut self) -> (usize, f64) {
        self.z.fill(0.0);
        let z = &mut self.support.z[..self.support.fours];
        let push = largest::<S>(z.as_flattened());
        let (pull, none) = (S::splat(-NO_MULTIPLIER * push), S::zero());
        let mut pulls = 0;
        for (z, rows) in z.iter().zip(self.rows.chunks(LANES)) {
            let own = S::load(z);
            pulls += S::positive_bits(S::sub(pull, own)).count_ones() as usize;
            let z = S::to_array(S::max(own, none));
            for (row, z) in rows.iter().zip(&z) {
                self.z[row.at as usize] = *z;
            }
        }
        (pulls, push)
    }

    /// Finds the rows that enter the working set; returns their number. A row whose slack is zero
    /// up to rounding enters if that makes the multipliers smaller.
    #[inline(always)]
    fn find_joining<S: Simd, const C: usize>(
        &mut self,
        p: &ConeProgram,
        rank: usize,
        size: f64,
        push: f64,
    ) -> usize {
        self.support.candidates.clear();
        let least = (CONTACT_TOUCHING * size).max(NO_SPEED * self.free);
        let rounding = (SPEED_ROUNDING * size).max(SPEED_ROUNDING_OF_FREE * self.free);
        let touching = least.max(rounding);
        let far = S::splat(-1e300);
        let limit = S::splat(touching);
        let minus = S::splat(-1.0);
        let mut known = false;
        for (l, (u, w)) in lanes(&self.u).iter().zip(lanes(&self.w)).enumerate() {
            let left = S::fma(S::load(w), far, S::fma(minus, S::load(u), limit));
            let mut bits = S::positive_bits(left);
            while bits != 0 {
                let at = (l * LANES) as u32 + bits.trailing_zeros();
                bits &= bits - 1;
                let row = row_at(p, at);
                if !known {
                    let Self { whitening, support, .. } = self;
                    support.find_direction::<S, C>(whitening, p, rank);
                    known = true;
                }
                let slack = self.u[at as usize];
                let joins = slack < -least || {
                    let pushes = self.product_along(p, row) > NO_MULTIPLIER * push;
                    if slack.abs() <= rounding || self.depends::<S, C>(p, row, rank) {
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

    /// Product of a row with the direction whose products with the working set are the multipliers.
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

    /// Whether a row is in the span of the working set, up to rounding.
    #[inline(always)]
    fn depends<S: Simd, const C: usize>(&self, p: &ConeProgram, row: Row, rank: usize) -> bool {
        let mut rest = [[0.0; LANES]; C];
        whitened_row::<S, C>(&self.whitening, p, row, &mut rest);
        let rest = rest.as_flattened_mut();
        let whole = kernels::dot(rest, rest);
        for (q, nu) in self.support.Q.as_chunks::<C>().0.iter().zip(&self.support.nu[..rank]) {
            let share = kernels::dot(rest, q.as_flattened()) / nu;
            kernels::axpy(-share, q.as_flattened(), rest);
        }
        kernels::dot(rest, rest) <= SET_DEPENDENT * whole
    }

    /// Removes rows with negative multipliers from the working set and adds the candidates. Returns
    /// the number of rows that are already whitened.
    #[inline(always)]
    fn change_set<const C: usize>(&mut self, pulls: usize) -> usize {
        let mut kept = self.rows.len();
        if pulls > 0 {
            let z = &self.support.z.as_flattened()[..kept];
            let push = z.iter().fold(0.0_f64, |m, z| m.max(z.abs()));
            let (B, _) = self.B.as_chunks_mut::<C>();
            kept = 0;
            for (i, z) in z.iter().enumerate() {
                let row = self.rows[i];
                if *z < -NO_MULTIPLIER * push {
                    self.w[row.at as usize] = 0.0;
                    continue;
                }
                self.rows[kept] = row;
                self.b[kept] = self.b[i];
                B[kept] = B[i];
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
