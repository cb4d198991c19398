//! Benchmarks of quasistep on its shipped scenes and on recorded problems: `cargo bench -p benches`,
//! `step_time`, the CPU time of stepping one scene, `solve_recorded`, recorded problems for programs in
//! other languages, and `hard_problems`, the long test of the solver.

pub mod clouds;
pub mod friction_methods;
pub mod friction_suite;
pub mod recorded;

/// CPU time that this thread has used, in ns.
#[cfg(unix)]
pub fn thread_cpu_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Wall time since the first call, in ns, where CPU time is not available.
#[cfg(not(unix))]
pub fn thread_cpu_ns() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Power law `y = factor x^exponent`, fitted to points by linear least squares of their logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerLaw {
    /// Exponent, the slope in a log-log plot.
    pub exponent: f64,
    /// Value at `x = 1`.
    pub factor: f64,
}

impl PowerLaw {
    /// Fits points `(x, y)`. Points with a coordinate ≤ 0 are ignored. `None` for fewer than two
    /// different `x`.
    pub fn fit(points: &[[f64; 2]]) -> Option<Self> {
        let logs: Vec<[f64; 2]> = points
            .iter()
            .filter(|p| p.iter().all(|c| *c > 0.0 && c.is_finite()))
            .map(|p| p.map(f64::ln))
            .collect();
        let n = logs.len() as f64;
        let mean = |k: usize| logs.iter().map(|p| p[k]).sum::<f64>() / n;
        let (x, y) = (mean(0), mean(1));
        let spread: f64 = logs.iter().map(|p| (p[0] - x).powi(2)).sum();
        // all sizes are equal, up to the rounding of the logarithm
        if !(spread > 1e-20) {
            return None;
        }
        let together: f64 = logs.iter().map(|p| (p[0] - x) * (p[1] - y)).sum();
        let exponent = together / spread;
        Some(Self { exponent, factor: (y - exponent * x).exp() })
    }

    /// Value at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.factor * x.powf(self.exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::PowerLaw;

    #[test]
    fn a_power_law_is_its_own_fit() {
        let points: Vec<[f64; 2]> =
            [60.0, 300.0, 6000.0].map(|x: f64| [x, 3.0 * x.powf(1.25)]).into();
        let law = PowerLaw::fit(&points).unwrap();
        assert!((law.exponent - 1.25).abs() < 1e-13 && (law.factor - 3.0).abs() < 1e-11, "{law:?}");
        assert!((law.at(10.0) - 3.0 * 10_f64.powf(1.25)).abs() < 1e-10);
        assert_eq!(PowerLaw::fit(&[[2.0, 1.0]]), None);
        assert_eq!(PowerLaw::fit(&[[2.0, 1.0], [2.0, 3.0], [3.0, 0.0]]), None);
    }
}
