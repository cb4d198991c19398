//! Nearest neighbours among the points of a cloud, by a k-d tree that splits along the longest
//! edge.

use quasistep_math::Vec3;

/// Number of points below which a range is not split.
const LEAF: usize = 16;

/// Points in tree order: each split puts one side in each half of a range.
#[derive(Debug)]
pub(super) struct Neighbours {
    points: Vec<Vec3>,
    /// Index of each point in the original list.
    order: Vec<u32>,
    /// For the middle of each split range, the axis and position of the split.
    cuts: Vec<(u8, f64)>,
}

impl Neighbours {
    /// Builds the tree of at most 2^32 points.
    pub fn new(points: &[Vec3]) -> Self {
        let mut order: Vec<u32> = (0..points.len()).map(|i| i as u32).collect();
        let mut cuts = vec![(0, 0.0); points.len()];
        split(points, &mut order, &mut cuts);
        Self { points: order.iter().map(|&i| points[i as usize]).collect(), order, cuts }
    }

    /// For every point, in the order of the original list, the result of `of` for its `k` nearest
    /// other points: squared distances in ascending order, and indices in the original list.
    pub fn map<T: Clone + Default>(&self, k: usize, of: impl Fn(&[(f64, u32)]) -> T) -> Vec<T> {
        let mut out = vec![T::default(); self.points.len()];
        let k = k.min(self.points.len().saturating_sub(1));
        let mut found = Vec::with_capacity(k + 1);
        // visit points in tree order, because neighbours are then close in memory
        for place in 0..self.points.len() {
            found.clear();
            if k > 0 {
                self.search(0, self.points.len(), place, k, &mut found);
            }
            for (_, other) in &mut found {
                *other = self.order[*other as usize];
            }
            out[self.order[place] as usize] = of(&found);
        }
        out
    }

    /// Updates `found`, the `k` nearest points so far in ascending order, with the points of a
    /// range.
    fn search(&self, from: usize, to: usize, place: usize, k: usize, found: &mut Vec<(f64, u32)>) {
        let p = self.points[place];
        if to - from <= LEAF {
            for other in from..to {
                if other == place {
                    continue;
                }
                let d = (self.points[other] - p).norm_squared();
                if found.len() == k && found.last().is_some_and(|(worst, _)| d >= *worst) {
                    continue;
                }
                found.truncate(k - 1);
                let at = found.partition_point(|(e, _)| *e <= d);
                found.insert(at, (d, other as u32));
            }
            return;
        }
        let middle = from.midpoint(to);
        let (axis, cut) = self.cuts[middle];
        let ahead = p.to_array()[usize::from(axis)] - cut;
        let halves = [(from, middle), (middle, to)];
        let near = usize::from(ahead >= 0.0);
        self.search(halves[near].0, halves[near].1, place, k, found);
        let far = halves[1 - near];
        if found.len() < k || found.last().is_some_and(|(worst, _)| ahead * ahead < *worst) {
            self.search(far.0, far.1, place, k, found);
        }
    }
}

fn split(points: &[Vec3], order: &mut [u32], cuts: &mut [(u8, f64)]) {
    if order.len() <= LEAF {
        return;
    }
    let first = points[order[0] as usize];
    let (low, high) = order.iter().fold((first, first), |(low, high), &i| {
        let p = points[i as usize];
        (low.min(p), high.max(p))
    });
    let edges = (high - low).to_array();
    let longest = (0..3).fold(0, |best, i| if edges[i] > edges[best] { i } else { best });
    let middle = order.len() / 2;
    let key = |i: u32| points[i as usize].to_array()[longest];
    // break ties by the original index, so that the tree is unique
    order.select_nth_unstable_by(middle, |&a, &b| key(a).total_cmp(&key(b)).then(a.cmp(&b)));
    cuts[middle] = (longest as u8, key(order[middle]));
    let (left, right) = order.split_at_mut(middle);
    let (cuts_left, cuts_right) = cuts.split_at_mut(middle);
    // no range of the right half writes to `cuts[middle]`
    split(points, left, cuts_left);
    split(points, right, cuts_right);
}

#[cfg(test)]
mod tests {
    use super::Neighbours;
    use quasistep_math::Vec3;

    /// The tree gives the same neighbours as comparing every pair.
    #[test]
    fn neighbours_are_those_of_brute_force() {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // coordinates on a coarse grid, so that many coordinates and points coincide
            ((state >> 33) % 12) as f64
        };
        for n in [1, 2, 5, 16, 17, 33, 400] {
            let points: Vec<Vec3> = (0..n).map(|_| Vec3::new(next(), next(), next())).collect();
            for k in [1, 3, 20] {
                let found = Neighbours::new(&points).map(k, <[(f64, u32)]>::to_vec);
                for (i, p) in points.iter().enumerate() {
                    let mut all: Vec<f64> = (0..n)
                        .filter(|&j| j != i)
                        .map(|j| (points[j] - *p).norm_squared())
                        .collect();
                    all.sort_by(f64::total_cmp);
                    all.truncate(k);
                    let distances: Vec<f64> = found[i].iter().map(|(d, _)| *d).collect();
                    assert_eq!(distances, all);
                    for (d, j) in &found[i] {
                        assert_eq!((points[*j as usize] - *p).norm_squared(), *d);
                    }
                }
            }
        }
    }
}
