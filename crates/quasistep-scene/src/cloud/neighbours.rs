//! Nearest neighbours among the points of a cloud: a tree of boxes halved along their longest edge.

use quasistep_math::Vec3;

/// Halving stops at this many points.
const LEAF: usize = 16;

/// Points in the order of the tree: each half of a range is one side of its split.
#[derive(Debug)]
pub(super) struct Neighbours {
    points: Vec<Vec3>,
    /// Where each of them was in the list that the tree was made of.
    order: Vec<u32>,
    /// For the middle of each split range, the axis of the split and where it cuts.
    cuts: Vec<(u8, f64)>,
}

impl Neighbours {
    /// The tree of at most 2^32 points.
    pub fn new(points: &[Vec3]) -> Self {
        let mut order: Vec<u32> = (0..points.len()).map(|i| i as u32).collect();
        let mut cuts = vec![(0, 0.0); points.len()];
        split(points, &mut order, &mut cuts);
        Self { points: order.iter().map(|&i| points[i as usize]).collect(), order, cuts }
    }

    /// For every point in the order of the list, what `of` makes of the squared distances to its `k`
    /// nearest others, ascending, and their places in the list.
    pub fn map<T: Clone + Default>(&self, k: usize, of: impl Fn(&[(f64, u32)]) -> T) -> Vec<T> {
        let mut out = vec![T::default(); self.points.len()];
        let k = k.min(self.points.len().saturating_sub(1));
        let mut found = Vec::with_capacity(k + 1);
        // neighbours in the tree are neighbours in memory
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

    /// Narrows `found`, ascending, to the `k` nearest to a point among a range and what it held.
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
    // equal keys in the order of the list: one tree for one cloud
    order.select_nth_unstable_by(middle, |&a, &b| key(a).total_cmp(&key(b)).then(a.cmp(&b)));
    cuts[middle] = (longest as u8, key(order[middle]));
    let (left, right) = order.split_at_mut(middle);
    let (cuts_left, cuts_right) = cuts.split_at_mut(middle);
    // no range within the right half has `middle` as its own middle
    split(points, left, cuts_left);
    split(points, right, cuts_right);
}

#[cfg(test)]
mod tests {
    use super::Neighbours;
    use quasistep_math::Vec3;

    /// Every pair of points, in place of the tree.
    #[test]
    fn neighbours_are_those_of_brute_force() {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // a coarse grid: many equal coordinates and equal points
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
