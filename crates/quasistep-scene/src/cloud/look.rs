//! What a cloud looks like: dots with normals, as many as a picture can show.

use super::neighbours::Neighbours;
use crate::replica::mix;
use quasistep_math::{Mat3, Vec3};
use quasistep_record::DrawnGeometry;

/// More dots than this make pages slow and pictures no better.
const MOST_DRAWN: usize = 100_000;
/// Neighbours that tell the plane around a point and how far dots lie apart.
const AROUND: usize = 8;
/// Widths of dots as multiples of how far they lie apart: a sparse cloud shows its points, a dense one
/// its surface, of which dots placed at random so leave 1 % open.
const SPARSE: (usize, f64) = (5000, 1.4);
const DENSE: f64 = 2.4;

/// Dots for a cloud; those of a large one are drawn from it at random, evenly and always alike.
pub(super) fn dots(points: &[Vec3], normals: Option<&[Vec3]>, radius: f64) -> DrawnGeometry {
    let chosen = choose(points.len(), MOST_DRAWN);
    let drawn: Vec<Vec3> = chosen.iter().map(|&i| points[i]).collect();
    let around = Neighbours::new(&drawn).map(AROUND, |found| {
        let distance = found.last().map_or(0.0, |(d, _)| d.sqrt());
        (distance, found.iter().map(|(_, i)| *i).collect::<Vec<u32>>())
    });
    let normals: Vec<Vec3> = match normals {
        Some(normals) => chosen.iter().map(|&i| normals[i]).collect(),
        None => around.iter().zip(&drawn).map(|((_, near), p)| plane(&drawn, *p, near)).collect(),
    };
    let mut distances: Vec<f64> = around.iter().map(|(d, _)| *d).collect();
    distances.sort_by(f64::total_cmp);
    // on a surface the k-th neighbour is sqrt(k/pi) times as far as dots lie apart on a square grid
    let apart = distances[distances.len() / 2] / (AROUND as f64 / std::f64::consts::PI).sqrt();
    let lone = radius == 0.0 && apart == 0.0;
    let [low, high] = super::place::extent(&drawn, 0.0);
    let share = if drawn.len() <= SPARSE.0 { SPARSE.1 } else { DENSE };
    let width =
        if lone { 0.01 * (high - low).norm().max(1e-3) } else { (share * apart).max(2.0 * radius) };
    let narrow = |p: &Vec3| p.to_array().map(|x| x as f32);
    DrawnGeometry::Points {
        points: drawn.iter().map(narrow).collect(),
        // a light needs no more than three digits, which keep recordings short
        normals: normals
            .iter()
            .map(|n| narrow(&(*n * 1000.0)).map(|x| x.round() / 1000.0))
            .collect(),
        width,
    }
}

/// `most` of the numbers below `n`, each set equally likely: selection sampling, Knuth's algorithm S.
fn choose(n: usize, most: usize) -> Vec<usize> {
    if n <= most {
        return (0..n).collect();
    }
    let mut chosen = Vec::with_capacity(most);
    for i in 0..n {
        let share = (mix(i as u64) >> 11) as f64 / (1_u64 << 53) as f64;
        if share * ((n - i) as f64) < (most - chosen.len()) as f64 {
            chosen.push(i);
        }
    }
    chosen
}

/// The direction in which a point and its neighbours vary least; its sign means nothing.
fn plane(points: &[Vec3], p: Vec3, near: &[u32]) -> Vec3 {
    let all = || near.iter().map(|&i| points[i as usize]).chain([p]);
    let mean = all().fold(Vec3::ZERO, |a, b| a + b) / (near.len() + 1) as f64;
    let mut scatter = Mat3::ZERO;
    for q in all() {
        scatter = scatter + Mat3::outer(q - mean, q - mean);
    }
    // of one size whatever the unit: the eigenvectors of tiny numbers are as good
    let size = scatter.trace();
    if !(size > 0.0 && size.is_finite()) {
        return Vec3::Z;
    }
    let (values, vectors) = (scatter * (1.0 / size)).symmetric_eigen();
    let least = (1..3).fold(0, |best, i| if values[i] < values[best] { i } else { best });
    vectors[least].try_normalize().unwrap_or(Vec3::Z)
}
