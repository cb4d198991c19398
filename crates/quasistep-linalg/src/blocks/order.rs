//! Islands of connected blocks, and the elimination order of blocks.

use crate::simd::padded;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Lower bound of the multiply-adds that each term of a factorisation counts, so that a limit of
/// work also bounds the memory of the terms. Blocks of six variables need more.
const LEAST_OF_TERM: u64 = 128;

/// Graph of blocks, and the order that eliminates them.
#[derive(Debug, Default)]
pub struct Order {
    /// For each block the first block of its island.
    pub island_of: Vec<u32>,
    /// For each block the blocks that are connected to it when it is eliminated.
    pub neighbours: Vec<Vec<u32>>,
    /// Blocks in elimination order, sorted by island; and for each block its place.
    pub blocks: Vec<u32>,
    /// Place of each block in that order.
    pub position: Vec<u32>,
    merged: Vec<u32>,
    weight: Vec<u32>,
    queue: BinaryHeap<Reverse<(u32, u32)>>,
    /// Elimination forest: the parent of a block is its first neighbour in elimination order after
    /// it.
    first_child: Vec<u32>,
    next_child: Vec<u32>,
    stack: Vec<u32>,
}

fn root(parent: &mut [u32], mut i: u32) -> u32 {
    while parent[i as usize] != i {
        parent[i as usize] = parent[parent[i as usize] as usize];
        i = parent[i as usize];
    }
    i
}

/// Merges two sorted lists without `left_out`.
fn merge(own: &[u32], around: &[u32], left_out: [u32; 2], merged: &mut Vec<u32>) {
    merged.clear();
    let (mut i, mut j) = (0, 0);
    while i < own.len() || j < around.len() {
        let next = match (own.get(i), around.get(j)) {
            (Some(&x), Some(&y)) if x == y => {
                (i, j) = (i + 1, j + 1);
                x
            }
            (Some(&x), Some(&y)) if x < y => {
                i += 1;
                x
            }
            (Some(&x), None) => {
                i += 1;
                x
            }
            (_, Some(&y)) => {
                j += 1;
                y
            }
            (None, None) => break,
        };
        if !left_out.contains(&next) {
            merged.push(next);
        }
    }
}

impl Order {
    /// Starts with `n` blocks that are not connected.
    pub fn start(&mut self, n: usize) {
        self.island_of.clear();
        self.island_of.extend(0..n as u32);
        self.neighbours.resize_with(n.max(self.neighbours.len()), Vec::new);
        self.neighbours.iter_mut().for_each(Vec::clear);
    }

    /// Connects two blocks.
    pub fn connect(&mut self, a: u32, b: u32) {
        let (ra, rb) = (root(&mut self.island_of, a), root(&mut self.island_of, b));
        self.island_of[ra.max(rb) as usize] = ra.min(rb);
        self.neighbours[a as usize].push(b);
        self.neighbours[b as usize].push(a);
    }

    /// Finds islands by union-find, then a minimum-degree order (counted in scalars) within each.
    /// `dim` is the number of variables of a block. Returns false as soon as a factorisation takes
    /// more than `most` multiply-adds.
    pub fn find(&mut self, dim: impl Fn(u32) -> u32, most: u64) -> bool {
        let n = self.island_of.len();
        let mut widest = 0;
        for block in 0..n {
            widest = widest.max(self.neighbours[block].len());
            self.island_of[block] = root(&mut self.island_of, block as u32);
            self.neighbours[block].sort_unstable();
            self.neighbours[block].dedup();
        }
        // minimum degree over all blocks at once is equivalent, because fill never leaves an island
        let width = |around: &[u32]| around.iter().map(|&o| padded(dim(o) as usize) as u32).sum();
        self.weight.clear();
        self.weight.extend(self.neighbours[..n].iter().map(|around| width(around)));
        self.position.clear();
        self.position.resize(n, u32::MAX);
        self.blocks.clear();
        self.queue.clear();
        self.queue.extend((0..n).map(|b| Reverse((self.weight[b], b as u32))));
        let mut work = 0;
        while let Some(Reverse((weight, block))) = self.queue.pop() {
            let b = block as usize;
            if self.position[b] != u32::MAX || weight != self.weight[b] {
                continue;
            }
            let rows = self.neighbours[b].iter().map(|&o| u64::from(dim(o))).sum::<u64>();
            let count = self.neighbours[b].len() as u64;
            let products = u64::from(dim(block)) * rows * u64::from(weight);
            work += products.max(LEAST_OF_TERM * count * count) / 2;
            if work > most {
                return false;
            }
            self.position[b] = self.blocks.len() as u32;
            self.blocks.push(block);
            // elimination makes the neighbours a clique; their list gives the panel's columns
            let around = std::mem::take(&mut self.neighbours[b]);
            for &other in &around {
                let own = &mut self.neighbours[other as usize];
                merge(own, &around, [other, block], &mut self.merged);
                widest = widest.max(self.merged.len());
                std::mem::swap(own, &mut self.merged);
                let weight = width(own);
                self.weight[other as usize] = weight;
                self.queue.push(Reverse((weight, other)));
            }
            self.neighbours[b] = around;
        }
        // lists are swapped from solve to solve: reserve for all at once
        for list in self.neighbours.iter_mut().chain([&mut self.merged]) {
            list.reserve(widest.saturating_sub(list.len()));
        }
        self.sort_by_trees();
        true
    }

    /// Sorts each island in postorder of the elimination forest. This does not change the fill, and
    /// panels with the same columns become neighbours in memory.
    fn sort_by_trees(&mut self) {
        let Self {
            blocks: order,
            position,
            neighbours,
            island_of,
            first_child,
            next_child,
            stack,
            ..
        } = self;
        for list in [&mut *first_child, &mut *next_child] {
            list.clear();
            list.resize(order.len(), u32::MAX);
        }
        stack.clear();
        // the child with the most neighbours comes directly before its parent
        order.sort_unstable_by_key(|&b| {
            Reverse((neighbours[b as usize].len(), position[b as usize]))
        });
        for &b in order.iter() {
            let left = neighbours[b as usize].iter();
            if let Some(&parent) = left.min_by_key(|&&o| position[o as usize]) {
                next_child[b as usize] = first_child[parent as usize];
                first_child[parent as usize] = b;
            } else {
                stack.push(b);
            }
        }
        stack.sort_unstable_by_key(|&b| island_of[b as usize]);
        // in reverse: every block, then its children
        order.clear();
        while let Some(b) = stack.pop() {
            order.push(b);
            let mut child = first_child[b as usize];
            while child != u32::MAX {
                stack.push(child);
                child = next_child[child as usize];
            }
        }
        order.reverse();
        for (i, &b) in order.iter().enumerate() {
            position[b as usize] = i as u32;
        }
    }
}
