//! `quasistep check`.

use crate::CheckArgs;
use crate::failure::Failure;
use crate::say;
use crate::scale::{MANY_STEPS, confirm};
use crate::spans::{Span, Spans};
use crate::wait::Wait;
use quasistep::FrictionLaw;
use quasistep_reproduce::{closed_loop, planned};
use quasistep_scene::{Scene, SelfCollisions};

pub fn check(arguments: &CheckArgs, quiet: bool) -> Result<(), Failure> {
    let changes = arguments.changes.pairs()?;
    let loading = Wait::new("reading the scene", quiet);
    let scene = Scene::load_with(&arguments.scene, &changes).map_err(Failure::usage)?;
    drop(loading);
    if !quiet {
        say!("{}", scene.contents());
        if arguments.tree || scene.source().is_model() {
            say!("{}", scene.outline());
        }
    }
    say::warnings(&scene.warnings);

    let blocked = scene.blocked_contacts().map_err(|e| Failure::usage(e.to_string()))?;
    for warning in &blocked {
        tell!("warning: {warning}");
    }
    say::help(blocked.iter().map(String::as_str));

    // try the first step: is its program well posed at the start?
    let first = scene.first_step().map_err(|e| {
        Failure::world(format!("{}: the first step cannot be taken: {e}", scene.name))
    })?;
    if !quiet {
        say!("{}", first.in_words(&scene));
    }
    if let Some(configurations) = arguments.self_collision {
        tell_self_collisions(&scene.self_collisions(configurations as usize));
    }
    if let Some(section) = &scene.control {
        let outlook = closed_loop::outlook(&scene, section)
            .map_err(|e| Failure::usage(format!("{}: mpc: {e}", section.place)))?;
        if !quiet {
            say!("{outlook}");
        }
    }
    if let Some(section) = &scene.plan {
        planned::check_task(&scene, section)
            .map_err(|e| Failure::usage(planned::placed(section, &e)))?;
    }
    if arguments.uniqueness {
        confirm(scene.n_steps(), MANY_STEPS, "steps", arguments.yes)?;
        uniqueness(&scene, quiet)?;
    }
    if !quiet {
        say!("ok");
    }
    Ok(())
}

/// Prints which links overlap in random configurations, and the scene lines that exclude them.
fn tell_self_collisions(found: &SelfCollisions) {
    let SelfCollisions { configurations, always, never, sometimes } = found;
    say!("  of {configurations} random configurations, pairs of links overlap:");
    say!("    always: {}, never: {}, sometimes: {}", always.len(), never.len(), sometimes.len());
    for ([a, b], n) in sometimes {
        say!("      {a} and {b}: {n} times");
    }
    if always.is_empty() && never.is_empty() {
        return;
    }
    say!("# these pairs need no test: lines for a scene");
    say!("collisions:\n  exclude:");
    for (pairs, why) in [(always, "always"), (never, "never")] {
        for [a, b] in pairs {
            say!("    - [{a:?}, {b:?}]  # {why}");
        }
    }
}

/// Prints the time spans in which the scene's solutions are unique.
fn uniqueness(scene: &Scene, quiet: bool) -> Result<(), Failure> {
    if scene.params.formulation.friction == FrictionLaw::Convex {
        return Err(Failure::usage(
            "--uniqueness speaks of exact Coulomb friction; add --friction exact",
        ));
    }
    // consecutive steps with equal results form one line, printed when the result changes
    let mut spans = Spans::default();
    let mut told = 0;
    let mut tell_up_to = |spans: &[Span]| {
        if !quiet {
            spans[told..].iter().for_each(tell);
        }
        told = spans.len();
    };
    let outcome = scene.uniqueness(&mut |t, answer| {
        spans.push(t, answer.as_ref());
        tell_up_to(&spans.all()[..spans.all().len() - 1]);
    });
    tell_up_to(spans.all());
    outcome.map_err(|(t, error)| {
        Failure::world(format!("{}: the step after t = {t} s was not taken: {error}", scene.name))
    })
}

fn tell(span: &Span) {
    let Span { from, to, motion, forces } = span;
    if from == to {
        say!("  at {from:.6} s: {motion}; {forces}");
    } else {
        say!("  at {from:.6} to {to:.6} s: {motion}; {forces}");
    }
}
