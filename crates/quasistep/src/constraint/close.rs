//! Projects a configuration that violates its constraints to the nearest one that satisfies them.

use super::reduce::Reduction;
use super::rows::{MOST_ROWS, size};
use crate::error::{StepError, quoted};
use crate::held::{CLOSED, Constraint, Group, Held};
use crate::params::StepParams;
use crate::system::{Role, System};
use quasistep_model::{JointKind, Kinematics};

/// Largest number of steps of Newton's method. Near a solution each step doubles the number of
/// correct digits; far from one, steps are shortened.
const MOST_STEPS: usize = 200;
/// Errors up to this, in m and rad, are left as they are. The next step recovers them.
const SMALL: f64 = 1e-9;
/// Errors at the level of rounding, in m and rad.
const EXACT: f64 = 1e-14;
/// Smallest motion of a dof that is reported, in m or rad.
const TOLD: f64 = 1e-6;
/// Smallest factor by which the line search shortens a step, a power of two.
const LEAST_SHARE: f64 = 1.0 / 1024.0;
/// Longest step of a dof, in m or rad. The linearised rows are valid only near the start of the
/// step.
const LONGEST: f64 = 0.5;
/// Damping of dependent rows, relative to the largest entry of `G Gᵀ`.
const DAMPING: f64 = 1e-12;

/// Largest displacement of a free body, in m or rad. Larger errors are closed by steps.
const FAR: f64 = 0.01;

/// Result of [`System::close`].
#[derive(Clone, Debug, PartialEq)]
pub struct Closing {
    /// Largest error before closing, in m or rad, of the constraints that were closed.
    pub before: f64,
    /// Largest error after closing, in m or rad, of the constraints that were closed.
    pub after: f64,
    /// Names of the dofs that moved by more than 1e-6, each with its displacement in m or rad,
    /// largest first.
    pub moved: Vec<(String, f64)>,
    /// Constraints left open, each with its error in m or rad. Closing them would displace a free
    /// body by more than 0.01, or move driven joints. Steps close them at a speed of at most
    /// [`StepParams::max_recovery_speed`].
    pub open: Vec<(String, f64)>,
}

/// No motion of passive and driven joints satisfies the constraints.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "constraint{} {}: no motion of its joints closes {} from this start; {off:.2e} (m or rad) is left",
    if names.len() > 1 { "s" } else { "" },
    quoted(names),
    if names.len() > 1 { "them" } else { "it" }
)]
pub struct NotClosed {
    /// Names of the constraints that stay open.
    pub names: Vec<String>,
    /// Largest remaining error, in m or rad.
    pub off: f64,
}

impl System {
    /// Moves passive joints to the nearest configuration that satisfies all constraints within
    /// joint limits, by least-norm steps of Newton's method.
    ///
    /// Constraints that would displace a free body far, or require driven joints to move, are left
    /// to the steps ([`Closing::open`]). Returns `None`, with `q` unchanged, if all errors are at
    /// most 1e-9.
    ///
    /// # Errors
    ///
    /// No motion of passive and driven joints reduces the errors to 1e-5 m or rad; `q` is
    /// unchanged.
    ///
    /// # Panics
    ///
    /// If `q` is shorter than the model's configuration.
    pub fn close(&self, q: &mut [f64]) -> Result<Option<Closing>, NotClosed> {
        let mut kin = self.model.create_kinematics();
        let mut closing = Closing { before: 0.0, after: 0.0, moved: Vec::new(), open: Vec::new() };
        let mut closed = q.to_vec();
        let mut way = vec![0.0; self.model.n_v()];
        let mut failed = NotClosed { names: Vec::new(), off: 0.0 };
        let mut is_off = false;
        for group in &self.constraint_groups {
            self.model.kinematics(&closed, &mut kin);
            let before = self.largest_error(group, &kin, &closed);
            if before <= SMALL {
                continue;
            }
            is_off = true;
            let mut trial = closed.clone();
            self.close_group(group, false, &mut kin, &mut trial);
            self.model.kinematics(&trial, &mut kin);
            let mut after = self.largest_error(group, &kin, &trial);
            self.model.difference(&closed, &trial, &mut way);
            if after <= CLOSED && !self.flies(group, &way) {
                (closing.before, closing.after) =
                    (closing.before.max(before), closing.after.max(after));
                closed = trial;
                continue;
            }
            // check whether driven joints could close it
            if !(after <= CLOSED) {
                trial.clone_from(&closed);
                self.close_group(group, true, &mut kin, &mut trial);
                self.model.kinematics(&trial, &mut kin);
                after = self.largest_error(group, &kin, &trial);
            }
            let name = |k: &usize| self.constraints[*k].given.name.clone();
            if after <= CLOSED {
                self.model.kinematics(&closed, &mut kin);
                let off = |k: &usize| (name(k), self.error_of(*k, &kin, &closed));
                let own = group.constraints.iter().map(off);
                closing.open.extend(own.filter(|(_, off)| *off > CLOSED));
            } else {
                // written so that NaN fails
                let open = group.constraints.iter();
                let open = open.filter(|k| !(self.error_of(**k, &kin, &trial) <= CLOSED));
                failed.names.extend(open.map(name));
                failed.off = if after <= failed.off { failed.off } else { after };
            }
        }
        if !failed.names.is_empty() {
            return Err(failed);
        }
        if !is_off {
            return Ok(None);
        }
        self.model.difference(q, &closed, &mut way);
        closing.moved = self.dof_names().into_iter().zip(way).collect();
        closing.moved.retain(|(_, way)| way.abs() > TOLD);
        closing.moved.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        q.copy_from_slice(&closed);
        Ok(Some(closing))
    }

    /// Largest error of a group's constraints, in m or rad.
    fn largest_error(&self, group: &Group, kin: &Kinematics, q: &[f64]) -> f64 {
        let sizes = group.constraints.iter().map(|k| self.error_of(*k, kin, q));
        // NaN counts as largest
        sizes.fold(0.0, |most, size| if size <= most { most } else { size })
    }

    /// True if a free body of the group would be displaced by more than [`FAR`].
    fn flies(&self, group: &Group, way: &[f64]) -> bool {
        let is_free =
            |dof: &usize| self.model.body(self.body_of_dof[*dof]).joint == JointKind::Free;
        group.dofs.iter().filter(|dof| is_free(dof)).any(|dof| way[*dof].abs() > FAR)
    }

    /// Constraints with dependent rows at `q`, and the number of these rows. Joints and other
    /// constraints imply them, so they carry no force.
    ///
    /// # Errors
    ///
    /// Constraints that contradict one another.
    ///
    /// # Panics
    ///
    /// If `q` is shorter than the model's configuration.
    pub fn dependent_rows(&self, q: &[f64]) -> Result<Vec<(&Constraint, usize)>, StepError> {
        let mut kin = self.model.create_kinematics();
        self.model.kinematics(q, &mut kin);
        let mut reduction = Reduction::default();
        let still = vec![0.0; self.model.n_v()];
        reduction.update(self, (q, &kin, &kin), &still, &StepParams::default())?;
        let of_one =
            |held: &Held| reduction.dependent[held.rows.clone()].iter().filter(|d| **d).count();
        let all = self.constraints.iter().map(|held| (&held.given, of_one(held)));
        Ok(all.filter(|(_, rows)| *rows > 0).collect())
    }

    /// Larger of a constraint's two errors, in m and rad.
    fn error_of(&self, k: usize, kin: &Kinematics, q: &[f64]) -> f64 {
        let held = &self.constraints[k];
        let [shift, turn] = size(&held.error(&self.model, kin, q));
        // NaN counts as largest
        if shift >= turn || shift.is_nan() { shift } else { turn }
    }

    /// Closes one group of constraints. If `driven`, joints with a drive move too.
    fn close_group(&self, group: &Group, driven: bool, kin: &mut Kinematics, q: &mut [f64]) {
        let model = &self.model;
        let moves = |dof: &usize| {
            let role = &self.roles[self.body_of_dof[*dof]];
            *role == Role::Passive || driven && *role != Role::Prescribed
        };
        let dofs: Vec<usize> = group.dofs.iter().copied().filter(moves).collect();
        let mut errors = self.errors_of_group(group, kin, q);
        let (mut G, mut way) = (Vec::new(), vec![0.0; model.n_v()]);
        let (mut trial, mut limited) = (q.to_vec(), q.to_vec());
        for _ in 0..MOST_STEPS {
            let off = norm(&errors);
            if !(off > EXACT) {
                return;
            }
            model.kinematics(q, kin);
            self.rows_of_group(group, kin, &dofs, &mut G);
            let step = self.step_within_limits(&dofs, &G, &errors, q);
            let longest = step.iter().fold(0.0_f64, |most, d| most.max(d.abs()));
            let mut share = (LONGEST / longest).min(1.0);
            let found = loop {
                if share < LEAST_SHARE {
                    break false;
                }
                for (dof, d) in dofs.iter().zip(&step) {
                    way[*dof] = share * d;
                }
                model.integrate(q, &way, 1.0, &mut trial);
                self.clamp(&trial, &dofs, &mut limited);
                model.kinematics(&limited, kin);
                let tried = self.errors_of_group(group, kin, &limited);
                if norm(&tried) < off {
                    errors = tried;
                    break true;
                }
                share *= 0.5;
            };
            if !found {
                return;
            }
            q.copy_from_slice(&limited);
        }
    }

    /// Errors of all rows of a group.
    fn errors_of_group(&self, group: &Group, kin: &Kinematics, q: &[f64]) -> Vec<f64> {
        let of_one = |k: &usize| -> ([f64; MOST_ROWS], usize) {
            let held = &self.constraints[*k];
            (held.error(&self.model, kin, q), held.rows.len())
        };
        let all = group.constraints.iter().map(of_one);
        all.flat_map(|(error, n)| error.into_iter().take(n)).collect()
    }

    /// Constraint Jacobian `G` of a group over the given dofs, row-major.
    fn rows_of_group(&self, group: &Group, kin: &Kinematics, dofs: &[usize], G: &mut Vec<f64>) {
        G.clear();
        G.resize(group.rows.len() * dofs.len(), 0.0);
        let mut first = 0;
        for k in &group.constraints {
            let held = &self.constraints[*k];
            held.entries(&self.model, kin, |row, dof, entry| {
                if let Ok(at) = dofs.binary_search(&dof) {
                    G[(first + row) * dofs.len() + at] += entry;
                }
            });
            first += held.rows.len();
        }
    }

    /// Least-norm step that satisfies the linearised rows. Joints at a limit that the step would
    /// exceed do not move.
    fn step_within_limits(&self, dofs: &[usize], G: &[f64], errors: &[f64], q: &[f64]) -> Vec<f64> {
        let mut G = G.to_vec();
        let mut step = least_norm(&G, dofs.len(), errors);
        for _ in 0..dofs.len() {
            let leaves = |(at, dof): (usize, &usize)| {
                let limit = self.model.limits().iter().find(|limit| limit.dof as usize == *dof)?;
                let q = q[limit.q_index as usize];
                let leaves =
                    q <= limit.lower && step[at] < 0.0 || q >= limit.upper && step[at] > 0.0;
                leaves.then_some(at)
            };
            let held: Vec<usize> = dofs.iter().enumerate().filter_map(leaves).collect();
            if held.is_empty() {
                break;
            }
            for row in G.chunks_exact_mut(dofs.len()) {
                for at in &held {
                    row[*at] = 0.0;
                }
            }
            step = least_norm(&G, dofs.len(), errors);
        }
        step
    }

    /// Copies `q` to `out` with the coordinates of the given dofs clamped to their limits.
    fn clamp(&self, q: &[f64], dofs: &[usize], out: &mut [f64]) {
        out.copy_from_slice(q);
        for limit in self.model.limits() {
            if dofs.binary_search(&(limit.dof as usize)).is_ok() {
                let q = &mut out[limit.q_index as usize];
                *q = q.clamp(limit.lower, limit.upper);
            }
        }
    }
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Least-norm `d` with `G d = −errors`; dependent rows are satisfied as well as possible.
fn least_norm(G: &[f64], n: usize, errors: &[f64]) -> Vec<f64> {
    let m = errors.len();
    let row = |i: usize| &G[i * n..(i + 1) * n];
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    // lower triangle of G Gᵀ, then its Cholesky factor
    let mut L = vec![0.0; m * m];
    for i in 0..m {
        for j in 0..=i {
            L[i * m + j] = dot(row(i), row(j));
        }
    }
    let largest = (0..m).fold(0.0_f64, |most, i| most.max(L[i * m + i]));
    if largest == 0.0 {
        return vec![0.0; n];
    }
    for i in 0..m {
        L[i * m + i] += DAMPING * largest;
        for j in 0..=i {
            let (of_i, of_j) = (&L[i * m..i * m + j], &L[j * m..j * m + j]);
            let left = L[i * m + j] - dot(of_i, of_j);
            // rounding may cancel the damping of a dependent row
            L[i * m + j] = if i == j {
                left.max(DAMPING * DAMPING * largest).sqrt()
            } else {
                left / L[j * m + j]
            };
        }
    }
    let mut y: Vec<f64> = errors.iter().map(|g| -g).collect();
    for i in 0..m {
        y[i] = (y[i] - dot(&L[i * m..i * m + i], &y[..i])) / L[i * m + i];
    }
    for i in (0..m).rev() {
        let below: f64 = (i + 1..m).map(|k| L[k * m + i] * y[k]).sum();
        y[i] = (y[i] - below) / L[i * m + i];
    }
    (0..n).map(|at| (0..m).map(|i| G[i * n + at] * y[i]).sum()).collect()
}
