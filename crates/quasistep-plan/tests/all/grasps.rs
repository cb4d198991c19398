//! Grasps at random.

use quasistep_plan::{GraspSampler, GraspSettings};

/// Both fingertips touch the box, nothing overlaps, joints keep their limits, and a seed draws the
/// same grasps again.
#[test]
fn sampled_grasps_touch_and_overlap_nothing() {
    let scene = testkit::scene("planar_hand", &[]);
    let (system, q) = (&scene.system, &scene.start.q);
    let model = system.model();
    let held = model.bodies().iter().rposition(|b| b.v.len() >= 3).unwrap();
    let tips: Vec<usize> = system
        .geoms()
        .iter()
        .map(|geom| geom.body)
        .filter(|body| *body != held && *body != 0 && model.path(*body).len() > 1)
        .collect();
    let moves: Vec<(usize, [f64; 2])> = (0..model.n_v())
        .filter(|dof| !model.body(held).v.contains(dof))
        .map(|dof| {
            let limit = model.limits().iter().find(|limit| limit.dof as usize == dof);
            let range = limit.map_or([-1.5, 1.5], |l| [l.lower.max(-1.5), l.upper.min(1.5)]);
            (dof, range)
        })
        .collect();
    let [first, second] = [tips[0], *tips.last().unwrap()];
    assert_ne!(first, second);
    let settings = GraspSettings {
        touches: vec![[first, held], [second, held]],
        moves,
        distance: 1e-4,
        clearance: 0.0,
        reach: 1.0,
    };
    let draw = |seed: u64| {
        let mut sampler = GraspSampler::new(system, settings.clone(), seed);
        (0..5).map(|_| sampler.sample(q, 100).unwrap().expect("a grasp")).collect::<Vec<_>>()
    };
    let grasps = draw(1);
    assert_eq!(grasps, draw(1));
    assert_ne!(grasps, draw(2));
    for q in &grasps {
        let near = system.near_pairs(q, 1e-4).unwrap();
        for tip in [first, second] {
            let touches = |pair: &[usize; 2]| pair.contains(&tip) && pair.contains(&held);
            assert!(near.iter().any(|(pair, _)| touches(pair)), "{near:?}");
        }
        assert!(near.iter().all(|(_, phi)| *phi > -1e-8), "{near:?}");
        for limit in model.limits() {
            let value = q[limit.q_index as usize];
            assert!(
                limit.lower - 1e-9 <= value && value <= limit.upper + 1e-9,
                "{limit:?} {value}"
            );
        }
    }
    // nothing to touch within reach: no grasp, and no panic
    let far = GraspSettings { reach: 1e-6, ..settings.clone() };
    let none = GraspSampler::new(system, far, 1).sample(q, 3).unwrap();
    assert!(none.is_none());
}
