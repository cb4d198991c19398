//! Rollout of inputs through the system, with one complementarity problem per step, to find contact
//! modes.

#![allow(non_snake_case)] // letters of MpcNote

use crate::horizon::{Active, Horizon, IMPULSE_ZERO, OPEN, ROW_ZERO, SLIP, STICK};
use crate::lcs::{Reduced, Unit};
use crate::problem::Problem;
use quasistep_friction::{Lcp, LcpOutcome, LcpSolution, LcpSolver};

/// Impulses and speeds below this share of the largest in their step count as zero.
const NOTHING: f64 = 1e-9;

/// Memory of rollouts.
#[derive(Debug)]
pub(crate) struct Rollout {
    lcp: Lcp,
    solver: LcpSolver,
    solution: LcpSolution,
    x: Vec<f64>,
    free: Vec<f64>,
    /// Rows `D x + a` without the effect of impulses.
    rows: Vec<f64>,
    /// Reduced impulses.
    r: Vec<f64>,
    /// First index of each active unit of the step in the complementarity problem.
    places: Vec<usize>,
}

impl Default for Rollout {
    fn default() -> Self {
        let mut solver = LcpSolver::new();
        // a failed rollout only loses a warm start: one attempt per step is enough
        solver.budget = Some(1);
        Self {
            lcp: Lcp::new(),
            solver,
            solution: LcpSolution::default(),
            x: Vec::new(),
            free: Vec::new(),
            rows: Vec::new(),
            r: Vec::new(),
            places: Vec::new(),
        }
    }
}

impl Rollout {
    /// Writes a mode for every active unit, where `inputs(k, j)` is input `j` of step `k`. Returns
    /// false if a step has no solution.
    pub fn modes(
        &mut self,
        problem: &Problem,
        reduced: &[Reduced],
        horizon: &Horizon,
        x0: &[f64],
        inputs: impl Fn(usize, usize) -> f64,
        modes: &mut [u8],
    ) -> bool {
        self.x.clear();
        self.x.extend_from_slice(x0);
        let mut first = 0;
        for k in 0..horizon.steps {
            let at = problem.place(k);
            let (lcs, r) = (&problem.models[at], &reduced[at]);
            let (n, m) = (lcs.n_x, lcs.n_u);
            self.free.clear();
            for i in 0..n {
                let from_x = (0..n).map(|j| lcs.A[i * n + j] * self.x[j]).sum::<f64>();
                let from_u = (0..m).map(|j| lcs.B[i * m + j] * inputs(k, j)).sum::<f64>();
                self.free.push(from_x + from_u + lcs.f[i]);
            }
            let mut last = first;
            while horizon.active.get(last).is_some_and(|a| a.step == k) {
                last += 1;
            }
            let active = &horizon.active[first..last];
            if !self.solve(r, n, active) {
                return false;
            }
            self.x.clear();
            for i in 0..n {
                let pushed = (0..r.n_r).map(|j| r.C[i * r.n_r + j] * self.r[j]).sum::<f64>();
                self.x.push(self.free[i] + pushed);
            }
            self.read_modes(r, n, active, &mut modes[first..last]);
            first = last;
        }
        true
    }

    /// Computes the impulses `r` of one step.
    fn solve(&mut self, r: &Reduced, n: usize, active: &[Active]) -> bool {
        self.r.clear();
        self.r.resize(r.n_r, 0.0);
        self.rows.clear();
        for i in 0..r.n_r {
            let through = (0..n).map(|k| r.D[i * n + k] * self.free[k]).sum::<f64>();
            self.rows.push(through + r.a[i]);
        }
        let resting = active.iter().all(|a| self.rows[r.units[a.unit].row()] >= 0.0);
        if resting {
            return true;
        }
        self.places.clear();
        let mut size = 0;
        for a in active {
            self.places.push(size);
            size += match r.units[a.unit] {
                Unit::Contact { .. } => 4,
                Unit::Pair { .. } => 1,
            };
        }
        self.lcp.reset(0, size);
        for (a, &to) in active.iter().zip(&self.places) {
            let unit = &r.units[a.unit];
            let row = unit.row();
            // rows: gap, lambda + v_t, lambda − v_t, mu c − beta₊ − beta₋
            let signs: &[(usize, usize, f64)] = match unit {
                Unit::Contact { .. } => &[(0, row, 1.0), (1, row + 1, 1.0), (2, row + 1, -1.0)],
                Unit::Pair { .. } => &[(0, row, 1.0)],
            };
            for &(part, row, sign) in signs {
                self.lcp.q()[to + part] = sign * self.rows[row];
                let entries = self.lcp.row(to + part);
                let F = &r.F[row * r.n_r..(row + 1) * r.n_r];
                for (b, &from) in active.iter().zip(&self.places) {
                    let other = &r.units[b.unit];
                    let v = other.variable();
                    entries[from] = sign * F[v];
                    if let Unit::Contact { .. } = other {
                        entries[from + 1] = sign * F[v + 1];
                        entries[from + 2] = -sign * F[v + 1];
                    }
                }
            }
            if let Unit::Contact { contact, .. } = unit {
                self.lcp.row(to + 1)[to + 3] = 1.0;
                self.lcp.row(to + 2)[to + 3] = 1.0;
                self.lcp.row(to + 3)[to..to + 3].copy_from_slice(&[contact.mu, -1.0, -1.0]);
            }
        }
        self.solver.solve(&self.lcp, &[], &mut self.solution);
        if self.solution.outcome != LcpOutcome::Solved {
            return false;
        }
        for (a, &from) in active.iter().zip(&self.places) {
            let z = &self.solution.z[from..];
            let unit = &r.units[a.unit];
            self.r[unit.variable()] = z[0];
            if let Unit::Contact { .. } = unit {
                self.r[unit.variable() + 1] = z[1] - z[2];
            }
        }
        true
    }

    fn read_modes(&self, r: &Reduced, n: usize, active: &[Active], modes: &mut [u8]) {
        let size = |v: &[f64]| v.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let (impulse, state) = (NOTHING * size(&self.r), NOTHING * size(&self.x));
        for (a, mode) in active.iter().zip(modes) {
            *mode = match r.units[a.unit] {
                Unit::Contact { variable, row, .. } => {
                    let D = &r.D[(row + 1) * n..(row + 2) * n];
                    let E = &r.E[(row + 1) * r.n_r..(row + 2) * r.n_r];
                    let v_t = r.a[row + 1] + dot(D, &self.x) + dot(E, &self.r);
                    if self.r[variable] <= impulse {
                        OPEN[usize::from(v_t < 0.0)]
                    } else if v_t.abs() > state {
                        SLIP[usize::from(v_t < 0.0)]
                    } else {
                        STICK[usize::from(self.r[variable + 1] > 0.0)]
                    }
                }
                Unit::Pair { variable, .. } => {
                    if self.r[variable] <= impulse {
                        IMPULSE_ZERO
                    } else {
                        ROW_ZERO
                    }
                }
            };
        }
    }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
