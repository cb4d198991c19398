//! Points spread evenly over the surface of shapes: clouds without a scanner.

use crate::narrow_phase::signed_distance;
use crate::shape::Shape;
use quasistep_math::{Pose, Vec3};
use std::f64::consts::{PI, TAU};

/// Points on a surface, in m, and the unit normals that leave it there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Points.
    pub points: Vec<Vec3>,
    /// One per point.
    pub normals: Vec<Vec3>,
}

/// A surface cannot be sampled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// A shape has no finite surface.
    #[error("{0} has no surface to spread points over; give a body of finite size")]
    NoSurface(&'static str),
    /// Fewer points are left outside the other parts than were asked for.
    #[error("{got} points were found on the surface where {want} were asked for")]
    TooFew {
        /// Points found.
        got: usize,
        /// Points asked for.
        want: usize,
    },
}

/// A piece of surface: its area in m², and the point and normal at `(u, v)`, both in `[0, 1)`; equal
/// areas of the unit square become equal areas.
struct Patch {
    area: f64,
    at: Box<dyn Fn(f64, f64) -> (Vec3, Vec3)>,
}

/// Points that any surface can be asked for: far above what a scene holds.
const MOST: usize = 100_000_000;

/// `count` points on the outside of a union of shapes, each at its pose in the common frame, evenly
/// by area and the same every time.
///
/// # Errors
///
/// [`SampleError::NoSurface`] for a half-space or an empty list, [`SampleError::TooFew`] if the parts
/// hide one another.
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
    // parts hide some of their points: more are made until enough are left
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

/// `count` points on triangles over shared vertices, evenly by area; normals by the right-hand rule.
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
        // one point in each of `count` equal shares of the area, triangle after triangle
        let place = (i as f64 + 0.5) / count as f64 * area;
        let k = ends.partition_point(|end| *end <= place).min(triangles.len() - 1);
        let [a, b, c] = corners(&triangles[k]);
        // the plastic number's sequence fills the square evenly; folded, the triangle
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

/// Radius of the ball that asks whether a point is inside a shape, in m.
const PROBE: f64 = 1e-9;

/// Point `i` of `n` of the golden lattice, which fills the unit square evenly.
fn lattice(i: usize, n: usize) -> (f64, f64) {
    ((i as f64 + 0.5) / n as f64, fraction(i as f64 * 0.618_033_988_749_894_9))
}

fn fraction(x: f64) -> f64 {
    x - x.floor()
}

/// `count` of the samples, dropping the others at even distances.
fn thinned(samples: &Samples, count: usize) -> Samples {
    let got = samples.points.len();
    let keep = |k: usize| k * got / count;
    Samples {
        points: (0..count).map(|k| samples.points[keep(k)]).collect(),
        normals: (0..count).map(|k| samples.normals[keep(k)]).collect(),
    }
}

/// The surface of a shape in its own frame.
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
                            // equal areas: the root spreads points away from corner a
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

/// A capsule, of length 0 a ball: bands of equal height have equal area, as Archimedes found.
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

/// Bands of height and sectors of a half turn into which an ellipsoid is cut to spread points over it.
const BANDS: usize = 256;
const SECTORS: usize = 128;

/// An ellipsoid, as the ball that it is when measured in its radii `r`: an area of the ball at `p` is
/// `r_x r_y r_z |p/r|` times as large on the ellipsoid. Tables of how that adds up turn even points into even ones.
fn ellipsoid(r: Vec3) -> Patch {
    let stretch = |z: f64, v: f64| {
        let (s, c) = (PI * v).sin_cos();
        let out = (1.0 - z * z).max(0.0).sqrt();
        r.x * r.y * r.z * Vec3::new(out * c / r.x, out * s / r.y, z / r.z).norm()
    };
    let height = |u: f64| 2.0 * u - 1.0;
    // around each middle of a band, and from band to band
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
        // the second half turn is as the first
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

/// Sums of the first 0, 1, … `n` values.
fn sums(n: usize, value: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut list = vec![0.0; n + 1];
    for k in 0..n {
        list[k + 1] = list[k] + value(k);
    }
    list
}

/// Where in `[0, 1]` a rising table reaches a share of its last value.
fn inverse(table: &[f64], share: f64) -> f64 {
    let n = table.len() - 1;
    let wanted = share * table[n];
    let k = table.partition_point(|sum| *sum <= wanted).clamp(1, n);
    let part = (wanted - table[k - 1]) / (table[k] - table[k - 1]);
    (k as f64 - 1.0 + part.clamp(0.0, 1.0)) / n as f64
}
