//! Inner loops over cones, groups and panels.
//!
//! Every kernel has two versions: portable code, and x86-64 code with AVX2 and FMA. The choice is
//! made at run time, so that a build for baseline x86-64 is fast too. The versions differ in
//! rounding only. On one machine, equal inputs give equal bits.

// parts of a kernel must be inlined into it, because only the kernel is compiled with its
// instruction set
#![allow(clippy::inline_always)]

mod barrier;
mod batch;
mod cones;
mod factor;
mod hessian;
mod kkt_norms;
mod lu;
mod many;
mod round;
mod simd;
mod sizes;
mod solve;
mod tile;
mod touching;
mod views;
mod wide;

pub(crate) use barrier::{advance, corrector, directions, weights};
pub(crate) use batch::step::{
    Centred, Predicted, Reach, batch_advance, batch_corrector, batch_directions, batch_gondzio,
    batch_matrices, batch_predictor,
};
pub(crate) use batch::{G_at, Rows, batch_forces, batch_rows};
pub(crate) use cones::{
    Line, add_forces, force_power, rates, rows_of_group, slacks, subtract_forces, unpad,
};
pub(crate) use factor::factor;
pub(crate) use hessian::{Products, Weights, add_cones, add_products, cost_times, start_hessian};
pub(crate) use kkt_norms::{KktNorms, kkt_norms};
pub(crate) use lu::{Lu, add_part, factor_lu, solve_lu};
pub(crate) use many::{
    Active, FaceMatrices, Factor, Many, PressedRows, Small, add_forces_many, add_product_many,
    add_rows_many, largest_many, press_many, solve_lu_many, solve_many,
};
#[cfg(target_arch = "x86_64")]
pub(crate) use simd::Avx2;
pub(crate) use simd::{Isa, Lane, Portable, Simd};
pub(crate) use sizes::{advance_variables, all_finite, largest, row_sizes};
pub(crate) use solve::solve;
pub(crate) use touching::{Allowed, rows_hold, thinnest};
pub(crate) use views::{Groups, Iterate, Scaled, Step};

pub(crate) use crate::cone::second_order::MAX as MAX_ROUND;

use crate::cone::program::LANES;

/// Defines the two versions of a kernel and the dispatch between them.
macro_rules! kernel {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$doc])*
        pub(crate) fn $name(isa: $crate::cone::kernels::Isa, $($arg: $type),*) $(-> $ret)? {
            #[inline(always)]
            fn body<S: $crate::cone::kernels::Simd>($($arg: $type),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $type),*) $(-> $ret)? {
                    body::<$crate::cone::kernels::Avx2>($($arg),*)
                }
                if isa == $crate::cone::kernels::Isa::Avx2 {
                    // SAFETY: only `detect` creates `Isa::Avx2`, on a machine with AVX2 and FMA
                    #[allow(unsafe_code)]
                    return unsafe { avx2($($arg),*) };
                }
            }
            let _ = isa;
            body::<$crate::cone::kernels::Portable>($($arg),*)
        }
    };
}
pub(crate) use kernel;

#[inline(always)]
pub(crate) fn lanes(x: &[f64]) -> &[Lane] {
    x.as_chunks::<LANES>().0
}

#[inline(always)]
pub(crate) fn lanes_mut(x: &mut [f64]) -> &mut [Lane] {
    x.as_chunks_mut::<LANES>().0
}

/// `y += s a`; lengths are multiples of [`LANES`].
#[inline(always)]
pub(crate) fn axpy<S: Simd>(s: f64, a: &[f64], y: &mut [f64]) {
    let s = S::splat(s);
    for (y, a) in lanes_mut(y).iter_mut().zip(lanes(a)) {
        S::store(S::fma(s, S::load(a), S::load(y)), y);
    }
}

/// `acc + a ∘ b`, accumulated over the lanes of two vectors.
#[inline(always)]
pub(crate) fn multiply<S: Simd>(a: &[f64], b: &[f64], mut acc: S::V) -> S::V {
    for (a, b) in lanes(a).iter().zip(lanes(b)) {
        acc = S::fma(S::load(a), S::load(b), acc);
    }
    acc
}

/// `N` vectors of `x`, `stride` lanes apart. (A closure would not be compiled with the kernel's
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

/// Calls a function with the size of a panel as a constant where it is common: up to nine
/// variables.
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
use by_dim;
