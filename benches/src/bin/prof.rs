//! scratch
use benches::recorded::{Key, Sequence};
use quasistep::StepInput;
use quasistep_solvers::{ConeProgram, ConeSolver, Settings, Solution, Status, WarmStart};
use std::path::Path;
use std::time::Instant;

struct Item {
    program: ConeProgram,
    z: Vec<f64>,
    s: Vec<f64>,
    warm: bool,
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let name = &args[1];
    let warm = args[2] == "warm";
    let rounds: usize = args[3].parse().unwrap();
    let only: Option<usize> = std::env::var("ONLY").ok().map(|v| v.parse().unwrap());
    let detail = args.get(4).map(String::as_str);
    let mut items: Vec<Item> = Vec::new();
    let mut solver = ConeSolver::new();
    if let Some(scene) = name.strip_prefix("scene:") {
        let scene = testkit::scene(scene, &[]);
        let (mut state, mut work) = (scene.start.clone(), scene.system.create_workspace());
        let mut input = StepInput::default();
        for k in 1..=scene.n_steps() {
            scene.sample(k as f64 * scene.params.time_step, &mut input);
            if scene.system.step_with(&mut state, &input, &scene.params, &mut work).is_err() {
                break;
            }
            if k % 10 == 0 {
                let program = work.last_problem().clone();
                items.push(Item { program, z: vec![], s: vec![], warm: false });
            }
        }
    } else {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("recorded/{name}.npz"));
        let sequence = Sequence::read(&path);
        let (mut keys, mut before): (Vec<Key>, Vec<Key>) = Default::default();
        let mut last = Solution::default();
        let mut last_rows: Vec<std::ops::Range<usize>> = Vec::new();
        for t in 0..sequence.len() {
            let mut program = ConeProgram::new();
            sequence.build(t, true, false, &mut program);
            sequence.keys(t, &mut keys);
            let mut z = vec![0.0; program.m()];
            let mut s = vec![1.0; program.m()];
            for (i, key) in keys.iter().enumerate() {
                if let Some(j) = before.iter().position(|k| k == key) {
                    let to = program.rows_of(i);
                    z[to.clone()].copy_from_slice(&last.z[last_rows[j].clone()]);
                    s[to].copy_from_slice(&last.s[last_rows[j].clone()]);
                }
            }
            let ok = warm && t > 0 && last.status == Status::Solved;
            let mut out = Solution::default();
            let guess = ok.then_some(WarmStart { z: &z, s: &s });
            solver.solve(&program, guess, &Settings::default(), &mut out);
            last_rows.clear();
            last_rows.extend((0..program.n_cones()).map(|i| program.rows_of(i)));
            last = out;
            std::mem::swap(&mut keys, &mut before);
            items.push(Item { program, z, s, warm: ok });
        }
    }
    let mut out = Solution::default();
    let inner: usize = args.get(5).map_or(20, |a| a.parse().unwrap());
    if let Some(k) = only {
        let item = items.swap_remove(k);
        items = vec![item];
    }
    let mut items = items;
    let mut least = vec![f64::INFINITY; items.len()];
    for _ in 0..rounds {
        for (k, item) in items.iter().enumerate() {
            let guess = item.warm.then_some(WarmStart { z: &item.z, s: &item.s });
            solver.solve(&item.program, guess, &Settings::default(), &mut out);
            let clock = Instant::now();
            for _ in 0..inner {
                solver.solve(&item.program, guess, &Settings::default(), &mut out);
            }
            least[k] = least[k].min(clock.elapsed().as_secs_f64() * 1e6 / inner as f64);
        }
    }
    if detail == Some("detail") {
        for (k, item) in items.iter().enumerate() {
            let guess = item.warm.then_some(WarmStart { z: &item.z, s: &item.s });
            solver.solve(&item.program, guess, &Settings::default(), &mut out);
            let wpos = item.z.iter().filter(|z| **z > 0.0).count();
            let zpos = out.z.iter().filter(|z| **z > 0.0).count();
            let touching = out.s.iter().filter(|s| s.abs() < 1e-9).count();
            let changed = if item.z.len() == out.z.len() {
                item.z.iter().zip(&out.z).filter(|(a, b)| (**a > 0.0) != (**b > 0.0)).count()
            } else {
                0
            };
            println!(
                "{k}: {:.2} us {:?} {:?} it {} m {} n {} warm+ {wpos} z+ {zpos} touching {touching} changed {changed} smallest {} r {:.1e} {:.1e}",
                least[k],
                out.method,
                out.status,
                out.iterations,
                item.program.m(),
                item.program.n(),
                out.dual_is_smallest_norm,
                out.residuals.primal,
                out.residuals.stationarity
            );
        }
    }
    least.sort_by(f64::total_cmp);
    let q = |f: f64| least[((least.len() - 1) as f64 * f) as usize];
    let mean = least.iter().sum::<f64>() / least.len() as f64;
    println!(
        "{name} {} {} problems: median {:.2} p75 {:.2} p90 {:.2} p95 {:.2} max {:.2} mean {mean:.2}",
        args[2],
        least.len(),
        q(0.5),
        q(0.75),
        q(0.9),
        q(0.95),
        q(1.0)
    );
}
