//! What stands in for a step that has no answer with exact Coulomb friction: only if it is asked for, and never
//! without saying so.
//!
//! | fallback  | step that stands in                                                     | helps             |
//! |-----------|-------------------------------------------------------------------------|-------------------|
//! | convex    | Anitescu's, with the same cones                                         | undecided         |
//! | proximal  | the one with `1/2 vᵀ M_u v` in its cost: the configuration of least energy plus half the squared distance from the present one in the metric of mass | unsupported |
//! | impedance | the one with springs instead of prescribed motion                       | crushed, jammed   |

use crate::error::StepError;
use crate::formulation::{Cone, Where, anitescu, coulomb};
use crate::load::Drive;
use crate::params::{Fallback, Inertia, StepParams};
use crate::report::{Stage, StepReport};
use crate::state::State;
use crate::system::System;
use crate::workspace::Workspace;

/// A system that gives way where another one is prescribed, and its memory.
#[derive(Debug)]
pub(crate) struct Compliant {
    stiffness: f64,
    system: System,
    work: Workspace,
}

impl System {
    /// Stages 4 to 6 by the fallback, after `why`; an impedance is a step of its own, see
    /// [`give_way`](Self::give_way).
    ///
    /// # Errors
    ///
    /// `why`, if the fallback has no answer either.
    #[allow(clippy::too_many_arguments)] // one caller: the main loop, which lists the data flow
    pub(crate) fn stand_in(
        &self,
        q: &[f64],
        place: Where,
        cone: Cone,
        params: &StepParams,
        why: StepError,
        work: &mut Workspace,
    ) -> Result<(), StepError> {
        let solved = match params.fallback {
            // the dynamic step has tried the step of Anitescu and Potra already
            Fallback::None | Fallback::AnitescuPotra | Fallback::Impedance => false,
            Fallback::Convex => anitescu::solve(self, q, place, cone, params, false, work).is_ok(),
            Fallback::Proximal => {
                let massive = StepParams { inertia: Inertia::Mass, ..params.clone() };
                // exact friction first: with mass most steps have an answer
                params.inertia == Inertia::None
                    && !params.formulation.carries_velocity()
                    && coulomb::solve(self, q, place, cone, &massive, work).is_ok()
                    || anitescu::solve(self, q, place, cone, &massive, false, work).is_ok()
            }
        };
        if !solved {
            return Err(why);
        }
        work.report.fallback = Some((params.fallback, why));
        Ok(())
    }

    /// A whole step in which prescribed joints are pulled to their commands by springs, after `why`.
    ///
    /// # Errors
    ///
    /// `why`, if no joint is prescribed or the springs do not help.
    pub(crate) fn give_way<'w>(
        &self,
        state: &mut State,
        input: &Drive<'_>,
        params: &StepParams,
        why: StepError,
        work: &'w mut Workspace,
    ) -> Result<&'w StepReport, StepError> {
        let stiffness = params.fallback_stiffness;
        if work.compliant.as_ref().is_none_or(|known| known.stiffness != stiffness) {
            let Some(system) = self.compliant(stiffness) else { return Err(why) };
            let mut own = system.create_workspace();
            own.timer.same_clock(&work.timer);
            work.compliant = Some(Box::new(Compliant { stiffness, system, work: own }));
        }
        let Some(compliant) = &mut work.compliant else { return Err(why) };
        let params = StepParams { fallback: Fallback::None, ..params.clone() };
        let Ok(report) = compliant.system.advance(state, input, &params, &mut compliant.work)
        else {
            return Err(why);
        };
        work.timer.stop();
        work.report.clone_from(report);
        work.report.fallback = Some((Fallback::Impedance, why));
        work.report.uniqueness = None;
        for stage in Stage::ALL {
            work.report.stage_ns[stage as usize] += work.timer.spent_ns[stage as usize];
        }
        Ok(&work.report)
    }
}
