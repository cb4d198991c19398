//! The families of problems: bodies with contacts of real geometry, in hard arrangements.

use super::{Contact, HardProblem, Random};
use quasistep_solvers::Saturation;
use std::f64::consts::TAU;

/// What makes a problem hard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// The same contact, row or face many times over.
    Degenerate,
    /// Towers with masses up to ten thousand times apart.
    Stacked,
    /// A body between two walls, held or squeezed, with much friction.
    Wedged,
    /// Overlaps that must open: with room, without, and with room for a hair.
    Penetrating,
    /// Bodies of 1e-10 to 1e-6 of the others' masses.
    NearlyMassless,
    /// Bodies without mass: held, loose, or pushed away without end.
    Massless,
    /// Any of the above, with units of variables, rows and cost far apart.
    CrossedScales,
    /// Random numbers everywhere.
    Mess,
    /// Nothing, one variable, rows of zeros.
    Corners,
}

type Vector = [f64; 3];

pub(super) fn dot(a: &Vector, b: &Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: &Vector, b: &Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn minus(a: &Vector, b: &Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn along(a: &Vector, s: f64, d: &Vector) -> Vector {
    [a[0] + s * d[0], a[1] + s * d[1], a[2] + s * d[2]]
}

fn unit(a: &Vector) -> Vector {
    let length = dot(a, a).sqrt();
    a.map(|x| x / length)
}

/// Two directions at right angles to `n` and each other.
fn tangents(n: &Vector) -> [Vector; 2] {
    let helper = if n[0].abs() < 0.7 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    let t1 = unit(&cross(&cross(n, &helper), n));
    [t1, cross(n, &t1)]
}

const UP: Vector = [0.0, 0.0, 1.0];

/// How a block moves.
#[derive(Clone, Debug)]
enum Motion {
    /// Angular and linear velocity, about a point.
    Free { at: Vector },
    /// In the x–z plane.
    Planar { at: Vector },
    /// Along a line.
    Slider { axis: Vector },
    /// A hand on a chain of joints: axis, a point on it, and whether it slides.
    Chain(Vec<(Vector, Vector, bool)>),
}

impl Motion {
    /// Derivative of the velocity along `d` of the body's point at `p`.
    fn row(&self, p: &Vector, d: &Vector) -> Vec<f64> {
        match self {
            Self::Free { at } => [cross(&minus(p, at), d), *d].concat(),
            Self::Planar { at } => vec![cross(&minus(p, at), d)[1], d[0], d[2]],
            Self::Slider { axis } => vec![dot(axis, d)],
            Self::Chain(joints) => joints
                .iter()
                .map(|(axis, point, slides)| match slides {
                    true => dot(axis, d),
                    false => dot(&cross(axis, &minus(p, point)), d),
                })
                .collect(),
        }
    }

    /// Derivative of the angular velocity along `d`.
    fn spin(&self, d: &Vector) -> Vec<f64> {
        match self {
            Self::Free { .. } => [*d, [0.0; 3]].concat(),
            Self::Planar { .. } => vec![d[1], 0.0, 0.0],
            Self::Slider { .. } => vec![0.0],
            Self::Chain(joints) => joints
                .iter()
                .map(|(axis, _, slides)| if *slides { 0.0 } else { dot(axis, d) })
                .collect(),
        }
    }
}

/// A square face with contacts at its corners, and within if there are more.
#[derive(Clone, Copy, Debug)]
struct Face {
    centre: Vector,
    half: f64,
    /// Into the body that it pushes.
    n: Vector,
    points: usize,
}

/// Friction of a contact.
#[derive(Clone, Copy, Debug)]
enum Friction {
    None,
    Pyramid { edges: usize, mu: f64 },
    Round { mu: f64 },
    Spin { mu: f64, mu_spin: f64 },
}

/// Friction of a whole problem.
#[derive(Clone, Copy, Debug)]
struct Surface {
    round: bool,
    edges: usize,
    least: f64,
    most: f64,
    size: f64,
}

impl Surface {
    fn draw(random: &mut Random, most: f64, size: f64) -> Self {
        let least = if random.chance(0.1) { 0.0 } else { 0.05 };
        Self { round: random.chance(0.4), edges: random.pick(&[4, 6, 8]), least, most, size }
    }

    fn friction(&self, random: &mut Random) -> Friction {
        let mu = if random.chance(0.03) { 0.0 } else { random.between(self.least, self.most) };
        match (random.chance(0.1), self.round && random.chance(0.8)) {
            (true, _) => Friction::None,
            (_, false) => Friction::Pyramid { edges: self.edges, mu },
            _ if random.chance(0.25) => {
                Friction::Spin { mu, mu_spin: mu * self.size * random.decade(-2.0, 0.0) }
            }
            _ => Friction::Round { mu },
        }
    }
}

/// A problem under construction.
struct World<'a> {
    random: &'a mut Random,
    motions: Vec<Motion>,
    p: HardProblem,
}

impl<'a> World<'a> {
    fn new(family: Family, seed: u64, random: &'a mut Random) -> Self {
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

    fn push(&mut self, motion: Motion, P: Vec<f64>, c: Vec<f64>, unit: Vec<f64>) -> usize {
        self.motions.push(motion);
        self.p.dims.push(c.len());
        self.p.P.push(P);
        self.p.c.extend(c);
        self.p.unit.extend(unit);
        self.motions.len() - 1
    }

    /// A free body of half-width `size`, with weight and some velocity from before.
    fn body(&mut self, at: Vector, size: f64, mass: f64) -> usize {
        let r = &mut *self.random;
        let inertia: [f64; 3] = std::array::from_fn(|_| mass * size * size * r.between(0.2, 0.8));
        let mut P = vec![0.0; 36];
        for i in 0..3 {
            P[i * 7] = inertia[i];
            P[(i + 3) * 7] = mass;
        }
        if r.chance(0.3) {
            // the reference point is off the centre of mass: v_c = v + ω × o
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

    fn planar_body(&mut self, at: Vector, size: f64, mass: f64) -> usize {
        let mut P = vec![0.0; 9];
        P[0] = 0.4 * mass * size * size;
        P[4] = mass;
        P[8] = mass;
        let push = 0.2 * mass * self.random.signed();
        self.push(Motion::Planar { at }, P, vec![0.0, push, 0.1 * mass], vec![1.0 / size, 1.0, 1.0])
    }

    fn slider(&mut self, axis: Vector, mass: f64, force: f64) -> usize {
        self.push(Motion::Slider { axis }, vec![mass], vec![-force], vec![1.0])
    }

    /// A hand on 2 to 9 joints about `reach` from `at`, stiff, commanded to move along `towards`.
    fn hand(&mut self, at: Vector, reach: f64, stiffness: f64, towards: Vector) -> usize {
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

    /// Takes springs out of a hand's cost and puts limited ones in.
    fn limit_hand(&mut self, hand: usize, stiffness: f64, way: f64) {
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

    fn first(&self, block: usize) -> usize {
        self.p.dims[..block].iter().sum()
    }

    /// A contact at `p` that pushes `on` along `n`, away from `off` or from something fixed. The gap's
    /// speed may not fall below `b`.
    fn contact(
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

    /// Contacts at points of a square face that push `on` away from `off`.
    fn face(
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

    /// A tower of boxes on the ground; `mass` and `b` are drawn for each.
    fn tower(
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

    /// Adds to the linear cost of a block in natural units.
    fn pull(&mut self, block: usize, force: f64) {
        let first = self.first(block);
        for i in first..first + self.p.dims[block] {
            self.p.c[i] += force * self.random.signed() / self.p.unit[i];
        }
    }
}

impl Family {
    /// Share of the family's problems with pyramids that may end without an answer: where masses or units
    /// are a million apart, the last digits of an answer cannot be told from rounding.
    pub fn given_up_at_most(self) -> f64 {
        match self {
            Self::NearlyMassless => 0.1,
            Self::CrossedScales => 0.04,
            Self::Corners => 0.01,
            _ => 0.002,
        }
    }

    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Degenerate,
        Self::Stacked,
        Self::Wedged,
        Self::Penetrating,
        Self::NearlyMassless,
        Self::Massless,
        Self::CrossedScales,
        Self::Mess,
        Self::Corners,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Degenerate => "degenerate",
            Self::Stacked => "stacked",
            Self::Wedged => "wedged",
            Self::Penetrating => "penetrating",
            Self::NearlyMassless => "nearly massless",
            Self::Massless => "massless",
            Self::CrossedScales => "crossed scales",
            Self::Mess => "mess",
            Self::Corners => "corners",
        }
    }

    /// The problem of this family with this seed.
    pub fn draw(self, seed: u64) -> HardProblem {
        let mut random = Random::new(seed);
        if self == Self::CrossedScales {
            let of = random.pick(&Self::ALL[..6]);
            let mut problem = of.build(seed, &mut random);
            problem.family = self;
            cross_scales(&mut problem, &mut random);
            return problem;
        }
        self.build(seed, &mut random)
    }

    fn build(self, seed: u64, random: &mut Random) -> HardProblem {
        let mut world = World::new(self, seed, random);
        match self {
            Self::Degenerate => degenerate(&mut world),
            Self::Stacked => stacked(&mut world),
            Self::Wedged => wedged(&mut world),
            Self::Penetrating => penetrating(&mut world),
            Self::NearlyMassless => massless(&mut world, true),
            Self::Massless => massless(&mut world, false),
            Self::CrossedScales => unreachable!("built from the others"),
            Self::Mess => mess(&mut world),
            Self::Corners => corners(&mut world),
        }
        world.p
    }
}

/// Gaps of a step: touching, or some way off.
fn gaps(random: &mut Random) -> f64 {
    if random.chance(0.7) { 0.0 } else { -random.decade(-3.0, 0.0) }
}

fn degenerate(w: &mut World<'_>) {
    let size = w.random.decade(-3.0, 0.0);
    let surface = Surface::draw(w.random, 1.0, size);
    let count = w.random.count(1, 3);
    let points = w.random.pick(&[4, 8, 30 / count]);
    let mut touching = |_: &mut Random| 0.0;
    let bodies =
        w.tower(count, size, points, &surface, &mut |r| r.decade(-0.5, 0.5), &mut touching);
    if w.random.chance(0.5) {
        let block = w.random.pick(&bodies);
        let force = w.random.decade(-2.0, 1.0);
        w.pull(block, force);
    }
    if w.random.chance(0.3) {
        // a planar body and a slider in the heap: tangents that do nothing
        let body = w.planar_body([0.0, 0.0, size], size, 1.0);
        let slider = w.slider(UP, 1.0, -0.1);
        let mut off = |_: &mut Random| 0.0;
        w.face(
            (body, Some(slider)),
            &Face { centre: [0.0; 3], half: size, n: UP, points: 6 },
            &surface,
            &mut off,
        );
        w.face(
            (slider, None),
            &Face { centre: [0.0; 3], half: size, n: UP, points: 2 },
            &surface,
            &mut off,
        );
    }
    // whole contacts, and rows within, once more
    for _ in 0..w.random.below(6) {
        let k = w.random.below(w.p.contacts.len());
        let mut copy = w.p.contacts[k].clone();
        match w.random.below(4) {
            0 => {}
            1 if !copy.round => {
                let again = copy.E.clone();
                copy.E.extend(again);
            }
            2 => {
                // the same half-space with another length
                let s = w.random.decade(-1.0, 1.0);
                copy.E.iter_mut().for_each(|e| *e *= s);
            }
            _ => {
                // the same to the last digits
                for J in copy.J.iter_mut().flatten() {
                    *J *= 1.0 + 1e-15 * w.random.signed();
                }
            }
        }
        w.p.contacts.push(copy);
    }
}

fn stacked(w: &mut World<'_>) {
    let size = w.random.decade(-2.0, 0.0);
    let surface = Surface::draw(w.random, 1.0, size);
    let count = w.random.count(2, 8);
    let decades = w.random.between(0.0, 4.0);
    let bodies = w.tower(
        count,
        size,
        4,
        &surface,
        &mut |r| r.decade(-0.5 * decades, 0.5 * decades),
        &mut gaps,
    );
    if w.random.chance(0.6) {
        let block = w.random.pick(&bodies);
        let force = w.random.decade(-2.0, 1.0);
        w.pull(block, force);
    }
    if w.random.chance(0.3) {
        // a hand pushes the top from the side
        let at = [-size, 0.0, size * (2.0 * count as f64 - 1.0)];
        let stiffness = w.random.decade(0.0, 3.0);
        let hand = w.hand(at, 1.0, stiffness, [1.0, 0.0, 0.0]);
        let mut touching = |_: &mut Random| 0.0;
        let top = bodies[count - 1];
        w.face(
            (top, Some(hand)),
            &Face { centre: at, half: 0.2 * size, n: [1.0, 0.0, 0.0], points: 4 },
            &surface,
            &mut touching,
        );
    }
}

/// Normals of two walls that nearly face each other.
fn opposing(random: &mut Random) -> [Vector; 2] {
    let n = random.direction();
    let most = random.pick(&[0.0, 1e-9, 1e-3, 0.5]);
    let turn = along(&n.map(|x| -x), most, &random.direction());
    [n, unit(&turn)]
}

fn wedged(w: &mut World<'_>) {
    let size = w.random.decade(-2.0, 0.0);
    let surface = Surface::draw(w.random, 2.0, size);
    let mass = w.random.decade(-1.0, 1.0);
    let body = w.body([0.0; 3], size, mass);
    let points = w.random.pick(&[1, 2, 4]);
    for normal in opposing(w.random) {
        let at = along(&[0.0; 3], -size, &normal);
        let hand = w.random.chance(0.5).then(|| {
            let (reach, stiffness) = (w.random.decade(-1.0, 0.0), w.random.decade(-1.0, 4.0));
            w.hand(at, reach, stiffness, normal)
        });
        let squeeze =
            if w.random.chance(0.3) && hand.is_some() { w.random.decade(-4.0, 0.0) } else { 0.0 };
        let mut b = |r: &mut Random| if r.chance(0.8) { squeeze } else { -r.decade(-6.0, -1.0) };
        w.face(
            (body, hand),
            &Face { centre: at, half: 0.7 * size, n: normal, points },
            &surface,
            &mut b,
        );
    }
    if w.random.chance(0.4) {
        let mut touching = |_: &mut Random| 0.0;
        w.face(
            (body, None),
            &Face { centre: [0.0, 0.0, -size], half: size, n: UP, points: 4 },
            &surface,
            &mut touching,
        );
    }
    let force = w.random.decade(-2.0, 2.0);
    w.pull(body, force);
}

fn penetrating(w: &mut World<'_>) {
    let size = w.random.decade(-2.0, 0.0);
    let surface = Surface::draw(w.random, 1.0, size);
    let depth = w.random.decade(-6.0, 0.5);
    let mut deep = |r: &mut Random| if r.chance(0.6) { depth * r.uniform() } else { gaps(r) };
    if w.random.chance(0.4) {
        let count = w.random.count(1, 5);
        w.tower(count, size, 4, &surface, &mut |r| r.decade(-1.0, 1.0), &mut deep);
        return;
    }
    // between two fixed walls: each wants out at its own speed; what is missing decides
    let count = w.random.count(1, 3);
    let [n, _] = opposing(w.random);
    let mut last = None;
    let missing = match w.random.below(5) {
        0 => 0.0,
        1 => -w.random.decade(-8.0, 0.0),
        _ => w.random.decade(-8.0, 0.0),
    };
    let offset: Vec<f64> = (0..count).map(|_| depth * w.random.signed()).collect();
    let flat = w.random.chance(0.5);
    for k in 0..count {
        let at = along(&[0.0; 3], size * (2.0 * k as f64 + 1.0), &n);
        let mass = w.random.decade(-1.0, 1.0);
        let body = w.body(at, size, mass);
        let foot = along(&at, -size, &n);
        let mut b = |_: &mut Random| offset[k];
        let frictionless = Surface { round: false, most: 0.0, least: 0.0, ..surface };
        let here = if flat { frictionless } else { surface };
        w.face((body, last), &Face { centre: foot, half: size, n, points: 4 }, &here, &mut b);
        last = Some(body);
    }
    let body = last.expect("at least one");
    let top = along(&[0.0; 3], size * 2.0 * count as f64, &n);
    let down = n.map(|x| -x);
    // speeds along n add up to the offsets; the lid comes down faster than that by what is missing
    let lid = missing - offset.iter().sum::<f64>();
    let friction = surface.friction(w.random);
    w.contact(body, None, &top, &down, lid, friction);
}

/// Bodies without mass, or with next to none, among hands.
fn massless(w: &mut World<'_>, nearly: bool) {
    let size = w.random.decade(-2.0, 0.0);
    let surface = Surface::draw(w.random, 1.0, size);
    let count = w.random.count(1, 4);
    let mut light = Vec::new();
    let arrangement = w.random.below(3);
    if arrangement == 0 {
        light = w.tower(count, size, 4, &surface, &mut |_| 1.0, &mut gaps);
    } else {
        for k in 0..count {
            let at = [4.0 * size * k as f64, 0.0, size];
            let body = w.body(at, size, 1.0);
            // two or three fingers, and maybe the ground
            let fingers = w.random.count(1, 3);
            for f in 0..fingers {
                let normal = match f {
                    0 => [1.0, 0.0, 0.0],
                    1 => [-1.0, 0.0, 0.0],
                    _ => w.random.direction(),
                };
                let p = along(&at, -size, &normal);
                let stiffness = w.random.decade(0.0, 3.0);
                let hand = w.hand(p, 0.5, stiffness, normal);
                let points = w.random.pick(&[1, 3, 4]);
                w.face(
                    (body, Some(hand)),
                    &Face { centre: p, half: 0.3 * size, n: normal, points },
                    &surface,
                    &mut gaps,
                );
            }
            if arrangement == 1 {
                let foot = along(&at, -size, &UP);
                w.face(
                    (body, None),
                    &Face { centre: foot, half: size, n: UP, points: 4 },
                    &surface,
                    &mut gaps,
                );
            }
            light.push(body);
        }
    }
    if w.random.chance(0.4) {
        let block = w.random.pick(&light);
        let force = w.random.decade(-2.0, 0.5);
        w.pull(block, force);
    }
    let weightless = w.random.chance(0.3);
    for body in light {
        let share = if nearly { w.random.decade(-10.0, -6.0) } else { 0.0 };
        w.p.P[body].iter_mut().for_each(|P| *P *= share);
        if weightless {
            let first = w.first(body);
            for c in &mut w.p.c[first..first + 6] {
                *c *= share;
            }
        }
    }
}

fn cross_scales(p: &mut HardProblem, random: &mut Random) {
    let decades = random.pick(&[1.0, 3.0, 6.0]);
    let by_block = random.chance(0.5);
    let mut factor = vec![1.0; p.n()];
    for (block, first) in p.firsts().into_iter().enumerate() {
        let common = random.decade(-decades, decades);
        for i in first..first + p.dims[block] {
            factor[i] = if by_block { common } else { random.decade(-decades, decades) };
        }
    }
    let cost = random.decade(-decades, decades);
    // x = factor x'
    for (block, first) in p.firsts().into_iter().enumerate() {
        let dim = p.dims[block];
        for i in 0..dim {
            for j in 0..dim {
                p.P[block][i * dim + j] *= factor[first + i] * factor[first + j] * cost;
            }
        }
        // the product above need not be symmetric to the last digit
        for i in 0..dim {
            for j in 0..i {
                p.P[block][i * dim + j] = p.P[block][j * dim + i];
            }
        }
    }
    for i in 0..p.n() {
        p.c[i] *= factor[i] * cost;
        p.unit[i] /= factor[i];
    }
    for spring in &mut p.springs {
        let f = factor[spring.index as usize];
        spring.stiffness *= f * f * cost;
        spring.target /= f;
        spring.limit *= f * cost;
    }
    p.cost_unit *= cost;
    let firsts = p.firsts();
    for contact in &mut p.contacts {
        let k = contact.b.len();
        let row: Vec<f64> = (0..k).map(|_| random.decade(-decades, decades)).collect();
        let whole = random.decade(-decades, decades);
        for (side, block) in contact.blocks.iter().enumerate() {
            let (dim, first) = (p.dims[*block as usize], firsts[*block as usize]);
            for r in 0..k {
                for i in 0..dim {
                    contact.J[side][r * dim + i] *= factor[first + i] * row[r];
                }
            }
        }
        for r in 0..k {
            contact.b[r] *= row[r];
        }
        for (at, E) in contact.E.iter_mut().enumerate() {
            *E *= whole / row[at % k];
        }
        contact.unit *= whole;
    }
}

fn mess(w: &mut World<'_>) {
    let blocks = w.random.count(1, 6);
    for _ in 0..blocks {
        let dim = w.random.pick(&[1, 1, 2, 3, 4, 6, 9]);
        let rank = w.random.count(0, dim + 2);
        let scale = w.random.decade(-2.0, 2.0);
        let G = w.random.vector(rank * dim);
        let mut P = vec![0.0; dim * dim];
        for i in 0..dim {
            for j in 0..=i {
                let sum: f64 = (0..rank).map(|k| G[k * dim + i] * G[k * dim + j]).sum();
                P[i * dim + j] = scale * sum;
                P[j * dim + i] = scale * sum;
            }
        }
        let c = if w.random.chance(0.5) {
            // within the range of the cost
            let y = w.random.vector(rank);
            (0..dim)
                .map(|i| scale * (0..rank).map(|k| y[k] * G[k * dim + i]).sum::<f64>())
                .collect()
        } else {
            w.random.vector(dim)
        };
        w.push(Motion::Slider { axis: UP }, P, c, vec![1.0; dim]);
    }
    let feasible = w.random.chance(0.7);
    let n = w.p.n();
    let x0 = w.random.vector(n);
    let rounds = w.random.chance(0.4);
    for _ in 0..w.random.below(2 * n + 2) {
        let a = w.random.below(blocks);
        let b = w.random.below(blocks);
        let chosen = if a == b { vec![a as u32] } else { vec![a as u32, b as u32] };
        let k = w.random.count(1, 4);
        let whole = w.random.chance(0.5);
        let entry =
            |r: &mut Random| if whole { f64::from(r.below(3) as u32) - 1.0 } else { r.signed() };
        let J: Vec<Vec<f64>> = chosen
            .iter()
            .map(|b| (0..k * w.p.dims[*b as usize]).map(|_| entry(w.random)).collect())
            .collect();
        let round = rounds && k > 1 && w.random.chance(0.5);
        let E: Vec<f64> = if round {
            std::iter::once(1.0).chain((1..k).map(|_| w.random.between(0.0, 1.5))).collect()
        } else {
            let m = w.random.count(1, 6);
            (0..m * k).map(|_| entry(w.random)).collect()
        };
        let mut offset = w.random.vector(k);
        if feasible {
            // x0 satisfies the cone, with room or just so
            for r in 0..k {
                offset[r] = 0.0;
                for (side, b) in chosen.iter().enumerate() {
                    let (dim, first) = (w.p.dims[*b as usize], w.first(*b as usize));
                    for i in 0..dim {
                        offset[r] += J[side][r * dim + i] * x0[first + i];
                    }
                }
            }
            if w.random.chance(0.5) && (round || k == 1) {
                let room = w.random.uniform();
                offset[0] -= room * E[0].signum();
            }
        }
        w.p.contacts.push(Contact { round, blocks: chosen, J, b: offset, E, unit: 1.0 });
    }
}

fn corners(w: &mut World<'_>) {
    let kind = w.random.below(12);
    if kind == 0 {
        // no variable at all
        return;
    }
    let blocks = w.random.count(1, 3);
    for _ in 0..blocks {
        let dim = w.random.pick(&[1, 1, 2, 3]);
        let mut P = vec![0.0; dim * dim];
        for i in 0..dim {
            P[i * dim + i] = f64::from(w.random.below(3) as u32);
        }
        let c = (0..dim).map(|_| f64::from(w.random.below(3) as u32) - 1.0).collect();
        w.push(Motion::Slider { axis: UP }, P, c, vec![1.0; dim]);
    }
    let n = w.p.n();
    for i in 0..n {
        if w.random.chance(0.2) {
            let [stiffness, limit] = [0, 0].map(|_: u32| f64::from(w.random.below(3) as u32));
            let target = w.random.signed();
            w.p.springs.push(Saturation { index: i as u32, stiffness, target, limit });
        }
    }
    for _ in 0..w.random.below(5) {
        let block = w.random.below(blocks);
        let dim = w.p.dims[block];
        let k = w.random.count(1, 3);
        let round = w.random.chance(0.3);
        let small = |r: &mut Random| f64::from(r.below(3) as u32) - 1.0;
        let (blocks, J) = if w.random.chance(0.1) {
            // a cone over nothing: a constant
            (Vec::new(), Vec::new())
        } else {
            (vec![block as u32], vec![(0..k * dim).map(|_| small(w.random)).collect()])
        };
        let b = (0..k).map(|_| small(w.random)).collect();
        let E = if round {
            (0..k).map(|_| 0.5 * f64::from(w.random.below(3) as u32)).collect()
        } else {
            (0..k * w.random.count(1, 3)).map(|_| small(w.random)).collect()
        };
        w.p.contacts.push(Contact { round, blocks, J, b, E, unit: 1.0 });
    }
}
