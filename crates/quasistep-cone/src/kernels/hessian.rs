//! Assembly of `P + Σ Jᵀ Eᵀ W E J` in block form, and products with the cost.

use super::batch::G_at;
use super::tile::{Pair, add_product};
use crate::program::{ConeData, ConeProgram};
use crate::structure::{Group, Panel, Target};
use quasistep_linalg::blocks::wide::{One, Two, Vector};
use quasistep_linalg::simd::{Isa, Lane, Simd, axpy, by_dim, kernel, lanes, lanes_mut};
use quasistep_linalg::simd::{LANES, padded};

kernel! {
    /// Copies the cost of some panels to the factor's memory, adds `shift` to the diagonal, and
    /// sets other blocks to zero.
    start_hessian(p: &ConeProgram, panels: &[Panel], shift: f64, H: &mut [f64]) {
        for panel in panels {
            let block = &p.blocks[panel.block as usize];
            let (dim, stride) = (block.dim as usize, block.stride as usize);
            let (own, right) = H[panel.at as usize..][..panel.len() as usize].split_at_mut(dim * stride);
            own.copy_from_slice(&p.P[block.P_at as usize..][..dim * stride]);
            for i in 0..dim {
                own[i * (stride + 1)] += shift;
            }
            right.fill(0.0);
        }
        // the kernel only copies
        let _ = S::zero();
    }
}

kernel! {
    /// `G = rho E W Eᵀ` of all cones of some groups.
    matrices(p: &ConeProgram, groups: &[Group], weights: Weights<'_>, G: &mut [f64]) {
        let Weights { rho, w, D } = weights;
        for group in groups {
            for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
                let w = &lanes(&w[cone.at as usize..])[..cone.stride_z as usize / LANES];
                let G = &mut lanes_mut(&mut G[G_at(cone.b_at)..])
                    [..cone.k as usize * padded(cone.k as usize) / LANES];
                if w.iter().all(|w| *w == [0.0; LANES]) {
                    G.fill([0.0; LANES]);
                    continue;
                }
                match cone.k {
                    3 => matrix::<S, 3>(p, cone, rho, w, D, G),
                    4 => matrix::<S, 4>(p, cone, rho, w, D, G),
                    _ => matrix_any::<S>(p, cone, rho, w, D, G.as_flattened_mut()),
                }
            }
        }
    }
}

kernel! {
    /// `H += Σ Jᵀ G J` over all cones of some groups.
    add_products(
        p: &ConeProgram,
        groups: &[Group],
        targets: &[Target],
        products: &mut Products,
        H: &mut [f64],
    ) {
        let Products { G, JS, GJ } = products;
        for group in groups {
            let cones = &p.cones[group.first_cone as usize..group.last_cone as usize];
            let (k, width) = (cones[0].k as usize, cones[0].width as usize);
            let own = &targets[group.first_target as usize..group.last_target as usize];
            if k == 3 && own.iter().all(|t| t.dim == 6 && t.width == 8) {
                match *own {
                    [target] => {
                        add_body::<Two<S>>(p, cones, target, G, H);
                        continue;
                    }
                    [first, cross, last] if cross.row == 0 => {
                        add_bodies::<Two<S>, 0, 8>(p, cones, [first, cross, last], G, H);
                        continue;
                    }
                    [first, cross, last] => {
                        add_bodies::<Two<S>, 8, 0>(p, cones, [first, cross, last], G, H);
                        continue;
                    }
                    _ => {}
                }
            }
            let most = cones.len() * k * width;
            if GJ.len() < most {
                GJ.resize(most, 0.0);
                JS.resize(most, 0.0);
            }
            let mut used = 0;
            let mut idle = false;
            for cone in cones {
                let G = &lanes(&G[G_at(cone.b_at)..])[..k * padded(k) / LANES];
                if is_zero(G) {
                    if !idle {
                        // if all previous cones were active, their rows are already in place
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
                    (3, 2) => weigh::<S, Two<S>, 3, 2>(G, J, GJ),
                    (3, 4) => weigh::<S, Two<S>, 3, 4>(G, J, GJ),
                    (3, 5) => weigh::<S, Two<S>, 3, 5>(G, J, GJ),
                    (4, 2) => weigh::<S, Two<S>, 4, 2>(G, J, GJ),
                    (4, 4) => weigh::<S, Two<S>, 4, 4>(G, J, GJ),
                    (4, 5) => weigh::<S, Two<S>, 4, 5>(G, J, GJ),
                    _ => weigh_any::<S>(k, G.as_flattened(), width, J, GJ),
                }
                used += k * width;
            }
            if used == 0 {
                continue;
            }
            let first = cones[0].J_at as usize;
            let A = if idle { &JS[..used] } else { &p.J[first..first + used] };
            let product = Pair { A, B: &GJ[..used], width };
            for target in own {
                add_product::<S>(H, product, target);
            }
        }
    }
}

/// Weights `rho W` of the rows: `W` is `diag(w)` for edges, and for round cones the matrix in `D`,
/// laid out like `E`.
#[derive(Clone, Copy)]
pub(crate) struct Weights<'a> {
    pub rho: f64,
    pub w: &'a [f64],
    pub D: &'a [f64],
}

/// `H += rho Σ Jᵀ Eᵀ W E J` over all cones of some groups.
pub(crate) fn add_cones(
    isa: Isa,
    p: &ConeProgram,
    groups: &[Group],
    targets: &[Target],
    weights: Weights<'_>,
    products: &mut Products,
    H: &mut [f64],
) {
    let G = &mut products.G;
    if G.len() < G_at(p.b.len() as u32) {
        G.resize(G_at(p.b.len() as u32), 0.0);
    }
    matrices(isa, p, groups, weights, G);
    add_products(isa, p, groups, targets, products, H);
}

/// Scratch memory of the products: `G` of every cone, and `J` and `G J` of the active cones.
#[derive(Debug, Default)]
pub(crate) struct Products {
    pub G: Vec<f64>,
    pub JS: Vec<f64>,
    pub GJ: Vec<f64>,
}

#[inline(always)]
fn is_zero(G: &[Lane]) -> bool {
    G.iter().all(|row| *row == [0.0; LANES])
}

/// `GJ = G J` of one cone.
#[inline(always)]
fn weigh<S: Simd, W: Vector, const K: usize, const C: usize>(
    G: &[Lane],
    J: &[f64],
    GJ: &mut [f64],
) {
    let (G, J, GJ) = (&G[..K], &J[..K * C * LANES], &mut GJ[..K * C * LANES]);
    let mut c = 0;
    while c + W::N <= C {
        times_G::<W, K>(G, C * LANES, c * LANES, J, GJ);
        c += W::N;
    }
    if c < C {
        times_G::<One<S>, K>(G, C * LANES, c * LANES, J, GJ);
    }
}

/// `G = rho E W Eᵀ` of one cone.
#[inline(always)]
fn matrix<S: Simd, const K: usize>(
    p: &ConeProgram,
    cone: &ConeData,
    rho: f64,
    w: &[Lane],
    D: &[f64],
    G: &mut [Lane],
) {
    let per = w.len();
    let (E, G) = (&lanes(&p.E[cone.E_at as usize..])[..K * per], &mut G[..K]);
    let rho = S::splat(rho);
    if cone.round {
        let D = &lanes(&D[cone.E_at as usize..])[..K];
        let mut diagonal = [0.0; LANES];
        for q in 0..K {
            diagonal[q] = E[q][q];
        }
        for r in 0..K {
            let row = S::mul(S::splat(E[r][r]), S::mul(rho, S::load(&D[r])));
            S::store(S::mul(row, S::load(&diagonal)), &mut G[r]);
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
            S::store(S::mul(rho, S::sums(dots)), &mut G[r]);
        }
    }
}

/// `G = rho E W Eᵀ` of one cone with any number of rows, each padded.
#[inline(always)]
fn matrix_any<S: Simd>(
    p: &ConeProgram,
    cone: &ConeData,
    rho: f64,
    w: &[Lane],
    D: &[f64],
    G: &mut [f64],
) {
    let (k, per) = (cone.k as usize, w.len());
    let E = &lanes(&p.E[cone.E_at as usize..])[..k * per];
    G.fill(0.0);
    for r in 0..k {
        for q in 0..k {
            let value = if cone.round {
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
            G[r * padded(k) + q] = rho * value;
        }
    }
}

/// `H += Jᵀ G J` of cones on a single block of six variables.
#[inline(always)]
fn add_body<W: Vector>(
    p: &ConeProgram,
    cones: &[ConeData],
    target: Target,
    G: &[f64],
    H: &mut [f64],
) {
    let mut sums = [W::zero(); 6];
    for cone in cones {
        let G: &[Lane; 3] = lanes(&G[G_at(cone.b_at)..]).first_chunk().expect("three rows");
        if is_zero(G) {
            continue;
        }
        let J: &[f64; 24] = p.J[cone.J_at as usize..].first_chunk().expect("three rows");
        add_outer::<W, 8, 0, 0>(G, J, &mut sums);
    }
    add_rows::<W>(sums, target, H);
}

/// `H += Jᵀ G J` of cones on two blocks of six variables. The block whose Jacobian columns start at
/// `A` comes first in elimination order. Adds both diagonal blocks, and the off-diagonal block with
/// rows of the first.
#[inline(always)]
fn add_bodies<W: Vector, const A: usize, const B: usize>(
    p: &ConeProgram,
    cones: &[ConeData],
    [first, cross, last]: [Target; 3],
    G: &[f64],
    H: &mut [f64],
) {
    let (own_target, other_target) = if A == 0 { (first, last) } else { (last, first) };
    let data = |cone: &ConeData| {
        let G: &[Lane; 3] = lanes(&G[G_at(cone.b_at)..]).first_chunk().expect("three rows");
        let J: &[f64; 48] = p.J[cone.J_at as usize..].first_chunk().expect("three rows");
        (G, J)
    };
    // registers are few: one block after another
    let mut sums = [W::zero(); 6];
    for cone in cones {
        let (G, J) = data(cone);
        add_outer::<W, 16, A, A>(G, J, &mut sums);
    }
    add_rows::<W>(sums, own_target, H);
    let mut sums = [W::zero(); 6];
    for cone in cones {
        let (G, J) = data(cone);
        add_outer::<W, 16, A, B>(G, J, &mut sums);
    }
    add_rows::<W>(sums, cross, H);
    let mut sums = [W::zero(); 6];
    for cone in cones {
        let (G, J) = data(cone);
        add_outer::<W, 16, B, B>(G, J, &mut sums);
    }
    add_rows::<W>(sums, other_target, H);
}

/// `sums += J_aᵀ G J_b` of three rows, with `J_a` from column `A` on and `J_b` from column `B` on.
#[inline(always)]
fn add_outer<W: Vector, const WIDTH: usize, const A: usize, const B: usize>(
    G: &[Lane; 3],
    J: &[f64],
    sums: &mut [W::V; 6],
) {
    let J = &J[..3 * WIDTH];
    for r in 0..3 {
        let mut g = W::mul(W::splat(G[r][0]), W::load(&J[B..]));
        for q in 1..3 {
            g = W::fma(W::splat(G[r][q]), W::load(&J[q * WIDTH + B..]), g);
        }
        for i in 0..6 {
            sums[i] = W::fma(W::splat(J[r * WIDTH + A + i]), g, sums[i]);
        }
    }
}

/// Adds six rows of a block to its target in `H`.
#[inline(always)]
fn add_rows<T: Vector>(rows: [T::V; 6], target: Target, H: &mut [f64]) {
    let H: &mut [f64; 48] = H[target.at as usize..].first_chunk_mut().expect("six rows");
    for i in 0..6 {
        let to = &mut H[i * 8..][..8];
        T::store(T::add(rows[i], T::load(to)), to);
    }
}

/// `GJ = G J` on the columns of one vector.
#[inline(always)]
fn times_G<T: Vector, const K: usize>(
    G: &[Lane],
    width: usize,
    at: usize,
    J: &[f64],
    GJ: &mut [f64],
) {
    let mut rows = [T::zero(); K];
    for q in 0..K {
        rows[q] = T::load(&J[q * width + at..]);
    }
    for r in 0..K {
        let mut acc = T::mul(T::splat(G[r][0]), rows[0]);
        for q in 1..K {
            acc = T::fma(T::splat(G[r][q]), rows[q], acc);
        }
        T::store(acc, &mut GJ[r * width + at..]);
    }
}

#[inline(always)]
fn weigh_any<S: Simd>(k: usize, G: &[f64], width: usize, J: &[f64], GJ: &mut [f64]) {
    for (to, G) in GJ.chunks_exact_mut(width).zip(G.chunks_exact(padded(k))) {
        to.fill(0.0);
        for (J, g) in J.chunks_exact(width).zip(G) {
            if *g != 0.0 {
                axpy::<S>(*g, J, to);
            }
        }
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
    // the block is symmetric: its rows serve as columns
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
