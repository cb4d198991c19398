//! Finds files of a crate that import one another in a circle.
//!
//! Reads `crate::…`, `super::…` and `self::…` paths as text, without comments and tests. A parent module that only declares
//! or re-exports its children imports them too: a child that imports its parent is in a circle with it.

use crate::task::{Failure, root};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Crates whose files must not import one another in a circle.
const CRATES: [&str; 2] = ["crates/quasistep", "crates/quasistep-scene"];

/// Files that each file imports, by module path.
type Imports = BTreeMap<String, BTreeSet<String>>;

pub fn check() -> Result<(), Failure> {
    let mut complaints = Vec::new();
    for folder in CRATES {
        let imports = imports(&root().join(folder).join("src"))?;
        for circle in circles(&imports) {
            complaints.push(format!("{folder}: a circle of imports: {}", circle.join(" → ")));
        }
    }
    if complaints.is_empty() { Ok(()) } else { Err(Failure::new(complaints.join("\n"))) }
}

fn imports(sources: &Path) -> Result<Imports, Failure> {
    let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut folders = vec![sources.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder)
            .map_err(|e| Failure::new(format!("{}: {e}", folder.display())))?;
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.is_dir() {
                folders.push(path);
            } else if let Some(module) = module_of(sources, &path) {
                files.insert(module, path);
            }
        }
    }
    let mut all = Imports::new();
    for (module, path) in &files {
        let text = std::fs::read_to_string(path)
            .map_err(|e| Failure::new(format!("{}: {e}", path.display())))?;
        let named = paths(&without_comments_and_tests(&text));
        let imported = named.iter().filter_map(|p| file_of(p, module, &files));
        all.insert(module.clone(), imported.filter(|other| other != module).collect());
    }
    Ok(all)
}

/// `a::b` of `a/b.rs` and of `a/b/mod.rs`; `None` for the root and what is no source.
fn module_of(sources: &Path, path: &Path) -> Option<String> {
    let relative = path.strip_prefix(sources).ok()?.with_extension("");
    let mut parts: Vec<&str> = relative.iter().filter_map(|part| part.to_str()).collect();
    if parts.last() == Some(&"mod") {
        parts.pop();
    }
    let is_source = path.extension().is_some_and(|e| e == "rs");
    (is_source && parts != ["lib"] && parts != ["main"]).then(|| parts.join("::"))
}

fn without_comments_and_tests(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// All paths that begin with `crate::`, `super::` or `self::`, lists in braces taken apart.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            // `$crate`, `my_crate`, and the second of two `super::`
            if before.is_some_and(|c| c.is_alphanumeric() || "_:$".contains(c)) {
                continue;
            }
            expand(&code[at..], &mut Vec::new(), &mut found);
        }
    }
    found
}

/// Reads one path at the start of `text`, `{…}` and all, and returns how long it is.
fn expand(text: &str, before: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> usize {
    let (mut at, depth) = (0, before.len());
    loop {
        let rest = &text[at..];
        let space = rest.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        if rest.starts_with('{') {
            let mut inner = 1;
            while inner < rest.len() {
                inner += expand(&rest[inner..], before, found);
                let next = rest[inner..].trim_start();
                inner = rest.len() - next.len();
                if !next.starts_with(',') {
                    break;
                }
                inner += 1;
                if rest[inner..].trim_start().starts_with('}') {
                    inner = rest.len() - rest[inner..].trim_start().len();
                    break;
                }
            }
            before.truncate(depth);
            return at + space + inner + 1;
        }
        let word: String =
            rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == '*').collect();
        if word.is_empty() {
            break;
        }
        at += space + word.len();
        before.push(word);
        match text[at..].strip_prefix("::") {
            Some(_) => at += 2,
            None => break,
        }
    }
    found.push(before.clone());
    before.truncate(depth);
    at
}

/// The file that the longest part of a path names.
fn file_of(path: &[String], module: &str, files: &BTreeMap<String, PathBuf>) -> Option<String> {
    let mut place: Vec<&str> = module.split("::").collect();
    let mut rest = path.iter().map(String::as_str).peekable();
    if rest.next_if_eq(&"crate").is_some() {
        place.clear();
    } else {
        while let Some(word) = rest.next_if(|word| ["super", "self"].contains(word)) {
            if word == "super" {
                place.pop();
            }
        }
    }
    place.extend(rest);
    (1..=place.len()).rev().map(|n| place[..n].join("::")).find(|name| files.contains_key(name))
}

/// A shortest circle through every file that is in one and in none of those before.
fn circles(imports: &Imports) -> Vec<Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for start in imports.keys() {
        if seen.contains(start) {
            continue;
        }
        if let Some(circle) = way_back(imports, start) {
            seen.extend(circle.iter().cloned());
            circles.push(circle);
        }
    }
    circles
}

/// The shortest way from a file over its imports back to itself.
fn way_back(imports: &Imports, start: &str) -> Option<Vec<String>> {
    let mut from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(file) = queue.pop_front() {
        for next in imports.get(file).into_iter().flatten() {
            if next == start {
                let mut way = vec![start.to_owned(), file.to_owned()];
                let mut at = file;
                while at != start {
                    at = from[at];
                    way.push(at.to_owned());
                }
                way.reverse();
                return Some(way);
            }
            if !from.contains_key(next.as_str()) {
                from.insert(next, file);
                queue.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{circles, paths};

    #[test]
    fn lists_in_braces_are_taken_apart() {
        let code = "use crate::a::{b::C, d::{E, F}, g};\nlet x = super::h::i(1);";
        let found: Vec<String> = paths(code).iter().map(|p| p.join("::")).collect();
        let wanted =
            ["crate::a::b::C", "crate::a::d::E", "crate::a::d::F", "crate::a::g", "super::h::i"];
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_circle_is_found_once() {
        let names = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        let imports = [
            ("a", names(&["b"])),
            ("b", names(&["c", "d"])),
            ("c", names(&["a"])),
            ("d", names(&[])),
        ];
        let imports = imports.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
        assert_eq!(circles(&imports), [["a", "b", "c", "a"]]);
    }
}
