//! A coordinate as a function of time.

use crate::expr::Expr;

/// A function of time. It is constant before its first and after its last knot.
#[derive(Clone, Debug)]
pub(crate) enum Curve {
    Constant(f64),
    Linear(Knots),
    /// Consecutive splines, each with zero rate at both ends.
    Cubic(Vec<Spline>),
    Expr(Expr),
    /// 0 and 1, beginning with `on`; the other after each of the times, in s. At a time itself the value is
    /// that before.
    Switched {
        on: bool,
        times: Vec<f64>,
    },
}

/// Commands of switches above this are on.
const ON: f64 = 0.5;

/// Times within this share of their size are one time.
const SAME: f64 = 1e-9;

/// Share of a curve's largest rate by which its rate jumps at a kink.
const CORNER: f64 = 0.25;

/// Knots: strictly ascending times, in s, and values.
#[derive(Clone, Debug)]
pub(crate) struct Knots {
    t: Vec<f64>,
    x: Vec<f64>,
}

/// A cubic spline with continuous second derivative and zero slope at both ends.
#[derive(Clone, Debug)]
pub(crate) struct Spline {
    knots: Knots,
    /// Slope at each knot.
    slope: Vec<f64>,
}

impl Knots {
    /// Checks and stores knots.
    ///
    /// # Errors
    ///
    /// A message that says what is wrong with the knots.
    pub fn new(t: Vec<f64>, x: Vec<f64>) -> Result<Self, String> {
        if t.is_empty() {
            return Err("no knots were seen; give at least one".into());
        }
        if t.len() != x.len() {
            return Err(format!(
                "{} times and {} values were seen; give as many of each",
                t.len(),
                x.len()
            ));
        }
        if let Some(k) = (1..t.len()).find(|&k| t[k] <= t[k - 1]) {
            return Err(format!("time {} follows {}; times must ascend", t[k], t[k - 1]));
        }
        Ok(Self { t, x })
    }

    /// Index of the left knot of the interval that contains `t`.
    fn piece(&self, t: f64) -> usize {
        self.t.partition_point(|&s| s <= t).clamp(1, self.t.len() - 1) - 1
    }

    fn at(&self, t: f64) -> (f64, f64) {
        let last = self.t.len() - 1;
        if t <= self.t[0] {
            return (self.x[0], 0.0);
        }
        if t >= self.t[last] {
            // at the last knot use the rate of the last interval: commands are evaluated there
            let rate = if t == self.t[last] && last > 0 { self.rate(last - 1) } else { 0.0 };
            return (self.x[last], rate);
        }
        let k = self.piece(t);
        // at a knot, up to rounding, this gives the knot's value
        let s = (t - self.t[k]) / (self.t[k + 1] - self.t[k]);
        (self.x[k] + s * (self.x[k + 1] - self.x[k]), self.rate(k))
    }

    /// Adds the times at which the rate jumps: by more than [`CORNER`] of the largest rate, and such
    /// that the knot is farther than `least` from the line between its neighbours. Knots along a
    /// smooth curve are not kinks.
    fn kinks(&self, least: f64, out: &mut Vec<f64>) {
        let n = self.t.len();
        let rates: Vec<f64> = (0..n.saturating_sub(1)).map(|k| self.rate(k)).collect();
        let most = rates.iter().fold(0.0_f64, |most, rate| most.max(rate.abs()));
        for k in 0..n {
            // the value is constant before the first and after the last knot
            let before = k
                .checked_sub(1)
                .map_or((0.0, 0.0), |i| (rates[i], (self.t[k] - self.t[i]).recip()));
            let after = rates
                .get(k)
                .map_or((0.0, 0.0), |&rate| (rate, (self.t[k + 1] - self.t[k]).recip()));
            let jump = (after.0 - before.0).abs();
            if jump > CORNER * most && jump > least * (before.1 + after.1) {
                out.push(self.t[k]);
            }
        }
    }

    /// Whether the value begins above `level`, and the times at which it crosses it.
    fn crossings(&self, level: f64) -> (bool, Vec<f64>) {
        let is_above = |k: usize| self.x[k] > level;
        let crosses = |k: &usize| is_above(*k) != is_above(k - 1);
        let at = |k: usize| self.t[k - 1] + (level - self.x[k - 1]) / self.rate(k - 1);
        (is_above(0), (1..self.t.len()).filter(crosses).map(at).collect())
    }

    fn rate(&self, k: usize) -> f64 {
        (self.x[k + 1] - self.x[k]) / (self.t[k + 1] - self.t[k])
    }
}

impl Spline {
    /// The spline through these knots.
    pub fn new(knots: Knots) -> Self {
        let n = knots.t.len();
        let mut slope = vec![0.0; n];
        if n > 2 {
            // solve for slopes such that the second derivative is continuous at inner knots (Thomas
            // algorithm)
            let h: Vec<f64> = (1..n).map(|k| knots.t[k] - knots.t[k - 1]).collect();
            let secant: Vec<f64> = (0..n - 1).map(|k| knots.rate(k)).collect();
            let mut upper = vec![0.0; n];
            for k in 1..n - 1 {
                let (a, c) = (h[k], h[k - 1]);
                let right = 3.0 * (a * secant[k - 1] + c * secant[k]);
                let pivot = 2.0 * (a + c) - a * upper[k - 1];
                upper[k] = c / pivot;
                slope[k] = (right - a * slope[k - 1]) / pivot;
            }
            for k in (1..n - 1).rev() {
                slope[k] -= upper[k] * slope[k + 1];
            }
        }
        Self { knots, slope }
    }

    fn end(&self) -> f64 {
        self.knots.t[self.knots.t.len() - 1]
    }

    fn at(&self, t: f64) -> (f64, f64) {
        let (time, x) = (&self.knots.t, &self.knots.x);
        let last = time.len() - 1;
        if t <= time[0] {
            return (x[0], 0.0);
        }
        if t >= time[last] {
            return (x[last], 0.0);
        }
        let k = self.knots.piece(t);
        let h = time[k + 1] - time[k];
        let s = (t - time[k]) / h;
        let (m0, m1) = (self.slope[k] * h, self.slope[k + 1] * h);
        // cubic Hermite form
        let d = x[k + 1] - x[k];
        let value = x[k] + s * (m0 + s * (3.0 * d - 2.0 * m0 - m1 + s * (m0 + m1 - 2.0 * d)));
        let rate = m0 + s * (2.0 * (3.0 * d - 2.0 * m0 - m1) + s * 3.0 * (m0 + m1 - 2.0 * d));
        (value, rate / h)
    }
}

/// Times at which a run evaluates its curves: the ends of its steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub h: f64,
    pub n: usize,
}

impl Grid {
    /// Largest number of times that are checked in a long run.
    const MOST: usize = 100_000;

    /// Ends of steps in ascending order; evenly thinned for very long runs.
    pub fn times(self) -> impl Iterator<Item = f64> {
        let stride = self.n.div_ceil(Self::MOST).max(1);
        (1..=self.n).step_by(stride).map(move |k| k as f64 * self.h)
    }
}

impl Curve {
    /// The command of a switch that a curve tells.
    pub fn of_switch(self) -> Self {
        match self {
            Self::Linear(knots) => {
                let (on, times) = knots.crossings(ON);
                Self::Switched { on, times }
            }
            other => other,
        }
    }

    /// True for the command of a switch that is on just after `t`, in s.
    pub fn is_on_after(&self, t: f64) -> bool {
        self.at(t + 2.0 * SAME * t.abs().max(1.0)).0 > ON
    }

    /// Joins splines, each of which must start where the previous one ends.
    ///
    /// # Errors
    ///
    /// A message that says what is wrong with the segments.
    pub fn cubic(splines: Vec<Spline>) -> Result<Self, String> {
        if splines.is_empty() {
            return Err("no segments were seen; give at least one".into());
        }
        for (k, pair) in splines.windows(2).enumerate() {
            let (end, start) = (pair[0].end(), pair[1].knots.t[0]);
            // tolerance for rounding of printed times
            if (end - start).abs() > 1e-9 {
                return Err(format!(
                    "segment {} ends at {end} s and segment {} starts at {start} s; each must start where the one before it ends",
                    k + 1,
                    k + 2
                ));
            }
        }
        Ok(Self::Cubic(splines))
    }

    /// Adds times (s) at which the curve or its rate jumps, or at which it begins or ends to move.
    /// Kinks of expressions are those in `span`, those of knots are at least `least` high.
    pub fn kinks(&self, span: (f64, f64), least: f64, out: &mut Vec<f64>) {
        match self {
            Self::Constant(_) => {}
            Self::Linear(knots) => knots.kinks(least, out),
            Self::Cubic(splines) => {
                out.extend(splines.iter().flat_map(|s| [s.knots.t[0], s.end()]));
            }
            Self::Expr(expr) => expr.kinks(span, out),
            Self::Switched { times, .. } => out.extend(times),
        }
    }

    /// Largest absolute value at its knots, or at the ends of all steps for an expression.
    pub fn largest(&self, grid: &Grid) -> f64 {
        let most = |values: &[f64]| values.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        match self {
            Self::Constant(x) => x.abs(),
            Self::Switched { .. } => 1.0,
            Self::Linear(knots) => most(&knots.x),
            Self::Cubic(splines) => splines.iter().map(|s| most(&s.knots.x)).fold(0.0, f64::max),
            Self::Expr(expr) => grid.times().map(|t| expr.at(t).0.abs()).fold(0.0, f64::max),
        }
    }

    /// Value and rate at `t`.
    pub fn at(&self, t: f64) -> (f64, f64) {
        match self {
            Self::Constant(x) => (*x, 0.0),
            Self::Linear(knots) => knots.at(t),
            Self::Cubic(splines) => {
                // where two segments meet, use the later one
                let k = splines.partition_point(|s| s.end() <= t).min(splines.len() - 1);
                splines[k].at(t)
            }
            Self::Expr(expr) => expr.at(t),
            Self::Switched { on, times } => {
                let is_past = |time: &&f64| t > **time + SAME * time.abs().max(1.0);
                let turned = times.iter().take_while(is_past).count() % 2 == 1;
                (f64::from(u8::from(*on != turned)), 0.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Curve, Knots, Spline};

    #[test]
    fn linear_knots_hold_at_both_ends() {
        let curve = Curve::Linear(Knots::new(vec![1.0, 2.0, 4.0], vec![0.0, 1.0, 0.0]).unwrap());
        assert_eq!(curve.at(0.0), (0.0, 0.0));
        assert_eq!(curve.at(1.5), (0.5, 1.0));
        assert_eq!(curve.at(3.0), (0.5, -0.5));
        assert_eq!(curve.at(9.0), (0.0, 0.0));
    }

    /// The spline through points of a cubic with zero slope at both ends is that cubic.
    #[test]
    fn spline_reproduces_a_clamped_cubic() {
        let f = |t: f64| t * t * (3.0 - 2.0 * t);
        let t: Vec<f64> = vec![0.0, 0.15, 0.4, 0.8, 1.0];
        let x = t.iter().map(|t| f(*t)).collect();
        let curve = Curve::cubic(vec![Spline::new(Knots::new(t, x).unwrap())]).unwrap();
        for k in 0..=50 {
            let t = f64::from(k) / 50.0;
            let (value, rate) = curve.at(t);
            assert!((value - f(t)).abs() < 1e-14);
            assert!((rate - 6.0 * t * (1.0 - t)).abs() < 1e-13);
        }
    }

    /// Corners of a ramp are kinks; samples of a smooth curve, and what is too small to see, are not.
    #[test]
    fn corners_are_kinks_and_samples_are_not() {
        let kinks = |t: &[f64], x: &[f64], least| {
            let mut out = Vec::new();
            let knots = Knots::new(t.to_vec(), x.to_vec()).unwrap();
            Curve::Linear(knots).kinks((0.0, 9.0), least, &mut out);
            out
        };
        let ramp = ([0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 0.1, 0.1]);
        assert_eq!(kinks(&ramp.0, &ramp.1, 1e-5), [1.0, 2.0]);
        assert!(kinks(&ramp.0, &ramp.1, 0.2).is_empty());
        let t: Vec<f64> = (0..=100).map(|k| 0.01 * f64::from(k)).collect();
        let x: Vec<f64> = t.iter().map(|t| 0.1 * (2.0 * std::f64::consts::PI * t).sin()).collect();
        // it begins and ends with a jump of its rate
        assert_eq!(kinks(&t, &x, 1e-5), [0.0, 1.0]);
        assert!(kinks(&[2.0], &[1.0], 0.0).is_empty());
    }

    /// A switch keeps its value up to a time and at it, also where steps end there up to rounding.
    #[test]
    fn a_switch_turns_after_its_times() {
        let curve = Curve::Switched { on: false, times: vec![0.3, 1.0] };
        let at = |t: f64| curve.at(t).0;
        assert_eq!([0.0, 0.3, 0.1 + 0.2, 0.31, 1.0, 1.01].map(at), [0.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
        let ramp = Knots::new(vec![1.0, 2.0, 4.0], vec![0.0, 1.0, 0.0]).unwrap();
        let told = Curve::Linear(ramp).of_switch();
        assert_eq!([1.5, 1.6, 3.0, 3.1].map(|t| told.at(t).0), [0.0, 1.0, 1.0, 0.0]);
        assert!(!told.is_on_after(0.0) && told.is_on_after(1.5));
    }

    #[test]
    fn bad_knots_are_named() {
        assert!(Knots::new(vec![0.0, 1.0, 1.0], vec![0.0; 3]).unwrap_err().contains("ascend"));
        assert!(Knots::new(vec![0.0], vec![0.0; 2]).unwrap_err().contains("1 times and 2 values"));
        assert!(Knots::new(vec![], vec![]).unwrap_err().contains("no knots"));
        let piece = |a, b| Spline::new(Knots::new(vec![a, b], vec![0.0; 2]).unwrap());
        assert!(Curve::cubic(vec![]).unwrap_err().contains("no segments"));
        let gap = Curve::cubic(vec![piece(0.0, 1.0), piece(1.5, 2.0)]).unwrap_err();
        assert!(gap.contains("ends at 1 s") && gap.contains("starts at 1.5 s"), "{gap}");
    }
}
