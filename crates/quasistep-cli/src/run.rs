//! `quasistep run`.

use crate::RunArgs;
use crate::clock::thread_cpu_ns;
use crate::course::Course;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{Output, tell_files};
use crate::say;
use crate::scale::{MANY_STEPS, confirm};
use crate::spans::Spans;
use crate::stream::write_text;
use crate::summary::{Seconds, summary, turned};
use crate::wait::Wait;
use indicatif::{ProgressBar, ProgressStyle};
use quasistep::{Fallback, FrictionLaw, StepError, Tally};
use quasistep_record::{Finish, RunFolder};
use quasistep_scene::{
    FactResult, FactWatch, RunOptions, Scene, counted, figure, overlaps_in_words,
};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Largest number of times that are printed.
const MOST_TIMES: usize = 5;

pub fn run(arguments: &RunArgs, quiet: bool) -> Result<(), Failure> {
    let mut changes = arguments.changes.pairs()?;
    if arguments.uniqueness {
        changes.push(("step.uniqueness".into(), "true".into()));
    }
    let scene = load(arguments, &changes, quiet)?;
    let dir = arguments.out.clone().unwrap_or_else(|| Path::new("out").join(&scene.name));
    // open the folder first, so that an unwritable one is reported before the run
    let folder = RunFolder::open(&dir).map_err(Failure::usage)?;
    if !quiet {
        introduce(&scene);
    }
    // facts refer to the scene without changes
    let watches_facts = changes.is_empty();
    let (scene, course) = if arguments.serving.live {
        crate::live::run(scene, &folder, &arguments.output, quiet)?
    } else {
        let course = follow(&scene, &folder, &arguments.output, watches_facts, quiet)?;
        (scene, course)
    };
    let page = finish(arguments, &scene, folder, &dir, &course, quiet)?;
    let facts = course.facts;
    if !quiet {
        print_facts(&facts);
    }
    if let Some(why) = &course.stopped {
        let at = course.state.time;
        let text = format!(
            "{}: the step after t = {at} s was not taken: {why} (the run up to there is in {})",
            scene.name,
            dir.display()
        );
        return Err(if course.interrupted {
            Failure::interrupted(text)
        } else {
            Failure::world(text)
        });
    }
    arguments.output.write_trajectory(&dir, &scene)?;
    if arguments.serving.live {
        tell_files(&dir, page.as_deref(), quiet);
        return Ok(());
    }
    arguments.output.tell(&dir, page.as_deref(), quiet);
    let undecided = course.tally.stand_ins() - course.tally.without_recovery();
    if arguments.strict && undecided > 0 && scene.params.fallback == Fallback::Undecided {
        let steps = counted(undecided, "step", "steps");
        return Err(Failure::world(format!(
            "{}: no answer with exact friction was found to {steps}, and the convex step stood in; say `step.fallback: convex` if it may",
            scene.name
        )));
    }
    let broken: Vec<&str> = facts.iter().filter(|f| !f.ok).map(|f| f.text.as_str()).collect();
    if arguments.strict && !broken.is_empty() {
        return Err(Failure::world(format!(
            "{}: {} of {} facts do not hold: {}",
            scene.name,
            broken.len(),
            facts.len(),
            broken.join("; ")
        )));
    }
    Ok(())
}

/// Loads the scene, with changes, if it can be run with these arguments.
fn load(arguments: &RunArgs, changes: &[(String, String)], quiet: bool) -> Result<Scene, Failure> {
    let loading = Wait::new("reading the scene", quiet);
    let scene = Scene::load_with(&arguments.scene, changes).map_err(Failure::usage)?;
    drop(loading);
    if arguments.strict && !changes.is_empty() {
        return Err(Failure::usage(
            "--strict: facts speak of the scene as it is written; leave out --set and its short forms",
        ));
    }
    confirm(scene.n_steps(), MANY_STEPS, "steps", arguments.yes || arguments.serving.live)?;
    let exact = scene.params.formulation.friction == FrictionLaw::Exact;
    if scene.params.uniqueness && !exact {
        return Err(Failure::usage(
            "step.uniqueness speaks of exact Coulomb friction; add --friction exact",
        ));
    }
    Ok(scene)
}

fn introduce(scene: &Scene) {
    say!("{}", scene.contents().title);
    for told in scene.motion_told.iter().chain(&scene.commands_told) {
        say!("  {told}");
    }
    for cloud in &scene.clouds {
        say!("  cloud {cloud}");
    }
    say::warnings(&scene.warnings);
    let overlaps = overlaps_in_words(&scene.pairs_at_start().unwrap_or_default());
    for line in &overlaps {
        tell!("warning: {line}; it recovers at up to {} m/s", scene.params.max_recovery_speed);
    }
    say::help(overlaps.iter().map(String::as_str));
}

/// Takes all steps, and writes each frame as it is computed.
fn follow(
    scene: &Scene,
    folder: &RunFolder,
    output: &Output,
    watches_facts: bool,
    quiet: bool,
) -> Result<Course, Failure> {
    let head = scene.empty_recording(&scene.params);
    interrupt::listen();
    let mut stream = output.stream(&folder.place(), scene, &head)?;
    let duration = scene.end_with(&RunOptions::default(), scene.start.time) - scene.start.time;
    let bar = time_bar(duration, quiet);
    let start = Instant::now();
    let cpu_start = thread_cpu_ns();
    let (mut tally, mut spans) = (Tally::default(), Spans::default());
    let mut facts: Vec<FactWatch<'_>> =
        if watches_facts { scene.facts.iter().map(FactWatch::new).collect() } else { Vec::new() };
    let (mut failed, mut interrupted) = (None, false);
    let (end, error) =
        scene.run_frames(&RunOptions::default(), Some(thread_cpu_ns), &mut |frame, step| {
            for fact in &mut facts {
                fact.see(&head, &frame);
            }
            if let Err(failure) = stream.push(frame) {
                failed = Some(failure);
                return ControlFlow::Break(());
            }
            let Some(step) = step else { return ControlFlow::Continue(()) };
            tally.push(step.report);
            if scene.params.uniqueness {
                spans.push(step.state.time, step.report.uniqueness.as_ref());
            }
            let done = step.state.time - scene.start.time;
            bar.set_position(in_bar(done));
            interrupted = interrupt::is_asked() && done < (1.0 - 1e-9) * duration;
            if interrupted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    let seconds = Seconds {
        wall: start.elapsed().as_secs_f64(),
        cpu: (thread_cpu_ns() - cpu_start) as f64 * 1e-9,
    };
    bar.finish_and_clear();
    let state = end.state;
    let stopped = stopped(error.as_ref(), interrupted);
    let end = stopped.as_ref().map_or(Finish::Done, |why| Finish::Stopped { reason: why.clone() });
    let written = failed.map_or_else(|| stream.finish(&end), Err);
    written.map_err(|failure| {
        failure.with(&format!(
            "the run up to t = {} s is in {}, and the files of the run before are as they were",
            state.time,
            folder.place().display()
        ))
    })?;
    let facts = if stopped.is_some() { Vec::new() } else { facts };
    let facts = facts.iter().map(|fact| fact.result(&scene.system)).collect();
    Ok(Course { state, tally, spans, seconds, facts, stopped, interrupted })
}

fn stopped(error: Option<&StepError>, interrupted: bool) -> Option<String> {
    match error {
        Some(error) => Some(error.to_string()),
        None => interrupted.then(|| "the run was interrupted".to_owned()),
    }
}

/// Writes the final files and moves all files to their folder. Returns the path of the page.
fn finish(
    arguments: &RunArgs,
    scene: &Scene,
    folder: RunFolder,
    dir: &Path,
    course: &Course,
    quiet: bool,
) -> Result<Option<PathBuf>, Failure> {
    let place = folder.place();
    let end = course.state.time;
    let summary = summary(scene, &course.tally, &course.seconds, course.stopped.as_deref(), end);
    write_text(&place.join("summary.json"), &format!("{summary:#}\n"))?;
    if scene.params.uniqueness {
        write_text(&place.join("uniqueness.csv"), &course.spans.csv())?;
    }
    let has_page = arguments.output.draw(&place, dir, quiet)?;
    folder.publish().map_err(Failure::files)?;
    if !quiet && course.tally.steps() > 0 {
        print_summary(scene, &course.tally, &course.seconds);
    }
    Ok(has_page.then(|| dir.join("view.html")))
}

fn print_summary(scene: &Scene, tally: &Tally, seconds: &Seconds) {
    let worst = tally.worst();
    let step = tally.step_us();
    let (unit, per_us) = if step.median < 1e4 { ("µs", 1.0) } else { ("ms", 1e-3) };
    let [least, most] = tally.sizes().map(short);
    let size = scene.params.sizes.map_or_else(|| most.clone(), |_| format!("{least} to {most}"));
    say!(
        "  {} of {size} s in {:.2} s: {:.0} {unit} of CPU a step (median; p95 {:.0})",
        counted(tally.steps(), "step", "steps"),
        seconds.wall,
        per_us * step.median,
        per_us * step.p95
    );
    say!(
        "  {}, {} within {} m on average, {:.0} of them loaded",
        counted(scene.system.model().n_v(), "dof", "dofs"),
        counted(tally.mean_contacts().round() as usize, "contact", "contacts"),
        scene.params.contact_margin,
        tally.mean_loaded_contacts()
    );
    say!(
        "  certified: forces balance to {} N and {} N·m, gaps hold to {} m; no shapes overlap by more than {} m",
        figure(worst.force_balance),
        figure(worst.torque_balance),
        figure(worst.penetration),
        figure((-worst.true_distance).max(0.0))
    );
    if worst.constraint_error > 0.1 * scene.params.max_overlap {
        say!(
            "  what constraints join was apart by up to {:.1e} m after a step: smaller steps keep it closer",
            worst.constraint_error
        );
    }
    if tally.substepped() > 0 {
        say!(
            "  {} took substeps, up to {}, to keep to max_overlap ({} m)",
            counted(tally.substepped(), "step", "steps"),
            tally.most_substeps(),
            scene.params.max_overlap
        );
    }
    print_sizes(scene, tally);
    print_switches(scene, tally);
    print_model_errors(scene, tally);
    if tally.saturated_steps() > 0 {
        let steps = counted(tally.saturated_steps(), "step", "steps");
        say!("  effort limits were reached in {steps}");
    }
    if scene.params.uniqueness {
        for (what, a) in [("motion", tally.motions()), ("forces", tally.forces())] {
            say!(
                "  {what}: unique in {} steps, not in {}, too close to call in {}",
                a.unique,
                a.many,
                a.undecided
            );
        }
    }
    print_fallbacks(scene, tally);
}

/// A number with at most three digits.
fn short(x: f64) -> String {
    let text = format!("{x:.2e}");
    text.parse::<f64>().map_or(text, |x| x.to_string())
}

/// Prints when switched constraints attached and let go.
fn print_switches(scene: &Scene, tally: &Tally) {
    let all: Vec<_> = turned(scene, tally).collect();
    for (name, own) in all.iter().take(MOST_TIMES) {
        say!("  `{name}` {} at t = {} s", own.turn.name(), short(own.time));
    }
    if all.len() > MOST_TIMES {
        say!("  and {} more turns of switches; summary.json has them all", all.len() - MOST_TIMES);
    }
}

/// Prints how a tolerance chose the sizes of steps.
fn print_sizes(scene: &Scene, tally: &Tally) {
    let Some(sizes) = scene.params.sizes else { return };
    say!(
        "  each step is within {} m of steps of half its size; larger sizes rejected: {}",
        sizes.tolerance,
        tally.rejected()
    );
    let jumps = tally.unresolved();
    if jumps.is_empty() {
        return;
    }
    let times: Vec<String> = jumps.iter().take(MOST_TIMES).map(|jump| short(jump.time)).collect();
    let more = if jumps.len() > MOST_TIMES { ", …" } else { "" };
    let worst = jumps.iter().fold(0.0_f64, |most, jump| most.max(jump.error));
    say!(
        "  but {} at the smallest size, {} s, by up to {worst:.1e} m: the motion jumps at t = {}{more} s; summary.json has them all",
        counted(jumps.len(), "pair of steps is not", "pairs of steps are not"),
        short(sizes.min),
        times.join(", ")
    );
}

/// Prints what the friction law and the relaxation add to the motion.
fn print_model_errors(scene: &Scene, tally: &Tally) {
    let name = |body: u32| &scene.system.model().body(body as usize).name;
    let drags: Vec<_> = tally.drags().collect();
    if let Some(most) = drags.iter().max_by(|a, b| a.share.total_cmp(&b.share)) {
        let others = match drags.len() - 1 {
            0 => String::new(),
            n => format!(" and {} by less", counted(n, "other body", "other bodies")),
        };
        say!(
            "  drag slows `{}` by up to {:.2} of its weight{others}; a longer step.relaxation drags less (quasistep explain drag)",
            name(most.body),
            most.share
        );
    }
    // heights below the overlap threshold are not worth a warning
    if let Some(float) = tally.float().filter(|f| f.height > 1e-3 * scene.params.max_overlap) {
        let [a, b] = float.bodies.map(name);
        say!(
            "  sliding contacts float, as convex friction has it: `{a}` and `{b}` by {:.1e} m at {:.4} s; --friction exact has none of it",
            float.height,
            float.time
        );
    }
    let artificial = tally.artificial();
    if let Some(([a, b], force)) = artificial.max_by(|(_, a), (_, b)| a.total_cmp(b)) {
        let (a, b) = (name(a), name(b));
        let others = match tally.artificial().len() - 1 {
            0 => String::new(),
            n => format!(", and so do {}", counted(n, "other pair", "other pairs")),
        };
        say!(
            "  `{a}` and `{b}` push with {force:.1e} N across a gap, for convex friction forbids them to slide{others}; --friction exact lets them"
        );
    }
}

/// Prints how many steps a fallback answered.
fn print_fallbacks(scene: &Scene, tally: &Tally) {
    let eased = tally.without_recovery();
    if eased > 0 {
        say!(
            "  no answer was found to {}: the step of Anitescu and Potra, which recovers no overlap, stands in",
            counted(eased, "dynamic step", "dynamic steps")
        );
    }
    if tally.stand_ins() > eased {
        say!(
            "  no answer with exact friction was found to {}: the fallback `{}` stands in",
            counted(tally.stand_ins() - eased, "step", "steps"),
            scene.params.fallback.name()
        );
    }
}

/// Prints how many of the scene's facts hold, and which do not.
fn print_facts(results: &[FactResult]) {
    if results.is_empty() {
        return;
    }
    let held = results.iter().filter(|r| r.ok).count();
    say!("  facts: {held} of {} hold", results.len());
    for result in results.iter().filter(|r| !r.ok) {
        say!("    {}", result.text);
    }
}

/// A progress bar over simulated time, in s.
fn time_bar(duration: f64, quiet: bool) -> ProgressBar {
    let bar = progress_bar(in_bar(duration), quiet);
    let template = format!("  {{bar:40}} {{percent}} % of {} s, {{eta}} left", short(duration));
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}

/// A time (s) in the unit of [`time_bar`].
fn in_bar(t: f64) -> u64 {
    (1e6 * t) as u64
}

/// A progress bar on standard error, if that is a terminal.
pub fn progress_bar(steps: u64, quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(steps);
    if let Ok(style) = ProgressStyle::with_template("  {bar:40} {pos}/{len} steps, {eta} left") {
        bar.set_style(style);
    }
    bar
}
