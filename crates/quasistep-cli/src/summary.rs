//! `summary.json`: parameters and results of a run.

use quasistep::{Answers, CoulombMethod, SLIP_SPEED_THRESHOLD, Spread, Stage, Tally, Turned};
use quasistep_scene::{CloudReport, Scene, step_words};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Durations of the parts of a run, in s.
pub struct Seconds {
    pub wall: f64,
    pub cpu: f64,
}

/// Summary of a run up to a time in s; `stopped` is the reason for an early end.
pub fn summary(
    scene: &Scene,
    tally: &Tally,
    seconds: &Seconds,
    stopped: Option<&str>,
    end: f64,
) -> Value {
    let worst = tally.worst();
    let mut stage_us = Map::new();
    for stage in Stage::ALL {
        stage_us.insert(stage.name().into(), spread(tally.stage_us(stage)));
    }
    let name = |body: u32| &scene.system.model().body(body as usize).name;
    json!({
        "scene": scene.name,
        "title": scene.title,
        "quasistep": env!("CARGO_PKG_VERSION"),
        "finished": stopped.is_none(),
        "stopped": stopped,
        "end_s": end,
        "parameters": parameters(scene),
        "clouds": scene.clouds.iter().map(cloud).collect::<Vec<_>>(),
        "dofs": scene.system.model().n_v(),
        "steps": tally.steps(),
        "sizes": sizes(scene, tally),
        "substeps": {
            "steps_with": tally.substepped(),
            "max": tally.most_substeps(),
            "pairs_joined": tally.joined(),
        },
        "contacts": {
            "mean": tally.mean_contacts(),
            "max": tally.most_contacts(),
            "mean_loaded": tally.mean_loaded_contacts(),
        },
        "rows": { "mean": tally.mean_rows(), "max": tally.most_rows() },
        "seconds": { "wall": seconds.wall, "cpu": seconds.cpu },
        "step_us": spread(tally.step_us()),
        "stage_us": stage_us,
        "worst_residual": {
            "force_balance_N": worst.force_balance,
            "torque_balance_Nm": worst.torque_balance,
            "linearised_penetration_m": worst.penetration,
            "true_distance_m": bound(worst.true_distance),
            "cone_violation_N": worst.cone_violation,
            "complementarity_J": worst.complementarity,
            "constraint_m": worst.constraint,
            "constraint_error_m": worst.constraint_error,
        },
        "solver": solver(tally, stopped.is_some()),
        "uniqueness": scene.params.uniqueness.then(|| json!({
            "motion": answers(tally.motions()),
            "forces": answers(tally.forces()),
        })),
        "switches": turned(scene, tally).map(|(name, turned)| json!({
            "constraint": name, "time_s": turned.time, "turn": turned.turn.name(),
        })).collect::<Vec<_>>(),
        "effort_limited_steps": tally.saturated_steps(),
        "float": tally.float().map(|float| json!({
            "height_m": float.height, "bodies": float.bodies.map(name), "time_s": float.time,
        })),
        "artificial_contacts": tally.artificial().map(|(bodies, force)| {
            json!({"bodies": bodies.map(name), "normal_force_N": force})
        }).collect::<Vec<_>>(),
        "drag_of_weight": tally.drags().map(|drag| {
            json!({"body": name(drag.body), "share": drag.share})
        }).collect::<Vec<_>>(),
    })
}

/// What constraints with a switch did, in order, each with its name.
pub fn turned<'a>(
    scene: &'a Scene,
    tally: &'a Tally,
) -> impl Iterator<Item = (&'a str, &'a Turned)> {
    let constraints: Vec<_> = scene.system.constraints().collect();
    let own = tally.turned().iter().map(move |turned| (constraints[turned.constraint], turned));
    own.filter(|(own, _)| own.switch.is_some()).map(|(own, turned)| (own.name.as_str(), turned))
}

/// Parameters of the step.
fn parameters(scene: &Scene) -> Value {
    let params = &scene.params;
    let words: BTreeMap<_, _> = step_words(params).into_iter().collect();
    let word =
        |key: &str| words.get(key).map(|w| w.parse().map_or_else(|_| json!(w), Value::Number));
    json!({
        "step_size_s": params.sizes.is_none().then_some(params.time_step),
        "tolerance_m": params.sizes.map(|sizes| sizes.tolerance),
        "min_size_s": params.sizes.map(|sizes| sizes.min),
        "max_size_s": params.sizes.map(|sizes| sizes.max),
        "output_every_s": scene.every,
        "duration_s": scene.duration,
        "friction": word("friction"),
        "motion": word("motion"),
        "relaxation": word("relaxation"),
        "cone": word("cone"),
        "fallback": word("fallback"),
        "fallback_stiffness_N_per_m": params.fallback_stiffness,
        "inertia": word("inertia"),
        "integration": word("integration"),
        "accuracy": params.accuracy,
        "work_limit": params.work_limit,
        "passive_mass_scale": params.passive_mass_scale,
        "tangents": word("tangents"),
        "rotations": word("rotations"),
        "contact_margin_m": bound(params.contact_margin),
        "max_overlap_m": bound(params.max_overlap),
        "substeps": word("substeps"),
        "max_recovery_speed_m_per_s": bound(params.max_recovery_speed),
        "gravity_m_per_s2": params.gravity,
        "slip_speed_threshold_m_per_s": SLIP_SPEED_THRESHOLD,
    })
}

/// Sizes that a tolerance chose, and steps whose error exceeds it.
fn sizes(scene: &Scene, tally: &Tally) -> Value {
    if scene.params.sizes.is_none() {
        return Value::Null;
    }
    let [least, most] = tally.sizes();
    let listed = tally
        .unresolved()
        .iter()
        .map(|unresolved| json!({"time_s": unresolved.time, "error_m": bound(unresolved.error)}));
    json!({
        "min_s": least,
        "max_s": most,
        "rejected": tally.rejected(),
        "unresolved": listed.collect::<Vec<_>>(),
    })
}

/// How the solver fared; `failed` if the last step was not solved.
fn solver(tally: &Tally, failed: bool) -> Value {
    let newton =
        tally.coulomb_steps(CoulombMethod::WarmNewton) + tally.coulomb_steps(CoulombMethod::Newton);
    json!({
        "solved": tally.steps(),
        "not_solved": usize::from(failed),
        "impulses_not_smallest_norm": tally.not_smallest_norm(),
        "restarts": tally.restarts(),
        "fallbacks": tally.fallbacks(),
        "coulomb": {
            "newton": newton,
            "fixed_point": tally.coulomb_steps(CoulombMethod::FixedPoint),
            "continuation": tally.coulomb_steps(CoulombMethod::Continuation),
            "lemke": tally.coulomb_steps(CoulombMethod::Lemke),
            "cases": tally.coulomb_steps(CoulombMethod::Cases),
            "stand_ins": tally.stand_ins(),
            "without_recovery": tally.without_recovery(),
        },
        "iterations": { "mean": tally.mean_iterations(), "max": tally.most_iterations() },
    })
}

/// A number, or the string `inf`, since JSON has no infinity.
fn bound(x: f64) -> Value {
    if x == f64::INFINITY { json!("inf") } else { json!(x) }
}

fn cloud(c: &CloudReport) -> Value {
    json!({
        "body": c.body,
        "file": c.file,
        "points": {
            "read": c.n_read,
            "not_finite": c.n_invalid,
            "outliers": c.n_outliers,
            "thinned": c.n_thinned,
            "used": c.n_points,
            "drawn": c.n_drawn,
        },
        "normals": c.has_normals,
        "m_per_unit_of_file": c.scale,
        "low_m": c.low,
        "high_m": c.high,
    })
}

fn answers(a: Answers) -> Value {
    json!({ "unique": a.unique, "not_unique": a.many, "undecided": a.undecided })
}

fn spread(s: Spread) -> Value {
    json!({ "median": s.median, "p95": s.p95 })
}
