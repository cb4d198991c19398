//! `H = L U` of a matrix in blocks that is not symmetric, but whose pattern is.
//!
//! Dense storage in which only the envelope is touched: row `i` of `L` and column `i` of `U` start at the
//! first block that block `i` has met. Rows are exchanged within a block only, which keeps the
//! envelope; the caller checks what comes out.

use crate::kernels::axpy;

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
        if self.H.len() != n * n {
            self.H.clear();
            self.H.resize(n * n, 0.0);
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
        self.swaps.clear();
        for k in 0..n {
            let block_end = self.block_end[k] as usize;
            let pivot = (k..block_end)
                .max_by(|a, b| self.H[a * n + k].abs().total_cmp(&self.H[b * n + k].abs()))
                .unwrap_or(k);
            self.swaps.push(pivot as u32);
            if pivot != k {
                for j in self.first[k] as usize..self.last[k] as usize {
                    self.H.swap(k * n + j, pivot * n + j);
                }
            }
            let value = self.H[k * n + k];
            if !(value.abs() > 0.0) || !value.is_finite() {
                return false;
            }
            // rows of one block start and end alike
            let last = self.last[k] as usize;
            let (done, rest) = self.H.split_at_mut((k + 1) * n);
            let row = &done[k * n + k + 1..k * n + last];
            for i in k + 1..last {
                if self.first[i] as usize > k {
                    continue;
                }
                let below = &mut rest[(i - k - 1) * n..(i - k) * n];
                if below[k] != 0.0 {
                    let f = below[k] / value;
                    below[k] = f;
                    axpy(-f, row, &mut below[k + 1..last]);
                }
            }
        }
        self.done = true;
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
