//! Shrinks cases: parts are removed, numbers rounded and texts cut while the finding persists.

use serde_json::Value;
use std::time::{Duration, Instant};

/// Path in a JSON value: keys and indices from the root.
type Place = Vec<Step>;

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Key(String),
    Index(usize),
}

/// The smallest case that `holds` accepts, reached by single changes within the time `patience`.
pub fn shrink(case: &Value, patience: Duration, holds: &mut dyn FnMut(&Value) -> bool) -> Value {
    let end = Instant::now() + patience;
    let mut best = case.clone();
    loop {
        let before = best.clone();
        for pass in [leave_out, cut_texts, round_numbers] {
            pass(&mut best, end, holds);
        }
        if best == before || Instant::now() > end {
            return best;
        }
    }
}

/// Tries every candidate of one path after the other. The last paths come first, because earlier
/// parts are often referenced by later ones.
fn leave_out(best: &mut Value, end: Instant, holds: &mut dyn FnMut(&Value) -> bool) {
    let mut k = places(best).len();
    while k > 0 && Instant::now() < end {
        k -= 1;
        let all = places(best);
        let Some(place) = all.get(k) else { continue };
        let mut smaller = best.clone();
        if remove(&mut smaller, place) && holds(&smaller) {
            *best = smaller;
        }
    }
}

fn round_numbers(best: &mut Value, end: Instant, holds: &mut dyn FnMut(&Value) -> bool) {
    for place in places(best) {
        let Some(x) = at(best, &place).and_then(Value::as_f64) else { continue };
        for digits in [0, 1, 2, 4] {
            if Instant::now() > end {
                return;
            }
            let rounder = match digits {
                0 if x == 0.0 => break,
                0 => 0.0,
                _ => format!("{x:.*e}", digits - 1).parse().unwrap_or(x),
            };
            if rounder == x {
                break;
            }
            let mut smaller = best.clone();
            if let Some(value) = at_mut(&mut smaller, &place) {
                *value = number(rounder);
            }
            if holds(&smaller) {
                *best = smaller;
                break;
            }
        }
    }
}

/// A JSON number; integers are written without a decimal point.
fn number(x: f64) -> Value {
    if x.fract() == 0.0 && x.abs() < 1e15 { Value::from(x as i64) } else { Value::from(x) }
}

/// Removes pieces of texts: halves, then quarters, down to single characters of short ones.
fn cut_texts(best: &mut Value, end: Instant, holds: &mut dyn FnMut(&Value) -> bool) {
    for place in places(best) {
        let Some(text) = at(best, &place).and_then(Value::as_str) else { continue };
        let mut text: Vec<char> = text.chars().collect();
        // names and short words are not cut
        if text.len() < 24 {
            continue;
        }
        let mut piece = text.len() / 2;
        while piece > 0 {
            let mut start = 0;
            while start < text.len() {
                if Instant::now() > end {
                    return;
                }
                let mut shorter = text.clone();
                shorter.drain(start..(start + piece).min(text.len()));
                let mut smaller = best.clone();
                if let Some(value) = at_mut(&mut smaller, &place) {
                    *value = Value::String(shorter.iter().collect());
                }
                if holds(&smaller) {
                    *best = smaller;
                    text = shorter;
                } else {
                    start += piece;
                }
            }
            piece /= 2;
        }
    }
}

/// All paths below the root, parents before children.
fn places(value: &Value) -> Vec<Place> {
    let mut all = Vec::new();
    let mut open = vec![(Vec::new(), value)];
    while let Some((place, value)) = open.pop() {
        let children: Vec<(Step, &Value)> = match value {
            Value::Array(items) => {
                items.iter().enumerate().map(|(k, v)| (Step::Index(k), v)).collect()
            }
            Value::Object(map) => map.iter().map(|(k, v)| (Step::Key(k.clone()), v)).collect(),
            _ => Vec::new(),
        };
        for (step, child) in children.into_iter().rev() {
            let mut below = place.clone();
            below.push(step);
            open.push((below, child));
        }
        if !place.is_empty() {
            all.push(place);
        }
    }
    all
}

fn at<'a>(value: &'a Value, place: &[Step]) -> Option<&'a Value> {
    place.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(k) => value.get(k),
    })
}

fn at_mut<'a>(value: &'a mut Value, place: &[Step]) -> Option<&'a mut Value> {
    place.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(k) => value.get_mut(k),
    })
}

fn remove(value: &mut Value, place: &[Step]) -> bool {
    let Some((last, parent)) = place.split_last() else { return false };
    match (at_mut(value, parent), last) {
        (Some(Value::Object(map)), Step::Key(key)) => map.remove(key).is_some(),
        (Some(Value::Array(items)), Step::Index(k)) if *k < items.len() => {
            items.remove(*k);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::shrink;
    use serde_json::json;
    use std::time::Duration;

    /// Parts that a finding does not need are removed. The others stay, with rounded numbers.
    #[test]
    fn what_is_needed_stays() {
        let text = format!("{}needle{}", "x".repeat(40), "y".repeat(50));
        let case = json!({"a": [1.2345, 2.3456, 99.87654], "b": {"c": true}, "text": text});
        let mut holds = |v: &serde_json::Value| {
            let large =
                v["a"].as_array().is_some_and(|a| a.iter().any(|x| x.as_f64() > Some(50.0)));
            large && v["text"].as_str().is_some_and(|t| t.contains("needle"))
        };
        let small = shrink(&case, Duration::from_secs(5), &mut holds);
        assert_eq!(small["a"], json!([100]));
        assert!(small.get("b").is_none());
        assert!(small["text"].as_str().is_some_and(|t| t.len() < 24), "{small}");
    }
}
