//! Active set of a solution, and where strict complementarity fails.

use super::linear::{Faces, Linear, largest};
use super::unsymmetric::Way;
use crate::program::{ConeData, ConeProgram};
use crate::second_order::norm;
use crate::tolerances::{HELD, TIE};
use quasistep_linalg::Solution;

/// Places where strict complementarity fails, so that the solution is only directionally
/// differentiable.
///
/// For each kind the derivative is one of the one-sided derivatives, as stated with its count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinks {
    /// Number of weakly active edges: slack and multiplier are both zero. The derivative treats
    /// them as inactive.
    pub rows: u32,
    /// Number of weakly active edges that depend linearly on edges with a positive multiplier.
    /// Other optimal `z` give them a positive multiplier too. Changes that keep the rows dependent
    /// have a derivative, so they do not count in [`any`](Self::any).
    pub held: u32,
    /// Number of round cones whose slack and multiplier are both zero (treated as inactive), or
    /// that stick at their friction limit (treated as sticking).
    pub round: u32,
    /// With exact friction, number of blocks that move when loads are redistributed among contacts
    /// without changing the balance. The solution is then not unique. The derivative is one of the
    /// consistent changes.
    pub loads: u32,
    /// Number of Huber terms that are exactly at their limits. The derivative treats each by
    /// [`Solution::saturated`].
    pub springs: u32,
}

impl Kinks {
    /// Whether the solution is not differentiable.
    pub fn any(&self) -> bool {
        self.rows + self.round + self.loads + self.springs > 0
    }
}

/// Curvature of the boundary of a sliding round cone: how the normal of its face turns.
#[derive(Clone, Copy, Debug)]
pub struct Sliding {
    /// Index of the cone.
    pub cone: u32,
    /// Normal `(1, −u)/√2` of the face, `u` the direction of the slip.
    pub n: [f64; crate::kernels::MAX_ROUND],
    /// Number of entries of the cone.
    pub m: usize,
    /// Slip `‖s_1‖`.
    pub slip: f64,
}

/// Active set at a solution.
#[derive(Debug, Default)]
pub struct Active {
    /// Faces on which slacks stay 0.
    pub faces: Faces,
    /// Cones whose direction of slip turns.
    pub sliding: Vec<Sliding>,
    /// Weakly active edges, `(cone, edge)`. With exact friction they stand for the normal row,
    /// whatever the edge.
    pub ties: Vec<(u32, u32)>,
    /// Weakly active edges that depend on edges with a positive multiplier, `(cone, edge)`.
    pub held: Vec<(u32, u32)>,
    /// Places where strict complementarity fails.
    pub kinks: Kinks,
}

impl Active {
    /// Classifies the cones of a solution. `z` and `s` are padded.
    pub(crate) fn classify(
        &mut self,
        p: &ConeProgram,
        linear: &mut Linear,
        answer: &Solution,
        x: &[f64],
        z: &[f64],
        s: &[f64],
    ) {
        self.faces.reset(p);
        self.sliding.clear();
        self.ties.clear();
        self.held.clear();
        self.kinks = Kinks::default();
        self.kinks.springs = linear.set_springs(p, x, |k, _| answer.saturated[k] != 0);
        let scale = linear.scale(p);
        let structure = &linear.structure;
        for island in &structure.islands {
            let groups = &structure.groups[island.first_group as usize..island.last_group as usize];
            let cones = || {
                groups.iter().flat_map(|g| &p.cones[g.first_cone as usize..g.last_cone as usize])
            };
            let own = |c: &ConeData| c.at as usize..(c.at + c.m) as usize;
            let force = cones().fold(0.0_f64, |f, c| f.max(largest(&z[own(c)])));
            for index in groups.iter().flat_map(|g| g.first_cone..g.last_cone) {
                let cone = &p.cones[index as usize];
                let speed = slack_terms(p, cone, x, force / scale);
                let share = |v: f64, of: f64| if of > 0.0 { v / of } else { 0.0 };
                let at = cone.at as usize;
                if cone.round {
                    self.round(index, cone, [&z[own(cone)], &s[own(cone)]], force, speed);
                    continue;
                }
                for j in 0..cone.m as usize {
                    let push = share(z[at + j], force);
                    let slack = share(s[at + j].abs(), speed);
                    if push.max(slack) <= TIE {
                        self.ties.push((index, j as u32));
                    } else if push > slack {
                        self.faces.pi[at + j] = 1.0;
                        self.faces.any = true;
                    }
                }
            }
        }
    }

    fn round(&mut self, index: u32, cone: &ConeData, [z, s]: [&[f64]; 2], force: f64, speed: f64) {
        let share = |v: f64, of: f64| if of > 0.0 { v / of } else { 0.0 };
        let (m, stride) = (cone.m as usize, cone.stride_z as usize);
        let (nz, ns) = (norm(&z[1..]), norm(&s[1..]));
        let push = [z[0] - nz, z[0] + nz].map(|v| share(v, force));
        let slack = [s[0] - ns, s[0] + ns].map(|v| share(v, speed));
        let range = cone.E_at as usize..cone.E_at as usize + m * stride;
        if push[1] <= TIE || slack[0] > push[1] {
            self.kinks.round += u32::from(slack[0] <= TIE);
            return;
        }
        self.faces.any = true;
        let pi = &mut self.faces.pi_round[range.clone()];
        if slack[1] <= TIE || push[0] > slack[1] || nz == 0.0 || ns == 0.0 {
            self.kinks.round += u32::from(push[0] <= TIE);
            for i in 0..m {
                pi[i * stride + i] = 1.0;
            }
            return;
        }
        // slip and friction are opposite: the larger of them gives more digits
        let mut u = [0.0; crate::kernels::MAX_ROUND];
        for i in 1..m {
            u[i] = if slack[1] > push[1] { s[i] / ns } else { -z[i] / nz };
        }
        let mut n = u.map(|u| -std::f64::consts::FRAC_1_SQRT_2 * u);
        n[0] = std::f64::consts::FRAC_1_SQRT_2;
        // on the boundary z = beta (1, −u), s = slip (1, u)
        let (beta, slip) = (0.5 * (z[0] + nz), 0.5 * (s[0] + ns));
        let curve = &mut self.faces.curve_round[range];
        for i in 0..m {
            for j in 0..m {
                pi[i * stride + j] = n[i] * n[j];
                if i > 0 && j > 0 {
                    let one = if i == j { 1.0 } else { 0.0 };
                    curve[i * stride + j] = beta / slip * (one - u[i] * u[j]);
                }
            }
        }
        self.sliding.push(Sliding { cone: index, n, m, slip });
    }

    /// Finds the weakly active edges that depend on rows with a positive multiplier, using the
    /// factor of `linear`. `row` and `z` are scratch over padded `x` and `z`.
    pub(crate) fn find_held(
        &mut self,
        p: &ConeProgram,
        linear: &mut Linear,
        row: &mut [f64],
        z: &mut [f64],
    ) {
        for &(cone, edge) in &self.ties {
            z.fill(0.0);
            self.set_tied(p, cone, edge, z);
            row.fill(0.0);
            linear.add_forces(p, z, row);
            linear.invert(Way::Forward, row);
            linear.rows(p, row, z);
            // without a row with a positive multiplier there is no penalty term
            let moved = self.tied(p, cone, edge, z).abs();
            if linear.rho > 0.0 && linear.rho * moved <= HELD {
                self.kinks.held += 1;
                self.held.push((cone, edge));
            } else {
                self.kinks.rows += 1;
            }
        }
        self.ties.clear();
    }
}

impl Active {
    /// Sets `z` to the weights of the slacks that form a weakly active row.
    fn set_tied(&self, p: &ConeProgram, cone: u32, edge: u32, z: &mut [f64]) {
        let cone = &p.cones[cone as usize];
        let own = &mut z[cone.at as usize..(cone.at + cone.m) as usize];
        if self.faces.exact && !cone.round {
            own.fill(1.0 / f64::from(cone.m));
        } else {
            own[edge as usize] = 1.0;
        }
    }

    /// Value of a weakly active row in a vector laid out like `s`.
    pub(crate) fn tied(&self, p: &ConeProgram, cone: u32, edge: u32, s: &[f64]) -> f64 {
        let cone = &p.cones[cone as usize];
        let own = &s[cone.at as usize..(cone.at + cone.m) as usize];
        if self.faces.exact && !cone.round {
            own.iter().sum::<f64>() / f64::from(cone.m)
        } else {
            own[edge as usize]
        }
    }
}

/// Largest term of a cone's slacks, and the slack that the forces would cause. A slack is zero
/// relative to these.
pub fn slack_terms(p: &ConeProgram, cone: &ConeData, x: &[f64], per_cost: f64) -> f64 {
    let (k, width, stride) = (cone.k as usize, cone.width as usize, cone.stride_z as usize);
    let mut largest_row = 0.0_f64;
    for r in 0..k {
        let mut sum = p.b[cone.b_at as usize + r].abs();
        let e = largest(&p.E[cone.E_at as usize + r * stride..][..stride]);
        for side in p.sides_of(cone) {
            let block = &p.blocks[side.block as usize];
            let dim = block.dim as usize;
            let J = &p.J[cone.J_at as usize + r * width + side.column as usize..][..dim];
            let x = &x[block.at as usize..][..dim];
            for (J, x) in J.iter().zip(x) {
                sum += (J * x).abs() + e * J * J * per_cost;
            }
        }
        largest_row = largest_row.max(e * sum);
    }
    largest_row
}
