//! Triangulation of drawn shapes, with normals at the corners.

use quasistep_math::Vec3;
use quasistep_record::DrawnGeometry;
use std::f64::consts::{PI, TAU};

/// A triangle, counter-clockwise seen from outside, with a unit normal at each corner.
#[derive(Clone, Copy)]
pub(super) struct Triangle {
    pub p: [Vec3; 3],
    pub n: [Vec3; 3],
}

/// Number of segments around a round shape.
const AROUND: usize = 48;

/// Triangles of a geometry in its own frame; none for half-spaces and dots.
pub(super) fn triangles(geometry: &DrawnGeometry) -> Vec<Triangle> {
    match geometry {
        DrawnGeometry::Sphere { radius } => capsule(*radius, 0.0),
        DrawnGeometry::Capsule { radius, half_length } => capsule(*radius, *half_length),
        DrawnGeometry::Cylinder { radius, half_length } => cylinder(*radius, *half_length),
        DrawnGeometry::Ellipsoid { radii } => ellipsoid((*radii).into()),
        DrawnGeometry::Box { half } => cuboid((*half).into()),
        DrawnGeometry::Mesh { vertices, triangles } => creased(vertices, triangles),
        _ => Vec::new(),
    }
}

fn cuboid(half: Vec3) -> Vec<Triangle> {
    let mut out = Vec::with_capacity(12);
    for axis in 0..3 {
        for sign in [-1.0, 1.0] {
            let n = Vec3::AXES[axis] * sign;
            let u = Vec3::AXES[(axis + 1) % 3];
            let v = n.cross(u);
            let corner = |a: f64, b: f64| (n + u * a + v * b).component_mul(half);
            let quad = [corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
            push_quad(&mut out, quad, [n; 4]);
        }
    }
    out
}

/// Adds a surface of revolution about z. `profile` lists radius, height, and the radial and axial
/// component of the normal.
fn lathe(profile: &[[f64; 4]], out: &mut Vec<Triangle>) {
    let at = |[r, z, nr, nz]: [f64; 4], i: usize| {
        let (s, c) = (TAU * (i % AROUND) as f64 / AROUND as f64).sin_cos();
        (Vec3::new(r * c, r * s, z), Vec3::new(nr * c, nr * s, nz))
    };
    for pair in profile.windows(2) {
        for i in 0..AROUND {
            let corners = [at(pair[0], i), at(pair[0], i + 1), at(pair[1], i + 1), at(pair[1], i)];
            push_quad(out, corners.map(|c| c.0), corners.map(|c| c.1));
        }
    }
}

fn capsule(radius: f64, half_length: f64) -> Vec<Triangle> {
    let rings = AROUND / 4;
    let mut profile = Vec::new();
    for (low, z) in [(-0.5 * PI, -half_length), (0.0, half_length)] {
        for i in 0..=rings {
            let (s, c) = (low + 0.5 * PI * i as f64 / rings as f64).sin_cos();
            // make a pole exactly a point
            let c = if c < 1e-9 { 0.0 } else { c };
            profile.push([radius * c, z + radius * s, c, s]);
        }
    }
    let mut out = Vec::new();
    lathe(&profile, &mut out);
    out
}

/// A scaled unit sphere; normals scale by the inverse of the radii.
fn ellipsoid(radii: Vec3) -> Vec<Triangle> {
    let over = |n: Vec3| Vec3::new(n.x / radii.x, n.y / radii.y, n.z / radii.z);
    let stretched = |t: Triangle| Triangle {
        p: t.p.map(|p| p.component_mul(radii)),
        n: t.n.map(|n| over(n).try_normalize().unwrap_or(n)),
    };
    capsule(1.0, 0.0).into_iter().map(stretched).collect()
}

fn cylinder(radius: f64, half_length: f64) -> Vec<Triangle> {
    let mut out = Vec::new();
    lathe(&[[0.0, -half_length, 0.0, -1.0], [radius, -half_length, 0.0, -1.0]], &mut out);
    lathe(&[[radius, -half_length, 1.0, 0.0], [radius, half_length, 1.0, 0.0]], &mut out);
    lathe(&[[radius, half_length, 0.0, 1.0], [0.0, half_length, 0.0, 1.0]], &mut out);
    out
}

/// An arrow along z from the origin: shaft and head. `length` and the shaft radius `width` are in
/// m.
pub(super) fn arrow(length: f64, width: f64) -> Vec<Triangle> {
    let head = (5.0 * width).min(0.6 * length);
    let wide = 2.4 * width;
    let neck = length - head;
    let slope = wide.hypot(head);
    let mut out = Vec::new();
    lathe(&[[0.0, 0.0, 0.0, -1.0], [width, 0.0, 0.0, -1.0]], &mut out);
    lathe(&[[width, 0.0, 1.0, 0.0], [width, neck, 1.0, 0.0]], &mut out);
    lathe(&[[width, neck, 0.0, -1.0], [wide, neck, 0.0, -1.0]], &mut out);
    let (nr, nz) = (head / slope, wide / slope);
    lathe(&[[wide, neck, nr, nz], [0.0, length, nr, nz]], &mut out);
    out
}

/// A right-handed arrow of three quarters of a turn about z. `radius` and the shaft radius `width`
/// are in m.
pub(super) fn arc(radius: f64, width: f64) -> Vec<Triangle> {
    const SEGMENTS: usize = 36;
    const SECTORS: usize = 12;
    let along = |i: usize| 1.5 * PI * i as f64 / SEGMENTS as f64;
    let at = |angle: f64, around: usize, thick: f64| {
        let (s, c) = angle.sin_cos();
        let (v, u) = (TAU * (around % SECTORS) as f64 / SECTORS as f64).sin_cos();
        let out = Vec3::new(c, s, 0.0);
        let normal = out * u + Vec3::Z * v;
        (out * radius + normal * thick, normal)
    };
    let mut list = Vec::new();
    let mut band = |from: (f64, f64), to: (f64, f64)| {
        for j in 0..SECTORS {
            let corners = [
                at(from.0, j, from.1),
                at(to.0, j, to.1),
                at(to.0, j + 1, to.1),
                at(from.0, j + 1, from.1),
            ];
            push_quad(&mut list, corners.map(|c| c.0), corners.map(|c| c.1));
        }
    };
    for i in 0..SEGMENTS {
        band((along(i), width), (along(i + 1), width));
    }
    let end = along(SEGMENTS);
    let head = (5.0 * width / radius).min(0.5 * PI);
    band((end, width), (end, 2.4 * width));
    band((end, 2.4 * width), (end + head, 0.0));
    list
}

fn push_quad(out: &mut Vec<Triangle>, p: [Vec3; 4], n: [Vec3; 4]) {
    for [a, b, c] in [[0, 1, 2], [0, 2, 3]] {
        let triangle = Triangle { p: [p[a], p[b], p[c]], n: [n[a], n[b], n[c]] };
        // at poles one of the two triangles is degenerate
        if (triangle.p[1] - triangle.p[0]).cross(triangle.p[2] - triangle.p[0]).norm() > 0.0 {
            out.push(triangle);
        }
    }
}

/// Triangles of a mesh with normals smoothed across edges of less than 35°.
fn creased(vertices: &[[f64; 3]], triangles: &[[u32; 3]]) -> Vec<Triangle> {
    // merge equal positions: files such as STL repeat vertices for each triangle
    let mut order: Vec<usize> = (0..vertices.len()).collect();
    let compare = |a: &usize, b: &usize| {
        let (a, b) = (vertices[*a], vertices[*b]);
        (0..3)
            .map(|i| a[i].total_cmp(&b[i]))
            .find(|o| o.is_ne())
            .unwrap_or(std::cmp::Ordering::Equal)
    };
    order.sort_by(compare);
    let mut merged = vec![0; vertices.len()];
    let mut count = 0;
    for (i, &v) in order.iter().enumerate() {
        if i > 0 && compare(&order[i - 1], &v).is_ne() {
            count += 1;
        }
        merged[v] = count;
    }
    let faces: Vec<([Vec3; 3], Vec3)> = triangles
        .iter()
        .map(|t| {
            let p = t.map(|i| Vec3::from(vertices[i as usize]));
            (p, (p[1] - p[0]).cross(p[2] - p[0]))
        })
        .collect();
    let mut around = vec![Vec::new(); count + 1];
    for (k, t) in triangles.iter().enumerate() {
        for &i in t {
            around[merged[i as usize]].push(k);
        }
    }
    let smooth = 35_f64.to_radians().cos();
    let mut out = Vec::with_capacity(faces.len());
    for (t, (p, area)) in triangles.iter().zip(&faces) {
        let Some(own) = area.try_normalize() else { continue };
        let n = t.map(|i| {
            // area-weighted, so that slivers do not affect the normal
            let sum = around[merged[i as usize]].iter().fold(Vec3::ZERO, |sum, &k| {
                let other = faces[k].1;
                if other.dot(own) >= smooth * other.norm() { sum + other } else { sum }
            });
            sum.try_normalize().unwrap_or(own)
        });
        out.push(Triangle { p: *p, n });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Divergence theorem: the triangles of a closed shape, oriented outwards, have its volume.
    #[test]
    fn triangulated_shapes_hold_their_volume() {
        let (r, h) = (0.3, 0.5);
        let cases = [
            (DrawnGeometry::Sphere { radius: r }, 4.0 / 3.0 * PI * r * r * r),
            (DrawnGeometry::Box { half: [0.1, 0.2, 0.3] }, 8.0 * 0.006),
            (DrawnGeometry::Ellipsoid { radii: [0.1, 0.2, 0.03] }, 4.0 / 3.0 * PI * 0.0006),
            (
                DrawnGeometry::Capsule { radius: r, half_length: h },
                4.0 / 3.0 * PI * r * r * r + 2.0 * h * PI * r * r,
            ),
            (DrawnGeometry::Cylinder { radius: r, half_length: h }, 2.0 * h * PI * r * r),
        ];
        for (geometry, volume) in cases {
            let list = triangles(&geometry);
            let sum: f64 = list.iter().map(|t| t.p[0].dot(t.p[1].cross(t.p[2])) / 6.0).sum();
            // 48 chords of a circle lose 0.3 % of its area, a ball twice as much
            assert!(sum <= volume * (1.0 + 1e-12) && sum > 0.99 * volume, "{sum} {volume}");
            for t in &list {
                let face = (t.p[1] - t.p[0]).cross(t.p[2] - t.p[0]);
                assert!(t.n.iter().all(|n| n.dot(face) > 0.0), "a normal points inward");
            }
        }
    }

    /// A cube of separate triangles keeps sharp edges.
    #[test]
    fn creases_stay_sharp() {
        let list = cuboid(Vec3::new(1.0, 1.0, 1.0));
        let vertices: Vec<[f64; 3]> = list.iter().flat_map(|t| t.p.map(Vec3::to_array)).collect();
        let soup: Vec<[u32; 3]> = (0..12).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
        for t in creased(&vertices, &soup) {
            assert!(t.n.iter().all(|n| (n.max_abs() - 1.0).abs() < 1e-12));
        }
    }
}
