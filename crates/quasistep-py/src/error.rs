//! Converts errors of the other crates to exceptions of `quasistep.errors`, with unchanged
//! messages.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use quasistep::{DerivativeError, IkError, SampleError, StaticsError, StepError};
use quasistep_control::{LoopError, ProblemError};
use quasistep_scene::SceneError;

/// Creates an exception of `quasistep.errors` from its class name, a message and details by name.
fn exception(
    class: &str,
    sentence: &str,
    fill: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>,
) -> PyErr {
    Python::attach(|py| {
        let details = PyDict::new(py);
        let make = || {
            fill(&details)?;
            py.import("quasistep.errors")?.getattr(class)?.call((sentence,), Some(&details))
        };
        make().map_or_else(|error| error, PyErr::from_value)
    })
}

pub fn scene(error: &SceneError) -> PyErr {
    // the command line writes `--set step.size`; in Python the argument is a mapping with the same
    // keys
    let key = error.key.strip_prefix("--set ").unwrap_or(&error.key);
    let mut sentence = error.to_string();
    if key != error.key {
        sentence =
            sentence.replacen(&*quasistep_math::shown(&error.key), &format!("set[{key:?}]"), 1);
    }
    exception("SceneError", &sentence, |d| {
        d.set_item("file", &error.file)?;
        d.set_item("line", error.line)?;
        d.set_item("key", key)
    })
}

/// An error if one of the numbers of an argument is not finite.
pub fn finite(what: &str, values: &[f64]) -> PyResult<()> {
    let odd = values.iter().position(|x| !x.is_finite());
    odd.map_or(Ok(()), |k| {
        let place = if values.len() == 1 { String::new() } else { format!("[{k}]") };
        let why = format!("{} was seen; it must be finite", values[k]);
        Err(step(&StepError::Value { what: format!("{what}{place}"), why }))
    })
}

pub fn step(error: &StepError) -> PyErr {
    step_as(error, &error.to_string())
}

/// Exception for a step error with another message, which names the place.
pub fn step_as(error: &StepError, sentence: &str) -> PyErr {
    match error {
        StepError::Params(e) => {
            exception("ParameterError", sentence, |d| d.set_item("name", e.name))
        }
        StepError::Length { what, got, want } => exception("LengthError", sentence, |d| {
            d.set_item("what", what)?;
            d.set_item("got", got)?;
            d.set_item("want", want)
        }),
        StepError::Value { what, .. } => {
            exception("InputError", sentence, |d| d.set_item("what", what))
        }
        StepError::Unsupported { bodies, direction } => {
            exception("UnsupportedError", sentence, |d| {
                d.set_item("bodies", bodies)?;
                d.set_item("direction", direction)
            })
        }
        StepError::Infeasible { pairs, joints, crushed } => {
            exception("InfeasibleError", sentence, |d| {
                d.set_item("pairs", named(pairs))?;
                d.set_item("joints", joints)?;
                d.set_item("crushed", crushed)
            })
        }
        StepError::Jammed { pairs, joints } => exception("JammedError", sentence, |d| {
            d.set_item("pairs", named(pairs))?;
            d.set_item("joints", joints)
        }),
        StepError::Undecided { .. } => exception("UndecidedError", sentence, |_| Ok(())),
        StepError::Constraints { names, .. } => {
            exception("ConstraintError", sentence, |d| d.set_item("names", names))
        }
        StepError::Overlap { pair, time, size, .. } => exception("OverlapError", sentence, |d| {
            d.set_item("pair", (pair.a.as_str(), pair.b.as_str(), pair.depth))?;
            d.set_item("time", time)?;
            d.set_item("size", size)
        }),
        StepError::NotSolved { iterations, .. } => {
            exception("NotSolvedError", sentence, |d| d.set_item("iterations", iterations))
        }
        _ => exception("StepError", sentence, |_| Ok(())),
    }
}

fn named(pairs: &[quasistep::PairDepth]) -> Vec<(&str, &str, f64)> {
    pairs.iter().map(|p| (p.a.as_str(), p.b.as_str(), p.depth)).collect()
}

pub fn derivative(error: &DerivativeError) -> PyErr {
    match error {
        DerivativeError::Step(error) => step(error),
        DerivativeError::Length { what, got, want } => length(what, *got, *want),
        _ => exception("DerivativeError", &error.to_string(), |_| Ok(())),
    }
}

pub fn kinematics(error: &IkError) -> PyErr {
    let sentence = error.to_string();
    match error {
        IkError::Argument(error) => step(error),
        IkError::NotReached(not) => exception("NotReachedError", &sentence, |d| {
            d.set_item("frame", &not.frame)?;
            d.set_item("point", not.point.map(|(index, _)| index))?;
            d.set_item("q", not.q.clone())?;
            d.set_item("position_error", not.position_error)?;
            d.set_item("rotation_error", not.rotation_error)?;
            d.set_item("at_limit", &not.at_limit)?;
            d.set_item("singular", not.singular)?;
            let pair = not.too_near.as_ref().map(|p| (&p.a, &p.b, p.distance));
            d.set_item("too_near", pair)?;
            d.set_item("jump", not.jump.clone())
        }),
        _ => exception("QuasistepError", &sentence, |_| Ok(())),
    }
}

pub fn problem(error: &ProblemError) -> PyErr {
    exception("ProblemError", &error.to_string(), |_| Ok(()))
}

pub fn no_plan(sentence: &str) -> PyErr {
    exception("NoPlanError", sentence, |_| Ok(()))
}

pub fn control(error: &LoopError) -> PyErr {
    control_as(error, &error.to_string())
}

/// Exception for a closed-loop error with another message.
pub fn control_as(error: &LoopError, sentence: &str) -> PyErr {
    match error {
        LoopError::Step(error) => step_as(error, sentence),
        LoopError::NoPlan(_) => no_plan(sentence),
        _ => exception("ProblemError", sentence, |_| Ok(())),
    }
}

pub fn statics(error: &StaticsError) -> PyErr {
    match error {
        StaticsError::Step(error) => step(error),
        StaticsError::NotAtRest { steps, dof, speed } => {
            exception("NotAtRestError", &error.to_string(), |d| {
                d.set_item("steps", steps)?;
                d.set_item("dof", dof)?;
                d.set_item("speed", speed)
            })
        }
        _ => exception("StepError", &error.to_string(), |_| Ok(())),
    }
}

pub fn sample(error: &SampleError) -> PyErr {
    match error {
        SampleError::Step(error) => step(error),
        _ => exception("StepError", &error.to_string(), |_| Ok(())),
    }
}

/// Exception for a vector of the wrong length, with the message of a step.
pub fn length(what: &'static str, got: usize, want: usize) -> PyErr {
    step(&StepError::Length { what, got, want })
}
