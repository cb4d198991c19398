//! SIMD with four lanes of `f64`: a portable version, and one for x86-64 with AVX2 and FMA.
//!
//! A search is compiled for both, and the version is chosen at run time, so that a build for plain
//! x86-64 is fast too. The versions differ in rounding only. On one machine the same input gives
//! the same bits.

// all functions of a search must be compiled with the vector instructions, so they must be inlined
// into it; closures may not be inlined and are avoided
#![allow(clippy::inline_always)]

use std::sync::OnceLock;

pub(crate) const LANES: usize = 4;
pub(crate) type Lane = [f64; LANES];

/// Instruction set that a search uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isa {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Isa {
    /// The best instruction set of this machine.
    #[inline]
    pub fn detect() -> Self {
        if portable_only() {
            return Self::Portable;
        }
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
        {
            return Self::Avx2;
        }
        Self::Portable
    }
}

/// True if the environment variable `QUASISTEP_SIMD` is `portable`; read once. Tests use it to run
/// the portable version on x86-64.
fn portable_only() -> bool {
    static ONLY: OnceLock<bool> = OnceLock::new();
    *ONLY.get_or_init(|| std::env::var_os("QUASISTEP_SIMD").is_some_and(|v| v == "portable"))
}

/// Vector operations of one instruction set.
///
/// `max` and `min` return their second operand if either is NaN. So `max(0, x)` propagates a NaN
/// `x`.
pub(crate) trait Simd {
    type V: Copy;
    fn splat(x: f64) -> Self::V;
    fn load(x: &Lane) -> Self::V;
    fn to_array(v: Self::V) -> Lane;
    /// `a b + c`.
    fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    fn add(a: Self::V, b: Self::V) -> Self::V;
    fn sub(a: Self::V, b: Self::V) -> Self::V;
    fn mul(a: Self::V, b: Self::V) -> Self::V;
    fn div(a: Self::V, b: Self::V) -> Self::V;
    fn max(a: Self::V, b: Self::V) -> Self::V;
    fn min(a: Self::V, b: Self::V) -> Self::V;
    fn abs(a: Self::V) -> Self::V;
    fn sqrt(a: Self::V) -> Self::V;
    /// Bit `i` is set if `a > b` in lane `i`; not set if either is NaN.
    fn above(a: Self::V, b: Self::V) -> u32;
    /// `x` where `a > b`, else 0.
    fn where_above(a: Self::V, b: Self::V, x: Self::V) -> Self::V;

    /// `a · b + c` per lane, with the same vector `a` in all lanes.
    #[inline(always)]
    fn dot(a: [f64; 3], b: [Self::V; 3], c: Self::V) -> Self::V {
        let c = Self::fma(Self::splat(a[2]), b[2], c);
        let c = Self::fma(Self::splat(a[1]), b[1], c);
        Self::fma(Self::splat(a[0]), b[0], c)
    }

    /// Euclidean length per lane.
    #[inline(always)]
    fn norm(v: [Self::V; 3]) -> Self::V {
        Self::sqrt(Self::fma(v[0], v[0], Self::fma(v[1], v[1], Self::mul(v[2], v[2]))))
    }
}

pub(crate) struct Portable;

#[inline(always)]
fn each(f: impl Fn(usize) -> f64) -> Lane {
    [f(0), f(1), f(2), f(3)]
}

impl Simd for Portable {
    type V = Lane;
    #[inline(always)]
    fn splat(x: f64) -> Lane {
        [x; LANES]
    }
    #[inline(always)]
    fn load(x: &Lane) -> Lane {
        *x
    }
    #[inline(always)]
    fn to_array(v: Lane) -> Lane {
        v
    }
    #[inline(always)]
    fn fma(a: Lane, b: Lane, c: Lane) -> Lane {
        each(|l| a[l] * b[l] + c[l])
    }
    #[inline(always)]
    fn add(a: Lane, b: Lane) -> Lane {
        each(|l| a[l] + b[l])
    }
    #[inline(always)]
    fn sub(a: Lane, b: Lane) -> Lane {
        each(|l| a[l] - b[l])
    }
    #[inline(always)]
    fn mul(a: Lane, b: Lane) -> Lane {
        each(|l| a[l] * b[l])
    }
    #[inline(always)]
    fn div(a: Lane, b: Lane) -> Lane {
        each(|l| a[l] / b[l])
    }
    #[inline(always)]
    fn max(a: Lane, b: Lane) -> Lane {
        each(|l| if a[l] > b[l] { a[l] } else { b[l] })
    }
    #[inline(always)]
    fn min(a: Lane, b: Lane) -> Lane {
        each(|l| if a[l] < b[l] { a[l] } else { b[l] })
    }
    #[inline(always)]
    fn abs(a: Lane) -> Lane {
        each(|l| a[l].abs())
    }
    #[inline(always)]
    fn sqrt(a: Lane) -> Lane {
        each(|l| a[l].sqrt())
    }
    #[inline(always)]
    fn above(a: Lane, b: Lane) -> u32 {
        (0..LANES).fold(0, |bits, l| bits | u32::from(a[l] > b[l]) << l)
    }
    #[inline(always)]
    fn where_above(a: Lane, b: Lane, x: Lane) -> Lane {
        each(|l| if a[l] > b[l] { x[l] } else { 0.0 })
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2 {
    use super::{LANES, Lane, Simd};
    use std::arch::x86_64::{
        __m256d, _CMP_GT_OQ, _mm256_add_pd, _mm256_and_pd, _mm256_andnot_pd, _mm256_cmp_pd,
        _mm256_div_pd, _mm256_fmadd_pd, _mm256_loadu_pd, _mm256_max_pd, _mm256_min_pd,
        _mm256_movemask_pd, _mm256_mul_pd, _mm256_set1_pd, _mm256_sqrt_pd, _mm256_storeu_pd,
        _mm256_sub_pd,
    };

    /// Instructions of AVX2 and FMA.
    ///
    /// Only used from the AVX2 version of a search, which is called only after
    /// [`super::Isa::detect`] found both instruction sets. This makes every `unsafe` below sound.
    pub(crate) struct Avx2;

    impl Simd for Avx2 {
        type V = __m256d;
        #[inline(always)]
        fn splat(x: f64) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe { _mm256_set1_pd(x) }
        }
        #[inline(always)]
        fn load(x: &Lane) -> __m256d {
            // SAFETY: see `Avx2`; the array has four numbers, and an unaligned load is used
            unsafe { _mm256_loadu_pd(x.as_ptr()) }
        }
        #[inline(always)]
        fn to_array(v: __m256d) -> Lane {
            let mut out = [0.0; LANES];
            // SAFETY: see `Avx2`; the array has four numbers, and an unaligned store is used
            unsafe { _mm256_storeu_pd(out.as_mut_ptr(), v) };
            out
        }
        #[inline(always)]
        fn fma(a: __m256d, b: __m256d, c: __m256d) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe { _mm256_fmadd_pd(a, b, c) }
        }
        #[inline(always)]
        fn add(a: __m256d, b: __m256d) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe { _mm256_add_pd(a, b) }
        }
        #[inline(always)]
        fn sub(a: __m256d, b: __m256d) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe { _mm256_sub_pd(a, b) }
        }
        #[inline(always)]
        fn mul(a: __m256d, b: __m256d) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe { _mm256_mul_pd(a, b) }
        }
        #[inline(always)]
        fn div(a: __m256d, b: __m256d) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe { _mm256_div_pd(a, b) }
        }
        #[inline(always)]
        fn max(a: __m256d, b: __m256d) -> __m256d {
            // SAFETY: see `Avx2`; this instruction returns its second operand if either is NaN
            unsafe { _mm256_max_pd(a, b) }
        }
        #[inline(always)]
        fn min(a: __m256d, b: __m256d) -> __m256d {
            // SAFETY: see `Avx2`; this instruction returns its second operand if either is NaN
            unsafe { _mm256_min_pd(a, b) }
        }
        #[inline(always)]
        fn abs(a: __m256d) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe { _mm256_andnot_pd(_mm256_set1_pd(-0.0), a) }
        }
        #[inline(always)]
        fn sqrt(a: __m256d) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe { _mm256_sqrt_pd(a) }
        }
        #[inline(always)]
        fn above(a: __m256d, b: __m256d) -> u32 {
            // SAFETY: see `Avx2`
            unsafe { _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(a, b)) as u32 }
        }
        #[inline(always)]
        fn where_above(a: __m256d, b: __m256d, x: __m256d) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe { _mm256_and_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(a, b), x) }
        }
    }
}
