//! A problem under construction, body by body and contact by contact.

use super::super::{Contact, HardProblem, Random};
use super::Family;
use super::geometry::{Face, Friction, Motion, Surface, UP, Vector, along, tangents, unit};
use quasistep_cone::Saturation;
use std::f64::consts::TAU;

/// A problem under construction.
pub(super) struct World<'a> {
    pub(super) random: &'a mut Random,
    pub(super) motions: Vec<Motion>,
    pub(super) p: HardProblem,
}

impl<'a> World<'a> {
    pub(super) fn new(family: Family, seed: u64, random: &'a mut Random) -> Self {
        let p = HardProblem {
            family,
            seed,
            dims: Vec::new(),
            P: Vec::new(),
            c: Vec::new(),
            contacts: Vec::new(),
            springs: Vec::new(),
            unit: Vec::new(),
            cost_unit: 1.0,
        };
        Self { random, motions: Vec::new(), p }
    }

    pub(super) fn push(
        &mut self,
        motion: Motion,
        P: Vec<f64>,
        c: Vec<f64>,
        unit: Vec<f64>,
    ) -> usize {
        self.motions.push(motion);
        self.p.dims.push(c.len());
        self.p.P.push(P);
        self.p.c.extend(c);
        self.p.unit.extend(unit);
        self.motions.len() - 1
    }

    /// Adds a free body of half-width `size`, with weight and an initial velocity.
    pub(super) fn body(&mut self, at: Vector, size: f64, mass: f64) -> usize {
        let r = &mut *self.random;
        let inertia: [f64; 3] = std::array::from_fn(|_| mass * size * size * r.between(0.2, 0.8));
        let mut P = vec![0.0; 36];
        for i in 0..3 {
            P[i * 7] = inertia[i];
            P[(i + 3) * 7] = mass;
        }
        if r.chance(0.3) {
            // the reference point is not the centre of mass: v_c = v + ω × o
            let o = [r.signed(), r.signed(), r.signed()].map(|x| 0.5 * x * size);
            let cross = [[0.0, o[2], -o[1]], [-o[2], 0.0, o[0]], [o[1], -o[0], 0.0]];
            for i in 0..3 {
                for j in 0..3 {
                    for k in 0..3 {
                        P[i * 6 + j] += mass * cross[k][i] * cross[k][j];
                    }
                    P[i * 6 + j + 3] = mass * cross[j][i];
                    P[(j + 3) * 6 + i] = mass * cross[j][i];
                }
            }
        }
        let mut c = vec![0.0; 6];
        if r.chance(0.3) {
            for i in 0..6 {
                c[i] = 0.3 * mass * r.signed() * if i < 3 { size } else { 1.0 };
            }
        }
        c[5] += 0.1 * mass;
        let turn = 1.0 / size;
        let unit = vec![turn, turn, turn, 1.0, 1.0, 1.0];
        self.push(Motion::Free { at }, P, c, unit)
    }

    pub(super) fn planar_body(&mut self, at: Vector, size: f64, mass: f64) -> usize {
        let mut P = vec![0.0; 9];
        P[0] = 0.4 * mass * size * size;
        P[4] = mass;
        P[8] = mass;
        let push = 0.2 * mass * self.random.signed();
        self.push(Motion::Planar { at }, P, vec![0.0, push, 0.1 * mass], vec![1.0 / size, 1.0, 1.0])
    }

    pub(super) fn slider(&mut self, axis: Vector, mass: f64, force: f64) -> usize {
        self.push(Motion::Slider { axis }, vec![mass], vec![-force], vec![1.0])
    }

    /// Adds a hand on 2 to 9 stiff joints, about `reach` from `at`, that is commanded to move along
    /// `towards`.
    pub(super) fn hand(
        &mut self,
        at: Vector,
        reach: f64,
        stiffness: f64,
        towards: Vector,
    ) -> usize {
        let r = &mut *self.random;
        let n = r.count(2, 9);
        let mut joints = Vec::with_capacity(n);
        for k in 0..n {
            let slides = k < 3 && r.chance(0.5);
            let axis = if k == 0 { unit(&towards) } else { r.direction() };
            let point = along(&at, reach * r.between(0.2, 1.0), &r.direction());
            joints.push((axis, point, slides));
        }
        joints[0].2 = true;
        let unit: Vec<f64> = joints.iter().map(|j| if j.2 { 1.0 } else { 1.0 / reach }).collect();
        let mut P = vec![0.0; n * n];
        let coupled = r.chance(0.4);
        let shear: Vec<f64> = r.vector(n * n);
        for i in 0..n {
            let scale = r.between(0.5, 2.0) * stiffness / (unit[i] * unit[i]);
            P[i * n + i] += scale;
            for j in 0..n {
                for k in 0..n {
                    if coupled {
                        // Dᵀ GᵀG D: damping that couples the joints
                        P[i * n + j] += 0.3 * stiffness * shear[k * n + i] * shear[k * n + j]
                            / (unit[i] * unit[j]);
                    }
                }
            }
        }
        let way = r.decade(-2.0, 0.5);
        let c = (0..n)
            .map(|i| {
                let part = if i == 0 { 1.0 } else { 0.2 * r.signed() };
                -stiffness * way * part / unit[i]
            })
            .collect();
        let limited = r.chance(0.3);
        let hand = self.push(Motion::Chain(joints), P, c, unit);
        if limited {
            self.limit_hand(hand, stiffness, way);
        }
        hand
    }

    /// Replaces springs of a hand's cost by Huber terms.
    pub(super) fn limit_hand(&mut self, hand: usize, stiffness: f64, way: f64) {
        let n = self.p.dims[hand];
        let first = self.first(hand);
        for i in 0..n {
            if self.random.chance(0.6) {
                let unit = self.p.unit[first + i];
                let keep = if self.random.chance(0.5) { 0.0 } else { 1e-3 };
                self.p.c[first + i] *= keep;
                for j in 0..n {
                    let share = if i == j { keep } else { 0.0 };
                    self.p.P[hand][i * n + j] *= share;
                    if i != j {
                        self.p.P[hand][j * n + i] *= share;
                    }
                }
                self.p.springs.push(Saturation {
                    index: (first + i) as u32,
                    stiffness: stiffness / (unit * unit),
                    target: way * unit * self.random.between(-0.3, 1.0),
                    limit: match self.random.below(8) {
                        0 => f64::INFINITY,
                        1 => 0.0,
                        _ => stiffness * way / unit * self.random.decade(-2.0, 0.5),
                    },
                });
            }
        }
    }

    pub(super) fn first(&self, block: usize) -> usize {
        self.p.dims[..block].iter().sum()
    }

    /// Adds a contact at `p` that pushes `on` along `n`, away from `off` or from a fixed body. The
    /// gap's rate may not be less than `b`.
    pub(super) fn contact(
        &mut self,
        on: usize,
        off: Option<usize>,
        p: &Vector,
        n: &Vector,
        b: f64,
        friction: Friction,
    ) {
        let [t1, t2] = tangents(n);
        let directions = [*n, t1, t2];
        let (k, spin, round, E) = match friction {
            Friction::None => (1, false, false, vec![1.0]),
            Friction::Pyramid { edges, mu } => {
                let turn = if self.random.chance(0.5) { 0.0 } else { self.random.uniform() };
                let E = (0..edges).flat_map(|j| {
                    let angle = TAU * (j as f64 + turn) / edges as f64;
                    [1.0, mu * angle.cos(), mu * angle.sin()]
                });
                (3, false, false, E.collect())
            }
            Friction::Round { mu } => (3, false, true, vec![1.0, mu, mu]),
            Friction::Spin { mu, mu_spin } => (4, true, true, vec![1.0, mu, mu, mu_spin]),
        };
        let mut blocks = vec![on as u32];
        blocks.extend(off.map(|b| b as u32));
        let sides = [(Some(on), 1.0), (off, -1.0)];
        let mut J = Vec::new();
        for (block, sign) in sides {
            let Some(block) = block else { continue };
            let motion = &self.motions[block];
            let mut rows: Vec<f64> =
                directions[..k.min(3)].iter().flat_map(|d| motion.row(p, d)).collect();
            if spin {
                rows.extend(motion.spin(n));
            }
            J.push(rows.iter().map(|v| sign * v).collect());
        }
        let mut offset = vec![0.0; k];
        offset[0] = b;
        self.p.contacts.push(Contact { round, blocks, J, b: offset, E, unit: 1.0 });
    }

    /// Adds contacts at points of a square face that push `on` away from `off`.
    pub(super) fn face(
        &mut self,
        (on, off): (usize, Option<usize>),
        face: &Face,
        surface: &Surface,
        b: &mut dyn FnMut(&mut Random) -> f64,
    ) {
        let Face { centre, half, n, points } = face;
        let [t1, t2] = tangents(n);
        for k in 0..*points {
            let (x, y) = if k < 4 {
                ([1.0, -1.0][k % 2], [1.0, -1.0][k / 2])
            } else {
                (self.random.signed(), self.random.signed())
            };
            let p = along(&along(centre, half * x, &t1), half * y, &t2);
            let friction = surface.friction(self.random);
            let b = b(self.random);
            self.contact(on, off, &p, n, b, friction);
        }
    }

    /// Adds a tower of boxes on the ground; `mass` and `b` are drawn for each box.
    pub(super) fn tower(
        &mut self,
        count: usize,
        size: f64,
        points: usize,
        surface: &Surface,
        mass: &mut dyn FnMut(&mut Random) -> f64,
        b: &mut dyn FnMut(&mut Random) -> f64,
    ) -> Vec<usize> {
        let mut boxes: Vec<usize> = Vec::new();
        for k in 0..count {
            let at = [0.0, 0.0, size * (2.0 * k as f64 + 1.0)];
            let m = mass(self.random);
            let body = self.body(at, size, m);
            let foot = along(&at, -size, &UP);
            self.face(
                (body, boxes.last().copied()),
                &Face { centre: foot, half: size, n: UP, points },
                surface,
                b,
            );
            boxes.push(body);
        }
        boxes
    }

    /// Adds a force, in natural units, to the linear cost of a block.
    pub(super) fn pull(&mut self, block: usize, force: f64) {
        let first = self.first(block);
        for i in first..first + self.p.dims[block] {
            self.p.c[i] += force * self.random.signed() / self.p.unit[i];
        }
    }
}
