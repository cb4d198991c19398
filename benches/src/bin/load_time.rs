//! CPU time of loading robots, with an empty cache of meshes and from the cache:
//!
//! `cargo run --release -p benches --bin load_time -- target/robots/share/example-robot-data/robots`
//!
//! Loads every `.urdf` and `.xml` file (URDF, MJCF) under a folder, or the one file given, as
//! `qs.load` does. Each file is loaded in two separate processes: first with an empty cache folder,
//! then with the cache of the first. Prints both CPU times, the slowest first. Files that are no
//! robots are listed but not counted.

use clap::Parser;
use quasistep_scene::Scene;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Times loading of robots, cold and from the cache of meshes
#[derive(Parser)]
struct Arguments {
    /// Folder with URDF and MJCF files, or one of them
    path: PathBuf,
    /// Load this file once, and print the CPU seconds of it alone
    #[arg(long, hide = true)]
    once: bool,
}

fn main() -> ExitCode {
    let Arguments { path, once } = Arguments::parse();
    match if once { load(&path) } else { compare(&path) } {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn load(path: &Path) -> Result<(), Box<dyn Error>> {
    let start = benches::thread_cpu_ns();
    Scene::load(path)?;
    println!("{}", (benches::thread_cpu_ns() - start) as f64 * 1e-9);
    Ok(())
}

fn compare(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut files = Vec::new();
    find(path, &mut files)?;
    files.sort();
    let mut rows: Vec<([f64; 2], String)> = Vec::new();
    for file in &files {
        let name = file.strip_prefix(path).unwrap_or(file).display().to_string();
        // removes the folder when the program ends
        let cache = Folder(
            std::env::temp_dir().join(format!("quasistep-load-time-{}", std::process::id())),
        );
        let both =
            load_apart(file, &cache.0).and_then(|cold| Ok([cold, load_apart(file, &cache.0)?]));
        match both {
            Ok(seconds) => rows.push((seconds, name)),
            Err(error) => eprintln!("{name}: {error}"),
        }
    }
    rows.sort_by(|a, b| b.0[0].total_cmp(&a.0[0]));
    println!("| CPU s, cold | from the cache | robot |\n|---|---|---|");
    for ([cold, warm], name) in &rows {
        println!("| {cold:.3} | {warm:.3} | {name} |");
    }
    for (word, k) in [("cold", 0), ("from the cache", 1)] {
        let mut all: Vec<f64> = rows.iter().map(|(seconds, _)| seconds[k]).collect();
        all.sort_by(f64::total_cmp);
        if let (Some(most), Some(median)) = (all.last(), all.get(all.len() / 2)) {
            println!("{word}: median {median:.3} s, most {most:.3} s of {} robots", all.len());
        }
    }
    if rows.len() < files.len() {
        println!("{} of {} files did not load", files.len() - rows.len(), files.len());
    }
    Ok(())
}

/// CPU time (s) of loading a robot in a separate process.
fn load_apart(file: &Path, cache: &Path) -> Result<f64, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.arg("--once").arg(file).env("QUASISTEP_CACHE", cache).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

fn find(path: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !path.is_dir() {
        found.extend(
            (path.extension().is_some_and(|e| e == "urdf" || e == "xml")).then(|| path.to_owned()),
        );
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        find(&entry?.path(), found)?;
    }
    Ok(())
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
