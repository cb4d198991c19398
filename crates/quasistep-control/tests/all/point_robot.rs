//! The figures of MpcNote against exact reference values.

use quasistep_control::{Mpc, MpcSettings, Plan, PlanStatus, point_robot};

const STEPS: usize = 100;

fn loop_of(horizon: usize) -> Vec<Plan> {
    let mut mpc = Mpc::new(point_robot::problem(horizon), MpcSettings::default()).unwrap();
    mpc.receding_horizon(&point_robot::START, STEPS).unwrap()
}

fn floor_impulse(plan: &Plan) -> f64 {
    plan.impulses[0][1]
}

fn floor_friction(plan: &Plan) -> f64 {
    (plan.impulses[0][5] - plan.impulses[0][6]).abs()
}

/// Steps in which the floor has an impulse above rounding.
fn contact_steps(plans: &[Plan]) -> Vec<usize> {
    (0..plans.len()).filter(|&k| floor_impulse(&plans[k]) > 1e-9).collect()
}

/// Every row of the closed loop with a horizon of five, against a solution proven to 1e-9 by
/// another solver.
#[test]
fn five_steps_ahead_every_row_of_the_reference() {
    let text = include_str!("../data/mpc_N5_final.csv");
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| header.iter().position(|h| *h == name).unwrap();
    let plans = loop_of(5);
    assert_eq!(plans.len(), STEPS);
    for (k, line) in lines.enumerate() {
        let row: Vec<&str> = line.split(',').collect();
        let number = |name: &str| row[place(name)].parse::<f64>().unwrap();
        let plan = &plans[k];
        assert_eq!(plan.status, PlanStatus::Optimal, "step {k}");
        let want = number("J");
        assert!((plan.cost / want - 1.0).abs() < 1e-7, "step {k}: {} against {want}", plan.cost);
        assert!(plan.gap() <= 1e-9, "step {k}: gap {}", plan.gap());
        for (i, name) in ["q1", "q2", "v1", "v2"].into_iter().enumerate() {
            let (x, want) = (plan.states[0][i], number(name));
            assert!((x - want).abs() < 1e-6, "step {k}: {name} is {x}, not {want}");
        }
        for (i, name) in ["u1", "u2"].into_iter().enumerate() {
            let (u, want) = (plan.inputs[0][i], number(name));
            assert!((u - want).abs() < 1e-6, "step {k}: {name} is {u}, not {want}");
        }
        for (i, name) in ["c1", "c2", "c3"].into_iter().enumerate() {
            let (c, want) = (plan.impulses[0][i], number(name));
            assert!((c - want).abs() < 1e-6, "step {k}: {name} is {c}, not {want}");
        }
    }
    assert_eq!(contact_steps(&plans), [81, 82]);
    // MpcNote, Figure 2: 0.0433
    let peak = plans.iter().map(floor_friction).fold(0.0, f64::max);
    assert!((peak - 0.043312).abs() < 5e-7, "{peak}");
}

#[test]
fn twenty_steps_ahead_every_step_is_proven() {
    let plans = loop_of(20);
    assert_eq!(plans.len(), STEPS);
    for (k, plan) in plans.iter().enumerate() {
        assert_eq!(plan.status, PlanStatus::Optimal, "step {k}");
        assert!(plan.gap() <= 1e-7, "step {k}: gap {}", plan.gap());
    }
    // MpcNote, Figure 4: 505
    assert!((plans[0].cost / 505.425910 - 1.0).abs() < 1e-8, "{}", plans[0].cost);
    assert!((plans[99].cost / 10.151636 - 1.0).abs() < 1e-7, "{}", plans[99].cost);
    let expected: Vec<usize> = [33, 34].into_iter().chain(37..=88).collect();
    assert_eq!(contact_steps(&plans), expected);
    // MpcNote, Figure 3: 0.049
    assert!((floor_friction(&plans[34]) - 0.049035).abs() < 5e-7, "{}", floor_friction(&plans[34]));
    assert!((floor_friction(&plans[59]) - 0.009820).abs() < 5e-7, "{}", floor_friction(&plans[59]));
    let peak = plans.iter().map(floor_friction).fold(0.0, f64::max);
    assert_eq!(peak.to_bits(), floor_friction(&plans[34]).to_bits());
    // MpcNote, Figure 4: the curves cross at step 25
    let short = loop_of(5);
    let crossing = (0..STEPS).find(|&k| plans[k].cost < short[k].cost);
    assert_eq!(crossing, Some(25));
    let worst = plans.iter().map(|p| p.nodes).max().unwrap();
    assert!(worst <= 150, "{worst} nodes at the worst step");
}

#[test]
fn a_hard_state_is_proven() {
    // a start close to the floor and fast: a big-M search needs 36 000 nodes
    let x = [1.5, -4.35, 0.3, -0.2];
    for (horizon, cost) in [(5, 15.155477364), (10, 26.025210590)] {
        let mut mpc = Mpc::new(point_robot::problem(horizon), MpcSettings::default()).unwrap();
        let plan = mpc.plan(&x, None).unwrap();
        assert_eq!(plan.status, PlanStatus::Optimal);
        assert!((plan.cost / cost - 1.0).abs() < 1e-9, "N = {horizon}: {}", plan.cost);
    }
}
