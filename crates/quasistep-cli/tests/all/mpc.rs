//! `quasistep mpc` as a user runs it, against the exact closed loops of MpcNote.

use crate::common::{Folder, ends, messages, quasistep, root};

/// A CSV file of numbers, accessed by column name.
struct Table {
    names: Vec<String>,
    rows: Vec<Vec<f64>>,
}

impl Table {
    fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let names = lines.next().unwrap().split(',').map(str::to_owned).collect();
        // text in a row becomes NaN
        let row = |line: &str| line.split(',').map(|c| c.parse().unwrap_or(f64::NAN)).collect();
        Self { names, rows: lines.map(row).collect() }
    }
    fn column(&self, name: &str) -> Vec<f64> {
        let at = self.names.iter().position(|n| n == name).unwrap_or_else(|| panic!("no {name}"));
        self.rows.iter().map(|r| r[at]).collect()
    }
}

fn far_apart(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
}

/// With a horizon of five, every row equals the reference.
#[test]
fn the_short_loop_is_the_reference_row_by_row() {
    let out = Folder::new("short");
    let (said, _) =
        ends(&quasistep(&["mpc", "scenes/point_robot.yml", "--csv", "-o", out.text()]), 0);
    assert!(said.contains("100 of 100 plans proven"), "{said}");
    let ours = Table::parse(&out.read("mpc.csv"));
    assert_eq!(
        ours.names.join(","),
        "k,q1,q2,v1,v2,u1,u2,c1,c2,c3,beta1,beta2,beta3,beta4,beta5,beta6,lam1,lam2,lam3,J,bound,nodes"
    );
    let data = root().join("crates/quasistep-control/tests/data/mpc_N5_final.csv");
    let want = Table::parse(&std::fs::read_to_string(data).unwrap());
    assert_eq!((ours.rows.len(), want.rows.len()), (100, 100));
    for name in ["k", "q1", "q2", "v1", "v2", "u1", "u2", "c1", "c2", "c3"] {
        let off = far_apart(&ours.column(name), &want.column(name));
        assert!(off < 1e-6, "{name}: {off}");
    }
    // the split of friction into two opposed impulses is not unique; only their difference is
    for pair in [["beta1", "beta2"], ["beta3", "beta4"], ["beta5", "beta6"]] {
        let signed = |t: &Table| -> Vec<f64> {
            t.column(pair[0]).iter().zip(t.column(pair[1])).map(|(a, b)| a - b).collect()
        };
        let off = far_apart(&signed(&ours), &signed(&want));
        assert!(off < 1e-6, "{pair:?}: {off}");
    }
    for (ours, want) in ours.column("J").iter().zip(want.column("J")) {
        assert!((ours / want - 1.0).abs() < 1e-7, "{ours} {want}");
    }
    let gap = far_apart(&ours.column("J"), &ours.column("bound"));
    assert!(gap <= 1e-9, "{gap}");
    for file in ["view.html", "summary.json", "states.csv", "contacts.csv", "plots/impulses.svg"] {
        assert!(out.0.join(file).is_file(), "no {file}");
    }
    let summary: serde_json::Value = serde_json::from_str(&out.read("summary.json")).unwrap();
    assert_eq!((&summary["proven"], &summary["finished"]), (&100.into(), &true.into()));
    assert!(summary["columns_of_mpc_csv"]["c2"].as_str().unwrap().contains("floor/floor"));
    // the robot is drawn at its goal
    let recording = quasistep_record::Recording::read(&out.0.join("recording.qsr")).unwrap();
    let goals = recording.goals.iter().map(|goal| {
        let p = goal.X_WB.translation;
        (recording.bodies[goal.body].as_str(), p.x, p.y)
    });
    assert_eq!(goals.collect::<Vec<_>>(), [("robot/robot", 3.0, -5.0)]);
    assert_eq!(recording.curves[0].name, "cost");
    // the frames of the recording are the states, one by one
    let states = Table::parse(&out.read("states.csv"));
    assert_eq!(states.rows.len(), 101);
    assert_eq!(far_apart(&states.column("robot.x"), &ours.column("q1")), 0.0);
}

/// With a horizon of twenty, costs, contact steps and force peaks equal the reference.
#[test]
fn the_long_loop_has_the_costs_contacts_and_peaks_of_the_reference() {
    let out = Folder::new("long");
    let run =
        ["mpc", "scenes/point_robot.yml", "--set", "mpc.horizon=20", "-o", out.text(), "--quiet"];
    let (said, errors) = ends(&quasistep(&run), 0);
    assert!(said.is_empty() && errors.is_empty(), "{said}{errors}");
    let table = Table::parse(&out.read("mpc.csv"));
    let (costs, bound) = (table.column("J"), table.column("bound"));
    // to the printed digits of the reference
    assert!((costs[0] - 505.425910).abs() < 5e-7 && (costs[99] - 10.151636).abs() < 5e-7);
    assert!(far_apart(&costs, &bound) < 1e-7);
    let floor = table.column("c2");
    let touches: Vec<usize> = (0..100).filter(|&k| floor[k] > 1e-9).collect();
    assert_eq!(touches, [33, 34].into_iter().chain(37..=88).collect::<Vec<_>>());
    let friction: Vec<f64> = (table.column("beta3").iter().zip(table.column("beta4")))
        .map(|(a, b)| (a - b).abs())
        .collect();
    let peak = (0..100).fold(0, |m, k| if friction[k] > friction[m] { k } else { m });
    assert_eq!(peak, 34);
    assert!((friction[34] - 0.049035).abs() < 5e-7 && (friction[59] - 0.009820).abs() < 5e-7);
}

/// An infeasible start gives exit code 1; the files and the reason are kept.
#[test]
fn a_start_beyond_its_bounds_is_named() {
    let out = Folder::new("fast");
    let run = ["mpc", "scenes/point_robot.yml", "--set", "mpc.start_velocity=2", "-o", out.text()];
    let (_, errors) = ends(&quasistep(&run), 1);
    assert!(errors.contains("upper bound of velocity of `robot.x` at the start"), "{errors}");
    let summary: serde_json::Value = serde_json::from_str(&out.read("summary.json")).unwrap();
    assert_eq!(summary["finished"], false);
    assert_eq!(out.read("mpc.csv").lines().count(), 1);
}

/// An error of the user gives one line with its place and exit code 2; nothing is written.
#[test]
fn mistakes_write_nothing() {
    let out = Folder::new("mistake");
    for (scene, change, words) in [
        ("pinch", "step.size=0.01", "no `mpc` section"),
        ("point_robot", "mpc.horizn=4", "did you mean `horizon`"),
        ("planar_hand", "mpc.model=dynamic", "`inputs` is missing"),
        ("planar_hand", "mpc.time_step=0.07", "no multiple of the simulator's 0.05 s"),
    ] {
        let scene = format!("scenes/{scene}.yml");
        let run = ["mpc", &scene, "--set", change, "-o", out.text(), "--quiet"];
        let (_, errors) = ends(&quasistep(&run), 2);
        assert!(errors.starts_with("error: ") && errors.contains(words), "{errors}");
        assert_eq!(messages(&errors).len(), 1, "{errors}");
        assert!(!out.0.exists(), "something was written");
    }
}

/// The figures of MpcNote are reproduced: every published number agrees to its printed digits.
#[test]
fn the_figures_of_the_note_are_met() {
    let out = Folder::new("figures");
    let figures = ["reproduce", "mpcnote_fig2", "mpcnote_fig3", "mpcnote_fig4", "-o", out.text()];
    ends(&quasistep(&figures), 0);
    for figure in ["mpcnote_fig2", "mpcnote_fig3", "mpcnote_fig4"] {
        assert!(out.0.join(format!("{figure}.svg")).is_file());
        for line in out.read(&format!("{figure}_numbers.csv")).lines().skip(1) {
            let numbers: Vec<f64> = line
                .rsplit('"')
                .nth(2)
                .unwrap()
                .split(',')
                .filter_map(|c| c.parse().ok())
                .collect();
            // a row without a published number has no difference to check
            let [published, _, difference] = numbers[..] else { continue };
            // published are 0.0433, 0.049, 156 and 505: half a unit of the last printed digit is at
            // most 0.3 %
            assert!(difference.abs() <= 0.003 * f64::abs(published), "{line}");
        }
    }
}

/// The problem of a scene's first plan is written for other solvers.
#[test]
fn a_plan_is_written_for_other_solvers() {
    let folder = Folder::new("export");
    std::fs::create_dir_all(&folder.0).unwrap();
    let scene = "scenes/planar_hand.yml";
    for (name, form, holds) in
        [("plan.lp", "sos1", "S1::"), ("plan.mps", "indicator", "\nINDICATORS\n")]
    {
        let file = folder.0.join(name);
        let file = file.to_str().unwrap();
        ends(&quasistep(&["mpc", scene, "--export", file, "--complementarity", form]), 0);
        assert!(folder.read(name).contains(holds));
    }
    let (_, errors) = ends(&quasistep(&["mpc", scene, "--export", "plan.txt"]), 2);
    assert!(errors.contains(".lp or .mps"), "{errors}");
    // the force with which two fingers squeeze has no bound
    let (_, errors) =
        ends(&quasistep(&["mpc", scene, "--export", "x.lp", "--complementarity", "big-m"]), 2);
    assert!(errors.contains("SOS1"), "{errors}");
}
