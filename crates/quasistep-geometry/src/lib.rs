//! Shapes, point clouds, signed distance with witness points and normals, contact patches, broad phase.
//!
//! ```text
//! phi = (p_WCb − p_WCa) · n_AB_W,     p_WCb = p_WCa + phi n_AB_W
//! ```
//!
//! `phi > 0` apart, `phi < 0` overlapping: then its size is the smallest shift that separates the
//! shapes. The unit normal leaves A and enters B. Lengths in m.
//!
//! Every shape but the cylinder, the ellipsoid and the half-space is a convex polyhedron (a point, a segment, a box,
//! a hull: its *core*) with a radius around it, so one pair of algorithms serves them all: separating
//! axes where the cores touch or overlap, closest features where they are apart. A cylinder and an ellipsoid
//! have their own pairs: the largest separation over the few normals that their caps, sides, rims and curved
//! surfaces allow. All are exact to rounding, also at exact touch.
//!
//! A point cloud is a shape too: each of its points is a feature of its own, against the exact surface of
//! any other shape, and [`Choice`] says which few of them stand for a contact.
//!
//! This crate knows no body, robot, friction or time.
#![allow(non_snake_case)] // monogram notation: X_WA, p_WCa, n_AB_W

mod broad_phase;
mod climb;
mod closest;
mod cloud;
mod core;
mod core_pair;
mod cylinder;
mod cylinder_pair;
mod distance;
mod ellipse;
mod ellipsoid;
mod ellipsoid_pair;
mod gjk;
mod half_space;
mod hull_pair;
mod line_patch;
mod mass;
mod motion;
mod narrow_phase;
mod pair_order;
mod patch;
mod picture;
mod point;
mod polytope;
mod quickhull;
mod round_patch;
mod sample;
mod separating_axis;
mod shape;
mod simplify;
mod tube;
mod way_out;

pub use broad_phase::{Aabb, BroadPhase};
pub use cloud::choice::Choice;
pub use cloud::points::{CloudError, PointCloud};
pub use distance::{ContactPoint, Distance};
pub use mass::MassProperties;
pub use motion::map::{ContactMotion, MotionMap};
pub use narrow_phase::{NarrowPhase, contact_patch, signed_distance};
pub use polytope::{Edge, Face, FaceParts, Polytope};
pub use quickhull::HullError;
pub use sample::{SampleError, Samples, sample_surface, sample_triangles};
pub use shape::{Shape, ShapeError};
