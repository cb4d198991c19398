//! `quasistep plan` and `quasistep check-plan` as a user runs them.

use crate::common::{Folder, ends, quasistep};

const SCENE: &str = "scenes/push_to_pose.yml";

/// A plan to two poses in turn is found and written, the check accepts it, and the same seed finds
/// it again to the bit. With another friction, or with other commands, the check refuses it.
#[test]
fn a_plan_is_found_checked_and_refused_where_it_does_not_hold() {
    let out = Folder::new("plan");
    let (said, _) = ends(&quasistep(&["plan", SCENE, "--csv", "-o", out.text()]), 0);
    assert!(said.contains("solved in") && said.contains("view.html"), "{said}");
    // its goals are poses: nothing is missing of joints
    assert!(said.contains("joints by 0 rad or m") && !said.contains("0.00e0"), "{said}");
    for file in ["plan.csv", "states.csv", "recording.qsr", "plots/goal.svg", "plots/commands.svg"]
    {
        assert!(out.0.join(file).metadata().unwrap().len() > 100, "{file}");
    }
    // a page that is written anew shows the goals and the distance to them, too
    let page = out.read("view.html");
    assert!(page.contains("\"goals\":[") && page.contains("Distance to the goal, in tolerances"));
    ends(&quasistep(&["view", out.text()]), 0);
    assert!(out.read("view.html") == page, "the viewed page is another one");
    let text = out.read("plan.json");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["solved"], true);
    // where the last goal is: x, y and angle of the box
    let end = json["q"].as_array().unwrap().last().unwrap();
    let at = |k: usize| end[k].as_f64().unwrap();
    assert!((at(2) - 0.2).hypot(at(3)) <= 0.005 && at(4).abs() <= 0.05, "{end}");
    let plan = format!("{}/plan.json", out.text());
    let (said, _) = ends(&quasistep(&["check-plan", SCENE, &plan]), 0);
    assert!(said.contains("the plan holds"), "{said}");

    let again = Folder::new("plan_again");
    ends(&quasistep(&["plan", SCENE, "--no-page", "-o", again.text()]), 0);
    assert_eq!(again.read("plan.json"), text);

    let slippery = ["check-plan", SCENE, &plan, "--set", "friction.default=0.05"];
    let (_, why) = ends(&quasistep(&slippery), 1);
    assert!(why.contains("the plan is refused"), "{why}");
    let (_, why) = ends(&quasistep(&["check-plan", SCENE, &plan, "--step", "0.05"]), 2);
    assert!(why.contains("time_step_s is 0.1, and the scene has steps of 0.05 s"), "{why}");
    let lame = Folder::new("plan_lame");
    let file = format!("{}/plan.json", lame.text());
    std::fs::create_dir_all(lame.text()).unwrap();
    std::fs::write(&file, text.replacen("\"commands\"", "\"orders\"", 1)).unwrap();
    let (_, why) = ends(&quasistep(&["check-plan", SCENE, &file]), 2);
    assert!(why.contains("`commands` was not seen"), "{why}");
}

/// A goal out of reach ends with exit code 1, says what is missing, and keeps the nearest plan.
/// What makes no sense is told by its line before the search.
#[test]
fn goals_out_of_reach_and_mistakes_are_told() {
    let out = Folder::new("plan_far");
    let far = ["--set", "plan.bounds={finger.x: [-0.4, 0]}", "--set", "plan.limits={patience: 4}"];
    let first = [["plan", SCENE, "--no-page", "-o", out.text()].as_slice(), &far].concat();
    let (_, why) = ends(&quasistep(&first), 1);
    assert!(why.contains(" is missed by ") && why.contains("the nearest plan is in"), "{why}");
    assert!(why.contains("joints by 0 rad or m") && !why.contains("0.0000"), "{why}");
    assert!(out.read("plan.json").contains("\"solved\": false"));
    for (set, why) in [
        ("plan.planner=rrt", "valid: `local`, `mppi` or `cem`"),
        ("plan.rates=0", "0 was seen"),
        ("plan.bounds={finger.z: [0, 1]}", "finger.z"),
        ("plan.bounds={finger.x: [0, 1]}", "starts at -0.12, outside of its bounds 0 to 1"),
        ("plan.goals=[]", "no goal was seen"),
        ("plan.goals=[{frame: bax, pose: {}}]", "bax"),
        ("plan.goals=[{frame: box, pose: {}, angle: 0}]", "0 was seen"),
        (
            "plan.goals=[{joint: finger.y, value: 0, angle: 1}]",
            "the goal of a joint does not have it",
        ),
        ("step.tolerance=1e-4", "give `step.size`"),
        (
            "collisions={exclude: [[box/*, finger/*]]}",
            "push_to_pose.yml:22: plan.goals.0: goal 0: nothing moves `box/box`",
        ),
        (
            "models.wall={joint: fixed, pose: {xyz: [0.1, 0, 0]}, shape: {sphere: {radius: 0.02}}}",
            "push_to_pose.yml:22: plan.goals.0: goal 0: at this pose `box/box` is 0.0",
        ),
    ] {
        let (_, said) = ends(&quasistep(&["plan", SCENE, "--no-page", "--set", set]), 2);
        assert!(said.contains(why), "{set}: {said}");
    }
    let narrow = ["check", SCENE, "--set", "plan.bounds={finger.x: [0, 1]}"];
    let (_, said) = ends(&quasistep(&narrow), 2);
    assert!(said.contains("--set plan.bounds: command `finger.x` starts at -0.12"), "{said}");
    let (_, said) = ends(&quasistep(&["plan", "scenes/pinch.yml"]), 2);
    assert!(said.contains("no `plan` section was seen"), "{said}");
}
