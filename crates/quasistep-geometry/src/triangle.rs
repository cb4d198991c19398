//! Triangles: normal, nearest point, crossing with a segment.

use quasistep_math::Vec3;

/// Unit normal of a triangle seen counter-clockwise; the z axis if it has no area.
pub(crate) fn unit_normal([a, b, c]: &[Vec3; 3]) -> Vec3 {
    (*b - *a).cross(*c - *a).try_normalize().unwrap_or(Vec3::Z)
}

/// The point of a triangle that is nearest to `p`.
pub(crate) fn nearest_of_triangle(p: Vec3, [a, b, c]: &[Vec3; 3]) -> Vec3 {
    let n = (*b - *a).cross(*c - *a);
    let sides = [(*a, *b), (*b, *c), (*c, *a)];
    if sides.iter().all(|(u, w)| n.dot((*w - *u).cross(p - *u)) >= 0.0) {
        return p - n * (n.dot(p - *a) / n.norm_squared());
    }
    let on_side = |(u, w): (Vec3, Vec3)| {
        let along = w - u;
        u + along * ((p - u).dot(along) / along.norm_squared()).clamp(0.0, 1.0)
    };
    let feet = sides.map(on_side);
    let nearer =
        |x: Vec3, y: Vec3| if (p - y).norm_squared() < (p - x).norm_squared() { y } else { x };
    nearer(nearer(feet[0], feet[1]), feet[2])
}

/// True if the segment from `p` to `q` crosses a triangle. Of two triangles with a common side it
/// crosses one at most there, if both have their corners from one list.
pub(crate) fn crosses(p: Vec3, q: Vec3, [a, b, c]: &[Vec3; 3]) -> bool {
    let n = (*b - *a).cross(*c - *a);
    if (n.dot(p - *a) > 0.0) == (n.dot(q - *a) > 0.0) {
        return false;
    }
    let way = q - p;
    // each side has one sign, whichever triangle asks
    let left = |u: Vec3, w: Vec3| {
        let is_turned = w.to_array() < u.to_array();
        let (from, to) = if is_turned { (w, u) } else { (u, w) };
        (way.dot((from - p).cross(to - p)) > 0.0) != is_turned
    };
    let [x, y, z] = [left(*a, *b), left(*b, *c), left(*c, *a)];
    x == y && y == z
}
