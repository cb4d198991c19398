//! CPU time of exact friction compared with the convex step, on equal programs, warm:
//!
//! `cargo run --release -p benches --bin friction_time`
//!
//! Boxes of 0.1 m and 1 kg touch with four corners each. A pusher, held by springs, moves a row of
//! them over the floor, or the floor shakes a stack. Prints medians per step, and the methods that
//! solved it.

use quasistep_cone::{ConeSolver, Settings, Solution, Status, WarmStart};
use quasistep_friction::{
    CoulombMethod, CoulombSettings, CoulombSolution, CoulombSolver, CoulombWarm, Friction,
    FrictionProgram, Outcome,
};

const HALF: f64 = 0.05;
const STEP: f64 = 0.01;
const STEPS: usize = 200;
const MU: f64 = 0.5;

#[derive(Clone, Copy, Debug)]
enum Scene {
    /// Stack of this many boxes on a moving floor.
    Stack(usize),
    /// Row of this many boxes on the floor, pushed.
    Row(usize),
}

#[derive(Clone, Copy, Debug)]
struct Case {
    scene: Scene,
    round: bool,
    /// Quasi-dynamic, or without mass.
    mass: bool,
}

/// Writes the rows of a contact at `p` with normal `n` and tangents `t` for side `side`, a free
/// body.
fn write(rows: &mut quasistep_cone::ConeMut<'_>, side: usize, sign: f64, p: [f64; 3], n: usize) {
    let axes = [n, (n + 1) % 3, (n + 2) % 3];
    for (r, axis) in axes.iter().enumerate() {
        let mut e = [0.0; 3];
        e[*axis] = sign;
        // rate of a point: v + w × p
        let moment =
            [p[1] * e[2] - p[2] * e[1], p[2] * e[0] - p[0] * e[2], p[0] * e[1] - p[1] * e[0]];
        let row = rows.J(side, r);
        row[..3].copy_from_slice(&e);
        if row.len() == 6 {
            row[3..].copy_from_slice(&moment);
        }
    }
}

fn program(case: &Case, k: usize, p: &mut FrictionProgram) {
    let directions = [1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, -1.0];
    let friction = if case.round {
        Friction::Round(&[MU, MU])
    } else {
        Friction::Diamond { mu: MU, directions: &directions, tangents: 2 }
    };
    let (boxes, pusher) = match case.scene {
        Scene::Stack(n) => (n, 0),
        Scene::Row(n) => (n, 1),
    };
    p.reset((0..boxes).map(|_| 6).chain((0..pusher).map(|_| 3)));
    for b in 0..boxes {
        for i in 0..6 {
            p.P(b, i)[i] = match (case.mass, i) {
                (false, _) => 0.0,
                (true, 0..3) => 1.0,
                (true, _) => 4.0 * HALF * HALF / 6.0,
            };
        }
        p.c(b)[2] = 9.81 * STEP;
    }
    let t = k as f64 * STEP;
    let corners = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]];
    match case.scene {
        Scene::Stack(n) => {
            let floor = [0.1 * (3.0 * t).sin(), 0.1 * (2.0 * t).cos()];
            for b in 0..n {
                for c in corners {
                    let at = [c[0] * HALF, c[1] * HALF];
                    let blocks = [b as u32, b.wrapping_sub(1) as u32];
                    let mut rows = p.push_contact(friction, &blocks[..=usize::from(b > 0)]);
                    write(&mut rows, 0, 1.0, [at[0], at[1], -HALF], 2);
                    if b > 0 {
                        write(&mut rows, 1, -1.0, [at[0], at[1], HALF], 2);
                    } else {
                        rows.b()[1..].copy_from_slice(&floor);
                    }
                }
            }
        }
        Scene::Row(n) => {
            for b in 0..n {
                for c in corners {
                    let mut rows = p.push_contact(friction, &[b as u32]);
                    write(&mut rows, 0, 1.0, [c[0] * HALF, c[1] * HALF, -HALF], 2);
                }
                // the previous box pushes along x, in a direction that varies with time
                let before = if b == 0 { n } else { b - 1 };
                for c in corners {
                    let at = [c[0] * HALF, 0.5 * c[1] * HALF];
                    let mut rows = p.push_contact(friction, &[b as u32, before as u32]);
                    write(&mut rows, 0, 1.0, [-HALF, at[0], at[1]], 0);
                    write(&mut rows, 1, -1.0, [HALF, at[0], at[1]], 0);
                }
            }
            // stiff springs along x, y, z
            let command = [0.05, 0.02 * (5.0 * t).sin(), 0.0];
            for i in 0..3 {
                p.P(n, i)[i] = STEP * STEP * 1e4 * n as f64;
                p.c(n)[i] = -STEP * STEP * 1e4 * n as f64 * command[i];
            }
        }
    }
}

fn main() {
    println!(
        "scene                          convex us   exact us   ratio   methods (warm, newton, continuation, lemke, cases, fixed point), unsolved"
    );
    for scene in [Scene::Stack(1), Scene::Stack(10), Scene::Row(1), Scene::Row(3), Scene::Row(10)] {
        for round in [false, true] {
            for mass in [true, false] {
                run(&Case { scene, round, mass });
            }
        }
    }
}

fn run(case: &Case) {
    let (mut cone, mut relaxed) = (ConeSolver::new(), Solution::default());
    let (mut coulomb, mut out) = (CoulombSolver::new(), CoulombSolution::default());
    let (mut z, mut s) = (Vec::new(), Vec::new());
    let (mut lambda, mut u) = (Vec::new(), Vec::new());
    let (mut convex_ns, mut exact_ns) = (Vec::new(), Vec::new());
    let mut methods = [0; 6];
    let mut unsolved = 0;
    let mut p = FrictionProgram::new();
    for k in 0..STEPS {
        program(case, k, &mut p);
        let warm = (z.len() == p.relaxation().m()).then_some(WarmStart { z: &z, s: &s });
        let start = process_cpu_ns();
        cone.solve(p.relaxation(), warm, &Settings::default(), &mut relaxed);
        convex_ns.push(process_cpu_ns() - start);
        if relaxed.status == Status::Solved {
            z.clone_from(&relaxed.z);
            s.clone_from(&relaxed.s);
        }
        let warm = (lambda.len() == p.n_rows()).then_some(CoulombWarm {
            lambda: &lambda,
            u: &u,
            relaxed: None,
        });
        let start = process_cpu_ns();
        coulomb.solve(&p, warm, &CoulombSettings::default(), &mut out);
        exact_ns.push(process_cpu_ns() - start);
        if out.outcome == Outcome::Solved {
            lambda.clone_from(&out.lambda);
            u.clone_from(&out.u);
            methods[match out.method {
                CoulombMethod::WarmNewton => 0,
                CoulombMethod::Newton => 1,
                CoulombMethod::Continuation => 2,
                CoulombMethod::Relaxation => unreachable!("a proof"),
                CoulombMethod::Lemke => 3,
                CoulombMethod::Cases => 4,
                CoulombMethod::FixedPoint => 5,
            }] += 1;
        } else {
            unsolved += 1;
        }
    }
    let median = |v: &mut Vec<u64>| {
        v.sort_unstable();
        v[v.len() / 2] as f64 * 1e-3
    };
    let (convex, exact) = (median(&mut convex_ns), median(&mut exact_ns));
    let name = format!(
        "{:?} {} {}",
        case.scene,
        if case.round { "round" } else { "pyramid" },
        if case.mass { "mass" } else { "massless" }
    );
    println!("{name:30} {convex:9.1} {exact:10.1} {:7.2}   {methods:?} {unsolved}", exact / convex);
}

/// CPU time that this process has used, in ns, including other threads.
#[cfg(unix)]
fn process_cpu_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Wall time since the first call, in ns, where CPU time is not available.
#[cfg(not(unix))]
fn process_cpu_ns() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
