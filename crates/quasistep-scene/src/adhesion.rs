//! `adhesion`: pads that pull what touches them, such as suction cups and magnets.

use crate::document::{At, Map};
use crate::names::{check_name, find_body};
use quasistep::{AdhesionPad, DEFAULT_REACH, Geom};
use quasistep_formats::{SceneError, unknown};

const KEYS: [&str; 7] = ["body", "shapes", "pull", "pressure", "area", "reach", "seal"];

/// Reads `adhesion:`, and adds each pad with its command at the start, which is 1. `bodies` are the
/// names of all bodies.
pub(crate) fn read(
    at: Option<&At<'_>>,
    bodies: &[String],
    geoms: &[Geom],
    pads: &mut Vec<(AdhesionPad, f64)>,
) -> Result<(), SceneError> {
    for (name, at) in at.map(At::entries).transpose()?.unwrap_or_default() {
        check_name("pad", name, &at)?;
        let map = at.map(&KEYS)?;
        let body_at = map.need("body")?;
        let found = find_body(body_at.text()?, bodies.iter().map(String::as_str));
        let body = found.and_then(|found| bodies.iter().position(|body| body == found));
        let body = body.ok_or_else(|| {
            let names: Vec<&str> = bodies.iter().map(String::as_str).collect();
            body_at.error(unknown("body", body_at.text().unwrap_or_default(), &names))
        })?;
        let pad = AdhesionPad {
            name: name.to_owned(),
            geoms: shapes(&map, body_at, body, geoms)?,
            pull: pull(&map)?,
            reach: map.get("reach").map_or(Ok(DEFAULT_REACH), |at| at.non_negative("m"))?,
            seals: map.get("seal").map_or(Ok(false), At::boolean)?,
        };
        pads.push((pad, 1.0));
    }
    Ok(())
}

/// Indices of the shapes that pull: those named, or all of the body.
fn shapes(
    map: &Map<'_>,
    body_at: &At<'_>,
    body: usize,
    geoms: &[Geom],
) -> Result<Vec<usize>, SceneError> {
    let own: Vec<usize> = (0..geoms.len()).filter(|k| geoms[*k].body == body).collect();
    if own.is_empty() {
        return Err(body_at.error("a body without shapes was seen; a pad pulls what they touch"));
    }
    let Some(at) = map.get("shapes") else { return Ok(own) };
    let short = |k: usize| geoms[k].name.rsplit_once('/').map_or("", |(_, name)| name);
    let find = |at: &At<'_>| {
        let name = at.text()?;
        own.iter().copied().find(|k| short(*k) == name).ok_or_else(|| {
            let names: Vec<&str> = own.iter().map(|k| short(*k)).collect();
            at.error(unknown("shape", name, &names))
        })
    };
    at.list()?.iter().map(find).collect()
}

/// Largest pull, in N: given, or a pressure on an area.
fn pull(map: &Map<'_>) -> Result<f64, SceneError> {
    match (map.get("pull"), map.get("pressure"), map.get("area")) {
        (Some(pull), None, None) => pull.non_negative("N"),
        (None, Some(pressure), Some(area)) => {
            Ok(pressure.non_negative("Pa")? * area.positive("m²")?)
        }
        _ => Err(map.error("give `pull` (N), or `pressure` (Pa) and `area` (m²)")),
    }
}
