//! Builds the JavaScript program of the viewer page from `viewer/` with npm and esbuild.
//!
//! The build runs in a copy under `OUT_DIR`, so the source tree is not changed. If it fails, the
//! crate still builds without the page, and `write_page` reports the reason.
//! `QUASISTEP_VIEWER_BUNDLE` may name a program that was built elsewhere. A published crate
//! contains the built program as `viewer.js` beside this file (from `cargo xtask bundle`) and needs
//! no npm.
//!
//! The program's hash is stored too; the page's content security policy allows this program only.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=QUASISTEP_VIEWER_BUNDLE");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let viewer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../viewer");
    for part in ["src", "package.json", "package-lock.json"] {
        println!("cargo:rerun-if-changed={}", viewer.join(part).display());
    }
    let built = match std::env::var_os("QUASISTEP_VIEWER_BUNDLE") {
        Some(path) => {
            println!("cargo:rerun-if-changed={}", Path::new(&path).display());
            fs::read_to_string(&path)
                .map_err(|e| format!("QUASISTEP_VIEWER_BUNDLE: {}: {e}", path.display()))
        }
        // a published crate has no viewer sources
        None if !viewer.join("package.json").is_file() => {
            let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("viewer.js");
            fs::read_to_string(&bundle).map_err(|e| format!("{}: {e}", bundle.display()))
        }
        None => build(&viewer, &out.join("viewer")),
    };
    let (bundle, problem) = match built {
        Ok(text) => (text, String::new()),
        Err(problem) => {
            // watch a file that never exists, so that the next build tries again; npm may be
            // available then
            println!("cargo:rerun-if-changed={}", out.join("try-again").display());
            println!("cargo:warning=the 3-D page is left out: {}", problem.replace('\n', " "));
            (String::new(), problem)
        }
    };
    let program = for_script_element(&bundle);
    let hash = STANDARD.encode(Sha256::digest(&program));
    fs::write(out.join("viewer.js"), program).expect("OUT_DIR can be written");
    fs::write(out.join("viewer-hash.txt"), hash).expect("OUT_DIR can be written");
    fs::write(out.join("viewer-problem.txt"), problem).expect("OUT_DIR can be written");
}

/// The program in the form in which browsers hash a script element, byte by byte. `</script` occurs
/// in strings only and is escaped; all line ends become line feeds.
fn for_script_element(program: &str) -> String {
    let program = program.replace("\r\n", "\n").replace('\r', "\n");
    program.replace("</script", "<\\/script").replace("<!--", "<\\!--")
}

/// Copies `viewer` to `work`, installs the packages of its lock file, and bundles. Returns the
/// bundle's text.
fn build(viewer: &Path, work: &Path) -> Result<String, String> {
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    if Command::new(npm).arg("--version").output().is_err() {
        return Err("npm was not found".to_owned());
    }
    let at = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
    let _ = fs::remove_dir_all(work.join("src"));
    fs::create_dir_all(work.join("src")).map_err(|e| at(work, e))?;
    let lock = fs::read(viewer.join("package-lock.json"))
        .map_err(|e| at(&viewer.join("package-lock.json"), e))?;
    let sources = fs::read_dir(viewer.join("src")).map_err(|e| at(&viewer.join("src"), e))?;
    for entry in sources {
        let from = entry.map_err(|e| at(viewer, e))?.path();
        let Some(name) = from.file_name() else { continue };
        fs::copy(&from, work.join("src").join(name)).map_err(|e| at(&from, e))?;
    }
    for name in ["package.json", "package-lock.json"] {
        fs::copy(viewer.join(name), work.join(name)).map_err(|e| at(&viewer.join(name), e))?;
    }
    // the stamp is written after a complete install, so an incomplete one is repeated
    let stamp = work.join("installed.lock");
    if fs::read(&stamp).ok().as_ref() != Some(&lock) {
        // esbuild is a binary package: no install script is needed or run
        run(npm, &["ci", "--ignore-scripts", "--no-audit", "--no-fund"], work)?;
        fs::write(&stamp, &lock).map_err(|e| at(&stamp, e))?;
    }
    run(npm, &["run", "build"], work)?;
    let bundle = work.join("dist/viewer.js");
    fs::read_to_string(&bundle).map_err(|e| at(&bundle, e))
}

fn run(program: &str, args: &[&str], dir: &Path) -> Result<(), String> {
    let command = format!("{program} {}", args.join(" "));
    let output = Command::new(program)
        .args(args)
        .current_dir(dir)
        .output()
        .map_err(|e| format!("{command}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let tail: Vec<&str> = said.lines().rev().take(6).collect();
    Err(format!("`{command}` failed: {}", tail.into_iter().rev().collect::<Vec<_>>().join("\n")))
}
