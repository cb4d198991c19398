//! Builds the site of the docs, and asks its search a question.

use crate::cost::measured;
use crate::python;
use crate::task::{Failure, command, root};

/// A key of the scene format, and the place that the search must find for it.
const QUESTION: (&str, &str) = ("max_overlap", "scene/step.html#key-max_overlap");

/// Builds the site into out/site. Tutorials are run; warnings, broken links among them, are errors.
pub fn build() -> Result<(), Failure> {
    let (python, _) = python::install("test")?;
    let builder = ["-m", "pip", "install", "-q", "-r", "docs/requirements.txt"];
    command(&python, &builder).run("builder of the site")?;
    let sphinx = ["-m", "sphinx", "-q", "-W", "--keep-going", "-E", "-d", "out/site-cache"];
    command(&python, &[&sphinx[..], &["docs", "out/site"]].concat()).run("site")?;
    measured("search of the site", search)?;
    println!("   {}", root().join("out/site/index.html").display());
    Ok(())
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
