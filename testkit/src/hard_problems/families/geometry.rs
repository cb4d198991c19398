//! Vectors, degrees of freedom, and contact faces.

use super::super::Random;

pub(super) type Vector = [f64; 3];

pub(super) fn dot(a: &Vector, b: &Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(super) fn cross(a: &Vector, b: &Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub(super) fn minus(a: &Vector, b: &Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(super) fn along(a: &Vector, s: f64, d: &Vector) -> Vector {
    [a[0] + s * d[0], a[1] + s * d[1], a[2] + s * d[2]]
}

pub(super) fn unit(a: &Vector) -> Vector {
    let length = dot(a, a).sqrt();
    a.map(|x| x / length)
}

/// Two unit vectors orthogonal to the unit vector `n` and to each other.
pub(super) fn tangents(n: &Vector) -> [Vector; 2] {
    let helper = if n[0].abs() < 0.7 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    let t1 = unit(&cross(&cross(n, &helper), n));
    [t1, cross(n, &t1)]
}

pub(super) const UP: Vector = [0.0, 0.0, 1.0];

/// Degrees of freedom of a block.
#[derive(Clone, Debug)]
pub(super) enum Motion {
    /// Angular and linear velocity about a point.
    Free { at: Vector },
    /// Planar motion in the x–z plane.
    Planar { at: Vector },
    /// Translation along an axis.
    Slider { axis: Vector },
    /// A hand on a chain of joints: axis, a point on it, and whether it slides.
    Chain(Vec<(Vector, Vector, bool)>),
}

impl Motion {
    /// Derivative, with respect to the block's variables, of the velocity along `d` of the body
    /// point at `p`.
    pub(super) fn row(&self, p: &Vector, d: &Vector) -> Vec<f64> {
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

    /// Derivative, with respect to the block's variables, of the angular velocity along `d`.
    pub(super) fn spin(&self, d: &Vector) -> Vec<f64> {
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

/// A square face with contacts at its corners, and inside it if there are more than four.
#[derive(Clone, Copy, Debug)]
pub(super) struct Face {
    pub(super) centre: Vector,
    pub(super) half: f64,
    /// Normal, into the body that it pushes.
    pub(super) n: Vector,
    pub(super) points: usize,
}

/// Friction of one contact.
#[derive(Clone, Copy, Debug)]
pub(super) enum Friction {
    None,
    Pyramid { edges: usize, mu: f64 },
    Round { mu: f64 },
    Spin { mu: f64, mu_spin: f64 },
}

/// Distribution of friction over the contacts of a problem.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surface {
    pub(super) round: bool,
    pub(super) edges: usize,
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) size: f64,
}

impl Surface {
    pub(super) fn draw(random: &mut Random, most: f64, size: f64) -> Self {
        let least = if random.chance(0.1) { 0.0 } else { 0.05 };
        Self { round: random.chance(0.4), edges: random.pick(&[4, 6, 8]), least, most, size }
    }

    pub(super) fn friction(&self, random: &mut Random) -> Friction {
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
