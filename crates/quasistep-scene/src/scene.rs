//! A scene: a system, its start, its commands, and its step parameters.

use crate::cloud::CloudReport;
use crate::commands::{Commands, Of};
use crate::control::ControlSection;
use crate::curve::{Curve, Grid};
use crate::curves::three;
use crate::document::{At, Map, Node, Numbers, with_extents};
use crate::facts::Fact;
use crate::names::body_index;
use crate::plan_section::PlanSection;
use crate::sensors::read_sensors;
use crate::source::SceneSource;
use crate::torques::Torque;
use crate::world::World;
use quasistep::{
    Certificate, Cone, Fallback, Formulation, FrictionLaw, Inertia, Integration, Motion,
    PrescribedRate, Relaxation, Role, Rotations, Sensor, Sizes, State, StepInput, StepParams,
    Substeps, System, TangentAxes, Wrench,
};
use quasistep_formats::SceneError;
use quasistep_math::{Vec3, shown};
use quasistep_record::{DrawnShape, NamedFrame};
use std::path::Path;
use std::sync::Arc;

/// A scene, ready to run.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Name: the file's name without its ending.
    pub name: String,
    /// Title for people.
    pub title: String,
    /// The simulated system.
    pub system: Arc<System>,
    /// Start state.
    pub start: State,
    /// Step parameters.
    pub params: StepParams,
    /// Simulated time, in s.
    pub duration: f64,
    /// Time between outputs, in s: with a tolerance, a step ends at each of its multiples.
    pub every: Option<f64>,
    /// Drawn shapes.
    pub drawing: Vec<DrawnShape>,
    /// Sensors, in the order of their readings.
    pub sensors: Vec<Sensor>,
    /// Named frames of its model files.
    pub(crate) named_frames: Vec<NamedFrame>,
    /// Facts that the scene states about its own run.
    pub facts: Vec<Fact>,
    /// Control task, if the scene has one.
    pub control: Option<ControlSection>,
    /// Goals and planner, if the scene has them.
    pub plan: Option<PlanSection>,
    /// Reports on its point clouds: contents of their files and results of the options.
    pub clouds: Vec<CloudReport>,
    /// Warnings about unusual but valid settings.
    pub warnings: Vec<String>,
    /// Notes about how files were processed, one sentence each, for example the number of convex
    /// parts of a mesh.
    pub notes: Vec<String>,
    /// Explanation that nothing in the scene can move, or why a scene made from a model file is
    /// dynamic and how to change that. `None` if something moves, and the motion is quasi-static or
    /// set by the user.
    pub motion_told: Option<String>,
    /// What drives do that nothing commands, for a scene around a model's file.
    pub commands_told: Option<String>,
    pub(crate) source: Arc<SceneSource>,
    commands: Commands,
    wrenches: Vec<WrenchOverTime>,
}

#[derive(Clone, Debug)]
struct WrenchOverTime {
    body: usize,
    p_B: Vec3,
    force_W: [Curve; 3],
    torque_W: [Curve; 3],
}

const KEYS: [&str; 17] = [
    "format",
    "title",
    "description",
    "gravity",
    "step",
    "output",
    "models",
    "commands",
    "wrenches",
    "friction",
    "collisions",
    "constraints",
    "sensors",
    "adhesion",
    "mpc",
    "plan",
    "facts",
];
const STEP_KEYS: [&str; 24] = [
    "size",
    "tolerance",
    "min_size",
    "max_size",
    "duration",
    "friction",
    "motion",
    "fallback",
    "fallback_stiffness",
    "cone",
    "inertia",
    "relaxation",
    "passive_mass_scale",
    "tangents",
    "rotations",
    "contact_margin",
    "max_overlap",
    "substeps",
    "max_recovery_speed",
    "prescribed_rate",
    "integration",
    "accuracy",
    "work_limit",
    "uniqueness",
];
/// Number of times at which curves are checked, where steps have no size of their own.
const N_CHECKED: usize = 4096;
/// Version of the scene grammar that this crate reads.
const FORMAT: f64 = 1.0;

/// Warnings about settings that do not fit a start velocity, or one another.
fn unusual(params: &StepParams, v: &[f64]) -> Vec<String> {
    let mut warnings = Vec::new();
    if !v.is_empty() && !params.formulation.carries_velocity() {
        warnings.push(format!(
            "`start_velocity` is not read by `motion: {}`, which starts every step from rest; `dynamic` reads it",
            params.formulation.motion.name()
        ));
    }
    if params.sizes.is_some() && params.relaxation == Relaxation::Step {
        warnings.push(
            "`relaxation: step` drags more in smaller steps, so the motion depends on the sizes that `tolerance` chooses; give a time in s"
                .into(),
        );
    }
    warnings
}

impl Scene {
    /// Reads a scene, with visuals of robots if `looks`. The caller sets its source.
    pub(crate) fn read(
        text: &str,
        file: &str,
        name: &str,
        dir: &Path,
        changes: &[(String, String)],
        without: &[String],
        looks: bool,
    ) -> Result<Self, SceneError> {
        let mut node = Node::parse(text, file)?;
        change(&mut node, changes, without)?;
        let root = node.at(file).within(Numbers::default());
        let map = root.map(&KEYS)?;
        if let Some(format) = map.get("format")
            && format.number("")? != FORMAT
        {
            return Err(
                format.error(format!("{} was seen; this version reads format 1", format.seen()))
            );
        }

        let world = World::read(&map, dir, looks)?;
        let World { system, q, v, told, motors, behind, extents, .. } = world;
        let World { mut sensors, mut warnings, notes, .. } = world;
        let usual = StepParams { max_overlap: system.usual_overlap(), ..StepParams::default() };
        let (params, duration) = read_step(map.get("step"), map.get("gravity"), usual)?;
        warnings.extend(unusual(&params, &v));
        let every = map.get("output").map(|at| read_output(at, &params)).transpose()?;
        let h = params.sizes.map_or(params.time_step, |_| duration / N_CHECKED as f64);
        let grid = Grid { h, n: n_steps(duration, h) };
        let of_models = |key: &str| map.get(key).map(|at| with_extents(at, &extents));
        let models = map.need("models")?;
        let (told, motors, behind, params_of) = (&told, &motors, &behind, &params);
        let of = Of { system: &system, q: &q, told, motors, behind, models, params: params_of };
        let commands = Commands::read(of_models("commands").as_ref(), &of, dir, &grid)?;
        let wrenches = read_wrenches(of_models("wrenches").as_ref(), &system, &grid)?;
        warnings.extend(outside_limits(&system, &q));
        let control = (map.get("mpc"))
            .map(|at| ControlSection::read(at, &system, &q, one_size(at, &params)?))
            .transpose()?;
        let plan =
            (map.get("plan")).map(|at| PlanSection::read(at, &system, &params)).transpose()?;
        if let Some(at) = map.get("sensors") {
            sensors.extend(read_sensors(at, &system)?);
        }
        let facts = match map.get("facts") {
            None => Vec::new(),
            Some(at) => {
                let read = |fact: &At<'_>| Fact::read(fact, &system, &sensors);
                at.list()?.iter().map(read).collect::<Result<_, _>>()?
            }
        };
        let text_of = |key: &str| map.get(key).map_or(Ok(""), At::text);
        text_of("description")?;
        let title = text_of("title")?.trim();
        Ok(Self {
            name: name.to_owned(),
            title: if title.is_empty() { name.to_owned() } else { title.to_owned() },
            system: Arc::new(system),
            start: State { time: 0.0, q, v, attached: Vec::new() },
            params,
            duration,
            every,
            drawing: world.drawing,
            sensors,
            named_frames: world.named_frames,
            facts,
            control,
            plan,
            clouds: world.clouds,
            warnings: in_lines(warnings),
            notes: in_lines(notes),
            motion_told: None,
            commands_told: None,
            source: Arc::default(),
            commands,
            wrenches,
        })
    }

    /// Number of steps of a run: the duration in steps, rounded up, at least one.
    pub fn n_steps(&self) -> usize {
        n_steps(self.duration, self.params.time_step)
    }

    /// Fills the input of the step that ends at `t` (s): commands, their rates, torques, wrenches.
    /// With [`PrescribedRate::Derivative`], rates of prescribed joints are those at the start of
    /// the step, as in Trinkle05.
    pub fn sample(&self, t: f64, input: &mut StepInput) {
        self.sample_for(&self.params, t, input);
    }

    /// Fills the input of a step with other parameters than the scene's; see
    /// [`sample`](Self::sample).
    pub fn sample_for(&self, params: &StepParams, t: f64, input: &mut StepInput) {
        self.sample_over(params, (t - params.time_step, t), params.time_step, input);
    }

    /// Fills the input of a step of size `h` from a time to another, in s.
    pub(crate) fn sample_over(
        &self,
        params: &StepParams,
        (from, t): (f64, f64),
        h: f64,
        input: &mut StepInput,
    ) {
        self.commands.sample(t, input);
        if params.integration == Integration::Midpoint {
            self.commands.mean_rates(from, t, h, &mut input.v_cmd);
        }
        if params.prescribed_rate == PrescribedRate::Derivative {
            let mut start = StepInput::default();
            self.commands.sample(from, &mut start);
            let mut at = 0;
            for &body in self.system.commanded() {
                let end = at + self.system.model().body(body).v.len();
                if self.system.roles()[body] == Role::Prescribed {
                    input.v_cmd[at..end].copy_from_slice(&start.v_cmd[at..end]);
                }
                at = end;
            }
        }
        self.sample_torques(t, &mut input.tau);
        input.wrenches.clear();
        self.sample_wrenches(t, &mut input.wrenches);
    }

    /// Times (s) in a span at which commands, torques and wrenches have kinks. Knots of commands count
    /// from a height of `least` (m or rad) on.
    pub(crate) fn kinks(&self, span: (f64, f64), least: f64) -> Vec<f64> {
        let mut kinks = Vec::new();
        self.commands.kinks(span, least, &mut kinks);
        let curves = self.wrenches.iter().flat_map(|w| w.force_W.iter().chain(&w.torque_W));
        curves.for_each(|curve| curve.kinks(span, 0.0, &mut kinks));
        kinks
    }

    /// Fills `tau`, length `n_v`, with the torque commands at time `t` (s), in N and N·m. Empties
    /// it if the scene has none.
    pub fn sample_torques(&self, t: f64, tau: &mut Vec<f64>) {
        self.commands.sample_torques(t, self.system.model().n_v(), tau);
    }

    /// Torque commands, each with its coordinate.
    pub(crate) fn torques(&self) -> &[Torque] {
        &self.commands.torques
    }

    /// Number of external wrenches.
    pub(crate) fn n_wrenches(&self) -> usize {
        self.wrenches.len()
    }

    /// Adds the scene's external wrenches at time `t`, in s.
    pub fn sample_wrenches(&self, t: f64, wrenches: &mut Vec<Wrench>) {
        for wrench in &self.wrenches {
            let at = |curves: &[Curve; 3]| {
                Vec3::new(curves[0].at(t).0, curves[1].at(t).0, curves[2].at(t).0)
            };
            wrenches.push(Wrench {
                body: wrench.body,
                p_B: wrench.p_B,
                force_W: at(&wrench.force_W),
                torque_W: at(&wrench.torque_W),
            });
        }
    }
}

/// Texts as they are shown, each in one line.
fn in_lines(texts: Vec<String>) -> Vec<String> {
    texts.into_iter().map(|text| shown(&text).into_owned()).collect()
}

/// Applies changes of values by their dotted keys, and removes keys.
pub(crate) fn change(
    node: &mut Node,
    changes: &[(String, String)],
    without: &[String],
) -> Result<(), SceneError> {
    for (key, value) in changes {
        node.set(key, value)?;
        // one way to choose sizes takes the place of the other
        let is_set = |key: &String| changes.iter().any(|(other, _)| other == key);
        let others = instead_of(key).map(|other| format!("step.{other}"));
        for other in others.filter(|other| !is_set(other)) {
            node.remove(&other);
        }
    }
    for key in without {
        node.remove(key);
    }
    Ok(())
}

/// The size of steps (s) for a part of the scene at `at` that needs a single one.
fn one_size(at: &At<'_>, params: &StepParams) -> Result<f64, SceneError> {
    let rule = "it takes steps of one size: give `step.size` in place of `step.tolerance`";
    match params.sizes {
        None => Ok(params.time_step),
        Some(_) => Err(at.error(format!("`mpc` was seen with `step.tolerance`; {rule}"))),
    }
}

pub(crate) fn n_steps(duration: f64, h: f64) -> usize {
    // a multiple of the step up to rounding is not rounded up
    ((duration / h - 1e-9).ceil() as usize).max(1)
}

/// Warnings about joints that start outside their limits.
fn outside_limits(system: &System, q: &[f64]) -> Vec<String> {
    let names = system.model().coordinate_names();
    let limits = system.model().limits().iter();
    limits
        .filter_map(|limit| {
            let (i, lower, upper) = (limit.q_index as usize, limit.lower, limit.upper);
            (q[i] < lower || q[i] > upper).then(|| {
                format!("`{}` starts at {}, outside its limits [{lower}, {upper}]", names[i], q[i])
            })
        })
        .collect()
}

/// Reads the parameters of steps, with `params` for those that are not told, and the duration.
pub(crate) fn read_step(
    step: Option<&At<'_>>,
    gravity: Option<&At<'_>>,
    mut params: StepParams,
) -> Result<(StepParams, f64), SceneError> {
    let mut duration = 1.0;
    if let Some(at) = gravity {
        params.gravity = at.array("m/s²")?;
    }
    let Some(step) = step else { return Ok((params, duration)) };
    refuse_former_key(step)?;
    let map = step.map(&STEP_KEYS)?;
    let positive = |key: &str, unit: &str, value: &mut f64| -> Result<(), SceneError> {
        if let Some(at) = map.get(key) {
            *value = at.positive(unit)?;
        }
        Ok(())
    };
    positive("size", "s", &mut params.time_step)?;
    positive("duration", "s", &mut duration)?;
    read_sizes(&map, duration, &mut params)?;
    if let Some(at) = map.get("max_overlap") {
        params.max_overlap = at.positive_up_to_infinity("m")?;
    }
    if let Some(at) = map.get("substeps") {
        params.substeps = at.word(&[("auto", Substeps::Auto), ("never", Substeps::Never)])?;
    }
    if let Some(at) = map.get("max_recovery_speed") {
        params.max_recovery_speed = at.positive_up_to_infinity("m/s")?;
    }
    positive("fallback_stiffness", "N/m or N·m/rad", &mut params.fallback_stiffness)?;
    if let Some(at) = map.get("contact_margin") {
        params.contact_margin = at.up_to_infinity("m")?;
    }
    if let Some(at) = map.get("accuracy") {
        params.accuracy = at.non_negative("")?;
        if params.accuracy > Certificate::RELATIVE_TOLERANCE {
            let (seen, most) = (params.accuracy, Certificate::RELATIVE_TOLERANCE);
            return Err(at.error(format!("{seen:e} was seen; it must be from 0 to {most:e}")));
        }
    }
    if let Some(at) = map.get("work_limit") {
        params.work_limit = (at.positive_up_to_infinity("multiply-adds")?.ceil()) as u64;
    }
    if let Some(at) = map.get("inertia") {
        params.inertia = at.word(&[("none", Inertia::None), ("mass", Inertia::Mass)])?;
    }
    if let Some(at) = map.get("relaxation") {
        params.relaxation = if at.text() == Ok("step") {
            Relaxation::Step
        } else {
            Relaxation::Time(at.positive("s")?)
        };
    }
    if let Some(at) = map.get("passive_mass_scale") {
        params.passive_mass_scale = read_mass_scale(at, params.inertia)?;
    }
    read_discretisation(&map, &mut params)?;
    if let Some(at) = map.get("uniqueness") {
        params.uniqueness = at.boolean()?;
    }
    if let Some(at) = map.get("fallback") {
        params.fallback = at.word(&[
            ("none", Fallback::None),
            ("undecided", Fallback::Undecided),
            ("convex", Fallback::Convex),
            ("proximal", Fallback::Proximal),
            ("without_recovery", Fallback::WithoutRecovery),
            ("impedance", Fallback::Impedance),
        ])?;
    }
    Ok((params, duration))
}

/// Reads the choice of sizes by a tolerance. Steps without a choice take the largest size.
fn read_sizes(map: &Map<'_>, duration: f64, params: &mut StepParams) -> Result<(), SceneError> {
    let Some(at) = map.get("tolerance") else {
        let bound = map.get("min_size").or(map.get("max_size"));
        let rule =
            "it bounds the sizes that `tolerance` (m) chooses; give that, or `size` (s) alone";
        return bound.map_or(Ok(()), |at| Err(at.error(format!("a bound was seen; {rule}"))));
    };
    if map.get("size").is_some() {
        return Err(at.error(
            "`tolerance` and `size` were both seen; give `size` (s) for steps of one size, or `tolerance` (m), with \
             `min_size` and `max_size` (s) if you wish, for steps that choose theirs",
        ));
    }
    let tolerance = at.positive("m")?;
    let given = |key: &str| map.get(key).map(|at| at.positive("s")).transpose();
    let least = given("min_size")?;
    let max = given("max_size")?
        .unwrap_or_else(|| Sizes::MAX.min(duration).max(least.unwrap_or_default()));
    let min = least.unwrap_or(max / Sizes::RATIO);
    if let (Some(at), true) = (map.get("min_size"), min > max) {
        return Err(at.error(format!("{min} was seen; it must be at most `max_size`, {max} s")));
    }
    params.sizes = Some(Sizes { tolerance, min, max });
    params.time_step = max;
    Ok(())
}

/// Keys of `step` that a key takes the place of.
pub(crate) fn instead_of(key: &str) -> impl Iterator<Item = &'static str> {
    let others: &[&str] = match key.strip_prefix("step.").unwrap_or(key) {
        "size" => &["tolerance", "min_size", "max_size"],
        "tolerance" => &["size"],
        _ => &[],
    };
    others.iter().copied()
}

/// Reads `output`.
fn read_output(at: &At<'_>, params: &StepParams) -> Result<f64, SceneError> {
    let map = at.map(&["every"])?;
    let every = map.need("every")?;
    if params.sizes.is_none() {
        let rule = "steps end at these times if `step.tolerance` chooses their sizes; a run of one size is thinned with `--every N`";
        return Err(every.error(format!("{} was seen with `step.size`; {rule}", every.seen())));
    }
    every.positive("s")
}

/// Reads how time, rotations and contacts are discretised.
fn read_discretisation(map: &Map<'_>, params: &mut StepParams) -> Result<(), SceneError> {
    if let Some(at) = map.get("tangents") {
        params.tangents =
            at.word(&[("motion", TangentAxes::Motion), ("normal", TangentAxes::Normal)])?;
    }
    if let Some(at) = map.get("rotations") {
        params.rotations =
            at.word(&[("exponential", Rotations::Exponential), ("linear", Rotations::Linear)])?;
    }
    if let Some(at) = map.get("prescribed_rate") {
        params.prescribed_rate = at.word(&[
            ("secant", PrescribedRate::Secant),
            ("derivative", PrescribedRate::Derivative),
        ])?;
    }
    if let Some(at) = map.get("integration") {
        params.integration =
            at.word(&[("euler", Integration::Euler), ("midpoint", Integration::Midpoint)])?;
    }
    params.formulation = read_formulation(map)?;
    if let (Some(at), true) = (map.get("integration"), params.formulation.carries_velocity())
        && params.integration == Integration::Midpoint
    {
        return Err(at.error("`midpoint` was seen with `motion: dynamic`, which takes `euler`"));
    }
    Ok(())
}

/// Reads friction law, cone and kind of motion of a step.
fn read_formulation(map: &Map<'_>) -> Result<Formulation, SceneError> {
    let mut formulation = StepParams::default().formulation;
    let Formulation { friction, cone, motion } = &mut formulation;
    if let Some(at) = map.get("cone") {
        *cone = read_cone(at)?;
    }
    if let Some(at) = map.get("friction") {
        *friction = at.word(&[("exact", FrictionLaw::Exact), ("convex", FrictionLaw::Convex)])?;
    }
    if let Some(at) = map.get("motion") {
        *motion =
            at.word(&[("quasi_static", Motion::QuasiStatic), ("dynamic", Motion::Dynamic)])?;
    }
    Ok(formulation)
}

/// An error with the present words for the former key `formulation`.
fn refuse_former_key(step: &At<'_>) -> Result<(), SceneError> {
    let Some(at) = step.entry("formulation") else { return Ok(()) };
    let now = match at.text() {
        Ok("anitescu") => "`friction: convex`",
        Ok("coulomb") => "`friction: exact`",
        Ok("dynamic") => "`motion: dynamic`",
        _ => "`friction: exact` or `convex`, `motion: quasi_static` or `dynamic`",
    };
    Err(at.error(format!(
        "{} was seen; the key is {now} now, and `quasistep convert OLD.yml -o NEW.yml` rewrites a scene",
        at.seen()
    )))
}

fn read_mass_scale(at: &At<'_>, inertia: Inertia) -> Result<Option<f64>, SceneError> {
    if at.text() == Ok("none") {
        return Ok(None);
    }
    let scale = at.positive("")?;
    if inertia == Inertia::None {
        let rule = "it scales the mass of passive bodies, which needs `inertia: mass`";
        return Err(at.error(format!("{scale} was seen; {rule}")));
    }
    Ok(Some(scale))
}

fn read_cone(at: &At<'_>) -> Result<Cone, SceneError> {
    match at.text() {
        Ok("round") => return Ok(Cone::Round),
        Ok("box") => return Ok(Cone::Box),
        _ => {}
    }
    let edges = if at.reads_as_number() { at.number("edges")? } else { f64::NAN };
    if edges >= 2.0 && edges % 2.0 == 0.0 && edges <= 1024.0 {
        return Ok(Cone::Pyramid(edges as u32));
    }
    let valid = "give `round`, `box`, or an even number of edges from 2 to 1024";
    Err(at.error(format!("{} was seen; {valid}", at.seen())))
}

fn read_wrenches(
    at: Option<&At<'_>>,
    system: &System,
    grid: &Grid,
) -> Result<Vec<WrenchOverTime>, SceneError> {
    let mut wrenches = Vec::new();
    for item in at.map(At::list).transpose()?.unwrap_or_default() {
        let map = item.map(&["body", "at", "force", "torque"])?;
        let body_at = map.need("body")?;
        let body = body_index(body_at, system.model())?;
        if map.get("force").is_none() && map.get("torque").is_none() {
            return Err(
                item.error("a wrench without `force` and `torque` was seen; give one of them")
            );
        }
        let three = |key: &str| -> Result<[Curve; 3], SceneError> {
            map.get(key).map_or(Ok([const { Curve::Constant(0.0) }; 3]), |at| three(at, grid))
        };
        wrenches.push(WrenchOverTime {
            body,
            p_B: map.get("at").map(|a| a.array::<3>("m")).transpose()?.unwrap_or_default().into(),
            force_W: three("force")?,
            torque_W: three("torque")?,
        });
    }
    Ok(wrenches)
}
