//! Adds the contents of a robot or scene file, in any format, to a scene.

use crate::assembly::{Assembly, Defaults, NewBody};
use crate::collision_mesh::{Shaping, Shapings};
use crate::collisions::{Instance, SelfCollision};
use crate::curve::Curve;
use crate::document::{At, Map, is_later_replica, pose};
use crate::drawn_mesh::{Looks, Notes};
use crate::friction::{self, Given};
use crate::joints::{Limit, Settings, chain, coordinates_of, fit_start, joint_pose, start};
use crate::mass::MASSLESS;
use crate::model_start;
use crate::names::fits;
use crate::rules::Rules;
use crate::shapes::{Piece, Weight, drawn};
use crate::start_velocity::StartVelocity;
use quasistep::{
    AdhesionPad, Constraint, ConstraintKind, DEFAULT_REACH, Holds, Sensor, SensorKind, Switch,
};
use quasistep_formats::description::{
    self, Constraint as Loop, Description, ForceSensor, Geometry, Joint, Link,
};
use quasistep_formats::{Format, Options, Places, SceneError, Srdf, unknown};
use quasistep_geometry::{Polytope, Shape};
use quasistep_math::{Pose, Vec3};
use quasistep_model::{BodyInertia, Frame, JointKind, Mimic};
use quasistep_record::{DrawnGeometry, DrawnShape, NamedFrame, ShapeRole};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Keys of a model that is read from a file, in addition to the format's key and those of every
/// model.
pub(crate) const KEYS: [&str; 11] = [
    "keyframe",
    "open_anywhere",
    "srdf",
    "packages",
    "repair",
    "self_collision",
    "collision_mesh",
    "pose",
    "joint",
    "start",
    "start_velocity",
];

/// Scene settings around a robot or scene file.
pub(crate) struct Entry<'e, 'a> {
    /// Name of the model.
    pub model: &'e str,
    /// Place that names the file.
    pub at: &'e At<'a>,
    pub format: Format,
    /// The model's mapping in the scene.
    pub map: &'e Map<'a>,
    /// Folder to which paths are relative.
    pub dir: &'e Path,
    /// Index of the body on which the model stands.
    pub parent: usize,
    pub rules: &'e Rules<'a>,
    pub defaults: &'e Defaults,
    pub self_collision: SelfCollision,
}

/// Reads how the file is read.
fn read_options(entry: &Entry<'_, '_>) -> Result<Options, SceneError> {
    let map = entry.map;
    let mut options = Options::default();
    if let Some(given) = map.get("packages") {
        for (name, folder) in given.entries()? {
            options.packages.insert(name.to_owned(), entry.dir.join(folder.text()?));
        }
    }
    options.refuse_repairs = match map.get("repair") {
        None => false,
        Some(at) => at.word(&[("nearest", false), ("error", true)])?,
    };
    if let Some(at) =
        map.get("keyframe").or(map.get("open_anywhere")).filter(|_| entry.format != Format::Mjcf)
    {
        return Err(at.error("this key was seen at a file of another format; it is for `mjcf`"));
    }
    let posture = model_start::postures(map).filter(|_| entry.format == Format::Mjcf);
    if let (Some(_), Some(at)) = (&posture, map.get("keyframe")) {
        return Err(at.error("`keyframe` and `start: {posture: …}` were seen; give one of them"));
    }
    let keyframe = posture.as_ref().or(map.get("keyframe"));
    options.keyframe = keyframe.map(|at| at.text().map(str::to_owned)).transpose()?;
    options.open_anywhere = match map.get("open_anywhere") {
        None => false,
        Some(at) => at.word(&[("false", false), ("true", true)])?,
    };
    Ok(options)
}

/// Reads the SRDF file: pairs of links without collisions, and postures at which the robot starts.
fn read_srdf(
    assembly: &mut Assembly,
    entry: &Entry<'_, '_>,
    robot: &mut Description,
    find: &dyn Fn(&At<'_>) -> Result<PathBuf, SceneError>,
) -> Result<(), SceneError> {
    let &Entry { at, map, .. } = entry;
    let mut srdf = map.get("srdf").map(|at| Srdf::read(&find(at)?, robot)).transpose()?;
    robot.never_touch.extend(srdf.iter().flat_map(|srdf| &srdf.never_touch));
    if let Some(postures) = model_start::postures(map).filter(|_| entry.format != Format::Mjcf) {
        let srdf = match &mut srdf {
            Some(srdf) => srdf,
            none => none.insert(model_start::srdf_beside(&find(at)?, &postures, robot)?),
        };
        for at in model_start::names(&postures)? {
            srdf.take_posture(at.text()?, robot).map_err(|why| at.error(why))?;
        }
    }
    assembly.warnings.extend(srdf.into_iter().flat_map(|srdf| srdf.warnings));
    Ok(())
}

/// Adds the contents of the file.
pub(crate) fn add(assembly: &mut Assembly, entry: &Entry<'_, '_>) -> Result<(), SceneError> {
    let &Entry { model, at, map, dir, .. } = entry;
    let options = read_options(entry)?;
    let find = |at: &At<'_>| -> Result<PathBuf, SceneError> {
        let places = Places { dir, packages: &options.packages };
        places
            .find(at.text()?)
            .map_err(|why| at.error(format!("{why}; a relative path starts at the scene's folder")))
    };
    let mut robot = quasistep_formats::read(entry.format, &find(at)?, &options)?;
    assembly.warnings.append(&mut robot.warnings);
    if let Some(at) = map.get("gravity").filter(|at| at.is_map()) {
        set_gravity(&mut robot, at)?;
    }
    read_srdf(assembly, entry, &mut robot, &find)?;
    let shapings = Shapings::read(map.get("collision_mesh"))?;
    let has_mesh = |link: &&Link| {
        link.collisions.iter().any(|part| matches!(part.geometry, Geometry::Mesh { .. }))
    };
    let with_mesh: Vec<&str> =
        robot.links.iter().filter(has_mesh).map(|link| link.name.as_str()).collect();
    if !is_later_replica(at) {
        assembly.warnings.extend(shapings.unused(&with_mesh));
    }
    let order = &robot.tree.order;
    let first = assembly.bodies.len();
    let mut body_of_link = vec![0; robot.links.len()];
    for (k, &link) in order.iter().enumerate() {
        body_of_link[link] = first + k;
    }
    // models of one file collide with one another like models of a scene
    let instances: Vec<usize> = (0..robot.groups.len().max(1))
        .map(|k| {
            // the first group is the model itself
            if k > 0 {
                let name = format!("{model}/{}", robot.groups[k]);
                assembly.instances.push(Instance { name, self_collision: entry.self_collision });
            }
            assembly.instances.len() - 1
        })
        .collect();
    let base = map.get("pose").map(pose).transpose()?.unwrap_or_default();
    let told = told_root(entry, &robot)?;
    let mut notes = Notes::default();
    // indices of the shapes made from each link's collision parts
    let mut geoms: Vec<Vec<Range<usize>>> = vec![Vec::new(); robot.links.len()];
    for &link in order {
        let new = match robot.tree.joint_of[link] {
            None => standing(entry, &robot.links[link], Pose::IDENTITY)?,
            Some(k) if told == Some(k) => {
                standing(entry, &robot.links[link], start_of(&robot.joints[k], at)?)?
            }
            Some(k) => hanging(entry, &robot, k, &body_of_link, base)?,
        };
        let body = assembly.add_body(new)?;
        assembly.instance_of[body] = instances[robot.links[link].group] as u32;
        let shaping = shaping_of(entry, &robot, link, &shapings);
        geoms[link] =
            add_shapes(assembly, body, &robot.links[link], &shaping, entry.defaults, &mut notes)?;
    }
    for pair in &robot.pairs {
        let [of_a, of_b] = pair.parts.map(|(link, part)| geoms[link][part].clone());
        for a in of_a {
            assembly.pairs.extend(of_b.clone().map(|b| friction::of_pair((a, b), pair)));
        }
    }
    assembly.warnings.extend(notes.into_warnings());
    assembly
        .never_touch
        .extend(robot.never_touch.iter().map(|pair| pair.map(|link| body_of_link[link])));
    let bodies = Bodies { of_link: &body_of_link, parent: entry.parent, base };
    add_constraints(assembly, model, &robot, &bodies);
    add_pads(assembly, model, &robot, &body_of_link);
    assembly.sensors.extend(robot.sensors.iter().map(|sensor| bodies.sensor(model, sensor)));
    assembly.named_frames.extend(robot.frames.iter().map(|given| bodies.named(model, given)));
    Ok(())
}

/// Adds the constraints of a description; those that are not active have a switch, which is off.
fn add_constraints(assembly: &mut Assembly, model: &str, robot: &Description, bodies: &Bodies<'_>) {
    for (k, given) in robot.constraints.iter().enumerate() {
        let mut constraint = bodies.constraint(model, robot, given);
        if robot.inactive.contains(&k) {
            constraint.switch = Some(Switch { holds: Holds::Given, within: f64::INFINITY });
        }
        assembly.constraints.1.extend(constraint.switch.map(|_| Curve::Constant(0.0)));
        assembly.constraints.0.push(constraint);
    }
}

/// Adds the pads of a description, each with its command at the start.
fn add_pads(assembly: &mut Assembly, model: &str, robot: &Description, body_of_link: &[usize]) {
    for pad in &robot.pads {
        let body = body_of_link[pad.link];
        let geoms = (0..assembly.geoms.len()).filter(|k| assembly.geoms[*k].body == body).collect();
        let mut name = format!("{model}.{}", pad.name);
        // a joint may have the same name
        if assembly.joints.contains(&name) {
            name.push_str(".adhesion");
        }
        let own = AdhesionPad { name, geoms, pull: pad.pull, reach: DEFAULT_REACH, seals: false };
        assembly.pads.push((own, pad.share));
    }
}

/// Bodies of a description's links, and the base on which it stands.
struct Bodies<'a> {
    of_link: &'a [usize],
    parent: usize,
    /// Pose of the description in its base body.
    base: Pose,
}

impl Bodies<'_> {
    fn frame(&self, link: Option<usize>, X: Pose) -> Frame {
        match link {
            Some(link) => Frame { body: self.of_link[link], X_BF: X },
            None => Frame { body: self.parent, X_BF: self.base * X },
        }
    }

    fn named(&self, model: &str, given: &description::NamedFrame) -> NamedFrame {
        let Frame { body, X_BF } = self.frame(given.link, given.pose);
        NamedFrame { name: format!("{model}/{}", given.name), body, X_BF }
    }

    fn sensor(&self, model: &str, given: &ForceSensor) -> Sensor {
        let frame = self.frame(Some(given.link), given.pose);
        let kind = SensorKind::ForceTorque { frame, on_child: true };
        Sensor { name: format!("{model}/{}", given.name), kind }
    }

    fn constraint(&self, model: &str, robot: &Description, given: &Loop) -> Constraint {
        let (name, kind) = match given {
            Loop::Connect { name, links, points } => {
                let at = |k: usize| self.frame(links[k], Pose::from_translation(points[k]));
                (name, ConstraintKind::Connect { a: at(0), b: at(1) })
            }
            Loop::Weld { name, links, poses } => {
                let at = |k: usize| self.frame(links[k], poses[k]);
                (name, ConstraintKind::Weld { a: at(0), b: at(1) })
            }
            Loop::Coupling { name, terms, offset } => {
                let of_joint =
                    |(joint, c): &(usize, f64)| (self.of_link[robot.joints[*joint].child], *c);
                let terms = terms.iter().map(of_joint).collect();
                (name, ConstraintKind::Coupling { terms, offset: *offset })
            }
        };
        Constraint { name: format!("{model}.{name}"), kind, switch: None }
    }
}

/// Sets which links feel gravity, by name patterns; the last pattern that matches a link applies.
fn set_gravity(robot: &mut Description, at: &At<'_>) -> Result<(), SceneError> {
    for (pattern, at) in at.entries()? {
        let compensated = if at.boolean()? { 0.0 } else { 1.0 };
        let mut fitting =
            robot.links.iter_mut().filter(|link| fits(pattern, &link.name)).peekable();
        if fitting.peek().is_none() {
            let names: Vec<&str> = robot.links.iter().map(|link| link.name.as_str()).collect();
            return Err(at.error(unknown("link", pattern, &names)));
        }
        fitting.for_each(|link| link.compensated = compensated);
    }
    Ok(())
}

/// Mass properties of a link; zero for a frame.
fn inertia(link: &Link) -> BodyInertia {
    link.inertial.unwrap_or(MASSLESS)
}

/// Index of the free joint at the root, if the scene overrides how the description stands; the
/// description must have only one root.
fn told_root(entry: &Entry<'_, '_>, robot: &Description) -> Result<Option<usize>, SceneError> {
    let map = entry.map;
    let told = map.get("joint").or(model_start::of_joint(map)).or(map.get("start_velocity"));
    let Some(told) = told else { return Ok(None) };
    let order = robot.tree.order.iter();
    let joint_of = |link: &usize| robot.tree.joint_of[*link];
    let roots: Vec<Option<usize>> = order
        .map(joint_of)
        .filter(|joint| joint.is_none_or(|k| robot.joints[k].parent.is_none()))
        .collect();
    match *roots.as_slice() {
        [None] => Ok(None),
        [Some(k)] if robot.joints[k].kind == JointKind::Free => Ok(Some(k)),
        [Some(_)] => Err(told.error("the file says what its first link stands on; leave this out")),
        _ => {
            let n = roots.len();
            Err(told.error(format!("{n} bodies of the file stand on their own; leave this out")))
        }
    }
}

/// Start pose of a free joint in its parent.
fn start_of(joint: &Joint, at: &At<'_>) -> Result<Pose, SceneError> {
    let start = joint.start.as_ref().map(|q| fit_start(q, &joint.kind, at)).transpose()?;
    Ok(joint.origin * start.map_or(Pose::IDENTITY, |q| joint_pose(&joint.kind, &q)))
}

/// Share of gravity that acts on a link.
fn gravity_on(link: &Link, defaults: &Defaults) -> f64 {
    if defaults.gravity { 1.0 - link.compensated } else { 0.0 }
}

/// Joint of a root link, as the scene places it. `X_start` is its pose in the file.
fn standing<'e, 'a>(
    entry: &Entry<'e, 'a>,
    link: &Link,
    X_start: Pose,
) -> Result<NewBody<'e, 'a>, SceneError> {
    let &Entry { model, at, map, parent, rules, defaults, .. } = entry;
    let links = map.get("joint").map(chain).transpose()?.unwrap_or_default();
    let kind = match links.as_slice() {
        [] => JointKind::Fixed,
        [one] if one.name.is_none() => one.kind,
        _ => return Err(at.error("a list of slides and hinges was seen as the joint of a robot's root; give `fixed`, `free`, `planar` or `ball`")),
    };
    // patterns with `*` match joints of the robot, not the joint at its root
    let mut settings: Settings = rules.of(model, false);
    if let Some(at) = model_start::of_joint(map) {
        settings.start.get_or_insert(start(at)?);
    }
    if let (Some(at), None) = (map.get("start_velocity"), &settings.start_velocity) {
        settings.start_velocity = Some(StartVelocity::read(at)?);
    }
    let pose_at = map.get("pose");
    let mut X_PF = pose_at.map(pose).transpose()?.unwrap_or_default() * X_start;
    if matches!(kind, JointKind::Free) {
        if let (Some(_), Some(pose)) = (&settings.start, pose_at) {
            return Err(pose.error(
                "`pose` and `start` were seen on a free robot; both say where it starts: give one",
            ));
        }
        settings.start.get_or_insert(coordinates_of(&X_PF));
        X_PF = Pose::IDENTITY;
    }
    let name = format!("{model}/{}", link.name);
    let gravity = gravity_on(link, defaults);
    let own = NewBody::new(name, model.to_owned(), parent, kind, at);
    Ok(NewBody { X_PF, inertia: inertia(link), gravity, settings, ..own })
}

/// Body for the child of joint `k`. `base` is the pose of the description in its base body.
fn hanging<'e, 'a>(
    entry: &Entry<'e, 'a>,
    robot: &Description,
    k: usize,
    body_of_link: &[usize],
    base: Pose,
) -> Result<NewBody<'e, 'a>, SceneError> {
    let &Entry { model, at, rules, defaults, .. } = entry;
    let joint = &robot.joints[k];
    let link = &robot.links[joint.child];
    let mimic = joint.mimic.as_ref().map(|m| {
        let leader = robot.joints.iter().find(|other| other.name == m.joint);
        Mimic {
            body: leader.map_or(0, |leader| body_of_link[leader.child]),
            multiplier: m.multiplier,
            offset: m.offset,
        }
    });
    // patterns with `*` drive joints, not bodies that move freely
    let has_own = mimic.is_none() && joint.kind.n_v() > 0 && joint.kind != JointKind::Free;
    let mut settings = rules.of(&joint.name, has_own);
    // the limits of a follower are limits of its leader: what drops these drops those
    if mimic.is_some() && rules.of(&joint.name, true).limits == Limit::Drop {
        settings.limits = Limit::Drop;
    }
    if joint.prescribed {
        settings.follow_command();
    }
    if settings.start.is_none() {
        settings.start.clone_from(&joint.start);
    }
    if let (None, Some(rates)) = (&settings.start_velocity, &joint.velocity) {
        let mut rates = rates.clone();
        if joint.kind == JointKind::Free && joint.parent.is_none() {
            for part in rates.chunks_exact_mut(3) {
                let turned = base.rotation.rotate(Vec3::new(part[0], part[1], part[2]));
                part.copy_from_slice(&turned.to_array());
            }
        }
        settings.start_velocity = Some(StartVelocity::Rates(rates));
    }
    let (mut X_PF, parent) = match joint.parent {
        Some(parent) => (joint.origin, body_of_link[parent]),
        None => (base * joint.origin, entry.parent),
    };
    // coordinates of a free body are its pose in its parent
    if joint.kind == JointKind::Free && joint.parent.is_none() {
        let start = settings.start.take();
        let start = start.map(|q| fit_start(&q, &joint.kind, at)).transpose()?;
        let X_FM = start.map_or(Pose::IDENTITY, |q| joint_pose(&joint.kind, &q));
        settings.start = Some(coordinates_of(&(X_PF * X_FM)));
        X_PF = Pose::IDENTITY;
    }
    let own = NewBody::new(
        format!("{model}/{}", link.name),
        format!("{model}.{}", joint.name),
        parent,
        joint.kind,
        rules.place(&joint.name).unwrap_or(at),
    );
    Ok(NewBody {
        X_PF,
        inertia: inertia(link),
        limits: joint.limits,
        mimic,
        gravity: gravity_on(link, defaults),
        effort: joint.effort,
        resistance: Some([joint.damping, joint.friction, joint.armature]),
        drive: joint.drive,
        torque: joint.torque,
        settings,
        ..own
    })
}

/// What becomes of the collision meshes of a link. Links of SDFormat that cannot move are scenery,
/// which is triangles in Gazebo.
fn shaping_of<'a>(
    entry: &Entry<'_, 'a>,
    robot: &Description,
    link: usize,
    shapings: &Shapings<'a>,
) -> Shaping<'a> {
    let shaping = shapings.of(&robot.links[link].name);
    let joint = robot.tree.joint_of[link].map(|k| &robot.joints[k]);
    let is_still = joint.is_some_and(|j| j.parent.is_none() && j.kind.n_v() == 0);
    if entry.format == Format::Sdf && is_still { shaping.or_sheet() } else { shaping }
}

/// Draws the visuals of a link; returns whether there is one.
fn draw_visuals(
    assembly: &mut Assembly,
    body: usize,
    link: &Link,
    defaults: &Defaults,
    notes: &mut Notes,
) -> bool {
    /// Colour of meshes whose files give none.
    const GREY: [f32; 4] = [0.7, 0.7, 0.72, 1.0];
    let fallback = assembly.fallback_color(body);
    let mut has_visual = false;
    let visuals = if assembly.looks { link.visuals.as_slice() } else { &[] };
    for (k, visual) in visuals.iter().enumerate() {
        let name = format!("{}/visual{k}", assembly.bodies[body]);
        let is_mesh = matches!(visual.geometry, Geometry::Mesh { .. });
        let color =
            visual.color.or(defaults.color).unwrap_or(if is_mesh { GREY } else { fallback });
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
                let hull = || match other {
                    Geometry::Points(points) => Polytope::from_points(points).ok(),
                    _ => None,
                };
                let of_points = || hull().map(|hull| Shape::Polytope(Arc::new(hull)));
                let Some(shape) = primitive(other).or_else(of_points) else { continue };
                let geometry = drawn(&shape);
                assembly.draw(body, &name, visual.origin, geometry, color, ShapeRole::Visual);
            }
        }
        has_visual = true;
    }
    has_visual
}

/// Adds the shapes of a link; returns the range of scene shapes for each collision part.
fn add_shapes(
    assembly: &mut Assembly,
    body: usize,
    link: &Link,
    shaping: &Shaping<'_>,
    defaults: &Defaults,
    notes: &mut Notes,
) -> Result<Vec<Range<usize>>, SceneError> {
    let has_visual = draw_visuals(assembly, body, link, defaults, notes);
    let mut pieces = Vec::new();
    let mut parts = Vec::new();
    for collision in &link.collisions {
        let shapes = match &collision.geometry {
            Geometry::Mesh { path, scale } => {
                let file = path.display().to_string();
                let at_file = |e: SceneError| {
                    if e.file.is_empty() { SceneError::new(&file, None, "", e.message) } else { e }
                };
                let convex = shaping.convex(path, *scale, false, &at_file)?;
                if let Some(times) = convex.filled() {
                    assembly.filled.push((assembly.bodies[body].clone(), times));
                }
                if convex.is_told(shaping) {
                    let (body, words) = (&assembly.bodies[body], convex.words(shaping));
                    assembly.notes.push(format!("{body}: {file} is {words}"));
                }
                convex.shapes().collect()
            }
            Geometry::Points(points) => {
                let hull = Polytope::from_points(points).map_err(|e| {
                    let name = &assembly.bodies[body];
                    SceneError::new("", None, name, format!("the hull of its points: {e}"))
                })?;
                vec![Shape::Polytope(Arc::new(hull))]
            }
            other => primitive(other).into_iter().collect::<Vec<Shape>>(),
        };
        let first = assembly.geoms.len() + pieces.len();
        parts.push(first..first + shapes.len());
        if let Some(masks) = collision.masks {
            assembly.masks.extend((first..first + shapes.len()).map(|geom| (geom, masks)));
        }
        pieces.extend(shapes.into_iter().map(|shape| Piece {
            cloud: None,
            unscaled: false,
            name: collision.name.clone(),
            drawn: drawn(&shape),
            shape,
            X_BG: collision.origin,
            friction: Given::of_file(&collision.friction),
            color: collision.color,
            collides: true,
            visible: !has_visual,
            weight: Weight::OfShape,
        }));
    }
    assembly.add_pieces(body, pieces, defaults);
    Ok(parts)
}

/// A shape that needs no mesh; `None` for others.
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
        Geometry::HalfSpace => Shape::HalfSpace,
        Geometry::HeightField(field) => Shape::HeightField(field.clone()),
        Geometry::Ellipsoid { radii } => Shape::Ellipsoid { radii: *radii },
        // meshes and point sets are converted to convex shapes elsewhere
        Geometry::Mesh { .. } | Geometry::Points(_) => return None,
    })
}
