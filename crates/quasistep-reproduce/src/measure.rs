//! Error measures of a run against a recorded trajectory.

use crate::reference::Table;
use quasistep_math::Pose;
use quasistep_record::Recording;

/// Pose of one body over time: quaternion (w, x, y, z), then position in m.
#[derive(Clone, Debug)]
pub struct Trajectory {
    /// Times in s, ascending.
    pub t: Vec<f64>,
    /// `[qw, qx, qy, qz, x, y, z]` at each time.
    pub q7: Vec<[f64; 7]>,
}

impl Trajectory {
    /// The pose of `body` in a recording; `None` if there is no such body.
    pub fn of_body(recording: &Recording, body: &str) -> Option<Self> {
        let index = recording.bodies.iter().position(|b| b == body)?;
        let t = recording.frames.iter().map(|f| f.t).collect();
        let q7 = recording.frames.iter().map(|f| q7(&f.X_WB[index])).collect();
        Some(Self { t, q7 })
    }

    /// Reads a trajectory from a table with columns `t, qw, …, z`.
    pub fn of_table(table: &Table) -> Self {
        let columns = ["qw", "qx", "qy", "qz", "x", "y", "z"].map(|name| table.column(name));
        let q7 = (0..table.len()).map(|k| std::array::from_fn(|i| columns[i][k])).collect();
        Self { t: table.column("t"), q7 }
    }

    /// Pose at time `t`, by linear interpolation; constant beyond both ends. Quaternions rotate
    /// little within a step, so the error of the chord is of the order of half the angle squared.
    pub fn at(&self, t: f64) -> [f64; 7] {
        let next = self.t.partition_point(|&s| s < t);
        if next == 0 {
            return self.q7[0];
        }
        if next == self.t.len() {
            return self.q7[next - 1];
        }
        let (t0, t1) = (self.t[next - 1], self.t[next]);
        let s = (t - t0) / (t1 - t0);
        let a = self.q7[next - 1];
        let b = same_sign(self.q7[next], &a);
        std::array::from_fn(|i| a[i] + s * (b[i] - a[i]))
    }

    /// Rotation angle of sample `k` relative to the world frame, in rad.
    pub fn angle(&self, k: usize) -> f64 {
        let q = self.q7[k];
        2.0 * (q[1] * q[1] + q[2] * q[2] + q[3] * q[3]).sqrt().atan2(q[0].abs())
    }
}

/// Integral error `∫ ‖q(t) − q_GT(t)‖ dt` over the ground truth's duration, Pang21 (13). The norm
/// includes quaternion and position. The trapezoidal rule uses the ground truth's times.
pub fn integral_error(ours: &Trajectory, truth: &Trajectory) -> f64 {
    let error = |k: usize| {
        let want = truth.q7[k];
        let got = same_sign(ours.at(truth.t[k]), &want);
        (0..7).map(|i| (got[i] - want[i]).powi(2)).sum::<f64>().sqrt()
    };
    (1..truth.t.len())
        .map(|k| 0.5 * (error(k - 1) + error(k)) * (truth.t[k] - truth.t[k - 1]))
        .sum()
}

/// Distance between the last positions, in m.
pub fn final_distance(ours: &Trajectory, truth: &Trajectory) -> f64 {
    match (ours.q7.last(), truth.q7.last()) {
        (Some(a), Some(b)) => (4..7).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt(),
        _ => f64::NAN,
    }
}

fn q7(X: &Pose) -> [f64; 7] {
    let [w, x, y, z] = X.rotation.to_array();
    let p = X.translation;
    [w, x, y, z, p.x, p.y, p.z]
}

/// Returns q or −q, the same rotation, whichever is nearer to `reference`.
fn same_sign(mut q: [f64; 7], reference: &[f64; 7]) -> [f64; 7] {
    if (0..4).map(|i| q[i] * reference[i]).sum::<f64>() < 0.0 {
        for c in &mut q[..4] {
            *c = -*c;
        }
    }
    q
}

#[cfg(test)]
mod tests {
    use super::{Trajectory, integral_error};

    #[test]
    fn a_constant_offset_integrates_to_offset_times_time() {
        let line = |offset: f64, n: usize| Trajectory {
            t: (0..=n).map(|k| 2.0 * k as f64 / n as f64).collect(),
            q7: (0..=n).map(|_| [1.0, 0.0, 0.0, 0.0, offset, 0.0, 0.0]).collect(),
        };
        let error = integral_error(&line(0.3, 4), &line(0.0, 200));
        assert!((error - 0.6).abs() < 1e-12, "{error}");
    }

    #[test]
    fn opposite_quaternions_are_the_same_rotation() {
        let still = |w: f64| Trajectory {
            t: vec![0.0, 1.0],
            q7: vec![[w, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]; 2],
        };
        assert_eq!(integral_error(&still(-1.0), &still(1.0)), 0.0);
    }
}
