//! Friction that depends on the direction of sliding: of skates, wood, brushed metal, snakes' scales.

use crate::common::differences::{Random, Step};
use crate::common::{Folder, complaint, everywhere, frames, parse};
use quasistep::{Friction, FrictionAxes, Mode};
use quasistep_record::Frame;
use quasistep_scene::Scene;
use std::f64::consts::FRAC_PI_2;

/// Laws, kinds of motion and step sizes. Convex friction throws up what starts to slide in a dynamic
/// run, so that combination is not among them.
fn combinations() -> Vec<[(&'static str, &'static str); 3]> {
    let mut all = everywhere();
    all.retain(|[law, motion, _]| (law.1, motion.1) != ("convex", "dynamic"));
    all
}

#[track_caller]
fn end(scene: &Scene) -> Frame {
    frames(scene).pop().expect("a run has frames")
}

/// Sum of the contact forces on the body that is no floor, without their normal parts.
fn friction(frame: &Frame) -> [f64; 2] {
    let sum = |k: usize| frame.contacts.iter().map(|c| c.force_W[k]).sum::<f64>();
    // the floor is body A
    assert!(frame.contacts.iter().all(|c| c.n_AB_W.z > 0.99));
    [sum(0), sum(1)]
}

/// Sum of the normal forces, in N.
fn load(frame: &Frame) -> f64 {
    frame.contacts.iter().map(|c| c.normal_force).sum()
}

/// A sled of 1 kg that is moved over a floor at an angle to its axes, and turned about z. The numbers
/// are the floor's and the sled's friction.
fn sled(scale: f64, [x, y]: [f64; 2], turn: f64, floor: &str, own: &str) -> String {
    let [size, height, margin, overlap, speed] = [0.1, 0.05, 0.02, 0.001, 0.2].map(|s| scale * s);
    format!(
        "\
format: 1
gravity: [0, 0, {g}]
step: {{duration: 0.2, contact_margin: {margin}, max_overlap: {overlap}, max_recovery_speed: {speed}}}
models:
  floor: {{joint: fixed, friction: {floor}, shape: {{half_space: {{}}}}}}
  sled:
    pose: {{xyz: [0, 0, {height}]}}
    joint:
      - {{slide: x, axis: [1, 0, 0], role: prescribed}}
      - {{slide: y, axis: [0, 1, 0], role: prescribed}}
      - {{hinge: turn, axis: [0, 0, 1], role: prescribed}}
      - {{slide: z, axis: [0, 0, 1]}}
    mass: 1
    friction: {own}
    shape: {{box: {{size: [{size}, {size}, {size}]}}}}
commands:
  - {{joint: sled.x, expr: \"{vx}*t\"}}
  - {{joint: sled.y, expr: \"{vy}*t\"}}
  - {{joint: sled.turn, expr: \"{turn}\"}}
",
        g = -10.0 * scale,
        vx = 0.1 * scale * x,
        vy = 0.1 * scale * y,
    )
}

/// Force of an ellipse that takes most power: along `−S² d / ‖S d‖`.
fn law([mu_x, mu_y]: [f64; 2], [x, y]: [f64; 2]) -> [f64; 2] {
    let size = (mu_x * x).hypot(mu_y * y);
    [-mu_x * mu_x * x / size, -mu_y * mu_y * y / size]
}

/// Dragged along the grain a block takes 2 N per 10 N of weight, across it 6 N. Askew, the force
/// leans towards the rough direction.
#[test]
fn a_sled_is_dragged_easily_along_the_grain_and_hard_across_it() {
    for scale in [1.0, 1000.0, 0.001] {
        for changes in combinations() {
            for angle in [0.0_f64, 0.4, 1.2, FRAC_PI_2, 2.5, -0.7] {
                let way = [angle.cos(), angle.sin()];
                // the harmonic means of 0.6 and 0.12, 0.6 and 0.6
                let text = sled(scale, way, 0.0, "[0.12, 0.6, 0.6]", "{mu: 0.6}");
                let frame = end(&parse(&text, &changes));
                let load = load(&frame);
                // convex friction lets the sled rise by half a millimetre, which has drag
                assert!((load / scale - 10.0).abs() < 0.2, "{scale} {changes:?}: {load} N");
                let [f_x, f_y] = friction(&frame).map(|f| f / load);
                let [x, y] = law([0.2, 0.6], way);
                let error = (f_x - x).hypot(f_y - y);
                assert!(error < 1e-6, "{scale} {changes:?} {angle}: {f_x} {f_y}, not {x} {y}");
            }
        }
    }
}

/// The axes turn with the body that has them, or with that which a pair names.
#[test]
fn axes_turn_with_their_body() {
    let quarter = FRAC_PI_2;
    let rough = "friction:\n  pairs: [{a: floor, b: sled, mu: [0.2, 0.6, 0.6]";
    let force = |text: &str| {
        let frame = end(&parse(text, &[("step.size", "0.01")]));
        friction(&frame)[0] / 10.0
    };
    let turned_floor = |text: String| {
        text.replace(
            "shape: {half_space",
            "pose: {rpy: [0, 0, 1.5707963267948966]}, shape: {half_space",
        )
    };
    let own = |turn| sled(1.0, [1.0, 0.0], turn, "0.5", "[0.5, 1.5, 1.5]");
    assert!((force(&own(0.0)) + 0.5).abs() < 1e-9);
    assert!((force(&own(quarter)) + 0.75).abs() < 1e-9);
    let of_floor = |turn| sled(1.0, [1.0, 0.0], turn, "[0.5, 1.5, 1.5]", "0.5");
    assert!((force(&of_floor(quarter)) + 0.5).abs() < 1e-9);
    assert!((force(&turned_floor(of_floor(0.0))) + 0.75).abs() < 1e-9);
    for (axes, sled_turns, floor_turns) in [("}]", 0.2, 0.6), (", axes: b}]", 0.6, 0.2)] {
        let text = |turn| format!("{}{rough}{axes}\n", sled(1.0, [1.0, 0.0], turn, "1", "1"));
        assert!((force(&text(0.0)) + 0.2).abs() < 1e-9);
        assert!((force(&text(quarter)) + sled_turns).abs() < 1e-9, "{axes}");
        assert!((force(&turned_floor(text(0.0))) + floor_turns).abs() < 1e-9, "{axes}");
    }
}

/// A square plate that is turned on the spot takes the mean of `‖S (n × r)‖` of its weight.
#[test]
fn a_plate_is_turned_against_the_friction_of_both_directions() {
    let n = 400;
    let places = (0..n).map(|i| 0.1 * ((f64::from(i) + 0.5) / f64::from(n) - 0.5));
    let all: Vec<[f64; 2]> =
        places.clone().flat_map(|x| places.clone().map(move |y| [x, y])).collect();
    for changes in combinations() {
        for start in [0.0_f64, 0.5] {
            let text = sled(1.0, [0.0, 0.0], start, "1", "1")
                .replace(&format!("\"{start}\""), &format!("\"{start} + 0.5*t\""));
            let text = text + "friction:\n  pairs: [{a: floor, b: sled, mu: [0.2, 0.6, 0.6]}]\n";
            let frame = end(&parse(&text, &changes));
            // the angle of the plate for which the step was taken
            let h: f64 = changes[2].1.parse().unwrap();
            let (s, c) = (start + 0.5 * (0.2 - h)).sin_cos();
            let lever = |[x, y]: &[f64; 2]| {
                let (x, y) = (c * x - s * y, s * x + c * y);
                (0.2 * y).hypot(0.6 * x)
            };
            let want = all.iter().map(lever).sum::<f64>() / all.len() as f64;
            let torque: f64 = frame
                .contacts
                .iter()
                .map(|k| k.spin + k.p_W.x * k.force_W.y - k.p_W.y * k.force_W.x)
                .sum();
            let torque = -torque / load(&frame);
            assert!((torque / want - 1.0).abs() < 1e-4, "{changes:?}: {torque}, {want}");
        }
    }
}

/// A block lets go along its grain first. On a steeper slope it slides askew: it takes off in the
/// direction in which weight and friction leave the acceleration along the motion.
#[test]
fn a_block_on_a_slope_slides_towards_its_grain() {
    let block = |tilt: f64, yaw: f64| {
        format!(
            "\
format: 1
gravity: [{gx}, 0, {gz}]
step: {{duration: 0.4, motion: dynamic}}
models:
  floor: {{joint: fixed, friction: 1, pose: {{rpy: [0, 0, {yaw}]}}, shape: {{half_space: {{}}}}}}
  block: {{mass: 1, pose: {{xyz: [0, 0, 0.01]}}, shape: {{box: {{size: [0.2, 0.2, 0.02]}}}}}}
friction: {{pairs: [{{a: floor, b: block, mu: [0.2, 0.6, 0.6]}}]}}
",
            gx = 10.0 * tilt.sin(),
            gz = -10.0 * tilt.cos(),
        )
    };
    for law_name in ["exact", "convex"] {
        for size in ["0.02", "0.004", "0.001"] {
            let changes = [("step.friction", law_name), ("step.size", size)];
            let moved = |tilt: f64, yaw: f64| {
                let scene = parse(&block(tilt, yaw), &changes);
                let frame = end(&scene);
                let X = frame.X_WB[scene.system.model().body_by_name("block/block").unwrap()];
                (X.translation, frame.v.clone())
            };
            // tan 0.25 is 0.255: above 0.2 along the grain, below 0.6 across it
            assert!(moved(0.25, 0.0).0.x > 0.03, "{changes:?}");
            assert!(moved(0.25, FRAC_PI_2).0.x.abs() < 1e-9, "{changes:?}");
            let (tilt, yaw) = (0.5_f64, 0.6_f64);
            let (p, v) = moved(tilt, yaw);
            let [v_x, v_y] = [v[3], v[4]];
            let speed = v_x.hypot(v_y);
            // in the floor's axes
            let to_floor =
                |x: f64, y: f64| [yaw.cos() * x + yaw.sin() * y, yaw.cos() * y - yaw.sin() * x];
            let (way, pull) = (to_floor(v_x / speed, v_y / speed), to_floor(tilt.sin(), 0.0));
            // convex friction lifts the block, with the acceleration of the normal speed
            let load = 10.0 * tilt.cos() + v[5] / 0.4;
            let rub = law([0.2, 0.6], way).map(|f| f * load);
            let [a_x, a_y] = [0, 1].map(|k| 10.0 * pull[k] + rub[k]);
            let a = speed / 0.4;
            // with convex friction the block is lifted in the first step, and rubs the more
            let tolerance =
                if law_name == "exact" { 1e-5 } else { 0.5 * size.parse::<f64>().unwrap() };
            let error = (a_x - a * way[0]).hypot(a_y - a * way[1]);
            assert!(error < tolerance, "{changes:?}: {error} {v:?} {p:?}");
            // it leaves the line of fall by much
            assert!(v_y / v_x > 0.2, "{changes:?}: {v:?}");
            assert!(v[..3].iter().all(|w| w.abs() < 1e-6), "{changes:?}: {v:?}");
        }
    }
}

/// A sprung finger, or a plate, drags a body with it over a slope.
fn dragged(shape: &str, height: f64, mu: &str, tilt: f64) -> String {
    format!(
        "\
format: 1
step: {{size: 0.02}}
models:
  floor: {{joint: fixed, pose: {{rpy: [{tilt}, 0.1, 0.3]}}, friction: 1, shape: {{half_space: {{}}}}}}
  body:
    joint:
      - {{slide: x, axis: [1, 0, 0], stiffness: 300}}
      - {{slide: y, axis: [0, 1, 0], stiffness: 200}}
      - {{slide: z, axis: [0, 0, 1], stiffness: 800}}
      - {{hinge: roll, axis: [1, 0, 0], stiffness: 0.5}}
      - {{hinge: pitch, axis: [0, 1, 0], stiffness: 0.4}}
      - {{hinge: yaw, axis: [0, 0, 1], stiffness: 0.3}}
    pose: {{xyz: [0.004, 0.003, {height}]}}
    mass: 0.3
    friction: 1
    shape: {{{shape}}}
friction: {{pairs: [{{a: floor, b: body, {mu}}}]}}
commands:
  - {{joint: body.x, expr: \"0.3*t\"}}
  - {{joint: body.y, expr: \"0.2*t\"}}
  - {{joint: body.z, expr: \"-0.1*t\"}}
  - {{joint: body.yaw, expr: \"3*t\"}}
"
    )
}

/// Derivatives of steps are those of differences, for axes of either body, on level ground and on
/// slopes askew to them, of points, lines and areas.
#[test]
fn steps_with_directional_friction_have_derivatives() {
    let kappa = Mode::Smooth { kappa: 1e-3 };
    let laws = [
        ("friction: convex, cone: 4", Mode::Exact),
        ("friction: convex", Mode::Exact),
        ("friction: convex", kappa),
        ("friction: exact", Mode::Exact),
        ("friction: exact, motion: dynamic", Mode::Exact),
    ];
    let lying = "pose: {rpy: [0, 1.5707963267948966, 0]}";
    let capsule = format!("capsule: {{radius: 0.02, length: 0.04}}, {lying}");
    let shapes = [
        ("sphere: {radius: 0.03}", 0.03, true),
        (&capsule, 0.02, true),
        ("box: {size: [0.05, 0.04, 0.04]}", 0.02, false),
    ];
    let coefficients = [
        "mu: [0.2, 0.5, 0.7]",
        "mu: [0.7, 0.2, 0.5], axes: b",
        "mu: [0.3, 0.5, 0.2], axes: b, mu_spin: 0.003, mu_roll: 0.001",
    ];
    let mut random = Random(88172645463325252);
    let (mut compared, mut sliding) = (0, 0);
    for ((law, mode), (shape, height, moves)) in laws.iter().flat_map(|l| shapes.map(|s| (*l, s))) {
        for (mu, tilt) in coefficients.iter().flat_map(|mu| [0.0, 0.2].map(|tilt| (mu, tilt))) {
            // a box on a slope touches by a corner
            let (tilt, level) = if moves { (tilt, "0.1") } else { (0.0, "0") };
            let text = dragged(shape, height, mu, tilt)
                .replace(", 0.1, 0.3]", &format!(", {level}, 0.3]"))
                .replace("size: 0.02}", &format!("size: 0.02, {law}}}"));
            let step = Step::new(parse(&text, &[]), mode, moves, &mut random);
            sliding +=
                usize::from(step.own.report().contacts.iter().any(|c| c.slip_W.norm() > 1e-3));
            let at = format!("{law} {mode:?} {shape} {mu} {tilt}");
            compared += step.check(&at, moves || mode == kappa, &mut random);
        }
    }
    assert!(compared >= 300 && sliding >= 60, "{compared} {sliding}");
}

#[test]
fn mistakes_of_directions_are_told() {
    let text = sled(1.0, [1.0, 0.0], 0.0, "FLOOR", "1");
    let with = |floor: &str| text.replace("FLOOR", floor);
    for (floor, words) in [
        ("[0.2, 0.6]", "[0.2, 0.6] was seen; friction is a number ≥ 0, or three numbers > 0"),
        ("[0.2, 0, 0.6]", "three numbers > 0"),
        ("[0.2, -1, 0.6]", "three numbers > 0"),
        ("{mu: [0.2, .inf, 0.6]}", "inf"),
        ("{mu: [0.2, 0.3, a]}", "`a`"),
        ("{mu: 0.2, axes: b}", "`axes`"),
    ] {
        complaint(&with(floor), "scene.yml:5", &[words]);
    }
    let pair = |rest: &str| with("1") + "friction:\n  pairs: [{a: floor, b: sled, " + rest + "}]\n";
    complaint(&pair("mu: [0.2, 0.3, 0.3], axes: c"), "scene.yml:", &["`c`", "`a` or `b`"]);
    complaint(&pair("mu: 0.2, axes: b"), "scene.yml:", &["axes", "three"]);
    let both = sled(1.0, [1.0, 0.0], 0.0, "[0.1, 0.2, 0.2]", "[0.1, 0.2, 0.2]");
    complaint(&both, "scene.yml", &["two surfaces whose friction depends on the direction"]);
}

/// Friction of the only pair of shapes of a file that may touch, and the file's warnings.
fn of_file(name: &str, text: &str) -> (Friction, String) {
    let folder = Folder::new("directions");
    folder.file(name, text);
    let scene = Scene::load(folder.0.join(name)).unwrap_or_else(|e| panic!("{e}"));
    (scene.system.friction(0, 1), scene.warnings.join("\n"))
}

/// MuJoCo's first direction is along y of the world, or z beside a wall across y, or the axis of a
/// capsule on a plane.
#[test]
fn pairs_of_mjcf_rub_in_two_directions() {
    let pair = |floor: &str, geom: &str, friction: &str| {
        of_file(
            "pair.xml",
            &format!(
                "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1' {floor}/>
                 <body pos='0 0.5 1'><freejoint/><geom name='g' mass='1' {geom}/></body></worldbody>
                 <contact><pair geom1='floor' geom2='g' condim='3' friction='{friction}'/></contact></mujoco>"
            ),
        )
    };
    let cube = "type='box' size='.1 .1 .1'";
    let capsule = "type='capsule' size='.1 .1'";
    let rough = "0.2 0.8 0.005 0.0001 0.0001";
    let axes = |shares, of_second| Some(FrictionAxes { shares, of_second });
    for (floor, geom, want) in [
        ("", cube, axes([1.0, 0.25, 1.0], false)),
        ("euler='90 0 0'", cube, axes([1.0, 1.0, 0.25], false)),
        ("", &format!("{capsule} euler='0 90 0'"), axes([0.25, 1.0, 1.0], true)),
    ] {
        let (friction, told) = pair(floor, geom, rough);
        assert_eq!(friction.mu, 0.8, "{floor} {geom}");
        assert_eq!(friction.axes.is_some(), want.is_some());
        let (ours, want) = (friction.axes.unwrap(), want.unwrap());
        assert_eq!((ours.shares, ours.of_second), (want.shares, want.of_second), "{floor} {geom}");
        assert!(!told.contains("two directions"), "{told}");
    }
    let (friction, told) = pair("", &format!("{capsule} euler='0 30 0'"), rough);
    assert_eq!((friction.mu, friction.axes), (0.5, None));
    assert!(told.contains("friction along two directions that are no axes of a body"), "{told}");
    let (friction, told) = pair("", cube, "0.8 0.8 0.005 0.0001 0.0001");
    assert_eq!((friction.mu, friction.axes, told.contains("direction")), (0.8, None, false));
}

/// `<mu>` acts along `<fdir1>`, `<mu2>` across it.
#[test]
fn surfaces_of_sdf_rub_in_two_directions() {
    let ground = "<model name='ground'><static>true</static><link name='l'><collision name='c'>
        <geometry><plane><normal>0 0 1</normal></plane></geometry>
        <surface><friction><ode><mu>0.4</mu><mu2>0.4</mu2></ode></friction></surface></collision></link></model>";
    let world = |pose: &str, first: &str| {
        of_file(
            "m.sdf",
            &format!(
                "<sdf version='1.9'><world name='w'>{ground}<model name='m'><pose>0 0 1 0 0 0</pose><link name='l'>
                 <collision name='c'><pose>{pose}</pose><geometry><sphere><radius>0.1</radius></sphere></geometry>
                 <surface><friction><ode><mu>0.1</mu><mu2>0.4</mu2>{first}</ode></friction></surface></collision>
                 </link></model></world></sdf>"
            ),
        )
    };
    // harmonic means of 0.1 and 0.4, 0.4 and 0.4
    let (friction, told) = world("0 0 0 0 0 1.5707963267948966", "<fdir1>1 0 0</fdir1>");
    let axes = friction.axes.expect("three coefficients");
    assert!((friction.mu - 0.4).abs() < 1e-15);
    for (share, want) in std::iter::zip(axes.shares, [1.0, 0.4, 1.0]) {
        assert!((share - want).abs() < 1e-12, "{axes:?}");
    }
    assert!(axes.of_second && !told.contains("<mu2>"), "{told}");
    for first in ["", "<fdir1>1 1 0</fdir1>"] {
        let (friction, told) = world("0 0 0 0 0 0", first);
        assert!(friction.axes.is_none() && (friction.mu - 0.16).abs() < 1e-15);
        assert!(told.contains("<mu> and <mu2> differ"), "{told}");
    }
}
