//! Whether a choice of points is one of a hair: what else might be chosen after the smallest motion.

#![allow(clippy::inline_always)] // see `simd`

use super::search::{Found, Goal};
use super::simd::Simd;
use super::spread::Patch;

/// Motion of points against the surface that should change no choice, in m.
pub(crate) const TIE: f64 = 1e-8;
/// Rivals of one point that are kept.
const MOST: usize = 8;

/// Points whose gain, at best, is above a bar: those chosen before have none.
pub(crate) struct Rivals<'a> {
    /// As it would be for points that are nearer and farther out by [`TIE`].
    pub patch: &'a Patch,
    /// Whether the field is flat.
    pub flat: bool,
    pub limit: f64,
    pub bar: f64,
    pub found: &'a mut Vec<u32>,
}

impl Goal for Rivals<'_> {
    #[inline(always)]
    fn limit(&self) -> f64 {
        self.limit
    }

    #[inline(always)]
    fn floor(&self) -> f64 {
        if self.found.len() < MOST { self.bar } else { f64::INFINITY }
    }

    #[inline(always)]
    fn bound<S: Simd>(&self, phi: S::V, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        if self.flat {
            self.patch.bound::<S>(phi, None, centre, half)
        } else {
            // how high surfaces are above the contact plane is known of points alone
            S::splat(f64::MAX)
        }
    }

    #[inline(always)]
    fn gain<S: Simd>(&self, phi: S::V, p: [S::V; 3]) -> S::V {
        let delta = S::sub(phi, S::splat(self.patch.deepest));
        let [a, b, height] = self.patch.coordinates::<S>(p);
        let (lift, weight) = (S::sub(height, delta), self.patch.weights::<S>(delta));
        self.patch.gain::<S>(self.flat, a, b, lift, weight)
    }

    #[inline(always)]
    fn take(&mut self, _: f64, found: Found) {
        if !self.found.contains(&found.slot) {
            self.found.push(found.slot);
        }
    }
}

/// Points nearer than a limit, and at most so many.
pub(crate) struct Within<'a> {
    pub limit: f64,
    pub most: usize,
    pub found: &'a mut Vec<Found>,
}

impl Goal for Within<'_> {
    #[inline(always)]
    fn limit(&self) -> f64 {
        self.limit
    }

    #[inline(always)]
    fn floor(&self) -> f64 {
        if self.found.len() < self.most { f64::NEG_INFINITY } else { f64::INFINITY }
    }

    #[inline(always)]
    fn bound<S: Simd>(&self, phi: S::V, _: [S::V; 3], _: [S::V; 3]) -> S::V {
        S::sub(S::splat(0.0), phi)
    }

    #[inline(always)]
    fn gain<S: Simd>(&self, phi: S::V, _: [S::V; 3]) -> S::V {
        S::sub(S::splat(0.0), phi)
    }

    #[inline(always)]
    fn take(&mut self, _: f64, found: Found) {
        self.found.push(found);
    }
}
