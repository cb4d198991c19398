//! Normal force on the support of a planar joint or a slide.

use crate::{JointKind, Kinematics, Model, Support, SupportLoad};
use quasistep_math::Vec3;

/// Gravity across a plane below this share counts as zero; it is the rounding of a vertical plane.
const NONE: f64 = 1e-12;

/// Normal force on a support, and its derivatives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadAt {
    /// Normal force, in N.
    pub load: f64,
    /// Derivative by the mass of a [carried](Model::is_carried) body that feels all of gravity, in
    /// N/kg; 0 for a given load. A body that feels a [share](crate::Body::gravity) counts by that.
    pub per_mass: f64,
    /// Derivative by a small rotation vector, in W, of the joint's frame, in N/rad.
    pub by_turn: Vec3,
}

impl Model {
    /// Normal force on the support of a body's joint under the acceleration `gravity` (W, m/s²). It
    /// is the given load, or the weight of all that the joint carries, normal to its plane or
    /// slide. The joint must have a support.
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
            .filter(|other| self.is_carried(*other, body))
            .map(|other| self.bodies[other].weight_mass())
            .sum();
        let last = &kin.columns[joint.columns.end - 1];
        // gravity along the normal of a plane, or across the axis of a slide
        let (across, by_turn) = if matches!(joint.joint, JointKind::Planar) {
            let along = gravity.dot(last.w_W);
            (along.abs(), last.w_W.cross(gravity) * along.signum())
        } else {
            let axis = last.v_Wo_W;
            let along = gravity.dot(axis);
            let across = (gravity - axis * along).norm();
            (across, axis.cross(gravity) * (-along / across))
        };
        // a body that is lifted off its support presses with nothing
        if across <= NONE * gravity.norm() || mass < 0.0 {
            return LoadAt::default();
        }
        LoadAt { load: mass * across, per_mass: across, by_turn: by_turn * mass }
    }

    /// True if `body` is `by` or a descendant of it.
    ///
    /// # Panics
    ///
    /// If there is no such body.
    pub fn is_carried(&self, body: usize, by: usize) -> bool {
        // a parent has a smaller index than its children
        let mut at = body;
        while at > by {
            at = self.bodies[at].parent;
        }
        at == by
    }
}
