//! Conversion between step parameters and the words of the scene grammar. Scene files, programs and
//! notebooks thereby use the same words and get the same errors.

use crate::document::{Node, Numbers};
use crate::scene::{instead_of, read_step};
use quasistep::{
    Inertia, Integration, PrescribedRate, Relaxation, Rotations, Sizes, StepParams, Substeps,
    TangentAxes,
};
use quasistep_formats::SceneError;
use std::fmt::Write as _;

/// The parameters as `(key, YAML value)`: the keys of `step` in a scene file except `duration`, and
/// `gravity`.
pub fn step_words(params: &StepParams) -> Vec<(&'static str, String)> {
    let StepParams {
        time_step,
        sizes,
        contact_margin,
        max_overlap,
        substeps,
        max_recovery_speed,
        gravity,
        formulation,
        inertia,
        relaxation,
        passive_mass_scale,
        tangents,
        rotations,
        prescribed_rate,
        integration,
        fallback,
        fallback_stiffness,
        accuracy,
        work_limit,
        uniqueness,
    } = params;
    let inertia = match inertia {
        Inertia::None => "none",
        Inertia::Mass => "mass",
    };
    let rate = match prescribed_rate {
        PrescribedRate::Secant => "secant",
        PrescribedRate::Derivative => "derivative",
    };
    let integration = match integration {
        Integration::Euler => "euler",
        Integration::Midpoint => "midpoint",
    };
    let tangents = match tangents {
        TangentAxes::Motion => "motion",
        TangentAxes::Normal => "normal",
    };
    let rotations = match rotations {
        Rotations::Exponential => "exponential",
        Rotations::Linear => "linear",
    };
    let substeps = match substeps {
        Substeps::Auto => "auto",
        Substeps::Never => "never",
    };
    let mut words = size_words(*time_step, sizes.as_ref());
    words.extend([
        ("friction", formulation.friction.name().into()),
        ("cone", formulation.cone.to_string()),
        ("motion", formulation.motion.name().into()),
        ("inertia", inertia.into()),
        (
            "relaxation",
            match relaxation {
                Relaxation::Time(tau) => tau.to_string(),
                Relaxation::Step => "step".into(),
            },
        ),
        ("passive_mass_scale", passive_mass_scale.map_or("none".into(), |s| s.to_string())),
        ("tangents", tangents.into()),
        ("rotations", rotations.into()),
        ("contact_margin", number(*contact_margin)),
        ("max_overlap", number(*max_overlap)),
        ("substeps", substeps.into()),
        ("max_recovery_speed", number(*max_recovery_speed)),
        ("prescribed_rate", rate.into()),
        ("integration", integration.into()),
        ("fallback", fallback.name().into()),
        ("fallback_stiffness", fallback_stiffness.to_string()),
        ("accuracy", accuracy.to_string()),
        (
            "work_limit",
            if *work_limit == u64::MAX { ".inf".into() } else { work_limit.to_string() },
        ),
        ("uniqueness", uniqueness.to_string()),
        ("gravity", format!("{gravity:?}")),
    ]);
    words
}

/// The words that say how large steps are.
fn size_words(time_step: f64, sizes: Option<&Sizes>) -> Vec<(&'static str, String)> {
    match sizes {
        None => vec![("size", time_step.to_string())],
        Some(Sizes { tolerance, min, max }) => vec![
            ("tolerance", tolerance.to_string()),
            ("min_size", min.to_string()),
            ("max_size", max.to_string()),
        ],
    }
}

/// A number in YAML syntax.
fn number(x: f64) -> String {
    if x == f64::INFINITY { ".inf".into() } else { x.to_string() }
}

/// The parameters `base` with some values replaced.
///
/// # Errors
///
/// The first invalid value, by its key.
pub fn read_step_words(
    base: &StepParams,
    changes: &[(String, String)],
) -> Result<StepParams, SceneError> {
    let (mut step, mut gravity) = (String::from("step:\n"), String::new());
    let kept = step_words(base).into_iter().map(|(key, value)| (key.to_owned(), value));
    let is_changed = |key: &str| {
        let same = |changed: &str| changed == key || instead_of(changed).any(|other| other == key);
        changes.iter().any(|(changed, _)| same(changed))
    };
    for (key, value) in kept.filter(|(key, _)| !is_changed(key)).chain(changes.iter().cloned()) {
        if key == "duration" {
            let message = "the duration belongs to a run, not to a step";
            return Err(SceneError::new("", None, "step.duration", message));
        }
        let to = if key == "gravity" { &mut gravity } else { &mut step };
        // values are one line; writing to a String cannot fail
        let indent = if key == "gravity" { "" } else { "  " };
        let _ = writeln!(to, "{indent}{key}: {}", value.replace(['\n', '\r'], " "));
    }
    let node = Node::parse(&format!("{step}{gravity}"), "")?;
    let map = node.at("").within(Numbers::default()).map(&["step", "gravity"])?;
    Ok(read_step(map.get("step"), map.get("gravity"), StepParams::default())?.0)
}
