//! CPU time of the contact points within 20 mm of two eggs as hulls of many corners, at several distances, and
//! of one of them over a half-space:
//!
//! `cargo run --release -p benches --bin hull_time`
//!
//! Prints one JSON array: number of corners, distance in m, mean over poses of the median time in µs, corners in m,
//! and poses as quaternion (w first) and position. Nothing is remembered from call to call.

#![allow(non_snake_case)] // monogram notation: X_WA

use quasistep_geometry::{NarrowPhase, Polytope, Shape};
use quasistep_math::{Pose, Quat, Vec3};
use serde_json::{Value, json};
use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const CORNERS: [usize; 4] = [150, 600, 3540, 6000];
/// Distances of the pairs, in m: overlap, touch, near, within and beyond the margin.
const DISTANCES: [f64; 5] = [-1e-3, 0.0, 1e-3, 0.015, 0.05];
const MARGIN: f64 = 0.02;
const POSES: u32 = 6;
/// Number of calls between two clock readings; the next constant is the number of readings.
const CALLS: u32 = 20;
const LOOKS: usize = 25;

fn main() -> Result<(), Box<dyn Error>> {
    let mut rows: Vec<Value> = Vec::new();
    let mut narrow = NarrowPhase::new();
    for n in CORNERS {
        let [a, b] = [egg(n, 0.0)?, egg(n, 0.3)?];
        for distance in DISTANCES {
            let poses: Vec<_> =
                (0..POSES).map(|k| poses(&mut narrow, &a, &b, distance, k)).collect();
            let us: f64 = poses.iter().map(|(X, Y)| median_us(&mut narrow, (&a, X), (&b, Y))).sum();
            rows.push(json!({
                "kind": "pair", "corners": n, "distance_m": distance, "us": us / f64::from(POSES),
                "hulls": [corners(&a), corners(&b)],
                "poses": poses.iter().map(|(X, Y)| [numbers(X), numbers(Y)]).collect::<Vec<_>>(),
            }));
        }
        for distance in [0.0, 0.008, 0.05] {
            let floor = Shape::HalfSpace;
            let (_, X) = poses(&mut narrow, &floor, &a, distance, 1);
            let us = median_us(&mut narrow, (&floor, &Pose::IDENTITY), (&a, &X));
            rows.push(
                json!({ "kind": "half-space", "corners": n, "distance_m": distance, "us": us }),
            );
        }
    }
    println!("{}", Value::Array(rows));
    Ok(())
}

/// An egg about 0.1 m large with `n` corners, which begin at an angle.
fn egg(n: usize, angle: f64) -> Result<Shape, Box<dyn Error>> {
    let golden = std::f64::consts::PI * (3.0 - 5_f64.sqrt());
    let on = |k: usize| {
        let z = 1.0 - (2.0 * k as f64 + 1.0) / n as f64;
        let (sin, cos) = (golden * k as f64 + angle).sin_cos();
        let r = (1.0 - z * z).sqrt();
        Vec3::new(r * cos, 0.8 * r * sin, 1.3 * z) * 0.05
    };
    let points: Vec<Vec3> = (0..n).map(on).collect();
    Ok(Shape::Polytope(Arc::new(Polytope::from_points(&points)?)))
}

/// Poses at which two shapes are at a distance, the `k`-th of several; A stays where it is if it is a half-space.
fn poses(narrow: &mut NarrowPhase, a: &Shape, b: &Shape, distance: f64, k: u32) -> (Pose, Pose) {
    let k = f64::from(k);
    let turn = |x: f64, y: f64, z: f64| Quat::from_rotation_vector(Vec3::new(x, y, z));
    let X_WA = if matches!(a, Shape::HalfSpace) {
        Pose::IDENTITY
    } else {
        Pose::new(turn(0.3 * k, 1.0 - k, 0.2), Vec3::new(0.1, 0.2, 0.3))
    };
    let way = Vec3::new((2.0 * k).sin(), (3.0 * k).cos(), 0.4) * 0.3;
    let mut X_WB = Pose::new(turn(1.0, 0.5 * k, -0.7), X_WA.translation + way);
    for _ in 0..3 {
        let d = narrow.signed_distance(a, &X_WA, b, &X_WB);
        X_WB.translation += d.n_AB_W * (distance - d.phi);
    }
    (X_WA, X_WB)
}

/// Median time of a call, in µs.
fn median_us(narrow: &mut NarrowPhase, a: (&Shape, &Pose), b: (&Shape, &Pose)) -> f64 {
    let mut points = Vec::new();
    let mut look = || {
        let start = Instant::now();
        for _ in 0..CALLS {
            points.clear();
            let (X_WA, X_WB) = black_box((a.1, b.1));
            narrow.contact_patch(a.0, X_WA, b.0, X_WB, MARGIN, &mut points);
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS)
    };
    let mut times: Vec<f64> = (0..LOOKS).map(|_| look()).collect();
    times.sort_by(f64::total_cmp);
    times[LOOKS / 2]
}

fn corners(shape: &Shape) -> Vec<[f64; 3]> {
    let Shape::Polytope(hull) = shape else { return Vec::new() };
    hull.vertices().iter().map(|v| v.to_array()).collect()
}

fn numbers(X: &Pose) -> [f64; 7] {
    let (q, p) = (X.rotation, X.translation);
    [q.w, q.x, q.y, q.z, p.x, p.y, p.z]
}
