//! Stage 4: assembles contacts, springs, weights and limits into a program for the solvers.
//! Formulations share this assembly; they differ only in the friction of a contact.

use crate::contact::{ContactRow, ContactRows};
use crate::formulation::Cone;
use crate::formulation::FrictionLaw;
use crate::formulation::edges::{WAYS, Ways, push_edges};
use crate::formulation::program::Program;
use crate::formulation::rubbing::{Rubbing, TANGENT, is_tangent};
use crate::load::Load;
use crate::mass_scale::MassScales;
use crate::params::{Inertia, StepParams};
use crate::row::RowKey;
use crate::state::WarmRow;
use crate::system::{DampingOn, Role, System};
use quasistep_cone as solvers;
use quasistep_cone::{ConeMut, ConeProgram, Saturation};
use quasistep_model::Kinematics;

/// Inputs of the assembly: rows of stage 3 and loads at one configuration of the step.
#[derive(Clone, Copy)]
pub(crate) struct Posed<'a> {
    pub system: &'a System,
    /// Configuration at the start of the step.
    pub q: &'a [f64],
    pub load: &'a Load,
    pub contacts: &'a ContactRows,
    pub kin: &'a Kinematics,
    pub params: &'a StepParams,
}

impl Posed<'_> {
    /// Normal speed of a contact after its impact, in m/s. Zero without an impact: a contact whose
    /// approach speed is below the speed that gravity adds in a step counts as resting.
    pub fn rebound_speed(&self, row: &ContactRow) -> f64 {
        let Self { params, load, contacts, .. } = *self;
        let share = contacts.rebound * row.friction.restitution;
        if share == 0.0 || !params.formulation.carries_velocity() {
            return 0.0;
        }
        let h = params.time_step;
        let speed = -contacts.velocity(row, &load.v_start)[0];
        let gravity = quasistep_math::Vec3::from(params.gravity).norm();
        let hits = speed > h * gravity && row.near.point.phi < h * speed;
        if hits { share * speed } else { 0.0 }
    }
}

/// The assembled program, and the identity of its rows.
#[derive(Debug, Default)]
pub(crate) struct Problem {
    pub program: Program,
    /// Convex program before the elimination of variables by constraints, if it is kept;
    /// derivatives need it.
    pub whole: Option<ConeProgram>,
    /// Keys of the multipliers, ascending: contacts in sorted order, then limits.
    pub keys: Vec<RowKey>,
    /// Force and torque of a unit of each multiplier along and about `n`, `t1`, `t2`, `n`, `r1`,
    /// `r2`. For an edge of sliding friction it is `(1, mu d_j, 0, 0, 0)`.
    pub pushes: Vec<[f64; WAYS]>,
    /// Force of a unit of each multiplier of a support along the three rates of its planar joint.
    /// These multipliers are the last ones.
    pub supports: Vec<[f64; 3]>,
    /// Entries of the mass matrix in the cost, as row, column and value over dofs.
    pub inertia: Vec<(u32, u32, f64)>,
    /// Scales of the mass matrix, per block.
    pub mass_scales: MassScales,
    /// Compliant contacts. Each has one variable of its own, after those of joint friction.
    pub compliant_contacts: Vec<u32>,
    /// Sizes of the blocks of variables.
    dims: Vec<usize>,
    /// Edges of the current contact, and its matrix `E`.
    edges: Vec<[f64; WAYS]>,
    E: Vec<f64>,
}

/// Offset of a contact's gap row, in m/s: `phi/h`, with bounded recovery.
pub(crate) fn gap_offset(phi: f64, params: &StepParams) -> f64 {
    (phi / params.time_step).max(-params.max_recovery_speed)
}

/// Displacement in a step, in m or rad, that counts as rest: the accuracy of distances. Rows of a
/// patch contradict one another by the square of its tilt. A resting box tilted by 4e-7 rad thus
/// cannot keep all four corners still; they creep by about 1e-14 per step.
pub(crate) const REST: f64 = 1e-12;

/// Smallest scale of a joint limit's row. It bounds the loss of accuracy where a limit is an angle
/// away that is large compared with the contact margin.
const FARTHEST: f64 = 1e-2;

/// Scale of a joint limit's row at the distance `gap`. A limit farther away than the contact margin
/// does not restrict speeds in a step, so its row must not set the scale of the solver's residuals.
pub(crate) fn limit_unit(gap: f64, params: &StepParams) -> f64 {
    if gap > params.contact_margin { (params.contact_margin / gap).max(FARTHEST) } else { 1.0 }
}

impl ContactRow {
    /// Offset of the contact's gap row, in m/s. For a compliant contact the recovery is not
    /// bounded, since its overlap is an indentation.
    pub fn gap_offset(&self, params: &StepParams) -> f64 {
        let phi = self.near.point.phi;
        if self.friction.compliance > 0.0 {
            phi / params.time_step
        } else {
            gap_offset(phi, params)
        }
    }

    /// Unit of a compliant contact's variable, `√compliance/h`, in m/s: the speed at which its cost
    /// is half a joule.
    pub fn own_unit(&self, h: f64) -> f64 {
        self.friction.compliance.sqrt() / h
    }
}

/// Blocks of variables that a contact moves (one or two, with room for one more), their number, and
/// the contribution of known rates to the contact's rows.
fn movers(
    posed: &Posed<'_>,
    row: &ContactRow,
    (ways, scales): (&Ways, [f64; WAYS]),
) -> ([u32; 3], usize, [f64; WAYS]) {
    let Posed { system, load, contacts, .. } = *posed;
    let (mut blocks, mut n_blocks) = ([u32::MAX; 3], 0);
    let mut known = [0.0; WAYS];
    for (dof, column) in contacts.columns_of(row) {
        if let Some(variable) = system.variable_of_dof[dof] {
            let block = system.block_of_variable[variable as usize].0;
            if !blocks[..n_blocks].contains(&block) {
                blocks[n_blocks] = block;
                n_blocks += 1;
            }
        } else {
            for r in 0..ways.pushes {
                known[r] += column[r] * load.v_known[dof];
            }
        }
    }
    if let Some(turning) = &row.turning {
        for (dof, column) in contacts.turns_of(row, turning) {
            for r in ways.pushes..ways.len() {
                known[r] += scales[r] * column[ways.way(r) - 3] * load.v_known[dof];
            }
        }
    }
    // a fixed order lets all contacts of a pair of trees share one place in the factor
    blocks[..n_blocks].sort_unstable();
    (blocks, n_blocks, known)
}

/// Writes the Jacobian of a contact whose first block is `first`.
fn write_rows(
    posed: &Posed<'_>,
    row: &ContactRow,
    (ways, scales): (&Ways, [f64; WAYS]),
    first: u32,
    entry: &mut ConeMut<'_>,
) {
    let Posed { system, contacts, .. } = *posed;
    let place = |dof: usize| {
        let variable = system.variable_of_dof[dof]?;
        let (block, at) = system.block_of_variable[variable as usize];
        Some((usize::from(block != first), at as usize))
    };
    for (dof, column) in contacts.columns_of(row) {
        let Some((side, at)) = place(dof) else { continue };
        let (rows, stride) = entry.J_rows(side);
        for r in 0..ways.pushes {
            rows[r * stride + at] = column[r];
        }
    }
    if let Some(turning) = &row.turning {
        for (dof, column) in contacts.turns_of(row, turning) {
            let Some((side, at)) = place(dof) else { continue };
            let (rows, stride) = entry.J_rows(side);
            for r in ways.pushes..ways.len() {
                rows[r * stride + at] = scales[r] * column[ways.way(r) - 3];
            }
        }
    }
}

impl Problem {
    /// Stage 4: fills the problem for one step.
    pub fn assemble(&mut self, posed: &Posed<'_>, law: FrictionLaw) {
        let Posed { system, q, load, contacts, kin, params, .. } = *posed;
        let cone = params.formulation.cone;
        self.dims.clear();
        self.dims.extend_from_slice(&system.block_dims);
        self.compliant_contacts.clear();
        let gives = |row: &ContactRow| row.friction.compliance > 0.0;
        self.compliant_contacts
            .extend((0..).zip(&contacts.rows).filter(|(_, row)| gives(row)).map(|(k, _)| k));
        let n_own = system.n_rubbing() + self.compliant_contacts.len();
        self.dims.resize(system.block_dims.len() + n_own, 1);
        self.program.reset(law, &self.dims);
        self.keys.clear();
        self.pushes.clear();
        self.assemble_cost(system, load, kin, params);
        let mut own = (system.block_dims.len() + system.n_rubbing()) as u32;
        for row in &contacts.rows {
            let compliance = row.friction.compliance;
            if compliance > 0.0 {
                // scaled such that its cost coefficient is one
                self.program.P(own as usize, 0)[0] = 1.0;
                self.push_contact(posed, row, cone, Some(own));
                own += 1;
            } else {
                self.push_contact(posed, row, cone, None);
            }
        }
        self.push_limits(system, q, params);
        let Self { program, keys, supports, .. } = self;
        Rubbing { program, keys, pushes: supports }.push(system, load, params.time_step);
        if !load.reduction.is_empty() {
            if let Some(whole) = &mut self.whole {
                whole.clone_from(&self.program.convex);
            }
            load.reduction.reduce(&mut self.program);
        }
    }

    fn assemble_cost(
        &mut self,
        system: &System,
        load: &Load,
        kin: &Kinematics,
        params: &StepParams,
    ) {
        let h = params.time_step;
        let program = &mut self.program;
        let place = |dof: usize| {
            system.variable_of_dof[dof].map(|variable| {
                let (block, at) = system.block_of_variable[variable as usize];
                (block as usize, at as usize)
            })
        };
        let passive = |dof: usize| matches!(system.roles[system.body_of_dof[dof]], Role::Passive);
        let inertia = &mut self.inertia;
        inertia.clear();
        let carried = params.formulation.carries_velocity();
        if carried || params.inertia == Inertia::Mass {
            system.model.mass_entries(kin, |i, j, entry| {
                if carried || passive(i) && passive(j) {
                    inertia.push((i as u32, j as u32, entry));
                }
            });
        }
        if !carried {
            self.mass_scales.apply(system, params, inertia);
        }
        // 1/2 (v − v_start)ᵀ M (v − v_start), where rates of prescribed dofs are known
        for &(i, j, entry) in inertia.iter() {
            let Some((block, row)) = place(i as usize) else { continue };
            match place(j as usize) {
                Some((_, column)) => program.P(block, row)[column] += entry,
                None => program.c(block)[row] += entry * load.v_known[j as usize],
            }
            if carried {
                program.c(block)[row] -= entry * load.v_start[j as usize];
            }
        }
        for i in 0..system.variable_of_dof.len() {
            let Some((block, row)) = place(i) else { continue };
            let mut c = -h * load.tau[i];
            program.P(block, row)[row] += h * system.model.damping()[i];
            let body = system.body_of_dof[i];
            if let Role::Actuated(actuator) = &system.roles[body] {
                let k = i - system.model.body(body).v.start;
                let (K, D) = (actuator.stiffness[k], actuator.damping[k]);
                // the spring's stretch within the step is dq_cmd − at h v
                let at = load.spring_at[i];
                let mut P = h * D;
                if actuator.damping_on == DampingOn::CommandError {
                    c -= h * D * load.v_cmd[i];
                }
                let limit = actuator.effort_limit[k];
                if limit.is_finite() && K > 0.0 {
                    // this spring has a force limit: a Huber cost on its rate
                    program.push_saturation(Saturation {
                        index: system.variable_of_dof[i].expect("it has a place"),
                        stiffness: at * h * h * K,
                        target: load.dq_cmd[i] / (at * h),
                        limit: h * limit,
                    });
                } else {
                    P += at * h * h * K;
                    c -= h * K * load.dq_cmd[i];
                }
                program.P(block, row)[row] += P;
            }
            program.c(block)[row] += c;
        }
        // Cartesian springs couple all dofs that move their frame
        for spring in &load.cartesian {
            spring.entries(h, |i, j, entry| {
                let Some((block, row)) = place(i) else { return };
                match place(j) {
                    Some((_, column)) => program.P(block, row)[column] += entry,
                    None => program.c(block)[row] += entry * load.v_known[j],
                }
            });
            spring.generalised(spring.pull(), |dof, force| {
                if let Some((block, row)) = place(dof) {
                    program.c(block)[row] -= h * force;
                }
            });
        }
    }

    /// Adds a contact: its cone, its rows, and the keys of its multipliers. `own` is the block of
    /// its compliance variable.
    fn push_contact(&mut self, posed: &Posed<'_>, row: &ContactRow, cone: Cone, own: Option<u32>) {
        let ways = Ways::of(row);
        let k = ways.len();
        let scales: [f64; WAYS] =
            std::array::from_fn(|r| if r < k { ways.scale(row, r) } else { 1.0 });
        let round = cone == Cone::Round && k > 2;
        self.write_cone(row, (&ways, scales), cone, round);
        self.push_multipliers(row, (&ways, scales), round);

        let (mut blocks, mut n_blocks, mut known) = movers(posed, row, (&ways, scales));
        known[0] += match posed.rebound_speed(row) {
            0.0 => row.gap_offset(posed.params),
            speed => row.gap_offset(posed.params).min(-speed),
        };
        if let Some(own) = own {
            blocks[n_blocks] = own;
            n_blocks += 1;
        }
        let blocks = &blocks[..n_blocks];
        let shape =
            if round { solvers::Cone::Round(&self.E) } else { solvers::Cone::Edges(&self.E) };
        let mut entry = self.program.push(shape, k, blocks);
        if own.is_some() {
            entry.J(n_blocks - 1, 0)[0] = row.own_unit(posed.params.time_step);
        }
        for (b, known) in entry.b().iter_mut().zip(known) {
            *b = -known;
        }
        write_rows(posed, row, (&ways, scales), blocks[0], &mut entry);
    }

    /// Cone of a contact over its rows: the radii of a round cone, or edges (`E`, `edges`).
    fn write_cone(
        &mut self,
        row: &ContactRow,
        (ways, scales): (&Ways, [f64; WAYS]),
        cone: Cone,
        round: bool,
    ) {
        let k = ways.len();
        self.edges.clear();
        self.E.clear();
        if round {
            self.E.extend((0..k).map(|r| ways.coefficient(row, r) / scales[r]));
        } else {
            push_edges(row, cone, &mut self.edges);
            for edge in &self.edges {
                self.E.extend((0..k).map(|r| edge[ways.way(r)] / scales[r]));
            }
        }
    }

    /// Appends forces and keys of a contact's multipliers, for its rows or for its edges.
    fn push_multipliers(
        &mut self,
        row: &ContactRow,
        (ways, scales): (&Ways, [f64; WAYS]),
        round: bool,
    ) {
        let by_row = round || self.program.has_forces();
        let first = self.pushes.len();
        if by_row {
            for r in 0..ways.len() {
                let mut push = [0.0; WAYS];
                let share = if self.program.has_forces() { 1.0 } else { self.E[r] };
                push[ways.way(r)] = share * scales[r];
                self.pushes.push(push);
            }
        } else {
            self.pushes.extend_from_slice(&self.edges);
        }
        let near = &row.near;
        for j in 0..(self.pushes.len() - first) as u32 {
            self.keys.push(RowKey::Contact {
                geom_a: near.geom_a,
                geom_b: near.geom_b,
                feature: near.point.feature,
                edge: if by_row && j > 0 { TANGENT + j } else { j },
            });
        }
    }

    fn push_limits(&mut self, system: &System, q: &[f64], params: &StepParams) {
        for (k, limit) in system.model.limits().iter().enumerate() {
            let Some(variable) = system.variable_of_dof[limit.dof as usize] else { continue };
            let (block, at) = system.block_of_variable[variable as usize];
            let q = q[limit.q_index as usize];
            let limit_index = k as u32;
            let mut push = |sign: f64, gap: f64, key| {
                let mut entry = self.program.push(solvers::Cone::Edges(&[1.0]), 1, &[block]);
                let unit = limit_unit(gap, params);
                entry.J(0, 0)[at as usize] = unit * sign;
                entry.b()[0] = -unit * gap_offset(gap, params);
                self.keys.push(key);
            };
            if limit.lower.is_finite() {
                push(1.0, q - limit.lower, RowKey::LowerLimit { limit: limit_index });
            }
            if limit.upper.is_finite() {
                push(-1.0, limit.upper - q, RowKey::UpperLimit { limit: limit_index });
            }
        }
    }

    /// The program before the elimination of variables by constraints, in a workspace that keeps
    /// it.
    pub fn whole(&self) -> &ConeProgram {
        self.whole.as_ref().expect("only derivatives ask, and theirs is kept")
    }

    /// Number of variables of the program.
    pub fn n_variables(&self, system: &System) -> usize {
        system.block_of_variable.len() + system.n_rubbing() + self.compliant_contacts.len()
    }

    /// Stores multipliers and rates of a solution for another solve, ascending by key. Multipliers
    /// of edges at most `accuracy` times the largest are stored as zero.
    pub fn keep(&self, z: &[f64], rates: &[f64], accuracy: f64, rows: &mut Vec<WarmRow>) {
        let least = accuracy * z.iter().fold(0.0_f64, |m, z| m.max(*z));
        rows.clear();
        for (key, (z, rate)) in self.keys.iter().zip(z.iter().zip(rates)) {
            let impulse = if is_tangent(key) || *z > least { *z } else { 0.0 };
            rows.push(WarmRow { key: *key, impulse, rate: *rate });
        }
        rows.sort_unstable_by_key(|row| row.key);
    }

    /// Warm-start multipliers and rates from the rows of a similar program. Rows that are not found
    /// start as those of an open contact.
    pub fn start_from(&self, rows: &[WarmRow], z: &mut Vec<f64>, rates: &mut Vec<f64>) {
        z.clear();
        rates.clear();
        for key in &self.keys {
            let known = rows.binary_search_by_key(key, |row| row.key).ok().map(|k| &rows[k]);
            let open = if is_tangent(key) { 0.0 } else { 1.0 };
            z.push(known.map_or(0.0, |row| row.impulse));
            rates.push(known.map_or(open, |row| row.rate));
        }
    }

    /// Subtracts `ε M (v − v_start) / h` from the force balance of every dof: the inertial force,
    /// or the drag of the relaxation time. Returns the largest `ε M v / h`, which scales the
    /// rounding error.
    pub fn subtract_inertia(&self, load: &Load, v: &[f64], h: f64, balance: &mut [f64]) -> f64 {
        let mut largest = 0.0_f64;
        for &(i, j, entry) in &self.inertia {
            let [v, v_start] = [v[j as usize], load.v_start[j as usize]];
            balance[i as usize] -= entry * (v - v_start) / h;
            largest = largest.max((entry / h).abs() * v.abs().max(v_start.abs()));
        }
        largest
    }
}
