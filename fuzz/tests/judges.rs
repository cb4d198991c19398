//! Judges detect errors: a correct step passes, and a step with a changed report gives the matching
//! finding.
#![allow(missing_docs)]

use fuzz::Verdict;
use fuzz::worlds::{Taken, balance, contacts};
use quasistep::{State, StepInput, StepReport};
use quasistep_scene::Scene;
use std::path::Path;

/// A finger pushes a box over a table: the box slides, and the finger's spring is stretched.
const PUSHED: &str = "
step: {size: 0.1, inertia: mass, max_overlap: .inf, friction: FORMULATION}
models:
  table: {joint: fixed, friction: 0.4, shape: {half_space: {}}}
  ball: {mass: 1, pose: {xyz: [0, 0, 0.05]}, joint: [{slide: x, axis: [1, 0, 0]}, {slide: z, axis: [0, 0, 1]}], shape: {sphere: {radius: 0.05}}}
  finger: {gravity: false, joint: [{slide: x, axis: [1, 0, 0], stiffness: 500}], pose: {xyz: [-0.07, 0, 0.05]}, shape: {sphere: {radius: 0.02}}}
commands: [{joint: finger.x, constant: 0.05}]
collisions: {exclude: [[finger, table]]}
";

/// Findings on the first step with a changed report; `formulation` selects the friction law.
fn blamed(formulation: &str, change: impl FnOnce(&mut StepReport)) -> Option<String> {
    let (formulation, smooth) =
        formulation.split_once(',').map_or((formulation, false), |(f, _)| (f, true));
    let mut text = PUSHED.replace("FORMULATION", formulation);
    if smooth {
        text += "friction: {pairs: [{a: \"*\", b: \"*\", mu: 0}]}\n";
    }
    let scene = Scene::parse(&text, "pushed.yml", "pushed", Path::new("."), &[]).unwrap();
    let (before, mut input) = (scene.start.clone(), StepInput::default());
    scene.sample(scene.params.time_step, &mut input);
    let mut state = State { ..before.clone() };
    let mut work = scene.system.create_workspace();
    let mut report =
        scene.system.step_with(&mut state, &input, &scene.params, &mut work).unwrap().clone();
    assert!(report.contacts.len() >= 2 && report.substeps == 1, "{report:?}");
    change(&mut report);
    let mut kin = scene.system.model().create_kinematics();
    scene.system.model().kinematics(&before.q, &mut kin);
    let taken = Taken { scene: &scene, before: &before, input: &input, report: &report, kin: &kin };
    let mut verdict = Verdict::default();
    balance::judge(&taken, &mut verdict);
    contacts::judge(&taken, &mut verdict);
    verdict.finding.map(|finding| finding.kind)
}

#[test]
fn a_right_step_is_passed() {
    for formulation in ["convex", "exact"] {
        assert_eq!(blamed(formulation, |_| {}), None, "{formulation}");
    }
}

#[test]
fn forces_that_do_not_add_up_are_seen() {
    for formulation in ["convex", "exact"] {
        let found = blamed(formulation, |r| r.contacts[0].normal_force *= 1.0 + 1e-5);
        assert_eq!(found.as_deref(), Some("out of balance"), "{formulation}");
        let found = blamed(formulation, |r| r.v[0] += 1e-3);
        assert_eq!(found.as_deref(), Some("out of balance"), "{formulation}");
    }
}

/// The reported coefficient of friction is reduced: forces still balance, but exceed their cones.
#[test]
fn friction_beyond_its_cone_is_seen() {
    let found = blamed("exact", |r| {
        for contact in &mut r.contacts {
            contact.friction.mu *= 0.5;
        }
    });
    assert_eq!(found.as_deref(), Some("friction beyond its cone"));
}

/// Without friction, moving a contact vertically changes no torque. A contact that began higher has
/// a force across a gap; one that began lower ends with an overlap.
#[test]
fn gaps_are_recomputed() {
    let smooth = |shift: f64| {
        blamed("exact, friction: 0", |r| r.contacts.iter_mut().for_each(|c| c.phi += shift))
    };
    assert_eq!(smooth(0.0), None);
    assert_eq!(smooth(1e-3).as_deref(), Some("a force over a gap"));
    assert_eq!(smooth(-2e-2).as_deref(), Some("a gap closes too far"));
}
