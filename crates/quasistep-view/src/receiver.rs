//! The body of each contact on which pictures show the force.

use quasistep_record::{BodyRole, Contact, Recording};
use std::collections::{BTreeMap, BTreeSet};

/// Role of each body. Where a recording does not say, a model with a command drives all of its bodies.
pub(crate) fn roles(r: &Recording) -> Vec<BodyRole> {
    if !r.roles.is_empty() {
        return r.roles.clone();
    }
    let models = |names: &[String]| -> BTreeSet<String> {
        names.iter().filter_map(|c| Some(c.split_once('.')?.0.to_owned())).collect()
    };
    let (movable, driven) = (models(&r.coordinates), models(&r.commands));
    let of = |body: &String| match body.split_once('/') {
        Some((model, _)) if driven.contains(model) => BodyRole::Driven,
        Some((model, _)) if movable.contains(model) => BodyRole::Free,
        _ => BodyRole::Fixed,
    };
    r.bodies.iter().map(of).collect()
}

/// Pairs of bodies whose arrows show the force on the first body, as contacts list them.
pub(crate) struct Receivers(BTreeSet<(usize, usize)>);

impl Receivers {
    /// Arrows show the force on the body that is held: on a free body rather than on a driven one,
    /// and on a driven body rather than on a fixed one. Of two free bodies it is the one that the
    /// other holds up, over the whole run.
    pub fn new(r: &Recording) -> Self {
        let roles = roles(r);
        let contacts = || r.frames.iter().flat_map(|f| &f.contacts);
        let mut lifted = BTreeMap::new();
        for c in contacts() {
            let sign = if c.a < c.b { 1.0 } else { -1.0 };
            *lifted.entry((c.a.min(c.b), c.a.max(c.b))).or_insert(0.0) += sign * c.force_W.z;
        }
        let on_first = |&(a, b): &(usize, usize)| match roles[a].cmp(&roles[b]) {
            std::cmp::Ordering::Equal => {
                let on_larger = lifted[&(a.min(b), a.max(b))] >= 0.0;
                (a > b) == on_larger
            }
            order => order.is_gt(),
        };
        Self(contacts().map(|c| (c.a, c.b)).filter(on_first).collect())
    }

    /// The pairs.
    pub fn on_first(&self) -> impl Iterator<Item = [usize; 2]> + '_ {
        self.0.iter().map(|&(a, b)| [a, b])
    }

    /// 1 if arrows of a contact show the force on its second body, −1 if on its first.
    pub fn sign(&self, c: &Contact) -> f64 {
        if self.0.contains(&(c.a, c.b)) { -1.0 } else { 1.0 }
    }
}
