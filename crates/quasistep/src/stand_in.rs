//! What stands in for a step that has no answer with exact Coulomb friction: only if it is asked for, and never
//! without saying so.
//!
//! | fallback  | step that stands in                                                     | helps             |
//! |-----------|-------------------------------------------------------------------------|-------------------|
//! | undecided, convex | the convex one, with the same cones                             | undecided         |
//! | proximal  | the one with `1/2 vᵀ M_u v` in its cost: the configuration of least energy plus half the squared distance from the present one in the metric of mass | unsupported |
//! | impedance | the one with springs instead of prescribed motion                       | crushed, jammed   |

use crate::error::StepError;
use crate::formulation::FrictionLaw;
use crate::formulation::dynamic::{overlaps, without_recovery};
use crate::load::Drive;
use crate::params::{Fallback, Inertia, Relaxation, StepParams};
use crate::state::State;
use crate::sweep::Finding;
use crate::system::System;
use crate::workspace::{Compliant, Workspace};

impl System {
    /// Stages 1 to 8 by what stands in for a motion that has no answer, for `why`.
    ///
    /// # Errors
    ///
    /// `why`, if nothing stands in or has an answer either.
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
        // without an overlap to be recovered it is the same step
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
                // exact friction first: with mass most steps have an answer
                if params.inertia == Inertia::None && !params.formulation.carries_velocity() {
                    others.push((Fallback::Proximal, FrictionLaw::Exact, &massive));
                }
                others.push((Fallback::Proximal, FrictionLaw::Convex, &massive));
            }
            _ => {}
        }
        for (fallback, law, params) in others {
            if let Ok(found) = self.take_stages(state, input, params, law, false, work) {
                work.report.fallback = Some((fallback, why));
                return Ok(found);
            }
        }
        if params.fallback == Fallback::Impedance
            && let Some(compliant) = self.made_compliant(params.fallback_stiffness, work)
        {
            let law = params.formulation.friction;
            let found = compliant.system.take_stages(state, input, params, law, false, work);
            work.compliant = Some(compliant);
            if let Ok(found) = found {
                work.report.fallback = Some((Fallback::Impedance, why));
                return Ok(found);
            }
        }
        Err(why)
    }

    /// The system with springs in place of prescribed motion, out of `work` if it is known there; `None` if nothing is
    /// prescribed.
    fn made_compliant(&self, stiffness: f64, work: &mut Workspace) -> Option<Box<Compliant>> {
        match work.compliant.take() {
            Some(known) if known.stiffness == stiffness => Some(known),
            _ => Some(Box::new(Compliant { stiffness, system: self.compliant(stiffness)? })),
        }
    }
}
