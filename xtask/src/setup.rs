//! Installs missing tools for building and testing the viewer and the Python package.

use crate::task::{Failure, command, on_path};

/// Programs, each with its Debian package.
const TOOLS: [(&str, &str); 2] = [("npm", "npm"), ("chromium", "chromium")];

pub fn install() -> Result<(), Failure> {
    let mut missing: Vec<&str> =
        TOOLS.iter().filter(|(tool, _)| !on_path(tool)).map(|(_, package)| *package).collect();
    // Debian's Python does not include the module that creates environments
    if command("python3", &["-c", "import ensurepip, venv"]).output().is_err() {
        missing.push("python3-venv");
    }
    if missing.is_empty() {
        return Ok(());
    }
    if !on_path("apt-get") {
        return Err(Failure::new(format!(
            "the tests need {}; install them and run this again",
            missing.join(" and ")
        )));
    }
    let sudo = on_path("sudo") && std::env::var("USER").is_ok_and(|user| user != "root");
    let apt = |arguments: &[&str]| {
        let step = if sudo {
            let mut all = vec!["apt-get"];
            all.extend(arguments);
            command("sudo", &all)
        } else {
            command("apt-get", arguments)
        };
        step.env("DEBIAN_FRONTEND", "noninteractive")
    };
    apt(&["update", "-qq"]).run("package lists")?;
    let mut arguments = vec!["install", "-y", "-qq", "--no-install-recommends"];
    arguments.extend(missing);
    apt(&arguments).run("tools for the page, the Python package and their tests")
}
