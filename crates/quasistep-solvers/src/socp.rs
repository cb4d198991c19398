//! Sparse quadratic programs with linear rows and second-order cones.

use crate::cone::program::{Cone, ConeProgram};
use crate::cone::solver::{ConeSolver, WarmStart};
use crate::qp::{Reason, Saturation, Settings, Solution, Status};
use crate::rows::Rows;

/// Cone over consecutive rows of `A x − b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowCone {
    /// Nonnegative orthant of this dimension.
    Nonnegative(usize),
    /// Second-order cone `s_0 ≥ ‖(s_1, …)‖` of this dimension, at most 8.
    SecondOrder(usize),
}

/// A convex program with sparse data; without second-order cones a sparse QP.
///
/// ```text
/// min  1/2 xᵀ P x + cᵀ x + Σ_k huber_k(x)     s.t.   s = A x − b ∈ K_1 × K_2 × …
/// ```
///
/// It is fast if `P` is block diagonal after a permutation, with small blocks, and a row of `A` has
/// entries in few of them. Every block of `P` is stored densely.
#[derive(Clone, Copy, Debug)]
pub struct Socp<'a> {
    /// Number of variables.
    pub n: usize,
    /// Quadratic cost, `n` rows, both triangles.
    pub P: &'a Rows,
    /// Linear cost, length `n`.
    pub c: &'a [f64],
    /// Constraint matrix: the rows of all cones, one cone after another.
    pub A: &'a Rows,
    /// Offsets, one per row of `A`.
    pub b: &'a [f64],
    /// Cones, in the order of their rows. Their dimensions add up to the number of rows of `A`.
    pub cones: &'a [RowCone],
    /// Huber terms.
    pub saturations: &'a [Saturation],
}

/// Solver for [`Socp`]s. It keeps its memory between calls; the contents do not affect results.
///
/// It finds the diagonal blocks of `P` and passes the program to a [`ConeSolver`].
///
/// ```
/// use quasistep_solvers::{RowCone, Rows, Settings, Socp, SocpSolver, Solution, Status};
///
/// // the point nearest to (0, 2) with |y| ≤ x: (1, 1)
/// let (mut P, mut A) = (Rows::new(), Rows::new());
/// for i in 0..2 {
///     P.push(&[i], &[1.0]);
///     A.push(&[i], &[1.0]);
/// }
/// let cones = [RowCone::SecondOrder(2)];
/// let (c, b) = ([0.0, -2.0], [0.0, 0.0]);
/// let socp = Socp { n: 2, P: &P, c: &c, A: &A, b: &b, cones: &cones, saturations: &[] };
/// let mut solution = Solution::default();
/// SocpSolver::new().solve(&socp, None, &Settings::default(), &mut solution);
/// assert_eq!(solution.status, Status::Solved);
/// assert!((solution.x[0] - 1.0).abs() < 1e-9 && (solution.x[1] - 1.0).abs() < 1e-9);
/// ```
#[derive(Debug, Default)]
pub struct SocpSolver {
    solver: ConeSolver,
    program: ConeProgram,
    answer: Solution,
    /// For each variable its block, its index in the block, and its index in the `x` of the cone
    /// program.
    block: Vec<u32>,
    within: Vec<u32>,
    place: Vec<u32>,
    dims: Vec<usize>,
    first: Vec<u32>,
    touched: Vec<u32>,
}

impl SocpSolver {
    /// A solver without allocated memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Solves `socp` and writes the result to `out`. `warm` holds multipliers and slacks of a
    /// similar program.
    ///
    /// Every input yields a [`Status`]. Invalid data end in [`Status::GaveUp`] with a [`Reason`].
    pub fn solve(
        &mut self,
        socp: &Socp<'_>,
        warm: Option<WarmStart<'_>>,
        settings: &Settings,
        out: &mut Solution,
    ) {
        if !fits(socp) {
            *out = Solution { reason: Some(Reason::Dimensions), ..Solution::default() };
            return;
        }
        self.find_blocks(socp);
        self.build(socp);
        self.solver.solve(&self.program, warm, settings, &mut self.answer);
        std::mem::swap(out, &mut self.answer);
        // from block order to the caller's order, with the memory of the last solution as scratch
        for (theirs, ours) in
            [(&mut out.x, &mut self.answer.x), (&mut out.ray, &mut self.answer.ray)]
        {
            if theirs.len() == socp.n {
                ours.clear();
                ours.extend(self.place.iter().map(|p| theirs[*p as usize]));
                std::mem::swap(theirs, ours);
            }
        }
        debug_assert!(out.status != Status::Solved || out.x.len() == socp.n);
    }

    /// Finds the connected components of the graph of `P`, in the order of their first variables.
    fn find_blocks(&mut self, socp: &Socp<'_>) {
        let n = socp.n;
        // `block` holds union-find parents until all components are known
        self.block.clear();
        self.block.extend(0..n as u32);
        for i in 0..n {
            let (columns, values) = socp.P.row(i);
            for (j, v) in columns.iter().zip(values) {
                if *v != 0.0 {
                    let (a, b) = (root(&mut self.block, i as u32), root(&mut self.block, *j));
                    self.block[a.max(b) as usize] = a.min(b);
                }
            }
        }
        for i in 0..n {
            self.block[i] = root(&mut self.block, i as u32);
        }
        self.dims.clear();
        self.within.clear();
        for i in 0..n {
            // a root is the first variable of its component: replace its entry by the block's
            // number, which every later variable of the component reads
            let r = self.block[i] as usize;
            let block = if r == i {
                self.dims.push(0);
                self.dims.len() as u32 - 1
            } else {
                self.block[r]
            };
            self.block[i] = block;
            self.within.push(self.dims[block as usize] as u32);
            self.dims[block as usize] += 1;
        }
        self.first.clear();
        let mut at = 0;
        for dim in &self.dims {
            self.first.push(at);
            at += *dim as u32;
        }
        self.place.clear();
        let places = self.block.iter().zip(&self.within);
        self.place.extend(places.map(|(b, i)| self.first[*b as usize] + i));
    }

    fn build(&mut self, socp: &Socp<'_>) {
        let Self { program, block, within, place, dims, touched, .. } = self;
        program.reset(dims.iter().copied());
        for i in 0..socp.n {
            let (b, row) = (block[i] as usize, within[i] as usize);
            let (columns, values) = socp.P.row(i);
            let P = program.P(b, row);
            for (j, v) in columns.iter().zip(values) {
                if *v != 0.0 {
                    P[within[*j as usize] as usize] += v;
                }
            }
            program.c(b)[row] = socp.c[i];
        }
        let mut first = 0;
        for cone in socp.cones {
            let (count, k) = match cone {
                RowCone::Nonnegative(rows) => (*rows, 1),
                RowCone::SecondOrder(rows) => (1, *rows),
            };
            for _ in 0..count {
                touched.clear();
                for row in first..first + k {
                    touched.extend(socp.A.row(row).0.iter().map(|j| block[*j as usize]));
                }
                touched.sort_unstable();
                touched.dedup();
                let ones = [1.0; 16];
                let shape = match cone {
                    RowCone::Nonnegative(_) => Cone::Edges(&ones[..1]),
                    RowCone::SecondOrder(_) => Cone::Round(&ones[..k]),
                };
                let mut data = program.push_cone(shape, k, touched);
                for r in 0..k {
                    data.b()[r] = socp.b[first + r];
                    let (columns, values) = socp.A.row(first + r);
                    for (j, v) in columns.iter().zip(values) {
                        let side = touched.binary_search(&block[*j as usize]).expect("touched");
                        data.J(side, r)[within[*j as usize] as usize] += v;
                    }
                }
                first += k;
            }
        }
        for spring in socp.saturations {
            let index = place[spring.index as usize];
            program.push_saturation(Saturation { index, ..*spring });
        }
    }
}

fn root(parent: &mut [u32], mut i: u32) -> u32 {
    while parent[i as usize] != i {
        parent[i as usize] = parent[parent[i as usize] as usize];
        i = parent[i as usize];
    }
    i
}

/// Whether all lengths and indices agree.
fn fits(socp: &Socp<'_>) -> bool {
    let mut rows = 0_usize;
    for cone in socp.cones {
        rows = rows.saturating_add(match cone {
            RowCone::Nonnegative(rows) => *rows,
            RowCone::SecondOrder(k @ 1..=8) => *k,
            RowCone::SecondOrder(_) => return false,
        });
    }
    rows == socp.A.len()
        && socp.b.len() == rows
        && socp.P.len() == socp.n
        && socp.c.len() == socp.n
        && u32::try_from(socp.n).is_ok()
        && socp.P.fits(socp.n)
        && socp.A.fits(socp.n)
        && socp.saturations.iter().all(|s| (s.index as usize) < socp.n)
}
