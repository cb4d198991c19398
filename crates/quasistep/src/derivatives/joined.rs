//! Contacts of pairs that join the program along the motion: their points are those of where the pair meets.
//!
//! A pair that meets at the share `s` of another motion has the points and the normal that it has there, `q_s = q ⊕ s h v`,
//! each point carried back with its body to where the program is made. So its frame changes with `q_s`, which changes with that
//! other motion, and with `q` itself.

use super::contact::{ContactAt, FrameChange, FrameWeights};
use crate::contact::ContactRow;
use crate::system::System;
use quasistep_math::{Mat3, Vec3};
use quasistep_model::{Kinematics, SpatialForce, Twist};

/// Where a pair meets.
#[derive(Clone, Debug)]
pub(super) struct PlaceAt {
    pub pair: (u32, u32),
    /// The motion that brings the pair there, by its number among those of the step, and how far it is done.
    pub motion: usize,
    pub share: f64,
    pub kin: Kinematics,
}

/// A contact that joined.
#[derive(Clone, Debug)]
pub(super) struct Joined {
    /// Index of its pair's place.
    place: usize,
    /// The contact there.
    there: ContactAt,
    /// From there to where the program is made, for both bodies.
    back: [Mat3; 2],
}

impl PlaceAt {
    /// Twists of both bodies for changes of the configuration there, over dofs.
    pub fn moves(&self, system: &System, dq: &[f64]) -> [Twist; 2] {
        let mut all = vec![Twist::ZERO; system.model.n_bodies()];
        system.model.twists(&self.kin, dq, &mut all);
        self.bodies(system).map(|body| all[body])
    }

    /// The transpose: the gradient by the configuration there.
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
    /// Adds a contact that is known `there`, where its pair meets, and returns it as the program has it in `row`.
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

    /// How its frame changes as its bodies move, and as they do where they meet (`places`).
    pub fn frame_change(
        &self,
        contact: &ContactAt,
        moves: [Twist; 2],
        places: &[[Twist; 2]],
    ) -> FrameChange {
        let Self { there, back, place } = self;
        let at = places[*place];
        let mut frame = there.frame_change(at);
        // what a point moves on its body there, it does where the program is made
        frame.p = [0, 1].map(|side| {
            let on_body = frame.p[side] - at[side].at(there.p[side]);
            moves[side].at(contact.p[side]) + back[side] * on_body
        });
        let apart = contact.p[1] - contact.p[0];
        frame.phi = (frame.p[1] - frame.p[0]).dot(contact.n) + apart.dot(frame.n);
        frame
    }

    /// The transpose: adds to the gradients by both motions.
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
