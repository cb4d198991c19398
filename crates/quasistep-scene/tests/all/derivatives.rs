//! Derivatives of steps on shipped scenes, compared with central differences on the manifold.

use quasistep::{
    Cone, DerivativeError, Derivatives, Fallback, Formulation, InputChange, Integration, Mode,
    OutputChange, Relaxation, State, StateRows, StepError, StepInput, StepKinks, StepParams,
    System, Workspace, Wrench,
};
use quasistep_math::Vec3;
use quasistep_scene::Scene;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

/// Friction law of the compared steps.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    Convex,
    Exact,
    /// Exact friction with round cones.
    Round,
    /// Exact, with velocities carried over.
    Dynamic,
    /// Exact, with steps so long that they take substeps, or bring pairs together.
    Long,
    /// Alike, with velocities carried over.
    LongDynamic,
}

impl Law {
    /// True if differences are those of steps as `step_with` takes them.
    fn is_stepped(self) -> bool {
        self.is_dynamic() || self == Self::Long
    }

    fn is_long(self) -> bool {
        matches!(self, Self::Long | Self::LongDynamic)
    }

    fn is_dynamic(self) -> bool {
        matches!(self, Self::Dynamic | Self::LongDynamic)
    }
}

/// A scene as it is in its file. A file is read once for all tests, which takes seconds where there
/// are a million points.
fn shipped(name: &str, changes: &[(&str, &str)]) -> Scene {
    type Read = Arc<OnceLock<Scene>>;
    static READ: Mutex<BTreeMap<String, Read>> = Mutex::new(BTreeMap::new());
    let key = format!("{name} {changes:?}");
    let read = READ.lock().unwrap().entry(key).or_default().clone();
    read.get_or_init(|| testkit::scene(name, changes)).clone()
}

/// A scene with another law of friction. With exact friction nearly all changes of a pile are
/// kinks, of one heap as of five: one is enough.
fn scene(name: &str, law: Law) -> Scene {
    let one_heap = name == "pile" && law != Law::Convex;
    let heap = [("models.box.repeat.count", "10")];
    // impulses of its round area are not the only ones: the corners of a pyramid
    let pyramid = [("step.cone", "8")];
    let changes = match name {
        _ if one_heap => &heap[..],
        "planar_push" => &pyramid[..],
        _ => &[],
    };
    let mut scene = shipped(name, changes);
    let cone = scene.params.formulation.cone;
    scene.params.formulation = match law {
        Law::Convex => Formulation::convex(cone),
        Law::Exact | Law::Long => Formulation::exact(cone),
        Law::Round => Formulation::exact(Cone::Round),
        Law::Dynamic | Law::LongDynamic => Formulation::dynamic(cone),
    };
    if law.is_dynamic() {
        scene.params.time_step = scene.params.time_step.min(DYNAMIC_STEP);
    }
    if law.is_long() {
        scene.params.time_step *= LONGER;
        scene.params.contact_margin *= 0.1;
    }
    scene.params.integration = Integration::Euler;
    // the quasi-dynamic step of the papers
    scene.params.relaxation = Relaxation::Step;
    scene
}

/// Longest time step with velocities carried over, in s.
const DYNAMIC_STEP: f64 = 0.01;
/// How much longer long steps are.
const LONGER: f64 = 5.0;

struct Samples(u64);
impl Samples {
    fn signed(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

fn moved(system: &System, q: &[f64], dq: &[f64], eps: f64) -> Vec<f64> {
    let mut out = vec![0.0; q.len()];
    system.model().integrate(q, dq, eps, &mut out);
    out
}

/// The command `u ⊕ eps du`.
fn moved_command(system: &System, q: &[f64], u: &[f64], du: &[f64], eps: f64) -> Vec<f64> {
    let (mut full, mut rate) = (q.to_vec(), vec![0.0; system.model().n_v()]);
    let (mut at, mut at_v) = (0, 0);
    for &body in system.commanded() {
        let b = system.model().body(body);
        full[b.q.clone()].copy_from_slice(&u[at..at + b.q.len()]);
        rate[b.v.clone()].copy_from_slice(&du[at_v..at_v + b.v.len()]);
        at += b.q.len();
        at_v += b.v.len();
    }
    let to = moved(system, &full, &rate, eps);
    system.commanded().iter().flat_map(|&b| to[system.model().body(b).q.clone()].to_vec()).collect()
}

/// Kind of inputs that are changed together, in a random direction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Configuration,
    Velocity,
    Command,
    Wrench,
    TimeStep,
    All,
}

impl What {
    const EACH: [Self; 6] = [
        Self::Configuration,
        Self::Velocity,
        Self::Command,
        Self::Wrench,
        Self::TimeStep,
        Self::All,
    ];

    fn sample(self, system: &System, params: &StepParams, s: &mut Samples) -> InputChange {
        let mut some = |what: Self, n: usize, size: f64| -> Vec<f64> {
            let on = self == what || self == Self::All;
            (0..n).map(|_| if on { size * s.signed() } else { 0.0 }).collect()
        };
        let n_bodies = system.model().n_bodies();
        let carried = if params.formulation.carries_velocity() { system.model().n_v() } else { 0 };
        InputChange {
            q: some(Self::Configuration, system.model().n_v(), 1.0),
            v: some(Self::Velocity, carried, 1.0),
            q_cmd: some(Self::Command, system.n_cmd_v(), 1.0),
            wrench: some(Self::Wrench, 6 * n_bodies, 1.0),
            time_step: some(Self::TimeStep, 1, params.time_step)[0],
            ..InputChange::default()
        }
    }
}

/// A step to be differentiated.
struct At<'a> {
    scene: &'a Scene,
    state: State,
    input: StepInput,
    mode: Mode,
    law: Law,
}

/// Outputs `(q_next ⊖ base, v, impulses)`.
type Outputs = [Vec<f64>; 3];

impl At<'_> {
    /// Outputs with the inputs changed by `eps change`.
    fn outputs(
        &self,
        change: &InputChange,
        eps: f64,
        base: &[f64],
        memory: &mut (Derivatives, Workspace),
    ) -> Option<Outputs> {
        let system = &*self.scene.system;
        let mut params = self.scene.params.clone();
        params.time_step += eps * change.time_step;
        let q = moved(system, &self.state.q, &change.q, eps);
        let mut input = self.input.clone();
        input.q_cmd = moved_command(system, &self.state.q, &input.q_cmd, &change.q_cmd, eps);
        for (body, w) in change.wrench.chunks_exact(6).enumerate().skip(1) {
            input.wrenches.push(Wrench {
                body,
                p_B: Vec3::ZERO,
                torque_W: Vec3::new(w[0], w[1], w[2]) * eps,
                force_W: Vec3::new(w[3], w[4], w[5]) * eps,
            });
        }
        let mut state = State { q, ..self.state.clone() };
        for (v, dv) in state.v.iter_mut().zip(&change.v) {
            *v += eps * dv;
        }
        let (derivatives, work) = memory;
        let mut dq = vec![0.0; system.model().n_v()];
        let report = if self.law.is_stepped() {
            let report = system.step_with(&mut state, &input, &params, work).ok()?;
            system.model().difference(base, &state.q, &mut dq);
            report
        } else {
            system.differentiate(&state, &input, &params, self.mode, derivatives).ok()?;
            system.model().difference(base, derivatives.q_next(), &mut dq);
            derivatives.report()
        };
        let forces =
            report.contacts.iter().flat_map(|c| (c.force_W() * params.time_step).to_array());
        Some([dq, report.v.clone(), forces.collect()])
    }

    /// Central differences of fourth order with step `eps`; impulses are left out if contacts
    /// appear or vanish.
    fn differences(
        &self,
        change: &InputChange,
        eps: f64,
        base: &[f64],
        memory: &mut (Derivatives, Workspace),
    ) -> Option<Outputs> {
        let mut at = |k: f64| self.outputs(change, k * eps, base, memory);
        let [a, b, c, d] = [at(1.0)?, at(-1.0)?, at(2.0)?, at(-2.0)?];
        Some(std::array::from_fn(|k| {
            if [&b, &c, &d].iter().any(|x| x[k].len() != a[k].len()) {
                return Vec::new();
            }
            let entry = |i: usize| (8.0 * (a[k][i] - b[k][i]) - (c[k][i] - d[k][i])) / (12.0 * eps);
            (0..a[k].len()).map(entry).collect()
        }))
    }

    /// Least relative errors of `q_next`, `v` and impulses against differences of any step size.
    /// Near a kink only small differences stay on one side; agreement at any step size is
    /// sufficient.
    fn least_errors(
        &self,
        change: &InputChange,
        out: &OutputChange,
        base: &[f64],
        with_impulses: bool,
        memory: &mut (Derivatives, Workspace),
    ) -> [f64; 3] {
        let impulses: Vec<f64> =
            out.impulse.chunks_exact(6).flat_map(|f| f[3..].to_vec()).collect();
        let outputs = [&out.q_next, &out.v, &impulses];
        let most_noise = [NOISE, NOISE / self.scene.params.time_step, 0.0];
        let n = if with_impulses { 3 } else { 2 };
        let mut best = [f64::INFINITY; 3];
        'close: for scattered in [false, true] {
            // the last ones are for kinks nearer than 1e-8; at 1e-9 alone rounding dominates
            for eps in [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 5e-9, 3e-9, 2e-9, 1e-9] {
                let Some(want) = self.differences(change, eps, base, memory) else {
                    continue;
                };
                let other =
                    scattered.then(|| self.differences(change, 0.7 * eps, base, memory)).flatten();
                for (i, (ours, want)) in outputs.into_iter().zip(&want).enumerate() {
                    if ours.len() != want.len() {
                        continue;
                    }
                    // noise of the solver, estimated from differences with nearly the same step
                    // size
                    let noise = other.as_ref().map_or(0.0, |other| {
                        2.0 * apart(&other[i], want, 1.0, 0.0) * largest(want).max(1.0)
                    });
                    best[i] = best[i].min(apart(ours, want, FLOOR, noise.min(most_noise[i])));
                }
                if best[..n].iter().all(|e| *e < 1e-7) {
                    break 'close;
                }
            }
            if self.mode != Mode::Exact || best[..n].iter().all(|e| *e < 1e-6) {
                break;
            }
        }
        if n < 3 {
            best[2] = 0.0;
        }
        best
    }
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m, x| m.max(x.abs()))
}

/// Largest difference beyond `noise`, relative to the largest entry of `y`, at least `floor`.
fn apart(x: &[f64], y: &[f64], floor: f64, noise: f64) -> f64 {
    let d = x.iter().zip(y).fold(0.0_f64, |m, (x, y)| m.max((x - y).abs()));
    (d - noise).max(0.0) / largest(y).max(floor)
}

/// Counts of comparisons of a scene.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Comparisons made.
    compared: usize,
    /// Comparisons skipped because the derivative reports a kink.
    flagged: usize,
    /// Comparisons skipped because exact friction has no solution, or the step has substeps.
    unsolved: usize,
    /// Comparisons that differ by more than 1e-6.
    off: usize,
    /// Largest relative errors of `q_next`, `v` and impulses.
    worst: [f64; 3],
}

/// Matrices of `q_next` and of the velocity, by `q`, the velocity at the start and the command.
type Matrices = [[Vec<f64>; 3]; 2];

fn fill(d: &mut Derivatives, system: &System, to: &mut Matrices, with_velocities: bool) {
    let (n_v, n_u) = (system.model().n_v(), system.n_cmd_v());
    *to = [[n_v, n_v, n_u]; 2].map(|of| of.map(|columns| vec![0.0; n_v * columns]));
    let [of_q, of_v] =
        to.each_mut().map(|[by_q, by_v, by_q_cmd]| StateRows { by_q, by_v, by_q_cmd });
    if with_velocities {
        d.state_jacobian(system, of_q, of_v).unwrap();
    } else {
        d.jacobian(system, of_q.by_q, of_q.by_q_cmd).unwrap();
    }
}

/// The matrices times a change are the product, if nothing but the state and the command changes.
fn check_matrices(
    system: &System,
    change: &InputChange,
    out: &OutputChange,
    matrices: &Matrices,
    with_velocities: bool,
) {
    let others = change.wrench.iter().chain([&change.time_step]);
    if others.into_iter().any(|x| *x != 0.0) {
        return;
    }
    let (n_v, n_u) = (system.model().n_v(), system.n_cmd_v());
    let sum = |row: &[f64], by: &[f64]| row.iter().zip(by).map(|(a, b)| a * b).sum::<f64>();
    for ([by_q, by_v, by_u], want) in matrices.iter().zip([&out.q_next, &out.v]) {
        let product: Vec<f64> = (0..n_v)
            .map(|i| {
                sum(&by_q[i * n_v..(i + 1) * n_v], &change.q)
                    + sum(&by_v[i * n_v..(i + 1) * n_v], &change.v)
                    + sum(&by_u[i * n_u..(i + 1) * n_u], &change.q_cmd)
            })
            .collect();
        // rows of a pile are nearly dependent: the two sums agree to 2e-9 only
        let error = apart(&product, want, 1.0, 0.0);
        assert!(error < 1e-8, "{error:e}");
        if !with_velocities {
            break;
        }
    }
}

/// Smallest denominator of relative errors: a motion of 1 mm for a change of 1 m, 1 rad or 1 N.
const FLOOR: f64 = 1e-3;
/// Largest scatter of differences that is tolerated, in m per 1 m, 1 rad or 1 N.
const NOISE: f64 = 1e-7;
/// Size of random displacements from the states of a run, in m and rad.
const OFF: f64 = 1e-3;

/// A scene, and the least numbers of comparisons that must be made.
struct Case {
    name: &'static str,
    /// Number of steps, spread over the run; five comparisons each.
    steps: usize,
    /// Least number of comparisons along the run, and displaced from it.
    least: [usize; 2],
    /// True if impulses are unique and compared.
    impulses: bool,
}

/// The run of a scene, with memory for derivatives and differences of its steps.
struct Run<'a> {
    case: &'a Case,
    /// The present step.
    at: At<'a>,
    /// States along the run, and displaced ones.
    sides: [Side; 2],
}

/// Comparisons of one kind of states, with memory for derivatives and differences of their steps.
struct Side {
    derivatives: Derivatives,
    memory: (Derivatives, Workspace),
    samples: Samples,
    tally: Tally,
}

impl Side {
    fn new(system: &System, law: Law) -> Self {
        let mut derivatives = system.create_derivatives();
        let mut memory = (system.create_derivatives(), system.create_workspace());
        // of several answers with exact friction all differences are to see the same one
        if law != Law::Convex {
            derivatives.set_warm_start(false);
            memory.0.set_warm_start(false);
            memory.1.set_warm_start(false);
        }
        let samples = Samples(88172645463325252);
        Self { derivatives, memory, samples, tally: Tally::default() }
    }
}

impl<'a> Run<'a> {
    fn new(case: &'a Case, scene: &'a Scene, mode: Mode, law: Law) -> Self {
        let (state, input) = (scene.start.clone(), StepInput::default());
        let at = At { scene, state, input, mode, law };
        Self { case, at, sides: [0; 2].map(|_| Side::new(&scene.system, law)) }
    }

    /// Takes the present step. Where exact friction has no solution, the run continues with the
    /// fallback.
    fn step(&mut self, work: &mut Workspace) {
        let At { scene, state, input, .. } = &mut self.at;
        let params = StepParams { fallback: Fallback::Convex, ..scene.params.clone() };
        if let Err(error) = scene.system.step_with(state, input, &params, work) {
            println!("{}: {error}", self.case.name);
        }
    }

    /// Compares the derivatives of step `k` at its state or, with `off`, at a displaced one.
    fn compare_step(&mut self, k: usize, off: bool) {
        let run = self.at.state.q.clone();
        match self.differentiate(off) {
            // the solver may find no solution with exact friction
            Err(DerivativeError::Step(_) | DerivativeError::Foundation(..))
                if self.at.law != Law::Convex =>
            {
                self.sides[usize::from(off)].tally.unsolved += 5;
            }
            // a drive at its limit in a closed loop has no derivatives and reports that
            Err(DerivativeError::Limited(_)) => {}
            Err(error) => panic!("{}, step {k}: {error}", self.case.name),
            Ok(kinks) => self.compare_changes(k, kinks, off),
        }
        self.at.state.q = run;
    }

    /// Differentiates the present step, with `off` after a random displacement of its state.
    fn differentiate(&mut self, off: bool) -> Result<StepKinks, DerivativeError> {
        let Self { at, sides, .. } = self;
        let Side { derivatives, samples, .. } = &mut sides[usize::from(off)];
        let system = &*at.scene.system;
        let run = at.state.q.clone();
        let n_v = system.model().n_v();
        let dq: Vec<f64> = (0..n_v).map(|_| if off { samples.signed() } else { 0.0 }).collect();
        let mut displaced_by = |size: f64| {
            at.state.q = moved(system, &run, &dq, size);
            system.differentiate(&at.state, &at.input, &at.scene.params, at.mode, derivatives)
        };
        match displaced_by(OFF) {
            // a peg in its hole allows only small displacements
            Err(DerivativeError::Step(StepError::Infeasible { .. })) => displaced_by(0.01 * OFF),
            other => other,
        }
    }

    /// Compares the products of the differentiated step with a change of each kind.
    fn compare_changes(&mut self, k: usize, kinks: StepKinks, off: bool) {
        let (case, at) = (self.case, &self.at);
        let At { scene, law, .. } = *at;
        let system = &*scene.system;
        let side = &mut self.sides[usize::from(off)];
        let report = side.derivatives.report();
        let in_parts = report.substeps > 1 || report.n_joined > 0;
        let base = side.derivatives.q_next().to_vec();
        let mut matrices = Matrices::default();
        fill(&mut side.derivatives, system, &mut matrices, law.is_dynamic());
        if law.is_long() && !in_parts {
            return;
        }
        let mut out = OutputChange::default();
        for what in What::EACH {
            if what == What::Velocity && !law.is_dynamic() {
                continue;
            }
            let change = what.sample(system, &scene.params, &mut side.samples);
            let rows = side.derivatives.jvp(system, &change, true, &mut out).unwrap();
            // kinks of geometry matter only if the configuration changes
            let moves = matches!(what, What::Configuration | What::All);
            let kink = kinks.any() && (moves || !kinks.only_of_geometry());
            if kink || rows > 1e-9 {
                side.tally.flagged += 1;
                continue;
            }
            check_matrices(system, &change, &out, &matrices, law.is_dynamic());
            // the report's impulses are those of the last substep
            let with_impulses = case.impulses && !in_parts;
            let errors = at.least_errors(&change, &out, &base, with_impulses, &mut side.memory);
            let tally = &mut side.tally;
            tally.compared += 1;
            for (worst, error) in tally.worst.iter_mut().zip(errors) {
                *worst = worst.max(error);
            }
            if errors.iter().any(|e| *e > 1e-6) {
                tally.off += 1;
                println!("{}, step {k}, {what:?}: {errors:?} {kinks:?}", case.name);
            }
        }
    }
}

/// Compares derivatives of steps along a scene's run, at its states and at randomly displaced ones.
///
/// In a run, bodies rest on one another exactly touching and level, which are kinks; displaced
/// states have none. A comparison is skipped only where the derivative itself reports a kink: by
/// its flags, or because the change makes dependent rows inconsistent.
fn compare(case: &Case, mode: Mode, law: Law) -> [Tally; 2] {
    let scene = scene(case.name, law);
    let h = scene.params.time_step;
    let n_steps = ((scene.duration / h).round() as usize).min(200);
    let mut work = scene.system.create_workspace();
    let mut run = Run::new(case, &scene, mode, law);
    for k in 0..n_steps {
        scene.sample(run.at.state.time + h, &mut run.at.input);
        // not the start itself: scenes begin at rest, exactly touching
        if (k + 1) % (n_steps / case.steps).max(2) == 0 {
            run.compare_step(k, false);
            run.compare_step(k, true);
        }
        run.step(&mut work);
    }
    let [along, off] = run.sides.map(|side| side.tally);
    println!("{}: {along:?}\n{}, off its run: {off:?}", case.name, case.name);
    [along, off]
}

fn check(cases: &[Case], mode: Mode, law: Law) {
    let mut failures = Vec::new();
    for case in cases {
        for (tally, least) in compare(case, mode, law).into_iter().zip(case.least) {
            let most = match case.name {
                // impulses of its round cone are accurate to 1e-10, which limits the differences
                "fence_particle" => 5e-6,
                _ => 1e-6,
            };
            if tally.compared < least || tally.worst.iter().any(|e| *e > most) {
                failures.push((case.name, tally));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Every shipped scene is in both lists.
fn is_complete(cases: &[Case]) -> bool {
    let files = testkit::scene_files();
    let all = files.iter().filter(|name| !testkit::FACTS_ONLY.contains(&name.as_str()));
    all.eq(cases.iter().map(|case| case.name))
}

const fn case(name: &'static str, steps: usize, least: [usize; 2], impulses: bool) -> Case {
    Case { name, steps, least, impulses }
}

/// Comparisons skipped along the runs are stacks, pinched and wedged bodies, where a change makes
/// dependent rows inconsistent. Impulses are not compared where many points share a load: the
/// solver's `z` then has the smallest norm only to 1e-6.
///
/// In displaced states, boxes of `iiwa_stacking` and of the pile are held by more points than
/// necessary. All changes but commands and wrenches separate some of them. The mug has friction
/// over an area; some contact points move its centre to one side.
#[test]
fn exact_derivatives_of_scenes_are_those_of_differences() {
    let cases = [
        case("ball_in_hand", 10, [50, 50], true),
        case("box_pivot", 10, [30, 50], true),
        case("bunny_grasp", 10, [42, 42], false),
        case("door", 10, [50, 50], true),
        case("fence_particle", 10, [50, 50], true),
        case("four_bar_gripper", 20, [5, 5], false),
        case("gripper_2d", 10, [48, 50], false),
        case("iiwa_stacking", 10, [50, 20], false),
        case("million_points", 10, [48, 45], false),
        case("mug_handle", 10, [50, 38], false),
        case("pebble", 10, [30, 30], false),
        case("pile", 12, [15, 20], false),
        case("pinch", 10, [30, 50], true),
        case("planar_hand", 10, [50, 50], true),
        case("planar_push", 10, [50, 50], true),
        case("planar_pusher", 10, [50, 50], true),
        case("point_robot", 10, [25, 25], true),
        case("pusher_slider", 10, [50, 50], true),
        case("pusher_slider_eight", 10, [50, 50], true),
        case("robots/drawer", 10, [30, 45], false),
        case("robots/panda_push", 10, [45, 35], false),
        case("robots/peg_in_hole", 10, [45, 45], false),
        case("sphere_spin", 10, [50, 50], true),
    ];
    assert!(is_complete(&cases));
    check(&cases, Mode::Exact, Law::Convex);
}

/// Comparisons skipped are changes of the configuration, in states that are level or exactly
/// touching. Examples are clouds at rest, where many points are equally near, boxes flush with
/// others, and corners exactly at the margin.
#[test]
fn smooth_derivatives_of_scenes_are_those_of_differences() {
    for law in [Law::Convex, Law::Exact] {
        let cases = [
            case("ball_in_hand", 10, [50, 50], true),
            case("box_pivot", 10, [38, 50], true),
            case("bunny_grasp", 10, [30, 45], true),
            case("door", 10, [50, 50], true),
            case("fence_particle", 10, [50, 50], true),
            case("four_bar_gripper", 20, [5, 5], false),
            case("gripper_2d", 10, [55, 55], true),
            case("iiwa_stacking", 10, [30, 50], true),
            case("million_points", 10, [if law == Law::Convex { 36 } else { 30 }, 30], true),
            case("mug_handle", 10, [40, 44], true),
            case("pebble", 10, [30, 30], true),
            case("pile", 3, [9, 15], true),
            case("pinch", 10, [50, 50], true),
            case("planar_hand", 10, [50, 50], true),
            case("planar_push", 10, [50, 50], true),
            case("planar_pusher", 10, [50, 50], true),
            case("point_robot", 10, [25, 25], true),
            case("pusher_slider", 10, [50, 50], true),
            case("pusher_slider_eight", 10, [50, 50], true),
            case("robots/drawer", 10, [30, 50], true),
            case("robots/panda_push", 10, [50, 50], true),
            case("robots/peg_in_hole", 10, [50, 50], false),
            case("sphere_spin", 10, [50, 50], true),
        ];
        assert!(is_complete(&cases));
        check(&cases, Mode::Smooth { kappa: 1e-3 }, law);
    }
}

/// Scenes with the least numbers of comparisons, along the run and displaced from it, that agree to
/// 1e-6, with pyramids and with round cones.
///
/// Besides kinks, states are skipped in which undetermined loads move the bodies: the peg in its
/// hole, the pile, the tilted boxes of `iiwa_stacking`. In the `pebble`, contact points move during
/// the step. Where undetermined loads hardly move a body, as in the hole, no kink is reported, and
/// differences scatter with the solutions found. These are the few comparisons that disagree.
const EXACT: [(&str, [usize; 4]); 23] = [
    ("ball_in_hand", [50, 50, 50, 50]),
    ("box_pivot", [20, 45, 20, 40]),
    ("bunny_grasp", [40, 45, 40, 30]),
    ("door", [40, 50, 40, 50]),
    ("fence_particle", [50, 50, 50, 50]),
    ("four_bar_gripper", [15, 0, 15, 0]),
    ("gripper_2d", [30, 50, 30, 50]),
    ("iiwa_stacking", [45, 0, 50, 0]),
    ("million_points", [25, 40, 25, 25]),
    ("mug_handle", [50, 35, 50, 35]),
    ("pebble", [0, 0, 0, 0]),
    ("pile", [0, 0, 0, 0]),
    ("pinch", [30, 50, 30, 40]),
    ("planar_hand", [50, 50, 50, 50]),
    ("planar_push", [40, 45, 50, 50]),
    ("planar_pusher", [50, 50, 50, 50]),
    ("point_robot", [25, 25, 25, 25]),
    ("pusher_slider", [50, 50, 50, 50]),
    ("pusher_slider_eight", [50, 50, 50, 50]),
    ("robots/drawer", [30, 50, 5, 40]),
    ("robots/panda_push", [45, 40, 20, 30]),
    ("robots/peg_in_hole", [1, 30, 4, 0]),
    ("sphere_spin", [50, 50, 50, 50]),
];

/// Scenes in which all impulses are unique.
const UNIQUE: [&str; 5] = ["ball_in_hand", "door", "fence_particle", "planar_hand", "sphere_spin"];

fn check_exact(law: Law) {
    let (mut compared, mut off_all, mut failures) = (0, 0, Vec::new());
    for (name, least) in EXACT {
        let first = if law == Law::Exact { 0 } else { 2 };
        let least = [least[first], least[first + 1]];
        let steps = match name {
            "pile" => 3,
            "four_bar_gripper" => 20,
            // loads of the box are undetermined in the displaced states before it is pushed
            "robots/panda_push" => 12,
            _ => 10,
        };
        let case = case(name, steps, least, UNIQUE.contains(&name));
        for (tally, least) in compare(&case, Mode::Exact, law).into_iter().zip(least) {
            compared += tally.compared;
            off_all += tally.off;
            if tally.compared - tally.off < least {
                failures.push((name, tally));
            }
        }
    }
    println!("{off_all} of {compared} are off");
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(20 * off_all < compared, "{off_all} of {compared}");
}

#[test]
fn derivatives_with_exact_friction_are_those_of_differences() {
    check_exact(Law::Exact);
}

#[test]
fn derivatives_with_exact_round_friction_are_those_of_differences() {
    check_exact(Law::Round);
}

/// Compares all scenes; at most one comparison of twenty may be off.
fn check_stepped(law: Law, least: usize) {
    let (mut compared, mut off_all) = (0, 0);
    for (name, _) in EXACT {
        let case = case(name, if name == "pile" { 2 } else { 10 }, [0, 0], UNIQUE.contains(&name));
        for tally in compare(&case, Mode::Exact, law) {
            compared += tally.compared;
            off_all += tally.off;
        }
    }
    println!("{off_all} of {compared} are off");
    assert!(compared >= least && 20 * off_all < compared, "{off_all} of {compared}");
}

#[test]
fn derivatives_of_dynamic_steps_are_those_of_differences() {
    check_stepped(Law::Dynamic, 1000);
}

#[test]
fn derivatives_of_steps_in_substeps_are_those_of_differences() {
    check_stepped(Law::Long, 300);
}

#[test]
fn derivatives_of_dynamic_steps_in_substeps_are_those_of_differences() {
    check_stepped(Law::LongDynamic, 100);
}
