//! Tolerances. Each comment gives the reference size and the reason for the value. Iteration limits
//! stand beside their loops.
//!
//! Those here are shared by several solvers.

/// Rounding error of a computed number, as a share of the largest number of its kind or of the
/// terms of its sum: several thousand operations with unit roundoff 2e-16.
pub const ROUNDING: f64 = 1e-12;

/// Forces and speeds between the inverse of this number and this number are not rescaled: their
/// products neither overflow nor fall below absolute tolerances.
pub const MODERATE: f64 = 1e4;

/// Multipliers above this multiple of the forces of the data indicate inconsistent rows, whose
/// multipliers diverge. With such multipliers, stationarity has no correct digit.
pub const DIVERGED: f64 = 1e10;

/// Least value of a sum that must be positive in a certificate, as a share of the sum's terms. It
/// is far above the residual that the equations of a certificate may have. With
/// a tenth, one hard problem gets a wrong certificate; with ten times the value, one gets none.
pub const CLEAR: f64 = 1e-6;

/// Multiplier that counts as rounding, as a share of the largest multiplier of the certificate.
pub const NO_MULTIPLIER: f64 = 1e-13;

/// Acceptable residual of a Farkas certificate (`Aᵀ y = 0`, `bᵀ y > 0`) or a ray (`P d = 0`, `A d ≥
/// 0`), as a share of the terms that cancel.
pub const PROOF: f64 = 1e-9;

/// Force or multiplier that is rounding, as a share of the largest. Minimising along a gradient of
/// this size would let variables without curvature drift.
pub const NO_FORCE: f64 = 1e-14;
