//! Mass properties of one rigid body, and whether such a body can exist.

use crate::InertiaError;
use quasistep_math::{Mat3, Vec3};

/// Entries of an inertia that should be equal may differ by this, relative to the largest moment:
/// rounding of one rotation, far below any digit that a file prints.
const SYMMETRY_TOLERANCE: f64 = 1e-9;

/// Principal moments may break the laws of a rigid body by this, relative to the largest moment:
/// a flat plate sits exactly on the limit and its printed digits may fall just behind it.
const MOMENT_TOLERANCE: f64 = 1e-6;

/// Mass, centre of mass and rotational inertia. The default is a frame without mass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BodyInertia {
    /// Mass, in kg, ≥ 0.
    pub mass: f64,
    /// Centre of mass in the body's frame B, in m.
    pub com: Vec3,
    /// Inertia about the centre of mass, in the axes of B, in kg·m². Products of inertia are the
    /// matrix entries, `I_xy = −∫ x y dm`.
    pub inertia: Mat3,
}

impl BodyInertia {
    /// Checks that a rigid body with these numbers can exist.
    ///
    /// The mass is finite and not negative, the inertia symmetric and positive semidefinite, and no
    /// principal moment exceeds the sum of the other two. A point mass and a body without mass (and
    /// then without inertia) are allowed.
    ///
    /// # Errors
    ///
    /// The first rule that is broken, with the numbers seen.
    pub fn check(&self) -> Result<(), InertiaError> {
        let Self { mass, com, inertia } = *self;
        if !(mass >= 0.0 && mass.is_finite()) {
            return Err(InertiaError::Mass { mass });
        }
        if !com.is_finite() {
            return Err(InertiaError::CentreOfMass { com });
        }
        let rows = inertia.rows;
        if !rows.iter().all(|row| row.is_finite()) {
            return Err(InertiaError::NotFinite);
        }
        let scale = rows.iter().fold(0.0_f64, |m, row| m.max(row.max_abs()));
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            if (rows[i][j] - rows[j][i]).abs() > SYMMETRY_TOLERANCE * scale {
                return Err(InertiaError::NotSymmetric { i, j, ij: rows[i][j], ji: rows[j][i] });
            }
        }
        if mass == 0.0 && scale > 0.0 {
            return Err(InertiaError::Massless);
        }
        let (moments, _) = inertia.symmetric_eigen();
        let tolerance = MOMENT_TOLERANCE * scale;
        if moments[0] < -tolerance {
            return Err(InertiaError::NegativeMoment { moments });
        }
        if moments[2] > moments[0] + moments[1] + tolerance {
            return Err(InertiaError::Triangle { moments });
        }
        Ok(())
    }
}
