//! Grasps at random: configurations in which given links touch given bodies, nothing overlaps, and
//! joints are within their limits.
//!
//! A random configuration is led to the contacts by Gauss and Newton's method on the distances:
//!
//! ```text
//! min  Σ_l (phi_l + J_l dq)² + small ‖dq‖²     s.t.   phi_i + J_i dq ≥ 0 for all points,   limits,   |dq| ≤ stride
//! ```

use crate::random::Random;
use quasistep::{Linearisation, StepError, System};
use quasistep_qp::{Qp, QpSolver, Rows, Settings, Solution, Status};

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
/// Largest motion of a dof in a Newton step, in m or rad.
const STRIDE: f64 = 0.2;
/// Cost of a motion of 1 rad, over that of a distance of 1 m.
const MOTION: f64 = 1e-3;
/// Overlap that counts as none, in m.
const ROUNDING: f64 = 1e-9;

/// Samples grasps from a seed.
#[derive(Debug)]
pub struct GraspSampler<'a> {
    system: &'a System,
    settings: GraspSettings,
    random: Random,
    solver: QpSolver,
    solution: Solution,
}

impl<'a> GraspSampler<'a> {
    /// A sampler that draws the same grasps for the same seed.
    pub fn new(system: &'a System, settings: GraspSettings, seed: u64) -> Self {
        let (solver, solution) = (QpSolver::new(), Solution::default());
        Self { system, settings, random: Random::new(seed), solver, solution }
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
            for (dof, [lower, upper]) in self.settings.moves.clone() {
                own[self.coordinate(dof)] = lower + (upper - lower) * self.random.unit();
            }
            if self.settle(&mut own)? {
                return Ok(Some(own));
            }
        }
        Ok(None)
    }

    /// Coordinate of a dof of a joint without a quaternion.
    fn coordinate(&self, dof: usize) -> usize {
        let model = self.system.model();
        let owner = model.bodies().iter().find(|body| body.v.contains(&dof));
        owner.map_or(dof, |body| body.q.start + dof - body.v.start)
    }

    /// Leads a configuration to the contacts. False if it does not get there.
    fn settle(&mut self, q: &mut Vec<f64>) -> Result<bool, StepError> {
        let system = self.system;
        let mut next = q.clone();
        for _ in 0..ITERATIONS {
            let at = system.linearise(q, [0.0; 3], self.settings.reach)?;
            let Some(nearest) = self.nearest(&at) else { return Ok(false) };
            let touching = nearest.iter().all(|k| at.contacts[*k].phi <= self.settings.distance);
            if touching && at.contacts.iter().enumerate().all(|(k, c)| c.phi >= self.floor(&at, k))
            {
                return Ok(true);
            }
            let Some(dq) = self.step(&at, &nearest, q) else { return Ok(false) };
            system.model().integrate(q, &dq, 1.0, &mut next);
            std::mem::swap(q, &mut next);
        }
        Ok(false)
    }

    /// Least distance of a point.
    fn floor(&self, at: &Linearisation, contact: usize) -> f64 {
        if self.touch_of(at, contact).is_some() {
            -ROUNDING
        } else {
            self.settings.clearance - ROUNDING
        }
    }

    /// Index of the touch to which a point belongs.
    fn touch_of(&self, at: &Linearisation, contact: usize) -> Option<usize> {
        let contact = &at.contacts[contact];
        let geoms = self.system.geoms();
        let (a, b) = (geoms[contact.geom_a].body, geoms[contact.geom_b].body);
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

    /// Motion towards the contacts; `None` if it has no solution.
    fn step(&mut self, at: &Linearisation, nearest: &[usize], q: &[f64]) -> Option<Vec<f64>> {
        let moves = &self.settings.moves;
        let n = moves.len();
        let row_of = |k: usize| -> Vec<f64> {
            moves.iter().map(|(dof, _)| at.contacts[k].J_n[*dof]).collect()
        };
        let (mut P, mut c) = (vec![0.0; n * n], vec![0.0; n]);
        for i in 0..n {
            P[i * n + i] = MOTION;
        }
        for &k in nearest {
            let (J, phi) = (row_of(k), at.contacts[k].phi);
            for i in 0..n {
                c[i] += phi * J[i];
                for j in 0..n {
                    P[i * n + j] += J[i] * J[j];
                }
            }
        }
        let all: Vec<u32> = (0..n as u32).collect();
        let (mut A, mut b) = (Rows::new(), Vec::new());
        for k in 0..at.contacts.len() {
            A.push(&all, &row_of(k));
            // an overlap is left in several steps
            let want = self.floor(at, k) + 2.0 * ROUNDING - at.contacts[k].phi;
            b.push(want.min(0.25 * STRIDE * self.settings.reach.min(0.1)));
        }
        for (i, (dof, _)) in moves.iter().enumerate() {
            let own = q[self.coordinate(*dof)];
            let limit =
                self.system.model().limits().iter().find(|limit| limit.dof as usize == *dof);
            let [lower, upper] = limit
                .map_or([f64::NEG_INFINITY, f64::INFINITY], |limit| [limit.lower, limit.upper]);
            for (sign, room) in [(1.0, own - lower), (-1.0, upper - own)] {
                A.push(&[i as u32], &[sign]);
                b.push(-room.clamp(0.0, STRIDE));
            }
        }
        let qp = Qp { n, P: &P, c: &c, A: &A, b: &b, saturations: &[] };
        self.solver.solve(&qp, &[], &Settings::default(), &mut self.solution);
        if self.solution.status != Status::Solved {
            return None;
        }
        let mut dq = vec![0.0; at.n_v];
        for ((dof, _), x) in moves.iter().zip(&self.solution.x) {
            dq[*dof] = *x;
        }
        Some(dq)
    }
}
