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
    // what cannot be sampled is told by name
    assert_eq!(settings.check(system), Ok(()));
    let why = |settings: GraspSettings| settings.check(system).unwrap_err().to_string();
    let zero = GraspSettings { distance: 0.0, ..settings.clone() };
    assert_eq!(why(zero), "distance is 0; it must be > 0 m");
    let own = GraspSettings { touches: vec![[first, first]], ..settings.clone() };
    assert!(why(own).starts_with("`left/left` and `left/left` never touch"));
    let still = GraspSettings { moves: settings.moves[..2].to_vec(), ..settings.clone() };
    assert_eq!(why(still), "none of the joints that move brings `right/right` to `box/box`");
    let turned = GraspSettings { moves: vec![(0, [1.0, -1.0])], ..settings.clone() };
    assert!(why(turned).starts_with("`left.x` is drawn from 1 to -1"));
    // nothing to touch within reach: no grasp, and no panic
    let far = GraspSettings { reach: 1e-6, ..settings.clone() };
    let none = GraspSampler::new(system, far, 1).sample(q, 3).unwrap();
    assert!(none.is_none());
}

/// Two fingers take a box that lies on a shelf: what the box touches where it lies is no obstacle. A
/// thousand times larger and smaller the same grasps are drawn.
#[test]
fn a_box_on_a_shelf_is_grasped_at_any_size() {
    let grasps = |s: f64| {
        let (x, r, b, y) = (0.075 * s, 0.015 * s, [0.1 * s, 0.08 * s, 0.04 * s], -0.05 * s);
        let changes = [
            ("models.left.joint.0.start", format!("{}", -x)),
            ("models.right.joint.0.start", format!("{x}")),
            ("models.left.shape.sphere.radius", format!("{r}")),
            ("models.right.shape.sphere.radius", format!("{r}")),
            ("models.box.shape.box.size", format!("{b:?}")),
            (
                "models.shelf",
                format!(
                    "{{joint: fixed, pose: {{xyz: [0, {y}, 0]}}, shape: {{box: {{size: [{}, {}, {}]}}}}}}",
                    0.3 * s,
                    0.02 * s,
                    b[2]
                ),
            ),
        ];
        let changes: Vec<(&str, &str)> = changes.iter().map(|(k, v)| (*k, v.as_str())).collect();
        let scene = testkit::scene("planar_hand", &changes);
        let body = |name: &str| crate::body(&scene.system, name);
        let settings = GraspSettings {
            touches: ["left/left", "right/right"].map(|tip| [body(tip), body("box/box")]).to_vec(),
            moves: (0..4).map(|dof| (dof, [-0.12 * s, 0.12 * s])).collect(),
            distance: 1e-4 * s,
            clearance: 0.002 * s,
            reach: s,
        };
        let mut sampler = GraspSampler::new(&scene.system, settings, 5);
        let mut draw = || sampler.sample(&scene.start.q, 100).unwrap().expect("a grasp");
        let shelf = body("shelf/shelf");
        let all = [draw(), draw(), draw()];
        for q in &all {
            let near = scene.system.near_pairs(q, 0.0019 * s).unwrap();
            assert!(
                near.iter().any(|(pair, _)| pair.contains(&shelf)),
                "the box lies on the shelf"
            );
            assert_eq!(near.len(), 3, "{near:?}");
        }
        all.concat().into_iter().map(|q| q / s).collect::<Vec<f64>>()
    };
    let usual = grasps(1.0);
    for scale in [1e-3, 1e3] {
        let other = grasps(scale);
        assert!(usual.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-5), "{usual:?} {other:?}");
    }
}
