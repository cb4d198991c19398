//! Solves convex programs on demand, for programs in other languages:
//!
//! `echo '{"door": "qp", …}' | cargo run --release -p quasistep-solvers --example solve_program`
//!
//! A line on standard input is one program: `min 1/2 xᵀPx + cᵀx` with `A x ≥ b`, its last rows in
//! second-order cones of the sizes `cones`. `P` (both triangles) and `A` are lists of rows, each
//! `[columns, values]`. `door` selects the solver: `qp` for the dense `QpSolver`, `socp` for
//! `SocpSolver`. Each line is answered by one line of JSON: `status`, `x`, `z`, and the least wall
//! time in s of up to five solves within a tenth of a second.
#![allow(non_snake_case)] // P and A follow the notation of the solvers

use quasistep_solvers::{Qp, QpSolver, RowCone, Rows, Settings, Socp, SocpSolver, Solution};
use serde_json::{Value, json};
use std::error::Error;
use std::io::{Write, stdin, stdout};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    for line in stdin().lines() {
        match line.map_err(Into::into).and_then(|line| answer(&line)) {
            Ok(answer) => {
                println!("{answer}");
                drop(stdout().flush());
            }
            Err(error) => {
                eprintln!("error: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

/// Rows `[columns, values]`.
fn rows(value: &Value) -> Rows {
    let mut rows = Rows::new();
    for row in value.as_array().into_iter().flatten() {
        let columns: Vec<u32> = numbers(&row[0]).into_iter().map(|j| j as u32).collect();
        rows.push(&columns, &numbers(&row[1]));
    }
    rows
}

/// Least wall time of several runs, in s. The minimum is robust against other load on the machine.
fn least_time(mut run: impl FnMut()) -> f64 {
    let begin = Instant::now();
    let mut least = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        run();
        least = least.min(start.elapsed().as_secs_f64());
        if begin.elapsed().as_secs_f64() > 0.1 {
            break;
        }
    }
    least
}

fn answer(line: &str) -> Result<Value, Box<dyn Error>> {
    let program: Value = serde_json::from_str(line)?;
    let (c, b) = (numbers(&program["c"]), numbers(&program["b"]));
    let (P, A) = (rows(&program["P"]), rows(&program["A"]));
    let n = c.len();
    let mut out = Solution::default();
    let least;
    if program["door"] == "qp" {
        let mut dense = vec![0.0; n * n];
        for i in 0..n {
            let (columns, values) = P.row(i);
            columns.iter().zip(values).for_each(|(j, v)| dense[i * n + *j as usize] = *v);
        }
        let qp = Qp { n, P: &dense, c: &c, A: &A, b: &b, saturations: &[] };
        least = least_time(|| {
            QpSolver::new().solve(&qp, &[], &Settings::default(), &mut out);
        });
    } else {
        let sizes: Vec<usize> =
            numbers(&program["cones"]).into_iter().map(|k| k as usize).collect();
        let mut cones = vec![RowCone::Nonnegative(b.len() - sizes.iter().sum::<usize>())];
        cones.extend(sizes.into_iter().map(RowCone::SecondOrder));
        let socp = Socp { n, P: &P, c: &c, A: &A, b: &b, cones: &cones, saturations: &[] };
        least = least_time(|| {
            SocpSolver::new().solve(&socp, None, &Settings::default(), &mut out);
        });
    }
    let status = format!("{:?}", out.status);
    Ok(
        json!({"status": status, "x": out.x, "z": out.z, "seconds": least, "method": format!("{:?}", out.method), "reason": format!("{:?}", out.reason)}),
    )
}
