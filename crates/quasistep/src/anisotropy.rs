//! Friction that depends on the direction of sliding, as isotropic friction of a stretched plane.
//!
//! With `S = P M P` of [`FrictionAxes`] relative to `mu`, in the plane of contact, friction forces are
//! `f = mu S g`, `‖g‖ ≤ lambda_n`. The tangents `t_k = S e_k` of unit vectors `e_k` make of this the law of
//! isotropic friction:
//!
//! ```text
//! rates t_k·u,   f = λ1 t1 + λ2 t2,   ‖λ‖ ≤ mu lambda_n,   power f·u = Σ λ_k (t_k·u)
//! ```
//!
//! The torque about the normal of a force at `r` is `x λ2 − y λ1`, where `(x, y)` is the place of `r` along
//! the conjugate vectors `(t2 × n, n × t1)`. In these coordinates the law of an area has its isotropic form,
//! too: the mean lever arm of the stretched area is the mean of `‖S (n × r)‖`.

use crate::friction::FrictionAxes;
use quasistep_math::{Mat3, Pose, Vec3};

/// Anisotropic friction at a contact.
#[derive(Clone, Debug)]
pub(crate) struct Anisotropy {
    /// Coefficients relative to `mu`, in world axes.
    M_W: Mat3,
    /// Unit vectors across the normal, of which the tangents are made.
    pub e: [Vec3; 2],
    /// `(t2 × n, n × t1)`.
    pub conjugate: [Vec3; 2],
    /// `n·(t1 × t2)`.
    pub area: f64,
    /// True if the axes turn with B, false if they turn with A.
    pub of_b: bool,
}

/// Weights on the changes of normal and axes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TurnWeights {
    pub n: Vec3,
    /// On the rotation of the body that carries the axes.
    pub w: Vec3,
    /// On the rotation of the unit vectors about the normal.
    pub spin: f64,
}

impl Anisotropy {
    /// Friction along the axes of the frame `X_WF` at a contact with normal `n`.
    pub fn new(axes: FrictionAxes, X_WF: &Pose, n: Vec3, e: [Vec3; 2]) -> Self {
        let R = X_WF.rotation.to_matrix();
        let M_W = R * Mat3::diagonal(axes.shares) * R.transpose();
        let mut own = Self { M_W, e, conjugate: e, area: 1.0, of_b: axes.of_second };
        own.conjugate = conjugate(own.tangents(n), n);
        own
    }

    /// Tangents `S e`.
    pub fn tangents(&self, n: Vec3) -> [Vec3; 2] {
        self.e.map(|e| {
            let x = self.M_W * e;
            x - n * n.dot(x)
        })
    }

    /// Turns the unit vectors to those of the tangents `t`, which are the present ones turned about
    /// the normal in the stretched plane.
    pub fn turn_to(&mut self, t: [Vec3; 2], n: Vec3) {
        let area = n.dot(t[0].cross(t[1]));
        let [c, s] = self.conjugate.map(|old| old.dot(t[0]) / area);
        let [e1, e2] = self.e;
        self.e = [e1 * c + e2 * s, e2 * c - e1 * s];
        (self.conjugate, self.area) = (conjugate(t, n), area);
    }

    /// Change of the tangents with the normal's change `dn`, a rotation `w` of the axes, and a rotation
    /// `spin` of the unit vectors about the normal.
    pub fn tangents_change(&self, n: Vec3, dn: Vec3, w: Vec3, spin: f64) -> [Vec3; 2] {
        let [e1, e2] = self.e;
        [(e1, e2 * spin), (e2, e1 * -spin)].map(|(e, turned)| {
            let de = turned - n * e.dot(dn);
            let x = self.M_W * e;
            let dx = w.cross(x) + self.M_W * (de - w.cross(e));
            dx - dn * n.dot(x) - n * (dn.dot(x) + n.dot(dx))
        })
    }

    /// Transpose of [`tangents_change`](Self::tangents_change), for weights on the changes.
    pub fn tangents_gradient(&self, n: Vec3, by: [Vec3; 2]) -> TurnWeights {
        let mut to = TurnWeights::default();
        let [e1, e2] = self.e;
        for (e, other, by) in [(e1, e2, by[0]), (e2, -e1, by[1])] {
            let x = self.M_W * e;
            let by_dx = by - n * n.dot(by);
            let by_de = self.M_W * by_dx;
            to.n -= by * n.dot(x) + x * n.dot(by) + e * n.dot(by_de);
            to.w += x.cross(by_dx) - e.cross(by_de);
            to.spin += other.dot(by_de);
        }
        to
    }
}

/// `(t2 × n, n × t1)`: equal to `t` for unit vectors across one another and the normal.
pub(crate) fn conjugate([t1, t2]: [Vec3; 2], n: Vec3) -> [Vec3; 2] {
    [t2.cross(n), n.cross(t1)]
}
