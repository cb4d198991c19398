//! Islands, and the elimination order of blocks.

use super::{LEAST_OF_TERM, Scratch, Structure};
use crate::cone::program::ConeProgram;
use std::cmp::Reverse;

fn root(parent: &mut [u32], mut i: u32) -> u32 {
    while parent[i as usize] != i {
        parent[i as usize] = parent[parent[i as usize] as usize];
        i = parent[i as usize];
    }
    i
}

impl Structure {
    /// Islands by union-find, then a minimum-degree order (counted in scalars) within each. Returns
    /// false as soon as a factorisation takes more than `most` multiply-adds.
    pub(super) fn find_order(&mut self, program: &ConeProgram, most: u64) -> bool {
        let n = program.blocks.len();
        let s = &mut self.scratch;
        s.island_of.clear();
        s.island_of.extend(0..n as u32);
        s.neighbours.resize_with(n.max(s.neighbours.len()), Vec::new);
        s.neighbours.iter_mut().for_each(Vec::clear);
        for group in &s.groups {
            let sides = program.sides_of(&program.cones[group.first_cone as usize]);
            for (i, a) in sides.iter().enumerate() {
                for b in &sides[i + 1..] {
                    let (ra, rb) =
                        (root(&mut s.island_of, a.block), root(&mut s.island_of, b.block));
                    s.island_of[ra.max(rb) as usize] = ra.min(rb);
                    s.neighbours[a.block as usize].push(b.block);
                    s.neighbours[b.block as usize].push(a.block);
                }
            }
        }
        let mut widest = 0;
        for block in 0..n {
            widest = widest.max(s.neighbours[block].len());
            root(&mut s.island_of, block as u32);
            let r = root(&mut s.island_of, block as u32);
            s.island_of[block] = r;
            s.neighbours[block].sort_unstable();
            s.neighbours[block].dedup();
        }
        // minimum degree over all blocks at once is equivalent, because fill never leaves an island
        let dim = |b: u32| program.blocks[b as usize].stride;
        s.weight.clear();
        s.weight.extend((0..n).map(|b| s.neighbours[b].iter().map(|&o| dim(o)).sum::<u32>()));
        s.position.clear();
        s.position.resize(n, u32::MAX);
        s.order.clear();
        s.queue.clear();
        s.queue.extend((0..n).map(|b| Reverse((s.weight[b], b as u32))));
        let mut work = 0;
        while let Some(Reverse((weight, block))) = s.queue.pop() {
            let b = block as usize;
            if s.position[b] != u32::MAX || weight != s.weight[b] {
                continue;
            }
            let dims = s.neighbours[b].iter().map(|&o| u64::from(program.blocks[o as usize].dim));
            let (rows, columns) = (dims.sum::<u64>(), u64::from(weight));
            let count = s.neighbours[b].len() as u64;
            let products = u64::from(program.blocks[b].dim) * rows * columns;
            work += products.max(LEAST_OF_TERM * count * count) / 2;
            if work > most {
                return false;
            }
            s.position[b] = s.order.len() as u32;
            s.order.push(block);
            // elimination makes the neighbours a clique; their list gives the panel's columns
            let around = std::mem::take(&mut s.neighbours[b]);
            for &other in &around {
                let o = other as usize;
                s.merged.clear();
                let (mut i, mut j) = (0, 0);
                let own = &s.neighbours[o];
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
                    if next != other && next != block {
                        s.merged.push(next);
                    }
                }
                widest = widest.max(s.merged.len());
                std::mem::swap(&mut s.neighbours[o], &mut s.merged);
                let weight = s.neighbours[o].iter().map(|&x| dim(x)).sum();
                s.weight[o] = weight;
                s.queue.push(Reverse((weight, other)));
            }
            s.neighbours[b] = around;
        }
        // lists are swapped from solve to solve: reserve for all at once
        for list in s.neighbours.iter_mut().chain([&mut s.merged]) {
            list.reserve(widest.saturating_sub(list.len()));
        }
        s.sort_by_trees();
        true
    }
}

impl Scratch {
    /// Sorts each island in postorder of the elimination forest. This does not change the fill, and
    /// panels with the same columns become neighbours in memory.
    fn sort_by_trees(&mut self) {
        let Self { order, position, neighbours, island_of, first_child, next_child, stack, .. } =
            self;
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
