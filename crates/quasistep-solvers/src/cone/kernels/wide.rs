//! Vectors of one or two lanes, for the products of matrices: two are one register where the machine has
//! AVX-512.

use super::Simd;
use crate::cone::program::LANES;
use std::marker::PhantomData;

/// Numbers that go through one operation.
pub(super) trait Vector {
    type V: Copy;
    /// How many lanes.
    const N: usize;
    /// Whether twelve sums of this size fit beside what they are made of.
    const ROOMY: bool;
    fn zero() -> Self::V;
    fn splat(x: f64) -> Self::V;
    /// The first numbers of `x`.
    fn load(x: &[f64]) -> Self::V;
    fn store(v: Self::V, to: &mut [f64]);
    /// `a b + c`.
    fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    fn mul(a: Self::V, b: Self::V) -> Self::V;
    fn add(a: Self::V, b: Self::V) -> Self::V;
}

/// One lane.
pub(super) struct One<S>(PhantomData<S>);
/// Two lanes, each a register of its own.
pub(super) struct Two<S>(PhantomData<S>);

#[inline(always)]
fn lane(x: &[f64], at: usize) -> &[f64; LANES] {
    &x.as_chunks::<LANES>().0[at]
}

#[inline(always)]
fn lane_mut(x: &mut [f64], at: usize) -> &mut [f64; LANES] {
    &mut x.as_chunks_mut::<LANES>().0[at]
}

impl<S: Simd> Vector for One<S> {
    type V = S::V;
    const N: usize = 1;
    const ROOMY: bool = false;
    #[inline(always)]
    fn zero() -> S::V {
        S::zero()
    }
    #[inline(always)]
    fn splat(x: f64) -> S::V {
        S::splat(x)
    }
    #[inline(always)]
    fn load(x: &[f64]) -> S::V {
        S::load(lane(x, 0))
    }
    #[inline(always)]
    fn store(v: S::V, to: &mut [f64]) {
        S::store(v, lane_mut(to, 0));
    }
    #[inline(always)]
    fn fma(a: S::V, b: S::V, c: S::V) -> S::V {
        S::fma(a, b, c)
    }
    #[inline(always)]
    fn mul(a: S::V, b: S::V) -> S::V {
        S::mul(a, b)
    }
    #[inline(always)]
    fn add(a: S::V, b: S::V) -> S::V {
        S::add(a, b)
    }
}

impl<S: Simd> Vector for Two<S> {
    type V = [S::V; 2];
    const N: usize = 2;
    const ROOMY: bool = false;
    #[inline(always)]
    fn zero() -> [S::V; 2] {
        [S::zero(); 2]
    }
    #[inline(always)]
    fn splat(x: f64) -> [S::V; 2] {
        [S::splat(x); 2]
    }
    #[inline(always)]
    fn load(x: &[f64]) -> [S::V; 2] {
        let x = &x[..2 * LANES];
        [S::load(lane(x, 0)), S::load(lane(x, 1))]
    }
    #[inline(always)]
    fn store(v: [S::V; 2], to: &mut [f64]) {
        let to = &mut to[..2 * LANES];
        S::store(v[0], lane_mut(to, 0));
        S::store(v[1], lane_mut(to, 1));
    }
    #[inline(always)]
    fn fma(a: [S::V; 2], b: [S::V; 2], c: [S::V; 2]) -> [S::V; 2] {
        [S::fma(a[0], b[0], c[0]), S::fma(a[1], b[1], c[1])]
    }
    #[inline(always)]
    fn mul(a: [S::V; 2], b: [S::V; 2]) -> [S::V; 2] {
        [S::mul(a[0], b[0]), S::mul(a[1], b[1])]
    }
    #[inline(always)]
    fn add(a: [S::V; 2], b: [S::V; 2]) -> [S::V; 2] {
        [S::add(a[0], b[0]), S::add(a[1], b[1])]
    }
}

/// Like `kernel!`, with a second type `W` for two lanes and a version for AVX-512, which has the bits of that
/// for AVX2: sums run in the same order.
macro_rules! wide_kernel {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$doc])*
        #[allow(clippy::too_many_arguments)] // plain data, and no state to hide it in
        pub(crate) fn $name(isa: $crate::cone::kernels::Isa, $($arg: $type),*) $(-> $ret)? {
            #[allow(clippy::too_many_arguments)]
            #[inline(always)]
            fn body<S: $crate::cone::kernels::Simd, W: $crate::cone::kernels::wide::Vector>(
                $($arg: $type),*
            ) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                use $crate::cone::kernels::{Avx2, Isa, wide::{Eight, Two}};
                #[allow(clippy::too_many_arguments)]
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $type),*) $(-> $ret)? {
                    body::<Avx2, Two<Avx2>>($($arg),*)
                }
                #[allow(clippy::too_many_arguments)]
                #[target_feature(enable = "avx2,fma,avx512f")]
                fn avx512($($arg: $type),*) $(-> $ret)? {
                    body::<Avx2, Eight>($($arg),*)
                }
                if isa == Isa::Avx512 {
                    // SAFETY: `Isa::Avx512` is only made by `detect`, on a machine that has all three
                    #[allow(unsafe_code)]
                    return unsafe { avx512($($arg),*) };
                }
                if isa == Isa::Avx2 {
                    // SAFETY: `Isa::Avx2` is only made by `detect`, on a machine that has both
                    #[allow(unsafe_code)]
                    return unsafe { avx2($($arg),*) };
                }
            }
            let _ = isa;
            body::<$crate::cone::kernels::Portable, $crate::cone::kernels::wide::Two<
                $crate::cone::kernels::Portable,
            >>($($arg),*)
        }
    };
}
pub(super) use wide_kernel;

#[cfg(target_arch = "x86_64")]
pub(super) use avx512::Eight;

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx512 {
    use super::{LANES, Vector};
    use std::arch::x86_64::{
        __m512d, _mm512_add_pd, _mm512_fmadd_pd, _mm512_loadu_pd, _mm512_mul_pd, _mm512_set1_pd,
        _mm512_setzero_pd, _mm512_storeu_pd,
    };

    /// Two lanes in one register. Only reached from a kernel's AVX-512 version, which is only called after
    /// `Isa::detect` found it: that is what makes every `unsafe` below sound.
    pub(in crate::cone::kernels) struct Eight;

    impl Vector for Eight {
        type V = __m512d;
        const N: usize = 2;
        const ROOMY: bool = true;
        #[inline(always)]
        fn zero() -> __m512d {
            // SAFETY: see `Eight`
            unsafe { _mm512_setzero_pd() }
        }
        #[inline(always)]
        fn splat(x: f64) -> __m512d {
            // SAFETY: see `Eight`
            unsafe { _mm512_set1_pd(x) }
        }
        #[inline(always)]
        fn load(x: &[f64]) -> __m512d {
            let x = &x[..2 * LANES];
            // SAFETY: see `Eight`; eight numbers are there, and no alignment is asked for
            unsafe { _mm512_loadu_pd(x.as_ptr()) }
        }
        #[inline(always)]
        fn store(v: __m512d, to: &mut [f64]) {
            let to = &mut to[..2 * LANES];
            // SAFETY: see `Eight`; eight numbers are there, and no alignment is asked for
            unsafe { _mm512_storeu_pd(to.as_mut_ptr(), v) }
        }
        #[inline(always)]
        fn fma(a: __m512d, b: __m512d, c: __m512d) -> __m512d {
            // SAFETY: see `Eight`
            unsafe { _mm512_fmadd_pd(a, b, c) }
        }
        #[inline(always)]
        fn mul(a: __m512d, b: __m512d) -> __m512d {
            // SAFETY: see `Eight`
            unsafe { _mm512_mul_pd(a, b) }
        }
        #[inline(always)]
        fn add(a: __m512d, b: __m512d) -> __m512d {
            // SAFETY: see `Eight`
            unsafe { _mm512_add_pd(a, b) }
        }
    }
}
