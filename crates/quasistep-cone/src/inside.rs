//! Parts of cone programs for crates that build on them, such as those of exact friction: the layout
//! of a program, its structure, the assembly of an unsymmetric matrix, and derivatives whose faces
//! such a crate finds.
//!
//! Users of cone programs need none of it, and it changes more often than the rest.

pub use crate::kernels::add_part;
pub use crate::program::{Block, ConeData, MAX_ROWS, Side};
pub use crate::second_order::norm;
pub use crate::sensitivity::{Active, Faces, Linear, Prepared, Sliding, Way, largest, slack_terms};
pub use crate::structure::{Counts, Group, Island, Structure};
pub use quasistep_linalg::blocks::layout::{Panel, Target};
