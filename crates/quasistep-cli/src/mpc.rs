//! `quasistep mpc`.

use crate::clock::thread_cpu_ns;
use crate::failure::Failure;
use crate::run::progress_bar;
use crate::say;
use crate::stream::write_text;
use crate::{Complementarity, MpcArgs};
use quasistep_record::RunFolder;
use quasistep_reproduce::closed_loop::{self, FileFormat, Integers, LoopRun};
use quasistep_scene::{ControlSection, Scene, counted, figure};
use serde_json::{Map, Value, json};
use std::ops::ControlFlow;
use std::path::Path;

pub fn mpc(arguments: &MpcArgs, quiet: bool) -> Result<(), Failure> {
    let changes = arguments.changes.pairs()?;
    let scene = Scene::load_with(&arguments.scene, &changes).map_err(Failure::usage)?;
    let file = arguments.scene.display();
    let Some(section) = &scene.control else {
        return Err(Failure::usage(format!(
            "{file}: mpc: no `mpc` section was seen; add one, as in scenes/point_robot.yml"
        )));
    };
    if let Some(file) = &arguments.export {
        return export(file, arguments.complementarity, &scene, section, quiet);
    }
    let dir = arguments.out.clone().unwrap_or_else(|| Path::new("out").join(&scene.name));
    let folder = RunFolder::open(&dir).map_err(Failure::usage)?;
    if !quiet {
        say!("{}", scene.contents().title);
        say::warnings(&scene.warnings);
    }
    let bar = progress_bar(section.steps as u64, quiet);
    let run = closed_loop::run(&scene, section, thread_cpu_ns, &mut |_| {
        bar.inc(1);
        ControlFlow::Continue(())
    });
    bar.finish_and_clear();
    // a task that does not fit is reported before the first step
    let run = run.map_err(|e| Failure::usage(format!("{}: mpc: {e}", section.place)))?;

    let place = folder.place();
    let has_page = arguments.output.write(&place, &run.recording, &dir, quiet)?;
    write(&place, &scene, section, &run)?;
    folder.publish().map_err(Failure::files)?;
    if !quiet && !run.steps.is_empty() {
        print_summary(section, &run);
    }
    if let Some(why) = &run.stopped {
        return Err(Failure::world(format!(
            "{}: step {} was not taken: {why} (the run up to there is in {})",
            scene.name,
            run.steps.len(),
            dir.display()
        )));
    }
    let page = has_page.then(|| dir.join("view.html"));
    arguments.output.write_trajectory(&dir, &scene)?;
    arguments.output.tell(&dir, page.as_deref(), quiet);
    Ok(())
}

/// Writes the first plan as a file for other solvers.
fn export(
    file: &Path,
    form: Complementarity,
    scene: &Scene,
    section: &ControlSection,
    quiet: bool,
) -> Result<(), Failure> {
    let format = match file.extension().and_then(|e| e.to_str()) {
        Some("lp") => FileFormat::Lp,
        Some("mps") => FileFormat::Mps,
        _ => {
            return Err(Failure::usage(format!(
                "{}: no format was seen in its name; end it in .lp or .mps",
                file.display()
            )));
        }
    };
    let form = match form {
        Complementarity::Sos1 => Integers::Sos1,
        Complementarity::BigM => Integers::BigM,
        Complementarity::Indicator => Integers::Indicator,
    };
    let text = closed_loop::export(scene, section, format, form)
        .map_err(|e| Failure::usage(format!("{}: mpc: {e}", section.place)))?;
    write_text(file, &text)?;
    if !quiet {
        say!("the first plan of {} is in {}", scene.name, file.display());
    }
    Ok(())
}

fn write(
    dir: &Path,
    scene: &Scene,
    section: &ControlSection,
    run: &LoopRun,
) -> Result<(), Failure> {
    write_text(&dir.join("mpc.csv"), &run.csv())?;
    write_text(&dir.join("summary.json"), &format!("{:#}\n", summary(scene, section, run)))?;
    for (name, figure) in run.figures(&scene.title) {
        write_text(&dir.join("plots").join(name), &figure.to_svg())?;
    }
    Ok(())
}

fn summary(scene: &Scene, section: &ControlSection, run: &LoopRun) -> Value {
    let columns: Map<String, Value> =
        run.columns().into_iter().map(|(name, what)| (name, what.into())).collect();
    let ends: Map<String, Value> = (run.dofs.iter().zip(&run.x_end).zip(&run.goal))
        .map(|((name, x), goal)| (name.clone(), json!({ "end": x, "goal": goal })))
        .collect();
    let gave_way: Vec<Value> = (run.steps.iter().enumerate())
        .filter(|(_, step)| !step.gave_way.is_empty())
        .map(|(k, step)| json!({ "k": k, "bounds": step.gave_way }))
        .collect();
    let (median_nodes, worst_nodes) = run.nodes();
    let (median_ms, p99_ms) = run.cpu_ms();
    json!({
        "scene": scene.name,
        "title": scene.title,
        "quasistep": env!("CARGO_PKG_VERSION"),
        "finished": run.stopped.is_none(),
        "stopped": run.stopped.as_ref().map(ToString::to_string),
        "parameters": {
            "horizon": section.horizon,
            "time_step_s": section.time_step,
            "steps": section.steps,
            "model": section.model.name(),
            "absolute_gap": section.gap,
        },
        "steps": run.steps.len(),
        "proven": run.proven(),
        "cost": {
            "first": run.steps.first().map(|s| s.plan.cost),
            "last": run.steps.last().map(|s| s.plan.cost),
        },
        "worst_prediction_error": run.worst_prediction_error().2,
        "worst_gap": run.worst_gap(),
        "soft_bounds_that_gave_way": gave_way,
        "nodes": { "median": median_nodes, "max": worst_nodes },
        "step_ms": { "median": median_ms, "p99": p99_ms },
        "positions": ends,
        "columns_of_mpc_csv": columns,
    })
}

fn print_summary(section: &ControlSection, run: &LoopRun) {
    let (median_nodes, worst_nodes) = run.nodes();
    let (median_ms, p99_ms) = run.cpu_ms();
    say!(
        "  {} of {} s, {} ahead: {median_ms:.2} ms of CPU a step (median; p99 {p99_ms:.2})",
        counted(run.steps.len(), "step", "steps"),
        section.time_step,
        counted(section.horizon, "step", "steps"),
    );
    say!(
        "  {} of {} plans proven optimal, largest gap {}; {median_nodes} nodes (median; at most {worst_nodes})",
        run.proven(),
        run.steps.len(),
        figure(run.worst_gap()),
    );
    let mut relaxed = run.steps.iter().filter(|s| !s.gave_way.is_empty());
    if let Some(first) = relaxed.next() {
        say!(
            "  soft bounds gave way in {} plans, all in summary.json; in the first:",
            1 + relaxed.count()
        );
        first.gave_way.iter().for_each(|bound| say!("    {bound}"));
    }
    if let (Some(first), Some(last)) = (run.steps.first(), run.steps.last()) {
        say!("  cost {:.6} at the start, {:.6} at the end", first.plan.cost, last.plan.cost);
    }
    let (step, dof, error) = run.worst_prediction_error();
    if let Some(name) = run.dofs.get(dof) {
        let of = run.recording.coordinates.iter().position(|own| own == name);
        let unit = of.and_then(|of| run.recording.units.get(of)).map_or("", String::as_str);
        let error = figure(error);
        say!("  largest miss of a predicted step: {name} by {error} {unit}, in step {step}");
    }
    let ends = run.dofs.iter().zip(&run.x_end).zip(&run.goal).zip(&run.weighed);
    for (((dof, x), goal), _) in ends.filter(|(_, weighed)| **weighed) {
        say!("  {dof}: {x:.5} at the end, goal {goal:.5}");
    }
}
