//! Broad phase: finds pairs of axis-aligned boxes that are near one another, by sweep and prune
//! along the axis of largest spread.

use quasistep_math::{Pose, Vec3};

/// An axis-aligned box; infinite sides are allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Smallest corner, in m.
    pub min: Vec3,
    /// Largest corner, in m.
    pub max: Vec3,
}

impl Aabb {
    /// The box without points.
    pub const EMPTY: Self = Self {
        min: Vec3::new(f64::INFINITY, f64::INFINITY, f64::INFINITY),
        max: Vec3::new(f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY),
    };

    /// The smallest box around two boxes.
    #[must_use]
    pub fn joined(&self, other: &Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// The box whose faces are farther out by `distance` (m).
    #[must_use]
    pub fn grown(&self, distance: f64) -> Self {
        let d = Vec3::new(distance, distance, distance);
        Self { min: self.min - d, max: self.max + d }
    }

    /// The smallest box around this one at pose `X`.
    #[must_use]
    pub fn turned(&self, X: &Pose) -> Self {
        let (middle, half) = ((self.min + self.max) * 0.5, (self.max - self.min) * 0.5);
        let rows = X.rotation.to_matrix().rows.map(Vec3::abs);
        let extent = Vec3::new(rows[0].dot(half), rows[1].dot(half), rows[2].dot(half));
        let middle = X.transform_point(middle);
        Self { min: middle - extent, max: middle + extent }
    }

    /// True if the gap between the boxes is less than `margin` (m) along every axis.
    pub fn near(&self, other: &Self, margin: f64) -> bool {
        (0..3).all(|k| self.min[k] <= other.max[k] + margin && other.min[k] <= self.max[k] + margin)
    }
}

/// Reusable memory of the broad phase.
#[derive(Debug, Default)]
pub struct BroadPhase {
    /// Lower end along the sweep axis (m) and index of each finite box, sorted.
    order: Vec<(f64, u32)>,
    /// Indices of boxes with an infinite side. Each is tested against all others.
    infinite: Vec<u32>,
    tests: usize,
}

impl BroadPhase {
    /// Empty memory; it grows with use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of pairs of boxes that the last call of [`pairs`](Self::pairs) tested.
    pub fn tests(&self) -> usize {
        self.tests
    }

    /// Appends to the result all pairs `(i, j)`, `i < j`, of boxes nearer than `margin` (m) for
    /// which `keep` is true, in ascending order.
    pub fn pairs(
        &mut self,
        boxes: &[Aabb],
        margin: f64,
        mut keep: impl FnMut(usize, usize) -> bool,
        out: &mut Vec<(u32, u32)>,
    ) {
        let start = out.len();
        self.tests = 0;
        self.order.clear();
        self.infinite.clear();
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for (i, b) in boxes.iter().enumerate() {
            if b.min.is_finite() && b.max.is_finite() {
                self.order.push((0.0, i as u32));
                for k in 0..3 {
                    let centre = 0.5 * (b.min[k] + b.max[k]);
                    low[k] = low[k].min(centre);
                    high[k] = high[k].max(centre);
                }
            } else {
                self.infinite.push(i as u32);
            }
        }
        let axis = (1..3).fold(0, |a, k| if high[k] - low[k] > high[a] - low[a] { k } else { a });
        for (at, i) in &mut self.order {
            *at = boxes[*i as usize].min[axis];
        }
        self.order.sort_unstable_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
        let mut offer = |i: u32, j: u32, out: &mut Vec<(u32, u32)>| {
            let (i, j) = (i.min(j), i.max(j));
            self.tests += 1;
            let (a, b) = (i as usize, j as usize);
            if boxes[a].near(&boxes[b], margin) && keep(a, b) {
                out.push((i, j));
            }
        };
        for (k, &(_, i)) in self.order.iter().enumerate() {
            let end = boxes[i as usize].max[axis] + margin;
            for &(at, j) in &self.order[k + 1..] {
                if at > end {
                    break;
                }
                offer(i, j, out);
            }
        }
        for (k, &i) in self.infinite.iter().enumerate() {
            for &(_, j) in &self.order {
                offer(i, j, out);
            }
            for &j in &self.infinite[k + 1..] {
                offer(i, j, out);
            }
        }
        out[start..].sort_unstable();
    }
}
