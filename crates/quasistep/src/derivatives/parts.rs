//! Steps of several motions: substeps, and motions that bring pairs together.
//!
//! A step whose single motion is not valid takes several ([`crate::substeps`]). Each motion solves
//! a program with derivatives of its own. It starts at the end of another motion, or at the share
//! up to which that motion is valid. Pairs added to its program met along other motions.
//!
//! Shares come from halving intervals, so they are constant under small changes of the inputs. The
//! derivatives of the step are thus those of its last motion: directly by its own inputs, and
//! through its start and its added pairs by the earlier motions.

use super::change::{InputChange, OutputChange, or_zero, reset};
use super::joined::PlaceAt;
use super::kinds::{DerivativeError, Mode};
use super::prepared::{Derivatives, Link, Told};
use crate::load::Drive;
use crate::params::StepParams;
use crate::report::ContactReport;
use crate::state::State;
use crate::system::System;
use crate::trace::{Trace, Tried};

/// Weights on the outputs of a motion.
#[derive(Debug, Default)]
struct Weights {
    end: OutputChange,
    /// Weights on configurations along the motion, each with the share done by then.
    places: Vec<(f64, Vec<f64>)>,
}

fn add(to: &mut Vec<f64>, by: &[f64]) {
    to.resize(by.len(), 0.0);
    to.iter_mut().zip(by).for_each(|(to, by)| *to += by);
}

/// For each contact, the first of `all` with the same pair and feature, or else with the same pair.
fn find(contacts: &[ContactReport], all: &[ContactReport]) -> Vec<Option<usize>> {
    let pair = |c: &ContactReport| (c.geom_a, c.geom_b);
    let of = |c: &ContactReport| {
        let alike = |other: &ContactReport| pair(other) == pair(c);
        let same = |other: &ContactReport| alike(other) && other.feature == c.feature;
        all.iter().position(same).or_else(|| all.iter().position(alike))
    };
    contacts.iter().map(of).collect()
}

impl System {
    /// Derivatives of a step from `state` whose single motion, that of `out`, is not valid.
    pub(super) fn differentiate_parts(
        &self,
        state: &State,
        input: &Drive<'_>,
        params: &StepParams,
        out: &mut Derivatives,
    ) -> Result<(), DerivativeError> {
        out.ready = false;
        out.work.trace = Some(Trace::default());
        out.work.pressing = crate::workspace::Pressing::Found;
        let taken = self.take_substeps(state, input, params, &mut out.work);
        let tried = out.work.trace.take().unwrap_or_default().motions;
        taken?;
        let (substeps, n_joined) = (out.work.report.substeps, out.work.report.n_joined);
        let used = used(&tried);
        let number = |motion: usize| used.partition_point(|&other| other < motion);
        let mut parts: Vec<Box<Derivatives>> = Vec::new();
        for &k in &used {
            let motion = &tried[k];
            let last = k + 1 == tried.len();
            let spare = if last { None } else { out.pool.pop() };
            let mut own = spare.or_else(|| (!last).then(|| Box::new(self.create_derivatives())));
            let part = own.as_deref_mut().unwrap_or(out);
            if !last {
                part.set_warm_start(false);
            }
            part.work.work_left = params.work_limit;
            part.work.meetings.clone_from(&motion.meetings);
            let meetings = motion.meetings.iter();
            part.places = meetings
                .map(|met| {
                    let from = number(met.motion);
                    let mut kin = self.model.create_kinematics();
                    self.model.kinematics(&parts[from].place(self, met.share), &mut kin);
                    PlaceAt { pair: met.pair, motion: from, share: met.share, kin }
                })
                .collect();
            let drive = Drive { q_cmd: &motion.q_cmd, ..*input };
            let own_params = StepParams {
                time_step: motion.size,
                max_recovery_speed: motion.max_recovery_speed,
                ..params.clone()
            };
            self.differentiate_motion(&motion.from, &drive, &own_params, Mode::Exact, part)?;
            part.check_joined(self)?;
            part.link = Link {
                before: motion.before.map(|(other, share)| (number(other), share)),
                size: motion.size / params.time_step,
                told: self.told(motion, input, params.time_step),
                contacts: Vec::new(),
            };
            parts.extend(own);
        }
        for part in &mut parts {
            part.link.contacts = find(&part.work.report.contacts, &out.work.report.contacts);
            out.kinks.add(&part.kinks);
        }
        out.link.contacts = (0..out.contacts.len()).map(Some).collect();
        (out.work.report.substeps, out.work.report.n_joined) = (substeps, n_joined);
        out.parts = parts;
        Ok(())
    }

    /// Command of a motion, if it differs from the step's command.
    fn told(&self, motion: &Tried, input: &Drive<'_>, h: f64) -> Option<Told> {
        if motion.size == motion.left {
            return None;
        }
        let model = &self.model;
        let (mut target, mut rate) = (motion.from.q.clone(), vec![0.0; model.n_v()]);
        let mut at = 0;
        for &body in self.commanded() {
            let q = model.body(body).q.clone();
            target[q.clone()].copy_from_slice(&input.q_cmd[at..at + q.len()]);
            at += q.len();
        }
        for (dof, cmd) in self.commanded_dofs() {
            rate[dof] = input.v_cmd.get(cmd).copied().unwrap_or(0.0);
        }
        let (ratio, rest) = (motion.size / motion.left, motion.left - motion.size);
        let mut way = vec![0.0; model.n_v()];
        model.difference(&motion.from.q, &target, &mut way);
        for (dof, _) in self.commanded_dofs() {
            if self.is_prescribed(dof) {
                way[dof] *= ratio;
            } else {
                way[dof] -= rest * rate[dof];
            }
        }
        Some(Told { target, way, ratio, rest, rest_share: rest / h, rate })
    }
}

/// Indices of the motions on which the last one depends, including itself, ascending.
fn used(tried: &[Tried]) -> Vec<usize> {
    let mut on = vec![false; tried.len()];
    on[tried.len() - 1] = true;
    for k in (0..tried.len()).rev() {
        if on[k] {
            let met = tried[k].meetings.iter().map(|meeting| meeting.motion);
            met.chain(tried[k].before.map(|(other, _)| other)).for_each(|other| on[other] = true);
        }
    }
    (0..tried.len()).filter(|&k| on[k]).collect()
}

impl Derivatives {
    /// Checks that all added pairs have derivatives.
    fn check_joined(&self, system: &System) -> Result<(), DerivativeError> {
        let work = &self.work;
        let on_bed = work.contacts.beds.iter().find_map(|bed| {
            let near = &work.contacts.rows[bed.rows.start].near;
            let pair = (near.geom_a, near.geom_b);
            work.meetings.iter().any(|met| met.pair == pair).then_some(pair)
        });
        let name = |geom: u32| system.model.body(system.geoms[geom as usize].body).name.clone();
        on_bed.map_or(Ok(()), |(a, b)| Err(DerivativeError::Foundation(name(a), name(b))))
    }

    /// Configuration at a share of the motion.
    fn place(&self, system: &System, share: f64) -> Vec<f64> {
        let mut q = vec![0.0; self.q.len()];
        system.model.integrate(&self.q, &self.rates(system), share * self.time_step, &mut q);
        q
    }

    /// Change of a motion's own inputs, for changes of the step's inputs and of the earlier
    /// motions' outputs.
    fn own_change(
        &self,
        system: &System,
        mut change: InputChange,
        (parts, outs): (&[Box<Self>], &[OutputChange]),
    ) -> InputChange {
        let link = &self.link;
        if let Some((other, share)) = link.before {
            let (part, out) = (&parts[other], &outs[other]);
            if part.start.carried {
                change.v.clone_from(&out.v);
            }
            if share == 1.0 && part.start.carried {
                change.q.clone_from(&out.q_next);
            } else {
                let dh = change.time_step * part.link.size;
                part.change_of_place(system, share, &out.v, dh, &mut change.q);
            }
        }
        if let Some(told) = &link.told {
            self.change_of_told(system, told, &mut change);
        }
        change.time_step *= link.size;
        change
    }

    /// Converts the change of the step's command to that of the motion's command.
    fn change_of_told(&self, system: &System, told: &Told, change: &mut InputChange) {
        let (model, n_v) = (&system.model, system.model.n_v());
        let (mut a, mut b) = (Vec::new(), vec![0.0; n_v]);
        or_zero(&change.q, n_v, &mut a);
        change.q_cmd.resize(system.n_cmd_v(), 0.0);
        system.commanded_dofs().for_each(|(dof, cmd)| b[dof] = change.q_cmd[cmd]);
        let mut c = vec![0.0; n_v];
        model.difference_change(&self.q, &told.target, &a, &b, &mut c);
        for (dof, cmd) in system.commanded_dofs() {
            if system.is_prescribed(dof) {
                c[dof] *= told.ratio;
            } else {
                let rate = change.v_cmd.get(cmd).copied().unwrap_or(0.0);
                c[dof] -= told.rest * rate + told.rate[dof] * told.rest_share * change.time_step;
            }
        }
        model.integrate_change(&told.way, 1.0, &a, &c, &mut b);
        system.commanded_dofs().for_each(|(dof, cmd)| change.q_cmd[cmd] = b[dof]);
    }

    /// Transpose of [`change_of_told`](Self::change_of_told): converts the gradient with respect to
    /// the motion's command to one with respect to the step's command and the motion's start.
    fn gradient_of_told(&self, system: &System, told: &Told, to: &mut InputChange) {
        let (model, n_v) = (&system.model, system.model.n_v());
        let [mut w, mut a, mut b, mut c] = [(); 4].map(|()| vec![0.0; n_v]);
        for (dof, cmd) in system.commanded_dofs() {
            w[dof] = std::mem::take(&mut to.q_cmd[cmd]);
        }
        model.integrate_gradient(&told.way, 1.0, &w, &mut a, &mut c);
        add(&mut to.q, &a);
        for (dof, cmd) in system.commanded_dofs() {
            if system.is_prescribed(dof) {
                c[dof] *= told.ratio;
            } else {
                to.v_cmd[cmd] -= told.rest * c[dof];
                to.time_step -= told.rate[dof] * told.rest_share * c[dof];
            }
        }
        reset(&mut a, n_v, 0.0);
        model.difference_gradient(&self.q, &told.target, &c, &mut a, &mut b);
        add(&mut to.q, &a);
        system.commanded_dofs().for_each(|(dof, cmd)| to.q_cmd[cmd] += b[dof]);
    }

    /// Applies [`jvp`](Self::jvp) to all motions in order. `change` returns the change of a
    /// motion's own inputs, as if the motion were the step.
    pub(crate) fn jvp_of(
        &mut self,
        system: &System,
        change: &dyn Fn(&Self) -> Result<InputChange, DerivativeError>,
        impulses: bool,
        out: &mut OutputChange,
    ) -> Result<f64, DerivativeError> {
        let mut parts = std::mem::take(&mut self.parts);
        let mut outs: Vec<OutputChange> = Vec::new();
        let mut apart = 0.0_f64;
        let mut take = |part: &mut Self, before: &[Box<Self>], impulses, out: &mut OutputChange| {
            let given = change(part)?;
            let dh = given.time_step;
            let moves = part.places.iter().map(|place| {
                let (other, mut dq) = (&before[place.motion], Vec::new());
                let (v, dh) = (&outs[place.motion].v, dh * other.link.size);
                other.change_of_place(system, place.share, v, dh, &mut dq);
                place.moves(system, &dq)
            });
            part.scratch.places = moves.collect();
            let own = part.own_change(system, given, (before, &outs));
            apart = apart.max(part.own_jvp(system, &own, impulses, out)?);
            outs.push(out.clone());
            Ok(())
        };
        let done = (0..parts.len())
            .try_for_each(|k| {
                let (before, rest) = parts.split_at_mut(k);
                take(&mut rest[0], before, false, out)
            })
            .and_then(|()| take(self, &parts, impulses, out));
        self.parts = parts;
        done.map(|()| apart)
    }

    /// Change of the step's inputs with entries for the motion's own contacts instead of those of
    /// the report.
    pub(super) fn of_own_contacts(&self, change: &InputChange) -> InputChange {
        let mut own = change.clone();
        let spread = |from: &[f64], n: usize| -> Vec<f64> {
            if from.is_empty() {
                return Vec::new();
            }
            let of =
                |at: &Option<usize>| at.map_or(vec![0.0; n], |k| from[n * k..n * k + n].to_vec());
            self.link.contacts.iter().flat_map(of).collect()
        };
        own.friction = spread(&change.friction, 3);
        own.compliance = spread(&change.compliance, 1);
        own
    }

    /// Applies [`vjp`](Self::vjp) to all motions, from the last one back.
    pub(super) fn vjp_of_parts(
        &mut self,
        system: &System,
        weights: &OutputChange,
        out: &mut InputChange,
    ) -> Result<(), DerivativeError> {
        let mut parts = std::mem::take(&mut self.parts);
        let mut all: Vec<Weights> = parts.iter().map(|_| Weights::default()).collect();
        let end = Weights { end: weights.clone(), places: Vec::new() };
        let done = self.gradient_of_part(system, &end, &mut all, out).and_then(|()| {
            for k in (0..parts.len()).rev() {
                let own = std::mem::take(&mut all[k]);
                parts[k].gradient_of_part(system, &own, &mut all, out)?;
            }
            Ok(())
        });
        self.parts = parts;
        done
    }

    /// Transpose for weights on the outputs of a motion: adds the gradient with respect to the
    /// step's inputs, and the weights on earlier motions.
    fn gradient_of_part(
        &mut self,
        system: &System,
        weights: &Weights,
        all: &mut [Weights],
        out: &mut InputChange,
    ) -> Result<(), DerivativeError> {
        let mut own = InputChange::default();
        self.own_vjp(system, &weights.end, &weights.places, &mut own)?;
        own.time_step *= self.link.size;
        if let Some(told) = &self.link.told {
            self.gradient_of_told(system, told, &mut own);
        }
        for (place, by) in self.places.iter().zip(&self.scratch.to_places) {
            all[place.motion].places.push((place.share, place.gradient(system, *by)));
        }
        if let Some((other, share)) = self.link.before {
            let q = std::mem::take(&mut own.q);
            if self.start.carried {
                add(&mut all[other].end.v, &std::mem::take(&mut own.v));
            }
            if share == 1.0 && self.start.carried {
                add(&mut all[other].end.q_next, &q);
            } else {
                all[other].places.push((share, q));
            }
        }
        for (k, at) in self.link.contacts.iter().enumerate() {
            let Some(at) = *at else { continue };
            for way in 0..3 {
                out.friction[3 * at + way] += own.friction[3 * k + way];
            }
            out.compliance[at] += own.compliance[k];
        }
        (own.friction, own.compliance) = (Vec::new(), Vec::new());
        out.add(system, 0, &own);
        Ok(())
    }
}
