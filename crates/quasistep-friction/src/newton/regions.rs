//! Linear pieces of the projection onto a friction cone, and their neighbours.
//!
//! The projection of augmented forces is linear where the same face of the friction set is nearest.
//! This region is a cone bounded by planes. Across a plane the derivative changes by a matrix of
//! rank one.

#![allow(clippy::inline_always)] // parts of a kernel must be compiled with its instruction set

use crate::contact::Shape;
use crate::program::FrictionProgram;
use quasistep_linalg::simd::LANES;
use quasistep_linalg::simd::{Lane, Simd};

/// Largest number of rows of a contact whose pieces are tabulated: a normal row and two tangential
/// ones.
pub(super) const ROWS: usize = 3;
/// Largest number of vertices of a polygon whose pieces are searched linearly.
const MOST_VERTICES: usize = 100;
/// Largest number of friction sets kept from one program to the next.
const MOST_SETS: usize = 64;
/// Piece with zero force.
pub(super) const OPEN: u16 = 0;
/// Piece on which the projection is the identity.
const STUCK: u16 = 1;

/// Plane `g · a = 0` that bounds a piece; inside the piece, the product is positive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exit {
    pub g: [f64; ROWS],
    /// Piece behind the plane. Behind [`OPEN`] it is the piece of a vertex, which
    /// [`Regions::across`] selects from the augmented friction force.
    pub to: u16,
}

/// Up to four planes in SIMD layout, padded with zeros.
#[derive(Clone, Copy, Debug, Default)]
struct Planes {
    g: [Lane; ROWS],
    to: [u16; LANES],
}

/// One linear piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    /// Derivative of the projection, `k × k`.
    pub matrix: [f64; ROWS * ROWS],
    /// Range of its batches of four planes.
    planes: [u32; 2],
}

/// Pieces of one friction set.
#[derive(Clone, Debug, Default)]
struct Set {
    /// Vertices of the friction set, `k − 1` entries each.
    vertices: Vec<f64>,
    k: usize,
    /// Index of the first piece; the next field is their number.
    first: usize,
    count: u16,
}

/// Pieces of all contacts.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    sets: Vec<Set>,
    pieces: Vec<Region>,
    planes: Vec<Planes>,
    /// Friction set of every contact; the next field is the index of its first piece.
    of: Vec<u32>,
    first: Vec<u32>,
}

impl Regions {
    /// Tabulates the pieces of all contacts of a program. Returns false if some contact has no
    /// table: a round one, one with more than two tangential rows, or one whose friction set does
    /// not contain 0 in its interior.
    pub fn update(&mut self, p: &FrictionProgram) -> bool {
        self.of.clear();
        self.first.clear();
        if self.sets.len() > MOST_SETS {
            self.sets.clear();
            self.pieces.clear();
            self.planes.clear();
        }
        for contact in &p.contacts {
            let (k, vertices) = (contact.k as usize, p.vertices_of(contact));
            let fits = |set: &Set| set.k == k && set.vertices == vertices;
            let last = self.of.last().filter(|last| fits(&self.sets[**last as usize]));
            let known = || self.sets.iter().position(fits).map(|set| set as u32);
            let set = match last.copied().or_else(known) {
                Some(set) => set,
                None if contact.shape == Shape::Round || k > ROWS || !self.add(k, vertices) => {
                    return false;
                }
                None => self.sets.len() as u32 - 1,
            };
            self.of.push(set);
            self.first.push(self.sets[set as usize].first as u32);
        }
        true
    }

    /// Length along `da` after which the augmented forces of a closed contact leave their piece,
    /// with the number of the plane; `None` if it is not below `least`.
    #[inline(always)]
    pub fn leave<S: Simd>(
        &self,
        contact: usize,
        region: u16,
        a: &[f64],
        da: &[f64],
        mut least: f64,
    ) -> Option<(f64, usize)> {
        let mut plane = None;
        let [first, last] = self.region(contact, region).planes;
        for number in first as usize..last as usize {
            let g = &self.planes[number].g;
            let (mut room, mut slope) = (S::zero(), S::zero());
            for ((g, a), da) in g.iter().zip(a).zip(da) {
                room = S::fma(S::load(g), S::splat(*a), room);
                slope = S::fma(S::load(g), S::splat(*da), slope);
            }
            room = S::max(room, S::zero());
            let reached = S::mul(S::sub(S::zero(), slope), S::splat(least));
            if S::positive_bits(S::sub(reached, room)) == 0 {
                continue;
            }
            let (room, slope) = (S::to_array(room), S::to_array(slope));
            for lane in 0..LANES {
                if slope[lane] < 0.0 && room[lane] < -slope[lane] * least {
                    least = room[lane] / -slope[lane];
                    plane = Some((least, number * LANES + lane));
                }
            }
        }
        plane
    }

    /// Piece number `region` of a contact.
    #[inline(always)]
    pub fn region(&self, contact: usize, region: u16) -> &Region {
        &self.pieces[self.first[contact] as usize + usize::from(region)]
    }

    /// The plane with this number.
    pub fn exit(&self, number: usize) -> Exit {
        let (planes, lane) = (&self.planes[number / LANES], number % LANES);
        Exit { g: planes.g.map(|g| g[lane]), to: planes.to[lane] }
    }

    /// Number of the plane at which an open contact closes.
    pub fn closing(&self, contact: usize) -> usize {
        self.region(contact, OPEN).planes[0] as usize * LANES
    }

    /// Piece that contains a contact's augmented forces `a`; `before` is tried first.
    pub fn find(&self, contact: usize, a: &[f64], before: u16) -> u16 {
        if !(a[0] > 0.0) {
            return OPEN;
        }
        let room = |region: u16| {
            let [first, last] = self.region(contact, region).planes;
            let mut least = f64::INFINITY;
            for planes in &self.planes[first as usize..last as usize] {
                for lane in 0..LANES {
                    let room: f64 = planes.g.iter().zip(a).map(|(g, a)| g[lane] * a).sum();
                    least = least.min(room);
                }
            }
            least
        };
        let mut best = (f64::NEG_INFINITY, STUCK);
        let count = self.sets[self.of[contact] as usize].count;
        let likely = (before != OPEN).then_some(before);
        for region in likely.into_iter().chain(STUCK..count) {
            let room = room(region);
            if room >= 0.0 {
                return region;
            }
            if room > best.0 {
                best = (room, region);
            }
        }
        best.1
    }

    /// Piece on the other side of a plane, for augmented forces `a`.
    pub fn across(&self, contact: usize, from: u16, to: u16, a: &[f64]) -> u16 {
        let set = &self.sets[self.of[contact] as usize];
        let d = set.k - 1;
        if from != OPEN || d == 0 {
            return to;
        }
        let mut best = (f64::NEG_INFINITY, to);
        for (j, v) in set.vertices.chunks_exact(d).enumerate() {
            let along = v.iter().zip(&a[1..]).map(|(v, a)| v * a).sum::<f64>();
            if along > best.0 {
                best = (along, to + j as u16);
            }
        }
        best.1
    }
}

impl Regions {
    /// Adds the pieces of a contact without friction, or with a segment or a counterclockwise
    /// convex polygon around 0. Returns false, with nothing added, for another set.
    fn add(&mut self, k: usize, vertices: &[f64]) -> bool {
        let (first, planes) = (self.pieces.len(), self.planes.len());
        let mut unit = [0.0; ROWS * ROWS];
        (0..k).for_each(|r| unit[r * k + r] = 1.0);
        let shut = Exit { g: [1.0, 0.0, 0.0], to: OPEN };
        // pieces of vertices come last
        let vertex = match k {
            1 => STUCK,
            2 => STUCK + 1,
            _ => STUCK + 1 + (vertices.len() / 2) as u16,
        };
        self.push([0.0; ROWS * ROWS], &[Exit { g: [-1.0, 0.0, 0.0], to: vertex }]);
        let known = match k {
            1 => {
                self.push(unit, &[shut]);
                Some(())
            }
            2 => self.segment(vertices, unit, shut),
            _ => self.polygon(vertices, unit, shut),
        };
        if known.is_none() {
            self.pieces.truncate(first);
            self.planes.truncate(planes);
            return false;
        }
        let count = (self.pieces.len() - first) as u16;
        self.sets.push(Set { vertices: vertices.to_vec(), k, first, count });
        true
    }

    fn push(&mut self, matrix: [f64; ROWS * ROWS], exits: &[Exit]) {
        let first = self.planes.len() as u32;
        for exits in exits.chunks(LANES) {
            let mut planes = Planes::default();
            for (lane, exit) in exits.iter().enumerate() {
                for (to, g) in planes.g.iter_mut().zip(exit.g) {
                    to[lane] = g;
                }
                planes.to[lane] = exit.to;
            }
            self.planes.push(planes);
        }
        self.pieces.push(Region { matrix, planes: [first, self.planes.len() as u32] });
    }

    fn segment(&mut self, vertices: &[f64], unit: [f64; ROWS * ROWS], shut: Exit) -> Option<()> {
        let &[a, b] = vertices else { return None };
        if !(a * b < 0.0) {
            return None;
        }
        // sign of the end of the segment
        let outside = |v: f64, to: u16| Exit { g: [-v.abs(), v.signum(), 0.0], to };
        let inside = |v: f64, to: u16| Exit { g: [v.abs(), -v.signum(), 0.0], to };
        self.push(unit, &[inside(a, STUCK + 1), inside(b, STUCK + 2)]);
        for v in [a, b] {
            let mut matrix = [0.0; ROWS * ROWS];
            (matrix[0], matrix[2]) = (1.0, v);
            self.push(matrix, &[outside(v, STUCK), shut]);
        }
        Some(())
    }

    fn polygon(&mut self, vertices: &[f64], unit: [f64; ROWS * ROWS], shut: Exit) -> Option<()> {
        let points = vertices.as_chunks::<2>().0;
        let m = points.len();
        let dot = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
        let side = |j: usize| {
            let (a, b) = (points[j % m], points[(j + 1) % m]);
            [b[0] - a[0], b[1] - a[1]]
        };
        let outwards = |j: usize| [side(j)[1], -side(j)[0]];
        let around =
            |j: usize| dot(outwards(j), points[j]) > 0.0 && dot(outwards(j), side(j + 1)) < 0.0;
        if !(3..=MOST_VERTICES).contains(&m) || !(0..m).all(around) {
            return None;
        }
        // plane through the line at a point, across a direction
        let plane = |n: [f64; 2], at: [f64; 2], to: usize| Exit {
            g: [-dot(n, at), n[0], n[1]],
            to: to as u16,
        };
        let turned = |exit: Exit| Exit { g: exit.g.map(|g| -g), to: exit.to };
        let (face, vertex) = (2, 2 + m);
        let exits: Vec<Exit> =
            (0..m).map(|j| turned(plane(outwards(j), points[j], face + j))).collect();
        self.push(unit, &exits);
        for j in 0..m {
            let e = side(j);
            let over = dot(e, e).recip();
            let along = dot(e, points[j]) * over;
            let matrix = [
                1.0,
                0.0,
                0.0,
                points[j][0] - along * e[0],
                e[0] * e[0] * over,
                e[0] * e[1] * over,
                points[j][1] - along * e[1],
                e[1] * e[0] * over,
                e[1] * e[1] * over,
            ];
            let next = (j + 1) % m;
            self.push(
                matrix,
                &[
                    plane(outwards(j), points[j], STUCK.into()),
                    plane(e, points[j], vertex + j),
                    turned(plane(e, points[next], vertex + next)),
                ],
            );
        }
        for j in 0..m {
            let before = (j + m - 1) % m;
            let mut matrix = [0.0; ROWS * ROWS];
            (matrix[0], matrix[3], matrix[6]) = (1.0, points[j][0], points[j][1]);
            self.push(
                matrix,
                &[
                    plane(side(before), points[j], face + before),
                    turned(plane(side(j), points[j], face + j)),
                    shut,
                ],
            );
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Friction;
    use crate::polytope::Hull;

    const HEXAGON: [f64; 12] = [1.0, 0.0, 0.6, 0.7, -0.4, 0.9, -1.0, 0.1, -0.3, -0.8, 0.5, -0.6];

    fn program() -> FrictionProgram {
        let mut p = FrictionProgram::new();
        p.reset([3]);
        let diamond = [1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, -1.0];
        for friction in [
            Friction::None,
            Friction::Diamond { mu: 0.5, directions: &[1.0, -0.7], tangents: 1 },
            Friction::Diamond { mu: 0.5, directions: &diamond, tangents: 2 },
            Friction::Box(&[0.5, 0.3]),
            Friction::Diamond { mu: 0.3, directions: &HEXAGON, tangents: 2 },
        ] {
            p.push_contact(friction, &[0]);
        }
        p
    }

    fn numbers() -> impl FnMut() -> f64 {
        let mut state = 5_u32;
        move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 8) / f64::from(1 << 23) - 1.0
        }
    }

    fn times(matrix: &[f64; ROWS * ROWS], a: &[f64]) -> Vec<f64> {
        matrix.chunks_exact(a.len()).take(a.len()).map(|row| inner(row, a)).collect()
    }

    fn inner(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn pieces_are_those_of_the_projection() {
        let (p, mut next) = (program(), numbers());
        let mut regions = Regions::default();
        let mut known = 0;
        let mut hull = Hull::default();
        for (i, contact) in p.contacts.iter().enumerate() {
            let k = contact.k as usize;
            let mut one = FrictionProgram::clone(&p);
            one.contacts = vec![*contact];
            if !regions.update(&one) {
                continue;
            }
            known += 1;
            for _ in 0..2000 {
                let a: Vec<f64> = (0..k).map(|_| next()).collect();
                let region = regions.find(0, &a, OPEN);
                let z = times(&regions.region(0, region).matrix, &a);
                let mut expected = vec![0.0; k];
                if a[0] > 0.0 {
                    expected[0] = a[0];
                    if k > 1 {
                        let vertices = p.vertices_of(contact);
                        hull.project(vertices, k - 1, a[0], &a[1..], &mut expected[1..]);
                    }
                }
                for (z, expected) in z.iter().zip(&expected) {
                    assert!((z - expected).abs() < 1e-14, "contact {i}, {a:?}: {z}, {expected}");
                }
            }
        }
        // the box's corners are not in order, so that its pieces are not tabulated
        assert_eq!(known, 4);
    }

    #[test]
    fn both_sides_of_a_plane_agree_on_it() {
        let (p, mut next) = (program(), numbers());
        let mut regions = Regions::default();
        for contact in &p.contacts {
            let k = contact.k as usize;
            let mut one = FrictionProgram::clone(&p);
            one.contacts = vec![*contact];
            if !regions.update(&one) {
                continue;
            }
            for _ in 0..2000 {
                let mut a: Vec<f64> = (0..k).map(|_| next()).collect();
                let from = regions.find(0, &a, OPEN);
                let [first, last] = regions.region(0, from).planes.map(|p| p as usize * LANES);
                for exit in (first..last).map(|number| regions.exit(number)) {
                    if exit.g == [0.0; ROWS] {
                        continue;
                    }
                    let g = &exit.g[..k];
                    let off = inner(g, &a) / inner(g, g);
                    a.iter_mut().zip(g).for_each(|(a, g)| *a -= off * g);
                    let to = regions.across(0, from, exit.to, &a);
                    let sides = [from, to].map(|r| times(&regions.region(0, r).matrix, &a));
                    for (z, other) in sides[0].iter().zip(&sides[1]) {
                        assert!((z - other).abs() < 1e-13, "{from} to {to} at {a:?}");
                    }
                }
            }
        }
    }
}
