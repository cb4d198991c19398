//! A step whose motion is true: in one piece with the rows of all that it brings together, or in substeps.
//!
//! Linear rows hold what they say of a motion only as far as normals and lever arms stay what they were. The answer to a
//! motion that leaves them is:
//!
//! 1. Pairs that meet and have no rows join the program, with points and normals of their first contact, and it is solved
//!    again.
//! 2. Where that does not do, the motion is followed as far as it is true, and solved again from there for the time that is
//!    left. So it is the travel of a substep that is limited: a spring without damping, or a command that jumps, moves as
//!    far in half the time. Springs stay under the load of their command throughout.
//! 3. Where velocity is carried over, impulses belong to a time: the substep is solved again for a shorter one. What a spring
//!    moves and has no mass goes as far in any time: where short times do not help, the travel is limited as in 2.
//! 4. Midpoint's rows come from the middle of a motion and may not hold what overlaps at its start. Where they do not, Euler steps
//!    take the whole step anew.

use crate::error::{PairDepth, StepError};
use crate::load::Drive;
use crate::params::{Integration, StepParams, Substeps};
use crate::scan::Meeting;
use crate::state::State;
use crate::sweep::Breach;
use crate::system::{Role, System};
use crate::trace::{Trace, Tried};
use crate::workspace::Workspace;

/// Most times that pairs join the program of one substep. Each time the motion is another one, and brings others together.
const MAX_ROUNDS: usize = 4;
/// Most motions that a step tries. What a substep overlaps by shrinks with the square of its travel: 256 of them do for a
/// motion that overlaps by some metres in one.
const MAX_MOTIONS: u32 = 256;
/// Shares of its time that a substep with velocity is cut to at once, least and most.
const CUT: [f64; 2] = [0.25, 0.9];
/// Share of the step below which a shorter time does not help a substep with velocity.
const SHORT: f64 = 0.01;

impl System {
    /// Stages 1 to 8 of a whole step, in as many substeps as its motion needs; the answer is in `work`.
    pub(crate) fn take_substeps(
        &self,
        state: &State,
        input: &Drive<'_>,
        params: &StepParams,
        work: &mut Workspace,
    ) -> Result<(), StepError> {
        work.report.n_joined = 0;
        work.report.substeps = 1;
        work.parts.clear();
        if let Some(trace) = &mut work.trace {
            *trace = Trace { left: params.time_step, ..Trace::default() };
        }
        let Some(mut breach) = self.take_joined(state, input, params, work)? else {
            return Ok(());
        };
        if params.substeps == Substeps::Never {
            return Err(self.overlap(&breach, 0.0, params.time_step));
        }
        let h = params.time_step;
        let carried = params.formulation.carries_velocity();
        let mut from = state.clone();
        // what is left of the step, and how much of it the next substep takes, in s
        let (mut left, mut size) = (h, h);
        let mut integration = params.integration;
        for _ in 1..MAX_MOTIONS {
            if carried && size > SHORT * h {
                size *= breach.clear.clamp(CUT[0], CUT[1]);
            } else if breach.clear > 0.0 {
                work.sweep.place(self, &from.q, breach.clear, &mut work.q_next);
                from.q.clone_from(&work.q_next);
                if carried {
                    from.v.clone_from(&work.report.v);
                }
                left -= breach.clear * size;
                size = left;
                work.report.substeps += 1;
                let share = breach.clear;
                work.parts.push(work.sweep.delta().iter().map(|d| share * d).collect());
                work.trace.iter_mut().for_each(|trace| trace.follow(share, left));
            } else if integration == Integration::Midpoint {
                integration = Integration::Euler;
                from = state.clone();
                (left, size) = (h, h);
                work.report.substeps = 1;
                work.parts.clear();
            } else {
                break;
            }
            loop {
                let part = self.command_part(&from, input, left, size);
                let drive = Drive { q_cmd: part.as_deref().unwrap_or(input.q_cmd), ..*input };
                let own = StepParams { time_step: size, integration, ..params.clone() };
                match self.take_joined(&from, &drive, &own, work)? {
                    Some(next) => {
                        breach = next;
                        break;
                    }
                    None if size == left => return Ok(()),
                    None => {
                        from.q.clone_from(&work.q_next);
                        from.v.clone_from(&work.report.v);
                        left -= size;
                        size = left;
                        work.report.substeps += 1;
                        work.parts.push(work.sweep.delta().to_vec());
                        work.trace.iter_mut().for_each(|trace| trace.follow(1.0, left));
                    }
                }
            }
        }
        Err(self.overlap(&breach, h - left, size))
    }

    /// One motion with the rows of all pairs that it brings together; where it is first not true.
    fn take_joined(
        &self,
        from: &State,
        input: &Drive<'_>,
        params: &StepParams,
        work: &mut Workspace,
    ) -> Result<Option<Breach>, StepError> {
        work.meetings.clear();
        let mut first = None;
        for _ in 0..=MAX_ROUNDS {
            let found = match self.take_motion(from, input, params, work) {
                Ok(found) => found,
                // all that meets may leave no answer for the whole way: the motion before is true up to its first contact
                Err(_) if first.is_some() => break,
                Err(why) => return Err(why),
            };
            first = found.first;
            let mut motion = 0;
            if let Some(trace) = &mut work.trace {
                motion = trace.motions.len();
                trace.motions.push(Tried {
                    from: from.clone(),
                    q_cmd: input.q_cmd.to_vec(),
                    before: trace.before,
                    left: trace.left,
                    size: params.time_step,
                    meetings: work.meetings.clone(),
                });
            }
            if found.meetings.is_empty() {
                break;
            }
            work.report.n_joined += found.meetings.len();
            let of_motion = |mut meeting: Meeting| {
                meeting.motion = motion;
                meeting
            };
            work.meetings.extend(found.meetings.into_iter().map(of_motion));
        }
        Ok(first)
    }

    /// The command at the end of a substep of `size` of the `left` seconds, where that is not the end of the step:
    /// prescribed joints are that far on their way, others were where their rate says.
    fn command_part(
        &self,
        from: &State,
        input: &Drive<'_>,
        left: f64,
        size: f64,
    ) -> Option<Vec<f64>> {
        if size == left {
            return None;
        }
        let model = &self.model;
        let mut target = from.q.clone();
        let mut at = 0;
        for &body in self.commanded() {
            let q = model.body(body).q.clone();
            target[q.clone()].copy_from_slice(&input.q_cmd[at..at + q.len()]);
            at += q.len();
        }
        let mut way = vec![0.0; model.n_v()];
        model.difference(&from.q, &target, &mut way);
        let mut rates = input.v_cmd.iter();
        for &body in self.commanded() {
            for dof in model.body(body).v.clone() {
                let rate = rates.next().copied().unwrap_or(0.0);
                if self.roles[body] == Role::Prescribed {
                    way[dof] *= size / left;
                } else {
                    way[dof] -= (left - size) * rate;
                }
            }
        }
        model.integrate(&from.q, &way, 1.0, &mut target);
        let mut part = Vec::with_capacity(input.q_cmd.len());
        for &body in self.commanded() {
            part.extend_from_slice(&target[model.body(body).q.clone()]);
        }
        // springs of frames are where they are at the end
        part.extend_from_slice(&input.q_cmd[part.len()..]);
        Some(part)
    }

    /// The breach of a motion that began `since` seconds into the step and takes `size`.
    pub(crate) fn overlap(&self, breach: &Breach, since: f64, size: f64) -> StepError {
        let name = |geom: u32| self.model.body(self.geoms[geom as usize].body).name.clone();
        let (a, b) = breach.pair;
        StepError::Overlap {
            pair: PairDepth { a: name(a), b: name(b), depth: -breach.phi },
            time: since + breach.broken * size,
            size: breach.clear * size,
        }
    }
}
