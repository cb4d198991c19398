//! Evenly spread points on the surface of shapes, as a substitute for a scan.

use crate::narrow_phase::signed_distance;
use crate::shape::Shape;
use quasistep_math::{Pose, Vec3};
use std::f64::consts::{PI, TAU};

/// Points on a surface, in m, with outward unit normals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Points, in m.
    pub points: Vec<Vec3>,
    /// Outward unit normals, one per point.
    pub normals: Vec<Vec3>,
}

/// A surface cannot be sampled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// A shape has no finite surface; its kind.
    #[error("{0} has no surface to spread points over; give a body of finite size")]
    NoSurface(&'static str),
    /// Fewer points than wanted remain outside the other parts.
    #[error("{got} points were found on the surface where {want} were asked for")]
    TooFew {
        /// Number of points found.
        got: usize,
        /// Number of points wanted.
        want: usize,
    },
}

/// A piece of surface: its area in m², and the point and normal at `(u, v)` in `[0, 1)²`. The map
/// preserves ratios of area.
struct Patch {
    area: f64,
    at: Box<dyn Fn(f64, f64) -> (Vec3, Vec3)>,
}

/// Largest number of samples of one surface, far above what a scene needs.
const MOST: usize = 100_000_000;

/// Samples `count` points on the outer surface of a union of shapes, each with its pose in the
/// common frame. The points are spread evenly by area and are deterministic.
///
/// # Errors
///
/// [`SampleError::NoSurface`] for a half-space or an empty list. [`SampleError::TooFew`] if the
/// parts hide too much of one another.
pub fn sample_surface(parts: &[(Shape, Pose)], count: usize) -> Result<Samples, SampleError> {
    let mut patches = Vec::new();
    for (k, (shape, X_BG)) in parts.iter().enumerate() {
        let X_BG = *X_BG;
        for patch in surface(shape)? {
            let at = patch.at;
            let at = move |u, v| {
                let (p, n) = at(u, v);
                (X_BG.transform_point(p), X_BG.rotation.rotate(n))
            };
            patches.push((k, Patch { area: patch.area, at: Box::new(at) }));
        }
    }
    let area: f64 = patches.iter().map(|(_, patch)| patch.area).sum();
    if !(area > 0.0 && area.is_finite()) {
        return Err(SampleError::NoSurface("nothing"));
    }
    let hidden = |own: usize, p: Vec3| {
        parts.iter().enumerate().any(|(k, (shape, X_BG))| {
            k != own && {
                let probe = Shape::Sphere { radius: PROBE };
                let at = Pose::from_translation(p);
                signed_distance(shape, X_BG, &probe, &at).phi + PROBE < 0.0
            }
        })
    };
    // some points are inside other parts: make more until enough remain
    let mut total = count;
    for _ in 0..60 {
        let mut samples = Samples::default();
        for (own, patch) in &patches {
            let n = (total as f64 * patch.area / area).round() as usize;
            for i in 0..n {
                let (u, v) = lattice(i, n);
                let (p, normal) = (patch.at)(u, v);
                if parts.len() == 1 || !hidden(*own, p) {
                    samples.points.push(p);
                    samples.normals.push(normal);
                }
            }
        }
        let got = samples.points.len();
        if got >= count {
            return Ok(thinned(&samples, count));
        }
        if total > MOST || (got == 0 && total > 1000 * (count + 100)) {
            return Err(SampleError::TooFew { got, want: count });
        }
        let missing = count as f64 / got.max(1) as f64;
        total = (total as f64 * missing.min(100.0)).ceil() as usize + 1;
    }
    Err(SampleError::TooFew { got: 0, want: count })
}

/// Samples `count` points on triangles over shared vertices (m), spread evenly by area. Normals
/// follow the right-hand rule.
///
/// # Errors
///
/// [`SampleError::NoSurface`] if the triangles have no area.
pub fn sample_triangles(
    vertices: &[Vec3],
    triangles: &[[u32; 3]],
    count: usize,
) -> Result<Samples, SampleError> {
    let corners = |t: &[u32; 3]| t.map(|i| vertices[i as usize]);
    let mut ends = Vec::with_capacity(triangles.len());
    let mut area = 0.0;
    for t in triangles {
        let [a, b, c] = corners(t);
        area += 0.5 * (b - a).cross(c - a).norm();
        ends.push(area);
    }
    if !(area > 0.0 && area.is_finite()) {
        return Err(SampleError::NoSurface("a mesh without area"));
    }
    let mut samples = Samples::default();
    for i in 0..count {
        // one point in each of `count` equal shares of the total area, in the order of the
        // triangles
        let place = (i as f64 + 0.5) / count as f64 * area;
        let k = ends.partition_point(|end| *end <= place).min(triangles.len() - 1);
        let [a, b, c] = corners(&triangles[k]);
        // a low-discrepancy sequence (plastic number) in the unit square, folded onto the triangle
        let (mut u, mut v) = (
            fraction(0.754_877_666_246_693 * i as f64),
            fraction(0.569_840_290_998_053_3 * i as f64),
        );
        if u + v > 1.0 {
            (u, v) = (1.0 - u, 1.0 - v);
        }
        samples.points.push(a + (b - a) * u + (c - a) * v);
        samples.normals.push((b - a).cross(c - a).try_normalize().unwrap_or(Vec3::Z));
    }
    Ok(samples)
}

/// Radius of the ball used to test whether a point is inside a shape, in m.
const PROBE: f64 = 1e-9;

/// Point `i` of `n` of a golden-ratio lattice in the unit square.
fn lattice(i: usize, n: usize) -> (f64, f64) {
    ((i as f64 + 0.5) / n as f64, fraction(i as f64 * 0.618_033_988_749_894_9))
}

fn fraction(x: f64) -> f64 {
    x - x.floor()
}

/// Keeps `count` of the samples, at even distances in the list.
fn thinned(samples: &Samples, count: usize) -> Samples {
    let got = samples.points.len();
    let keep = |k: usize| k * got / count;
    Samples {
        points: (0..count).map(|k| samples.points[keep(k)]).collect(),
        normals: (0..count).map(|k| samples.normals[keep(k)]).collect(),
    }
}

/// Pieces of the surface of a shape, in its own frame.
fn surface(shape: &Shape) -> Result<Vec<Patch>, SampleError> {
    match shape {
        Shape::Sphere { radius } => Ok(vec![capsule(*radius, 0.0)]),
        Shape::Capsule { radius, half_length } => Ok(vec![capsule(*radius, *half_length)]),
        Shape::Cylinder { radius, half_length } => {
            let (r, l) = (*radius, *half_length);
            let side = Patch {
                area: 2.0 * TAU * r * l,
                at: Box::new(move |u, v| {
                    let (s, c) = (TAU * v).sin_cos();
                    (Vec3::new(r * c, r * s, l * (2.0 * u - 1.0)), Vec3::new(c, s, 0.0))
                }),
            };
            let cap = |sign: f64| Patch {
                area: PI * r * r,
                at: Box::new(move |u, v| {
                    let (s, c) = (TAU * v).sin_cos();
                    let r = r * u.sqrt();
                    (Vec3::new(r * c, r * s, sign * l), Vec3::Z * sign)
                }),
            };
            Ok(vec![side, cap(1.0), cap(-1.0)])
        }
        Shape::Ellipsoid { radii } => Ok(vec![ellipsoid((*radii).into())]),
        Shape::Box { half } => {
            let half = Vec3::from(*half);
            let mut faces = Vec::new();
            for axis in 0..3 {
                for sign in [-1.0, 1.0] {
                    let n = Vec3::AXES[axis] * sign;
                    let (e1, e2) = (Vec3::AXES[(axis + 1) % 3], Vec3::AXES[(axis + 2) % 3]);
                    let corner = n.component_mul(half);
                    let (a, b) = (e1.component_mul(half), e2.component_mul(half));
                    faces.push(Patch {
                        area: 4.0 * a.norm() * b.norm(),
                        at: Box::new(move |u, v| {
                            (corner + a * (2.0 * u - 1.0) + b * (2.0 * v - 1.0), n)
                        }),
                    });
                }
            }
            Ok(faces)
        }
        Shape::Polytope(polytope) => {
            let mut patches = Vec::new();
            for face in polytope.faces() {
                let corners = face.vertices();
                let n = face.normal();
                for k in 1..corners.len().saturating_sub(1) {
                    let [a, b, c] = [corners[0], corners[k], corners[k + 1]]
                        .map(|i| polytope.vertices()[i as usize]);
                    patches.push(Patch {
                        area: 0.5 * (b - a).cross(c - a).norm(),
                        at: Box::new(move |u, v| {
                            // the square root makes equal areas: the triangle widens away from
                            // corner a
                            let r = u.sqrt();
                            (a + (b - a) * (r * (1.0 - v)) + (c - a) * (r * v), n)
                        }),
                    });
                }
            }
            Ok(patches)
        }
        _ => Err(SampleError::NoSurface("this shape")),
    }
}

/// A capsule, or a sphere if `l` is 0. Bands of equal height have equal area (Archimedes).
fn capsule(r: f64, l: f64) -> Patch {
    Patch {
        area: 2.0 * TAU * r * (r + l),
        at: Box::new(move |u, v| {
            let z = (r + l) * (2.0 * u - 1.0);
            let centre = z.clamp(-l, l);
            let up = (z - centre) / r;
            let (s, c) = (TAU * v).sin_cos();
            let out = (1.0 - up * up).max(0.0).sqrt();
            let n = Vec3::new(out * c, out * s, up);
            (n * r + Vec3::Z * centre, n)
        }),
    }
}

/// Number of bands of height, and of sectors of a half turn, in the area tables of an ellipsoid.
const BANDS: usize = 256;
const SECTORS: usize = 128;

/// Surface of an ellipsoid with radii `r`, as an image of the unit sphere. Area at the ellipsoid's
/// point `p` is `r_x r_y r_z |p/r|` times that on the sphere. Tables of its sums turn an even
/// distribution on the sphere into one on the ellipsoid.
fn ellipsoid(r: Vec3) -> Patch {
    let stretch = |z: f64, v: f64| {
        let (s, c) = (PI * v).sin_cos();
        let out = (1.0 - z * z).max(0.0).sqrt();
        r.x * r.y * r.z * Vec3::new(out * c / r.x, out * s / r.y, z / r.z).norm()
    };
    let height = |u: f64| 2.0 * u - 1.0;
    // table around each band at its middle, and table over the bands
    let around: Vec<Vec<f64>> = (0..BANDS)
        .map(|k| {
            let z = height((k as f64 + 0.5) / BANDS as f64);
            sums(SECTORS, |i| stretch(z, (i as f64 + 0.5) / SECTORS as f64) / SECTORS as f64)
        })
        .collect();
    let bands = sums(BANDS, |k| around[k][SECTORS] / BANDS as f64);
    let area = 2.0 * TAU * bands[BANDS];
    let at = move |u: f64, v: f64| {
        let u = inverse(&bands, u);
        let band = ((u * BANDS as f64) as usize).min(BANDS - 1);
        // by symmetry the second half turn equals the first
        let (turn, v) = if v < 0.5 { (0.0, 2.0 * v) } else { (PI, 2.0 * v - 1.0) };
        let (s, c) = (turn + PI * inverse(&around[band], v)).sin_cos();
        let z = height(u);
        let out = (1.0 - z * z).max(0.0).sqrt();
        let on_ball = Vec3::new(out * c, out * s, z);
        let steep = Vec3::new(on_ball.x / r.x, on_ball.y / r.y, on_ball.z / r.z);
        (on_ball.component_mul(r), steep.try_normalize().unwrap_or(Vec3::Z))
    };
    Patch { area, at: Box::new(at) }
}

/// Cumulative sums: of the first 0, 1, …, `n` values.
fn sums(n: usize, value: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut list = vec![0.0; n + 1];
    for k in 0..n {
        list[k + 1] = list[k] + value(k);
    }
    list
}

/// Position in `[0, 1]` at which a rising table reaches the given share of its last value.
fn inverse(table: &[f64], share: f64) -> f64 {
    let n = table.len() - 1;
    let wanted = share * table[n];
    let k = table.partition_point(|sum| *sum <= wanted).clamp(1, n);
    let part = (wanted - table[k - 1]) / (table[k] - table[k - 1]);
    (k as f64 - 1.0 + part.clamp(0.0, 1.0)) / n as f64
}
