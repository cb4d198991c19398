//! Names of models, bodies and joints, and the patterns that fit them.

use crate::document::At;
use crate::error::SceneError;

/// A name that keys and patterns can hold.
pub(crate) fn check_name(what: &str, name: &str, at: &At<'_>) -> Result<(), SceneError> {
    if name.is_empty() || name.contains(['/', '.', '*', ',']) {
        return Err(at.error(format!(
            "the {what} name `{name}` was seen; a name has no `/`, `.`, `*` or `,`"
        )));
    }
    if at.is_implied() {
        return Err(at.error(format!("there is no {what} `{name}`; name one of the scene's")));
    }
    Ok(())
}

/// True if `pattern` fits a body `model/link`; the model alone stands for its body of that name.
pub(crate) fn fits_body(pattern: &str, body: &str) -> bool {
    fits(pattern, body) || body.split_once('/').is_some_and(|(m, l)| m == l && fits(pattern, m))
}

/// True if `pattern`, in which `*` stands for any text, fits `name`.
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
    use super::{fits, fits_body};

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
        assert!(!fits_body("arm", "arm/link_7") && fits_body("arm/*", "arm/link_7"));
    }
}
