//! Xacro: a macro language that the program `xacro` expands to URDF.

use crate::error::SceneError;
use crate::files;
use crate::packages::Places;
use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// Longest run of `xacro`. A robot takes about a second; a file that includes itself would never
/// end.
const LONGEST: Duration = Duration::from_secs(10);

/// Commands to try: the program, and its Python module where programs of packages are not on the
/// path.
const COMMANDS: [&[&str]; 2] =
    [&["xacro"], &["python3", "-c", "import sys, xacro; sys.argv[0] = 'xacro'; xacro.main()"]];

/// True if a text, without its comments, uses xacro.
pub fn is_xacro(text: &str, file: &Path) -> bool {
    file.extension().is_some_and(|e| e.eq_ignore_ascii_case("xacro")) || text.contains("<xacro:")
}

/// Python module that xacro asks for the folder of a package in `$(find package)`. It knows the
/// folders in a variable of the environment, one `name=folder` a line.
const INDEX: &str = r#"import os

def get_package_share_directory(name):
    for line in os.environ["QUASISTEP_PACKAGES"].splitlines():
        package, _, folder = line.partition("=")
        if package == name:
            return folder
    raise LookupError(f"unknown package `{name}`")
"#;
/// Most packages that a file may name.
const MOST_PACKAGES: usize = 64;

/// Expands a xacro file to URDF. `$(find package)` is the folder of a package in these places.
pub fn expand(path: &Path, places: &Places<'_>) -> Result<String, SceneError> {
    let file = path.display().to_string();
    let make = || run_with_packages(path, places);
    let text = files::made(&format!("{file} (expanded)"), make).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|_| io::Error::other("its output is not UTF-8 text"))
    });
    text.map_err(|e| {
        let why = if e.kind() == io::ErrorKind::NotFound {
            "xacro was seen, and the program `xacro` is not installed: get it by `pip install xacro`, or expand \
             the file elsewhere by `xacro file.xacro > file.urdf`"
                .to_owned()
        } else {
            format!("`xacro` could not expand it: {e}")
        };
        SceneError::new(&file, None, "", why)
    })
}

/// Runs xacro, again with each package that it turns out to need.
fn run_with_packages(path: &Path, places: &Places<'_>) -> io::Result<Vec<u8>> {
    let index = Index::new()?;
    let mut known = String::new();
    for _ in 0..MOST_PACKAGES {
        let result = run_first(path, &index.0, &known);
        let missing = result.as_ref().err().and_then(|e| unknown_package(&e.to_string()));
        let Some(package) = missing else { return result };
        let folder = places.folder(&package).map_err(io::Error::other)?;
        let folder = std::path::absolute(folder)?;
        let _ = writeln!(known, "{package}={}", folder.display());
    }
    Err(io::Error::other(format!("it names more than {MOST_PACKAGES} packages")))
}

/// The package that [`INDEX`] did not know, of xacro's complaint.
fn unknown_package(complaint: &str) -> Option<String> {
    let (_, name) = complaint.split_once("unknown package `")?;
    Some(name.split_once('`')?.0.to_owned())
}

/// A temporary folder with the module [`INDEX`].
struct Index(PathBuf);

impl Index {
    fn new() -> io::Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("quasistep-xacro-{}-{count}", std::process::id());
        let own = Self(std::env::temp_dir().join(name));
        let module = own.0.join("ament_index_python");
        // a folder that someone else made is not ours to run
        std::fs::create_dir(&own.0)?;
        std::fs::create_dir(&module)?;
        std::fs::write(module.join("__init__.py"), "")?;
        std::fs::write(module.join("packages.py"), INDEX)?;
        Ok(own)
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run_first(path: &Path, index: &Path, known: &str) -> io::Result<Vec<u8>> {
    let others = std::env::var_os("PYTHONPATH").unwrap_or_default();
    let modules = std::iter::once(index.to_owned()).chain(std::env::split_paths(&others));
    let modules = std::env::join_paths(modules).map_err(io::Error::other)?;
    for words in COMMANDS {
        let mut command = Command::new(words[0]);
        command.env("PYTHONPATH", &modules).env("QUASISTEP_PACKAGES", known);
        match run(command.args(&words[1..]).arg(path)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) if e.to_string().contains("No module named 'xacro'") => {}
            result => return result,
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Output of a program, which is stopped if it takes too long or writes too much.
fn run(command: &mut Command) -> io::Result<Vec<u8>> {
    /// Child process that is killed when dropped.
    struct Running(Child);
    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running(command.spawn()?);
    let (send, receive) = mpsc::channel();
    let pipes: [Option<Box<dyn Read + Send>>; 2] = [
        running.0.stdout.take().map(|p| Box::new(p) as _),
        running.0.stderr.take().map(|p| Box::new(p) as _),
    ];
    for (which, pipe) in pipes.into_iter().enumerate() {
        let send = send.clone();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let result = pipe.map_or(Ok(0), |p| p.take(files::MOST_TEXT).read_to_end(&mut bytes));
            let _ = send.send((which, result.map(|_| bytes)));
        });
    }
    let mut outputs = [Vec::new(), Vec::new()];
    for _ in 0..2 {
        let (which, bytes) = receive.recv_timeout(LONGEST).map_err(|_| {
            io::Error::other(format!("it did not end within {} s", LONGEST.as_secs()))
        })?;
        outputs[which] = bytes?;
        if outputs[which].len() as u64 == files::MOST_TEXT {
            let most = files::MOST_TEXT >> 20;
            return Err(io::Error::other(format!("it wrote more than {most} MB")));
        }
    }
    let [output, errors] = outputs;
    if running.0.wait()?.success() {
        return Ok(output);
    }
    let errors = String::from_utf8_lossy(&errors);
    let lines: Vec<&str> = errors.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    // of a traceback the last line is useful, else the first; the others list includes
    let told = if errors.contains("Traceback") { lines.last() } else { lines.first() };
    Err(io::Error::other(told.copied().unwrap_or("it failed without a word").to_owned()))
}
