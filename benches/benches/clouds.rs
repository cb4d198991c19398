//! Distance and selection of points of a cloud near shapes: µs of CPU per query for clouds of 992
//! to a million points, compared with a plain loop over all points in the same run. Also time and
//! memory of construction.
//!
//! `cargo bench -p benches --bench clouds -- [most points]`
#![allow(missing_docs)]
#![allow(non_snake_case)]

use benches::clouds::rabbit;
use benches::thread_cpu_ns;
use quasistep_geometry::{Choice, ContactPoint, NarrowPhase, PointCloud, Polytope, Shape};
use quasistep_math::{Pose, Quat, Vec3};
use std::hint::black_box;
use std::sync::Arc;

/// Contact margin in m, the default of scenes.
const MARGIN: f64 = 0.02;
const K: u32 = 5;

fn main() {
    let most = std::env::args().find_map(|a| a.parse().ok()).unwrap_or(1_000_000);
    println!("one query, margin {MARGIN} m, {K} points; µs of CPU, median (least) of many");
    for n in [992, 10_000, 100_000, 1_000_000] {
        if n <= most {
            measure(n);
        }
    }
}

/// Shapes that touch the rabbit, with name and pose.
fn places() -> [(&'static str, Shape, Pose); 7] {
    let plate = Shape::Box { half: [0.04, 0.005, 0.04] };
    let hull: Vec<Vec3> = (0..8)
        .map(|i| {
            Vec3::new([-0.04, 0.04][i & 1], [-0.005, 0.005][i >> 1 & 1], [-0.04, 0.04][i >> 2])
        })
        .collect();
    let hull = Shape::Polytope(Arc::new(Polytope::from_points(&hull).expect("a box is a hull")));
    let beside = |y: f64| Pose::from_translation(Vec3::new(0.0, y, 0.05));
    let floor = Pose::IDENTITY;
    // the rabbit is gripped with its widest points slightly inside
    let touch = 0.042 - 1e-5 + 0.005;
    [
        ("floor", Shape::HalfSpace, floor),
        ("left plate", plate.clone(), beside(touch)),
        ("right plate", plate, beside(-touch)),
        ("ball", Shape::Sphere { radius: 0.02 }, beside(0.042 + 0.02)),
        ("capsule", Shape::Capsule { radius: 0.01, half_length: 0.04 }, beside(0.042 + 0.01)),
        ("cylinder", Shape::Cylinder { radius: 0.01, half_length: 0.04 }, beside(0.042 + 0.01)),
        ("hull", hull, beside(touch)),
    ]
}

fn measure(n: usize) {
    let points = rabbit(n, 1);
    let start = thread_cpu_ns();
    let cloud = |choice| PointCloud::new(&points, None, 0.0, choice).expect("a rabbit is a cloud");
    let spread = cloud(Choice::Spread { k: K });
    let seconds = (thread_cpu_ns() - start) as f64 * 1e-9;
    println!(
        "\n{n} points, built in {:.3} ms, {:.0} bytes a point",
        1e3 * seconds,
        spread.memory() as f64 / n as f64
    );
    let spread = Shape::Cloud(Arc::new(spread));
    let nearest = Shape::Cloud(Arc::new(cloud(Choice::Nearest { k: K })));
    println!(
        "{:>12}{:>22}{:>22}{:>22}{:>9}{:>9}",
        "", "spread", "nearest", "plain loop", "phi m", "points"
    );
    let mut total = [0.0; 3];
    for (name, shape, X_WS) in &places() {
        // oblique to the world axes, and slightly displaced in every query
        let tilt = Quat::from_rotation_vector(Vec3::new(0.3, -0.2, 0.5));
        let turn = Pose::new(tilt, Vec3::new(0.2, 0.1, -0.3));
        let X_WS = turn * *X_WS;
        let poses: Vec<Pose> = (0..16)
            .map(|i| {
                let s = 1e-4 * (f64::from(i) * 2.4).sin();
                turn * Pose::new(
                    Quat::from_rotation_vector(Vec3::new(s, -s, 3.0 * s)),
                    Vec3::new(s, 0.0, 0.1 * s),
                )
            })
            .collect();
        let mut out: Vec<ContactPoint> = Vec::with_capacity(64);
        let mut narrow = NarrowPhase::new();
        let mut query = |cloud: &Shape| {
            timed(n, |i| {
                out.clear();
                narrow.contact_patch(
                    shape,
                    &X_WS,
                    cloud,
                    &poses[i % poses.len()],
                    MARGIN,
                    &mut out,
                );
                black_box(&out);
            })
        };
        let times = [query(&spread), query(&nearest)];
        let n_points = out.len();
        let phi = out.iter().fold(MARGIN, |m, p| m.min(p.phi));
        let plain = timed(100 * n, |i| {
            black_box(plain(shape, &X_WS, &points, &poses[i % poses.len()]));
        });
        let cell = |[median, least]: [f64; 2]| format!("{median:.2} ({least:.2})");
        println!(
            "{name:>12}{:>22}{:>22}{:>22}{phi:>9.0e}{n_points:>9}",
            cell(times[0]),
            cell(times[1]),
            cell(plain)
        );
        if name.contains("plate") || *name == "floor" {
            for (sum, time) in total.iter_mut().zip([times[0], times[1], plain]) {
                *sum += time[0];
            }
        }
    }
    println!("{:>12}{:>22.2}{:>22.2}{:>22.2}", "grasp", total[0], total[1], total[2]);
}

/// Median and smallest time of a query, in µs.
fn timed(work: usize, mut query: impl FnMut(usize)) -> [f64; 2] {
    let (runs, each) = if work > 5_000_000 { (5, 1) } else { (101, 32) };
    for i in 0..each {
        query(i);
    }
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let start = thread_cpu_ns();
            for i in 0..each {
                query(i);
            }
            (thread_cpu_ns() - start) as f64 * 1e-3 / each as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    [times[times.len() / 2], times[0]]
}

/// Plain loop for comparison: computes the distance of every point and keeps the smallest ones in
/// order.
fn plain(shape: &Shape, X_WS: &Pose, points: &[Vec3], X_WC: &Pose) -> [f64; K as usize] {
    let X_SC = X_WS.inverse() * *X_WC;
    let mut best = [MARGIN; K as usize];
    for p in points {
        let q = X_SC.transform_point(*p);
        let mut phi = distance(shape, q);
        for b in &mut best {
            if phi < *b {
                std::mem::swap(b, &mut phi);
            }
        }
    }
    best
}

/// Signed distance of a point in the frame of the shape.
fn distance(shape: &Shape, q: Vec3) -> f64 {
    let norm = |x: f64, y: f64| (x * x + y * y).sqrt();
    let flat = norm(q.x, q.y);
    match shape {
        Shape::HalfSpace => q.z,
        Shape::Sphere { radius } => q.norm() - radius,
        Shape::Box { half } => {
            let d = q.abs() - Vec3::from(*half);
            d.max(Vec3::ZERO).norm() + d.x.max(d.y).max(d.z).min(0.0)
        }
        Shape::Capsule { radius, half_length } => {
            norm(flat, (q.z.abs() - half_length).max(0.0)) - radius
        }
        Shape::Cylinder { radius, half_length } => {
            let (s, e) = (flat - radius, q.z.abs() - half_length);
            norm(s.max(0.0), e.max(0.0)) + s.max(e).min(0.0)
        }
        Shape::Polytope(hull) => hull
            .faces()
            .iter()
            .map(|f| q.dot(f.normal()) - f.offset())
            .fold(f64::NEG_INFINITY, f64::max),
        _ => f64::NAN,
    }
}
