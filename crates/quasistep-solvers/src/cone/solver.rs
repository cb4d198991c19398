//! The driver for cone programs: which algorithm, why, and whether its answer holds.

use crate::cone::check::{self, Point};
use crate::cone::dense_form::DenseProgram;
use crate::cone::interior::Interior;
use crate::cone::kernels::{self, Isa};
use crate::cone::newton::{End, Newton, PENALTY, Start};
use crate::cone::program::ConeProgram;
use crate::cone::structure::Structure;
use crate::kernels::max_abs;
use crate::{Method, QpSolver, Reason, Residuals, Settings, Solution, Status};

/// Newton iterations after which an island has led nowhere: warm, then cold.
const WARM_ITERATIONS: u32 = 60;
const COLD_ITERATIONS: u32 = 150;
/// Shares of the penalty that a cold start tries, one after another.
const SOFTER: [f64; 4] = [1.0, 1e-2, 1e-3, 1e-4];

/// Multipliers and slacks of a similar problem, in the layout of this one's `z`.
///
/// For a row of which nothing is known give `z = 0` and `s = 1`: it starts idle.
#[derive(Clone, Copy, Debug)]
pub struct WarmStart<'a> {
    /// Multipliers.
    pub z: &'a [f64],
    /// Slacks.
    pub s: &'a [f64],
}

/// Solver for [`ConeProgram`]s and its memory; holds no meaning between calls.
///
/// The same program and warm start give the same bits on the same kind of machine; any warm start
/// gives the same answer to rounding.
#[derive(Debug)]
pub struct ConeSolver {
    isa: Isa,
    structure: Structure,
    newton: Newton,
    interior: Interior,
    dense: QpSolver,
    flat: DenseProgram,
    g: Vec<f64>,
}

impl Default for ConeSolver {
    fn default() -> Self {
        Self::new()
    }
}

impl ConeSolver {
    /// A solver without memory yet.
    pub fn new() -> Self {
        Self {
            isa: Isa::detect(),
            structure: Structure::default(),
            newton: Newton::default(),
            interior: Interior::default(),
            dense: QpSolver::new(),
            flat: DenseProgram::default(),
            g: Vec::new(),
        }
    }

    /// Solves `program` into `out`.
    ///
    /// Every input gets a [`Status`]; bad numbers end in [`Status::GaveUp`] with a [`Reason`].
    pub fn solve(
        &mut self,
        program: &ConeProgram,
        warm: Option<WarmStart<'_>>,
        settings: &Settings,
        out: &mut Solution,
    ) {
        reset(program, out);
        if let Err(reason) = program.check() {
            out.reason = Some(reason);
            return;
        }
        let warm = warm.filter(|w| w.z.len() == program.m && w.s.len() == program.m);
        self.structure.update(program);
        let reached = self.newton(program, warm, out);
        out.iterations = self.newton.iterations;
        if reached {
            self.write(program, out);
            let Self { newton, g, .. } = self;
            let point = Point { x: &newton.x, u: &newton.u, z: newton.multipliers(), g };
            if check::holds(program, &self.structure, point) {
                out.status = Status::Solved;
                out.dual_is_smallest_norm = true;
                return;
            }
        }
        self.fall_back(program, settings, out);
    }

    /// Newton's method on every island; false if one led nowhere.
    fn newton(
        &mut self,
        program: &ConeProgram,
        warm: Option<WarmStart<'_>>,
        out: &mut Solution,
    ) -> bool {
        let Self { isa, structure, newton, interior, .. } = self;
        newton.prepare(program, structure);
        use std::sync::OnceLock;
        static KNOB: OnceLock<[f64; 4]> = OnceLock::new();
        let [int, target, show, give] = *KNOB.get_or_init(|| {
            let get =
                |k: &str, d: f64| std::env::var(k).ok().and_then(|v| v.parse().ok()).unwrap_or(d);
            [get("INT", 0.0), get("TARGET", 1e-8), get("SHOW", 0.0), get("GIVE", 0.0)]
        });
        if int > 0.0 && warm.is_none() {
            interior.prepare(program, structure);
            for island in &structure.islands {
                let o = interior.solve(*isa, program, structure, island, target, give);
                let ii = interior.iterations;
                newton.clear(program, structure, island);
                let e = newton.solve(
                    *isa,
                    program,
                    structure,
                    island,
                    Start::Inside { x: &interior.x, z: &interior.z, s: &interior.s },
                    PENALTY,
                    60,
                );
                if show > 0.0 {
                    eprintln!(
                        "{o:?} {ii}  newton {e:?} {} factors {}",
                        newton.iterations, newton.factors
                    );
                }
                if e != End::Solved {
                    out.iterations = 1000;
                    return false;
                }
            }
            newton.iterations += 1000 * interior.iterations;
            return true;
        }
        out.method = if warm.is_some() { Method::WarmNewton } else { Method::ColdNewton };
        for island in &structure.islands {
            let mut attempt = |start, penalty, iterations| {
                newton.clear(program, structure, island);
                newton.solve(*isa, program, structure, island, start, penalty, iterations)
                    == End::Solved
            };
            if let Some(w) = warm {
                if attempt(Start::Warm { z: w.z, s: w.s }, PENALTY, WARM_ITERATIONS) {
                    continue;
                }
                out.method = Method::RestartedNewton;
            }
            // a softer penalty sees fewer kinks and has less rounding, at more rounds
            if !SOFTER.iter().any(|p| attempt(Start::Cold, p * PENALTY, COLD_ITERATIONS)) {
                return false;
            }
        }
        true
    }

    /// Answer and residuals, from the program itself.
    fn write(&mut self, program: &ConeProgram, out: &mut Solution) {
        let Self { isa, structure, newton, g, .. } = self;
        for block in &program.blocks {
            let (to, from) = (block.first as usize, block.at as usize);
            let dim = block.dim as usize;
            out.x[to..to + dim].copy_from_slice(&newton.x[from..from + dim]);
        }
        kernels::slacks(*isa, program, &structure.groups, &newton.x, &mut newton.u);
        for cone in &program.cones {
            let (to, from) = (cone.first as usize, cone.at as usize);
            let m = cone.m as usize;
            out.z[to..to + m].copy_from_slice(&newton.multipliers()[from..from + m]);
            out.s[to..to + m].copy_from_slice(&newton.u[from..from + m]);
        }
        g.clear();
        g.resize(program.n_padded, 0.0);
        kernels::cost_times(*isa, program, &structure.panels, &newton.x, g);
        for (g, c) in g.iter_mut().zip(&program.c) {
            *g += c;
        }
        for (k, spring) in program.saturations.iter().enumerate() {
            let at = newton.spring_at(k);
            g[at] += spring.gradient(newton.x[at]);
            out.saturated[k] = newton.saturated(k, spring);
        }
        kernels::subtract_forces(*isa, program, &structure.groups, newton.multipliers(), g);
        out.residuals = program.cone_residuals(&out.z, &out.s);
        out.residuals.stationarity = max_abs(g);
    }

    /// The dense solver, which has a proof for every ending. Round cones have no rows: they end here.
    fn fall_back(&mut self, program: &ConeProgram, settings: &Settings, out: &mut Solution) {
        let iterations = out.iterations;
        if program.cones.iter().any(|c| c.round) {
            reset(program, out);
            out.iterations = iterations;
            out.reason = Some(Reason::Accuracy);
            out.method = Method::Fallback;
            return;
        }
        self.flat.fill(program);
        self.dense.solve(&self.flat.qp(), &[], settings, out);
        out.iterations += iterations;
        out.method = Method::Fallback;
    }
}

fn reset(program: &ConeProgram, out: &mut Solution) {
    out.status = Status::GaveUp;
    out.reason = None;
    for (v, n) in [(&mut out.x, program.n), (&mut out.z, program.m), (&mut out.s, program.m)] {
        v.clear();
        v.resize(n, 0.0);
    }
    out.ray.clear();
    out.certificate.clear();
    out.working.clear();
    out.residuals = Residuals::default();
    out.iterations = 0;
    out.saturated.clear();
    out.saturated.resize(program.saturations.len(), 0);
    out.dual_is_smallest_norm = false;
}
