//! CPU time of planning through contact: the closed loop of MpcNote's point robot.
//!
//! `cargo run --release -p benches --bin mpc_time -- --horizon 20 --repetitions 5`
//!
//! The time of a step is the median over the repetitions. Prints one line per horizon: median and
//! 99th percentile of these times over the closed loop, nodes, quadratic programs, and the worst
//! certified gap. With `--json`, prints one object per step instead, for programs that compare.

use benches::thread_cpu_ns;
use clap::Parser;
use quasistep_control::{
    Constraint, Mpc, MpcSettings, Plan, PlanStatus, ProblemError, point_robot,
};
use serde_json::json;
use std::process::ExitCode;

/// Times planning on the point robot
#[derive(Parser)]
struct Arguments {
    /// Steps of the plan; may be repeated
    #[arg(long = "horizon", default_values_t = [5, 20])]
    horizons: Vec<usize>,
    /// Steps of the closed loop
    #[arg(long, default_value_t = 100)]
    steps: usize,
    /// Closed loops timed; one more comes first, to warm up
    #[arg(long, default_value_t = 5)]
    repetitions: usize,
    /// One JSON object per step
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.horizons.iter().try_for_each(|&horizon| time(horizon, &arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn time(horizon: usize, arguments: &Arguments) -> Result<(), ProblemError> {
    let mut mpc = Mpc::new(point_robot::problem(horizon), MpcSettings::default())?;
    let mut times = vec![Vec::new(); arguments.steps];
    let mut plans: Vec<Plan> = Vec::new();
    for repetition in 0..=arguments.repetitions {
        plans.clear();
        let mut x = point_robot::START.to_vec();
        for times in &mut times {
            let start = thread_cpu_ns();
            let plan = mpc.plan(&x, plans.last())?;
            let spent = thread_cpu_ns() - start;
            if repetition > 0 {
                times.push(spent as f64 * 1e-6);
            }
            x.clone_from(&plan.states[1]);
            plans.push(plan);
        }
    }
    let ms: Vec<f64> = times.iter().map(|t| percentile(t, 0.5)).collect();
    if arguments.json {
        for (k, plan) in plans.iter().enumerate() {
            // inputs are counted from 0: the contact can act with input k
            let reachable: Vec<(usize, usize)> = mpc
                .reachable(&plan.states[0])?
                .into_iter()
                .filter_map(|at| match at.constraint {
                    Constraint::Contact(i) => Some((at.step - 1, i)),
                    _ => None,
                })
                .collect();
            let line = json!({
                "horizon": horizon, "k": k, "ms": ms[k], "cost": plan.cost, "bound": plan.bound,
                "nodes": plan.nodes, "qps": plan.qps, "x": plan.states[0], "u": plan.inputs[0],
                "variables": plan.size.0, "reachable": reachable,
            });
            println!("{line}");
        }
        return Ok(());
    }
    let nodes: Vec<f64> = plans.iter().map(|p| p.nodes as f64).collect();
    let qps: Vec<f64> = plans.iter().map(|p| p.qps as f64).collect();
    let pivots: Vec<f64> = plans.iter().map(|p| p.pivots as f64).collect();
    let optimal = plans.iter().filter(|p| p.status == PlanStatus::Optimal).count();
    let gap = plans.iter().map(Plan::gap).fold(0.0, f64::max);
    println!(
        "N = {horizon}: median {:.3} ms, p99 {:.3} ms, worst {:.3} ms; nodes median {} worst {}; \
         QPs median {} worst {}; pivots median {} worst {}; {optimal} of {} proven, worst gap {gap:.1e}",
        percentile(&ms, 0.5),
        percentile(&ms, 0.99),
        percentile(&ms, 1.0),
        percentile(&nodes, 0.5),
        percentile(&nodes, 1.0),
        percentile(&qps, 0.5),
        percentile(&qps, 1.0),
        percentile(&pivots, 0.5),
        percentile(&pivots, 1.0),
        plans.len(),
    );
    Ok(())
}

/// Percentile by nearest rank.
fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}
