//! Changes of a system with a parameter of its scene.
//!
//! A parameter can be any number of a scene. Its effect on the system is measured from two systems,
//! built with a slightly smaller and a slightly larger value. Their difference gives changes of
//! mass, stiffness, friction, …, which are inputs of [`Derivatives::jvp`].

use crate::derivatives::{DerivativeError, Derivatives, InputChange};
use crate::friction::Friction;
use crate::system::{Geom, Role, System};
use quasistep_model::{Body, BodyInertia, Support, SupportLoad};
use std::sync::Arc;

/// Change of a system with a parameter, for the quantities that steps can be differentiated by.
/// Made by [`System::change_between`].
#[derive(Clone, Debug)]
pub struct SystemChange {
    /// Changes of masses, centres of mass, inertias, stiffness and damping, per unit of the
    /// parameter.
    input: InputChange,
    less: Arc<System>,
    more: Arc<System>,
    per: f64,
}

impl System {
    /// Change of this system per unit of a parameter. The parameter is smaller by `by / 2` in
    /// `less`, and larger by `by / 2` in `more`. `None` if the two systems differ in a quantity
    /// that steps cannot be differentiated by.
    pub fn change_between(
        &self,
        less: &Arc<Self>,
        more: &Arc<Self>,
        by: f64,
    ) -> Option<SystemChange> {
        let per = 1.0 / by;
        let n_bodies = self.model.n_bodies();
        if [less, more].iter().any(|other| !self.is_like(other)) {
            return None;
        }
        let mut input = InputChange { com: vec![0.0; 3 * n_bodies], ..InputChange::default() };
        for body in 0..n_bodies {
            let of = |system: &Self| system.model.body(body).inertia;
            let (base, a, b) = (of(self), of(less), of(more));
            let dm = b.mass - a.mass;
            if dm != 0.0 && base.mass == 0.0 {
                return None;
            }
            input.mass.push(dm * per);
            // the inertia's growth with the mass is counted by the mass
            let grown = if base.mass > 0.0 { dm / base.mass } else { 0.0 };
            let dI = |i: usize, j: usize| {
                let at = |of: &BodyInertia| of.inertia.rows[i][j];
                (at(&b) - at(&a) - grown * at(&base)) * per
            };
            let places = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
            input.inertia.extend(places.map(|(i, j)| dI(i, j)));
            let dp = (b.com - a.com) * per;
            input.com[3 * body..3 * body + 3].copy_from_slice(&dp.to_array());
        }
        for body in 0..n_bodies {
            let of = |system: &Self| {
                let support = system.model.body(body).resistance.support?;
                let load = if let SupportLoad::Newtons(load) = support.load { load } else { 0.0 };
                Some([support.friction, load, support.spin_radius])
            };
            let (at, a, b) = (of(self), of(less), of(more));
            let [at, a, b] = [at, a, b].map(Option::unwrap_or_default);
            let d = [0, 1, 2].map(|k| (b[k] - a[k]) * per);
            // a coefficient of zero has no row
            if d[0] != 0.0 && at[0] == 0.0 || d[2] != 0.0 && at[2] == 0.0 {
                return None;
            }
            input.support.extend(d);
        }
        input.stiffness = vec![0.0; self.n_cmd_v()];
        input.damping = vec![0.0; self.n_cmd_v()];
        let mut at = 0;
        for &body in self.commanded() {
            for k in 0..self.model.body(body).v.len() {
                let of = |system: &Self| match &system.roles[body] {
                    Role::Actuated(a) => [a.stiffness[k], a.damping[k]],
                    _ => [0.0; 2],
                };
                let (a, b) = (of(less), of(more));
                input.stiffness[at] = (b[0] - a[0]) * per;
                input.damping[at] = (b[1] - a[1]) * per;
                at += 1;
            }
        }
        Some(SystemChange { input, less: Arc::clone(less), more: Arc::clone(more), per })
    }

    /// True if the other system differs only in numbers that steps can be differentiated by.
    fn is_like(&self, other: &Self) -> bool {
        let body = |a: &Body, b: &Body| {
            let mut a = a.clone();
            a.inertia = b.inertia;
            let weighs = |s: Support| s.load == SupportLoad::Weight;
            let [of_a, of_b] = [&a, b].map(|body| body.resistance.support.map(weighs));
            a.resistance.support = b.resistance.support;
            a == *b && of_a == of_b
        };
        let geom = |a: &Geom, b: &Geom| a.body == b.body && a.X_BG == b.X_BG && a.shape == b.shape;
        let role = |a: &Role, b: &Role| match (a, b) {
            (Role::Actuated(a), Role::Actuated(b)) => {
                a.damping_on == b.damping_on && a.effort_limit == b.effort_limit
            }
            _ => a == b,
        };
        let (model, theirs) = (&self.model, &other.model);
        model.n_bodies() == theirs.n_bodies()
            && model.bodies().iter().zip(theirs.bodies()).all(|(a, b)| body(a, b))
            && model.limits() == theirs.limits()
            && self.geoms.len() == other.geoms.len()
            && self.geoms.iter().zip(&other.geoms).all(|(a, b)| geom(a, b))
            && self.roles.iter().zip(&other.roles).all(|(a, b)| role(a, b))
            && self.may_touch == other.may_touch
            && self.springs().eq(other.springs())
            && self.pads == other.pads
    }
}

impl SystemChange {
    /// Change of a step's inputs per unit of the parameter, with the change of its start state.
    pub(crate) fn of_step(
        &self,
        system: &System,
        derivatives: &Derivatives,
        (q, v): (Vec<f64>, Vec<f64>),
    ) -> Result<InputChange, DerivativeError> {
        let mut change = InputChange { q, v, ..self.input.clone() };
        for contact in &derivatives.report().contacts {
            let pair = (contact.geom_a as usize, contact.geom_b as usize);
            let of = |system: &System| system.friction(pair.0, pair.1);
            let (base, less, more) = (of(system), of(&self.less), of(&self.more));
            let numbers = |f: &Friction| [f.mu, f.mu_spin, f.mu_roll, f.compliance, f.foundation];
            let (at, a, b) = (numbers(&base), numbers(&less), numbers(&more));
            let d = [0, 1, 2, 3, 4].map(|k| (b[k] - a[k]) * self.per);
            // a coefficient of zero has no row, and a change of the patch law has no derivative
            let begins = (0..5).any(|k| at[k] == 0.0 && d[k] != 0.0);
            let law = |f: &Friction| (f.patch, f.spin_is_given, f.axes);
            let other = |f: &Friction| law(f) != law(&base);
            if begins || other(&less) || other(&more) {
                return Err(DerivativeError::Begins);
            }
            change.friction.extend(&d[..3]);
            // compliance of a foundation point depends on its area, that of other contacts on the
            // pair
            let own = contact.friction.compliance;
            let of_bed = at[4] > 0.0 && own != at[3];
            change.compliance.push(if of_bed { -own * d[4] / at[4] } else { d[3] });
        }
        Ok(change)
    }
}
