//! Linear complementarity problems: solution or certificate that there is none.

pub(crate) mod cases;
pub(crate) mod crash;
pub(crate) mod lemke;
pub(crate) mod polyhedron;
pub(crate) mod problem;
pub(crate) mod proof;
pub(crate) mod scaling;
pub(crate) mod solution;
pub(crate) mod solver;
pub(crate) mod tableau;
