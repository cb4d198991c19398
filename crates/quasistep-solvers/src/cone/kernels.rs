//! Inner loops over cones, groups and panels.
//!
//! Every kernel exists twice: for any machine, and for x86-64 with AVX2 and FMA, chosen at run time
//! so that a build for a plain x86-64 is fast too. The two differ in rounding only; on one machine
//! the same input gives the same bits.

// a kernel's parts must be compiled with its instructions, so they must be inside it
#![allow(clippy::inline_always)]

use crate::cone::program::{ConeData, ConeProgram, LANES};
use crate::cone::second_order;
use crate::cone::structure::{Group, Panel, Structure, Target};

type Lane = [f64; LANES];

/// Most entries of a round cone.
pub(crate) const MAX_ROUND: usize = 8;

/// Instructions that a kernel may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isa {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Isa {
    /// The best this machine has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
        {
            return Self::Avx2;
        }
        Self::Portable
    }
}

/// Multiply-add of one instruction set. A bare `mul_add` would call a library function where the
/// instruction is missing.
trait Fma {
    fn fma(a: f64, b: f64, c: f64) -> f64;
}

struct Portable;
impl Fma for Portable {
    #[inline(always)]
    fn fma(a: f64, b: f64, c: f64) -> f64 {
        a * b + c
    }
}

#[cfg(target_arch = "x86_64")]
struct Fused;
#[cfg(target_arch = "x86_64")]
impl Fma for Fused {
    #[inline(always)]
    fn fma(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

/// Writes the two versions of a kernel and the choice between them.
macro_rules! kernel {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$doc])*
        #[allow(clippy::too_many_arguments)] // plain data, and no state to hide it in
        pub(crate) fn $name(isa: Isa, $($arg: $type),*) $(-> $ret)? {
            #[allow(clippy::too_many_arguments)]
            #[inline(always)]
            fn body<F: Fma>($($arg: $type),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[allow(clippy::too_many_arguments)]
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $type),*) $(-> $ret)? {
                    body::<Fused>($($arg),*)
                }
                if isa == Isa::Avx2 {
                    // SAFETY: `Isa::Avx2` is only made by `detect`, on a machine that has both
                    #[allow(unsafe_code)]
                    return unsafe { avx2($($arg),*) };
                }
            }
            let _ = isa;
            body::<Portable>($($arg),*)
        }
    };
}

#[inline(always)]
fn lanes(x: &[f64]) -> &[Lane] {
    x.as_chunks::<LANES>().0
}

#[inline(always)]
fn lanes_mut(x: &mut [f64]) -> &mut [Lane] {
    x.as_chunks_mut::<LANES>().0
}

/// `y += s a`, lane by lane.
#[inline(always)]
fn axpy<F: Fma>(s: f64, a: &[f64], y: &mut [f64]) {
    for (y, a) in lanes_mut(y).iter_mut().zip(lanes(a)) {
        for l in 0..LANES {
            y[l] = F::fma(s, a[l], y[l]);
        }
    }
}

#[inline(always)]
fn sum(a: Lane) -> f64 {
    (a[0] + a[2]) + (a[1] + a[3])
}

/// `acc += a ∘ b`, lane by lane.
#[inline(always)]
fn multiply<F: Fma>(a: &[f64], b: &[f64], acc: &mut Lane) {
    for (a, b) in lanes(a).iter().zip(lanes(b)) {
        for l in 0..LANES {
            acc[l] = F::fma(a[l], b[l], acc[l]);
        }
    }
}

/// `u = E (J x − b)`, or `E J x` without `with_b`.
#[inline(always)]
fn cone_rows<F: Fma>(p: &ConeProgram, cone: &ConeData, x: &[f64], with_b: bool, u: &mut [f64]) {
    let sides = p.sides_of(cone);
    let (k, stride_z) = (cone.k as usize, cone.stride_z as usize);
    let E = &p.E[cone.E_at as usize..cone.E_at as usize + k * stride_z];
    let b = &p.b[cone.b_at as usize..cone.b_at as usize + k];
    u.fill(0.0);
    for r in 0..k {
        let mut acc = [0.0; LANES];
        for side in sides {
            let block = &p.blocks[side.block as usize];
            let stride = block.stride as usize;
            let J = &p.J[side.J_at as usize + r * stride..][..stride];
            multiply::<F>(J, &x[block.at as usize..][..stride], &mut acc);
        }
        let mut s = sum(acc);
        if with_b {
            s -= b[r];
        }
        axpy::<F>(s, &E[r * stride_z..][..stride_z], u);
    }
}

kernel! {
    /// `u = E (J x − b)` of all cones of some groups.
    slacks(p: &ConeProgram, groups: &[Group], x: &[f64], u: &mut [f64]) {
        for group in groups {
            for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
                let u = &mut u[cone.at as usize..][..cone.stride_z as usize];
                cone_rows::<F>(p, cone, x, true, u);
            }
        }
    }
}

kernel! {
    /// `u = E J d` of all cones of some groups.
    rates(p: &ConeProgram, groups: &[Group], d: &[f64], u: &mut [f64]) {
        for group in groups {
            for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
                let u = &mut u[cone.at as usize..][..cone.stride_z as usize];
                cone_rows::<F>(p, cone, d, false, u);
            }
        }
    }
}

kernel! {
    /// `g −= Jᵀ Eᵀ z` over all cones of some groups.
    subtract_forces(p: &ConeProgram, groups: &[Group], z: &[f64], g: &mut [f64]) {
        for group in groups {
            for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
                let (k, stride_z) = (cone.k as usize, cone.stride_z as usize);
                let z = &z[cone.at as usize..][..stride_z];
                if z.iter().all(|z| *z == 0.0) {
                    continue;
                }
                let E = &p.E[cone.E_at as usize..][..k * stride_z];
                for r in 0..k {
                    let mut acc = [0.0; LANES];
                    multiply::<F>(&E[r * stride_z..][..stride_z], z, &mut acc);
                    let f = -sum(acc);
                    for side in p.sides_of(cone) {
                        let block = &p.blocks[side.block as usize];
                        let stride = block.stride as usize;
                        let J = &p.J[side.J_at as usize + r * stride..][..stride];
                        axpy::<F>(f, J, &mut g[block.at as usize..][..stride]);
                    }
                }
            }
        }
    }
}

kernel! {
    /// `y = P x` on the blocks of some panels.
    cost_times(p: &ConeProgram, panels: &[Panel], x: &[f64], y: &mut [f64]) {
        for panel in panels {
            let block = &p.blocks[panel.block as usize];
            let (dim, stride, at) = (block.dim as usize, block.stride as usize, block.at as usize);
            let y = &mut y[at..][..stride];
            y.fill(0.0);
            // symmetric: columns are rows
            for i in 0..dim {
                axpy::<F>(x[at + i], &p.P[block.P_at as usize + i * stride..][..stride], y);
            }
        }
    }
}

/// `H[at + i stride ..] += Σ_r A[r][row + i] B[r][column ..]` for `I` rows and `C` lanes.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn tile<F: Fma, const I: usize, const C: usize>(
    H: &mut [f64],
    stride: usize,
    A: &[f64],
    B: &[f64],
    width: usize,
    row: usize,
    column: usize,
    sign: f64,
) {
    let mut acc = [[[0.0; LANES]; C]; I];
    for (a, b) in A.chunks_exact(width).zip(B.chunks_exact(width)) {
        let b: &[Lane] = lanes(&b[column..column + C * LANES]);
        let a = &a[row..row + I];
        for i in 0..I {
            for c in 0..C {
                for l in 0..LANES {
                    acc[i][c][l] = F::fma(a[i], b[c][l], acc[i][c][l]);
                }
            }
        }
    }
    for i in 0..I {
        let h = lanes_mut(&mut H[i * stride..i * stride + C * LANES]);
        for c in 0..C {
            for l in 0..LANES {
                h[c][l] = F::fma(sign, acc[i][c][l], h[c][l]);
            }
        }
    }
}

/// `H += sign AᵀB` for the columns `row ..row + dim` of `A` and `column ..column + n_columns` of
/// `B`; `A` and `B` have rows of `width` numbers. With `upper`, entries left of the diagonal may be
/// left out.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn add_product<F: Fma>(
    H: &mut [f64],
    stride: usize,
    A: &[f64],
    B: &[f64],
    width: usize,
    row: usize,
    dim: usize,
    column: usize,
    n_columns: usize,
    upper: bool,
    sign: f64,
) {
    let mut i = 0;
    while i < dim {
        let two = i + 1 < dim;
        let mut c = if upper { i / LANES * LANES } else { 0 };
        let H = &mut H[i * stride..];
        while c < n_columns {
            let left = n_columns - c;
            let (r, k) = (row + i, column + c);
            let H = &mut H[c..];
            match (two, left) {
                (true, 4) => tile::<F, 2, 1>(H, stride, A, B, width, r, k, sign),
                (true, _) => tile::<F, 2, 2>(H, stride, A, B, width, r, k, sign),
                (false, 4) => tile::<F, 1, 1>(H, stride, A, B, width, r, k, sign),
                (false, _) => tile::<F, 1, 2>(H, stride, A, B, width, r, k, sign),
            }
            c += 2 * LANES;
        }
        i += 2;
    }
}

kernel! {
    /// Puts the cost of some panels in the factor's memory, zero elsewhere, `shift` on the diagonal.
    start_hessian(p: &ConeProgram, panels: &[Panel], shift: f64, H: &mut [f64]) {
        for panel in panels {
            let block = &p.blocks[panel.block as usize];
            let (dim, stride) = (block.dim as usize, block.stride as usize);
            let width = panel.width as usize;
            let H = &mut H[panel.at as usize..][..dim * width];
            for i in 0..dim {
                let row = &mut H[i * width..][..width];
                row[stride..].fill(0.0);
                row[..stride].copy_from_slice(&p.P[block.P_at as usize + i * stride..][..stride]);
                row[i] += shift;
            }
        }
        // the kernel is all copies
        let _ = F::fma(0.0, 0.0, 0.0);
    }
}

kernel! {
    /// `H += rho Σ Jᵀ Eᵀ W E J` over all cones of some groups.
    ///
    /// `W` is `diag(w)` for edges; for round cones it is the matrix in `D`, laid out like `E`.
    add_cones(
        p: &ConeProgram,
        groups: &[Group],
        targets: &[Target],
        rho: f64,
        w: &[f64],
        D: &[f64],
        JS: &mut Vec<f64>,
        GJ: &mut Vec<f64>,
        H: &mut [f64],
    ) {
        for group in groups {
            let cones = &p.cones[group.first_cone as usize..group.last_cone as usize];
            let first = p.sides_of(&cones[0]);
            let width: usize = first.iter().map(|s| p.blocks[s.block as usize].stride as usize).sum();
            let rows: usize = cones.iter().map(|c| c.k as usize).sum();
            if JS.len() < rows * width {
                JS.resize(rows * width, 0.0);
                GJ.resize(rows * width, 0.0);
            }
            let mut used = 0;
            for cone in cones {
                let (k, stride_z) = (cone.k as usize, cone.stride_z as usize);
                let w = &w[cone.at as usize..][..stride_z];
                if w.iter().all(|w| *w == 0.0) {
                    continue;
                }
                let E = &p.E[cone.E_at as usize..][..k * stride_z];
                let D = if cone.round { &D[cone.E_at as usize..][..k * stride_z] } else { &[][..] };
                let mut column = 0;
                for side in p.sides_of(cone) {
                    let stride = p.blocks[side.block as usize].stride as usize;
                    for r in 0..k {
                        let J = &p.J[side.J_at as usize + r * stride..][..stride];
                        JS[(used + r) * width + column..][..stride].copy_from_slice(J);
                    }
                    column += stride;
                }
                for r in 0..k {
                    let to = &mut GJ[(used + r) * width..][..width];
                    to.fill(0.0);
                    let E_r = &E[r * stride_z..][..stride_z];
                    for q in 0..k {
                        // G_rq = E_r W E_q
                        let E_q = &E[q * stride_z..][..stride_z];
                        let G = if cone.round {
                            E_r[r] * D[r * stride_z + q] * E_q[q]
                        } else {
                            let mut acc = [0.0; LANES];
                            for ((a, b), w) in lanes(E_r).iter().zip(lanes(E_q)).zip(lanes(w)) {
                                for l in 0..LANES {
                                    acc[l] = F::fma(a[l] * w[l], b[l], acc[l]);
                                }
                            }
                            sum(acc)
                        };
                        if G != 0.0 {
                            axpy::<F>(rho * G, &JS[(used + q) * width..][..width], to);
                        }
                    }
                }
                used += k;
            }
            if used == 0 {
                continue;
            }
            let (JS, GJ) = (&JS[..used * width], &GJ[..used * width]);
            for target in &targets[group.first_target as usize..group.last_target as usize] {
                let (mut row, mut column) = (0, 0);
                for (i, side) in first.iter().enumerate() {
                    let stride = p.blocks[side.block as usize].stride as usize;
                    row += if i < target.row_side as usize { stride } else { 0 };
                    column += if i < target.column_side as usize { stride } else { 0 };
                }
                let dim = p.blocks[first[target.row_side as usize].block as usize].dim as usize;
                let n = p.blocks[first[target.column_side as usize].block as usize].stride as usize;
                add_product::<F>(
                    &mut H[target.at as usize..],
                    target.stride as usize,
                    JS,
                    GJ,
                    width,
                    row,
                    dim,
                    column,
                    n,
                    target.row_side == target.column_side,
                    1.0,
                );
            }
        }
    }
}

kernel! {
    /// `H = Uᵀ U` in place, over the panels `first..last`; returns the first row whose pivot is not
    /// above `least`, with the factor unfinished.
    factor(
        s: &Structure,
        first: usize,
        last: usize,
        least: f64,
        H: &mut [f64],
        inverse: &mut [f64],
    ) -> Result<(), u32> {
        for panel in &s.panels[first..last] {
            let (dim, width) = (panel.dim as usize, panel.width as usize);
            let (before, rest) = H.split_at_mut(panel.at as usize + dim * width);
            let U = &mut before[panel.at as usize..];
            for r in 0..dim {
                let (head, tail) = U.split_at_mut((r + 1) * width);
                let row = &mut head[r * width..];
                let pivot = row[r];
                // written so that NaN fails
                if !(pivot > least) {
                    return Err(panel.first_row + r as u32);
                }
                let scale = 1.0 / pivot.sqrt();
                inverse[panel.first_row as usize + r] = scale;
                for lane in lanes_mut(&mut row[r / LANES * LANES..]) {
                    for l in 0..LANES {
                        lane[l] *= scale;
                    }
                }
                for q in r + 1..dim {
                    let from = q / LANES * LANES;
                    let factor = -row[q];
                    let to = &mut tail[(q - r - 1) * width..][..width];
                    axpy::<F>(factor, &row[from..], &mut to[from..]);
                }
            }
            let base = panel.at as usize + dim * width;
            let U = &*U;
            for update in &s.updates[panel.first_update as usize..panel.last_update as usize] {
                add_product::<F>(
                    &mut rest[update.at as usize - base..],
                    update.stride as usize,
                    U,
                    U,
                    width,
                    update.row as usize,
                    update.dim as usize,
                    update.from as usize,
                    update.width as usize,
                    update.row == update.from,
                    -1.0,
                );
            }
        }
        Ok(())
    }
}

kernel! {
    /// `x ← H⁻¹ x` over the panels `first..last`.
    solve(
        s: &Structure,
        first: usize,
        last: usize,
        H: &[f64],
        inverse: &[f64],
        t: &mut Vec<f64>,
        x: &mut [f64],
    ) {
        let widest = s.panels[first..last].iter().map(|p| p.width as usize).max().unwrap_or(0);
        if t.len() < widest {
            t.resize(widest, 0.0);
        }
        for panel in &s.panels[first..last] {
            let (dim, width) = (panel.dim as usize, panel.width as usize);
            let U = &H[panel.at as usize..][..dim * width];
            let t = &mut t[..width];
            t.fill(0.0);
            let at = panel.x_at as usize;
            for r in 0..dim {
                let y = (x[at + r] + t[r]) * inverse[panel.first_row as usize + r];
                x[at + r] = y;
                let from = r / LANES * LANES;
                axpy::<F>(-y, &U[r * width + from..(r + 1) * width], &mut t[from..]);
            }
            for c in &s.columns[panel.first_column as usize..panel.last_column as usize] {
                let stride = c.stride as usize;
                axpy::<F>(1.0, &t[c.at as usize..][..stride], &mut x[c.x_at as usize..][..stride]);
            }
        }
        for panel in s.panels[first..last].iter().rev() {
            let (dim, width) = (panel.dim as usize, panel.width as usize);
            let U = &H[panel.at as usize..][..dim * width];
            let t = &mut t[..width];
            for c in &s.columns[panel.first_column as usize..panel.last_column as usize] {
                let stride = c.stride as usize;
                t[c.at as usize..][..stride].copy_from_slice(&x[c.x_at as usize..][..stride]);
            }
            t[..dim.next_multiple_of(LANES)].fill(0.0);
            let at = panel.x_at as usize;
            for r in (0..dim).rev() {
                let from = r / LANES * LANES;
                let mut acc = [0.0; LANES];
                multiply::<F>(&U[r * width + from..(r + 1) * width], &t[from..], &mut acc);
                let value = (x[at + r] - sum(acc)) * inverse[panel.first_row as usize + r];
                x[at + r] = value;
                t[r] = value;
            }
        }
    }
}

kernel! {
    /// `Σ Π(z − rho (u + tau rates)) · rates` over all cones of some groups, and its derivative with
    /// respect to `tau`.
    force_power(
        p: &ConeProgram,
        groups: &[Group],
        rho: f64,
        tau: f64,
        z: &[f64],
        u: &[f64],
        rates: &[f64],
    ) -> [f64; 2] {
        let (mut power, mut bend) = ([0.0; LANES], [0.0; LANES]);
        let mut round = [0.0; 2];
        for group in groups {
            for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
                let (at, stride) = (cone.at as usize, cone.stride_z as usize);
                let (z, u, rates) = (&z[at..at + stride], &u[at..at + stride], &rates[at..at + stride]);
                if cone.round {
                    let m = cone.m as usize;
                    let (mut t, mut projected) = ([0.0; MAX_ROUND], [0.0; MAX_ROUND]);
                    for i in 0..m {
                        t[i] = z[i] - rho * F::fma(tau, rates[i], u[i]);
                    }
                    second_order::project(&t[..m], &mut projected[..m]);
                    for i in 0..m {
                        round[0] += projected[i] * rates[i];
                    }
                    round[1] += second_order::derivative_form(&t[..m], &rates[..m]);
                } else {
                    for ((z, u), r) in lanes(z).iter().zip(lanes(u)).zip(lanes(rates)) {
                        for l in 0..LANES {
                            let t = F::fma(-rho, F::fma(tau, r[l], u[l]), z[l]);
                            power[l] = F::fma(t.max(0.0), r[l], power[l]);
                            let active = if t > 0.0 { r[l] } else { 0.0 };
                            bend[l] = F::fma(active, r[l], bend[l]);
                        }
                    }
                }
            }
        }
        [sum(power) + round[0], -rho * (sum(bend) + round[1])]
    }
}
