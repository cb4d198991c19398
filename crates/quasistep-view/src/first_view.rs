//! The first view of a page: the direction from which one sees what touches.
#![allow(non_snake_case)] // frames in monogram notation

use crate::bounds::{Bounds, bounds_of_action};
use crate::ray::{Ray, Solid};
use crate::receiver::roles;
use quasistep_math::Vec3;
use quasistep_record::{BodyRole, DrawnShape, Frame, Recording, ShapeRole};
use std::collections::BTreeMap;

/// The view from which a page shows a run at first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstView {
    /// Unit vector from the scene to the eye, in W.
    pub direction: Vec3,
    /// Box around all bodies that act, over the whole run.
    pub bounds: Bounds,
}

/// Direction to the eye if others show no more.
const USUAL: Vec3 = Vec3::new(0.55, -0.75, 0.42);
/// Frames that are looked at.
const FRAMES: usize = 20;
/// Contacts of a pair that are looked at in a frame.
const PER_PAIR: usize = 4;
/// Pairs that are looked at in a frame.
const PAIRS: usize = 8;
/// Heights of the eye above the horizon, in degrees.
const HEIGHTS: [f64; 7] = [4.0, 12.0, 24.0, 40.0, 62.0, 80.0, 89.9];
/// Directions around z.
const AROUND: usize = 24;
/// Tests of a ray against a part of a shape that one choice may take, about a second of work.
const MOST_TESTS: usize = 100_000_000;

/// Chooses the first view of a recording: among directions around the scene, the one that shows
/// most places where bodies press on one another, from the start to the end, and the motion from
/// its side. Equal ones are decided by how near they are to the front, right and above.
pub fn first_view(r: &Recording) -> FirstView {
    let bounds = bounds_of_action(r);
    let usual = USUAL.try_normalize().unwrap_or(Vec3::Z);
    let watch = Watch::new(r, bounds);
    let turns = (0..AROUND).map(|k| k as f64 * std::f64::consts::TAU / AROUND as f64);
    let directions = turns.flat_map(|turn| {
        HEIGHTS.map(|height| {
            let ((s, c), (z, across)) = (turn.sin_cos(), height.to_radians().sin_cos());
            Vec3::new(across * c, across * s, z)
        })
    });
    let moments = watch.moments();
    let score = |direction: Vec3| {
        let shares: Vec<f64> =
            moments.iter().map(|moment| watch.share(moment, direction)).collect();
        let worst = shares.iter().copied().fold(1.0, f64::min);
        let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
        let near = 0.5 + 0.5 * direction.dot(usual);
        // views along the floor and straight down show little else
        let flat = if (0.15..0.95).contains(&direction.z) { 0.0 } else { 0.1 };
        mean + worst + 0.2 * watch.sideways(direction) + 0.35 * near - flat
    };
    let start = (score(usual), usual);
    let best = directions.fold(start, |best, direction| {
        let own = score(direction);
        if own > best.0 + 1e-9 { (own, direction) } else { best }
    });
    FirstView { direction: best.1, bounds }
}

impl FirstView {
    /// Number of pairs of bodies that press on one another in a frame, and of those of them whose
    /// contact is in sight: close to it in the picture one sees both bodies.
    ///
    /// Where driven bodies press on others, those pairs alone count.
    ///
    /// # Panics
    ///
    /// If the recording has no such frame.
    pub fn sees(&self, r: &Recording, frame: usize) -> (usize, usize) {
        let watch = Watch::new(r, self.bounds);
        let moment = watch.moment(frame);
        let seen = moment.iter().filter(|pair| watch.sees(frame, pair, self.direction));
        (moment.len(), seen.count())
    }
}

/// Two bodies, and places where they press on one another.
struct Pressing {
    bodies: [usize; 2],
    places: Vec<Vec3>,
}

/// What the choice looks at.
struct Watch<'a> {
    r: &'a Recording,
    roles: Vec<BodyRole>,
    solids: Vec<Solid>,
    bounds: Bounds,
    /// Least force that counts, in N.
    least: f64,
    paths: Vec<Vec3>,
}

impl<'a> Watch<'a> {
    fn new(r: &'a Recording, bounds: Bounds) -> Self {
        let hulls = |s: &&DrawnShape| {
            s.role != ShapeRole::Visual
                || !r.shapes.iter().any(|o| o.body == s.body && o.role != ShapeRole::Visual)
        };
        let solids: Vec<Solid> = r.shapes.iter().filter(hulls).filter_map(Solid::new).collect();
        let forces = r.frames.iter().flat_map(|f| &f.contacts).map(|c| c.force_W.norm());
        let least = 1e-3 * forces.fold(0.0, f64::max);
        let ends = r.frames.first().zip(r.frames.last());
        let paths = ends.map_or_else(Vec::new, |(first, last)| {
            let both = first.X_WB.iter().zip(&last.X_WB);
            both.map(|(a, b)| b.translation - a.translation).collect()
        });
        Self { r, roles: roles(r), solids, bounds, least, paths }
    }

    /// Pairs at frames that are spread over the run, as many as the shapes leave time for.
    fn moments(&self) -> Vec<(usize, Vec<Pressing>)> {
        let last = self.r.frames.len().saturating_sub(1);
        if last == 0 {
            return self.driven_at_start().map(|pairs| (0, pairs)).into_iter().collect();
        }
        let parts: usize = self.solids.iter().map(Solid::parts).sum();
        let per_frame = AROUND * HEIGHTS.len() * PAIRS * 2 * RING.len() * parts.max(1);
        let count = (MOST_TESTS / per_frame).clamp(2, FRAMES);
        let mut frames: Vec<usize> =
            (1..=count).map(|k| (k * last).div_ceil(count)).filter(|k| *k > 0).collect();
        frames.dedup();
        let pressed = frames.into_iter().map(|k| (k, self.moment(k)));
        pressed.filter(|(_, pairs)| !pairs.is_empty()).collect()
    }

    /// At a start without a run, what is in sight are the bodies that may be driven, those far along their
    /// chains first. `None` if there are none.
    fn driven_at_start(&self) -> Option<Vec<Pressing>> {
        let frame = self.r.frames.first()?;
        let mut places: BTreeMap<usize, Vec<Vec3>> = BTreeMap::new();
        let drawn = self.r.shapes.iter().filter(|shape| shape.role != ShapeRole::Visual);
        for shape in drawn.filter(|shape| self.roles[shape.body] == BodyRole::Driven) {
            let place = frame.X_WB[shape.body].transform_point(shape.X_BG.translation);
            places.entry(shape.body).or_default().push(place);
        }
        let of = |(body, places)| Pressing { bodies: [body, body], places };
        let all: Vec<Pressing> = places.into_iter().rev().take(PAIRS).map(of).collect();
        (!all.is_empty()).then_some(all)
    }

    fn moment(&self, k: usize) -> Vec<Pressing> {
        let frame = &self.r.frames[k];
        let mut pairs: BTreeMap<(usize, usize), Vec<(f64, Vec3)>> = BTreeMap::new();
        for c in &frame.contacts {
            let force = c.force_W.norm();
            if force > self.least && force > 0.0 {
                let place = (force, self.place_at_end(k, c.p_W, if c.b == 0 { c.a } else { c.b }));
                pairs.entry((c.a.min(c.b), c.a.max(c.b))).or_default().push(place);
            }
        }
        let is_held = |&(a, b): &(usize, usize)| {
            let mut both = [self.roles[a], self.roles[b]];
            both.sort_unstable();
            both == [BodyRole::Driven, BodyRole::Free]
        };
        if pairs.keys().any(is_held) {
            pairs.retain(|pair, _| is_held(pair));
        }
        let mut list: Vec<(f64, Pressing)> = pairs
            .into_iter()
            .map(|((a, b), mut places)| {
                places.sort_by(|a, b| b.0.total_cmp(&a.0));
                places.truncate(PER_PAIR);
                let strongest = places[0].0;
                let places = places.into_iter().map(|(_, p)| p).collect();
                (strongest, Pressing { bodies: [a, b], places })
            })
            .collect();
        list.sort_by(|a, b| b.0.total_cmp(&a.0));
        list.truncate(PAIRS);
        list.into_iter().map(|(_, pressing)| pressing).collect()
    }

    /// Where a body has carried a point from the start of step k to its end.
    fn place_at_end(&self, k: usize, p: Vec3, body: usize) -> Vec3 {
        let Some(before) = k.checked_sub(1) else { return p };
        let frames = &self.r.frames;
        let local = frames[before].X_WB[body].inverse_transform_point(p);
        frames[k].X_WB[body].transform_point(local)
    }

    /// Share of the pairs that are in sight, from 0 to 1.
    fn share(&self, (frame, pairs): &(usize, Vec<Pressing>), direction: Vec3) -> f64 {
        let seen = pairs.iter().filter(|pair| self.sees(*frame, pair, direction)).count();
        seen as f64 / pairs.len() as f64
    }

    /// True if at one of the places both bodies are seen close by.
    fn sees(&self, frame: usize, pair: &Pressing, direction: Vec3) -> bool {
        let frame = &self.r.frames[frame];
        let up = if direction.z > 0.99 { Vec3::Y } else { Vec3::Z };
        let right = up.cross(direction).try_normalize().unwrap_or(Vec3::X);
        let up = direction.cross(right);
        // the distance at which the box fills a picture of a third more width than height
        let eye = self.bounds.center
            + direction * self.bounds.distance([right, up, -direction], [0.36, 0.27]);
        let size = self.bounds.radius.min(10.0 * self.smaller(pair.bodies));
        pair.places.iter().any(|place| {
            let mut seen = [false; 2];
            for [x, y] in RING {
                let near = *place + (right * x + up * y) * size;
                let body = self.first_body(frame, eye, near);
                for (seen, own) in seen.iter_mut().zip(pair.bodies) {
                    *seen |= body == Some(own);
                }
                if seen == [true; 2] {
                    return true;
                }
            }
            false
        })
    }

    /// Radius (m) of the smaller of two bodies.
    fn smaller(&self, bodies: [usize; 2]) -> f64 {
        let of = |body| self.solids.iter().filter(move |s| s.body == body).map(Solid::radius);
        bodies.map(|body| of(body).fold(0.0, f64::max)).into_iter().fold(f64::INFINITY, f64::min)
    }

    /// The body that hides what is behind it on the line from the eye through a point.
    fn first_body(&self, frame: &Frame, eye: Vec3, through: Vec3) -> Option<usize> {
        let direction = (through - eye).try_normalize()?;
        let ray = Ray { start: eye, direction };
        let hits =
            self.solids.iter().filter_map(|s| Some((s.hit(&frame.X_WB[s.body], ray)?, s.body)));
        hits.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, body)| body)
    }

    /// Share of the motion of free bodies that runs across the line of sight, from 0 to 1.
    fn sideways(&self, direction: Vec3) -> f64 {
        let free = self.paths.iter().zip(&self.roles).filter(|(_, role)| **role == BodyRole::Free);
        let (mut across, mut all) = (0.0, 0.0);
        for (path, _) in free {
            all += path.norm();
            across += path.cross(direction).norm();
        }
        if all > 1e-6 * self.bounds.radius { across / all } else { 1.0 }
    }
}

/// Where rays pass a contact in the picture, in radii of the scene: right, up.
const RING: [[f64; 2]; 12] = {
    let (a, b, c, d) = (0.05, 0.035, 0.018, 0.013);
    [
        [c, 0.0],
        [-c, 0.0],
        [0.0, c],
        [0.0, -c],
        [a, 0.0],
        [-a, 0.0],
        [0.0, a],
        [0.0, -a],
        [b, b],
        [-b, -b],
        [d, -d],
        [-d, d],
    ]
};
