//! CPU time of the contact patch of every pair of collision shapes with near bounding boxes, at the
//! start of a scene or at random configurations:
//!
//! `cargo run --release -p benches --bin pair_time -- scenes/robots/panda_push.yml`
//!
//! Prints one JSON array: configuration, shapes, their numbers of corners, distance in m, points,
//! and the median time in µs.

#![allow(non_snake_case)] // monogram notation: X_WA

use clap::Parser;
use quasistep_geometry::{NarrowPhase, Shape};
use quasistep_scene::Scene;
use serde_json::{Value, json};
use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

/// Times the contact patch of every near pair of shapes of a scene
#[derive(Parser)]
struct Arguments {
    /// Scene file
    scene: PathBuf,
    /// Replace a value of the scene file by its dotted path; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    changes: Vec<String>,
    /// Also pairs that never touch, and pairs that are far from one another
    #[arg(long)]
    all: bool,
    /// Random configurations instead of the start
    #[arg(long, value_name = "N")]
    configurations: Option<usize>,
}

/// Number of calls between two clock readings; the next constant is the number of readings.
const CALLS: u32 = 20;
const LOOKS: usize = 51;

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { scene, changes, all, configurations } = Arguments::parse();
    let changes: Result<Vec<(String, String)>, String> = changes
        .iter()
        .map(|text| {
            let (key, value) = text.split_once('=').ok_or(format!("--set {text}: no `=`"))?;
            Ok((key.to_owned(), value.to_owned()))
        })
        .collect();
    let scene = Scene::load_with(&scene, &changes?)?;
    let system = &scene.system;
    let (geoms, margin) = (system.geoms(), scene.params.contact_margin);
    let mut kin = system.model().create_kinematics();
    let mut rows: Vec<Value> = Vec::new();
    let mut narrow = NarrowPhase::new();
    let random = configurations.map(|n| (0..n).map(|k| scene.random_configuration(k)).collect());
    let tried: Vec<Vec<f64>> = random.unwrap_or_else(|| vec![scene.start.q.clone()]);
    let pairs = (0..tried.len()).flat_map(|k| (0..geoms.len()).map(move |i| (k, i)));
    for (k, i) in pairs {
        system.model().kinematics(&tried[k], &mut kin);
        let poses: Vec<_> = geoms.iter().map(|g| kin.X_WB[g.body] * g.X_BG).collect();
        for j in i + 1..geoms.len() {
            let (a, b) = (&geoms[i], &geoms[j]);
            let boxes = [(a, i), (b, j)].map(|(g, k)| g.shape.aabb(&poses[k]));
            let near = boxes[0].near(&boxes[1], margin);
            if a.body == b.body || !(all || near && system.may_touch(i, j)) {
                continue;
            }
            let mut points = Vec::new();
            let mut times: Vec<f64> = (0..LOOKS)
                .map(|_| {
                    let start = Instant::now();
                    for _ in 0..CALLS {
                        points.clear();
                        let (X_WA, X_WB) = black_box((&poses[i], &poses[j]));
                        narrow.contact_patch(&a.shape, X_WA, &b.shape, X_WB, margin, &mut points);
                    }
                    start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS)
                })
                .collect();
            times.sort_by(f64::total_cmp);
            let phi = narrow.signed_distance(&a.shape, &poses[i], &b.shape, &poses[j]).phi;
            rows.push(json!({
                "configuration": k, "near": near, "a": a.name, "b": b.name, "corners": [corners(&a.shape), corners(&b.shape)],
                "distance_m": phi, "points": points.len(), "median_us": times[LOOKS / 2],
            }));
        }
    }
    println!("{:#}", Value::Array(rows));
    Ok(())
}

/// Number of corners of a hull; `None` for other shapes.
fn corners(shape: &Shape) -> Option<usize> {
    if let Shape::Polytope(hull) = shape { Some(hull.vertices().len()) } else { None }
}
