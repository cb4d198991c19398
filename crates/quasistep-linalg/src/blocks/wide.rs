//! Vectors of one or two lanes, for matrix products.

use crate::simd::{LANES, Simd};
use std::marker::PhantomData;

/// A number of lanes that are processed together.
pub trait Vector {
    /// The registers.
    type V: Copy;
    /// Number of lanes.
    const N: usize;
    /// Zero in every place.
    fn zero() -> Self::V;
    /// `x` in every place.
    fn splat(x: f64) -> Self::V;
    /// Loads the first numbers of `x`.
    fn load(x: &[f64]) -> Self::V;
    /// Writes to the first numbers of `to`.
    fn store(v: Self::V, to: &mut [f64]);
    /// `a b + c`.
    fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// Product, place by place.
    fn mul(a: Self::V, b: Self::V) -> Self::V;
    /// Sum, place by place.
    fn add(a: Self::V, b: Self::V) -> Self::V;
}

/// One lane.
pub struct One<S>(PhantomData<S>);
/// Two lanes, each in its own register.
pub struct Two<S>(PhantomData<S>);

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
