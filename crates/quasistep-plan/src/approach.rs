//! Steps of Gauss and Newton's method on distances: towards contacts, and away from them.
//!
//! ```text
//! min  Σ_l (phi_l + J_l dx)² + small Σ_i (lever_i dx_i)²     s.t.   phi_k + J_k dx ≥ floor_k,   limits,   |dx| ≤ stride
//! ```
//!
//! The lever of a dof is the largest of its `|J_k|`, so steps are the same for any unit of length.

use quasistep::{Linearisation, System};
use quasistep_model::{JointKind, Model, WORLD};
use quasistep_qp::{Qp, QpSolver, Rows, Settings, Solution, Status};

/// A dof that steps move.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    /// Index of the dof.
    pub dof: usize,
    /// Index of its coordinate.
    pub coordinate: usize,
    /// Largest motion in a step, in m or rad.
    stride: f64,
    /// Limits of the joint.
    limits: [f64; 2],
}

impl Move {
    /// A dof of a joint without a quaternion. `reach` is the largest distance that steps see, in m.
    pub fn new(model: &Model, dof: usize, reach: f64) -> Self {
        let owner = model.bodies().iter().find(|body| body.v.contains(&dof));
        let own = owner.map_or(0, |body| dof - body.v.start);
        let slides = owner.is_some_and(|body| slides(body.joint, own));
        let limit = model.limits().iter().find(|limit| limit.dof as usize == dof);
        Self {
            dof,
            coordinate: owner.map_or(dof, |body| body.q.start + own),
            stride: if slides { STRIDE * reach } else { STRIDE },
            limits: limit.map_or([f64::NEG_INFINITY, f64::INFINITY], |l| [l.lower, l.upper]),
        }
    }
}

/// True if a dof of a joint is a translation.
pub fn slides(joint: JointKind, dof: usize) -> bool {
    match joint {
        JointKind::Prismatic { .. } => true,
        JointKind::Planar => dof < 2,
        _ => false,
    }
}

/// Bodies on the way from a body to the world, the body first and without the world.
pub fn chain(model: &Model, body: usize) -> impl Iterator<Item = usize> + '_ {
    std::iter::successors(Some(body), |body| Some(model.body(*body).parent))
        .take_while(|body| *body != WORLD)
}

/// The body whose coordinates move the joint of a body: itself, or the leader of a mimic joint.
pub fn leader(model: &Model, body: usize) -> usize {
    model.body(body).mimic.map_or(body, |mimic| mimic.body)
}

/// Largest motion of a hinge in a step, in rad; of a slide as a share of the reach.
const STRIDE: f64 = 0.2;
/// Cost of a motion of 1 m at the lever of a dof, over that of a distance of 1 m.
const MOTION: f64 = 1e-3;
/// Share of what all dofs together can do by which a step opens a gap at most.
const OPENING: f64 = 0.25;

/// Solver of the steps.
#[derive(Debug)]
pub struct Approach {
    moves: Vec<Move>,
    solver: QpSolver,
    solution: Solution,
}

impl Approach {
    pub fn new(moves: Vec<Move>) -> Self {
        Self { moves, solver: QpSolver::new(), solution: Solution::default() }
    }

    /// True if the dofs move two bodies against one another.
    pub fn moves_pair(&self, model: &Model, [a, b]: [usize; 2]) -> bool {
        let is_moved = |body: usize| {
            let v = &model.body(leader(model, body)).v;
            !model.body(body).surface && self.moves.iter().any(|own| v.contains(&own.dof))
        };
        let one_way = |a: usize, b: usize| {
            chain(model, a).any(|k| is_moved(k) && chain(model, b).all(|other| other != k))
        };
        one_way(a, b) || one_way(b, a)
    }

    /// Motion of all dofs that brings the points `towards` to touch and all points to their floors;
    /// `None` if there is none. Points that no dof moves are left out.
    pub fn step(
        &mut self,
        at: &Linearisation,
        q: &[f64],
        towards: &[usize],
        floor: &dyn Fn(usize) -> f64,
    ) -> Option<Vec<f64>> {
        let moves = &self.moves;
        let n = moves.len();
        let J = |k: usize, i: usize| at.contacts[k].J_n[moves[i].dof];
        let lever = |i: usize| {
            let all = (0..at.contacts.len()).map(|k| J(k, i).abs());
            all.fold(0.0, f64::max)
        };
        let levers: Vec<f64> = (0..n).map(lever).collect();
        let longest = levers.iter().copied().fold(0.0, f64::max);
        let (mut P, mut c) = (vec![0.0; n * n], vec![0.0; n]);
        for i in 0..n {
            P[i * n + i] = MOTION * levers[i].max(1e-3 * longest).powi(2);
        }
        for &k in towards {
            for i in 0..n {
                c[i] += at.contacts[k].phi * J(k, i);
                for j in 0..n {
                    P[i * n + j] += J(k, i) * J(k, j);
                }
            }
        }
        let all: Vec<u32> = (0..n as u32).collect();
        let (mut A, mut b) = (Rows::new(), Vec::new());
        for k in 0..at.contacts.len() {
            let row: Vec<f64> = (0..n).map(|i| J(k, i)).collect();
            let most: f64 = row.iter().zip(moves).map(|(J, own)| J.abs() * own.stride).sum();
            if most > 0.0 {
                A.push(&all, &row);
                b.push((floor(k) - at.contacts[k].phi).min(OPENING * most));
            }
        }
        for (i, own) in moves.iter().enumerate() {
            let (x, [lower, upper]) = (q[own.coordinate], own.limits);
            for (sign, room) in [(1.0, x - lower), (-1.0, upper - x)] {
                A.push(&[i as u32], &[sign]);
                b.push(-room.clamp(0.0, own.stride));
            }
        }
        let qp = Qp { n, P: &P, c: &c, A: &A, b: &b, saturations: &[] };
        self.solver.solve(&qp, &[], &Settings::default(), &mut self.solution);
        if self.solution.status != Status::Solved {
            return None;
        }
        let mut dq = vec![0.0; at.n_v];
        for (own, x) in moves.iter().zip(&self.solution.x) {
            dq[own.dof] = *x;
        }
        Some(dq)
    }
}

/// Bodies of the two geoms of a point.
pub fn bodies_of(system: &System, at: &Linearisation, contact: usize) -> [usize; 2] {
    let contact = &at.contacts[contact];
    [contact.geom_a, contact.geom_b].map(|geom| system.geoms()[geom].body)
}
