//! Linear system of every derivative, with one factorisation for all right-hand sides.
//!
//! ```text
//! P' x − Aᵀ zeta = f,     Pi A x = g,     zeta = Pi A w for some w
//! P' = P + springs + Aᵀ C A,              A = E J
//! ```
//!
//! `Pi` projects onto the directions normal to the active faces of the cones. `C` is the curvature
//! of the cones' boundaries. With exact friction `Pi = N Mᵀ` is unsymmetric: forces are in the
//! range of `N`, rates are measured along `M`. There are then two factorisations, of `P' + rho Aᵀ
//! Pi A` for derivatives forward and of its transpose for gradients ([`Way`]).
//!
//! Dependent rows are the rule, so `Pi A Aᵀ Pi` is never formed. The factorised matrix is `P' + rho
//! Aᵀ Pi A`, and multiplier updates gain the digits that the penalty leaves. Each update multiplies
//! the error by `1/(1 + rho sigma)`, with `sigma` a nonzero eigenvalue of `A P'⁻¹ Aᵀ`. Every update
//! of `zeta` is a combination of rows, so `zeta` has the smallest norm without a further
//! projection.

use super::unsymmetric::{Factors, Way};
use crate::kernels::{self, Isa, Products, Weights};
use crate::program::{ConeData, ConeProgram, MAX_ROWS};
use crate::structure::{Group, Structure};
use crate::tolerances::{
    DERIVATIVE_PENALTY, DERIVATIVE_PIVOT, DERIVATIVE_ROUNDING, DERIVATIVE_SETTLED, ROWS_APART, TIE,
};
use quasistep_linalg::aligned::Aligned;

/// Largest number of multiplier updates.
pub(super) const ROUNDS: u32 = 400;
/// Largest number of consecutive updates without a new least change. The first change may be small
/// by chance, where the start satisfies all equations but the rows.
const STALLED: u32 = 4;

/// Stopping test of multiplier updates, by their changes.
pub(super) struct Rounds {
    least: f64,
    since: u32,
}

impl Rounds {
    pub fn new() -> Self {
        Self { least: f64::INFINITY, since: 0 }
    }

    /// Records the change of an update of a vector of this size; returns whether updates should
    /// end. NaN ends them.
    pub fn stalled(&mut self, change: f64, size: f64) -> bool {
        if change < self.least {
            (self.least, self.since) = (change, 0);
            return false;
        }
        self.since += 1;
        self.since >= STALLED || change.is_nan() || change <= DERIVATIVE_ROUNDING * size
    }
}

/// Matrices `Pi` and `C` of every cone: diagonals over a padded `z` for edges, matrices laid out
/// like `E` for round cones.
#[derive(Debug, Default)]
pub struct Faces {
    /// `Pi` of the edges.
    pub pi: Vec<f64>,
    pub(crate) curve: Vec<f64>,
    /// `Pi` of round cones.
    pub pi_round: Vec<f64>,
    /// `C` of round cones.
    pub curve_round: Vec<f64>,
    /// Whether `Pi` has a nonzero entry.
    pub any: bool,
    /// Whether friction is exact. Then `pi` marks the edges on the face of a pyramid's force, and
    /// the matrices of `pi_round` are `N Mᵀ`.
    pub exact: bool,
    /// Share of the slip by which gaps are wider: 1 for Coulomb's law, 0 for the convex one. If it is not
    /// 0, `C` stands for `C G`; `wider` is the `ℓ` of `G`. See [`widen`](super::widen).
    pub(super) widens: f64,
    pub(super) wider: Vec<f64>,
}

impl Faces {
    /// Resets to zero matrices in the sizes of `p`.
    pub fn reset(&mut self, p: &ConeProgram) {
        for v in [&mut self.pi, &mut self.curve] {
            v.clear();
            v.resize(p.m_padded, 0.0);
        }
        for v in [&mut self.pi_round, &mut self.curve_round] {
            v.clear();
            v.resize(p.E.len(), 0.0);
        }
        self.any = false;
        self.exact = false;
        self.widens = 0.0;
    }

    /// `v ← Pi v` on a padded `z`, or `v ← Piᵀ v`, depending on `way`.
    ///
    /// Round cones are projected twice. The rounding of one product is not in the range of the
    /// rows, and the penalty would turn it into a force.
    pub fn project(&self, p: &ConeProgram, way: Way, v: &mut [f64]) {
        if self.exact {
            p.cones.iter().for_each(|cone| self.project_exact(cone, way, v));
            return;
        }
        for cone in &p.cones {
            times(cone, &self.pi, &self.pi_round, v);
            if cone.round {
                times(cone, &self.pi, &self.pi_round, v);
            }
        }
    }

    /// Whether both matrices of a cone are zero.
    pub fn is_idle(&self, p: &ConeProgram, cone: usize) -> bool {
        let cone = &p.cones[cone];
        let (at, m) = (cone.at as usize, cone.m as usize);
        let zero = |v: &[f64]| v.iter().all(|v| *v == 0.0);
        if cone.round {
            let own = cone.E_at as usize..cone.E_at as usize + m * cone.stride_z as usize;
            zero(&self.pi_round[own.clone()]) && zero(&self.curve_round[own])
        } else {
            zero(&self.pi[at..at + m]) && zero(&self.curve[at..at + m])
        }
    }

    /// Appends matrices `R` and `F` with `Fᵀ R = Eᵀ Pi E` (or its transpose), and `Eᵀ C E`, of a
    /// cone. Each is `k × k`.
    pub(crate) fn push_in_rows(&self, p: &ConeProgram, cone: usize, way: Way, to: &mut Vec<f64>) {
        let cone = &p.cones[cone];
        let (k, m, stride) = (cone.k as usize, cone.m as usize, cone.stride_z as usize);
        let (at, E_at) = (cone.at as usize, cone.E_at as usize);
        let E = |row: usize| &p.E[E_at + row * stride..][..m];
        let first = to.len();
        if cone.round {
            if self.exact {
                self.push_round(p, cone, way, to);
            } else {
                // `E` is diagonal, and the projector `Pi` is its own square root
                for a in 0..k {
                    to.extend((0..k).map(|b| self.pi_round[E_at + a * stride + b] * E(b)[b]));
                }
                to.extend_from_within(first..);
            }
            for a in 0..k {
                let row = &self.curve_round[E_at + a * stride..];
                to.extend((0..k).map(|b| E(a)[a] * row[b] * E(b)[b]));
            }
            self.widen_in_rows(p, cone, way, &mut to[first + 2 * k * k..]);
            return;
        }
        // reduce the active rows to a triangle, one after another; with exact friction reduce their
        // differences from their mean
        to.resize(first + k * k, 0.0);
        let G = &mut to[first..];
        let mean = self.mean_edge(p, cone);
        for j in (0..m).filter(|j| self.pi[at + j] != 0.0) {
            let mut row: [f64; MAX_ROWS] =
                std::array::from_fn(|r| if r < k { E(r)[j] - mean[r] } else { 0.0 });
            for i in 0..k {
                let (a, b) = (G[i * k + i], row[i]);
                if b == 0.0 {
                    continue;
                }
                let r = a.hypot(b);
                for l in i..k {
                    let (g, e) = (G[i * k + l], row[l]);
                    G[i * k + l] = (a * g + b * e) / r;
                    row[l] = (a * e - b * g) / r;
                }
            }
        }
        to.extend_from_within(first..);
        if self.exact {
            self.push_means(cone, way, &mean, &mut to[first..]);
        }
        for a in 0..k {
            for b in 0..k {
                let terms = E(a).iter().zip(E(b)).zip(&self.curve[at..]);
                to.push(terms.map(|((a, b), c)| a * c * b).sum());
            }
        }
        self.widen_in_rows(p, cone, way, &mut to[first + 2 * k * k..]);
    }

    /// `v ← C v` on a padded `z`, or with the transpose, depending on `way`.
    pub(crate) fn curve(&self, p: &ConeProgram, way: Way, v: &mut [f64]) {
        for cone in &p.cones {
            if way == Way::Forward {
                self.widen(cone, v);
            }
            self.bend(cone, v);
            if way == Way::Backward {
                self.widen_backward(cone, v);
            }
        }
    }

    /// `v ← C v` for one cone, as if gaps were not wider.
    pub(super) fn bend(&self, cone: &ConeData, v: &mut [f64]) {
        times(cone, &self.curve, &self.curve_round, v);
    }
}

/// `v ← M v` for one cone, with `M` given by its diagonal or as a matrix.
fn times(cone: &ConeData, diagonal: &[f64], matrix: &[f64], v: &mut [f64]) {
    let (at, m, stride) = (cone.at as usize, cone.m as usize, cone.stride_z as usize);
    let own = &mut v[at..at + m];
    if !cone.round {
        own.iter_mut().zip(&diagonal[at..]).for_each(|(v, d)| *v *= d);
        return;
    }
    let mut out = [0.0; kernels::MAX_ROUND];
    for (i, out) in out[..m].iter_mut().enumerate() {
        let row = &matrix[cone.E_at as usize + i * stride..][..m];
        *out = row.iter().zip(&*own).map(|(d, v)| d * v).sum();
    }
    own.copy_from_slice(&out[..m]);
}

/// Factor and scratch memory; vectors are over padded `x` and padded `z`.
#[derive(Debug, Default)]
pub struct Linear {
    pub(crate) isa: Isa,
    /// Structure of the program.
    pub structure: Structure,
    pub(crate) rho: f64,
    pub(crate) H: Aligned,
    pub(crate) W: Aligned,
    /// Used instead of `H` and `W` with exact friction.
    pub(super) factors: Factors,
    products: Products,
    w: Vec<f64>,
    D: Vec<f64>,
    /// For each Huber term, the padded index of its variable and its stiffness, which is 0 at its
    /// limit.
    pub(crate) springs: Vec<(usize, f64)>,
    r: Vec<f64>,
    step: Vec<f64>,
    u: Vec<f64>,
    curved: Vec<f64>,
    off: Vec<f64>,
}

impl Linear {
    /// Analyses a program's sizes and graph, and allocates memory.
    pub(crate) fn prepare(&mut self, p: &ConeProgram) {
        self.structure.update(p);
        self.factors.exact = false;
        for v in [&mut self.r, &mut self.step] {
            v.clear();
            v.resize(p.n_padded, 0.0);
        }
        for v in [&mut self.u, &mut self.curved, &mut self.off, &mut self.w] {
            v.clear();
            v.resize(p.m_padded, 0.0);
        }
        self.D.clear();
        self.D.resize(p.E.len(), 0.0);
        if self.H.len() < self.structure.H_len {
            self.H.resize(self.structure.H_len);
        }
        if self.W.len() < self.structure.W_len {
            self.W.resize(self.structure.W_len);
        }
    }

    fn groups(&self) -> &[Group] {
        &self.structure.groups
    }

    /// Sets the stiffness of every Huber term, 0 where `limited` is true for its index and its
    /// force at `x`. Returns how many are exactly at their limit.
    pub fn set_springs(
        &mut self,
        p: &ConeProgram,
        x: &[f64],
        limited: impl Fn(usize, f64) -> bool,
    ) -> u32 {
        self.springs.clear();
        let mut ties = 0;
        for (k, spring) in p.saturations.iter().enumerate() {
            let at = p.padded_index(spring.index);
            let force = (spring.stiffness * (x[at] - spring.target)).abs();
            self.springs.push((at, if limited(k, force) { 0.0 } else { spring.stiffness }));
            let tie = (force - spring.limit).abs() <= TIE * spring.limit;
            ties += u32::from(tie && spring.stiffness > 0.0);
        }
        ties
    }

    /// Largest diagonal entry of the cost, Huber terms included; 1 if all are zero.
    pub fn scale(&self, p: &ConeProgram) -> f64 {
        let mut scale = 0.0_f64;
        for b in &p.blocks {
            for i in 0..b.dim as usize {
                scale = scale.max(p.P[b.P_at as usize + i * (b.stride as usize + 1)]);
            }
        }
        scale = self.springs.iter().fold(scale, |s, spring| s.max(spring.1));
        if scale > 0.0 { scale } else { 1.0 }
    }

    /// Factorises `P' + rho Aᵀ Pi A`; returns false if it is not positive definite.
    pub fn factor(&mut self, p: &ConeProgram, faces: &Faces) -> bool {
        let scale = self.scale(p);
        self.rho = if faces.any { DERIVATIVE_PENALTY * scale } else { 0.0 };
        if faces.exact || faces.widens > 0.0 {
            return self.factor_exact(p, faces, Way::Forward);
        }
        self.factors.exact = false;
        for (w, (pi, c)) in self.w.iter_mut().zip(faces.pi.iter().zip(&faces.curve)) {
            *w = self.rho * pi + c;
        }
        for (d, (pi, c)) in self.D.iter_mut().zip(faces.pi_round.iter().zip(&faces.curve_round)) {
            *d = self.rho * pi + c;
        }
        // the kernel skips round cones that are not marked as active
        for cone in p.cones.iter().filter(|cone| cone.round) {
            self.w[cone.at as usize..(cone.at + cone.m) as usize].fill(1.0);
        }
        let last = self.structure.panels.len();
        let Self { isa, structure: s, H, W, products, w, D, springs, .. } = self;
        kernels::start_hessian(*isa, p, &s.panels, 0.0, H);
        for (at, stiffness) in springs {
            let block = p.blocks.partition_point(|b| b.at as usize <= *at) - 1;
            let panel = &s.panels[s.panel_of_block[block] as usize];
            let i = *at - p.blocks[block].at as usize;
            H[panel.at as usize + i * (panel.stride() as usize + 1)] += *stiffness;
        }
        let groups = &s.groups[..s.islands.last().map_or(0, |island| island.last_group as usize)];
        let weights = Weights { rho: 1.0, w, D };
        kernels::add_cones(*isa, p, groups, &s.targets, weights, products, H);
        kernels::factor(*isa, s.layout(), 0, last, DERIVATIVE_PIVOT * scale, H, W).is_ok()
    }

    /// `x ← (P' + rho Aᵀ Pi A)⁻¹ x`, or with the transposed matrix, depending on `way`.
    pub(crate) fn invert(&mut self, way: Way, x: &mut [f64]) {
        if self.factors.exact {
            self.factors.solve(self.isa, &self.structure, way, x);
            return;
        }
        kernels::solve(
            self.isa,
            &self.structure,
            0,
            self.structure.panels.len(),
            &self.H,
            &self.W,
            x,
        );
    }

    /// `u = A x`.
    pub(crate) fn rows(&self, p: &ConeProgram, x: &[f64], u: &mut [f64]) {
        kernels::rates(self.isa, p, self.groups(), x, u);
    }

    /// `u = A x − E b`.
    pub fn slacks(&self, p: &ConeProgram, x: &[f64], u: &mut [f64]) {
        kernels::slacks(self.isa, p, &self.structure.groups, x, u);
    }

    /// `g += Aᵀ z`.
    pub(crate) fn add_forces(&self, p: &ConeProgram, z: &[f64], g: &mut [f64]) {
        kernels::add_forces(self.isa, p, self.groups(), z, g);
    }

    /// `g = P x`, without Huber terms.
    pub(crate) fn cost_times(&self, p: &ConeProgram, x: &[f64], g: &mut [f64]) {
        kernels::cost_times(self.isa, p, &self.structure.panels, x, g);
    }

    /// Least squares: computes the `x` with `Pi A x` nearest to `g = Pi g`. The residual stays in
    /// `g`. Returns its largest magnitude.
    pub fn nearest(
        &mut self,
        p: &ConeProgram,
        faces: &Faces,
        way: Way,
        g: &mut [f64],
        x: &mut [f64],
    ) -> f64 {
        x.fill(0.0);
        if !faces.any || largest(g) == 0.0 {
            return largest(g);
        }
        let (mut step, mut u) = (std::mem::take(&mut self.step), std::mem::take(&mut self.u));
        let mut rounds = Rounds::new();
        for _ in 0..ROUNDS {
            u.iter_mut().zip(&*g).for_each(|(u, g)| *u = self.rho * g);
            step.fill(0.0);
            self.add_forces(p, &u, &mut step);
            self.invert(way, &mut step);
            let change = largest(&step);
            if rounds.stalled(change, largest(x)) {
                break;
            }
            x.iter_mut().zip(&step).for_each(|(x, d)| *x += d);
            self.rows(p, &step, &mut u);
            faces.project(p, way, &mut u);
            g.iter_mut().zip(&u).for_each(|(g, u)| *g -= u);
            if change <= DERIVATIVE_SETTLED * largest(x) {
                break;
            }
        }
        (self.step, self.u) = (step, u);
        largest(g)
    }

    /// Moves `x` to the minimiser of `1/2 xᵀP'x − fᵀx` among all points with the same `Pi A x`;
    /// writes the multipliers `zeta`.
    pub(crate) fn solve(
        &mut self,
        p: &ConeProgram,
        faces: &Faces,
        way: Way,
        f: &[f64],
        x: &mut [f64],
        zeta: &mut [f64],
    ) {
        zeta.fill(0.0);
        let (mut r, mut u) = (std::mem::take(&mut self.r), std::mem::take(&mut self.u));
        let mut curved = std::mem::take(&mut self.curved);
        // residual of the rows
        let mut off = std::mem::take(&mut self.off);
        off.fill(0.0);
        let mut rounds = Rounds::new();
        for _ in 0..ROUNDS {
            // r = f − P' x + Aᵀ (zeta − rho off)
            self.cost_times(p, x, &mut r);
            for (at, stiffness) in &self.springs {
                r[*at] += stiffness * x[*at];
            }
            self.rows(p, x, &mut curved);
            faces.curve(p, way, &mut curved);
            for (c, (z, v)) in curved.iter_mut().zip(zeta.iter().zip(&off)) {
                *c = z - self.rho * v - *c;
            }
            r.iter_mut().zip(f).for_each(|(r, f)| *r = f - *r);
            self.add_forces(p, &curved, &mut r);
            self.invert(way, &mut r);
            let change = largest(&r);
            if rounds.stalled(change, largest(x)) {
                break;
            }
            x.iter_mut().zip(&r).for_each(|(x, d)| *x += d);
            if faces.any {
                self.rows(p, &r, &mut u);
                faces.project(p, way, &mut u);
                off.iter_mut().zip(&u).for_each(|(v, u)| *v += u);
                zeta.iter_mut().zip(&off).for_each(|(z, v)| *z -= self.rho * v);
            }
            if change <= DERIVATIVE_SETTLED * largest(x) {
                break;
            }
        }
        (self.r, self.u, self.curved, self.off) = (r, u, curved, off);
    }

    /// Replaces the multipliers `zeta` of a [`solve`](Self::solve) backward by smaller ones with
    /// the same `Aᵀ zeta`. Where forces have higher rank than rates, updates accumulate a part
    /// without effect.
    pub(crate) fn settle(&mut self, p: &ConeProgram, faces: &Faces, zeta: &mut [f64]) {
        let (mut r, mut step) = (std::mem::take(&mut self.r), std::mem::take(&mut self.step));
        let mut u = std::mem::take(&mut self.u);
        r.fill(0.0);
        self.add_forces(p, zeta, &mut r);
        zeta.fill(0.0);
        let mut rounds = Rounds::new();
        for _ in 0..ROUNDS {
            step.copy_from_slice(&r);
            self.invert(Way::Backward, &mut step);
            self.rows(p, &step, &mut u);
            faces.project(p, Way::Backward, &mut u);
            for u in &mut u {
                *u *= self.rho;
            }
            let change = largest(&u);
            if rounds.stalled(change, largest(zeta)) {
                break;
            }
            zeta.iter_mut().zip(&u).for_each(|(z, u)| *z += u);
            for u in &mut u {
                *u = -*u;
            }
            self.add_forces(p, &u, &mut r);
        }
        (self.r, self.step, self.u) = (r, step, u);
    }

    /// Largest entry of `Pi A x`, beyond rounding, at the `x` of the last [`solve`](Self::solve).
    /// It is not zero if the updates did not converge, for example where rows are nearly dependent.
    pub(crate) fn left(&self, p: &ConeProgram, faces: &Faces, x: &[f64]) -> f64 {
        if !faces.any {
            return 0.0;
        }
        let own = |cone: &ConeData| largest(&self.off[cone.at as usize..][..cone.m as usize]);
        let of = |(i, cone)| beyond_rounding(p, i, own(cone), x);
        p.cones.iter().enumerate().map(of).fold(0.0, f64::max)
    }
}

/// `off`, a change of entry `index` of `A x`, or 0 if it is below [`ROWS_APART`] of its terms.
/// Dependent rows with rounded data have such changes.
pub(super) fn beyond_rounding(p: &ConeProgram, index: usize, off: f64, x: &[f64]) -> f64 {
    if off == 0.0 {
        return 0.0;
    }
    let cone = &p.cones[index];
    let mut terms = 0.0;
    for r in 0..cone.k as usize {
        let E = &p.E[cone.E_at as usize + r * cone.stride_z as usize..][..cone.m as usize];
        let most = largest(E);
        for (side, part) in p.sides_of(cone).iter().enumerate() {
            let at = p.blocks[part.block as usize].at as usize;
            let J = p.J_row(index, side, r);
            terms += most * J.iter().zip(&x[at..]).map(|(J, x)| (J * x).abs()).sum::<f64>();
        }
    }
    if off > ROWS_APART * terms { off } else { 0.0 }
}

/// Largest magnitude of the entries; NaN is ignored.
pub fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m, v| m.max(v.abs()))
}
