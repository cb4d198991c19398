//! Examination of a problem: solves it cold and warm, verifies the solutions, compares with
//! Clarabel.

use super::{HardProblem, Natural, Opinion, Random, ask_clarabel};
use clarabel::solver::SolverStatus;
use quasistep_cone::{
    ConeProgram, ConeSolver, Method, Reason, Settings, Solution, Status, WarmStart,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Acceptable residual in natural units, as a share of the island's forces and speeds.
pub const WORST_RESIDUAL: f64 = 1e-7;
/// Acceptable difference of `x` between cold and warm start, as a share of the island's speed. Each
/// entry is weighted with the root of its share of the curvature.
const SAME_X: f64 = 1e-6;
/// Acceptable difference of the cost from Clarabel's, as a share of its terms.
const SAME_COST: f64 = 1e-6;
/// Accuracy that approximate solutions are asked for.
const NEAR: f64 = 1e-8;
/// Lower limit of the cost's terms in comparisons, because Clarabel's tolerance is absolute below
/// 1.
const LEAST_COST: f64 = 1e-2;

/// Result of an examination.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Statuses from the cold and the warm start.
    pub status: [Status; 2],
    /// Methods that found the solutions.
    pub method: [Method; 2],
    /// Largest residual of both solutions, if verified.
    pub residual: f64,
    /// Largest weighted difference of `x` between the two starts.
    pub apart: f64,
    /// Excess of the cost over Clarabel's, beyond what violations explain, as a share of the terms;
    /// negative if Clarabel's is higher. `None` unless both solved the problem and verification
    /// succeeded.
    pub cost_difference: Option<f64>,
    /// Status that Clarabel returned.
    pub clarabel: SolverStatus,
    /// Whether Clarabel verifiably reaches another status with equal tolerances, because the
    /// problem is close to both.
    pub disputed: bool,
    /// Description of an error in a solution, if any.
    pub wrong: Option<String>,
    /// Wall time of the cold and the warm solve.
    pub solve: [Duration; 2],
    /// Wall time of Clarabel.
    pub oracle: Duration,
}

/// Solvers and memory for examining a sequence of problems.
#[derive(Debug, Default)]
pub struct Examiner {
    solver: ConeSolver,
    program: ConeProgram,
    cold: Solution,
    warm: Solution,
    near: Solution,
    like: Solution,
}

impl Examiner {
    /// An examiner without allocated memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Examines one problem.
    pub fn examine(&mut self, problem: &HardProblem) -> Outcome {
        let natural = Natural::new(problem);
        let mut out = Outcome {
            status: [Status::GaveUp; 2],
            method: [Method::default(); 2],
            residual: 0.0,
            apart: 0.0,
            cost_difference: None,
            clarabel: SolverStatus::Unsolved,
            disputed: false,
            wrong: None,
            solve: [Duration::ZERO; 2],
            oracle: Duration::ZERO,
        };
        let solved = catch_unwind(AssertUnwindSafe(|| self.solve(problem, &mut out)));
        if solved.is_err() {
            *self = Self::new();
            out.wrong = Some("the solver panicked".into());
            return out;
        }
        out.status = [self.cold.status, self.warm.status];
        out.method = [self.cold.method, self.warm.method];
        for (start, answer) in [("cold", &self.cold), ("warm", &self.warm)] {
            if answer.status == Status::GaveUp {
                if !matches!(answer.reason, Some(Reason::Accuracy | Reason::Pivots)) {
                    out.blame(format!("{start}: gave up because {:?}", answer.reason));
                }
                continue;
            }
            match natural.prove(answer) {
                Ok(proof) => out.residual = out.residual.max(proof.residual),
                Err(why) => out
                    .blame(format!("{start} {:?}: {:?}, but {why}", answer.method, answer.status)),
            }
        }
        self.check_near(&natural, &mut out);
        self.compare_starts(&natural, &mut out);
        // Clarabel does not accept problems without variables
        if natural.n > 0 {
            let start = Instant::now();
            let opinion = ask_clarabel(&natural);
            out.oracle = start.elapsed();
            out.clarabel = opinion.status;
            self.compare_with(&natural, &opinion, &mut out);
        }
        out
    }

    /// Solution of the last problem from a cold start.
    pub fn cold(&self) -> &Solution {
        &self.cold
    }

    /// Solution of the last problem from a warm start.
    pub fn warm(&self) -> &Solution {
        &self.warm
    }

    /// Approximate solution of the last problem.
    pub fn near(&self) -> &Solution {
        &self.near
    }

    fn solve(&mut self, problem: &HardProblem, out: &mut Outcome) {
        let Self { solver, program, cold, warm, near, like } = self;
        let settings = Settings::default();
        let mut random = Random::new(!problem.seed);
        let share = random.pick(&[1e-9, 1e-3, 0.1, 1.0]);
        problem.perturbed(share, &mut random).fill(program);
        solver.solve(program, None, &settings, like);
        if random.chance(0.1) {
            // arbitrary values
            for v in like.z.iter_mut().chain(&mut like.s) {
                *v = random.signed();
            }
        }
        problem.fill(program);
        let start = Instant::now();
        solver.solve(program, None, &settings, cold);
        out.solve[0] = start.elapsed();
        let start = Instant::now();
        let from = WarmStart { z: &like.z, s: &like.s };
        solver.solve(program, Some(from), &settings, warm);
        out.solve[1] = start.elapsed();
        solver.solve(program, None, &Settings { accuracy: NEAR, ..settings }, near);
    }

    /// Checks that an approximate solution has the accuracy asked for, and that any other status
    /// equals that of the cold start.
    fn check_near(&self, natural: &Natural, out: &mut Outcome) {
        let near = &self.near;
        if near.status != Status::Solved || near.method != Method::InteriorPoint {
            if near.status != out.status[0] {
                out.blame(format!("{:?} cold, and {:?} to {NEAR:e}", out.status[0], near.status));
            }
            return;
        }
        if let Err(why) = natural.prove(near) {
            out.blame(format!("solved to {NEAR:e}, but {why}"));
        }
        if matches!(out.status[0], Status::Unbounded | Status::Infeasible) {
            out.blame(format!("{:?} cold, and solved to {NEAR:e}", out.status[0]));
        }
    }

    /// Checks that both starts have equal status, and equal `x` where the cost is positive
    /// definite: to [`SAME_X`], or within the uncertainty from the errors of both solutions. With
    /// `d` the difference of the solutions `a` and `b`,
    ///
    /// ```text
    /// dᵀ P d ≤ dᵀ (g_a − g_b) + z_a·s_a + z_b·s_b − z_a·s_b − z_b·s_a
    /// ```
    ///
    /// The last two terms bound what a violation by one solution gains with the multipliers of the
    /// other.
    fn compare_starts(&self, natural: &Natural, out: &mut Outcome) {
        match out.status {
            [Status::Solved, Status::Solved] => {
                let [a, b] = [&self.cold, &self.warm].map(|s| natural.x(&s.x));
                let [_, terms] = natural.imbalance(&a, &natural.z(&self.cold.z));
                let [_, speed] = natural.scales(&a, &terms);
                let open = self.left_open(natural);
                let diagonal = |i: usize| {
                    let entry = natural.P[i].iter().find(|(j, _)| *j == i);
                    entry.map_or(0.0, |(_, v)| *v)
                };
                let mut stiff = vec![0.0_f64; speed.len()];
                for i in 0..natural.n {
                    let k = natural.island[i];
                    stiff[k] = stiff[k].max(diagonal(i));
                }
                for i in (0..natural.n).filter(|i| natural.ease[*i].is_finite()) {
                    let k = natural.island[i];
                    let apart = (a[i] - b[i]).abs() / speed[k] * (diagonal(i) / stiff[k]).sqrt();
                    // d_i² ≤ (P⁻¹)_ii dᵀ P d
                    let proven = (a[i] - b[i]).powi(2) <= natural.ease[i] * open[k];
                    if !(apart <= SAME_X || proven) {
                        out.blame(format!("x[{i}] is {} cold and {} warm", a[i], b[i]));
                    }
                    if !proven {
                        out.apart = out.apart.max(apart);
                    }
                }
            }
            [Status::Solved, Status::Unbounded | Status::Infeasible]
            | [Status::Unbounded | Status::Infeasible, Status::Solved] => {
                out.blame(format!("{:?} cold and {:?} warm", out.status[0], out.status[1]));
            }
            // a problem may be both infeasible and unbounded
            _ => {}
        }
    }

    /// For each island an upper bound of `dᵀ P d` from the errors of the two solutions.
    fn left_open(&self, natural: &Natural) -> Vec<f64> {
        let [a, b] = [&self.cold, &self.warm].map(|answer| {
            let (x, z) = (natural.x(&answer.x), natural.z(&answer.z));
            let [g, _] = natural.imbalance(&x, &z);
            let s = natural.slacks(&x);
            (x, z, s, g)
        });
        let mut open = vec![0.0; natural.island.iter().map(|i| i + 1).max().unwrap_or(0)];
        for i in 0..natural.n {
            open[natural.island[i]] += ((a.0[i] - b.0[i]) * (a.3[i] - b.3[i])).abs();
        }
        for cone in natural.cones.iter().filter(|c| c.island != usize::MAX) {
            let rows = cone.first..cone.last;
            let work = |z: &[f64], s: &[f64]| {
                z[rows.clone()].iter().zip(&s[rows.clone()]).map(|(z, s)| z * s).sum::<f64>()
            };
            let gained = (-work(&a.1, &b.2)).max(0.0) + (-work(&b.1, &a.2)).max(0.0);
            open[cone.island] += work(&a.1, &a.2).abs() + work(&b.1, &b.2).abs() + gained;
        }
        open
    }

    fn compare_with(&self, natural: &Natural, theirs: &Opinion, out: &mut Outcome) {
        // Clarabel's tolerances are relative to the largest numbers, so its status alone is not
        // sufficient
        let solved = theirs.status == SolverStatus::Solved
            && natural.prove_optimal(&theirs.x, &theirs.z, None).is_ok();
        for answer in [&self.cold, &self.warm] {
            match answer.status {
                Status::Solved => {
                    let (x, z) = (natural.x(&answer.x), natural.z(&answer.z));
                    out.disputed |= match theirs.status {
                        SolverStatus::PrimalInfeasible => {
                            natural.prove_infeasible(&theirs.z).is_ok()
                        }
                        SolverStatus::DualInfeasible => natural.prove_unbounded(&theirs.x).is_ok(),
                        _ => false,
                    };
                    if !matches!(theirs.status, SolverStatus::Solved | SolverStatus::AlmostSolved) {
                        continue;
                    }
                    let [mine, terms] = natural.cost(&x);
                    let [its, its_terms] = natural.cost(&theirs.x);
                    let scale = terms.max(its_terms).max(LEAST_COST);
                    let share = (mine - its) / scale;
                    // any point y costs at least ours + zᵀ s(y) − zᵀ s; so a violation lowers the
                    // cost by at most zᵀ times it, and products zᵀ s add to the uncertainty
                    let violation = natural.violations(&natural.slacks(&theirs.x));
                    let own: f64 = natural.slacks(&x).iter().zip(&z).map(|(s, z)| s * z).sum();
                    let bought: f64 = natural
                        .cones
                        .iter()
                        .zip(&violation)
                        .map(|(c, v)| v * z[c.first..c.last].iter().map(|z| z.abs()).sum::<f64>())
                        .sum::<f64>()
                        + own.abs();
                    if !(share <= SAME_COST + bought / scale) {
                        out.blame(format!(
                            "cost {mine:e}, Clarabel's {its:e} of {scale:e}, {bought:e} of it bought"
                        ));
                    }
                    if solved {
                        // difference of the cost that the other's violation does not explain
                        let size = (share.abs() - bought / scale).max(0.0);
                        let size = if share < 0.0 { -size } else { size };
                        out.cost_difference = Some(size);
                    }
                }
                Status::Unbounded | Status::Infeasible => {
                    out.disputed |= solved;
                }
                Status::GaveUp => {}
            }
        }
    }
}

impl Outcome {
    fn blame(&mut self, what: String) {
        self.wrong.get_or_insert(what);
    }
}
