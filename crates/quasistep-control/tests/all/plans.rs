//! Properties of a plan: it satisfies the system, its reported cost is correct, its bound is valid,
//! and the explanation of an infeasible problem is correct.

use quasistep_control::{
    AtStep, Bounds, Constraint, Cost, Integers, Lcs, Limits, Mpc, MpcSettings, Plan, PlanStatus,
    Problem, ProblemError, Search, point_robot,
};
use std::collections::BTreeMap;

/// A start state close to the floor and moving towards it.
const LOW: [f64; 4] = [1.5, -4.35, 0.3, -0.2];

fn plan(problem: &Problem, x0: &[f64]) -> Plan {
    Mpc::new(problem.clone(), MpcSettings::default()).unwrap().plan(x0, None).unwrap()
}

fn row(M: &[f64], i: usize, x: &[f64]) -> f64 {
    M[i * x.len()..(i + 1) * x.len()].iter().zip(x).map(|(m, x)| m * x).sum()
}

/// Largest violation of dynamics and complementarity, and the cost, computed from the definitions.
fn audit(problem: &Problem, plan: &Plan) -> (f64, f64) {
    let (mut worst, mut cost) = (0.0_f64, 0.0);
    for k in 0..=problem.horizon {
        let Q = if k == problem.horizon { &problem.cost.Q_f } else { &problem.cost.Q };
        let goal = &problem.cost.goal[k.min(problem.cost.goal.len() - 1)];
        let off: Vec<f64> = plan.states[k].iter().zip(goal).map(|(x, d)| x - d).collect();
        cost += (0..off.len()).map(|i| off[i] * row(Q, i, &off)).sum::<f64>();
        if k == problem.horizon {
            break;
        }
        let lcs = &problem.models[if problem.models.len() == 1 { 0 } else { k }];
        let (x, u, gamma) = (&plan.states[k], &plan.inputs[k], &plan.impulses[k]);
        let next = &plan.states[k + 1];
        cost += (0..u.len()).map(|i| u[i] * row(&problem.cost.R, i, u)).sum::<f64>();
        for i in 0..lcs.n_x {
            let moved = row(&lcs.A, i, x) + row(&lcs.B, i, u) + row(&lcs.C, i, gamma) + lcs.f[i];
            worst = worst.max((moved - next[i]).abs());
        }
        for i in 0..lcs.n_gamma {
            let w = row(&lcs.D, i, next) + row(&lcs.E, i, gamma) + lcs.a[i];
            worst = worst.max(-w).max(-gamma[i]).max(w.min(gamma[i]));
        }
    }
    (worst, cost)
}

#[test]
fn contacts_are_recognised() {
    let found = point_robot::lcs().contacts();
    assert_eq!(found.len(), 3);
    for (i, contact) in found.iter().enumerate() {
        assert_eq!(contact.normal, i);
        assert_eq!(contact.tangents, [3 + 2 * i, 4 + 2 * i]);
        assert_eq!((contact.slip, contact.mu), (9 + i, 0.8));
    }
    // a tangential column that is not the negative of its partner prevents a Coulomb contact
    let mut bent = point_robot::lcs();
    bent.C[3] += 1e-3;
    assert_eq!(bent.contacts().len(), 2);
}

#[test]
fn a_plan_satisfies_the_system_and_costs_what_it_says() {
    let mut tracking = point_robot::problem(8);
    tracking.cost.goal = (0..=8).map(|k| vec![1.5 + 0.05 * f64::from(k), -4.4, 0.5, 0.0]).collect();
    tracking.cost.Q_f.iter_mut().for_each(|q| *q *= 20.0);
    for problem in [point_robot::problem(8), tracking] {
        let plan = plan(&problem, &LOW);
        assert_eq!(plan.status, PlanStatus::Optimal);
        let (worst, cost) = audit(&problem, &plan);
        // impulses and speeds are of order 0.1 to 1; rows are satisfied to 1e-12 of their terms
        assert!(worst < 1e-9, "{worst}");
        assert!((cost - plan.cost).abs() < 1e-9, "{cost} against {}", plan.cost);
    }
}

/// The terminal weight and every stage of a goal trajectory enter the cost: MpcNote (19).
#[test]
fn a_wanted_trajectory_is_followed() {
    let mut problem = point_robot::problem(6);
    problem.cost.Q_f.iter_mut().for_each(|q| *q *= 100.0);
    problem.cost.R.iter_mut().for_each(|r| *r *= 1e-6);
    let x0 = [0.0, -3.0, 0.5, 0.0];
    // exactly reachable: a push of 0.5 N along x
    let mut wanted = vec![x0.to_vec()];
    for k in 0..6 {
        let v = wanted[k][2] + 0.05;
        wanted.push(vec![wanted[k][0] + 0.1 * v, -3.0, v, 0.0]);
    }
    problem.cost.goal = wanted.clone();
    let plan = plan(&problem, &x0);
    for (x, wanted) in plan.states.iter().zip(&wanted) {
        for (x, wanted) in x.iter().zip(wanted) {
            assert!((x - wanted).abs() < 1e-3, "{x} against {wanted}");
        }
    }
}

#[test]
fn the_same_model_at_every_step_is_one_model() {
    let once = point_robot::problem(5);
    let mut often = once.clone();
    often.models = vec![point_robot::lcs(); 5];
    let (a, b) = (plan(&once, &LOW), plan(&often, &LOW));
    assert_eq!(a.cost.to_bits(), b.cost.to_bits());
    assert_eq!(a.states, b.states);
}

#[test]
fn too_fast_at_the_start_is_named() {
    let x0 = [0.0, -4.0, 1.5, 0.0];
    let hard = plan(&point_robot::problem(5), &x0);
    assert_eq!(hard.status, PlanStatus::Infeasible);
    assert_eq!(hard.conflict, [AtStep { step: 0, constraint: Constraint::StateUpper(2) }]);
    assert!(!hard.is_usable() && hard.bound == f64::INFINITY);

    // soft bound: 1 N reduces the speed by 0.1 m/s per step, so the bound of 1 m/s is violated for
    // four more steps
    let mut problem = point_robot::problem(8);
    problem.bounds.state = problem.bounds.state.clone().soft(1e3);
    let soft = plan(&problem, &x0);
    assert_eq!(soft.status, PlanStatus::Optimal);
    let named: Vec<(usize, Constraint)> =
        soft.relaxed.iter().map(|r| (r.at.step, r.at.constraint)).collect();
    let expected: Vec<_> = (0..5).map(|k| (k, Constraint::StateUpper(2))).collect();
    assert_eq!(named, expected);
    for (k, relaxed) in soft.relaxed.iter().enumerate() {
        let over = 0.5 - 0.1 * k as f64;
        assert!((relaxed.amount - over).abs() < 1e-8, "step {k}: {}", relaxed.amount);
    }
}

#[test]
fn bounds_that_can_be_held_are_held_though_soft() {
    let hard = point_robot::problem(6);
    let mut soft = hard.clone();
    soft.bounds.state = soft.bounds.state.clone().soft(1e-3);
    let (a, b) = (plan(&hard, &LOW), plan(&soft, &LOW));
    assert!((a.cost - b.cost).abs() < 1e-9 && b.relaxed.is_empty());
}

#[test]
fn a_bound_that_brakes_too_late_is_named() {
    let mut problem = point_robot::problem(5);
    problem.bounds.state.upper[0] = 1.0;
    // 0.1 m ahead at 0.9 m/s: braking at 1 m/s² needs 0.4 m
    let stuck = plan(&problem, &[0.9, -3.0, 0.9, 0.0]);
    assert_eq!(stuck.status, PlanStatus::Infeasible);
    let names: Vec<Constraint> = stuck.conflict.iter().map(|c| c.constraint).collect();
    assert!(names.contains(&Constraint::StateUpper(0)), "{names:?}");
    assert!(names.contains(&Constraint::InputLower(0)), "{names:?}");
    let words = stuck.conflict.last().unwrap().to_string();
    assert!(words.contains("at step"), "{words}");
}

#[test]
fn a_system_without_answer_is_named() {
    // w = −gamma − 1 is never ≥ 0; the first model is feasible, from the second step on there is no
    // solution
    let fine = Lcs {
        n_x: 1,
        n_u: 1,
        n_gamma: 1,
        A: vec![1.0],
        B: vec![1.0],
        C: vec![1.0],
        D: vec![0.0],
        E: vec![1.0],
        f: vec![0.0],
        a: vec![0.5],
    };
    let broken = Lcs { E: vec![-1.0], a: vec![-1.0], ..fine.clone() };
    let problem = Problem {
        horizon: 3,
        models: vec![fine, broken.clone(), broken],
        cost: Cost { Q: vec![1.0], Q_f: vec![1.0], R: vec![1.0], goal: vec![vec![0.0]] },
        bounds: Bounds { input: Limits::symmetric(&[1.0]), ..Bounds::default() },
    };
    let stuck = plan(&problem, &[0.3]);
    assert_eq!(stuck.status, PlanStatus::Infeasible);
    assert_eq!(stuck.conflict[0], AtStep { step: 2, constraint: Constraint::Contact(0) });
}

#[test]
fn inputs_change_no_faster_than_their_bounds() {
    let mut problem = point_robot::problem(6);
    problem.bounds.input_rate = Limits::symmetric(&[0.002, 0.002]);
    let mut mpc = Mpc::new(problem, MpcSettings::default()).unwrap();
    let plans = mpc.receding_horizon(&LOW, 6).unwrap();
    assert_eq!(plans.len(), 6);
    let mut last: Option<Vec<f64>> = None;
    let mut used = 0;
    for plan in &plans {
        assert_eq!(plan.status, PlanStatus::Optimal);
        let applied = last.iter().chain(&plan.inputs);
        let inputs: Vec<&Vec<f64>> = applied.collect();
        for pair in inputs.windows(2) {
            for (a, b) in pair[0].iter().zip(pair[1]) {
                assert!((b - a).abs() <= 0.002 + 1e-9, "{a} to {b}");
                used += usize::from((b - a).abs() > 0.002 - 1e-9);
            }
        }
        last = Some(plan.inputs[0].clone());
    }
    assert!(used > 0, "the bound was never active");
}

#[test]
fn a_stopped_plan_has_a_valid_bound() {
    let problem = point_robot::problem(10);
    let best = plan(&problem, &LOW).cost;
    let mut early = 0;
    for limit in [0, 1, 2, 5, 10, 20, 50, 100] {
        let mut mpc = Mpc::new(problem.clone(), MpcSettings::default()).unwrap();
        let mut asked = 0;
        let mut stop = || {
            asked += 1;
            asked > limit
        };
        let plan = mpc.plan_until(&LOW, None, &mut stop).unwrap();
        assert!(plan.bound <= best + 1e-9, "{} after {limit}", plan.bound);
        assert!(plan.cost >= best - 1e-9);
        if plan.status == PlanStatus::Optimal {
            assert!(plan.gap() <= 1e-9);
        } else {
            early += 1;
        }
    }
    assert!(early >= 3);
}

#[test]
fn a_local_plan_is_a_plan_with_a_bound() {
    let problem = point_robot::problem(15);
    for x0 in [LOW, point_robot::START, [0.5, -4.39, 0.4, -0.05]] {
        let best = plan(&problem, &x0).cost;
        let settings = MpcSettings { search: Search::Local, ..MpcSettings::default() };
        let local = Mpc::new(problem.clone(), settings).unwrap().plan(&x0, None).unwrap();
        assert!(local.is_usable() && local.nodes <= 1);
        assert!(local.bound <= best + 1e-9 && best <= local.cost + 1e-9);
        assert!(local.cost < 1.01 * best, "{} against {best}", local.cost);
        let (worst, cost) = audit(&problem, &local);
        assert!(worst < 1e-9 && (cost - local.cost).abs() < 1e-9);
    }
}

#[test]
fn warm_and_cold_agree() {
    let problem = point_robot::problem(10);
    let mut mpc = Mpc::new(problem.clone(), MpcSettings::default()).unwrap();
    for warm in mpc.receding_horizon(&LOW, 5).unwrap() {
        let cold = plan(&problem, &warm.states[0]);
        assert!((warm.cost - cold.cost).abs() < 2e-9);
    }
}

/// A warm and a cold search find the same optimum although they prune different nodes. A difference
/// would mean that one of them closed the node of the optimum. While the robot slides along the
/// floor to the wall, rows contradict one another only by rounding.
#[test]
fn warm_and_cold_agree_where_a_loop_is_disturbed() {
    let problem = point_robot::problem(20);
    let mut mpc = Mpc::new(problem.clone(), MpcSettings::default()).unwrap();
    for (start, shift) in [(2.2, 2e-3), (2.3, 2e-3), (2.35, 0.0), (2.35, 1e-3), (2.3, 7e-3)] {
        let mut x = vec![start, -4.39, 0.8, -0.1];
        let mut last: Option<Plan> = None;
        for k in 0..6 {
            let warm = mpc.plan(&x, last.as_ref()).unwrap();
            let cold = mpc.plan(&x, None).unwrap();
            for plan in [&warm, &cold] {
                assert_eq!(plan.status, PlanStatus::Optimal, "{start}, {shift}, step {k}");
                let (worst, cost) = audit(&problem, plan);
                assert!(worst < 1e-9 && (cost - plan.cost).abs() < 1e-9, "{worst}, {cost}");
            }
            let apart = (warm.cost - cold.cost).abs() / cold.cost;
            assert!(apart < 1e-9, "{start}, {shift}, step {k}: {} and {}", warm.cost, cold.cost);
            x.clone_from(&warm.states[1]);
            for (i, x) in x.iter_mut().enumerate() {
                *x += shift * (12.9898 * f64::from(k) + 78.233 * i as f64).sin();
            }
            x[1] = x[1].max(-4.39);
            last = Some(warm);
        }
    }
}

/// A regression: no plan is found at the root, so the search begins without one. It must end; it
/// once did not within 3000 nodes.
#[test]
fn a_search_that_begins_without_a_plan_ends() {
    let settings = MpcSettings { max_nodes: 1000, ..MpcSettings::default() };
    let mut mpc = Mpc::new(point_robot::problem(20), settings).unwrap();
    let x = [3.6954672764, -4.39, 0.0635772592, -0.0999207287];
    let plan = mpc.plan(&x, None).unwrap();
    assert_eq!(plan.status, PlanStatus::Optimal);
    assert!(plan.nodes <= 100, "{} nodes", plan.nodes);
}

#[test]
fn files_name_what_is_in_reach() {
    let mut mpc = Mpc::new(point_robot::problem(5), MpcSettings::default()).unwrap();
    let reachable = mpc.reachable(&LOW).unwrap();
    // only the floor can act; 0.05 m at 0.2 m/s takes more than one step
    assert!(reachable.iter().all(|at| at.constraint == Constraint::Contact(1)));
    assert_eq!(reachable.iter().map(|at| at.step).collect::<Vec<_>>(), [2, 3, 4, 5]);
    let sos = mpc.export_lp(&LOW, None, Integers::Sos1).unwrap();
    assert_eq!(sos.matches("S1::").count(), 4 * 4);
    let big_m = mpc.export_lp(&LOW, None, Integers::BigM).unwrap();
    assert_eq!(big_m.matches("\n mg").count(), 4 * 4);
    assert!(sos.lines().chain(big_m.lines()).all(|line| line.len() <= 255));
    // every M must admit the optimal plan
    let plan = mpc.plan(&LOW, None).unwrap();
    for k in 2..=5 {
        for i in [1, 5, 6, 10] {
            let start = big_m.find(&format!(" mg{k}_{i}: ")).unwrap();
            let line = big_m[start..].lines().next().unwrap();
            let M: f64 =
                line.split(" - ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
            assert!(plan.impulses[k - 1][i] <= M, "{line} against {}", plan.impulses[k - 1][i]);
        }
    }
    // between the floor and the inclined wall a body may jam, so its impulses have no bound
    let mut far = Mpc::new(point_robot::problem(20), MpcSettings::default()).unwrap();
    let error = far.export_lp(&point_robot::START, None, Integers::BigM).unwrap_err();
    assert!(matches!(error, ProblemError::NoBigM { .. }), "{error}");
    assert!(far.export_lp(&point_robot::START, None, Integers::Sos1).is_ok());
}

/// The MPS file contains the same problem as the LP file.
#[test]
fn both_formats_hold_the_same_problem() {
    let mut problem = point_robot::problem(5);
    problem.bounds.input_rate = Limits::symmetric(&[0.05, f64::INFINITY]);
    problem.cost.R = vec![10.0, 1.0, 1.0, 10.0];
    let mut mpc = Mpc::new(problem, MpcSettings::default()).unwrap();
    for (integers, sets, indicators, binaries) in
        [(Integers::Sos1, 16, 0, 0), (Integers::BigM, 0, 0, 16), (Integers::Indicator, 0, 32, 16)]
    {
        let lp = mpc.export_lp(&LOW, None, integers).unwrap();
        let mps = mpc.export_mps(&LOW, None, integers).unwrap();
        assert_eq!((lp.matches("S1::").count(), mps.matches("\n S1 ").count()), (sets, sets));
        assert_eq!(lp.matches(" -> ").count(), indicators);
        assert_eq!(mps.matches("\n IF ").count(), indicators);
        assert_eq!(mps.matches("\n BV ").count(), binaries);
        let rows = |head: &str| mps.matches(&format!("\n {head} ")).count();
        let section = lp.split("Subject To\n").nth(1).unwrap().split("Bounds\n").next().unwrap();
        assert_eq!(section.matches(':').count(), rows("E") + rows("L") + rows("G"));
        // 1/2 xᵀ Q x: doubled squares, and the mixed term of R once
        assert!(mps.contains("\n u0_0 u0_0 20\n") && mps.contains("\n u0_1 u0_0 2\n"), "{mps}");
        assert!(lp.contains("20 u0_0^2") && lp.contains("4 u0_1 * u0_0"), "{lp}");
        let order = ["ROWS", "COLUMNS", "RHS", "BOUNDS", "QUADOBJ", "ENDATA"];
        let places: Vec<usize> =
            order.iter().map(|s| mps.find(&format!("\n{s}\n")).unwrap()).collect();
        assert!(places.is_sorted(), "{places:?}");
    }
}

/// Cost and largest violation of a free MPS file at the named values.
fn evaluate_mps(mps: &str, values: &BTreeMap<String, f64>) -> (f64, f64) {
    let mut section = "";
    let mut senses: BTreeMap<&str, &str> = BTreeMap::new();
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    let mut levels: BTreeMap<&str, f64> = BTreeMap::new();
    let mut bounds: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    let mut cost = 0.0;
    for line in mps.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if !line.starts_with(' ') {
            section = words[0];
            continue;
        }
        let number = |at: usize| words[at].parse::<f64>().unwrap();
        match (section, words[0]) {
            ("ROWS", sense) => _ = senses.insert(words[1], sense),
            ("COLUMNS", column) => {
                *sums.entry(words[1]).or_default() += number(2) * values[column];
                bounds.insert(column, (0.0, f64::INFINITY));
            }
            ("RHS", _) => _ = levels.insert(words[1], number(2)),
            ("BOUNDS", kind) => {
                let bound = bounds.get_mut(words[2]).unwrap();
                match kind {
                    "FX" => *bound = (number(3), number(3)),
                    "FR" => *bound = (f64::NEG_INFINITY, f64::INFINITY),
                    "MI" => bound.0 = f64::NEG_INFINITY,
                    "LO" => bound.0 = number(3),
                    _ => bound.1 = number(3),
                }
            }
            ("QUADOBJ", _) => {
                let twice = if words[0] == words[1] { 0.5 } else { 1.0 };
                cost += twice * number(2) * values[words[0]] * values[words[1]];
            }
            _ => {}
        }
    }
    let mut worst = 0.0_f64;
    for (row, sense) in senses {
        let slack = sums.get(row).unwrap_or(&0.0) - levels.get(row).unwrap_or(&0.0);
        match sense {
            "N" => cost += slack,
            "G" => worst = worst.max(-slack),
            "L" => worst = worst.max(slack),
            _ => worst = worst.max(slack.abs()),
        }
    }
    for (column, (lower, upper)) in bounds {
        worst = worst.max(lower - values[column]).max(values[column] - upper);
    }
    (cost, worst)
}

/// If no plan satisfies the soft bounds, they are soft in the file. Our plan satisfies the file's
/// rows and has the reported cost there.
#[test]
fn soft_bounds_are_soft_in_a_file() {
    let mut problem = point_robot::problem(5);
    problem.bounds.state = problem.bounds.state.clone().soft(100.0);
    problem.bounds.input_rate = Limits::symmetric(&[0.05, 0.3]).soft(3.0);
    let (n_x, n_u) = (problem.n_x(), problem.n_u());
    // a start within bounds, and one faster than they permit
    for (x0, gives_way) in [(LOW, false), ([1.5, -4.35, 1.5, -0.2], true)] {
        let mut mpc = Mpc::new(problem.clone(), MpcSettings::default()).unwrap();
        let plan = mpc.plan(&x0, None).unwrap();
        assert_eq!(plan.relaxed.iter().any(|r| r.at.step > 0), gives_way, "{:?}", plan.relaxed);
        let mps = mpc.export_mps(&x0, None, Integers::Sos1).unwrap();
        let lp = mpc.export_lp(&x0, None, Integers::Sos1).unwrap();
        assert_eq!((mps.contains(" sxu1_2 "), lp.contains(" sxu1_2")), (gives_way, gives_way));
        let mut values = BTreeMap::from([("one".to_owned(), 1.0)]);
        let mut put = |name: String, value: f64| _ = values.insert(name, value);
        let (state, rate) = (&problem.bounds.state, &problem.bounds.input_rate);
        for k in 0..5 {
            let (next, gamma, lcs) = (&plan.states[k + 1], &plan.impulses[k], &problem.models[0]);
            for i in 0..n_x {
                put(format!("x{}_{i}", k + 1), next[i]);
                put(format!("sxl{}_{i}", k + 1), (state.lower[i] - next[i]).max(0.0));
                put(format!("sxu{}_{i}", k + 1), (next[i] - state.upper[i]).max(0.0));
            }
            for i in 0..n_u {
                put(format!("u{k}_{i}"), plan.inputs[k][i]);
                let change = if k > 0 { plan.inputs[k][i] - plan.inputs[k - 1][i] } else { 0.0 };
                put(format!("srl{k}_{i}"), (rate.lower[i] - change).max(0.0));
                put(format!("sru{k}_{i}"), (change - rate.upper[i]).max(0.0));
            }
            for i in 0..lcs.n_gamma {
                let w = row(&lcs.D, i, next) + row(&lcs.E, i, gamma) + lcs.a[i];
                put(format!("g{}_{i}", k + 1), gamma[i]);
                put(format!("w{}_{i}", k + 1), w);
            }
        }
        let (cost, worst) = evaluate_mps(&mps, &values);
        assert!((cost - plan.cost).abs() < 1e-9 * plan.cost, "{cost} against {}", plan.cost);
        assert!(worst < 1e-8, "{worst}");
    }
}

#[test]
fn mistakes_are_told() {
    let settings = MpcSettings::default();
    let told = |change: fn(&mut Problem)| {
        let mut problem = point_robot::problem(3);
        change(&mut problem);
        Mpc::new(problem, settings).unwrap_err().to_string()
    };
    assert_eq!(told(|p| p.horizon = 0), "`horizon` is 0; it must be at least 1");
    assert!(told(|p| p.models.push(point_robot::lcs())).starts_with("there are 2 models"));
    assert!(told(|p| p.models[0].D[3] = f64::NAN).contains("entry 3 of `D` is NaN"));
    assert!(told(|p| p.cost.R[0] = -1.0).contains("`R` must be symmetric"));
    assert!(told(|p| p.bounds.input.lower = vec![2.0, 2.0]).contains("lower 2 is above upper 1"));
    assert!(told(|p| p.cost.goal.clear()).contains("`goal`"));
    let mut mpc = Mpc::new(point_robot::problem(3), settings).unwrap();
    assert!(mpc.plan(&[0.0; 3], None).is_err());
    assert!(mpc.plan(&[0.0, f64::NAN, 0.0, 0.0], None).is_err());
    assert!(mpc.set_goal(vec![vec![0.0; 3]]).is_err());
}
