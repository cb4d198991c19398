//! `<keyframe>`: start coordinates and controls.

use super::joint::Kind;
use super::read::Read;
use super::told::{ATTACHED_KEYS, LONG_TURNS, OTHER_KEYS, Told};
use super::tree::Element;
use super::world::World;
use crate::error::{SceneError, unknown};
use quasistep_math::{Pose, Quat, Vec3};

/// Largest error of a quaternion's length that is taken for rounding.
const MOST_OFF: f64 = 1e-2;
/// Largest error of a quaternion's length that needs no warning: quaternions of four digits.
const UNTOLD: f64 = 1e-4;

/// Start values of a model.
#[derive(Clone, Debug, Default)]
pub(super) struct Start {
    /// Coordinates of each body's joints, in the order used here: quaternion before position for a
    /// free joint. `None` for the reference configuration.
    pub coordinates: Option<Vec<Vec<Vec<f64>>>>,
    /// Velocities of each body's joints, in the file's convention. `None` for zero.
    pub velocities: Option<Vec<Vec<Vec<f64>>>>,
    /// For each body, its mocap pose if the keyframe gives one.
    pub mocap: Vec<Option<Pose>>,
    /// Control of each actuator; `None` if the keyframe gives none.
    pub controls: Option<Vec<f64>>,
    /// True if the values come from a keyframe.
    pub is_key: bool,
}

/// Puts the quaternion of a free joint before its position, and makes it a rotation, as that of a
/// ball joint.
fn turn_first(q: &mut [f64], key: &Element, told: &mut Told) -> Result<(), SceneError> {
    if q.len() == 7 {
        q.rotate_left(3);
    }
    if let Some(turn) = q.first_chunk_mut::<4>() {
        *turn = normalised(*turn, key, told)?;
    }
    Ok(())
}

/// A quaternion of a keyframe as a rotation. Rounded ones are normalised, with a warning from the
/// fourth digit on; others are taken for mistakes.
fn normalised(q: [f64; 4], key: &Element, told: &mut Told) -> Result<[f64; 4], SceneError> {
    let length = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    let off = (length - 1.0).abs();
    if !(off <= MOST_OFF) {
        let [w, x, y, z] = q;
        return Err(key.error(format!(
            "qpos: the quaternion {w} {x} {y} {z} was seen, of length {length}; it must be 1"
        )));
    }
    if off > UNTOLD {
        told.group(LONG_TURNS, &key.place, key.attribute("name").unwrap_or("without a name"));
    }
    let unit = Quat::try_normalize(q).map_or(q, Quat::to_array);
    // an exact one keeps its digits
    Ok(if off == 0.0 { q } else { unit })
}

/// Reads the named keyframe, or the first one.
pub(super) fn read(
    world: &World<'_>,
    wanted: Option<&str>,
    told: &mut Told,
) -> Result<Start, SceneError> {
    let main = world.specs.len() - 1;
    for spec in &world.specs[..main] {
        for key in spec.root.in_sections("keyframe") {
            told.group(
                ATTACHED_KEYS,
                &key.place,
                key.attribute("name").unwrap_or("without a name"),
            );
        }
    }
    let root = &world.specs[main].root;
    let keys: Vec<_> = root.in_sections("keyframe").filter(|e| e.tag == "key").collect();
    let key = match wanted {
        None => keys.first(),
        Some(name) => {
            let found = keys.iter().find(|key| key.attribute("name") == Some(name));
            let names: Vec<&str> = keys.iter().filter_map(|key| key.attribute("name")).collect();
            Some(found.ok_or_else(|| root.error(unknown("keyframe", name, &names)))?)
        }
    };
    let Some(key) = key else { return Ok(Start::default()) };
    for other in keys.iter().filter(|other| !std::ptr::eq(**other, *key)) {
        told.group(OTHER_KEYS, &other.place, other.attribute("name").unwrap_or("without a name"));
    }
    let at = Read::plain(key);
    let mut start = Start { is_key: true, controls: at.all_numbers("ctrl")?, ..Start::default() };
    let (places, turns) = (at.all_numbers("mpos")?, at.all_numbers("mquat")?);
    let n_mocap = world.bodies.iter().filter(|body| body.mocap).count();
    for (name, given, each) in [("mpos", &places, 3), ("mquat", &turns, 4)] {
        if let Some(n) = given.as_ref().map(Vec::len).filter(|n| *n != each * n_mocap) {
            return Err(key.error(format!(
                "{name} has {n} numbers; the model has {n_mocap} mocap bodies with {each} each"
            )));
        }
    }
    let mut k = 0;
    for body in &world.bodies {
        let given = body.mocap && (places.is_some() || turns.is_some());
        start.mocap.push(given.then(|| {
            let place = places.as_ref().map(|p| Vec3::new(p[3 * k], p[3 * k + 1], p[3 * k + 2]));
            let turn = turns
                .as_ref()
                .and_then(|q| Quat::try_normalize(std::array::from_fn(|i| q[4 * k + i])));
            let X = body.X_PB;
            Pose::new(turn.unwrap_or(X.rotation), place.unwrap_or(X.translation))
        }));
        k += usize::from(body.mocap);
    }
    let split = |name: &str, all: &[f64], each: fn(Kind) -> usize| {
        let kinds = world.bodies.iter().flat_map(|body| &body.joints).map(|joint| each(joint.kind));
        let n: usize = kinds.sum();
        if all.len() != n {
            let what = if name == "qpos" { "coordinates" } else { "dofs" };
            let seen = all.len();
            return Err(key.error(format!("{name} has {seen} numbers; the model has {n} {what}")));
        }
        let mut rest = all;
        let mut take = |kind: Kind| {
            let (own, after) = rest.split_at(each(kind));
            rest = after;
            own.to_vec()
        };
        let bodies = world.bodies.iter();
        Ok(bodies.map(|body| body.joints.iter().map(|j| take(j.kind)).collect()).collect())
    };
    if let Some(q) = at.all_numbers("qpos")? {
        let mut all: Vec<Vec<Vec<f64>>> = split("qpos", &q, Kind::n_q)?;
        all.iter_mut().flatten().try_for_each(|q| turn_first(q, key, told))?;
        start.coordinates = Some(all);
    }
    if let Some(v) = at.all_numbers("qvel")? {
        let all = split("qvel", &v, Kind::n_v)?;
        start.velocities = v.iter().any(|v| *v != 0.0).then_some(all);
    }
    Ok(start)
}
