//! Access to the program, and temporary folders for its output.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Root folder of the repository, which contains `scenes/`. The program runs there.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn quasistep(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quasistep"))
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap()
}

/// A temporary folder for one test, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    /// No other test has the same folder, whatever the name.
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let k = COUNT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("quasistep-cli-{name}-{}-{k}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
    pub fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }
    pub fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[track_caller]
pub fn ends(output: &Output, code: i32) -> (String, String) {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}\n{errors}");
    (said, errors)
}

/// The lines of messages, without the last one that says how to read what they mean.
#[track_caller]
pub fn messages(errors: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = errors.lines().collect();
    lines.pop_if(|line| line.starts_with("help: quasistep explain "));
    assert!(!lines.iter().any(|line| line.starts_with("help: ")), "{errors}");
    lines
}
