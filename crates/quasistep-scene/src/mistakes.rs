//! All mistakes of a scene file at once: what the first one speaks of is taken out, and the rest is read again.

use quasistep_formats::SceneError;
use std::time::{Duration, Instant};

/// Most mistakes that are told.
const MOST: usize = 8;
/// Most times that the rest is read.
const READINGS: usize = 16;
/// No further reading begins after this time: a scene that takes long to read has its first mistakes told soon.
const PATIENCE: Duration = Duration::from_secs(1);

/// What was taken out.
struct Gone {
    key: String,
    /// The grammar does not know it: nothing else depends on it.
    unknown: bool,
}

/// The first mistake with the others of its file. `again` reads the file without the values at these keys;
/// the first reading has `begun` at this time.
pub(crate) fn all(
    mut first: SceneError,
    begun: Instant,
    again: &dyn Fn(&[String]) -> Option<SceneError>,
) -> SceneError {
    let mut gone: Vec<Gone> = Vec::new();
    let mut last = first.clone();
    for _ in 0..READINGS {
        // a mistake of another file, or of an argument, has no key here
        if last.file != first.file || last.line.is_none() || first.others.len() + 1 == MOST {
            break;
        }
        if begun.elapsed() > PATIENCE {
            break;
        }
        // what is missing is missing in the mapping around it
        let mut key = last.key.as_str();
        while gone.iter().any(|gone| gone.key == key) {
            key = key.rsplit_once('.').map_or("", |(parent, _)| parent);
        }
        // without all models there is no scene
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

/// The model, the command, the fact that a key belongs to: its first two parts.
fn item(key: &str) -> &str {
    key.match_indices('.').nth(1).map_or(key, |(end, _)| &key[..end])
}

/// Whether this would be wrong with the missing values in their places too.
fn is_a_mistake_of_its_own(e: &SceneError, gone: &[Gone]) -> bool {
    let mut same = gone.iter().filter(|gone| item(&gone.key) == item(&e.key));
    if is_unknown(e) {
        return same.all(|gone| gone.unknown);
    }
    let models = || gone.iter().filter_map(|gone| item(&gone.key).strip_prefix("models."));
    let part = |gone: &Gone| gone.key.strip_prefix(&e.key).is_some_and(|r| r.starts_with('.'));
    let whole = same.next().is_none() && !gone.iter().any(part);
    // what speaks of models is right or wrong with them; settings of the step stand alone
    let stands_alone = match e.key.split('.').next() {
        Some("step") => true,
        Some("models") => !models().any(|name| e.message.contains(&format!("`{name}"))),
        _ => models().next().is_none(),
    };
    whole && stands_alone
}
