//! Best-first search for the next point of a contact patch, which resumes from where the last
//! search stopped.
//!
//! Adding points makes the hull of a patch larger, so gains of other points only decrease. Bounds
//! on boxes and leaves that were computed for earlier points therefore stay valid. Only parts whose
//! bound exceeds the best gain so far are evaluated again. Boxes are opened once, and leaves keep
//! their points' coordinates in the contact plane.

#![allow(clippy::inline_always)] // see `quasistep_linalg::simd`

use super::field::Field;
use super::search::{Found, boxes, vector};
use super::spread::Patch;
use super::tree::{LEAF, Leaf, Tree};
use quasistep_linalg::simd::{LANES, Lane, Simd};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Part of a tree in the queue: not opened yet, or opened and kept for another look.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// Box `.1` of level `.0`; leaves are level 0.
    Box(u32, u32),
    /// Leaf `.0`, whose coordinates are kept at index `.1`.
    Kept(u32, u32),
}

/// A part with an upper bound of its points' gains. Entries are ordered by this bound.
#[derive(Clone, Copy, Debug)]
struct Entry {
    bound: f64,
    part: Part,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        // bounds are never NaN
        self.bound.total_cmp(&other.bound)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

/// Points of a leaf in contact plane coordinates. Weight 0 marks points beyond the limit.
#[derive(Clone, Debug)]
struct Flat {
    a: [f64; LEAF],
    b: [f64; LEAF],
    lift: [f64; LEAF],
    weight: [f64; LEAF],
    phi: [f64; LEAF],
}

/// Scratch memory; its contents do not affect the next selection.
#[derive(Debug, Default)]
pub(crate) struct Frontier {
    parts: BinaryHeap<Entry>,
    leaves: Vec<Flat>,
    n_leaves: usize,
}

impl Frontier {
    /// Resets the queue for another field or another cloud.
    pub fn start(&mut self, tree: &Tree) {
        self.parts.clear();
        self.n_leaves = 0;
        // the root is one level above the top quads
        self.parts.push(Entry { bound: f64::INFINITY, part: Part::Box(tree.top() + 1, 0) });
    }

    /// The point with the largest positive gain among those nearer than `limit` (m), if any.
    #[inline(always)]
    pub fn next<S: Simd, F: Field>(
        &mut self,
        tree: &Tree,
        field: &F,
        patch: &Patch,
        limit: f64,
    ) -> Option<Found> {
        let (mut floor, mut best) = (0.0, None);
        while let Some(&top) = self.parts.peek() {
            if !(top.bound > floor) {
                break;
            }
            let (leaf, kept) = match top.part {
                Part::Box(0, leaf) => {
                    let kept = self.n_leaves;
                    self.n_leaves += 1;
                    if kept == self.leaves.len() {
                        self.leaves.push(Flat::NONE);
                    }
                    self.leaves[kept].fill::<S, F>(
                        &tree.leaves[leaf as usize],
                        field,
                        patch,
                        limit,
                    );
                    (leaf, kept as u32)
                }
                Part::Box(level, i) => {
                    self.parts.pop();
                    self.open::<S, F>(tree, field, patch, limit, [level - 1, i]);
                    continue;
                }
                Part::Kept(leaf, kept) => (leaf, kept),
            };
            let flat = &self.leaves[kept as usize];
            let mut gains = [0.0; LEAF];
            let gain = flat.look::<S, F>(patch, &mut gains);
            if gain > floor {
                let i = gains.iter().position(|g| *g == gain).unwrap_or(0);
                let slot = leaf * LEAF as u32 + i as u32;
                (floor, best) = (gain, Some(Found { slot, phi: flat.phi[i] }));
            }
            // lower its bound below the floor, so that it is evaluated once per point of the patch
            if let Some(mut place) = self.parts.peek_mut() {
                *place = Entry { bound: gain.min(top.bound), part: Part::Kept(leaf, kept) };
            }
        }
        best
    }

    /// Replaces a box by its four children.
    #[inline(always)]
    fn open<S: Simd, F: Field>(
        &mut self,
        tree: &Tree,
        field: &F,
        patch: &Patch,
        limit: f64,
        [level, q]: [u32; 2],
    ) {
        let (centre, half) = boxes::<S>(tree.quad(level, q));
        let phi = field.bound::<S>(centre, half);
        let ceiling = if F::FLAT { None } else { Some(field.ceiling::<S>(centre, half)) };
        let gain = patch.bound::<S>(phi, ceiling, centre, half);
        let wanted = S::above(S::splat(limit), phi) & S::above(gain, S::splat(0.0));
        let gain = S::to_array(gain);
        for l in 0..LANES {
            if wanted >> l & 1 == 1 {
                let part = Part::Box(level, LANES as u32 * q + l as u32);
                self.parts.push(Entry { bound: gain[l], part });
            }
        }
    }
}

#[inline(always)]
fn lane(x: &mut [f64; LEAF], v: usize) -> &mut Lane {
    &mut x.as_chunks_mut::<LANES>().0[v]
}

#[inline(always)]
fn load<S: Simd>(x: &[f64; LEAF], v: usize) -> S::V {
    S::load(&x.as_chunks::<LANES>().0[v])
}

impl Flat {
    const NONE: Self = {
        let none = [0.0; LEAF];
        Self { a: none, b: none, lift: none, weight: none, phi: none }
    };

    /// Computes contact plane coordinates and weights of a leaf's points.
    #[inline(always)]
    fn fill<S: Simd, F: Field>(&mut self, leaf: &Leaf, field: &F, patch: &Patch, limit: f64) {
        for v in 0..LEAF / LANES {
            let p = vector::<S>(leaf, v);
            let phi = field.distance::<S>(p, limit);
            let delta = S::sub(phi, S::splat(patch.deepest));
            let [a, b, height] = patch.coordinates::<S>(p);
            let weight = S::where_above(S::splat(limit), phi, patch.weights::<S>(delta));
            *lane(&mut self.a, v) = S::to_array(a);
            *lane(&mut self.b, v) = S::to_array(b);
            *lane(&mut self.lift, v) = S::to_array(S::sub(height, delta));
            *lane(&mut self.weight, v) = S::to_array(weight);
            *lane(&mut self.phi, v) = S::to_array(phi);
        }
    }

    /// Computes the gains of all points of a leaf; returns the largest.
    #[inline(always)]
    fn look<S: Simd, F: Field>(&self, patch: &Patch, gains: &mut [f64; LEAF]) -> f64 {
        let mut most = S::splat(0.0);
        for v in 0..LEAF / LANES {
            let (a, b) = (load::<S>(&self.a, v), load::<S>(&self.b, v));
            let (lift, weight) = (load::<S>(&self.lift, v), load::<S>(&self.weight, v));
            let gain = patch.gain::<S>(F::FLAT, a, b, lift, weight);
            // empty slots are NaN, and `max` returns its second operand then
            most = S::max(gain, most);
            *lane(gains, v) = S::to_array(gain);
        }
        let [a, b, c, d] = S::to_array(most);
        a.max(b).max(c.max(d))
    }
}
