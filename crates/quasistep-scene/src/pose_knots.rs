//! Poses over time: linear interpolation between knots, with rotation about one axis.

use crate::document::{At, pose};
use quasistep_formats::SceneError;
use quasistep_math::{Pose, Quat, Vec3};
use std::path::Path;

/// Largest error of the length of a quaternion in a file: that of four digits.
const UNIT: f64 = 1e-3;

/// Knots of `knots: [[t, {xyz, rpy}], …]`. Parts that a knot leaves out are those of the knot
/// before.
#[derive(Clone, Debug)]
pub(crate) struct PoseKnots<'a> {
    knots: Vec<Knot<'a>>,
}

#[derive(Clone, Debug)]
struct Knot<'a> {
    t: f64,
    xyz: Option<Vec3>,
    rotation: Option<Quat>,
    at: At<'a>,
}

/// A pose as a function of time. It is constant before its first and after its last knot.
#[derive(Clone, Debug)]
pub(crate) struct PoseCurve {
    /// Times, in s, strictly ascending.
    pub t: Vec<f64>,
    /// Pose at each time.
    pub X: Vec<Pose>,
    timing: Timing,
}

/// Timing between knots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Timing {
    /// Constant speed.
    #[default]
    Linear,
    /// Zero velocity at every knot.
    Smooth,
}

impl Timing {
    pub fn read(at: Option<&At<'_>>) -> Result<Self, SceneError> {
        let words = [("linear", Self::Linear), ("smooth", Self::Smooth)];
        at.map_or(Ok(Self::default()), |at| at.word(&words))
    }
}

impl<'a> PoseKnots<'a> {
    /// Reads knots, or a map that names the file which has them; paths start at `dir`.
    pub fn read(at: &At<'a>, dir: &Path) -> Result<Self, SceneError> {
        if !at.is_list() {
            return Self::from_file(at, dir);
        }
        let mut knots: Vec<Knot<'a>> = Vec::new();
        for item in at.list()? {
            let parts = item.list()?;
            let [time, place] = parts.as_slice() else {
                return Err(item.error(format!(
                    "{} values were seen; a knot is [t, {{xyz: …, rpy: …}}]",
                    parts.len()
                )));
            };
            let t = time.number("s")?;
            if let Some(last) = knots.last()
                && t <= last.t
            {
                let message = format!("time {t} follows {}; times must ascend", last.t);
                return Err(time.error(message));
            }
            let X = pose(place)?;
            let turned = place.entry("rpy").is_some() || place.entry("quat").is_some();
            knots.push(Knot {
                t,
                xyz: place.entry("xyz").map(|_| X.translation),
                rotation: turned.then_some(X.rotation),
                at: item,
            });
        }
        if knots.is_empty() {
            return Err(at.error("no knots were seen; give at least one"));
        }
        Ok(Self { knots })
    }

    /// Reads `{file, t, columns}`: positions x, y, z, in m, and unit quaternions w, x, y, z if seven
    /// columns are named.
    fn from_file(at: &At<'a>, dir: &Path) -> Result<Self, SceneError> {
        let map = at.map(&["file", "t", "columns"])?;
        let (t, columns) = crate::curves::table(&map, dir)?;
        let columns_at = map.need("columns")?;
        if ![3, 7].contains(&columns.len()) {
            return Err(columns_at.error(format!(
                "{} columns were seen; give three, x, y and z, or seven: also the quaternion's w, x, y, z",
                columns.len()
            )));
        }
        let knot = |k: usize| {
            let x = |column: usize| columns[column][k];
            let rotation = (columns.len() == 7).then(|| {
                let q = [x(3), x(4), x(5), x(6)];
                let norm = q.iter().map(|c| c * c).sum::<f64>().sqrt();
                let unit = Quat::try_normalize(q).filter(|_| (norm - 1.0).abs() <= UNIT);
                unit.ok_or_else(|| {
                    columns_at.error(format!(
                        "a quaternion of length {norm} was seen at t = {} s; it must be 1",
                        t[k]
                    ))
                })
            });
            let xyz = Some(Vec3::new(x(0), x(1), x(2)));
            Ok(Knot { t: t[k], xyz, rotation: rotation.transpose()?, at: at.clone() })
        };
        if let Some(k) = (1..t.len()).find(|k| t[*k] <= t[k - 1]) {
            return Err(at.error(format!("time {} follows {}; times must ascend", t[k], t[k - 1])));
        }
        Ok(Self { knots: (0..t.len()).map(knot).collect::<Result<_, SceneError>>()? })
    }

    /// Place of a knot, for errors.
    pub fn place(&self, knot: usize) -> &At<'a> {
        &self.knots[knot].at
    }

    /// True if the first knot gives a pose.
    pub fn begins_somewhere(&self) -> bool {
        self.knots[0].xyz.is_some() || self.knots[0].rotation.is_some()
    }

    /// The curve; `start` fills parts that the first knot leaves out.
    pub fn curve(&self, start: Pose, timing: Timing) -> PoseCurve {
        let mut last = start;
        let mut place = |knot: &Knot<'_>| {
            last.translation = knot.xyz.unwrap_or(last.translation);
            last.rotation = knot.rotation.unwrap_or(last.rotation);
            last
        };
        let X = self.knots.iter().map(&mut place).collect();
        PoseCurve { t: self.knots.iter().map(|k| k.t).collect(), X, timing }
    }
}

impl PoseCurve {
    /// The pose at `t`, in s.
    pub fn at(&self, t: f64) -> Pose {
        self.sample(t).0
    }

    /// The pose at `t` (s), its angular velocity in rad/s and the velocity of its origin in m/s,
    /// both in the axes of the frame in which it is given.
    pub fn sample(&self, t: f64) -> (Pose, [Vec3; 2]) {
        let last = self.t.len() - 1;
        if t <= self.t[0] || last == 0 {
            return (self.X[0], [Vec3::ZERO; 2]);
        }
        if t >= self.t[last] {
            return (self.X[last], [Vec3::ZERO; 2]);
        }
        let k = self.t.partition_point(|&s| s <= t) - 1;
        let (a, b) = (self.X[k], self.X[k + 1]);
        let span = self.t[k + 1] - self.t[k];
        let (mut s, mut ds) = ((t - self.t[k]) / span, 1.0 / span);
        if self.timing == Timing::Smooth {
            ds *= 6.0 * s * (1.0 - s);
            s = s * s * (3.0 - 2.0 * s);
        }
        let turn = (b.rotation * a.rotation.inverse()).to_rotation_vector();
        let shift = b.translation - a.translation;
        let X =
            Pose::new(Quat::from_rotation_vector(turn * s) * a.rotation, a.translation + shift * s);
        (X, [turn * ds, shift * ds])
    }
}
