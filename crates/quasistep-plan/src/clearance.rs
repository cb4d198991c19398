//! True distances along straight motions of joints, without gaps between samples.
//!
//! A motion of the joints by `dx` changes the distance of bodies A and B by at most
//!
//! ```text
//! L_AB = Σ_i |dx_i| r_i,AB        r_i: largest distance of a point of the moved body from the joint, in m; 1 for a slide
//! ```
//!
//! summed over the joints between A and B. So a distance that exceeds its bound by `L_AB` at the
//! middle of a motion exceeds it everywhere; where it does not the motion is split.

use crate::approach::{Move, chain, leader, slides};
use quasistep::{Distances, StepError, System};
use quasistep_math::Pose;
use quasistep_model::{Model, WORLD};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Share of the margin to which distances are resolved.
const RESOLUTION: f64 = 0.02;
/// Distance that bodies gain for 1 m of their motion away from an end at which they are nearer than
/// the margin.
const LEAVING: f64 = 0.1;

/// Two bodies that joints move against one another.
#[derive(Debug)]
struct Pair {
    bodies: [usize; 2],
    /// Last body that carries both.
    carrier: usize,
    /// Bounds on the motion per unit of each joint, in m: index of the joint and bound.
    rates: Vec<(usize, f64)>,
    /// At the ends of the path where the bodies are nearer than the margin: their distance (m) and
    /// poses from the carrier.
    ends: Vec<(f64, [Pose; 2])>,
}

/// Distances that a path keeps.
#[derive(Debug)]
pub struct Clearance<'a> {
    system: &'a System,
    margin: f64,
    /// Coordinates of the joints, and all others as they stay.
    coordinates: Vec<usize>,
    q: Vec<f64>,
    /// Largest distance of a point of each body from its origin, in m.
    reaches: Vec<f64>,
    pairs: Vec<Pair>,
    /// Index of the pair of each two bodies, `n_bodies × n_bodies`; none for pairs that no joint moves.
    index: Vec<Option<u32>>,
    distances: RefCell<Distances>,
}

impl<'a> Clearance<'a> {
    /// Distances of `margin` (m), or what bodies have at the ends of the path. `most` is the largest
    /// magnitude of each coordinate of the joints. The error is a body that moves and is infinite.
    pub fn new(
        system: &'a System,
        margin: f64,
        (coordinates, most): (&[usize], &[f64]),
        ends: [&[f64]; 2],
    ) -> Result<Result<Self, usize>, StepError> {
        let model = system.model();
        let reaches = reaches(system);
        let mut q = ends[0].to_vec();
        for (coordinate, most) in coordinates.iter().zip(most) {
            q[*coordinate] = *most;
        }
        let mut pairs = Vec::new();
        let mut index = vec![None; model.n_bodies() * model.n_bodies()];
        for bodies in touching_bodies(system) {
            let [a, b] = bodies;
            let carrier = chain(model, a).find(|k| chain(model, b).any(|other| other == *k));
            let carrier = carrier.unwrap_or(WORLD);
            let mut rates = vec![0.0; coordinates.len()];
            for body in bodies {
                add_rates(model, (coordinates, &q), reaches[body], (body, carrier), &mut rates);
            }
            if let Some(infinite) = bodies.iter().find(|body| {
                let moved = !rates.iter().all(|rate| rate.is_finite());
                moved && !reaches[**body].is_finite()
            }) {
                return Ok(Err(*infinite));
            }
            let rates: Vec<_> = rates.into_iter().enumerate().filter(|(_, r)| *r > 0.0).collect();
            if !rates.is_empty() {
                index[a * model.n_bodies() + b] = Some(pairs.len() as u32);
                pairs.push(Pair { bodies, carrier, rates, ends: Vec::new() });
            }
        }
        let coordinates = coordinates.to_vec();
        let (q, distances) = (ends[0].to_vec(), RefCell::new(system.create_distances()));
        let mut own = Self { system, margin, coordinates, q, reaches, pairs, index, distances };
        for end in ends {
            for (k, phi) in own.near_pairs(end, margin, &|_| margin)? {
                let pair = &mut own.pairs[k];
                let X = pair.bodies.map(|body| from_carrier(model, end, pair.carrier, body));
                pair.ends.push((phi, X));
            }
        }
        Ok(Ok(own))
    }

    pub fn system(&self) -> &'a System {
        self.system
    }

    pub fn margin(&self) -> f64 {
        self.margin
    }

    /// The joints, for steps that see up to `reach` (m).
    pub fn moves(&self, reach: f64) -> Vec<Move> {
        let model = self.system.model();
        let dof_of = |coordinate: &usize| {
            let owner = model.bodies().iter().find(|body| body.q.contains(coordinate));
            owner.map_or(0, |body| body.v.start + coordinate - body.q.start)
        };
        self.coordinates.iter().map(|c| Move::new(model, dof_of(c), reach)).collect()
    }

    /// The configuration at values of the joints.
    pub fn configuration(&self, x: &[f64]) -> Vec<f64> {
        let mut q = self.q.clone();
        for (coordinate, x) in self.coordinates.iter().zip(x) {
            q[*coordinate] = *x;
        }
        q
    }

    /// Values of the joints at a configuration.
    pub fn joints(&self, q: &[f64]) -> Vec<f64> {
        self.coordinates.iter().map(|coordinate| q[*coordinate]).collect()
    }

    /// Pairs that joints move and that are nearer than `margin`, with their distances.
    pub fn near(&self, q: &[f64], margin: f64) -> Result<Vec<([usize; 2], f64)>, StepError> {
        let near = self.near_pairs(q, margin, &|_| margin)?;
        Ok(near.into_iter().map(|(k, phi)| (self.pairs[k].bodies, phi)).collect())
    }

    /// Indices of pairs that are nearer than a margin of their own, at most `most`, with their distances.
    fn near_pairs(
        &self,
        q: &[f64],
        most: f64,
        margin: &dyn Fn(usize) -> f64,
    ) -> Result<Vec<(usize, f64)>, StepError> {
        let n = self.system.model().n_bodies();
        let of = |[a, b]: [usize; 2]| self.index[a * n + b].map(|k| k as usize);
        let own = |bodies| of(bodies).map_or(f64::NEG_INFINITY, margin);
        let mut memory = self.distances.borrow_mut();
        let near = self.system.near_pairs_within(q, most, &own, &mut memory)?;
        Ok(near.iter().filter_map(|(bodies, phi)| of(*bodies).map(|k| (k, *phi))).collect())
    }

    /// Bound on the motion of the pair that moves most, in m.
    pub fn motion(&self, from: &[f64], to: &[f64]) -> f64 {
        self.pairs.iter().map(|pair| pair.motion(from, to)).fold(0.0, f64::max)
    }

    /// Largest bound on the motion of any pair per unit of each joint, in m; the mean of the others
    /// for a joint that moves none.
    pub fn levers(&self) -> Vec<f64> {
        let mut levers = vec![0.0_f64; self.coordinates.len()];
        for (i, rate) in self.pairs.iter().flat_map(|pair| &pair.rates) {
            levers[*i] = levers[*i].max(*rate);
        }
        let moving = levers.iter().filter(|lever| **lever > 0.0).count();
        let mean = if moving > 0 { levers.iter().sum::<f64>() / moving as f64 } else { 1.0 };
        levers.iter().map(|lever| if *lever > 0.0 { *lever } else { mean }).collect()
    }

    /// Largest displacement of a point of a body between two of its poses, in m, at most.
    pub fn displacement(&self, body: usize, a: &Pose, b: &Pose) -> f64 {
        displacement(a, b, self.reaches[body])
    }

    /// True if all distances are kept on the straight motion between two values of the joints, to a
    /// twentieth of the margin.
    pub fn is_clear(&self, from: &[f64], to: &[f64]) -> Result<bool, StepError> {
        self.is_clear_of(from, to, &vec![true; self.pairs.len()])
    }

    /// True if the pairs that are marked in `is_open` keep their distances on the straight motion.
    fn is_clear_of(&self, from: &[f64], to: &[f64], is_open: &[bool]) -> Result<bool, StepError> {
        let middle: Vec<f64> = from.iter().zip(to).map(|(a, b)| 0.5 * (a + b)).collect();
        let q = self.configuration(&middle);
        // distances change by at most so much between the middle and the ends, and their bounds too
        let way = |(pair, is_open): (&Pair, &bool)| {
            if *is_open { 0.5 * (1.0 + LEAVING) * pair.motion(from, to) } else { f64::NEG_INFINITY }
        };
        let ways: Vec<f64> = self.pairs.iter().zip(is_open).map(way).collect();
        let most = self.margin + ways.iter().copied().fold(0.0, f64::max);
        let resolution = RESOLUTION * self.margin;
        let (mut open, mut is_covered) = (vec![false; self.pairs.len()], true);
        for (k, phi) in self.near_pairs(&q, most, &|k| self.margin + ways[k])? {
            let slack = phi - self.needed(&self.pairs[k], &q);
            if slack < -resolution {
                return Ok(false);
            }
            open[k] = slack < ways[k] && ways[k] > resolution;
            is_covered &= !open[k];
        }
        Ok(is_covered
            || self.is_clear_of(from, &middle, &open)? && self.is_clear_of(&middle, to, &open)?)
    }

    /// Distance that two bodies keep at a configuration, in m.
    fn needed(&self, pair: &Pair, q: &[f64]) -> f64 {
        if pair.ends.is_empty() {
            return self.margin;
        }
        let model = self.system.model();
        let X = pair.bodies.map(|body| from_carrier(model, q, pair.carrier, body));
        let of_end = |(phi, X_end): &(f64, [Pose; 2])| {
            let way = |k: usize| displacement(&X[k], &X_end[k], self.reaches[pair.bodies[k]]);
            phi + LEAVING * (way(0) + way(1))
        };
        pair.ends.iter().map(of_end).fold(self.margin, f64::min)
    }
}

impl Pair {
    fn motion(&self, from: &[f64], to: &[f64]) -> f64 {
        self.rates.iter().map(|(i, rate)| rate * (to[*i] - from[*i]).abs()).sum()
    }
}

/// Largest distance of a point of each body from its origin, in m.
pub fn reaches(system: &System) -> Vec<f64> {
    let mut reaches = vec![0.0_f64; system.model().n_bodies()];
    for geom in system.geoms() {
        let reach = geom.X_BG.translation.norm() + geom.shape.reach();
        reaches[geom.body] = reaches[geom.body].max(reach);
    }
    reaches
}

/// Pairs of bodies that may touch, ascending.
pub fn touching_bodies(system: &System) -> BTreeSet<[usize; 2]> {
    let mut pairs = BTreeSet::new();
    let geoms = system.geoms();
    for i in 0..geoms.len() {
        for j in i + 1..geoms.len() {
            if system.may_touch(i, j) {
                let (a, b) = (geoms[i].body, geoms[j].body);
                pairs.insert([a.min(b), a.max(b)]);
            }
        }
    }
    pairs
}

/// Adds what each joint between `carrier` and `body` can move a point of the body by, per unit.
/// `q` has the largest magnitude of each coordinate.
fn add_rates(
    model: &Model,
    (coordinates, q): (&[usize], &[f64]),
    reach: f64,
    (body, carrier): (usize, usize),
    rates: &mut [f64],
) {
    // largest distance of a point of the body from the joint
    let mut radius = reach;
    for k in chain(model, body).take_while(|k| *k != carrier) {
        let own = model.body(k);
        let leading = model.body(leader(model, k));
        let [factor, offset] = own.mimic.map_or([1.0, 0.0], |m| [m.multiplier.abs(), m.offset]);
        let mut shift = 0.0_f64;
        for (dof, at) in leading.q.clone().enumerate().filter(|_| !own.surface) {
            let slides = slides(own.joint, dof);
            if slides {
                shift = shift.hypot(factor * q[at].abs() + offset.abs());
            }
            if let Some(i) = coordinates.iter().position(|own| *own == at) {
                rates[i] += factor * if slides { 1.0 } else { radius };
            }
        }
        if leading.q.len() == 7 {
            shift = leading.q.clone().skip(4).map(|at| q[at]).fold(0.0, f64::hypot);
        }
        radius += own.X_PF.translation.norm() + shift;
    }
}

fn from_carrier(model: &Model, q: &[f64], carrier: usize, body: usize) -> Pose {
    if carrier == WORLD {
        return model.pose(q, body);
    }
    model.pose(q, carrier).inverse() * model.pose(q, body)
}

/// Largest displacement of points up to `reach` from the origin, at most.
fn displacement(a: &Pose, b: &Pose, reach: f64) -> f64 {
    if a == b {
        return 0.0;
    }
    let turn = (a.rotation * b.rotation.inverse()).to_rotation_vector().norm();
    // a chord is not longer than its arc, nor than the diameter
    let by_turn = if turn > 0.0 { reach * turn.min(2.0) } else { 0.0 };
    (a.translation - b.translation).norm() + by_turn
}
