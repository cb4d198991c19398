//! `quasistep check`.

use crate::CheckArgs;
use crate::failure::Failure;
use quasistep::{Formulation, Role};
use quasistep_scene::Scene;

pub fn check(arguments: &CheckArgs, quiet: bool) -> Result<(), Failure> {
    let changes = arguments.changes.pairs()?;
    let scene = Scene::load_with(&arguments.scene, &changes).map_err(Failure::usage)?;
    let system = &scene.system;
    let model = system.model();
    if !quiet {
        let dofs_of = |wanted: fn(&Role) -> bool| -> usize {
            (1..model.n_bodies())
                .filter(|&i| wanted(&system.roles()[i]))
                .map(|i| model.body(i).v.len())
                .sum()
        };
        println!("{}: {}", scene.name, scene.title);
        println!(
            "  {} bodies, {} shapes, {} pairs of shapes may touch",
            model.n_bodies() - 1,
            system.geoms().len(),
            system.n_pairs()
        );
        println!(
            "  {} dofs: {} actuated, {} prescribed, {} passive",
            model.n_v(),
            dofs_of(|r| matches!(r, Role::Actuated(_))),
            dofs_of(|r| matches!(r, Role::Prescribed)),
            dofs_of(|r| matches!(r, Role::Passive)),
        );
        println!(
            "  {} steps of {} s, {:?}, inertia {:?}",
            scene.n_steps(),
            scene.params.time_step,
            scene.params.formulation,
            scene.params.inertia
        );
        for note in &scene.notes {
            println!("  {note}");
        }
    }
    if !quiet {
        for cloud in &scene.clouds {
            println!("  cloud {cloud}");
        }
    }
    for warning in &scene.warnings {
        eprintln!("warning: {warning}");
    }

    // is the step problem well posed at the start? take one step and see
    let first = scene.first_step().map_err(|e| {
        Failure::world(format!("{}: the first step cannot be taken: {e}", scene.name))
    })?;
    if !quiet {
        let start = &first.nearest;
        println!(
            "  at the start: {} contact points within {} m",
            first.report.contacts.len(),
            scene.params.contact_margin
        );
        match start {
            Some(pair) if pair.distance < -1e-9 => {
                println!(
                    "  overlap at the start: {} and {}, {:.3e} m deep",
                    pair.a, pair.b, -pair.distance
                );
            }
            Some(pair) => {
                println!(
                    "  nearest pair: {} and {}, {:.3e} m apart",
                    pair.a, pair.b, pair.distance
                );
            }
            None => println!("  nothing is near anything"),
        }
        let c = &first.report.certificate;
        println!(
            "  the first step is certified: forces balance to {:.1e} N and {:.1e} N·m",
            c.force_balance, c.torque_balance
        );
    }
    if arguments.uniqueness {
        uniqueness(&scene)?;
    }
    if !quiet {
        println!("ok");
    }
    Ok(())
}

/// Says from when to when the scene's answers are the only ones.
fn uniqueness(scene: &Scene) -> Result<(), Failure> {
    if !matches!(scene.params.formulation, Formulation::Coulomb { .. }) {
        return Err(Failure::usage(
            "--uniqueness speaks of exact Coulomb friction; add --formulation coulomb",
        ));
    }
    // times with the same answer are one line
    let mut spans: Vec<(f64, f64, String)> = Vec::new();
    let outcome = scene.uniqueness(&mut |t, answer| {
        let text = answer.map_or("the step took its fallback".into(), |a| a.to_string());
        match spans.last_mut() {
            Some(last) if last.2 == text => last.1 = t,
            _ => spans.push((t, t, text)),
        }
    });
    for (from, to, text) in &spans {
        println!("  at {from:.6} to {to:.6} s: {text}");
    }
    outcome.map_err(|(t, error)| {
        Failure::world(format!("{}: the step after t = {t} s was not taken: {error}", scene.name))
    })
}
