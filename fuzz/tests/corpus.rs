//! Earlier findings are judged again, and seeds are read.
#![allow(missing_docs)]

use fuzz::files::{self, read::End};
use fuzz::{target, worker};
use serde_json::Value;
use std::path::Path;

/// Every file of `fuzz/corpus` is a shrunk finding. It contains its target, its case, the former
/// violation, and `counts` that must be reached now.
#[test]
fn what_was_found_stays_mended() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut wrong = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        let whole: Value = serde_json::from_str(&text).unwrap();
        let target = target(whole["target"].as_str().unwrap()).unwrap();
        let verdict = worker::judge(&target, &whole["case"], true);
        let known = whole["counts"].as_object().expect("a file says what it comes to");
        for (what, times) in known {
            let seen = verdict.counts.get(what).copied();
            if seen.is_none_or(|seen| Some(seen) < times.as_u64()) {
                wrong.push(format!("{}: {what}: {seen:?} of {times}", file.display()));
            }
        }
        if let Some(finding) = verdict.finding {
            wrong.push(format!("{}: {}: {}", file.display(), finding.kind, finding.text));
        }
    }
    assert!(wrong.is_empty() && !files.is_empty(), "{}", wrong.join("\n"));
}

/// Seeds must be valid, because changes of an invalid file would only reach the first error
/// message.
#[test]
fn seeds_are_read() {
    for format in files::formats() {
        let seeds = files::seeds_of(&format);
        let ends: Vec<_> = seeds.iter().map(|seed| files::read::read(&format, seed)).collect();
        // examples of the documentation refer to files that do not exist here
        let read = ends.iter().filter(|end| !matches!(end, Ok(End::Refused) | Err(_))).count();
        assert!(2 * read >= seeds.len() && read > 0, "{format}: {read} of {}", seeds.len());
    }
}
