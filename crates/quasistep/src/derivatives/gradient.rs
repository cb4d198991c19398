//! Backward: weights on the outputs → a gradient with respect to the inputs. Line by line the transpose of
//! `chain.rs`, in the opposite order.

use super::chain::{or_zero, reset, vec3};
use super::contact::FrameWeights;
use super::{Constants, DerivativeError, Derivatives, InputChange, OutputChange};
use crate::formulation::edges::WAYS;
use crate::system::{Role, System};
use quasistep_math::Vec3;
use quasistep_model::{SpatialForce, Twist};

/// Two different entries.
fn two<T>(v: &mut [T], [a, b]: [usize; 2]) -> [&mut T; 2] {
    // contacts are between different bodies
    let Ok(pair) = v.get_disjoint_mut([a, b]) else {
        unreachable!("a contact of body {a} with itself")
    };
    pair
}

fn add3(to: &mut [f64], at: usize, by: Vec3) {
    to[at..at + 3].iter_mut().zip(by.to_array()).for_each(|(to, by)| *to += by);
}

impl Derivatives {
    fn check_weights(
        &self,
        system: &System,
        weights: &OutputChange,
    ) -> Result<(), DerivativeError> {
        if !self.ready {
            return Err(DerivativeError::NotPrepared);
        }
        let (n_v, n_c) = (system.model.n_v(), self.contacts.len());
        for (what, got, want) in [
            ("q_next", weights.q_next.len(), n_v),
            ("v", weights.v.len(), n_v),
            ("normal", weights.normal.len(), n_c),
            ("impulse", weights.impulse.len(), 6 * n_c),
        ] {
            if got != 0 && got != want {
                return Err(DerivativeError::Length { what, got, want });
            }
        }
        Ok(())
    }

    /// Gradient of `Σ weights · outputs` with respect to all inputs, every vector of `out` at its full length: the
    /// transpose of [`jvp`](Self::jvp), at the price of one product, whatever the number of inputs.
    ///
    /// # Errors
    ///
    /// A vector of the wrong length, or nothing was differentiated.
    pub fn vjp(
        &mut self,
        system: &System,
        weights: &OutputChange,
        out: &mut InputChange,
    ) -> Result<(), DerivativeError> {
        self.check_weights(system, weights)?;
        let impulses = !(weights.normal.is_empty() && weights.impulse.is_empty());
        if impulses {
            self.find_w(system)?;
        }
        let (model, h) = (&system.model, self.time_step);
        let (n_v, n_bodies, n_cmd) = (model.n_v(), model.n_bodies(), system.n_cmd_v());
        let Self { scratch: s, work, .. } = self;
        let (kin, v) = (&work.scan.kin, &work.report.v);
        for (to, n) in [
            (&mut out.q, n_v),
            (&mut out.q_cmd, n_cmd),
            (&mut out.v_cmd, n_cmd),
            (&mut out.wrench, 6 * n_bodies),
            (&mut out.tau, n_v),
            (&mut out.friction, 3 * self.contacts.len()),
            (&mut out.stiffness, n_cmd),
            (&mut out.damping, n_cmd),
            (&mut out.mass, n_bodies),
            (&mut out.com, 3 * n_bodies),
            (&mut out.inertia, 6 * n_bodies),
            (&mut out.compliance, self.contacts.len()),
        ] {
            reset(to, n, 0.0);
        }
        out.time_step = 0.0;

        // next configuration: `a` gathers the gradient by q, `b` by the command's dofs, `c` by Δq_cmd
        or_zero(&weights.q_next, n_v, &mut s.dx);
        for vector in [&mut s.a, &mut s.b, &mut s.c, &mut s.d, &mut s.known] {
            reset(vector, n_v, 0.0);
        }
        for &body in system.commanded() {
            if system.roles[body] == Role::Prescribed {
                for dof in model.body(body).v.clone() {
                    s.b[dof] += s.dx[dof];
                    s.dx[dof] = 0.0;
                }
            }
        }
        let Constants { rotations, followed, .. } = &self.constants;
        model.integrate_gradient(followed, h, &s.dx, &mut s.a, &mut s.d);
        system.follow_change(v, (*rotations, h), &mut s.d);
        out.time_step += s.d.iter().zip(v).map(|(d, v)| d * v).sum::<f64>();
        // `d`: weights on v
        s.d.iter_mut().for_each(|d| *d *= h);
        if !weights.v.is_empty() {
            s.d.iter_mut().zip(&weights.v).for_each(|(d, w)| *d += w);
        }
        reset(&mut s.ties, n_v, 0.0);
        let reduction = &work.load.reduction;
        reduction.followers.iter().for_each(|f| s.ties[f.dof] = s.d[f.dof]);
        reduction.gather(&mut s.d);
        reset(&mut s.dx, self.x.len(), 0.0);
        for (dof, variable) in system.variable_of_dof.iter().enumerate() {
            match variable {
                Some(variable) => s.dx[*variable as usize] = s.d[dof],
                None => s.known[dof] = s.d[dof],
            }
        }
        reset(&mut s.dz, self.z.len(), 0.0);
        let force_of = |k: usize| {
            if weights.impulse.is_empty() {
                (Vec3::ZERO, Vec3::ZERO)
            } else {
                (vec3(&weights.impulse, 6 * k), vec3(&weights.impulse, 6 * k + 3))
            }
        };
        s.push.clear();
        for (k, contact) in self.contacts.iter().enumerate() {
            let (f, m) = force_of(k);
            let mut by = contact.along(f, m);
            by[0] += weights.normal.get(k).copied().unwrap_or(0.0);
            for r in contact.rows.clone() {
                s.dz[r] = (0..WAYS).map(|w| by[w] * work.problem.pushes[r][w]).sum();
            }
            // impulses in all ways: one entry a contact
            s.push.push(by);
        }
        reset(&mut s.rows, self.z.len(), 0.0);
        reset(&mut s.forces, self.x.len(), 0.0);
        reset(&mut s.turn, if impulses { self.z.len() } else { 0 }, 0.0);
        self.sensitivity.adjoint_at(&s.dx, &s.dz, &mut s.rows, &mut s.forces, &mut s.turn)?;
        // `d`: weights on the balance of each dof
        for (d, variable) in s.d.iter_mut().zip(&system.variable_of_dof) {
            *d = variable.map_or(0.0, |variable| s.forces[variable as usize]);
        }
        reduction.follow(&mut s.d);

        let pressing = s.forces.iter().skip(system.block_of_variable.len());
        for (by, &dof) in pressing.zip(&system.rubbing) {
            out.time_step -= by * model.friction()[dof];
        }
        reset(&mut s.grow, self.contacts.len(), 0.0);
        let first = system.block_of_variable.len() + system.rubbing.len();
        for (by, &k) in s.forces[first..].iter().zip(&work.problem.giving) {
            let contact = &self.contacts[k as usize];
            let by = by * contact.compliance.sqrt() / h;
            s.grow[k as usize] = -by * contact.lambda[0];
            out.compliance[k as usize] = by * contact.lambda[0] / contact.compliance;
            out.time_step -= by * 2.0 * contact.lambda[0] / h;
        }
        for (dof, (by, damping)) in s.d.iter().zip(model.damping()).enumerate() {
            out.time_step -= by * damping * v[dof];
        }
        out.tau.iter_mut().zip(&s.d).for_each(|(tau, by)| *tau = h * by);
        out.time_step += self.constants.tau.iter().zip(&s.d).map(|(tau, by)| tau * by).sum::<f64>();
        for spring in &self.springs {
            let (by, cmd) = (s.d[spring.dof], spring.cmd);
            out.damping[cmd] += by * h * spring.rate;
            out.time_step += by * spring.damping * spring.rate;
            if spring.on_error {
                out.v_cmd[cmd] += by * h * spring.damping;
            }
            if let Some(force) = spring.limited {
                out.time_step += by * force;
            } else {
                let by_stretch = by * h * spring.stiffness;
                out.stiffness[cmd] += by * h * spring.stretch;
                out.time_step +=
                    by * spring.stiffness * spring.stretch - by_stretch * v[spring.dof];
                s.c[spring.dof] += by_stretch;
            }
        }
        for limit in &self.limits {
            let by = s.rows[limit.row];
            s.a[limit.dof] += by * limit.sign * limit.per_gap;
            out.time_step += by * limit.per_h;
        }

        // `moves`: weights on forces of bodies; `dF`: gradient by the bodies' motion; `dF2`: by their twists
        for forces in [&mut s.dF, &mut s.dF2] {
            reset(forces, n_bodies, SpatialForce::ZERO);
        }
        reset(&mut s.moves, n_bodies, Twist::ZERO);
        if self.inertia {
            reset(&mut s.forces, n_v, 0.0);
            for dof in 0..n_v {
                if system.is_passive(dof) {
                    s.forces[dof] = -s.d[dof];
                }
            }
            model.twists(kin, &s.forces, &mut s.moves);
            for (i, body) in model.bodies().iter().enumerate() {
                if body.inertia.mass > 0.0 {
                    out.mass[i] += s.moves[i].dot(&self.momenta[i]) / body.inertia.mass;
                }
                // of `by · (dp × l, m w × dp)` at the centre of mass
                let (by, w, l) = (s.moves[i], self.V_passive[i].w_W, self.momenta[i].f_W);
                let by_p = l.cross(by.w_W) + by.at(kin.p_WBcm[i]).cross(w) * body.inertia.mass;
                let to_B = kin.X_WB[i].rotation.inverse();
                add3(&mut out.com, 3 * i, to_B.rotate(by_p));
                let (a, b) = (to_B.rotate(by.w_W).to_array(), to_B.rotate(w).to_array());
                for (k, to) in out.inertia[6 * i..6 * i + 3].iter_mut().enumerate() {
                    *to += a[k] * b[k];
                }
                let off = [(0, 1), (0, 2), (1, 2)];
                for (to, (j, k)) in out.inertia[6 * i + 3..6 * i + 6].iter_mut().zip(off) {
                    *to += a[j] * b[k] + a[k] * b[j];
                }
            }
            s.moves.iter_mut().zip(&self.scale.of_body).for_each(|(w, factor)| *w = *w * *factor);
            model.gradient_of_momentum_changes(
                kin,
                &self.V_passive,
                &s.moves,
                &mut s.dF,
                &mut s.dF2,
            );
            model.gradient_of_turned_generalised(
                kin,
                &s.forces,
                &self.momenta_gathered,
                &mut s.a,
                &mut s.dF,
            );
            model.gradient_of_twist_changes(kin, &self.v_passive, &mut s.dF2, &mut s.a, &mut s.dF);
            reset(&mut s.dF2, n_bodies, SpatialForce::ZERO);
            if self.scale.on {
                let trees = &self.matrices.trees.of_body;
                self.scale.gradient(system, trees, &s.d, h, out, &mut s.a);
            }
        }
        model.twists(kin, &s.d, &mut s.moves);
        model.gradient_of_turned_generalised(kin, &s.d, &self.gathered, &mut s.a, &mut s.dF);
        let g = Vec3::from(self.constants.gravity);
        for (i, body) in model.bodies().iter().enumerate() {
            let (p, by) = (kin.p_WBcm[i], s.moves[i]);
            if body.gravity {
                out.mass[i] += by.at(p).dot(g) * h;
                let y = g.cross(by.w_W) * (h * body.inertia.mass);
                s.dF[i] += SpatialForce::at(p, y, Vec3::ZERO);
                add3(&mut out.com, 3 * i, kin.X_WB[i].rotation.inverse().rotate(y));
            }
            out.wrench[6 * i..6 * i + 3].copy_from_slice(&(by.w_W * h).to_array());
            let origin = kin.X_WB[i].translation;
            out.wrench[6 * i + 3..6 * i + 6].copy_from_slice(&(by.at(origin) * h).to_array());
            out.time_step += by.dot(&self.per_h[i]);
        }
        for (body, p_W, force) in &self.constants.wrenches {
            let y = force.cross(s.moves[*body].w_W) * h;
            s.dF[*body] += SpatialForce::at(*p_W, y, Vec3::ZERO);
        }
        for (pull, at) in work.load.cartesian.iter().zip(system.rates_of_springs()) {
            let gradient = pull.gradient(s.moves[pull.body], self.V[pull.body], h);
            s.dF[pull.body] += gradient.motion;
            s.dF2[pull.body] += gradient.twist;
            out.q_cmd[at].copy_from_slice(&gradient.command.to_array());
            out.time_step += gradient.time_step;
        }

        self.constraint_gradient(system, out);
        let Self { scratch: s, work, .. } = self;
        // contacts; `dV`, `dV2` would be twists: their weights are forces
        reset(&mut s.areas, work.contacts.areas.len(), [0.0; 3]);
        let mut to_W: Vec<SpatialForce> = Vec::new();
        if impulses {
            to_W.resize(n_bodies, SpatialForce::ZERO);
        }
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
            frame.phi = by[0] * contact.per_phi;
            frame.grow = s.grow[k];
            out.time_step += by[0] * contact.per_h;
            let W = if impulses { of(&self.W) } else { [Twist::ZERO; 2] };
            if impulses {
                contact.rate_gradient(W, &by_turn, &mut frame, two(&mut to_W, contact.bodies));
            }
            let (f, m) = force_of(k);
            let mut by_lambda = contact.force_gradient(of(&s.moves), f, m, &mut frame);
            // the normal impulse is asked for without its direction
            by_lambda[0] += weights.normal.get(k).copied().unwrap_or(0.0);
            if let Some(area) = contact.area {
                let own = &mut s.areas[area];
                let by = [frame.lever[0], frame.lever[1], frame.spin];
                own.iter_mut().zip(by).for_each(|(own, by)| *own += by);
            }
            contact.frame_gradient(&frame, two(&mut s.dF, contact.bodies));
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
        if impulses {
            self.constraint_turn_gradient(&mut to_W);
        }
        let Self { scratch: s, work, .. } = self;
        let (kin, v) = (&work.scan.kin, &work.report.v);
        if impulses {
            model.gradient_of_twist_changes(kin, &self.w, &mut to_W, &mut s.a, &mut s.dF);
        }
        model.gradient_of_twist_changes(kin, v, &mut s.dF2, &mut s.a, &mut s.dF);
        // known rates move bodies too
        reset(&mut s.forces, n_v, 0.0);
        model.add_generalised(kin, &s.dF2, &mut s.forces);
        let mut cmd = 0;
        for &body in system.commanded() {
            for dof in model.body(body).v.clone() {
                if system.roles[body] == Role::Prescribed {
                    let by = s.known[dof] + s.forces[dof];
                    if self.constants.secant {
                        s.c[dof] += by / h;
                        out.time_step -= by * v[dof] / h;
                    } else {
                        out.v_cmd[cmd] += by;
                    }
                }
                cmd += 1;
            }
        }
        // Δq_cmd: to q and to the command
        reset(&mut s.d, n_v, 0.0);
        reset(&mut s.forces, n_v, 0.0);
        model.difference_gradient(&self.q, &self.q_target, &s.c, &mut s.forces, &mut s.d);
        s.a.iter_mut().zip(&s.forces).for_each(|(a, f)| *a += f);
        s.b.iter_mut().zip(&s.d).for_each(|(b, d)| *b += d);
        model.gather(&mut s.dF);
        model.add_generalised(kin, &s.dF, &mut s.a);
        out.q.copy_from_slice(&s.a);
        let mut cmd = 0;
        for &body in system.commanded() {
            for dof in model.body(body).v.clone() {
                out.q_cmd[cmd] = s.b[dof];
                cmd += 1;
            }
        }
        if let Some(pressure) = &mut self.pressure {
            pressure.add_gradient(system, &self.scratch.areas, out)?;
        }
        Ok(())
    }
}
