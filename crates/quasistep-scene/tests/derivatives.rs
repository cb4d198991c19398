//! Derivatives of steps on every shipped scene against central differences on the manifold.
#![allow(missing_docs, non_snake_case)]

use quasistep::{
    Formulation, InputChange, Integration, Mode, OutputChange, State, StepInput, System, Wrench,
};
use quasistep_math::Vec3;
use quasistep_scene::Scene;
use std::path::PathBuf;

fn scene(name: &str) -> Scene {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenes").join(name);
    let mut scene = Scene::load(path).unwrap_or_else(|e| panic!("{e}"));
    scene.params.formulation = Formulation::Anitescu { cone: scene.params.formulation.cone() };
    scene.params.integration = Integration::Euler;
    scene
}

struct Samples(u64);
impl Samples {
    fn signed(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

fn moved(system: &System, q: &[f64], dq: &[f64], eps: f64) -> Vec<f64> {
    let mut out = vec![0.0; q.len()];
    system.model().integrate(q, dq, eps, &mut out);
    out
}

/// `u ⊕ eps du`.
fn moved_command(system: &System, q: &[f64], u: &[f64], du: &[f64], eps: f64) -> Vec<f64> {
    let (mut full, mut rate) = (q.to_vec(), vec![0.0; system.model().n_v()]);
    let (mut at, mut at_v) = (0, 0);
    for &body in system.commanded() {
        let b = system.model().body(body);
        full[b.q.clone()].copy_from_slice(&u[at..at + b.q.len()]);
        rate[b.v.clone()].copy_from_slice(&du[at_v..at_v + b.v.len()]);
        at += b.q.len();
        at_v += b.v.len();
    }
    let to = moved(system, &full, &rate, eps);
    system.commanded().iter().flat_map(|&b| to[system.model().body(b).q.clone()].to_vec()).collect()
}

#[test]
fn explore() {
    let only = std::env::var("SCENE").ok();
    let verbose = std::env::var("V").is_ok();
    let names =
        std::fs::read_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenes")).unwrap();
    let mut names: Vec<String> = names
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.ends_with(".yml"))
        .collect();
    names.sort();
    for name in names {
        if only.as_ref().is_some_and(|o| !name.contains(o.as_str())) || name.contains("million") {
            continue;
        }
        let scene = scene(&name);
        let system = &*scene.system;
        let params = scene.params.clone();
        let h = params.time_step;
        let n_steps = ((scene.duration / h).round() as usize).min(200);
        let mut work = system.create_workspace();
        let mut state = scene.start.clone();
        let mut input = StepInput::default();
        let (mut d, mut e) = (system.create_derivatives(), system.create_derivatives());
        let modes: Vec<Mode> = match std::env::var("KAPPA") {
            Ok(k) => vec![Mode::Smooth { kappa: k.parse().unwrap() }],
            _ => vec![Mode::Exact],
        };
        let (mut tried, mut kinked, mut apart_n, mut failed, mut worst) = (0, 0, 0, 0, 0.0_f64);
        let mut s = Samples(88172645463325252);
        for k in 0..n_steps {
            let t = state.time + h;
            scene.sample(t, &mut input);
            if k % (n_steps / 12).max(1) == 1 {
                for &mode in &modes {
                    let kinks = match system.differentiate(&state, &input, &params, mode, &mut d) {
                        Ok(k) => k,
                        Err(err) => {
                            println!("{name} {k}: {err}");
                            failed += 1;
                            continue;
                        }
                    };
                    if verbose {
                        println!("{name} {k} {kinks:?} contacts {}", d.n_contacts());
                    }
                    let n_v = system.model().n_v();
                    for what in ["q", "u", "w", "h", "all"] {
                        let mut change = InputChange::default();
                        let on = |w: &str| w == what || what == "all";
                        change.q =
                            (0..n_v).map(|_| if on("q") { s.signed() } else { 0.0 }).collect();
                        change.q_cmd = (0..system.n_cmd_v())
                            .map(|_| if on("u") { s.signed() } else { 0.0 })
                            .collect();
                        change.wrench = (0..6 * system.model().n_bodies())
                            .map(|_| if on("w") { s.signed() } else { 0.0 })
                            .collect();
                        change.time_step = if on("h") { s.signed() * h } else { 0.0 };
                        let mut out = OutputChange::default();
                        let apart = d.jvp(system, &change, true, &mut out).unwrap();
                        tried += 1;
                        let base = d.q_next().to_vec();
                        let mut at = |eps: f64| {
                            let q = moved(system, &state.q, &change.q, eps);
                            let mut input = input.clone();
                            input.q_cmd =
                                moved_command(system, &state.q, &input.q_cmd, &change.q_cmd, eps);
                            for b in 1..system.model().n_bodies() {
                                let w = &change.wrench[6 * b..6 * b + 6];
                                input.wrenches.push(Wrench {
                                    body: b,
                                    p_B: Vec3::ZERO,
                                    torque_W: Vec3::new(w[0], w[1], w[2]) * eps,
                                    force_W: Vec3::new(w[3], w[4], w[5]) * eps,
                                });
                            }
                            let mut params = params.clone();
                            params.time_step += eps * change.time_step;
                            let state = State { time: state.time, q };
                            if system.differentiate(&state, &input, &params, mode, &mut e).is_err()
                            {
                                return None;
                            }
                            let mut dq = vec![0.0; n_v];
                            system.model().difference(&base, e.q_next(), &mut dq);
                            let f: Vec<f64> = e
                                .report()
                                .contacts
                                .iter()
                                .flat_map(|c| (c.force_W() * params.time_step).to_array())
                                .collect();
                            Some((dq, e.report().v.clone(), f))
                        };
                        let eps: f64 = std::env::var("EPS").map_or(1e-5, |e| e.parse().unwrap());
                        let (Some(a), Some(b), Some(c), Some(g)) =
                            (at(eps), at(-eps), at(2.0 * eps), at(-2.0 * eps))
                        else {
                            println!("step failed");
                            continue;
                        };
                        let diff = |x: &[f64], y: &[f64], z: &[f64], w: &[f64]| -> Vec<f64> {
                            (0..x.len())
                                .map(|i| (8.0 * (x[i] - y[i]) - (z[i] - w[i])) / (12.0 * eps))
                                .collect()
                        };
                        let fq = diff(&a.0, &b.0, &c.0, &g.0);
                        let big = |v: &[f64]| v.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
                        let err = |x: &[f64], y: &[f64]| {
                            x.iter().zip(y).fold(0.0_f64, |m, (x, y)| m.max((x - y).abs()))
                                / big(y).max(1e-3)
                        };
                        let eq = err(&out.q_next, &fq);
                        let ev = err(&out.v, &diff(&a.1, &b.1, &c.1, &g.1));
                        let n = a.2.len();
                        let ef = if [b.2.len(), c.2.len(), g.2.len(), 3 * d.n_contacts()]
                            .iter()
                            .all(|x| *x == n)
                        {
                            let f = diff(&a.2, &b.2, &c.2, &g.2);
                            let ours: Vec<f64> = (0..n / 3)
                                .flat_map(|i| out.impulse[6 * i..6 * i + 3].to_vec())
                                .collect();
                            err(&ours, &f)
                        } else {
                            f64::NAN
                        };
                        let flagged = kinks.any();
                        if flagged {
                            kinked += 1
                        } else if apart > 1e-9 {
                            apart_n += 1
                        } else {
                            worst = worst.max(eq);
                        }
                        if verbose || (!flagged && apart <= 1e-9 && eq > 1e-6) {
                            println!(
                                "{name} {k} {what}: q {eq:.1e} v {ev:.1e} f {ef:.1e} apart {apart:.1e} kinks {}",
                                kinks.any()
                            );
                        }
                        // transpose
                        let weights = OutputChange {
                            q_next: (0..n_v).map(|_| s.signed()).collect(),
                            v: (0..n_v).map(|_| s.signed()).collect(),
                            normal: (0..d.n_contacts()).map(|_| s.signed()).collect(),
                            impulse: (0..6 * d.n_contacts()).map(|_| s.signed()).collect(),
                        };
                        let mut grad = InputChange::default();
                        let mut full = change.clone();
                        full.friction = (0..3 * d.n_contacts()).map(|_| s.signed()).collect();
                        full.stiffness = (0..system.n_cmd_v()).map(|_| s.signed()).collect();
                        full.damping = (0..system.n_cmd_v()).map(|_| s.signed()).collect();
                        full.v_cmd = (0..system.n_cmd_v()).map(|_| s.signed()).collect();
                        full.mass = (0..system.model().n_bodies()).map(|_| s.signed()).collect();
                        d.jvp(system, &full, true, &mut out).unwrap();
                        d.vjp(system, &weights, &mut grad).unwrap();
                        let dot =
                            |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                        let one = dot(&weights.q_next, &out.q_next)
                            + dot(&weights.v, &out.v)
                            + dot(&weights.normal, &out.normal)
                            + dot(&weights.impulse, &out.impulse);
                        let two = dot(&grad.q, &full.q)
                            + dot(&grad.q_cmd, &full.q_cmd)
                            + dot(&grad.v_cmd, &full.v_cmd)
                            + dot(&grad.wrench, &full.wrench)
                            + dot(&grad.friction, &full.friction)
                            + dot(&grad.stiffness, &full.stiffness)
                            + dot(&grad.damping, &full.damping)
                            + dot(&grad.mass, &full.mass)
                            + grad.time_step * full.time_step;
                        let terms = big(&out.v).max(big(&out.impulse)).max(1.0);
                        if (one - two).abs() > 1e-9 * terms {
                            println!("{name} {k} {what}: transpose {one:e} {two:e}");
                        }
                    }
                }
            }
            if let Err(err) = system.step_with(&mut state, &input, &params, &mut work) {
                println!("{name} {k}: {err}");
                break;
            }
        }
        println!(
            "== {name}: tried {tried} kinked {kinked} apart {apart_n} failed {failed} worst {worst:.1e}"
        );
    }
}
