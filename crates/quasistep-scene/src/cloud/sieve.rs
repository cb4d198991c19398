//! Filters of a cloud's points: removal of outliers, and thinning to one point per voxel.

use super::neighbours::Neighbours;
use quasistep_math::Vec3;

/// Statistical outlier filter: false for points whose mean distance to their `k` nearest neighbours
/// exceeds the mean over all points by more than `deviations` standard deviations.
pub(super) fn without_outliers(points: &[Vec3], k: usize, deviations: f64) -> Vec<bool> {
    let mean_distance = |found: &[(f64, u32)]| {
        found.iter().map(|(d, _)| d.sqrt()).sum::<f64>() / found.len().max(1) as f64
    };
    let distances = Neighbours::new(points).map(k, mean_distance);
    let n = distances.len().max(1) as f64;
    let mean = distances.iter().sum::<f64>() / n;
    let variance = distances.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n;
    let limit = mean + deviations * variance.sqrt();
    distances.iter().map(|d| *d <= limit).collect()
}

/// Most voxels along an edge of the cloud.
const MOST_VOXELS: f64 = 4294967295.0;

/// Marks one point per voxel, the nearest to the mean of the voxel's points. Voxels are cubes of
/// the given edge, in m.
///
/// # Errors
///
/// The cloud's longest edge in m, if it has too many voxels of this size.
pub(super) fn one_per_voxel(points: &[Vec3], edge: f64) -> Result<Vec<bool>, f64> {
    let Some(&first) = points.first() else { return Ok(Vec::new()) };
    let (low, high) =
        points.iter().fold((first, first), |(low, high), p| (low.min(*p), high.max(*p)));
    let longest = (high - low).max_abs();
    if !(longest / edge < MOST_VOXELS) {
        return Err(longest);
    }
    let voxel = |p: Vec3| ((p - low) * (1.0 / edge)).to_array().map(|x| x as u32);
    let mut order: Vec<([u32; 3], u32)> =
        points.iter().enumerate().map(|(i, p)| (voxel(*p), i as u32)).collect();
    order.sort_unstable();
    let mut kept = vec![false; points.len()];
    for group in order.chunk_by(|a, b| a.0 == b.0) {
        let point = |i: &([u32; 3], u32)| points[i.1 as usize];
        let mean = group.iter().map(point).fold(Vec3::ZERO, |a, b| a + b) / group.len() as f64;
        let away = |i: &([u32; 3], u32)| (point(i) - mean).norm_squared();
        // ties: the first point wins
        let nearest = group.iter().reduce(|a, b| if away(b) < away(a) { b } else { a });
        if let Some((_, i)) = nearest {
            kept[*i as usize] = true;
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(n: usize, step: f64) -> Vec<Vec3> {
        (0..n * n).map(|k| Vec3::new((k % n) as f64 * step, (k / n) as f64 * step, 0.0)).collect()
    }

    #[test]
    fn points_away_from_the_rest_are_outliers() {
        let mut points = grid(30, 0.01);
        points.insert(100, Vec3::new(0.1, 0.1, 0.2));
        points.push(Vec3::new(-0.3, 0.0, 0.0));
        let kept = without_outliers(&points, 8, 3.0);
        let dropped: Vec<usize> = (0..kept.len()).filter(|&i| !kept[i]).collect();
        assert_eq!(dropped, [100, points.len() - 1]);
        // a cloud of one point has no outliers
        assert_eq!(without_outliers(&points[..1], 8, 1.0), [true]);
    }

    /// Nine points per voxel, with the middle one at their mean: the middle one stays.
    #[test]
    fn the_point_nearest_to_the_mean_stays() {
        let points = grid(30, 0.01);
        let kept = one_per_voxel(&points, 0.03 * (1.0 - 1e-12)).unwrap();
        assert_eq!(kept.iter().filter(|k| **k).count(), 100);
        for (i, _) in kept.iter().enumerate().filter(|(_, k)| **k) {
            assert_eq!((i % 30 % 3, i / 30 % 3), (1, 1), "point {i}");
        }
        // voxels smaller than the spacing change nothing; extremely small ones are refused
        assert!(one_per_voxel(&points, 0.009).unwrap().iter().all(|k| *k));
        assert!(one_per_voxel(&points, 1e-300).is_err());
    }
}
