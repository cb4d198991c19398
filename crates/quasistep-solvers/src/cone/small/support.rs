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

use super::{
    LANES, NO_MULTIPLIER, ROUNDING, Row, Small, TOUCHING, add, dot, vector, vector_mut,
    whitened_row,
};
use crate::cone::kernels::{Isa, Lane, Simd, lanes};
use crate::cone::program::ConeProgram;
use crate::cone::structure::Structure;
use crate::qp::HandOver;

/// Squared remainder of a row, as a share of the row's own, below which the row depends on others.
const DEPENDENT: f64 = 1e-12;
/// Pivot of `CᵀC` below which a row takes no part.
const SINGULAR: f64 = 1e-12;

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
    z: Vec<f64>,
    /// `L⁻ᵀ` of the direction whose products with the rows are the multipliers.
    along: Vec<f64>,
    pub candidates: Vec<Row>,
}

impl Scratch {
    pub fn reserve(&mut self, rows: usize, lanes: usize) {
        let n = lanes * LANES;
        if self.squares.len() < rows || self.remainders.len() < rows * lanes {
            self.remainders.resize(rows * lanes, [0.0; LANES]);
            self.C.resize(rows * lanes, [0.0; LANES]);
            for v in [&mut self.squares, &mut self.whole, &mut self.z] {
                v.resize(rows + LANES, 0.0);
            }
            self.left.resize(rows, 0);
            self.candidates.reserve(rows);
        }
        if self.Q.len() < n * lanes {
            self.Q.resize(n * lanes, [0.0; LANES]);
            self.M.resize(n * lanes, [0.0; LANES]);
            self.nu.resize(n, 0.0);
            self.along.resize(n, 0.0);
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
            let y = self.solve_on_set::<S, C>(y0, rank);
            let (pulls, push) = self.spread_multipliers();
            self.evaluate::<S, C>(isa, p, s, &y);
            let size = self.size(p);
            // written so that NaN fails
            if !(self.extremes.iter().all(|e| e.finite) && size.is_finite()) {
                return Err(HandOver::Numbers);
            }
            let joined = self.find_joining::<S, C>(p, rank, size, push);
            if pulls == 0 && joined == 0 {
                let held = self.extremes.iter().fold(0.0_f64, |m, e| m.max(e.held));
                if held > TOUCHING * size {
                    return Err(HandOver::Contradiction);
                }
                return if self.springs_hold(p) { Ok(()) } else { Err(HandOver::Saturated) };
            }
            made = self.change_set::<C>(pulls);
        }
        Err(HandOver::Rounds)
    }

    /// Speeds that slacks are compared with: of the data and of the answer.
    fn size(&self, p: &ConeProgram) -> f64 {
        let size = self.x[..p.n_padded].iter().fold(0.0_f64, |m, x| m.max(x.abs()));
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
            let share = S::splat(1.0 / square);
            let mut i = 0;
            while i < open {
                let many = (open - i).min(LANES);
                let mut dots = [S::zero(); LANES];
                for l in 0..many {
                    let row = vector::<C>(remainders, i + l);
                    for c in 0..C {
                        dots[l] = S::fma(S::load(&row[c]), S::load(&q[c]), dots[l]);
                    }
                }
                let products = S::sums(dots);
                let shares = S::mul(products, share);
                let flat = S::to_array(shares);
                let taken: &mut Lane = squares[i..].first_chunk_mut().expect("a lane more");
                S::store(S::fma(S::mul(S::splat(-1.0), products), shares, S::load(taken)), taken);
                for l in 0..many {
                    coefficients[left[i + l] as usize * n + rank] = flat[l];
                    add::<S, C>(-flat[l], &q, vector_mut::<C>(remainders, i + l));
                }
                i += LANES;
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
        let count = self.rows.len();
        let wide = rank.div_ceil(LANES);
        let Scratch { Q, nu, C: coefficients, M, z, along, .. } = &mut self.support;
        // Cᵀ (b − B y0)
        let mut right = [[0.0; LANES]; C];
        for i in 0..count {
            let slack = S::splat(self.b[i] - dot::<S, C>(vector::<C>(&self.B, i), y0));
            let row = vector::<C>(coefficients, i);
            for c in 0..wide {
                S::store(S::fma(slack, S::load(&row[c]), S::load(&right[c])), &mut right[c]);
            }
        }
        gram::<S, C>(coefficients, count, rank, wide, M);
        invert::<S, C>(M, rank, wide);
        let mut omega = apply::<S, C>(M, rank, wide, &right);
        for (omega, nu) in omega.as_flattened_mut().iter_mut().zip(&nu[..rank]) {
            *omega /= nu;
        }
        let eta = apply::<S, C>(M, rank, wide, &omega);
        for i in 0..count {
            let row = vector::<C>(coefficients, i);
            let mut acc = S::zero();
            for c in 0..wide {
                acc = S::fma(S::load(&row[c]), S::load(&eta[c]), acc);
            }
            z[i] = S::sum(acc);
        }
        let mut y = *y0;
        let mut direction = [[0.0; LANES]; C];
        let (omega, eta) = (omega.as_flattened(), eta.as_flattened());
        for k in 0..rank {
            let q = vector::<C>(Q, k);
            add::<S, C>(omega[k], q, &mut y);
            add::<S, C>(eta[k] / nu[k], q, &mut direction);
        }
        along[..C * LANES].copy_from_slice(direction.as_flattened());
        y
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
        let (touching, rounding) = (TOUCHING * size, ROUNDING * size);
        let far = S::splat(-1e300);
        let limit = S::splat(touching);
        let minus = S::splat(-1.0);
        let mut cone = 0;
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
                let slack = self.u[at as usize];
                let joins = slack < -touching || {
                    let mut a = [[0.0; LANES]; C];
                    whitened_row::<S, C>(&self.whitening, p, row, &mut a);
                    let direction = lanes(&self.support.along);
                    let product = dot::<S, C>(&a, vector::<C>(direction, 0));
                    let pushes = product > NO_MULTIPLIER * push;
                    if slack.abs() <= rounding {
                        pushes
                    } else if self.depends::<S, C>(&a, rank) {
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

    /// Whether a row is in the span of the set.
    #[inline(always)]
    fn depends<S: Simd, const C: usize>(&self, a: &[Lane; C], rank: usize) -> bool {
        let Scratch { Q, nu, .. } = &self.support;
        let mut rest = *a;
        for k in 0..rank {
            let q = vector::<C>(Q, k);
            add::<S, C>(-dot::<S, C>(&rest, q) / nu[k], q, &mut rest);
        }
        dot::<S, C>(&rest, &rest) <= DEPENDENT * dot::<S, C>(a, a)
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

/// `M = CᵀC`.
#[inline(always)]
fn gram<S: Simd, const C: usize>(
    coefficients: &[Lane],
    count: usize,
    rank: usize,
    wide: usize,
    M: &mut [Lane],
) {
    for k in 0..rank {
        for c in 0..wide {
            let mut acc = S::zero();
            for i in 0..count {
                let row = vector::<C>(coefficients, i);
                acc = S::fma(S::splat(row[k / LANES][k % LANES]), S::load(&row[c]), acc);
            }
            S::store(acc, &mut M[k * C + c]);
        }
    }
}

/// `M ← M⁻¹` of a definite matrix, by Gauss and Jordan's method. Where a pivot is nothing, row and column
/// become zero: that row of `Q` takes no part.
#[inline(always)]
fn invert<S: Simd, const C: usize>(M: &mut [Lane], rank: usize, wide: usize) {
    for k in 0..rank {
        let pivot = M[k * C + k / LANES][k % LANES];
        let singular = pivot <= SINGULAR;
        let inverse = if singular { 0.0 } else { 1.0 / pivot };
        let mut unit = [0.0; LANES];
        unit[k % LANES] = 1.0;
        let unit = S::load(&unit);
        let mut row = [S::zero(); C];
        let scale = S::splat(inverse);
        for c in 0..wide {
            row[c] = S::mul(scale, S::load(&M[k * C + c]));
        }
        // column k of the others becomes minus itself over the pivot: that is what this lane does
        let old = row[k / LANES];
        let more = if singular { 1.0 } else { inverse };
        row[k / LANES] = S::fma(S::splat(more), unit, old);
        for i in 0..rank {
            if i == k {
                continue;
            }
            let factor = S::splat(-M[i * C + k / LANES][k % LANES]);
            for c in 0..wide {
                let m = &mut M[i * C + c];
                S::store(S::fma(factor, row[c], S::load(m)), m);
            }
        }
        let corner = if singular { 0.0 } else { inverse - 1.0 };
        row[k / LANES] = S::fma(S::splat(corner), unit, old);
        for c in 0..wide {
            S::store(row[c], &mut M[k * C + c]);
        }
    }
}

/// `M v`.
#[inline(always)]
fn apply<S: Simd, const C: usize>(
    M: &[Lane],
    rank: usize,
    wide: usize,
    v: &[Lane; C],
) -> [Lane; C] {
    let mut out = [S::zero(); C];
    let v = v.as_flattened();
    for k in 0..rank {
        let s = S::splat(v[k]);
        for c in 0..wide {
            out[c] = S::fma(s, S::load(&M[k * C + c]), out[c]);
        }
    }
    let mut flat = [[0.0; LANES]; C];
    for c in 0..C {
        S::store(out[c], &mut flat[c]);
    }
    flat
}
