//! Grasps at random: configurations in which given links touch given bodies, nothing overlaps, and
//! joints are within their limits. A random configuration is led to the contacts by Gauss and
//! Newton's method on the distances (`approach.rs`).

use crate::approach::{Approach, Move, bodies_of, slides};
use crate::clearance::touching_bodies;
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

/// Grasps that cannot be sampled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GraspError {
    /// A number is not what it must be.
    #[error("{what} is {value}; it must be {rule}")]
    Number {
        /// Name of the number.
        what: &'static str,
        /// Its value.
        value: f64,
        /// What it must be.
        rule: &'static str,
    },
    /// No pair of bodies is to touch.
    #[error("no pair of bodies is to touch; give at least one")]
    Empty,
    /// Two bodies that never touch.
    #[error("`{a}` and `{b}` never touch: they have no shapes, are joined, or are excluded")]
    Apart {
        /// Name of a body.
        a: String,
        /// Name of the other.
        b: String,
    },
    /// Two bodies that no joint moves against one another.
    #[error("none of the joints that move brings `{a}` to `{b}`")]
    Still {
        /// Name of a body.
        a: String,
        /// Name of the other.
        b: String,
    },
    /// A range of a joint without room.
    #[error("`{name}` is drawn from {lower} to {upper}; give a lower and an upper number")]
    Range {
        /// Name of the dof.
        name: String,
        /// Lower end.
        lower: f64,
        /// Upper end.
        upper: f64,
    },
}

impl GraspSettings {
    /// All commanded joints without a quaternion, each within its limits; hinges without limits within
    /// a turn. Slides without limits have no range, which [`check`](Self::check) tells.
    pub fn of_commanded(system: &System) -> Vec<(usize, [f64; 2])> {
        let model = system.model();
        let bodies = system.commanded().iter().map(|body| model.body(*body));
        let dofs = bodies
            .filter(|b| b.q.len() == b.v.len())
            .flat_map(|b| b.v.clone().map(|dof| (dof, slides(b.joint, dof - b.v.start))));
        let range = |(dof, is_slide): (usize, bool)| {
            let limit = model.limits().iter().find(|limit| limit.dof as usize == dof);
            let most = if is_slide { f64::INFINITY } else { std::f64::consts::PI };
            let [lower, upper] = limit.map_or([-most, most], |limit| [limit.lower, limit.upper]);
            (dof, [lower, upper])
        };
        dofs.map(range).collect()
    }

    /// Checks that these grasps can be sampled.
    ///
    /// # Errors
    ///
    /// See [`GraspError`].
    ///
    /// # Panics
    ///
    /// If a body or a dof does not exist.
    pub fn check(&self, system: &System) -> Result<(), GraspError> {
        for (what, value) in [("distance", self.distance), ("reach", self.reach)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(GraspError::Number { what, value, rule: "> 0 m" });
            }
        }
        let (what, value) = ("clearance", self.clearance);
        if !(value >= 0.0 && value.is_finite()) {
            return Err(GraspError::Number { what, value, rule: "≥ 0 m" });
        }
        if self.touches.is_empty() {
            return Err(GraspError::Empty);
        }
        let model = system.model();
        for &(dof, [lower, upper]) in &self.moves {
            if !(lower <= upper && lower.is_finite() && upper.is_finite()) {
                let name = model.dof_names().swap_remove(dof);
                return Err(GraspError::Range { name, lower, upper });
            }
        }
        let moves = self.moves.iter().map(|(dof, _)| Move::new(model, *dof, self.reach));
        let (approach, touching) = (Approach::new(moves.collect()), touching_bodies(system));
        for &[a, b] in &self.touches {
            let name = |body: usize| model.body(body).name.clone();
            if !touching.contains(&[a.min(b), a.max(b)]) {
                return Err(GraspError::Apart { a: name(a), b: name(b) });
            }
            if !approach.moves_pair(model, [a, b]) {
                return Err(GraspError::Still { a: name(a), b: name(b) });
            }
        }
        Ok(())
    }
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
