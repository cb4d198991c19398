//! Fallbacks for a step that has no solution with exact Coulomb friction. They are used only if the
//! parameters permit them, and the report names them.
//!
//! | fallback  | step that is taken instead                                              | for error         |
//! |-----------|-------------------------------------------------------------------------|-------------------|
//! | undecided, convex | the convex step with the same cones                             | undecided         |
//! | proximal  | the step with `1/2 vᵀ M_u v` in its cost: least energy plus half the squared distance from the present configuration in the mass metric | unsupported |
//! | impedance | the step with springs instead of prescribed motion                      | crushed, jammed   |

use crate::error::StepError;
use crate::formulation::FrictionLaw;
use crate::formulation::dynamic::{overlaps, without_recovery};
use crate::load::Drive;
use crate::params::{Fallback, Inertia, Relaxation, StepParams};
use crate::state::State;
use crate::step::Request;
use crate::sweep::Finding;
use crate::system::System;
use crate::workspace::{Compliant, StartFrom, Workspace};

impl System {
    /// Runs stages 1 to 8 with the fallbacks for a motion that failed with the error `why`.
    ///
    /// # Errors
    ///
    /// `why`, if no fallback is permitted or has a solution.
    pub(crate) fn stand_in(
        &self,
        state: &State,
        input: &Drive<'_>,
        params: &StepParams,
        why: StepError,
        work: &mut Workspace,
    ) -> Result<Finding, StepError> {
        if !why.is_about_friction() {
            return Err(why);
        }
        let convex = params.formulation.friction == FrictionLaw::Convex;
        let massive =
            StepParams { inertia: Inertia::Mass, relaxation: Relaxation::Step, ..params.clone() };
        let eased = without_recovery(params);
        let mut others: Vec<(Fallback, FrictionLaw, &StepParams)> = Vec::new();
        // without an overlap to recover, this fallback is the step that failed
        if params.formulation.carries_velocity() && overlaps(self, &state.q, &work.contacts) {
            others.push((Fallback::WithoutRecovery, FrictionLaw::Exact, &eased));
        }
        match params.fallback {
            Fallback::Undecided if !convex && !why.is_proof() => {
                others.push((Fallback::Undecided, FrictionLaw::Convex, params));
            }
            Fallback::Convex if !convex => {
                others.push((Fallback::Convex, FrictionLaw::Convex, params));
            }
            Fallback::Proximal if !convex => {
                // exact friction first: with mass most steps have a solution
                if params.inertia == Inertia::None && !params.formulation.carries_velocity() {
                    others.push((Fallback::Proximal, FrictionLaw::Exact, &massive));
                }
                others.push((Fallback::Proximal, FrictionLaw::Convex, &massive));
            }
            _ => {}
        }
        for (fallback, law, params) in others {
            let request = Request { state, input, params, law, solves: true };
            if let Ok(found) = self.take_stages(&request, StartFrom::Nothing, work) {
                work.report.fallback = Some((fallback, why));
                return Ok(found);
            }
        }
        if params.fallback == Fallback::Impedance
            && let Some(compliant) = self.made_compliant(params.fallback_stiffness, work)
        {
            let law = params.formulation.friction;
            let request = Request { state, input, params, law, solves: true };
            let found = compliant.system.take_stages(&request, StartFrom::Nothing, work);
            work.compliant = Some(compliant);
            if let Ok(found) = found {
                work.report.fallback = Some((Fallback::Impedance, why));
                return Ok(found);
            }
        }
        Err(why)
    }

    /// This system with springs in place of prescribed motion, reused from `work` if it is there;
    /// `None` if nothing is prescribed.
    fn made_compliant(&self, stiffness: f64, work: &mut Workspace) -> Option<Box<Compliant>> {
        match work.compliant.take() {
            Some(known) if known.stiffness == stiffness => Some(known),
            _ => Some(Box::new(Compliant { stiffness, system: self.compliant(stiffness)? })),
        }
    }
}
