//! Commands of a scene: what every driven joint is told over time.

use crate::csv::Csv;
use crate::curve::{Curve, Grid, Knots, Spline};
use crate::document::{At, Map};
use crate::expr::Expr;
use crate::extents::OfTime;
use crate::pose_knots::{PoseCurve, PoseKnots, Timing};
use quasistep::{StepInput, System};
use quasistep_formats::{SceneError, list, unknown};
use quasistep_math::{Pose, Quat, Vec3};
use std::path::Path;

/// Commands of all driven joints, in the order of `q_cmd`.
#[derive(Clone, Debug)]
pub(crate) struct Commands {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    /// A coordinate whose rate is its dof's.
    Coordinate(Curve),
    /// An orientation, by roll, pitch and yaw.
    Orientation([Curve; 3]),
    /// An orientation that stays.
    Still([f64; 4]),
    /// A pose that goes from knot to knot.
    Path(PoseCurve),
}

const KINDS: [&str; 6] = ["constant", "linear", "cubic", "csv", "expr", "pose"];

/// A coordinate that can be told: its name and what it has been told so far.
struct Slot {
    name: String,
    /// Part of a quaternion: told by a pose only.
    quaternion: bool,
    curve: Option<Curve>,
}

/// A driven joint or a frame with a spring that turns in space.
struct Turning {
    name: String,
    /// Its first slot.
    first: usize,
    /// It has a position too.
    moves: bool,
    /// It is a frame with a spring.
    spring: bool,
    rpy: Option<[Curve; 3]>,
    path: Option<PoseCurve>,
}

impl Commands {
    /// Reads `commands:`. The scene starts at `q`; joints and springs that are told nothing are told `told`.
    pub fn read(
        at: Option<&At<'_>>,
        system: &System,
        [q, told]: [&[f64]; 2],
        dir: &Path,
        grid: &Grid,
    ) -> Result<Self, SceneError> {
        let names = system.model().coordinate_names();
        let mut slots: Vec<Slot> = Vec::new();
        let mut turning: Vec<Turning> = Vec::new();
        let joints = system.commanded().iter().map(|&body| system.model().body(body));
        let joints = joints.map(|joint| (&joint.joint_name, joint.q.len(), false));
        let springs = system.springs().map(|spring| (&spring.name, 7, true));
        let all: Vec<(&String, usize, bool)> = joints.chain(springs).collect();
        let mut command_names = system.command_names().into_iter();
        for &(name, n, spring) in &all {
            let turns = n >= 4;
            if turns {
                let (name, first, moves) = (name.clone(), slots.len(), n == 7);
                turning.push(Turning { name, first, moves, spring, rpy: None, path: None });
            }
            for (k, name) in command_names.by_ref().take(n).enumerate() {
                slots.push(Slot { name, quaternion: turns && k < 4, curve: None });
            }
        }
        let start = system.command_at(told);
        for entry in at.map(At::list).transpose()?.unwrap_or_default() {
            if entry.entry("frame").is_some() {
                for (i, curve) in crate::frame_commands::read(&entry, system, q)? {
                    // driven coordinates have a slot each
                    if let Some(slot) = slots.iter_mut().find(|s| s.name == names[i]) {
                        tell(slot, curve, &entry)?;
                    }
                }
                continue;
            }
            if entry.entry("spring").is_some() {
                read_spring(&entry, &start, &mut slots, &mut turning, grid)?;
                continue;
            }
            let mut keys = vec!["joint", "joints"];
            keys.extend(KINDS);
            let map = entry.map(&keys)?;
            let (kind, value) = kind(&map)?;
            if kind == "pose" {
                let at = map.need("joint")?;
                let why = "is no driven free or ball joint; only these are told a pose";
                let joint = find(at, false, &mut turning, why)?;
                read_pose(value, &mut slots, joint, grid)?;
                continue;
            }
            let wanted = targets(&map, &slots, &names)?;
            let curves = curves(kind, value, wanted.len(), dir, grid)?;
            for (slot, curve) in wanted.into_iter().zip(curves) {
                tell(&mut slots[slot], curve, &entry)?;
            }
        }
        let mut parts = Vec::new();
        let mut slot = slots.into_iter().zip(&start);
        let mut turning = turning.into_iter();
        for (_, mut n, _) in all {
            if n >= 4 {
                let own = turning.next();
                let orientation = std::array::from_fn(|_| slot.next().map_or(0.0, |(_, q)| *q));
                n -= 4;
                parts.push(match own.map(|t| (t.rpy, t.path)) {
                    Some((_, Some(path))) => {
                        slot.by_ref().take(n).for_each(drop);
                        n = 0;
                        Part::Path(path)
                    }
                    Some((Some(rpy), _)) => Part::Orientation(rpy),
                    _ => Part::Still(orientation),
                });
            }
            for (slot, q) in slot.by_ref().take(n) {
                parts.push(Part::Coordinate(slot.curve.unwrap_or(Curve::Constant(*q))));
            }
        }
        Ok(Self { parts })
    }

    /// Fills `q_cmd` and `v_cmd` for time `t`.
    pub fn sample(&self, t: f64, input: &mut StepInput) {
        input.q_cmd.clear();
        input.v_cmd.clear();
        for part in &self.parts {
            match part {
                Part::Coordinate(curve) => {
                    let (value, rate) = curve.at(t);
                    input.q_cmd.push(value);
                    input.v_cmd.push(rate);
                }
                Part::Still(q) => {
                    input.q_cmd.extend(q);
                    input.v_cmd.extend([0.0; 3]);
                }
                Part::Orientation(rpy) => {
                    let [(roll, droll), (pitch, dpitch), (yaw, dyaw)] =
                        [rpy[0].at(t), rpy[1].at(t), rpy[2].at(t)];
                    input.q_cmd.extend(Quat::from_rpy([roll, pitch, yaw]).to_array());
                    // each angle turns about the axis that the later ones have moved
                    let turn_z = Quat::from_axis_angle(Vec3::Z, yaw);
                    let turn_zy = turn_z * Quat::from_axis_angle(Vec3::Y, pitch);
                    let w = Vec3::Z * dyaw
                        + turn_z.rotate(Vec3::Y) * dpitch
                        + turn_zy.rotate(Vec3::X) * droll;
                    input.v_cmd.extend(w.to_array());
                }
                Part::Path(path) => {
                    let (X, [w, v]) = path.sample(t);
                    input.q_cmd.extend(X.rotation.to_array());
                    input.q_cmd.extend(X.translation.to_array());
                    input.v_cmd.extend([w.to_array(), v.to_array()].as_flattened());
                }
            }
        }
    }

    /// Rates over the step of size `h` that ends at `t`: the mean of a coordinate's, an orientation's
    /// in the middle of the step.
    pub fn mean_rates(&self, t: f64, h: f64, v_cmd: &mut Vec<f64>) {
        let mut middle = StepInput::default();
        self.sample(t - 0.5 * h, &mut middle);
        v_cmd.clear();
        v_cmd.extend(middle.v_cmd);
        let mut dof = 0;
        for part in &self.parts {
            match part {
                Part::Coordinate(curve) => {
                    v_cmd[dof] = (curve.at(t).0 - curve.at(t - h).0) / h;
                    dof += 1;
                }
                Part::Still(_) | Part::Orientation(_) => dof += 3,
                Part::Path(path) => {
                    let (a, b) = (path.at(t - h), path.at(t));
                    let w = (b.rotation * a.rotation.inverse()).to_rotation_vector() / h;
                    let v = (b.translation - a.translation) / h;
                    v_cmd[dof..dof + 6]
                        .copy_from_slice([w.to_array(), v.to_array()].as_flattened());
                    dof += 6;
                }
            }
        }
    }
}

/// Gives a coordinate its command, which must be its only one.
fn tell(slot: &mut Slot, curve: Curve, at: &At<'_>) -> Result<(), SceneError> {
    if slot.curve.is_some() {
        return Err(at.error(format!("`{}` is commanded twice; keep one command", slot.name)));
    }
    slot.curve = Some(curve);
    Ok(())
}

/// The coordinates that an entry speaks of; `all` names every coordinate of the scene.
fn targets(map: &Map<'_>, slots: &[Slot], all: &[String]) -> Result<Vec<usize>, SceneError> {
    let find = |at: &At<'_>| -> Result<usize, SceneError> {
        let name = at.text()?;
        if let Some(k) = slots.iter().position(|s| s.name == name && !s.quaternion) {
            return Ok(k);
        }
        let driven = slots.iter().filter(|s| !s.quaternion);
        let names: Vec<&str> = driven.map(|s| s.name.as_str()).collect();
        if slots.iter().any(|s| s.name == name) {
            return Err(at.error(format!(
                "`{name}` is part of an orientation; command it with `pose: {{rpy: [...]}}`"
            )));
        }
        if all.iter().any(|n| n == name) {
            return Err(at.error(format!(
                "`{name}` is passive; commands are for actuated and prescribed joints: {}",
                list(&names)
            )));
        }
        Err(at
            .error(format!("{} (actuated and prescribed joints)", unknown("joint", name, &names))))
    };
    match (map.get("joint"), map.get("joints")) {
        (Some(one), None) => Ok(vec![find(one)?]),
        (None, Some(all)) => all.list()?.iter().map(find).collect(),
        _ => Err(map.error("give one of `joint` (a name) or `joints` (a list of names)")),
    }
}

/// The one kind of command in an entry, and its value.
fn kind<'m, 'a>(map: &'m Map<'a>) -> Result<(&'a str, &'m At<'a>), SceneError> {
    let given: Vec<&str> = map.keys().filter(|k| KINDS.contains(k)).collect();
    let [kind] = given.as_slice() else {
        return Err(map.error(format!(
            "{} kinds of command were seen; give one of {}",
            given.len(),
            list(&KINDS)
        )));
    };
    Ok((kind, map.need(kind)?))
}

/// One curve for each of `n` coordinates.
pub(crate) fn curves(
    kind: &str,
    at: &At<'_>,
    n: usize,
    dir: &Path,
    grid: &Grid,
) -> Result<Vec<Curve>, SceneError> {
    match kind {
        "constant" => {
            let values = if at.is_list() {
                at.numbers("m or rad")?
            } else {
                vec![at.number("m or rad")?; n]
            };
            same_length(at, values.len(), n)?;
            Ok(values.into_iter().map(Curve::Constant).collect())
        }
        "expr" => {
            let parts = if at.is_list() { at.list()? } else { vec![at.clone(); n] };
            same_length(at, parts.len(), n)?;
            parts.iter().map(|part| expression(part, grid)).collect()
        }
        "linear" => {
            let columns = knots(&at.map(&["t", "values"])?, n)?;
            Ok(columns.into_iter().map(Curve::Linear).collect())
        }
        "cubic" => {
            let segments = at.map(&["t", "values", "segments"])?;
            let parts = match segments.get("segments") {
                None => vec![knots(&segments, n)?],
                Some(all) => all
                    .list()?
                    .iter()
                    .map(|s| knots(&s.map(&["t", "values"])?, n))
                    .collect::<Result<_, _>>()?,
            };
            splines(parts, n, at)
        }
        "csv" => from_csv(at, n, dir),
        _ => Err(at.error("a pose belongs to one free or ball joint, given by `joint`")),
    }
}

/// A number or an expression of `t`, finite with its rate at the end of every step.
pub(crate) fn expression(at: &At<'_>, grid: &Grid) -> Result<Curve, SceneError> {
    if at.reads_as_number() {
        return Ok(Curve::Constant(at.number("")?));
    }
    let curve = Expr::parse(at.text()?, &OfTime(at.context().extents))
        .map(Curve::Expr)
        .map_err(|why| at.error(why))?;
    for t in grid.times() {
        let (value, rate) = curve.at(t);
        if !value.is_finite() {
            return Err(at.error(format!("the value is {value} at t = {t} s; it must be finite")));
        }
        if !rate.is_finite() {
            return Err(at.error(format!("the rate is {rate} at t = {t} s; it must be finite")));
        }
    }
    Ok(curve)
}

fn same_length(at: &At<'_>, got: usize, want: usize) -> Result<(), SceneError> {
    if got == want {
        return Ok(());
    }
    Err(at.error(format!("{got} values were seen for {want} joints; give one for each")))
}

/// `t` and `values`, as one set of knots for each coordinate.
fn knots(map: &Map<'_>, n: usize) -> Result<Vec<Knots>, SceneError> {
    let t = map.need("t")?.numbers("s")?;
    let at = map.need("values")?;
    let rows = at.list()?;
    if rows.len() != t.len() {
        return Err(at.error(format!(
            "{} values were seen for {} times; give one for each time",
            rows.len(),
            t.len()
        )));
    }
    let mut columns = vec![Vec::with_capacity(t.len()); n];
    for row in &rows {
        let values =
            if row.is_list() { row.numbers("m or rad")? } else { vec![row.number("m or rad")?] };
        same_length(row, values.len(), n)?;
        for (column, value) in columns.iter_mut().zip(values) {
            column.push(value);
        }
    }
    columns
        .into_iter()
        .map(|column| Knots::new(t.clone(), column).map_err(|why| at.error(why)))
        .collect()
}

/// Segments of all coordinates → splines of each.
fn splines(segments: Vec<Vec<Knots>>, n: usize, at: &At<'_>) -> Result<Vec<Curve>, SceneError> {
    let mut all: Vec<Vec<Spline>> = vec![Vec::new(); n];
    for segment in segments {
        for (curve, knots) in all.iter_mut().zip(segment) {
            curve.push(Spline::new(knots));
        }
    }
    all.into_iter().map(|parts| Curve::cubic(parts).map_err(|why| at.error(why))).collect()
}

/// Columns of a CSV file as knots.
fn from_csv(at: &At<'_>, n: usize, dir: &Path) -> Result<Vec<Curve>, SceneError> {
    let map = at.map(&["file", "t", "columns", "interpolation", "segment"])?;
    let file = map.need("file")?;
    let csv = Csv::read(&dir.join(file.text()?))
        .map_err(|e| if e.line.is_none() { file.error(e.message) } else { e })?;
    let t = csv.column(map.get("t").map_or(Ok("t"), At::text)?, at)?;
    let names_at = map.need("columns")?;
    let names = names_at.list()?;
    same_length(names_at, names.len(), n)?;
    let columns: Vec<Vec<f64>> =
        names.iter().map(|name| csv.column(name.text()?, name)).collect::<Result<_, _>>()?;
    let cubic = map
        .get("interpolation")
        .map_or(Ok(false), |a| a.word(&[("linear", false), ("cubic", true)]))?;
    let segment = match map.get("segment") {
        None => vec![0.0; t.len()],
        Some(name) => csv.column(name.text()?, name)?,
    };
    let mut parts: Vec<Vec<Knots>> = Vec::new();
    let mut first = 0;
    while first < t.len() {
        let end = (first..t.len()).find(|&k| segment[k] != segment[first]).unwrap_or(t.len());
        let part: Result<Vec<Knots>, SceneError> = columns
            .iter()
            .map(|c| {
                Knots::new(t[first..end].to_vec(), c[first..end].to_vec())
                    .map_err(|why| file.error(format!("lines {} to {}: {why}", first + 2, end + 1)))
            })
            .collect();
        parts.push(part?);
        first = end;
    }
    if cubic {
        return splines(parts, n, at);
    }
    if parts.len() != 1 {
        return Err(at.error("segments need `interpolation: cubic`; lines run through all knots"));
    }
    Ok(parts.pop().unwrap_or_default().into_iter().map(Curve::Linear).collect())
}

/// The joint, or the frame with a `spring`, that an entry names; `why` says why another name is none.
fn find<'t>(
    at: &At<'_>,
    spring: bool,
    turning: &'t mut [Turning],
    why: &str,
) -> Result<&'t mut Turning, SceneError> {
    let name = at.text()?;
    let found = turning.iter_mut().find(|t| t.name == name && t.spring == spring);
    found.ok_or_else(|| at.error(format!("`{name}` {why}")))
}

/// `pose` of a free or ball joint or of a frame with a spring.
fn read_pose(
    at: &At<'_>,
    slots: &mut [Slot],
    joint: &mut Turning,
    grid: &Grid,
) -> Result<(), SceneError> {
    let name = &joint.name;
    let pose = at.map(&["xyz", "rpy"])?;
    if let Some(rpy) = pose.get("rpy") {
        if joint.rpy.is_some() || joint.path.is_some() {
            return Err(rpy.error(format!("`{name}` is commanded twice; keep one command")));
        }
        joint.rpy = Some(three(rpy, grid)?);
    }
    if let Some(xyz) = pose.get("xyz") {
        if !joint.moves {
            return Err(xyz.error("a ball joint has no position; give `rpy` only"));
        }
        let first = joint.first + 4;
        for (slot, curve) in slots[first..first + 3].iter_mut().zip(three(xyz, grid)?) {
            tell(slot, curve, xyz)?;
        }
    }
    Ok(())
}

/// An entry with a `spring`: a pose over time, or knots of poses; what they leave out is as at the start.
fn read_spring(
    entry: &At<'_>,
    start: &[f64],
    slots: &mut [Slot],
    turning: &mut [Turning],
    grid: &Grid,
) -> Result<(), SceneError> {
    let map = entry.map(&["spring", "pose", "knots", "timing"])?;
    let names: Vec<&str> = turning.iter().filter(|t| t.spring).map(|t| &t.name[..]).collect();
    let why = format!("is no frame with a `cartesian_stiffness`; there are: {}", list(&names));
    let spring = find(map.need("spring")?, true, turning, &why)?;
    match (map.get("pose"), map.get("knots")) {
        (Some(pose), None) if map.get("timing").is_none() => read_pose(pose, slots, spring, grid)?,
        (None, Some(knots)) => {
            let own = &mut slots[spring.first..spring.first + 7];
            if spring.rpy.is_some()
                || spring.path.is_some()
                || own.iter().any(|s| s.curve.is_some())
            {
                let name = &spring.name;
                return Err(knots.error(format!("`{name}` is commanded twice; keep one command")));
            }
            // no other command may follow
            for slot in own {
                slot.curve = Some(Curve::Constant(0.0));
            }
            let q = &start[spring.first..];
            let X = Pose::new(Quat::new(q[0], q[1], q[2], q[3]), Vec3::new(q[4], q[5], q[6]));
            spring.path = Some(PoseKnots::read(knots)?.curve(X, Timing::read(map.get("timing"))?));
        }
        _ => return Err(entry.error("give one of `pose`, or `knots` with or without `timing`")),
    }
    Ok(())
}

/// Three numbers or expressions.
pub(crate) fn three(at: &At<'_>, grid: &Grid) -> Result<[Curve; 3], SceneError> {
    let curves: Vec<Curve> =
        at.list()?.iter().map(|part| expression(part, grid)).collect::<Result<_, _>>()?;
    let n = curves.len();
    curves.try_into().map_err(|_| at.error(format!("{n} values were seen; give 3")))
}
