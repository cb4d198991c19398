//! The active set of an answer, and where strict complementarity fails.

use super::linear::{Faces, Linear, largest};
use super::unsymmetric::Way;
use crate::Solution;
use crate::cone::program::{ConeData, ConeProgram};
use crate::cone::second_order::norm;
use crate::tolerances::{HELD, TIE};

/// Where strict complementarity fails, so that the answer has derivatives to one side only.
///
/// The derivative is then that of the choice named with each count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinks {
    /// Weakly active edges: they touch without force. Chosen: inactive, as if the change opened them.
    pub rows: u32,
    /// Weakly active edges that depend on pushing ones: they share the load of those in other answers `z`. No kink for changes
    /// that keep the rows dependent, and not counted in [`any`](Self::any).
    pub held: u32,
    /// Round cones that touch without force (chosen: inactive), or stick at their friction limit
    /// (chosen: they stick).
    pub round: u32,
    /// With exact friction, bodies that move where loads are exchanged among contacts in a way that the balance leaves open: the
    /// answer is one of many. Chosen: one of the consistent changes.
    pub loads: u32,
    /// Limited springs that just reach their limit. Chosen: what [`Solution::saturated`] says.
    pub springs: u32,
}

impl Kinks {
    /// True if the answer has no derivative in every direction.
    pub fn any(&self) -> bool {
        self.rows + self.round + self.loads + self.springs > 0
    }
}

/// Curvature of a sliding round cone: how the normal of its face turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sliding {
    pub cone: u32,
    /// `(1, −u)/√2`, `u` the direction of the slip.
    pub n: [f64; crate::cone::kernels::MAX_ROUND],
    /// Number of its entries.
    pub m: usize,
    /// Slip `‖s_1‖`.
    pub slip: f64,
}

/// The active set at an answer.
#[derive(Debug, Default)]
pub(super) struct Active {
    pub faces: Faces,
    pub sliding: Vec<Sliding>,
    /// Weakly active edges, `(cone, edge)`; with exact friction normal rows, whatever the edge.
    pub ties: Vec<(u32, u32)>,
    /// The weakly active edges that depend on pushing rows, `(cone, edge)`.
    pub held: Vec<(u32, u32)>,
    pub kinks: Kinks,
}

impl Active {
    /// Classifies the cones of an answer, with `z` and `s` padded.
    pub fn classify(
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
        // slip and friction are opposite: the larger of them has more digits
        let mut u = [0.0; crate::cone::kernels::MAX_ROUND];
        for i in 1..m {
            u[i] = if slack[1] > push[1] { s[i] / ns } else { -z[i] / nz };
        }
        let mut n = u.map(|u| -std::f64::consts::FRAC_1_SQRT_2 * u);
        n[0] = std::f64::consts::FRAC_1_SQRT_2;
        // boundary values: z = beta (1, −u), s = slip (1, u)
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

    /// Finds the weakly active edges that depend on pushing rows, with the factor of `linear`. `row` and `z` are scratch over
    /// padded `x` and `z`.
    pub fn find_held(
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
            // without a row that pushes there is no penalty
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
    /// Sets the weights on `s` that make a weakly active row.
    fn set_tied(&self, p: &ConeProgram, cone: u32, edge: u32, z: &mut [f64]) {
        let cone = &p.cones[cone as usize];
        let own = &mut z[cone.at as usize..(cone.at + cone.m) as usize];
        if self.faces.exact && !cone.round {
            own.fill(1.0 / f64::from(cone.m));
        } else {
            own[edge as usize] = 1.0;
        }
    }

    /// Entry of a weakly active row in a vector like `s`.
    pub fn tied(&self, p: &ConeProgram, cone: u32, edge: u32, s: &[f64]) -> f64 {
        let cone = &p.cones[cone as usize];
        let own = &s[cone.at as usize..(cone.at + cone.m) as usize];
        if self.faces.exact && !cone.round {
            own.iter().sum::<f64>() / f64::from(cone.m)
        } else {
            own[edge as usize]
        }
    }
}

/// Largest term of a cone's slacks, and the slack that the forces would give to it: what a slack of zero is measured by.
pub(super) fn slack_terms(p: &ConeProgram, cone: &ConeData, x: &[f64], per_cost: f64) -> f64 {
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
