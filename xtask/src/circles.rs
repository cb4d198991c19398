//! Detects cyclic imports between files of a crate.
//!
//! It reads `crate::…`, `super::…` and `self::…` paths as text, without comments and tests. Names
//! re-exported by the crate root count as imports of their original file. A parent module that uses
//! or re-exports its children's items imports them; a child that imports its parent then forms a
//! cycle.

use crate::task::{Failure, root};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// For each file, by module path, the files that it imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

pub fn check() -> Result<(), Failure> {
    let mut complaints = Vec::new();
    let crates = std::fs::read_dir(root().join("crates"))
        .map_err(|e| Failure::new(format!("crates: {e}")))?;
    let mut folders: Vec<PathBuf> = crates.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.sort();
    for path in folders {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = format!("crates/{name}");
        complaints.extend(complaints_of(&folder, &imports(&path.join("src"))?));
    }
    if complaints.is_empty() { Ok(()) } else { Err(Failure::new(complaints.join("\n"))) }
}

/// One message for each cycle.
fn complaints_of(folder: &str, imports: &Imports) -> Vec<String> {
    let complain = |files: BTreeSet<String>| {
        let ways = files.iter().filter_map(|file| way_back(imports, file));
        let shortest = ways.min_by_key(Vec::len).unwrap_or_default().join(" → ");
        let names = files.into_iter().collect::<Vec<_>>().join(", ");
        format!("{folder}: files in a circle of imports: {names} ({shortest})")
    };
    circles(imports).into_iter().map(complain).collect()
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
    let exports = exports(sources, &files)?;
    let mut all = Imports::new();
    for (module, path) in &files {
        let text = std::fs::read_to_string(path)
            .map_err(|e| Failure::new(format!("{}: {e}", path.display())))?;
        let code = without_comments_and_tests(&text);
        let mut named = paths(&code, module);
        named.extend(children_used(&code, module));
        let imported = named.iter().filter_map(|path| {
            file_of(path, &files).or_else(|| exports.get(path.first()?).cloned())
        });
        all.insert(module.clone(), imported.filter(|other| other != module).collect());
    }
    Ok(all)
}

/// Module path `a::b` of `a/b.rs` and of `a/b/mod.rs`; `None` for the root and for other files.
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

/// The original file of each name that the crate root re-exports.
fn exports(
    sources: &Path,
    files: &BTreeMap<String, PathBuf>,
) -> Result<BTreeMap<String, String>, Failure> {
    let mut all = BTreeMap::new();
    let path = sources.join("lib.rs");
    if !path.exists() {
        return Ok(all);
    }
    let text = std::fs::read_to_string(&path)
        .map_err(|e| Failure::new(format!("{}: {e}", path.display())))?;
    let code = without_comments_and_tests(&text);
    for (at, start) in code.match_indices("pub use ") {
        let mut found = Vec::new();
        expand(&code[at + start.len()..], &mut Vec::new(), &mut found);
        for path in found {
            if let (Some(file), Some(name)) = (file_of(&path, files), path.last()) {
                all.insert(name.clone(), file);
            }
        }
    }
    Ok(all)
}

/// Children that a file declares and also uses.
fn children_used(code: &str, module: &str) -> Vec<Vec<String>> {
    let declared = code.lines().filter_map(|line| {
        let (_, name) = line.trim().split_once("mod ")?;
        name.strip_suffix(';')
    });
    let used = declared.filter(|name| {
        code.match_indices(&format!("{name}::")).any(|(at, _)| begins_a_path(code, at))
    });
    let whole = |name: &str| module.split("::").chain([name]).map(str::to_owned).collect();
    used.map(whole).collect()
}

/// Whether a path begins at this index: false within a word or a path, as in `$crate`, `my_crate`,
/// and the second of two `super::`.
fn begins_a_path(code: &str, at: usize) -> bool {
    !code[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || "_:$".contains(c))
}

/// All paths of a module that begin with `crate::`, `super::` or `self::`, relative to the crate
/// root, with lists in braces expanded.
fn paths(code: &str, module: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut inner: Vec<&str> = Vec::new();
    let mut line_start = 0;
    for line in code.split_inclusive('\n') {
        // inline modules, recognised by rustfmt's indentation
        let indent = line.len() - line.trim_start().len();
        if line.trim_end() == "}" && indent == 0 {
            inner.clear();
        } else if indent == 0
            && let Some((_, name)) = line.trim_end().split_once("mod ")
            && let Some(name) = name.strip_suffix(" {")
        {
            inner.push(name);
        }
        for start in ["crate::", "super::", "self::"] {
            for (at, _) in line.match_indices(start) {
                if begins_a_path(code, line_start + at) {
                    let mut own = Vec::new();
                    expand(&code[line_start + at..], &mut Vec::new(), &mut own);
                    let from = module.split("::").chain(inner.iter().copied());
                    let place: Vec<&str> = from.collect();
                    found.extend(own.iter().map(|path| from_root(path, &place)));
                }
            }
        }
        line_start += line.len();
    }
    found
}

/// Converts a path used in module `place` to one from the crate root.
fn from_root(path: &[String], place: &[&str]) -> Vec<String> {
    let mut place = place.to_vec();
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
    place.into_iter().map(str::to_owned).collect()
}

/// Parses a path at the start of `text`, including `{…}`, and returns its length.
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

/// The file that the longest prefix of a path names.
fn file_of(path: &[String], files: &BTreeMap<String, PathBuf>) -> Option<String> {
    (1..=path.len()).rev().map(|n| path[..n].join("::")).find(|name| files.contains_key(name))
}

/// Strongly connected components of the import graph with more than one file.
fn circles(imports: &Imports) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|file| (file.as_str(), reached_from(imports, file))).collect();
    let mut circles = Vec::new();
    for (file, others) in &reached {
        // list each component at its first file
        let circle: BTreeSet<String> = others
            .iter()
            .filter(|other| reached.get(*other).is_some_and(|back| back.contains(file)))
            .map(|other| (*other).to_owned())
            .collect();
        if circle.first().is_some_and(|first| first == file) {
            circles.push(circle);
        }
    }
    circles
}

fn reached_from<'a>(imports: &'a Imports, start: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut queue = vec![start];
    while let Some(file) = queue.pop() {
        for next in imports.get(file).into_iter().flatten() {
            if reached.insert(next.as_str()) {
                queue.push(next);
            }
        }
    }
    reached
}

/// Shortest cycle through a file.
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
    use super::{children_used, circles, complaints_of, paths};
    use std::collections::{BTreeMap, BTreeSet};

    fn joined(paths: &[Vec<String>]) -> Vec<String> {
        paths.iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn lists_in_braces_are_taken_apart() {
        let code = "use crate::a::{b::C, d::{E, F}, g};\nlet x = super::h::i(1);";
        let wanted = ["a::b::C", "a::d::E", "a::d::F", "a::g", "m::h::i"];
        assert_eq!(joined(&paths(code, "m::n")), wanted);
    }

    #[test]
    fn a_module_within_a_file_has_the_file_as_its_parent() {
        let code = "mod avx {\n    use super::Lane;\n}\nuse super::Tree;\n";
        assert_eq!(joined(&paths(code, "cloud::simd")), ["cloud::simd::Lane", "cloud::Tree"]);
    }

    #[test]
    fn a_parent_imports_the_children_that_it_names() {
        let code = "mod a;\npub(crate) mod b;\nmod c;\npub use a::A;\nlet x = b::f(my_c::D);";
        assert_eq!(joined(&children_used(code, "m")), ["m::a", "m::b"]);
    }

    fn graph(edges: &[(&str, &[&str])]) -> BTreeMap<String, BTreeSet<String>> {
        let names = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        edges.iter().map(|(file, to)| ((*file).to_owned(), names(to))).collect()
    }

    #[test]
    fn files_that_reach_one_another_are_one_circle() {
        let imports = graph(&[
            ("a", &["b"]),
            ("b", &["c", "d"]),
            ("c", &["a"]),
            ("d", &["e"]),
            ("e", &["d"]),
            ("f", &["a"]),
        ]);
        let found: Vec<Vec<String>> =
            circles(&imports).into_iter().map(|files| files.into_iter().collect()).collect();
        assert_eq!(found, [vec!["a", "b", "c"], vec!["d", "e"]]);
    }

    #[test]
    fn a_circle_is_told_with_its_way_round() {
        let imports = graph(&[("a", &["b"]), ("b", &["a"]), ("c", &[])]);
        let [told] = &complaints_of("k", &imports)[..] else { panic!() };
        assert!(told.contains("a → b → a"), "{told}");
    }
}
