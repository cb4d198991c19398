//! `<polyline>`: outlines in the x–y plane, extruded along z.
//!
//! Points within an odd number of outlines are material, so an outline within another one is a
//! hole. One convex outline is one prism. Others are cut along x at the y of every corner, into
//! prisms of trapezoids.

use super::value::{array, non_negative};
use crate::error::SceneError;
use crate::xml::Xml;
use quasistep_math::Vec3;

/// Most corners of all outlines: 4000 corners are up to 4 million cuts.
const MOST_CORNERS: usize = 4000;

type Corner = [f64; 2];

/// Corners of the convex prisms, in m, that the polylines of a `<geometry>` fill from z = 0 to their
/// height.
pub(super) fn read(geometry: &Xml<'_, '_>) -> Result<Vec<Vec<Vec3>>, SceneError> {
    let (mut outlines, mut height) = (Vec::new(), 0.0);
    for at in geometry.children("polyline") {
        let mut corners =
            at.children("point").map(|at| array::<2>(&at)).collect::<Result<Vec<Corner>, _>>()?;
        corners.dedup();
        // a closed outline repeats its first corner
        if corners.len() > 1 && corners.first() == corners.last() {
            corners.pop();
        }
        if corners.len() < 3 {
            let n = corners.len();
            return Err(at.error(format!("{n} points were seen; an outline has at least 3")));
        }
        let own = at.child("height").map_or(Ok(1.0), |at| non_negative(&at))?;
        if !outlines.is_empty() && own != height {
            return Err(at.error(format!(
                "<height> is {own} after {height}; outlines of one shape have one height"
            )));
        }
        height = own;
        outlines.push(corners);
        let n: usize = outlines.iter().map(Vec::len).sum();
        if n > MOST_CORNERS {
            return Err(at.error(format!("{n} points were seen; at most {MOST_CORNERS} are read")));
        }
    }
    if height == 0.0 {
        return Ok(Vec::new());
    }
    let faces = match outlines.as_slice() {
        [only] if is_convex(only) => outlines,
        _ => trapezoids(&outlines),
    };
    let prism = |face: Vec<Corner>| -> Vec<Vec3> {
        let at = |z: f64| face.iter().map(move |[x, y]| Vec3::new(*x, *y, z));
        at(0.0).chain(at(height)).collect()
    };
    Ok(faces.into_iter().map(prism).collect())
}

/// True if an outline turns to one side at all corners, and around once.
fn is_convex(outline: &[Corner]) -> bool {
    let n = outline.len();
    let edge = |k: usize| {
        let ([a, b], [c, d]) = (outline[k % n], outline[(k + 1) % n]);
        [c - a, d - b]
    };
    let turns = (0..n).map(|k| {
        let ([a, b], [c, d]) = (edge(k), edge(k + 1));
        (a * d - b * c).atan2(a * c + b * d)
    });
    let turns: Vec<f64> = turns.collect();
    let one_way = turns.iter().all(|t| *t >= 0.0) || turns.iter().all(|t| *t <= 0.0);
    one_way && turns.iter().sum::<f64>().abs() < 1.5 * std::f64::consts::TAU
}

/// Trapezoids between successive y of the corners, which fill what an odd number of outlines
/// enclose.
fn trapezoids(outlines: &[Vec<Corner>]) -> Vec<Vec<Corner>> {
    let edges: Vec<[Corner; 2]> = outlines
        .iter()
        .flat_map(|o| (0..o.len()).map(|k| [o[k], o[(k + 1) % o.len()]]))
        .map(|[a, b]| if a[1] <= b[1] { [a, b] } else { [b, a] })
        .collect();
    let mut levels: Vec<f64> = outlines.iter().flatten().map(|corner| corner[1]).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let mut faces = Vec::new();
    for level in levels.windows(2) {
        let &[low, high] = level else { continue };
        // x of each edge at the two levels, from left to right
        let across = |[a, b]: &[Corner; 2], y: f64| {
            let share = (y - a[1]) / (b[1] - a[1]);
            a[0] + share * (b[0] - a[0])
        };
        let here = edges.iter().filter(|[a, b]| a[1] <= low && b[1] >= high);
        let mut ends: Vec<[f64; 2]> = here.map(|e| [across(e, low), across(e, high)]).collect();
        ends.sort_by(|a, b| (a[0] + a[1]).total_cmp(&(b[0] + b[1])));
        for pair in ends.chunks_exact(2) {
            let [[a, b], [c, d]] = [pair[0], pair[1]];
            if c - a + d - b > 0.0 {
                faces.push(vec![[a, low], [c, low], [d, high], [b, high]]);
            }
        }
    }
    faces
}
