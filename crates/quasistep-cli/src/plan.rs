//! `quasistep plan` and `quasistep check-plan`.

use crate::failure::Failure;
use crate::interrupt;
use crate::run::progress_bar;
use crate::say;
use crate::stream::write_text;
use crate::{CheckPlanArgs, PlanArgs};
use quasistep_record::RunFolder;
use quasistep_reproduce::planned::{self, Plan, PlanEnd, PlannedRun, Refusal, Verdict};
use quasistep_scene::{PlanSection, Scene, counted, figure};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::Path;

pub fn plan(arguments: &PlanArgs, quiet: bool) -> Result<(), Failure> {
    let changes = arguments.changes.pairs()?;
    let scene = Scene::load_with(&arguments.scene, &changes).map_err(Failure::usage)?;
    let section = section_of(&scene, &arguments.scene)?;
    let dir = arguments
        .out
        .clone()
        .unwrap_or_else(|| Path::new("out").join(format!("{}-plan", scene.name)));
    let folder = RunFolder::open(&dir).map_err(Failure::usage)?;
    if !quiet {
        say!("{}", scene.contents().title);
        say::warnings(&scene.warnings);
    }
    interrupt::listen();
    let bar = progress_bar((section.attempts * section.steps) as u64, quiet);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let run = planned::run(&scene, section, threads, &mut |progress| {
        bar.set_position((progress.attempt * section.steps + progress.steps) as u64);
        if interrupt::is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    let run = run.map_err(|e| Failure::usage(planned::placed(section, &e)))?;

    let place = folder.place();
    let has_page = arguments.output.write(&place, &run.recording, &dir, quiet)?;
    write_text(&place.join("plan.csv"), &run.csv())?;
    write_text(&place.join("plan.json"), &format!("{:#}\n", plan_json(&scene, &run)))?;
    for (name, figure) in run.figures(&scene.title) {
        write_text(&place.join("plots").join(name), &figure.to_svg())?;
    }
    folder.publish().map_err(Failure::files)?;
    if !quiet {
        say!("  {}", in_words(&run));
        if run.is_solved() {
            tell_sensitivity(&scene, section, &run.plan);
        }
    }
    if !run.is_solved() {
        let nearest = format!("{} (the nearest plan is in {})", in_words(&run), dir.display());
        let text = format!("{}: {nearest}", scene.name);
        return Err(if run.plan.status == PlanEnd::Stopped {
            Failure::interrupted(text)
        } else {
            Failure::world(text)
        });
    }
    let page = has_page.then(|| dir.join("view.html"));
    arguments.output.write_trajectory(&dir, &scene)?;
    arguments.output.tell(&dir, page.as_deref(), quiet);
    Ok(())
}

pub fn check_plan(arguments: &CheckPlanArgs, quiet: bool) -> Result<(), Failure> {
    let changes = arguments.changes.pairs()?;
    let scene = Scene::load_with(&arguments.scene, &changes).map_err(Failure::usage)?;
    let section = section_of(&scene, &arguments.scene)?;
    let plan = read(&arguments.plan)?;
    let (of_plan, of_scene) = (plan.time_step, scene.params.time_step);
    if of_plan != of_scene {
        return Err(Failure::usage(format!(
            "{}: time_step_s is {of_plan}, and the scene has steps of {of_scene} s; a plan is checked in tenths of its own steps: give --step {of_plan}, or plan again",
            arguments.plan.display()
        )));
    }
    let verdict = planned::check(&scene, section, &plan);
    if !quiet {
        say!("{}", measures(&verdict));
    }
    if verdict.holds() {
        if !quiet {
            say!("the plan holds");
            tell_sensitivity(&scene, section, &plan);
        }
        return Ok(());
    }
    Err(Failure::world(format!("{}: {}", arguments.plan.display(), refusals(&verdict))))
}

fn section_of<'a>(scene: &'a Scene, file: &Path) -> Result<&'a PlanSection, Failure> {
    scene.plan.as_ref().ok_or_else(|| {
        Failure::usage(format!(
            "{}: plan: no `plan` section was seen; add one, as in scenes/push_to_pose.yml",
            file.display()
        ))
    })
}

/// What the check measured, in one line.
fn measures(verdict: &Verdict) -> String {
    let [angle, distance, joint] = verdict.errors.map(figure);
    format!(
        "replayed in steps of a tenth: off the goals by {angle} rad, {distance} m, joints by {joint} rad or m; off the plan by {} rad or m; deepest overlap {} m",
        figure(verdict.difference),
        figure(verdict.overlap.max(0.0))
    )
}

/// Warns of a plan that misses a goal in finer steps.
fn tell_sensitivity(scene: &Scene, section: &PlanSection, plan: &Plan) {
    let finer = planned::check_finer(scene, section, plan);
    let missed = finer.refusals.iter().filter_map(|refusal| match refusal {
        Refusal::Missed { goal, share } => Some((*goal, *share)),
        _ => None,
    });
    if let Some((goal, share)) = missed.max_by(|a, b| a.1.total_cmp(&b.1)) {
        let [angle, distance, joint] = finer.errors.map(figure);
        say::warnings(&[format!(
            "in steps of half that size goal {goal} is missed by {} times its tolerance, off by {angle} rad, {distance} m, joints by {joint} rad or m; slower commands help: give `rates`",
            figure(share)
        )]);
    }
}

/// The first reasons for which a plan is refused.
fn refusals(verdict: &Verdict) -> String {
    const MOST: usize = 3;
    let all = &verdict.refusals;
    let first: Vec<String> = all.iter().take(MOST).map(ToString::to_string).collect();
    let more = all.len() - first.len();
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("the plan is refused: {}{rest}", first.join("; "))
}

fn in_words(run: &PlannedRun) -> String {
    let plan = &run.plan;
    let steps = counted(plan.errors.len() - 1, "step", "steps");
    if run.is_solved() {
        return format!("solved in {steps}; {}", measures(&run.verdict));
    }
    let missing = plan.errors.last().map_or_else(String::new, |e| {
        format!(
            "goal {} is missed by {} rad, {} m, joints by {} rad or m, {} times its tolerance",
            plan.reached.len(),
            figure(e.angle),
            figure(e.distance),
            figure(e.joint),
            figure(e.share)
        )
    });
    match &plan.status {
        PlanEnd::Reached => refusals(&run.verdict),
        PlanEnd::Stalled => format!("not solved: no progress after {steps}; {missing}"),
        PlanEnd::Steps => format!("not solved in {steps}; {missing}; give more `limits.steps`"),
        PlanEnd::Time => format!("out of time (`limits.time`) after {steps}; {missing}"),
        PlanEnd::Stopped => format!("stopped; {missing}"),
        PlanEnd::Failed(why) => format!("not solved: {why}; {missing}"),
        _ => format!("not solved; {missing}"),
    }
}

fn plan_json(scene: &Scene, run: &PlannedRun) -> Value {
    let plan = &run.plan;
    let rows = |all: &[f64], width: usize| -> Vec<Value> {
        all.chunks_exact(width.max(1)).map(|row| json!(row)).collect()
    };
    let refusals: Vec<String> = run.verdict.refusals.iter().map(ToString::to_string).collect();
    json!({
        "scene": scene.name,
        "title": scene.title,
        "quasistep": env!("CARGO_PKG_VERSION"),
        "solved": run.is_solved(),
        "refusals": refusals,
        "time_step_s": plan.time_step,
        "reached_after_steps": plan.reached,
        "errors_of_replay": {
            "angle_rad": run.verdict.errors[0],
            "distance_m": run.verdict.errors[1],
            "joint": run.verdict.errors[2],
        },
        "names_of_commands": run.commands,
        "commands": rows(&plan.commands, run.commands.len()),
        "q": rows(&plan.q, scene.start.q.len()),
    })
}

/// Reads the commands and the states of a `plan.json`.
fn read(path: &Path) -> Result<Plan, Failure> {
    let file = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::usage(format!("{file}: the plan is not readable: {e}")))?;
    let json: Value = serde_json::from_str(&text)
        .map_err(|e| Failure::usage(format!("{file}: this is not a plan: {e}")))?;
    let lost = |key: &str| {
        Failure::usage(format!(
            "{file}: `{key}` was not seen, or holds no numbers; give the plan.json of `quasistep plan`"
        ))
    };
    let rows = |key: &str| -> Result<Vec<f64>, Failure> {
        let rows = json.get(key).and_then(Value::as_array).ok_or_else(|| lost(key))?;
        let mut all = Vec::new();
        for row in rows {
            for entry in row.as_array().ok_or_else(|| lost(key))? {
                all.push(entry.as_f64().ok_or_else(|| lost(key))?);
            }
        }
        Ok(all)
    };
    let key = "reached_after_steps";
    let reached = json.get(key).and_then(Value::as_array).ok_or_else(|| lost(key))?;
    let reached: Option<Vec<usize>> =
        reached.iter().map(|step| step.as_u64().map(|step| step as usize)).collect();
    let time_step = json.get("time_step_s").and_then(Value::as_f64);
    Ok(Plan {
        status: PlanEnd::Reached,
        time_step: time_step.filter(|h| *h > 0.0).ok_or_else(|| lost("time_step_s"))?,
        commands: rows("commands")?,
        q: rows("q")?,
        reached: reached.ok_or_else(|| lost(key))?,
        errors: Vec::new(),
    })
}
