use crate::broad_phase::Aabb;
use crate::cloud::points::PointCloud;
use crate::height_field::HeightField;
use crate::mass::MassProperties;
use crate::polytope::Polytope;
use crate::sheet::Sheet;
use quasistep_math::{Mat3, Pose, Vec3};
use std::f64::consts::PI;
use std::sync::Arc;

/// Geometry in its own frame. A closed set: every `match` lists it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// A ball centred at the origin.
    Sphere {
        /// Radius, in m.
        radius: f64,
    },
    /// A box centred at the origin, with edges along the axes.
    Box {
        /// Half of each edge, in m.
        half: [f64; 3],
    },
    /// A segment along z, centred at the origin, offset by a radius.
    Capsule {
        /// Radius, in m.
        radius: f64,
        /// Half of the segment's length, without the round ends, in m.
        half_length: f64,
    },
    /// A cylinder centred at the origin, with its axis along z.
    Cylinder {
        /// Radius, in m.
        radius: f64,
        /// Half of its length, in m.
        half_length: f64,
    },
    /// An ellipsoid centred at the origin, with its axes along those of the frame.
    Ellipsoid {
        /// Half of each axis, in m.
        radii: [f64; 3],
    },
    /// All points with `z ≤ 0`; the outward normal is +z.
    HalfSpace,
    /// The convex hull of a set of points.
    Polytope(Arc<Polytope>),
    /// Ground below heights on a grid: a union of prisms, which need not be convex.
    HeightField(Arc<HeightField>),
    /// Triangles without thickness, solid from both sides: a union of them, which need not be convex.
    Sheet(Arc<Sheet>),
    /// A point cloud: each point is a contact feature.
    Cloud(Arc<PointCloud>),
}

/// A size of a shape is not a positive, finite number.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{what} is {seen} m; it must be > 0 and finite")]
pub struct ShapeError {
    /// Name of the invalid size.
    pub what: &'static str,
    /// Value of the size, in m.
    pub seen: f64,
}

impl Shape {
    /// Checks that every size is positive and finite.
    ///
    /// # Errors
    ///
    /// The first size that is not.
    pub fn check(&self) -> Result<(), ShapeError> {
        let check = |what: &'static str, seen: f64| {
            if seen > 0.0 && seen.is_finite() { Ok(()) } else { Err(ShapeError { what, seen }) }
        };
        match self {
            Self::Sphere { radius } => check("radius", *radius),
            Self::Box { half } => half.iter().try_for_each(|h| check("half edge", *h)),
            Self::Capsule { radius, half_length } | Self::Cylinder { radius, half_length } => {
                check("radius", *radius)?;
                check("half length", *half_length)
            }
            Self::Ellipsoid { radii } => radii.iter().try_for_each(|r| check("radius", *r)),
            Self::HalfSpace
            | Self::Polytope(_)
            | Self::HeightField(_)
            | Self::Sheet(_)
            | Self::Cloud(_) => Ok(()),
        }
    }

    /// Axis-aligned bounding box of the shape at pose `X_WG`, in m. Infinite for a half-space; may
    /// be larger than necessary for a cloud.
    pub fn aabb(&self, X_WG: &Pose) -> Aabb {
        let reach =
            |extent: Vec3| Aabb { min: X_WG.translation - extent, max: X_WG.translation + extent };
        let even = |r: f64| Vec3::new(r, r, r);
        match self {
            Self::Sphere { radius } => reach(even(*radius)),
            Self::Box { half } => {
                let R = X_WG.rotation.to_matrix();
                let half = Vec3::from(*half);
                let row = |i: usize| R.rows[i].abs().dot(half);
                reach(Vec3::new(row(0), row(1), row(2)))
            }
            Self::Capsule { radius, half_length } => {
                reach(X_WG.rotation.rotate(Vec3::Z).abs() * *half_length + even(*radius))
            }
            Self::Cylinder { radius, half_length } => {
                let axis = X_WG.rotation.rotate(Vec3::Z).abs();
                let rim = |a: f64| radius * (1.0 - a * a).max(0.0).sqrt();
                reach(axis * *half_length + Vec3::new(rim(axis.x), rim(axis.y), rim(axis.z)))
            }
            Self::Ellipsoid { radii } => {
                let R = X_WG.rotation.to_matrix();
                let row = |i: usize| R.rows[i].component_mul((*radii).into()).norm();
                reach(Vec3::new(row(0), row(1), row(2)))
            }
            Self::HalfSpace => Aabb { min: even(f64::NEG_INFINITY), max: even(f64::INFINITY) },
            Self::Polytope(polytope) => {
                let R = X_WG.rotation.to_matrix();
                // support points along the world's axes, in the shape's frame
                let end = |k: usize, sign: f64| {
                    let corner = polytope.support(R.rows[k] * sign);
                    X_WG.transform_point(polytope.vertices()[corner as usize])[k]
                };
                let ends = |sign: f64| Vec3::new(end(0, sign), end(1, sign), end(2, sign));
                Aabb { min: ends(-1.0), max: ends(1.0) }
            }
            Self::HeightField(field) => field.bounds().turned(X_WG),
            Self::Sheet(sheet) => sheet.bounds().turned(X_WG),
            Self::Cloud(cloud) => cloud.aabb(X_WG),
        }
    }

    /// Radius of a ball about the origin that contains the shape, in m. Infinite for a half-space;
    /// not always the smallest.
    pub fn reach(&self) -> f64 {
        match self {
            Self::Sphere { radius } => *radius,
            Self::Capsule { radius, half_length } => radius + half_length,
            Self::Cylinder { radius, half_length } => radius.hypot(*half_length),
            Self::Box { half } => Vec3::from(*half).norm(),
            Self::Ellipsoid { radii } => radii.iter().copied().fold(0.0, f64::max),
            Self::HalfSpace => f64::INFINITY,
            Self::Polytope(polytope) => polytope.reach(),
            Self::HeightField(_) | Self::Sheet(_) | Self::Cloud(_) => {
                let Aabb { min, max } = self.aabb(&Pose::IDENTITY);
                min.abs().max(max.abs()).norm()
            }
        }
    }

    /// Distance between the nearest two parallel planes that enclose the shape, in m. For a
    /// polytope only planes parallel to a face are considered; of a height field it is the ground below
    /// the lowest point. Infinite for a half-space, and for a sheet and a cloud, which have no inside.
    pub fn thickness(&self) -> f64 {
        match self {
            Self::Sphere { radius } | Self::Capsule { radius, .. } => 2.0 * radius,
            Self::Cylinder { radius, half_length } => 2.0 * radius.min(*half_length),
            Self::Box { half } => 2.0 * half.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Ellipsoid { radii } => 2.0 * radii.iter().copied().fold(f64::INFINITY, f64::min),
            Self::HalfSpace | Self::Sheet(_) | Self::Cloud(_) => f64::INFINITY,
            Self::HeightField(field) => field.thickness(),
            Self::Polytope(polytope) => {
                let across = polytope.faces().iter().map(|face| {
                    let far = polytope.vertices()[polytope.support(-face.normal()) as usize];
                    face.offset() - face.normal().dot(far)
                });
                across.fold(f64::INFINITY, f64::min)
            }
        }
    }

    /// Support point along `d`, in the shape's frame, in m. `None` for a half-space.
    pub fn support(&self, d: Vec3) -> Option<Vec3> {
        let sign = |x: f64, size: f64| if x < 0.0 { -size } else { size };
        let along = |r: f64| d.try_normalize().map_or(Vec3::ZERO, |u| u * r);
        match self {
            Self::Sphere { radius } => Some(along(*radius)),
            Self::Box { half } => {
                Some(Vec3::new(sign(d.x, half[0]), sign(d.y, half[1]), sign(d.z, half[2])))
            }
            Self::Capsule { radius, half_length } => {
                Some(along(*radius) + Vec3::Z * sign(d.z, *half_length))
            }
            Self::Cylinder { radius, half_length } => {
                let flat = Vec3::new(d.x, d.y, 0.0);
                let rim = flat.try_normalize().map_or(Vec3::ZERO, |u| u * *radius);
                Some(rim + Vec3::Z * sign(d.z, *half_length))
            }
            Self::Ellipsoid { radii } => {
                let r = Vec3::from(*radii);
                let on_ball = r.component_mul(d).try_normalize().unwrap_or(Vec3::ZERO);
                Some(r.component_mul(on_ball))
            }
            Self::HalfSpace => None,
            Self::Polytope(polytope) => Some(polytope.vertices()[polytope.support(d) as usize]),
            Self::HeightField(field) => field.support_within(d, &field.bounds()),
            Self::Sheet(sheet) => sheet.support_within(d, &sheet.bounds()),
            Self::Cloud(cloud) => Some(cloud.support(d)),
        }
    }

    /// True if the shape is convex, whatever its sizes: neither a height field, a sheet nor a cloud.
    pub fn is_convex(&self) -> bool {
        !self.has_pieces() && !matches!(self, Self::Cloud(_))
    }

    /// True for a height field and a sheet, whose pieces are measured one by one.
    pub fn has_pieces(&self) -> bool {
        matches!(self, Self::HeightField(_) | Self::Sheet(_))
    }

    /// True if the shape has pieces and the other is no cloud, whose points have their own derivatives.
    pub(crate) fn is_ground_to(&self, other: &Self) -> bool {
        self.has_pieces() && !matches!(other, Self::Cloud(_))
    }

    /// Mass properties of the solid at a density in kg/m³. `None` for a half-space, which is
    /// unbounded, for a height field, which does not move, and for a sheet and a cloud, which have no
    /// volume.
    pub fn mass_properties(&self, density: f64) -> Option<MassProperties> {
        let centred = |mass: f64, moments: [f64; 3]| MassProperties {
            mass,
            com: Vec3::ZERO,
            inertia: Mat3::diagonal(moments),
        };
        match self {
            Self::Sphere { radius: r } => {
                let m = density * 4.0 / 3.0 * PI * r.powi(3);
                Some(centred(m, [0.4 * m * r * r; 3]))
            }
            Self::Box { half: [a, b, c] } => {
                let m = density * 8.0 * a * b * c;
                let moment = |x: f64, y: f64| m / 3.0 * (x * x + y * y);
                Some(centred(m, [moment(*b, *c), moment(*a, *c), moment(*a, *b)]))
            }
            Self::Cylinder { radius: r, half_length: l } => {
                let m = density * 2.0 * PI * r * r * l;
                let side = m * (r * r / 4.0 + l * l / 3.0);
                Some(centred(m, [side, side, m * r * r / 2.0]))
            }
            Self::Capsule { radius: r, half_length: l } => {
                let tube = density * 2.0 * PI * r * r * l;
                let ball = density * 4.0 / 3.0 * PI * r.powi(3);
                // the centroid of each half ball is 3r/8 beyond the segment's end
                let caps = ball * (0.4 * r * r + l * l + 0.75 * l * r);
                let side = tube * (r * r / 4.0 + l * l / 3.0) + caps;
                let axial = tube * r * r / 2.0 + ball * 0.4 * r * r;
                Some(centred(tube + ball, [side, side, axial]))
            }
            Self::Ellipsoid { radii: [a, b, c] } => {
                let m = density * 4.0 / 3.0 * PI * a * b * c;
                let moment = |x: f64, y: f64| 0.2 * m * (x * x + y * y);
                Some(centred(m, [moment(*b, *c), moment(*a, *c), moment(*a, *b)]))
            }
            Self::HalfSpace | Self::HeightField(_) | Self::Sheet(_) | Self::Cloud(_) => None,
            Self::Polytope(polytope) => Some(polytope.mass_properties(density)),
        }
    }
}

/// Two shapes with their poses in the world.
pub(crate) struct Pair<'a, A = Shape, B = Shape> {
    pub a: &'a A,
    pub X_WA: &'a Pose,
    pub b: &'a B,
    pub X_WB: &'a Pose,
}

impl<'a, A, B> Pair<'a, A, B> {
    pub fn exchanged(&self) -> Pair<'a, B, A> {
        Pair { a: self.b, X_WA: self.X_WB, b: self.a, X_WB: self.X_WA }
    }
}
