//! A URDF robot as part of a scene.

use crate::assembly::{Assembly, Defaults, NewBody};
use crate::collision_mesh::Shapings;
use crate::document::{At, Map};
use crate::drawn_mesh::{Looks, Notes};
use crate::error::SceneError;
use crate::friction::Given;
use crate::joints::{Settings, chain, coordinates_of, start};
use crate::mass::MASSLESS;
use crate::rules::Rules;
use crate::shapes::{Piece, Weight, drawn, pose};
use crate::start_velocity::StartVelocity;
use crate::urdf::{self, Geometry, Places};
use quasistep_geometry::Shape;
use quasistep_math::Pose;
use quasistep_model::{BodyInertia, JointKind, Mimic};
use quasistep_record::{DrawnGeometry, DrawnShape, ShapeRole};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Adds the robot in the file that `at` names.
#[allow(clippy::too_many_arguments)] // the reader of models hands over what it has read
pub(crate) fn add(
    assembly: &mut Assembly,
    model: &str,
    at: &At<'_>,
    map: &Map<'_>,
    dir: &Path,
    parent: usize,
    rules: &Rules<'_>,
    defaults: &Defaults,
) -> Result<(), SceneError> {
    let mut packages: BTreeMap<String, PathBuf> = BTreeMap::new();
    if let Some(given) = map.get("packages") {
        for (name, folder) in given.entries()? {
            packages.insert(name.to_owned(), dir.join(folder.text()?));
        }
    }
    let find = |at: &At<'_>| -> Result<PathBuf, SceneError> {
        let places = Places { dir, packages: &packages };
        places
            .find(at.text()?)
            .map_err(|why| at.error(format!("{why}; a relative path starts at the scene's folder")))
    };
    let path = find(at)?;
    let refuse_repairs = match map.get("repair") {
        None => false,
        Some(at) => at.word(&[("nearest", false), ("error", true)])?,
    };
    let places = Places { dir: path.parent().unwrap_or(Path::new(".")), packages: &packages };
    let mut robot = urdf::read(&path, &places, refuse_repairs)?;
    assembly.warnings.extend(robot.warnings.iter().cloned());

    if let Some(at) = map.get("srdf") {
        let index: BTreeMap<&str, usize> =
            robot.links.iter().enumerate().map(|(k, link)| (link.name.as_str(), k)).collect();
        let link_of = |name: &str| index.get(name).copied();
        let (pairs, warnings) = urdf::read_srdf(&find(at)?, &link_of)?;
        robot.never_touch.extend(pairs);
        assembly.warnings.extend(warnings);
    }
    let shapings = Shapings::read(map.get("collision_mesh"))?;
    let has_mesh = |link: &&urdf::Link| {
        link.collisions.iter().any(|part| matches!(part.geometry, Geometry::Mesh { .. }))
    };
    let with_mesh: Vec<&str> =
        robot.links.iter().filter(has_mesh).map(|link| link.name.as_str()).collect();
    if !at.is_later_replica() {
        assembly.warnings.extend(shapings.unused(&with_mesh));
    }
    let order = &robot.tree.order;
    let first = assembly.bodies.len();
    let mut body_of_link = vec![0; robot.links.len()];
    for (k, &link) in order.iter().enumerate() {
        body_of_link[link] = first + k;
    }
    let joint_index: BTreeMap<&str, usize> =
        robot.joints.iter().enumerate().map(|(k, j)| (j.name.as_str(), k)).collect();
    let mut notes = Notes::default();
    for &link in order {
        let joint = robot.tree.joint_of[link].map(|k| &robot.joints[k]);
        let inertial = robot.links[link].inertial.as_ref();
        let inertia = inertial.map_or(MASSLESS, |i| BodyInertia {
            mass: i.mass,
            com: i.com,
            inertia: i.inertia,
        });
        let name = format!("{model}/{}", robot.links[link].name);
        let body = match joint {
            None => {
                let links = map.get("joint").map(chain).transpose()?.unwrap_or_default();
                let kind = match links.as_slice() {
                    [] => JointKind::Fixed,
                    [one] if one.name.is_none() => one.kind,
                    _ => return Err(at.error("a list of slides and hinges was seen as the joint of a robot's root; give `fixed`, `free`, `planar` or `ball`")),
                };
                // a pattern with a `*` means the robot's joints, not the one it stands on
                let mut settings: Settings = rules.of(model, false);
                if let Some(at) = map.get("start") {
                    settings.start.get_or_insert(start(at)?);
                }
                if let (Some(at), None) = (map.get("start_velocity"), &settings.start_velocity) {
                    settings.start_velocity = Some(StartVelocity::read(at)?);
                }
                let pose_at = map.get("pose");
                let mut X_PF = pose_at.map(pose).transpose()?.unwrap_or_default();
                if matches!(kind, JointKind::Free) {
                    if let (Some(_), Some(pose)) = (&settings.start, pose_at) {
                        return Err(pose.error(
                            "`pose` and `start` were seen on a free robot; both say where it starts: give one",
                        ));
                    }
                    settings.start.get_or_insert(coordinates_of(&X_PF));
                    X_PF = Pose::IDENTITY;
                }
                NewBody {
                    name,
                    joint_name: model.to_owned(),
                    parent,
                    X_PF,
                    kind,
                    inertia,
                    limits: None,
                    mimic: None,
                    gravity: defaults.gravity,
                    effort: None,
                    resistance: None,
                    settings,
                    at,
                }
            }
            Some(joint) => {
                let mimic = joint.mimic.as_ref().map(|m| {
                    let leader = joint_index.get(m.joint.as_str());
                    Mimic {
                        body: leader.map_or(0, |&l| body_of_link[robot.joints[l].child]),
                        multiplier: m.multiplier,
                        offset: m.offset,
                    }
                });
                NewBody {
                    name,
                    joint_name: format!("{model}.{}", joint.name),
                    parent: body_of_link[joint.parent],
                    X_PF: joint.origin,
                    kind: kind(&joint.kind),
                    inertia,
                    limits: joint.limits,
                    mimic,
                    gravity: defaults.gravity,
                    effort: joint.effort,
                    resistance: Some([joint.damping, joint.friction]),
                    settings: rules
                        .of(&joint.name, joint.mimic.is_none() && kind(&joint.kind).n_v() > 0),
                    at: rules.place(&joint.name).unwrap_or(at),
                }
            }
        };
        let body = assembly.add_body(body)?;
        add_shapes(assembly, body, &robot.links[link], &shapings, defaults, &mut notes)?;
    }
    assembly.warnings.extend(notes.into_warnings());
    assembly
        .never_touch
        .extend(robot.never_touch.iter().map(|pair| pair.map(|link| body_of_link[link])));
    Ok(())
}

fn kind(kind: &urdf::JointType) -> JointKind {
    match kind {
        urdf::JointType::Fixed => JointKind::Fixed,
        urdf::JointType::Revolute { axis } => JointKind::Revolute { axis: *axis },
        urdf::JointType::Continuous { axis } => JointKind::Continuous { axis: *axis },
        urdf::JointType::Prismatic { axis } => JointKind::Prismatic { axis: *axis },
        urdf::JointType::Planar { .. } => JointKind::Planar,
        urdf::JointType::Floating => JointKind::Free,
    }
}

fn add_shapes(
    assembly: &mut Assembly,
    body: usize,
    link: &urdf::Link,
    shapings: &Shapings<'_>,
    defaults: &Defaults,
    notes: &mut Notes,
) -> Result<(), SceneError> {
    let grey = [0.7, 0.7, 0.72, 1.0];
    let mut has_visual = false;
    let visuals = if assembly.looks { link.visuals.as_slice() } else { &[] };
    for (k, visual) in visuals.iter().enumerate() {
        let name = format!("{}/visual{k}", assembly.bodies[body]);
        let color = visual.color.or(defaults.color).unwrap_or(grey);
        match &visual.geometry {
            Geometry::Mesh { path, scale } => {
                match Looks::read(path, *scale, &mut assembly.textures) {
                    Ok(looks) => {
                        notes.add(path, &looks.notes);
                        let shape = DrawnShape {
                            body,
                            name,
                            X_BG: visual.origin,
                            geometry: DrawnGeometry::HalfSpace,
                            color,
                            paint: None,
                            role: ShapeRole::Visual,
                        };
                        assembly.drawing.extend(looks.shapes(&shape));
                    }
                    Err(error) => {
                        assembly.warnings.push(format!("{error}; this visual is not drawn"));
                        continue;
                    }
                }
            }
            other => {
                let Some(shape) = primitive(other) else { continue };
                let geometry = drawn(&shape);
                assembly.draw(body, &name, visual.origin, geometry, color, ShapeRole::Visual);
            }
        }
        has_visual = true;
    }
    let mut pieces = Vec::new();
    for collision in &link.collisions {
        let shapes = match &collision.geometry {
            Geometry::Mesh { path, scale } => {
                let shaping = shapings.of(&link.name);
                let file = path.display().to_string();
                let at_file = |e: SceneError| {
                    if e.file.is_empty() { SceneError::new(&file, None, "", e.message) } else { e }
                };
                let convex = shaping.convex(path, *scale, false, &at_file)?;
                if !shaping.is_plain() {
                    let (body, words) = (&assembly.bodies[body], convex.words(&shaping));
                    assembly.notes.push(format!("{body}: {file} is {words}"));
                }
                convex.shapes().collect()
            }
            other => primitive(other).into_iter().collect::<Vec<Shape>>(),
        };
        pieces.extend(shapes.into_iter().map(|shape| Piece {
            cloud: None,
            name: None,
            drawn: drawn(&shape),
            shape,
            X_BG: collision.origin,
            friction: collision.friction.map_or(Given::default(), Given::sliding),
            color: None,
            collides: true,
            visible: !has_visual,
            weight: Weight::OfShape,
        }));
    }
    assembly.add_pieces(body, pieces, defaults, false);
    Ok(())
}

/// A shape that needs no file.
fn primitive(geometry: &Geometry) -> Option<Shape> {
    Some(match geometry {
        Geometry::Box { half } => Shape::Box { half: *half },
        Geometry::Sphere { radius } => Shape::Sphere { radius: *radius },
        Geometry::Cylinder { radius, half_length } => {
            Shape::Cylinder { radius: *radius, half_length: *half_length }
        }
        Geometry::Capsule { radius, half_length } => {
            Shape::Capsule { radius: *radius, half_length: *half_length }
        }
        Geometry::Mesh { .. } => return None,
    })
}
