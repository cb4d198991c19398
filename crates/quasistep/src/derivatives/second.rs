//! Second derivatives of a step's geometry as matrices, for all directions at once.
//!
//! The change of the program at its solution is linear in the motion: `δf = F δq`, and `δ(J v − b)
//! = S δq` for each contact. Both depend on the motions of two bodies, as twists. For a contact
//! between A and B
//!
//! ```text
//! S = s_A J_A + s_B J_B,     F = Σ_xy J_xᵀ f_xy J_y,     x, y ∈ {A, B}
//! ```
//!
//! with the joint columns `J` that move a body, a row `s` of six numbers for each direction of the
//! contact, and a 6 × 6 matrix `f`, summed over all contacts of the two bodies. The rotation of the
//! columns themselves is added. Let `V_c` be the twist of the body of joint `c`, without the
//! joint's own rotation if `c` slides. The part of a body B's motion that column `c` carries
//! changes with `V_B − V_c`. A weight `w` on the change of `V_B` thus gives the weight
//!
//! ```text
//! Σ_k (S_c × S_k) v_k · w = S_c · ((V_B − V_c) ×* w) = S_c · (V_B ×* w) − (S_c × V_c) · w        k carried by c, on the path to B
//! ```
//!
//! on `δq_c`. The rows of `F` are those of the program's forces. They equal the gradients of
//! contacts, loads, inertia and twists for unit weights.

use super::contact::{ContactAt, FrameWeights};
use super::memory::{IDLE, Second, StartColumn};
use super::prepared::{Constants, Derivatives};
use super::trees::Trees;
use crate::formulation::edges::WAYS;
use crate::system::System;
use quasistep_math::{Mat3, Vec3};
use quasistep_model::{Column, Kinematics, SpatialForce, Twist};

/// Gradients with respect to the motions of two bodies.
type Two = [SpatialForce; 2];

/// Weighted sum of six terms.
fn sum<T: Copy + std::ops::Mul<f64, Output = T> + std::ops::Add<Output = T>>(
    by: &Twist,
    of: impl Fn(usize) -> T,
) -> T {
    let (w, v) = (by.w_W, by.v_Wo_W);
    of(0) * w.x + of(1) * w.y + of(2) * w.z + of(3) * v.x + of(4) * v.y + of(5) * v.z
}

/// `Σ_i v_i of_i`.
fn along(v: Vec3, of: &[Two; 3]) -> Two {
    [0, 1].map(|side| of[0][side] * v.x + of[1][side] * v.y + of[2][side] * v.z)
}

fn plus(a: Two, b: Two) -> Two {
    [a[0] + b[0], a[1] + b[1]]
}

fn minus(a: Two) -> Two {
    a.map(|a| a * -1.0)
}

/// `S_c × V_c` for each column.
fn cross_columns(
    system: &System,
    kin: &Kinematics,
    V: &[Twist],
    rates: &[f64],
    out: &mut Vec<Twist>,
) {
    out.clear();
    for body in 0..system.model.n_bodies() {
        let columns = &kin.columns[system.model.columns_of(body)];
        let turn = columns
            .iter()
            .filter(|c| c.turns())
            .fold(Twist::ZERO, |sum, c| sum + c.twist() * rates[c.dof as usize]);
        let before = V[body] + turn * -1.0;
        out.extend(
            columns.iter().map(|c| c.twist().cross(if c.turns() { &V[body] } else { &before })),
        );
    }
}

/// Gradients that form a contact's `f`: with respect to the motions of both bodies, for unit
/// weights on their forces, `[body][weight]`.
type Pair = [[Two; 6]; 2];

const NOTHING: Pair = [[[SpatialForce::ZERO; 2]; 6]; 2];

impl ContactAt {
    /// Adds the gradients of a contact's forces on both bodies.
    fn add_force_gradients(&self, to: &mut Pair) {
        let of_frame = |frame: &FrameWeights| {
            let mut two = [SpatialForce::ZERO; 2];
            self.frame_gradient(frame, two.each_mut());
            two
        };
        let still = [Twist::ZERO; 2];
        let by_f = Vec3::AXES.map(|f| {
            let mut frame = FrameWeights::default();
            self.force_gradient(still, f, Vec3::ZERO, &mut frame);
            of_frame(&frame)
        });
        let turns = self.ways[..self.n_ways].iter().any(|way| *way >= 3);
        let by_m = Vec3::AXES.map(|m| {
            if !turns {
                return [SpatialForce::ZERO; 2];
            }
            let mut frame = FrameWeights::default();
            self.force_gradient(still, Vec3::ZERO, m, &mut frame);
            of_frame(&frame)
        });
        let by_p = [0, 1].map(|side| {
            Vec3::AXES.map(|p| {
                let mut frame = FrameWeights::default();
                frame.p[side] = p;
                of_frame(&frame)
            })
        });
        let (f, _) = self.force(&self.lambda);
        for (x, axis) in Vec3::AXES.into_iter().enumerate() {
            // moment about the origin: from the force at the point, from the torque, and from the
            // motion of the point
            let turned = |side: usize, f: Vec3| {
                plus(
                    along(axis.cross(self.p[side]), &by_f),
                    plus(by_m[x], along(f.cross(axis), &by_p[side])),
                )
            };
            let [a, b] = to;
            a[x] = plus(a[x], minus(turned(0, f)));
            a[3 + x] = plus(a[3 + x], minus(by_f[x]));
            b[x] = plus(b[x], turned(1, f));
            b[3 + x] = plus(b[3 + x], by_f[x]);
        }
    }
}

impl Second {
    /// `F` and `F_v` for the rows of a block and the dofs of a tree, if nonzero.
    pub fn forces(
        &self,
        trees: &Trees,
        block: usize,
        dim: usize,
        tree: usize,
    ) -> Option<[Option<&[f64]>; 2]> {
        let places = &trees.places[tree];
        let first = self.F_at[block] + dim * places.start;
        let own = first..first + dim * places.len();
        self.touched[block * trees.places.len() + tree]
            .then(|| [self.F.get(own.clone()), self.F_v.get(own)])
    }

    /// Computes all matrices of the step that `d` differentiated.
    pub fn assemble(&mut self, system: &System, trees: &Trees, d: &Derivatives) {
        let kin = &d.work.scan.kin;
        let v = &d.work.report.v;
        let n_v = system.model.n_v();
        self.F_at.clear();
        let mut at = 0;
        for dim in &system.block_dims {
            self.F_at.push(at);
            at += dim * n_v;
        }
        self.F.clear();
        self.F.resize(at, 0.0);
        self.F_v.clear();
        self.F_v.resize(if d.start.carried { at } else { 0 }, 0.0);
        self.touched.clear();
        self.touched.resize(system.block_dims.len() * trees.places.len(), false);
        cross_columns(system, kin, &d.V, v, &mut self.crossed);
        self.cross_start(system, d);
        self.contacts(system, trees, d);
        self.weights(system, trees, d);
        self.springs(system, trees, d);
        self.turned(system, trees, kin, &d.gathered, |_| 1.0);
        if d.inertia {
            self.momenta(system, trees, d);
        }
        if d.start.carried {
            self.velocity_forces(system, trees, d);
        }
    }

    fn contacts(&mut self, system: &System, trees: &Trees, d: &Derivatives) {
        let kin = &d.work.scan.kin;
        let follows = d.constants.secant && system.variable_of_dof.contains(&None);
        self.S.clear();
        self.S_at.clear();
        self.known.clear();
        self.S_v.clear();
        let (mut pair, mut bodies) = (NOTHING, None);
        for (k, contact) in d.contacts.iter().enumerate() {
            if d.sensitivity.is_idle(k) {
                self.S_at.push(IDLE);
                continue;
            }
            let at = self.S.len();
            self.S_at.push(at);
            let widths = contact.bodies.map(|body| trees.places_of(body).len());
            self.S.resize(at + contact.n_ways * (widths[0] + widths[1]), 0.0);
            if follows {
                self.known.resize(self.S.len(), 0.0);
            }
            if d.start.carried {
                self.S_v.resize(self.S.len(), 0.0);
            }
            let V = contact.bodies.map(|body| d.V[body]);
            for r in 0..contact.n_ways {
                let mut by = [0.0; WAYS];
                by[contact.ways[r] as usize] = contact.scales[r];
                let mut frame = FrameWeights::default();
                let (mut moves, mut twists) = ([SpatialForce::ZERO; 2], [SpatialForce::ZERO; 2]);
                contact.rate_gradient(V, &by, &mut frame, twists.each_mut());
                frame.phi = by[0] * contact.per_phi;
                // contribution of the start velocity through restitution
                let mut bounce = None;
                if contact.bounce > 0.0 && by[0] != 0.0 {
                    let V = contact.bodies.map(|body| d.start.V[body]);
                    let (mut own, mut to) = ([0.0; WAYS], [SpatialForce::ZERO; 2]);
                    own[0] = contact.bounce * by[0];
                    contact.rate_gradient(V, &own, &mut frame, to.each_mut());
                    bounce = Some((V, to));
                }
                contact.frame_gradient(&frame, moves.each_mut());
                for side in 0..2 {
                    let body = contact.bodies[side];
                    let first = trees.places_of(body).start;
                    let row = at + contact.n_ways * widths[0] * side + r * widths[side];
                    let mut by = moves[side] + V[side].cross_dual(&twists[side]);
                    if let Some((V, to)) = &bounce {
                        by += V[side].cross_dual(&to[side]);
                    }
                    for &c in trees.path(body) {
                        let column = &kin.columns[c as usize];
                        let to = row + trees.place_of_dof[column.dof as usize] - first;
                        let turned = self.crossed[c as usize].dot(&twists[side]);
                        self.S[to] += column.twist().dot(&by) - turned;
                        if let Some((_, by_start)) = &bounce {
                            let start = &self.crossed_start[c as usize];
                            self.S[to] -= start.by_V.dot(&by_start[side]);
                            self.S_v[to] += column.twist().dot(&by_start[side]);
                        }
                        if follows && system.variable_of_dof[column.dof as usize].is_none() {
                            self.known[to] += column.twist().dot(&twists[side]) / d.time_step;
                        }
                    }
                }
            }
            if contact.lambda == [0.0; WAYS] {
                continue;
            }
            if bodies != Some(contact.bodies) {
                if let Some(bodies) = bodies {
                    self.add_pair(system, trees, kin, bodies, &pair);
                }
                (pair, bodies) = (NOTHING, Some(contact.bodies));
            }
            contact.add_force_gradients(&mut pair);
        }
        if let Some(bodies) = bodies {
            self.add_pair(system, trees, kin, bodies, &pair);
        }
    }

    /// Calls `each` with the variables that move a body: their columns, and the position of their
    /// rows of `F` for the dofs of a tree.
    fn rows<'a>(
        &mut self,
        system: &'a System,
        trees: &'a Trees,
        kin: &'a Kinematics,
        body: usize,
        by: usize,
    ) -> impl Iterator<Item = (&'a Column, usize)> + use<'a> {
        let places = trees.places_of(by);
        let start = trees.blocks[trees.of_body[body]].map(|(block, dim)| {
            self.touched[block * trees.places.len() + trees.of_body[by]] = true;
            self.F_at[block] + dim * places.start
        });
        trees.path(body).iter().filter_map(move |c| {
            let column = &kin.columns[*c as usize];
            let variable = system.variable_of_dof[column.dof as usize]? as usize;
            let row = system.block_of_variable[variable].1 as usize;
            Some((column, start? + row * places.len()))
        })
    }

    /// `F += Σ J_xᵀ f_xy J_y`.
    fn add_pair(
        &mut self,
        system: &System,
        trees: &Trees,
        kin: &Kinematics,
        bodies: [usize; 2],
        pair: &Pair,
    ) {
        for (x, body) in bodies.into_iter().enumerate() {
            for (y, by) in bodies.into_iter().enumerate() {
                let first = trees.places_of(by).start;
                for (column, row) in self.rows(system, trees, kin, body, by) {
                    let force = sum(&column.twist(), |i| pair[x][i][y]);
                    for &c in trees.path(by) {
                        let column = &kin.columns[c as usize];
                        let place = trees.place_of_dof[column.dof as usize] - first;
                        self.F[row + place] += column.twist().dot(&force);
                    }
                }
            }
        }
    }

    /// Gravity and wrenches: forces of constant direction in W at moving points.
    fn weights(&mut self, system: &System, trees: &Trees, d: &Derivatives) {
        let (kin, h) = (&d.work.scan.kin, d.time_step);
        let Constants { gravity, wrenches, .. } = &d.constants;
        let g = Vec3::from(*gravity);
        let bodies = system.model.bodies().iter().enumerate();
        let weights = bodies.map(|(i, body)| (i, kin.p_WBcm[i], g * body.weight_mass()));
        for (body, p, force) in weights.chain(wrenches.iter().copied()) {
            if force == Vec3::ZERO {
                continue;
            }
            let first = trees.places_of(body).start;
            for (column, row) in self.rows(system, trees, kin, body, body) {
                let turned = force.cross(column.twist().w_W) * h;
                if turned == Vec3::ZERO {
                    continue;
                }
                let force = SpatialForce::at(p, turned, Vec3::ZERO);
                for &c in trees.path(body) {
                    let column = &kin.columns[c as usize];
                    let place = trees.place_of_dof[column.dof as usize] - first;
                    self.F[row + place] += column.twist().dot(&force);
                }
            }
        }
    }

    /// Cartesian springs, whose forces change as their bodies translate and rotate.
    fn springs(&mut self, system: &System, trees: &Trees, d: &Derivatives) {
        let kin = &d.work.scan.kin;
        for pull in &d.work.load.cartesian {
            let (body, V) = (pull.body, d.V[pull.body]);
            let first = trees.places_of(body).start;
            for (column, row) in self.rows(system, trees, kin, body, body) {
                let by = pull.gradient(column.twist(), V, d.time_step);
                let force = by.motion + V.cross_dual(&by.twist);
                for &c in trees.path(body) {
                    let column = &kin.columns[c as usize];
                    let place = trees.place_of_dof[column.dof as usize] - first;
                    let turned = self.crossed[c as usize].dot(&by.twist);
                    self.F[row + place] += column.twist().dot(&force) - turned;
                }
            }
        }
    }

    /// Adds the rotation of columns against `gathered` forces, with a weight for each dof.
    fn turned(
        &mut self,
        system: &System,
        trees: &Trees,
        kin: &Kinematics,
        gathered: &[SpatialForce],
        weight: impl Fn(usize) -> f64,
    ) {
        for body in 1..system.model.n_bodies() {
            let own = system.model.columns_of(body);
            if own.is_empty() {
                continue;
            }
            let first = trees.places_of(body).start;
            let inboard = trees.path(system.model.body(body).parent);
            for (column, row) in self.rows(system, trees, kin, body, body) {
                // on a path use only the joint's own columns, which come last
                if !kin.columns[own.clone()].iter().any(|c| std::ptr::eq(c, column)) {
                    continue;
                }
                let by = weight(column.dof as usize);
                let force = column.twist().cross_dual(&gathered[body]) * by;
                let slides = own.clone().filter(|c| column.turns() && !kin.columns[*c].turns());
                for c in inboard.iter().map(|c| *c as usize).chain(slides) {
                    let carrier = &kin.columns[c];
                    let place = trees.place_of_dof[carrier.dof as usize] - first;
                    self.F[row + place] += carrier.twist().dot(&force);
                }
            }
        }
    }

    /// Adds the contribution of the scale of passive mass.
    fn scales(&mut self, system: &System, trees: &Trees, d: &Derivatives) {
        for (tree, places) in trees.places.iter().enumerate() {
            let Some((block, _)) = trees.blocks[tree] else { continue };
            let dofs = &trees.dof_at[places.clone()];
            for (row, &dof) in trees.variables_of_block(system, block).iter().enumerate() {
                self.touched[block * trees.places.len() + tree] = true;
                let to = self.F_at[block] + system.block_dims[block] * places.start;
                let own = &mut self.F[to + row * dofs.len()..][..dofs.len()];
                own.iter_mut().zip(dofs).for_each(|(F, &by)| *F += d.scale.entry(dof, by));
            }
        }
    }

    /// Adds the contribution of inertia: of passive dofs, or of all dofs.
    fn momenta(&mut self, system: &System, trees: &Trees, d: &Derivatives) {
        let (model, kin) = (&system.model, &d.work.scan.kin);
        cross_columns(system, kin, &d.V_inert, &d.v_inert, &mut self.crossed_inert);
        for (body, V) in d.V_inert.iter().enumerate() {
            let inertia = &model.body(body).inertia;
            if inertia.mass == 0.0 && inertia.inertia == Mat3::ZERO {
                continue;
            }
            // bodies that no passive joint moves have no passive column
            let mut momentum = None;
            let first = trees.places_of(body).start;
            for (column, row) in self.rows(system, trees, kin, body, body) {
                if !d.start.resists(system, column.dof as usize) {
                    continue;
                }
                let momentum = momentum.get_or_insert_with(|| model.momentum_of(kin, body, *V));
                let [by_move, by_twist] = momentum.gradient(&column.twist());
                let force = by_move + V.cross_dual(&by_twist);
                let factor = d.scale.of_body[body];
                for &c in trees.path(body) {
                    let column = &kin.columns[c as usize];
                    let place = trees.place_of_dof[column.dof as usize] - first;
                    let turned = self.crossed_inert[c as usize].dot(&by_twist);
                    self.F[row + place] -= factor * (column.twist().dot(&force) - turned);
                }
            }
        }
        let minus = |dof: usize| if d.start.resists(system, dof) { -1.0 } else { 0.0 };
        self.turned(system, trees, kin, &d.momenta_gathered, minus);
        if d.scale.on {
            self.scales(system, trees, d);
        }
    }

    /// Computes the products of columns with the motion at the start.
    fn cross_start(&mut self, system: &System, d: &Derivatives) {
        self.crossed_start.clear();
        if !d.start.carried {
            return;
        }
        let (model, kin, at) = (&system.model, &d.work.scan.kin, &d.start);
        for body in 0..model.n_bodies() {
            let columns = &kin.columns[model.columns_of(body)];
            let turns = || columns.iter().filter(|c| c.turns());
            let turn = turns().fold(Twist::ZERO, |sum, c| sum + c.twist() * at.v[c.dof as usize]);
            let before = at.V[body] + turn * -1.0;
            let turn_A = turns()
                .fold(Twist::ZERO, |sum, c| sum + before.cross(&c.twist()) * at.v[c.dof as usize]);
            self.crossed_start.extend(columns.iter().map(|c| {
                // twist that carries the column, and twist that it carries: before the rotations of
                // its joint, or with them
                let (C, V, A) = if c.turns() {
                    (before, at.V[body], at.A[body])
                } else {
                    (at.V[model.body(body).parent], before, at.A[body] + turn_A * -1.0)
                };
                let S = c.twist();
                let by_V = S.cross(&V);
                StartColumn {
                    by_V,
                    by_A: S.cross(&A) + by_V.cross(&V) * -1.0,
                    rate: S.cross(&(C + V)),
                }
            }));
        }
    }

    /// Derivatives of velocity-product forces with respect to the configuration, and of these
    /// forces and momenta with respect to the velocity at the start.
    fn velocity_forces(&mut self, system: &System, trees: &Trees, d: &Derivatives) {
        let (kin, at) = (&d.work.scan.kin, &d.start);
        for (body, force) in at.forces.iter().enumerate() {
            let Some(force) = force else { continue };
            let (V, A) = (at.V[body], at.A[body]);
            let first = trees.places_of(body).start;
            for (column, row) in self.rows(system, trees, kin, body, body) {
                let ([by_move, by_V, by_A], _) = force.gradient(&(column.twist() * d.time_step));
                let turned = V.cross_dual(&by_A);
                let by_q = by_move + V.cross_dual(&by_V) + A.cross_dual(&by_A);
                let by_twist = by_V + turned;
                for &c in trees.path(body) {
                    let (column, start) =
                        (&kin.columns[c as usize], &self.crossed_start[c as usize]);
                    let place = row + trees.place_of_dof[column.dof as usize] - first;
                    self.F[place] += column.twist().dot(&by_q)
                        - start.by_V.dot(&by_twist)
                        - start.by_A.dot(&by_A);
                    self.F_v[place] += column.twist().dot(&by_twist) - start.rate.dot(&by_A);
                }
            }
        }
        for &(i, j, entry) in &d.work.problem.inertia {
            let Some(variable) = system.variable_of_dof[i as usize] else { continue };
            let (block, row) = system.block_of_variable[variable as usize];
            let tree = trees.of_body[system.body_of_dof[j as usize]];
            self.touched[block as usize * trees.places.len() + tree] = true;
            let (places, block) = (&trees.places[tree], block as usize);
            let first = self.F_at[block] + system.block_dims[block] * places.start;
            let place = trees.place_of_dof[j as usize] - places.start;
            self.F_v[first + row as usize * places.len() + place] += entry;
        }
    }
}
