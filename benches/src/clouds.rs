//! Point clouds for benchmarks: any number of points on the surface of a sitting rabbit, 0.15 m
//! high.

use quasistep_math::Vec3;

/// Ellipsoids: centre and half axes, in m. The lowest are cut off at the ground.
const PARTS: [[[f64; 3]; 2]; 6] = [
    [[0.0, 0.0, 0.045], [0.055, 0.042, 0.050]],
    [[0.045, 0.0, 0.092], [0.030, 0.024, 0.026]],
    [[0.035, 0.014, 0.128], [0.010, 0.006, 0.030]],
    [[0.035, -0.014, 0.128], [0.010, 0.006, 0.030]],
    [[-0.055, 0.0, 0.040], [0.014, 0.014, 0.014]],
    [[0.050, 0.0, 0.008], [0.022, 0.034, 0.012]],
];

/// `n` points on the surface of a rabbit that sits on `z = 0`, in m. Equal seeds give equal points.
pub fn rabbit(n: usize, seed: u64) -> Vec<Vec3> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    let mut uniform = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut points = Vec::with_capacity(n);
    while points.len() < n {
        let part = (uniform() * PARTS.len() as f64) as usize;
        let [centre, half] = PARTS[part.min(PARTS.len() - 1)].map(Vec3::from);
        // smaller parts get fewer points
        if uniform() > half.component_mul(half).norm() / 0.004 {
            continue;
        }
        let direction =
            Vec3::new(2.0 * uniform() - 1.0, 2.0 * uniform() - 1.0, 2.0 * uniform() - 1.0);
        let (length, Some(direction)) = (direction.norm(), direction.try_normalize()) else {
            continue;
        };
        let mut p = centre + direction.component_mul(half);
        p.z = p.z.max(0.0);
        let inside = |[centre, half]: &[[f64; 3]; 2]| {
            let q = p - Vec3::from(*centre);
            (0..3).map(|k| (q[k] / half[k]).powi(2)).sum::<f64>() < 1.0 - 1e-9
        };
        let hidden = PARTS.iter().enumerate().any(|(i, other)| i != part && inside(other));
        if length <= 1.0 && !hidden {
            points.push(p);
        }
    }
    points
}
