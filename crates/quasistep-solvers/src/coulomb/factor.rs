//! `H = L U` of a matrix in blocks that is not symmetric, but whose pattern is.
//!
//! Dense storage in which only the envelope is touched: row `i` of `L` and column `i` of `U` start at the
//! first block that block `i` has met. Rows are exchanged within a block only, which keeps the
//! envelope; the caller checks what comes out.

use crate::cone::kernels::{Isa, Simd, kernel, lanes, lanes_mut};
use crate::cone::program::LANES;

/// Columns that are eliminated together: a row below is read and written once for all of them.
const TOGETHER: usize = 6;

/// The factor and its memory.
#[derive(Debug, Default)]
pub(crate) struct Factor {
    /// Row-major, in the order of elimination.
    pub H: Vec<f64>,
    /// Whether `H` holds factors.
    pub done: bool,
    pub n: usize,
    /// Place of every variable in the order of elimination.
    pub place: Vec<u32>,
    /// Place of every block's first variable.
    pub block_place: Vec<u32>,
    /// Per place: where its row starts, and one past the last column of its row of `U`.
    first: Vec<u32>,
    last: Vec<u32>,
    /// Per place: one past the last of its block.
    block_end: Vec<u32>,
    swaps: Vec<u32>,
    y: Vec<f64>,
    order: Vec<u32>,
    degree: Vec<u32>,
    seen: Vec<bool>,
    /// Pairs of blocks that share a contact.
    pub pairs: Vec<(u32, u32)>,
    starts: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Factor {
    /// Chooses the order of elimination of blocks of these sizes, from `self.pairs`.
    ///
    /// Reverse Cuthill and McKee: breadth first from a block of few neighbours, backwards. It keeps the
    /// envelope small for chains and piles.
    pub fn analyse(&mut self, dims: impl ExactSizeIterator<Item = usize> + Clone) {
        let blocks = dims.len();
        self.done = false;
        self.n = dims.clone().sum();
        for k in 0..self.pairs.len() {
            let (a, b) = self.pairs[k];
            self.pairs.push((b, a));
        }
        self.pairs.sort_unstable();
        self.pairs.dedup();
        self.starts.clear();
        self.starts.resize(blocks + 1, 0);
        self.neighbours.clear();
        for (a, b) in &self.pairs {
            self.starts[*a as usize + 1] += 1;
            self.neighbours.push(*b);
        }
        for k in 0..blocks {
            self.starts[k + 1] += self.starts[k];
        }
        self.degree.clear();
        self.degree.extend(self.starts.windows(2).map(|w| w[1] - w[0]));
        self.order.clear();
        self.seen.clear();
        self.seen.resize(blocks, false);
        while self.order.len() < blocks {
            let start = (0..blocks)
                .filter(|k| !self.seen[*k])
                .min_by_key(|k| self.degree[*k])
                .unwrap_or_default();
            self.seen[start] = true;
            let mut head = self.order.len();
            self.order.push(start as u32);
            while head < self.order.len() {
                let at = self.order[head] as usize;
                head += 1;
                let from = self.order.len();
                for k in self.starts[at]..self.starts[at + 1] {
                    let other = self.neighbours[k as usize];
                    if !std::mem::replace(&mut self.seen[other as usize], true) {
                        self.order.push(other);
                    }
                }
                let degree = &self.degree;
                self.order[from..].sort_unstable_by_key(|k| (degree[*k as usize], *k));
            }
        }
        self.order.reverse();
        // places of blocks, then of variables
        self.block_place.clear();
        self.block_place.resize(blocks, 0);
        self.place.clear();
        self.block_end.clear();
        self.seen.clear();
        // `degree` now holds sizes
        self.degree.clear();
        self.degree.extend(dims.map(|d| d as u32));
        let mut at = 0;
        for block in &self.order {
            self.block_place[*block as usize] = at;
            at += self.degree[*block as usize];
            self.block_end.resize(at as usize, at);
        }
        for block in 0..blocks {
            let from = self.block_place[block];
            self.place.extend(from..from + self.degree[block]);
        }
        self.first.clear();
        self.first.resize(self.n, 0);
        for (block, from) in self.block_place.iter().enumerate() {
            let range = self.starts[block] as usize..self.starts[block + 1] as usize;
            let met = self.neighbours[range].iter().map(|b| self.block_place[*b as usize]);
            let first = met.fold(*from, u32::min);
            let end = *from + self.degree[block];
            self.first[*from as usize..end as usize].fill(first);
        }
        self.last.clear();
        self.last.resize(self.n, 0);
        for i in 0..self.n {
            let end = i as u32 + 1;
            for k in (self.first[i] as usize..=i).rev() {
                self.last[k] = self.last[k].max(end);
            }
        }
    }

    /// Zero within the envelope.
    pub fn clear(&mut self) {
        self.done = false;
        let n = self.n;
        // room for whole lanes at the end of the last row
        let len = n * n + LANES;
        if self.H.len() != len {
            self.H.clear();
            self.H.resize(len, 0.0);
            return;
        }
        for i in 0..n {
            self.H[i * n + self.first[i] as usize..i * n + self.last[i] as usize].fill(0.0);
        }
    }

    /// `H ← D H D + hold I` within the envelope; `D` in the caller's order of variables.
    pub fn scale(&mut self, D: &[f64], hold: f64) {
        let n = self.n;
        self.y.clear();
        self.y.resize(n, 0.0);
        for (place, D) in self.place.iter().zip(D) {
            self.y[*place as usize] = *D;
        }
        for i in 0..n {
            let (from, to) = (self.first[i] as usize, self.last[i] as usize);
            for (H, D) in self.H[i * n + from..i * n + to].iter_mut().zip(&self.y[from..to]) {
                *H *= self.y[i] * D;
            }
            self.H[i * n + i] += hold;
        }
    }

    /// Factors in place; false if a pivot vanishes.
    pub fn factor(&mut self) -> bool {
        let n = self.n;
        let isa = Isa::detect();
        self.swaps.clear();
        let mut start = 0;
        while start < n {
            let end = (start + TOGETHER).min(self.block_end[start] as usize);
            if !self.factor_columns(start, end) {
                return false;
            }
            let last = self.last[start] as usize;
            let (done, rest) = self.H.split_at_mut(self.block_end[start] as usize * n);
            let rows = &done[start * n..end * n];
            for i in self.block_end[start] as usize..last {
                if self.first[i] as usize <= start {
                    let at = (i - self.block_end[start] as usize) * n;
                    eliminate(isa, rows, n, start, end, &mut rest[at..at + last]);
                }
            }
            start = end;
        }
        self.done = true;
        true
    }

    /// Columns `start..end` of one block, in the rows of that block; false if a pivot vanishes.
    fn factor_columns(&mut self, start: usize, end: usize) -> bool {
        let n = self.n;
        // rows of one block start and end alike
        let (first, last) = (self.first[start] as usize, self.last[start] as usize);
        let block_end = self.block_end[start] as usize;
        for k in start..end {
            let pivot = (k..block_end)
                .max_by(|a, b| self.H[a * n + k].abs().total_cmp(&self.H[b * n + k].abs()))
                .unwrap_or(k);
            self.swaps.push(pivot as u32);
            if pivot != k {
                for j in first..last {
                    self.H.swap(k * n + j, pivot * n + j);
                }
            }
            let value = self.H[k * n + k];
            if !(value.abs() > 0.0) || !value.is_finite() {
                return false;
            }
            let (done, rest) = self.H.split_at_mut((k + 1) * n);
            let row = &done[k * n + k + 1..k * n + last];
            for below in rest[..(block_end - k - 1) * n].chunks_exact_mut(n) {
                let f = below[k] / value;
                below[k] = f;
                crate::kernels::axpy(-f, row, &mut below[k + 1..last]);
            }
        }
        true
    }

    /// Sign of the determinant; 0 without factors.
    pub fn sign(&self) -> i32 {
        if !self.done {
            return 0;
        }
        let swapped = self.swaps.iter().enumerate().filter(|(k, swap)| *k != **swap as usize);
        let negative = (0..self.n).filter(|k| self.H[k * self.n + k] < 0.0);
        if (swapped.count() + negative.count()) % 2 == 0 { 1 } else { -1 }
    }

    /// `x ← H⁻¹ x`, in the caller's order of variables.
    pub fn solve(&mut self, x: &mut [f64]) {
        let n = self.n;
        self.y.clear();
        self.y.resize(n, 0.0);
        for (place, x) in self.place.iter().zip(x.iter()) {
            self.y[*place as usize] = *x;
        }
        let y = &mut self.y;
        // rows were exchanged whole, so all exchanges come first
        for k in 0..n {
            y.swap(k, self.swaps[k] as usize);
        }
        for k in 0..n {
            let from = self.first[k] as usize;
            y[k] -= crate::kernels::dot(&self.H[k * n + from..k * n + k], &y[from..k]);
        }
        for k in (0..n).rev() {
            let last = self.last[k] as usize;
            let sum = crate::kernels::dot(&self.H[k * n + k + 1..k * n + last], &y[k + 1..last]);
            y[k] = (y[k] - sum) / self.H[k * n + k];
        }
        for (place, x) in self.place.iter().zip(x.iter_mut()) {
            *x = y[*place as usize];
        }
    }
}

kernel! {
    /// Takes the rows `start..end` of `U`, each `n` long, off a row below; their shares stay in its columns
    /// `start..end`.
    eliminate(rows: &[f64], n: usize, start: usize, end: usize, below: &mut [f64]) {
        let mut shares = [0.0; TOGETHER];
        let count = end - start;
        let mut idle = true;
        for (k, row) in rows.chunks_exact(n).enumerate() {
            let mut value = below[start + k];
            for (share, row) in shares[..k].iter().zip(rows.chunks_exact(n)) {
                value = S::fma1(-share, row[start + k], value);
            }
            shares[k] = value / row[start + k];
            below[start + k] = shares[k];
            idle &= shares[k] == 0.0;
        }
        if idle {
            return;
        }
        let below = &mut below[end..];
        let width = below.len();
        if count == TOGETHER {
            let row = |k: usize| &rows[k * n + end..k * n + end + width];
            take::<S, TOGETHER>([0, 1, 2, 3, 4, 5].map(row), shares, below);
        } else {
            for (share, row) in shares[..count].iter().zip(rows.chunks_exact(n)) {
                take::<S, 1>([&row[end..end + width]], [*share], below);
            }
        }
    }
}

/// `below −= Σ shares_k rows_k`.
#[allow(clippy::inline_always)] // it must be compiled with the kernel's instructions
#[inline(always)]
fn take<S: Simd, const K: usize>(rows: [&[f64]; K], shares: [f64; K], below: &mut [f64]) {
    let whole = below.len() / 4 * 4;
    let minus = shares.map(|share| S::splat(-share));
    for (c, to) in lanes_mut(&mut below[..whole]).iter_mut().enumerate() {
        let mut sum = S::load(to);
        for k in 0..K {
            sum = S::fma(minus[k], S::load(&lanes(rows[k])[c]), sum);
        }
        S::store(sum, to);
    }
    for c in whole..below.len() {
        for k in 0..K {
            below[c] = S::fma1(-shares[k], rows[k][c], below[c]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between −1 and 1.
    fn numbers(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
        }
    }

    #[test]
    fn blocks_of_every_size_are_solved_for() {
        let dims = [6_usize, 7, 3, 9, 1, 6, 13, 6, 2];
        let pairs = [(0, 1), (1, 3), (2, 3), (4, 5), (5, 0), (6, 7), (7, 1), (3, 6)];
        let mut next = numbers(7);
        let mut factor = Factor { pairs: pairs.to_vec(), ..Factor::default() };
        factor.analyse(dims.iter().copied());
        for _ in 0..3 {
            factor.clear();
            let n = factor.n;
            let mut dense = vec![0.0; n * n];
            let met = |a: u32, b: u32| a == b || pairs.contains(&(a, b)) || pairs.contains(&(b, a));
            for (a, rows) in dims.iter().enumerate() {
                for (b, columns) in dims.iter().enumerate() {
                    if !met(a as u32, b as u32) {
                        continue;
                    }
                    let at = (factor.block_place[a] as usize, factor.block_place[b] as usize);
                    for i in 0..*rows {
                        for j in 0..*columns {
                            // not symmetric, and with small pivots that want other rows
                            let value =
                                next() + if a == b && (i + 1) % rows == j { 20.0 } else { 0.0 };
                            dense[(at.0 + i) * n + at.1 + j] = value;
                            factor.H[(at.0 + i) * n + at.1 + j] = value;
                        }
                    }
                }
            }
            assert!(factor.factor());
            let x: Vec<f64> = (0..n).map(|_| next()).collect();
            // `x` is in the caller's order, rows and columns in that of elimination
            let place = factor.place.clone();
            let mut b = vec![0.0; n];
            for (i, row) in place.iter().enumerate() {
                for (j, column) in place.iter().enumerate() {
                    b[i] += dense[*row as usize * n + *column as usize] * x[j];
                }
            }
            factor.solve(&mut b);
            for (b, x) in b.iter().zip(&x) {
                assert!((b - x).abs() < 1e-12, "{b} for {x}");
            }
        }
    }
}
