//! Grasps at random: configurations in which given links touch given bodies, nothing overlaps, and
//! joints are within their limits. A random configuration is led to the contacts by Gauss and
//! Newton's method on the distances (`approach.rs`).

use crate::approach::{Approach, Move, bodies_of};
use crate::random::Random;
use quasistep::{Linearisation, StepError, System};

/// Which grasps are sampled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraspSettings {
    /// Pairs of bodies that are to touch: a link and what it holds.
    pub touches: Vec<[usize; 2]>,
    /// Dofs that are drawn at random and moved: each with the range from which its joint is drawn,
    /// in m or rad. Joints have one dof, or are planar.
    pub moves: Vec<(usize, [f64; 2])>,
    /// Largest distance of bodies that touch, in m, > 0.
    pub distance: f64,
    /// Least distance of all other pairs, in m, ≥ 0.
    pub clearance: f64,
    /// Largest distance at which shapes see one another, in m, > 0.
    pub reach: f64,
}

/// Number of Newton steps for one sample.
const ITERATIONS: usize = 40;
/// Overlap that counts as none, as a share of the largest distance of bodies that touch.
const ROUNDING: f64 = 1e-5;

/// Samples grasps from a seed.
#[derive(Debug)]
pub struct GraspSampler<'a> {
    system: &'a System,
    settings: GraspSettings,
    random: Random,
    moves: Vec<Move>,
    approach: Approach,
}

impl<'a> GraspSampler<'a> {
    /// A sampler that draws the same grasps for the same seed.
    pub fn new(system: &'a System, settings: GraspSettings, seed: u64) -> Self {
        let of = |(dof, _): &(usize, _)| Move::new(system.model(), *dof, settings.reach);
        let moves: Vec<Move> = settings.moves.iter().map(of).collect();
        let approach = Approach::new(moves.clone());
        Self { system, settings, random: Random::new(seed), moves, approach }
    }

    /// Draws configurations until one is a grasp; `None` after `most` of them. All dofs that are not
    /// moved stay as in `q`.
    ///
    /// # Errors
    ///
    /// `q` is not a configuration of the system.
    pub fn sample(&mut self, q: &[f64], most: usize) -> Result<Option<Vec<f64>>, StepError> {
        for _ in 0..most {
            let mut own = q.to_vec();
            for (own_move, (_, [lower, upper])) in self.moves.iter().zip(&self.settings.moves) {
                own[own_move.coordinate] = lower + (upper - lower) * self.random.unit();
            }
            if self.settle(&mut own)? {
                return Ok(Some(own));
            }
        }
        Ok(None)
    }

    /// Leads a configuration to the contacts. False if it does not get there.
    fn settle(&mut self, q: &mut Vec<f64>) -> Result<bool, StepError> {
        let system = self.system;
        let mut next = q.clone();
        for _ in 0..ITERATIONS {
            let at = system.linearise(q, [0.0; 3], self.settings.reach)?;
            let Some(nearest) = self.nearest(&at) else { return Ok(false) };
            let touching = nearest.iter().all(|k| at.contacts[*k].phi <= self.settings.distance);
            let floors: Vec<f64> = (0..at.contacts.len()).map(|k| self.floor(&at, k)).collect();
            let clear = at.contacts.iter().zip(&floors).all(|(c, floor)| c.phi >= *floor);
            if touching && clear {
                return Ok(true);
            }
            // a little more than the floor
            let slack = 2.0 * ROUNDING * self.settings.distance;
            let step = self.approach.step(&at, q, &nearest, &|k| floors[k] + slack);
            let Some(dq) = step else { return Ok(false) };
            system.model().integrate(q, &dq, 1.0, &mut next);
            std::mem::swap(q, &mut next);
        }
        Ok(false)
    }

    /// Least distance of a point; any if nothing that is sampled moves it.
    fn floor(&self, at: &Linearisation, contact: usize) -> f64 {
        let pair = bodies_of(self.system, at, contact);
        let rounding = ROUNDING * self.settings.distance;
        if self.touch_of(at, contact).is_some() {
            -rounding
        } else if self.approach.moves_pair(self.system.model(), pair) {
            self.settings.clearance - rounding
        } else {
            f64::NEG_INFINITY
        }
    }

    /// Index of the touch to which a point belongs.
    fn touch_of(&self, at: &Linearisation, contact: usize) -> Option<usize> {
        let [a, b] = bodies_of(self.system, at, contact);
        self.settings.touches.iter().position(|&pair| pair == [a, b] || pair == [b, a])
    }

    /// The nearest point of each touch; `None` if one is out of reach.
    fn nearest(&self, at: &Linearisation) -> Option<Vec<usize>> {
        let mut nearest: Vec<Option<usize>> = vec![None; self.settings.touches.len()];
        for k in 0..at.contacts.len() {
            let Some(touch) = self.touch_of(at, k) else { continue };
            let is_nearer = |best: usize| at.contacts[k].phi < at.contacts[best].phi;
            if nearest[touch].is_none_or(is_nearer) {
                nearest[touch] = Some(k);
            }
        }
        nearest.into_iter().collect()
    }
}
