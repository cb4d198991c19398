//! Corners and faces of a core that are extreme in a direction or near a point.
//!
//! Large hulls are searched by walks along their edges and by the tree of their faces' planes;
//! other cores have few features.

use crate::core::{Core, CoreFace};
use crate::polytope::MOST_SEEN;
use quasistep_math::Vec3;

/// Faces whose cosines to a direction differ by less are equally aligned with it.
const EVEN: f64 = 1e-9;
/// Rounding error of heights above faces, as a share of a core's size.
const ROUNDING: f64 = 1e-13;

impl Core {
    /// Fills `out` with the corners at most `reach` (m) below the farthest corner along `n`,
    /// ascending.
    pub fn near_corners(&self, n: Vec3, reach: f64, marks: &mut Vec<u64>, out: &mut Vec<u32>) {
        let Some(hull) = self.hull() else {
            let heights = self.points.iter().map(|p| p.dot(n));
            let top = heights.clone().fold(f64::NEG_INFINITY, f64::max);
            out.clear();
            out.extend((0..).zip(heights).filter(|(_, h)| *h >= top - reach).map(|(k, _)| k));
            return;
        };
        let d = self.in_hull(n);
        let top = self.top(hull, d);
        let height = |k: u32| hull.vertices()[k as usize].dot(d);
        let floor = height(top) - reach;
        // corners lower than the scatter of a face's corners may connect higher ones
        let connected = height(top) - reach.max(hull.scatter());
        hull.level_list((top, d, connected), usize::MAX, marks, out);
        out.retain(|k| height(*k) >= floor);
        out.sort_unstable();
    }

    /// True if a point of the core is farthest along `d`, given the few corners between which it lies
    /// and which are as far.
    pub fn is_farthest(&self, p: Vec3, d: Vec3, between: &[u32]) -> bool {
        let Some(hull) = self.hull().filter(|hull| hull.can_walk()) else {
            let count = self.hull().map_or(self.points.len(), |hull| hull.vertices().len());
            let is_below = |k: u32| (self.point(k) - p).dot(d) <= 0.0;
            return (0..count as u32).all(|k| between.contains(&k) || is_below(k));
        };
        let own = self.in_hull(d);
        let height = self.about_middle(p).dot(own) + hull.middle().dot(own);
        let mut around = between.iter().flat_map(|k| hull.neighbours(*k));
        around.all(|k| hull.vertices()[*k as usize].dot(own) <= height || between.contains(k))
    }

    /// The corner with the least `n · p`, and that value in m.
    pub fn lowest(&self, n: Vec3) -> (Vec3, f64) {
        let p = match self.hull() {
            Some(hull) => self.point(hull.support(-self.in_hull(n))),
            None => self
                .points
                .iter()
                .fold(self.points[0], |low, p| if p.dot(n) < low.dot(n) { *p } else { low }),
        };
        (p, p.dot(n))
    }

    /// The first corner that is farthest along `n`, up to rounding.
    pub fn extreme(&self, n: Vec3) -> Vec3 {
        let higher = |best: Vec3, p: Vec3| {
            if p.dot(n) > best.dot(n) + 1e-12 * (1.0 + best.dot(n).abs()) { p } else { best }
        };
        let of_all = || {
            let count = self.hull().map_or(self.points.len(), |hull| hull.vertices().len());
            (1..count as u32).fold(self.point(0), |best, k| higher(best, self.point(k)))
        };
        let Some(hull) = self.hull() else { return of_all() };
        let d = self.in_hull(n);
        let top = self.top(hull, d);
        let p = self.point(top);
        let floor = hull.vertices()[top as usize].dot(d) - 1e-12 * (1.0 + p.dot(n).abs());
        let mut seen = [0; MOST_SEEN];
        match hull.level_with(top, d, floor - hull.scatter(), &mut seen) {
            Some(level) => {
                let is_level = |k: &u32| hull.vertices()[*k as usize].dot(d) >= floor;
                self.point(level.iter().copied().filter(is_level).min().unwrap_or(top))
            }
            None => of_all(),
        }
    }

    /// The face best aligned with `n`, if the cosine of the angle between them is at least `least`,
    /// and that cosine; −1 without a face. At a tie the first face is taken.
    pub fn aligned(&self, n: Vec3, least: f64) -> (Option<usize>, f64) {
        let mut best = (None, least.max(-1.0));
        let mut offer = |face: u32, along: f64| {
            let face = face as usize;
            if along > best.1 + EVEN {
                best = (Some(face), along);
            } else if along >= best.1 - EVEN {
                let first = best.0.map_or(face, |known: usize| known.min(face));
                best = (Some(first), best.1.max(along));
            }
            best.1 - EVEN
        };
        match self.hull() {
            Some(hull) => hull.planes().aligned(self.in_hull(n), least, offer),
            None => {
                for face in &self.faces {
                    offer(face.index, face.normal.dot(n));
                }
            }
        }
        match best.0 {
            Some(face) => (Some(face), self.face(face as u32).normal.dot(n)),
            None => (None, -1.0),
        }
    }

    /// The largest height of a point above the planes of the faces, in m, negative inside, and that
    /// face. The core must be solid. The search begins with the face `known`.
    pub fn highest_over(&self, p: Vec3, known: u32) -> (f64, u32) {
        let height = |face: CoreFace| p.dot(face.normal) - face.offset;
        let mut best = (height(self.face(known)), known);
        let mut offer = |face: u32, height: f64| {
            if height > best.0 {
                best = (height, face);
            }
            best.0
        };
        match self.hull() {
            Some(hull) => {
                let least = offer(known, f64::NEG_INFINITY);
                hull.planes().below(self.about_middle(p), least, offer);
            }
            None => {
                for face in &self.faces {
                    offer(face.index, height(*face));
                }
            }
        }
        best
    }

    /// Fills `out` with the faces above whose planes a point is at least `least` high (m; negative
    /// inside), and with the heights. Rounding may add a few.
    pub fn faces_below(&self, p: Vec3, least: f64, out: &mut Vec<(f64, u32)>) {
        out.clear();
        let least = least - ROUNDING * (self.size() + least.abs());
        let mut offer = |face: u32, height: f64| {
            if height >= least {
                out.push((height, face));
            }
            least
        };
        match self.hull() {
            Some(hull) => hull.planes().below(self.about_middle(p), least, offer),
            None => {
                for face in &self.faces {
                    offer(face.index, p.dot(face.normal) - face.offset);
                }
            }
        }
    }
}
