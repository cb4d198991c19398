//! Randomly changed files of every format that is read. The result must be a description, a scene
//! or a one-line message, without a panic, in limited time and memory.
//!
//! A case contains all its files by name; each character of a text is one byte. `read` selects the
//! reader: a `scene` refers to the other files, and its first step is taken too; a `recording` is
//! read directly. Seeds are stored in `fuzz/seeds`, one folder per format.

mod change;
pub mod read;
mod seeds;

pub use seeds::{Files, formats, own_file, seeds_of};

use crate::target::Verdict;
use serde_json::{Map, Value, json};
use testkit::hard_problems::Random;

/// Draws the changed files of a seed.
///
/// # Panics
///
/// If the seeds cannot be read.
pub fn draw(seed: u64) -> Value {
    let mut random = Random::new(seed);
    let formats = formats();
    let format = &formats[random.below(formats.len())];
    let seeds = seeds_of(format);
    let mut files = seeds[random.below(seeds.len())].clone();
    // mostly the file that has the format itself
    let names: Vec<String> = files.keys().cloned().collect();
    let own = own_file(format, &files);
    let which = if random.chance(0.8) { own } else { names[random.below(names.len())].clone() };
    let others: Vec<&[u8]> = seeds.iter().flat_map(Files::values).map(Vec::as_slice).collect();
    if let Some(bytes) = files.get_mut(&which) {
        change::change(bytes, &others, &mut random);
    }
    to_case(format, &files)
}

/// Converts files to a case.
pub fn to_case(format: &str, files: &Files) -> Value {
    let texts: Map<String, Value> = files
        .iter()
        .map(|(name, bytes)| {
            (name.clone(), Value::String(bytes.iter().map(|b| char::from(*b)).collect()))
        })
        .collect();
    json!({"format": format, "files": texts})
}

/// Reads the files of a case.
pub fn judge(case: &Value) -> Verdict {
    let mut verdict = Verdict::default();
    let format = case["format"].as_str().unwrap_or_default();
    let files: Files = case["files"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, text)| {
            let bytes = text.as_str()?.chars().map(|c| u8::try_from(c).unwrap_or(b'?'));
            Some((name.clone(), bytes.collect()))
        })
        .collect();
    match read::read(format, &files) {
        Ok(end) => verdict.count(format!("{format}: {}", end.words())),
        Err(complaint) => verdict.blame("an error that people cannot read", complaint),
    }
    verdict
}
