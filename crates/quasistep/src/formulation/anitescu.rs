//! Anitescu's convex friction cone: contacts become linear rows of a quadratic program.
//!
//! ```text
//! max(phi_i/h, −max_recovery_speed) + (n_i + mu_i d_ij)ᵀ J_ci v ≥ 0        Pang21 (10b)
//! max(phi_i/h, −max_recovery_speed) + (n_i J_ci ± mu_spin_i n_i W_i) v ≥ 0  Tracy (7)
//! ```
//!
//! and the same for rolling, about two axes across the normal. A round cone couples them all in one
//! ellipsoid: `s_n ≥ ‖(mu s_t, mu_spin s_spin, mu_roll s_roll)‖`.
//!
//! | here   | paper   | meaning                                      | unit |
//! |--------|---------|----------------------------------------------|------|
//! | `A`    | n + μ d | cone rows, one per edge                      | –, m |
//! | `b`    | −φ/h    | least allowed approach speed                 | m/s  |
//! | `z`    | β       | impulse along each edge (dual of the program)| N·s  |
//!
//! Exact in sticking; sliding bodies float `h mu |v_t|` high, the "boundary layer" of
//! Pang21 §IV-A.2. Tests pin that gap; it is not a bug to fix here.

use crate::contact::{ContactRow, ContactRows, Tangents};
use crate::error::{PairDepth, StepError};
use crate::formulation::Cone;
use crate::friction::Friction;
use crate::params::{Inertia, StepParams};
use crate::report::{
    ContactMode, ContactReport, LimitForce, SLIP_SPEED_THRESHOLD, SPIN_RATE_THRESHOLD,
};
use crate::step::{Load, midpoint};
use crate::system::{DampingOn, Role, System};
use crate::workspace::{RowKey, Workspace};
use quasistep_math::Vec3;
use quasistep_model::Kinematics;
use quasistep_solvers::{self as solvers, ConeProgram, Saturation, Solution, Status};
use std::f64::consts::TAU;

/// Share of the largest edge impulse below which an edge counts as unloaded: the solver's zeros
/// are exact, its smallest impulses are not better than this.
const LOADED: f64 = 1e-12;

/// `edge` of the keys of a round cone's tangents, from here on: their multipliers have any sign and
/// say nothing on their own.
const ROUND_TANGENT: u32 = 1 << 31;

/// Ways to push and turn at a contact: along `n`, `t1`, `t2`, about `n`, `r1`, `r2`.
const WAYS: usize = 6;

/// True for the tangents of a round cone.
fn is_round_tangent(key: &RowKey) -> bool {
    matches!(key, RowKey::Contact { edge, .. } if *edge >= ROUND_TANGENT)
}

/// The step problem as the solvers see it, and the identity of its rows.
#[derive(Debug, Default)]
pub(crate) struct Problem {
    pub program: ConeProgram,
    /// Ascending: contacts are sorted, limits follow.
    keys: Vec<RowKey>,
    /// Dof of each spring with limited force.
    springs: Vec<u32>,
    /// What a unit of each multiplier pushes with along `n`, `t1`, `t2` and turns with about `n`,
    /// `r1`, `r2`: for an edge of sliding friction `(1, mu d_j, 0, 0, 0)`.
    pushes: Vec<[f64; WAYS]>,
    /// `E` of the contact at hand.
    E: Vec<f64>,
}

/// Directions `d_j` of a contact's edges, as components along `t1` and `t2`.
pub(crate) fn edge_directions(
    cone: Cone,
    tangents: Tangents,
    mu: f64,
) -> impl Iterator<Item = [f64; 2]> {
    // a round cone that moves along one line is a pyramid of two edges
    let n_d = if let Cone::Pyramid(n_d) = cone { n_d } else { 2 };
    let (count, step) = match tangents {
        Tangents::Plane if mu > 0.0 => (n_d, TAU / f64::from(n_d)),
        Tangents::Line if mu > 0.0 => (2, TAU / 2.0),
        // no friction, or nothing to rub: the normal row alone
        _ => (1, 0.0),
    };
    let alone = count == 1;
    (0..count).map(move |j| {
        if alone {
            return [0.0, 0.0];
        }
        // opposite edges are exact opposites: symmetric problems keep symmetric answers
        let half = count / 2;
        let (sign, k) = if j < half { (1.0, j) } else { (-1.0, j - half) };
        let (s, c) = (step * f64::from(k)).sin_cos();
        // a right angle is exact too
        let c = if 4 * k == count { 0.0 } else { c };
        [sign * c, sign * s]
    })
}

/// The ways in which a contact moves and resists: rows of its Jacobian. The normal always comes first.
struct Ways {
    /// Rows of `J`: the normal and the tangents.
    pushes: usize,
    spins: bool,
    rolls: usize,
}

impl Ways {
    fn of(row: &ContactRow) -> Self {
        let count = |tangents| match tangents {
            Tangents::None => 0,
            Tangents::Line => 1,
            Tangents::Plane => 2,
        };
        let Friction { mu, mu_spin, mu_roll } = row.friction;
        let turning = row.turning.as_ref();
        Self {
            pushes: 1 + if mu > 0.0 { count(row.tangents) } else { 0 },
            spins: mu_spin > 0.0 && turning.is_some_and(|t| t.spins),
            rolls: turning.filter(|_| mu_roll > 0.0).map_or(0, |t| count(t.rolls)),
        }
    }

    fn len(&self) -> usize {
        self.pushes + usize::from(self.spins) + self.rolls
    }

    /// The way, counted as in [`WAYS`], of row `r`.
    fn way(&self, r: usize) -> usize {
        match r {
            r if r < self.pushes => r,
            r if self.spins => 3 + r - self.pushes,
            r => 4 + r - self.pushes,
        }
    }

    /// Friction coefficient of row `r`; 1 for the normal.
    fn coefficient(&self, row: &ContactRow, r: usize) -> f64 {
        let Friction { mu, mu_spin, mu_roll } = row.friction;
        [1.0, mu, mu, mu_spin, mu_roll, mu_roll][self.way(r)]
    }
}

/// Appends the edges of a pyramid.
fn push_edges(row: &ContactRow, cone: Cone, pushes: &mut Vec<[f64; WAYS]>) {
    let first = pushes.len();
    let Friction { mu, mu_spin, mu_roll } = row.friction;
    if let Some(turning) = &row.turning {
        let spins = [mu_spin, -mu_spin].into_iter().filter(|_| mu_spin > 0.0 && turning.spins);
        pushes.extend(spins.map(|s| [1.0, 0.0, 0.0, s, 0.0, 0.0]));
        if mu_roll > 0.0 && turning.rolls != Tangents::None {
            pushes.extend(
                edge_directions(cone, turning.rolls, mu_roll)
                    .map(|d| [1.0, 0.0, 0.0, 0.0, mu_roll * d[0], mu_roll * d[1]]),
            );
        }
    }
    let rubs = mu > 0.0 && row.tangents != Tangents::None;
    // a row of the normal alone follows from those of a pair of turning edges
    if rubs || pushes.len() == first {
        pushes.extend(
            edge_directions(cone, row.tangents, mu)
                .map(|d| [1.0, mu * d[0], mu * d[1], 0.0, 0.0, 0.0]),
        );
    }
}

/// Speed that the gap row of a contact demands, in m/s: `phi/h`, recovery bounded.
pub(crate) fn gap_offset(phi: f64, params: &StepParams) -> f64 {
    (phi / params.time_step).max(-params.max_recovery_speed)
}

impl Problem {
    /// Fills the problem for one step.
    #[allow(clippy::too_many_arguments)] // one caller: the main loop, which lists the data flow
    pub fn assemble(
        &mut self,
        system: &System,
        q: &[f64],
        load: &Load,
        contacts: &ContactRows,
        kin: &Kinematics,
        cone: Cone,
        params: &StepParams,
    ) {
        self.program.reset(system.block_dims.iter().copied());
        self.keys.clear();
        self.pushes.clear();
        self.springs.clear();
        self.assemble_cost(system, load, kin, params);
        for row in &contacts.rows {
            self.push_contact(system, load, contacts, row, cone, params);
        }
        self.push_limits(system, q, params);
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
        if params.inertia == Inertia::Mass {
            system.model.mass_entries(kin, |i, j, entry| {
                if passive(i) && passive(j) {
                    let (row, column) = (place(i), place(j));
                    if let (Some((block, row)), Some((_, column))) = (row, column) {
                        program.P(block, row)[column] += entry;
                    }
                }
            });
        }
        for i in 0..system.variable_of_dof.len() {
            let Some((block, row)) = place(i) else { continue };
            let mut c = -h * load.tau[i];
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
                if limit.is_finite() {
                    // the same spring with a force that saturates: a Huber cost on this rate
                    program.push_saturation(Saturation {
                        index: system.variable_of_dof[i].expect("it has a place"),
                        stiffness: at * h * h * K,
                        target: load.dq_cmd[i] / (at * h),
                        limit: h * limit,
                    });
                    self.springs.push(i as u32);
                } else {
                    P += at * h * h * K;
                    c -= h * K * load.dq_cmd[i];
                }
                program.P(block, row)[row] += P;
            }
            program.c(block)[row] = c;
        }
    }

    fn push_contact(
        &mut self,
        system: &System,
        load: &Load,
        contacts: &ContactRows,
        row: &ContactRow,
        cone: Cone,
        params: &StepParams,
    ) {
        let near = &row.near;
        let first_push = self.pushes.len();
        let ways = Ways::of(row);
        let k = ways.len();
        let round = cone == Cone::Round && k > 2;
        if round {
            for r in 0..k {
                let mut push = [0.0; WAYS];
                push[ways.way(r)] = ways.coefficient(row, r);
                self.pushes.push(push);
            }
        } else {
            push_edges(row, cone, &mut self.pushes);
        }
        let pushes = &self.pushes[first_push..];
        self.E.clear();
        if round {
            self.E.extend((0..k).map(|r| pushes[r][ways.way(r)]));
        } else {
            self.E.extend(pushes.iter().flat_map(|push| (0..k).map(|r| push[ways.way(r)])));
        }
        // the blocks that this contact moves: one or two
        let (mut blocks, mut n_blocks) = ([u32::MAX; 2], 0);
        let mut known = [0.0; WAYS];
        for (dof, column) in contacts.columns_of(row) {
            match system.variable_of_dof[dof] {
                Some(variable) => {
                    let block = system.block_of_variable[variable as usize].0;
                    if !blocks[..n_blocks].contains(&block) {
                        blocks[n_blocks] = block;
                        n_blocks += 1;
                    }
                }
                None => {
                    for r in 0..ways.pushes {
                        known[r] += column[r] * load.v_known[dof];
                    }
                }
            }
        }
        if let Some(turning) = &row.turning {
            for (dof, column) in contacts.turns_of(row, turning) {
                for r in ways.pushes..k {
                    known[r] += column[ways.way(r) - 3] * load.v_known[dof];
                }
            }
        }
        // one order for all contacts of a pair of trees: they share one place in the factor
        blocks[..n_blocks].sort_unstable();
        let blocks = &blocks[..n_blocks];
        let shape =
            if round { solvers::Cone::Round(&self.E) } else { solvers::Cone::Edges(&self.E) };
        let mut entry = self.program.push_cone(shape, k, blocks);
        known[0] += gap_offset(near.point.phi, params);
        for (b, known) in entry.b().iter_mut().zip(known) {
            *b = -known;
        }
        for (dof, column) in contacts.columns_of(row) {
            let Some(variable) = system.variable_of_dof[dof] else { continue };
            let (block, at) = system.block_of_variable[variable as usize];
            let side = usize::from(block != blocks[0]);
            let (rows, stride) = entry.J_rows(side);
            for r in 0..ways.pushes {
                rows[r * stride + at as usize] = column[r];
            }
        }
        if let Some(turning) = &row.turning {
            for (dof, column) in contacts.turns_of(row, turning) {
                let Some(variable) = system.variable_of_dof[dof] else { continue };
                let (block, at) = system.block_of_variable[variable as usize];
                let (rows, stride) = entry.J_rows(usize::from(block != blocks[0]));
                for r in ways.pushes..k {
                    rows[r * stride + at as usize] = column[ways.way(r) - 3];
                }
            }
        }
        for j in 0..(self.pushes.len() - first_push) as u32 {
            self.keys.push(RowKey::Contact {
                geom_a: near.geom_a,
                geom_b: near.geom_b,
                feature: near.point.feature,
                edge: if round && j > 0 { ROUND_TANGENT + j } else { j },
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
                let mut entry = self.program.push_cone(solvers::Cone::Edges(&[1.0]), 1, &[block]);
                entry.J(0, 0)[at as usize] = sign;
                entry.b()[0] = -gap_offset(gap, params);
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

    /// Takes `M_u v / h`, the force that moves passive bodies from rest, off their force balance;
    /// `x` are the rates of the variables.
    pub fn subtract_inertia(&self, system: &System, x: &[f64], h: f64, balance: &mut [f64]) {
        for (dof, variable) in system.variable_of_dof.iter().enumerate() {
            let passive = matches!(system.roles[system.body_of_dof[dof]], Role::Passive);
            let Some(variable) = variable.filter(|_| passive) else { continue };
            let (block, at) = system.block_of_variable[variable as usize];
            // a passive dof's row of the cost holds its mass and nothing else
            let row = self.program.P_row(block as usize, at as usize);
            let x = &x[(variable - at) as usize..];
            let momentum: f64 = row.iter().zip(x).map(|(m, v)| m * v).sum();
            balance[dof] -= momentum / h;
        }
    }

    /// Multipliers and slacks to start from, given the rows that were loaded: the ones that `keys`
    /// names are loaded, the others idle.
    pub fn start_from(&self, keys: &[RowKey], z: &mut Vec<f64>, s: &mut Vec<f64>) {
        z.clear();
        s.clear();
        for key in &self.keys {
            // a loaded round cone starts as if it stuck: its tangents have neither force nor slip
            let tangent = is_round_tangent(key);
            let loaded = !tangent && keys.binary_search(key).is_ok();
            z.push(if loaded { 1.0 } else { 0.0 });
            s.push(if loaded || tangent { 0.0 } else { 1.0 });
        }
    }

    /// Keys of the rows that carry an impulse, ascending.
    pub fn active_keys(&self, z: &[f64], keys: &mut Vec<RowKey>) {
        keys.clear();
        let loaded = self.keys.iter().zip(z).filter(|(key, z)| **z > 0.0 && !is_round_tangent(key));
        keys.extend(loaded.map(|(key, _)| *key));
        keys.sort_unstable();
    }
}

/// Stage 6: the solution → velocities and physical impulses in the report.
pub(crate) fn recover(
    system: &System,
    work: &mut Workspace,
    params: &StepParams,
) -> Result<(), StepError> {
    match work.solution.status {
        Status::Solved => {}
        Status::Unbounded => return Err(unsupported(system, &work.solution)),
        Status::Infeasible => return Err(infeasible(system, work)),
        Status::GaveUp => {
            let solution = &work.solution;
            return Err(StepError::NotSolved {
                iterations: solution.iterations,
                why: solution.reason.map_or("no reason".into(), |reason| reason.to_string()),
            });
        }
    }
    let h = params.time_step;
    let Workspace { solution, report, load, problem, contacts, .. } = work;
    report.v.clear();
    report.v.extend(system.variable_of_dof.iter().zip(&load.v_known).map(|(variable, known)| {
        match variable {
            Some(index) => solution.x[*index as usize],
            None => *known,
        }
    }));
    let largest = solution.z.iter().fold(0.0_f64, |m, z| m.max(*z));
    report.contacts.clear();
    for (k, row) in contacts.rows.iter().enumerate() {
        let point = &row.near.point;
        // lambda_n = Σ beta_j, lambda_t = mu Σ beta_j d_j; of a round cone z_n and mu z_t
        let mut lambda = [0.0; WAYS];
        for r in problem.program.rows_of(k) {
            for (sum, push) in lambda.iter_mut().zip(problem.pushes[r]) {
                *sum += solution.z[r] * push;
            }
        }
        let [lambda_n, lambda_t1, lambda_t2, lambda_spin, lambda_r1, lambda_r2] = lambda;
        let [v_n, v_t1, v_t2] = contacts.velocity(row, &report.v);
        let slip_W = row.t1 * v_t1 + row.t2 * v_t2;
        let [spin_rate, ..] = contacts.angular_velocity(row, &report.v);
        let spins = row.friction.mu_spin > 0.0 && spin_rate.abs() > SPIN_RATE_THRESHOLD;
        let mode = if lambda_n <= LOADED * largest {
            ContactMode::Separate
        } else if slip_W.norm() > SLIP_SPEED_THRESHOLD || spins {
            ContactMode::Slide
        } else {
            ContactMode::Stick
        };
        report.contacts.push(ContactReport {
            geom_a: row.near.geom_a,
            geom_b: row.near.geom_b,
            body_a: system.geoms[row.near.geom_a as usize].body as u32,
            body_b: system.geoms[row.near.geom_b as usize].body as u32,
            feature: point.feature,
            p_W: midpoint(point.p_WCa, point.p_WCb),
            n_AB_W: point.n_AB_W,
            phi: point.phi,
            phi_next: point.phi + h * v_n,
            friction: row.friction,
            normal_force: lambda_n / h,
            friction_force_W: (row.t1 * lambda_t1 + row.t2 * lambda_t2) * (1.0 / h),
            spin_torque: lambda_spin / h,
            roll_torque_W: row
                .turning
                .map_or(Vec3::ZERO, |t| (t.r1 * lambda_r1 + t.r2 * lambda_r2) * (1.0 / h)),
            slip_W,
            spin_rate,
            mode,
        });
    }
    report.limits.clear();
    for (key, z) in problem.keys.iter().zip(&solution.z) {
        let (limit, sign) = match key {
            RowKey::LowerLimit { limit } => (*limit, 1.0),
            RowKey::UpperLimit { limit } => (*limit, -1.0),
            RowKey::Contact { .. } => continue,
        };
        if *z > LOADED * largest {
            let dof = system.model.limits()[limit as usize].dof;
            report.limits.push(LimitForce { dof, force: sign * z / h });
        }
    }
    report.saturated.clear();
    let limited = problem.springs.iter().zip(&solution.saturated).filter(|(_, side)| **side != 0);
    report.saturated.extend(limited.map(|(dof, _)| *dof));
    report.n_rows = problem.keys.len();
    report.n_active = solution.z.iter().filter(|z| **z > 0.0).count();
    report.n_candidates = work.scan.n_candidates;
    report.iterations = solution.iterations;
    report.method = solution.method;
    report.smallest_norm = solution.dual_is_smallest_norm;
    Ok(())
}

/// Names what the ray of an unbounded problem moves.
fn unsupported(system: &System, solution: &Solution) -> StepError {
    let names = system.dof_names();
    let largest = solution.ray.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
    let mut bodies: Vec<String> = Vec::new();
    let mut direction = Vec::new();
    for (dof, variable) in system.variable_of_dof.iter().enumerate() {
        let Some(share) = variable.map(|v| solution.ray[v as usize] / largest) else { continue };
        // a tenth: enough to tell the mover from what it drags along
        if share.abs() >= 0.1 {
            direction.push((names[dof].clone(), share));
            let name = &system.model.body(system.body_of_dof[dof]).name;
            if !bodies.contains(name) {
                bodies.push(name.clone());
            }
        }
    }
    StepError::Unsupported { bodies, direction }
}

/// Names the rows that exclude one another.
fn infeasible(system: &System, work: &Workspace) -> StepError {
    let certificate = &work.solution.certificate;
    let largest = certificate.iter().fold(0.0_f64, |m, y| m.max(*y));
    let mut pairs: Vec<PairDepth> = Vec::new();
    let mut joints = Vec::new();
    for (key, y) in work.problem.keys.iter().zip(certificate) {
        // rows that carry less than a thousandth of the contradiction are bystanders
        if *y <= 1e-3 * largest {
            continue;
        }
        match key {
            RowKey::Contact { geom_a, geom_b, feature, .. } => {
                let name =
                    |geom: u32| system.model.body(system.geoms[geom as usize].body).name.clone();
                let depth = work
                    .contacts
                    .rows
                    .iter()
                    .find(|r| {
                        (r.near.geom_a, r.near.geom_b, r.near.point.feature)
                            == (*geom_a, *geom_b, *feature)
                    })
                    .map_or(0.0, |r| -r.near.point.phi);
                let (a, b) = (name(*geom_a), name(*geom_b));
                match pairs.iter_mut().find(|p| p.a == a && p.b == b) {
                    Some(pair) => pair.depth = pair.depth.max(depth),
                    None => pairs.push(PairDepth { a, b, depth }),
                }
            }
            RowKey::LowerLimit { limit } | RowKey::UpperLimit { limit } => {
                let dof = system.model.limits()[*limit as usize].dof as usize;
                let name = system.model.body(system.body_of_dof[dof]).joint_name.clone();
                if !joints.contains(&name) {
                    joints.push(name);
                }
            }
        }
    }
    pairs.sort_by(|x, y| y.depth.total_cmp(&x.depth));
    StepError::Infeasible { pairs, joints }
}
