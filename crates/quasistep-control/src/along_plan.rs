//! Linearisations of a scene for the steps of a plan: one at its present state, or one per step at
//! the state that the last plan predicts.

#![allow(non_snake_case)] // letters of MpcNote

use quasistep::{LinearContact, Linearisation};
use std::collections::BTreeMap;

/// Linearisation of a scene about one configuration.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub at: Linearisation,
    pub q: Vec<f64>,
}

/// Identity of a contact from step to step: its two shapes and its feature.
pub(crate) type Key = (usize, usize, u32);

pub(crate) fn key(contact: &LinearContact) -> Key {
    (contact.geom_a, contact.geom_b, contact.feature)
}

/// Gap assigned to a contact that a view does not contain, in m. Nothing closes it within a plan.
const FAR: f64 = 1e3;

/// Gives all views the union of their contacts, in one order, so that all systems of a horizon have
/// the same `gamma`. A contact that a view lacks gets a large gap, and the directions of the first
/// view that contains it.
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
