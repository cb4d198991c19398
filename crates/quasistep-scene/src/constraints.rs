//! `constraints`: loop closures and couplings, and a start that satisfies them.

use crate::curve::Curve;
use crate::document::{At, Map, pose};
use crate::names::{body_index, check_name};
use quasistep::{Constraint, ConstraintKind, Geom, Holds, State, Switch, System};
use quasistep_formats::{SceneError, list, unknown};
use quasistep_math::{Pose, Vec3};
use quasistep_model::{Frame, Kinematics, Model, WORLD};

const KINDS: [&str; 3] = ["connect", "weld", "coupling"];
const KEYS: [&str; 9] =
    ["name", "connect", "weld", "coupling", "at", "frames", "offset", "switch", "within"];
/// Most joints listed in a note about the start.
const NAMED: usize = 4;

/// Constraints, and the commands of those with a switch that no command tells.
pub(crate) type Constraints = (Vec<Constraint>, Vec<Curve>);

/// Reads `constraints:`. If the frame in the second body is not given, it is the one that satisfies
/// the constraint at the start configuration `q`.
pub(crate) fn read(
    at: Option<&At<'_>>,
    model: &Model,
    q: &[f64],
    geoms: &[Geom],
    (all, switches): &mut Constraints,
) -> Result<(), SceneError> {
    let Some(at) = at else { return Ok(()) };
    let mut kin = model.create_kinematics();
    model.kinematics(q, &mut kin);
    for item in at.list()? {
        let map = item.map(&KEYS)?;
        let given: Vec<&str> = map.keys().filter(|key| KINDS.contains(key)).collect();
        let [kind] = given.as_slice() else {
            return Err(item.error(format!("give one of {}", list(&KINDS))));
        };
        let subject = map.need(kind)?;
        let unused: &[&str] = match *kind {
            "coupling" => &["at", "frames"],
            _ => &["offset"],
        };
        if let Some(key) = unused.iter().find_map(|key| map.get(key)) {
            return Err(key.error(format!("it has no meaning for a {kind}; leave it out")));
        }
        let (kind, own) = match *kind {
            "coupling" => coupling(subject, &map, model)?,
            word => frames(subject, &map, word == "weld", model, &kin)?,
        };
        let name = match map.get("name") {
            None => own,
            Some(at) => {
                check_name("constraint", at.text()?, at)?;
                at.text()?.to_owned()
            }
        };
        if all.iter().any(|other| other.name == name) {
            return Err(item
                .error(format!("a second constraint is called `{name}`; give it another `name`")));
        }
        let switch = read_switch(&map, &kind, geoms)?;
        switches.extend(switch.as_ref().map(|(_, told)| told.clone()));
        all.push(Constraint { name, kind, switch: switch.map(|(switch, _)| switch) });
    }
    Ok(())
}

/// Reads `switch` and `within` of a constraint: its switch, and the command if no other is given.
fn read_switch(
    map: &Map<'_>,
    kind: &ConstraintKind,
    geoms: &[Geom],
) -> Result<Option<(Switch, Curve)>, SceneError> {
    let Some(at) = map.get("switch") else {
        let rule = "it is the gap at which a `switch` attaches; give that, or leave it out";
        let within = map.get("within");
        return within
            .map_or(Ok(None), |at| Err(at.error(format!("{} was seen; {rule}", at.seen()))));
    };
    let told = if at.is_list() {
        let times = at.numbers("s")?;
        if let Some(k) = (1..times.len()).find(|k| !(times[k - 1] < times[*k])) {
            let (t, last) = (times[k], times[k - 1]);
            return Err(
                at.error(format!("time {t} follows {last}; times at which it turns must ascend"))
            );
        }
        Curve::Switched { on: false, times }
    } else if matches!(at.text(), Ok("on" | "off")) {
        Curve::Constant(f64::from(u8::from(at.text()? == "on")))
    } else {
        let rule = "give `on` or `off`, or the times at which it turns, as [1, 3]: off, on from 1 s to 3 s, then off";
        return Err(at.error(format!("{} was seen; {rule}", at.seen())));
    };
    let mut within = f64::INFINITY;
    if let Some(at) = map.get("within") {
        within = at.non_negative("m")?;
        let bodies = match kind {
            ConstraintKind::Connect { a, b } | ConstraintKind::Weld { a, b } => [a.body, b.body],
            ConstraintKind::Coupling { .. } => {
                return Err(at.error("it has no meaning for a coupling; leave it out"));
            }
        };
        if bodies.iter().any(|body| geoms.iter().all(|geom| geom.body != *body)) {
            return Err(at.error(
                "a body without shapes was seen; the gap is between shapes of both bodies",
            ));
        }
    }
    let is_given = map.get("frames").or(map.get("offset")).is_some();
    let holds = if is_given { Holds::Given } else { Holds::Found };
    Ok(Some((Switch { holds, within }, told)))
}

/// The system with the constraints that are on at the start, those with a switch as `switches` say.
pub(crate) fn at_start(system: &System, q: &[f64], switches: &[Curve]) -> System {
    let mut told = system.command_at(q);
    let first = told.len() - switches.len();
    for (told, curve) in told[first..].iter_mut().zip(switches) {
        *told = f64::from(u8::from(curve.is_on_after(0.0)));
    }
    system.with_attached(&system.attach(&State::at_rest(0.0, q.to_vec()), &told))
}

/// Two frames that must coincide, and a name.
fn frames(
    pair: &At<'_>,
    map: &Map<'_>,
    weld: bool,
    model: &Model,
    kin: &Kinematics,
) -> Result<(ConstraintKind, String), SceneError> {
    let items = pair.list()?;
    let [a_at, b_at] = items.as_slice() else {
        return Err(pair.error(format!("{} bodies were seen; give two", items.len())));
    };
    let body = |at: &At<'_>| match at.text() {
        Ok("world") => Ok(WORLD),
        _ => body_index(at, model),
    };
    let (a, b) = (body(a_at)?, body(b_at)?);
    if let (Some(_), Some(frames)) = (map.get("at"), map.get("frames")) {
        return Err(frames.error("`at` and `frames` were seen; give one of them"));
    }
    let frame = |at: &At<'_>| -> Result<Pose, SceneError> {
        if at.is_list() {
            Ok(Pose::from_translation(Vec3::from(at.array::<3>("m")?)))
        } else {
            pose(at)
        }
    };
    let [X_A, X_B] = if let Some(frames) = map.get("frames") {
        let own = frames.list()?;
        let [of_a, of_b] = own.as_slice() else {
            return Err(frames.error(format!(
                "{} frames were seen; give one in each of the two bodies",
                own.len()
            )));
        };
        [frame(of_a)?, frame(of_b)?]
    } else {
        let X_A = map.get("at").map(frame).transpose()?.unwrap_or_default();
        [X_A, kin.X_WB[b].inverse() * kin.X_WB[a] * X_A]
    };
    let (a, b) = (Frame { body: a, X_BF: X_A }, Frame { body: b, X_BF: X_B });
    let short = |frame: &Frame| {
        let name = &model.body(frame.body).name;
        match name.split_once('/') {
            Some((model, link)) if model == link => link.to_owned(),
            _ => name.clone(),
        }
    };
    let name = format!("{}-{}", short(&a), short(&b));
    let kind = if weld { ConstraintKind::Weld { a, b } } else { ConstraintKind::Connect { a, b } };
    Ok((kind, name))
}

/// A linear equation of coordinates, and a name.
fn coupling(
    sum: &At<'_>,
    map: &Map<'_>,
    model: &Model,
) -> Result<(ConstraintKind, String), SceneError> {
    let mut terms = Vec::new();
    let mut names = Vec::new();
    for (joint, factor) in sum.entries()? {
        let body = model.joint_by_name(joint).ok_or_else(|| {
            let bodies = model.bodies().iter().filter(|body| body.joint.n_v() == 1);
            let all: Vec<&str> = bodies.map(|body| body.joint_name.as_str()).collect();
            factor.error(unknown("joint", joint, &all))
        })?;
        terms.push((body, factor.number("")?));
        names.push(joint);
    }
    let offset = map.get("offset").map_or(Ok(0.0), |at| at.number("m or rad"))?;
    Ok((ConstraintKind::Coupling { terms, offset }, names.join("+")))
}

/// Moves passive joints so that all constraints hold at `q`; returns notes about the motion.
pub(crate) fn close(
    system: &System,
    q: &mut [f64],
    (notes, warnings): (&mut Vec<String>, &mut Vec<String>),
) -> Result<(), String> {
    if system.constraints().len() == 0 {
        return Ok(());
    }
    if let Some(closing) = system.close(q).map_err(|open| open.to_string())? {
        warnings.extend(closing.open.iter().map(|(name, off)| {
            format!(
                "constraint `{name}` is off by {off:.3} (m or rad) at the start; it closes at `step.max_recovery_speed` at the most"
            )
        }));
        let moved = closing.moved.iter().take(NAMED);
        let moved: Vec<String> = moved.map(|(dof, way)| format!("`{dof}` by {way:.4}")).collect();
        let more = closing.moved.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        if closing.before > 0.0 {
            notes.push(format!(
                "the start was off its constraints by {:.2e} (m or rad): {}{more} moved to close them",
                closing.before,
                moved.join(", ")
            ));
        }
    }
    for (constraint, rows) in system.dependent_rows(q).map_err(|e| e.to_string())? {
        let name = &constraint.name;
        notes.push(format!(
            "constraint `{name}`: {rows} of its {} rows follow from joints and other constraints; they carry no force",
            constraint.kind.n_rows()
        ));
    }
    Ok(())
}
