//! Small questions that plots and pages ask a recording.

use crate::{Frame, Recording};
use quasistep_math::Vec3;

impl Recording {
    /// This recording with every n-th frame, and the last one.
    pub fn thinned(&self, n: usize) -> Self {
        let frames = self.every(n).map(|k| self.frames[k].clone()).collect();
        Self { frames, ..self.without_frames() }
    }

    /// The frames to keep where only every n-th is wanted: by index, the last one always among them.
    pub fn every(&self, n: usize) -> impl Iterator<Item = usize> + Clone {
        let count = self.frames.len();
        (0..count).filter(move |k| k % n.max(1) == 0 || k + 1 == count)
    }

    /// Index of a state column by its name.
    pub fn coordinate(&self, name: &str) -> Option<usize> {
        self.coordinates.iter().position(|c| c == name)
    }

    /// Index of a commanded coordinate by its name, into [`Frame::q_cmd`] and [`Frame::effort`].
    pub fn command(&self, name: &str) -> Option<usize> {
        self.commands.iter().position(|c| c == name)
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

    /// Configuration of every frame with quaternions continuous in sign, as in `states.csv`.
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
    /// Sum of the contact forces that body `a` exerts on body `b` in this frame, in N, in W,
    /// whichever of the two the contacts call A.
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

    /// Sum of the normal forces between two bodies in this frame, in N, ≥ 0: a squeeze counts
    /// both sides, unlike [`Frame::contact_force`], where they cancel.
    pub fn normal_force(&self, a: usize, b: usize) -> f64 {
        let between = |c: &&crate::Contact| (c.a, c.b) == (a, b) || (c.a, c.b) == (b, a);
        // from +0: an empty float sum is -0, which plots would print
        self.contacts.iter().filter(between).fold(0.0, |sum, c| sum + c.normal_force)
    }

    /// Sum of the torques about the contacts' normals between two bodies in this frame, in N·m. It
    /// is the same whichever of the two is B: both the normal and the torque change their sign.
    pub fn spin_torque(&self, a: usize, b: usize) -> f64 {
        let between = |c: &&crate::Contact| (c.a, c.b) == (a, b) || (c.a, c.b) == (b, a);
        self.contacts.iter().filter(between).fold(0.0, |sum, c| sum + c.spin)
    }
}

/// Where the quaternions of a state row start: indices i with columns `x.qw x.qx x.qy x.qz`.
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

/// Replaces q by −q, the same rotation, where that is nearer to the row before.
///
/// `starts` is from [`quaternion_starts`]; both rows have one entry per coordinate.
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
