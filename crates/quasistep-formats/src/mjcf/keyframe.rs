//! `<keyframe>`: coordinates and controls at the start.

use super::joint::Kind;
use super::read::Read;
use super::told::{ATTACHED_KEYS, OTHER_KEYS, Told};
use super::world::World;
use crate::error::{SceneError, unknown};

/// Where a model starts.
#[derive(Clone, Debug, Default)]
pub(super) struct Start {
    /// Coordinates of each body's joints, in ours: a free joint's quaternion stands before its place. `None`: as the bodies stand.
    pub coordinates: Option<Vec<Vec<Vec<f64>>>>,
    /// By actuator; `None`: the keyframe gives none.
    pub controls: Option<Vec<f64>>,
    /// A keyframe was taken.
    pub is_key: bool,
}

/// The keyframe of a name, or else the first one.
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
    let mut start = Start { is_key: true, controls: at.all_numbers("ctrl")?, coordinates: None };
    if let Some(q) = at.all_numbers("qpos")? {
        let kinds: Vec<Vec<Kind>> =
            world.bodies.iter().map(|body| body.joints.iter().map(|j| j.kind).collect()).collect();
        let n: usize = kinds.iter().flatten().map(|kind| kind.n_q()).sum();
        if q.len() != n {
            return Err(
                key.error(format!("qpos has {} numbers; the model has {n} coordinates", q.len()))
            );
        }
        let mut rest = q.as_slice();
        let mut take = |kind: &Kind| {
            let (own, after) = rest.split_at(kind.n_q());
            rest = after;
            match kind {
                Kind::Free => [&own[3..], &own[..3]].concat(),
                _ => own.to_vec(),
            }
        };
        start.coordinates =
            Some(kinds.iter().map(|of_body| of_body.iter().map(&mut take).collect()).collect());
    }
    Ok(start)
}
