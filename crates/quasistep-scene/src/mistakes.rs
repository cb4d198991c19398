//! Finds several mistakes of a scene file: removes the value with the first mistake and reads the
//! rest again.

use quasistep_formats::SceneError;
use std::time::{Duration, Instant};

/// Most mistakes reported.
const MOST: usize = 8;
/// Most attempts to read the rest.
const READINGS: usize = 16;
/// No further attempt begins after this time, so that slow scenes report their first mistakes soon.
const PATIENCE: Duration = Duration::from_secs(1);

/// A value that was removed.
struct Gone {
    key: String,
    /// True if the key is unknown: then nothing else depends on it.
    unknown: bool,
}

/// The first mistake, with others of the same file. `again` reads the file without the values at
/// the given keys. `begun` is the time of the first attempt.
pub(crate) fn all(
    mut first: SceneError,
    begun: Instant,
    again: &dyn Fn(&[String]) -> Option<SceneError>,
) -> SceneError {
    let mut gone: Vec<Gone> = Vec::new();
    let mut last = first.clone();
    for _ in 0..READINGS {
        // mistakes in other files or in arguments have no key in this file
        if last.file != first.file || last.line.is_none() || first.others.len() + 1 == MOST {
            break;
        }
        if begun.elapsed() > PATIENCE {
            break;
        }
        // for a missing key, remove the mapping around it
        let mut key = last.key.as_str();
        while gone.iter().any(|gone| gone.key == key) {
            key = key.rsplit_once('.').map_or("", |(parent, _)| parent);
        }
        // removing all models would leave no scene
        if !key.contains('.') {
            break;
        }
        gone.push(Gone { key: key.to_owned(), unknown: is_unknown(&last) && key == last.key });
        let keys: Vec<String> = gone.iter().map(|gone| gone.key.clone()).collect();
        let Some(next) = again(&keys) else { break };
        if next != last && is_a_mistake_of_its_own(&next, &gone) {
            first.others.push(next.clone());
        }
        last = next;
    }
    first.others.sort_by_key(|other| other.line);
    first
}

fn is_unknown(e: &SceneError) -> bool {
    e.message.starts_with("unknown key")
}

/// The first two parts of a key: a model, a command, or a fact.
fn item(key: &str) -> &str {
    key.match_indices('.').nth(1).map_or(key, |(end, _)| &key[..end])
}

/// True if this mistake does not result from the removed values.
fn is_a_mistake_of_its_own(e: &SceneError, gone: &[Gone]) -> bool {
    let mut same = gone.iter().filter(|gone| item(&gone.key) == item(&e.key));
    if is_unknown(e) {
        return same.all(|gone| gone.unknown);
    }
    let models = || gone.iter().filter_map(|gone| item(&gone.key).strip_prefix("models."));
    let part = |gone: &Gone| gone.key.strip_prefix(&e.key).is_some_and(|r| r.starts_with('.'));
    let whole = same.next().is_none() && !gone.iter().any(part);
    // keys that refer to models may depend on removed values; step settings do not
    let stands_alone = match e.key.split('.').next() {
        Some("step") => true,
        Some("models") => !models().any(|name| e.message.contains(&format!("`{name}"))),
        _ => models().next().is_none(),
    };
    whole && stands_alone
}
