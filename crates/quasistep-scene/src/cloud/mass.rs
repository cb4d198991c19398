//! Mass properties of a point cloud, which has no volume of its own.

use quasistep_geometry::{HullError, MassProperties, PointCloud, Polytope};
use quasistep_math::{Mat3, Vec3};
use std::borrow::Cow;

/// What the mass of a cloud is spread over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Spread {
    /// The solid within the convex hull of the points, evenly.
    #[default]
    Hull,
    /// The points, each with an equal share.
    Points,
}

impl Spread {
    pub const WORDS: [(&str, Self); 2] = [("hull", Self::Hull), ("points", Self::Points)];
}

/// Mass properties of a cloud that weighs as much as its hull at a density of 1 kg/m³, or 1 kg if its
/// mass is in its points.
///
/// # Errors
///
/// The points have no hull with a volume.
pub(crate) fn unit_mass(cloud: &PointCloud, spread: Spread) -> Result<MassProperties, HullError> {
    match spread {
        Spread::Hull => {
            Polytope::from_points(&outermost(cloud.points())).map(|hull| hull.mass_properties(1.0))
        }
        Spread::Points => Ok(of_points(cloud)),
    }
}

/// Up to here the hull is that of all points.
const MOST_EXACT: usize = 4000;
/// Cells along each edge of the cube of directions.
const CELLS: usize = 24;

/// Points whose hull stands for that of all: of many, the farthest from their mean in each of 3456
/// directions. The volume of a round hull comes out smaller by 0.2 %.
fn outermost(points: &[Vec3]) -> Cow<'_, [Vec3]> {
    if points.len() <= MOST_EXACT {
        return Cow::Borrowed(points);
    }
    let n = points.len() as f64;
    let mean = points.iter().fold(Vec3::ZERO, |sum, p| sum + *p) / n;
    let mut scatter = Mat3::ZERO;
    for p in points {
        scatter = scatter + Mat3::outer(*p - mean, *p - mean);
    }
    // a hull follows its points through every affine map: one that makes a long or flat cloud round
    // gives its ends as many directions as its sides
    let (values, axes) = scatter.symmetric_eigen();
    let widths = values.map(|v| (v.max(0.0) / n).sqrt());
    let least = 1e-9 * widths.iter().fold(0.0_f64, |a, b| a.max(*b));
    let round = |p: Vec3| [0, 1, 2].map(|i| axes[i].dot(p - mean) / widths[i].max(least));
    let mut far: Vec<(f64, usize)> = vec![(0.0, usize::MAX); 6 * CELLS * CELLS];
    for (i, p) in points.iter().enumerate() {
        let d = round(*p);
        let reach = d.iter().map(|x| x * x).sum::<f64>();
        let cell = &mut far[direction(d)];
        if reach > cell.0 {
            *cell = (reach, i);
        }
    }
    far.iter().filter(|(_, i)| *i != usize::MAX).map(|(_, i)| points[*i]).collect()
}

/// The cell that a direction meets on a cube.
fn direction(d: [f64; 3]) -> usize {
    let face = (1..3).fold(0, |best, i| if d[i].abs() > d[best].abs() { i } else { best });
    let size = d[face].abs();
    // from -1 to 1 to a cell; NaN of a zero vector is the first
    let cell = |x: f64| ((0.5 + 0.5 * x / size) * CELLS as f64).min(CELLS as f64 - 1.0) as usize;
    let side = 2 * face + usize::from(d[face] < 0.0);
    (side * CELLS + cell(d[(face + 1) % 3])) * CELLS + cell(d[(face + 2) % 3])
}

fn of_points(cloud: &PointCloud) -> MassProperties {
    let points = cloud.points();
    let share = 1.0 / points.len().max(1) as f64;
    let com = points.iter().fold(Vec3::ZERO, |sum, p| sum + *p) * share;
    let mut inertia = Mat3::ZERO;
    for p in points {
        let r = *p - com;
        inertia = inertia + Mat3::IDENTITY * r.norm_squared() + Mat3::outer(r, r) * -1.0;
    }
    // each point is a ball
    let ball = 0.4 * cloud.radius().powi(2);
    MassProperties { mass: 1.0, com, inertia: inertia * share + Mat3::IDENTITY * ball }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quasistep_geometry::Choice;

    /// Eight corners of a box of 1 kg: as points m (b² + c²)/4 each, as a solid m (b² + c²)/12.
    #[test]
    fn points_and_hull_of_a_box() {
        let [a, b, c] = [0.2, 0.3, 0.4];
        let corners: Vec<Vec3> = (0..8)
            .map(|k| {
                let edge = |bit: u32, size: f64| if k >> bit & 1 == 0 { 1.0 } else { 1.0 + size };
                Vec3::new(edge(0, a), edge(1, b), edge(2, c))
            })
            .collect();
        let cloud = PointCloud::new(&corners, None, 0.0, Choice::default()).unwrap();
        for (spread, factor) in [(Spread::Points, 0.25), (Spread::Hull, 1.0 / 12.0)] {
            let m = unit_mass(&cloud, spread).unwrap();
            let unit = 1.0 / m.mass;
            assert!((m.com - Vec3::new(1.1, 1.15, 1.2)).max_abs() < 1e-12);
            let want = [b * b + c * c, a * a + c * c, a * a + b * b].map(|x| x * factor);
            for i in 0..3 {
                let got = m.inertia.rows[i].to_array();
                for j in 0..3 {
                    let want = if i == j { want[i] } else { 0.0 };
                    assert!((got[j] * unit - want).abs() < 1e-12, "{spread:?} {i} {j}");
                }
            }
        }
        // a solid of 24 litres
        assert!((unit_mass(&cloud, Spread::Hull).unwrap().mass - 0.024).abs() < 1e-12);
        let flat = PointCloud::new(&corners[..4], None, 0.1, Choice::default()).unwrap();
        assert!(unit_mass(&flat, Spread::Hull).is_err());
    }

    /// An ellipsoid of 200 000 points, ten times longer than thick and turned: its volume and moments
    /// are known.
    #[test]
    fn the_hull_of_many_points_is_near_enough() {
        let half = Vec3::new(0.5, 0.1, 0.05);
        let turn = quasistep_math::Quat::from_rpy([0.3, -0.7, 1.1]);
        let n = 200_000_u32;
        let points: Vec<Vec3> = (0..n)
            .map(|k| {
                let z = 1.0 - f64::from(2 * k + 1) / f64::from(n);
                let (s, c) = (f64::from(k) * 2.399963229728653).sin_cos();
                let across = (1.0 - z * z).sqrt();
                turn.rotate(Vec3::new(across * c, across * s, z).component_mul(half)) + Vec3::X
            })
            .collect();
        let cloud = PointCloud::new(&points, None, 0.0, Choice::default()).unwrap();
        let m = unit_mass(&cloud, Spread::Hull).unwrap();
        let volume = 4.0 / 3.0 * std::f64::consts::PI * half.x * half.y * half.z;
        assert!((0.996..1.0).contains(&(m.mass / volume)), "{}", m.mass / volume);
        assert!((m.com - Vec3::X).max_abs() < 1e-3 * half.z);
        let R = turn.to_matrix();
        let own = R.transpose() * m.inertia * R;
        let [a, b, c] = half.component_mul(half).to_array();
        for (i, want) in [b + c, a + c, a + b].into_iter().enumerate() {
            let ratio = own.rows[i].to_array()[i] / (0.2 * m.mass * want);
            assert!((ratio - 1.0).abs() < 3e-3, "moment {i}: {ratio}");
        }
    }
}
