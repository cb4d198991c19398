//! Triangulation of polygons.

use quasistep_math::Vec3;

/// Most corners of a polygon that is triangulated by ear clipping, which has cubic worst-case cost:
/// 28 MB of such polygons take ten seconds. Larger ones are treated as convex.
const MAX_CORNERS: usize = 64;

/// Triangulates a simple polygon; corner indices, in the polygon's orientation. A convex polygon
/// becomes a fan around its first corner; another is triangulated by ear clipping.
pub(crate) fn triangulate(corners: &[Vec3]) -> Vec<[usize; 3]> {
    let n = corners.len();
    let fan = || (1..n.saturating_sub(1)).map(|k| [0, k, k + 1]).collect();
    if !(4..=MAX_CORNERS).contains(&n) {
        return fan();
    }
    // Newell's normal: twice the vector area, for any shape
    let normal = (0..n).fold(Vec3::ZERO, |sum, k| {
        let (a, b) = (corners[k] - corners[0], corners[(k + 1) % n] - corners[0]);
        sum + a.cross(b)
    });
    let turn = |[a, b, c]: [usize; 3]| {
        let [a, b, c] = [a, b, c].map(|i| corners[i]);
        (b - a).cross(c - b).dot(normal)
    };
    if (0..n).all(|k| turn([k, (k + 1) % n, (k + 2) % n]) >= 0.0) {
        return fan();
    }
    let mut left: Vec<usize> = (0..n).collect();
    let mut triangles = Vec::with_capacity(n - 2);
    while left.len() > 3 {
        let m = left.len();
        let at = |k: usize| [left[(k + m - 1) % m], left[k], left[(k + 1) % m]];
        let is_ear = |&k: &usize| {
            let ear = at(k);
            let [a, b, c] = ear;
            let inside = |&p: &usize| {
                !ear.contains(&p)
                    && turn([a, b, p]) >= 0.0
                    && turn([b, c, p]) >= 0.0
                    && turn([c, a, p]) >= 0.0
            };
            turn(ear) > 0.0 && !left.iter().any(inside)
        };
        // a self-intersecting polygon may have no ear
        let Some(k) = (0..m).find(is_ear) else { break };
        triangles.push(at(k));
        left.remove(k);
    }
    triangles.extend((1..left.len() - 1).map(|k| [left[0], left[k], left[k + 1]]));
    triangles
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The triangles of a concave polygon have positive areas that add up to its area.
    #[test]
    fn triangles_of_a_concave_polygon_have_its_area() {
        // an L with arms of width 1 in a square of side 3: area 5, for every first corner
        let outline = [[0.0, 0.0], [3.0, 0.0], [3.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]];
        for first in 0..outline.len() {
            let corners: Vec<Vec3> = (0..6)
                .map(|k| outline[(k + first) % 6])
                .map(|[x, y]| Vec3::new(x, y, 0.5 * x))
                .collect();
            let areas: Vec<f64> = triangulate(&corners)
                .iter()
                .map(|t| t.map(|i| corners[i]))
                .map(|[a, b, c]| 0.5 * (b - a).cross(c - a).z)
                .collect();
            assert_eq!(areas.len(), 4);
            assert!(areas.iter().all(|a| *a > 0.0), "{first}: {areas:?}");
            assert!((areas.iter().sum::<f64>() - 5.0).abs() < 1e-12, "{first}: {areas:?}");
        }
    }
}
