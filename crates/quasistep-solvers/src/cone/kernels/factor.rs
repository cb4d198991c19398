//! The matrix `P + Σ Jᵀ Eᵀ W E J` in block form: assembly, factor, solve.

use super::cones::split;
use super::{Simd, axpy, kernel, lanes, lanes_mut, multiply};
use crate::cone::program::{ConeData, ConeProgram, LANES};
use crate::cone::structure::{Column, Group, Panel, Structure, Target, Update};

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
        let _ = S::zero();
    }
}

/// `N` vectors from `x`, `stride` lanes apart. (A closure would be compiled without the kernel's
/// instructions.)
#[inline(always)]
fn load<S: Simd, const N: usize>(x: &[f64], stride: usize) -> [S::V; N] {
    let x = lanes(x);
    let mut out = [S::zero(); N];
    for n in 0..N {
        out[n] = S::load(&x[n * stride]);
    }
    out
}

/// `AᵀB` of two matrices with rows of the same width.
#[derive(Clone, Copy)]
struct Product<'a> {
    A: &'a [f64],
    B: &'a [f64],
    width: usize,
    sign: f64,
}

/// `H[i stride ..] += sign Σ_r A[r][row + i] B[r][column ..]` for `I` rows and `C` lanes.
#[inline(always)]
fn tile<S: Simd, const I: usize, const C: usize>(
    H: &mut [f64],
    stride: usize,
    product: Product<'_>,
    row: usize,
    column: usize,
) {
    let mut acc = [[S::zero(); C]; I];
    let Product { A, B, width, sign } = product;
    for (a, b) in A.chunks_exact(width).zip(B.chunks_exact(width)) {
        let a = &a[row..row + I];
        let b = load::<S, C>(&b[column..], 1);
        for i in 0..I {
            let a = S::splat(a[i]);
            for c in 0..C {
                acc[i][c] = S::fma(a, b[c], acc[i][c]);
            }
        }
    }
    let sign = S::splat(sign);
    for i in 0..I {
        let h = &mut lanes_mut(&mut H[i * stride..])[..C];
        for c in 0..C {
            S::store(S::fma(sign, acc[i][c], S::load(&h[c])), &mut h[c]);
        }
    }
}

/// `H += sign AᵀB`, of its rows the columns `row ..row + dim` of `A`, of its columns `column ..column +
/// n_columns` of `B`. With `upper`, entries left of the diagonal may be left out.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn add_product<S: Simd>(
    H: &mut [f64],
    stride: usize,
    product: Product<'_>,
    row: usize,
    dim: usize,
    column: usize,
    n_columns: usize,
    upper: bool,
) {
    let mut i = 0;
    while i < dim {
        let rows = match dim - i {
            6.. => 6,
            left @ (1..=4) => left,
            _ => 4,
        };
        let mut c = if upper { i / LANES * LANES } else { 0 };
        let H = &mut H[i * stride..];
        while c < n_columns {
            let two = n_columns - c > LANES;
            let (r, k, H) = (row + i, column + c, &mut H[c..]);
            match (rows, two) {
                (6, true) => tile::<S, 6, 2>(H, stride, product, r, k),
                (6, false) => tile::<S, 6, 1>(H, stride, product, r, k),
                (4, true) => tile::<S, 4, 2>(H, stride, product, r, k),
                (4, false) => tile::<S, 4, 1>(H, stride, product, r, k),
                (3, true) => tile::<S, 3, 2>(H, stride, product, r, k),
                (3, false) => tile::<S, 3, 1>(H, stride, product, r, k),
                (2, true) => tile::<S, 2, 2>(H, stride, product, r, k),
                (2, false) => tile::<S, 2, 1>(H, stride, product, r, k),
                (_, true) => tile::<S, 1, 2>(H, stride, product, r, k),
                (_, false) => tile::<S, 1, 1>(H, stride, product, r, k),
            }
            c += if two { 2 * LANES } else { LANES };
        }
        i += rows;
    }
}

kernel! {
    /// `H += rho Σ Jᵀ Eᵀ W E J` over all cones of some groups.
    ///
    /// `W` is `diag(w)` for edges; for round cones it is the matrix in `D`, laid out like `E`. `JS` and
    /// `GJ` are scratch.
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
            let (k, width) = (cones[0].k as usize, cones[0].width as usize);
            let most = cones.len() * k * width;
            if GJ.len() < most {
                GJ.resize(most, 0.0);
                JS.resize(most, 0.0);
            }
            let mut used = 0;
            let mut idle = false;
            for cone in cones {
                let w = &lanes(&w[cone.at as usize..])[..cone.stride_z as usize / LANES];
                if w.iter().all(|w| *w == [0.0; LANES]) {
                    if !idle {
                        // all before were active and in place
                        let first = cones[0].J_at as usize;
                        JS[..used].copy_from_slice(&p.J[first..first + used]);
                        idle = true;
                    }
                    continue;
                }
                let J = &p.J[cone.J_at as usize..][..k * width];
                if idle {
                    JS[used..used + k * width].copy_from_slice(J);
                }
                let GJ = &mut GJ[used..used + k * width];
                match (k, width / LANES) {
                    (3, 2) => weigh::<S, 3, 2>(p, cone, rho, w, D, J, GJ),
                    (3, 4) => weigh::<S, 3, 4>(p, cone, rho, w, D, J, GJ),
                    (3, 5) => weigh::<S, 3, 5>(p, cone, rho, w, D, J, GJ),
                    (4, 2) => weigh::<S, 4, 2>(p, cone, rho, w, D, J, GJ),
                    (4, 4) => weigh::<S, 4, 4>(p, cone, rho, w, D, J, GJ),
                    (4, 5) => weigh::<S, 4, 5>(p, cone, rho, w, D, J, GJ),
                    _ => weigh_any::<S>(p, cone, rho, w, D, J, GJ),
                }
                used += k * width;
            }
            if used == 0 {
                continue;
            }
            let first = cones[0].J_at as usize;
            let A = if idle { &JS[..used] } else { &p.J[first..first + used] };
            let product = Product { A, B: &GJ[..used], width, sign: 1.0 };
            for target in &targets[group.first_target as usize..group.last_target as usize] {
                add_product::<S>(
                    &mut H[target.at as usize..],
                    target.stride as usize,
                    product,
                    target.row as usize,
                    target.dim as usize,
                    target.column as usize,
                    target.width as usize,
                    target.row == target.column,
                );
            }
        }
    }
}

/// `GJ = rho E W Eᵀ J` of one cone.
#[inline(always)]
fn weigh<S: Simd, const K: usize, const C: usize>(
    p: &ConeProgram,
    cone: &ConeData,
    rho: f64,
    w: &[[f64; LANES]],
    D: &[f64],
    J: &[f64],
    GJ: &mut [f64],
) {
    let per = w.len();
    let E = &lanes(&p.E[cone.E_at as usize..])[..K * per];
    let rho = S::splat(rho);
    // rows of G, each with its lanes by themselves
    let mut G = [[S::zero(); K]; K];
    if cone.round {
        let D = &lanes(&D[cone.E_at as usize..])[..K];
        let mut diagonal = [0.0; LANES];
        for q in 0..K {
            diagonal[q] = E[q][q];
        }
        for r in 0..K {
            let row = S::mul(S::splat(E[r][r]), S::mul(rho, S::load(&D[r])));
            G[r] = split::<S, K>(S::mul(row, S::load(&diagonal)));
        }
    } else {
        for r in 0..K {
            let mut dots = [S::zero(); LANES];
            for j in 0..per {
                let weighed = S::mul(S::load(&E[r * per + j]), S::load(&w[j]));
                for q in 0..K {
                    dots[q] = S::fma(weighed, S::load(&E[q * per + j]), dots[q]);
                }
            }
            G[r] = split::<S, K>(S::mul(rho, S::sums(dots)));
        }
    }
    let GJ = &mut lanes_mut(GJ)[..K * C];
    for c in 0..C {
        let J = load::<S, K>(&J[c * LANES..], C);
        for r in 0..K {
            let mut acc = S::mul(G[r][0], J[0]);
            for q in 1..K {
                acc = S::fma(G[r][q], J[q], acc);
            }
            S::store(acc, &mut GJ[r * C + c]);
        }
    }
}

#[inline(always)]
fn weigh_any<S: Simd>(
    p: &ConeProgram,
    cone: &ConeData,
    rho: f64,
    w: &[[f64; LANES]],
    D: &[f64],
    J: &[f64],
    GJ: &mut [f64],
) {
    let (k, per, width) = (cone.k as usize, w.len(), cone.width as usize);
    let E = &lanes(&p.E[cone.E_at as usize..])[..k * per];
    for (r, to) in GJ.chunks_exact_mut(width).enumerate() {
        to.fill(0.0);
        for (q, J) in J.chunks_exact(width).enumerate() {
            let G = if cone.round {
                let D = &D[cone.E_at as usize + r * per * LANES..];
                E[r * per + r / LANES][r % LANES] * D[q] * E[q * per + q / LANES][q % LANES]
            } else {
                let mut acc = S::zero();
                for j in 0..per {
                    let weighed = S::mul(S::load(&E[r * per + j]), S::load(&w[j]));
                    acc = S::fma(weighed, S::load(&E[q * per + j]), acc);
                }
                S::sum(acc)
            };
            if G != 0.0 {
                axpy::<S>(rho * G, J, to);
            }
        }
    }
}

/// Calls a function with the size of a panel as a constant where it is a common one: arms of up to nine
/// joints, free bodies, sliders.
macro_rules! by_dim {
    ($dim:expr, $fixed:ident, $any:ident, $S:ty, ($($arg:expr),* $(,)?)) => {
        match $dim {
            1 => $fixed::<$S, 1, 1>($($arg),*),
            2 => $fixed::<$S, 2, 1>($($arg),*),
            3 => $fixed::<$S, 3, 1>($($arg),*),
            6 => $fixed::<$S, 6, 2>($($arg),*),
            7 => $fixed::<$S, 7, 2>($($arg),*),
            8 => $fixed::<$S, 8, 2>($($arg),*),
            9 => $fixed::<$S, 9, 3>($($arg),*),
            _ => $any::<$S>($($arg),*),
        }
    };
}

kernel! {
    /// `H = Uᵀ U` in place, over the panels `first..last`, with the inverses `W = U⁻ᵀ` of the diagonal
    /// blocks; returns the first row whose pivot is not above `least`, with the factor unfinished.
    factor(
        s: &Structure,
        first: usize,
        last: usize,
        least: f64,
        H: &mut [f64],
        W: &mut [f64],
    ) -> Result<(), u32> {
        for panel in &s.panels[first..last] {
            let (dim, width) = (panel.dim as usize, panel.width as usize);
            let (before, rest) = H.split_at_mut(panel.at as usize + dim * width);
            let U = &mut before[panel.at as usize..];
            let W = &mut W[panel.W_at as usize..];
            let failed = by_dim!(dim, factor_fixed, factor_any, S, (panel, least, U, W));
            if failed < dim {
                return Err(panel.first_row + failed as u32);
            }
            let base = panel.at as usize + dim * width;
            let product = Product { A: U, B: U, width, sign: -1.0 };
            for update in &s.updates[panel.first_update as usize..panel.last_update as usize] {
                let Update { dim, row, from, width, at, stride } = *update;
                add_product::<S>(
                    &mut rest[at as usize - base..],
                    stride as usize,
                    product,
                    row as usize,
                    dim as usize,
                    from as usize,
                    width as usize,
                    row == from,
                );
            }
        }
        Ok(())
    }
}

/// Factors a panel of `D` rows whose diagonal block has `L` lanes; returns the row that failed, or `D`.
#[inline(always)]
fn factor_fixed<S: Simd, const D: usize, const L: usize>(
    panel: &Panel,
    least: f64,
    U: &mut [f64],
    W: &mut [f64],
) -> usize {
    let width = panel.width as usize / LANES;
    let U = &mut lanes_mut(U)[..D * width];
    let W = &mut lanes_mut(W)[..D * L];
    // the diagonal block, with the unit matrix beside it
    let mut rows = [[S::zero(); L]; D];
    let mut inverse = [[S::zero(); L]; D];
    for r in 0..D {
        for l in 0..L {
            rows[r][l] = S::load(&U[r * width + l]);
        }
        let mut unit = [0.0; LANES];
        unit[r % LANES] = 1.0;
        inverse[r][r / LANES] = S::load(&unit);
    }
    for r in 0..D {
        let mut row = [[0.0; LANES]; L];
        for l in 0..L {
            S::store(rows[r][l], &mut row[l]);
        }
        let pivot = row[r / LANES][r % LANES];
        // written so that NaN fails
        if !(pivot > least) {
            return r;
        }
        let scale = 1.0 / pivot.sqrt();
        let scales = S::splat(scale);
        for l in 0..L {
            rows[r][l] = S::mul(rows[r][l], scales);
            inverse[r][l] = S::mul(inverse[r][l], scales);
        }
        for q in r + 1..D {
            let factor = S::splat(-row[q / LANES][q % LANES] * scale);
            for l in q / LANES..L {
                rows[q][l] = S::fma(factor, rows[r][l], rows[q][l]);
            }
            for l in 0..=r / LANES {
                inverse[q][l] = S::fma(factor, inverse[r][l], inverse[q][l]);
            }
        }
    }
    for r in 0..D {
        for l in 0..L {
            S::store(rows[r][l], &mut U[r * width + l]);
            S::store(inverse[r][l], &mut W[r * L + l]);
        }
    }
    // what is right of it: W times what was there
    let W: &[f64] = W.as_flattened();
    for c in L..width {
        let old = load::<S, D>(U[c..].as_flattened(), width);
        for r in 0..D {
            let mut acc = S::mul(S::splat(W[r * L * LANES]), old[0]);
            for q in 1..=r {
                acc = S::fma(S::splat(W[r * L * LANES + q]), old[q], acc);
            }
            S::store(acc, &mut U[r * width + c]);
        }
    }
    D
}

#[inline(always)]
fn factor_any<S: Simd>(panel: &Panel, least: f64, U: &mut [f64], W: &mut [f64]) -> usize {
    let (dim, width) = (panel.dim as usize, panel.width as usize);
    let stride = dim.next_multiple_of(LANES);
    let W = &mut W[..dim * stride];
    W.fill(0.0);
    for r in 0..dim {
        let (head, tail) = U.split_at_mut((r + 1) * width);
        let row = &mut head[r * width..];
        let pivot = row[r];
        // written so that NaN fails
        if !(pivot > least) {
            return r;
        }
        let scale = 1.0 / pivot.sqrt();
        row[r / LANES * LANES..].iter_mut().for_each(|u| *u *= scale);
        let (done, below) = W.split_at_mut((r + 1) * stride);
        let inverse = &mut done[r * stride..];
        inverse[r] += 1.0;
        for w in inverse.iter_mut() {
            *w *= scale;
        }
        for q in r + 1..dim {
            let from = q / LANES * LANES;
            axpy::<S>(
                -row[q],
                &row[from..],
                &mut tail[(q - r - 1) * width + from..][..width - from],
            );
            axpy::<S>(-row[q], inverse, &mut below[(q - r - 1) * stride..][..stride]);
        }
    }
    dim
}

kernel! {
    /// `x ← H⁻¹ x` over the panels `first..last`.
    solve(s: &Structure, first: usize, last: usize, H: &[f64], W: &[f64], x: &mut [f64]) {
        for panel in &s.panels[first..last] {
            let columns = &s.columns[panel.first_column as usize..panel.last_column as usize];
            let U = &H[panel.at as usize..][..(panel.dim * panel.width) as usize];
            let W = &W[panel.W_at as usize..];
            by_dim!(panel.dim, forward_fixed, forward_any, S, (panel, columns, U, W, x));
        }
        for panel in s.panels[first..last].iter().rev() {
            let columns = &s.columns[panel.first_column as usize..panel.last_column as usize];
            let U = &H[panel.at as usize..][..(panel.dim * panel.width) as usize];
            let W = &W[panel.W_at as usize..];
            by_dim!(panel.dim, backward_fixed, backward_any, S, (panel, columns, U, W, x));
        }
    }
}

/// Sums of the lanes of `D` vectors, as `L` vectors.
#[inline(always)]
fn sums<S: Simd, const D: usize, const L: usize>(v: [S::V; D]) -> [S::V; L] {
    let mut out = [S::zero(); L];
    for l in 0..L {
        let mut four = [S::zero(); LANES];
        for i in 0..LANES {
            if l * LANES + i < D {
                four[i] = v[l * LANES + i];
            }
        }
        out[l] = S::sums(four);
    }
    out
}

/// `x ← W x` on the panel, then off its columns what that takes.
#[inline(always)]
fn forward_fixed<S: Simd, const D: usize, const L: usize>(
    panel: &Panel,
    columns: &[Column],
    U: &[f64],
    W: &[f64],
    x: &mut [f64],
) {
    let width = panel.width as usize / LANES;
    let (U, W) = (&lanes(U)[..D * width], &lanes(W)[..D * L]);
    let own = &mut lanes_mut(&mut x[panel.x_at as usize..])[..L];
    let b = load::<S, L>(own.as_flattened(), 1);
    let mut dots = [S::zero(); D];
    for r in 0..D {
        for l in 0..=r / LANES {
            dots[r] = S::fma(S::load(&W[r * L + l]), b[l], dots[r]);
        }
    }
    let y = sums::<S, D, L>(dots);
    let mut flat = [[0.0; LANES]; L];
    for l in 0..L {
        S::store(y[l], &mut flat[l]);
        own[l] = flat[l];
    }
    let mut minus = [S::zero(); D];
    for r in 0..D {
        minus[r] = S::splat(-flat[r / LANES][r % LANES]);
    }
    for column in columns {
        let x = lanes_mut(&mut x[column.x_at as usize..][..column.stride as usize]);
        let from = column.at as usize / LANES;
        for (c, x) in x.iter_mut().enumerate() {
            let mut acc = S::load(x);
            for r in 0..D {
                acc = S::fma(minus[r], S::load(&U[r * width + from + c]), acc);
            }
            S::store(acc, x);
        }
    }
}

#[inline(always)]
fn forward_any<S: Simd>(panel: &Panel, columns: &[Column], U: &[f64], _: &[f64], x: &mut [f64]) {
    let (dim, width, at) = (panel.dim as usize, panel.width as usize, panel.x_at as usize);
    for r in 0..dim {
        let U = &U[r * width..][..width];
        let y = x[at + r] / U[r];
        x[at + r] = y;
        for i in r + 1..dim {
            x[at + i] -= y * U[i];
        }
        for c in columns {
            let to = &mut x[c.x_at as usize..][..c.stride as usize];
            axpy::<S>(-y, &U[c.at as usize..][..c.stride as usize], to);
        }
    }
}

/// `x ← Wᵀ (x − U x_columns)` on the panel.
#[inline(always)]
fn backward_fixed<S: Simd, const D: usize, const L: usize>(
    panel: &Panel,
    columns: &[Column],
    U: &[f64],
    W: &[f64],
    x: &mut [f64],
) {
    let width = panel.width as usize / LANES;
    let (U, W) = (&lanes(U)[..D * width], &lanes(W)[..D * L]);
    let mut dots = [S::zero(); D];
    for column in columns {
        let x = lanes(&x[column.x_at as usize..][..column.stride as usize]);
        let from = column.at as usize / LANES;
        for (c, x) in x.iter().enumerate() {
            let x = S::load(x);
            for r in 0..D {
                dots[r] = S::fma(S::load(&U[r * width + from + c]), x, dots[r]);
            }
        }
    }
    let own = &mut lanes_mut(&mut x[panel.x_at as usize..])[..L];
    let taken = sums::<S, D, L>(dots);
    let minus = S::splat(-1.0);
    let mut flat = [[0.0; LANES]; L];
    for l in 0..L {
        S::store(S::fma(minus, taken[l], S::load(&own[l])), &mut flat[l]);
    }
    let mut out = [S::zero(); L];
    for r in 0..D {
        let t = S::splat(flat[r / LANES][r % LANES]);
        for l in 0..=r / LANES {
            out[l] = S::fma(t, S::load(&W[r * L + l]), out[l]);
        }
    }
    for l in 0..L {
        S::store(out[l], &mut own[l]);
    }
}

#[inline(always)]
fn backward_any<S: Simd>(panel: &Panel, columns: &[Column], U: &[f64], _: &[f64], x: &mut [f64]) {
    let (dim, width, at) = (panel.dim as usize, panel.width as usize, panel.x_at as usize);
    for r in (0..dim).rev() {
        let U = &U[r * width..][..width];
        let mut acc = S::zero();
        for c in columns {
            let x = &x[c.x_at as usize..][..c.stride as usize];
            acc = multiply::<S>(&U[c.at as usize..][..c.stride as usize], x, acc);
        }
        let mut value = x[at + r] - S::sum(acc);
        for i in r + 1..dim {
            value -= U[i] * x[at + i];
        }
        x[at + r] = value / U[r];
    }
}

kernel! {
    /// `y = P x` on the blocks of some panels.
    cost_times(p: &ConeProgram, panels: &[Panel], x: &[f64], y: &mut [f64]) {
        for panel in panels {
            cost_of_panel::<S>(p, panel, x, y);
        }
    }
}

#[inline(always)]
pub(super) fn cost_of_panel<S: Simd>(p: &ConeProgram, panel: &Panel, x: &[f64], y: &mut [f64]) {
    let block = &p.blocks[panel.block as usize];
    let P = &p.P[block.P_at as usize..];
    let (x, y) = (&x[block.at as usize..], &mut y[block.at as usize..]);
    by_dim!(block.dim, cost_fixed, cost_any, S, (block.dim as usize, P, x, y));
}

#[inline(always)]
fn cost_fixed<S: Simd, const D: usize, const L: usize>(
    _: usize,
    P: &[f64],
    x: &[f64],
    y: &mut [f64],
) {
    // symmetric: columns are rows
    let (P, x, y) = (&lanes(P)[..D * L], &x[..D], &mut lanes_mut(y)[..L]);
    for l in 0..L {
        let mut acc = S::zero();
        for i in 0..D {
            acc = S::fma(S::splat(x[i]), S::load(&P[i * L + l]), acc);
        }
        S::store(acc, &mut y[l]);
    }
}

#[inline(always)]
fn cost_any<S: Simd>(dim: usize, P: &[f64], x: &[f64], y: &mut [f64]) {
    let stride = dim.next_multiple_of(LANES);
    let y = &mut y[..stride];
    y.fill(0.0);
    for i in 0..dim {
        axpy::<S>(x[i], &P[i * stride..][..stride], y);
    }
}
