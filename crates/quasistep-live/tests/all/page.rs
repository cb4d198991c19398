//! Each control of the live page in a real browser.

use crate::browser::Browser;
use crate::session::{LIFT, box_on_floor, scene};
use quasistep_live::{Live, Session};
use quasistep_scene::Scene;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

fn open(session: Session) -> (Live, Browser) {
    let live = Live::open(session).unwrap();
    let page = Browser::open(live.address());
    (live, page)
}

/// Eye of the view to a tenth of a millimetre.
const EYE: &str = "window.quasistep.view().eye.map((x) => x.toFixed(4)).join()";
const TIME: &str = "window.quasistep.time()";

/// The time of the run once no frame is on its way any more.
fn settled(page: &mut Browser) -> f64 {
    let mut last = f64::NAN;
    loop {
        let t = page.number(TIME);
        if t == last {
            return t;
        }
        last = t;
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Play, pause, one step, reset, and the pace.
#[test]
fn the_run_plays_pauses_steps_and_starts_again() {
    let (_live, mut page) = open(Session::new(scene(&box_on_floor(1.0, "size: 0.01"))));
    page.until("window.quasistep.live().pace === 1");
    page.click("play");
    page.until(&format!("{TIME} > 0.3"));
    page.until("$('clock').textContent.includes('real time')");
    page.click("play");
    page.until("!window.quasistep.live().playing");
    page.click("forward");
    let t = settled(&mut page);
    page.click("forward");
    page.until(&format!("Math.abs({TIME} - {t} - 0.01) < 1e-9"));
    // the past is looked at, and the run waits
    page.click("back");
    page.until(&format!("Math.abs({TIME} - {t}) < 1e-9"));
    page.click("reset");
    page.until(&format!("{TIME} === 0"));
    page.enter("$('speed')", "0.1");
    page.until("window.quasistep.live().pace === 0.1");
    let start = Instant::now();
    page.click("play");
    page.until(&format!("{TIME} > 0.05"));
    let wall = start.elapsed().as_secs_f64();
    assert!(wall > 0.4, "a tenth as fast: 0.05 s in {wall} s");
    page.close();
}

/// A slider commands its joint; a number beyond the limits says what is valid.
#[test]
fn a_slider_moves_its_joint() {
    let (_live, mut page) = open(Session::new(scene(LIFT)));
    page.click("play");
    page.enter("document.querySelectorAll('#controls input[type=range]')[1]", "0.15");
    page.until("Math.abs(window.quasistep.pose(2)[0] - 0.15) < 1e-4");
    page.enter("document.querySelectorAll('#controls input[type=text]')[1]", "-0.05");
    page.until("Math.abs(window.quasistep.pose(2)[0] + 0.05) < 1e-4");
    page.enter("document.querySelectorAll('#controls input[type=text]')[1]", "3");
    page.until("$('refused').textContent === '`lift.out`: 3 was given; give -0.1 to 0.2 m'");
    page.eval("document.querySelectorAll('#controls button')[1].click()");
    page.until("Math.abs(window.quasistep.pose(2)[0]) < 1e-4 && $('refused').hidden");
    page.close();
}

/// A body that is dragged hangs on a spring, whose force is shown; let go, it falls.
#[test]
fn a_dragged_body_hangs_on_a_spring() {
    let (_live, mut page) = open(Session::new(scene(&box_on_floor(1.0, "size: 0.02"))));
    page.click("play");
    let from = page.project([0.0, 0.0, 0.1]);
    let to = page.project([0.0, 0.0, 0.5]);
    page.mouse("mousePressed", from);
    for k in 1..=10 {
        let share = f64::from(k) / 10.0;
        page.mouse("mouseMoved", [0, 1].map(|i| from[i] + share * (to[i] - from[i])));
    }
    page.until("window.quasistep.pose(1)[2] > 0.3");
    page.until("!$('pull').hidden && Math.abs(parseFloat($('pull').textContent) - 19.62) < 0.5");
    let view = page.eval(EYE);
    page.mouse("mouseReleased", to);
    page.until("$('pull').hidden && window.quasistep.pose(1)[2] < 0.2");
    assert_eq!(page.eval(EYE), view, "the view stays while a body is dragged");
    // beside the body, a drag turns the view
    page.mouse("mousePressed", [800.0, 540.0]);
    page.mouse("mouseMoved", [860.0, 540.0]);
    page.mouse("mouseReleased", [860.0, 540.0]);
    page.until(&format!("{EYE} !== {view}"));
    page.close();
}

/// Parameters are changed by number; a wrong one says what is valid. A failed step shows its words.
#[test]
fn parameters_and_errors_are_told() {
    let (_live, mut page) = open(Session::new(scene(&box_on_floor(1.0, "size: 0.01"))));
    let field =
        |key: &str| format!("document.querySelector('#settings input[aria-label=\"{key}\"]')");
    page.until(&field("step.size"));
    page.enter(&field("step.size"), "0.05");
    page.click("forward");
    page.until(&format!("Math.abs({TIME} - 0.05) < 1e-9"));
    page.enter(&field("step.size"), "-1");
    page.until("$('refused').textContent.startsWith('step.size: -1 was seen; it must be > 0 s')");
    page.until(&format!("{}.value === '0.05'", field("step.size")));
    // the page is loaded again where a shape changes
    page.eval("document.documentElement.dataset.old = 1");
    page.enter("$('other-key')", "models.box.shape.box.size");
    page.enter("$('other-value')", "[0.2, 0.2, 0.3]");
    page.click("set-other");
    page.until("window.quasistep?.ready && !document.documentElement.dataset.old");
    page.enter("$('other-key')", "step.inertia");
    page.enter("$('other-value')", "none");
    page.click("set-other");
    page.enter("$('other-key')", "gravity");
    page.enter("$('other-value')", "[0, 0, 9.81]");
    page.click("set-other");
    page.click("play");
    page.until("$('stopped').textContent.startsWith('Not stepped further: ')");
    assert_eq!(page.eval("window.quasistep.live().playing"), false);
    page.enter("$('other-value')", "[0, 0, -9.81]");
    page.click("set-other");
    page.until("$('stopped').hidden");
    page.close();
}

/// Poses: a slider for each joint, the poses of all frames, overlaps marked.
#[test]
fn poses_have_sliders_and_frames() {
    let (mut live, mut page) = open(Session::of_poses(scene(LIFT)));
    page.enter("document.querySelectorAll('#controls input[type=range]')[0]", "0.75");
    page.until("Math.abs(window.quasistep.pose(1)[2] - 0.75) < 1e-6");
    let row = "[...document.querySelectorAll('#frames tr')].map((r) => r.textContent).join('|')";
    page.until(&format!("{row}.includes('lift/arm0.00000.00000.75000.00000.00000.0000')"));
    live.close();
    page.until("$('stopped').textContent.startsWith('The run has ended')");
    page.close();
}

/// The list of frames has those that are no bodies, too.
#[test]
fn named_frames_are_listed() {
    let tool = scene(
        "format: 1\nmodels:\n  arm:\n    joint: [{slide: z, axis: [0, 0, 1], start: 0.5}]\n    mass: 1\n    gravity: false\n    \
         shape: {box: {size: [0.1, 0.1, 0.1]}}\n    cartesian_stiffness:\n    - name: tip\n      \
         at: {xyz: [0, 0.2, 0], rpy: [0, 0, 0.5]}\n      stiffness: [100, 100, 100, 10, 10, 10]\n",
    );
    let (mut live, mut page) = open(Session::of_poses(tool));
    let row = "[...document.querySelectorAll('#frames tr')].map((r) => r.textContent).join('|')";
    page.until(&format!("{row}.includes('arm/tip0.00000.20000.50000.00000.00000.5000')"));
    live.close();
    page.close();
}

/// A hundred boxes of 0.1 m on a floor, in towers of four.
fn hundred_boxes() -> Scene {
    let mut text = "format: 1\nstep: {size: 0.02}\nmodels:\n".to_owned();
    for k in 0..100 {
        let (x, y, z) = (k % 5, k / 5 % 5, k / 25);
        let place = [0.2 * f64::from(x), 0.2 * f64::from(y), 0.05 + 0.1 * f64::from(z)];
        let _ = writeln!(
            text,
            "  box_{k}: {{joint: free, mass: 1, pose: {{xyz: {place:?}}}, shape: {{box: {{size: [0.1, 0.1, 0.1]}}}}}}"
        );
    }
    text += "  ground: {joint: fixed, shape: {half_space: {}}}\n";
    scene(&text)
}

/// Prints how many pictures a second the page draws, and leaves pictures of it in `target/tmp`.
/// `cargo test -p quasistep-live --test all pictures_a_second -- --ignored --nocapture`
#[test]
#[ignore = "a measurement, for a machine with nothing else to do"]
fn pictures_a_second() {
    let load = |name: &str| {
        Scene::load(crate::session::root().join(format!("scenes/{name}.yml"))).unwrap()
    };
    for scene in [hundred_boxes(), load("pile"), load("iiwa_stacking"), load("gripper_2d")] {
        let (name, n) = (scene.name.clone(), scene.system.model().n_bodies() - 1);
        let (_live, mut page) = open(Session::new(scene));
        page.click("play");
        let from = page.project([0.8, 0.0, 0.35]);
        // a box of the towers is pulled, so that something moves
        if n == 101 {
            page.mouse("mousePressed", from);
            page.mouse("mouseMoved", [from[0] + 20.0, from[1] - 30.0]);
            page.mouse("mouseMoved", [from[0] + 40.0, from[1] - 60.0]);
        }
        std::thread::sleep(Duration::from_secs(8));
        let fps = page.eval("document.documentElement.dataset.fps");
        let clock = page.eval("$('clock').textContent");
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.png"));
        page.shot(&file);
        println!("{name}: {fps} pictures a second of {n} bodies; {clock}; {}", file.display());
        page.close();
    }
}
