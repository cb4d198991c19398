//! Motion of the witness points of two facing features: a point, a straight or round line, a plane,
//! or a round surface.
//!
//! ```text
//! p_b + T_b β − p_a − T_a α = d n,      t·n = 0 for every tangent t of both,      n·n = 1
//! ```
//!
//! `p` moves with its body; `α` and `β` are the displacements along the tangents `T`. The tangents
//! of a round feature turn according to its `bends`. Linearising these equations gives the changes
//! of `α`, `β`, `n` and `d`, with at most seven unknowns. At touch (`d = 0`) the system is regular
//! if the tangents of both features span the contact plane, for example a point on a face or two
//! crossing lines.

use super::map::{Change, ContactMotion};
use crate::distance::ContactPoint;
use quasistep_math::Vec3;

/// Local geometry of a shape at a witness point, without the radius around its core.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feature {
    /// The witness point in the world frame, in m.
    pub p_W: Vec3,
    /// Unit tangents; the first `n_tangents` are used.
    pub tangents: [Vec3; 2],
    pub n_tangents: usize,
    /// Second derivatives along the tangents, in 1/m; zero for a straight direction. For a surface
    /// they are the principal curvatures times the normal.
    pub bends: [Vec3; 2],
    pub radius: f64,
}

const STRAIGHT: [Vec3; 2] = [Vec3::ZERO; 2];

/// Smallest accepted pivot, relative to the largest entry of its row.
const REGULAR: f64 = 1e-9;

impl Feature {
    pub fn point(p_W: Vec3, radius: f64) -> Self {
        Self { p_W, tangents: [Vec3::ZERO; 2], n_tangents: 0, bends: STRAIGHT, radius }
    }

    pub fn line(p_W: Vec3, tangent: Vec3, bend: Vec3, radius: f64) -> Self {
        Self {
            p_W,
            tangents: [tangent, Vec3::ZERO],
            n_tangents: 1,
            bends: [bend, Vec3::ZERO],
            radius,
        }
    }

    pub fn plane(p_W: Vec3, normal: Vec3) -> Self {
        let u = normal.any_orthogonal();
        let tangents = [u, normal.cross(u)];
        Self { p_W, tangents, n_tangents: 2, bends: STRAIGHT, radius: 0.0 }
    }

    /// A curved surface, given by its principal directions and curvatures.
    pub fn surface(p_W: Vec3, tangents: [Vec3; 2], bends: [Vec3; 2]) -> Self {
        Self { p_W, tangents, n_tangents: 2, bends, radius: 0.0 }
    }

    pub fn is_plane(&self) -> bool {
        self.n_tangents == 2 && !self.is_round()
    }

    fn is_round(&self) -> bool {
        self.bends != STRAIGHT
    }
}

/// Derivatives of the witness points of two features. The result is a kink if the system is
/// singular.
pub(super) fn motion(a: &Feature, b: &Feature, point: &ContactPoint) -> ContactMotion {
    let (mut a, mut b) = (*a, *b);
    // all points of a straight feature along a plane or a line are nearest: treat it as one point
    if a.is_plane() && !b.is_round() {
        b.n_tangents = 0;
    } else if b.is_plane() && !a.is_round() {
        a.n_tangents = 0;
    } else if a.n_tangents == 1 && b.n_tangents == 1 && !a.is_round() && !b.is_round() {
        let across = a.tangents[0].cross(b.tangents[0]).norm();
        if across < REGULAR {
            b.n_tangents = 0;
        }
    }
    let Some(system) = System::new(&a, &b, point) else {
        return ContactMotion { kink: true, ..ContactMotion::default() };
    };
    ContactMotion::of(|w, v| system.solve(w, v))
}

const MAX: usize = 7;

/// Inverse of the linearised equations.
struct System {
    a: Feature,
    b: Feature,
    n: Vec3,
    p_WCb: Vec3,
    size: usize,
    inverse: [[f64; MAX]; MAX],
}

impl System {
    fn new(a: &Feature, b: &Feature, point: &ContactPoint) -> Option<Self> {
        let n = point.n_AB_W;
        let d = point.phi + a.radius + b.radius;
        let e = plane_of(n);
        let (ka, kb) = (a.n_tangents, b.n_tangents);
        let size = ka + kb + 3;
        let mut m = [[0.0; MAX]; MAX];
        // unknowns: α, β, the components of δn, and δd
        for i in 0..3 {
            for k in 0..ka {
                m[i][k] = -a.tangents[k][i];
            }
            for k in 0..kb {
                m[i][ka + k] = b.tangents[k][i];
            }
            for k in 0..2 {
                m[i][ka + kb + k] = -d * e[k][i];
            }
            m[i][size - 1] = -n[i];
        }
        for (first, feature) in [(0, a), (ka, b)] {
            for k in 0..feature.n_tangents {
                let row = &mut m[3 + first + k];
                row[first + k] = feature.bends[k].dot(n);
                for j in 0..2 {
                    row[ka + kb + j] = feature.tangents[k].dot(e[j]);
                }
            }
        }
        let inverse = invert(m, size)?;
        Some(Self { a: *a, b: *b, n, p_WCb: point.p_WCb, size, inverse })
    }

    fn solve(&self, w: Vec3, v: Vec3) -> Change {
        let (ka, kb) = (self.a.n_tangents, self.b.n_tangents);
        let carried = v + w.cross(self.b.p_W - self.p_WCb);
        let mut right = [0.0; MAX];
        for i in 0..3 {
            right[i] = -carried[i];
        }
        for k in 0..kb {
            right[3 + ka + k] = -w.cross(self.b.tangents[k]).dot(self.n);
        }
        let x: [f64; MAX] =
            std::array::from_fn(|i| (0..self.size).map(|j| self.inverse[i][j] * right[j]).sum());
        let e = plane_of(self.n);
        let n = e[0] * x[ka + kb] + e[1] * x[ka + kb + 1];
        let along = |t: &[Vec3; 2], first: usize, count: usize| {
            (0..count).fold(Vec3::ZERO, |sum, k| sum + t[k] * x[first + k])
        };
        Change {
            phi: x[self.size - 1],
            n,
            a: along(&self.a.tangents, 0, ka) + n * self.a.radius,
            b: carried + along(&self.b.tangents, ka, kb) - n * self.b.radius,
        }
    }
}

/// Two unit vectors across a unit normal.
fn plane_of(n: Vec3) -> [Vec3; 2] {
    let u = n.any_orthogonal();
    [u, n.cross(u)]
}

/// Inverse by Gauss-Jordan elimination with pivoting; `None` if the matrix is numerically singular.
fn invert(mut m: [[f64; MAX]; MAX], size: usize) -> Option<[[f64; MAX]; MAX]> {
    let mut out = [[0.0; MAX]; MAX];
    for i in 0..size {
        out[i][i] = 1.0;
        // scale rows to unit size: they mix lengths and curvatures
        let largest = m[i][..size].iter().fold(0.0_f64, |l, x| l.max(x.abs()));
        if !(largest > 0.0) {
            return None;
        }
        m[i].iter_mut().for_each(|x| *x /= largest);
        out[i][i] /= largest;
    }
    for k in 0..size {
        let pivot = (k..size).fold(k, |p, i| if m[i][k].abs() > m[p][k].abs() { i } else { p });
        if !(m[pivot][k].abs() > REGULAR) {
            return None;
        }
        m.swap(k, pivot);
        out.swap(k, pivot);
        let scale = 1.0 / m[k][k];
        for j in 0..size {
            m[k][j] *= scale;
            out[k][j] *= scale;
        }
        for i in (0..size).filter(|&i| i != k) {
            let by = m[i][k];
            if by != 0.0 {
                for j in 0..size {
                    m[i][j] -= by * m[k][j];
                    out[i][j] -= by * out[k][j];
                }
            }
        }
    }
    Some(out)
}
