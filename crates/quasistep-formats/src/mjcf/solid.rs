//! Kinds of geoms; volume and moments of inertia of MuJoCo's primitives, solid or as shells of
//! uniform thickness.
//!
//! Shells use MuJoCo's approximations: Thomsen's formula for the area of an ellipsoid, and a skin
//! of 1e-6 m for its moments.

use std::f64::consts::PI;

/// Exponent of Thomsen's formula for the area of an ellipsoid.
const THOMSEN: f64 = 1.6075;
/// Thickness of the skin that approximates the shell of an ellipsoid, in m.
const SKIN: f64 = 1e-6;

/// `type` of a geom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plane,
    HeightField,
    Sphere,
    Capsule,
    Ellipsoid,
    Cylinder,
    Box,
    Mesh,
    DistanceField,
}

pub(super) const KINDS: [(&str, Kind); 9] = [
    ("plane", Kind::Plane),
    ("hfield", Kind::HeightField),
    ("sphere", Kind::Sphere),
    ("capsule", Kind::Capsule),
    ("ellipsoid", Kind::Ellipsoid),
    ("cylinder", Kind::Cylinder),
    ("box", Kind::Box),
    ("mesh", Kind::Mesh),
    ("sdf", Kind::DistanceField),
];

/// A primitive by MuJoCo's size parameters: radius or half axes, then half length along z, in m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Primitive {
    Sphere { radius: f64 },
    Capsule { radius: f64, half: f64 },
    Cylinder { radius: f64, half: f64 },
    Ellipsoid { radii: [f64; 3] },
    Box { half: [f64; 3] },
}

/// Domain over which mass is spread: volume or surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    Volume,
    Surface,
}

impl Primitive {
    /// Volume in m³, or area in m².
    pub fn extent(self, spread: Spread) -> f64 {
        let full = spread == Spread::Volume;
        match self {
            Self::Sphere { radius: r } if full => 4.0 / 3.0 * PI * r.powi(3),
            Self::Sphere { radius: r } => 4.0 * PI * r * r,
            Self::Capsule { radius: r, half } if full => {
                PI * (2.0 * half * r * r + 4.0 / 3.0 * r.powi(3))
            }
            Self::Capsule { radius: r, half } => 4.0 * PI * r * (r + half),
            Self::Cylinder { radius: r, half } if full => 2.0 * PI * half * r * r,
            Self::Cylinder { radius: r, half } => 2.0 * PI * r * (r + 2.0 * half),
            Self::Ellipsoid { radii: [a, b, c] } if full => 4.0 / 3.0 * PI * a * b * c,
            Self::Ellipsoid { radii: [a, b, c] } => {
                let sum: f64 = [a * b, b * c, c * a].iter().map(|s| s.powf(THOMSEN)).sum();
                4.0 * PI * (sum / 3.0).powf(1.0 / THOMSEN)
            }
            Self::Box { half: [a, b, c] } if full => 8.0 * a * b * c,
            Self::Box { half: [a, b, c] } => 8.0 * (a * b + b * c + c * a),
        }
    }

    /// Moments of inertia per unit mass about the shape's axes, in m².
    pub fn moments(self, spread: Spread) -> [f64; 3] {
        let full = spread == Spread::Volume;
        match self {
            Self::Sphere { radius: r } => [r * r * if full { 0.4 } else { 2.0 / 3.0 }; 3],
            Self::Capsule { radius, half } => capsule(radius, half, full),
            Self::Cylinder { radius: r, half } if full => {
                let across = r * r / 4.0 + half * half / 3.0;
                [across, across, r * r / 2.0]
            }
            Self::Cylinder { radius: r, half } => {
                // share of the area in each end disc, and in the tube
                let disc = r / (2.0 * r + 4.0 * half);
                let tube = 1.0 - 2.0 * disc;
                let across = tube * (r * r / 2.0 + half * half / 3.0)
                    + 2.0 * disc * (r * r / 4.0 + half * half);
                [across, across, tube * r * r + disc * r * r]
            }
            Self::Ellipsoid { radii } if full => from_squares(radii.map(|r| r * r / 5.0)),
            Self::Ellipsoid { radii } => {
                let outer = radii.map(|r| r + SKIN);
                let [inside, all] = [radii, outer].map(|r| r.iter().product::<f64>());
                let [a, b] = [radii, outer].map(|r| from_squares(r.map(|r| r * r / 5.0)));
                std::array::from_fn(|k| (all * b[k] - inside * a[k]) / (all - inside))
            }
            Self::Box { half } if full => from_squares(half.map(|h| h * h / 3.0)),
            Self::Box { half: [a, b, c] } => {
                // share of the area in the pairs of faces normal to x, y and z
                let area = a * b + b * c + c * a;
                let [x, y, z] = [b * c / area, c * a / area, a * b / area];
                let third = |h: f64, own: f64| h * h * (own + (1.0 - own) / 3.0);
                from_squares([third(a, x), third(b, y), third(c, z)])
            }
        }
    }
}

/// Moments of inertia per unit mass from the means of x², y² and z².
fn from_squares([x, y, z]: [f64; 3]) -> [f64; 3] {
    [y + z, x + z, x + y]
}

fn capsule(r: f64, half: f64, full: bool) -> [f64; 3] {
    // share of the mass in the round ends, and height of a hemisphere's centroid above its base
    let ends = if full { 4.0 * r / (4.0 * r + 6.0 * half) } else { r / (r + half) };
    let tube = 1.0 - ends;
    let (centre, sphere, tube_z) = if full {
        (0.375 * r, 0.4 * r * r, 0.5 * r * r)
    } else {
        (0.5 * r, r * r * 2.0 / 3.0, r * r)
    };
    let shifted = (half + centre).powi(2) - centre * centre;
    let across = tube * (tube_z / 2.0 + half * half / 3.0) + ends * (sphere + shifted);
    [across, across, tube * tube_z + ends * sphere]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares moments with means over a parameter grid of the surface or volume.
    fn close(seen: [f64; 3], wanted: [f64; 3], tolerance: f64) {
        for (a, b) in seen.iter().zip(wanted) {
            assert!((a - b).abs() < tolerance * b.abs(), "{seen:?} is not {wanted:?}");
        }
    }

    /// A capsule of length zero and an ellipsoid with equal axes are spheres, solid or hollow.
    #[test]
    fn limits_are_spheres() {
        let r = 0.3;
        for spread in [Spread::Volume, Spread::Surface] {
            let sphere = Primitive::Sphere { radius: r };
            let others = [
                Primitive::Capsule { radius: r, half: 0.0 },
                Primitive::Ellipsoid { radii: [r; 3] },
            ];
            for other in others {
                close(other.moments(spread), sphere.moments(spread), 1e-5);
                assert!((other.extent(spread) / sphere.extent(spread) - 1.0).abs() < 1e-12);
            }
        }
    }

    /// A hollow cube of half edge 1: each face is a plate of mass 1/6 at distance 1.
    #[test]
    fn hollow_box_is_six_plates() {
        let faces = 2.0 / 6.0 * (2.0 / 3.0) + 4.0 / 6.0 * (1.0 / 3.0 + 1.0);
        close(Primitive::Box { half: [1.0; 3] }.moments(Spread::Surface), [faces; 3], 1e-12);
    }
}
