//! Bounding volume tree over a cloud's points, in the cloud's frame. Built once.
//!
//! Leaves hold [`LEAF`] points as arrays of coordinates, so that four points take one vector load.
//! Boxes are stored in groups of four, so that one instruction tests all children of a node. There
//! are no pointers: child `i` of node `j` is number `4 j + i` of the level below.

use quasistep_linalg::simd::{LANES, Lane};
use quasistep_math::Vec3;

/// Number of points in a leaf.
pub(crate) const LEAF: usize = 32;

/// Coordinates of a leaf's points relative to the tree's origin, in m. Empty slots are NaN.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub p: [[f64; LEAF]; 3],
}

/// The four child boxes of one node. Empty boxes are NaN.
#[derive(Clone, Debug)]
pub(crate) struct Quad {
    pub centre: [Lane; 3],
    pub half: [Lane; 3],
}

#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// Centre of the points' bounding box, in m. Coordinates relative to it are small even if those
    /// of the cloud are not.
    pub origin: Vec3,
    /// Half of the diagonal of the points' bounding box, in m.
    pub half_diagonal: f64,
    pub leaves: Vec<Leaf>,
    /// Index in the cloud of the point in each slot. Slots number the points of consecutive leaves.
    pub index: Vec<u32>,
    /// Boxes of the leaves, then of their parents, up to the four below the root.
    quads: Vec<Quad>,
    /// Index of the first quad of each level.
    levels: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Item {
    p: [f64; 3],
    index: u32,
}

#[derive(Clone, Copy)]
struct Bounds {
    low: [f64; 3],
    high: [f64; 3],
}

impl Bounds {
    const NONE: Self = Self { low: [f64::INFINITY; 3], high: [f64::NEG_INFINITY; 3] };

    fn of(items: &[Item]) -> Self {
        items.iter().fold(Self::NONE, |all, i| all.join(&Self { low: i.p, high: i.p }))
    }

    #[inline]
    fn join(&self, other: &Self) -> Self {
        Self {
            low: [0, 1, 2].map(|k| self.low[k].min(other.low[k])),
            high: [0, 1, 2].map(|k| self.high[k].max(other.high[k])),
        }
    }
}

impl Tree {
    /// Builds the tree of at least one point. `low` and `high` are corners of the points' bounding
    /// box, in m.
    pub fn new(points: &[Vec3], low: Vec3, high: Vec3) -> Self {
        let origin = low * 0.5 + high * 0.5;
        let mut items: Vec<Item> = points
            .iter()
            .enumerate()
            .map(|(i, p)| Item { p: (*p - origin).to_array(), index: i as u32 })
            .collect();
        arrange(&mut items);
        let leaves: Vec<Leaf> = items
            .chunks(LEAF)
            .map(|chunk| {
                let at = |k: usize, i: usize| chunk.get(i).map_or(f64::NAN, |item| item.p[k]);
                Leaf { p: [0, 1, 2].map(|k| std::array::from_fn(|i| at(k, i))) }
            })
            .collect();
        let index = items.iter().map(|item| item.index).collect();
        let mut boxes: Vec<Bounds> = items.chunks(LEAF).map(Bounds::of).collect();
        let (mut quads, mut levels) = (Vec::new(), Vec::new());
        loop {
            levels.push(quads.len() as u32);
            quads.extend(boxes.chunks(LANES).map(quad));
            if boxes.len() <= LANES {
                break;
            }
            boxes = boxes
                .chunks(LANES)
                .map(|four| four.iter().fold(Bounds::NONE, |all, b| all.join(b)))
                .collect();
        }
        let half_diagonal = (high * 0.5 - low * 0.5).norm();
        Self { origin, half_diagonal, leaves, index, quads, levels }
    }

    /// Heap memory of the tree, in bytes.
    pub fn memory(&self) -> usize {
        size_of_val(&self.leaves[..])
            + size_of_val(&self.index[..])
            + size_of_val(&self.quads[..])
            + size_of_val(&self.levels[..])
    }

    /// Level of the four boxes below the root; leaves are level 0.
    #[inline]
    pub fn top(&self) -> u32 {
        self.levels.len() as u32 - 1
    }

    /// The quad of boxes `4 q` to `4 q + 3` of a level.
    #[inline]
    pub fn quad(&self, level: u32, q: u32) -> &Quad {
        &self.quads[(self.levels[level as usize] + q) as usize]
    }

    /// Coordinates of the point in a slot, relative to the tree's origin, in m.
    #[inline]
    pub fn point(&self, slot: u32) -> Vec3 {
        let (leaf, i) = (&self.leaves[slot as usize / LEAF], slot as usize % LEAF);
        Vec3::new(leaf.p[0][i], leaf.p[1][i], leaf.p[2][i])
    }
}

fn quad(four: &[Bounds]) -> Quad {
    let mut quad = Quad { centre: [[f64::NAN; LANES]; 3], half: [[f64::NAN; LANES]; 3] };
    for (i, b) in four.iter().enumerate() {
        for k in 0..3 {
            quad.centre[k][i] = 0.5 * b.low[k] + 0.5 * b.high[k];
            quad.half[k][i] = 0.5 * b.high[k] - 0.5 * b.low[k];
        }
    }
    quad
}

/// Sorts points so that every node of the tree owns a consecutive range. Ranges are split at the
/// median along their longest side, rounded to whole nodes. `O(n log n)`, in place.
fn arrange(items: &mut [Item]) {
    let n_leaves = items.len().div_ceil(LEAF);
    if n_leaves <= 1 {
        return;
    }
    let mut child = 1;
    while child * LANES < n_leaves {
        child *= LANES;
    }
    let left = n_leaves.div_ceil(child).div_ceil(2) * child * LEAF;
    let Bounds { low, high } = Bounds::of(items);
    let side = |k: usize| high[k] - low[k];
    let axis = (1..3).fold(0, |a, k| if side(k) > side(a) { k } else { a });
    items.select_nth_unstable_by(left, |a, b| {
        a.p[axis].total_cmp(&b.p[axis]).then(a.index.cmp(&b.index))
    });
    let (first, second) = items.split_at_mut(left);
    arrange(first);
    arrange(second);
}
