//! The page in a real browser: it opens from disk, plays, and shows the box at its position.

use crate::common::{N_FRAMES, Picture, Scratch, is_box_red, push, scan};
use quasistep_math::Pose;
use quasistep_record::{
    Curve, ForceUniqueness, GoalPose, MotionUniqueness, NamedFrame, RecordedSensor, Recording,
    SensorKind, SharedForce, Uniqueness,
};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

/// The browser: `CHROMIUM`, or one on the path. Without a browser these tests must fail.
fn chromium() -> PathBuf {
    if let Some(path) = std::env::var_os("CHROMIUM") {
        return path.into();
    }
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|path| path.is_file())
        .expect(
            "this test opens the page in Chromium, which was not found: install it \
             (Debian: apt-get install chromium) or set CHROMIUM to the program",
        )
}

/// One browser at a time: two would compete for the processor in software rendering.
static ONE: Mutex<()> = Mutex::new(());

/// Opens `page#hash` headless, runs it for 10 s of virtual time, and returns the browser's output.
/// The page must report no error.
pub fn browse(dir: &Scratch, page: &Path, hash: &str, flags: &[&str]) -> Output {
    let output = browse_any(dir, page, hash, flags);
    let said = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = said
        .lines()
        .filter(|l| l.contains("CONSOLE") && !l.contains("GPU stall due to ReadPixels"))
        .collect();
    assert!(complaints.is_empty(), "the page complains: {complaints:#?}");
    output
}

/// Runs the browser as [`browse`], for a page that may report errors.
fn browse_any(dir: &Scratch, page: &Path, hash: &str, flags: &[&str]) -> Output {
    assert!(
        quasistep_view::has_page(),
        "the page was not built: install Node.js with npm, or set QUASISTEP_VIEWER_BUNDLE"
    );
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let profile = dir.file("profile");
    let output = Command::new(chromium())
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-unsafe-swiftshader",
            "--disable-background-networking",
            "--disable-dev-shm-usage",
            "--disable-sync",
            "--no-first-run",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            "--virtual-time-budget=10000",
            "--window-size=900,600",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(flags)
        .arg(format!("file://{}#{hash}", page.display()))
        .output()
        .unwrap_or_else(|e| panic!("{}: {e}", chromium().display()));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    output
}

/// The HTML of the page after it has run.
pub fn dom(dir: &Scratch, page: &Path, hash: &str) -> String {
    String::from_utf8(browse(dir, page, hash, &["--dump-dom"]).stdout).unwrap()
}

/// An attribute of the html element.
pub fn attribute<'a>(dom: &'a str, name: &str) -> Option<&'a str> {
    let tag = dom.split("<html").nth(1)?.split('>').next()?;
    tag.split(&format!("{name}=\"")).nth(1)?.split('"').next()
}

pub fn screenshot(dir: &Scratch, page: &Path, hash: &str) -> Picture {
    let file = dir.file("shot.png");
    let _ = std::fs::remove_file(&file);
    browse(dir, page, hash, &[&format!("--screenshot={}", file.display())]);
    Picture::read(&file)
}

pub fn written(name: &str) -> (Scratch, PathBuf) {
    let dir = Scratch::new(name);
    let page = dir.file("view.html");
    quasistep_view::write_page(&push(), &page).unwrap();
    (dir, page)
}

/// The scene only, from the front: x runs to the right.
const BARE: &str = "ui=0&view=front&points=0&forces=0";

#[test]
fn the_page_shows_the_box_where_it_is() {
    let (dir, page) = written("pixels");
    let early = screenshot(&dir, &page, &format!("{BARE}&t=1"));
    let late = screenshot(&dir, &page, &format!("{BARE}&t=4"));
    let (n_early, [x_early, y_early]) = early.find(is_box_red);
    let (n_late, [x_late, y_late]) = late.find(is_box_red);
    // the box is 0.3 m wide and has moved 0.6 m to the right, twice its width
    let width = (n_early as f64).sqrt();
    assert!(n_early > 2000 && n_late > 2000, "{n_early} and {n_late} red pixels");
    let moved = (x_late - x_early) / width;
    assert!((1.7..2.3).contains(&moved), "moved by {moved} of its widths");
    assert!((y_late - y_early).abs() < 0.1 * width, "it stays on the floor");
    // nothing changes far from its path
    let (changed, _) = early.changes(&late, 30);
    assert!(changed > 2000 && changed < 900 * 600 / 4, "{changed} pixels changed");
    let again = screenshot(&dir, &page, &format!("{BARE}&t=4"));
    assert_eq!(late.changes(&again, 2).0, 0, "a picture can be made again");
}

/// A pressure array is a picture, darkest where most presses; a force-torque sensor is curves. At
/// the start they are the first step's.
#[test]
fn the_page_shows_sensors() {
    let dir = Scratch::new("sensors");
    let page = dir.file("view.html");
    let mut recording = push();
    let sensor = |name: &str, kind, unit: &str, shape: &[usize], size: &[f64]| RecordedSensor {
        name: name.into(),
        kind,
        unit: unit.into(),
        shape: shape.to_vec(),
        size: size.to_vec(),
    };
    recording.sensors = vec![
        sensor("wrist", SensorKind::ForceTorque, "N, N·m", &[6], &[]),
        sensor("skin", SensorKind::Pressure, "N", &[2, 3], &[0.02, 0.03]),
        sensor("eye", SensorKind::Proximity, "m", &[], &[]),
    ];
    for (k, frame) in recording.frames.iter_mut().enumerate().skip(1) {
        let force = k as f64;
        // all of the force is on the taxel at the lower left
        frame.sensors = vec![force, 0.0, 0.0, 0.0, 0.0, 0.0, force, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5];
    }
    quasistep_view::write_page(&recording, &page).unwrap();
    let html = dom(&dir, &page, "t=2");
    for words in
        ["skin (N)", "largest 20, of the run 40", "wrist.fx", "skin, sum", "wrist.tz", "eye"]
    {
        assert!(html.contains(words), "{words}");
    }
    assert!(dom(&dir, &page, "t=0").contains("largest 1, of the run 40"));
    let dark = |[r, g, b]: [u8; 3]| r < 60 && (90..125).contains(&g) && b > 160;
    let end = screenshot(&dir, &page, "t=4").find(dark);
    let start = screenshot(&dir, &page, "t=0").find(dark);
    // 50 × 50 pixels of one taxel of 100 × 150
    assert!(end.0 > start.0 + 2000, "{end:?}, {start:?}");
}

/// A body at its goal is a ghost, and the way of its origin is a line up to where the body is at the
/// end. Both can be switched off, and pages without goals have no switch.
#[test]
fn the_page_shows_goals_and_the_way_there() {
    let dir = Scratch::new("goals");
    let page = dir.file("view.html");
    let mut X_WB = push().frames[N_FRAMES - 1].X_WB[1];
    X_WB.translation.x += 0.5;
    let goals = vec![GoalPose { body: 1, X_WB }];
    // a cost that falls, and a position beside its goal
    let curve = |title: &str, name: &str, goal: Option<f64>| Curve {
        title: title.into(),
        name: name.into(),
        times: vec![0.0, 2.0],
        values: vec![7.5, 2.5],
        beside: goal.map(|goal| ("goals".into(), vec![goal; 2])),
    };
    let curves =
        vec![curve("Cost of the plan", "cost", None), curve("Goals (m)", "box.x", Some(0.5))];
    let wanted = Recording { goals, curves, ..push() };
    quasistep_view::write_page(&wanted, &page).unwrap();
    let plots = dom(&dir, &page, "t=1.9&panel=1");
    for words in [
        "<summary>Cost of the plan</summary>",
        "<summary>Goals (m), goals dashed</summary>",
        "<em>7.5</em>",
    ] {
        assert!(plots.contains(words), "{words}");
    }
    assert!(dom(&dir, &page, "t=2.1&panel=1").contains("<em>2.5</em>"));
    let shown = screenshot(&dir, &page, &format!("{BARE}&t=0"));
    let hidden = screenshot(&dir, &page, &format!("{BARE}&t=0&goals=0"));
    let line = |[r, g, b]: [u8; 3]| r > 200 && (115..145).contains(&g) && (25..70).contains(&b);
    assert_eq!(hidden.find(line).0, 0);
    let (n, [x, _]) = shown.find(line);
    let (n_box, [x_box, _]) = shown.find(is_box_red);
    assert!(n > 100 && n_box > 1000, "{n} pixels of the line, {n_box} of the box");
    // the line goes 0.6 m, twice the width of the box: its middle is one width away
    let away = (x - x_box) / (n_box as f64).sqrt();
    assert!((0.7..1.3).contains(&away), "{away}");
    // the ghost is where nothing was, 1.1 m from the box
    let (changed, _) = hidden.changes(&shown, 12);
    assert!(changed > n_box / 2, "{changed} pixels beside {n_box} of the box");
    assert!(!dom(&dir, &page, "").contains("id=\"goals-row\" hidden"));
    quasistep_view::write_page(&push(), &page).unwrap();
    assert!(dom(&dir, &page, "").contains("id=\"goals-row\" hidden"));
}

/// A named frame of a body has axes and a name with the switch for frames, and moves with its body.
#[test]
fn the_page_shows_named_frames() {
    let dir = Scratch::new("frames");
    let page = dir.file("view.html");
    let X_BF = Pose::from_xyz_rpy([0.0, 0.0, 0.4], [0.0; 3]);
    let lid = NamedFrame { name: "box/<lid>".into(), body: 1, X_BF };
    quasistep_view::write_page(&Recording { named_frames: vec![lid], ..push() }, &page).unwrap();
    let label = ">box/&lt;lid&gt;</span>";
    assert!(!dom(&dir, &page, "t=0").contains(label));
    let place = |t: u32| {
        let html = dom(&dir, &page, &format!("t={t}&frames=1"));
        let before = html.split(label).next().filter(|before| before.len() < html.len());
        before.and_then(|b| b.rsplit("<span").next()).expect("the frame has a name").to_owned()
    };
    assert_ne!(place(0), place(2));
    let shot = || screenshot(&dir, &page, &format!("{BARE}&t=0&frames=1"));
    let with = shot();
    quasistep_view::write_page(&push(), &page).unwrap();
    let (changed, _) = shot().changes(&with, 40);
    assert!(changed > 50, "{changed} pixels of axes");
}

/// The page interpolates between frames: halfway in time, the box is halfway.
#[test]
fn the_page_moves_smoothly_between_frames() {
    let dir = Scratch::new("smooth");
    let page = dir.file("view.html");
    let mut coarse = push();
    coarse.frames = [0, 10, 40].map(|k| coarse.frames[k].clone()).to_vec();
    quasistep_view::write_page(&coarse, &page).unwrap();
    let x = |t: f64| screenshot(&dir, &page, &format!("{BARE}&t={t}")).find(is_box_red).1[0];
    let (early, middle, late) = (x(1.0), x(2.5), x(4.0));
    let share = (middle - early) / (late - early);
    // perspective and the rotation of the box shift the mean slightly
    assert!((share - 0.5).abs() < 0.03, "{share} of the way at half time");
}

#[test]
fn the_page_plays() {
    let (dir, page) = written("plays");
    let paused = dom(&dir, &page, "t=0.5");
    assert_eq!(attribute(&paused, "data-status"), Some("ready"), "{paused:.300}");
    assert_eq!(attribute(&paused, "data-errors"), Some("0"));
    assert_eq!(attribute(&paused, "data-time"), Some("0.5"));
    // a loaded machine draws two or three frames only: one step of 0.1 s must be enough
    let playing = dom(&dir, &page, "t=0.5&play=1&loop=0&speed=4");
    let time: f64 = attribute(&playing, "data-time").unwrap().parse().unwrap();
    assert!(time > 0.6 && time <= 4.0, "it plays: t = {time}");
    // no errors occurred while playing
    assert_eq!(attribute(&playing, "data-errors"), Some("0"));
}

#[test]
fn contacts_and_plots_are_drawn() {
    let (dir, page) = written("layers");
    let bare = screenshot(&dir, &page, &format!("{BARE}&t=3"));
    let green = |p: &Picture| {
        p.find(|c| {
            let [r, g, b] = c.map(i16::from);
            g > 90 && g > r + 40 && g > b + 20
        })
        .0
    };
    let orange = |p: &Picture| {
        // green of the dots: much more green than blue, less green than the sand colour
        p.find(|c| {
            let [r, g, b] = c.map(i16::from);
            r > 160 && g > b + 45 && 3 * g < 2 * r
        })
        .0
    };
    assert_eq!((green(&bare), orange(&bare)), (0, 0));
    let full = screenshot(&dir, &page, "ui=0&view=front&t=3&zoom=1.2");
    assert!(green(&full) > 20, "the finger's sticking contact: {}", green(&full));
    assert!(orange(&full) > 100, "the corners slide: {}", orange(&full));
    let with_panel = screenshot(&dir, &page, "t=3");
    let blue = |[r, g, b]: [u8; 3]| r < 90 && g > 70 && g < 150 && b > 140;
    let right = with_panel.rgb.iter().enumerate().filter(|(i, c)| i % 900 > 540 && blue(**c));
    assert!(right.count() > 200, "plots stand beside the scene");
}

/// Dots show the same disc as the ball on which they lie, with its shading; a hundred thousand of
/// them make a page of a few MB.
#[test]
fn the_page_shows_clouds() {
    let dir = Scratch::new("cloud");
    let page = dir.file("view.html");
    let mut areas = Vec::new();
    for (n, with_normals) in [(2000, false), (2000, true), (100_000, true)] {
        quasistep_view::write_page(&scan(n, with_normals), &page).unwrap();
        let bytes = std::fs::metadata(&page).unwrap().len();
        assert!(bytes < 800_000 + 21 * n as u64, "{bytes} bytes for {n} dots");
        let early = screenshot(&dir, &page, &format!("{BARE}&t=1"));
        let late = screenshot(&dir, &page, &format!("{BARE}&t=4"));
        let (n_early, [x_early, _]) = early.find(is_box_red);
        let (n_late, [x_late, _]) = late.find(is_box_red);
        let width = 2.0 * (n_late as f64 / std::f64::consts::PI).sqrt();
        assert!(n_early > 2000 && n_late > 2000, "{n_early} and {n_late} red pixels");
        // it moves by 0.6 m, twice its width
        let moved = (x_late - x_early) / width;
        assert!((1.6..2.3).contains(&moved), "moved by {moved} of its widths");
        areas.push(n_late as f64);
    }
    assert!(areas.iter().all(|a| (0.8..1.25).contains(&(a / areas[0]))), "{areas:?}");
    let dom = dom(&dir, &page, "t=2");
    assert_eq!(attribute(&dom, "data-errors"), Some("0"));
}

/// The uniqueness text of a step is shown below the scene, and hidden for steps without one.
#[test]
fn the_page_says_what_else_could_have_come_out() {
    let dir = Scratch::new("uniqueness");
    let page = dir.file("view.html");
    let mut recording = push();
    let only = Uniqueness {
        motion: MotionUniqueness::Unique,
        forces: ForceUniqueness::Unique,
        text: "all is <determined>".into(),
    };
    let shared = Uniqueness {
        forces: ForceUniqueness::Shared {
            contacts: vec![SharedForce { contact: 0, normal_is_unique: true }],
            joints: vec![],
            sums: vec![],
        },
        text: "friction may be split otherwise".into(),
        ..only.clone()
    };
    for (k, frame) in recording.frames.iter_mut().enumerate() {
        frame.uniqueness = match k {
            0..=10 => None,
            11..=20 => Some(only.clone()),
            _ => Some(shared.clone()),
        };
    }
    quasistep_view::write_page(&recording, &page).unwrap();
    let said = |t: f64| {
        let dom = dom(&dir, &page, &format!("t={t}"));
        assert_eq!(attribute(&dom, "data-errors"), Some("0"));
        // the program contains the same words, so search the element after it
        let element = dom.split("<div id=\"uniqueness\"").last().unwrap();
        element.split("</div>").next().unwrap().to_owned()
    };
    assert!(said(0.5).contains("hidden"), "{}", said(0.5));
    assert_eq!(said(1.55), " class=\"only\">all is &lt;determined&gt;");
    assert_eq!(said(3.0), ">friction may be split otherwise");
    let text = std::fs::read_to_string(&page).unwrap();
    assert_eq!(text.matches("friction may be split").count(), 1, "an answer is kept once");
}

/// The page is one file, uses no network, escapes names in its script element, and includes the
/// licence.
#[test]
fn the_page_is_self_contained() {
    let (dir, page) = written("contained");
    let text = std::fs::read_to_string(&page).unwrap();
    assert_eq!(text.matches("</script").count(), 2, "data and program");
    assert!(!text.contains("<script src") && !text.contains("<link"));
    assert!(text.contains("three.js authors") && text.contains("Permission is hereby granted"));
    assert!(text.len() < 1_500_000, "{} bytes", text.len());
    let dom = dom(&dir, &page, "");
    assert!(dom.contains("<title>A finger pushes a box &lt;/script&gt;&lt;b&gt;&amp;</title>"));
    assert!(
        dom.contains("<h1 id=\"title\">A finger pushes a box &lt;/script&gt;&lt;b&gt;&amp;</h1>")
    );
}

/// Injected code in a page does not run, and nothing is loaded.
#[test]
fn the_page_runs_its_own_program_alone() {
    let (dir, page) = written("policy");
    let text = std::fs::read_to_string(&page).unwrap();
    std::fs::write(dir.file("fetched.js"), "document.documentElement.dataset.fetched = 1;")
        .unwrap();
    let intruders = "<script>document.documentElement.dataset.inline = 1</script>\n\
         <script src=\"fetched.js\"></script>\n\
         <img src=\"data:,\" onerror=\"document.documentElement.dataset.handler = 1\">\n\
         <style>html { --styled: 1 }</style>\n</body>";
    let start = text.find("<meta http-equiv").unwrap();
    let policy = &text[start..=start + text[start..].find('>').unwrap()];
    assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'sha256-"));
    assert!(start < text.find("<script").unwrap());
    for (with_policy, seen) in [(true, None), (false, Some("1"))] {
        let text = text.replace("</body>", intruders);
        let text = if with_policy { text } else { text.replace(policy, "") };
        std::fs::write(&page, text).unwrap();
        let flags = ["--dump-dom", "--allow-file-access-from-files"];
        let output = browse_any(&dir, &page, "t=2", &flags);
        let dom = String::from_utf8(output.stdout).unwrap();
        for name in ["data-inline", "data-fetched", "data-handler"] {
            assert_eq!(attribute(&dom, name), seen, "{name}");
        }
        // the page's own program works in both cases
        assert_eq!(attribute(&dom, "data-status"), Some("ready"), "{dom:.300}");
        assert_eq!(attribute(&dom, "data-time"), Some("2"));
    }
}

/// Without WebGL the page says so, and everything else works.
#[test]
fn the_page_says_when_webgl_is_missing() {
    let (dir, page) = written("no-webgl");
    let flags = ["--dump-dom", "--disable-3d-apis"];
    let output = Command::new(chromium())
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"])
        .args(["--disable-background-networking", "--virtual-time-budget=10000"])
        .arg(format!("--user-data-dir={}", dir.file("profile").display()))
        .args(flags)
        .arg(format!("file://{}#t=2", page.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(attribute(&dom, "data-status"), Some("no-webgl"), "{dom:.300}");
    assert!(dom.contains("This browser cannot show the 3-D scene"));
    assert_eq!(attribute(&dom, "data-time"), Some("2"));
}

/// Recordings with little content can be opened.
#[test]
fn small_recordings_open() {
    let dir = Scratch::new("small");
    for n in [0, 1, N_FRAMES] {
        let mut recording = push();
        recording.frames.truncate(n);
        recording.finish = quasistep_record::Finish::Stopped { reason: "no <support>".into() };
        if n == N_FRAMES {
            recording.shapes.clear();
        }
        let page = dir.file(&format!("{n}.html"));
        quasistep_view::write_page(&recording, &page).unwrap();
        let dom = dom(&dir, &page, "");
        assert_eq!(attribute(&dom, "data-status"), Some("ready"), "{n} frames: {dom:.300}");
        assert_eq!(attribute(&dom, "data-errors"), Some("0"), "{n} frames");
        assert!(dom.contains("no &lt;support&gt;"));
    }
}

/// The header says how far sliding contacts float, and nothing where they touch.
#[test]
fn the_page_says_how_far_contacts_float() {
    let dir = Scratch::new("float");
    let page = dir.file("view.html");
    let mut recording = push();
    let touching = quasistep_view::page(&recording).unwrap();
    assert!(!touching.html.contains("across gaps"));
    let frame = recording.frames.last_mut().unwrap();
    let contact = frame.contacts.first_mut().unwrap();
    (contact.mode, contact.phi_next) = (quasistep_record::Mode::Slide, 2.5e-4);
    assert!(contact.normal_force > 0.0);
    quasistep_view::write_page(&recording, &page).unwrap();
    let shown = dom(&dir, &page, "");
    assert!(shown.contains("gaps of up to 2.5e-4 m"), "the header says it");
}

/// A page stays within its size limit: it contains fewer frames or dots, and says so.
#[test]
fn a_long_recording_is_thinned() {
    let dir = Scratch::new("thinned");
    let page = dir.file("view.html");
    let mut long = push();
    let contact = long.frames[20].contacts[0];
    // digits that cannot be compressed
    let noise = |k: usize, i: usize| (((k * 977 + i) as f64).sin() * 43758.5453).fract();
    let frame = |k: usize| {
        let mut frame = long.frames[20].clone();
        frame.t = k as f64 * 0.1;
        let noisy = |i: usize| {
            let point = [0, 1, 2].map(|axis| noise(k, 4 * i + axis)).into();
            let phi = noise(k, 4 * i + 3);
            quasistep_record::Contact { p_W: point, force_W: point, phi, phi_next: phi, ..contact }
        };
        frame.contacts = (0..200).map(noisy).collect();
        frame
    };
    let later: Vec<_> = (1..8000).map(frame).collect();
    long.frames.truncate(1);
    long.frames.extend(later);
    let left_out = quasistep_view::write_page(&long, &page).unwrap();
    let size = std::fs::metadata(&page).unwrap().len() as usize;
    assert!(
        size <= quasistep_view::MOST_BYTES && size > quasistep_view::MOST_BYTES / 2,
        "{size} bytes"
    );
    let [words] = &left_out[..] else { panic!("{left_out:?}") };
    assert!(words.starts_with("the page shows every ") && words.ends_with(" step"), "{words}");
    let shown = dom(&dir, &page, "t=799.9");
    assert_eq!(attribute(&shown, "data-status"), Some("ready"));
    assert_eq!(attribute(&shown, "data-time"), Some("799.9"), "the last frame is there");
    assert!(shown.contains(words), "the page says so");

    let dots = scan(2_000_000, true);
    let left_out = quasistep_view::write_page(&dots, &page).unwrap();
    assert!(std::fs::metadata(&page).unwrap().len() as usize <= quasistep_view::MOST_BYTES);
    assert!(left_out[0].starts_with("the page draws one dot out of "), "{left_out:?}");
    assert!(quasistep_view::write_page(&push(), &page).unwrap().is_empty());
}
