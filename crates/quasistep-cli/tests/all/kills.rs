//! Runs that are killed at random moments. Complete files stay complete, and the next run leaves
//! nothing of a killed one.
//!
//! `QUASISTEP_KILLS=500 cargo test -p quasistep-cli kills::` sets the number of kills, and
//! `QUASISTEP_KILLS_AT=publish` lets all of them fall while files are put in place; the default is
//! small, at random moments.
#![cfg(unix)]

use crate::common::{Folder, ends, quasistep, root};
use quasistep_record::{Finish, Recording};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Two scenes whose runs leave different files.
const RUNS: [&[&str]; 2] = [
    &["run", "scenes/gripper_2d.yml", "--csv"],
    &["run", "scenes/planar_push.yml", "--duration", "1", "--step", "0.02"],
];

fn kills() -> u64 {
    std::env::var("QUASISTEP_KILLS").map_or(8, |n| n.parse().expect("QUASISTEP_KILLS is a number"))
}

/// Random numbers from 0 to 1, the same in every run (Knuth's MMIX generator).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Files by their names within a folder, except those in `unfinished`.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn collect(root: &Path, dir: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in std::fs::read_dir(dir).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().unwrap() != "unfinished" {
                    collect(root, &path, all);
                }
            } else if path.file_name().unwrap() != ".lock" {
                let name = path.strip_prefix(root).unwrap().to_owned();
                all.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    let mut all = BTreeMap::new();
    collect(dir, dir, &mut all);
    all
}

/// Files and duration of a run without disturbance.
fn undisturbed(arguments: &[&str]) -> (BTreeMap<PathBuf, Vec<u8>>, Duration) {
    let out = Folder::new("kills-undisturbed");
    let start = Instant::now();
    ends(&quasistep(&[arguments, &["-o", out.text()]].concat()), 0);
    (contents(&out.0), start.elapsed())
}

/// Checks that a folder has all files of one known run, complete, or nothing.
fn check_folder(dir: &Path, known: &[BTreeMap<PathBuf, Vec<u8>>], at: &str) {
    let seen = contents(dir);
    let Some(recording) = seen.get(Path::new("recording.qsr")) else {
        assert!(seen.is_empty(), "{at}: files without a recording: {:?}", seen.keys());
        return;
    };
    let run = known.iter().find(|files| files[Path::new("recording.qsr")] == *recording);
    let run = run.unwrap_or_else(|| panic!("{at}: the recording is none of the runs'"));
    assert!(seen.keys().eq(run.keys()), "{at}: {:?} of {:?}", seen.keys(), run.keys());
    for (name, bytes) in &seen {
        let whole =
            run.get(name).unwrap_or_else(|| panic!("{at}: {} is of another run", name.display()));
        // measured times in the summary differ between runs
        if name == Path::new("summary.json") {
            let scene = |bytes| {
                serde_json::from_slice::<serde_json::Value>(bytes).unwrap()["scene"].clone()
            };
            assert_eq!(scene(bytes), scene(whole), "{at}");
        } else {
            assert!(bytes == whole, "{at}: {} is not whole", name.display());
        }
    }
}

/// Checks that the files of a killed run are readable up to its end.
fn check_unfinished(dir: &Path, at: &str) {
    let path = dir.join("unfinished/recording.qsr");
    if !path.is_file() {
        return;
    }
    // killed before its first frames, also behind its head
    let is_short = std::fs::metadata(&path).unwrap().len() < 100_000;
    match Recording::read(&path) {
        Ok(recording) => assert!(
            recording.finish == Finish::Done || !recording.frames.is_empty() || is_short,
            "{at}: {:?}",
            recording.finish
        ),
        Err(e) => assert!(is_short, "{at}: {e}"),
    }
}

#[test]
fn killed_runs_lose_and_mix_nothing() {
    let (known, times): (Vec<_>, Vec<_>) = RUNS.iter().map(|run| undisturbed(run)).unzip();
    let out = Folder::new("kills");
    let mut random = Random(1);
    let at_publishing = std::env::var("QUASISTEP_KILLS_AT").is_ok_and(|at| at == "publish");
    for k in 0..kills() {
        let which = usize::from(random.next() < 0.5);
        let at = format!("kill {k}, of {}", RUNS[which][1]);
        let mut run = Command::new(env!("CARGO_BIN_EXE_quasistep"))
            .args(RUNS[which])
            .args(["-o", out.text()])
            .current_dir(root())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let when = if at_publishing { 1.0 } else { random.next() };
        let made = out.0.join("unfinished");
        let mut wait_while = |goes_on: &dyn Fn() -> bool| {
            while goes_on() && run.try_wait().unwrap().is_none() {
                std::thread::yield_now();
            }
        };
        if when < 0.4 {
            std::thread::sleep(times[which].mul_f64(1.1 * random.next()));
        } else if when < 0.7 {
            // kill while the last files are written
            let last = made.join(["plots", "view.html"][usize::from(random.next() < 0.7)]);
            wait_while(&|| !last.exists());
            std::thread::sleep(Duration::from_micros((2000.0 * random.next()) as u64));
        } else {
            // kill while files are put in place: the new ones leave the subfolder
            let recording = made.join("recording.qsr");
            wait_while(&|| !recording.exists());
            wait_while(&|| recording.exists());
            std::thread::sleep(Duration::from_micros((300.0 * random.next()) as u64));
        }
        run.kill().unwrap();
        run.wait().unwrap();
        check_folder(&out.0, &known, &at);
        check_unfinished(&out.0, &at);
        if random.next() < 0.1 && out.0.join("recording.qsr").exists() {
            let (said, errors) = ends(&quasistep(&["view", out.text()]), 0);
            assert!(said.contains("view.html") && errors.is_empty(), "{at}: {errors}");
            check_folder(&out.0, &known, &at);
        }
    }
    for (run, files) in RUNS.iter().zip(&known) {
        ends(&quasistep(&[run, &["-o", out.text()][..]].concat()), 0);
        let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&contents(&out.0)), names(files), "of another run");
        check_folder(&out.0, &known, "after all");
        assert!(out.read("summary.json").contains("\"finished\": true"));
        assert!(!out.0.join("unfinished").exists() && !out.0.join(".lock").exists());
        let beside = out.0.with_file_name(format!(
            ".{}.unfinished",
            out.0.file_name().unwrap().to_str().unwrap()
        ));
        assert!(!beside.exists());
    }
}
