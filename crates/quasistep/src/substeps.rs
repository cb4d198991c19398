//! Steps whose motion is checked: taken as a whole with rows for all pairs that the motion brings
//! together, or in substeps.
//!
//! Linear rows describe a motion only while normals and lever arms stay nearly constant. If a
//! motion violates this, the step proceeds as follows.
//!
//! 1. Pairs without rows that meet are added to the program with the points and normals of their
//!    first contact, and it is solved again.
//! 2. If that fails, the motion is followed up to its first violation. The remaining time is solved
//!    again from there. This limits the travel of a substep, not its time: an undamped spring, or a
//!    command that jumps, moves as far in half the time. Springs keep the load of their command
//!    throughout.
//! 3. With carried velocity, impulses depend on the time step, so the substep is solved again with
//!    a shorter time, also where a small share of the work leaves it undecided. Bodies turn by at
//!    most two radians. A massless part moved by a spring travels as far in any time; if shorter
//!    times do not help, the travel is limited as in 2.
//! 4. Bodies without velocity may roll or slide along the limit of an overlap, where a motion is
//!    valid for a small part only. A substep of a hundredth of the remaining time then first opens
//!    overlaps, by at most `max_overlap`.
//! 5. Rows of the midpoint rule come from the middle of a motion, and may miss an overlap at its
//!    start. Euler steps then take the whole step.

use crate::error::{PairDepth, StepError};
use crate::load::Drive;
use crate::params::{Inertia, Integration, StepParams, Substeps};
use crate::report::LastSubstep;
use crate::scan::Meeting;
use crate::state::State;
use crate::sweep::{Breach, Broken};
use crate::system::{Role, System};
use crate::trace::Tried;
use crate::workspace::Workspace;

/// Largest number of times that pairs are added to the program of one substep. Each new motion may
/// bring further pairs together.
const MAX_ROUNDS: usize = 4;
/// Largest number of motions per step. The overlap of a substep shrinks with the square of its
/// travel: 256 substeps suffice for a motion that would overlap by some metres.
const MAX_MOTIONS: u32 = 256;
/// Smallest and largest factor by which a substep with velocity is shortened at once.
const CUT: [f64; 2] = [0.25, 0.9];
/// Share of the step below which a shorter time no longer helps a substep with velocity. Without
/// velocity the share of the remaining time of a substep that opens overlaps.
const SHORT: f64 = 0.01;
/// Share of a step below which a smaller step is no advice.
const LEAST: f64 = 1e-3;
/// A motion without velocity of which less than this share is valid started at the limit of an
/// overlap.
const CREEP: f64 = 1.0 / 256.0;
/// A motion without velocity of which less than the first share is valid, because of a pair of thin
/// bodies, is followed up to the second share of that. Overlaps grow with the square of the travel,
/// so the next motion starts at half of the limit. From the limit itself it comes only as far as its
/// rows open it.
const FEW: f64 = 0.25;
const PART: f64 = 0.7;
/// Largest angle by which bodies turn in a substep with velocity that may be shorter, in rad. Forces
/// of velocities are explicit: beyond some radians they feed a spinning body with energy.
const TURN: f64 = 2.0;
/// Share of the remaining work that a motion may take where a shorter one may do.
const TRIED: u64 = 16;

impl System {
    /// Runs stages 1 to 8 of a whole step, in as many substeps as its motion requires. The solution
    /// is in `work`.
    pub(crate) fn take_substeps(
        &self,
        state: &State,
        input: &Drive<'_>,
        params: &StepParams,
        work: &mut Workspace,
    ) -> Result<(), StepError> {
        work.start_parts(params.time_step);
        let Some(mut breach) = self.take_joined(state, input, params, work)? else {
            return Ok(());
        };
        if params.substeps == Substeps::Never {
            let (h, size) = (params.time_step, breach.clear * params.time_step);
            return Err(self.overlap(&breach, breach.broken * h, (size, h), 0));
        }
        let h = params.time_step;
        let carried = params.formulation.carries_velocity();
        let mut from = state.clone();
        // remaining time of the step, and the time of the next substep, in s
        let (mut left, mut size) = (h, h);
        let mut integration = params.integration;
        let next = |left: f64, size: f64, work: &Workspace| {
            if carried { left.min((size * self.unturned(work)).max(SHORT * h)) } else { left }
        };
        for _ in 1..MAX_MOTIONS {
            let may_open = !carried && integration == Integration::Euler;
            if carried && size > SHORT * h {
                size *= breach.clear.min(self.unturned(work)).clamp(CUT[0], CUT[1]);
            } else if breach.clear > 0.0 || may_open && size == left {
                let creeps = breach.clear < CREEP && may_open;
                if !carried && breach.clear < FEW && self.is_thin(&breach, params) {
                    breach.clear *= PART;
                }
                left -= breach.clear * size;
                size = if creeps { SHORT * left } else { next(left, size, work) };
                self.follow_motion(breach.clear, left, carried, &mut from, work);
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
                let mut own = StepParams { time_step: size, integration, ..params.clone() };
                if size < left && !carried {
                    own.max_recovery_speed = own.max_recovery_speed.max(own.max_overlap / size);
                }
                let may_shorten = carried && size > SHORT * h;
                match self.take_within(may_shorten, (&from, &drive), &own, work) {
                    Err(StepError::Undecided { .. } | StepError::NotSolved { .. })
                        if may_shorten =>
                    {
                        size *= CUT[0];
                    }
                    Err(why) => return Err(why),
                    Ok(Some(next)) => {
                        breach = next;
                        break;
                    }
                    Ok(None) if size == left => {
                        let State { q, v, .. } = from;
                        work.report.last_substep = Some(LastSubstep { size, q, v });
                        return Ok(());
                    }
                    Ok(None) => {
                        left -= size;
                        size = next(left, size, work);
                        self.follow_motion(1.0, left, true, &mut from, work);
                    }
                }
            }
        }
        let time = h - left + breach.broken * size;
        // without inertia bodies go as far in any time
        let timeless = params.inertia == Inertia::None && !carried;
        let size = if timeless { 0.0 } else { 0.5 * (h - left) };
        Err(self.overlap(&breach, time, (size, h), work.report.substeps))
    }

    /// True if a pair is too near whose limit is a share of its bodies' thickness.
    fn is_thin(&self, breach: &Breach, params: &StepParams) -> bool {
        let Broken::Pair(a, b) = breach.what else { return false };
        let most = params.max_overlap;
        self.allowed_overlap(a as usize, b as usize, most) < most
    }

    /// Factor on the time of the last motion after which bodies turn by the largest angle.
    fn unturned(&self, work: &Workspace) -> f64 {
        TURN / work.sweep.turn(self)
    }

    /// Follows the last motion from `from` up to a share of it, with `left` seconds of the step
    /// remaining, and with its velocity if that is `carried`.
    fn follow_motion(
        &self,
        share: f64,
        left: f64,
        carried: bool,
        from: &mut State,
        work: &mut Workspace,
    ) {
        if share < 1.0 {
            work.sweep.place(self, &from.q, share, &mut work.q_next);
        }
        from.q.clone_from(&work.q_next);
        if carried {
            from.v.clone_from(&work.report.v);
        }
        work.report.substeps += 1;
        work.parts.push(work.sweep.delta().iter().map(|d| share * d).collect());
        work.trace.iter_mut().for_each(|trace| trace.follow(share, left));
    }

    /// [`take_joined`](Self::take_joined), with a small share of the remaining work if a shorter
    /// motion may do.
    fn take_within(
        &self,
        may_shorten: bool,
        (from, input): (&State, &Drive<'_>),
        params: &StepParams,
        work: &mut Workspace,
    ) -> Result<Option<Breach>, StepError> {
        let held = if may_shorten { work.work_left - work.work_left / TRIED } else { 0 };
        work.work_left -= held;
        let joined = self.take_joined(from, input, params, work);
        work.work_left += held;
        joined
    }

    /// Computes one motion with rows for all pairs that it brings together. Returns its first
    /// violation.
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
                // with all meeting pairs there may be no solution; the previous motion is valid up
                // to its first contact
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
                    max_recovery_speed: params.max_recovery_speed,
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

    /// Command at the end of a substep of `size` out of the `left` seconds; `None` at the end of
    /// the step. Prescribed joints have covered that share of their way, other commands follow
    /// their rate.
    pub(crate) fn command_part(
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
        // commands of Cartesian springs are those at the end of the step
        part.extend_from_slice(&input.q_cmd[part.len()..]);
        Some(part)
    }

    /// Error for a violation of a motion, `time` seconds into a step of size `h`, which is valid up
    /// to `size`, both in s.
    pub(crate) fn overlap(
        &self,
        breach: &Breach,
        time: f64,
        (size, h): (f64, f64),
        substeps: u32,
    ) -> StepError {
        let name = |geom: u32| self.model.body(self.geoms[geom as usize].body).name.clone();
        let size = if size >= LEAST * h { size } else { 0.0 };
        match breach.what {
            Broken::Pair(a, b) => StepError::Overlap {
                pair: PairDepth { a: name(a), b: name(b), depth: -breach.phi },
                time,
                size,
                substeps,
            },
            Broken::Constraint(k) => StepError::Constraints {
                names: vec![self.constraints[k].given.name.clone()],
                why: format!(
                    "the motion of the step tears it by {:.2e} m: take steps of {} s or less",
                    -breach.phi,
                    if size > 0.0 { format!("{size:.2e}") } else { format!("{:.2e}", 0.1 * h) },
                ),
            },
        }
    }
}
