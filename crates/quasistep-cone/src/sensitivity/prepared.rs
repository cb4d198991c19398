//! Arguments of a search for the faces of a solution, by a crate that builds on cone programs.

use super::active::Active;
use super::linear::Linear;
use crate::program::ConeProgram;

/// What a search for faces reads and writes: a program, its active set, and vectors over padded `x`
/// and padded `z`.
#[derive(Debug)]
pub struct Prepared<'a> {
    /// The program.
    pub p: &'a ConeProgram,
    /// Its rows, structure and factorisation.
    pub linear: &'a mut Linear,
    /// Faces, kinks, and cones whose direction of slip turns: to be written.
    pub active: &'a mut Active,
    /// The solution, padded.
    pub x: &'a [f64],
    /// Multipliers, padded: to be written.
    pub z: &'a mut [f64],
    /// Rates `E (J x − b)`, padded.
    pub s: &'a mut [f64],
    /// Scratch over padded `z`.
    pub g: &'a mut [f64],
    /// Scratch over padded `x`.
    pub w: &'a mut [f64],
}
