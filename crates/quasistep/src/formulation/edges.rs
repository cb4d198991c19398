//! Directions in which a contact transmits force and torque, and the edges of its friction cone.

use crate::contact::{ContactRow, Tangents};
use crate::formulation::Cone;
use crate::friction::Friction;
use std::f64::consts::TAU;

/// Number of directions of force and torque at a contact: along `n`, `t1`, `t2`, about `n`, `r1`,
/// `r2`.
pub(crate) const WAYS: usize = 6;

/// Edge directions `d_j` of a contact's pyramid, as components along `t1` and `t2`.
fn edge_directions(cone: Cone, tangents: Tangents, mu: f64) -> impl Iterator<Item = [f64; 2]> {
    let n_d = match cone {
        Cone::Pyramid(n_d) => n_d,
        Cone::Box => 4,
        // in one plane a round cone is a pyramid of two edges
        Cone::Round => 2,
    };
    let (count, step) = match tangents {
        Tangents::Plane if mu > 0.0 => (n_d, TAU / f64::from(n_d)),
        Tangents::Line if mu > 0.0 => (2, TAU / 2.0),
        // without friction or tangential motion there is only the normal row
        _ => (1, 0.0),
    };
    let alone = count == 1;
    (0..count).map(move |j| {
        if alone {
            return [0.0, 0.0];
        }
        // opposite edges are exact opposites, so that symmetric problems have symmetric solutions
        let half = count / 2;
        let (sign, k) = if j < half { (1.0, j) } else { (-1.0, j - half) };
        if cone == Cone::Box && count == 4 {
            // corners of the square
            return if k == 0 { [sign, sign] } else { [-sign, sign] };
        }
        let (s, c) = (step * f64::from(k)).sin_cos();
        // right angles are exact too
        let c = if 4 * k == count { 0.0 } else { c };
        [sign * c, sign * s]
    })
}

/// Directions in which a contact moves and resists, one per row of its Jacobian. The normal comes
/// first.
pub(crate) struct Ways {
    /// Number of rows of `J`: the normal and the tangents.
    pub pushes: usize,
    spins: bool,
    rolls: usize,
}

impl Ways {
    pub fn of(row: &ContactRow) -> Self {
        let count = |tangents| match tangents {
            Tangents::None => 0,
            Tangents::Line => 1,
            Tangents::Plane => 2,
        };
        let Friction { mu, mu_spin, mu_roll, .. } = row.friction;
        let turning = row.turning.as_ref();
        Self {
            pushes: 1 + if mu > 0.0 { count(row.tangents) } else { 0 },
            spins: mu_spin > 0.0 && turning.is_some_and(|t| t.spins),
            rolls: turning.filter(|_| mu_roll > 0.0).map_or(0, |t| count(t.rolls)),
        }
    }

    pub fn len(&self) -> usize {
        self.pushes + usize::from(self.spins) + self.rolls
    }

    /// Direction of row `r`, numbered as in [`WAYS`].
    pub fn way(&self, r: usize) -> usize {
        match r {
            r if r < self.pushes => r,
            r if self.spins => 3 + r - self.pushes,
            r => 4 + r - self.pushes,
        }
    }

    /// Scale of row `r`: 1, or a length in m. A rotational row is scaled to the speed at the radius
    /// at which sliding friction exerts the torque, so that all rows of a contact have similar
    /// size.
    pub fn scale(&self, row: &ContactRow, r: usize) -> f64 {
        let Friction { mu, mu_spin, mu_roll, .. } = row.friction;
        let per_mu = if mu > 0.0 { 1.0 / mu } else { 1.0 };
        match self.way(r) {
            3 => mu_spin * per_mu,
            4 | 5 => mu_roll * per_mu,
            _ => 1.0,
        }
    }

    /// Friction coefficient of row `r`, before scaling; 1 for the normal.
    pub fn coefficient(&self, row: &ContactRow, r: usize) -> f64 {
        let Friction { mu, mu_spin, mu_roll, .. } = row.friction;
        [1.0, mu, mu, mu_spin, mu_roll, mu_roll][self.way(r)]
    }
}

/// Appends the edges of a pyramid.
pub(crate) fn push_edges(row: &ContactRow, cone: Cone, pushes: &mut Vec<[f64; WAYS]>) {
    let first = pushes.len();
    let Friction { mu, mu_spin, mu_roll, .. } = row.friction;
    if let Some(turning) = &row.turning {
        let spins = [mu_spin, -mu_spin].into_iter().filter(|_| mu_spin > 0.0 && turning.spins);
        pushes.extend(spins.map(|s| [1.0, 0.0, 0.0, s, 0.0, 0.0]));
        if mu_roll > 0.0 && turning.rolls != Tangents::None {
            pushes.extend(
                edge_directions(cone, turning.rolls, mu_roll)
                    .map(|d| [1.0, 0.0, 0.0, 0.0, mu_roll * d[0], mu_roll * d[1]]),
            );
        }
    }
    let rubs = mu > 0.0 && row.tangents != Tangents::None;
    // the normal row follows from a pair of opposite edges, so it is added only without one
    if rubs || pushes.len() == first {
        pushes.extend(
            edge_directions(cone, row.tangents, mu)
                .map(|d| [1.0, mu * d[0], mu * d[1], 0.0, 0.0, 0.0]),
        );
    }
}
