//! Ctrl-C and `kill`: a run ends after its step, and its files are whole. The second time the program ends at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code of a program that Ctrl-C ended.
pub const EXIT_CODE: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether the program was asked to stop since it listens.
pub fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Listens from here on.
pub fn listen() {
    static LISTENS: OnceLock<()> = OnceLock::new();
    LISTENS.get_or_init(|| {
        let ask = || {
            if ASKED.swap(true, Ordering::Relaxed) {
                std::process::exit(EXIT_CODE.into());
            }
        };
        // without a handler the signal ends the program: its files are readable all the same
        if let Err(e) = ctrlc::set_handler(ask) {
            tell!("warning: Ctrl-C ends the run without its last files: {e}");
        }
    });
}
