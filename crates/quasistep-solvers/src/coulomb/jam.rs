//! Why contacts with round friction jam: cases that cover everything, and what contradicts in each.
//!
//! A case says of some contacts that they are open, stick, or slip within a sector of directions. Rates and
//! forces at such a contact lie in two cones `U_i` and `Λ_i`, whichever the others do. No answer is in a case
//! for which there are a direction `d` and weights `y` with
//!
//! ```text
//! P d + Jᵀ y = 0,    y_i ∈ U_i*,    J_i d ∈ Λ_i*,    cᵀ d − bᵀ y < 0,
//! ```
//!
//! for along `d` the balance says `0 = dᵀ(P x + c − Jᵀ lambda) = cᵀ d − bᵀ y − Σ_i (y_iᵀ u_i + lambda_iᵀ J_i d)`, and
//! no term of the sum is negative. With `y = 0` this is the proof of what is unsupported, with `d = 0` that of
//! what is crushed.
//!
//! | case                     | `U`                                   | `Λ`                                      |
//! |--------------------------|---------------------------------------|------------------------------------------|
//! | anything                 | `u_n ≥ 0`                             | the friction cone                        |
//! | open                     | `u_n ≥ 0`                             | 0                                        |
//! | sticks                   | 0                                     | the friction cone                        |
//! | slips within a sector    | `u_n = 0`, `mu u_t` in the sector     | `(1, −mu e)`, `e` of length 1 in the sector |
//!
//! A spring with a limit adds a weight `z` on its stretch `r` in the same way: its force `f` and `r` lie on a
//! segment or a ray of `f = clamp(k r)`.

use crate::Saturation;
use crate::coulomb::law::row_terms;
use crate::coulomb::program::{Contact, FrictionProgram, Shape};

/// What may be left where a proof says zero, as a share of the terms.
const CANCELS: f64 = 1e-10;
/// What a proof says is larger than zero must be this share of its terms.
const CLEAR: f64 = 1e-6;
/// Most splits on a way down: more would be numbers too close to call.
pub(crate) const DEEPEST: usize = 200;

/// Proof that contacts with round friction cones jam: a tree whose branches cover everything.
#[derive(Clone, Debug, PartialEq)]
pub enum ModeProof {
    /// No answer is in this case.
    Contradiction(Box<Contradiction>),
    /// A contact is open, or sticks, or slips within one of the `2^t` orthants of its `t` tangential rows that
    /// rub: bit `r` of the orthant's number says that row `r` slips the negative way.
    Contact {
        /// Which contact.
        contact: u32,
        /// Open, sticks, then the orthants.
        parts: Vec<Self>,
    },
    /// The sector of a slipping contact is halved midway between two of its directions.
    Sector {
        /// Which contact.
        contact: u32,
        /// The two directions, by their number.
        between: [u32; 2],
        /// The first half has the middle in place of the first direction.
        halves: Vec<Self>,
    },
    /// A spring pulls by its stiffness, or with its limit one way, or the other.
    Spring {
        /// Which saturation of the program.
        spring: u32,
        /// Within the limit, stretched beyond it, compressed beyond it.
        parts: Vec<Self>,
    },
}

/// What contradicts in one case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contradiction {
    /// A direction `d` of the variables.
    pub direction: Vec<f64>,
    /// Weights `y` of the rows of all contacts.
    pub weights: Vec<f64>,
    /// Weights `z` of the springs.
    pub springs: Vec<f64>,
}

/// Tangential rows along which a contact rubs, with their units; `None` for a friction set that is no ball.
pub(crate) fn rubs(p: &FrictionProgram, contact: &Contact) -> Option<Vec<(usize, f64)>> {
    let units = p.units_of(contact);
    let rows: Vec<(usize, f64)> =
        units.iter().enumerate().filter(|(_, m)| **m > 0.0).map(|(t, m)| (t + 1, *m)).collect();
    let ball = match contact.shape {
        Shape::Round => true,
        Shape::Polytope(_) if rows.is_empty() => true,
        // a segment is a ball
        Shape::Polytope(_) => {
            contact.tangents() == 1
                && [1.0, -1.0].iter().all(|end| p.vertices_of(contact).contains(end))
        }
    };
    ball.then_some(rows)
}

/// What a contact does in a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Part {
    #[default]
    Any,
    Open,
    Stick,
    /// Within the hull of so many directions of length 1, row-major.
    Slip(Vec<f64>),
}

/// What a spring does in a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pull {
    #[default]
    Any,
    Within,
    Beyond,
    Below,
}

pub(crate) const PULLS: [Pull; 3] = [Pull::Within, Pull::Beyond, Pull::Below];

/// Whether a spring may be at its limit at all.
pub(crate) fn is_limited(spring: &Saturation) -> bool {
    spring.stiffness > 0.0 && spring.limit.is_finite()
}

/// What a contact may do: everything that [`ModeProof::Contact`] tells apart, in its order.
pub(crate) fn parts(tangents: usize) -> Vec<Part> {
    let mut parts = vec![Part::Open, Part::Stick];
    if tangents > 0 {
        parts.extend((0..1_usize << tangents).map(|orthant| {
            let mut sector = vec![0.0; tangents * tangents];
            for r in 0..tangents {
                sector[r * tangents + r] = if orthant >> r & 1 == 0 { 1.0 } else { -1.0 };
            }
            Part::Slip(sector)
        }));
    }
    parts
}

/// The halves of a sector, with the middle of two directions in place of the one, then of the other.
pub(crate) fn halves(sector: &[f64], tangents: usize, between: [usize; 2]) -> [Vec<f64>; 2] {
    let of = |k: usize| &sector[k * tangents..(k + 1) * tangents];
    let sum: Vec<f64> = of(between[0]).iter().zip(of(between[1])).map(|(a, b)| a + b).collect();
    let length = sum.iter().map(|v| v * v).sum::<f64>().sqrt();
    between.map(|k| {
        let mut half = sector.to_vec();
        for (to, v) in half[k * tangents..(k + 1) * tangents].iter_mut().zip(&sum) {
            *to = v / length;
        }
        half
    })
}

/// `max { gᵀ e : |e| = 1, e in the sector }`.
fn most_along(sector: &[f64], g: &[f64]) -> f64 {
    let t = g.len();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let of = |k: usize| &sector[k * t..(k + 1) * t];
    // at a corner, or where g meets the sphere within the sector or one of its faces
    let mut most = (0..t).map(|k| dot(of(k), g)).fold(f64::NEG_INFINITY, f64::max);
    for face in 1..1_usize << t {
        let corners: Vec<usize> = (0..t).filter(|k| face >> k & 1 == 1).collect();
        let m = corners.len();
        if m < 2 {
            continue;
        }
        // coefficients of the projection on the span: their normal equations, by elimination
        let mut A = vec![0.0; m * (m + 1)];
        for (a, i) in corners.iter().enumerate() {
            for (b, j) in corners.iter().enumerate() {
                A[a * (m + 1) + b] = dot(of(*i), of(*j));
            }
            A[a * (m + 1) + m] = dot(of(*i), g);
        }
        for k in 0..m {
            for i in (0..m).filter(|i| *i != k) {
                let f = A[i * (m + 1) + k] / A[k * (m + 1) + k];
                for j in k..=m {
                    A[i * (m + 1) + j] -= f * A[k * (m + 1) + j];
                }
            }
        }
        let share = |k: usize| A[k * (m + 1) + m] / A[k * (m + 1) + k];
        if (0..m).all(|k| share(k) >= 0.0) {
            let mut projection = vec![0.0; t];
            for (k, i) in corners.iter().enumerate() {
                projection.iter_mut().zip(of(*i)).for_each(|(v, e)| *v += share(k) * e);
            }
            most = most.max(dot(&projection, &projection).sqrt());
        }
    }
    most
}

impl ModeProof {
    /// Whether the branches cover everything and each ends in a contradiction, from the program's own numbers.
    pub fn holds(&self, program: &FrictionProgram) -> bool {
        let rubbing: Option<Vec<_>> =
            program.contacts.iter().map(|contact| rubs(program, contact)).collect();
        rubbing.is_some_and(|rubbing| {
            let mut case = Case {
                p: program,
                rubbing,
                contacts: vec![Part::Any; program.contacts.len()],
                springs: vec![Pull::Any; program.cones.saturations.len()],
            };
            case.has_none(self, 0)
        })
    }

    /// The parts that a proof is made of; none of a contradiction.
    fn parts(&self) -> &[Self] {
        match self {
            Self::Contradiction(_) => &[],
            Self::Contact { parts, .. } | Self::Spring { parts, .. } => parts,
            Self::Sector { halves, .. } => halves,
        }
    }

    /// Number of cases.
    pub fn n_cases(&self) -> usize {
        let parts: usize = self.parts().iter().map(Self::n_cases).sum();
        parts.max(1)
    }

    /// Marks the contacts that the proof tells apart or gives weight to.
    pub(crate) fn mark(&self, program: &FrictionProgram, marks: &mut [bool]) {
        match self {
            Self::Contradiction(leaf) => {
                for (contact, mark) in program.contacts.iter().zip(&mut *marks) {
                    *mark |= leaf.weights[contact.rows()].iter().any(|y| *y != 0.0);
                }
            }
            Self::Contact { contact, .. } => marks[*contact as usize] = true,
            Self::Sector { .. } | Self::Spring { .. } => {}
        }
        for part in self.parts() {
            part.mark(program, marks);
        }
    }
}

/// A case, on the way down.
struct Case<'a> {
    p: &'a FrictionProgram,
    rubbing: Vec<Vec<(usize, f64)>>,
    contacts: Vec<Part>,
    springs: Vec<Pull>,
}

impl Case<'_> {
    fn has_none(&mut self, proof: &ModeProof, depth: usize) -> bool {
        if depth > DEEPEST {
            return false;
        }
        match proof {
            ModeProof::Contradiction(leaf) => {
                contradicts(self.p, &self.rubbing, &self.contacts, &self.springs, leaf)
            }
            ModeProof::Contact { contact, parts: branches } => {
                let i = *contact as usize;
                if self.contacts.get(i) != Some(&Part::Any) {
                    return false;
                }
                let parts = parts(self.rubbing[i].len());
                let none = branches.len() == parts.len()
                    && branches.iter().zip(parts).all(|(branch, part)| {
                        self.contacts[i] = part;
                        self.has_none(branch, depth + 1)
                    });
                self.contacts[i] = Part::Any;
                none
            }
            ModeProof::Sector { contact, between, halves: branches } => {
                let i = *contact as usize;
                let Some(Part::Slip(sector)) = self.contacts.get(i).cloned() else { return false };
                let (t, [a, b]) = (self.rubbing[i].len(), between.map(|k| k as usize));
                if a == b || a >= t || b >= t {
                    return false;
                }
                let none = branches.len() == 2
                    && branches.iter().zip(halves(&sector, t, [a, b])).all(|(branch, half)| {
                        self.contacts[i] = Part::Slip(half);
                        self.has_none(branch, depth + 1)
                    });
                self.contacts[i] = Part::Slip(sector);
                none
            }
            ModeProof::Spring { spring, parts: branches } => {
                let l = *spring as usize;
                if self.springs.get(l) != Some(&Pull::Any)
                    || !is_limited(&self.p.cones.saturations[l])
                {
                    return false;
                }
                let none = branches.len() == PULLS.len()
                    && branches.iter().zip(PULLS).all(|(branch, pull)| {
                        self.springs[l] = pull;
                        self.has_none(branch, depth + 1)
                    });
                self.springs[l] = Pull::Any;
                none
            }
        }
    }
}

/// Whether direction and weights contradict a case.
pub(crate) fn contradicts(
    p: &FrictionProgram,
    rubbing: &[Vec<(usize, f64)>],
    contacts: &[Part],
    springs: &[Pull],
    leaf: &Contradiction,
) -> bool {
    let n = p.n();
    let Contradiction { direction: d, weights: y, springs: z } = leaf;
    let finite = d.iter().chain(y).chain(z).all(|v| v.is_finite());
    let fits = d.len() == n && y.len() == p.rows && z.len() == springs.len();
    if !finite || !fits {
        return false;
    }
    // what the sum of terms, none of which is negative, would be
    let (mut value, mut terms) = (0.0, 0.0);
    let mut count = |v: f64| {
        value += v;
        terms += v.abs();
    };
    let (mut left, mut size) = (vec![0.0; n], vec![0.0; n]);
    let mut add = |j: usize, v: f64| {
        left[j] += v;
        size[j] += v.abs();
    };
    for (k, block) in p.cones.blocks.iter().enumerate() {
        let (first, at) = (block.first as usize, block.at as usize);
        for i in 0..block.dim as usize {
            count(p.cones.c[at + i] * d[first + i]);
            for (j, P) in p.cones.P_row(k, i).iter().enumerate() {
                add(first + i, P * d[first + j]);
            }
        }
    }
    for (l, spring) in p.cones.saturations.iter().enumerate() {
        let (j, k, limit) = (spring.index as usize, spring.stiffness, spring.limit);
        if !is_limited(spring) {
            // a spring like the ones in P, or none
            let k = if k > 0.0 { k } else { 0.0 };
            add(j, k * d[j]);
            count(-k * spring.target * d[j]);
            if z[l] != 0.0 {
                return false;
            }
            continue;
        }
        add(j, z[l]);
        count(-z[l] * spring.target);
        // minus the least of z r − d f over what the spring may do
        match springs[l] {
            Pull::Any if z[l] != 0.0 => return false,
            Pull::Beyond if z[l] < 0.0 => return false,
            Pull::Below if z[l] > 0.0 => return false,
            Pull::Any => count(d[j].abs() * limit),
            Pull::Within => count((z[l] - k * d[j]).abs() * limit / k),
            Pull::Beyond => count(d[j] * limit - z[l] * limit / k),
            Pull::Below => count(-d[j] * limit + z[l] * limit / k),
        }
    }
    let mut along = vec![0.0; 8];
    for (i, contact) in p.contacts.iter().enumerate() {
        let (k, rows) = (contact.k as usize, contact.rows());
        let y = &y[rows];
        for (r, y) in y.iter().enumerate() {
            count(-y * p.b(i, r));
            for (first, J) in p.row(i, r) {
                for (j, J) in J.iter().enumerate() {
                    add(first + j, y * J);
                }
            }
        }
        // weights in the dual of the cone of rates
        let rub = &rubbing[i];
        let held = (1..k).all(|r| y[r] == 0.0 || rub.iter().any(|(row, _)| *row == r));
        let rates = match &contacts[i] {
            Part::Any | Part::Open => y[0] >= 0.0 && y[1..].iter().all(|y| *y == 0.0),
            Part::Stick => held,
            Part::Slip(sector) => {
                let y: Vec<f64> = rub.iter().map(|(r, unit)| y[*r] / unit).collect();
                let length = y.iter().map(|y| y * y).sum::<f64>().sqrt();
                let inside = sector.chunks_exact(rub.len()).all(|e| {
                    e.iter().zip(&y).map(|(e, y)| e * y).sum::<f64>() >= -CANCELS * length
                });
                held && inside
            }
        };
        if !rates {
            return false;
        }
        // rates along d in the dual of the cone of forces
        let mut largest = 0.0;
        along.clear();
        for r in 0..k {
            let row = p.row(i, r);
            along.push(
                row.map(|(first, J)| J.iter().zip(&d[first..]).map(|(a, b)| a * b).sum::<f64>())
                    .sum(),
            );
            let unit = if r == 0 { 1.0 } else { p.units_of(contact)[r - 1] };
            largest += unit * (row_terms(p, i, r, d) - p.b(i, r).abs()).max(0.0);
        }
        let g: Vec<f64> = rub.iter().map(|(r, unit)| unit * along[*r]).collect();
        let least = match &contacts[i] {
            Part::Open => 0.0,
            Part::Any | Part::Stick => along[0] - g.iter().map(|g| g * g).sum::<f64>().sqrt(),
            Part::Slip(sector) => along[0] - most_along(sector, &g),
        };
        if !(least >= -CANCELS * largest) {
            return false;
        }
    }
    let balanced = left.iter().zip(&size).all(|(l, s)| l.abs() <= CANCELS * s);
    balanced && value < -CLEAR * terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_along_a_sector_agrees_with_many_directions() {
        let mut seed = 3_u64;
        let mut draw = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        };
        for k in 0..300 {
            let t = 1 + k % 3;
            let Part::Slip(mut sector) = parts(t)[2 + k % (1 << t)].clone() else { panic!() };
            for split in 0..k % 4 {
                if t > 1 {
                    sector = halves(&sector, t, [split % t, (split + 1) % t])[k % 2].clone();
                }
            }
            let g: Vec<f64> = (0..t).map(|_| draw()).collect();
            let most = most_along(&sector, &g);
            let mut seen = f64::NEG_INFINITY;
            for _ in 0..20_000 {
                let mut e = vec![0.0; t];
                for corner in sector.chunks_exact(t) {
                    // corners and edges often enough
                    let share = draw().max(0.0);
                    e.iter_mut().zip(corner).for_each(|(e, c)| *e += share * c);
                }
                let length = e.iter().map(|e| e * e).sum::<f64>().sqrt();
                if length > 0.0 {
                    let along = e.iter().zip(&g).map(|(e, g)| e * g).sum::<f64>() / length;
                    seen = seen.max(along);
                }
            }
            assert!(seen <= most + 1e-12 && most <= seen + 2e-3, "{k}: {most} {seen}");
        }
    }
}
