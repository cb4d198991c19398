//! Ranges and ticks of axes.

use super::figure::{Axis, Scale};

/// An axis mapped to a range of pixels.
pub(super) struct Laid {
    pub scale: Scale,
    /// Range of values, low < high; both > 0 on a logarithmic axis.
    pub range: [f64; 2],
    /// Pixel coordinates of both ends.
    pub pixels: [f64; 2],
}

/// A tick: its value and text; the text is empty for minor ticks.
pub(super) struct Tick {
    pub at: f64,
    pub text: String,
}

impl Laid {
    /// Pixel coordinate of a value; `None` if it is not finite on this axis.
    pub fn pixel(&self, v: f64) -> Option<f64> {
        let (v, [low, high]) = match self.scale {
            Scale::Linear => (v, self.range),
            Scale::Log => (v.log10(), self.range.map(f64::log10)),
        };
        // log10 of 0 is −inf, of a negative number NaN
        if !v.is_finite() {
            return None;
        }
        let u = (v - low) / (high - low);
        Some(self.pixels[0] + u * (self.pixels[1] - self.pixels[0]))
    }

    /// About `target` ticks with text, and minor ticks between them.
    pub fn ticks(&self, target: f64) -> Vec<Tick> {
        match self.scale {
            Scale::Linear => linear_ticks(self.range, target),
            Scale::Log => log_ticks(self.range, target),
        }
    }
}

/// Range of an axis from its values, with some room at both ends, unless the axis gives a range.
pub(super) fn range(axis: &Axis, values: impl Iterator<Item = f64>, room: f64) -> [f64; 2] {
    let usable = |v: f64| v.is_finite() && (axis.scale == Scale::Linear || v > 0.0);
    if let Some([low, high]) = axis.range
        && usable(low)
        && usable(high)
        && low < high
    {
        return [low, high];
    }
    let (low, high) = values
        .filter(|v| usable(*v))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    match axis.scale {
        _ if low > high => {
            if axis.scale == Scale::Log {
                [0.1, 10.0]
            } else {
                [0.0, 1.0]
            }
        }
        Scale::Linear => {
            // for a constant use a wide range, which does not magnify rounding noise
            let size = low.abs().max(high.abs());
            let spread = high - low;
            if spread <= 1e-9 * size || spread == 0.0 {
                let half = if size > 0.0 { 0.5 * size } else { 1.0 };
                return [low - half, high + half];
            }
            [low - room * spread, high + room * spread]
        }
        Scale::Log => {
            let (l, h) = (low.log10(), high.log10());
            let spread = if h > l { (h - l) * room } else { 0.5 };
            [10_f64.powf(l - spread), 10_f64.powf(h + spread)]
        }
    }
}

/// The number 1, 2 or 5 times a power of ten that divides `spread` into about `target` steps.
pub(crate) fn nice_step(spread: f64, target: f64) -> f64 {
    let raw = spread / target.max(1.0);
    let power = 10_f64.powf(raw.log10().floor());
    let digit = raw / power;
    let nice = if digit <= 1.0 {
        1.0
    } else if digit <= 2.0 {
        2.0
    } else if digit <= 5.0 {
        5.0
    } else {
        10.0
    };
    nice * power
}

fn linear_ticks([low, high]: [f64; 2], target: f64) -> Vec<Tick> {
    let mut step = nice_step(high - low, target);
    let ends = |step: f64| [(low / step - 1e-9).ceil(), (high / step + 1e-9).floor()];
    let [mut first, mut last] = ends(step);
    // reduce the step until there are two ticks; the loop also ends for NaN and an empty range. The
    // factor is 0.39 because 0.4 · 5 equals 2 only up to rounding
    while high > low && last - first < 1.0 {
        step = nice_step(0.39 * step, 1.0);
        [first, last] = ends(step);
    }
    let count = (last - first).max(0.0) as usize;
    let largest = low.abs().max(high.abs());
    (0..=count.min(50))
        .map(|i| {
            let at = (first + i as f64) * step;
            Tick { at, text: tick_text(at, step, largest) }
        })
        .collect()
}

/// Text of a tick with as many decimals as the step needs; in scientific notation if very large or
/// small.
fn tick_text(v: f64, step: f64, largest: f64) -> String {
    if v.abs() < 1e-9 * step {
        return "0".to_owned();
    }
    let minus = |s: String| s.replace('-', "\u{2212}");
    if (1e-3..1e5).contains(&largest) {
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        return minus(format!("{v:.decimals$}"));
    }
    let power = largest.log10().floor();
    let decimals = (power - step.log10().floor()).max(0.0) as usize;
    let digits = v / 10_f64.powf(power);
    minus(format!("{digits:.decimals$}\u{b7}10{}", superscript(power as i32)))
}

fn log_ticks([low, high]: [f64; 2], target: f64) -> Vec<Tick> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let decades = high.log10() - low.log10();
    // for few decades, 2 and 5 have text too; for many, only every second or third power
    let stride = (decades / target.max(1.0)).ceil().max(1.0) as i32;
    let mut ticks = Vec::new();
    for power in first..=last {
        for digit in 1..10 {
            let at = f64::from(digit) * 10_f64.powi(power);
            if at < low * (1.0 - 1e-9) || at > high * (1.0 + 1e-9) {
                continue;
            }
            let text = if digit == 1 && power.rem_euclid(stride) == 0 {
                format!("10{}", superscript(power))
            } else if decades < 1.6 && (digit == 2 || digit == 5) {
                format!("{digit}\u{b7}10{}", superscript(power))
            } else {
                String::new()
            };
            ticks.push(Tick { at, text });
        }
    }
    ticks
}

fn superscript(power: i32) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    power.to_string().chars().map(|c| c.to_digit(10).map_or('⁻', |d| digits[d as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|t| t.text.as_str()).filter(|t| !t.is_empty()).collect()
    }

    #[test]
    fn linear_ticks_are_round_numbers() {
        assert_eq!(
            texts(&linear_ticks([0.0, 1.0], 5.0)),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"].map(|t| if t == "0.0" { "0" } else { t })
        );
        assert_eq!(texts(&linear_ticks([-13.0, 29.0], 5.0)), ["\u{2212}10", "0", "10", "20"]);
        // a single tick would not show the scale
        assert_eq!(
            texts(&linear_ticks([-0.041, 0.032], 1.9)),
            ["\u{2212}0.04", "\u{2212}0.02", "0", "0.02"]
        );
        assert_eq!(
            texts(&linear_ticks([0.0, 3e-6], 3.0)),
            ["0", "1\u{b7}10⁻⁶", "2\u{b7}10⁻⁶", "3\u{b7}10⁻⁶"]
        );
    }

    #[test]
    fn log_ticks_name_the_decades() {
        assert_eq!(texts(&log_ticks([1e-3, 1.0], 6.0)), ["10⁻³", "10⁻²", "10⁻¹", "10⁰"]);
        assert_eq!(
            texts(&log_ticks([0.1, 1.0], 6.0)),
            ["10⁻¹", "2\u{b7}10⁻¹", "5\u{b7}10⁻¹", "10⁰"]
        );
    }

    #[test]
    fn ranges_hold_their_data() {
        let axis = Axis::linear("");
        assert_eq!(range(&axis, [3.0, 3.0].into_iter(), 0.05), [1.5, 4.5]);
        assert_eq!(range(&axis, [0.0].into_iter(), 0.05), [-1.0, 1.0]);
        assert_eq!(range(&axis, [f64::NAN].into_iter(), 0.05), [0.0, 1.0]);
        let [low, high] = range(&Axis::log(""), [1e-4, 1e2, -5.0, 0.0].into_iter(), 0.05);
        assert!(low < 1e-4 && low > 1e-5 && high > 1e2 && high < 1e3);
        assert_eq!(range(&axis.range(2.0, 5.0), [9.0].into_iter(), 0.05), [2.0, 5.0]);
    }
}
