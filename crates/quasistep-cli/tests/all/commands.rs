//! The commands as a user runs them: messages, files, exit codes.

use crate::common::{Folder, ends, messages, quasistep, root};
use quasistep_record::{Finish, MotionUniqueness, Recording};
use std::fmt::Write as _;
use std::path::Path;

#[test]
fn run_leaves_the_promised_files() {
    let out = Folder::new("run");
    let (said, errors) =
        ends(&quasistep(&["run", "scenes/gripper_2d.yml", "-o", out.text(), "--csv"]), 0);
    assert!(errors.is_empty(), "{errors}");
    let page = said.lines().last().unwrap();
    assert!(Path::new(page).is_file() && page.ends_with("view.html"), "{said}");
    let states = out.read("states.csv");
    let mut lines = states.lines();
    assert_eq!(lines.next(), Some("t,gripper.y,gripper.x_l,gripper.x_r,ball.x_c,ball.y_c"));
    assert_eq!(lines.count(), 36);
    assert!(states.lines().nth(4).unwrap().starts_with("0.03,"), "row k is at t = k h");
    let contacts = out.read("contacts.csv");
    assert_eq!(
        contacts.lines().next(),
        Some(
            "t,a,b,px,py,pz,nx,ny,nz,phi,phi_next,fn,fx,fy,fz,spin,mode,shape_a,shape_b,feature,rollx,rolly,rollz,mu"
        )
    );
    assert_eq!(contacts.lines().count(), 1 + 3 * 35);
    let summary: serde_json::Value = serde_json::from_str(&out.read("summary.json")).unwrap();
    for key in [
        "scene",
        "parameters",
        "dofs",
        "steps",
        "contacts",
        "seconds",
        "step_us",
        "stage_us",
        "worst_residual",
        "solver",
    ] {
        assert!(!summary[key].is_null(), "summary.json has no `{key}`");
    }
    assert_eq!(summary["steps"], 35);
    // parameters have the names of the scene grammar
    assert_eq!(summary["parameters"]["friction"], "convex");
    assert_eq!(summary["parameters"]["cone"], 2);
    assert_eq!(summary["parameters"]["inertia"], "none");
    assert!(summary["step_us"]["median"].as_f64().unwrap() > 0.0);
    assert!(summary["worst_residual"]["force_balance_N"].as_f64().unwrap() < 1e-9);
    assert!(out.0.join("plots/joints.svg").is_file());

    // plots and page can be made again from the written files
    std::fs::remove_file(out.0.join("view.html")).unwrap();
    ends(&quasistep(&["view", out.text()]), 0);
    assert!(out.0.join("view.html").is_file());
}

#[test]
fn short_options_change_the_scene() {
    let out = Folder::new("options");
    let run = [
        "run",
        "scenes/gripper_2d.yml",
        "-o",
        out.text(),
        "--step",
        "0.005",
        "--duration",
        "0.1",
        "--friction",
        "convex",
        "--set",
        "step.inertia=mass",
        "--quiet",
        "--csv",
    ];
    let (said, errors) = ends(&quasistep(&run), 0);
    assert!(said.is_empty() && errors.is_empty(), "{said}{errors}");
    assert_eq!(out.read("states.csv").lines().count(), 22);
}

/// An error of the user gives one line with its place and exit code 2; nothing is written.
#[test]
fn mistakes_write_nothing() {
    let out = Folder::new("mistake");
    for (arguments, words) in [
        (vec!["run", "scenes/gripper_2d.yml", "--set", "step.sise=1"], "did you mean `size`"),
        (vec!["run", "scenes/gripper_2d.yml", "--step", "nan"], "step.size"),
        (vec!["run", "scenes/gripper_2d.yml", "--friction", "magic"], "`convex`"),
        (vec!["run", "scenes/gripper_2d.yml", "--set", "step.size"], "no `=`"),
        (vec!["run", "no_such_scene.yml"], "no_such_scene.yml"),
    ] {
        let mut arguments = arguments;
        arguments.extend(["-o", out.text()]);
        let (said, errors) = ends(&quasistep(&arguments), 2);
        assert!(said.is_empty(), "{said}");
        assert!(errors.starts_with("error: ") && errors.contains(words), "{errors}");
        assert_eq!(messages(&errors).len(), 1, "{errors}");
        assert!(!out.0.exists(), "something was written");
    }
    let (_, errors) = ends(&quasistep(&["view", out.text()]), 2);
    assert!(errors.contains("recording.qsr"), "{errors}");
    ends(&quasistep(&["reproduce", "pang21_fig99"]), 2);
    ends(&quasistep(&["run"]), 2);
}

/// A finished run becomes a moving picture. Other endings than .gif and scenes are refused before
/// anything is written.
#[test]
fn a_run_is_drawn_as_a_video() {
    let out = Folder::new("video");
    let run = ["run", "scenes/gripper_2d.yml", "-o", out.text(), "--quiet", "--no-page"];
    ends(&quasistep(&run), 0);
    let file = out.0.join("run.gif");
    let view = |what: &str, file: &std::path::Path, code| {
        ends(&quasistep(&["view", what, "--video", file.to_str().unwrap()]), code)
    };
    let (_, errors) = view(out.text(), &out.0.join("run.webm"), 2);
    assert!(errors.contains("must end in .gif"), "{errors}");
    let (_, errors) = view("scenes/gripper_2d.yml", &file, 2);
    assert!(errors.contains("moving pictures are of runs") && !file.exists(), "{errors}");
    let (said, _) = view(out.text(), &file, 0);
    assert!(said.contains("run.gif"), "{said}");
    let bytes = std::fs::read(&file).unwrap();
    // 0.35 s in pictures of 0.08 s
    assert!(bytes.starts_with(b"GIF89a") && bytes.len() > 10_000, "{} bytes", bytes.len());
}

/// Output files follow the options, and no file of an earlier run remains beside them.
#[test]
fn output_is_what_was_asked_for() {
    let out = Folder::new("output");
    let run = |more: &[&str]| {
        let all = [&["run", "scenes/gripper_2d.yml", "-o", out.text()][..], more].concat();
        ends(&quasistep(&all), 0).0
    };
    let has = |file: &str| out.0.join(file).is_file();
    run(&["--csv"]);
    assert!(has("states.csv") && has("contacts.csv") && has("view.html") && has("recording.qsr"));
    let all = Recording::read(&out.0.join("recording.qsr")).unwrap();
    assert_eq!((all.frames.len(), &all.finish), (36, &Finish::Done));
    let said = run(&["--every", "10", "--no-page"]);
    assert!(!has("states.csv") && !has("contacts.csv") && !has("view.html"), "{said}");
    let kept = Recording::read(&out.0.join("recording.qsr")).unwrap();
    let want: Vec<_> = [0, 10, 20, 30, 35].map(|k| all.frames[k].clone()).to_vec();
    assert_eq!(kept.frames, want);
    // the summary counts all steps
    let summary: serde_json::Value = serde_json::from_str(&out.read("summary.json")).unwrap();
    assert_eq!(summary["steps"], 35);
    // tables can be written later
    ends(&quasistep(&["view", out.text(), "--csv"]), 0);
    assert_eq!(out.read("states.csv").lines().count(), 1 + 5);
    assert!(has("view.html"));
    for wrong in [["--every", "0"], ["--no-page", "--open"]] {
        ends(&quasistep(&[&["run", "scenes/gripper_2d.yml"][..], &wrong].concat()), 2);
    }
}

/// A run of a scene with sensors has a table of their readings, which can be written later too, and
/// so can its MCAP file.
#[test]
fn readings_have_a_table() {
    let out = Folder::new("sensors");
    let run = ["run", "scenes/sensors.yml", "-o", out.text(), "--no-page", "--strict"];
    let [during, after] = ["during.mcap", "after.mcap"].map(|name| out.0.join(name));
    let [during, after] = [&during, &after].map(|path| path.to_str().unwrap());
    ends(&quasistep(&[&run[..], &["--csv", "--mcap", during]].concat()), 0);
    ends(&quasistep(&["convert", out.text(), "-o", after]), 0);
    assert_eq!(std::fs::read(during).unwrap(), std::fs::read(after).unwrap());
    let wrong = quasistep(&["convert", "scenes/sensors.yml", "-o", after]);
    assert!(ends(&wrong, 2).1.contains("nothing was written"));
    let table = out.read("sensors.csv");
    let mut lines = table.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(head.len(), 1 + 6 + 48 + 48 + 1);
    assert_eq!((head[3], head[7], head[103]), ("wrist.fz", "left.0.0", "range"));
    assert_eq!(lines.clone().count(), 125);
    let end: Vec<f64> = lines.next_back().unwrap().split(',').map(|x| x.parse().unwrap()).collect();
    assert!((end[0] - 2.5).abs() < 1e-12 && (end[3] - 1.4 * 9.81).abs() < 1e-6, "{end:?}");
    ends(&quasistep(&run), 0);
    assert!(!out.0.join("sensors.csv").exists());
    ends(&quasistep(&["view", out.text(), "--csv"]), 0);
    assert_eq!(out.read("sensors.csv"), table);
}

#[test]
fn strict_makes_facts_count() {
    let out = Folder::new("strict");
    std::fs::create_dir_all(&out.0).unwrap();
    let scene = |bound: &str| {
        let file = out.0.join("scene.yml");
        // a model with one body may be named instead of the body
        let text = format!(
            "\
step: {{size: 0.1, duration: 0.2, inertia: mass}}
models:
  floor: {{joint: fixed, shape: {{half_space: {{}}}}}}
  bottle: {{mass: 1, pose: {{xyz: [0, 0, 0.1]}}, shape: {{box: {{size: [0.2, 0.2, 0.2]}}}}}}
facts:
  - {{at: 0.2, tilt: bottle, value: 0, tolerance: 1e-6, source: it stands}}
  - {{at: 0.2, normal_force: [floor, bottle], value: {bound}, tolerance: 0.01, source: its weight}}
"
        );
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let run = |scene: &str, more: &[&str]| {
        quasistep(&[&["run", scene, "-o", out.text()][..], more].concat())
    };
    let holds = scene("9.81");
    ends(&run(&holds, &["--strict"]), 0);
    let (_, errors) = ends(&run(&holds, &["--strict", "--set", "step.size=0.2"]), 2);
    assert!(errors.contains("--strict"), "{errors}");
    let broken = scene("5");
    let (said, _) = ends(&run(&broken, &[]), 0);
    assert!(said.contains("facts: 1 of 2 hold"), "{said}");
    let (_, errors) = ends(&run(&broken, &["--strict"]), 1);
    assert!(errors.contains("1 of 2 facts do not hold"), "{errors}");
}

/// Absurd sizes require `--yes` without a terminal. Wrong signs and zeros are reported with their
/// key.
#[test]
fn absurd_sizes_are_no_endless_runs() {
    let out = Folder::new("absurd");
    let gripper = "scenes/gripper_2d.yml";
    for (arguments, words) in [
        (vec!["run", gripper, "--duration", "1e300"], "more than 1e19 steps; give --yes"),
        (vec!["run", gripper, "--step", "1e-12"], "350000000000 steps; give --yes"),
        (vec!["run", gripper, "--step", "-0.1"], "step.size"),
        (
            vec!["check", gripper, "--uniqueness", "--friction", "exact", "--duration", "1e300"],
            "give --yes",
        ),
        (vec!["run", gripper, "--duration", "-1"], "step.duration"),
        (vec!["check", gripper, "--step", "-0.1"], "step.size"),
        (vec!["sample", "scenes/planar_push.yml", "box", "-n", "100000000000"], "give --yes"),
        (vec!["sample", "scenes/planar_push.yml", "box", "-n", "0"], "0 is not in 1.."),
    ] {
        let mut arguments = arguments;
        if arguments[0] != "check" {
            arguments.extend(["-o", out.text()]);
        }
        let (_, errors) = ends(&quasistep(&arguments), 2);
        assert!(errors.contains(words), "{errors}");
        assert!(!out.0.exists(), "something was written");
    }
}

/// All errors of a file are reported in one run, each once and with its line, without consequential
/// errors.
#[test]
fn several_mistakes_are_told_at_once() {
    let folder = Folder::new("mistakes");
    std::fs::create_dir_all(&folder.0).unwrap();
    let file = folder.0.join("scene.yml");
    let text = "\
step: {sise: 1, formulaton: x, duration: 1}
models:
  a: {shape: {sphere: {rdius: 1}}, mass: 1}
  b: {jont: fixed, shape: {sphere: {radius: 1}}, mass: 1}
  c: {shape: {sphere: {radius: -1}}, mass: 1}
commands:
  a: {knots: [[0, 0]]}
facts:
  - {at: 1, coordnate: a, value: 0}
";
    std::fs::write(&file, text).unwrap();
    let (_, errors) = ends(&quasistep(&["check", file.to_str().unwrap()]), 2);
    let lines = messages(&errors);
    let told = [
        ":3: models.a.shape.sphere.rdius: unknown key",
        ":1: step.sise: unknown key",
        ":1: step.formulaton: unknown key",
        ":4: models.b.jont: unknown key",
        ":5: models.c.shape.sphere.radius: -1",
    ];
    for words in told {
        assert_eq!(
            lines.iter().filter(|l| l.contains(words)).count(),
            1,
            "`{words}` in:\n{errors}"
        );
    }
    assert_eq!(lines.len(), told.len(), "{errors}");
    // one error gives one line
    let text = "step: {duration: 1}\nmodels:\n  a: {shape: {sphere: {radius: -1}}, mass: 1}\nfacts:\n  - {at: 0, \
                coordinate: a.x, value: 0, tolerance: 1}\n";
    std::fs::write(&file, text).unwrap();
    let (_, errors) = ends(&quasistep(&["check", file.to_str().unwrap()]), 2);
    assert_eq!(messages(&errors).len(), 1, "{errors}");
}

#[test]
fn shells_can_complete() {
    for (shell, word) in
        [("bash", "complete -F"), ("zsh", "#compdef quasistep"), ("fish", "complete -c")]
    {
        let (said, _) = ends(&quasistep(&["completions", shell]), 0);
        assert!(said.contains(word) && said.contains("no-page"), "{said:.300}");
    }
}

/// With `--strict`, a convex fallback for exact friction is an error unless the scene requests it.
#[test]
fn strict_refuses_what_stands_in() {
    let out = Folder::new("stand_in");
    std::fs::create_dir_all(&out.0).unwrap();
    let text = std::fs::read_to_string(root().join("scenes/box_pivot.yml")).unwrap();
    let (text, _) = text.split_once("facts:").unwrap();
    let file = out.0.join("scene.yml");
    for (fallback, code) in [("undecided", 1), ("convex", 0)] {
        let step = format!("step: {{work_limit: 1.5e6, fallback: {fallback}, ");
        std::fs::write(&file, text.replace("step: {", &step)).unwrap();
        let run = ["run", file.to_str().unwrap(), "--strict", "-o", out.text()];
        let (said, errors) = ends(&quasistep(&run), code);
        assert!(said.contains(&format!("the fallback `{fallback}` stands in")), "{said}");
        assert_eq!(errors.contains("step.fallback"), code == 1, "{errors}");
    }
}

/// `convert` updates scenes of former versions to the present keys, for YAML and JSON files.
#[test]
fn convert_renews_scenes() {
    let out = Folder::new("renew");
    std::fs::create_dir_all(&out.0).unwrap();
    let json = r#"{"step": {"formulation": "coulomb"}, "models": {"b": {"mass": 1, "shape": {"sphere": {"radius": 0.1}}}}}"#;
    let yaml =
        "step:\n  formulation: coulomb\nmodels:\n  b: {mass: 1, shape: {sphere: {radius: 0.1}}}\n";
    for (name, text) in [("json", json), ("yaml", yaml)] {
        let [old, new] = ["old", "new"].map(|age| out.0.join(format!("{name}_{age}.yml")));
        std::fs::write(&old, text).unwrap();
        let (_, errors) = ends(&quasistep(&["check", old.to_str().unwrap()]), 2);
        assert!(errors.contains("friction: exact"), "{errors}");
        ends(&quasistep(&["convert", old.to_str().unwrap(), "-o", new.to_str().unwrap()]), 0);
        ends(&quasistep(&["check", new.to_str().unwrap()]), 0);
    }
}

/// Messages use singular and plural correctly.
#[test]
fn one_is_not_many() {
    let (said, _) = ends(&quasistep(&["check", "scenes/fence_particle.yml"]), 0);
    assert!(!said.contains(" 1 bodies") && !said.contains(" 1 dofs"), "{said}");
}

/// An unsolvable step gives exit code 1. The files up to it and the reason are kept.
#[test]
fn an_unsolvable_step_keeps_what_was_done() {
    let out = Folder::new("stopped");
    let run =
        ["run", "scenes/gripper_2d.yml", "-o", out.text(), "--csv", "--set", "gravity=[0, 0, 10]"];
    let (_, errors) = ends(&quasistep(&run), 1);
    assert!(errors.contains("`ball/ball`") && errors.contains("step.inertia"), "{errors}");
    assert!(out.read("states.csv").lines().count() >= 2);
    let summary: serde_json::Value = serde_json::from_str(&out.read("summary.json")).unwrap();
    assert_eq!(summary["finished"], false);
    assert!(summary["stopped"].as_str().unwrap().contains("ball/ball"));
}

#[test]
fn check_says_what_a_scene_contains() {
    let (said, _) = ends(&quasistep(&["check", "scenes/iiwa_stacking.yml"]), 0);
    for words in ["69 dofs", "9 actuated", "60 passive", "22 shapes", "certified", "ok"] {
        assert!(said.contains(words), "no `{words}` in:\n{said}");
    }
    // pads far away and no inertia: the speed of the falling body is undetermined
    let away =
        ["models.left.joint.0.start=-0.2", "models.right.joint.0.start=0.2", "step.inertia=none"];
    let mut arguments = vec!["check", "scenes/pinch.yml"];
    for change in &away {
        arguments.extend(["--set", change]);
    }
    let (_, errors) = ends(&quasistep(&arguments), 1);
    assert!(errors.contains("nothing balances the load on `held/held`"), "{errors}");
}

#[test]
fn check_says_what_is_unique() {
    let scene =
        ["check", "scenes/fence_particle.yml", "--uniqueness", "--set", "step.duration=0.3"];
    let (said, _) = ends(&quasistep(&scene), 0);
    assert!(said.contains("at 0.010000 to 0.300000 s: the motion is the only one"), "{said}");
    let mut glides = scene.to_vec();
    glides.extend(["--set", "friction.pairs.2.mu=0"]);
    let (said, _) = ends(&quasistep(&glides), 0);
    assert!(said.contains("the motion is not the only one: `particle/particle` may"), "{said}");
    let (_, errors) = ends(&quasistep(&["check", "scenes/gripper_2d.yml", "--uniqueness"]), 2);
    assert!(errors.contains("--friction exact"), "{errors}");
}

/// The uniqueness results of a run are in its files: spans as text, and each step in the recording.
#[test]
fn a_run_keeps_what_it_says_of_uniqueness() {
    let out = Folder::new("unique");
    let glides = ["run", "scenes/fence_particle.yml", "--uniqueness", "-o", out.text()];
    let changes =
        ["--set", "friction.pairs.2.mu=0", "--set", "step.duration=0.3", "--set", "facts=[]"];
    ends(&quasistep(&[&glides[..], &changes[..]].concat()), 0);
    assert!(out.read("uniqueness.csv").contains("the motion is not the only one"));
    let recording = Recording::read(&out.0.join("recording.qsr")).unwrap();
    let answers: Vec<_> = recording.frames.iter().filter_map(|f| f.uniqueness.as_ref()).collect();
    assert_eq!(answers.len(), 30);
    // while the fence is away the particle may move anywhere, later only along the fence
    assert!(answers.windows(2).any(|pair| pair[0] != pair[1]), "{:?}", answers[0]);
    let MotionUniqueness::Free { bodies, direction } = &answers[29].motion else {
        panic!("{:?}", answers[29]);
    };
    assert_eq!(bodies.first().copied(), recording.body("particle/particle"));
    assert_eq!(direction[0].0, "particle.y");
    // plots and page can be made again from the recording
    ends(&quasistep(&["view", out.text()]), 0);
    // without the option there are no uniqueness results
    let plain = Folder::new("plain");
    let run =
        ["run", "scenes/fence_particle.yml", "-o", plain.text(), "--set", "step.duration=0.3"];
    ends(&quasistep(&run), 0);
    let recording = Recording::read(&plain.0.join("recording.qsr")).unwrap();
    assert!(recording.frames.iter().all(|f| f.uniqueness.is_none()));
}

#[test]
fn figures_are_listed_and_made() {
    let (said, _) = ends(&quasistep(&["reproduce", "--list"]), 0);
    assert!(said.lines().count() >= 11 && said.contains("trinkle05_sec5"), "{said}");
    let out = Folder::new("figures");
    let (said, _) = ends(
        &quasistep(&[
            "reproduce",
            "pang21_gripper",
            "pang21_fig4",
            "pang21_fig5",
            "pang21_fig6a",
            "pang21_fig6b",
            "trinkle05_sec5",
            "-o",
            out.text(),
        ]),
        0,
    );
    assert!(said.contains("published"), "{said}");
    for file in [
        "pang21_fig4.svg",
        "pang21_fig5.csv",
        "pang21_fig6a.svg",
        "pang21_fig6b.svg",
        "pang21_gripper_numbers.csv",
        "trinkle05_sec5.svg",
    ] {
        assert!(out.0.join(file).is_file(), "no {file}");
    }
    // every published number of the gripper, and of the fence and the particle, is reproduced
    let numbers = ["pang21_gripper_numbers.csv", "trinkle05_sec5_numbers.csv"].map(|f| out.read(f));
    for line in numbers.iter().flat_map(|text| text.lines().skip(1)) {
        let numbers: Vec<f64> =
            line.rsplit('"').nth(2).unwrap().split(',').filter_map(|c| c.parse().ok()).collect();
        let [published, _, difference] = numbers[..] else { panic!("{line}") };
        assert!(difference.abs() <= 1e-4 * f64::abs(published), "{line}");
    }
}

#[test]
fn every_command_has_help_with_examples() {
    for command in ["run", "new", "check", "view", "reproduce", "mpc", "sample", "completions"] {
        let (said, _) = ends(&quasistep(&[command, "--help"]), 0);
        assert!(
            said.contains("Example") && said.contains(&format!("quasistep {command} ")),
            "{said}"
        );
    }
    ends(&quasistep(&["--version"]), 0);
}

#[test]
fn sample_writes_the_cloud_of_a_body() {
    let out = Folder::new("sample");
    std::fs::create_dir_all(&out.0).unwrap();
    let file = out.0.join("rabbit.ply");
    let name = file.to_str().unwrap();
    let scene = "scenes/models/clouds/rabbit.yml";
    let (said, _) = ends(&quasistep(&["sample", scene, "rabbit", "-n", "992", "-o", name]), 0);
    assert!(said.contains("992 points"), "{said}");
    // this command reproduces the shipped point cloud
    let root = root();
    let shipped = std::fs::read_to_string(root.join("scenes/models/clouds/rabbit.ply")).unwrap();
    assert_eq!(out.read("rabbit.ply"), shipped);

    let (_, errors) = ends(&quasistep(&["sample", scene, "rabit", "-o", name]), 2);
    assert!(
        errors.contains("unknown body `rabit`") && errors.contains("`rabbit/rabbit`"),
        "{errors}"
    );
    let (_, errors) = ends(&quasistep(&["sample", scene, "floor", "-o", name]), 2);
    assert!(errors.contains("no surface"), "{errors}");
}

#[test]
fn a_robot_file_is_enough() {
    let robot = "scenes/models/iiwa7/iiwa7.urdf";
    let (said, _) = ends(&quasistep(&["check", robot, "--self-collision", "5"]), 0);
    for word in [
        "iiwa_link_7: revolute joint, from -3.05",
        "N·m/rad",
        "kg",
        "5 random configurations",
        "ok",
    ] {
        assert!(said.contains(word), "`{word}` is not in {said}");
    }
    let folder = Folder::new("robot");
    let (said, _) = ends(&quasistep(&["view", robot, "-o", folder.text()]), 0);
    assert!(said.contains("start.html") && folder.read("start.html").len() > 1000);
    let scene = folder.0.join("scene.yml");
    let scene = scene.to_str().unwrap();
    ends(&quasistep(&["new", robot, "-o", scene]), 0);
    let text = folder.read("scene.yml");
    assert!(text.contains("iiwa7.urdf") && text.contains("stiffness"), "{text}");
    // an existing file is not overwritten
    let (_, errors) = ends(&quasistep(&["new", robot, "-o", scene]), 2);
    assert!(errors.contains("exists already"), "{errors}");
    assert_eq!(folder.read("scene.yml"), text);
    let out = folder.0.join("run");
    let run = ["run", scene, "--strict", "-o", out.to_str().unwrap()];
    let (said, _) = ends(&quasistep(&run), 0);
    assert!(said.contains("certified") && said.contains("facts: 1 of 1 hold"), "{said}");
}

/// The tree has poses at the start as scenes take them.
#[test]
fn a_tree_has_poses() {
    let (said, _) = ends(&quasistep(&["check", "scenes/pinch.yml", "--tree"]), 0);
    let held = said.lines().find(|line| line.contains("held/held: ")).unwrap();
    assert!(held.contains(", at {xyz: ["), "{held}");
}

/// A message ends with how to read what it means, and that is an entry of the page.
#[test]
fn messages_lead_to_their_entries() {
    let wrong = ["check", "scenes/pinch.yml", "--set", "step.sise=1"];
    let (_, errors) = ends(&quasistep(&wrong), 2);
    assert_eq!(errors.lines().last(), Some("help: quasistep explain unknown-key"));
    let (said, _) = ends(&quasistep(&["explain", "unknown-key", "limits"]), 0);
    for words in ["unknown-key: \"unknown key", "limits: \"starts at"] {
        assert!(said.contains(words), "{said}");
    }
    assert!(!said.contains("](") && !said.contains("<!--"), "{said}");
    let (said, _) = ends(&quasistep(&["explain"]), 0);
    assert!(said.contains("  crushed\n") && said.contains("  no-page\n"), "{said}");
    let (_, errors) = ends(&quasistep(&["explain", "unknown-kee"]), 2);
    assert!(errors.contains("'unknown-key'"), "{errors}");
}

/// Warnings that differ in names and numbers alone are one line; -v prints all.
#[test]
fn warnings_of_one_kind_are_one_line() {
    let folder = Folder::new("warnings");
    std::fs::create_dir_all(&folder.0).unwrap();
    let link = |name: &str| {
        format!(
            "<link name=\"{name}\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"9\" \
             ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>\n"
        )
    };
    let joint = |a: &str, b: &str| {
        format!(
            "<joint name=\"{a}{b}\" type=\"fixed\"><parent link=\"{a}\"/><child link=\"{b}\"/></joint>"
        )
    };
    let links = ["a", "b", "c"].map(link).concat();
    let urdf = format!("<robot name=\"r\">\n{links}{}{}</robot>", joint("a", "b"), joint("b", "c"));
    std::fs::write(folder.0.join("r.urdf"), urdf).unwrap();
    let scene = folder.0.join("two.yml");
    std::fs::write(&scene, "models:\n  one: {urdf: r.urdf}\n  two: {urdf: r.urdf}\n").unwrap();
    let check = ["check", scene.to_str().unwrap()];
    let (_, errors) = ends(&quasistep(&check), 0);
    assert_eq!(messages(&errors).len(), 1, "{errors}");
    assert!(
        errors.contains("r.urdf:2: link `a`") && errors.contains("(and 5 more like it; -v"),
        "{errors}"
    );
    let (_, errors) = ends(&quasistep(&[&check[..], &["-v"]].concat()), 0);
    assert_eq!(messages(&errors).len(), 6, "{errors}");
    assert!(!errors.contains("more like it"), "{errors}");
}

#[test]
fn a_first_scene_runs_as_it_is_written() {
    let folder = Folder::new("first");
    let scene = folder.0.join("deep/scene.yml");
    let (said, _) = ends(&quasistep(&["new", "-o", scene.to_str().unwrap()]), 0);
    assert!(said.contains("quasistep run "), "{said}");
    let out = folder.0.join("out");
    let run = ["run", scene.to_str().unwrap(), "--strict", "-o", out.to_str().unwrap()];
    let (said, errors) = ends(&quasistep(&run), 0);
    assert!(said.contains("facts: 2 of 2 hold") && errors.is_empty(), "{said}{errors}");
}

/// A tolerance takes the place of the scene's size. The run tells what it took, and where the motion
/// jumps; facts hold at their times.
#[test]
fn a_tolerance_chooses_sizes() {
    let (said, _) = ends(&quasistep(&["check", "scenes/door.yml", "--tolerance", "1e-4"]), 0);
    assert!(said.contains(" or more, of ") && said.contains(" s, each within 0.0001 m"), "{said}");
    let out = Folder::new("by-tolerance");
    let run = ["run", "scenes/door.yml", "--tolerance", "1e-4", "-o", out.text(), "--csv"];
    let (said, errors) = ends(&quasistep(&run), 0);
    assert!(errors.is_empty(), "{errors}");
    for words in
        ["each step is within 0.0001 m", "larger sizes rejected: ", "the motion jumps at t = 0.000"]
    {
        assert!(said.contains(words), "no `{words}` in {said}");
    }
    let summary: serde_json::Value = serde_json::from_str(&out.read("summary.json")).unwrap();
    let (sizes, parameters) = (&summary["sizes"], &summary["parameters"]);
    assert_eq!(
        (&parameters["tolerance_m"], &parameters["step_size_s"]),
        (&1e-4.into(), &().into())
    );
    let number = |key: &str| sizes[key].as_f64().unwrap();
    assert!(number("rejected") > 0.0 && number("min_s") < 1e-3 && number("max_s") > 0.1);
    let jump = &sizes["unresolved"][0];
    assert!(jump["error_m"].as_f64().unwrap() > 1e-4, "{sizes}");
    let times: Vec<f64> = (out.read("states.csv").lines().skip(1))
        .map(|line| line.split(',').next().unwrap().parse().unwrap())
        .collect();
    assert!(times.windows(2).all(|t| t[1] > t[0]) && times.last() == Some(&5.0));
    // `smooth(t/4)` of its commands ends at 4 s
    assert!(times.iter().any(|t| (t - 4.0).abs() < 1e-12));
    let both = ["run", "scenes/door.yml", "--tolerance", "1e-4", "--step", "0.1"];
    let (_, errors) = ends(&quasistep(&both), 2);
    assert!(errors.contains("step.tolerance") && errors.contains("both seen"), "{errors}");
}

/// The cache of convex decompositions does not change results: an empty, full, damaged or missing
/// folder gives the same.
#[test]
fn a_cache_of_meshes_changes_no_result() {
    let folder = Folder::new("mesh-cache");
    std::fs::create_dir_all(&folder.0).unwrap();
    let mut ring = String::new();
    let (n, m) = (48, 12);
    for k in 0..n * m {
        let turn =
            |part: i32, whole: i32| f64::from(part) / f64::from(whole) * std::f64::consts::TAU;
        let ((su, cu), (sv, cv)) = (turn(k / m, n).sin_cos(), turn(k % m, m).sin_cos());
        let r = 0.1 + 0.03 * cv;
        writeln!(ring, "v {} {} {}", r * cu, r * su, 0.03 * sv).unwrap();
    }
    for k in 0..n * m {
        let (i, j) = (k / m, k % m);
        let at = |i: i32, j: i32| (i % n) * m + j % m + 1;
        let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
        writeln!(ring, "f {a} {b} {c} {d}").unwrap();
    }
    std::fs::write(folder.0.join("ring.obj"), ring).unwrap();
    let scene = "step: {duration: 0.2}\nmodels:\n  floor: {joint: fixed, shape: {half_space: {}}}\n  ring:\n    \
                 mass: 1\n    pose: {xyz: [0, 0, 0.031]}\n    shape: {mesh: {file: ring.obj, parts: split, tolerance: \
                 0.01, simplify: 1e-4}}\n";
    std::fs::write(folder.0.join("scene.yml"), scene).unwrap();
    let cache = folder.0.join("deep/cache");
    let run = |place: &str| {
        let out = folder.0.join("out");
        let scene = folder.0.join("scene.yml");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_quasistep"))
            .args([Path::new("run"), &scene, Path::new("--csv"), Path::new("-o"), &out])
            .env("QUASISTEP_CACHE", place)
            .output()
            .unwrap();
        ends(&output, 0);
        ["states.csv", "contacts.csv"].map(|file| std::fs::read(out.join(file)).unwrap())
    };
    let kept = || -> Vec<(std::path::PathBuf, Vec<u8>)> {
        let files = std::fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path());
        let mut all: Vec<_> = files.map(|f| (f.clone(), std::fs::read(f).unwrap())).collect();
        all.sort();
        all
    };
    let without = run("off");
    assert!(!cache.exists());
    let place = cache.to_str().unwrap();
    assert_eq!(run(place), without);
    let first = kept();
    assert!(first.len() == 1 && first[0].1.len() > 1000, "{first:?}");
    assert_eq!(run(place), without);
    // a truncated, foreign or corrupted cache file is ignored and written again
    let whole = &first[0].1;
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for bytes in [&whole[..whole.len() / 2], b"", b"something else altogether", &flipped] {
        std::fs::write(&first[0].0, bytes).unwrap();
        assert_eq!(run(place), without);
        assert!(kept() == first);
    }
    // the cache is really read: hulls of another ring stored under this ring's name are used
    let other = scene.replace("0.01,", "0.02,");
    std::fs::write(folder.0.join("scene.yml"), other).unwrap();
    let coarse = run(place);
    let second = kept();
    assert!(second.len() == 2 && coarse != without);
    let new = second.iter().find(|(file, _)| *file != first[0].0).unwrap();
    std::fs::write(&new.0, whole).unwrap();
    assert_eq!(run(place), without);
    // an unwritable cache: its path is a file, not a folder
    let blocked = folder.0.join("ring.obj");
    std::fs::write(folder.0.join("scene.yml"), scene).unwrap();
    assert_eq!(run(blocked.to_str().unwrap()), without);
}

/// A `xacro` program that does not end, or writes without end, gives an error soon.
#[cfg(unix)]
#[test]
fn a_xacro_without_an_end_is_stopped() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("endless-xacro");
    std::fs::create_dir_all(&folder.0).unwrap();
    std::fs::write(folder.0.join("r.xacro"), "<robot name=\"r\"/>").unwrap();
    let program = folder.0.join("xacro");
    let path = format!("{}:/usr/bin:/bin", folder.text());
    for (script, words) in [
        ("#!/bin/sh\nexec sleep 1000\n", "did not end within 10 s"),
        ("#!/bin/sh\nexec yes\n", "wrote more than 64 MB"),
    ] {
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_quasistep"))
            .arg("check")
            .arg(folder.0.join("r.xacro"))
            .env("PATH", &path)
            .output()
            .unwrap();
        let (_, errors) = ends(&output, 2);
        assert!(errors.contains("r.xacro: ") && errors.contains(words), "{errors}");
    }
}

/// `$(find package)` of xacro is the folder that the scene's `packages` give, or one that is found
/// around the file. The program here does what xacro does, and no more.
#[cfg(unix)]
#[test]
fn xacro_finds_packages_of_the_scene_and_around_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("find-xacro");
    for place in ["robots/arm_description/urdf", "robots/beside", "elsewhere"] {
        std::fs::create_dir_all(folder.0.join(place)).unwrap();
        std::fs::write(folder.0.join(place).join("mass.txt"), "7").unwrap();
    }
    std::fs::write(folder.0.join("elsewhere/mass.txt"), "3").unwrap();
    let program = folder.0.join("xacro");
    std::fs::write(
        &program,
        "#!/usr/bin/env python3
import re, sys
from ament_index_python.packages import get_package_share_directory as find
try:
    text = re.sub(r'\\$\\(find (\\w+)\\)', lambda m: open(find(m[1]) + '/mass.txt').read(), open(sys.argv[-1]).read())
except LookupError as error:
    sys.exit(f'error: {error}')
print(text)
",
    )
    .unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.text(), std::env::var("PATH").unwrap());
    let robot = |packages: &str| {
        let link = |name| {
            format!(
                "<link name='{name}'><inertial><mass value='$(find {name})'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>"
            )
        };
        let links = packages.split(' ').map(link).collect::<Vec<_>>().concat();
        let joint =
            "<joint name='j' type='fixed'><parent link='beside'/><child link='given'/></joint>";
        let joint = if packages.contains(' ') { joint } else { "" };
        let file = folder.0.join("robots/arm_description/urdf/r.xacro");
        std::fs::write(&file, format!("<robot name='r'>{links}{joint}</robot>")).unwrap();
        file
    };
    let check = |file: &std::path::Path| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_quasistep"));
        command.args(["check", "--tree"]).arg(file).env("PATH", &path).output().unwrap()
    };
    let (said, _) = ends(&check(&robot("beside")), 0);
    assert!(said.contains("7 kg"), "{said}");
    let (_, errors) = ends(&check(&robot("beside given")), 2);
    assert!(
        errors.contains("the package `given` was not found in ")
            && errors.contains("packages: {given: folder}"),
        "{errors}"
    );
    let scene = folder.0.join("scene.yml");
    let text =
        "models: {r: {urdf: robots/arm_description/urdf/r.xacro, packages: {given: elsewhere}}}\n";
    std::fs::write(&scene, text).unwrap();
    let (said, _) = ends(&check(&scene), 0);
    assert!(said.contains("7 kg") && said.contains("3 kg"), "{said}");
}

/// With `quasistep check … | head -1`, or a full disk for standard output, no command panics, and
/// every command writes its files.
#[cfg(target_os = "linux")]
#[test]
fn output_that_nobody_takes_is_no_panic() {
    use std::process::{Command, Stdio};
    let folder = Folder::new("unheard");
    std::fs::create_dir_all(&folder.0).unwrap();
    let file = |name: &str| folder.0.join(name).display().to_string();
    let commands = [
        ("check scenes/iiwa_stacking.yml --tree".to_owned(), None),
        ("check scenes/gripper_2d.yml --self-collision 10".into(), None),
        (format!("run scenes/gripper_2d.yml -o {}", file("run")), Some("run/view.html")),
        (format!("view {}", file("run")), Some("run/plots")),
        (format!("view scenes/pinch.yml -o {}", file("view")), Some("view/start.html")),
        (
            format!("mpc scenes/point_robot.yml --set mpc.steps=2 -o {}", file("mpc")),
            Some("mpc/mpc.csv"),
        ),
        (format!("new -o {}", file("new.yml")), Some("new.yml")),
        (format!("convert scenes/pinch.yml -o {}", file("pinch.xml")), Some("pinch.xml")),
        (
            format!("sample scenes/planar_push.yml box -n 10 -o {}", file("box.ply")),
            Some("box.ply"),
        ),
        ("reproduce --list".into(), None),
        ("completions bash".into(), None),
        ("--help".into(), None),
        ("--version".into(), None),
        ("run scenes/no_such_scene.yml".into(), None),
    ];
    let clean = || ["new.yml", "pinch.xml"].map(|name| std::fs::remove_file(folder.0.join(name)));
    for (words, made) in commands {
        let command = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_quasistep"));
            command.args(words.split(' ')).current_dir(root());
            command
        };
        let code = if words.contains("no_such") { 2 } else { 0 };
        let check = |said: &str| {
            assert!(!said.contains("panicked"), "{words}: {said}");
            let made = made.is_none_or(|name| folder.0.join(name).exists());
            assert!(made, "{words}: its file is not there: {said}");
            let _ = clean();
        };
        // a pipe whose reader has closed it
        for closes_errors in [false, true] {
            let piped = command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
            let mut child = piped.expect("it starts");
            drop(child.stdout.take());
            if closes_errors {
                drop(child.stderr.take());
            }
            let ended = child.wait_with_output().expect("it ends");
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert_eq!(ended.status.code(), Some(code), "{words}: {said}");
            check(&said);
        }
        // a full disk
        let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
        let ended = command().stdout(full()).output().expect("it ends");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        if code == 0 && !words.starts_with("--") {
            assert_eq!(ended.status.code(), Some(1), "{words}: {said}");
            let last = said.lines().last().unwrap_or_default();
            assert!(last.starts_with("error: failed printing to stdout"), "{words}: {said}");
        }
        check(&said);
        let ended = command().stdout(full()).stderr(full()).output().expect("it ends");
        assert!(ended.status.code().is_some_and(|code| code < 3), "{words}: {ended:?}");
        check("");
    }
}

/// A file in which nothing can move is checked, run, shown and made a scene, and each says so.
#[test]
fn what_cannot_move_is_shown_and_said_to_be_so() {
    let folder = Folder::new("still");
    std::fs::create_dir_all(&folder.0).unwrap();
    let crate_ = "<sdf version='1.6'><model name='crate'><static>true</static><link name='l'><collision name='c'>
        <geometry><box><size>1 1 0.5</size></box></geometry></collision></link></model></sdf>";
    let post = "<mujoco><worldbody><body name='b' pos='0 0 1'><geom size='.1'/></body></worldbody></mujoco>";
    let held = "<robot name='r'><link name='world'/><link name='l'><inertial><mass value='1'/>
        <inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>
        <joint name='j' type='fixed'><parent link='world'/><child link='l'/></joint></robot>";
    let ground = "<mujoco><worldbody><geom type='plane' size='1 1 1'/></worldbody></mujoco>";
    for (name, text) in [
        ("crate.sdf", crate_),
        ("post.xml", post),
        ("ground.xml", ground),
        ("nothing.xml", "<mujoco/>"),
        ("sun.sdf", "<sdf version='1.6'><light type='directional' name='sun'/></sdf>"),
        ("held.urdf", held),
    ] {
        let file = folder.0.join(name);
        std::fs::write(&file, text).unwrap();
        let [file, out, scene] =
            [file, folder.0.join("out"), folder.0.join(name).with_extension("yml")]
                .map(|path| path.to_str().unwrap().to_owned());
        for arguments in [
            &["check", &file][..],
            &["run", &file, "-o", &out],
            &["view", &file, "-o", &out],
            &["new", &file, "-o", &scene],
            &["check", &scene],
        ] {
            let (said, _) = ends(&quasistep(arguments), 0);
            assert!(said.contains("nothing in it can move"), "{arguments:?}: {said}");
        }
    }
}

/// Names, titles and keys of others are no commands to a terminal: what is not a letter is escaped,
/// in output, errors and tables.
#[test]
fn texts_of_others_are_shown_escaped() {
    let folder = Folder::new("untrusted");
    std::fs::create_dir_all(&folder.0).unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let link = |name: &str| {
        format!(
            "<link name=\"{name}\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial>
             <collision><geometry><box size=\"1 1 1\"/></geometry></collision></link>"
        )
    };
    file(
        "r.urdf",
        &format!(
            "<robot name=\"r\">{}{}<joint name=\"j&#10;k\u{202e}\" type=\"prismatic\"><parent link=\"a&#10;b\"/>
             <child link=\"c\u{9b}31m\"/><limit lower=\"-1\" upper=\"1\" effort=\"1\" velocity=\"1\"/></joint></robot>",
            link("a&#10;b"),
            link("c\u{9b}31m")
        ),
    );
    let scene = file(
        "s.yml",
        "title: \"boo\\e[2J\\nerror: not\\0 \\u202E\"\nstep: {duration: 0.02}\nmodels: {r: {urdf: r.urdf, joint: fixed, joints: {\"*\": {stiffness: 5}}}}\n",
    );
    let out = folder.0.join("out").to_str().unwrap().to_owned();
    let is_plain = |text: &str| !text.chars().any(|c| c != '\n' && quasistep_math::is_command(c));
    for arguments in
        [&["check", "--tree", &scene][..], &["run", &scene, "-o", &out, "--csv"], &["view", &out]]
    {
        let (said, errors) = ends(&quasistep(arguments), 0);
        assert!(is_plain(&said) && is_plain(&errors), "{said:?} {errors:?}");
        assert!(!said.lines().any(|line| line.starts_with("error")), "{said}");
        if arguments[0] == "check" {
            for words in ["boo\\u{1b}[2J\\nerror: not\\u{0} \\u{202e}", "r/a\\nb", "r/c\\u{9b}31m"]
            {
                assert!(said.contains(words), "{words}: {said}");
            }
        }
    }
    // the scene around the file knows the same names
    let robot = folder.0.join("r.urdf").to_str().unwrap().to_owned();
    let (said, _) = ends(&quasistep(&["check", &robot]), 0);
    assert!(said.contains("r/c\\u{9b}31m: prismatic joint, from -1 to 1 m, spring"), "{said}");
    let table = folder.read("out/states.csv");
    assert!(table.starts_with("t,r.j\\nk\\u{202e}\n") && is_plain(&table), "{table}");
    for (text, words) in [
        ("models: {\"a\\e[1m\": {shape: {box: {size: [1, 1, 1]}}}}\n", "`a\\u{1b}[1m` was seen"),
        ("models: {}\n\"gra\\u202Evity\": 1\n", "unknown key `gra\\u{202e}vity`"),
        ("models: {a: {cloud: \"\\e]0;x.ply\"}}\n", "\\u{1b}]0;x.ply"),
    ] {
        let (_, errors) = ends(&quasistep(&["check", &file("m.yml", text)]), 2);
        assert!(errors.contains(words) && is_plain(&errors), "{errors:?}");
    }
}

/// A table of commands that is no table is told without a word of it.
#[test]
fn errors_of_tables_quote_no_other_file() {
    let folder = Folder::new("tables");
    std::fs::create_dir_all(&folder.0).unwrap();
    std::fs::write(folder.0.join("secrets"), "root:hunter2:0\nother:swordfish:1\n").unwrap();
    std::fs::write(folder.0.join("key.csv"), "hunter2,swordfish\n1,2\n").unwrap();
    for name in ["secrets", "key.csv"] {
        let text = format!(
            "models:\n  f: {{joint: [{{slide: x, axis: [1, 0, 0], stiffness: 1}}]}}\ncommands:\n  - {{joint: f.x, csv: {{file: {name}, columns: [x]}}}}\n"
        );
        let scene = folder.0.join("s.yml");
        std::fs::write(&scene, text).unwrap();
        let (_, errors) = ends(&quasistep(&["check", scene.to_str().unwrap()]), 2);
        assert!(errors.contains("unknown column `t`") && errors.contains(name), "{errors}");
        assert!(!errors.contains("hunter2") && !errors.contains("swordfish"), "{errors}");
    }
}
