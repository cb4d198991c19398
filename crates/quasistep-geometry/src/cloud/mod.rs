//! Point clouds as rigid geometry: every point is a contact feature.

pub(crate) mod choice;
mod choose;
mod contact;
mod field;
mod field_of_shape;
mod frontier;
pub(crate) mod memory;
mod pair;
pub(crate) mod points;
mod search;
mod spread;
mod tie;
mod tree;
