//! Systems of pangtao22/quasistatic_simulator: read with its rules, and stepped by its published
//! equations.

use crate::common::{Folder, expect};
use quasistep::{Cone, Formulation, Inertia, Role, Rotations, StepInput, TangentAxes};
use quasistep_math::{Mat3, Quat, Vec3};
use quasistep_qp::{Qp, Rows};
use quasistep_scene::Scene;
use std::f64::consts::TAU;

const H: f64 = 0.1;
const BALL: f64 = 0.1;
const HAND: f64 = 0.05;
const MASS: f64 = 0.7;
const I: [f64; 3] = [0.9, 0.5, 0.6];
const K: [f64; 2] = [500.0, 300.0];
const SCALE: f64 = 5.0;
const MU: [f64; 3] = [0.8, 0.4, 1.0];

fn shape(geometry: &str, mu: Option<f64>) -> String {
    let surface = mu.map_or(String::new(), |mu| {
        format!("<surface><friction><ode><mu>{mu}</mu></ode></friction></surface>")
    });
    format!("<collision name='c'><geometry>{geometry}</geometry>{surface}</collision>")
}

fn slide(name: &str, parent: &str, child: &str, axis: &str) -> String {
    format!(
        "<joint name='{name}' type='prismatic'><parent>{parent}</parent><child>{child}</child><axis><xyz>{axis}</xyz>\
         <limit><lower>-0.01</lower><upper>0.01</upper><effort>3</effort></limit>\
         <dynamics><damping>40</damping><friction>2</friction></dynamics></axis></joint>"
    )
}

/// A hand of one ball on two slides, a free ball without friction settings, and a floor.
fn folder(name: &str, params: &str) -> Folder {
    let folder = Folder::new(name);
    let sphere = |r: f64| format!("<sphere><radius>{r}</radius></sphere>");
    let inertial = |m: f64, [x, y, z]: [f64; 3]| {
        format!(
            "<inertial><mass>{m}</mass><inertia><ixx>{x}</ixx><iyy>{y}</iyy><izz>{z}</izz></inertia></inertial>"
        )
    };
    let model = |name: &str, body: &str| {
        format!("<sdf version='1.7'><model name='{name}'>{body}</model></sdf>")
    };
    let hand = format!(
        "<link name='ghost'>{}</link><link name='tip'>{}{}</link>{}{}",
        inertial(1e-6, [1e-6; 3]),
        inertial(1.0, [0.01; 3]),
        shape(&sphere(HAND), Some(MU[0])),
        slide("y", "world", "ghost", "0 1 0"),
        slide("z", "ghost", "tip", "0 0 1"),
    );
    let ball =
        format!("<link name='body'>{}{}</link>", inertial(MASS, I), shape(&sphere(BALL), None));
    let ground = format!(
        "<static>true</static><link name='g'><pose>0 0 -0.5 0 0 0</pose>{}{}</link>",
        inertial(1.0, [1.0; 3]),
        shape("<box><size>10 10 1</size></box>", Some(MU[1]))
    );
    for (file, text) in [
        ("package.xml", "<package><name>own_scenes</name></package>".to_owned()),
        ("hand.sdf", model("any", &hand)),
        ("ball.sdf", model("other", &ball)),
        ("ground.sdf", model("ground", &ground)),
        (
            "hand_and_ground.yml",
            "directives:\n- add_model: {name: hand, file: package://own_scenes/hand.sdf}\n\
             - add_model: {name: ground, file: package://own_scenes/ground.sdf}\n"
                .to_owned(),
        ),
        (
            "system.yml",
            format!(
                "model_directive: package://own_scenes/hand_and_ground.yml\nrobots:\n  - name: hand\n    Kp: [500, 300]\n\
                 objects:\n  - name: ball\n    file: package://own_scenes/ball.sdf\nquasistatic_sim_params:\n{params}"
            ),
        ),
    ] {
        std::fs::write(folder.0.join(file), text).unwrap();
    }
    folder
}

const PARAMS: &str = "  gravity: [0, 0, -10.]\n  nd_per_contact: 4\n  contact_detection_tolerance: .inf\n  \
                      is_quasi_dynamic: True\n  unactuated_mass_scale: 5.\n";

#[test]
fn what_its_step_does_not_read_has_no_part() {
    let folder = folder("q-sys-read", PARAMS);
    let scene = Scene::load(folder.0.join("system.yml")).unwrap();
    let (model, params) = (scene.system.model(), &scene.params);
    assert!(scene.warnings.is_empty(), "{:?}", scene.warnings);
    assert_eq!((params.time_step, params.gravity), (H, [0.0, 0.0, -10.0]));
    assert_eq!(params.formulation, Formulation::convex(Cone::Pyramid(4)));
    assert_eq!((params.inertia, params.passive_mass_scale), (Inertia::Mass, Some(SCALE)));
    assert_eq!((params.tangents, params.rotations), (TangentAxes::Normal, Rotations::Linear));
    for bound in [params.contact_margin, params.max_overlap, params.max_recovery_speed] {
        assert_eq!(bound, f64::INFINITY);
    }
    assert!(model.limits().is_empty());
    assert!(model.damping().iter().chain(model.friction()).all(|x| *x == 0.0));
    let stiffness: Vec<f64> = scene
        .system
        .roles()
        .iter()
        .filter_map(|role| match role {
            Role::Actuated(a) => {
                assert_eq!((a.damping[0], a.effort_limit[0]), (0.0, f64::INFINITY));
                Some(a.stiffness[0])
            }
            _ => None,
        })
        .collect();
    assert_eq!(stiffness, K);
    let weight = scene.system.linearise(&scene.start.q, params.gravity, 0.0).unwrap().gravity_force;
    assert!((weight.iter().sum::<f64>() + 10.0 * MASS).abs() < 1e-12, "{weight:?}");
    assert_eq!(scene.system.n_pairs(), 3);
    // a scene may name the file and give its own step settings
    let text = "models: {all: {q_sys: system.yml}}\nstep: {size: 0.01, inertia: mass}\n";
    let own = Scene::parse(text, "scene.yml", "scene", &folder.0, &[]).unwrap();
    assert_eq!((own.params.time_step, own.params.passive_mass_scale), (0.01, None));
    assert_eq!(own.system.model().n_v(), 8);
}

/// Combined friction `2ab/(a + b)`, Drake's rule.
fn friction(a: f64, b: f64) -> f64 {
    2.0 * a * b / (a + b)
}

/// Rows of `phi/h + (n + mu d)' (v_B − v_A) ≥ 0`, with variables w, v of the ball, and y, z of the
/// hand.
struct Program {
    rows: Rows,
    low: Vec<f64>,
}

impl Program {
    /// Adds a contact. `ball` has the sign and the contact point relative to the ball's centre, if
    /// the ball is involved; `hand` has the sign for the hand.
    fn push(&mut self, n: Vec3, phi: f64, mu: f64, ball: Option<(f64, Vec3)>, hand: Option<f64>) {
        let [x, y, z] = n.to_array().map(f64::abs);
        let axis = if x <= y && x <= z {
            Vec3::X
        } else if y <= z {
            Vec3::Y
        } else {
            Vec3::Z
        };
        let t1 = axis.cross(n).try_normalize().unwrap();
        let t2 = n.cross(t1);
        for k in 0..4 {
            let (s, c) = (TAU / 4.0 * f64::from(k)).sin_cos();
            let way = n + (t1 * c + t2 * s) * mu;
            let mut row = [0.0; 8];
            if let Some((sign, r)) = ball {
                row[..3].copy_from_slice(&(r.cross(way) * sign).to_array());
                row[3..6].copy_from_slice(&(way * sign).to_array());
            }
            if let Some(sign) = hand {
                (row[6], row[7]) = (sign * way.y, sign * way.z);
            }
            self.rows.push(&[0, 1, 2, 3, 4, 5, 6, 7], &row);
            self.low.push(-phi / H);
        }
    }
}

/// One step of Pang21 (10) with scaled mass `ε M_u` of the ball, from the ball's pose (quaternion,
/// position) and the hand's coordinates.
fn reference(ball: (Quat, Vec3), hand: [f64; 2], command: [f64; 2]) -> ((Quat, Vec3), [f64; 2]) {
    let (Q, p) = ball;
    let tip = Vec3::new(0.0, hand[0], hand[1]);
    let mut program = Program { rows: Rows::default(), low: Vec::new() };
    let away = tip - p;
    let n = away * (1.0 / away.norm());
    let phi = away.norm() - BALL - HAND;
    program.push(n, phi, friction(MU[0], MU[2]), Some((-1.0, n * BALL)), Some(1.0));
    let down = Vec3::Z * -BALL;
    program.push(Vec3::Z, p.z - BALL, friction(MU[1], MU[2]), Some((1.0, down)), None);
    program.push(Vec3::Z, tip.z - HAND, friction(MU[0], MU[1]), None, Some(1.0));

    let R = Q.to_matrix();
    let I_W = R * Mat3::diagonal(I) * R.transpose();
    let largest = (0..3).fold(MASS, |m, k| m.max(I_W.rows[k][k]));
    let scale = H * H * K[1] / (SCALE * largest);
    let (mut P, mut c) = (vec![0.0; 64], vec![0.0; 8]);
    for i in 0..3 {
        for j in 0..3 {
            P[8 * i + j] = scale * I_W.rows[i][j];
        }
        P[8 * (3 + i) + 3 + i] = scale * MASS;
    }
    c[5] = H * MASS * 10.0;
    for k in 0..2 {
        P[8 * (6 + k) + 6 + k] = H * H * K[k];
        c[6 + k] = -H * K[k] * (command[k] - hand[k]);
    }
    let qp = Qp { n: 8, P: &P, c: &c, A: &program.rows, b: &program.low, saturations: &[] };
    let v = testkit::clarabel_oracle::solve(&qp).x;
    let w = Quat::new(0.0, 0.5 * H * v[0], 0.5 * H * v[1], 0.5 * H * v[2]);
    let (a, b) = (Q.to_array(), (w * Q).to_array());
    let sum: [f64; 4] = std::array::from_fn(|k| a[k] + b[k]);
    let norm = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
    let next = Quat::new(sum[0] / norm, sum[1] / norm, sum[2] / norm, sum[3] / norm);
    let p = p + Vec3::new(v[3], v[4], v[5]) * H;
    ((next, p), [hand[0] + H * v[6], hand[1] + H * v[7]])
}

/// The hand comes from above, presses the ball off-centre to the floor, drags it along, and slips
/// over it.
#[test]
fn its_step_is_that_of_its_published_equations() {
    let folder = folder("q-sys-step", PARAMS);
    let scene = Scene::load(folder.0.join("system.yml")).unwrap();
    let names = scene.system.model().coordinate_names();
    let at = |name: &str| names.iter().position(|n| n == &format!("system.{name}")).unwrap();
    let first = at("ball::body.qw");
    let (y, z) = (at("hand::y"), at("hand::z"));
    let turned = Quat::from_rpy([0.3, 0.7, -0.4]);
    let mut ball = (turned, Vec3::new(0.02, 0.0, 0.1));
    let mut hand = [0.03, 0.26];
    let mut state = scene.start.clone();
    let put = |q: &mut [f64], ball: &(Quat, Vec3), hand: &[f64; 2]| {
        q[first..first + 4].copy_from_slice(&ball.0.to_array());
        q[first + 4..first + 7].copy_from_slice(&ball.1.to_array());
        (q[y], q[z]) = (hand[0], hand[1]);
    };
    put(&mut state.q, &ball, &hand);
    let mut work = scene.system.create_workspace();
    let (mut turn, mut pressed) = (0.0_f64, 0);
    for k in 0..12 {
        let command = [0.03 + 0.03 * f64::from(k), 0.22];
        let input = StepInput { q_cmd: command.to_vec(), ..StepInput::default() };
        let report =
            scene.system.step_with(&mut state, &input, &scene.params, &mut work).unwrap().clone();
        (ball, hand) = reference(ball, hand, command);
        let mut want = state.q.clone();
        put(&mut want, &ball, &hand);
        let apart = state.q.iter().zip(&want).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(apart < 1e-9, "step {k}: {apart:e}\n{:?}\n{want:?}", state.q);
        turn = turn.max(report.v[..3].iter().map(|w| (H * w).abs()).fold(0.0, f64::max));
        assert_eq!(report.contacts.len(), 3);
        pressed += u32::from(report.contacts.iter().all(|c| c.geom_a > 0 || c.normal_force > 1e-3));
    }
    // large enough that exponential and linearised rotation differ by more than the tolerance
    assert!(turn > 0.02 && turn.powi(3) / 12.0 > 1e-7, "{turn}");
    // steps with the ball between hand and floor
    assert!(pressed >= 4, "{pressed}");
}

#[test]
fn mistakes_are_named() {
    let cases: [(&str, &str, &[&str]); 7] = [
        ("  nd_per_contact: 3\n", "nd_per_contact", &["even number"]),
        ("  nd_per_contact: 1e9\n", "nd_per_contact", &["from 2 to 1024"]),
        ("  unactuated_mass_scale: 0\n", "unactuated_mass_scale", &["0 was seen", "objects stay"]),
        ("  is_quasi_dynamic: perhaps\n", "is_quasi_dynamic", &["true or false"]),
        ("  contact_detection_tolerance: -1\n", "contact_detection_tolerance", &["≥ 0 m"]),
        ("  nd_per_contct: 4\n", "nd_per_contct", &["did you mean `nd_per_contact`"]),
        ("  gravity: [0, 0]\n", "gravity", &["3 numbers"]),
    ];
    for (k, (params, key, words)) in cases.into_iter().enumerate() {
        let folder = folder(&format!("q-sys-mistake-{k}"), params);
        let file = folder.0.join("system.yml");
        let place = format!("{}:9: quasistatic_sim_params.{key}:", file.display());
        expect(Scene::load(&file), &place, words);
    }
    let folder = folder("q-sys-mistakes", PARAMS);
    let file = folder.0.join("system.yml");
    let text = std::fs::read_to_string(&file).unwrap();
    for (from, to, place, words) in [
        ("Kp: [500, 300]", "Kp: [500]", "4: robots.0.Kp:", &["1 numbers", "2 joints"]),
        ("Kp: [500, 300]", "Kp: [500, -300]", "4: robots.0.Kp.1:", &["-300", "> 0"]),
        (
            "name: hand",
            "name: hnd",
            "3: robots.0.name:",
            &["unknown model `hnd`", "did you mean `hand`"],
        ),
        ("name: hand", "name: ball", "3: robots.0.name:", &["either a robot or an object", "once"]),
        ("ball.sdf", "no.sdf", "7: objects.0.file:", &["no.sdf", "own_scenes"]),
    ] {
        std::fs::write(&file, text.replace(from, to)).unwrap();
        expect(Scene::load(&file), &format!("{}:{place}", file.display()), words);
    }
    // a robot without drive
    let objects = text.replace("  - name: hand\n    Kp: [500, 300]\n", "");
    std::fs::write(&file, objects.replace("robots:", "robots: []")).unwrap();
    let place = format!("{}:2: robots:", file.display());
    expect(Scene::load(&file), &place, &["`hand`", "neither among `robots`"]);
}
