//! Builds the site of the docs, and asks its search a question.

use crate::cost::measured;
use crate::python;
use crate::task::{Failure, cargo, command, metadata, root};
use std::ffi::OsString;
use std::path::PathBuf;

/// A key of the scene format, and the place that the search must find for it.
const QUESTION: (&str, &str) = ("max_overlap", "scene/step.html#key-max_overlap");

/// Builds the site into out/site. Tutorials are run; warnings, broken links among them, are errors.
pub fn build() -> Result<(), Failure> {
    let (python, path) = environment()?;
    let builder = ["-m", "pip", "install", "-q", "-r", "docs/requirements.txt"];
    command(&python, &builder).run("builder of the site")?;
    let sphinx = ["-m", "sphinx", "-q", "-W", "--keep-going", "-E", "-d", "out/site-cache"];
    let to = ["docs", "out/site"];
    command(&python, &[&sphinx[..], &to].concat()).env("PATH", &path).run("site")?;
    command(&python, &["docs/run_commands.py"]).env("PATH", path).run("commands of the docs")?;
    measured("search of the site", search)?;
    println!("   {}", root().join("out/site/index.html").display());
    Ok(())
}

/// Draws every scene for the gallery.
pub fn gallery() -> Result<(), Failure> {
    let (python, path) = environment()?;
    command(&python, &["docs/gallery.py"]).env("PATH", path).run("gallery")
}

/// An interpreter with the package, and a path on which the command `quasistep` is found.
fn environment() -> Result<(String, OsString), Failure> {
    let (python, _) = python::install("test")?;
    cargo(&["build", "--release", "--locked", "-p", "quasistep-cli"]).run("command line")?;
    let target = metadata(&["--no-deps"])?["target_directory"].as_str().map(PathBuf::from);
    let mut folders = vec![target.unwrap_or_default().join("release")];
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let path = std::env::join_paths(folders).map_err(|e| Failure::new(e.to_string()))?;
    Ok((python, path))
}

/// Opens the search as a file, without a server, and looks for the place of a key.
fn search() -> Result<(), Failure> {
    let (key, place) = QUESTION;
    let profile = std::env::temp_dir().join("quasistep-site");
    let page = root().join("out/site/search.html");
    let options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--no-first-run",
        "--virtual-time-budget=5000",
        "--dump-dom",
    ];
    let profile = format!("--user-data-dir={}", profile.display());
    let question = format!("file://{}?q={key}", page.display());
    let found = command("chromium", &[&options[..], &[&profile, &question]].concat()).output()?;
    if found.contains(place) {
        Ok(())
    } else {
        Err(Failure::new(format!("the search for {key} does not lead to {place}")))
    }
}
