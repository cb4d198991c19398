//! Paths of commanded joints between two configurations, at a distance from all bodies.
//!
//! What comes out are commands in time. They are run through the step itself: free bodies may move
//! when a grasp opens, and joints may not follow.

use crate::approach::{chain, leader, slides};
use crate::clearance::Clearance;
use crate::path_search::{Found, Search, along};
use quasistep::{State, StepError, StepInput, StepParams, System};
use quasistep_math::Pose;
use quasistep_model::{Model, WORLD};
use std::ops::ControlFlow;

/// How a path of joints is searched, and how fast it is.
#[derive(Clone, Debug, PartialEq)]
pub struct PathSettings {
    /// Distance to all bodies, in m, > 0. Bodies that are nearer than this at an end gain a tenth of
    /// their motion away from there.
    pub margin: f64,
    /// Bounds of every command, `n_cmd` of them, in m or rad; infinite ones are none. Limits of
    /// joints are kept, too.
    pub bounds: Vec<[f64; 2]>,
    /// Largest rate of every command, in m/s or rad/s, > 0, may be infinite.
    pub rates: Vec<f64>,
    /// Largest number of random configurations.
    pub samples: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// A path, the commands along it, and what became of them in the step.
#[derive(Clone, Debug, PartialEq)]
pub struct JointPath {
    /// Corners of the path, the ends included, `n_q` coordinates each. Free bodies are where they
    /// are at the start.
    pub corners: Vec<f64>,
    /// Time step, in s.
    pub time_step: f64,
    /// Commands at the ends of the steps, `T × n_cmd`.
    pub commands: Vec<f64>,
    /// Configurations to which the commands lead by the step itself, from the start on,
    /// `(T + 1) × n_q`.
    pub q: Vec<f64>,
    /// Largest distance of a point of a commanded body from the path so far, at the end from the goal,
    /// in m.
    pub off: f64,
    /// Index of the first step in which that distance exceeds the margin.
    pub left: Option<usize>,
    /// The error that ended the run.
    pub failed: Option<StepError>,
    /// Bodies that are not commanded and moved, in their order.
    pub moved: Vec<Moved>,
}

/// Motion of a body that is not commanded.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// Index of the body.
    pub body: usize,
    /// Largest distance of its origin from where it was at the start, in m.
    pub distance: f64,
    /// Largest angle from how it lay at the start, in rad.
    pub angle: f64,
}

impl JointPath {
    /// True if the joints follow the path within its margin.
    pub fn holds(&self) -> bool {
        self.left.is_none() && self.failed.is_none()
    }
}

/// Why there is no path.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// A number is not what it must be.
    #[error("{what} is {value}; it must be {rule}")]
    Number {
        /// Name of the number.
        what: &'static str,
        /// Its value.
        value: f64,
        /// What it must be.
        rule: &'static str,
    },
    /// A list has the wrong length.
    #[error("{what} has {got} entries; it must have {want}")]
    Length {
        /// Name of the list.
        what: &'static str,
        /// Number of entries.
        got: usize,
        /// Number that is right.
        want: usize,
    },
    /// A system whose joints do not move by straight lines of their commands.
    #[error("{0}")]
    System(String),
    /// A joint is beyond its limits or bounds.
    #[error("`{name}` is {value} at the {end}, outside of {lower} to {upper}")]
    Outside {
        /// Name of the command.
        name: String,
        /// Start or goal.
        end: &'static str,
        /// Value, in m or rad.
        value: f64,
        /// Lower limit.
        lower: f64,
        /// Upper limit.
        upper: f64,
    },
    /// A coordinate that is not commanded differs between start and goal.
    #[error(
        "`{name}` is {start} at the start and {goal} at the goal; only commanded joints can move on a path"
    )]
    Moves {
        /// Name of the coordinate.
        name: String,
        /// Value at the start.
        start: f64,
        /// Value at the goal.
        goal: f64,
    },
    /// Bodies overlap at an end.
    #[error("`{a}` and `{b}` overlap by {by} m at the {end}")]
    Overlap {
        /// Name of a body.
        a: String,
        /// Name of the other.
        b: String,
        /// Start or goal.
        end: &'static str,
        /// Depth, in m.
        by: f64,
    },
    /// The search found none.
    #[error("no path was found with {samples} random configurations{why}")]
    None {
        /// Number of random configurations.
        samples: usize,
        /// What is known of the reason.
        why: String,
    },
    /// The caller stopped the search.
    #[error("stopped")]
    Stopped,
    /// Distances cannot be computed.
    #[error("{0}")]
    Step(#[from] StepError),
}

/// Largest number of steps for which the last command is held.
const MOST_HOLDING: usize = 100;
/// Number of places between two commands from which the distance is measured.
const PLACES_BETWEEN: usize = 8;
/// Rounding of limits, in m or rad.
const ROUNDING: f64 = 1e-9;
/// Motion of a body that counts as none: as a share of the margin, and in rad.
const STILL: f64 = 1e-4;

/// Searches for a path of the commanded joints from one configuration to another, and runs it through
/// the step. `before` is the command at the start. `look` is called with the number of random
/// configurations so far, and may stop the search. The same seed gives the same bits.
///
/// # Errors
///
/// [`PathError`] if ends or settings make no sense, or no path is found.
pub fn joint_path(
    system: &System,
    params: &StepParams,
    (start, before): (&[f64], &[f64]),
    goal: &[f64],
    settings: &PathSettings,
    look: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<JointPath, PathError> {
    let (clearance, corners) = find(system, params, (start, before), goal, settings, look)?;
    let table = commands(&clearance, before, &corners, params.time_step, settings, 1.0);
    Ok(run(system, params, start, &clearance, settings.margin, &corners, table))
}

/// Commands along a path whose steps are taken in `divisions` smaller ones: one row a step.
pub fn path_commands(
    system: &System,
    params: &StepParams,
    (start, before): (&[f64], &[f64]),
    goal: &[f64],
    settings: &PathSettings,
    divisions: usize,
) -> Result<Vec<f64>, PathError> {
    let look = &mut |_| ControlFlow::Continue(());
    let (clearance, corners) = find(system, params, (start, before), goal, settings, look)?;
    let (h, divisions) = (params.time_step, divisions as f64);
    Ok(commands(&clearance, before, &corners, h, settings, divisions).commands)
}

/// Corners of a path, and the distances that it keeps.
fn find<'a>(
    system: &'a System,
    params: &StepParams,
    (start, before): (&[f64], &[f64]),
    goal: &[f64],
    settings: &PathSettings,
    look: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<(Clearance<'a>, Vec<Vec<f64>>), PathError> {
    let (coordinates, space) = check(system, params, (start, before), goal, settings)?;
    let most: Vec<f64> = space.iter().map(|[low, high]| low.abs().max(high.abs())).collect();
    let clearance = Clearance::new(system, settings.margin, (&coordinates, &most), [start, goal])?;
    let clearance = clearance.map_err(|body| {
        let name = &system.model().body(body).name;
        PathError::System(format!(
            "`{name}` moves and has no end; paths need bodies of finite size"
        ))
    })?;
    check_overlaps(system, params, &clearance, [start, goal])?;
    let mut search = Search::new(&clearance, &space, settings.seed);
    let [from, to] = [start, goal].map(|q| clearance.joints(q));
    let samples = settings.samples;
    let mut corners = match search.path(from, to, samples, look)? {
        Found::Path(corners) => corners,
        Found::None(why) => return Err(PathError::None { samples, why }),
        Found::Stopped => return Err(PathError::Stopped),
    };
    search.shorten(&mut corners)?;
    drop(search);
    Ok((clearance, corners))
}

/// Coordinates of the commanded joints, and the range of each in which paths are searched.
fn check(
    system: &System,
    params: &StepParams,
    (start, before): (&[f64], &[f64]),
    goal: &[f64],
    settings: &PathSettings,
) -> Result<(Vec<usize>, Vec<[f64; 2]>), PathError> {
    let (model, n) = (system.model(), system.n_cmd());
    if n != system.n_cmd_v() {
        let why = "paths move joints with one dof and planar joints; this system commands rotations or poses of frames";
        return Err(PathError::System(why.to_owned()));
    }
    if params.sizes.is_some() {
        let why = "paths take steps of one size; leave `tolerance` out";
        return Err(PathError::System(why.to_owned()));
    }
    let coordinates: Vec<usize> =
        system.commanded().iter().flat_map(|body| model.body(*body).q.clone()).collect();
    if coordinates.is_empty() {
        return Err(PathError::System("no joint of this system is commanded".to_owned()));
    }
    if let Some(held) = system.constraints().next() {
        let why = format!(
            "constraint `{}`: paths are not searched where constraints hold joints",
            held.name
        );
        return Err(PathError::System(why));
    }
    for (what, got, want) in [
        ("start", start.len(), model.n_q()),
        ("goal", goal.len(), model.n_q()),
        ("the command at the start", before.len(), n),
        ("bounds", settings.bounds.len(), n),
        ("rates", settings.rates.len(), n),
    ] {
        if got != want {
            return Err(PathError::Length { what, got, want });
        }
    }
    let margin = settings.margin;
    if !(margin > 0.0 && margin.is_finite()) {
        return Err(PathError::Number { what: "margin", value: margin, rule: "> 0 m" });
    }
    if let Some(rate) = settings.rates.iter().find(|rate| !(**rate > 0.0)) {
        return Err(PathError::Number { what: "a rate", value: *rate, rule: "> 0" });
    }
    for q in [start, goal] {
        let why = |e: quasistep_model::ConfigurationError| e.to_string();
        model.check_q(q).map_err(|e| StepError::Value { what: "q".into(), why: why(e) })?;
    }
    for (at, name) in model.coordinate_names().into_iter().enumerate() {
        let (start, goal) = (start[at], goal[at]);
        if !coordinates.contains(&at) && (start - goal).abs() > ROUNDING {
            return Err(PathError::Moves { name, start, goal });
        }
    }
    let names = system.command_names();
    let size = size(system, start);
    let mut space = Vec::new();
    for (i, &at) in coordinates.iter().enumerate() {
        let limit = model.limits().iter().find(|limit| limit.q_index as usize == at);
        let [mut lower, mut upper] = settings.bounds[i];
        if let Some(limit) = limit {
            (lower, upper) = (lower.max(limit.lower), upper.min(limit.upper));
        }
        for (end, value) in [("start", start[at]), ("goal", goal[at])] {
            let slack = ROUNDING * (1.0 + value.abs());
            let holds = |[lower, upper]: [f64; 2]| lower - slack <= value && value <= upper + slack;
            // far from the scene, motions within it have no digits left
            let far = system.farthest_commands()[i];
            let [lower, upper] = if holds([lower, upper]) { [-far, far] } else { [lower, upper] };
            if !holds([lower, upper]) {
                let name = names[i].clone();
                return Err(PathError::Outside { name, end, value, lower, upper });
            }
        }
        // joints without limits are searched a turn, or the size of the scene, around the ends
        let owner = model.bodies().iter().find(|body| body.q.contains(&at));
        let is_slide = owner.is_some_and(|body| slides(body.joint, at - body.q.start));
        let room = if is_slide { size } else { std::f64::consts::PI };
        let (low, high) = (start[at].min(goal[at]), start[at].max(goal[at]));
        let or = |limit: f64, other: f64| if limit.is_finite() { limit } else { other };
        space.push([or(lower, low - room), or(upper, high + room)]);
    }
    Ok((coordinates, space))
}

/// Length of the diagonal of a box around all finite shapes, in m.
fn size(system: &System, q: &[f64]) -> f64 {
    let boxes = system.geoms().iter().filter(|geom| geom.shape.reach().is_finite());
    let boxes = boxes.map(|g| g.shape.aabb(&(system.model().pose(q, g.body) * g.X_BG)));
    let corners = boxes.map(|of| (of.min, of.max));
    let whole = corners.reduce(|(low, high), (min, max)| (low.min(min), high.max(max)));
    whole.map_or(1.0, |(low, high)| (high - low).norm())
}

/// Bodies that joints move must not overlap at the ends.
fn check_overlaps(
    system: &System,
    params: &StepParams,
    clearance: &Clearance<'_>,
    ends: [&[f64]; 2],
) -> Result<(), PathError> {
    for (end, q) in ["start", "goal"].into_iter().zip(ends) {
        for ([a, b], phi) in clearance.near(q, 0.0)? {
            if -phi > params.max_overlap {
                let [a, b] = [a, b].map(|body| system.model().body(body).name.clone());
                return Err(PathError::Overlap { a, b, end, by: -phi });
            }
        }
    }
    Ok(())
}

/// Values of the joints in time.
struct Table {
    commands: Vec<f64>,
    /// The place on the path of each command.
    places: Vec<Vec<f64>>,
}

/// Commands along a path: within the rates, and in steps of which a share, one of `divisions`, moves no
/// body by more than the margin. First the command comes to the start of the path.
fn commands(
    clearance: &Clearance<'_>,
    before: &[f64],
    corners: &[Vec<f64>],
    h: f64,
    settings: &PathSettings,
    divisions: f64,
) -> Table {
    let n = corners[0].len();
    let mut table = Table { commands: Vec::new(), places: Vec::new() };
    let pieces = std::iter::once((&before[..n], &corners[0][..], true))
        .chain(corners.windows(2).map(|w| (&w[0][..], &w[1][..], false)));
    for (from, to, waits) in pieces {
        let by_rates = from.iter().zip(to).zip(&settings.rates);
        let by_rates = by_rates.map(|((from, to), rate)| (to - from).abs() / (rate * h));
        let by_margin = clearance.motion(from, to) / (settings.margin * divisions);
        // rounding adds no step
        let steps = by_rates.fold(by_margin, f64::max) * (1.0 - ROUNDING);
        let steps = if from == to { 0 } else { steps.ceil().max(1.0) as usize };
        for k in 1..=steps {
            let x = along(from, to, k as f64 / steps as f64);
            table.commands.extend(x.iter().chain(&before[n..]));
            table.places.push(if waits { corners[0].clone() } else { x });
        }
    }
    table
}

/// Runs commands through the step, then holds the last one until nothing moves.
fn run(
    system: &System,
    params: &StepParams,
    start: &[f64],
    clearance: &Clearance<'_>,
    margin: f64,
    corners: &[Vec<f64>],
    table: Table,
) -> JointPath {
    let (n_u, n) = (system.n_cmd(), table.places.len());
    let (mut state, mut work) = (State::at_rest(0.0, start.to_vec()), system.create_workspace());
    let mut path = JointPath {
        corners: corners.iter().flat_map(|x| clearance.configuration(x)).collect(),
        time_step: params.time_step,
        q: start.to_vec(),
        off: 0.0,
        left: None,
        failed: None,
        moved: Vec::new(),
        commands: table.commands,
    };
    let mut places = table.places;
    places.insert(0, corners[0].clone());
    let mut watch = Watch::new(clearance);
    let mut before = start.to_vec();
    for step in 0..n + MOST_HOLDING {
        if step >= n {
            if watch.way(&before, &state.q) <= STILL * margin || path.commands.is_empty() {
                break;
            }
            path.commands.extend_from_within(path.commands.len() - n_u..);
        }
        before.clone_from(&state.q);
        let q_cmd = path.commands[step * n_u..][..n_u].to_vec();
        let input = StepInput { q_cmd, ..StepInput::default() };
        if let Err(why) = system.step_with(&mut state, &input, params, &mut work) {
            path.commands.truncate(step * n_u);
            path.failed = Some(why);
            break;
        }
        path.q.extend_from_slice(&state.q);
        path.off = path.off.max(watch.look(&places[..=n.min(step + 1)], &state.q));
        if path.off > margin && path.left.is_none() {
            path.left = Some(step);
        }
    }
    if path.failed.is_none() {
        let goal = clearance.configuration(&corners[corners.len() - 1]);
        path.off = path.off.max(watch.way(&goal, &state.q));
        if path.off > margin && path.left.is_none() {
            path.left = Some(path.commands.len() / n_u - 1);
        }
    }
    for (body, &[distance, angle]) in watch.most.iter().enumerate() {
        if distance > STILL * margin || angle > STILL {
            path.moved.push(Moved { body, distance, angle });
        }
    }
    path
}

/// How far bodies are from the path.
struct Watch<'a> {
    clearance: &'a Clearance<'a>,
    /// Bodies that only commanded joints move.
    led: Vec<bool>,
    /// Index of the place on the path that is nearest.
    nearest: usize,
    /// Largest distance (m) and angle (rad) of each other body from where it is at the start.
    most: Vec<[f64; 2]>,
}

impl<'a> Watch<'a> {
    fn new(clearance: &'a Clearance<'a>) -> Self {
        let system = clearance.system();
        let n = system.model().n_bodies();
        let led = (0..n).map(|body| is_commanded(system, body)).collect();
        Self { clearance, led, nearest: 0, most: vec![[0.0; 2]; n] }
    }

    /// Poses of all bodies.
    fn poses(&self, q: &[f64]) -> Vec<Pose> {
        let model = self.clearance.system().model();
        let mut X = vec![Pose::IDENTITY; model.n_bodies()];
        model.poses(q, &mut X);
        X
    }

    /// Largest distance of a point of a body that only commanded joints move, in m.
    fn way(&self, a: &[f64], b: &[f64]) -> f64 {
        let (a, b) = (self.poses(a), self.poses(b));
        let led = (0..a.len()).filter(|body| self.led[*body]);
        led.map(|body| self.clearance.displacement(body, &a[body], &b[body])).fold(0.0, f64::max)
    }

    /// Distance from the nearest of the places, which moves on only. Notes how far other bodies are.
    fn look(&mut self, places: &[Vec<f64>], q: &[f64]) -> f64 {
        let to = |x: &[f64]| self.way(&self.clearance.configuration(x), q);
        let ways = places[self.nearest..].iter().map(|x| to(x)).enumerate();
        let (ahead, mut least) = ways.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0));
        let nearest = self.nearest + ahead;
        // a body that lags is between two places
        for pair in places[nearest.saturating_sub(1)..].windows(2).take(2) {
            for k in 1..PLACES_BETWEEN {
                let share = k as f64 / PLACES_BETWEEN as f64;
                least = least.min(to(&along(&pair[0], &pair[1], share)));
            }
        }
        self.nearest = nearest;
        let (X, X_path) =
            (self.poses(q), self.poses(&self.clearance.configuration(&places[self.nearest])));
        for body in (0..X.len()).filter(|body| !self.led[*body]) {
            let (a, b) = (&X[body], &X_path[body]);
            let turn = (a.rotation * b.rotation.inverse()).to_rotation_vector().norm();
            let way = (a.translation - b.translation).norm();
            self.most[body] = [self.most[body][0].max(way), self.most[body][1].max(turn)];
        }
        least
    }
}

/// True if commanded joints alone move a body, or none do.
fn is_commanded(system: &System, body: usize) -> bool {
    let model: &Model = system.model();
    chain(model, body).all(|k| {
        let own = leader(model, k);
        k == WORLD || model.body(own).v.is_empty() || system.commanded().contains(&own)
    })
}
