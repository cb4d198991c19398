//! Files of a run after failures: killed, interrupted, full disk, two runs at a time.
#![cfg(unix)]

use crate::common::{Folder, ends, quasistep, root};
use quasistep_record::{Finish, Recording};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SHORT: [&str; 2] = ["run", "scenes/gripper_2d.yml"];
/// A scene with two bodies and two million steps, which takes minutes.
const LONG: [&str; 6] = ["run", "scenes/sphere_spin.yml", "--duration", "20000", "--every", "100"];

fn start(out: &Folder, more: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_quasistep"))
        .args(LONG)
        .args(["-o", out.text()])
        .args(more)
        .current_dir(root())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn summary(place: &Path) -> Option<serde_json::Value> {
    serde_json::from_slice(&std::fs::read(place.join("summary.json")).ok()?).ok()
}

/// Waits until the summary of a run reports the given number of steps.
fn wait_for_steps(run: &mut Child, place: &Path, steps: u64) {
    let start = Instant::now();
    while summary(place).is_none_or(|s| s["steps"].as_u64().is_none_or(|n| n < steps)) {
        assert!(run.try_wait().unwrap().is_none(), "the run has ended");
        assert!(start.elapsed() < Duration::from_mins(2), "no progress");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// All files of a folder except the unfinished ones.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if path.is_dir() && name != "unfinished" {
            all.extend(contents(&path));
        } else if path.is_file() && name != ".lock" {
            all.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    all
}

/// Checks that the files of a killed run are readable and report how far it got, and that the last
/// run's files are unchanged.
fn check_cut_off(out: &Folder, before: &BTreeMap<PathBuf, Vec<u8>>) {
    assert!(contents(&out.0) == *before, "old files have changed");
    let place = out.0.join("unfinished");
    let recording = Recording::read(&place.join("recording.qsr")).unwrap();
    let end = recording.frames.last().unwrap().t;
    let Finish::Stopped { reason } = &recording.finish else { panic!("{:?}", recording.finish) };
    assert!(reason.contains(&format!("cut off after t = {end}")), "{reason}");
    let told = summary(&place).unwrap();
    assert_eq!(told["finished"], false);
    // the run may be ahead of its last recorded frame by the frames that are not kept
    assert!(end >= told["end_s"].as_f64().unwrap() - 100.0 * recording.time_step, "{end} {told}");
    let (said, _) = ends(&quasistep(&["view", place.to_str().unwrap()]), 0);
    assert!(said.contains(&format!("t = {end} s")), "{said}");
}

#[test]
fn a_killed_run_leaves_the_old_files_and_readable_new_ones() {
    let out = Folder::new("killed");
    ends(&quasistep(&[&SHORT[..], &["-o", out.text(), "--csv"]].concat()), 0);
    let before = contents(&out.0);
    let mut run = start(&out, &[]);
    wait_for_steps(&mut run, &out.0.join("unfinished"), 2000);
    // a second run into the same folder is refused while the first runs
    let (said, errors) = ends(&quasistep(&[&SHORT[..], &["-o", out.text()]].concat()), 2);
    assert!(said.is_empty() && errors.contains(&format!("process {}", run.id())), "{errors}");
    run.kill().unwrap();
    run.wait().unwrap();
    check_cut_off(&out, &before);
    // in a folder without a finished run, the unfinished run is shown
    let (said, _) = ends(&quasistep(&["view", out.text()]), 0);
    assert!(said.contains("unfinished"), "{said}");
    let alone = Folder::new("killed-alone");
    let mut run = start(&alone, &[]);
    wait_for_steps(&mut run, &alone.0.join("unfinished"), 2000);
    run.kill().unwrap();
    run.wait().unwrap();
    let (said, _) = ends(&quasistep(&["view", alone.text()]), 0);
    assert!(said.contains("cut off after t = "), "{said}");
    // the next run removes the unfinished files, and nothing of the first scene remains
    let next = ["run", "scenes/sphere_spin.yml", "-o", out.text()];
    ends(&quasistep(&next), 0);
    let names: Vec<PathBuf> = contents(&out.0).into_keys().collect();
    let is_gone = |name: &str| !names.iter().any(|path| path.ends_with(name));
    assert!(is_gone("states.csv") && is_gone("joints.svg") && is_gone("efforts.svg"), "{names:?}");
    assert!(!out.0.join("unfinished").exists() && !out.0.join(".lock").exists());
}

/// The memory of a run does not grow with its length.
#[test]
#[cfg(target_os = "linux")]
fn a_long_run_takes_no_more_memory_than_a_short_one() {
    let out = Folder::new("memory");
    let mut run = start(&out, &[]);
    let place = out.0.join("unfinished");
    let mut memory = |steps: u64| {
        wait_for_steps(&mut run, &place, steps);
        let status = std::fs::read_to_string(format!("/proc/{}/status", run.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1000.0
    };
    // memory in MB
    let (early, late) = (memory(40_000), memory(120_000));
    run.kill().unwrap();
    run.wait().unwrap();
    // the frames of 80 000 steps would take about 60 MB
    assert!(late < early + 6.0, "{early} MB, then {late} MB");
}

/// Ctrl-C ends a run after its present step, and all files are complete.
#[test]
fn an_interrupted_run_is_whole_up_to_there() {
    let out = Folder::new("interrupted");
    let mut run = start(&out, &["--csv"]);
    wait_for_steps(&mut run, &out.0.join("unfinished"), 2000);
    let signal = Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap();
    assert!(signal.success());
    let output = run.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{errors}");
    assert!(errors.contains("interrupted"), "{errors}");
    let recording = Recording::read(&out.0.join("recording.qsr")).unwrap();
    assert_eq!(recording.finish, Finish::Stopped { reason: "the run was interrupted".into() });
    let told = summary(&out.0).unwrap();
    let end = recording.frames.last().unwrap().t;
    assert_eq!((&told["finished"], told["end_s"].as_f64()), (&false.into(), Some(end)));
    assert_eq!(out.read("states.csv").lines().count(), recording.frames.len() + 1);
    assert!(!out.0.join("unfinished").exists());
}

/// On a full disk the run ends with an error. The old files are unchanged, the new ones readable up
/// to that point.
#[test]
fn a_full_disk_leaves_the_old_files_and_readable_new_ones() {
    let out = Folder::new("full");
    ends(&quasistep(&[&SHORT[..], &["-o", out.text(), "--no-page"]].concat()), 0);
    let before = contents(&out.0);
    // limit files to 100 kB, with a write error instead of a signal
    let command = format!(
        "trap '' XFSZ; ulimit -f 200; exec '{}' {} --every 1 -o '{}'",
        env!("CARGO_BIN_EXE_quasistep"),
        LONG[..4].join(" "),
        out.text()
    );
    let output = Command::new("sh").args(["-c", &command]).current_dir(root()).output().unwrap();
    let (_, errors) = ends(&output, 3);
    assert!(errors.contains("recording.qsr") && errors.contains("unfinished"), "{errors}");
    check_cut_off(&out, &before);
}

/// An unwritable folder is reported before the simulation, which here would take minutes.
#[test]
fn a_folder_that_cannot_be_written_is_found_out_first() {
    let out = Folder::new("readonly");
    std::fs::create_dir_all(&out.0).unwrap();
    std::fs::write(out.0.join("file"), "no folder").unwrap();
    let mut places = vec![out.0.join("file"), out.0.join("file/run")];
    let locked = out.0.join("locked");
    std::fs::create_dir(&locked).unwrap();
    let mut permissions = std::fs::metadata(&locked).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&locked, permissions).unwrap();
    // the superuser can write even there
    if std::fs::write(locked.join("probe"), "").is_err() {
        places.push(locked);
    }
    for place in places {
        let start = Instant::now();
        let (said, errors) =
            ends(&quasistep(&[&LONG[..], &["-o", place.to_str().unwrap()]].concat()), 2);
        assert!(said.is_empty() && errors.contains(place.to_str().unwrap()), "{errors}");
        assert!(start.elapsed() < Duration::from_secs(20));
    }
}
