//! Four lanes of `f64`: a portable version, and one for AVX2 with FMA.
//!
//! Every kernel has two versions: portable code, and x86-64 code with AVX2 and FMA. The choice is
//! made at run time, so that a build for baseline x86-64 is fast too. The versions differ in
//! rounding only. On one machine, equal inputs give equal bits.
//!
//! Written explicitly, because compilers turn sums across lanes into scalar code.

// parts of a kernel must be inlined into it, because only the kernel is compiled with its
// instruction set
#![allow(clippy::inline_always)]

use std::sync::OnceLock;

/// Number of lanes. Rows in memory are padded to multiples of it.
pub const LANES: usize = 4;

/// `n` rounded up to a multiple of [`LANES`].
#[inline]
pub fn padded(n: usize) -> usize {
    n.next_multiple_of(LANES)
}

/// Four numbers.
pub type Lane = [f64; LANES];

/// Instruction set that a kernel may use. Only [`Isa::detect`] makes one with vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa {
    avx2: bool,
}

impl Default for Isa {
    fn default() -> Self {
        Self::detect()
    }
}

impl Isa {
    /// Portable code, which every machine runs.
    pub const PORTABLE: Self = Self { avx2: false };

    /// The best instruction set that this machine supports.
    #[inline]
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        let avx2 = std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("fma");
        #[cfg(not(target_arch = "x86_64"))]
        let avx2 = false;
        Self { avx2: avx2 && !portable_only() }
    }

    /// Whether the machine has AVX2 and FMA, and a kernel may use them.
    #[inline]
    pub fn is_avx2(self) -> bool {
        self.avx2
    }
}

/// Whether `QUASISTEP_SIMD=portable` disables vector instructions; read once. With it tests on
/// x86-64 run the portable code.
fn portable_only() -> bool {
    static ONLY: OnceLock<bool> = OnceLock::new();
    *ONLY.get_or_init(|| std::env::var_os("QUASISTEP_SIMD").is_some_and(|v| v == "portable"))
}

/// Vector operations of one instruction set.
pub trait Simd {
    /// A vector of four numbers.
    type V: Copy;
    /// Whether code specialised for common sizes is compiled.
    const FAST: bool;
    /// Whether [`fma1`](Self::fma1) rounds once.
    const FUSED: bool;
    /// `x` in every lane.
    fn splat(x: f64) -> Self::V;
    /// Reads four numbers.
    fn load(x: &Lane) -> Self::V;
    /// Writes four numbers.
    fn store(v: Self::V, to: &mut Lane);
    /// `a b + c`.
    fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// Sum.
    fn add(a: Self::V, b: Self::V) -> Self::V;
    /// Difference.
    fn sub(a: Self::V, b: Self::V) -> Self::V;
    /// Product.
    fn mul(a: Self::V, b: Self::V) -> Self::V;
    /// Square root.
    fn sqrt(a: Self::V) -> Self::V;
    /// Quotient.
    fn div(a: Self::V, b: Self::V) -> Self::V;
    /// The larger number in each lane; `b` if either is NaN.
    fn max(a: Self::V, b: Self::V) -> Self::V;
    /// The smaller number in each lane; `b` if either is NaN.
    fn min(a: Self::V, b: Self::V) -> Self::V;
    /// `b` where `a > 0`, else 0.
    fn where_positive(a: Self::V, b: Self::V) -> Self::V;
    /// `a` where `by > 0`, else `b`.
    fn select(by: Self::V, a: Self::V, b: Self::V) -> Self::V;
    /// `x` where `a > b`, else 0.
    fn where_above(a: Self::V, b: Self::V, x: Self::V) -> Self::V;
    /// Bit `i` is set if `a > b` in lane `i`; not set if either is NaN.
    fn above(a: Self::V, b: Self::V) -> u32;
    /// Magnitude of every lane.
    fn abs(a: Self::V) -> Self::V;
    /// The largest lane, broadcast to every lane. The lanes must not be NaN.
    fn largest(a: Self::V) -> Self::V;
    /// Bit `i` is set if lane `i` is positive.
    fn positive_bits(a: Self::V) -> u32;
    /// Lane `i` of the result is the sum of the lanes of `v[i]`.
    fn sums(v: [Self::V; LANES]) -> Self::V;
    /// Lane `j` of vector `i` of the result is lane `i` of `v[j]`.
    fn transpose(v: [Self::V; LANES]) -> [Self::V; LANES];
    /// Broadcasts lane `I` to every lane.
    fn lane<const I: i32>(v: Self::V) -> Self::V;
    /// The first lane.
    #[inline(always)]
    fn first(v: Self::V) -> f64 {
        Self::to_array(v)[0]
    }
    /// `a b + c` of scalars. A bare `mul_add` would call a library function where the instruction
    /// is missing.
    fn fma1(a: f64, b: f64, c: f64) -> f64;

    /// Zero in every lane.
    fn zero() -> Self::V;

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

    /// The four lanes.
    #[inline(always)]
    fn to_array(v: Self::V) -> Lane {
        let mut out = [0.0; LANES];
        Self::store(v, &mut out);
        out
    }

    /// The sum of the lanes.
    #[inline(always)]
    fn sum(v: Self::V) -> f64 {
        let a = Self::to_array(v);
        (a[0] + a[2]) + (a[1] + a[3])
    }
}

/// Vectors of portable code.
#[derive(Debug)]
pub struct Portable;

#[inline(always)]
fn each(f: impl Fn(usize) -> f64) -> Lane {
    [f(0), f(1), f(2), f(3)]
}

impl Simd for Portable {
    type V = Lane;
    const FAST: bool = false;
    const FUSED: bool = false;
    #[inline(always)]
    fn zero() -> Lane {
        [0.0; LANES]
    }
    #[inline(always)]
    fn splat(x: f64) -> Lane {
        [x; LANES]
    }
    #[inline(always)]
    fn load(x: &Lane) -> Lane {
        *x
    }
    #[inline(always)]
    fn store(v: Lane, to: &mut Lane) {
        *to = v;
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
    fn sqrt(a: Lane) -> Lane {
        each(|l| a[l].sqrt())
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
    fn where_above(a: Lane, b: Lane, x: Lane) -> Lane {
        each(|l| if a[l] > b[l] { x[l] } else { 0.0 })
    }
    #[inline(always)]
    fn above(a: Lane, b: Lane) -> u32 {
        (0..LANES).fold(0, |bits, l| bits | u32::from(a[l] > b[l]) << l)
    }
    #[inline(always)]
    fn where_positive(a: Lane, b: Lane) -> Lane {
        each(|l| if a[l] > 0.0 { b[l] } else { 0.0 })
    }
    #[inline(always)]
    fn select(by: Lane, a: Lane, b: Lane) -> Lane {
        each(|l| if by[l] > 0.0 { a[l] } else { b[l] })
    }
    #[inline(always)]
    fn abs(a: Lane) -> Lane {
        each(|l| a[l].abs())
    }
    #[inline(always)]
    fn largest(a: Lane) -> Lane {
        [a[0].max(a[1]).max(a[2].max(a[3])); LANES]
    }
    #[inline(always)]
    fn positive_bits(a: Lane) -> u32 {
        a.iter().rev().fold(0, |bits, v| 2 * bits + u32::from(*v > 0.0))
    }
    #[inline(always)]
    fn sums(v: [Lane; LANES]) -> Lane {
        each(|i| (v[i][0] + v[i][1]) + (v[i][2] + v[i][3]))
    }
    #[inline(always)]
    fn transpose(v: [Lane; LANES]) -> [Lane; LANES] {
        [0, 1, 2, 3].map(|i| each(|j| v[j][i]))
    }
    #[inline(always)]
    fn lane<const I: i32>(v: Lane) -> Lane {
        [v[I as usize]; LANES]
    }
    #[inline(always)]
    fn fma1(a: f64, b: f64, c: f64) -> f64 {
        a * b + c
    }
}

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2 {
    use super::{LANES, Lane, Simd};
    use std::arch::x86_64::{
        __m256d, _CMP_GT_OQ, _mm256_add_pd, _mm256_and_pd, _mm256_andnot_pd, _mm256_blendv_pd,
        _mm256_cmp_pd, _mm256_div_pd, _mm256_fmadd_pd, _mm256_hadd_pd, _mm256_loadu_pd,
        _mm256_max_pd, _mm256_min_pd, _mm256_movemask_pd, _mm256_mul_pd, _mm256_permute_pd,
        _mm256_permute2f128_pd, _mm256_permute4x64_pd, _mm256_set1_pd, _mm256_setzero_pd,
        _mm256_sqrt_pd, _mm256_storeu_pd, _mm256_sub_pd, _mm256_unpackhi_pd, _mm256_unpacklo_pd,
    };

    /// AVX2 vectors, public for the macro [`kernel`](crate::kernel) alone. They are used only in
    /// the AVX2 version of a kernel, which runs only after [`super::Isa::detect`] found AVX2 and FMA. This makes every `unsafe` block below sound.
    pub struct Avx2;

    impl Simd for Avx2 {
        type V = __m256d;
        const FAST: bool = true;
        const FUSED: bool = true;
        #[inline(always)]
        fn zero() -> __m256d {
            // SAFETY: see `Avx2`
            unsafe { _mm256_setzero_pd() }
        }
        #[inline(always)]
        fn splat(x: f64) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe { _mm256_set1_pd(x) }
        }
        #[inline(always)]
        fn load(x: &Lane) -> __m256d {
            // SAFETY: see `Avx2`; `x` has four numbers, and no alignment is required
            unsafe { _mm256_loadu_pd(x.as_ptr()) }
        }
        #[inline(always)]
        fn store(v: __m256d, to: &mut Lane) {
            // SAFETY: see `Avx2`; `to` has four numbers, and no alignment is required
            unsafe { _mm256_storeu_pd(to.as_mut_ptr(), v) }
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
        fn sqrt(a: __m256d) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe { _mm256_sqrt_pd(a) }
        }
        #[inline(always)]
        fn div(a: __m256d, b: __m256d) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe { _mm256_div_pd(a, b) }
        }
        #[inline(always)]
        fn max(a: __m256d, b: __m256d) -> __m256d {
            // SAFETY: see `Avx2`; the instruction returns its second operand if one is NaN
            unsafe { _mm256_max_pd(a, b) }
        }
        #[inline(always)]
        fn min(a: __m256d, b: __m256d) -> __m256d {
            // SAFETY: see `Avx2`; the instruction returns its second operand if one is NaN
            unsafe { _mm256_min_pd(a, b) }
        }
        #[inline(always)]
        fn where_above(a: __m256d, b: __m256d, x: __m256d) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe { _mm256_and_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(a, b), x) }
        }
        #[inline(always)]
        fn above(a: __m256d, b: __m256d) -> u32 {
            // SAFETY: see `Avx2`
            unsafe { _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(a, b)).cast_unsigned() }
        }
        #[inline(always)]
        fn where_positive(a: __m256d, b: __m256d) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe { _mm256_and_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(a, _mm256_setzero_pd()), b) }
        }
        #[inline(always)]
        fn select(by: __m256d, a: __m256d, b: __m256d) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe {
                let above = _mm256_cmp_pd::<_CMP_GT_OQ>(by, _mm256_setzero_pd());
                _mm256_blendv_pd(b, a, above)
            }
        }
        #[inline(always)]
        fn abs(a: __m256d) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe { _mm256_andnot_pd(_mm256_set1_pd(-0.0), a) }
        }
        #[inline(always)]
        fn largest(a: __m256d) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe {
                let a = _mm256_max_pd(a, _mm256_permute2f128_pd::<0x01>(a, a));
                _mm256_max_pd(a, _mm256_permute_pd::<0b0101>(a))
            }
        }
        #[inline(always)]
        fn positive_bits(a: __m256d) -> u32 {
            // SAFETY: see `Avx2`
            unsafe {
                _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(a, _mm256_setzero_pd()))
                    .cast_unsigned()
            }
        }
        #[inline(always)]
        fn sums(v: [__m256d; LANES]) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe {
                let (a, b) = (_mm256_hadd_pd(v[0], v[1]), _mm256_hadd_pd(v[2], v[3]));
                _mm256_add_pd(
                    _mm256_permute2f128_pd::<0x20>(a, b),
                    _mm256_permute2f128_pd::<0x31>(a, b),
                )
            }
        }
        #[inline(always)]
        fn transpose(v: [__m256d; LANES]) -> [__m256d; LANES] {
            // SAFETY: see `Avx2`
            unsafe {
                let (a, b) = (_mm256_unpacklo_pd(v[0], v[1]), _mm256_unpackhi_pd(v[0], v[1]));
                let (c, d) = (_mm256_unpacklo_pd(v[2], v[3]), _mm256_unpackhi_pd(v[2], v[3]));
                [
                    _mm256_permute2f128_pd::<0x20>(a, c),
                    _mm256_permute2f128_pd::<0x20>(b, d),
                    _mm256_permute2f128_pd::<0x31>(a, c),
                    _mm256_permute2f128_pd::<0x31>(b, d),
                ]
            }
        }
        #[inline(always)]
        fn lane<const I: i32>(v: __m256d) -> __m256d {
            // SAFETY: see `Avx2`
            unsafe {
                match I {
                    0 => _mm256_permute4x64_pd::<0x00>(v),
                    1 => _mm256_permute4x64_pd::<0x55>(v),
                    2 => _mm256_permute4x64_pd::<0xaa>(v),
                    _ => _mm256_permute4x64_pd::<0xff>(v),
                }
            }
        }
        #[inline(always)]
        fn fma1(a: f64, b: f64, c: f64) -> f64 {
            a.mul_add(b, c)
        }
    }
}

/// Defines the two versions of a kernel and the dispatch between them.
///
/// The body is generic over `S: Simd`. The function gets an [`Isa`] as its first argument. What the
/// body calls must be `#[inline(always)]`, because only the kernel is compiled with its
/// instruction set.
#[macro_export]
macro_rules! kernel {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$doc])*
        pub fn $name(isa: $crate::simd::Isa, $($arg: $type),*) $(-> $ret)? {
            #[inline(always)]
            fn body<S: $crate::simd::Simd>($($arg: $type),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $type),*) $(-> $ret)? {
                    body::<$crate::simd::Avx2>($($arg),*)
                }
                if isa.is_avx2() {
                    // SAFETY: only `detect` makes such an `Isa`, on a machine with AVX2 and FMA
                    #[allow(unsafe_code)]
                    return unsafe { avx2($($arg),*) };
                }
            }
            let _ = isa;
            body::<$crate::simd::Portable>($($arg),*)
        }
    };
}
pub use kernel;

/// The whole lanes of a slice.
#[inline(always)]
pub fn lanes(x: &[f64]) -> &[Lane] {
    x.as_chunks::<LANES>().0
}

/// The whole lanes of a slice.
#[inline(always)]
pub fn lanes_mut(x: &mut [f64]) -> &mut [Lane] {
    x.as_chunks_mut::<LANES>().0
}

/// `y += s a`; lengths are multiples of [`LANES`].
#[inline(always)]
pub fn axpy<S: Simd>(s: f64, a: &[f64], y: &mut [f64]) {
    let s = S::splat(s);
    for (y, a) in lanes_mut(y).iter_mut().zip(lanes(a)) {
        S::store(S::fma(s, S::load(a), S::load(y)), y);
    }
}

/// `acc + a ∘ b`, accumulated over the lanes of two vectors.
#[inline(always)]
pub fn multiply<S: Simd>(a: &[f64], b: &[f64], mut acc: S::V) -> S::V {
    for (a, b) in lanes(a).iter().zip(lanes(b)) {
        acc = S::fma(S::load(a), S::load(b), acc);
    }
    acc
}

/// `N` vectors of `x`, `stride` lanes apart. (A closure would not be compiled with the kernel's
/// instructions.)
#[inline(always)]
pub(crate) fn load<S: Simd, const N: usize>(x: &[f64], stride: usize) -> [S::V; N] {
    let x = lanes(x);
    let mut out = [S::zero(); N];
    for n in 0..N {
        out[n] = S::load(&x[n * stride]);
    }
    out
}

/// Calls a function with the size of a panel as a constant where it is common: up to nine
/// variables.
#[macro_export]
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
pub use by_dim;
