//! Messages on standard output and standard error. If nobody reads them, as behind `| head`, the
//! work continues.

use crate::failure::Failure;
use quasistep_math::shown;
use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// First error of writing to standard output.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

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

/// Prints on standard error; an error of writing is ignored.
pub fn aside(words: fmt::Arguments<'_>, end: &str) {
    let _ = write!(io::stderr().lock(), "{}{end}", plain(words));
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
