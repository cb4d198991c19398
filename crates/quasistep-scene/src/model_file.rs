//! Writes a scene around a robot file, for `quasistep new` and for commands that take a model file.

use crate::contents::counted;
use crate::frame_commands::{driven_joints, target};
use crate::model_start::srdf_of;
use crate::scene::Scene;
use quasistep::{Follower, IkSettings};
use quasistep_formats::description::{Description, Geometry, Joint, Stepping};
use quasistep_formats::{Format, Options, SceneError, Srdf, list};
use quasistep_geometry::{Aabb, Shape};
use quasistep_math::{Pose, Vec3};
use quasistep_model::{Frame, JointKind, WORLD};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

/// Position error at which a spring reaches the effort limit, in rad and m. Position controllers of
/// arms and hands have about this stiffness.
const ERROR_AT_LIMIT: [f64; 2] = [0.1, 0.01];
/// Stiffness if the file gives no effort limit, in N·m/rad and N/m: enough for an arm that holds 1
/// kg.
const STIFFNESS: [f64; 2] = [100.0, 1e4];
/// Ratio of damping to stiffness, in s: the time constant of the error's decay.
const DECAY: f64 = 0.05;
/// Time step of a dynamic scene whose file gives none, in s: MuJoCo's default.
const DYNAMIC_STEP: f64 = 0.002;
/// Beginning of the comment that explains why a scene is dynamic.
pub(crate) const MOTION: &str = "# motion: dynamic, ";
/// Time step of a quasi-static scene whose file gives none, in s.
const STEP: f64 = 0.01;
/// Time step if the file is of a simulator with large steps and gives none, in s: that of most of
/// its examples.
const LARGE_STEP: f64 = 0.1;
/// Stroke of the command in the scene, in rad and m.
const STROKE: [f64; 2] = [0.3, 0.03];
/// Number of positions along the command at which the robot's lowest point is computed. Between two
/// of them a point on a hinge dips by at most 1 − cos(0.3 rad / 64) = 1.1e-5 of its radius.
const SAMPLES: usize = 32;
/// Distance of the floor below moving parts, in m. The convex step drags bodies that slide nearer
/// than h mu v (Pang21 §IV-A.2). This is 0.7 mm for a wheel of 0.3 m, steps of 0.01 s, a friction
/// of 0.5, and the command's peak rate of 1.5 × 0.3 rad/s.
const CLEARANCE: f64 = 1e-3;

/// A joint that starts nearer to a limit than this starts off it, and how far off, as shares of its
/// range.
const AT_LIMIT: f64 = 0.02;
const OFF_LIMIT: f64 = 0.1;
/// Edge of the box beside a robot, and stroke of its frame, as a share of the robot's size.
const OBJECT: f64 = 0.1;
/// Density of the box, in kg/m³: that of wood.
const OBJECT_DENSITY: f64 = 500.0;
/// Names of postures from which work begins, the likeliest first.
const HOMES: [&str; 4] = ["home", "ready", "default", "neutral"];

/// A commented example scene: a finger pushes a box.
pub const FIRST_SCENE: &str = include_str!("first_scene.yml");

/// Text of a scene in `folder` around the robot or scene file `path`: joint springs, a floor, and a
/// command to edit.
///
/// A file with its own drives keeps them. A file with several models or a ground is used as it is.
/// Otherwise, stiffness and damping follow from the joints' effort limits. Joints start at 0, or at
/// the middle of limits that exclude 0. The floor is below all moving parts, also during the
/// command. A model without moving joints is a free object on the floor.
///
/// # Errors
///
/// The first mistake in the robot file, or in a file that it references.
pub fn scene_of_model(path: &Path, folder: &Path) -> Result<String, SceneError> {
    write_scene(path, folder, false)
}

/// The scene of [`scene_of_model`] for people to edit, as `quasistep new` writes it.
///
/// Around a robot without drives it has more: joints start off their limits, or in a posture of the
/// SRDF file beside the robot's, a box stands on the floor in front of the robot, a fact says so,
/// and there is a command of a frame as a comment.
///
/// # Errors
///
/// As [`scene_of_model`].
pub fn first_scene_of_model(path: &Path, folder: &Path) -> Result<String, SceneError> {
    write_scene(path, folder, true)
}

fn write_scene(path: &Path, folder: &Path, to_edit: bool) -> Result<String, SceneError> {
    let file = path.display().to_string();
    let Some(format) = Format::of(path) else {
        let formats: Vec<&str> = Format::KEYS.iter().map(|(key, _)| *key).collect();
        let message = format!("no robot's file was seen; formats are {}", list(&formats));
        return Err(SceneError::new(&file, None, "", message));
    };
    let mut robot = quasistep_formats::read(format, path, &Options::default())?;
    let name = model_name(path);
    let mut text = Text {
        kind: Kind::of(&robot),
        address: (format.key(), relative(path, folder).display().to_string()),
        posture: None,
        name,
    };
    // where a file starts its joints, the scene need not say it
    robot.joints.iter_mut().for_each(|joint| joint.start = None);
    let to_edit = to_edit && text.kind == Kind::Robot;
    if to_edit {
        text.posture = take_posture(path, &mut robot);
        leave_limits(&mut robot);
    }
    let draft = text.of(&robot, 0.0, None);
    if text.kind == Kind::Scene {
        return Ok(draft);
    }
    let scene = Scene::read(&draft, "", &text.name, folder, &[], &[], false)
        .map_err(|e| blame_model(e, &file))?;
    let driven = commanded(&robot).map(|j| (format!("{}.{}", text.name, j.name), j));
    let room = Room::of(&scene, driven);
    let floor = if text.kind == Kind::Object { -room.lowest } else { room.floor() };
    let extras = to_edit.then(|| Extras::new(&scene, &room, &text.name)).flatten();
    Ok(text.of(&robot, floor, extras.as_ref()))
}

/// Starts the joints in a posture of the SRDF file beside the robot's, if there is one; returns its
/// name and the joints that it starts.
fn take_posture(path: &Path, robot: &mut Description) -> Option<(String, Vec<usize>)> {
    let srdf = Srdf::read(&srdf_of(path)?, robot).ok()?;
    let named = |name: &str| srdf.postures.iter().find(|posture| posture.name == name);
    let posture = HOMES.iter().find_map(|name| named(name)).or(srdf.postures.first())?;
    srdf.take_posture(&posture.name, robot).ok()?;
    let started = |k: &usize| robot.joints[*k].start.is_some();
    Some((posture.name.clone(), (0..robot.joints.len()).filter(started).collect()))
}

/// Starts joints off their limits where 0 is at one of them.
fn leave_limits(robot: &mut Description) {
    for joint in &mut robot.joints {
        let Some([lower, upper]) = joint.limits.filter(|_| is_slide(&joint.kind).is_some()) else {
            continue;
        };
        let range = upper - lower;
        let near = AT_LIMIT * range;
        let start = match (-lower, upper) {
            (below, above) if below < 0.0 || above < 0.0 || !(range > 0.0) => continue,
            (below, _) if below < near => lower + OFF_LIMIT * range,
            (_, above) if above < near => upper - OFF_LIMIT * range,
            _ => continue,
        };
        if range.is_finite() && joint.mimic.is_none() {
            joint.start.get_or_insert(vec![round(start)]);
        }
    }
}

/// An error of a scene that [`scene_of_model`] wrote, as one of the model's `file`: the user knows
/// neither the lines of the scene nor its keys. Errors of other files and arguments stay.
pub(crate) fn blame_model(error: SceneError, file: &str) -> SceneError {
    if !error.file.is_empty() || error.key.starts_with("--set") {
        return error;
    }
    let of_model = error.key.strip_prefix("models").map(|rest| {
        let own = rest.trim_start_matches('.').split_once('.').map_or("", |(_, own)| own);
        if Format::KEYS.iter().any(|(key, _)| *key == own) { "" } else { own }
    });
    let key = of_model.unwrap_or(&error.key).to_owned();
    SceneError { file: file.to_owned(), key, ..error }
}

/// Where the shapes of a robot are, at the start and during the command.
struct Room {
    /// Height of the lowest point of moving shapes, in m.
    lowest: f64,
    /// Height of the lowest point of its base, in m; infinity without a shape.
    base: f64,
    /// Bounding box of all shapes, and of the origins of moving bodies.
    bounds: Aabb,
}

impl Room {
    /// The room of a robot of which this joint moves.
    fn of(scene: &Scene, commanded: Option<(String, &Joint)>) -> Self {
        let system = &scene.system;
        let model = system.model();
        let mut kin = model.create_kinematics();
        let [lowest, base] = [f64::INFINITY; 2];
        let mut room = Self { lowest, base, bounds: Aabb::EMPTY };
        let mut q = scene.start.q.clone();
        let own = commanded.and_then(|(name, joint)| {
            let index = model.coordinate_names().iter().position(|n| *n == name)?;
            Some((index, stroke(joint)))
        });
        for k in 0..=SAMPLES {
            if let Some((index, (start, end))) = own {
                q[index] = start + (end - start) * k as f64 / SAMPLES as f64;
            }
            model.kinematics(&q, &mut kin);
            for geom in system.geoms().iter().filter(|geom| geom.shape != Shape::HalfSpace) {
                let own = geom.shape.aabb(&(kin.X_WB[geom.body] * geom.X_BG));
                room.bounds.min = room.bounds.min.min(own.min);
                room.bounds.max = room.bounds.max.max(own.max);
                let moves = !model.path(geom.body).is_empty();
                let low = if moves { &mut room.lowest } else { &mut room.base };
                *low = low.min(own.min.z);
            }
            for body in (1..model.n_bodies()).filter(|body| !model.path(*body).is_empty()) {
                let origin = kin.X_WB[body].translation;
                room.bounds.min = room.bounds.min.min(origin);
                room.bounds.max = room.bounds.max.max(origin);
            }
        }
        if !room.lowest.is_finite() {
            room.lowest = 0.0;
        }
        room
    }

    /// Height of a floor that nothing touches but the base.
    fn floor(&self) -> f64 {
        let grid = |z: f64| (z * 1e4).floor() * 1e-4;
        (grid(self.lowest) - CLEARANCE).min(grid(self.base)).min(0.0)
    }
}

/// What a scene for people to edit has more.
struct Extras {
    /// Name of the box.
    object: &'static str,
    /// Edge of the box, in m.
    edge: f64,
    /// Where it stands, in x and y.
    place: [f64; 2],
    /// A command of a frame, as lines without their indentation.
    frame: Option<String>,
}

impl Extras {
    fn new(scene: &Scene, room: &Room, model: &str) -> Option<Self> {
        let Aabb { min, max } = room.bounds;
        let size = (max - min).to_array().into_iter().fold(0.0, f64::max);
        if !(size > 0.0 && size.is_finite()) {
            return None;
        }
        // one digit
        let edge: f64 = format!("{:.0e}", OBJECT * size).parse().ok()?;
        let object = if model == "box" { "object" } else { "box" };
        let place = [max.x + edge, 0.5 * (min.y + max.y)].map(round);
        Some(Self { object, edge, place, frame: frame_command(scene, OBJECT * size) })
    }
}

/// A command that moves the end of the longest chain of hinges by `way` (m) and back; `None` if it
/// cannot move.
fn frame_command(scene: &Scene, way: f64) -> Option<String> {
    let (system, q) = (&scene.system, &scene.start.q);
    let model = system.model();
    let rank = |body: usize| {
        let way = std::iter::successors(Some(body), |b| Some(model.body(*b).parent));
        let way: Vec<_> = way.take_while(|b| *b != WORLD).map(|b| model.body(b).joint).collect();
        let count = |slides| way.iter().filter(|kind| is_slide(kind) == Some(slides)).count();
        (count(false), Reverse(count(true)), way.len())
    };
    // of equals the last one counts
    let body = (1..model.n_bodies()).rev().max_by_key(|body| rank(*body))?;
    let settings =
        IkSettings { joints: Some(driven_joints(system, body)), ..IkSettings::default() };
    let frame = Frame { body, X_BF: Pose::IDENTITY };
    let mut follower = Follower::new(system, &frame, q, &settings).ok()?;
    let start = follower.pose();
    let axes = [Vec3::Z, Vec3::X, Vec3::Y];
    let ways: Vec<Vec3> = axes.iter().flat_map(|axis| [*axis * -way, *axis * way]).collect();
    for (way, free) in ways.iter().map(|w| (w, false)).chain(ways.iter().map(|w| (w, true))) {
        let end = start.translation + *way;
        follower.reset(q);
        let goal = target(&Pose::new(start.rotation, end), free);
        if follower.go_to(&goal).is_err() {
            continue;
        }
        let [there, back] =
            [end, start.translation].map(|p| p.to_array().map(|x| round(x).to_string()).join(", "));
        let name = quoted(&model.body(body).name);
        let free = if free { "\n  orientation: free" } else { "" };
        return Some(format!(
            "- frame: {name}{free}\n  timing: smooth\n  knots: [[0, {{}}], [1, {{xyz: [{there}]}}], [2, {{xyz: [{back}]}}]]"
        ));
    }
    None
}

/// The joint to command: the first with the largest stroke of its kind, else the first with any
/// stroke.
fn commanded(robot: &Description) -> Option<&Joint> {
    let width = |joint: &&Joint| {
        let (start, end) = stroke(joint);
        let full = STROKE[usize::from(is_slide(&joint.kind) == Some(true))];
        ((end - start) / full).abs()
    };
    let joints = drives(robot);
    let widest = joints.iter().map(width).fold(0.0, f64::max);
    joints.into_iter().find(|joint| width(joint) >= widest)
}

/// Joints with springs, from the root outwards.
fn drives(robot: &Description) -> Vec<&Joint> {
    let order = robot.tree.order.iter();
    order
        .filter_map(|&link| robot.tree.joint_of[link].map(|k| &robot.joints[k]))
        .filter(|joint| is_slide(&joint.kind).is_some() && joint.mimic.is_none())
        .collect()
}

/// The reason why the motion of a file is dynamic: something moves, and no drive holds a position
/// or velocity. `None` if it is not, or if the format does not define drives.
fn momentum(robot: &Description) -> Option<String> {
    let drives = robot.drives.filter(|drives| drives.positions == 0)?;
    let moving = || robot.joints.iter().filter(|joint| joint.kind.n_v() > 0);
    let free = moving().filter(|joint| joint.kind == JointKind::Free).count();
    let rest = "`--motion quasi_static` (`step.motion`) leaves momentum out";
    match (drives.forces, moving().count()) {
        (_, 0) => None,
        (0, n) => {
            let does = match (free, n - free) {
                (_, 0) => "free bodies fall and settle",
                (0, _) => "joints swing as gravity pulls them",
                _ => "free bodies fall and settle, joints swing",
            };
            let help = if n > free { "; a `stiffness` under `joints` drives a joint" } else { "" };
            Some(format!("for nothing in the file drives it: {does}{help}; {rest}"))
        }
        (n, _) => {
            let motors = counted(n, "motor", "motors");
            let force = robot.joints.iter().any(|joint| joint.torque != 0.0);
            let idle = if force { "as its keyframe says" } else { "with nothing" };
            let push = if n == 1 { "pushes" } else { "push" };
            Some(format!(
                "for the file is driven by {motors} alone, which {push} {idle} until `commands` tell a `torque`; {rest}"
            ))
        }
    }
}

/// Joints of the links that stand on their own; `None` for one that the scene places.
fn roots(robot: &Description) -> impl Iterator<Item = Option<&Joint>> {
    let of = |&link: &usize| robot.tree.joint_of[link].map(|k| &robot.joints[k]);
    let all = robot.tree.order.iter().map(of);
    all.filter(|joint| joint.is_none_or(|joint| joint.parent.is_none()))
}

/// True if the scene says what a file with one root stands on. The file does if it holds its root
/// by a joint. A free root counts as held where the format names drives: it is meant to be free.
fn is_placed_here(robot: &Description) -> bool {
    roots(robot).all(|joint| {
        joint.is_none_or(|joint| joint.kind == JointKind::Free && robot.drives.is_none())
    })
}

/// Kind of file, as far as the scene around it depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Several models, or a ground: a scene of its own.
    Scene,
    /// A robot with drives in its file.
    Driven,
    /// A robot whose drives the scene defines.
    Robot,
    /// A free object.
    Object,
}

impl Kind {
    fn of(robot: &Description) -> Self {
        let is_ground = |link: &&usize| {
            robot.links[**link]
                .collisions
                .iter()
                .any(|part| matches!(part.geometry, Geometry::HalfSpace | Geometry::HeightField(_)))
        };
        let stays = !robot.joints.iter().any(|joint| joint.kind.n_v() > 0);
        if robot.stepping.is_some()
            || momentum(robot).is_some()
            || roots(robot).count() != 1
            || robot.groups.len() > 1
            || robot.tree.order.iter().any(|l| is_ground(&l))
            || stays && !is_placed_here(robot)
        {
            return Self::Scene;
        }
        let has_mass = robot.links.iter().any(|l| l.inertial.is_some_and(|i| i.mass > 0.0));
        // URDF files call what never moves `world`; a frame that carries free joints is no object
        let first = robot.tree.order.first().map(|&link| &robot.links[link]);
        let is_base = first.is_some_and(|l| l.name == "world" || !stays && l.inertial.is_none());
        if robot.drives.is_some() || robot.joints.iter().any(|joint| joint.drive.is_some()) {
            Self::Driven
        } else if drives(robot).is_empty() && has_mass && !is_base && is_placed_here(robot) {
            Self::Object
        } else {
            Self::Robot
        }
    }
}

/// What the text of a scene says of its robot's file.
struct Text {
    kind: Kind,
    /// Name of the model.
    name: String,
    /// Key and path of the file.
    address: (&'static str, String),
    /// Posture in which the robot starts, and the joints that it starts.
    posture: Option<(String, Vec<usize>)>,
}

impl Text {
    /// The scene's text. `height` is that of the floor, or that of a free object on a floor at 0, in
    /// m.
    fn of(&self, robot: &Description, height: f64, extras: Option<&Extras>) -> String {
        let Self { kind, name, address: (format, address), .. } = self;
        let key = quoted(name);
        let mut text = format!(
            "# {name}: edit this, look at it with `quasistep check`, run it with `quasistep run`.\n\
             title: {key}\n"
        );
        if let Some([x, y, z]) = robot.gravity {
            let _ = writeln!(text, "gravity: [{x}, {y}, {z}]  # m/s²");
        }
        if let Some(stepping) = &robot.stepping {
            text.push_str(&step_of(stepping, robot.time_step));
        } else {
            let why = momentum(robot);
            let default = if why.is_some() { DYNAMIC_STEP } else { STEP };
            let size = robot.time_step.unwrap_or(default);
            let motion = if why.is_some() { ", motion: dynamic" } else { "" };
            if let Some(why) = why {
                let _ = writeln!(text, "{MOTION}{why}");
            }
            let _ = writeln!(text, "step: {{size: {size}, duration: 2{motion}}}  # s");
        }
        let _ = writeln!(text, "models:\n  {key}:\n    {format}: {}", quoted(address));
        if *kind == Kind::Object {
            let _ = writeln!(text, "    joint: free\n    pose: {{xyz: [0, 0, {}]}}", round(height));
        }
        if *kind == Kind::Robot {
            text.push_str(&self.settings(robot));
        }
        let floor = if *kind == Kind::Object { 0.0 } else { round(height) };
        if *kind != Kind::Scene {
            let _ = writeln!(
                text,
                "  floor: {{joint: fixed, pose: {{xyz: [0, 0, {floor}]}}, shape: {{half_space: {{}}}}}}"
            );
        }
        if let Some(extras) = extras {
            text.push_str(&extras.object(floor));
        }
        if let (Kind::Robot, Some(joint)) = (kind, commanded(robot)) {
            let (start, end) = stroke(joint);
            let coordinate = quoted(&format!("{name}.{}", joint.name));
            let _ = writeln!(
                text,
                "commands:\n  # t in s, values in rad or m; joints without a command hold\n  - joint: {coordinate}\n    \
                 cubic: {{t: [0, 1, 2], values: [{start}, {end}, {start}]}}"
            );
            text.push_str(&extras.map_or_else(String::new, Extras::frame_in_words));
        }
        text.push_str(&extras.map_or_else(String::new, |extras| extras.facts(floor)));
        text
    }

    /// Settings of a robot without drives of its own.
    fn settings(&self, robot: &Description) -> String {
        let mut text = String::new();
        if is_placed_here(robot) {
            text.push_str(
                "    joint: fixed  # its base stays; `free`: it moves as forces demand\n",
            );
        }
        text.push_str(
            "    gravity: false  # its controllers carry its weight; `true`: it hangs on the springs below\n    \
             self_collision: auto  # links that overlap at the start never touch; also: all, none\n",
        );
        if let Some((posture, _)) = &self.posture {
            let name = quoted(posture);
            let _ = writeln!(text, "    start: {{posture: {name}}}  # of its SRDF file");
        }
        let moving = drives(robot);
        if !moving.is_empty() {
            text.push_str(
                "    joints:\n      # springs to the commands: the file's effort limit at an error of 0.1 rad or 0.01 m\n",
            );
        }
        let started: BTreeSet<&str> = (self.posture.iter().flat_map(|(_, joints)| joints))
            .map(|k| robot.joints[*k].name.as_str())
            .collect();
        for joint in &moving {
            text.push_str(&drive(joint, started.contains(joint.name.as_str())));
        }
        text
    }
}

impl Extras {
    /// Half of an edge, in m: the height of the box above the floor.
    fn half(&self) -> f64 {
        0.5 * self.edge
    }

    /// The box among the models.
    fn object(&self, floor: f64) -> String {
        let Self { object, edge, place: [x, y], .. } = self;
        let z = round(floor + self.half());
        format!(
            "  {object}:  # it moves freely: push it, or pick it up\n    density: {OBJECT_DENSITY}  # kg/m³\n    pose: {{xyz: [{x}, {y}, {z}]}}\n    \
             shape: {{box: {{size: [{edge}, {edge}, {edge}]}}}}\n"
        )
    }

    /// The command of a frame, as a comment.
    fn frame_in_words(&self) -> String {
        let Some(command) = &self.frame else { return String::new() };
        let lines: Vec<String> = command.lines().map(|line| format!("  # {line}\n")).collect();
        format!(
            "  # or, in place of that, a frame goes along lines and the joints follow; poses in the world, m and rad:\n{}",
            lines.concat()
        )
    }

    fn facts(&self, floor: f64) -> String {
        let (object, value) = (self.object, round(floor + self.half()));
        let tolerance = 1e-3 * self.edge;
        format!(
            "facts:\n  # what `quasistep run --strict` checks\n  \
             - {{at: 2, height: {object}, value: {value}, tolerance: {tolerance:e}, source: it rests on the floor}}\n"
        )
    }
}

/// Step settings of Pang21 (10) as the other simulator uses them.
fn step_of(stepping: &Stepping, time_step: Option<f64>) -> String {
    let number = |x: f64| if x == f64::INFINITY { ".inf".to_owned() } else { x.to_string() };
    let Stepping { edges, contact_margin, has_mass, mass_scale } = stepping;
    let size = time_step.unwrap_or(LARGE_STEP);
    let cone = edges.map_or("round".to_owned(), |edges| edges.to_string());
    let margin = number(contact_margin.unwrap_or(f64::INFINITY));
    let inertia = if *has_mass { "mass" } else { "none" };
    let scale = mass_scale.map_or("none".to_owned(), |scale| scale.to_string());
    let told = if time_step.is_some() { "" } else { "  # s; the file does not say" };
    format!(
        "step:\n  size: {size}{told}\n  duration: 2\n  friction: convex\n  cone: {cone}\n  contact_margin: {margin}\n  inertia: {inertia}\n  \
         relaxation: step\n  passive_mass_scale: {scale}\n  # rows of linearised gaps alone, and what follows from normals and rates alone\n  \
         tangents: normal\n  rotations: linear\n  max_recovery_speed: .inf\n  max_overlap: .inf\n"
    )
}

/// Settings of a joint. `started` is true if a posture starts it.
fn drive(joint: &Joint, started: bool) -> String {
    let slide = usize::from(is_slide(&joint.kind) == Some(true));
    let effort = joint.effort.filter(|e| *e > 0.0);
    let stiffness = effort.map_or(STIFFNESS[slide], |e| e / ERROR_AT_LIMIT[slide]);
    let start = match start_of(joint) {
        start if started || start == 0.0 => String::new(),
        start => format!(", start: {start}"),
    };
    let mut says = Vec::new();
    if let Some(effort) = effort {
        says.push(format!("up to {effort} {}", ["N·m", "N"][slide]));
    }
    if let Some([lower, upper]) = joint.limits {
        says.push(format!("from {lower} to {upper} {}", ["rad", "m"][slide]));
    }
    let comment = if says.is_empty() { String::new() } else { format!("  # {}", says.join(", ")) };
    format!(
        "      {}: {{stiffness: {}, damping: {}{start}}}{comment}\n",
        quoted(&joint.name),
        round(stiffness),
        round(stiffness * DECAY)
    )
}

/// `Some(true)` for a slide, `Some(false)` for a hinge, `None` for joints with no or several dofs.
fn is_slide(kind: &JointKind) -> Option<bool> {
    match kind {
        JointKind::Revolute { .. } | JointKind::Continuous { .. } => Some(false),
        JointKind::Prismatic { .. } => Some(true),
        JointKind::Fixed | JointKind::Planar | JointKind::Ball | JointKind::Free => None,
    }
}

/// Start position: that of the description, else 0, or the middle of limits that exclude it.
fn start_of(joint: &Joint) -> f64 {
    if let Some([start]) = joint.start.as_deref() {
        return *start;
    }
    match joint.limits {
        Some([lower, upper]) if lower > 0.0 || upper < 0.0 => round(0.5 * (lower + upper)),
        _ => 0.0,
    }
}

/// Start and end of the command, in m or rad.
fn stroke(joint: &Joint) -> (f64, f64) {
    let start = start_of(joint);
    let stroke = STROKE[usize::from(is_slide(&joint.kind) == Some(true))];
    let [lower, upper] = joint.limits.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
    let end = if start + stroke <= upper { start + stroke } else { (start - stroke).max(lower) };
    (start, round(end))
}

/// Rounds to six decimal places, or six significant digits if smaller.
fn round(x: f64) -> f64 {
    let text = if x.abs() < 1.0 { format!("{x:.6}") } else { format!("{x:.5e}") };
    text.parse().map_or(x, |x: f64| x + 0.0)
}

/// A valid model name made from the file name.
fn model_name(path: &Path) -> String {
    let stem = path.file_name().and_then(|s| s.to_str()).unwrap_or("robot");
    let stem = stem.split('.').next().unwrap_or(stem);
    let name: String = stem
        .chars()
        .map(|c| if c.is_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .collect();
    if name.is_empty() || name == "world" || name == "floor" { "robot".to_owned() } else { name }
}

/// Text as YAML; quoted if it could be read as something else.
fn quoted(text: &str) -> String {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '.' || c == '/' || c == '_')
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"]
            .contains(&text.to_ascii_lowercase().trim_start_matches('.'));
    if plain { text.to_owned() } else { format!("{text:?}") }
}

/// Relative path from a folder to a file if possible, else the file's path.
fn relative(path: &Path, folder: &Path) -> PathBuf {
    let absolute = |p: &Path| std::path::absolute(p).ok();
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let (Some(file), Some(folder)) = (absolute(path), absolute(folder)) else {
        return path.to_owned();
    };
    let is_odd = |c: Component<'_>| matches!(c, Component::ParentDir | Component::Prefix(_));
    if file.components().chain(folder.components()).any(is_odd) {
        return file;
    }
    let common = file.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
    // only the root in common: the relative path would be longer than the absolute one
    if common <= 1 {
        return file;
    }
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    up.chain(file.components().skip(common)).collect()
}

#[cfg(test)]
mod tests {
    use super::{quoted, relative, round};
    use std::path::Path;

    #[test]
    fn names_are_quoted_where_yaml_needs_it() {
        assert_eq!(quoted("panda_joint1"), "panda_joint1");
        assert_eq!(quoted("../a/b.urdf"), "../a/b.urdf");
        assert_eq!(quoted("on"), "\"on\"");
        assert_eq!(quoted("12"), "\"12\"");
        assert_eq!(quoted("a: b"), "\"a: b\"");
    }

    #[test]
    fn paths_start_at_the_scene() {
        let between = |file: &str, folder: &str| relative(Path::new(file), Path::new(folder));
        assert_eq!(between("/a/b/r.urdf", "/a/c"), Path::new("../b/r.urdf"));
        assert_eq!(between("/a/b/r.urdf", "/a/b"), Path::new("r.urdf"));
        assert_eq!(between("/a/r.urdf", "/x/y"), Path::new("/a/r.urdf"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(round(87.0 / 0.1), 870.0);
        assert_eq!(round(-0.123_456_789), -0.123_457);
        assert_eq!(round(-0.0).to_string(), "0");
    }
}
