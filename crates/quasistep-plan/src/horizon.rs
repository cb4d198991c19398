//! The commands of the next steps as one quadratic program.
//!
//! ```text
//! min  Σ_k w_k/2 ‖e_k + J_k dq_k‖² + effort/2 Σ_k ‖(u_k + du_k − u_{k−1} − du_{k−1})/region‖²
//! s.t. dq_{k+1} = A_k dq_k + B_k du_k,   |du_k| ≤ region,   lower ≤ u_k + du_k ≤ upper,   |change of u| ≤ rate h
//! ```
//!
//! and, to first order, `lower ≤ q_i + (G_k du)_i ≤ upper` for bounds of coordinates.
//!
//! States are eliminated: `dq_k = G_k du`, so the variables are the changes of the commands alone.

use crate::task::Task;
use quasistep::ContactImpulses;
use quasistep_qp::{Qp, QpSolver, Rows, Settings, Solution, Status};

/// Matrices of a rollout and errors along it.
#[derive(Clone, Copy, Debug)]
pub struct Along<'a> {
    /// Number of dofs.
    pub n_v: usize,
    /// `A` of each step, `n_v × n_v`, and `B`, `n_v × n_u`.
    pub by_q: &'a [f64],
    pub by_u: &'a [f64],
    /// Errors after each step and their Jacobians, `m` and `m × n_v`.
    pub errors: &'a [(Vec<f64>, Vec<f64>)],
    /// Configurations after each step, `T × n_q`.
    pub q: &'a [f64],
    /// Impulses of each step, for the contact trust region; empty without it.
    pub impulses: &'a [ContactImpulses],
}

/// Bounds of the changes of commands.
#[derive(Clone, Copy, Debug)]
pub struct Within<'a> {
    pub task: &'a Task,
    /// Commands that are changed, one row a step, and the command before the first.
    pub u: &'a [f64],
    pub before: &'a [f64],
    /// Time step, in s.
    pub h: f64,
    /// Largest change of each command, in m or rad.
    pub region: f64,
}

/// Memory of the program.
#[derive(Debug, Default)]
pub struct Horizon {
    P: Vec<f64>,
    c: Vec<f64>,
    A: Rows,
    b: Vec<f64>,
    G: Vec<f64>,
    next: Vec<f64>,
    S: Vec<f64>,
    columns: Vec<u32>,
    solver: QpSolver,
    solution: Solution,
    working: Vec<u32>,
}

impl Horizon {
    /// Solves the program. Returns the changes of all commands, `T × n_u`; `None` if the solver ends
    /// without a solution.
    pub fn solve(&mut self, along: &Along<'_>, within: &Within<'_>) -> Option<&[f64]> {
        let n = within.u.len();
        for (all, size) in [(&mut self.P, n * n), (&mut self.c, n)] {
            all.clear();
            all.resize(size, 0.0);
        }
        self.bound(within);
        self.add_errors(along, n, within.task);
        self.add_effort(within);
        let Self { P, c, A, b, solver, solution, working, .. } = self;
        let qp = Qp { n, P, c, A, b, saturations: &[] };
        solver.solve(&qp, working, &Settings::default(), solution);
        if solution.status != Status::Solved {
            return None;
        }
        working.clone_from(&solution.working);
        Some(&solution.x)
    }

    fn add_errors(&mut self, along: &Along<'_>, n: usize, task: &Task) {
        let &Along { n_v, by_q, by_u, errors, q, impulses } = along;
        let steps = errors.len();
        let (n_u, n_q) = (n / steps, q.len() / steps);
        let Self { P, c, A: rows, b, G, next, S, columns, .. } = self;
        columns.clear();
        columns.extend(0..n as u32);
        G.clear();
        G.resize(n_v * n, 0.0);
        for (k, (e, J)) in errors.iter().enumerate() {
            let A = &by_q[k * n_v * n_v..(k + 1) * n_v * n_v];
            let B = &by_u[k * n_v * n_u..(k + 1) * n_v * n_u];
            let known = k * n_u;
            if let Some(impulses) = impulses.get(k) {
                add_cones(impulses, (n_v, n_u), (&G[..], known), (rows, b, &columns[..]));
            }
            next.clear();
            next.resize(n_v * n, 0.0);
            for i in 0..n_v {
                let row = &mut next[i * n..(i + 1) * n];
                for (j, a) in
                    A[i * n_v..(i + 1) * n_v].iter().enumerate().filter(|(_, a)| **a != 0.0)
                {
                    add_scaled(*a, &G[j * n..j * n + known], &mut row[..known]);
                }
                row[known..known + n_u].copy_from_slice(&B[i * n_u..(i + 1) * n_u]);
            }
            std::mem::swap(G, next);
            let weight = if k + 1 == steps { task.at_end } else { 1.0 };
            let used = known + n_u;
            for bound in &task.states {
                let (value, [lower, upper]) = (q[k * n_q + bound.coordinate], bound.within);
                let row = &G[bound.dof * n..bound.dof * n + used];
                for (sign, room) in [(1.0, value - lower), (-1.0, upper - value)] {
                    if room.is_finite() {
                        S.clear();
                        S.extend(row.iter().map(|g| sign * g));
                        rows.push(&columns[..used], S);
                        // a state outside of its bounds may stay there
                        b.push(-room.max(0.0));
                    }
                }
            }
            for (i, e) in e.iter().enumerate() {
                S.clear();
                S.resize(used, 0.0);
                for (j, J) in
                    J[i * n_v..(i + 1) * n_v].iter().enumerate().filter(|(_, J)| **J != 0.0)
                {
                    add_scaled(*J, &G[j * n..j * n + used], S);
                }
                add_scaled(weight * e, S, &mut c[..used]);
                for (row, s) in S.iter().enumerate().filter(|(_, s)| **s != 0.0) {
                    add_scaled(weight * s, S, &mut P[row * n..row * n + used]);
                }
            }
        }
    }

    fn add_effort(&mut self, within: &Within<'_>) {
        let &Within { task, u, before, region, .. } = within;
        let (n, n_u) = (u.len(), before.len());
        let weight = task.effort / (region * region);
        for i in 0..n {
            let last = if i < n_u { before[i] } else { u[i - n_u] };
            let change = u[i] - last;
            self.P[i * n + i] += weight;
            self.c[i] += weight * change;
            if i >= n_u {
                let j = i - n_u;
                self.P[j * n + j] += weight;
                self.P[i * n + j] -= weight;
                self.P[j * n + i] -= weight;
                self.c[j] -= weight * change;
            }
        }
    }

    fn bound(&mut self, within: &Within<'_>) {
        let &Within { task, u, before, h, region } = within;
        let n_u = before.len();
        self.A.clear();
        self.b.clear();
        for i in 0..u.len() {
            let (at, command) = (i as u32, i % n_u);
            let [lower, upper] = task.commands[command];
            // a command outside of its bounds may stay there
            let down = region.min((u[i] - lower).max(0.0));
            let up = region.min((upper - u[i]).max(0.0));
            for (sign, room) in [(1.0, down), (-1.0, up)] {
                self.A.push(&[at], &[sign]);
                self.b.push(-room);
            }
            let most = task.rates[command] * h;
            if !most.is_finite() {
                continue;
            }
            let last = if i < n_u { before[i] } else { u[i - n_u] };
            let change = u[i] - last;
            for sign in [1.0, -1.0] {
                if i < n_u {
                    self.A.push(&[at], &[-sign]);
                } else {
                    self.A.push(&[at, at - n_u as u32], &[-sign, sign]);
                }
                self.b.push(-(most - sign * change).max(0.0));
            }
        }
    }
}

/// Adds the rows of the contact trust region of a step: linearised impulses stay in their cones, and
/// gaps stay open. With the barrier `s z = kappa` of a gap `s` and its impulse `z`, `s + ds ≥ 0` is
/// `dz ≤ z`.
fn add_cones(
    impulses: &ContactImpulses,
    (n_v, n_u): (usize, usize),
    (G, known): (&[f64], usize),
    (rows, b, columns): (&mut Rows, &mut Vec<f64>, &[u32]),
) {
    let n = G.len() / n_v;
    // change of a combination of a contact's impulses with all commands so far
    let mut push = |contact: usize, factors: &[(usize, f64)], room: f64| {
        let mut S = vec![0.0; known + n_u];
        for &(i, factor) in factors {
            let row = 6 * contact + i;
            for (j, by) in impulses.by_q[row * n_v..(row + 1) * n_v].iter().enumerate() {
                add_scaled(factor * by, &G[j * n..j * n + known], &mut S[..known]);
            }
            add_scaled(factor, &impulses.by_q_cmd[row * n_u..(row + 1) * n_u], &mut S[known..]);
        }
        // in units of the room
        let scale = 1.0 / room.max(f64::MIN_POSITIVE);
        if S.iter().any(|s| s.abs() * scale > 1e-9) {
            for s in &mut S {
                *s *= scale;
            }
            rows.push(&columns[..known + n_u], &S);
            b.push(-1.0);
        }
    };
    for (contact, (z, cone)) in
        impulses.impulses.chunks_exact(6).zip(impulses.cones.chunks_exact(5)).enumerate()
    {
        push(contact, &[(0, -1.0)], z[0]);
        push(contact, &[(0, 1.0)], z[0]);
        for (i, mu) in cone.iter().enumerate().filter(|(_, mu)| **mu > 0.0) {
            for sign in [1.0, -1.0] {
                push(contact, &[(0, *mu), (i + 1, sign)], mu * z[0] + sign * z[i + 1]);
            }
        }
    }
}

/// Adds `factor × from` to `to`.
fn add_scaled(factor: f64, from: &[f64], to: &mut [f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}
