//! Queries on recordings, used by plots and pages.

use crate::{Frame, RecordedSensor, Recording};
use quasistep_math::Vec3;
use std::ops::Range;

impl Recording {
    /// A copy of this recording with every n-th frame and the last one.
    pub fn thinned(&self, n: usize) -> Self {
        let frames = self.every(n).map(|k| self.frames[k].clone()).collect();
        Self { frames, ..self.without_frames() }
    }

    /// Indices of every n-th frame, and of the last one.
    pub fn every(&self, n: usize) -> impl Iterator<Item = usize> + Clone {
        let count = self.frames.len();
        (0..count).filter(move |k| k % n.max(1) == 0 || k + 1 == count)
    }

    /// Index of a coordinate by its name.
    pub fn coordinate(&self, name: &str) -> Option<usize> {
        self.coordinates.iter().position(|c| c == name)
    }

    /// Index of a commanded coordinate by its name, into [`Frame::q_cmd`] and [`Frame::effort`].
    pub fn command(&self, name: &str) -> Option<usize> {
        self.commands.iter().position(|c| c == name)
    }

    /// Number of readings of all sensors in a frame.
    pub fn n_readings(&self) -> usize {
        self.sensors.iter().fold(0, |n, sensor| n.saturating_add(sensor.len()))
    }

    /// A sensor by its name, and the range of its readings in [`Frame::sensors`].
    pub fn sensor(&self, name: &str) -> Option<(&RecordedSensor, Range<usize>)> {
        let index = self.sensors.iter().position(|sensor| sensor.name == name)?;
        let start = self.sensors[..index].iter().map(RecordedSensor::len).sum();
        let sensor = &self.sensors[index];
        Some((sensor, start..start + sensor.len()))
    }

    /// Index of a body by its name.
    pub fn body(&self, name: &str) -> Option<usize> {
        self.bodies.iter().position(|b| b == name)
    }

    /// Pairs of bodies that ever had a contact, smaller index first, in ascending order.
    pub fn contact_pairs(&self) -> Vec<(usize, usize)> {
        let contacts = self.frames.iter().flat_map(|f| &f.contacts);
        let mut pairs: Vec<_> = contacts.map(|c| (c.a.min(c.b), c.a.max(c.b))).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// Configuration of every frame, with the sign of quaternions continued as in `states.csv`.
    pub fn continuous_q(&self) -> Vec<Vec<f64>> {
        let starts = quaternion_starts(&self.coordinates);
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(self.frames.len());
        for frame in &self.frames {
            let mut q = frame.q.clone();
            if let Some(previous) = rows.last() {
                continue_quaternions(&starts, previous, &mut q);
            }
            rows.push(q);
        }
        rows
    }
}

impl Frame {
    /// Sum of the contact forces of body `a` on body `b` in this frame, in N, in W. The result does
    /// not depend on which of the two a contact lists as A.
    pub fn contact_force(&self, a: usize, b: usize) -> Vec3 {
        self.contacts.iter().fold(Vec3::ZERO, |sum, c| {
            if (c.a, c.b) == (a, b) {
                sum + c.force_W
            } else if (c.a, c.b) == (b, a) {
                sum - c.force_W
            } else {
                sum
            }
        })
    }
}

/// Indices of the first column of each quaternion in a state row: columns named
/// `x.qw x.qx x.qy x.qz`.
pub fn quaternion_starts(coordinates: &[String]) -> Vec<usize> {
    let parts = [".qw", ".qx", ".qy", ".qz"];
    (0..coordinates.len())
        .filter(|&i| {
            let Some(joint) = coordinates[i].strip_suffix(".qw") else { return false };
            parts.iter().enumerate().all(|(k, part)| {
                coordinates.get(i + k).is_some_and(|c| c.strip_suffix(part) == Some(joint))
            })
        })
        .collect()
}

/// Replaces a quaternion q by −q, which is the same rotation, if that is nearer to the previous
/// row.
///
/// `starts` comes from [`quaternion_starts`]; both rows have one entry per coordinate.
pub fn continue_quaternions(starts: &[usize], previous: &[f64], row: &mut [f64]) {
    for &i in starts {
        let dot: f64 = (i..i + 4).map(|k| previous[k] * row[k]).sum();
        if dot < 0.0 {
            for v in &mut row[i..i + 4] {
                *v = -*v;
            }
        }
    }
}
