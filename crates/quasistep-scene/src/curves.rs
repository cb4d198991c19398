//! Reads curves over time: numbers, expressions, knots, or columns of a CSV file.

use crate::csv::Csv;
use crate::curve::{Curve, Grid, Knots, Spline};
use crate::document::{At, Map};
use crate::expr::Expr;
use crate::extents::OfTime;
use quasistep_formats::{SceneError, list};
use std::path::Path;

/// The single curve key in an entry, and its value.
pub(crate) fn kind_of<'m, 'a>(
    map: &'m Map<'a>,
    kinds: &[&str],
) -> Result<(&'a str, &'m At<'a>), SceneError> {
    let given: Vec<&str> = map.keys().filter(|k| kinds.contains(k)).collect();
    let [kind] = given.as_slice() else {
        return Err(map.error(format!(
            "{} kinds of command were seen; give one of {}",
            given.len(),
            list(kinds)
        )));
    };
    Ok((kind, map.need(kind)?))
}

/// One curve for each of `n` coordinates, with numbers in `unit`.
pub(crate) fn curves(
    kind: &str,
    at: &At<'_>,
    n: usize,
    dir: &Path,
    grid: &Grid,
    unit: &str,
) -> Result<Vec<Curve>, SceneError> {
    match kind {
        "constant" => {
            let values = if at.is_list() { at.numbers(unit)? } else { vec![at.number(unit)?; n] };
            same_length(at, values.len(), n)?;
            Ok(values.into_iter().map(Curve::Constant).collect())
        }
        "expr" => {
            let parts = if at.is_list() { at.list()? } else { vec![at.clone(); n] };
            same_length(at, parts.len(), n)?;
            parts.iter().map(|part| expression(part, grid)).collect()
        }
        "linear" => {
            let columns = knots(&at.map(&["t", "values"])?, n, unit)?;
            Ok(columns.into_iter().map(Curve::Linear).collect())
        }
        "cubic" => {
            let segments = at.map(&["t", "values", "segments"])?;
            let parts = match segments.get("segments") {
                None => vec![knots(&segments, n, unit)?],
                Some(all) => all
                    .list()?
                    .iter()
                    .map(|s| knots(&s.map(&["t", "values"])?, n, unit))
                    .collect::<Result<_, _>>()?,
            };
            splines(parts, n, at)
        }
        "csv" => from_csv(at, n, dir),
        _ => Err(at.error("a pose belongs to one free or ball joint, given by `joint`")),
    }
}

/// A number or an expression of `t`. Its value and rate must be finite at the end of every step.
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

/// Reads `t` and `values`; one set of knots for each coordinate.
fn knots(map: &Map<'_>, n: usize, unit: &str) -> Result<Vec<Knots>, SceneError> {
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
        let values = if row.is_list() { row.numbers(unit)? } else { vec![row.number(unit)?] };
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

/// Splines of each coordinate, from segments that list all coordinates.
fn splines(segments: Vec<Vec<Knots>>, n: usize, at: &At<'_>) -> Result<Vec<Curve>, SceneError> {
    let mut all: Vec<Vec<Spline>> = vec![Vec::new(); n];
    for segment in segments {
        for (curve, knots) in all.iter_mut().zip(segment) {
            curve.push(Spline::new(knots));
        }
    }
    all.into_iter().map(|parts| Curve::cubic(parts).map_err(|why| at.error(why))).collect()
}

/// The file of a map with `file` and `t`, and its column of times, in s.
fn read_csv(map: &Map<'_>, dir: &Path) -> Result<(Csv, Vec<f64>), SceneError> {
    let file = map.need("file")?;
    let time = map.get("t").map_or(Ok("t"), At::text)?;
    let csv = Csv::read(&dir.join(file.text()?), time)
        .map_err(|e| if e.line.is_none() { file.error(e.message) } else { e })?;
    let t = csv.column(time, file)?;
    Ok((csv, t))
}

/// Times (s) and the named columns of the file of a map with `file`, `t` and `columns`.
pub(crate) fn table(map: &Map<'_>, dir: &Path) -> Result<(Vec<f64>, Vec<Vec<f64>>), SceneError> {
    let (csv, t) = read_csv(map, dir)?;
    let names = map.need("columns")?.list()?;
    let columns = names.iter().map(|name| csv.column(name.text()?, name));
    Ok((t, columns.collect::<Result<_, _>>()?))
}

/// Columns of a CSV file as knots.
fn from_csv(at: &At<'_>, n: usize, dir: &Path) -> Result<Vec<Curve>, SceneError> {
    let map = at.map(&["file", "t", "columns", "interpolation", "segment"])?;
    let file = map.need("file")?;
    let (csv, t) = read_csv(&map, dir)?;
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

/// Three curves, each a number or an expression.
pub(crate) fn three(at: &At<'_>, grid: &Grid) -> Result<[Curve; 3], SceneError> {
    let curves: Vec<Curve> =
        at.list()?.iter().map(|part| expression(part, grid)).collect::<Result<_, _>>()?;
    let n = curves.len();
    curves.try_into().map_err(|_| at.error(format!("{n} values were seen; give 3")))
}
