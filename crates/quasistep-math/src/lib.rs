//! Vectors, rotations and poses in three dimensions: the words every room of the house speaks.
//!
//! Plain `Copy` data in `f64`, no dependency, no allocation, no type parameter; and how texts of
//! others are [`shown`]. Only what the engine uses is here; linear algebra of any size lives in `quasistep-linalg`.
//!
//! Frames follow monogram notation: `X_WB` is the pose of frame B measured in frame W,
//! `p_WCa` the position of point Ca in W, `n_AB_W` a direction expressed in W.

mod mat3;
mod pose;
mod quat;
mod text;
mod vec3;

pub use mat3::{Mat3, symmetric_eigen};
pub use pose::Pose;
pub use quat::Quat;
pub use text::{is_command, shown};
pub use vec3::Vec3;
