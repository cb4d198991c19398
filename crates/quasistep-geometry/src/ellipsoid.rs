//! An ellipsoid in the world frame: support function, normals towards a point, outline, curvature.
//!
//! ```text
//! h(n) = n·c + ρ,     ρ = |D Rᵀ n|,     support point along n:  c + R D² Rᵀ n / ρ
//! ```

use crate::ellipse::{self, Ellipse};
use crate::picture::View;
use crate::shape::Shape;
use quasistep_math::{Pose, Vec3};

/// A solid ellipsoid; lengths in m.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ellipsoid {
    pub centre: Vec3,
    /// Unit axes in the world frame, the longest first.
    pub axes: [Vec3; 3],
    /// Half of each axis.
    pub radii: [f64; 3],
}

impl Ellipsoid {
    /// An ellipsoid at a pose; `None` for any other shape.
    pub fn new(shape: &Shape, X: &Pose) -> Option<Self> {
        let Shape::Ellipsoid { radii } = *shape else { return None };
        let mut order = [0, 1, 2];
        // equal radii keep their order
        order.sort_by(|&i, &j| radii[j].total_cmp(&radii[i]));
        let axes = order.map(|k| X.rotation.rotate(Vec3::AXES[k]));
        Some(Self { centre: X.translation, axes, radii: order.map(|k| radii[k]) })
    }

    /// `Rᵀ v`.
    fn local(&self, v: Vec3) -> [f64; 3] {
        self.axes.map(|axis| axis.dot(v))
    }

    fn world(&self, v: [f64; 3]) -> Vec3 {
        self.axes[0] * v[0] + self.axes[1] * v[1] + self.axes[2] * v[2]
    }

    /// `D Rᵀ v`: a direction in the frame in which the ellipsoid is the unit ball.
    pub fn on_ball(&self, v: Vec3) -> Vec3 {
        Vec3::from(self.local(v)).component_mul(self.radii.into())
    }

    /// Surface point that corresponds to the point `p` of the unit sphere.
    pub fn surface_at(&self, p: Vec3) -> Vec3 {
        self.centre + self.world(p.component_mul(self.radii.into()).to_array())
    }

    /// Support function: the largest `n · p` over the ellipsoid, in m.
    pub fn reach(&self, n: Vec3) -> f64 {
        n.dot(self.centre) + self.on_ball(n).norm()
    }

    /// Support point along `n`.
    pub fn support(&self, n: Vec3) -> Vec3 {
        self.surface_at(self.on_ball(n).try_normalize().unwrap_or(Vec3::Z))
    }

    /// Smallest radius of curvature of the surface, in m. A ball of this radius can roll freely
    /// inside.
    pub fn least_bend(&self) -> f64 {
        self.radii[2] * (self.radii[2] / self.radii[0])
    }

    /// Outward unit normals at the surface point nearest to `p`, and at the other local minimum of
    /// the depth, on the far side of the shortest axis. The second is the exit direction of a point
    /// that has gone through the middle.
    pub fn normals(&self, p: Vec3) -> (Vec3, Option<Vec3>) {
        let [a, b, c] = self.radii;
        let falls = [(a - c) * (a + c), (b - c) * (b + c), 0.0];
        let (nearest, across) = ellipse::normals(self.radii, falls, self.local(p - self.centre));
        (self.world(nearest), across.map(|n| self.world(n)))
    }

    /// Height of a point above the tangent plane with unit normal `n`, in m.
    pub fn height(&self, p: Vec3, n: Vec3) -> f64 {
        n.dot(p - self.centre) - self.on_ball(n).norm()
    }

    /// Lower bound of the signed distance of `p`, in m: its height above the tangent plane across
    /// the gauge's gradient.
    pub fn at_least(&self, p: Vec3) -> f64 {
        let local = self.local(p - self.centre);
        let steep = std::array::from_fn(|k| local[k] / (self.radii[k] * self.radii[k]));
        self.world(steep).try_normalize().map_or(-self.radii[2], |n| self.height(p, n))
    }

    /// Upper bound of the height of `p` above the plane of its second normal, in m. It is attained
    /// at the projection of `p` onto the plane of the longer axes.
    pub fn most_across(&self, p: Vec3) -> f64 {
        let [x, y, _] = self.local(p - self.centre);
        let [a, b, c] = self.radii;
        let gauge = (x / a).hypot(y / b);
        if gauge < 1.0 { (gauge - 1.0) * c } else { x.hypot(y) }
    }

    /// Outline in the projection along the unit vector `d`.
    pub fn view(&self, d: Vec3) -> View {
        let u = d.any_orthogonal();
        let w = d.cross(u);
        let [p, q] = [u, w].map(|axis| self.on_ball(axis));
        // rotate in the picture until the axes are orthogonal: one one-sided Jacobi rotation
        let (pp, qq, pq) = (p.norm_squared(), q.norm_squared(), p.dot(q));
        let (sin, cos) = (0.5 * (2.0 * pq).atan2(pp - qq)).sin_cos();
        let (a, b) = ((p * cos + q * sin).norm(), (q * cos - p * sin).norm());
        let c2 = (pp - qq).hypot(2.0 * pq);
        View { ellipse: Ellipse { a, b, c2 }, u: u * cos + w * sin, w: w * cos - u * sin }
    }
}
