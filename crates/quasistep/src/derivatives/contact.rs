//! One contact as its bodies move: change of its rates and of its force, and the transposes.
//!
//! ```text
//! r = (n·u + offset, t1·u, t2·u, n·w, r1·w, r2·w),     u = V_B(p_b) − V_A(p_a),     w = W_B − W_A
//! f = n λ0 + t1 λ1 + t2 λ2 at the points,               m = n λ3 + r1 λ4 + r2 λ5
//! ```
//!
//! Friction of an area acts at the lever arm `d` of its centre. The rates are `r1 − d2 r3`, `r2 +
//! d1 r3`, and the torque about the normal at the contact is `λ3 + d1 λ2 − d2 λ1`. Centre and spin
//! radius depend on the area's points and on their loads (`pressure.rs`).
//!
//! The points, the centre, the normal and the tangents move. `t1` is a projected world axis, or made of
//! one where friction depends on the direction. It therefore also rotates about the normal, which
//! matters for pyramids.

use super::change::InputChange;
use crate::anisotropy::{Anisotropy, conjugate};
use crate::contact::{ContactRow, Tangents};
use crate::formulation::edges::{WAYS, Ways};
use quasistep_geometry::{ContactMotion, MotionMap};
use quasistep_math::{Mat3, Vec3};
use quasistep_model::{SpatialForce, Twist};
use std::ops::Range;

/// A contact at the solution.
#[derive(Clone, Debug)]
pub(super) struct ContactAt {
    pub bodies: [usize; 2],
    /// Range of its entries in `z` and its pushes.
    pub rows: Range<usize>,
    pub n: Vec3,
    pub t: [Vec3; 2],
    pub r: [Vec3; 2],
    pub p: [Vec3; 2],
    anisotropy: Option<Box<Anisotropy>>,
    /// Rate at which tangents, and rolling axes, rotate about the normal: `σ = spin t2·δn`.
    spin: [f64; 2],
    /// True if `t1`, not `t2`, lies in the plane of the normal and the world axis. Then `σ = −spin
    /// t1·δn`.
    fixed: bool,
    /// Vector from the contact to the centre of its area, along the tangents, in m, and the centre.
    lever: [f64; 2],
    centre: Option<CentreAt>,
    /// Index of the area to which the contact belongs.
    pub area: Option<usize>,
    /// Index among the contacts that were added along the motion.
    pub joined: Option<usize>,
    pub motion: ContactMotion,
    /// `∂offset/∂phi`: `1/h`, or 0 where the recovery is bounded.
    pub per_phi: f64,
    /// `∂offset/∂h`.
    pub per_h: f64,
    /// Share of the normal speed at the start of the step that the contact has after its impact.
    pub bounce: f64,
    /// Rates with the offset, and impulses, in all six directions.
    pub rates: [f64; WAYS],
    pub lambda: [f64; WAYS],
    /// Impulse of the pulls of pads in the step, in N·s, and its derivative with respect to each pad's
    /// command, given by its index.
    pub pull: f64,
    pub pull_by: Vec<(usize, f64)>,
    /// Compliance, in m/N.
    pub compliance: f64,
    /// Derivative of the logarithm of a foundation point's area with respect to a rotation and a
    /// translation of B, in 1/rad and 1/m.
    pub grow: [Vec3; 2],
    /// Friction coefficients `mu`, `mu_spin`, `mu_roll`.
    pub mu: [f64; 3],
    /// True if `mu_spin` is `mu` times the spin radius of an area.
    spin_follows: bool,
    /// Scale of each row of its Jacobian.
    pub scales: [f64; WAYS],
    /// Direction of each row of its Jacobian.
    pub ways: [u8; WAYS],
    pub n_ways: usize,
}

/// Centre of an area, with the derivatives of centre and spin radius with respect to the motion of
/// B relative to A: a rotation, and a translation at B's witness point.
#[derive(Clone, Copy, Debug)]
pub(super) struct CentreAt {
    pub p: Vec3,
    pub motion: MotionMap,
    /// Derivatives of the logarithm of `mu_spin`, in 1/rad and 1/m.
    pub spin_turn: Vec3,
    pub spin_shift: Vec3,
}

/// Motion of the centre of an area with its points, as seen from each point. `by_place` holds the
/// derivatives of the centre and of the logarithm of the spin radius with respect to the positions
/// of the points, along the tangents.
pub(super) fn centres(
    rows: &[ContactRow],
    motions: &[ContactMotion],
    by_place: &[[[f64; 2]; 3]],
) -> Vec<CentreAt> {
    let first = &rows[0];
    let n = first.near.point.n_AB_W;
    let t = [first.t1, first.t2];
    let conjugate = conjugate(t, n);
    let p = first.near.p_W() + first.at_place(first.lever);
    let seen_from = |(row, motion): (&ContactRow, &ContactMotion)| {
        let mut at =
            CentreAt { p, motion: MotionMap::ZERO, spin_turn: Vec3::ZERO, spin_shift: Vec3::ZERO };
        for ((other, of), by) in rows.iter().zip(motions).zip(by_place) {
            let (turn, shift) = (of.a.turn + of.b.turn, of.a.shift + of.b.shift);
            // the translation at the other point is v + w × r
            let r = other.near.point.p_WCb - row.near.point.p_WCb;
            let carried = Mat3::from_columns(Vec3::AXES.map(|w| w.cross(r)));
            let turn = (turn + shift * carried) * 0.5;
            let shift = shift * 0.5;
            let way = |of: &[f64; 2]| conjugate[0] * of[0] + conjugate[1] * of[1];
            let along = Mat3::outer(first.at_place([1.0, 0.0]), way(&by[0]))
                + Mat3::outer(first.at_place([0.0, 1.0]), way(&by[1]));
            at.motion.turn = at.motion.turn + along * turn;
            at.motion.shift = at.motion.shift + along * shift;
            at.spin_turn += turn.transpose() * way(&by[2]);
            at.spin_shift += shift.transpose() * way(&by[2]);
        }
        if let Some(own) = &first.anisotropy {
            // the stretch of the area changes as its axes turn against it
            let change = |w: Vec3, v: Vec3| {
                let dn = motion.n.of(w, v);
                let dt = own.tangents_change(n, dn, if own.of_b { w } else { Vec3::ZERO }, 0.0);
                let [x, y] = conjugate_change((t, dt), (n, dn));
                let arms = rows.iter().map(|other| other.near.p_W() - first.near.p_W());
                let slope =
                    |(r, by): (Vec3, &[[f64; 2]; 3])| by[2][0] * x.dot(r) + by[2][1] * y.dot(r);
                arms.zip(by_place).map(slope).sum::<f64>()
            };
            at.spin_turn += Vec3::from(Vec3::AXES.map(|w| change(w, Vec3::ZERO)));
            at.spin_shift += Vec3::from(Vec3::AXES.map(|v| change(Vec3::ZERO, v)));
        }
        at
    };
    rows.iter().zip(motions).map(seen_from).collect()
}

/// Change of the conjugate vectors, `(t2 × n, n × t1)`, with the tangents and the normal.
fn conjugate_change((t, dt): ([Vec3; 2], [Vec3; 2]), (n, dn): (Vec3, Vec3)) -> [Vec3; 2] {
    [dt[1].cross(n) + t[1].cross(dn), dn.cross(t[0]) + n.cross(dt[0])]
}

/// Change of a contact's frame for a small motion of both bodies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FrameChange {
    pub n: Vec3,
    pub t: [Vec3; 2],
    pub r: [Vec3; 2],
    pub p: [Vec3; 2],
    pub lever: [f64; 2],
    /// Change of the logarithm of `mu_spin`.
    pub spin: f64,
    /// Change of the logarithm of a foundation point's area.
    pub grow: f64,
    pub phi: f64,
    /// Change of the impulse of its pulls.
    pub pull: f64,
}

/// Weights on the change of a contact's frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FrameWeights {
    pub n: Vec3,
    t: [Vec3; 2],
    r: [Vec3; 2],
    pub p: [Vec3; 2],
    pub lever: [f64; 2],
    pub spin: f64,
    pub grow: f64,
    pub phi: f64,
    pub pull: f64,
}

impl ContactAt {
    /// Builds the contact of a row, without data of the solution.
    pub fn new(
        row: &ContactRow,
        bodies: [usize; 2],
        motion: &ContactMotion,
        centre: Option<CentreAt>,
    ) -> Self {
        let point = &row.near.point;
        let n = point.n_AB_W;
        let axis = row.fixed_by.unwrap_or_else(|| n.least_aligned_axis());
        let cosine = n.dot(axis);
        let spin = -cosine / (1.0 - cosine * cosine).sqrt();
        let of = |tangents| if tangents == Tangents::Plane { spin } else { 0.0 };
        let turning = row.turning.as_ref();
        let ways = Ways::of(row);
        let n_ways = ways.len();
        Self {
            bodies,
            rows: 0..0,
            n,
            t: [row.t1, row.t2],
            r: turning.map_or([Vec3::ZERO; 2], |t| [t.r1, t.r2]),
            p: [point.p_WCa, point.p_WCb],
            anisotropy: row.anisotropy.clone(),
            spin: [of(row.tangents), turning.map_or(0.0, |t| of(t.rolls))],
            fixed: row.fixed_by.is_some(),
            lever: row.lever,
            centre,
            area: row.area.map(|area| area as usize),
            joined: None,
            motion: *motion,
            per_phi: 0.0,
            per_h: 0.0,
            bounce: 0.0,
            rates: [0.0; WAYS],
            lambda: [0.0; WAYS],
            pull: 0.0,
            pull_by: Vec::new(),
            compliance: row.friction.compliance,
            grow: [Vec3::ZERO; 2],
            mu: [row.friction.mu, row.friction.mu_spin, row.friction.mu_roll],
            spin_follows: row.area.is_some() && !row.friction.spin_is_given,
            scales: std::array::from_fn(|r| if r < n_ways { ways.scale(row, r) } else { 1.0 }),
            ways: std::array::from_fn(|r| if r < n_ways { ways.way(r) as u8 } else { 0 }),
            n_ways,
        }
    }

    /// Vectors of all six directions.
    pub fn axes(&self) -> [Vec3; WAYS] {
        [self.n, self.t[0], self.t[1], self.n, self.r[0], self.r[1]]
    }

    /// Direction of normal change for which the given axes rotate about the normal at the rate
    /// `spin`.
    fn turned_by(&self, axes: [Vec3; 2]) -> Vec3 {
        if self.fixed { -axes[0] } else { axes[1] }
    }

    /// Relative velocity and angular velocity for the twists of both bodies.
    fn relative(&self, V: [Twist; 2]) -> (Vec3, Vec3) {
        (V[1].at(self.p[1]) - V[0].at(self.p[0]), V[1].w_W - V[0].w_W)
    }

    /// Rates without the offset, in all six directions.
    pub fn rates(&self, V: [Twist; 2]) -> [f64; WAYS] {
        let (u, w) = self.relative(V);
        self.along(u, w)
    }

    /// Components in all six directions of a velocity and an angular velocity at the contact, or of
    /// weights on its force and torque.
    pub fn along(&self, u: Vec3, w: Vec3) -> [f64; WAYS] {
        let [n, t1, t2, _, r1, r2] = self.axes();
        let ([d1, d2], spin) = (self.lever, n.dot(w));
        [n.dot(u), t1.dot(u) - d2 * spin, t2.dot(u) + d1 * spin, spin, r1.dot(w), r2.dot(w)]
    }

    /// Angular impulse about the normal at the contact point.
    fn spin_at_contact(&self, lambda: &[f64; WAYS]) -> f64 {
        lambda[3] + self.lever[0] * lambda[2] - self.lever[1] * lambda[1]
    }

    /// Linear and angular impulse `(f, m)` at the contact, for impulses in all six directions.
    pub fn force(&self, lambda: &[f64; WAYS]) -> (Vec3, Vec3) {
        let [n, t1, t2, _, r1, r2] = self.axes();
        (
            n * lambda[0] + t1 * lambda[1] + t2 * lambda[2],
            n * self.spin_at_contact(lambda) + r1 * lambda[4] + r2 * lambda[5],
        )
    }

    /// Impulses in all six directions, less that of the pulls.
    pub fn net(&self) -> [f64; WAYS] {
        let [normal, others @ ..] = self.lambda;
        let [t1, t2, n, r1, r2] = others;
        [normal - self.pull, t1, t2, n, r1, r2]
    }

    /// Change of the impulse of its pulls in a step of size `h`, in N·s.
    pub fn pull_change(&self, h: f64, change: &InputChange) -> f64 {
        let told = |cmd: usize| change.q_cmd.get(cmd).copied().unwrap_or(0.0);
        let by_command = self.pull_by.iter().map(|(cmd, by)| by * told(*cmd)).sum::<f64>();
        by_command + self.pull / h * change.time_step
    }

    /// Transpose of [`pull_change`](Self::pull_change), for a weight on the change.
    pub fn pull_gradient(&self, h: f64, weight: f64, out: &mut InputChange) {
        self.pull_by.iter().for_each(|(cmd, by)| out.q_cmd[*cmd] += by * weight);
        out.time_step += self.pull / h * weight;
    }

    /// Spatial forces on both bodies.
    pub fn on_bodies(&self, f: Vec3, m: Vec3) -> [SpatialForce; 2] {
        [SpatialForce::at(self.p[0], -f, -m), SpatialForce::at(self.p[1], f, m)]
    }

    /// Change of the frame as the bodies move.
    pub fn frame_change(&self, moves: [Twist; 2]) -> FrameChange {
        let [a, b] = moves;
        let (w, v) = (b.w_W - a.w_W, b.at(self.p[1]) - a.at(self.p[1]));
        let motion = &self.motion;
        let n = a.w_W.cross(self.n) + motion.n.of(w, v);
        let turned = |t: [Vec3; 2], spin: f64| {
            let s = spin * self.turned_by(t).dot(n);
            [self.n * -t[0].dot(n) + t[1] * s, self.n * -t[1].dot(n) - t[0] * s]
        };
        let t = match &self.anisotropy {
            None => turned(self.t, self.spin[0]),
            Some(own) => {
                let spin = self.spin[0] * self.turned_by(own.e).dot(n);
                own.tangents_change(self.n, n, moves[usize::from(own.of_b)].w_W, spin)
            }
        };
        let p = [a.at(self.p[0]) + motion.a.of(w, v), a.at(self.p[1]) + motion.b.of(w, v)];
        let lever = self.centre.map_or([0.0; 2], |centre| {
            let away = centre.p - (self.p[0] + self.p[1]) * 0.5;
            let moved = a.at(centre.p) + centre.motion.of(w, v) - (p[0] + p[1]) * 0.5;
            let own = conjugate(self.t, self.n);
            let turned = conjugate_change((self.t, t), (self.n, n));
            [0, 1].map(|k| turned[k].dot(away) + own[k].dot(moved))
        });
        FrameChange {
            n,
            t,
            r: turned(self.r, self.spin[1]),
            p,
            lever,
            spin: self.centre.map_or(0.0, |at| at.spin_turn.dot(w) + at.spin_shift.dot(v)),
            grow: self.grow[0].dot(w) + self.grow[1].dot(v),
            phi: motion.phi_turn.dot(w) + motion.phi_shift.dot(v),
            pull: 0.0,
        }
    }

    /// Transpose of [`frame_change`](Self::frame_change): adds to the gradients with respect to
    /// both bodies' motions.
    pub fn frame_gradient(&self, weights: &FrameWeights, to: [&mut SpatialForce; 2]) {
        let motion = &self.motion;
        let mut weights = *weights;
        let (mut by_centre, mut centre) = (Vec3::ZERO, MotionMap::ZERO);
        let (mut spin_turn, mut spin_shift) = (Vec3::ZERO, Vec3::ZERO);
        let [a, b] = to;
        if let Some(at) = &self.centre {
            let away = at.p - (self.p[0] + self.p[1]) * 0.5;
            let (own, [l1, l2]) = (conjugate(self.t, self.n), weights.lever);
            by_centre = own[0] * l1 + own[1] * l2;
            weights.t[0] += away.cross(self.n) * l2;
            weights.t[1] += self.n.cross(away) * l1;
            weights.n += away.cross(self.t[1]) * l1 + self.t[0].cross(away) * l2;
            weights.p.iter_mut().for_each(|p| *p += by_centre * -0.5);
            centre = at.motion;
            (spin_turn, spin_shift) = (at.spin_turn * weights.spin, at.spin_shift * weights.spin);
            *a += SpatialForce::at(at.p, by_centre, Vec3::ZERO);
        }
        let mut n = weights.n;
        let mut turned = |axes: [Vec3; 2], by: [Vec3; 2], spin: f64| {
            n += axes[0] * -self.n.dot(by[0]) + axes[1] * -self.n.dot(by[1]);
            n += self.turned_by(axes) * (spin * (axes[1].dot(by[0]) - axes[0].dot(by[1])));
        };
        turned(self.r, weights.r, self.spin[1]);
        match &self.anisotropy {
            None => turned(self.t, weights.t, self.spin[0]),
            Some(own) => {
                let by = own.tangents_gradient(self.n, weights.t);
                n += by.n + self.turned_by(own.e) * (self.spin[0] * by.spin);
                let carrier = if own.of_b { &mut *b } else { &mut *a };
                *carrier += SpatialForce { m_Wo_W: by.w, f_W: Vec3::ZERO };
            }
        }
        let [pa, pb] = weights.p;
        let sum =
            |of: [Mat3; 3]| of[0].transpose() * n + of[1].transpose() * pa + of[2].transpose() * pb;
        let w = sum([motion.n.turn, motion.a.turn, motion.b.turn])
            + centre.turn.transpose() * by_centre
            + spin_turn
            + self.grow[0] * weights.grow
            + motion.phi_turn * weights.phi;
        let v = sum([motion.n.shift, motion.a.shift, motion.b.shift])
            + centre.shift.transpose() * by_centre
            + spin_shift
            + self.grow[1] * weights.grow
            + motion.phi_shift * weights.phi;
        let relative = SpatialForce::at(self.p[1], v, w);
        *b += relative;
        *a += relative * -1.0;
        *a += SpatialForce { m_Wo_W: self.n.cross(n), f_W: Vec3::ZERO };
        *a += SpatialForce::at(self.p[0], pa, Vec3::ZERO);
        *a += SpatialForce::at(self.p[1], pb, Vec3::ZERO);
    }

    /// Change of the rates for a change `c` of the frame and changes `dV` of the twists `V`.
    pub fn rate_changes(&self, c: &FrameChange, V: [Twist; 2], dV: [Twist; 2]) -> [f64; WAYS] {
        let (u, w) = self.relative(V);
        let (du, dw) = self.relative(dV);
        let du = du + V[1].w_W.cross(c.p[1]) - V[0].w_W.cross(c.p[0]);
        let [n, t1, t2, _, r1, r2] = self.axes();
        let ([d1, d2], spin) = (self.lever, n.dot(w));
        let dspin = c.n.dot(w) + n.dot(dw);
        [
            c.n.dot(u) + n.dot(du),
            c.t[0].dot(u) + t1.dot(du) - d2 * dspin - c.lever[1] * spin,
            c.t[1].dot(u) + t2.dot(du) + d1 * dspin + c.lever[0] * spin,
            // scaled like the friction torque about the normal
            dspin + c.spin * spin,
            c.r[0].dot(w) + r1.dot(dw),
            c.r[1].dot(w) + r2.dot(dw),
        ]
    }

    /// Transpose of [`rate_changes`](Self::rate_changes) for weights on the rates: adds to the
    /// weights on the frame and on `dV`.
    pub fn rate_gradient(
        &self,
        V: [Twist; 2],
        by: &[f64; WAYS],
        frame: &mut FrameWeights,
        [to_a, to_b]: [&mut SpatialForce; 2],
    ) {
        let (u, w) = self.relative(V);
        let (by_u, by_w) = self.force(by);
        frame.n += u * by[0] + w * self.spin_at_contact(by);
        for k in 0..2 {
            frame.t[k] += u * by[1 + k];
            frame.r[k] += w * by[4 + k];
        }
        let spin = self.n.dot(w);
        frame.lever[0] += spin * by[2];
        frame.lever[1] -= spin * by[1];
        frame.spin += spin * by[3];
        frame.p[0] += -by_u.cross(V[0].w_W);
        frame.p[1] += by_u.cross(V[1].w_W);
        let [a, b] = self.on_bodies(by_u, by_w);
        *to_a += a;
        *to_b += b;
    }

    /// Change of `(f, m)` at fixed impulses of the rows.
    pub fn force_change(&self, c: &FrameChange) -> (Vec3, Vec3) {
        let l = &self.net();
        let turned = self.n * (c.lever[0] * l[2] - c.lever[1] * l[1] + c.spin * l[3]);
        (
            c.n * l[0] + c.t[0] * l[1] + c.t[1] * l[2] - self.n * c.pull,
            c.n * self.spin_at_contact(l) + turned + c.r[0] * l[4] + c.r[1] * l[5],
        )
    }

    /// Change of the forces on both bodies, where `(df, dm)` is the change of the contact's own
    /// force.
    pub fn on_bodies_change(&self, c: &FrameChange, df: Vec3, dm: Vec3) -> [SpatialForce; 2] {
        let (f, _) = self.force(&self.net());
        let [mut a, mut b] = self.on_bodies(df, dm);
        a.m_Wo_W += -c.p[0].cross(f);
        b.m_Wo_W += c.p[1].cross(f);
        [a, b]
    }

    /// Transpose of the force changes. Weights on the bodies' forces are given as twists, weights
    /// on `(f, m)` as `by_f`, `by_m`. Returns the weights on the impulses.
    pub fn force_gradient(
        &self,
        weights: [Twist; 2],
        by_f: Vec3,
        by_m: Vec3,
        frame: &mut FrameWeights,
    ) -> [f64; WAYS] {
        let l = &self.net();
        let (f, _) = self.force(l);
        let (u, w) = self.relative(weights);
        let (u, w) = (u + by_f, w + by_m);
        frame.n += u * l[0] + w * self.spin_at_contact(l);
        let spin = self.n.dot(w);
        frame.lever[0] += spin * l[2];
        frame.lever[1] -= spin * l[1];
        frame.spin += spin * l[3];
        for k in 0..2 {
            frame.t[k] += u * l[1 + k];
            frame.r[k] += w * l[4 + k];
        }
        frame.p[0] += -f.cross(weights[0].w_W);
        frame.p[1] += f.cross(weights[1].w_W);
        frame.pull -= self.n.dot(u);
        self.along(u, w)
    }

    /// Change of a push for changes of the three friction coefficients. Pushes are linear in them.
    pub fn push_change(&self, push: &[f64; WAYS], dmu: &[f64]) -> [f64; WAYS] {
        let share = |k: usize| if self.mu[k] > 0.0 { dmu[k] / self.mu[k] } else { 0.0 };
        let spin = if self.spin_follows { share(0) + share(1) } else { share(1) };
        let by = [0.0, share(0), share(0), spin, share(2), share(2)];
        std::array::from_fn(|w| push[w] * by[w])
    }

    /// Transpose of [`push_change`](Self::push_change), for weights on a push.
    pub fn push_gradient(&self, push: &[f64; WAYS], by: &[f64; WAYS], to: &mut [f64]) {
        let product = |w: usize| push[w] * by[w];
        let mut sums = [product(1) + product(2), product(3), product(4) + product(5)];
        if self.spin_follows {
            sums[0] += product(3);
        }
        for k in 0..3 {
            if self.mu[k] > 0.0 {
                to[k] += sums[k] / self.mu[k];
            }
        }
    }
}
