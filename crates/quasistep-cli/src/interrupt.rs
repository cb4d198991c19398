//! Ctrl-C and `kill`: the run ends after its present step, with complete files. A second signal
//! ends the program at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code after Ctrl-C.
pub const EXIT_CODE: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);

/// True if the program was asked to stop since [`listen`] was called.
pub fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Installs the signal handler.
pub fn listen() {
    static LISTENS: OnceLock<()> = OnceLock::new();
    LISTENS.get_or_init(|| {
        let ask = || {
            if ASKED.swap(true, Ordering::Relaxed) {
                std::process::exit(EXIT_CODE.into());
            }
        };
        // without a handler the signal ends the program at once; its files remain readable
        if let Err(e) = ctrlc::set_handler(ask) {
            tell!("warning: Ctrl-C ends the run without its last files: {e}");
        }
    });
}
