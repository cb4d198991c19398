//! The `plan` section of a scene: goals and a planner as plain data.

use crate::document::{At, Map, pose};
use crate::names::body_index;
use quasistep::{StepParams, System};
use quasistep_formats::{SceneError, unknown};
use quasistep_math::Pose;
use quasistep_model::Frame;

/// Goals of a scene, and how plans to them are searched.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanSection {
    /// Place of the section, `file:line`, for errors.
    pub place: String,
    /// Goals in turn; the targets of one are reached together.
    pub goals: Vec<Vec<PlanTarget>>,
    /// Place of each target, `file:line: key`, for errors.
    pub places: Vec<Vec<String>>,
    /// Grasps that plans may take anew.
    pub grasps: Vec<PlanGrasp>,
    /// Planner.
    pub planner: PlannerKind,
    /// Number of steps of a horizon.
    pub horizon: usize,
    /// `kappa` of each program of an improvement, in J.
    pub kappa: Vec<f64>,
    /// Largest change of a command by one program, or deviation of random changes per step, in m or
    /// rad.
    pub region: f64,
    /// Whether programs keep linearised impulses in their cones.
    pub contact_region: bool,
    /// Number of random rollouts.
    pub samples: usize,
    /// Number of rounds of random rollouts in each step.
    pub rounds: usize,
    /// Temperature of `mppi`, as a share of the spread of the better half; share of the best samples
    /// of `cem`.
    pub share: f64,
    /// Seed of random changes.
    pub seed: u64,
    /// Cost of a change of a command by `region` in a step.
    pub effort: f64,
    /// Weight of the error at the end of a horizon.
    pub at_end: f64,
    /// Bounds of every command, in m or rad.
    pub bounds: Vec<[f64; 2]>,
    /// Bounds of coordinates that are not commanded: index, dof, and least and largest value.
    pub states: Vec<(usize, usize, [f64; 2])>,
    /// Place of the bounds of every command, for errors; empty without bounds.
    pub places_of_bounds: Vec<String>,
    /// Largest rate of every command, in m/s or rad/s.
    pub rates: Vec<f64>,
    /// Largest number of steps.
    pub steps: usize,
    /// Number of steps without progress after which an attempt ends.
    pub patience: usize,
    /// Number of attempts.
    pub attempts: usize,
    /// Number of tries to shorten a plan that reaches its goals.
    pub shortcuts: usize,
    /// Time after which the search ends, in s; infinite if it has none.
    pub time: f64,
}

/// A grasp that plans may take anew.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanGrasp {
    /// Place of the grasp, `file:line: key`, for errors.
    pub place: String,
    /// Pairs of bodies that touch: a link and what it holds.
    pub touches: Vec<[usize; 2]>,
    /// Dofs that are drawn, and their ranges, in m or rad; all commanded joints if there is none.
    pub ranges: Option<Vec<(usize, [f64; 2])>>,
    /// Least distance of everything else, in m.
    pub clearance: f64,
    /// Largest distance of bodies that touch, in m.
    pub distance: f64,
    /// Largest distance at which shapes see one another, in m.
    pub reach: f64,
}

/// Kind of planner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannerKind {
    /// Quadratic programs along relaxed rollouts.
    Local,
    /// Model-predictive path integral control.
    PathIntegral,
    /// Cross-entropy method.
    CrossEntropy,
}

/// A target of a goal.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanTarget {
    /// A frame is to have a pose.
    Pose {
        /// The frame.
        frame: Frame,
        /// Its pose at the goal, in W.
        X_WG: Pose,
        /// Components of the error that count: rotation about x, y, z, then position.
        counts: [bool; 6],
        /// Permitted angle, in rad.
        angle: f64,
        /// Permitted distance, in m.
        distance: f64,
    },
    /// A joint is to have a value.
    Joint {
        /// Index of the coordinate.
        coordinate: usize,
        /// Index of the dof.
        dof: usize,
        /// Value, in m or rad.
        value: f64,
        /// Permitted error, in m or rad.
        tolerance: f64,
    },
}

const KEYS: [&str; 16] = [
    "goals",
    "grasps",
    "planner",
    "horizon",
    "kappa",
    "region",
    "contact_region",
    "samples",
    "rounds",
    "share",
    "seed",
    "effort",
    "at_end",
    "bounds",
    "rates",
    "limits",
];
const LIMITS: [&str; 5] = ["steps", "patience", "attempts", "shortcuts", "time"];
const GRASP: [&str; 6] = ["links", "bodies", "ranges", "clearance", "distance", "reach"];
const TARGET: [&str; 9] =
    ["frame", "at", "pose", "counts", "angle", "distance", "joint", "value", "tolerance"];
const COMPONENTS: [(&str, usize); 6] =
    [("rx", 0), ("ry", 1), ("rz", 2), ("x", 3), ("y", 4), ("z", 5)];

impl PlanSection {
    /// Reads the section. Errors also tell a step that has no single size.
    pub(crate) fn read(
        at: &At<'_>,
        system: &System,
        params: &StepParams,
    ) -> Result<Self, SceneError> {
        if params.sizes.is_some() {
            return Err(at.error(
                "`plan` was seen with `step.tolerance`; planners take steps of one size: give `step.size`",
            ));
        }
        let map = at.map(&KEYS)?;
        let goals = map.need("goals")?;
        let items = goals.list()?;
        if items.is_empty() {
            return Err(goals.error("no goal was seen; give at least one"));
        }
        let together = |at: &At<'_>| -> Result<Vec<(PlanTarget, String)>, SceneError> {
            let one = |at: &At<'_>| Ok((PlanTarget::read(at, system)?, place(at)));
            if at.is_list() { at.list()?.iter().map(one).collect() } else { Ok(vec![one(at)?]) }
        };
        let targets: Vec<Vec<(PlanTarget, String)>> =
            items.iter().map(together).collect::<Result<_, _>>()?;
        let (goals, places) = targets.into_iter().map(|of| of.into_iter().unzip()).unzip();
        let kinds = [
            ("local", PlannerKind::Local),
            ("mppi", PlannerKind::PathIntegral),
            ("cem", PlannerKind::CrossEntropy),
        ];
        let planner = map.get("planner").map_or(Ok(PlannerKind::Local), |at| at.word(&kinds))?;
        let limits = map.get("limits").map(|at| at.map(&LIMITS)).transpose()?;
        let of_limits = |key| limits.as_ref().and_then(|map| map.get(key));
        let whole = |at: Option<&At<'_>>, least, default| {
            at.map_or(Ok(default), |at| at.whole(least, 1_000_000).map(|n| n as usize))
        };
        let positive =
            |key, unit, default| map.get(key).map_or(Ok(default), |at| at.positive(unit));
        let local = planner == PlannerKind::Local;
        let samples = if local { 32 } else { 96 };
        let names = system.command_names();
        let Bounds { commands: bounds, places: places_of_bounds, states } =
            bounds(map.get("bounds"), &names, system)?;
        let time = of_limits("time").map_or(Ok(f64::INFINITY), |at| at.positive("s"))?;
        Ok(Self {
            place: at.place(),
            goals,
            places,
            horizon: whole(map.get("horizon"), 1, 10)?,
            kappa: kappa(map.get("kappa"))?,
            region: positive("region", "m or rad", 0.05)?,
            grasps: match map.get("grasps") {
                Some(at) => at
                    .list()?
                    .iter()
                    .map(|at| PlanGrasp::read(at, system))
                    .collect::<Result<_, _>>()?,
                None => Vec::new(),
            },
            contact_region: map.get("contact_region").map_or(Ok(false), At::boolean)?,
            samples: whole(map.get("samples"), if local { 0 } else { 2 }, samples)?,
            rounds: whole(map.get("rounds"), 1, 2)?,
            share: positive("share", "", 0.1)?,
            seed: map.get("seed").map_or(Ok(0), |at| at.whole(0, u64::MAX >> 12))?,
            effort: positive("effort", "", 0.1)?,
            at_end: positive("at_end", "", 100.0)?,
            bounds,
            states,
            places_of_bounds,
            rates: rates(map.get("rates"), &names)?,
            steps: whole(of_limits("steps"), 1, 100)?,
            patience: whole(of_limits("patience"), 1, 10)?,
            attempts: whole(of_limits("attempts"), 1, 30)?,
            shortcuts: whole(of_limits("shortcuts"), 0, 0)?,
            time,
            planner,
        })
    }
}

impl PlanGrasp {
    fn read(at: &At<'_>, system: &System) -> Result<Self, SceneError> {
        let map = at.map(&GRASP)?;
        let bodies = |key| {
            let at = map.need(key)?;
            let body = |at: &At<'_>| body_index(at, system.model());
            if at.is_list() { at.list()?.iter().map(body).collect() } else { Ok(vec![body(at)?]) }
        };
        let (links, held): (Vec<usize>, Vec<usize>) = (bodies("links")?, bodies("bodies")?);
        let n = links.len().max(held.len());
        if [links.len(), held.len()].iter().any(|own| *own != n && *own != 1) {
            let (a, b) = (links.len(), held.len());
            return Err(at.error(format!(
                "{a} links and {b} bodies were seen; give one body for all links, or one for each"
            )));
        }
        let touches = (0..n).map(|k| [links[k % links.len()], held[k % held.len()]]).collect();
        let range = |(name, at): (&str, At<'_>)| {
            Ok((coordinate(name, &at, system)?.1, at.array::<2>("m or rad")?))
        };
        let ranges = map.get("ranges").map(|at| at.entries()?.into_iter().map(range).collect());
        let length = |key, default| map.get(key).map_or(Ok(default), |at| at.positive("m"));
        Ok(Self {
            place: place(at),
            touches,
            ranges: ranges.transpose()?,
            clearance: length("clearance", 0.003)?,
            distance: length("distance", 1e-4)?,
            reach: length("reach", 1.0)?,
        })
    }
}

impl PlanTarget {
    fn read(at: &At<'_>, system: &System) -> Result<Self, SceneError> {
        let map = at.map(&TARGET)?;
        let stray = |keys: &[&str], of: &str| match keys.iter().find_map(|key| map.get(key)) {
            Some(key) => Err(key.error(format!("the goal of a {of} does not have it"))),
            None => Ok(()),
        };
        let positive =
            |key, unit, default| map.get(key).map_or(Ok(default), |at| at.positive(unit));
        if let Some(joint) = map.get("joint") {
            stray(&["frame", "at", "pose", "counts", "angle", "distance"], "joint")?;
            let (coordinate, dof) = coordinate(joint.text()?, joint, system)?;
            let value = map.need("value")?.number("m or rad")?;
            let tolerance = positive("tolerance", "m or rad", 0.01)?;
            return Ok(Self::Joint { coordinate, dof, value, tolerance });
        }
        stray(&["value", "tolerance"], "frame")?;
        let body = body_index(map.need("frame")?, system.model())?;
        let X_BF = map.get("at").map_or(Ok(Pose::IDENTITY), pose)?;
        Ok(Self::Pose {
            frame: Frame { body, X_BF },
            X_WG: pose(map.need("pose")?)?,
            counts: counts(&map)?,
            angle: positive("angle", "rad", 0.05)?,
            distance: positive("distance", "m", 0.005)?,
        })
    }
}

/// Components of an error that count; all by default.
fn counts(map: &Map<'_>) -> Result<[bool; 6], SceneError> {
    let Some(at) = map.get("counts") else { return Ok([true; 6]) };
    let mut counts = [false; 6];
    for item in at.list()? {
        counts[item.word(&COMPONENTS)?] = true;
    }
    if counts.contains(&true) { Ok(counts) } else { Err(at.error("no component was seen")) }
}

/// Coordinate and dof of a joint without a quaternion, by the coordinate's name.
fn coordinate(name: &str, at: &At<'_>, system: &System) -> Result<(usize, usize), SceneError> {
    let model = system.model();
    let names = model.coordinate_names();
    let plain = |coordinate: usize| {
        let body = model.bodies().iter().find(|body| body.q.contains(&coordinate))?;
        let dof = body.v.start + coordinate - body.q.start;
        (body.q.len() == body.v.len()).then_some((coordinate, dof))
    };
    names.iter().position(|own| own == name).and_then(plain).ok_or_else(|| {
        let valid: Vec<&str> = (0..names.len())
            .filter(|coordinate| plain(*coordinate).is_some())
            .map(|coordinate| names[coordinate].as_str())
            .collect();
        at.error(unknown("joint coordinate", name, &valid))
    })
}

fn kappa(at: Option<&At<'_>>) -> Result<Vec<f64>, SceneError> {
    let Some(at) = at else { return Ok(vec![1e-2, 1e-3, 1e-4]) };
    if !at.is_list() {
        return Ok(vec![at.positive("J")?]);
    }
    let all: Vec<f64> = at.list()?.iter().map(|one| one.positive("J")).collect::<Result<_, _>>()?;
    if all.is_empty() { Err(at.error("no number was seen; give at least one")) } else { Ok(all) }
}

/// Index of a command by its name.
fn command(name: &str, names: &[String], at: &At<'_>) -> Result<usize, SceneError> {
    names.iter().position(|own| own == name).ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        at.error(unknown("command", name, &names))
    })
}

/// Place of a key, `file:line: key`.
fn place(at: &At<'_>) -> String {
    at.error("").to_string().trim_end_matches([':', ' ']).to_owned()
}

/// Bounds of commands and of other coordinates.
#[derive(Default)]
struct Bounds {
    /// Of every command, and their places; empty where there is none.
    commands: Vec<[f64; 2]>,
    places: Vec<String>,
    /// Of other coordinates: index, dof, bounds.
    states: Vec<(usize, usize, [f64; 2])>,
}

/// Reads a mapping of names of coordinates to `[low, high]`; others are free.
fn bounds(at: Option<&At<'_>>, names: &[String], system: &System) -> Result<Bounds, SceneError> {
    let mut all = Bounds {
        commands: vec![[f64::NEG_INFINITY, f64::INFINITY]; names.len()],
        places: vec![String::new(); names.len()],
        states: Vec::new(),
    };
    let Some(at) = at else { return Ok(all) };
    for (name, value) in at.entries()? {
        let [low, high] = value.array::<2>("m or rad")?;
        if low > high {
            return Err(value.error(format!("[{low}, {high}] was seen; give [low, high]")));
        }
        if let Some(index) = names.iter().position(|own| *own == name) {
            (all.commands[index], all.places[index]) = ([low, high], place(&value));
        } else {
            let (coordinate, dof) = coordinate(name, &value, system)?;
            all.states.push((coordinate, dof, [low, high]));
        }
    }
    Ok(all)
}

/// Rates of commands: one number for all, or a mapping of names to numbers; others are free.
fn rates(at: Option<&At<'_>>, names: &[String]) -> Result<Vec<f64>, SceneError> {
    let mut all = vec![f64::INFINITY; names.len()];
    let Some(at) = at else { return Ok(all) };
    if !at.is_map() {
        return Ok(vec![at.positive("m/s or rad/s")?; names.len()]);
    }
    for (name, value) in at.entries()? {
        all[command(name, names, &value)?] = value.positive("m/s or rad/s")?;
    }
    Ok(all)
}
