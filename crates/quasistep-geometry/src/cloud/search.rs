//! Best-first search of a cloud's tree for points with the largest gain.

#![allow(clippy::inline_always)] // see `quasistep_linalg::simd`

use super::field::{BallField, Field};
use super::tree::{LEAF, Leaf, Quad, Tree};
use quasistep_linalg::simd::{LANES, Simd, kernel};
use quasistep_math::Vec3;

/// A point found by a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    pub slot: u32,
    /// Signed distance of the point's centre, without its radius, in m.
    pub phi: f64,
}

/// Objective of a search: which points are wanted, and their gain.
pub(crate) trait Goal {
    /// Points with a signed distance of this or more are ignored, in m.
    fn limit(&self) -> f64;
    /// Points with a gain of this or less are ignored.
    fn floor(&self) -> f64;
    /// Upper bound, up to rounding, of the gain of all points in four boxes, from lower bounds
    /// `phi` of their distances.
    fn bound<S: Simd>(&self, phi: S::V, centre: [S::V; 3], half: [S::V; 3]) -> S::V;
    fn gain<S: Simd>(&self, phi: S::V, p: [S::V; 3]) -> S::V;
    /// Accepts a point whose gain is above the floor.
    fn take(&mut self, gain: f64, found: Found);
}

/// Stack of boxes to be searched. Each of at most 14 levels adds at most three entries.
struct Stack {
    n: usize,
    /// Upper bound of the gain, level, and index within the level.
    items: [(f64, u32, u32); 64],
}

/// Passes to `goal` all points of the tree whose gain exceeds its floor.
///
/// The order depends on the arguments only.
#[inline(always)]
pub(crate) fn search<S: Simd, F: Field, G: Goal>(tree: &Tree, field: &F, goal: &mut G) {
    let mut stack = Stack { n: 0, items: [(0.0, 0, 0); 64] };
    expand::<S, F, G>(tree, field, goal, &mut stack, tree.top(), 0);
    while stack.n > 0 {
        stack.n -= 1;
        let (bound, level, i) = stack.items[stack.n];
        if bound <= goal.floor() {
            continue;
        }
        if level > 0 {
            expand::<S, F, G>(tree, field, goal, &mut stack, level - 1, i);
        } else {
            scan::<S, F, G>(tree, field, goal, i);
        }
    }
}

/// Pushes those boxes of quad `q` whose bound exceeds the floor, the best one last.
#[inline(always)]
fn expand<S: Simd, F: Field, G: Goal>(
    tree: &Tree,
    field: &F,
    goal: &G,
    stack: &mut Stack,
    level: u32,
    q: u32,
) {
    let (centre, half) = boxes::<S>(tree.quad(level, q));
    let phi = field.bound::<S>(centre, half);
    let gain = goal.bound::<S>(phi, centre, half);
    let wanted = S::above(S::splat(goal.limit()), phi) & S::above(gain, S::splat(goal.floor()));
    let gain = S::to_array(gain);
    let first = stack.n;
    for l in 0..LANES {
        if wanted >> l & 1 == 1 {
            let item = (gain[l], level, LANES as u32 * q + l as u32);
            let mut at = stack.n;
            while at > first && stack.items[at - 1].0 > item.0 {
                stack.items[at] = stack.items[at - 1];
                at -= 1;
            }
            stack.items[at] = item;
            stack.n += 1;
        }
    }
}

#[inline(always)]
fn scan<S: Simd, F: Field, G: Goal>(tree: &Tree, field: &F, goal: &mut G, leaf: u32) {
    for v in 0..LEAF / LANES {
        let p = vector::<S>(&tree.leaves[leaf as usize], v);
        let phi = field.distance::<S>(p, goal.limit());
        let gain = goal.gain::<S>(phi, p);
        let wanted = S::above(S::splat(goal.limit()), phi) & S::above(gain, S::splat(goal.floor()));
        if wanted == 0 {
            continue;
        }
        let (phi, gain) = (S::to_array(phi), S::to_array(gain));
        for l in 0..LANES {
            // the floor rises with each accepted point
            if wanted >> l & 1 == 1 && gain[l] > goal.floor() {
                let slot = leaf * LEAF as u32 + (v * LANES + l) as u32;
                goal.take(gain[l], Found { slot, phi: phi[l] });
            }
        }
    }
}

/// Centres and half edges of the four boxes of a quad, in m.
#[inline(always)]
pub(crate) fn boxes<S: Simd>(quad: &Quad) -> ([S::V; 3], [S::V; 3]) {
    let (c, h) = (&quad.centre, &quad.half);
    (
        [S::load(&c[0]), S::load(&c[1]), S::load(&c[2])],
        [S::load(&h[0]), S::load(&h[1]), S::load(&h[2])],
    )
}

/// Coordinates of points `4 v` to `4 v + 3` of a leaf.
#[inline(always)]
pub(crate) fn vector<S: Simd>(leaf: &Leaf, v: usize) -> [S::V; 3] {
    let [x, y, z] = &leaf.p;
    [
        S::load(&x.as_chunks::<LANES>().0[v]),
        S::load(&y.as_chunks::<LANES>().0[v]),
        S::load(&z.as_chunks::<LANES>().0[v]),
    ]
}

/// Goal: the points with the smallest distance, nearest first. Among equals the first one met is
/// kept.
pub(crate) struct Nearest<'a> {
    pub limit: f64,
    /// Distances that differ by less than this count as equal, in m.
    pub noise: f64,
    pub k: usize,
    pub found: &'a mut Vec<Found>,
}

impl Goal for Nearest<'_> {
    #[inline(always)]
    fn limit(&self) -> f64 {
        if self.found.len() < self.k {
            self.limit
        } else {
            self.limit.min(self.found[self.k - 1].phi)
        }
    }

    #[inline(always)]
    fn floor(&self) -> f64 {
        if self.found.len() < self.k { f64::NEG_INFINITY } else { -self.found[self.k - 1].phi }
    }

    #[inline(always)]
    fn bound<S: Simd>(&self, phi: S::V, _: [S::V; 3], _: [S::V; 3]) -> S::V {
        // flat contact: distances equal up to rounding are no reason to visit all points
        let full = self.found.len() >= self.k;
        S::sub(S::splat(if full { -self.noise } else { 0.0 }), phi)
    }

    #[inline(always)]
    fn gain<S: Simd>(&self, phi: S::V, _: [S::V; 3]) -> S::V {
        S::sub(S::splat(0.0), phi)
    }

    #[inline(always)]
    fn take(&mut self, _: f64, found: Found) {
        let after = self.found.iter().position(|f| f.phi > found.phi);
        self.found.insert(after.unwrap_or(self.found.len()), found);
        self.found.truncate(self.k);
    }
}

/// Goal: the farthest point along a direction, among those nearer than the limit.
pub(crate) struct Farthest {
    pub direction: Vec3,
    pub limit: f64,
    pub noise: f64,
    pub best: (f64, Option<Found>),
}

impl Goal for Farthest {
    #[inline(always)]
    fn limit(&self) -> f64 {
        self.limit
    }

    #[inline(always)]
    fn floor(&self) -> f64 {
        self.best.0
    }

    #[inline(always)]
    fn bound<S: Simd>(&self, _: S::V, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        let reach = S::dot(self.direction.abs().to_array(), half, S::splat(-self.noise));
        S::dot(self.direction.to_array(), centre, reach)
    }

    #[inline(always)]
    fn gain<S: Simd>(&self, _: S::V, p: [S::V; 3]) -> S::V {
        S::dot(self.direction.to_array(), p, S::splat(0.0))
    }

    #[inline(always)]
    fn take(&mut self, gain: f64, found: Found) {
        self.best = (gain, Some(found));
    }
}

/// Number of nearest points from which the surface near a query is made.
pub(crate) const NEIGHBOURS: usize = 4;

/// Goal: the points nearest to a query point, nearest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbours {
    n: usize,
    /// Points found; their `phi` is a distance, ≥ 0, in m.
    found: [Found; NEIGHBOURS],
}

impl Neighbours {
    pub fn found(&self) -> &[Found] {
        &self.found[..self.n]
    }
}

kernel! {
    /// The points nearest to `q`, which is relative to the tree's origin.
    neighbours(tree: &Tree, q: Vec3) -> Neighbours {
        let none = Found { slot: 0, phi: f64::INFINITY };
        let mut near = Neighbours { n: 0, found: [none; NEIGHBOURS] };
        search::<S, _, _>(tree, &BallField { centre: q, radius: 0.0 }, &mut near);
        near
    }
}

impl Goal for Neighbours {
    #[inline(always)]
    fn limit(&self) -> f64 {
        self.found[NEIGHBOURS - 1].phi
    }

    #[inline(always)]
    fn floor(&self) -> f64 {
        -self.limit()
    }

    #[inline(always)]
    fn bound<S: Simd>(&self, phi: S::V, _: [S::V; 3], _: [S::V; 3]) -> S::V {
        S::sub(S::splat(0.0), phi)
    }

    #[inline(always)]
    fn gain<S: Simd>(&self, phi: S::V, _: [S::V; 3]) -> S::V {
        S::sub(S::splat(0.0), phi)
    }

    #[inline(always)]
    fn take(&mut self, _: f64, found: Found) {
        let mut at = NEIGHBOURS - 1;
        while at > 0 && self.found[at - 1].phi > found.phi {
            self.found[at] = self.found[at - 1];
            at -= 1;
        }
        self.found[at] = found;
        self.n = NEIGHBOURS.min(self.n + 1);
    }
}
