//! Normal force on the support of a planar joint or a slide.

use crate::{JointKind, Kinematics, Model, Support, SupportLoad};
use quasistep_math::Vec3;

/// Share of gravity across a plane that is none: what is left of a vertical plane's by rounding.
const NONE: f64 = 1e-12;

/// Normal force on a support, and how it changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadAt {
    /// Normal force, in N.
    pub load: f64,
    /// How it grows with the mass of what is [carried](Model::is_carried), in N/kg; 0 for a load that is given.
    pub per_mass: f64,
    /// How it changes as the joint's frame turns by a small rotation vector in W, in N/rad.
    pub by_turn: Vec3,
}

impl Model {
    /// Normal force on the support of a body's joint, which has one, under the gravity `gravity`, in m/s²: what is given, or the
    /// weight of what the joint carries, across its plane or its slide.
    ///
    /// # Panics
    ///
    /// If there is no such body, or `kin` is of another model.
    pub fn support_load(&self, kin: &Kinematics, body: usize, gravity: Vec3) -> LoadAt {
        let joint = &self.bodies[body];
        match joint.resistance.support {
            None => return LoadAt::default(),
            Some(Support { load: SupportLoad::Newtons(load), .. }) => {
                return LoadAt { load, ..LoadAt::default() };
            }
            Some(Support { load: SupportLoad::Weight, .. }) => {}
        }
        let mass: f64 = (body..self.n_bodies())
            .filter(|other| self.bodies[*other].gravity && self.is_carried(*other, body))
            .map(|other| self.bodies[other].inertia.mass)
            .sum();
        let last = &kin.columns[joint.columns.end - 1];
        // along the normal of a plane, across the axis of a slide
        let (across, by_turn) = if matches!(joint.joint, JointKind::Planar) {
            let along = gravity.dot(last.w_W);
            (along.abs(), last.w_W.cross(gravity) * along.signum())
        } else {
            let axis = last.v_Wo_W;
            let along = gravity.dot(axis);
            let across = (gravity - axis * along).norm();
            (across, axis.cross(gravity) * (-along / across))
        };
        if across <= NONE * gravity.norm() {
            return LoadAt::default();
        }
        LoadAt { load: mass * across, per_mass: across, by_turn: by_turn * mass }
    }

    /// True if `body` is `by` or hangs on it, however many joints are between.
    ///
    /// # Panics
    ///
    /// If there is no such body.
    pub fn is_carried(&self, body: usize, by: usize) -> bool {
        // a parent comes before its children
        let mut at = body;
        while at > by {
            at = self.bodies[at].parent;
        }
        at == by
    }
}
