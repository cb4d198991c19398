//! Rows of all contacts, and their forces on bodies.

use super::change::{InputChange, OutputChange, reset};
use super::contact::{self, ContactAt, FrameWeights};
use super::joined::Joined;
use super::kinds::Mode;
use super::prepared::{Derivatives, Pressure, TIE};
use super::pressure;
use crate::contact::ContactRow;
use crate::formulation::edges::WAYS;
use crate::formulation::problem::Posed;
use crate::foundation;
use crate::params::StepParams;
use crate::scan::PointKind;
use crate::system::System;
use crate::workspace::Workspace;
use quasistep_math::Vec3;
use quasistep_model::{SpatialForce, Twist};

/// True if the recovery of a gap is bounded by the recovery speed.
pub(super) fn is_bounded(gap: f64, params: &StepParams) -> bool {
    gap / params.time_step <= -params.max_recovery_speed * (1.0 - TIE)
}

/// True if a gap is exactly at the bound of the recovery speed.
pub(super) fn is_at_bound(gap: f64, params: &StepParams) -> bool {
    (gap / params.time_step / params.max_recovery_speed + 1.0).abs() <= TIE
}

/// Mutable references to two different entries.
fn two<T>(v: &mut [T], [a, b]: [usize; 2]) -> [&mut T; 2] {
    // contacts are between different bodies
    let Ok(pair) = v.get_disjoint_mut([a, b]) else {
        unreachable!("a contact of body {a} with itself")
    };
    pair
}

impl Derivatives {
    /// Collects all contacts at the solution and adds their impulses to those on bodies.
    pub(super) fn collect_contacts(&mut self, system: &System, params: &StepParams, mode: Mode) {
        self.work.scan.motions(system, &mut self.motions);
        let met = self.rows_where_they_meet(system);
        let work = &mut self.work;
        let p_WCb: Vec<Vec3> = work.contacts.rows.iter().map(|row| row.near.point.p_WCb).collect();
        let (beds, points) = (&work.contacts.beds, &work.scan.points);
        let grown = foundation::to_rows(beds, &p_WCb, points, &mut self.motions);
        if mode != Mode::Exact {
            self.kinks.choices = work.scan.tied_choices(system);
        }
        let h = params.time_step;
        self.contacts.clear();
        self.joined.clear();
        let largest = self.z.iter().fold(0.0_f64, |m, z| m.max(z.abs()));
        let first = self.pressure.as_ref().map(Pressure::first);
        let by_place = pressure::all_by_place(&work.contacts, first);
        let mut centres = Vec::new();
        let Workspace { load, contacts, problem, scan, .. } = &*work;
        let posed = Posed { system, q: &self.q, load, contacts, kin: &scan.kin, params };
        let rows = met.as_deref().unwrap_or(&contacts.rows);
        for (k, (row, motion)) in rows.iter().zip(&self.motions).enumerate() {
            let near = &row.near;
            let bodies = [near.geom_a, near.geom_b].map(|geom| system.geoms[geom as usize].body);
            let centre = row.area.map(|area| {
                let points = contacts.areas[area as usize].points.clone();
                if k == points.start {
                    let rows = &rows[points.clone()];
                    let by_place = &by_place[area as usize];
                    centres = contact::centres(rows, &self.motions[points.clone()], by_place);
                }
                centres[k - points.start]
            });
            let mut contact = ContactAt::new(row, bodies, motion, centre);
            contact.grow = grown.get(k).copied().unwrap_or_default();
            contact.rows = problem.program.convex.rows_of(k);
            if let PointKind::Meeting { .. } = near.kind {
                let row = &contacts.rows[k];
                contact = Joined::push(&mut self.joined, &self.places, contact, row, &scan.kin);
            }
            let row = &contacts.rows[k];
            contact.rates = contact.rates(bodies.map(|b| self.V[b]));
            let phi = row.near.point.phi;
            let speed = posed.rebound_speed(row);
            let offset = row.gap_offset(params);
            contact.bounce = if speed > -offset.min(0.0) {
                contacts.rebound * row.friction.restitution
            } else {
                0.0
            };
            contact.rates[0] += if contact.bounce > 0.0 { -speed } else { offset };
            let gives = row.friction.compliance > 0.0;
            if contact.bounce > 0.0 {
                // after an impact the row depends only on the speed at the start
            } else if gives || !is_bounded(phi, params) {
                (contact.per_phi, contact.per_h) = (1.0 / h, -phi / (h * h));
            }
            for r in contact.rows.clone() {
                for (sum, push) in contact.lambda.iter_mut().zip(problem.pushes[r]) {
                    *sum += self.z[r] * push;
                }
            }
            for pulled in contacts.pulls_of(k) {
                let (pad, share) = (pulled.pad as usize, h * pulled.share);
                contact.pull += share * load.pulls[pad];
                let cmd = system.n_cmd_v - system.n_behind() + pad;
                contact.pull_by.push((cmd, share * system.pads[pad].pull));
            }
            let loaded = contact.lambda[0] > TIE * largest;
            self.kinks.features += u32::from(motion.kink && loaded);
            let smooth = mode != Mode::Exact;
            self.kinks.edges += u32::from(motion.on_edge && smooth);
            self.kinks.recovery += u32::from(!gives && is_at_bound(phi, params));
            let margin = params.contact_margin;
            let at_margin = margin.is_finite() && (phi - margin).abs() <= TIE * margin;
            self.kinks.margin += u32::from(at_margin && smooth);
            let (f, m) = contact.force(&contact.net());
            let [on_a, on_b] = contact.on_bodies(f, m);
            self.forces[bodies[0]] += on_a;
            self.forces[bodies[1]] += on_b;
            self.contacts.push(contact);
        }
    }

    /// Rows of all contacts, where points of pairs that meet along the motion are posed as at their
    /// meeting; `None` if no pair meets.
    fn rows_where_they_meet(&mut self, system: &System) -> Option<Vec<ContactRow>> {
        let Self { work, places, motions, .. } = self;
        if places.is_empty() {
            return None;
        }
        let mut rows = work.contacts.rows.clone();
        let mut own = Vec::new();
        for (place, meeting) in places.iter().zip(&work.meetings) {
            let of_pair = |row: &ContactRow| (row.near.geom_a, row.near.geom_b) == meeting.pair;
            let points = work.scan.motions_at(system, meeting, &place.kin, &mut own);
            let Some(first) = rows.iter().position(of_pair) else { continue };
            for (k, (point, motion)) in points.into_iter().zip(&own).enumerate() {
                let row = &mut rows[first + k];
                if matches!(row.near.kind, PointKind::Meeting { .. }) {
                    row.near.point = point;
                    motions[first + k] = *motion;
                }
            }
        }
        Some(rows)
    }

    /// Changes of contact rows (`rows`, and at the least-norm rates `turn`), of pushes (`push`), of
    /// frames (`frames`), and of contact forces on bodies (`dF`).
    pub(super) fn change_of_contacts(&mut self, change: &InputChange, impulses: bool) {
        let Self { scratch: s, work, .. } = self;
        reset(&mut s.rows, self.z.len(), 0.0);
        reset(&mut s.turn, if impulses { self.z.len() } else { 0 }, 0.0);
        reset(&mut s.push, self.z.len(), [0.0; WAYS]);
        s.frames.clear();
        for (k, contact) in self.contacts.iter().enumerate() {
            let of = |twists: &[Twist]| contact.bodies.map(|b| twists[b]);
            let mut frame = match contact.joined {
                None => contact.frame_change(of(&s.moves)),
                Some(k) => self.joined[k].frame_change(contact, of(&s.moves), &s.places),
            };
            if let Some([d1, d2, spin]) = contact.area.and_then(|area| s.areas.get(area).copied()) {
                frame.lever = [frame.lever[0] + d1, frame.lever[1] + d2];
                frame.spin += spin;
            }
            frame.pull = contact.pull_change(self.time_step, change);
            let mut dr = contact.rate_changes(&frame, of(&self.V), of(&s.dV));
            dr[0] += contact.per_phi * frame.phi + contact.per_h * change.time_step;
            if contact.bounce > 0.0 {
                let (V, dV) = (of(&self.start.V), of(&s.start.dV));
                dr[0] += contact.bounce * contact.rate_changes(&frame, V, dV)[0];
            }
            let (mut df, mut dm) = contact.force_change(&frame);
            let mut dlambda = [0.0; WAYS];
            for r in contact.rows.clone() {
                let push = &work.problem.pushes[r];
                if !change.friction.is_empty() {
                    let dmu = &change.friction[3 * k..3 * k + 3];
                    s.push[r] = contact.push_change(push, dmu);
                }
                for way in 0..WAYS {
                    s.rows[r] += push[way] * dr[way] + s.push[r][way] * contact.rates[way];
                    dlambda[way] += self.z[r] * s.push[r][way];
                }
            }
            let (mf, mm) = contact.force(&dlambda);
            (df, dm) = (df + mf, dm + mm);
            let [on_a, on_b] = contact.on_bodies_change(&frame, df, dm);
            s.dF[contact.bodies[0]] += on_a;
            s.dF[contact.bodies[1]] += on_b;
            if impulses {
                let (W, dW) = (of(&self.W), of(&s.dV2));
                let (r, dr) = (contact.rates(W), contact.rate_changes(&frame, W, dW));
                for row in contact.rows.clone() {
                    let push = &work.problem.pushes[row];
                    s.turn[row] = (0..WAYS).map(|w| push[w] * dr[w] + s.push[row][w] * r[w]).sum();
                }
            }
            s.frames.push(frame);
        }
    }

    /// Transpose of the contacts' change. Weights are on rows (`rows`, `turn`), on forces of bodies
    /// (`moves`), on areas of points (`grow`), and on impulses. Gradients are with respect to the
    /// motion of bodies (`dF`), to changes of their twists (`dF2`, `to_W`), and to centres of areas
    /// (`areas`).
    pub(super) fn gradient_of_contacts(&mut self, weights: &OutputChange, out: &mut InputChange) {
        let Self { scratch: s, work, .. } = self;
        let impulses = weights.weighs_impulses();
        reset(&mut s.areas, work.contacts.areas.len(), [0.0; 3]);
        reset(&mut s.to_places, self.places.len(), [SpatialForce::ZERO; 2]);
        for (k, contact) in self.contacts.iter().enumerate() {
            let of = |twists: &[Twist]| contact.bodies.map(|b| twists[b]);
            let mut frame = FrameWeights::default();
            let (mut by, mut by_turn) = ([0.0; WAYS], [0.0; WAYS]);
            for r in contact.rows.clone() {
                for way in 0..WAYS {
                    by[way] += s.rows[r] * work.problem.pushes[r][way];
                    if impulses {
                        by_turn[way] += s.turn[r] * work.problem.pushes[r][way];
                    }
                }
            }
            contact.rate_gradient(of(&self.V), &by, &mut frame, two(&mut s.dF2, contact.bodies));
            if contact.bounce > 0.0 {
                let mut by_start = [0.0; WAYS];
                by_start[0] = contact.bounce * by[0];
                let (V, to) = (of(&self.start.V), two(&mut s.start.to_V, contact.bodies));
                contact.rate_gradient(V, &by_start, &mut frame, to);
            }
            frame.phi = by[0] * contact.per_phi;
            frame.grow = s.grow[k];
            out.time_step += by[0] * contact.per_h;
            let W = if impulses { of(&self.W) } else { [Twist::ZERO; 2] };
            if impulses {
                contact.rate_gradient(W, &by_turn, &mut frame, two(&mut s.to_W, contact.bodies));
            }
            let (f, m) = weights.of_impulse(k);
            let mut by_lambda = contact.force_gradient(of(&s.moves), f, m, &mut frame);
            contact.pull_gradient(self.time_step, frame.pull, out);
            // these impulses are weighted as scalars, without their directions
            weights.add_components(k, &mut by_lambda);
            let by_spin = weights.components.get(WAYS * k + 3).copied().unwrap_or(0.0);
            frame.spin += by_spin * contact.lambda[3];
            if let Some(area) = contact.area {
                let own = &mut s.areas[area];
                let by = [frame.lever[0], frame.lever[1], frame.spin];
                own.iter_mut().zip(by).for_each(|(own, by)| *own += by);
            }
            let to = two(&mut s.dF, contact.bodies);
            match contact.joined {
                None => contact.frame_gradient(&frame, to),
                Some(k) => self.joined[k].frame_gradient(contact, &frame, to, &mut s.to_places),
            }
            let w_rates = contact.rates(W);
            let dmu = &mut out.friction[3 * k..3 * k + 3];
            for r in contact.rows.clone() {
                let by_push = std::array::from_fn(|way| {
                    let turned = if impulses { s.turn[r] * w_rates[way] } else { 0.0 };
                    s.rows[r] * contact.rates[way] + self.z[r] * by_lambda[way] + turned
                });
                contact.push_gradient(&work.problem.pushes[r], &by_push, dmu);
            }
        }
    }
}
