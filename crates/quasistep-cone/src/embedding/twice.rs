//! Double-double arithmetic: an unevaluated sum of two `f64`, about 32 decimal digits.
//!
//! Sums and products use Knuth's and Dekker's error-free transformations. A fused multiply-add
//! gives the error of a product as exactly, so the bits are the same on every machine.

// the whole module is inner loop
#![allow(clippy::inline_always)]

use quasistep_linalg::simd::{Portable, Simd};
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// The number `hi + lo`, with `|lo|` at most half a unit in the last place of `hi`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Twice {
    hi: f64,
    lo: f64,
}

pub(super) const ZERO: Twice = Twice { hi: 0.0, lo: 0.0 };
pub(super) const ONE: Twice = Twice { hi: 1.0, lo: 0.0 };

/// `a + b` and its rounding error.
#[inline(always)]
fn sum(a: f64, b: f64) -> Twice {
    let hi = a + b;
    let part = hi - a;
    Twice { hi, lo: (a - (hi - part)) + (b - part) }
}

/// `a + b` and its rounding error, where `|a| ≥ |b|`.
#[inline(always)]
fn quick_sum(a: f64, b: f64) -> Twice {
    let hi = a + b;
    Twice { hi, lo: b - (hi - a) }
}

/// Splits the significand into an upper and a lower half.
#[inline(always)]
fn split(a: f64) -> [f64; 2] {
    let t = 134_217_729.0 * a;
    let upper = t - (t - a);
    [upper, a - upper]
}

#[inline(always)]
fn product(a: f64, b: f64) -> Twice {
    let hi = a * b;
    let ([a1, a0], [b1, b0]) = (split(a), split(b));
    Twice { hi, lo: ((a1 * b1 - hi) + a1 * b0 + a0 * b1) + a0 * b0 }
}

impl Twice {
    /// Product. All instruction sets give the same bits.
    #[inline(always)]
    pub fn times<S: Simd>(self, b: Self) -> Self {
        let p = if S::FUSED {
            let hi = self.hi * b.hi;
            Self { hi, lo: S::fma1(self.hi, b.hi, -hi) }
        } else {
            product(self.hi, b.hi)
        };
        quick_sum(p.hi, p.lo + (self.hi * b.lo + self.lo * b.hi))
    }

    #[inline(always)]
    pub fn new(a: f64) -> Self {
        Self { hi: a, lo: 0.0 }
    }

    /// The nearest `f64`.
    #[inline(always)]
    pub fn round(self) -> f64 {
        self.hi
    }

    #[cfg(test)]
    pub fn abs(self) -> Self {
        if self.hi < 0.0 { -self } else { self }
    }

    /// Product with a power of two, which is exact.
    #[inline(always)]
    pub fn scaled(self, power: f64) -> Self {
        Self { hi: self.hi * power, lo: self.lo * power }
    }

    /// Square root; zero of negative numbers.
    pub fn sqrt(self) -> Self {
        if !(self.hi > 0.0) {
            return ZERO;
        }
        // one Newton step doubles the number of digits
        let root = Self::new(self.hi.sqrt());
        root + (self - root * root).scaled(0.5) / root
    }
}

impl Add for Twice {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        let s = sum(self.hi, b.hi);
        let t = sum(self.lo, b.lo);
        let s = quick_sum(s.hi, s.lo + t.hi);
        quick_sum(s.hi, s.lo + t.lo)
    }
}

impl Neg for Twice {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self { hi: -self.hi, lo: -self.lo }
    }
}

impl Sub for Twice {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        self + -b
    }
}

impl Mul for Twice {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        self.times::<Portable>(b)
    }
}

impl Div for Twice {
    type Output = Self;
    #[inline(always)]
    fn div(self, b: Self) -> Self {
        let q1 = self.hi / b.hi;
        let rest = self - b * Self::new(q1);
        let q2 = rest.hi / b.hi;
        let rest = rest - b * Self::new(q2);
        quick_sum(q1, q2) + Self::new(rest.hi / b.hi)
    }
}

impl AddAssign for Twice {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl SubAssign for Twice {
    #[inline(always)]
    fn sub_assign(&mut self, b: Self) {
        *self = *self - b;
    }
}

impl PartialOrd for Twice {
    #[inline(always)]
    fn partial_cmp(&self, b: &Self) -> Option<std::cmp::Ordering> {
        (*self - *b).hi.partial_cmp(&0.0)
    }
}

/// `Σ a_k b_k`.
#[inline(always)]
pub(super) fn dot(a: &[Twice], b: &[Twice]) -> Twice {
    dot_with::<Portable>(a, b)
}

/// [`dot`] within a kernel.
#[inline(always)]
pub(super) fn dot_with<S: Simd>(a: &[Twice], b: &[Twice]) -> Twice {
    a.iter().zip(b).fold(ZERO, |sum, (a, b)| sum + a.times::<S>(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rounding error of a sum or a product is in the lower part: 1 + 2^-80 has two parts, and
    /// its square minus 1 is 2^-79 + 2^-160.
    #[test]
    fn small_parts_survive() {
        let tiny = Twice::new(2.0_f64.powi(-80));
        let a = ONE + tiny;
        assert_eq!((a - ONE).round(), tiny.round());
        assert_eq!((a * a - ONE).round(), 2.0_f64.powi(-79));
    }

    /// Quotients and square roots have relative errors of about 2^-104.
    #[test]
    fn quotients_and_roots_have_twice_the_digits() {
        for k in 1..200 {
            let a = Twice::new(f64::from(k)) / Twice::new(7.0);
            let back = a * Twice::new(7.0) - Twice::new(f64::from(k));
            assert!(back.round().abs() <= f64::from(k) * 2.0_f64.powi(-100), "{k} / 7");
            let root = a.sqrt();
            let back = root * root - a;
            assert!(back.round().abs() <= a.round() * 2.0_f64.powi(-100), "root of {k} / 7");
        }
    }
}
