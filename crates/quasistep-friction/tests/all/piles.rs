//! Exact friction in stacks and walls of boxes: many more contacts than degrees of freedom, with
//! offsets that are slightly inconsistent as in a simulation.

use crate::common::Samples;
use crate::common::friction::{Sample, Written};
use quasistep_friction::{
    CoulombSettings, CoulombSolution, CoulombSolver, CoulombWarm, Friction, Outcome,
};

/// Half the edge of a box (m), its mass (kg), its moment of inertia (kg m²), and the time step (s).
const HALF: f64 = 0.025;
const MASS: f64 = 0.1;
const INERTIA: f64 = MASS * HALF * HALF * 2.0 / 3.0;
const H: f64 = 0.02;
const MU: f64 = 0.5;
const WALLS: usize = 3;
/// Number of boxes of a wall, in layers of 4, 3, 2 and 1.
const BOXES: usize = 10;
/// Inconsistency of the offsets of a face's contacts, in m/s.
const CONTRADICTION: f64 = 1e-9;

/// Layer of a box of a wall, and its index there.
fn layer(place: usize) -> (usize, usize) {
    match place {
        0..4 => (0, place),
        4..7 => (1, place - 4),
        7..9 => (2, place - 7),
        _ => (3, 0),
    }
}

/// Rectangle in which two boxes touch, or a box and the environment.
struct Face {
    on: usize,
    off: Option<usize>,
    /// Centre of the rectangle in the frames of both, in m.
    middle: [[f64; 3]; 2],
    /// Index of the axis along the normal.
    axis: usize,
    /// Normal rate at which it must open, in m/s.
    b: f64,
}

/// A program under construction.
struct Pile {
    sample: Sample,
    s: Samples,
    round: bool,
}

impl Pile {
    /// A program with free boxes that have weight.
    fn new(seed: u64, round: bool, speed: f64) -> Self {
        let boxes = WALLS * BOXES;
        let n = 6 * boxes;
        let mut sample = Sample {
            n,
            P: vec![0.0; n * n],
            c: vec![0.0; n],
            force: MASS * 9.81 * H,
            length: speed,
            ..Sample::default()
        };
        sample.program.reset((0..boxes).map(|_| 6));
        for k in 0..boxes {
            for i in 0..6 {
                let inertia = if i < 3 { INERTIA } else { MASS };
                sample.program.P(k, i)[i] = inertia;
                sample.P[(6 * k + i) * (n + 1)] = inertia;
            }
            sample.program.c(k)[5] = MASS * 9.81 * H;
            sample.c[6 * k + 5] = MASS * 9.81 * H;
        }
        Self { sample, s: Samples::new(seed), round }
    }

    /// Adds the four corners of a face as contacts.
    fn push_face(&mut self, face: &Face) {
        let Face { off, axis, b, .. } = *face;
        let [first, second] = [(axis + 1) % 3, (axis + 2) % 3];
        // supports overlap by half a box along y
        let reach = |t: usize| if axis == 2 && off.is_some() && t == 1 { 0.5 } else { 1.0 };
        for corner in 0..4 {
            let at = |side: usize, s: &mut Samples| {
                let sign = if corner >> side & 1 == 0 { 1.0 } else { -1.0 };
                sign * HALF * (1.0 - 0.02 * s.uniform())
            };
            let s = &mut self.s;
            let place = [at(0, s) * reach(first), at(1, s) * reach(second)];
            let J = self.rows(face, place);
            self.push_contact(face, J, b);
        }
    }

    /// Jacobian of the contact at the corner `place` of a face.
    fn rows(&self, face: &Face, place: [f64; 2]) -> Vec<Vec<f64>> {
        let Face { on, off, middle, axis, .. } = *face;
        let mut J = vec![vec![0.0; self.sample.n]; 3];
        for (r, row) in J.iter_mut().enumerate() {
            let mut d = [0.0; 3];
            d[(axis + r) % 3] = 1.0;
            for (side, block) in [(0, Some(on)), (1, off)] {
                let Some(block) = block else { continue };
                let sign = if side == 0 { 1.0 } else { -1.0 };
                let mut p = middle[side];
                p[(axis + 1) % 3] += place[0];
                p[(axis + 2) % 3] += place[1];
                for i in 0..3 {
                    let (j, k) = ((i + 1) % 3, (i + 2) % 3);
                    row[6 * block + i] = sign * (p[j] * d[k] - p[k] * d[j]);
                    row[6 * block + 3 + i] = sign * d[i];
                }
            }
        }
        J
    }

    fn push_contact(&mut self, face: &Face, J: Vec<Vec<f64>>, b: f64) {
        let blocks: Vec<usize> = std::iter::once(face.on).chain(face.off).collect();
        let list: Vec<u32> = blocks.iter().map(|b| *b as u32).collect();
        let directions = [1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, -1.0];
        let (friction, edges) = if self.round {
            (Friction::Round(&[MU, MU]), Vec::new())
        } else {
            let edges = directions.chunks_exact(2).map(|d| vec![MU * d[0], MU * d[1]]).collect();
            (Friction::Diamond { mu: MU, directions: &directions, tangents: 2 }, edges)
        };
        let offset = vec![b + CONTRADICTION * self.s.signed(), 0.0, 0.0];
        let mut contact = self.sample.program.push_contact(friction, &list);
        contact.b().copy_from_slice(&offset);
        for (side, block) in blocks.iter().enumerate() {
            for (r, row) in J.iter().enumerate() {
                contact.J(side, r).copy_from_slice(&row[6 * block..6 * block + 6]);
            }
        }
        self.sample.contacts.push(Written { blocks, J, b: offset, edges, mu: MU });
    }
}

/// Walls of 4 + 3 + 2 + 1 boxes that touch at their faces; a plate pushes the first at `speed`
/// (m/s). The variables of a box are its angular velocity and its velocity.
fn pile(seed: u64, round: bool, speed: f64) -> Sample {
    let mut pile = Pile::new(seed, round, speed);
    for wall in 0..WALLS {
        for place in 0..BOXES {
            let on = wall * BOXES + place;
            let (height, across) = layer(place);
            let below = [0.0, 0.0, -HALF];
            if height == 0 {
                pile.push_face(&Face { on, off: None, middle: [below; 2], axis: 2, b: 0.0 });
            } else {
                for side in 0..2 {
                    let off = (0..BOXES)
                        .find(|k| layer(*k) == (height - 1, across + side))
                        .map(|k| wall * BOXES + k);
                    let y = if side == 0 { -0.5 * HALF } else { 0.5 * HALF };
                    let middle = [[0.0, y, -HALF], [0.0, -y, HALF]];
                    pile.push_face(&Face { on, off, middle, axis: 2, b: 0.0 });
                }
            }
            let behind = [-HALF, 0.0, 0.0];
            pile.push_face(&if wall == 0 {
                Face { on, off: None, middle: [behind; 2], axis: 0, b: speed }
            } else {
                let middle = [behind, [HALF, 0.0, 0.0]];
                Face { on, off: Some(on - BOXES), middle, axis: 0, b: 0.0 }
            });
        }
    }
    pile.sample
}

#[test]
fn pushed_piles_are_solved() {
    for (seed, round) in [(1, false), (2, true), (3, false), (4, true)] {
        let (mut solver, mut out) = (CoulombSolver::new(), CoulombSolution::default());
        let (mut lambda, mut u) = (Vec::new(), Vec::new());
        for speed in [0.03, 0.1] {
            let sample = pile(seed, round, speed);
            let warm = (!lambda.is_empty()).then_some(CoulombWarm {
                lambda: &lambda,
                u: &u,
                relaxed: None,
            });
            solver.solve(&sample.program, warm, &CoulombSettings::default(), &mut out);
            let what = format!("seed {seed}, round {round}, {speed} m/s");
            assert_eq!(out.outcome, Outcome::Solved, "{what}");
            // inconsistent contacts may have errors of 1e-11 of the largest speed, of which the
            // check takes a thousandth where nothing moves
            assert_eq!(sample.check(&out, 1e-8), Ok(()), "{what}, {:?}", out.method);
            lambda.clone_from(&out.lambda);
            u.clone_from(&out.u);
        }
    }
}
