//! Mixed-integer problem: a convex QP with disjunctions of rows.

#![allow(non_snake_case)] // P and A are the letters of quadratic programming

use crate::Side;
use crate::tolerances::SYMMETRIC;
use quasistep_linalg::{Reason, Rows};

/// A convex quadratic program with choices, borrowed from its owner.
///
/// ```text
/// min  1/2 xᵀ P x + cᵀ x     s.t.   (A x)_i  ≥, ≤ or =  b_i   for every row, as given by `sides`
///                                   and, for each choice, all constraints of one of its modes
/// ```
///
/// Rows need no bounds, because no big-M is used. Units are the caller's.
#[derive(Clone, Copy, Debug)]
pub struct Miqp<'a> {
    /// Number of variables `n`; may be 0.
    pub n: usize,
    /// Quadratic cost, `n × n` row-major, symmetric, positive semidefinite.
    pub P: &'a [f64],
    /// Linear cost, length `n`.
    pub c: &'a [f64],
    /// Matrix of the constraint rows; its columns are below `n`. Rows with few columns, or a
    /// contiguous range of columns, are fast.
    pub A: &'a Rows,
    /// Levels of the rows, length `A.len()`.
    pub b: &'a [f64],
    /// Constraint on each row that holds in every mode, length `A.len()`.
    pub sides: &'a [Side],
    /// Disjunctions.
    pub choices: &'a Choices,
}

impl Miqp<'_> {
    /// Value of the cost at `x`.
    pub fn cost(&self, x: &[f64]) -> f64 {
        (0..self.n)
            .map(|i| {
                x[i] * (0.5
                    * quasistep_linalg::kernels::dot(&self.P[i * self.n..(i + 1) * self.n], x)
                    + self.c[i])
            })
            .sum()
    }

    /// Checks sizes and finiteness, but not whether `P` is semidefinite.
    pub(crate) fn check(&self) -> Result<(), Reason> {
        let (n, m) = (self.n, self.A.len());
        let fits = n.checked_mul(n) == Some(self.P.len())
            && self.c.len() == n
            && self.b.len() == m
            && self.sides.len() == m
            && self.A.fits(n)
            && self.choices.rows.iter().all(|&r| (r as usize) < m);
        if !fits {
            return Err(Reason::Dimensions);
        }
        let finite = |v: &[f64]| v.iter().all(|v| v.is_finite());
        if !(finite(self.P) && finite(self.c) && finite(self.b) && self.A.is_finite()) {
            return Err(Reason::NotFinite);
        }
        for i in 0..n {
            for j in 0..i {
                let size = self.P[i * n + i].abs().max(self.P[j * n + j].abs());
                if (self.P[i * n + j] - self.P[j * n + i]).abs() > SYMMETRIC * size {
                    return Err(Reason::NotSymmetric);
                }
            }
        }
        Ok(())
    }
}

/// Choices between modes, each a set of constraints on rows. Choices are appended one by one, as in
/// [`Rows`].
///
/// ```
/// use quasistep_qp::{Choices, Side};
///
/// // two rows of which one must vanish, and a switch with three positions
/// let mut choices = Choices::new();
/// choices.push_pair(0, 1);
/// choices.push(&[&[(2, Side::Equal)], &[(2, Side::AtLeast), (3, Side::Equal)], &[(4, Side::AtMost)]], &[0b001]);
/// assert_eq!((choices.len(), choices.modes(1)), (2, 3));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    items: Vec<Item>,
    /// Rows that each choice constrains, one choice after another.
    rows: Vec<u32>,
    /// Constraints of all modes, `modes × rows` for each choice.
    demands: Vec<Side>,
    splits: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Item {
    modes: u32,
    rows: (u32, u32),
    demands: u32,
    splits: (u32, u32),
}

impl Choices {
    /// Largest number of modes of one choice.
    pub const MAX_MODES: usize = 32;

    /// An empty list of choices.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all choices and keeps the memory.
    pub fn clear(&mut self) {
        self.items.clear();
        self.rows.clear();
        self.demands.clear();
        self.splits.clear();
    }

    /// Number of choices.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True if there is no choice.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Number of modes of a choice.
    pub fn modes(&self, choice: usize) -> usize {
        self.items[choice].modes as usize
    }

    /// Appends a choice between two rows `a·x ≥ b`: one of them must be an equality.
    pub fn push_pair(&mut self, row_a: u32, row_b: u32) {
        self.push(&[&[(row_a, Side::Equal)], &[(row_b, Side::Equal)]], &[0b01]);
    }

    /// Appends a choice between `modes`, each a list of constraints on rows.
    ///
    /// `splits` prescribes how the search divides the modes of a node into two children, in order
    /// of preference. A split is a set of modes (bit `k` for mode `k`); the other child gets the
    /// remaining modes. A child has the constraints that all its modes imply, so a good split gives
    /// children with many constraints. When the splits are used up, modes are separated one by one.
    ///
    /// # Panics
    ///
    /// If there are no modes, or more than [`MAX_MODES`](Self::MAX_MODES).
    pub fn push(&mut self, modes: &[&[(u32, Side)]], splits: &[u32]) {
        assert!(
            (1..=Self::MAX_MODES).contains(&modes.len()),
            "a choice has 1 to {} modes, not {}",
            Self::MAX_MODES,
            modes.len()
        );
        let start = self.rows.len();
        for (row, _) in modes.iter().flat_map(|demands| demands.iter()) {
            if !self.rows[start..].contains(row) {
                self.rows.push(*row);
            }
        }
        let touched = self.rows.len() - start;
        let first = self.demands.len();
        for demands in modes {
            let at = self.demands.len();
            self.demands.resize(at + touched, Side::Free);
            for (row, side) in *demands {
                for k in (0..touched).filter(|&k| self.rows[start + k] == *row) {
                    self.demands[at + k] = self.demands[at + k].and(*side);
                }
            }
        }
        let split = self.splits.len();
        self.splits.extend_from_slice(splits);
        self.items.push(Item {
            modes: modes.len() as u32,
            rows: (start as u32, self.rows.len() as u32),
            demands: first as u32,
            splits: (split as u32, self.splits.len() as u32),
        });
    }

    /// Bit mask of all modes of a choice.
    pub(crate) fn all(&self, choice: usize) -> u32 {
        u32::MAX >> (32 - self.items[choice].modes)
    }

    pub(crate) fn rows(&self, choice: usize) -> &[u32] {
        let (from, to) = self.items[choice].rows;
        &self.rows[from as usize..to as usize]
    }

    pub(crate) fn splits(&self, choice: usize) -> &[u32] {
        let (from, to) = self.items[choice].splits;
        &self.splits[from as usize..to as usize]
    }

    /// Constraints of one mode, in the order of [`rows`](Self::rows).
    pub(crate) fn demands(&self, choice: usize, mode: usize) -> &[Side] {
        let touched = self.rows(choice).len();
        let at = self.items[choice].demands as usize + mode * touched;
        &self.demands[at..at + touched]
    }

    /// The constraint on the `k`-th row of a choice that all modes of `mask` imply.
    pub(crate) fn common(&self, choice: usize, mask: u32, k: usize) -> Side {
        bits(mask).fold(Side::Equal, |side, mode| side.common(self.demands(choice, mode)[k]))
    }
}

/// Indices of the set bits of a mask, ascending.
pub(crate) fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let bit = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(bit)
    })
}
