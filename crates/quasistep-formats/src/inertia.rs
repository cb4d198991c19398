//! Check and repair of inertias given by files.

use crate::Options;
use crate::error::SceneError;
use crate::findings::Findings;
use crate::xml::Xml;
use quasistep_model::{BodyInertia, InertiaError};

/// The inertia as given, or the nearest one that a rigid body can have. `at` is the place of its
/// moments in the file.
///
/// # Errors
///
/// If the inertia is impossible and repairs are refused, or if it cannot be repaired.
pub(crate) fn possible(
    given: BodyInertia,
    at: &Xml<'_, '_>,
    link: &str,
    options: &Options,
    findings: &mut Findings<'_>,
) -> Result<BodyInertia, SceneError> {
    match given.check() {
        Ok(()) => Ok(given),
        Err(error @ (InertiaError::NegativeMoment { .. } | InertiaError::Triangle { .. })) => {
            let repaired = given.nearest_possible();
            // moments near the limits of floating point cannot be repaired
            if options.refuse_repairs || repaired.check().is_err() {
                let hint = "leave out `repair: error` to take the nearest possible inertia";
                return Err(at.error(format!("{error}; {hint}")));
            }
            let principal = |inertia: &BodyInertia| {
                let [a, b, c] = inertia.inertia.symmetric_eigen().0;
                format!("[{a:.6e}, {b:.6e}, {c:.6e}]")
            };
            findings.warn(
                at.line(),
                format!(
                    "link `{link}`: no rigid body has the principal moments {} kg·m²; taken as the nearest \
                     possible, {}",
                    principal(&given),
                    principal(&repaired)
                ),
            );
            Ok(repaired)
        }
        Err(error) => Err(at.error(error.to_string())),
    }
}
