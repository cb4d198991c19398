use quasistep_math::shown;
use quasistep_mesh::{Fault, Place};
use std::fmt;
use std::path::Path;

/// One or more mistakes in a scene. Displayed as one line for each mistake,
/// `file:line: key: what was seen; what is valid`.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneError {
    /// The file; empty if the mistake is in an argument.
    pub file: String,
    /// The line, counted from 1, if known.
    pub line: Option<usize>,
    /// The dotted key, or the name of the element.
    pub key: String,
    /// What was seen, and what would be valid.
    pub message: String,
    /// Further mistakes in the same file, each displayed on its own line.
    pub others: Vec<SceneError>,
}

impl SceneError {
    /// A mistake at a line of a file. Line breaks in `message` are replaced by spaces.
    pub fn new(file: &str, line: Option<usize>, key: &str, message: impl Into<String>) -> Self {
        // keep it on one line: messages of parsers may have several
        let message = message.into().replace(['\n', '\r'], " ");
        Self { file: file.to_owned(), line, key: key.to_owned(), message, others: Vec::new() }
    }

    /// Error about a mesh or point cloud file.
    pub fn in_file(path: &Path, fault: Fault) -> Self {
        let Fault { place, message } = fault;
        let (line, message) = match place {
            Place::Whole => (None, message),
            Place::Line(line) => (Some(line), message),
            Place::Byte(byte) => (None, format!("byte {byte}: {message}")),
        };
        Self::new(&path.display().to_string(), line, "", message)
    }
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            f.write_str(&shown(&self.file))?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", shown(&self.key))?;
        }
        f.write_str(&shown(&self.message))?;
        self.others.iter().try_for_each(|other| write!(f, "\n{other}"))
    }
}

impl std::error::Error for SceneError {}

/// Names as a list in words: "`a`, `b` or `c`".
pub fn list(names: &[&str]) -> String {
    match names {
        [] => "nothing".into(),
        [one] => format!("`{one}`"),
        [most @ .., last] => {
            let most: Vec<String> = most.iter().map(|n| format!("`{n}`")).collect();
            format!("{} or `{last}`", most.join(", "))
        }
    }
}

/// The first names of a list, and the number of those left out.
pub fn list_some(names: &[&str]) -> String {
    const MOST: usize = 6;
    let shown: Vec<String> = names.iter().take(MOST).map(|n| format!("`{n}`")).collect();
    let more = match names.len().saturating_sub(MOST) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("{}{more}", shown.join(", "))
}

/// Most names shown in a message.
const MOST_NAMES: usize = 30;

/// Names longer than this (bytes) get no suggestion. Names of public robots have up to about 60.
const LONGEST_NAME: usize = 200;

/// Words of other tools, with those that may be meant, the likeliest first.
const OTHER_WORDS: [(&str, &[&str]); 22] = [
    ("ball", &["sphere"]),
    ("cube", &["box"]),
    ("collision", &["shape"]),
    ("continuous", &["hinge"]),
    ("dt", &["size"]),
    ("floating", &["free"]),
    ("geometry", &["shape"]),
    ("ground", &["half_space"]),
    ("kp", &["stiffness"]),
    ("kd", &["damping"]),
    ("orientation", &["quat", "pose"]),
    ("origin", &["pose"]),
    ("plane", &["half_space"]),
    ("pos", &["xyz", "pose"]),
    ("position", &["xyz", "pose"]),
    ("prismatic", &["slide"]),
    ("revolute", &["hinge"]),
    ("rotation", &["rpy", "pose"]),
    ("timestep", &["size"]),
    ("time_step", &["size"]),
    ("translation", &["xyz", "pose"]),
    ("weight", &["mass"]),
];

/// Message about an unknown name: "unknown key `stifness`; did you mean `stiffness`? valid: …".
pub fn unknown(what: &str, seen: &str, valid: &[&str]) -> String {
    // edit distances of very long texts would take too long
    if seen.len() > LONGEST_NAME {
        let start: String = seen.chars().take(LONGEST_NAME / 4).collect();
        return format!("unknown {what} `{start}…`; names are at most {LONGEST_NAME} bytes long");
    }
    let valid: Vec<&str> = valid.iter().copied().filter(|v| v.len() <= LONGEST_NAME).collect();
    let valid = valid.as_slice();
    let mut near: Vec<(usize, &str)> = valid.iter().map(|v| (edits(seen, v), *v)).collect();
    // a stable sort keeps equally near names in their order
    near.sort_by_key(|(d, _)| *d);
    let elsewhere = OTHER_WORDS.iter().filter(|(word, _)| *word == seen);
    let ours = elsewhere.flat_map(|(_, ours)| *ours).find(|word| valid.contains(*word));
    let hint = match (ours, near.first()) {
        (Some(word), _) => format!("did you mean `{word}`? "),
        (None, Some((d, v))) if *d <= 1 + seen.len() / 4 => format!("did you mean `{v}`? "),
        _ => String::new(),
    };
    if valid.len() <= MOST_NAMES {
        return format!("unknown {what} `{seen}`; {hint}valid: {}", list(valid));
    }
    let nearest: Vec<&str> = near[..MOST_NAMES / 3].iter().map(|(_, v)| *v).collect();
    let n = valid.len();
    format!("unknown {what} `{seen}`; {hint}the nearest of {n} that are valid: {}", list(&nearest))
}

/// Edit distance: number of single-character changes between two words.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
