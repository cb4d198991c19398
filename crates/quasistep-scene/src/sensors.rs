//! `sensors`: instruments on bodies, by name.

use crate::document::{At, Map, pose};
use crate::names::{body_index, check_name};
use quasistep::{Sensor, SensorKind, System, Taxels};
use quasistep_formats::{SceneError, list, unknown};
use quasistep_geometry::Shape;
use quasistep_math::{Mat3, Pose, Quat, Vec3};
use quasistep_model::{Frame, WORLD};
use quasistep_record::{RecordedSensor, SensorKind as Kind};

const KINDS: [&str; 3] = ["force_torque", "pressure", "proximity"];
const KEYS: [&str; 11] = [
    "force_torque",
    "pressure",
    "proximity",
    "at",
    "acts_on",
    "shape",
    "face",
    "size",
    "taxels",
    "unit",
    "range",
];
/// Most taxels along an edge of an array.
const MOST_TAXELS: u64 = 1024;
/// Faces of a box: normal, and axes along the array, right-handed.
const FACES: [(&str, [Vec3; 3]); 6] = [
    ("+x", [Vec3::Y, Vec3::Z, Vec3::X]),
    ("-x", [Vec3::Z, Vec3::Y, Vec3::X]),
    ("+y", [Vec3::Z, Vec3::X, Vec3::Y]),
    ("-y", [Vec3::X, Vec3::Z, Vec3::Y]),
    ("+z", [Vec3::X, Vec3::Y, Vec3::Z]),
    ("-z", [Vec3::Y, Vec3::X, Vec3::Z]),
];

/// Reads `sensors`.
pub(crate) fn read_sensors(at: &At<'_>, system: &System) -> Result<Vec<Sensor>, SceneError> {
    let mut sensors = Vec::new();
    for (name, item) in at.entries()? {
        check_name("sensor", name, &item)?;
        let map = item.map(&KEYS)?;
        let given: Vec<&str> = map.keys().filter(|key| KINDS.contains(key)).collect();
        let [kind] = given.as_slice() else {
            return Err(item.error(format!("a sensor is one of {}", list(&KINDS))));
        };
        let used: &[&str] = match *kind {
            "force_torque" => &["at", "acts_on"],
            "pressure" => &["at", "shape", "face", "size", "taxels", "unit"],
            _ => &["at", "range"],
        };
        let stray = map.keys().find(|key| key != kind && !used.contains(key));
        if let Some(key) = stray.and_then(|key| map.get(key)) {
            let valid = list(used);
            return Err(key.error(format!("a `{kind}` sensor does not have it; valid: {valid}")));
        }
        let subject = map.need(kind)?;
        let X_BF = map.get("at").map_or(Ok(Pose::IDENTITY), pose)?;
        let kind = match *kind {
            "force_torque" => {
                let body = cut(subject, system)?;
                let sides = [("parent", false), ("child", true)];
                let on_child = map.get("acts_on").map_or(Ok(false), |at| at.word(&sides))?;
                SensorKind::ForceTorque { frame: Frame { body, X_BF }, on_child }
            }
            "pressure" => {
                let body = body_index(subject, system.model())?;
                SensorKind::Pressure(pad(&map, Frame { body, X_BF }, system)?)
            }
            _ => {
                let body = body_index(subject, system.model())?;
                let range = map.need("range")?.positive("m")?;
                SensorKind::Proximity { frame: Frame { body, X_BF }, range }
            }
        };
        sensors.push(Sensor { name: name.to_owned(), kind });
    }
    Ok(sensors)
}

/// The first body beyond the cut of a force-torque sensor: a body, or that of a joint.
fn cut(at: &At<'_>, system: &System) -> Result<usize, SceneError> {
    let model = system.model();
    let body = if at.is_map() {
        let joint = at.map(&["joint"])?;
        let joint = joint.need("joint")?;
        let name = joint.text()?;
        let names: Vec<&str> =
            model.bodies().iter().skip(1).map(|b| b.joint_name.as_str()).collect();
        model.joint_by_name(name).ok_or_else(|| joint.error(unknown("joint", name, &names)))?
    } else {
        body_index(at, model)?
    };
    if body == WORLD {
        return Err(
            at.error("the world was seen; name a body or a joint, which has a part beyond it")
        );
    }
    Ok(body)
}

/// A pressure array. `body` has the body and `at`.
fn pad(map: &Map<'_>, body: Frame, system: &System) -> Result<Taxels, SceneError> {
    let subject = map.need("pressure")?;
    let geoms = system.geoms();
    let own: Vec<usize> = (0..geoms.len()).filter(|g| geoms[*g].body == body.body).collect();
    let short = |geom: usize| geoms[geom].name.rsplit('/').next().unwrap_or_default();
    let names: Vec<&str> = own.iter().map(|geom| short(*geom)).collect();
    let chosen = match map.get("shape") {
        None => own,
        Some(at) => {
            let name = at.text()?;
            let found = own.into_iter().find(|geom| short(*geom) == name);
            vec![found.ok_or_else(|| at.error(unknown("collision shape", name, &names)))?]
        }
    };
    if chosen.is_empty() {
        return Err(
            subject.error("a body without a collision shape was seen; nothing presses on it")
        );
    }
    let (frame, size) = match map.get("face") {
        None => {
            let at = map.need("size")?;
            let size: [f64; 2] = at.array("m")?;
            if let Some(edge) = size.iter().find(|edge| !(**edge > 0.0)) {
                return Err(at.error(format!("{edge} was seen; both edges must be > 0 m")));
            }
            (body, size)
        }
        Some(face) => {
            if let Some(at) = map.get("at").or(map.get("size")) {
                return Err(at.error("it was seen beside `face`, which has a place and a size"));
            }
            let [geom] = chosen[..] else {
                let names = list(&names);
                return Err(
                    face.error(format!("the body has several shapes; add `shape`, one of {names}"))
                );
            };
            let Shape::Box { half } = &geoms[geom].shape else {
                let what = short(geom);
                return Err(
                    face.error(format!("the shape `{what}` is no box; give `at` and `size`"))
                );
            };
            let (X_GF, size) = face_of(face, Vec3::from(*half))?;
            (Frame { X_BF: geoms[geom].X_BG * X_GF, ..body }, size)
        }
    };
    let mut taxels = [1, 1];
    if let Some(at) = map.get("taxels") {
        let items = at.list()?;
        let [n, m] = items.as_slice() else {
            return Err(at.error(format!("{} numbers were seen; give two", items.len())));
        };
        taxels = [n.whole(1, MOST_TAXELS)? as usize, m.whole(1, MOST_TAXELS)? as usize];
    }
    let per_area = map.get("unit").map_or(Ok(true), |at| at.word(&[("Pa", true), ("N", false)]))?;
    Ok(Taxels { frame, geoms: chosen, size, taxels, per_area })
}

/// Frame of a box's face in the frame of the box, and edges of the face, in m.
fn face_of(at: &At<'_>, half: Vec3) -> Result<(Pose, [f64; 2]), SceneError> {
    let [x, y, out] = at.word(&FACES)?;
    // the box's axes are positive along the array; the normal of every second face is not
    let normal = x.cross(y);
    let rotation = Quat::from_matrix(&Mat3::from_columns([x, y, normal]));
    let pose = Pose::new(rotation, normal * half.dot(out));
    Ok((pose, [2.0 * half.dot(x), 2.0 * half.dot(y)]))
}

/// A sensor as recordings keep it.
pub fn recorded(sensor: &Sensor) -> RecordedSensor {
    let (kind, unit, size) = match &sensor.kind {
        SensorKind::ForceTorque { .. } => (Kind::ForceTorque, "N, N·m", Vec::new()),
        SensorKind::Pressure(pad) => {
            (Kind::Pressure, if pad.per_area { "Pa" } else { "N" }, pad.size.to_vec())
        }
        _ => (Kind::Proximity, "m", Vec::new()),
    };
    let unit = unit.to_owned();
    RecordedSensor { name: sensor.name.clone(), kind, unit, shape: sensor.shape(), size }
}
