//! The controls of the page in a real browser: tree of bodies, panels, keys, theme, marks.

use crate::common::{N_FRAMES, Picture, Scratch, is_box_red, push};
use crate::page::{attribute, browse, dom, screenshot, written};
use quasistep_record::{Contact, Recording};
use std::path::Path;

/// The page after a script has run in it. Scripts use `$`, `key`, and set `out`, which is returned.
/// The page's policy, which forbids other programs, is taken away.
fn scripted(dir: &Scratch, page: &Path, hash: &str, script: &str, flags: &[&str]) -> String {
    let text = std::fs::read_to_string(page).unwrap();
    let start = text.find("<meta http-equiv").unwrap();
    let end = start + text[start..].find('>').unwrap();
    let mut open = text.clone();
    open.replace_range(start..=end, "");
    let helpers = "const $ = (id) => document.getElementById(id);\
        const key = (key, target = document.body, more = {}) => {\
          const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more });\
          target.dispatchEvent(event); return event.defaultPrevented; };\
        const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));\
        while (!window.quasistep) await wait(20); let out = '';";
    let program = format!(
        "<script type=\"module\">{helpers}{script}\ndocument.documentElement.dataset.out = out;</script></body>"
    );
    let place = dir.file("scripted.html");
    std::fs::write(&place, open.replace("</body>", &program)).unwrap();
    let flags = [&["--dump-dom"], flags].concat();
    let shown = String::from_utf8(browse(dir, &place, hash, &flags).stdout).unwrap();
    assert_eq!(
        attribute(&shown, "data-errors"),
        Some("0"),
        "{:?}",
        attribute(&shown, "data-error")
    );
    attribute(&shown, "data-out").unwrap_or_else(|| panic!("the script did not end")).to_owned()
}

/// Text of the last element with an id; the program contains the same words before it.
fn element<'a>(dom: &'a str, id: &str) -> &'a str {
    dom.split(&format!("id=\"{id}\"")).last().unwrap().split_once('>').unwrap().1
}

fn moving_box(hash: &str) -> String {
    format!("ui=0&view=front&points=0&forces=0{hash}")
}

/// A hidden body is not drawn; the view follows a pinned body; a selected one glows and bears its
/// name.
#[test]
fn bodies_are_hidden_pinned_and_selected() {
    let (dir, page) = written("bodies");
    let red = |hash: &str| screenshot(&dir, &page, &moving_box(hash)).find(is_box_red);
    let (n, [x_early, _]) = red("&t=1");
    assert_eq!(red("&t=1&hide=box").0, 0);
    assert!(red("&t=1&hide=finger,ball").0 > 9 * n / 10);
    let x = |hash: &str| red(hash).1[0];
    let width = (n as f64).sqrt();
    assert!((x("&t=4") - x_early).abs() > 1.5 * width, "the box moves");
    // the pinned box stays in the middle of the 900 px
    for t in [1, 4] {
        let off = x(&format!("&t={t}&pin=box")) - 450.0;
        assert!(off.abs() < 0.3 * width, "{off} px from the middle at {t} s");
    }
    let plain = screenshot(&dir, &page, &moving_box("&t=2"));
    let chosen = screenshot(&dir, &page, &moving_box("&t=2&select=finger"));
    let (changed, _) = plain.changes(&chosen, 15);
    assert!(changed > 500, "{changed} pixels glow");
    let shown = dom(&dir, &page, "t=2&select=box&tools=1");
    assert!(element(&shown, "labels").starts_with("<span class=\"on\""), "its name");
    assert!(element(&shown, "selected").starts_with("<b>box/body</b>"));
}

/// Bodies are chosen by a click in the tree or in the scene, and by keys.
#[test]
fn bodies_are_chosen_by_clicks_and_keys() {
    let (dir, page) = written("clicks");
    // pointer capture wants a real pointer
    let script = "\
         $('view').setPointerCapture = () => {}; $('view').releasePointerCapture = () => {};\
         const said = () => { quasistep.setTime(2); return [...document.querySelectorAll('#labels span')].map((s) => s.textContent).join(); };\
         const click = (x, y) => { for (const type of ['pointerdown', 'pointerup']) \
           $('view').dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, pointerId: 1, isPrimary: true, button: 0, bubbles: true })); };\
         click(innerWidth / 2, innerHeight / 2); out += said() + '; ';\
         click(5, 5); out += said() + '; ';\
         const rows = [...document.querySelectorAll('#tree .pick')];\
         out += rows.map((r) => r.textContent).join() + '; ';\
         rows.at(-1).click(); out += said() + '; ';\
         key('n', document.body, { shiftKey: true }); out += said() + '; ';\
         key('h'); out += document.querySelectorAll('#tree input:not(:checked)').length + '; ';\
         key('u'); out += document.querySelectorAll('#tree input:not(:checked)').length + '; ';\
         key('Escape'); out += said();";
    // the pinned box is in the middle
    let out = scripted(&dir, &page, &moving_box("&t=2&pin=box"), script, &[]);
    assert_eq!(out, "box; ; world,box,finger,ball; ball; finger; 1; 0; ");
}

/// The finger's force on the box, listed as that of the box on the finger.
fn turned_around() -> Recording {
    let mut recording = push();
    for c in recording.frames.iter_mut().flat_map(|f| &mut f.contacts).filter(|c| c.a == 2) {
        *c = Contact { a: 1, b: 2, n_AB_W: -c.n_AB_W, force_W: -c.force_W, ..*c };
    }
    recording
}

/// Arrows show the force on the held body, whichever body a contact lists first: a still and the page
/// look the same.
#[test]
fn arrows_show_the_force_on_the_held_body() {
    let (dir, page) = written("receivers");
    let other = dir.file("other.html");
    quasistep_view::write_page(&turned_around(), &other).unwrap();
    let hash = "ui=0&view=front&t=3";
    let bare = screenshot(&dir, &page, "ui=0&view=front&t=3&forces=0");
    let shown = screenshot(&dir, &page, hash);
    let arrows = bare.changes(&shown, 30).0;
    let differ = shown.changes(&screenshot(&dir, &other, hash), 30).0;
    // the point of the contact is carried by the other body, which turns less
    assert!(arrows > 200 && differ < arrows / 10, "{differ} of {arrows} pixels");
    // with the finger selected the arrow turns around, and those of the floor are gone
    let finger = screenshot(&dir, &page, &format!("{hash}&select=finger"));
    assert!(shown.changes(&finger, 30).0 > arrows / 3);
    let still = |recording: &Recording, contacts| {
        let camera = quasistep_view::Camera::fit(recording, quasistep_math::Vec3::Y, 1.5);
        let options = quasistep_view::StillOptions { contacts, ..Default::default() };
        crate::common::decode(
            &quasistep_view::still(recording, 30, &camera, 450, 300, &options).unwrap(),
        )
    };
    let (own, none) = (still(&push(), true), still(&push(), false));
    let arrows = own.changes(&none, 30).0;
    assert!(arrows > 100 && own.changes(&still(&turned_around(), true), 30).0 < arrows / 10);
}

/// With panels open the whole scene is between them; folded, it has the whole picture. On a phone
/// all panels are folded at first.
#[test]
fn the_view_keeps_clear_of_panels() {
    let (dir, page) = written("panels");
    let shot = |hash: &str, size: &str| {
        let file = dir.file("shot.png");
        let flags = [format!("--screenshot={}", file.display()), format!("--window-size={size}")];
        browse(&dir, &page, hash, &flags.each_ref().map(String::as_str));
        Picture::read(&file)
    };
    let columns = |picture: &Picture| {
        let red = picture.rgb.iter().enumerate().filter(|(_, c)| is_box_red(**c));
        let mut counts = vec![0; picture.width];
        red.for_each(|(i, _)| counts[i % picture.width] += 1);
        // marks of the legend and of plots have like colours, but are small
        let high = |x: &usize| counts[*x] > 24;
        ((0..picture.width).find(high).unwrap(), (0..picture.width).rev().find(high).unwrap())
    };
    for t in [1, 4] {
        let hash = |tools: u8| format!("t={t}&tools={tools}&points=0&forces=0&panel=1");
        let (left, right) = columns(&shot(&hash(1), "1280,720"));
        // the panels over the scene end at 246 px, the plots begin at 850 px
        assert!(left > 246 && right < 850, "{left} to {right}");
    }
    let phone = |hash: &str| {
        let flags = ["--dump-dom", "--window-size=500,800"];
        String::from_utf8(browse(&dir, &page, hash, &flags).stdout).unwrap()
    };
    let shown = phone("t=2");
    assert!(shown.contains("<body class=\"no-panel\">"));
    let fold = |shown: &str| {
        shown.rsplit("<details id=\"tools-view\"").next().unwrap().starts_with(" open")
    };
    assert!(!fold(&shown) && fold(&phone("t=2&tools=1")));
    let (left, right) = columns(&shot("t=2&points=0&forces=0", "500,800"));
    assert!(left > 20 && right < 480, "{left} to {right}");
}

/// `#dark=1`, the system's choice, the button and a key make the page dark.
#[test]
fn the_page_goes_dark() {
    let (dir, page) = written("dark");
    let light = |picture: &Picture| {
        picture.rgb.iter().map(|c| c.iter().map(|v| f64::from(*v)).sum::<f64>()).sum::<f64>()
            / (3 * picture.rgb.len()) as f64
    };
    let [bright, dark] =
        ["t=2&dark=0", "t=2&dark=1"].map(|hash| light(&screenshot(&dir, &page, hash)));
    assert!(bright > 180.0 && dark < 80.0, "{bright} and {dark} of 255");
    let is_dark = "document.documentElement.classList.contains('dark')";
    let script = format!(
        "out += {is_dark}; $('toggle-dark').click(); out += {is_dark}; key('b'); out += {is_dark};"
    );
    assert_eq!(scripted(&dir, &page, "t=2", &script, &[]), "falsetruefalse");
    let system = ["--blink-settings=preferredColorScheme=0"];
    assert_eq!(scripted(&dir, &page, "t=2", &format!("out += {is_dark};"), &system), "true");
    assert_eq!(
        scripted(&dir, &page, "t=2&dark=0", &format!("out += {is_dark};"), &system),
        "false"
    );
}

/// A control in focus keeps its own keys, all controls can be reached, and `?` lists the keys.
#[test]
fn keys_work_the_page() {
    let (dir, page) = written("keys");
    let script = "\
        const box = $('show-cones'); box.focus();\
        out += [key(' ', box), document.body.classList.contains('playing'), key(' '), document.body.classList.contains('playing')];\
        key(' ');\
        quasistep.setTime(2); key('ArrowRight'); out += '; ' + quasistep.time().toFixed(2);\
        $('scrub').focus(); out += ' ' + key('ArrowRight', $('scrub')) + ' ' + key('l', $('scrub')) + $('show-labels').checked;\
        out += '; ' + key('p', $('search')) + ' ' + key('p', $('speed')) + ' ' + key('p', $('play')) + document.body.classList.contains('no-panel');\
        out += '; ' + [...document.querySelectorAll('button, input, select, summary, canvas#view')].filter((e) => e.tabIndex < 0).length;\
        key('?'); out += '; ' + $('about').open + ' ' + (document.querySelectorAll('#keys kbd').length > 25);";
    let out = scripted(&dir, &page, "t=0.5&panel=1", script, &[]);
    assert_eq!(
        out,
        "false,false,true,true; 2.10 false truetrue; false false truetrue; 0; true true"
    );
}

/// Names, axes and traces are switches.
#[test]
fn marks_are_drawn() {
    let (dir, page) = written("marks");
    let shown = dom(&dir, &page, "t=2&labels=1");
    let names = element(&shown, "labels");
    for name in ["box", "finger", "ball"] {
        assert!(names[..600].contains(&format!(">{name}</span>")), "{name}");
    }
    let bare = screenshot(&dir, &page, &moving_box("&t=2"));
    let axes = screenshot(&dir, &page, &moving_box("&t=2&frames=1"));
    for (name, is) in [
        ("x", (|[r, g, b]| r > 190 && g < 75 && b < 75) as fn([u8; 3]) -> bool),
        ("z", |[r, g, b]| b > 190 && r < 70 && g < 130),
    ] {
        let (drawn, before) = (axes.find(is).0, bare.find(is).0);
        assert!(drawn > before + 20, "{name}: {drawn} pixels, {before} without axes");
    }
    let traces = screenshot(&dir, &page, &moving_box("&t=2&traces=1"));
    // the box goes 0.6 m, twice its width, and the finger as far and 0.2 m before
    let (n, _) = bare.find(is_box_red);
    let (drawn, _) = bare.changes(&traces, 20);
    assert!(drawn as f64 > 2.0 * (n as f64).sqrt(), "{drawn} pixels of traces");
}

/// Beside a weight of 150 N a push of 7 N has an arrow that is seen, and the legend says how;
/// forces of like size are drawn in proportion.
#[test]
fn small_forces_have_arrows() {
    let dir = Scratch::new("logarithmic");
    let page = dir.file("view.html");
    let shown = |weight: f64| {
        let mut recording = push();
        for c in recording.frames.iter_mut().flat_map(|f| &mut f.contacts) {
            let force = if c.a == 0 { weight } else { 7.0 };
            c.force_W = c.n_AB_W * force;
            c.normal_force = force;
        }
        quasistep_view::write_page(&recording, &page).unwrap();
        let bare = screenshot(&dir, &page, "ui=0&view=top&t=3&forces=0&points=0");
        let arrows = screenshot(&dir, &page, "ui=0&view=top&t=3&points=0");
        (dom(&dir, &page, "t=3&tools=1"), bare.changes(&arrows, 30).0)
    };
    let (legend, beside) = shown(150.0);
    assert!(element(&legend, "legend")[..800].contains("logarithmic"));
    let length: f64 = element(&legend, "legend")
        .split("data-length=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    // 10 N beside 150 N
    assert!((0.15..0.5).contains(&length), "{length}");
    let (legend, alike) = shown(14.0);
    assert!(element(&legend, "legend")[..800].contains("in proportion"));
    assert!(beside > 100 && alike > 100, "{beside} and {alike} pixels");
}

/// An axis has one unit, and plots begin with what driven bodies touch.
#[test]
fn plots_have_one_unit_an_axis() {
    let dir = Scratch::new("units");
    let page = dir.file("view.html");
    let mut recording = push();
    recording.coordinates.push("finger.turn".into());
    recording.units.push("rad".into());
    recording.commands.push("finger.turn".into());
    for (k, frame) in recording.frames.iter_mut().enumerate() {
        frame.q.push(0.1 * k as f64);
        if k > 0 {
            frame.q_cmd.push(0.1 * k as f64);
            frame.effort.push(0.5 * k as f64);
        }
    }
    quasistep_view::write_page(&recording, &page).unwrap();
    let shown = dom(&dir, &page, "t=2&panel=1");
    let plots = element(&shown, "plots").split("id=\"chooser\"").next().unwrap();
    let titles: Vec<&str> =
        plots.split("<summary>").skip(1).map(|s| s.split('<').next().unwrap()).collect();
    for title in [
        "Joints (m), commands dashed",
        "Joints (rad), commands dashed",
        "Drive forces (N)",
        "Drive torques (N·m)",
    ] {
        assert!(titles.contains(&title), "{title}: {titles:?}");
    }
    let forces = plots.split("Normal forces (N)").nth(1).unwrap().split("<details").next().unwrap();
    assert!(forces.contains("box/body – finger/tip") && !forces.contains("world – box/body"));
}

/// The button plays the run once, from its start to its end, and saves what the browser's recorder
/// made of it. The recorder itself would wait for real time in this test; another one stands in, and
/// pictures come by a timer, which a loaded machine does not hold up.
#[test]
fn the_page_saves_a_video() {
    let (dir, page) = written("video");
    let script = "\
        const times = [];\
        window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 16);\
        window.MediaRecorder = class extends EventTarget {\
          static isTypeSupported() { return true; }\
          start() { times.push(quasistep.time()); }\
          stop() {\
            times.push(quasistep.time());\
            this.dispatchEvent(Object.assign(new Event('dataavailable'), { data: new Blob(['12345']) }));\
            this.dispatchEvent(new Event('stop'));\
          }\
        };\
        let saved = ''; HTMLAnchorElement.prototype.click = function () { saved = this.download; };\
        $('video').click();\
        for (let k = 0; k < 200 && !saved; k++) await new Promise(requestAnimationFrame);\
        out += [...times, document.documentElement.dataset.video, saved];";
    // a loaded machine draws few pictures: three must be enough
    let out = scripted(&dir, &page, "t=2&speed=100", script, &["--virtual-time-budget=30000"]);
    assert_eq!(out, "0,4,5,push.webm");
}

/// The first view of the page is the one that [`quasistep_view::first_view`] chose.
#[test]
fn the_first_view_shows_the_push() {
    let (dir, page) = written("first");
    let recording = push();
    let view = quasistep_view::first_view(&recording);
    for frame in (11..N_FRAMES).step_by(5) {
        assert_eq!(view.sees(&recording, frame), (1, 1), "frame {frame}");
    }
    // a finger behind the box is not seen from the front
    let behind = quasistep_view::FirstView { direction: quasistep_math::Vec3::X, ..view };
    assert_eq!(behind.sees(&recording, 30), (1, 0));
    let script = "const { eye, target } = quasistep.view(); out = eye.map((v, k) => v - target[k]).join(' ');";
    let away = scripted(&dir, &page, "t=3", script, &[]);
    let away: Vec<f64> = away.split(' ').map(|v| v.parse().unwrap()).collect();
    let away = quasistep_math::Vec3::new(away[0], away[1], away[2]).try_normalize().unwrap();
    assert!((away - view.direction).norm() < 1e-6, "{away:?} {:?}", view.direction);
}
