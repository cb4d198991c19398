//! Jacobian matrices of a step: all directions at once.
//!
//! ```text
//! δv = Xᵀ δf + Zᵀ δu,     ∂v/∂q = Xᵀ F + Zᵀ S,     ∂q_next/∂q = T_q + T_v h ∂v/∂q
//! ```
//!
//! `X` and `Z` are the responses of the velocities to forces and to rows of contacts and limits
//! ([`Responses`], island by island). `F` and `S` are the changes of forces and rows with the
//! configuration (`second.rs`). `T` is the derivative of the update on the manifold. A command acts
//! through the springs' stretch and through the rates of prescribed dofs. `Δq_cmd` collects both,
//! and depends on `q` as well.

use super::change::{InputChange, OutputChange, reset};
use super::kinds::DerivativeError;
use super::memory::{IDLE, Memory};
use super::prepared::Derivatives;
use crate::system::System;
use quasistep_math::{Mat3, Vec3};

/// Number of variables whose responses are computed together, unless a block has more. Their data
/// stay in the cache.
const TOGETHER: usize = 48;

/// `∂q_next/∂v`, and the Jacobians of the velocity.
type Velocities<'a, 'b> = Option<(&'a mut [f64], &'a mut StateRows<'b>)>;

/// Jacobians of one output with respect to configuration, velocity and command, row-major: `n_v ×
/// n_v`, `n_v × n_v`, `n_v × n_cmd_v`.
#[derive(Debug)]
pub struct StateRows<'a> {
    /// Jacobian with respect to the configuration, in its tangent space, `n_v × n_v`.
    pub by_q: &'a mut [f64],
    /// Jacobian with respect to the velocity, `n_v × n_v`; zero for steps that start from rest.
    pub by_v: &'a mut [f64],
    /// Jacobian with respect to the command, in its tangent space, `n_v × n_cmd_v`.
    pub by_q_cmd: &'a mut [f64],
}

fn check_slice(what: &'static str, slice: &[f64], want: usize) -> Result<(), DerivativeError> {
    let got = slice.len();
    if got == want { Ok(()) } else { Err(DerivativeError::Length { what, got, want }) }
}

impl Derivatives {
    /// All Jacobians of the next state, `q_next` and `v`, with respect to the state and the
    /// command.
    ///
    /// # Errors
    ///
    /// A slice has the wrong length, or no step was differentiated.
    pub fn state_jacobian(
        &mut self,
        system: &System,
        mut of_q: StateRows<'_>,
        mut of_v: StateRows<'_>,
    ) -> Result<(), DerivativeError> {
        let set = self.set_system();
        let system = set.as_deref().unwrap_or(system);
        let (n_v, n_cmd) = (system.model.n_v(), system.n_cmd_v());
        for rows in [&of_q, &of_v] {
            check_slice("by_q", rows.by_q, n_v * n_v)?;
            check_slice("by_v", rows.by_v, n_v * n_v)?;
            check_slice("by_q_cmd", rows.by_q_cmd, n_v * n_cmd)?;
        }
        if !self.ready {
            return Err(DerivativeError::NotPrepared);
        }
        if !self.is_one_block(system) {
            self.rows_by_products(system, &mut of_q, 0..n_v, |weights| &mut weights.q_next)?;
            return self.rows_by_products(system, &mut of_v, 0..n_v, |weights| &mut weights.v);
        }
        let StateRows { by_q, by_v, by_q_cmd } = of_q;
        self.fill(system, by_q, by_q_cmd, Some((by_v, &mut of_v)))?;
        // prescribed dofs are few: one product each
        let known = (0..n_v).filter(|dof| system.variable_of_dof[*dof].is_none());
        self.rows_by_products(system, &mut of_v, known, |weights| &mut weights.v)
    }

    /// True if the whole step is computed as matrices at once, not from products.
    pub(super) fn is_one_block(&self, system: &System) -> bool {
        let grows = self.contacts.iter().any(|c| c.grow != [Vec3::ZERO; 2]);
        let pulls = self.contacts.iter().any(|c| !c.pull_by.is_empty());
        let many = self.kinks.program.loads > 0;
        let turns = self.supports.iter().any(|support| support.turns(system));
        let follows = self.pressure.is_some() || !self.constraints.is_empty();
        self.parts.is_empty() && !(follows || grows || pulls || many || turns)
    }

    /// Rows of an output for the given dofs, by one vector-Jacobian product per row.
    fn rows_by_products(
        &mut self,
        system: &System,
        rows: &mut StateRows<'_>,
        dofs: impl IntoIterator<Item = usize>,
        of: impl Fn(&mut OutputChange) -> &mut Vec<f64>,
    ) -> Result<(), DerivativeError> {
        let (n_v, n_cmd) = (system.model.n_v(), system.n_cmd_v());
        let (mut weights, mut row) = (OutputChange::default(), InputChange::default());
        for dof in dofs {
            reset(of(&mut weights), n_v, 0.0);
            of(&mut weights)[dof] = 1.0;
            self.vjp(system, &weights, &mut row)?;
            let (own, of_command) = (dof * n_v..(dof + 1) * n_v, dof * n_cmd..(dof + 1) * n_cmd);
            rows.by_q[own.clone()].copy_from_slice(&row.q);
            rows.by_v[own].copy_from_slice(&row.v);
            rows.by_q_cmd[of_command].copy_from_slice(&row.q_cmd);
        }
        Ok(())
    }

    /// `∂q_next/∂q`, `n_v × n_v`, and `∂q_next/∂q_cmd`, `n_v × n_cmd_v`, row-major, in tangent
    /// spaces.
    ///
    /// # Errors
    ///
    /// A slice has the wrong length, or no step was differentiated.
    pub fn jacobian(
        &mut self,
        system: &System,
        by_q: &mut [f64],
        by_q_cmd: &mut [f64],
    ) -> Result<(), DerivativeError> {
        let set = self.set_system();
        let system = set.as_deref().unwrap_or(system);
        if !self.ready {
            return Err(DerivativeError::NotPrepared);
        }
        let (n_v, n_cmd) = (system.model.n_v(), system.n_cmd_v());
        check_slice("by_q", by_q, n_v * n_v)?;
        check_slice("by_q_cmd", by_q_cmd, n_v * n_cmd)?;
        if self.is_one_block(system) {
            return self.fill(system, by_q, by_q_cmd, None);
        }
        if self.start.carried || !self.parts.is_empty() {
            let by_v = &mut vec![0.0; n_v * n_v];
            let rows = &mut StateRows { by_q, by_v, by_q_cmd };
            return self.rows_by_products(system, rows, 0..n_v, |weights| &mut weights.q_next);
        }
        self.jacobian_by_columns(system, by_q, by_q_cmd)
    }

    /// Has matrices that are computed later keep what impulses need, or not.
    pub(crate) fn keep_for_impulses(&mut self, on: bool) {
        self.matrices.keeps = on;
    }

    /// Computes all matrices at once. With `of_v` also those of velocities: `∂q_next/∂v`, and the
    /// variables' rows of `v`.
    pub(super) fn fill(
        &mut self,
        system: &System,
        by_q: &mut [f64],
        by_q_cmd: &mut [f64],
        mut velocities: Velocities<'_, '_>,
    ) -> Result<(), DerivativeError> {
        by_q.fill(0.0);
        by_q_cmd.fill(0.0);
        if let Some((by_v, of_v)) = &mut velocities {
            for all in [&mut **by_v, &mut *of_v.by_q, &mut *of_v.by_v, &mut *of_v.by_q_cmd] {
                all.fill(0.0);
            }
        }
        let n_cmd = system.n_cmd_v();
        let mut memory = std::mem::take(&mut self.matrices);
        if memory.keeps {
            let n_v = system.model.n_v();
            reset(&mut memory.rates, n_v * (n_v + n_cmd), 0.0);
        }
        memory.second.assemble(system, &memory.trees, self);
        let done = self.rows(system, &mut memory, by_q, by_q_cmd, &mut velocities);
        // prescribed dofs end at their command
        for (dof, cmd) in memory.trees.cmd_of_dof.iter().enumerate() {
            if let (Some(cmd), None) = (cmd, system.variable_of_dof[dof]) {
                by_q_cmd[dof * n_cmd + cmd] = 1.0;
            }
        }
        memory.has_rates = memory.keeps && done.is_ok();
        self.matrices = memory;
        done
    }

    /// Computes the rows of all variables.
    fn rows(
        &mut self,
        system: &System,
        memory: &mut Memory,
        by_q: &mut [f64],
        by_q_cmd: &mut [f64],
        velocities: &mut Velocities<'_, '_>,
    ) -> Result<(), DerivativeError> {
        for island in 0..self.sensitivity.n_islands() {
            memory.blocks.clear();
            memory.blocks.extend(self.sensitivity.blocks_of_island(island));
            let (mut block, mut first) = (0, 0);
            while block < memory.blocks.len() {
                // whole blocks: the three rows of a rotation stay together
                memory.dofs.clear();
                let of_tree = |block: usize| memory.blocks[block] < system.block_dims.len();
                if !of_tree(block) {
                    // skip the extra variable of a joint's friction
                    (block, first) = (block + 1, first + 1);
                    continue;
                }
                while block < memory.blocks.len() && of_tree(block) {
                    let dim = system.block_dims[memory.blocks[block]];
                    if !memory.dofs.is_empty() && memory.dofs.len() + dim > TOGETHER {
                        break;
                    }
                    let variables = memory.trees.variables_of_block(system, memory.blocks[block]);
                    memory.dofs.extend_from_slice(variables);
                    block += 1;
                }
                let variables = first..first + memory.dofs.len();
                first = variables.end;
                self.sensitivity.respond(island, variables, &mut memory.responses)?;
                self.gradients(system, memory);
                if memory.keeps {
                    rates(system, memory);
                }
                self.step_rows(system, memory, by_q, by_q_cmd);
                if let Some((by_v, of_v)) = velocities {
                    self.velocity_rows(system, memory, by_v, of_v);
                }
            }
        }
        Ok(())
    }

    /// Gradients of the current velocities with respect to `q` and `Δq_cmd`, then to `q` and the
    /// command.
    fn gradients(&self, system: &System, memory: &mut Memory) {
        let (n_v, h) = (system.model.n_v(), self.time_step);
        let Memory { trees, second, responses, by_q, by_change, by_v, blocks, .. } = memory;
        let C = responses.columns();
        let n_change = n_v + 6 * system.springs.len();
        for (rows, n) in [(&mut *by_q, n_v), (&mut *by_change, n_change), (&mut *by_v, n_v)] {
            rows.clear();
            rows.resize(n * C, 0.0);
        }
        for &block in blocks.iter().filter(|block| **block < system.block_dims.len()) {
            let dim = system.block_dims[block];
            for tree in 0..trees.places.len() {
                let Some(both) = second.forces(trees, block, dim, tree) else { continue };
                let places = trees.places[tree].clone();
                let rows = places.start * C..places.end * C;
                for (F, to) in both.into_iter().zip([&mut *by_q, &mut *by_v]) {
                    if let Some(F) = F {
                        responses.add_by_forces(block, dim, F, &mut to[rows.clone()]);
                    }
                }
            }
        }
        self.contact_gradients(memory);
        let Memory { trees, responses, by_q, by_change, .. } = &mut *memory;
        let add = |to: &mut [f64], dof: usize, by: f64, from: &[f64]| {
            let row = &mut to[trees.place_of_dof[dof] * C..][..C];
            row.iter_mut().zip(from).for_each(|(to, from)| *to += by * from);
        };
        // rows of limits follow those of contacts
        for (limit, cone) in self.limits.iter().zip(self.contacts.len()..) {
            if let Some(z) = responses.z(cone, 0) {
                add(by_q, limit.dof, limit.sign * limit.per_gap, z);
            }
        }
        for spring in self.springs.iter().filter(|spring| spring.limited.is_none()) {
            let Some(variable) = system.variable_of_dof[spring.dof] else { continue };
            let (block, at) = system.block_of_variable[variable as usize];
            if let Some(x) = responses.x(block as usize, at as usize) {
                add(by_change, spring.dof, h * spring.stiffness, x);
            }
        }
        let kin = &self.work.scan.kin;
        for (k, pull) in self.work.load.cartesian.iter().enumerate() {
            let own = (n_v + 6 * k) * C..(n_v + 6 * k + 6) * C;
            let path = || trees.path(pull.body).iter().map(|c| &kin.columns[*c as usize]);
            for column in path() {
                let Some(variable) = system.variable_of_dof[column.dof as usize] else { continue };
                let (block, at) = system.block_of_variable[variable as usize];
                let Some(x) = responses.x(block as usize, at as usize) else { continue };
                let by = pull.gradient(column.twist(), self.V[pull.body], h);
                let rows = by_change[own.clone()].chunks_exact_mut(C);
                for (row, by) in rows.zip(by.command.to_array()) {
                    row.iter_mut().zip(x).for_each(|(to, x)| *to += by * x);
                }
                // rates of prescribed dofs that depend on the command
                for known in path().filter(|_| self.constants.secant) {
                    if system.variable_of_dof[known.dof as usize].is_none() {
                        let by = known.twist().dot(&by.twist) / h;
                        add(by_change, known.dof as usize, by, x);
                    }
                }
            }
        }
        // prescribed dofs act through the mass of the bodies that they carry
        if self.start.carried && self.constants.secant {
            for &(i, j, entry) in &self.work.problem.inertia {
                let [of_i, of_j] = [i, j].map(|dof| system.variable_of_dof[dof as usize]);
                let (Some(variable), None) = (of_i, of_j) else { continue };
                let (block, at) = system.block_of_variable[variable as usize];
                if let Some(x) = responses.x(block as usize, at as usize) {
                    add(by_change, j as usize, -entry / h, x);
                }
            }
        }
        self.difference(system, memory);
    }

    /// Adds the dependence of the contact rows on `q`, on velocities and on known rates.
    fn contact_gradients(&self, memory: &mut Memory) {
        let Memory { trees, second, responses, by_q, by_change, by_v, .. } = memory;
        let C = responses.columns();
        for (k, (contact, at)) in self.contacts.iter().zip(&second.S_at).enumerate() {
            if *at == IDLE || !responses.has_rows(k) {
                continue;
            }
            let mut at = *at;
            for body in contact.bodies {
                let places = trees.places_of(body);
                let own = at..at + contact.n_ways * places.len();
                let rows = places.start * C..places.end * C;
                at = own.end;
                responses.add_by_rows(
                    k,
                    contact.n_ways,
                    &second.S[own.clone()],
                    &mut by_q[rows.clone()],
                );
                if let Some(S_v) = second.S_v.get(own.clone()) {
                    responses.add_by_rows(k, contact.n_ways, S_v, &mut by_v[rows.clone()]);
                }
                if let Some(known) = second.known.get(own) {
                    responses.add_by_rows(k, contact.n_ways, known, &mut by_change[rows]);
                }
            }
        }
    }

    /// Adds the stretch's dependence on `q`, and converts that on `Δq_cmd` to the command.
    fn difference(&self, system: &System, memory: &mut Memory) {
        let Memory { trees, responses, by_q, by_change, .. } = memory;
        let C = responses.columns();
        for &body in system.commanded() {
            let mut dofs = system.model.body(body).v.clone();
            if let Some([back, ahead]) =
                system.model.turns_of_difference(body, &self.q, &self.q_target)
            {
                // the three dofs of a spherical joint have adjacent places
                let first = trees.place_of_dof[dofs.start] * C;
                let own = &mut by_change[first..first + 3 * C];
                let to = &mut by_q[first..first + 3 * C];
                for column in 0..C {
                    let at = [0, 1, 2].map(|k| k * C + column);
                    let by = Vec3::from(at.map(|at| own[at]));
                    let (q, u) = (back.transpose() * by, ahead.transpose() * by);
                    for (k, at) in at.into_iter().enumerate() {
                        to[at] += q[k];
                        own[at] = u[k];
                    }
                }
                dofs.start += 3;
            }
            for dof in dofs {
                let own = trees.place_of_dof[dof] * C..(trees.place_of_dof[dof] + 1) * C;
                let rows = by_q[own.clone()].iter_mut().zip(&by_change[own]);
                rows.for_each(|(q, change)| *q -= change);
            }
        }
    }

    /// Converts gradients of velocities to rows of the next configuration.
    fn step_rows(
        &self,
        system: &System,
        memory: &mut Memory,
        by_q: &mut [f64],
        by_q_cmd: &mut [f64],
    ) {
        let (model, h, v) = (&system.model, self.time_step, &self.work.report.v);
        let (n_v, n_cmd) = (model.n_v(), system.n_cmd_v());
        let Memory { trees, responses, by_q: dq, by_change: du, blocks, dofs, .. } = memory;
        let C = responses.columns();
        let mut column = 0;
        while column < dofs.len() {
            let dof = dofs[column];
            let body = system.body_of_dof[dof];
            let first = model.body(body).v.start;
            let rates = &self.constants.followed;
            let turns = if dof == first { model.turns_of_integral(body, rates, h) } else { None };
            let turns = turns.map(|[start, J]| {
                let shorter = System::followed_turn(v, dof, (self.constants.rotations, h));
                (start, shorter.map_or(J, |shorter| J * shorter))
            });
            // three rows of a rotation, or one
            let rows = if turns.is_some() { 3 } else { 1 };
            let write = |from: &[f64], to: &mut [f64], width: usize, at: usize| {
                if let Some((_, J)) = &turns {
                    let turned = *J * Vec3::new(from[0], from[1], from[2]) * h;
                    for k in 0..3 {
                        to[(dof + k) * width + at] = turned[k];
                    }
                } else {
                    to[dof * width + at] = h * from[0];
                }
            };
            for tree in 0..trees.places.len() {
                // other trees do not affect this island
                if trees.blocks[tree].is_some_and(|(block, _)| !blocks.contains(&block)) {
                    continue;
                }
                for place in trees.places[tree].clone() {
                    let by = trees.dof_at[place];
                    write(&dq[place * C + column..], by_q, n_v, by);
                    if let Some(cmd) = trees.cmd_of_dof[by] {
                        write(&du[place * C + column..], by_q_cmd, n_cmd, cmd);
                    }
                }
            }
            for (k, cmd) in system.rates_of_springs().flatten().enumerate() {
                write(&du[(n_v + k) * C + column..], by_q_cmd, n_cmd, cmd);
            }
            let start = turns.map_or(Mat3::IDENTITY, |(start, _)| start);
            for i in 0..rows {
                for j in 0..rows {
                    by_q[(dof + i) * n_v + dof + j] += start.rows[i][j];
                }
            }
            column += rows;
        }
    }

    /// Converts gradients of velocities to rows of `∂q_next/∂v` and of the velocity.
    fn velocity_rows(
        &self,
        system: &System,
        memory: &Memory,
        by_v: &mut [f64],
        of_v: &mut StateRows<'_>,
    ) {
        let (n_v, n_cmd) = (system.model.n_v(), system.n_cmd_v());
        let Memory { trees, responses, by_q: dq, by_change: du, by_v: dv, dofs, .. } = memory;
        let C = responses.columns();
        let rates = |of: &[f64], place: usize, at: usize| of[place * C + at];
        for (at, &dof) in dofs.iter().enumerate() {
            for (place, &by) in trees.dof_at.iter().enumerate() {
                of_v.by_q[dof * n_v + by] = rates(dq, place, at);
                of_v.by_v[dof * n_v + by] = rates(dv, place, at);
                if let Some(cmd) = trees.cmd_of_dof[by] {
                    of_v.by_q_cmd[dof * n_cmd + cmd] = rates(du, place, at);
                }
            }
            for (k, cmd) in system.rates_of_springs().flatten().enumerate() {
                of_v.by_q_cmd[dof * n_cmd + cmd] = rates(du, n_v + k, at);
            }
        }
        let still = vec![0.0; n_v];
        let (mut hdv, mut next) = (vec![0.0; n_v], vec![0.0; n_v]);
        for (place, &by) in trees.dof_at.iter().enumerate() {
            hdv.fill(0.0);
            for (at, &dof) in dofs.iter().enumerate() {
                hdv[dof] = self.time_step * rates(dv, place, at);
            }
            let rotations = (self.constants.rotations, self.time_step);
            system.follow_change(&self.work.report.v, rotations, &mut hdv);
            let followed = &self.constants.followed;
            system.model.integrate_change(followed, self.time_step, &still, &hdv, &mut next);
            for &dof in dofs {
                by_v[dof * n_v + by] = next[dof];
            }
        }
    }
}

/// Writes the Jacobians of the current velocities with respect to `q` and the command.
fn rates(system: &System, memory: &mut Memory) {
    let Memory { trees, responses, by_q, by_change, dofs, rates, .. } = memory;
    let (n_v, C) = (system.model.n_v(), responses.columns());
    for (row, at) in dofs.iter().map(|dof| dof * (n_v + system.n_cmd_v())).zip(0..) {
        for (place, &by) in trees.dof_at.iter().enumerate() {
            rates[row + by] = by_q[place * C + at];
            if let Some(cmd) = trees.cmd_of_dof[by] {
                rates[row + n_v + cmd] = by_change[place * C + at];
            }
        }
        for (k, cmd) in system.rates_of_springs().flatten().enumerate() {
            rates[row + n_v + cmd] = by_change[(n_v + k) * C + at];
        }
    }
}
