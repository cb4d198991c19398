//! Sizes of steps that a tolerance chooses: those that are valid, and the next one after an error.

use crate::error::ParamError;

/// Share of the size that the error permits. The next error is estimated from the last one.
const SAFETY: f64 = 0.9;
/// Largest factor from one size to the next. A small error may be a coincidence.
const GROWTH: f64 = 4.0;
/// Sizes and times that differ by less than this share of a size are equal.
pub(crate) const SAME: f64 = 1e-9;
/// A rest of time shorter than this share of two steps is not left to steps of its own.
const SLIVER: f64 = 0.1;

/// Choice of step sizes by a tolerance, for
/// [`System::step_by_tolerance`](crate::System::step_by_tolerance).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// Largest displacement of any point of a body between one step and two steps of half its size,
    /// in m, > 0: at their end, and a quarter of that in the middle.
    pub tolerance: f64,
    /// Smallest size of a step, in s, > 0. Motion that still changes by more than the tolerance is
    /// accepted at this size, and marked.
    pub min: f64,
    /// Largest size of a step, in s, ≥ `min`. Sizes are this one divided by powers of two.
    pub max: f64,
}

impl Sizes {
    /// Default of `max`, in s: a command moves by some centimetres in this time.
    pub const MAX: f64 = 0.4;
    /// Default of `max / min`: from 0.4 s to 0.1 ms, in which a body that falls over at 1 m/s moves
    /// by the default tolerance of 0.1 mm.
    pub const RATIO: f64 = 4096.0;

    pub(crate) fn check(&self) -> Result<(), ParamError> {
        let Self { tolerance, min, max } = *self;
        let fail =
            |name, seen: f64, rule: String| Err(ParamError { name, seen: format!("{seen}"), rule });
        if !(tolerance > 0.0 && tolerance < f64::INFINITY) {
            return fail("sizes.tolerance", tolerance, "> 0 m".into());
        }
        if !(max > 0.0 && max < f64::INFINITY) {
            return fail("sizes.max", max, "> 0 s".into());
        }
        if !(min > 0.0 && min <= max) {
            return fail("sizes.min", min, format!("> 0 s and at most sizes.max ({max} s)"));
        }
        Ok(())
    }

    /// Largest `max / 2^k` that is at most `size`; the smallest that is at least `min` if `size` is
    /// smaller.
    pub(crate) fn at_most(&self, size: f64) -> f64 {
        let mut own = self.max;
        while own > (1.0 + SAME) * size && 0.5 * own >= (1.0 - SAME) * self.min {
            own *= 0.5;
        }
        own
    }

    /// Size of steps that begin `left` seconds before a time at which one has to end.
    pub(crate) fn fit(plan: f64, left: f64) -> f64 {
        let two = 2.0 * plan;
        if (left - two).abs() <= SAME * two {
            plan
        } else if left < two {
            0.5 * left
        } else if left - two < SLIVER * two {
            0.25 * left
        } else {
            plan
        }
    }

    /// Size after steps of `size` were rejected with this error, in m.
    pub(crate) fn less(&self, size: f64, error: f64) -> f64 {
        let half = 0.5 * size;
        // nothing is known of the order if a step has no answer
        let wish = SAFETY * size * (self.tolerance / error).sqrt();
        self.at_most(if error.is_finite() { half.min(wish) } else { half })
    }

    /// The next size, after steps of `size` with this error (m). `plan` is the size that they would
    /// have had without a time at which they had to end.
    pub(crate) fn next(&self, size: f64, plan: f64, error: f64) -> f64 {
        let wish = SAFETY * size * (self.tolerance / error).sqrt();
        self.at_most(wish.min((GROWTH * size).max(plan)))
    }
}

/// How the size of a step was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeChoice {
    /// Largest displacement of a point of a body between two steps and one step of twice the size,
    /// in m; see [`Sizes::tolerance`]. Infinite if that one has no answer.
    pub error: f64,
    /// Number of sizes that were tried before and rejected.
    pub rejected: u32,
    /// False if the error exceeds the tolerance at the smallest size.
    pub resolved: bool,
}

#[cfg(test)]
mod tests {
    use super::Sizes;

    const SIZES: Sizes = Sizes { tolerance: 1e-4, min: 1e-4, max: 0.4 };

    #[test]
    fn sizes_are_the_largest_halved() {
        assert_eq!(SIZES.at_most(7.0), 0.4);
        assert_eq!(SIZES.at_most(0.4), 0.4);
        assert_eq!(SIZES.at_most(0.39), 0.2);
        assert_eq!(SIZES.at_most(0.05 * (1.0 - 1e-12)), 0.05);
        let smallest = SIZES.at_most(0.0);
        assert!((1e-4..2e-4).contains(&smallest) && (0.4 / smallest).log2().fract() == 0.0);
    }

    /// Errors of second order: a quarter of the error permits twice the size, less the safety.
    #[test]
    fn the_next_size_follows_the_error() {
        assert_eq!(SIZES.next(0.05, 0.05, 1e-4), 0.025);
        assert_eq!(SIZES.next(0.05, 0.05, 0.8e-4), 0.05);
        assert_eq!(SIZES.next(0.05, 0.05, 1e-5), 0.1);
        assert_eq!(SIZES.next(0.05, 0.05, 0.0), 0.2);
        // steps that had to end early do not shorten those after them
        assert_eq!(SIZES.next(0.001, 0.4, 0.0), 0.4);
        assert_eq!(SIZES.less(0.05, 1.1e-4), 0.025);
        assert_eq!(SIZES.less(0.05, 100e-4), 0.003125);
        assert_eq!(SIZES.less(0.05, f64::INFINITY), 0.025);
    }

    #[test]
    fn no_sliver_is_left_before_a_time() {
        assert_eq!(Sizes::fit(0.1, 10.0), 0.1);
        assert_eq!(Sizes::fit(0.1, 0.2 + 1e-13), 0.1);
        assert_eq!(Sizes::fit(0.1, 0.2 + 1e-6), 0.05 + 0.25e-6);
        assert_eq!(Sizes::fit(0.1, 0.15), 0.075);
        assert_eq!(Sizes::fit(0.1, 0.3), 0.1);
    }
}
