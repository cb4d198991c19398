//! Theorem 1 of Trinkle05 on the steps of scenes, through the hall: an answer with exact friction is optimal for the
//! convex program (29) at its own normal forces, and an optimum of (29) whose multipliers are these normal forces is
//! an answer. With the box cone the convex program is (36), a linear one where nothing has mass or springs; with
//! the diamond, the pyramid of Model-DLC, it is neither: its own support function takes the place of the norm.
#![allow(missing_docs)]

use quasistep::StepInput;
use quasistep_solvers::{LeastWork, Status};
use testkit::scene;

/// What the convex solver leaves of a cost or of forces, as a share of their terms.
const OPTIMAL: f64 = 1e-8;
/// Multipliers that are the normal forces.
const SAME: f64 = 1e-7;
/// Answers may be off by as much as their multipliers.
const ANSWER: f64 = 1e-6;

/// Steps seen, and those in which the multipliers were the normal forces: they need not be where contacts share load.
#[derive(Debug, Default)]
struct Count {
    steps: usize,
    same: usize,
}

fn both_ways(name: &str, changes: &[(&str, &str)]) -> Count {
    let scene = scene(name, changes);
    let mut work = scene.system.create_workspace();
    let mut state = scene.start.clone();
    let mut input = StepInput::default();
    let mut convex = LeastWork::new();
    let mut count = Count::default();
    for index in 1..=scene.n_steps() {
        let at = format!("{name} {changes:?}, step {index}");
        scene.sample(index as f64 * scene.params.time_step, &mut input);
        scene.system.step_with(&mut state, &input, &scene.params, &mut work).expect(&at);
        let (p, s) = work.last_friction().expect(&at);
        let normals: Vec<usize> = (0..p.n_contacts()).map(|i| p.rows_of(i).start).collect();
        let lambda_n: Vec<f64> = normals.iter().map(|k| s.lambda[*k]).collect();
        assert_eq!(convex.solve(p, &lambda_n), Status::Solved, "{at}");
        let force = lambda_n.iter().fold(0.0_f64, |m, l| m.max(*l));
        let speed = s.u.iter().chain(&s.x).fold(0.0_f64, |m, u| m.max(u.abs()));
        // a motion slower than any slip that counts is none
        let scale = (force * speed.max(quasistep::SLIP_SPEED_THRESHOLD)).max(f64::MIN_POSITIVE);
        // the answer is feasible for (29), and no motion takes less work
        assert!(normals.iter().all(|k| s.u[*k] >= -1e-9 * speed.max(1.0)), "{at}");
        let (ours, least) = (p.work(&s.x, &lambda_n), convex.cost);
        assert!(ours - least <= OPTIMAL * scale, "{at}: {ours} is more than {least}");
        count.steps += 1;
        let same = normals.iter().all(|k| (convex.lambda[*k] - s.lambda[*k]).abs() <= SAME * force);
        if same {
            // an optimum with these multipliers is an answer
            count.same += 1;
            let r = p.residuals(&convex.x, &convex.lambda).expect(&at);
            assert!(r.balance <= ANSWER * force && r.cone <= ANSWER * force, "{at}: {r:?}");
            assert!(r.overlap <= ANSWER * speed.max(1e-9), "{at}: {r:?}");
            let lost = r.complementarity.max(r.dissipation);
            assert!(lost <= ANSWER * scale, "{at}: {r:?}");
        }
    }
    count
}

#[test]
fn round_cones_and_the_program_29() {
    for (name, duration) in [
        ("fence_particle", "7"),
        ("gripper_2d", "0.35"),
        ("planar_push", ""),
        ("sphere_spin", "0.5"),
        ("box_pivot", ""),
        ("door", ""),
    ] {
        let mut changes = vec![("step.formulation", "coulomb"), ("step.cone", "round")];
        if !duration.is_empty() {
            changes.push(("step.duration", duration));
        }
        let count = both_ways(name, &changes);
        eprintln!("{name}: {count:?}");
        assert!(count.steps > 0);
        // one fence and one floor share nothing
        assert!(name != "fence_particle" || count.same == count.steps, "{count:?}");
    }
}

/// A particle on the floor without a fence: nothing moves it, and its weight is all there is.
#[test]
fn the_particle_alone() {
    let far = [
        ("commands", "[{joint: fence.x, expr: 0.5 - 0.1*t}, {joint: fence.y, expr: t}]"),
        ("facts", "[]"),
    ];
    let count = both_ways("fence_particle", &far);
    assert_eq!(count.same, count.steps);
}

#[test]
fn boxes_and_the_linear_program_36() {
    for name in ["fence_particle", "planar_push"] {
        let count = both_ways(name, &[("step.formulation", "coulomb"), ("step.cone", "box")]);
        eprintln!("{name}: {count:?}");
        assert!(count.steps > 0);
    }
}

#[test]
fn diamonds_and_a_program_of_their_own() {
    let count = both_ways("fence_particle", &[("step.cone", "4")]);
    eprintln!("{count:?}");
    assert!(count.steps > 0);
}
