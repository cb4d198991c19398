//! A scene as the steps of a plan see it: where it is now, or each where the last plan is then.

#![allow(non_snake_case)] // letters of MpcNote

use quasistep::{LinearContact, Linearisation};
use std::collections::BTreeMap;

/// A scene about one configuration.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub at: Linearisation,
    pub q: Vec<f64>,
}

/// Shapes and feature of a contact: the same from step to step.
pub(crate) type Key = (usize, usize, u32);

pub(crate) fn key(contact: &LinearContact) -> Key {
    (contact.geom_a, contact.geom_b, contact.feature)
}

/// Gap of a contact that a view does not see, in m: nothing closes it within a plan.
const FAR: f64 = 1e3;

/// Gives all views the contacts of all, in one order: the systems of a horizon have the same `gamma`. Where a contact
/// is not seen it is out of reach; its directions are those of the first view that sees it.
pub(crate) fn align(views: &mut [View]) {
    let mut all: BTreeMap<Key, LinearContact> = BTreeMap::new();
    for contact in views.iter().flat_map(|view| &view.at.contacts) {
        all.entry(key(contact)).or_insert_with(|| contact.clone());
    }
    for view in views {
        let mut own = std::mem::take(&mut view.at.contacts);
        view.at.contacts = (all.iter())
            .map(|(wanted, first)| match own.iter().position(|c| key(c) == *wanted) {
                Some(place) => own.swap_remove(place),
                None => LinearContact { phi: FAR, ..first.clone() },
            })
            .collect();
    }
}
