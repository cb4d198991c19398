//! Appearance of a cloud: dots with normals, up to a maximum number.

use super::neighbours::Neighbours;
use crate::replica::mix;
use quasistep_math::{Mat3, Vec3};
use quasistep_record::DrawnGeometry;

/// Largest number of dots drawn. More would slow down pages without improving pictures.
const MOST_DRAWN: usize = 100_000;
/// Number of neighbours from which the normal at a point and the spacing of dots are computed.
const AROUND: usize = 8;
/// Dot width as a multiple of the dot spacing, for clouds of up to 5000 points and for denser ones.
/// A sparse cloud shows separate points; a dense one shows a surface, with 1 % left open by
/// randomly placed dots.
const SPARSE: (usize, f64) = (5000, 1.4);
const DENSE: f64 = 2.4;

/// Dots of a cloud. From a large cloud they are drawn at random, uniformly and deterministically.
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
    // on a surface the k-th neighbour is sqrt(k/pi) times as far as the spacing of a square grid
    let apart = distances[distances.len() / 2] / (AROUND as f64 / std::f64::consts::PI).sqrt();
    let lone = radius == 0.0 && apart == 0.0;
    let [low, high] = super::place::extent(&drawn, 0.0);
    let share = if drawn.len() <= SPARSE.0 { SPARSE.1 } else { DENSE };
    let width =
        if lone { 0.01 * (high - low).norm().max(1e-3) } else { (share * apart).max(2.0 * radius) };
    let narrow = |p: &Vec3| p.to_array().map(|x| x as f32);
    DrawnGeometry::Points {
        points: drawn.iter().map(narrow).collect(),
        // three digits are enough for lighting and keep recordings short
        normals: normals
            .iter()
            .map(|n| narrow(&(*n * 1000.0)).map(|x| x.round() / 1000.0))
            .collect(),
        width,
    }
}

/// `most` of the numbers below `n`, every subset equally likely: selection sampling, Knuth's
/// algorithm S.
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

/// Direction in which a point and its neighbours vary least: the unsigned surface normal.
fn plane(points: &[Vec3], p: Vec3, near: &[u32]) -> Vec3 {
    let all = || near.iter().map(|&i| points[i as usize]).chain([p]);
    let mean = all().fold(Vec3::ZERO, |a, b| a + b) / (near.len() + 1) as f64;
    let mut scatter = Mat3::ZERO;
    for q in all() {
        scatter = scatter + Mat3::outer(q - mean, q - mean);
    }
    // normalise: very small numbers would spoil the eigenvectors
    let size = scatter.trace();
    if !(size > 0.0 && size.is_finite()) {
        return Vec3::Z;
    }
    let (values, vectors) = (scatter * (1.0 / size)).symmetric_eigen();
    let least = (1..3).fold(0, |best, i| if values[i] < values[best] { i } else { best });
    vectors[least].try_normalize().unwrap_or(Vec3::Z)
}
