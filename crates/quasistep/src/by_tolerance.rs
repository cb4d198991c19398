//! Steps whose size is chosen by a tolerance.
//!
//! From one state, one step of size `2 s` and two steps of size `s` are taken. The error is the
//! largest displacement between their ends, over all points of the bodies' boxes, or a quarter of
//! that between the first small step and the middle of the large one, if that is more: where springs
//! decide the end of a step, only the way to it tells that steps are too large. If the error is within
//! the tolerance, the two steps are kept; otherwise all three are rejected and smaller ones are
//! tried. With Euler steps the error of one step is of second order in its size, and the two ends
//! differ by the error of the two steps:
//!
//! ```text
//! one step of 2 s: 4 C s²     two steps of s: 2 C s²     difference: 2 C s²     next s: 0.9 s sqrt(tolerance / error)
//! ```
//!
//! Sizes are `max / 2^k`, so that programs of the same size recur. The three solves begin from
//! explicit rows: those of the last step for the first two, those of the first small step for the
//! second. Impulses are scaled to the size of the step that reads them, at equal forces: where forces
//! are not unique, the motion depends on them. The result is thus a function of the state, its warm
//! start and the next size.

use crate::error::{ParamError, StepError};
use crate::load::Drive;
use crate::params::StepParams;
use crate::sizes::{SAME, SizeChoice, Sizes};
use crate::state::{State, StepInput};
use crate::step::end_of_step;
use crate::system::System;
use crate::taken::{SizeWork, Span, Taken};
use crate::workspace::Workspace;

/// Share of the displacement in the middle of one step that counts: a way that bends evenly strays
/// from the two steps by a quarter of what it strays from the one.
const BEND: f64 = 0.25;

/// Function that fills the input of a step from its start and its time.
pub type InputOf<'a> = &'a mut dyn FnMut(&State, Span, &mut StepInput);

/// Function that gets every two steps, and may correct the state at their end.
type OnTaken<'a, E> = &'a mut dyn FnMut(&[Taken; 2], &mut State) -> Result<(), E>;

/// One size to be tried: two steps from `start` to `end`.
struct Trial<'a> {
    start: &'a State,
    end: f64,
    size: f64,
    /// True if no smaller size can be tried.
    smallest: bool,
}

impl System {
    /// Takes two steps of equal size, chosen by [`StepParams::sizes`], that end at `until` or
    /// before. The next size is that of the workspace's warm start; without one it is the largest.
    ///
    /// `until` (s, later than the state's time) is a time at which a step has to end, such as a
    /// kink of a command. `input` is called for every step that is tried. Returns the two steps;
    /// `state` is that at the end of the second.
    ///
    /// # Errors
    ///
    /// [`StepError::Params`] without [`StepParams::sizes`]. Other errors are those of a step of the
    /// smallest size. On error `state` and the warm start are unchanged.
    pub fn step_by_tolerance<'w>(
        &self,
        state: &mut State,
        until: f64,
        input: InputOf<'_>,
        params: &StepParams,
        work: &'w mut Workspace,
    ) -> Result<&'w [Taken; 2], StepError> {
        params.check()?;
        let Some(sizes) = params.sizes else {
            let rule = "a tolerance with the smallest and the largest size".into();
            return Err(ParamError { name: "sizes", seen: "none".into(), rule }.into());
        };
        // a step is compared with two of half its size, so none repeats the last one
        work.set_rest(false);
        let mut own = work.sizes.take().unwrap_or_default();
        own.rows.clone_from(&work.warm.last_step);
        own.time_step = work.warm.time_step;
        let result = self.choose(state, until, (&sizes, params), input, work, &mut own);
        match result {
            Ok(()) => state.clone_from(&own.halves[1].state),
            Err(_) => restore(&own, work),
        }
        let own = work.sizes.insert(own);
        result.map(|()| &own.halves)
    }

    /// Covers one row of a table, whose command is reached `every` seconds from now, in steps by
    /// tolerance.
    pub(crate) fn cover_row<E: From<StepError>>(
        &self,
        state: &mut State,
        row: &StepInput,
        every: Option<f64>,
        params: &StepParams,
        work: &mut Workspace,
        taken: OnTaken<'_, E>,
    ) -> Result<(), E> {
        let Some(every) = every.filter(|every| *every > 0.0) else {
            let why = "rows of commands need the time between them, in s, where a tolerance chooses sizes";
            return Err(StepError::Value { what: "every".into(), why: why.into() }.into());
        };
        let end = end_of_step(state.time, every);
        while state.time < end {
            let mut input = |from: &State, span: Span, input: &mut StepInput| {
                input.clone_from(row);
                let told = (row.q_cmd.as_slice(), row.v_cmd.as_slice());
                input.q_cmd = self.command_within(from, told, end - from.time, span.size);
            };
            let pair = self.step_by_tolerance(state, end, &mut input, params, work)?;
            taken(pair, state)?;
        }
        Ok(())
    }

    /// The command at the end of a step of `size`, of a command that is reached in `left` seconds, as
    /// steps that are divided have it. Prescribed joints cover a share of their way from `from`;
    /// other commands arrive at their rate: one with rate zero has jumped.
    pub fn command_within(
        &self,
        from: &State,
        (q_cmd, v_cmd): (&[f64], &[f64]),
        left: f64,
        size: f64,
    ) -> Vec<f64> {
        let size = if (left - size).abs() <= SAME * size { left } else { size };
        let drive = Drive { q_cmd, v_cmd, wrenches: &[], tau: &[] };
        self.command_part(from, &drive, left, size).unwrap_or_else(|| q_cmd.to_vec())
    }

    /// Tries steps of falling size until two are accepted.
    fn choose(
        &self,
        start: &State,
        until: f64,
        (sizes, params): (&Sizes, &StepParams),
        input: InputOf<'_>,
        work: &mut Workspace,
        own: &mut SizeWork,
    ) -> Result<(), StepError> {
        let mut plan = sizes.at_most(work.warm.next_size.unwrap_or(sizes.max));
        let left = until - start.time;
        own.known = None;
        for rejected in 0.. {
            let size = Sizes::fit(plan, left);
            let ends = (left - 2.0 * size).abs() <= 2.0 * SAME * size;
            let end = if ends { until } else { end_of_step(start.time, 2.0 * size) };
            let smallest = size <= (1.0 + SAME) * sizes.at_most(0.0);
            let trial = Trial { start, end, size, smallest };
            let error = match self.try_size(&trial, params, input, work, own) {
                Err(why) if smallest || !why.may_help_to_shorten() => return Err(why),
                Err(_) => f64::INFINITY,
                Ok(error) => error,
            };
            let resolved = error <= sizes.tolerance;
            if resolved || smallest {
                let choice = Some(SizeChoice { error, rejected, resolved });
                own.halves[1].report.choice = choice;
                work.report.choice = choice;
                work.warm.next_size = Some(sizes.next(size, plan, error));
                break;
            }
            // two steps of half the size begin where these did: the first of these is their whole
            own.known = own.has_first.then_some(size);
            std::mem::swap(&mut own.whole, &mut own.halves[0]);
            plan = sizes.less(size, error);
        }
        Ok(())
    }

    /// Takes one step of twice the size and two steps. Returns the error, in m; infinite if the one
    /// step of the smallest trial has no answer.
    fn try_size(
        &self,
        trial: &Trial<'_>,
        params: &StepParams,
        input: InputOf<'_>,
        work: &mut Workspace,
        own: &mut SizeWork,
    ) -> Result<f64, StepError> {
        let &Trial { start, end, size, smallest } = trial;
        own.has_first = false;
        let mut has_whole = own.known == Some(2.0 * size);
        if !has_whole {
            restore(own, work);
            match self.take(
                start,
                Span { end, size: 2.0 * size },
                params,
                input,
                work,
                &mut own.whole,
            ) {
                Err(why) if !smallest => return Err(why),
                taken => has_whole = taken.is_ok(),
            }
            if has_whole {
                // the next step begins at the same state: its distances are known
                std::mem::swap(&mut work.scan, &mut work.scan_next);
            }
        }
        restore(own, work);
        let middle = 0.5 * (start.time + end);
        let [first, second] = &mut own.halves;
        self.take(start, Span { end: middle, size }, params, input, work, first)?;
        own.has_first = true;
        self.take(&first.state, Span { end, size }, params, input, work, second)?;
        if !has_whole {
            return Ok(f64::INFINITY);
        }
        let at_end = self.displacement(&own.whole.X_WB, &own.halves[1].X_WB);
        Ok(at_end.max(BEND * self.displacement_in_middle(start, own)))
    }

    /// Displacement between the first of the two steps and the middle of the one step, in m.
    fn displacement_in_middle(&self, start: &State, own: &mut SizeWork) -> f64 {
        let SizeWork { whole, halves: [first, _], way, q, kin, .. } = own;
        way.resize(self.model.n_v(), 0.0);
        self.model.difference(&start.q, &whole.state.q, way);
        q.clone_from(&start.q);
        self.model.integrate(&start.q, way, 0.5, q);
        let kin = kin.get_or_insert_with(|| self.model.create_kinematics());
        self.model.kinematics(q, kin);
        self.displacement(&kin.X_WB, &first.X_WB)
    }

    /// Takes one step from a copy of a state.
    fn take(
        &self,
        from: &State,
        span: Span,
        params: &StepParams,
        input: InputOf<'_>,
        work: &mut Workspace,
        to: &mut Taken,
    ) -> Result<(), StepError> {
        let params = StepParams { time_step: span.size, ..params.clone() };
        let Taken { state, input: given, report, X_WB } = to;
        state.clone_from(from);
        input(from, span, given);
        let StepInput { q_cmd, v_cmd, wrenches, tau } = given;
        self.advance(state, &Drive { q_cmd, v_cmd, wrenches, tau }, &params, work)?;
        state.time = span.end;
        work.report.time = span.end;
        report.clone_from(&work.report);
        X_WB.clone_from(&work.scan.kin.X_WB);
        Ok(())
    }
}

/// Puts back the warm start of the state from which sizes are tried.
fn restore(own: &SizeWork, work: &mut Workspace) {
    work.warm.last_step.clone_from(&own.rows);
    work.warm.time_step = own.time_step;
}
