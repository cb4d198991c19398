//! Confirmation of sizes that are probably a typing error.

use crate::failure::Failure;
use std::io::{IsTerminal, Write};

/// Number of steps above which a confirmation is required: an hour at a millisecond per step.
pub const MANY_STEPS: usize = 3_600_000;
/// Number of points of a cloud above which a confirmation is required: 0.5 GB of memory.
pub const MANY_POINTS: usize = 10_000_000;

/// Asks for a confirmation if `count` of `what` exceeds `many`. Without a terminal, `--yes` is
/// required.
pub fn confirm(count: usize, many: usize, what: &str, yes: bool) -> Result<(), Failure> {
    if count <= many || yes {
        return Ok(());
    }
    let size = if count == usize::MAX { "more than 1e19".to_owned() } else { count.to_string() };
    let refusal = || Failure::usage(format!("{size} {what}; give --yes if that is meant"));
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(refusal());
    }
    crate::say::aside(format_args!("{size} {what}: is that meant? [y/N] "), "");
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    if read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes") { Ok(()) } else { Err(refusal()) }
}
