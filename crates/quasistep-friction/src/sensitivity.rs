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

use crate::polytope::Hull;
use crate::program::FrictionProgram;
use crate::solution::{CoulombSolution, Outcome};
use crate::tolerances::EXACT_TIE as TIE;
use quasistep_cone::inside::{
    Active, ConeData, Faces, Linear, MAX_ROWS, Prepared, Sliding, Way, largest, norm, slack_terms,
};
use quasistep_cone::{ConeProgram, Kinks, Sensitivity, SensitivityError};
use std::f64::consts::FRAC_1_SQRT_2;

/// Sum of the edges of a friction set that counts as zero, relative to the largest edge.
const BALANCED: f64 = 1e-9;

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
    fn round_z(&self, p: &ConeProgram) -> [f64; MAX_ROWS] {
        let mut z = [0.0; MAX_ROWS];
        for (r, z) in z[..self.s.len()].iter_mut().enumerate() {
            let E = p.E[self.cone.E_at as usize + r * (self.cone.stride_z as usize + 1)];
            *z = if E > 0.0 { self.lambda[r] / E } else { 0.0 };
        }
        z
    }

    /// Direction of the slip of a round contact. Slip and friction are opposite; the larger of them
    /// gives more digits.
    fn direction(&self, z: &[f64; MAX_ROWS]) -> [f64; MAX_ROWS] {
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

/// Classifies the contacts of a solution with exact friction, and writes the multipliers of the
/// cones. `s = E (J x − b)` are the rates.
///
/// Where forces are not unique, the solver's forces may put a contact at a kink (without load,
/// or at its friction limit) although other forces do not. If the smallest-norm forces of an
/// island have no kink, they are used.
fn classify_exact(
    active: &mut Active,
    p: &ConeProgram,
    linear: &mut Linear,
    [x, lambda]: [&[f64]; 2],
    [z, s, g, w]: [&mut [f64]; 4],
) {
    let springs = linear.set_springs(p, x, |k, force| force >= p.saturations[k].limit);
    let doubtful = classify_all(active, p, linear, [x, lambda], [z, s]);
    if doubtful.contains(&true) {
        let even = even_loads(p, linear, &doubtful, [x, lambda], [z, s, g, w]);
        let still = classify_all(active, p, linear, [x, &even], [z, s]);
        if still.contains(&true) {
            let mut chosen = even.clone();
            let firsts = first_rows(p);
            contacts(p, linear, x, &even, s, |island, at| {
                if still[island] {
                    let own = firsts[at.index]..firsts[at.index] + at.lambda.len();
                    chosen[own.clone()].copy_from_slice(&lambda[own]);
                }
            });
            classify_all(active, p, linear, [x, &chosen], [z, s]);
        }
    }
    active.kinks.springs = springs;
}

/// One classification. Returns which islands have kinks or contacts with zero gap and zero
/// force.
fn classify_all(
    active: &mut Active,
    p: &ConeProgram,
    linear: &Linear,
    [x, lambda]: [&[f64]; 2],
    [z, s]: [&mut [f64]; 2],
) -> Vec<bool> {
    active.faces.reset(p);
    active.faces.exact = true;
    active.sliding.clear();
    active.ties.clear();
    active.held.clear();
    active.kinks = Kinks::default();
    z.fill(0.0);
    let mut doubtful = vec![false; linear.structure.islands.len()];
    contacts(p, linear, x, lambda, s, |island, at| {
        let (kinks, ties) = (active.kinks, active.ties.len());
        let (push, gap) = (at.push(), at.gap());
        if push.max(gap) <= TIE {
            active.ties.push((at.index as u32, 0));
        } else if push > TIE && gap <= push {
            active.faces.any = true;
            let z = &mut z[at.cone.at as usize..(at.cone.at + at.cone.m) as usize];
            if at.cone.round {
                round_exact(active, p, at, z);
            } else {
                edges_exact(active, p, at, z);
            }
        }
        doubtful[island] |= active.kinks != kinks || active.ties.len() > ties;
    });
    doubtful
}

fn round_exact(active: &mut Active, p: &ConeProgram, at: &At<'_>, z: &mut [f64]) {
    let (m, stride) = (at.cone.m as usize, at.cone.stride_z as usize);
    let own = at.round_z(p);
    let (room, slip) = ((own[0] - norm(&own[1..])) / at.force, at.slip());
    let pi = &mut active.faces.pi_round[at.cone.E_at as usize..];
    if slip <= TIE || room > slip {
        active.kinks.round += u32::from(room <= TIE);
        z.copy_from_slice(&own[..m]);
        for i in 0..m {
            pi[i * stride + i] = 1.0;
        }
        return;
    }
    let (u, beta, slip) = (at.direction(&own), own[0], norm(&at.s[1..]));
    let curve = &mut active.faces.curve_round[at.cone.E_at as usize..];
    (pi[0], z[0]) = (1.0, beta);
    for i in 1..m {
        pi[i * stride] = -u[i];
        z[i] = -beta * u[i];
        for j in 1..m {
            let one = if i == j { 1.0 } else { 0.0 };
            curve[i * stride + j] = beta / slip * (one - u[i] * u[j]);
        }
    }
    active.sliding.push(Sliding { cone: at.index as u32, n: u, m, slip });
}

fn edges_exact(active: &mut Active, p: &ConeProgram, at: &At<'_>, z: &mut [f64]) {
    let (m, k) = (z.len(), at.lambda.len());
    let pi = &mut active.faces.pi[at.cone.at as usize..][..m];
    let at_limit = m > 1 && is_at_limit(p, at);
    if m == 1 || at.slip() <= TIE || !at_limit {
        active.kinks.round += u32::from(at_limit);
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
        active.kinks.rows += 1;
        // on a face with at most as many edges as rows, the force determines which edges carry
        // load
        if pi.iter().sum::<f64>() < k as f64 {
            pi.iter_mut().zip(&*z).for_each(|(pi, z)| *pi *= f64::from(!idle(*pi, *z)));
            decompose(p, at, pi, z);
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

/// Derivatives of solutions with exact friction, by the machinery of cone programs.
///
/// ```
/// use quasistep_cone::Sensitivity;
/// use quasistep_friction::{
///     CoulombSensitivity, CoulombSolution, CoulombSolver, Friction, FrictionProgram,
/// };
///
/// // a block of 2 kg slides on a floor: 3 N·s sideways, a load of 4 N·s, friction 0.5
/// let mut program = FrictionProgram::new();
/// program.reset([2]);
/// (program.P(0, 0)[0], program.P(0, 1)[1]) = (2.0, 2.0);
/// program.c(0).copy_from_slice(&[-3.0, 4.0]);
/// let mut floor = program.push_contact(Friction::Round(&[0.5]), &[0]);
/// (floor.J(0, 0)[1], floor.J(0, 1)[0]) = (1.0, 1.0);
/// let mut solution = CoulombSolution::default();
/// CoulombSolver::new().solve(&program, None, &Default::default(), &mut solution);
/// assert!((solution.x[0] - 0.5).abs() < 1e-9); // (3 − 0.5 · 4) / 2
///
/// let mut sensitivity = Sensitivity::new();
/// assert!(!sensitivity.coulomb(&program, &solution).unwrap().any());
/// ```
pub trait CoulombSensitivity {
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
    fn coulomb(
        &mut self,
        program: &FrictionProgram,
        answer: &CoulombSolution,
    ) -> Result<Kinks, SensitivityError>;
}

impl CoulombSensitivity for Sensitivity {
    fn coulomb(
        &mut self,
        program: &FrictionProgram,
        answer: &CoulombSolution,
    ) -> Result<Kinks, SensitivityError> {
        self.forget();
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
        self.oblique(cones, &answer.x, |at| {
            let Prepared { p, linear, active, x, z, s, g, w } = at;
            classify_exact(active, p, linear, [x, &answer.lambda], [z, s, g, w]);
        })
    }
}

/// Whether the edges of a cone sum to a multiple of the normal.
fn is_balanced(p: &ConeProgram, cone: &ConeData) -> bool {
    (1..cone.k as usize).all(|r| {
        let E = &p.E[cone.E_at as usize + r * cone.stride_z as usize..][..cone.m as usize];
        cone.round || E.iter().sum::<f64>().abs() <= BALANCED * largest(E)
    })
}
