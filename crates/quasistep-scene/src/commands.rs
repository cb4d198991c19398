//! Commands of a scene: targets of all driven joints over time.

use crate::curve::{Curve, Grid};
use crate::curves::{curves, kind_of, three};
use crate::document::{At, Map};
use crate::pose_knots::{PoseCurve, PoseKnots, Timing};
use crate::torques::{Reader, Torque, passive_note};
use quasistep::{AdhesionPad, StepInput, StepParams, System};
use quasistep_formats::{SceneError, list, unknown};
use quasistep_math::{Pose, Quat, Vec3};
use std::path::Path;

/// Command curves of all driven joints, in the order of `q_cmd`, and torque curves.
#[derive(Clone, Debug)]
pub(crate) struct Commands {
    parts: Vec<Part>,
    pub torques: Vec<Torque>,
}

/// Context in which commands are read.
pub(crate) struct Of<'s, 'a> {
    pub system: &'s System,
    /// Start configuration.
    pub q: &'s [f64],
    /// Default targets of joints and springs that no entry commands.
    pub told: &'s [f64],
    /// Motors that no entry commands: body index and torque, in N or N·m.
    pub motors: &'s [(usize, f64)],
    /// Commands of pads and switches that no entry commands.
    pub behind: &'s Behind,
    /// Place of the models, for errors about them.
    pub models: &'s At<'a>,
    pub params: &'s StepParams,
}

/// Commands behind those of joints and springs, where no entry commands them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Behind {
    /// Shares of the pull of pads.
    pub shares: Vec<f64>,
    /// Of switched constraints.
    pub switches: Vec<Curve>,
}

impl Behind {
    /// Puts the commands where those of the slots begin. Returns the first slot of a pad, and of a switch.
    fn fill(&self, slots: &mut [Slot], start: &mut [f64]) -> (usize, usize) {
        let first_switch = start.len() - self.switches.len();
        let first_pad = first_switch - self.shares.len();
        start[first_pad..first_switch].copy_from_slice(&self.shares);
        let switches = slots[first_switch..].iter_mut().zip(&mut start[first_switch..]);
        for ((slot, start), told) in switches.zip(&self.switches) {
            *start = told.at(0.0).0;
            // a constant is what holds without a command
            slot.curve = Some(told.clone()).filter(|told| !matches!(told, Curve::Constant(_)));
        }
        (first_pad, first_switch)
    }
}

#[derive(Clone, Debug)]
enum Part {
    /// A coordinate whose rate is a velocity component.
    Coordinate(Curve),
    /// An orientation given by roll, pitch and yaw.
    Orientation([Curve; 3]),
    /// A constant orientation quaternion.
    Still([f64; 4]),
    /// A pose interpolated between knots.
    Path(PoseCurve),
}

const KINDS: [&str; 6] = ["constant", "linear", "cubic", "csv", "expr", "pose"];

/// A coordinate that can be commanded: its name, and its command so far.
struct Slot {
    name: String,
    /// True for a component of a quaternion, which only a pose can command.
    quaternion: bool,
    /// Largest allowed magnitude of its command.
    farthest: f64,
    curve: Option<Curve>,
}

/// A driven joint, or a frame with a spring, that has an orientation.
struct Turning {
    name: String,
    /// Index of its first slot.
    first: usize,
    /// True if it has a position too.
    moves: bool,
    /// True for a frame with a spring.
    spring: bool,
    rpy: Option<[Curve; 3]>,
    path: Option<PoseCurve>,
}

impl Commands {
    /// Reads `commands:`.
    pub fn read<'a>(
        at: Option<&At<'a>>,
        of: &Of<'_, 'a>,
        dir: &Path,
        grid: &Grid,
    ) -> Result<Self, SceneError> {
        let &Of { system, q, told, behind, .. } = of;
        let mut torques = Reader::new(system);
        let names = system.model().coordinate_names();
        let joints = system.commanded().iter().map(|&body| system.model().body(body));
        let joints = joints.map(|joint| (&joint.joint_name, joint.q.len(), false));
        let springs = system.springs().map(|spring| (&spring.name, 7, true));
        let pads = system.pads().iter().map(|pad| (&pad.name, 1, false));
        let switched = system.switched().map(|switched| (&switched.name, 1, false));
        let all: Vec<(&String, usize, bool)> =
            joints.chain(springs).chain(pads).chain(switched).collect();
        let (mut slots, mut turning) = slots_of(system, &all);
        let mut start = system.command_at(told);
        let (first_pad, first_switch) = behind.fill(&mut slots, &mut start);
        for entry in at.map(At::list).transpose()?.unwrap_or_default() {
            if entry.entry("frame").is_some() {
                for (i, curve) in crate::frame_commands::read(&entry, system, q, dir)? {
                    // one slot for each driven coordinate
                    if let Some(slot) = slots.iter_mut().find(|s| s.name == names[i]) {
                        tell(slot, curve, &entry, grid)?;
                    }
                }
                continue;
            }
            let is_spring = entry.entry("spring").is_some();
            if is_spring || entry.entry("knots").is_some() {
                let key = if is_spring { "spring" } else { "joint" };
                read_path(&entry, key, &start, (&mut slots, &mut turning), (dir, grid))?;
                continue;
            }
            if entry.entry("torque").is_some() {
                torques.read(&entry, dir, grid)?;
                continue;
            }
            if entry.entry("pad").is_some() {
                read_pad(&entry, &mut slots[first_pad..first_switch], dir, grid)?;
                continue;
            }
            if entry.entry("switch").is_some() {
                read_switch(&entry, &mut slots[first_switch..], dir, grid)?;
                continue;
            }
            let mut keys = vec!["joint", "joints"];
            keys.extend(KINDS);
            let map = entry.map(&keys)?;
            let (kind, value) = kind_of(&map, &KINDS)?;
            if kind == "pose" {
                let at = map.need("joint")?;
                let why = "is no driven free or ball joint; only these are told a pose";
                let joint = find(at, false, &mut turning, why)?;
                read_pose(value, &mut slots, joint, grid)?;
                continue;
            }
            let wanted = targets(&map, &slots[..first_pad], &names)?;
            let curves = curves(kind, value, wanted.len(), dir, grid, "m or rad")?;
            for (slot, curve) in wanted.into_iter().zip(curves) {
                tell(&mut slots[slot], curve, &entry, grid)?;
            }
        }
        let sizes: Vec<usize> = all.into_iter().map(|(_, n, _)| n).collect();
        let parts = parts(&sizes, slots, &start, turning);
        let torques = torques.finish(of.motors, (of.params, q), of.models)?;
        Ok(Self { parts, torques })
    }

    /// Adds kinks of all commands and torques to `out`, as [`Curve::kinks`] does.
    pub fn kinks(&self, span: (f64, f64), least: f64, out: &mut Vec<f64>) {
        for part in &self.parts {
            match part {
                Part::Coordinate(curve) => curve.kinks(span, least, out),
                Part::Orientation(rpy) => rpy.iter().for_each(|c| c.kinks(span, least, out)),
                Part::Still(_) => {}
                Part::Path(path) => out.extend(&path.t),
            }
        }
        self.torques.iter().for_each(|torque| torque.curve.kinks(span, 0.0, out));
    }

    /// Fills `tau`, length `n_v`, with the torques at time `t` (s), in N or N·m; empties it if
    /// there are none.
    pub fn sample_torques(&self, t: f64, n_v: usize, tau: &mut Vec<f64>) {
        tau.clear();
        if !self.torques.is_empty() {
            tau.resize(n_v, 0.0);
            self.torques.iter().for_each(|torque| tau[torque.dof] = torque.curve.at(t).0);
        }
    }

    /// Fills `q_cmd` and `v_cmd` for time `t`, in s.
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
                    // each angle rotates about the axis already rotated by the later angles
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

    /// Command rates over the step of size `h` from `start` to `t` (all in s): the mean rate of a
    /// coordinate, and the mid-step rate of an orientation.
    pub fn mean_rates(&self, start: f64, t: f64, h: f64, v_cmd: &mut Vec<f64>) {
        let mut middle = StepInput::default();
        self.sample(t - 0.5 * h, &mut middle);
        v_cmd.clear();
        v_cmd.extend(middle.v_cmd);
        let mut dof = 0;
        for part in &self.parts {
            match part {
                Part::Coordinate(curve) => {
                    v_cmd[dof] = (curve.at(t).0 - curve.at(start).0) / h;
                    dof += 1;
                }
                Part::Still(_) | Part::Orientation(_) => dof += 3,
                Part::Path(path) => {
                    let (a, b) = (path.at(start), path.at(t));
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

/// The commands of joints, springs, pads and switches with `sizes` coordinates. Those that are told
/// nothing have `start`.
fn parts(sizes: &[usize], slots: Vec<Slot>, start: &[f64], turning: Vec<Turning>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut slot = slots.into_iter().zip(start);
    let mut turning = turning.into_iter();
    for &size in sizes {
        let mut n = size;
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
    parts
}

/// Coordinates that can be commanded, and those of them with an orientation. `all` are the names of
/// joints, springs and pads, their numbers of coordinates, and whether they are springs.
fn slots_of(system: &System, all: &[(&String, usize, bool)]) -> (Vec<Slot>, Vec<Turning>) {
    let (mut slots, mut turning): (Vec<Slot>, Vec<Turning>) = (Vec::new(), Vec::new());
    let farthest = system.farthest_commands().iter().copied();
    let mut coordinates = system.command_names().into_iter().zip(farthest);
    for &(name, n, spring) in all {
        let turns = n >= 4;
        if turns {
            let (name, first, moves) = (name.clone(), slots.len(), n == 7);
            turning.push(Turning { name, first, moves, spring, rpy: None, path: None });
        }
        for (k, (name, farthest)) in coordinates.by_ref().take(n).enumerate() {
            slots.push(Slot { name, quaternion: turns && k < 4, farthest, curve: None });
        }
    }
    (slots, turning)
}

/// Sets the command of a coordinate; an error if it has one already, or if the command is too
/// large.
fn tell(slot: &mut Slot, curve: Curve, at: &At<'_>, grid: &Grid) -> Result<(), SceneError> {
    check_far(slot, curve.largest(grid), at)?;
    if slot.curve.is_some() {
        return Err(at.error(format!("`{}` is commanded twice; keep one command", slot.name)));
    }
    slot.curve = Some(curve);
    Ok(())
}

/// Error if a command is so large that it loses precision.
fn check_far(slot: &Slot, size: f64, at: &At<'_>) -> Result<(), SceneError> {
    if size < slot.farthest {
        return Ok(());
    }
    let Slot { name, farthest, .. } = slot;
    Err(at.error(format!(
        "a command of size {size:e} was seen for `{name}`, so far that digits are lost; it must be below {farthest:.1e} m or rad"
    )))
}

/// Slots of the coordinates that an entry names. `all` are the names of all coordinates of the
/// scene.
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
            return Err(at.error(passive_note(name, &names)));
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

/// The joint, or the frame with a `spring`, that an entry names. `why` explains in an error why
/// another name is not valid.
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

/// Reads `pose` of a free or ball joint, or of a frame with a spring.
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
            tell(slot, curve, xyz, grid)?;
        }
    }
    Ok(())
}

/// Reads an entry with a `pad`: the share of its pull over time.
fn read_pad(entry: &At<'_>, pads: &mut [Slot], dir: &Path, grid: &Grid) -> Result<(), SceneError> {
    let kinds = &KINDS[..KINDS.len() - 1];
    let mut keys = vec!["pad"];
    keys.extend(kinds);
    let map = entry.map(&keys)?;
    let (pad, kind, value) = named("pad", &map, kinds, pads)?;
    for curve in curves(kind, value, 1, dir, grid, "a share of the pull")? {
        let outside = |t: &f64| !AdhesionPad::is_share(curve.at(*t).0);
        if let Some(t) = std::iter::once(0.0).chain(grid.times()).find(outside) {
            let seen = curve.at(t).0;
            return Err(value.error(format!(
                "the value is {seen} at t = {t} s; it must be from 0, off, to 1, the whole pull"
            )));
        }
        tell(&mut pads[pad], curve, entry, grid)?;
    }
    Ok(())
}

/// Reads an entry with a `switch`: a constraint is on while the value is above 0.5.
fn read_switch(
    entry: &At<'_>,
    switches: &mut [Slot],
    dir: &Path,
    grid: &Grid,
) -> Result<(), SceneError> {
    let kinds = ["constant", "linear", "csv", "expr"];
    let map = entry.map(&["switch", "constant", "linear", "csv", "expr"])?;
    let (slot, kind, value) = named("switch", &map, &kinds, switches)?;
    for curve in curves(kind, value, 1, dir, grid, "on above 0.5")? {
        if switches[slot].curve.is_some() {
            let name = &switches[slot].name;
            return Err(entry.error(format!(
                "`{name}` is told twice when it is on; keep this command with `switch: off` of the constraint, or another                  one, or its times"
            )));
        }
        tell(&mut switches[slot], curve.of_switch(), entry, grid)?;
    }
    Ok(())
}

/// The slot that an entry names under `key`, the kind of its command, and its value.
fn named<'m, 'a>(
    key: &'static str,
    map: &'m Map<'a>,
    kinds: &[&str],
    slots: &[Slot],
) -> Result<(usize, &'a str, &'m At<'a>), SceneError> {
    let at = map.need(key)?;
    let (kind, value) = kind_of(map, kinds)?;
    let name = at.text()?;
    let Some(slot) = slots.iter().position(|slot| slot.name == name) else {
        let names: Vec<&str> = slots.iter().map(|slot| slot.name.as_str()).collect();
        return Err(at.error(unknown(key, name, &names)));
    };
    Ok((slot, kind, value))
}

/// Reads an entry with a `spring`, or with the `knots` of a free `joint`: a pose over time, or pose
/// knots. Parts left out stay as at the start.
fn read_path(
    entry: &At<'_>,
    key: &'static str,
    start: &[f64],
    (slots, turning): (&mut [Slot], &mut [Turning]),
    (dir, grid): (&Path, &Grid),
) -> Result<(), SceneError> {
    let map = entry.map(&[key, "pose", "knots", "timing"])?;
    let is_spring = key == "spring";
    let own = turning.iter().filter(|t| t.spring == is_spring && t.moves);
    let names: Vec<&str> = own.map(|t| &t.name[..]).collect();
    let what = if is_spring { "frame with a `cartesian_stiffness`" } else { "driven free joint" };
    let why = format!("is no {what}; there are: {}", list(&names));
    let at = map.need(key)?;
    let spring = find(at, is_spring, turning, &why)?;
    if !spring.moves {
        return Err(at.error(format!("`{}` {why}", spring.name)));
    }
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
            // mark all its slots as commanded, so that no other command can be added
            for slot in own {
                slot.curve = Some(Curve::Constant(0.0));
            }
            let q = &start[spring.first..];
            let X = Pose::new(Quat::new(q[0], q[1], q[2], q[3]), Vec3::new(q[4], q[5], q[6]));
            let path = PoseKnots::read(knots, dir)?.curve(X, Timing::read(map.get("timing"))?);
            let far = path.X.iter().flat_map(|X| X.translation.to_array());
            let far = far.fold(0.0_f64, |most, x| most.max(x.abs()));
            check_far(&slots[spring.first + 4], far, knots)?;
            spring.path = Some(path);
        }
        _ => return Err(entry.error("give one of `pose`, or `knots` with or without `timing`")),
    }
    Ok(())
}
