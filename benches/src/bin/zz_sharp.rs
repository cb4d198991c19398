//! Throwaway.
#![allow(missing_docs, clippy::all, clippy::pedantic)]
use benches::recorded::Sequence;
use benches::thread_cpu_ns;
use quasistep::StepInput;
use quasistep_solvers::*;
use std::path::Path;

fn scene_seq(name: &str, set: &[(&str, &str)], nth: usize, n: usize) -> Vec<ConeProgram> {
    let scene = testkit::scene(name, set);
    let (mut state, mut work) = (scene.start.clone(), scene.system.create_workspace());
    let (mut input, mut out) = (StepInput::default(), Vec::new());
    for k in 1..=scene.n_steps() {
        scene.sample(k as f64 * scene.params.time_step, &mut input);
        if let Err(e) = scene.system.step_with(&mut state, &input, &scene.params, &mut work) {
            eprintln!("{e}");
            break;
        }
        if k % nth == 0 && work.last_solution().saturated.iter().all(|s| *s == 0) {
            out.push(work.last_problem().clone());
        }
        if out.len() >= n {
            break;
        }
    }
    out
}
fn main() {
    let mut seqs: Vec<(String, Vec<ConeProgram>)> = vec![];
    let s = Sequence::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded/bunny13.npz"));
    for mass in [true] {
        for round in [false, true] {
            let mut v = vec![];
            for t in 0..s.len() {
                let mut p = ConeProgram::new();
                s.build(t, mass, round, &mut p);
                v.push(p);
            }
            seqs.push((format!("bunny13 mass {mass} round {round}"), v));
        }
    }
    let s = Sequence::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded/stack69.npz"));
    let mut v = vec![];
    for t in 0..s.len() {
        let mut p = ConeProgram::new();
        s.build(t, true, false, &mut p);
        v.push(p);
    }
    seqs.push((format!("stack69"), v));
    for (label, set) in [
        ("grasp 5", vec![("step.inertia", "mass")]),
        (
            "grasp 15 tall",
            vec![
                ("step.inertia", "mass"),
                ("models.bunny.cloud.points", "15"),
                ("models.bunny.cloud.fit.height", "0.2"),
            ],
        ),
        (
            "grasp 9 small",
            vec![
                ("step.inertia", "mass"),
                ("models.bunny.cloud.points", "9"),
                ("models.bunny.cloud.fit.height", "0.08"),
                ("models.bunny.mass", "0.5"),
            ],
        ),
    ] {
        seqs.push((label.into(), scene_seq("bunny_grasp", &set, 2, 400)));
    }
    let mut qp = QpSolver::new();
    let only = std::env::args().nth(1);
    for (name, v) in &seqs {
        if let Some(o) = &only {
            if !name.contains(o.as_str()) {
                continue;
            }
        }
        for warm in [false, true] {
            let mut solver = ConeSolver::new();
            let (mut out, mut prev) = (Solution::default(), Solution::default());
            let mut times = vec![];
            let (mut bad, mut worst, mut unsolved, mut off6, mut off8) = (0, 0.0f64, 0, 0, 0);
            let mut worst_off = 0.0f64;
            let mut at = vec![];
            for (t, p) in v.iter().enumerate() {
                let w = (warm
                    && t > 0
                    && prev.status == Status::Solved
                    && prev.z.len() == p.m()
                    && prev.x.len() == p.n())
                .then(|| WarmStart { z: &prev.z, s: &prev.s });
                let mut best = u64::MAX;
                for _ in 0..(if std::env::var("ZZ").is_ok() { 1 } else { 5 }) {
                    let t0 = thread_cpu_ns();
                    solver.solve(p, w, &Settings::default(), &mut out);
                    best = best.min(thread_cpu_ns() - t0);
                }
                times.push(best);
                if out.status != Status::Solved {
                    unsolved += 1;
                }
                let viol = out.s.iter().fold(0.0f64, |m, s| m.max(-s));
                let round = name.contains("round true");
                if !round {
                    if viol > 1e-12 {
                        bad += 1;
                    }
                    if std::env::var("ZZ").is_ok() {
                        eprintln!("problem {t}: viol {viol:.2e} {:?}", out.method);
                    }
                    worst = worst.max(viol);
                    let mut dense = DenseProgram::default();
                    dense.fill(p);
                    let mut o = Solution::default();
                    qp.solve(&dense.qp(), &[], &Settings::default(), &mut o);
                    if o.status == Status::Solved {
                        let d =
                            o.x.iter().zip(&out.x).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
                        if d > 1e-6 {
                            off6 += 1;
                            at.push((
                                t,
                                format!("{:?}", out.method),
                                format!("{viol:.1e} {d:.1e}"),
                            ));
                        }
                        if d > 1e-8 {
                            off8 += 1;
                        }
                        worst_off = worst_off.max(d);
                    }
                }
                std::mem::swap(&mut prev, &mut out);
            }
            times.sort();
            let n = times.len().max(1);
            if times.is_empty() {
                continue;
            }
            println!(
                "{name:24} warm {warm:5} n {n:4} unsolved {unsolved} median {:6.2} mean {:6.2} p95 {:6.2} us | viol>1e-12 {bad} worst {worst:.1e} | off>1e-6 {off6} >1e-8 {off8} worst {worst_off:.1e}",
                times[n / 2] as f64 / 1e3,
                times.iter().sum::<u64>() as f64 / n as f64 / 1e3,
                times[n * 95 / 100] as f64 / 1e3
            );
            for a in at.iter().take(3) {
                println!("    {a:?}");
            }
        }
    }
}
