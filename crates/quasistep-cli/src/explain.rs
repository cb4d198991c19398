//! `quasistep explain`: what messages mean, in the words of the page on troubleshooting.

/// The page. Each entry has its short name as a heading; a comment below it has phrases of the
/// messages that it explains.
const PAGE: &str = include_str!("troubleshooting.md");

/// An entry of the page.
struct Entry {
    name: &'static str,
    phrases: Vec<&'static str>,
    text: &'static str,
}

/// All entries, in the order of the page.
fn entries() -> impl Iterator<Item = Entry> {
    PAGE.split("\n### ").skip(1).map(|piece| {
        let (name, rest) = piece.split_once('\n').unwrap_or((piece, ""));
        let own = rest.split("\n## ").next().unwrap_or_default().trim();
        let comment = own.strip_prefix("<!-- says: ").and_then(|rest| rest.split_once(" -->"));
        let (phrases, text) = comment.map_or((Vec::new(), own), |(phrases, text)| {
            (phrases.split(" | ").collect(), text.trim())
        });
        Entry { name, phrases, text }
    })
}

/// All short names.
pub fn names() -> impl Iterator<Item = &'static str> {
    entries().map(|entry| entry.name)
}

/// How to read the entries about these messages, `quasistep explain NAME`; `None` if there is none.
/// `class` is that of an exception in Python, whose entry counts if the message alone has none.
pub fn help<'m>(messages: impl Iterator<Item = &'m str>, class: Option<&str>) -> Option<String> {
    let mut found: Vec<&str> = Vec::new();
    for message in messages.flat_map(str::lines) {
        let says = |entry: &Entry| entry.phrases.iter().any(|phrase| message.contains(phrase));
        let of_class = || {
            let class = format!("`{}`", class?);
            entries().find(|entry| entry.text.contains(&class))
        };
        let entry = entries().find(says).or_else(of_class);
        found.extend(entry.map(|entry| entry.name).filter(|name| !found.contains(name)));
    }
    (!found.is_empty()).then(|| format!("help: quasistep explain {}", found.join(" ")))
}

/// Prints the entries of these names, or all names if there is none.
pub fn explain(wanted: &[String]) {
    if wanted.is_empty() {
        say!("quasistep explain NAME, with one of these names:");
        names().for_each(|name| say!("  {name}"));
    }
    for entry in wanted.iter().filter_map(|name| entries().find(|entry| entry.name == name)) {
        say!("{}: {}", entry.name, plain(entry.text));
    }
}

/// Text without the addresses of its links.
fn plain(text: &str) -> String {
    let mut pieces = text.split("](");
    let mut all = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        // a link's text is behind the last bracket
        if let Some(at) = all.rfind('[') {
            all.remove(at);
        }
        all.push_str(piece.split_once(')').map_or(piece, |(_, rest)| rest));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{entries, help, plain};
    use std::path::{Path, PathBuf};

    /// Sources of the crates and of the Python package, without this page.
    fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
        for file in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let ending = file.extension().and_then(|ending| ending.to_str());
            if file.is_dir() {
                sources(&file, all);
            } else if matches!(ending, Some("rs" | "py")) && !file.ends_with("explain.rs") {
                all.push(file);
            }
        }
    }

    /// Every phrase is in the source of a message, and every entry explains one: a message with its
    /// phrase, or a class of Python.
    #[test]
    fn entries_and_messages_fit() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = Vec::new();
        sources(&root.join("crates"), &mut files);
        sources(&root.join("python/quasistep"), &mut files);
        files.retain(|file| !file.components().any(|part| part.as_os_str() == "tests"));
        let text: String = files.iter().map(|f| std::fs::read_to_string(f).unwrap()).collect();
        assert!(entries().count() > 25);
        for entry in entries() {
            for phrase in &entry.phrases {
                assert!(text.contains(phrase), "{}: no message says `{phrase}`", entry.name);
                let found = help(std::iter::once(*phrase), None);
                assert_eq!(found, Some(format!("help: quasistep explain {}", entry.name)));
            }
            let class = |word: &&str| text.contains(&format!("class {word}("));
            let of_python = entry.text.split('`').any(|word| class(&word));
            assert!(!entry.phrases.is_empty() || of_python, "{} explains nothing", entry.name);
            assert!(entry.text.len() > 40, "{}", entry.name);
        }
    }

    #[test]
    fn classes_of_python_have_entries() {
        let of = |message: &str, class: &str| help(std::iter::once(message), Some(class));
        assert!(of("`q` has 3 entries", "LengthError").unwrap().ends_with(" argument"));
        assert!(of("no rest", "NotAtRestError").unwrap().ends_with(" not-at-rest"));
        assert!(of("crushed: no motion keeps", "InfeasibleError").unwrap().ends_with(" crushed"));
        assert_eq!(of("a mistake", "SceneError"), None);
        let two = help("a: unknown key `b`\nc: starts at 1, outside its limits".lines(), None);
        assert_eq!(two.unwrap(), "help: quasistep explain unknown-key limits");
    }

    #[test]
    fn links_are_their_texts() {
        assert_eq!(plain("Take [exact](a.md#b) steps, [or (c)](d)."), "Take exact steps, or (c).");
        assert_eq!(plain("a list [1, 2]"), "a list [1, 2]");
    }
}
