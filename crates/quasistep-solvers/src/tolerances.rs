//! Tolerances and limits of the solvers: symbol, unit, formula, range, and what fails when one is ten times larger or
//! smaller.

// Interior point, proofs, the test of optimality.

// Newton's methods, exact friction, complementarity problems.

// Active sets, branch and bound, derivatives.
