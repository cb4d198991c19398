//! Shapes, point clouds, signed distance with witness points and normals, contact patches, broad phase.
//!
//! ```text
//! phi = (p_WCb − p_WCa) · n_AB_W,     p_WCb = p_WCa + phi n_AB_W
//! ```
//!
//! `phi > 0` means apart, `phi < 0` overlapping. In an overlap, `−phi` is the length of the
//! smallest shift that separates the shapes. The unit normal leaves A and enters B. Lengths in m.
//!
//! Spheres, capsules, boxes and polytopes are a convex polyhedron, the *core* (a point, a segment,
//! a box or a hull), offset by a radius. One pair of algorithms serves them all: separating axes
//! where the cores touch or overlap, closest features where they are apart. Cylinders and
//! ellipsoids have their own algorithms, which maximise the separation over the few candidate
//! normals of caps, sides, rims and curved surfaces. All results are exact to rounding, also at
//! exact touch.
//!
//! A height field is a union of prisms, a sheet one of triangles without thickness. Each piece within
//! reach is measured as a polytope; normals that neighbouring pieces forbid are replaced.
//!
//! A point cloud is a shape too. Each of its points is a contact feature, measured against the
//! exact surface of the other shape. [`Choice`] says which few of them become contact points.
//!
//! Bodies, robots, friction and time are outside this crate.
#![allow(non_snake_case)] // monogram notation: X_WA, p_WCa, n_AB_W

mod broad_phase;
mod climb;
mod closest;
mod cloud;
mod core;
mod core_pair;
mod core_search;
mod cylinder;
mod cylinder_pair;
mod distance;
mod ellipse;
mod ellipsoid;
mod ellipsoid_pair;
mod gjk;
mod half_space;
mod height_field;
mod hull_pair;
mod line_patch;
mod mass;
mod motion;
mod narrow_phase;
mod pair_order;
mod patch;
mod picture;
mod pieces;
mod pieces_pair;
mod planes;
mod point;
mod polytope;
mod quickhull;
mod round_patch;
mod sample;
mod separating_axis;
mod shape;
mod sheet;
mod simplify;
mod triangle;
mod tube;
mod way_out;

pub use broad_phase::{Aabb, BroadPhase};
pub use cloud::choice::Choice;
pub use cloud::points::{CloudError, PointCloud};
pub use distance::{ContactPoint, Distance};
pub use height_field::{HeightField, HeightFieldError};
pub use mass::MassProperties;
pub use motion::map::{ContactMotion, MotionMap};
pub use narrow_phase::{NarrowPhase, contact_patch, signed_distance};
pub use polytope::{Edge, Face, FaceParts, Polytope};
pub use quickhull::HullError;
pub use sample::{SampleError, Samples, sample_surface, sample_triangles};
pub use shape::{Shape, ShapeError};
pub use sheet::{Sheet, SheetError};
