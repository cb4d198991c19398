//! Forward: a change of the inputs → a change of the outputs.

use super::constraint::{self, Moves};
use super::{Constants, DerivativeError, Derivatives, InputChange, OutputChange};
use crate::cartesian::Six;
use crate::formulation::edges::WAYS;
use crate::system::{Role, System};
use quasistep_math::Vec3;
use quasistep_model::{SpatialForce, Twist};
use quasistep_solvers::ChangeAt;

/// `from`, or zeros if it is empty.
pub(super) fn or_zero(from: &[f64], n: usize, to: &mut Vec<f64>) {
    to.clear();
    if from.is_empty() {
        to.resize(n, 0.0);
    } else {
        to.extend_from_slice(from);
    }
}

pub(super) fn reset<T: Clone>(v: &mut Vec<T>, n: usize, zero: T) {
    v.clear();
    v.resize(n, zero);
}

/// Three consecutive entries.
pub(super) fn vec3(v: &[f64], at: usize) -> Vec3 {
    Vec3::new(v[at], v[at + 1], v[at + 2])
}

impl Derivatives {
    fn check_change(&self, system: &System, change: &InputChange) -> Result<(), DerivativeError> {
        if !self.ready {
            return Err(DerivativeError::NotPrepared);
        }
        let (n_v, n_cmd, n_bodies) =
            (system.model.n_v(), system.n_cmd_v(), system.model.n_bodies());
        for (what, got, want) in [
            ("q", change.q.len(), n_v),
            ("q_cmd", change.q_cmd.len(), n_cmd),
            ("v_cmd", change.v_cmd.len(), n_cmd),
            ("wrench", change.wrench.len(), 6 * n_bodies),
            ("tau", change.tau.len(), n_v),
            ("friction", change.friction.len(), 3 * self.contacts.len()),
            ("stiffness", change.stiffness.len(), n_cmd),
            ("damping", change.damping.len(), n_cmd),
            ("mass", change.mass.len(), n_bodies),
            ("com", change.com.len(), 3 * n_bodies),
            ("inertia", change.inertia.len(), 6 * n_bodies),
            ("compliance", change.compliance.len(), self.contacts.len()),
        ] {
            if got != 0 && got != want {
                return Err(DerivativeError::Length { what, got, want });
            }
        }
        Ok(())
    }

    /// What a small `change` of the inputs does to the outputs: the product of the derivative's matrix and
    /// `change`. Impulses are left out, and cheaper, if `impulses` is false.
    ///
    /// Returns how far the change pulls rows apart that depend on one another, those that touch without pushing among them,
    /// in m/s: rounding unless other rows push after it, so that the step has a kink in this direction. `system` is the one that was differentiated.
    ///
    /// # Errors
    ///
    /// A vector of the wrong length, or nothing was differentiated.
    pub fn jvp(
        &mut self,
        system: &System,
        change: &InputChange,
        impulses: bool,
        out: &mut OutputChange,
    ) -> Result<f64, DerivativeError> {
        self.check_change(system, change)?;
        if impulses {
            self.find_w(system)?;
        }
        self.scratch.areas.clear();
        if let Some(pressure) = &mut self.pressure {
            pressure.changes(system, change, &mut self.scratch.areas)?;
        }
        let (model, h, dh) = (&system.model, self.time_step, change.time_step);
        let (n_v, n_bodies) = (model.n_v(), model.n_bodies());
        let Self { scratch: s, work, constraints, .. } = self;
        let (kin, reduction) = (&work.scan.kin, &work.load.reduction);
        let v = &work.report.v;
        or_zero(&change.q, n_v, &mut s.a);
        for twists in [&mut s.moves, &mut s.dV, &mut s.dV2] {
            reset(twists, n_bodies, Twist::ZERO);
        }
        model.twists(kin, &s.a, &mut s.moves);

        // command: to dofs, then its difference from q
        reset(&mut s.b, n_v, 0.0);
        let mut cmd = 0;
        for &body in system.commanded() {
            for dof in model.body(body).v.clone() {
                if !change.q_cmd.is_empty() {
                    s.b[dof] = change.q_cmd[cmd];
                }
                cmd += 1;
            }
        }
        reset(&mut s.c, n_v, 0.0);
        model.difference_change(&self.q, &self.q_target, &s.a, &s.b, &mut s.c);
        // known rates
        reset(&mut s.known, n_v, 0.0);
        let mut cmd = 0;
        for &body in system.commanded() {
            for dof in model.body(body).v.clone() {
                if system.roles[body] == Role::Prescribed {
                    s.known[dof] = if self.constants.secant {
                        (s.c[dof] - v[dof] * dh) / h
                    } else {
                        change.v_cmd.get(cmd).copied().unwrap_or(0.0)
                    };
                }
                cmd += 1;
            }
        }
        model.twist_changes(kin, &s.a, &s.moves, v, &mut s.dV);
        model.twists(kin, &s.known, &mut s.dV2);
        s.dV.iter_mut().zip(&s.dV2).for_each(|(d, k)| *d += *k);
        reset(&mut s.ties, n_v, 0.0);
        if !constraints.is_empty() {
            let (V, dV) = (&self.V, &s.dV);
            let m = Moves { dq: &s.a, bodies: &s.moves, V, dV, known: &s.known };
            constraint::rate_changes(constraints, &m, Some((h, dh)), &mut s.rates);
            reduction.add_rates(&s.rates, &mut s.ties);
        }

        // contacts
        reset(&mut s.dF, n_bodies, SpatialForce::ZERO);
        reset(&mut s.rows, self.z.len(), 0.0);
        reset(&mut s.turn, if impulses { self.z.len() } else { 0 }, 0.0);
        s.frames.clear();
        s.push.clear();
        s.push.resize(self.z.len(), [0.0; WAYS]);
        if impulses {
            model.twist_changes(kin, &s.a, &s.moves, &self.w, &mut s.dV2);
        }
        for (k, contact) in self.contacts.iter().enumerate() {
            let of = |twists: &[Twist]| contact.bodies.map(|b| twists[b]);
            let mut frame = contact.frame_change(of(&s.moves));
            if let Some([d1, d2, spin]) = contact.area.and_then(|area| s.areas.get(area).copied()) {
                frame.lever = [frame.lever[0] + d1, frame.lever[1] + d2];
                frame.spin += spin;
            }
            let mut dr = contact.rate_changes(&frame, of(&self.V), of(&s.dV));
            dr[0] += contact.per_phi * frame.phi + contact.per_h * dh;
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
        for limit in &self.limits {
            s.rows[limit.row] = limit.sign * limit.per_gap * s.a[limit.dof] + limit.per_h * dh;
        }
        constraint::add_force_changes(constraints, &s.moves, &mut s.dF);
        if !reduction.is_empty() {
            let whole = &work.problem.whole;
            constraint::add_rows(whole, reduction, &s.ties, &mut s.rows);
            if impulses {
                let (V, dV) = (&self.W, &s.dV2);
                let m = Moves { dq: &s.a, bodies: &s.moves, V, dV, known: &s.known };
                constraint::rate_changes(constraints, &m, None, &mut s.rates);
                reset(&mut s.forces, n_v, 0.0);
                reduction.add_rates(&s.rates, &mut s.forces);
                constraint::add_rows(whole, reduction, &s.forces, &mut s.turn);
            }
        }

        // gravity and wrenches
        let g = Vec3::from(self.constants.gravity);
        for (i, body) in model.bodies().iter().enumerate() {
            let p = kin.p_WBcm[i];
            let mut f = SpatialForce::ZERO;
            if body.gravity {
                f.m_Wo_W = s.moves[i].at(p).cross(g) * (h * body.inertia.mass);
                if let Some(dm) = change.mass.get(i) {
                    f += SpatialForce::at(p, g * (h * dm), Vec3::ZERO);
                }
                if !change.com.is_empty() {
                    let dp = kin.X_WB[i].rotation.rotate(vec3(&change.com, 3 * i));
                    f.m_Wo_W += dp.cross(g * (h * body.inertia.mass));
                }
            }
            if !change.wrench.is_empty() {
                let (m, by) = (vec3(&change.wrench, 6 * i), vec3(&change.wrench, 6 * i + 3));
                f += SpatialForce::at(kin.X_WB[i].translation, by * h, m * h);
            }
            s.dF[i] += f + self.per_h[i] * dh;
        }
        for (body, p_W, force) in &self.constants.wrenches {
            s.dF[*body].m_Wo_W += s.moves[*body].at(*p_W).cross(*force) * h;
        }
        for (pull, at) in work.load.cartesian.iter().zip(system.rates_of_springs()) {
            let commanded = change.q_cmd.get(at).map_or(Six::ZERO, Six::from_slice);
            let b = pull.body;
            s.dF[b] += pull.change(s.moves[b], self.V[b], s.dV[b], commanded, h, dh);
        }
        model.gather(&mut s.dF);
        reset(&mut s.d, n_v, 0.0);
        model.add_turned_generalised(kin, &s.a, &s.moves, &self.gathered, &mut s.d);
        model.add_generalised(kin, &s.dF, &mut s.d);
        s.d.iter_mut().zip(&change.tau).for_each(|(d, tau)| *d += h * tau);
        s.d.iter_mut().zip(&self.constants.tau).for_each(|(d, tau)| *d += dh * tau);

        // inertia: passive dofs against passive dofs
        if self.inertia {
            model.twist_changes(kin, &s.a, &s.moves, &self.v_passive, &mut s.dV2);
            reset(&mut s.dF2, n_bodies, SpatialForce::ZERO);
            model.momentum_changes(kin, &s.moves, &self.V_passive, &s.dV2, &mut s.dF2);
            s.dF2.iter_mut().zip(&self.scale.of_body).for_each(|(f, factor)| *f = *f * *factor);
            if !change.mass.is_empty() {
                for (i, body) in model.bodies().iter().enumerate() {
                    if body.inertia.mass > 0.0 {
                        s.dF2[i] += self.momenta[i] * (change.mass[i] / body.inertia.mass);
                    }
                }
            }
            if !change.com.is_empty() {
                for (i, body) in model.bodies().iter().enumerate() {
                    let dp = kin.X_WB[i].rotation.rotate(vec3(&change.com, 3 * i));
                    // p × m v and its change: the centre is elsewhere, and goes at another speed
                    let (p, V, l) = (kin.p_WBcm[i], self.V_passive[i], self.momenta[i].f_W);
                    let dl = V.w_W.cross(dp) * body.inertia.mass;
                    s.dF2[i] += SpatialForce { m_Wo_W: dp.cross(l) + p.cross(dl), f_W: dl };
                }
            }
            for (i, dI) in change.inertia.chunks_exact(6).enumerate() {
                let R = kin.X_WB[i].rotation;
                let [x, y, z] = R.inverse().rotate(self.V_passive[i].w_W).to_array();
                let [xx, yy, zz, xy, xz, yz] = std::array::from_fn(|k| dI[k]);
                let l =
                    [xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z];
                s.dF2[i].m_Wo_W += R.rotate(l.into());
            }
            model.gather(&mut s.dF2);
            reset(&mut s.forces, n_v, 0.0);
            model.add_turned_generalised(
                kin,
                &s.a,
                &s.moves,
                &self.momenta_gathered,
                &mut s.forces,
            );
            model.add_generalised(kin, &s.dF2, &mut s.forces);
            for dof in 0..n_v {
                if system.is_passive(dof) {
                    s.d[dof] -= s.forces[dof];
                }
            }
            if self.scale.on {
                let trees = &self.matrices.trees.of_body;
                self.scale.change(system, trees, change, h, &mut s.d);
            }
        }
        for (dof, (d, damping)) in s.d.iter_mut().zip(model.damping()).enumerate() {
            *d -= dh * damping * v[dof];
        }
        for spring in &self.springs {
            let at = |v: &[f64]| v.get(spring.cmd).copied().unwrap_or(0.0);
            let rate = if spring.on_error { at(&change.v_cmd) } else { 0.0 };
            s.d[spring.dof] += (h * at(&change.damping) + dh * spring.damping) * spring.rate
                + h * spring.damping * rate;
            s.d[spring.dof] += if let Some(force) = spring.limited {
                dh * force
            } else {
                // h K (Δq_cmd − h v)
                let stretch = s.c[spring.dof] - v[spring.dof] * dh;
                (h * at(&change.stiffness) + dh * spring.stiffness) * spring.stretch
                    + h * spring.stiffness * stretch
            };
        }
        if !self.constraints.is_empty() {
            // what follows by constraints moves as told, and hands its forces to the rest
            let mut d = std::mem::take(&mut self.scratch.d);
            self.add_cost(system, -1.0, &self.scratch.ties, &mut d);
            self.work.load.reduction.gather(&mut d);
            self.scratch.d = d;
        }
        let Self { scratch: s, work, .. } = self;
        reset(&mut s.forces, self.x.len(), 0.0);
        for (variable, d) in system.variable_of_dof.iter().zip(&s.d) {
            if let Some(variable) = variable {
                s.forces[*variable as usize] = *d;
            }
        }
        // c of the variable that presses a joint's friction is h tau_f
        let pressing = s.forces.iter_mut().skip(system.block_of_variable.len());
        for (d, &dof) in pressing.zip(&system.rubbing) {
            *d = -dh * model.friction()[dof];
        }
        // a contact that gives way balances h² s/compliance with its impulse, in the unit √compliance/h of s
        let first = system.block_of_variable.len() + system.rubbing.len();
        for (d, &k) in s.forces[first..].iter_mut().zip(&work.problem.giving) {
            let contact = &self.contacts[k as usize];
            let given = change.compliance.get(k as usize).copied().unwrap_or(0.0);
            let by = given - contact.compliance * s.frames[k as usize].grow;
            let unit = contact.compliance.sqrt() / h;
            *d = unit * contact.lambda[0] * (by / contact.compliance - 2.0 * dh / h);
        }
        reset(&mut s.dx, self.x.len(), 0.0);
        reset(&mut s.dz, self.z.len(), 0.0);
        let change_at = ChangeAt { rows: &s.rows, forces: &s.forces, turn: &s.turn };
        let apart = self.sensitivity.forward_at(&change_at, &mut s.dx, &mut s.dz)?;
        self.write_outputs(system, dh, impulses, out);
        Ok(apart)
    }

    /// From the solution's change to that of the outputs.
    fn write_outputs(&mut self, system: &System, dh: f64, impulses: bool, out: &mut OutputChange) {
        let (model, h) = (&system.model, self.time_step);
        let n_v = model.n_v();
        let Self { scratch: s, work, .. } = self;
        let v = &work.report.v;
        out.v.clear();
        out.v.extend(
            system.variable_of_dof.iter().zip(&s.known).map(|(variable, known)| {
                variable.map_or(*known, |variable| s.dx[variable as usize])
            }),
        );
        let reduction = &work.load.reduction;
        reduction.follow(&mut out.v);
        reduction.followers.iter().for_each(|f| out.v[f.dof] += s.ties[f.dof]);
        reset(&mut s.d, n_v, 0.0);
        for ((hdv, dv), v) in s.d.iter_mut().zip(&out.v).zip(v) {
            *hdv = h * dv + v * dh;
        }
        reset(&mut out.q_next, n_v, 0.0);
        let Constants { rotations, followed, .. } = &self.constants;
        system.follow_change(v, (*rotations, h), &mut s.d);
        model.integrate_change(followed, h, &s.a, &s.d, &mut out.q_next);
        for &body in system.commanded() {
            if system.roles[body] == Role::Prescribed {
                let dofs = model.body(body).v.clone();
                out.q_next[dofs.clone()].copy_from_slice(&s.b[dofs]);
            }
        }
        out.normal.clear();
        out.impulse.clear();
        if !impulses {
            return;
        }
        for (contact, frame) in self.contacts.iter().zip(&s.frames) {
            let mut dlambda = [0.0; WAYS];
            for r in contact.rows.clone() {
                for way in 0..WAYS {
                    dlambda[way] +=
                        s.dz[r] * work.problem.pushes[r][way] + self.z[r] * s.push[r][way];
                }
            }
            let ((f, m), (df, dm)) = (contact.force(&dlambda), contact.force_change(frame));
            out.normal.push(dlambda[0]);
            out.impulse.extend((f + df).to_array());
            out.impulse.extend((m + dm).to_array());
        }
    }

    /// Twists of the rates that multipliers of least norm are made of, once for a step.
    pub(super) fn find_w(&mut self, system: &System) -> Result<(), DerivativeError> {
        if self.has_w {
            return Ok(());
        }
        let n_v = system.model.n_v();
        let Self { scratch: s, .. } = self;
        reset(&mut s.dx, self.x.len(), 0.0);
        self.sensitivity.least_norm_rates(&mut s.dx)?;
        reset(&mut self.w, n_v, 0.0);
        for (w, variable) in self.w.iter_mut().zip(&system.variable_of_dof) {
            if let Some(variable) = variable {
                *w = s.dx[*variable as usize];
            }
        }
        self.work.load.reduction.follow(&mut self.w);
        reset(&mut self.W, system.model.n_bodies(), Twist::ZERO);
        system.model.twists(&self.work.scan.kin, &self.w, &mut self.W);
        self.has_w = true;
        Ok(())
    }
}
