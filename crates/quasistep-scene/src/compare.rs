//! Compares a recorded motion with the step: from each recorded state, and from the start on.

use crate::run::RunOptions;
use crate::scene::Scene;
use quasistep::{Checkpoint, State, StepError, StepInput, StepParams, WarmStart};
use quasistep_record::Recording;
use std::ops::ControlFlow;

/// A recorded motion: rows at given times.
pub struct Course<'a> {
    /// Times of the rows, in s, ascending.
    pub times: &'a [f64],
    /// Configurations, a row for each time. Where nothing was seen, NaN.
    pub q: &'a [f64],
    /// Velocities that the next steps begin with, a row for each time; empty if none are carried over.
    pub v: &'a [f64],
    /// Commands between two rows, one row less; `None` for the scene's own.
    pub commands: Option<&'a [f64]>,
}

/// How far the step is from a recorded motion.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// For each row but the first, on each dof (m or rad): what the step reaches from the recorded row
    /// before, less what was recorded. NaN where it was not taken.
    pub steps: Vec<Vec<f64>>,
    /// What a run from the first row on reaches there, less what was recorded; shorter if it ended early.
    pub replay: Vec<Vec<f64>>,
    /// True if the scene's own commands were used.
    pub own_commands: bool,
    /// Why the run ended early, and the time before that step, in s.
    pub stopped: Option<(f64, StepError)>,
    /// Steps from recorded rows that could not be taken.
    pub failed: usize,
}

impl Compared {
    /// Largest absolute entry of rows over dofs that `counts`: value, row and dof; `None` if there is none.
    pub fn largest(
        rows: &[Vec<f64>],
        counts: &dyn Fn(usize) -> bool,
    ) -> Option<(f64, usize, usize)> {
        let entries = rows
            .iter()
            .enumerate()
            .flat_map(|(k, row)| row.iter().enumerate().map(move |(dof, x)| (x.abs(), k, dof)));
        entries.filter(|(x, _, dof)| counts(*dof) && !x.is_nan()).max_by(|a, b| a.0.total_cmp(&b.0))
    }
}

impl Scene {
    /// Compares a recorded motion with the step. `look` is called after each row, and may end it.
    ///
    /// Steps from recorded rows have the warm start of the run: where forces are not unique, both choose the same
    /// ones. They are left out in scenes with switched constraints, for rows do not say what these hold.
    pub fn compare(
        &self,
        course: &Course<'_>,
        look: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Compared {
        let model = self.system.model();
        let n_rows = course.times.len();
        let mut compared =
            Compared { own_commands: course.commands.is_none(), ..Compared::default() };
        let row = |k: usize| &course.q[k * model.n_q()..(k + 1) * model.n_q()];
        let off_by = |k: usize, state: &State| {
            let mut off = vec![0.0; model.n_v()];
            model.difference(row(k), &state.q, &mut off);
            off
        };
        let takes_steps = self.system.switched().len() == 0;
        let start = |k: usize| State {
            time: course.times[k],
            q: row(k).to_vec(),
            v: if course.v.is_empty() {
                Vec::new()
            } else {
                course.v[k * model.n_v()..(k + 1) * model.n_v()].to_vec()
            },
            attached: Vec::new(),
        };
        let mut at = Checkpoint { state: start(0), warm: WarmStart::default() };
        at.state.attached.clone_from(&self.start.attached);
        for k in 1..n_rows {
            let seen = takes_steps && row(k - 1).iter().all(|x| x.is_finite());
            let own = seen.then(|| {
                let from = Checkpoint { state: start(k - 1), warm: at.warm.clone() };
                self.advance(course, k, &from)
            });
            compared.failed += usize::from(matches!(own, Some(Err(_))));
            compared.steps.push(match own {
                Some(Ok(end)) => off_by(k, &end.state),
                _ => vec![f64::NAN; model.n_v()],
            });
            if compared.stopped.is_none() {
                match self.advance(course, k, &at) {
                    Ok(end) => {
                        at = end;
                        compared.replay.push(off_by(k, &at.state));
                    }
                    Err(why) => compared.stopped = Some((at.state.time, why)),
                }
            }
            if look(k).is_break() {
                break;
            }
        }
        compared
    }

    /// Takes the steps between rows `k - 1` and `k`.
    fn advance(
        &self,
        course: &Course<'_>,
        k: usize,
        from: &Checkpoint,
    ) -> Result<Checkpoint, StepError> {
        let duration = course.times[k] - course.times[k - 1];
        // a row that a tolerance chose is a step; longer ones were thinned
        let sizes = self.params.sizes.filter(|sizes| duration > (1.0 + 1e-9) * sizes.max);
        let h = if self.params.sizes.is_some() { duration } else { self.params.time_step };
        let n = (duration / h).round().max(1.0);
        // times of files are rounded
        let is_whole = (duration - n * h).abs() <= 1e-6 * h;
        let time_step = if is_whole { h } else { duration / n };
        let n_cmd = self.system.n_cmd();
        let by_tolerance = sizes.is_some();
        let n_rows = if by_tolerance { course.commands.map(|_| 1) } else { Some(n as usize) };
        let (commands, rates);
        let options = RunOptions {
            start: Some(from.state.clone()),
            warm: Some(&from.warm),
            params: Some(StepParams { time_step, sizes, ..self.params.clone() }),
            duration: Some(duration),
            n_steps: n_rows,
            commands: match course.commands {
                None => None,
                Some(all) => {
                    let row = &all[(k - 1) * n_cmd..k * n_cmd];
                    let rows = n_rows.unwrap_or(1);
                    commands = row.repeat(rows);
                    rates = vec![0.0; self.system.n_cmd_v() * rows];
                    Some((&commands[..], &rates[..]))
                }
            },
            every: (by_tolerance && course.commands.is_some()).then_some(duration),
            ..RunOptions::default()
        };
        let (end, stopped) = self.run_frames(&options, None, &mut |_, _| ControlFlow::Continue(()));
        stopped.map_or(Ok(end), Err)
    }

    /// Compares a recording with the step, as [`compare`](Self::compare) does: with the scene's own commands, or
    /// with those of the recording if they are others.
    ///
    /// # Errors
    ///
    /// A text that says what the recording does not have.
    pub fn compare_recording(
        &self,
        recording: &Recording,
        look: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Compared, String> {
        let coordinates = self.system.model().coordinate_names();
        if recording.coordinates != coordinates {
            return Err(format!(
                "its coordinates are {}; those of the scene are {}",
                recording.coordinates.join(", "),
                coordinates.join(", ")
            ));
        }
        let frames = &recording.frames;
        if frames.len() < 2 {
            return Err("it has no step".into());
        }
        let commands = self.other_commands(recording)?;
        let times: Vec<f64> = frames.iter().map(|frame| frame.t).collect();
        let q: Vec<f64> = frames.iter().flat_map(|frame| frame.q.iter().copied()).collect();
        let v: Vec<f64> = frames.iter().flat_map(|frame| frame.v.iter().copied()).collect();
        let course = Course { times: &times, q: &q, v: &v, commands: commands.as_deref() };
        Ok(self.compare(&course, look))
    }

    /// The commands of a recording, if they are others than the scene's own.
    ///
    /// # Errors
    ///
    /// A text that names a command of the system that the recording does not have.
    fn other_commands(&self, recording: &Recording) -> Result<Option<Vec<f64>>, String> {
        let names = self.empty_recording(&self.params).commands;
        let steps = || recording.frames.iter().skip(1);
        let all_names = self.system.command_names();
        let is_own = recording.commands == names
            && steps().all(|frame| {
                let mut input = StepInput::default();
                self.sample_for(&self.params, frame.t, &mut input);
                let own = self.commanded_coordinates();
                own.iter().zip(&frame.q_cmd).all(|((at, _), seen)| {
                    (input.q_cmd[*at] - seen).abs() <= 1e-9 * (1.0 + seen.abs())
                })
            });
        if is_own {
            return Ok(None);
        }
        let places: Result<Vec<usize>, String> = all_names
            .iter()
            .map(|name| {
                let place = recording.commands.iter().position(|other| other == name);
                place.ok_or_else(|| {
                    format!(
                        "the run has other commands than the scene, and none for `{name}`; its commands are: {}",
                        recording.commands.join(", ")
                    )
                })
            })
            .collect();
        let places = places?;
        Ok(Some(steps().flat_map(|frame| places.iter().map(|k| frame.q_cmd[*k])).collect()))
    }
}
