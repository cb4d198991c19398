//! Quadratic programs with certificates, for quasistep.
