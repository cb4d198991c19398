//! Units of forces and lengths in which the numbers of a program are of moderate size.

use crate::coulomb::program::FrictionProgram;

/// Sizes of forces and rates that need no other unit.
const MODERATE: f64 = 1e4;

/// Units in which forces and rates of a program are of moderate size, where those of the caller are far from
/// it: 1, or a power of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    pub force: f64,
    pub length: f64,
}

impl Default for Units {
    fn default() -> Self {
        Self { force: 1.0, length: 1.0 }
    }
}

impl Units {
    /// Those of a program.
    pub fn of(p: &FrictionProgram) -> Self {
        let largest = |v: &[f64]| v.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let (c, b, P) = (largest(&p.cones.c), largest(&p.cones.b), largest(&p.cones.P));
        // whichever is missing follows from the stiffness
        let length = if b > 0.0 || P == 0.0 { b } else { c / P };
        let force = if c > 0.0 { c } else { P * length };
        let unit = |size: f64| {
            let moderate = size == 0.0 || (1.0 / MODERATE..=MODERATE).contains(&size);
            if moderate || !size.is_finite() { 1.0 } else { size.log2().round().exp2() }
        };
        Self { force: unit(force), length: unit(length) }
    }
}
