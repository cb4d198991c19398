//! Names of models, bodies and joints, and patterns that match them.

use crate::document::At;
use quasistep_formats::{SceneError, unknown};
use quasistep_math::{is_command, shown};
use quasistep_model::Model;

/// Error unless the name can be used in keys and patterns.
pub(crate) fn check_name(what: &str, name: &str, at: &At<'_>) -> Result<(), SceneError> {
    if name.is_empty() || name.contains(['/', '.', '*', ',']) || name.contains(is_command) {
        return Err(at.error(format!(
            "the {what} name `{}` was seen; a name has no `/`, `.`, `*` or `,`, and no control characters",
            shown(name)
        )));
    }
    if at.is_implied() {
        return Err(at.error(format!("there is no {what} `{name}`; name one of the scene's")));
    }
    Ok(())
}

/// Finds a body by its name, or by its model's name if the model has a body of that name or only
/// one body.
pub(crate) fn find_body<'a>(
    name: &str,
    mut bodies: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let of_model =
        bodies.clone().filter(|body| body.split_once('/').is_some_and(|(m, _)| m == name));
    let same = || of_model.clone().find(|body| body.ends_with(&format!("/{name}")));
    // the list may contain a body several times, once per shape
    let only = |first: &'a str| of_model.clone().all(|body| body == first).then_some(first);
    let found = same().or_else(|| of_model.clone().next().and_then(only));
    bodies.find(|body| *body == name).or(found)
}

/// Index of the body with this name; the error lists valid names.
pub(crate) fn body_index(at: &At<'_>, model: &Model) -> Result<usize, SceneError> {
    let name = at.text()?;
    body_of(name, model).ok_or_else(|| {
        let names: Vec<&str> = model.bodies().iter().map(|b| b.name.as_str()).collect();
        at.error(unknown("body", name, &names))
    })
}

/// Index of the body with this name, if any.
pub(crate) fn body_of(name: &str, model: &Model) -> Option<usize> {
    let found = find_body(name, model.bodies().iter().map(|b| b.name.as_str()))?;
    model.body_by_name(found)
}

/// True if `pattern` matches a body `model/link`. A model name matches its body of the same name.
pub(crate) fn fits_body(pattern: &str, body: &str) -> bool {
    fits(pattern, body) || body.split_once('/').is_some_and(|(m, l)| m == l && fits(pattern, m))
}

/// True if `pattern` matches `name`; `*` matches any text.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::{find_body, fits, fits_body};

    #[test]
    fn stars_stand_for_any_text() {
        assert!(fits("*", "anything") && fits("*", ""));
        assert!(fits("iiwa_joint_*", "iiwa_joint_7") && !fits("iiwa_joint_*", "finger"));
        assert!(fits("cube_*/*", "cube_1/link") && fits("a*b*c", "axxbyyc"));
        assert!(fits("exact", "exact") && !fits("exact", "exactly"));
        assert!(!fits("a*a", "a"));
    }

    #[test]
    fn a_model_of_one_body_is_named_by_itself() {
        assert!(fits_body("ball", "ball/ball") && fits_body("ball/*", "ball/ball"));
        let bodies =
            ["world", "ball/x", "ball/ball", "bottle/base", "bottle/base", "arm/a", "arm/b"];
        let find = |name| find_body(name, bodies.iter().copied());
        assert_eq!(find("ball"), Some("ball/ball"));
        assert_eq!(find("bottle"), Some("bottle/base"));
        assert_eq!(find("arm/b"), Some("arm/b"));
        assert_eq!((find("arm"), find("a"), find("bottle/")), (None, None, None));
        assert!(!fits_body("arm", "arm/link_7") && fits_body("arm/*", "arm/link_7"));
    }
}
