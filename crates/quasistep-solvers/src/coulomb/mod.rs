//! Programs with exact Coulomb friction, which are not convex.

pub(crate) mod contact;
pub(crate) mod factor;
pub(crate) mod fixed_point;
pub(crate) mod forces;
pub(crate) mod hessian;
pub(crate) mod jam;
pub(crate) mod law;
pub(crate) mod newton;
pub(crate) mod polytope;
pub(crate) mod products;
pub(crate) mod program;
pub(crate) mod pyramid;
pub(crate) mod relaxation;
pub(crate) mod solution;
pub(crate) mod solver;
pub(crate) mod uniqueness;
pub(crate) mod work;
