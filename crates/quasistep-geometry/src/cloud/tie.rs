//! Tie detection: would a tiny motion change the selected points?

#![allow(clippy::inline_always)] // see `quasistep_linalg::simd`

use super::search::{Found, Goal};
use super::spread::Patch;
use quasistep_linalg::simd::Simd;

/// Motion of points relative to the surface that must not change the selection, in m.
pub(crate) const TIE: f64 = 1e-8;
/// Most near ties kept per selected point.
const MOST: usize = 8;

/// Goal: points whose largest possible gain exceeds `bar`. Points already selected have no gain.
pub(crate) struct Rivals<'a> {
    /// The patch with gains as if points were deeper and farther out by [`TIE`].
    pub patch: &'a Patch,
    /// True if the field is a plane.
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
            // no bound: the height of the surface is known at points only
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

/// Goal: points nearer than `limit` (m), at most `most` of them.
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
