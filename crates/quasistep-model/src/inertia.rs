//! Mass properties of one rigid body, and whether such a body can exist.

use crate::InertiaError;
use quasistep_math::{Mat3, Vec3};

/// Largest difference of entries of an inertia that should be equal, relative to the largest
/// moment. It allows for the rounding of one rotation and is far below the digits printed in files.
const SYMMETRY_TOLERANCE: f64 = 1e-9;

/// Largest violation of the inequalities of principal moments, relative to the largest moment. A
/// flat plate is exactly on the limit, and its printed digits may violate it.
const MOMENT_TOLERANCE: f64 = 1e-6;

/// Mass, centre of mass and rotational inertia. The default is massless.
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
    /// Checks that a rigid body with these properties can exist.
    ///
    /// The mass must be finite and not negative. The inertia must be symmetric and positive
    /// semidefinite, and no principal moment may exceed the sum of the other two. A point mass, and
    /// a massless body without inertia, are valid.
    ///
    /// # Errors
    ///
    /// The first rule that is violated, with the values given.
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

    /// Keeps the mass, and replaces the inertia by the nearest physical one in the Frobenius norm.
    ///
    /// The principal axes stay the same. The moments become `I_i = j_1 + j_2 + j_3 − j_i`, where
    /// the second moments `j_i = ∫ x_i² dm ≥ 0` are a least-squares fit to the given moments.
    #[must_use]
    pub fn nearest_possible(&self) -> Self {
        let (given, axes) = self.inertia.symmetric_eigen();
        let moments = nearest_moments(given);
        let mut inertia = Mat3::ZERO;
        for (moment, axis) in moments.iter().zip(axes) {
            for i in 0..3 {
                inertia.rows[i] += axis * (axis[i] * moment);
            }
        }
        // make it exactly symmetric
        let inertia = (inertia + inertia.transpose()) * 0.5;
        Self { inertia, ..*self }
    }
}

/// Least-squares fit with second moments ≥ 0: the nearest valid fit among those with some of them
/// set to 0.
fn nearest_moments(given: [f64; 3]) -> [f64; 3] {
    let sum: f64 = given.iter().sum();
    let mut best = ([0.0; 3], f64::INFINITY);
    for positive in 0..8_u32 {
        let is_free = |i: usize| positive & (1 << i) != 0;
        let total: f64 = (0..3).filter(|&i| is_free(i)).map(|i| sum - given[i]).sum();
        // normal equations (1 + e eᵀ) j = sum − I, solved by the Sherman-Morrison formula
        let shift = total / f64::from(1 + positive.count_ones());
        let mut second = [0.0; 3];
        for i in (0..3).filter(|&i| is_free(i)) {
            second[i] = sum - given[i] - shift;
        }
        if second.iter().any(|j| *j < 0.0) {
            continue;
        }
        let trace: f64 = second.iter().sum();
        let moments = second.map(|j| trace - j);
        let distance: f64 = (0..3).map(|i| (moments[i] - given[i]).powi(2)).sum();
        if distance < best.1 {
            best = (moments, distance);
        }
    }
    best.0
}
