//! Inertia: of passive dofs in quasi-static steps, or of all dofs against the change of velocity in
//! dynamic steps.

use super::change::{InputChange, reset, vec3};
use super::loads::add3;
use super::prepared::Derivatives;
use crate::params::{Inertia, Relaxation, StepParams};
use crate::system::System;
use quasistep_model::{SpatialForce, Twist};

impl Derivatives {
    /// Momenta of bodies at the rates that inertia resists, if there is any.
    pub(super) fn collect_inertia(&mut self, system: &System, params: &StepParams) {
        self.inertia = self.start.carried || params.inertia == Inertia::Mass;
        if !self.inertia {
            return;
        }
        let (model, work) = (&system.model, &self.work);
        let (kin, v) = (&work.scan.kin, &work.report.v);
        let n_bodies = model.n_bodies();
        self.v_inert.clear();
        if self.start.carried {
            self.v_inert.extend(v.iter().zip(&work.load.v_start).map(|(v, start)| v - start));
        } else {
            let of = |(dof, v): (usize, &f64)| if system.is_passive(dof) { *v } else { 0.0 };
            self.v_inert.extend(v.iter().enumerate().map(of));
        }
        self.V_inert.resize(n_bodies, Twist::ZERO);
        model.twists(kin, &self.v_inert, &mut self.V_inert);
        self.momenta.resize(n_bodies, SpatialForce::ZERO);
        model.momenta(kin, &self.V_inert, &mut self.momenta);
        self.collect_mass_scales(system, params);
    }

    /// Scales the momenta as the step's program does, and computes the derivatives of the scale.
    fn collect_mass_scales(&mut self, system: &System, params: &StepParams) {
        let (model, kin) = (&system.model, &self.work.scan.kin);
        let (n_v, n_bodies) = (model.n_v(), model.n_bodies());
        let scales = &self.work.problem.mass_scales;
        // dynamic steps do not scale mass
        let uniform = if self.start.carried { 1.0 } else { scales.uniform };
        let scales = if self.start.carried { &[][..] } else { &scales.of_block[..] };
        let trees = &self.matrices.trees;
        let at = &mut self.scale;
        let of = |body: usize| {
            trees.blocks[trees.of_body[body]]
                .and_then(|(block, _)| scales.get(block))
                .filter(|s| s.largest > 0.0)
        };
        reset(&mut at.of_body, n_bodies, uniform);
        let mut e = vec![0.0; n_v];
        if !scales.is_empty() {
            for (body, factor) in at.of_body.iter_mut().enumerate() {
                let scale = of(body);
                *factor = scale.map_or(1.0, |scale| scale.factor);
                scale.inspect(|scale| e[scale.dof] = 1.0);
            }
        }
        self.momenta.iter_mut().zip(&at.of_body).for_each(|(p, factor)| *p = *p * *factor);
        self.momenta_gathered.clone_from(&self.momenta);
        model.gather(&mut self.momenta_gathered);
        reset(&mut at.impulse, n_v, 0.0);
        model.add_generalised(kin, &self.momenta_gathered, &mut at.impulse);
        for dof in (0..n_v).filter(|&dof| !self.start.resists(system, dof)) {
            at.impulse[dof] = 0.0;
        }
        reset(&mut at.log_by_q, n_v, 0.0);
        reset(&mut at.log_by_mass, n_bodies, 0.0);
        (at.log_by_h, at.log_by_relaxation, at.softest) = (0.0, 0.0, None);
        at.on = !scales.is_empty();
        if scales.is_empty() {
            if let (Relaxation::Time(tau), false) = (params.relaxation, self.start.carried) {
                at.on = true;
                at.log_by_h = params.time_step.recip();
                at.log_by_relaxation = -tau.recip();
            }
            return;
        }
        at.log_by_h = 2.0 / params.time_step;
        at.softest =
            system.softest_spring().and_then(|(K, dof)| trees.cmd_of_dof[dof].map(|cmd| (cmd, K)));

        // −δ(V · p)/M_kk, with p the momenta of the twists V at the rates e
        let (mut V, mut p) = (vec![Twist::ZERO; n_bodies], vec![SpatialForce::ZERO; n_bodies]);
        model.twists(kin, &e, &mut V);
        model.momenta(kin, &V, &mut p);
        let mut weights = vec![Twist::ZERO; n_bodies];
        let (mut to_moves, mut to_twists) = (vec![SpatialForce::ZERO; n_bodies], p.clone());
        for body in 0..n_bodies {
            let by = of(body).map_or(0.0, |scale| -1.0 / scale.largest);
            weights[body] = V[body] * by;
            to_twists[body] = p[body] * by;
            let mass = model.body(body).inertia.mass;
            if mass > 0.0 {
                at.log_by_mass[body] = by * V[body].dot(&p[body]) / mass;
            }
        }
        model.gradient_of_momentum_changes(kin, &V, &weights, &mut to_moves, &mut to_twists);
        model.gradient_of_twist_changes(kin, &e, &mut to_twists, &mut at.log_by_q, &mut to_moves);
        model.gather(&mut to_moves);
        model.add_generalised(kin, &to_moves, &mut at.log_by_q);
    }

    /// Subtracts the changes of momenta (`dF2`) from the forces on dofs (`d`).
    pub(super) fn change_of_inertia(&mut self, system: &System, change: &InputChange) {
        if !self.inertia {
            return;
        }
        let (model, n_bodies) = (&system.model, system.model.n_bodies());
        let Self { scratch: s, work, .. } = self;
        let kin = &work.scan.kin;
        model.twist_changes(kin, &s.a, &s.moves, &self.v_inert, &mut s.dV2);
        if self.start.carried {
            s.dV2.iter_mut().zip(&s.start.known).for_each(|(d, known)| *d += *known);
        }
        reset(&mut s.dF2, n_bodies, SpatialForce::ZERO);
        model.momentum_changes(kin, &s.moves, &self.V_inert, &s.dV2, &mut s.dF2);
        s.dF2.iter_mut().zip(&self.scale.of_body).for_each(|(f, factor)| *f = *f * *factor);
        self.add_changes_of_mass(system, change);
        let Self { scratch: s, work, .. } = self;
        let kin = &work.scan.kin;
        model.gather(&mut s.dF2);
        reset(&mut s.forces, model.n_v(), 0.0);
        model.add_turned_generalised(kin, &s.a, &s.moves, &self.momenta_gathered, &mut s.forces);
        model.add_generalised(kin, &s.dF2, &mut s.forces);
        for dof in 0..model.n_v() {
            if self.start.resists(system, dof) {
                s.d[dof] -= s.forces[dof];
            }
        }
        if self.start.carried {
            let of_rotors = model.armature().iter().zip(&s.start.v);
            s.d.iter_mut().zip(of_rotors).for_each(|(d, (rotor, v))| *d += rotor * v);
        }
        if self.scale.on {
            let trees = &self.matrices.trees.of_body;
            self.scale.change(system, trees, change, &mut s.d);
        }
    }

    /// Adds changes of the momenta of bodies (`dF2`) with mass, centre of mass and inertia.
    fn add_changes_of_mass(&mut self, system: &System, change: &InputChange) {
        let model = &system.model;
        let Self { scratch: s, work, .. } = self;
        let kin = &work.scan.kin;
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
                // p × m v and its change: a moved centre of mass also has another velocity
                let (p, V, l) = (kin.p_WBcm[i], self.V_inert[i], self.momenta[i].f_W);
                let dl = V.w_W.cross(dp) * (self.scale.of_body[i] * body.inertia.mass);
                s.dF2[i] += SpatialForce { m_Wo_W: dp.cross(l) + p.cross(dl), f_W: dl };
            }
        }
        for (i, dI) in change.inertia.chunks_exact(6).enumerate() {
            let R = kin.X_WB[i].rotation;
            let [x, y, z] = R.inverse().rotate(self.V_inert[i].w_W).to_array();
            let [xx, yy, zz, xy, xz, yz] = std::array::from_fn(|k| dI[k]);
            let l = [xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z];
            s.dF2[i].m_Wo_W += R.rotate(l.into()) * self.scale.of_body[i];
        }
    }

    /// Transpose of the inertia's change, for weights on forces on dofs (`d`): adds gradients with
    /// respect to the motion of bodies (`dF`).
    pub(super) fn gradient_of_inertia(&mut self, system: &System, out: &mut InputChange) {
        if !self.inertia {
            return;
        }
        let (model, n_v, n_bodies) = (&system.model, system.model.n_v(), system.model.n_bodies());
        let Self { scratch: s, work, .. } = self;
        reset(&mut s.forces, n_v, 0.0);
        for dof in 0..n_v {
            if self.start.resists(system, dof) {
                s.forces[dof] = -s.d[dof];
            }
        }
        model.twists(&work.scan.kin, &s.forces, &mut s.moves);
        self.add_gradients_of_mass(system, out);
        let Self { scratch: s, work, .. } = self;
        let kin = &work.scan.kin;
        s.moves.iter_mut().zip(&self.scale.of_body).for_each(|(w, factor)| *w = *w * *factor);
        model.gradient_of_momentum_changes(kin, &self.V_inert, &s.moves, &mut s.dF, &mut s.dF2);
        model.gradient_of_turned_generalised(
            kin,
            &s.forces,
            &self.momenta_gathered,
            &mut s.a,
            &mut s.dF,
        );
        model.gradient_of_twist_changes(kin, &self.v_inert, &mut s.dF2, &mut s.a, &mut s.dF);
        if self.start.carried {
            reset(&mut s.forces, n_v, 0.0);
            model.add_generalised(kin, &s.dF2, &mut s.forces);
            s.known.iter_mut().zip(&s.forces).for_each(|(known, by)| *known += by);
            out.v.iter_mut().zip(&s.forces).for_each(|(v, by)| *v -= by);
            let of_rotors = model.armature().iter().zip(&s.d);
            out.v.iter_mut().zip(of_rotors).for_each(|(v, (rotor, d))| *v += rotor * d);
        }
        reset(&mut s.dF2, n_bodies, SpatialForce::ZERO);
        if self.scale.on {
            let trees = &self.matrices.trees.of_body;
            self.scale.gradient(system, trees, &s.d, out, &mut s.a);
        }
    }

    /// Adds gradients with respect to mass, centre of mass and inertia, for weights on the momenta
    /// of bodies (`moves`).
    fn add_gradients_of_mass(&mut self, system: &System, out: &mut InputChange) {
        let Self { scratch: s, work, .. } = self;
        let kin = &work.scan.kin;
        for (i, body) in system.model.bodies().iter().enumerate() {
            if body.inertia.mass > 0.0 {
                out.mass[i] += s.moves[i].dot(&self.momenta[i]) / body.inertia.mass;
            }
            // gradient of `by · (dp × l, m w × dp)` at the centre of mass
            let (by, w, l) = (s.moves[i], self.V_inert[i].w_W, self.momenta[i].f_W);
            let scale = self.scale.of_body[i];
            let by_p =
                l.cross(by.w_W) + by.at(kin.p_WBcm[i]).cross(w) * (scale * body.inertia.mass);
            let to_B = kin.X_WB[i].rotation.inverse();
            add3(&mut out.com, 3 * i, to_B.rotate(by_p));
            let (a, b) = (to_B.rotate(by.w_W * scale).to_array(), to_B.rotate(w).to_array());
            for (k, to) in out.inertia[6 * i..6 * i + 3].iter_mut().enumerate() {
                *to += a[k] * b[k];
            }
            let off = [(0, 1), (0, 2), (1, 2)];
            for (to, (j, k)) in out.inertia[6 * i + 3..6 * i + 6].iter_mut().zip(off) {
                *to += a[j] * b[k] + a[k] * b[j];
            }
        }
    }
}
