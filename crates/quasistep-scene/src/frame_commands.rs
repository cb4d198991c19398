//! Commands of a frame: joint curves that move it along straight lines between knots.

use crate::curve::{Curve, Knots};
use crate::document::{At, pose};
use crate::names::body_index;
use crate::pose_knots::{PoseCurve, PoseKnots, Timing};
use quasistep::{Follower, FrameTarget, IkError, IkSettings, Orientation, System};
use quasistep_formats::{SceneError, list, unknown};
use quasistep_math::Pose;
use quasistep_model::{Frame, JointKind, WORLD};
use std::path::Path;

/// Valid keys of a command with a `frame`.
pub(crate) const KEYS: [&str; 8] =
    ["frame", "at", "knots", "timing", "orientation", "joints", "avoid", "tolerance"];

/// Default of `tolerance`, in m and rad.
const TOLERANCE: f64 = 1e-5;

/// Largest number of samples of one command. If more are needed, the joints cannot follow it.
const MOST_SAMPLES: usize = 20_000;

/// Positions within an interval at which the linearly interpolated joints are checked against the
/// line.
const BETWEEN: [f64; 3] = [0.25, 0.5, 0.75];

/// Accuracy of the reported time at which a line leaves the reach, as a share of the interval
/// between knots.
const PLACE: f64 = 1e-3;

/// Largest distance of the frame's start from its first knot, in m or rad.
const JUMP: f64 = 1e-4;

/// Curves of joint coordinates (indices in `q`) for an entry of `commands` with a `frame`.
pub(crate) fn read(
    entry: &At<'_>,
    system: &System,
    q: &[f64],
    dir: &Path,
) -> Result<Vec<(usize, Curve)>, SceneError> {
    let map = entry.map(&KEYS)?;
    let frame_at = map.need("frame")?;
    let body = body_index(frame_at, system.model())?;
    let X_BF = map.get("at").map_or(Ok(Pose::IDENTITY), pose)?;
    let knots = PoseKnots::read(map.need("knots")?, dir)?;
    let timing = Timing::read(map.get("timing"))?;
    let free = (map.get("orientation"))
        .map_or(Ok(false), |at| at.word(&[("keep", false), ("free", true)]))?;
    let tolerance = map.get("tolerance").map_or(Ok(TOLERANCE), |at| at.positive("m and rad"))?;
    let settings = IkSettings {
        joints: Some(joints(map.get("joints"), system, body)?),
        avoid: map.get("avoid").map(|at| at.non_negative("m")).transpose()?,
        ..IkSettings::default()
    };
    let frame = Frame { body, X_BF };
    let mut follower = Follower::new(system, &frame, q, &settings)
        .map_err(|e: IkError| frame_at.error(e.to_string()))?;
    let turning = follower.joints().iter().copied();
    for body in turning {
        let joint = system.model().body(body);
        if matches!(joint.joint, JointKind::Ball | JointKind::Free) {
            return Err(frame_at.error(format!(
                "the {} joint `{}` would move; command it with `pose`, or name other `joints`",
                joint.joint.word(),
                joint.joint_name
            )));
        }
    }
    let start = follower.pose_at(q);
    let curve = knots.curve(start, timing);
    let [shift, turn] = distance(&curve.at(curve.t[0]), &start, free);
    if knots.begins_somewhere() && shift.max(turn) > JUMP {
        let p = start.translation;
        return Err(knots.place(0).error(format!(
            "the frame starts at [{:.4}, {:.4}, {:.4}] m, {shift:.2e} m and {turn:.2e} rad from its first \
             knot; start the joints there, or leave its pose out: `[{}, {{}}]`",
            p.x, p.y, p.z, curve.t[0]
        )));
    }
    let (times, path) = sample(&mut follower, &curve, q, free, tolerance, &knots)?;
    let model = system.model();
    let coordinates = follower.joints().iter().flat_map(|&b| model.body(b).q.clone());
    coordinates
        .map(|i| {
            let values = path.iter().map(|q| q[i]).collect();
            let knots = Knots::new(times.clone(), values).map_err(|why| entry.error(why))?;
            Ok((i, Curve::Linear(knots)))
        })
        .collect()
}

/// Times and configurations between which joints move linearly.
///
/// The frame deviates from the curve by at most `tolerance` (m and rad), checked at the positions
/// [`BETWEEN`] of each interval.
fn sample(
    follower: &mut Follower<'_>,
    curve: &PoseCurve,
    q: &[f64],
    free: bool,
    tolerance: f64,
    knots: &PoseKnots<'_>,
) -> Result<(Vec<f64>, Vec<Vec<f64>>), SceneError> {
    let (mut times, mut path) = (vec![curve.t[0]], vec![q.to_vec()]);
    for knot in 1..curve.t.len() {
        let (mut t, end) = (curve.t[knot - 1], curve.t[knot]);
        let whole = end - t;
        let mut step = whole;
        while t < end {
            let next = if t + step > end - 1e-9 * whole { end } else { t + step };
            let before = path[path.len() - 1].clone();
            let after = match follower.go_to(&target(&curve.at(next), free)) {
                Ok(q) => q.to_vec(),
                // bisect to find the time at which the line leaves the reach
                Err(_) if step > PLACE * whole => {
                    step = 0.5 * (next - t);
                    continue;
                }
                Err(e) => {
                    return Err(knots.place(knot).error(format!("at t = {next:.4} s: {e}")));
                }
            };
            let off = BETWEEN.iter().fold(0.0_f64, |most, s| {
                let between: Vec<f64> =
                    before.iter().zip(&after).map(|(a, b)| a + s * (b - a)).collect();
                let X = follower.pose_at(&between);
                let [shift, turn] = distance(&curve.at(t + s * (next - t)), &X, free);
                most.max(shift).max(turn)
            });
            if off > tolerance {
                follower.reset(&before);
                step = 0.5 * (next - t);
                if times.len() >= MOST_SAMPLES || step < 1e-9 * whole {
                    return Err(knots.place(knot).error(format!(
                        "at t = {next:.4} s joints cannot follow within `tolerance` {tolerance} (m and rad); \
                         {} samples were made",
                        times.len()
                    )));
                }
                continue;
            }
            times.push(next);
            path.push(after);
            step = 2.0 * (next - t);
            t = next;
        }
    }
    Ok((times, path))
}

/// A frame at pose `X`, with any orientation if that is `free`.
pub(crate) fn target(X: &Pose, free: bool) -> FrameTarget {
    let mut target = FrameTarget::from(*X);
    if free {
        target.orientation = Orientation::Free;
    }
    target
}

/// Distance of two poses, in m and rad. If the orientation is `free`, the angle is 0.
fn distance(a: &Pose, b: &Pose, free: bool) -> [f64; 2] {
    let turn = (a.rotation * b.rotation.inverse()).to_rotation_vector().norm();
    [(a.translation - b.translation).norm(), if free { 0.0 } else { turn }]
}

/// Body indices of the joints that may move: those named, or else all driven joints of a model.
fn joints(at: Option<&At<'_>>, system: &System, body: usize) -> Result<Vec<usize>, SceneError> {
    let (model, driven) = (system.model(), system.commanded());
    let Some(at) = at else { return Ok(driven_joints(system, body)) };
    let names: Vec<&str> = driven.iter().map(|&b| model.body(b).joint_name.as_str()).collect();
    let find = |item: &At<'_>| {
        let name = item.text()?;
        let place = names.iter().position(|n| *n == name);
        place.map(|k| driven[k]).ok_or_else(|| {
            item.error(format!(
                "{} (driven joints: {})",
                unknown("joint", name, &names),
                list(&names)
            ))
        })
    };
    at.list()?.iter().map(find).collect()
}

/// Body indices of the driven joints of the first model on the way from `body` to the world that has
/// a driven joint on that way, so that an arm moves the tool it carries.
pub(crate) fn driven_joints(system: &System, body: usize) -> Vec<usize> {
    let (model, driven) = (system.model(), system.commanded());
    let of = |b: usize| model.body(b).name.split('/').next();
    let leader = |b: usize| model.body(b).mimic.map_or(b, |m| m.body);
    let mut way =
        std::iter::successors(Some(body), |&b| (b != WORLD).then(|| model.body(b).parent));
    let carrier = way.find(|&b| driven.contains(&leader(b))).map_or(body, leader);
    driven.iter().copied().filter(|&b| of(b) == of(carrier)).collect()
}
