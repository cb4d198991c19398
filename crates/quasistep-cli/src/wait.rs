//! A progress message during long operations.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// Operations shorter than this show no message.
const PATIENCE: Duration = Duration::from_millis(500);

/// Shows the current operation on standard error, if that is a terminal, from half a second on
/// until it is dropped.
pub struct Wait(Option<(Sender<()>, JoinHandle<()>)>);

impl Wait {
    pub fn new(what: &str, quiet: bool) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let what = what.to_owned();
        let (done, is_done) = mpsc::channel();
        let show = move || {
            if is_done.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let spinner = ProgressBar::new_spinner().with_message(what);
            if let Ok(style) = ProgressStyle::with_template("  {spinner} {msg}, {elapsed}") {
                spinner.set_style(style);
            }
            spinner.enable_steady_tick(Duration::from_millis(100));
            let _ = is_done.recv();
            spinner.finish_and_clear();
        };
        Self(Some((done, std::thread::spawn(show))))
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some((done, shown)) = self.0.take() {
            drop(done);
            let _ = shown.join();
        }
    }
}
