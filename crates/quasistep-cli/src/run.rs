//! `quasistep run`.

use crate::RunArgs;
use crate::clock::thread_cpu_ns;
use crate::failure::Failure;
use crate::spans::Spans;
use crate::summary::{Seconds, summary};
use crate::view;
use indicatif::{ProgressBar, ProgressStyle};
use quasistep::{Formulation, Tally};
use quasistep_record::{write_contacts_csv, write_states_csv};
use quasistep_scene::{Scene, overlaps_in_words};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub fn run(arguments: &RunArgs, quiet: bool) -> Result<(), Failure> {
    let mut changes = arguments.changes.pairs()?;
    if arguments.uniqueness {
        changes.push(("step.uniqueness".into(), "true".into()));
    }
    let scene = Scene::load_with(&arguments.scene, &changes).map_err(Failure::usage)?;
    let exact = matches!(scene.params.formulation, Formulation::Coulomb { .. });
    if scene.params.uniqueness && !exact {
        return Err(Failure::usage(
            "step.uniqueness speaks of exact Coulomb friction; add --formulation coulomb",
        ));
    }
    let dir = arguments.out.clone().unwrap_or_else(|| Path::new("out").join(&scene.name));
    if !quiet {
        println!("{}: {}", scene.name, scene.title);
        for cloud in &scene.clouds {
            println!("  cloud {cloud}");
        }
        for warning in &scene.warnings {
            eprintln!("warning: {warning}");
        }
        for line in overlaps_in_words(&scene.pairs_at_start().unwrap_or_default()) {
            eprintln!(
                "warning: {line}; it recovers at up to {} m/s",
                scene.params.max_recovery_speed
            );
        }
    }

    let bar = progress_bar(scene.n_steps() as u64, quiet);
    let start = Instant::now();
    let cpu_start = thread_cpu_ns();
    let mut tally = Tally::default();
    let mut spans = Spans::default();
    let outcome = scene.run(Some(thread_cpu_ns), &mut |step| {
        tally.push(step.report);
        if scene.params.uniqueness {
            spans.push(step.state.time, step.report.uniqueness.as_ref());
        }
        bar.set_position(step.index as u64);
        ControlFlow::Continue(())
    });
    let seconds = Seconds {
        wall: start.elapsed().as_secs_f64(),
        cpu: (thread_cpu_ns() - cpu_start) as f64 * 1e-9,
    };
    bar.finish_and_clear();

    let stopped = outcome.stopped.as_ref().map(ToString::to_string);
    let summary = summary(&scene, &tally, &seconds, stopped.as_deref());
    write(&dir, &outcome.recording, &summary).map_err(Failure::usage)?;
    if scene.params.uniqueness {
        spans.write(&dir.join("uniqueness.csv")).map_err(Failure::usage)?;
    }
    // a build without npm has no page: the run is done all the same
    let page = if quasistep_view::has_page() {
        Some(view::write_pictures(&dir, &outcome.recording)?)
    } else {
        view::write_plots(&dir, &outcome.recording)?;
        eprintln!(
            "warning: no page was written: install npm, build again, then `quasistep view {}`",
            dir.display()
        );
        None
    };
    if !quiet && tally.steps() > 0 {
        print_summary(&scene, &tally, &seconds);
        // facts speak of the scene as it was written
        if changes.is_empty() && stopped.is_none() {
            print_facts(&scene, &outcome.recording);
        }
    }
    if let Some(why) = stopped {
        let at = outcome.recording.frames.last().map_or(0.0, |f| f.t);
        return Err(Failure::world(format!(
            "{}: the step after t = {at} s was not taken: {why} (the run up to there is in {})",
            scene.name,
            dir.display()
        )));
    }
    match page {
        _ if quiet => {}
        Some(page) => {
            println!("files in {}; open the picture:", dir.display());
            println!("{}", page.display());
        }
        None => println!("files in {}", dir.display()),
    }
    Ok(())
}

fn write(
    dir: &Path,
    recording: &quasistep_record::Recording,
    summary: &serde_json::Value,
) -> Result<(), String> {
    let fail = |path: PathBuf, e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    std::fs::create_dir_all(dir).map_err(|e| fail(dir.to_path_buf(), &e))?;
    recording.write(&dir.join("recording.json")).map_err(|e| e.to_string())?;
    write_states_csv(recording, &dir.join("states.csv")).map_err(|e| e.to_string())?;
    write_contacts_csv(recording, &dir.join("contacts.csv")).map_err(|e| e.to_string())?;
    let path = dir.join("summary.json");
    std::fs::write(&path, format!("{summary:#}\n")).map_err(|e| fail(path, &e))
}

fn print_summary(scene: &Scene, tally: &Tally, seconds: &Seconds) {
    let worst = tally.worst();
    let step = tally.step_us();
    let (unit, per_us) = if step.median < 1e4 { ("µs", 1.0) } else { ("ms", 1e-3) };
    println!(
        "  {} steps of {} s in {:.2} s: {:.0} {unit} of CPU a step (median; p95 {:.0})",
        tally.steps(),
        scene.params.time_step,
        seconds.wall,
        per_us * step.median,
        per_us * step.p95
    );
    println!(
        "  {} dofs, {:.0} contacts within {} m on average, {:.0} of them loaded",
        scene.system.model().n_v(),
        tally.mean_contacts(),
        scene.params.contact_margin,
        tally.mean_loaded_contacts()
    );
    println!(
        "  certified: forces balance to {:.1e} N and {:.1e} N·m, gaps hold to {:.1e} m; no shapes overlap by \
         more than {:.1e} m",
        worst.force_balance,
        worst.torque_balance,
        worst.penetration,
        (-worst.true_distance).max(0.0)
    );
    if tally.substepped() > 0 {
        println!(
            "  {} steps took substeps, up to {}, to keep to max_overlap ({} m)",
            tally.substepped(),
            tally.most_substeps(),
            scene.params.max_overlap
        );
    }
    if tally.saturated_steps() > 0 {
        println!("  effort limits were reached in {} steps", tally.saturated_steps());
    }
    if scene.params.uniqueness {
        for (what, a) in [("motion", tally.motions()), ("forces", tally.forces())] {
            println!(
                "  {what}: unique in {} steps, not in {}, too close to call in {}",
                a.unique, a.many, a.undecided
            );
        }
    }
    let eased = tally.without_recovery();
    if eased > 0 {
        println!(
            "  {eased} dynamic steps have no answer that was found: the step of Anitescu and Potra, which \
             recovers no overlap, stands in"
        );
    }
    if tally.stand_ins() > eased {
        println!(
            "  {} steps have no answer with exact friction that was found: the fallback `{}` stands in",
            tally.stand_ins() - eased,
            scene.params.fallback.name()
        );
    }
}

/// How many of the scene's own facts hold, and which do not.
fn print_facts(scene: &Scene, recording: &quasistep_record::Recording) {
    let results: Vec<_> = scene.facts.iter().map(|f| f.check(recording, &scene.system)).collect();
    if results.is_empty() {
        return;
    }
    let held = results.iter().filter(|r| r.ok).count();
    println!("  facts: {held} of {} hold", results.len());
    for result in results.iter().filter(|r| !r.ok) {
        println!("    {}", result.text);
    }
}

/// A bar on standard error, if that is a terminal.
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
