//! `quasistep compare`.

use crate::CompareArgs;
use crate::failure::Failure;
use crate::interrupt;
use crate::run::progress_bar;
use quasistep_record::Recording;
use quasistep_scene::{Compared, Scene, counted, figure};
use std::ops::ControlFlow;

pub fn compare(arguments: &CompareArgs, quiet: bool) -> Result<(), Failure> {
    let CompareArgs { scene: file, run, within, changes } = arguments;
    if !(*within > 0.0) {
        return Err(Failure::usage(format!("--within: {within} was seen; it must be > 0")));
    }
    let scene = Scene::load_with(file, &changes.pairs()?).map_err(Failure::usage)?;
    let path = if run.is_dir() { run.join("recording.qsr") } else { run.clone() };
    let recording = Recording::read(&path).map_err(Failure::usage)?;
    let refused = |why: String| Failure::usage(format!("{}: {why}", path.display()));
    let times: Vec<f64> = recording.frames.iter().map(|frame| frame.t).collect();
    interrupt::listen();
    let bar = progress_bar(times.len() as u64, quiet);
    let compared = scene.compare_recording(&recording, &mut |row| {
        bar.set_position(row as u64);
        if interrupt::is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    let compared = compared.map_err(refused)?;
    if interrupt::is_asked() {
        return Err(Failure::interrupted("interrupted"));
    }
    if !quiet {
        let own = compared.own_commands;
        let whose = if own { "its own commands" } else { "the commands of the run" };
        say!(
            "{} of {}, against {} with {whose}",
            counted(times.len() - 1, "step", "steps"),
            run.display(),
            file.display()
        );
        tell_all(&scene, &compared, &times);
    }
    judge(&scene, &compared, &times, *within)
}

/// Prints the largest differences.
fn tell_all(scene: &Scene, compared: &Compared, times: &[f64]) {
    let names = scene.system.model().dof_names();
    let is_turn = turns(scene);
    for (what, rows) in
        [("from each recorded state", &compared.steps), ("from the start on", &compared.replay)]
    {
        for (unit, turn) in [("m", false), ("rad", true)] {
            if let Some((x, row, dof)) = Compared::largest(rows, &|dof| is_turn[dof] == turn) {
                let (name, t) = (&names[dof], times[row + 1]);
                say!("  {what}: off by at most {} {unit}, in {name} at {t:.6} s", figure(x));
            }
        }
    }
    if scene.system.switched().len() > 0 {
        say!(
            "  steps from recorded states were not taken: a recording does not say what switches hold"
        );
    }
    if let Some((t, why)) = &compared.stopped {
        say!("  the run from the start ended early, at t = {t} s: {why}");
    }
}

/// Which dofs are rotations.
fn turns(scene: &Scene) -> Vec<bool> {
    let mut all = Vec::new();
    for body in scene.system.model().bodies() {
        let units = body.joint.coordinate_units();
        // a quaternion has no units and three dofs
        let n_skip = units.iter().filter(|unit| unit.is_empty()).count();
        let own = std::iter::repeat_n(true, n_skip.min(3))
            .chain(units.iter().skip(n_skip).map(|unit| *unit == "rad"));
        all.extend(own.take(body.v.len()));
    }
    all
}

/// An error if a step differs by more than permitted, or could not be taken.
fn judge(scene: &Scene, compared: &Compared, times: &[f64], within: f64) -> Result<(), Failure> {
    if compared.failed > 0 {
        let steps = counted(compared.failed, "step", "steps");
        return Err(Failure::world(format!("{steps} from recorded states could not be taken")));
    }
    let takes_steps = scene.system.switched().len() == 0;
    let rows = if takes_steps { &compared.steps } else { &compared.replay };
    if let Some((t, why)) = compared.stopped.as_ref().filter(|_| !takes_steps) {
        return Err(Failure::world(format!("the step after t = {t} s was not taken: {why}")));
    }
    match Compared::largest(rows, &|_| true) {
        Some((x, row, dof)) if x > within => Err(Failure::world(format!(
            "`{}` differs by {} at {:.6} s, more than {within}",
            scene.system.model().dof_names()[dof],
            figure(x),
            times[row + 1]
        ))),
        _ => Ok(()),
    }
}
