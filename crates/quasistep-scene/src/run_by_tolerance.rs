//! Runs whose steps choose their size: the times at which a step has to end, and the inputs of
//! steps between rows of commands.

use crate::facts::Fact;
use crate::run::{RunOptions, RunStep};
use crate::scene::Scene;
use quasistep::{
    SensedStep, Sizes, Span, State, StepError, StepInput, StepParams, Workspace, end_of_step,
};
use quasistep_record::Frame;
use std::ops::ControlFlow;

/// Share of the tolerance from which a knot of a command is a kink; a step over a smaller one is off
/// by less.
const KINK: f64 = 0.1;
/// Times closer than this share of the smallest size are one time.
const SAME: f64 = 1e-3;

/// A time at which a step has to end.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stop {
    /// The time, in s.
    t: f64,
    /// Latest time at which that step reads its inputs, in s: just before a command may jump.
    read: f64,
    /// True for a time that was asked for, false for a kink.
    asked: bool,
}

/// Ends of the rows of a table, in s.
struct Rows {
    ends: Vec<f64>,
}

impl Rows {
    fn new(start: f64, every: f64, n: usize) -> Self {
        let mut t = start;
        let mut next = || {
            t = end_of_step(t, every);
            t
        };
        Self { ends: (0..n).map(|_| next()).collect() }
    }

    /// The row in which a step lies.
    fn of(&self, step: Span) -> usize {
        self.ends.partition_point(|&end| end <= step.end - 0.5 * step.size)
    }
}

impl Scene {
    /// Takes the steps of [`run_frames`](Self::run_frames) with sizes of their own. Steps come in
    /// twos, and both are passed on if the sink stops the run at the first: a run goes on from the end
    /// of the second with the same bits.
    pub(crate) fn run_by_tolerance(
        &self,
        options: &RunOptions<'_>,
        params: &StepParams,
        state: &mut State,
        work: &mut Workspace,
        sink: &mut dyn FnMut(Frame, Option<&RunStep<'_>>) -> ControlFlow<()>,
    ) -> Result<(), StepError> {
        let (stops, rows) = self.stops(options, params, state.time)?;
        let mut index = 0;
        for stop in stops {
            while state.time < stop.t {
                let mut input = |from: &State, span: Span, input: &mut StepInput| {
                    let read = if span.end == stop.t { stop.read } else { span.end };
                    self.fill(options, params, rows.as_ref(), (from, span, read), input);
                };
                let system = &self.system;
                let mut before = (!self.sensors.is_empty()).then(|| state.clone());
                let taken = system.step_by_tolerance(state, stop.t, &mut input, params, work)?;
                let mut goes_on = true;
                for step in taken {
                    index += 1;
                    let poses = Some(step.X_WB.clone());
                    let (state, input, report) = (&step.state, &step.input, &step.report);
                    let mut frame = self.frame_at(state, poses, Some((report, input)));
                    if let Some(start) = &before {
                        let (end, wrenches) = (state, &input.wrenches[..]);
                        let sensed = SensedStep { start, end, wrenches, report, params };
                        frame.sensors = self.read_sensors(&sensed);
                        before = Some(state.clone());
                    }
                    let step = RunStep { index, state, input, report };
                    goes_on &= sink(frame, Some(&step)).is_continue();
                }
                if !goes_on {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// End of a run that begins at `start`, both in s.
    pub fn end_with(&self, options: &RunOptions<'_>, start: f64) -> f64 {
        let params = options.params.as_ref().unwrap_or(&self.params);
        if params.sizes.is_none() {
            return start + self.n_steps_with(options) as f64 * params.time_step;
        }
        match (options.n_steps, options.every.or(self.every)) {
            (Some(n), Some(every)) => {
                Rows::new(start, every, n).ends.last().copied().unwrap_or(start)
            }
            _ => start + options.duration.unwrap_or(self.duration),
        }
    }

    /// Times at which a step has to end, ascending, and the rows of the options' tables.
    fn stops(
        &self,
        options: &RunOptions<'_>,
        params: &StepParams,
        start: f64,
    ) -> Result<(Vec<Stop>, Option<Rows>), StepError> {
        let least = params.sizes.map_or(0.0, |sizes| KINK * sizes.tolerance);
        let gap = params.sizes.map_or(0.0, |Sizes { min, .. }| SAME * min);
        let every = options.every.or(self.every);
        let end = self.end_with(options, start);
        let mut asked: Vec<f64> = self.facts.iter().flat_map(Fact::times).collect();
        asked.push(end);
        let mut rows = None;
        if options.commands.is_some() || options.tau.is_some() {
            let (Some(every), Some(n)) = (every, options.n_steps) else {
                let why =
                    "rows of commands need the time between them; give it, or a size of steps";
                return Err(StepError::Value { what: "every".into(), why: why.into() });
            };
            let own = Rows::new(start, every, n);
            asked.extend(&own.ends);
            rows = Some(own);
        } else if let Some(every) = every {
            let first = (start / every).floor() as i64;
            let last = (end / every).ceil() as i64;
            asked.extend((first..=last).map(|k| k as f64 * every));
        }
        let asked = asked.into_iter().map(|t| Stop { t, read: t, asked: true });
        let kinks = self.kinks((start, end), least).into_iter();
        let kinks = kinks.map(|t| Stop { t, read: t.next_down(), asked: false });
        let inside = |stop: &Stop| stop.t > start + gap && stop.t <= end;
        let stops = joined(asked.chain(kinks).filter(inside).collect(), gap);
        Ok((stops, rows))
    }

    /// Fills the input of a step that begins at `from` and reads its inputs at `read`, in s.
    fn fill(
        &self,
        options: &RunOptions<'_>,
        params: &StepParams,
        rows: Option<&Rows>,
        (from, span, read): (&State, Span, f64),
        input: &mut StepInput,
    ) {
        let row = rows.map(|rows| (rows.of(span), rows));
        match (options.commands, &row) {
            (Some((q_cmd, v_cmd)), Some((k, rows))) => {
                let end = rows.ends.get(*k).copied().unwrap_or(span.end);
                let part =
                    (part(q_cmd, *k, self.system.n_cmd()), part(v_cmd, *k, self.system.n_cmd_v()));
                input.q_cmd = self.system.command_within(from, part, end - from.time, span.size);
                input.v_cmd = part.1.to_vec();
                self.sample_torques(read, &mut input.tau);
                input.wrenches.clear();
                self.sample_wrenches(read, &mut input.wrenches);
            }
            _ => self.sample_over(params, (from.time, read), span.size, input),
        }
        if let (Some(tau), Some((k, _))) = (options.tau, row) {
            input.tau = part(tau, k, self.system.model().n_v()).to_vec();
        }
        input.wrenches.extend_from_slice(options.wrenches);
    }
}

/// Row `k` of a table of `n` columns; empty beyond its end.
fn part(table: &[f64], k: usize, n: usize) -> &[f64] {
    table.get(k * n..(k + 1) * n).unwrap_or_default()
}

/// Stops in ascending order. Those closer than `gap` (s) become one, at a time that was asked for if
/// there is one.
fn joined(mut stops: Vec<Stop>, gap: f64) -> Vec<Stop> {
    stops.sort_by(|a, b| a.t.total_cmp(&b.t));
    let mut out: Vec<Stop> = Vec::new();
    for stop in stops {
        match out.last_mut() {
            Some(last) if stop.t - last.t <= gap => {
                last.read = last.read.min(stop.read);
                if stop.asked && !last.asked {
                    (last.t, last.asked) = (stop.t, true);
                }
            }
            _ => out.push(stop),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Stop, joined};

    /// A kink that differs from a time that was asked for by rounding is that time, and its step
    /// reads the command before the kink.
    #[test]
    fn equal_times_are_one() {
        let stop = |t: f64, asked| Stop { t, read: if asked { t } else { t.next_down() }, asked };
        let kink = 0.1 + 0.2;
        let stops = joined(vec![stop(1.0, true), stop(kink, false), stop(0.3, true)], 1e-7);
        assert_eq!(stops.iter().map(|s| s.t).collect::<Vec<_>>(), [0.3, 1.0]);
        assert!(stops[0].read < kink && stops[0].asked);
    }
}
