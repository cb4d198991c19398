//! Commands of a scene: what every driven joint is told over time.

use crate::csv::Csv;
use crate::curve::{Curve, Knots, Spline};
use crate::document::{At, Map, list, unknown};
use crate::error::SceneError;
use crate::expr::Expr;
use quasistep::{StepInput, System};
use quasistep_math::{Quat, Vec3};
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
}

const KINDS: [&str; 6] = ["constant", "linear", "cubic", "csv", "expr", "pose"];

/// A coordinate that can be told: its name and what it has been told so far.
struct Slot {
    name: String,
    curve: Option<Curve>,
}

impl Commands {
    /// Reads `commands:`; joints that are told nothing hold their start `q`.
    pub fn read(
        at: Option<&At<'_>>,
        system: &System,
        q: &[f64],
        dir: &Path,
    ) -> Result<Self, SceneError> {
        let names = system.model().coordinate_names();
        let mut slots: Vec<Slot> = Vec::new();
        let mut orientations: Vec<(usize, Option<[Curve; 3]>)> = Vec::new();
        for &body in system.commanded() {
            let joint = system.model().body(body);
            for i in joint.q.clone() {
                slots.push(Slot { name: names[i].clone(), curve: None });
            }
            if joint.q.len() >= 4 {
                orientations.push((body, None));
            }
        }
        for entry in at.map(At::list).transpose()?.unwrap_or_default() {
            let mut keys = vec!["joint", "joints"];
            keys.extend(KINDS);
            let map = entry.map(&keys)?;
            if let Some(pose) = map.get("pose") {
                read_pose(&map, pose, system, &mut slots, &mut orientations)?;
                continue;
            }
            let wanted = targets(&map, &slots)?;
            let curves = curves(&map, wanted.len(), dir)?;
            for (slot, curve) in wanted.into_iter().zip(curves) {
                if slots[slot].curve.is_some() {
                    return Err(entry.error(format!(
                        "`{}` is commanded twice; keep one command",
                        slots[slot].name
                    )));
                }
                slots[slot].curve = Some(curve);
            }
        }
        let mut parts = Vec::new();
        let mut slot = slots.into_iter();
        for &body in system.commanded() {
            let joint = system.model().body(body);
            let range = joint.q.clone();
            let mut first = range.start;
            if range.len() >= 4 {
                let told =
                    orientations.iter_mut().find(|(b, _)| *b == body).and_then(|(_, o)| o.take());
                parts.push(match told {
                    Some(rpy) => Part::Orientation(rpy),
                    None => Part::Still(std::array::from_fn(|k| q[first + k])),
                });
                first += 4;
                slot.by_ref().take(4).for_each(drop);
            }
            for i in first..range.end {
                let curve = slot.next().and_then(|s| s.curve);
                parts.push(Part::Coordinate(curve.unwrap_or(Curve::Constant(q[i]))));
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
            }
        }
    }
}

/// The coordinates that an entry speaks of.
fn targets(map: &Map<'_>, slots: &[Slot]) -> Result<Vec<usize>, SceneError> {
    let names: Vec<&str> = slots.iter().map(|s| s.name.as_str()).collect();
    let find = |at: &At<'_>| -> Result<usize, SceneError> {
        let name = at.text()?;
        names.iter().position(|n| *n == name).ok_or_else(|| {
            at.error(format!("{} (actuated and prescribed joints)", unknown("joint", name, &names)))
        })
    };
    match (map.get("joint"), map.get("joints")) {
        (Some(one), None) => Ok(vec![find(one)?]),
        (None, Some(all)) => all.list()?.iter().map(find).collect(),
        _ => Err(map.error("give one of `joint` (a name) or `joints` (a list of names)")),
    }
}

/// One curve for each of `n` coordinates.
fn curves(map: &Map<'_>, n: usize, dir: &Path) -> Result<Vec<Curve>, SceneError> {
    let given: Vec<&str> = map.keys().filter(|k| KINDS.contains(k)).collect();
    let [kind] = given.as_slice() else {
        return Err(map.error(format!(
            "{} kinds of command were seen; give one of {}",
            given.len(),
            list(&KINDS)
        )));
    };
    let at = map.need(kind)?;
    match *kind {
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
            parts.iter().map(expression).collect()
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
            Ok(splines(parts, n))
        }
        "csv" => from_csv(at, n, dir),
        _ => Err(at.error("a pose belongs to one free or ball joint, given by `joint`")),
    }
}

/// A number or an expression of `t`.
pub(crate) fn expression(at: &At<'_>) -> Result<Curve, SceneError> {
    if at.is_number() {
        return Ok(Curve::Constant(at.number("")?));
    }
    Expr::parse(at.text()?).map(Curve::Expr).map_err(|why| at.error(why))
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
fn splines(segments: Vec<Vec<Knots>>, n: usize) -> Vec<Curve> {
    let mut all: Vec<Vec<Spline>> = vec![Vec::new(); n];
    for segment in segments {
        for (curve, knots) in all.iter_mut().zip(segment) {
            curve.push(Spline::new(knots));
        }
    }
    all.into_iter().map(Curve::Cubic).collect()
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
        return Ok(splines(parts, n));
    }
    if parts.len() != 1 {
        return Err(at.error("segments need `interpolation: cubic`; lines run through all knots"));
    }
    Ok(parts.pop().unwrap_or_default().into_iter().map(Curve::Linear).collect())
}

/// `pose: {xyz: [...], rpy: [...]}` of a driven free or ball joint, each a number or an expression.
fn read_pose(
    map: &Map<'_>,
    at: &At<'_>,
    system: &System,
    slots: &mut [Slot],
    orientations: &mut [(usize, Option<[Curve; 3]>)],
) -> Result<(), SceneError> {
    let joint_at = map.need("joint")?;
    let name = joint_at.text()?;
    let model = system.model();
    let found = orientations.iter_mut().find(|(body, _)| model.body(*body).joint_name == name);
    let Some((body, orientation)) = found else {
        return Err(joint_at.error(format!(
            "`{name}` is no driven free or ball joint; only these are told a pose"
        )));
    };
    let pose = at.map(&["xyz", "rpy"])?;
    let three = |at: &At<'_>| -> Result<[Curve; 3], SceneError> {
        let curves: Vec<Curve> = at.list()?.iter().map(expression).collect::<Result<_, _>>()?;
        let n = curves.len();
        curves.try_into().map_err(|_| at.error(format!("{n} values were seen; give 3")))
    };
    if let Some(rpy) = pose.get("rpy") {
        *orientation = Some(three(rpy)?);
    }
    if let Some(xyz) = pose.get("xyz") {
        let range = model.body(*body).q.clone();
        if range.len() != 7 {
            return Err(xyz.error("a ball joint has no position; give `rpy` only"));
        }
        let before: usize = system
            .commanded()
            .iter()
            .take_while(|b| *b != body)
            .map(|b| model.body(*b).q.len())
            .sum();
        for (slot, curve) in slots[before + 4..before + 7].iter_mut().zip(three(xyz)?) {
            slot.curve = Some(curve);
        }
    }
    Ok(())
}
