//! Messages on standard output and standard error. If nobody reads them, as behind `| head`, the
//! work continues.

use crate::failure::Failure;
use quasistep_math::shown;
use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// First error of writing to standard output.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// True if every warning is printed.
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// Prints a line on standard output.
macro_rules! say {
    ($($words:tt)*) => { $crate::say::out(format_args!($($words)*), "\n") };
}

/// Prints a line on standard error.
macro_rules! tell {
    ($($words:tt)*) => { $crate::say::aside(format_args!($($words)*), "\n") };
}

/// Words for a terminal: nothing of them, names of files for one, is a command to it.
fn plain(words: fmt::Arguments<'_>) -> String {
    let text = words.to_string();
    text.split('\n').map(shown).collect::<Vec<_>>().join("\n")
}

/// Prints on standard output.
pub fn out(words: fmt::Arguments<'_>, end: &str) {
    raw(format_args!("{}{end}", plain(words)));
}

/// Prints on standard output as it is.
pub fn raw(words: fmt::Arguments<'_>) {
    let mut lost = LOST.lock().unwrap_or_else(PoisonError::into_inner);
    if lost.is_none()
        && let Err(e) = write!(io::stdout().lock(), "{words}")
    {
        *lost = Some(e);
    }
}

/// Passes on what was printed so far, to whoever waits for it.
pub fn flush() {
    let _ = io::stdout().lock().flush();
}

/// Prints on standard error; an error of writing is ignored.
pub fn aside(words: fmt::Arguments<'_>, end: &str) {
    let _ = write!(io::stderr().lock(), "{}{end}", plain(words));
}

/// Prints every warning from now on, not one of each kind.
pub fn all_warnings() {
    VERBOSE.store(true, Ordering::Relaxed);
}

/// Prints warnings. Of those that differ in names and numbers alone, the first is printed, with the
/// number of the others.
pub fn warnings(all: &[String]) {
    if VERBOSE.load(Ordering::Relaxed) {
        for warning in all {
            tell!("warning: {warning}");
        }
        return help(all.iter().map(String::as_str));
    }
    let mut kinds: Vec<(String, &str, usize)> = Vec::new();
    for warning in all {
        let kind = kind(warning);
        match kinds.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, _, more)) => *more += 1,
            None => kinds.push((kind, warning, 0)),
        }
    }
    for (_, warning, more) in kinds {
        match more {
            0 => tell!("warning: {warning}"),
            _ => tell!("warning: {warning} (and {more} more like it; -v prints all)"),
        }
    }
    help(all.iter().map(String::as_str));
}

/// Prints how to read what messages mean, where there are entries for them.
pub fn help<'m>(messages: impl Iterator<Item = &'m str>) {
    if let Some(help) = crate::explain::help(messages, None) {
        tell!("{help}");
    }
}

/// A warning without the names in it, which are within backticks, and without its numbers.
fn kind(warning: &str) -> String {
    let plain = warning.split('`').step_by(2).flat_map(str::chars);
    plain.filter(|c| !c.is_ascii_digit() && !"+-.".contains(*c)).collect()
}

/// Flushes standard output. Returns an error if output was lost, unless its reader has closed the
/// pipe.
pub fn end() -> Result<(), Failure> {
    let flushed = io::stdout().lock().flush().err();
    let lost = LOST.lock().unwrap_or_else(PoisonError::into_inner).take().or(flushed);
    match lost {
        Some(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::world(format!("failed printing to stdout: {e}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn warnings_of_one_kind_differ_in_names_and_numbers() {
        let of = |line: u32, link: &str, moment: f64| {
            kind(&format!("r.urdf:{line}: link `{link}`: no rigid body has {moment:e} kg·m²"))
        };
        assert_eq!(of(143, "link_3.0", 2.3e-6), of(1281, "palm", 1.5));
        assert_ne!(of(143, "palm", 1.0), kind("r.urdf:143: link `palm`: shapes of size 0"));
        assert_ne!(kind("a.urdf:1: not read"), kind("b.urdf:1: not read"));
    }
}
