//! Contacts of pairs that are added along the motion, with the points of their first contact.
//!
//! A pair that meets at the share `s` of another motion has the points and normal of `q_s = q ⊕ s h
//! v`. Each point is carried with its body back to the configuration of the program. The contact
//! frame therefore changes with `q_s`, which depends on that other motion, and with `q` itself.

use super::contact::{ContactAt, FrameChange, FrameWeights};
use crate::contact::ContactRow;
use crate::system::System;
use quasistep_math::{Mat3, Vec3};
use quasistep_model::{Kinematics, SpatialForce, Twist};

/// Configuration at which a pair meets.
#[derive(Clone, Debug)]
pub(super) struct PlaceAt {
    pub pair: (u32, u32),
    /// Index of the motion that brings the pair together, and the share of it done by then.
    pub motion: usize,
    pub share: f64,
    pub kin: Kinematics,
}

/// A contact that was added along the motion.
#[derive(Clone, Debug)]
pub(super) struct Joined {
    /// Index of the configuration at which its pair meets.
    place: usize,
    /// The contact at that configuration.
    there: ContactAt,
    /// Rotations of both bodies from that configuration to the program's.
    back: [Mat3; 2],
}

impl PlaceAt {
    /// Twists of both bodies for changes of the meeting's configuration, over dofs.
    pub fn moves(&self, system: &System, dq: &[f64]) -> [Twist; 2] {
        let mut all = vec![Twist::ZERO; system.model.n_bodies()];
        system.model.twists(&self.kin, dq, &mut all);
        self.bodies(system).map(|body| all[body])
    }

    /// Transpose of [`moves`](Self::moves): the gradient with respect to the meeting's
    /// configuration.
    pub fn gradient(&self, system: &System, by: [SpatialForce; 2]) -> Vec<f64> {
        let model = &system.model;
        let mut all = vec![SpatialForce::ZERO; model.n_bodies()];
        for (body, by) in self.bodies(system).into_iter().zip(by) {
            all[body] += by;
        }
        model.gather(&mut all);
        let mut out = vec![0.0; model.n_v()];
        model.add_generalised(&self.kin, &all, &mut out);
        out
    }

    fn bodies(&self, system: &System) -> [usize; 2] {
        [self.pair.0, self.pair.1].map(|geom| system.geoms[geom as usize].body)
    }
}

impl Joined {
    /// Adds a contact given at its meeting (`there`), and returns it at the program's
    /// configuration, with the geometry of `row`.
    pub fn push(
        all: &mut Vec<Self>,
        places: &[PlaceAt],
        there: ContactAt,
        row: &ContactRow,
        kin: &Kinematics,
    ) -> ContactAt {
        let point = &row.near.point;
        let pair = (row.near.geom_a, row.near.geom_b);
        let place = places.iter().position(|place| place.pair == pair);
        let place = place.unwrap_or_else(|| unreachable!("pair {pair:?} joined at no place"));
        let back = there.bodies.map(|body| {
            let [from, to] =
                [&places[place].kin, kin].map(|kin| kin.X_WB[body].rotation.to_matrix());
            to * from.transpose()
        });
        let mut contact = there.clone();
        (contact.p, contact.joined) = ([point.p_WCa, point.p_WCb], Some(all.len()));
        all.push(Self { place, there, back });
        contact
    }

    /// Change of its frame with the motion of its bodies, at the program's configuration and at the
    /// meeting (`places`).
    pub fn frame_change(
        &self,
        contact: &ContactAt,
        moves: [Twist; 2],
        places: &[[Twist; 2]],
    ) -> FrameChange {
        let Self { there, back, place } = self;
        let at = places[*place];
        let mut frame = there.frame_change(at);
        // a point's motion relative to its body is the same in both configurations, up to rotation
        frame.p = [0, 1].map(|side| {
            let on_body = frame.p[side] - at[side].at(there.p[side]);
            moves[side].at(contact.p[side]) + back[side] * on_body
        });
        let apart = contact.p[1] - contact.p[0];
        frame.phi = (frame.p[1] - frame.p[0]).dot(contact.n) + apart.dot(frame.n);
        frame
    }

    /// Transpose of [`frame_change`](Self::frame_change): adds to the gradients with respect to
    /// both motions.
    pub fn frame_gradient(
        &self,
        contact: &ContactAt,
        weights: &FrameWeights,
        to: [&mut SpatialForce; 2],
        places: &mut [[SpatialForce; 2]],
    ) {
        let Self { there, back, place } = self;
        let mut by = *weights;
        let along = contact.n * weights.phi;
        by.n += (contact.p[1] - contact.p[0]) * weights.phi;
        by.phi = 0.0;
        let at = &mut places[*place];
        for (side, (to, sign)) in to.into_iter().zip([-1.0, 1.0]).enumerate() {
            let by_p = weights.p[side] + along * sign;
            *to += SpatialForce::at(contact.p[side], by_p, Vec3::ZERO);
            by.p[side] = back[side].transpose() * by_p;
            at[side] += SpatialForce::at(there.p[side], by.p[side] * -1.0, Vec3::ZERO);
        }
        let [a, b] = at;
        there.frame_gradient(&by, [a, b]);
    }
}
