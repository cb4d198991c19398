//! Runs the README's commands as a reader would.

use crate::cost::measured;
use crate::task::{Failure, cargo, command, root};
use crate::{robots, site};
use std::path::{Path, PathBuf};

/// Runs the first command of the README and checks that its last output line is the path of a page.
pub fn run_first_command() -> Result<(), Failure> {
    measured("the README's first command", first_command)
}

fn first_command() -> Result<(), Failure> {
    let line =
        commands()?.into_iter().next().ok_or_else(|| Failure::new("README.md has no command"))?;
    println!("   $ {line}");
    let words: Vec<&str> = line.split_whitespace().collect();
    let [program, arguments @ ..] = words.as_slice() else {
        return Err(Failure::new("the README's first command is empty"));
    };
    let printed = match *program {
        "cargo" => cargo(arguments).output()?,
        other => command(other, arguments).output()?,
    };
    print!("{printed}");
    let last = printed.lines().rfind(|l| !l.trim().is_empty()).unwrap_or_default();
    let page = last.split_whitespace().last().unwrap_or_default();
    let page = PathBuf::from(page.trim_start_matches("file://"));
    let page = if page.is_absolute() { page } else { root().join(page) };
    if page.extension().is_some_and(|e| e == "html") && page.is_file() {
        Ok(())
    } else {
        Err(Failure::new(format!("the run did not end with the path of a page: `{last}`")))
    }
}

/// Lines of the README's `sh` blocks.
fn commands() -> Result<Vec<String>, Failure> {
    let text = std::fs::read_to_string(root().join("README.md"))
        .map_err(|e| Failure::new(format!("README.md: {e}")))?;
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line.trim() == "```sh";
        } else if inside {
            let bare = line.split('#').next().unwrap_or_default().trim();
            if !bare.is_empty() {
                lines.push(bare.to_owned());
            }
        }
    }
    Ok(lines)
}

/// Scenes of public robots in pictures, with the options of the page.
const ROBOT_PICTURES: [(&str, &str); 6] = [
    ("panda_push", "t=8&ui=0&azimuth=-60&elevation=22&zoom=1.05&arrows=0.5"),
    (
        "peg_in_hole",
        "t=4&ui=0&azimuth=-60&elevation=15&zoom=4&look=0.5,0.1,0.1&points=0&arrows=0.3",
    ),
    ("drawer", "t=4.5&ui=0&azimuth=-115&elevation=25&zoom=1.25"),
    ("two_arms", "t=6&ui=0&azimuth=-60&elevation=20&zoom=1.3&arrows=0.5"),
    ("allegro_cube", "t=5.4&ui=0&azimuth=-40&elevation=45&zoom=2"),
    ("allegro_ball", "t=4.2&ui=0&azimuth=-40&elevation=45&zoom=2"),
];

/// Scenes of the introductory page, with the options of the page.
const FIRST_PICTURES: [(&str, &str); 3] = [
    ("fall", "t=0.04&ui=0"),
    ("lift", "t=0.6&ui=0"),
    ("slope", "t=0.2&ui=0&azimuth=-80&elevation=15"),
];

/// Regenerates docs/pictures with headless Chromium from fresh runs.
pub fn pictures() -> Result<(), Failure> {
    let out = root().join("out/pictures");
    let out_text = out.display().to_string();
    cargo(&["run", "--release", "--", "run", "scenes/iiwa_stacking.yml", "-o", &out_text])
        .run("arm stacking cubes")?;
    let folder = root().join("docs/pictures");
    std::fs::create_dir_all(&folder).map_err(|e| Failure::new(e.to_string()))?;
    let page = out.join("view.html");
    screenshot(&page, "t=5.2&panel=1", &folder.join("iiwa_stacking.png"))?;
    let out_text = out_text.as_str();
    for (name, options) in FIRST_PICTURES {
        let scene = format!("scenes/{name}.yml");
        cargo(&["run", "--release", "--", "run", &scene, "-o", out_text]).run(name)?;
        screenshot(&page, options, &folder.join(format!("{name}.png")))?;
    }
    cargo(&["run", "--release", "--", "reproduce", "tracy_fig1", "-o", out_text])
        .run("grasp of a point cloud")?;
    cargo(&["run", "--release", "--", "reproduce", "pang21_fig7", "-o", out_text])
        .run("errors against step sizes")?;
    std::fs::copy(out.join("pang21_fig7_sizes.svg"), folder.join("stacking_sizes.svg"))
        .map_err(|e| Failure::new(e.to_string()))?;
    std::fs::copy(out.join("tracy_fig1.png"), folder.join("bunny_grasp.png"))
        .map_err(|e| Failure::new(e.to_string()))?;
    site::gallery()?;
    robots::fetch()?;
    for (name, options) in ROBOT_PICTURES {
        let scene = format!("scenes/robots/{name}.yml");
        cargo(&["run", "--release", "--", "run", &scene, "-o", out_text]).run(name)?;
        screenshot(&page, options, &folder.join(format!("robots_{name}.png")))?;
    }
    Ok(())
}

fn screenshot(page: &Path, hash: &str, picture: &Path) -> Result<(), Failure> {
    let profile = std::env::temp_dir().join("quasistep-pictures");
    command(
        "chromium",
        &[
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-unsafe-swiftshader",
            "--hide-scrollbars",
            "--disable-background-networking",
            "--no-first-run",
            &format!("--user-data-dir={}", profile.display()),
            "--window-size=1280,720",
            "--virtual-time-budget=4000",
            &format!("--screenshot={}", picture.display()),
            &format!("file://{}#{hash}", page.display()),
        ],
    )
    .run("screenshot")
}
