//! Steps that choose their size by `step.tolerance`: errors, times at which steps end, jumps, resumed
//! runs, mistakes.

use crate::common::{complaint, parse_with};
use quasistep::{
    BatchInput, BatchKeep, Checkpoint, Mode, RunDerivatives, State, StepError, StepInput,
    StepParams, WarmStart,
};
use quasistep_math::Pose;
use quasistep_record::Frame;
use quasistep_scene::{RunOptions, Scene};
use std::ops::ControlFlow;
use std::path::Path;

fn shipped(name: &str, changes: &[(&str, &str)]) -> Scene {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes").join(name);
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let changes: Vec<(String, String)> = changes.iter().map(own).collect();
    Scene::load_with(&path, &changes).unwrap_or_else(|e| panic!("{e}"))
}

/// A run: its frames, size and choice of each step, and the error that ended it.
struct Course {
    frames: Vec<Frame>,
    steps: Vec<(f64, Option<quasistep::SizeChoice>)>,
    end: Checkpoint,
    stopped: Option<StepError>,
}

impl Course {
    fn sizes(&self) -> impl Iterator<Item = f64> {
        self.steps.iter().map(|(size, _)| *size)
    }

    fn rejected(&self) -> u32 {
        self.steps.iter().filter_map(|(_, choice)| choice.as_ref()).map(|c| c.rejected).sum()
    }

    /// Times of steps that exceed the tolerance at the smallest size.
    fn jumps(&self) -> Vec<f64> {
        let steps = self.frames[1..].iter().zip(&self.steps);
        steps.filter(|(_, (_, c))| c.is_some_and(|c| !c.resolved)).map(|(f, _)| f.t).collect()
    }
}

fn course(scene: &Scene, options: &RunOptions<'_>) -> Course {
    let (mut frames, mut steps) = (Vec::new(), Vec::new());
    let (end, stopped) = scene.run_frames(options, None, &mut |frame, step| {
        frames.push(frame);
        steps.extend(step.map(|step| (step.report.time_step, step.report.choice)));
        ControlFlow::Continue(())
    });
    Course { frames, steps, end, stopped }
}

#[track_caller]
fn run(scene: &Scene) -> Course {
    let course = course(scene, &RunOptions::default());
    assert_eq!(course.stopped, None);
    course
}

/// Poses at twenty common times.
#[track_caller]
fn places(scene: &Scene) -> Vec<Vec<Pose>> {
    let every = scene.duration / 20.0;
    let course = self::course(scene, &RunOptions { every: Some(every), ..RunOptions::default() });
    assert_eq!(course.stopped, None, "{}", scene.name);
    let at = |k: usize| {
        let t = if k == 20 { scene.duration } else { k as f64 * every };
        course.frames.iter().find(|f| f.t == t).unwrap_or_else(|| panic!("no step ends at {t}"))
    };
    (0..=20).map(|k| at(k).X_WB.clone()).collect()
}

/// A pendulum that swings with momentum.
const PENDULUM: &str = "
step: {motion: dynamic, duration: 1}
models:
  bob:
    joint: [{hinge: q, axis: [0, 1, 0], start: 1}]
    mass: 1
    shape: {sphere: {radius: 0.05}, pose: {xyz: [0, 0, -0.5]}}
";

/// The distance to a tight run falls with the tolerance, for all friction laws, kinds of motion and
/// integrations.
#[test]
fn errors_fall_with_the_tolerance() {
    let midpoint = [("step.integration", "midpoint")];
    let convex = [("step.friction", "convex")];
    let cases: [(&str, &[(&str, &str)]); 6] = [
        ("door.yml", &[]),
        ("door.yml", &midpoint),
        ("box_pivot.yml", &[]),
        ("box_pivot.yml", &convex),
        ("pusher_slider.yml", &[]),
        ("pendulum", &[]),
    ];
    for (name, changes) in cases {
        let run_of = |tolerance: &str| {
            let mut all = vec![("step.tolerance", tolerance)];
            all.extend(changes);
            let text = || parse_with(PENDULUM, &all).unwrap();
            let scene = if name == "pendulum" { text() } else { shipped(name, &all) };
            let places = places(&scene);
            (scene, places)
        };
        let (_, tight) = run_of("1e-6");
        let far = ["1e-2", "1e-3", "1e-4", "1e-5"].map(|tolerance| {
            let (scene, own) = run_of(tolerance);
            let pairs = own.iter().zip(&tight);
            pairs.map(|(a, b)| scene.system.displacement(a, b)).fold(0.0, f64::max)
        });
        println!("{name} {changes:?}: {far:?}");
        assert!(far[3] < 0.3 * far[0], "{name} {changes:?}: {far:?}");
        assert!(far.windows(2).all(|w| w[1] <= 1.05 * w[0]), "{name} {changes:?}: {far:?}");
    }
}

/// A slide that follows a command without error, and one that lags behind.
const SLIDES: &str = "
step: {tolerance: 1.0e-4, duration: 1}
models:
  a:
    joint: [{slide: x, axis: [1, 0, 0], stiffness: 100}, {slide: y, axis: [0, 1, 0], stiffness: 100, damping: 20}]
    gravity: false
    mass: 1
    shape: {box: {size: [0.1, 0.1, 0.1]}}
commands:
  - {joint: a.x, linear: {t: [0.37, 0.61], values: [0, 0.1]}}
  - {joint: a.y, expr: '0.1*max(0, t - 0.2345678)'}
";

#[test]
fn steps_end_at_kinks_and_at_times_that_were_asked_for() {
    let scene = parse_with(SLIDES, &[("output", "{every: 0.1}")]).unwrap();
    let course = run(&scene);
    let times: Vec<f64> = course.frames.iter().map(|f| f.t).collect();
    for k in 0..=10 {
        assert!(times.contains(&(f64::from(k) * 0.1)), "{k}: {times:?}");
    }
    assert_eq!(times.last(), Some(&1.0));
    for kink in [0.37, 0.61, 0.2345678f64] {
        assert!(times.iter().any(|t| (t - kink).abs() < 1e-15), "{kink}: {times:?}");
    }
    // times ascend, and no sliver is left between two of them
    let least = course.sizes().fold(1.0, f64::min);
    assert!(times.windows(2).all(|t| t[1] > t[0]) && least > 1e-3, "{least}");
    // without these times the same run has fewer steps
    let plain = run(&parse_with(SLIDES, &[]).unwrap());
    assert!(plain.frames.len() < course.frames.len());
    assert!(!plain.frames.iter().any(|f| f.t == 0.1));
}

/// A step that ends where a command jumps reads the command before the jump.
#[test]
fn a_jump_of_a_command_begins_at_its_time_and_is_listed() {
    let jump = [("commands.0", "{joint: a.x, expr: '0.1*step(t - 0.5)'}")];
    let scene = parse_with(SLIDES, &jump).unwrap();
    let course = run(&scene);
    let before = course.frames.iter().rfind(|f| f.t <= 0.5).unwrap();
    assert_eq!((before.t, before.q[0]), (0.5, 0.0));
    let jumps = course.jumps();
    let smallest = scene.params.sizes.unwrap().min;
    assert!(jumps.len() == 1 && jumps[0] - 0.5 < 4.0 * smallest, "{jumps:?}");
}

/// What rests takes steps of the largest size.
#[test]
fn rest_takes_the_largest_steps() {
    let scene = parse_with(
        "
step: {tolerance: 1.0e-4, max_size: 0.25, duration: 10}
models:
  table: {joint: fixed, shape: {half_space: {}}}
  box: {mass: 1, pose: {xyz: [0, 0, 0.05]}, shape: {box: {size: [0.1, 0.1, 0.1]}}}
",
        &[],
    );
    let course = run(&scene.unwrap());
    assert!(course.sizes().all(|size| size == 0.25) && course.steps.len() == 40);
    assert_eq!(course.rejected(), 0);
}

/// A tall box that leans too far falls within one smallest step: it is accepted and listed.
#[test]
fn a_box_that_tips_is_listed() {
    let tips = "
step: {tolerance: 1.0e-4, min_size: 0.02, duration: 1}
models:
  table: {joint: fixed, shape: {half_space: {}}}
  box: {mass: 1, pose: {xyz: [0, 0, 0.156], rpy: [0, 0.4, 0]}, shape: {box: {size: [0.1, 0.1, 0.3]}}}
";
    let scene = parse_with(tips, &[]).unwrap();
    let course = run(&scene);
    let jumps = course.jumps();
    assert!(!jumps.is_empty() && jumps[0] < 0.3 && course.rejected() > 0, "{jumps:?}");
    let end = course.frames.last().unwrap();
    assert!((end.X_WB[2].translation.z - 0.05).abs() < 1e-3, "it lies on its side: {end:?}");
    // the last steps are at rest, and as large as can be
    assert!(course.sizes().last().unwrap() > 0.1, "{:?}", course.steps);
    // smaller steps resolve the fall
    let fine = run(&parse_with(tips, &[("step.min_size", "1e-5")]).unwrap());
    assert!(fine.jumps().len() < jumps.len(), "{:?}", fine.jumps());
}

/// Every two steps as a run of their own, from a fresh workspace, give the bits of the whole run.
#[test]
fn resumed_runs_have_the_same_bits() {
    let cases: [(&str, &[(&str, &str)]); 4] = [
        ("planar_push.yml", &[("step.tolerance", "1e-3")]),
        ("planar_push.yml", &[("step.tolerance", "1e-3"), ("step.friction", "convex")]),
        ("box_pivot.yml", &[("step.tolerance", "1e-4"), ("step.integration", "midpoint")]),
        ("door.yml", &[("step.tolerance", "1e-3"), ("step.motion", "dynamic")]),
    ];
    for (name, changes) in cases {
        let scene = shipped(name, changes);
        let whole = run(&scene);
        assert!(whole.rejected() > 0, "{name}");
        let again = run(&scene);
        assert!(whole.frames == again.frames && whole.end == again.end, "{name}");
        let mut at = Checkpoint { state: scene.start.clone(), warm: WarmStart::default() };
        let mut index = 0;
        while at.state.time < scene.duration - 1e-9 {
            let options = RunOptions {
                start: Some(at.state.clone()),
                warm: Some(&at.warm),
                duration: Some(scene.duration - at.state.time),
                ..RunOptions::default()
            };
            let mut frames = Vec::new();
            let (end, _) = scene.run_frames(&options, None, &mut |frame, step| {
                if step.is_none() {
                    return ControlFlow::Continue(());
                }
                frames.push(frame);
                ControlFlow::Break(())
            });
            assert_eq!(frames.len(), 2, "steps come in twos");
            assert_eq!(frames, whole.frames[index + 1..index + 3], "{name} at {}", at.state.time);
            index += 2;
            at = end;
        }
        assert_eq!((index, &at), (whole.steps.len(), &whole.end));
    }
}

/// Steps that have no answer at a size are halved; if no size helps, the state is that before.
#[test]
fn steps_without_an_answer_are_halved() {
    let never = [("step.tolerance", "1e-2"), ("step.substeps", "never")];
    let scene = shipped("tunnel.yml", &never);
    let course = run(&scene);
    assert!(course.rejected() > 0);
    let end = course.frames.last().unwrap();
    let x = end.X_WB[2].translation.x;
    assert!((x - 1.57).abs() < 0.02, "the box was pushed, not passed: {x}");

    let crushed = "
step: {tolerance: 1.0e-4, duration: 1}
models:
  wall: {joint: fixed, shape: {half_space: {}}}
  piston:
    joint: [{slide: z, axis: [0, 0, -1], role: prescribed}]
    pose: {xyz: [0, 0, 0.25]}
    gravity: false
    shape: {box: {size: [0.1, 0.1, 0.1]}}
  box: {mass: 1, pose: {xyz: [0, 0, 0.05]}, shape: {box: {size: [0.1, 0.1, 0.1]}}}
commands: [{joint: piston.z, expr: 0.2*t}]
";
    let scene = parse_with(crushed, &[]).unwrap();
    let course = self::course(&scene, &RunOptions::default());
    let why = course.stopped.expect("nothing gives way");
    assert!(matches!(why, StepError::Infeasible { .. } | StepError::Jammed { .. }), "{why}");
    let last = course.frames.last().unwrap();
    // the piston meets the box after half of the time
    assert!(last.t <= 0.5 + 1e-3 && last.t > 0.49, "{}", last.t);
    assert_eq!((last.t, &last.q), (course.end.state.time, &course.end.state.q));
}

/// Rows of a table are reached at their times, from row to row as divided steps read them.
#[test]
fn rows_of_commands_are_reached_at_their_times() {
    let scene = parse_with(SLIDES, &[]).unwrap();
    let (u, v) = ([0.01, 0.0, 0.03, 0.01], [0.1, 0.0, 0.2, 0.1]);
    let options = RunOptions {
        commands: Some((&u, &v)),
        n_steps: Some(2),
        every: Some(0.1),
        ..RunOptions::default()
    };
    let course = self::course(&scene, &options);
    assert_eq!(course.stopped, None);
    let at = |t: f64| course.frames.iter().find(|f| f.t == t).unwrap();
    assert!((at(0.1).q[0] - 0.01).abs() < 1e-12 && (at(0.2).q[0] - 0.03).abs() < 1e-12);
    assert_eq!(course.frames.last().unwrap().t, 0.2);
    // with its rate the command is a straight line between rows
    for frame in &course.frames {
        let line = if frame.t <= 0.1 { 0.1 * frame.t } else { 0.01 + 0.2 * (frame.t - 0.1) };
        assert!((frame.q[0] - line).abs() < 1e-9, "{}: {}", frame.t, frame.q[0]);
    }
    let none = RunOptions { every: None, ..options };
    assert!(self::course(&scene, &none).stopped.unwrap().to_string().contains("time between"));
}

/// Without a tolerance a step has the size that it is told; with one a step has the largest.
#[test]
fn one_way_to_choose_sizes_takes_the_place_of_the_other() {
    let scene = parse_with(SLIDES, &[("step.size", "0.05")]).unwrap();
    assert_eq!((scene.params.sizes, scene.params.time_step), (None, 0.05));
    let scene = shipped("door.yml", &[("step.tolerance", "1e-3"), ("step.max_size", "0.2")]);
    let sizes = scene.params.sizes.unwrap();
    assert_eq!((sizes.tolerance, sizes.max, sizes.min), (1e-3, 0.2, 0.2 / 4096.0));
    assert_eq!(scene.params.time_step, 0.2);
    let mut state: State = scene.start.clone();
    let mut input = StepInput::default();
    scene.sample(0.2, &mut input);
    let mut work = scene.system.create_workspace();
    scene.system.step_with(&mut state, &input, &scene.params, &mut work).unwrap();
    assert_eq!(state.time, 0.2);
    let fixed = quasistep_scene::read_step_words(&scene.params, &[("size".into(), "0.1".into())]);
    assert_eq!(fixed.unwrap().sizes, None);
    let words = [("tolerance".into(), "1e-2".into())];
    let chosen = quasistep_scene::read_step_words(&quasistep::StepParams::default(), &words);
    assert_eq!(chosen.unwrap().sizes.unwrap().tolerance, 1e-2);
}

#[test]
fn mistakes_are_told_with_their_line() {
    let with = |step: &str| SLIDES.replace("tolerance: 1.0e-4, duration: 1", step);
    let wrong = |step: &str, key: &str, words: &str| {
        complaint(&with(step), &format!("scene.yml:2: step.{key}: "), &[words]);
    };
    let both = "were both seen; give `size` (s) for steps of one size, or `tolerance` (m)";
    wrong("size: 0.1, tolerance: 1.0e-3, duration: 1", "tolerance", both);
    wrong("size: 0.1, max_size: 0.2, duration: 1", "max_size", "give that, or `size` (s) alone");
    wrong("tolerance: 0, duration: 1", "tolerance", "> 0");
    let order = "tolerance: 1.0e-3, min_size: 0.3, max_size: 0.2, duration: 1";
    wrong(order, "min_size", "0.3 was seen; it must be at most `max_size`, 0.2 s");
    let output = with("size: 0.1, duration: 1") + "output: {every: 0.1}\n";
    let line = output.lines().count();
    let place = format!("scene.yml:{line}: output.every: ");
    complaint(&output, &place, &["if `step.tolerance` chooses their sizes"]);
    let drag = parse_with(SLIDES, &[("step.relaxation", "step")]).unwrap();
    assert!(drag.warnings.iter().any(|w| w.contains("drags more in smaller steps")));
}

/// Boxes of different masses, pushed by rows of commands, on any number of threads: the bits of
/// runs of their own.
#[test]
fn samples_of_a_batch_choose_their_own_sizes() {
    let scene = shipped("planar_push.yml", &[("step.tolerance", "1e-3")]);
    let system = &scene.system;
    let (n, rows, every) = (5, 8, 0.25);
    let mut u = Vec::new();
    for sample in 0..n {
        for row in 1..=rows {
            let t = every * row as f64;
            u.extend([-0.11 + (0.02 + 0.02 * sample as f64) * t, 0.02]);
        }
    }
    let input = BatchInput {
        n_samples: n,
        n_steps: rows,
        q: &scene.start.q,
        q_cmd: &u,
        every: Some(every),
        ..BatchInput::default()
    };
    let n_q = scene.start.q.len();
    let run = |threads: usize| {
        let mut out = vec![0.0; n * rows * n_q];
        let keep = BatchKeep::default();
        let ends = system.step_batch(&input, &scene.params, keep, threads, &mut out, None).unwrap();
        assert!(ends.iter().all(|end| end.error.is_none() && end.n_steps == rows));
        (out, ends.iter().map(|end| end.by_tolerance).collect::<Vec<_>>())
    };
    let (one, counts) = run(1);
    assert_eq!((&one, &counts), (&run(2).0, &run(2).1));
    assert_eq!((&one, &counts), (&run(4).0, &run(4).1));
    assert!(counts[0][0] < counts[4][0], "slow pushes need fewer steps: {counts:?}");
    for sample in [0, 4] {
        let own = &u[2 * rows * sample..2 * rows * (sample + 1)];
        let options = RunOptions {
            commands: Some((own, &[])),
            n_steps: Some(rows),
            every: Some(every),
            ..RunOptions::default()
        };
        let alone = self::course(&scene, &options);
        assert_eq!(alone.steps.len(), counts[sample][0]);
        for row in 0..rows {
            let t = every * (row + 1) as f64;
            let frame = alone.frames.iter().find(|f| f.t == t).unwrap();
            let at = (sample * rows + row) * n_q;
            assert_eq!(frame.q, one[at..at + n_q], "sample {sample}, row {row}");
        }
    }
    let no_time = BatchInput { every: None, ..input };
    let mut out = vec![0.0; n * n_q];
    let ends = system
        .step_batch(&no_time, &scene.params, BatchKeep::default(), 1, &mut out, None)
        .unwrap();
    let why = ends[0].error.as_ref().unwrap().to_string();
    assert!(why.contains("time between them"), "{why}");
}

/// Derivatives of a run by tolerance are those of the steps that it takes: with respect to a mass
/// they agree with differences of runs that take the same sizes.
#[test]
fn derivatives_are_those_of_the_steps_taken() {
    let tolerance = [("step.tolerance", "1e-3")];
    let with = |mass: &str| shipped("planar_push.yml", &[tolerance[0], ("models.box.mass", mass)]);
    let scene = with("0.8");
    let (less, more) = (with("0.799"), with("0.801"));
    let change = scene.system.change_between(&less.system, &more.system, 0.002).unwrap();
    let (rows, every) = (6, 0.25);
    let u: Vec<f64> =
        (1..=rows).flat_map(|row| [-0.11 + 0.05 * every * f64::from(row), 0.02]).collect();
    let rows = rows as usize;
    let n_q = scene.start.q.len();
    let input = BatchInput {
        n_samples: 1,
        n_steps: rows,
        q: &scene.start.q,
        q_cmd: &u,
        every: Some(every),
        ..BatchInput::default()
    };
    let (mut q, mut by) = (vec![0.0; rows * n_q], vec![0.0; rows * n_q]);
    let out = RunDerivatives { q: &mut q, by: &mut by, matrices: None };
    let ends = scene
        .system
        .run_derivatives(&input, &[change], &scene.params, Mode::Exact.into(), 1, out)
        .unwrap();
    assert_eq!(ends[0].error, None);
    // the run by itself goes the same way
    let options = RunOptions {
        commands: Some((&u, &[])),
        n_steps: Some(rows),
        every: Some(every),
        ..RunOptions::default()
    };
    let run = self::course(&scene, &options);
    let end = &run.frames.last().unwrap().q;
    let own = &q[(rows - 1) * n_q..];
    let off = end.iter().zip(own).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off < 1e-6, "{off}");
    // runs of other masses in steps of the sizes that this one took
    let at_sizes = |scene: &Scene| {
        let mut work = scene.system.create_workspace();
        let mut state = scene.start.clone();
        for (frame, (size, _)) in run.frames[1..].iter().zip(&run.steps) {
            let params = StepParams { time_step: *size, sizes: None, ..scene.params.clone() };
            let q_cmd = frame.q_cmd.clone();
            let input = StepInput { q_cmd, ..StepInput::default() };
            scene.system.step_with(&mut state, &input, &params, &mut work).unwrap();
        }
        state.q
    };
    let (a, b) = (at_sizes(&less), at_sizes(&more));
    let last = &by[(rows - 1) * n_q..];
    let size = last.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    assert!(size > 1e-3, "the mass matters: {last:?}");
    for (k, slope) in last.iter().enumerate() {
        let difference = (b[k] - a[k]) / 0.002;
        assert!((slope - difference).abs() < 0.02 * size, "{k}: {slope} and {difference}");
    }
}
