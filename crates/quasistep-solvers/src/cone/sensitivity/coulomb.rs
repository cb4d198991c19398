//! Derivatives of solutions with exact Coulomb friction.
//!
//! Such a solution also solves the convex program with the gap offsets `b_n + h(u_t)` in place of
//! `b_n`, with `h(u_t) = max { −lᵀ u_t : l ∈ F }` (De Saxcé). The linear system is that of the
//! convex program with one difference: for a sliding contact, it is the normal rate that stays 0.
//! With `f` and `g` the right-hand sides and, for each contact, the matrices of the table,
//!
//! ```text
//! P' dx − Aᵀ N zeta = f,      Mᵀ A dx = g
//! ```
//!
//! | contact                                         | forces `N`                 | rates `M`                      |
//! |-------------------------------------------------|----------------------------|--------------------------------|
//! | open                                            | none                       | none                           |
//! | sticks                                          | all                        | all                            |
//! | round, slides along `u`, `dz` also turns by `−C ds` | `(1, −u)`              | the normal rate                |
//! | edges, slides, force on the face of the edges `f` | the edges `f`            | the normal rate, differences of the rates of `f` |
//!
//! and `Pi = N Mᵀ`, scaled so that `Mᵀ N = 1`. If the edges `e_j` sum to `m (1, 0)`, the mean of
//! their rates is the normal rate. Then `(Pi v)_j = v_j − mean_f v + mean v` for `j` in `f`.
//!
//! **Uniqueness.** Forces may be redistributed among contacts without changing the balance. If that
//! changes no motion, `x` has a derivative, and so have all unique forces; `dz` is one of the
//! consistent changes. If it does (for example, contacts of one block that slide in different
//! directions and share its load), `x` is not unique either. [`Kinks::loads`] counts such blocks.

use super::active::{Active, Kinks, Sliding, slack_terms};
use super::linear::{Faces, Linear, largest};
use super::unsymmetric::{Factors, Way};
use super::{Sensitivity, SensitivityError};
use crate::cone::kernels::{self, MAX_ROUND};
use crate::cone::program::{ConeData, ConeProgram, LANES, MAX_ROWS};
use crate::cone::second_order::norm;
use crate::coulomb::polytope::Hull;
use crate::tolerances::{DERIVATIVE_PIVOT, EXACT_TIE as TIE, LOADS_MOVE};
use crate::{CoulombSolution, FrictionProgram, Outcome};
use std::f64::consts::FRAC_1_SQRT_2;

/// Sum of the edges of a friction set that counts as zero, relative to the largest edge.
const BALANCED: f64 = 1e-9;

impl Faces {
    /// `v ← Pi v` for one cone, or `v ← Piᵀ v`, depending on `way`.
    pub(super) fn project_exact(&self, cone: &ConeData, way: Way, v: &mut [f64]) {
        let (at, m, stride) = (cone.at as usize, cone.m as usize, cone.stride_z as usize);
        let v = &mut v[at..at + m];
        if cone.round {
            let entry = |i: usize, j: usize| self.pi_round[cone.E_at as usize + i * stride + j];
            let mut out = [0.0; MAX_ROUND];
            for (i, out) in out[..m].iter_mut().enumerate() {
                *out = match way {
                    Way::Forward => (0..m).map(|j| entry(i, j) * v[j]).sum(),
                    Way::Backward => (0..m).map(|j| entry(j, i) * v[j]).sum(),
                };
            }
            v.copy_from_slice(&out[..m]);
            return;
        }
        let pi = &self.pi[at..at + m];
        let count: f64 = pi.iter().sum();
        if count == m as f64 {
            return;
        }
        let on_face: f64 = v.iter().zip(pi).map(|(v, pi)| v * pi).sum();
        let mean = if count > 0.0 { on_face / count } else { 0.0 };
        let (own, others) = match way {
            Way::Forward => (v.iter().sum::<f64>() / m as f64, 0.0),
            Way::Backward => (0.0, on_face / m as f64),
        };
        for (v, pi) in v.iter_mut().zip(pi) {
            *v = pi * (*v - mean + own) + others;
        }
    }

    /// Sets `R` and `F` of a round cone; see [`push_in_rows`](Self::push_in_rows).
    pub(super) fn push_round(&self, p: &ConeProgram, cone: &ConeData, way: Way, to: &mut Vec<f64>) {
        let (k, stride, E_at) = (cone.k as usize, cone.stride_z as usize, cone.E_at as usize);
        let E = |r: usize| p.E[E_at + r * stride + r];
        let first = to.len();
        to.resize(first + 2 * k * k, 0.0);
        let (R, F) = to[first..].split_at_mut(k * k);
        if self.pi_round[E_at + stride + 1] == 0.0 {
            R[0] = E(0);
            for (i, F) in F[..k].iter_mut().enumerate() {
                *F = self.pi_round[E_at + i * stride] * E(i);
            }
            if way == Way::Backward {
                R.swap_with_slice(F);
            }
        } else {
            for i in 0..k {
                (R[i * k + i], F[i * k + i]) = (E(i), E(i));
            }
        }
    }

    /// Mean of the edges of a face, as a row of `E`; zero if friction is convex.
    pub(super) fn mean_edge(&self, p: &ConeProgram, cone: &ConeData) -> [f64; MAX_ROWS] {
        let (at, m, stride) = (cone.at as usize, cone.m as usize, cone.stride_z as usize);
        let mut mean = [0.0; MAX_ROWS];
        if self.exact {
            let pi = &self.pi[at..at + m];
            let count: f64 = pi.iter().sum();
            for (r, mean) in mean[..cone.k as usize].iter_mut().enumerate() {
                let E = &p.E[cone.E_at as usize + r * stride..];
                *mean = E.iter().zip(pi).map(|(e, pi)| e * pi).sum::<f64>() / count;
            }
        }
        mean
    }

    /// Sets the first rows of `R` and `F` of a pyramid: the normal rate, and a force along the mean
    /// edge of the face.
    pub(super) fn push_means(
        &self,
        cone: &ConeData,
        way: Way,
        mean: &[f64; MAX_ROWS],
        to: &mut [f64],
    ) {
        let (k, at, m) = (cone.k as usize, cone.at as usize, cone.m as usize);
        let root = self.pi[at..at + m].iter().sum::<f64>().sqrt();
        let (R, F) = to.split_at_mut(k * k);
        let (normal, along) = if way == Way::Forward { (R, F) } else { (F, R) };
        normal[..k].fill(0.0);
        normal[0] = root;
        along[..k].iter_mut().zip(mean).for_each(|(along, mean)| *along = root * mean);
    }
}

/// A contact during classification: forces in its rows, rates `E (J x − b)`, and their reference
/// sizes.
struct At<'a> {
    index: usize,
    cone: &'a ConeData,
    lambda: &'a [f64],
    s: &'a [f64],
    /// Largest normal force of the contact's island; the next field is the largest term of its
    /// rates.
    force: f64,
    speed: f64,
}

impl At<'_> {
    /// A rate relative to its largest term.
    fn share(&self, rate: f64) -> f64 {
        if self.speed > 0.0 { rate / self.speed } else { 0.0 }
    }

    fn gap(&self) -> f64 {
        let n = if self.cone.round { 1 } else { self.s.len() };
        self.share(self.s[..n].iter().sum::<f64>().abs() / n as f64)
    }

    fn push(&self) -> f64 {
        if self.force > 0.0 { self.lambda[0] / self.force } else { 0.0 }
    }

    fn slip(&self) -> f64 {
        if self.cone.round {
            return self.share(norm(&self.s[1..]));
        }
        let (least, most) = self.range();
        self.share(most - least)
    }

    fn range(&self) -> (f64, f64) {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        self.s.iter().fold(ends, |(least, most), s| (least.min(*s), most.max(*s)))
    }

    /// Whether edge `j` is among those of largest dissipation.
    fn is_against(&self, j: usize) -> bool {
        self.share(self.s[j] - self.range().0) <= TIE
    }

    /// Coefficients of edge `j` in the rows.
    fn edge<'p>(&self, p: &'p ConeProgram, j: usize) -> impl Iterator<Item = f64> + use<'p> {
        let (k, stride, at) = (self.cone.k, self.cone.stride_z as usize, self.cone.E_at as usize);
        (0..k as usize).map(move |r| p.E[at + r * stride + j])
    }

    /// `z` of a round cone: the forces divided by the diagonal of `E`.
    fn round_z(&self, p: &ConeProgram) -> [f64; MAX_ROUND] {
        let mut z = [0.0; MAX_ROUND];
        for (r, z) in z[..self.s.len()].iter_mut().enumerate() {
            let E = p.E[self.cone.E_at as usize + r * (self.cone.stride_z as usize + 1)];
            *z = if E > 0.0 { self.lambda[r] / E } else { 0.0 };
        }
        z
    }

    /// Direction of the slip of a round contact. Slip and friction are opposite; the larger of them
    /// gives more digits.
    fn direction(&self, z: &[f64; MAX_ROUND]) -> [f64; MAX_ROUND] {
        let (nz, ns) = (norm(&z[1..]), norm(&self.s[1..]));
        let by_slip = self.slip() > self.push() || nz == 0.0;
        std::array::from_fn(|i| match i {
            0 => 0.0,
            _ if i >= self.s.len() => 0.0,
            _ if by_slip => self.s[i] / ns,
            _ => -z[i] / nz,
        })
    }
}

/// Index of the first row of every contact.
fn first_rows(p: &ConeProgram) -> Vec<usize> {
    let mut at = 0;
    let first = |cone: &ConeData| {
        at += cone.k as usize;
        at - cone.k as usize
    };
    p.cones.iter().map(first).collect()
}

/// Calls `each` with the contacts of every island.
fn contacts<'a>(
    p: &'a ConeProgram,
    linear: &Linear,
    x: &[f64],
    lambda: &'a [f64],
    s: &'a [f64],
    mut each: impl FnMut(usize, &At<'a>),
) {
    let (scale, firsts) = (linear.scale(p), first_rows(p));
    let structure = &linear.structure;
    for (number, island) in structure.islands.iter().enumerate() {
        let groups = &structure.groups[island.first_group as usize..island.last_group as usize];
        let cones = || groups.iter().flat_map(|g| g.first_cone as usize..g.last_cone as usize);
        let force = cones().fold(0.0_f64, |f, i| f.max(lambda[firsts[i]]));
        for index in cones() {
            let cone = &p.cones[index];
            each(
                number,
                &At {
                    index,
                    cone,
                    lambda: &lambda[firsts[index]..][..cone.k as usize],
                    s: &s[cone.at as usize..(cone.at + cone.m) as usize],
                    force,
                    speed: slack_terms(p, cone, x, force / scale),
                },
            );
        }
    }
}

impl Active {
    /// Classifies the contacts of a solution with exact friction, and writes the multipliers of the
    /// cones. `s = E (J x − b)` are the rates.
    ///
    /// Where forces are not unique, the solver's forces may put a contact at a kink (without load,
    /// or at its friction limit) although other forces do not. If the smallest-norm forces of an
    /// island have no kink, they are used.
    fn classify_exact(
        &mut self,
        p: &ConeProgram,
        linear: &mut Linear,
        [x, lambda]: [&[f64]; 2],
        [z, s, g, w]: [&mut [f64]; 4],
    ) {
        let springs = linear.set_springs(p, x, |k, force| force >= p.saturations[k].limit);
        let doubtful = self.classify_all(p, linear, [x, lambda], [z, s]);
        if doubtful.contains(&true) {
            let even = even_loads(p, linear, &doubtful, [x, lambda], [z, s, g, w]);
            let still = self.classify_all(p, linear, [x, &even], [z, s]);
            if still.contains(&true) {
                let mut chosen = even.clone();
                let firsts = first_rows(p);
                contacts(p, linear, x, &even, s, |island, at| {
                    if still[island] {
                        let own = firsts[at.index]..firsts[at.index] + at.lambda.len();
                        chosen[own.clone()].copy_from_slice(&lambda[own]);
                    }
                });
                self.classify_all(p, linear, [x, &chosen], [z, s]);
            }
        }
        self.kinks.springs = springs;
    }

    /// One classification. Returns which islands have kinks or contacts with zero gap and zero
    /// force.
    fn classify_all(
        &mut self,
        p: &ConeProgram,
        linear: &Linear,
        [x, lambda]: [&[f64]; 2],
        [z, s]: [&mut [f64]; 2],
    ) -> Vec<bool> {
        self.faces.reset(p);
        self.faces.exact = true;
        self.sliding.clear();
        self.ties.clear();
        self.held.clear();
        self.kinks = Kinks::default();
        z.fill(0.0);
        let mut doubtful = vec![false; linear.structure.islands.len()];
        contacts(p, linear, x, lambda, s, |island, at| {
            let (kinks, ties) = (self.kinks, self.ties.len());
            let (push, gap) = (at.push(), at.gap());
            if push.max(gap) <= TIE {
                self.ties.push((at.index as u32, 0));
            } else if push > TIE && gap <= push {
                self.faces.any = true;
                let z = &mut z[at.cone.at as usize..(at.cone.at + at.cone.m) as usize];
                if at.cone.round {
                    self.round_exact(p, at, z);
                } else {
                    self.edges_exact(p, at, z);
                }
            }
            doubtful[island] |= self.kinks != kinks || self.ties.len() > ties;
        });
        doubtful
    }

    fn round_exact(&mut self, p: &ConeProgram, at: &At<'_>, z: &mut [f64]) {
        let (m, stride) = (at.cone.m as usize, at.cone.stride_z as usize);
        let own = at.round_z(p);
        let (room, slip) = ((own[0] - norm(&own[1..])) / at.force, at.slip());
        let pi = &mut self.faces.pi_round[at.cone.E_at as usize..];
        if slip <= TIE || room > slip {
            self.kinks.round += u32::from(room <= TIE);
            z.copy_from_slice(&own[..m]);
            for i in 0..m {
                pi[i * stride + i] = 1.0;
            }
            return;
        }
        let (u, beta, slip) = (at.direction(&own), own[0], norm(&at.s[1..]));
        let curve = &mut self.faces.curve_round[at.cone.E_at as usize..];
        (pi[0], z[0]) = (1.0, beta);
        for i in 1..m {
            pi[i * stride] = -u[i];
            z[i] = -beta * u[i];
            for j in 1..m {
                let one = if i == j { 1.0 } else { 0.0 };
                curve[i * stride + j] = beta / slip * (one - u[i] * u[j]);
            }
        }
        self.sliding.push(Sliding { cone: at.index as u32, n: u, m, slip });
    }

    fn edges_exact(&mut self, p: &ConeProgram, at: &At<'_>, z: &mut [f64]) {
        let (m, k) = (z.len(), at.lambda.len());
        let pi = &mut self.faces.pi[at.cone.at as usize..][..m];
        let at_limit = m > 1 && is_at_limit(p, at);
        if m == 1 || at.slip() <= TIE || !at_limit {
            self.kinks.round += u32::from(at_limit);
            pi.fill(1.0);
            decompose(p, at, pi, z);
            return;
        }
        for (j, pi) in pi.iter_mut().enumerate() {
            *pi = f64::from(at.is_against(j));
        }
        decompose(p, at, pi, z);
        let idle = |pi: f64, z: f64| pi > 0.0 && z / at.force <= TIE;
        if pi.iter().zip(&*z).any(|(pi, z)| idle(*pi, *z)) {
            self.kinks.rows += 1;
            // on a face with at most as many edges as rows, the force determines which edges carry
            // load
            if pi.iter().sum::<f64>() < k as f64 {
                pi.iter_mut().zip(&*z).for_each(|(pi, z)| *pi *= f64::from(!idle(*pi, *z)));
                decompose(p, at, pi, z);
            }
        }
    }
}

/// Whether the friction of a pyramid contact leaves its set when it grows slightly.
fn is_at_limit(p: &ConeProgram, at: &At<'_>) -> bool {
    let d = at.lambda.len() - 1;
    let vertices: Vec<f64> = (0..at.s.len()).flat_map(|j| at.edge(p, j).skip(1)).collect();
    let more: Vec<f64> = at.lambda[1..].iter().map(|l| l * (1.0 + 2.0 * TIE)).collect();
    let mut nearest = vec![0.0; d];
    Hull::default().project(&vertices, d, at.lambda[0], &more, &mut nearest);
    let off = more.iter().zip(&nearest).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
    off > TIE * largest(&more)
}

/// Smallest-norm forces with the same resultants, in the rows of contacts. Taken over all closed
/// contacts of some islands; sliding contacts keep their direction of friction.
fn even_loads(
    p: &ConeProgram,
    linear: &mut Linear,
    islands: &[bool],
    [x, lambda]: [&[f64]; 2],
    [z, s, g, w]: [&mut [f64]; 4],
) -> Vec<f64> {
    let mut faces = Faces::default();
    faces.reset(p);
    g.fill(0.0);
    contacts(p, linear, x, lambda, s, |island, at| {
        if !islands[island] || at.gap() > at.push().max(TIE) {
            return;
        }
        faces.any = true;
        let (m, stride) = (at.cone.m as usize, at.cone.stride_z as usize);
        let own = at.cone.at as usize..at.cone.at as usize + m;
        g[own.clone()].copy_from_slice(&z[own.clone()]);
        let sticks = at.slip() <= TIE;
        if !at.cone.round {
            for (j, pi) in faces.pi[own].iter_mut().enumerate() {
                *pi = f64::from(sticks || at.is_against(j));
            }
            return;
        }
        let mut n = at.direction(&at.round_z(p)).map(|u| -u * FRAC_1_SQRT_2);
        n[0] = FRAC_1_SQRT_2;
        let pi = &mut faces.pi_round[at.cone.E_at as usize..];
        for i in 0..m {
            for j in 0..m {
                pi[i * stride + j] = if sticks { f64::from(i == j) } else { n[i] * n[j] };
            }
        }
    });
    let mut even = lambda.to_vec();
    if !linear.factor(p, &faces) {
        return even;
    }
    // the remaining multipliers have no resultant
    faces.project(p, Way::Forward, g);
    let all = g.to_vec();
    linear.nearest(p, &faces, Way::Forward, g, w);
    g.iter_mut().zip(&all).for_each(|(g, all)| *g = all - *g);
    for ((index, cone), first) in p.cones.iter().enumerate().zip(first_rows(p)) {
        if faces.is_idle(p, index) {
            continue;
        }
        let z = &g[cone.at as usize..(cone.at + cone.m) as usize];
        for (r, even) in even[first..first + cone.k as usize].iter_mut().enumerate() {
            let E = &p.E[cone.E_at as usize + r * cone.stride_z as usize..];
            *even = E.iter().zip(z).map(|(e, z)| e * z).sum();
        }
    }
    even
}

/// Smallest-norm `z` on a face whose edges sum to a given force, by conjugate gradients. The
/// iterations are twice the number of rows, because of rounding.
fn decompose(p: &ConeProgram, at: &At<'_>, pi: &[f64], z: &mut [f64]) {
    let k = at.lambda.len();
    let on_face = |v: &[f64; MAX_ROWS]| -> Vec<f64> {
        (0..pi.len())
            .map(|j| pi[j] * at.edge(p, j).zip(v).map(|(e, v)| e * v).sum::<f64>())
            .collect()
    };
    z.fill(0.0);
    let mut r = [0.0; MAX_ROWS];
    r[..k].copy_from_slice(at.lambda);
    let (mut d, mut last) = (vec![0.0; pi.len()], f64::INFINITY);
    for _ in 0..2 * k {
        let g = on_face(&r);
        let size: f64 = g.iter().map(|g| g * g).sum();
        let mut moved = [0.0; MAX_ROWS];
        for (j, (d, g)) in d.iter_mut().zip(&g).enumerate() {
            *d = g + if last.is_finite() { size / last * *d } else { 0.0 };
            moved.iter_mut().zip(at.edge(p, j)).for_each(|(m, e)| *m += e * *d);
        }
        let over: f64 = moved.iter().map(|m| m * m).sum();
        if !(over > 0.0) || size == 0.0 {
            return;
        }
        let step = size / over;
        z.iter_mut().zip(&d).for_each(|(z, d)| *z += step * d);
        r.iter_mut().zip(&moved).for_each(|(r, m)| *r -= step * m);
        last = size;
    }
}

impl Linear {
    /// Factorises the matrix or its transpose; returns false if it is singular.
    pub(super) fn factor_exact(&mut self, p: &ConeProgram, faces: &Faces, way: Way) -> bool {
        let largest = 1.0 / (DERIVATIVE_PIVOT * self.scale(p));
        let Self { isa, structure: s, springs, rho, factors, .. } = self;
        factors.exact = true;
        factors.has_backward = way == Way::Backward;
        let widest = p.blocks.iter().map(|b| b.stride as usize).max().unwrap_or_default();
        factors.scratch.resize(widest * LANES, 0.0);
        let Factors { forward, backward, in_rows, scratch, .. } = factors;
        let lu = if way == Way::Forward { forward } else { backward };
        for (v, n) in [(&mut lu.U, s.H_len), (&mut lu.L, s.H_len), (&mut lu.inverses, s.W_len)] {
            v.resize(n);
            v.fill(0.0);
        }
        for panel in &s.panels {
            let block = &p.blocks[panel.block as usize];
            let len = (block.dim * block.stride) as usize;
            lu.U[panel.at as usize..][..len].copy_from_slice(&p.P[block.P_at as usize..][..len]);
        }
        for (at, stiffness) in springs {
            let block = p.blocks.partition_point(|b| b.at as usize <= *at) - 1;
            let panel = &s.panels[s.panel_of_block[block] as usize];
            let i = *at - p.blocks[block].at as usize;
            lu.U[panel.at as usize + i * (panel.stride() as usize + 1)] += *stiffness;
        }
        for group in &s.groups {
            let targets = &s.targets[group.first_target as usize..group.last_target as usize];
            for index in group.first_cone as usize..group.last_cone as usize {
                if faces.is_idle(p, index) {
                    continue;
                }
                let cone = &p.cones[index];
                let k = cone.k as usize;
                in_rows.clear();
                faces.push_in_rows(p, index, way, in_rows);
                let [R, F, bend] = [0, 1, 2].map(|part| &in_rows[part * k * k..(part + 1) * k * k]);
                let mut G = [[0.0; MAX_ROWS]; MAX_ROWS];
                for a in 0..k {
                    for b in 0..k {
                        let sum: f64 = (0..k).map(|i| F[i * k + a] * R[i * k + b]).sum();
                        G[a][b] = *rho * sum + bend[a * k + b];
                    }
                }
                let J = &p.J[cone.J_at as usize..][..k * cone.width as usize];
                kernels::add_part(*isa, targets, k, &G, J, lu);
            }
        }
        kernels::factor_lu(*isa, s.layout(), lu, scratch).is_some()
            && lu.inverses.iter().all(|entry| entry.abs() <= largest)
    }

    /// Prepares gradients: factorises the transpose, once for each solution.
    pub(super) fn turn_around(&mut self, p: &ConeProgram, faces: &Faces) {
        if self.factors.exact && !self.factors.has_backward {
            // regular, because the matrix itself is
            self.factor_exact(p, faces, Way::Backward);
        }
    }
}

impl Sensitivity {
    /// Prepares the derivative of a solution of [`CoulombSolver`](crate::CoulombSolver) for fixed
    /// modes: open, stuck, or sliding along its direction.
    ///
    /// Rows and multipliers are those of the cones of [`FrictionProgram::relaxation`]; a change of
    /// the data is a change of that program. For a round contact `z = (lambda_n, lambda_t/mu)`; for
    /// others `z` holds the forces along the edges. If `z` is not unique, `dz` is a consistent
    /// change, but not the smallest.
    ///
    /// # Errors
    ///
    /// [`NotSolved`](SensitivityError::NotSolved). [`NotUnique`](SensitivityError::NotUnique), also
    /// where friction that grows with the load has no stable solution.
    /// [`Unbalanced`](SensitivityError::Unbalanced). [`Dimensions`](SensitivityError::Dimensions)
    /// if the solution belongs to another program.
    pub fn coulomb(
        &mut self,
        program: &FrictionProgram,
        answer: &CoulombSolution,
    ) -> Result<Kinks, SensitivityError> {
        self.ready = false;
        if answer.outcome != Outcome::Solved {
            return Err(SensitivityError::NotSolved);
        }
        let cones = program.relaxation();
        let fits = answer.x.len() == program.n() && answer.lambda.len() == program.n_rows();
        if !fits || program.check().is_err() {
            return Err(SensitivityError::Dimensions);
        }
        if cones.cones.iter().any(|cone| !is_balanced(cones, cone)) {
            return Err(SensitivityError::Unbalanced);
        }
        self.take(cones);
        // these multipliers satisfy no least-norm condition
        self.has_w = true;
        let Self { p, linear, active, x, z, s, f, g, dx, zeta, .. } = self;
        p.pad_x(&answer.x, x);
        linear.slacks(p, x, s);
        active.classify_exact(p, linear, [x, &answer.lambda], [z, s, g, dx]);
        if !linear.factor(p, &active.faces) {
            return Err(SensitivityError::NotUnique);
        }
        active.find_held(p, linear, f, g);
        if active.faces.any {
            active.kinks.loads = active.loads_that_move(p, linear, [f, g, dx, zeta]);
        }
        self.ready = true;
        Ok(self.active.kinks)
    }

    /// Multipliers of the prepared solution, length `m`.
    ///
    /// # Errors
    ///
    /// [`Dimensions`](SensitivityError::Dimensions),
    /// [`NotPrepared`](SensitivityError::NotPrepared).
    pub fn multipliers(&self, out: &mut [f64]) -> Result<(), SensitivityError> {
        self.check(self.p.n, out.len(), None)?;
        kernels::unpad(self.linear.isa, &self.p, &self.z, out);
        Ok(())
    }

    /// Whether a Huber term is at its limit at the prepared solution.
    pub fn is_limited(&self, spring: usize) -> bool {
        self.linear.springs[spring].1 == 0.0 && self.p.saturations[spring].stiffness > 0.0
    }
}

/// Whether the edges of a cone sum to a multiple of the normal.
fn is_balanced(p: &ConeProgram, cone: &ConeData) -> bool {
    (1..cone.k as usize).all(|r| {
        let E = &p.E[cone.E_at as usize + r * cone.stride_z as usize..][..cone.m as usize];
        cone.round || E.iter().sum::<f64>().abs() <= BALANCED * largest(E)
    })
}

impl Active {
    /// Number of blocks that move when loads are redistributed among contacts without changing the
    /// balance. They are found by random loads, which contact forces balance without motion if `x`
    /// is unique.
    fn loads_that_move(
        &self,
        p: &ConeProgram,
        linear: &mut Linear,
        [f, g, dx, zeta]: [&mut Vec<f64>; 4],
    ) -> u32 {
        let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
        g.fill(0.0);
        for (index, cone) in p.cones.iter().enumerate() {
            if self.faces.is_idle(p, index) {
                continue;
            }
            for v in &mut g[cone.at as usize..(cone.at + cone.m) as usize] {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                *v = (seed >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
            }
        }
        self.faces.project(p, Way::Forward, g);
        f.fill(0.0);
        linear.add_forces(p, g, f);
        dx.fill(0.0);
        let least = LOADS_MOVE * largest(f) / linear.scale(p);
        linear.solve(p, &self.faces, Way::Forward, f, dx, zeta);
        let moves = |at: usize, dim: usize| largest(&dx[at..at + dim]) > least;
        p.blocks.iter().filter(|b| moves(b.at as usize, b.dim as usize)).count() as u32
    }
}
