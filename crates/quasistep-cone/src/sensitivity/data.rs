//! Changes and gradients of a program's data, in the layout of the program itself. The effect of a
//! change on slacks and stationarity at a fixed solution, and its transpose:
//!
//! ```text
//! δs = δE (J x − b) + E (δJ x − δb)        δf = −δP x − δc − δ∇huber + δJᵀ Eᵀ z + Jᵀ δEᵀ z
//! ```

use super::active::Sliding;
use super::linear::Linear;
use crate::kernels::MAX_ROUND;
use crate::program::{ConeData, ConeMut, ConeProgram, MAX_ROWS};
use quasistep_linalg::Saturation;

impl Sliding {
    pub(crate) fn normal(&self) -> &[f64; MAX_ROUND] {
        &self.n
    }

    /// `dnᵀ a` for a change `ds` of the slack, with `dn = (0, −(I − u uᵀ) ds_1) / (√2 slip)`.
    pub fn turn(&self, a: &[f64], ds: &[f64]) -> f64 {
        let across = |v: &[f64]| {
            // 2 n_1 n_1ᵀ = u uᵀ
            let along: f64 = (1..self.m).map(|i| self.n[i] * v[i]).sum();
            std::array::from_fn::<f64, MAX_ROUND, _>(|i| {
                if i == 0 || i >= self.m { 0.0 } else { v[i] - 2.0 * along * self.n[i] }
            })
        };
        let d = across(ds);
        let sum: f64 = (1..self.m).map(|i| d[i] * a[i]).sum();
        -sum * std::f64::consts::FRAC_1_SQRT_2 / self.slip
    }

    /// Adds the transpose of [`turn`](Self::turn), with weight `by`, to the gradient with respect
    /// to `ds`.
    pub fn add_turn(&self, a: &[f64], by: f64, gradient: &mut [f64]) {
        let along: f64 = (1..self.m).map(|i| self.n[i] * a[i]).sum();
        for i in 1..self.m {
            let across = a[i] - 2.0 * along * self.n[i];
            gradient[i] -= by * across * std::f64::consts::FRAC_1_SQRT_2 / self.slip;
        }
    }
}

/// `J x` of one cone, with the Jacobian of `p`.
fn jacobian_times(p: &ConeProgram, cone: &ConeData, x: &[f64]) -> [f64; MAX_ROWS] {
    let mut out = [0.0; MAX_ROWS];
    for side in p.sides_of(cone) {
        let block = &p.blocks[side.block as usize];
        let x = &x[block.at as usize..][..block.dim as usize];
        for (r, out) in out[..cone.k as usize].iter_mut().enumerate() {
            let at = (cone.J_at + side.column) as usize + r * cone.width as usize;
            *out += p.J[at..].iter().zip(x).map(|(J, x)| J * x).sum::<f64>();
        }
    }
    out
}

/// `out += E v` of one cone, with the `E` of `p`.
fn add_edges(p: &ConeProgram, cone: &ConeData, v: &[f64; MAX_ROWS], out: &mut [f64]) {
    for (r, v) in v[..cone.k as usize].iter().enumerate() {
        let E = &p.E[cone.E_at as usize + r * cone.stride_z as usize..][..cone.m as usize];
        out.iter_mut().zip(E).for_each(|(out, e)| *out += e * v);
    }
}

/// `Eᵀ z` of one cone, with the `E` of `p`.
fn edges_transposed(p: &ConeProgram, cone: &ConeData, z: &[f64]) -> [f64; MAX_ROWS] {
    let mut out = [0.0; MAX_ROWS];
    for (r, out) in out[..cone.k as usize].iter_mut().enumerate() {
        let E = &p.E[cone.E_at as usize + r * cone.stride_z as usize..][..cone.m as usize];
        *out = z.iter().zip(E).map(|(z, e)| e * z).sum();
    }
    out
}

/// `g += Jᵀ v` of one cone, with the Jacobian of `p`.
fn add_jacobian_transposed(p: &ConeProgram, cone: &ConeData, v: &[f64; MAX_ROWS], g: &mut [f64]) {
    for side in p.sides_of(cone) {
        let block = &p.blocks[side.block as usize];
        let g = &mut g[block.at as usize..][..block.dim as usize];
        for (r, v) in v[..cone.k as usize].iter().enumerate() {
            let at = (cone.J_at + side.column) as usize + r * cone.width as usize;
            g.iter_mut().zip(&p.J[at..]).for_each(|(g, J)| *g += J * v);
        }
    }
}

fn minus_b(p: &ConeProgram, cone: &ConeData, v: &mut [f64; MAX_ROWS]) {
    let b = &p.b[cone.b_at as usize..][..cone.k as usize];
    v.iter_mut().zip(b).for_each(|(v, b)| *v -= b);
}

fn own(cone: &ConeData) -> std::ops::Range<usize> {
    cone.at as usize..(cone.at + cone.m) as usize
}

/// `out = δs`.
pub(super) fn rows(p: &ConeProgram, d: &ConeProgram, x: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (cone, of_d) in p.cones.iter().zip(&d.cones) {
        let out = &mut out[own(cone)];
        let mut u = jacobian_times(p, cone, x);
        minus_b(p, cone, &mut u);
        add_edges(d, of_d, &u, out);
        let mut du = jacobian_times(d, of_d, x);
        minus_b(d, of_d, &mut du);
        add_edges(p, cone, &du, out);
    }
}

/// `out = δA w`.
pub(super) fn turn(p: &ConeProgram, d: &ConeProgram, w: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (cone, of_d) in p.cones.iter().zip(&d.cones) {
        let out = &mut out[own(cone)];
        add_edges(d, of_d, &jacobian_times(p, cone, w), out);
        add_edges(p, cone, &jacobian_times(d, of_d, w), out);
    }
}

/// `f = δf`.
pub(super) fn forces(
    p: &ConeProgram,
    linear: &Linear,
    d: &ConeProgram,
    x: &[f64],
    z: &[f64],
    f: &mut [f64],
) {
    for block in &p.blocks {
        let (at, dim) = (block.at as usize, block.dim as usize);
        for i in 0..dim {
            let row = &d.P[block.P_at as usize + i * block.stride as usize..][..dim];
            let force: f64 = row.iter().zip(&x[at..]).map(|(P, x)| P * x).sum();
            f[at + i] = -force - d.c[at + i];
        }
        f[at + dim..at + block.stride as usize].fill(0.0);
    }
    for (cone, of_d) in p.cones.iter().zip(&d.cones) {
        let z = &z[own(cone)];
        add_jacobian_transposed(d, of_d, &edges_transposed(p, cone, z), f);
        add_jacobian_transposed(p, cone, &edges_transposed(d, of_d, z), f);
    }
    for (k, (spring, change)) in p.saturations.iter().zip(&d.saturations).enumerate() {
        let (at, stiffness) = linear.springs[k];
        let stretch = x[at] - spring.target;
        f[at] -= if at_limit(spring.stiffness, stiffness) {
            change.limit * stretch.signum()
        } else {
            change.stiffness * stretch - spring.stiffness * change.target
        };
    }
}

/// Whether a Huber term with positive `stiffness` is at its limit; `now` is its curvature at the
/// solution.
fn at_limit(stiffness: f64, now: f64) -> bool {
    stiffness > 0.0 && now == 0.0
}

/// Adds to the gradient the contribution of the gradient `fbar` with respect to `δf`.
pub(super) fn gradient_of_forces(
    p: &ConeProgram,
    linear: &Linear,
    x: &[f64],
    z: &[f64],
    fbar: &[f64],
    g: &mut ConeProgram,
) {
    for block in &p.blocks {
        let (at, dim, stride) = (block.at as usize, block.dim as usize, block.stride as usize);
        for i in 0..dim {
            g.c[at + i] -= fbar[at + i];
            for j in 0..dim {
                let both = fbar[at + i] * x[at + j] + fbar[at + j] * x[at + i];
                g.P[block.P_at as usize + i * stride + j] -= 0.5 * both;
            }
        }
    }
    for i in 0..p.cones.len() {
        let cone = &p.cones[i];
        add_outer(p, i, &z[own(cone)], fbar, None, g);
    }
    for (k, spring) in p.saturations.iter().enumerate() {
        let (at, stiffness) = linear.springs[k];
        let stretch = x[at] - spring.target;
        let to = &mut g.saturations[k];
        if at_limit(spring.stiffness, stiffness) {
            to.limit -= fbar[at] * stretch.signum();
        } else {
            to.stiffness -= fbar[at] * stretch;
            to.target += fbar[at] * spring.stiffness;
        }
    }
}

/// Adds to the gradient the contribution of the gradient `sbar` with respect to `δs`.
pub(super) fn gradient_of_rows(p: &ConeProgram, x: &[f64], sbar: &[f64], g: &mut ConeProgram) {
    for (i, cone) in p.cones.iter().enumerate() {
        let sbar = &sbar[own(cone)];
        let v = edges_transposed(p, cone, sbar);
        let to = g.cones[i].b_at as usize;
        g.b[to..].iter_mut().zip(&v[..cone.k as usize]).for_each(|(b, v)| *b -= v);
        let b = &p.b[cone.b_at as usize..][..cone.k as usize];
        add_outer(p, i, sbar, x, Some(b), g);
    }
}

/// Adds to the gradient the contribution of the gradient `ebar` with respect to `δA w`.
pub(super) fn gradient_of_turn(p: &ConeProgram, w: &[f64], ebar: &[f64], g: &mut ConeProgram) {
    for (i, cone) in p.cones.iter().enumerate() {
        add_outer(p, i, &ebar[own(cone)], w, None, g);
    }
}

/// Adds the gradient of `vᵀ (E (J x − b))` with respect to `E` and `J`.
fn add_outer(
    p: &ConeProgram,
    index: usize,
    v: &[f64],
    x: &[f64],
    b: Option<&[f64]>,
    g: &mut ConeProgram,
) {
    if v.iter().all(|v| *v == 0.0) {
        return;
    }
    let cone = &p.cones[index];
    let to = g.cones[index];
    let mut u = jacobian_times(p, cone, x);
    if let Some(b) = b {
        u.iter_mut().zip(b).for_each(|(u, b)| *u -= b);
    }
    let k = cone.k as usize;
    for (r, u) in u[..k].iter().enumerate() {
        let E = &mut g.E[to.E_at as usize + r * to.stride_z as usize..][..to.m as usize];
        if cone.round {
            E[r] += u * v[r];
        } else {
            E.iter_mut().zip(v).for_each(|(e, v)| *e += u * v);
        }
    }
    let row = edges_transposed(p, cone, v);
    for side in p.sides_of(cone) {
        let block = &p.blocks[side.block as usize];
        let x = &x[block.at as usize..][..block.dim as usize];
        for (r, v) in row[..k].iter().enumerate() {
            let at = (to.J_at + side.column) as usize + r * to.width as usize;
            g.J[at..].iter_mut().zip(x).for_each(|(J, x)| *J += v * x);
        }
    }
}

impl ConeProgram {
    /// Sets `self` to a zero change of `program`: its blocks, cones and Huber terms, with every
    /// number zero. Allocates only if its memory is too small.
    ///
    /// Set the changes by [`P`](Self::P), [`c`](Self::c), [`cone_mut`](Self::cone_mut),
    /// [`E_mut`](Self::E_mut) and [`saturation_mut`](Self::saturation_mut).
    pub fn set_zero_like(&mut self, program: &Self) {
        self.copy(program);
        self.set_zero();
    }

    pub(crate) fn set_zero(&mut self) {
        for data in [&mut self.P[..], &mut self.c, &mut self.J, &mut self.b, &mut self.E] {
            data.fill(0.0);
        }
        for s in &mut self.saturations {
            *s = Saturation { index: s.index, stiffness: 0.0, target: 0.0, limit: 0.0 };
        }
    }

    /// Whether both programs have equal blocks, cones and Huber terms. Their numbers are not
    /// compared.
    pub fn is_like(&self, other: &Self) -> bool {
        let cones = self.cones.iter().zip(&other.cones);
        self.blocks.len() == other.blocks.len()
            && self.cones.len() == other.cones.len()
            && self.sides == other.sides
            && self.saturations.len() == other.saturations.len()
            && self.blocks.iter().zip(&other.blocks).all(|(a, b)| a.dim == b.dim)
            && self.saturations.iter().zip(&other.saturations).all(|(a, b)| a.index == b.index)
            && cones
                .into_iter()
                .all(|(a, b)| (a.round, a.k, a.m, a.last_side) == (b.round, b.k, b.m, b.last_side))
    }

    /// Mutable view of the Jacobian and offset of a cone.
    pub fn cone_mut(&mut self, cone: usize) -> ConeMut<'_> {
        let c = &self.cones[cone];
        let J = c.J_at as usize..(c.J_at + c.k * c.width) as usize;
        let b = c.b_at as usize..(c.b_at + c.k) as usize;
        let sides = c.first_side as usize..c.last_side as usize;
        ConeMut {
            J: &mut self.J[J],
            b: &mut self.b[b],
            sides: &self.sides[sides],
            blocks: &self.blocks,
            width: c.width as usize,
        }
    }

    /// Mutable entry of a cone's `E`: `edge` indexes its `z`, `row` the rows of its Jacobian. Only
    /// entries with `edge == row` of a round cone are data.
    pub fn E_mut(&mut self, cone: usize, edge: usize, row: usize) -> &mut f64 {
        let c = &self.cones[cone];
        &mut self.E[c.E_at as usize + row * c.stride_z as usize..][..c.m as usize][edge]
    }

    /// Entry of a cone's `E`: `edge` indexes its `z`, `row` the rows of its Jacobian.
    pub fn E_entry(&self, cone: usize, edge: usize, row: usize) -> f64 {
        let c = &self.cones[cone];
        self.E[c.E_at as usize + row * c.stride_z as usize..][..c.m as usize][edge]
    }

    /// Row `row` of the Jacobian of a cone with respect to its block of index `side`, one entry per
    /// variable of the block.
    pub fn J_row(&self, cone: usize, side: usize, row: usize) -> &[f64] {
        let c = &self.cones[cone];
        let side = self.sides_of(c)[side];
        let at = (c.J_at + side.column) as usize + row * c.width as usize;
        &self.J[at..at + self.blocks[side.block as usize].dim as usize]
    }

    /// Indices of the blocks that a cone acts on, in the order given to
    /// [`push_cone`](Self::push_cone).
    pub fn blocks_of(&self, cone: usize) -> impl Iterator<Item = usize> {
        self.sides_of(&self.cones[cone]).iter().map(|side| side.block as usize)
    }

    /// Offset of a cone, one entry per row of its Jacobian.
    pub fn b_of(&self, cone: usize) -> &[f64] {
        let c = &self.cones[cone];
        &self.b[c.b_at as usize..(c.b_at + c.k) as usize]
    }

    /// Linear cost of a block, one entry per variable of the block.
    pub fn c_of(&self, block: usize) -> &[f64] {
        let b = &self.blocks[block];
        &self.c[b.at as usize..(b.at + b.dim) as usize]
    }

    /// Number of blocks.
    pub fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Mutable Huber term `k`. In a change of a program, its index is that of the program's term.
    pub fn saturation_mut(&mut self, k: usize) -> &mut Saturation {
        &mut self.saturations[k]
    }

    /// The Huber terms.
    pub fn saturations(&self) -> &[Saturation] {
        &self.saturations
    }

    /// Copies an unpadded `x` to a padded one.
    pub(crate) fn pad_x(&self, from: &[f64], to: &mut [f64]) {
        for b in &self.blocks {
            let dim = b.dim as usize;
            to[b.at as usize..][..dim].copy_from_slice(&from[b.first as usize..][..dim]);
        }
    }

    /// Copies a padded `x` to an unpadded one.
    pub(crate) fn unpad_x(&self, from: &[f64], to: &mut [f64]) {
        for b in &self.blocks {
            let dim = b.dim as usize;
            to[b.first as usize..][..dim].copy_from_slice(&from[b.at as usize..][..dim]);
        }
    }

    /// Copies an unpadded `z` to a padded one.
    pub(crate) fn pad_z(&self, from: &[f64], to: &mut [f64]) {
        for c in &self.cones {
            let m = c.m as usize;
            to[c.at as usize..][..m].copy_from_slice(&from[c.first as usize..][..m]);
        }
    }
}
