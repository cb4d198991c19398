//! Active sets for small programs: few blocks, no round cones, positive definite cost.
//!
//! ```text
//! P = L Lᵀ,   y = Lᵀ x,   a_i = L⁻¹ (row i of E J)ᵀ:    min 1/2 |y − y_0|²,   a_i·y ≥ b_i
//! ```
//!
//! Two methods share the whitened rows `a_i`, which are computed on demand from Jacobians and
//! edges:
//!
//! - [`support`] solves on a given working set of any rank, and finds `x` and the smallest-norm
//!   multipliers without iteration. Some rows may then enter and leave, several at once. It is used
//!   for warm starts, whose working set is mostly right, and at the end of every solve.
//! - If it fails, and from a cold start, the dual active set of dense programs finds a working set
//!   of whitened rows.
//!
//! | code | meaning                                                              |
//! |------|----------------------------------------------------------------------|
//! | `w`  | 1 for rows of the working set and for padding; else 0                |
//! | `B`  | whitened rows of the working set                                     |
//! | `Q`  | orthogonal rows, not of unit length, with the same span as those of `B` |
//! | `C`  | coefficients: `B = C Q`                                              |

// parts of a kernel must be inlined into it, because only the kernel is compiled with its
// instruction set
#![allow(clippy::inline_always)]

pub(crate) mod support;
pub(crate) mod whiten;

use crate::active_set::{ActiveSet, Begin, End, Limits, Program, Side};
use crate::cone::blocks::simd::{Isa, Lane, Simd, kernel, lanes};
use crate::cone::kernels::{KktNorms, kkt_norms, slacks};
use crate::cone::program::{ConeProgram, LANES};
use crate::cone::structure::Structure;
use crate::kernels::max_abs;
use crate::qp::HandOver;
use crate::tolerances::{
    COLD_PIVOTS, COLD_SETS, CONTACT_DEPENDENT, CONTACT_TOUCHING, PASSED, REACH, SET_DEPENDENT,
    SPEED_ROUNDING, SPEED_ROUNDING_OF_FREE, WARM_SETS,
};
use whiten::{Whitening, rows_of_cone, whitened_row};

/// Largest number of lanes of a padded `x` and of a block; the next constant bounds the entries of
/// a padded `z`.
const MOST_LANES: usize = 8;
const MOST_LANES_OF_BLOCK: usize = 4;
const MOST_ROWS: usize = 512;
/// Row of the working set: its cone, its edge, and its index in a padded `z`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row {
    cone: u32,
    edge: u32,
    at: u32,
}

/// Solver and its memory. The solution is in `x`, `z`, `u` and `g`, padded.
#[derive(Debug, Default)]
pub(crate) struct Small {
    pub whitening: Whitening,
    pub x: Vec<f64>,
    pub z: Vec<f64>,
    pub u: Vec<f64>,
    pub g: Vec<f64>,
    /// Forces of the Huber terms at `x`; empty without Huber terms.
    springs: Vec<f64>,
    /// Infinity norm of the unconstrained minimiser.
    free: f64,
    /// KKT residual norms of every island at the solution.
    pub kkt_norms: Vec<KktNorms>,
    w: Vec<f64>,
    rows: Vec<Row>,
    /// Offsets of the rows in the working set.
    b: Vec<f64>,
    B: Vec<Lane>,
    support: support::Scratch,
    pivoting: Cold,
    pub iterations: u32,
}

impl Small {
    /// Whether the program's sizes and cones allow this solver; numerical values are not tested.
    pub fn fits(p: &ConeProgram, s: &Structure) -> bool {
        p.n > 0
            && p.n_padded <= LANES * MOST_LANES
            && p.m_padded <= MOST_ROWS
            && s.islands.iter().all(|i| !i.round)
            && s.islands.last().is_some_and(|i| i.last_group as usize == s.groups.len())
            && p.blocks
                .iter()
                .all(|b| (1..=LANES * MOST_LANES_OF_BLOCK).contains(&(b.stride as usize)))
    }

    /// Solves the program. The working set starts with the rows whose entries of `warm` are
    /// positive.
    ///
    /// # Errors
    ///
    /// The reason why the program is left to another method.
    pub fn solve(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        warm: Option<&[f64]>,
    ) -> Result<(), HandOver> {
        self.iterations = 0;
        if !self.whitening.update(p) {
            return Err(HandOver::Singular);
        }
        run(isa, isa, self, p, s, warm)
    }
}

kernel! {
    /// `again` is the kernel's own instruction set, for kernels that are called within.
    run(
        again: Isa,
        small: &mut Small,
        p: &ConeProgram,
        s: &Structure,
        warm: Option<&[f64]>,
    ) -> Result<(), HandOver> {
        if !S::FAST {
            return solve::<S, MOST_LANES>(again, small, p, s, warm);
        }
        match p.n_padded / LANES {
            ..=4 => solve::<S, 4>(again, small, p, s, warm),
            _ => solve::<S, MOST_LANES>(again, small, p, s, warm),
        }
    }
}

#[inline(always)]
fn solve<S: Simd, const C: usize>(
    isa: Isa,
    small: &mut Small,
    p: &ConeProgram,
    s: &Structure,
    warm: Option<&[f64]>,
) -> Result<(), HandOver> {
    let y0 = small.start::<S, C>(p);
    let mut set = warm;
    loop {
        small.clear_set(p);
        let most = if let Some(z) = set {
            small.take_pushing::<S>(p, z);
            small.pivoting.solved = false;
            WARM_SETS
        } else {
            small.pivots::<S, C>(isa, p, s, &y0, warm)?;
            COLD_SETS
        };
        let end = small.rounds::<S, C>(isa, p, s, &y0, most);
        if end.is_ok() || set.take().is_none() {
            return end;
        }
    }
}

impl Small {
    /// Prepares for a program and returns the whitened unconstrained minimiser.
    #[inline(always)]
    fn start<S: Simd, const C: usize>(&mut self, p: &ConeProgram) -> [Lane; C] {
        for v in [&mut self.x, &mut self.g] {
            v.resize(C * LANES, 0.0);
        }
        for v in [&mut self.z, &mut self.u] {
            v.resize(p.m_padded, 0.0);
        }
        grow(&mut self.B, p.m_padded * C, [0.0; LANES]);
        grow(&mut self.b, p.m_padded, 0.0);
        self.rows.reserve(p.m_padded.saturating_sub(self.rows.len()));
        self.support.reserve(p.m_padded, C);
        self.kkt_norms.clear();
        self.kkt_norms.reserve(p.blocks.len());

        // −L⁻¹ c, with Huber terms as quadratic terms
        let mut y0 = [[0.0; LANES]; C];
        let c = self.x.as_mut_slice();
        c.fill(0.0);
        for (to, c) in c.iter_mut().zip(&p.c) {
            *to = -c;
        }
        self.springs.clear();
        if !p.saturations.is_empty() {
            self.springs.resize(p.n_padded, 0.0);
            for spring in &p.saturations {
                c[p.padded_index(spring.index)] += spring.stiffness * spring.target;
            }
        }
        self.whitening.forth_all::<S>(p, &self.x, &mut y0);
        self.whitening.back_all::<S>(p, &y0, &mut self.x);
        self.free = largest::<S>(&self.x);
        y0
    }

    fn clear_set(&mut self, p: &ConeProgram) {
        self.rows.clear();
        self.w.clear();
        self.w.resize(p.m_padded, 0.0);
        for cone in &p.cones {
            for i in cone.m..cone.stride_z {
                self.w[(cone.at + i) as usize] = 1.0;
            }
        }
    }

    #[inline(always)]
    fn push(&mut self, cone: usize, edge: u32, at: u32) {
        self.rows.push(Row { cone: cone as u32, edge, at });
        self.w[at as usize] = 1.0;
    }

    /// Sets the working set to the rows with positive multipliers. `z` is not padded.
    #[inline(always)]
    fn take_pushing<S: Simd>(&mut self, p: &ConeProgram, z: &[f64]) {
        for (k, cone) in p.cones.iter().enumerate() {
            let mut i = 0;
            while i < cone.m {
                let from = (cone.first + i) as usize;
                let mut bits = if let Some(lane) = z[from..].first_chunk() {
                    S::positive_bits(S::load(lane))
                } else {
                    z[from..].iter().rev().fold(0, |bits, z| 2 * bits + u32::from(*z > 0.0))
                };
                bits &= (1 << (cone.m - i).min(LANES as u32)) - 1;
                while bits != 0 {
                    let edge = i + bits.trailing_zeros();
                    self.push(k, edge, cone.at + edge);
                    bits &= bits - 1;
                }
                i += LANES as u32;
            }
        }
    }

    /// Writes the whitened rows of the working set to `self.B` and their offsets to `self.b`. The
    /// first `made` rows are skipped.
    #[inline(always)]
    fn make_rows<S: Simd, const C: usize>(&mut self, p: &ConeProgram, made: usize) {
        let Self { whitening, rows, B, b, .. } = self;
        let (B, _) = B.as_chunks_mut::<C>();
        let mut at = made;
        for rows in rows[made..].chunk_by(|one, other| one.cone == other.cone) {
            let to = B[at..].iter_mut().zip(&mut b[at..]).zip(rows);
            at += rows.len();
            let cone = &p.cones[rows[0].cone as usize];
            match cone.k {
                3 if rows.len() > 1 => rows_of_cone::<S, C, 3>(whitening, p, cone, to),
                4 if rows.len() > 1 => rows_of_cone::<S, C, 4>(whitening, p, cone, to),
                _ => {
                    for ((to, b), row) in to {
                        *b = whitened_row::<S, C>(whitening, p, *row, to);
                    }
                }
            }
        }
    }

    /// Computes `x = L⁻ᵀ y`, then slacks, residual of stationarity and KKT residual norms.
    #[inline(always)]
    fn evaluate<S: Simd, const C: usize>(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        y: &[Lane; C],
    ) {
        self.whitening.back_all::<S>(p, y, &mut self.x);
        if !self.springs.is_empty() {
            self.springs.fill(0.0);
            for spring in &p.saturations {
                let at = p.padded_index(spring.index);
                self.springs[at] += spring.gradient(self.x[at]);
            }
        }
        self.kkt_norms.clear();
        for island in &s.islands {
            let groups = &s.groups[island.first_group as usize..island.last_group as usize];
            let panels = &s.panels[island.first_panel as usize..island.last_panel as usize];
            let Self { x, z, u, g, springs, .. } = self;
            self.kkt_norms.push(kkt_norms(isa, p, groups, panels, springs, x, z, u, g));
        }
    }
}

/// Inner product of two vectors of lanes.
#[inline(always)]
fn dot<S: Simd, const C: usize>(a: &[Lane; C], b: &[Lane; C]) -> f64 {
    let mut acc = S::zero();
    for c in 0..C {
        acc = S::fma(S::load(&a[c]), S::load(&b[c]), acc);
    }
    S::sum(acc)
}

/// The row with index `at` in a padded `z`.
fn row_at(p: &ConeProgram, at: u32) -> Row {
    let cone = p.cones.partition_point(|c| c.at <= at).max(1) - 1;
    Row { cone: cone as u32, edge: at - p.cones.get(cone).map_or(0, |c| c.at), at }
}

/// Extends `v` to at least `n` entries.
fn grow<T: Clone>(v: &mut Vec<T>, n: usize, zero: T) {
    if v.len() < n {
        v.resize(n, zero);
    }
}

/// Largest magnitude of the entries; the length is a multiple of [`LANES`].
#[inline(always)]
fn largest<S: Simd>(v: &[f64]) -> f64 {
    let mut most = S::zero();
    for v in lanes(v) {
        most = S::max(S::abs(S::load(v)), most);
    }
    let most = S::to_array(most);
    most[0].max(most[1]).max(most[2].max(most[3]))
}

/// Scratch memory of [`Small::pivots`].
#[derive(Debug, Default)]
struct Cold {
    program: Program,
    set: ActiveSet,
    sides: Vec<Side>,
    /// Whether the point of `set` is the minimiser of the current program.
    solved: bool,
}

impl Small {
    /// Dual active set, started from the active rows of a similar problem or from an empty set. On
    /// return the working set holds all active rows.
    #[inline(always)]
    fn pivots<S: Simd, const C: usize>(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        y0: &[Lane; C],
        warm: Option<&[f64]>,
    ) -> Result<(), HandOver> {
        let pushing = warm.map(|z| (0..z.len() as u32).filter(|&i| z[i as usize] > 0.0));
        self.pivot_from::<S, C>(p, y0, pushing)?;
        self.whitening.back_all::<S>(p, lanes(&self.pivoting.set.x), &mut self.x);
        slacks(isa, p, &s.groups, &self.x, &mut self.u);
        let size = largest::<S>(&p.b).max(largest::<S>(&self.x));
        if !size.is_finite() {
            return Err(HandOver::Numbers);
        }
        self.take_touching(p, size);
        Ok(())
    }

    /// Dual active set on the whitened rows of all cones, started from the given rows or from an
    /// empty set. Its point is in `pivoting.set.x`.
    #[inline(always)]
    fn pivot_from<S: Simd, const C: usize>(
        &mut self,
        p: &ConeProgram,
        y0: &[Lane; C],
        pushing: Option<impl Iterator<Item = u32>>,
    ) -> Result<(), HandOver> {
        self.whiten_all::<S, C>(p, y0);
        let Cold { program, set, sides, solved } = &mut self.pivoting;
        set.start(program);
        set.pivots = 0;
        let mut begin = Begin::Trial;
        if let Some(pushing) = pushing {
            set.add_independent(program, pushing, SET_DEPENDENT);
            begin = Begin::Anew;
        }
        sides.clear();
        sides.resize(program.m(), Side::AtLeast);
        let limits = Limits {
            dependent: CONTACT_DEPENDENT,
            cutoff: f64::INFINITY,
            reach: REACH * max_abs(&program.rows.b),
            max_pivots: 2 * p.n as u64 + COLD_PIVOTS,
        };
        let end = set.solve(program, sides, begin, &limits);
        self.iterations += set.pivots as u32;
        *solved = end == End::Solved;
        match end {
            End::Solved | End::Cut => Ok(()),
            End::Infeasible { .. } => Err(HandOver::Contradiction),
            End::Pivots => Err(HandOver::Pivots),
        }
    }

    /// Writes the rows of all cones as a program whose cost matrix is the identity.
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

    /// Sets the working set to the dual active set's rows and all rows with zero slack. Rows that
    /// are inconsistent with them by rounding are included.
    fn take_touching(&mut self, p: &ConeProgram, size: f64) {
        let touching = (CONTACT_TOUCHING * size).max(PASSED * self.free);
        let rounding = (SPEED_ROUNDING * size).max(SPEED_ROUNDING_OF_FREE * self.free);
        let Cold { program, set, .. } = &mut self.pivoting;
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
