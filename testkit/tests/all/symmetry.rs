//! The motion of a world does not depend on its representation: order and names of bodies and
//! shapes, exchange of A and B of every pair, translation, rotation, reflection, units.
//! `docs/symmetry.md` lists the known exceptions.

use quasistep::Cone;
use quasistep_math::{Quat, Vec3};
use quasistep_scene::Scene;
use std::ops::ControlFlow;
use testkit::scene;
use testkit::still_worlds::{FORMULATIONS, still_world};
use testkit::symmetry::{Change, World};

/// Acceptable difference of motions, as a share of the largest shape or in rad. Rounding grows to
/// this size in a few steps.
const SAME: f64 = 1e-6;
/// Number of random worlds for each formulation and cone. The variable `SYMMETRY_WORLDS` sets a
/// larger number.
const WORLDS: u64 = 10;
/// One world in this many may differ for a reason given in `docs/symmetry.md`. None of the first
/// [`WORLDS`] does.
const KNOWN: u64 = 20;

fn changes(cone: Cone) -> Vec<Change> {
    let axis = Vec3::new(0.3, 0.5, 0.8).try_normalize().unwrap();
    let all = [
        Change::Order(1),
        Change::Exchanged,
        Change::Shifted(Vec3::new(3.0, -2.0, 1.0)),
        Change::Lengths(1000.0),
        Change::Lengths(1e-3),
        Change::Masses(1000.0),
        Change::Turned(Quat::from_axis_angle(axis, 1.1)),
        Change::Mirrored,
    ];
    all.into_iter().filter(|c| cone == Cone::Round || c.keeps_pyramids()).collect()
}

#[test]
fn random_worlds_move_alike_however_they_are_told() {
    let asked = std::env::var("SYMMETRY_WORLDS").ok().map(|n| n.parse().expect("a number"));
    let count: u64 = asked.unwrap_or(WORLDS);
    let mut failed = Vec::new();
    for formulation in FORMULATIONS {
        for cone in [Cone::Round, Cone::Pyramid(4)] {
            let changes = changes(cone);
            let (mut apart, mut ended) = (vec![0; changes.len()], vec![0; changes.len()]);
            let mut steps = 0;
            for seed in 0..count {
                let world = still_world(seed, formulation, cone);
                let told = world.run(None);
                steps += told.unique;
                for (k, change) in changes.iter().enumerate() {
                    let other = world.run(Some(*change));
                    let (worst, step) = told.difference(&other, SAME);
                    let ends = step.is_none() && told.stopped != other.stopped;
                    apart[k] += u64::from(step.is_some());
                    ended[k] += u64::from(ends);
                    if step.is_some() || ends {
                        let stops = [&told.stopped, &other.stopped];
                        println!("world {seed}, {change:?}: {worst:.1e}, step {step:?}, {stops:?}");
                    }
                }
            }
            println!("{formulation}, {cone:?}, {count} worlds, {steps} steps");
            println!("  apart {apart:?}, ended otherwise {ended:?}");
            assert!(steps as u64 > 5 * count, "{formulation}: {steps} steps prove little");
            if apart.iter().chain(&ended).any(|n| n * KNOWN > count) {
                failed.push((formulation, cone, apart, ended));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// Shipped scenes with round cones.
const SCENES: [&str; 5] = ["pinch", "box_pivot", "tunnel", "gripper_2d", "planar_push"];
/// Acceptable difference in scenes whose contact areas depend on forces. Exact forces that bodies
/// share between sticking contacts are not unique, so a rotated world has other areas.
const SHARED: f64 = 5e-3;
/// Number of steps of a scene. The variable `SYMMETRY_STEPS` sets a larger number.
const STEPS: usize = 15;
/// Steps of the tunnel with midpoint. Its finger pushes the box past a corner in steps of 0.25 s: the box turns away, and rounding grows
/// fivefold and more a step.
const STEPS_OF_TUNNEL: usize = 8;

#[test]
fn shipped_scenes_move_alike_however_they_are_told() {
    let asked = std::env::var("SYMMETRY_STEPS").ok().map(|n| n.parse().expect("a number"));
    let steps = asked.unwrap_or(STEPS);
    let mut failed = Vec::new();
    for name in SCENES {
        for formulation in FORMULATIONS {
            let (law, integration) = match formulation {
                "midpoint" => ("convex", "midpoint"),
                law => (law, "euler"),
            };
            let unstable = name == "tunnel" && integration == "midpoint";
            let steps = if unstable { steps.min(STEPS_OF_TUNNEL) } else { steps };
            let set = [
                ("step.cone", "round"),
                testkit::law(law)[0],
                testkit::law(law)[1],
                ("step.integration", integration),
            ];
            let scene = scene(name, &set);
            let mut inputs = Vec::new();
            scene.run(None, &mut |step| {
                inputs.push(step.input.clone());
                if inputs.len() < steps {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            });
            let mut params = scene.params.clone();
            params.uniqueness = law != "convex";
            let mut start = scene.start.clone();
            start.v.clear();
            let world = World::new(&scene.system, &start, &params, &inputs);
            let told = world.run(None);
            for change in changes(Cone::Round) {
                let other = world.run(Some(change));
                let shared = law != "convex" && matches!(change, Change::Turned(_));
                let (worst, step) = told.difference(&other, if shared { SHARED } else { SAME });
                let stops = [&told.stopped, &other.stopped];
                let unique = told.unique.min(other.unique);
                let line = format!(
                    "{name}, {formulation}, {change:?}: {worst:.1e} in {unique} steps, {stops:?}"
                );
                println!("{line}");
                if step.is_some() || stops[0] != stops[1] {
                    failed.push(line);
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Contacts that push across a gap take substeps, however small their forces are in newtons: here
/// 1e-9 of those in the scene, below 1e-7 N.
#[test]
fn bodies_of_a_microgram_fall_as_those_of_a_kilogram() {
    let path = testkit::root().join("testkit/tests/symmetry/falling.yml");
    let scene = Scene::load_with(&path, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut inputs = Vec::new();
    scene.run(None, &mut |step| {
        inputs.push(step.input.clone());
        ControlFlow::Continue(())
    });
    let world = World::new(&scene.system, &scene.start, &scene.params, &inputs);
    let (told, light) = (world.run(None), world.run(Some(Change::Masses(1e-9))));
    assert_eq!([told.poses.len(), light.poses.len()], [20; 2], "{:?}", light.stopped);
    let (worst, step) = told.difference(&light, SAME);
    assert_eq!(step, None, "{worst}");
}
